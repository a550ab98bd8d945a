"""Spanning trees of the joints of a description: what is in an articulation, in which order, and what closes a loop."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

from hooke.importers.description import Description, Joint
from hooke.importers.error import FileError
from hooke.joints.kind import JointType

__all__ = ["Tree", "spanning_trees"]

_TURNABLE = (JointType.FIXED, JointType.REVOLUTE, JointType.PRISMATIC, JointType.BALL)


@dataclass
class Tree:
    """One articulation: its root body, whether a joint of the file holds the root, and its joints in order (copies, turned if need be)."""

    root: int
    joints: list[tuple[int, Joint]] = field(default_factory=list)
    grounded: bool = False

    @property
    def bodies(self) -> list[int]:
        """Its bodies in the order of their joints."""
        return list(dict.fromkeys(([] if self.grounded else [self.root]) + [joint.child for _, joint in self.joints]))


def spanning_trees(description: Description, ordering: str | None) -> tuple[list[Tree], list[tuple[int, Joint]]]:
    """Trees of all bodies, and the joints that close loops.

    A root is a body that a joint holds to the world, else one that is no child, else the first of a component. A joint that leads
    from child to parent is turned over (its axis is, so that its coordinate stays) if it is fixed, a hinge, a slider or a ball.

    Args:
        description: The joints.
        ordering: ``"dfs"``, ``"bfs"``, or None for the order of the file.

    Raises:
        ValueError: The ordering is unknown.
        FileError: The order of the file has a joint before the one that moves its parent.
    """
    if ordering not in ("dfs", "bfs", None):
        raise ValueError(f"joint_ordering: expected 'dfs', 'bfs' or None, found {ordering!r}")
    count = len(description.bodies)
    near: list[list[int]] = [[] for _ in range(count)]
    for index, joint in enumerate(description.joints):
        if not joint.loop:
            for body in {joint.parent, joint.child} - {-1}:
                near[body].append(index)
    order = _roots(description, near)
    seen, used = np.zeros(count, bool), np.zeros(len(description.joints), bool)
    trees = []
    for root in order:
        if not seen[root]:
            trees.append(_grow(description, root, near, seen, used, ordering))
    loops = [(index, joint) for index, joint in enumerate(description.joints) if not used[index]]
    return trees, loops


def _roots(description: Description, near: list[list[int]]) -> list[int]:
    """All bodies, component by component in the order of their first bodies; in each those that the world holds, then no one's children."""
    joints = [joint for joint in description.joints if not joint.loop]
    grounded, children = {joint.child for joint in joints if joint.parent < 0}, {joint.child for joint in joints}
    known: set[int] = set()
    order: list[int] = []
    for start in range(len(near)):
        if start in known:
            continue
        component, waiting = [], [start]
        known.add(start)
        while waiting:
            body = waiting.pop()
            component.append(body)
            ends = {end for i in near[body] for end in (description.joints[i].parent, description.joints[i].child)} - {-1} - known
            known |= ends
            waiting += sorted(ends)
        order += sorted(component, key=lambda body: (body not in grounded, body in children, body))
    return order


def _grow(
    description: Description, root: int, near: list[list[int]], seen: np.ndarray, used: np.ndarray, ordering: str | None
) -> Tree:
    tree = Tree(root)
    seen[root] = True
    joints = description.joints
    held = [index for index in near[root] if joints[index].parent < 0]
    if held:
        used[held[0]], tree.grounded = True, True
        tree.joints.append((held[0], joints[held[0]]))
    waiting = [(root, index) for index in near[root]]
    if ordering != "bfs":
        waiting.reverse()
    while waiting:
        body, index = waiting.pop(0 if ordering == "bfs" else -1)
        joint = joints[index]
        if used[index] or joint.parent < 0:
            continue
        if joint.child == body and joint.kind not in _TURNABLE:
            continue
        step = joint if joint.parent == body else turned(joint)
        if seen[step.child]:
            continue
        seen[step.child], used[index] = True, True
        tree.joints.append((index, step))
        more = [(step.child, next_) for next_ in near[step.child]]
        waiting.extend(more if ordering == "bfs" else reversed(more))
    if ordering is None:
        tree.joints.sort(key=lambda entry: entry[0])
        _check_order(description, tree)
    return tree


def _check_order(description: Description, tree: Tree) -> None:
    known = {-1, tree.root}
    for _, joint in tree.joints:
        if joint.parent not in known:
            raise FileError(
                description.path,
                f"{joint.where}: it comes before the joint that moves its parent; use joint_ordering='dfs' or move it in the file",
            )
        known.add(joint.child)


def turned(joint: Joint) -> Joint:
    """The same joint with parent and child exchanged; its coordinate is unchanged since its axes are turned over."""
    flip = lambda dofs: [replace(dof, axis=-dof.axis) for dof in dofs]
    if joint.q is None or joint.kind != JointType.BALL:
        q = joint.q
    else:
        q = [-joint.q[0], -joint.q[1], -joint.q[2], joint.q[3]]
    return replace(
        joint, parent=joint.child, child=joint.parent, parent_pose=joint.child_pose, child_pose=joint.parent_pose,
        linear=flip(joint.linear), angular=flip(joint.angular), q=q,
    )  # fmt: skip
