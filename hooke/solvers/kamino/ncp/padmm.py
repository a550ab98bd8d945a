"""Proximal ADMM for the problem (1) of :mod:`~hooke.solvers.kamino.ncp.problem`, in the numbers of its ``scratch``.

With the weight eta of the proximal term and the penalty rho, from (x', y', z') and the extrapolated (y^, z^), one iteration is

    x = (A + (eta + rho) 1)^-1 (-q - s(z^) + eta x' + rho y^ + z^),     y = P(x - z^ / rho),     z = z^ + rho (y - x)     (1)

so that z = A x + q + s + eta (x - x') + rho (y - y^): what is left of the conditions is measured by

    r_p = max |p (x - y)|,     r_d = max |(eta (x - x') + rho (y - y^)) / p|,     r_c = max |x . z|                    (2)

Extrapolation is Nesterov's, restarted where r_a = rho |p (y - y^)|^2 + |(z - z^) / p|^2 / rho does not fall (Goldstein et al. 2014).
(Tasora et al. 2021; Carpentier, Le Lidec, Montaut 2024; Tsounis, Grandia, Baecher 2025.)
"""

from functools import cache
from typing import Any, NamedTuple

import warp as wp

from hooke.solvers.kamino.ncp.problem import RowKind, make_problem
from hooke.solvers.kamino.ncp.scratch import NO_BOUND, VECTORS, make_scratch, native_code

__all__ = ["Padmm", "make_padmm"]

_PREPARE = """
    const int first = problem.row.data[w], stride = problem.stride.data[w];
    const int* const kind = problem.kind.data + first;
    const real_t* const s = problem.matrix.data + problem.entry.data[w];
    const int* const member = problem.member.data ? problem.member.data + first + start : nullptr;
    int* const place = active;  // of a row in the matrix
    auto row_at = [&](int i) { return member ? member[i] : i; };
    int singles = 0, contacts = 0;
    for (int i = 0; i < n; i++) {
        if (kind[row_at(i)] == CONTACT) { contacts++; i += 2; } else singles++;
    }
    for (int single = 0, contact = singles, i = 0; i < n; i++) {
        if (kind[row_at(i)] == CONTACT) {
            for (int c = 0; c < 3; c++) {
                order[contact + c * contacts] = row_at(i) + c;
                place[contact + c * contacts] = i + c;
            }
            contact++;
            i += 2;
        } else {
            order[single] = row_at(i);
            place[single++] = i;
        }
    }
    for (int k = 0; k < VECTORS; k++) for (int j = 0; j < beside; j += 8) store(at(k) + j, all(0));
    for (int j = 0; j < beside; j += 8) store(scale + j, all(1));
    auto scale_of = [&](real_t d) -> real_t { return scaled && d > (real_t)1.0e-35 ? 1 / sqrt(d) : (real_t)1; };
    auto diagonal = [&](int i) -> real_t { return s[(long long)place[i] * stride + place[i]]; };
    for (int i = 0; i < singles; i++) scale[i] = scale_of(diagonal(i));
    for (int t = singles, o = t + contacts, k = o + contacts; t < singles + contacts; t++, o++, k++) {
        real_t d = diagonal(t);
        d = diagonal(o) > d ? diagonal(o) : d;
        d = diagonal(k) > d ? diagonal(k) : d;
        scale[t] = scale[o] = scale[k] = scale_of(d);
        friction[t] = problem.friction.data[first + order[t]];
    }
    for (int i = 0; i < n; i++) {
        real_t* const to = matrix + (long long)i * width;
        const real_t* const from = s + (long long)place[i] * stride;
        const real_t p = scale[i];
        for (int j = 0; j < n; j++) to[j] = p * from[place[j]] * scale[j];
        for (int j = n; j < width; j++) to[j] = 0;
        free[i] = p * problem.free.data[first + order[i]];
    }
    for (int i = n; i < width; i++) for (int j = 0; j < width; j += 8) store(matrix + (long long)i * width + j, all(0));
    const real_t none = NO_BOUND;
    for (int i = 0; i < singles; i++) {
        const int k = kind[order[i]];
        const real_t l = k == BOX ? problem.low.data[first + order[i]] / scale[i] : k == ONE_SIDED ? 0 : -none;
        const real_t h = k == BOX ? problem.high.data[first + order[i]] / scale[i] : none;
        low[i] = l > -none ? l : -none;
        high[i] = h < none ? h : none;
    }
    if (warm) for (int i = 0; i < n; i++) {
        const real_t l = problem.impulse.data[first + order[i]] / scale[i], v = problem.velocity.data[first + order[i]] * scale[i];
        if (l < none && l > -none) x[i] = l;
        if (v < none && v > -none) z[i] = v;
    }
    return singles;
"""

# y, the guess, into its sets, and the velocities to what belongs to it; all that the first iteration looks back to
_GUESS = """
    const int contacts = (n - singles) / 3;
    for (int i = 0; i < singles; i++) {
        x[i] = x[i] < low[i] ? low[i] : x[i] > high[i] ? high[i] : x[i];
        if (low[i] <= -bound && high[i] >= bound) z[i] = 0;
    }
    for (int t = singles, o = t + contacts, k = o + contacts; t < singles + contacts; t++, o++, k++) {
        const real_t mu = friction[t], length = sqrt(x[t] * x[t] + x[o] * x[o]);
        if (mu * length <= -x[k]) x[t] = x[o] = x[k] = 0;
        else if (length > mu * x[k]) {
            x[k] = (mu * length + x[k]) / (mu * mu + 1);
            x[t] *= mu * x[k] / length;
            x[o] *= mu * x[k] / length;
        }
        z[k] += mu * sqrt(z[t] * z[t] + z[o] * z[o]);
    }
    for (int j = 0; j < width; j += 8) {
        store(y + j, load(x + j)); store(x_old + j, load(x + j)); store(y_old + j, load(x + j)); store(y_ahead + j, load(x + j));
        store(z_old + j, load(z + j)); store(z_ahead + j, load(z + j));
    }
    return 0;
"""

_RIGHT = """
    const int contacts = (n - singles) / 3;
    for (int j = 0; j < width; j += 8)
        store(right + j, load(z_ahead + j) + load(y_ahead + j) * rho + load(x_old + j) * eta - load(free + j));
    for (int j = 0; j < contacts; j += 8) {
        const int t = singles + j, o = t + contacts, k = o + contacts;
        const lanes_t zt = load(z_ahead + t), zo = load(z_ahead + o);
        put(right + k, contacts - j, load(right + k) - load(friction + t) * root(zt * zt + zo * zo));
    }
    return 0;
"""

_PROJECT = """
    const int contacts = (n - singles) / 3;
    const lanes_t zero = all(0), one = all(1);
    lanes_t r_p = zero, r_d = zero, r_c = zero, r_dx = zero, r_dy = zero, r_dz = zero, norm = zero;
    const real_t inverse = 1 / rho;
    for (int j = 0; j < width; j += 8) store(x + j, load(right + j));
    for (int j = 0; j < singles; j += 8) {
        const lanes_t l = load(low + j), h = load(high + j), a = load(x + j), b = load(z_ahead + j);
        const lanes_t c = smaller(larger(a - b * inverse, l), h), d = b + (c - a) * rho;
        put(y + j, singles - j, c);
        put(z + j, singles - j, d);
        const lanes_t from = pick(all(-bound) < l, a - l, zero), to = pick(h < all(bound), h - a, zero);
        const lanes_t up = from * larger(d, zero) + to * larger(zero - d, zero), either = size((from + to) * d);
        const lanes_t measured = pick(all(-bound) < l, pick(h < all(bound), up, either), either);
        r_c = larger(r_c, part(singles - j, size(measured), zero));
    }
    for (int j = 0; j < contacts; j += 8) {
        const int t = singles + j, o = t + contacts, k = o + contacts, left = contacts - j;
        const lanes_t mu = load(friction + t), xt = load(x + t), xo = load(x + o), xk = load(x + k);
        const lanes_t zt = load(z_ahead + t), zo = load(z_ahead + o), zk = load(z_ahead + k);
        const lanes_t at_ = xt - zt * inverse, ao = xo - zo * inverse, ak = xk - zk * inverse;
        const lanes_t length = root(at_ * at_ + ao * ao);
        const lanes_t normal = (mu * length + ak) / (mu * mu + one), shrink = mu * normal / larger(length, all((real_t)1.0e-35));
        auto choose = [&](const lanes_t& inside, const lanes_t& edge) {
            return pick(zero < mu * length + ak, pick(mu * ak < length, edge, inside), zero);
        };
        const lanes_t yt = choose(at_, at_ * shrink), yo = choose(ao, ao * shrink), yk = choose(ak, normal);
        const lanes_t wt = zt + (yt - xt) * rho, wo = zo + (yo - xo) * rho, wk = zk + (yk - xk) * rho;
        put(y + t, left, yt); put(y + o, left, yo); put(y + k, left, yk);
        put(z + t, left, wt); put(z + o, left, wo); put(z + k, left, wk);
        r_c = larger(r_c, part(left, size(xt * wt + xo * wo + xk * wk), zero));
    }
    for (int j = 0; j < width; j += 8) {
        const lanes_t p = load(scale + j), inverse_p = one / p, a = load(x + j), b = load(y + j);
        const lanes_t dx = a - load(x_old + j), dy = b - load(y_ahead + j), dz = load(z + j) - load(z_ahead + j);
        r_p = larger(r_p, size(p * (a - b)));
        r_d = larger(r_d, size((dx * eta + dy * rho) * inverse_p));
        r_dx = r_dx + p * p * dx * dx;
        r_dy = r_dy + p * p * dy * dy;
        r_dz = r_dz + inverse_p * inverse_p * dz * dz;
        norm = norm + a * a;
    }
    wp::vec_t<8, real_t> result;
    result.c[0] = largest(r_p); result.c[1] = largest(r_d); result.c[2] = largest(r_c);
    result.c[3] = sqrt(sum(r_dx)); result.c[4] = sqrt(sum(r_dy)); result.c[5] = sqrt(sum(r_dz)); result.c[6] = sqrt(sum(norm));
    result.c[7] = 0;
    return result;
"""

_ADVANCE = """
    for (int j = 0; j < width; j += 8) {
        const lanes_t b = load(y + j), c = load(z + j), b_old = load(y_old + j), c_old = load(z_old + j);
        store(y_ahead + j, restart ? b_old : b + (b - b_old) * ahead);
        store(z_ahead + j, restart ? c_old : c + (c - c_old) * ahead);
        store(x_old + j, load(x + j));
        store(y_old + j, b);
        store(z_old + j, c);
    }
    return 0;
"""

# step <- A step / |A step|; |A step|
_POWER = """
    lanes_t square = all(0);
    if (begin) for (int i = 0; i < n; i++) step[i] = 1 + (real_t)0.1 * (i % 7);
    for (int j = 0; j < width; j += 8) square = square + load(step + j) * load(step + j);
    const real_t inverse = 1 / sqrt(sum(square) + (real_t)1.0e-35);
    for (int j = 0; j < width; j += 8) store(step + j, load(step + j) * inverse);
    square = all(0);
    for (int i = 0; i < n; i++) {
        lanes_t total = all(0);
        for (int j = 0; j < width; j += 8) total = total + load(matrix + (long long)i * width + j) * load(step + j);
        right[i] = sum(total);
    }
    for (int j = 0; j < width; j += 8) {
        square = square + load(right + j) * load(right + j);
        store(step + j, load(right + j));
    }
    return sqrt(sum(square));
"""


_SIZE = """
    lanes_t most = all(0);
    for (int j = 0; j < width; j += 8) most = larger(most, size(load(free + j)));
    return largest(most);
"""

_TAKE = """
    const int contacts = (n - singles) / 3;
    for (int j = 0; j < width; j += 8) {
        store(point + j, load(y + j));
        store(velocity + j, load(z + j));
    }
    for (int t = singles, o = t + contacts, k = o + contacts; t < singles + contacts; t++, o++, k++)
        velocity[k] -= friction[t] * sqrt(z[t] * z[t] + z[o] * z[o]);
    return 0;
"""


class Padmm(NamedTuple):
    """Native functions over the slots of a Scratch."""

    prepare: Any
    guess: Any
    right_side: Any
    project: Any
    advance: Any
    power: Any
    size_of: Any
    take_iterate: Any


def constants_code() -> str:
    """The names of kinds of rows and of sizes that the native functions use."""
    return f"""
    constexpr int CONTACT = {int(RowKind.CONTACT)}, BOX = {int(RowKind.BOX)}, ONE_SIDED = {int(RowKind.ONE_SIDED)};
    constexpr int VECTORS = {len(VECTORS)};
    constexpr real_t NO_BOUND = {NO_BOUND};
    const real_t bound = NO_BOUND;
"""


@cache
def make_padmm(scalar: Any) -> Padmm:
    """The functions over a type of numbers."""
    scratch, problems = make_scratch(scalar), make_problem(scalar)
    constants = constants_code()
    measures = wp.types.vector(length=8, dtype=scalar)

    @wp.func_native(native_code(scalar, _PREPARE, constants))
    def prepare(space: scratch, slot: int, n: int, problem: problems, w: int, start: int, warm: int, scaled: int) -> int:
        """Take n rows of a world, from member ``start`` on, into a slot, and the guess where it is ``warm``; returns how many rows are of
        one number.
        """

    @wp.func_native(native_code(scalar, _GUESS, constants))
    def guess(space: scratch, slot: int, n: int, singles: int) -> int:
        """Begin from the guess."""

    @wp.func_native(native_code(scalar, _RIGHT, constants))
    def right_side(space: scratch, slot: int, n: int, singles: int, rho: scalar, eta: scalar) -> int:
        """What the inverse in (1) is applied to."""

    @wp.func_native(native_code(scalar, _PROJECT, constants))
    def project(space: scratch, slot: int, n: int, singles: int, rho: scalar, eta: scalar) -> measures:
        """The rest of (1); the measures (2), then |x - x'|, |y - y^|, |z - z^| as the status has them, and |x|."""

    @wp.func_native(native_code(scalar, _ADVANCE, constants))
    def advance(space: scratch, slot: int, n: int, ahead: scalar, restart: int) -> int:
        """Extrapolate, or rewind to where the extrapolation began."""

    @wp.func_native(native_code(scalar, _POWER, constants))
    def power(space: scratch, slot: int, n: int, begin: int) -> scalar:
        """One step of the power iteration for the largest eigenvalue."""

    @wp.func_native(native_code(scalar, _SIZE, constants))
    def size_of(space: scratch, slot: int, n: int) -> scalar:
        """The largest |q_i|."""

    @wp.func_native(native_code(scalar, _TAKE, constants))
    def take_iterate(space: scratch, slot: int, n: int, singles: int) -> int:
        """``point`` = y and ``velocity`` = z - s."""

    return Padmm(prepare, guess, right_side, project, advance, power, size_of, take_iterate)
