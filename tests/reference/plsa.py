"""Slow twin of PLSA: the specification in plain loops. X is a table of 0, 1 and NaN (missing); no model is imported."""

from math import exp, isnan, log

import numpy as np
from scipy.optimize import minimize


def run_pass(X, W, H, row_weight):
    """sum_j q, sum_i q (rows weighted) and sum_j log (WH)_ij over the ones, one by one."""
    N, K, D = len(W), len(H), len(H[0])
    by_row, by_column, row_log = np.zeros((N, K)), np.zeros((K, D)), np.zeros(N)
    for i in range(N):
        for j in range(D):
            if float(X[i][j]) != 1:
                continue
            parts = [W[i][k] * H[k][j] for k in range(K)]
            d = sum(parts)
            row_log[i] += log(d)
            for k in range(K):
                by_row[i, k] += parts[k] / d
                by_column[k, j] += row_weight[i] * parts[k] / d
    return by_row, by_column, row_log


def objective(X, W, H, row_weight):
    """sum_ij r_i m_ij [x_ij log (WH)_ij - (WH)_ij]."""
    total = 0.0
    for i, row in enumerate(X):
        for j, x in enumerate(row):
            if not isnan(float(x)):
                d = sum(W[i][k] * H[k][j] for k in range(len(H)))
                total += row_weight[i] * ((log(d) if x == 1 else 0.0) - d)
    return total


def em_step(X, W, H, row_weight):
    """W given H, then H given the new W, with the q of the state given; rows of H to sum 1."""
    N, K, D = len(W), len(H), len(H[0])
    by_row, by_column, _ = run_pass(X, W, H, row_weight)
    seen = [[not isnan(float(x)) for x in row] for row in X]
    W = np.array([[by_row[i, k] / sum(H[k][j] for j in range(D) if seen[i][j]) for k in range(K)] for i in range(N)])
    H = np.array(
        [
            [by_column[k, j] / sum(row_weight[i] * W[i, k] for i in range(N) if seen[i][j]) for j in range(D)]
            for k in range(K)
        ]
    )
    scale = H.sum(axis=1)
    return W * scale, H / scale[:, None]


def fold_in(x, H):
    """The coordinates of one row that maximise its objective, by a general solver in log coordinates."""
    x = np.asarray(x, dtype=float)
    ones, observed = x == 1, ~np.isnan(x)
    b = H[:, observed].sum(axis=1)

    def fall(z):
        w = np.exp(z)
        d = w @ H[:, ones]
        return w @ b - np.log(d).sum(), w * (b - (H[:, ones] / d).sum(axis=1))

    start = np.full(len(H), log(ones.sum() / len(H)))
    found = minimize(fall, start, jac=True, method="L-BFGS-B", options={"ftol": 1e-15, "gtol": 1e-10, "maxiter": 5000})
    return np.exp(found.x)


def chance_of_one(proportions, L, H, j):
    """Eq. 28 for column j: at least one of L ones falls there."""
    p = sum(proportions[k] * H[k][j] for k in range(len(H)))
    return 1 - (1 - p) ** L


def empirical_bayes(X, proportions, L, H, row_weight):
    """log sum_n prior_n p(x | row n), cell by cell."""
    total_weight = sum(row_weight)
    out = []
    for x in X:
        likelihood = 0.0
        for w, length, weight in zip(proportions, L, row_weight, strict=True):
            log_p = 0.0
            for j, value in enumerate(x):
                if not isnan(float(value)):
                    p = chance_of_one(w, length, H, j)
                    log_p += log(max(p if value == 1 else 1 - p, 1e-300))
            likelihood += weight / total_weight * exp(log_p)
        out.append(log(likelihood))
    return np.array(out)
