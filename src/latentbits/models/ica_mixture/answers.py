"""Densities and sources of points under fitted clusters, in standardised units: pure functions of posterior means."""

from __future__ import annotations

from itertools import product

import numpy as np
from scipy.linalg import solve_triangular

from latentbits.models.ica_mixture.posterior import LOG_2PI, Clusters, Floats, live_sources, strengths
from latentbits.models.ica_mixture.statistics import infer_hidden, settle

__all__ = ["arranged", "bounded_log_density", "exact_log_density", "source_means"]

ROUNDS, STEADY = 200, 1e-8
"""Largest number of updates of the hidden variables of new points, and the rise of their bound that ends them."""

CHUNK = 4096
"""Points whose sources are inferred at once: every point and cluster needs a covariance matrix."""


def arranged(clusters: Clusters, order: np.ndarray) -> Clusters:
    """The clusters in this order, their sources by falling strength, each with its largest entry of A positive."""
    clusters = Clusters(*(array[order] for array in clusters))
    by_strength = np.argsort(-strengths(clusters), axis=1, kind="stable")
    parts = []
    for c, m in enumerate(by_strength):
        A = clusters.A[c][:, m]
        sign = np.where(A[np.abs(A).argmax(axis=0), np.arange(len(m))] < 0, -1.0, 1.0)
        parts.append(
            Clusters(
                A=A * sign,
                A_cov=clusters.A_cov[c][:, m][:, :, m] * np.outer(sign, sign),
                alpha_shape=clusters.alpha_shape[c, m],
                alpha_rate=clusters.alpha_rate[c, m],
                nu=clusters.nu[c],
                nu_precision=clusters.nu_precision[c],
                psi_shape=clusters.psi_shape[c],
                psi_rate=clusters.psi_rate[c],
                pi=clusters.pi[c, m],
                phi=clusters.phi[c, m] * sign[:, None],
                phi_precision=clusters.phi_precision[c, m],
                beta_shape=clusters.beta_shape[c, m],
                beta_rate=clusters.beta_rate[c, m],
            )
        )
    return Clusters(*(np.stack(arrays) for arrays in zip(*parts, strict=True)))


def exact_log_density(X: Floats, clusters: Clusters) -> Floats:
    """log p(x | c) at the posterior means of the parameters, C x T: a sum over all combinations of Gaussians.

    Sources that are switched off are approximated by one Gaussian with their mean and variance.
    """
    live = live_sources(clusters)
    mean, variance = clusters.source_moments()
    return np.stack(
        [
            _log_density(
                X - clusters.nu[c] - clusters.A[c][:, ~live[c]] @ mean[c, ~live[c]],
                clusters.A[c][:, live[c]],
                np.diag(1 / clusters.psi[c])
                + (clusters.A[c][:, ~live[c]] * variance[c, ~live[c]]) @ clusters.A[c][:, ~live[c]].T,
                clusters.pi_mean[c, live[c]],
                clusters.phi[c, live[c]],
                clusters.beta[c, live[c]],
            )
            for c in range(len(live))
        ]
    )


def _log_density(X: Floats, A: Floats, noise: Floats, pi: Floats, phi: Floats, beta: Floats) -> Floats:
    """Log density of A s + noise, s with independent mixtures of Gaussians, T: K^M Gaussians, one after the other."""
    M, K = pi.shape
    total = np.full(len(X), -np.inf)  # of log sum exp, accumulated
    m = np.arange(M)
    for labels in product(range(K), repeat=M):
        k = list(labels)
        root = np.linalg.cholesky(noise + (A / beta[m, k]) @ A.T)
        white = solve_triangular(root, (X - A @ phi[m, k]).T, lower=True)
        log = np.log(pi[m, k]).sum() - np.log(np.diag(root)).sum() - 0.5 * (white**2).sum(axis=0)
        np.logaddexp(total, log, out=total)
    return total - 0.5 * X.shape[1] * LOG_2PI


def bounded_log_density(X: Floats, clusters: Clusters) -> Floats:
    """A lower bound of log p(x | c), averaged over the parameters' posterior, C x T: Q(s) and Q(k) at their optimum."""
    return np.concatenate([_hidden_of(rows, clusters)[1] for rows in _chunks(X)], axis=1)


def source_means(X: Floats, clusters: Clusters) -> Floats:
    """The means of the sources in every cluster, C x T x M."""
    return np.concatenate([_hidden_of(rows, clusters)[0] for rows in _chunks(X)], axis=1)


def _chunks(X: Floats) -> list[Floats]:
    return [X[start : start + CHUNK] for start in range(0, len(X), CHUNK)]


def _hidden_of(X: Floats, clusters: Clusters) -> tuple[Floats, Floats]:
    """Means of the sources, and the points' parts of the bound, both at the optimum of Q(s) and Q(k).

    Each point stops by its own convergence, so that its result doesn't depend on the others.
    """
    C, M, _ = clusters.pi.shape
    labels = np.repeat(clusters.pi_mean[:, None], len(X), axis=1)
    R, shift = np.repeat(np.eye(M)[None], C, axis=0), np.zeros((C, M))
    mean, value = np.empty((C, len(X), M)), np.full((C, len(X)), -np.inf)
    active = np.arange(len(X))
    for _ in range(ROUNDS):
        hidden = infer_hidden(X[active], clusters, labels[:, active])
        labels[:, active], new = settle(X[active], clusters, hidden, R, shift)
        mean[:, active] = hidden.mean
        rise = (new - value[:, active]).max(axis=0)
        value[:, active] = new
        active = active[rise > STEADY]
        if len(active) == 0:
            break
    return mean, value
