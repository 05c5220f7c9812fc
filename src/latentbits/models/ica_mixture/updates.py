"""Update rules of the clusters' parameters (Appendix C), from the statistics of the points."""

from __future__ import annotations

import numpy as np

from latentbits.models.ica_mixture.posterior import (
    LOG_2PI,
    Clusters,
    Floats,
    Prior,
    divergences,
    log_mean_dirichlet,
    log_mean_gamma,
)
from latentbits.models.ica_mixture.statistics import Statistics

__all__ = ["RULES", "cluster_bounds", "update_clusters"]


def update_pi(clusters: Clusters, stats: Statistics, prior: Prior) -> Clusters:
    """Q(pi)."""
    return clusters._replace(pi=prior.pi + stats.k)


def update_phi(clusters: Clusters, stats: Statistics, prior: Prior) -> Clusters:
    """Q(phi)."""
    precision = prior.phi_precision + stats.k * clusters.beta
    return clusters._replace(phi=clusters.beta * stats.own[0] / precision, phi_precision=precision)


def update_beta(clusters: Clusters, stats: Statistics, prior: Prior) -> Clusters:
    """Q(beta)."""
    return clusters._replace(
        beta_shape=prior.beta_shape + 0.5 * stats.k, beta_rate=prior.beta_rate + 0.5 * _spread(clusters, stats)
    )


def update_A(clusters: Clusters, stats: Statistics, prior: Prior) -> Clusters:
    """Q(A), row by row of A: the covariance of row n is the inverse of psi_n <s s'> + Diag(alpha).

    One decomposition D <s s'> D = V L V', with D = Diag(alpha)^-1/2, gives all of them as D V (psi_n L + 1)^-1 V' D,
    which is positive whatever the sources are.
    """
    psi, size = clusters.psi, 1 / np.sqrt(clusters.alpha)
    values, vectors = np.linalg.eigh(stats.ss * size[:, :, None] * size[:, None, :])
    axes = size[..., None] * vectors
    shrunk = 1 / (psi[..., None] * np.maximum(values, 0.0)[:, None] + 1)
    A_cov = (axes[:, None] * shrunk[:, :, None]) @ np.swapaxes(axes, 1, 2)[:, None]
    pull = psi[..., None] * (stats.xs - clusters.nu[..., None] * stats.s[:, None])
    return clusters._replace(A=(A_cov @ pull[..., None])[..., 0], A_cov=A_cov)


def update_nu(clusters: Clusters, stats: Statistics, prior: Prior) -> Clusters:
    """Q(nu)."""
    psi = clusters.psi
    precision = prior.nu_precision + stats.n[:, None] * psi
    return clusters._replace(nu=psi * (stats.x - _As(clusters, stats)) / precision, nu_precision=precision)


def update_psi(clusters: Clusters, stats: Statistics, prior: Prior) -> Clusters:
    """Q(Psi)."""
    shape = prior.psi_shape + 0.5 * stats.n[:, None]
    return clusters._replace(
        psi_shape=np.repeat(shape, clusters.nu.shape[1], axis=1),
        psi_rate=prior.psi_rate + 0.5 * _residual(clusters, stats),
    )


def update_alpha(clusters: Clusters, stats: Statistics, prior: Prior) -> Clusters:
    """Q(alpha)."""
    C, N, M = clusters.A.shape
    square = (clusters.A**2).sum(axis=1) + np.einsum("cnmm->cm", clusters.A_cov)
    return clusters._replace(
        alpha_shape=np.full((C, M), prior.alpha_shape + 0.5 * N), alpha_rate=prior.alpha_rate + 0.5 * square
    )


RULES = (update_pi, update_phi, update_beta, update_A, update_nu, update_psi, update_alpha)


def update_clusters(clusters: Clusters, stats: Statistics, prior: Prior) -> Clusters:
    """Apply all rules in turn; none of them lowers `cluster_bounds`."""
    for rule in RULES:
        clusters = rule(clusters, stats, prior)
    return clusters


def cluster_bounds(clusters: Clusters, stats: Statistics, prior: Prior) -> Floats:
    """Each cluster's part of the bound, C: all terms of its parameters and of the hidden variables inside it.

    The whole bound is their sum plus the terms of Q(c_t) and Q(rho).
    """
    log_beta = log_mean_gamma(clusters.beta_shape, clusters.beta_rate)
    log_psi = log_mean_gamma(clusters.psi_shape, clusters.psi_rate)
    sources = stats.k * (log_mean_dirichlet(clusters.pi) + 0.5 * (log_beta - LOG_2PI))
    sources -= 0.5 * clusters.beta * _spread(clusters, stats)
    noise = stats.n[:, None] * (log_psi - LOG_2PI) - clusters.psi * _residual(clusters, stats)
    expected = sources.sum(axis=(1, 2)) + 0.5 * noise.sum(axis=1)
    return expected + stats.entropy - divergences(clusters, prior)


def _spread(clusters: Clusters, stats: Statistics) -> Floats:
    """Sums of Q(k_m) <(s_m - phi_mk)^2>, C x M x K."""
    first, second = stats.own
    spread = second - 2 * clusters.phi * first + stats.k * (clusters.phi**2 + 1 / clusters.phi_precision)
    return np.maximum(spread, 0.0)  # below 0 by rounding only


def _residual(clusters: Clusters, stats: Statistics) -> Floats:
    """Sums of <(x_n - A_n s - nu_n)^2>, C x N."""
    residual = (
        stats.xx
        - 2 * clusters.nu * (stats.x - _As(clusters, stats))
        + stats.n[:, None] * (clusters.nu**2 + 1 / clusters.nu_precision)
        - 2 * (clusters.A * stats.xs).sum(axis=2)
        + np.einsum("cnij,cij->cn", clusters.A_square, stats.ss)
    )
    return np.maximum(residual, 0.0)  # below 0 by rounding only


def _As(clusters: Clusters, stats: Statistics) -> Floats:
    """A times the sum of <s>, C x N."""
    return (clusters.A @ stats.s[..., None])[..., 0]
