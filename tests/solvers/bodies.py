"""Small mechanisms and measures for the tests of rigid bodies."""

from dataclasses import dataclass
from typing import Any

import numpy as np

import hooke
from hooke.model.energy import measure_momentum
from hooke.model.motion import quat_rotate
from hooke.solvers import SolverVBD
from tests.support import UPRIGHT, finalize

Dof = hooke.ModelBuilder.JointDofConfig


@dataclass
class Motion:
    """The last state and the solver of a run of bodies."""

    model: Any
    state: Any
    solver: Any

    @property
    def q(self):
        return self.state.body_q.numpy().astype(np.float64)

    @property
    def qd(self):
        return self.state.body_qd.numpy().astype(np.float64)


def at(*p):
    return (*p, *UPRIGHT)


def move(model, steps, dt, *, state=None, control=None, each=None, solver=None, body_f=None, **options):
    """Step a model; ``each(n, state)`` is called after step n."""
    solver = SolverVBD(model, **options) if solver is None else solver
    state, other = model.state() if state is None else state, model.state()
    if body_f is not None:
        for s in (state, other):
            s.body_f.assign(np.asarray(body_f, np.float32))
    for n in range(steps):
        solver.step(state, other, control, None, dt)
        state, other = other, state
        if each is not None:
            each(n, state)
    return Motion(model, state, solver)


def bar(builder, x, length, mass=1.0, thick=0.1, **options):
    """A link along X whose centre is at ``x``, with the inertia of a box."""
    a, b = mass * thick**2 / 6.0, mass * (length**2 + thick**2) / 12.0
    return builder.add_link(xform=at(*x), mass=mass, inertia=np.diag([a, b, b]), **options)


def chain(count, length, mass=0.1, bob=1.0, joint="ball", gravity=-9.81, **options):
    """Bars along X from the origin, held there; the last has ``bob`` times the mass. ``options`` go to the joints."""
    b = hooke.ModelBuilder(gravity=gravity)
    joints, parent = [], -1
    for i in range(count):
        link = bar(b, ((i + 0.5) * length, 0.0, 0.0), length, mass * (bob if i == count - 1 else 1.0), 0.2 * length)
        ends = {"parent_xform": at(length / 2 if i else 0.0, 0.0, 0.0), "child_xform": at(-length / 2, 0.0, 0.0)}
        joints.append(getattr(b, f"add_joint_{joint}")(parent, link, **ends, **options))
        parent = link
    b.add_articulation(joints)
    return finalize(b)


def one_joint(kind, *, gravity=0.0, mass=1.0, inertia=(0.1, 0.1, 0.1), length=0.0, parent=None, enabled=True, **options):
    """A body held to the world (or to a body of two kilograms) by one joint, its centre ``length`` from there along X."""
    b = hooke.ModelBuilder(gravity=gravity)
    base = -1
    if parent:
        base = b.add_link(mass=2.0, inertia=np.diag([0.1, 0.2, 0.25]), xform=at(0.0, 0.0, 0.0))
    link = b.add_link(xform=at(length, 0.0, 0.0), mass=mass, inertia=np.diag(inertia))
    joint = getattr(b, f"add_joint_{kind}")(base, link, child_xform=at(-length, 0.0, 0.0), enabled=enabled, **options)
    b.add_articulation([joint])
    return finalize(b)


def gaps(motion):
    """Distances of the anchors of all joints."""
    m, q = motion.model, np.vstack([motion.q, at(0.0, 0.0, 0.0)])
    ends = []
    for body, anchor in ((m.joint_parent, m.joint_X_p), (m.joint_child, m.joint_X_c)):
        pose = q[body.numpy()]
        ends.append(pose[:, :3] + quat_rotate(pose[:, 3:], anchor.numpy()[:, :3].astype(np.float64)))
    return np.linalg.norm(ends[0] - ends[1], axis=1)


def coordinates(motion):
    """Joint coordinates and velocities of a state."""
    m = motion.model
    q, qd = m.state().joint_q, m.state().joint_qd
    hooke.eval_ik(m, motion.state, q, qd)
    return q.numpy().astype(np.float64), qd.numpy().astype(np.float64)


def spin_of(motion):
    """Angular momentum about the centre of mass of all, and linear momentum."""
    m = measure_momentum(motion.model, motion.state)
    return m.angular - np.cross(m.com, m.linear), m.linear


def same_bodies(a, b):
    return all(np.array_equal(x.numpy(), y.numpy()) for x, y in ((a.body_q, b.body_q), (a.body_qd, b.body_qd)))


def clamped(**options):
    """The last state of two heavy bodies on fixed joints that start apart, and turn."""
    b = hooke.ModelBuilder()
    one, two = bar(b, (0.5, 0.0, 0.01), 1.0, 5.0), bar(b, (1.5, 0.0, 0.0), 1.0, 50.0)
    ends = {"child_xform": at(-0.5, 0.0, 0.0)}
    b.add_articulation([b.add_joint_fixed(-1, one, **ends), b.add_joint_fixed(one, two, parent_xform=at(0.5, 0.0, 0.0), **ends)])
    model = finalize(b)
    model.body_qd.assign(np.array([[0.0] * 6, [0.0, 0.1, 0.0, 0.0, 0.0, 1.0]], np.float32))
    return move(model, 3, 1.0 / 60.0, **options).state
