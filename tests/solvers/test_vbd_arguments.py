"""What SolverVBD refuses, and what it says."""

import inspect
import warnings
from types import SimpleNamespace

import numpy as np
import pytest
import warp as wp

import hooke
from hooke.solvers import SolverVBD
from hooke.solvers.vbd.options import read_filter_maps
from tests.support import add_points, finalize, simulate

from .scenes import cloth_on_slope, falling_particles

SEED_ARGUMENTS = {
    "iterations": 10, "friction_epsilon": 1e-2, "integrate_with_external_rigid_solver": False,
    "particle_enable_self_contact": False, "particle_self_contact_radius": 0.2, "particle_self_contact_margin": 0.2,
    "particle_conservative_bound_relaxation": 0.85, "particle_vertex_contact_buffer_size": 32,
    "particle_edge_contact_buffer_size": 64, "particle_collision_detection_interval": 0, "particle_edge_parallel_epsilon": 1e-5,
    "particle_enable_tile_solve": True, "particle_topological_contact_filter_threshold": 2,
    "particle_rest_shape_contact_exclusion_radius": 0.0, "particle_external_vertex_contact_filtering_map": None,
    "particle_external_edge_contact_filtering_map": None, "rigid_avbd_alpha": 0.95, "rigid_avbd_joint_alpha": None,
    "rigid_avbd_contact_alpha": None, "rigid_avbd_beta": 0.0, "rigid_avbd_linear_beta": None, "rigid_avbd_angular_beta": None,
    "rigid_avbd_gamma": 0.999, "rigid_contact_hard": True, "rigid_contact_history": False, "rigid_contact_stick_motion_eps": 1e-4,
    "rigid_contact_stick_freeze_translation_eps": 1e-4, "rigid_contact_stick_freeze_angular_eps": 1e-4, "rigid_contact_k_start": 1e2,
    "rigid_body_contact_buffer_size": 64, "rigid_body_particle_contact_buffer_size": 256, "rigid_joint_linear_ke": 1e5,
    "rigid_joint_angular_ke": 1e5, "rigid_joint_linear_k_start": 1e2, "rigid_joint_angular_k_start": 1e1, "rigid_joint_linear_kd": 0.0,
    "rigid_joint_angular_kd": 0.0, "deterministic": None,
}  # fmt: skip


@pytest.fixture(scope="module")
def model():
    return falling_particles()


def test_documented_arguments_and_defaults():
    found = {name: p.default for name, p in inspect.signature(SolverVBD.__init__).parameters.items()}
    assert SEED_ARGUMENTS.items() <= found.items()
    own = {"particle_contact_friction": "anchored", "particle_self_contact_ownership": "feature", "particle_acceleration": None,
           "particle_tolerance": 0.0, "rigid_compliant_alm": True}  # fmt: skip
    assert found == {"self": inspect.Parameter.empty, "model": inspect.Parameter.empty, **SEED_ARGUMENTS, **own}


@pytest.mark.parametrize(("name", "value"), [
    ("iterations", -1), ("iterations", 2.5), ("iterations", "4"), ("iterations", None), ("friction_epsilon", 0.0),
    ("friction_epsilon", -1.0), ("friction_epsilon", float("nan")), ("friction_epsilon", float("inf")),
    ("particle_contact_friction", "coulomb"), ("particle_conservative_bound_relaxation", 0.0),
    ("particle_conservative_bound_relaxation", 1.0), ("particle_conservative_bound_relaxation", float("nan")),
    ("friction_epsilon", "slow"), ("friction_epsilon", True), ("friction_epsilon", None), ("iterations", True),
    ("integrate_with_external_rigid_solver", 1), ("particle_enable_self_contact", "no"), ("particle_enable_tile_solve", 0),
    ("particle_enable_tile_solve", None), ("particle_self_contact_radius", 0.0), ("particle_self_contact_radius", float("nan")),
    ("particle_self_contact_margin", -0.1), ("particle_self_contact_margin", float("inf")),
    ("particle_vertex_contact_buffer_size", 0), ("particle_vertex_contact_buffer_size", 32.0),
    ("particle_edge_contact_buffer_size", -1), ("particle_edge_contact_buffer_size", None),
    ("particle_collision_detection_interval", 0.5), ("particle_collision_detection_interval", None),
    ("particle_edge_parallel_epsilon", -1e-5), ("particle_edge_parallel_epsilon", float("nan")),
    ("particle_topological_contact_filter_threshold", -1), ("particle_topological_contact_filter_threshold", 2.0),
    ("particle_rest_shape_contact_exclusion_radius", -0.1), ("particle_rest_shape_contact_exclusion_radius", float("inf")),
    ("deterministic", True), ("deterministic", 1), ("deterministic", "RUN_TO_RUN"),
    ("particle_acceleration", "chebyshev"), ("particle_acceleration", True), ("particle_tolerance", -1e-6),
    ("particle_tolerance", float("nan")), ("particle_tolerance", float("inf")),
    ("rigid_avbd_alpha", 1.5), ("rigid_avbd_joint_alpha", -0.1), ("rigid_avbd_gamma", 2.0), ("rigid_avbd_angular_beta", -1.0),
    ("rigid_joint_linear_ke", -1.0), ("rigid_joint_angular_ke", float("nan")), ("rigid_joint_linear_k_start", -1.0),
    ("rigid_joint_angular_k_start", float("inf")), ("rigid_joint_linear_kd", float("nan")), ("rigid_joint_angular_kd", "none"),
    ("rigid_compliant_alm", 1), ("rigid_avbd_beta", -1.0), ("rigid_avbd_beta", float("inf")), ("rigid_avbd_linear_beta", -1e-3),
    ("rigid_avbd_alpha", float("nan")), ("rigid_avbd_contact_alpha", 1.01), ("rigid_contact_k_start", -1.0),
])  # fmt: skip
def test_values_out_of_range_are_named(model, name, value):
    with pytest.raises(ValueError, match=name) as error:
        SolverVBD(model, **{name: value})
    assert repr(value) in str(error.value)


@pytest.mark.parametrize(("name", "value"), [
    ("iterations", np.int64(3)), ("iterations", 0), ("friction_epsilon", np.float32(0.1)), ("particle_enable_tile_solve", False),
    ("particle_enable_tile_solve", np.True_), ("particle_collision_detection_interval", -1),
    ("particle_collision_detection_interval", np.int32(7)), ("particle_topological_contact_filter_threshold", 0),
    ("particle_rest_shape_contact_exclusion_radius", 0), ("particle_edge_parallel_epsilon", 0.0), ("deterministic", None),
    ("rigid_contact_k_start", 0.0), ("rigid_joint_linear_k_start", 0.0), ("rigid_joint_linear_ke", 0.0), ("rigid_avbd_alpha", 1.0),
    ("rigid_avbd_gamma", 0.0), ("rigid_joint_linear_kd", -1.0), ("rigid_body_contact_buffer_size", 0),
    *[("deterministic", mode) for mode in getattr(wp, "DeterministicMode", ())],
])  # fmt: skip
def test_values_that_are_accepted(model, name, value):
    SolverVBD(model, **{name: value})


def test_margin_of_self_contact(model):
    """Only where self-contact is on."""
    SolverVBD(model, particle_self_contact_radius=0.3, particle_self_contact_margin=0.1)
    with pytest.raises(ValueError, match=r"margin \(0\.1 m\) is smaller than .*radius \(0\.3 m\).*1\.5 to 2 times"):
        SolverVBD(model, particle_enable_self_contact=True, particle_self_contact_radius=0.3, particle_self_contact_margin=0.1)


VERTEX_MAP, EDGE_MAP = "particle_external_vertex_contact_filtering_map", "particle_external_edge_contact_filtering_map"


@pytest.mark.parametrize(("name", "value", "found"), [
    (VERTEX_MAP, [(0, 1)], "dict from vertex to a list or set of triangles"), (VERTEX_MAP, {16: [0]}, "vertex from 0 to 15, found 16"),
    (VERTEX_MAP, {-1: [0]}, "found -1"), (VERTEX_MAP, {"0": [0]}, "found '0'"), (VERTEX_MAP, {True: [0]}, "found True"),
    (VERTEX_MAP, {0: 3}, r"\[0\] as a list or set of triangles, found 3"), (VERTEX_MAP, {0: [18]}, "triangle from 0 to 17, found 18"),
    (VERTEX_MAP, {0: {1.5}}, "found 1.5"), (EDGE_MAP, {0: "12"}, "list or set of edges"),
    (EDGE_MAP, {33: [0]}, "edge from 0 to 32, found 33"), (EDGE_MAP, {2: [0, 33]}, "edge from 0 to 32, found 33"),
])  # fmt: skip
def test_filter_maps_that_are_refused(name, value, found):
    model = cloth_on_slope()
    assert (model.particle_count, model.tri_count, model.edge_count) == (16, 18, 33)
    with pytest.raises(ValueError, match=f"{name}.*{found}"):
        SolverVBD(model, **{name: value})


def test_filter_maps_are_read_as_sorted_pairs():
    model = cloth_on_slope()
    tables = model.tables
    maps = {VERTEX_MAP: {3: [2, 1, 2], np.int64(0): {17}, 5: []}, EDGE_MAP: None}
    vertex, edge = read_filter_maps(maps, tables)
    assert vertex.tolist() == [[0, 17], [3, 1], [3, 2]] and vertex.dtype == np.int32 and edge.shape == (0, 2)
    vertex, edge = read_filter_maps({VERTEX_MAP: {}, EDGE_MAP: {32: np.array([4, 0])}}, tables)
    assert vertex.shape == (0, 2) and edge.tolist() == [[32, 0], [32, 4]]
    SolverVBD(model, **maps)


@pytest.mark.parametrize(("name", "value"), [
    ("particle_ke", 1e4), ("particle_mu", 0.0), ("particle_cohesion", 0.1), ("particle_adhesion", 0.1), ("particle_grid", object()),
])  # fmt: skip
def test_contact_between_loose_particles_is_warned_of(name, value):
    """Settings that are made on a model of ours; those that a model of another package has anyway only if they are no default."""
    model = falling_particles()
    setattr(model, name, value)
    with pytest.warns(UserWarning, match=rf"model\.{name} will have no effect.*loose particles") as caught:
        SolverVBD(model)
    assert len(caught) == 1 and caught[0].filename == __file__


def test_models_without_such_settings_are_not_warned_of():
    model = falling_particles()
    other = SimpleNamespace(
        **{name: getattr(model, name) for name in dir(model) if name.startswith(("particle_", "soft_"))}, device=model.device,
        world_count=1, gravity=model.gravity, body_color_groups=[],
    )  # fmt: skip
    other.particle_ke, other.particle_mu, other.particle_cohesion, other.particle_grid = 1e3, 0.5, 0.0, object()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        SolverVBD(model)
        SolverVBD(other)
    other.particle_cohesion = 0.5
    with pytest.warns(UserWarning, match="particle_cohesion will"):
        SolverVBD(other)


def test_ownership_error_lists_the_kinds(model):
    with pytest.raises(ValueError, match="'feature' or 'pair'"):
        SolverVBD(model, particle_self_contact_ownership="none")


def test_friction_error_lists_the_laws(model):
    with pytest.raises(ValueError, match="anchored.*smoothed"):
        SolverVBD(model, particle_contact_friction="none")


RIGID = [name for name in inspect.signature(SolverVBD.__init__).parameters if name.startswith(("rigid_contact_", "rigid_body_"))]


@pytest.mark.parametrize("name", [*RIGID, "rigid_avbd_contact_alpha"])
def test_arguments_of_rigid_contacts_are_checked(model, name):
    default = inspect.signature(SolverVBD.__init__).parameters[name].default
    SolverVBD(model, **{name: default})
    for wrong in ("much", -1.0, float("nan")):
        with pytest.raises(ValueError, match=name):
            SolverVBD(model, **{name: wrong})


def test_particles_without_colours():
    builder = hooke.ModelBuilder()
    add_points(builder, [(0.0, 0.0, 0.0)])
    with pytest.raises(ValueError, match=r"1 particles.*color\(\)"):
        SolverVBD(builder.finalize(device="cpu"))


def test_colours_that_leave_a_particle_out():
    model = falling_particles(3)
    model.particle_color_groups = [wp.array([0, 2], dtype=wp.int32, device="cpu")]
    with pytest.raises(ValueError, match="first is 1"):
        SolverVBD(model)


def test_particles_of_one_colour_that_share_an_element():
    builder = hooke.ModelBuilder()
    add_points(builder, [(0.0, 0.0, 0.0), (1.0, 0.0, 0.0), (2.0, 0.0, 0.0)])
    builder.add_spring(0, 1, 100.0, 0.0)
    builder.add_spring(1, 2, 100.0, 0.0)
    model = finalize(builder)
    groups = [[0, 2], [1]]
    model.particle_color_groups = [wp.array(g, dtype=wp.int32, device="cpu") for g in groups]
    SolverVBD(model)
    model.particle_color_groups = [wp.array(g, dtype=wp.int32, device="cpu") for g in ([0], [1, 2])]
    with pytest.raises(ValueError, match="particles 1 and 2.*spring 1"):
        SolverVBD(model)


@pytest.mark.parametrize("dt", [0.0, -0.01, float("nan"), float("inf")])
def test_time_step_must_be_positive_and_finite(model, dt):
    solver, a, b = SolverVBD(model), model.state(), model.state()
    with pytest.raises(ValueError, match="dt"):
        solver.step(a, b, None, None, dt)
    assert solver.status.steps == 0
    assert np.isfinite(b.particle_q.numpy()).all()


def test_states_of_another_model(model):
    other = falling_particles(2)
    solver = SolverVBD(model)
    with pytest.raises(ValueError, match=r"state_in\.particle_q has 2 rows, the model 3"):
        solver.step(other.state(), model.state(), None, None, 0.01)
    with pytest.raises(ValueError, match=r"state_out\.particle_q has 2 rows, the model 3"):
        solver.step(model.state(), other.state(), None, None, 0.01)
    with pytest.raises(ValueError, match=r"state_out\.particle_q has 0 rows"):
        solver.step(model.state(), hooke.State(), None, None, 0.01)


def test_state_arrays_of_wrong_length(model):
    """Every array that a step reads or writes is checked, not the positions alone: a short one would be read past its end."""
    for name in ("particle_qd", "particle_f"):
        for which in ("state_in", "state_out"):
            if (name, which) == ("particle_f", "state_out"):
                continue
            states = {"state_in": model.state(), "state_out": model.state()}
            setattr(states[which], name, wp.zeros(1, dtype=wp.vec3, device="cpu"))
            with pytest.raises(ValueError, match=rf"{which}\.{name} has 1 rows"):
                SolverVBD(model).step(states["state_in"], states["state_out"], None, None, 0.01)


def test_state_on_another_device(model):
    state = SimpleNamespace(particle_q=_Elsewhere(3), particle_qd=_Elsewhere(3), particle_f=None, body_q=None, body_qd=None)
    with pytest.raises(ValueError, match="device"):
        SolverVBD(model).step(state, model.state(), None, None, 0.01)


class _Elsewhere:
    """Stands for an array of a device that this machine does not have."""

    device = "cuda:7"

    def __init__(self, length):
        self.length = length
        self.shape = (length,)

    def __len__(self):
        return self.length


def test_bodies_of_a_state(model):
    """Poses are read by contacts of particles: a state without them, or of another model, is refused."""
    builder = hooke.ModelBuilder()
    add_points(builder, [(0.0, 0.0, 0.0)])
    for _ in range(2):
        builder.add_shape_box(builder.add_body(is_kinematic=True), hx=0.1, hy=0.1, hz=0.1)
    model = finalize(builder)
    for external in (False, True):
        solver = SolverVBD(model, integrate_with_external_rigid_solver=external)
        for which in ("state_in", "state_out"):
            for array, found in ((None, 0), (wp.zeros(1, dtype=wp.transform, device="cpu"), 1)):
                states = {"state_in": model.state(), "state_out": model.state()}
                states[which].body_q = array
                with pytest.raises(ValueError, match=rf"{which}\.body_q has {found} rows, the model 2 bodies"):
                    solver.step(states["state_in"], states["state_out"], None, None, 0.01)
        states = model.state(), model.state()
        states[1].body_qd = None
        if external:
            solver.step(*states, None, None, 0.01)
        else:
            with pytest.raises(ValueError, match=r"state_out\.body_qd has 0 rows"):
                solver.step(*states, None, None, 0.01)


def test_contacts_on_another_device(model):
    contacts = SimpleNamespace(soft_contact_max=3, soft_contact_count=_Elsewhere(1))
    with pytest.raises(ValueError, match="contacts are on device cuda:7"):
        SolverVBD(model).step(model.state(), model.state(), None, contacts, 0.01)


@pytest.mark.parametrize("name", ["soft_contact_ke", "soft_contact_kd", "soft_contact_mu"])
@pytest.mark.parametrize("value", [-1.0, float("nan"), float("inf")])
def test_contact_materials_that_are_none(name, value):
    model = falling_particles()
    solver = SolverVBD(model)
    setattr(model, name, value)
    with pytest.raises(ValueError, match=rf"model\.{name} >= 0 and finite, found {value}"):
        solver.step(model.state(), model.state(), None, None, 0.01)


@pytest.mark.parametrize("rows", [2, 0])
def test_arrays_of_the_model_keep_their_length(model, rows):
    for name in ("particle_mass", "particle_inv_mass", "particle_radius", "particle_flags", "particle_world", "particle_q"):
        with pytest.raises(ValueError, match=rf"{name}: expected 3 rows, found {rows}"):
            setattr(model, name, wp.zeros(rows, dtype=getattr(model, name).dtype, device="cpu"))


def test_colours_twice_or_of_nobody():
    for group, message in (([0, 1, 2, 2], "particle 2 is in more than one"), ([0, 1, 3], "names particle 3")):
        model = falling_particles(3)
        model.particle_color_groups = [wp.array(group, dtype=wp.int32, device="cpu")]
        with pytest.raises(ValueError, match=message):
            SolverVBD(model)


def test_update_contacts_wants_the_contacts_of_the_last_step():
    model = cloth_on_slope()
    run = simulate(model, steps=1, dt=0.01)
    run.solver.update_contacts(run.contacts)
    with pytest.raises(ValueError, match="last step"):
        run.solver.update_contacts(model.contacts())
    with pytest.raises(ValueError, match="last step"):
        SolverVBD(model).update_contacts(run.contacts)


def test_model_without_particles_steps():
    """A model of kinematic bodies alone goes through unchanged."""
    builder = hooke.ModelBuilder()
    builder.add_shape_box(builder.add_body(is_kinematic=True), hx=0.1, hy=0.1, hz=0.1)
    model = finalize(builder)
    run = simulate(model, steps=2, dt=0.01)
    assert np.array_equal(run.state.body_q.numpy(), model.body_q.numpy())
    assert run.solver.status.residual == 0.0
