"""Which learner a fit of `BinaryICA` uses, from data in segments to parameters."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse.csgraph import connected_components
from scipy.special import log_ndtr, ndtri

from latentbits.correlations.pairs import Places, warn_about_silent
from latentbits.correlations.parallel_analysis import (
    average_correlations,
    beside_chance,
    column_information,
    draws_within,
)
from latentbits.correlations.repair import regularise
from latentbits.correlations.tetrachoric import Tetrachoric, estimate
from latentbits.data.binary_data import BinaryData
from latentbits.data.messages import SHOWN, quoted
from latentbits.errors import warn_user
from latentbits.fitting.climb import Monitor
from latentbits.fitting.restarts import Restart, Schedule, best_of
from latentbits.fitting.workers import n_workers
from latentbits.models.binary_ica import Likelihood, Method, Shrinkage, blica, ivae, matched, mle
from latentbits.models.binary_ica.parameters import (
    LINK,
    PairwiseStatistics,
    Parameters,
    Prior,
    canonical,
    correlations,
    count_rows,
)
from latentbits.numerics import RandomSource, as_generator
from latentbits.wording import place

COPIES = 0.98
"""A correlation, on average over segments, from which columns are almost copies: 95 % of equal cells have 0.988."""

ALIKE, BEYOND = 0.9, 0.6
"""Pairs with a correlation above the first, on average over segments, may share more than the sources: they do if that
is beyond what a model of all other pairs makes of them by the second, as Fisher's z. In simulations of the model itself
it was 0.43 at most; two columns of which 6 to 12 % of cells differ had 0.66 to 1.4. For tables of few rows three
standard errors are added."""

QUICK_STARTS, QUICK_STEPS = 2, 500
"""Of the fits that ask for such pairs, and for the number of sources."""

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


class MergedColumns(NamedTuple):
    """Columns that are almost copies of each other, or of each other's opposite, as one.

    A source of their own would explain copies best, and the mixing of all other columns suffer. kept: (k,) the columns
    of the fit, the most informative of each group. like: (n,) the place among these of each column's own. sign: (n,).
    """

    kept: np.ndarray
    like: np.ndarray
    sign: np.ndarray

    @classmethod
    def of(cls, found: Tetrachoric, least: int = 1) -> MergedColumns:
        """The groups of columns that copies tie together; none if fewer than `least` would be left."""
        C = average_correlations(found)
        n = len(C)
        _, group = connected_components(np.abs(C) > COPIES)
        order = np.argsort(-column_information(found), kind="stable")
        kept = np.sort([order[group[order] == g][0] for g in np.unique(group)])
        if len(kept) < max(least, 2):
            kept, group = np.arange(n), np.arange(n)
        like = np.array([int(np.flatnonzero(group[kept] == group[i])[0]) for i in range(n)])
        return cls(kept, like, np.where(C[np.arange(n), kept[like]] < 0, -1.0, 1.0))

    def groups(self) -> list[np.ndarray]:
        """Columns that are one, two or more in each group."""
        return [np.flatnonzero(self.like == k) for k in range(len(self.kept)) if np.sum(self.like == k) > 1]

    def data(self, data: BinaryData) -> BinaryData:
        """The rows with the columns of the fit."""
        if len(self.kept) == len(self.like):
            return data
        return BinaryData(np.ascontiguousarray(data.dense()[:, self.kept]))

    def correlations(self, found: Tetrachoric) -> Tetrachoric:
        """Those of the columns of the fit."""
        at = (..., self.kept)
        pairs = (..., self.kept[:, None], self.kept)
        of_pairs = ("correlations", "standard_errors", "n_pairs", "zero_cells")
        return replace(
            found,
            **{name: getattr(found, name)[at] for name in ("thresholds", "constant")},
            **{name: getattr(found, name)[pairs] for name in of_pairs},
            column_names=None,
        )

    def parameters(self, found: Parameters, thresholds: np.ndarray, n_rows: np.ndarray) -> Parameters:
        """The model of all columns: those that were left out get the row of their own, and their intercepts."""
        if len(self.kept) == len(self.like):
            return found
        mixing = found.mixing[self.like] * self.sign[:, None]
        B = LINK * mixing
        target = -thresholds * np.sqrt(1 + found.scales**2 @ (B**2).T) - found.means @ B.T
        intercepts = np.average(target, axis=0, weights=n_rows)
        intercepts[self.kept] = found.intercepts
        return canonical(found._replace(mixing=mixing, intercepts=intercepts), n_rows / n_rows.sum())


def pairs_beyond_sources(
    found: Tetrachoric, n_rows: np.ndarray, K: int, prior: Prior, condition_number: float | None
) -> np.ndarray:
    """Pairs (n, n) that are more alike than what they share with others makes them.

    Such a pair would take a source of its own, and spoil the others. It is judged by a quick fit to all other pairs,
    with half as many sources as columns, so that a source that K is too few for isn't taken for a pair; with more
    sources than that the others don't say what a pair should have. Three columns or more that are so alike share a
    source indeed.
    """
    C = average_correlations(found)
    n = len(C)
    suspected = (np.abs(C) > ALIKE) & ~np.eye(n, dtype=bool)
    if n < 2 * K or not suspected.any():
        return np.zeros((n, n), dtype=bool)
    B = quick_fit(without_pairs(found, suspected), n_rows, n // 2, prior, condition_number)
    implied = average_correlations(replace(found, correlations=correlations(B)))
    z = np.arctanh(np.clip([np.abs(C), implied * np.sign(C)], -0.9999, 0.9999))
    with np.errstate(divide="ignore"):
        error = np.sum(np.atleast_3d(found.standard_errors.T) ** -2.0, axis=2) ** -0.5  # of the average over segments
    pairs = suspected & (z[0] - z[1] > BEYOND + 3 * error / (1 - np.minimum(np.abs(C), 0.9999) ** 2))
    alone = pairs.sum(axis=0) == 1
    return np.asarray(pairs & np.outer(alone, alone))


def quick_fit(
    found: Tetrachoric, n_rows: np.ndarray, K: int, prior: Prior, condition_number: float | None
) -> np.ndarray:
    """c A diag(s_u) of each segment (U, n, K), from a few steps of the fit with matched shrinkage."""
    statistics = matched.statistics_of(found, n_rows, condition_number)
    climbs = [
        matched.climb(
            statistics,
            prior,
            matched.start(statistics, K, np.random.default_rng(seed)),
            Monitor(matched.COARSE, QUICK_STEPS, float(statistics.thresholds.shape[1] * n_rows.sum())),
        )
        for seed in range(QUICK_STARTS)
    ]
    A, log_s = max(climbs, key=lambda climbed: climbed.objective).state
    return np.asarray(A * np.exp(log_s)[:, None, :])


def number_of_sources(data: BinaryData, found: Tetrachoric, codes: np.ndarray, prior: Prior, n_jobs: int | None) -> int:
    """By parallel analysis, where the last source has to be beyond what sources make that change between segments.

    Their correlations, averaged over segments, have a little more than their number of factors: beside tables of the
    average's own factors a third source was found behind two in 3 of 10 tables of 8 columns.
    """
    merged = MergedColumns.of(found)
    data, found = merged.data(data), merged.correlations(found)

    def changing(K: int) -> tuple[np.ndarray, np.ndarray]:
        B = quick_fit(found, np.bincount(codes).astype(float), K, prior, None)
        unique = 1 / (1 + (B**2).sum(axis=2))
        return B * np.sqrt(unique)[:, :, None], unique

    draws = draws_within(found)
    return beside_chance(found, data, codes, n_draws=draws, changing=changing, n_jobs=n_jobs).n_factors


def without_pairs(found: Tetrachoric, pairs: np.ndarray) -> Tetrachoric:
    """As if these pairs (n, n) of columns were never seen together."""
    return replace(found, n_pairs=np.where(pairs, 0, found.n_pairs)) if pairs.any() else found


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
    likelihood: Likelihood
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
        if K == 0:
            return _without_sources(data, found)
        merged = MergedColumns.of(found, least=K)
        fitted = merged.correlations(found)
        if self.shrinkage == "matched" and self.method == "blica":
            fitted = self._without_pairs_beyond_sources(data, fitted, codes, K, merged.kept)
        learned = self._learn(merged.data(data), fitted, codes, K)
        return learned._replace(
            parameters=merged.parameters(learned.parameters, found.thresholds, np.bincount(codes).astype(float)),
            mixings=learned.mixings[:, :, merged.like] * merged.sign,
            thresholds=found.thresholds,
        )

    def _without_pairs_beyond_sources(
        self, data: BinaryData, found: Tetrachoric, codes: np.ndarray, K: int, kept: np.ndarray
    ) -> Tetrachoric:
        """The correlations without those of pairs that share more than the sources, which are told."""
        n_rows = np.bincount(codes).astype(float)
        pairs = pairs_beyond_sources(found, n_rows, K, self.prior, self.condition_number)
        if pairs.any():
            names = data.column_names
            named = [place("column", j) if names is None else quoted(names[j]) for j in kept.tolist()]
            listed = [f"{named[i]} and {named[j]}" for i, j in np.argwhere(np.triu(pairs))]
            more = f" and {len(listed) - SHOWN} more pairs" if len(listed) > SHOWN else ""
            warn_user(
                f"more alike than the sources that they share with others make them: {', '.join(listed[:SHOWN])}{more}"
                "; their correlation is left out of the fit, so that it doesn't take a source"
            )
        return without_pairs(found, pairs)

    def _learn(self, data: BinaryData, found: Tetrachoric, codes: np.ndarray, K: int) -> Learned:
        n_segments = len(found.correlations)
        if self.method == "ivae":
            rows = count_rows(data, codes, n_segments)
            return self._best(data, lambda workers: ivae.runner(rows, K), self._full(ivae.parameters_of, codes))
        first = self._correlations(data, found, codes, K)
        if self.method == "blica":
            return first
        rows = count_rows(data, codes, n_segments)
        likelihood = mle.likelihood_for(K, self.n_points, self.likelihood)
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


def _without_sources(data: BinaryData, found: Tetrachoric) -> Learned:
    """Independent columns: intercepts alone, from the shares of ones."""
    U, n = found.thresholds.shape
    ones, seen = data.ones_per_column(), data.observed_per_column()
    nothing = np.zeros((U, 0))
    parameters = Parameters(np.zeros((n, 0)), nothing, nothing, ndtri((ones + 0.5) / (seen + 1)))
    h = np.asarray(parameters.intercepts)
    value = float(ones @ log_ndtr(h) + (seen - ones) @ log_ndtr(-h))
    run: Restart[Any] = Restart(0, value, 0, True, [value], (), parameters)
    return Learned(run, [run], parameters, np.zeros((1, 0, n)), found.thresholds)


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
