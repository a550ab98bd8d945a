"""MuJoCo: a flex grid of the same vertices, masses and, in the continuum, the same material. Accuracy is not matched.

Its elastic forces are explicit in time and undamped here (stiffness-proportional damping of the size of the case's makes it unstable
at this time step); a cube of the soft grid has six tetrahedra instead of five. The plane stress modulus of the sheet and its bending
rigidity give Young's modulus and thickness: with mu = tri_ke, lambda = tri_ka, E t = 4 mu (lambda + mu)/(lambda + 2 mu),
nu = lambda/(lambda + 2 mu), and E t^3/(12 (1 - nu^2)) = edge_ke times the spacing of the hinge lines. Not corrected: in a uniform
stretch of one per cent, its sheet pulls with half the force that these constants give, its block with four thirds of it.

With self-contact its vertices have half the case's distance as radius. The twisted cloth is not run: so light a sheet is stable only at a
sixteenth of the case's step, and in the state that it starts from, 9,555 contacts (38,220 rows of constraints) take 18 s in each of these
and throw the cloth apart in the first.
"""

from __future__ import annotations

import math
from typing import Any

import mujoco
import numpy as np

from benchmarks.cases import GRAVITY, Case

__all__ = ["build"]

THIN = 1.0e-3  # thickness of a membrane [m]: bending needs some


def describe_sheet(case: Case) -> str:
    """The flex of a cloth, in MJCF."""
    number, n = case.cloth, case.n
    mu, lam = number["tri_ke"], number["tri_ka"]
    plane, poisson = 4.0 * mu * (lam + mu) / (lam + 2.0 * mu), lam / (lam + 2.0 * mu)
    thickness = math.sqrt(12.0 * (1.0 - poisson**2) * case.edge_ke * case.cell / plane) or THIN
    mass = number["mass"] * case.vertices
    contact = '<contact selfcollide="auto"/>' if case.contact_distance else '<contact selfcollide="none"/>'
    radius = 0.5 * case.contact_distance or number["particle_radius"]
    return f"""<flexcomp name="grid" type="grid" dim="2" count="{n + 1} {n + 1} 1" spacing="{case.cell} {case.cell} {case.cell}"
        pos="-3.2 3.2 4" euler="0 0 90" radius="{radius}" mass="{mass}">
        {contact}<pin gridrange="0 0 0 {n}"/>
        <elasticity young="{plane / thickness}" poisson="{poisson}" thickness="{thickness}" elastic2d="both"/></flexcomp>"""


def describe_block(case: Case) -> str:
    """The flex of a soft body, in MJCF."""
    number, n, cell = case.soft, case.n, case.cell
    mu, lam = number["k_mu"], number["k_lambda"]
    young, poisson = mu * (3.0 * lam + 2.0 * mu) / (lam + mu), lam / (2.0 * (lam + mu))
    half, mass = 0.5 * n * cell, number["density"] * cell**3 * case.vertices
    return f"""<flexcomp name="grid" type="grid" dim="3" count="{n + 1} {n + 1} {n + 1}" spacing="{cell} {cell} {cell}"
        pos="{half} {1.0 + half} {1.0 + half}" radius="0.01" mass="{mass}">
        <contact selfcollide="none"/><pin gridrange="0 0 0 0 {n} {n}"/>
        <elasticity young="{young}" poisson="{poisson}"/></flexcomp>"""


class MujocoEngine:
    """A case in MuJoCo (see :class:`benchmarks.engines.Engine`)."""

    def __init__(self, case: Case):
        flex = describe_block(case) if case.kind == "soft" else describe_sheet(case)
        if case.kind == "twist":
            raise ValueError("MuJoCo does not run the twisted cloth: see benchmarks/engines/mujoco_engine.py")
        self.model = mujoco.MjModel.from_xml_string(
            f"""<mujoco><option timestep="{case.dt}" gravity="0 0 {-GRAVITY}"/><size memory="4G"/>
            <worldbody><geom type="plane" size="0 0 1"/>{flex}</worldbody></mujoco>"""
        )
        self.data = mujoco.MjData(self.model)
        mujoco.mj_forward(self.model, self.data)
        self.version = mujoco.__version__
        self.threads = 1

    def move_held(self) -> None:
        """What is held does not move."""

    def step(self) -> None:
        mujoco.mj_step(self.model, self.data)

    def start_graph(self) -> None:
        raise ValueError("MuJoCo has no graphs; it runs in the way 'plain' only")

    def step_start(self) -> tuple[np.ndarray, np.ndarray]:
        self.move_held()
        return self.state()

    def state(self) -> tuple[np.ndarray, np.ndarray]:
        x = self.data.flexvert_xpos.copy()
        return x, np.full_like(x, np.nan)

    def overflow(self) -> dict[str, Any]:
        names = [name for name in dir(mujoco.mjtWarning) if name.startswith("mjWARN_")]
        counts = {name: int(self.data.warning[getattr(mujoco.mjtWarning, name)].number) for name in names}
        return {name: (count, 0) for name, count in counts.items() if count}

    def export(self) -> dict[str, np.ndarray]:
        radius = np.full(self.model.nflexvert, float(self.model.flex_radius[0]))
        arrays = {"edges": self.model.flex_edge.copy(), "lengths": self.model.flexedge_length0.copy(), "particle_radius": radius}
        if int(self.model.flex_dim[0]) == 2:
            arrays["tri_indices"] = self.model.flex_elem.reshape(-1, 3).copy()
        return arrays

    def facts(self) -> dict[str, Any]:
        return {}


def build(case: Case) -> MujocoEngine:
    """A case in MuJoCo."""
    return MujocoEngine(case)
