"""All causes of a tiny table, one by one: the exact posterior that collapsed Gibbs sampling has to have.

X is a list of rows with 0, 1 and NaN; a cause of cell (i, j) is a component. `fixed` (K x D) has the probabilities of
a 1 that are known, NaN where they have a Beta prior.
"""

from itertools import product
from math import isnan, log
from typing import NamedTuple

import numpy as np
from scipy.special import betaln, gammaln


class Exact(NamedTuple):
    """causes: every assignment; probability: of each; W, H: posterior means given each; fit: log p(X | z) of each."""

    cells: list
    causes: list
    probability: np.ndarray
    W: np.ndarray
    H: np.ndarray
    fit: np.ndarray
    log_evidence: float


def counts(X, cells, causes, K):
    """Cells caused in each row (N x K), ones and zeros in each column (K x D)."""
    N, D = len(X), len(X[0])
    M, ones, zeros = np.zeros((N, K)), np.zeros((K, D)), np.zeros((K, D))
    for (i, j), k in zip(cells, causes, strict=True):
        M[i, k] += 1
        (ones if X[i][j] == 1 else zeros)[k, j] += 1
    return M, ones, zeros


def log_fit(ones, zeros, prior, fixed=None):
    """log p(X | z)."""
    total = 0.0
    for k, j in product(*map(range, ones.shape)):
        if fixed is not None and not isnan(fixed[k][j]):
            total += ones[k, j] * log(fixed[k][j]) + zeros[k, j] * log(1 - fixed[k][j])
        else:
            total += betaln(prior.alpha + ones[k, j], prior.beta + zeros[k, j]) - betaln(prior.alpha, prior.beta)
    return float(total)


def log_prior(M, prior):
    """log p(z)."""
    K = M.shape[1]
    total = 0.0
    for row in M:
        total += gammaln(K * prior.gamma) - gammaln(K * prior.gamma + row.sum())
        total += np.sum(gammaln(prior.gamma + row) - gammaln(prior.gamma))
    return float(total)


def enumerated(X, K, prior, fixed=None, temperature=1.0):
    """Every assignment of causes, with p(X | z)^temperature p(z) normalised."""
    cells = [(i, j) for i, j in product(range(len(X)), range(len(X[0]))) if not isnan(float(X[i][j]))]
    causes = list(product(range(K), repeat=len(cells)))
    fit, joint, W, H = [], [], [], []
    for assignment in causes:
        M, ones, zeros = counts(X, cells, assignment, K)
        fit.append(log_fit(ones, zeros, prior, fixed))
        joint.append(temperature * fit[-1] + log_prior(M, prior))
        W.append((M + prior.gamma) / (M + prior.gamma).sum(axis=1, keepdims=True))
        mean = (ones + prior.alpha) / (ones + zeros + prior.alpha + prior.beta)
        H.append(mean if fixed is None else np.where(np.isnan(fixed), mean, fixed))
    total = float(np.logaddexp.reduce(joint))
    return Exact(cells, causes, np.exp(np.array(joint) - total), np.array(W), np.array(H), np.array(fit), total)


def conditional(exact, X, K, causes, place):
    """The probabilities of each cause of one cell, all others given: read off the enumerated joint."""
    table = dict(zip(exact.causes, exact.probability, strict=True))
    p = np.array([table[(*causes[:place], k, *causes[place + 1 :])] for k in range(K)])
    return p / p.sum()
