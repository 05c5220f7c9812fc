"""OnlineModel: fits in batches of rows, block after block, or from where the last fit ended.

Learning from batches of rows: stochastic EM, and stochastic variational inference.

Components depend on the rows through the sums N1 and N0 of a pass alone; beside the prior's they are the natural
parameters of the components' posterior. The sums of a batch, times (weight of all rows / weight of the batch), estimate
those of all rows. So a step moves running sums towards them by a rate rho_t = (t + offset)^-decay (Cappe and Moulines
2009; Hoffman et al. 2013), after the rows of the batch have been solved for with the components fixed.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any, NamedTuple, Self

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from latentbits.data.binary_data import BinaryData
from latentbits.data.encoding import check_row_weight, comes_in_blocks
from latentbits.errors import DataError
from latentbits.fitting.climb import Monitor, climb
from latentbits.fitting.restarts import Refined, Restart, Runner, climbing, undisturbed
from latentbits.fitting.rows import Sums, column_counts
from latentbits.fitting.workers import Workers, n_workers, one_blas_thread
from latentbits.models.aspect import Noise
from latentbits.models.aspect.maximum_likelihood import Evaluated
from latentbits.models.aspect.noise_components import CONTENT, NESTED, NO_NOISE, NoiseComponents
from latentbits.models.factor_model import RestartedFactorModel
from latentbits.numerics import as_generator
from latentbits.wording import counted

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
    log_weight : the mean of E[log a], where weights have a posterior; None before the first batch
    """

    n1: np.ndarray
    n0: np.ndarray
    n_steps: int = 0
    weight: float = 0.0
    log_weight: float | None = None

    def blended(self, found: Evaluated, weight: float, pace: Pace) -> RunningSums:
        """After a batch of this weight."""
        rho = pace.rate(self.n_steps + 1)
        n1 = (1 - rho) * self.n1 + rho * found.N1 / weight
        n0 = (1 - rho) * self.n0 + rho * found.N0 / weight
        log_weight = found.log_weight
        if log_weight is not None and self.log_weight is not None:
            log_weight = (1 - rho) * self.log_weight + rho * log_weight
        return RunningSums(n1, n0, self.n_steps + 1, self.weight + weight, log_weight)


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
        known = found._replace(N1=total * sums.n1, N0=total * sums.n0, log_weight=sums.log_weight)
        return sums, learner.with_weights(learner.with_sources(state, known), known), found
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


# ---- the model that goes on --------------------------------------------------------------------------------------


class _Learned(NamedTuple):
    """Where `partial_fit` is: components in a state, running sums, and the history of the blocks' objectives."""

    state: Any
    sums: RunningSums
    seed: int
    history: list[float]


class OnlineModel(RestartedFactorModel):
    """Base of the aspect models that can learn batch by batch, and go on from what they know."""

    noise: Noise | None
    noise_rate: float | None
    batch_size: int | None
    learning_decay: float
    learning_offset: float
    total_samples: float | None
    warm_start: bool
    noise_trials_: pd.DataFrame | None
    _components: Any
    _running_sums: RunningSums | None

    # ---- what a subclass brings ----------------------------------------------------------------------------------

    @abstractmethod
    def _learner(
        self, data: BinaryData, row_weight: np.ndarray, workers: Workers, noise: NoiseComponents = NO_NOISE
    ) -> Any:
        """The learner that the restarts run, with these noise components."""

    def _batch_learner(self, data: BinaryData, row_weight: np.ndarray, workers: Workers, noise: NoiseComponents) -> Any:
        """The learner of batches, whose sums are those of all cells."""
        return self._learner(data, row_weight, workers, noise)

    @abstractmethod
    def _arrays_of(self, components: Any) -> tuple[np.ndarray, ...]:
        """Components as the arrays of a learner's state that follow the rows."""

    @abstractmethod
    def _kept(self, state: Any, share: np.ndarray, noise: NoiseComponents) -> Any:
        """What is kept of a state: the components in the forms that answers need."""

    @abstractmethod
    def _set_components(self, components: Any, runs: Sequence[Restart[Any]]) -> None:
        """Take over components, and those of all runs."""

    def _check_batches(self, given: str) -> None:
        """Refuse to learn in batches, or to go on, where that can't be; `given` is what asks for it."""

    # ---- fits ----------------------------------------------------------------------------------------------------

    @property
    def _goes_on(self) -> bool:
        """Whether a fit begins where the last one ended."""
        return bool(self.warm_start) and hasattr(self, "components_")

    def _climber(self, make_learner: Callable[[Workers], Any]) -> Callable[[Workers], Runner[Any]]:
        """How one run is made: from a random start, after steps on batches, or from the components of the last fit."""
        if self._goes_on:
            return running_on(make_learner, self._content_arrays())
        if self.batch_size is not None:
            return running_in_batches(make_learner, Batches(self.batch_size, self._pace))
        return climbing(make_learner, refine=True)

    @property
    def _pace(self) -> Pace:
        return Pace(self.learning_decay, self.learning_offset)

    def _content_arrays(self) -> list[np.ndarray]:
        """The arrays of the components with content."""
        kinds = self._components.kinds
        content = np.ones(len(self.components_), dtype=bool) if kinds is None else kinds == CONTENT
        if (int(content.sum()), self.components_.shape[1]) != (self.n_components, self.n_features_in_):
            raise DataError(
                f"warm_start goes on from {counted(int(content.sum()), 'component')} of "
                f"{counted(self.components_.shape[1], 'column')}, and this fit has n_components={self.n_components} "
                f"and {counted(self.n_features_in_, 'column')}; fit with warm_start=False"
            )
        return list(self._arrays_of(self._components.take(content)))

    # ---- block after block ---------------------------------------------------------------------------------------

    def partial_fit(self, X: Any, y: None = None, sample_weight: ArrayLike | None = None) -> Self:
        """Learn from a block of rows, after those of earlier calls: a step of stochastic EM (or variational inference).

        The rows of the block are solved for with the components fixed, and the components move towards what the block
        says of them, the less the more blocks they have seen (`learning_decay`, `learning_offset`). Afterwards the
        model is fitted: `weights_` and `row_weight_` are those of the last batch (nine accelerated passes from equal
        weights; `transform` solves to the end), by which `score` and `sample` know how weights are distributed.
        `n_iter_` counts the batches, `objective_` is the last one's, before it was learned from. Components keep their
        order.

        The first call starts from `random_state`, with one start, unless the model has been fitted, which then counts
        as so many batches as its rows would have made. Blocks should be mixed: a block of one kind of rows after the
        other is forgotten.

        Parameters
        ----------
        X : array, SciPy sparse, pandas or polars frame, BinaryData, or an iterable of these
            A block of rows of 0, 1 and missing cells, all blocks with the same columns; one batch, or with `batch_size`
            several. Of a list or generator every block is learned from in turn.
        y : None, default=None
            Ignored; part of scikit-learn's interface.
        sample_weight : array-like of shape (n_rows,) or None, default=None
            A row of weight 2 counts like two equal rows.

        Returns
        -------
        Self
            The fitted model.
        """
        if comes_in_blocks(X) and not hasattr(X, "shape"):
            if sample_weight is not None:
                raise DataError("sample_weight belongs to one block; give blocks to partial_fit one by one")
            for block in X:
                self.partial_fit(block)
            check_is_fitted(self)
            return self
        self._check_parameters()
        self._check_batches("partial_fit")
        if self.noise == "auto":
            raise DataError('noise="auto" compares fits to all rows; choose "white", "black", "both" or None here')
        data = super()._data(X, reset=not hasattr(self, "components_"))
        row_weight = check_row_weight(sample_weight, data.shape[0])
        noise = NoiseComponents(NESTED[self.noise or "none"], self.noise_rate)
        with Workers(n_workers(self.n_jobs)) as workers, one_blas_thread():
            learner = self._batch_learner(data.without_names(), row_weight, workers, noise)
            learned = self._learned(learner)
            for batch in _cut(learner, self.batch_size):
                learned, row_weight, last = self._after(batch, learned), batch.row_weight, batch.data
        self._adopt_learned(learned, row_weight, noise)
        self.data_checksum_ = self._checksum(last)
        return self

    def _learned(self, learner: Any) -> _Learned:
        """Where to go on: a random start, what the last block left, or a fit."""
        if not hasattr(self, "components_"):
            seed = int(as_generator(self.random_state).integers(2**31))
            state = learner.initialise(np.random.default_rng(seed))
            return _Learned(state, first_sums(learner, state), seed, [])
        start = learner.initialise(np.random.default_rng(0))
        order = self._content_first()
        arrays = self._arrays_of(self._components.take(order))
        if len(arrays[0]) != len(start[1]):
            raise DataError(
                f"the model has {counted(len(arrays[0]), 'component')}, and n_components and noise now ask for "
                f"{len(start[1])}; leave them as they were, or fit anew"
            )
        state, seed = type(start)(start[0], *arrays), int(self.restarts_["seed"].iloc[0])
        if self._sums is not None:
            return _Learned(state, self._sums, seed, self.objective_history_.tolist())
        seen = float(self.row_weight_.sum())
        n1, n0, log_weight = self._sums_of_fit(order, seen)
        n_rows = len(learner.row_weight)
        n_steps = len(self.row_weight_) // min(self.batch_size or n_rows, n_rows)
        return _Learned(state, RunningSums(n1, n0, n_steps, seen, log_weight), seed, [])

    def _sums_of_fit(self, order: np.ndarray, weight: float) -> tuple[np.ndarray, np.ndarray, float | None]:
        """N1, N0 and the mean of E[log a] of a fit for rows of a total weight of 1, as if all cells were observed."""
        share, mean = self.shares_[order, None], self.components_[order]
        return share * mean, share * (1 - mean), None

    def _content_first(self) -> np.ndarray:
        """The order of a learner's state: noise components are the last."""
        kinds = self._components.kinds
        return np.arange(len(self.components_)) if kinds is None else np.argsort(kinds != CONTENT, kind="stable")

    def _after(self, batch: Any, learned: _Learned) -> _Learned:
        """After a step on a batch."""
        sums, state, found = batch_step(batch, learned.state, learned.sums, self._pace, self.total_samples)
        # The batch's part of the objective: its rows', and of the components' cost what falls to them.
        part = float(batch.row_weight.sum()) / (self.total_samples or sums.weight)
        objective = found.objective + found.cost - part * found.cost
        return _Learned(state, sums, learned.seed, [*learned.history, objective])

    def _adopt_learned(self, learned: _Learned, row_weight: np.ndarray, noise: NoiseComponents) -> None:
        state, sums, seed, history = learned
        caused = (sums.n1 + sums.n0).sum(axis=1)
        kept = self._kept(state, caused / caused.sum(), noise)
        run = Restart(seed, history[-1], sums.n_steps, False, history, state, kept)
        self._record_runs(run, [run])
        self._set_components(kept, [run])
        self.noise_trials_ = None
        self._running_sums = sums
        self.weights_, self.row_weight_, self.weights_gap_ = state.W, row_weight, None

    @property
    def _sums(self) -> RunningSums | None:
        """What `partial_fit` goes on from; None after a fit."""
        return getattr(self, "_running_sums", None)


def _cut(learner: Any, size: int | None) -> list[Any]:
    """A learner for each batch of consecutive rows; batches without weight are left out."""
    n = len(learner.row_weight)
    batches = [slice(first, first + (size or n)) for first in range(0, n, size or n)]
    return [
        replace(learner, data=learner.data.rows(rows), row_weight=learner.row_weight[rows])
        for rows in batches
        if learner.row_weight[rows].any()
    ]
