"""Rows with bounded impulses: what they are, and those of joints.

A row is a rate of one or two bodies, v = J u + c l + b, of a kind of :class:`~hooke.solvers.kamino.ncp.problem.RowKind`. Rows of joints are
dry friction, drives with an effort limit, limits that are violated, and, where joints are not eliminated, all their rows. Behind them
are the rows of contacts (:mod:`hooke.solvers.kamino.contacts.rows`).
"""

from functools import cache
from types import SimpleNamespace
from typing import Any

import warp as wp

from hooke.execution.work import Work, first_item, next_item
from hooke.joints.dispatch import has_quaternion
from hooke.joints.kind import Place
from hooke.joints.layout import joint_place
from hooke.joints.rotation import rotation_vector
from hooke.linalg.block_ldl import make_block_ldl
from hooke.linalg.elimination import Patterns
from hooke.model.tables import JointDofs, Joints
from hooke.solvers.kamino.data import Step, make_types
from hooke.solvers.kamino.joint_rows import JointInputs
from hooke.solvers.kamino.mechanism import Mechanism
from hooke.solvers.kamino.ncp.problem import RowKind, make_problem

__all__ = ["KEYS", "PLAIN", "make_inequality_kernels", "make_row_types"]

BILATERAL, BOX, ONE_SIDED = (wp.constant(int(k)) for k in (RowKind.BILATERAL, RowKind.BOX, RowKind.ONE_SIDED))
FRICTION, EFFORT, LOWER, UPPER, PLAIN = (wp.constant(k) for k in (1, 2, 4, 8, 16))  # bits of a degree of freedom's rows
OF_BILATERAL, OF_FRICTION, OF_EFFORT, OF_LOWER, OF_UPPER = (wp.constant(k) for k in range(5))
KEYS = 30
"""Rows that a joint may have: five for each of its six."""


@cache
def make_row_types(scalar: Any) -> Any:
    """The struct ``Rows`` over a type of numbers."""
    t = make_types(scalar)

    class Rows:
        first_place: wp.array(dtype=wp.int32)
        second_place: wp.array(dtype=wp.int32)
        first: wp.array(dtype=t.row)
        second: wp.array(dtype=t.row)
        compliance: wp.array(dtype=scalar)
        bias: wp.array(dtype=scalar)
        key: wp.array(dtype=wp.int32)
        first_row: wp.array(dtype=wp.int32)
        first_contact: wp.array(dtype=wp.int32)
        of_contacts: wp.array(dtype=wp.int32)
        kept: wp.array(dtype=wp.int32)
        part: wp.array(dtype=wp.int32)
        largest: wp.array(dtype=wp.int32)
        root: wp.array(dtype=wp.int32)
        amount: wp.array(dtype=wp.int32)
        nodes: wp.array(dtype=wp.int32)
        number: wp.array(dtype=wp.int32)
        order: wp.array(dtype=wp.int32)
        kept_impulse: wp.array(dtype=scalar)
        kept_velocity: wp.array(dtype=scalar)

    Rows.__doc__ = """Rows of all worlds, at the places of the problem's vectors.

    Attributes:
        first_place: Place of a body among the nodes of the world, -1 for none.
        second_place: That of the other body.
        first: J of the first body.
        second: J of the second.
        compliance: c.
        bias: b.
        key: Where impulse and velocity are kept for the next step; of contacts -1.
        first_row: Of every world, where its rows would begin if no world had contacts.
        first_contact: Of every world its first contact, then the number of all.
        of_contacts: Of every world the first row of its contacts.
        kept: Of every world, how many impulses of joints there were in the last step.
        part: Number of rows of a problem, at its first member.
        largest: Of every world that of its largest problem.
        root: For making the problems: of every node one that it is connected with.
        amount: The same: rows of a root.
        nodes: Of every problem, at its first member, where in ``order`` its nodes begin.
        number: How many they are.
        order: The nodes of a world, those of one problem after those of another.
        kept_impulse: Impulses of the last step.
        kept_velocity: Velocities of the last step.
    """
    Rows.__qualname__ = f"InequalityRows_{scalar.__name__}"
    return wp.struct(Rows)


@cache
def make_inequality_kernels(scalar: Any) -> SimpleNamespace:
    """``gather`` over a type of numbers."""
    t, row_at = make_types(scalar), make_block_ldl(scalar).row_at
    quat, JointRows, Rows, problems = t.quat, t.JointRows, make_row_types(scalar), make_problem(scalar)

    @wp.func
    def coordinate(code: int, place: Place, q: wp.array(dtype=scalar), k: int):
        """What limits are about: a coordinate, of a quaternion a number of the rotation vector."""
        if has_quaternion(code) and k >= place.linear:
            i = place.q + place.linear
            phi = rotation_vector(quat(q[i], q[i + 1], q[i + 2], q[i + 3]))
            return phi[k - place.linear]
        return q[place.q + k]

    @wp.func
    def add_row(mechanism: Mechanism, joint_rows: JointRows, problem: problems, out: Rows, at: int, table: int, j: int, i: int,
                side: scalar, key: int):  # fmt: skip
        """Row i of a joint, or its opposite, as row ``at``."""
        out.first_place[at] = mechanism.child[table]
        out.second_place[at] = mechanism.parent[table]
        out.first[at] = side * row_at(j, i, joint_rows.child)
        out.second[at] = side * row_at(j, i, joint_rows.parent)
        out.compliance[at] = scalar(0.0)
        out.bias[at] = side * joint_rows.carried[j][i]
        k = (6 * j + i) * 5 + key
        out.key[at] = k
        problem.impulse[at] = out.kept_impulse[k]
        problem.velocity[at] = out.kept_velocity[k]
        problem.friction[at] = scalar(0.0)
        problem.low[at] = scalar(0.0)
        problem.high[at] = scalar(0.0)
        return at + 1

    @wp.func
    def add_box(at: int, bound: scalar, problem: problems):
        problem.kind[at] = BOX
        problem.low[at] = -bound
        problem.high[at] = bound
        return 0

    @wp.func
    def set_limit(step: Step, dofs: JointDofs, d: int, error: scalar, at: int, problem: problems, out: Rows):
        """A limit that is violated by ``error`` < 0: hard, or the spring and damper of implicit Euler (theory 3.4)."""
        problem.kind[at] = ONE_SIDED
        stiffness, rate = scalar(dofs.limit_ke[d]), scalar(step.limit_rate)
        if step.limit_compliance != 0 and stiffness > scalar(0.0):
            time = scalar(step.limit_time)
            if time < scalar(0.0):
                time = scalar(dofs.limit_kd[d]) / stiffness
            rate = scalar(1.0) / (scalar(step.dt) - scalar(step.half) + time)
            out.compliance[at] = rate / (scalar(step.dt) * stiffness)
        out.bias[at] = out.bias[at] + wp.max(-scalar(step.limit_speed), rate * error)
        return 0

    @wp.func
    def gather_dof(step: Step, code: int, place: Place, dofs: JointDofs, mechanism: Mechanism, joint_rows: JointRows, flags: int,
                   table: int, j: int, k: int, begin: int, problem: problems, out: Rows):  # fmt: skip
        """Rows of a degree of freedom; where the next would go."""
        at, i, d, dt, one = begin, 6 - place.linear - place.angular + k, place.qd + k, scalar(step.dt), scalar(1.0)
        if (flags & FRICTION) != 0:
            at = add_row(mechanism, joint_rows, problem, out, at, table, j, i, one, OF_FRICTION)
            add_box(at - 1, dt * scalar(dofs.friction[d]), problem)
        if (flags & EFFORT) != 0:
            at = add_row(mechanism, joint_rows, problem, out, at, table, j, i, one, OF_EFFORT)
            add_box(at - 1, dt * scalar(dofs.effort_limit[d]), problem)
            out.compliance[at - 1] = one / joint_rows.effort_gain[d]
            out.bias[at - 1] = out.bias[at - 1] - joint_rows.effort_rate[d]
        if (flags & (LOWER | UPPER)) != 0:
            q = coordinate(code, place, joint_rows.q, k)
            below, above = q - scalar(dofs.limit_lower[d]), scalar(dofs.limit_upper[d]) - q
            if (flags & LOWER) != 0 and below < scalar(0.0):
                at = add_row(mechanism, joint_rows, problem, out, at, table, j, i, one, OF_LOWER)
                set_limit(step, dofs, d, below, at - 1, problem, out)
            elif (flags & UPPER) != 0 and above < scalar(0.0):
                at = add_row(mechanism, joint_rows, problem, out, at, table, j, i, -one, OF_UPPER)
                set_limit(step, dofs, d, above, at - 1, problem, out)
        return at

    @wp.kernel(enable_backward=False, module="unique")
    def gather_rows(
        work: Work, step: Step, patterns: Patterns, mechanism: Mechanism, joints: Joints, dofs: JointDofs, inputs: JointInputs,
        joint_flags: wp.array(dtype=wp.int32), joint_rows: JointRows, problem: problems, out: Rows,
    ):  # fmt: skip
        """The rows of the joints of every world, one after the other."""
        w = first_item(work, wp.tid())
        while w >= 0:
            joint, table = mechanism.joint[w], mechanism.of_joint[patterns.kind[w]]
            begin = out.first_row[w] + 3 * out.first_contact[w]
            at = begin
            for local in range(mechanism.joint[w + 1] - joint):
                j = joint + local
                if joint_flags[j] != 0 and inputs.acts[j] != 0:
                    place = joint_place(inputs.layout, j)
                    if (joint_flags[j] & PLAIN) != 0:
                        for i in range(6):
                            if joint_rows.held[j][i] != scalar(0.0):
                                at = add_row(
                                    mechanism, joint_rows, problem, out, at, table + local, j, i, scalar(1.0), OF_BILATERAL
                                )
                                problem.kind[at - 1] = BILATERAL
                                out.bias[at - 1] = out.bias[at - 1] + joint_rows.bias[j][i]
                                out.compliance[at - 1] = joint_rows.compliance[j][i]
                    for k in range(place.linear + place.angular):
                        own = inputs.rows[place.qd + k]
                        if own != 0:
                            at = gather_dof(
                                step, joints.type[j], place, dofs, mechanism, joint_rows, own, table + local, j, k, at, problem, out
                            )
            n = at - begin + 3 * (out.first_contact[w + 1] - out.first_contact[w])
            problem.row[w] = begin
            problem.count[w] = n
            out.of_contacts[w] = at
            w = next_item(work, w)

    return SimpleNamespace(gather=gather_rows)
