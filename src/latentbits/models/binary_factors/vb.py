"""Variational Bayes for binary factors (Tu and Xu, section 4): coordinate ascent on a factorised posterior.

q(Y) q(B) q(alpha) q(phi) q(beta) with B = (A, c): q(Y) is Bernoulli for every factor of every row, q(B) Gaussian with
a covariance for every noise (one for all variables' rows of B if these share a noise), alpha and phi are Gamma and beta
is Beta. The priors are those of harmony learning (`Prior`, tau = 1), with automatic relevance determination by alpha.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from scipy.special import digamma, entr, gammaln

from latentbits.fitting.climb import Climbed, Monitor
from latentbits.fitting.workers import Workers
from latentbits.models.binary_factors.binary_model import (
    EQUAL,
    Moments,
    Parameters,
    Prior,
    mean_field,
    moments,
    pooled,
)
from latentbits.models.binary_factors.byy import settle_and_discard
from latentbits.models.binary_factors.coding import rough_fit
from latentbits.numerics import expected_log_beta, kl_beta

SWEEPS = 5  # of mean field over the codes in a pass; none lowers the bound, so they need not converge
SWEEP_TOL = 1e-4
CERTAINTY = 0.95  # |E[y]| at the start, for the codes of a rough fit


class State(NamedTuple):
    """The posterior.

    Y : (N, m)  E[y]
    B : (n, m + 1)  E[(A, c)]
    cov : (1 or n, m + 1, m + 1)  covariances of the rows of B, one for all if they share a noise
    alpha_shape, alpha_rate : number, (m,)  of Gamma
    phi_shape, phi_rate : (1,) or (n,)  of Gamma
    on, off : (m,)  of Beta(on, off)
    """

    Y: np.ndarray
    B: np.ndarray
    cov: np.ndarray
    alpha_shape: float
    alpha_rate: np.ndarray
    phi_shape: np.ndarray
    phi_rate: np.ndarray
    on: np.ndarray
    off: np.ndarray

    @property
    def phi(self) -> np.ndarray:
        """E[phi]"""
        return self.phi_shape / self.phi_rate

    @property
    def parameters(self) -> Parameters:
        """Posterior means."""
        return Parameters(self.B[:, :-1], self.B[:, -1], self.phi, self.on / (self.on + self.off))


def code_moments(X: np.ndarray, Y: np.ndarray) -> Moments:
    """Moments under q(Y): E[y_i y_j] = y_i y_j off the diagonal, and 1 on it."""
    second = Y.T @ Y
    np.fill_diagonal(second, len(Y))
    return moments(X, Y, second)


def update_parameters(state: State, X: np.ndarray, prior: Prior) -> State:
    """q(B), q(alpha), q(phi), q(beta) in this order, each the maximiser of the bound given the others (eq. 17)."""
    N, n = X.shape
    sums, phi = code_moments(X, state.Y), state.phi
    ridge = np.append(state.alpha_shape / state.alpha_rate, 1 / prior.c_variance)
    cov = np.linalg.inv(phi[:, None, None] * sums.zz + np.diag(ridge))
    cov = (cov + np.swapaxes(cov, 1, 2)) / 2  # symmetric but for rounding
    B = phi[:, None] * (sums.xz @ cov[0] if len(cov) == 1 else np.einsum("ji,jik->jk", sums.xz, cov))
    return state._replace(
        B=B,
        cov=cov,
        alpha_shape=1 + n / 2,
        alpha_rate=prior.alpha_rate + _column_squares(B, cov)[:-1] / 2,
        phi_shape=1 + pooled(sums.cells, phi) / 2,
        phi_rate=prior.phi_rate + pooled(_expected_squares(B, cov, sums), phi) / 2,
        on=prior.xi / 2 + sums.ones,
        off=prior.xi / 2 + N - sums.ones,
    )


def update_codes(state: State, X: np.ndarray, *, max_sweeps: int = SWEEPS, tol: float = SWEEP_TOL) -> State:
    """q(Y), one factor after the other."""
    Q, offset = expected_program(state)
    F = (X - state.B[:, -1]) @ (state.phi[:, None] * state.B[:, :-1]) + offset
    return state._replace(Y=mean_field(Q, F, state.Y, max_sweeps=max_sweeps, tol=tol))


def expected_program(state: State) -> tuple[np.ndarray, np.ndarray]:
    """Q and the constant part of f (without phi A^T (x - c)) of eq. 13, in expectation over the parameters."""
    A, phi, cov = state.B[:, :-1], state.phi, state.cov
    log_on, log_off = expected_log_beta(state.on, state.off)
    uncertain = len(A) / len(cov) * np.einsum("j,jik->ik", phi, cov)
    Q = A.T @ (phi[:, None] * A) + uncertain[:-1, :-1]
    return Q, (log_on - log_off) / 2 - uncertain[:-1, -1]


def evidence_bound(state: State, X: np.ndarray, prior: Prior) -> float:
    """F of eq. 16, every term: the expected log joint density plus the entropy of the posterior."""
    Y, B, cov = state.Y, state.B, state.cov
    N, n = X.shape
    sums = code_moments(X, Y)
    log_phi = digamma(state.phi_shape) - np.log(state.phi_rate)
    log_on, log_off = expected_log_beta(state.on, state.off)
    bound = np.sum(N / 2 * (log_phi - np.log(2 * np.pi)) - state.phi / 2 * _expected_squares(B, cov, sums))
    bound += sums.ones @ log_on + (N - sums.ones) @ log_off
    bound += float(np.sum(entr((1 + Y) / 2) + entr((1 - Y) / 2)))
    # E[log p(B | alpha)] + entropy of q(B): column i has precision alpha_i, and the last (c) its own.
    log_precision = np.append(
        digamma(state.alpha_shape) - np.log(state.alpha_rate),
        -np.log(prior.c_variance),
    )
    precision = np.append(state.alpha_shape / state.alpha_rate, 1 / prior.c_variance)
    bound += np.sum(n * log_precision - precision * _column_squares(B, cov)) / 2
    bound += n / 2 * (np.mean(np.linalg.slogdet(cov)[1]) + cov.shape[1])
    bound -= np.sum(kl_gamma(state.alpha_shape, state.alpha_rate, prior.alpha_rate))
    bound -= np.sum(kl_gamma(state.phi_shape, state.phi_rate, prior.phi_rate))
    bound -= np.sum(kl_beta(state.on, state.off, prior.xi / 2, prior.xi / 2))
    return float(bound)


def kl_gamma(shape: float | np.ndarray, rate: np.ndarray, prior_rate: float) -> np.ndarray:
    """KL(Gamma(shape, rate) || Gamma(1, prior_rate)).

    Examples
    --------
    >>> kl_gamma(1.0, np.array([2.0, 1.0]), 2.0).round(3).tolist()
    [0.0, 0.307]
    """
    divergence: np.ndarray = (
        (shape - 1) * digamma(shape) - gammaln(shape) + np.log(rate / prior_rate) + shape * (prior_rate / rate - 1)
    )
    return divergence


def _column_squares(B: np.ndarray, cov: np.ndarray) -> np.ndarray:
    """E |b_i|^2 for the columns of B."""
    return np.asarray(np.sum(B * B, axis=0) + len(B) * np.einsum("jii->i", cov) / len(cov))


def _expected_squares(B: np.ndarray, cov: np.ndarray, sums: Moments) -> np.ndarray:
    """E sum_t (x_t - A y_t - c)^2, (n,)"""
    return sums.squares(B[:, :-1], B[:, -1]) + np.sum(cov * sums.zz, axis=(1, 2))


@dataclass(frozen=True)
class VariationalBayes:
    """Coordinate ascent on the bound, with the discards of harmony learning. X is centred and of unit variance."""

    X: np.ndarray
    n_components: int
    prior: Prior
    delta: float
    workers: Workers
    limit: np.ndarray = field(default_factory=lambda: EQUAL)

    def initialise(self, rng: np.random.Generator) -> State:
        """The codes of a rough fit (see `rough_fit`), not quite certain, and the parameters given these codes."""
        theta, codes = rough_fit(self.X, self.n_components, rng, self.workers, self.limit)
        n, m = theta.A.shape
        one, wide = np.ones(m), np.eye(m + 1)[None]
        B, noise = np.zeros((n, m + 1)), np.ones(len(theta.phi))
        start = State(CERTAINTY * codes, B, wide, 1.0, one, noise, noise / theta.phi, one, one)
        return update_parameters(start, self.X, self.prior)

    def run(self, rng: np.random.Generator, monitor: Monitor) -> Climbed[Any]:
        """From a random start until the bound has converged and no factor is discarded."""
        return settle_and_discard(
            self.initialise(rng),
            stages=[lambda state: self._settle(state, monitor)],
            parameters=lambda state: state.parameters,
            drop=self._drop,
            n_rows=len(self.X),
            delta=self.delta,
            monitor=monitor,
        )

    def _settle(self, state: State, monitor: Monitor) -> State:
        """Passes until the bound rises by less than tol per cell."""
        monitor.converged = False
        last = -np.inf
        while monitor.n_iter == 0 or not monitor.finished:
            state = update_parameters(update_codes(state, self.X), self.X, self.prior)
            bound = evidence_bound(state, self.X, self.prior)
            monitor.record(bound)
            monitor.converged = bound - last < monitor.tol * self.X.size
            last = bound
        return state

    def _drop(self, state: State, factor: int) -> State:
        """The posterior without this factor; the parameters are updated given the remaining codes."""
        left = np.arange(state.Y.shape[1]) != factor
        keep = np.append(left, True)
        fewer = State(
            state.Y[:, left],
            state.B[:, keep],
            state.cov[:, keep][:, :, keep],
            state.alpha_shape,
            state.alpha_rate[left],
            state.phi_shape,
            state.phi_rate,
            state.on[left],
            state.off[left],
        )
        return update_parameters(fewer, self.X, self.prior)
