"""Slow twin of row and column effects: the penalised log likelihood in plain loops, climbed by a general optimiser."""

import math

import numpy as np
from scipy.optimize import minimize


def objective(X, rows, columns, row_weight, ridge, smoothing):
    """The penalised log likelihood of effects of rows and columns."""
    X = np.asarray(X, float)
    ones = cells = 0.0
    total = 0.0
    for i, row in enumerate(X):
        for j, x in enumerate(row):
            if math.isnan(x):
                continue
            p = 1 / (1 + math.exp(-rows[i] - columns[j]))
            total += row_weight[i] * math.log(p if x == 1 else 1 - p)
            ones += row_weight[i] * (x == 1)
            cells += row_weight[i]
        total -= row_weight[i] * ridge / 2 * rows[i] ** 2
    share = (ones + 0.5) / (cells + 1)
    for b in columns:
        p = 1 / (1 + math.exp(-b))
        total += 2 * smoothing * (share * math.log(p) + (1 - share) * math.log(1 - p))
    return total


def fit(X, row_weight, ridge, smoothing):
    """Effects of rows and columns, and the objective that they maximise."""
    n_rows, n_columns = np.shape(X)

    def negative(effects):
        return -objective(X, effects[:n_rows], effects[n_rows:], row_weight, ridge, smoothing)

    found = minimize(negative, np.zeros(n_rows + n_columns), method="BFGS", options={"gtol": 1e-7})
    return found.x[:n_rows], found.x[n_rows:], -found.fun


def log_marginal(X, columns, row_weight, ridge, n_points=4001):
    """log of the likelihood with each row's effect integrated out by the trapezoidal rule, its prior normal."""
    grid = np.linspace(-12, 12, n_points) / math.sqrt(min(ridge, 1.0))
    prior = np.exp(-ridge * grid**2 / 2) * math.sqrt(ridge / (2 * math.pi))
    total = 0.0
    for row, weight in zip(np.asarray(X, float), row_weight, strict=True):
        values = prior.copy()
        for x, b in zip(row, columns, strict=True):
            if not math.isnan(x):
                p = 1 / (1 + np.exp(-grid - b))
                values *= p if x == 1 else 1 - p
        total += weight * math.log(np.trapezoid(values, grid))
    return total
