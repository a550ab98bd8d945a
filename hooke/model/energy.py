"""Energies and momenta of a state, summed on the host in float64."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import Any

import numpy as np
import warp as wp

from hooke.elements import ELEMENTS, Element
from hooke.elements.attachment import ATTACHMENT_TABLE, Attachments, held_point
from hooke.execution.compile import load_kernels
from hooke.model.model import model_tables
from hooke.model.motion import quat_rotate

__all__ = ["Energy", "Momentum", "energy_kernels", "measure_energy", "measure_momentum"]


@dataclass(frozen=True)
class Energy:
    """Energies [J].

    Attributes:
        kinetic: Of particles and bodies.
        gravity: Zero at the origin.
        elastic: By kind of element, zero at rest.
    """

    kinetic: float
    gravity: float
    elastic: dict[str, float]

    @property
    def total(self) -> float:
        return self.kinetic + self.gravity + sum(self.elastic.values())


@dataclass(frozen=True)
class Momentum:
    """Momenta of all that moves.

    Attributes:
        mass: Total mass [kg].
        com: Centre of mass [m], shape (3,).
        linear: Linear momentum [kg m/s], shape (3,).
        angular: Angular momentum about the origin [kg m^2/s], shape (3,).
    """

    mass: float
    com: np.ndarray
    linear: np.ndarray
    angular: np.ndarray


@functools.cache
def make_energy_kernel(element: Element) -> Any:
    """The kernel that writes the elastic energy of every element of a kind."""
    Struct, energy = element.table.struct, element.energy

    def measure_elements(elements: Struct, x: wp.array(dtype=wp.vec3), value: wp.array(dtype=wp.float32)):
        k = wp.tid()
        value[k] = energy(elements, k, x)

    measure_elements.__annotations__["elements"] = Struct
    return wp.kernel(measure_elements, name=f"measure_{element.name}", module="unique", enable_backward=False)


@wp.kernel(enable_backward=False)
def place_held_points(attachments: Attachments, body_q: wp.array(dtype=wp.transform), first: int, x: wp.array(dtype=wp.vec3)):
    k = wp.tid()
    x[first + k] = held_point(attachments, k, body_q)


def energy_kernels(model: Any) -> list[Any]:
    """The kernels that :func:`measure_energy` launches for a model."""
    tables = model_tables(model)
    kernels = [make_energy_kernel(element) for element in ELEMENTS if element.energy and tables[element.table.name].count]
    return [place_held_points, *kernels] if tables[ATTACHMENT_TABLE.name].count else kernels


def _corners(model: Any, tables: dict[str, Any], state: Any) -> wp.array:
    """Positions of the particles, and behind them what elements are tied to: the points of attachments, and one for the air."""
    particles, attachments = tables["particle"].count, tables[ATTACHMENT_TABLE.name]
    if not attachments.count:
        return state.particle_q
    x = wp.zeros(particles + attachments.count + 1, dtype=wp.vec3, device=model.device)
    wp.copy(x, state.particle_q, count=particles)
    body_q = wp.zeros(0, dtype=wp.transform, device=model.device) if state.body_q is None else state.body_q
    inputs = [attachments.struct, body_q, particles]
    wp.launch(place_held_points, dim=attachments.count, inputs=inputs, outputs=[x], device=model.device)
    return x


def measure_energy(model: Any, state: Any) -> Energy:
    """Energies of a state.

    Args:
        model: The model.
        state: Positions and velocities of particles and bodies.
    """
    tables = model_tables(model)
    load_kernels(energy_kernels(model), model.device)
    elastic, corners = {}, _corners(model, tables, state)
    for element in ELEMENTS:
        data = tables[element.table.name]
        if element.energy and data.count:
            value = wp.zeros(data.count, dtype=wp.float32, device=model.device)
            kernel = make_energy_kernel(element)
            wp.launch(kernel, dim=data.count, inputs=[data.struct, corners], outputs=[value], device=model.device)
            elastic[element.name] = float(value.numpy().astype(np.float64).sum())
    gravity = model.gravity.numpy().astype(np.float64)
    kinetic = potential = 0.0
    for mass, x, v, world in _points(tables, state):
        kinetic += 0.5 * float((mass * (v * v).sum(axis=1)).sum())
        potential -= float((mass * (gravity[np.where(world < 0, -1, world)] * x).sum(axis=1)).sum())
    if tables["body"].count:
        spin, omega = _spin(tables, state)
        kinetic += 0.5 * float((spin * omega).sum())
    return Energy(kinetic, potential, elastic)


def measure_momentum(model: Any, state: Any) -> Momentum:
    """Momenta of a state; fixed particles have no mass and so no part in them.

    Args:
        model: The model.
        state: Positions and velocities of particles and bodies.
    """
    tables = model_tables(model)
    total, first, linear, angular = 0.0, np.zeros(3), np.zeros(3), np.zeros(3)
    for mass, x, v, _world in _points(tables, state):
        total += float(mass.sum())
        first += mass @ x
        linear += mass @ v
        angular += mass @ np.cross(x, v)
    if tables["body"].count:
        angular += _spin(tables, state)[0].sum(axis=0)
    return Momentum(total, first / total if total else first, linear, angular)


def _points(tables: dict[str, Any], state: Any) -> list[Any]:
    """Masses, positions, velocities and worlds of particles and of the centres of mass of bodies."""
    points = []
    if tables["particle"].count:
        arrays = tables["particle"].arrays
        mass = arrays["mass"].numpy().astype(np.float64)
        x, v = state.particle_q.numpy().astype(np.float64), state.particle_qd.numpy().astype(np.float64)
        points.append((mass, x, v, arrays["world"].numpy()))
    if tables["body"].count:
        arrays = tables["body"].arrays
        pose, twist = state.body_q.numpy().astype(np.float64), state.body_qd.numpy().astype(np.float64)
        com = pose[:, :3] + quat_rotate(pose[:, 3:], arrays["com"].numpy())
        points.append((arrays["mass"].numpy().astype(np.float64), com, twist[:, :3], arrays["world"].numpy()))
    return points


def _spin(tables: dict[str, Any], state: Any) -> tuple[np.ndarray, np.ndarray]:
    """Angular momenta about the centres of mass and angular velocities of bodies, world axes."""
    pose, omega = state.body_q.numpy().astype(np.float64), state.body_qd.numpy()[:, 3:].astype(np.float64)
    back = pose[:, 3:] * np.array([-1.0, -1.0, -1.0, 1.0])
    inertia = tables["body"].arrays["inertia"].numpy().astype(np.float64)
    return quat_rotate(pose[:, 3:], np.einsum("bij,bj->bi", inertia, quat_rotate(back, omega))), omega
