"""Signed distances of shapes in NumPy and double precision, from their definitions; for points (n, 3) in the frame of the shape."""

import numpy as np


def plane(p, width=0.0, length=0.0):
    """A half space, or a sheet with one side that reaches down to a tenth of its shorter size; infinite where it is not found."""
    if not width and not length:
        return p[:, 2]
    extents = np.array([width or np.inf, length or np.inf])
    beside = np.maximum(np.abs(p[:, :2]) - extents / 2, 0.0)
    out = (beside > 0).any(axis=1)
    d = np.where(out, np.sqrt((beside**2).sum(axis=1) + p[:, 2] ** 2), p[:, 2])
    lost = (p[:, 2] < 0) & (out | (p[:, 2] < -0.1 * extents.min()))
    return np.where(lost, np.inf, d)


def sphere(p, r):
    return np.linalg.norm(p, axis=1) - r


def box(p, hx, hy, hz):
    q = np.abs(p) - np.array([hx, hy, hz])
    return np.linalg.norm(np.maximum(q, 0), axis=1) + np.minimum(q.max(axis=1), 0)


def capsule(p, r, h):
    offset = p.copy()
    offset[:, 2] -= np.clip(p[:, 2], -h, h)
    return np.linalg.norm(offset, axis=1) - r


def cylinder(p, r, h):
    q = np.stack([np.hypot(p[:, 0], p[:, 1]) - r, np.abs(p[:, 2]) - h], axis=1)
    return np.linalg.norm(np.maximum(q, 0), axis=1) + np.minimum(q.max(axis=1), 0)


def cone(p, r, h):
    """Base at -h, apex at +h: the distance to the two sides of a triangle in the half plane."""
    q = np.stack([np.hypot(p[:, 0], p[:, 1]), p[:, 2]], axis=1)

    def to_segment(a, b):
        a, b = np.array(a, float), np.array(b, float)
        t = np.clip((q - a) @ (b - a) / ((b - a) @ (b - a)), 0, 1)
        return np.linalg.norm(q - a - t[:, None] * (b - a), axis=1)

    d = np.minimum(to_segment((0, -h), (r, -h)), to_segment((r, -h), (0, h)))
    inside = (q[:, 1] > -h) & (q[:, 0] * 2 * h + (q[:, 1] - h) * r < 0)
    return np.where(inside, -d, d)


def ellipsoid(p, *axes):
    """The closest point is a_i^2 p_i / (t + a_i^2), for the largest t that puts it on the surface; found by bisection."""
    a2 = np.array(axes, float) ** 2
    low = np.full(len(p), -a2.min())
    high = np.linalg.norm(p, axis=1) * np.sqrt(a2.max()) * 2 + a2.max()
    for _ in range(200):
        t = 0.5 * (low + high)
        with np.errstate(divide="ignore", over="ignore"):
            value = (a2 * p**2 / (t[:, None] + a2) ** 2).sum(axis=1)
        low, high = np.where(value > 1, t, low), np.where(value > 1, high, t)
    closest = a2 * p / (0.5 * (low + high)[:, None] + a2)
    d = np.linalg.norm(p - closest, axis=1)
    return np.where((p**2 / a2).sum(axis=1) < 1, -d, d)


def to_triangles(p, vertices, triangles):
    """Distance of points to the nearest of some triangles, by projection on faces, edges and corners."""
    x = np.asarray(vertices, float)[np.asarray(triangles).reshape(-1, 3)]
    best = np.full(len(p), np.inf)
    for a, b, c in x:
        n = np.cross(b - a, c - a)
        n = n / np.linalg.norm(n)
        height = (p - a) @ n
        foot = p - height[:, None] * n
        within = np.ones(len(p), bool)
        for s, e in ((a, b), (b, c), (c, a)):
            within &= np.cross(e - s, foot - s) @ n >= 0
            t = np.clip((p - s) @ (e - s) / ((e - s) @ (e - s)), 0, 1)
            best = np.minimum(best, np.linalg.norm(p - s - t[:, None] * (e - s), axis=1))
        best = np.where(within, np.minimum(best, np.abs(height)), best)
    return best


def polyhedron(p, vertices, triangles):
    """A closed mesh; the sign comes from the winding number, so it holds for any mesh and either winding."""
    x = np.asarray(vertices, float)[np.asarray(triangles).reshape(-1, 3)]
    solid_angle = np.zeros(len(p))
    for a, b, c in x:
        u, v, w = a - p, b - p, c - p
        lu, lv, lw = (np.linalg.norm(k, axis=1) for k in (u, v, w))
        dot = lambda i, j: np.einsum("ni,ni->n", i, j)
        denominator = lu * lv * lw + dot(u, v) * lw + dot(v, w) * lu + dot(w, u) * lv
        solid_angle += 2 * np.arctan2(np.einsum("ni,ni->n", u, np.cross(v, w)), denominator)
    d = to_triangles(p, vertices, triangles)
    return np.where(np.abs(solid_angle) > 2 * np.pi, -d, d)


def heightfield(p, heights, hx, hy):
    """Heights (rows along y, columns along x); cells are cut from their lower left to their upper right corner. Beside the grid a
    point below the edge is not found (infinite)."""
    rows, columns = heights.shape
    x, y = np.linspace(-hx, hx, columns), np.linspace(-hy, hy, rows)
    vertices = np.array([(x[j], y[i], heights[i, j]) for i in range(rows) for j in range(columns)])
    corner = lambda i, j: i * columns + j
    triangles = []
    for i in range(rows - 1):
        for j in range(columns - 1):
            triangles += [
                (corner(i, j), corner(i, j + 1), corner(i + 1, j + 1)),
                (corner(i, j), corner(i + 1, j + 1), corner(i + 1, j)),
            ]
    d = to_triangles(p, vertices, triangles)
    u = np.clip((p[:, 0] + hx) / (2 * hx) * (columns - 1), 0, columns - 1 - 1e-12)
    v = np.clip((p[:, 1] + hy) / (2 * hy) * (rows - 1), 0, rows - 1 - 1e-12)
    j, i = u.astype(int), v.astype(int)
    u, v = u - j, v - i
    h00, h01, h10, h11 = heights[i, j], heights[i, j + 1], heights[i + 1, j], heights[i + 1, j + 1]
    surface = np.where(u > v, h00 + u * (h01 - h00) + v * (h11 - h01), h00 + v * (h10 - h00) + u * (h11 - h10))
    beside = (np.abs(p[:, 0]) > hx) | (np.abs(p[:, 1]) > hy)
    below = p[:, 2] < surface
    return np.where(below, np.where(beside, np.inf, -d), d)
