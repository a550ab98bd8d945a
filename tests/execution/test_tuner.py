"""The choice of the number of workers, by times that are made up."""

import pytest

from hooke import config
from hooke.execution.pool import _quota, cores
from hooke.execution.tuner import Tuner


@pytest.fixture(autouse=True)
def automatic(monkeypatch):
    monkeypatch.setattr(config, "workers", None)


def spend(tuner, calls, cost):
    """Time of some calls that cost ``cost(workers)``, and the last choices."""
    total, chosen = 0.0, []
    for _ in range(calls):
        chosen.append(tuner.workers())
        tuner.measured(chosen[-1], cost(chosen[-1]))
        total += cost(chosen[-1])
    return total, chosen


def shared(work, barrier=2e-5, cores=1 << 20):
    """Time of a call by workers that share its work."""
    return lambda workers: work / min(workers, cores) + barrier * workers


@pytest.mark.parametrize(
    ("limit", "work", "best"), [(1, 1.0, 1), (2, 1e-4, 1), (2, 1e-3, 2), (6, 1.0, 4), (64, 1e-4, 1), (64, 5e-4, 4), (64, 1.0, 16)]
)
def test_every_worker_has_enough_to_do(limit, work, best):
    tuner = Tuner(limit)
    spend(tuner, 300, shared(work))
    _, chosen = spend(tuner, 1000, shared(work))
    assert max(chosen) <= limit and all(n & (n - 1) == 0 for n in chosen)
    assert chosen.count(best) > 900


def test_fewer_workers_when_the_machine_has_less_to_give():
    """64 cores are visible, and 4 give anything."""
    tuner = Tuner(64)
    spend(tuner, 300, shared(5e-3, cores=4, barrier=1e-4))
    _, chosen = spend(tuner, 500, shared(5e-3, cores=4, barrier=1e-4))
    assert chosen.count(4) > 450


def test_neighbours_come_and_go():
    """A load that makes two workers slower than one is noticed within 40 calls, and its end too; trials cost little."""
    quiet, loaded = {1: 4e-3, 2: 2.2e-3}, {1: 8e-3, 2: 2e-2}
    tuner = Tuner(2)
    spend(tuner, 1000, quiet.__getitem__)
    assert tuner.workers() == 2
    spend(tuner, 40, loaded.__getitem__)
    total, chosen = spend(tuner, 1000, loaded.__getitem__)
    assert total < 1000 * loaded[1] * 1.1 and chosen.count(1) > 950
    spend(tuner, 40, quiet.__getitem__)
    total, chosen = spend(tuner, 1000, quiet.__getitem__)
    assert total < 1000 * quiet[2] * 1.03 and chosen.count(2) > 950


def test_what_is_asked_for_is_given_within_bounds(monkeypatch):
    tuner = Tuner(2)
    for asked, given in ((1, 1), (3, 3), (10_000, 256)):
        monkeypatch.setattr(config, "workers", asked)
        assert tuner.workers() == given
        tuner.measured(given, 1.0)
    assert Tuner(2, most=1).workers() == 1
    monkeypatch.setattr(config, "workers", None)
    assert tuner.workers() == 1


def test_cores_of_a_container(tmp_path):
    assert cores() >= 1 and _quota(str(tmp_path)) > 1000
    (tmp_path / "cpu").mkdir()
    for name, value in (("quota", -1), ("period", 100000)):
        (tmp_path / "cpu" / f"cpu.cfs_{name}_us").write_text(f"{value}\n")
    assert _quota(str(tmp_path)) > 1000
    (tmp_path / "cpu" / "cpu.cfs_quota_us").write_text("350000\n")
    assert _quota(str(tmp_path)) == 3
    (tmp_path / "cpu.max").write_text("200000 100000\n")
    assert _quota(str(tmp_path)) == 2
