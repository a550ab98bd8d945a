"""What SolverKamino keeps within a step: bodies, rows of joints, the matrix of a world."""

from functools import cache
from types import SimpleNamespace
from typing import Any

import warp as wp

from hooke.linalg.block_ldl import make_row, make_rows

__all__ = ["Step", "make_types"]


@wp.struct
class Step:
    """Numbers of a step.

    Attributes:
        dt: Time step [s].
        half: From the start to where the equations are set up [s]: 0, or dt / 2 for the midpoint.
        damping: Decay of angular velocities [1/s].
        joint_rate: What of the error of a joint is taken back per second [1/s].
        joint_speed: At most so fast [m/s or rad/s].
        limit_rate: The same of limits.
        limit_speed: The same.
        limit_time: Time that limits take to recover [s]; negative is that of their damping over their stiffness.
        limit_compliance: Whether limits give way as springs and dampers.
        contact_rate: The same of contacts as ``joint_rate``.
        contact_speed: The same.
        contact_time: The same as ``limit_time``.
        contact_compliance: Whether contacts give way as springs and dampers.
        dead_zone: Penetration that is left as it is [m].
        correction: Of coordinates that are angles: 0 within two turns, 1 as they are, 2 within half a turn.
    """

    dt: wp.float64
    half: wp.float64
    damping: wp.float64
    joint_rate: wp.float64
    joint_speed: wp.float64
    limit_rate: wp.float64
    limit_speed: wp.float64
    limit_time: wp.float64
    contact_rate: wp.float64
    contact_speed: wp.float64
    contact_time: wp.float64
    dead_zone: wp.float64
    limit_compliance: wp.int32
    contact_compliance: wp.int32
    correction: wp.int32


def _make_motion(scalar: Any, vec3: Any, quat: Any, mat33: Any, row: Any, rows: Any) -> Any:
    class Motion:
        com: wp.array(dtype=vec3)
        rotation: wp.array(dtype=quat)
        twist: wp.array(dtype=row)
        mass: wp.array(dtype=scalar)
        inertia: wp.array(dtype=mat33)
        momentum: wp.array(dtype=row)
        spin: wp.array(dtype=vec3)
        carried_spin: wp.array(dtype=vec3)

    Motion.__doc__ = """Bodies at one time.

    Attributes:
        com: Centre of mass [m].
        rotation: Orientation of the body frame.
        twist: Velocity of the centre of mass, angular velocity; world axes [m/s, rad/s].
        mass: Mass [kg].
        inertia: About the centre of mass, in world axes [kg m^2].
        momentum: That which the body would have at the end of the step without joints and contacts [N s, N m s].
        spin: exp(-dt w / 2) I w of the angular velocity at the start [N m s].
        carried_spin: What of ``momentum`` is not due to torques, I w' - T.
    """
    return Motion


_JOINT_ROWS = """Six rows of every joint: locked motions, then degrees of freedom; and rows of mimics.

Attributes:
    child: J of the child's twist.
    parent: J of the parent's twist.
    child_end: J of the child's twist near the end of the step, where joints did not close with that of the start.
    parent_end: The same of the parent's.
    compliance: C; 1 of a row that is left out.
    held: 1 of a row of the matrix, 0 of one that is left out.
    right: Right side of the row: -v_b less what immovable bodies carry.
    bias: v_b.
    carried: Velocity of the row that immovable bodies cause.
    error: Residuals of locked motions [m or rad], 0 of degrees of freedom.
    goal: What they ought to be at the end of the step.
    on_child: Impulse of commanded efforts on the child [N s, N m s].
    on_parent: The same on the parent.
    impulse: l, the solution.
    q: Coordinates of all joints, angles without jumps; they last from step to step.
    known: Whether those of a joint do.
    axis: Axes of all degrees of freedom.
    effort_gain: m_a of a degree of freedom with an effort row.
    effort_rate: Velocity that its drive asks for.
    mimic: J of the rows of a mimic, one for each axis, of up to four bodies.
    mimic_compliance: C of a mimic; 1 of a row that is left out.
    mimic_held: 1 of a row that is there, for each of its four bodies.
    mimic_right: Right side.
    mimic_carried: Velocity of its rows that immovable bodies cause.
    mimic_error: How far the follower is from where it belongs [m or rad].
    mimic_goal: What that ought to be at the end of the step.
    mimic_impulse: l of a mimic.
"""


def _make_joint_rows(scalar: Any, vec3: Any, quat: Any, mat33: Any, row: Any, rows: Any) -> Any:
    class JointRows:
        child: wp.array(dtype=rows)
        parent: wp.array(dtype=rows)
        child_end: wp.array(dtype=rows)
        parent_end: wp.array(dtype=rows)
        compliance: wp.array(dtype=row)
        held: wp.array(dtype=row)
        right: wp.array(dtype=row)
        bias: wp.array(dtype=row)
        carried: wp.array(dtype=row)
        error: wp.array(dtype=row)
        goal: wp.array(dtype=row)
        on_child: wp.array(dtype=row)
        on_parent: wp.array(dtype=row)
        impulse: wp.array(dtype=row)
        q: wp.array(dtype=scalar)
        known: wp.array(dtype=wp.int32)
        axis: wp.array(dtype=vec3)
        effort_gain: wp.array(dtype=scalar)
        effort_rate: wp.array(dtype=scalar)
        mimic: wp.array(dtype=rows)
        mimic_compliance: wp.array(dtype=row)
        mimic_held: wp.array(dtype=row)
        mimic_right: wp.array(dtype=row)
        mimic_carried: wp.array(dtype=row)
        mimic_error: wp.array(dtype=row)
        mimic_goal: wp.array(dtype=row)
        mimic_impulse: wp.array(dtype=row)

    JointRows.__doc__ = _JOINT_ROWS
    return JointRows


def _make_matrix(scalar: Any, vec3: Any, quat: Any, mat33: Any, row: Any, rows: Any) -> Any:
    class Matrix:
        diagonal: wp.array(dtype=rows)
        lower: wp.array(dtype=rows)
        right: wp.array(dtype=row)
        x: wp.array(dtype=row)
        rest: wp.array(dtype=row)
        eight: wp.array(dtype=rows)

    Matrix.__doc__ = """The matrix of every world, its right side and its solution.

    Attributes:
        diagonal: Blocks on the diagonal, then their factors.
        lower: Blocks below it, then their factors.
        right: Right side, of every node.
        x: Solution: twists, and impulses with the other sign.
        rest: What the solution leaves of the right side.
        eight: Eight right sides, and their solutions.
    """
    return Matrix


@cache
def make_types(scalar: Any) -> SimpleNamespace:
    """The structs over a type of numbers: ``Motion``, ``JointRows``, ``Matrix``; and ``vec3``, ``quat``, ``mat33``, ``row``, ``rows``."""
    types = {
        "vec3": wp.types.vector(length=3, dtype=scalar), "quat": wp.types.quaternion(dtype=scalar),
        "mat33": wp.types.matrix(shape=(3, 3), dtype=scalar), "row": make_row(scalar), "rows": make_rows(scalar),
    }  # fmt: skip
    structs = {}
    for make in (_make_motion, _make_joint_rows, _make_matrix):
        struct = make(scalar, **types)
        name = struct.__name__
        struct.__qualname__ = f"{name}_{scalar.__name__}"
        structs[name] = wp.struct(struct)
    return SimpleNamespace(**structs, **types, scalar=scalar)
