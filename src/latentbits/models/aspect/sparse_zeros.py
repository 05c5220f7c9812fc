"""Maximum likelihood at the cost of the ones: where all components are small, zeros are expanded.

In a column where no component exceeds theta (`LARGEST`), log(1 - p) >= -(p + kappa p^2 / 2) for the kappa at which both
sides are equal at p = theta. So the objective is a lower bound of the log likelihood, and its sums over zeros are sums
over all cells, known from W^T W and H H^T, less those of the ones. A column in which a component reaches theta becomes
exact and stays it, which can only raise the bound.

A step is a majorised one (Jensen's inequality for the concave terms, as in multiplicative updates): first the weights,
then the components given these; exact columns as in EM, which may use the same responsibilities for both. EM's own step
would be tiny, because it counts all the zeros that hardly move.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from latentbits.data.binary_data import BinaryData
from latentbits.data.codes import with_index_types
from latentbits.fitting.workers import Workers
from latentbits.kernels.arrays import kernel_array
from latentbits.kernels.aspect_pass import aspect_pass
from latentbits.kernels.sparse_pass import VECTOR, exact_entries, sparse_pass
from latentbits.models.aspect.maximum_likelihood import EDGE, MaximumLikelihood, State
from latentbits.models.aspect.noise import NO_NOISE, NoiseComponents
from latentbits.models.aspect.statistics import SMALL_WORK, collect

__all__ = ["ExpandedState", "ExpandedZeros", "Sums", "worth_expanding"]

LARGEST = 0.2
"""theta: components of expanded columns stay below it. The error per cell is then at most 0.079 of the mean p^2; with
0.1 it would be 0.036, at twice to three times as many exact columns."""

KAPPA = 2 * (-np.log1p(-LARGEST) - LARGEST) / LARGEST**2

MOST_EXACT = 1 / 3
"""With more exact columns than this share, all are: the exact pass then costs no more."""

MAX_CHUNKS, CHUNK_ROWS = 16, 4096
MOST_SUMS = 1 << 26  # numbers in the sums of all chunks together

LEAST_WORK = 20_000_000  # cells x components below which a pass takes some milliseconds: exact
ONE, EXACT_CELL, ROW = 20, 2, 100  # what each costs, in cells of the exact pass
GAIN = 3  # how many times cheaper a pass has to be

_NO_CELLS = np.zeros((0, 0), np.int8)

Csr = tuple[np.ndarray, np.ndarray, np.ndarray]
"""Rows as indptr, indices and values."""


class ExpandedState(NamedTuple):
    """W: (N, K) rows on the simplex. H: (K, D) probabilities of a 1. exact: (D,) 1 for columns that aren't expanded."""

    W: np.ndarray
    H: np.ndarray
    exact: np.ndarray


class Sums(NamedTuple):
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

    def plus(self, other: Sums) -> Sums:
        """Both added up, in the arrays of the first."""
        for mine, more in zip(self[:-1], other[:-1], strict=True):
            mine += more
        return self._replace(value=self.value + other.value)


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


def improve_rows(csr: Csr, W: np.ndarray, row_weight: np.ndarray, given: Broadcast) -> tuple[np.ndarray, Sums]:
    """The new weights of a chunk of rows, and what it adds: a function of these arguments alone."""
    (D, padded), (n, K), n_exact = given.Ht.shape, W.shape, given.H1.shape[1]
    new, M, row_value = np.empty((n, K)), np.zeros((n, K)), np.zeros(n)
    G, F = np.zeros((D, padded)), np.zeros((D, padded))
    A1, A0 = np.zeros((K, n_exact)), np.zeros((K, n_exact))
    if n_exact:
        kind = given.H1.dtype
        numbers = kernel_array(W, kind), given.H1, given.H0, kernel_array(row_weight, kind)
        aspect_pass(_NO_CELLS, *exact_entries(*csr, given.place), True, *numbers, M, A1, A0, row_value)
    sparse_pass(*csr, W, row_weight, *given[:4], KAPPA, M, new, G, F, row_value)
    V = (row_weight[:, None] * new).T @ new
    return new, Sums(G[:, :K], F[:, :K], V, row_weight @ new, A1, A0, float(row_weight @ row_value))


def improve_components(H: np.ndarray, exact: np.ndarray, sums: Sums) -> np.ndarray:
    """New components from the sums of all chunks: EM's for exact columns, bounded ones for the others.

    Of an expanded column H_k y maximises sum_k H_k (G_k log y - T_k y - U_k y^2 / 2) below `LARGEST`, where
    T = S - F and U = kappa V H.
    """
    G = sums.G.T
    T, U = sums.S[:, None] - sums.F.T, KAPPA * (sums.V @ H)
    root = np.sqrt(T * T + 4 * U * G)
    with np.errstate(divide="ignore", invalid="ignore"):
        y = np.where(T > 0, 2 * G / (T + root), (root - T) / (2 * U))
    new = np.clip(H * np.where(np.isfinite(y), y, 1.0), EDGE, LARGEST)
    N1, N0 = H[:, exact] * sums.A1, (1 - H[:, exact]) * sums.A0
    caused = N1 + N0
    new[:, exact] = np.clip(np.divide(N1, caused, out=H[:, exact], where=caused > 0), EDGE, 1 - EDGE)
    return new


@dataclass(frozen=True)
class ExpandedZeros:
    """The learner of `MaximumLikelihood`'s model by a lower bound of its log likelihood, for sparse data.

    `n_components` have content; those of `noise` follow them, with given rates.
    """

    data: BinaryData
    row_weight: np.ndarray
    n_components: int
    workers: Workers
    noise: NoiseComponents = NO_NOISE

    @property
    def exactly(self) -> MaximumLikelihood:
        """The learner of the log likelihood itself."""
        return MaximumLikelihood(self.data, self.row_weight, self.n_components, self.workers, self.noise)

    def initialise(self, rng: np.random.Generator) -> ExpandedState:
        """The start of `MaximumLikelihood`; columns are exact that are frequent or have a large noise component."""
        W, H = self.exactly.initialise(rng)
        frequent = self.data.ones_per_column(self.row_weight) > LARGEST / 2 * self.row_weight.sum()
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
        new_W, sums = self._pass(W, H, exact)
        new_H = improve_components(H, exact, sums)
        self.noise.update(new_H, new_H, new_H)  # given rates: the counts don't matter
        exact = self._enough(exact | (new_H >= LARGEST).any(axis=0))
        return ExpandedState(new_W, new_H, exact.astype(float)), sums.value

    def _pass(self, W: np.ndarray, H: np.ndarray, exact: np.ndarray) -> tuple[np.ndarray, Sums]:
        """All chunks of rows: cut by the shape of the data alone and added in order, whatever the number of threads."""
        indptr, indices, values = _csr_arrays(self.data)
        given = Broadcast.of(H, exact, np.float64 if self.data.shape[1] * W.size <= SMALL_WORK else np.float32)
        W, weight = kernel_array(W), kernel_array(self.row_weight)

        def one(rows: slice) -> tuple[np.ndarray, Sums]:
            csr = indptr[rows.start : rows.stop + 1], indices, values
            return improve_rows(csr, W[rows], weight[rows], given)

        parts = self.workers.map(one, _chunks(len(W), *H.shape))
        total = parts[0][1]
        for _, sums in parts[1:]:
            total = total.plus(sums)
        return np.concatenate([new for new, _ in parts]), total

    def project(self, state: ExpandedState) -> ExpandedState:
        """Weights on the simplex, none of them 0; components inside their bounds; columns that were exact stay it."""
        W, H = self.exactly.project(State(state.W, state.H))
        expanded = state.exact == 0
        H[:, expanded] = np.minimum(H[:, expanded], LARGEST)
        return ExpandedState(W, H, (~expanded).astype(float))

    def scales(self) -> tuple[np.ndarray | float, ...]:
        """A row of weight 2 counts like two rows; whether columns are exact is no distance."""
        return *self.exactly.scales(), 0.0

    def error_bound(self, state: ExpandedState) -> float:
        """How far the log likelihood can be above the objective: sum over expanded cells of (kappa - 1) p^2 / 2.

        As -log(1 - p) >= p + p^2 / 2; the ones are counted as well, which makes the bound a little larger.
        """
        small = state.H[:, state.exact == 0]
        V = (self.row_weight[:, None] * state.W).T @ state.W
        return float((KAPPA - 1) / 2 * np.sum(V * (small @ small.T)))

    def summary(self, state: ExpandedState) -> dict[str, float]:
        """The exact log likelihood of a state, how far it can be above the objective, and the exact columns."""
        return {
            "log_likelihood": self.log_likelihood(state),
            "bound": self.error_bound(state),
            "exact_columns": int(np.sum(state.exact > 0)),
        }

    def log_likelihood(self, state: ExpandedState) -> float:
        """Of all observed cells, exactly."""
        row_log = collect(self.data, state.W, state.H, 1 - state.H, self.row_weight, self.workers).row_log
        return float(self.row_weight @ row_log)


def worth_expanding(data: BinaryData, n_components: int) -> bool:
    """Whether a pass over sparse data would be much cheaper with zeros expanded, by the predicted cost of both."""
    if data.sparse is None:
        return False
    N, D = data.shape
    n_exact = int(np.sum(data.ones_per_column() > LARGEST / 2 * N))
    cost = ONE * data.sparse.nnz + EXACT_CELL * N * n_exact + ROW * N
    return N * D * n_components >= LEAST_WORK and GAIN * cost <= N * D and n_exact <= MOST_EXACT * D


def _padded(values: np.ndarray) -> np.ndarray:
    """With columns of zeros up to a multiple of what kernels compute at once."""
    n, K = values.shape
    wide = np.zeros((n, -(-K // VECTOR) * VECTOR))
    wide[:, :K] = values
    return wide


def _csr_arrays(data: BinaryData) -> Csr:
    csr = data.sparse if data.sparse is not None else with_index_types(sp.csr_array(data.dense()))
    return csr.indptr, csr.indices, csr.data


def _chunks(N: int, K: int, D: int) -> list[slice]:
    """Consecutive rows, of which no more than are worth sums of their own."""
    n = int(np.clip(min(N // CHUNK_ROWS, MOST_SUMS // (2 * D * K)), 1, MAX_CHUNKS))
    edges = [N * c // n for c in range(n + 1)]
    return [slice(edges[c], edges[c + 1]) for c in range(n)]
