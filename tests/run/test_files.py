"""Scenes from mesh files: placing, scaling, pins, materials, and what is refused."""

import numpy as np
import pytest

import hooke
from hooke.importers import FileError
from hooke.model.material import ClothMaterial, RigidMaterial, SoftMaterial, parse_material
from hooke.scenes.from_files import Part, parse_part, pin_particles, scene_from_files


def write_obj(path, vertices, triangles):
    lines = [f"v {x} {y} {z}" for x, y, z in vertices] + [f"f {i + 1} {j + 1} {k + 1}" for i, j, k in triangles]
    path.write_text("\n".join(lines) + "\n")
    return path


@pytest.fixture
def sheet(tmp_path):
    """A square of 2 x 2 units in the plane z = 1."""
    x, y = np.meshgrid(np.linspace(-1, 1, 5), np.linspace(-1, 1, 5))
    vertices = np.stack([x.ravel(), y.ravel(), np.ones(25)], axis=1)
    cells = [(i + 5 * j) for j in range(4) for i in range(4)]
    return write_obj(tmp_path / "sheet.obj", vertices, [t for c in cells for t in ((c, c + 1, c + 5), (c + 1, c + 6, c + 5))])


@pytest.fixture
def block(tmp_path):
    """A closed box of 1 x 1 x 0.5 units around the origin."""
    v = np.array([(x, y, z) for z in (-0.25, 0.25) for y in (-0.5, 0.5) for x in (-0.5, 0.5)])
    quads = [(0, 2, 3, 1), (4, 5, 7, 6), (0, 1, 5, 4), (2, 6, 7, 3), (0, 4, 6, 2), (1, 3, 7, 5)]
    return write_obj(tmp_path / "block.obj", v, [t for a, b, c, d in quads for t in ((a, b, c), (a, c, d))])


def test_parts_are_read_from_text():
    part = parse_part("some/cloth.usd:cloth")
    assert part.path.name == "cloth.usd" and part.role == "cloth"
    for wrong in ("cloth.usd", "cloth.usd:", "cloth.usd:hat"):
        with pytest.raises(ValueError, match="cloth, soft, rigid, obstacle"):
            parse_part(wrong)
    with pytest.raises(ValueError, match="scale"):
        Part("a.obj", "cloth", scale=-1.0)


def test_scale_rotate_place_act_about_the_middle(sheet):
    scene = scene_from_files([Part(sheet, "cloth", scale=0.5, rotate=(90.0, 0.0, 0.0), place=(1.0, 2.0, 3.0))])
    q = scene.builder.particle_q.array
    assert np.allclose(q.mean(axis=0), (1.0, 2.0, 3.0)) and np.allclose(np.ptp(q, axis=0), (1.0, 0.0, 1.0), atol=1e-9)
    unplaced = scene_from_files([Part(sheet, "cloth", scale=0.5)]).builder.particle_q.array
    assert np.allclose(unplaced.mean(axis=0), (0.0, 0.0, 0.5))


def test_rotations_follow_each_other_about_fixed_axes(block):
    scene = scene_from_files([Part(block, "soft", rotate=(90.0, 0.0, 90.0), place=(0.0, 0.0, 0.0))])
    assert np.allclose(np.ptp(scene.builder.particle_q.array, axis=0), (0.5, 1.0, 1.0), atol=1e-6)


def test_fit_puts_the_cloth_over_the_obstacle(sheet, block):
    scene = scene_from_files([Part(sheet, "cloth", scale="fit"), Part(block, "obstacle", place=(3.0, 0.0, 1.0))])
    q = scene.builder.particle_q.array
    assert np.allclose(np.ptp(q, axis=0)[:2], 1.6) and np.allclose(q.mean(axis=0)[:2], (3.0, 0.0))
    assert 1.25 < q[:, 2].min() < 1.4
    assert scene.builder.shape_label == ["block", "ground_plane"]
    assert scene.builder.shape_transform[1][2] == pytest.approx(0.75)  # the ground is at the lowest point of the obstacle


def test_units_and_up_axis_of_files_that_do_not_say(sheet):
    q = scene_from_files([Part(sheet, "cloth", up="y", units="cm")]).builder.particle_q.array
    assert np.allclose(np.ptp(q, axis=0), (0.02, 0.0, 0.02), atol=1e-9)


def test_a_closed_surface_becomes_a_soft_body(block):
    scene = scene_from_files([Part(block, "soft", resolution=6)], material="jelly")
    builder = scene.builder
    model = builder.finalize(device="cpu")
    volume = 1.0 / (6.0 * np.linalg.det(model.tet_poses.numpy()))
    assert builder.tet_count > 100 and volume.sum() == pytest.approx(0.5, rel=0.02) and (volume > 0.0).all()
    assert np.sum(builder.particle_mass.array) == pytest.approx(0.5 * 1000.0, rel=0.02)


def test_mass_of_a_cloth_is_its_weight(sheet):
    builder = scene_from_files([Part(sheet, "cloth")], material="weight=0.3").builder
    assert np.sum(builder.particle_mass.array) == pytest.approx(4.0 * 0.3)


def test_pins_fix_particles(sheet):
    builder = scene_from_files([Part(sheet, "cloth")], pins=["box:-2,-2,0,-0.9,2,2", "plane:1,0,0,-0.9"]).builder
    x = builder.particle_q.array[:, 0]
    assert np.array_equal(builder.particle_mass.array == 0.0, np.abs(x) > 0.9)
    for wrong in ("box:1,2", "ball:0,0,0,1", "box:a,b,c,d,e,f"):
        with pytest.raises(ValueError, match="box:x0"):
            pin_particles(builder, wrong)
    with pytest.raises(ValueError, match="holds no particle"):
        pin_particles(builder, "box:9,9,9,10,10,10")
    with pytest.raises(ValueError, match="every particle"):
        scene_from_files([Part(sheet, "cloth")], pins=["plane:0,0,1,5"])


def test_bad_meshes_are_errors_or_counted_repairs(tmp_path, sheet):
    with pytest.raises(ValueError, match="nothing moves"):
        scene_from_files([Part(sheet, "obstacle")])
    with pytest.raises(FileError, match="no such file"):
        scene_from_files([Part(tmp_path / "missing.obj", "cloth")])
    v = [(0, 0, 0), (1, 0, 0), (0, 1, 0), (1, 1, 0)]
    flat = write_obj(tmp_path / "flat.obj", v, [(0, 1, 1)])
    with pytest.warns(UserWarning, match="1 triangles without area"), pytest.raises(FileError, match="no triangle"):
        scene_from_files([Part(flat, "cloth")])
    open_sheet = Part(sheet, "soft")
    with pytest.raises(FileError, match="inside the surface"):
        scene_from_files([open_sheet])
    v[2] = (0, float("nan"), 0)
    with pytest.raises(FileError, match="finite"):
        scene_from_files([Part(write_obj(tmp_path / "nan.obj", v, [(0, 1, 2)]), "cloth")])


@pytest.mark.parametrize("hull", [False, True])
def test_a_rigid_body_lies_where_the_file_has_it(block, hull):
    builder = scene_from_files(
        [Part(block, "rigid", rotate=(0.0, 90.0, 0.0), place=(1.0, 2.0, 3.0), hull=hull)], material="oak"
    ).builder
    assert builder.body_q.array[0, :3] == pytest.approx((1.0, 2.0, 3.0)) and builder.body_mass.array[0] == pytest.approx(350.0)
    assert builder.body_inertia.array[0][2, 2] == pytest.approx(350.0 * (0.5**2 + 1.0) / 12.0)
    assert builder.shape_transform[1][2] == pytest.approx(2.5)  # the ground is below the lowest point


def test_a_rigid_body_of_a_file_stays_on_the_ground(block):
    result = hooke.run(scene_from_files([Part(block, "rigid")]), seconds=0.2)
    assert np.abs(result.trajectory.body_q[-1] - result.trajectory.body_q[0]).max() < 1e-5
    assert result.summary["contacts"] == 4 and result.summary["max_penetration_m"] < 1e-6


def test_a_rigid_body_needs_a_volume(sheet):
    with pytest.raises(FileError, match="not closed.*--hull"):
        scene_from_files([Part(sheet, "rigid")])


def test_materials_are_read_from_text():
    assert parse_material("oak,mu=0.2", "rigid") == RigidMaterial(density=700.0, mu=0.2)
    assert parse_material(None, "cloth") == ClothMaterial() and parse_material(None, "soft") == SoftMaterial()
    assert parse_material("silk,mu=0.1", "cloth").mu == 0.1 and parse_material("silk,mu=0.1", "cloth").weight == 0.06
    sheet = parse_material("ke=400,ka=100,weight=0.2", "cloth").elements(0.1)
    assert sheet["tri_ke"] == pytest.approx(400.0) and sheet["tri_ka"] == pytest.approx(100.0) and sheet["density"] == 0.2
    solid = parse_material("E=1e6,nu=0.25,density=1100,thickness=2e-3", "cloth")
    assert solid.weight == pytest.approx(2.2) and solid.stretch == pytest.approx(2000.0)
    assert solid.bending == pytest.approx(1e6 * 8e-9 / (12.0 * (1.0 - 0.0625)))
    soft = parse_material("k_mu=1e4,k_lambda=4e4", "soft").elements()
    assert soft["k_mu"] == pytest.approx(1e4) and soft["k_lambda"] == pytest.approx(4e4)


@pytest.mark.parametrize(
    "text, role, message",
    [
        ("tin", "cloth", "presets: cotton"),
        ("cotton", "soft", "presets: jelly"),
        ("weight=heavy", "cloth", "number"),
        ("weight=-1", "cloth", "weight"),
        ("stretch=inf", "cloth", "stretch"),
        ("nu=0.5", "soft", "nu"),
        ("E=1e5", "cloth", "go together"),
        ("colour=1", "soft", "unknown constant"),
        ("density=0", "rigid", "density"),
        ("E=1e6", "rigid", "unknown constant 'E' of a rigid material; expected density, mu, restitution$"),
        ("silk", "rigid", "presets: oak"),
    ],
)
def test_wrong_materials_are_refused(text, role, message):
    with pytest.raises(ValueError, match=message):
        parse_material(text, role)
