"""Starts: points assigned to clusters, and clusters estimated from their points."""

from __future__ import annotations

import numpy as np

from latentbits.models.ica_mixture.learner import State
from latentbits.models.ica_mixture.posterior import Clusters, Floats, Prior

__all__ = ["nearest_centres", "spread_gaussians", "start_clusters", "start_state"]

LLOYD = 5
"""Rounds of k-means at the start; few, because starts should differ rather than be the best partition."""

BETWEEN = 2 / 3
"""The part of a source's variance between its Gaussians at the start."""

NOISE = 1e-3
"""Noise variance at the start, as a part of a cluster's: small, because its estimate rises at once but falls slowly."""


def start_state(
    X: Floats, share: Floats, n_sources: int, n_gaussians: int, prior: Prior, rng: np.random.Generator
) -> State:
    """A start from given Q(c_t), C x T."""
    clusters = start_clusters(X, share, n_sources, n_gaussians, prior, rng)
    labels = np.full((*share.shape, n_sources, n_gaussians), 1 / n_gaussians)
    C, rho = len(share), prior.rho + share.sum(axis=1)
    return State(
        clusters, clusters, np.ones(C), labels, np.zeros(share.shape), share, rho, np.full(C, -np.inf), np.arange(C)
    )


def nearest_centres(X: Floats, n_clusters: int, rng: np.random.Generator) -> Floats:
    """Each point in the cluster of its nearest centre, C x T; centres by k-means++ and a few rounds of k-means.

    Fewer clusters come out if there are fewer different points.
    """
    centres = X[[rng.integers(len(X))]]
    nearest = ((X - centres[0]) ** 2).sum(axis=1)
    while len(centres) < n_clusters and nearest.max() > 0:
        new = X[rng.choice(len(X), p=nearest / nearest.sum())]
        centres = np.vstack([centres, new])
        nearest = np.minimum(nearest, ((X - new) ** 2).sum(axis=1))
    for _ in range(LLOYD):
        distance = (centres**2).sum(axis=1) - 2 * X @ centres.T
        share = np.eye(len(centres))[distance.argmin(axis=1)].T
        share = share[share.any(axis=1)]  # clusters that lost all points are dropped
        centres = (share @ X) / share.sum(axis=1)[:, None]
    return share


def start_clusters(
    X: Floats, share: Floats, n_sources: int, n_gaussians: int, prior: Prior, rng: np.random.Generator
) -> Clusters:
    """Clusters at their points' means, A spanning the points' leading directions, turned at random."""
    C, N, M, K = len(share), X.shape[1], n_sources, n_gaussians
    n = share.sum(axis=1)[:, None]
    nu = share @ X / n
    square = np.stack([(X * weight[:, None]).T @ X for weight in share]) / n[..., None]
    # The last term keeps the noise variance below positive where a cluster has no extent.
    covariance = square - nu[:, :, None] * nu[:, None, :] + NOISE**2 * np.eye(N)
    values, vectors = np.linalg.eigh(covariance)
    directions = vectors * np.sqrt(np.maximum(values, 0))[:, None]
    leading = np.zeros((C, N, M))
    leading[..., : min(M, N)] = directions[..., ::-1][..., :M]
    A = leading @ np.linalg.qr(rng.normal(size=(C, M, M)))[0]
    noise = NOISE * np.einsum("cnn->cn", covariance)
    phi, beta = spread_gaussians(K)
    by_gaussian = np.broadcast_to(n[..., None] / K, (C, M, K))
    # Shapes as after an update by these points; rates such that the mean precisions are 1 / noise and beta.
    return Clusters(
        A=A,
        A_cov=np.broadcast_to((noise / n)[..., None, None] * np.eye(M), (C, N, M, M)),
        alpha_shape=np.full((C, M), prior.alpha_shape + 0.5 * N),
        alpha_rate=prior.alpha_rate + 0.5 * (A**2).sum(axis=1),
        nu=nu,
        nu_precision=prior.nu_precision + n / noise,
        psi_shape=np.broadcast_to(prior.psi_shape + 0.5 * n, (C, N)),
        psi_rate=(prior.psi_shape + 0.5 * n) * noise,
        pi=prior.pi + by_gaussian,
        phi=np.broadcast_to(phi, (C, M, K)),
        phi_precision=prior.phi_precision + by_gaussian * beta,
        beta_shape=prior.beta_shape + 0.5 * by_gaussian,
        beta_rate=(prior.beta_shape + 0.5 * by_gaussian) / beta,
    )


def spread_gaussians(n_gaussians: int) -> tuple[Floats, float]:
    """Means and precision of equal Gaussians, evenly spread, that together have mean 0 and variance 1."""
    if n_gaussians == 1:
        return np.zeros(1), 1.0
    phi = np.linspace(-1.0, 1.0, n_gaussians)
    return phi * np.sqrt(BETWEEN / np.mean(phi**2)), 1 / (1 - BETWEEN)
