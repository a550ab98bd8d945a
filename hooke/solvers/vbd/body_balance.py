"""What a step left of the balance of forces on bodies, and where the forces of their contacts act."""

import warp as wp

from hooke.execution.work import Work, first_item, next_item
from hooke.model.contacts import RigidRows
from hooke.model.tables import Bodies
from hooke.solvers.vbd.body_contacts import BodyContacts, live_count
from hooke.solvers.vbd.body_motion import BodyMotion, inertial_force
from hooke.solvers.vbd.island_solve import wrench_on
from hooke.solvers.vbd.islands import Islands
from hooke.solvers.vbd.joint_rows import JointMemory, JointRows
from hooke.solvers.vbd.mimics import Mimics

__all__ = ["measure_balance", "place_loads"]


@wp.func
def wrench_of_end(rows: JointRows, memory: JointMemory, j: int, side: int):
    """The wrench of a joint on its child (``side`` 0) or its parent."""
    w, effort = wp.spatial_vector(), memory.effort[j]
    for i in range(6):
        for k in range(6):
            w[i] += wp.where(side == 0, rows.child[j][i, k], rows.parent[j][k, i]) * effort[k]
    return w


@wp.kernel(enable_backward=False)
def measure_balance(
    work: Work, bodies: Bodies, motion: BodyMotion, rows: JointRows, memory: JointMemory, mimics: Mimics, islands: Islands,
    contacts: BodyContacts, dt: float, imbalance: wp.array(dtype=wp.float32),
):  # fmt: skip
    """The larger of the sums of forces [N] and of torques over the radius of gyration of every body.

    Efforts of joints act along the axes of the last solve.
    """
    b = first_item(work, wp.tid())
    while b >= 0:
        size = float(0.0)
        if motion.moves[b] != 0:
            total = inertial_force(bodies, motion, b, dt)
            for k in range(islands.first_end[b], islands.first_end[b + 1]):
                total += wrench_of_end(rows, memory, islands.end[k] // 2, islands.end[k] % 2)
            for e in range(mimics.body.shape[0]):
                if mimics.body[e] == b:
                    total += wrench_on(mimics, e, mimics.multiplier[e // 4])
            if contacts.first.shape[0] > 0:
                for k in range(contacts.first[b], contacts.first[b + 1]):
                    r = contacts.row[k]
                    first_side = contacts.body[r][0] == b
                    f = wp.where(first_side, -1.0, 1.0) * contacts.load[r]
                    lever = wp.where(first_side, contacts.lever0[r], contacts.lever1[r])
                    t = wp.cross(lever, f)
                    total += wp.spatial_vector(f[0], f[1], f[2], t[0], t[1], t[2])
            radius = wp.sqrt(0.5 * wp.trace(bodies.inertia[b]) / bodies.mass[b])
            size = wp.max(wp.length(wp.spatial_top(total)), wp.length(wp.spatial_bottom(total)) / radius)
            if not (wp.isfinite(motion.com[b]) and wp.isfinite(motion.velocity[b])):
                size = wp.nan  # the ways of a step may be finite all the same
        imbalance[b] = size
        b = next_item(work, b)


@wp.kernel(enable_backward=False)
def place_loads(work: Work, rows: RigidRows, motion: BodyMotion, contacts: BodyContacts, point: wp.array(dtype=wp.vec3)):
    """Where bodies meet at the start of the step: levers from there are those of the solve."""
    r = first_item(work, wp.tid())
    while r >= 0:
        if r < live_count(rows):
            p, b = 1.0 * contacts.lever1[r], contacts.body[r][1]
            if b >= 0:
                p = p + motion.com[b]
            point[r] = p
        r = next_item(work, r)
