"""Full maximum likelihood of the binary ICA model (Hyttinen, Barin-Pacela and Hyvärinen, eq. 7)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from latentbits.fitting.ascent import ascend
from latentbits.fitting.climb import Climbed
from latentbits.fitting.monitor import Monitor
from latentbits.fitting.restarts import Runner
from latentbits.fitting.workers import Workers
from latentbits.models.binary_ica.parameters import FINEST_GRID, LINK, Parameters, Prior
from latentbits.models.binary_ica.quadrature import SourceNodes
from latentbits.models.binary_ica.rows import CountedRows

__all__ = ["State", "nodes_for", "objective", "runner", "start"]

GRID_POINTS = {1: 256, 2: 80}  # by the number of sources, per dimension
SOBOL_POINTS, MANY_SOURCES, MORE_POINTS = 4096, 7, 1 << 15
"""For three sources or more, and from so many on. The logarithm of a row's probability has a random error, and so is
too low by half of its variance: at the paper's strengths by 0.002 with 6 columns and sources, and much the same with 10
and more points. With 4,096 of them it would be 0.02, and a fit ended farther from the truth than where it started."""

STRONGEST = 8.0
"""Entries of the mixing stay within this: a cell is then almost a deterministic function of its source. Larger ones
would hardly change the likelihood, and make the integrand too steep for the points of the integrals."""

WEAKEST, WIDEST = 1e-3, 2.5
"""Limits of the scales: near 0 the gradient in log s vanishes."""

FARTHEST = 100.0
"""Means stay within this."""


class State(NamedTuple):
    """A: (n, m). mu, log_s: (U, m)."""

    A: np.ndarray
    mu: np.ndarray
    log_s: np.ndarray


def nodes_for(n_components: int, n_points: int | None = None) -> SourceNodes:
    """A grid over one or two sources (`n_points` in each dimension), Sobol points (`n_points` in all) over more."""
    if n_components <= 2:
        return SourceNodes.grid(n_components, min(n_points or GRID_POINTS[n_components], FINEST_GRID))
    return SourceNodes.sobol(n_components, n_points or (SOBOL_POINTS if n_components < MANY_SOURCES else MORE_POINTS))


def objective(
    state: State, rows: CountedRows, nodes: SourceNodes, workers: Workers, prior: Prior | None = None
) -> tuple[float, State]:
    """sum over rows of log P(x | u), with the log prior if there is one, and its gradient."""
    A, mu, log_s = state
    s = np.exp(log_s)
    parts = workers.map(lambda u: nodes.gradient(*rows.segment(u), A, mu[u], s[u]), range(len(mu)))
    values, dA, d_mu, d_log_s = zip(*parts, strict=True)
    gradient = State(np.sum(dA, axis=0), np.stack(d_mu), np.stack(d_log_s))
    if prior is None:
        return float(np.sum(values)), gradient
    log_prior, prior_A, prior_s = prior(LINK * A, log_s)
    return float(np.sum(values)) + log_prior, State(gradient.A + LINK * prior_A, gradient.mu, gradient.log_s + prior_s)


def start(parameters: Parameters) -> State:
    """The state of given parameters, the mean of log s moved into A as the prior wants it, clipped to the limits."""
    log_s = np.log(np.clip(parameters.scales, WEAKEST, WIDEST))
    middle = log_s.mean(axis=0)
    return State(
        np.clip(parameters.mixing * np.exp(middle), -STRONGEST, STRONGEST),
        np.clip(parameters.means / np.exp(middle), -FARTHEST, FARTHEST),
        np.clip(log_s - middle, np.log(WEAKEST), np.log(WIDEST)),
    )


def limits(state: State) -> tuple[State, State]:
    """The lower and the upper limit of each entry."""
    low, high = (STRONGEST, FARTHEST, -np.log(WEAKEST)), (STRONGEST, FARTHEST, np.log(WIDEST))
    lower = State(*(np.full(part.shape, -limit) for part, limit in zip(state, low, strict=True)))
    return lower, State(*(np.full(part.shape, limit) for part, limit in zip(state, high, strict=True)))


def runner(
    parameters: Parameters, rows: CountedRows, nodes: SourceNodes, workers: Workers, prior: Prior
) -> Runner[State]:
    """One climb from the given model; nothing in it is random."""

    def run(rng: np.random.Generator, monitor: Monitor) -> Climbed[State]:
        first = start(parameters)
        return ascend(lambda state: objective(state, rows, nodes, workers, prior), first, monitor, limits(first))

    return run
