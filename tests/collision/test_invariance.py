"""What the frame, and the order of two shapes, do not change: contacts that a search for counterexamples could not tell apart."""

import functools

import numpy as np
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

import hooke
from hooke.geometry import GeoType
from hooke.model.motion import compose, inverse_pose, quat_rotate
from tests.support import UPRIGHT

from .narrow import SCALES, ask, hull_mesh, shape

GAP = 0.05
few = settings(max_examples=60, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
numbers = st.floats(-1.0, 1.0, width=32)
vectors = st.tuples(numbers, numbers, numbers)
kinds = st.sampled_from(sorted(SCALES))


@st.composite
def rotations(draw):
    q = np.array([draw(numbers) for _ in range(4)])
    assume(np.linalg.norm(q) > 0.1)
    return q / np.linalg.norm(q)


def pose(position, rotation):
    return np.concatenate([np.asarray(position, float), rotation])


def brought(first, second, relative, separation):
    """The pose of the second shape seen from the first, moved along the normal of their contact until they are that far apart."""
    found = ask(shape(first)[0], shape(second)[0], relative[None], reach=4.0)[0]
    assume(found["count"] > 0)
    move = (separation - found["distance"][: found["count"]].min()) * found["normal"]
    return pose(relative[:3] + move, relative[3:])


@functools.cache
def scene():
    """Two bodies of every kind, in the order of kinds, and the pipeline that sees them."""
    b = hooke.ModelBuilder()
    for code in sorted(SCALES):
        for _ in range(2):
            body = b.add_body()
            b.add_shape(
                body=body, type=code, scale=SCALES[code], src=hull_mesh() if code == GeoType.CONVEX_MESH else None,
                cfg=hooke.ShapeConfig(gap=GAP, margin=0.0),
            )  # fmt: skip
    model = b.finalize(device="cpu")
    return model, hooke.CollisionPipeline(model), model.state()


def rows(first, second, at_first, at_second):
    """Number, normal and separations of the contacts of two bodies; all others are far away."""
    model, pipeline, state = scene()
    q = np.tile(np.array([0.0, 0.0, 0.0, *UPRIGHT]), (model.body_count, 1))
    q[:, 0] = 1.0e4 + 10.0 * np.arange(model.body_count)
    codes = sorted(SCALES)
    bodies = 2 * codes.index(first), 2 * codes.index(second) + 1
    q[list(bodies)] = at_first, at_second
    state.body_q.assign(q)
    contacts = pipeline.contacts()
    pipeline.collide(state, contacts)
    n = int(contacts.rigid_contact_count.numpy()[0])
    shape0, shape1 = contacts.rigid_contact_shape0.numpy()[:n], contacts.rigid_contact_shape1.numpy()[:n]
    points = [
        quat_rotate(q[s, 3:], p) + q[s, :3]
        for s, p in ((shape0, contacts.rigid_contact_point0.numpy()[:n]), (shape1, contacts.rigid_contact_point1.numpy()[:n]))
    ]
    normal = contacts.rigid_contact_normal.numpy()[:n]
    margin = contacts.rigid_contact_margin0.numpy()[:n] + contacts.rigid_contact_margin1.numpy()[:n]
    return normal, ((points[1] - points[0]) * normal).sum(axis=1) - margin


@few
@given(kinds, kinds, vectors, rotations(), st.floats(-0.01, 0.09), vectors, rotations())
def test_contacts_go_with_a_rigid_motion(first, second, offset, turn, separation, shift, frame):
    """Shapes of half a metre that touch or nearly do, moved by up to 100 m: depths to 1e-3 m; the normal where they are apart."""
    first, second = sorted((first, second))
    relative = brought(first, second, pose(offset, turn), separation)
    motion = pose(100.0 * np.asarray(shift), frame)
    normal, depth = rows(first, second, pose((0.0, 0.0, 0.0), UPRIGHT), relative)
    moved_normal, moved_depth = rows(first, second, motion, compose(motion, relative))
    if len(depth) == 0 or len(moved_depth) == 0:
        assert np.concatenate([depth, moved_depth, [2.0 * GAP]]).min() > 2.0 * GAP - 2.0e-3
        return
    assert abs(depth.min() - moved_depth.min()) < 1.0e-3
    assert np.allclose(np.linalg.norm(moved_normal, axis=1), 1.0, atol=1e-5)
    if separation > 0.002:  # an edge that touches an edge has many ways out
        assert (quat_rotate(frame, normal[:1]) @ moved_normal.T).max() > 0.99


@few
@given(kinds, vectors, rotations(), st.floats(-0.01, 0.009))
def test_contacts_do_not_depend_on_the_order(code, offset, turn, separation):
    """Two shapes of a kind, exchanged: the same depth to 1e-3 m and the opposite normal, in the frame of the other."""
    g, _body = shape(code)
    relative = brought(code, code, pose(offset, turn), separation)
    one, two = ask(g, g, relative[None])[0], ask(g, g, inverse_pose(relative)[None])[0]
    assert one["count"] > 0 and two["count"] > 0
    assert abs(one["distance"][: one["count"]].min() - two["distance"][: two["count"]].min()) < 1.0e-3
    if separation > 0.002:
        assert quat_rotate(turn, two["normal"]) @ one["normal"] < -0.99
