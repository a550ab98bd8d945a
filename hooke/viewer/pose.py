"""Kernels that move the drawn geometry to the poses of a frame and find its normals."""

import warp as wp

wp.set_module_options({"enable_backward": False})


@wp.func
def usable(p: wp.vec3):
    """A position; the origin for one that is not a number, so that a run that blew up can still be looked at."""
    if wp.isfinite(p[0]) and wp.isfinite(p[1]) and wp.isfinite(p[2]):
        return p
    return wp.vec3(0.0)


@wp.kernel(enable_backward=False)
def place(
    particle_q: wp.array(dtype=wp.vec3),
    body_q: wp.array(dtype=wp.transform),
    source: wp.array(dtype=wp.int32),
    local: wp.array(dtype=wp.vec3),
    points: wp.array(dtype=wp.vec3),
):
    """Vertices of surfaces: a particle for source >= 0, fixed to the world for -1, to body b for -2 - b."""
    v = wp.tid()
    s = source[v]
    p = local[v]
    if s >= 0:
        p = particle_q[s]
    elif s < -1:
        p = wp.transform_point(body_q[-2 - s], p)
    points[v] = usable(p)


@wp.kernel(enable_backward=False)
def face_normals(points: wp.array(dtype=wp.vec3), indices: wp.array(dtype=wp.int32), normal: wp.array(dtype=wp.vec3)):
    """Normals of triangles, as long as twice their areas."""
    f = wp.tid()
    a = points[indices[3 * f]]
    normal[f] = wp.cross(points[indices[3 * f + 1]] - a, points[indices[3 * f + 2]] - a)


@wp.kernel(enable_backward=False)
def corner_normals(
    start: wp.array(dtype=wp.int32),
    faces: wp.array(dtype=wp.int32),
    face_normal: wp.array(dtype=wp.vec3),
    first: int,
    normal: wp.array(dtype=wp.vec3),
):
    """Unit normals of the corners of triangles, averaged by area over the faces that are smooth there."""
    c = wp.tid()
    total = wp.vec3(0.0)
    for k in range(start[c], start[c + 1]):
        total += face_normal[faces[k]]
    normal[first + c] = wp.normalize(total)


@wp.kernel(enable_backward=False)
def bead_bounds(
    ends: wp.array(dtype=wp.vec3),
    radius: wp.array(dtype=wp.float32),
    lower: wp.array(dtype=wp.vec3),
    upper: wp.array(dtype=wp.vec3),
):
    """Bounding boxes of capsules."""
    i = wp.tid()
    r = wp.vec3(radius[i])
    lower[i] = wp.min(ends[2 * i], ends[2 * i + 1]) - r
    upper[i] = wp.max(ends[2 * i], ends[2 * i + 1]) + r
