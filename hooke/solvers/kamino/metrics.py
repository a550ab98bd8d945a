"""How well a step was solved: residuals of the equations of motion, of joints, limits and contacts, and of the complementarity problem.

Everything is measured afterwards from what the step left, on the host and in double precision, and not with what solved it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from hooke.solvers.kamino.ncp.options import COLUMNS
from hooke.solvers.kamino.ncp.problem import RowKind

__all__ = ["SolutionMetrics", "SolverInfo", "measure_solution", "read_info"]

Array = npt.NDArray[Any]
_NAMES = (
    "r_eom", "r_kinematics", "r_cts_joints", "r_cts_limits", "r_cts_contacts", "r_v_plus", "r_ncp_primal", "r_ncp_dual", "r_ncp_compl",
    "r_vi_natmap",
)  # fmt: skip


@dataclass(frozen=True)
class SolutionMetrics:
    """Residuals of the last step of every world, largest magnitudes, float64 (W,); theory: Tsounis et al. 2025.

    Attributes:
        r_eom: Of the equations of motion of bodies [N s or N m s].
        r_kinematics: Rates of what joints lock [m/s or rad/s].
        r_cts_joints: What joints are open at the end [m or rad].
        r_cts_limits: Violation of limits at the end [m or rad].
        r_cts_contacts: Penetration where contacts were taken [m].
        r_v_plus: Velocities of rows that bodies have, less those of the complementarity problem [m/s or rad/s].
        r_ncp_primal: Impulses outside their sets [N s or N m s].
        r_ncp_dual: Velocities outside theirs, with the De Saxce term [m/s or rad/s].
        r_ncp_compl: Products of both [J].
        r_vi_natmap: |l - P(l - v)|, the natural map.
        f_ccp: l . (v + v_f) / 2, the objective of the convex problem [J].
        f_ncp: The same and l . s.
        argmax: By the name of a residual where it is: body << 32 | component of r_eom, joint << 32 | row of those of joints, joint << 32 |
            degree of freedom of limits, the contact, or the row in its world; int64 (W,), -1 where there is none or it is not a number.
    """

    r_eom: Array
    r_kinematics: Array
    r_cts_joints: Array
    r_cts_limits: Array
    r_cts_contacts: Array
    r_v_plus: Array
    r_ncp_primal: Array
    r_ncp_dual: Array
    r_ncp_compl: Array
    r_vi_natmap: Array
    f_ccp: Array
    f_ncp: Array
    argmax: dict[str, Array] = field(repr=False)


@dataclass(frozen=True)
class SolverInfo:
    """Iterations of the last step.

    Attributes:
        iterations: Those that every world took, int32 (W,).
        history: By the names of theory 5.8 (``r_primal``, ``r_dual``, ``r_compl``, ``norm_x`` ...) one number of every iteration, (W,
            max_iterations); 0 after the last one.
        lambdas: Impulses, of every world an array [N s or N m s].
        v_plus: Velocities.
        v_aug: Velocities with the De Saxce term.
        s: That term.
    """

    iterations: Array
    history: dict[str, Array]
    lambdas: list[Array]
    v_plus: list[Array]
    v_aug: list[Array]
    s: list[Array]

    def __getattr__(self, name: str) -> Array:
        history = self.__dict__.get("history", {})
        if name in history:
            return history[name]  # type: ignore[no-any-return]
        raise AttributeError(f"SolverInfo has no {name!r}; its history has {', '.join(history)}")


class _Rows:
    """The rows of all worlds on the host, one world after the other."""

    def __init__(self, space: Any):
        problem, table = space.problem, space.rows
        first, count = problem.row.numpy(), problem.count.numpy()
        self.world = np.repeat(np.arange(len(count)), count)
        self.number = np.concatenate([np.zeros(0, int), *[np.arange(n) for n in count]])
        at = first[self.world] + self.number
        for name in ("kind", "free", "friction", "low", "high", "impulse", "velocity"):
            setattr(self, name, getattr(problem, name).numpy()[at].astype(int if name == "kind" else float))
        for name in ("first", "second", "first_place", "second_place", "bias", "compliance", "key"):
            setattr(self, name, getattr(table, name).numpy()[at])
        self.ends = np.concatenate([[0], np.cumsum(count)])
        start = np.flatnonzero(self.kind == RowKind.CONTACT)
        self.contacts = start[:, None] + np.arange(3)
        self.mu = self.friction[start]
        self.s = np.zeros(len(at))
        self.s[start + 2] = self.mu * np.hypot(self.velocity[start], self.velocity[start + 1])

    kind: Array
    free: Array
    friction: Array
    low: Array
    high: Array
    impulse: Array
    velocity: Array
    first: Array
    second: Array
    first_place: Array
    second_place: Array
    bias: Array
    compliance: Array
    key: Array

    def project(self, x: Array, dual: bool = False) -> Array:
        """Onto the sets of impulses, or their duals; what is bilateral stays, or is 0."""
        result, box = x.copy(), self.kind == RowKind.BOX
        if dual:
            result[self.kind == RowKind.BILATERAL] = 0.0
        else:
            result[box] = np.clip(x[box], self.low[box], self.high[box])
        one = self.kind == RowKind.ONE_SIDED
        result[one] = np.maximum(x[one], 0.0)
        if len(self.contacts):
            result[self.contacts] = _onto_cones(x[self.contacts], self.mu, dual)
        return result


def _onto_cones(x: Array, mu: Array, dual: bool) -> Array:
    """Project (t, o, n) onto |t| <= mu n, or onto its dual mu |t| <= n."""
    t, n = np.hypot(x[:, 0], x[:, 1]), x[:, 2]
    a, b = (np.ones_like(mu), mu) if dual else (mu, np.ones_like(mu))  # the edge is along (a, b): |t| b = a n
    along = np.maximum((a * t + b * n) / (a * a + b * b), 0.0)
    inside, polar = b * t <= a * n, a * t + b * n <= 0.0
    scale = np.where(t > 0.0, a * along / np.where(t > 0.0, t, 1.0), 0.0)
    edge = np.stack([scale * x[:, 0], scale * x[:, 1], b * along], axis=1)
    return np.where(inside[:, None], x, np.where(polar[:, None], 0.0, edge))


def _largest(values: Array, world: Array, keys: Array, worlds: int) -> tuple[Array, Array]:
    """The largest magnitude of every world and its key."""
    size, where = np.zeros(worlds), np.full(worlds, -1, np.int64)
    for w in range(worlds):
        own = np.flatnonzero(world == w)
        if len(own):
            k = own[np.argmax(np.abs(values[own]))]
            size[w] = abs(values[k])
            where[w] = keys[k] if np.isfinite(size[w]) else -1
            size[w] = size[w] if np.isfinite(size[w]) else np.nan
    return size, where


def _key(first: Array, second: Array) -> Array:
    return (first.astype(np.int64) << 32) | second.astype(np.int64)


def measure_solution(
    space: Any, workspace: Any, structure: Any, limits: tuple[Any, Any], dt: float, damping: float
) -> SolutionMetrics:
    """Measure the last step.

    Args:
        space: The ProblemSpace of the solver.
        workspace: Its Workspace; residuals of joints in it are those at the end.
        structure: Its Structure.
        limits: Lower and upper limits of all degrees of freedom.
        dt: Time step [s].
        damping: ``angular_velocity_damping``.
    """
    s, w, worlds = structure, workspace, structure.world_count
    twist = w.end.twist.numpy()[:, :6].astype(float)
    twist[~s.immovable, 3:] /= max(1.0 - damping * dt, 1e-300)
    rows = _Rows(space)
    found = {"r_eom": _equations_of_motion(w, s, rows, twist), **_joints(w, s, twist), "r_cts_limits": _limits(w, s, limits)}
    points = space.contacts.points
    number = int(points.first.numpy()[-1])
    found["r_cts_contacts"] = (np.maximum(0.0, -points.distance.numpy()[:number]), points.world.numpy()[:number], np.arange(number))
    found.update(_complementarity(rows, w, twist))
    measured = {name: _largest(*found[name], worlds) for name in _NAMES}
    f_ccp = np.bincount(rows.world, 0.5 * rows.impulse * (rows.velocity + rows.free), worlds)
    f_ncp = f_ccp + np.bincount(rows.world, rows.impulse * rows.s, worlds)
    argmax = {name: where for name, (_, where) in measured.items()}
    return SolutionMetrics(**{name: size for name, (size, _) in measured.items()}, f_ccp=f_ccp, f_ncp=f_ncp, argmax=argmax)


def _bodies_of(w: Any, rows: _Rows, place: Array) -> Array:
    """Bodies at places of nodes, -1 for none."""
    node = w.mechanism.node.numpy()
    body = np.full(len(w.matrix.x) + 1, -1)
    body[node[node >= 0]] = np.flatnonzero(node >= 0)
    return np.where(place >= 0, body[np.where(place >= 0, w.patterns.node.numpy()[rows.world] + place, -1)], -1)


def _equations_of_motion(w: Any, s: Any, rows: _Rows, twist: Array) -> tuple[Array, Array, Array]:
    """M u less the momentum without joints and contacts, and all impulses."""
    mass, inertia = w.start.mass.numpy().astype(float), w.start.inertia.numpy().astype(float)
    rest = np.concatenate([mass[:, None] * twist[:, :3], np.einsum("bij,bj->bi", inertia, twist[:, 3:])], axis=1)
    rest -= w.start.momentum.numpy()[:, :6]
    j, kinds = w.joints, (("child", s.child), ("parent", s.parent))
    impulse = _eliminated(w, s, j.impulse.numpy()[:, :6])
    for side, body in kinds:
        use = s.acts & (body >= 0)
        wrench = np.einsum("jik,ji->jk", getattr(j, side).numpy()[..., :6], impulse) + getattr(j, f"on_{side}").numpy()[:, :6]
        np.subtract.at(rest, body[use], wrench[use])
    body = w.followed.body.numpy()
    wrench = np.einsum("mik,mi->mk", j.mimic.numpy()[..., :6], np.repeat(j.mimic_impulse.numpy()[:, :6], 4, axis=0))
    np.subtract.at(rest, body[body >= 0], wrench[body >= 0])
    for side in ("first", "second"):
        body = _bodies_of(w, rows, getattr(rows, f"{side}_place"))
        use = body >= 0
        np.subtract.at(rest, body[use], rows.impulse[use, None] * getattr(rows, side)[use][:, :6])
    use = ~s.immovable
    keys = _key(np.arange(len(rest))[:, None].repeat(6, 1), np.arange(6)[None, :].repeat(len(rest), 0))
    return rest[use].ravel(), np.repeat(s.body_world[use], 6), keys[use].ravel()


def _eliminated(w: Any, s: Any, impulse: Array) -> Array:
    """Impulses of joints that have nodes; those of others are among the rows."""
    place, has = w.mechanism.place.numpy(), np.zeros(s.joint_count, bool)
    of_joint, kind = w.mechanism.of_joint.numpy(), w.patterns.kind.numpy()
    for world in range(s.world_count):
        first, last = s.joint_start[world : world + 2]
        has[first:last] = place[of_joint[kind[world]] : of_joint[kind[world]] + last - first] >= 0
    return np.where(has[:, None], impulse, 0.0)


def _joints(w: Any, s: Any, twist: Array) -> dict[str, tuple[Array, Array, Array]]:
    """Rates and residuals of what joints lock."""
    j = w.joints
    rate = np.einsum("jik,jk->ji", j.child.numpy()[..., :6], twist[s.child])
    rate += np.where((s.parent >= 0)[:, None], np.einsum("jik,jk->ji", j.parent.numpy()[..., :6], twist[s.parent]), 0.0)
    locked = s.acts[:, None] & (np.arange(6) < s.locked[:, None])
    keys = _key(np.arange(s.joint_count)[:, None].repeat(6, 1), np.arange(6)[None, :].repeat(s.joint_count, 0))
    world = s.joint_world[:, None].repeat(6, 1)
    rate = rate + j.bias.numpy()[:, :6]
    return {
        "r_kinematics": (rate[locked], world[locked], keys[locked]),
        "r_cts_joints": (j.error.numpy()[:, :6][locked], world[locked], keys[locked]),
    }


def _limits(w: Any, s: Any, limits: tuple[Any, Any]) -> tuple[Array, Array, Array]:
    """Violations of limits at the end."""
    lower, upper = (values.numpy().astype(float) for values in limits)
    q, joint = w.joints.q.numpy().astype(float), s.dof_joint
    local = np.arange(s.dof_count) - s.joint_dof[joint]
    value = np.zeros(s.dof_count)
    for d in range(s.dof_count):
        j = joint[d]
        coords, freedoms = s.joint_coord[j + 1] - s.joint_coord[j], s.joint_dof[j + 1] - s.joint_dof[j]
        at = s.joint_coord[j] + local[d]
        if coords > freedoms and local[d] >= freedoms - 3:
            at = s.joint_coord[j + 1] - 4
            x, y, z, real = q[at : at + 4] * (1.0 if q[at + 3] >= 0.0 else -1.0)
            size = np.sqrt(x * x + y * y + z * z)
            value[d] = (x, y, z)[local[d] - (freedoms - 3)] * (2.0 * np.arctan2(size, real) / size if size > 0.0 else 2.0)
        else:
            value[d] = q[at]
    over = np.where(s.lower, np.maximum(0.0, lower - value), 0.0) + np.where(s.upper, np.maximum(0.0, value - upper), 0.0)
    use = (s.lower != 0) | (s.upper != 0)
    return over[use], s.joint_world[joint][use], _key(joint, local)[use]


def _complementarity(rows: _Rows, w: Any, twist: Array) -> dict[str, tuple[Array, Array, Array]]:
    """Residuals of the problem."""
    augmented, own = rows.velocity + rows.s, rows.impulse
    seen = rows.bias + rows.compliance * own
    for side in ("first", "second"):
        body = _bodies_of(w, rows, getattr(rows, f"{side}_place"))
        seen = seen + np.where(
            body >= 0, np.einsum("rk,rk->r", getattr(rows, side)[:, :6], twist[body]) if len(twist) else 0.0, 0.0
        )
    bilateral, box, one = (rows.kind == k for k in (RowKind.BILATERAL, RowKind.BOX, RowKind.ONE_SIDED))
    products = np.where(one, own * augmented, 0.0)
    products = np.where(box, np.where(augmented > 0.0, (own - rows.low) * augmented, (own - rows.high) * augmented), products)
    if len(rows.contacts):
        products[rows.contacts[:, 2]] = (own * augmented)[rows.contacts].sum(axis=1)
    dual = np.where(box, 0.0, augmented - rows.project(augmented, dual=True))
    natural = np.where(bilateral, augmented, own - rows.project(own - augmented))
    values = {
        "r_v_plus": rows.velocity - seen, "r_ncp_primal": own - rows.project(own), "r_ncp_dual": dual, "r_ncp_compl": products,
        "r_vi_natmap": natural,
    }  # fmt: skip
    return {name: (value, rows.world, rows.number) for name, value in values.items()}


def read_info(space: Any, worlds: int, iterations: int) -> SolverInfo:
    """The iterations of the last step.

    Args:
        space: The ProblemSpace of a solver that records them.
        worlds: Number of worlds.
        iterations: Most iterations of a step.
    """
    rows, history = _Rows(space), space.report.history.numpy().copy().reshape(worlds, iterations, len(COLUMNS))
    parts = {
        name: [value[a:b] for a, b in zip(rows.ends[:-1], rows.ends[1:], strict=True)]
        for name, value in (("lambdas", rows.impulse), ("v_plus", rows.velocity), ("v_aug", rows.velocity + rows.s), ("s", rows.s))
    }
    columns = {name: history[..., c] for c, name in enumerate(COLUMNS)}
    return SolverInfo(space.report.world.numpy()["iterations"].copy(), columns, **parts)
