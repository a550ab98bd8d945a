"""The effort along a degree of freedom: drive, passive spring and damper, armature, dry friction and limits, as one row.

Every part is a straight line s (r - x) cut off at a least and a largest effort, so that their sum is a decreasing function of the
coordinate x at the end of the step (h is the time step, 0 marks its start):

    drive         ke (target - x) + kd (target' - x') within the effort limit,   x' = (x - x_0) / h
    spring        k (rest - x) - d x'
    armature      -a (x' - v_0) / h
    friction      S (x_0 - x) within +- friction                                                               (1)
    limits        K (bound - x), only towards the inside

S is so stiff that the joint sticks below the friction. Newton's method on (1) replaces each part by the piece that it is on. Which that is
follows from the effort that the last iteration solved for, as in primal-dual active sets: a part leaves the line when that effort is
out of bounds, and returns when the line at x is within them again, or beyond the other bound. Judging by x alone would let a stiff
limit act in every other iteration only.
"""

import warp as wp

from hooke.model.enums import JointTargetMode
from hooke.model.tables import JointDofs

__all__ = ["Effort", "add_bounded", "add_line", "dof_effort", "limit_effort"]

NO_BOUND = wp.constant(1.0e30)
UNLIMITED = wp.constant(0.99e10)
VELOCITY_MODE = wp.constant(int(JointTargetMode.VELOCITY))
EFFORT_MODE = wp.constant(int(JointTargetMode.EFFORT))


@wp.struct
class Effort:
    """A sum of lines ``pull`` - ``stiffness`` (x_new - x), and of ``constant`` efforts; ``mode`` is the piece of the part added last."""

    stiffness: wp.float32
    pull: wp.float32
    constant: wp.float32
    mode: wp.float32


@wp.func
def add_line(e: Effort, stiffness: float, way: float):
    """Add stiffness * way, where way is what is left to go."""
    e.stiffness += stiffness
    e.pull += stiffness * way
    return e


@wp.func
def add_bounded(e: Effort, stiffness: float, way: float, moved: float, low: float, high: float, mode: float):
    """Add a line that is cut off. ``moved`` is by how much x missed what the last iteration solved for."""
    u = stiffness * way
    if mode == 0.0:
        u += stiffness * moved
    piece = float(0.0)
    if u > high and mode >= 0.0:
        piece = 1.0
    if u < low and mode <= 0.0:
        piece = -1.0
    e.mode = piece
    if stiffness > 0.0:
        if piece == 0.0:
            e = add_line(e, stiffness, way)
        else:
            e.constant += wp.where(piece > 0.0, high, low)
    return e


@wp.func
def limit_effort(e: Effort, lower: float, upper: float, ke: float, kd: float, x: float, start: float, moved: float, dt: float,
                 mode: float):  # fmt: skip
    """Add the nearer of two limits; the damper acts on what was out of bounds before."""
    e.mode = float(0.0)
    if ke > 0.0 and (lower > -UNLIMITED or upper < UNLIMITED):
        side = float(1.0)
        bound = lower
        if lower <= -UNLIMITED or (upper < UNLIMITED and x > 0.5 * (lower + upper)):
            side = float(-1.0)
            bound = upper
        outside = float(0.0)
        if side * (bound - start) > 0.0:
            outside = kd / dt
        stiffness = ke + outside
        way = (ke * (bound - x) + outside * (start - x)) / stiffness
        # a mode of 2 is a limit that acted; efforts are counted towards the inside
        piece = float(-1.0)
        if mode == 2.0 * side:
            piece = float(0.0)
        e = add_bounded(e, stiffness, way, moved, wp.where(side > 0.0, 0.0, -NO_BOUND), wp.where(side > 0.0, NO_BOUND, 0.0),
                        side * piece)  # fmt: skip
        e.mode = wp.where(e.mode == 0.0, 2.0 * side, 0.0)
    return e


@wp.func
def dof_effort(
    dofs: JointDofs, d: int, x: float, start: float, stretch: float, moved: float, rate: float, target: float, target_qd: float,
    hard: float, dt: float, modes: wp.vec3,
):  # fmt: skip
    """(1) for degree of freedom ``d``; ``stretch`` is how far x is from the rest of its spring. Returns the modes of its parts, too."""
    e = Effort()
    ke, kd = wp.where(dofs.target_mode[d] == VELOCITY_MODE, 0.0, dofs.target_ke[d]), dofs.target_kd[d]
    drive, friction = float(0.0), float(0.0)
    if ke + kd > 0.0 and dofs.target_mode[d] != EFFORT_MODE:
        aim = wp.clamp(target, dofs.limit_lower[d], dofs.limit_upper[d])
        stiffness = ke + kd / dt
        way = (ke * (aim - x) + kd * (target_qd + (start - x) / dt)) / stiffness
        e = add_bounded(e, stiffness, way, moved, -dofs.effort_limit[d], dofs.effort_limit[d], modes[0])
        drive = e.mode
    e = add_line(e, dofs.stiffness[d], -stretch)
    e = add_line(e, dofs.damping[d] / dt, start - x)
    e = add_line(e, dofs.armature[d] / (dt * dt), start + dt * rate - x)
    if dofs.friction[d] > 0.0:
        e = add_bounded(e, hard, start - x, moved, -dofs.friction[d], dofs.friction[d], modes[1])
        friction = e.mode
    e = limit_effort(e, dofs.limit_lower[d], dofs.limit_upper[d], dofs.limit_ke[d], dofs.limit_kd[d], x, start, moved, dt, modes[2])
    return e, wp.vec3(drive, friction, e.mode)
