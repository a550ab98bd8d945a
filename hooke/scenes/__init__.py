"""Built-in scenes: functions that return a :class:`Scene`."""

from __future__ import annotations

from collections.abc import Callable

from hooke.scenes.bouncing_balls import bouncing_balls
from hooke.scenes.box_pendulum import box_pendulum
from hooke.scenes.box_stack import box_stack
from hooke.scenes.cable_pile import cable_pile
from hooke.scenes.cable_twist import cable_twist
from hooke.scenes.cantilever_cable import cantilever_cable
from hooke.scenes.card_house import card_house
from hooke.scenes.cartpole import cartpole
from hooke.scenes.cloth_hanging import cloth_hanging
from hooke.scenes.cloth_on_mesh import cloth_on_mesh
from hooke.scenes.cloth_on_rollers import cloth_on_rollers
from hooke.scenes.cloth_stack import cloth_stack
from hooke.scenes.cloth_twist import cloth_twist
from hooke.scenes.conveyor import conveyor
from hooke.scenes.delta_robot import delta_robot
from hooke.scenes.four_bar import four_bar
from hooke.scenes.garment import garment
from hooke.scenes.jansen_leg import jansen_leg
from hooke.scenes.newton_cradle import newton_cradle
from hooke.scenes.nunchaku import nunchaku
from hooke.scenes.plank_bridge import plank_bridge
from hooke.scenes.plectoneme import plectoneme
from hooke.scenes.pyramid import pyramid
from hooke.scenes.quadruped import quadruped
from hooke.scenes.ragdoll_pile import ragdoll_pile
from hooke.scenes.rolling_balls import rolling_balls
from hooke.scenes.rope_net import rope_net
from hooke.scenes.scene import Scene
from hooke.scenes.slider_crank import slider_crank
from hooke.scenes.soft_drop import soft_drop
from hooke.scenes.soft_pile import soft_pile
from hooke.scenes.spring_chain import spring_chain
from hooke.scenes.stewart_platform import stewart_platform
from hooke.scenes.wrecking_ball import wrecking_ball

__all__ = [
    "SCENES", "Scene", "bouncing_balls", "box_pendulum", "box_stack", "cable_pile", "cable_twist", "cantilever_cable",
    "card_house", "cartpole", "cloth_hanging", "cloth_on_mesh", "cloth_on_rollers", "cloth_stack", "cloth_twist", "conveyor",
    "delta_robot", "four_bar", "garment", "jansen_leg", "newton_cradle", "nunchaku", "plank_bridge", "plectoneme", "pyramid",
    "quadruped", "ragdoll_pile", "rolling_balls", "rope_net", "slider_crank", "soft_drop", "soft_pile", "spring_chain",
    "stewart_platform", "wrecking_ball",
]  # fmt: skip

SCENES: dict[str, Callable[..., Scene]] = {
    scene.__name__: scene
    for scene in (
        bouncing_balls, box_pendulum, box_stack, cable_pile, cable_twist, cantilever_cable, card_house, cartpole, cloth_hanging,
        cloth_on_mesh, cloth_on_rollers, cloth_stack, cloth_twist, conveyor, delta_robot, four_bar, garment, jansen_leg,
        newton_cradle, nunchaku, plank_bridge, plectoneme, pyramid, quadruped, ragdoll_pile, rolling_balls, rope_net,
        slider_crank, soft_drop, soft_pile, spring_chain, stewart_platform, wrecking_ball,
    )
}  # fmt: skip
