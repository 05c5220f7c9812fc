"""Weights after ratings, weights of short rows, causes of cells: pure functions of weights and components.

`W` is N x K (rows on the simplex), `H` is K x D. `H1` and `H0` are the inputs of the pass: H and 1 - H for maximum
likelihood, exponentiated expected logarithms for a variational posterior.
"""

from __future__ import annotations

import numpy as np

__all__ = ["cause_probabilities", "reweight", "shrink_to_average"]

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
