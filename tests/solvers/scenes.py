"""Small scenes for the tests of the solver."""

import numpy as np

import hooke
from tests.support import UPRIGHT, add_points, finalize, surface, tilted


def add_cloth(builder, height=0.1, cells=3, **more):
    """A small cloth above the plane z = 0, hinges and dampers included."""
    options = {"tri_ke": 200.0, "tri_ka": 200.0, "tri_kd": 0.1, "edge_ke": 0.01, "edge_kd": 1e-4, "particle_radius": 0.02}
    options = {"rot": UPRIGHT, **options, **more}
    builder.add_cloth_grid(
        pos=(0.0, 0.0, height), vel=(0.0, 0.0, 0.0), dim_x=cells, dim_y=cells, cell_x=0.1, cell_y=0.1, mass=0.02,
        **options,
    )  # fmt: skip


def cloth_on_slope(angle=0.2, height=0.1):
    """A cloth that falls on a slope and comes to rest there."""
    builder = hooke.ModelBuilder(gravity=tilted(angle))
    builder.add_ground_plane(cfg=surface(mu=0.5))
    add_cloth(builder, height)
    return finalize(builder)


def cloths_in_worlds(count=3, angle=0.2):
    """The same cloth on the same slope in ``count`` worlds, and a particle that belongs to none."""
    builder = hooke.ModelBuilder(gravity=tilted(angle))
    builder.add_ground_plane(cfg=surface(mu=0.5))
    add_points(builder, [(5.0, 0.0, 0.03)], 0.1, radius=0.02)
    for _ in range(count):
        builder.begin_world()
        add_cloth(builder, 0.03)
        builder.end_world()
    return finalize(builder)


def falling_particles(count=3):
    builder = hooke.ModelBuilder()
    add_points(builder, np.arange(count)[:, None] * (1.0, 0.0, 0.0), velocity=(1.0, 0.0, 2.0))
    return finalize(builder)


def arrays_of(state):
    """Positions and velocities as they are, bit by bit."""
    return state.particle_q.numpy().copy(), state.particle_qd.numpy().copy()


def same(a, b):
    """Whether two states hold the same numbers bit by bit."""
    return all(np.array_equal(x, y) for x, y in zip(arrays_of(a), arrays_of(b), strict=True))
