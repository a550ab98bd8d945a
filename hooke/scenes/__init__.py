"""Built-in scenes: functions that return a :class:`Scene`."""

from __future__ import annotations

from collections.abc import Callable

from hooke.scenes.cloth_hanging import cloth_hanging
from hooke.scenes.cloth_on_mesh import cloth_on_mesh
from hooke.scenes.scene import Scene
from hooke.scenes.soft_drop import soft_drop
from hooke.scenes.spring_chain import spring_chain

__all__ = ["SCENES", "Scene", "cloth_hanging", "cloth_on_mesh", "soft_drop", "spring_chain"]

SCENES: dict[str, Callable[..., Scene]] = {
    scene.__name__: scene for scene in (cloth_hanging, cloth_on_mesh, soft_drop, spring_chain)
}
