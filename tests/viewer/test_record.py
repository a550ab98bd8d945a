import json
import os
import zipfile
from types import SimpleNamespace

import numpy as np
import pytest
import warp as wp

from hooke.viewer import Trajectory
from hooke.viewer.files import replacing

from .fake import IDENTITY, model, moving, state


def test_round_trip(tmp_path):
    a = moving()
    b = Trajectory.load(a.save(tmp_path / "deep" / "a.npz"))
    assert (b.frame_count, b.fps, b.up_axis, b.body_label) == (4, 30.0, 2, ["crate"])
    for name in ("times", "particle_q", "body_q", "particle_radius", "triangles", "springs", "points"):
        np.testing.assert_array_equal(getattr(a, name), getattr(b, name), err_msg=name)
    assert b.particle_q.dtype == b.body_q.dtype == np.float32
    assert b.info == {"scene": "test", "dt": 0.5, "table": [1, 2.5, None]}
    assert [s.label for s in b.shapes] == ["crate/lid", "ball"]
    for s, t in zip(a.shapes, b.shapes):
        assert (s.body, s.round) == (t.body, t.round)
        np.testing.assert_array_equal(s.transform, t.transform)
        np.testing.assert_array_equal(s.vertices, t.vertices)
        np.testing.assert_array_equal(s.triangles, t.triangles)
    assert b.shapes[0].color == pytest.approx((0.2, 0.4, 0.6)) and b.shapes[1].color is None
    assert b.planes[0].label == "floor" and b.planes[0].normal.tolist() == [0, 0, 1]
    b.append(state(np.zeros((7, 3)), [IDENTITY]), 1.0)  # a loaded recording goes on
    assert b.frame_count == 5 and np.array_equal(b.particle_q[:4], a.particle_q)


def test_empty_recording_round_trip(tmp_path):
    b = Trajectory.load(Trajectory(fps=1.0).save(tmp_path / "a.npz"))
    assert b.frame_count == 0 and b.particle_q.shape == (0, 0, 3) and b.body_q.shape == (0, 0, 7)


def test_frames_are_copies_and_views_survive_growth():
    t = Trajectory(fps=60.0, particle_radius=np.zeros(1, np.float32))
    shared = state([(0, 0, 0)])
    t.append(shared, 0.0)
    shared.particle_q.fill_(7.0)
    early = t.particle_q
    for f in range(1, 100):
        t.append(state([(f, 0, 0)]), float(f))
    assert early[0, 0, 0] == 0.0
    np.testing.assert_array_equal(t.particle_q[:, 0, 0], np.arange(100))


def test_recording_reserves_its_frames():
    t = Trajectory.from_model(model(position=np.zeros((3, 3))), fps=60.0, frames=50)
    t.append(state(np.zeros((3, 3))), 0.0)
    block = t.particle_q.base
    for f in range(1, 50):
        t.append(state(np.zeros((3, 3))), float(f))
    assert t.particle_q.base is block


def test_what_is_drawn():
    # 0-3: two triangles; 4-5: spring with a fixed end; 6: loose; 7: loose, not active; the spring 0-1 lies on the cloth
    m = model(
        position=np.zeros((8, 3)),
        flags=[1, 1, 0, 1, 0, 1, 1, 0],
        triangles=[(0, 1, 2), (0, 2, 3)],
        springs=[(0, 1), (4, 5), (3, 5)],
        bodies=1,
    )
    t = Trajectory.from_model(m)
    assert t.springs.tolist() == [[4, 5], [3, 5]]
    assert t.points.tolist() == [4, 5, 6]
    assert t.body_label == ["body_0"] and len(t.triangles) == 2


def test_surface_of_tetrahedra_faces_outward_and_appears_once():
    cube = np.array([(0, 0, 0), (1, 0, 0), (0, 1, 0), (0, 0, 1), (1, 1, 1)], float)
    tets = [(0, 1, 2, 3), (1, 2, 3, 4)]
    for k in (0, 1):  # either orientation of a tetrahedron
        tets[k] = tets[k][:2] + tets[k][3:1:-1]
        t = Trajectory.from_model(model(position=cube, tetrahedra=tets, triangles=[(2, 1, 0)]))
        assert len(t.triangles) == 6  # five boundary faces, one of them given; and not the shared one
        assert sorted((0, 1, 2)) in [sorted(f) for f in t.triangles.tolist()]
        added = t.triangles[1:]
        p = cube[added]
        normal = np.cross(p[:, 1] - p[:, 0], p[:, 2] - p[:, 0])
        assert (np.einsum("ij,ij->i", normal, p.mean(axis=1) - cube.mean(axis=0)) > 0).all()
        assert len(t.points) == 0


def test_real_shapes():
    corners = np.array([(0, 0, 0), (1, 0, 0), (0, 1, 0), (0, 0, 1)], np.float32)
    faces = np.array([(0, 2, 1), (0, 1, 3), (0, 3, 2), (1, 2, 3)], np.int32)
    mesh = SimpleNamespace(vertices=corners, indices=faces.ravel())
    tilted = (0, 0, -1, np.sin(np.pi / 4), 0, 0, np.cos(np.pi / 4))
    m = model(
        shapes=[
            (1, (0, 0, 0), tilted, -1, None),
            (3, (0.5, 0, 0), IDENTITY, 0, None),
            (7, (1, 2, 3), IDENTITY, -1, None),
            (7, (1, 2, 3), IDENTITY, 0, None),
            (8, (2, 2, 2), IDENTITY, -1, mesh),
            (1, (4, 2, 0), IDENTITY, -1, None),
            (1, (0, 0, 0), IDENTITY, 0, None),
        ],
        bodies=1,
        shape_color=np.array([[0.125, 0.125, 0.15], [-1, -1, -1]] + [[0.5, 0.5, 0.5]] * 5),
    )
    m.shape_flags.fill_(1 | 2)
    t = Trajectory.from_model(m, segments=16)
    (plane,) = t.planes
    np.testing.assert_allclose(plane.normal, [0, -1, 0], atol=1e-6)
    assert plane.point.tolist() == [0, 0, -1] and plane.color == pytest.approx((0.125, 0.125, 0.15))
    assert [s.label for s in t.shapes] == [f"thing/{i}" for i in range(1, 7)]
    ball, crate, twin, solid, table, floor = t.shapes
    np.testing.assert_allclose(np.linalg.norm(ball.vertices, axis=1), 0.5, rtol=1e-5)
    assert ball.round == (0.5, 0.0) and ball.color is None and ball.body == 0
    assert np.abs(crate.vertices).max(axis=0).tolist() == [1, 2, 3] and crate.round is None
    assert twin.vertices is crate.vertices
    assert solid.vertices.max() == 2.0 and len(solid.triangles) == 4
    assert np.ptp(table.vertices, axis=0).tolist() == [4, 2, 0]
    assert floor.body == 0 and np.ptp(floor.vertices, axis=0).tolist() == [20, 20, 0]
    m.shape_flags.fill_(2)
    hidden = Trajectory.from_model(m)
    assert not hidden.shapes and not hidden.planes


def test_wrong_states_are_refused():
    t = moving(1)
    with pytest.raises(ValueError, match=r"frame 1: expected 7 particles, found 3"):
        t.append(state(np.zeros((3, 3)), [IDENTITY]), 1.0)
    with pytest.raises(ValueError, match=r"frame 1: expected 1 bodies, found 0"):
        t.append(state(np.zeros((7, 3))), 1.0)
    with pytest.raises(ValueError, match=r"later than 0\.0"):
        t.append(state(np.zeros((7, 3)), [IDENTITY]), 0.0)
    assert t.frame_count == 1 and len(t.body_q) == len(t.particle_q) == 1


def test_a_failed_save_leaves_the_old_file(tmp_path):
    path = tmp_path / "a.npz"
    moving(2).save(path)
    before = path.read_bytes()
    bad = moving(3)
    bad.info["solver"] = object()
    with pytest.raises(TypeError, match="JSON"):
        bad.save(path)
    bad = moving(3)
    bad.shapes[0].vertices = np.zeros((3, 4))  # fails while the file is written
    with pytest.raises(ValueError):
        bad.save(path)
    assert path.read_bytes() == before and os.listdir(tmp_path) == ["a.npz"]
    with pytest.raises(ValueError, match=r"\.npz"):
        moving(1).save(tmp_path / "a.dat")


def test_replacing_is_whole_or_absent(tmp_path):
    path = tmp_path / "a.txt"
    with replacing(path) as temporary:
        temporary.write_text("new")
        assert not path.exists() and temporary.parent == path.parent and temporary.suffix == ".txt"
    assert path.read_text() == "new"
    with pytest.raises(RuntimeError), replacing(path) as temporary:
        temporary.write_text("half")
        raise RuntimeError
    assert path.read_text() == "new" and os.listdir(tmp_path) == ["a.txt"]


def rewrite(path, header=None, **arrays):
    with np.load(path) as archive:
        data = {name: archive[name] for name in archive.files}
    head = json.loads(str(data.pop("header")))
    np.savez(path, header=np.array(json.dumps(head | (header or {}))), **(data | arrays))


@pytest.mark.parametrize(
    "damage, message",
    [
        (lambda p: p.write_bytes(p.read_bytes()[:-100]), "not a whole recording"),
        (lambda p: p.write_bytes(p.read_bytes()[:50]), "not a whole recording"),
        (lambda p: p.write_bytes(b""), "not a whole recording"),
        (lambda p: p.write_text("hello"), "not a whole recording"),
        (lambda p: np.savez(p, a=np.zeros(3)), "header"),
        (lambda p: rewrite(p, {"kind": "other"}), "kind is 'other'"),
        (lambda p: rewrite(p, {"format": 99}), "format is 99"),
        (lambda p: rewrite(p, triangles=np.array([[0, 1, 7]], np.int32)), r"triangles refers to 0\.\.7, there are 7"),
        (lambda p: rewrite(p, particle_q=np.zeros((4, 6, 3), np.float32)), "particle_q has the shape"),
        (lambda p: rewrite(p, body_q=np.zeros((4, 1, 7))), "body_q is float64"),
        (lambda p: rewrite(p, shape_body=np.array([1, -1], np.int32)), "shape_body"),
        (lambda p: rewrite(p, times=np.array([{}] * 4, object)), "pickle"),
    ],
)
def test_damaged_files_are_named(tmp_path, damage, message):
    path = moving().save(tmp_path / "run.npz")
    damage(path)
    with pytest.raises(ValueError, match=message) as error:
        Trajectory.load(path)
    assert "run.npz" in str(error.value)


def test_a_flipped_byte_is_noticed(tmp_path):
    path = moving().save(tmp_path / "run.npz")
    with zipfile.ZipFile(path) as archive:
        offset = archive.getinfo("particle_q.npy").header_offset + 400
    data = bytearray(path.read_bytes())
    data[offset] ^= 1
    path.write_bytes(data)
    with pytest.raises(ValueError, match=r"run\.npz"):
        Trajectory.load(path)


def test_a_missing_file_stays_a_missing_file(tmp_path):
    with pytest.raises(FileNotFoundError):
        Trajectory.load(tmp_path / "none.npz")


def test_a_real_model(tmp_path):
    from hooke.model.builder import ModelBuilder

    builder = ModelBuilder()
    builder.add_ground_plane(height=-1.0)
    zero, upright = wp.vec3(0.0), wp.quat_identity()
    builder.add_cloth_grid(pos=wp.vec3(0.0, 0.0, 2.0), rot=upright, vel=zero, dim_x=3, dim_y=2, cell_x=0.1, cell_y=0.1, mass=0.1)
    body = builder.add_body(xform=wp.transform((0.0, 0.0, 1.0), upright), label="ball")
    builder.add_shape_sphere(body, radius=0.5)
    model = builder.finalize(device="cpu")
    t = Trajectory.from_model(model, fps=60.0)
    t.append(model.state(), 0.0)
    t = Trajectory.load(t.save(tmp_path / "a.npz"))
    assert t.particle_q.shape == (1, 12, 3) and len(t.triangles) == 12 and len(t.springs) == len(t.points) == 0
    assert t.body_label == ["ball"] and t.body_q[0, 0].tolist() == [0, 0, 1, 0, 0, 0, 1]
    assert [s.round for s in t.shapes] == [(0.5, 0.0)] and t.planes[0].point.tolist() == [0, 0, -1]


def test_colours_of_triangles_are_recorded_and_drawn(tmp_path):
    """A cloth that was given a colour is drawn in it; the colour comes back from the file."""
    import hooke
    from hooke.viewer.scene import linear, soft_colors
    from hooke.viewer.surface import connected_pieces

    builder = hooke.ModelBuilder()
    for color in (None, (0.1, 0.2, 0.9)):
        builder.add_cloth_grid(
            pos=(0, 0, 0), rot=(0, 0, 0, 1), vel=(0, 0, 0), dim_x=2, dim_y=2, cell_x=1.0, cell_y=1.0, mass=1.0, color=color
        )
    model = builder.finalize(device="cpu")
    trajectory = Trajectory.from_model(model)
    trajectory.append(model.state(), 0.0)
    trajectory.save(tmp_path / "run.npz")
    again = Trajectory.load(tmp_path / "run.npz")
    assert np.array_equal(again.triangle_color, trajectory.triangle_color) and len(again.triangle_color) == 16
    colors = soft_colors(again, connected_pieces(again.triangles, 18))
    assert np.allclose(colors[1], linear((0.1, 0.2, 0.9)), atol=1e-6) and not np.allclose(colors[0], colors[1])
