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
    add_beside,
    add_to_block,
    clear_block,
    copy_block,
    eliminate_column,
    store_diagonal,
    store_inertia,
    substitute_back,
)
from hooke.model.tables import Bodies, Joints
from hooke.solvers.vbd.body_contacts import RESTS, BodyContacts, ContactOptions
from hooke.solvers.vbd.body_motion import BodyMotion, inertia_now, inertial_force, rotation_of, solve_columns, unit_again
from hooke.solvers.vbd.contact_solve import WHOLE, couple_contacts, follow_contacts, is_settled, load_contacts
from hooke.solvers.vbd.islands import Islands
from hooke.solvers.vbd.joint_frames import JointMemory
from hooke.solvers.vbd.joint_rows import JointRows
from hooke.solvers.vbd.line_search import keep_loads, step_fraction
from hooke.solvers.vbd.mimics import NO_BODY, Mimics

__all__ = ["Turn", "restore_momentum", "solve_islands"]

MOST_TURN = wp.constant(1.0)  # of a body in one iteration [rad]
CALM, ROUNDING, SMALLEST = wp.constant(1.0e-4), wp.constant(1.0e-6), wp.constant(1.0e-30)


@wp.struct
class Turn:
    """What an iteration is about: the time step, the grouping, 0 without contacts, whether only lone groups are solved, its number, and
    whether it is the last.
    """

    dt: wp.float32
    part: wp.int32
    lone: wp.int32
    number: wp.int32
    last: wp.int32


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
def load_body(islands: Islands, bodies: Bodies, motion: BodyMotion, rows: JointRows, contacts: BodyContacts, n: int, b: int,
              turn: Turn):  # fmt: skip
    """The equations of a body; one that has stopped to be dynamic stays."""
    if motion.moves[b] == 0:
        store_inertia(n, 1.0, wp.identity(n=3, dtype=wp.float32), wp.spatial_vector(), islands.diagonal)
        islands.gradient[n] = wp.spatial_vector()
    else:
        force, stiffness = ends_of(islands, rows, b)
        force += inertial_force(bodies, motion, b, turn.dt) + motion.pull[b]
        stiffness += inertia_now(motion, b, turn.dt)
        store_inertia(n, bodies.mass[b] / (turn.dt * turn.dt), stiffness, force, islands.diagonal)
        if motion.pushed[b] != 0:
            add_to_block(n, motion.stiffening[b], islands.diagonal)
        if turn.part != 0:
            wrench = load_contacts(islands, contacts, n, b, turn.part)
            add_beside(n, wrench, islands.diagonal)
            force += wrench
        islands.gradient[n] = force


@wp.func
def load_node(islands: Islands, bodies: Bodies, motion: BodyMotion, rows: JointRows, mimics: Mimics, contacts: BodyContacts, n: int,
              turn: Turn):  # fmt: skip
    item, count = islands.item[n], islands.child.shape[0]
    if item >= 0:
        load_body(islands, bodies, motion, rows, contacts, n, item, turn)
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
            add_beside(islands.node_of_body[b], wrench_on(mimics, e, mimics.multiplier[m]), islands.diagonal)


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


@wp.func
def clear_island(islands: Islands, k: int):
    """Zeros in the blocks of an island that nothing writes before others add to them."""
    n = islands.first[k]
    for e in range(islands.block[n], islands.fill_end[n]):
        clear_block(islands.fill[e], islands.lower)


@wp.func
def load_couplings(islands: Islands, joints: Joints, motion: BodyMotion, rows: JointRows, mimics: Mimics, contacts: BodyContacts,
                   first: int, last: int, part: int):  # fmt: skip
    """The blocks between nodes."""
    count = islands.child.shape[0]
    for n in range(first, last):
        item = islands.item[n]
        j = -1 - item
        if j >= count:
            load_mimic(islands, motion, mimics, j - count)
        elif j >= 0:
            load_ends(islands, joints, motion, rows, j)
        elif part != 0:
            couple_contacts(islands, contacts, motion, n, item, part)


@wp.func
def eliminate(islands: Islands, first: int, last: int):
    """Solve the equations of an island, up to going back."""
    for n in range(first, last):
        eliminate_column(
            n, islands.block[n], islands.block_end[n], islands.pair[n], islands.row, islands.target, islands.item, islands.diagonal,
            islands.lower, islands.scaled, islands.solution,
        )  # fmt: skip


@wp.func
def solve_back(islands: Islands, n: int):
    substitute_back(
        n, islands.block[n], islands.block_end[n], islands.row, islands.item, islands.lower, islands.scaled, islands.solution
    )


@wp.func
def take_multipliers(islands: Islands, rows: JointRows, memory: JointMemory, mimics: Mimics, n: int):
    """What the solution of a joint or a mimic does to its multipliers."""
    item, count = islands.item[n], islands.child.shape[0]
    if item >= -count:
        take_efforts(rows, memory, -1 - item, islands.solution[n])
    else:
        m = -1 - item - count
        mimics.multiplier[m] = mimics.multiplier[m] - islands.solution[n]


@wp.func
def row_curvature(x: wp.spatial_vector, g: wp.spatial_vector, slack: wp.spatial_vector):
    """Of (J delta) . S g, where x = S (J delta + g)."""
    return wp.dot(wp.cw_mul(slack, x) - g, wp.cw_div(g, slack))


@wp.func
def curvature_along(islands: Islands, rows: JointRows, mimics: Mimics, first: int, last: int):
    """Of what is minimised, along the solution: delta . A delta with A = H + J^T S J."""
    c, count = float(0.0), islands.child.shape[0]
    for n in range(first, last):
        x, item = islands.solution[n], islands.item[n]
        if item >= 0:
            c += wp.dot(x, islands.gradient[n])
        elif item >= -count:
            c -= row_curvature(x, rows.residual[-1 - item], rows.slack[-1 - item])
        else:
            m = -1 - item - count
            c -= row_curvature(x, mimics.residual[m], mimics.slack[m])
    return wp.max(c, 0.0)


@wp.func
def move_group(islands: Islands, motion: BodyMotion, first: int, last: int, fraction: float):
    """Take a step, or a part of it; how large it is, relative to what it may be at rest."""
    most = float(0.0)
    for n in range(first, last):
        b = islands.item[n]
        if b >= 0:
            delta = fraction * islands.solution[n]
            way, pull = motion.way[b], motion.target[b] - motion.way[b]
            still = CALM * wp.length(pull) + ROUNDING * wp.length(way)
            arm = wp.sqrt(wp.trace(motion.inertia[b]) * motion.lightness[b])
            size = wp.length(wp.spatial_top(delta)) + arm * wp.length(wp.spatial_bottom(delta))
            most = wp.max(most, size / wp.max(still, SMALLEST))
            move_body(motion, b, delta)
    return most


@wp.func
def finish_group(islands: Islands, rows: JointRows, contacts: BodyContacts, motion: BodyMotion, memory: JointMemory, mimics: Mimics,
                 turn: Turn, followed: int, first: int, last: int):  # fmt: skip
    """After the solve of a group with contacts: how far to go, and what is known of it afterwards."""
    fraction = float(1.0)
    if followed == 0:
        curvature = curvature_along(islands, rows, mimics, first, last)
        fraction = step_fraction(islands, contacts, motion, first, last, turn.part, curvature)
    if followed != 0 or fraction != 1.0 or turn.last != 0:
        keep_loads(islands, contacts, motion, first, last, turn.part, fraction, turn.last)
    size = move_group(islands, motion, first, last, fraction)
    state = wp.where(fraction == 1.0, WHOLE, 0)
    if followed != 0 and size <= 1.0:
        state = RESTS
    for n in range(first, last):
        if islands.item[n] >= 0:
            contacts.whole[islands.item[n]] = state
        else:
            take_multipliers(islands, rows, memory, mimics, n)


@wp.kernel(enable_backward=False)
def solve_islands(
    work: Work, joints: Joints, bodies: Bodies, rows: JointRows, options: ContactOptions, turn: Turn, islands: Islands,
    contacts: BodyContacts, motion: BodyMotion, memory: JointMemory, mimics: Mimics,
):  # fmt: skip
    """(1) for every island."""
    state = flush_denormals()
    k = first_item(work, wp.tid())
    while k >= 0:
        if k < islands.count[0]:
            first, last = islands.first[k], islands.first[k + 1]
            settled, followed = int(0), int(0)
            if turn.part != 0:
                settled = is_settled(islands, contacts, motion, first, last, turn.lone)
                if settled == 0:
                    followed = follow_contacts(islands, contacts, motion, options, first, last, turn.part, turn.dt)
            if settled == 0:
                motion.busy[turn.number % 2] = 1
                clear_island(islands, k)
                for n in range(first, last):
                    load_node(islands, bodies, motion, rows, mimics, contacts, n, turn)
                load_couplings(islands, joints, motion, rows, mimics, contacts, first, last, turn.part)
                eliminate(islands, first, last)
                for back in range(last - first):
                    n = last - 1 - back
                    solve_back(islands, n)
                    if turn.part == 0:
                        if islands.item[n] >= 0:
                            move_body(motion, islands.item[n], islands.solution[n])
                        else:
                            take_multipliers(islands, rows, memory, mimics, n)
                if turn.part != 0:
                    finish_group(islands, rows, contacts, motion, memory, mimics, turn, followed, first, last)
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
    contacts: BodyContacts,
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
        elif contacts.first.shape[0] > 0:
            b = islands.item[n]
            for k in range(contacts.first[b], contacts.first[b + 1]):
                if wp.length_sq(contacts.load[contacts.row[k]]) > 0.0:
                    held = 1
    return lost, held


@wp.kernel(enable_backward=False)
def restore_momentum(
    work: Work, joints: Joints, bodies: Bodies, islands: Islands, motion: BodyMotion, rows: JointRows, memory: JointMemory, mimics: Mimics,
    contacts: BodyContacts, dt: float, body_qd: wp.array(dtype=wp.spatial_vector),
):  # fmt: skip
    """Give islands that nothing holds their angular momentum, as a rotation of the whole."""
    k = first_item(work, wp.tid())
    while k >= 0:
        first, last = islands.first[k], islands.first[k + 1]
        if last - first > 1:
            lost, held = lost_momentum(islands, joints, motion, rows, memory, mimics, contacts, first, last)
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
