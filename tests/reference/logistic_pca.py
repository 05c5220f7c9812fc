"""Slow twin of logistic PCA: its objective in plain loops. X is a table of 0, 1 and NaN; no model is imported."""

from math import exp, isnan, log, log1p

import numpy as np


def log_probability(x, theta):
    """log P(x), P(1) = 1 / (1 + exp(-theta))."""
    signed = float(theta) if x == 1 else -float(theta)
    return -log1p(exp(-signed)) if signed > 0 else signed - log1p(exp(signed))


def objective(X, U, V, b, row_weight, ridge):
    """Weighted log likelihood minus ridge/2 (sum_i r_i |u_i|^2 + |V|^2), cell by cell."""
    total = 0.0
    for x, u, weight in zip(X, U, row_weight, strict=True):
        row = sum(log_probability(x[j], u @ V[:, j] + b[j]) for j in range(len(b)) if not isnan(x[j]))
        total += weight * (row - ridge / 2 * sum(value**2 for value in u))
    return total - ridge / 2 * sum(value**2 for value in V.ravel())


def gradients(X, U, V, b, row_weight, ridge):
    """Derivatives of the objective by U, V and b, cell by cell."""
    by_U = np.array([-ridge * weight * u for u, weight in zip(U, row_weight, strict=True)])
    by_V, by_b = -ridge * V, np.zeros(len(b))
    for i, x in enumerate(X):
        for j in range(len(b)):
            if isnan(x[j]):
                continue
            residual = row_weight[i] * (x[j] - 1 / (1 + exp(-(U[i] @ V[:, j] + b[j]))))
            by_U[i] += residual * V[:, j]
            by_V[:, j] += residual * U[i]
            by_b[j] += residual
    return by_U, by_V, by_b


def row_objective(x, w, components, singular_values, bias, ridge):
    """What a row's scores maximise: log likelihood minus ridge/2 sum_k w_k^2 / s_k, over the live components."""
    total = sum(log_probability(x[j], w @ components[:, j] + bias[j]) for j in range(len(bias)) if not isnan(x[j]))
    return total - ridge / 2 * sum(w[k] ** 2 / s for k, s in enumerate(singular_values) if s > 0)


def empirical_bayes(X, weights, components, bias, row_weight):
    """log sum_n prior_n prod_j P(x_j | scores of training row n), for each row."""
    scores = []
    for x in X:
        terms = [
            log(prior)
            + sum(log_probability(x[j], w @ components[:, j] + bias[j]) for j in range(len(x)) if x[j] == x[j])
            for w, prior in zip(weights, np.asarray(row_weight) / np.sum(row_weight), strict=True)
            if prior > 0
        ]
        top = max(terms)
        scores.append(top + log(sum(exp(term - top) for term in terms)))
    return np.array(scores)
