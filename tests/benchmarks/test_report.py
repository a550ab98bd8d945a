"""Reports: what may be reported, the CSV, the shares of the machine, the exponent, and the command line."""

import csv
import dataclasses

import numpy as np
import pytest

from benchmarks import compare, report, run, scaling
from benchmarks.cases import find_case
from benchmarks.child import measure
from benchmarks.engines import build_engine
from benchmarks.launch import Refused, judge, run_case
from benchmarks.memory import peak_memory, reset_peak, resident_memory
from benchmarks.roofline import FLOPS, Roofline, count_flops, sweep_bytes
from hooke import config

TINY = dataclasses.replace(find_case("cloth_64_bending"), n=4, warmup=1, steps=2, repeats=2)


@pytest.fixture(scope="module")
def measured():
    return measure("hooke", TINY, "plain")


@pytest.fixture(autouse=True)
def known_machine(monkeypatch):
    """Limits of a machine that need no measuring."""
    monkeypatch.setattr(report, "_peak_flops", lambda threads: 1e11)
    monkeypatch.setattr(report, "_bandwidth", lambda size, threads: 1e10)


def changed(measured, **arrays):
    return measured[0], {**measured[1], **arrays}


def test_a_good_run_is_reported(measured):
    good = judge(TINY, "hooke", "plain", *measured)
    assert len(good.ms) == 2 and good.median_ms > 0.0 and good.build_s > 0.0
    assert good.residual.largest < 10.0 and good.strain.largest < 0.1 and good.clearance > 2.0
    assert good.facts["status_residual"] > 0.0 and good.facts["sweep_bytes"] > 0


def test_overflow_is_refused(measured):
    numbers = {**measured[0], "overflow": {"rows": (9, 4)}}
    with pytest.raises(Refused, match=r"cloth_64_bending in hooke \(plain\).*rows: needed 9, had 4"):
        judge(TINY, "hooke", "plain", numbers, measured[1])


def test_blow_up_is_refused(measured):
    x = measured[1]["x_after"]
    for bad in (x * np.nan, x * 3.0):
        with pytest.raises(Refused, match="blew up"):
            judge(TINY, "hooke", "plain", *changed(measured, x_after=bad))
    with pytest.raises(Refused, match="ground"):
        judge(TINY, "hooke", "plain", *changed(measured, x_after=x - (0, 0, 4)))
    with pytest.raises(Refused, match="residual"):
        judge(TINY, "hooke", "plain", *changed(measured, v_after=x * np.nan))


def folded(measured):
    """The run as one of a case with self-contact, whose last state is folded over flat: the far half lies through the near one."""
    numbers = {**measured[0], "facts": {**measured[0]["facts"], "phases": {"detect": 1.0, "truncate": 0.5, "sweep": 2.5}}}
    x = measured[1]["x_after"].copy()
    far = x[:, 0] < -3.2
    x[far, 0] = -6.4 - x[far, 0]
    x[:, 2] += 0.01 * x[:, 1]
    return numbers, {**measured[1], "x_before": x, "x_after": x}


def test_intersections_and_phases_are_reported(measured):
    case = dataclasses.replace(TINY, contact_distance=0.2, contact_gap=0.1)
    clean = judge(case, "hooke", "plain", *measured)
    assert (clean.contact.intersections, clean.contact.pairs, clean.contact.near.sum()) == (0, 0, 0)
    assert clean.residual.largest == judge(TINY, "hooke", "plain", *measured).residual.largest
    made = judge(case, "hooke", "plain", *folded(measured))
    assert made.contact.intersections > 0 and made.contact.vertex_demand > 0
    assert made.contact.near.all() and made.residual is None
    row = report.compare_runs(case, [made], [made])
    assert row.hooke_intersections == row.peer_intersections == made.contact.intersections
    assert (row.detect_share, row.truncate_share) == (0.25, 0.125)
    assert (
        report.phase_share(clean, "detect") is None and report.count_intersections(judge(TINY, "hooke", "plain", *measured)) is None
    )


def test_lists_that_do_not_grow_are_checked(measured):
    case = dataclasses.replace(TINY, contact_distance=0.2, contact_gap=0.1)
    numbers, arrays = folded(measured)
    with pytest.raises(Refused, match="contacts of one edge: needed .*, had 1"):
        judge(case, "newton", "plain", {**numbers, "facts": {"contact_buffers": {"edge": 1}}}, arrays)


def test_rows_of_before_a_column_are_kept(measured, tmp_path):
    row = report.compare_runs(TINY, [fake_run(measured, "hooke")], [fake_run(measured, "newton")])
    path = report.save_rows([row], tmp_path)
    with path.open(newline="") as file:
        old = list(csv.DictReader(file))
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, [name for name in old[0] if name != "detect_share"], extrasaction="ignore")
        writer.writeheader()
        writer.writerows(old)
    report.save_rows([dataclasses.replace(row, peer="mujoco")], tmp_path)
    with path.open(newline="") as file:
        assert [(new["peer"], new["detect_share"]) for new in csv.DictReader(file)] == [("mujoco", ""), ("newton", "")]


def test_a_process_that_fails_is_refused():
    with pytest.raises(Refused, match="ended with code 1.*no_such_engine"):
        run_case(TINY, "no_such_engine")


def fake_run(measured, engine, way="plain", factor=1.0):
    made = judge(TINY, engine if engine != "mujoco" else "hooke", way, *measured)
    residual = None if engine == "mujoco" else made.residual
    return dataclasses.replace(made, engine=engine, residual=residual, ms=tuple(factor * ms for ms in (1.0, 3.0, 2.0)))


def test_a_row_takes_medians_and_the_better_way(measured, tmp_path, monkeypatch):
    peer = [fake_run(measured, "newton", "plain", 9.0), fake_run(measured, "newton", "graph", 5.0)] * 2
    row = report.compare_runs(TINY, [fake_run(measured, "hooke")] * 2, peer)
    assert (row.hooke_ms, row.peer_ms, row.ratio, row.peer_way) == (2.0, 10.0, 5.0, "graph")
    assert row.roofline_share == max(row.compute_share, row.bandwidth_share) > 0.0
    path = report.save_rows([row], tmp_path)
    other = report.compare_runs(TINY, [fake_run(measured, "hooke")], [fake_run(measured, "mujoco")])
    assert other.peer_residual is None
    report.save_rows([other], tmp_path)
    report.save_rows([dataclasses.replace(row, hooke_ms=4.0)], tmp_path)  # the same key: replaces
    with path.open(newline="") as file:
        rows = {stored["peer"]: stored for stored in csv.DictReader(file)}
    assert list(rows) == ["mujoco", "newton"] and rows["newton"]["hooke_ms"] == "4"
    assert set(rows["newton"]) == {field.name for field in dataclasses.fields(report.Row)}
    assert rows["mujoco"]["peer_residual"] == "" and path.stem == report.machine_name()


def test_compare_runs_engines_in_turn_and_writes(measured, tmp_path, monkeypatch, capsys):
    called = []

    def run_case(case, engine, way="plain", python=None, workers=None):
        called.append((engine, way, python, workers))
        return fake_run(measured, engine, way)

    monkeypatch.setattr(compare, "run_case", run_case)
    words = "--peer newton --peer-python there --rounds 2 --workers 2 cloth_64 --results".split() + [str(tmp_path)]
    assert compare.main(words) == 0
    assert called == 2 * [("hooke", "plain", None, 2), ("newton", "plain", "there", None), ("newton", "graph", "there", None)]
    assert "ratio" in capsys.readouterr().out and len(list(tmp_path.glob("*.csv"))) == 1


def test_a_refused_case_has_no_row(tmp_path, monkeypatch, capsys):
    def run_case(*arguments, **named):
        raise Refused("rows: needed 9, had 4")

    monkeypatch.setattr(compare, "run_case", run_case)
    monkeypatch.setattr(run, "run_case", run_case)
    monkeypatch.setattr(scaling, "run_case", run_case)
    assert compare.main(["--peer", "newton", "--results", str(tmp_path), "cloth_64"]) == 1
    assert run.main(["cloth_64"]) == 1
    assert scaling.main(["soft"]) == 1
    assert not list(tmp_path.iterdir()) and capsys.readouterr().err.count("refused: rows: needed 9, had 4") == 3


def test_run_in_a_process_of_its_own(monkeypatch, capsys):
    """The whole way, with the number of workers handed to the child."""
    monkeypatch.setattr(run, "chosen_cases", lambda names, steps: [TINY])
    assert run.main(["--workers", "1"]) == 0
    line = capsys.readouterr().out.splitlines()[-1].split()
    assert line[:3] == ["cloth_64_bending", "25", "1"]


def test_unknown_cases_end_with_code_2(capsys):
    with pytest.raises(SystemExit) as error:
        run.main(["cloth"])
    assert error.value.code == 2 and "cloth_64_bending" in capsys.readouterr().err


def test_exponent_of_synthetic_data():
    size = np.array([1e3, 4e3, 2e4, 1e6])
    assert scaling.fit_exponent(size, 3e-4 * size**1.17) == pytest.approx(1.17)
    with pytest.raises(ValueError, match="two or more"):
        scaling.fit_exponent([1.0], [2.0])


@pytest.mark.parametrize("name", ["cloth_64_bending", "soft_8"])
def test_sweep_bytes_are_those_of_the_records(name):
    """By counting: a record of a triangle is 3 indices, 6 offsets, 9 constants of 4 bytes; padding and sums come on top."""
    engine = build_engine("hooke", dataclasses.replace(find_case(name), n=8))
    model = engine.export()
    corner = {"tri": 4 * 3 * (3 + 6 + 9), "edge": 4 * 4 * (4 + 9 + 7), "tet": 4 * 4 * (4 + 9 + 15)}
    hinges = (model["edge_indices"] >= 0).all(axis=1).sum() if name.startswith("cloth") else 0
    active = len(model["tri_indices"]) if name.startswith("cloth") else 0
    least = active * corner["tri"] + hinges * corner["edge"] + len(model.get("tet_indices", ())) * corner["tet"]
    if config.lanes:
        assert least < sweep_bytes(engine.solver) < 4 * least


def test_flops_of_a_single_triangle_and_hinge():
    model = {
        "particle_mass": np.array([0.0, 1.0, 1.0, 1.0]),
        "tri_indices": np.array([(0, 2, 3), (1, 3, 2)]),
        "tri_materials": np.ones((2, 5)),
        "edge_indices": np.array([(0, 1, 2, 3), (-1, 0, 1, 2)]),
        "edge_bending_properties": np.ones((2, 2)),
    }
    expected = 3 * FLOPS["solve"] + 5 * FLOPS["triangle"] + FLOPS["hinge_tip"] + 2 * FLOPS["hinge_rim"]
    assert count_flops(model) == expected


def test_roofline_takes_the_tighter_limit():
    roof = Roofline(flops=1e9, bytes=4e9, seconds=1.0, peak_flops=1e10, peak_bandwidth=1e10)
    assert (roof.compute_share, roof.bandwidth_share, roof.share) == pytest.approx((0.1, 0.4, 0.4))


def test_peak_memory_sees_what_was_freed():
    reset_peak()
    before = resident_memory()
    block = np.ones(50_000_000, np.uint8)
    del block
    assert peak_memory() >= before + 40_000_000 or peak_memory() >= before > 0
