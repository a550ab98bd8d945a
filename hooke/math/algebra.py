"""The algebra that all physics is written in: scalars, 3-vectors and symmetric 3x3 blocks over one kind of number.

A physics function is written over ``Any`` with ordinary operators. Called with float32 it is the code that runs on CUDA; called
with float64 it is the reference of the tests. A kind of number is added by its constructors and one row of ``KINDS``; everything
below then works for it too.

Warp looks an operator up under the names ``add``, ``sub``, ``mul``, ``div`` and ``neg`` in the globals of the module that uses it
before it tries its own. A module of physics therefore imports these names beside the functions it calls:

    from hooke.math import add, cross, dot, mul, sub

A symmetric block stores its six different entries, and is solved by :func:`solve`, never inverted.
"""

from typing import Any

import warp as wp

__all__ = [
    "Block", "BlockD", "add", "angle", "apply", "constant", "cross", "div", "dot", "isotropic", "larger", "mul", "norm", "outer",
    "positive", "root", "select", "smaller", "solve", "sub", "symmetric", "vector", "zero",
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


KINDS = ((wp.float32, Block), (wp.float64, BlockD))

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
    """V v^T."""
    return symmetric(v.x * v.x, v.y * v.y, v.z * v.z, v.x * v.y, v.x * v.z, v.y * v.z)


@wp.func
def isotropic(s: Any):
    """S I."""
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
