"""Weights after ratings, weights of short rows, causes of cells: pure functions of weights and components.

`W` is N x K (rows on the simplex), `H` is K x D. `H1` and `H0` are the numbers that went into the pass: H and 1 - H
for maximum likelihood, exponentiated expected logarithms for a variational posterior.
"""

from __future__ import annotations

import numpy as np

__all__ = ["cause_probabilities", "reweight", "shrink_to_average"]

AVERAGE_CELLS = 3.0
"""Cells of the average row that are added to every row: a prior that only short rows feel."""


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


def shrink_to_average(evidence: np.ndarray, average: np.ndarray, kept: np.ndarray) -> np.ndarray:
    """Weights from each component's share in the cells of a row (N x K), with `AVERAGE_CELLS` cells of the average row.

    A row that phantoms explain nearly whole says little about its content: so two ones among zeros can't make a third
    one certain. `average` is (K,); if nothing is left of it, `kept` takes its place: how much of each component counts.
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
