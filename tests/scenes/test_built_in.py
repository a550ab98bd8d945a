"""The built-in scenes, small: they build without surfaces that intersect, are coloured, and step; what drives them goes where it should."""

import dataclasses

import numpy as np
import pytest

import hooke
from hooke.geometry import intersecting_triangles
from hooke.geometry.topology import surface_triangles
from hooke.scenes import SCENES, cloth_on_rollers, cloth_twist
from hooke.scenes.garment import mannequin, tunic_panel
from hooke.scenes.rope_net import net_mesh
from hooke.scenes.soft_pile import round_block
from tests.support import SMALL_SCENES

COLLIDING = ("cloth_on_rollers", "cloth_stack", "cloth_twist", "garment", "rope_net", "soft_pile")
"""Scenes whose surfaces feel each other."""


def small(name, self_contacts=False):
    return SCENES[name](self_contacts=self_contacts, **SMALL_SCENES[name])


@pytest.mark.parametrize("name", COLLIDING)
def test_surfaces_begin_apart(name):
    builder = small(name).builder
    assert len(intersecting_triangles(builder.particle_q.array, builder.tri_indices.array, ignore_shared=False)) == 0


@pytest.mark.parametrize("name", COLLIDING)
def test_scenes_step(name):
    result = hooke.run(small(name), seconds=3.0 / 60.0, substeps=4, iterations=3)
    q = result.trajectory.particle_q
    assert np.isfinite(q).all() and (q[-1] != q[0]).any()
    assert q[-1, :, 2].min() > -0.02
    assert np.linalg.norm(q[-1] - q[0], axis=1).max() < 0.3
    assert not result.summary["overflow"]


@pytest.mark.parametrize("name", COLLIDING)
def test_self_contact_is_asked_for_with_distances_that_fit_the_mesh(name):
    assert small(name).solver == {}
    scene = small(name, self_contacts=True)
    x, builder = scene.builder.particle_q.array, scene.builder
    radius, margin = (scene.solver[f"particle_self_contact_{k}"] for k in ("radius", "margin"))
    edges = builder.edge_indices.array[:, 2:]
    shortest = np.linalg.norm(x[edges[:, 0]] - x[edges[:, 1]], axis=1).min()
    assert scene.solver["particle_enable_self_contact"] is True
    assert 0.0 < radius < margin <= 2.0 * radius < shortest


def test_twist_turns_the_ends_of_every_world_against_each_other():
    scene = dataclasses.replace(cloth_twist(n=5, rate=np.pi, turns=1.0, self_contacts=False), solver={})
    result = hooke.run(scene, seconds=0.5, fps=4.0, substeps=10, worlds=2)
    first, *_, last = result.trajectory.particle_q.reshape(-1, 2, 25, 3).astype(np.float64)
    held = result.model.particle_inv_mass.numpy()[:25] == 0.0
    assert held.sum() == 10
    for x, y in zip(first[:, held], last[:, held], strict=True):
        middle, turned = 0.5 * (x.min(0) + x.max(0)), y - 0.5 * (x.min(0) + x.max(0))
        angle = np.pi * (0.5 - 1.0 / 40.0) * np.sign(x[:, 0] - middle[0])  # the last step began then
        arm = x[:, 1] - middle[1]
        assert np.allclose(turned[:, 1], arm * np.cos(angle), atol=1e-6)
        assert np.allclose(turned[:, 2], arm * np.sin(angle), atol=1e-6)
    state = result.model.state()
    scene.drive(result.model, state, 99.0)  # half a turn of each end: they have stopped
    turned = state.particle_q.numpy()[:25][held]
    assert np.allclose(turned[:, 1], -first[0, held, 1], atol=1e-6)


def test_rollers_turn_in_place_and_carry_along_x():
    scene = cloth_on_rollers(n=6, rollers=3, self_contacts=False)
    result = hooke.run(scene, seconds=0.4, substeps=8, iterations=5)
    start, pose = result.model.body_q.numpy(), result.state.body_q.numpy()
    assert np.allclose(start[:, :3], pose[:, :3]) and not np.allclose(start[:, 3:], pose[:, 3:], atol=0.1)
    q = result.state.particle_q.numpy()
    on_top = (np.abs(q[:, 0] + 0.165) < 0.1) & (q[:, 2] > 0.37)
    assert on_top.sum() > 5 and (result.state.particle_qd.numpy()[on_top, 0] > 0.2).all()


def test_the_mannequin_is_closed_and_the_panel_fits_its_double():
    body = mannequin(12)
    assert body.is_watertight and body.faces_outward
    assert len(intersecting_triangles(body.vertices, np.asarray(body.indices).reshape(-1, 3), ignore_shared=False)) == 0
    vertices, triangles, seam = tunic_panel(8, 0.1)
    report = hooke.geometry.check_triangles(vertices, triangles)
    assert report.defects() == [] and len(report.unused_vertices) == 0
    assert np.allclose(np.sort(vertices[seam, 0]), np.sort(-vertices[seam, 0]))
    edge = set(np.unique(report.boundary_edges).tolist())
    assert set(seam.tolist()) < edge


def test_the_net_has_holes():
    places, triangles = net_mesh(3, 4)
    assert len(places) == 14 * 14 - 9 * 4 and len(triangles) == 2 * (13 * 13 - 9 * 9)
    report = hooke.geometry.check_triangles(np.pad(places, ((0, 0), (0, 1))), triangles)
    assert report.defects() == [] and len(report.unused_vertices) == 0
    assert len(report.boundary_edges) == 4 * 13 + 9 * 12  # around it and around every hole


def test_balls_are_round_and_well_shaped():
    vertices, tetrahedra = round_block(4)
    far = np.linalg.norm(vertices[np.unique(surface_triangles(tetrahedra))], axis=1)
    assert far.min() > 0.9 and far.max() < 1.1
    sides = vertices[tetrahedra[:, 1:]] - vertices[tetrahedra[:, :1]]
    volume = np.linalg.det(sides) / 6.0
    assert volume.min() > 0.0 and volume.min() > 0.05 * volume.max()
