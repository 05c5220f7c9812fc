"""Gaussian factor analysis, the rival of binary factors: the same model, x = A z + c + noise, with standard normal z.

It is probabilistic PCA where all columns have one noise. If it describes the data better, by BIC, than on-off factors
do, then the binary factors found are an approximation of something continuous.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import pandas as pd

from latentbits.fitting.climb import ArrayLearner, Monitor, climb
from latentbits.models.binary_factors.binary_model import (
    EQUAL,
    Moments,
    Parameters,
    filled,
    moments,
    noise_precision,
    seen_cells,
)
from latentbits.models.binary_factors.em import SMALLEST_PRECISION, State

BEYOND = 2  # numbers of factors that are tried after the best one
PASSES, TOL = 2000, 1e-7
LOG_2PI = float(np.log(2 * np.pi))


@dataclass(frozen=True)
class GaussianFactors(ArrayLearner[State]):
    """EM of Gaussian factor analysis. X is centred, and may have missing cells; the state's gamma isn't used."""

    X: np.ndarray
    n_components: int
    limit: np.ndarray = field(default_factory=lambda: EQUAL)

    def initialise(self, rng: np.random.Generator) -> State:
        """The principal axes: no start is random."""
        return State.of(principal_start(self.X, self.n_components, self.limit))

    def step(self, state: State) -> tuple[State, float]:
        """Posterior moments of the factors, then the least squares of x on (z, 1) in expectation."""
        theta = state.parameters
        log_likelihood, sums = posterior_moments(theta, self.X)
        A, c = sums.regress()
        phi = noise_precision(sums.squares(A, c), sums.cells, self.limit)
        return State.of(Parameters(A, c, phi, theta.beta)), log_likelihood

    def project(self, state: State) -> State:
        """Precisions inside the bounds of a step."""
        log_phi = np.clip(state.log_phi, np.log(SMALLEST_PRECISION), np.log(self.limit))
        return state._replace(log_phi=log_phi)

    def scales(self) -> tuple[np.ndarray | float, ...]:
        """Equal weights: the data have unit variance."""
        return 1.0, 1.0, 1.0, 1.0


def posterior_moments(theta: Parameters, X: np.ndarray) -> tuple[float, Moments]:
    """The log likelihood of all rows, and the sums over rows of x and z = (factors, 1) given the rows."""
    A, c, phi, _ = theta
    (N, n), k = X.shape, A.shape[1]
    seen, residual = seen_cells(X), filled(X - c)
    log_phi = np.broadcast_to(np.log(phi), n) - LOG_2PI
    pull = residual @ theta.weighted
    squares = residual**2 @ np.broadcast_to(phi, n)
    if seen is None:
        precision = np.eye(k) + A.T @ theta.weighted
        covariance = np.linalg.inv(precision)
        mean, cells = pull @ covariance, log_phi.sum()
        second = N * covariance + mean.T @ mean
    else:
        precision = np.eye(k) + (seen @ (A[:, :, None] * theta.weighted[:, None, :]).reshape(n, -1)).reshape(N, k, k)
        covariance = np.linalg.inv(precision)
        mean, cells = np.einsum("tik,tk->ti", covariance, pull), seen @ log_phi
        squared = covariance + mean[:, :, None] * mean[:, None, :]
        second = (seen.T @ squared.reshape(N, -1)).reshape(n, k, k)
    log_det = np.linalg.slogdet(precision)[1]
    row_log = (cells - log_det - squares + np.einsum("ti,ti->t", mean, pull)) / 2
    return float(np.sum(row_log)), moments(X, mean, second)


def principal_start(X: np.ndarray, n_components: int, limit: np.ndarray) -> Parameters:
    """The maximum likelihood of probabilistic PCA, if no cell is missing; half of each column's variance is noise then.

    (Where columns have noises of their own, a column whose noise starts near 0 would keep it.)
    """
    Z = filled(X)
    values, vectors = np.linalg.eigh(Z.T @ Z / len(Z))
    values, vectors = values[::-1], vectors[:, ::-1]
    rest = float(np.mean(values[n_components:])) if n_components < len(values) else 0.0
    kept = np.maximum(values[:n_components] - rest, 1e-6)
    A = vectors[:, :n_components] * np.sqrt(kept)
    noise = np.full(1, rest) if len(limit) == 1 else np.maximum(np.mean(Z * Z, axis=0) / 2, 1e-6)
    phi = np.minimum(limit, 1 / np.maximum(noise, 1e-10))
    return Parameters(A, np.zeros(X.shape[1]), phi, np.full(n_components, 0.5))


def n_gaussian_parameters(n: int, k: int, n_noises: int) -> int:
    """The number of free parameters; factors can be rotated, and no covariance has more than n (n + 1) / 2 numbers.

    Examples
    --------
    >>> n_gaussian_parameters(10, 3, 1), n_gaussian_parameters(10, 3, 10), n_gaussian_parameters(3, 2, 3)
    (38, 47, 9)
    """
    return n + min(n * k - k * (k - 1) // 2 + n_noises, n * (n + 1) // 2)


def gaussian_sizes(X: np.ndarray, limit: np.ndarray, at_least: int, shift: float) -> pd.DataFrame:
    """Log likelihood and BIC of 0, 1, ... Gaussian factors: `at_least` so many, and on until BIC has turned.

    Parameters
    ----------
    X : (N, n), centred and scaled
    limit : largest precisions of the noise, (1,) or (n,)
    shift : what is added to log likelihoods
    """
    N, n = X.shape
    n_cells, price = float(np.sum(~np.isnan(X))), float(np.log(N))
    lines: list[tuple[int, float, float]] = []
    for k in range(min(n, N)):
        learner = GaussianFactors(X, k, limit)
        monitor = Monitor(TOL, PASSES, n_cells)
        log_likelihood = climb(learner, learner.initialise(np.random.default_rng(0)), monitor).objective + shift
        lines.append((k, log_likelihood, price * n_gaussian_parameters(n, k, len(limit)) - 2 * log_likelihood))
        best = min(lines, key=lambda line: line[2])[0]
        if k >= max(at_least, best + BEYOND):
            break
    return pd.DataFrame(lines, columns=["n_components", "log_likelihood", "bic"])
