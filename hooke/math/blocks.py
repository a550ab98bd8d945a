"""Elimination in a symmetric matrix of 6x6 blocks, one block column at a time: LDLt with pivots of a given sign.

For the diagonal block D of a column, its right side b and its blocks B_i below (row i),

    D = s L P L^T,     Z_i = L^-1 B_i^T,     z = L^-1 b,     W_i = L^-T P^-1 Z_i,     y = L^-T P^-1 z,                (1)
    b_i -= s Z_i^T P^-1 z,     A_ij -= s Z_i^T P^-1 Z_j,     and later     x = s (y - sum_i W_i x_i)                  (2)

with the sign s of the column and positive pivots P. In a quasi-definite matrix ([H J^T; J -C] with H and C positive definite) every
pivot of H is positive and every one of C negative in any order of columns (Vanderbei 1995); where both couple with each other only, as
in a tree, (2) adds positive matrices alone. A pivot that rounding has made smaller than 1e-7 of the diagonal it came from is set to
that: the direction it stands for moves little.

A block is six rows of eight numbers, one register of a CPU each. Of a diagonal block they hold s D and in number 6 the right side
b; of a block below the transpose of B_i, later Z_i; of a scaled one W_i, with y in number 6 of the first of a column. A column with one
block has no use for Z_i any more, and leaves W_i in its place. What else is in numbers 6 and 7 is not used.
"""

import warp as wp

__all__ = [
    "Rows", "add_beside", "add_point_block", "add_to_block", "clear_block", "copy_block", "eliminate_column", "solve_block", "store_block",
    "store_diagonal", "store_inertia", "substitute_back",
]  # fmt: skip

Rows = wp.types.matrix(shape=(6, 8), dtype=wp.float32)
"""A 6x6 block and six numbers beside it."""

# Clang's vectors stay in registers; CUDA has the same operators on an array.
_LANES = """
#if defined(__CUDA_ARCH__) || defined(__CUDACC__)
    struct lanes_t {
        float v[8];
        CUDA_CALLABLE lanes_t() {}
        CUDA_CALLABLE lanes_t(float s) { for (int l = 0; l < 8; l++) v[l] = s; }
        CUDA_CALLABLE lanes_t(float a, float b, float c, float d, float e, float f, float g, float h) {
            v[0] = a; v[1] = b; v[2] = c; v[3] = d; v[4] = e; v[5] = f; v[6] = g; v[7] = h;
        }
        CUDA_CALLABLE float& operator[](int l) { return v[l]; }
        CUDA_CALLABLE float operator[](int l) const { return v[l]; }
        CUDA_CALLABLE lanes_t operator+(const lanes_t& o) const {
            lanes_t r;
            for (int l = 0; l < 8; l++) r.v[l] = v[l] + o.v[l];
            return r;
        }
        CUDA_CALLABLE lanes_t operator-(const lanes_t& o) const {
            lanes_t r;
            for (int l = 0; l < 8; l++) r.v[l] = v[l] - o.v[l];
            return r;
        }
        CUDA_CALLABLE lanes_t operator*(const lanes_t& o) const {
            lanes_t r;
            for (int l = 0; l < 8; l++) r.v[l] = v[l] * o.v[l];
            return r;
        }
    };
    typedef lanes_t loose_t;
#else
    typedef float lanes_t __attribute__((ext_vector_type(8)));
    typedef float loose_t __attribute__((ext_vector_type(8), aligned(4)));
#endif
#define EACH(i, from, to) _Pragma("unroll") for (int i = from; i < to; i++)
    typedef wp::mat_t<6, 8, float> rows_t;
    auto load = [](const rows_t& rows, int i) -> lanes_t { return *reinterpret_cast<const loose_t*>(&rows.data[i][0]); };
    auto store = [](rows_t& rows, int i, const lanes_t& v) { *reinterpret_cast<loose_t*>(&rows.data[i][0]) = v; };
"""

# a: rows of a positive definite block, which become P L^T; factor: L^T; inverse: of P. Pivots come in pairs, p and (p r - q^2) / p: a
# division takes as long as all else between two pivots, and those of a pair do not wait for each other.
_FACTOR = """
    float least[6], inverse[6];
    lanes_t factor[6];
    EACH(k, 0, 6) least[k] = 1.0e-7f * wp::abs(a[k][k]) + 1.0e-30f;
    EACH(h, 0, 3) {
        const int k = 2 * h;
        float p = a[k][k] > least[k] ? a[k][k] : least[k], q = a[k][k + 1], r = a[k + 1][k + 1], area = p * r - q * q;
        inverse[k] = 1.0f / p;
        if (__builtin_expect(area > 1.0e-30f && area < 1.0e30f, 1)) {
            inverse[k + 1] = p / (area > p * least[k + 1] ? area : p * least[k + 1]);
        } else {  // what does not depend on the units
            float pivot = r - q * (q / p);
            inverse[k + 1] = 1.0f / (pivot > least[k + 1] ? pivot : least[k + 1]);
        }
        factor[k] = a[k] * inverse[k];
        EACH(i, k + 1, 6) a[i] = a[i] - a[k] * factor[k][i];
        factor[k + 1] = a[k + 1] * inverse[k + 1];
        EACH(i, k + 2, 6) a[i] = a[i] - a[k + 1] * factor[k + 1][i];
    }
    auto forward = [&](lanes_t* z) {
        EACH(k, 0, 6) EACH(i, k + 1, 6) z[i] = z[i] - z[k] * factor[k][i];
    };
    auto backward = [&](lanes_t* w) {
        EACH(j, 0, 5) EACH(i, 0, j + 1) w[4 - j] = w[4 - j] - w[5 - i] * factor[4 - j][5 - i];  // what is known last comes last
    };
"""

_ELIMINATE = f"""
    {_LANES}
    lanes_t a[6];
    EACH(i, 0, 6) a[i] = load(diagonal.data[n], i);
    float sign = side.data[n] < 0 ? -1.0f : 1.0f;
    {_FACTOR}
    int pair = pairs;
    for (int e = first; e < last; e++) {{
        lanes_t z[6], w[6];
        EACH(i, 0, 6) z[i] = load(lower.data[e], i);
        forward(z);
        EACH(i, 0, 6) {{
            z[i][6] = a[i][6];
            w[i] = z[i] * inverse[i];
        }}
        for (int f = first; f < e; f++) {{
            auto& to = lower.data[target.data[pair++]];
            EACH(r, 0, 6) {{
                lanes_t sum = w[0] * lower.data[f].data[0][r];
                EACH(k, 1, 6) sum = sum + w[k] * lower.data[f].data[k][r];
                store(to, r, load(to, r) - sum * sign);
            }}
        }}
        if (last - first > 1) EACH(i, 0, 6) store(lower.data[e], i, z[i]);
        auto& to = diagonal.data[row.data[e]];
        lanes_t gain = (lanes_t)(side.data[row.data[e]] < 0 ? sign : -sign);
        gain[6] = -sign;
        EACH(r, 0, 6) {{
            lanes_t sum = w[0] * z[0][r];
            EACH(k, 1, 6) sum = sum + w[k] * z[k][r];
            store(to, r, load(to, r) + sum * gain);
        }}
        backward(w);
        auto& kept = last - first > 1 ? scaled.data[e] : lower.data[e];  // the fewer lines of memory, the better
        EACH(i, 0, 6) store(kept, i, w[i]);
    }}
    if (first == last) {{
        lanes_t x[6];
        EACH(i, 0, 6) x[i] = a[i] * inverse[i];
        backward(x);
        EACH(i, 0, 6) solution.data[n].c[i] = sign * x[i][6];
    }}
    return 0;
"""

_BACK = f"""
    {_LANES}
    if (first == last) return 0;
    float x[6];
    auto kept = last - first > 1 ? scaled.data : lower.data;
    EACH(i, 0, 6) x[i] = kept[first].data[i][6];
    for (int e = first; e < last; e++) {{
        auto& w = kept[e];
        auto& other = solution.data[row.data[e]];
        EACH(k, 0, 6) {{
            float o = other.c[k];
            EACH(i, 0, 6) x[i] -= w.data[i][k] * o;
        }}
    }}
    EACH(i, 0, 6) solution.data[n].c[i] = side.data[n] < 0 ? -x[i] : x[i];
    return 0;
"""


@wp.func_native(_ELIMINATE)
def eliminate_column(
    n: int,
    first: int,
    last: int,
    pairs: int,
    row: wp.array(dtype=wp.int32),
    target: wp.array(dtype=wp.int32),
    side: wp.array(dtype=wp.int32),
    diagonal: wp.array(dtype=Rows),
    lower: wp.array(dtype=Rows),
    scaled: wp.array(dtype=Rows),
    solution: wp.array(dtype=wp.spatial_vector),
) -> int:
    """(1) and (2) for column ``n``, whose blocks are ``first ... last`` of ``lower`` in the rows ``row``, by increasing row.

    ``target`` holds, from ``pairs`` on, which block A_ij is, for i after j in the order of the blocks. ``side`` is negative for columns
    of negative pivots. A column without blocks is solved at once.
    """


@wp.func_native(_BACK)
def substitute_back(
    n: int,
    first: int,
    last: int,
    row: wp.array(dtype=wp.int32),
    side: wp.array(dtype=wp.int32),
    lower: wp.array(dtype=Rows),
    scaled: wp.array(dtype=Rows),
    solution: wp.array(dtype=wp.spatial_vector),
) -> int:
    """The last part of (2): ``solution[n]`` becomes x."""


@wp.func_native(f"""
    {_LANES}
    lanes_t a[6];
    EACH(i, 0, 6) EACH(k, 0, 6) a[i][k] = m.data[i][k];
    EACH(i, 0, 6) a[i][6] = b.c[i];
    {_FACTOR}
    EACH(i, 0, 6) a[i] = a[i] * inverse[i];
    EACH(j, 0, 5) EACH(i, 5 - j, 6) a[4 - j][6] = a[4 - j][6] - a[4 - j][i] * a[i][6];
    wp::vec_t<6, float> x;
    EACH(i, 0, 6) x.c[i] = a[i][6];
    return x;
""")
def solve_block(m: wp.spatial_matrix, b: wp.spatial_vector) -> wp.spatial_vector:
    """The solution of m x = b for a positive definite m."""


@wp.func_native("""
    auto& to = blocks.data[n];
    for (int i = 0; i < 6; i++) {
        for (int k = 0; k < 6; k++) to.data[i][k] = m.data[i][k];
        to.data[i][6] = b.c[i];
    }
    return 0;
""")
def store_block(n: int, m: wp.spatial_matrix, b: wp.spatial_vector, blocks: wp.array(dtype=Rows)) -> int:
    """Write a block and the six numbers beside it."""


@wp.func_native("""
    auto& to = blocks.data[n];
    for (int i = 0; i < 6; i++) {
        for (int k = 0; k < 8; k++) to.data[i][k] = 0.0f;
        to.data[i][6] = b.c[i];
    }
    for (int i = 0; i < 3; i++) {
        to.data[i][i] = m;
        for (int k = 0; k < 3; k++) to.data[3 + i][3 + k] = inertia.data[i][k];
    }
    return 0;
""")
def store_inertia(n: int, m: float, inertia: wp.mat33, b: wp.spatial_vector, blocks: wp.array(dtype=Rows)) -> int:
    """Write a block of a mass and an inertia, and the six numbers beside it."""


@wp.func_native("""
    for (int i = 0; i < 6; i++) blocks.data[n].data[i][6] += b.c[i];
    return 0;
""")
def add_beside(n: int, b: wp.spatial_vector, blocks: wp.array(dtype=Rows)) -> int:
    """Add to the six numbers beside a block."""


# K is across I plus what it is more along n, and along t if it slides. J^T n = (n, a x n).
_POINT = f"""
    {_LANES}
    auto& to = blocks.data[at];
    float a0 = a.c[0], a1 = a.c[1], a2 = a.c[2], b0 = b.c[0], b1 = b.c[1], b2 = b.c[2];
    float n0 = n.c[0], n1 = n.c[1], n2 = n.c[2], across = k.c[1], more = k.c[0] - across;
    lanes_t e0 = lanes_t{{across, 0.0f, 0.0f, 0.0f, across * b2, -across * b1, 0.0f, 0.0f}};
    lanes_t e1 = lanes_t{{0.0f, across, 0.0f, -across * b2, 0.0f, across * b0, 0.0f, 0.0f}};
    lanes_t e2 = lanes_t{{0.0f, 0.0f, across, across * b1, -across * b0, 0.0f, 0.0f, 0.0f}};
    lanes_t row = lanes_t{{n0, n1, n2, b1 * n2 - b2 * n1, b2 * n0 - b0 * n2, b0 * n1 - b1 * n0, 0.0f, 0.0f}} * more;
    lanes_t sum[6];
    sum[0] = e0 + row * n0;
    sum[1] = e1 + row * n1;
    sum[2] = e2 + row * n2;
    sum[3] = e2 * a1 - e1 * a2 + row * (a1 * n2 - a2 * n1);
    sum[4] = e0 * a2 - e2 * a0 + row * (a2 * n0 - a0 * n2);
    sum[5] = e1 * a0 - e0 * a1 + row * (a0 * n1 - a1 * n0);
    if (k.c[2] != across) {{
        float t0 = t.c[0], t1 = t.c[1], t2 = t.c[2], less = k.c[2] - across;
        row = lanes_t{{t0, t1, t2, b1 * t2 - b2 * t1, b2 * t0 - b0 * t2, b0 * t1 - b1 * t0, 0.0f, 0.0f}} * less;
        sum[0] = sum[0] + row * t0;
        sum[1] = sum[1] + row * t1;
        sum[2] = sum[2] + row * t2;
        sum[3] = sum[3] + row * (a1 * t2 - a2 * t1);
        sum[4] = sum[4] + row * (a2 * t0 - a0 * t2);
        sum[5] = sum[5] + row * (a0 * t1 - a1 * t0);
    }}
    EACH(i, 0, 6) store(to, i, load(to, i) + sum[i] * scale);
    return 0;
"""


@wp.func_native(_POINT)
def add_point_block(
    at: int, scale: float, a: wp.vec3, b: wp.vec3, n: wp.vec3, t: wp.vec3, k: wp.vec3, blocks: wp.array(dtype=Rows)
) -> int:
    """Add scale J_a^T K J_b to a block, where J v = v_linear + v_angular x r at the levers a and b, and K is k[0] along the unit vector n,
    k[2] along the unit vector t across it, and k[1] across both.

    ``t`` may be anything where k[2] = k[1].
    """


@wp.func_native("""
    auto& to = blocks.data[n];
    for (int i = 0; i < 6; i++) for (int k = 0; k < 6; k++) to.data[i][k] += m.data[i][k];
    return 0;
""")
def add_to_block(n: int, m: wp.spatial_matrix, blocks: wp.array(dtype=Rows)) -> int:
    """Add to a block."""


@wp.func_native("""
    auto& to = blocks.data[n];
    for (int i = 0; i < 6; i++) {
        for (int k = 0; k < 8; k++) to.data[i][k] = 0.0f;
        to.data[i][i] = d.data[j].c[i];
        to.data[i][6] = -b.data[j].c[i];
    }
    return 0;
""")
def store_diagonal(
    n: int, j: int, d: wp.array(dtype=wp.spatial_vector), b: wp.array(dtype=wp.spatial_vector), blocks: wp.array(dtype=Rows)
) -> int:
    """Write the equations -d x = -b, those of a column of negative pivots."""


@wp.func_native("""
    auto& to = blocks.data[n];
    auto& from = m.data[j];
    if (transposed) {
        for (int i = 0; i < 6; i++) for (int k = 0; k < 6; k++) to.data[i][k] = from.data[k][i];
    } else {
        to = from;
    }
    return 0;
""")
def copy_block(n: int, j: int, transposed: bool, m: wp.array(dtype=Rows), blocks: wp.array(dtype=Rows)) -> int:
    """Write block ``j`` of others, or its transpose."""


@wp.func_native("""
    for (int i = 0; i < 6; i++) for (int k = 0; k < 8; k++) blocks.data[n].data[i][k] = 0.0f;
    return 0;
""")
def clear_block(n: int, blocks: wp.array(dtype=Rows)) -> int:
    """Write zeros."""
