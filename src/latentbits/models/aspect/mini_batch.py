"""Learning from batches of rows: stochastic EM, and stochastic variational inference.

Components depend on the rows through the sums N1 and N0 of a pass alone; beside the prior's they are the natural
parameters of the components' posterior. The sums of a batch, times (weight of all rows / weight of the batch), estimate
those of all rows. So a step moves running sums towards them by a rate rho_t = (t + offset)^-decay (Cappe and Moulines
2009; Hoffman et al. 2013), after the rows of the batch have been solved for with the components fixed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any, NamedTuple

import numpy as np

from latentbits.data.binary_data import BinaryData
from latentbits.errors import DataError
from latentbits.fitting.climb import Monitor, climb
from latentbits.fitting.restarts import Refined, Runner, undisturbed
from latentbits.fitting.rows import Sums, column_counts
from latentbits.fitting.workers import Workers
from latentbits.models.aspect.maximum_likelihood import Evaluated

__all__ = ["Batches", "Pace", "RunningSums", "batch_step", "first_sums", "running_in_batches", "running_on"]

ROW_PASSES = 9
"""Passes over a batch that solve for its rows: three rounds of accelerated EM. Plain EM would need a hundred, and steps
with rows half solved for hardly move the components."""

ROUND_STEPS, MAX_ROUNDS, ROUND_RISE = 500, 5, 1e-4
"""Batches come in rounds of so many (or of all rows, if that is less), until a round's log likelihood rises by less
than this per cell, or so many rounds have been made."""

ALL_PASSES, ALL_RISE = 30, 1e-5
"""Passes over all rows that solve for them before they are climbed with, at most; three that gain less are the last."""


class Pace(NamedTuple):
    """How fast old batches are forgotten."""

    decay: float
    offset: float

    def rate(self, step: int) -> float:
        """rho_t of the steps t = 1, 2, ..."""
        return float((step + self.offset) ** -self.decay)


class Batches(NamedTuple):
    """Batches of `size` rows, and the pace of their steps."""

    size: int
    pace: Pace


class RunningSums(NamedTuple):
    """What is known of all rows after some batches.

    n1, n0 : (K, D)  estimates of N1 and N0 for rows of a total weight of 1
    n_steps : steps that have been made
    weight : total weight of the rows seen
    """

    n1: np.ndarray
    n0: np.ndarray
    n_steps: int = 0
    weight: float = 0.0

    def blended(self, found: Evaluated, weight: float, pace: Pace) -> RunningSums:
        """After a batch of this weight."""
        rho = pace.rate(self.n_steps + 1)
        n1 = (1 - rho) * self.n1 + rho * found.N1 / weight
        n0 = (1 - rho) * self.n0 + rho * found.N0 / weight
        return RunningSums(n1, n0, self.n_steps + 1, self.weight + weight)


@dataclass(frozen=True)
class _RowsAlone:
    """A learner whose components stay: what `climb` needs to solve for its rows."""

    learner: Any
    work: Callable[..., Sums]
    shared: tuple[Any, ...]

    @property
    def may_lose_rows(self) -> bool:
        return bool(self.learner.may_lose_rows)

    def initialise(self, rng: np.random.Generator) -> Any:
        return self.learner.initialise(rng)

    def step(self, state: Any) -> tuple[Any, float]:
        rows, sums = self.learner.rows.update(self.work, len(state[1]), [state[0]], *self.shared)
        return type(state)(rows, *state[1:]), sums[-1]

    def squared_moves(self, points: Sequence[Any]) -> tuple[float, float]:
        return self.learner.squared_moves(points)

    def extrapolate(self, points: Sequence[Any], length: float) -> Any:
        return self.learner.extrapolate(points, length)

    def stored(self, state: Any) -> Any:
        return self.learner.stored(state)

    def restored(self, state: Any) -> Any:
        return self.learner.restored(state)


def with_solved_rows(learner: Any, state: Any, passes: int, rise: float = 0.0) -> Any:
    """A state of these components with weights of the learner's rows: so many accelerated passes from equal weights.

    They end early when three of them gain less than `rise` per cell.
    """
    state = type(state)(learner.start_rows(), *state[1:])
    if passes == 0:
        return state
    n_cells = float(learner.row_weight @ learner.data.observed_per_row()) if rise else 1.0
    solved = climb(_RowsAlone(learner, *learner.row_work(state)), state, Monitor(rise, passes, n_cells))
    return type(state)(learner.restored(solved.state)[0], *state[1:])


def first_sums(learner: Any, state: Any) -> RunningSums:
    """Sums before the first step: as if each component had caused an equal share of every column's cells."""
    _, observed = learner.rows.total(column_counts, ())
    cells = observed / (learner.row_weight.sum() * len(state.H))
    return RunningSums(cells * state.H, cells * (1 - state.H))


def batch_step(
    learner: Any,
    state: Any,
    sums: RunningSums,
    pace: Pace,
    total: float | None = None,
    *,
    row_passes: int = ROW_PASSES,
) -> tuple[RunningSums, Any, Evaluated]:
    """Learn from the rows of the learner, which are a batch.

    `state` has the components so far (its rows may be others), `total` is the weight of all rows (by default of those
    seen). The new state has the weights of the batch's rows. A batch whose rows all have the weight 0 changes nothing.
    """
    state = with_solved_rows(learner, state, row_passes)
    found = learner.evaluate(state)
    weight = float(learner.row_weight.sum())
    if weight > 0:
        sums = sums.blended(found, weight, pace)
        total = sums.weight if total is None else total
        state = learner.with_sources(state, found._replace(N1=total * sums.n1, N0=total * sums.n0))
    return sums, type(state)(found.rows, *state[1:]), found


def _first_phase(
    learner: Any, state: Any, batches: Batches, rng: np.random.Generator, stopped: Callable[[], bool]
) -> Any:
    """Steps on batches of rows in an order that `rng` shuffles, until a round of them gains too little."""
    total = float(learner.row_weight.sum())
    sums, last = first_sums(learner, state), -np.inf
    drawn = _shuffled(learner.data.shape[0], batches.size, rng)
    n_steps = min(-(-learner.data.shape[0] // batches.size), ROUND_STEPS)
    for _ in range(MAX_ROUNDS):
        objective = n_cells = 0.0
        for index in islice(drawn, n_steps):
            if stopped():
                return state
            rows = learner.data.without_names().rows(index)
            part = replace(learner, data=rows, row_weight=learner.row_weight[index])
            sums, state, found = batch_step(part, state, sums, batches.pace, total)
            objective += found.objective + found.cost
            n_cells += float(part.row_weight @ rows.observed_per_row())
        mean = objective / max(n_cells, 1.0)
        if mean - last < ROUND_RISE:
            break
        last = mean
    return state


def _shuffled(n_rows: int, size: int, rng: np.random.Generator) -> Iterator[np.ndarray]:
    """Rows in batches, all of them before any comes again."""
    while True:
        order = rng.permutation(n_rows)
        for first in range(0, n_rows, size):
            yield np.sort(order[first : first + size])  # in the order of the table, as it may be on disk


def running_in_batches(make_learner: Callable[[Workers], Any], batches: Batches) -> Callable[[Workers], Runner[Any]]:
    """The runner of climbs that begin with steps on batches."""

    def make_runner(workers: Workers) -> Runner[Any]:
        learner = make_learner(workers)
        if not isinstance(learner.data, BinaryData):
            raise DataError(
                "batch_size (--batch-size) is for rows of this process, and these are on a cluster; leave it out, or "
                "give blocks of rows to partial_fit"
            )

        def run(rng: np.random.Generator, monitor: Monitor) -> Any:
            state = learner.initialise(rng)
            if monitor.checkpoint is None or not monitor.checkpoint.exists():  # else the batches are behind it
                state = _first_phase(learner, state, batches, rng, lambda: monitor.finished)
                if monitor.finished:  # a half-made start is nothing to go on from: the seed makes it again
                    monitor.checkpoint = None
                state = with_solved_rows(learner, state, ALL_PASSES, ALL_RISE)
            return climb(learner, state, monitor)

        return Refined(run, learner)

    return make_runner


def running_on(
    make_learner: Callable[[Workers], Any], content: Sequence[np.ndarray]
) -> Callable[[Workers], Runner[Any]]:
    """The runner of climbs that go on from components with content; noise components begin anew."""

    def make_runner(workers: Workers) -> Runner[Any]:
        learner = make_learner(workers)

        def run(rng: np.random.Generator, monitor: Monitor) -> Any:
            state = learner.initialise(rng)
            for array, known in zip(state[1:], content, strict=True):
                array[: len(known)] = known
            return climb(learner, with_solved_rows(learner, state, ALL_PASSES, ALL_RISE), monitor)

        return Refined(undisturbed(run), learner)

    return make_runner
