"""Contacts: buffers of contact rows, filled by the collision pipeline."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import warp as wp

__all__ = ["Contacts", "RigidRows", "SoftRows", "rigid_rows", "soft_rows"]


@wp.struct
class RigidRows:
    """Rows of contacts between shapes, as kernels take them.

    ``count[0]`` is the number that was found; rows from ``len(shape0)`` on did not fit. ``match_index`` is empty where contacts are not
    matched.
    """

    count: wp.array(dtype=wp.int32)
    shape0: wp.array(dtype=wp.int32)
    shape1: wp.array(dtype=wp.int32)
    point0: wp.array(dtype=wp.vec3)
    point1: wp.array(dtype=wp.vec3)
    normal: wp.array(dtype=wp.vec3)
    offset0: wp.array(dtype=wp.vec3)
    offset1: wp.array(dtype=wp.vec3)
    margin0: wp.array(dtype=wp.float32)
    margin1: wp.array(dtype=wp.float32)
    point_id: wp.array(dtype=wp.int32)
    tids: wp.array(dtype=wp.int32)
    match_index: wp.array(dtype=wp.int32)


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
        contact_matching: ``"latest"`` (or True) or ``"sticky"``: with arrays that say which row of the pass before is the same contact.
        contact_report: Also with lists of new and of broken contacts; needs matching.
        per_contact_shape_properties: Must be False: rows take their material from the shapes.
        clear_buffers: Also clear the rows in :meth:`clear`, instead of the counters alone.

    Attributes:
        lookahead: Time [s] by which a collision pass sees what approaches earlier; 0.0. A step of a solver with self-contact sets it
            to its own length, for the passes that follow.
        rigid_lookahead: Time [s] by which a pass sees shapes that approach each other earlier, unless it is told a time step; 0.0. A step
            of SolverVBD with dynamic bodies sets it to its own length, for the passes that follow.
        contact_counters: int32 (4,): rigid rows found, soft rows found, and what a pass in a capture had no room for in the pipeline's
            own buffers: if the third is not 0, rigid rows are missing.
        contact_generation: int32 (1,): grows with every pass and every :meth:`clear`; wraps to 0 after 2^31 - 1.
        rigid_contact_count: View of the first counter: the number that was found; in a capture it may exceed ``rigid_contact_max``.
        rigid_contact_shape0: First shape of each row, int32, -1 in rows that were never used. It is the one with the smaller GeoType,
            of two alike the one with the smaller index.
        rigid_contact_shape1: Second shape, int32.
        rigid_contact_point0: Point on shape 0 [m] in the frame of its body (the world when static), vec3. For a sphere or capsule the
            core: its centre, or the point of its segment.
        rigid_contact_point1: The same on shape 1.
        rigid_contact_normal: Unit normal in world axes from shape 0 to shape 1, vec3. The signed separation of a row is
            n . (p1 - p0) - (margin0 + margin1) with both points in the world.
        rigid_contact_offset0: From point 0 along the normal to the surface with margin [m], in the frame of the body, vec3.
        rigid_contact_offset1: From point 1 against the normal to the surface with margin [m], in the frame of the body, vec3.
        rigid_contact_margin0: Radius (of a sphere or capsule) plus margin of shape 0 [m].
        rigid_contact_margin1: The same of shape 1.
        rigid_contact_point_id: Feature of the pair that the row stands for, int32: the same from pass to pass.
        rigid_contact_tids: Candidate pair of each row, int32.
        rigid_contact_force: Force [N] on the body of shape 1, world axes, vec3; ``SolverVBD.collect_rigid_contact_forces`` writes it.
        rigid_contact_match_index: With matching: row of the pass before that is the same contact, -1 where the pair of shapes had none,
            -2 where it had none near enough.
        rigid_contact_match_generation: With matching: ``contact_generation`` of the pass that wrote it, int32 (1,); -1 before any.
        rigid_contact_new_indices: With a report: rows without a match, the first ``rigid_contact_new_count[0]``.
        rigid_contact_broken_indices: With a report: rows of the pass before without a match, ``rigid_contact_broken_count[0]``.
        contact_matching_mode: ``"disabled"``, ``"latest"`` or ``"sticky"``.
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
        requested_attributes: Iterable[str] | None = None, contact_matching: bool | str = False, contact_report: bool = False,
        per_contact_shape_properties: bool = False, clear_buffers: bool = False,
    ):  # fmt: skip
        if requires_grad:
            raise NotImplementedError("Contacts(requires_grad=True): gradients are not available yet; pass False")
        if per_contact_shape_properties:
            raise NotImplementedError(
                "Contacts(per_contact_shape_properties=True): rows take stiffness, damping and friction from their shapes; pass False"
            )
        if rigid_contact_max < 0 or soft_contact_max < 0:
            raise ValueError(f"Contacts: expected sizes >= 0, found {rigid_contact_max} and {soft_contact_max}")
        self.device = wp.get_device(device)
        self.rigid_contact_max = rigid_contact_max
        self.clear_buffers = clear_buffers
        self.soft_contact_surface = False
        self.lookahead = 0.0
        self.rigid_lookahead = 0.0
        self.requested_attributes = set(requested_attributes or ())
        self.contact_counters = wp.zeros(4, dtype=wp.int32, device=self.device)
        self.contact_generation = wp.zeros(1, dtype=wp.int32, device=self.device)
        self.rigid_contact_count = self.contact_counters[0:1]
        self.soft_contact_count = self.contact_counters[1:2]
        self.contact_matching_mode = check_matching(contact_matching)
        self.contact_report = contact_report
        if contact_report and self.contact_matching_mode == "disabled":
            raise ValueError('Contacts(contact_report=True): expected contact_matching "latest" or "sticky", found "disabled"')
        if self.contact_matching_mode != "disabled":
            self.rigid_contact_match_generation = wp.full(1, -1, dtype=wp.int32, device=self.device)
        if contact_report:
            self.rigid_contact_new_count = wp.zeros(1, dtype=wp.int32, device=self.device)
            self.rigid_contact_broken_count = wp.zeros(1, dtype=wp.int32, device=self.device)
        self.soft_contact_max = soft_contact_max
        self.resize_rigid(rigid_contact_max)
        self.resize_soft(soft_contact_max)

    def resize_rigid(self, rigid_contact_max: int) -> None:
        """Replace the rows of contacts between shapes by ``rigid_contact_max`` empty ones."""
        self.rigid_contact_max = rigid_contact_max
        rows = self.rigid_rows = RigidRows()
        rows.count = self.rigid_contact_count
        for name, annotation in RigidRows.vars.items():
            if name == "count":
                continue
            matched = name == "match_index"
            size = 0 if matched and self.contact_matching_mode == "disabled" else rigid_contact_max
            none = -1 if name in ("shape0", "shape1", "match_index") else 0
            dtype = annotation.type.dtype
            array = (
                wp.full(size, none, dtype=dtype, device=self.device) if none else wp.zeros(size, dtype=dtype, device=self.device)
            )
            setattr(rows, name, array)
            if not matched or self.contact_matching_mode != "disabled":
                setattr(self, f"rigid_contact_{name}", array)
        self.rigid_contact_force = wp.zeros(rigid_contact_max, dtype=wp.vec3, device=self.device)
        if self.contact_report:
            for name in ("new_indices", "broken_indices"):
                setattr(self, f"rigid_contact_{name}", wp.full(rigid_contact_max, -1, dtype=wp.int32, device=self.device))
        self._resize_force()

    def _resize_force(self) -> None:
        if "force" in self.requested_attributes:
            size = self.rigid_contact_max + self.soft_contact_max
            self.force = wp.zeros(size, dtype=wp.spatial_vector, device=self.device)

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
        self._resize_force()

    def clear(self, bump_generation: bool = True) -> None:
        """Forget all rows."""
        self.contact_counters.zero_()
        if self.clear_buffers:
            for kind, rows in ((RigidRows, self.rigid_rows), (SoftRows, self.soft_rows)):
                for name in getattr(kind, "vars", ()):
                    array = getattr(rows, name)
                    array.fill_(-1) if name in ("shape0", "shape1", "match_index") else array.zero_()
        if bump_generation:
            wp.launch(_bump, dim=1, inputs=[self.contact_generation], device=self.device)


def check_matching(mode: bool | str) -> str:
    """The name of a way to match contacts: True is ``"latest"``, False is ``"disabled"``.

    Raises:
        ValueError: There is no such way.
    """
    name = ("latest" if mode else "disabled") if isinstance(mode, bool) else mode
    if name not in ("disabled", "latest", "sticky"):
        raise ValueError(f'contact_matching: expected "disabled", "latest" or "sticky", found {mode!r}')
    return str(name)


@wp.kernel(enable_backward=False)
def _bump(generation: wp.array(dtype=wp.int32)):
    generation[0] = wp.where(generation[0] == wp.int32(2147483647), 0, generation[0] + 1)


def soft_rows(contacts: Any) -> SoftRows:
    """The rows of particle contacts of any object with the documented arrays."""
    return contacts.soft_rows if isinstance(contacts, Contacts) else _collect(contacts, SoftRows, "soft_contact_")


def rigid_rows(contacts: Any) -> RigidRows:
    """The rows of contacts between shapes of any object with the documented arrays; what it does not have is empty."""
    return contacts.rigid_rows if isinstance(contacts, Contacts) else _collect(contacts, RigidRows, "rigid_contact_")


def _collect(contacts: Any, kind: Any, prefix: str) -> Any:
    rows = kind()
    for name in kind.vars:
        array = getattr(contacts, prefix + name, None)
        if array is not None:
            setattr(rows, name, array)
    return rows
