import numpy as np
import pytest

from tests.importers.assets import assets, load, run

NEEDS = {".urdf": "trimesh", ".xml": "mujoco"}


@pytest.mark.slow
@pytest.mark.parametrize("name, path", assets(), ids=[name for name, _ in assets()])
def test_asset_loads_and_runs(name, path):
    pytest.importorskip(NEEDS.get(path.suffix, "pxr.UsdPhysics"))
    builder, _ = load(path)
    assert builder.body_count + builder.shape_count > 0 or "tetmesh" in name or "mpm" in name
    solver, finite = run(builder)
    assert finite and (not solver.startswith("none") or name.endswith("humanoid.urdf"))


def test_assets_of_warp_are_found():
    assert any(name.startswith("warp/") for name, _ in assets())


@pytest.mark.parametrize("name, path", [row for row in assets() if row[1].suffix in (".urdf", ".xml")] or [("none", None)])
def test_mass_and_inertia_of_assets_are_those_of_mujoco(name, path):
    mujoco = pytest.importorskip("mujoco")
    if path is None:
        pytest.skip("no URDF or MJCF file in the installed wheels (HOOKE_ASSETS names folders)")
    text = path.read_text()
    if path.suffix == ".urdf":
        start = text.index(">", text.index("<robot")) + 1
        text = text[:start] + '<mujoco><compiler fusestatic="false" balanceinertia="false"/></mujoco>' + text[start:]
    spec = mujoco.MjSpec.from_string(text)
    for sensor in list(spec.sensors):
        spec.delete(sensor)
    try:
        m = spec.compile()
    except ValueError as error:
        pytest.skip(f"mujoco does not read it: {error}")
    builder, _ = load(path)
    compared = 0
    for index, label in enumerate(builder.body_label):
        body = mujoco.mj_name2id(m, mujoco.mjtObj.mjOBJ_BODY, label)
        if body <= 0:
            continue
        turn = np.zeros(9)
        mujoco.mju_quat2Mat(turn, m.body_iquat[body])
        turn = turn.reshape(3, 3)
        inertia = turn @ np.diag(m.body_inertia[body]) @ turn.T
        found = np.reshape(builder.body_inertia[index], (3, 3))
        assert np.isclose(builder.body_mass[index], m.body_mass[body], rtol=1e-6), label
        assert m.body_mass[body] == 0.0 or np.allclose(builder.body_com[index], m.body_ipos[body], atol=1e-6), label
        assert np.allclose(found, inertia, rtol=0.0, atol=1e-6 * max(np.abs(inertia).max(), 1e-9)), label
        compared += 1
    assert compared >= 2
