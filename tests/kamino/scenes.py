"""Small mechanisms for the tests of SolverKamino, and ways to step them."""

import numpy as np

import hooke
from hooke.solvers import SolverKamino
from tests.support import UPRIGHT, finalize

Dof = hooke.ModelBuilder.JointDofConfig
X, Y, Z = (1, 0, 0), (0, 1, 0), (0, 0, 1)


def at(*p):
    return (*p, *UPRIGHT)


def box_inertia(mass, *half):
    """Inertia of a box with half extents."""
    x, y, z = (h * h for h in half)
    return np.diag([y + z, x + z, x + y]) * mass / 3.0


class Run:
    """A model in motion."""

    def __init__(self, model, config=None, state=None):
        self.model, self.solver = model, SolverKamino(model, config)
        self.state, self.other = model.state() if state is None else state, model.state()
        self.control = model.control()

    def step(self, count, dt, each=None):
        for _ in range(count):
            self.solver.step(self.state, self.other, self.control, None, dt)
            self.state, self.other = self.other, self.state
            for name in ("body_f",):
                value = getattr(self.other, name)
                if value is not None:
                    getattr(self.state, name).assign(value)
            if each is not None:
                each(self)
        return self

    @property
    def q(self):
        return self.state.body_q.numpy().astype(np.float64)

    @property
    def qd(self):
        return self.state.body_qd.numpy().astype(np.float64)

    @property
    def joint_q(self):
        return self.state.joint_q.numpy().astype(np.float64)

    @property
    def joint_qd(self):
        return self.state.joint_qd.numpy().astype(np.float64)

    @property
    def forces(self):
        """Multipliers of locked motions."""
        return self.state.joint_lambdas.numpy().astype(np.float64)


def link(builder, x, mass=1.0, half=(0.05, 0.05, 0.05), rotation=UPRIGHT, **options):
    return builder.add_link(xform=(*x, *rotation), mass=mass, inertia=box_inertia(mass, *half), **options)


def builder_of(gravity=-9.81):
    return hooke.ModelBuilder(gravity=gravity)


def pendulum(length=1.0, mass=2.0, angle=0.0, gravity=-9.81, **options):
    """A thin rod along X from a hinge about Y at the origin; ``angle`` turns it about Y."""
    b = builder_of(gravity)
    c, s = np.cos(angle / 2), np.sin(angle / 2)
    center = (0.5 * length * np.cos(angle), 0.0, -0.5 * length * np.sin(angle))
    inertia = np.diag([1e-4, 1.0, 1.0]) * mass * length**2 / 12.0
    inertia[0, 0] = 1e-4 * mass * length**2
    body = b.add_link(xform=(*center, 0.0, s, 0.0, c), mass=mass, inertia=inertia)
    b.add_joint_revolute(-1, body, axis=Y, parent_xform=at(0, 0, 0), child_xform=at(-0.5 * length, 0, 0), **options)
    b.joint_q[-1] = angle
    return b


def four_bar(ground=False, side=0.112, gravity=-9.81, limit=None, **options):
    """Four bars around a square in the plane of X and Z, with hinges about Y at its corners; ``ground`` welds the first to the world.

    The bars are bottom, right, top, left. Their joints are 0-1, 1-2, 2-3 and 3-0; the last closes the loop.
    """
    b, h = builder_of(gravity), 0.5 * side
    places = [(0, -h), (h, 0), (0, h), (-h, 0)]
    bars = []
    for k, (x, z) in enumerate(places):
        half = (0.05, 0.005, 0.005) if k % 2 == 0 else (0.005, 0.005, 0.05)
        bars.append(link(b, (x, 0.0, z), half=half))
    limits = {} if limit is None else {"limit_lower": -limit, "limit_upper": limit}
    joints = []
    root = b.add_joint_fixed(-1, bars[0], parent_xform=at(0, 0, -h)) if ground else b.add_joint_free(bars[0])
    joints.append(root)
    corners = [(h, -h), (h, h), (-h, h), (-h, -h)]
    for k, (x, z) in enumerate(corners):
        a, c = k, (k + 1) % 4
        anchors = [at(x - places[i][0], 0.0, z - places[i][1]) for i in (a, c)]
        joints.append(
            b.add_joint_revolute(bars[a], bars[c], axis=Y, parent_xform=anchors[0], child_xform=anchors[1], **limits, **options)
        )
    b.add_articulation(joints[:4])
    return b


def cartpole(**options):
    """A cart on a rail along Y and a pole on it that turns about X."""
    b = builder_of()
    cart = link(b, (0, 0, 0), half=(0.1, 0.25, 0.1))
    pole = link(b, (0, 0, 0.375), mass=0.2, half=(0.025, 0.025, 0.375))
    j = b.add_joint_prismatic(-1, cart, axis=Y, **options)
    k = b.add_joint_revolute(cart, pole, axis=X, parent_xform=at(0, 0, 0), child_xform=at(0, 0, -0.375))
    b.add_articulation([j, k])
    return b


def replicated(build, count):
    """Worlds that are alike."""
    whole = hooke.ModelBuilder()
    whole.replicate(build, count)
    return whole


def finished(builder):
    return finalize(builder)
