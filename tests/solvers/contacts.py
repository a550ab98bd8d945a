"""Bodies that touch, for the tests of forces and bounces."""

import numpy as np

import hooke
from hooke.solvers import SolverVBD
from tests.support import UPRIGHT

Material = hooke.ModelBuilder.ShapeConfig


def world(gravity=-9.81, gap=1.0e-3, ground=True, **material):
    """A builder with or without a ground plane, whose contacts have forces."""
    b = hooke.ModelBuilder(gravity=gravity)
    b.default_shape_cfg = Material(gap=gap, **material)
    b.request_contact_attributes("force")
    if ground:
        b.add_ground_plane(cfg=Material(gap=gap, mu=material.get("mu", 1.0)), label="ground")
    return b


def ball(b, p, radius=0.1, **options):
    body = b.add_body(xform=(*p, *UPRIGHT), **options)
    b.add_shape_sphere(body, radius=radius)
    return body


def crate(b, p, half=0.1, **options):
    body = b.add_body(xform=(*p, *options.pop("rotation", UPRIGHT)), **options)
    b.add_shape_box(body, hx=half, hy=half, hz=half, label=f"{options.get('label', 'crate')}/box")
    return body


class Run:
    """Steps of a model with contacts; ``qd`` and ``q`` are those after the last."""

    def __init__(self, model, dt, **options):
        self.model, self.dt, self.solver = model, dt, SolverVBD(model, **options)
        self.state, self.other, self.contacts = model.state(), model.state(), model.contacts()

    def step(self, count=1):
        for _ in range(count):
            self.model.collide(self.state, self.contacts)
            self.solver.step(self.state, self.other, None, self.contacts, self.dt)
            self.state, self.other = self.other, self.state
        return self

    @property
    def q(self):
        return self.state.body_q.numpy().astype(np.float64)

    @property
    def qd(self):
        return self.state.body_qd.numpy().astype(np.float64)

    def forces(self):
        """What the solver collects, up to the count."""
        found = self.solver.collect_rigid_contact_forces(self.state.body_q, None, self.contacts, self.dt)
        count = int(found[5].numpy()[0])
        return [array.numpy()[:count].copy() for array in found[:5]]
