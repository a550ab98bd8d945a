"""The documentation follows the code: the page of the model is generated, and the README's example runs."""

import re
import runpy
import textwrap

import numpy as np
import pytest

import hooke
from tests.architecture.source import ROOT


def test_page_of_the_model_is_up_to_date():
    page = runpy.run_path(str(ROOT / "docs" / "make_model_page.py"))["page"]()
    assert (ROOT / "docs" / "guide" / "model.md").read_text() == page, "run: python docs/make_model_page.py"


def test_links_lead_somewhere():
    for path in [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]:
        for target in re.findall(r"\]\(([^)#]+)\)", path.read_text()):
            if "://" not in target:
                assert (path.parent / target).exists(), f"{path.name} links to {target}"


def test_example_of_the_readme_runs():
    example = re.search(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL).group(1)
    space: dict = {}
    exec(example.replace("range(600)", "range(3)"), space)
    assert space["solver"].status.steps == 3 and space["solver"].status.ok


def test_example_of_the_page_of_joints_runs():
    text = (ROOT / "docs" / "guide" / "joints.md").read_text()
    block = re.search(r"\n\n((?:    .*\n)+)", text).group(1)
    space: dict = {"hooke": hooke, "np": np}
    exec(textwrap.dedent(block), space)
    assert space["model"].joint_dof_count == 4


def test_contributing_is_short():
    assert len((ROOT / "CONTRIBUTING.md").read_text().splitlines()) <= 60


def test_example_of_the_page_of_bodies_runs():
    text = (ROOT / "docs" / "guide" / "bodies.md").read_text()
    space: dict = {}
    exec(textwrap.dedent(re.search(r"\n\n((?:    .*\n|\n(?=    ))+)", text).group(1)), space)
    assert abs(space["state"].joint_q.numpy()[0] - 0.3) < 0.05


def test_example_of_the_page_of_the_complementarity_problem_runs():
    text = (ROOT / "docs" / "guide" / "ncp.md").read_text()
    space: dict = {}
    exec(textwrap.dedent(re.search(r"\n\n((?:    .*\n|\n(?=    ))+)", text).group(1)), space)
    np.testing.assert_allclose(space["found"].impulses, [[1.0, -0.3, 0.0]], atol=1e-9)
    np.testing.assert_allclose(space["found"].velocities, [[0.0, 0.95, 0.0]], atol=1e-9)


def test_example_of_the_page_of_resets_runs():
    text = (ROOT / "docs" / "guide" / "kamino_reset.md").read_text()
    space: dict = {}
    exec(re.search(r"```python\n(.*?)```", text, re.DOTALL).group(1), space)
    assert space["status"].converged.tolist() == [True, False, True]
    assert np.allclose(space["state"].joint_q.numpy().reshape(3, -1)[:, 0], [0.5, 0.0, 1.5])


def test_examples_of_the_page_of_kamino_run():
    """All blocks in their order, each going on with what the ones before have left."""
    text = (ROOT / "docs" / "guide" / "kamino.md").read_text()
    space: dict = {}
    for block in re.findall(r"\n\n((?:    .*\n|\n(?=    ))+)", text):
        exec(textwrap.dedent(block), space)
    assert space["solver"].status.converged and abs(space["state"].body_q.numpy()[0, 2] - 0.1) < 1e-4
    force = space["contacts"].rigid_contact_force.numpy()[: space["count"]].sum(axis=0)
    assert np.allclose(force[:3], (0.0, 0.0, 9.81 * space["model"].body_mass.numpy()[0]), rtol=1e-3, atol=1e-2)


def test_examples_of_the_page_of_importers_run():
    """All blocks in their order; those of MJCF and USD need their packages."""
    pytest.importorskip("mujoco")
    pytest.importorskip("pxr.UsdPhysics")
    text = (ROOT / "docs" / "guide" / "importers.md").read_text()
    space: dict = {}
    for block in re.findall(r"\n\n((?:    .*\n|\n(?=    ))+)", text):
        exec(textwrap.dedent(block), space)
    assert abs(space["model"].joint_q.numpy()[0] - 0.5) < 1e-6
