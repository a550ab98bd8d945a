"""Attachment of a particle to a point of a body, or to a point of the world.

With a the point where the body has it now, a_s where it had it when the step began, and the same for the particle x,

    E = k/2 |x - a|^2 + c/(2 dt) |(x - x_s) - (a - a_s)|^2                                          (1)
    dE/dx = k (x - a) + c ((x - x_s) - (a - a_s))/dt,     d2E/dx2 = (k + c/dt) I                    (2)

Every motion relative to the point is damped. The point is the last corner of the element: it stands behind the particles in x.
"""

from typing import Any

import numpy as np
import warp as wp

from hooke.data.table import Column, Table
from hooke.elements.element import Element
from hooke.elements.lanes import LaneRecords, LaneView, change, start
from hooke.math import add, constant, dot, isotropic, mul, sub

ATTACHMENT_TABLE = Table(
    "attachment_particle_body",
    "attachment_particle_body_",
    (
        Column("particle", wp.int32, -1, refers="particle", minimum=0, doc="The particle that is held."),
        Column("body", wp.int32, -1, refers="body", doc="The body that holds it; -1 is the world."),
        Column("body_point", wp.vec3, (0.0, 0.0, 0.0), "m", "Where it is held, in the body frame (in the world without a body)."),
        Column("stiffness", wp.float32, 1.0e4, "N/m", "Stiffness.", minimum=0.0),
        Column("damping", wp.float32, 0.0, "N s/m", "Damping of the motion relative to the point.", minimum=0.0),
        Column("enabled", wp.bool, True, "", "Whether the attachment acts."),
    ),
    doc="Particles held by points of bodies or of the world.",
)
Attachments = ATTACHMENT_TABLE.struct


@wp.func
def pull_energy(reach: Any, stiffness: Any):
    return constant(0.5, stiffness) * stiffness * dot(reach, reach)


@wp.func
def pull_derivatives(reach: Any, change: Any, stiffness: Any, damping_rate: Any):
    """Derivatives (2): ``reach`` = x - a, ``change`` its change over the step, ``damping_rate`` = c/dt."""
    return stiffness * reach + damping_rate * change, isotropic(stiffness + damping_rate)


@wp.func
def held_point(e: Attachments, k: int, body_q: wp.array(dtype=wp.transform)):
    """Where the bodies at ``body_q`` have the point of attachment ``k``."""
    if e.body[k] < 0:
        return e.body_point[k]
    return wp.transform_point(body_q[e.body[k]], e.body_point[k])


@wp.func
def corner(e: Attachments, k: int, slot: int, length: int):
    """The place of a corner in arrays of ``length``: particles, the points of all attachments, the air."""
    if slot == 0:
        return e.particle[k]
    return length - 1 - e.particle.shape[0] + k


@wp.func
def attachment_energy(e: Attachments, k: int, x: wp.array(dtype=wp.vec3)):
    if not e.enabled[k]:
        return float(0.0)
    return pull_energy(x[corner(e, k, 0, x.shape[0])] - x[corner(e, k, 1, x.shape[0])], e.stiffness[k])


@wp.func
def attachment_gradient_hessian(
    e: Attachments, k: int, slots: int, d: wp.array(dtype=wp.vec3), x_start: wp.array(dtype=wp.vec3), dt: float
):
    slot = slots >> 1
    i = corner(e, k, slot, d.shape[0])
    j = corner(e, k, 1 - slot, d.shape[0])
    moved = d[i] - d[j]
    return pull_derivatives((x_start[i] - x_start[j]) + moved, moved, e.stiffness[k], e.damping[k] / dt)


@wp.func
def attachment_lanes(r: LaneRecords, k: int, d: wp.array(dtype=wp.vec3), rate: float):
    moved = change(r, k, 0, d) - change(r, k, 1, d)
    return pull_derivatives(moved - start(r, k, 1), moved, r.constant[k, 0], rate * r.constant[k, 1])


def attachment_constants(c: dict[str, np.ndarray], rows: np.ndarray, moves: np.ndarray) -> np.ndarray:
    return np.stack([c[name][rows] for name in ("stiffness", "damping")], axis=1)


ATTACHMENT = Element(
    ATTACHMENT_TABLE,
    2,
    attachment_energy,
    attachment_gradient_hessian,
    acts=lambda c: c["enabled"] & ((c["stiffness"] != 0) | (c["damping"] != 0)),
    views=(LaneView({0: (0, 1)}, attachment_constants, attachment_lanes),),
    particles="particle",
    point=lambda rows, count: rows - count - 1,
)
