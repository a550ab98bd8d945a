"""Small surfaces for the tests of self-contact."""

import numpy as np

import hooke
from hooke.geometry.intersect import intersecting_triangles
from tests.support import UPRIGHT, add_points, finalize, simulate

OPTIONS = {
    "particle_enable_self_contact": True,
    "particle_self_contact_radius": 0.01,
    "particle_self_contact_margin": 0.0175,
}


def run(model, *, steps, dt=1 / 240, **more):
    """A simulation with self-contact."""
    return simulate(model, steps=steps, dt=dt, **{**OPTIONS, **more})


def add_sheet(builder, pos, cells=4, cell=0.05, vel=(0.0, 0.0, 0.0), **more):
    """A square cloth, its corner at ``pos``."""
    options = {"tri_ke": 200.0, "tri_ka": 200.0, "tri_kd": 0.0, "edge_ke": 1e-3, "edge_kd": 0.0, "particle_radius": 0.01}
    builder.add_cloth_grid(
        pos=pos, rot=UPRIGHT, vel=vel, dim_x=cells, dim_y=cells, cell_x=cell, cell_y=cell, mass=0.2 * cell * cell, **{**options, **more}
    )  # fmt: skip


def two_sheets(speed=1.0, height=0.02, cells=4, gravity=0.0, **material):
    """Two cloths that fly towards each other, turned and shifted so that nothing lies on anything."""
    builder = hooke.ModelBuilder(gravity=gravity)
    add_sheet(builder, (0.0, 0.0, 1.0), cells, vel=(0.0, 0.0, 0.5 * speed))
    builder.add_cloth_grid(
        pos=(0.031, 0.017, 1.0 + height), rot=(0.0, 0.0, 0.149, 0.989), vel=(0.0, 0.0, -0.5 * speed), dim_x=cells, dim_y=cells,
        cell_x=0.04, cell_y=0.04, mass=0.2 * 0.04**2, tri_ke=200.0, tri_ka=200.0, tri_kd=0.0, edge_ke=1e-3, edge_kd=0.0,
        particle_radius=0.01,
    )  # fmt: skip
    return finalize(builder, **{"ke": 1e3, "kd": 0.0, "mu": 0.0, **material})


def folded_sheets(count=2, worlds=0, gravity=-9.81, seed=0, spacing=0.013):
    """Crumpled cloths on a fixed one, in every world the same."""
    rng = np.random.default_rng(seed)
    builder = hooke.ModelBuilder(gravity=(0.0, 0.0, gravity))
    noise = rng.normal(size=(count, 25, 3)) * (0.003, 0.003, 0.002)
    for _world in range(max(worlds, 1)):
        if worlds:
            builder.begin_world()
        first = builder.particle_count
        add_sheet(builder, (-0.05, -0.05, 1.0), 3, 0.1)
        builder.particle_flags.array[first:] = 0
        for n in range(count):
            first = builder.particle_count
            add_sheet(builder, (0.01 * n, 0.013 * n, 1.0 + spacing * (n + 1)))
            builder.particle_q.array[first:] += noise[n]
        if worlds:
            builder.end_world()
    return finalize(builder, ke=1e3, kd=0.1, mu=0.3)


def crossings(model, state):
    """Number of pairs of triangles without a common corner that have a point in common."""
    return len(intersecting_triangles(state.particle_q.numpy(), model.tri_indices.numpy()))


def weight_on_triangle(loads, stiffness=1e3, radius=0.01):
    """A free triangle over a large fixed one, one world per load [N] per vertex; gravity is 10 m/s^2."""
    builder = hooke.ModelBuilder(gravity=(0.0, 0.0, -10.0))
    for load in loads:
        builder.begin_world()
        big = add_points(builder, [(-1.0, -1.0, 0.0), (2.0, -1.0, 0.0), (-1.0, 2.0, 0.0)], 0.0)
        small = add_points(builder, [(0.0, 0.0, 0.98 * radius), (0.1, 0.0, 0.98 * radius), (0.0, 0.1, 0.98 * radius)], load / 10.0)
        for corners in (big, small):
            builder.add_triangle(*(int(i) for i in corners), tri_ke=1e3, tri_ka=1e3, tri_kd=0.0)
        builder.end_world()
    return finalize(builder, ke=stiffness, kd=0.0, mu=0.0)
