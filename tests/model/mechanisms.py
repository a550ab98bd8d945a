"""Small mechanisms that several tests of joints share."""

import numpy as np
import warp as wp

from hooke import JointType, ModelBuilder

Dof = ModelBuilder.JointDofConfig
INERTIA = np.eye(3)


def pose(p=(0.0, 0.0, 0.0), q=(0.0, 0.0, 0.0, 1.0)):
    q = np.asarray(q, float)
    return wp.transform(p, wp.quat(*(q / np.linalg.norm(q)).tolist()))


def random_pose(rng):
    return pose(rng.uniform(-1, 1, 3).tolist(), rng.normal(size=4))


def link(b, rng=None, **options):
    """A body with mass; with ``rng`` its pose and centre of mass are random."""
    if rng is not None:
        options = {"xform": random_pose(rng), "com": rng.uniform(-0.3, 0.3, 3), **options}
    return b.add_link(mass=1.0, inertia=INERTIA, **options)


def some_dofs(axes, **options):
    return [Dof(axis=axis, **options) for axis in axes]


OBLIQUE = [(1, 0, 0), (1, 1, 0), (0, 1, 1)]
ADDERS = {
    "free": lambda b, p, c, **o: b.add_joint_free(c, parent=p, **o),
    "fixed": lambda b, p, c, **o: b.add_joint_fixed(p, c, **o),
    "revolute": lambda b, p, c, **o: b.add_joint_revolute(p, c, axis=(1.0, 2.0, -2.0), **o),
    "prismatic": lambda b, p, c, **o: b.add_joint_prismatic(p, c, axis=(0.0, 3.0, 4.0), **o),
    "ball": lambda b, p, c, **o: b.add_joint_ball(p, c, **o),
    "distance": lambda b, p, c, **o: b.add_joint_distance(p, c, **o),
    "rod": lambda b, p, c, **o: b.add_joint_rod(p, c, **o),
    "cylindrical": lambda b, p, c, **o: b.add_joint_d6(p, c, linear_axes=some_dofs("z"), angular_axes=some_dofs("z"), **o),
    "universal": lambda b, p, c, **o: b.add_joint_d6(p, c, angular_axes=some_dofs("xz"), **o),
    "cartesian": lambda b, p, c, **o: b.add_joint_d6(p, c, linear_axes=some_dofs("zxy"), **o),
    "gimbal": lambda b, p, c, **o: b.add_joint_d6(p, c, angular_axes=some_dofs("zyx"), **o),
    "planar": lambda b, p, c, **o: b.add_joint_d6(p, c, linear_axes=some_dofs("xy"), angular_axes=some_dofs("z"), **o),
    "all six": lambda b, p, c, **o: b.add_joint_d6(p, c, linear_axes=some_dofs("xyz"), angular_axes=some_dofs("xyz"), **o),
    "oblique": lambda b, p, c, **o: b.add_joint_d6(p, c, linear_axes=some_dofs(OBLIQUE[:2]), angular_axes=some_dofs(OBLIQUE), **o),
}  # fmt: skip
"""All kinds whose coordinates determine the pose, by name."""


def random_tree(rng, kinds=tuple(ADDERS), builder=None):
    """A free root and one body for each kind, every one on a body before it; poses, anchors and centres of mass are random."""
    b = ModelBuilder() if builder is None else builder
    bodies = [link(b, rng)]
    joints = [b.add_joint_free(bodies[0], parent_xform=random_pose(rng), child_xform=random_pose(rng))]
    for kind in kinds:
        bodies.append(link(b, rng))
        frames = {"parent_xform": random_pose(rng), "child_xform": random_pose(rng)}
        joints.append(ADDERS[kind](b, bodies[rng.integers(len(bodies) - 1)], bodies[-1], **frames))
    b.add_articulation(joints)
    return b


def random_coordinates(model, rng, size=1.0):
    """Coordinates and velocities; quaternions are unit ones."""
    q, qd = rng.uniform(-size, size, model.joint_coord_count), rng.normal(size=model.joint_dof_count)
    starts, types = model.joint_q_start.numpy(), model.joint_type.numpy()
    for j, code in enumerate(types):
        if code in (JointType.BALL, JointType.FREE, JointType.DISTANCE, JointType.ROD):
            last = starts[j + 1]
            turn = rng.normal(size=4)
            turn *= np.sign(turn[3]) / np.linalg.norm(turn)
            q[last - 4 : last] = turn
    return q, qd


def state_at(model, q, qd):
    state = model.state()
    state.joint_q.assign(np.asarray(q, np.float32))
    state.joint_qd.assign(np.asarray(qd, np.float32))
    return state
