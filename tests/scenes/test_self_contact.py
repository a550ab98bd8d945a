"""Built-in scenes whose surfaces meet themselves: in no frame do two triangles have a point in common."""

import numpy as np
import pytest

import hooke
from hooke.geometry.intersect import intersecting_triangles
from hooke.scenes import cloth_stack, cloth_twist
from hooke.solvers import SolverVBD


def crossings_by_frame(scene, frames, stiffness=None):
    """Intersecting pairs of triangles after every frame, the last positions and the solver; friction and damping are the scene's."""
    scene.builder.color(include_bending=True)
    model = scene.builder.finalize(device="cpu")
    for name, value in scene.soft_contact.items():
        setattr(model, f"soft_contact_{name}", value)
    if stiffness is not None:
        model.soft_contact_ke = stiffness
    solver, a, b = SolverVBD(model, iterations=scene.iterations, **scene.solver), model.state(), model.state()
    contacts = model.contacts() if model.shape_count else None
    dt, triangles, found = 1.0 / scene.fps / scene.substeps, model.tri_indices.numpy(), []
    for step in range(frames * scene.substeps):
        if scene.drive is not None:
            scene.drive(model, a, step * dt)
        if contacts is not None:
            model.collide(a, contacts)
        solver.step(a, b, None, contacts, dt)
        a, b = b, a
        if (step + 1) % scene.substeps == 0:
            found.append(len(intersecting_triangles(a.particle_q.numpy(), triangles)))
    return found, a.particle_q.numpy(), a.particle_qd.numpy(), solver


@pytest.mark.parametrize("stiffness", [1.0, 1e3])
def test_a_twisted_cloth_never_crosses_itself(stiffness):
    """Two turns within a second, in the coarse: theory notes, case 32."""
    found, q, _, solver = crossings_by_frame(cloth_twist(n=14, turns=2.0, rate=2.0 * np.pi), 60, stiffness)
    assert found == [0] * 60 and np.isfinite(q).all() and solver.status.ok
    middle = q[(np.abs(q[:, 0]) < 0.1)]
    assert np.linalg.norm(middle[:, 1:] - (0.0, 1.0), axis=1).max() < 0.5


@pytest.mark.slow
@pytest.mark.parametrize("stiffness", [1.0, 1e3])
def test_a_cloth_becomes_a_rope(stiffness):
    """Case 32: 50 x 50 particles, each end pi/3 rad/s for 5 s, 300 frames: none crosses; |x| <= 0.6, 0.9, 0.6 about the middle and
    |v| < 1.5 m/s, the bounds of the peer."""
    found, q, qd, solver = crossings_by_frame(cloth_twist(n=50, turns=10.0 / 3.0), 310, stiffness)
    assert found == [0] * 310 and solver.status.ok
    assert (np.abs(q - (0.0, 0.0, 1.0)).max(axis=0) <= (0.6, 0.9, 0.6)).all()
    assert np.linalg.norm(qd, axis=1).max() < 1.5


def test_a_stack_of_cards():
    """Six cards fall on each other and lie in their order."""
    found, q, _, solver = crossings_by_frame(cloth_stack(cards=6, n=6), 45)
    assert found == [0] * 45 and solver.status.ok
    heights = q.reshape(6, -1, 3)[:, :, 2].mean(axis=1)
    assert (np.diff(heights) > 0.0).all()
    assert isinstance(solver.model, hooke.Model)
