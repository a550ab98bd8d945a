"""The damped least-squares step of forward kinematics, by the factorization of a mechanism or by conjugate gradients.

With J the rows of all joints, r their residuals, and D the metric of twists (1 for velocities, the square of a length for angular ones),

    minimise |r + J d|^2 + mu |d|^2_D + mu w |d + s|^2_D                                                            (1)
    [ (1 + w) D   J^T ] [  d ]   [ -w D s ]
    [ J         -mu I ] [ -l ] = [ -r     ]                                                                        (2)

(2) is (1) without the product J^T J: redundant rows do no harm, and no number is squared. s is the way from a reference to the pose, w
the weight that draws it back. A part that could spin about the line between two balls has one row more, which is added to the block
of one of its bodies.
"""

from functools import cache
from typing import Any

import warp as wp

from hooke.joints.rotation import rotation_vector
from hooke.linalg.block_ldl import make_block_ldl
from hooke.linalg.elimination import Patterns
from hooke.solvers.kamino.fk.data import FkOptions, FkSpace, Row, Rows
from hooke.solvers.kamino.fk.structure import Chain
from hooke.solvers.kamino.mechanism import Mechanism

__all__ = ["make_direction"]

_BLOCKS = make_block_ldl(wp.float64)
factor_blocks, solve_blocks, store_block = _BLOCKS.factor, _BLOCKS.solve, _BLOCKS.store_block
rates_of, wrench_of = _BLOCKS.rates_of, _BLOCKS.wrench_of
DIAGONAL, BLOCKS = wp.constant(1), wp.constant(2)
MOST = wp.constant(20)  # steps of conjugate gradients for each body


@wp.func
def six(a: wp.vec3d, b: wp.vec3d):
    return Row(a[0], a[1], a[2], b[0], b[1], b[2], wp.float64(0.0), wp.float64(0.0))


@wp.func
def lower_part(x: Row):
    return wp.vec3d(x[3], x[4], x[5])


@wp.func
def is_tied(chain: Chain, option: FkOptions, b: int):
    """Whether a body stands for a part that does not spin between two balls."""
    return option.axes != 0 and chain.tie[b][0] >= 0


@wp.func
def way_from_reference(space: FkSpace, b: int):
    """S of a body."""
    turned = rotation_vector(space.rotation[b] * wp.quat_inverse(space.reference_rotation[b]))
    return six(space.com[b] - space.reference_com[b], turned)


@wp.func
def metric_of(x: Row, length: wp.float64):
    """D x."""
    two = length * length
    return Row(x[0], x[1], x[2], two * x[3], two * x[4], two * x[5], wp.float64(0.0), wp.float64(0.0))


@wp.func
def own_block(
    chain: Chain, option: FkOptions, space: FkSpace, b: int, n: int, scale: wp.float64, spun: wp.float64, length: wp.float64
):
    """Write ``scale`` D and, times ``spun``, the row that a body has for its spin."""
    block = Rows()
    for i in range(3):
        block[i, i] = scale
        block[3 + i, 3 + i] = scale * length * length
    if is_tied(chain, option, b):
        g = length * space.gradient[b]
        for i in range(3):
            for k in range(3):
                block[3 + i, 3 + k] += spun * g[i] * g[k]
    space.diagonal[n] = block


@wp.func
def own_right(chain: Chain, option: FkOptions, space: FkSpace, b: int, drawn: wp.float64, spun: wp.float64, length: wp.float64):
    """-``drawn`` D s, less the row of the spin times its residual and ``spun``."""
    right = Row()
    if drawn > wp.float64(0.0):
        right = -drawn * metric_of(way_from_reference(space, b), length)
    if is_tied(chain, option, b):
        right -= spun * length * length * space.spin[b] * six(wp.vec3d(), space.gradient[b])
    return right


@wp.func
def direct_step(w: int, patterns: Patterns, mechanism: Mechanism, chain: Chain, option: FkOptions, mu: wp.float64, weight: wp.float64,
           space: FkSpace):  # fmt: skip
    """(2), in ``space.x``."""
    k, start, origin = patterns.kind[w], patterns.node[w], patterns.block[w]
    body, joint, item, first = mechanism.body[w], mechanism.joint[w], patterns.of_place[k], mechanism.of_joint[k]
    length = chain.length[w]
    for e in range(patterns.blocks[k]):
        space.lower[origin + e] = Rows()
    for n in range(patterns.size[k]):
        i = mechanism.item[item + n]
        if i >= 0:
            own_block(chain, option, space, body + i, start + n, wp.float64(1.0) + weight, wp.float64(1.0) / mu, length)
            space.x[start + n] = own_right(chain, option, space, body + i, weight, wp.float64(1.0) / mu, length)
        else:
            j, block = joint - 1 - i, Rows()
            active = wp.where(chain.kind[j] == 2, 6, 6 - chain.layout.dim[j, 0] - chain.layout.dim[j, 1])
            for c in range(6):
                block[c, c] = wp.where(c < active, -mu, wp.float64(-1.0))
            space.diagonal[start + n] = block
            space.x[start + n] = -space.error[j]
    for i in range(mechanism.joint[w + 1] - joint):
        j, place = joint + i, first + i
        if mechanism.child_block[place] >= 0:
            store_block(origin, mechanism.child_block[place], j, space.child, space.ones, space.lower)
        if mechanism.parent_block[place] >= 0:
            store_block(origin, mechanism.parent_block[place], j, space.parent, space.ones, space.lower)
    factor_blocks(w, patterns, space.diagonal, space.lower)
    solve_blocks(w, patterns, space.diagonal, space.lower, space.x)


@wp.func
def direct_only(w: int, patterns: Patterns, mechanism: Mechanism, chain: Chain, option: FkOptions, mu: wp.float64, weight: wp.float64,
                size: wp.float64, space: FkSpace):  # fmt: skip
    direct_step(w, patterns, mechanism, chain, option, mu, weight, space)


@wp.func
def invert_block(n: int, blocks: wp.array(dtype=Rows)):
    """The inverse of a positive definite block, by Gauss and Jordan."""
    a = wp.float64(1.0) * blocks[n]
    for h in range(6):
        pivot = wp.float64(1.0) / a[h, h]
        for c in range(6):
            a[h, c] = a[h, c] * pivot
        a[h, h] = pivot
        for i in range(6):
            if i != h:
                factor = a[i, h]
                a[i, h] = wp.float64(0.0)
                for c in range(6):
                    a[i, c] = a[i, c] - factor * a[h, c]
    blocks[n] = a


@wp.func
def gather_normal(
    w: int, of_errors: int, patterns: Patterns, mechanism: Mechanism, space: FkSpace, x: wp.array(dtype=Row), y: wp.array(dtype=Row)
):
    """Add J^T J x to y, or take J^T r from it."""
    k, start, joint = patterns.kind[w], patterns.node[w], mechanism.joint[w]
    for i in range(mechanism.joint[w + 1] - joint):
        j, place = joint + i, mechanism.of_joint[k] + i
        if mechanism.place[place] >= 0:
            child, parent, rate = mechanism.child[place], mechanism.parent[place], Row()
            if of_errors != 0:
                rate = -space.error[j]
            else:
                if child >= 0:
                    rate += rates_of(j, space.child, x[start + child])
                if parent >= 0:
                    rate += rates_of(j, space.parent, x[start + parent])
            if child >= 0:
                y[start + child] = y[start + child] + wrench_of(j, space.child, rate)
            if parent >= 0:
                y[start + parent] = y[start + parent] + wrench_of(j, space.parent, rate)


@wp.func
def precondition(
    w: int, patterns: Patterns, mechanism: Mechanism, chain: Chain, option: FkOptions, scale: wp.float64, space: FkSpace
):
    """Inverses of the diagonal blocks of the normal equations, or of their diagonals."""
    k, start, joint = patterns.kind[w], patterns.node[w], mechanism.joint[w]
    for n in range(patterns.size[k]):
        i = mechanism.item[patterns.of_place[k] + n]
        if i >= 0:
            own_block(chain, option, space, mechanism.body[w] + i, start + n, scale, wp.float64(1.0), chain.length[w])
    for i in range(mechanism.joint[w + 1] - joint):
        j, place = joint + i, mechanism.of_joint[k] + i
        if mechanism.place[place] >= 0:
            for h in range(6):
                for a in range(6):
                    for c in range(6):
                        if mechanism.child[place] >= 0:
                            space.diagonal[start + mechanism.child[place]][a, c] += space.child[j][h, a] * space.child[j][h, c]
                        if mechanism.parent[place] >= 0:
                            space.diagonal[start + mechanism.parent[place]][a, c] += space.parent[j][h, a] * space.parent[j][h, c]
    for n in range(patterns.size[k]):
        if mechanism.item[patterns.of_place[k] + n] >= 0:
            if option.preconditioner == DIAGONAL:
                for a in range(6):
                    space.diagonal[start + n][a, a] = wp.float64(1.0) / space.diagonal[start + n][a, a]
            if option.preconditioner == BLOCKS:
                invert_block(start + n, space.diagonal)


@wp.func
def eased_of(n: int, option: FkOptions, space: FkSpace):
    """The preconditioner times what is left of a node."""
    rest, y = wp.float64(1.0) * space.rest[n], Row()
    for a in range(6):
        if option.preconditioner == BLOCKS:
            for c in range(6):
                y[a] += space.diagonal[n][a, c] * rest[c]
        elif option.preconditioner == DIAGONAL:
            y[a] = space.diagonal[n][a, a] * rest[a]
        else:
            y[a] = rest[a]
    return y


@wp.func
def normal_image(
    w: int, patterns: Patterns, mechanism: Mechanism, chain: Chain, option: FkOptions, scale: wp.float64, space: FkSpace
):
    """The image of the search direction under the matrix of the normal equations, and their product."""
    k, start, length = patterns.kind[w], patterns.node[w], chain.length[w]
    product = wp.float64(0.0)
    for n in range(patterns.size[k]):
        i = mechanism.item[patterns.of_place[k] + n]
        if i >= 0:
            x = wp.float64(1.0) * space.search[start + n]
            y = scale * metric_of(x, length)
            if is_tied(chain, option, mechanism.body[w] + i):
                g = length * space.gradient[mechanism.body[w] + i]
                y += wp.dot(g, lower_part(x)) * six(wp.vec3d(), g)
            space.image[start + n] = y
    gather_normal(w, 0, patterns, mechanism, space, space.search, space.image)
    for n in range(patterns.size[k]):
        if mechanism.item[patterns.of_place[k] + n] >= 0:
            product += wp.dot(space.search[start + n], space.image[start + n])
    return product


@wp.func
def iterated(w: int, patterns: Patterns, mechanism: Mechanism, chain: Chain, option: FkOptions, mu: wp.float64, weight: wp.float64,
             size: wp.float64, space: FkSpace):  # fmt: skip
    """(1) by conjugate gradients on its normal equations, in ``space.x``; ``size`` is the norm of the residuals."""
    k, start, body = patterns.kind[w], patterns.node[w], mechanism.body[w]
    scale = mu * (wp.float64(1.0) + weight)
    precondition(w, patterns, mechanism, chain, option, scale, space)
    bodies = int(0)
    for n in range(patterns.size[k]):
        i = mechanism.item[patterns.of_place[k] + n]
        space.x[start + n] = Row()
        if i >= 0:
            bodies += 1
            space.rest[start + n] = own_right(chain, option, space, body + i, mu * weight, wp.float64(1.0), chain.length[w])
    gather_normal(w, 1, patterns, mechanism, space, space.search, space.rest)
    energy = wp.float64(0.0)
    for n in range(patterns.size[k]):
        if mechanism.item[patterns.of_place[k] + n] >= 0:
            y = eased_of(start + n, option, space)
            space.search[start + n] = y
            energy += wp.dot(y, space.rest[start + n])
    tolerance = wp.float64(1.0e-10)
    if option.adaptive != 0:
        tolerance = wp.clamp(wp.float64(1.0e-3) * size / chain.length[w], wp.float64(1.0e-10), wp.float64(1.0e-3))
    target = tolerance * tolerance * energy
    steps = int(0)
    while energy > target and energy > wp.float64(1.0e-300) and steps < MOST * bodies:
        step = energy / normal_image(w, patterns, mechanism, chain, option, scale, space)
        after = wp.float64(0.0)
        for n in range(patterns.size[k]):
            if mechanism.item[patterns.of_place[k] + n] >= 0:
                space.x[start + n] = space.x[start + n] + step * space.search[start + n]
                space.rest[start + n] = space.rest[start + n] - step * space.image[start + n]
                y = eased_of(start + n, option, space)
                space.eased[start + n] = y
                after += wp.dot(y, space.rest[start + n])
        for n in range(patterns.size[k]):
            if mechanism.item[patterns.of_place[k] + n] >= 0:
                space.search[start + n] = space.eased[start + n] + (after / energy) * space.search[start + n]
        energy = after
        steps += 1


@cache
def make_direction(sparse: bool) -> Any:
    """The function ``(w, patterns, mechanism, chain, option, mu, weight, size, space)`` that leaves the step in ``space.x``."""
    return iterated if sparse else direct_only
