"""What SolverVBD refuses, and what it says."""

import inspect
from types import SimpleNamespace

import numpy as np
import pytest
import warp as wp

import hooke
from hooke.solvers import SolverVBD
from tests.support import add_points, finalize, simulate

from .scenes import cloth_on_slope, falling_particles

SEED_ARGUMENTS = {
    "iterations": 10, "friction_epsilon": 1e-2, "integrate_with_external_rigid_solver": False,
    "particle_enable_self_contact": False, "particle_self_contact_radius": 0.2, "particle_self_contact_margin": 0.2,
    "particle_conservative_bound_relaxation": 0.85, "particle_vertex_contact_buffer_size": 32,
    "particle_edge_contact_buffer_size": 64, "particle_collision_detection_interval": 0, "particle_edge_parallel_epsilon": 1e-5,
    "particle_enable_tile_solve": True, "particle_topological_contact_filter_threshold": 2,
    "particle_rest_shape_contact_exclusion_radius": 0.0, "particle_external_vertex_contact_filtering_map": None,
    "particle_external_edge_contact_filtering_map": None, "particle_contact_friction": "anchored", "rigid_compliant_alm": True,
    "deterministic": None,
}  # fmt: skip


@pytest.fixture(scope="module")
def model():
    return falling_particles()


def test_documented_arguments_and_defaults():
    found = {name: p.default for name, p in inspect.signature(SolverVBD.__init__).parameters.items()}
    assert SEED_ARGUMENTS.items() <= found.items()


@pytest.mark.parametrize(("name", "value"), [
    ("iterations", -1), ("iterations", 2.5), ("iterations", "4"), ("iterations", None), ("friction_epsilon", 0.0),
    ("friction_epsilon", -1.0), ("friction_epsilon", float("nan")), ("friction_epsilon", float("inf")),
    ("particle_contact_friction", "coulomb"), ("particle_conservative_bound_relaxation", 0.0),
    ("particle_conservative_bound_relaxation", 1.0), ("particle_conservative_bound_relaxation", float("nan")),
    ("particle_acceleration", "chebyshev"), ("particle_acceleration", True), ("particle_tolerance", -1e-6),
    ("particle_tolerance", float("nan")), ("particle_tolerance", float("inf")),
])  # fmt: skip
def test_values_out_of_range_are_named(model, name, value):
    with pytest.raises(ValueError, match=name) as error:
        SolverVBD(model, **{name: value})
    assert repr(value) in str(error.value)


def test_friction_error_lists_the_laws(model):
    with pytest.raises(ValueError, match="anchored.*smoothed"):
        SolverVBD(model, particle_contact_friction="none")


def test_self_contact_is_refused(model):
    with pytest.raises(NotImplementedError, match="particle_enable_self_contact"):
        SolverVBD(model, particle_enable_self_contact=True)


RIGID = [p.name for p in inspect.signature(SolverVBD.__init__).parameters.values() if p.name.startswith("rigid_")]


@pytest.mark.parametrize("name", RIGID)
def test_rigid_arguments_must_keep_their_defaults(model, name):
    default = inspect.signature(SolverVBD.__init__).parameters[name].default
    SolverVBD(model, **{name: default})
    other = (not default) if isinstance(default, bool) else 17.5
    with pytest.raises(NotImplementedError, match=f"{name}="):
        SolverVBD(model, **{name: other})


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


def test_dynamic_body_is_named_by_label_and_index():
    builder = hooke.ModelBuilder()
    add_points(builder, [(0.0, 0.0, 0.0)])
    builder.add_shape_box(builder.add_body(label="lift", is_kinematic=True), hx=0.1, hy=0.1, hz=0.1)
    builder.add_shape_box(builder.add_body(label="arm"), hx=0.1, hy=0.1, hz=0.1)
    model = finalize(builder)
    with pytest.raises(NotImplementedError, match=r"'arm' \(index 1\)"):
        SolverVBD(model)
    SolverVBD(model, integrate_with_external_rigid_solver=True)


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
