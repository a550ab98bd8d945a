"""Sweeps over patches: which there are, a sweep against its definition, and what they gain."""

import itertools

import numpy as np
import pytest

import hooke
from hooke import config
from hooke.elements import ELEMENTS
from hooke.execution.recorder import launch_directly
from hooke.solvers import SolverVBD
from hooke.solvers.vbd.patches import make_patches, share_out
from tests.support import UPRIGHT, add_points, finalize, simulate, surface

from .test_acceleration import block_on_ground, both_paths, chain, stiff_cloth
from .test_lanes import everything

__all__ = ["both_paths"]


def patches_of(model):
    solver = SolverVBD(model, particle_acceleration="multilevel")
    return solver._sweeps.patches.patches, solver._sweeps.active


# ---- which there are


def test_patches_of_a_level_hold_every_free_particle_once():
    """Of all kinds of elements: levels from coarse to fine, nested, in colours that share no element, connected to the end."""
    model = everything()
    patches, active = patches_of(model)
    free = model.particle_mass.numpy() > 0.0
    assert len(patches.levels) >= 2 and patches.count == sum(len(c) for c in patches.colors)
    for upper, lower in itertools.pairwise(patches.levels):
        assert (upper.patch[free] == patches.parent[lower.patch[free]]).all()
        assert len(np.unique(upper.patch[free])) < len(np.unique(lower.patch[free]))
    assert (patches.parent[np.unique(patches.levels[0].patch[free])] == patches.count).all()
    for level in patches.levels:
        assert ((level.patch >= 0) == free).all()
        color = np.full(patches.count + 1, -1)
        for number, group in enumerate(level.colors):
            color[group] = number
        assert (color[level.patch[free]] >= 0).all()
        for _element, _rows, stencils in active:
            for a, b in itertools.combinations(level.patch[stencils].T, 2):
                both = (a >= 0) & (b >= 0) & (a != b)
                assert (color[a[both]] != color[b[both]]).all()
    last = patches.levels[0]
    for _element, _rows, stencils in active:
        inside = last.patch[stencils]
        assert (inside.max(axis=1)[:, None] == np.where(inside >= 0, inside, inside.max(axis=1)[:, None])).all()


def test_every_element_that_reaches_out_is_counted_once():
    """Shares hold the pairs of patches and elements, each once, with the corners that move; no share has many more than others."""
    model = everything()
    patches, active = patches_of(model)
    entries = patches.all_entries(active, model.tables, model.particle_count + 100)
    shared, owner = share_out(entries, patches, 5)
    assert (np.diff(owner) >= 0).all() and set(owner) == set(range(patches.count))
    for (element, rows, stencils), unshared, mine in zip(active, entries, shared, strict=True):
        wanted = {}
        for level in patches.levels:
            for row, particles in zip(rows, stencils, strict=True):
                groups = level.patch[particles].tolist() + [-2] * (element.size - element.particle_count)
                for p in set(groups) - {-1, -2}:
                    if len(set(groups)) > 1:
                        wanted[row, p] = [g == p for g in groups]
        found = {}
        for e, s in zip(*np.nonzero(mine.node >= 0), strict=True):
            key = (mine.rows[e], owner[mine.node[e, s]])
            assert key not in found and key[1] == unshared.node[e, s]
            found[key] = mine.together(s)[e].tolist()
        assert found == wanted
    sizes = sum(np.bincount(e.node[e.node >= 0], minlength=len(owner)) for e in shared)
    assert sizes.max() <= 5 + len(ELEMENTS)


def test_equal_worlds_have_equal_patches():
    builder, part = hooke.ModelBuilder(), hooke.ModelBuilder()
    part.add_cloth_grid(
        pos=(0.0, 0.0, 1.0), rot=UPRIGHT, vel=(0.0, 0.0, 0.0), dim_x=6, dim_y=6, cell_x=0.1, cell_y=0.1, mass=0.1, fix_left=True,
    )  # fmt: skip
    builder.replicate(part, 3)
    patches, _ = patches_of(finalize(builder))
    for level in patches.levels:
        worlds = level.patch.reshape(3, -1)
        first = [np.unique(w, return_inverse=True)[1] for w in worlds]
        assert (first[0] == first[1]).all() and (first[0] == first[2]).all()


def test_nothing_to_divide():
    """Particles without elements, and one that hangs from fixed ones: plain sweeps."""
    builder = hooke.ModelBuilder()
    add_points(builder, [(0.0, 0.0, 0.0), (1.0, 0.0, 0.0), (3.0, 0.0, 0.0)], [0.0, 1.0, 1.0])
    builder.add_spring(0, 1, 100.0, 0.0)
    model = finalize(builder)
    assert SolverVBD(model, particle_acceleration="multilevel")._sweeps.patches is None
    ends = [simulate(model, steps=5, dt=0.01, particle_acceleration=kind).q for kind in ("anderson", "multilevel")]
    np.testing.assert_array_equal(*ends)
    active = SolverVBD(model)._sweeps.active
    assert make_patches(active, np.array([False, True, True]), np.zeros(3, np.int32)).count == 0


# ---- a sweep by its definition


def test_a_sweep_over_patches_of_a_chain(both_paths):
    """Springs in float64, coarsest patch first: t = - H^-1 g with the springs that reach out; 1e-5 of the longest way."""
    model, dt, links, mass = chain(50.0), 1 / 60, 20, 0.02
    k, rest = 50.0 * mass / dt**2, 1.0 / links
    solver = SolverVBD(model, iterations=1, particle_acceleration="multilevel")
    state, other = model.state(), model.state()
    velocity = np.random.default_rng(0).normal(size=(links + 1, 3)) * 0.3
    velocity[0] = 0.0
    state.particle_qd.assign(velocity)
    sweeps, w = solver._sweeps, solver.workspace
    solver.iterations = 0
    solver.step(state, other, None, None, dt)  # what a step begins with
    solver.iterations = 1
    launch_directly(solver._begin, state, other, None, None, dt)
    arrays = (w.vertices.start, w.vertices.target, w.vertices.displacement)
    start, target, d = (array.numpy()[: links + 1].astype(np.float64) for array in arrays)
    launch_directly(sweeps.patches.sweep, w.rows, None, w.no_world_done, dt)
    sweeps.store()
    found = w.vertices.displacement.numpy()[: links + 1]

    for color in sweeps.patches.patches.colors:
        level = next(v for v in sweeps.patches.patches.levels if color[0] in v.patch)
        for p in color:
            inside = level.patch == p
            gradient, hessian = mass / dt**2 * (d - target)[inside].sum(axis=0), inside.sum() * mass / dt**2 * np.eye(3)
            for i in range(links):
                if inside[i] != inside[i + 1]:
                    way = (start + d)[i + 1] - (start + d)[i]
                    length, sign = np.linalg.norm(way), 1.0 if inside[i + 1] else -1.0
                    u = way / length
                    gradient += sign * k * (length - rest) * u
                    hessian += k * np.outer(u, u) + k * max(0.0, 1.0 - rest / length) * (np.eye(3) - np.outer(u, u))
            d[inside] -= np.linalg.solve(hessian, gradient)
    assert np.abs(found - d).max() < 1e-5 * np.abs(d).max()


@pytest.mark.parametrize("friction", ["anchored", "smoothed"])
def test_lanes_move_like_single_patches(monkeypatch, friction):
    """All kinds of elements, contacts and fixed particles, 10 steps of 2 iterations: 2e-5 m."""
    model, ends = everything(), []
    for lanes in (True, False):
        monkeypatch.setattr(config, "lanes", lanes)
        run = simulate(
            model, steps=10, dt=1 / 300, iterations=2, particle_acceleration="multilevel", particle_contact_friction=friction
        )
        assert (run.solver._sweeps.lanes is not None) == lanes
        ends.append(run.q)
    assert np.abs(ends[0] - ends[1]).max() < 2e-5


def test_sums_of_patches_count_what_touches(both_paths):
    """The sums of the coarsest patch: gradient and block of all particles; those of a block that stands in the ground by 5 mm."""
    builder, dt = hooke.ModelBuilder(), 1 / 120
    builder.add_ground_plane(cfg=surface(ke=1e5, kd=0.0))
    builder.add_soft_grid(
        pos=(0.0, 0.0, 0.02), rot=UPRIGHT, vel=(0.0, 0.0, 0.0), dim_x=4, dim_y=4, dim_z=2, cell_x=0.05, cell_y=0.05, cell_z=0.05,
        density=1e3, k_mu=1e5, k_lambda=1e5, k_damp=1.0, particle_radius=0.01,
    )  # fmt: skip
    model = finalize(builder, ke=1e5, kd=0.0, mu=0.5)
    solver = SolverVBD(model, iterations=1, particle_acceleration="multilevel")
    state, other, contacts = model.state(), model.state(), model.contacts()
    q = state.particle_q.numpy() - (0.0, 0.0, 0.015)
    state.particle_q.assign(q)
    model.collide(state, contacts)
    solver.step(state, other, None, contacts, dt)
    launch_directly(solver._begin, state, other, None, contacts, dt)
    sweeps, w, mass = solver._sweeps, solver.workspace, model.particle_mass.numpy()
    d, target = (array.numpy()[: len(q), 2].copy() for array in (w.vertices.displacement, w.vertices.target))
    launch_directly(sweeps.patches.sweep, w.rows, None, w.no_world_done, dt)
    sums, depth = sweeps.patches.sums.numpy()[:, 0], 0.01 - q[:, 2] - d
    touching = depth > 0.0
    assert touching.sum() == 25
    up = (mass * (d - target)).sum() / dt**2 - 1e5 * depth[touching].sum()
    assert sums[2] == pytest.approx(up, rel=1e-3)
    assert sums[5] == pytest.approx(mass.sum() / dt**2 + 25 * 1e5, rel=1e-3)
    assert sums[15] == len(q) and (sums[9:15] == 0.0).all()


# ---- what they gain


def errors(model, dt, iterations, steps):
    """Errors after some iterations with both accelerations, relative to that after a plain one, from a state in the middle of a motion."""
    begin = simulate(model, steps=steps, dt=dt, iterations=60, particle_acceleration="anderson").state

    def ends(count, kind):
        state = model.state()
        state.assign(begin)
        return simulate(model, steps=1, dt=dt, state=state, iterations=count, particle_acceleration=kind).q

    exact = ends(1500, "multilevel")
    first = np.linalg.norm(ends(1, None) - exact)
    return [np.linalg.norm(ends(iterations, kind) - exact) / first for kind in ("anderson", "multilevel")]


def test_a_stiff_chain_in_ten_iterations(both_paths):
    """k h^2/m = 10,000: less than a fifth of the error is left, where extrapolation alone has not begun to gain."""
    extrapolated, patches = errors(chain(1e4), 1 / 60, 10, steps=20)
    assert patches < 0.2 and extrapolated > 0.9


def test_a_stiff_block_in_three_iterations(both_paths):
    """1e6 Pa, as it hits the ground: less than a fifth of the error is left, with extrapolation alone 0.8."""
    extrapolated, patches = errors(block_on_ground(), 1 / 120, 3, steps=1)
    assert patches < 0.2 and extrapolated > 0.7


def test_a_stiff_cloth_in_five_iterations():
    extrapolated, patches = errors(stiff_cloth(1e4, 16), 1 / 600, 5, steps=20)
    assert patches < 0.75 * extrapolated


# ---- particles that are held later


def test_particles_that_come_to_be_held(both_paths):
    """Pinned and unpinned without telling the solver: held to the bit, and the step converges to the same place as with a new one."""
    model = stiff_cloth(1e3, 6)
    start = simulate(model, steps=5, dt=1 / 300, iterations=30).state
    solver = SolverVBD(model, iterations=400, particle_acceleration="multilevel")
    mass = model.particle_mass.numpy()
    changed = mass.copy()
    changed[[7, 30]], changed[0] = 0.0, mass[10]
    model.particle_mass.assign(changed)
    model.particle_inv_mass.assign(np.where(changed > 0.0, 1.0 / np.where(changed > 0.0, changed, 1.0), 0.0))
    model.particle_flags.fill_(int(hooke.ParticleFlags.ACTIVE))
    ends = []
    for it in (solver, SolverVBD(model, iterations=400, particle_acceleration="multilevel")):
        a, b = model.state(), model.state()
        a.assign(start)
        it.step(a, b, None, None, 1 / 300)
        ends.append(b.particle_q.numpy())
        np.testing.assert_array_equal(ends[-1][[7, 30]], a.particle_q.numpy()[[7, 30]])
    assert np.abs(ends[0] - ends[1]).max() < 1e-5
    assert np.abs(ends[0][0] - start.particle_q.numpy()[0]).max() > 1e-6


# ---- contacts that close


def test_a_particle_that_meets_the_ground_stops_there_in_one_sweep(both_paths):
    """From above, at 2 m/s: m/h^2 (d - y) = k p at once, though the first Newton step does not see the ground."""
    builder = hooke.ModelBuilder(gravity=(0.0, 0.0, 0.0))
    builder.add_ground_plane(cfg=surface(ke=1e5, kd=0.0, mu=0.0))
    add_points(builder, [(0.0, 0.0, 0.012), (0.05, 0.0, 0.013)], 0.1, radius=0.01)
    builder.add_spring(0, 1, 1.0, 0.0)
    model = finalize(builder, ke=1e5, kd=0.0, mu=0.0)
    state = model.state()
    state.particle_qd.assign(np.array([(0.0, 0.0, -2.0)] * 2))
    run = simulate(model, steps=1, dt=0.01, state=state, iterations=1)
    inertia, target = 0.1 / 0.01**2, np.array([0.012, 0.013]) - 0.02
    wanted = (inertia * target + 1e5 * 0.01) / (inertia + 1e5)
    np.testing.assert_allclose(run.q[:, 2], wanted, atol=2e-6)
