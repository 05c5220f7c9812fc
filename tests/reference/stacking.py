"""The objective of stacked log odds, cell by cell."""

import math

import numpy as np


def loss(intercept: float, weights: np.ndarray, odds: np.ndarray, x: np.ndarray, cell_weight: np.ndarray) -> float:
    """Minus the log likelihood of the cells, plus s K / 2 times the squared distance from the prior weights.

    These are proportional to exp of a fifth of each member's log likelihood, of 1,000 cells if there are more. s is
    5,000 over the number of cells, but at least 5 and at most 50.
    """
    total, n_cells, K = 0.0, sum(cell_weight), len(weights)
    of_members = np.zeros(K)
    for line, value, counts in zip(odds, x, cell_weight, strict=True):
        eta = intercept + sum(w * part for w, part in zip(weights, line, strict=True))
        p = 1 / (1 + math.exp(-eta))
        total -= counts * math.log(p if value == 1 else 1 - p)
        for k in range(K):
            q = 1 / (1 + math.exp(-line[k]))
            of_members[k] += counts * math.log(q if value == 1 else 1 - q)
    promised = np.exp(0.2 * (of_members - of_members.max()) * min(1, 1000 / n_cells))
    promised = promised / promised.sum()
    strength = min(max(5_000 / n_cells, 5), 50)
    return total + strength * K / 2 * sum((w - p) ** 2 for w, p in zip(weights, promised, strict=True))
