"""The objective of stacked log odds, cell by cell."""

import math

import numpy as np


def loss(intercept: float, weights: np.ndarray, odds: np.ndarray, x: np.ndarray, cell_weight: np.ndarray) -> float:
    """Minus the log likelihood of the cells, plus s K / 2 times the squared distance from equal weights.

    s is 10,000 over the number of cells, but at least 10 and at most 100.
    """
    total = 0.0
    for line, value, counts in zip(odds, x, cell_weight, strict=True):
        eta = intercept + sum(w * part for w, part in zip(weights, line, strict=True))
        p = 1 / (1 + math.exp(-eta))
        total -= counts * math.log(p if value == 1 else 1 - p)
    K = len(weights)
    strength = min(max(10_000 / sum(cell_weight), 10), 100)
    return total + strength * K / 2 * sum((w - 1 / K) ** 2 for w in weights)
