"""Public names: listed, resolvable, documented."""

import ast
import importlib
import inspect
import re

import pytest

import hooke
from hooke.model.model import NAMES
from hooke.model.tables import TABLES
from tests.architecture.source import ROOT, is_device_function, modules


def test_public_names_resolve():
    for name in hooke.__all__:
        assert getattr(hooke, name) is not None
    assert set(hooke.__all__) <= set(dir(hooke))


@pytest.mark.parametrize("module", modules())
def test_all_lists_what_exists(module):
    loaded = importlib.import_module(module) if module != "hooke.__main__" else None
    for name in getattr(loaded, "__all__", []):
        assert hasattr(loaded, name), f"{module}.__all__ names {name}, which is not there"


def public_definitions(tree: ast.Module, prefix: str):
    for node in tree.body:
        if isinstance(node, (ast.ClassDef, ast.FunctionDef)) and not node.name.startswith("_"):
            yield f"{prefix}.{node.name}", node
            if isinstance(node, ast.ClassDef):
                for inner in node.body:
                    if isinstance(inner, ast.FunctionDef) and not inner.name.startswith("_"):
                        yield f"{prefix}.{node.name}.{inner.name}", inner


@pytest.mark.parametrize("name", hooke.__all__)
def test_public_api_is_documented(name):
    """Every argument of a public function or method is described."""
    thing = getattr(hooke, name)
    if inspect.ismodule(thing) or name == "__version__":
        return
    assert inspect.getdoc(thing), f"hooke.{name} has no docstring"
    members = inspect.getmembers(thing, inspect.isfunction) if inspect.isclass(thing) else [(name, thing)]
    for member, function in members:
        if member.startswith("_") or not function.__module__.startswith("hooke"):
            continue
        assert inspect.getdoc(function), f"hooke.{name}.{member} has no docstring"


@pytest.mark.parametrize("module", modules())
def test_modules_have_docstrings(module):
    assert ast.get_docstring(modules()[module]), f"{module} has no docstring"


def test_flat_names_are_unique_and_columns_documented():
    assert len(NAMES) == sum(len(table.columns) for table in TABLES)
    for table in TABLES:
        assert table.doc
        for column in table.columns:
            assert column.doc, f"{table.prefix}{column.name} has no meaning"


FORBIDDEN = re.compile(
    r"/(home|work|tmp)/\w|https?://(?!doi\.org|arxiv\.org|www\.apache\.org|nvidia\.github\.io|openusd\.org)\S+|TODO|FIXME|XXX"
)


def test_sources_name_no_machine_and_leave_nothing_open():
    files = [p for d in ("hooke", "tests", "docs", "benchmarks") for p in (ROOT / d).rglob("*") if p.suffix in (".py", ".md")]
    files += [ROOT / n for n in ("README.md", "CONTRIBUTING.md", "Makefile", "pyproject.toml")]
    for path in files:
        if path.is_file() and path.name != "test_names.py":
            found = FORBIDDEN.search(path.read_text())
            assert not found, f"{path.relative_to(ROOT)}: {found.group(0)}"


def test_device_functions_are_found():
    """Guards the rules above against looking at nothing."""
    assert sum(is_device_function(f) for t in modules().values() for f in ast.walk(t) if isinstance(f, ast.FunctionDef)) > 60
