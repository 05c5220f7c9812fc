"""Slow twins of the models that predict each cell from the others of its row: plain loops, importing no model."""

import math

import numpy as np


def means(X, row_weight):
    """Each column's share of ones with one cell more, of the table's share (half a 1 and half a 0 added to that)."""
    X = np.asarray(X, float)
    ones, seen = np.zeros(X.shape[1]), np.zeros(X.shape[1])
    for row, weight in zip(X, row_weight, strict=True):
        for j, x in enumerate(row):
            if not math.isnan(x):
                ones[j] += weight * x
                seen[j] += weight
    share = (ones.sum() + 0.5) / (seen.sum() + 1)
    return (ones + share) / (seen + 1), share


def log_odds(row, mean, bias, couplings):
    """b_j + sum_k J_jk z_k of each cell of a row, a missing cell saying nothing."""
    found = []
    for j in range(len(row)):
        eta = bias[j]
        for k, x in enumerate(row):
            if k != j and not math.isnan(x):
                eta += couplings[k][j] * (x - mean[k])
        found.append(eta)
    return found


def log_logistic(eta):
    """log 1 / (1 + exp(-eta))"""
    return -math.log1p(math.exp(-eta)) if eta > 0 else eta - math.log1p(math.exp(eta))


def penalised_pseudo_likelihood(X, row_weight, ridge, bias, couplings):
    """What the Ising model maximises."""
    mean, share = means(X, row_weight)
    total = 0.0
    for row, weight in zip(np.asarray(X, float), row_weight, strict=True):
        for x, eta in zip(row, log_odds(row, mean, bias, couplings), strict=True):
            if not math.isnan(x):
                total += weight * log_logistic(eta if x == 1 else -eta)
    for j in range(len(bias)):
        total += share * log_logistic(bias[j]) + (1 - share) * log_logistic(-bias[j])
        for k in range(j):
            total -= ridge / 2 * couplings[j][k] ** 2
    return total


def ridge_regressions(X, row_weight, ridge):
    """Each column's ridge regression on the others, one by one: the couplings, and what all of them leave."""
    mean, _ = means(X, row_weight)
    Z = np.asarray(X, float) - mean
    Z[np.isnan(Z)] = 0.0
    D = Z.shape[1]
    couplings, left = np.zeros((D, D)), 0.0
    root = np.sqrt(np.asarray(row_weight, float))[:, None]
    for k in range(D):
        others = [j for j in range(D) if j != k]
        # The ridge as rows of data: least squares of (Z, sqrt(ridge) I) by (z_k, 0).
        A = np.vstack([root * Z[:, others], math.sqrt(ridge) * np.eye(D - 1)])
        y = np.concatenate([root[:, 0] * Z[:, k], np.zeros(D - 1)])
        coefficients = np.linalg.lstsq(A, y, rcond=None)[0] if others else np.zeros(0)
        couplings[others, k] = coefficients
        left += float(np.sum((y - A @ coefficients) ** 2))
    return couplings, left


def ising_scores(model, X):
    """The sum of log P(cell | rest of the row) over each row's observed cells."""
    totals = []
    for row in np.asarray(X, float):
        odds = log_odds(row, model.means_, model.intercepts_, model.couplings_)
        totals.append(sum(log_logistic(e if x == 1 else -e) for x, e in zip(row, odds, strict=True) if x == x))
    return np.array(totals)


def linear_scores(model, X):
    """The same of linear predictions, which are kept 1e-4 away from 0 and 1."""
    totals = []
    for row in np.asarray(X, float):
        raw = log_odds(row, model.means_, model.means_, model.couplings_)
        p = [min(max(value, 1e-4), 1 - 1e-4) for value in raw]
        totals.append(sum(math.log(q if x == 1 else 1 - q) for x, q in zip(row, p, strict=True) if x == x))
    return np.array(totals)
