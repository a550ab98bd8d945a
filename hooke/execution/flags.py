"""Compiler flags for CPUs: one set for all modules, so that one precompiled header serves them and they compile side by side."""

from __future__ import annotations

import functools
import platform
import zlib
from pathlib import Path

__all__ = ["compiler_flags", "lane_options"]

# Inline everything, leave loops over lanes to the vectoriser, fuse products into sums: without these it runs at a fifth of the speed.
_FLAGS = "-mllvm=-inline-threshold=9000 -fno-slp-vectorize -mllvm=-unroll-full-max-count=8 -ffp-contract=fast"


def _processor() -> str:
    """A name of the processor: "native" means another thing on another machine that shares the kernel cache."""
    name = platform.machine() + platform.processor()
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.exists():
        lines = cpuinfo.read_text().splitlines()
        name += "".join(line for line in lines[:40] if line.startswith(("model name", "flags", "Features")))
    return f"{zlib.crc32(name.encode()):08x}"


@functools.cache
def compiler_flags() -> str:
    """Flags with which modules are compiled for this processor; their entries in the kernel cache belong to its kind."""
    known = platform.machine() in ("x86_64", "AMD64")  # elsewhere these flags may not be
    native = "-march=native -mprefer-vector-width=512 " if known else ""
    return f"{native}{_FLAGS} -DHOOKE_PROCESSOR=0x{_processor()}"


def lane_options() -> dict[str, object]:
    """Options of a Warp module of lane kernels."""
    return {"max_unroll": 0, "cpu_compiler_flags": compiler_flags()}
