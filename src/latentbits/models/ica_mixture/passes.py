"""One pass over the data: hidden variables, parameters, affine maps of the sources, and the bound.

A map s -> R (s - shift) is compensated by A and nu, so that no likelihood changes. Rescaling is the paper's (section
2.3). Rotation is our addition: with little noise the rules of Appendix C move A by steps of the size of the noise,
while R can be solved for row by row, the labels Q(k) fixed: maximum likelihood ICA with mixtures of Gaussians for
sources. The priors are not invariant under such maps. Therefore a cluster is mapped only if its part of the bound,
after all rules have been applied, is no lower than without the map.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from latentbits.models.ica_mixture.cluster_posterior import (
    Clusters,
    Floats,
    Prior,
    combine,
    kl_dirichlet_rows,
    log_mean_dirichlet,
    take,
)
from latentbits.models.ica_mixture.cluster_updates import (
    Statistics,
    cluster_bounds,
    collect,
    infer_hidden,
    map_statistics,
    update_alpha,
    update_clusters,
)

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


QUICKEN, LONGEST = 1.5, 200.0
"""Growth factor of the over-relaxation after every success, and its upper limit."""

NEGLIGIBLE = 1e-12
"""A point with a smaller share in a cluster is left out of it until the next complete pass."""


class State(NamedTuple):
    """The state between two passes."""

    clusters: Clusters
    earlier: Clusters  # a pass before; the direction of over-relaxation
    pace: Floats  # C: how far to go in that direction, 1 for no over-relaxation
    labels: Floats  # C x T x M x K: Q(k_mt)
    log_joint: Floats  # C x T: each point's part of the bound inside each cluster, -inf where it was left out
    share: Floats  # C x T: Q(c_t)
    rho: Floats  # C: the Dirichlet posterior of the clusters' shares
    heights: Floats  # C: the clusters' parts of the bound; -inf before the first pass
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
    """The result of a pass, on the first axis the cluster."""

    clusters: Clusters
    labels: Floats
    log_joint: Floats
    share: Floats
    heights: Floats


def sweep(
    X: Floats, state: State, prior: Prior, switches: Switches, *, free: bool = True, complete: bool = True
) -> tuple[State, float, list[MapRecord]]:
    """One pass: every factor of the posterior once. Returns the new state, its bound, and the maps that were tried.

    With `free` false Q(c_t) is fixed, and the clusters, which are then independent of each other, are over-relaxed.
    Unless `complete`, points stay out of the clusters where they have no share: Q(c_t) is then optimal among the
    clusters that are left to it, so that the bound doesn't fall, at a fraction of the work when clusters are apart.
    """
    free = free and len(state.rho) > 1
    relax = switches.relax and not free
    start = _over_relaxed(state) if relax else state.clusters
    learned, maps = _learned(X, state, start, prior, switches, free=free, complete=complete)
    pace = np.minimum(QUICKEN * state.pace, LONGEST) if relax else state.pace
    # Over-relaxation gives no guarantee: clusters whose bound has fallen (or is NaN) are done again without it.
    if relax and (fell := ~(learned.heights >= state.heights) & (state.pace > 1)).any():
        part = _only(state, fell)
        again, _ = _learned(X, part, part.clusters, prior, switches, free=False, complete=False)
        for whole, redone in zip((*learned.clusters, *learned[1:]), (*again.clusters, *again[1:]), strict=True):
            whole[fell] = redone
        pace[fell] = 1.0
    rho = prior.rho + learned.share.sum(axis=1)
    new = State(
        learned.clusters,
        state.clusters,
        pace,
        learned.labels,
        learned.log_joint,
        learned.share,
        rho,
        learned.heights,
        state.tag,
    )
    return new, float(learned.heights.sum()) + assignment_bound(learned.share, rho, prior), maps


def _learned(
    X: Floats, state: State, clusters: Clusters, prior: Prior, switches: Switches, *, free: bool, complete: bool
) -> tuple[Learned, list[MapRecord]]:
    """Hidden variables given these clusters, Q(c_t) if it is free, and then the clusters."""
    wanted = np.ones(state.share.shape, dtype=bool) if free and complete else state.share > 0
    hidden = infer_hidden(X, clusters, state.labels, wanted)
    if len(hidden.rows) == state.share.size:
        labels, log_joint = hidden.labels.reshape(state.labels.shape), hidden.log_joint.reshape(state.share.shape)
    else:
        pairs = hidden.owner, hidden.rows
        labels, log_joint = state.labels.copy(), np.full(state.share.shape, -np.inf)
        labels[pairs], log_joint[pairs] = hidden.labels, hidden.log_joint
    share = responsibilities(log_joint, state.rho) if free else state.share
    clusters, heights, maps = learn(clusters, collect(X, share, hidden, clusters), prior, switches)
    return Learned(clusters, labels, log_joint, share, heights), maps


def _only(state: State, which: NDArray[np.bool_]) -> State:
    """The state of some clusters."""
    rest = {name: getattr(state, name)[which] for name in State._fields[2:]}
    return State(take(state.clusters, which), take(state.earlier, which), **rest)


def learn(
    clusters: Clusters, stats: Statistics, prior: Prior, switches: Switches
) -> tuple[Clusters, Floats, list[MapRecord]]:
    """The parameters given the sums over points: all rules, then the maps that don't lower a cluster's bound.

    Returns the clusters, their parts of the bound, and the maps that were tried.
    """
    clusters = update_clusters(clusters, stats, prior)
    heights = cluster_bounds(clusters, stats, prior)
    maps = []
    for wanted, move in ((switches.rotate, rotate), (switches.rescale, rescale)):
        if wanted:
            mapped = move(clusters, stats, prior)
            better = mapped.bounds >= heights  # per cluster: the priors are not invariant under the map
            maps.append(MapRecord(move.__name__, heights, mapped.bounds))
            clusters = combine(better, mapped.clusters, clusters)
            stats = combine(better, mapped.stats, stats)
            heights = np.where(better, mapped.bounds, heights)
    return clusters, heights, maps


def _over_relaxed(state: State) -> Clusters:
    """Noise and Gaussians extrapolated in the direction of the last pass (Salakhutdinov and Roweis 2003).

    Rates on the log scale, so that they stay positive.
    """
    new, old = state.clusters, state.earlier
    beyond = state.pace - 1
    by_source = beyond[:, None, None]
    return new._replace(
        psi_rate=new.psi_rate * _power(new.psi_rate / old.psi_rate, beyond[:, None]),
        beta_rate=new.beta_rate * _power(new.beta_rate / old.beta_rate, by_source),
        phi=new.phi + by_source * (new.phi - old.phi),
    )


def _power(ratio: Floats, exponent: Floats) -> Floats:
    """ratio ** exponent, at most 1e3 and at least 1e-3: further than that no extrapolation is to be trusted."""
    return np.exp(np.clip(exponent * np.log(ratio), -7.0, 7.0))


def responsibilities(log_joint: Floats, rho: Floats) -> Floats:
    """Q(c_t), C x T (eq. 15), without negligible shares."""
    joint = log_joint + log_mean_dirichlet(rho)[:, None]
    share = np.exp(joint - joint.max(axis=0))
    share[share < NEGLIGIBLE * share.sum(axis=0)] = 0.0
    total: Floats = share / share.sum(axis=0)
    return total


def assignment_bound(share: Floats, rho: Floats, prior: Prior) -> float:
    """The terms of Q(c_t) and Q(rho): with the clusters' parts, they are the bound on the log evidence."""
    inside = log_mean_dirichlet(rho)[:, None] - np.log(share, out=np.zeros_like(share), where=share > 0)
    return float((share * inside).sum() - kl_dirichlet_rows(rho, prior.rho))
