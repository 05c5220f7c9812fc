"""Which learner a fit of `BinaryICA` uses, from data in segments to parameters."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from latentbits.correlations.pairs import Places, warn_about_silent
from latentbits.correlations.repair import regularise
from latentbits.correlations.tetrachoric import Tetrachoric, estimate
from latentbits.data.binary_data import BinaryData
from latentbits.fitting.restarts import Restart, Schedule, best_of
from latentbits.fitting.workers import n_workers
from latentbits.models.binary_ica import Method, Shrinkage, blica, ivae, matched, mle
from latentbits.models.binary_ica.parameters import PairwiseStatistics, Parameters, Prior, canonical, count_rows
from latentbits.numerics import RandomSource, as_generator

__all__ = ["FINE", "Learned", "Learning", "segment_correlations"]

FINE, USUAL = 1e-8, 1e-6
"""Tolerances per cell if none is given. Of 40 x 20,000 rows 1e-6 would be 8 units of the objective in ten iterations,
which is far from the end; with matched shrinkage iterations are cheap enough for the finer one."""


class Learned(NamedTuple):
    """The best run, all runs, the parameters in canonical form, all mixings, and the columns' thresholds."""

    best: Restart[Any]
    runs: list[Restart[Any]]
    parameters: Parameters
    mixings: np.ndarray
    thresholds: np.ndarray


@dataclass(frozen=True)
class Learning:
    """How to fit: the parameters of `BinaryICA` that concern it."""

    method: Method
    shrinkage: Shrinkage
    condition_number: float | None
    prior: Prior
    n_init: int
    max_iter: int
    tol: float | None
    n_points: int | None
    random_state: RandomSource
    n_jobs: int | None
    verbose: int

    def learn(self, data: BinaryData, found: Tetrachoric, names: np.ndarray, codes: np.ndarray, K: int) -> Learned:
        """Fit K sources to rows with segment codes, and their correlations; names[codes] are the labels."""
        if self.shrinkage == "matched" and self.method != "ivae":
            way_out = "they are left out there"
        else:
            way_out = "their correlations count as 0 there"
        warn_about_silent(found.constant, found.n_pairs, Places(data.column_names, names), way_out)
        return self._learn(data, found, codes, K)._replace(thresholds=found.thresholds)

    def _learn(self, data: BinaryData, found: Tetrachoric, codes: np.ndarray, K: int) -> Learned:
        n_segments = len(found.correlations)
        if self.method == "ivae":
            rows = count_rows(data, codes, n_segments)
            return self._best(data, lambda workers: ivae.runner(rows, K), self._full(ivae.parameters_of, codes))
        first = self._correlations(data, found, codes, K)
        if self.method == "blica":
            return first
        rows = count_rows(data, codes, n_segments)
        likelihood = mle.likelihood_for(K, self.n_points)
        # One run: it starts from BLICA's solution, and nothing in it is random.
        once = replace(self, n_init=1)
        return once._best(
            data,
            lambda workers: mle.runner(first.parameters, rows, likelihood, workers, self.prior),
            self._full(mle.parameters_of, codes),
        )

    def _correlations(self, data: BinaryData, found: Tetrachoric, codes: np.ndarray, K: int) -> Learned:
        """The fit to tetrachoric correlations, in either form."""
        n_rows = np.bincount(codes).astype(float)
        if self.shrinkage == "matched":
            statistics = matched.statistics_of(found, n_rows, self.condition_number)
            fine = replace(self, tol=FINE if self.tol is None else self.tol)
            return fine._best(
                data,
                lambda workers: matched.runner(statistics, K, self.prior),
                lambda state: matched.parameters_of(state, statistics),
            )
        # 10 for K = D to 20 for K <= D / 2: a balance of noise and bias, chosen by simulations over n, m and rows.
        largest = self.condition_number or 10 * float(np.clip(3 - 2 * K / data.shape[1], 1, 2))
        assert found.segments is not None
        # As published: empty cells of 2 x 2 tables count as they are, and only the regularisation mends them.
        as_counted = segment_correlations(data, found.segments[codes], self.n_jobs, correct=0.0).correlations
        shrunk = PairwiseStatistics(regularise(as_counted, largest), found.thresholds, n_rows)
        return self._best(
            data, lambda workers: blica.runner(shrunk, K), lambda state: blica.parameters_of(state, shrunk)
        )

    @staticmethod
    def _full(parameters_of: Callable[[Any], Parameters], codes: np.ndarray) -> Callable[[Any], Parameters]:
        """Parameters of a state that has means of its own, in the canonical form."""
        share = np.bincount(codes) / len(codes)
        return lambda state: canonical(parameters_of(state), share)

    def _best(
        self, data: BinaryData, make_runner: Callable[..., Any], parameters_of: Callable[[Any], Parameters]
    ) -> Learned:
        tol = USUAL if self.tol is None else self.tol
        schedule = Schedule(self.n_init, self.max_iter, tol, float(data.n_observed), bool(self.verbose))
        best, runs = best_of(
            make_runner, schedule, as_generator(self.random_state), n_workers(self.n_jobs), keep=parameters_of
        )
        return Learned(best, runs, best.kept, np.stack([run.kept.mixing.T for run in runs]), np.empty(0))


def segment_correlations(
    data: BinaryData,
    labels: np.ndarray,
    n_jobs: int | None = None,
    weights: np.ndarray | None = None,
    correct: float | None = None,
) -> Tetrachoric:
    """Tetrachoric correlations of segments, in silence: shrinkage is there for empty cells, and columns are left out
    where they are constant."""
    return estimate(data, labels, weights, correct=correct, n_jobs=n_jobs)[0]
