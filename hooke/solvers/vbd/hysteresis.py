"""Dahl hysteresis of cables and rods: the moment that their bending leaves behind.

Beside the elastic moment K k of a bending strain k, the friction between the strands of a cable exerts a moment sigma that follows k by

    d sigma = (sigma_max dk - sigma |dk|) / tau,     sigma_max = K eps_max                                     (1)

in any plane of bending, and at any rate (Dahl 1968, for vectors). Along a straight way d of length l and direction t it becomes exactly

    sigma' = sigma + B d,     B = (1 - e^(-l / tau)) / l (sigma_max 1 - sigma t^T)                             (2)

and never more than sigma_max. (2) is evaluated at the end of the step. B, which contains the strain where the way began, takes the place
of the tangent: its line passes through the point where loading turns into unloading, so that Newton's method cannot cycle between the two
branches, and it is the tangent to order l / tau. Rows need a diagonal stiffness: those of bending and twisting are turned into the
principal axes of K + kd / h + sym B.

On ways below ``DEADBAND``, which are rounding, t is the direction of the step before: a loaded joint at rest does not unload by noise.

A cable, which has one stiffness for bending and twisting, has one sigma for both; of a rod only the bending is hysteretic.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import warp as wp

from hooke.execution.work import Work, first_item, next_item
from hooke.joints import JOINTS
from hooke.joints.dispatch import is_elastic
from hooke.joints.kind import Place
from hooke.joints.layout import joint_place
from hooke.model.tables import JointDofs, Joints
from hooke.solvers.vbd.body_motion import BodyMotion
from hooke.solvers.vbd.joint_frames import JointInputs, JointMemory, joint_pose, material_dof, structure

__all__ = ["DEADBAND", "BendRows", "Hysteresis", "bend_rows", "dahl_stress", "find_hysteresis", "is_hysteretic", "remember_bends"]

DEADBAND = wp.constant(1.0e-6)  # rad
_ELASTIC = [int(kind.code) for kind in JOINTS if kind.strain is not None]


@wp.struct
class BendRows:
    """The angular rows of a hysteretic joint: principal stiffness, pull along the principal axes, and these mapped to moments."""

    acts: wp.int32
    stiffness: wp.vec3
    pull: wp.vec3
    moment: wp.mat33


@wp.func
def is_hysteretic(inputs: JointInputs, code: int, j: int):
    """Whether a joint is elastic, its bending soft, and both parameters positive."""
    return is_elastic(code) and inputs.hard[j, 1] == 0 and inputs.eps_max[j] > 0.0 and inputs.tau[j] > 0.0


@wp.func
def approach(length: float, tau: float):
    """(1 - e^(-l / tau)) / l of a length l, without cancellation."""
    x = length / tau
    part = 1.0 - x * (0.5 - x * (1.0 / 6.0 - x * (1.0 / 24.0 - x / 120.0)))
    if x > 0.1:
        part = (1.0 - wp.exp(-x)) / x
    return part / tau


@wp.func
def dahl_stress(stress: wp.vec3, way: wp.vec3, heading: wp.vec3, most: float, tau: float):
    """The stress and B of (2), and the direction of the way."""
    length = wp.length(way)
    t = heading
    if length > DEADBAND:
        t = way / length
    slope = approach(length, tau) * (most * wp.identity(n=3, dtype=wp.float32) - wp.outer(stress, t))
    new = stress + slope * way
    size = wp.length(new)
    if size > most:
        new = new * (most / size)
    return new, slope, t


@wp.func
def bent_stress(dofs: JointDofs, inputs: JointInputs, memory: JointMemory, place: Place, j: int, strain: wp.vec3):
    """:func:`dahl_stress` of a joint at an angular strain; what is not hysteretic of it has no stress and no slope."""
    way = strain - memory.bent[j]
    both = place.angular == 1
    if not both:
        way[2] = 0.0
    ke = 0.5 * (dofs.target_ke[material_dof(place, 3)] + dofs.target_ke[material_dof(place, 4)])
    new, slope, t = dahl_stress(memory.stress[j], way, memory.heading[j], ke * inputs.eps_max[j], inputs.tau[j])
    if not both:
        slope[2, 2] = 0.0
    return new, slope, t


@wp.func
def bend_rows(
    dofs: JointDofs, inputs: JointInputs, memory: JointMemory, code: int, place: Place, j: int, k: wp.spatial_vector, c: wp.spatial_vector,
    turn: wp.mat33, dt: float,
):  # fmt: skip
    """The angular rows at the strain ``c`` with the penalties ``k``; ``turn`` maps relative angular velocities to strain rates."""
    rows = BendRows()
    if is_hysteretic(inputs, code, j):
        stress, slope, _t = bent_stress(dofs, inputs, memory, place, j, wp.spatial_bottom(c))
        total = 0.5 * (slope + wp.transpose(slope))
        pull = -stress
        for i in range(3):
            kd = dofs.target_kd[material_dof(place, 3 + i)] / dt
            total[i, i] += k[3 + i] + kd
            pull[i] -= k[3 + i] * c[3 + i] + kd * (c[3 + i] - memory.start[j][3 + i])
        axes, values = wp.eig3(total)
        rows.acts = 1
        for i in range(3):
            rows.stiffness[i] = wp.max(values[i], 0.0)
        rows.pull = wp.transpose(axes) * pull
        rows.moment = wp.transpose(axes) * turn
    return rows


@wp.kernel(enable_backward=False)
def remember_bends(
    work: Work, joints: Joints, dofs: JointDofs, motion: BodyMotion, inputs: JointInputs, memory: JointMemory,
):  # fmt: skip
    """The stress, strain and direction at the end of a step; of joints that are switched off or hard only the strain."""
    j = first_item(work, wp.tid())
    while j >= 0:
        code, place = joints.type[j], joint_place(inputs.layout, j)
        if is_elastic(code):
            pose = joint_pose(joints, motion, memory, j, False)
            c, _across, _turn = structure(code, place, dofs, inputs, pose, j)
            strain = wp.spatial_bottom(c)
            stress, heading = wp.vec3(0.0), wp.vec3(0.0)
            if joints.enabled[j] and is_hysteretic(inputs, code, j):
                stress, _slope, heading = bent_stress(dofs, inputs, memory, place, j, strain)
            memory.stress[j] = stress
            memory.heading[j] = heading
            memory.bent[j] = strain
        j = next_item(work, j)


@dataclass(frozen=True)
class Hysteresis:
    """``vbd:dahl_eps_max`` and ``vbd:dahl_tau`` of all joints, zeros where the model has none, and whether there are any to act on."""

    eps_max: wp.array
    tau: wp.array
    acts: bool


def find_hysteresis(model: Any, tables: dict[str, Any], device: Any) -> Hysteresis:
    """The hysteresis of a model; values are read in every step.

    Raises:
        ValueError: A value is negative or not finite.
    """
    joints, authored = tables["joint"], getattr(model, "vbd", None)
    given = [getattr(authored, name, None) for name in ("dahl_eps_max", "dahl_tau")]
    if not joints.count or given[0] is None or given[1] is None:
        none = wp.zeros(joints.count, dtype=wp.float32, device=device)
        return Hysteresis(none, none, False)
    values = np.stack([given[0].numpy(), given[1].numpy()])
    bad = np.argwhere(~((values >= 0.0) & np.isfinite(values)))
    if len(bad):
        k, j = bad[0].tolist()
        name = ("dahl_eps_max", "dahl_tau")[k]
        raise ValueError(
            f"SolverVBD: expected vbd:{name} >= 0 and finite, found {values[k, j]} at joint {joints.arrays['label'][j]!r} (index {j})"
        )
    return Hysteresis(given[0], given[1], bool(np.isin(joints.arrays["type"].numpy(), _ELASTIC).any()))
