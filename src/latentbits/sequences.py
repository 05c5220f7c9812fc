"""Graphs of sequences: which id follows which in a list of ids (speakers of a chat, pages of a visit), as 0-1 data.

Row i, column j of a graph is 1 if j comes after i: directly (`first_order_graph`), or at a lag that a Markov model
infers for every step (`mixture_transition`).
"""

from __future__ import annotations

import warnings
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import scipy.sparse as sp
from sklearn.exceptions import ConvergenceWarning

from latentbits.data.binary_data import BinaryData
from latentbits.errors import DataError
from latentbits.fitting.climb import ArrayLearner
from latentbits.fitting.restarts import Schedule, best_of, climbing
from latentbits.fitting.workers import n_workers
from latentbits.kernels.em_passes import lag_pass
from latentbits.numerics import RandomSource, as_generator, check_number

__all__ = ["MixtureTransition", "SequenceGraph", "first_order_graph", "mixture_transition"]

EDGE = 1e-12
"""Probabilities that an extrapolation brings below 0 are set to this: at 0, EM could never raise them again."""


@dataclass(frozen=True, eq=False)
class SequenceGraph:
    """Result of `first_order_graph`: a directed graph of ids.

    Attributes
    ----------
    names : list
        The distinct ids, sorted if they can be, else in the order of their first appearance.
    counts : scipy.sparse.csr_array of int, n x n
        How often the id of the column follows that of the row, self-transitions and rare ones included.
    adjacency : BinaryData, n x n, sparse
        The counts as 0 and 1, ready for a model: from the row's id to the column's id, both named.

    Examples
    --------
    >>> from latentbits.sequences import first_order_graph
    >>> graph = first_order_graph(["ann", "bob", "ann"])
    >>> graph.names, graph.counts.toarray().tolist()
    (['ann', 'bob'], [[0, 1], [1, 0]])
    """

    names: list[Any]
    counts: sp.csr_array
    adjacency: BinaryData


@dataclass(frozen=True, eq=False)
class MixtureTransition(SequenceGraph):
    """Result of `mixture_transition`: a graph by inferred lags, with the model.

    Attributes
    ----------
    names : list
        The distinct ids, sorted if they can be, else in the order of their first appearance.
    counts : scipy.sparse.csr_array of int, n x n
        How often the id of the column follows that of the row at the step's most probable lag.
    adjacency : BinaryData, n x n, sparse
        The counts as 0 and 1, ready for a model: from the row's id to the column's id, both named.
    lag_weights : ndarray of shape (max_lag,)
        lambda: the probability that a step depends on the previous id, the one before that, and so on; sums to 1.
    transitions : scipy.sparse.csr_array, n x n
        T: the probability of the next id (column) when it depends on that of the row. Rows sum to 1, except those of
        ids on which no step can depend, which are empty.
    edges : DataFrame
        One line for each step: its position in the ids given, source, target, lag, and the probability of that lag.
    log_likelihood_history : ndarray
        The log-likelihood of the best restart after each pass; it never falls.
    converged : bool
        Whether the best restart converged before it reached `max_iter`.

    Examples
    --------
    >>> from latentbits.sequences import mixture_transition
    >>> found = mixture_transition(["ann", "dan", "bob", "eve"] * 20, max_lag=2, random_state=0)
    >>> found.transitions.shape, len(found.edges)
    ((4, 4), 78)
    """

    lag_weights: np.ndarray
    transitions: sp.csr_array
    edges: pd.DataFrame
    log_likelihood_history: np.ndarray
    converged: bool

    @property
    def log_likelihood(self) -> float:
        """Log-likelihood of all steps, each given the `max_lag` ids before it."""
        return float(self.log_likelihood_history[-1])


def first_order_graph(
    ids: Iterable[Hashable],
    *,
    groups: Sequence[Hashable] | None = None,
    min_count: int = 1,
    self_loops: bool = False,
) -> SequenceGraph:
    """Graph of consecutive ids: i -> j if j comes directly after i.

    Parameters
    ----------
    ids : sequence of hashable
        One id per step, in order of time, none of them missing.
    groups : sequence or None, default=None
        A label for each step, such as its day or channel. Steps with the same label form a separate sequence, in the
        order given. None takes all steps as one sequence.
    min_count : int, default=1
        Transitions seen less often make no edge.
    self_loops : bool, default=False
        Whether an id that follows itself makes an edge. If not, the diagonal of the adjacency is missing, not 0.

    Returns
    -------
    SequenceGraph
        Names, counts and adjacency.

    Examples
    --------
    >>> from latentbits.sequences import first_order_graph
    >>> graph = first_order_graph(["ann", "bob", "ann", "cid", "cid", "bob"])
    >>> graph.adjacency.to_frame()
          ann   bob   cid
    ann  <NA>     1     1
    bob     1  <NA>     0
    cid     0     1  <NA>
    >>> int(graph.counts.sum())
    5
    """
    _check_graph_options(min_count, self_loops)
    steps = _Steps.of(ids, groups, max_lag=1)
    return SequenceGraph(*_graph(steps, steps.history[:, 0], min_count, self_loops))


def mixture_transition(
    ids: Iterable[Hashable],
    max_lag: int = 8,
    *,
    groups: Sequence[Hashable] | None = None,
    min_count: int = 1,
    self_loops: bool = False,
    self_answers: bool = True,
    n_init: int = 3,
    max_iter: int = 3000,
    tol: float = 1e-6,
    random_state: RandomSource = None,
    n_jobs: int | None = None,
) -> MixtureTransition:
    """Graph of inferred lags: a step of j depends on one of the `max_lag` steps before it, and i -> j if that is i's.

    The mixture transition distribution model p(x_t = j | past) = sum_l lambda_l T[x_(t-l), j] is fitted by maximum
    likelihood (accelerated EM); each step's most probable lag makes an edge. Where several sequences interleave, as in
    a chat room, the first-order graph links ids that are merely active at the same time; this one avoids that.

    With many ids and few steps of each, maximum likelihood overfits: one lag takes all the weight, and the
    probabilities of edges are overconfident. A dozen steps per id are few.

    Parameters
    ----------
    ids : sequence of hashable
        One id per step, in order of time, none of them missing.
    max_lag : int, default=8
        Largest lag. The first `max_lag` steps of a sequence have no complete past and make no edge.
    groups : sequence or None, default=None
        A label for each step, such as its day or channel. Steps with the same label form a separate sequence, in the
        order given. None takes all steps as one sequence.
    min_count : int, default=1
        Transitions seen less often make no edge.
    self_loops : bool, default=False
        Whether an id that follows itself makes an edge. If not, the diagonal of the adjacency is missing, not 0.
    self_answers : bool, default=True
        Whether a step may depend on an earlier one of the same id, as in the published model. In conversations, where
        people speak several times in a row, that explains most steps; False rules it out (T[i, i] = 0), and steps
        without another id within `max_lag` are left out.
    n_init : int, default=3
        Number of restarts; the best is kept.
    max_iter : int, default=3000
        Largest number of passes over the sequence per restart.
    tol : float, default=1e-6
        A restart has converged when three passes raise the log-likelihood by less than this per step.
    random_state : int, Generator, RandomState or None, default=None
        Seed of the restarts. The same integer gives the same result for any `n_jobs`.
    n_jobs : int or None, default=None
        Number of threads: None means 1 unless a joblib context says otherwise, -1 means all cores.

    Returns
    -------
    MixtureTransition
        The graph, and the fitted model.

    References
    ----------
    Berchtold and Raftery, The mixture transition distribution model for high-order Markov chains and non-Gaussian time
    series.

    Examples
    --------
    Two interleaved conversations: every step depends on the one before the last.

    >>> from latentbits.sequences import mixture_transition
    >>> ids = [name for pair in zip(["ann", "bob"] * 30, ["dan", "eve", "fay"] * 20) for name in pair]
    >>> found = mixture_transition(ids, max_lag=3, random_state=0)
    >>> found.lag_weights.round(2).tolist()
    [0.0, 1.0, 0.0]
    >>> found.adjacency.to_frame().fillna(0)
         ann  bob  dan  eve  fay
    ann    0    1    0    0    0
    bob    1    0    0    0    0
    dan    0    0    0    1    0
    eve    0    0    0    0    1
    fay    0    0    1    0    0
    """
    _check_graph_options(min_count, self_loops)
    if not isinstance(self_answers, (bool, np.bool_)):
        raise DataError(f"self_answers={self_answers!r} must be True or False")
    check_number("max_lag", max_lag, least=1, integer=True)
    for name, value in (("n_init", n_init), ("max_iter", max_iter)):
        check_number(name, value, least=1, integer=True)
    check_number("tol", tol, least=0)
    steps = _Steps.of(ids, groups, max_lag)
    if not self_answers:
        steps = steps.with_others()
    learner = _Mixture.of(steps, self_answers)
    schedule = Schedule(n_init, max_iter, tol, n_cells=float(len(steps.targets)))
    best, _ = best_of(
        climbing(lambda workers: learner),
        schedule,
        as_generator(random_state),
        n_workers(n_jobs),
        keep=lambda state: None,
    )
    if best.n_iter >= max_iter and not best.converged:
        warnings.warn(
            f"the best restart made all max_iter={max_iter} passes without converging; raise max_iter, or tol",
            ConvergenceWarning,
            stacklevel=2,
        )
    lags, sources, probability = _answered(learner, best.state, steps)
    edges = pd.DataFrame(
        {
            "step": steps.positions,
            "source": _take(steps.names, sources),
            "target": _take(steps.names, steps.targets),
            "lag": lags,
            "probability": probability,
        }
    )
    n = len(steps.names)
    transitions = sp.csr_array((best.state.T, (learner.source, learner.target)), shape=(n, n))
    graph = _graph(steps, sources, min_count, self_loops)
    return MixtureTransition(*graph, best.state.weights, transitions, edges, np.array(best.history), best.converged)


# ---- steps and graphs ------------------------------------------------------------------------------------------------


class _Steps(NamedTuple):
    """Steps with a complete past: their positions in the ids, their ids, and the ids 1, 2, ... max_lag steps before."""

    names: list[Any]
    positions: np.ndarray
    targets: np.ndarray
    history: np.ndarray

    @classmethod
    def of(cls, ids: Iterable[Hashable], groups: Sequence[Hashable] | None, max_lag: int) -> _Steps:
        names, codes = _codes(ids, "ids")
        order = np.arange(len(codes))
        group = np.zeros(len(codes), dtype=np.intp)
        if groups is not None:
            group = _codes(groups, "groups")[1]
            if len(group) != len(codes):
                raise DataError(f"groups has {len(group)} labels for {len(codes)} ids; give each id its label")
            order = np.argsort(group, kind="stable")
            codes, group = codes[order], group[order]
        # Groups are contiguous now: equal labels max_lag apart mean that all steps between belong to the group.
        full = np.flatnonzero(group[max_lag:] == group[:-max_lag]) + max_lag
        if len(full) == 0:
            longest = np.bincount(group).max(initial=0)
            raise DataError(
                f"the longest sequence has {longest} ids, but a lag of {max_lag} needs at least {max_lag + 1}; give a "
                "longer sequence, or lower max_lag"
            )
        history = codes[full[:, None] - np.arange(1, max_lag + 1)]
        return cls(names, order[full], codes[full], history)

    def with_others(self) -> _Steps:
        """The steps with an id other than their own within max_lag."""
        kept = (self.history != self.targets[:, None]).any(axis=1)
        if not kept.any():
            raise DataError("no step has another id in reach; use self_answers=True, or a larger max_lag")
        return _Steps(self.names, self.positions[kept], self.targets[kept], self.history[kept])


def _codes(labels: Iterable[Hashable], what: str) -> tuple[list[Any], np.ndarray]:
    """The distinct labels, and the position of each label among them."""
    if isinstance(labels, str):
        raise DataError(f"{what} is a single text; give a list of labels, such as {what}=text.split()")
    if getattr(labels, "ndim", 1) != 1:
        raise DataError(f"{what} must be one list of labels, in the order of time; give a single column")
    values = np.fromiter(labels, dtype=object)  # as objects: NumPy would turn 1 beside "a" into text
    missing = np.flatnonzero(pd.isna(values))
    if missing.size:
        raise DataError(f"{what}[{missing[0]}] is missing; leave such steps out, or give them a label of their own")
    try:
        codes, distinct = pd.factorize(values)
    except TypeError:
        raise DataError(f"{what} must be hashable, such as text, numbers or tuples; turn lists into tuples") from None
    names = list(distinct)
    try:
        order = sorted(range(len(names)), key=names.__getitem__)
    except TypeError:  # labels of several kinds have no order
        order = list(range(len(names)))
    rank = np.empty(len(names), dtype=np.intp)
    rank[order] = np.arange(len(names))
    return [names[i] for i in order], rank[codes]


def _check_graph_options(min_count: int, self_loops: bool) -> None:
    check_number("min_count", min_count, least=1, integer=True)
    if not isinstance(self_loops, (bool, np.bool_)):
        raise DataError(f"self_loops={self_loops!r} must be True or False")


def _graph(
    steps: _Steps, sources: np.ndarray, min_count: int, self_loops: bool
) -> tuple[list[Any], sp.csr_array, BinaryData]:
    """Names, counts and adjacency of the edges sources[s] -> steps.targets[s]."""
    n = len(steps.names)
    counts = sp.csr_array((np.ones(len(sources), np.int64), (sources, steps.targets)), shape=(n, n))
    edges = counts.tocoo()
    kept = (edges.data >= min_count) & (self_loops | (edges.row != edges.col))
    values, rows, columns = np.ones(kept.sum()), edges.row[kept], edges.col[kept]
    if not self_loops:  # an impossible edge is missing, not 0: a model must not try to explain it
        diagonal = np.arange(n)
        values = np.append(values, np.full(n, np.nan))
        rows, columns = np.append(rows, diagonal), np.append(columns, diagonal)
    cells = sp.csr_array((values, (rows, columns)), shape=(n, n))
    adjacency = BinaryData.of(cells, row_names=steps.names, column_names=steps.names)
    return steps.names, counts, adjacency


def _take(names: list[Any], codes: np.ndarray) -> np.ndarray:
    labels = np.empty(len(names), dtype=object)
    labels[:] = names
    return labels[codes]


# ---- the mixture transition distribution model -----------------------------------------------------------------------


class _State(NamedTuple):
    """weights: (max_lag,) lambda. T: (P,) transition probabilities of the P pairs of ids that occur at any lag."""

    weights: np.ndarray
    T: np.ndarray


@dataclass(frozen=True)
class _Mixture(ArrayLearner[_State]):
    """EM for lambda and T: the hidden cause of a step is its lag. Pairs that never occur have T = 0 and are left out.

    pair : (S, max_lag) which pair (id before, id now) step s makes at each lag; P for one that is ruled out
    source, target : (P,) the two ids of each pair
    pooled : (P,) how often the pair occurs, all lags together
    """

    pair: np.ndarray
    source: np.ndarray
    target: np.ndarray
    pooled: np.ndarray

    @classmethod
    def of(cls, steps: _Steps, self_answers: bool = True) -> _Mixture:
        """The pairs of these steps; those of an id with itself only if a step may answer such a one."""
        n = len(steps.names)
        keys = steps.history.astype(np.int64) * n + steps.targets[:, None]  # one number for each pair of ids
        if not self_answers:
            keys[steps.history == steps.targets[:, None]] = n * n  # sorts behind every pair
        pairs, pair = np.unique(keys, return_inverse=True)
        pooled = np.bincount(pair.ravel()).astype(np.float64)
        P = int(np.searchsorted(pairs, n * n))
        return cls(pair.reshape(keys.shape), pairs[:P] // n, pairs[:P] % n, pooled[:P])

    def initialise(self, rng: np.random.Generator) -> _State:
        """All lags alike; the transitions of all lags together, times random factors."""
        n_lags = self.pair.shape[1]
        T = self.pooled * np.exp(rng.uniform(-1.0, 1.0, size=len(self.pooled)))
        return _State(np.full(n_lags, 1 / n_lags), self._normalise(T))

    def step(self, state: _State) -> tuple[_State, float]:
        """The posterior of the lags, of which only the sums are kept, then lambda and T from these."""
        # One more entry than pairs, of probability 0: the place of those that are ruled out.
        by_lag, by_pair = np.zeros(self.pair.shape[1]), np.zeros(len(state.T) + 1)
        log_likelihood = lag_pass(self.pair, state.weights, np.append(state.T, 0.0), by_lag, by_pair)
        # An id on which no step depends any more has only zeros, which can't be normalised.
        return _State(by_lag / by_lag.sum(), self._normalise(np.maximum(by_pair[:-1], 1e-300))), log_likelihood

    def posterior(self, state: _State) -> np.ndarray:
        """The probability of each lag at each step (S x max_lag)."""
        q = state.weights * np.append(state.T, 0.0)[self.pair]
        return q / q.sum(axis=1, keepdims=True)

    def project(self, state: _State) -> _State:
        """Back on the simplices, nothing at 0 (from where it could never rise again)."""
        weights = np.maximum(state.weights, EDGE)
        return _State(weights / weights.sum(), self._normalise(np.maximum(state.T, EDGE)))

    def scales(self) -> tuple[np.ndarray | float, ...]:
        """lambda and the rows of T are weighted by the number of steps that they are estimated from."""
        n_steps, n_lags = self.pair.shape
        return float(n_steps), np.bincount(self.source, weights=self.pooled)[self.source] / n_lags

    def _normalise(self, T: np.ndarray) -> np.ndarray:
        return T / np.bincount(self.source, weights=T)[self.source]


def _answered(learner: _Mixture, state: _State, steps: _Steps) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Each step's most probable lag (the shortest, if several are), the id at that lag, and the lag's probability."""
    q = learner.posterior(state)
    best = q.argmax(axis=1)
    rows = np.arange(len(q))
    return best + 1, steps.history[rows, best], q[rows, best]
