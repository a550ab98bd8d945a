"""One semismooth Newton step for the problem (1) of :mod:`~hooke.solvers.kamino.ncp.problem`, on the faces that the natural map names.

With a = x - v, v = A x + q, a row is at a bound where a is outside, and else v = 0. A contact is

    open    a_n <= 0                     x = 0
    stuck   |a_t| <= mu a_n              v = 0
    slips   otherwise                    v_n = 0,   x_t = mu a_n e,   e = a_t / |a_t|                                  (1)

(Alart and Curnier 1991). What is at bounds is put there, and leaves the equations. Those of the others are linearized, with De Saxce's
term: it vanishes where v_n = 0 is asked instead of v_n + s = 0. For a slipping contact with k = mu a_n / |a_t| and the projector
T = k (1 - e e^T) the tangential rows are

    (1 - T) dx_t + T A_t dx - mu e (dx_n - A_n dx) = mu a_n e - x_t                                                    (2)

A step of a proximal method is taken where A is singular: A + epsilon 1 instead of A, with the residual as it is.
"""

from functools import cache
from typing import Any, NamedTuple

import warp as wp

from hooke.solvers.kamino.ncp.padmm import constants_code
from hooke.solvers.kamino.ncp.scratch import make_scratch, native_code

__all__ = ["Newton", "make_newton", "measures_type"]

# state of a contact: 0 open, 1 stuck, 2 slips
_CLASSIFY = """
    const int contacts = (n - singles) / 3;
    int m = 0, moved = 0, closed = 0;
    for (int i = 0; i < singles; i++) {
        const real_t a = point[i] - velocity[i];
        const bool below = low[i] > -bound && a <= low[i], above = high[i] < bound && a >= high[i];
        if (below || above) {
            const real_t to = below ? low[i] : high[i];
            moved |= to != point[i];
            point[i] = to;
        } else active[m++] = i;
    }
    for (int c = 0, t = singles; c < contacts; c++, t++) {
        const int o = t + contacts, k = o + contacts;
        const real_t at_ = point[t] - velocity[t], ao = point[o] - velocity[o], ak = point[k] - velocity[k];
        const real_t length = sqrt(at_ * at_ + ao * ao), radius = friction[t] * ak;
        state[c] = !(ak > 0) ? 0 : length <= radius && radius > 0 ? 1 : 2;
        if (state[c] == 0) {
            moved |= point[t] != 0 || point[o] != 0 || point[k] != 0;
            point[t] = point[o] = point[k] = 0;
        } else closed++;
    }
    for (int part_of = 0, from = singles; part_of < 3; part_of++, from += contacts)
        for (int c = 0; c < contacts; c++) if (state[c]) active[m++] = from + c;
    return 2 * m + moved;
"""

_ASSEMBLE = """
    const int contacts = (n - singles) / 3, size_ = (m + 7) & ~7, stride = size_ + 8;
    const bool whole = m == n;
    for (int i = 0; i < m; i++) {
        real_t* const to = jacobian + (long long)i * stride;
        const real_t* const from = matrix + (long long)active[i] * width;
        if (whole) for (int j = 0; j < size_; j += 8) store(to + j, load(from + j));
        else {
            for (int j = 0; j < m; j++) to[j] = from[active[j]];
            for (int j = m; j < size_; j++) to[j] = 0;
        }
        store(to + size_, all(0));
        to[i] += epsilon;
        to[size_] = -velocity[active[i]];
    }
    for (int i = m; i < size_; i++) {
        real_t* const to = jacobian + (long long)i * stride;
        for (int j = 0; j < stride; j += 8) store(to + j, all(0));
        to[i] = 1;
    }
    int closed = 0, row = 0;
    for (int c = 0; c < contacts; c++) closed += state[c] > 0;
    row = m - 3 * closed;
    for (int c = 0, t = singles; c < contacts; c++, t++) {
        if (state[c] == 2) {
            const int o = t + contacts, k = o + contacts;
            const real_t b0 = point[t] - velocity[t], b1 = point[o] - velocity[o], ak = point[k] - velocity[k], mu = friction[t];
            const real_t length = sqrt(b0 * b0 + b1 * b1), radius = ak > 0 ? mu * ak : 0;
            const real_t inverse = length > (real_t)1.0e-35 ? 1 / length : 0, e0 = b0 * inverse, e1 = b1 * inverse;
            real_t gain = radius * inverse;
            gain = gain < 1 ? gain : 1;
            const real_t t00 = gain * (1 - e0 * e0), t01 = -gain * e0 * e1, t11 = gain * (1 - e1 * e1), m0 = mu * e0, m1 = mu * e1;
            real_t *r0 = jacobian + (long long)row * stride, *r1 = r0 + (long long)closed * stride, *r2 = r1 + (long long)closed * stride;
            for (int j = 0; j < size_; j += 8) {
                const lanes_t a = load(r0 + j), b = load(r1 + j), d = load(r2 + j);
                store(r0 + j, a * t00 + b * t01 + d * m0);
                store(r1 + j, a * t01 + b * t11 + d * m1);
            }
            r0[row] += 1 - t00; r0[row + closed] -= t01; r0[row + 2 * closed] -= m0;
            r1[row] -= t01; r1[row + closed] += 1 - t11; r1[row + 2 * closed] -= m1;
            r0[size_] = radius * e0 - point[t];
            r1[size_] = radius * e1 - point[o];
        }
        row += state[c] > 0;
    }
    return 0;
"""

_MOVE = """
    for (int i = 0; i < m; i++) point[active[i]] += step[i];
    return 0;
"""

# max |x - P(x - v - s)|, scaled and not, with what the tolerances bound: |p (x - P x)|, |(z - P* z) / p|, |x . z|; the same three
# without what rounding may have left of them
_MEASURE = """
    const int contacts = (n - singles) / 3;
    const lanes_t zero = all(0), one = all(1);
    lanes_t natural = zero, physical = zero, r_p = zero, r_d = zero, r_c = zero, broken = zero, residual = zero;
    lanes_t beyond_p = zero, beyond_d = zero, beyond_c = zero, square = zero, most = zero;
    for (int j = 0; j < width; j += 8) {
        square = square + load(point + j) * load(point + j);
        most = larger(most, size(load(free + j)));
    }
    const real_t epsilon = sizeof(real_t) == 8 ? 8.9e-16 : 4.8e-7f;
    const lanes_t length_x = all(sqrt(sum(square))), in_x = length_x * epsilon, in_z = in_x + all(largest(most)) * epsilon;
    for (int j = 0; j < singles; j += 8) {
        const int left = singles - j;
        const lanes_t l = load(low + j), h = load(high + j), p = load(scale + j), a = load(point + j), v = load(velocity + j);
        auto clamp = [&](const lanes_t& b, const lanes_t& s) { return smaller(larger(b, l * s), h * s); };
        natural = larger(natural, part(left, size(a - clamp(a - v, one)), zero));
        physical = larger(physical, part(left, size(a * p - clamp(a * p - v / p, p)), zero));
        const lanes_t outside = size(a - clamp(a, one));
        r_p = larger(r_p, part(left, p * outside, zero));
        beyond_p = larger(beyond_p, part(left, p * (outside - in_x), zero));
        const lanes_t from = pick(all(-bound) < l, a - l, zero), to = pick(h < all(bound), h - a, zero);
        const lanes_t up = size(from * larger(v, zero)), down = size(to * larger(zero - v, zero));
        r_c = larger(r_c, part(left, up + down, zero));
        beyond_c = larger(beyond_c, part(left, up + down - in_z * (size(a) + in_x), zero));
        const lanes_t wrong = pick(all(-bound) < l, zero, larger(v, zero)) + pick(h < all(bound), zero, larger(zero - v, zero));
        r_d = larger(r_d, part(left, wrong / p, zero));
        beyond_d = larger(beyond_d, part(left, (wrong - in_z) / p, zero));
        broken = broken + part(left, (a - a) + (v - v), zero);
    }
    residual = natural;
    for (int j = 0; j < contacts; j += 8) {
        const int t = singles + j, o = t + contacts, k = o + contacts, left = contacts - j;
        const lanes_t mu = load(friction + t), p = load(scale + t), xt = load(point + t), xo = load(point + o), xk = load(point + k);
        const lanes_t vt = load(velocity + t), vo = load(velocity + o), speed = root(vt * vt + vo * vo);
        const lanes_t vk = load(velocity + k) + mu * speed, tiny = all((real_t)1.0e-35);
        auto distance = [&](const lanes_t& at_, const lanes_t& ao, const lanes_t& ak, const lanes_t& s) {
            const lanes_t length = root(at_ * at_ + ao * ao), normal = (mu * length + ak) / (mu * mu + one);
            const lanes_t shrink = mu * normal / larger(length, tiny);
            auto off = [&](const lanes_t& from, const lanes_t& inside, const lanes_t& edge) {
                return size(from - pick(zero < mu * length + ak, pick(mu * ak < length, edge, inside), zero));
            };
            return larger(off(xt * s, at_, at_ * shrink), larger(off(xo * s, ao, ao * shrink), off(xk * s, ak, normal)));
        };
        natural = larger(natural, part(left, distance(xt - vt, xo - vo, xk - vk, one), zero));
        physical = larger(physical, part(left, distance(xt * p - vt / p, xo * p - vo / p, xk * p - vk / p, p), zero));
        const lanes_t outside = distance(xt, xo, xk, one);
        r_p = larger(r_p, part(left, p * outside, zero));
        beyond_p = larger(beyond_p, part(left, p * (outside - in_x), zero));
        // from K*: (t, n) is in it where mu |t| <= n; v_n + mu |v_t| falls short by -v_n
        const lanes_t missing = larger(zero, mu * speed - vk), beta = missing / (mu * mu + one);
        const lanes_t wrong = larger(beta, smaller(beta * mu, speed)), power = size(xt * vt + xo * vo + xk * vk);
        r_d = larger(r_d, part(left, wrong / p, zero));
        beyond_d = larger(beyond_d, part(left, (wrong - in_z) / p, zero));
        r_c = larger(r_c, part(left, power, zero));
        beyond_c = larger(beyond_c, part(left, power - in_z * (size(xt) + size(xo) + size(xk) * (one + mu) + in_x), zero));
        const lanes_t v = load(velocity + k), ak = larger(zero, xk - v), bt = xt - vt, bo = xo - vo, length = root(bt * bt + bo * bo);
        const lanes_t ratio = pick(mu * ak < length, mu * ak / larger(length, tiny), one);
        const lanes_t off = larger(size(xk - ak), larger(size(xt - bt * ratio), size(xo - bo * ratio)));
        residual = larger(residual, part(left, off, zero));
        broken = broken + part(left, (xk - xk) + (vk - vk) + (xt - xt) + (xo - xo), zero);
    }
    wp::vec_t<9, real_t> result;
    const real_t bad = sum(broken);  // 0, or not a number
    const real_t found[9] = {largest(natural), largest(physical), largest(r_p), largest(r_d), largest(r_c), largest(residual),
                             largest(beyond_p), largest(beyond_d), largest(beyond_c)};
    for (int k = 0; k < 9; k++) result.c[k] = bad == 0 ? found[k] : NO_BOUND;
    return result;
"""

_COPY = """
    const real_t* const from_ = at(origin);
    real_t* const to_ = at(target);
    for (int j = 0; j < width; j += 8) store(to_ + j, load(from_ + j));
    return 0;
"""

_RESET = """
    for (int j = 0; j < width; j += 8) store(point + j, all(0));
    return 0;
"""

_PROJECT_POINT = """
    const int contacts = (n - singles) / 3;
    for (int i = 0; i < singles; i++) point[i] = point[i] < low[i] ? low[i] : point[i] > high[i] ? high[i] : point[i];
    for (int t = singles, o = t + contacts, k = o + contacts; t < singles + contacts; t++, o++, k++) {
        const real_t mu = friction[t], length = sqrt(point[t] * point[t] + point[o] * point[o]);
        if (mu * length <= -point[k]) point[t] = point[o] = point[k] = 0;
        else if (length > mu * point[k]) {
            point[k] = (mu * length + point[k]) / (mu * mu + 1);
            const real_t shrink = mu * point[k] / length;
            point[t] *= shrink;
            point[o] *= shrink;
        }
    }
    return 0;
"""

# impulse <- p from, velocity <- what it says
_WRITE = """
    const int first = problem.row.data[w];
    for (int i = 0; i < n; i++) {
        problem.impulse.data[first + order[i]] = scale[i] * point[i];
        const real_t v = velocity[i] / scale[i];
        problem.velocity.data[first + order[i]] = v < bound && v > -bound ? v : 0;
    }
    return 0;
"""


class Newton(NamedTuple):
    """Native functions over the slots of a Scratch."""

    classify: Any
    assemble: Any
    move: Any
    measure: Any
    copy: Any
    clear_point: Any
    project_point: Any
    write: Any


def measures_type(scalar: Any) -> Any:
    """The type of what a point is measured by."""
    return wp.types.vector(length=9, dtype=scalar)


@cache
def make_newton(scalar: Any, problems: Any) -> Newton:
    """The functions over a type of numbers and the struct of the problems."""
    scratch = make_scratch(scalar)
    constants = constants_code()
    measures = measures_type(scalar)

    @wp.func_native(native_code(scalar, _CLASSIFY, constants))
    def classify(space: scratch, slot: int, n: int, singles: int) -> int:
        """The faces (1), and what they fix; twice the number of the other rows, and 1 more if something was moved."""

    @wp.func_native(native_code(scalar, _ASSEMBLE, constants))
    def assemble(space: scratch, slot: int, n: int, singles: int, m: int, epsilon: scalar) -> int:
        """The equations (2)."""

    @wp.func_native(native_code(scalar, _MOVE, constants))
    def move(space: scratch, slot: int, n: int, m: int) -> int:
        """Add the step."""

    @wp.func_native(native_code(scalar, _MEASURE, constants))
    def measure(space: scratch, slot: int, n: int, singles: int) -> measures:
        """The natural map of ``point``, scaled and not, its r_p, r_d, r_c, what (1) leaves, and r_p, r_d, r_c beyond rounding.

        NO_BOUND instead of all where something is not a number.
        """

    @wp.func_native(native_code(scalar, _COPY, constants))
    def copy(space: scratch, slot: int, n: int, origin: int, target: int) -> int:
        """Copy a vector."""

    @wp.func_native(native_code(scalar, _RESET, constants))
    def clear_point(space: scratch, slot: int, n: int) -> int:
        """``point`` = 0."""

    @wp.func_native(native_code(scalar, _PROJECT_POINT, constants))
    def project_point(space: scratch, slot: int, n: int, singles: int) -> int:
        """Move ``point`` into its sets."""

    @wp.func_native(native_code(scalar, _WRITE, constants))
    def write(space: scratch, slot: int, n: int, problem: problems, w: int) -> int:
        """Return ``point`` and ``velocity`` as impulses and velocities."""

    return Newton(classify, assemble, move, measure, copy, clear_point, project_point, write)
