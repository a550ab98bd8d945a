"""``hooke.run``: the loop over frames, what it records, and how it ends."""

import numpy as np
import pytest
import warp as wp

import hooke
from hooke.scenes import SCENES, Scene, cloth_hanging, four_bar, newton_cradle, soft_drop, spring_chain
from hooke.simulate import SimulationError
from hooke.solvers import SolverKamino
from tests.support import SMALL_SCENES


def chain() -> Scene:
    return spring_chain(links=4)


def test_run_records_every_frame_and_states_its_figures():
    seen = []
    result = hooke.run(chain, seconds=0.1, fps=50.0, substeps=4, iterations=5, progress=lambda *now: seen.append(now))
    assert result.trajectory.frame_count == 6 and np.allclose(result.trajectory.times, np.arange(6) / 50.0)
    assert [done for done, total, _ in seen] == [1, 2, 3, 4, 5] and seen[-1][1] == 5
    assert result.summary["steps"] == 20 and result.summary["simulated_s"] == pytest.approx(0.1)
    assert np.array_equal(result.trajectory.particle_q[-1], result.state.particle_q.numpy())
    for name in ("step_ms", "real_time_factor", "energy_start_J", "energy_end_J", "residual_N", "first_frame_s"):
        assert np.isfinite(result.summary[name]), name
    assert result.summary["energy_end_J"] < result.summary["energy_start_J"] + 1e-6
    assert result.trajectory.info["solver"] == "SolverVBD" and not result.interrupted


@pytest.mark.parametrize("name", SCENES)
def test_every_scene_runs(name):
    result = hooke.run(SCENES[name](**SMALL_SCENES[name]), seconds=2.0 / 60.0, substeps=2, iterations=2)
    track = result.trajectory
    assert track.frame_count == 3 and np.isfinite(track.particle_q).all() and np.isfinite(track.body_q).all()
    assert (track.particle_q[-1] != track.particle_q[0]).any() or (track.body_q[-1] != track.body_q[0]).any()


def test_run_writes_what_is_asked(tmp_path):
    result = hooke.run(chain, seconds=0.05, substeps=1, output=[tmp_path / "a.npz", tmp_path / "a.usda"])
    assert sorted(p.name for p in tmp_path.iterdir()) == ["a.npz", "a.usda"] and len(result.files) == 2
    again = hooke.Trajectory.load(tmp_path / "a.npz")
    assert np.array_equal(again.particle_q, result.trajectory.particle_q)
    assert again.info["summary"]["steps"] == result.summary["steps"]


def test_interrupting_keeps_what_was_simulated(tmp_path):
    def stop(done, total, seconds):
        if done == 3:
            raise KeyboardInterrupt

    result = hooke.run(chain, seconds=1.0, substeps=1, output=tmp_path / "part.npz", progress=stop)
    assert result.interrupted and result.trajectory.frame_count == 4
    assert hooke.Trajectory.load(tmp_path / "part.npz").frame_count == 4


def test_worlds_are_copies_side_by_side():
    result = hooke.run(chain, seconds=0.05, substeps=1, worlds=3)
    assert result.model.world_count == 3
    q = result.trajectory.particle_q[-1].reshape(3, -1, 3)
    single = hooke.run(chain, seconds=0.05, substeps=1).trajectory.particle_q[-1]
    for world in q:
        assert np.allclose(world - world[0] + single[0], single, atol=1e-5)
    assert len(np.unique(q[:, 0].round(3), axis=0)) == 3


def test_drive_moves_what_it_likes():
    def lift(model, state, time):
        q = state.particle_q.numpy()
        q[0, 2] = 1.2 + time
        state.particle_q.assign(q)

    scene = chain()
    scene.drive = lift
    result = hooke.run(scene, seconds=0.5, substeps=2)
    assert result.state.particle_q.numpy()[0, 2] == pytest.approx(1.2 + 0.5, abs=0.02)


def test_the_solver_is_the_scenes_or_the_one_that_is_named():
    """Both close the loop; each says how well it solved in its own measure."""
    own = hooke.run(four_bar, seconds=0.1)
    assert own.trajectory.info["solver"] == "SolverKamino" and own.trajectory.info["iterations"] == 200
    assert own.summary["residual_N"] is None and own.summary["natural_map"] == 0.0 and own.summary["converged"]
    other = hooke.run(four_bar, seconds=0.1, method="vbd")
    assert other.trajectory.info["solver"] == "SolverVBD" and other.trajectory.info["iterations"] == 10
    assert other.summary["residual_N"] > 0.0 and "natural_map" not in other.summary
    assert np.allclose(own.trajectory.body_q[-1], other.trajectory.body_q[-1], atol=2e-3)
    with pytest.raises(ValueError, match="'magic'.*vbd, kamino"):
        hooke.run(four_bar, method="magic")
    with pytest.raises(ValueError, match="particles"):
        hooke.run(chain, method="kamino")


def test_settings_of_a_scene_are_those_of_its_solver():
    scene = newton_cradle(balls=2)
    scene.solver = {"integrator": "moreau", "padmm": SolverKamino.Config().padmm}
    scene.solver["padmm"].max_iterations = 30
    assert hooke.run(scene, seconds=0.05).trajectory.info["iterations"] == 30
    assert hooke.run(scene, seconds=0.05, iterations=7).trajectory.info["iterations"] == 7
    assert scene.solver["padmm"].max_iterations == 30
    assert hooke.run(scene, seconds=0.05, method="vbd").trajectory.info["solver"] == "SolverVBD"
    scene.solver = {"nothing": 1}
    with pytest.raises(TypeError, match="nothing"):
        hooke.run(scene)


def test_command_writes_what_joints_are_to_do():
    def push(model, control, time):
        control.joint_target_qd.assign([-6.0 if time < 0.2 else 3.0, 0.0, 0.0, 0.0])

    scene = four_bar()
    scene.command = push
    crank = hooke.run(scene, seconds=0.5).state.body_qd.numpy()[0, 4]
    assert crank == pytest.approx(3.0, rel=1e-3)


def test_blow_up_is_said_and_what_came_before_is_kept():
    def burst(model, state, time):
        if time > 0.06:
            q = state.particle_qd.numpy()
            q[2] = np.nan
            state.particle_qd.assign(q)

    scene = chain()
    scene.drive = burst
    with pytest.raises(SimulationError, match="not finite after frame 5 .*substeps") as failure:
        hooke.run(scene, seconds=0.5, substeps=1)
    trajectory = failure.value.result.trajectory
    assert trajectory.frame_count == 5 and np.isfinite(trajectory.particle_q).all()


@pytest.mark.parametrize("wrong", [{"seconds": -1.0}, {"fps": 0.0}, {"substeps": 0}, {"worlds": 0}, {"seconds": float("nan")}])
def test_settings_out_of_range_are_refused(wrong):
    with pytest.raises(ValueError, match=next(iter(wrong))):
        hooke.run(chain, **wrong)


def test_unknown_scenes_are_refused():
    with pytest.raises(ValueError, match="cloth_hanging"):
        hooke.run("nothing")
    with pytest.raises(TypeError, match="Scene"):
        hooke.run(3)


def test_scenes_take_sizes_and_materials():
    assert cloth_hanging(n=4, material="denim").builder.particle_count == 25
    assert soft_drop(n=2, material="foam").builder.tet_count == 40
    with pytest.raises(KeyError):
        cloth_hanging(material="tin")


def test_default_device_is_used():
    assert str(hooke.run(chain, seconds=0.02, substeps=1).model.device) == str(wp.get_device())
