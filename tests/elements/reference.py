"""The energies of the elements in NumPy, float64, straight from their definitions; derivatives by finite differences.

An element of a batch has its present corners ``x`` and its rest corners ``rest``, both (n, size, 3). Dissipation over a step is
D = w/(2 dt) |m(x) - m(x_start)|^2 with a measure m (n, k) of the deformation and a weight w (n,); its block is
w/dt (dm/dx)^T (dm/dx). What is no such sum has a ``potential(x, frozen, start, dt)``, some of which is frozen at other corners.
Deformation gradients are 3x3 here, without a frame on the triangle.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

STEP = 1e-5  # of finite differences, for shapes of size about 1


def edges(x):
    return np.swapaxes(x[:, 1:] - x[:, :1], 1, 2)


def stable_density(square, j, dim, mu, lam):
    """Stable neo-Hookean energy density with alpha = 1 + mu / (lambda + mu), zero at rest."""
    hat = lam + mu
    alpha = 1.0 + mu / hat
    return 0.5 * mu * (square - dim) + 0.5 * hat * ((j - alpha) ** 2 - (1.0 - alpha) ** 2)


@dataclass
class Spring:
    """``material``: stiffness, damping."""

    rest: np.ndarray
    material: np.ndarray

    def length(self, x):
        return np.linalg.norm(x[:, 0] - x[:, 1], axis=1)

    def size(self):
        return self.length(self.rest)

    def energy(self, x):
        return 0.5 * self.material[:, 0] * (self.length(x) - self.size()) ** 2

    def measure(self, x):
        return self.length(x)[:, None]

    def weight(self):
        return self.material[:, 1]

    def exact(self, x, start):
        return self.length(x) >= self.size()


@dataclass
class Membrane:
    """``material``: mu, lambda, damping."""

    rest: np.ndarray
    material: np.ndarray

    def area(self, x):
        return 0.5 * np.linalg.norm(np.cross(x[:, 1] - x[:, 0], x[:, 2] - x[:, 0]), axis=1)

    def size(self):
        return self.area(self.rest)

    def gradient(self, x):
        return edges(x) @ np.linalg.pinv(edges(self.rest))

    def energy(self, x):
        mu, lam = self.material[:, 0], self.material[:, 1]
        square = (self.gradient(x) ** 2).sum(axis=(1, 2))
        return self.size() * stable_density(square, self.area(x) / self.size(), 2.0, mu, lam)

    def measure(self, x):
        f = self.gradient(x)
        return np.einsum("nki,nkj->nij", f, f).reshape(len(x), 9)

    def weight(self):
        return self.size() * self.material[:, 2]

    def exact(self, x, start):
        mu, hat = self.material[:, 0], self.material[:, 0] + self.material[:, 1]
        return hat * (self.area(x) / self.size() - 1.0) - mu >= 0.0


@dataclass
class Hinge:
    """``material``: stiffness, damping; ``angle``: rest angle, the one of the rest corners when None."""

    rest: np.ndarray
    material: np.ndarray
    angle: Any = None

    def size(self):
        return np.linalg.norm(self.rest[:, 3] - self.rest[:, 2], axis=1)

    def theta(self, x):
        e = (x[:, 3] - x[:, 2]) / np.linalg.norm(x[:, 3] - x[:, 2], axis=1, keepdims=True)
        n1 = np.cross(x[:, 2] - x[:, 0], x[:, 3] - x[:, 0])
        n2 = np.cross(x[:, 3] - x[:, 1], x[:, 2] - x[:, 1])
        n1, n2 = (n / np.linalg.norm(n, axis=1, keepdims=True) for n in (n1, n2))
        return np.arctan2((np.cross(n1, n2) * e).sum(axis=1), (n1 * n2).sum(axis=1))

    def rest_angle(self):
        return self.theta(self.rest) if self.angle is None else self.angle

    def energy(self, x):
        return 0.5 * self.material[:, 0] * self.size() * wrapped(self.theta(x) - self.rest_angle()) ** 2

    def measure(self, x):
        return self.theta(x)[:, None]

    def weight(self):
        return self.size() * self.material[:, 1]

    def exact(self, x, start):
        return np.zeros(len(x), bool)


@dataclass
class Volume:
    """``material``: mu, lambda, damping. An element crushed to |F|^2 < 3/2 also has mu/4 (3/2 - |F|^2)^2."""

    rest: np.ndarray
    material: np.ndarray

    def size(self):
        return np.linalg.det(edges(self.rest)) / 6.0

    def gradient(self, x):
        return edges(x) @ np.linalg.inv(edges(self.rest))

    def energy(self, x):
        mu, lam = self.material[:, 0], self.material[:, 1]
        f = self.gradient(x)
        square = (f**2).sum(axis=(1, 2))
        crushed = 0.25 * mu * np.maximum(1.5 - square, 0.0) ** 2
        return self.size() * (stable_density(square, np.linalg.det(f), 3.0, mu, lam) + crushed)

    def measure(self, x):
        f = self.gradient(x)
        return np.einsum("nki,nkj->nij", f, f).reshape(len(x), 9)

    def weight(self):
        return self.size() * self.material[:, 2]

    def exact(self, x, start):
        return (self.gradient(x) ** 2).sum(axis=(1, 2)) >= 0.5


@dataclass
class Attachment:
    """``material``: stiffness, damping. The second corner is the point."""

    rest: np.ndarray
    material: np.ndarray

    def size(self):
        return np.ones(len(self.rest))

    def energy(self, x):
        return 0.5 * self.material[:, 0] * (self.measure(x) ** 2).sum(axis=1)

    def measure(self, x):
        return x[:, 0] - x[:, 1]

    def weight(self):
        return self.material[:, 1]

    def exact(self, x, start):
        return np.ones(len(x), bool)


@dataclass
class Air:
    """``material``: lift, drag. The fourth corner moves with the air."""

    rest: np.ndarray
    material: np.ndarray

    def size(self):
        return np.ones(len(self.rest))

    def flow(self, x, start, dt):
        """Area, velocity relative to the air, its normal part (n,) and its tangential part (n, 3)."""
        area = 0.5 * np.cross(start[:, 1] - start[:, 0], start[:, 2] - start[:, 0])
        size = np.linalg.norm(area, axis=1)
        d = x - start
        u = (d[:, :3].mean(axis=1) - d[:, 3]) / dt
        normal = area / size[:, None]
        across = (normal * u).sum(axis=1)
        return size, u, across, u - across[:, None] * normal

    def potential(self, x, frozen, start, dt):
        lift, drag = self.material.T
        size, u, across, along = self.flow(frozen, start, dt)
        speed = np.linalg.norm(u, axis=1)
        square = (along**2).sum(axis=1) / speed
        q = size * abs(across) * np.maximum(0.0, drag - lift * abs(across) / speed)
        _size, _u, across, along = self.flow(x, start, dt)
        normal = size * (drag * abs(across) ** 3 / 3.0 + lift * square * across**2 / 2.0)
        return dt * (normal + q * (along**2).sum(axis=1) / 2.0)

    def exact(self, x, start):
        return abs(self.flow(x, start, 1.0)[2]) > 1e-3


REFERENCES = {
    "spring": Spring, "tri": Membrane, "edge": Hinge, "tet": Volume, "attachment_particle_body": Attachment, "aerodynamics": Air,
}  # fmt: skip


def wrapped(angle):
    return (angle + np.pi) % (2.0 * np.pi) - np.pi


def slopes(function, x, step=STEP):
    """Derivative of ``function(x) -> (n, ...)`` with respect to every corner, (n, ..., size, 3), by central differences."""
    size = x.shape[1]
    out = []
    for s in range(size):
        for c in range(3):
            change = np.zeros((size, 3))
            change[s, c] = step
            forward, back = function(x + change), function(x - change)
            out.append((forward - back) / (2.0 * step))
    return np.stack(out, axis=-1).reshape(*out[0].shape, size, 3)


def gradient(element, x, start, dt):
    """d(E + D)/dx, (n, size, 3)."""
    if hasattr(element, "potential"):
        return slopes(lambda y: element.potential(y, x, start, dt), x)
    rate = element.weight() / dt
    change = element.measure(x) - element.measure(start)
    if isinstance(element, Hinge):
        change = wrapped(change)
    return slopes(element.energy, x) + np.einsum("n,nk,nksc->nsc", rate, change, slopes(element.measure, x))


def block(element, x, start, dt):
    """The diagonal blocks of d2(E + D)/dx2 for every corner, (n, size, 3, 3)."""
    if hasattr(element, "potential"):
        return diagonal_blocks(lambda y: element.potential(y, x, start, dt), x)
    return elastic_block(element, x) + damping_block(element, x, dt)


def damping_block(element, x, dt):
    """The Gauss-Newton block of D for every corner, (n, size, 3, 3)."""
    slope = slopes(element.measure, x)
    return np.einsum("n,nksc,nksd->nscd", element.weight() / dt, slope, slope)


def elastic_block(element, x):
    """The diagonal blocks of d2E/dx2 for every corner, (n, size, 3, 3); of a hinge the Gauss-Newton ones."""
    if isinstance(element, Hinge):
        slope = slopes(element.theta, x)
        return np.einsum("n,nsc,nsd->nscd", element.material[:, 0] * element.size(), slope, slope)
    return diagonal_blocks(element.energy, x)


def diagonal_blocks(function, x):
    h = 2e-4
    blocks = slopes(lambda y: slopes(function, y, h), x, h)  # (n, size, 3, size, 3)
    return np.stack([blocks[:, s, :, s, :] for s in range(x.shape[1])], axis=1)
