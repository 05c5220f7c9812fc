"""Linear iVAE: a variational autoencoder of the same mixing (Hyttinen, Barin-Pacela and Hyvärinen, appendix E).

The sources of row x in segment u have the prior N(mu_u, diag(s_u^2)) and the approximate posterior
N(E t + b_u, diag(v_u)), where t is x with 1 for a one, -1 for a zero and 0 for a missing cell; a cell is 1 with
probability sigmoid(y_i), y = A z + c. The paper's model has no intercepts c; without them fewer sources than columns
can't give each column a share of ones of its own, and the mixing suffers; as many sources need none. As each y_i is
normal under the posterior, its part of the bound is an integral in one dimension: Gauss-Hermite makes the bound
deterministic and smooth, without any sampling.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.polynomial.hermite_e import hermegauss

from latentbits.data.binary_data import MISSING
from latentbits.fitting.climb import Climbed, Monitor, ascend
from latentbits.fitting.restarts import Runner
from latentbits.models.binary_ica.parameters import LINK, CountedRows, Parameters

N_NODES = 16
TINY = 1e-12  # under the root, whose derivative is infinite at 0


class State(NamedTuple):
    """A: (n, m). mu, log_s: (U, m) of the prior. E: (m, n), b, log_v: (U, m) of the posterior. c: (n,); (1,) if 0."""

    A: np.ndarray
    mu: np.ndarray
    log_s: np.ndarray
    E: np.ndarray
    b: np.ndarray
    log_v: np.ndarray
    c: np.ndarray


def objective(state: State, rows: CountedRows) -> tuple[float, State]:
    """The evidence lower bound of all rows, and its gradient."""
    A, mu, log_s, E, b, log_v, c = state
    cells, counts, starts = rows
    first, length = starts[:-1], np.diff(starts)
    N = np.add.reduceat(counts, first)
    weight = counts[:, None]
    t = np.where(cells == 1, 1.0, np.where(cells == MISSING, 0.0, -1.0))
    v, s2 = np.exp(log_v), np.exp(2 * log_s)

    mean = t @ E.T + np.repeat(b, length, axis=0)
    sd = np.sqrt(v @ (A**2).T + TINY)
    y = mean @ A.T + c
    softplus, slope, curve = _expectations(y, np.repeat(sd, length, axis=0))
    seen = weight * (cells != MISSING)
    dy = seen * ((cells == 1) - slope)
    away = (mean - np.repeat(mu, length, axis=0)) / np.repeat(s2, length, axis=0)
    squares = np.add.reduceat(weight * away * (mean - np.repeat(mu, length, axis=0)), first, axis=0)
    ratio = v / s2
    divergence = N @ (ratio - 1 - np.log(ratio)) + squares.sum(axis=0)
    value = float(np.sum(seen * ((cells == 1) * y - softplus)) - divergence.sum() / 2)

    d_variance = -np.add.reduceat(seen * curve, first, axis=0) / (2 * sd)
    d_mean = dy @ A - weight * away
    d_b = np.add.reduceat(d_mean, first, axis=0)
    return value, State(
        dy.T @ mean + 2 * A * (d_variance.T @ v),
        np.add.reduceat(weight * away, first, axis=0),
        N[:, None] * (ratio - 1) + squares,
        d_mean.T @ t,
        d_b,
        v * (d_variance @ A**2) - N[:, None] * (ratio - 1) / 2,
        dy.sum(axis=0) if len(c) == len(A) else np.zeros(1),
    )


def _expectations(mean: np.ndarray, sd: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """E[log(1 + e^y)] for y ~ N(mean, sd^2), and its derivatives by mean and sd."""
    nodes, weights = hermegauss(N_NODES)
    value, by_mean, by_sd = np.zeros((3, *mean.shape))
    for node, w in zip(nodes, weights / weights.sum(), strict=True):
        y = mean + node * sd
        e = np.exp(-np.abs(y))  # of the negative size: no overflow in sigmoid and softplus
        sigmoid = np.where(y > 0, 1.0, e) / (1 + e)
        value += w * (np.maximum(y, 0.0) + np.log1p(e))
        by_mean += w * sigmoid
        by_sd += w * node * sigmoid
    return value, by_mean, by_sd


def start(rows: CountedRows, n_components: int, rng: np.random.Generator) -> State:
    """A random mixing, the posterior that a linear model would have with it, and the columns' log odds."""
    n_variables, n_segments = rows.cells.shape[1], len(rows.starts) - 1
    A = rng.standard_normal((n_variables, n_components))
    E = np.linalg.solve(A.T @ A + n_variables * np.eye(n_components), A.T)
    shape = (n_segments, n_components)
    c = _log_odds(rows) if n_components < n_variables else np.zeros(1)
    return State(A, np.zeros(shape), rng.normal(0.0, 0.1, shape), E, np.zeros(shape), np.full(shape, -1.0), c)


def _log_odds(rows: CountedRows) -> np.ndarray:
    ones, zeros = (rows.counts @ (rows.cells == value) + 0.5 for value in (1, 0))
    return np.asarray(np.log(ones / zeros))


def parameters_of(state: State) -> Parameters:
    """The parameters of a state, its log odds as probits."""
    return Parameters(state.A, state.mu, np.exp(state.log_s), LINK * np.broadcast_to(state.c, len(state.A)))


def runner(rows: CountedRows, n_components: int) -> Runner[State]:
    """One climb from a random start."""

    def run(rng: np.random.Generator, monitor: Monitor) -> Climbed[State]:
        first = start(rows, n_components, rng)
        return ascend(lambda state: objective(state, rows), first, monitor)

    return run
