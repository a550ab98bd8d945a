"""Short ways to build, step and measure, shared by the tests."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import warp as wp

import hooke
from hooke.solvers import SolverVBD

wp.config.quiet = True

GRAVITY = 9.81
UPRIGHT = (0.0, 0.0, 0.0, 1.0)
SMALL_SCENES = {
    "bouncing_balls": {"restitutions": (0.5,)},
    "box_pendulum": {},
    "box_stack": {"count": 3},
    "cable_pile": {"layers": 2, "cables": 2, "segments": 6},
    "cable_twist": {"cables": 2, "segments": 8},
    "cantilever_cable": {"radii": (0.002,), "segments": 5},
    "card_house": {"levels": 2},
    "cartpole": {},
    "cloth_hanging": {"n": 6},
    "cloth_on_mesh": {"n": 8},
    "cloth_on_rollers": {"n": 6, "rollers": 2},
    "cloth_stack": {"cards": 4, "n": 3},
    "cloth_twist": {"n": 9},
    "conveyor": {"crates": 1},
    "delta_robot": {},
    "four_bar": {},
    "garment": {"n": 8},
    "jansen_leg": {},
    "newton_cradle": {"balls": 3},
    "nunchaku": {},
    "plank_bridge": {"planks": 6, "crates": 1},
    "plectoneme": {"segments": 10},
    "pyramid": {"rows": 3},
    "quadruped": {"rough": 0.0},
    "ragdoll_pile": {"count": 1},
    "rolling_balls": {"frictions": (0.1,)},
    "rope_net": {"meshes": 3, "links": 2, "n": 6},
    "slider_crank": {},
    "soft_drop": {"n": 2},
    "soft_pile": {"count": 5, "n": 3},
    "spring_chain": {"links": 4},
    "stewart_platform": {},
    "wrecking_ball": {"links": 4, "wide": 2, "high": 2},
}
"""Arguments that make the built-in scenes small."""


@dataclass
class Run:
    """Where a simulation ended: the last state, the solver and the contacts of the last step."""

    state: Any
    other: Any
    solver: Any
    contacts: Any

    @property
    def q(self) -> np.ndarray:
        return self.state.particle_q.numpy().astype(np.float64)

    @property
    def qd(self) -> np.ndarray:
        return self.state.particle_qd.numpy().astype(np.float64)


def simulate(model, *, steps, dt, state=None, solver=None, contacts=None, each=None, **options) -> Run:
    """Step a model in the documented loop: collide, step, swap.

    ``state`` is where it starts (a new one when None), ``each(n, state)`` is called after step n, ``options`` go to the solver.
    """
    solver = SolverVBD(model, **options) if solver is None else solver
    state, other = model.state() if state is None else state, model.state()
    if contacts is None and model.shape_count and model.particle_count:
        contacts = model.contacts()
    for n in range(steps):
        if contacts is not None:
            model.collide(state, contacts)
        solver.step(state, other, None, contacts, dt)
        state, other = other, state
        if each is not None:
            each(n, state)
    return Run(state, other, solver, contacts)


def finalize(builder, **material):
    """Colour (hinges included) and finalize on the CPU; ``material`` are soft_contact_ke, _kd, _mu."""
    builder.color(include_bending=True)
    model = builder.finalize(device="cpu")
    for name, value in material.items():
        setattr(model, f"soft_contact_{name}", value)
    return model


def add_points(builder, positions, mass=1.0, velocity=(0.0, 0.0, 0.0), radius=0.1):
    """Add particles of one mass, velocity and radius; returns their indices."""
    positions = np.asarray(positions, np.float64).reshape(-1, 3)
    n = len(positions)
    return builder.add_particles(positions, np.tile(velocity, (n, 1)), np.broadcast_to(mass, n), np.broadcast_to(radius, n))


def surface(mu=0.5, ke=2.5e3, kd=100.0, **more):
    """Configuration of a shape without mass."""
    return hooke.ShapeConfig(mu=mu, ke=ke, kd=kd, density=0.0, **more)


def tilted(angle, g=GRAVITY):
    """Gravity [m/s^2] as a slope falling along +x feels it in the frame of its surface; ``angle`` [rad]."""
    return np.array([g * np.sin(angle), 0.0, -g * np.cos(angle)])


def vectors(values, device="cpu"):
    return wp.array(np.asarray(values, np.float32).reshape(-1, 3), dtype=wp.vec3, device=device)
