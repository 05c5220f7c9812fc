"""The model x = A y + c + noise, y in {-1, 1}^m: parameters, sums over all codes, sufficient statistics of codes.

The symbols are those of Tu and Xu, "Learning binary factor analysis with automatic model selection": n variables,
m factors, P(y_i = 1) = beta_i, noise N(0, Diag(1 / phi)). Everywhere phi is an array: of one number where all columns
have the same noise (the paper's experiments), or of n numbers where each has its own (eq. 2); its length says which.

X may have missing cells, which are NaN. The noise of one cell doesn't depend on the others', so a row's likelihood is
that of the cells that are there, and what a column regresses on are the rows that have it. Complete data are a case of
their own everywhere, because all rows then share one quadratic form.
"""

from __future__ import annotations

from functools import lru_cache
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from scipy.special import log1p

from latentbits.fitting.workers import Workers
from latentbits.kernels.binary_quadratic import quadratic_table
from latentbits.models.binary_factors import OneNoise

EXACT_LIMIT = 16
"""Largest number of factors for sums over all codes."""

LARGEST_PRECISION = 1e10
"""Largest precision of the noise, for data of unit variance: a standard deviation of 1e-5."""

EQUAL = np.array([LARGEST_PRECISION])
"""The limit of one noise for all columns."""

BETA_EDGE = 1e-6  # probabilities of factors stay this far from 0 and 1, where log odds are infinite
CHUNK_CELLS = 1 << 18  # rows x codes handled at once
MEAN_FIELD_TOL = 1e-10
MEAN_FIELD_SWEEPS = 200


class Parameters(NamedTuple):
    """A: (n, m) mixing. c: (n,). phi: (1,) or (n,) precision of the noise. beta: (m,) P(y = 1)."""

    A: np.ndarray
    c: np.ndarray
    phi: np.ndarray
    beta: np.ndarray

    @property
    def weighted(self) -> np.ndarray:
        """Diag(phi) A"""
        return self.phi[:, None] * self.A

    @property
    def lengths(self) -> np.ndarray:
        """The columns' lengths in standard deviations of the noise, (m,)."""
        return np.sqrt(np.sum(self.A * self.weighted, axis=0))

    def of_columns(self, columns: np.ndarray) -> Parameters:
        """The parameters of some of the n columns."""
        phi = self.phi if len(self.phi) == 1 else self.phi[columns]
        return Parameters(self.A[columns], self.c[columns], phi, self.beta)


class Posterior(NamedTuple):
    """Results of a sum over all codes.

    row_log : (N,)  log p(x_t)
    mean : (N, m)  E[y_t | x_t]
    second : (m, m)  sum_t E[y_t y_t^T | x_t]; with missing cells (n, m, m), over the rows that have the column
    """

    row_log: np.ndarray
    mean: np.ndarray
    second: np.ndarray


class Moments(NamedTuple):
    """Sums over rows of x and z = (y, 1), in expectation where y is not known: the sufficient statistics of a fit.

    zz : (m + 1, m + 1); with missing cells (n, m + 1, m + 1), over the rows that have the column
    xz : (n, m + 1)    xx : (n,) sums of x^2    ones : (m,) rows with y_i = 1    n_rows
    cells : (n,) cells that are there
    """

    zz: np.ndarray
    xz: np.ndarray
    xx: np.ndarray
    ones: np.ndarray
    n_rows: float
    cells: np.ndarray

    def times(self, B: np.ndarray) -> np.ndarray:
        """sum_t B z_t z_t^T, (n, m + 1): what xz is expected to be if B = (A, c)."""
        return np.asarray(B @ self.zz if self.zz.ndim == 2 else np.einsum("jik,jk->ji", self.zz, B))

    def squares(self, A: np.ndarray, c: np.ndarray) -> np.ndarray:
        """sum_t (x_t - A y_t - c)^2, (n,)"""
        B = np.column_stack([A, c])
        # Below 0 only by rounding, when the fit is perfect.
        return np.maximum(0.0, self.xx + np.sum((self.times(B) - 2 * self.xz) * B, axis=1))

    def regress(self, ridge: np.ndarray | None = None) -> tuple[np.ndarray, np.ndarray]:
        """A and c that minimise `squares` + sum_i ridge_i |b_i|^2, b = (A, c); the shortest if there are several.

        ridge : (1, m + 1) or, if it differs by column, (n, m + 1)
        """
        # Least squares, not solve: equal or constant codes make the normal equations singular.
        size = self.zz.shape[-1]
        normal = self.zz if ridge is None else self.zz + ridge[:, :, None] * np.eye(size)
        if normal.ndim == 3 and len(normal) == 1:
            normal = normal[0]
        if normal.ndim == 2:
            B = np.linalg.lstsq(normal, self.xz.T, rcond=None)[0].T
        else:
            inverse = np.linalg.pinv(normal, rcond=size * np.finfo(float).eps, hermitian=True)
            B = np.einsum("jik,jk->ji", inverse, self.xz)
        return B[:, :-1], B[:, -1]


def moments(X: np.ndarray, mean: np.ndarray, second: np.ndarray | None = None) -> Moments:
    """Moments of rows whose codes have this mean (N x m), and second moments as in `Posterior`, None if known."""
    m = mean.shape[1]
    seen = seen_cells(X)
    total = mean.sum(axis=0)
    if seen is None:
        zz = np.empty((m + 1, m + 1))
        zz[:m, :m] = mean.T @ mean if second is None else second
        zz[:m, m] = zz[m, :m] = total
        zz[m, m] = len(X)
    else:
        X = filled(X)
        if second is None:
            second = (seen.T @ (mean[:, :, None] * mean[:, None, :]).reshape(len(X), -1)).reshape(X.shape[1], m, m)
        zz = np.empty((X.shape[1], m + 1, m + 1))
        zz[:, :m, :m] = second
        zz[:, :m, m] = zz[:, m, :m] = seen.T @ mean
        zz[:, m, m] = seen.sum(axis=0)
    xz = np.column_stack([X.T @ mean, X.sum(axis=0)])
    cells = np.full(X.shape[1], float(len(X))) if seen is None else seen.sum(axis=0)
    return Moments(zz, xz, np.einsum("tj,tj->j", X, X), (total + len(X)) / 2, float(len(X)), cells)


def seen_cells(X: np.ndarray) -> np.ndarray | None:
    """1 where a cell is there and 0 where it is missing; None if none is missing.

    Examples
    --------
    >>> seen_cells(np.array([[1.5, np.nan]])), seen_cells(np.array([[1.5, 2.0]]))
    (array([[1., 0.]]), None)
    """
    missing = np.isnan(X)
    return (~missing).astype(float) if missing.any() else None


def filled(X: np.ndarray) -> np.ndarray:
    """X with 0 in place of missing cells, which adds nothing to sums."""
    return np.where(np.isnan(X), 0.0, X)


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
    """Q and the rows' f of eq. 13: log q(x|y) q(y) = f^T y - 1/2 y^T Q y + what doesn't depend on y.

    Q is that of rows without missing cells.
    """
    return theta.A.T @ theta.weighted, linear_terms(theta, X)


def linear_terms(theta: Parameters, X: np.ndarray) -> np.ndarray:
    """The rows' f of eq. 13, of the cells that are there."""
    c, pull, half = theta.c, theta.weighted, log_odds(theta.beta) / 2
    if seen_cells(X) is not None:
        return np.asarray(filled(X - c) @ pull + half)
    return np.asarray(X @ pull + (half - c @ pull))


def quadratic_terms(theta: Parameters, codes: np.ndarray) -> np.ndarray:
    """What each column adds to 1/2 y^T Q y of the rows that have it, for codes as rows: (n, number of codes)."""
    return np.asarray(theta.phi[:, None] / 2 * (theta.A @ codes.T) ** 2)


def log_odds(beta: np.ndarray) -> np.ndarray:
    """log beta - log(1 - beta)"""
    return np.log(beta) - log1p(-beta)


@lru_cache(maxsize=4)
def all_codes(m: int) -> np.ndarray:
    """The 2^m codes as rows of -1 and 1, bit i of the row's number being y_i; not to be written to.

    Examples
    --------
    >>> all_codes(2).tolist()
    [[-1.0, -1.0], [1.0, -1.0], [-1.0, 1.0], [1.0, 1.0]]
    """
    codes: np.ndarray = 2.0 * ((np.arange(1 << m)[:, None] >> np.arange(m)) & 1) - 1.0
    codes.flags.writeable = False
    return codes


def exact_posterior(theta: Parameters, X: np.ndarray, workers: Workers) -> Posterior:
    """Likelihood and posterior moments of rows, by summing over all 2^m codes.

    The rows are cut into chunks by the shape of the problem alone and sums are added in order, so the result doesn't
    depend on the number of threads.
    """
    A, c, phi, beta = theta
    N, n = X.shape
    m = A.shape[1]
    C, F, seen = all_codes(m), linear_terms(theta, X), seen_cells(X)
    log_phi = np.broadcast_to(np.log(phi / (2 * np.pi)), n)
    if seen is None:
        density, residual = log_phi.sum(), X - c
        quadratic = quadratic_table(np.ascontiguousarray(A.T @ theta.weighted))
    else:
        density, residual = seen @ log_phi, filled(X - c)
        quadratic = quadratic_terms(theta, C)
    base = density / 2 + np.sum(np.log(beta) + log1p(-beta)) / 2
    base = base - residual**2 @ np.broadcast_to(phi, n) / 2
    row_log, mean = np.empty(N), np.empty((N, m))

    def one(rows: slice) -> np.ndarray:
        """Fills the chunk's rows; returns how often each code is expected in it (of every column's rows)."""
        R = F[rows] @ C.T
        R -= quadratic if seen is None else seen[rows] @ quadratic
        largest = R.max(axis=1, keepdims=True)  # subtracted before exp, which would overflow
        R -= largest
        np.exp(R, out=R)
        total = R.sum(axis=1, keepdims=True)
        R /= total
        row_log[rows] = base[rows] + (largest + np.log(total))[:, 0]
        mean[rows] = R @ C
        return np.asarray(R.sum(axis=0) if seen is None else seen[rows].T @ R)

    expected = np.zeros(len(C) if seen is None else (n, len(C)))
    for part in workers.map(one, _chunks(N, len(C))):
        expected += part
    return Posterior(row_log, mean, np.swapaxes(C * expected[..., None], -1, -2) @ C)


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


def pooled(by_column: np.ndarray, phi: np.ndarray) -> np.ndarray:
    """Numbers of columns, summed over those that share a noise: (1,) or (n,), as phi is."""
    return np.asarray(by_column.sum(keepdims=True) if len(phi) == 1 else by_column)


def noise_precision(squares: np.ndarray, cells: np.ndarray, limit: np.ndarray) -> np.ndarray:
    """cells / squares of each column, or of all together, at most `limit`, whose length says which."""
    count = pooled(cells, limit)
    return np.asarray(count / np.maximum(pooled(squares, limit), count / limit))


def precision_limit(X: np.ndarray, noise: OneNoise) -> np.ndarray:
    """Largest precisions of the noise, (1,) or (n,): in cells that are known to a step h it is at least h^2 / 12.

    Without this limit a column of few different values would have no noise at all once each value has a code.
    """
    if noise == "equal":
        return EQUAL
    steps = [np.diff(np.unique(column[~np.isnan(column)])).min(initial=np.inf) for column in X.T]
    return np.maximum(1.0, np.minimum(LARGEST_PRECISION, 12 / np.square(steps)))


def shares(ones: np.ndarray, n_rows: float) -> np.ndarray:
    """ones / n_rows, kept away from 0 and 1."""
    return np.clip(ones / n_rows, BETA_EDGE, 1 - BETA_EDGE)


def n_parameters(n: int, m: int, n_noises: int = 1) -> int:
    """The number of free parameters: mixing, probabilities, constants, and the noises.

    Examples
    --------
    >>> n_parameters(10, 3), n_parameters(10, 3, 10)
    (44, 53)
    """
    return n * m + m + n + n_noises


def _chunks(n_rows: int, n_codes: int) -> list[slice]:
    size = max(1, CHUNK_CELLS // n_codes)
    edges = [*range(0, n_rows, size), n_rows]
    return [slice(a, b) for a, b in pairwise(edges)]
