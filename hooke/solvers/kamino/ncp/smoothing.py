"""A smooth path to the solution, for problems on whose faces Newton steps lose their way.

With the smooth maximum g_t(a) = (a + sqrt(a^2 + 4 t^2)) / 2 in place of max(a, 0) projections have derivatives everywhere, and the natural
map of a velocity u that may be linearized,

    F_t(x) = x - P_t(x - u(x)) = 0                                                                                    (1)

has a solution near which Newton's method converges, for every t > 0; as t falls to 0 it becomes that of the problem (Chen, Harker 1993;
Fukushima, Luo, Tseng 2001 for cones). A contact is taken in the numbers in which its cone is its own dual, r = (x_t, mu x_n) and
u = (v_t, v_n / mu + sqrt(|v_t|^2 + (t / 100)^2)), the last term being De Saxce's; P_t acts on the two spectral values a_n -+ |a_t|.

The derivative, row by row, is (1 - V) dr + V du with V = P_t'.
"""

from functools import cache
from typing import Any, NamedTuple

import warp as wp

from hooke.solvers.kamino.ncp.padmm import constants_code
from hooke.solvers.kamino.ncp.scratch import make_scratch, native_code

__all__ = ["Smoothing", "make_smoothing"]

_LEAST_FRICTION = """
    const real_t least_friction = (real_t)1.0e-2;  // what is less is taken to be none
"""

_EVALUATE = """
    const int contacts = (n - singles) / 3, stride = width + 8;
    const real_t square = t * t, soft = square * (real_t)1.0e-4, tiny = (real_t)1.0e-35;
    const real_t epsilon = sizeof(real_t) == 8 ? 1.0e-10 : 1.0e-5f;
    auto above = [&](real_t a) -> real_t {
        const real_t r = sqrt(a * a + 4 * square);
        return a > 0 ? (a + r) / 2 : 2 * square / (r - a + tiny);
    };
    auto slope = [&](real_t a) -> real_t { return (1 + a / sqrt(a * a + 4 * square + tiny)) / 2; };
    real_t total = 0;
    auto single = [&](int i, real_t l, real_t h) {
        const real_t a = point[i] - velocity[i];
        real_t value = a, gain = 1;
        if (l > -bound && h < bound) { value = l + above(a - l) - above(a - h); gain = slope(a - l) - slope(a - h); }
        else if (l > -bound) { value = l + above(a - l); gain = slope(a - l); }
        else if (h < bound) { value = h - above(h - a); gain = slope(h - a); }
        const real_t f = point[i] - value;
        total += f * f;
        if (build) {
            real_t* const to = jacobian + (long long)i * stride;
            const real_t* const from = matrix + (long long)i * width;
            for (int j = 0; j < width; j += 8) store(to + j, load(from + j) * gain);
            store(to + width, all(0));
            to[i] += 1 - gain + epsilon;
            to[width] = -f;
        }
    };
    for (int i = 0; i < singles; i++) single(i, low[i], high[i]);
    for (int c = 0, ti = singles; c < contacts; c++, ti++) {
        const int oi = ti + contacts, ki = oi + contacts;
        const real_t mu = friction[ti];
        if (mu < least_friction) {
            single(ti, 0, 0);
            single(oi, 0, 0);
            single(ki, 0, NO_BOUND);
            continue;
        }
        const real_t vt = velocity[ti], vo = velocity[oi], speed = sqrt(vt * vt + vo * vo + soft);
        const real_t at_ = point[ti] - vt, ao = point[oi] - vo, ak = mu * point[ki] - (velocity[ki] / mu + speed);
        const real_t length = sqrt(at_ * at_ + ao * ao), e0 = length > tiny ? at_ / length : 1, e1 = length > tiny ? ao / length : 0;
        const real_t less = above(ak - length), more = above(ak + length), half = (more - less) / 2;
        const real_t f0 = point[ti] - e0 * half, f1 = point[oi] - e1 * half, f2 = mu * point[ki] - (less + more) / 2;
        total += f0 * f0 + f1 * f1 + f2 * f2;
        if (build) {
            const real_t d1 = slope(ak - length), d2 = slope(ak + length), b = (d1 + d2) / 2, d = (d2 - d1) / 2;
            const real_t a = length > tiny ? half / length : d1;
            const real_t v00 = a + (b - a) * e0 * e0, v01 = (b - a) * e0 * e1, v11 = a + (b - a) * e1 * e1, v02 = d * e0, v12 = d * e1;
            const real_t g0 = speed > tiny ? vt / speed : 0, g1 = speed > tiny ? vo / speed : 0, inverse = 1 / mu;
            real_t* const r0 = jacobian + (long long)ti * stride;
            real_t* const r1 = jacobian + (long long)oi * stride;
            real_t* const r2 = jacobian + (long long)ki * stride;
            const real_t *s0 = matrix + (long long)ti * width, *s1 = matrix + (long long)oi * width, *s2 = matrix + (long long)ki * width;
            const real_t m00 = v00 + v02 * g0, m01 = v01 + v02 * g1, m02 = v02 * inverse;
            const real_t m10 = v01 + v12 * g0, m11 = v11 + v12 * g1, m12 = v12 * inverse;
            const real_t m20 = v02 + b * g0, m21 = v12 + b * g1, m22 = b * inverse;
            for (int j = 0; j < width; j += 8) {
                const lanes_t p = load(s0 + j), q = load(s1 + j), s = load(s2 + j);
                store(r0 + j, p * m00 + q * m01 + s * m02);
                store(r1 + j, p * m10 + q * m11 + s * m12);
                store(r2 + j, p * m20 + q * m21 + s * m22);
            }
            store(r0 + width, all(0)); store(r1 + width, all(0)); store(r2 + width, all(0));
            r0[ti] += 1 - v00 + epsilon; r0[oi] -= v01; r0[ki] -= v02 * mu;
            r1[ti] -= v01; r1[oi] += 1 - v11 + epsilon; r1[ki] -= v12 * mu;
            r2[ti] -= v02; r2[oi] -= v12; r2[ki] += (1 - b) * mu + epsilon;
            r0[width] = -f0; r1[width] = -f1; r2[width] = -f2;
        }
    }
    if (build) for (int i = n; i < width; i++) {
        real_t* const to = jacobian + (long long)i * stride;
        for (int j = 0; j < stride; j += 8) store(to + j, all(0));
        to[i] = 1;
    }
    return sqrt(total);
"""

_EXTENT = """
    real_t most = 0;
    const int contacts = (n - singles) / 3;
    for (int i = 0; i < n; i++) {
        real_t q = free[i] < 0 ? -free[i] : free[i];
        if (i >= singles + 2 * contacts) {
            const real_t mu = friction[i - 2 * contacts];
            q = q / (mu < least_friction ? 1 : mu);
        }
        most = q > most ? q : most;
    }
    return most;
"""

_SHIFT = """
    for (int j = 0; j < width; j += 8) store(point + j, load(base + j) + load(step + j) * share);
    return 0;
"""


class Smoothing(NamedTuple):
    """Native functions over the slots of a Scratch."""

    evaluate_path: Any
    extent: Any
    shift: Any


@cache
def make_smoothing(scalar: Any) -> Smoothing:
    """The functions over a type of numbers."""
    scratch = make_scratch(scalar)
    constants = constants_code() + _LEAST_FRICTION

    @wp.func_native(native_code(scalar, _EVALUATE, constants))
    def evaluate_path(space: scratch, slot: int, n: int, singles: int, t: scalar, build: int) -> scalar:
        """|F_t| at ``point`` with its ``velocity``; with ``build`` the equations of a Newton step too."""

    @wp.func_native(native_code(scalar, _EXTENT, constants))
    def extent(space: scratch, slot: int, n: int, singles: int) -> scalar:
        """The largest velocity without impulses, in the numbers of (1)."""

    @wp.func_native(native_code(scalar, _SHIFT, constants))
    def shift(space: scratch, slot: int, n: int, share: scalar) -> int:
        """``point`` = ``base`` + a share of the ``step``."""

    return Smoothing(evaluate_path, extent, shift)
