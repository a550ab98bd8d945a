"""The cable joint: an elastic connection of two segments with one stiffness for stretch and one for bending and twisting.

    E = ks/2 |p|^2 + kb/2 |k|^2,     k = rotation vector of R R_rest^-1                                        (1)

p and R are the relative pose of the anchors, R_rest the relative rotation in ``model.body_q``. It resists all six motions, and none
is locked. Its two numbers per array (stretch, bend) hold material: ``joint_target_ke`` and ``joint_target_kd``. They are no
coordinates: forward kinematics leaves the child where the state has it, and efforts do not act on it.
"""

from typing import Any

import warp as wp

from hooke.joints.fixed import fixed_axes, fixed_coordinates
from hooke.joints.kind import JointKind, JointType
from hooke.joints.rotation import inverse_jacobian, rotation_vector

__all__ = ["CABLE", "cable_strain"]


@wp.func
def cable_strain(x: Any, rest: Any):
    """The strains p and k of (1) at the relative pose x, and the matrix that maps the relative angular velocity to dk/dt."""
    k = rotation_vector(wp.transform_get_rotation(x) * wp.quat_inverse(wp.transform_get_rotation(rest)))
    return wp.transform_get_translation(x), k, inverse_jacobian(k)


CABLE = JointKind(
    name="cable",
    code=JointType.CABLE,
    locked=(1, 1, 1, 1, 1, 1),
    transform=None,
    coordinates=fixed_coordinates,
    axes=fixed_axes,
    rates=fixed_axes,
    constraints=False,
    material=(1, 1),
    strain=cable_strain,
)
