"""MuJoCo: a flex grid of the same vertices, masses and, in the continuum, the same material. Accuracy is not matched.

Its elastic forces are explicit in time and undamped here (stiffness-proportional damping of the size of the case's makes it unstable
at this time step); a cube of the soft grid has six tetrahedra instead of five. The plane stress modulus of the sheet and its bending
rigidity give Young's modulus and thickness: with mu = tri_ke, lambda = tri_ka, E t = 4 mu (lambda + mu)/(lambda + 2 mu),
nu = lambda/(lambda + 2 mu), and E t^3/(12 (1 - nu^2)) = edge_ke times the spacing of the hinge lines. Not corrected: in a uniform
stretch of one per cent, its sheet pulls with half the force that these constants give, its block with four thirds of it.

With self-contact its vertices have half the case's distance as radius. The twisted cloth is not pinned: positions and velocities of the
held vertices are written before every step; so light a sheet is stable only at a fraction of the case's step, so that a step is
SUBSTEPS of its own.
"""

from __future__ import annotations

import math
from typing import Any

import mujoco
import numpy as np

from benchmarks.cases import GRAVITY, Case
from benchmarks.twist import RATE, Twist, load_start

__all__ = ["build"]

SUBSTEPS = 16
"""Steps of a twisted cloth per step of the case; at 8 it blows up at once."""

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
    place = 'pos="0 0 4"' if case.kind == "twist" else 'pos="-3.2 3.2 4" euler="0 0 90"'
    pin = "" if case.kind == "twist" else f'<pin gridrange="0 0 0 {n}"/>'
    return f"""<flexcomp name="grid" type="grid" dim="2" count="{n + 1} {n + 1} 1" spacing="{case.cell} {case.cell} {case.cell}"
        {place} radius="{radius}" mass="{mass}">{contact}{pin}
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
        self.substeps = SUBSTEPS if case.kind == "twist" else 1
        self.model = mujoco.MjModel.from_xml_string(
            f"""<mujoco><option timestep="{case.dt / self.substeps}" gravity="0 0 {-GRAVITY}"/><size memory="4G"/>
            <worldbody><geom type="plane" size="0 0 1"/>{flex}</worldbody></mujoco>"""
        )
        self.data = mujoco.MjData(self.model)
        mujoco.mj_forward(self.model, self.data)
        self.twist = self._start_twist(case) if case.kind == "twist" else None
        self.version = mujoco.__version__
        self.threads = 1

    def _start_twist(self, case: Case) -> Twist:
        """Vertices slide along X, Y, Z from where they are at rest, three coordinates each."""
        self.rest = self.data.flexvert_xpos.copy()
        held = np.abs(self.rest[:, 0]) > 0.5 - 0.5 * case.cell
        steps = 0
        if stored := load_start(case):
            x, v, steps = stored
            n = case.n + 1
            order = np.argsort(np.lexsort((self.rest[:, 0].round(6), self.rest[:, 1].round(6))))  # of the state: x fastest, then y
            assert len(x) == n * n == len(order)
            self.data.qpos[:] = (x[order] - self.rest).reshape(-1)
            self.data.qvel[:] = v[order].reshape(-1)
        return Twist(self.rest, held, steps * self.substeps, case.dt / self.substeps)

    def move_held(self) -> None:
        if self.twist is None:
            return
        q = self.data.qpos.reshape(-1, 3) + self.rest
        self.twist.move(q)
        rows, speed = self.twist.rows, RATE * self.twist.side
        arm = q[rows] - self.twist.middle
        self.data.qpos.reshape(-1, 3)[rows] = q[rows] - self.rest[rows]
        self.data.qvel.reshape(-1, 3)[rows] = np.stack([0.0 * speed, -speed * arm[:, 2], speed * arm[:, 1]], axis=1)

    def step(self) -> None:
        for _ in range(self.substeps):
            self.move_held()
            mujoco.mj_step(self.model, self.data)
            if self.twist is not None:
                self.twist.steps += 1

    def start_graph(self) -> None:
        raise ValueError("MuJoCo has no graphs; it runs in the way 'plain' only")

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
