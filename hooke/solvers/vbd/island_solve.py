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
from hooke.solvers.vbd.body_contacts import (
    BodyContacts,
    ContactOptions,
    contact_block,
    contact_stiffness,
    follow_force,
    may_move,
)
from hooke.solvers.vbd.body_motion import BodyMotion, inertial_force, inertial_matrix, rotation_of, solve_columns
from hooke.solvers.vbd.islands import Islands
from hooke.solvers.vbd.joint_rows import JointMemory, JointRows
from hooke.solvers.vbd.line_search import keep_loads, step_fraction

__all__ = ["Turn", "restore_momentum", "solve_islands"]

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
        islands.diagonal[n] = inertial_matrix(bodies, motion, b, dt) + motion.stiffening[b]
        islands.right[n] = inertial_force(bodies, motion, b, dt) + motion.pull[b]


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
def block_between(islands: Islands, a: int, b: int):
    """The block of two nodes of an island, a before b."""
    found = int(-1)
    for e in range(islands.block[a], islands.block_end[a]):
        if islands.row[e] == b:
            found = e
    return found


@wp.func
def load_contacts(islands: Islands, contacts: BodyContacts, motion: BodyMotion, n: int, b: int, part: int):
    """What contacts add to the equations of a body, and, seen from body 1, the blocks between two bodies."""
    for k in range(contacts.first[b], contacts.first[b + 1]):
        r = contacts.row[k]
        if contacts.along[r] > 0.0:
            pair = contacts.body[r]
            side = wp.where(pair[0] == b, -1.0, 1.0)
            lever = wp.where(pair[0] == b, contacts.lever0[r], contacts.lever1[r])
            within = (contacts.inside[r] & part) != 0
            share = wp.where(within, 1.0, 2.0)
            f = side * contacts.push[r]
            t = wp.cross(lever, f)
            islands.right[n] = islands.right[n] + wp.spatial_vector(f[0], f[1], f[2], t[0], t[1], t[2])
            stiffness = share * contact_stiffness(contacts, r)
            islands.diagonal[n] = islands.diagonal[n] + contact_block(stiffness, lever, lever)
            if within and side > 0.0 and may_move(motion, pair[0]):
                other = islands.node_of_body[pair[0]]
                if other < n:
                    e = block_between(islands, other, n)
                    islands.lower[e] = islands.lower[e] - contact_block(stiffness, lever, contacts.lever0[r])
                else:
                    e = block_between(islands, n, other)
                    islands.lower[e] = islands.lower[e] - contact_block(stiffness, contacts.lever0[r], lever)


@wp.func
def load_joint(islands: Islands, rows: JointRows, n: int, j: int):
    """The rows of a joint."""
    d = wp.spatial_matrix()
    for i in range(six_of(j)):
        d[i, i] = -rows.slack[j][i]
    islands.diagonal[n] = d
    islands.right[n] = -rows.residual[j]


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


@wp.func
def gradient_of_body(islands: Islands, n: int):
    """Keep the right side of a body, which elimination overwrites."""
    islands.gradient[n] = islands.right[n]


@wp.func
def curvature_along(islands: Islands, rows: JointRows, first: int, last: int):
    """Of what is minimised, along the solution: delta . A delta with A = H + J^T S J."""
    c = float(0.0)
    for n in range(first, last):
        x = islands.right[n]
        if islands.item[n] >= 0:
            c += wp.dot(x, islands.gradient[n])
        else:
            j = -1 - islands.item[n]
            for i in range(six_of(j)):
                g, slack = rows.residual[j][i], rows.slack[j][i]
                c -= (slack * x[i] - g) * g / slack
    return wp.max(c, 0.0)


@wp.func
def eliminate(islands: Islands, first: int, last: int):
    """Solve the equations of an island; ``right`` becomes the solution."""
    for n in range(first, last):
        sign = wp.where(islands.item[n] >= 0, 1.0, -1.0)
        eliminate_column(
            n, sign, islands.block[n], islands.block_end[n], islands.pair[n], islands.row, islands.target, islands.diagonal,
            islands.right, islands.lower, islands.scaled,
        )  # fmt: skip
    for back in range(last - first):
        n = last - 1 - back
        substitute_back(n, islands.block[n], islands.block_end[n], islands.row, islands.scaled, islands.right)


@wp.func
def follow_contacts(islands: Islands, contacts: BodyContacts, motion: BodyMotion, options: ContactOptions, first: int, last: int,
                    part: int, dt: float):  # fmt: skip
    """Let the multipliers of a lone group take the forces, if no row is on another piece than it was solved for.

    Before that the forces are those of a guess of what touches, and multipliers that follow them swing; so do those that follow the
    forces between groups, which one solve does not settle. Whether they did.
    """
    changed = int(0)
    for n in range(first, last):
        b = islands.item[n]
        if b >= 0:
            changed = changed | (1 - contacts.lone[b]) | (1 - contacts.whole[b])
            for k in range(contacts.first[b], contacts.first[b + 1]):
                r = contacts.row[k]
                changed = changed | contacts.changed[r]
                if (contacts.inside[r] & part) == 0 and contacts.along[r] > 0.0:
                    changed = 1
    if changed == 0:
        for n in range(first, last):
            b = islands.item[n]
            if b >= 0:
                for k in range(contacts.first[b], contacts.first[b + 1]):
                    r = contacts.row[k]
                    pair = contacts.body[r]
                    if (contacts.inside[r] & part) != 0 and (pair[1] == b or not may_move(motion, pair[1])):
                        follow_force(contacts, options, r, dt)
    return 1 - changed


@wp.struct
class Turn:
    """What an iteration is about: the time step, the grouping, 0 without contacts, and whether it is the last."""

    dt: wp.float32
    part: wp.int32
    last: wp.int32


@wp.kernel(enable_backward=False)
def solve_islands(
    work: Work, joints: Joints, bodies: Bodies, rows: JointRows, options: ContactOptions, turn: Turn, islands: Islands,
    contacts: BodyContacts, motion: BodyMotion, memory: JointMemory,
):  # fmt: skip
    """(1) for every island."""
    k = first_item(work, wp.tid())
    while k >= 0:
        if k < islands.count[0]:
            first, last = islands.first[k], islands.first[k + 1]
            for e in range(islands.block[first], islands.block_end[last - 1]):
                islands.lower[e] = wp.spatial_matrix()
            followed = int(0)
            if turn.part != 0:
                followed = follow_contacts(islands, contacts, motion, options, first, last, turn.part, turn.dt)
            for n in range(first, last):
                item = islands.item[n]
                if item >= 0:
                    load_body(islands, bodies, motion, n, item, turn.dt)
                else:
                    load_joint(islands, rows, n, -1 - item)
            for n in range(first, last):
                item = islands.item[n]
                j = -1 - item
                if j >= 0:
                    base = rows.base[j]
                    load_end(islands, motion, joints.child[j], islands.child[j], rows.child[j], base, rows.stiffen_child[j])
                    load_end(islands, motion, joints.parent[j], islands.parent[j], rows.parent[j], base, rows.stiffen_parent[j])
                elif turn.part != 0:
                    load_contacts(islands, contacts, motion, n, item, turn.part)
            for n in range(first, last):
                gradient_of_body(islands, n)
            eliminate(islands, first, last)
            fraction = float(1.0)
            if turn.part != 0:
                if followed == 0:
                    curvature = curvature_along(islands, rows, first, last)
                    fraction = step_fraction(islands, contacts, motion, first, last, turn.part, curvature)
                if turn.last != 0:
                    keep_loads(islands, contacts, motion, first, last, turn.part, fraction)
            for n in range(first, last):
                item = islands.item[n]
                if item >= 0:
                    move_body(motion, item, fraction * islands.right[n])
                    if turn.part != 0:
                        contacts.whole[item] = wp.where(fraction == 1.0, 1, 0)
                else:
                    take_efforts(rows, memory, -1 - item, islands.right[n])
        k = next_item(work, k)


@wp.func
def force_of(rows: JointRows, memory: JointMemory, j: int):
    """Force of a joint on its child."""
    return wp.spatial_top(wp.transpose(rows.child[j]) * memory.effort[j])


@wp.func
def lost_momentum(
    islands: Islands, joints: Joints, motion: BodyMotion, rows: JointRows, memory: JointMemory, contacts: BodyContacts, first: int,
    last: int,
):  # fmt: skip
    """h^-1 times what an island lost of its angular momentum (see body_motion.py); and 1 if something outside holds it."""
    lost, held = wp.vec3(0.0), int(0)
    for n in range(first, last):
        j = -1 - islands.item[n]
        if j >= 0:
            parent, child = joints.parent[j], joints.child[j]
            loose = motion.moves[child] == 0
            if parent >= 0:
                loose = loose or motion.moves[parent] == 0
            if loose or parent < 0:
                if wp.length_sq(memory.effort[j]) > 0.0:
                    held = 1
            else:
                lost += wp.cross(motion.way[child] - motion.way[parent], force_of(rows, memory, j))
        elif contacts.first.shape[0] > 0:
            b = islands.item[n]
            for k in range(contacts.first[b], contacts.first[b + 1]):
                if wp.length_sq(contacts.load[contacts.row[k]]) > 0.0:
                    held = 1
    return lost, held


@wp.kernel(enable_backward=False)
def restore_momentum(
    work: Work, joints: Joints, bodies: Bodies, islands: Islands, motion: BodyMotion, rows: JointRows, memory: JointMemory,
    contacts: BodyContacts, dt: float, body_qd: wp.array(dtype=wp.spatial_vector),
):  # fmt: skip
    """Give islands that nothing holds their angular momentum, as a rotation of the whole."""
    k = first_item(work, wp.tid())
    while k >= 0:
        first, last = islands.first[k], islands.first[k + 1]
        if last - first > 1:
            lost, held = lost_momentum(islands, joints, motion, rows, memory, contacts, first, last)
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
