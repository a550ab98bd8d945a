"""Dense linear algebra on one core: elimination by panels of eight columns with row pivots, and substitution at the speed of loads.

A panel is a register per row. With a matrix [A11 A12; A21 A22], A11 of eight rows,

    A11 = L11 U11,     L21 = A21 U11^-1,     U12 = L11^-1 A12,     A22 -= L21 U12                                     (1)

the last of which is nearly all of the work: a row of A22 is read and written once for eight rows of U12. A column beside the matrix,
the right side, takes part and becomes L^-1 b.

Where many right sides come one after the other (proximal ADMM), the factors are kept transposed, so that both substitutions subtract
multiples of rows that lie in memory one after the other, with inverses of the triangles of eight on the diagonal.
"""

from functools import cache
from typing import Any, NamedTuple

import warp as wp

from hooke.solvers.kamino.ncp.scratch import make_scratch, native_code

__all__ = ["Dense", "make_dense"]

# a: first number, stride: of a row, wide: columns that take part
_ELIMINATE = """
    const int size_ = (m + 7) & ~7;
    real_t* const a = (which ? jacobian : factor);
    const int stride = which ? size_ + 8 : size_, wide = stride;
    const real_t tiny = sizeof(real_t) == 8 ? 1.0e-290 : 1.0e-30f;
    real_t least = 1.0e30f;
    for (int c = 0; c < size_; c += 8) {
        EACH(k, 0, 8) {
            int best = c + k;
            if (which) {  // find the pivot
                real_t most = -1;
                for (int i = c + k; i < size_; i++) {
                    real_t value = a[(long long)i * stride + c + k];
                    value = value < 0 ? -value : value;
                    if (value > most) { most = value; best = i; }
                }
                if (best != c + k) {
                    real_t *r = a + (long long)best * stride, *s = a + (long long)(c + k) * stride;
                    for (int j = 0; j < wide; j += 8) {
                        lanes_t kept = load(r + j);
                        store(r + j, load(s + j));
                        store(s + j, kept);
                    }
                }
            }
            const lanes_t row = load(a + (long long)(c + k) * stride + c);
            real_t pivot = row[k], magnitude = pivot < 0 ? -pivot : pivot;
            least = magnitude < least ? magnitude : least;
            if (!(magnitude > tiny)) pivot = pivot < 0 ? -tiny : tiny;
            const real_t inverse = 1 / pivot;
            lanes_t rest = row;  // what is right of the pivot
            EACH(l, 0, k + 1) rest[l] = 0;
            for (int i = c + k + 1; i < size_; i++) {
                real_t* const to = a + (long long)i * stride + c;
                lanes_t line = load(to);
                const real_t ratio = line[k] * inverse;
                line = line - rest * ratio;
                line[k] = ratio;
                store(to, line);
            }
        }
        lanes_t lower[8];
        EACH(k, 0, 8) lower[k] = load(a + (long long)(c + k) * stride + c);
        for (int j = c + 8; j < wide; j += 8) {
            lanes_t u[8];
            EACH(k, 0, 8) u[k] = load(a + (long long)(c + k) * stride + j);
            EACH(k, 0, 8) EACH(i, k + 1, 8) u[i] = u[i] - u[k] * lower[i][k];
            EACH(k, 1, 8) store(a + (long long)(c + k) * stride + j, u[k]);
        }
        for (int i = c + 8; i < size_; i += 4) {
            real_t* const to = a + (long long)i * stride;
            real_t ratio[4][8];
            EACH(r, 0, 4) store(ratio[r], load(to + r * stride + c));
            for (int j = c + 8; j < wide; j += 8) {
                lanes_t row[4];
                EACH(r, 0, 4) row[r] = load(to + r * stride + j);
                EACH(k, 0, 8) {
                    const lanes_t u = load(a + (long long)(c + k) * stride + j);
                    EACH(r, 0, 4) row[r] = row[r] - u * ratio[r][k];
                }
                EACH(r, 0, 4) store(to + r * stride + j, row[r]);
            }
        }
    }
    return least;
"""

# factor <- matrix + s 1
_BEGIN = """
    for (int i = 0; i < width; i++) {
        const real_t *from = matrix + (long long)i * width;
        real_t *to = factor + (long long)i * width;
        for (int j = 0; j < width; j += 8) store(to + j, load(from + j));
        to[i] += shift;
    }
    return 0;
"""

# In place: rows of the transpose; then the inverses of L and U on the diagonal, transposed too, so that a number meets a row of eight.
_FINISH = """
    for (int i = 0; i < width; i++)
        for (int j = 0; j < i; j++) {
            real_t* const p = factor + (long long)i * width + j;
            real_t* const q = factor + (long long)j * width + i;
            real_t kept = *p;
            *p = *q;
            *q = kept;
        }
    for (int c = 0; c < width; c += 8) {
        lanes_t z[8], t[8];
        EACH(i, 0, 8) t[i] = load(factor + (long long)(c + i) * width + c);
        EACH(h, 0, 8) {  // L^-T
            const int i = 7 - h;
            lanes_t unit = all(0);
            unit[i] = 1;
            EACH(k, i + 1, 8) unit = unit - z[k] * t[i][k];
            z[i] = unit;
        }
        EACH(i, 0, 8) store(corner + 8 * (c + i), z[i]);
        EACH(i, 0, 8) {  // U^-T
            lanes_t unit = all(0);
            unit[i] = 1;
            EACH(k, 0, i) unit = unit - z[k] * t[i][k];
            z[i] = unit * (1 / t[i][i]);
        }
        EACH(i, 0, 8) store(corner + 8 * (width + c + i), z[i]);
    }
    return 0;
"""

_SOLVE = """
    for (int c = 0; c < width; c += 8) {
        real_t b[8];
        EACH(k, 0, 8) b[k] = right[c + k];
        lanes_t even = all(0), odd = all(0);
        EACH(k, 0, 4) {
            even = even + load(corner + 8 * (c + 2 * k)) * b[2 * k];
            odd = odd + load(corner + 8 * (c + 2 * k + 1)) * b[2 * k + 1];
        }
        const lanes_t y = even + odd;
        store(right + c, y);
        for (int j = c + 8; j < width; j += 8) {
            lanes_t r = load(right + j);
            EACH(k, 0, 8) r = r - load(factor + (long long)(c + k) * width + j) * y[k];
            store(right + j, r);
        }
    }
    for (int c = width - 8; c >= 0; c -= 8) {
        real_t b[8];
        EACH(k, 0, 8) b[k] = right[c + k];
        lanes_t even = all(0), odd = all(0);
        EACH(k, 0, 4) {
            even = even + load(corner + 8 * (width + c + 2 * k)) * b[2 * k];
            odd = odd + load(corner + 8 * (width + c + 2 * k + 1)) * b[2 * k + 1];
        }
        const lanes_t y = even + odd;
        store(right + c, y);
        for (int j = 0; j < c; j += 8) {
            lanes_t r = load(right + j);
            EACH(k, 0, 8) r = r - load(factor + (long long)(c + k) * width + j) * y[k];
            store(right + j, r);
        }
    }
    return 0;
"""

# velocity <- matrix from + free, eight rows at a time
_MULTIPLY = """
    const real_t* const x_ = at(vector);
    for (int c = 0; c < width; c += 8) {
        lanes_t sums[8];
        EACH(k, 0, 8) sums[k] = all(0);
        for (int j = 0; j < width; j += 8) {
            const lanes_t part_of = load(x_ + j);
            EACH(k, 0, 8) sums[k] = sums[k] + load(matrix + (long long)(c + k) * width + j) * part_of;
        }
        real_t* const to = velocity + c;
        EACH(k, 0, 8) to[k] = free[c + k] + (((sums[k][0] + sums[k][1]) + (sums[k][2] + sums[k][3]))
                                           + ((sums[k][4] + sums[k][5]) + (sums[k][6] + sums[k][7])));
    }
    return 0;
"""

# the last step of a Newton step: U d = L^-1 b, with which the active rows move
_SUBSTITUTE = """
    const int size_ = (m + 7) & ~7, stride = size_ + 8;
    for (int i = size_ - 1; i >= 0; i--) {
        const real_t* const row = jacobian + (long long)i * stride;
        lanes_t total = all(0);
        const int from = (i + 1) & ~7;
        if (from < size_) {
            total = load(row + from) * load(step + from);
            EACH(l, 0, 8) if (from + l <= i) total[l] = 0;
            for (int j = from + 8; j < size_; j += 8) total = total + load(row + j) * load(step + j);
        }
        step[i] = (row[size_] - sum(total)) / row[i];
    }
    return 0;
"""


class Dense(NamedTuple):
    """Native functions over the slots of a Scratch."""

    eliminate: Any
    factor: Any
    solve: Any
    multiply: Any
    substitute: Any


@cache
def make_dense(scalar: Any) -> Dense:
    """The functions over a type of numbers."""
    scratch = make_scratch(scalar)

    @wp.func_native(native_code(scalar, _ELIMINATE))
    def eliminate(space: scratch, slot: int, n: int, m: int, which: int) -> scalar:
        """(1) for the first m rows of the Jacobian (``which`` = 1, with pivots and a right side) or the factor (0); the least pivot."""

    @wp.func_native(native_code(scalar, _BEGIN))
    def begin_factor(space: scratch, slot: int, n: int, shift: scalar) -> int:
        """The matrix plus a multiple of 1."""

    @wp.func_native(native_code(scalar, _FINISH))
    def finish_factor(space: scratch, slot: int, n: int) -> int:
        """Transpose, and invert the triangles on the diagonal."""

    @wp.func_native(native_code(scalar, _SOLVE))
    def solve(space: scratch, slot: int, n: int) -> int:
        """Solve with the factors; ``right`` becomes the solution."""

    @wp.func_native(native_code(scalar, _MULTIPLY))
    def multiply(space: scratch, slot: int, n: int, vector: int) -> int:
        """``velocity`` = A x + q for the vector of that number."""

    @wp.func_native(native_code(scalar, _SUBSTITUTE))
    def substitute(space: scratch, slot: int, n: int, m: int) -> int:
        """``step`` from what :func:`eliminate` has left of the Jacobian."""

    @wp.func
    def factor(space: scratch, slot: int, n: int, shift: scalar):
        begin_factor(space, slot, n, shift)
        least = eliminate(space, slot, n, n, 0)
        finish_factor(space, slot, n)
        return least

    return Dense(eliminate, factor, solve, multiply, substitute)
