"""Workers: the same results bit by bit for any number of them, whatever else happens in the process or on the machine.

A bug of this layer shows as a hang, so a test that takes too long ends the run with the stacks of all threads.
"""

import faulthandler
import multiprocessing
import os
import subprocess
import sys
import threading
import time
from contextlib import contextmanager

import numpy as np
import pytest
import warp as wp

import hooke
from hooke import config
from hooke.execution.pool import Pool, cores, pool
from hooke.execution.recorder import Recorder
from hooke.execution.work import Work, first_item, next_item
from tests.solvers.test_lanes import everything, moved

DT = 1.0 / 300.0
needs_fork = pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")


@pytest.fixture(autouse=True)
def no_hang(request):
    faulthandler.dump_traceback_later(3000 if request.node.get_closest_marker("slow") else 120, exit=True)
    yield
    faulthandler.cancel_dump_traceback_later()


@pytest.fixture(scope="module")
def model():
    return everything()


@pytest.fixture(scope="module")
def ends(model):
    """Where the scene is after some numbers of steps, launched one by one."""
    with settings(graphs=False):
        return {steps: moved(model, steps)[0] for steps in (20, 40)}


@contextmanager
def settings(**values):
    """Settings of the process for a while; threads see them, which a fixture of one test would not outlive."""
    before = {name: getattr(config, name) for name in values}
    vars(config).update(values)
    try:
        yield
    finally:
        vars(config).update(before)


@contextmanager
def busy_cores():
    """A program that never rests on every core."""
    programs = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(cores())]
    try:
        yield
    finally:
        for program in programs:
            program.kill()
            program.wait()


def wait_asleep():
    """Until no worker is in a run."""
    while not all(worker.sleeping.locked() and not worker.runs and worker.idle for worker in pool._workers):
        time.sleep(0.001)


class Stepper:
    """A solver that can be stepped a bit at a time."""

    def __init__(self, model):
        self.model, self.contacts = model, model.contacts()
        self.solver, self.a, self.b = hooke.solvers.SolverVBD(model), model.state(), model.state()

    def step(self, steps=1):
        for _ in range(steps):
            self.model.collide(self.a, self.contacts)
            self.solver.step(self.a, self.b, None, self.contacts, DT)
            self.a, self.b = self.b, self.a
        return self.a.particle_q.numpy().astype(float)

    def runs(self):
        """What was recorded for several workers."""
        return [run for sets in self.solver._recorder._recorded.values() for count, run in sets.items() if count > 1]


@wp.kernel(enable_backward=False)
def follow(work: Work, before: wp.array(dtype=wp.int32), after: wp.array(dtype=wp.int32)):
    """One more than what the item opposite has now; wrong if that is not done yet, or if an item is taken twice or not at all."""
    i = first_item(work, wp.tid())
    while i >= 0:
        after[i] = before[before.shape[0] - 1 - i] + 1
        i = next_item(work, i)


class Chain:
    """Phases that each need all of the phase before."""

    def __init__(self, count, phases=6):
        self.x = [wp.zeros(count, dtype=wp.int32, device="cpu") for _ in range(2)]
        self.recorder, self.phases = Recorder(wp.get_device("cpu")), phases

    def launch(self):
        for n in range(self.phases):
            self.recorder.launch(follow, len(self.x[0]), [self.x[n % 2]], [self.x[1 - n % 2]])

    def run(self, times=1):
        for _ in range(times):
            self.recorder.run("chain", self.launch)

    def check(self, times):
        assert (self.x[0].numpy() == times * self.phases).all()


# ---- counting


@pytest.mark.parametrize("workers", [1, 2, 3, 8])
@pytest.mark.parametrize("count", [1, 5, 64, 1000])
def test_every_item_is_done_once_and_after_the_phase_before(workers, count):
    chain = Chain(count)
    with settings(workers=workers):
        chain.run(200)
    chain.check(200)


def test_runs_are_counted_beyond_32_bits():
    chain = Chain(300)
    with settings(workers=3):
        chain.run(2)
        wait_asleep()
        counters = chain.recorder._recorded["chain"][3]._counting.counters.numpy()
        chunks = counters[1:, 1::8].sum(axis=1) // counters[0, 0]
        epoch = counters[0, 0] = 1 << 36
        counters[1:, ::8] = (epoch << 20) | 0xFFFFF  # all is taken
        counters[1:, 1::8] = 0
        counters[1:, 1] = epoch * chunks
        chain.run(50)
        assert counters[0, 0] == epoch + 50
    chain.check(52)


def test_a_worker_that_comes_before_the_run_begins_finds_nothing():
    chain = Chain(100)
    with settings(workers=2):
        chain.run()
        run = chain.recorder._record(2, chain.launch, ())
    wp.capture_launch(run.graphs[1])
    chain.check(1)
    wp.capture_launch(run.graphs[0])
    wp.capture_launch(run.graphs[1])  # and one that comes too late
    chain.check(2)


def test_a_function_that_fails_while_it_is_recorded_leaves_the_recorder_as_it_was():
    chain = Chain(10)
    with settings(workers=2):
        chain.run()
        phases, chain.phases = chain.phases, None
        with pytest.raises(TypeError):
            chain.run()
        assert chain.recorder._counting is None
        chain.phases = phases
        chain.run(2)
    chain.check(3)


# ---- results


@pytest.mark.parametrize("workers", [1, 2, 3, 8, None])
def test_results_are_the_same_for_any_number_of_workers(model, ends, workers):
    with settings(workers=workers):
        q, solver = moved(model, 40)
    assert workers is None or all(workers in sets for sets in solver._recorder._recorded.values())
    assert np.array_equal(q, ends[40])


@pytest.mark.parametrize("warm", [0, 4])
def test_a_capture_of_the_user_gives_what_launches_give(model, ends, warm):
    with settings(workers=3):
        stepper = Stepper(model)
        stepper.step(warm)
        with wp.ScopedCapture(device="cpu") as capture:
            stepper.step(4)
        for _ in range((20 - warm) // 4):
            wp.capture_launch(capture.graph)
        assert np.array_equal(stepper.a.particle_q.numpy().astype(float), ends[20])


def test_numbers_of_workers_may_change_under_load(model):
    """500 steps, any number of workers in each, programs on all cores, and graphs dropped while a worker may still be in one."""
    change_under_load(model, 500)


@pytest.mark.slow
def test_numbers_of_workers_may_change_under_load_for_long(model):
    change_under_load(model, 10_000)


def change_under_load(model, steps):
    with settings(workers=1):
        expected = moved(model, steps, iterations=1)[0]
    random = np.random.default_rng(7)
    with settings(workers=1), busy_cores():
        stepper = Stepper(model)
        stepper.solver.iterations = 1
        for _ in range(steps):
            config.workers = int(random.choice([1, 2, 3, 4, 8]))
            if random.random() < 0.01:
                stepper.solver._recorder.forget()
                model._collision_pipeline._recorder.forget()
            stepper.step()
    assert np.array_equal(stepper.a.particle_q.numpy().astype(float), expected)


# ---- threads


def in_threads(*functions):
    """What functions return that run side by side, each in a thread of its own."""
    results = [None] * len(functions)

    def call(n):
        try:
            results[n] = functions[n]()
        except BaseException as error:
            results[n] = error

    threads = [threading.Thread(target=call, args=(n,)) for n in range(len(functions))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for result in results:
        if isinstance(result, BaseException):
            raise result
    return results


@pytest.mark.parametrize("workers", [1, 3])
def test_solvers_step_from_several_threads(model, ends, workers):
    """Two of one model and one of another; each gives what it gives alone."""
    other = everything(seed=1)
    with settings(workers=workers):
        alone = moved(other, 40)[0]
        solvers = [Stepper(model), Stepper(model), Stepper(other)]
        both = in_threads(*[lambda stepper=stepper: stepper.step(40) for stepper in solvers])
    assert np.array_equal(both[0], ends[40]) and np.array_equal(both[1], ends[40]) and np.array_equal(both[2], alone)


def test_threads_share_the_pipeline_of_a_model(model):
    """Contacts of two states, found 300 times side by side, by one pipeline with one scratch memory."""
    states = [Stepper(model) for _ in range(2)]
    states[1].a.particle_q.assign(states[1].a.particle_q.numpy() - np.array([0.0, 0.0, 0.25], np.float32))

    def collide(stepper, times=300):
        numbers = set()
        for _ in range(times):
            model.collide(stepper.a, stepper.contacts)
            numbers.add(int(stepper.contacts.soft_contact_count.numpy()[0]))
        return numbers

    with settings(workers=2):
        alone = [collide(stepper, 1) for stepper in states]
        assert alone[0] != alone[1]
        assert in_threads(lambda: collide(states[0]), lambda: collide(states[1])) == alone


def test_one_thread_records_while_another_steps(model, ends):
    chain, done = Chain(200), threading.Event()

    def record():
        runs = 0
        while not done.is_set():
            chain.recorder.forget()
            chain.run(3)
            runs += 3
        chain.check(runs)

    def step():
        try:
            return stepper.step(40)
        finally:
            done.set()

    with settings(workers=3):
        stepper = Stepper(model)
        assert np.array_equal(in_threads(step, record)[0], ends[40])


def test_contacts_grow_while_another_thread_records():
    """The recording of one thread is no capture of another's, which could not grow its buffer."""
    model, chain, done = everything(), Chain(200), threading.Event()
    pipeline = hooke.CollisionPipeline(model, soft_contact_max=1)
    state = model.state()
    buffers = [hooke.Contacts(0, 1, device=model.device) for _ in range(20)]
    state.particle_q.assign(state.particle_q.numpy() - np.array([0.0, 0.0, 0.3], np.float32))

    def record():
        while not done.is_set():
            chain.recorder.forget()
            chain.run(3)

    def grow():
        try:
            for contacts in buffers:
                pipeline.collide(state, contacts)
                assert 1 < contacts.soft_contact_count.numpy()[0] <= contacts.soft_contact_max
        finally:
            done.set()

    with settings(workers=2):
        in_threads(grow, record)


# ---- failures


def test_an_error_of_a_worker_surfaces_and_the_next_step_works(model, ends):
    with settings(workers=2):
        stepper = Stepper(model)
        stepper.step(18)
        for run in stepper.runs():
            run.graphs[1] = None
        for _ in range(2):
            stepper.step()  # complete without the worker
            wait_asleep()
        assert np.array_equal(stepper.a.particle_q.numpy().astype(float), ends[20])
        assert all(isinstance(run.error, AttributeError) for run in stepper.runs())
        for _ in range(2):
            with pytest.raises(RuntimeError, match="a worker thread failed in an earlier step") as caught:
                stepper.solver.step(stepper.a, stepper.b, None, stepper.contacts, DT)
            assert isinstance(caught.value.__cause__, AttributeError)
            stepper.a, stepper.b = stepper.b, stepper.a  # the other pair of states has its own graphs
        assert np.array_equal(stepper.step(20), ends[40])


def test_a_replay_that_fails_is_recorded_anew_and_lets_its_workers_go(model, ends):
    with settings(workers=3):
        stepper = Stepper(model)
        stepper.step(20)
        wait_asleep()  # only the run that fails lets its workers go
        for run in stepper.runs():
            run._counting.counters.numpy()[0, 0] += 1  # begun and left: its workers wait for what the first does alone
            run.graphs[0] = None
        with pytest.raises(AttributeError):
            stepper.solver.step(stepper.a, stepper.b, None, stepper.contacts, DT)
        wait_asleep()
        chain = Chain(50)
        chain.run(20)
        chain.check(20)
        assert len(stepper.runs()) == 1


def test_without_threads_a_step_is_taken_alone(model, ends, monkeypatch):
    def refuse(self):
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", refuse)
    monkeypatch.setattr(pool, "_workers", [])
    with settings(workers=3):
        assert np.array_equal(moved(model, 20)[0], ends[20])
    assert not pool._workers


def test_a_closed_pool_has_no_threads_and_replays_alone():
    chain, crew = Chain(100), Pool()
    with settings(workers=4):
        chain.run()
        run = chain.recorder._record(4, chain.launch, ())
    for _ in range(20):
        crew.replay(run)
    workers = list(crew._workers)
    assert len(workers) == 3
    crew.close()
    assert not any(worker.thread.is_alive() for worker in workers)
    crew.replay(run)
    assert not crew._workers
    chain.check(22)


@pytest.mark.parametrize("value", [0, -1, 1.5, "2"])
def test_a_number_of_workers_that_is_none_is_refused(model, value):
    stepper = Stepper(model)
    stepper.step(2)
    with settings(workers=value), pytest.raises(ValueError, match="config.workers: expected a whole number"):
        stepper.step()


@pytest.mark.parametrize("text", ["0", "-3", "two", "2.5", "²", "1e3"])
def test_nonsense_in_the_environment_is_reported(monkeypatch, text):
    monkeypatch.setenv("HOOKE_WORKERS", text)
    with pytest.warns(UserWarning, match=r"HOOKE_WORKERS: expected a whole number .* chosen automatically"):
        assert config._count("HOOKE_WORKERS") is None


def test_the_environment_sets_the_number_of_workers(monkeypatch):
    for text, number in ((" 3 ", 3), ("", None), ("auto", None)):
        monkeypatch.setenv("HOOKE_WORKERS", text)
        assert config._count("HOOKE_WORKERS") == number


# ---- processes


def in_fork(function):
    """Whether a function returns true in a forked process."""
    process = os.fork()
    if process == 0:
        code = 1
        try:
            code = 0 if function() else 2
        finally:
            os._exit(code)
    for _ in range(3000):
        done, status = os.waitpid(process, os.WNOHANG)
        if done:
            return os.waitstatus_to_exitcode(status) == 0
        time.sleep(0.01)
    os.kill(process, 9)
    os.waitpid(process, 0)
    return False


@needs_fork
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize("rest", [0.0, 0.05], ids=["at once", "asleep"])
def test_a_forked_process_steps_on(model, ends, rest):
    with settings(workers=3):
        stepper = Stepper(model)
        stepper.step(20)
        time.sleep(rest)
        assert in_fork(lambda: np.array_equal(stepper.step(20), ends[40]))
        assert np.array_equal(stepper.step(20), ends[40])


@needs_fork
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_forks_while_another_thread_steps_and_records(model, ends):
    """The forked processes make a solver of their own, and use one that another thread was in the middle of."""
    chain, done = Chain(300_000), threading.Event()

    def keep_running():
        while not done.is_set():
            chain.recorder.forget()
            chain.run(20)

    def fork():
        try:
            return [in_fork(lambda: chain.run(3) is None and np.array_equal(Stepper(model).step(20), ends[20])) for _ in range(5)]
        finally:
            done.set()

    with settings(workers=3):
        assert all(in_threads(fork, keep_running)[0])


def step_elsewhere(workers):
    """In a process of its own."""
    config.workers = workers
    return moved(everything(), 20)[0]


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize("way", ["fork", "spawn"])
def test_processes_of_a_pool_step(ends, way):
    if way not in multiprocessing.get_all_start_methods():
        pytest.skip(f"this system does not {way}")
    with multiprocessing.get_context(way).Pool(1) as processes:
        assert np.array_equal(processes.apply_async(step_elsewhere, (3,)).get(100), ends[20])


EXIT = """
import sys, threading
from hooke import config
from tests.execution.test_workers import Stepper, everything
config.workers = 4
stepper = Stepper(everything())
stepper.step(5)
if sys.argv[1] == "thread":
    threading.Thread(target=stepper.step, args=(10**9,), daemon=True).start()
elif sys.argv[1] == "error":
    stepper.step(1)
    sys.exit("over")
stepper.step(1) if sys.argv[1] == "step" else None
"""


@pytest.mark.parametrize("way", ["step", "thread", "error"])
def test_the_interpreter_exits_cleanly_with_busy_workers(way):
    """Right after a step, while a daemon thread steps, and by an exception."""
    done = subprocess.run([sys.executable, "-c", EXIT, way], capture_output=True, text=True, timeout=100, check=False)
    said = [line for line in done.stderr.splitlines() if not line.startswith("Warp CUDA warning")]
    assert (done.returncode, said) == ((1, ["over"]) if way == "error" else (0, []))
