"""Maximum likelihood of the aspect model by EM, and of sparse data by a lower bound at the cost of the ones.

Aspect Bernoulli by maximum likelihood (Bingham, Kaban and Fortelius, "The aspect Bernoulli model").

Our N x D data, weights W and components H are the paper's x_tn, s_kn and a_tk: rows are its observations n.

With `smoothing` s, every component has seen s cells of each column before the data, at the column's own frequency m of
ones: the objective is the log likelihood minus s sum_kj KL(m_j || H_kj), and with one component nothing changes. 0 is
maximum likelihood, as in the paper. Columns' frequencies and not 1/2, because where ones are rare s / 2 of them would
be more than a column has.

Maximum likelihood at the cost of the ones: where all components are small, zeros are expanded.

In a column where no component exceeds theta (`LARGEST`), log(1 - p) >= -(p + kappa p^2 / 2) for the kappa at which both
sides are equal at p = theta. So the objective is a lower bound of the log likelihood, and its sums over zeros are sums
over all cells, known from W^T W and H H^T, less those of the ones. A column in which a component reaches theta becomes
exact and stays it, which can only raise the bound.

A step is a majorised one (Jensen's inequality for the concave terms, as in multiplicative updates): first the weights,
then the components given these; exact columns as in EM, which may use the same responsibilities for both. EM's own step
would be tiny, because it counts all the zeros that hardly move.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from scipy.special import rel_entr

from latentbits.data.binary_data import BinaryData
from latentbits.data.codes import with_index_types
from latentbits.fitting.climb import RowsLost
from latentbits.fitting.rows import Chunk, PlacedLearner, RowLearner, Rows, Sums, column_counts, rows_of
from latentbits.fitting.workers import Workers
from latentbits.kernels.aspect_pass import aspect_pass
from latentbits.kernels.sparse_pass import VECTOR, exact_entries, sparse_pass
from latentbits.models.aspect.noise_components import NO_NOISE, NoiseComponents
from latentbits.models.aspect.stacked import StackedLikelihood, can_be_stacked
from latentbits.models.aspect.statistics import SMALL_WORK, pass_arrays, pass_over
from latentbits.models.factor_model import shifted_components
from latentbits.numerics import bernoulli_kl, kernel_array

EDGE = 1e-10
"""H stays this far from 0 and 1: small enough for phantoms, and no cell gets probability 0."""


class State(NamedTuple):
    """W: (N, K) rows on the simplex. H: (K, D) probabilities of a 1."""

    W: np.ndarray
    H: np.ndarray


class Evaluated(NamedTuple):
    """What a pass finds: what rows would become, the sums N1 and N0, and the objective of the state given.

    The objective is what rows add to it, minus the `cost` of components that a prior finds unlikely. `log_weight` is
    the mean of E[log a] over rows and components, where weights have a posterior.
    """

    rows: Any
    N1: np.ndarray
    N0: np.ndarray
    objective: float
    cost: float = 0.0
    log_weight: float | None = None


@dataclass(frozen=True)
class MaximumLikelihood(RowLearner[State]):
    """EM for the likelihood of eq. 8: prod_ij (W H)_ij^x_ij (1 - (W H)_ij)^(1 - x_ij) over observed cells.

    `n_components` have content, and are smoothed; those of `noise` follow them.
    """

    data: BinaryData
    row_weight: np.ndarray
    n_components: int
    workers: Workers
    noise: NoiseComponents = NO_NOISE
    smoothing: float = 0.0

    @cached_property
    def rows(self) -> Rows:
        """Where rows are worked on."""
        return rows_of(self.data, self.row_weight, self._n_all, self.workers, 2 * self._n_all)

    @property
    def _n_all(self) -> int:
        return self.n_components + len(self.noise)

    def initialise(self, rng: np.random.Generator) -> State:
        """Random components; equal weights for all rows, so equal rows stay equal and their order doesn't matter."""
        ones, observed = self.rows.total(column_counts, ())
        H = self.noise.after(shifted_components(ones, observed, self.n_components, rng))
        return State(self.start_rows(), H)

    def start_rows(self) -> Any:
        """Equal weights."""
        return self.rows.update(equal_weights, self._n_all, ())[0]

    def step(self, state: State) -> tuple[State, float]:
        """The E step is the pass (eq. 4), the M step a normalisation (eq. 5-6)."""
        found = self.evaluate(state)
        return self.with_weights(self.with_sources(state, found), found), found.objective

    def evaluate(self, state: State) -> Evaluated:
        """The E step, and the weights of eq. 5."""
        W, H = state
        work, shared = self.row_work(state)
        W, (A1, A0, log_likelihood) = self.rows.update(work, len(H), [W], *shared)
        found = self._evaluated(W, H, A1, A0, log_likelihood)
        return found._replace(objective=float(found.objective), cost=float(found.cost))

    def _evaluated(
        self, W: np.ndarray, H: np.ndarray, A1: np.ndarray, A0: np.ndarray, log_likelihood: Any
    ) -> Evaluated:
        """What a pass has found, by its sums; of stacked states, if H is."""
        N1, N0 = H * A1, (1 - H) * A0
        cost = self._cost(H, column_frequencies(N1, N0, H)) if self.smoothing else 0.0
        return Evaluated(W, N1, N0, log_likelihood - cost, cost)

    def _cost(self, H: np.ndarray, frequencies: np.ndarray) -> Any:
        """What the prior takes off the log likelihood."""
        apart = bernoulli_kl(frequencies[..., None, :], H[..., : self.n_components, :])
        return self.smoothing * apart.sum(axis=(-2, -1))

    @property
    def stacked(self) -> StackedLikelihood | None:
        """What makes many climbs at once, if that is worth it."""
        return StackedLikelihood(self) if can_be_stacked(self.data, self._n_all) else None

    def row_work(self, state: State) -> tuple[Callable[..., Sums], tuple[Any, ...]]:
        """The pass on a chunk of rows with the components of a state, and what it needs of them."""
        return em_weights, pass_arrays(self.data.shape, state.H, 1 - state.H)

    def with_sources(self, state: State, found: Evaluated) -> State:
        """Eq. 6, the cells of the prior counted in."""
        N1, N0 = found.N1, found.N0
        if self.smoothing:
            N1, N0 = self._smoothed(N1, N0, column_frequencies(N1, N0, state.H))
        caused = N1 + N0
        # A component that causes nothing in a column keeps its value there: 0 / 0.
        H = np.divide(N1, caused, out=state.H.copy(), where=caused > 0)
        H = np.clip(H, EDGE, 1 - EDGE)
        self.noise.update(H, N1, N0)
        return State(state.W, H)

    def _smoothed(self, N1: np.ndarray, N0: np.ndarray, frequencies: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Counts with those of the prior; noise components have none."""
        content = (np.arange(N1.shape[-2]) < self.n_components)[:, None]
        ones, zeros = (self.smoothing * content * share[..., None, :] for share in (frequencies, 1 - frequencies))
        return N1 + ones, N0 + zeros

    def with_weights(self, state: State, found: Evaluated) -> State:
        """Eq. 5."""
        return state._replace(W=found.rows)

    def _project_rows(self) -> tuple[Any, ...]:
        return onto_simplex, EDGE

    def improved(
        self, states: State, M: np.ndarray, A1: np.ndarray, A0: np.ndarray, log_likelihoods: np.ndarray
    ) -> tuple[State, np.ndarray]:
        """Stacked states after a step, by the sums of their passes, and the objectives of those given."""
        found = self._evaluated(as_shares(M, states.W), states.H, A1, A0, log_likelihoods)
        return self.with_weights(self.with_sources(states, found), found), np.asarray(found.objective)

    def _project_rest(self, state: State) -> State:
        """H inside its bounds."""
        H = np.clip(state.H, EDGE, 1 - EDGE)
        self.noise.project(H)
        return State(state.W, H)


def column_frequencies(N1: np.ndarray, N0: np.ndarray, H: np.ndarray) -> np.ndarray:
    """The columns' shares of ones by the counts of all components, whose sums are the columns' own.

    So they are known of batches and of rows elsewhere too. A column without observed cells has the mean of H, of which
    nothing is held against it.
    """
    ones, cells = N1.sum(axis=-2), (N1 + N0).sum(axis=-2)
    return np.clip(np.divide(ones, cells, out=H.mean(axis=-2), where=cells > 0), 0.0, 1.0)


def equal_weights(chunk: Chunk, W: np.ndarray) -> Sums:
    """Where all rows start."""
    W[:] = 1 / W.shape[1]
    return ()


def em_weights(chunk: Chunk, new: np.ndarray, W: np.ndarray, h1: np.ndarray, h0: np.ndarray) -> Sums:
    """Weights by eq. 5; the sums A1 and A0 of the pass, and the log likelihood."""
    M, row_log, A1, A0 = pass_over(chunk, W, h1, h0)
    new[:] = as_shares(M, W)
    return A1, A0, float(chunk.row_weight @ row_log)


def as_shares(M: np.ndarray, W: np.ndarray) -> np.ndarray:
    """Each row of M divided by its sum; a row without observed cells keeps its weights W: 0 / 0."""
    observed = M.sum(axis=-1, keepdims=True)
    return np.divide(M, observed, out=W.copy(), where=observed > 0)


def onto_simplex(W: np.ndarray, least: float) -> None:
    """Weights back on the simplex, in place, none of them 0 (where EM would leave them)."""
    np.maximum(W, least, out=W)
    W /= W.sum(axis=-1, keepdims=True)


# ---- maximum likelihood at the cost of the ones ------------------------------------------------------------------

LARGEST = 0.2
"""theta: components of expanded columns stay below it. The error per cell is then at most 0.079 of the mean p^2; with
0.1 it would be 0.036, at twice to three times as many exact columns."""

KAPPA = 2 * (-np.log1p(-LARGEST) - LARGEST) / LARGEST**2

MOST_EXACT = 1 / 3
"""With more exact columns than this share, all are: the exact pass then costs no more."""

LEAST_WORK = 20_000_000  # cells x components below which a pass takes some milliseconds: exact
ONE, EXACT_CELL, ROW = 20, 2, 100  # what each costs, in cells of the exact pass
GAIN = 3  # how many times cheaper a pass has to be


_NO_CELLS = np.zeros((0, 0), np.int8)


class ExpandedState(NamedTuple):
    """W: (N, K) rows on the simplex. H: (K, D) probabilities of a 1. exact: (D,) 1 for columns that aren't expanded."""

    W: np.ndarray
    H: np.ndarray
    exact: np.ndarray


class ZeroSums(NamedTuple):
    """What a chunk of rows adds, r being a row's weight.

    With the rows' new weights w, in columns that are expanded:
    G : (D, K)  sum r w / p over the ones
    F : (D, K)  sum r w (1 + kappa p) over ones and missing cells
    V : (K, K)  sum r w w^T
    S : (K,)  sum r w
    With their old weights, in columns that are exact (see `Statistics`):
    A1, A0 : (K, n_exact)  sum r w / p over the ones, sum r w / (1 - p) over the zeros
    value : the objective of the old weights
    """

    G: np.ndarray
    F: np.ndarray
    V: np.ndarray
    S: np.ndarray
    A1: np.ndarray
    A0: np.ndarray
    value: float


class Broadcast(NamedTuple):
    """What every chunk needs of the components: see `sparse_pass` and `aspect_pass` (H1, H0, of exact columns)."""

    Ht: np.ndarray
    place: np.ndarray
    total: np.ndarray
    cross: np.ndarray
    H1: np.ndarray
    H0: np.ndarray

    @classmethod
    def of(cls, H: np.ndarray, exact: np.ndarray, kind: Any) -> Broadcast:
        """By the columns that are exact (bool); `kind` is what these are computed in."""
        place = np.full(H.shape[1], -1, np.int32)
        place[exact] = np.arange(exact.sum())
        Ht = _padded(H.T)
        small = Ht[~exact]
        H1 = H[:, exact]
        return cls(Ht, place, small.sum(axis=0), small.T @ small, kernel_array(H1, kind), kernel_array(1 - H1, kind))


def improve_rows(chunk: Chunk, new: np.ndarray, W: np.ndarray, *broadcast: np.ndarray) -> ZeroSums:
    """The new weights of a chunk of rows, and what it adds."""
    given = Broadcast(*broadcast)
    csr, weight, W = _csr_arrays(chunk), kernel_array(chunk.row_weight), kernel_array(W)
    (D, padded), (n, K), n_exact = given.Ht.shape, W.shape, given.H1.shape[1]
    M, row_value = np.zeros((n, K)), np.zeros(n)
    G, F = np.zeros((D, padded)), np.zeros((D, padded))
    A1, A0 = np.zeros((K, n_exact)), np.zeros((K, n_exact))
    if n_exact:
        kind = given.H1.dtype
        numbers = kernel_array(W, kind), given.H1, given.H0, kernel_array(weight, kind)
        aspect_pass(_NO_CELLS, *exact_entries(*csr, given.place), True, *numbers, M, A1, A0, row_value)
    sparse_pass(*csr, W, weight, *given[:4], KAPPA, M, new, G, F, row_value)
    V = (weight[:, None] * new).T @ new
    return ZeroSums(G[:, :K], F[:, :K], V, weight @ new, A1, A0, float(weight @ row_value))


class PriorCells(NamedTuple):
    """Ones and zeros that each component has seen before the data (K x D); see `MaximumLikelihood`."""

    ones: np.ndarray
    zeros: np.ndarray

    def cost(self, H: np.ndarray, exact: np.ndarray) -> float:
        """What they take off the log likelihood, zeros of columns that aren't exact expanded."""
        if not self.ones.any() and not self.zeros.any():
            return 0.0
        n = np.maximum(self.ones + self.zeros, np.finfo(float).tiny)
        p = H + KAPPA * H**2 / 2
        log_zero = np.where(exact, np.log1p(-H), -p)
        at_best = rel_entr(self.ones, n) + rel_entr(self.zeros, n)
        return float(np.sum(at_best - self.ones * np.log(H) - self.zeros * log_zero))


def improve_components(H: np.ndarray, exact: np.ndarray, sums: ZeroSums, prior: PriorCells) -> np.ndarray:
    """New components from the sums of all chunks: EM's for exact columns, bounded ones for the others.

    Of an expanded column H_k y maximises sum_k H_k (G_k log y - T_k y - U_k y^2 / 2) below `LARGEST`, where
    T = S - F and U = kappa V H. The cells of the prior are rows that one component has caused.
    """
    G = sums.G.T + prior.ones / H
    T, U = sums.S[:, None] - sums.F.T + prior.zeros, KAPPA * (sums.V @ H + prior.zeros * H)
    root = np.sqrt(T * T + 4 * U * G)
    with np.errstate(divide="ignore", invalid="ignore"):
        y = np.where(T > 0, 2 * G / (T + root), (root - T) / (2 * U))
    new = np.clip(H * np.where(np.isfinite(y), y, 1.0), EDGE, LARGEST)
    N1, N0 = H[:, exact] * sums.A1 + prior.ones[:, exact], (1 - H[:, exact]) * sums.A0 + prior.zeros[:, exact]
    caused = N1 + N0
    new[:, exact] = np.clip(np.divide(N1, caused, out=H[:, exact], where=caused > 0), EDGE, 1 - EDGE)
    return new


@dataclass(frozen=True)
class ExpandedZeros(PlacedLearner[ExpandedState]):
    """The learner of `MaximumLikelihood`'s model by a lower bound of its log likelihood, for sparse data.

    `n_components` have content; those of `noise` follow them, with given rates.
    """

    data: BinaryData
    row_weight: np.ndarray
    n_components: int
    workers: Workers
    noise: NoiseComponents = NO_NOISE
    smoothing: float = 0.0

    @cached_property
    def exactly(self) -> MaximumLikelihood:
        """The learner of the log likelihood itself."""
        return MaximumLikelihood(
            self.data, self.row_weight, self.n_components, self.workers, self.noise, self.smoothing
        )

    @cached_property
    def _prior(self) -> PriorCells:
        """Of the components with content; a column without observed cells has none."""
        ones, observed = self.rows.total(column_counts, ())
        content = np.arange(self.n_components + len(self.noise)) < self.n_components
        cells = self.smoothing * content[:, None] * (observed > 0)
        share = np.divide(ones, observed, out=np.zeros(len(ones)), where=observed > 0)
        return PriorCells(cells * share, cells * (1 - share))

    @property
    def rows(self) -> Rows:
        """Where rows are worked on."""
        return self.exactly.rows

    def initialise(self, rng: np.random.Generator) -> ExpandedState:
        """The start of `MaximumLikelihood`; columns are exact that are frequent or have a large noise component."""
        W, H = self.exactly.initialise(rng)
        ones, _ = self.rows.total(column_counts, ())
        frequent = ones > LARGEST / 2 * self.row_weight.sum()
        exact = frequent | (H[self.n_components :] >= LARGEST).any(axis=0)
        H[:, ~exact] = np.minimum(H[:, ~exact], LARGEST / 2)
        return ExpandedState(W, H, self._enough(exact).astype(float))

    def _enough(self, exact: np.ndarray) -> np.ndarray:
        return exact if exact.mean() <= MOST_EXACT else np.ones_like(exact)

    def step(self, state: ExpandedState) -> tuple[ExpandedState, float]:
        """New weights, components given these, and the lower bound of the state given."""
        W, H, flags = state
        exact = flags > 0
        if exact.all():
            (W, H), value = self.exactly.step(State(W, H))
            return ExpandedState(W, H, flags), value
        N, D = self.data.shape
        given = Broadcast.of(H, exact, np.float64 if N * D * len(H) <= SMALL_WORK else np.float32)
        W, found = self.rows.update(improve_rows, len(H), [W], *given)
        sums = ZeroSums(*found)
        value = sums.value - self._prior.cost(H, exact)
        H = improve_components(H, exact, sums, self._prior)
        self.noise.update(H, H, H)  # given rates: the counts don't matter
        exact = self._enough(exact | (H >= LARGEST).any(axis=0))
        return ExpandedState(W, H, exact.astype(float)), float(value)

    def squared_moves(self, points: Sequence[ExpandedState]) -> tuple[float, float]:
        """As `Learner` says; whether columns are exact is no distance."""
        return self.exactly.squared_moves([State(*point[:2]) for point in points])

    def extrapolate(self, points: Sequence[ExpandedState], length: float) -> ExpandedState:
        """As `Learner` says; columns that were exact stay it, and the others inside their bounds."""
        W, H = self.exactly.extrapolate([State(*point[:2]) for point in points], length)
        exact = np.max([point.exact for point in points], axis=0) > 0
        H[:, ~exact] = np.minimum(H[:, ~exact], LARGEST)
        return ExpandedState(W, H, exact.astype(float))

    def error_bound(self, state: ExpandedState) -> float:
        """How far the log likelihood can be above the objective: sum over expanded cells of (kappa - 1) p^2 / 2.

        As -log(1 - p) >= p + p^2 / 2; the ones are counted as well, which makes the bound a little larger.
        """
        small, zeros = state.H[:, state.exact == 0], self._prior.zeros[:, state.exact == 0]
        (V,) = self.rows.total(_second_moments, [state.W])
        return float((KAPPA - 1) / 2 * (np.sum(V * (small @ small.T)) + np.sum(zeros * small**2)))

    def log_likelihood(self, state: ExpandedState) -> float:
        """Of all observed cells, exactly, less what the prior takes off."""
        return self.exactly.step(State(state.W, state.H))[1]

    def summary(self, state: ExpandedState) -> dict[str, float]:
        """The exact log likelihood of a stored state, how far it can be above the objective, and the exact columns."""
        while True:
            try:
                placed = self.restored(state)
                return {
                    "log_likelihood": float(self.log_likelihood(placed)),
                    "bound": self.error_bound(placed),
                    "exact_columns": int(np.sum(state.exact > 0)),
                }
            except RowsLost:
                continue


def _second_moments(chunk: Chunk, W: np.ndarray) -> Sums:
    return ((chunk.row_weight[:, None] * W).T @ W,)


def worth_expanding(data: BinaryData, n_components: int) -> bool:
    """Whether a pass over sparse data would be much cheaper with zeros expanded, by the predicted cost of both."""
    if data.n_stored is None:
        return False
    N, D = data.shape
    n_exact = int(np.sum(data.ones_per_column() > LARGEST / 2 * N))
    cost = ONE * data.n_stored + EXACT_CELL * N * n_exact + ROW * N
    return N * D * n_components >= LEAST_WORK and GAIN * cost <= N * D and n_exact <= MOST_EXACT * D


def _padded(values: np.ndarray) -> np.ndarray:
    """With columns of zeros up to a multiple of what kernels compute at once."""
    n, K = values.shape
    wide = np.zeros((n, -(-K // VECTOR) * VECTOR))
    wide[:, :K] = values
    return wide


def _csr_arrays(chunk: Chunk) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The rows as indptr, indices and values."""
    csr = chunk.data.sparse
    if csr is None:
        csr = with_index_types(sp.csr_array(chunk.data.block(chunk.rows)))
        return csr.indptr, csr.indices, csr.data
    return csr.indptr[chunk.rows.start : chunk.rows.stop + 1], csr.indices, csr.data
