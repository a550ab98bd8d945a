"""How far a group of bodies goes along its Newton step.

A solve takes every contact for the piece of its law that it is on. Where the step leaves that piece, the potential phi that is minimised
(inertia, joints, normals, and friction with its limit held) bends, and a whole step may lead up again. Along the step, with the forces
f_model of the pieces and f of the law itself, and with the curvature c of the pieces,

    phi'(a) = -c (1 - a) + sum over rows of du . (f_model(a) - f(a)),     0 <= a <= 1                              (1)

which grows with a, phi being convex. The step ends where it is 0: this makes Newton's method converge from anywhere.
"""

import warp as wp

from hooke.solvers.vbd.body_contacts import BodyContacts, cone_force, keep_load, may_move, stiff_force
from hooke.solvers.vbd.body_motion import BodyMotion
from hooke.solvers.vbd.islands import Islands

__all__ = ["keep_loads", "step_fraction"]

ENOUGH = wp.constant(1.0e-3)
ROUNDS = wp.constant(12)


@wp.func
def step_of_point(islands: Islands, motion: BodyMotion, b: int, lever: wp.vec3, first: int, last: int):
    """How far a whole step moves a point of a body; bodies of other groups do not move."""
    step = wp.vec3(0.0)
    if may_move(motion, b):
        n = islands.node_of_body[b]
        if n >= first and n < last:
            delta = islands.solution[n]
            step = wp.spatial_top(delta) + wp.cross(wp.spatial_bottom(delta), lever)
    return step


@wp.func
def step_of_row(islands: Islands, contacts: BodyContacts, motion: BodyMotion, r: int, first: int, last: int):
    """The motion of body 1 relative to body 0 in a whole step."""
    pair = contacts.body[r]
    one = step_of_point(islands, motion, pair[1], contacts.lever1[r], first, last)
    return one - step_of_point(islands, motion, pair[0], contacts.lever0[r], first, last)


@wp.func
def owns_row(contacts: BodyContacts, motion: BodyMotion, r: int, b: int, part: int):
    """Whether a body stands for a row in sums over a group: of rows between groups both bodies do, each in its own."""
    pair = contacts.body[r]
    return (contacts.inside[r] & part) == 0 or pair[1] == b or not may_move(motion, pair[1])


@wp.func
def share_of(contacts: BodyContacts, r: int, part: int):
    """How often the stiffness of a row counts."""
    return wp.where((contacts.inside[r] & part) != 0, 1.0, 2.0)


@wp.func
def slope(
    islands: Islands, contacts: BodyContacts, motion: BodyMotion, first: int, last: int, part: int, curvature: float, a: float
):
    """(1); rows within the group are left with their forces there."""
    total = -curvature * (1.0 - a)
    for n in range(first, last):
        b = islands.item[n]
        if b >= 0:
            for k in range(contacts.first[b], contacts.first[b + 1]):
                r = contacts.row[k]
                if owns_row(contacts, motion, r, b, part):
                    step = step_of_row(islands, contacts, motion, r, first, last)
                    du = (a * share_of(contacts, r, part)) * step
                    model, f = contacts.push[r] - stiff_force(contacts, r, du), cone_force(contacts, r, du)
                    total += wp.dot(step, model - f)
                    if (contacts.inside[r] & part) != 0:
                        contacts.hoped[r] = f
    return total


@wp.func
def step_fraction(islands: Islands, contacts: BodyContacts, motion: BodyMotion, first: int, last: int, part: int, curvature: float):
    """The a of (1) where the step ends."""
    high = float(1.0)
    at_high = slope(islands, contacts, motion, first, last, part, curvature, high)
    if at_high > ENOUGH * curvature:
        low, at_low = float(0.0), -curvature
        for _round in range(ROUNDS):
            if high - low > ENOUGH * high:
                between = low + (high - low) * wp.clamp(-at_low / (at_high - at_low), 0.1, 0.9)
                at = slope(islands, contacts, motion, first, last, part, curvature, between)
                if at > 0.0:
                    high, at_high = between, at
                else:
                    low, at_low = between, at
        high = wp.max(low, ENOUGH)
    return high


@wp.func
def keep_loads(
    islands: Islands, contacts: BodyContacts, motion: BodyMotion, first: int, last: int, part: int, a: float, final: int
):
    """Forces of the rows within a group as a solve leaves them; of the ``final`` one they are those of the step.

    What would follow from where the bodies are then is a multiple of what is left to solve. What bodies felt after a whole step are the
    forces of the pieces; after less they are in balance with none. After a whole step :func:`slope` has found the forces already.
    """
    for n in range(first, last):
        b = islands.item[n]
        if b >= 0:
            for k in range(contacts.first[b], contacts.first[b + 1]):
                r = contacts.row[k]
                if (contacts.inside[r] & part) != 0 and owns_row(contacts, motion, r, b, part):
                    du = a * step_of_row(islands, contacts, motion, r, first, last)
                    f = cone_force(contacts, r, du)
                    contacts.hoped[r] = f
                    if final != 0:
                        contacts.felt[r] = wp.where(a == 1.0, contacts.push[r] - stiff_force(contacts, r, du), f)
                        keep_load(contacts, r, f)
