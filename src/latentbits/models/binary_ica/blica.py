"""BLICA: the mixing from tetrachoric correlations (Hyttinen, Barin-Pacela and Hyvärinen, "Binary ICA", section 5.2).

In each segment u the correlation matrix C_u of the paper's q is estimated; binarisation loses its scales. With A the
mixing (multiplied by the link's c here), s_u the sources' scales and Q_u = diag(q_u) the lost scales,
S_u = Q_u (I + A diag(s_u^2) A^T) Q_u is fitted to C_u in all segments at once.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.special import log_ndtr

from latentbits.fitting.climb import Climbed, Monitor, ascend
from latentbits.fitting.restarts import Runner, Schedule, best_of
from latentbits.fitting.workers import n_workers
from latentbits.models.binary_ica.parameters import LINK, PairwiseStatistics, Parameters, canonical
from latentbits.numerics import RandomSource, as_generator

SWEEPS, SWEEP_TOL = 200, 1e-10
"""Of means and intercepts by turns."""

START_STRENGTH = 2.0
START_SPREAD = 0.3
START_NOISE = 0.01
"""Of a random start: the sources' strength relative to the noise, the standard deviation of their log scales, and the
smallest eigenvalue that is used."""


class State(NamedTuple):
    """A: (n, m) with c in it. log_s: (U, m). log_q: (U, n)."""

    A: np.ndarray
    log_s: np.ndarray
    log_q: np.ndarray


def objective(state: State, statistics: PairwiseStatistics) -> tuple[float, State]:
    """sum_u N_u / 2 [-log det S_u - tr(C_u S_u^-1)] and its gradient.

    With B = A diag(s_u), R = I + B B^T and M = Q^-1 C Q^-1, Woodbury's T = R^-1 B = B (I + B^T B)^-1 leaves one
    product with an n x n matrix for each segment: M B.
    """
    A, log_s, log_q = state
    C, _, N = statistics
    s, w = np.exp(log_s), np.exp(-log_q)
    B = A * s[:, None, :]
    Bt = B.transpose(0, 2, 1)
    inner = np.eye(A.shape[1]) + Bt @ B
    W = np.linalg.inv(inner)
    T = B @ W
    MB = w[:, :, None] * (C @ (w[:, :, None] * B))
    MR_diagonal = w**2 * np.diagonal(C, axis1=1, axis2=2) - np.einsum("uik,uik->ui", MB, T)
    log_det = np.linalg.slogdet(inner)[1]
    value = float(N @ (-2 * log_q.sum(axis=1) - log_det - MR_diagonal.sum(axis=1))) / 2
    MT = MB @ W
    dB = N[:, None, None] * (MT - T @ (Bt @ MT) - T)  # N (R^-1 M R^-1 - R^-1) B
    return value, State(
        np.einsum("uik,uk->ik", dB, s),
        np.einsum("uik,uik->uk", dB, B),
        N[:, None] * (MR_diagonal - 1),
    )


def start(statistics: PairwiseStatistics, n_components: int, rng: np.random.Generator) -> State:
    """The principal axes of the average correlations, rotated at random (they do not identify the rotation).

    Sources start with slightly different random scales, and Q with the values that give S its unit diagonal.
    """
    C, _, N = statistics
    return start_at(np.tensordot(N / N.sum(), C, axes=1), len(N), n_components, rng)


def start_at(average: np.ndarray, n_segments: int, n_components: int, rng: np.random.Generator) -> State:
    """A start from the average correlations (n, n)."""
    n = len(average)
    values, axes = np.linalg.eigh(average)
    used = min(n, n_components)
    length = np.sqrt(np.maximum(values[::-1][:used], START_NOISE))
    rotation = np.linalg.qr(rng.standard_normal((n_components, n_components)))[0]
    A = START_STRENGTH * (axes[:, ::-1][:, :used] * length) @ rotation[:used]
    log_s = rng.normal(0.0, START_SPREAD, (n_segments, n_components))
    total = 1 + np.exp(2 * log_s) @ (A**2).T
    return State(A, log_s, -np.log(total) / 2)


def runner(statistics: PairwiseStatistics, n_components: int) -> Runner[State]:
    """One climb from a random start."""

    def run(rng: np.random.Generator, monitor: Monitor) -> Climbed[State]:
        return ascend(lambda state: objective(state, statistics), start(statistics, n_components, rng), monitor)

    return run


def parameters_of(state: State, statistics: PairwiseStatistics) -> Parameters:
    """The model in its canonical form, means and intercepts from the thresholds."""
    return with_means(state.A / LINK, np.exp(state.log_s), statistics.thresholds, statistics.n_rows)


def with_means(mixing: np.ndarray, scales: np.ndarray, thresholds: np.ndarray, n_rows: np.ndarray) -> Parameters:
    """Mixing and scales with the means and intercepts that the thresholds ask for, in the canonical form."""
    means, intercepts = means_and_intercepts(mixing, scales, thresholds, n_rows)
    return canonical(Parameters(mixing, means, scales, intercepts), n_rows / n_rows.sum())


def means_and_intercepts(
    mixing: np.ndarray, scales: np.ndarray, thresholds: np.ndarray, n_rows: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """The sources' means mu (U, m) and the columns' intercepts b (n,) from the thresholds t, by weighted least squares.

    By eq. 12, here with intercepts, -t_i = (c a_i . mu_u + b_i) / sd_i, where sd_i^2 is the i-th diagonal entry of
    I + c^2 A diag(s_u^2) A^T. An estimated threshold has a variance in proportion to Phi(t) (1 - Phi(t)) / phi(t)^2,
    and -t_i sd_i has sd_i^2 times that, divided by the rows. Fewer sources than columns can't give each column a share
    of ones of its own: that is what the intercepts are for. With as many there are none, and all equations hold.
    """
    B = LINK * mixing
    sd = np.sqrt(1 + scales**2 @ (B**2).T)
    target = -thresholds * sd
    # In logarithms: the weights of extreme thresholds underflow.
    log_weight = -(thresholds**2) - log_ndtr(thresholds) - log_ndtr(-thresholds) - 2 * np.log(sd)
    within = np.exp(log_weight - log_weight.max(axis=1, keepdims=True))  # of means, which are a segment's own
    log_weight += np.log(n_rows)[:, None]
    of_column = np.exp(log_weight - log_weight.max(axis=0))  # of intercepts, which are a column's own
    b = _intercepts(B, within, of_column, target)
    return _means(B, within, target - b), b


def _means(B: np.ndarray, weight: np.ndarray, target: np.ndarray) -> np.ndarray:
    """mu (U, m) of B mu_u = target_u."""
    normal = np.einsum("ik,ui,il->ukl", B, weight, B)
    ridge = 1e-12 * np.trace(normal, axis1=1, axis2=2) + 1e-300  # parallel columns would make the system singular
    normal += ridge[:, None, None] * np.eye(B.shape[1])
    right = np.einsum("ik,ui->uk", B, weight * target)
    return np.asarray(np.linalg.solve(normal, right[:, :, None])[:, :, 0])


def _intercepts(B: np.ndarray, within: np.ndarray, of_column: np.ndarray, target: np.ndarray) -> np.ndarray:
    """b (n,) of B mu_u + b = target_u, by turns with mu."""
    n, m = B.shape
    b = np.zeros(n)
    if m >= n:
        return b
    for _ in range(SWEEPS):
        residual = target - _means(B, within, target - b) @ B.T
        last, b = b, (of_column * residual).sum(axis=0) / of_column.sum(axis=0)
        if np.abs(b - last).max() <= SWEEP_TOL * (1 + np.abs(b).max()):
            break
    return b


def fit_blica(
    statistics: PairwiseStatistics,
    n_components: int,
    *,
    n_init: int = 3,
    max_iter: int = 5000,
    tol: float = 1e-14,
    random_state: RandomSource = None,
    n_jobs: int | None = None,
) -> Parameters:
    """Fit the binary ICA model to given thresholds and correlations, as `BinaryICA` does with those of data.

    Parameters
    ----------
    statistics : PairwiseStatistics
        Correlations (U x n x n), thresholds (U x n) and numbers of rows (U); `pairwise_from_model` gives those of a
        model.
    n_components : int
        Number of sources.
    n_init : int, default=3
        Number of random starts; the best is kept.
    max_iter : int, default=5000
        Largest number of L-BFGS iterations per start.
    tol : float, default=1e-14
        A start has converged when ten iterations raise the objective by less than this per row and column. The default
        is meant for exact statistics, without sampling noise.
    random_state : int, Generator, RandomState or None, default=None
        Seed of the random starts. The same integer gives the same result for any `n_jobs`.
    n_jobs : int or None, default=None
        Number of threads: None means 1 unless a joblib context says otherwise, -1 means all cores.

    Returns
    -------
    Parameters
        Named tuple of `mixing`, `means`, `scales` and `intercepts`, in the canonical form of `BinaryICA`.

    Examples
    --------
    >>> from latentbits import fit_blica, mean_cosine_similarity, pairwise_from_model, simulate
    >>> truth = simulate.binary_ica(1, 6, 2, 5, random_state=0)
    >>> found = fit_blica(pairwise_from_model(truth.mixing, truth.means, truth.scales), 2, random_state=0)
    >>> bool(mean_cosine_similarity(truth.mixing, found.mixing) > 1 - 1e-6)
    True
    """
    n_cells = float(statistics.n_rows.sum()) * statistics.thresholds.shape[1]
    best, _ = best_of(
        lambda workers: runner(statistics, n_components),
        Schedule(n_init, max_iter, tol, n_cells),
        as_generator(random_state),
        n_workers(n_jobs),
        keep=lambda state: None,
    )
    return parameters_of(best.state, statistics)
