"""One Newton step for all bodies of an island and all efforts of its joints at once.

With H the inertia over h^2 and the stiffening of taut joints, J the rates of the rows, S^-1 their slack (joint_rows.py),

    [ H    J^T  ] [ delta ]   [ r + J^T base ]
    [ J   -S^-1 ] [  nu   ] = [      -g      ],     efforts = base - nu.                                        (1)

The matrix is quasi-definite for any positive slack, hard or soft rows alike, and is eliminated from the leaves of the joints' tree to the
root (:mod:`hooke.solvers.vbd.islands`). What a joint adds to its parent, J_p^T (S^-1 + J_c H_c^-1 J_c^T)^-1 J_p, is a sum of positive
matrices: a mass ratio or a stiffness cancels no digits, as it would in H + J^T S J.
"""

import warp as wp

from hooke.execution.work import Work, first_item, next_item
from hooke.math.blocks import eliminate_column, substitute_back
from hooke.model.tables import Bodies, Joints
from hooke.solvers.vbd.body_motion import BodyMotion, inertial_force, inertial_matrix, rotation_of, solve_columns
from hooke.solvers.vbd.islands import Islands
from hooke.solvers.vbd.joint_frames import JointMemory
from hooke.solvers.vbd.joint_rows import JointRows
from hooke.solvers.vbd.mimics import NO_BODY, Mimics

__all__ = ["restore_momentum", "solve_islands"]

MOST_TURN = wp.constant(1.0)  # of a body in one iteration [rad]


@wp.func
def six_of(code: int):
    return wp.where(code < -2147483647, 0, 6)


@wp.func
def load_body(islands: Islands, bodies: Bodies, motion: BodyMotion, n: int, b: int, dt: float):
    """The equations of a body without its joints; one that has stopped to be dynamic stays."""
    islands.diagonal[n] = wp.identity(n=6, dtype=wp.float32)
    islands.right[n] = wp.spatial_vector()
    if motion.moves[b] != 0:
        islands.diagonal[n] = inertial_matrix(bodies, motion, b, dt)
        islands.right[n] = inertial_force(bodies, motion, b, dt)


@wp.func
def load_end(islands: Islands, motion: BodyMotion, b: int, block: int, rates: wp.spatial_matrix, base: wp.spatial_vector,
             stiffening: wp.mat33):  # fmt: skip
    """What a joint adds to the equations of one of its bodies, and the block between them."""
    if block != -1:
        across = rates
        if motion.moves[b] == 0:
            across = wp.spatial_matrix()
        else:
            n = islands.node_of_body[b]
            islands.right[n] = islands.right[n] + wp.transpose(rates) * base
            for i in range(3):
                for k in range(3):
                    islands.diagonal[n][3 + i, 3 + k] += stiffening[i, k]
        if block >= 0:
            islands.lower[block] = across
        else:
            islands.lower[-2 - block] = wp.transpose(across)


@wp.func
def load_joint(islands: Islands, rows: JointRows, n: int, j: int):
    """The rows of a joint."""
    d = wp.spatial_matrix()
    for i in range(six_of(j)):
        d[i, i] = -rows.slack[j][i]
    islands.diagonal[n] = d
    islands.right[n] = -rows.residual[j]


@wp.func
def load_mimic(islands: Islands, mimics: Mimics, n: int, m: int):
    """The rows of a mimic."""
    d = wp.spatial_matrix()
    for i in range(six_of(m)):
        d[i, i] = -mimics.slack[m][i]
    islands.diagonal[n] = d
    islands.right[n] = -mimics.residual[m]


@wp.func
def load_mimic_ends(islands: Islands, motion: BodyMotion, mimics: Mimics, m: int):
    """What a mimic adds to the equations of its bodies, and the blocks between them."""
    for k in range(wp.where(six_of(m) > 0, 4, 0)):
        e = 4 * m + k
        load_end(islands, motion, mimics.body[e], islands.mimic[e], mimics.rates[e], mimics.multiplier[m], wp.mat33())


@wp.func
def move_body(motion: BodyMotion, b: int, delta: wp.spatial_vector):
    """Take a step."""
    turn = wp.spatial_bottom(delta)
    size = wp.length(turn)
    if size > MOST_TURN:
        turn = turn * (MOST_TURN / size)
    if motion.moves[b] != 0:
        motion.way[b] = motion.way[b] + wp.spatial_top(delta)
        motion.turn[b] = wp.normalize(rotation_of(turn) * motion.turn[b])


@wp.func
def take_efforts(rows: JointRows, memory: JointMemory, j: int, nu: wp.spatial_vector):
    """Efforts and multipliers after a solve."""
    for i in range(six_of(j)):
        memory.effort[j][i] = rows.base[j][i] - nu[i]
        if rows.share[j][i] > 0.0:
            memory.multiplier[j][i] = memory.multiplier[j][i] - rows.share[j][i] * nu[i] + rows.shift[j][i]


@wp.kernel(enable_backward=False)
def solve_islands(
    work: Work,
    joints: Joints,
    bodies: Bodies,
    rows: JointRows,
    dt: float,
    islands: Islands,
    motion: BodyMotion,
    memory: JointMemory,
    mimics: Mimics,
):
    """(1) for every island."""
    k = first_item(work, wp.tid())
    count = islands.child.shape[0]
    while k >= 0:
        first, last = islands.first[k], islands.first[k + 1]
        for e in range(islands.block[first], islands.block[last]):
            islands.lower[e] = wp.spatial_matrix()
        for n in range(first, last):
            item = islands.item[n]
            if item >= 0:
                load_body(islands, bodies, motion, n, item, dt)
            elif item >= -count:
                load_joint(islands, rows, n, -1 - item)
            else:
                load_mimic(islands, mimics, n, -1 - item - count)
        for n in range(first, last):
            j = -1 - islands.item[n]
            if j >= count:
                load_mimic_ends(islands, motion, mimics, j - count)
            elif j >= 0:
                base = rows.base[j]
                load_end(islands, motion, joints.child[j], islands.child[j], rows.child[j], base, rows.stiffen_child[j])
                load_end(islands, motion, joints.parent[j], islands.parent[j], rows.parent[j], base, rows.stiffen_parent[j])
        for n in range(first, last):
            sign = wp.where(islands.item[n] >= 0, 1.0, -1.0)
            eliminate_column(
                n, sign, islands.block[n], islands.block[n + 1], islands.pair[n], islands.row, islands.target, islands.diagonal,
                islands.right, islands.lower, islands.scaled,
            )  # fmt: skip
        for back in range(last - first):
            n = last - 1 - back
            substitute_back(n, islands.block[n], islands.block[n + 1], islands.row, islands.scaled, islands.right)
            item = islands.item[n]
            if item >= 0:
                move_body(motion, item, islands.right[n])
            elif item >= -count:
                take_efforts(rows, memory, -1 - item, islands.right[n])
            else:
                m = -1 - item - count
                mimics.multiplier[m] = mimics.multiplier[m] - islands.right[n]
        k = next_item(work, k)


@wp.func
def force_of(rows: JointRows, memory: JointMemory, j: int):
    """Force of a joint on its child."""
    return wp.spatial_top(wp.transpose(rows.child[j]) * memory.effort[j])


@wp.func
def lost_to_mimic(motion: BodyMotion, mimics: Mimics, m: int):
    """The same of a mimic."""
    lost, held = wp.vec3(0.0), int(0)
    for k in range(wp.where(six_of(m) > 0, 4, 0)):
        b = mimics.body[4 * m + k]
        outside = b == -1
        if b >= 0:
            outside = motion.moves[b] == 0
        wrench = wp.transpose(mimics.rates[4 * m + k]) * mimics.multiplier[m]
        if outside:
            held = wp.max(held, int(wp.length_sq(wrench) > 0.0))
        elif b != NO_BODY:
            lost += wp.cross(motion.way[b], wp.spatial_top(wrench))
    return lost, held


@wp.func
def lost_momentum(
    islands: Islands,
    joints: Joints,
    motion: BodyMotion,
    rows: JointRows,
    memory: JointMemory,
    mimics: Mimics,
    first: int,
    last: int,
):
    """h^-1 times what an island lost of its angular momentum (see body_motion.py); and 1 if something outside holds it."""
    lost, held = wp.vec3(0.0), int(0)
    for n in range(first, last):
        j = -1 - islands.item[n]
        if j >= islands.child.shape[0]:
            other, outside = lost_to_mimic(motion, mimics, j - islands.child.shape[0])
            lost += other
            held = wp.max(held, outside)
        elif j >= 0:
            parent, child = joints.parent[j], joints.child[j]
            loose = motion.moves[child] == 0
            if parent >= 0:
                loose = loose or motion.moves[parent] == 0
            if loose or parent < 0:
                if wp.length_sq(memory.effort[j]) > 0.0:
                    held = 1
            else:
                lost += wp.cross(motion.way[child] - motion.way[parent], force_of(rows, memory, j))
    return lost, held


@wp.kernel(enable_backward=False)
def restore_momentum(
    work: Work, joints: Joints, bodies: Bodies, islands: Islands, motion: BodyMotion, rows: JointRows, memory: JointMemory, mimics: Mimics,
    dt: float, body_qd: wp.array(dtype=wp.spatial_vector),
):  # fmt: skip
    """Give islands that nothing holds their angular momentum, as a rotation of the whole."""
    k = first_item(work, wp.tid())
    while k >= 0:
        first, last = islands.first[k], islands.first[k + 1]
        if last - first > 1:
            lost, held = lost_momentum(islands, joints, motion, rows, memory, mimics, first, last)
            if held == 0:
                mass, origin, com = float(0.0), motion.com[wp.max(islands.item[first], 0)], wp.vec3(0.0)
                for n in range(first, last):
                    b = islands.item[n]
                    if b >= 0:
                        mass += bodies.mass[b]
                        com += bodies.mass[b] * (motion.com[b] - origin + motion.way[b])
                com = com / mass
                inertia = wp.mat33()
                for n in range(first, last):
                    b = islands.item[n]
                    if b >= 0:
                        turn, r = wp.quat_to_matrix(motion.turn[b]), motion.com[b] - origin + motion.way[b] - com
                        spread = wp.dot(r, r) * wp.identity(n=3, dtype=wp.float32) - wp.outer(r, r)
                        inertia += turn * motion.inertia[b] * wp.transpose(turn) + bodies.mass[b] * spread
                size = wp.trace(inertia)
                omega = solve_columns(inertia / size, dt * lost / size)
                for n in range(first, last):
                    b = islands.item[n]
                    if b >= 0:
                        v = wp.cross(omega, motion.com[b] - origin + motion.way[b] - com)
                        body_qd[b] = body_qd[b] + wp.spatial_vector(v[0], v[1], v[2], omega[0], omega[1], omega[2])
        k = next_item(work, k)
