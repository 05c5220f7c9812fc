"""The posterior of the points' hidden variables, and the sufficient statistics of the parameters' update rules.

The statistics transform in closed form under an affine map of a cluster's sources, so that such maps (rescaling,
rotation) can be tried without another pass over the points.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from latentbits.kernels.arrays import kernel_array
from latentbits.kernels.source_pass import label_pass, source_pass
from latentbits.models.ica_mixture.posterior import (
    LOG_2PI,
    Clusters,
    Floats,
    log_mean_dirichlet,
    log_mean_gamma,
)

__all__ = ["Hidden", "Statistics", "collect", "infer_hidden", "map_statistics", "settle"]


class Hidden(NamedTuple):
    """The posterior of the hidden variables of all points in all clusters."""

    mean: Floats  # C x T x M, of the sources
    cov: Floats  # C x T x M x M
    entropy: Floats  # C x T: of Q(s_t)
    labels: Floats  # C x T x M x K: Q(k_mt), which Gaussian made the source


class Statistics(NamedTuple):
    """Sums over the points of each cluster, weighted by Q(c_t)."""

    n: Floats  # C
    x: Floats  # C x N: of x
    xx: Floats  # C x N: of x^2
    xs: Floats  # C x N x M: of x <s'>
    k: Floats  # C x M x K: of Q(k_m)
    ks: Floats  # C x M x K x M: of Q(k_m) <s>
    kss: Floats  # C x M x K x M x M: of Q(k_m) <s s'>
    entropy: Floats  # C: of the entropies of Q(s_t) and Q(k_t)

    @property
    def s(self) -> Floats:
        """Sum of <s>, C x M."""
        return self.ks[:, 0].sum(axis=1)

    @property
    def ss(self) -> Floats:
        """Sum of <s s'>, C x M x M."""
        return self.kss[:, 0].sum(axis=1)

    @property
    def own(self) -> tuple[Floats, Floats]:
        """Sums of Q(k_m) <s_m> and of Q(k_m) <s_m^2>, each C x M x K."""
        return np.einsum("cmkm->cmk", self.ks), np.einsum("cmkmm->cmk", self.kss)


def infer_hidden(X: Floats, clusters: Clusters, labels: Floats) -> Hidden:
    """Q(s_t), Gaussians with full covariance (Appendix C, first rule), and then Q(k_t), from the Q(k_t) given.

    The precisions of the points' Q(s_t) differ on the diagonal only.
    """
    pull = (X - clusters.nu[:, None]) @ np.swapaxes(clusters.pull, 1, 2)
    given = kernel_array(labels)
    mean, cov, log_det, labels = source_pass(pull, clusters.common_precision, *_gaussians(clusters), given)
    return Hidden(mean, cov, 0.5 * (log_det + mean.shape[2] * (1 + LOG_2PI)), labels)


def settle(X: Floats, clusters: Clusters, hidden: Hidden, R: Floats, shift: Floats) -> tuple[Floats, Floats]:
    """Q(k_t) (C x T x M x K) of the sources R (s - shift), and each point's part of the bound in each cluster (C x T).

    The latter is eq. 15 without <log rho_c> and log Z_t. R is C x M x M, shift C x M.
    """
    C, T, M = hidden.mean.shape
    flat = hidden.cov.reshape(C, T, M * M)
    R_back = np.swapaxes(R, 1, 2)
    mean = (hidden.mean - shift[:, None]) @ R_back
    variance = flat @ np.swapaxes((R[..., :, None] * R[..., None, :]).reshape(C, M, M * M), 1, 2)
    labels, log_z = label_pass(mean, variance, *_gaussians(clusters))
    psi, common = clusters.psi, clusters.common_precision
    residual = X - clusters.nu[:, None]
    noise = (
        (residual**2 @ psi[..., None])[..., 0]
        + (psi / clusters.nu_precision).sum(axis=1)[:, None]
        + np.einsum("ctm,ctm->ct", mean, mean @ common - 2 * residual @ np.swapaxes(clusters.pull, 1, 2))
        + (flat @ (R_back @ common @ R).reshape(C, M * M, 1))[..., 0]
    )
    log_psi = (log_mean_gamma(clusters.psi_shape, clusters.psi_rate) - LOG_2PI).sum(axis=1)
    entropy = hidden.entropy + np.linalg.slogdet(R)[1][:, None]
    return labels, 0.5 * (log_psi[:, None] - noise) + entropy + log_z


def _gaussians(clusters: Clusters) -> tuple[Floats, Floats, Floats]:
    """<beta>, <beta phi>, and the constant of the expected log density of a Gaussian, each C x M x K."""
    beta = clusters.beta
    constant = (
        log_mean_dirichlet(clusters.pi)
        + 0.5 * (log_mean_gamma(clusters.beta_shape, clusters.beta_rate) - LOG_2PI)
        - 0.5 * beta * (clusters.phi**2 + 1 / clusters.phi_precision)
    )
    return beta, beta * clusters.phi, constant


def collect(X: Floats, weight: Floats, hidden: Hidden) -> Statistics:
    """The sums over points, weighted by `weight` (Q(c_t), C x T)."""
    mean, cov, entropy, labels = hidden
    C, T, M, K = labels.shape
    weighted = np.swapaxes((labels * weight[..., None, None]).reshape(C, T, M * K), 1, 2)
    second = (cov + mean[..., :, None] * mean[..., None, :]).reshape(C, T, M * M)
    surprise = np.log(labels, out=np.zeros_like(labels), where=labels > 0)  # 0 log 0 = 0
    of_labels = (np.swapaxes(weighted, 1, 2) * surprise.reshape(C, T, M * K)).sum(axis=(1, 2))
    return Statistics(
        n=weight.sum(axis=1),
        x=weight @ X,
        xx=weight @ X**2,
        xs=X.T @ (weight[..., None] * mean),
        k=weighted.sum(axis=2).reshape(C, M, K),
        ks=(weighted @ mean).reshape(C, M, K, M),
        kss=(weighted @ second).reshape(C, M, K, M, M),
        entropy=(weight * entropy).sum(axis=1) - of_labels,
    )


def map_statistics(stats: Statistics, R: Floats, shift: Floats) -> Statistics:
    """The sums for sources R (s - shift), R C x M x M and shift C x M, with Q(k) as it was."""
    R_back = np.swapaxes(R, 1, 2)
    by_label = shift[:, None, None]
    cross = stats.ks[..., :, None] * by_label[..., None, :]
    centred = stats.kss - cross - np.swapaxes(cross, -1, -2)
    centred += stats.k[..., None, None] * (by_label[..., :, None] * by_label[..., None, :])
    return stats._replace(
        xs=(stats.xs - stats.x[..., None] * shift[:, None]) @ R_back,
        ks=(stats.ks - stats.k[..., None] * by_label) @ R_back[:, None],
        kss=R[:, None, None] @ centred @ R_back[:, None, None],
        entropy=stats.entropy + stats.n * np.linalg.slogdet(R)[1],
    )
