"""Lanes in memory: loads and stores of sixteen neighbours, and gathers of sixteen entries from anywhere.

A load of vectors takes one number more than a vector has, so an array of vectors is longer by one than the largest index asks for.
"""

from collections.abc import Iterable

import warp as wp

from hooke.math.algebra import LANES, Lanes, vector

__all__ = [
    "IndexLanes",
    "gather_index_quads",
    "gather_indices",
    "gather_numbers",
    "gather_quads",
    "gather_vectors",
    "highest",
    "load_indices",
    "load_vectors",
    "lowest",
    "nth_index",
    "scatter_least",
    "store_numbers",
    "store_vectors",
    "strided_indices",
    "take_number",
]  # fmt: skip

IndexLanes = wp.types.vector(length=LANES, dtype=wp.int32)


# Four entries at a time are loaded whole and transposed: half the time of gathering number by number.
def _gather(component: int, place: str, kind: str = "float") -> str:
    """Native code that reads one component of 16 entries: rows of four of them, one behind the other, then columns of them.

    Args:
        component: Which of the four numbers at the place.
        place: Number of the first of them, for lane ``k``.
        kind: C++ type of the numbers of the array ``x``.
    """
    at = [place.replace("[k]", f"[{k}]") for k in range(LANES)]
    quads = "".join(f"quad_t q{k} = *reinterpret_cast<const loose_t*>(p + {at[k]}); " for k in range(LANES))
    half = "__builtin_shufflevector(q{}, q{}, 0, 1, 2, 3, 4, 5, 6, 7)"
    rows = "".join(
        f"lanes_t r{k} = __builtin_shufflevector({half.format(k, k + 4)}, {half.format(k + 8, k + 12)}, {_numbers(range(16))}); "
        for k in range(4)
    )
    pairs = [q + c + n for q in range(0, 16, 4) for c in (2 * (component // 2), 2 * (component // 2) + 1) for n in (0, 16)]
    columns = [q + 2 * (component % 2) + c + n for q in range(0, 16, 4) for n in (0, 16) for c in (0, 1)]
    left, right = (f"__builtin_shufflevector(r{k}, r{k + 1}, {_numbers(pairs)})" for k in (0, 2))
    return f"""
    wp::vec_t<{LANES}, {kind}> result;
    auto p = reinterpret_cast<const {kind}*>(x.data);
#if defined(__CUDA_ARCH__) || defined(__CUDACC__)
    for (auto k = 0; k < {LANES}; k++) result[k] = p[{place} + {component}];
#else
    typedef {kind} quad_t __attribute__((ext_vector_type(4)));
    typedef {kind} loose_t __attribute__((ext_vector_type(4), aligned(4)));
    typedef {kind} lanes_t __attribute__((ext_vector_type({LANES})));
    {quads}
    {rows}
    lanes_t value = __builtin_shufflevector({left}, {right}, {_numbers(columns)});
    __builtin_memcpy(&result, &value, sizeof(value));
#endif
    return result;
"""


def _numbers(values: Iterable[int]) -> str:
    return ", ".join(map(str, values))


_VECTOR = "3 * (long long)i[k]"
_QUAD = "stride * (long long)i[k] + offset"


@wp.func_native(_gather(0, _VECTOR))
def gather_x(x: wp.array(dtype=wp.vec3), i: IndexLanes) -> Lanes: ...


@wp.func_native(_gather(1, _VECTOR))
def gather_y(x: wp.array(dtype=wp.vec3), i: IndexLanes) -> Lanes: ...


@wp.func_native(_gather(2, _VECTOR))
def gather_z(x: wp.array(dtype=wp.vec3), i: IndexLanes) -> Lanes: ...


@wp.func
def gather_vectors(x: wp.array(dtype=wp.vec3), i: IndexLanes):
    return vector(gather_x(x, i), gather_y(x, i), gather_z(x, i))


@wp.func_native(f"""
    wp::vec_t<{LANES}, float> result;
    for (auto l = 0; l < {LANES}; l++) result[l] = x.data[i[l]];
    return result;
""")
def gather_numbers(x: wp.array(dtype=wp.float32), i: IndexLanes) -> Lanes: ...


@wp.func_native(f"""
    wp::vec_t<{LANES}, int> result;
    for (auto l = 0; l < {LANES}; l++) result[l] = first[l] + k < end[l] ? first[l] + k : none;
    return result;
""")
def nth_index(first: IndexLanes, end: IndexLanes, k: int, none: int) -> IndexLanes:
    """Number ``k`` of the rows ``first ... end`` of every lane, ``none`` where there are not so many."""


def _load(component: int) -> str:
    """Native code that reads one component of the 16 vectors of a group, which lie one behind the other."""
    places = [3 * k + component for k in range(LANES)]
    front = [p if p < 2 * LANES else -1 for p in places]
    whole = [k if p < 2 * LANES else p - LANES for k, p in enumerate(places)]
    return f"""
    wp::vec_t<{LANES}, float> result;
    auto p = reinterpret_cast<const float*>(x.data) + {3 * LANES} * (long long)g;
#if defined(__CUDA_ARCH__) || defined(__CUDACC__)
    for (auto l = 0; l < {LANES}; l++) result[l] = p[3 * l + {component}];
#else
    typedef float loose_t __attribute__((ext_vector_type({LANES}), aligned(4)));
    typedef float lanes_t __attribute__((ext_vector_type({LANES})));
    auto v = reinterpret_cast<const loose_t*>(p);
    lanes_t v0 = v[0], v1 = v[1], v2 = v[2];
    lanes_t value = __builtin_shufflevector(__builtin_shufflevector(v0, v1, {_numbers(front)}), v2, {_numbers(whole)});
    __builtin_memcpy(&result, &value, sizeof(value));
#endif
    return result;
"""


@wp.func_native(_load(0))
def load_x(x: wp.array(dtype=wp.vec3), g: int) -> Lanes: ...


@wp.func_native(_load(1))
def load_y(x: wp.array(dtype=wp.vec3), g: int) -> Lanes: ...


@wp.func_native(_load(2))
def load_z(x: wp.array(dtype=wp.vec3), g: int) -> Lanes: ...


@wp.func
def load_vectors(x: wp.array(dtype=wp.vec3), g: int):
    """The 16 vectors of group ``g``."""
    return vector(load_x(x, g), load_y(x, g), load_z(x, g))


@wp.func_native(f"""
    auto p = reinterpret_cast<float*>(target.data) + {3 * LANES} * (long long)g;
    for (auto l = 0; l < {LANES}; l++) {{ p[3 * l] = x[l]; p[3 * l + 1] = y[l]; p[3 * l + 2] = z[l]; }}
""")
def store_vectors(x: Lanes, y: Lanes, z: Lanes, g: int, target: wp.array(dtype=wp.vec3)): ...


@wp.struct
class Quad:
    """Four numbers of 16 entries."""

    a: Lanes
    b: Lanes
    c: Lanes
    d: Lanes


@wp.struct
class IndexQuad:
    """Four indices of 16 entries."""

    a: IndexLanes
    b: IndexLanes
    c: IndexLanes
    d: IndexLanes


@wp.func_native(_gather(0, _QUAD))
def quad_a(x: wp.array(dtype=wp.float32), i: IndexLanes, stride: int, offset: int) -> Lanes: ...


@wp.func_native(_gather(1, _QUAD))
def quad_b(x: wp.array(dtype=wp.float32), i: IndexLanes, stride: int, offset: int) -> Lanes: ...


@wp.func_native(_gather(2, _QUAD))
def quad_c(x: wp.array(dtype=wp.float32), i: IndexLanes, stride: int, offset: int) -> Lanes: ...


@wp.func_native(_gather(3, _QUAD))
def quad_d(x: wp.array(dtype=wp.float32), i: IndexLanes, stride: int, offset: int) -> Lanes: ...


@wp.func_native(_gather(0, _QUAD, "int"))
def index_quad_a(x: wp.array(dtype=wp.int32), i: IndexLanes, stride: int, offset: int) -> IndexLanes: ...


@wp.func_native(_gather(1, _QUAD, "int"))
def index_quad_b(x: wp.array(dtype=wp.int32), i: IndexLanes, stride: int, offset: int) -> IndexLanes: ...


@wp.func_native(_gather(2, _QUAD, "int"))
def index_quad_c(x: wp.array(dtype=wp.int32), i: IndexLanes, stride: int, offset: int) -> IndexLanes: ...


@wp.func_native(_gather(3, _QUAD, "int"))
def index_quad_d(x: wp.array(dtype=wp.int32), i: IndexLanes, stride: int, offset: int) -> IndexLanes: ...


@wp.func
def gather_quads(x: wp.array(dtype=wp.float32), i: IndexLanes, stride: int, offset: int):
    """The four numbers from ``stride`` i + ``offset`` on."""
    return Quad(
        quad_a(x, i, stride, offset), quad_b(x, i, stride, offset), quad_c(x, i, stride, offset), quad_d(x, i, stride, offset)
    )


@wp.func
def gather_index_quads(x: wp.array(dtype=wp.int32), i: IndexLanes, stride: int, offset: int):
    return IndexQuad(
        index_quad_a(x, i, stride, offset), index_quad_b(x, i, stride, offset), index_quad_c(x, i, stride, offset),
        index_quad_d(x, i, stride, offset),
    )  # fmt: skip


@wp.func_native(f"""
    for (auto l = 0; l < {LANES}; l++) x.data[at + l] = value[l];
""")
def store_numbers(value: Lanes, at: int, x: wp.array(dtype=wp.float32)): ...


# The least of several does not depend on their order. Numbers that are not negative compare like integers.
@wp.func_native(f"""
    for (auto l = 0; l < {LANES}; l++) {{
        auto v = value[l];
        if (!(v < 1.0f)) continue;
        auto place = x.data + i[l];
#if defined(__CUDA_ARCH__) || defined(__CUDACC__)
        atomicMin(reinterpret_cast<unsigned*>(place), __float_as_uint(v));
#else
        unsigned bits, old = __atomic_load_n(reinterpret_cast<unsigned*>(place), __ATOMIC_RELAXED);
        __builtin_memcpy(&bits, &v, 4);
        while (bits < old) {{
            auto word = reinterpret_cast<unsigned*>(place);
            if (__atomic_compare_exchange_n(word, &old, bits, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) break;
        }}
#endif
    }}
""")
def scatter_least(value: Lanes, i: IndexLanes, x: wp.array(dtype=wp.float32)):
    """Lower entries of numbers in [0, 1] to those of the lanes, from several threads; a lane of 1 or more does nothing."""


@wp.func_native(f"""
    wp::vec_t<{LANES}, int> result;
    for (auto l = 0; l < {LANES}; l++) result[l] = x.data[stride * i[l] + offset];
    return result;
""")
def gather_indices(x: wp.array(dtype=wp.int32), i: IndexLanes, stride: int, offset: int) -> IndexLanes:
    """Entries ``stride`` i + ``offset``."""


@wp.func_native(f"""
    wp::vec_t<{LANES}, int> result;
    for (auto l = 0; l < {LANES}; l++) result[l] = x.data[at + l];
    return result;
""")
def load_indices(x: wp.array(dtype=wp.int32), at: int) -> IndexLanes:
    """The 16 entries from ``at`` on."""


@wp.func_native(f"""
    wp::vec_t<{LANES}, int> result;
    for (auto l = 0; l < {LANES}; l++) result[l] = x.data[at + stride * l];
    return result;
""")
def strided_indices(x: wp.array(dtype=wp.int32), at: int, stride: int) -> IndexLanes:
    """Every ``stride``-th entry from ``at`` on."""


def _fold(operation: str, compare: str) -> str:
    return f"""
#if defined(__CUDA_ARCH__) || defined(__CUDACC__)
    auto result = a[0];
    for (auto l = 1; l < {LANES}; l++) result = a[l] {compare} result ? a[l] : result;
    return result;
#else
    typedef float lanes_t __attribute__((ext_vector_type({LANES})));
    lanes_t value;
    __builtin_memcpy(&value, &a, sizeof(value));
    return __builtin_reduce_{operation}(value);
#endif
"""


@wp.func_native(_fold("min", "<"))
def lowest(a: Lanes) -> wp.float32: ...


@wp.func_native(_fold("max", ">"))
def highest(a: Lanes) -> wp.float32: ...


@wp.func_native("""
#if defined(__CUDA_ARCH__) || defined(__CUDACC__)
    return atomicAdd(x.data + i, 1);
#else
    return __atomic_fetch_add(x.data + i, 1, __ATOMIC_RELAXED);
#endif
""")
def take_number(i: int, x: wp.array(dtype=wp.int32)) -> int:
    """Count entry ``i`` up, from several threads; its value before."""
