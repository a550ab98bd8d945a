"""Kinds of joints in float64, one at a time, for the tests."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import warp as wp

from hooke.joints.cable import cable_strain
from hooke.joints.dispatch import joint_axes, joint_coordinates, joint_rates, joint_transform
from hooke.joints.distance import distance_row
from hooke.joints.gimbal import nearest_angles, nearest_turn
from hooke.joints.kind import Place
from hooke.joints.rod import rod_strain
from hooke.joints.rotation import dual_vector, euler_angles, inverse_jacobian, rotation_vector
from hooke.joints.rows import angular_rows, bases_of_joint, linear_rows, relative_pose, relative_twist, wrench_pair


@wp.struct
class Pair:
    """A joint between two bodies, in float64."""

    parent: wp.transformd
    child: wp.transformd
    X_p: wp.transformd
    X_c: wp.transformd
    com_parent: wp.vec3d
    com_child: wp.vec3d
    twist_parent: wp.types.vector(length=6, dtype=wp.float64)
    twist_child: wp.types.vector(length=6, dtype=wp.float64)


@wp.kernel(enable_backward=False)
def evaluate_kind(
    code: int, place: Place, axis: wp.array(dtype=wp.vec3d), q: wp.array(dtype=wp.float64), given: wp.transformd,
    pose: wp.array(dtype=wp.transformd), coordinates: wp.array(dtype=wp.float64), axes: wp.array2d(dtype=wp.float64),
    rates: wp.array2d(dtype=wp.float64),
):  # fmt: skip
    pose[0] = joint_transform(code, place, axis, q)
    found = joint_coordinates(code, place, axis, given)
    for i in range(7):
        coordinates[i] = found[i]
    for k in range(place.linear + place.angular):
        v, omega = joint_axes(code, place, axis, q, k)
        f, t = joint_rates(code, place, axis, q, k)
        for i in range(3):
            axes[k, i] = v[i]
            axes[k, 3 + i] = omega[i]
            rates[k, i] = f[i]
            rates[k, 3 + i] = t[i]


@wp.kernel(enable_backward=False)
def evaluate_rows(
    place: Place, axis: wp.array(dtype=wp.vec3d), pair: Pair, residual: wp.array(dtype=wp.float64),
    jacobian: wp.array3d(dtype=wp.float64), twist: wp.array(dtype=wp.float64),
):  # fmt: skip
    base = pair.parent * pair.X_p
    tip = pair.child * pair.X_c
    x = relative_pose(base, tip)
    linear_basis, angular_basis = bases_of_joint(place, axis)
    c, m = linear_rows(linear_basis, wp.transform_get_translation(x))
    k, n = angular_rows(place, axis, angular_basis, wp.transform_get_rotation(x))
    turn, at = wp.transform_get_rotation(base), wp.transform_get_translation(tip)
    com_parent, com_child = wp.transform_point(pair.parent, pair.com_parent), wp.transform_point(pair.child, pair.com_child)
    zero = wp.vec3d()
    for i in range(3):
        residual[i] = c[i]
        residual[3 + i] = k[i]
        row = wp.quat_rotate(turn, wp.vec3d(m[i, 0], m[i, 1], m[i, 2]))
        to_parent, to_child = wrench_pair(row, zero, at, com_parent, com_child)
        row = wp.quat_rotate(turn, wp.vec3d(n[i, 0], n[i, 1], n[i, 2]))
        turn_parent, turn_child = wrench_pair(zero, row, at, com_parent, com_child)
        for l in range(6):
            jacobian[i, 0, l] = to_parent[l]
            jacobian[i, 1, l] = to_child[l]
            jacobian[3 + i, 0, l] = turn_parent[l]
            jacobian[3 + i, 1, l] = turn_child[l]
    v, omega = relative_twist(at, com_parent, pair.twist_parent, com_child, pair.twist_child)
    v, omega = wp.quat_rotate_inv(turn, v), wp.quat_rotate_inv(turn, omega)
    for i in range(3):
        twist[i] = v[i]
        twist[3 + i] = omega[i]


@wp.kernel(enable_backward=False)
def evaluate_strain(
    x: wp.transformd, rest: wp.transformd, strain: wp.array2d(dtype=wp.float64), rate: wp.array3d(dtype=wp.float64),
    distance: wp.array(dtype=wp.float64),
):  # fmt: skip
    """Rod in row 0, cable in row 1; distance and its direction."""
    u, k, m = rod_strain(x, rest)
    p, c, n = cable_strain(x, rest)
    for i in range(3):
        strain[0, i] = u[i]
        strain[0, 3 + i] = k[i]
        strain[1, i] = p[i]
        strain[1, 3 + i] = c[i]
        for l in range(3):
            rate[0, i, l] = m[i, l]
            rate[1, i, l] = n[i, l]
    d, way = distance_row(wp.transform_get_translation(x))
    distance[0] = d
    for i in range(3):
        distance[1 + i] = way[i]


@wp.kernel(enable_backward=False)
def evaluate_rotation(
    r: wp.quatd, axes: wp.mat33d, previous: wp.vec3d, count: int, vector: wp.array(dtype=wp.vec3d), matrix: wp.array(dtype=wp.mat33d),
    angles: wp.array(dtype=wp.vec3d), near: wp.array(dtype=wp.vec3d), dual: wp.array(dtype=wp.vec3d),
):  # fmt: skip
    a, b, c = axes[0], axes[1], axes[2]
    vector[0] = rotation_vector(r)
    matrix[0] = inverse_jacobian(vector[0])
    angles[0] = euler_angles(r, a, b, c)
    near[0] = nearest_angles(angles[0], previous)
    near[1] = wp.vec3d(nearest_turn(angles[0][0], previous[0]), wp.float64(0.0), wp.float64(0.0))
    for k in range(count):
        dual[k] = dual_vector(a, b, c, count, k)


@dataclass
class Joint:
    """A kind with axes: what the kernels say about it."""

    kind: Any
    linear: np.ndarray
    angular: np.ndarray

    @property
    def place(self):
        place = Place()
        place.q = place.qd = 0
        place.linear, place.angular = len(self.linear), len(self.angular)
        return place

    @property
    def velocities(self):
        return len(self.linear) + len(self.angular)

    @property
    def coordinates(self):
        return self.velocities + self.kind.quaternion

    def _axis(self):
        axes = np.concatenate([self.linear, self.angular])
        return wp.array(axes if len(axes) else np.zeros((1, 3)), dtype=wp.vec3d, device="cpu")

    def evaluate(self, q, x=None):
        """(J(q), coordinates of x, axes, rates); x None is J(q)."""
        pose, found = wp.zeros(1, dtype=wp.transformd, device="cpu"), wp.zeros(7, dtype=wp.float64, device="cpu")
        axes, rates = (wp.zeros((6, 6), dtype=wp.float64, device="cpu") for _ in range(2))
        values = wp.array(q if len(q) else np.zeros(1), dtype=wp.float64, device="cpu")
        for given in ((0, 0, 0, 0, 0, 0, 1), None) if x is None else (x,):
            given = pose.numpy()[0] if given is None else given
            inputs = [int(self.kind.code), self.place, self._axis(), values, wp.transformd(*np.asarray(given).tolist())]
            wp.launch(evaluate_kind, 1, inputs=inputs, outputs=[pose, found, axes, rates], device="cpu")
        n = self.velocities
        return pose.numpy()[0], found.numpy()[: self.coordinates], axes.numpy()[:n], rates.numpy()[:n]

    def rows(self, pair):
        """(residuals (6,), Jacobian (6, 12), relative twist (6,)), all rows whether locked or not."""
        residual, twist = (wp.zeros(6, dtype=wp.float64, device="cpu") for _ in range(2))
        jacobian = wp.zeros((6, 2, 6), dtype=wp.float64, device="cpu")
        wp.launch(evaluate_rows, 1, inputs=[self.place, self._axis(), pair], outputs=[residual, jacobian, twist], device="cpu")
        return residual.numpy(), jacobian.numpy().reshape(6, 12), twist.numpy()

    @property
    def locked(self):
        return [*range(len(self.linear), 3), *range(3 + len(self.angular), 6)]


def strains(x, rest):
    """Strains (2, 6) of rod and cable, the matrices to the rates of their angular part, |p| and its direction."""
    strain, rate = wp.zeros((2, 6), dtype=wp.float64, device="cpu"), wp.zeros((2, 3, 3), dtype=wp.float64, device="cpu")
    distance = wp.zeros(4, dtype=wp.float64, device="cpu")
    poses = [wp.transformd(*np.asarray(p).tolist()) for p in (x, rest)]
    wp.launch(evaluate_strain, 1, inputs=poses, outputs=[strain, rate, distance], device="cpu")
    return strain.numpy(), rate.numpy(), distance.numpy()


def rotations(r, axes=((1, 0, 0), (0, 1, 0), (0, 0, 1)), previous=(0, 0, 0), count=3):
    """Rotation vector, inverse Jacobian, angles about three axes, those nearest to some, dual vectors."""
    outputs = [wp.zeros(1, dtype=wp.vec3d, device="cpu"), wp.zeros(1, dtype=wp.mat33d, device="cpu")]
    outputs += [wp.zeros(n, dtype=wp.vec3d, device="cpu") for n in (1, 2, 3)]
    inputs = [wp.quatd(*np.asarray(r).tolist()), wp.mat33d(*np.asarray(axes, float).ravel().tolist()), wp.vec3d(*previous), count]
    wp.launch(evaluate_rotation, 1, inputs=inputs, outputs=outputs, device="cpu")
    return [array.numpy() for array in outputs]
