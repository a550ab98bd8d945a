"""L D L^T of symmetric matrices of 6x6 blocks with pivots of known signs, and substitution for one right side or eight at once.

For the diagonal block D_n of a place, with pivots of sign s, and its blocks B_i below (row i),

    D_n = L (s P) L^T,     Z_i = L^-1 B_i^T,     A_ij -= Z_i^T (s P)^-1 Z_j,     G_i = D_n^-1 B_i^T,                  (1)
    forwards   b_i -= G_i^T b_n,     x_n = D_n^-1 b_n,     backwards   x_n -= sum_i G_i x_i.                         (2)

In a quasi-definite matrix ([H J^T; J -C] with H and C positive definite) the pivots of H are positive and those of -C negative in any
order (Vanderbei, Symmetric quasidefinite matrices, SIAM J. Optim. 5, 1995). A pivot that rounding has made smaller than its least part
of the diagonal it came from is set to that.

A block is six rows of eight numbers, a register of a CPU each if they are double. Before the elimination a diagonal block is D_n and one
below the transpose of B_i; afterwards they are L^T with (s P)^-1 on the diagonal, and G_i. Numbers 6 and 7 of a row are not used.
"""

from functools import cache
from types import SimpleNamespace
from typing import Any

import warp as wp

from hooke.linalg.elimination import Patterns

__all__ = ["make_block_ldl", "make_row", "make_rows"]


@cache
def make_rows(scalar: Any) -> Any:
    """The type of six rows of eight numbers."""
    return wp.types.matrix(shape=(6, 8), dtype=scalar)


@cache
def make_row(scalar: Any) -> Any:
    """The type of a row of eight numbers."""
    return wp.types.vector(length=8, dtype=scalar)


# Clang's vectors stay in registers; CUDA has the same operators on an array.
_LANES = """
    typedef SCALAR number_t;
#if defined(__CUDA_ARCH__) || defined(__CUDACC__)
    struct lanes_t {
        number_t v[8];
        CUDA_CALLABLE lanes_t() {}
        CUDA_CALLABLE lanes_t(number_t s) { for (int l = 0; l < 8; l++) v[l] = s; }
        CUDA_CALLABLE number_t& operator[](int l) { return v[l]; }
        CUDA_CALLABLE number_t operator[](int l) const { return v[l]; }
        CUDA_CALLABLE lanes_t operator-(const lanes_t& o) const {
            lanes_t r;
            for (int l = 0; l < 8; l++) r.v[l] = v[l] - o.v[l];
            return r;
        }
        CUDA_CALLABLE lanes_t operator+(const lanes_t& o) const {
            lanes_t r;
            for (int l = 0; l < 8; l++) r.v[l] = v[l] + o.v[l];
            return r;
        }
        CUDA_CALLABLE lanes_t operator*(number_t s) const {
            lanes_t r;
            for (int l = 0; l < 8; l++) r.v[l] = v[l] * s;
            return r;
        }
    };
    typedef lanes_t loose_t;
#else
    typedef number_t lanes_t __attribute__((ext_vector_type(8)));
    typedef number_t loose_t __attribute__((ext_vector_type(8), aligned(4)));
#endif
#define EACH(i, from, to) _Pragma("unroll") for (int i = from; i < to; i++)
    auto load = [](const number_t* from) -> lanes_t { return *reinterpret_cast<const loose_t*>(from); };
    auto store = [](number_t* to, const lanes_t& v) { *reinterpret_cast<loose_t*>(to) = v; };
"""

_MATRIX = """
    const int k = patterns.kind.data[m], count = patterns.size.data[k], origin = patterns.block.data[m];
    const int start = patterns.node.data[m];
    const int* column = patterns.column.data + patterns.of_column.data[k];
    const int* row = patterns.row.data + patterns.of_block.data[k];
"""

_FACTOR = """
    const int* side = patterns.side.data + patterns.of_place.data[k];
    const int* pair = patterns.pair.data + patterns.of_column.data[k];
    const int* target = patterns.target.data + patterns.of_target.data[k];
    for (int n = 0; n < count; n++) {
        auto& diagonal_block = diagonal.data[start + n];
        const number_t sign = side[n] < 0 ? (number_t)-1 : (number_t)1;
        lanes_t a[6], factor[6];
        number_t inverse[6], least[6];
        EACH(i, 0, 6) a[i] = load(&diagonal_block.data[i][0]) * sign;
        EACH(i, 0, 6) least[i] = LEAST * wp::abs(a[i][i]) + TINY;
        EACH(h, 0, 6) {
            const number_t pivot = a[h][h] > least[h] ? a[h][h] : least[h];
            inverse[h] = (number_t)1 / pivot;
            factor[h] = a[h] * inverse[h];
            EACH(i, h + 1, 6) a[i] = a[i] - a[h] * factor[h][i];
            inverse[h] *= sign;
        }
        const int first = column[n], last = column[n + 1];
        for (int e = first; e < last; e++) {
            auto& block = lower.data[origin + e];
            lanes_t z[6];
            EACH(i, 0, 6) z[i] = load(&block.data[i][0]);
            EACH(h, 0, 6) EACH(i, h + 1, 6) z[i] = z[i] - z[h] * factor[h][i];
            EACH(i, 0, 6) store(&block.data[i][0], z[i]);
        }
        int next = pair[n];
        for (int e = first; e < last; e++) {
            auto& block = lower.data[origin + e];
            lanes_t z[6], w[6];
            EACH(i, 0, 6) z[i] = load(&block.data[i][0]);
            EACH(i, 0, 6) w[i] = z[i] * inverse[i];
            for (int f = first; f < e; f++) {
                auto& to = lower.data[origin + target[next++]];
                auto& other = lower.data[origin + f];
                EACH(r, 0, 6) {
                    lanes_t sum = w[0] * other.data[0][r];
                    EACH(h, 1, 6) sum = sum + w[h] * other.data[h][r];
                    store(&to.data[r][0], load(&to.data[r][0]) - sum);
                }
            }
            auto& to = diagonal.data[start + row[e]];
            EACH(r, 0, 6) {
                lanes_t sum = w[0] * z[0][r];
                EACH(h, 1, 6) sum = sum + w[h] * z[h][r];
                store(&to.data[r][0], load(&to.data[r][0]) - sum);
            }
        }
        for (int e = first; e < last; e++) {
            auto& block = lower.data[origin + e];
            lanes_t w[6];
            EACH(i, 0, 6) w[i] = load(&block.data[i][0]) * inverse[i];
            EACH(j, 0, 5) EACH(i, 0, j + 1) w[4 - j] = w[4 - j] - w[5 - i] * factor[4 - j][5 - i];
            EACH(i, 0, 6) store(&block.data[i][0], w[i]);
        }
        EACH(i, 0, 6) {
            factor[i][i] = inverse[i];
            store(&diagonal_block.data[i][0], factor[i]);
        }
    }
    return 0;
"""

_SOLVE = """
    for (int n = 0; n < count; n++) {
        auto& own = x.data[start + n];
        number_t b[6];
        EACH(i, 0, 6) b[i] = own.c[i];
        for (int e = column[n]; e < column[n + 1]; e++) {
            auto& block = lower.data[origin + e];
            auto& other = x.data[start + row[e]];
            lanes_t sum = load(&block.data[0][0]) * b[0];
            EACH(i, 1, 6) sum = sum + load(&block.data[i][0]) * b[i];
            store(&other.c[0], load(&other.c[0]) - sum);
        }
        auto& f = diagonal.data[start + n];
        EACH(h, 0, 6) EACH(i, h + 1, 6) b[i] -= b[h] * f.data[h][i];
        EACH(i, 0, 6) b[i] *= f.data[i][i];
        EACH(j, 0, 5) EACH(i, 0, j + 1) b[4 - j] -= b[5 - i] * f.data[4 - j][5 - i];
        EACH(i, 0, 6) own.c[i] = b[i];
    }
    for (int n = count - 1; n >= 0; n--) {
        auto& own = x.data[start + n];
        number_t b[6];
        EACH(i, 0, 6) b[i] = own.c[i];
        for (int e = column[n]; e < column[n + 1]; e++) {
            auto& block = lower.data[origin + e];
            auto& other = x.data[start + row[e]];
            EACH(i, 0, 6) EACH(c, 0, 6) b[i] -= block.data[i][c] * other.c[c];
        }
        EACH(i, 0, 6) own.c[i] = b[i];
    }
    return 0;
"""

_SOLVE_EIGHT = """
    const int* const nodes = order.data + first;
    for (int k = 0; k < number; k++) {
        const int n = nodes[k];
        auto& own = x.data[place + n];
        lanes_t b[6];
        EACH(i, 0, 6) b[i] = load(&own.data[i][0]);
        for (int e = column[n]; e < column[n + 1]; e++) {
            auto& block = lower.data[origin + e];
            auto& other = x.data[place + row[e]];
            EACH(c, 0, 6) {
                lanes_t sum = b[0] * block.data[0][c];
                EACH(i, 1, 6) sum = sum + b[i] * block.data[i][c];
                store(&other.data[c][0], load(&other.data[c][0]) - sum);
            }
        }
        auto& f = diagonal.data[start + n];
        EACH(h, 0, 6) EACH(i, h + 1, 6) b[i] = b[i] - b[h] * f.data[h][i];
        EACH(i, 0, 6) b[i] = b[i] * f.data[i][i];
        EACH(j, 0, 5) EACH(i, 0, j + 1) b[4 - j] = b[4 - j] - b[5 - i] * f.data[4 - j][5 - i];
        EACH(i, 0, 6) store(&own.data[i][0], b[i]);
    }
    for (int k = number - 1; k >= 0; k--) {
        const int n = nodes[k];
        auto& own = x.data[place + n];
        lanes_t b[6];
        EACH(i, 0, 6) b[i] = load(&own.data[i][0]);
        for (int e = column[n]; e < column[n + 1]; e++) {
            auto& block = lower.data[origin + e];
            auto& other = x.data[place + row[e]];
            EACH(c, 0, 6) {
                lanes_t o = load(&other.data[c][0]);
                EACH(i, 0, 6) b[i] = b[i] - o * block.data[i][c];
            }
        }
        EACH(i, 0, 6) store(&own.data[i][0], b[i]);
    }
    return 0;
"""

_STORE_BLOCK = """
    auto& to = lower.data[origin + block / 2];
    auto& from = rates.data[j];
    if (block % 2) {
        EACH(i, 0, 6) EACH(c, 0, 6) to.data[c][i] = held.data[j].c[i] * from.data[i][c];
    } else {
        EACH(i, 0, 6) store(&to.data[i][0], load(&from.data[i][0]) * held.data[j].c[i]);
    }
    return 0;
"""

_STORE_INERTIA = """
    auto& to = diagonal.data[n];
    EACH(i, 0, 6) EACH(c, 0, 8) to.data[i][c] = 0;
    EACH(i, 0, 3) to.data[i][i] = mass.data[b];
    EACH(i, 0, 3) EACH(c, 0, 3) to.data[3 + i][3 + c] = inertia.data[b].data[i][c];
    return 0;
"""

_STORE_COMPLIANCE = """
    auto& to = diagonal.data[n];
    EACH(i, 0, 6) EACH(c, 0, 8) to.data[i][c] = i == c ? -compliance.data[j].c[i] : (number_t)0;
    return 0;
"""

_RATES = """
    wp::vec_t<8, number_t> result;
    auto& from = rates.data[j];
    EACH(i, 0, 6) {
        number_t sum = from.data[i][0] * x.c[0];
        EACH(c, 1, 6) sum += from.data[i][c] * x.c[c];
        result.c[i] = sum;
    }
    return result;
"""

_WRENCH = """
    wp::vec_t<8, number_t> result;
    auto& from = rates.data[j];
    lanes_t sum = load(&from.data[0][0]) * y.c[0];
    EACH(i, 1, 6) sum = sum + load(&from.data[i][0]) * y.c[i];
    store(&result.c[0], sum);
    return result;
"""

_MOMENTUM = """
    wp::vec_t<8, number_t> result;
    auto& u = x.data[n];
    EACH(i, 0, 3) {
        result.c[i] = mass.data[b] * u.c[i];
        number_t sum = 0;
        EACH(c, 0, 3) sum += inertia.data[b].data[i][c] * u.c[3 + c];
        result.c[3 + i] = sum;
    }
    return result;
"""

_ROW = """
    wp::vec_t<8, number_t> result;
    store(&result.c[0], load(&rates.data[j].data[i][0]));
    return result;
"""

_PUT_COLUMN = """
    EACH(c, 0, 6) x.data[n].data[c][lane] += rates.data[at].c[c];
    return 0;
"""

_PRODUCTS = """
    lanes_t sum = (lanes_t)((number_t)0);
    if (first >= 0) EACH(c, 0, 6) sum = sum + load(&x.data[first].data[c][0]) * of_first.data[at].c[c];
    if (second >= 0) EACH(c, 0, 6) sum = sum + load(&x.data[second].data[c][0]) * of_second.data[at].c[c];
    store(&to.data[entry], sum);
    return 0;
"""

_NUMBERS = {wp.float64: ("double", "1.0e-14", "1.0e-300"), wp.float32: ("float", "1.0e-6f", "1.0e-30f")}


@cache
def make_block_ldl(scalar: Any) -> SimpleNamespace:
    """The functions over a type of numbers, wp.float64 or wp.float32.

    Returns:
        ``factor(m, patterns, diagonal, lower)`` eliminates matrix m in place; with what it leaves, ``solve(m, patterns, diagonal,
        lower, x)`` turns right sides into solutions, a row for a node, and ``solve_eight(m, place, patterns, diagonal, lower, x)`` eight
        of them, six rows for a node, the first of which is ``place``. The others write and multiply blocks.
    """
    name, least, tiny = _NUMBERS[scalar]
    rows, row = make_rows(scalar), make_row(scalar)

    def code(text: str) -> str:
        return (_LANES + text).replace("SCALAR", name).replace("LEAST", least).replace("TINY", tiny)

    @wp.func_native(code(_MATRIX + _FACTOR))
    def factor_blocks(m: int, patterns: Patterns, diagonal: wp.array(dtype=rows), lower: wp.array(dtype=rows)) -> int:
        """(1)."""

    @wp.func_native(code(_MATRIX + _SOLVE))
    def solve_blocks(
        m: int, patterns: Patterns, diagonal: wp.array(dtype=rows), lower: wp.array(dtype=rows), x: wp.array(dtype=row)
    ) -> int:
        """(2)."""

    @wp.func_native(code(_MATRIX + _SOLVE_EIGHT))
    def solve_eight(
        m: int, place: int, first: int, number: int, order: wp.array(dtype=wp.int32), patterns: Patterns, diagonal: wp.array(dtype=rows),
        lower: wp.array(dtype=rows), x: wp.array(dtype=rows),
    ) -> int:  # fmt: skip
        """(2) for eight right sides, of the nodes ``order[first]`` ..., which no other node is coupled with, in ascending order."""

    mat33 = wp.types.matrix(shape=(3, 3), dtype=scalar)

    @wp.func_native(code(_STORE_BLOCK))
    def store_block(
        origin: int, block: int, j: int, rates: wp.array(dtype=rows), held: wp.array(dtype=row), lower: wp.array(dtype=rows)
    ) -> int:
        """Write rates j, those of rows that are held: half of ``block`` after ``origin``, transposed if it is odd."""

    @wp.func_native(code(_STORE_INERTIA))
    def store_inertia(
        n: int, b: int, mass: wp.array(dtype=scalar), inertia: wp.array(dtype=mat33), diagonal: wp.array(dtype=rows)
    ) -> int:
        """Write mass and inertia b."""

    @wp.func_native(code(_STORE_COMPLIANCE))
    def store_compliance(n: int, j: int, compliance: wp.array(dtype=row), diagonal: wp.array(dtype=rows)) -> int:
        """Write compliances j, with the other sign."""

    @wp.func_native(code(_RATES))
    def rates_of(j: int, rates: wp.array(dtype=rows), x: row) -> row:
        """J x."""

    @wp.func_native(code(_WRENCH))
    def wrench_of(j: int, rates: wp.array(dtype=rows), y: row) -> row:
        """J^T y."""

    @wp.func_native(code(_MOMENTUM))
    def momentum_of(n: int, b: int, mass: wp.array(dtype=scalar), inertia: wp.array(dtype=mat33), x: wp.array(dtype=row)) -> row:
        """M u of body b, for the twist n."""

    @wp.func_native(code(_ROW))
    def row_at(j: int, i: int, rates: wp.array(dtype=rows)) -> row:
        """Row i of rates j."""

    @wp.func_native(code(_PUT_COLUMN))
    def put_column(n: int, lane: int, at: int, rates: wp.array(dtype=row), x: wp.array(dtype=rows)) -> int:
        """Add a row's rates to a node of right side number ``lane``."""

    @wp.func_native(code(_PRODUCTS))
    def store_products(
        entry: int, first: int, second: int, at: int, of_first: wp.array(dtype=row), of_second: wp.array(dtype=row),
        x: wp.array(dtype=rows), to: wp.array(dtype=scalar),
    ) -> int:  # fmt: skip
        """Write the products of a row's rates with eight solutions, from number ``entry`` on; ``first`` and ``second`` are its nodes."""

    return SimpleNamespace(
        factor=factor_blocks, solve=solve_blocks, solve_eight=solve_eight, store_block=store_block, store_inertia=store_inertia,
        store_compliance=store_compliance, rates_of=rates_of, wrench_of=wrench_of, momentum_of=momentum_of,
        row_at=row_at, put_column=put_column, store_products=store_products,
    )  # fmt: skip
