"""Built-in scenes: functions that return a :class:`Scene`."""

from __future__ import annotations

from collections.abc import Callable

from hooke.scenes.cloth_hanging import cloth_hanging
from hooke.scenes.cloth_on_mesh import cloth_on_mesh
from hooke.scenes.cloth_on_rollers import cloth_on_rollers
from hooke.scenes.cloth_stack import cloth_stack
from hooke.scenes.cloth_twist import cloth_twist
from hooke.scenes.garment import garment
from hooke.scenes.rope_net import rope_net
from hooke.scenes.scene import Scene
from hooke.scenes.soft_drop import soft_drop
from hooke.scenes.soft_pile import soft_pile
from hooke.scenes.spring_chain import spring_chain

__all__ = [
    "SCENES", "Scene", "cloth_hanging", "cloth_on_mesh", "cloth_on_rollers", "cloth_stack", "cloth_twist", "garment", "rope_net",
    "soft_drop", "soft_pile", "spring_chain",
]  # fmt: skip

SCENES: dict[str, Callable[..., Scene]] = {
    scene.__name__: scene
    for scene in (
        cloth_hanging, cloth_on_mesh, cloth_on_rollers, cloth_stack, cloth_twist, garment, rope_net, soft_drop, soft_pile, spring_chain,
    )
}  # fmt: skip
