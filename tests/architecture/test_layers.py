"""Imports point one way only (docs/decisions/0002)."""

import ast

import pytest

from tests.architecture.source import modules

LAYERS = [
    {"math", "linalg", "execution", "data", "config", "profile"},
    {"geometry"},
    {"elements", "joints", "contact"},
    {"model"},
    {"importers", "viewer", "collision", "utils", "selection"},
    {"solvers"},
    {"scenes"},
    {"simulate"},
    {"examples", "cli", "gym", "sweep"},
    {"__main__"},
]
LEVEL = {name: level for level, names in enumerate(LAYERS) for name in names}


# Documented conveniences that reach up, each inside a function: (module, what it imports).
REACH_UP = {
    ("hooke.geometry.mesh", "importers"),
    ("hooke.geometry.tetmesh", "importers"),
    ("hooke.model.model", "collision"),
    ("hooke.model.build_imports", "importers"),
}


def part_of(module: str) -> str:
    words = module.split(".")
    return words[1] if len(words) > 1 else ""


def imports(tree: ast.Module):
    """Every import of hooke: (module, whether it runs when the file is loaded)."""
    inner = {id(n) for f in ast.walk(tree) if isinstance(f, (ast.FunctionDef, ast.AsyncFunctionDef)) for n in ast.walk(f)}
    typing_only = {
        id(n)
        for block in ast.walk(tree)
        if isinstance(block, ast.If) and "TYPE_CHECKING" in ast.unparse(block.test)
        for n in ast.walk(block)
    }
    for node in ast.walk(tree):
        names = []
        if isinstance(node, ast.ImportFrom) and node.module:
            names = [node.module]
        elif isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        for name in names:
            if name.split(".")[0] == "hooke" and id(node) not in typing_only:
                yield name, id(node) not in inner


@pytest.mark.parametrize("module", [m for m in modules() if part_of(m)])
def test_imports_point_down(module):
    part = part_of(module)
    assert part in LEVEL, f"hooke/{part} is in no layer; add it to LAYERS where it belongs"
    for target, at_load in imports(modules()[module]):
        other = part_of(target)
        if other in ("", part):
            continue
        if not at_load and (module, other) in REACH_UP:
            continue
        allowed = LEVEL[other] < LEVEL[part]
        assert allowed, f"{module} imports {target}: {part} must not use {other}"


def test_viewer_and_importers_know_no_solver():
    for module, tree in modules().items():
        if part_of(module) in ("viewer", "importers"):
            used = {part_of(target) for target, _ in imports(tree)}
            assert used <= {"viewer", "importers", "model", "geometry", "joints", "data", "math"}, f"{module} uses {sorted(used)}"


OPTIONAL = {"pxr", "mujoco", "viser", "ray", "trimesh", "scipy", "imageio", "PIL", "matplotlib", "gymnasium"}


def test_optional_packages_are_imported_where_they_are_needed():
    for module, tree in modules().items():
        for node in tree.body:
            names = (
                [a.name for a in node.names]
                if isinstance(node, ast.Import)
                else [node.module or ""]
                if isinstance(node, ast.ImportFrom)
                else []
            )
            found = {name.split(".")[0] for name in names} & OPTIONAL
            assert not found, f"{module} imports {sorted(found)} when it is loaded; import it inside the function that needs it"
    for module, tree in modules().items():
        if module not in ("hooke.cli", "hooke.__main__"):
            text = ast.unparse(tree)
            assert "import typer" not in text and "from rich" not in text, (
                f"{module}: typer and rich belong to the command line alone"
            )
