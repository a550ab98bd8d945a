"""The D6 joint: any 0 to 3 linear and 0 to 3 angular unit axes of the parent anchor, by the formulas of axes.py.

    X = (sum q_i l_i, R(a_1, q) R(a_2, q) R(a_3, q)),     linear coordinates first.

Locked are the translations across the linear axes and, in rows.py, the rotations that the angular axes leave out. Axes need not be
orthogonal, but linear axes must be independent, and no angular axis parallel to the one before it.
"""

from hooke.joints.axes import axes_of_axes, coordinates_of_axes, rates_of_axes, transform_of_axes
from hooke.joints.kind import JointKind, JointType

__all__ = ["D6", "case_of_d6"]

_X, _Y, _Z = (1, 0, 0), (0, 1, 0), (0, 0, 1)
_SKEW = (0.6, 0.0, 0.8)


def case_of_d6(name: str, locked, examples) -> JointKind:
    """A kind with fixed numbers of axes that is stored as a D6 joint."""
    return JointKind(
        name=name,
        code=JointType.D6,
        locked=locked,
        transform=transform_of_axes,
        coordinates=coordinates_of_axes,
        axes=axes_of_axes,
        rates=rates_of_axes,
        examples=examples,
    )


D6 = case_of_d6(
    "d6",
    None,
    (
        ((), ()),
        ((_Z, _X), (_Y,)),
        ((_X, _Y, _Z), (_Z, _Y, _X)),
        ((_Y,), (_Y, _Z)),
        ((_X, _SKEW), (_X, _SKEW, _Y)),  # axes that are not orthogonal
        ((), (_Z, _X, _Z)),  # the first axis again
    ),
)
