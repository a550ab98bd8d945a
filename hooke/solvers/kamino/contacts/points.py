"""Contacts as SolverKamino takes them: of every world a list of points, in the order of the rows they come from.

A contact has two sides, A and B, of which B is on a body, and a normal n from A to B. With the tangents of

    e = e_x if |n_x| < cos 30, else e_y,     o = n x e / |n x e|,     t = o x n                            (1)

the components of its impulse, which acts on B and against A, are those along (t, o, n). Its distance is

    d = n . (p_B - p_A) - margin_A - margin_B                                                            (2)

0 where surfaces with their margins touch; impulses act on the surfaces without margins, at p + (radius) n of A and p - (radius) n of B.
"""

from functools import cache
from typing import Any

import warp as wp

from hooke.execution.flags import lane_options
from hooke.execution.work import Work, first_item, next_item
from hooke.math.algebra import vector
from hooke.model.contacts import RigidRows
from hooke.model.tables import Bodies, Shapes

__all__ = ["MIXES", "Materials", "contact_frame", "count_points", "list_rows", "make_fill_points", "make_points", "sort_points"]

wp.set_module_options({"enable_backward": False, **lane_options()})

COS_30 = wp.constant(0.8660254037844387)


AVERAGE, MULTIPLY, MAX, MIN, GEOMETRIC_AVERAGE = (wp.constant(k) for k in range(5))
MIXES = {"average": 0, "multiply": 1, "max": 2, "min": 3, "geometric_average": 4}
"""Names of the rules by which values of two shapes make one."""


@wp.struct
class Materials:
    """Rules for contacts.

    Attributes:
        friction: One of MIXES, for coefficients of friction.
        restitution: One of MIXES, for coefficients of restitution.
        culls: Whether contacts whose surfaces are apart are left out.
        apart: From what distance on they are [m].
        worlds: Number of worlds.
        most: Contacts of a pair of shapes, the deepest of them; 0 is any number.
    """

    friction: wp.int32
    restitution: wp.int32
    culls: wp.int32
    apart: wp.float32
    worlds: wp.int32
    most: wp.int32


@cache
def make_points(scalar: Any) -> Any:
    """The struct ``Points`` over a type of numbers, wp.float64 or wp.float32."""
    vec3 = wp.types.vector(length=3, dtype=scalar)

    class Points:
        first: wp.array(dtype=wp.int32)
        filled: wp.array(dtype=wp.int32)
        row: wp.array(dtype=wp.int32)
        slot: wp.array(dtype=wp.int32)
        world: wp.array(dtype=wp.int32)
        shapes: wp.array(dtype=wp.vec2i)
        feature: wp.array(dtype=wp.int32)
        body_a: wp.array(dtype=wp.int32)
        body_b: wp.array(dtype=wp.int32)
        arm_a: wp.array(dtype=vec3)
        arm_b: wp.array(dtype=vec3)
        normal: wp.array(dtype=vec3)
        distance: wp.array(dtype=scalar)
        friction: wp.array(dtype=scalar)
        restitution: wp.array(dtype=scalar)
        stiffness: wp.array(dtype=scalar)
        damping: wp.array(dtype=scalar)

    Points.__doc__ = """Contacts of all worlds.

    Attributes:
        first: First contact of every world, then the number of all; int32 (W + 1,).
        filled: For making the list.
        row: Row of the buffer that a contact comes from.
        slot: Of every row of the buffer its contact, -1 where it has none.
        world: World of a contact.
        shapes: Shapes of sides A and B.
        feature: Feature of the pair that it stands for, -1 where rows do not say.
        body_a: Body of side A, -1 for the world.
        body_b: Body of side B.
        arm_a: From the centre of mass of A (of the world: from the origin) to its surface [m], world axes.
        arm_b: The same of B.
        normal: n.
        distance: d [m].
        friction: mu.
        restitution: e.
        stiffness: Mean ``ke`` of the shapes [N/m].
        damping: Mean ``kd`` of the shapes [N s/m].
    """
    Points.__qualname__ = f"Points_{scalar.__name__}"
    return wp.struct(Points)


@wp.func
def contact_frame(n: Any):
    """The tangents t and o of (1)."""
    one, zero = type(n[0])(1.0), type(n[0])(0.0)
    e = vector(zero, one, zero)
    if wp.abs(n[0]) < type(n[0])(COS_30):
        e = vector(one, zero, zero)
    o = wp.normalize(wp.cross(n, e))
    return wp.normalize(wp.cross(o, n)), o


@wp.func
def mixed(a: float, b: float, mode: int):
    value = 0.5 * (a + b)
    if mode == MULTIPLY:
        value = a * b
    if mode == MAX:
        value = wp.max(a, b)
    if mode == MIN:
        value = wp.min(a, b)
    if mode == GEOMETRIC_AVERAGE:
        value = wp.sqrt(a * b)
    return value


@wp.func
def feature_of(rows: RigidRows, r: int):
    feature = int(-1)
    if rows.point_id.shape[0] > 0:
        feature = 1 * rows.point_id[r]
    return feature


@wp.func
def is_still(body: int, still: wp.array(dtype=wp.int32)):
    """Whether a side does not answer impulses: the world, or an immovable body."""
    answer = bool(True)
    if body >= 0:
        answer = still[body] != 0
    return answer


@wp.func
def separation(rows: RigidRows, r: int, a: int, b: int, body_q: wp.array(dtype=wp.transform)):
    """(2) of shapes 0 and 1, on bodies ``a`` and ``b``; from the difference of the bodies first, so that places far out keep digits."""
    p, q = 1.0 * rows.point0[r], 1.0 * rows.point1[r]
    base = wp.vec3(0.0)
    if a >= 0:
        p = wp.quat_rotate(wp.transform_get_rotation(body_q[a]), p)
        base -= wp.transform_get_translation(body_q[a])
    if b >= 0:
        q = wp.quat_rotate(wp.transform_get_rotation(body_q[b]), q)
        base += wp.transform_get_translation(body_q[b])
    return wp.dot(base + (q - p), rows.normal[r]) - rows.margin0[r] - rows.margin1[r]


@wp.func
def deeper_rows(rows: RigidRows, r: int, body_q: wp.array(dtype=wp.transform), a: int, b: int):
    """How many rows of the same pair of shapes, which are neighbours, come before this one."""
    own, number, last = separation(rows, r, a, b, body_q), int(0), wp.min(rows.count[0], rows.shape0.shape[0]) - 1
    for side in range(2):
        step = 2 * side - 1
        i = r + step
        while i >= 0 and i <= last and rows.shape0[wp.clamp(i, 0, last)] == rows.shape0[r]:
            if rows.shape1[i] != rows.shape1[r]:
                break
            other = separation(rows, i, a, b, body_q)
            if other < own or (other == own and i < r):
                number += 1
            i += step
    return number


@wp.func
def world_of_row(
    rows: RigidRows,
    r: int,
    shapes: Shapes,
    body_q: wp.array(dtype=wp.transform),
    still: wp.array(dtype=wp.int32),
    materials: Materials,
):
    """World of the contact that a row is, -1 where it is none: unused, filtered, nobody moves, apart and culled, or one too many."""
    world = int(-1)
    if r < wp.min(rows.count[0], rows.shape0.shape[0]):
        s, t = rows.shape0[r], rows.shape1[r]
        if s >= 0 and t >= 0:
            a, b = shapes.body[s], shapes.body[t]
            if not (is_still(a, still) and is_still(b, still)):
                world = wp.where(shapes.world[s] >= 0, shapes.world[s], shapes.world[t])
                if materials.worlds == 1:
                    world = 0
                if materials.culls != 0 and separation(rows, r, a, b, body_q) > materials.apart:
                    world = -1
                if world >= 0 and materials.most > 0:
                    if deeper_rows(rows, r, body_q, a, b) >= materials.most:
                        world = -1
    return world


@wp.kernel
def count_points(
    work: Work,
    rows: RigidRows,
    shapes: Shapes,
    body_q: wp.array(dtype=wp.transform),
    still: wp.array(dtype=wp.int32),
    materials: Materials,
    world: wp.array(dtype=wp.int32),
    filled: wp.array(dtype=wp.int32),
):
    """World of every row, and the number of contacts of every world."""
    r = first_item(work, wp.tid())
    while r >= 0:
        w = world_of_row(rows, r, shapes, body_q, still, materials)
        world[r] = w
        if w >= 0:
            _before = take_place(w, filled)
        r = next_item(work, r)


@wp.func_native("""
#if defined(__CUDA_ARCH__) || defined(__CUDACC__)
    return atomicAdd(x.data + i, 1);
#else
    return __atomic_fetch_add(x.data + i, 1, __ATOMIC_RELAXED);
#endif
""")
def take_place(i: int, x: wp.array(dtype=wp.int32)) -> int:
    """Count entry ``i`` up, from several threads; the value before."""


@wp.kernel
def list_rows(
    work: Work,
    first: wp.array(dtype=wp.int32),
    world: wp.array(dtype=wp.int32),
    filled: wp.array(dtype=wp.int32),
    row: wp.array(dtype=wp.int32),
    slot: wp.array(dtype=wp.int32),
):
    """The rows of every world, in no order."""
    r = first_item(work, wp.tid())
    while r >= 0:
        w = world[r]
        slot[r] = -1
        if w >= 0:
            row[first[w] + take_place(w, filled)] = r
        r = next_item(work, r)


@wp.kernel
def sort_points(work: Work, first: wp.array(dtype=wp.int32), row: wp.array(dtype=wp.int32)):
    """The rows of every world, in order; nearly all are."""
    w = first_item(work, wp.tid())
    while w >= 0:
        for i in range(first[w] + 1, first[w + 1]):
            value, at = 1 * row[i], int(i)
            while at > first[w] and row[wp.max(at - 1, first[w])] > value:
                row[at] = row[at - 1]
                at -= 1
            row[at] = value
        w = next_item(work, w)


@cache
def make_fill_points(scalar: Any) -> Any:
    """The kernel that fills the list, over a type of numbers."""
    Points, vec3 = make_points(scalar), wp.types.vector(length=3, dtype=scalar)

    @wp.func
    def surface(
        point: wp.vec3, offset: wp.vec3, margin: float, own: float, body: int, bodies: Bodies, body_q: wp.array(dtype=wp.transform)
    ):
        """From a centre of mass to the surface without margin, world axes; of the world from its origin."""
        arm = point + wp.where(margin > 0.0, (margin - own) / wp.max(margin, 1.0e-30), 0.0) * offset
        if body >= 0:
            arm = wp.quat_rotate(wp.transform_get_rotation(body_q[body]), arm - bodies.com[body])
        return vec3(scalar(arm[0]), scalar(arm[1]), scalar(arm[2]))

    @wp.kernel(module="unique", enable_backward=False, module_options=lane_options())
    def fill_points(
        work: Work,
        rows: RigidRows,
        shapes: Shapes,
        bodies: Bodies,
        body_q: wp.array(dtype=wp.transform),
        materials: Materials,
        world: wp.array(dtype=wp.int32),
        points: Points,
    ):
        k = first_item(work, wp.tid())
        while k >= 0:
            if k < points.first[points.first.shape[0] - 1]:
                r = points.row[k]
                s, t = rows.shape0[r], rows.shape1[r]
                a, b = 1 * shapes.body[s], 1 * shapes.body[t]
                points.slot[r] = k
                points.world[k] = world[r]
                points.feature[k] = feature_of(rows, r)
                n = vec3(scalar(rows.normal[r][0]), scalar(rows.normal[r][1]), scalar(rows.normal[r][2]))
                arm_a = surface(rows.point0[r], rows.offset0[r], rows.margin0[r], shapes.margin[s], a, bodies, body_q)
                arm_b = surface(rows.point1[r], rows.offset1[r], rows.margin1[r], shapes.margin[t], b, bodies, body_q)
                points.distance[k] = scalar(separation(rows, r, a, b, body_q))
                flip = b < 0
                points.shapes[k] = wp.where(flip, wp.vec2i(t, s), wp.vec2i(s, t))
                points.body_a[k] = wp.where(flip, b, a)
                points.body_b[k] = wp.where(flip, a, b)
                points.arm_a[k] = wp.where(flip, arm_b, arm_a)
                points.arm_b[k] = wp.where(flip, arm_a, arm_b)
                points.normal[k] = wp.normalize(wp.where(flip, -n, n))
                points.friction[k] = scalar(mixed(shapes.material_mu[s], shapes.material_mu[t], materials.friction))
                e = mixed(shapes.material_restitution[s], shapes.material_restitution[t], materials.restitution)
                points.restitution[k] = scalar(e)
                points.stiffness[k] = scalar(0.5 * (shapes.material_ke[s] + shapes.material_ke[t]))
                points.damping[k] = scalar(0.5 * (shapes.material_kd[s] + shapes.material_kd[t]))
            k = next_item(work, k)

    return fill_points
