"""Densities and sources of points under fitted clusters, in standardised units: pure functions of posterior means."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

import numpy as np
from scipy.linalg import solve_triangular

from latentbits.models.ica_mixture.cluster_posterior import (
    LOG_2PI,
    Clusters,
    Floats,
    live_sources,
    of_dimensions,
    strengths,
)
from latentbits.models.ica_mixture.cluster_updates import infer_hidden

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

    Sources that are switched off are approximated by one Gaussian with their mean and variance. Where cells are
    missing, the density is that of those that are there.
    """
    live = live_sources(clusters)
    if not np.isnan(X).any():
        return _exact(X, clusters, live)
    density = np.zeros((len(clusters.A), len(X)))
    for rows, dimensions in _patterns(X):
        part = of_dimensions(clusters, dimensions)
        density[:, rows] = _exact(X[np.ix_(rows, dimensions)], part, live)
    return density


def _patterns(X: Floats) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Rows that have the same cells, and which those are; rows without any are left out."""
    patterns, which = np.unique(~np.isnan(X), axis=0, return_inverse=True)
    for number, dimensions in enumerate(patterns):
        if dimensions.any():
            yield np.flatnonzero(which.reshape(-1) == number), np.flatnonzero(dimensions)


def _exact(X: Floats, clusters: Clusters, live: np.ndarray) -> Floats:
    mean, variance = clusters.source_moments()
    density = []
    for c, on in enumerate(live):
        A, psi = clusters.A[c], clusters.psi[c]
        # In units of the noise: covariances are then I plus something positive, which is safe to factorise.
        Z = (X - clusters.nu[c] - A[:, ~on] @ mean[c, ~on]) * np.sqrt(psi)
        rest = A[:, ~on] * np.sqrt(np.outer(psi, np.maximum(variance[c, ~on], 0.0)))
        gaussians = clusters.pi_mean[c, on], clusters.phi[c, on], clusters.beta[c, on]
        density.append(_log_density(Z, A[:, on] * np.sqrt(psi)[:, None], rest, *gaussians) + 0.5 * np.log(psi).sum())
    return np.stack(density)


def _log_density(X: Floats, A: Floats, rest: Floats, pi: Floats, phi: Floats, beta: Floats) -> Floats:
    """Log density of A s + rest z + noise, T: s with independent mixtures of Gaussians, z and noise of unit variance.

    K^M Gaussians, one after the other.
    """
    M, K = pi.shape
    total = np.full(len(X), -np.inf)  # of log sum exp, accumulated
    m = np.arange(M)
    with np.errstate(divide="ignore"):
        log_pi = np.log(pi)
    for labels in product(range(K), repeat=M):
        k = list(labels)
        columns = np.hstack([A / np.sqrt(beta[m, k]), rest])
        root = _root(columns)
        white = solve_triangular(root, (X - A @ phi[m, k]).T, lower=True)
        log = log_pi[m, k].sum() - np.log(np.diag(root)).sum() - 0.5 * (white**2).sum(axis=0)
        np.logaddexp(total, log, out=total)
    return total - 0.5 * X.shape[1] * LOG_2PI


def _root(columns: Floats) -> Floats:
    """The Cholesky factor of I + columns columns', N x N; by a QR decomposition if rounding has hidden the I."""
    eye = np.eye(len(columns))
    try:
        return np.asarray(np.linalg.cholesky(eye + columns @ columns.T))
    except np.linalg.LinAlgError:
        upper = np.asarray(np.linalg.qr(np.vstack([columns.T, eye]), mode="r"))
        return np.asarray(upper.T * np.where(np.diag(upper) < 0, -1.0, 1.0))


def bounded_log_density(X: Floats, clusters: Clusters) -> Floats:
    """A lower bound of log p(x | c), averaged over the parameters' posterior, C x T: Q(s) and Q(k) at their optimum."""
    return np.concatenate([_hidden_of(rows, clusters)[1] for rows in _chunks(X)], axis=1)


def source_means(X: Floats, clusters: Clusters) -> Floats:
    """The means of the sources in every cluster, C x T x M."""
    return np.concatenate([_hidden_of(rows, clusters)[0] for rows in _chunks(X)], axis=1)


def unmixed(X: Floats, clusters: Clusters) -> Floats:
    """Sources by the pseudo-inverse of each cluster's A, in units of the noise, C x T x M; 0 where switched off."""
    sources = np.zeros((len(clusters.A), len(X), clusters.A.shape[2]))
    live = live_sources(clusters)
    for rows, dimensions in _patterns(X):
        part = of_dimensions(clusters, dimensions)
        for c, on in enumerate(live):
            size = np.sqrt(part.psi[c])
            centred = (X[np.ix_(rows, dimensions)] - part.nu[c]) * size
            sources[c][np.ix_(rows, on)] = centred @ np.linalg.pinv(part.A[c][:, on] * size[:, None]).T
    return sources


def _chunks(X: Floats) -> list[Floats]:
    return [X[start : start + CHUNK] for start in range(0, len(X), CHUNK)]


def _hidden_of(X: Floats, clusters: Clusters) -> tuple[Floats, Floats]:
    """Means of the sources, and the points' parts of the bound, both at the optimum of Q(s) and Q(k).

    Each point stops by its own convergence, so that its result doesn't depend on the others.
    """
    C, M, _ = clusters.pi.shape
    labels = np.repeat(clusters.pi_mean[:, None], len(X), axis=1)
    mean, value = np.empty((C, len(X), M)), np.full((C, len(X)), -np.inf)
    active = np.ones((C, len(X)), dtype=bool)
    for _ in range(ROUNDS):
        hidden = infer_hidden(X, clusters, labels, active)
        pairs = hidden.owner, hidden.rows
        labels[pairs], mean[pairs] = hidden.labels, hidden.moments[:, 1 : 1 + M]
        active[pairs] = hidden.log_joint - value[pairs] > STEADY
        value[pairs] = hidden.log_joint
        if not active.any():
            break
    return mean, value
