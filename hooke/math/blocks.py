"""Elimination in a symmetric matrix of 6x6 blocks, one block column at a time: LDLt with pivots of a given sign.

For the diagonal block D of a column and its blocks B_i below (row i),

    W_i = D^-1 B_i^T,     y = D^-1 b,     b_i -= B_i y,     A_ij -= B_i W_j,     and later  x = y - sum_i W_i x_i.      (1)

In a quasi-definite matrix ([H J^T; J -C] with H and C positive definite) every pivot of H is positive and every one of C negative in
any order of columns (Vanderbei 1995). A pivot that rounding has made smaller than 1e-7 of the diagonal it came from is set to that:
the direction it stands for moves little.
"""

import warp as wp

__all__ = ["eliminate_column", "substitute_back"]

_ELIMINATE = """
    float m[6][6], d[6];
    auto& source = diagonal.data[n];
    for (int i = 0; i < 6; i++) for (int k = 0; k < 6; k++) m[i][k] = source.data[i][k];
    for (int i = 0; i < 6; i++) {
        float whole = m[i][i] < 0.0f ? -m[i][i] : m[i][i];
        for (int k = 0; k < i; k++) {
            float v = m[i][k];
            for (int l = 0; l < k; l++) v -= m[i][l] * d[l] * m[k][l];
            m[i][k] = v / d[k];
        }
        float v = m[i][i];
        for (int l = 0; l < i; l++) v -= m[i][l] * m[i][l] * d[l];
        float least = 1.0e-7f * whole + 1.0e-30f;
        d[i] = sign * v > least ? v : sign * least;
    }
    auto solve = [&](float* x) {
        for (int i = 1; i < 6; i++) for (int k = 0; k < i; k++) x[i] -= m[i][k] * x[k];
        for (int i = 0; i < 6; i++) x[i] /= d[i];
        for (int i = 4; i >= 0; i--) for (int k = i + 1; k < 6; k++) x[i] -= m[k][i] * x[k];
    };
    float y[6];
    for (int i = 0; i < 6; i++) y[i] = right.data[n].c[i];
    solve(y);
    for (int i = 0; i < 6; i++) right.data[n].c[i] = y[i];
    int pair = pairs;
    for (int e = first; e < last; e++) {
        auto& b = lower.data[e];
        auto& w = scaled.data[e];
        for (int r = 0; r < 6; r++) {
            float x[6];
            for (int i = 0; i < 6; i++) x[i] = b.data[r][i];
            solve(x);
            for (int i = 0; i < 6; i++) w.data[i][r] = x[i];
        }
        auto& other = right.data[row.data[e]];
        for (int i = 0; i < 6; i++) for (int k = 0; k < 6; k++) other.c[i] -= b.data[i][k] * y[k];
        for (int f = first; f <= e; f++) {
            auto& from = scaled.data[f];
            auto& to = f == e ? diagonal.data[row.data[e]] : lower.data[target.data[pair++]];
            for (int i = 0; i < 6; i++)
                for (int k = 0; k < 6; k++) {
                    float v = 0.0f;
                    for (int l = 0; l < 6; l++) v += b.data[i][l] * from.data[l][k];
                    to.data[i][k] -= v;
                }
        }
    }
    return 0;
"""

_BACK = """
    auto& x = right.data[n];
    for (int e = first; e < last; e++) {
        auto& w = scaled.data[e];
        auto& other = right.data[row.data[e]];
        for (int i = 0; i < 6; i++) for (int k = 0; k < 6; k++) x.c[i] -= w.data[i][k] * other.c[k];
    }
    return 0;
"""


@wp.func_native(_ELIMINATE)
def eliminate_column(
    n: int,
    sign: wp.float32,
    first: int,
    last: int,
    pairs: int,
    row: wp.array(dtype=wp.int32),
    target: wp.array(dtype=wp.int32),
    diagonal: wp.array(dtype=wp.spatial_matrix),
    right: wp.array(dtype=wp.spatial_vector),
    lower: wp.array(dtype=wp.spatial_matrix),
    scaled: wp.array(dtype=wp.spatial_matrix),
) -> int:
    """(1) for column ``n``, whose blocks are ``first ... last`` of ``lower`` in the rows ``row``, by increasing row.

    ``target`` holds, from ``pairs`` on, which block A_ij is, for i after j in the order of the blocks. ``right`` receives y.
    """


@wp.func_native(_BACK)
def substitute_back(
    n: int,
    first: int,
    last: int,
    row: wp.array(dtype=wp.int32),
    scaled: wp.array(dtype=wp.spatial_matrix),
    right: wp.array(dtype=wp.spatial_vector),
) -> int:
    """The last part of (1): ``right[n]`` becomes x."""
