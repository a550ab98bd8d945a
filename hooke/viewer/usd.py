"""A recording as a USD stage with time samples."""

import os
from pathlib import Path
from typing import Any

import numpy as np

from hooke.viewer.camera import extent
from hooke.viewer.files import replacing
from hooke.viewer.record import Plane, ShapeMesh, Trajectory
from hooke.viewer.scene import part_colors
from hooke.viewer.surface import connected_pieces

__all__ = ["write_usd"]

ENDINGS = (".usd", ".usda", ".usdc")


def write_usd(trajectory: Trajectory, path: str | os.PathLike) -> Path:
    """Write a recording as a USD file.

    Deformable pieces are meshes with points per frame, springs are curves, loose particles are points, moving bodies
    are transforms per frame with their shapes below them, and what does not move is written once. Time codes are
    simulated time times ``fps``.

    Args:
        trajectory: The recording, with at least one frame.
        path: File name ending in ``.usd``, ``.usda`` or ``.usdc``; the file appears when it is complete.

    Returns:
        The path.

    Raises:
        ValueError: Another ending, or a recording without frames.
        ImportError: The extra ``hooke[usd]`` is not installed.
    """
    path = Path(path)
    if path.suffix.lower() not in ENDINGS:
        raise ValueError(f"{path}: a USD file ends in .usd, .usda or .usdc, found {path.suffix!r}")
    if not trajectory.frame_count:
        raise ValueError(f"{path}: the recording has no frame to write; append a state to it first")
    try:
        from pxr import Usd
    except ImportError as error:
        raise ImportError(f'writing {path.name} needs OpenUSD: pip install "hooke[usd]"') from error
    with replacing(path) as temporary:
        stage = Usd.Stage.CreateInMemory()
        Writer(stage, trajectory).write()
        if not stage.GetRootLayer().Export(str(temporary)):
            raise OSError(f"{path}: USD could not write the file")
    return path


class Writer:
    """Fills an empty stage from a recording."""

    def __init__(self, stage: Any, trajectory: Trajectory):
        self.stage = stage
        self.trajectory = trajectory
        self.codes = np.round(trajectory.times * trajectory.fps, 6).tolist()
        self.piece = connected_pieces(trajectory.triangles, len(trajectory.particle_radius))
        self.pieces = int(self.piece.max()) + 1 if len(self.piece) else 0
        linear = part_colors(trajectory, self.piece)[0]
        self.color = np.asarray(linear, np.float32)  # displayColor is linear
        self.names: set[str] = set()

    def write(self) -> None:
        from pxr import UsdGeom

        stage, t = self.stage, self.trajectory
        stage.SetTimeCodesPerSecond(t.fps)
        stage.SetFramesPerSecond(t.fps)
        stage.SetStartTimeCode(self.codes[0])
        stage.SetEndTimeCode(self.codes[-1])
        UsdGeom.SetStageMetersPerUnit(stage, 1.0)
        UsdGeom.SetStageUpAxis(stage, "XYZ"[t.up_axis])
        stage.SetDefaultPrim(UsdGeom.Xform.Define(stage, "/World").GetPrim())
        for k in range(self.pieces):
            self.deformable(k)
        self.springs()
        self.points()
        self.shapes()
        for p, plane in enumerate(t.planes):
            self.plane(plane, self.color[self.pieces + len(t.shapes) + 1 + p])

    def path(self, parent: str, label: str) -> str:
        """A free prim path for a label, whose slashes and other characters USD does not take."""
        from pxr import Tf

        base = f"{parent}/{Tf.MakeValidIdentifier(label)}"
        path, n = base, 1
        while path in self.names:
            path, n = f"{base}_{n}", n + 1
        self.names.add(path)
        return path

    def mesh(self, path: str, triangles: np.ndarray, color: np.ndarray) -> Any:
        from pxr import UsdGeom, Vt

        mesh = UsdGeom.Mesh.Define(self.stage, path)
        mesh.CreateFaceVertexCountsAttr(Vt.IntArray.FromNumpy(np.full(len(triangles), 3, np.int32)))
        mesh.CreateFaceVertexIndicesAttr(Vt.IntArray.FromNumpy(np.ascontiguousarray(triangles.ravel(), np.int32)))
        mesh.CreateSubdivisionSchemeAttr("none")
        mesh.CreateDoubleSidedAttr(True)
        mesh.CreateDisplayColorAttr(vectors(color[None]))
        return mesh

    def sample(self, prim: Any, particles: np.ndarray) -> None:
        """Set the points of a prim in every frame to those particles."""
        from pxr import UsdGeom

        points = prim.CreatePointsAttr()
        bounds = prim.CreateExtentAttr()
        for f, code in enumerate(self.codes):
            values = vectors(self.trajectory.particle_q[f, particles])
            points.Set(values, code)
            bounds.Set(UsdGeom.Boundable.ComputeExtentFromPlugins(prim, code), code)

    def deformable(self, k: int) -> None:
        own = self.trajectory.triangles[self.piece == k]
        used, local = np.unique(own, return_inverse=True)
        path = self.path("/World", "deformable")
        self.sample(self.mesh(path, local.reshape(-1, 3), self.color[k]), used)

    def springs(self) -> None:
        from pxr import UsdGeom, Vt

        t = self.trajectory
        if not len(t.springs):
            return
        curves = UsdGeom.BasisCurves.Define(self.stage, self.path("/World", "springs"))
        curves.CreateTypeAttr("linear")
        curves.CreateCurveVertexCountsAttr(Vt.IntArray.FromNumpy(np.full(len(t.springs), 2, np.int32)))
        curves.CreateWidthsAttr(floats(0.8 * np.repeat(t.particle_radius[t.springs].min(axis=1), 2)))
        curves.SetWidthsInterpolation("vertex")
        curves.CreateDisplayColorAttr(vectors(self.color[self.pieces + len(t.shapes)][None]))
        self.sample(curves, t.springs.ravel())

    def points(self) -> None:
        from pxr import UsdGeom

        t = self.trajectory
        if not len(t.points):
            return
        points = UsdGeom.Points.Define(self.stage, self.path("/World", "particles"))
        points.CreateWidthsAttr(floats(2.0 * t.particle_radius[t.points]))
        points.CreateDisplayColorAttr(vectors(self.color[-1][None]))
        self.sample(points, t.points)

    def shapes(self) -> None:
        """Shapes below their bodies, in the order of the model."""
        from pxr import UsdGeom

        parents: dict[int, str] = {}
        for s, shape in enumerate(self.trajectory.shapes):
            if shape.body not in parents:
                moving = shape.body >= 0
                label = self.trajectory.body_label[shape.body] if moving else "world"
                parents[shape.body] = self.path("/World", label)
                xform = UsdGeom.Xform.Define(self.stage, parents[shape.body])
                if moving:
                    self.body(xform, shape.body)
            self.shape(shape, parents[shape.body], self.color[self.pieces + s])

    def body(self, xform: Any, body: int) -> None:
        from pxr import Gf, UsdGeom

        translate = xform.AddTranslateOp(UsdGeom.XformOp.PrecisionFloat)
        orient = xform.AddOrientOp(UsdGeom.XformOp.PrecisionFloat)
        previous = None
        for code, pose in zip(self.codes, self.trajectory.body_q[:, body]):
            q = pose[3:] if previous is None or np.dot(previous, pose[3:]) >= 0 else -pose[3:]  # the short way between frames
            previous = q
            x, y, z, w = q.tolist()
            translate.Set(Gf.Vec3f(*pose[:3].tolist()), code)
            orient.Set(Gf.Quatf(w, x, y, z), code)

    def shape(self, shape: ShapeMesh, parent: str, color: np.ndarray) -> None:
        from pxr import Gf, UsdGeom

        mesh = self.mesh(self.path(parent, shape.label), shape.triangles, color)
        mesh.CreatePointsAttr(vectors(shape.vertices))
        mesh.CreateExtentAttr(vectors(np.stack([shape.vertices.min(axis=0), shape.vertices.max(axis=0)])))
        x, y, z, w = shape.transform[3:].tolist()
        mesh.AddTranslateOp(UsdGeom.XformOp.PrecisionFloat).Set(Gf.Vec3f(*shape.transform[:3].tolist()))
        mesh.AddOrientOp(UsdGeom.XformOp.PrecisionFloat).Set(Gf.Quatf(w, x, y, z))

    def plane(self, plane: Plane, color: np.ndarray) -> None:
        """An infinite plane as a square that is much larger than the scene."""
        points = extent(self.trajectory)
        size = 20.0 * max(float(np.ptp(points, axis=0).max()), 1e-3)
        n = plane.normal.astype(np.float64)
        s = np.eye(3)[np.argmin(np.abs(n))]
        s -= np.dot(s, n) * n
        s /= np.linalg.norm(s)
        center = points.mean(axis=0)
        center -= np.dot(center - plane.point, n) * n
        t = np.cross(n, s)
        corners = center + size * np.array([-s - t, s - t, s + t, -s + t])
        mesh = self.mesh(self.path("/World", plane.label), np.array([[0, 1, 2], [0, 2, 3]]), color)
        mesh.CreatePointsAttr(vectors(corners))
        mesh.CreateExtentAttr(vectors(np.stack([corners.min(axis=0), corners.max(axis=0)])))


def vectors(values: np.ndarray) -> Any:
    from pxr import Vt

    return Vt.Vec3fArray.FromNumpy(np.ascontiguousarray(values, np.float32))


def floats(values: np.ndarray) -> Any:
    from pxr import Vt

    return Vt.FloatArray.FromNumpy(np.ascontiguousarray(values, np.float32))
