"""Forward kinematics: the poses and velocities of all bodies for coordinates and rates of actuated joints, loops included."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import warp as wp

from hooke.execution.work import Work, first_item, next_item
from hooke.solvers.kamino.config.attributes import fk_actuated
from hooke.solvers.kamino.config.parts import ForwardKinematicsSolverConfig
from hooke.solvers.kamino.fk.data import FkReport, Targets, make_options, make_space
from hooke.solvers.kamino.fk.solve import make_fk_kernel
from hooke.solvers.kamino.fk.structure import make_chain, make_fk_structure
from hooke.solvers.kamino.mechanism import make_mechanism
from hooke.solvers.kamino.reset.motion import make_keep_coordinates, place_bodies, spin_bodies, write_bodies, write_joints
from hooke.solvers.kamino.structure import Structure
from hooke.solvers.reset import is_selected

__all__ = ["FkStatus", "ForwardKinematics", "write_success"]


@dataclass(frozen=True, eq=False)
class FkStatus:
    """How the last solves of all worlds went; of a world that no reset was about the entries are 0.

    Attributes:
        converged: Whether all joints are closed and where they are asked to be; bool (W,).
        iterations: Steps of all increments (W,).
        increments: Increments of the targets (W,).
        residual: Largest residual of a joint against the targets [m or rad] (W,); of a world that did not converge, how far its
            poses are from the targets.
        rate: Largest error of the velocity of a joint [m/s or rad/s] (W,), where velocities were solved for.
    """

    converged: np.ndarray
    iterations: np.ndarray
    increments: np.ndarray
    residual: np.ndarray
    rate: np.ndarray


@wp.kernel(enable_backward=False)
def write_success(
    work: Work, selected: wp.array(dtype=wp.bool), converged: wp.array(dtype=wp.int32), success: wp.array(dtype=wp.bool)
):
    """Whether selected worlds converged."""
    w = first_item(work, wp.tid())
    while w >= 0:
        if is_selected(selected, w):
            success[w] = converged[w] != 0
        w = next_item(work, w)


class ForwardKinematics:
    """Forward kinematics of a model.

    Args:
        model: The model.
        tables: Its tables.
        structure: Its structure.
        config: Settings; None where only bases are moved, and nothing is solved.
        recorder: Launches the kernels.
        scalar: Type of the numbers that the solver keeps.

    Attributes:
        report: How worlds were solved, on the device; :attr:`status` on the host.
        space: Poses and velocities in double precision, ``space.com``, ``space.rotation`` and ``space.twist``: a state has them in
            single precision, which is less than what is reached.
    """

    def __init__(
        self,
        model: Any,
        tables: dict[str, Any],
        structure: Structure,
        config: ForwardKinematicsSolverConfig | None,
        recorder: Any,
        scalar: Any = wp.float64,
    ):
        self._model, self._tables, self._recorder, self.config = model, tables, recorder, config
        device = recorder.device
        self.structure = make_fk_structure(structure, fk_actuated(model, structure.actuated))
        self._chain = make_chain(model, tables, self.structure, device)
        self._mechanism, self._patterns = make_mechanism(self.structure.structure, True, device, mimics=False)
        nodes, blocks = (int(array.numpy()[-1]) for array in (self._patterns.node, self._patterns.block))
        self.space = make_space(structure, nodes, blocks, device)
        worlds = structure.world_count
        self.report = FkReport()
        for name, annotation in FkReport.vars.items():
            setattr(self.report, name, wp.zeros(worlds, dtype=annotation.type.dtype, device=device))
        self._moves = wp.array((~structure.immovable).astype(np.int32), dtype=wp.int32, device=device)
        self._kernel = None if config is None else make_fk_kernel(config.use_sparsity)
        self._keep = make_keep_coordinates(scalar)
        self._options = None if config is None else make_options(config)

    @property
    def kernels(self) -> list[Any]:
        """All kernels that it may launch."""
        own = [place_bodies, spin_bodies, write_bodies, write_joints, self._keep, write_success]
        return own if self._kernel is None else [*own, self._kernel]

    @property
    def actuated_coord_count(self) -> int:
        """Coordinates of actuated joints."""
        return int((self.structure.coord_of >= 0).sum())

    @property
    def actuated_dof_count(self) -> int:
        """Degrees of freedom of actuated joints."""
        return int((self.structure.dof_of >= 0).sum())

    @property
    def status(self) -> FkStatus:
        """How the last solves went; reading it waits for the device."""
        r = self.report
        arrays = [getattr(r, name).numpy().copy() for name in ("converged", "iterations", "increments", "residual", "rate")]
        return FkStatus(arrays[0] != 0, *arrays[1:])

    def read(self) -> None:
        """Take over axes and anchors that were changed."""
        new = make_chain(self._model, self._tables, self.structure, self._recorder.device)
        self._chain.axis.assign(new.axis)
        self._chain.length.assign(new.length)
        self._chain.follow.assign(new.follow)

    def solve(self, selected: wp.array, targets: Targets, velocities: bool) -> None:
        """Find poses, and velocities, of the bodies of selected worlds, in ``space``.

        Args:
            selected: Which worlds, bool (W + 1,).
            targets: What is asked for; without targets of joints components of bases are moved as they are.
            velocities: Whether joints have rates to find; else bodies move with their bases.
        """
        launch, chain, space, s = self._recorder.launch, self._chain, self.space, self.structure.structure
        joints, bodies = (self._tables[name].struct for name in ("joint", "body"))
        launch(place_bodies, s.body_count, [selected, joints, bodies, chain, targets], [space])
        if targets.joints != 0:
            self._solve(0, selected, targets)
        launch(spin_bodies, s.body_count, [selected, joints, chain, self._moves, targets], [space])
        if targets.joints != 0 and velocities:
            self._solve(1, selected, targets)

    def _solve(self, stage: int, selected: wp.array, targets: Targets) -> None:
        joints, bodies = (self._tables[name].struct for name in ("joint", "body"))
        inputs = [stage, selected, joints, bodies, self._patterns, self._mechanism, self._chain, self._options, targets]
        self._recorder.launch(self._kernel, self.structure.structure.world_count, inputs, [self.space, self.report])

    def write(self, selected: wp.array, targets: Targets, arrays: dict[str, wp.array]) -> None:
        """Write what was found into a state.

        Args:
            selected: Which worlds.
            targets: What was asked for.
            arrays: body_q, body_qd, joint_q, joint_qd and joint_q_prev; those of length 0 are passed over.
        """
        launch, chain, space, s = self._recorder.launch, self._chain, self.space, self.structure.structure
        joints, bodies = (self._tables[name].struct for name in ("joint", "body"))
        outputs = [arrays["body_q"], arrays["body_qd"]]
        launch(write_bodies, s.body_count, [selected, bodies, chain, targets, space], outputs)
        outputs = [space.q, *(arrays[name] for name in ("joint_q", "joint_qd", "joint_q_prev"))]
        launch(write_joints, s.joint_count, [selected, joints, bodies, chain, targets, space], outputs)

    def keep(self, selected: wp.array, known: wp.array, kept: wp.array) -> None:
        """Tell the solver the coordinates that were found, angles without jumps."""
        inputs = [selected, self._chain, self.space.q]
        self._recorder.launch(self._keep, self.structure.structure.joint_count, inputs, [known, kept])

    def say(self, selected: wp.array, success: wp.array) -> None:
        """Write into a mask whether selected worlds converged."""
        self._recorder.launch(write_success, self.structure.structure.world_count, [selected, self.report.converged], [success])
