"""What a fitted aspect model says about cells, as pure functions of weights and components.

`W` is N x K (rows on the simplex), `H` is K x D. `H1` and `H0` are the numbers that went into the pass: H and 1 - H
for maximum likelihood, exponentiated expected logarithms for a variational posterior.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from scipy.special import logsumexp

from latentbits.data.binary_data import MISSING, BinaryData, row_blocks

__all__ = ["cause_probabilities", "lean_on", "mixture_log_likelihood", "reweight"]

AVERAGE_CELLS = 3.0


def reweight(W: np.ndarray, ratings: np.ndarray, share: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Weights after the analyst's ratings r (K, or N x K): W'_ik = W_ik r_ik / sum_k' W_ik' r_ik'.

    (Eq. 13 of the Beta-source paper, where r is P(u|k).) Rows of which nothing is left get the kept part of `share`,
    the average weights of the training rows; the second value says which rows those are.
    """
    ratings = ratings / np.max(ratings, axis=-1, keepdims=True)  # only their proportion counts
    kept = W * ratings
    lost = kept.sum(axis=1) <= 1e-12
    average = np.broadcast_to(share * ratings, W.shape)[lost]
    nothing = average.sum(axis=1, keepdims=True) <= 0  # no training row has any: every rated component alike
    kept[lost] = np.where(nothing, np.broadcast_to(ratings, W.shape)[lost], average)
    return kept / kept.sum(axis=1, keepdims=True), lost


def lean_on(evidence: np.ndarray, average: np.ndarray) -> np.ndarray:
    """Weights from how many cells speak for each component (N x K), with `AVERAGE_CELLS` cells of the average added.

    A row that phantoms explain nearly whole says little about its content: so two ones among zeros can't make a third
    one certain.
    """
    prior = average / average.sum() if average.sum() > 0 else np.full(len(average), 1 / len(average))
    total = evidence + AVERAGE_CELLS * prior
    return total / total.sum(axis=1, keepdims=True)


def cause_probabilities(values: np.ndarray, w: np.ndarray, h1: np.ndarray, h0: np.ndarray) -> np.ndarray:
    """q, the probability that each component caused each of n cells: w is n x K, h1 and h0 are n x K, values 0 or 1."""
    joint = w * np.where(values[:, None] == 1, h1, h0)
    return joint / joint.sum(axis=1, keepdims=True)


def mixture_log_likelihood(data: BinaryData, W: np.ndarray, H: np.ndarray, prior: np.ndarray) -> np.ndarray:
    """log sum_n prior_n p(x_i | W_n H) for each row x_i (AB paper, eq. 22), without an N x D x N temporary."""
    total = np.full(data.shape[0], -np.inf)
    log_prior = np.log(np.maximum(prior, 1e-300))
    for rows, ones, zeros in _indicator_blocks(data):
        for trained in row_blocks(len(W), H.shape[1]):
            P = np.clip(W[trained] @ H, 1e-300, 1.0)
            Q = np.clip(W[trained] @ (1 - H), 1e-300, 1.0)
            joint = ones @ np.log(P).T + zeros @ np.log(Q).T + log_prior[trained]
            total[rows] = np.logaddexp(total[rows], logsumexp(joint, axis=1))
    return total


def _indicator_blocks(data: BinaryData) -> Iterator[tuple[slice, np.ndarray, np.ndarray]]:
    """Row blocks with float indicators of the ones and of the zeros."""
    for rows in row_blocks(*data.shape):
        cells = data.rows(rows).dense()
        yield rows, (cells == 1).astype(float), ((cells != 1) & (cells != MISSING)).astype(float)
