"""Binary factor analysis by maximum likelihood: EM with the exact posterior of every row, a sum over all 2^m codes."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from scipy.special import expit

from latentbits.fitting.climb import ArrayLearner
from latentbits.fitting.workers import Workers
from latentbits.models.binary_factors.binary_model import (
    EQUAL,
    Parameters,
    exact_posterior,
    log_odds,
    moments,
    noise_precision,
    shares,
)
from latentbits.models.binary_factors.coding import rough_fit

SMALLEST_PRECISION = 1e-10  # of the noise, after an extrapolation
LARGEST_LOG_ODDS = 13.8  # of shares kept 1e-6 off 0 and 1


class State(NamedTuple):
    """A: (n, m), c: (n,), and phi (as its logarithm) and beta (as log odds), so that they can be extrapolated."""

    A: np.ndarray
    c: np.ndarray
    log_phi: np.ndarray
    gamma: np.ndarray

    @classmethod
    def of(cls, theta: Parameters) -> State:
        """The state of these parameters."""
        return cls(theta.A, theta.c, np.log(theta.phi), log_odds(theta.beta))

    @property
    def parameters(self) -> Parameters:
        """A, c, phi, beta."""
        return Parameters(self.A, self.c, np.exp(self.log_phi), expit(self.gamma))


@dataclass(frozen=True)
class MaximumLikelihood(ArrayLearner[State]):
    """EM for sum_t log sum_y q(x_t|y) q(y) (eq. 2). X is centred and of unit variance."""

    X: np.ndarray
    n_components: int
    workers: Workers
    limit: np.ndarray = field(default_factory=lambda: EQUAL)

    def initialise(self, rng: np.random.Generator) -> State:
        """A rough fit by least squares (see `rough_fit`)."""
        return State.of(rough_fit(self.X, self.n_components, rng, self.workers, self.limit)[0])

    def step(self, state: State) -> tuple[State, float]:
        """Exact posterior moments, then the least squares of x on (y, 1) in expectation."""
        row_log, mean, second = exact_posterior(state.parameters, self.X, self.workers)
        sums = moments(self.X, mean, second)
        A, c = sums.regress()
        phi = noise_precision(sums.squares(A, c), sums.cells, self.limit)
        return State.of(Parameters(A, c, phi, shares(sums.ones, sums.n_rows))), float(row_log.sum())

    def project(self, state: State) -> State:
        """Precision and odds inside the bounds of a step."""
        log_phi = np.clip(state.log_phi, np.log(SMALLEST_PRECISION), np.log(self.limit))
        return State(state.A, state.c, log_phi, np.clip(state.gamma, -LARGEST_LOG_ODDS, LARGEST_LOG_ODDS))

    def scales(self) -> tuple[np.ndarray | float, ...]:
        """Equal weights: the data have unit variance."""
        return 1.0, 1.0, 1.0, 1.0
