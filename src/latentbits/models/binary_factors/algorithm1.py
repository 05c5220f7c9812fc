"""Algorithm 1 of Tu and Xu line by line: one gradient step a pass along eq. 11, discards inside the loop, one start.

It is here to be compared with; `byy` has what we learn by. What the paper doesn't print is chosen and named: the start
(`random_start`), epsilon, the hyper-parameters Xi ("according to" its references), and the step eta. Eta is one number
for all lines, halved where a step would lower H or leave the domain and raised by a little after each step; so passes
are many where the noise is small, because the curvature of A grows with phi and the slope of phi falls with it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy.special import betaln, digamma, expit, gammaln, log1p

from latentbits.fitting.climb import Climbed, Monitor
from latentbits.fitting.workers import Workers
from latentbits.models.binary_factors import Encoder
from latentbits.models.binary_factors.binary_model import BETA_EDGE, Moments, Parameters, log_odds, moments
from latentbits.models.binary_factors.byy import Discard, Learned, State, without
from latentbits.models.binary_factors.coding import codes_of, random_start

DELTA = 2.0  # section 5.1
EPSILON = 0.01  # not printed
FASTER = 1.1  # eta after a step that was taken
HALVINGS = 30
STEADY = 20  # passes without a rise, or a discard, after which H has converged


class Hyper(NamedTuple):
    """Xi of eq. 3-6: alpha ~ Gamma(a_alpha, b_alpha), phi ~ Gamma(a_phi, b_phi), c ~ N(0, lambda I), and of beta xi.

    The paper sets them "according to" its references and prints no number: these are vague.
    """

    a_alpha: float = 1e-3
    b_alpha: float = 1e-3
    a_phi: float = 1e-3
    b_phi: float = 1e-3
    c_variance: float = 1e3
    xi: float = 2.0


XI = Hyper()


def update(state: State, sums: Moments, tau: float, eta: float, xi: Hyper = XI) -> State:
    """Lines 5 to 13, for codes with these sums; with c where line 9 prints mu."""
    (A, c, phi, beta), alpha = state
    n, N, noise = len(c), sums.n_rows, float(phi[0])
    residual = sums.xz - sums.times(np.column_stack([A, c]))  # sum_t epsilon(x_t) (y_t, 1)^T, line 8
    even = xi.xi / 2
    slope = -xi.xi * (digamma(xi.xi * beta) - digamma(xi.xi * (1 - beta)))  # line 7, its digamma terms as printed
    slope = slope + (even - 1) / beta - (even - 1) / (1 - beta)
    gamma = log_odds(beta) + eta * (sums.ones - N * beta + tau * slope * beta * (1 - beta))  # line 6
    new_c = c + eta * (noise * residual[:, -1] - tau * c / xi.c_variance)  # line 9
    new_A = A + eta * (noise * residual[:, :-1] - tau * A * alpha)  # line 10
    square = np.sum(A * A, axis=0)
    new_alpha = alpha + eta * (n / (2 * alpha) - square / 2 + (xi.a_alpha - 1) / alpha - xi.b_alpha)  # line 11
    squares = float(sums.squares(A, c).sum())
    pull = float(sums.cells.sum()) / (2 * noise) - squares / 2 + tau * ((xi.a_phi - 1) / noise - xi.b_phi)  # line 12
    new_beta = np.clip(expit(gamma), BETA_EDGE, 1 - BETA_EDGE)  # line 5
    return State(Parameters(new_A, new_c, np.array([noise + eta * pull]), new_beta), new_alpha)


def harmony(state: State, sums: Moments, tau: float, xi: Hyper = XI) -> float:
    """H of eq. 11 with the priors of eq. 3-6."""
    (A, c, phi, beta), alpha = state
    n, half = len(c), xi.xi / 2
    log_q = np.sum(sums.cells / 2 * np.log(phi / (2 * np.pi)) - phi / 2 * sums.squares(A, c))
    log_q += sums.ones @ np.log(beta) + (sums.n_rows - sums.ones) @ log1p(-beta)
    if tau == 0:
        return float(log_q)
    log_prior = np.sum(n / 2 * np.log(alpha / (2 * np.pi)) - alpha / 2 * np.sum(A * A, axis=0))
    log_prior += np.sum(_log_gamma_density(alpha, xi.a_alpha, xi.b_alpha))
    log_prior += np.sum(_log_gamma_density(phi, xi.a_phi, xi.b_phi))
    log_prior += np.sum((half - 1) * (np.log(beta) + log1p(-beta)) - betaln(half, half))
    log_prior -= n / 2 * np.log(2 * np.pi * xi.c_variance) + c @ c / (2 * xi.c_variance)
    return float(log_q + tau * log_prior)


def _log_gamma_density(x: np.ndarray, shape: float, rate: float) -> np.ndarray:
    return np.asarray(shape * np.log(rate) - gammaln(shape) + (shape - 1) * np.log(x) - rate * x)


def discarded(theta: Parameters, delta: float) -> np.ndarray:
    """The factors that line 14 discards."""
    beta, square = theta.beta, np.sum(theta.A * theta.A, axis=0)
    return np.asarray((beta < EPSILON) | (beta > 1 - EPSILON) | (square < delta * np.sqrt(square / theta.phi[0])))


@dataclass(frozen=True)
class Algorithm1:
    """The algorithm from one start. X is centred, and all of it divided by one number."""

    X: np.ndarray
    n_components: int
    encoder: Encoder
    tau: float
    delta: float
    workers: Workers

    def run(self, rng: np.random.Generator, monitor: Monitor) -> Climbed[Any]:
        """Lines 1 to 16; H is recorded after every pass."""
        state = State(random_start(self.X, self.n_components, rng), np.ones(self.n_components))
        numbers, discards = list(range(self.n_components)), list[Discard]()
        eta, top, steady = 1.0 / len(self.X), -np.inf, 0
        monitor.converged = False
        while monitor.n_iter == 0 or not monitor.finished:
            codes = codes_of(state.theta, self.X, self.encoder, self.workers).astype(np.float64)
            sums = moments(self.X, codes)
            state, eta = self._moved(state, sums, eta)
            gone = np.flatnonzero(discarded(state.theta, self.delta))
            for i in gone[::-1]:
                discards.append(self._discard(state.theta, int(i), numbers.pop(i), monitor.n_iter + 1))
                state = State(without(state.theta, int(i)), np.delete(state.alpha, i))
            kept = sums if len(gone) == 0 else moments(self.X, np.delete(codes, gone, axis=1))
            H = harmony(state, kept, self.tau)
            monitor.record(H)
            risen = top + monitor.tol * monitor.n_cells < H or len(gone) > 0
            top, steady = (H if len(gone) == 0 else -np.inf), (0 if risen else steady + 1)
            monitor.converged = steady >= STEADY or not numbers
        return Climbed(Learned(state, discards), monitor.history[-1])

    def _moved(self, state: State, sums: Moments, eta: float) -> tuple[State, float]:
        """The state after lines 5 to 13, and the next eta."""
        before = harmony(state, sums, self.tau)
        for _ in range(HALVINGS):
            trial = update(state, sums, self.tau, eta)
            inside = trial.theta.phi[0] > 0 and bool(np.all(trial.alpha > 0))
            if inside and harmony(trial, sums, self.tau) >= before:
                return trial, eta * FASTER
            eta /= 2
        return state, eta

    def _discard(self, theta: Parameters, i: int, number: int, iteration: int) -> Discard:
        reason = "constant" if min(theta.beta[i], 1 - theta.beta[i]) < EPSILON else "weak"
        return Discard(iteration, number, reason, theta.A[:, i], float(theta.beta[i]))
