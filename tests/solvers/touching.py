"""Scenes of bodies that touch, and a loop that collides and steps."""

import numpy as np

import hooke
from hooke.collision.pipeline import CollisionPipeline
from hooke.solvers import SolverVBD
from tests.support import GRAVITY, finalize, surface, tilted

from .bodies import Motion, at

PAGE = {"rigid_compliant_alm": False}


def touch(model, steps, dt, *, state=None, solver=None, pipeline=None, contacts=None, each=None, **options):
    """Collide and step; ``each(n, solver, state)`` is called after every step. ``pipeline`` and ``contacts`` are kept in the result."""
    pipeline = CollisionPipeline(model, contact_matching="latest") if pipeline is None else pipeline
    contacts = pipeline.contacts() if contacts is None else contacts
    solver = SolverVBD(model, **options) if solver is None else solver
    state, other = model.state() if state is None else state, model.state()
    for n in range(steps):
        pipeline.collide(state, contacts)
        solver.step(state, other, None, contacts, dt)
        state, other = other, state
        if each is not None:
            each(n, solver, state)
    motion = Motion(model, state, solver)
    motion.pipeline, motion.contacts = pipeline, contacts
    return motion


def lean(model, angle):
    """Let gravity pull as on a slope that falls along +x."""
    model.gravity.assign(np.tile(tilted(angle), (len(model.gravity), 1)).astype(np.float32))
    return model


def ball(angle=0.0, radius=0.02, spin=0.1, mu=1.0, kd=0.0, ke=2.5e3, mass=1.0):
    """A ball of a kilogram on the ground; ``spin`` is its moment of inertia."""
    b = hooke.ModelBuilder(gravity=-GRAVITY)
    body = b.add_body(mass=mass, inertia=spin * np.eye(3), xform=at(0.0, 0.0, radius))
    b.add_shape_sphere(body, radius=radius, cfg=surface(mu=mu, kd=kd, ke=ke))
    b.add_ground_plane(cfg=surface(mu=mu, kd=kd, ke=ke))
    return lean(finalize(b), angle)


def boxes(count=1, angle=0.0, half=(0.1, 0.1, 0.05), mass=1.0, drop=0.0, ground=True, gravity=-GRAVITY, worlds=1, **material):
    """Boxes on each other on the ground; ``drop`` is the distance between them."""
    one = hooke.ModelBuilder(gravity=gravity)
    a, b, c = (4.0 * h * h for h in half)
    for i in range(count):
        z = half[2] * (2 * i + 1) + drop * (i + 1)
        body = one.add_body(mass=mass, inertia=mass / 12.0 * np.diag([b + c, a + c, a + b]), xform=at(0.0, 0.0, z))
        one.add_shape_box(body, hx=half[0], hy=half[1], hz=half[2], cfg=surface(**material))
    scene = hooke.ModelBuilder(gravity=gravity)
    for _ in range(worlds):
        scene.add_world(one)
    if ground:
        scene.add_ground_plane(cfg=surface(**material))
    return lean(finalize(scene), angle) if gravity else finalize(scene)


def rows_of(motion):
    """Live rows of a solver of the documented formulation: multipliers, loads, flags, penalties."""
    rows, count = motion.solver._rigid.contacts.rows, int(motion.contacts.rigid_contact_count.numpy()[0])
    return tuple(getattr(rows, name).numpy()[:count] for name in ("multiplier", "load", "flag", "penalty"))
