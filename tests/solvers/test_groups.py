"""The groups of islands that touch: their elimination in the second grouping."""

import numpy as np
import warp as wp

import hooke
from hooke.execution.work import whole_work
from hooke.model.contacts import rigid_rows
from hooke.solvers import SolverVBD
from hooke.solvers.vbd.clusters import form_groups, order_groups, room_of
from tests.solvers.bodies import at
from tests.support import finalize

BOTH, NEAR = 3, 4


def scene():
    """Stacks, one of them leaning on nothing, a pair of hinged legs that follow each other, a table with five joints, and more boxes side
    by side than a group takes."""
    builder = hooke.ModelBuilder()
    builder.add_ground_plane()
    for i in range(3):
        for k in range(i + 1):
            builder.add_shape_box(builder.add_body(xform=at(2.0 * i, -4.0, 0.1 + 0.2 * k)), hx=0.1, hy=0.1, hz=0.1)
    joints = []
    for i in range(2):
        leg = builder.add_link(xform=at(0.3 * i, -6.0, 0.1))
        builder.add_shape_box(leg, hx=0.1, hy=0.1, hz=0.1)
        joints.append(builder.add_joint_revolute(-1, leg, axis="Y", parent_xform=at(0.3 * i, -6.0, 0.1)))
    builder.add_articulation(joints)
    builder.set_joint_mimic(joints[1], joints[0])
    top = builder.add_link(xform=at(0.0, -8.0, 0.5))
    builder.add_shape_box(top, hx=0.5, hy=0.5, hz=0.05)
    table = [builder.add_joint_free(top)]
    for x in (-0.4, 0.4):
        for y in (-0.4, 0.4):
            leg = builder.add_link(xform=at(x, -8.0 + y, 0.225))
            builder.add_shape_box(leg, hx=0.02, hy=0.02, hz=0.225)
            table.append(builder.add_joint_fixed(top, leg, parent_xform=at(x, y, -0.05), child_xform=at(0.0, 0.0, 0.225)))
    builder.add_articulation(table)
    for i in range(12):
        for k in range(12):
            builder.add_shape_box(builder.add_body(xform=at(0.2 * i, 0.2 * k, 0.1)), hx=0.1, hy=0.1, hz=0.1)
    return finalize(builder)


def plan(islands, joints, mimics):
    """All that a solve reads of a grouping."""
    count = int(islands.count.numpy()[0])
    first = islands.first.numpy()[: count + 1]
    nodes = first[-1]
    item, block, end, pair = (getattr(islands, name).numpy()[:nodes] for name in ("item", "block", "block_end", "pair"))
    row, target = islands.row.numpy(), islands.target.numpy()
    rows = [row[b:e].tolist() for b, e in zip(block, end, strict=True)]
    targets = [target[t : t + n * (n - 1) // 2].tolist() for t, n in zip(pair, end - block, strict=True)]
    ends = [islands.child.numpy()[:joints], islands.parent.numpy()[:joints], islands.mimic.numpy()[: 4 * mimics]]
    where = islands.node_of_body.numpy()
    return [x.tolist() for x in (first, item, block, end, pair, *ends, where[np.sort(item[item >= 0])])], rows, targets


def test_lone_groups_are_eliminated_in_the_second_grouping_as_in_the_first():
    """What is copied for them is what ordering them again gives, bit by bit."""
    model = scene()
    solver, pipeline = SolverVBD(model), hooke.CollisionPipeline(model)
    state, other, contacts = model.state(), model.state(), pipeline.contacts()
    pipeline.collide(state, contacts)
    solver.step(state, other, None, contacts, 1.0 / 60.0)
    bodies = solver._rigid
    of = bodies.contacts
    mimics = len(bodies._mimics.follower)
    found = plan(of._second, model.joint_count, mimics)
    lone = of.rows.lone.numpy()[: model.body_count]
    assert lone[:13].all() and not lone[13:].any() and mimics == 1  # the field of 144 boxes is cut
    assert max(map(len, found[1])) > 3
    moved = (of.rows.body.numpy() >= 0).all(axis=1)
    inside = of.rows.inside.numpy()
    of.rows.inside.assign(np.where(moved, inside & NEAR, inside))
    of.rows.lone.zero_()
    work, groups = whole_work(0, of._counts[0]), [of._first, of._second]
    inputs = [whole_work(0, 1), rigid_rows(contacts), bodies.body_motion, of._groups, of.rows, *groups]
    wp.launch(form_groups, dim=1, inputs=inputs, device="cpu")
    joints = solver._tables["joint"].struct
    for part, islands in enumerate(groups, 1):
        inputs = [work, joints, bodies._mimics, of.rows, part, *room_of(of._groups), of._first, islands]
        wp.launch(order_groups, dim=1, inputs=inputs, device="cpu")
    assert plan(of._second, model.joint_count, mimics) == found
    assert np.array_equal(of.rows.inside.numpy(), inside)
