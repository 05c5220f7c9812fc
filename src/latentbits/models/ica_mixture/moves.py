"""Structural moves (section 2.3): splitting clusters, respreading collapsed sources, deleting clusters.

Each makes a new state from an old one without regard to the bound; `Run` decides whether a move is kept.
"""

from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp

from latentbits.models.ica_mixture import SplitIndex
from latentbits.models.ica_mixture.cluster_posterior import (
    Clusters,
    Floats,
    Prior,
    divergences,
    live_sources,
    log_mean_dirichlet,
    spread_gaussians,
    take,
    without_sources,
)
from latentbits.models.ica_mixture.passes import State, responsibilities

DISTANCE = 5.0
"""Two neighbouring Gaussians of a source are separate if their distance J is above this (section 2.3)."""

VALLEY = 0.2
"""Two peaks are separate if the density between them falls to this part of the lower one, or less (section 2.3)."""

MINORITY = 0.05
"""A hump counts as a cluster of its own (`hidden_clusters`) if it has this share of its source's points, or more."""

ALIVE = 0.01
"""A Gaussian with a smaller share of a source's points counts as dead."""

TAKEN = 0.9
"""The part of a dimension's noise variance that a revived source explains."""

GRID = 200

OF_GAUSSIANS = ("pi", "phi", "phi_precision", "beta_shape", "beta_rate")


class Cut(NamedTuple):
    """A bimodal source: the cluster, the source, and which of its Gaussians lie above the gap."""

    cluster: int
    source: int
    upper: np.ndarray


def find_cuts(clusters: Clusters, index: SplitIndex = "normalised") -> list[Cut]:
    """The widest gap of every source that has one, by distance J or by a valley of its density."""
    cuts = []
    for c, m in np.ndindex(clusters.alpha.shape):
        gaussians = clusters.pi_mean[c, m], clusters.phi[c, m], clusters.beta[c, m]
        place = _widest_distance(*gaussians, index)
        # Overlapping Gaussians may still leave a valley, which J doesn't see.
        place = _deepest_valley(*gaussians) if place is None else place
        if place is not None:
            cuts.append(Cut(c, m, clusters.phi[c, m] > place))
    return cuts


def hidden_clusters(clusters: Clusters) -> list[tuple[Cut, float]]:
    """Sources with two humps, each with the share of the cluster's points in the smaller one.

    By the valley alone: Gaussians that are far apart for their width (J) make peaks and tails as well as humps.
    """
    found = []
    live = live_sources(clusters)
    for c, m in np.argwhere(live):
        pi, phi = clusters.pi_mean[c, m], clusters.phi[c, m]
        place = _deepest_valley(pi, phi, clusters.beta[c, m])
        if place is not None:
            upper = np.asarray(phi > place)
            smaller = min(float(pi[upper].sum()), float(pi[~upper].sum()))
            if smaller >= MINORITY:
                found.append((Cut(int(c), int(m), upper), smaller))
    return found


def _widest_distance(pi: Floats, phi: Floats, beta: Floats, index: SplitIndex) -> float | None:
    """Where neighbouring Gaussians are furthest apart, if J = |phi - phi'| sqrt(pi beta + pi' beta') exceeds the limit.

    The weights are normalised in the pair, so that J doesn't depend on how many other Gaussians there are; with
    "published" they aren't, as section 2.3 prints it.
    """
    order = np.argsort(phi)
    order = order[pi[order] > ALIVE]  # a Gaussian without points may be anywhere
    low, high = order[:-1], order[1:]
    if len(low) == 0:
        return None
    spread = pi[low] * beta[low] + pi[high] * beta[high]
    if index == "normalised":
        spread = spread / (pi[low] + pi[high])
    J = (phi[high] - phi[low]) * np.sqrt(spread)
    best = int(np.argmax(J))
    return float(phi[low[best]] + phi[high[best]]) / 2 if J[best] > DISTANCE else None


def _deepest_valley(pi: Floats, phi: Floats, beta: Floats) -> float | None:
    """The bottom of the deepest valley between peaks of the density, if it is deep enough."""
    mean = float(pi @ phi)
    sd = max(float(pi @ (phi**2 + 1 / beta)) - mean**2, 0.0) ** 0.5
    grid = mean + sd * np.linspace(-5, 5, GRID)
    density = source_densities(pi, phi, beta, grid).sum(axis=1)
    inner = density[1:-1]
    peaks = np.flatnonzero((inner > density[:-2]) & (inner >= density[2:])) + 1
    best, place = VALLEY, None
    for left, right in pairwise(peaks):
        bottom = left + int(np.argmin(density[left : right + 1]))
        depth = density[bottom] / min(density[left], density[right])
        if depth <= best:
            best, place = depth, float(grid[bottom])
    return place


def source_densities(pi: Floats, phi: Floats, beta: Floats, grid: Floats) -> Floats:
    """The weighted density of each Gaussian of one source on a grid, len(grid) x K."""
    return pi * np.sqrt(beta / (2 * np.pi)) * np.exp(-0.5 * beta * (grid[:, None] - phi) ** 2)


def split(state: State, cut: Cut, prior: Prior) -> State:
    """The cluster as two with the same A, each with the points on its side of the gap; the second one comes last."""
    c, m = cut.cluster, cut.source
    above = state.labels[c, :, m][:, cut.upper].sum(axis=1)
    twice = np.append(np.arange(len(state.rho)), c)
    share = state.share[twice]
    share[-1] *= above
    share[c] *= 1 - above
    state = _restructured(state, twice, share, prior)
    pi, phi, beta = (array[c, m] for array in (state.clusters.pi_mean, state.clusters.phi, state.clusters.beta))
    for child, side in ((c, ~cut.upper), (len(twice) - 1, cut.upper)):
        weight = pi[side] / pi[side].sum()
        mean = float(weight @ phi[side])
        within = float(weight @ (1 / beta[side]))
        variance = max(float(weight @ (phi[side] ** 2 + 1 / beta[side])) - mean**2, within)  # less by rounding only
        state = respread(state, child, m, mean, variance)
    return state


def collapsed_sources(clusters: Clusters) -> list[tuple[int, int]]:
    """Cluster and number of the sources that have one Gaussian left of several."""
    if clusters.pi.shape[2] == 1:
        return []
    collapsed = (clusters.pi_mean > ALIVE).sum(axis=2) == 1
    return [(int(c), int(m)) for c, m in np.argwhere(collapsed & live_sources(clusters))]


def reinitialise(state: State, c: int, m: int) -> State:
    """A source with all its Gaussians spread out again, with the same mean and variance; A is unchanged."""
    mean, variance = state.clusters.source_moments()
    return respread(state, c, m, float(mean[c, m]), float(variance[c, m]))


def dead_sources(clusters: Clusters) -> list[tuple[int, int]]:
    """The first source that is switched off, of every cluster that has one: cluster and number."""
    dead = ~live_sources(clusters)
    return [(int(c), int(dead[c].argmax())) for c in np.flatnonzero(dead.any(axis=1))]


def drop_sources(state: State, clusters: list[int]) -> State:
    """Some clusters without the sources that are switched off in them."""
    which = unneeded_sources(state.clusters)
    which &= np.isin(np.arange(len(which)), clusters)[:, None]
    new = without_sources(state.clusters, which)
    labels = np.where(which[:, None, :, None], 1 / state.labels.shape[3], state.labels)
    return state._replace(clusters=new, earlier=new, labels=labels, heights=np.full(len(new.A), -np.inf))


def unneeded_sources(clusters: Clusters) -> NDArray[np.bool_]:
    """Sources that are switched off, but that the clusters still have, C x M."""
    return ~live_sources(clusters) & ~clusters.absent


def revive(state: State, c: int, m: int) -> State:
    """A source that is switched off is made to explain most of the noise of the noisiest dimension."""
    fields = ("A", "A_cov", "alpha_shape", "alpha_rate", "psi_rate", "pi")
    new = state.clusters._replace(**{name: getattr(state.clusters, name).copy() for name in fields})
    n = int(np.argmin(new.psi[c]))
    variance = 1 / new.psi[c, n]
    new.A[c, :, m] = 0
    new.A[c, n, m] = np.sqrt(TAKEN * variance)
    new.A_cov[c, :, m] = new.A_cov[c, :, :, m] = 0
    new.A_cov[c, :, m, m] = variance / max(float(state.share[c].sum()), 1.0)
    new.alpha_shape[c, m] = 0.5 * new.A.shape[1]
    new.alpha_rate[c, m] = new.alpha_shape[c, m] * TAKEN * variance
    new.pi[c, m] = state.share[c].sum() / new.pi.shape[2]
    new.psi_rate[c, n] *= 1 - TAKEN
    return respread(state._replace(clusters=new), c, m, 0.0, 1.0)


def respread(state: State, c: int, m: int, mean: float, variance: float) -> State:
    """Source m of cluster c as equal Gaussians, spread over a mean and a variance."""
    new = state.clusters._replace(**{name: getattr(state.clusters, name).copy() for name in OF_GAUSSIANS})
    labels = state.labels.copy()
    K = labels.shape[3]
    spread, precision = spread_gaussians(K)
    n = new.pi[c, m].sum() / K
    precision /= variance
    new.pi[c, m] = n
    new.phi[c, m] = mean + np.sqrt(variance) * spread
    new.phi_precision[c, m] = 1 + n * precision
    new.beta_shape[c, m] = 1 + n / 2
    new.beta_rate[c, m] = (1 + n / 2) / precision
    labels[c, :, m] = 1 / K
    # earlier=new: a direction of over-relaxation across the change would be meaningless.
    return state._replace(clusters=new, earlier=new, labels=labels, heights=np.full(len(new.A), -np.inf))


def deletion_order(state: State, prior: Prior) -> list[int]:
    """Clusters by the gain of the bound without them, largest first, if the other clusters were unchanged."""
    joint = state.log_joint + log_mean_dirichlet(state.rho)[:, None]
    saved = divergences(state.clusters, prior)
    whole = logsumexp(joint, axis=0)
    lost = [float((whole - logsumexp(np.delete(joint, c, axis=0), axis=0)).sum()) for c in range(len(joint))]
    return [int(c) for c in np.argsort(np.array(lost) - saved)]


def delete(state: State, dropped: list[int], prior: Prior) -> State:
    """The state without some clusters; their points are reassigned to the others."""
    left = np.setdiff1d(np.arange(len(state.rho)), dropped)
    rest = _restructured(state, left, state.share[left], prior)
    return rest._replace(share=responsibilities(rest.log_joint, rest.rho))


def _restructured(state: State, which: np.ndarray, share: Floats, prior: Prior) -> State:
    clusters = take(state.clusters, which)
    return State(
        clusters,
        clusters,
        np.ones(len(which)),
        state.labels[which],
        state.log_joint[which],
        share,
        prior.rho + share.sum(axis=1),
        np.full(len(which), -np.inf),
        state.tag[which],
    )
