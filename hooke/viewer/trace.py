"""Kernels of the renderer: where a ray ends, how the surface there is lit, and how samples become a pixel.

The first pass shoots one ray through the middle of every pixel and keeps in a film what it meets: the light that the
sun and the sky would send, and apart from it how much of both is seen, found with few shadow rays. The second pass
smooths the latter over neighbouring pixels of the same surface; where a neighbour shows something else, it shoots more
rays, so that only edges pay for anti-aliasing. Directions depend on the pixel alone: the same picture every time.
"""

# A variable of Warp starts as int(...) or float(...) of a literal, and its vectors are not those that mypy sees.
# mypy: disable-error-code="assignment, call-overload, type-var, arg-type"

import warp as wp

wp.set_module_options({"enable_backward": False})

GOLDEN = wp.constant(0.6180339887)
PLASTIC = wp.constant(0.7548776662)
TAU = wp.constant(6.2831853)
FAR = wp.constant(1.0e4)  # rays end at this many sizes of the scene


@wp.struct
class View:
    """Camera: a pixel's ray is forward + x right + y up with x, y in [-1, 1]."""

    origin: wp.vec3
    right: wp.vec3
    up: wp.vec3
    forward: wp.vec3
    width: wp.int32
    height: wp.int32
    pixel: wp.float32  # angle of a pixel [rad]


@wp.struct
class Light:
    sun: wp.vec3  # direction towards it
    spread: wp.float32  # its angular radius [rad], 0 for hard shadows, negative for none
    sun_color: wp.vec3
    sky_color: wp.vec3
    ground_color: wp.vec3
    horizon: wp.vec3  # backdrop, already developed
    zenith: wp.vec3
    up: wp.vec3
    occlusion: wp.int32  # rays towards the sky
    reach: wp.float32  # their length [m]


@wp.struct
class Geometry:
    """What can be hit: triangle meshes, capsules (beads) and planes; colours are those of parts."""

    meshes: wp.array(dtype=wp.uint64)
    face_start: wp.array(dtype=wp.int32)
    corner_normal: wp.array(dtype=wp.vec3)
    face_part: wp.array(dtype=wp.int32)
    mesh_count: wp.int32
    beads: wp.uint64
    bead_count: wp.int32
    bead_ends: wp.array(dtype=wp.vec3)  # two for each
    bead_radius: wp.array(dtype=wp.float32)
    bead_part: wp.array(dtype=wp.int32)
    plane_point: wp.array(dtype=wp.vec3)
    plane_normal: wp.array(dtype=wp.vec3)
    plane_part: wp.array(dtype=wp.int32)
    plane_count: wp.int32
    front: wp.array(dtype=wp.vec3)
    back: wp.array(dtype=wp.vec3)
    gloss: wp.array(dtype=wp.float32)
    center: wp.vec3
    size: wp.float32
    grid: wp.float32  # width of a square of the pattern on planes [m]


@wp.struct
class Film:
    """What the first ray of every pixel saw."""

    part: wp.array(dtype=wp.int32)
    position: wp.array(dtype=wp.vec3)
    normal: wp.array(dtype=wp.vec3)
    sun: wp.array(dtype=wp.vec3)
    sky: wp.array(dtype=wp.vec3)
    seen: wp.array(dtype=wp.vec2)  # how much of the sun and of the sky
    haze: wp.array(dtype=wp.float32)


@wp.struct
class Hit:
    distance: wp.float32
    part: wp.int32  # -1 for nothing
    position: wp.vec3
    lifted: wp.vec3  # the point of the smooth surface above, where shadow rays start
    flat: wp.vec3  # normal of the triangle, towards the eye
    normal: wp.vec3  # normal of the smooth surface, towards the eye
    behind: wp.int32  # 1 when the back is seen
    plane: wp.int32  # 1 for a plane


@wp.struct
class Sample:
    sun: wp.vec3
    sky: wp.vec3
    seen: wp.vec2
    haze: wp.float32


@wp.func
def capsule_distance(origin: wp.vec3, direction: wp.vec3, a: wp.vec3, b: wp.vec3, radius: float):
    """Distance along a unit ray to a capsule, -1 for a miss or a start inside."""
    near = wp.dot(a - origin, direction)  # measured from the point nearest to a, which keeps float32 exact far away
    from_a = origin + near * direction - a
    axis = b - a
    axis2 = wp.dot(axis, axis)
    along = wp.dot(axis, direction)
    offset = wp.dot(axis, from_a)
    side = wp.dot(from_a, direction)
    out2 = wp.dot(from_a, from_a)
    height = float(0.0)
    square = axis2 - along * along
    if square > 1.0e-6 * axis2:
        half = axis2 * side - offset * along
        rest = half * half - square * (axis2 * out2 - offset * offset - radius * radius * axis2)
        if rest < 0.0:
            return -1.0
        t = (-half - wp.sqrt(rest)) / square
        height = offset + t * along
        if height > 0.0 and height < axis2:
            return near + t
    elif along < 0.0:
        height = axis2
    if height >= axis2:
        from_a -= axis
        side = wp.dot(from_a, direction)
        out2 = wp.dot(from_a, from_a)
    rest = side * side - out2 + radius * radius
    if rest < 0.0:
        return -1.0
    return near - side - wp.sqrt(rest)


@wp.func
def bead_distance(scene: Geometry, b: int, origin: wp.vec3, direction: wp.vec3):
    return capsule_distance(origin, direction, scene.bead_ends[2 * b], scene.bead_ends[2 * b + 1], scene.bead_radius[b])


@wp.func
def plane_distance(origin: wp.vec3, direction: wp.vec3, point: wp.vec3, normal: wp.vec3):
    """Distance along a ray to the front of a plane, -1 for a miss: a plane is not there for rays from behind."""
    falling = -wp.dot(direction, normal)
    if falling <= 1.0e-6:
        return -1.0
    return wp.dot(origin - point, normal) / falling


@wp.func
def on_mesh(scene: Geometry, found: Hit, direction: wp.vec3, mesh: int, face: int, weight: wp.vec3):
    """Complete a hit of a triangle with the smooth surface that its corner normals describe."""
    hit = found
    hit.part = scene.face_part[scene.face_start[mesh] + face]
    side = float(1.0)
    if wp.dot(hit.flat, direction) > 0.0:
        side = -1.0
        hit.behind = 1
    hit.flat = side * hit.flat
    corner = 3 * (scene.face_start[mesh] + face)
    normal = wp.vec3(0.0)
    lifted = wp.vec3(0.0)
    for i in range(3):
        n = side * scene.corner_normal[corner + i]
        under = wp.min(wp.dot(hit.position - wp.mesh_get_point(scene.meshes[mesh], 3 * face + i), n), 0.0)
        normal += weight[i] * n
        lifted += weight[i] * (hit.position - under * n)
    hit.lifted = lifted
    # A smooth normal that looks away from the eye is bent back to the silhouette.
    normal -= direction * wp.max(wp.dot(normal, direction) + 0.01, 0.0)
    hit.normal = wp.normalize(normal)
    if wp.length_sq(normal) < 1.0e-12:
        hit.normal = hit.flat
    return hit


@wp.func
def closest(scene: Geometry, origin: wp.vec3, direction: wp.vec3, reach: float):
    """The first thing that a ray meets."""
    hit = Hit()
    hit.distance = reach
    hit.part = -1
    mesh = int(-1)
    face = int(0)
    u = float(0.0)
    v = float(0.0)
    for m in range(scene.mesh_count):
        query = wp.mesh_query_ray(scene.meshes[m], origin, direction, hit.distance)
        if query.result:
            hit.distance = query.t
            hit.flat = query.normal
            mesh = m
            face = query.face
            u = query.u
            v = query.v
    bead = int(-1)
    if scene.bead_count > 0:
        search = wp.bvh_query_ray(scene.beads, origin, direction)
        b = int(0)
        while wp.bvh_query_next(search, b, hit.distance):
            t = bead_distance(scene, b, origin, direction)
            if t > 0.0 and t < hit.distance:
                hit.distance = t
                bead = b
    plane = int(-1)
    for p in range(scene.plane_count):
        t = plane_distance(origin, direction, scene.plane_point[p], scene.plane_normal[p])
        if t > 0.0 and t < hit.distance:
            hit.distance = t
            plane = p

    hit.position = origin + hit.distance * direction
    hit.lifted = hit.position
    if plane >= 0:
        hit.part = scene.plane_part[plane]
        hit.flat = scene.plane_normal[plane]
        hit.normal = hit.flat
        hit.plane = 1
    elif bead >= 0:
        hit.part = scene.bead_part[bead]
        axis = scene.bead_ends[2 * bead + 1] - scene.bead_ends[2 * bead]
        from_a = hit.position - scene.bead_ends[2 * bead]
        share = wp.clamp(wp.dot(from_a, axis) / wp.max(wp.dot(axis, axis), 1.0e-20), 0.0, 1.0)
        hit.flat = wp.normalize(from_a - share * axis)
        hit.normal = hit.flat
    elif mesh >= 0:
        hit = on_mesh(scene, hit, direction, mesh, face, wp.vec3(u, v, 1.0 - u - v))
    return hit


@wp.func
def blocked(scene: Geometry, origin: wp.vec3, direction: wp.vec3, reach: float):
    """Whether anything lies on a ray."""
    for m in range(scene.mesh_count):
        if wp.mesh_query_ray_anyhit(scene.meshes[m], origin, direction, reach):
            return True
    if scene.bead_count > 0:
        search = wp.bvh_query_ray(scene.beads, origin, direction)
        b = int(0)
        while wp.bvh_query_next(search, b, reach):
            t = bead_distance(scene, b, origin, direction)
            if t > 0.0 and t < reach:
                return True
    for p in range(scene.plane_count):
        t = plane_distance(origin, direction, scene.plane_point[p], scene.plane_normal[p])
        if t > 0.0 and t < reach:
            return True
    return False


@wp.func
def fraction(x: float):
    return x - wp.floor(x)


@wp.func
def stratum(x: int, y: int):
    """Number of a pixel in a pattern of period 5 in which every 5 x 5 window holds each of 0 .. 24 once."""
    return 5 * ((x + 2 * y) % 5) + (2 * x + y) % 5


@wp.func
def perpendicular(n: wp.vec3):
    if wp.abs(n[2]) < 0.7:
        return wp.normalize(wp.vec3(n[1], -n[0], 0.0))
    return wp.normalize(wp.vec3(0.0, n[2], -n[1]))


@wp.func
def tilted(axis: wp.vec3, radius: float, turn: float):
    """The unit vector at a sine ``radius`` from ``axis``, at ``turn`` of a full circle around it."""
    s = perpendicular(axis)
    t = wp.cross(axis, s)
    angle = TAU * turn
    return radius * (wp.cos(angle) * s + wp.sin(angle) * t) + wp.sqrt(wp.max(1.0 - radius * radius, 0.0)) * axis


@wp.func
def smooth(low: float, high: float, x: float):
    t = wp.clamp((x - low) / (high - low), 0.0, 1.0)
    return t * t * (3.0 - 2.0 * t)


@wp.func
def covered(x: float, width: float):
    """Integral of the square wave of period 2 over a window around x, per width: -1 to 1."""
    a = wp.abs(fraction(0.5 * (x - 0.5 * width)) - 0.5)
    b = wp.abs(fraction(0.5 * (x + 0.5 * width)) - 0.5)
    return 2.0 * (a - b) / width


@wp.func
def pattern(scene: Geometry, hit: Hit, direction: wp.vec3, pixel: wp.float32):
    """Faint checks on a plane, averaged over the pixel: a factor of the colour."""
    n = hit.normal
    s = wp.vec3(1.0, 0.0, 0.0)
    if wp.abs(n[0]) > 0.7:
        s = wp.vec3(0.0, 1.0, 0.0)
    s = wp.normalize(s - wp.dot(s, n) * n)
    t = wp.cross(n, s)
    width = hit.distance * pixel / (wp.max(-wp.dot(direction, n), 0.02) * scene.grid) + 1.0e-3
    return 1.0 + 0.05 * covered(wp.dot(hit.position, s) / scene.grid, width) * covered(wp.dot(hit.position, t) / scene.grid, width)


@wp.func
def backdrop(light: Light, direction: wp.vec3):
    return wp.lerp(light.horizon, light.zenith, smooth(-0.05, 0.75, wp.dot(direction, light.up)))


@wp.func
def shade(scene: Geometry, light: Light, hit: Hit, direction: wp.vec3, pixel: wp.float32):
    """Light that leaves a hit point towards the eye if the point sees the sun and all of the sky."""
    n = hit.normal
    color = scene.front[hit.part]
    if hit.behind == 1:
        color = scene.back[hit.part]
    gloss = scene.gloss[hit.part]
    haze = float(0.0)
    if hit.plane == 1:
        color = color * pattern(scene, hit, direction, pixel)
        haze = smooth(2.0, 14.0, wp.length(hit.position - scene.center) / scene.size)
    facing = wp.max(-wp.dot(n, direction), 0.0)
    grazing = wp.pow(1.0 - facing, 5.0)
    mirror = direction + 2.0 * facing * n
    lit = wp.max(wp.dot(n, light.sun), 0.0)
    shine = gloss * (0.35 + 3.0 * grazing) * wp.pow(wp.max(wp.dot(mirror, light.sun), 0.0), 60.0)
    around = wp.lerp(light.ground_color, light.sky_color, 0.5 + 0.5 * wp.dot(n, light.up))
    reflected = wp.lerp(light.ground_color, light.sky_color, smooth(-0.2, 0.4, wp.dot(mirror, light.up)))
    out = Sample()
    out.sun = wp.cw_mul(light.sun_color, color * lit + wp.vec3(shine))
    out.sky = wp.cw_mul(around, color) + reflected * (gloss * (0.03 + 0.5 * grazing))
    out.seen = wp.vec2(1.0, 1.0)
    out.haze = haze
    return out


@wp.func
def sight(scene: Geometry, light: Light, hit: Hit, x: int, y: int):
    """Shares of the sun and of the sky that a hit point sees, by the rays that are the turn of pixel (x, y).

    The 25 pixels of any window together shoot one well spread set of directions: averaging over it leaves no noise.
    """
    start = hit.lifted + hit.flat * (1.0e-3 * scene.size + 1.0e-6 * hit.distance)
    turn = stratum(x, y)
    sun = float(1.0)
    if light.spread >= 0.0:
        share = (float(turn) + 0.5) / 25.0
        towards = tilted(light.sun, wp.sin(light.spread) * wp.sqrt(share), GOLDEN * float(turn))
        if wp.dot(hit.flat, light.sun) <= 0.0 or blocked(scene, start, towards, 1.0e3 * scene.size):
            sun = 0.0
    hidden = float(0.0)
    for k in range(light.occlusion):
        number = turn + 25 * k
        share = (float(number) + 0.5) / (25.0 * float(light.occlusion))
        towards = tilted(hit.normal, wp.sqrt(share), GOLDEN * float(number))
        # A length drawn evenly lets what is near count more than what is far.
        if blocked(scene, start, towards, light.reach * fraction(PLASTIC * float(number))):
            hidden += 1.0
    return wp.vec2(sun, 1.0 - hidden / float(wp.max(light.occlusion, 1)))


@wp.func
def develop(light: Light, sample: Sample, direction: wp.vec3):
    """Radiance to display intensity: a filmic curve, then the haze of the distance."""
    c = sample.sun * sample.seen[0] + sample.sky * sample.seen[1]
    for i in range(3):
        c[i] = wp.min(c[i] * (2.51 * c[i] + 0.03) / (c[i] * (2.43 * c[i] + 0.59) + 0.14), 1.0)
    return wp.lerp(c, backdrop(light, direction), sample.haze)


@wp.func
def ray(view: View, x: float, y: float):
    """Unit direction through a point of the picture in pixels."""
    right = 2.0 * x / float(view.width) - 1.0
    up = 1.0 - 2.0 * y / float(view.height)
    return wp.normalize(view.forward + right * view.right + up * view.up)


@wp.kernel(enable_backward=False)
def expose(view: View, scene: Geometry, light: Light, first: int, film: Film):
    """Shoot one ray through the middle of each pixel from ``first`` on."""
    i = first + wp.tid()
    x = i % view.width
    y = i / view.width
    direction = ray(view, float(x) + 0.5, float(y) + 0.5)
    hit = closest(scene, view.origin, direction, FAR * scene.size)
    film.part[i] = hit.part
    if hit.part >= 0:
        sample = shade(scene, light, hit, direction, view.pixel)
        film.position[i] = hit.position
        film.normal[i] = hit.normal
        film.sun[i] = sample.sun
        film.sky[i] = sample.sky
        film.haze[i] = sample.haze
        film.seen[i] = wp.vec2(1.0, 1.0)
        if sample.haze < 1.0:
            film.seen[i] = sight(scene, light, hit, x, y)


@wp.func
def alike(film: Film, i: int, part: int, position: wp.vec3, normal: wp.vec3, near: float):
    """Whether pixel i shows the surface that has this position and normal."""
    if film.part[i] != part:
        return False
    if part < 0:
        return True
    if wp.dot(film.normal[i], normal) < 0.9:
        return False
    return wp.abs(wp.dot(normal, film.position[i] - position)) < near


@wp.func
def at_edge(view: View, film: Film, i: int, near: float):
    """Whether one of the four neighbours of pixel i shows something else."""
    part = film.part[i]
    position = film.position[i]
    normal = film.normal[i]
    x = i % view.width
    if x > 0 and not alike(film, i - 1, part, position, normal, near):
        return True
    if x < view.width - 1 and not alike(film, i + 1, part, position, normal, near):
        return True
    if i >= view.width and not alike(film, i - view.width, part, position, normal, near):
        return True
    return i + view.width < view.width * view.height and not alike(film, i + view.width, part, position, normal, near)


@wp.func
def smoothed(view: View, film: Film, x: int, y: int, part: int, position: wp.vec3, normal: wp.vec3, near: float):
    """What a surface sees of sun and sky, averaged over the pixels around (x, y) that show it; -1 if none does."""
    total = wp.vec2(0.0, 0.0)
    count = float(0.0)
    for b in range(wp.max(y - 2, 0), wp.min(y + 3, view.height)):
        for a in range(wp.max(x - 2, 0), wp.min(x + 3, view.width)):
            j = b * view.width + a
            if alike(film, j, part, position, normal, near):
                total += film.seen[j]
                count += 1.0
    if count == 0.0:
        return wp.vec2(-1.0, -1.0)
    return total / count


@wp.func
def edge_color(view: View, scene: Geometry, light: Light, film: Film, x: int, y: int, samples: int, near: wp.float32):
    """Average over samples x samples rays of a pixel."""
    color = wp.vec3(0.0)
    for k in range(samples * samples):
        dx = (float(k % samples) + 0.5) / float(samples)
        dy = (float(k / samples) + 0.5) / float(samples)
        direction = ray(view, float(x) + dx, float(y) + dy)
        hit = closest(scene, view.origin, direction, FAR * scene.size)
        if hit.part >= 0:
            sample = shade(scene, light, hit, direction, view.pixel)
            sample.seen = smoothed(view, film, x, y, hit.part, hit.position, hit.normal, near * hit.distance)
            if sample.seen[0] < 0.0:
                sample.seen = sight(scene, light, hit, x + k, y)
            color += develop(light, sample, direction)
        else:
            color += backdrop(light, direction)
    return color / float(samples * samples)


@wp.kernel(enable_backward=False)
def resolve(view: View, scene: Geometry, light: Light, film: Film, first: int, samples: int, image: wp.array2d(dtype=wp.uint8)):
    """Turn the film into colours; pixels at edges average ``samples`` x ``samples`` rays of their own."""
    i = first + wp.tid()
    x = i % view.width
    y = i / view.width
    part = film.part[i]
    near = 4.0 * view.pixel  # how far from a plane is still on it, for each metre of distance
    reach = float(0.0)
    if part >= 0:
        reach = near * wp.length(film.position[i] - view.origin)
    direction = ray(view, float(x) + 0.5, float(y) + 0.5)
    color = backdrop(light, direction)
    if samples > 1 and at_edge(view, film, i, reach):
        color = edge_color(view, scene, light, film, x, y, samples, near)
    elif part >= 0:
        sample = Sample()
        sample.sun = film.sun[i]
        sample.sky = film.sky[i]
        sample.seen = smoothed(view, film, x, y, part, film.position[i], film.normal[i], reach)
        sample.haze = film.haze[i]
        color = develop(light, sample, direction)
    # Half a step of ordered noise hides the steps of smooth gradients.
    noise = 0.25 + 0.02 * float(stratum(x, y))
    for c in range(3):
        value = wp.clamp(color[c], 0.0, 1.0)
        if value < 0.0031308:
            value = 12.92 * value
        else:
            value = 1.055 * wp.pow(value, 1.0 / 2.4) - 0.055
        image[i, c] = wp.uint8(255.0 * value + noise)
