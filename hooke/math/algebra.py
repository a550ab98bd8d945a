"""The algebra that all physics is written in: scalars, 3-vectors and symmetric 3x3 blocks over one kind of number.

A physics function is written over ``Any`` with ordinary operators. Called with float32 it is the code that runs on CUDA, with lanes
the code that runs on CPUs, with float64 the reference of the tests. A kind of number is added by its constructors and one row of
``KINDS``; everything below then works for it too.

Warp looks an operator up under the names ``add``, ``sub``, ``mul`` and ``div`` in the globals of the module that uses it before it
tries its own. A module of physics therefore imports these names beside the functions it calls:

    from hooke.math import add, cross, dot, mul, sub

The minus sign in front of an operand is always Warp's own: a loop over lanes, and an error for vectors of lanes. Write ``neg(a)``.

A symmetric block stores its six different entries, and is solved by :func:`solve`, never inverted.
"""

from typing import Any

import warp as wp

__all__ = [
    "LANES", "Block", "BlockD", "BlockL", "Lanes", "VectorL", "add", "angle", "apply", "constant", "cross", "div", "dot",
    "exact_angle", "isotropic", "larger", "mul", "neg", "norm", "outer", "positive", "root", "rounded", "select", "smaller",
    "solve", "spread", "sub", "symmetric", "unit_scale", "vector", "zero",
]  # fmt: skip


@wp.struct
class Block:
    """Symmetric 3x3 block of float32."""

    xx: wp.float32
    yy: wp.float32
    zz: wp.float32
    xy: wp.float32
    xz: wp.float32
    yz: wp.float32


@wp.struct
class BlockD:
    """Symmetric 3x3 block of float64."""

    xx: wp.float64
    yy: wp.float64
    zz: wp.float64
    xy: wp.float64
    xz: wp.float64
    yz: wp.float64


LANES = 16
"""Numbers that one instruction of a CPU works on at a time; with narrower registers the compiler splits them."""

Lanes = wp.types.vector(length=LANES, dtype=wp.float32)


@wp.struct
class VectorL:
    """3-vectors of 16 float32 lanes. A struct of lanes stays in registers; rows of a matrix do not."""

    x: Lanes
    y: Lanes
    z: Lanes


@wp.struct
class BlockL:
    """Symmetric 3x3 blocks of 16 float32 lanes."""

    xx: Lanes
    yy: Lanes
    zz: Lanes
    xy: Lanes
    xz: Lanes
    yz: Lanes


@wp.func
def vector(x: wp.float32, y: wp.float32, z: wp.float32):
    return wp.vec3(x, y, z)


@wp.func
def vector(x: wp.float64, y: wp.float64, z: wp.float64):
    return wp.vec3d(x, y, z)


@wp.func
def symmetric(xx: wp.float32, yy: wp.float32, zz: wp.float32, xy: wp.float32, xz: wp.float32, yz: wp.float32):
    return Block(xx, yy, zz, xy, xz, yz)


@wp.func
def symmetric(xx: wp.float64, yy: wp.float64, zz: wp.float64, xy: wp.float64, xz: wp.float64, yz: wp.float64):
    return BlockD(xx, yy, zz, xy, xz, yz)


@wp.func
def vector(x: Lanes, y: Lanes, z: Lanes):
    return VectorL(x, y, z)


@wp.func
def symmetric(xx: Lanes, yy: Lanes, zz: Lanes, xy: Lanes, xz: Lanes, yz: Lanes):
    return BlockL(xx, yy, zz, xy, xz, yz)


def _native(vectors: str, each: str, names: str) -> str:
    """Native code of a function of lanes.

    Warp's own operators on vectors are loops over an array, which the compiler keeps in memory. Clang's vectors stay in registers.

    Args:
        vectors: The result as an expression in Clang vectors.
        each: The same in lane ``l`` of the arguments, for compilers without such vectors (those of CUDA).
        names: The arguments.
    """
    load = "".join(f"lanes_t v{n}; __builtin_memcpy(&v{n}, &{n}, sizeof(v{n})); " for n in names)
    plain = "".join(f"auto v{n} = {n}[l]; " for n in names)
    return f"""
    wp::vec_t<{LANES}, float> result;
#if defined(__CUDA_ARCH__) || defined(__CUDACC__)
    for (auto l = 0; l < {LANES}; l++) {{ {plain} result[l] = {each or vectors}; }}
#else
    typedef float lanes_t __attribute__((ext_vector_type({LANES})));
    {load}
    lanes_t value = {vectors};
    __builtin_memcpy(&result, &value, sizeof(value));
#endif
    return result;
"""


@wp.func_native(_native("va + vb", "", "ab"))
def add(a: Lanes, b: Lanes) -> Lanes: ...


@wp.func_native(_native("va - vb", "", "ab"))
def sub(a: Lanes, b: Lanes) -> Lanes: ...


@wp.func_native(_native("va * vb", "", "ab"))
def mul(a: Lanes, b: Lanes) -> Lanes: ...


@wp.func_native(_native("s * va", "s * va", "a"))
def mul(s: wp.float32, a: Lanes) -> Lanes: ...


@wp.func_native(_native("-va", "", "a"))
def neg(a: Lanes) -> Lanes: ...


@wp.func_native(_native("(lanes_t)(a)", "a", ""))
def spread(a: wp.float32) -> Lanes: ...


# A division of 16 floats takes as long as 30 multiplications; the approximate reciprocal and a Newton step err by 1e-7. The factor of
# that step is about 1; where the guess is 0 or infinite it is negative or no number, and the guess is the answer.
@wp.func_native(
    _native(
        """1.0f / va;
#if defined(__AVX512F__)
    lanes_t guess = __builtin_ia32_rcp14ps512_mask(va, va, (unsigned short)-1);
    lanes_t factor = 2.0f - va * guess;
    value = factor > 0.0f ? guess * factor : guess;
#endif
""",
        "1.0f / va",
        "a",
    )
)
def reciprocal(a: Lanes) -> Lanes: ...


@wp.func
def div(a: Lanes, b: Lanes):
    return a * reciprocal(b)


@wp.func
def add(a: VectorL, b: VectorL):
    return VectorL(a.x + b.x, a.y + b.y, a.z + b.z)


@wp.func
def sub(a: VectorL, b: VectorL):
    return VectorL(a.x - b.x, a.y - b.y, a.z - b.z)


@wp.func
def mul(s: Lanes, a: VectorL):
    return VectorL(s * a.x, s * a.y, s * a.z)


@wp.func
def neg(a: VectorL):
    return VectorL(neg(a.x), neg(a.y), neg(a.z))


@wp.func
def mul(a: VectorL, s: Lanes):
    return VectorL(s * a.x, s * a.y, s * a.z)


@wp.func
def div(a: VectorL, s: Lanes):
    return reciprocal(s) * a


# The argument, kept out of fused operations. For a b - c d to vanish where the products are equal both must be rounded; fused, only
# one would be.
@wp.func_native(
    _native(
        """va;
#if defined(__AVX512F__)
    asm("" : "+v"(value));
#else
    asm("" : "+m"(value));
#endif
""",
        "va",
        "a",
    )
)
def rounded(a: Lanes) -> Lanes: ...


@wp.func_native(_native("__builtin_elementwise_sqrt(va)", "::sqrtf(va)", "a"))
def root(a: Lanes) -> Lanes: ...


@wp.func_native(_native("va > vb ? va : vb", "", "ab"))
def larger(a: Lanes, b: Lanes) -> Lanes: ...


@wp.func_native(_native("va < vb ? va : vb", "", "ab"))
def smaller(a: Lanes, b: Lanes) -> Lanes: ...


@wp.func_native(_native("vc > 0.0f ? va : vb", "", "cab"))
def select(c: Lanes, a: Lanes, b: Lanes) -> Lanes: ...


# atan2 in double precision, rounded once: what the host measures. With t = min/max in [0, 1], taken to [-tan(pi/8), tan(pi/8)] by
# atan t = pi/4 + atan((t - 1)/(t + 1)), and the polynomial of degree 8 in t^2 that fits atan(t)/t there to 3e-14.
# A zero has no sign here, and the angle of (0, 0) is 0.
@wp.func_native(f"""
    wp::vec_t<{LANES}, float> result;
#if defined(__CUDA_ARCH__) || defined(__CUDACC__)
    for (auto l = 0; l < {LANES}; l++) result[l] = ::atan2f(y[l], x[l]);
#else
    typedef float lanes_t __attribute__((ext_vector_type({LANES})));
    typedef double wide_t __attribute__((ext_vector_type({LANES})));
    lanes_t vx, vy;
    __builtin_memcpy(&vx, &x, sizeof(vx));
    __builtin_memcpy(&vy, &y, sizeof(vy));
    wide_t wx = __builtin_convertvector(vx, wide_t), wy = __builtin_convertvector(vy, wide_t);
    wide_t ax = __builtin_elementwise_abs(wx), ay = __builtin_elementwise_abs(wy);
    wide_t low = __builtin_elementwise_min(ax, ay), high = __builtin_elementwise_max(ax, ay);
    auto far = low > 0.41421356237309503 * high;
    wide_t t = (far ? low - high : low) / __builtin_elementwise_max(far ? low + high : high, (wide_t)(1.0e-300));
    wide_t s = t * t, p = 0.030699781122122478;
    p = p * s - 0.05877079275516299;
    p = p * s + 0.07564424387910108;
    p = p * s - 0.0907849722950387;
    p = p * s + 0.11110393545818359;
    p = p * s - 0.14285690796867265;
    p = p * s + 0.1999999961292473;
    p = p * s - 0.3333333333086916;
    wide_t a = t + t * s * p;
    a = far ? a + 0.78539816339744828 : a;
    a = ay > ax ? 1.5707963267948966 - a : a;
    a = wx < 0.0 ? 3.1415926535897931 - a : a;
    a = wy < 0.0 ? -a : a;
    lanes_t value = __builtin_convertvector(a, lanes_t);
    __builtin_memcpy(&result, &value, sizeof(value));
#endif
    return result;
""")
def exact_angle(y: Lanes, x: Lanes) -> Lanes: ...


# 1 over the power of two at or below a number between 1.2e-38 and 1.7e38: a factor that rounds nothing. Lanes run on CPUs; CUDA only
# has to compile it.
@wp.func_native(f"""
#if defined(__CUDA_ARCH__) || defined(__CUDACC__)
    return a;
#else
    wp::vec_t<{LANES}, float> r;
    for (auto l = 0; l < {LANES}; l++) {{
        unsigned u;
        auto f = a[l];
        __builtin_memcpy(&u, &f, 4);
        u = 0x7f000000u - (u & 0x7f800000u);
        __builtin_memcpy(&f, &u, 4);
        r[l] = f;
    }}
    return r;
#endif
""")
def unit_scale(a: Lanes) -> Lanes: ...


@wp.func
def angle(y: Lanes, x: Lanes):
    """atan2 without branches, by an odd minimax polynomial of the arc tangent on [0, 1] (error 7e-9)."""
    ax = larger(x, neg(x))
    ay = larger(y, neg(y))
    t = smaller(ax, ay) / larger(larger(ax, ay), spread(1.0e-36))
    s = t * t
    p = spread(0.00262224) * s + spread(-0.01513252)
    p = p * s + spread(0.04112183)
    p = p * s + spread(-0.07366703)
    p = p * s + spread(0.10573931)
    p = p * s + spread(-0.14185975)
    p = p * s + spread(0.19990396)
    p = p * s + spread(-0.33332986)
    p = t + t * s * p
    p = select(ay - ax, spread(1.57079633) - p, p)
    p = select(neg(x), spread(3.14159265) - p, p)
    return select(neg(y), neg(p), p)


KINDS = ((wp.float32, Block), (wp.float64, BlockD), (Lanes, BlockL))
NUMBERS = ((wp.float32, wp.vec3), (wp.float64, wp.vec3d))

for Number, Matrix in KINDS:  # overloads: the bodies name no kind, since Warp reads them after the loop has ended

    @wp.func
    def add(a: Matrix, b: Matrix):
        return symmetric(a.xx + b.xx, a.yy + b.yy, a.zz + b.zz, a.xy + b.xy, a.xz + b.xz, a.yz + b.yz)

    @wp.func
    def sub(a: Matrix, b: Matrix):
        return symmetric(a.xx - b.xx, a.yy - b.yy, a.zz - b.zz, a.xy - b.xy, a.xz - b.xz, a.yz - b.yz)

    @wp.func
    def mul(s: Number, a: Matrix):
        return symmetric(s * a.xx, s * a.yy, s * a.zz, s * a.xy, s * a.xz, s * a.yz)

    @wp.func
    def div(a: Matrix, s: Number):
        return symmetric(a.xx / s, a.yy / s, a.zz / s, a.xy / s, a.xz / s, a.yz / s)


for Number, Triple in NUMBERS:

    @wp.func
    def neg(a: Number):
        return -a

    @wp.func
    def neg(a: Triple):
        return -a

    @wp.func
    def root(a: Number):
        return wp.sqrt(a)

    @wp.func
    def larger(a: Number, b: Number):
        return wp.max(a, b)

    @wp.func
    def smaller(a: Number, b: Number):
        return wp.min(a, b)

    @wp.func
    def select(condition: Number, a: Number, b: Number):
        """``a`` where the condition is positive, else ``b``."""
        return wp.where(condition > type(condition)(0.0), a, b)

    @wp.func
    def angle(y: Number, x: Number):
        return wp.atan2(y, x)


@wp.func
def constant(value: wp.float32, like: Any):
    """The literal ``value`` as a number of the kind of ``like``."""
    return type(like)(value)


@wp.func
def constant(value: wp.float32, like: Lanes):
    return spread(value)


@wp.func
def zero(like: Any):
    return like - like


@wp.func
def positive(a: Any):
    return larger(a, zero(a))


@wp.func
def dot(a: Any, b: Any):
    return a.x * b.x + a.y * b.y + a.z * b.z


@wp.func
def cross(a: Any, b: Any):
    return vector(a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x)


@wp.func
def norm(a: Any):
    return root(dot(a, a))


@wp.func
def outer(v: Any):
    """The block v v^T."""
    return symmetric(v.x * v.x, v.y * v.y, v.z * v.z, v.x * v.y, v.x * v.z, v.y * v.z)


@wp.func
def isotropic(s: Any):
    """The block s I."""
    return symmetric(s, s, s, zero(s), zero(s), zero(s))


@wp.func
def apply(a: Any, v: Any):
    """The block ``a`` times the vector ``v``."""
    return vector(
        a.xx * v.x + a.xy * v.y + a.xz * v.z,
        a.xy * v.x + a.yy * v.y + a.yz * v.z,
        a.xz * v.x + a.yz * v.y + a.zz * v.z,
    )


@wp.func
def solve(a: Any, b: Any):
    """Solve a x = b for a positive semidefinite block by LDL^T.

    A pivot below 1e-7 of the trace is taken as that: a direction that nothing resists moves by a bounded amount.
    """
    floor = constant(1.0e-7, a.xx) * (a.xx + a.yy + a.zz) + constant(1.0e-30, a.xx)
    d0 = larger(a.xx, floor)
    l10 = a.xy / d0
    l20 = a.xz / d0
    d1 = larger(a.yy - l10 * a.xy, floor)
    s21 = a.yz - l20 * a.xy
    l21 = s21 / d1
    d2 = larger(a.zz - l20 * a.xz - l21 * s21, floor)
    y1 = b.y - l10 * b.x
    y2 = b.z - l20 * b.x - l21 * y1
    z = y2 / d2
    y = y1 / d1 - l21 * z
    x = b.x / d0 - l10 * y - l20 * z
    return vector(x, y, z)
