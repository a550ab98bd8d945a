"""The piles of the detection benchmark: poses, and what hooke finds in a small one."""

import dataclasses

import numpy as np
import pytest

from benchmarks.detect import PILES, detect


@pytest.mark.parametrize("name", PILES)
def test_poses(name):
    poses = PILES[name].poses()
    assert poses.shape == (PILES[name].count, 7)
    np.testing.assert_allclose(np.linalg.norm(poses[:, 3:], axis=1), 1.0)
    np.testing.assert_array_equal(poses, PILES[name].poses())


def test_a_small_pile():
    result = detect("hooke", None, dataclasses.replace(PILES["spheres_10000"], count=64, passes=2))
    place = dataclasses.replace(PILES["spheres_10000"], count=64).poses()[:, :3]
    apart = np.linalg.norm(place[:, None] - place[None], axis=2)[np.triu_indices(64, 1)] - 0.2
    above = place[:, 2] - 0.1
    expected = np.concatenate([apart[apart < 0.02], above[above < 0.02]])
    assert result["rows"] == len(expected) > 50
    assert result["separation"] == pytest.approx(expected.mean(), abs=1e-6)
    assert result["ms"] > 0.0
