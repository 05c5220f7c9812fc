"""Affine maps of the sources, s -> R (s - shift): A and nu compensate them, so that no likelihood changes.

Rescaling is the paper's (section 2.3). Rotation is our addition: with little noise the rules of Appendix C move A by
steps of the size of the noise, while R can be solved for row by row, the labels Q(k) fixed: maximum likelihood ICA with
mixtures of Gaussians for sources. The priors are not invariant under such maps. Therefore a cluster is mapped only if
its part of the bound, after all rules have been applied, is no lower than without the map.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from latentbits.models.ica_mixture.posterior import Clusters, Floats, Prior
from latentbits.models.ica_mixture.statistics import Statistics, map_statistics
from latentbits.models.ica_mixture.updates import cluster_bounds, update_alpha, update_clusters

__all__ = ["Mapped", "map_clusters", "rescale", "rotate"]


RIDGE = 1e-10
"""Ridge relative to the trace: keeps the systems solvable when sources are almost collinear."""

TINY = 1e-12
"""A source with less variance is not stretched."""


class Mapped(NamedTuple):
    """Clusters after a map, with their sums and their parts of the bound."""

    clusters: Clusters
    stats: Statistics
    R: Floats
    shift: Floats
    bounds: Floats


def rescale(clusters: Clusters, stats: Statistics, prior: Prior) -> Mapped:
    """Map to sources of mean 0 and variance 1; the clusters must be updated with `stats` before."""
    shift, variance = clusters.source_moments()
    variance = np.where(variance > TINY, variance, 1.0)
    scale = 1 / np.sqrt(variance)
    stretched = clusters._replace(
        phi=(clusters.phi - shift[..., None]) * scale[..., None],
        phi_precision=clusters.phi_precision * variance[..., None],
        beta_rate=clusters.beta_rate / variance[..., None],
    )
    return map_clusters(stretched, stats, prior, scale[..., None] * np.eye(scale.shape[1]), shift)


def rotate(clusters: Clusters, stats: Statistics, prior: Prior) -> Mapped:
    """Map to the sources' optimal directions, given the labels and the Gaussians."""
    return map_clusters(clusters, stats, prior, best_directions(clusters, stats), np.zeros(clusters.alpha.shape))


def map_clusters(clusters: Clusters, stats: Statistics, prior: Prior, R: Floats, shift: Floats) -> Mapped:
    """Apply the map, then all update rules; the Gaussians change only by their own rules.

    A map without an inverse is not applied.
    """
    back = inverses(R)
    lost = np.asarray(~np.isfinite(back).all(axis=(1, 2)))
    R, back = (np.where(lost[:, None, None], np.eye(R.shape[1]), matrix) for matrix in (R, back))
    stats = map_statistics(stats, R, shift)
    clusters = clusters._replace(
        A=clusters.A @ back,
        A_cov=np.swapaxes(back, 1, 2)[:, None] @ clusters.A_cov @ back[:, None],
        nu=clusters.nu + (clusters.A @ shift[..., None])[..., 0],
    )
    clusters = update_clusters(update_alpha(clusters, stats, prior), stats, prior)
    return Mapped(clusters, stats, R, shift, cluster_bounds(clusters, stats, prior))


def best_directions(clusters: Clusters, stats: Statistics) -> Floats:
    """Rows R_m in turn, each maximising n log |det R| - R_m W_m R_m' / 2 + R_m v_m, the other rows fixed.

    With c the m-th row of the inverse transpose, the maximum is R_m = W_m^-1 (v_m + tau c), where tau is the positive
    root of tau^2 c W_m^-1 c + tau v_m W_m^-1 c = n.
    """
    beta = clusters.beta
    W = np.einsum("cmk,cmkij->cmij", beta, stats.kss)
    v = np.einsum("cmk,cmki->cmi", beta * clusters.phi, stats.ks)
    M = v.shape[1]
    few = stats.n < M + 1  # too few points to determine directions: these clusters are not rotated
    W[few], v[few] = np.eye(M), 0.0
    W += RIDGE * (1 + np.einsum("cmii->cm", W))[..., None, None] * np.eye(M)
    n = np.maximum(stats.n, 1.0)
    R = np.repeat(np.eye(M)[None], len(v), axis=0)
    for m in range(M):
        c = inverses(R)[:, :, m]
        to_v, to_c = np.moveaxis(np.linalg.solve(W[:, m], np.stack([v[:, m], c], axis=-1)), -1, 0)
        linear, square = (c * to_v).sum(axis=1), (c * to_c).sum(axis=1)
        tau = (np.sqrt(linear**2 + 4 * n * square) - linear) / (2 * square)  # the positive root keeps det R positive
        R[:, m] = to_v + tau[:, None] * to_c
    R[few] = np.eye(M)
    return R


def inverses(R: Floats) -> Floats:
    """The inverse of every matrix, NaN for those that have none."""
    try:
        return np.asarray(np.linalg.inv(R), dtype=np.float64)
    except np.linalg.LinAlgError:
        if len(R) == 1:
            return np.full_like(R, np.nan)
        return np.concatenate([inverses(R[[c]]) for c in range(len(R))])
