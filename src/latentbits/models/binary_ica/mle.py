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
from latentbits.models.binary_ica.propagation import Propagation
from latentbits.models.binary_ica.quadrature import SourceNodes
from latentbits.models.binary_ica.rows import CountedRows

__all__ = ["RowLikelihood", "State", "likelihood_for", "objective", "parameters_of", "prior_of", "runner", "start"]

GRID_POINTS = {1: 256, 2: 80}  # by the number of sources, per dimension

STRONGER = 2.0
"""The precision of the mixing's entries is that of matched shrinkage times this: chosen among 1/2, 1, 2 and 4 on
simulations of 5 to 10 columns, where it gained 0.001 in mean cosine similarity with as many sources as columns."""

STRONGEST = 8.0
"""Entries of the mixing stay within this: a cell is then almost a deterministic function of its source. Larger ones
would hardly change the likelihood, and make the integrand too steep for the points of the integrals."""

WEAKEST, WIDEST = 1e-3, 2.5
"""Limits of the scales: near 0 the gradient in log s vanishes."""

FARTHEST = 100.0
"""Means and intercepts stay within this."""


RowLikelihood = SourceNodes | Propagation
"""How the probabilities of rows are computed."""


class State(NamedTuple):
    """A: (n, m). mu, log_s: (U, m). b: (n,), the intercepts."""

    A: np.ndarray
    mu: np.ndarray
    log_s: np.ndarray
    b: np.ndarray


def likelihood_for(n_components: int, n_points: int | None = None) -> RowLikelihood:
    """A grid over one or two sources (`n_points` in each dimension). Over more, expectation propagation, or Sobol
    points if a number of them is given."""
    if n_components <= 2:
        return SourceNodes.grid(n_components, min(n_points or GRID_POINTS[n_components], FINEST_GRID))
    return Propagation() if n_points is None else SourceNodes.sobol(n_components, n_points)


def objective(
    state: State, rows: CountedRows, likelihood: RowLikelihood, workers: Workers, prior: Prior | None = None
) -> tuple[float, State]:
    """sum over rows of log P(x | u), with the log prior if there is one, and its gradient."""
    A, mu, log_s, b = state
    s = np.exp(log_s)
    parts = workers.map(lambda u: likelihood.gradient(*rows.segment(u), A, mu[u], s[u], b), range(len(mu)))
    values, dA, d_mu, d_log_s, db = zip(*parts, strict=True)
    gradient = State(np.sum(dA, axis=0), np.stack(d_mu), np.stack(d_log_s), np.sum(db, axis=0))
    if prior is None:
        return float(np.sum(values)), gradient
    log_prior, prior_A, prior_s = prior(LINK * A, log_s)
    gradient = gradient._replace(A=gradient.A + LINK * prior_A, log_s=gradient.log_s + prior_s)
    return float(np.sum(values)) + log_prior, gradient


def start(parameters: Parameters) -> State:
    """The state of given parameters, the mean of log s moved into A as the prior wants it, clipped to the limits."""
    log_s = np.log(np.clip(parameters.scales, WEAKEST, WIDEST))
    middle = log_s.mean(axis=0)
    return State(
        np.clip(parameters.mixing * np.exp(middle), -STRONGEST, STRONGEST),
        np.clip(parameters.means / np.exp(middle), -FARTHEST, FARTHEST),
        np.clip(log_s - middle, np.log(WEAKEST), np.log(WIDEST)),
        np.clip(np.broadcast_to(parameters.intercepts, len(parameters.mixing)), -FARTHEST, FARTHEST),
    )


def prior_of(prior: Prior) -> Prior:
    """The prior of a fit by maximum likelihood: that of matched shrinkage, with a stronger one of the mixing."""
    return prior._replace(mixing=STRONGER * prior.mixing)


def parameters_of(state: State) -> Parameters:
    """The parameters of a state."""
    return Parameters(state.A, state.mu, np.exp(state.log_s), state.b)


def limits(state: State) -> tuple[State, State]:
    """The lower and the upper limit of each entry."""
    low, high = (STRONGEST, FARTHEST, -np.log(WEAKEST), FARTHEST), (STRONGEST, FARTHEST, np.log(WIDEST), FARTHEST)
    lower = State(*(np.full(part.shape, -limit) for part, limit in zip(state, low, strict=True)))
    return lower, State(*(np.full(part.shape, limit) for part, limit in zip(state, high, strict=True)))


def runner(
    parameters: Parameters, rows: CountedRows, likelihood: RowLikelihood, workers: Workers, prior: Prior
) -> Runner[State]:
    """One climb from the given model; nothing in it is random."""
    stronger = prior_of(prior)

    def run(rng: np.random.Generator, monitor: Monitor) -> Climbed[State]:
        first = start(parameters)
        return ascend(
            lambda state: objective(state, rows, likelihood, workers, stronger), first, monitor, limits(first)
        )

    return run
