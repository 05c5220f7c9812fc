"""One run: a random start, a climb, and structural moves, of which those that raise the bound are kept."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from latentbits.fitting.climb import Climbed, Monitor
from latentbits.models.ica_mixture import Criterion, SplitIndex, moves
from latentbits.models.ica_mixture.cluster_posterior import Clusters, Floats, Prior, spread_gaussians
from latentbits.models.ica_mixture.passes import State, Switches, sweep

LLOYD = 5
"""Rounds of k-means at the start; few, because starts should differ rather than be the best partition."""

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


SETTLE = 5
"""Passes after a structural change during which the assignment of points to clusters is fixed."""

CYCLE = 4
"""Every so many passes all points are looked at in all clusters, and it is decided whether to go on."""

COARSE = 10.0
"""Structural moves are tried, and their trials ended, at this many times the tolerance."""

HOPELESS = 40.0
"""A trial is ended early when it would need more than this many passes at its current rate to reach the old bound."""

EMPTY = 0.5
"""A cluster with fewer (expected) points than this is deleted."""

CHANGED = 0.05
"""A cluster whose number of points changes by more than this part gets a new tag: moves may be tried on it again."""

DELETIONS = 3
"""Number of clusters whose deletion is tried between two moves that were kept."""


APART = 0.01
"""Rows in second humps count as more, or fewer, when their share of all rows differs by this."""


class Plan(NamedTuple):
    """The parameters of a run: the size of its start, what decides, and the moves that are allowed."""

    n_clusters: int
    n_sources: int
    n_gaussians: int
    criterion: Criterion
    split_index: SplitIndex
    rescale: bool
    rotate: bool
    split: bool
    reinitialise: bool
    delete: bool


class Event(NamedTuple):
    """A line of the history."""

    iteration: int
    move: str
    cluster: int
    source: int
    before: float
    after: float
    kept: bool


class Outcome(NamedTuple):
    """The result of a run."""

    state: State
    history: list[Event]


class Proposal(NamedTuple):
    """A structural move to try; `key` identifies it, so that it isn't tried twice."""

    move: str
    cluster: int
    source: int
    key: tuple[str, int, int]
    make: Callable[[], State]


def _rows_apart(state: State) -> float:
    """The number of rows in the smaller humps of two-humped sources."""
    rows = state.share.sum(axis=1)
    return sum(rows[cut.cluster] * smaller for cut, smaller in moves.hidden_clusters(state.clusters))


class Run:
    """A run on standardised data (T x N). `monitor` counts passes; its tolerance is per cell and pass."""

    def __init__(self, X: Floats, plan: Plan, prior: Prior, rng: np.random.Generator, monitor: Monitor) -> None:
        self.X = X
        self.plan = plan
        self.prior = prior
        self.rng = rng
        self.monitor = monitor
        self.rise = monitor.tol * monitor.n_cells
        self.history: list[Event] = []
        self.tried: set[tuple[str, int, int]] = set()
        self.generation = 0
        self.last_tag = plan.n_clusters

    def __call__(self) -> Climbed[Any]:
        """Climb, and try moves until none is kept."""
        filled = np.where(np.isnan(self.X), 0.0, self.X)  # by the columns' means, for the start alone
        share = nearest_centres(filled, self.plan.n_clusters, self.rng)
        start = start_state(filled, share, self.plan.n_sources, self.plan.n_gaussians, self.prior, self.rng)
        state, bound, rate = self._climb(start, COARSE * self.rise)
        while (better := self._improved(state, bound, rate)) is not None:
            state, bound, rate = better
        state, bound, _ = self._climb(state, self.rise, settle=0)
        self.monitor.converged = not self.monitor.finished
        return Climbed(Outcome(state, self.history), bound)

    def _climb(
        self, state: State, rise: float, settle: int = SETTLE, goal: float = -np.inf
    ) -> tuple[State, float, float]:
        """Pass after pass until the bound rises by less than `rise` a pass; state, bound, and the last rise.

        It ends earlier if `goal` is out of reach.
        """
        switches = Switches(self.plan.rescale, self.plan.rotate)
        trace: list[float] = []
        while True:
            place = (len(trace) - settle) % CYCLE
            complete = len(trace) >= settle and place == 0
            free = complete or (len(trace) >= settle and place % 2 == 0)  # the others are over-relaxed
            state, bound, maps = sweep(self.X, state, self.prior, switches, free=free, complete=complete)
            self.monitor.record(bound)
            for record in maps:
                for c, (before, after) in enumerate(zip(record.before, record.after, strict=True)):
                    kept = bool(after >= before)
                    self._note(record.move, c, -1, float(before), float(after), kept)
            trace.append(bound)
            if self.monitor.finished:
                return state, bound, 0.0
            if not complete or len(trace) < settle + CYCLE:
                continue
            rate = (trace[-1] - trace[-CYCLE]) / (CYCLE - 1)
            if rate < rise or goal - bound > HOPELESS * rate:
                return state, bound, rate
            if self.plan.delete:
                state = self._without_empty(state, bound)

    def _without_empty(self, state: State, bound: float) -> State:
        empty = np.flatnonzero(state.share.sum(axis=1) < EMPTY)
        if len(empty) == 0 or len(empty) == len(state.rho):
            return state
        for c in empty:
            self._note("delete", int(c), -1, bound, bound, True)
        return moves.delete(state, list(empty), self.prior)

    def _improved(self, state: State, bound: float, rate: float) -> tuple[State, float, float] | None:
        """The state after the first structural move that is kept; None if none is."""
        if self.monitor.finished:
            return None
        for proposal in self._proposals(state):
            if self.monitor.finished:
                return None
            if proposal.key in self.tried:
                continue
            self.tried.add(proposal.key)
            began, mark = self.monitor.n_iter, len(self.history)
            # A split may be worth its price, so that it is climbed to the end whatever its bound.
            goal = -np.inf if proposal.move == "split" and self.plan.criterion == "clusters" else bound
            new, reached, new_rate = self._climb(proposal.make(), COARSE * self.rise, goal=goal)
            # The gain that ordinary passes would have made in the meantime doesn't count for the move.
            higher = reached > bound + rate * (self.monitor.n_iter - began)
            kept = self._preferred(proposal.move, state, new, higher)
            event = Event(began, proposal.move, proposal.cluster, proposal.source, bound, reached, kept)
            self.history.insert(mark, event)
            if kept:
                self.generation += 1
                return self._renamed(state, new), reached, new_rate
            self._note("undo", proposal.cluster, proposal.source, reached, bound, True)
        return None

    def _preferred(self, move: str, old: State, new: State, higher: bool) -> bool:
        """Whether a move is kept: if the bound is higher, but with "clusters" no move may set more rows apart in humps.

        And a split that leaves fewer of them is kept whatever its bound.
        """
        if self.plan.criterion == "bound":
            return higher
        change = (_rows_apart(new) - _rows_apart(old)) / len(self.X)
        return (higher and change <= APART) or (move == "split" and change < -APART)

    def _proposals(self, state: State) -> Iterator[Proposal]:
        """The moves to try, deletions first: every cluster less makes all further passes cheaper."""
        if self.plan.delete:
            idle = np.flatnonzero(moves.unneeded_sources(state.clusters).any(axis=1)).tolist()
            for chosen in [idle, *([c] for c in idle)] if len(idle) > 1 else [idle] * len(idle):
                c = chosen[0] if len(chosen) == 1 else -1
                key = ("drop", self.generation, c)
                yield Proposal("drop", c, -1, key, partial(moves.drop_sources, state, chosen))
        if self.plan.delete and len(state.rho) > 1:
            for c in moves.deletion_order(state, self.prior)[:DELETIONS]:
                make = partial(moves.delete, state, [c], self.prior)
                yield Proposal("delete", c, -1, ("delete", self.generation, c), make)
        if self.plan.reinitialise:
            for c, m in moves.collapsed_sources(state.clusters):
                make = partial(moves.reinitialise, state, c, m)
                yield Proposal("reinitialise", c, m, ("reinitialise", int(state.tag[c]), m), make)
            for c, m in moves.dead_sources(state.clusters):
                make = partial(moves.revive, state, c, m)
                yield Proposal("reinitialise", c, m, ("revive", int(state.tag[c]), m), make)
        if self.plan.split:
            cuts = moves.find_cuts(state.clusters, self.plan.split_index)
            if self.plan.criterion == "clusters":
                own = sorted(moves.hidden_clusters(state.clusters), key=lambda found: -found[1])
                cuts = [cut for cut, _ in own] + cuts
            for cut in cuts:
                make = partial(moves.split, state, cut, self.prior)
                key = ("split", int(state.tag[cut.cluster]), cut.source)
                yield Proposal("split", cut.cluster, cut.source, key, make)

    def _renamed(self, old: State, new: State) -> State:
        """New tags for the clusters whose points have changed: moves may be tried on them again."""
        size = dict(zip(old.tag, old.share.sum(axis=1), strict=True))
        changed = [abs(n - size[tag]) > CHANGED * n for tag, n in zip(new.tag, new.share.sum(axis=1), strict=True)]
        self.last_tag += len(changed)
        return new._replace(tag=np.where(changed, self.last_tag - np.arange(len(changed)), new.tag))

    def _note(self, move: str, cluster: int, source: int, before: float, after: float, kept: bool) -> None:
        self.history.append(Event(self.monitor.n_iter, move, cluster, source, before, after, kept))
