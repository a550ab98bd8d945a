"""Smooth mechanisms that are trees: where they are after one second, against MuJoCo with the same numbers and small steps."""

import numpy as np
import pytest

from tests.kamino.scenes import UPRIGHT, Dof, Run, X, Y, Z, builder_of, finished

SECONDS, STEP = 1.0, 1.0e-4


class Twins:
    """A mechanism that is built for both engines at once; a body's frame is at its joint's anchor plus ``offset``."""

    def __init__(self, mujoco, gravity=(0.0, 0.0, -9.81)):
        self.mujoco, self.spec, self.builder = mujoco, mujoco.MjSpec(), builder_of(gravity[2])
        self.spec.option.gravity = gravity
        self.spec.option.integrator = mujoco.mjtIntegrator.mjINT_IMPLICIT
        self.spec.option.timestep = STEP
        self.spec.option.disableflags = mujoco.mjtDisableBit.mjDSBL_CONTACT | mujoco.mjtDisableBit.mjDSBL_LIMIT
        self.bodies, self.joints, self.places = [], [], []

    def add(self, parent, kind, anchor, offset, axis=(0, 1, 0), mass=1.0, inertia=(0.01, 0.02, 0.03), **options):
        """A body behind a joint at ``anchor``, in the frame of the parent body; several kinds of axes are those of one joint."""
        m, b = self.mujoco, self.builder
        above = self.spec.worldbody if parent < 0 else self.bodies[parent]
        place = np.asarray(anchor, float) + offset
        body = above.add_body(pos=place, mass=mass, inertia=inertia, ipos=[0, 0, 0], iquat=[1, 0, 0, 0], explicitinertial=True)
        several = isinstance(axis[0], tuple)
        types = {"revolute": m.mjtJoint.mjJNT_HINGE, "prismatic": m.mjtJoint.mjJNT_SLIDE, "ball": m.mjtJoint.mjJNT_BALL}
        given = {name: options.get(name, 0.0) for name in ("armature", "damping", "stiffness")}
        for kind_of_axis, direction in zip(kind, axis, strict=True) if several else [(kind, axis)]:
            body.add_joint(type=types[kind_of_axis], pos=-np.asarray(offset, float), axis=direction, **given)
        world = place + (0 if parent < 0 else self.places[parent])
        mine = b.add_link(xform=(*world, *UPRIGHT), mass=mass, inertia=np.diag(inertia))
        frames = {"parent_xform": (*anchor, *UPRIGHT), "child_xform": (*(-np.asarray(offset, float)), *UPRIGHT)}
        if several:
            axes = {f: [Dof(axis=a) for k, a in zip(kind, axis, strict=True) if k == t] for f, t in
                    (("linear_axes", "prismatic"), ("angular_axes", "revolute"))}  # fmt: skip
            self.joints.append(b.add_joint_d6(parent, mine, **frames, **axes))
        else:
            add = {"revolute": b.add_joint_revolute, "prismatic": b.add_joint_prismatic, "ball": b.add_joint_ball}[kind]
            self.joints.append(add(parent, mine, **frames, **({} if kind == "ball" else {"axis": axis}), **options))
        self.bodies.append(body)
        self.places.append(world)
        return mine

    def compare(self, efforts):
        """Run both; positions of bodies [m] and how far they went."""
        self.builder.add_articulation(self.joints)
        model = self.spec.compile()
        data = self.mujoco.MjData(model)
        of = [body.id for body in self.bodies]
        data.qfrc_applied[:] = efforts
        for _ in range(round(SECONDS / STEP)):
            self.mujoco.mj_step(model, data)
        self.mujoco.mj_kinematics(model, data)
        run = Run(finished(self.builder))
        before = run.q[:, :3].copy()
        run.control.joint_f.assign(np.asarray(efforts, np.float32))
        run.step(round(SECONDS / STEP), STEP)
        return run.q[:, :3], data.xpos[of], np.abs(run.q[:, :3] - before).max(), run.q[:, 3:], data.xquat[of][:, [1, 2, 3, 0]]


def check(twins, efforts):
    x, reference, way, turns, other = twins.compare(efforts)
    assert way > 0.1
    np.testing.assert_allclose(x, reference, atol=1e-3 * way)
    assert np.abs(np.abs(np.sum(turns * other, axis=1)) - 1.0).max() < 1e-5  # half the square of a third of a degree


def test_a_double_pendulum_in_space():
    """Hinges about axes that are not parallel."""
    twins = Twins(pytest.importorskip("mujoco"))
    twins.add(-1, "revolute", (0, 0, 0), (0.25, 0, 0), (0, 1, 0), mass=1.0)
    twins.add(0, "revolute", (0.25, 0, 0), (0.25, 0, 0), (0, 0, 1), mass=0.5)
    twins.add(1, "revolute", (0.25, 0, 0), (0.1, 0, -0.1), (1, 0, 0), mass=0.3)
    check(twins, [0.0, 0.3, 0.02])


def test_a_cart_with_two_poles():
    twins = Twins(pytest.importorskip("mujoco"))
    twins.add(-1, "prismatic", (0, 0, 0), (0, 0, 0), (0, 1, 0), mass=1.0, damping=0.3)
    twins.add(0, "revolute", (0, 0, 0), (0, 0.02, 0.375), (1, 0, 0), mass=0.2)
    twins.add(0, "revolute", (0, 0, 0), (0, 0.02, -0.2), (1, 0, 0), mass=0.2, armature=0.02, damping=0.01, stiffness=0.4)
    check(twins, [1.0, 0.0, 0.0])


def test_balls_on_a_turntable():
    twins = Twins(pytest.importorskip("mujoco"))
    twins.add(-1, "revolute", (0, 0, 0), (0, 0, 0), (0, 0, 1), mass=2.0, inertia=(0.2, 0.2, 0.3))
    twins.add(0, "ball", (0.3, 0, 0), (0, 0.1, -0.3), mass=0.7)
    twins.add(1, "ball", (0, 0, -0.1), (0.1, 0, -0.2), mass=0.4)
    check(twins, [2.0] + [0.0] * 6)


def test_joints_of_several_axes():
    """A cylindrical and a universal joint, a gimbal and a Cartesian one: efforts belong to the same rates in both engines."""
    twins = Twins(pytest.importorskip("mujoco"), gravity=(0.0, 0.0, -2.0))
    twins.add(-1, ("prismatic", "revolute"), (0, 0, 0), (0, 0.1, 0.05), (X, X), mass=1.0)
    twins.add(0, ("revolute",) * 2, (0, 0, 0.1), (0.1, 0, 0.1), (Y, Z), mass=0.7)
    twins.add(-1, ("revolute",) * 3, (1, 0, 0), (0.1, 0.05, -0.2), (X, Y, Z), mass=1.2)
    twins.add(2, ("prismatic",) * 3, (0, 0, -0.1), (0, 0, -0.1), (X, Y, Z), mass=0.5)
    check(twins, [0.2, 0.02, 0.05, 0.03, 0.1, -0.05, 0.04, 0.1, 0.2, 1.1])
