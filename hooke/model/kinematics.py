"""Kinematics of articulations: body poses and velocities from joint coordinates, the inverse, Jacobians, mimics."""

from __future__ import annotations

import threading
from dataclasses import dataclass
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
import warp as wp

from hooke.execution.compile import load_kernels
from hooke.execution.recorder import Recorder, launch_directly, pointers
from hooke.joints.layout import JointLayout
from hooke.model.articulation import ancestors_of, articulation_ranges, parents_first
from hooke.model.enums import BodyFlags
from hooke.model.model import Model, model_tables
from hooke.model.motion_of_joints import (
    JointSelection,
    JointTree,
    fill_jacobian,
    find_coordinates,
    follow_mimics,
    mark_articulations,
    measure_joints,
    move_bodies,
)

__all__ = ["JointError", "check_joint_poses", "eval_fk", "eval_ik", "eval_jacobian", "eval_mimic", "measure_joint_error"]

KERNELS = [fill_jacobian, find_coordinates, follow_mimics, mark_articulations, measure_joints, move_bodies]
_known: WeakKeyDictionary[Any, Kinematics] = WeakKeyDictionary()
_lock = threading.Lock()


class Kinematics:
    """What kinematics needs of a model: its tables, its trees, scratch arrays. One per model (:func:`kinematics_of`)."""

    def __init__(self, model: Any):
        self.device = wp.get_device(model.device)
        self.tables = model_tables(model)
        self.recorder = Recorder(self.device)
        self.joints, self.dofs, self.bodies = (self.tables[name] for name in ("joint", "joint_dof", "body"))
        self.tree, self.articulations, self.jacobian_shape = self._make_tree(model)
        self.coordinates = int(self.tables["joint_coord"].count)
        self.marked = wp.zeros(self.articulations, dtype=wp.bool, device=self.device)
        self.none = wp.zeros(0, dtype=wp.bool, device=self.device)
        self.scratch_q = wp.zeros(self.coordinates, dtype=wp.float32, device=self.device)
        self.scratch_qd = wp.zeros(self.dofs.count, dtype=wp.float32, device=self.device)
        self.at_rest = wp.zeros(self.bodies.count, dtype=wp.spatial_vector, device=self.device)
        self.mimics = self._make_mimics()
        load_kernels(KERNELS, self.device)

    def _make_tree(self, model: Any) -> tuple[JointTree, int, tuple[int, int, int]]:
        """The trees, how many they are, and the shape of their Jacobians."""
        tree, layout = JointTree(), JointLayout()
        layout.q, layout.qd, layout.dim = model.joint_q_start, model.joint_qd_start, self.joints.arrays["dof_dim"]
        tree.layout = layout
        if isinstance(model, Model):
            tree.order, tree.start, tree.end = model.joint_order, model.articulation_start, model.articulation_end
            count = len(model.articulation_end)
            return tree, count, (count, 6 * model.max_joints_per_articulation, model.max_dofs_per_articulation)
        owner, parent, child = (self.joints.arrays[name].numpy() for name in ("articulation", "parent", "child"))
        count = int(model.articulation_count)
        ancestor = ancestors_of(owner, parent, child, self.bodies.count)[0]
        arrays = {"ancestor": ancestor, "order": parents_first(owner, ancestor)}
        arrays["start"], arrays["end"] = articulation_ranges(owner, count)
        made = {name: wp.array(values, dtype=wp.int32, device=self.device) for name, values in arrays.items()}
        self.joints.bind(self.joints.table.column("ancestor"), made["ancestor"])
        tree.order, tree.start, tree.end = made["order"], made["start"], made["end"]
        start, end, first = arrays["start"][:-1], arrays["end"], layout.qd.numpy()
        most = [int(np.max(n, initial=0)) for n in (end - start, first[end] - first[start])]
        return tree, count, (count, 6 * most[0], most[1])

    def _make_mimics(self) -> tuple[wp.array, wp.array] | None:
        """What every joint follows: its own entry, or that of an enabled mimic constraint. None without constraints."""
        rows = self.tables["constraint_mimic"]
        if not rows.count:
            return None
        leader, coeffs = self.joints.arrays["mimic_joint"].numpy().copy(), self.joints.arrays["mimic_coeffs"].numpy().copy()
        values = {name: array.numpy() for name, array in rows.arrays.items() if isinstance(array, wp.array)}
        for k in np.flatnonzero(values["enabled"]):
            leader[values["joint0"][k]] = values["joint1"][k]
            coeffs[values["joint0"][k]] = values["coef0"][k], values["coef1"][k]
        return wp.array(leader, dtype=wp.int32, device=self.device), wp.array(coeffs, dtype=wp.vec2, device=self.device)

    def select(self, name: str, mask: Any, indices: Any, flags: int, joint_mask: Any = None) -> JointSelection:
        """The arguments of a call as a selection; ``indices`` come in with the launches (:meth:`mark`).

        Raises:
            ValueError: Both are given, or an array has the wrong shape, type or device.
        """
        if mask is not None and indices is not None:
            raise ValueError(f"{name}: expected mask or indices, found both")
        for what, array, dtype, length in (
            ("mask", mask, wp.bool, self.articulations), ("indices", indices, wp.int32, None),
            ("joint_mask", joint_mask, wp.bool, self.joints.count),
        ):  # fmt: skip
            if array is not None:
                self.check(name, what, array, dtype, length)
        selection = JointSelection()
        selection.by_articulation = int(mask is not None or indices is not None)
        selection.articulations = self.marked if mask is None else mask
        selection.by_joint = int(joint_mask is not None)
        selection.joints = self.none if joint_mask is None else joint_mask
        selection.flags = int(flags)
        return selection

    def check(self, name: str, what: str, array: Any, dtype: Any, length: int | None) -> None:
        """Refuse what is not an array of a type, length and device."""
        if not isinstance(array, wp.array) or array.ndim != 1 or not wp.types.types_equal(array.dtype, dtype):
            raise ValueError(f"{name}: expected {what} as an array of {dtype.__name__}, found {array!r}"[:300])
        if (length is not None and len(array) != length) or array.device != self.device:
            raise ValueError(f"{name}: expected {what} of length {length} on {self.device}, found {len(array)} on {array.device}")

    def mark(self, indices: Any) -> None:
        """Launches that turn indices into a mask."""
        if indices is not None:
            self.recorder.alone(self.marked.zero_)
            self.recorder.launch(mark_articulations, len(indices), [indices], [self.marked])

    def run(self, function: Any, key: tuple[Any, ...], *arguments: Any) -> None:
        """Launch or replay, whichever it is the time for."""
        versions = self.joints.version, self.dofs.version, self.bodies.version
        self.recorder.run((function.__name__, versions, key), function, *arguments)

    # ---- what is launched

    def forward(self, selection: JointSelection, indices: Any, q: Any, qd: Any, body_q: Any, body_qd: Any) -> None:
        self.mark(indices)
        inputs = [selection, self.joints.struct, self.dofs.struct, self.bodies.struct, self.tree, q, qd]
        self.recorder.launch(move_bodies, self.articulations, inputs, [body_q, body_qd])

    def inverse(self, selection: JointSelection, indices: Any, body_q: Any, body_qd: Any, q: Any, qd: Any) -> None:
        self.mark(indices)
        inputs = [selection, self.joints.struct, self.dofs.struct, self.bodies.struct, self.tree, body_q, body_qd]
        self.recorder.launch(find_coordinates, self.joints.count, inputs, [q, qd])

    def jacobian(self, selection: JointSelection, body_q: Any, jacobian: Any) -> None:
        self.inverse(selection, None, body_q, self.at_rest, self.scratch_q, self.scratch_qd)
        inputs = [selection, self.joints.struct, self.dofs.struct, self.bodies.struct, self.tree, body_q, self.scratch_q]
        self.recorder.launch(fill_jacobian, self.joints.count, inputs, [jacobian])

    def mimic(self, selection: JointSelection, indices: Any, given: tuple[Any, Any], taken: tuple[Any, Any]) -> None:
        self.mark(indices)
        leader, coeffs = self.mimics or (self.joints.arrays["mimic_joint"], self.joints.arrays["mimic_coeffs"])
        inputs = [selection, self.joints.struct, self.tree, leader, coeffs, *given]
        self.recorder.launch(follow_mimics, self.joints.count, inputs, list(taken))


def kinematics_of(model: Any) -> Kinematics:
    """The kinematics of a model, made when first asked for."""
    with _lock:
        if model not in _known:
            _known[model] = launch_directly(Kinematics, model)
        return _known[model]


def _body_arrays(name: str, kinematics: Kinematics, state: Any) -> tuple[Any, Any]:
    for what, dtype in (("body_q", wp.transform), ("body_qd", wp.spatial_vector)):
        kinematics.check(name, f"state.{what}", getattr(state, what, None), dtype, kinematics.bodies.count)
    return state.body_q, state.body_qd


def _joint_arrays(name: str, kinematics: Kinematics, q: Any, qd: Any) -> tuple[Any, Any]:
    """The arrays, checked; a state has none where no joint has coordinates."""
    if kinematics.coordinates == 0 and q is None and qd is None:
        return kinematics.scratch_q, kinematics.scratch_qd
    kinematics.check(name, "joint_q", q, wp.float32, kinematics.coordinates)
    kinematics.check(name, "joint_qd", qd, wp.float32, kinematics.dofs.count)
    return q, qd


def eval_fk(
    model: Any, joint_q: wp.array, joint_qd: wp.array, state: Any, mask: wp.array | None = None, indices: wp.array | None = None,
    body_flag_filter: int = BodyFlags.ALL, *, joint_mask: wp.array | None = None,
) -> None:  # fmt: skip
    """Poses and velocities of bodies from coordinates and velocities of joints, articulation by articulation.

    Joints outside articulations, which close loops, and cable joints leave their child where it is. Bodies that are not written keep
    what they have; a joint starts from its parent's pose and velocity as they are then.

    Args:
        model: The model.
        joint_q: Coordinates [m or rad], float (coordinates,).
        joint_qd: Velocities [m/s or rad/s], float (degrees of freedom,).
        state: State (or Model) whose ``body_q`` and ``body_qd`` are written.
        mask: Articulations to take, bool (articulations,); None is all.
        indices: Articulations to take, int; those out of range are passed over. Not together with ``mask``.
        body_flag_filter: BodyFlags; only bodies with one of them are written.
        joint_mask: Joints to take, bool (joints,). Descendants are not included by themselves.

    Raises:
        ValueError: An array has the wrong type, length or device, or both selections are given.
    """
    kinematics = kinematics_of(model)
    if not kinematics.joints.count:
        return
    selection = kinematics.select("eval_fk", mask, indices, body_flag_filter, joint_mask)
    joint_q, joint_qd = _joint_arrays("eval_fk", kinematics, joint_q, joint_qd)
    body_q, body_qd = _body_arrays("eval_fk", kinematics, state)
    key = (
        int(body_flag_filter),
        pointers(mask, indices, joint_mask, joint_q, joint_qd, body_q, body_qd),
        0 if indices is None else len(indices),
    )
    kinematics.run(kinematics.forward, key, selection, indices, joint_q, joint_qd, body_q, body_qd)


def eval_ik(
    model: Any, state: Any, joint_q: wp.array, joint_qd: wp.array, mask: wp.array | None = None, indices: wp.array | None = None,
    body_flag_filter: int = BodyFlags.ALL,
) -> None:  # fmt: skip
    """Coordinates and velocities of joints from poses and velocities of bodies.

    Without ``mask`` and ``indices`` joints outside articulations, which close loops, are included. Cable joints have no coordinates;
    their entries stay. Angles are in (-pi, pi].

    Args:
        model: The model.
        state: State (or Model) with ``body_q`` and ``body_qd``.
        joint_q: Receives the coordinates [m or rad], float (coordinates,).
        joint_qd: Receives the velocities [m/s or rad/s], float (degrees of freedom,).
        mask: As :func:`eval_fk`.
        indices: As :func:`eval_fk`.
        body_flag_filter: BodyFlags; only joints whose child has one of them are written.

    Raises:
        ValueError: As :func:`eval_fk`.
    """
    kinematics = kinematics_of(model)
    if not kinematics.joints.count:
        return
    selection = kinematics.select("eval_ik", mask, indices, body_flag_filter)
    joint_q, joint_qd = _joint_arrays("eval_ik", kinematics, joint_q, joint_qd)
    body_q, body_qd = _body_arrays("eval_ik", kinematics, state)
    key = (
        int(body_flag_filter),
        pointers(mask, indices, body_q, body_qd, joint_q, joint_qd),
        0 if indices is None else len(indices),
    )
    kinematics.run(kinematics.inverse, key, selection, indices, body_q, body_qd, joint_q, joint_qd)


def eval_jacobian(
    model: Any, state: Any, J: wp.array | None = None, joint_S_s: wp.array | None = None, mask: wp.array | None = None
) -> Any:
    """The matrices that map the velocities of the joints of articulations to the twists of their bodies.

    ``J[a, 6 i : 6 i + 6, k]`` is the twist (velocity of the centre of mass, angular velocity, world axes) of the child of joint number i
    of articulation a for a unit of its degree of freedom number k, so that J times ``joint_qd`` is ``body_qd`` when the root's parent
    is the world. The child of a cable joint follows from no coordinates: its rows, and those behind it, count from there on.

    Args:
        model: The model.
        state: State with ``body_q``; ``joint_q`` is not read.
        J: Receives the matrices, float (articulations, 6 max_joints_per_articulation, max_dofs_per_articulation); None makes them.
        joint_S_s: Scratch memory of other implementations; must be None.
        mask: Articulations to compute, bool (articulations,); the rows of others stay. None is all.

    Returns:
        ``J``, or None for a model without articulations.

    Raises:
        ValueError: An array has the wrong type, shape or device.
    """
    kinematics = kinematics_of(model)
    if not kinematics.articulations:
        return None
    if joint_S_s is not None:
        raise ValueError("eval_jacobian: joint_S_s is not used; pass None")
    shape = kinematics.jacobian_shape
    if J is None:
        J = wp.zeros(shape, dtype=wp.float32, device=kinematics.device)
    if J.shape != shape or J.dtype != wp.float32 or J.device != kinematics.device:
        raise ValueError(
            f"eval_jacobian: expected J of float, shape {shape}, on {kinematics.device}, found {J.dtype.__name__}, {J.shape}, {J.device}"
        )
    selection = kinematics.select("eval_jacobian", mask, None, int(BodyFlags.ALL))
    body_q, _ = _body_arrays("eval_jacobian", kinematics, state)
    kinematics.run(kinematics.jacobian, (pointers(mask, body_q, J),), selection, body_q, J)
    return J


def eval_mimic(
    model: Any, state_in: Any, state_out: Any = None, *, mask: wp.array | None = None, indices: wp.array | None = None
) -> None:
    """Coordinates and velocities of joints that follow others: q = c0 + c1 q_reference, qd = c1 qd_reference.

    Only ``joint_q`` and ``joint_qd`` are written. Mimic constraints that are enabled when a model's kinematics is first used count too.

    Args:
        model: The model.
        state_in: State that is read.
        state_out: State that is written, independent joints copied; None is ``state_in``.
        mask: As :func:`eval_fk`.
        indices: As :func:`eval_fk`.

    Raises:
        ValueError: As :func:`eval_fk`, or a state has no joint coordinates.
    """
    kinematics = kinematics_of(model)
    if not kinematics.joints.count:
        return
    state_out = state_in if state_out is None else state_out
    selection = kinematics.select("eval_mimic", mask, indices, int(BodyFlags.ALL))
    given = _joint_arrays("eval_mimic", kinematics, state_in.joint_q, state_in.joint_qd)
    taken = _joint_arrays("eval_mimic", kinematics, state_out.joint_q, state_out.joint_qd)
    key = (pointers(mask, indices, *given, *taken), 0 if indices is None else len(indices))
    kinematics.run(kinematics.mimic, key, selection, indices, given, taken)


@dataclass(frozen=True)
class JointError:
    """How far the children of joints are from where the coordinates put them, given where their parents are.

    Attributes:
        linear: Distance of the anchors [m], shape (joints,).
        angular: Angle [rad], shape (joints,).
    """

    linear: np.ndarray
    angular: np.ndarray


def measure_joint_error(model: Any, state: Any = None) -> JointError:
    """Compare ``body_q`` with ``joint_q``.

    Args:
        model: The model.
        state: State with both; None is the model's defaults.
    """
    kinematics = kinematics_of(model)
    source = model if state is None else state
    if not kinematics.joints.count:
        return JointError(np.zeros(0), np.zeros(0))
    joint_q, _ = _joint_arrays("measure_joint_error", kinematics, source.joint_q, source.joint_qd)
    error = wp.zeros(kinematics.joints.count, dtype=wp.vec2, device=kinematics.device)
    inputs = [kinematics.joints.struct, kinematics.dofs.struct, kinematics.tree, source.body_q, joint_q]
    launch_directly(kinematics.recorder.launch, measure_joints, kinematics.joints.count, inputs, [error])
    values = error.numpy().astype(np.float64)
    return JointError(values[:, 0], values[:, 1])


def check_joint_poses(model: Any, state: Any = None, *, tolerance: float = 1.0e-3) -> None:
    """Refuse bodies that are not where the coordinates of their joints put them; ``eval_fk`` brings them there.

    Args:
        model: The model.
        state: State with ``body_q`` and ``joint_q``; None is the model's defaults.
        tolerance: Distance [m] and angle [rad] that may be off.

    Raises:
        ValueError: A body is farther off; the message names the joint, the bodies and the distances.
    """
    error = measure_joint_error(model, state)
    worst = np.maximum(error.linear, error.angular)
    bad = np.flatnonzero(~(worst <= tolerance))
    if len(bad):
        j = int(bad[np.argmax(worst[bad])])
        tables = model_tables(model)
        labels, ends = tables["body"].arrays["label"], [int(tables["joint"].arrays[end].numpy()[j]) for end in ("parent", "child")]
        names = ["the world" if b < 0 else f"body {labels[b]!r} (index {b})" for b in ends]
        label = tables["joint"].arrays["label"][j]
        raise ValueError(
            f"{len(bad)} joints do not fit their bodies; the worst is joint {label!r} (index {j}, from {names[0]} to {names[1]}): "
            f" body_q is {error.linear[j]:.3g} m and {error.angular[j]:.3g} rad from joint_q; call "
            "eval_fk(model, model.joint_q, model.joint_qd, model), or author body_q to fit"
        )
