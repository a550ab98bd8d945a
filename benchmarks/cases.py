"""The cases, as data: what is simulated, and for how many steps. Only the standard library, so that any engine's process can read it."""

from __future__ import annotations

from dataclasses import dataclass, replace

__all__ = ["CASES", "SCALING", "Case", "find_case"]

GRAVITY = 9.81
"""Strength of gravity, along -Z [m/s^2]."""


@dataclass(frozen=True)
class Case:
    """A grid of cloth or of a soft body that hangs from one side and swings down, above a ground that it does not reach, or a cloth
    that is being twisted.

    Args:
        name: What the command line calls it.
        kind: ``"cloth"`` (n x n cells), ``"soft"`` (n x n x n cells) or ``"twist"`` (n x n cells, both ends turn).
        n: Cells along each side.
        edge_ke: Stiffness of hinges of cloth [N]; 0 is a membrane alone.
        iterations: Sweeps of the solver per step.
        warmup: Steps before the clock runs.
        steps: Steps of one timing.
        repeats: Timings, one after the other.
        dt: Time step [s]: 60 frames per second in 10 substeps.
        contact_distance: Distance [m] below which the cloth repels itself; 0 is no self-contact.
        contact_gap: Further distance [m] within which contacts are looked for.
        strain_bound: Strain of an edge beyond which a run counts as blown up.
        start: Name of the stored state that it starts from (:mod:`benchmarks.twist`); empty is the rest state.
    """

    name: str
    kind: str
    n: int
    edge_ke: float = 0.0
    iterations: int = 10
    warmup: int = 20
    steps: int = 20
    repeats: int = 5
    dt: float = 1.0 / 600.0
    contact_distance: float = 0.0
    contact_gap: float = 0.0
    strain_bound: float = 1.0
    start: str = ""

    @property
    def vertices(self) -> int:
        """Particles."""
        return (self.n + 1) ** (3 if self.kind == "soft" else 2)

    @property
    def elements(self) -> int:
        """Triangles of a cloth, tetrahedra of a soft body."""
        return 5 * self.n**3 if self.kind == "soft" else 2 * self.n**2

    @property
    def total_steps(self) -> int:
        """All steps: warm-up, timings, and the one that the residual is measured on."""
        return self.warmup + self.steps * self.repeats + 1

    @property
    def cell(self) -> float:
        """Side of a cell [m]: the cloth is 6.4 m wide at every resolution, the twisted one 1 m, the soft body grows."""
        return {"cloth": 6.4 / self.n, "twist": 1.0 / self.n, "soft": 0.1}[self.kind]

    @property
    def reach(self) -> float:
        """Distance [m] within which pairs of a self-contact are stored."""
        return self.contact_distance + self.contact_gap

    @property
    def cloth(self) -> dict[str, float]:
        """Arguments of ``add_cloth_grid`` that are numbers: masses [kg], stiffnesses [N/m, N], damping [N s/m], radius [m]."""
        if self.kind == "twist":
            return {
                "mass": 0.2 * self.cell**2, "tri_ke": 1e3, "tri_ka": 1e3, "tri_kd": 2e-4, "edge_ke": self.edge_ke, "edge_kd": 1e-2,
                "particle_radius": 0.4 * self.cell,
            }  # fmt: skip
        return {
            "mass": 409.6 / self.n**2, "tri_ke": 1e3, "tri_ka": 1e3, "tri_kd": 1e2, "edge_ke": self.edge_ke, "edge_kd": 0.0,
            "particle_radius": 3.2 / self.n,
        }  # fmt: skip

    @property
    def soft(self) -> dict[str, float]:
        """Arguments of ``add_soft_grid`` that are numbers: density [kg/m^3], Lame pair [Pa], damping [Pa s]."""
        return {"density": 1e3, "k_mu": 1e5, "k_lambda": 1e5, "k_damp": 1e2}

    @property
    def soft_contact(self) -> dict[str, float]:
        """Contact of particles: ``soft_contact_ke`` [N/m], ``soft_contact_kd`` [N s/m], ``soft_contact_mu``."""
        if self.kind == "twist":
            return {"ke": 1e3, "kd": 0.1, "mu": 0.2}
        return {"ke": 1e2, "kd": 1e2 if self.kind == "cloth" else 0.0, "mu": 1.0}


def _cloth(n: int, bending: bool) -> Case:
    return Case(f"cloth_{n}_bending" if bending else f"cloth_{n}", "cloth", n, 10.0 if bending else 0.0)


def _self_contact(n: int) -> Case:
    return replace(_cloth(n, True), name=f"cloth_{n}_self", contact_distance=1.28 / n, contact_gap=0.64 / n)


def _soft(n: int) -> Case:
    return Case(f"soft_{n}", "soft", n)


def _scaled(cases: list[Case]) -> tuple[Case, ...]:
    """A family of sizes; large ones are timed over fewer steps."""
    return tuple(
        replace(case, warmup=4, steps=4, repeats=3) if case.vertices > 50_000 else replace(case, warmup=10, steps=10, repeats=5)
        for case in cases
    )


CASES: dict[str, Case] = {
    case.name: case
    for case in (
        _cloth(64, False), _cloth(64, True), _cloth(128, False), _cloth(128, True), _soft(8), _soft(20),
        _self_contact(64), _self_contact(128),
        Case("cloth_twist", "twist", 49, 1e-3, iterations=4, warmup=10, steps=10, contact_distance=2e-3, contact_gap=1.5e-3,
             strain_bound=3.0, start="cloth_twist"),
    )
}  # fmt: skip

SCALING: dict[str, tuple[Case, ...]] = {
    "cloth": _scaled([_cloth(n, True) for n in (32, 64, 128, 256, 512, 1000)]),
    "cloth_self": _scaled([_self_contact(n) for n in (32, 64, 128, 256, 500)]),
    "soft": _scaled([_soft(n) for n in (9, 15, 24, 39, 62)]),
}


def find_case(name: str) -> Case:
    """The case of a name.

    Raises:
        KeyError: There is none; the message lists them.
    """
    if name not in CASES:
        raise KeyError(f"no case {name!r}; there are {', '.join(CASES)}")
    return CASES[name]
