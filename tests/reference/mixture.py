"""Slow twin of the Bernoulli mixture: plain loops over rows, components and cells."""

import math

import numpy as np


def log_likelihoods(model, X):
    """log sum_k p(k) prod_j p(x_j | k) of each row, missing cells left out."""
    return np.array([_log_likelihood(row, model.proportions_, model.components_) for row in np.asarray(X, float)])


def _log_likelihood(row, proportions, components):
    total = 0.0
    for share, component in zip(proportions, components, strict=True):
        likelihood = share
        for x, h in zip(row, component, strict=True):
            if not math.isnan(x):
                likelihood *= h if x == 1 else 1 - h
        total += likelihood
    return math.log(total)
