"""A case as calls of the builder that hooke and newton have in common, and the arrays of a model that the residual is measured with."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from benchmarks.cases import Case
from benchmarks.twist import Twist, load_start

__all__ = ["export_model", "fill_builder", "set_contact", "start_twist"]

QUARTER_TURN = (0.0, 0.0, math.sqrt(0.5), math.sqrt(0.5))

NAMES = (
    "particle_q", "particle_mass", "particle_radius", "gravity", "tri_indices", "tri_poses", "tri_areas", "tri_materials",
    "edge_indices", "edge_rest_angle", "edge_rest_length", "edge_bending_properties", "tet_indices", "tet_poses", "tet_materials",
)  # fmt: skip


def fill_builder(builder: Any, case: Case) -> None:
    """Add what a case consists of, and colour it.

    Args:
        builder: A ``ModelBuilder`` of hooke or of newton.
        case: The case.
    """
    still = (0.0, 0.0, 0.0)
    if case.kind == "twist":
        builder.add_cloth_grid(
            pos=(-0.5, -0.5, 4.0), rot=(0.0, 0.0, 0.0, 1.0), vel=still, dim_x=case.n, dim_y=case.n, cell_x=case.cell,
            cell_y=case.cell, fix_left=True, fix_right=True, **case.cloth,
        )  # fmt: skip
    elif case.kind == "cloth":
        builder.add_cloth_grid(
            pos=(0.0, 0.0, 4.0), rot=QUARTER_TURN, vel=still, dim_x=case.n, dim_y=case.n, cell_x=case.cell, cell_y=case.cell,
            fix_left=True, **case.cloth,
        )  # fmt: skip
    else:
        builder.add_soft_grid(
            pos=(0.0, 1.0, 1.0), rot=(0.0, 0.0, 0.0, 1.0), vel=still, dim_x=case.n, dim_y=case.n, dim_z=case.n, cell_x=case.cell,
            cell_y=case.cell, cell_z=case.cell, fix_left=True, **case.soft,
        )  # fmt: skip
    builder.add_ground_plane()
    builder.color(include_bending=case.edge_ke > 0.0)


def set_contact(model: Any, case: Case) -> None:
    """Give a model the contact material of a case."""
    for name, value in case.soft_contact.items():
        setattr(model, f"soft_contact_{name}", value)


def start_twist(model: Any, state: Any, case: Case) -> Twist | None:
    """What moves the held particles of a model of hooke or newton on the CPU; puts ``state`` where the case starts. None: nothing moves."""
    if case.kind != "twist":
        return None
    steps = 0
    if stored := load_start(case):
        x, v, steps = stored
        state.particle_q.assign(x)
        state.particle_qd.assign(v)
    return Twist(model.particle_q.numpy(), model.particle_mass.numpy() == 0.0, steps, case.dt)


def export_model(model: Any) -> dict[str, np.ndarray]:
    """The arrays that masses, rest shapes and materials stand in, by their flat names; those that a model lacks are left out."""
    arrays = {name: getattr(model, name, None) for name in NAMES}
    return {name: array.numpy().copy() for name, array in arrays.items() if array is not None and len(array)}
