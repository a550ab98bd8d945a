"""Contact sensors: rows and forces of selected shapes and bodies."""

import numpy as np
import pytest

import hooke
from hooke.solvers import SolverVBD
from tests.support import UPRIGHT, add_points, finalize, surface


def two_boxes_on_the_ground():
    """Two boxes of two shapes each, the second beside the first by 5 mm; everything touches the ground."""
    b = hooke.ModelBuilder()
    b.add_ground_plane()
    for name, x in (("left", 0.0), ("right", 0.205)):
        body = b.add_body(xform=(x, 0.0, 0.1, *UPRIGHT), label=name)
        b.add_shape_box(body, hx=0.1, hy=0.1, hz=0.1, label=f"{name}/crate")
        b.add_shape_sphere(body, xform=(0.0, 0.0, 0.2, *UPRIGHT), radius=0.05, label=f"{name}/knob")
    b.rigid_gap = 0.01
    return b


def test_rows_are_counted_by_shape_and_by_body():
    model = two_boxes_on_the_ground().finalize(device="cpu")
    contacts = model.collide(model.state())
    n = int(contacts.rigid_contact_count.numpy()[0])
    pairs = np.stack([contacts.rigid_contact_shape0.numpy()[:n], contacts.rigid_contact_shape1.numpy()[:n]], axis=1)
    label = np.array(model.shape_label)[pairs]
    shapes = hooke.ContactSensor(model, shapes="*/crate")
    shapes.update(contacts)
    assert shapes.labels == ["left/crate", "right/crate"]
    assert shapes.count.numpy().tolist() == [int((label == name).any(axis=1).sum()) for name in shapes.labels]
    bodies = hooke.ContactSensor(model, bodies=["right"], counterparts="ground_plane")
    bodies.update(contacts)
    ground = (label == "ground_plane").any(axis=1) & np.char.startswith(label, "right").any(axis=1)
    assert bodies.count.numpy().tolist() == [int(ground.sum())] == [4]
    assert (bodies.force.numpy() == 0.0).all()


def test_the_force_on_a_shape_is_the_weight_that_rests_on_it():
    """Three particles on a plate: 1 % of their weight, and the torque about the origin; nothing with other counterparts."""
    b = hooke.ModelBuilder()
    b.request_contact_attributes("force")
    b.add_shape_box(-1, xform=(0.0, 0.0, -0.1, *UPRIGHT), hx=1.0, hy=1.0, hz=0.1, cfg=surface(ke=1e4, kd=10.0), label="plate")
    b.add_shape_sphere(-1, xform=(0.0, 0.0, 3.0, *UPRIGHT), radius=0.1, cfg=surface(), label="lamp")
    add_points(b, [(0.3, 0.0, 0.01), (0.5, 0.0, 0.01), (0.7, 0.0, 0.01)], 0.5, radius=0.01)
    model = finalize(b, ke=1e4, kd=10.0, mu=0.5)
    solver, a, c, contacts = SolverVBD(model), model.state(), model.state(), model.contacts()
    sensor = hooke.ContactSensor(model, shapes=["plate", "lamp"])
    deaf = hooke.ContactSensor(model, shapes="plate", counterparts="lamp")
    for _ in range(100):
        model.collide(a, contacts)
        solver.step(a, c, None, contacts, 1 / 100)
        a, c = c, a
    solver.update_contacts(contacts)
    sensor.update(contacts)
    deaf.update(contacts)
    weight = 3 * 0.5 * 9.81
    force = sensor.force.numpy()
    np.testing.assert_allclose(force[0, :3], (0.0, 0.0, -weight), atol=0.01 * weight)
    assert force[0, 4] == pytest.approx(0.5 * weight, rel=0.02)  # r x f about y
    assert (force[1] == 0.0).all() and sensor.count.numpy().tolist() == [3, 0]
    assert deaf.count.numpy().tolist() == [0] and (deaf.force.numpy() == 0.0).all()


@pytest.mark.parametrize("asked", [{}, {"shapes": "*", "bodies": "*"}, {"bodies": "nobody"}])
def test_what_there_is_not_is_refused(asked):
    with pytest.raises(ValueError, match="ContactSensor"):
        hooke.ContactSensor(two_boxes_on_the_ground().finalize(device="cpu"), **asked)
