"""Anderson acceleration of the sweeps of a step, and the end of the sweeps by a tolerance; every world by its own numbers.

A sweep takes the displacements x_n to g_n = x_n + f_n. With the last differences dF_j of the steps f and dG_j of the results g, the next
sweep starts from

    x_{n+1} = g_n - sum_j c_j dG_j,    c = argmin |f_n - sum_j c_j dF_j|^2,    |f|^2 = sum_i m_i |f_i|^2            (1)

(Anderson 1965; of type II in the terms of Fang and Saad 2009, https://doi.org/10.1002/nla.617). The normal equations of (1) are factored
from the newest difference to the oldest, without those that lie nearly in the span of newer ones. An accelerated start is judged by the
sweep after it: where that takes a longer step than the shortest of before, the sweeps go on from g_n with no differences known. The
last sweep is never extrapolated, so a step ends with what a sweep has found.

Sums are in float64. A block of particles of one world is summed by its owner, a world's blocks are added in order by theirs.
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
import warp as wp

from hooke.execution.work import Work, first_item, next_item
from hooke.model.tables import Particles
from hooke.solvers.vbd.predict import is_fixed

__all__ = ["ACCELERATIONS", "Acceleration", "make_acceleration"]

ACCELERATIONS = ("anderson", "multilevel")
"""Values of the option ``particle_acceleration`` beside None; with the second patches are swept too (patches.py)."""

WINDOW = 5
"""Differences that are kept. More than five gain little, three cost a few per cent less and lose a third of the gain at 20 sweeps."""

GROWTH = wp.constant(wp.float64(1.5))  # of the step length after an accelerated start: the lengths of plain sweeps are not monotone
DISTINCT = wp.constant(wp.float64(0.1))  # share of |dF|^2 that is not in the span of newer differences
ROUNDING = wp.constant(wp.float64(2.0 * np.finfo(np.float32).eps))  # relative to the displacement: shorter steps are noise
PATIENCE = wp.constant(4)  # sweeps without acceleration after repeated failures, at most

STEP, WAY, LARGEST, CHANGE, ALONG = (wp.constant(column) for column in range(5))  # of the sums
KEEP, EXTRAPOLATE, RETURN = (wp.constant(action) for action in range(3))  # what follows from a sweep

Square = wp.types.matrix(shape=(WINDOW, WINDOW), dtype=wp.float64)
Row = wp.types.vector(length=WINDOW, dtype=wp.float64)


@wp.struct
class Blocks:
    """Entries, one per particle, sorted by world and cut into blocks.

    Block b holds the entries ``first[b] ... first[b + 1]`` of world ``world[b]``; those of world w are ``of_world[w] ... of_world[w + 1]``.
    ``place`` is where the displacement of an entry stands, ``particle`` whose it is.
    """

    first: wp.array(dtype=wp.int32)
    world: wp.array(dtype=wp.int32)
    of_world: wp.array(dtype=wp.int32)
    place: wp.array(dtype=wp.int32)
    particle: wp.array(dtype=wp.int32)


@wp.struct
class History:
    """The sweeps of a step by entry: x, f, m f, the last two g, the differences of f and g [m]; masses m [kg] weigh the sums of blocks.

    ``sums`` (blocks, 4 + window): |f|^2, |g|^2, the largest |f_i|^2, the square of the newest dF, then the products of f with all dF.
    """

    weight: wp.array(dtype=wp.float32)
    start: wp.array(dtype=wp.vec3)
    step: wp.array(dtype=wp.vec3)
    heavy_step: wp.array(dtype=wp.vec3)
    result: wp.array2d(dtype=wp.vec3)
    step_change: wp.array2d(dtype=wp.vec3)
    result_change: wp.array2d(dtype=wp.vec3)
    sums: wp.array2d(dtype=wp.float64)


@wp.struct
class Progress:
    """Where the worlds stand within a step; the last entry is for what belongs to no world.

    ``known`` is 1 after a sweep that differences can be formed with. These stand in rows ``0 ... number``, the last in row ``newest``;
    ``along`` are their products with the last step, ``products`` those with each other. ``pause`` counts sweeps until the next
    acceleration, ``patience`` is the pause after the next failure.
    """

    done: wp.array(dtype=wp.int32)
    iterations: wp.array(dtype=wp.int32)
    action: wp.array(dtype=wp.int32)
    known: wp.array(dtype=wp.int32)
    number: wp.array(dtype=wp.int32)
    newest: wp.array(dtype=wp.int32)
    pause: wp.array(dtype=wp.int32)
    patience: wp.array(dtype=wp.int32)
    shortest: wp.array(dtype=wp.float64)
    along: wp.array2d(dtype=wp.float64)
    products: wp.array3d(dtype=wp.float64)
    coefficient: wp.array2d(dtype=wp.float32)


@wp.kernel(enable_backward=False)
def begin_worlds(work: Work, progress: Progress):
    w = first_item(work, wp.tid())
    while w >= 0:
        progress.done[w] = 0
        progress.iterations[w] = 0
        progress.action[w] = KEEP
        progress.known[w] = 0
        progress.number[w] = 0
        progress.newest[w] = progress.along.shape[1] - 1
        progress.pause[w] = 0
        progress.patience[w] = 1
        w = next_item(work, w)


@wp.kernel(enable_backward=False)
def begin_blocks(work: Work, blocks: Blocks, particles: Particles, displacement: wp.array(dtype=wp.vec3), history: History):
    """Where the next sweep starts."""
    b = first_item(work, wp.tid())
    while b >= 0:
        for e in range(blocks.first[b], blocks.first[b + 1]):
            i = blocks.particle[e]
            history.weight[e] = wp.where(is_fixed(particles, i), 0.0, particles.mass[i])
            history.start[e] = displacement[blocks.place[e]]
        b = next_item(work, b)


@wp.func
def take_step(
    blocks: Blocks, progress: Progress, displacement: wp.array(dtype=wp.vec3), b: int, turn: int, newest: int, history: History
):
    """The step f and the result g of a sweep in a block, with their differences to those before."""
    known = progress.known[blocks.world[b]]
    square, way, largest = wp.float64(0.0), wp.float64(0.0), wp.float64(0.0)
    change, along = wp.float64(0.0), wp.float64(0.0)
    for e in range(blocks.first[b], blocks.first[b + 1]):
        g = displacement[blocks.place[e]]
        f = g - history.start[e]
        weight = history.weight[e]
        if history.step_change.shape[0] > 0:
            if known != 0:
                df = f - history.step[e]
                history.step_change[newest, e] = df
                history.result_change[newest, e] = g - history.result[1 - turn, e]
                change += wp.float64(weight * wp.length_sq(df))
                along += wp.float64(weight * wp.dot(f, df))
            history.step[e] = f
            history.heavy_step[e] = weight * f
            history.result[turn, e] = g
        history.start[e] = g
        length = wp.length_sq(f)
        square += wp.float64(weight * length)
        way += wp.float64(weight * wp.length_sq(g))
        largest = wp.max(largest, wp.float64(length))
    history.sums[b, STEP] = square
    history.sums[b, WAY] = way
    history.sums[b, LARGEST] = largest
    history.sums[b, CHANGE] = change
    if history.step_change.shape[0] > 0:
        history.sums[b, ALONG + newest] = along


@wp.kernel(enable_backward=False)
def measure_sweep(
    work: Work, blocks: Blocks, progress: Progress, displacement: wp.array(dtype=wp.vec3), turn: int, history: History
):
    """The step of a sweep, and the sums of every block."""
    b = first_item(work, wp.tid())
    while b >= 0:
        w = blocks.world[b]
        if progress.done[w] == 0:
            window = history.step_change.shape[0]
            newest, number = int(0), int(0)
            if window > 0 and progress.known[w] != 0:
                newest = (progress.newest[w] + 1) % window
                number = wp.min(progress.number[w] + 1, window)
            take_step(blocks, progress, displacement, b, turn, newest, history)
            for j in range(number):
                if j != newest:
                    along = wp.float64(0.0)
                    for e in range(blocks.first[b], blocks.first[b + 1]):
                        along += wp.float64(wp.dot(history.heavy_step[e], history.step_change[j, e]))
                    history.sums[b, ALONG + j] = along
        b = next_item(work, b)


@wp.func
def sum_blocks(blocks: Blocks, history: History, w: int, column: int):
    total = wp.float64(0.0)
    for b in range(blocks.of_world[w], blocks.of_world[w + 1]):
        total += history.sums[b, column]
    return total


@wp.func
def is_short(blocks: Blocks, history: History, w: int, tolerance: float, step: wp.float64):
    """No particle took a step beyond the tolerance, and their sum is a number."""
    largest = wp.float64(0.0)
    for b in range(blocks.of_world[w], blocks.of_world[w + 1]):
        largest = wp.max(largest, history.sums[b, LARGEST])
    return step >= wp.float64(0.0) and largest <= wp.float64(tolerance) * wp.float64(tolerance)


@wp.func
def find_coefficients(products: Square, right: Row, number: int, floor: wp.float64):
    """Solve ``products c = right`` by LDL^T, newest difference first; what is not distinct from newer ones gets 0."""
    lower = Square()
    pivot, c = Row(), Row()
    for i in range(number):
        rest = products[i, i]
        value = right[i]
        for k in range(i):
            if pivot[k] > wp.float64(0.0):
                entry = products[i, k]
                for q in range(k):
                    entry -= lower[i, q] * lower[k, q] * pivot[q]
                lower[i, k] = entry / pivot[k]
                rest -= lower[i, k] * lower[i, k] * pivot[k]
                value -= lower[i, k] * c[k]
        if rest > DISTINCT * products[i, i] and products[i, i] > floor:
            pivot[i] = rest
            c[i] = value
    for back in range(number):
        i = number - 1 - back
        if pivot[i] > wp.float64(0.0):
            value = c[i] / pivot[i]
            for k in range(i + 1, number):
                value -= lower[k, i] * c[k]
            c[i] = value
    return c


@wp.func
def add_change(blocks: Blocks, history: History, w: int, progress: Progress):
    """Take the newest difference up among those that are known: (dF_new, dF_j) = (f, dF_j) - (f before, dF_j)."""
    window = history.step_change.shape[0]
    newest = (progress.newest[w] + 1) % window
    progress.newest[w] = newest
    progress.number[w] = wp.min(progress.number[w] + 1, window)
    for j in range(progress.number[w]):
        along = sum_blocks(blocks, history, w, ALONG + j)
        product = along - progress.along[w, j]
        if j == newest:
            product = sum_blocks(blocks, history, w, CHANGE)
        progress.along[w, j] = along
        progress.products[w, newest, j] = product
        progress.products[w, j, newest] = product


@wp.func
def extrapolate(w: int, floor: wp.float64, progress: Progress):
    """The coefficients of (1)."""
    window = progress.along.shape[1]
    products = Square()
    right = Row()
    for p in range(progress.number[w]):
        i = (progress.newest[w] - p + window) % window
        right[p] = progress.along[w, i]
        for q in range(progress.number[w]):
            products[p, q] = progress.products[w, i, (progress.newest[w] - q + window) % window]
    c = find_coefficients(products, right, progress.number[w], floor)
    for p in range(progress.number[w]):
        progress.coefficient[w, (progress.newest[w] - p + window) % window] = wp.float32(c[p])


@wp.func
def give_up(progress: Progress, w: int):
    """Return to the result before the accelerated start, and leave sweeps alone for a while."""
    progress.action[w] = RETURN
    progress.known[w] = 0
    progress.number[w] = 0
    progress.newest[w] = progress.along.shape[1] - 1
    progress.pause[w] = progress.patience[w]
    progress.patience[w] = wp.min(2 * progress.patience[w], PATIENCE)


@wp.kernel(enable_backward=False)
def judge_sweep(work: Work, blocks: Blocks, history: History, tolerance: float, last: int, progress: Progress):
    """What follows from a sweep for every world: nothing, its end, an accelerated start of the next one, or the return from one."""
    w = first_item(work, wp.tid())
    while w >= 0:
        tried = progress.action[w] == EXTRAPOLATE
        progress.action[w] = KEEP
        if progress.done[w] == 0:
            progress.iterations[w] = progress.iterations[w] + 1
            step = sum_blocks(blocks, history, w, STEP)
            if tolerance > 0.0 and is_short(blocks, history, w, tolerance, step):
                progress.done[w] = 1
            elif history.step_change.shape[0] > 0:
                if tried and not (step <= GROWTH * GROWTH * progress.shortest[w]):
                    give_up(progress, w)
                else:
                    if progress.known[w] != 0:
                        add_change(blocks, history, w, progress)
                    progress.known[w] = 1
                    progress.shortest[w] = wp.where(tried, wp.min(step, progress.shortest[w]), step)
                    floor = ROUNDING * ROUNDING * sum_blocks(blocks, history, w, WAY)
                    if progress.pause[w] > 0:
                        progress.pause[w] = progress.pause[w] - 1
                    elif last == 0 and progress.number[w] > 0 and step > floor:
                        extrapolate(w, floor, progress)
                        progress.action[w] = EXTRAPOLATE
        w = next_item(work, w)


@wp.func
def extrapolated(progress: Progress, history: History, w: int, e: int, turn: int):
    """The start (1) of an entry."""
    x = history.result[turn, e]
    for j in range(progress.number[w]):
        x -= progress.coefficient[w, j] * history.result_change[j, e]
    return x


@wp.kernel(enable_backward=False)
def start_sweep(work: Work, blocks: Blocks, progress: Progress, turn: int, history: History, displacement: wp.array(dtype=wp.vec3)):
    """Where the next sweep starts, where that is not the end of this one."""
    b = first_item(work, wp.tid())
    while b >= 0:
        w = blocks.world[b]
        if progress.action[w] != KEEP:
            for e in range(blocks.first[b], blocks.first[b + 1]):
                x = history.result[1 - turn, e]
                if progress.action[w] == EXTRAPOLATE:
                    x = extrapolated(progress, history, w, e, turn)
                history.start[e] = x
                displacement[blocks.place[e]] = x
        b = next_item(work, b)


class Acceleration:
    """Judges the sweeps of a step and moves where they start.

    Args:
        accelerate: Whether to extrapolate; otherwise only the tolerance acts.
        tolerance: Largest step of a particle in a sweep [m] at which the sweeps of its world end.
        world: World of every particle, negative for none, shape (n,).
        world_count: Number of worlds.
        own: Particle of every place of ``displacement``, n or more where there is none.
        displacement: What sweeps move [m].
        recorder: Launches the kernels.

    Attributes:
        progress: Where the worlds stand; ``progress.done`` (world_count + 1,) is 1 for those whose sweeps have ended.
    """

    def __init__(
        self, accelerate: bool, tolerance: float, world: np.ndarray, world_count: int, own: np.ndarray, displacement: wp.array,
        recorder: Any,
    ):  # fmt: skip
        self._recorder, self._displacement, self._tolerance = recorder, displacement, tolerance
        make = functools.partial(wp.zeros, device=recorder.device)
        self._window = WINDOW if accelerate else 0
        self._blocks, count = _cut_blocks(world, world_count, own, recorder.device)
        self._count, kept = count, (len(world) if accelerate else 0)
        self._worlds = world_count + 1
        h, p = History(), Progress()
        h.weight, h.start = make(len(world), dtype=wp.float32), make(len(world), dtype=wp.vec3)
        h.step, h.heavy_step, h.result = (make(shape, dtype=wp.vec3) for shape in (kept, kept, (2, kept)))
        h.step_change, h.result_change = (make((self._window, kept), dtype=wp.vec3) for _ in range(2))
        h.sums = make((count, ALONG + self._window), dtype=wp.float64)
        for name in ("done", "iterations", "action", "known", "number", "newest", "pause", "patience"):
            setattr(p, name, make(self._worlds, dtype=wp.int32))
        p.shortest = make(self._worlds, dtype=wp.float64)
        p.along = make((self._worlds, self._window), dtype=wp.float64)
        p.products = make((self._worlds, self._window, self._window), dtype=wp.float64)
        p.coefficient = make((self._worlds, self._window), dtype=wp.float32)
        self._history, self.progress = h, p

    @property
    def kernels(self) -> list[Any]:
        """All kernels that a step launches."""
        return [begin_worlds, begin_blocks, measure_sweep, judge_sweep, start_sweep]

    @property
    def iterations(self) -> int:
        """The most sweeps that a world has taken in the last step; reading it waits for the device."""
        return int(self.progress.iterations.numpy().max())

    def begin(self, particles: Any) -> None:
        """Before the sweeps of a step."""
        self._recorder.launch(begin_worlds, self._worlds, [], [self.progress])
        self.take_displacements(particles)

    def take_displacements(self, particles: Any) -> None:
        """The next sweep starts where the displacements are now; for a pass that moves particles between sweeps."""
        self._recorder.launch(begin_blocks, self._count, [self._blocks, particles, self._displacement], [self._history])

    def accelerate(self, iteration: int, last: bool) -> None:
        """After a sweep of all colours, the first of which has the number 0."""
        turn, blocks = iteration % 2, self._blocks
        inputs = [blocks, self.progress, self._displacement, turn]
        self._recorder.launch(measure_sweep, self._count, inputs, [self._history])
        inputs = [blocks, self._history, self._tolerance, int(last)]
        self._recorder.launch(judge_sweep, self._worlds, inputs, [self.progress])
        if self._window:
            outputs = [self._history, self._displacement]
            self._recorder.launch(start_sweep, self._count, [blocks, self.progress, turn], outputs)


def make_acceleration(
    name: str | None, tolerance: float, particles: Any, world_count: int, own: np.ndarray, displacement: wp.array, recorder: Any
) -> Acceleration | None:
    """What judges sweeps, None if neither an acceleration nor a tolerance asks for it; ``particles`` is their table."""
    if not particles.count or (name is None and tolerance == 0.0):
        return None
    world = particles.arrays["world"].numpy()
    return Acceleration(name is not None, tolerance, world, world_count, own, displacement, recorder)


def _cut_blocks(world: np.ndarray, world_count: int, own: np.ndarray, device: Any) -> tuple[Blocks, int]:
    """Blocks of about as many entries as a world has blocks, and their number."""
    place = np.flatnonzero(own < len(world))
    index = np.where(world < 0, world_count, world)[own[place]]
    order = np.argsort(index, kind="stable")
    sizes = np.bincount(index, minlength=world_count + 1)
    size = np.maximum(64, np.sqrt(sizes)).astype(np.int64)
    number = -(-sizes // size)
    of_world = np.concatenate([[0], np.cumsum(number)])
    owner = np.repeat(np.arange(world_count + 1), number)
    within = np.arange(of_world[-1]) - of_world[owner]
    first = (np.cumsum(sizes) - sizes)[owner] + within * size[owner]
    columns = {
        "first": np.append(first, len(place)), "world": owner, "of_world": of_world, "place": place[order],
        "particle": own[place][order],
    }  # fmt: skip
    blocks = Blocks()
    for name, column in columns.items():
        setattr(blocks, name, wp.array(column, dtype=wp.int32, device=device))
    return blocks, len(owner)
