"""How sure an ICA mixture is: spreads of its parameters, and clusters between which there is no gap.

The variational posterior takes A, nu, Psi and the sources as independent of each other, so that its spreads are too
narrow. The bootstrap's are not: the fit is continued on rows drawn again, without structural moves.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.stats import gaussian_kde

from latentbits.models.ica_mixture.cluster_posterior import Clusters, Floats, Prior
from latentbits.models.ica_mixture.cluster_updates import infer_hidden
from latentbits.models.ica_mixture.passes import State, Switches, responsibilities, sweep

SETTLING = 3  # passes by which the hidden variables of drawn rows are found, the clusters fixed
MOST_PASSES = 30
STEADY = 1e-5  # rise of the bound per cell and pass that ends a refit
GRID = 100
FEWEST = 5  # rows of a cluster for a density


class Spreads(NamedTuple):
    """Standard deviations, for standardised data.

    effects : C x N x M, of A times the sources' standard deviations    centres : C x N, of nu + A times their means
    log_noise : C x N, of its log variance
    """

    effects: Floats
    centres: Floats
    log_noise: Floats


def effects_of(clusters: Clusters) -> Floats:
    """What a standard deviation of each source adds: unlike A it doesn't depend on the scale that a source has."""
    return np.asarray(clusters.A * np.sqrt(clusters.source_moments()[1])[:, None])


def centres_of(clusters: Clusters) -> Floats:
    """The clusters' means, C x N."""
    return np.asarray(clusters.nu + (clusters.A @ clusters.source_moments()[0][..., None])[..., 0])


def posterior_spreads(clusters: Clusters) -> Spreads:
    """Those of the variational posterior; the variance of the log of a Gamma is about one over its shape."""
    mean, variance = clusters.source_moments()
    entries = np.einsum("cnmm->cnm", clusters.A_cov)
    centres = 1 / clusters.nu_precision + np.einsum("cm,cnmk,ck->cn", mean, clusters.A_cov, mean)
    return Spreads(np.sqrt(entries * variance[:, None]), np.sqrt(centres), 1 / np.sqrt(clusters.psi_shape))


def bootstrap_spreads(
    X: Floats, clusters: Clusters, rho: Floats, prior: Prior, n_draws: int, rng: np.random.Generator
) -> Spreads:
    """Those of refits to rows drawn again, each from where the fit has ended."""
    found = [_refit(X[rng.integers(len(X), size=len(X))], clusters, rho, prior) for _ in range(n_draws)]
    of_each = [(effects_of(one), centres_of(one), np.log(one.psi)) for one in found]
    return Spreads(*(np.std(draws, axis=0, ddof=1) for draws in zip(*of_each, strict=True)))


def _refit(X: Floats, clusters: Clusters, rho: Floats, prior: Prior) -> Clusters:
    C, T = len(clusters.A), len(X)
    labels = np.repeat(clusters.pi_mean[:, None], T, axis=1)
    for _ in range(SETTLING):
        hidden = infer_hidden(X, clusters, labels, np.ones((C, T), dtype=bool))
        labels = hidden.labels.reshape(labels.shape)
    log_joint = hidden.log_joint.reshape(C, T)
    share = responsibilities(log_joint, rho)
    nothing = np.full(C, -np.inf)
    state = State(clusters, clusters, np.ones(C), labels, log_joint, share, rho, nothing, np.arange(C))
    last, rise = -np.inf, STEADY * float(np.sum(~np.isnan(X)))
    for number in range(MOST_PASSES):
        state, bound, _ = sweep(X, state, prior, Switches(), free=number % 2 == 0)
        if number % 2 == 0:
            if bound - last < 2 * rise:
                break
            last = bound
    return state.clusters


def valley_between(X: Floats, first: np.ndarray, second: np.ndarray) -> tuple[float, Floats]:
    """How deep the rows' density falls between two clusters, and the direction that separates them best.

    Rows are projected on Fisher's direction; the number is the lowest density between the two clusters' medians, over
    the lower one at these: about 1 where one cluster goes on into the other, and 0 where there is a gap.
    """
    rows = np.vstack([X[first], X[second]])
    centres = X[first].mean(axis=0), X[second].mean(axis=0)
    parts = [np.cov(X[part].T, bias=True).reshape(X.shape[1], -1) * len(part) for part in (first, second)]
    within = parts[0] + parts[1]
    ridge = 1e-3 * np.trace(within) / len(within) + 1e-12
    direction = np.linalg.solve(within + ridge * np.eye(len(within)), centres[1] - centres[0])
    direction /= np.linalg.norm(direction)
    if min(len(first), len(second)) < FEWEST:
        return 0.0, direction
    ends = sorted(float(np.median(X[part] @ direction)) for part in (first, second))
    if ends[1] - ends[0] < 1e-9:
        return 1.0, direction
    density = gaussian_kde(rows @ direction)(np.linspace(ends[0], ends[1], GRID))
    return float(min(1.0, density.min() / max(min(density[0], density[-1]), 1e-300))), direction
