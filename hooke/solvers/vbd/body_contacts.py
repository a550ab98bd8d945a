"""Rows of contacts between bodies in SolverVBD: their geometry, their force law and what is kept of them between steps.

A row has a normal n from body 0 to body 1, a point where they meet, and the separation g there at the start of the step. With levers r
from the centres of mass to that point, both at the start, and rotation vectors phi of the turns since, body 1 moves relative to body 0 by

    u = (d_1 + phi_1 x r_1) - (d_0 + phi_0 x r_0),     penetration C = -(g + n . u)                                      (1)

where what the turns add to second order and beyond counts as far as it closes the row (:func:`bent_in`), and is pushed by

    f_n = max(0, lambda_n + k (C - aim)),     f_t = w min(1, mu f_n / |w|),     w = lambda_t - k_t u_t                   (2)

at that one point, body 0 by the opposite: with levers at the start, what the step adds to the angular momentum of two bodies is zero to
rounding. The multipliers lambda are the force at the end of the step before. A hard contact aims at a share alpha of what it penetrated
at the start and at 0 where it was apart; its k is a multiple of the mass it moves over h^2, so that what is left to the multiplier is
small. A soft one has the stiffness ke and the damping kd of its material for k, and no multiplier along n; friction sticks either way.

Newton's method on (2) holds f_n in the limit mu f_n and takes w for its direction: no stiffness along it, k_t mu f_n / |w| across.
"""

import warp as wp

from hooke.execution.work import Work, first_item, next_item
from hooke.joints.rotation import skew
from hooke.model.contacts import RigidRows
from hooke.solvers.vbd.body_motion import BodyMotion, turned

__all__ = [
    "BOTH", "LIVE", "NEAR", "RESTS", "SLIDING", "STILL", "BodyContacts", "ContactOptions", "cone_force", "contact_block",
    "contact_force", "follow_force", "judge_contacts", "keep_load", "live_count", "may_move", "penalty_of", "stiff_force",
]  # fmt: skip

BOTH = wp.constant(3)
"""Both groupings of bodies (:mod:`hooke.solvers.vbd.clusters`): in these a row is within one group, or one side does not move."""
NEAR = wp.constant(4)
"""The row may close within the step."""
WITHIN, SHARED, ACROSS = wp.constant(1.0e3), wp.constant(1.0e2), wp.constant(30.0)
"""Penalties over mass and dt^2: within lone groups, within one of two groups, between groups (docs/decisions/0020-rigid-contacts.md)."""
TRIFLE = wp.constant(2.0e-5)  # of what the way it may close does to its force: changes of a row that do not matter
NEARLY = wp.constant(0.1)  # of the way that a row may close
MISSED = wp.constant(0.3)  # of a force that a solve ended with: more is not linear any more
GROWTH = wp.constant(100.0)  # of a penalty in an iteration
SETTLED = wp.constant(0.1)  # change of a load from one iteration to the next
SURELY = wp.constant(4.0)
TINY = wp.constant(1.0e-30)
LIVE = wp.constant(16)  # rows that a thread does at a time
RESTS = wp.constant(2)  # bodies that no iteration moves any more
STILL = wp.constant(3)  # the same, and since that was found, no row of theirs has changed
OPEN, STUCK, SLIDING = wp.constant(0), wp.constant(1), wp.constant(2)


@wp.struct
class ContactOptions:
    """Options of SolverVBD for contacts between bodies."""

    hard: wp.int32
    alpha: wp.float32
    beta: wp.float32
    gamma: wp.float32
    k_start: wp.float32


@wp.struct
class BodyContacts:
    """Rows of a step, and from ``first[b]`` on in ``row`` those of body b, in increasing order.

    ``live`` are the ``number[0]`` rows that may act in the step, in no order.
    Of rows: ``body`` is (-1, -1) for one without effect; ``core`` how far inside of both bodies, from where they meet, the points are that
    turn with them, round shapes and margins being the same from all sides; ``mass`` is what a row moves, ``reach`` the way that it may
    close in the step, ``blow`` a force that surely stops that, ``began`` the size of the multiplier at the start; ``inside`` the bits of
    the groupings it is within one group of, and NEAR. ``force`` is the multiplier, ``load`` the force (2) on body 1, ``trial`` the same
    without its bounds, ``push`` with the stiffnesses ``along`` and ``across`` the normal, and ``drag`` in the direction ``slide``, what a
    solve takes for it. ``state`` is the piece of (2), ``hoped`` the force that the last solve ended with, ``changed`` whether the piece is
    another one than that of the solve before, or the force not what it hoped for, and that matters, ``trust`` the share of the load that
    the last iteration did not change; ``felt`` the force that the last solve moved bodies with, where settled the load.

    Of bodies: ``lone`` is 1 in a group without rows to others; ``whole`` 1 after a whole step in the last solve, RESTS or STILL where that
    was the last that was needed; ``total`` the mass of the group, ``bears`` the share of the multipliers that a body takes over from the
    step before, ``fast`` the largest speed of a body at its rows.
    """

    body: wp.array(dtype=wp.vec2i)
    normal: wp.array(dtype=wp.vec3)
    lever0: wp.array(dtype=wp.vec3)
    lever1: wp.array(dtype=wp.vec3)
    core: wp.array(dtype=wp.vec2)
    gap: wp.array(dtype=wp.float32)
    aim: wp.array(dtype=wp.float32)
    mass: wp.array(dtype=wp.float32)
    stiffness: wp.array(dtype=wp.float32)
    most: wp.array(dtype=wp.float32)
    grip: wp.array(dtype=wp.float32)
    damping: wp.array(dtype=wp.float32)
    mu: wp.array(dtype=wp.float32)
    reach: wp.array(dtype=wp.float32)
    blow: wp.array(dtype=wp.float32)
    began: wp.array(dtype=wp.float32)
    force: wp.array(dtype=wp.vec3)
    load: wp.array(dtype=wp.vec3)
    felt: wp.array(dtype=wp.vec3)
    push: wp.array(dtype=wp.vec3)
    trial: wp.array(dtype=wp.vec3)
    limit: wp.array(dtype=wp.float32)
    along: wp.array(dtype=wp.float32)
    across: wp.array(dtype=wp.float32)
    drag: wp.array(dtype=wp.float32)
    slide: wp.array(dtype=wp.vec3)
    state: wp.array(dtype=wp.int32)
    changed: wp.array(dtype=wp.int32)
    trust: wp.array(dtype=wp.float32)
    hoped: wp.array(dtype=wp.vec3)
    inside: wp.array(dtype=wp.int32)
    first: wp.array(dtype=wp.int32)
    filled: wp.array(dtype=wp.int32)
    live: wp.array(dtype=wp.int32)
    number: wp.array(dtype=wp.int32)
    lone: wp.array(dtype=wp.int32)
    whole: wp.array(dtype=wp.int32)
    total: wp.array(dtype=wp.float32)
    bears: wp.array(dtype=wp.float32)
    fast: wp.array(dtype=wp.float32)
    row: wp.array(dtype=wp.int32)


@wp.struct
class ContactForce:
    """Force on body 1, what a solve takes for it, and without its bounds; the limit of friction, stiffness along and across the normal
    and where it slides, which piece of (2) it is, and the direction of sliding.
    """

    f: wp.vec3
    push: wp.vec3
    trial: wp.vec3
    limit: wp.float32
    along: wp.float32
    across: wp.float32
    drag: wp.float32
    state: wp.int32
    slide: wp.vec3


@wp.func
def live_count(rows: RigidRows):
    return wp.min(rows.count[0], rows.shape0.shape[0])


@wp.func
def may_move(motion: BodyMotion, b: int):
    moves = False
    if b >= 0:
        moves = motion.moves[b] != 0
    return moves


@wp.func
def moved_point(motion: BodyMotion, b: int, lever: wp.vec3):
    """The way d + phi x r of a point; the vector part of a turn, twice, is phi but for its third power.

    That of a body which the caller moves is known, and exact.
    """
    way = wp.vec3(0.0)
    if b >= 0:
        turn = motion.turn[b]
        way = motion.way[b]
        if motion.moves[b] != 0:
            way += wp.where(turn[3] < 0.0, -2.0, 2.0) * wp.cross(wp.vec3(turn[0], turn[1], turn[2]), lever)
        else:
            way += turned(turn, lever)
    return way


@wp.func
def bend_of_way(motion: BodyMotion, b: int, lever: wp.vec3, n: wp.vec3):
    """By how much farther along n a turn takes a point than d + phi x r does."""
    bend = float(0.0)
    if b >= 0:
        turn = wp.where(motion.turn[b][3] < 0.0, -1.0, 1.0) * motion.turn[b]
        u = wp.vec3(turn[0], turn[1], turn[2])
        w = wp.cross(u, lever)
        bend = 2.0 * wp.dot(n, wp.cross(u, w) - (wp.length_sq(u) / (1.0 + turn[3])) * w)
    return bend


@wp.func
def bent_in(contacts: BodyContacts, motion: BodyMotion, r: int):
    """By how much turns close a row more than in (2), not positive.

    Of what lies in front of a body that turns, a part comes in later, so where turns open a row it stays as it is in (2).
    """
    pair, n, core = contacts.body[r], contacts.normal[r], contacts.core[r]
    one = bend_of_way(motion, pair[1], contacts.lever1[r] + core[1] * n, n)
    return wp.min(one, 0.0) - wp.max(bend_of_way(motion, pair[0], contacts.lever0[r] - core[0] * n, n), 0.0)


@wp.func
def contact_force(contacts: BodyContacts, motion: BodyMotion, r: int, number: int, dt: float):
    """(2) where the bodies are before iteration ``number``.

    Before the first the load that limits friction is that of the multiplier: the guess of where the bodies are says little of it. Nor is
    it more, later on, than what stops the bodies. What slides back, after it has slid one way in the last solve, is taken to stick in
    the next, and so is at first what has just met and hardly slides. What nearly touches before the first iteration counts as touching:
    one by one, a house of cards would take an iteration for each of its edges.
    """
    found = ContactForce()
    pair, n, held = contacts.body[r], contacts.normal[r], contacts.force[r]
    u = moved_point(motion, pair[1], contacts.lever1[r]) - moved_point(motion, pair[0], contacts.lever0[r])
    u += bent_in(contacts, motion, r) * n
    un, held_n = wp.dot(n, u), wp.dot(n, held)
    k = contacts.stiffness[r]
    fn = held_n - k * (contacts.gap[r] + un + contacts.aim[r])
    w = (held - held_n * n) - contacts.grip[r] * (u - un * n)
    touches = number == 0 and held_n == 0.0 and contacts.gap[r] + un < NEARLY * contacts.reach[r]
    if fn >= 0.0 or touches:
        found.along = k
        if un < 0.0:
            found.along += contacts.damping[r] / dt
            fn -= contacts.damping[r] * un / dt
        found.across = contacts.grip[r]
        found.state = STUCK
        size, limit = wp.length(w), contacts.mu[r] * wp.where(number == 0, held_n, wp.min(fn, held_n + contacts.blow[r]))
        found.limit = limit
        found.push = fn * n + w
        found.f = wp.max(fn, 0.0) * n + w
        if size > limit:
            t = w / size
            found.f = wp.max(fn, 0.0) * n + wp.max(limit, 0.0) * t
            back = number > 0 and contacts.state[r] == SLIDING and wp.dot(t, contacts.slide[r]) < 0.0
            fresh = number == 0 and held_n == 0.0 and wp.length(u - un * n) < contacts.reach[r]
            if not (back or fresh):
                found.across = contacts.grip[r] * (limit / size)
                found.push = fn * n + limit * t
                found.state = SLIDING
                found.slide = t
                settled = number > 0 and wp.abs(fn - wp.dot(contacts.load[r], n)) < SETTLED * fn
                found.drag = wp.where(settled, 0.0, found.across)
    found.trial = fn * n + w
    return found


@wp.func
def stiff_force(contacts: BodyContacts, r: int, du: wp.vec3):
    """What the stiffness of a row makes of a motion: along the normal and across it, but not in the direction in which it slides."""
    n, t, across = contacts.normal[r], contacts.slide[r], contacts.across[r]
    more, less = (contacts.along[r] - across) * wp.dot(n, du), (contacts.drag[r] - across) * wp.dot(t, du)
    return across * du + more * n + less * t


@wp.func
def keep_load(contacts: BodyContacts, r: int, f: wp.vec3):
    """The force of a row at the end of a step, and how far it is settled."""
    before = contacts.load[r]
    most = wp.max(wp.length(before), wp.length(f))
    contacts.trust[r] = 1.0 - wp.min(1.0, wp.length(f - before) / wp.max(most, TINY))
    contacts.load[r] = f
    contacts.changed[r] = 2


@wp.func
def cone_force(contacts: BodyContacts, r: int, du: wp.vec3):
    """(2) after a further motion ``du``, with the limit of friction held."""
    n, trial = contacts.normal[r], contacts.trial[r]
    fn = wp.dot(trial, n)
    w = (trial - fn * n) - contacts.grip[r] * (du - wp.dot(du, n) * n)
    fn -= wp.max(contacts.along[r], contacts.stiffness[r]) * wp.dot(du, n)
    size, limit, share = wp.length_sq(w), contacts.limit[r], float(1.0)
    if size > limit * limit or limit < 0.0:
        share = limit / wp.max(wp.sqrt(size), TINY)
    return wp.where(fn > 0.0, 1.0, 0.0) * (fn * n + share * w)


@wp.func
def contact_block(k: wp.mat33, a: wp.vec3, b: wp.vec3):
    """J_a^T K J_b for J v = v_linear + v_angular x r at the levers a and b."""
    ka, kb = skew(a) * k, -(k * skew(b))
    both = ka * -skew(b)
    m = wp.spatial_matrix()
    for i in range(3):
        for j in range(3):
            m[i, j] = k[i, j]
            m[3 + i, j] = ka[i, j]
            m[i, 3 + j] = kb[i, j]
            m[3 + i, 3 + j] = both[i, j]
    return m


@wp.func
def is_lone(contacts: BodyContacts, r: int):
    """Whether a row is within a lone group."""
    pair = contacts.body[r]
    lone = (contacts.inside[r] & BOTH) == BOTH
    for side in range(2):
        b = pair[side]
        if b >= 0:
            if contacts.first[b + 1] > contacts.first[b]:
                lone = lone and contacts.lone[b] != 0
    return lone


@wp.func
def penalty_of(contacts: BodyContacts, r: int, load: float, dt: float):
    """The penalty of a hard row: a multiple of the mass it moves over h^2, or, within a lone group, of the mass that it carries."""
    mass = contacts.mass[r] / (dt * dt)
    k = wp.where((contacts.inside[r] & BOTH) != 0, SHARED, ACROSS) * mass
    if is_lone(contacts, r):
        carried = mass
        if contacts.reach[r] > 0.0:
            pair = contacts.body[r]
            total = float(0.0)
            for side in range(2):
                if pair[side] >= 0:
                    total = wp.max(total, contacts.total[pair[side]])
            carried = wp.clamp(load / contacts.reach[r], mass, wp.max(mass, total / (dt * dt)))
        k = WITHIN * carried
    return k


@wp.func
def follow_force(contacts: BodyContacts, options: ContactOptions, r: int, dt: float):
    """Let the multiplier of a row within a group take its force, and its penalty grow with it; the piece of (2) stays what it is.

    What the penalty adds to the force counts once more, until the next solve takes it away by closing the row.
    """
    n, load = contacts.normal[r], contacts.load[r]
    along = wp.dot(load, n)
    more = load - contacts.force[r]
    if options.hard == 0:
        contacts.force[r] = load - along * n
        more = more - wp.dot(more, n) * n
    else:
        contacts.force[r] = load
        k = penalty_of(contacts, r, along, dt)
        if k > contacts.most[r]:
            growth = wp.min(k / contacts.most[r], GROWTH)
            contacts.most[r] = growth * contacts.most[r]
            contacts.grip[r] = contacts.most[r]
            contacts.stiffness[r] = growth * contacts.stiffness[r]
            contacts.along[r] = growth * contacts.along[r]
            contacts.across[r] = growth * contacts.across[r]
            contacts.drag[r] = growth * contacts.drag[r]
            more = growth * more
    if contacts.state[r] == SLIDING:
        more = wp.dot(more, n) * n
    if contacts.state[r] != OPEN:
        contacts.push[r] = load + more
        contacts.trial[r] = load + more


@wp.func
def judge_row(options: ContactOptions, motion: BodyMotion, contacts: BodyContacts, r: int, number: int, dt: float):
    """(2) of a row, where the bodies are before iteration ``number``."""
    pair = contacts.body[r]
    if number > 0 and options.beta > 0.0:
        u = moved_point(motion, pair[1], contacts.lever1[r]) - moved_point(motion, pair[0], contacts.lever0[r])
        depth = -(contacts.gap[r] + wp.dot(contacts.normal[r], u))
        contacts.stiffness[r] = wp.min(contacts.most[r], contacts.stiffness[r] + options.beta * wp.max(depth, 0.0))
    found = contact_force(contacts, motion, r, number, dt)
    trifle = TRIFLE * contacts.grip[r] * contacts.reach[r]
    changed = found.state != contacts.state[r] and wp.length(found.f - contacts.load[r]) > trifle
    if number == 0 or (contacts.inside[r] & BOTH) != BOTH:  # of rows between groups no solve says where they end
        contacts.hoped[r] = found.f
    missed = wp.length(found.f - contacts.hoped[r]) > trifle + MISSED * wp.length(contacts.hoped[r])
    contacts.changed[r] = wp.where(number == 0 or changed or missed, 1, 0)
    if contacts.changed[r] != 0:
        for side in range(2):
            if pair[side] >= 0:
                if contacts.whole[pair[side]] == STILL:
                    contacts.whole[pair[side]] = RESTS
    contacts.state[r] = found.state
    contacts.load[r] = found.f
    contacts.push[r] = found.push
    contacts.trial[r] = found.trial
    contacts.limit[r] = found.limit
    contacts.slide[r] = found.slide
    contacts.drag[r] = found.drag
    contacts.along[r] = found.along
    contacts.across[r] = found.across


@wp.kernel(enable_backward=False)
def judge_contacts(work: Work, options: ContactOptions, number: int, dt: float, motion: BodyMotion, contacts: BodyContacts):
    """(2) of every row that may act, as long as iterations move anything."""
    block = first_item(work, wp.tid())
    last = contacts.number[0]
    if number > 0:
        last = wp.where(motion.busy[(number - 1) % 2] != 0, last, 0)
    while block >= 0:
        motion.busy[number % 2] = 0
        for i in range(LIVE * block, wp.min(LIVE * block + LIVE, last)):
            r = contacts.live[i]
            owner = contacts.body[r][1]
            if not may_move(motion, owner):
                owner = contacts.body[r][0]
            if number == 0 or contacts.whole[owner] < RESTS or motion.pushed[owner] != 0:
                judge_row(options, motion, contacts, r, number, dt)
        block = next_item(work, block)
