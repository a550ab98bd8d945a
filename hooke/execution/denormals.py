"""Numbers below 1e-38 as zeros, while a kernel runs.

What one end of a chain does decays along it by a factor per link, so that after some links all that is left are denormal numbers, which
a processor takes a hundred cycles for: a chain of balls that begins to fall in a plane took up to four times as long as one that is bent.
"""

import warp as wp

__all__ = ["flush_denormals", "restore_denormals"]

# On x86-64 both bits: results are flushed, and denormal arguments are zeros.
_FLUSH = """
#if defined(__CUDA_ARCH__) || defined(__CUDACC__)
    return 0;
#elif defined(__x86_64__)
    auto state = __builtin_ia32_stmxcsr();
    __builtin_ia32_ldmxcsr(state | 0x8040);
    return state;
#elif defined(__aarch64__)
    unsigned long long state;
    asm volatile("mrs %0, fpcr" : "=r"(state));
    asm volatile("msr fpcr, %0" : : "r"(state | (1ull << 24)));
    return state;
#else
    return 0;
#endif
"""

_RESTORE = """
#if defined(__CUDA_ARCH__) || defined(__CUDACC__)
    return 0;
#elif defined(__x86_64__)
    __builtin_ia32_ldmxcsr(state);
#elif defined(__aarch64__)
    asm volatile("msr fpcr, %0" : : "r"((unsigned long long)(unsigned)state));
#endif
    return 0;
"""


@wp.func_native(_FLUSH)
def flush_denormals() -> int:
    """Round denormal numbers to zero in this thread; what to restore after."""


@wp.func_native(_RESTORE)
def restore_denormals(state: int) -> int:
    """End what :func:`flush_denormals` began."""
