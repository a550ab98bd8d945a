"""Loading kernels: what compiles is said once, modules load side by side, and what was begun is waited for."""

import logging
import multiprocessing
import sys

import pytest
import warp as wp

from hooke.execution import compile as compile_module
from hooke.execution.compile import load_kernels, start_loading, wait_loaded


def make_kernel(name: str, number: float):
    """A kernel in a module of its own."""

    def write_number(x: wp.array(dtype=wp.float32)):
        x[wp.tid()] = number

    return wp.kernel(write_number, name=name, module="unique", enable_backward=False)


def result_of(kernel) -> float:
    x = wp.zeros(1, dtype=wp.float32, device="cpu")
    wp.launch(kernel, dim=1, inputs=[x], device="cpu")
    return float(x.numpy()[0])


@pytest.fixture
def empty_cache(monkeypatch, tmp_path):
    wp.init()
    monkeypatch.setattr(wp.config, "kernel_cache_dir", str(tmp_path))


def test_what_compiles_is_said_once(empty_cache, caplog):
    with caplog.at_level(logging.INFO, logger="hooke"):
        load_kernels([make_kernel("first_number", 1.0), None, make_kernel("second_number", 2.0)], "cpu")
        for name in ("first_number", "second_number"):
            assert f"compiling {name}" in caplog.messages
            assert sum(m.startswith(f"compiled {name} in ") for m in caplog.messages) == 1
        caplog.clear()
        load_kernels([make_kernel("first_number", 1.0)], "cpu")  # from the cache
        assert caplog.messages == []


def test_what_was_begun_is_loaded_once(empty_cache, caplog):
    kernels = [make_kernel(f"number_{n}", float(n)) for n in range(3)]
    with caplog.at_level(logging.INFO, logger="hooke"):
        begun = start_loading(kernels, "cpu")
        load_kernels(kernels, "cpu")
        wait_loaded(begun)
    assert all(future.done() for future in begun)
    assert len([m for m in caplog.messages if m.startswith("compiling")]) == 3
    assert start_loading(kernels, "cpu") == []
    assert [result_of(kernel) for kernel in kernels] == [0.0, 1.0, 2.0]


def test_a_flag_that_the_compiler_does_not_know_is_done_without(empty_cache, monkeypatch, caplog):
    monkeypatch.setattr(compile_module, "compiler_flags", lambda: "-mllvm=-no-such-option")
    kernel = make_kernel("odd_number", 5.0)
    load_kernels([kernel], "cpu")
    assert result_of(kernel) == 5.0
    assert any("odd_number did not compile with -mllvm=-no-such-option" in message for message in caplog.messages)


def test_a_kernel_that_does_not_compile_raises(empty_cache):
    def broken(x: wp.array(dtype=wp.float32)):
        x[wp.tid()] = nothing_of_this_name  # noqa: F821

    with pytest.raises(Exception, match="nothing_of_this_name"):
        load_kernels([wp.kernel(broken, module="unique", enable_backward=False)], "cpu")
    kernel = make_kernel("after_an_error", 3.0)
    load_kernels([kernel], "cpu")
    assert result_of(kernel) == 3.0


def load_in_child(queue) -> None:
    kernel = make_kernel("in_a_child", 4.0)
    load_kernels([kernel], "cpu")
    queue.put(result_of(kernel))


@pytest.mark.skipif(sys.platform == "win32", reason="fork")
def test_a_forked_process_has_threads_of_its_own():
    load_kernels([make_kernel("in_a_parent", 5.0)], "cpu")
    context = multiprocessing.get_context("fork")
    queue = context.Queue()
    child = context.Process(target=load_in_child, args=(queue,))
    child.start()
    assert queue.get(timeout=120) == 4.0
    child.join(timeout=30)
    assert child.exitcode == 0
