"""Rows of contacts between bodies at the start of a step, and what is kept of them for the next one.

A row is found again by body, pair of shapes and feature. Its multiplier begins with the force that it had at the end of the step before,
as far as that lasts: the force of an impact does not, nor does what the last iteration was still changing, nor what would throw a body
that nothing else holds.
"""

import warp as wp

from hooke.contact.mixing import mix_damping, mix_friction, mix_stiffness
from hooke.execution.work import Work, first_item, next_item
from hooke.joints.rotation import rotation_vector
from hooke.math.memory import take_number
from hooke.model.contacts import RigidRows
from hooke.model.tables import Bodies, Shapes
from hooke.solvers.vbd.body_contacts import (
    BOTH,
    LIVE,
    NEAR,
    RESTS,
    SURELY,
    TINY,
    BodyContacts,
    ContactOptions,
    contact_force,
    keep_load,
    live_count,
    may_move,
    moved_point,
    penalty_of,
)
from hooke.solvers.vbd.body_motion import BodyMotion, rotation_of
from hooke.solvers.vbd.islands import Islands
from hooke.solvers.vbd.row_lists import sort_rows

__all__ = ["ContactPast", "begin_contacts", "finish_contacts", "forget_contacts", "list_contacts", "remember_lists", "set_penalties",
           "sort_contacts", "tame_groups", "weigh_contacts"]  # fmt: skip

FASTER, FAR = wp.constant(1.1), wp.constant(1.0e15)
AROUND = wp.constant(4.0)  # ways of a step within which a row is looked at
THROWN = wp.constant(2.0)  # acceleration over gravity that forces taken over may cause
ROUNDING = wp.constant(1.0e-3)


@wp.struct
class ContactPast:
    """The rows of the step before, found again by body, pair of shapes and feature. Feature -1 is a row that is forgotten."""

    first: wp.array(dtype=wp.int32)
    row: wp.array(dtype=wp.int32)
    shape: wp.array(dtype=wp.vec2i)
    feature: wp.array(dtype=wp.int32)
    normal: wp.array(dtype=wp.vec3)
    force: wp.array(dtype=wp.vec3)


@wp.func
def inverse_mass(bodies: Bodies, motion: BodyMotion, b: int, n: wp.vec3, lever: wp.vec3):
    """How far a unit of impulse moves a point of a body along its direction; 0 of one that forces do not move."""
    w = float(0.0)
    if b >= 0:
        if motion.moves[b] != 0:
            arm = wp.quat_rotate_inv(motion.rotation[b], wp.cross(lever, n))
            w = bodies.inv_mass[b] + wp.dot(arm, bodies.inv_inertia[b] * arm)
    return w


@wp.func
def point_velocity(motion: BodyMotion, b: int, lever: wp.vec3):
    v = wp.vec3(0.0)
    if b >= 0:
        v = wp.spatial_top(motion.velocity[b]) + wp.cross(wp.spatial_bottom(motion.velocity[b]), lever)
    return v


@wp.func
def arm_of(bodies: Bodies, motion: BodyMotion, b: int, point: wp.vec3):
    """From the centre of mass of a body to a point of its frame, where rows were found; of the world the point itself.

    Before a step bodies that forces move are at its start, and those that the caller moves at its end.
    """
    arm = point
    if b >= 0:
        arm = wp.quat_rotate(motion.turn[b] * motion.rotation[b], point - bodies.com[b])
    return arm


@wp.func
def com_of(motion: BodyMotion, b: int):
    """The centre of mass of a body where rows were found; of the world its origin."""
    com = wp.vec3(0.0)
    if b >= 0:
        com = motion.com[b] + motion.way[b]
    return com


@wp.func
def feature_of(rows: RigidRows, r: int):
    """The feature of a row, -1 where rows do not say."""
    feature = int(-1)
    if rows.point_id.shape[0] > 0:
        feature = rows.point_id[r]
    return feature


@wp.func
def kept_force(past: ContactPast, b: int, shape: wp.vec2i, feature: int, n: wp.vec3):
    """The force of the same row in the step before, turned with its normal."""
    force = wp.vec3(0.0)
    for k in range(past.first[b], past.first[b + 1]):
        q = past.row[k]
        if feature >= 0 and past.feature[q] == feature and past.shape[q][0] == shape[0] and past.shape[q][1] == shape[1]:
            old = past.force[q]
            along = wp.dot(old, past.normal[q])
            across = old - along * past.normal[q]
            force = along * n + (across - wp.dot(across, n) * n)
    return force


@wp.func
def gain_of(motion: BodyMotion, a: int, b: int):
    """The larger acceleration of two bodies in the step before."""
    most = float(0.0)
    for side in range(2):
        body = wp.where(side == 0, a, b)
        if may_move(motion, body):
            most = wp.max(most, wp.length(motion.gain[body]))
    return most


@wp.func
def steady_share(contacts: BodyContacts, r: int, kept: wp.vec3, gain: float, fall: float, dt: float):
    """What of a force lasts: that of an impact, which accelerates by more than gravity what the row moves, does not."""
    thrown = contacts.mass[r] * wp.max(gain - fall / (dt * dt), 0.0)
    return wp.clamp(1.0 - thrown / wp.max(wp.length(kept), TINY), 0.0, 1.0)


@wp.func
def fall_of(bodies: Bodies, gravity: wp.array(dtype=wp.vec3), b: int, dt: float):
    """|g| h^2 in the world of a body."""
    world = bodies.world[b]
    return dt * dt * wp.length(gravity[wp.where(world < 0, gravity.shape[0] - 1, world)])


@wp.func
def place_row(contacts: BodyContacts, bodies: Bodies, motion: BodyMotion, rows: RigidRows, r: int, a: int, b: int):
    """Where the bodies of a row meet: at the middle between both surfaces, where the row was found.

    What the caller moves has arrived there already. Its lever is that of the point which was there at the start, since that one goes along
    with what lies on it; the separation at the start is from where it was then.
    """
    n = rows.normal[r]
    com0, com1 = com_of(motion, a), com_of(motion, b)
    arm0 = arm_of(bodies, motion, a, rows.point0[r]) + rows.margin0[r] * n
    arm1 = arm_of(bodies, motion, b, rows.point1[r]) - rows.margin1[r] * n
    between = (com1 - com0) + (arm1 - arm0)
    lever0, lever1 = arm0 + 0.5 * between, arm1 - 0.5 * between
    if a >= 0:
        lever0 += com0 - motion.com[a]
    if b >= 0:
        lever1 += com1 - motion.com[b]
    contacts.normal[r] = n
    contacts.lever0[r] = lever0
    contacts.lever1[r] = lever1
    contacts.gap[r] = wp.dot(n, between - (moved_point(motion, b, lever1) - moved_point(motion, a, lever0)))
    contacts.core[r] = wp.vec2(rows.margin0[r], rows.margin1[r]) + wp.vec2(0.5 * wp.dot(n, between))


@wp.func
def way_to_close(contacts: BodyContacts, motion: BodyMotion, r: int, a: int, b: int, fall: float, dt: float):
    """The way that a row may close in a step, and how far it may move in any direction."""
    v = point_velocity(motion, b, contacts.lever1[r]) - point_velocity(motion, a, contacts.lever0[r])
    return dt * wp.max(-wp.dot(contacts.normal[r], v), 0.0) + fall, AROUND * (dt * wp.length(v) + fall)


@wp.func
def begin_row(contacts: BodyContacts, motion: BodyMotion, r: int, a: int, b: int, kept: wp.vec3, reach: float,
              dt: float):  # fmt: skip
    """What a row can do in a step; its bodies are counted."""
    gap = contacts.gap[r]
    contacts.body[r] = wp.vec2i(a, b)
    contacts.reach[r] = reach
    contacts.blow[r] = SURELY * contacts.mass[r] * (reach + wp.max(-gap, 0.0)) / (dt * dt)
    near = gap <= reach or wp.length_sq(kept) > 0.0
    contacts.inside[r] = wp.where(near, NEAR, 0)
    contacts.live[take_number(0, contacts.number)] = r
    if may_move(motion, a):
        take_number(a, contacts.filled)
    if may_move(motion, b):
        take_number(b, contacts.filled)
    if not (may_move(motion, a) and may_move(motion, b)):
        contacts.inside[r] = contacts.inside[r] | BOTH


@wp.func
def fill_row(
    contacts: BodyContacts, shapes: Shapes, options: ContactOptions, motion: BodyMotion, r: int, pair: wp.vec2i, met: wp.vec2i
):
    """Material of a row, and how deep it may stay.

    Only what is deep both where the caller took a body from and where to: the ways of points on a drum that turns lead out of its surface.
    """
    s, t = met[0], met[1]
    way = moved_point(motion, pair[1], contacts.lever1[r]) - moved_point(motion, pair[0], contacts.lever0[r])
    depth = -contacts.gap[r] - wp.max(wp.dot(contacts.normal[r], way), 0.0)
    contacts.aim[r] = wp.where(options.hard != 0, options.alpha * wp.max(depth, 0.0), 0.0)
    contacts.most[r] = mix_stiffness(shapes.material_ke[s], shapes.material_ke[t])
    contacts.damping[r] = mix_damping(shapes.material_kd[s], shapes.material_kd[t])
    contacts.mu[r] = mix_friction(shapes.material_mu[s], shapes.material_mu[t])


@wp.kernel(enable_backward=False)
def begin_contacts(
    work: Work, rows: RigidRows, shapes: Shapes, bodies: Bodies, motion: BodyMotion, past: ContactPast, options: ContactOptions,
    gravity: wp.array(dtype=wp.vec3), dt: float, contacts: BodyContacts,
):  # fmt: skip
    """Geometry, material and multiplier of every row that may act in a step, and how many rows each body has."""
    r = first_item(work, wp.tid())
    while r >= 0:
        contacts.body[r] = wp.vec2i(-1, -1)
        contacts.load[r] = wp.vec3(0.0)
        contacts.felt[r] = wp.vec3(0.0)
        contacts.changed[r] = 0
        if r < live_count(rows):
            s, t = rows.shape0[r], rows.shape1[r]
            if s >= 0 and t >= 0:
                a, b = shapes.body[s], shapes.body[t]
                if may_move(motion, a) or may_move(motion, b):
                    owner = int(b)
                    if not may_move(motion, b):
                        owner = int(a)
                    place_row(contacts, bodies, motion, rows, r, a, b)
                    fall = fall_of(bodies, gravity, owner, dt)
                    gain = gain_of(motion, a, b)
                    reach, around = way_to_close(contacts, motion, r, a, b, wp.max(fall, dt * dt * gain), dt)
                    if contacts.gap[r] <= around:
                        fill_row(contacts, shapes, options, motion, r, wp.vec2i(a, b), wp.vec2i(s, t))
                        n = contacts.normal[r]
                        w = inverse_mass(bodies, motion, a, n, contacts.lever0[r])
                        contacts.mass[r] = 1.0 / (w + inverse_mass(bodies, motion, b, n, contacts.lever1[r]))
                        kept = kept_force(past, owner, wp.vec2i(s, t), feature_of(rows, r), n)
                        kept = (options.gamma * steady_share(contacts, r, kept, gain, fall, dt)) * kept
                        if options.hard == 0:
                            kept = kept - wp.dot(kept, n) * n
                        contacts.force[r] = kept
                        begin_row(contacts, motion, r, a, b, kept, reach, dt)
        r = next_item(work, r)


@wp.func
def put_row(contacts: BodyContacts, b: int, r: int):
    contacts.row[contacts.first[b] + take_number(b, contacts.filled)] = r


@wp.kernel(enable_backward=False)
def list_contacts(work: Work, motion: BodyMotion, contacts: BodyContacts):
    """The rows of every body, in no order."""
    block = first_item(work, wp.tid())
    while block >= 0:
        for i in range(LIVE * block, wp.min(LIVE * block + LIVE, contacts.number[0])):
            r = contacts.live[i]
            pair = contacts.body[r]
            if may_move(motion, pair[0]):
                put_row(contacts, pair[0], r)
            if may_move(motion, pair[1]):
                put_row(contacts, pair[1], r)
        block = next_item(work, block)


@wp.kernel(enable_backward=False)
def sort_contacts(work: Work, contacts: BodyContacts):
    """The rows of every body in increasing order, so that sums do not depend on who came first."""
    b = first_item(work, wp.tid())
    while b >= 0:
        sort_rows(contacts.row, contacts.first[b], contacts.first[b + 1])
        b = next_item(work, b)


@wp.kernel(enable_backward=False)
def weigh_contacts(
    work: Work, bodies: Bodies, motion: BodyMotion, gravity: wp.array(dtype=wp.vec3), jointed: wp.array(dtype=wp.int32),
    contacts: BodyContacts,
):  # fmt: skip
    """How much of the multipliers of its rows a body bears without being thrown; all of them, where joints may hold it."""
    b = first_item(work, wp.tid())
    while b >= 0:
        bears, fast = float(1.0), wp.length(wp.spatial_top(motion.velocity[b]))
        for k in range(contacts.first[b], contacts.first[b + 1]):
            r = contacts.row[k]
            lever = wp.where(contacts.body[r][0] == b, contacts.lever0[r], contacts.lever1[r])
            fast = wp.max(fast, wp.length(point_velocity(motion, b, lever)))
        contacts.fast[b] = fast
        if motion.moves[b] != 0 and jointed[b] == 0 and motion.pushed[b] == 0 and contacts.first[b + 1] > contacts.first[b]:
            g = gravity[wp.where(bodies.world[b] < 0, gravity.shape[0] - 1, bodies.world[b])]
            force, moment, size = bodies.mass[b] * g, wp.vec3(0.0), float(0.0)
            for k in range(contacts.first[b], contacts.first[b + 1]):
                r = contacts.row[k]
                first = contacts.body[r][0] == b
                f = wp.where(first, -1.0, 1.0) * contacts.force[r]
                force += f
                moment += wp.cross(wp.where(first, contacts.lever0[r], contacts.lever1[r]), f)
                size += wp.length(f)
            arm = wp.sqrt(wp.trace(bodies.inertia[b]) / bodies.mass[b])
            throw = wp.length(force) + wp.length(moment) / wp.max(arm, TINY)
            most = THROWN * bodies.mass[b] * (wp.length(g) + wp.length(motion.gain[b])) + ROUNDING * size
            bears = wp.min(1.0, most / wp.max(throw, TINY))
        contacts.bears[b] = bears
        contacts.whole[b] = 0
        b = next_item(work, b)


@wp.func
def set_penalty(contacts: BodyContacts, motion: BodyMotion, options: ContactOptions, r: int, dt: float):
    """What is left of the multiplier of a row, and its stiffness."""
    pair = contacts.body[r]
    for side in range(2):
        if may_move(motion, pair[side]):
            contacts.force[r] = wp.min(1.0, contacts.bears[pair[side]]) * contacts.force[r]
    contacts.began[r] = wp.length(contacts.force[r])
    contacts.grip[r] = penalty_of(contacts, r, wp.dot(contacts.force[r], contacts.normal[r]), dt)
    if options.hard != 0:
        contacts.most[r] = contacts.grip[r]
        contacts.damping[r] = 0.0
    contacts.stiffness[r] = contacts.most[r]
    if options.beta > 0.0:
        contacts.stiffness[r] = wp.min(contacts.most[r], options.k_start)


@wp.kernel(enable_backward=False)
def set_penalties(work: Work, motion: BodyMotion, options: ContactOptions, dt: float, contacts: BodyContacts):
    """Multipliers and stiffness of all rows that may act, once it is known which are within groups."""
    block = first_item(work, wp.tid())
    while block >= 0:
        for i in range(LIVE * block, wp.min(LIVE * block + LIVE, contacts.number[0])):
            set_penalty(contacts, motion, options, contacts.live[i], dt)
        block = next_item(work, block)


@wp.func
def rests(contacts: BodyContacts, motion: BodyMotion, r: int):
    """Whether the iterations of a step ended with the bodies of a row where they belong: its force is then no guess."""
    pair, still = contacts.body[r], int(1)
    for side in range(2):
        if may_move(motion, pair[side]):
            if contacts.whole[pair[side]] < RESTS:
                still = 0
    return still != 0


@wp.kernel(enable_backward=False)
def finish_contacts(
    work: Work, rows: RigidRows, motion: BodyMotion, dt: float, contacts: BodyContacts, past: ContactPast
):  # fmt: skip
    """The forces at the end of a step, and what the next one needs of them."""
    block = first_item(work, wp.tid())
    while block >= 0:
        for i in range(LIVE * block, wp.min(LIVE * block + LIVE, contacts.number[0])):
            r = contacts.live[i]
            if contacts.changed[r] != 2:
                keep_load(contacts, r, contact_force(contacts, motion, r, 1, dt).f)
                contacts.felt[r] = contacts.load[r]
            past.feature[r] = feature_of(rows, r)
            past.shape[r] = wp.vec2i(rows.shape0[r], rows.shape1[r])
            past.normal[r] = contacts.normal[r]
            trusted = contacts.trust[r] * contacts.load[r]
            if not rests(contacts, motion, r):
                most = SURELY * (contacts.blow[r] + contacts.began[r])
                trusted = wp.min(1.0, most / wp.max(wp.length(trusted), TINY)) * trusted
            past.force[r] = trusted
        block = next_item(work, block)


@wp.kernel(enable_backward=False)
def remember_lists(work: Work, contacts: BodyContacts, past: ContactPast):
    """The lists of all bodies, for the next step."""
    b = first_item(work, wp.tid())
    while b >= 0:
        past.first[b] = contacts.first[b]
        if b == contacts.first.shape[0] - 2:
            past.first[b + 1] = contacts.first[b + 1]
        for k in range(contacts.first[b], contacts.first[b + 1]):
            past.row[k] = contacts.row[k]
        b = next_item(work, b)


@wp.kernel(enable_backward=False)
def forget_contacts(work: Work, shape_world: wp.array(dtype=wp.int32), selected: wp.array(dtype=wp.bool), past: ContactPast):
    """Rows of selected worlds begin anew."""
    r = first_item(work, wp.tid())
    while r >= 0:
        if past.feature[r] >= 0:
            w = wp.max(shape_world[past.shape[r][0]], shape_world[past.shape[r][1]])
            if selected[wp.where(w < 0, selected.shape[0] - 1, w)]:
                past.feature[r] = -1
        r = next_item(work, r)


@wp.func
def speed_at(motion: BodyMotion, contacts: BodyContacts, b: int, dt: float):
    """The largest speed of a body and of what it touches, at the start of a step, and that at which contacts part."""
    most, parts = contacts.fast[b] + wp.length(motion.target[b]) / dt, float(0.0)
    for k in range(contacts.first[b], contacts.first[b + 1]):
        r = contacts.row[k]
        pair = contacts.body[r]
        other = wp.where(pair[0] == b, pair[1], pair[0])
        parts = wp.max(parts, (-contacts.gap[r] - contacts.aim[r]) / dt)
        if other >= 0:
            speed = wp.length(motion.way[other]) / dt
            if motion.moves[other] != 0:
                speed = contacts.fast[other]
            most = wp.max(most, speed)
    return most + parts


@wp.func
def tame_body(motion: BodyMotion, b: int, most: float):
    """Cut the way of a body to ``most``, and its turn times its radius of gyration to twice that; what is no number to nothing."""
    way = wp.length(motion.way[b])
    if way > most:
        motion.way[b] = (most / way) * motion.way[b]
    if not way < FAR:
        motion.way[b] = wp.vec3(0.0)
    phi = rotation_vector(motion.turn[b])
    size = wp.sqrt(wp.trace(motion.inertia[b]) * motion.lightness[b]) * wp.length(phi)
    if size > 2.0 * most:
        motion.turn[b] = rotation_of((2.0 * most / size) * phi)
    if not size < FAR:
        motion.turn[b] = wp.quat(0.0, 0.0, 0.0, 1.0)


@wp.kernel(enable_backward=False)
def tame_groups(
    work: Work, islands: Islands, jointed: wp.array(dtype=wp.int32), contacts: BodyContacts, dt: float, motion: BodyMotion
):  # fmt: skip
    """No body of a group comes out of a step much faster than the fastest went in, whether the iterations sufficed or not.

    Contacts take energy: this acts where they did not suffice, and never on groups with joints, whose drives may accelerate.
    """
    k = first_item(work, wp.tid())
    while k >= 0:
        if k < islands.count[0]:
            most, free = float(0.0), int(1)
            for n in range(islands.first[k], islands.first[k + 1]):
                b = islands.item[n]
                if b >= 0:
                    free = wp.min(free, wp.where(jointed[b] != 0 or motion.pushed[b] != 0, 0, 1))
                    most = wp.max(most, FASTER * dt * speed_at(motion, contacts, b, dt))
            if free != 0:
                for n in range(islands.first[k], islands.first[k + 1]):
                    b = islands.item[n]
                    if b >= 0 and contacts.first[b + 1] > contacts.first[b]:
                        tame_body(motion, b, most)
        k = next_item(work, k)
