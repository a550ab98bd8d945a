"""Compiling kernels ahead of their first launch, several modules at a time."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Any

import warp as wp

__all__ = ["load_kernels"]


def load_kernels(kernels: Iterable[Any], device: Any) -> None:
    """Load the modules of some kernels, compiling what is not in the cache on as many threads as there are cores.

    Args:
        kernels: Warp kernels; None entries are passed over.
        device: Where they will be launched.
    """
    modules = list({id(kernel.module): kernel.module for kernel in kernels if kernel is not None}.values())
    if modules:
        wp.force_load(device=device, modules=modules, max_workers=min(len(modules), os.cpu_count() or 1))
