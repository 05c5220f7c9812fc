"""PLSA, the aspect model of the ones: each one of row i falls on column j with probability p(j|i) = sum_k s_ik H_kj.

Fitted in its Poisson form. With W_ik = L_i s_ik, the objective is F = sum_ij m_ij [x_ij log (WH)_ij - (WH)_ij] over
the observed cells (m_ij = 1). Rows of H sum to 1, so with nothing missing the second term is -sum_k W_ik and the best
W sums to the row's number of ones L_i: what remains is the multinomial likelihood sum_ij x_ij log p(j|i), and a
constant. With missing cells it is likewise the multinomial of the row's ones on its observed columns, and
L_i = sum_k W_ik is the expected number of ones of the whole row.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from latentbits.data.binary_data import MISSING, BinaryData
from latentbits.fitting.climb import ArrayLearner
from latentbits.fitting.workers import Workers
from latentbits.kernels.fold_in import fold_in
from latentbits.kernels.ones_pass import ones_pass
from latentbits.models.solved_rows import Solution

__all__ = ["Ones", "PoissonEM", "State", "chance_of_one", "log_chances", "solve_rows"]

EDGE = 1e-10
"""H stays at least this large: no one of a new row gets probability 0."""

NOTHING = 1e-12  # a row or column that shows less than this share of a component doesn't update it: rounding of 0 / 0

CHUNK_WORK = 500_000  # ones x components of a chunk of rows
MAX_CHUNKS = 16  # each chunk has its own D x K sums

GAP = 1e-12  # rows are solved for until at most this much log-likelihood per one can be gained
MAX_STEPS = 100
BLOCK_ROWS = 256  # rows solved for at a time

# Placeholders for the storage that is not used: compiled kernels take arrays of fixed types, not None.
_NO_POINTERS = np.zeros(1, np.int64)
_NO_INDICES = np.zeros(0, np.int32)
_NO_VALUES = np.zeros(0, np.int8)


class State(NamedTuple):
    """W: (N, K), its rows sum to the intensities L_i. H: (K, D), rows on the simplex."""

    W: np.ndarray
    H: np.ndarray


@dataclass(frozen=True)
class Ones:
    """Where the ones and the missing cells of N x D data are, row by row (CSR)."""

    shape: tuple[int, int]
    indptr: np.ndarray
    indices: np.ndarray
    missing: sp.csr_array | None

    @classmethod
    def of(cls, data: BinaryData) -> Ones:
        """The ones of dense or sparse data; equal data give equal arrays."""
        indptr, indices = _places(data, 1)
        missing = None
        if data.has_missing:
            before, columns = _places(data, MISSING)
            missing = sp.csr_array((np.ones(len(columns)), columns, before), shape=data.shape)
        return cls(data.shape, indptr, indices, missing)

    @cached_property
    def per_row(self) -> np.ndarray:
        """L_i, as float64."""
        return np.diff(self.indptr).astype(np.float64)

    def row(self, i: int) -> np.ndarray:
        """The columns in which row i has its ones."""
        return self.indices[self.indptr[i] : self.indptr[i + 1]]

    def hidden(self, i: int) -> np.ndarray:
        """The columns in which row i is missing."""
        if self.missing is None:
            return _NO_INDICES
        return self.missing.indices[self.missing.indptr[i] : self.missing.indptr[i + 1]]

    def chunks(self, K: int) -> list[slice]:
        """Rows cut into chunks with about as many ones each, independent of the number of threads."""
        n = int(np.clip(len(self.indices) * K // CHUNK_WORK, 1, min(MAX_CHUNKS, self.shape[0])))
        inner = np.searchsorted(self.indptr, [len(self.indices) * c // n for c in range(1, n)])
        return [slice(int(a), int(b)) for a, b in pairwise([0, *inner, self.shape[0]])]


def _places(data: BinaryData, code: int) -> tuple[np.ndarray, np.ndarray]:
    """indptr (int64) and sorted column indices (int32) of the cells with this code."""
    if data.sparse is None:
        csr = sp.csr_array(data.dense() == code)
        return csr.indptr.astype(np.int64), csr.indices.astype(np.int32)
    chosen = data.sparse.data == code
    before = np.concatenate(([0], np.cumsum(chosen)))
    return before[data.sparse.indptr], data.sparse.indices[chosen]


@dataclass(frozen=True)
class PoissonEM(ArrayLearner[State]):
    """EM for F (see above), rows weighted: q_ijk = W_ik H_kj / (WH)_ij is the share of component k in a one."""

    data: BinaryData
    row_weight: np.ndarray
    n_components: int
    workers: Workers

    @cached_property
    def ones(self) -> Ones:
        """The data as the passes need them, made once."""
        return Ones.of(self.data)

    def initialise(self, rng: np.random.Generator) -> State:
        """The columns' shares of ones times random factors; all components alike in a row, so equal rows stay equal."""
        observed = self.data.observed_per_column(self.row_weight)
        found = self.data.ones_per_column(self.row_weight)
        # Smoothed by the average column: columns without ones or observed cells get a positive share.
        average = (found.sum() + 0.5) / (observed.sum() + 1.0)
        share = (found + average) / (observed + 1.0)
        K = self.n_components
        H = share * np.exp(rng.uniform(-2.0, 2.0, size=(K, len(share))))
        return self.project(State(np.repeat(self.ones.per_row[:, None] / K, K, axis=1), H))

    def step(self, state: State) -> tuple[State, float]:
        """q at the ones, then W given H, then H given the new W: both raise the same bound, also with missing cells."""
        W, H = state
        M, N1, row_log = self._pass(W, H)
        seen = self._seen_by_rows(H)
        objective = float(self.row_weight @ (row_log - np.einsum("ik,ik->i", W, seen)))
        # Where the observed cells of a row show nothing of a component, or a column has no row that uses it, the value
        # is kept.
        W = np.divide(M, seen, out=W.copy(), where=seen > NOTHING)
        weighted = self.row_weight[:, None] * W
        used = self._seen_by_columns(weighted)
        H = np.divide(N1, used, out=H.copy(), where=used > NOTHING * weighted.sum(axis=0)[:, None])
        scale = H.sum(axis=1)  # moved to W, so that W H is unchanged
        return State(W * scale, _on_simplex(H)), objective

    def project(self, state: State) -> State:
        """H on the simplex; W positive where a row has ones, and scaled so that F is highest: its ones are expected."""
        H = _on_simplex(state.H)
        L = self.ones.per_row
        W = np.maximum(state.W, EDGE * L[:, None])
        expected = np.einsum("ik,ik->i", W, self._seen_by_rows(H))
        scale = np.divide(L, expected, out=np.zeros_like(L), where=expected > 0)
        return State(W * scale[:, None], H)

    def scales(self) -> tuple[np.ndarray | float, ...]:
        """Rows are measured as proportions, times their weight, and columns by their share: both are then about 1."""
        return (self.row_weight / np.maximum(self.ones.per_row, 1.0) ** 2)[:, None], float(self.ones.shape[1])

    def _pass(self, W: np.ndarray, H: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """sum_j q_ijk (N x K), sum_i q_ijk (K x D, rows weighted), and sum_j log (WH)_ij (N), all over the ones."""
        ones, weight = self.ones, self.row_weight
        K = self.n_components
        M, row_log = np.empty_like(W), np.empty(len(W))
        Ht = np.ascontiguousarray(H.T)

        def one(rows: slice) -> np.ndarray:
            G = np.zeros_like(Ht)
            indptr = ones.indptr[rows.start : rows.stop + 1]
            ones_pass(indptr, ones.indices, W[rows], Ht, weight[rows], M[rows], G, row_log[rows])
            return G

        G = np.zeros_like(Ht)
        for part in self.workers.map(one, ones.chunks(K)):
            G += part
        return M, np.ascontiguousarray((Ht * G).T), row_log

    def _seen_by_rows(self, H: np.ndarray) -> np.ndarray:
        """sum_j m_ij H_kj: how much of each component the observed columns of row i show (N x K)."""
        total = H.sum(axis=1)
        if self.ones.missing is None:
            return np.broadcast_to(total, (self.ones.shape[0], len(H)))
        return np.maximum(total - self.ones.missing @ H.T, 0.0)

    def _seen_by_columns(self, W: np.ndarray) -> np.ndarray:
        """sum_i m_ij W_ik: how much of each component the observed rows of column j use (K x D)."""
        total = W.sum(axis=0)[:, None]
        if self.ones.missing is None:
            return np.broadcast_to(total, (W.shape[1], self.ones.shape[1]))
        return np.maximum(total - (self.ones.missing.T @ W).T, 0.0)


def _on_simplex(H: np.ndarray) -> np.ndarray:
    H = np.maximum(H / H.sum(axis=1, keepdims=True), EDGE)  # normalised before, so that EDGE is relative
    return H / H.sum(axis=1, keepdims=True)


def solve_rows(data: BinaryData, H: np.ndarray, blank: np.ndarray, *, workers: Workers) -> Solution:
    """Each row's optimal W, H fixed: N x K. Rows without observed cells get `blank`, others without ones get 0.

    Let b_k = sum_j m_ij H_kj and v_k = b_k W_ik / L_i, L_i counting the ones seen. The best v is on the simplex and
    maximises the mean of log sum_k v_k H_kj / b_k over the row's ones: the problem that `fold_in` solves, with a
    certificate. Rows that miss the same cells have the same b and are solved for together.
    """
    ones = Ones.of(data)
    N, K = len(ones.per_row), len(H)
    W, gap = np.zeros((N, K)), np.zeros(N)
    W[data.observed_per_row() == 0] = blank
    start, gap = np.full(K, 1 / K), np.zeros(N)

    def one(rows: list[int]) -> None:
        shown = np.ones(H.shape[1], dtype=bool)
        shown[ones.hidden(rows[0])] = False
        b = H[:, shown].sum(axis=1)
        columns, place = np.unique(np.concatenate([ones.row(i) for i in rows]), return_inverse=True)
        L = ones.per_row[rows]
        cells = np.full((len(rows), len(columns)), MISSING, np.int8)  # to the solver only the ones exist
        cells[np.repeat(np.arange(len(rows)), L.astype(np.intp)), place] = 1
        h = np.ascontiguousarray(H[:, columns] / b[:, None])
        v, left = np.empty((len(rows), K)), np.empty(len(rows))
        none = np.zeros(len(columns), dtype=bool), np.zeros((K, 0)), np.zeros(K), np.zeros((K, K))  # no common zeros
        arrays = cells, _NO_POINTERS, _NO_INDICES, _NO_VALUES, False, h, h, *none
        fold_in(*arrays, start, GAP, MAX_STEPS, v, left)
        W[rows], gap[rows] = v * L[:, None] / b, left

    workers.map(one, _alike(ones))
    return Solution(W, gap)


def _alike(ones: Ones) -> Iterator[list[int]]:
    """Blocks of rows that have ones and miss the same cells."""
    groups: dict[bytes, list[int]] = {}
    for i in map(int, np.flatnonzero(ones.per_row)):
        groups.setdefault(ones.hidden(i).tobytes(), []).append(i)
    for rows in groups.values():
        for first in range(0, len(rows), BLOCK_ROWS):
            yield rows[first : first + BLOCK_ROWS]


def chance_of_one(W: np.ndarray, H: np.ndarray) -> np.ndarray:
    """1 - (1 - p(j|i))^L_i, the probability that at least one of a row's L_i ones falls on a column (AB paper, eq. 28).

    The paper's p(t|n) and L_n; L_i is the sum of W_i, and p(j|i) = (W H)_ij / L_i.
    """
    return -np.expm1(_log_chance_of_zero(W, H))


def log_chances(W: np.ndarray, H: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """log P(1) and log P(0) of the cells, by the same equation; as low as -690, never infinite."""
    log_q = _log_chance_of_zero(W, H)
    return np.log(np.maximum(-np.expm1(log_q), 1e-300)), log_q


def _log_chance_of_zero(W: np.ndarray, H: np.ndarray) -> np.ndarray:
    L = np.maximum(W.sum(axis=1, keepdims=True), 0.0)
    p = np.divide(W @ H, L, out=np.zeros((len(W), H.shape[1])), where=L > 0)
    # p is kept below 1, where a zero is impossible: logarithms stay finite.
    return np.maximum(L * np.log1p(-np.clip(p, 0.0, 1 - 1e-16)), np.log(1e-300))
