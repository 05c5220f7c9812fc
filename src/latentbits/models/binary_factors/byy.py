"""Bayesian Ying-Yang harmony learning of binary factors (Tu and Xu, Algorithm 1), with selection of their number.

Alternate: encode every row with one binary code, increase the harmony H of eq. 11 over the parameters, and discard
factors that have become weak or constant.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy.special import betaln, expit, log1p

from latentbits.fitting.climb import Climbed
from latentbits.fitting.monitor import Monitor
from latentbits.fitting.workers import Workers
from latentbits.models.binary_factors import Encoder, Update
from latentbits.models.binary_factors.coding import codes_of
from latentbits.models.binary_factors.discarding import settle_and_discard
from latentbits.models.binary_factors.model import (
    LARGEST_PRECISION,
    Moments,
    Parameters,
    Prior,
    log_odds,
    moments,
    noise_precision,
    shares,
)
from latentbits.models.binary_factors.starts import random_start

__all__ = ["Gradient", "HarmonyLearning", "State", "closed_step", "gradient", "gradient_step", "harmony"]

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
    log_q = sums.n_cells / 2 * np.log(phi / (2 * np.pi)) - phi / 2 * sums.squares(A, c)
    log_q += ones @ np.log(beta) + (N - ones) @ log1p(-beta)
    if prior.tau == 0:
        return float(log_q)
    half, var = prior.xi / 2, prior.c_variance
    log_prior = np.sum(n / 2 * np.log(alpha / (2 * np.pi)) - alpha / 2 * np.sum(A * A, axis=0))
    log_prior += np.sum(np.log(prior.alpha_rate) - prior.alpha_rate * alpha)
    log_prior += np.log(prior.phi_rate) - prior.phi_rate * phi
    log_prior += np.sum((half - 1) * (np.log(beta) + log1p(-beta)) - betaln(half, half))
    log_prior -= n / 2 * np.log(2 * np.pi * var) + c @ c / (2 * var)
    return float(log_q + prior.tau * log_prior)


class Gradient(NamedTuple):
    """Gradient of H in A, c, log phi, gamma = log odds of beta, and log alpha."""

    A: np.ndarray
    c: np.ndarray
    log_phi: float
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
        A=phi * residual[:, :-1] - tau * A * alpha,
        c=phi * residual[:, -1] - tau * c / prior.c_variance,
        log_phi=sums.n_cells / 2 - phi / 2 * sums.squares(A, c) - tau * prior.phi_rate * phi,
        gamma=sums.ones - N * beta + tau * (prior.xi / 2 - 1) * (1 - 2 * beta),
        log_alpha=tau * (n / 2 - alpha / 2 * np.sum(A * A, axis=0) - prior.alpha_rate * alpha),
    )


def gradient_step(state: State, sums: Moments, prior: Prior, *, free_beta: bool = True) -> State:
    """One step along the gradient, each part divided by its curvature, halved until H doesn't fall."""
    (A, c, phi, beta), alpha = state
    g = gradient(state, sums, prior)
    n, N = len(c), sums.n_rows
    before = harmony(state, sums, prior)
    length = 0.5  # the curvature used is diagonal, so a full step may overshoot
    for _ in range(HALVINGS):
        # phi and alpha move on the log scale and beta in log odds, so that they stay in their domains.
        trial = State(
            Parameters(
                A + length * g.A / (N * phi + prior.tau * alpha),
                c + length * g.c / (N * phi),
                float(min(LARGEST_PRECISION, phi * np.exp(length * g.log_phi / (sums.n_cells / 2)))),
                shares(expit(log_odds(beta) + length * g.gamma / (N / 4)), 1.0) if free_beta else beta,
            ),
            alpha * np.exp(length * g.log_alpha / (n / 2)),
        )
        if harmony(trial, sums, prior) >= before:
            return trial
        length /= 2
    return state


def closed_step(state: State, sums: Moments, prior: Prior, *, free_beta: bool = True) -> State:
    """(A, c), alpha, phi and beta moved to their maximisers of H, in this order, each given the others.

    Without the prior that is the maximum over all of them: least squares, and the residuals' and the codes' means.
    """
    (_, c, phi, beta), alpha = state
    tau, n, N = prior.tau, len(c), sums.n_rows
    A, c = sums.regress(tau / phi * np.append(alpha, 1 / prior.c_variance))
    alpha = n / (np.sum(A * A, axis=0) + 2 * prior.alpha_rate)
    phi = noise_precision(sums.squares(A, c) + 2 * tau * prior.phi_rate, sums.n_cells)
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

    def initialise(self, rng: np.random.Generator) -> State:
        """A random start (see `random_start`), with weak initial precisions of the columns."""
        return State(random_start(self.X, self.n_components, rng), np.ones(self.n_components))

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
            state = step(state, sums, self.prior, free_beta=free_beta)
            H = harmony(state, sums, self.prior)
            monitor.record(H)
            same = codes is not None and np.array_equal(codes, new)
            # Inexact encoders may lower H, so convergence can't rely on its rise alone.
            higher = H - height > rise
            stale = 0 if higher else stale + 1
            monitor.converged = (same and H - last <= rise) or stale >= PATIENCE
            codes, height, last = new, max(height, H), H
        return state
