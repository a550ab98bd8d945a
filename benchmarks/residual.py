r"""How far from converged a step ended: the gradient of the potential that it minimises, in float64 NumPy, the same for both engines.

With d = dt v the way over the step (v the velocities at its end, exact where a difference of positions in float32 is rounded), x = x_s + d
and y = dt v_s + dt^2 g the way inertia takes,

    G(d) = sum_i m_i/(2 dt^2) |d_i - y_i|^2 + E(x_s + d) + D(d; x_s)                               (1)

The residual is dG/dd at the particles that are free, divided by the root mean square of their weights m g. E and D are those that both
engines document:

    triangle     A (mu/2 (|F|^2 - 2) - mu (J - 1) + L/2 (J - 1)^2),  A c/(2 dt) |C - C_s|^2        (2)
    hinge        k l/2 (theta - theta_0)^2,                          c l/(2 dt) (theta - theta_s)^2  (3)
    tetrahedron  V (mu/2 (|F|^2 - 3) - mu (J - 1) + L/2 (J - 1)^2),  V c/(2 dt) |C - C_s|^2        (4)

with L = lambda + mu, C = F^T F. hooke adds V mu/4 max(0, 3/2 - |F|^2)^2 to (4) and takes the difference of angles in (3) to (-pi, pi];
newton does neither (:data:`ENERGIES`). Contact is absent: the caller checks that nothing touches the ground, and leaves out particles
that another part of the cloth is near.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

__all__ = ["ENERGIES", "Residual", "elastic_gradient", "measure_residual"]

Arrays = dict[str, np.ndarray]

ENERGIES: dict[str, str] = {
    "hooke": "neo-Hookean triangles and tetrahedra (with the term of crushed tetrahedra), hinges with angles taken to (-pi, pi], "
    "rate damping; docs: hooke/elements",
    "newton": "neo-Hookean triangles and tetrahedra, hinges with plain differences of angles, rate damping; by its documented energies",
}
"""What every engine minimises; engines that are not here minimise nothing comparable."""


@dataclass(frozen=True)
class Residual:
    """Force imbalance over weight at the end of a step.

    Attributes:
        largest: Infinity norm: the largest component of the gradient over the root mean square of m g.
        rms: Root mean square, over free particles, of the length of the gradient over the same.
        drift: Largest difference [m] between x_s + dt v and the positions that the engine returned: rounding, if all is well.
    """

    largest: float
    rms: float
    drift: float


def measure_residual(engine: str, model: Arrays, before: tuple[np.ndarray, np.ndarray], after: tuple[np.ndarray, np.ndarray],
                     dt: float, left_out: np.ndarray | None = None) -> Residual:  # fmt: skip
    """The residual of one step.

    Args:
        engine: A key of :data:`ENERGIES`.
        model: Arrays of the model by their flat names (:func:`benchmarks.scene.export_model`).
        before: Positions [m] and velocities [m/s] at the start of the step, both (n, 3).
        after: The same at its end.
        dt: Time step [s].
        left_out: Particles that do not count, bool (n,): those in contact.
    """
    if engine not in ENERGIES:
        raise KeyError(f"{engine} minimises no energy that is known here; expected one of {', '.join(ENERGIES)}")
    model = {name: array.astype(np.float64) if array.dtype.kind == "f" else array for name, array in model.items()}
    start, velocity = (a.astype(np.float64) for a in before)
    gravity = model["gravity"].reshape(-1, 3)[-1]
    mass = model["particle_mass"]
    free = mass > 0.0
    counted = free if left_out is None else free & ~left_out
    way = np.where(free[:, None], dt * after[1].astype(np.float64), after[0].astype(np.float64) - start)  # what is held may move
    inertia = mass[:, None] / dt**2 * (way - dt * velocity - dt**2 * gravity)
    gradient = inertia + elastic_gradient(engine, model, start, start + way, dt)
    weight = np.sqrt(np.mean((mass[free] * np.linalg.norm(gravity)) ** 2))
    imbalance = gradient[counted] / weight
    if not len(imbalance):
        raise ValueError("measure_residual: every free particle is left out")
    drift = np.abs(start + way - after[0].astype(np.float64))[free].max()
    return Residual(float(np.abs(imbalance).max()), float(np.sqrt((imbalance**2).sum(axis=1).mean())), float(drift))


def elastic_gradient(engine: str, model: Arrays, start: np.ndarray, x: np.ndarray, dt: float) -> np.ndarray:
    """Derivative of E + D with respect to the particles (n, 3) [N] at ``x``, for a step that began at ``start``, both (n, 3) [m]."""
    total = np.zeros_like(x)
    for indices, slopes in (
        _triangles(model, start, x, dt),
        _hinges(model, start, x, dt, wrapped=engine == "hooke"),
        _tetrahedra(model, start, x, dt, crushed=engine == "hooke"),
    ):
        for c in range(3):
            total[:, c] += np.bincount(indices.reshape(-1), slopes[..., c].reshape(-1), minlength=len(x))
    return total


Sum = tuple[np.ndarray, np.ndarray]
_NONE: Sum = (np.zeros(0, np.int64), np.zeros((0, 3)))


def _rate_damping(f: np.ndarray, f_start: np.ndarray, rate: np.ndarray) -> np.ndarray:
    """dD/dF of c/(2 dt) |C - C_s|^2 for F (n, 3, k), with ``rate`` = c/dt (n,)."""
    change = np.swapaxes(f, 1, 2) @ f - np.swapaxes(f_start, 1, 2) @ f_start
    return 2.0 * rate[:, None, None] * (f @ change)


def _spread(indices: np.ndarray, stress: np.ndarray, poses: np.ndarray) -> Sum:
    """Forces on the corners of elements from dE/dF (n, 3, k), F = [x_1 - x_0, ...] pose."""
    edge = np.swapaxes(stress @ np.swapaxes(poses, 1, 2), 1, 2)  # rows: corners 1 ...
    return indices, np.concatenate([-edge.sum(axis=1, keepdims=True), edge], axis=1)


def _edges(indices: np.ndarray, x: np.ndarray) -> np.ndarray:
    corners = x[indices]
    return np.swapaxes(corners[:, 1:] - corners[:, :1], 1, 2)


def _triangles(model: Arrays, start: np.ndarray, x: np.ndarray, dt: float) -> Sum:
    if "tri_indices" not in model:
        return _NONE
    material = model["tri_materials"]
    rows = np.flatnonzero((material[:, :3] != 0.0).any(axis=1))
    indices, poses, area = (model[name][rows] for name in ("tri_indices", "tri_poses", "tri_areas"))
    mu, lam, damping = material[rows, :3].T
    f, f_start = _edges(indices, x) @ poses, _edges(indices, start) @ poses
    normal = np.cross(f[:, :, 0], f[:, :, 1])
    j = np.linalg.norm(normal, axis=1)
    normal /= j[:, None]
    slope = np.stack([np.cross(f[:, :, 1], normal), np.cross(normal, f[:, :, 0])], axis=2)  # dJ/dF
    pressure = (lam + mu) * (j - 1.0) - mu
    stress = mu[:, None, None] * f + pressure[:, None, None] * slope + _rate_damping(f, f_start, damping / dt)
    return _spread(indices, area[:, None, None] * stress, poses)


def _tetrahedra(model: Arrays, start: np.ndarray, x: np.ndarray, dt: float, crushed: bool) -> Sum:
    if "tet_indices" not in model:
        return _NONE
    indices, poses = model["tet_indices"], model["tet_poses"]
    mu, lam, damping = model["tet_materials"][:, :3].T
    volume = 1.0 / (6.0 * np.linalg.det(poses))
    f, f_start = _edges(indices, x) @ poses, _edges(indices, start) @ poses
    cofactor = np.stack([np.cross(f[:, :, i - 2], f[:, :, i - 1]) for i in range(3)], axis=2)
    j = (f[:, :, 0] * cofactor[:, :, 0]).sum(axis=1)
    shear = mu - mu * np.maximum(1.5 - (f**2).sum(axis=(1, 2)), 0.0) if crushed else mu
    pressure = (lam + mu) * (j - 1.0) - mu
    stress = shear[:, None, None] * f + pressure[:, None, None] * cofactor + _rate_damping(f, f_start, damping / dt)
    return _spread(indices, volume[:, None, None] * stress, poses)


def _hinges(model: Arrays, start: np.ndarray, x: np.ndarray, dt: float, wrapped: bool) -> Sum:
    if "edge_indices" not in model:
        return _NONE
    stiffness, damping = model["edge_bending_properties"].T
    rows = np.flatnonzero((model["edge_indices"] >= 0).all(axis=1) & ((stiffness != 0.0) | (damping != 0.0)))
    if not len(rows):
        return _NONE
    indices, length, rest = (model[name][rows] for name in ("edge_indices", "edge_rest_length", "edge_rest_angle"))
    theta, slopes = _angle(x[indices])
    turned = _wrap(theta - _angle(start[indices])[0])
    offset = _wrap(theta - rest) if wrapped else theta - rest
    moment = length * (stiffness[rows] * offset + damping[rows] / dt * turned)
    return indices, moment[:, None, None] * slopes


def _wrap(angle: np.ndarray) -> np.ndarray:
    return np.pi - (np.pi - angle) % (2.0 * np.pi)


def _angle(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Dihedral angles (n,) of hinges with corners (o0, o1, v0, v1), and their derivatives (n, 4, 3)."""
    x0, x1, x2, x3 = (x[:, slot] for slot in range(4))
    e = x3 - x2
    n1, n2 = np.cross(x2 - x0, x3 - x0), np.cross(x3 - x1, x2 - x1)
    size = np.linalg.norm(e, axis=1, keepdims=True)
    along = e / size
    theta = np.arctan2((np.cross(n1, n2) * along).sum(axis=1), (n1 * n2).sum(axis=1))
    u, v = n1 / (n1**2).sum(axis=1, keepdims=True), n2 / (n2**2).sum(axis=1, keepdims=True)

    def reach(a: np.ndarray, b: np.ndarray) -> np.ndarray:
        return ((a - b) * along).sum(axis=1, keepdims=True)

    slopes = [-size * u, -size * v, reach(x3, x0) * u + reach(x3, x1) * v, -reach(x2, x0) * u - reach(x2, x1) * v]
    return theta, np.stack(slopes, axis=1)
