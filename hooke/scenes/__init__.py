"""Built-in scenes: functions that return a :class:`Scene`."""

from __future__ import annotations

from collections.abc import Callable

from hooke.scenes.box_stack import box_stack
from hooke.scenes.cable_pile import cable_pile
from hooke.scenes.cable_twist import cable_twist
from hooke.scenes.cantilever_cable import cantilever_cable
from hooke.scenes.card_house import card_house
from hooke.scenes.card_tower import card_tower
from hooke.scenes.chains import heavy_pendulum, two_balls
from hooke.scenes.cloth_bag_of_boxes import cloth_bag_of_boxes
from hooke.scenes.cloth_hanging import cloth_hanging
from hooke.scenes.cloth_on_mesh import cloth_on_mesh
from hooke.scenes.cloth_on_rollers import cloth_on_rollers
from hooke.scenes.cloth_stack import cloth_stack
from hooke.scenes.cloth_twist import cloth_twist
from hooke.scenes.garment import garment
from hooke.scenes.gripper_soft_cube import gripper_soft_cube
from hooke.scenes.plank_bridge import plank_bridge
from hooke.scenes.plectoneme import plectoneme
from hooke.scenes.pyramid import pyramid
from hooke.scenes.ragdoll_pile import ragdoll_pile
from hooke.scenes.rope_net import rope_net
from hooke.scenes.scene import Scene
from hooke.scenes.soft_drop import soft_drop
from hooke.scenes.soft_pile import soft_pile
from hooke.scenes.spring_chain import spring_chain
from hooke.scenes.stiffness_stack import stiffness_stack
from hooke.scenes.wrecking_ball import wrecking_ball

__all__ = [
    "SCENES", "Scene", "box_stack", "cable_pile", "cable_twist", "cantilever_cable", "card_house", "card_tower",
    "cloth_bag_of_boxes", "cloth_hanging", "cloth_on_mesh", "cloth_on_rollers", "cloth_stack", "cloth_twist", "garment",
    "gripper_soft_cube", "heavy_pendulum", "plank_bridge", "plectoneme", "pyramid", "ragdoll_pile", "rope_net", "soft_drop",
    "soft_pile", "spring_chain", "stiffness_stack", "two_balls", "wrecking_ball",
]  # fmt: skip

SCENES: dict[str, Callable[..., Scene]] = {
    scene.__name__: scene
    for scene in (
        box_stack, cable_pile, cable_twist, cantilever_cable, card_house, card_tower, cloth_bag_of_boxes, cloth_hanging,
        cloth_on_mesh, cloth_on_rollers, cloth_stack, cloth_twist, garment, gripper_soft_cube, heavy_pendulum, plank_bridge,
        plectoneme, pyramid, ragdoll_pile, rope_net, soft_drop, soft_pile, spring_chain, stiffness_stack, two_balls,
        wrecking_ball,
    )
}  # fmt: skip
