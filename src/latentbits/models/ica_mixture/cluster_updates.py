"""Posteriors of the hidden variables, sufficient statistics, and the update rules of the parameters (Appendix C).

The statistics transform in closed form under an affine map of a cluster's sources, so that such maps (rescaling,
rotation) can be tried without another pass over the points.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp

from latentbits.kernels.source_pass import source_pass
from latentbits.models.ica_mixture.cluster_posterior import (
    ENDLESS,
    LOG_2PI,
    Clusters,
    Floats,
    Prior,
    divergences,
    log_mean_dirichlet,
    log_mean_gamma,
    without_sources,
)
from latentbits.numerics import kernel_array


class Hidden(NamedTuple):
    """The posterior of the hidden variables, for P pairs of a point and a cluster, cluster after cluster.

    Only pairs that matter are there: a point has no posterior in a cluster that it can't belong to.
    """

    rows: NDArray[np.intp]  # P: the points
    owner: NDArray[np.intp]  # P: the clusters, rising
    moments: Floats  # P x (1 + M + M (M + 1) / 2): 1, <s>, and the lower triangle of <s s'>
    labels: Floats  # P x M x K: Q(k_mt), which Gaussian made the source
    log_joint: Floats  # P: the point's part of the bound (eq. 15) inside the cluster, without <log rho_c> and log Z_t
    free: Floats  # P: the entropy of Q(s_t) but for a constant, plus the log normalisers of Q(k_t)


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
    # Over the points that have the dimension: on the second axis N, or 1 for all if no cell is missing.
    seen: Floats  # C x N: how many
    seen_s: Floats  # C x N x M: of <s>
    seen_ss: Floats  # C x N x M x M: of <s s'>

    @property
    def own(self) -> tuple[Floats, Floats]:
        """Sums of Q(k_m) <s_m> and of Q(k_m) <s_m^2>, each C x M x K."""
        return np.einsum("cmkm->cmk", self.ks), np.einsum("cmkmm->cmk", self.kss)


def infer_hidden(X: Floats, clusters: Clusters, labels: Floats, wanted: NDArray[np.bool_]) -> Hidden:
    """Q(s_t), Gaussians with full covariance (Appendix C, first rule), and then Q(k_t), from the Q(k_t) given.

    For the points that are `wanted` (C x T) in a cluster. The precisions of their Q(s_t) differ on the diagonal only,
    unless cells are missing (NaN): a point's likelihood is that of the dimensions that it has.
    """
    owner, rows = (kernel_array(index, np.intp) for index in np.nonzero(wanted))
    if np.isnan(X).any():
        return _infer_from_seen(X, clusters, labels, rows, owner)
    psi = clusters.psi
    parts = (clusters.nu, clusters.A, psi, clusters.common_precision, _uncertainty(clusters), *_gaussians(clusters))
    moments, new, misfit, free = source_pass(kernel_array(X), rows, owner, *map(kernel_array, (*parts, labels)))
    M = labels.shape[2]
    log_psi = (log_mean_gamma(clusters.psi_shape, clusters.psi_rate) - LOG_2PI - psi / clusters.nu_precision).sum(
        axis=1
    )
    log_joint = 0.5 * (log_psi[owner] - misfit + M * (1 + LOG_2PI)) + free
    return Hidden(rows, owner, moments, new, log_joint, free)


def _infer_from_seen(
    X: Floats, clusters: Clusters, labels: Floats, rows: NDArray[np.intp], owner: NDArray[np.intp]
) -> Hidden:
    """`infer_hidden` of points with missing cells: each pair has a precision of its own, summed over what is seen."""
    seen = (~np.isnan(X)).astype(np.float64)
    filled = np.where(np.isnan(X), 0.0, X)
    C, N, M = clusters.A.shape
    P, lower = len(rows), np.tril_indices(M)
    moments, misfit, free = np.empty((P, 1 + M + len(lower[0]))), np.empty(P), np.empty(P)
    new = np.empty((P, *labels.shape[2:]))
    psi, (beta, beta_phi, constant) = clusters.psi, _gaussians(clusters)
    of_psi = log_mean_gamma(clusters.psi_shape, clusters.psi_rate) - LOG_2PI - psi / clusters.nu_precision
    log_psi = np.empty(P)
    ends = np.searchsorted(owner, np.arange(C + 1))
    for c in range(C):
        mine = slice(ends[c], ends[c + 1])
        t = rows[mine]
        there, k = seen[t], labels[c, t]
        residual = (filled[t] - clusters.nu[c]) * there
        precision = (there @ (psi[c, :, None] * clusters.A_square[c].reshape(N, -1))).reshape(-1, M, M)
        own = (k * beta[c]).sum(axis=2)
        whole = precision + own[:, :, None] * np.eye(M)
        cov = np.linalg.inv(whole)
        pull = residual @ (psi[c, :, None] * clusters.A[c]) + (k * beta_phi[c]).sum(axis=2)
        mean = np.einsum("tij,tj->ti", cov, pull)
        second = cov + mean[:, :, None] * mean[:, None, :]
        slack = (there @ (psi[c, :, None] * clusters.A_cov[c].reshape(N, -1))).reshape(-1, M, M)
        rest = (residual - mean @ clusters.A[c].T) * there
        misfit[mine] = rest**2 @ psi[c] + np.einsum("ti,tij,tj->t", mean, slack, mean)
        misfit[mine] += np.einsum("tij,tij->t", precision, cov)
        square = np.einsum("tii->ti", second)
        log = constant[c] + beta_phi[c] * mean[..., None] - beta[c] * square[..., None] / 2
        total = logsumexp(log, axis=2)
        new[mine] = np.exp(log - total[..., None])
        free[mine] = total.sum(axis=1) - 0.5 * np.linalg.slogdet(whole)[1]
        moments[mine] = np.hstack([np.ones((len(t), 1)), mean, second[:, lower[0], lower[1]]])
        log_psi[mine] = there @ of_psi[c]
    log_joint = 0.5 * (log_psi - misfit + M * (1 + LOG_2PI)) + free
    return Hidden(rows, owner, moments, new, log_joint, free)


def _uncertainty(clusters: Clusters) -> Floats:
    """<A' Psi A> - <A>' Psi <A>, C x M x M."""
    return np.einsum("cn,cnij->cij", clusters.psi, clusters.A_cov)


def _gaussians(clusters: Clusters) -> tuple[Floats, Floats, Floats]:
    """<beta>, <beta phi>, and the constant of the expected log density of a Gaussian, each C x M x K."""
    beta = clusters.beta
    constant = (
        log_mean_dirichlet(clusters.pi)
        + 0.5 * (log_mean_gamma(clusters.beta_shape, clusters.beta_rate) - LOG_2PI)
        - 0.5 * beta * (clusters.phi**2 + 1 / clusters.phi_precision)
    )
    return beta, beta * clusters.phi, constant


def collect(X: Floats, share: Floats, hidden: Hidden, clusters: Clusters) -> Statistics:
    """The sums over points, weighted by `share` (Q(c_t), C x T). `hidden` must have been inferred from `clusters`."""
    C, N, M = clusters.A.shape
    K = hidden.labels.shape[2]
    weight = share[hidden.owner, hidden.rows]
    ends = np.searchsorted(hidden.owner, np.arange(C + 1))
    by_label = np.empty((C, M * K, hidden.moments.shape[1]))
    xs, x, xx = np.empty((C, N, M)), np.empty((C, N)), np.empty((C, N))
    there = ~np.isnan(X)
    holes = not there.all()
    if holes:
        X = np.where(there, X, 0.0)
    by_seen = np.empty((C, N if holes else 1, hidden.moments.shape[1]))
    for c in range(C):
        mine = slice(ends[c], ends[c + 1])
        w, points, moments = weight[mine], X[hidden.rows[mine]], hidden.moments[mine]
        by_label[c] = (hidden.labels[mine].reshape(-1, M * K) * w[:, None]).T @ moments
        xs[c] = (points * w[:, None]).T @ moments[:, 1 : 1 + M]
        x[c], xx[c] = w @ points, w @ points**2
        if holes:
            by_seen[c] = (there[hidden.rows[mine]] * w[:, None]).T @ moments
    n = np.bincount(hidden.owner, weight, minlength=C).astype(np.float64)
    by_label = by_label.reshape(C, M, K, -1)
    if not holes:
        by_seen[:, 0] = by_label[:, 0].sum(axis=1)
    in_seen = by_seen[..., 0], by_seen[..., 1 : 1 + M], _full(by_seen[..., 1 + M :], M)
    of_labels = by_label[..., 0], by_label[..., 1 : 1 + M], _full(by_label[..., 1 + M :], M)
    stats = Statistics(n, x, xx, xs, *of_labels, n, *in_seen)
    # An entropy of Q(k) is its log normaliser minus the expected log densities, which are linear in the sums.
    (first, second), (beta, beta_phi, constant) = stats.own, _gaussians(clusters)
    expected = (stats.k * constant + first * beta_phi - 0.5 * second * beta).sum(axis=(1, 2))
    free = np.bincount(hidden.owner, weight * hidden.free, minlength=C)
    return stats._replace(entropy=free + 0.5 * n * M * (1 + LOG_2PI) - expected)


def _full(lower: Floats, M: int) -> Floats:
    """Symmetric matrices from their lower triangles, on the last axis."""
    place = np.zeros((M, M), dtype=np.intp)
    place[np.tril_indices(M)] = np.arange(lower.shape[-1])
    full: Floats = lower[..., np.maximum(place, place.T)]
    return full


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
        seen_s=(stats.seen_s - stats.seen[..., None] * shift[:, None]) @ R_back,
        seen_ss=R[:, None] @ _centred(stats, shift) @ R_back[:, None],
        entropy=stats.entropy + stats.n * np.linalg.slogdet(R)[1],
    )


def _centred(stats: Statistics, shift: Floats) -> Floats:
    """`seen_ss` of s - shift."""
    by_point = shift[:, None]
    cross = stats.seen_s[..., :, None] * by_point[..., None, :]
    square = stats.seen[..., None, None] * (by_point[..., :, None] * by_point[..., None, :])
    return np.asarray(stats.seen_ss - cross - np.swapaxes(cross, -1, -2) + square)


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
    which is positive whatever the sources are. (With missing cells every row has a <s s'> of its own.)
    """
    psi, size = clusters.psi, 1 / np.sqrt(clusters.alpha)[:, None]
    values, vectors = np.linalg.eigh(stats.seen_ss * size[..., :, None] * size[..., None, :])
    axes = size[..., None] * vectors
    shrunk = 1 / (psi[..., None] * np.maximum(values, 0.0) + 1)
    A_cov = (axes * shrunk[:, :, None]) @ np.swapaxes(axes, 2, 3)
    pull = psi[..., None] * (stats.xs - clusters.nu[..., None] * stats.seen_s)
    return clusters._replace(A=(A_cov @ pull[..., None])[..., 0], A_cov=A_cov)


def update_nu(clusters: Clusters, stats: Statistics, prior: Prior) -> Clusters:
    """Q(nu)."""
    psi = clusters.psi
    precision = prior.nu_precision + stats.seen * psi
    return clusters._replace(nu=psi * (stats.x - _As(clusters, stats)) / precision, nu_precision=precision)


def update_psi(clusters: Clusters, stats: Statistics, prior: Prior) -> Clusters:
    """Q(Psi)."""
    shape = prior.psi_shape + 0.5 * stats.seen
    return clusters._replace(
        psi_shape=np.broadcast_to(shape, clusters.nu.shape).copy(),
        psi_rate=prior.psi_rate + 0.5 * _residual(clusters, stats),
    )


def update_alpha(clusters: Clusters, stats: Statistics, prior: Prior) -> Clusters:
    """Q(alpha)."""
    C, N, M = clusters.A.shape
    square = (clusters.A**2).sum(axis=1) + np.einsum("cnmm->cm", clusters.A_cov)
    shape, rate = np.full((C, M), prior.alpha_shape + 0.5 * N), prior.alpha_rate + 0.5 * square
    absent = clusters.absent
    return clusters._replace(alpha_shape=np.where(absent, ENDLESS, shape), alpha_rate=np.where(absent, 1.0, rate))


RULES = (update_pi, update_phi, update_beta, update_A, update_nu, update_psi, update_alpha)


def update_clusters(clusters: Clusters, stats: Statistics, prior: Prior) -> Clusters:
    """Apply all rules in turn; none of them lowers `cluster_bounds`. There is nothing to learn of absent sources."""
    absent = clusters.absent
    for rule in RULES:
        clusters = rule(clusters, stats, prior)
    return without_sources(clusters, absent) if absent.any() else clusters


def cluster_bounds(clusters: Clusters, stats: Statistics, prior: Prior) -> Floats:
    """Each cluster's part of the bound, C: all terms of its parameters and of the hidden variables inside it.

    The whole bound is their sum plus the terms of Q(c_t) and Q(rho).
    """
    log_beta = log_mean_gamma(clusters.beta_shape, clusters.beta_rate)
    log_psi = log_mean_gamma(clusters.psi_shape, clusters.psi_rate)
    sources = stats.k * (log_mean_dirichlet(clusters.pi) + 0.5 * (log_beta - LOG_2PI))
    sources -= 0.5 * clusters.beta * _spread(clusters, stats)
    noise = stats.seen * (log_psi - LOG_2PI) - clusters.psi * _residual(clusters, stats)
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
        + stats.seen * (clusters.nu**2 + 1 / clusters.nu_precision)
        - 2 * (clusters.A * stats.xs).sum(axis=2)
        + (clusters.A_square * stats.seen_ss).sum(axis=(2, 3))
    )
    return np.maximum(residual, 0.0)  # below 0 by rounding only


def _As(clusters: Clusters, stats: Statistics) -> Floats:
    """A times the sum of <s>, C x N."""
    return np.asarray((clusters.A * stats.seen_s).sum(axis=2))
