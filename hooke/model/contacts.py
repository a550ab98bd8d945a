"""Contacts: buffers of contact rows, filled by the collision pipeline."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import warp as wp

__all__ = ["Contacts", "SoftRows"]


@wp.struct
class SoftRows:
    """Rows of contacts of particles, then edges, then faces with shapes, as kernels take them.

    ``count[0]`` is the number that was found; rows from ``len(particle)`` on did not fit.
    """

    count: wp.array(dtype=wp.int32)
    particle: wp.array(dtype=wp.int32)
    indices: wp.array(dtype=wp.vec3i)
    barycentric: wp.array(dtype=wp.vec3)
    shape: wp.array(dtype=wp.int32)
    body_pos: wp.array(dtype=wp.vec3)
    body_vel: wp.array(dtype=wp.vec3)
    normal: wp.array(dtype=wp.vec3)
    tids: wp.array(dtype=wp.int32)


class Contacts:
    """Contact rows of one collision pass.

    Args:
        rigid_contact_max: Rows for contacts between shapes.
        soft_contact_max: Rows for contacts between particles and shapes; grows outside a capture when a pass finds more.
        requires_grad: Must be False; gradients are not available yet.
        device: Warp device.
        requested_attributes: ``"force"`` adds the array ``force``.

    Attributes:
        lookahead: Time [s] by which a collision pass sees what approaches earlier; 0.0. A step of a solver with self-contact sets it
            to its own length, for the passes that follow.
        contact_counters: int32 (4,): rigid rows, soft rows found.
        contact_generation: int32 (1,): grows with every pass and every :meth:`clear`; wraps to 0 after 2^31 - 1.
        rigid_contact_count: View of the first counter.
        soft_contact_count: View of the second: the number that was found, which may exceed ``soft_contact_max`` in a capture.
        soft_contact_particle: Particle of each row, int32; -1 in rows of edges and faces.
        soft_contact_indices: Particles of each row, vec3i: (particle, -1, -1), an edge (v0, v1, -1) or a face (v0, v1, v2).
        soft_contact_barycentric: Weights of these particles at the point of contact, vec3; (1, 0, 0) for a particle.
        soft_contact_shape: Shape of each row, int32.
        soft_contact_body_pos: Closest point of the surface [m] in the frame of the shape's body (the world when static), vec3.
        soft_contact_body_vel: Velocity of the surface [m/s] in the same frame, vec3.
        soft_contact_normal: Unit normal in world axes from the shape to the point, vec3.
        soft_contact_tids: Candidate pair of each row, int32.
        soft_contact_surface: Whether there may be rows of edges and faces; set by the pipeline that fills the buffer.
        force: On request: per row the force [N] and the torque about the origin [N m] on shape 1 (rigid rows first) or on the
            particle (soft rows), world axes, spatial_vector; written by ``solver.update_contacts``.
    """

    def __init__(
        self, rigid_contact_max: int, soft_contact_max: int, *, requires_grad: bool = False, device: Any = None,
        requested_attributes: Iterable[str] | None = None,
    ):  # fmt: skip
        if requires_grad:
            raise NotImplementedError("Contacts(requires_grad=True): gradients are not available yet; pass False")
        if rigid_contact_max < 0 or soft_contact_max < 0:
            raise ValueError(f"Contacts: expected sizes >= 0, found {rigid_contact_max} and {soft_contact_max}")
        self.device = wp.get_device(device)
        self.rigid_contact_max = rigid_contact_max
        self.soft_contact_surface = False
        self.lookahead = 0.0
        self.requested_attributes = set(requested_attributes or ())
        self.contact_counters = wp.zeros(4, dtype=wp.int32, device=self.device)
        self.contact_generation = wp.zeros(1, dtype=wp.int32, device=self.device)
        self.rigid_contact_count = self.contact_counters[0:1]
        self.soft_contact_count = self.contact_counters[1:2]
        rigid = {
            "shape0": wp.int32, "shape1": wp.int32, "point0": wp.vec3, "point1": wp.vec3, "normal": wp.vec3, "offset0": wp.vec3,
            "offset1": wp.vec3, "margin0": wp.float32, "margin1": wp.float32, "point_id": wp.int32, "tids": wp.int32,
        }  # fmt: skip
        for name, dtype in rigid.items():
            setattr(self, f"rigid_contact_{name}", wp.zeros(rigid_contact_max, dtype=dtype, device=self.device))
        self.resize_soft(soft_contact_max)

    def resize_soft(self, soft_contact_max: int) -> None:
        """Replace the rows of particle contacts by ``soft_contact_max`` empty ones."""
        self.soft_contact_max = soft_contact_max
        rows = self.soft_rows = SoftRows()
        rows.count = self.soft_contact_count
        for name, annotation in SoftRows.vars.items():
            if name != "count":
                array = wp.zeros(soft_contact_max, dtype=annotation.type.dtype, device=self.device)
                setattr(rows, name, array)
                setattr(self, f"soft_contact_{name}", array)
        if "force" in self.requested_attributes:
            size = self.rigid_contact_max + soft_contact_max
            self.force = wp.zeros(size, dtype=wp.spatial_vector, device=self.device)

    def clear(self, bump_generation: bool = True) -> None:
        """Forget all rows."""
        self.contact_counters.zero_()
        if bump_generation:
            wp.launch(_bump, dim=1, inputs=[self.contact_generation], device=self.device)


@wp.kernel(enable_backward=False)
def _bump(generation: wp.array(dtype=wp.int32)):
    generation[0] = wp.where(generation[0] == wp.int32(2147483647), 0, generation[0] + 1)


def soft_rows(contacts: Any) -> SoftRows:
    """The rows of particle contacts of any object with the documented arrays."""
    if isinstance(contacts, Contacts):
        return contacts.soft_rows
    rows = SoftRows()
    for name in SoftRows.vars:
        if name == "count":
            rows.count = contacts.soft_contact_count
        else:
            setattr(rows, name, getattr(contacts, f"soft_contact_{name}"))
    return rows
