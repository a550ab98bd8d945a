import numpy as np
import pytest

import hooke
from hooke.importers import FileError
from tests.importers.robots import URDF, counts, from_text

TWO = """<robot name="two"><link name="a"/>{}
<joint name="j" type="{}"><parent link="a"/><child link="b"/>{}</joint></robot>"""
BODY = '<link name="b"><inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1"/></inertial></link>'


def two(kind="revolute", extra="", body=BODY):
    return TWO.format(body, kind, extra)


BAD = {
    "cut off": (URDF[:900], "line .*cut off"),
    "no mass": (URDF.replace('<mass value="3"/>', ""), "line 3.*<mass> is missing"),
    "nan": (URDF.replace('value="3"', 'value="nan"'), "line 3, <mass>: value.*'nan'"),
    "negative mass": (URDF.replace('value="3"', 'value="-3"'), "line 3.*mass -3"),
    "unknown link": (URDF.replace('child link="slider"', 'child link="none"'), "'reach'.*'none' does not exist"),
    "unknown type": (two("screw"), "unknown type 'screw'"),
    "two parents": (two(extra="").replace("</robot>", '<joint name="k" type="fixed"><parent link="a"/><child link="b"/></joint></robot>'), "'b' is the child of joint 'j' already"),  # noqa: E501
    "cycle": (two(extra="").replace("</robot>", '<joint name="k" type="fixed"><parent link="b"/><child link="a"/></joint></robot>'), "cycle: "),  # noqa: E501
    "same name": (two().replace("</robot>", '<link name="c"/><joint name="j" type="fixed"><parent link="b"/><child link="c"/></joint></robot>'), "called 'j'"),  # noqa: E501
    "zero axis": (two(extra='<axis xyz="0 0 0"/>'), "axis"),
    "two links of a name": (two(body=BODY + '<link name="a"/>'), "another link 'a'"),
    "no shape": (two(body=BODY.replace("</link>", "<collision><geometry><prism/></geometry></collision></link>")), "unknown shape"),
    "limits": (two(extra='<limit lower="1" upper="-1"/>'), "above upper"),
    "mimic of nothing": (two(extra='<mimic joint="x"/>'), "'x', which does not exist"),
    "mimic of itself": (two(extra='<mimic joint="j"/>'), "mimics itself"),
    "not a robot": ("<mujoco/>", "<robot>"),
    "words": (two(extra='<axis xyz="a b c"/>'), "expected 3 finite numbers, found 'a b c'"),
}  # fmt: skip


@pytest.mark.parametrize("case", BAD)
def test_bad_files_name_the_line_and_leave_the_builder_alone(tmp_path, case):
    text, message = BAD[case]
    builder = hooke.ModelBuilder()
    builder.add_shape_sphere(builder.add_body(mass=1.0))
    before = counts(builder)
    with pytest.raises(FileError, match=message):
        builder.add_urdf(text)
    assert counts(builder) == before


def test_missing_file(tmp_path):
    with pytest.raises(FileError, match="no such file"):
        hooke.ModelBuilder().add_urdf(str(tmp_path / "none.urdf"))


@pytest.fixture
def packaged(tmp_path):
    """A robot with meshes of a package and one that is missing."""
    trimesh = pytest.importorskip("trimesh")
    (tmp_path / "ws" / "arm_pkg" / "meshes").mkdir(parents=True)
    (tmp_path / "ws" / "arm_pkg" / "urdf").mkdir()
    trimesh.creation.box((1.0, 2.0, 3.0)).export(tmp_path / "ws" / "arm_pkg" / "meshes" / "box.stl")
    mesh = '<{0}><geometry><mesh filename="package://arm_pkg/meshes/{1}" scale="0.1 0.1 0.1"/></geometry></{0}>'
    shapes = mesh.format("visual", "box.stl") + mesh.format("collision", "box.stl") + 2 * mesh.format("visual", "gone.stl")
    path = tmp_path / "ws" / "arm_pkg" / "urdf" / "arm.urdf"
    path.write_text(two(body=BODY.replace("</link>", shapes + "</link>")))
    return path


def test_meshes_of_packages(packaged):
    builder = hooke.ModelBuilder()
    with pytest.warns(UserWarning, match=r"left out: package://arm_pkg/meshes/gone.stl \(line") as found:
        builder.add_urdf(packaged)
    assert len(found) == 1 and builder.shape_count == 2 and np.allclose(builder.shape_scale[0], 0.1)
    flags = hooke.ShapeFlags
    assert builder.shape_flags[0] == flags.VISIBLE and not builder.shape_flags[1] & flags.VISIBLE
    moved = packaged.parents[3] / "elsewhere.urdf"
    moved.write_text(packaged.read_text())
    other = hooke.ModelBuilder()
    with pytest.warns(UserWarning, match="gone.stl"):
        other.add_urdf(moved, package_dirs=str(packaged.parents[2]), parse_visuals_as_colliders=True)
    assert other.shape_flags[0] & flags.COLLIDE_SHAPES


def test_mesh_with_a_vertex_that_is_not_finite(packaged):
    mesh = packaged.parent.parent / "meshes" / "box.obj"
    mesh.write_text("v 0 0 nan\nv 1 0 0\nv 0 1 0\nf 1 2 3\n")
    packaged.write_text(packaged.read_text().replace("box.stl", "box.obj"))
    builder = hooke.ModelBuilder()
    with pytest.raises(FileError, match="line .*not finite"):
        builder.add_urdf(packaged)
    assert builder.body_count == 0


def test_a_mesh_in_millimetres_is_doubted(packaged):
    packaged.write_text(packaged.read_text().replace('scale="0.1 0.1 0.1"', ""))
    trimesh = pytest.importorskip("trimesh")
    trimesh.creation.box((2000.0, 1.0, 1.0)).export(packaged.parent.parent / "meshes" / "box.stl")
    with pytest.warns(UserWarning, match="is its unit right"):
        hooke.ModelBuilder().add_urdf(packaged)


def test_unknown_elements_are_reported(tmp_path):
    with pytest.warns(UserWarning, match=r"unknown elements left out: <surprise> in line 1"):
        hooke.ModelBuilder().add_urdf(two().replace("<link", "<surprise/><link", 1))


def test_mimics_chain(tmp_path):
    chain = "".join(
        f'<link name="l{i}"/><joint name="j{i}" type="continuous"><parent link="b"/><child link="l{i}"/>{m}</joint>'
        for i, m in enumerate(('<mimic joint="j" multiplier="2" offset="0.5"/>', '<mimic joint="j0" multiplier="-1" offset="1"/>'))
    )
    builder = from_text(tmp_path, "urdf", two().replace("</robot>", chain + "</robot>"))
    assert list(builder.joint_mimic_joint)[2:] == [1, 1]
    assert np.allclose(np.asarray(builder.joint_mimic_coeffs)[2:], [(0.5, 2.0), (0.5, -2.0)])


def test_massless_roots_and_fixed_joints(tmp_path):
    text = two("fixed", '<origin xyz="0 0 1"/>')
    fixed = from_text(tmp_path, "urdf", text)
    assert fixed.body_count == 2 and list(fixed.joint_type) == [hooke.JointType.FIXED] * 2
    floating = from_text(tmp_path, "urdf", text, floating=True)  # a root without mass cannot move by itself
    assert floating.body_count == 1 and floating.body_mass[0] == 1.0 and np.allclose(floating.body_com[0], (0, 0, 1))
    collapsed = from_text(tmp_path, "urdf", text, collapse_fixed_joints=True)
    assert collapsed.body_count == 1 and collapsed.joint_count == 1
    held = from_text(tmp_path, "urdf", two("continuous"), collapse_massless_fixed_root=True)
    assert held.body_count == 1 and held.joint_parent[0] == -1 and held.joint_type[0] == hooke.JointType.REVOLUTE


def test_masses_of_shapes_where_there_is_no_inertial(tmp_path):
    text = two(body='<link name="b"><collision><geometry><box size="1 1 1"/></geometry></collision></link>')
    assert np.isclose(from_text(tmp_path, "urdf", text).body_mass[1], 1000.0)
    arm = from_text(tmp_path, "urdf", URDF, ignore_inertial_definitions=True)
    assert np.isclose(arm.body_mass[0], 24.0)


def test_options(tmp_path):
    scaled = from_text(tmp_path, "urdf", URDF, scale=2.0)
    assert np.allclose(scaled.shape_scale[0], (0.2, 0.3, 0.4)) and np.isclose(scaled.joint_limit_upper[1], 0.4)
    assert scaled.body_mass[0] == 3.0 and np.allclose(np.asarray(scaled.body_q)[1, :3], (0.2, 0.0, 0.4), atol=1e-6)
    drive = from_text(tmp_path, "urdf", URDF, joint_damping_mode="drive", force_position_velocity_actuation=True)
    assert np.isclose(drive.joint_target_kd[0], 0.3) and drive.joint_damping[0] == 0.0
    assert set(drive.joint_target_mode) == {hooke.JointTargetMode.POSITION_VELOCITY}
    apart = from_text(tmp_path, "urdf", URDF, enable_self_collisions=False)
    assert len(apart.shape_collision_filter_pairs) == 3
    rail = from_text(tmp_path, "urdf", URDF, base_joint={"joint_type": hooke.JointType.PRISMATIC, "linear_axes": ["X"]})
    assert rail.joint_type[0] == hooke.JointType.PRISMATIC
    with pytest.raises(ValueError, match="exclude each other"):
        from_text(tmp_path, "urdf", URDF, floating=True, base_joint={})
    with pytest.raises(ValueError, match="parent_body"):
        from_text(tmp_path, "urdf", URDF, parent_body=3)
    with pytest.raises(ValueError, match="joint_damping_mode"):
        from_text(tmp_path, "urdf", URDF, joint_damping_mode="both")
