"""One Newton step for all bodies of an island and all efforts of its joints at once.

With H the inertia over h^2 and the stiffening of taut joints, J the rates of the rows, S^-1 their slack (joint_rows.py),

    [ H    J^T  ] [ delta ]   [ r + J^T base ]
    [ J   -S^-1 ] [  nu   ] = [      -g      ],     efforts = base - nu.                                        (1)

The matrix is quasi-definite for any positive slack, hard or soft rows alike, and is eliminated from the leaves of the joints' tree to the
root (:mod:`hooke.solvers.vbd.islands`). What a joint adds to its parent, J_p^T (S^-1 + J_c H_c^-1 J_c^T)^-1 J_p, is a sum of positive
matrices: a mass ratio or a stiffness cancels no digits, as it would in H + J^T S J.
"""

import warp as wp

from hooke.execution.denormals import flush_denormals, restore_denormals
from hooke.execution.work import Work, first_item, next_item
from hooke.math.blocks import (
    Rows,
    add_to_block,
    clear_block,
    copy_block,
    eliminate_column,
    store_block,
    store_diagonal,
    substitute_back,
)
from hooke.model.tables import Bodies, Joints
from hooke.solvers.vbd.body_motion import BodyMotion, inertial_force, inertial_matrix, rotation_of, solve_columns, unit_again
from hooke.solvers.vbd.islands import Islands
from hooke.solvers.vbd.joint_frames import JointMemory
from hooke.solvers.vbd.joint_rows import JointRows
from hooke.solvers.vbd.mimics import NO_BODY, Mimics

__all__ = ["restore_momentum", "solve_islands"]

MOST_TURN = wp.constant(1.0)  # of a body in one iteration [rad]


@wp.func
def ends_of_mimic(m: int):
    """Four, as a number that the compiler does not unroll loops for."""
    return wp.where(m < 0, 0, 4)


@wp.func
def ends_of(islands: Islands, rows: JointRows, b: int):
    """What joints add to the equations of a body: a wrench, and stiffness against rotation."""
    force, stiffness = wp.spatial_vector(), wp.mat33()
    for k in range(islands.first_end[b], islands.first_end[b + 1]):
        force += rows.load[islands.end[k]]
        stiffness += rows.stiffen[islands.end[k]]
    return force, stiffness


@wp.func
def load_body(islands: Islands, bodies: Bodies, motion: BodyMotion, rows: JointRows, n: int, b: int, dt: float):
    """The equations of a body; one that has stopped to be dynamic stays."""
    matrix, force = wp.identity(n=6, dtype=wp.float32), wp.spatial_vector()
    if motion.moves[b] != 0:
        force, stiffness = ends_of(islands, rows, b)
        force += inertial_force(bodies, motion, b, dt)
        matrix = inertial_matrix(bodies, motion, b, dt)
        for i in range(3):
            for k in range(3):
                matrix[3 + i, 3 + k] += stiffness[i, k]
    store_block(n, matrix, force, islands.diagonal)


@wp.func
def load_node(islands: Islands, bodies: Bodies, motion: BodyMotion, rows: JointRows, mimics: Mimics, n: int, dt: float):
    item, count = islands.item[n], islands.child.shape[0]
    if item >= 0:
        load_body(islands, bodies, motion, rows, n, item, dt)
    elif item >= -count:
        store_diagonal(n, -1 - item, rows.slack, rows.residual, islands.diagonal)
    else:
        store_diagonal(n, -1 - item - count, mimics.slack, mimics.residual, islands.diagonal)


@wp.func
def load_end(islands: Islands, motion: BodyMotion, b: int, block: int, rates: wp.array(dtype=Rows), j: int, transposed: bool):
    """The block between joint ``j`` and one of its bodies, or its transpose."""
    if block != -1:
        place = wp.where(block >= 0, block, -2 - block)
        if motion.moves[b] == 0:
            clear_block(place, islands.lower)
        else:
            copy_block(place, j, transposed, rates, islands.lower)


@wp.func
def load_ends(islands: Islands, joints: Joints, motion: BodyMotion, rows: JointRows, j: int):
    """The blocks between a joint and its bodies: the transposes of what is below the diagonal."""
    child, parent = islands.child[j], islands.parent[j]
    load_end(islands, motion, joints.child[j], child, rows.child, j, child < 0)
    load_end(islands, motion, joints.parent[j], parent, rows.parent, j, parent >= 0)


@wp.func
def wrench_on(mimics: Mimics, e: int, multiplier: wp.spatial_vector):
    """Wrench of a mimic on the body of its end ``e``."""
    wrench = wp.spatial_vector()
    for i in range(6):
        for k in range(6):
            wrench[k] += mimics.rates[e][i, k] * multiplier[i]
    return wrench


@wp.func
def load_mimic(islands: Islands, motion: BodyMotion, mimics: Mimics, m: int):
    """The blocks between a mimic and its bodies, and what it adds to their equations."""
    for k in range(ends_of_mimic(m)):
        e = 4 * m + k
        b, block = mimics.body[e], islands.mimic[e]
        load_end(islands, motion, b, block, mimics.rates, e, block >= 0)
        if block != -1 and motion.moves[wp.max(b, 0)] != 0:
            add_to_block(islands.node_of_body[b], wp.mat33(), wrench_on(mimics, e, mimics.multiplier[m]), islands.diagonal)


@wp.func
def move_body(motion: BodyMotion, b: int, delta: wp.spatial_vector):
    """Take a step."""
    turn = wp.spatial_bottom(delta)
    if wp.length_sq(turn) > MOST_TURN * MOST_TURN:
        turn = turn * (MOST_TURN / wp.length(turn))
    if motion.moves[b] != 0:
        motion.way[b] = motion.way[b] + wp.spatial_top(delta)
        motion.turn[b] = unit_again(rotation_of(turn) * motion.turn[b])


@wp.func
def take_efforts(rows: JointRows, memory: JointMemory, j: int, nu: wp.spatial_vector):
    """Efforts and multipliers after a solve."""
    memory.effort[j] = rows.base[j] - nu
    memory.multiplier[j] = memory.multiplier[j] - wp.cw_mul(rows.share[j], nu) + rows.shift[j]  # no share: no shift


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
    state = flush_denormals()
    k = first_item(work, wp.tid())
    count = islands.child.shape[0]
    while k >= 0:
        first, last = islands.first[k], islands.first[k + 1]
        for e in range(islands.first_fill[k], islands.first_fill[k + 1]):
            clear_block(islands.fill[e], islands.lower)
        for n in range(first, last):
            load_node(islands, bodies, motion, rows, mimics, n, dt)
        for n in range(first, last):
            j = -1 - islands.item[n]
            if j >= count:
                load_mimic(islands, motion, mimics, j - count)
            elif j >= 0:
                load_ends(islands, joints, motion, rows, j)
        for n in range(first, last):
            eliminate_column(
                n, islands.block[n], islands.block[n + 1], islands.pair[n], islands.row, islands.target, islands.item, islands.diagonal,
                islands.lower, islands.scaled, islands.solution,
            )  # fmt: skip
        for back in range(last - first):
            n = last - 1 - back
            substitute_back(n, islands.block[n], islands.block[n + 1], islands.row, islands.item, islands.scaled, islands.solution)
            item = islands.item[n]
            if item >= 0:
                move_body(motion, item, islands.solution[n])
            elif item >= -count:
                take_efforts(rows, memory, -1 - item, islands.solution[n])
            else:
                m = -1 - item - count
                mimics.multiplier[m] = mimics.multiplier[m] - islands.solution[n]
        k = next_item(work, k)
    restore_denormals(state)


@wp.func
def force_of(rows: JointRows, memory: JointMemory, j: int):
    """Force of a joint on its child."""
    f = wp.vec3(0.0)
    for i in range(3):
        for k in range(6):
            f[i] += rows.child[j][i, k] * memory.effort[j][k]
    return f


@wp.func
def lost_to_mimic(motion: BodyMotion, mimics: Mimics, m: int):
    """The same of a mimic."""
    lost, held = wp.vec3(0.0), int(0)
    for k in range(ends_of_mimic(m)):
        b = mimics.body[4 * m + k]
        outside = b == -1
        if b >= 0:
            outside = motion.moves[b] == 0
        wrench = wrench_on(mimics, 4 * m + k, mimics.multiplier[m])
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
