import os

import numpy as np
import pytest
import warp.examples

from hooke.geometry import Mesh, TetMesh
from hooke.importers import FileError, describe, load_mesh, load_tetmesh

ASSETS = os.path.join(os.path.dirname(warp.examples.__file__), "assets")

usd = pytest.importorskip("pxr.Usd")
trimesh = pytest.importorskip("trimesh")
from pxr import Gf, Usd, UsdGeom, Vt  # noqa: E402


def asset(name):
    return os.path.join(ASSETS, name)


CUBE_POINTS = [(x, y, z) for z in (-1, 1) for y in (-1, 1) for x in (-1, 1)]
CUBE_QUADS = [0, 2, 3, 1, 4, 5, 7, 6, 0, 1, 5, 4, 2, 6, 7, 3, 0, 4, 6, 2, 1, 3, 7, 5]


def stage_with(path, meters=1.0, up="Z"):
    stage = Usd.Stage.CreateNew(str(path))
    UsdGeom.SetStageMetersPerUnit(stage, meters)
    UsdGeom.SetStageUpAxis(stage, getattr(UsdGeom.Tokens, up.lower()))
    return stage


def add_cube(stage, path, matrix=None, left_handed=False):
    mesh = UsdGeom.Mesh.Define(stage, path)
    mesh.CreatePointsAttr(Vt.Vec3fArray([Gf.Vec3f(*p) for p in CUBE_POINTS]))
    mesh.CreateFaceVertexCountsAttr([4] * 6)
    order = np.array(CUBE_QUADS).reshape(6, 4)
    mesh.CreateFaceVertexIndicesAttr((order[:, ::-1] if left_handed else order).reshape(-1).tolist())
    if left_handed:
        mesh.CreateOrientationAttr(UsdGeom.Tokens.leftHanded)
    if matrix is not None:
        UsdGeom.Xformable(mesh).AddTransformOp().Set(matrix)
    return mesh


@pytest.mark.parametrize(
    "name, vertices, closed, volume",
    [
        ("bunny.usd", 6102, True, 0.8758),
        ("bear.usd", 1986, True, 98.429),
        ("cube.usd", 8, True, 8.0),
        ("sphere.usd", 114, True, 3.92660),
        ("square_cloth.usd", 2500, False, 0.0),
        ("rocks.usd", 5437, False, None),
    ],
)
def test_assets(name, vertices, closed, volume):
    found = load_mesh(asset(name))
    assert found.vertices.shape == (vertices, 3) and found.vertices.dtype == np.float32
    assert found.indices.dtype == np.int32 and found.indices.ndim == 1 and found.indices.max() < vertices
    assert found.up_axis == "z" and found.meters_per_unit == 1.0 and sum(found.triangle_counts) == len(found.indices) // 3
    mesh = Mesh(found.vertices, found.indices)
    assert mesh.is_watertight == closed and mesh.faces_outward
    if volume is not None:
        assert mesh.mass == pytest.approx(volume, rel=1.0e-4)
    facts = describe(asset(name))
    assert facts["vertices"] == vertices and facts["watertight"] == closed and facts["format"] == "usd"


def test_the_bunny_stands_up():
    """Its file has Y up: about 1.6 tall, ears on top."""
    lying = load_mesh(asset("bunny.usd"), up_axis=None)
    standing = load_mesh(asset("bunny.usd"), up_axis="z")
    assert lying.up_axis == "y"
    assert np.allclose(standing.vertices[:, 2], lying.vertices[:, 1]) and np.allclose(standing.vertices[:, 0], lying.vertices[:, 0])
    assert describe(asset("bunny.usd"))["up_axis"] == "y"


def test_the_cloth_lies_flat():
    """The file turns its plane by a quarter: flat in the world, upright in the frame of its own prim."""
    world = load_mesh(asset("square_cloth.usd"))
    assert np.ptp(world.vertices[:, 2]) < 1.0e-4 and np.allclose(np.ptp(world.vertices, axis=0)[:2], [150.0, 100.0])
    own = Mesh.create_from_usd(asset("square_cloth.usd"), prim="/root/cloth/cloth")
    assert np.ptp(own.vertices[:, 1]) < 1.0e-4 and np.ptp(own.vertices[:, 2]) > 99.0
    facts = describe(asset("square_cloth.usd"))
    assert facts["parts"][0]["open_edges"] == 4 * 49 and facts["parts"][0]["defects"] == []


def test_defects_are_described():
    facts = describe(asset("rocks.usd"))
    text = " ".join(facts["parts"][0]["defects"])
    assert "triangles without area" in text and "duplicate triangles" in text


def test_units_up_axis_and_scale(tmp_path):
    stage = stage_with(tmp_path / "a.usda", meters=0.01, up="Y")
    add_cube(stage, "/cube", Gf.Matrix4d().SetTranslate((0, 300, 0)))
    stage.Save()
    path = tmp_path / "a.usda"
    found = load_mesh(path)
    assert found.meters_per_unit == 0.01
    assert np.allclose(found.vertices.min(axis=0), [-0.01, -0.01, 2.99]) and np.allclose(
        found.vertices.max(axis=0), [0.01, 0.01, 3.01]
    )
    assert np.allclose(load_mesh(path, units="m").vertices.max(axis=0), [1, 1, 301])
    assert np.allclose(load_mesh(path, units=0.1, scale=2.0).vertices.max(axis=0), [0.2, 0.2, 60.2])
    assert np.allclose(load_mesh(path, up_axis="x").vertices.max(axis=0), [3.01, 0.01, 0.01])
    assert np.allclose(load_mesh(path, file_up_axis="z").vertices.max(axis=0), [0.01, 3.01, 0.01])
    facts = describe(path)
    assert facts["meters_per_unit"] == 0.01 and np.allclose(facts["bounds"][1], [0.01, 3.01, 0.01])
    for options, words in (
        ({"units": "furlong"}, "furlong"),
        ({"up_axis": "w"}, "up axis"),
        ({"scale": -1.0}, "scale"),
        ({"units": 0}, "units"),
    ):
        with pytest.raises(ValueError, match=words):
            load_mesh(path, **options)


@pytest.mark.parametrize("left_handed", [False, True])
@pytest.mark.parametrize("mirrored", [False, True])
def test_faces_point_outward(tmp_path, left_handed, mirrored):
    stage = stage_with(tmp_path / "a.usda")
    matrix = Gf.Matrix4d().SetScale((-2 if mirrored else 2, 1, 1))
    add_cube(stage, "/cube", matrix, left_handed)
    stage.Save()
    found = load_mesh(tmp_path / "a.usda")
    mesh = Mesh(found.vertices, found.indices)
    assert len(found.indices) == 36 and mesh.is_watertight and mesh.faces_outward and mesh.mass == pytest.approx(16.0)


def test_parts_are_joined_or_chosen(tmp_path):
    path = tmp_path / "two.usdc"
    stage = stage_with(path)
    UsdGeom.Xform.Define(stage, "/world/left").AddTranslateOp().Set((-5, 0, 0))
    add_cube(stage, "/world/left/cube")
    add_cube(stage, "/world/right", Gf.Matrix4d().SetTranslate((5, 0, 0)))
    stage.Save()
    both = load_mesh(path)
    assert both.parts == ["/world/left/cube", "/world/right"] and both.triangle_counts == [12, 12]
    assert np.allclose(both.vertices.min(axis=0), [-6, -1, -1]) and np.allclose(both.vertices.max(axis=0), [6, 1, 1])
    assert Mesh(both.vertices, both.indices).mass == pytest.approx(16.0)
    left = load_mesh(path, prim="/world/left")
    assert left.parts == ["/world/left/cube"] and left.vertices[:, 0].max() == -4.0
    own = Mesh.create_from_usd(str(path), prim="/world/left/cube")
    assert own.vertices[:, 0].max() == 1.0
    assert np.array_equal(Mesh.create_from_usd(stage.GetPrimAtPath("/world/left/cube")).vertices, own.vertices)
    assert np.array_equal(Mesh.create_from_usd(prim=stage.GetPrimAtPath("/world/left/cube")).vertices, own.vertices)
    assert Mesh.create_from_usd(stage).vertices[:, 0].max() == 6.0
    with pytest.raises(FileError, match=r"no prim /world/middle; its meshes are /world/left/cube, /world/right"):
        load_mesh(path, prim="/world/middle")
    with pytest.raises(FileError, match="not the path of a prim"):
        load_mesh(path, prim="left cube")
    with pytest.raises(TypeError, match=r"Usd\.Prim"):
        Mesh.create_from_usd()


def test_instances_are_read(tmp_path):
    path = tmp_path / "instances.usda"
    stage = stage_with(path)
    UsdGeom.Xform.Define(stage, "/prototype")
    add_cube(stage, "/prototype/cube")
    for k in range(2):
        copy = UsdGeom.Xform.Define(stage, f"/copy_{k}")
        copy.AddTranslateOp().Set((10.0 * (k + 1), 0, 0))
        copy.GetPrim().GetReferences().AddInternalReference("/prototype")
        copy.GetPrim().SetInstanceable(True)
    stage.Save()
    found = load_mesh(path)
    assert len(found.parts) == 3 and found.vertices[:, 0].max() == 21.0


@pytest.mark.parametrize("ending", ["obj", "stl", "ply", "off", "glb"])
def test_other_formats(tmp_path, ending):
    path = tmp_path / f"cube.{ending}"
    trimesh.creation.box((2.0, 4.0, 6.0)).export(path)
    found = load_mesh(path)
    assert len(found.vertices) == 8 and len(found.indices) == 36
    assert Mesh(found.vertices, found.indices).is_watertight
    tall = [2.0, 6.0, 4.0] if ending == "glb" else [2.0, 4.0, 6.0]  # glTF has Y up
    assert np.allclose(np.ptp(found.vertices, axis=0), tall)
    inches = Mesh.create_from_file(path, units="in", file_up_axis="y")
    assert np.allclose(np.ptp(inches.vertices, axis=0), np.array([2.0, 6.0, 4.0]) * 0.0254)
    assert inches.faces_outward and inches.mass == pytest.approx(48.0 * 0.0254**3, rel=1.0e-5)
    facts = describe(path)
    assert facts["watertight"] and facts["triangles"] == 12 and facts["format"] == ending
    assert facts["up_axis"] == ("y" if ending == "glb" else None)


def test_stl_corners_become_vertices_only_if_wanted(tmp_path):
    path = tmp_path / "cube.stl"
    trimesh.creation.box((1.0, 1.0, 1.0)).export(path)
    assert len(load_mesh(path, weld_vertices=False).vertices) == 36


def test_obj_with_quads_groups_and_texture_seams(tmp_path):
    path = tmp_path / "strip.obj"
    path.write_text(
        "o strip\nv 0 0 0\nv 1 0 0\nv 2 0 0\nv 0 1 0\nv 1 1 0\nv 2 1 0\nvt 0 0\nvt 1 1\nf 1/1 2/1 5/1 4/1\nf 2/2 3/2 6/2 5/2\n"
    )
    found = load_mesh(path)
    assert len(found.vertices) == 6 and len(found.indices) == 12


def write(path, text):
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def test_unusable_files_say_why(tmp_path):
    def refused(path, words, **options):
        with pytest.raises(FileError, match=words) as caught:
            load_mesh(path, **options)
        assert str(path) in str(caught.value) and caught.value.path == str(path)

    refused(tmp_path / "none.usd", "no such file")
    refused(tmp_path, "no such file")
    refused(write(tmp_path / "zero.obj", ""), "empty")
    refused(write(tmp_path / "a.xyzw", "hello"), "unknown ending '.xyzw'; use one of .usd")
    refused(write(tmp_path / "noending", "hello"), "unknown ending")
    refused(write(tmp_path / "text.usd", "not a usd file"), "not a readable USD file")
    refused(write(tmp_path / "text.usda", "#usda 1.0\ndef Mesh {{{"), "not a readable USD file")
    refused(write(tmp_path / "text.glb", b"\x00\x01\x02"), "not a readable GLB file")
    refused(write(tmp_path / "points.obj", "v 0 0 0\nv 1 0 0\n"), "no triangle mesh|not a readable")
    refused(write(tmp_path / "index.obj", "v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 9\n"), r"index\.obj")
    refused(write(tmp_path / "index.off", "OFF\n3 1 0\n0 0 0\n1 0 0\n0 1 0\n3 0 1 7\n"), r"0 to 2|not a readable")
    refused(write(tmp_path / "nan.off", "OFF\n3 1 0\n0 0 0\n1 nan 0\n0 1 0\n3 0 1 2\n"), "vertex 1 is not finite")
    refused(asset("cube.usd"), "there is no prim /x", prim="/x")
    path = tmp_path / "named.off"
    trimesh.creation.box((1, 1, 1)).export(path)
    refused(path, "there is no part 'lid'; its parts are", prim="lid")


@pytest.mark.parametrize(
    "attributes, words",
    [
        (
            "int[] faceVertexCounts = [3]\nint[] faceVertexIndices = [0, 1, 7]\npoint3f[] points = [(0,0,0), (1,0,0), (0,1,0)]",
            r"0 to 2",
        ),
        (
            "int[] faceVertexCounts = [3, 3]\nint[] faceVertexIndices = [0, 1, 2]\npoint3f[] points = [(0,0,0), (1,0,0), (0,1,0)]",
            "need 6 corners",
        ),
        ("int[] faceVertexCounts = []\nint[] faceVertexIndices = []\npoint3f[] points = [(0,0,0)]", "is empty"),
        ("point3f[] points = []", "is empty"),
        (
            "int[] faceVertexCounts = [3]\nint[] faceVertexIndices = [0, 1, 2]\npoint3f[] points = [(0,0,0), (1,0,0), (0,nan,0)]",
            "vertex 2 is not finite",
        ),
    ],
)
def test_damaged_usd_meshes_are_named(tmp_path, attributes, words):
    path = write(tmp_path / "bad.usda", f'#usda 1.0\ndef Mesh "thing"\n{{\n{attributes}\n}}\n')
    with pytest.raises(FileError, match=words) as caught:
        load_mesh(path)
    assert "/thing" in str(caught.value)


def test_a_usd_file_without_meshes(tmp_path):
    path = write(tmp_path / "empty.usda", '#usda 1.0\ndef Xform "root"\n{\n}\n')
    with pytest.raises(FileError, match=r"holds no UsdGeom\.Mesh at all"):
        load_mesh(path)


def tet_stage(path, meters=1.0):
    stage = stage_with(path, meters, "Y")
    mesh = UsdGeom.TetMesh.Define(stage, "/body/tets")
    mesh.CreatePointsAttr([(0, 0, 0), (1, 0, 0), (0, 1, 0), (0, 0, 1), (1, 1, 1)])
    mesh.CreateTetVertexIndicesAttr([Gf.Vec4i(0, 1, 2, 3), Gf.Vec4i(1, 2, 3, 4)])
    UsdGeom.Xformable(mesh).AddTranslateOp().Set((0, 10, 0))
    stage.Save()
    return stage


def test_tetrahedra(tmp_path):
    path = tmp_path / "tets.usda"
    stage = tet_stage(path, meters=0.1)
    mesh = load_tetmesh(path)
    assert mesh.tet_count == 2 and mesh.volume == pytest.approx((1.0 / 6.0 + 1.0 / 3.0) * 1.0e-3, rel=1.0e-5)
    assert np.allclose(mesh.vertices[:, 2].min(), 1.0)
    assert TetMesh.create_from_file(path, units="m").volume == pytest.approx(0.5, rel=1.0e-5)
    for own in (TetMesh.create_from_usd(stage.GetPrimAtPath("/body/tets")), TetMesh.create_from_usd(str(path))):
        assert np.allclose(own.vertices.max(axis=0), [0.1, 0.1, 0.1])
    with pytest.raises(FileError, match=r"no UsdGeom\.TetMesh"):
        load_tetmesh(asset("cube.usd"))
    with pytest.raises(FileError, match=r"cannot read tetrahedra from \.obj"):
        load_tetmesh(write(tmp_path / "a.obj", "v 0 0 0\n"))


def test_a_flat_tetrahedron_is_named_with_its_file(tmp_path):
    path = tmp_path / "flat.usda"
    stage = tet_stage(path)
    UsdGeom.TetMesh(stage.GetPrimAtPath("/body/tets")).GetPointsAttr().Set([(0, 0, 0), (1, 0, 0), (0, 1, 0), (1, 1, 0), (1, 1, 1)])
    stage.Save()
    with pytest.raises(FileError, match=r"flat.usda: mesh '/body/tets'.*no volume \(first: 0"):
        load_tetmesh(path)
