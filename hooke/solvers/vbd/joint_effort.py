"""The effort along a degree of freedom: drive, passive spring and damper, armature, dry friction and limits, as one row.

Every part is a straight line k (r - y) cut off at a least and a largest effort, so that their sum e is a decreasing function of the way y
that the coordinate x goes from its start x_0 (h is the time step):

    drive         ke (target - x) + kd (target' - x') within the effort limit,   x' = y / h
    spring        k (rest - x) - d x'
    armature      -a (x' - v_0) / h
    friction      -S y within +- friction                                                                      (1)
    limits        K (bound - x), only towards the inside

S is so stiff that the joint sticks below the friction. Newton's method on (1) replaces each part by the piece that it is on. The last
solve was about some pieces and gave y and the effort f; were the rest of the system to give way by w for each unit of effort, the
next y would solve

    phi(y) = y - w e(y) - z = 0,     z = y_last - w f_last                                                     (2)

A piece ends at a known y, and phi increases: its sign there says on which side of it the solution is. That is exact for one degree of
freedom in a linear system, in one iteration, whatever the pieces; judging by y alone, or by f alone, may go round in circles. w is the
ratio of the changes of y and f between the last two iterations, where they tell. A step begins as if it were like the last one: with
h v_0 for y and the effort that was exerted then.

A velocity limit v takes the place of (1) where phi(h v) < 0 or phi(-h v) > 0: a hard row holds the coordinate at that bound with whatever
effort it takes, so that a drive may be as stiff as it likes.
"""

import warp as wp

from hooke.model.enums import JointTargetMode
from hooke.model.tables import JointDofs

__all__ = ["NO_VELOCITY_LIMIT", "UNLIMITED", "Coordinate", "Effort", "dof_effort", "limit_effort"]

NO_BOUND = wp.constant(1.0e30)
UNLIMITED = wp.constant(0.99e10)
NO_VELOCITY_LIMIT = wp.constant(1.0e6)
"""The default of ``velocity_limit``, which does not act."""
VELOCITY_MODE = wp.constant(int(JointTargetMode.VELOCITY))
EFFORT_MODE = wp.constant(int(JointTargetMode.EFFORT))
DRIVE = wp.constant(0)
FRICTION = wp.constant(1)
LOWER = wp.constant(2)
UPPER = wp.constant(3)


@wp.struct
class Effort:
    """A sum of lines ``pull`` - ``stiffness`` (x_new - x), and of ``constant`` efforts; ``mode`` says what holds it."""

    stiffness: wp.float32
    pull: wp.float32
    constant: wp.float32
    mode: wp.float32


@wp.struct
class Coordinate:
    """A degree of freedom within a step: now, at the start, how far from the rest of its spring, its rate at the start, its bounds,
    how far from the target of its drive, whose bounds are heeded, the target's rate, its largest rate; how stiff it sticks, the effort
    that the last iteration solved for, if there was one, how the system gives way, and at which bound of its rate it was held (-1, 1).
    """

    x: wp.float32
    start: wp.float32
    stretch: wp.float32
    rate: wp.float32
    bounds: wp.vec2
    left: wp.float32
    target_qd: wp.float32
    fastest: wp.float32
    hard: wp.float32
    effort: wp.float32
    solved: wp.int32
    give: wp.float32
    held: wp.float32


@wp.struct
class Parts:
    """The parts that are cut off, k (r - y) within low and high; the sum of the others, pull - stiffness y; w and z of (2)."""

    k: wp.vec4
    r: wp.vec4
    low: wp.vec4
    high: wp.vec4
    stiffness: wp.float32
    pull: wp.float32
    give: wp.float32
    z: wp.float32


@wp.func
def add_line(p: Parts, stiffness: float, reference: float):
    """Add stiffness * (reference - y)."""
    p.stiffness += stiffness
    p.pull += stiffness * reference
    return p


@wp.func
def add_part(p: Parts, i: int, stiffness: float, reference: float, low: float, high: float):
    """Add stiffness * (reference - y), cut off."""
    p.k[i] = stiffness
    p.r[i] = reference
    p.low[i] = low
    p.high[i] = high
    return p


@wp.func
def phi(p: Parts, y: float, own: int, effort: float):
    """(2) at ``y``, where part ``own`` exerts ``effort``."""
    e = p.pull - p.stiffness * y
    for i in range(4):
        if i == own:
            e += effort
        elif p.k[i] > 0.0:
            e += wp.clamp(p.k[i] * (p.r[i] - y), p.low[i], p.high[i])
    return y - p.give * e - p.z


@wp.func
def add_limit(p: Parts, i: int, dofs: JointDofs, d: int, c: Coordinate, dt: float, side: float):
    """The lower (``side`` 1) or upper (-1) limit; the damper acts on what was out of bounds before."""
    ke, bound = dofs.limit_ke[d], wp.where(side > 0.0, c.bounds[0], c.bounds[1])
    if ke > 0.0 and side * bound > -UNLIMITED:
        inside = bound - c.start
        damping = wp.where(side * inside > 0.0, dofs.limit_kd[d] / dt, 0.0)
        k = ke + damping
        p = add_part(p, i, k, ke * inside / k, wp.where(side > 0.0, 0.0, -NO_BOUND), wp.where(side > 0.0, NO_BOUND, 0.0))
    return p


@wp.func
def parts_of(dofs: JointDofs, d: int, c: Coordinate, dt: float):
    """(1) for degree of freedom ``d``."""
    p = Parts()
    y = c.x - c.start
    ke, kd = wp.where(dofs.target_mode[d] == VELOCITY_MODE, 0.0, dofs.target_ke[d]), dofs.target_kd[d]
    p = add_line(p, dofs.stiffness[d], y - c.stretch)
    p = add_line(p, dofs.damping[d] / dt, 0.0)
    p = add_line(p, dofs.armature[d] / (dt * dt), dt * c.rate)
    if ke + kd > 0.0 and dofs.target_mode[d] != EFFORT_MODE:
        k = ke + kd / dt
        p = add_part(p, DRIVE, k, (ke * (c.left + y) + kd * c.target_qd) / k, -dofs.effort_limit[d], dofs.effort_limit[d])
    if dofs.friction[d] > 0.0:
        p = add_part(p, FRICTION, c.hard, 0.0, -dofs.friction[d], dofs.friction[d])
    p = add_limit(p, LOWER, dofs, d, c, dt, 1.0)
    p = add_limit(p, UPPER, dofs, d, c, dt, -1.0)
    p.give = c.give
    p.z = wp.where(c.solved != 0, y, dt * c.rate) - c.give * c.effort
    return p


@wp.func
def dof_effort(dofs: JointDofs, d: int, c: Coordinate, dt: float):
    """The lines of (1) that solve (2), or the hard row of a velocity limit, whose sign is the mode."""
    p, y, e = parts_of(dofs, d, c, dt), c.x - c.start, Effort()
    if c.fastest < NO_VELOCITY_LIMIT:
        reach = dt * c.fastest
        if phi(p, reach, -1, 0.0) < 0.0:
            e.mode = 1.0
        elif phi(p, -reach, -1, 0.0) > 0.0:
            e.mode = -1.0
        if e.mode != 0.0:
            e.stiffness = c.hard
            e.pull = c.hard * (e.mode * reach - y)
            if e.mode == c.held:
                e.constant = c.effort
            return e
    e.stiffness = p.stiffness
    e.pull = p.pull - p.stiffness * y
    for i in range(4):
        if p.k[i] > 0.0:
            if p.high[i] < NO_BOUND and phi(p, p.r[i] - p.high[i] / p.k[i], i, p.high[i]) > 0.0:
                e.constant += p.high[i]
            elif p.low[i] > -NO_BOUND and phi(p, p.r[i] - p.low[i] / p.k[i], i, p.low[i]) < 0.0:
                e.constant += p.low[i]
            else:
                e.stiffness += p.k[i]
                e.pull += p.k[i] * (p.r[i] - y)
    return e


@wp.func
def limit_effort(bounds: wp.vec2, k: float, x: float, solved: float, mode: float):
    """The nearer of two hard limits. It acts (``mode`` 2 or -2) as long as the effort ``solved`` for pushes to the inside, and again from
    out of bounds.
    """
    e = Effort()
    lower, upper = bounds[0], bounds[1]
    if lower > -UNLIMITED or upper < UNLIMITED:
        from_above = lower <= -UNLIMITED or (upper < UNLIMITED and x > 0.5 * (lower + upper))
        side = wp.where(from_above, -1.0, 1.0)
        way = wp.where(from_above, upper, lower) - x
        push = wp.where(mode == 2.0 * side, solved, k * way)
        if side * push >= 0.0 and (mode == 2.0 * side or side * way > 0.0):
            e.stiffness = k
            e.pull = k * way
            e.mode = 2.0 * side
    return e
