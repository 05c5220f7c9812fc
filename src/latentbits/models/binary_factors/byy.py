"""Bayesian Ying-Yang harmony learning of binary factors (Tu and Xu, Algorithm 1), with selection of their number.

Alternate: encode every row with one binary code, increase the harmony H of eq. 11 over the parameters, and discard
factors that have become weak or constant.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, NamedTuple, TypeVar

import numpy as np
from scipy.special import betaln, expit, log1p

from latentbits.fitting.climb import Climbed, Monitor
from latentbits.fitting.workers import Workers
from latentbits.models.binary_factors import Encoder, Update
from latentbits.models.binary_factors.binary_model import (
    EQUAL,
    LARGEST_PRECISION,
    Moments,
    Parameters,
    Prior,
    log_odds,
    moments,
    noise_precision,
    pooled,
    shares,
)
from latentbits.models.binary_factors.coding import codes_of, random_start

# Over the length of a column that pure noise gives, measured over rows and noise levels.
MARGIN = 1.25
MARGIN_BY_COLUMN = 1.15
FEWEST_ROWS = 5  # a factor that is on (or off) in fewer rows is indistinguishable from outliers
LARGEST_EDGE = 0.2  # but in small data this share of the rows is always enough

AnyState = TypeVar("AnyState")


class Discard(NamedTuple):
    """Factor number `factor` of the start was discarded after pass `iteration`, as "weak", "constant" or by "bic"."""

    iteration: int
    factor: int
    reason: str
    column: np.ndarray
    probability: float


class Learned(NamedTuple, Generic[AnyState]):
    """The final state of a run, and the factors that it discarded."""

    state: AnyState
    discards: list[Discard]


def settle_and_discard(
    state: AnyState,
    *,
    stages: Sequence[Callable[[AnyState], AnyState]],
    parameters: Callable[[AnyState], Parameters],
    drop: Callable[[AnyState, int], AnyState],
    n_rows: int,
    delta: float,
    monitor: Monitor,
) -> Climbed[Any]:
    """In every stage: iterate to convergence, discard the weakest factor, repeat until none is discarded or time is up.

    A stage is a function that iterates to convergence; the final state is a `Learned`. (Algorithm 1 of Tu and Xu has
    the discard inside the loop, after every update. That loses good factors, because the noise is overestimated in the
    first passes.)
    """
    numbers = list(range(parameters(state).A.shape[1]))  # of the factors left, by their place at the start
    discards: list[Discard] = []
    for settle in stages:
        while True:
            state = settle(state)
            theta = parameters(state)
            factor = weakest(theta, n_rows, delta)
            if factor is None or not monitor.converged or monitor.n_iter >= monitor.max_iter:
                break
            column = theta.A[:, factor]
            reason = "weak" if theta.lengths[factor] < delta else "constant"
            discards.append(Discard(monitor.n_iter, numbers.pop(factor), reason, column, float(theta.beta[factor])))
            state = drop(state, factor)
    return Climbed(Learned(state, discards), monitor.history[-1])


def least_length(n_rows: int, n_columns: int, *, by_column: bool = False) -> float:
    """The default of delta: the length below which a column may be noise, in standard deviations of the noise.

    A factor fitted to nothing but noise splits the rows along one direction. The two halves of a normal distribution
    have their means sqrt(2 / pi) standard deviations from the centre, and the direction is that in which the sample
    varies most, by up to 1 + sqrt(n / N) standard deviations of the noise. If columns have a noise of their own, such a
    factor may split one of them, whose noise is what the split leaves: the variance 1 - 2 / pi.

    Examples
    --------
    >>> round(least_length(200, 10), 2), round(least_length(20, 10), 2), round(least_length(200, 10, by_column=True), 2)
    (1.22, 1.7, 1.86)
    """
    length = MARGIN_BY_COLUMN * np.sqrt(2 / (np.pi - 2)) if by_column else MARGIN * np.sqrt(2 / np.pi)
    return float(length * (1 + np.sqrt(n_columns / n_rows)))


def weakest(theta: Parameters, n_rows: int, delta: float) -> int | None:
    """The factor to discard next, if any: the one with the shortest column of those that fail line 14 of Algorithm 1.

    Those are the factors with |a_i|^2 < delta sqrt(a_i^T Sigma a_i), which is |a_i| < delta / sqrt(phi). Where columns
    have a noise of their own, it is the length in units of the noise, (a_i^T Sigma^-1 a_i)^1/2 < delta, so that a
    column's unit doesn't matter. And those that are on, or off, in nearly all rows: epsilon is here a number of rows,
    because a factor of two or three rows encodes outliers, whatever the number of rows.
    """
    edge = min(LARGEST_EDGE, (FEWEST_ROWS - 0.5) / n_rows)
    length = theta.lengths
    given_up = (length < delta) | (np.minimum(theta.beta, 1 - theta.beta) < edge)
    return int(np.where(given_up, length, np.inf).argmin()) if given_up.any() else None


PATIENCE = 10  # passes without a new maximum of H after which a fit that oscillates counts as converged
HALVINGS = 40  # of a gradient step, at most


class State(NamedTuple):
    """The parameters, and alpha: (m,) precisions of the mixing matrix' columns under the prior."""

    theta: Parameters
    alpha: np.ndarray


# ---- the harmony, its gradient, and its maximisers -------------------------------------------------------------------


def harmony(state: State, sums: Moments, prior: Prior) -> float:
    """H of eq. 11: sum_t log q(x_t|y_t) q(y_t) + tau log q(theta, alpha)."""
    (A, c, phi, beta), alpha = state
    n = len(c)
    N, ones = sums.n_rows, sums.ones
    log_q = np.sum(sums.cells / 2 * np.log(phi / (2 * np.pi)) - phi / 2 * sums.squares(A, c))
    log_q += ones @ np.log(beta) + (N - ones) @ log1p(-beta)
    if prior.tau == 0:
        return float(log_q)
    half, var = prior.xi / 2, prior.c_variance
    log_prior = np.sum(n / 2 * np.log(alpha / (2 * np.pi)) - alpha / 2 * np.sum(A * A, axis=0))
    log_prior += np.sum(np.log(prior.alpha_rate) - prior.alpha_rate * alpha)
    log_prior += np.sum(np.log(prior.phi_rate) - prior.phi_rate * phi)
    log_prior += np.sum((half - 1) * (np.log(beta) + log1p(-beta)) - betaln(half, half))
    log_prior -= n / 2 * np.log(2 * np.pi * var) + c @ c / (2 * var)
    return float(log_q + prior.tau * log_prior)


class Gradient(NamedTuple):
    """Gradient of H in A, c, log phi, gamma = log odds of beta, and log alpha."""

    A: np.ndarray
    c: np.ndarray
    log_phi: np.ndarray
    gamma: np.ndarray
    log_alpha: np.ndarray


def gradient(state: State, sums: Moments, prior: Prior) -> Gradient:
    """The gradient of `harmony`, derived from eq. 11.

    (Lines 6-12 of Algorithm 1, but in log phi and log alpha, which stay positive; without the digamma terms of line 7,
    which aren't in the derivative of eq. 5; and with c where line 9 prints mu.)
    """
    (A, c, phi, beta), alpha = state
    tau, n, N = prior.tau, len(c), sums.n_rows
    residual = sums.xz - sums.times(np.column_stack([A, c]))  # sum_t e_t z_t^T, with the residuals e and z = (y, 1)
    return Gradient(
        A=phi[:, None] * residual[:, :-1] - tau * A * alpha,
        c=phi * residual[:, -1] - tau * c / prior.c_variance,
        log_phi=pooled(sums.cells / 2 - phi / 2 * sums.squares(A, c), phi) - tau * prior.phi_rate * phi,
        gamma=sums.ones - N * beta + tau * (prior.xi / 2 - 1) * (1 - 2 * beta),
        log_alpha=tau * (n / 2 - alpha / 2 * np.sum(A * A, axis=0) - prior.alpha_rate * alpha),
    )


def gradient_step(
    state: State, sums: Moments, prior: Prior, *, free_beta: bool = True, limit: np.ndarray | None = None
) -> State:
    """One step along the gradient, each part divided by its curvature, halved until H doesn't fall."""
    (A, c, phi, beta), alpha = state
    g = gradient(state, sums, prior)
    n, N = len(c), sums.n_rows
    before = harmony(state, sums, prior)
    most = LARGEST_PRECISION if limit is None else limit
    length = 0.5  # the curvature used is diagonal, so a full step may overshoot
    for _ in range(HALVINGS):
        # phi and alpha move on the log scale and beta in log odds, so that they stay in their domains.
        trial = State(
            Parameters(
                A + length * g.A / (N * phi[:, None] + prior.tau * alpha),
                c + length * g.c / (N * phi),
                np.minimum(most, phi * np.exp(length * g.log_phi / (pooled(sums.cells, phi) / 2))),
                shares(expit(log_odds(beta) + length * g.gamma / (N / 4)), 1.0) if free_beta else beta,
            ),
            alpha * np.exp(length * g.log_alpha / (n / 2)),
        )
        if harmony(trial, sums, prior) >= before:
            return trial
        length /= 2
    return state


def closed_step(
    state: State, sums: Moments, prior: Prior, *, free_beta: bool = True, limit: np.ndarray | None = None
) -> State:
    """(A, c), alpha, phi and beta moved to their maximisers of H, in this order, each given the others.

    Without the prior that is the maximum over all of them: least squares, and the residuals' and the codes' means.
    """
    (_, c, phi, beta), alpha = state
    tau, n, N = prior.tau, len(c), sums.n_rows
    most = np.full(len(phi), LARGEST_PRECISION) if limit is None else limit
    A, c = sums.regress(tau / phi[:, None] * np.append(alpha, 1 / prior.c_variance))
    alpha = n / (np.sum(A * A, axis=0) + 2 * prior.alpha_rate)
    squares = pooled(sums.squares(A, c), phi) + 2 * tau * prior.phi_rate
    phi = noise_precision(squares, pooled(sums.cells, phi), most)
    if free_beta:
        pseudo = tau * (prior.xi / 2 - 1)
        beta = shares(sums.ones + pseudo, N + 2 * pseudo)
    return State(Parameters(A, c, phi, beta), alpha)


def without(theta: Parameters, factor: int) -> Parameters:
    """The parameters without one factor, whose mean contribution is added to c."""
    A, c, phi, beta = theta
    c = c + A[:, factor] * (2 * beta[factor] - 1)
    return Parameters(np.delete(A, factor, axis=1), c, phi, np.delete(beta, factor))


# ---- learning --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class HarmonyLearning:
    """Algorithm 1, but with discards only after convergence, in two stages. X is centred, of unit variance.

    In the first stage beta is fixed at 1/2, so codes depend on the fit to the rows alone. With beta free from the
    start, the uneven shares of poor codes mislead the rounding encoder: superfluous factors come to encode a few rows,
    or all rows end up with the same code.
    """

    X: np.ndarray
    n_components: int
    encoder: Encoder
    update: Update
    prior: Prior
    delta: float
    workers: Workers
    limit: np.ndarray = field(default_factory=lambda: EQUAL)

    def initialise(self, rng: np.random.Generator) -> State:
        """A random start (see `random_start`), with weak initial precisions of the columns."""
        return State(random_start(self.X, self.n_components, rng, self.limit), np.ones(self.n_components))

    def run(self, rng: np.random.Generator, monitor: Monitor) -> Climbed[Any]:
        """From a random start until convergence without a factor to discard; H is recorded after every pass."""
        return settle_and_discard(
            self.initialise(rng),
            stages=[
                lambda state: self.settle(state, monitor, free_beta=False),
                lambda state: self.settle(state, monitor, free_beta=True),
            ],
            parameters=lambda state: state.theta,
            drop=lambda state, factor: State(without(state.theta, factor), np.delete(state.alpha, factor)),
            n_rows=len(self.X),
            delta=self.delta,
            monitor=monitor,
        )

    def settle(self, state: State, monitor: Monitor, *, free_beta: bool) -> State:
        """Passes until codes and H are unchanged, or H has oscillated without a new maximum for `PATIENCE` passes."""
        step = closed_step if self.update == "closed" else gradient_step
        rise = monitor.tol * monitor.n_cells
        codes, height, last, stale = None, -np.inf, -np.inf, 0
        monitor.converged = False
        while monitor.n_iter == 0 or not monitor.finished:
            new = codes_of(state.theta, self.X, self.encoder, self.workers)
            sums = moments(self.X, new.astype(np.float64))
            state = step(state, sums, self.prior, free_beta=free_beta, limit=self.limit)
            H = harmony(state, sums, self.prior)
            monitor.record(H)
            same = codes is not None and np.array_equal(codes, new)
            # Inexact encoders may lower H, so convergence can't rely on its rise alone.
            higher = H - height > rise
            stale = 0 if higher else stale + 1
            monitor.converged = (same and H - last <= rise) or stale >= PATIENCE
            codes, height, last = new, max(height, H), H
        return state
