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

A velocity limit v takes the place of (1) where the coordinate would leave x_0 +- h v: a hard row holds it at that bound with whatever
effort R that takes, and lets go when R - (1) at the bound would have to pull outwards. The efforts of (1) need not be solved for
against each other then: a drive may be as stiff as it likes.
"""

import warp as wp

from hooke.model.enums import JointTargetMode
from hooke.model.tables import JointDofs

__all__ = [
    "NO_VELOCITY_LIMIT",
    "UNLIMITED",
    "Coordinate",
    "Effort",
    "add_bounded",
    "add_line",
    "dof_effort",
    "limit_effort",
    "limited_effort",
]

NO_BOUND = wp.constant(1.0e30)
UNLIMITED = wp.constant(0.99e10)
NO_VELOCITY_LIMIT = wp.constant(1.0e6)
"""The default of ``velocity_limit``, which does not act."""
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
def add_bounded(e: Effort, stiffness: float, way: float, solved: float, low: float, high: float, mode: float):
    """Add a line that is cut off; ``solved`` is the effort that the last iteration solved for."""
    u = wp.where(mode == 0.0, solved, stiffness * way)
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
def limit_effort(e: Effort, bounds: wp.vec2, ke: float, kd: float, x: float, start: float, solved: float, dt: float, mode: float):
    """Add the nearer of two limits; the damper acts on what was out of bounds before. A mode of 2 or -2 is a limit that acted."""
    e.mode = float(0.0)
    lower, upper = bounds[0], bounds[1]
    if ke > 0.0 and (lower > -UNLIMITED or upper < UNLIMITED):
        from_above = lower <= -UNLIMITED or (upper < UNLIMITED and x > 0.5 * (lower + upper))
        side = wp.where(from_above, -1.0, 1.0)
        bound = wp.where(from_above, upper, lower)
        outside = wp.where(side * (bound - start) > 0.0, kd / dt, 0.0)
        stiffness = ke + outside
        way = (ke * (bound - x) + outside * (start - x)) / stiffness
        piece = wp.where(mode == 2.0 * side, 0.0, -side)  # one that did not act is cut off at zero
        e = add_bounded(e, stiffness, way, solved, wp.where(from_above, -NO_BOUND, 0.0), wp.where(from_above, 0.0, NO_BOUND), piece)
        e.mode = wp.where(e.mode == 0.0, 2.0 * side, 0.0)
    return e


@wp.struct
class Coordinate:
    """A degree of freedom within a step: now, at the start, how far from the rest of its spring, its rate at the start, its bounds,
    how far from the target of its drive, whose bounds are heeded, and the target's rate; how stiff it sticks, and the effort that the
    last iteration solved for, if there was one.
    """

    x: wp.float32
    start: wp.float32
    stretch: wp.float32
    rate: wp.float32
    bounds: wp.vec2
    left: wp.float32
    target_qd: wp.float32
    hard: wp.float32
    effort: wp.float32
    solved: wp.int32


@wp.func
def solved_effort(c: Coordinate, e: Effort, stiffness: float, way: float):
    """What the last iteration solved for, less the parts that are in ``e``; in a first one, what the line says.

    Of a stiff part nothing better is known: its own line is the difference of two coordinates that agree to rounding.
    """
    return wp.where(c.solved != 0, c.effort - e.pull - e.constant, stiffness * way)


@wp.func
def dof_effort(dofs: JointDofs, d: int, c: Coordinate, dt: float, modes: wp.vec3):
    """(1) for degree of freedom ``d``, and the modes of its parts."""
    e = Effort()
    ke, kd = wp.where(dofs.target_mode[d] == VELOCITY_MODE, 0.0, dofs.target_ke[d]), dofs.target_kd[d]
    drive, friction = float(0.0), float(0.0)
    bounds = c.bounds
    e = add_line(e, dofs.stiffness[d], -c.stretch)
    e = add_line(e, dofs.damping[d] / dt, c.start - c.x)
    e = add_line(e, dofs.armature[d] / (dt * dt), c.start + dt * c.rate - c.x)
    if ke + kd > 0.0 and dofs.target_mode[d] != EFFORT_MODE:
        stiffness = ke + kd / dt
        way = (ke * c.left + kd * (c.target_qd + (c.start - c.x) / dt)) / stiffness
        e = add_bounded(e, stiffness, way, stiffness * way, -dofs.effort_limit[d], dofs.effort_limit[d], modes[0])
        drive = e.mode
    if dofs.friction[d] > 0.0:
        way = c.start - c.x
        solved = solved_effort(c, e, c.hard, way)
        if modes[2] != 0.0 and modes[1] == 0.0:
            solved = 0.0  # sticks, with a limit that takes the rest
        e = add_bounded(e, c.hard, way, solved, -dofs.friction[d], dofs.friction[d], modes[1])
        friction = e.mode
    ke = dofs.limit_ke[d]
    side = wp.where(modes[2] < 0.0, bounds[1], bounds[0])
    solved = solved_effort(c, e, ke, side - c.x)
    e = limit_effort(e, bounds, ke, dofs.limit_kd[d], c.x, c.start, solved, dt, modes[2])
    return e, wp.vec3(drive, friction, e.mode)


@wp.func
def at_bound(dofs: JointDofs, d: int, c: Coordinate, bound: float, dt: float):
    """The sum of the parts at another place, and their modes: nothing that was solved for is known there."""
    way = bound - c.x
    c.stretch += way
    c.left -= way
    c.x = bound
    c.solved = 0
    e, modes = dof_effort(dofs, d, c, dt, wp.vec3(0.0))
    return e.pull + e.constant, modes


@wp.func
def limited_effort(dofs: JointDofs, d: int, c: Coordinate, dt: float, modes: wp.vec4, most: float):
    """:func:`dof_effort` with a velocity limit; the fourth mode is the sign of the bound that it holds the coordinate at."""
    side = modes[3]
    parts = wp.vec3(modes[0], modes[1], modes[2])
    held = Effort()
    if most < NO_VELOCITY_LIMIT:
        if side != 0.0:
            rest, parts = at_bound(dofs, d, c, c.start + side * most * dt, dt)
            held.constant = c.effort
            if side * (c.effort - rest) > 0.0:
                side = 0.0
                c.solved = 0
                parts[0] = -parts[0]  # a saturated drive that lets go returns to its line
        elif wp.abs(c.x - c.start) > most * dt:
            side = wp.sign(c.x - c.start)
            _rest, parts = at_bound(dofs, d, c, c.start + side * most * dt, dt)
    else:
        side = 0.0
    if side != 0.0:
        held = add_line(held, c.hard, c.start + side * most * dt - c.x)
    else:
        held, parts = dof_effort(dofs, d, c, dt, parts)
    return held, wp.vec4(parts[0], parts[1], parts[2], side)
