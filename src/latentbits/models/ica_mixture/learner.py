"""One pass over the data: hidden variables, parameters, and the bound."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp

from latentbits.models.ica_mixture.maps import rescale, rotate
from latentbits.models.ica_mixture.posterior import (
    Clusters,
    Floats,
    Prior,
    combine,
    divergences,
    kl_dirichlet_rows,
    log_mean_dirichlet,
    take,
)
from latentbits.models.ica_mixture.statistics import collect, infer_hidden, settle
from latentbits.models.ica_mixture.updates import cluster_bounds, update_clusters

__all__ = ["Learned", "MapRecord", "State", "Switches", "bound", "learn", "responsibilities", "sweep"]

QUICKEN, LONGEST = 1.5, 200.0
"""Growth factor of the over-relaxation after every success, and its upper limit."""


class State(NamedTuple):
    """The state between two passes."""

    clusters: Clusters
    earlier: Clusters  # a pass before; the direction of over-relaxation
    pace: Floats  # C: how far to go in that direction, 1 for no over-relaxation
    labels: Floats  # C x T x M x K: Q(k_mt)
    log_joint: Floats  # C x T: each point's part of the bound inside each cluster
    share: Floats  # C x T: Q(c_t)
    rho: Floats  # C: the Dirichlet posterior of the clusters' shares
    tag: NDArray[np.intp]  # C: an identifier of the cluster, new when its points have changed


class Switches(NamedTuple):
    """Which maps of the sources a pass may make, and whether clusters may be over-relaxed."""

    rescale: bool = True
    rotate: bool = True
    relax: bool = True


class MapRecord(NamedTuple):
    """A map that a pass has tried: its name, and the clusters' parts of the bound without and with it."""

    move: str
    before: Floats
    after: Floats


class Learned(NamedTuple):
    """The clusters after a pass with Q(c_t) fixed, with the points' parts of the bound."""

    clusters: Clusters
    labels: Floats
    log_joint: Floats


def sweep(
    X: Floats, state: State, prior: Prior, switches: Switches, *, free: bool = True
) -> tuple[State, float, list[MapRecord]]:
    """One pass: every factor of the posterior once. Returns the new state, its bound, and the maps that were tried.

    With `free` false Q(c_t) is fixed (in the first passes after a structural change).
    """
    start = _over_relaxed(state) if switches.relax else state.clusters
    learned, maps = learn(X, state.share, start, state.labels, prior, switches)
    pace = np.minimum(QUICKEN * state.pace, LONGEST)
    if switches.relax:
        before = (state.share * state.log_joint).sum(axis=1) - divergences(state.clusters, prior)
        after = (state.share * learned.log_joint).sum(axis=1) - divergences(learned.clusters, prior)
        # Over-relaxation gives no guarantee: clusters whose bound has fallen are done again without it.
        if (fell := (after < before) & (state.pace > 1)).any():
            redone, _ = learn(X, state.share[fell], take(state.clusters, fell), state.labels[fell], prior, switches)
            for new, old in zip((*learned.clusters, *learned[1:]), (*redone.clusters, *redone[1:]), strict=True):
                new[fell] = old
            pace[fell] = 1.0
    state = State(
        learned.clusters,
        state.clusters,
        pace,
        learned.labels,
        learned.log_joint,
        state.share,
        prior.rho + state.share.sum(axis=1),
        state.tag,
    )
    if free:
        state = state._replace(share=responsibilities(state))
    return state, bound(state, prior), maps


def learn(
    X: Floats, weight: Floats, clusters: Clusters, labels: Floats, prior: Prior, switches: Switches
) -> tuple[Learned, list[MapRecord]]:
    """The hidden variables inside the clusters, then the parameters, with Q(c_t) = `weight` (C x T) fixed."""
    hidden = infer_hidden(X, clusters, labels)
    stats = collect(X, weight, hidden)
    clusters = update_clusters(clusters, stats, prior)
    C, _, M = hidden.mean.shape
    R, shift = np.repeat(np.eye(M)[None], C, axis=0), np.zeros((C, M))
    maps = []
    for wanted, move in ((switches.rotate, rotate), (switches.rescale, rescale)):
        if wanted:
            bounds = cluster_bounds(clusters, stats, prior)
            mapped = move(clusters, stats, prior)
            better = mapped.bounds >= bounds  # per cluster: the priors are not invariant under the map
            maps.append(MapRecord(move.__name__, bounds, mapped.bounds))
            shift = np.where(better[:, None], shift + np.linalg.solve(R, mapped.shift[..., None])[..., 0], shift)
            R = np.where(better[:, None, None], mapped.R @ R, R)
            clusters = combine(better, mapped.clusters, clusters)
            stats = combine(better, mapped.stats, stats)
    return Learned(clusters, *settle(X, clusters, hidden, R, shift)), maps


def _over_relaxed(state: State) -> Clusters:
    """Noise and Gaussians extrapolated in the direction of the last pass (Salakhutdinov and Roweis 2003).

    Rates on the log scale, so that they stay positive.
    """
    new, old = state.clusters, state.earlier
    beyond = state.pace - 1
    by_source = beyond[:, None, None]
    return new._replace(
        psi_rate=new.psi_rate * (new.psi_rate / old.psi_rate) ** beyond[:, None],
        beta_rate=new.beta_rate * (new.beta_rate / old.beta_rate) ** by_source,
        phi=new.phi + by_source * (new.phi - old.phi),
    )


def responsibilities(state: State) -> Floats:
    """Q(c_t), C x T (eq. 15)."""
    joint = state.log_joint + log_mean_dirichlet(state.rho)[:, None]
    return np.exp(joint - logsumexp(joint, axis=0))


def bound(state: State, prior: Prior) -> float:
    """The bound on the log evidence for any Q(c_t); at its optimum, sum_t log Z_t minus all divergences."""
    joint = state.log_joint + log_mean_dirichlet(state.rho)[:, None]
    share = state.share
    points = (share * (joint - np.log(share, out=np.zeros_like(share), where=share > 0))).sum()
    return float(points - divergences(state.clusters, prior).sum() - kl_dirichlet_rows(state.rho, prior.rho))
