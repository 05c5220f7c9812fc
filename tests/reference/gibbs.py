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
    """Cells caused in each row (N x K), ones and zeros in each column (K x D); of many assignments at once as well."""
    N, D = len(X), len(X[0])
    causes = np.asarray(causes)
    M, ones, zeros = (np.zeros((*causes.shape[:-1], *shape)) for shape in ((N, K), (K, D), (K, D)))
    for place, (i, j) in enumerate(cells):
        for k in range(K):
            is_cause = causes[..., place] == k
            M[..., i, k] += is_cause
            (ones if X[i][j] == 1 else zeros)[..., k, j] += is_cause
    return M, ones, zeros


def log_fit(ones, zeros, prior, fixed=None):
    """log p(X | z)."""
    total = 0.0
    for k, j in product(*map(range, ones.shape[-2:])):
        n1, n0 = ones[..., k, j], zeros[..., k, j]
        if fixed is not None and not isnan(fixed[k][j]):
            total = total + n1 * log(fixed[k][j]) + n0 * log(1 - fixed[k][j])
        else:
            total = total + betaln(prior.alpha + n1, prior.beta + n0) - betaln(prior.alpha, prior.beta)
    return total


def log_prior(M, prior):
    """log p(z)."""
    N, K = M.shape[-2:]
    total = 0.0
    for i in range(N):
        total = total + gammaln(K * prior.gamma) - gammaln(K * prior.gamma + M[..., i, :].sum(axis=-1))
        for k in range(K):
            total = total + gammaln(prior.gamma + M[..., i, k]) - gammaln(prior.gamma)
    return total


def enumerated(X, K, prior, fixed=None, temperature=1.0):
    """Every assignment of causes, with p(X | z)^temperature p(z) normalised."""
    cells = [(i, j) for i, j in product(range(len(X)), range(len(X[0]))) if not isnan(float(X[i][j]))]
    causes = list(product(range(K), repeat=len(cells)))
    M, ones, zeros = counts(X, cells, causes, K)
    fit = log_fit(ones, zeros, prior, fixed)
    joint = temperature * fit + log_prior(M, prior)
    W = (M + prior.gamma) / (M + prior.gamma).sum(axis=-1, keepdims=True)
    H = (ones + prior.alpha) / (ones + zeros + prior.alpha + prior.beta)
    H = H if fixed is None else np.where(np.isnan(fixed), H, fixed)
    total = float(np.logaddexp.reduce(joint))
    return Exact(cells, causes, np.exp(joint - total), W, H, fit, total)


def conditional(exact, X, K, causes, place):
    """The probabilities of each cause of one cell, all others given: read off the enumerated joint."""
    table = dict(zip(exact.causes, exact.probability, strict=True))
    p = np.array([table[(*causes[:place], k, *causes[place + 1 :])] for k in range(K)])
    return p / p.sum()
