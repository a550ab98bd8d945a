"""The working memory of the solve of one problem, and the C++ that all its native functions begin with.

Inside, the rows of a problem are in another order: first those of one number, then the first tangents of all contacts, their second
tangents, their normals. So what is done to a contact is done to eight contacts in three registers. Numbers are scaled: with
p_i = 1 / sqrt(S_ii), of a contact the least of its three,

    x = l / p,     z = p v,     A = p S p,     q = p v_f,     low / p,     high / p                                   (1)

A processor's worker, or a thread of CUDA, has a slot for the problem it is at.
"""

from functools import cache
from typing import Any

import warp as wp

from hooke.solvers.kamino.ncp.problem import PAD

__all__ = ["NO_BOUND", "Vector", "make_scratch", "native_code", "scratch_places", "scratch_size"]

NO_BOUND = 1.0e30
"""What stands for no bound of an impulse."""

VECTORS = (
    "scale", "free", "low", "high", "friction",  # of the problem; friction at the first tangents
    "x", "y", "z", "x_old", "y_old", "z_old", "y_ahead", "z_ahead", "right",  # of the proximal ADMM, theory 5.2
    "point", "velocity", "best", "base", "step",  # of the Newton steps; power iterations have "step" too
)  # fmt: skip
"""Vectors of a slot, n numbers each and room for one more register."""


class Vector:
    """Where a vector of :data:`VECTORS` is."""

    Y = VECTORS.index("y")
    POINT = VECTORS.index("point")
    BEST = VECTORS.index("best")
    BASE = VECTORS.index("base")


def scratch_size(rows: int) -> int:
    """Numbers of a slot for problems of so many rows."""
    n = -(-rows // PAD) * PAD
    return n * n + (n * n + 2 * PAD * n) + n * (n + PAD) + len(VECTORS) * (n + PAD)


def scratch_places(rows: int) -> int:
    """Whole numbers of a slot."""
    return 3 * (rows + PAD)


@cache
def make_scratch(scalar: Any) -> Any:
    """The struct ``Scratch`` over a type of numbers."""

    class Scratch:
        numbers: wp.array(dtype=scalar)
        places: wp.array(dtype=wp.int32)
        size: wp.int32
        rows: wp.int32

    Scratch.__doc__ = """Working memory.

    Attributes:
        numbers: Slots of ``size`` numbers.
        places: Slots of :func:`scratch_places` of ``rows`` whole numbers.
        size: :func:`scratch_size` of ``rows``.
        rows: The most rows that a problem may have.
    """
    Scratch.__qualname__ = f"Scratch_{scalar.__name__}"
    return wp.struct(Scratch)


_LANES = """
#if defined(__CUDA_ARCH__) || defined(__CUDACC__)
#define EACH(i, from, to) _Pragma("unroll") for (int i = from; i < to; i++)
#define HOOKE_LANES(l) _Pragma("unroll") for (int l = 0; l < 8; l++)
    struct mask_t { bool v[8]; };
    struct lanes_t {
        REAL v[8];
        CUDA_CALLABLE lanes_t() {}
        CUDA_CALLABLE lanes_t(REAL s) { HOOKE_LANES(l) v[l] = s; }
        CUDA_CALLABLE REAL& operator[](int l) { return v[l]; }
        CUDA_CALLABLE REAL operator[](int l) const { return v[l]; }
#define HOOKE_LANEWISE(op) \\
        CUDA_CALLABLE lanes_t operator op(const lanes_t& o) const { \\
            lanes_t r; HOOKE_LANES(l) r.v[l] = v[l] op o.v[l]; return r; }
        HOOKE_LANEWISE(+) HOOKE_LANEWISE(-) HOOKE_LANEWISE(*) HOOKE_LANEWISE(/)
#undef HOOKE_LANEWISE
        CUDA_CALLABLE mask_t operator<(const lanes_t& o) const {
            mask_t r; HOOKE_LANES(l) r.v[l] = v[l] < o.v[l]; return r; }
    };
    auto pick = [](const mask_t& m, const lanes_t& a, const lanes_t& b) {
        lanes_t r; HOOKE_LANES(l) r.v[l] = m.v[l] ? a.v[l] : b.v[l]; return r; };
    auto root = [](const lanes_t& a) { lanes_t r; HOOKE_LANES(l) r.v[l] = sqrt(a.v[l]); return r; };
    auto load = [](const REAL* p) { lanes_t r; HOOKE_LANES(l) r.v[l] = p[l]; return r; };
    auto store = [](REAL* p, const lanes_t& a) { HOOKE_LANES(l) p[l] = a.v[l]; };
#else
#define EACH(i, from, to) _Pragma("unroll") for (int i = from; i < to; i++)
    typedef REAL lanes_t __attribute__((ext_vector_type(8)));
    typedef REAL loose_t __attribute__((ext_vector_type(8), aligned(4)));
    auto pick = [](auto m, lanes_t a, lanes_t b) -> lanes_t { return m ? a : b; };
    auto root = [](lanes_t a) -> lanes_t { return __builtin_elementwise_sqrt(a); };
    auto load = [](const REAL* p) -> lanes_t { return *reinterpret_cast<const loose_t*>(p); };
    auto store = [](REAL* p, lanes_t a) { *reinterpret_cast<loose_t*>(p) = a; };
#endif
    typedef REAL real_t;
    auto all = [](real_t s) -> lanes_t { return (lanes_t)(s); };
    auto larger = [&](const lanes_t& a, const lanes_t& b) { return pick(a < b, b, a); };
    auto smaller = [&](const lanes_t& a, const lanes_t& b) { return pick(b < a, b, a); };
    auto size = [&](const lanes_t& a) { return larger(a, all(0) - a); };
    auto largest = [](const lanes_t& a) { real_t r = a[0]; EACH(l, 1, 8) r = a[l] > r ? a[l] : r; return r; };
    auto sum = [](const lanes_t& a) { real_t r = a[0]; EACH(l, 1, 8) r = r + a[l]; return r; };
    lanes_t count;  // of the lanes
    EACH(l, 0, 8) count[l] = l;
    auto part = [&](int left, const lanes_t& a, const lanes_t& b) {  // the first lanes of a, the rest of b
        return left < 8 ? pick(count < all(left), a, b) : a;
    };
    // the first numbers of a register; others must not be written, since another worker or vector has them
    auto put = [&](real_t* p, int left, const lanes_t& a) { store(p, part(left, a, load(p))); };
"""

_LAYOUT = """
    const int width = (n + 7) & ~7, beside = width + 8;
    real_t* const matrix = space.numbers.data + (long long)slot * space.size;
    real_t* const factor = matrix + (long long)width * width;
    real_t* const corner = factor + (long long)width * width;
    real_t* const jacobian = corner + 16 * width;
    real_t* const vectors = jacobian + (long long)width * beside;
    int* const order = space.places.data + (long long)slot * 3 * (space.rows + 8);
    int* const active = order + space.rows + 8;
    int* const state = active + space.rows + 8;
    auto at = [=](int k) { return vectors + (long long)k * beside; };
"""


def native_code(scalar: Any, body: str, constants: str = "") -> str:
    """The source of a native function over the slots of a Scratch, with arguments ``space``, ``slot`` and ``n``.

    Registers of eight numbers are clang's vectors, which have the operators too, or an array for CUDA. The body is compiled once,
    however often it is called.
    """
    lanes = _LANES.replace("REAL", "double" if scalar is wp.float64 else "float")
    places = "".join(f"    real_t* const {name} = at({k});\n" for k, name in enumerate(VECTORS))
    begin, end = "    auto run_body = [&]() __attribute__((noinline)) {\n", "    };\n    return run_body();\n"
    return f"{begin}{lanes}{constants}{_LAYOUT}{places}{body}{end}"
