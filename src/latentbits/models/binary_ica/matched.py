"""BLICA with matched shrinkage: the model's correlations are shrunk exactly as those of the data.

Tetrachoric correlations C_u of a segment are too noisy to be fitted as they are: their small eigenvalues are mostly
error. The published remedy shrinks them to (C_u + delta I) / (1 + delta), and fits to that a model with equal noise in
all columns (`blica`). But in the units of the model the noise that shrinking adds differs by column, so the answer
stays wrong however many rows there are. Here the model's correlations R_u are shrunk as well, to

    R_u + diag(delta_u),   fitted to   C_u + diag(delta_u),

and with infinitely many rows the truth is the maximum of the objective again. What delta should be follows from what
the data are. The likelihood of a normal sample takes the error of a correlation of 0 to be 1 / N in variance, while
that of a tetrachoric one is v_i v_j / N, v = p (1 - p) / (share phi(t)^2), of a column with ones in a share p of its
cells, the threshold t, and a `share` of its cells observed (that is Pearson's formula for independent columns).
Adding delta = v - 1, at least pi/2 - 1, to the diagonal makes both the same: rare and seldom seen columns
count for less by themselves, and those without information not at all.

Far from 0 tetrachoric correlations have a smaller error than that, so where strong ones matter this understates what is
known. So the fit goes on from here in the scale of the cells; this form is its start, and all there is for many
columns.

With B = A diag(s_u), d the diagonal of I + B B^T and D = diag(d), R_u = D^-1/2 (I + B B^T) D^-1/2. So the shrunk
matrix is D^-1/2 G D^-1/2 with G = diag(1 + delta d) + B B^T: a diagonal plus a matrix of low rank, to be inverted in
m dimensions.

In the scale of the cells errors are those of a normal sample at any strength: cells that cut two normal variables at
their means have the correlation f(rho) = 2/pi arcsin(rho) (Sheppard), and the sample correlations of cells have,
nearly, the errors that the likelihood of a normal sample supposes. So f is applied to the tetrachoric correlations and
to the model's, entry by entry, and

    F_u = f(R_u) + diag(nugget_u)   is fitted to   f(C_u) + diag(nugget_u).

As the same is done to both sides, the truth stays the maximum, whatever the thresholds are; these only decide on the
nugget, 2/pi v - 1, which is 0 for a column with as many ones as zeros and makes others count for less. A correlation
of 1 among columns that never disagree is believed here: f is steep there.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from latentbits.correlations.parallel_analysis import log_noise_variance
from latentbits.correlations.tetrachoric import Tetrachoric
from latentbits.fitting.climb import Climbed, Monitor, ascend
from latentbits.fitting.restarts import Runner
from latentbits.models.binary_ica import blica
from latentbits.models.binary_ica.parameters import LINK, Parameters, Prior, correlations

SLOPE = 2 / np.pi
"""f'(0)."""

STRONGEST = 0.99995
"""Correlations are held within this, where f is steep but finite."""

CELL_NOISE = 1.0
"""Times sqrt(n / N): added to the nugget, for the error of the smallest eigenvalues of n columns in N rows. Chosen
among 0.2, 0.5, 1, 2 and 4 on simulations: less lets accidents of short segments count, more weakens real ties."""

BLOCK = 1 << 20
"""Numbers that a temporary array may hold; blocks of segments are sized by it."""


class CellCorrelations(NamedTuple):
    """f(C_u) (U, n, n) with 1 + nugget on the diagonal, the nugget (U, n), and numbers of rows (U,)."""

    correlations: np.ndarray
    nugget: np.ndarray
    n_rows: np.ndarray

    @classmethod
    def of(cls, C: np.ndarray, nugget: np.ndarray, n_rows: np.ndarray) -> CellCorrelations:
        """From tetrachoric correlations."""
        F = SLOPE * np.arcsin(np.clip(C, -STRONGEST, STRONGEST))
        diagonal = np.arange(C.shape[1])
        F[:, diagonal, diagonal] = 1 + nugget
        return cls(F, nugget, n_rows)

    def block(self, segments: slice) -> CellCorrelations:
        """Those of some segments."""
        return CellCorrelations(*(part[segments] for part in self))


def cell_nugget(v: np.ndarray, noise: np.ndarray) -> np.ndarray:
    """From the noise variances v (U, n) of columns, and sqrt(n / N) of segments."""
    return np.asarray(SLOPE * v - 1 + CELL_NOISE * noise)


def cell_objective(
    A: np.ndarray, log_s: np.ndarray, cells: CellCorrelations, prior: Prior
) -> tuple[float, np.ndarray, np.ndarray]:
    """sum_u N_u / 2 [-log det F_u - tr((f(C_u) + diag(nugget)) F_u^-1)] + the log prior.

    And its derivatives by A, with c in it, and log s.
    """
    s = np.exp(log_s)
    value, by_A, by_log_s = prior(A, log_s)
    by_log_s = by_log_s.copy()
    step = max(1, BLOCK // len(A) ** 2)
    for first in range(0, len(s), step):
        part = slice(first, first + step)
        B = A * s[part, None, :]
        more, dB = _cell_block(B, cells.block(part))
        value += more
        by_A = by_A + np.einsum("uik,uk->ik", dB, s[part])
        by_log_s[part] += np.einsum("uik,uik->uk", dB, B)
    return value, by_A, by_log_s


def _cell_block(B: np.ndarray, cells: CellCorrelations) -> tuple[float, np.ndarray]:
    """The objective of some segments, and its derivative by B = A diag(s_u)."""
    P, nugget, N = cells
    n = B.shape[1]
    diagonal = np.arange(n)
    S = B @ B.transpose(0, 2, 1)
    S[:, diagonal, diagonal] += 1
    d = S[:, diagonal, diagonal]
    root = np.sqrt(d)
    scale = 1 / (root[:, :, None] * root[:, None, :])
    R = np.clip(S * scale, -STRONGEST, STRONGEST)
    F = SLOPE * np.arcsin(R)
    F[:, diagonal, diagonal] = 1 + nugget
    log_det = 2 * np.log(np.diagonal(np.linalg.cholesky(F), axis1=1, axis2=2)).sum(axis=1)
    inverse = np.linalg.inv(F)
    ratio = inverse @ P
    value = float(N @ (-log_det - np.einsum("uii->u", ratio))) / 2
    by_R = N[:, None, None] / 2 * (ratio @ inverse - inverse) * SLOPE / np.sqrt(1 - R**2)
    by_R[:, diagonal, diagonal] = 0
    by_d = -np.einsum("uij,uij->ui", by_R, R) / d
    return value, 2 * ((by_R * scale) @ B + by_d[:, :, None] * B)


NO_INFORMATION = 1e9
"""The delta of a column that is constant in a segment; large enough to count for nothing."""

NOISE = 0.5
"""Times sqrt(n / N): added to delta, for the error of the smallest eigenvalues of n columns in N rows. Chosen among 0,
1/2, 1 and 2 on simulations; it matters for as many sources as columns, by 0.0003 in mean cosine similarity."""

MOST_COLUMNS = 150
"""Up to so many the fit goes on in the scale of the cells, which takes n^3 operations a segment instead of n^2 m."""

COARSE = 1e-6
"""The tolerance of a climb after which another one follows."""

FILL_ROUNDS, FILL_TOL = 50, 0.003
"""Climbs in which correlations that are unknown are those of the model, and the change of these that ends them; only if
columns are never seen together, or are more alike than the sources make them."""


class State(NamedTuple):
    """A: (n, m) with c in it. log_s: (U, m)."""

    A: np.ndarray
    log_s: np.ndarray


class Statistics(NamedTuple):
    """What is fitted: U segments of n columns.

    correlations: (U, n, n) tetrachoric. thresholds: (U, n). delta: (U, n) what is added to the diagonals. n_rows: (U,).
    unknown: (U, n, n) bool, pairs that are never seen together, of columns that are seen. nugget: (U, n) what is added
    to the diagonals in the scale of the cells, or None if the fit ends before that.
    """

    correlations: np.ndarray
    thresholds: np.ndarray
    delta: np.ndarray
    n_rows: np.ndarray
    unknown: np.ndarray
    nugget: np.ndarray | None = None


def statistics_of(found: Tetrachoric, n_rows: np.ndarray, condition_number: float | None = None) -> Statistics:
    """The statistics of tetrachoric correlations of segments; a condition number, if one is given, decides on delta."""
    C, t = found.correlations, found.thresholds
    n = C.shape[1]
    constant = found.constant
    unknown = (found.n_pairs == 0) & ~(constant[:, :, None] | constant[:, None, :])
    if condition_number is not None:
        values = np.linalg.eigvalsh(C)
        least = np.maximum(0.0, (values[:, -1] - condition_number * values[:, 0]) / (condition_number - 1))
        delta = np.where(constant, NO_INFORMATION, least[:, None])
        return Statistics(C, t, delta, n_rows, unknown)
    n_seen = np.diagonal(found.n_pairs, axis1=1, axis2=2)
    share = np.where(n_seen > 0, n_seen / n_rows[:, None], 1.0)
    log_v = np.minimum(log_noise_variance(t) - np.log(share), np.log(NO_INFORMATION))
    v = np.where(constant, NO_INFORMATION, np.exp(log_v))
    noise = np.sqrt(n / n_rows)[:, None]
    nugget = cell_nugget(v, noise) if n <= MOST_COLUMNS else None
    return Statistics(C, t, v - 1 + NOISE * noise, n_rows, unknown, nugget)


def objective(state: State, statistics: Statistics, prior: Prior) -> tuple[float, State]:
    """sum_u N_u / 2 [-log det S_u - tr((C_u + diag(delta)) S_u^-1)] + the log prior, S_u = R_u + diag(delta).

    And its gradient. With E = diag(1 + delta d), F = E^-1 B, W = (I + B^T F)^-1 and T = F W = G^-1 B (Woodbury),
    G^-1 = E^-1 - T F^T; M is D^1/2 (C + diag(delta)) D^1/2. As in `blica`, one product with an n x n matrix is needed
    for each segment: M F.
    """
    A, log_s = state
    C, _, delta, N, *_ = statistics
    s = np.exp(log_s)
    B = A * s[:, None, :]
    d = 1 + np.einsum("uik,uik->ui", B, B)
    e = 1 + delta * d
    F = B / e[:, :, None]
    Ft = F.transpose(0, 2, 1)
    inner = np.eye(A.shape[1]) + B.transpose(0, 2, 1) @ F
    W = np.linalg.inv(inner)
    T = F @ W
    root = np.sqrt(d)[:, :, None]
    MF = root * (C @ (root * F)) + (delta * d)[:, :, None] * F
    M_diagonal = d * (1 + delta)
    mixed = np.einsum("uik,uik->ui", MF, T)
    MG_diagonal = M_diagonal / e - mixed
    log_det = np.linalg.slogdet(inner)[1] + np.log(e / d).sum(axis=1)
    value = float(N @ (-log_det - MG_diagonal.sum(axis=1))) / 2
    MT = MF @ W
    # diag(G^-1 M G^-1 - G^-1), of which delta takes its part because d is on the diagonal of G.
    bend = M_diagonal / e**2 - 2 * mixed / e + np.einsum("uik,uik->ui", T, T @ (Ft @ MF))
    bend -= 1 / e - np.einsum("uik,uik->ui", F, T)
    by_d = (1 - MG_diagonal) / d + delta * bend
    dB = N[:, None, None] * (MT / e[:, :, None] - T @ (Ft @ MT) - T + by_d[:, :, None] * B)
    log_prior, prior_A, prior_s = prior(A, log_s)
    return value + log_prior, State(
        np.einsum("uik,uk->ik", dB, s) + prior_A,
        np.einsum("uik,uik->uk", dB, B) + prior_s,
    )


def start(statistics: Statistics, n_components: int, rng: np.random.Generator) -> State:
    """A random start of the published form, the mean of log s moved into A."""
    N = statistics.n_rows
    average = np.tensordot(N / N.sum(), statistics.correlations, axes=1)
    first = blica.start_at(average, len(N), n_components, rng)
    return centred(first.A, first.log_s)


def start_from(parameters: Parameters) -> State:
    """The state of a fitted model."""
    return centred(LINK * parameters.mixing, np.log(np.maximum(parameters.scales, 1e-3)))


def centred(A: np.ndarray, log_s: np.ndarray) -> State:
    """The same model with logarithms of scales that are 0 on average, as the prior wants them."""
    middle = log_s.mean(axis=0)
    return State(A * np.exp(middle), log_s - middle)


def climb(statistics: Statistics, prior: Prior, first: State, monitor: Monitor) -> Climbed[State]:
    """To the maximum from a start: first in this form, then in the scale of the cells; the last climb is recorded.

    Correlations that are unknown are filled in by the model, and left to it, in a few climbs before.
    """
    for _ in range(FILL_ROUNDS if statistics.unknown.any() else 0):
        first, before = _coarsely(statistics, prior, first, monitor), statistics.correlations
        statistics = filled(statistics, first)
        if np.abs(statistics.correlations - before).max() < FILL_TOL:
            break
    if statistics.nugget is None:
        return ascend(lambda state: objective(state, statistics, prior), first, monitor)
    return finish(statistics, prior, _coarsely(statistics, prior, first, monitor), monitor)


def filled(statistics: Statistics, state: State) -> Statistics:
    """The statistics with the model's own correlations where those of the data are unknown."""
    if not statistics.unknown.any():
        return statistics
    implied = correlations(state.A * np.exp(state.log_s)[:, None, :])
    return statistics._replace(correlations=np.where(statistics.unknown, implied, statistics.correlations))


def last_objective(state: State, statistics: Statistics, prior: Prior) -> tuple[float, State]:
    """The objective of the form in which a fit ends, and its gradient."""
    if statistics.nugget is None:
        return objective(state, statistics, prior)
    cells = CellCorrelations.of(statistics.correlations, statistics.nugget, statistics.n_rows)
    return _as_state(cell_objective(state.A, state.log_s, cells, prior))


def finish(statistics: Statistics, prior: Prior, first: State, monitor: Monitor) -> Climbed[State]:
    """The climb in the scale of the cells alone, from a start that is near."""
    assert statistics.nugget is not None
    cells = CellCorrelations.of(statistics.correlations, statistics.nugget, statistics.n_rows)
    return ascend(lambda state: _as_state(cell_objective(state.A, state.log_s, cells, prior)), first, monitor)


def _as_state(answer: tuple[float, np.ndarray, np.ndarray]) -> tuple[float, State]:
    value, by_A, by_log_s = answer
    return value, State(by_A, by_log_s)


def _coarsely(statistics: Statistics, prior: Prior, first: State, monitor: Monitor) -> State:
    """Near to the maximum in this form; not recorded."""
    quiet = Monitor(max(COARSE, monitor.tol), monitor.max_iter, monitor.n_cells, cancelled=monitor.cancelled)
    return ascend(lambda state: objective(state, statistics, prior), first, quiet).state


def runner(statistics: Statistics, n_components: int, prior: Prior) -> Runner[State]:
    """One climb from a random start."""

    def run(rng: np.random.Generator, monitor: Monitor) -> Climbed[State]:
        return climb(statistics, prior, start(statistics, n_components, rng), monitor)

    return run


def parameters_of(state: State, statistics: Statistics) -> Parameters:
    """The model in its canonical form, the sources' means from the thresholds."""
    return blica.with_means(state.A / LINK, np.exp(state.log_s), statistics.thresholds, statistics.n_rows)
