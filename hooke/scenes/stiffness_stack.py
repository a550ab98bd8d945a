"""Boxes on springs that are soft and stiff in turn."""

from hooke.model.builder import ModelBuilder
from hooke.model.config import ShapeConfig
from hooke.scenes.bodies import PALETTE
from hooke.scenes.scene import Scene

__all__ = ["stiffness_stack"]


def stiffness_stack(count: int = 10, soft: float = 2.0e3, hard: float = 2.0e8, mass: float = 1.0, damping: float = 0.05) -> Scene:
    """Boxes above each other, each on a slider with a spring to the one below, soft and stiff in turn; the lowest stands on the ground.

    At rest a spring is shorter by the weight it carries over its stiffness. A scene of Giles, Diaz, Yuksel, Augmented Vertex Block
    Descent, 2025, with joints for contacts.

    Args:
        count: Number of boxes.
        soft: Stiffness of the first, third ... spring from the ground [N/m].
        hard: Of the second, fourth ... [N/m].
        mass: Of a box [kg].
        damping: Time [s] by which rates weigh against springs: their dampers are ``damping * soft`` and ``damping * hard``.
    """
    builder = ModelBuilder()
    size, pitch = 0.2, 0.5
    cfg = ShapeConfig(density=mass / size**3, has_shape_collision=False)
    bare = ShapeConfig(density=0.0, has_shape_collision=False)
    joints, parent, z = [], -1, 0.0
    for k in range(count):
        z += pitch if k % 2 == 0 else size
        body = builder.add_link(xform=(0.0, 0.0, z, 0.0, 0.0, 0.0, 1.0), label=f"box_{k}")
        builder.add_shape_box(body, hx=0.5 * size, hy=0.5 * size, hz=0.5 * size, cfg=cfg, color=PALETTE[k // 2 % 5])
        if k % 2 == 0:  # for the eye only: what the spring pushes down on
            down = (0.0, 0.0, -0.5 * size - 0.5 * (pitch - size), 0.0, 0.0, 0.0, 1.0)
            builder.add_shape_cylinder(
                body, xform=down, radius=0.25 * size, half_height=0.5 * (pitch - size), cfg=bare, color=(0.5, 0.5, 0.55)
            )
        ke = hard if k % 2 else soft
        below = (0.0, 0.0, z if parent < 0 else pitch if k % 2 == 0 else size, 0.0, 0.0, 0.0, 1.0)
        joints.append(
            builder.add_joint_prismatic(parent, body, axis="Z", parent_xform=below, stiffness=ke, damping=damping * ke, rest_q=0.0)
        )
        parent = body
    builder.add_articulation(joints, label="stack")
    builder.add_ground_plane()
    return Scene("stiffness_stack", builder, seconds=6.0, substeps=1, camera={"azimuth": -60.0, "elevation": 10.0})
