"""Mechanisms with loops for the tests of forward kinematics, and how far their joints are from closed."""

import numpy as np

from hooke import JointType, ModelBuilder
from hooke.scenes.bodies import anchors
from hooke.scenes.linkage import add_bar, add_hinge, add_plate

DRIVE = {"target_ke": 100.0, "target_kd": 1.0, "actuator_mode": 1}


def ring(radius, angles, height):
    return [np.array([radius * np.cos(a), radius * np.sin(a), height]) for a in np.radians(angles)]


def stewart():
    """A platform on six legs of two parts each, balls at both ends and a drive between the parts."""
    b = ModelBuilder()
    below = ring(0.5, [5, 115, 125, 235, 245, 355], 0.0)
    above = ring(0.3, [55, 65, 175, 185, 295, 305], 0.6)
    plate = add_plate(b, [above[k] for k in (0, 2, 4)], label="platform")
    tree, closing = [], []
    for k in range(6):
        middle = 0.5 * (below[k] + above[k])
        lower = add_bar(b, below[k], middle, label=f"cylinder {k}")
        upper = add_bar(b, middle, above[k], label=f"rod {k}")
        tree.append(b.add_joint_ball(-1, lower, label=f"foot {k}", **anchors(b, -1, lower, below[k])))
        at_middle = anchors(b, lower, upper, middle)
        half = 0.5 * float(np.linalg.norm(middle - below[k]))
        at_middle = {"parent_xform": (0, 0, half, 0, 0, 0, 1), "child_xform": (0, 0, -half, 0, 0, 0, 1)}
        tree.append(b.add_joint_prismatic(lower, upper, axis="Z", label=f"leg {k}", **at_middle, **DRIVE))
        (tree if k == 0 else closing).append((upper, plate, above[k], f"head {k}"))
    joints = [j if isinstance(j, int) else b.add_joint_ball(j[0], j[1], label=j[3], **anchors(b, *j[:3])) for j in tree]
    b.add_articulation(sorted(joints))
    for parent, child, place, label in closing:
        b.add_joint_ball(parent, child, label=label, **anchors(b, parent, child, place))
    return b


def delta():
    """A platform that three arms move by pairs of rods between balls; the rods could spin."""
    b = ModelBuilder()
    height, arm, wide = 1.0, 0.2, 0.04
    below = 0.6
    joints, closing = [], []
    plate = add_plate(b, ring(0.06, [0, 120, 240], below), label="platform")
    for k in range(3):
        a = np.radians(120.0 * k)
        out, side = np.array([np.cos(a), np.sin(a), 0.0]), np.array([-np.sin(a), np.cos(a), 0.0])
        shoulder = 0.15 * out + np.array([0.0, 0.0, height])
        elbow = shoulder + arm * out
        body = add_bar(b, shoulder, elbow, label=f"arm {k}")
        ends = anchors(b, -1, body, shoulder)
        turn = (0.0, 0.0, np.sin(0.5 * a), np.cos(0.5 * a))  # the axis is that of the arm
        ends["parent_xform"] = (*shoulder, *turn)
        q = np.asarray(b.body_q[body][3:7], np.float64)
        ends["child_xform"] = (*tuple(ends["child_xform"])[:3], *compose(inverse(q), np.array(turn)))
        joints.append(b.add_joint_revolute(-1, body, axis="Y", label=f"shoulder {k}", **ends, **DRIVE))
        for s in (-1, 1):
            top, end = elbow + s * wide * side, 0.06 * out + s * wide * side + np.array([0.0, 0.0, below])
            rod = add_bar(b, top, end, label=f"forearm {k} {s}")
            joints.append(b.add_joint_ball(body, rod, label=f"elbow {k} {s}", **anchors(b, body, rod, top)))
            closing.append((rod, plate, end, f"wrist {k} {s}"))
    first, *others = closing
    joints.append(b.add_joint_ball(first[0], first[1], label=first[3], **anchors(b, *first[:3])))
    b.add_articulation(joints)
    for parent, child, place, label in others:
        b.add_joint_ball(parent, child, label=label, **anchors(b, parent, child, place))
    return b


def inverse(q):
    return np.array([-q[0], -q[1], -q[2], q[3]])


def compose(p, q):
    v, w, a, b = p[:3], p[3], q[:3], q[3]
    return np.array([*(w * a + b * v + np.cross(v, a)), w * b - v @ a])


def rotate(q, v):
    t = 2.0 * np.cross(q[:3], v)
    return v + q[3] * t + np.cross(q[:3], t)


def errors(model, com, rotation):
    """Of every joint the largest part of the locked motion of its anchors [m or rad], and the coordinate of hinges and sliders."""
    kinds, axis = model.joint_type.numpy(), model.joint_axis.numpy().astype(np.float64)
    parents, children, first = model.joint_parent.numpy(), model.joint_child.numpy(), model.joint_qd_start.numpy()
    frames = [model.joint_X_p.numpy().astype(np.float64), model.joint_X_c.numpy().astype(np.float64)]
    center = model.body_com.numpy().astype(np.float64)
    worst, coordinate = np.zeros(len(kinds)), np.full(len(kinds), np.nan)

    def anchor(body, frame):
        turn = frame[3:] / np.linalg.norm(frame[3:])
        if body < 0:
            return frame[:3], turn
        return com[body] + rotate(rotation[body], frame[:3] - center[body]), compose(rotation[body], turn)

    for j, kind in enumerate(kinds.tolist()):
        (p, pq), (c, cq) = anchor(parents[j], frames[0][j]), anchor(children[j], frames[1][j])
        gap, turn = rotate(inverse(pq), c - p), compose(inverse(pq), cq)
        turn = turn * (1.0 if turn[3] >= 0 else -1.0)
        a = axis[first[j]] / np.linalg.norm(axis[first[j]]) if first[j] < len(axis) else None
        if kind == int(JointType.BALL):
            worst[j] = np.abs(gap).max()
        elif kind == int(JointType.REVOLUTE):
            worst[j] = max(np.abs(gap).max(), np.abs(np.cross(a, rotate(turn, a))).max())
            coordinate[j] = 2.0 * np.arctan2(turn[:3] @ a, turn[3])
        elif kind == int(JointType.PRISMATIC):
            coordinate[j] = gap @ a
            worst[j] = max(np.abs(gap - coordinate[j] * a).max(), 2.0 * np.abs(turn[:3]).max())
        elif kind == int(JointType.FIXED):
            worst[j] = max(np.abs(gap).max(), 2.0 * np.abs(turn[:3]).max())
    return worst, coordinate


__all__ = ["add_hinge", "delta", "errors", "rotate", "stewart"]
