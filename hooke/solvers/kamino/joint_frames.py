"""Where the anchors of a joint are to each other: frames, coordinates, and residuals of locked motions."""

from functools import cache
from types import SimpleNamespace
from typing import Any

import warp as wp

from hooke.joints.dispatch import has_quaternion, is_at_com, joint_coordinates, joint_rates
from hooke.joints.gimbal import nearest_angles, nearest_turn
from hooke.joints.kind import Place
from hooke.joints.rows import angular_rows, bases_of_joint, linear_rows
from hooke.model.tables import Bodies, Joints
from hooke.solvers.kamino.data import make_types
from hooke.solvers.kamino.poses import make_pose_functions

__all__ = ["make_joint_frames"]


@cache
def make_joint_frames(scalar: Any) -> SimpleNamespace:
    """The structs ``Frames`` and ``Locked``, and the functions that make them, over a type of numbers."""
    t, poses = make_types(scalar), make_pose_functions(scalar)
    vec3, quat, row, Motion, JointRows = t.vec3, t.quat, t.row, t.Motion, t.JointRows
    widened, unit = poses.widened, poses.unit

    class Frames:
        x: wp.types.transformation(dtype=scalar)
        axes: quat
        on_child: vec3
        on_parent: vec3
        coms: vec3

    Frames.__doc__ = "Anchors: relative pose, axes of the parent's, levers of the child's on both bodies, way between the centres."
    Frames.__qualname__ = f"Frames_{scalar.__name__}"
    Frames = wp.struct(Frames)

    class Locked:
        across: t.mat33
        turn: t.mat33
        error: row

    Locked.__doc__ = "Residuals of locked motions, and the matrices whose rows map velocities to the rates of a kind's six."
    Locked.__qualname__ = f"Locked_{scalar.__name__}"
    Locked = wp.struct(Locked)

    @wp.func
    def frames_of(joints: Joints, bodies: Bodies, motion: Motion, j: int):
        """The anchors of a joint."""
        f = Frames()
        child, parent = joints.child[j], joints.parent[j]
        anchor, base = joints.X_c[j], joints.X_p[j]
        q = motion.rotation[child]
        f.on_child = wp.quat_rotate(q, widened(wp.transform_get_translation(anchor) - bodies.com[child]))
        end = q * unit(wp.transform_get_rotation(anchor))
        local = widened(wp.transform_get_translation(base))
        f.axes = unit(wp.transform_get_rotation(base))
        f.coms = scalar(1.0) * motion.com[child]
        if parent >= 0:
            p = motion.rotation[parent]
            local = wp.quat_rotate(p, widened(wp.transform_get_translation(base) - bodies.com[parent]))
            f.axes = p * f.axes
            f.coms = f.coms - motion.com[parent]
        gap = f.coms + (f.on_child - local)
        f.on_parent = local + gap
        f.x = wp.transformation(wp.quat_rotate_inv(f.axes, gap), wp.quat_inverse(f.axes) * end)
        return f

    @wp.func
    def coordinates_of(code: int, place: Place, frames: Frames, near: JointRows, initial: wp.array(dtype=wp.float32), j: int):
        """Coordinates, angles next to those that are known."""
        found = joint_coordinates(code, place, near.axis, frames.x)
        if has_quaternion(code):
            dot = scalar(0.0)
            for k in range(4):
                before = near.q[place.q + place.linear + k]
                if near.known[j] == 0:
                    before = scalar(initial[place.q + place.linear + k])
                dot += before * found[place.linear + k]
            if dot < scalar(0.0):
                for k in range(4):
                    found[place.linear + k] = -found[place.linear + k]
        else:
            angles, old = vec3(), vec3()
            for k in range(place.angular):
                i = place.q + place.linear + k
                angles[k] = found[place.linear + k]
                old[k] = near.q[i]
                if near.known[j] == 0:
                    old[k] = scalar(initial[i])
            if place.angular == 3:
                angles = nearest_angles(angles, old)
            for k in range(place.angular):
                found[place.linear + k] = nearest_turn(angles[k], old[k])
        return found

    @wp.func
    def locked_motions(place: Place, frames: Frames, out: JointRows):
        """Residuals of the locked motions in the order of their rows, and what maps relative velocities to their rates."""
        r = Locked()
        linear, angular = bases_of_joint(place, out.axis)
        p, across = linear_rows(linear, wp.transform_get_translation(frames.x))
        c, turn = angular_rows(place, out.axis, angular, wp.transform_get_rotation(frames.x))
        r.across = across
        r.turn = turn
        for i in range(3 - place.linear):
            r.error[i] = p[place.linear + i]
        for i in range(3 - place.angular):
            r.error[3 - place.linear + i] = c[place.angular + i]
        return r

    @wp.func
    def rows_of(code: int):
        """Six, as a number that the compiler does not unroll loops for."""
        return wp.where(code < 0, 0, 6)

    @wp.func
    def row_of(code: int, place: Place, frames: Frames, locked: Locked, out: JointRows, i: int):
        """J of row i, of the child and of the parent."""
        f, torque = vec3(), vec3()
        arm_child, arm_parent = scalar(1.0) * frames.on_child, scalar(1.0) * frames.on_parent
        first = 6 - place.linear - place.angular
        if i < 3 - place.linear:
            f = locked.across[place.linear + i]
        elif i < first:
            torque = locked.turn[i - (3 - place.linear) + place.angular]
        else:
            f, torque = joint_rates(code, place, out.axis, out.q, i - first)
            if is_at_com(code):
                arm_child, arm_parent = vec3(), scalar(1.0) * frames.coms
        f = wp.quat_rotate(frames.axes, f)
        torque = wp.quat_rotate(frames.axes, torque)
        c, p = wp.cross(arm_child, f) + torque, wp.cross(arm_parent, f) + torque
        zero = scalar(0.0)
        return row(f[0], f[1], f[2], c[0], c[1], c[2], zero, zero), row(-f[0], -f[1], -f[2], -p[0], -p[1], -p[2], zero, zero)

    return SimpleNamespace(
        rows_of=rows_of,
        row_of=row_of,
        Frames=Frames,
        Locked=Locked,
        frames_of=frames_of,
        coordinates_of=coordinates_of,
        locked_motions=locked_motions,
    )
