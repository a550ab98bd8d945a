"""Compiling kernels ahead of their first launch, several modules at a time.

Before its first module, Warp's compiler reads its headers for a second, again for every thread and every set of flags, and modules
with different LLVM options wait for each other. So all modules get the same flags, and the same threads compile them all.
"""

from __future__ import annotations

import logging
import os
import re
import threading
import time
from collections.abc import Iterable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import warp as wp

from hooke.execution.flags import compiler_flags

__all__ = ["load_kernels", "start_loading", "wait_loaded"]

log = logging.getLogger("hooke")
"""Says at level INFO which modules compile, and how long each took."""


class _Loader:
    """The threads that compile, and what they have not finished: (module, device) -> Future."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.pool: ThreadPoolExecutor | None = None
        self.pending: dict[tuple[int, str], Future[None]] = {}

    def submit(self, module: Any, device: Any) -> Future[None]:
        key = (id(module), device.alias)
        with self.lock:
            if key in self.pending:
                return self.pending[key]
            if self.pool is None:
                self.pool = ThreadPoolExecutor(os.cpu_count() or 1, thread_name_prefix="hooke-compile")
            future = self.pending[key] = self.pool.submit(_load, module, device)
        future.add_done_callback(lambda _: self.pending.pop(key, None))
        return future


_loader = _Loader()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_loader.__init__)  # a forked process has none of the threads


def load_kernels(kernels: Iterable[Any], device: Any) -> None:
    """Load the modules of some kernels, compiling what is not in the cache on as many threads as there are cores.

    Args:
        kernels: Warp kernels; None entries are passed over.
        device: Where they will be launched.
    """
    wait_loaded(start_loading(kernels, device))


def start_loading(kernels: Iterable[Any], device: Any) -> list[Future[None]]:
    """Begin what :func:`load_kernels` does, and return at once. Launch nothing before :func:`wait_loaded`.

    Args:
        kernels: Warp kernels; None entries are passed over.
        device: Where they will be launched.

    Returns:
        One future for every module that is not loaded yet.
    """
    device = wp.get_device(device)
    modules = {id(kernel.module): kernel.module for kernel in kernels if kernel is not None}
    return [_loader.submit(module, device) for module in modules.values() if not _is_loaded(module, device)]


def wait_loaded(futures: Sequence[Future[None]]) -> None:
    """Wait for modules; when one fails or the wait is interrupted, those that have not begun are given up."""
    try:
        for future in futures:
            future.result()
    except BaseException:
        for future in futures:
            future.cancel()
        raise


def _is_loaded(module: Any, device: Any) -> bool:
    return any(context == device.context for context, _block in module.execs)


def _load(module: Any, device: Any) -> None:
    if module.options["cpu_compiler_flags"] is None and not module.execs:
        module.options["cpu_compiler_flags"] = compiler_flags()
        module.mark_modified()  # its hash covers the options
    name, cached, began = _title(module), _is_cached(module, device), time.perf_counter()
    if not cached:
        log.info("compiling %s", name)
    try:
        wp.force_load(device=device, modules=[module], max_workers=0)
    except Exception:
        if not module.options["cpu_compiler_flags"]:
            raise
        log.warning("%s did not compile with %s; trying without", name, module.options["cpu_compiler_flags"])
        module.options["cpu_compiler_flags"] = ""
        module.mark_modified()
        wp.force_load(device=device, modules=[module], max_workers=0)
    if not cached:
        log.info("compiled %s in %.1f s", name, time.perf_counter() - began)


def _title(module: Any) -> str:
    """The name of a module as a person would write it: without the scope and the hash of a module of one kernel."""
    return re.sub(r"_[0-9a-f]{8}$", "", module.name).rpartition("__locals__")[2].strip("_")


def _is_cached(module: Any, device: Any) -> bool:
    """Whether the kernel cache has a binary of the module for this kind of device."""
    identifier = module.get_module_identifier(1 if device.is_cpu else None)  # without blocks a CPU runs blocks of one
    folder = Path(wp.config.kernel_cache_dir) / identifier
    kinds = (".o",) if device.is_cpu else (".cubin", ".ptx")
    return folder.is_dir() and any(file.suffix in kinds for file in folder.iterdir())
