"""Resetting worlds: selected entities go back to the model's initial state."""

from typing import Any

import warp as wp

__all__ = ["check_mask", "is_selected", "restore", "select_worlds", "widen_mask"]


@wp.func
def is_selected(selected: wp.array(dtype=wp.bool), world: int):
    return selected[wp.where(world < 0, selected.shape[0] - 1, world)]


@wp.kernel(enable_backward=False)
def restore(
    world: wp.array(dtype=wp.int32), selected: wp.array(dtype=wp.bool), initial: wp.array(dtype=Any), value: wp.array(dtype=Any)
):
    i = wp.tid()
    if is_selected(selected, world[i]):
        value[i] = initial[i]


for dtype in (wp.float32, wp.vec3, wp.transform, wp.spatial_vector):
    wp.overload(restore, {"initial": wp.array(dtype=dtype), "value": wp.array(dtype=dtype)})


@wp.kernel(enable_backward=False)
def widen_mask(mask: wp.array(dtype=Any), selected: wp.array(dtype=wp.bool)):
    w = wp.tid()
    selected[w] = w < mask.shape[0] and int(mask[wp.min(w, mask.shape[0] - 1)]) != 0


for dtype in (wp.bool, wp.int8):
    wp.overload(widen_mask, {"mask": wp.array(dtype=dtype)})


def check_mask(mask: Any, world_count: int, device: Any, name: str = "world_mask", dtypes: Any = (wp.bool, bool)) -> None:
    """Refuse a mask of worlds that is not one.

    Args:
        mask: Bool array of length ``world_count`` (leaves out what belongs to no world) or one more.
        world_count: Number of worlds.
        device: Device the mask must live on.
        name: What it is called.
        dtypes: Types that it may have.

    Raises:
        TypeError: ``mask`` is not a Warp array of bool.
        ValueError: Its length, dimension or device is wrong.
    """
    if not isinstance(mask, wp.array) or mask.dtype not in dtypes:
        raise TypeError(f"reset: expected {name} as a Warp array of bool, found {type(mask).__name__}")
    if mask.ndim != 1 or mask.shape[0] not in (world_count, world_count + 1):
        raise ValueError(f"reset: expected {name} of length {world_count} or {world_count + 1}, found shape {mask.shape}")
    if mask.device != device:
        raise ValueError(f"reset: {name} is on device {mask.device}, the solver on {device}")


def select_worlds(mask: Any, world_count: int, everything: wp.array, selected: wp.array) -> wp.array:
    """A mask with one entry per world and one for what belongs to none, in memory that a graph may keep.

    Args:
        mask: As for :func:`check_mask`, or of int8; None is everything.
        world_count: Number of worlds.
        everything: The mask of everything.
        selected: Where a mask of length ``world_count`` is widened to.
    """
    if mask is None:
        return everything
    check_mask(mask, world_count, everything.device, dtypes=(wp.bool, bool, wp.int8))
    if len(mask) == world_count + 1 and mask.dtype is not wp.int8:
        return mask
    wp.launch(widen_mask, dim=world_count + 1, inputs=[mask], outputs=[selected], device=everything.device)
    return selected
