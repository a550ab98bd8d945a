"""Small mechanisms that several tests of SolverKamino share."""

import math

import numpy as np
import warp as wp

from hooke import ModelBuilder

Dof = ModelBuilder.JointDofConfig
SIDE = 0.112
INERTIA = np.diag([1.0e-4, 2.0e-4, 3.0e-4])


def link(b, label=None, mass=1.0, inertia=INERTIA, **options):
    return b.add_link(mass=mass, inertia=inertia, label=label, **options)


def four_bar(b=None, fixed=False, **options):
    """A square of four bars with hinges at its corners; the last hinge closes the loop."""
    b = ModelBuilder() if b is None else b
    h = 0.5 * SIDE
    bars = [link(b, f"bar {k}", xform=wp.transform((x, 0.0, z + h), wp.quat_identity()))
            for k, (x, z) in enumerate([(0, -h), (h, 0), (0, h), (-h, 0)])]  # fmt: skip
    ends = [((h, 0, 0), (0, 0, -h)), ((0, 0, h), (h, 0, 0)), ((-h, 0, 0), (0, 0, h)), ((0, 0, -h), (-h, 0, 0))]
    limits = {"axis": "Y", "limit_lower": -math.pi / 4, "limit_upper": math.pi / 4, **options}
    root = [b.add_joint_fixed(-1, bars[0], label="base")] if fixed else []
    hinges = [
        b.add_joint_revolute(bars[k], bars[(k + 1) % 4], label=f"hinge {k}", parent_xform=at(p), child_xform=at(c), **limits)
        for k, (p, c) in enumerate(ends)
    ]
    b.add_articulation(root + hinges[:3])
    return b


def at(p):
    return wp.transform(tuple(map(float, p)), wp.quat_identity())


def cartpole(b=None, **pole):
    """A cart on a rail and a pole on the cart."""
    b = ModelBuilder() if b is None else b
    cart, rod = link(b, "cart"), link(b, "pole", mass=0.2)
    rail = b.add_joint_prismatic(
        -1, cart, axis="Y", limit_lower=-4.0, limit_upper=4.0, effort_limit=1000.0, actuator_mode=4, label="rail"
    )
    b.add_articulation([rail, b.add_joint_revolute(cart, rod, axis="X", label="pivot", **pole)])
    return b


def legged(b=None, legs=4, **drive):
    """A trunk that floats and legs of two links with drives, as a quadruped has them."""
    b = ModelBuilder() if b is None else b
    drive = {"target_ke": 30.0, "target_kd": 1.0, "effort_limit": 20.0, **drive}
    trunk = link(b, "trunk", mass=8.0)
    joints = [b.add_joint_free(trunk, label="root")]
    for k in range(legs):
        above = trunk
        for part in ("hip", "knee"):
            below = link(b, f"{part} link {k}")
            joints.append(b.add_joint_revolute(above, below, axis="Y", label=f"{part} {k}", **drive))
            above = below
    b.add_articulation(joints)
    return b


def nunchaku(b=None):
    """Three bodies that float, with a ball joint between each and the next."""
    b = ModelBuilder() if b is None else b
    bodies = [link(b, f"part {k}") for k in range(3)]
    joints = [b.add_joint_free(bodies[0], label="root")]
    joints += [b.add_joint_ball(bodies[k], bodies[k + 1], label=f"ball {k}") for k in range(2)]
    b.add_articulation(joints)
    return b


def free_box(b=None):
    b = ModelBuilder() if b is None else b
    b.add_body(mass=1.0, inertia=INERTIA, label="box")
    return b


def one_joint(adder, **child):
    """A parent that floats and a child, with the joint that ``adder(builder, parent, child)`` adds between them."""
    b = ModelBuilder()
    parent, arm = link(b, "parent"), link(b, "arm", **child)
    b.add_articulation([b.add_joint_free(parent, label="root"), adder(b, parent, arm)])
    return b


def build(builder, **options):
    return builder.finalize(device="cpu", **options)
