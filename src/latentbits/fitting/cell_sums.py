"""Sums over 0-1 cells in row blocks (no N x D temporary is ever made), and likelihoods from probabilities."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import scipy.sparse as sp
from scipy.special import logsumexp

from latentbits.data.binary_data import MISSING, BinaryData, row_blocks
from latentbits.fitting.workers import Workers

MAX_GROUPS = 8
"""Number of groups of row blocks, each with sums of its own: a constant, so that sums don't depend on the threads."""

LogProbabilities = Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]]
"""Coordinates of rows (n x K) -> log P(1) and log P(0) of their cells (n x D)."""


def indicator_blocks(data: BinaryData) -> Iterator[tuple[slice, np.ndarray, np.ndarray]]:
    """Row blocks with float indicators of the ones and of the zeros."""
    for rows in row_blocks(*data.shape):
        block = data.block(rows)
        yield rows, (block == 1).astype(float), ((block != 1) & (block != MISSING)).astype(float)


def log_likelihood(data: BinaryData, W: np.ndarray, log_probabilities: LogProbabilities) -> float:
    """sum over observed cells of log P(x_ij), row i having the coordinates W_i."""
    total = 0.0
    for rows, ones, zeros in indicator_blocks(data):
        log_p, log_q = log_probabilities(W[rows])
        total += float(np.vdot(ones, log_p) + np.vdot(zeros, log_q))
    return total


def empirical_bayes(
    data: BinaryData, W: np.ndarray, log_probabilities: LogProbabilities, prior: np.ndarray
) -> np.ndarray:
    """log sum_n prior_n p(x_i | W_n) for each row x_i (AB paper, eq. 22 and 24), W_n that of training row n."""
    total = np.full(data.shape[0], -np.inf)
    log_prior = np.log(np.maximum(prior, 1e-300))  # a training row may have weight 0
    for rows, ones, zeros in indicator_blocks(data):
        # Blocks of training rows too: a table of all pairs of rows could exceed the memory.
        for trained in row_blocks(len(W), data.shape[1]):
            log_p, log_q = log_probabilities(W[trained])
            joint = ones @ log_p.T + zeros @ log_q.T + log_prior[trained]
            total[rows] = np.logaddexp(total[rows], logsumexp(joint, axis=1))
    return total


def safe_log(probability: np.ndarray) -> np.ndarray:
    """The logarithm, finite also for 0 and never above 0."""
    return np.log(np.clip(probability, 1e-300, 1.0))


def row_products(data: BinaryData, ones: np.ndarray, zeros: np.ndarray, workers: Workers) -> np.ndarray:
    """For each row the sum of `ones` (K x D) over its ones and of `zeros` over its zeros: N x K."""
    out = np.empty((data.shape[0], len(ones)))
    # Every cell is first counted as 0, then ones and missing cells are corrected: sparse data visit only their ones.
    difference, all_zeros = (ones - zeros).T, zeros.sum(axis=1)

    def one(rows: slice) -> None:
        out[rows] = _where(data, rows, 1) @ difference + all_zeros
        if data.has_missing:
            out[rows] -= _where(data, rows, MISSING) @ zeros.T

    workers.map(one, _parts(data))
    return out


def column_products(data: BinaryData, R: np.ndarray, workers: Workers) -> tuple[np.ndarray, np.ndarray]:
    """The sums of R (N x K) over the ones and over the observed cells of each column: both K x D."""

    def one(rows: slice) -> tuple[np.ndarray, np.ndarray | float]:
        missing = _where(data, rows, MISSING).T @ R[rows] if data.has_missing else 0.0
        return _where(data, rows, 1).T @ R[rows], missing

    ones, missing = np.zeros((data.shape[1], R.shape[1])), np.zeros((data.shape[1], R.shape[1]))
    for part, unseen in workers.map(one, _parts(data)):  # added in order: the result doesn't depend on the threads
        ones += part
        missing += unseen
    return ones.T, R.sum(axis=0)[:, None] - missing.T


def _parts(data: BinaryData) -> list[slice]:
    """Row blocks; of sparse data, where a block costs little, fewer and longer ones."""
    n_rows, n_columns = data.shape
    if data.sparse is None:
        return list(row_blocks(n_rows, n_columns))
    return list(row_blocks(n_rows, max(1, data.sparse.nnz // max(1, n_rows))))


def _where(data: BinaryData, rows: slice, code: int) -> np.ndarray | sp.csr_array:
    """The float indicator of one value in these rows; of sparse data a sparse one."""
    if data.sparse is None:
        return (data.block(rows) == code).astype(float)
    csr = data.sparse
    first, last = csr.indptr[rows.start], csr.indptr[rows.stop]
    parts = ((csr.data[first:last] == code).astype(float), csr.indices[first:last])
    pointers = (csr.indptr[rows.start : rows.stop + 1] - first).astype(np.int32)
    return sp.csr_array((*parts, pointers), shape=(rows.stop - rows.start, data.shape[1]))


def block_groups(n_rows: int, n_columns: int) -> list[list[slice]]:
    """Row blocks in groups, one per thread task: by the shape alone, so that sums don't depend on the threads."""
    blocks = list(row_blocks(n_rows, n_columns))
    n = min(MAX_GROUPS, len(blocks))
    return [blocks[start::n] for start in range(n)]
