"""Materials of cloth, soft and rigid bodies: presets, and constants of elements from engineering ones."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

__all__ = ["CLOTH_PRESETS", "RIGID_PRESETS", "SOFT_PRESETS", "ClothMaterial", "RigidMaterial", "SoftMaterial", "parse_material"]


def _positive(owner: str, **values: float) -> None:
    for name, value in values.items():
        if not (np.isfinite(value) and value > 0.0):
            raise ValueError(f"{owner}: expected {name} as a finite value > 0, found {value}")


def _not_negative(owner: str, **values: float) -> None:
    for name, value in values.items():
        if not (np.isfinite(value) and value >= 0.0):
            raise ValueError(f"{owner}: expected {name} as a finite value >= 0, found {value}")


@dataclass(frozen=True)
class ClothMaterial:
    """Isotropic sheet.

    Args:
        weight: Mass per area [kg/m^2].
        stretch: Young's modulus of the sheet, E times thickness [N/m].
        nu: Poisson's ratio of the sheet, 0 to below 1.
        bending: Bending rigidity per width, E t^3 / (12 (1 - nu^2)) for a solid sheet [N m].
        damping: Time [s] by which strain rates weigh against strains: kd = damping ke.
        mu: Coefficient of friction.
    """

    weight: float = 0.15
    stretch: float = 1.0e3
    nu: float = 0.25
    bending: float = 1.0e-5
    damping: float = 1.0e-3
    mu: float = 0.5

    def __post_init__(self):
        _positive("cloth material", weight=self.weight, stretch=self.stretch)
        _not_negative("cloth material", bending=self.bending, damping=self.damping, mu=self.mu)
        if not 0.0 <= self.nu < 1.0:
            raise ValueError(f"cloth material: expected nu from 0 to below 1, found {self.nu}")

    @classmethod
    def lame(cls, ke: float, ka: float, **others: float) -> ClothMaterial:
        """A sheet with the Lame pair ``ke`` (mu) and ``ka`` (lambda) [N/m] of the builder; other fields by name."""
        _positive("cloth material", ke=ke)
        _not_negative("cloth material", ka=ka)
        return cls(stretch=4.0 * ke * (ka + ke) / (ka + 2.0 * ke), nu=ka / (ka + 2.0 * ke), **others)

    @classmethod
    def solid(
        cls, E: float, nu: float, density: float, thickness: float, damping: float = 1.0e-3, mu: float = 0.5
    ) -> ClothMaterial:
        """A sheet of a solid with Young's modulus ``E`` [Pa], ``density`` [kg/m^3] and ``thickness`` [m]."""
        _positive("cloth material", E=E, density=density, thickness=thickness)
        rigidity = E * thickness**3 / (12.0 * (1.0 - nu * nu))
        return cls(density * thickness, E * thickness, nu, rigidity, damping, mu)

    def elements(self, spacing: float) -> dict[str, Any]:
        """Keywords of ``ModelBuilder.add_cloth_mesh``.

        Args:
            spacing: Mean distance of hinge lines [m]; the stiffness of a hinge is the rigidity over it.
        """
        ke = self.stretch / (2.0 * (1.0 + self.nu))
        ka = self.stretch * self.nu / (1.0 - self.nu * self.nu)
        edge_ke = self.bending / spacing
        return {
            "density": self.weight, "tri_ke": ke, "tri_ka": ka, "tri_kd": self.damping * ke, "edge_ke": edge_ke,
            "edge_kd": self.damping * edge_ke,
        }  # fmt: skip


@dataclass(frozen=True)
class SoftMaterial:
    """Isotropic solid.

    Args:
        density: Density [kg/m^3].
        E: Young's modulus [Pa].
        nu: Poisson's ratio, 0 to below 0.5.
        damping: Time [s] by which strain rates weigh against strains: k_damp = damping k_mu.
        mu: Coefficient of friction.
    """

    density: float = 1.0e3
    E: float = 1.0e5
    nu: float = 0.4
    damping: float = 1.0e-3
    mu: float = 0.5

    def __post_init__(self):
        _positive("soft material", density=self.density, E=self.E)
        _not_negative("soft material", damping=self.damping, mu=self.mu)
        if not 0.0 <= self.nu < 0.5:
            raise ValueError(f"soft material: expected nu from 0 to below 0.5, found {self.nu}")

    @classmethod
    def lame(cls, k_mu: float, k_lambda: float, **others: float) -> SoftMaterial:
        """A solid with the Lame pair ``k_mu``, ``k_lambda`` [Pa]; other fields by name."""
        _positive("soft material", k_mu=k_mu)
        _not_negative("soft material", k_lambda=k_lambda)
        E = k_mu * (3.0 * k_lambda + 2.0 * k_mu) / (k_lambda + k_mu)
        return cls(E=E, nu=k_lambda / (2.0 * (k_lambda + k_mu)), **others)

    def elements(self) -> dict[str, Any]:
        """Keywords of ``ModelBuilder.add_soft_mesh`` and ``add_soft_grid``."""
        k_mu = self.E / (2.0 * (1.0 + self.nu))
        k_lambda = self.E * self.nu / ((1.0 + self.nu) * (1.0 - 2.0 * self.nu))
        return {"density": self.density, "k_mu": k_mu, "k_lambda": k_lambda, "k_damp": self.damping * k_mu}


@dataclass(frozen=True)
class RigidMaterial:
    """Solid that does not deform.

    Args:
        density: Mass per volume [kg/m^3].
        mu: Coefficient of friction.
        restitution: Coefficient of restitution.
    """

    density: float = 1.0e3
    mu: float = 0.5
    restitution: float = 0.0

    def __post_init__(self):
        _positive("rigid material", density=self.density)
        _not_negative("rigid material", mu=self.mu, restitution=self.restitution)
        if self.restitution > 1.0:
            raise ValueError(f"rigid material: expected restitution from 0 to 1, found {self.restitution}")

    def elements(self) -> dict[str, Any]:
        """Settings of a shape (:class:`~hooke.model.config.ShapeConfig`)."""
        return {"density": self.density, "mu": self.mu, "restitution": self.restitution}


# Orders of magnitude of fabrics; the stretch is that of a loosely woven cloth, softer than the yarn, so that few sweeps suffice.
CLOTH_PRESETS = {
    "cotton": ClothMaterial(),
    "silk": ClothMaterial(weight=0.06, stretch=8.0e2, nu=0.25, bending=2.0e-6, damping=5.0e-4, mu=0.3),
    "denim": ClothMaterial(weight=0.4, stretch=3.0e3, nu=0.2, bending=6.0e-5, damping=1.0e-3, mu=0.6),
    "leather": ClothMaterial(weight=0.9, stretch=8.0e3, nu=0.35, bending=6.0e-4, damping=2.0e-3, mu=0.6),
    "rubber": ClothMaterial.solid(E=1.0e6, nu=0.45, density=1.1e3, thickness=1.0e-3, damping=2.0e-3, mu=0.9),
}
SOFT_PRESETS = {
    "jelly": SoftMaterial(density=1.0e3, E=2.0e4, nu=0.45, damping=2.0e-3),
    "foam": SoftMaterial(density=60.0, E=3.0e4, nu=0.2, damping=2.0e-3),
    "rubber": SoftMaterial(density=1.1e3, E=1.0e6, nu=0.45, damping=1.0e-3, mu=0.9),
    "muscle": SoftMaterial(density=1.06e3, E=6.0e4, nu=0.45, damping=2.0e-3),
}
RIGID_PRESETS = {
    "oak": RigidMaterial(density=700.0, mu=0.5),
    "concrete": RigidMaterial(density=2400.0, mu=0.6),
    "steel": RigidMaterial(density=7850.0, mu=0.4),
    "rubber": RigidMaterial(density=1150.0, mu=0.6),
}
_PRESETS: dict[str, dict[str, Any]] = {"cloth": CLOTH_PRESETS, "soft": SOFT_PRESETS, "rigid": RIGID_PRESETS}
_EXAMPLE = {"cloth": "E=...,nu=...", "soft": "E=...,nu=...", "rigid": "density=...,mu=..."}
_DEFAULTS: dict[str, Any] = {"cloth": ClothMaterial(), "soft": SoftMaterial(), "rigid": RigidMaterial()}

# Constants that describe a material together, and what makes it of them.
_COMBINATIONS: dict[str, dict[frozenset[str], Any]] = {
    "cloth": {
        frozenset({"E", "nu", "density", "thickness"}): ClothMaterial.solid,
        frozenset({"ke", "ka"}): ClothMaterial.lame,
    },
    "soft": {frozenset({"k_mu", "k_lambda"}): SoftMaterial.lame},
    "rigid": {},
}


def parse_material(text: str | None, role: str) -> ClothMaterial | SoftMaterial | RigidMaterial:
    """Read a material as the command line writes it.

    Args:
        text: A preset (``"cotton"``), constants (``"stretch=500,mu=0.2"``; of a cloth also ``"E=1e6,nu=0.4,density=1100,thickness=1e-3"``
            or ``"ke=400,ka=100"``; of a soft body also ``"k_mu=1e4,k_lambda=4e4"``), or a preset with changes (``"silk,mu=0.1"``).
            None is the default.
        role: ``"cloth"``, ``"soft"`` or ``"rigid"``.

    Raises:
        ValueError: An unknown preset or constant, or a value out of range.
    """
    presets = _PRESETS[role]
    words = [word.strip() for word in (text or "").split(",") if word.strip()]
    material: Any = _DEFAULTS[role]
    changes: dict[str, float] = {}
    for word in words:
        name, equals, value = word.partition("=")
        if not equals:
            if name not in presets:
                raise ValueError(f"unknown {role} material {name!r}; presets: {', '.join(presets)}; or write {_EXAMPLE[role]}")
            material = presets[name]
            continue
        try:
            changes[name] = float(value)
        except ValueError:
            raise ValueError(f"material: expected a number for {name!r}, found {value!r}") from None
    for names, make in _COMBINATIONS[role].items():
        if (names & set(changes)) - set(material.__dataclass_fields__):
            if names - set(changes):
                raise ValueError(
                    f"{role} material: {', '.join(sorted(names))} go together; {', '.join(sorted(names - set(changes)))} is missing"
                )
            constants = {name: changes.pop(name) for name in names}
            material = make(**constants, damping=material.damping, mu=material.mu)
    unknown = set(changes) - set(material.__dataclass_fields__)
    if unknown:
        ways = "; or ".join(
            (", ".join(material.__dataclass_fields__), *(", ".join(sorted(names)) for names in _COMBINATIONS[role]))
        )
        raise ValueError(f"unknown constant {sorted(unknown)[0]!r} of a {role} material; expected {ways}")
    return replace(material, **changes)
