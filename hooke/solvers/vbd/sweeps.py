"""The iterations of a step: sweeps over patches and over all particles, judged and extrapolated."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import warp as wp

from hooke import config
from hooke.elements import ELEMENTS
from hooke.execution.compile import load_kernels
from hooke.model.enums import ParticleFlags
from hooke.solvers.vbd.acceleration import make_acceleration
from hooke.solvers.vbd.check import check_colors
from hooke.solvers.vbd.features import FeatureContacts
from hooke.solvers.vbd.lane_patches import LanePatches
from hooke.solvers.vbd.lanes import LaneSweep
from hooke.solvers.vbd.patch_sweep import VertexPatches
from hooke.solvers.vbd.patches import make_patches, particle_entries
from hooke.solvers.vbd.vertices import active_elements, make_vertex_kernels, pack_chain, take_color
from hooke.solvers.vbd.workspace import ContactRows, Workspace

__all__ = ["SweepOptions", "Sweeps"]


@dataclass(frozen=True)
class SweepOptions:
    """Name of the friction law, name of the acceleration or None, and the tolerance [m]; see SolverVBD."""

    friction: str
    acceleration: str | None
    tolerance: float


class Sweeps:
    """The sweeps over the particles of a model, sixteen at a time on lanes where all elements have views, else one by one.

    Args:
        model: The model.
        tables: Its tables.
        workspace: Arrays of the solver.
        options: Options.
        recorder: Launches the kernels.

    Attributes:
        active: Kinds of elements that act, with the rows that do and their particles.
        tied: Whether elements are tied to points.
        lanes: The sweeps on lanes, None without.
        motion: Holds ``start``, ``target`` and ``displacement`` in the order in which the sweeps keep the particles.
        particle: Particle of every place in that order, the number of particles where there is none.
        acceleration: What judges sweeps, None if nothing does.
        patches: The sweeps over patches, None without.
    """

    def __init__(self, model: Any, tables: dict[str, Any], workspace: Workspace, options: SweepOptions, recorder: Any):
        self._model, self._tables, self._workspace, self._recorder = model, tables, workspace, recorder
        self._options, self._particles = options, tables["particle"]
        self.bind()

    # ---- binding to the model

    @property
    def versions(self) -> tuple[int, ...]:
        """Grows with every array of elements that is re-bound."""
        return tuple(self._tables[element.table.name].version for element in ELEMENTS)

    def bind(self) -> None:
        """Which elements act, their records for the arrays bound now, and the kernels made for them; checks the colours."""
        self.packed_versions = self.versions
        self.active = active_elements(self._tables)
        self.colors = check_colors(self._model, self._tables, self.active)
        kinds = tuple(a[0] for a in self.active)
        self._sweep_vertices, self._measure_imbalance = make_vertex_kernels(kinds, self._options.friction)
        self.tied = any(element.point is not None for element in kinds)
        self._chain: Any = None
        self.lanes: Any = None
        place = self._particles.arrays["q"].numpy()
        if config.lanes and self._recorder.device.is_cpu and self.active and all(element.views for element in kinds):
            colors = [color.numpy() for color in self.colors]
            points = self._workspace.points if self.tied else 0
            self.lanes = LaneSweep(self.active, self._tables, colors, place, points, self._options.friction, self._recorder)
        else:
            self._pack_chain()
        self.motion, self.particle = self._workspace.vertices, np.arange(self._particles.count, dtype=np.int32)
        if self.lanes is not None:
            self.motion, self.particle = self.lanes.motion, self.lanes.particle
        settings = (self._options.acceleration, self._options.tolerance)
        kept = (self.particle, self.motion.displacement)
        self.acceleration: Any = make_acceleration(*settings, self._particles, self._model.world_count, *kept, self._recorder)
        self.patches: Any = self._make_patches() if self._options.acceleration == "multilevel" else None

    def _pack_chain(self) -> None:
        """The elements one particle at a time; where lanes sweep, only the residual needs them."""
        length = len(self._workspace.vertices.displacement)
        entries = []
        for element, rows, stencils in self.active:
            corners = element.corners(rows, stencils, self._tables[element.table.name].count, length)
            entries.append((element, particle_entries(element, rows, corners)))
        self._chain = pack_chain(entries, self._tables, self._particles.count, self._recorder.device)

    def _make_patches(self) -> Any:
        """Sweeps over patches, None where no particles share an element."""
        arrays = self._particles.arrays
        free = (arrays["flags"].numpy() & int(ParticleFlags.ACTIVE) != 0) & (arrays["mass"].numpy() > 0.0)
        patches = make_patches(self.active, free, arrays["world"].numpy())
        if not patches.count:
            return None
        shared = (patches, self.active, self._tables)
        if self.lanes is None:
            return VertexPatches(*shared, self._workspace.vertices, self._options.friction, self._recorder)
        return LanePatches(*shared, arrays["q"].numpy(), self.lanes, self._options.friction, self._recorder)

    @property
    def kernels(self) -> list[Any]:
        """All kernels that a step launches."""
        kernels = [self._sweep_vertices, take_color] if self.lanes is None else list(self.lanes.kernels)
        for part in (self.acceleration, self.patches):
            kernels += [] if part is None else part.kernels
        return kernels

    # ---- the step

    def begin(self, rows: ContactRows, dt: float) -> None:
        """Before the sweeps of a step, when the first guess and the contacts with shapes are known."""
        if self.lanes is not None:
            self.lanes.begin(self._particles.struct, rows, self._workspace.vertices, dt)
        if self.patches is not None:
            self.patches.begin(rows, dt)

    def move_points(self) -> None:
        """After the points that elements are tied to were moved."""
        if self.lanes is not None:
            self.lanes.move_points(self._workspace.vertices)

    def iterate(self, number: int, last: bool, rows: ContactRows, features: FeatureContacts | None, dt: float) -> None:
        """A sweep over all patches and then over all particles, and where the next one starts."""
        if self.acceleration is not None and number == 0:
            self.acceleration.begin(self._particles.struct)
        if self.patches is not None:
            self.patches.sweep(rows, features, self._done, dt)
        for color in range(len(self.colors)):
            self._sweep(color, rows, features, dt)
        if self.acceleration is not None:
            self._accelerate(number, last)

    @property
    def _done(self) -> wp.array:
        return self._workspace.no_world_done if self.acceleration is None else self.acceleration.progress.done

    def _sweep(self, number: int, rows: ContactRows, features: FeatureContacts | None, dt: float) -> None:
        """Newton steps of the particles of a colour."""
        if self.lanes is not None:
            self.lanes.sweep(number, rows, features, dt)
            return
        # Particles of one colour share no element, but they may meet.
        vertices, color = self._workspace.vertices, self.colors[number]
        apart = vertices.displacement if features is None else self._workspace.found
        bound = [self._particles.struct, self._chain, rows, features or FeatureContacts(), self._done, vertices, dt]
        self._recorder.launch(self._sweep_vertices, len(color), [color, *bound], [apart])
        if features is not None:
            self._recorder.launch(take_color, len(color), [color, apart], [vertices.displacement])

    def _accelerate(self, number: int, last: bool) -> None:
        """After a sweep over all colours: where the next one starts, and which worlds take none."""
        self.acceleration.accelerate(number, last)
        if self._options.tolerance > 0.0 and self.lanes is not None:
            self.lanes.halt(self._particles.struct, self.acceleration.progress.done)

    def take_limited(self) -> None:
        """After particles were moved between sweeps."""
        if self.acceleration is not None:
            self.acceleration.take_displacements(self._particles.struct)

    def store(self) -> None:
        """What the sweeps have found, in the order of the particles."""
        if self.lanes is not None:
            self.lanes.finish(self._workspace.vertices)

    # ---- beside the step

    @property
    def taken(self) -> int | None:
        """The most sweeps that a world has taken in the last step, None if all were; reading it waits for the device."""
        if self._options.tolerance == 0.0 or self.acceleration is None:
            return None
        return self.acceleration.iterations

    def measure_imbalance(self, rows: ContactRows, features: FeatureContacts | None, dt: float) -> float:
        """The largest sum of forces on a particle [N] after the last step."""
        w, device = self._workspace, self._recorder.device
        if self._chain is None:
            self._pack_chain()
        load_kernels([self._measure_imbalance], device)
        inputs = [self._particles.struct, self._chain, rows, features or FeatureContacts(), w.vertices, dt]
        wp.launch(self._measure_imbalance, dim=w.particles, inputs=inputs, outputs=[w.imbalance], device=device)
        return float(w.imbalance.numpy().max())
