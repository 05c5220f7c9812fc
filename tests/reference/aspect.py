"""Slow twins of the aspect family: the specification in plain loops and by enumeration.

X is a table of 0, 1 and NaN (missing). Nothing of latentbits is imported, so a mistake can't be shared.
"""

from itertools import product
from math import exp, isnan, log

import numpy as np
from scipy.optimize import minimize

EDGE = 1e-10


def run_pass(X, W, H1, H0, row_weight):
    """M, N1, N0 and the rows' log likelihoods, cell by cell."""
    N, K, D = len(W), len(H1), len(H1[0])
    M, row_log = np.zeros((N, K)), np.zeros(N)
    N1, N0 = np.zeros((K, D)), np.zeros((K, D))
    for i in range(N):
        for j in range(D):
            x = float(X[i][j])
            if isnan(x):
                continue
            joint = [float(W[i][k]) * float((H1 if x == 1 else H0)[k][j]) for k in range(K)]
            d = sum(joint)
            row_log[i] += log(d)
            for k in range(K):
                q = joint[k] / d
                M[i, k] += q
                (N1 if x == 1 else N0)[k, j] += float(row_weight[i]) * q
    return M, N1, N0, row_log


def em_step(X, W, H, row_weight, smoothing=0.0, edge=EDGE):
    """New W and H, and the objective of the given ones: the weighted log likelihood, less what smoothing takes off.

    With smoothing, as if each component had caused that many more cells of each column, at the column's frequency.
    """
    H = np.asarray(H, dtype=float)
    M, N1, N0, row_log = run_pass(X, W, H, 1 - H, row_weight)
    new_W, new_H = np.array(W, dtype=float), H.copy()
    for i, row in enumerate(X):
        observed = sum(not isnan(float(x)) for x in row)
        if observed:
            new_W[i] = [caused / observed for caused in M[i]]
    objective = sum(weight * value for weight, value in zip(row_weight, row_log, strict=True))
    for j in range(H.shape[1]):
        ones = sum(weight for weight, x in zip(row_weight, X[:, j], strict=True) if x == 1)
        zeros = sum(weight for weight, x in zip(row_weight, X[:, j], strict=True) if x == 0)
        for k in range(len(H)):
            more = [smoothing * count / (ones + zeros) if ones + zeros else 0.0 for count in (ones, zeros)]
            if N1[k, j] + N0[k, j] + sum(more) > 0:
                share = (N1[k, j] + more[0]) / (N1[k, j] + N0[k, j] + sum(more))
                new_H[k, j] = min(max(share, edge), 1 - edge)
            for count, p in zip(more, (H[k, j], 1 - H[k, j]), strict=True):
                if count:
                    objective -= count * log(count / smoothing / p)
    return new_W, new_H, objective


def noisy_em_step(X, W, H, row_weight, kinds, rate, bounds):
    """`em_step` whose last components are noise of these kinds: blank or full by a rate, given or learned (None)."""
    H = np.asarray(H, dtype=float)
    _, N1, N0, _ = run_pass(X, W, H, 1 - H, row_weight)
    new_W, new_H, objective = em_step(X, W, H, row_weight)
    for k, kind in enumerate(kinds, start=len(H) - len(kinds)):
        ones, zeros = sum(map(float, N1[k])), sum(map(float, N0[k]))
        false = ones if kind == "white" else zeros
        own = rate if rate is not None else min(max(false / (ones + zeros), bounds[0]), bounds[1])
        for j in range(H.shape[1]):
            new_H[k, j] = own if kind == "white" else 1 - own
    return new_W, new_H, objective


def log_likelihood_by_enumeration(x, w, H):
    """log p(x) of one row, summed over every way in which its observed cells may have picked their causes."""
    observed = [j for j, value in enumerate(x) if not isnan(float(value))]
    total = 0.0
    for causes in product(range(len(w)), repeat=len(observed)):
        p = 1.0
        for j, k in zip(observed, causes, strict=True):
            p *= w[k] * (H[k][j] if x[j] == 1 else 1 - H[k][j])
        total += p
    return log(total)


def row_log_likelihood(x, w, H1, H0):
    """log p(x) of one row, cell by cell."""
    return float(run_pass([x], [w], H1, H0, [1.0])[3][0])


def fold_in(x, H1, H0):
    """The weights of one row that maximise its likelihood, by a general solver."""
    K = len(H1)
    h = np.array([(H1 if value == 1 else H0)[:, j] for j, value in enumerate(x) if not isnan(float(value))])
    if len(h) == 0:
        return np.full(K, 1 / K)
    found = minimize(
        lambda w: -np.log(h @ w).mean(),
        np.full(K, 1 / K),
        jac=lambda w: -(h / (h @ w)[:, None]).mean(axis=0),
        bounds=[(1e-12, 1)] * K,
        constraints={"type": "eq", "fun": lambda w: w.sum() - 1, "jac": lambda w: np.ones(K)},
        method="SLSQP",
        options={"ftol": 1e-14, "maxiter": 1000},
    )
    return np.maximum(found.x, 0) / np.maximum(found.x, 0).sum()


def empirical_bayes(X, W, H, row_weight):
    """log sum_n prior_n p(x | W_n H) for each row x, the prior proportional to the training rows' weights."""
    H, total = np.asarray(H), sum(row_weight)
    scores = []
    for x in X:
        terms = [
            weight / total * exp(row_log_likelihood(x, w, H, 1 - H)) for w, weight in zip(W, row_weight, strict=True)
        ]
        scores.append(log(sum(terms)))
    return np.array(scores)


def cause_posterior(value, w, h):
    """P(component k caused a cell of this value), h the components' probabilities of a 1 there."""
    if isnan(float(value)):
        return list(w)
    joint = [wk * (hk if value == 1 else 1 - hk) for wk, hk in zip(w, h, strict=True)]
    return [part / sum(joint) for part in joint]
