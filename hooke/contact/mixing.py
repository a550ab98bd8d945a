"""How the materials of two sides make the material of their contact."""

import warp as wp

__all__ = ["mix_damping", "mix_friction", "mix_restitution", "mix_stiffness"]


@wp.func
def mix_stiffness(a: float, b: float):
    return 0.5 * (a + b)


@wp.func
def mix_damping(a: float, b: float):
    return 0.5 * (a + b)


@wp.func
def mix_friction(a: float, b: float):
    return wp.sqrt(a * b)


@wp.func
def mix_restitution(a: float, b: float):
    """The larger, so that a ball of rubber bounces on everything."""
    return wp.max(a, b)
