"""How deep particles and shapes stand in shapes, read from contact rows on the host."""

from __future__ import annotations

from typing import Any

import numpy as np

from hooke.model.motion import quat_rotate

__all__ = ["measure_overlap", "measure_penetration"]


def measure_penetration(model: Any, state: Any, contacts: Any) -> float:
    """Largest depth [m] by which a particle's sphere, or that of a point of an edge or face, stands in the surface (margin included) of
    a row's shape; 0 without contact.
    """
    count = min(int(contacts.soft_contact_count.numpy()[0]), contacts.soft_contact_max)
    if count == 0:
        return 0.0
    corners = contacts.soft_contact_indices.numpy()[:count]
    weights = contacts.soft_contact_barycentric.numpy()[:count].astype(np.float64)
    shape = contacts.soft_contact_shape.numpy()[:count]
    normal = contacts.soft_contact_normal.numpy()[:count].astype(np.float64)
    point = contacts.soft_contact_body_pos.numpy()[:count].astype(np.float64)
    body = model.shape_body.numpy()[shape]
    carried = body >= 0
    if carried.any():
        pose = state.body_q.numpy()[body[carried]]
        point[carried] = pose[:, :3] + quat_rotate(pose[:, 3:], point[carried])
    radius = np.where(corners >= 0, model.particle_radius.numpy()[corners], 0.0).max(axis=1)
    x = np.einsum("ic,icj->ij", weights, state.particle_q.numpy()[corners])  # a corner that is missing weighs nothing
    depth = radius + model.shape_margin.numpy()[shape] - np.einsum("ij,ij->i", normal, x - point)
    return max(0.0, float(depth.max()))


def measure_overlap(model: Any, state: Any, contacts: Any) -> float:
    """Largest depth [m] by which shapes (margins included) stand in each other along the normals of their rows; 0 without contact."""
    count = min(int(contacts.rigid_contact_count.numpy()[0]), contacts.rigid_contact_max)
    if count == 0:
        return 0.0
    pose = np.vstack([state.body_q.numpy().reshape(-1, 7), (0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0)]).astype(np.float64)
    ends, margins = [], np.zeros(count)
    for side in "01":
        shape, point, margin = (
            getattr(contacts, f"rigid_contact_{name}{side}").numpy()[:count] for name in ("shape", "point", "margin")
        )
        frame = pose[model.shape_body.numpy()[shape]]
        ends.append(frame[:, :3] + quat_rotate(frame[:, 3:], point))
        margins += margin
    apart = np.einsum("ij,ij->i", contacts.rigid_contact_normal.numpy()[:count], ends[1] - ends[0])
    return max(0.0, float((margins - apart).max()))
