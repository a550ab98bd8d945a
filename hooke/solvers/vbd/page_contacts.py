"""Contacts between bodies in the formulation of the documented page (``rigid_compliant_alm=False``).

A row has a normal n from body 0 to body 1, frozen within a step, points p of the cores and a of the surfaces on both, and with the
separation n . (p_1 - p_0) - margins

    C_n = -separation,     u = tangential part of (a_1 - a_1^-) - (a_0 - a_0^-),     C_0 = n C_n - tangential part of (a_1 - a_0)      (1)

where ^- are the poses at the end of the step before and C_0 is taken where the contact was found. It pushes body 1, and body 0 back, by

    f_n = max(0, k (C_n - alpha n . C_0) + lambda_n),     F_n = f_n n, less k_d times the rate while it closes           (2)
    f_t = k ((1 - alpha) C_0t - u) + lambda_t, at most mu f_n                                                              hard
    f_t = -mu f_n phi(|u|) u,  phi = 1 / |u|, below eps = friction_epsilon h  (2 - |u| / eps) / eps                        soft

F_n at p, f_t at a. After every sweep

    lambda_n <- max(0, lambda_n + k e),  e = C_n - alpha n . C_0, or C_n where that is < 0;     k <- min(k_e, k + beta C_n)   (3)
    lambda_t <- lambda_t + k ((1 - alpha) C_0t - u), at most mu lambda_n

and before every step k <- clamp(gamma k), lambda <- alpha gamma lambda; lambda from the step before only with a history. A soft row has
neither lambda nor alpha. A row that is loaded, within its friction, and moves less than ``rigid_contact_stick_motion_eps`` sticks: its
points are kept by the history, and a body that sticks to moving bodies only, and hardly moves, is put back where it was.
"""

import warp as wp

from hooke.contact.mixing import mix_damping, mix_friction, mix_stiffness
from hooke.execution.work import Work, first_item, next_item
from hooke.joints.rotation import rotation_vector
from hooke.math.memory import take_number
from hooke.model.contacts import RigidRows
from hooke.model.tables import Bodies, Shapes
from hooke.solvers.reset import is_selected
from hooke.solvers.vbd.page_rows import PageBodyMotion, PageWrench, add_point
from hooke.solvers.vbd.row_lists import sort_rows

__all__ = [
    "ANCHORED", "RESTING", "PageContactOptions", "PageContactPast", "PageContacts", "PageLoads", "begin_page_contacts",
    "finish_page_contacts", "forget_page_contacts", "is_resting", "list_page_contacts", "page_contact_force", "push_page",
    "read_page_loads", "restore_row", "sort_page_contacts", "update_page_contacts", "update_row",
]  # fmt: skip

ANCHORED, RESTING = wp.constant(1), wp.constant(2)
"""Flags of rows that stick: to what forces do not move, and to another body. They are bits."""
TOUCHING = wp.constant(1.0e-9)


@wp.struct
class PageContactOptions:
    """Options of SolverVBD. ``renew`` is 0 where rows are those of the step before."""

    hard: wp.int32
    history: wp.int32
    renew: wp.int32
    alpha: wp.float32
    beta: wp.float32
    gamma: wp.float32
    k_start: wp.float32
    stick: wp.float32
    freeze_translation: wp.float32
    freeze_angular: wp.float32
    friction_speed: wp.float32


@wp.struct
class PageContacts:
    """Rows of a step, and from ``first[b]`` on in ``row`` those of body b, if it moves, in increasing order.

    ``body`` is (-1, -1) for a row without effect. ``most`` is k_e, ``penalty`` k, ``multiplier`` lambda, ``start`` C_0, ``load`` the
    force on body 1 at the end of the step, ``point`` where it acts.
    """

    options: PageContactOptions
    rows: RigidRows
    body: wp.array(dtype=wp.vec2i)
    most: wp.array(dtype=wp.float32)
    damping: wp.array(dtype=wp.float32)
    mu: wp.array(dtype=wp.float32)
    penalty: wp.array(dtype=wp.float32)
    multiplier: wp.array(dtype=wp.vec3)
    start: wp.array(dtype=wp.vec3)
    load: wp.array(dtype=wp.vec3)
    point: wp.array(dtype=wp.vec3)
    flag: wp.array(dtype=wp.int32)
    first: wp.array(dtype=wp.int32)
    filled: wp.array(dtype=wp.int32)
    row: wp.array(dtype=wp.int32)


@wp.struct
class PageContactPast:
    """What the history keeps of the rows of a step."""

    penalty: wp.array(dtype=wp.float32)
    multiplier: wp.array(dtype=wp.vec3)
    flag: wp.array(dtype=wp.int32)
    normal: wp.array(dtype=wp.vec3)
    point0: wp.array(dtype=wp.vec3)
    point1: wp.array(dtype=wp.vec3)
    offset0: wp.array(dtype=wp.vec3)
    offset1: wp.array(dtype=wp.vec3)


@wp.struct
class PageLoads:
    """What contacts add to the force, the moment and the blocks of every body."""

    force: wp.array(dtype=wp.spatial_vector)
    ll: wp.array(dtype=wp.mat33)
    al: wp.array(dtype=wp.mat33)
    aa: wp.array(dtype=wp.mat33)


@wp.struct
class PageMeeting:
    """The points of a row at some poses: of the cores and of the surfaces."""

    p0: wp.vec3
    p1: wp.vec3
    a0: wp.vec3
    a1: wp.vec3


@wp.struct
class PageForce:
    """(2) on body 1, and its stiffness along and across the normal."""

    normal: wp.vec3
    friction: wp.vec3
    along: wp.float32
    across: wp.float32


@wp.func
def is_live(contacts: PageContacts, r: int):
    live = r < wp.min(contacts.rows.count[0], contacts.rows.shape0.shape[0])
    if live:
        live = contacts.body[r][0] >= 0 or contacts.body[r][1] >= 0
    return live


@wp.func
def is_moved(motion: PageBodyMotion, b: int):
    """Whether forces move a body."""
    moved = False
    if b >= 0:
        moved = motion.moves[b] != 0
    return moved


@wp.func
def place_of(body_q: wp.array(dtype=wp.transform), b: int, p: wp.vec3):
    x = 1.0 * p
    if b >= 0:
        x = wp.transform_point(body_q[b], p)
    return x


@wp.func
def meeting_at(contacts: PageContacts, body_q: wp.array(dtype=wp.transform), r: int):
    """The points of a row at some poses."""
    pair = contacts.body[r]
    m = PageMeeting()
    m.p0 = place_of(body_q, pair[0], contacts.rows.point0[r])
    m.p1 = place_of(body_q, pair[1], contacts.rows.point1[r])
    m.a0 = place_of(body_q, pair[0], contacts.rows.point0[r] + contacts.rows.offset0[r])
    m.a1 = place_of(body_q, pair[1], contacts.rows.point1[r] + contacts.rows.offset1[r])
    return m


@wp.func
def depth_of(contacts: PageContacts, m: PageMeeting, r: int):
    """C_n."""
    return contacts.rows.margin0[r] + contacts.rows.margin1[r] - wp.dot(contacts.rows.normal[r], m.p1 - m.p0)


@wp.func
def across(n: wp.vec3, v: wp.vec3):
    """The tangential part."""
    return v - wp.dot(n, v) * n


@wp.func
def pull_back(contacts: PageContacts, now: PageMeeting, before: PageMeeting, r: int):
    """What friction of a hard row goes by: (1 - alpha) C_0t - u."""
    n = contacts.rows.normal[r]
    u = across(n, (now.a1 - before.a1) - (now.a0 - before.a0))
    return (1.0 - contacts.options.alpha) * across(n, contacts.start[r]) - u


@wp.func
def at_most(v: wp.vec3, limit: float):
    size = wp.length(v)
    return wp.where(size > limit, v * (limit / wp.max(size, 1.0e-30)), v)


# ---- the force law


@wp.func
def page_contact_force(contacts: PageContacts, now: PageMeeting, before: PageMeeting, r: int, dt: float):
    """(2)."""
    o, n, k = contacts.options, contacts.rows.normal[r], contacts.penalty[r]
    depth = depth_of(contacts, now, r)
    held = wp.dot(n, contacts.multiplier[r])
    fn = k * (depth - o.alpha * wp.dot(n, contacts.start[r])) + held
    found = PageForce()
    idle = held <= 0.0 and (depth <= TOUCHING or fn <= 0.0)
    if k > 0.0 and not idle:
        found.along = k
        if fn > 0.0:
            rate = wp.dot(n, (now.p1 - before.p1) - (now.p0 - before.p0)) / dt
            whole = 1.0 * fn
            if rate < 0.0:
                whole -= contacts.damping[r] * rate
                found.along += contacts.damping[r] / dt
            found.normal = whole * n
            limit = contacts.mu[r] * fn
            if limit > 0.0 and o.hard != 0:
                found.across = k
                found.friction = at_most(k * pull_back(contacts, now, before, r) + across(n, contacts.multiplier[r]), limit)
            elif limit > 0.0:
                u = across(n, (now.a1 - before.a1) - (now.a0 - before.a0))
                size, eps = wp.length(u), o.friction_speed * dt
                phi = (2.0 - size / eps) / eps
                if size > eps:
                    phi = 1.0 / size
                found.across = limit * phi
                found.friction = -found.across * u
    return found


@wp.func
def add_contact(w: PageWrench, contacts: PageContacts, motion: PageBodyMotion, r: int, b: int, com: wp.vec3, dt: float):
    """Add what a row does to its body ``b``."""
    now, before = meeting_at(contacts, motion.q, r), meeting_at(contacts, motion.previous, r)
    f, n = page_contact_force(contacts, now, before, r, dt), contacts.rows.normal[r]
    nn = wp.outer(n, n)
    k = f.across * (wp.identity(n=3, dtype=wp.float32) - nn)
    if contacts.body[r][1] == b:
        w = add_point(w, f.normal, now.p1 - com, f.along * nn)
        w = add_point(w, f.friction, now.a1 - com, k)
    else:
        w = add_point(w, -f.normal, now.p0 - com, f.along * nn)
        w = add_point(w, -f.friction, now.a0 - com, k)
    return w


@wp.kernel(enable_backward=False)
def push_page(
    work: Work, color: wp.array(dtype=wp.int32), bodies: Bodies, contacts: PageContacts, motion: PageBodyMotion, dt: float,
    loads: PageLoads,
):  # fmt: skip
    """Forces and blocks of the contacts of every body of a colour, all of them at the same poses."""
    i = first_item(work, wp.tid())
    while i >= 0:
        b = color[i]
        if motion.moves[b] != 0:
            com = wp.transform_point(motion.q[b], bodies.com[b])
            w = PageWrench()
            for k in range(contacts.first[b], contacts.first[b + 1]):
                w = add_contact(w, contacts, motion, contacts.row[k], b, com, dt)
            loads.force[b] = wp.spatial_vector(w.f[0], w.f[1], w.f[2], w.t[0], w.t[1], w.t[2])
            loads.ll[b] = w.ll
            loads.al[b] = w.al
            loads.aa[b] = w.aa
        i = next_item(work, i)


# ---- multipliers and penalties


@wp.func
def update_row(contacts: PageContacts, motion: PageBodyMotion, r: int):
    """(3), and whether the row sticks."""
    o, n, k = contacts.options, contacts.rows.normal[r], 1.0 * contacts.penalty[r]
    now = meeting_at(contacts, motion.q, r)
    depth = depth_of(contacts, now, r)
    if o.hard != 0:
        old = 1.0 * contacts.multiplier[r]
        e = wp.where(depth < 0.0, depth, depth - o.alpha * wp.dot(n, contacts.start[r]))
        along = wp.max(0.0, wp.dot(n, old) + k * e)
        back = pull_back(contacts, now, meeting_at(contacts, motion.previous, r), r)
        whole, limit = across(n, old) + k * back, contacts.mu[r] * along
        contacts.multiplier[r] = along * n + at_most(whole, limit)
        flag = int(0)
        if along > 0.0 and wp.length(whole) <= limit and wp.length(back) < o.stick:
            flag = ANCHORED
            if is_moved(motion, contacts.body[r][0]) and is_moved(motion, contacts.body[r][1]):
                flag = RESTING
        contacts.flag[r] = flag
    if depth > 0.0:
        contacts.penalty[r] = wp.min(contacts.most[r], k + o.beta * depth)


@wp.kernel(enable_backward=False)
def update_page_contacts(work: Work, motion: PageBodyMotion, contacts: PageContacts):
    """Multipliers, penalties and flags after all colours."""
    r = first_item(work, wp.tid())
    while r >= 0:
        if is_live(contacts, r):
            update_row(contacts, motion, r)
        r = next_item(work, r)


@wp.func
def is_resting(contacts: PageContacts, motion: PageBodyMotion, b: int):
    """Whether a body is put back where it was: it sticks to moving bodies, to nothing else, and has hardly moved."""
    kinds = int(0)
    if contacts.options.hard != 0 and motion.moves[b] != 0:
        for k in range(contacts.first[b], contacts.first[b + 1]):
            kinds = kinds | contacts.flag[contacts.row[k]]
    resting = kinds == RESTING
    if resting:
        way = wp.transform_get_translation(motion.q[b]) - wp.transform_get_translation(motion.previous[b])
        turn = wp.transform_get_rotation(motion.q[b]) * wp.quat_inverse(wp.transform_get_rotation(motion.previous[b]))
        near = wp.length(way) < contacts.options.freeze_translation
        resting = near and wp.length(rotation_vector(wp.normalize(turn))) < contacts.options.freeze_angular
    return resting


# ---- the start of a step


@wp.func
def floor_of(contacts: PageContacts, r: int):
    """The least penalty of a row."""
    return wp.where(contacts.options.beta > 0.0, wp.min(contacts.options.k_start, contacts.most[r]), contacts.most[r])


@wp.func
def restore_row(past: PageContactPast, m: int, r: int, contacts: PageContacts):
    """What the history has of a row that was row ``m``: k, lambda turned with the normal, and the points if it stuck."""
    contacts.penalty[r] = wp.clamp(past.penalty[m], floor_of(contacts, r), contacts.most[r])
    if contacts.options.hard != 0:
        n, old = contacts.rows.normal[r], past.multiplier[m]
        along = wp.dot(old, past.normal[m])
        contacts.multiplier[r] = along * n + across(n, old - along * past.normal[m])
        if past.flag[m] == ANCHORED or past.flag[m] == RESTING:
            contacts.rows.point0[r] = past.point0[m]
            contacts.rows.point1[r] = past.point1[m]
            contacts.rows.offset0[r] = past.offset0[m]
            contacts.rows.offset1[r] = past.offset1[m]


@wp.func
def is_forgotten(forgotten: wp.array(dtype=wp.bool), shapes: Shapes, bodies: Bodies, s: int):
    """Whether a shape or its body is in a world that was reset."""
    found = is_selected(forgotten, shapes.world[s])
    b = shapes.body[s]
    if b >= 0:
        found = found or is_selected(forgotten, bodies.world[b])
    return found


@wp.func
def renew_row(
    shapes: Shapes, bodies: Bodies, motion: PageBodyMotion, past: PageContactPast, forgotten: wp.array(dtype=wp.bool), r: int,
    contacts: PageContacts,
):  # fmt: skip
    """Bodies, material, k and lambda of a row that was just found, and how many rows each body has."""
    s, t = contacts.rows.shape0[r], contacts.rows.shape1[r]
    contacts.body[r] = wp.vec2i(-1, -1)
    contacts.penalty[r] = 0.0
    contacts.multiplier[r] = wp.vec3(0.0)
    contacts.flag[r] = 0
    if s >= 0 and t >= 0:
        a, b = shapes.body[s], shapes.body[t]
        if is_moved(motion, a) or is_moved(motion, b):
            contacts.body[r] = wp.vec2i(a, b)
            contacts.most[r] = mix_stiffness(shapes.material_ke[s], shapes.material_ke[t])
            contacts.damping[r] = mix_damping(shapes.material_kd[s], shapes.material_kd[t])
            contacts.mu[r] = mix_friction(shapes.material_mu[s], shapes.material_mu[t])
            contacts.penalty[r] = floor_of(contacts, r)
            if contacts.options.history != 0:
                m = contacts.rows.match_index[r]
                gone = is_forgotten(forgotten, shapes, bodies, s) or is_forgotten(forgotten, shapes, bodies, t)
                if m >= 0 and m < past.flag.shape[0] and not gone:
                    restore_row(past, m, r, contacts)
            if is_moved(motion, a):
                take_number(a, contacts.filled)
            if is_moved(motion, b):
                take_number(b, contacts.filled)


@wp.kernel(enable_backward=False)
def begin_page_contacts(
    work: Work, shapes: Shapes, bodies: Bodies, motion: PageBodyMotion, body_q: wp.array(dtype=wp.transform), past: PageContactPast,
    forgotten: wp.array(dtype=wp.bool), contacts: PageContacts,
):  # fmt: skip
    """Rows at the poses where they were found: new ones, what is left of k and lambda, C_0."""
    r = first_item(work, wp.tid())
    while r >= 0:
        o = contacts.options
        contacts.load[r] = wp.vec3(0.0)
        if o.renew != 0 and r < wp.min(contacts.rows.count[0], contacts.rows.shape0.shape[0]):
            renew_row(shapes, bodies, motion, past, forgotten, r, contacts)
        if is_live(contacts, r):
            contacts.penalty[r] = wp.clamp(o.gamma * contacts.penalty[r], floor_of(contacts, r), contacts.most[r])
            keep = wp.where(o.hard != 0 and (o.history != 0 or o.renew == 0), o.alpha * o.gamma, 0.0)
            contacts.multiplier[r] = keep * contacts.multiplier[r]
            start = wp.vec3(0.0)
            if o.hard != 0:
                now, n = meeting_at(contacts, body_q, r), contacts.rows.normal[r]
                start = depth_of(contacts, now, r) * n - across(n, now.a1 - now.a0)
            contacts.start[r] = start
            contacts.flag[r] = 0
        r = next_item(work, r)


@wp.func
def list_row(motion: PageBodyMotion, b: int, r: int, contacts: PageContacts):
    if is_moved(motion, b):
        contacts.row[contacts.first[b] + take_number(b, contacts.filled)] = r


@wp.kernel(enable_backward=False)
def list_page_contacts(work: Work, motion: PageBodyMotion, contacts: PageContacts):
    """The rows of every body, in no order."""
    r = first_item(work, wp.tid())
    while r >= 0:
        if is_live(contacts, r):
            list_row(motion, contacts.body[r][0], r, contacts)
            list_row(motion, contacts.body[r][1], r, contacts)
        r = next_item(work, r)


@wp.kernel(enable_backward=False)
def sort_page_contacts(work: Work, contacts: PageContacts):
    """The rows of every body in increasing order."""
    b = first_item(work, wp.tid())
    while b >= 0:
        sort_rows(contacts.row, contacts.first[b], contacts.first[b + 1])
        b = next_item(work, b)


# ---- the end of a step


@wp.func
def load_of(contacts: PageContacts, now: PageMeeting, before: PageMeeting, r: int, dt: float):
    """The force on body 1: of a hard row lambda, which holds what (2) has come to, and damping; of a soft one (2)."""
    load = 1.0 * contacts.multiplier[r]
    if contacts.options.hard == 0:
        f = page_contact_force(contacts, now, before, r, dt)
        load = f.normal + f.friction
    elif wp.dot(contacts.rows.normal[r], load) > 0.0:
        n = contacts.rows.normal[r]
        load -= (contacts.damping[r] * wp.min(0.0, wp.dot(n, (now.p1 - before.p1) - (now.p0 - before.p0)) / dt)) * n
    return load


@wp.kernel(enable_backward=False)
def finish_page_contacts(work: Work, motion: PageBodyMotion, dt: float, contacts: PageContacts, past: PageContactPast):
    """Forces, and the history."""
    r = first_item(work, wp.tid())
    while r >= 0:
        if is_live(contacts, r):
            now, before = meeting_at(contacts, motion.q, r), meeting_at(contacts, motion.previous, r)
            contacts.load[r] = load_of(contacts, now, before, r, dt)
            contacts.point[r] = 0.5 * (now.a0 + now.a1)
        if contacts.options.history != 0 and r < wp.min(contacts.rows.count[0], contacts.rows.shape0.shape[0]):
            past.penalty[r] = contacts.penalty[r]
            past.multiplier[r] = contacts.multiplier[r]
            past.flag[r] = contacts.flag[r]
            past.normal[r] = contacts.rows.normal[r]
            past.point0[r] = contacts.rows.point0[r]
            past.point1[r] = contacts.rows.point1[r]
            past.offset0[r] = contacts.rows.offset0[r]
            past.offset1[r] = contacts.rows.offset1[r]
        r = next_item(work, r)


@wp.kernel(enable_backward=False)
def read_page_loads(
    work: Work, contacts: PageContacts, body_q: wp.array(dtype=wp.transform), body_q_prev: wp.array(dtype=wp.transform), dt: float,
    load: wp.array(dtype=wp.vec3), point: wp.array(dtype=wp.vec3),
):  # fmt: skip
    """Forces on bodies 1 at some poses, and where they act."""
    r = first_item(work, wp.tid())
    while r >= 0:
        load[r] = wp.vec3(0.0)
        if is_live(contacts, r):
            now = meeting_at(contacts, body_q, r)
            load[r] = load_of(contacts, now, meeting_at(contacts, body_q_prev, r), r, dt)
            point[r] = 0.5 * (now.a0 + now.a1)
        r = next_item(work, r)


@wp.kernel(enable_backward=False)
def forget_page_contacts(selected: wp.array(dtype=wp.bool), forgotten: wp.array(dtype=wp.bool)):
    """Rows of selected worlds begin anew when rows are next renewed."""
    w = wp.tid()
    forgotten[w] = forgotten[w] or selected[w]
