"""The kernels of kinematics: how the poses and velocities of bodies follow from the coordinates of joints, and the other way.

With X_wp and X_wc the anchors of a joint in the world, R the rotation of X_wp, and the relative motion (v, omega) of its kind
(:mod:`hooke.joints.kind`), the pose and the twist of the child are

    X_child = X_parent X_p J(q) X_c^-1                                                                          (1)
    omega_child = omega_parent + R omega
    v_child = v_parent + omega_parent x (com_child - com_parent) + R v + R omega x (com_child - x)              (2)

where twists have the velocity of the centre of mass, and x is the point whose velocity v is: the child anchor, or com_child.
"""

from typing import Any

import warp as wp

from hooke.execution.work import Work, first_item, next_item
from hooke.joints.dispatch import has_transform, is_at_com, joint_axes, joint_coordinates, joint_rates, joint_transform
from hooke.joints.layout import JointLayout, joint_place
from hooke.joints.rotation import rotation_vector
from hooke.joints.rows import relative_pose, relative_twist
from hooke.model.tables import Bodies, JointDofs, Joints

__all__ = [
    "JointSelection", "JointTree", "fill_jacobian", "find_coordinates", "follow_mimics", "mark_articulations", "measure_joints",
    "move_bodies",
]  # fmt: skip


@wp.struct
class JointTree:
    """Where the numbers of joints are, and the joints of articulations, parents first."""

    layout: JointLayout
    order: wp.array(dtype=wp.int32)
    start: wp.array(dtype=wp.int32)
    end: wp.array(dtype=wp.int32)


@wp.struct
class JointSelection:
    """Which joints a call concerns: those of some articulations, some joints, those whose child has some of the flags.

    ``by_articulation`` and ``by_joint`` say whether the masks are there; without the first, joints outside articulations are included.
    """

    by_articulation: wp.int32
    articulations: wp.array(dtype=wp.bool)
    by_joint: wp.int32
    joints: wp.array(dtype=wp.bool)
    flags: wp.int32


@wp.func
def is_selected(selection: JointSelection, joints: Joints, bodies: Bodies, j: int):
    """Whether joint ``j`` is among those of a call."""
    chosen = (bodies.flags[joints.child[j]] & selection.flags) != 0
    if selection.by_joint != 0:
        chosen = chosen and selection.joints[j]
    if selection.by_articulation != 0:
        a = joints.articulation[j]
        if a < 0:
            chosen = False
        else:
            chosen = chosen and selection.articulations[a]
    return chosen


@wp.func
def parent_anchor(joints: Joints, body_q: wp.array(dtype=wp.transform), j: int):
    """X_wp."""
    x = joints.X_p[j]
    if joints.parent[j] >= 0:
        x = body_q[joints.parent[j]] * x
    return x


@wp.func
def com_of(bodies: Bodies, body_q: wp.array(dtype=wp.transform), b: int):
    """Centre of mass in the world; the origin for the world."""
    c = wp.vec3(0.0, 0.0, 0.0)
    if b >= 0:
        c = wp.transform_point(body_q[b], bodies.com[b])
    return c


@wp.func
def twist_of(body_qd: wp.array(dtype=wp.spatial_vector), b: int):
    """Twist of a body; zero for the world."""
    t = wp.spatial_vector()
    if b >= 0:
        t = body_qd[b]
    return t


@wp.func
def reference_point(joints: Joints, bodies: Bodies, body_q: wp.array(dtype=wp.transform), j: int):
    """The point x of (2), when the child has its pose."""
    child = joints.child[j]
    x = wp.transform_point(body_q[child], wp.transform_get_translation(joints.X_c[j]))
    if is_at_com(joints.type[j]):
        x = com_of(bodies, body_q, child)
    return x


@wp.func
def move_child(
    joints: Joints, dofs: JointDofs, bodies: Bodies, tree: JointTree, j: int, q: wp.array(dtype=wp.float32),
    qd: wp.array(dtype=wp.float32), body_q: wp.array(dtype=wp.transform), body_qd: wp.array(dtype=wp.spatial_vector),
):  # fmt: skip
    """(1) and (2) for one joint."""
    code, child, parent = joints.type[j], joints.child[j], joints.parent[j]
    place = joint_place(tree.layout, j)
    base = parent_anchor(joints, body_q, j)
    body_q[child] = base * joint_transform(code, place, dofs.axis, q) * wp.transform_inverse(joints.X_c[j])
    v, omega = wp.vec3(0.0, 0.0, 0.0), wp.vec3(0.0, 0.0, 0.0)
    for k in range(place.linear + place.angular):
        unit_v, unit_omega = joint_axes(code, place, dofs.axis, q, k)
        v += qd[place.qd + k] * unit_v
        omega += qd[place.qd + k] * unit_omega
    turn = wp.transform_get_rotation(base)
    v, omega = wp.quat_rotate(turn, v), wp.quat_rotate(turn, omega)
    own = twist_of(body_qd, parent)
    own_v, own_omega = wp.spatial_top(own), wp.spatial_bottom(own)
    com = com_of(bodies, body_q, child)
    arm = com - reference_point(joints, bodies, body_q, j)
    v = own_v + wp.cross(own_omega, com - com_of(bodies, body_q, parent)) + v + wp.cross(omega, arm)
    body_qd[child] = wp.spatial_vector(v, own_omega + omega)


@wp.kernel(enable_backward=False)
def move_bodies(
    work: Work, selection: JointSelection, joints: Joints, dofs: JointDofs, bodies: Bodies, tree: JointTree,
    q: wp.array(dtype=wp.float32), qd: wp.array(dtype=wp.float32), body_q: wp.array(dtype=wp.transform),
    body_qd: wp.array(dtype=wp.spatial_vector),
):  # fmt: skip
    """Forward kinematics of articulations."""
    a = first_item(work, wp.tid())
    while a >= 0:
        for n in range(tree.start[a], tree.end[a]):
            j = tree.order[n]
            if has_transform(joints.type[j]) and is_selected(selection, joints, bodies, j):
                move_child(joints, dofs, bodies, tree, j, q, qd, body_q, body_qd)
        a = next_item(work, a)


@wp.func
def find_child(
    joints: Joints, dofs: JointDofs, bodies: Bodies, tree: JointTree, j: int, body_q: wp.array(dtype=wp.transform),
    body_qd: wp.array(dtype=wp.spatial_vector), q: wp.array(dtype=wp.float32), qd: wp.array(dtype=wp.float32),
):  # fmt: skip
    """The inverse of (1) and (2) for one joint."""
    code, child, parent = joints.type[j], joints.child[j], joints.parent[j]
    place = joint_place(tree.layout, j)
    base = parent_anchor(joints, body_q, j)
    found = joint_coordinates(code, place, dofs.axis, relative_pose(base, body_q[child] * joints.X_c[j]))
    for i in range(tree.layout.q[j + 1] - place.q):
        q[place.q + i] = found[i]
    x, com_parent, com_child = (
        reference_point(joints, bodies, body_q, j),
        com_of(bodies, body_q, parent),
        com_of(bodies, body_q, child),
    )
    v, omega = relative_twist(x, com_parent, twist_of(body_qd, parent), com_child, body_qd[child])
    turn = wp.transform_get_rotation(base)
    v, omega = wp.quat_rotate_inv(turn, v), wp.quat_rotate_inv(turn, omega)
    for k in range(place.linear + place.angular):
        f, t = joint_rates(code, place, dofs.axis, q, k)
        qd[place.qd + k] = wp.dot(f, v) + wp.dot(t, omega)


@wp.kernel(enable_backward=False)
def find_coordinates(
    work: Work, selection: JointSelection, joints: Joints, dofs: JointDofs, bodies: Bodies, tree: JointTree,
    body_q: wp.array(dtype=wp.transform), body_qd: wp.array(dtype=wp.spatial_vector), q: wp.array(dtype=wp.float32),
    qd: wp.array(dtype=wp.float32),
):  # fmt: skip
    """Coordinates and velocities of joints from the poses and twists of bodies."""
    j = first_item(work, wp.tid())
    while j >= 0:
        if has_transform(joints.type[j]) and is_selected(selection, joints, bodies, j):
            find_child(joints, dofs, bodies, tree, j, body_q, body_qd, q, qd)
        j = next_item(work, j)


@wp.func
def fill_columns(
    joints: Joints, dofs: JointDofs, bodies: Bodies, tree: JointTree, i: int, com: wp.vec3, first_dof: int,
    body_q: wp.array(dtype=wp.transform), q: wp.array(dtype=wp.float32), a: int, row: int, jacobian: wp.array3d(dtype=wp.float32),
):  # fmt: skip
    """What the velocities of joint ``i`` do to a body behind it, whose centre of mass is ``com``."""
    place = joint_place(tree.layout, i)
    turn = wp.transform_get_rotation(parent_anchor(joints, body_q, i))
    arm = com - reference_point(joints, bodies, body_q, i)
    for k in range(place.linear + place.angular):
        v, omega = joint_axes(joints.type[i], place, dofs.axis, q, k)
        omega = wp.quat_rotate(turn, omega)
        v = wp.quat_rotate(turn, v) + wp.cross(omega, arm)
        for n in range(3):
            jacobian[a, row + n, place.qd + k - first_dof] = v[n]
            jacobian[a, row + 3 + n, place.qd + k - first_dof] = omega[n]


@wp.kernel(enable_backward=False)
def fill_jacobian(
    work: Work, selection: JointSelection, joints: Joints, dofs: JointDofs, bodies: Bodies, tree: JointTree,
    body_q: wp.array(dtype=wp.transform), q: wp.array(dtype=wp.float32), jacobian: wp.array3d(dtype=wp.float32),
):  # fmt: skip
    """Six rows for every joint of an articulation: how the twist of its child follows from the velocities of joints."""
    j = first_item(work, wp.tid())
    while j >= 0:
        a = joints.articulation[j]
        if a >= 0 and is_selected(selection, joints, bodies, j):
            row, first_dof = 6 * (j - tree.start[a]), tree.layout.qd[tree.start[a]]
            for n in range(6):
                for k in range(jacobian.shape[2]):
                    jacobian[a, row + n, k] = 0.0
            com = com_of(bodies, body_q, joints.child[j])
            i = int(j)
            while i >= 0:
                if has_transform(joints.type[i]):
                    fill_columns(joints, dofs, bodies, tree, i, com, first_dof, body_q, q, a, row, jacobian)
                    i = joints.ancestor[i]
                else:
                    i = -1  # its child follows from no coordinates
        j = next_item(work, j)


@wp.kernel(enable_backward=False)
def measure_joints(
    work: Work, joints: Joints, dofs: JointDofs, tree: JointTree, body_q: wp.array(dtype=wp.transform), q: wp.array(dtype=wp.float32),
    error: wp.array(dtype=wp.vec2),
):  # fmt: skip
    """Distance and angle between where a child is and where the coordinates put it."""
    j = first_item(work, wp.tid())
    while j >= 0:
        error[j] = wp.vec2(0.0, 0.0)
        if has_transform(joints.type[j]):
            there = parent_anchor(joints, body_q, j) * joint_transform(joints.type[j], joint_place(tree.layout, j), dofs.axis, q)
            x = relative_pose(there, body_q[joints.child[j]] * joints.X_c[j])
            turn = wp.length(rotation_vector(wp.normalize(wp.transform_get_rotation(x))))
            error[j] = wp.vec2(wp.length(wp.transform_get_translation(x)), turn)
        j = next_item(work, j)


@wp.kernel(enable_backward=False)
def mark_articulations(work: Work, indices: wp.array(dtype=wp.int32), mask: wp.array(dtype=wp.bool)):
    """Set the mask at some indices; those that are out of range are passed over."""
    i = first_item(work, wp.tid())
    while i >= 0:
        if indices[i] >= 0 and indices[i] < mask.shape[0]:
            mask[indices[i]] = True
        i = next_item(work, i)


@wp.kernel(enable_backward=False)
def follow_mimics(
    work: Work, selection: JointSelection, joints: Joints, tree: JointTree, leader: wp.array(dtype=wp.int32),
    coeffs: wp.array(dtype=wp.vec2), from_q: wp.array(dtype=wp.float32), from_qd: wp.array(dtype=wp.float32),
    q: wp.array(dtype=wp.float32), qd: wp.array(dtype=wp.float32),
):  # fmt: skip
    """Coordinates and velocities of joints that follow others; those of the rest are copied."""
    j = first_item(work, wp.tid())
    while j >= 0:
        chosen = selection.by_articulation == 0
        if joints.articulation[j] >= 0 and not chosen:
            chosen = selection.articulations[joints.articulation[j]]
        if chosen:
            other, pair = int(j), wp.vec2(0.0, 1.0)
            if leader[j] >= 0:
                other = int(leader[j])
                pair = wp.vec2(coeffs[j][0], coeffs[j][1])
            for i in range(tree.layout.q[j + 1] - tree.layout.q[j]):
                q[tree.layout.q[j] + i] = pair[0] + pair[1] * from_q[tree.layout.q[other] + i]
            for i in range(tree.layout.qd[j + 1] - tree.layout.qd[j]):
                qd[tree.layout.qd[j] + i] = pair[1] * from_qd[tree.layout.qd[other] + i]
        j = next_item(work, j)
