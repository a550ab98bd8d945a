"""A net of springs that is thrown over a cloth on a ball."""

import numpy as np

from hooke.model.builder import ModelBuilder
from hooke.model.config import ShapeConfig
from hooke.model.material import CLOTH_PRESETS
from hooke.scenes.scene import Scene, self_contact

__all__ = ["net_lines", "rope_net"]


def net_lines(knots: int, links: int) -> tuple[np.ndarray, np.ndarray]:
    """The lines of a square net.

    Args:
        knots: Knots along each side.
        links: Links between neighbouring knots.

    Returns:
        Places of the nodes, in units of a link, (k, 2), and pairs of nodes that a link joins, (m, 2).
    """
    side = (knots - 1) * links + 1
    x, y = (a.reshape(-1) for a in np.meshgrid(np.arange(side), np.arange(side), indexing="ij"))
    on = (x % links == 0) | (y % links == 0)
    number = np.full((side, side), -1)
    number[x[on], y[on]] = np.arange(int(on.sum()))
    along_x = (y % links == 0) & (x + 1 < side)
    along_y = (x % links == 0) & (y + 1 < side)
    pairs = [(number[x[f], y[f]], number[x[f] + dx, y[f] + dy]) for f, dx, dy in ((along_x, 1, 0), (along_y, 0, 1))]
    return np.stack([x[on], y[on]], axis=1), np.concatenate([np.stack(p, axis=1) for p in pairs])


def rope_net(knots: int = 10, links: int = 4, n: int = 32, size: float = 1.2, self_contacts: bool = True) -> Scene:
    """A net, its nodes particles without a surface, that flies over a ball on which a cloth of n x n cells comes to lie.

    Args:
        knots: Knots along each side of the net.
        links: Springs between neighbouring knots.
        n: Cells along each side of the cloth; 0 leaves it out.
        size: Length of a side of the net and the cloth [m].
        self_contacts: Whether net and cloth feel each other.
    """
    builder = ModelBuilder()
    silk = CLOTH_PRESETS["silk"]
    step = size / ((knots - 1) * links)
    radius = 0.2 * size / max(n, 24)
    builder.add_shape_sphere(-1, xform=(0.0, 0.0, 0.35, 0.0, 0.0, 0.0, 1.0), radius=0.35, cfg=ShapeConfig(mu=silk.mu), label="ball")
    builder.add_ground_plane()
    if n:
        cell = size / n
        elements = silk.elements(cell)
        mass = elements.pop("density") * cell * cell
        builder.add_cloth_grid(
            pos=(-0.5 * size, -0.5 * size, 0.72), rot=(0.0, 0.0, 0.0, 1.0), vel=(0.0, 0.0, 0.0), dim_x=n, dim_y=n, cell_x=cell,
            cell_y=cell, mass=mass, particle_radius=radius, color=(0.75, 0.3, 0.3), **elements,
        )  # fmt: skip
    places, pairs = net_lines(knots, links)
    count = len(places)
    height = 1.0 + 0.1 * places[:, 0] * step
    q = np.stack([places[:, 0] * step - size, places[:, 1] * step - 0.5 * size, height], axis=1)
    nodes = builder.add_particles(list(q), [(1.2, 0.0, 0.8)] * count, [2.0e-3] * count, [radius] * count)
    for i, j in (pairs + nodes.start).tolist():
        builder.add_spring(i, j, 5.0e2, 5.0e-2)
    return Scene(
        "rope_net", builder, seconds=2.5, solver=self_contact(self_contacts, radius), soft_contact={"ke": 1.0e3, "kd": 1.0e-2, "mu": 0.4},
        camera={"azimuth": -60.0, "elevation": 22.0},
    )  # fmt: skip
