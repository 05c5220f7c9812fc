"""Random restarts, of which the best is kept, for all learners."""

from __future__ import annotations

import copy
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_EXCEPTION, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, replace
from functools import partial
from itertools import accumulate
from typing import Any, Generic, TypeVar

import numpy as np

from latentbits.errors import InterruptedWarning, warn_user
from latentbits.fitting.climb import (
    Climbed,
    Learner,
    Monitor,
    Position,
    RowsLost,
    StackedLearner,
    climb,
    climb_together,
    stack,
)
from latentbits.fitting.workers import Progress, Workers, failed, one_blas_thread, stop_event
from latentbits.storage.checkpoints import ProblemCheckpoints

State = TypeVar("State", bound=tuple[Any, ...])

Runner = Callable[[np.random.Generator, Monitor], Climbed[State]]
"""One run from a random start: it records every pass with the monitor, and ends when the monitor is finished."""

REFINED = 0.01
"""A climb that is refined goes on until this share of the tolerance."""


def climbing(
    make_learner: Callable[[Workers], Learner[State]], *, accelerate: bool = True, refine: bool = False
) -> Callable[[Workers], Runner[State]]:
    """The runner of learners that climb step by step; `refine`: those that lead go on."""

    def make_runner(workers: Workers) -> Runner[State]:
        learner = make_learner(workers)
        run = undisturbed(lambda rng, monitor: climb(learner, learner.initialise(rng), monitor, accelerate=accelerate))
        stacked = getattr(learner, "stacked", None) if accelerate else None
        return Refined(run, learner, accelerate, stacked) if refine else run

    return make_runner


@dataclass(frozen=True)
class Refined(Generic[State]):
    """A runner of climbs of which those that lead go on to a tighter tolerance."""

    run: Runner[State]
    learner: Learner[State]
    accelerate: bool = True
    stacked: StackedLearner[State] | None = None

    def __call__(self, rng: np.random.Generator, monitor: Monitor) -> Climbed[State]:
        return self.run(rng, monitor)

    def go_on(self, state: State, monitor: Monitor) -> Climbed[State]:
        """Climb from a state where a run ended."""

        def run(rng: np.random.Generator, monitor: Monitor) -> Climbed[State]:
            return climb(self.learner, self.learner.restored(state), monitor, accelerate=self.accelerate)

        return undisturbed(run)(np.random.default_rng(0), monitor)


def undisturbed(run: Runner[State]) -> Runner[State]:
    """The same run, made again if rows are lost before a position is kept that it could go back to."""

    def made(rng: np.random.Generator, monitor: Monitor) -> Climbed[State]:
        begin = Position(None, np.inf, *monitor.record_of())
        while True:
            try:
                return run(copy.deepcopy(rng), monitor)
            except RowsLost:
                monitor.rewind(begin)

    return made


@dataclass(frozen=True)
class Schedule:
    """Number and length of the runs: the fitting parameters that estimators share."""

    n_init: int
    max_iter: int
    tol: float
    n_cells: float
    verbose: bool = False
    if_interrupted: str = "this is the best of {} restarts so far"
    checkpoints: ProblemCheckpoints | None = None
    fixed_seed: bool = True

    def monitor(self, index: int, cancel: threading.Event, progress: Progress) -> Monitor:
        """Of a run from its start."""
        checkpoint = None if self.checkpoints is None else self.checkpoints.of_run(index)
        note = _note(progress, index, self)
        return Monitor(self.tol, self.max_iter, self.n_cells, note, cancel.is_set, checkpoint)

    def going_on(self, index: int, cancel: threading.Event, history: Sequence[float]) -> Monitor:
        """Of a run that goes on to a tighter tolerance."""
        checkpoint = None if self.checkpoints is None else self.checkpoints.of_refinement(index)
        tol = REFINED * self.tol
        return Monitor(tol, self.max_iter, self.n_cells, None, cancel.is_set, checkpoint, list(history))


@dataclass(frozen=True)
class Restart(Generic[State]):
    """One run: its seed and its result. `kept` is what the estimator keeps of every run, not only of the best."""

    seed: int
    objective: float
    n_iter: int
    converged: bool
    history: list[float]
    state: State
    kept: Any


def best_of(
    make_runner: Callable[[Workers], Runner[State]],
    schedule: Schedule,
    rng: np.random.Generator,
    n_threads: int,
    keep: Callable[[State], Any],
) -> tuple[Restart[State], list[Restart[State]]]:
    """Run the restarts and return the one with the highest objective, and all of them in the order of their seeds.

    All seeds are drawn first and every run is a function of its seed, so the answer doesn't depend on the number of
    threads, and more restarts are never worse. Threads go to restarts first, what is left over to the rows of a pass.
    If the runner refines, every run that is better than all before it goes on to a tighter tolerance. (The best one
    alone would cost less, but may end below one that it has replaced, and more restarts would be worse.)
    Ctrl-C ends the running restarts where they are; the best so far is returned with a warning.
    """
    seeds = [int(rng.integers(2**31)) for _ in range(schedule.n_init)]
    if schedule.checkpoints is not None:
        seeds = schedule.checkpoints.seeds(seeds, fixed=schedule.fixed_seed)
        message = schedule.checkpoints.message(schedule.n_init)
        if message is not None:
            warn_user(message)
    at_once = min(n_threads, schedule.n_init)
    cancel = stop_event()
    title = "Fitting"
    with (
        one_blas_thread(),
        Workers(max(1, n_threads // at_once)) as workers,
        Progress(title, schedule.n_init, show=schedule.verbose) as progress,
    ):
        runner = make_runner(workers)
        stacked = _stacked(runner, schedule)

        def run(group: Sequence[int]) -> list[Restart[State]]:
            if cancel.is_set():  # the first run is always made: there must be something to return
                group = [index for index in group if index == 0]
            if not group:
                return []
            monitors = [schedule.monitor(index, cancel, progress) for index in group]
            rngs = [np.random.default_rng(seeds[index]) for index in group]
            if stacked is None:
                climbed = [runner(rng, monitor) for rng, monitor in zip(rngs, monitors, strict=True)]
            else:
                climbed = climb_together(stacked, stacked.initialise(rngs), monitors)
            for _ in group:
                progress.finished_one()
            return [
                Restart(seeds[index], objective, monitor.n_iter, monitor.converged, monitor.history, state, keep(state))
                for index, monitor, (state, objective) in zip(group, monitors, climbed, strict=True)
            ]

        done = _run_all(run, _groups(range(schedule.n_init), at_once, stacked), at_once, cancel)
        if isinstance(runner, Refined) and not cancel.is_set():
            leads = _leads(done, schedule.max_iter)
            go_on = partial(_refined, runner, stacked, schedule, cancel, keep, done)
            further = _run_all(go_on, _groups(leads, at_once, stacked), at_once, cancel) if leads else []
            for index, restart in zip(leads, further, strict=True):
                done[index] = restart
    if cancel.is_set():
        way_on = "fit again for a complete fit"
        if schedule.checkpoints is not None:
            way_on = "run the same fit again to resume it (on the command line with --force)"
        warn_user(f"interrupted: {schedule.if_interrupted.format(len(done))}; {way_on}", InterruptedWarning)
    return max(done, key=lambda restart: restart.objective), done


def _leads(runs: list[Restart[State]], max_iter: int) -> list[int]:
    """The runs that are better than all before them, if they can go on."""
    before = accumulate([-np.inf, *(run.objective for run in runs)], max)
    return [
        place
        for place, (run, best) in enumerate(zip(runs, before, strict=False))
        if run.objective > best and run.converged and run.n_iter < max_iter
    ]


def _refined(
    runner: Refined[State],
    stacked: StackedLearner[State] | None,
    schedule: Schedule,
    cancel: threading.Event,
    keep: Callable[[State], Any],
    runs: Sequence[Restart[State]],
    group: Sequence[int],
) -> list[Restart[State]]:
    """Some of the runs, having gone on. They have converged already, also if not to the tighter tolerance."""
    restarts = [runs[index] for index in group]
    monitors = [schedule.going_on(index, cancel, runs[index].history) for index in group]
    if stacked is None:
        climbed = [runner.go_on(restart.state, monitor) for restart, monitor in zip(restarts, monitors, strict=True)]
    else:
        climbed = climb_together(stacked, stack([restart.state for restart in restarts]), monitors)
    return [
        replace(run, objective=objective, n_iter=monitor.n_iter, history=monitor.history, state=state, kept=keep(state))
        for run, monitor, (state, objective) in zip(restarts, monitors, climbed, strict=True)
    ]


def _stacked(runner: Runner[State], schedule: Schedule) -> StackedLearner[State] | None:
    """What makes several runs at once; None if they are made one by one."""
    if not isinstance(runner, Refined) or schedule.checkpoints is not None:
        return None
    return runner.stacked


def _groups(indices: Sequence[int], at_once: int, stacked: StackedLearner[State] | None) -> list[Sequence[int]]:
    """Runs that are made together: so many that all threads have some."""
    size = 1 if stacked is None else max(1, min(stacked.most, -(-len(indices) // at_once)))
    return [indices[first : first + size] for first in range(0, len(indices), size)]


def _run_all(
    run: Callable[[Sequence[int]], list[Restart[State]]],
    groups: Sequence[Sequence[int]],
    at_once: int,
    cancel: threading.Event,
) -> list[Restart[State]]:
    """What `run` makes of the groups, on threads; after Ctrl-C of those that were under way."""
    futures: list[Future[list[Restart[State]]]] = []
    with ThreadPoolExecutor(at_once, thread_name_prefix="latentbits-restart") as pool:
        try:
            futures.extend(pool.submit(run, group) for group in groups)
            # Short waits in a loop: with other libraries' handlers of Ctrl-C, one long wait may not be interrupted.
            while wait(futures, timeout=0.1, return_when=FIRST_EXCEPTION).not_done and not failed(futures):
                pass
        except KeyboardInterrupt:
            cancel.set()
        if failed(futures):
            cancel.set()  # the other runs needn't go on
    done = [restart for future in futures for restart in future.result()]
    if not done:
        raise KeyboardInterrupt
    return done


def _note(progress: Progress, index: int, schedule: Schedule) -> Callable[[int, float], None]:
    return lambda n_passes, objective: progress.passed(index, n_passes, objective / max(schedule.n_cells, 1.0))
