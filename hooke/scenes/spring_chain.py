"""A chain of springs that hangs from one end."""

from hooke.model.builder import ModelBuilder
from hooke.scenes.scene import Scene

__all__ = ["spring_chain"]


def spring_chain(links: int = 20, length: float = 1.0, ke: float = 2.0e3, kd: float = 0.5, mass: float = 0.02) -> Scene:
    """A chain that starts level and swings.

    Args:
        links: Number of springs.
        length: Length of the chain [m].
        ke: Stiffness of a spring [N/m].
        kd: Damping of a spring [N s/m].
        mass: Mass of a node [kg].
    """
    builder = ModelBuilder()
    step = length / links
    first = builder.add_particle((0.0, 0.0, 1.2 * length), (0.0, 0.0, 0.0), 0.0, radius=0.3 * step)
    for k in range(1, links + 1):
        node = builder.add_particle((k * step, 0.0, 1.2 * length), (0.0, 0.0, 0.0), mass, radius=0.3 * step)
        builder.add_spring(node - 1 if k > 1 else first, node, ke, kd)
    builder.add_ground_plane()
    return Scene("spring_chain", builder, camera={"azimuth": -80.0, "elevation": 8.0})
