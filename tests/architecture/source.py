"""The source tree as the rules look at it: every file of the package, parsed once."""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "hooke"


@cache
def modules() -> dict[str, ast.Module]:
    """Syntax tree of every module by dotted name."""
    found = {}
    for path in sorted(PACKAGE.rglob("*.py")):
        name = ".".join(path.relative_to(ROOT).with_suffix("").parts)
        found[name.removesuffix(".__init__")] = ast.parse(path.read_text(), filename=str(path))
    return found


def functions(tree: ast.AST) -> list[ast.FunctionDef]:
    return [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]


def decorator_names(function: ast.FunctionDef) -> set[str]:
    """Dotted names of the decorators, without their arguments."""
    return {ast.unparse(d.func if isinstance(d, ast.Call) else d) for d in function.decorator_list}


def is_kernel(function: ast.FunctionDef) -> bool:
    return "wp.kernel" in decorator_names(function)


def is_device_function(function: ast.FunctionDef) -> bool:
    return bool({"wp.func", "wp.kernel", "wp.func_native"} & decorator_names(function))
