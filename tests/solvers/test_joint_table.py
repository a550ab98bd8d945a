"""The tables of docs/guide/joints.md, cell by cell: what acts on which kind of joint, in both formulations, and what is said elsewhere.

A body of 2 kg and (0.5, 0.6, 0.7) kg m^2 hangs on one joint at its centre of mass, without gravity, so that every degree of freedom is a
mass of its own and a step of backward Euler has an answer.
"""

import re
import warnings
from pathlib import Path

import numpy as np
import pytest

import hooke
from hooke.model.enums import JointTargetMode
from hooke.solvers import SolverVBD
from tests.support import finalize

from .bodies import bar, coordinates, move

MASS, INERTIA, DT = 2.0, np.array([0.5, 0.6, 0.7]), 0.01
KE = {"rigid_joint_linear_ke": 4e3, "rigid_joint_angular_ke": 800.0}
ELASTIC = {"cable": {"stretch_stiffness": 4e3, "bend_stiffness": 800.0},
           "rod": {"stretch_stiffness": 4e3, "shear_stiffness": 4e3, "bend_stiffness": 800.0, "twist_stiffness": 800.0}}  # fmt: skip
OPTIONS = {
    "revolute": {"axis": 2}, "prismatic": {"axis": 1}, "d6": {"linear_axes": [0], "angular_axes": [2]}, "distance": {"max_distance": 0.2},
    **ELASTIC,
}  # fmt: skip
AXES = {"free": range(6), "ball": (3, 4, 5), "fixed": (), "revolute": (5,), "prismatic": (1,), "d6": (0, 5), "distance": range(6),
        "cable": range(2), "rod": range(6)}  # fmt: skip
"""Motions (x, y, z, about x, y, z) of the degrees of freedom of a kind; of a cable only how many there are."""


def tables():
    """{(formulation, feature, kind): cell}."""
    text = (Path(__file__).parents[2] / "docs" / "guide" / "joints.md").read_text()
    section = text[text.index("## What the solver does") :].split("\n## ")[0]
    found, formulation, kinds = {}, None, []
    for line in section.splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")] if line.startswith("|") else []
        if cells and not cells[0]:
            formulation, kinds = ("page" if formulation else "default"), [kind.lower() for kind in cells[1:]]
        elif cells and not cells[0].startswith("---"):
            assert len(cells) == len(kinds) + 1, line
            found |= {(formulation, cells[0].strip("`"), kind): cell for kind, cell in zip(kinds, cells[1:], strict=True)}
    return found


CELLS = tables()


def make(kind, dt=DT, **arrays):
    """A model of one joint; ``arrays`` are columns of its degrees of freedom, every entry the same."""
    b = hooke.ModelBuilder(gravity=0.0)
    SolverVBD.register_custom_attributes(b, dahl_defaults_enabled=False)
    link = b.add_link(mass=MASS, inertia=np.diag(INERTIA))
    add = getattr(b, f"add_joint_{kind}")
    b.add_articulation([add(link) if kind == "free" else add(-1, link, label="joint", **OPTIONS.get(kind, {}))])
    model = finalize(b)
    for name, value in arrays.items():
        array = getattr(model, f"joint_{name}")
        if array is not None and len(array):
            array.assign(np.broadcast_to(np.asarray(value), array.shape).astype(array.numpy().dtype))
    return model


def inertia(kind):
    """Of the motions of its degrees of freedom."""
    return np.array([*[MASS] * 3, *INERTIA])[list(AXES[kind])]


def options_of(formulation):
    return {"rigid_compliant_alm": formulation == "default"}


def run(model, steps=1, *, formulation="default", effort=None, wrench=None, prepare=None, **options):
    """The last state; ``effort`` is joint_f, ``wrench`` body_f, and ``prepare`` (solver) is called before the first step."""
    solver = SolverVBD(model, **options_of(formulation), **options)
    if prepare is not None:
        prepare(solver)
    control = model.control()
    if effort is not None and control.joint_f is not None:
        control.joint_f.assign(np.broadcast_to(np.asarray(effort, np.float32), control.joint_f.shape).copy())
    return move(model, steps, DT, solver=solver, control=control, body_f=None if wrench is None else [wrench])


def velocity(motion, kind):
    return motion.qd[0, list(AXES[kind])]


def displacement(motion):
    """Of all six motions, small or about one axis."""
    q = motion.q[0]
    angle = 2.0 * np.arctan2(np.linalg.norm(q[3:6]), q[6])
    return np.array([*q[:3], *(angle * q[3:6] / max(1e-30, np.linalg.norm(q[3:6])))])


# ---- features: each returns nothing and asserts, or is compared with a motion without it


def drive(kind, formulation):
    """At rest at the load over the stiffness from the target; a damper alone goes at the target's rate."""
    goal = np.sin(0.15) * np.array([0.0, 0.6, 0.8]), np.cos(0.15)
    target = [*goal[0], goal[1]] if kind == "ball" else 0.3
    model = make(kind, target_ke=40.0, target_kd=12.0, target_q=target)
    found = displacement(run(model, 400, formulation=formulation))[list(AXES[kind])]
    assert np.allclose(found, 0.3 * np.array([0.0, 0.6, 0.8]) if kind == "ball" else 0.3, atol=1e-3)
    model = make(kind, target_kd=12.0, target_qd=0.2)
    assert np.allclose(velocity(run(model, 200, formulation=formulation), kind), 0.2, atol=2e-3)


def material(kind, formulation):
    """Of an elastic joint the gains are stiffness and damping of its strains: the first step of backward Euler."""
    found = run(make(kind, target_ke=500.0, target_kd=90.0), 1, formulation=formulation, wrench=8.0 * np.eye(6)[0]).qd[0, 0]
    assert found == pytest.approx(8.0 * DT / (MASS + DT * 90.0 + DT**2 * 500.0), rel=1e-3)


def target_mode(kind, formulation):
    """VELOCITY leaves out the stiffness, EFFORT both gains."""
    target = [0.0, np.sin(0.1), 0.0, np.cos(0.1)] if kind == "ball" else 0.2
    gains = {"target_ke": 40.0, "target_kd": 12.0, "target_q": target, "target_qd": 0.1}
    rated = run(make(kind, target_mode=int(JointTargetMode.VELOCITY), **gains), 200, formulation=formulation)
    assert np.allclose(velocity(rated, kind), 0.1, atol=2e-3)
    assert not run(make(kind, target_mode=int(JointTargetMode.EFFORT), **gains), 5, formulation=formulation).qd.any()


def effort_limit(kind, formulation):
    target = [0.0, 1.0, 0.0, 0.0] if kind == "ball" else 9.0
    axis = np.array([0.0, 1.0, 0.0]) if kind == "ball" else 1.0
    model = make(kind, target_ke=1e5, target_kd=10.0, target_q=target, effort_limit=0.5)
    assert np.allclose(velocity(run(model, 20, formulation=formulation), kind), axis * 0.5 * 20 * DT / inertia(kind), atol=2e-4)


def limits(kind, formulation):
    """A load goes beyond a limit by what its stiffness gives way."""
    model = make(kind, limit_lower=-0.1, limit_upper=0.1, limit_ke=200.0, limit_kd=30.0)
    for sign in (1.0, -1.0):
        found = displacement(run(model, 500, formulation=formulation, effort=2.0 * sign))[list(AXES[kind])]
        assert np.allclose(found, sign * (0.1 + 2.0 / 200.0), atol=1e-3)


def distance_limits(kind, formulation):
    model = make(kind)
    found = np.linalg.norm(displacement(run(model, 300, wrench=(0.0, 3.0, 4.0, 0.0, 0.0, 0.0)))[:3])
    assert found == pytest.approx(0.2, abs=1e-4)


def velocity_limit(kind, formulation):
    assert np.allclose(velocity(run(make(kind, velocity_limit=0.05), 40, effort=3.0), kind), 0.05, rtol=1e-4)


def spring(kind, formulation):
    """Spring and damper by load over stiffness, and over damping."""
    found = displacement(run(make(kind, stiffness=50.0, damping=15.0), 400, effort=1.0))[list(AXES[kind])]
    assert np.allclose(found, 1.0 / 50.0, atol=1e-4)
    assert np.allclose(velocity(run(make(kind, damping=15.0), 300, effort=1.0), kind), 1.0 / 15.0, atol=1e-3)


def friction(kind, formulation):
    model = make(kind, friction=0.5)
    for axis in np.eye(len(AXES[kind])):
        assert np.abs(run(model, 20, effort=0.45 * axis).qd).max() < 1e-5
        assert np.allclose(velocity(run(model, 20, effort=0.8 * axis), kind), 0.3 * 20 * DT / inertia(kind) * axis, atol=1e-4)


def armature(kind, formulation):
    for axis in np.eye(len(AXES[kind])):
        found = velocity(run(make(kind, armature=0.3), 20, effort=0.5 * axis), kind)
        assert np.allclose(found, 0.5 * 20 * DT / (inertia(kind) + 0.3) * axis, atol=1e-4)


def joint_f(kind, formulation):
    """As the force or torque along its axis."""
    for number, k in enumerate(AXES[kind]):
        effort = np.where(np.arange(len(AXES[kind])) == number, 0.5, 0.0)
        found = run(make(kind), 10, formulation=formulation, effort=effort).qd
        assert np.allclose(found, run(make(kind), 10, formulation=formulation, wrench=0.5 * np.eye(6)[k]).qd, atol=1e-5)
        assert np.abs(found).max() > 1e-3


def joint_enabled(kind, formulation):
    """Switched off it is as if there were none: no effort, drive, limit or lock."""
    wrench = np.array([1.0, 2.0, 3.0, 0.0, 0.0, 1.0])
    model = make(kind, enabled=False, target_ke=50.0, limit_lower=0.0, limit_upper=0.0, limit_ke=50.0)
    found = run(model, 10, formulation=formulation, effort=7.0, wrench=wrench).qd[0]
    assert np.allclose(found, wrench * 10 * DT / np.array([MASS] * 3 + [*INERTIA]), rtol=1e-4)
    model.joint_enabled.fill_(True)
    assert not np.allclose(run(model, 10, formulation=formulation, wrench=50.0 * wrench).qd[0], 50.0 * found, rtol=1e-2)


def geared(kind):
    """Two bodies on joints of a kind to the world, the second of which follows the first."""
    b = hooke.ModelBuilder(gravity=0.0)
    links = [b.add_link(mass=MASS, inertia=np.diag(INERTIA)) for _ in range(2)]
    add = getattr(b, f"add_joint_{kind}")
    joints = [add(link) if kind == "free" else add(-1, link, **OPTIONS.get(kind, {})) for link in links]
    b.add_articulation(joints)
    b.set_joint_mimic(joints[1], joints[0], coeffs=(0.0, -2.0))
    return finalize(b)


def mimic(kind, formulation):
    model, count = geared(kind), len(AXES[kind])
    q, qd = coordinates(run(model, 40, effort=[*[0.5] * count, *[0.0] * count]))
    assert np.allclose(q[count:], -2.0 * q[:count], atol=1e-5)
    assert np.allclose(qd[:count], 0.5 * 40 * DT / (5.0 * inertia(kind)), rtol=2e-3)


STRUCTURE = {"linear": 0, "angular": 1}


def loads_of(slot, kind):
    """A wrench along a locked motion of a slot, and which one."""
    k = 3 * STRUCTURE[slot] + (0 if slot == "angular" or kind != "d6" else 1)
    return 8.0 * np.eye(6)[k], k


def stiffness_of(slot):
    return list(KE.values())[STRUCTURE[slot]]


def slot(name, kind, formulation):
    """A soft slot gives way by load over stiffness, a hard one by next to nothing."""
    wrench, k = loads_of(name, kind)
    model, ke = make(kind, **{} if kind not in ELASTIC else {"target_kd": 60.0}), stiffness_of(name)
    kd = {} if kind in ELASTIC else {"rigid_joint_linear_kd": 60.0, "rigid_joint_angular_kd": 60.0}

    def give(hard):
        prepare = lambda solver: solver.set_joint_constraint_mode(0, hard, STRUCTURE[name])
        return displacement(run(model, 300, formulation=formulation, wrench=wrench, prepare=prepare, **KE, **kd))[k]

    assert give(False) == pytest.approx(8.0 / ke, rel=5e-3)
    assert abs(give(True)) < (1e-5 if formulation == "default" else 0.5 * 8.0 / ke)


def slot_damping(name, kind, formulation):
    """The first step of a soft slot: v = f h / (m + h kd + h^2 ke)."""
    wrench, k = loads_of(name, kind)
    options = {**KE, f"rigid_joint_{name}_kd": 90.0}
    prepare = lambda solver: solver.set_joint_constraint_mode(0, False)
    m = np.array([*[MASS] * 3, *INERTIA])[k]
    found = run(make(kind), 1, formulation=formulation, wrench=wrench, prepare=prepare, **options).qd[0, k]
    assert found == pytest.approx(8.0 * DT / (m + DT * 90.0 + DT**2 * stiffness_of(name)), rel=1e-3)


def hysteresis(kind, formulation):
    """What was bent and is let go stays bent by the moment that is left."""
    model = make(kind, target_kd=60.0)
    for name, value in (("dahl_eps_max", 0.05), ("dahl_tau", 0.02)):
        getattr(model.vbd, name).fill_(value)
    bent = run(model, 200, formulation=formulation, wrench=60.0 * np.eye(6)[3])
    before = displacement(bent)[3]
    bent.state.body_f.zero_()
    left = move(model, 300, DT, state=bent.state, solver=bent.solver)
    assert before > displacement(left)[3] > 5e-3


SET = {
    "drive": {"target_ke": 40.0, "target_kd": 12.0}, "target_mode": {"target_mode": int(JointTargetMode.EFFORT)},
    "effort limit": {"effort_limit": 0.5}, "limits": {"limit_lower": -0.1, "limit_upper": 0.1, "limit_ke": 200.0},
    "velocity limit": {"velocity_limit": 0.01}, "spring and damper": {"stiffness": 50.0, "damping": 5.0}, "friction": {"friction": 0.4},
    "armature": {"armature": 0.3}, "joint_f": {}, "joint_enabled": {"enabled": False}, "hysteresis": {},
}  # fmt: skip
"""Columns that ask for a feature."""

NEEDS = {feature: {"target_ke": 40.0, "target_kd": 12.0} for feature in ("effort limit", "target_mode")}
"""Columns without which it would mean nothing, where the kind has them."""

SAYS = {
    "drive": "target_ke", "target_mode": "target_mode", "effort limit": "effort_limit", "limits": "limit_lower",
    "velocity limit": "velocity_limit", "spring and damper": "stiffness", "friction": "friction", "armature": "armature",
}  # fmt: skip
"""What a warning names."""

ACTS = {
    "drive": drive, "target_mode": target_mode, "effort limit": effort_limit, "limits": limits, "velocity limit": velocity_limit,
    "spring and damper": spring, "friction": friction, "armature": armature, "joint_f": joint_f, "joint_enabled": joint_enabled,
    "mimic": mimic, "hysteresis": hysteresis,
}  # fmt: skip


def asked(kind, feature, formulation):
    """Motion and warnings of a model with a feature, and the motion without; both pushed."""
    needs = NEEDS.get(feature, {}) if kind not in (*ELASTIC, "free", "distance") else {}
    results, said = [], []
    for columns in ({**needs, **SET[feature]}, needs):
        model = make(kind, **columns)
        if feature == "hysteresis" and columns == {**needs, **SET[feature]} and not results:
            model.vbd.dahl_eps_max.fill_(0.05)
            model.vbd.dahl_tau.fill_(0.02)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            effort = 0.7 if feature == "joint_f" and not results else None
            done = run(model, 5, formulation=formulation, effort=effort, wrench=(1.0, 2.0, 3.0, 0.4, 0.5, 0.6))
        results.append(np.hstack([done.q, done.qd]))
        said.append(" ".join(str(w.message) for w in caught))
    return results[0], results[1], said


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("formulation", "feature", "kind"), CELLS, ids=lambda value: value.replace(" ", "_"))
def test_cell(formulation, feature, kind):
    cell = CELLS[formulation, feature, kind]
    if cell == "refused":
        with pytest.raises(NotImplementedError, match="documented formulation does not solve"):
            SolverVBD(geared(kind) if feature == "mimic" else make(kind), **options_of(formulation))
    elif cell == "error":
        with pytest.raises(ValueError, match="expected a prismatic, revolute or D6 joint"):
            geared(kind)
    elif feature in ("locked motions", "strains"):
        check_structure(formulation, feature, kind, cell)
    elif feature in ("hard and soft slots", "damping of slots"):
        check_slots(formulation, feature, kind, cell)
    elif cell in ("yes", "distance", "material"):
        {"distance": distance_limits, "material": material}.get(cell, ACTS[feature])(kind, formulation)
    else:
        assert cell in ("-", "warns"), cell
        found, without, said = asked(kind, feature, formulation)
        assert np.array_equal(found, without)
        assert (SAYS[feature] in said[0] and "not act" in said[0]) if cell == "warns" else not said[0], said[0]


def check_structure(formulation, feature, kind, cell):
    """Motions that a load does not get going; of elastic joints those that spring back."""
    moved = []
    for k in range(6):
        wrench = 8.0 * np.eye(6)[k]
        free = 8.0 * (20 * DT) ** 2 / 2.0 / (MASS if k < 3 else INERTIA[k - 3])
        moved.append(abs(displacement(run(make(kind), 20, formulation=formulation, wrench=wrench))[k]) / free)
    moved = np.array(moved)
    wanted = 6 - len(AXES[kind]) if cell == "6 - axes" else int(cell)
    if feature == "strains":
        assert ((moved > 1e-3) & (moved < 0.5)).sum() == wanted
    else:
        assert (moved < 1e-3).sum() == wanted


def check_slots(formulation, feature, kind, cell):
    names = {"-": (), "linear": ("linear",), "both": ("linear", "angular")}[cell]
    solver = SolverVBD(make(kind), **options_of(formulation))
    for name, k in STRUCTURE.items():
        if name in names:
            (slot if feature == "hard and soft slots" else slot_damping)(name, kind, formulation)
        elif feature == "hard and soft slots":
            with pytest.raises(ValueError, match="structural slots"):
                solver.set_joint_constraint_mode(0, False, k)
        else:
            model, wrench = make(kind), (1.0, 2.0, 3.0, 0.4, 0.5, 0.6)
            damped = run(model, 3, formulation=formulation, wrench=wrench, **{f"rigid_joint_{name}_kd": 50.0})
            assert np.array_equal(damped.qd, run(model, 3, formulation=formulation, wrench=wrench).qd)


def test_the_tables_are_whole():
    """Both have all kinds and the same features, and every word in them is explained."""
    kinds = {kind for _formulation, _feature, kind in CELLS}
    assert kinds == set(AXES)
    features = {formulation: [f for g, f, k in CELLS if g == formulation and k == "free"] for formulation in ("default", "page")}
    assert features["default"] == features["page"] and len(CELLS) == 2 * len(kinds) * len(features["page"])
    words = {cell for cell in CELLS.values() if not re.fullmatch(r"\d( - axes)?", cell)}
    assert words == {"yes", "-", "warns", "refused", "error", "linear", "both", "distance", "material"}


def test_all_that_does_not_act_is_said():
    """Of the first joint by name, of the others by number."""
    b = hooke.ModelBuilder()
    links = [bar(b, (0.0, 0.0, 0.0), 1.0) for _ in range(3)]
    b.add_articulation([b.add_joint_cable(-1, links[0], label="wire"), b.add_joint_ball(links[0], links[1], label="knee"),
                        b.add_joint_revolute(links[1], links[2], axis=0)])  # fmt: skip
    model = finalize(b)
    model.joint_friction.fill_(0.1)
    model.joint_velocity_limit.fill_(2.0)
    with pytest.warns(
        UserWarning, match=r"joint_friction, joint_velocity_limit of joint 'wire' \(index 0\).*nor do some of 1 other joint$"
    ):
        SolverVBD(model)
