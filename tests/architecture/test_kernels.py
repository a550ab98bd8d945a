"""Kernels: inputs first, outputs last; physics functions know no thread; every module compiles to PTX without a GPU."""

import ast
import functools
import importlib

import pytest
import warp as wp

from hooke.collision.query import make_query_kernels
from hooke.collision.rigid_rows import make_collide_pairs
from hooke.collision.self_contact import EDGE_EDGE, VERTEX_TRIANGLE, make_pair_kernels
from hooke.collision.soft import make_detection
from hooke.collision.soft_surface import make_surface_detection
from hooke.collision.triangle_contact import make_collide_triangles
from hooke.contact.particle import FRICTION_LAWS
from hooke.elements import ELEMENTS
from hooke.elements.attachment import ATTACHMENT
from hooke.geometry.shapes import SHAPES
from hooke.model.energy import make_energy_kernel
from hooke.solvers.kamino.body_motion import make_body_kernels
from hooke.solvers.kamino.closing import make_close_worlds
from hooke.solvers.kamino.contacts.memory import make_memory_kernels
from hooke.solvers.kamino.contacts.points import make_fill_points
from hooke.solvers.kamino.contacts.rows import make_contact_rows
from hooke.solvers.kamino.fk.solve import make_fk_kernel
from hooke.solvers.kamino.groups import make_group_rows
from hooke.solvers.kamino.inequality import make_inequality_kernels
from hooke.solvers.kamino.joint_rows import make_joint_kernels
from hooke.solvers.kamino.mimic_rows import make_mimic_kernels
from hooke.solvers.kamino.ncp.solve import make_solve_worlds
from hooke.solvers.kamino.reset.forget import make_forget_joints
from hooke.solvers.kamino.reset.motion import make_keep_coordinates
from hooke.solvers.kamino.row_solve import make_solve_rows
from hooke.solvers.kamino.world_solve import make_world_kernels
from hooke.solvers.vbd.contacts import make_contact_kernels
from hooke.solvers.vbd.features import make_feature_kernels
from hooke.solvers.vbd.lane_patches import make_lane_member_kernel, make_lane_share_kernel
from hooke.solvers.vbd.lanes import begin_kernel, make_lane_kernels, make_touched_kernel
from hooke.solvers.vbd.link_forces import make_link_kernels, make_push
from hooke.solvers.vbd.patch_sweep import make_member_kernel, make_share_kernel
from hooke.solvers.vbd.separation import make_limit_kernel
from hooke.solvers.vbd.vertices import make_vertex_kernels
from tests.architecture.source import decorator_names, functions, is_device_function, is_kernel, modules

PAIR_KINDS = (VERTEX_TRIANGLE, EDGE_EDGE)
SCALARS = (wp.float64, wp.float32)
VIEWS = tuple(view for element in ELEMENTS for view in element.views)
PATCH_VIEWS = tuple(view for element in ELEMENTS for view in element.patch_views or element.views)

# Functions that make kernels, with what they make for the check. A new one must be listed here.
FACTORIES = {
    "hooke.collision.query.make_query_kernels": lambda: [*make_query_kernels(tuple(int(kind.code) for kind in SHAPES))],
    "hooke.collision.triangle_contact.make_collide_triangles": lambda: [
        make_collide_triangles(tuple(int(kind.code) for kind in SHAPES))
    ],
    "hooke.collision.rigid_rows.make_collide_pairs": lambda: [make_collide_pairs(tuple(int(kind.code) for kind in SHAPES))],
    "hooke.collision.self_contact.make_pair_kernels": lambda: [k for kind in PAIR_KINDS for k in make_pair_kernels(kind)],
    "hooke.collision.soft.make_detection": lambda: [make_detection(tuple(int(kind.code) for kind in SHAPES))],
    "hooke.collision.soft_surface.make_surface_detection": lambda: [
        make_surface_detection(tuple(int(kind.code) for kind in SHAPES))
    ],
    "hooke.model.energy.make_energy_kernel": lambda: [make_energy_kernel(element) for element in ELEMENTS if element.energy],
    "hooke.solvers.kamino.contacts.memory.make_memory_kernels": lambda: [
        kernel for scalar in SCALARS for kernel in vars(make_memory_kernels(scalar)).values()
    ],
    "hooke.solvers.kamino.contacts.points.make_fill_points": lambda: [make_fill_points(scalar) for scalar in SCALARS],
    "hooke.solvers.kamino.contacts.rows.make_contact_rows": lambda: [make_contact_rows(scalar) for scalar in SCALARS],
    "hooke.solvers.kamino.groups.make_group_rows": lambda: [make_group_rows(scalar) for scalar in SCALARS],
    "hooke.solvers.kamino.row_solve.make_solve_rows": lambda: [make_solve_rows(scalar) for scalar in SCALARS],
    "hooke.solvers.kamino.ncp.solve.make_solve_worlds": lambda: [
        make_solve_worlds(scalar, collect) for scalar, collect in ((wp.float64, True), (wp.float64, False), (wp.float32, False))
    ],
    "hooke.solvers.kamino.body_motion.make_body_kernels": lambda: [
        kernel for scalar in SCALARS for kernel in vars(make_body_kernels(scalar)).values()
    ],
    "hooke.solvers.kamino.inequality.make_inequality_kernels": lambda: [
        kernel for scalar in SCALARS for kernel in vars(make_inequality_kernels(scalar)).values()
    ],
    "hooke.solvers.kamino.fk.solve.make_fk_kernel": lambda: [make_fk_kernel(sparse) for sparse in (False, True)],
    "hooke.solvers.kamino.joint_rows.make_joint_kernels": lambda: [
        kernel for scalar in SCALARS for kernel in vars(make_joint_kernels(scalar)).values()
    ],
    "hooke.solvers.kamino.closing.make_close_worlds": lambda: [make_close_worlds(scalar) for scalar in SCALARS],
    "hooke.solvers.kamino.mimic_rows.make_mimic_kernels": lambda: [
        kernel for scalar in SCALARS for kernel in vars(make_mimic_kernels(scalar)).values()
    ],
    "hooke.solvers.kamino.reset.forget.make_forget_joints": lambda: [make_forget_joints(scalar) for scalar in SCALARS],
    "hooke.solvers.kamino.reset.motion.make_keep_coordinates": lambda: [make_keep_coordinates(scalar) for scalar in SCALARS],
    "hooke.solvers.kamino.world_solve.make_world_kernels": lambda: [
        kernel for scalar in SCALARS for kernel in vars(make_world_kernels(scalar)).values()
    ],
    "hooke.solvers.vbd.contacts.make_contact_kernels": lambda: [
        *make_contact_kernels("anchored"),
        *make_contact_kernels("smoothed"),
    ],
    "hooke.solvers.vbd.features.make_feature_kernels": lambda: [
        kernel for kind in PAIR_KINDS for own_all in (False, True) for kernel in make_feature_kernels(kind, own_all)
    ],
    "hooke.solvers.vbd.lane_patches.make_lane_member_kernel": lambda: [make_lane_member_kernel(law) for law in FRICTION_LAWS],
    "hooke.solvers.vbd.lane_patches.make_lane_share_kernel": lambda: make_lane_share_kernel(PATCH_VIEWS),
    "hooke.solvers.vbd.lanes.begin_kernel": lambda: [
        *make_lane_kernels(VIEWS)[1],
        *map(begin_kernel, {v.begin for v in PATCH_VIEWS}),
    ],
    "hooke.solvers.vbd.lanes.make_lane_kernels": lambda: make_lane_kernels(VIEWS)[0],
    "hooke.solvers.vbd.lanes.make_touched_kernel": lambda: [make_touched_kernel(law) for law in FRICTION_LAWS],
    "hooke.solvers.vbd.link_forces.make_link_kernels": lambda: [
        kernel for law in FRICTION_LAWS for kernel in make_link_kernels(tuple(e for e in ELEMENTS if e is not ATTACHMENT), law)
    ],
    "hooke.solvers.vbd.link_forces.make_push": lambda: [make_push(law) for law in FRICTION_LAWS],
    "hooke.solvers.vbd.patch_sweep.make_member_kernel": lambda: [make_member_kernel(law) for law in FRICTION_LAWS],
    "hooke.solvers.vbd.patch_sweep.make_share_kernel": lambda: make_share_kernel(ELEMENTS),
    "hooke.solvers.vbd.separation.make_limit_kernel": lambda: [make_limit_kernel(kind) for kind in PAIR_KINDS],
    "hooke.solvers.vbd.vertices.make_vertex_kernels": lambda: [
        *make_vertex_kernels(ELEMENTS, "anchored"),
        *make_vertex_kernels(ELEMENTS, "smoothed"),
    ],
}


def root_name(node: ast.expr) -> str:
    while isinstance(node, (ast.Attribute, ast.Subscript)):
        node = node.value
    return node.id if isinstance(node, ast.Name) else ""


NATIVE = {
    "store_vectors": {4},
    "store_numbers": {2},
    "store_rows": {14},
    "scatter_least": {2},
    "add_to_block": {2},
    "add_beside": {2},
    "store_inertia": {4},
    "clear_block": {1},
    "copy_block": {4},
    "eliminate_column": {7, 8, 9, 10},
    "factor_blocks": {2, 3},
    "solve_blocks": {4},
    "solve_eight": {8},
    "put_column": {4},
    "store_products": {7},
    "store_compliance": {3},
    "store_block": {3, 5},
    "store_diagonal": {4},
    "substitute_back": {7},
    "take_number": {1},
    "take_place": {1},
    "take_room": {1},
    "merge_children": {3},
    "visit_boxes": {12, 13, 14, 15},
    "add_block": {2},
    "eliminate": {0},
    "begin_factor": {0},
    "finish_factor": {0},
    "solve": {0},
    "multiply": {0},
    "substitute": {0},
    "prepare": {0},
    "guess": {0},
    "right_side": {0},
    "project": {0},
    "advance": {0},
    "power": {0},
    "take_iterate": {0},
    "classify": {0},
    "assemble": {0},
    "move": {0},
    "copy": {0},
    "clear_point": {0},
    "evaluate_path": {0},
    "shift": {0},
    "project_point": {0},
    "write": {3},
    "add_point_block": {7},
    "find_graph": {11},
    "permute_group": {2},
    "recall_order": {2},
    "list_blocks": {5},
}
"""Native functions that write, with the places of what they write."""

WAITS = {"begin_run", "enter_phase", "leave_phase"}
"""Kernels that write nothing but the counters of their work."""


def written_parameters(function: ast.FunctionDef, writers: dict[str, set[int]]) -> set[str]:
    """Parameters whose arrays the body assigns to or adds to atomically, itself or by the functions it calls."""
    written = set()
    for node in ast.walk(function):
        targets = node.targets if isinstance(node, ast.Assign) else [node.target] if isinstance(node, ast.AugAssign) else []
        written |= {root_name(t) for t in targets if isinstance(t, ast.Subscript)}
        if isinstance(node, ast.Call) and ast.unparse(node.func).startswith("wp.atomic_"):
            written.add(root_name(node.args[0]))
        elif isinstance(node, ast.Call):
            places = writers.get(ast.unparse(node.func), set())
            written |= {root_name(argument) for place, argument in enumerate(node.args) if place in places}
    return written & {argument.arg for argument in function.args.args}


@functools.cache
def writing_functions() -> dict[str, set[int]]:
    """Device functions that write, with the places of the parameters that they write."""
    writers, known = dict(NATIVE), -1
    while known != len(writers):
        known = len(writers)
        for tree in modules().values():
            for function in functions(tree):
                if is_device_function(function) and not is_kernel(function):
                    names = [argument.arg for argument in function.args.args]
                    places = {names.index(name) for name in written_parameters(function, writers)}
                    if places:
                        writers[function.name] = places
    return writers


@pytest.mark.parametrize("module", modules())
def test_outputs_come_last(module):
    for function in functions(modules()[module]):
        if is_kernel(function) and function.name not in WAITS:
            names = [argument.arg for argument in function.args.args]
            written = written_parameters(function, writing_functions())
            assert written, f"{module}.{function.name} writes nothing"
            assert set(names[-len(written) :]) == written, (
                f"{module}.{function.name}: {sorted(written)} are written, so they come last"
            )


@pytest.mark.parametrize("module", modules())
def test_physics_knows_no_thread(module):
    for function in functions(modules()[module]):
        if "wp.func" in decorator_names(function):
            body = ast.unparse(function)
            assert "wp.tid" not in body, f"{module}.{function.name} asks for its thread; drivers know loops, physics does not"
            assert "wp.static(" not in body, (
                f"{module}.{function.name}: functions behind wp.static escape the hash of the kernel cache"
            )


@pytest.mark.parametrize("module", [name for name in modules() if name.startswith(("hooke.math", "hooke.elements"))])
def test_physics_negates_by_name(module):
    """Warp's minus sign knows no overloads: for lanes it is a loop over an array, for vectors of lanes an error."""
    for function in functions(modules()[module]):
        kinds = {ast.unparse(argument.annotation) for argument in function.args.args if argument.annotation}
        if "wp.func" in decorator_names(function) and kinds & {"Any", "Lanes", "VectorL", "LaneRecords"}:
            for node in ast.walk(function):
                if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub) and not isinstance(node.operand, ast.Constant):
                    raise AssertionError(f"{module}.{function.name}: write neg({ast.unparse(node.operand)})")


def test_every_factory_is_checked():
    made = set()
    for module, tree in modules().items():
        for outer in functions(tree):
            if any(is_kernel(inner) for inner in functions(outer) if inner is not outer) or "wp.kernel(" in ast.unparse(outer):
                if not is_kernel(outer):
                    made.add(f"{module}.{outer.name}")
    assert made == set(FACTORIES)


ARCHITECTURES = (75, 90)


def kernel_modules() -> list[tuple[str, wp.Module, tuple[int, ...]]]:
    """Every Warp module of the package that has a kernel, with the architectures it is compiled for.

    Kernels that differ in a type or a table alone take turns: each is compiled for one architecture.
    """
    found: list[tuple[str, wp.Module, tuple[int, ...]]] = []
    for name, tree in modules().items():
        if any(is_kernel(f) for f in tree.body if isinstance(f, ast.FunctionDef)):
            importlib.import_module(name)
            found.append((name, wp.get_module(name), ARCHITECTURES))
    for name, make in FACTORIES.items():
        made = make()
        variants: dict[str, dict[str, wp.Module]] = {}
        for kernel in made if isinstance(made, (list, tuple)) else [made]:
            variants.setdefault(kernel.key, {})[kernel.module.name] = kernel.module
        for key, alike in variants.items():
            for i, module in enumerate(alike.values()):
                archs = ARCHITECTURES if len(alike) == 1 else (ARCHITECTURES[i % 2],)
                found.append((f"{name}: {key} ({i})", module, archs))
    return found


@pytest.mark.parametrize("arch", ARCHITECTURES)
def test_every_kernel_module_compiles_to_ptx(arch, tmp_path):
    for name, module, archs in kernel_modules():
        if arch in archs:
            files = wp.compile_aot_module(module, device=None, arch=arch, use_ptx=True, module_dir=tmp_path)
            assert any(f"sm{arch}.ptx" in str(path) for path in [*files, *tmp_path.iterdir()]), name
