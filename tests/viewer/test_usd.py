import os

import numpy as np
import pytest

from hooke.viewer import Trajectory, write_usd

from .fake import moving

Usd = pytest.importorskip("pxr.Usd")
UsdGeom = pytest.importorskip("pxr.UsdGeom")


@pytest.mark.parametrize("ending", ["usda", "usdc"])
def test_stage_matches_the_recording(tmp_path, ending):
    t = moving()
    stage = Usd.Stage.Open(str(write_usd(t, tmp_path / f"a.{ending}")))
    assert UsdGeom.GetStageUpAxis(stage) == "Z" and UsdGeom.GetStageMetersPerUnit(stage) == 1.0
    assert (stage.GetTimeCodesPerSecond(), stage.GetStartTimeCode(), stage.GetEndTimeCode()) == (30.0, 0.0, 3.0)
    assert stage.GetDefaultPrim().GetPath() == "/World"

    cloth = UsdGeom.Mesh(stage.GetPrimAtPath("/World/deformable"))
    assert cloth.GetPointsAttr().GetTimeSamples() == [0.0, 1.0, 2.0, 3.0]
    assert list(cloth.GetFaceVertexIndicesAttr().Get()) == [0, 1, 2, 0, 2, 3]
    springs = UsdGeom.BasisCurves(stage.GetPrimAtPath("/World/springs"))
    loose = UsdGeom.Points(stage.GetPrimAtPath("/World/particles"))
    assert np.allclose(loose.GetWidthsAttr().Get(), 0.2)
    for f in range(4):
        for prim, particles in ((cloth, [0, 1, 2, 3]), (springs, [4, 5]), (loose, [4, 5, 6])):
            np.testing.assert_array_equal(np.array(prim.GetPointsAttr().Get(f)), t.particle_q[f, particles])
    np.testing.assert_allclose(np.array(cloth.GetExtentAttr().Get(1)), [[0, 0, 0.9], [1, 1, 0.9]], rtol=1e-6)


def test_bodies_move_and_static_shapes_do_not(tmp_path):
    t = moving()
    stage = Usd.Stage.Open(str(write_usd(t, tmp_path / "a.usda")))
    lid = UsdGeom.Mesh(stage.GetPrimAtPath("/World/crate/crate_lid"))
    ball = UsdGeom.Mesh(stage.GetPrimAtPath("/World/world/ball"))
    local = np.array(lid.GetPointsAttr().Get())
    assert len(lid.GetFaceVertexCountsAttr().Get()) == 12 and not lid.GetPointsAttr().ValueMightBeTimeVarying()
    for f in range(4):
        matrix = np.array(lid.ComputeLocalToWorldTransform(f))
        angle = 0.4 * f
        turn = np.array([[np.cos(angle), -np.sin(angle), 0], [np.sin(angle), np.cos(angle), 0], [0, 0, 1]])
        expected = (local + [0, 0, 0.5]) @ turn.T + [-1, 0.1 * f, 0.5]
        np.testing.assert_allclose(local @ matrix[:3, :3] + matrix[3, :3], expected, atol=1e-6)
        assert np.array_equal(np.array(ball.ComputeLocalToWorldTransform(f)), np.eye(4))
    np.testing.assert_allclose(lid.GetDisplayColorAttr().Get()[0], np.array([0.0331, 0.1329, 0.3185]), atol=1e-3)  # linear
    floor = np.array(UsdGeom.Mesh(stage.GetPrimAtPath("/World/floor")).GetPointsAttr().Get())
    assert np.ptp(floor[:, 2]) == 0 and np.ptp(floor[:, 0]) > 40
    assert np.cross(floor[1] - floor[0], floor[2] - floor[0])[2] > 0


def test_quaternions_take_the_short_way(tmp_path):
    t = moving()
    t.body_q[2] *= [1, 1, 1, -1, -1, -1, -1]  # the same pose
    stage = Usd.Stage.Open(str(write_usd(t, tmp_path / "a.usda")))
    orient = stage.GetPrimAtPath("/World/crate").GetAttribute("xformOp:orient")
    assert min(orient.Get(f).GetReal() for f in range(4)) > 0


def test_failures_leave_nothing(tmp_path, monkeypatch):
    with pytest.raises(ValueError, match=r"\.usd, \.usda or \.usdc, found '\.obj'"):
        write_usd(moving(), tmp_path / "a.obj")
    with pytest.raises(ValueError, match="no frame"):
        write_usd(Trajectory(fps=1.0), tmp_path / "a.usda")
    import hooke.viewer.usd as module

    monkeypatch.setattr(module.Writer, "shapes", lambda self: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        write_usd(moving(), tmp_path / "a.usda")
    assert os.listdir(tmp_path) == []
