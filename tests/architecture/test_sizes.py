"""Small on purpose: files, functions and kernels stay within bounds; a decision record may raise one."""

import ast

import pytest

from tests.architecture.source import functions, is_kernel, modules

FILE_LINES = 600
FUNCTION_LINES = 60
KERNEL_PARAMETERS = 12

ALLOWED_FUNCTIONS: dict[str, int] = {}  # "module.function": lines, with the decision record that says why


def body_lines(function: ast.FunctionDef) -> int:
    """Lines of the body without the docstring and without functions inside it, which count for themselves."""
    body = function.body[1:] if ast.get_docstring(function, clean=False) else function.body
    if not body:
        return 0
    lines = (body[-1].end_lineno or 0) - body[0].lineno + 1
    for inner in ast.walk(function):
        if inner is not function and isinstance(inner, ast.FunctionDef) and inner in function.body:
            first = min([inner.lineno, *(d.lineno for d in inner.decorator_list)])
            lines -= (inner.end_lineno or 0) - first + 1
    return lines


@pytest.mark.parametrize("module", modules())
def test_files_and_functions_are_small(module):
    tree = modules()[module]
    last = max((getattr(node, "end_lineno", 0) or 0 for node in tree.body), default=0)
    assert last <= FILE_LINES, f"{module} has {last} lines; split it, or record a decision"
    for function in functions(tree):
        limit = ALLOWED_FUNCTIONS.get(f"{module}.{function.name}", FUNCTION_LINES)
        lines = body_lines(function)
        assert lines <= limit, f"{module}.{function.name} has {lines} lines; {limit} are allowed"


@pytest.mark.parametrize("module", modules())
def test_kernels_take_few_parameters(module):
    for function in functions(modules()[module]):
        if is_kernel(function):
            count = len(function.args.args)
            assert count <= KERNEL_PARAMETERS, f"{module}.{function.name} takes {count} parameters; pass tables (structs)"
