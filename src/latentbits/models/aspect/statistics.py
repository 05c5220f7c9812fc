"""The pass of all learners of the family (expectations in, sufficient statistics out), and fold-in of new rows."""

from __future__ import annotations

from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from latentbits.data.binary_data import BinaryData
from latentbits.fitting.workers import Workers
from latentbits.kernels.arrays import kernel_array
from latentbits.kernels.aspect_pass import aspect_pass
from latentbits.kernels.fold_in import fold_in
from latentbits.models.solved_rows import Solution

__all__ = ["Statistics", "collect", "common_zeros", "solve_weights"]

CHUNK_WORK = 2_000_000  # cells x components of a chunk of rows: about half a millisecond
SMALL_WORK = 200_000  # cells x components up to which the pass runs in float64: speed doesn't matter there
MAX_CHUNKS = 16  # each chunk has its own K x D sums

GAP = 1e-9
"""Weights are solved for until at most this much log likelihood per cell can be gained: in a row of 2,000 cells 2e-6
nats, which moves no weight by more than 0.2 % of its standard error. Newton's last step usually goes far below."""

MAX_STEPS = 100
COMMON = 0.1  # columns in which no component exceeds this are common zeros of all rows when weights are solved for

# Placeholders for the storage that is not used: compiled kernels take arrays of fixed types, not None.
_NO_CELLS = np.zeros((0, 0), np.int8)
_NO_POINTERS = np.zeros(1, np.int64)
_NO_INDICES = np.zeros(0, np.int32)
_NO_VALUES = np.zeros(0, np.int8)


class Statistics(NamedTuple):
    """Sufficient statistics of a pass, with q_ijk the probability that component k caused cell ij.

    M : (N, K)  sum_j q_ijk, how much of row i each component caused
    N1 : (K, D)  sum_i q_ijk over the ones (rows weighted)
    N0 : (K, D)  sum_i q_ijk over the zeros (rows weighted)
    row_log : (N,)  sum_j log d_ij
    """

    M: np.ndarray
    N1: np.ndarray
    N0: np.ndarray
    row_log: np.ndarray


def collect(
    data: BinaryData,
    W: np.ndarray,
    H1: np.ndarray,
    H0: np.ndarray,
    row_weight: np.ndarray,
    workers: Workers,
    *,
    precise: bool | None = None,
) -> Statistics:
    """One pass over the data. W, H1, H0 are W~, H1~, H0~: expectations, not necessarily normalised.

    `precise` computes in float64; by default small problems do, where the cost is negligible. The rows are cut into
    chunks by the shape of the problem alone and the chunks' sums are added in order, so the result doesn't depend on
    the number of threads.
    """
    N, K = W.shape
    D = H1.shape[1]
    M = np.zeros((N, K))
    row_log = np.zeros(N)
    if precise is None:
        precise = N * D * K <= SMALL_WORK
    kind = np.float64 if precise else np.float32
    w, h1, h0, weight = (kernel_array(a, kind) for a in (W, H1, H0, row_weight))

    def one(rows: slice) -> tuple[np.ndarray, np.ndarray]:
        A1, A0 = np.zeros((K, D)), np.zeros((K, D))
        aspect_pass(*_row_arrays(data, rows), w[rows], h1, h0, weight[rows], M[rows], A1, A0, row_log[rows])
        return A1, A0

    A1, A0 = np.zeros((K, D)), np.zeros((K, D))
    for part1, part0 in workers.map(one, _chunks(N, D, K)):
        A1 += part1
        A0 += part0
    return Statistics(M, H1 * A1, H0 * A0, row_log)  # H factors out of the sums over rows


def solve_weights(data: BinaryData, H1: np.ndarray, H0: np.ndarray, *, workers: Workers) -> Solution:
    """Each row's maximum likelihood weights, the components fixed. Rows without observed cells get equal weights."""
    N, D = data.shape
    K = len(H1)
    W, gap = np.empty((N, K)), np.empty(N)
    H1, H0 = kernel_array(H1), kernel_array(H0)
    common = common_zeros(H0)
    start = np.full(K, 1 / K)

    def one(rows: slice) -> None:
        fold_in(*_row_arrays(data, rows), H1, H0, *common, start, GAP, MAX_STEPS, W[rows], gap[rows])

    workers.map(one, _chunks(N, D, 10 * K * K))  # some ten Newton steps of K^2 operations per cell
    return Solution(W, gap)


def common_zeros(H0: np.ndarray) -> tuple[np.ndarray, ...]:
    """What `fold_in` takes about columns whose components are all small: which, and sums of Q = 1 - H0 over them.

    By the components alone, so that a row's answer depends neither on other rows nor on how the data are stored.
    """
    Q = 1 - H0
    is_small = Q.max(axis=0) <= COMMON
    if 2 * is_small.sum() < len(is_small):  # not worth their overhead
        is_small[:] = False
    Q = kernel_array(Q[:, is_small])
    return is_small, Q, Q.sum(axis=1), Q @ Q.T


def _chunks(N: int, D: int, K: int) -> list[slice]:
    n = int(np.clip(N * D * K // CHUNK_WORK, 1, min(MAX_CHUNKS, N)))
    edges = [N * c // n for c in range(n + 1)]
    return [slice(a, b) for a, b in pairwise(edges)]


def _row_arrays(data: BinaryData, rows: slice) -> tuple[Any, ...]:
    """The first arguments of a kernel: cells, indptr, indices, values, sparse, for these rows."""
    if data.sparse is None:
        return data.dense()[rows], _NO_POINTERS, _NO_INDICES, _NO_VALUES, False
    csr = data.sparse
    return _NO_CELLS, csr.indptr[rows.start : rows.stop + 1], csr.indices, csr.data, True
