"""Bodies that meet at 10 m/s, 17 cm in a step of 1/60 s, end it where they touch, with whatever gap their shapes have."""

import numpy as np
import pytest

import hooke
from hooke.model.motion import quat_rotate
from hooke.solvers import SolverVBD
from tests.support import finalize

HALF, FACE, SPEED, DT = 0.05, 0.9, 10.0, 1.0 / 60.0
CORNERS = np.array([(i, j, k) for i in (-1, 1) for j in (-1, 1) for k in (-1, 1)], np.float64)
SIZES = {"cube": (HALF, HALF, HALF), "plate": (0.1, 0.08, 0.01), "capsule": (0.0, 0.0, 0.08)}
RADIUS = 0.02


def reach_of(kind, turn):
    """How far a body reaches towards +x."""
    ends = [quat_rotate(np.asarray(turn, np.float64), corner)[0] for corner in CORNERS * SIZES[kind]]
    return max(ends) + (RADIUS if kind == "capsule" else 0.0)


def thrown(wall, gap, turns, kind="cube"):
    """Bodies, one per world, that fly towards walls at x = 0.9; they reach them after one step or two, at all times within it."""
    cfg = hooke.ModelBuilder.ShapeConfig(density=1000.0, mu=0.5, gap=gap)
    builder, boxes = hooke.ModelBuilder(gravity=0.0), []
    for k, turn in enumerate(turns):
        builder.begin_world()
        if wall == "plane":
            builder.add_shape_plane(plane=(-1.0, 0.0, 0.0, FACE), body=-1, cfg=cfg)
        else:
            body = builder.add_body(xform=(FACE + 0.1, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0)) if wall == "body" else -1
            place = (0.0 if body >= 0 else FACE + 0.1, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0)
            builder.add_shape_box(body, xform=place, hx=0.1, hy=1.0, hz=1.0, cfg=cfg)
        way = SPEED * DT * (1.05 + k / len(turns))
        boxes.append(builder.add_body(xform=(FACE - reach_of(kind, turn) - way, 0.0, 0.0, *turn)))
        if kind == "capsule":
            builder.add_shape_capsule(boxes[-1], radius=RADIUS, half_height=SIZES[kind][2], cfg=cfg)
        else:
            builder.add_shape_box(boxes[-1], **dict(zip(("hx", "hy", "hz"), SIZES[kind], strict=True)), cfg=cfg)
        builder.end_world()
    return finalize(builder), boxes


def overlaps(model, boxes, steps=5, dt=None, kind="cube", **options):
    """Depth [m] of the deepest corner of every box in its wall after every step, and the state at the end."""
    solver, pipeline = SolverVBD(model), hooke.CollisionPipeline(model, **options)
    contacts, state, other = pipeline.contacts(), model.state(), model.state()
    qd = state.body_qd.numpy()
    qd[boxes, 0] = SPEED
    state.body_qd.assign(qd)
    walls = [b - 1 for b in boxes] if model.body_count > len(boxes) else None
    depth = []
    for _ in range(steps):
        pipeline.collide(state, contacts, dt=dt)
        solver.step(state, other, None, contacts, DT)
        state, other = other, state
        q = state.body_q.numpy().astype(np.float64)
        reach = np.array([p[0] + reach_of(kind, p[3:]) for p in q[boxes]])
        face = FACE if walls is None else q[walls, 0] - 0.1  # of a heavy wall, which hardly turns
        depth.append(reach - face)
    return np.array(depth), state


@pytest.mark.parametrize("gap", [0.0, 0.02, None])
@pytest.mark.parametrize("wall", ["plane", "box", "body"])
def test_a_box_stops_at_a_wall(wall, gap):
    model, boxes = thrown(wall, gap, [(0.0, 0.0, 0.0, 1.0)] * 12)
    depth, state = overlaps(model, boxes)
    assert depth.max() < 1e-5 and np.all(depth[-1] > -1e-4)
    speed = state.body_qd.numpy()[boxes, 0]
    if wall == "body":  # momentum is kept, and both go on together
        mass = model.body_mass.numpy()
        assert np.allclose(speed, SPEED * mass[1] / (mass[0] + mass[1]), rtol=1e-4)
    else:
        assert np.abs(speed).max() < 1e-3


@pytest.mark.parametrize("kind", SIZES)
def test_bodies_that_come_askew_stop_too(kind):
    """Corners and ends first, in all orientations. The impact turns plates and capsules by up to a radian in the step: taken as linear in
    the turn, their far ends got in by 12 and 7 mm."""
    turns = np.random.default_rng(0).normal(size=(64, 4))
    model, boxes = thrown("box", 0.01, turns / np.linalg.norm(turns, axis=1)[:, None], kind)
    depth, _ = overlaps(model, boxes, steps=8, kind=kind)
    assert (depth.max(axis=0) > 1e-3).sum() <= 1 and depth.max() < 3e-3


def test_what_is_met_in_the_first_step_takes_the_time_of_collide():
    """No step has said yet how long steps are."""
    model, boxes = thrown("plane", 0.02, [(0.0, 0.0, 0.0, 1.0)] * 12)
    q = model.body_q.numpy()
    q[boxes, 0] += SPEED * DT
    model.body_q.assign(q)
    assert overlaps(model, boxes, steps=1, dt=DT)[0].max() < 1e-5
    assert overlaps(model, boxes, steps=1)[0].max() > 0.05


def test_looking_ahead_can_be_switched_off():
    model, boxes = thrown("plane", 0.02, [(0.0, 0.0, 0.0, 1.0)] * 12)
    assert overlaps(model, boxes, speculative_contact_gap_max=0.0)[0].max() > 0.05
