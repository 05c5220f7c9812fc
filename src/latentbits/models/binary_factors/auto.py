"""The number of binary factors by a path: harmony learning proposes, maximum likelihood refines, BIC decides.

Harmony learning with rounded codes ends in good optima where EM's own starts don't (few rows, little noise), but its
rule for discarding compares lengths with the noise, and weak factors fail it however many rows there are. So it runs
from the largest number down to none, discarding the shortest column whenever it has settled; each state on the way
starts EM, and the smallest BIC of all of them is taken.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from latentbits.fitting.climb import Climbed, climb
from latentbits.fitting.monitor import Monitor
from latentbits.models.binary_factors import em
from latentbits.models.binary_factors.byy import HarmonyLearning, State, without
from latentbits.models.binary_factors.discarding import Discard
from latentbits.models.binary_factors.model import Parameters, n_parameters

__all__ = ["PATH_LIMIT", "Path", "PathLearning", "Stop"]

PATH_LIMIT = 12
"""Largest number of factors for which a path is affordable: EM sums over all codes."""


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
        learner = em.MaximumLikelihood(X, theta.A.shape[1], self.harmony.workers)
        found, log_likelihood = climb(learner, em.State.of(theta), monitor)
        penalty = 0.5 * np.log(len(X)) * n_parameters(*theta.A.shape)
        return Stop(found.parameters, log_likelihood, log_likelihood - float(penalty))

    @staticmethod
    def _shorter(state: State, numbers: list[int], iteration: int) -> tuple[State, Discard]:
        """The state without the factor of the shortest column, whose number is removed from `numbers`."""
        norm = np.linalg.norm(state.theta.A, axis=0)
        factor = int(norm.argmin())
        probability = float(state.theta.beta[factor])
        discard = Discard(iteration, numbers.pop(factor), "bic", float(norm[factor]), probability)
        return State(without(state.theta, factor), np.delete(state.alpha, factor)), discard
