"""Likelihoods of 0-1 cells from probabilities, in row blocks: no N x D temporary is ever made."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
from scipy.special import logsumexp

from latentbits.data.binary_data import MISSING, BinaryData, row_blocks

__all__ = ["LogProbabilities", "empirical_bayes", "indicator_blocks", "log_likelihood", "safe_log"]

LogProbabilities = Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]]
"""Coordinates of rows (n x K) -> log P(1) and log P(0) of their cells (n x D)."""


def indicator_blocks(data: BinaryData) -> Iterator[tuple[slice, np.ndarray, np.ndarray]]:
    """Row blocks with float indicators of the ones and of the zeros."""
    for rows in row_blocks(*data.shape):
        block = data.rows(rows).dense()
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
    log_prior = np.log(np.maximum(prior, 1e-300))
    for rows, ones, zeros in indicator_blocks(data):
        for trained in row_blocks(len(W), data.shape[1]):
            log_p, log_q = log_probabilities(W[trained])
            joint = ones @ log_p.T + zeros @ log_q.T + log_prior[trained]
            total[rows] = np.logaddexp(total[rows], logsumexp(joint, axis=1))
    return total


def safe_log(probability: np.ndarray) -> np.ndarray:
    """The logarithm, finite also for 0 and never above 0."""
    return np.log(np.clip(probability, 1e-300, 1.0))
