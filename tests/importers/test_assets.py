import pytest

from tests.importers.assets import assets, load, run

NEEDS = {".urdf": "trimesh", ".xml": "mujoco"}


@pytest.mark.slow
@pytest.mark.parametrize("name, path", assets(), ids=[name for name, _ in assets()])
def test_asset_loads_and_runs(name, path):
    pytest.importorskip(NEEDS.get(path.suffix, "pxr.UsdPhysics"))
    builder, _ = load(path)
    assert builder.body_count + builder.shape_count > 0 or "tetmesh" in name or "mpm" in name
    assert run(builder)[1]


def test_assets_of_warp_are_found():
    assert any(name.startswith("warp/") for name, _ in assets())
