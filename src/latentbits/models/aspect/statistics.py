"""The pass of the aspect family (expectations in, sufficient statistics out), fold-in of new rows, and their weights.

Weights after ratings, weights of short rows, causes of cells: pure functions of weights and components.

`W` is N x K (rows on the simplex), `H` is K x D. `H1` and `H0` are the inputs of the pass: H and 1 - H for maximum
likelihood, exponentiated expected logarithms for a variational posterior.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from latentbits.data.binary_data import BinaryData
from latentbits.fitting.rows import Chunk, Sums, ThreadRows, added, chunks_of, rows_of
from latentbits.fitting.workers import Workers
from latentbits.kernels.aspect_pass import aspect_pass
from latentbits.kernels.fold_in import fold_in
from latentbits.models.solved_rows import Solution
from latentbits.numerics import kernel_array

SMALL_WORK = 200_000  # cells x components up to which the pass runs in float64: speed doesn't matter there

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
    M, row_log = np.zeros((N, K)), np.zeros(N)
    rows = ThreadRows(data, row_weight, chunks_of(*data.shape, K), workers)
    A1, A0 = added(rows.parts(_add_pass, [M, row_log, W], pass_arrays(data.shape, H1, H0, precise)))
    return Statistics(M, H1 * A1, H0 * A0, row_log)  # H factors out of the sums over rows


def pass_arrays(
    shape: tuple[int, int], H1: np.ndarray, H0: np.ndarray, precise: bool | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """H1~ and H0~ (of several climbs, if they are stacked) in the precision of a pass over a table of this shape."""
    if precise is None:
        precise = shape[0] * H1.shape[-2] * H1.shape[-1] <= SMALL_WORK
    kind = np.float64 if precise else np.float32
    return kernel_array(H1, kind), kernel_array(H0, kind)


def pass_over(
    chunk: Chunk, W: np.ndarray, h1: np.ndarray, h0: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """The pass on a chunk, h1 and h0 by `pass_arrays`: M and row_log, and the sums A1, A0 (N1 = H1 * A1)."""
    M, row_log = np.zeros(W.shape), np.zeros(len(W))
    A1, A0 = _add_pass(chunk, M, row_log, W, h1, h0)
    return M, row_log, A1, A0


def _add_pass(
    chunk: Chunk, M: np.ndarray, row_log: np.ndarray, W: np.ndarray, h1: np.ndarray, h0: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    A1, A0 = np.zeros(h1.shape), np.zeros(h1.shape)
    w, weight = kernel_array(W, h1.dtype), kernel_array(chunk.row_weight, h1.dtype)
    for at, rows in chunk.blocks():
        cells = row_arrays(chunk.data, rows)
        aspect_pass(*cells, w[at], h1, h0, weight[at], M[at], A1, A0, row_log[at])
    return A1, A0


def solve_weights(data: BinaryData, H1: np.ndarray, H0: np.ndarray, *, workers: Workers) -> Solution:
    """Each row's maximum likelihood weights, the components fixed. Rows without observed cells get equal weights."""
    K = len(H1)
    rows = rows_of(data, np.ones(data.shape[0]), 10 * K * K, workers)  # some ten Newton steps of K^2 a cell
    H1, H0 = kernel_array(H1), kernel_array(H0)
    found = rows.found(_folded, K + 1, (), H1, H0, *common_zeros(H0))
    return Solution(np.ascontiguousarray(found[:, :K]), found[:, K])


def _folded(chunk: Chunk, new: np.ndarray, H1: np.ndarray, H0: np.ndarray, *common: np.ndarray) -> Sums:
    """Weights, and in a last column what each row could still gain."""
    K = len(H1)
    W, gap, start = np.empty((len(new), K)), np.empty(len(new)), np.full(K, 1 / K)
    for at, rows in chunk.blocks():
        fold_in(*row_arrays(chunk.data, rows), H1, H0, *common, start, GAP, MAX_STEPS, W[at], gap[at])
    new[:, :K], new[:, K] = W, gap
    return ()


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


def row_arrays(data: BinaryData, rows: slice) -> tuple[Any, ...]:
    """The first arguments of a kernel: cells, indptr, indices, values, sparse, for these rows."""
    if data.sparse is None:
        return data.block(rows), _NO_POINTERS, _NO_INDICES, _NO_VALUES, False
    csr = data.sparse
    return _NO_CELLS, csr.indptr[rows.start : rows.stop + 1], csr.indices, csr.data, True


# ---- weights after ratings, of short rows, and causes of cells ---------------------------------------------------

AVERAGE_CELLS = 3.0  # pseudo-cells of the average row: without them a site with two genera got scores of 1.00


def reweight(W: np.ndarray, ratings: np.ndarray, share: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Weights after the analyst's ratings r (K, or N x K): W'_ik = W_ik r_ik / sum_k' W_ik' r_ik'.

    (Eq. 13 of the Beta-source paper, where r is P(u|k).) Rows without weight on any kept component get the kept part of
    `share`, the average weights of the training rows; the second value flags these rows.
    """
    # Only ratios matter; without this, rows would count as lost because all ratings are small.
    ratings = ratings / np.max(ratings, axis=-1, keepdims=True)
    kept = W * ratings
    lost = kept.sum(axis=1) <= 1e-12
    average = np.broadcast_to(share * ratings, W.shape)[lost]
    nothing = average.sum(axis=1, keepdims=True) <= 0  # the average has no weight there either: use the ratings
    kept[lost] = np.where(nothing, np.broadcast_to(ratings, W.shape)[lost], average)
    return kept / kept.sum(axis=1, keepdims=True), lost


def shrink_to_average(evidence: np.ndarray, average: np.ndarray, kept: np.ndarray) -> np.ndarray:
    """Weights from the number of cells assigned to each component (N x K), shrunk towards the average weights.

    `AVERAGE_CELLS` cells distributed like `average` (K,) are added to each row. A row that is explained almost entirely
    by phantoms has little evidence about its content: two ones among zeros must not make a third one certain. If
    `average` has no weight on the kept components, `kept` (the ratings) replaces it.
    """
    for prior in (average, kept, np.ones_like(average)):
        if prior.sum() > 0:
            break
    total = evidence + AVERAGE_CELLS * prior / prior.sum()
    return total / total.sum(axis=1, keepdims=True)


def cause_probabilities(values: np.ndarray, w: np.ndarray, h1: np.ndarray, h0: np.ndarray) -> np.ndarray:
    """q, the probability that each component caused each of n cells: w is n x K, h1 and h0 are n x K, values 0 or 1."""
    joint = w * np.where(values[:, None] == 1, h1, h0)
    return joint / joint.sum(axis=1, keepdims=True)
