"""What forward kinematics is given, works on and reports."""

from __future__ import annotations

from typing import Any

import numpy as np
import warp as wp

from hooke.linalg.block_ldl import make_row, make_rows
from hooke.solvers.kamino.config.parts import ForwardKinematicsSolverConfig
from hooke.solvers.kamino.structure import Structure

__all__ = ["FkOptions", "FkReport", "FkSpace", "Targets", "make_options", "make_space"]

Row, Rows = make_row(wp.float64), make_rows(wp.float64)
PRECONDITIONERS = ("none", "jacobi_diagonal", "jacobi_block_diagonal")


@wp.struct
class FkOptions:
    """Settings, see :class:`~hooke.solvers.kamino.config.parts.ForwardKinematicsSolverConfig`."""

    tolerance: wp.float64
    iterations: wp.int32
    halvings: wp.int32
    axes: wp.int32
    incremental: wp.int32
    linear: wp.float64
    angular: wp.float64
    weight: wp.float64
    preconditioner: wp.int32
    adaptive: wp.int32


def make_options(config: ForwardKinematicsSolverConfig) -> FkOptions:
    """The settings as numbers."""
    options = FkOptions()
    options.tolerance, options.iterations = config.tolerance, config.max_newton_iterations
    options.halvings, options.axes = config.max_line_search_iterations, int(config.add_axis_joints)
    options.incremental, options.linear = int(config.use_incremental_solve), config.max_linear_incremental_step
    options.angular = config.max_angular_incremental_step
    options.weight = config.regularization_weight if config.use_regularization else 0.0
    options.preconditioner = PRECONDITIONERS.index(config.preconditioner)
    options.adaptive = int(config.use_adaptive_cg_tolerance)
    return options


@wp.struct
class Targets:
    """What a reset is given; arrays of length 0 are not.

    ``q`` and ``qd`` are of all joints, ``actuator_q`` and ``actuator_qd`` of actuated ones; of bases only where ``base_of_q`` and
    ``base_of_qd`` are set. ``pose`` and ``twist`` are those that bodies begin with, ``default_pose`` and ``default_twist`` those of bases
    that nothing is said of. ``joints`` is 0 where joints are not solved for, 1 for targets, 2 where they hold their coordinates;
    ``whole`` is whether more than bases move. Coordinates of which nothing is said are reported next to ``near``, and angles in the range
    of ``correction`` (:class:`~hooke.solvers.kamino.config.config.JointCorrectionMode`).
    """

    q: wp.array(dtype=wp.float32)
    qd: wp.array(dtype=wp.float32)
    actuator_q: wp.array(dtype=wp.float32)
    actuator_qd: wp.array(dtype=wp.float32)
    base_q: wp.array(dtype=wp.transform)
    base_qd: wp.array(dtype=wp.spatial_vector)
    pose: wp.array(dtype=wp.transform)
    twist: wp.array(dtype=wp.spatial_vector)
    default_pose: wp.array(dtype=wp.transform)
    default_twist: wp.array(dtype=wp.spatial_vector)
    near: wp.array(dtype=wp.float32)
    joints: wp.int32
    whole: wp.int32
    base_of_q: wp.int32
    base_of_qd: wp.int32
    correction: wp.int32


@wp.struct
class FkReport:
    """How worlds were solved, an entry each; see :class:`~hooke.solvers.kamino.fk.forward_kinematics.ForwardKinematics`."""

    converged: wp.array(dtype=wp.int32)
    iterations: wp.array(dtype=wp.int32)
    increments: wp.array(dtype=wp.int32)
    residual: wp.array(dtype=wp.float64)
    rate: wp.array(dtype=wp.float64)


@wp.struct
class FkSpace:
    """What is worked on.

    Attributes:
        com: Centres of mass [m].
        rotation: Orientations.
        twist: Velocities of the centres of mass, angular velocities; world axes.
        kept_com: Where a line search begins.
        kept_rotation: The same.
        good_com: Where the joints were closed last.
        good_rotation: The same.
        reference_com: Where everything begins.
        reference_rotation: The same.
        spin: Angle of bodies between two balls about the line between them [rad].
        gradient: What maps their angular velocity to its rate.
        q: Coordinates that targets are at.
        start: Coordinates where they begin.
        goal: Those where they end; angles as near to the start as can be.
        error: Residuals of the six rows of every joint, angles times the length of the world.
        child: Their J of the child's twist.
        parent: Their J of the parent's.
        ones: All rows are rows of the matrix.
        diagonal: The matrix, by nodes.
        lower: Its blocks below.
        x: Right sides and solutions.
        rest: Vectors of conjugate gradients.
        search: The same.
        image: The same.
        eased: The same.
    """

    com: wp.array(dtype=wp.vec3d)
    rotation: wp.array(dtype=wp.quatd)
    twist: wp.array(dtype=Row)
    kept_com: wp.array(dtype=wp.vec3d)
    kept_rotation: wp.array(dtype=wp.quatd)
    good_com: wp.array(dtype=wp.vec3d)
    good_rotation: wp.array(dtype=wp.quatd)
    reference_com: wp.array(dtype=wp.vec3d)
    reference_rotation: wp.array(dtype=wp.quatd)
    spin: wp.array(dtype=wp.float64)
    gradient: wp.array(dtype=wp.vec3d)
    q: wp.array(dtype=wp.float64)
    start: wp.array(dtype=wp.float64)
    goal: wp.array(dtype=wp.float64)
    error: wp.array(dtype=Row)
    child: wp.array(dtype=Rows)
    parent: wp.array(dtype=Rows)
    ones: wp.array(dtype=Row)
    diagonal: wp.array(dtype=Rows)
    lower: wp.array(dtype=Rows)
    x: wp.array(dtype=Row)
    rest: wp.array(dtype=Row)
    search: wp.array(dtype=Row)
    image: wp.array(dtype=Row)
    eased: wp.array(dtype=Row)


def make_space(s: Structure, nodes: int, blocks: int, device: Any) -> FkSpace:
    """Arrays for a structure whose matrices have so many nodes, and blocks below the diagonal."""
    space = FkSpace()
    lengths = {"lower": blocks, **dict.fromkeys(("diagonal", "x", "rest", "search", "image", "eased"), nodes)}
    lengths |= dict.fromkeys(("q", "start", "goal"), s.coord_count)
    lengths |= dict.fromkeys(("error", "child", "parent", "ones"), s.joint_count)
    for name, annotation in FkSpace.vars.items():
        array = wp.zeros(lengths.get(name, s.body_count), dtype=annotation.type.dtype, device=device)
        setattr(space, name, array)
    space.ones.assign(np.ones((s.joint_count, 8)))
    return space
