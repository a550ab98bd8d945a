"""Resetting worlds: to the model's initial state, to poses and velocities of their bases, or to coordinates of their joints."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import warp as wp

from hooke.execution.compile import load_kernels
from hooke.execution.recorder import captured_by_user, launch_directly, pointers
from hooke.model.enums import StateFlags
from hooke.solvers.kamino.check import base_warning
from hooke.solvers.kamino.fk.data import Targets
from hooke.solvers.kamino.fk.forward_kinematics import ForwardKinematics
from hooke.solvers.kamino.reset.config import Request, ResetConfig, request_of_arguments, request_of_config
from hooke.solvers.kamino.reset.forget import forget_contacts, make_forget_joints
from hooke.solvers.kamino.structure import Structure
from hooke.solvers.reset import restore

__all__ = ["TARGETS", "Resetting", "Restoring"]

TARGETS = ("actuator_q", "actuator_u", "joint_q", "joint_u", "base_q", "base_u")
"""What a reset may be given, by the names of its arguments."""
_DTYPES = {
    "actuator_q": wp.float32, "actuator_u": wp.float32, "joint_q": wp.float32, "joint_u": wp.float32, "base_q": wp.transform,
    "base_u": wp.spatial_vector,
}  # fmt: skip
_NUMBERS = ("joints", "whole", "base_of_q", "base_of_qd", "correction")
_STATE = {
    "body_q": (wp.transform, StateFlags.BODY_Q), "body_qd": (wp.spatial_vector, StateFlags.BODY_QD),
    "joint_q": (wp.float32, StateFlags.JOINT_Q), "joint_qd": (wp.float32, StateFlags.JOINT_QD),
    "joint_q_prev": (wp.float32, StateFlags.JOINT_Q),
}  # fmt: skip


@wp.kernel(enable_backward=False)
def succeed(selected: wp.array(dtype=wp.bool), success: wp.array(dtype=wp.bool)):
    """Selected worlds went where they were told to."""
    w = wp.tid()
    if selected[w]:
        success[w] = True


class Restoring:
    """The initial values of a model's states, and which world each belongs to.

    Args:
        model: The model.
        tables: Its tables.
        structure: Its structure.
        device: Where the states are.
    """

    def __init__(self, model: Any, tables: dict[str, Any], structure: Structure, device: Any):
        s = structure
        rows = np.diff(model.joint_cts_start.numpy()) if s.joint_count else np.zeros(0, np.int32)
        counts = {"coord": np.diff(s.joint_coord), "dof": np.diff(s.joint_dof), "row": rows}
        worlds = {name: np.repeat(s.joint_world, count).astype(np.int32) for name, count in counts.items()}
        worlds["body"], worlds["joint"] = s.body_world, s.joint_world
        self.worlds = {name: wp.array(world, dtype=wp.int32, device=device) for name, world in worlds.items()}
        arrays = {name: table.arrays for name, table in tables.items()}
        none = wp.zeros(s.body_count, dtype=wp.spatial_vector, device=device)
        q = arrays["joint_coord"]["q"]
        self.values = {
            "body_q": ("body", arrays["body"]["q"], StateFlags.BODY_Q), "body_qd": ("body", arrays["body"]["qd"], StateFlags.BODY_QD),
            "body_f": ("body", none, StateFlags.BODY_F), "body_f_total": ("body", none, StateFlags.BODY_F),
            "joint_q": ("coord", q, StateFlags.JOINT_Q), "joint_q_prev": ("coord", q, StateFlags.JOINT_Q),
            "joint_qd": ("dof", arrays["joint_dof"]["qd"], StateFlags.JOINT_QD),
            "joint_lambdas": ("row", wp.zeros(int(rows.sum()), dtype=wp.float32, device=device), StateFlags.JOINT_F),
        }  # fmt: skip

    def check(self, state: Any, flags: Any, skipped: Any = ()) -> list[tuple[wp.array, wp.array, wp.array]]:
        """The arrays of a state that flags concern, each as (worlds, initial values, array); see :meth:`restore`."""
        chosen = []
        for name, (kind, initial, flag) in self.values.items():
            value = getattr(state, name, None)
            if value is None or (flags is not None and not int(flags) & int(flag)):
                continue
            if len(value) != len(initial) or value.device != initial.device:
                raise ValueError(
                    f"SolverKamino.reset: expected {name} of length {len(initial)} on {initial.device}, found {len(value)} on "
                    f"{value.device}"
                )
            if name not in skipped:
                chosen.append((self.worlds[kind], initial, value))
        return chosen

    def restore(self, state: Any, selected: wp.array, flags: Any, skipped: Any = ()) -> None:
        """Write initial values into a state.

        Args:
            state: Arrays that it lacks are passed over.
            selected: Which worlds, then whether what belongs to none.
            flags: StateFlags of the arrays; None is all.
            skipped: Names of arrays that are left as they are.

        Raises:
            ValueError: An array has the wrong length or device; then nothing was changed.
        """
        chosen = self.check(state, flags, skipped)
        for world, initial, value in chosen:
            if len(value):
                wp.launch(restore, dim=len(value), inputs=[world, selected, initial], outputs=[value], device=value.device)


class Resetting:
    """Resets of a solver.

    Args:
        model: The model.
        tables: Its tables.
        structure: Its structure.
        config: Configuration of the solver.
        recorder: Launches the kernels.
        scalar: Type of the numbers that the solver keeps.

    Attributes:
        kinematics: Forward kinematics; None until a reset needs it, unless ``config.use_fk_solver``.
    """

    def __init__(self, model: Any, tables: dict[str, Any], structure: Structure, config: Any, recorder: Any,
                 scalar: Any = wp.float64):  # fmt: skip
        self._scalar, self._forget_joints = scalar, make_forget_joints(scalar)
        self._model, self._tables, self._structure, self._config, self._recorder = model, tables, structure, config, recorder
        self._restoring = Restoring(model, tables, structure, recorder.device)
        self._nothing = {dtype: wp.zeros(0, dtype=dtype, device=recorder.device) for dtype in _DTYPES.values()}
        self._sources = (tables["body"].arrays["q"], tables["body"].arrays["qd"], tables["joint_coord"].arrays["q"])
        self._rest = wp.zeros(structure.body_count, dtype=wp.spatial_vector, device=recorder.device)
        self._warned = False
        self.kinematics: Any = self._make() if config.use_fk_solver else None

    @property
    def worlds(self) -> wp.array:
        """World of every joint."""
        return self._restoring.worlds["joint"]

    @property
    def kernels(self) -> list[Any]:
        """Kernels that it may launch."""
        return [
            self._forget_joints,
            forget_contacts,
            restore,
            succeed,
            *([] if self.kinematics is None else self.kinematics.kernels),
        ]

    def read(self) -> None:
        """Take over changes of the model."""
        if self.kinematics is not None:
            self.kinematics.read()

    def _make(self) -> ForwardKinematics:
        fk = self._config.fk if self._config.use_fk_solver else None
        return ForwardKinematics(self._model, self._tables, self._structure, fk, self._recorder, self._scalar)

    def request(self, state: Any, given: dict[str, Any], config: Any, flags: Any) -> Request | None:
        """What a reset asks for, None for the initial state; what cannot be done is refused, and nothing was changed then.

        Args:
            state: The state.
            given: Targets by their names in :data:`TARGETS`, None for those that are not given.
            config: A :class:`~hooke.solvers.kamino.reset.config.ResetConfig`, or None.
            flags: StateFlags of the arrays to write; None is all.

        Raises:
            TypeError: A target is not a Warp array of its type, or ``config`` is no ResetConfig.
            ValueError: A target has the wrong length or device; targets of joints and of actuators are mixed, or there are velocities
                without coordinates; there are targets beside ``config``; an array of the state has the wrong length, or is missing.
            RuntimeError: Targets of joints are given to a solver without ``use_fk_solver``; or the first of such resets is captured.
        """
        self._restoring.check(state, flags)
        has = {name for name in TARGETS if given.get(name) is not None}
        if config is None and not has:
            return None
        if config is not None and not isinstance(config, ResetConfig):
            raise TypeError(f"SolverKamino.reset: expected config as a ResetConfig, found {config!r}")
        if config is not None and has:
            raise ValueError(f"SolverKamino.reset: expected either config or targets, found config and {sorted(has)}")
        if getattr(state, "body_q", None) is None or getattr(state, "body_qd", None) is None:
            raise ValueError("SolverKamino.reset: the state has no body_q or body_qd, from which a reset to targets begins")
        request = request_of_arguments(given) if config is None else request_of_config(config, state)
        self._check_request(request, config is None)
        return request

    def _check_request(self, request: Request, by_arguments: bool) -> None:
        """Refuse what cannot be done."""
        given = request.given
        has = {name for name in TARGETS if given.get(name) is not None}
        if by_arguments and has & {"actuator_q", "actuator_u"} and has & {"joint_q", "joint_u"}:
            raise ValueError(
                f"SolverKamino.reset: combined joint and actuator targets are not supported, found {sorted(has)}; give one type"
            )
        for q, u in (("joint_q", "joint_u"), ("actuator_q", "actuator_u")):
            if by_arguments and u in has and q not in has:
                raise ValueError(f"SolverKamino.reset: unsupported combination, {u} without {q}; give {q} too")
        if request.joints and not request.nothing and not self._config.use_fk_solver:
            raise RuntimeError(
                "SolverKamino.reset: the forward kinematics solver must be enabled for resets from coordinates or velocities of joints; "
                "set Config(use_fk_solver=True)"
            )
        if self.kinematics is None:
            if captured_by_user(self._recorder.device):
                raise RuntimeError("SolverKamino.reset: the first reset of a base makes arrays, which a capture does not allow")
            self.kinematics = launch_directly(self._make)
            load_kernels(self.kinematics.kernels, self._recorder.device)
        for name in given:
            if not by_arguments or name in has:
                self._check_array(name, given[name])
        if has & {"base_q", "base_u"} and not self._warned:
            self._warned = True
            message = base_warning(self._tables, self._structure)
            if message is not None:
                warnings.warn(message, stacklevel=5)

    def _check_array(self, name: str, value: Any) -> None:
        """Refuse a target of the wrong type, length or device."""
        s, k = self._structure, self.kinematics
        counts = {
            "actuator_q": k.actuated_coord_count, "actuator_u": k.actuated_dof_count, "joint_q": s.coord_count,
            "joint_u": s.dof_count, "base_q": s.world_count, "base_u": s.world_count,
        }  # fmt: skip
        dtype, device = _DTYPES[name], self._recorder.device
        if not isinstance(value, wp.array) or value.dtype != dtype:
            found = f"one of {value.dtype.__name__}" if isinstance(value, wp.array) else type(value).__name__
            raise TypeError(f"SolverKamino.reset: expected {name} as a Warp array of {dtype.__name__}, found {found}")
        if value.shape != (counts[name],) or value.device != device:
            raise ValueError(
                f"SolverKamino.reset: expected {name} of shape ({counts[name]},) on {device}, found {value.shape} on {value.device}"
            )

    def _targets(self, state: Any, request: Request) -> Targets:
        """What a reset is given, for kernels."""
        body_q, body_qd, joint_q = self._sources
        targets, given = Targets(), request.given
        for name, own in zip(TARGETS, ("actuator_q", "actuator_qd", "q", "qd", "base_q", "base_qd"), strict=True):
            value = given.get(name)
            setattr(targets, own, self._nothing[_DTYPES[name]] if value is None else value)
        targets.joints, targets.whole = request.joints, int(request.whole)
        targets.base_of_q, targets.base_of_qd = int(request.base_of_q), int(request.base_of_u)
        from_state = not self._config.fk.reset_state if request.from_state is None else request.from_state
        targets.pose, targets.twist = (state.body_q, state.body_qd) if from_state else (body_q, body_qd)
        targets.default_pose = state.body_q if request.base_from_state else body_q
        targets.default_twist = {"rest": self._rest, "model": body_qd, "state": state.body_qd}[request.twist]
        own_q = getattr(state, "joint_q", None)
        targets.near = joint_q if request.joints == 1 or not from_state or own_q is None else own_q
        targets.correction = int(self._config.joint_correction)
        return targets

    def reset(
        self, state: Any, selected: wp.array, request: Request | None, flags: Any, success: Any, kept: tuple[wp.array, ...]
    ) -> None:
        """Reset selected worlds, after :meth:`request`.

        Args:
            state: Changed in place.
            selected: Which worlds, bool (W + 1,).
            request: What is asked for.
            flags: StateFlags of the arrays to write; None is all.
            success: Bool array (W,) for whether worlds converged, or None.
            kept: What the solver keeps of joints: whether coordinates are known, coordinates, impulses and velocities of rows.
        """
        launch_directly(self._forget, selected, kept)
        if request is not None and request.nothing:
            if success is not None:
                launch_directly(self._succeed, selected, success)
            return
        if request is None:
            launch_directly(self._restore, state, selected, flags, success)
            return
        targets = self._targets(state, request)
        arrays: dict[str, Any] = {}
        for name, (dtype, flag) in _STATE.items():
            value = getattr(state, name, None)
            wanted = value is not None and (flags is None or int(flags) & int(flag))
            arrays[name] = value if wanted else self._nothing[dtype]
        moved = request.velocities
        whole = len(arrays["body_q"]) > 0
        numbers = (
            *(getattr(targets, name) for name in _NUMBERS),
            moved,
            whole,
            None if flags is None else int(flags),
            *self._versions(),
        )
        fields = [getattr(targets, name) for name in Targets.vars]
        owners = [selected, success, state, *arrays.values(), *(field for field in fields if isinstance(field, wp.array))]
        key = ("reset", numbers, pointers(*owners))
        self._recorder.run(key, self._move, state, selected, targets, arrays, (flags, success, moved, whole), kept)

    def _versions(self) -> tuple[int, ...]:
        return tuple(self._tables[name].version for name in ("body", "joint", "joint_dof"))

    def _forget(self, selected: wp.array, kept: tuple[wp.array, ...]) -> None:
        known, _q, impulse, velocity = kept
        self._recorder.launch(self._forget_joints, self._structure.joint_count, [self.worlds, selected], [known, impulse, velocity])

    def _restore(self, state: Any, selected: wp.array, flags: Any, success: Any) -> None:
        """The model's initial state."""
        self._restoring.restore(state, selected, flags)
        if success is not None:
            self._succeed(selected, success)

    def _move(
        self, state: Any, selected: wp.array, targets: Targets, arrays: dict[str, wp.array], options: tuple[Any, ...],
        kept: tuple[wp.array, ...],
    ) -> None:  # fmt: skip
        """Poses and velocities for some targets; launches only."""
        flags, success, moved, whole = options
        self.kinematics.solve(selected, targets, moved)
        self.kinematics.write(selected, targets, arrays)
        self._recorder.alone(self._restoring.restore, state, selected, flags, tuple(_STATE))
        if whole:
            self.kinematics.keep(selected, kept[0], kept[1])
        if success is not None and targets.joints != 0:
            self.kinematics.say(selected, success)
        elif success is not None:
            self._recorder.alone(self._succeed, selected, success)

    def _succeed(self, selected: wp.array, success: wp.array) -> None:
        wp.launch(succeed, dim=len(success), inputs=[selected], outputs=[success], device=success.device)
