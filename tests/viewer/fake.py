"""Small models and recordings with the documented flat arrays."""

from types import SimpleNamespace

import numpy as np
import warp as wp

from hooke.viewer import Trajectory
from hooke.viewer.record import Plane, ShapeMesh

IDENTITY = (0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0)
SQUARE = np.array([[0, 1, 2], [0, 2, 3]], np.int32)


def array(values, dtype, shape=None):
    return wp.array(np.array(values).reshape(shape or (len(values),)), dtype=dtype, device="cpu")


def model(*, position=(), radius=0.1, flags=None, triangles=(), tetrahedra=(), springs=(), shapes=(), bodies=0, **more):
    """A model; a shape is (type, scale, transform, body, source)."""
    position = np.array(position, np.float32).reshape(-1, 3)
    n = len(position)
    return SimpleNamespace(
        particle_q=wp.array(position, dtype=wp.vec3, device="cpu"),
        particle_radius=array(np.full(n, radius), wp.float32),
        particle_flags=array(np.ones(n, int) if flags is None else flags, wp.int32),
        tri_indices=array(triangles, wp.int32, (-1, 3)),
        tet_indices=array(tetrahedra, wp.int32, (-1, 4)),
        spring_indices=array(np.ravel(springs), wp.int32),
        shape_type=array([s[0] for s in shapes], wp.int32),
        shape_scale=wp.array(np.array([s[1] for s in shapes]).reshape(-1, 3), dtype=wp.vec3, device="cpu"),
        shape_transform=wp.array(np.array([s[2] for s in shapes]).reshape(-1, 7), dtype=wp.transform, device="cpu"),
        shape_body=array([s[3] for s in shapes], wp.int32),
        shape_source=[s[4] for s in shapes],
        shape_flags=array(np.ones(len(shapes), int), wp.int32),
        shape_label=[f"thing/{i}" for i in range(len(shapes))],
        body_q=wp.array(np.array([IDENTITY] * bodies).reshape(-1, 7), dtype=wp.transform, device="cpu"),
        body_label=[f"body_{b}" for b in range(bodies)],
        up_axis=2,
        **more,
    )


def state(position=None, bodies=None):
    def take(values, dtype, width):
        values = None if values is None else np.array(values, np.float32).reshape(-1, width)
        return None if values is None else wp.array(values, dtype=dtype, device="cpu")

    return SimpleNamespace(particle_q=take(position, wp.vec3, 3), body_q=take(bodies, wp.transform, 7))


def box(half):
    """Eight corners and twelve triangles."""
    corners = np.array([[x, y, z] for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)], np.float32) * half
    faces = [(0, 1, 3, 2), (4, 6, 7, 5), (0, 4, 5, 1), (2, 3, 7, 6), (0, 2, 6, 4), (1, 5, 7, 3)]
    return corners, np.array([t for a, b, c, d in faces for t in ((a, b, c), (a, c, d))], np.int32)


def moving(frames=4):
    """A cloth of two triangles, a spring, a loose particle, a body with a box, a fixed ball and a floor."""
    start = [(0, 0, 1), (1, 0, 1), (1, 1, 1), (0, 1, 1), (2, 0, 1), (2, 0, 2), (3, 0, 1)]
    vertices, triangles = box(0.25)
    t = Trajectory(
        fps=30.0,
        particle_radius=np.full(7, 0.1, np.float32),
        triangles=SQUARE.copy(),
        springs=np.array([[4, 5]], np.int32),
        points=np.array([4, 5, 6], np.int32),
        shapes=[
            ShapeMesh("crate/lid", 0, np.array([0, 0, 0.5, 0, 0, 0, 1], np.float32), vertices, triangles, (0.2, 0.4, 0.6)),
            ShapeMesh("ball", -1, np.array(IDENTITY, np.float32), vertices, triangles, None, (0.25, 0.0)),
        ],
        planes=[Plane("floor", np.zeros(3, np.float32), np.array([0, 0, 1], np.float32))],
        body_label=["crate"],
        info={"scene": "test", "dt": np.float32(0.5), "table": [1, 2.5, None]},
    )
    for f in range(frames):
        half = 0.2 * f
        q = np.array(start, np.float64) - [0, 0, 0.1 * f]
        t.append(state(q, [(-1, 0.1 * f, 0.5, 0, 0, np.sin(half), np.cos(half))]), f / 30.0)
    return t
