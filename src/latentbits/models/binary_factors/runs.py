"""Runs of the learners: how they are made, what they have found, and the path by which "auto" finds the number.

Harmony learning with rounded codes ends in good optima where EM's own starts don't (few rows, little noise), but its
rule for discarding compares lengths with the noise, and weak factors fail it however many rows there are. So on the
path it runs from the largest number down to none, discarding the shortest column whenever it has settled; each state on
the way starts EM, and the smallest BIC of all of them is taken.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, cast

import numpy as np
import pandas as pd

from latentbits.fitting.climb import Climbed, Monitor, climb
from latentbits.fitting.restarts import Restart, Runner, climbing
from latentbits.fitting.workers import Workers
from latentbits.models.base import ROUNDING
from latentbits.models.binary_factors import Encoder, OneNoise, Update, algorithm1, em
from latentbits.models.binary_factors.binary_model import (
    Parameters,
    Prior,
    exact_posterior,
    log_odds,
    n_parameters,
    precision_limit,
)
from latentbits.models.binary_factors.byy import Discard, HarmonyLearning, State, least_length, without
from latentbits.models.binary_factors.em import MaximumLikelihood
from latentbits.models.binary_factors.vb import VariationalBayes, expected_program

PATH_LIMIT = 12
"""Largest number of factors for which a path is affordable: EM sums over all codes."""

TRIAL_PASSES, TRIAL_TOL = 50, 1e-4
"""Of EM when it is only asked whether noise differs by column: BIC differs by tens if it does."""


class Scaled(NamedTuple):
    """Rows in units of their spread, the centre and scale of the columns, and the limits of the noise's precision."""

    Z: np.ndarray
    centre: np.ndarray
    scale: np.ndarray
    limit: np.ndarray

    @property
    def shift(self) -> float:
        """What makes log densities of Z those of the rows."""
        return -float(np.sum(~np.isnan(self.Z), axis=0) @ np.log(self.scale))


def scaled(data: np.ndarray, noise: OneNoise) -> Scaled:
    """Rows divided by the spread of each column or, if they have one noise, of all together; by 1 where it is nothing.

    Examples
    --------
    >>> scaled(np.array([[0.0, 0.0], [2.0, 6.0]]), "columns").scale.tolist()
    [1.0, 3.0]
    """
    data = data[~np.isnan(data).all(axis=1)]  # empty rows say nothing about the parameters
    centre = np.nanmean(data, axis=0)
    Z = np.ascontiguousarray(data - centre)
    squares, size = np.nanmean(Z * Z, axis=0), np.nanmax(np.abs(data), axis=0)
    if noise == "equal":
        squares, size = np.full(len(size), np.nanmean(Z * Z)), np.full(len(size), size.max())
    scale = np.where(squares > (ROUNDING * size) ** 2, np.sqrt(squares), 1.0)
    Z /= scale
    return Scaled(Z, centre, scale, precision_limit(Z, noise))


class Stop(NamedTuple):
    """A size on the path: the parameters of maximum likelihood, their log likelihood, and minus half their BIC."""

    theta: Parameters
    log_likelihood: float
    criterion: float


class Path(NamedTuple):
    """The sizes that a run has visited, largest first, the best of them, and the factors discarded on the way to it."""

    stops: list[Stop]
    best: int
    discards: list[Discard]


@dataclass(frozen=True)
class PathLearning:
    """Runs along the path; `harmony` has the rows, the largest number of factors and how codes are found."""

    harmony: HarmonyLearning

    def run(self, rng: np.random.Generator, monitor: Monitor) -> Climbed[Any]:
        """From a random start down to no factor; recorded is the best criterion so far (BIC / -2), for every pass."""
        state = self.harmony.initialise(rng)
        numbers = list(range(len(state.alpha)))  # of the factors left, by their place at the start
        stops: list[Stop] = []
        discards: list[Discard] = []
        best, converged = 0, False
        while True:
            inner = self._inner(monitor)
            state = self.harmony.settle(state, inner, free_beta=False)
            passes = inner.n_iter
            inner = self._inner(monitor)
            stops.append(self._refined(state.theta, inner))
            if stops[-1].criterion >= stops[best].criterion:
                best, converged = len(stops) - 1, inner.converged
            for _ in range(passes + inner.n_iter):
                monitor.record(stops[best].criterion)
            out_of_time = monitor.finished and monitor.n_iter >= monitor.max_iter
            if not numbers or out_of_time:
                break
            state, discard = self._shorter(state, numbers, monitor.n_iter)
            discards.append(discard)
        monitor.converged = converged and not out_of_time
        return Climbed(Path(stops, best, discards[:best]), stops[best].criterion)

    def _inner(self, monitor: Monitor) -> Monitor:
        left = max(1, monitor.max_iter - monitor.n_iter)
        return Monitor(monitor.tol, left, monitor.n_cells, cancelled=monitor.cancelled)

    def _refined(self, theta: Parameters, monitor: Monitor) -> Stop:
        X = self.harmony.X
        learner = em.MaximumLikelihood(X, theta.A.shape[1], self.harmony.workers, self.harmony.limit)
        found, log_likelihood = climb(learner, em.State.of(theta), monitor)
        n, m = theta.A.shape
        penalty = 0.5 * np.log(len(X)) * n_parameters(n, m, len(theta.phi))
        return Stop(found.parameters, log_likelihood, log_likelihood - float(penalty))

    @staticmethod
    def _shorter(state: State, numbers: list[int], iteration: int) -> tuple[State, Discard]:
        """The state without the factor of the shortest column, whose number is removed from `numbers`."""
        factor = int(state.theta.lengths.argmin())
        column, probability = state.theta.A[:, factor], float(state.theta.beta[factor])
        discard = Discard(iteration, numbers.pop(factor), "bic", column, probability)
        return State(without(state.theta, factor), np.delete(state.alpha, factor)), discard


class Found(NamedTuple):
    """The result of one run, for centred and scaled data.

    Q, offset : of the binary quadratic program of a row (eq. 13), f being phi A^T (x - c) + offset
    """

    theta: Parameters
    Q: np.ndarray
    offset: np.ndarray
    discards: list[Discard]


class Fitted(NamedTuple):
    """All starts with one of the two kinds of noise: the rows as they were scaled, the best start, and all of them."""

    noise: OneNoise
    rows: Scaled
    run: Restart[Any]
    runs: list[Restart[Any]]

    @property
    def found(self) -> Found:
        """What the best start has found."""
        return cast(Found, self.run.kept[0])

    def bic(self) -> float:
        """Of the best start's parameters."""
        return _bic(self.rows, self.found.theta)

    def gains_by_columns(self, data: np.ndarray) -> bool:
        """Whether BIC falls, with the factors found or fewer, if noise differs by column from here on.

        A cheap question before a fit of its own is made: expectation maximisation starts where equal noise has ended.
        """
        outcome = self.run.kept[1]
        thetas = [stop.theta for stop in outcome.stops] if isinstance(outcome, Path) else [self.found.theta]
        rows, best = scaled(data, "columns"), self.bic()
        ratio = self.rows.scale / rows.scale
        for A, c, phi, beta in thetas:
            start = Parameters(A * ratio[:, None], c * ratio, np.minimum(phi / ratio**2, rows.limit), beta)
            learner = em.MaximumLikelihood(rows.Z, A.shape[1], Workers(), rows.limit)
            monitor = Monitor(TRIAL_TOL, TRIAL_PASSES, float(np.sum(~np.isnan(rows.Z))))
            if _bic(rows, climb(learner, em.State.of(start), monitor).state.parameters) < best:
                return True
        return False


def _bic(rows: Scaled, theta: Parameters) -> float:
    n, m = theta.A.shape
    likelihood = float(exact_posterior(theta, rows.Z, Workers()).row_log.sum()) + rows.shift
    return float(np.log(len(rows.Z)) * n_parameters(n, m, len(theta.phi)) - 2 * likelihood)


def make_runner(
    Z: np.ndarray,
    m: int,
    inference: str,
    encoder: Encoder,
    update: Update,
    priors: bool,
    delta: float | None,
    limit: np.ndarray,
) -> Callable[[Workers], Runner[Any]]:
    """The learner of the estimator's parameters, started with m factors, for rows Z in units of their spread."""
    prior = Prior(tau=float(priors or inference == "vb"))
    # Only codes that are certain can split a single column: variational Bayes has none of these.
    hard = len(limit) > 1 and inference != "vb"
    least = least_length(*Z.shape, by_column=hard) if delta is None else delta
    if inference == "published":
        chosen = algorithm1.DELTA if delta is None else delta
        return lambda workers: algorithm1.Algorithm1(Z, m, encoder, prior.tau, chosen, workers).run
    if inference == "em":
        return climbing(lambda workers: MaximumLikelihood(Z, m, workers, limit))
    if inference == "vb":
        return lambda workers: VariationalBayes(Z, m, prior, least, workers, limit).run
    if inference == "auto":
        return lambda workers: PathLearning(HarmonyLearning(Z, m, encoder, update, prior, least, workers, limit)).run
    return lambda workers: HarmonyLearning(Z, m, encoder, update, prior, least, workers, limit).run


def found_by(inference: str, outcome: Any) -> Found:
    """What the outcome of a learner's run says about parameters and codes."""
    if inference == "em":
        return _point(outcome.parameters, [])
    if inference == "auto":
        return _point(outcome.stops[outcome.best].theta, outcome.discards)
    if inference in ("byy", "published"):
        return _point(outcome.state.theta, outcome.discards)
    Q, offset = expected_program(outcome.state)
    return Found(outcome.state.parameters, Q, offset, outcome.discards)


def _point(theta: Parameters, discards: list[Discard]) -> Found:
    return Found(theta, theta.A.T @ theta.weighted, log_odds(theta.beta) / 2, discards)


def shifted(run: Restart[Any], by: float) -> Restart[Any]:
    """The run with a constant added to its objective."""
    return replace(run, objective=run.objective + by, history=[value + by for value in run.history])


def sizes_table(paths: list[list[Stop]], shift: float) -> pd.DataFrame:
    """Of every number of factors, the most likely parameters of all paths; `shift` is added to log likelihoods."""
    stops: dict[int, Stop] = {}
    for stop in (stop for path in paths for stop in path):
        size = stop.theta.A.shape[1]
        stops[size] = max(stops.get(size, stop), stop, key=lambda one: one.log_likelihood)
    lines = [(m, stop.log_likelihood + shift, -2 * (stop.criterion + shift)) for m, stop in sorted(stops.items())]
    return pd.DataFrame(lines, columns=["n_components", "log_likelihood", "bic"])


def discards_table(discards: list[Discard], scale: np.ndarray) -> pd.DataFrame:
    """One line per discard, with columns of the same types when there are none; norms in the units of X."""
    lines = [(*one[:3], np.linalg.norm(one.column * scale), one.probability) for one in discards]
    kinds = {"iteration": int, "factor": int, "reason": str, "norm": float, "probability": float}
    return pd.DataFrame(lines, columns=list(kinds)).astype(kinds)
