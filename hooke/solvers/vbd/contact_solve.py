"""Contacts in the equations of a group of bodies: their forces and stiffness, and what their multipliers take of a solve."""

import warp as wp

from hooke.math.blocks import add_point_block
from hooke.solvers.vbd.body_contacts import (
    RESTS,
    SLIDING,
    STILL,
    BodyContacts,
    ContactOptions,
    follow_force,
    may_move,
)
from hooke.solvers.vbd.body_motion import BodyMotion
from hooke.solvers.vbd.islands import Islands

__all__ = ["WHOLE", "couple_contacts", "follow_contacts", "is_settled", "load_contacts"]

WHOLE = wp.constant(1)


@wp.func
def stiffnesses_of(contacts: BodyContacts, r: int):
    """Along the normal of a row, across it, and in the direction in which it slides."""
    across = contacts.across[r]
    return wp.vec3(contacts.along[r], across, wp.where(contacts.state[r] == SLIDING, contacts.drag[r], across))


@wp.func
def load_contacts(islands: Islands, contacts: BodyContacts, n: int, b: int, part: int):
    """Add what contacts add to the equations of body ``b``, node ``n``; the stiffness of rows between groups counts twice."""
    wrench = wp.spatial_vector()
    for k in range(contacts.first[b], contacts.first[b + 1]):
        r = contacts.row[k]
        if contacts.along[r] > 0.0:
            first = contacts.body[r][0] == b
            lever = wp.where(first, contacts.lever0[r], contacts.lever1[r])
            f = wp.where(first, -1.0, 1.0) * contacts.push[r]
            t = wp.cross(lever, f)
            wrench += wp.spatial_vector(f[0], f[1], f[2], t[0], t[1], t[2])
            share = wp.where((contacts.inside[r] & part) != 0, 1.0, 2.0)
            stiffness = stiffnesses_of(contacts, r)
            add_point_block(n, share, lever, lever, contacts.normal[r], contacts.slide[r], stiffness, islands.diagonal)
    return wrench


@wp.func
def block_between(islands: Islands, a: int, b: int):
    """The block of two nodes of an island, a before b."""
    found = int(-1)
    for e in range(islands.block[a], islands.block_end[a]):
        if islands.row[e] == b:
            found = e
    return found


@wp.func
def couple_contacts(islands: Islands, contacts: BodyContacts, motion: BodyMotion, n: int, b: int, part: int):
    """The blocks between a body and those that it touches as body 1, within the group."""
    for c in range(contacts.first[b], contacts.first[b + 1]):
        r = contacts.row[c]
        pair = contacts.body[r]
        if contacts.along[r] > 0.0 and (contacts.inside[r] & part) != 0 and pair[1] == b and may_move(motion, pair[0]):
            other, k = islands.node_of_body[pair[0]], stiffnesses_of(contacts, r)
            l0, l1, normal, slide = contacts.lever0[r], contacts.lever1[r], contacts.normal[r], contacts.slide[r]
            if other < n:
                add_point_block(block_between(islands, other, n), -1.0, l0, l1, normal, slide, k, islands.lower)
            else:
                add_point_block(block_between(islands, n, other), -1.0, l1, l0, normal, slide, k, islands.lower)


@wp.func
def follow_contacts(islands: Islands, contacts: BodyContacts, motion: BodyMotion, options: ContactOptions, first: int, last: int,
                    part: int, dt: float):  # fmt: skip
    """Let the multipliers of a lone group take the forces, if no row is on another piece than it was solved for.

    Before that the forces are those of a guess of what touches, and multipliers that follow them swing; so do those that follow the
    forces between groups, which one solve does not settle. Whether they did.
    """
    changed, at = int(0), int(first)
    while at < last and changed == 0:
        b = islands.item[at]
        if b >= 0:
            changed = (1 - contacts.lone[b]) | wp.where(contacts.whole[b] == 0, 1, 0)
            for k in range(contacts.first[b], contacts.first[b + 1]):
                r = contacts.row[k]
                changed = changed | contacts.changed[r]
                if (contacts.inside[r] & part) == 0 and contacts.along[r] > 0.0:
                    changed = 1
        at += 1
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


@wp.func
def all_still(islands: Islands, contacts: BodyContacts, motion: BodyMotion, first: int, last: int):
    """Whether a group is known to be settled, and particles do not act on it."""
    n = int(first)
    while n < last:
        b = islands.item[n]
        if b >= 0:
            if contacts.whole[b] != STILL or motion.pushed[b] != 0:
                return 0
        n += 1
    return 1


@wp.func
def is_settled(islands: Islands, contacts: BodyContacts, motion: BodyMotion, first: int, last: int, lone: int):
    """Whether the last solve of a lone group has hardly moved it, and nothing has changed since; others do if ``lone`` are asked for."""
    if all_still(islands, contacts, motion, first, last) != 0:
        return 1
    settled, at = int(1), int(first)
    while at < last and settled != 0:
        b = islands.item[at]
        if b >= 0:
            if lone != 0 and contacts.lone[b] == 0:
                return 1
            if contacts.whole[b] < RESTS or motion.pushed[b] != 0:  # particles go on moving
                settled = 0
            else:
                for k in range(contacts.first[b], contacts.first[b + 1]):
                    if contacts.changed[contacts.row[k]] != 0:
                        settled = 0
        at += 1
    if settled != 0:
        for n in range(first, last):
            if islands.item[n] >= 0:
                contacts.whole[islands.item[n]] = STILL
    return settled
