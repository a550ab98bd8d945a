"""The methods of ModelBuilder that add cables and rods: chains and graphs of capsules with elastic joints between them."""

from __future__ import annotations

import warnings
from collections import deque
from dataclasses import dataclass
from typing import Any

import numpy as np

from hooke.data.table import Rows
from hooke.geometry import capsule
from hooke.geometry.kind import GeoType
from hooke.geometry.rod import Rod
from hooke.joints import JointType
from hooke.model.config import JointDofConfig, ShapeConfig
from hooke.model.motion import compose, quat_multiply, quat_rotate

__all__ = ["RodMethods"]

_HALF_TURN = np.array([1.0, 0.0, 0.0, 0.0])  # about x: +Z becomes -Z


@dataclass
class _Link:
    """A connection of two segments: their indices, and which end (0 start, 1 end) of each is at the node."""

    parent: int
    child: int
    parent_end: int
    child_end: int


@dataclass
class _Topology:
    """Links of every connected part, the first segment of each, links outside the trees, and how many were left out."""

    links: list[list[_Link]]
    roots: list[int]
    loops: list[_Link]
    cut: int = 0


@dataclass
class _Plan:
    """What the bodies and joints of a rod are made from: lengths and frames at rest, material of every joint."""

    rod: Rod
    type: JointType
    origin: str
    label: str | None
    lengths: np.ndarray
    frames: np.ndarray
    moduli: list[dict[str, float | None]]

    def name(self, what: str) -> str | None:
        """A label, if the rod has one."""
        return f"{self.label}_{what}" if self.label else None

    def anchor(self, segment: int, end: int) -> np.ndarray:
        """Where on a segment's body its start (0) or its end (1) is."""
        z = self.lengths[segment] * (end - 0.5 if self.origin == "com" else end)
        return np.array([0.0, 0.0, z, 0.0, 0.0, 0.0, 1.0])


class RodMethods:
    """Cable and rod joints, rods and graphs of rods."""

    _tables: dict[str, Rows]
    _add_mass: Any

    def add_joint_cable(
        self, parent: int, child: int, *, parent_xform: Any = None, child_xform: Any = None, stretch_stiffness: float | None = None,
        stretch_damping: float | None = None, bend_stiffness: float | None = None, bend_damping: float | None = None,
        label: str | None = None, collision_filter_parent: bool | None = None, enabled: bool = True,
        custom_attributes: dict[str, Any] | None = None,
    ) -> int:  # fmt: skip
        """Add an elastic joint with one stiffness against separation of the anchors and one against relative rotation.

        At rest the anchors coincide and are turned to each other as in ``body_q``.

        Args:
            parent: As :meth:`add_joint`.
            child: As :meth:`add_joint`.
            parent_xform: As :meth:`add_joint`.
            child_xform: As :meth:`add_joint`.
            stretch_stiffness: Of this joint [N/m]; None is 1e5.
            stretch_damping: [N s/m]; None is 0.
            bend_stiffness: Of this joint, against bending and twisting [N m/rad]; None is 0.
            bend_damping: [N m s/rad]; None is 0.
            label: As :meth:`add_joint`.
            collision_filter_parent: As :meth:`add_joint`.
            enabled: As :meth:`add_joint`.
            custom_attributes: As :meth:`add_joint`.

        Returns:
            Index of the joint.

        Raises:
            ValueError: A stiffness or damping is negative.
        """
        material = _material(
            label or f"joint_{self.joint_count + 1}", stretch=(1.0e5 if stretch_stiffness is None else stretch_stiffness, stretch_damping),
            bend=(bend_stiffness, bend_damping),
        )  # fmt: skip
        linear, angular = [_axis(2, material["stretch"])], [_axis(0, material["bend"])]
        return self.add_joint(
            JointType.CABLE, parent, child, linear_axes=linear, angular_axes=angular, parent_xform=parent_xform, child_xform=child_xform,
            label=label, collision_filter_parent=collision_filter_parent, enabled=enabled, custom_attributes=custom_attributes,
        )  # fmt: skip

    def add_joint_rod(
        self, parent: int, child: int, *, parent_xform: Any = None, child_xform: Any = None, rest_rotation: Any = None,
        stretch_stiffness: float | None = None, stretch_damping: float | None = None, shear_stiffness: float | None = None,
        shear_damping: float | None = None, bend_stiffness: float | None = None, bend_damping: float | None = None,
        twist_stiffness: float | None = None, twist_damping: float | None = None, label: str | None = None,
        collision_filter_parent: bool | None = None, enabled: bool = True, custom_attributes: dict[str, Any] | None = None,
    ) -> int:  # fmt: skip
        """Add an elastic joint along +Z of its anchors, with stretch, shear, bending and twisting apart.

        Args:
            parent: As :meth:`add_joint`.
            child: As :meth:`add_joint`.
            parent_xform: As :meth:`add_joint`.
            child_xform: As :meth:`add_joint`.
            rest_rotation: Rotation of the child anchor in the parent anchor at rest, x y z w; None is that of the authored poses.
            stretch_stiffness: Of this joint [N/m]; None is 1e5.
            stretch_damping: [N s/m]; None is 0.
            shear_stiffness: [N/m]; None is that of stretch.
            shear_damping: [N s/m]; None is that of stretch if the stiffness is None too, else 0.
            bend_stiffness: [N m/rad]; None is 0.
            bend_damping: [N m s/rad]; None is 0.
            twist_stiffness: [N m/rad]; None is that of bending.
            twist_damping: [N m s/rad]; None is that of bending if the stiffness is None too, else 0.
            label: As :meth:`add_joint`.
            collision_filter_parent: As :meth:`add_joint`.
            enabled: As :meth:`add_joint`.
            custom_attributes: As :meth:`add_joint`.

        Returns:
            Index of the joint.

        Raises:
            ValueError: A stiffness or damping is negative, or the rotation is zero or not finite.
        """
        stretch = (1.0e5 if stretch_stiffness is None else stretch_stiffness, stretch_damping)
        bend = (bend_stiffness, bend_damping)
        both = (shear_stiffness, shear_damping), (twist_stiffness, twist_damping)
        shear, twist = (
            (own[0] if own[0] is not None else of[0], own[1] if own != (None, None) else of[1])
            for own, of in zip(both, (stretch, bend), strict=True)
        )
        label = label or f"joint_{self.joint_count + 1}"
        material = _material(label, stretch=stretch, shear=shear, bend=bend, twist=twist)
        linear = [_axis(0, material["shear"]), _axis(1, material["shear"]), _axis(2, material["stretch"])]
        angular = [_axis(0, material["bend"]), _axis(1, material["bend"]), _axis(2, material["twist"])]
        rest = None if rest_rotation is None else np.asarray(rest_rotation, np.float64).reshape(-1)
        if rest is not None and (rest.shape != (4,) or not 1.0e-9 < np.linalg.norm(rest) < np.inf):
            raise ValueError(f"joint {label!r}: expected rest_rotation as a finite quaternion x y z w, found {rest_rotation}")
        joint = self.add_joint(
            JointType.ROD, parent, child, linear_axes=linear, angular_axes=angular, parent_xform=parent_xform, child_xform=child_xform,
            label=label, collision_filter_parent=collision_filter_parent, enabled=enabled, custom_attributes=custom_attributes,
        )  # fmt: skip
        if rest is not None:
            self.joint_rest_q.array[-4:] = rest / np.linalg.norm(rest)
        return joint

    def add_rod(
        self, positions: Any = None, *, rod: Rod | None = None, quaternions: Any = None, radius: float | None = None,
        cfg: ShapeConfig | None = None, stretch_stiffness: float | None = None, stretch_damping: float | None = None,
        shear_stiffness: float | None = None, shear_damping: float | None = None, bend_stiffness: float | None = None,
        bend_damping: float | None = None, twist_stiffness: float | None = None, twist_damping: float | None = None,
        closed: bool = False, label: str | None = None, wrap_in_articulation: bool = True, color: Any = None,
        body_frame_origin: str | None = None, junction_collision_filter: bool = True,
    ) -> tuple[list[int], list[int]]:  # fmt: skip
        """Add a rod: a capsule for every segment, +Z along it, and an elastic joint between neighbours.

        A segment has the mass of its cylinder, and of the half ball at an end where the rod ends, so that the whole has that of its
        density times its volume, whatever the number of segments. Capsules of neighbours overlap, their masses do not.

        With ``rod`` the joints are rod joints (:meth:`add_joint_rod`), and every connected part gets a free joint to the world. With
        ``positions`` they are cable joints (:meth:`add_joint_cable`), and the first body has none.

        Args:
            positions: Points [m] of a chain of two or more segments.
            rod: Points, segments, frames and material, in place of ``positions``, ``quaternions``, ``radius`` and ``closed``.
            quaternions: Frames of the segments; None makes them by parallel transport.
            radius: Radius of the capsules [m]; None is 0.1.
            cfg: Shape settings of the capsules; None takes ``default_shape_cfg``.
            stretch_stiffness: Of every joint [N/m]; None is what the rod's material makes of it, else 1e5.
            stretch_damping: Of every joint [N s/m].
            shear_stiffness: As :meth:`add_joint_rod`, after the rod's material; with ``rod`` only, like the three others of shear and
                twist.
            shear_damping: See above.
            bend_stiffness: Of every joint [N m/rad]; None is what the rod's material makes of it, else 0.
            bend_damping: Of every joint [N m s/rad].
            twist_stiffness: See above.
            twist_damping: See above.
            closed: The last point is the first; a joint outside the articulation connects the last segment with the first.
            label: Prefix of labels: ``{label}_edge_body_{i}``, ``_edge_capsule_{i}``, ``_cable_{n}``, ``_articulation``.
            wrap_in_articulation: Put the joints of every connected part into an articulation.
            color: Colour of the capsules.
            body_frame_origin: "start" or "com", the middle: where on its segment a body's frame is; None is "com" for ``rod``, else
                "start". The centre of mass is the middle, of segments with one half ball a little beyond it.
            junction_collision_filter: Segments that meet where three or more do, do not collide, even if no joint connects them.

        Returns:
            Indices of bodies and joints; free joints to the world are not listed.

        Raises:
            ValueError: Points or frames are not valid, a stiffness is negative, or the material of a rod does not say the stiffness
                of a joint (where three segments meet, or a loop is cut).
        """
        moduli = {
            "stretch": (stretch_stiffness, stretch_damping), "shear": (shear_stiffness, shear_damping),
            "bend": (bend_stiffness, bend_damping), "twist": (twist_stiffness, twist_damping),
        }  # fmt: skip
        build = {
            "cfg": cfg, "label": label, "wrap": wrap_in_articulation, "color": color, "junction": junction_collision_filter,
        }  # fmt: skip
        if rod is not None:
            if positions is not None or quaternions is not None or radius is not None or closed:
                raise ValueError("add_rod: positions, quaternions, radius and closed are those of rod; give one or the other")
            if not isinstance(rod, Rod):
                raise TypeError(f"add_rod: expected rod=hooke.Rod(...), found {rod!r}")
            return self._build_rod(rod, JointType.ROD, moduli, origin=body_frame_origin or "com", **build)
        if positions is None:
            raise ValueError("add_rod: expected rod=hooke.Rod(...) or positions")
        _refuse_split(moduli, "add_rod")
        chain = Rod(positions, quaternions=quaternions, radius=0.1 if radius is None else radius, closed=closed)
        if chain.segment_count < 2:
            raise ValueError(f"add_rod: expected three or more positions, found {chain.point_count}")
        return self._build_rod(chain, JointType.CABLE, moduli, origin=body_frame_origin or "start", **build)

    def add_rod_graph(
        self, node_positions: Any, edges: Any, *, radius: float = 0.1, cfg: ShapeConfig | None = None,
        stretch_stiffness: float | None = None, stretch_damping: float | None = None, bend_stiffness: float | None = None,
        bend_damping: float | None = None, label: str | None = None, wrap_in_articulation: bool = True, quaternions: Any = None,
        color: Any = None, junction_collision_filter: bool = True, body_frame_origin: str | None = None,
    ) -> tuple[list[int], list[int]]:  # fmt: skip
        """Add a graph of cables: a capsule for every edge, cable joints where edges meet.

        With ``wrap_in_articulation`` the joints of every connected part form a tree, found breadth first; edges that would close a
        loop are not joined again, of which a warning tells. Without it the first edge at a node is joined to all others there.

        Args:
            node_positions: Nodes [m], shape (n, 3).
            edges: Pairs of nodes; +Z of a body goes from the first to the second.
            radius: As :meth:`add_rod`, like all below.
            cfg: See above.
            stretch_stiffness: See above.
            stretch_damping: See above.
            bend_stiffness: See above.
            bend_damping: See above.
            label: See above.
            wrap_in_articulation: See above.
            quaternions: See above.
            color: See above.
            junction_collision_filter: See above.
            body_frame_origin: See above; None is "start".

        Returns:
            Indices of bodies and joints.

        Raises:
            ValueError: Nodes, edges or frames are not valid, or a stiffness is negative.
        """
        moduli = {"stretch": (stretch_stiffness, stretch_damping), "bend": (bend_stiffness, bend_damping)}
        graph = Rod(node_positions, edges=edges, quaternions=quaternions, radius=radius)
        return self._build_rod(
            graph, JointType.CABLE, moduli, origin=body_frame_origin or "start", cfg=cfg, label=label, wrap=wrap_in_articulation,
            color=color, junction=junction_collision_filter,
        )  # fmt: skip

    # ---- assembly

    def _build_rod(
        self, rod: Rod, type: JointType, moduli: dict[str, Any], *, origin: str, cfg: Any, label: str | None, wrap: bool, color: Any,
        junction: bool,
    ) -> tuple[list[int], list[int]]:  # fmt: skip
        if origin not in ("start", "com"):
            raise ValueError(f"body_frame_origin: expected 'start' or 'com', found {origin!r}")
        _material(label or "rod", **moduli)  # refuses before anything is added
        shape = _chain(rod) if rod.ordered else _graph(rod, wrap)
        plan = _Plan(rod, type, origin, label, rod.rest_lengths, rod.rest_frames(), _joint_moduli(rod, shape, moduli, type))
        if shape.cut:
            warnings.warn(
                f"rod {label or ''}: {shape.cut} connections close loops and are left out of the tree; pass wrap_in_articulation=False "
                "to keep them, and add articulations yourself",
                stacklevel=3,
            )
        bodies = self._add_segments(plan, cfg, color)
        joints: list[int] = []
        for part, (root, links) in enumerate(zip(shape.roots, shape.links, strict=True)):
            suffix = f"_{part}" if len(shape.roots) > 1 else ""
            tree: list[int] = []
            if type is JointType.ROD and wrap:
                tree.append(self.add_joint_free(bodies[root], label=plan.name(f"free_joint{suffix}")))
            for link in links:
                tree.append(self._add_link_joint(plan, link, bodies, len(joints)))
                joints.append(tree[-1])
            if wrap and tree:
                self.add_articulation(tree, label=plan.name(f"articulation{suffix}"))
        for link in shape.loops:
            joints.append(self._add_link_joint(plan, link, bodies, len(joints)))
        if junction and not rod.ordered:
            self._filter_junctions(rod, bodies, {(link.parent, link.child) for links in shape.links for link in links})
        return bodies, joints

    def _add_segments(self, plan: _Plan, cfg: Any, color: Any) -> list[int]:
        """A body with a capsule for every segment."""
        rod, bodies = plan.rod, []
        cfg = (self.default_shape_cfg if cfg is None else cfg).copy()
        cfg.validate(GeoType.CAPSULE)
        density, thickness = cfg.density, None if cfg.is_solid else cfg.margin
        cfg.density = 0.0  # a capsule would count its caps
        ends = (np.bincount(rod.edges.reshape(-1), minlength=rod.point_count)[rod.edges] == 1) & (not rod.closed)
        radius = 0.1 if rod.radius is None else rod.radius
        along = quat_rotate(rod.quaternions, np.array([0.0, 0.0, 1.0]))
        middles = 0.5 * (rod.points[rod.edges[:, 0]] + rod.points[rod.edges[:, 1]])
        for k, (middle, frame) in enumerate(zip(middles, rod.quaternions, strict=True)):
            half = 0.5 * plan.lengths[k]
            place, offset = (middle, 0.0) if plan.origin == "com" else (middle - half * along[k], half)
            body = self.add_link(xform=np.concatenate([place, frame]), com=(0.0, 0.0, offset), label=plan.name(f"edge_body_{k}"))
            self.add_shape_capsule(
                body, xform=(0.0, 0.0, offset, 0.0, 0.0, 0.0, 1.0), radius=radius, half_height=half, cfg=cfg, color=color,
                label=plan.name(f"edge_capsule_{k}"),
            )  # fmt: skip
            if density > 0.0:
                mass = capsule.mass_properties((radius, half, 0.0), density=density, thickness=thickness, caps=ends[k])
                self._add_mass(body, mass.transformed((0.0, 0.0, offset, 0.0, 0.0, 0.0, 1.0)))
            bodies.append(body)
        return bodies

    def _add_link_joint(self, plan: _Plan, link: _Link, bodies: list[int], number: int) -> int:
        """The joint of a link, the ``number``-th of the rod."""
        anchors = [plan.anchor(link.parent, link.parent_end), plan.anchor(link.child, link.child_end)]
        options: dict[str, Any] = {"parent_xform": anchors[0], "label": plan.name(f"cable_{number + 1}"), **plan.moduli[number]}
        if plan.type is JointType.CABLE:
            return self.add_joint_cable(bodies[link.parent], bodies[link.child], child_xform=anchors[1], **options)
        if link.parent_end == link.child_end:  # segments that point at each other: the child's anchor goes on along the curve
            anchors[1] = compose(anchors[1], np.concatenate([np.zeros(3), _HALF_TURN]))
        back = plan.frames[link.parent] * np.array([-1.0, -1.0, -1.0, 1.0])
        rest = quat_multiply(back, quat_multiply(plan.frames[link.child], anchors[1][3:]))
        return self.add_joint_rod(bodies[link.parent], bodies[link.child], child_xform=anchors[1], rest_rotation=rest, **options)

    def _filter_junctions(self, rod: Rod, bodies: list[int], joined: set[tuple[int, int]]) -> None:
        """Pairs of segments that meet at a node of three or more and have no joint."""
        shapes = self.body_shapes
        for segments in _segments_at(rod):
            if len(segments) < 3:
                continue
            for i, (a, _) in enumerate(segments):
                for b, _ in segments[i + 1 :]:
                    if (a, b) not in joined and (b, a) not in joined:
                        self.add_shape_collision_filter_pair(shapes[bodies[a]][0], shapes[bodies[b]][0])


def _axis(k: int, material: tuple[float, float]) -> JointDofConfig:
    return JointDofConfig(axis=k, target_ke=material[0], target_kd=material[1], actuator_mode=0)


def _material(label: str, **moduli: tuple[float | None, float | None]) -> dict[str, tuple[float, float]]:
    """Stiffness and damping by mode, None as 0.

    Raises:
        ValueError: A value is negative or not finite.
    """
    values = {mode: tuple(0.0 if v is None else float(v) for v in pair) for mode, pair in moduli.items()}
    for mode, pair in values.items():
        for what, value in zip(("stiffness", "damping"), pair, strict=True):
            if not 0.0 <= value < np.inf:
                raise ValueError(f"{label!r}: expected {mode}_{what} finite and >= 0, found {value}")
    return values  # type: ignore[return-value]


def _refuse_split(moduli: dict[str, Any], method: str) -> None:
    for mode in ("shear", "twist"):
        if moduli[mode] != (None, None):
            raise ValueError(
                f"{method}: {mode}_stiffness and {mode}_damping are for rod=hooke.Rod(...); a cable has none of its own"
            )


def _segments_at(rod: Rod) -> list[list[tuple[int, int]]]:
    """For every point the segments that meet there, and with which end."""
    at: list[list[tuple[int, int]]] = [[] for _ in range(rod.point_count)]
    for k, (u, v) in enumerate(rod.edges):
        at[u].append((k, 0))
        at[v].append((k, 1))
    return at


def _chain(rod: Rod) -> _Topology:
    """One part, with a link that closes it."""
    count = rod.segment_count
    links = [_Link(k, k + 1, 1, 0) for k in range(count - 1)]
    return _Topology([links], [0], [_Link(count - 1, 0, 1, 0)] if rod.closed else [])


def _graph(rod: Rod, tree: bool) -> _Topology:
    """A breadth-first forest, or at every node its first segment with all others."""
    at = _segments_at(rod)
    star = [_Link(ends[0][0], other[0], ends[0][1], other[1]) for ends in at for other in ends[1:]]
    if not tree:
        return _Topology([star], [0], [])
    parts: list[list[_Link]] = []
    roots: list[int] = []
    seen = np.zeros(rod.segment_count, bool)
    for first in range(rod.segment_count):
        if seen[first]:
            continue
        seen[first] = True
        roots.append(first)
        parts.append([])
        queue = deque([first])
        while queue:
            k = queue.popleft()
            for end in (0, 1):
                for other, other_end in at[rod.edges[k, end]]:
                    if not seen[other]:
                        seen[other] = True
                        parts[-1].append(_Link(k, other, end, other_end))
                        queue.append(other)
    return _Topology(parts, roots, [], len(star) - sum(map(len, parts)))  # without loops: a link for all but one segment at a node


def _joint_moduli(rod: Rod, shape: _Topology, moduli: dict[str, Any], type: JointType) -> list[dict[str, float | None]]:
    """Stiffness and damping of every joint, as its adder takes them.

    What the arguments leave out is the rod's rigidity over the mean length of the two segments, if it has a material. Damping of shear
    and twist that is left out is that of stretch and bending, unless their stiffness is an argument.

    Raises:
        ValueError: The material does not say the stiffness of a joint.
    """
    given = dict(moduli)
    if type is JointType.ROD:
        for mode, like in (("shear", "stretch"), ("twist", "bend")):
            if moduli[mode] == (None, None):
                given[mode] = (None, moduli[like][1])
    links = [link for part in shape.links for link in part] + shape.loops
    names = ("stretch", "bend") if type is JointType.CABLE else ("stretch", "shear", "bend", "twist")
    flat = {f"{mode}_{what}": given[mode][i] for mode in names for i, what in enumerate(("stiffness", "damping"))}
    rigidities = rod.rigidities() if type is JointType.ROD else None
    if rigidities is None:
        return [flat] * len(links)
    wanted = {mode: value for mode, value in zip(names, rigidities, strict=True) if given[mode][0] is None}
    if wanted and not rod.ordered and (max(len(ends) for ends in _segments_at(rod)) > 2 or shape.cut):
        first = next(iter(wanted))
        raise ValueError(
            f"rod: the material gives the {first} stiffness of a chain, but three segments meet or a loop is cut; give {first}_stiffness"
        )
    lengths = rod.rest_lengths
    return [
        flat | {f"{mode}_stiffness": 2.0 * value / (lengths[link.parent] + lengths[link.child]) for mode, value in wanted.items()}
        for link in links
    ]
