"""Slow twin of independent columns: plain loops over rows and cells."""

import math

import numpy as np


def column_shares(X, row_weight, smoothing):
    """Each column's smoothed share of ones among its observed cells; 1/2 where nothing is known."""
    shares = []
    for column in np.asarray(X, float).T:
        ones = zeros = smoothing
        for x, weight in zip(column, row_weight, strict=True):
            if x == 1:
                ones += weight
            elif x == 0:
                zeros += weight
        shares.append(ones / (ones + zeros) if ones + zeros > 0 else 0.5)
    return np.array(shares)


def log_likelihoods(model, X):
    """The sum of the log probabilities of each row's observed cells."""
    totals = []
    for row in np.asarray(X, float):
        total = 0.0
        for x, h in zip(row, model.components_[0], strict=True):
            if not math.isnan(x):
                total += math.log(h if x == 1 else 1 - h)
        totals.append(total)
    return np.array(totals)
