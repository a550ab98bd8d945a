"""Compiler flags of modules whose loops are SIMD lanes."""

from __future__ import annotations

import platform
import zlib
from pathlib import Path

__all__ = ["lane_options"]

# Inline everything, leave the loops over lanes to the vectoriser: without these the code runs at a fifth of the speed.
_FLAGS = (
    "-mprefer-vector-width=512 "
    "-mllvm=-inline-threshold=9000 -fno-slp-vectorize -mllvm=-unroll-threshold=0 -mllvm=-unroll-full-max-count=0 -ffp-contract=fast"
)


def _processor() -> str:
    """A name of the processor: "native" means another thing on another machine that shares the kernel cache."""
    name = platform.machine() + platform.processor()
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.exists():
        lines = cpuinfo.read_text().splitlines()
        name += "".join(line for line in lines[:40] if line.startswith(("model name", "flags", "Features")))
    return f"{zlib.crc32(name.encode()):08x}"


def lane_options() -> dict[str, object]:
    """Options of a Warp module of lane kernels; its entry in the kernel cache belongs to this kind of processor."""
    native = "-march=native " if platform.machine() in ("x86_64", "AMD64") else ""  # elsewhere the flag may not be known
    return {"max_unroll": 0, "cpu_compiler_flags": f"{native}{_FLAGS} -DHOOKE_PROCESSOR=0x{_processor()}"}
