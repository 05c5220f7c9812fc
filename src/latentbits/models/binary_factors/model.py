"""The model x = A y + c + noise, y in {-1, 1}^m: parameters, sums over all codes, sufficient statistics of codes.

The symbols are those of Tu and Xu, "Learning binary factor analysis with automatic model selection": n variables,
m factors, P(y_i = 1) = beta_i, noise N(0, I / phi).
"""

from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple

import numpy as np
from scipy.special import log1p

from latentbits.fitting.workers import Workers
from latentbits.kernels.binary_quadratic import quadratic_table

__all__ = [
    "EXACT_LIMIT",
    "LARGEST_PRECISION",
    "Moments",
    "Parameters",
    "Posterior",
    "Prior",
    "all_codes",
    "exact_posterior",
    "log_odds",
    "mean_field",
    "moments",
    "n_parameters",
    "noise_precision",
    "program",
    "shares",
]

EXACT_LIMIT = 16
"""Largest number of factors for sums over all codes."""

LARGEST_PRECISION = 1e10
"""Largest precision of the noise, for data of unit variance: a standard deviation of 1e-5."""

BETA_EDGE = 1e-6  # probabilities of factors stay this far from 0 and 1, where log odds are infinite
CHUNK_CELLS = 1 << 18  # rows x codes handled at once
MEAN_FIELD_TOL = 1e-10
MEAN_FIELD_SWEEPS = 200


class Parameters(NamedTuple):
    """A: (n, m) mixing. c: (n,). phi: precision of the noise. beta: (m,) P(y = 1)."""

    A: np.ndarray
    c: np.ndarray
    phi: float
    beta: np.ndarray


class Posterior(NamedTuple):
    """Results of a sum over all codes.

    row_log : (N,)  log p(x_t)
    mean : (N, m)  E[y_t | x_t]
    second : (m, m)  sum_t E[y_t y_t^T | x_t]
    """

    row_log: np.ndarray
    mean: np.ndarray
    second: np.ndarray


class Moments(NamedTuple):
    """Sums over rows of x and z = (y, 1), in expectation where y is not known: the sufficient statistics of a fit.

    zz : (m + 1, m + 1)    xz : (n, m + 1)    xx : sum of x^2
    """

    zz: np.ndarray
    xz: np.ndarray
    xx: float

    @property
    def n_rows(self) -> float:
        """The number of rows N."""
        return float(self.zz[-1, -1])

    @property
    def ones(self) -> np.ndarray:
        """The number of rows with y_i = 1."""
        return (self.zz[:-1, -1] + self.n_rows) / 2

    def squares(self, A: np.ndarray, c: np.ndarray) -> float:
        """sum_t |x_t - A y_t - c|^2"""
        B = np.column_stack([A, c])
        # Below 0 only by rounding, when the fit is perfect.
        return max(0.0, float(self.xx - 2 * np.sum(B * self.xz) + np.sum((B @ self.zz) * B)))

    def regress(self, ridge: np.ndarray | float = 0.0) -> tuple[np.ndarray, np.ndarray]:
        """A and c that minimise `squares` + sum_i ridge_i |b_i|^2, b = (A, c); the shortest if there are several."""
        # Least squares, not solve: equal or constant codes make the normal equations singular.
        B = np.linalg.lstsq(self.zz + np.diag(np.broadcast_to(ridge, len(self.zz))), self.xz.T, rcond=None)[0].T
        return B[:, :-1], B[:, -1]


def moments(X: np.ndarray, mean: np.ndarray, second: np.ndarray) -> Moments:
    """Moments of rows whose codes have this mean (N x m), and second moments (m x m) summed over the rows."""
    m = len(second)
    zz = np.empty((m + 1, m + 1))
    zz[:m, :m] = second
    zz[:m, m] = zz[m, :m] = mean.sum(axis=0)
    zz[m, m] = len(X)
    return Moments(zz, np.column_stack([X.T @ mean, X.sum(axis=0)]), float(np.vdot(X, X)))


class Prior(NamedTuple):
    """Prior of the parameters (eq. 3-6), for data of unit variance; tau = 1 switches it on, tau = 0 off (Algorithm 1).

    a_i ~ N(0, I / alpha_i); alpha_i and phi ~ Gamma(1, rate), vague; beta_i ~ Beta(xi / 2, xi / 2); c ~ N(0, lambda I).
    """

    tau: float = 1.0
    alpha_rate: float = 1e-4
    phi_rate: float = 1e-6
    xi: float = 4.0
    c_variance: float = 10.0


def program(theta: Parameters, X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Q and the rows' f of eq. 13: log q(x|y) q(y) = f^T y - 1/2 y^T Q y + what doesn't depend on y."""
    A, c, phi, beta = theta
    return phi * A.T @ A, X @ (phi * A) + (log_odds(beta) / 2 - phi * c @ A)


def log_odds(beta: np.ndarray) -> np.ndarray:
    """log beta - log(1 - beta)"""
    return np.log(beta) - log1p(-beta)


def all_codes(m: int) -> np.ndarray:
    """The 2^m codes as rows of -1 and 1, bit i of the row's number being y_i.

    Examples
    --------
    >>> all_codes(2).tolist()
    [[-1.0, -1.0], [1.0, -1.0], [-1.0, 1.0], [1.0, 1.0]]
    """
    return 2.0 * ((np.arange(1 << m)[:, None] >> np.arange(m)) & 1) - 1.0


def exact_posterior(theta: Parameters, X: np.ndarray, workers: Workers) -> Posterior:
    """Likelihood and posterior moments of rows, by summing over all 2^m codes.

    The rows are cut into chunks by the shape of the problem alone and sums are added in order, so the result doesn't
    depend on the number of threads.
    """
    A, c, phi, beta = theta
    N, n = X.shape
    m = A.shape[1]
    Q, F = program(theta, X)
    C = all_codes(m)
    table = quadratic_table(np.ascontiguousarray(Q))
    const = n / 2 * np.log(phi / (2 * np.pi)) + np.sum(np.log(beta) + log1p(-beta)) / 2
    base = const - phi / 2 * np.einsum("tj,tj->t", X - c, X - c)
    row_log, mean = np.empty(N), np.empty((N, m))

    def one(rows: slice) -> np.ndarray:
        """Fills the chunk's rows; returns how often each code is expected in it."""
        R = F[rows] @ C.T
        R -= table
        largest = R.max(axis=1, keepdims=True)  # subtracted before exp, which would overflow
        R -= largest
        np.exp(R, out=R)
        total = R.sum(axis=1, keepdims=True)
        R /= total
        row_log[rows] = base[rows] + (largest + np.log(total))[:, 0]
        mean[rows] = R @ C
        return np.asarray(R.sum(axis=0))

    expected = np.zeros(len(C))
    for part in workers.map(one, _chunks(N, len(C))):
        expected += part
    return Posterior(row_log, mean, (C * expected[:, None]).T @ C)


def mean_field(
    Q: np.ndarray,
    F: np.ndarray,
    start: np.ndarray,
    *,
    max_sweeps: int = MEAN_FIELD_SWEEPS,
    tol: float = MEAN_FIELD_TOL,
) -> np.ndarray:
    """E[y] of rows under the best q(y) = prod_i q(y_i) for p(y) ~ exp(f^T y - 1/2 y^T Q y), reached from `start`.

    One factor after the other for all rows at once: y_i = tanh(f_i - sum_{j != i} Q_ij y_j), each the optimum given
    the others.
    """
    Y = start.copy()
    for _ in range(max_sweeps):
        moved = 0.0
        for i in range(Y.shape[1]):
            new = np.tanh(F[:, i] - Y @ Q[:, i] + Q[i, i] * Y[:, i])
            moved = max(moved, float(np.abs(new - Y[:, i]).max(initial=0.0)))
            Y[:, i] = new
        if moved <= tol:
            break
    return Y


def noise_precision(squares: float, count: float) -> float:
    """count / squares, at most `LARGEST_PRECISION`."""
    return float(min(LARGEST_PRECISION, count / max(squares, count / LARGEST_PRECISION)))


def shares(ones: np.ndarray, n_rows: float) -> np.ndarray:
    """ones / n_rows, kept away from 0 and 1."""
    return np.clip(ones / n_rows, BETA_EDGE, 1 - BETA_EDGE)


def n_parameters(n: int, m: int) -> int:
    """The number of free parameters: mixing, probabilities, constants, and the noise.

    Examples
    --------
    >>> n_parameters(10, 3)
    44
    """
    return n * m + m + n + 1


def _chunks(n_rows: int, n_codes: int) -> list[slice]:
    size = max(1, CHUNK_CELLS // n_codes)
    edges = [*range(0, n_rows, size), n_rows]
    return [slice(a, b) for a, b in pairwise(edges)]
