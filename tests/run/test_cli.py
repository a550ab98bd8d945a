"""The command line, as a user starts it. Most calls run in this process to save the start of an interpreter."""

import os
import subprocess
import sys

import numpy as np
import pytest

from hooke import Trajectory
from hooke.cli import BUILT_IN, main
from hooke.scenes import SCENES


@pytest.fixture
def command(monkeypatch, tmp_path):
    """Runs ``hooke ARGUMENTS`` in an empty folder and returns its exit code."""
    monkeypatch.chdir(tmp_path)

    def run(*arguments: str) -> int:
        monkeypatch.setattr(sys, "argv", ["hooke", *arguments])
        try:
            main()
        except SystemExit as stop:
            return int(stop.code or 0)
        return 0

    return run


def test_run_render_info(command, tmp_path, capsys):
    assert command("run", "spring_chain", "--seconds", "0.1", "--substeps", "2", "-o", "out/chain.npz", "-o", "out/chain.usda") == 0
    printed = capsys.readouterr().out
    for word in ("steps", "time per step", "real-time factor", "max penetration", "energy", "overflow", "recording: out/chain.npz"):
        assert word in printed, word
    assert Trajectory.load(tmp_path / "out/chain.npz").frame_count == 7
    assert command("render", "out/chain.npz", "--width", "64", "--height", "48") == 0
    assert "picture: out/chain.png" in capsys.readouterr().out and (tmp_path / "out/chain.png").stat().st_size > 100
    assert command("render", "out/chain.npz", "-o", "film.gif", "--width", "64", "--height", "48", "--every", "3") == 0
    assert command("info", "out/chain.npz") == 0
    assert "SolverVBD" in capsys.readouterr().out


def test_scenes_are_listed(command, capsys):
    assert tuple(SCENES) == BUILT_IN
    assert command("info") == 0
    printed = capsys.readouterr().out
    assert all(name in printed for name in SCENES) and "Square cards" in printed
    assert command("run", "--help") == 0
    printed = "".join(capsys.readouterr().out.replace("│", " ").split())
    assert ",".join(SCENES) in printed


def test_default_output_is_named_after_the_scene(command, tmp_path):
    assert command("run", "spring_chain", "--seconds", "0.02", "--substeps", "1", "--quiet") == 0
    assert (tmp_path / "results" / "spring_chain.npz").is_file()


def test_the_solver_can_be_chosen(command, tmp_path, capsys):
    for solver, name, unit in (("kamino", "SolverKamino", "converged"), ("vbd", "SolverVBD", " N ")):
        assert command("run", "four_bar", "--solver", solver, "--seconds", "0.05", "-o", "a.npz") == 0
        residual = next(line for line in capsys.readouterr().out.splitlines() if "residual" in line)
        assert unit in residual
        assert Trajectory.load(tmp_path / "a.npz").info["solver"] == name


def test_files_with_roles(command, tmp_path, capsys):
    (tmp_path / "t.obj").write_text("v 0 0 0\nv 1 0 0\nv 0 1 0\nv 1 1 0\nf 1 2 3\nf 2 4 3\n")
    arguments = "run t.obj:cloth --seconds 0.05 --substeps 2 --pin plane:-1,0,0,0.1 --place 0,0,2 --scale 2 --material denim"
    assert command(*arguments.split(), "--ground", "none", "-o", "t.npz") == 0
    q = Trajectory.load(tmp_path / "t.npz").particle_q
    assert np.allclose(q[0].mean(axis=0), (0.0, 0.0, 2.0)) and np.ptp(q[0][:, 0]) == pytest.approx(2.0)
    assert np.array_equal(q[-1][q[0][:, 0] < -0.5], q[0][q[0][:, 0] < -0.5])  # the pinned side
    assert (q[-1][q[0][:, 0] > 0.5, 2] < 2.0).all()
    assert command("info", "t.obj") == 0
    assert "4, 2" in capsys.readouterr().out


@pytest.mark.parametrize(
    "arguments, message",
    [
        (["run", "nothing"], "unknown scene"),
        (["run", "missing.obj:cloth"], "no such file"),
        (["run", "missing.obj:hat"], "FILE:ROLE"),
        (["run", "cloth_hanging", "--seconds", "-1"], "seconds"),
        (["run", "cloth_hanging", "--iterations", "-1"], "iterations"),
        (["run", "cloth_hanging", "-o", "x.txt"], "ending in .npz"),
        (["run", "cloth_hanging", "--material", "tin"], "preset"),
        (["run", "cloth_hanging", "--scale", "2"], "only for FILE:ROLE"),
        (["run", "cloth_hanging", "--pin", "ball:1"], "box:"),
        (["run", "cloth_hanging", "--solver", "magic"], "vbd, kamino"),
        (["run", "cloth_hanging", "--solver", "kamino"], "particles"),
        (["run", "cloth_hanging", "--device", "cuda:7"], "cuda:7"),
        (["run", "a.obj:cloth", "b.obj:cloth", "c.obj:cloth", "--scale", "1", "--scale", "2"], "once per file"),
        (["render", "missing.npz"], "missing.npz"),
        (["info", "missing.usd"], "no such file"),
        (["run", "cloth_hanging", "--bogus"], "No such option"),
    ],
)
def test_bad_input_is_one_line_and_exit_code_2(command, tmp_path, capsys, arguments, message):
    assert command(*arguments) == 2
    assert message in capsys.readouterr().err
    assert list(tmp_path.rglob("*.*")) == []  # nothing half written


def test_a_damaged_recording_is_refused(command, tmp_path, capsys):
    (tmp_path / "bad.npz").write_bytes(b"PK\x03\x04 not a zip")
    assert command("render", "bad.npz") == 2
    assert "not a whole recording" in capsys.readouterr().err


def test_the_installed_command_starts():
    done = subprocess.run([sys.executable, "-m", "hooke", "--help"], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0 and "render" in done.stdout


@pytest.mark.slow
def test_warmup_compiles_once(tmp_path):
    """In a process of its own with an empty kernel cache: first what compiles is named, then everything is there."""
    environment = {**os.environ, "WARP_CACHE_PATH": str(tmp_path / "cache")}
    command = [sys.executable, "-m", "hooke", "warmup", "spring_chain"]
    first, second = (subprocess.run(command, capture_output=True, text=True, timeout=600, env=environment) for _ in range(2))
    assert first.returncode == second.returncode == 0, first.stderr + second.stderr
    for word in ("compiling detect_soft_contacts", "compiled detect_soft_contacts in ", "compiling measure_spring"):
        assert word in first.stderr, word
    assert "compiled " in first.stdout and "stay in the cache" in first.stdout
    assert "compiling" not in second.stderr + second.stdout and "everything is in the cache" in second.stdout


def test_warmup_of_files_and_names(command, tmp_path, capsys):
    (tmp_path / "t.obj").write_text("v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n")
    for said in ("in the cache", "everything is in the cache"):
        assert command("warmup", "spring_chain", "t.obj:cloth") == 0
        printed = capsys.readouterr().out
        assert "spring_chain ..." in printed and "t ..." in printed and said in printed
    assert sorted(p.name for p in tmp_path.iterdir()) == ["t.obj"]  # nothing is recorded


def test_warmup_of_what_is_no_scene(command, capsys):
    assert command("warmup", "nothing") == 2
    assert "unknown scene" in capsys.readouterr().err
