"""Slow twins of a step on a batch of rows: running sums, blended by a decaying rate, in plain NumPy.

X is a table of 0, 1 and NaN (missing), W the weights of its rows, which are solved for. Nothing of latentbits is
imported. Sums here are of all rows (`total` is their weight), as in the papers; the library keeps them for one row.
"""

import numpy as np
from scipy.special import digamma

from tests.reference.aspect import EDGE, run_pass


def rate(t, decay, offset):
    """rho_t of the steps t = 1, 2, ..."""
    return 1 / (t + offset) ** decay


def blend(sums, X, W, H1, H0, row_weight, t, decay, offset, total):
    """N1 and N0 of all rows after step t: the batch's own, times total / batch, count with the rate of the step."""
    _, N1, N0, _ = run_pass(X, W, H1, H0, row_weight)
    rho, scale = rate(t, decay, offset), total / sum(row_weight)
    return (1 - rho) * sums[0] + rho * scale * N1, (1 - rho) * sums[1] + rho * scale * N0


def em_batch_step(sums, X, W, H, row_weight, t, decay, offset, total):
    """Stochastic EM: the sums and the components after step t."""
    N1, N0 = blend(sums, X, W, H, 1 - H, row_weight, t, decay, offset, total)
    return (N1, N0), np.clip(N1 / (N1 + N0), EDGE, 1 - EDGE)


def bayes_batch_step(sums, X, gamma, alpha, beta, prior, row_weight, t, decay, offset, total):
    """Stochastic variational inference: the sums, alpha and beta after step t; gamma is of the batch's rows."""
    W = np.exp(digamma(gamma) - digamma(gamma.sum(axis=1, keepdims=True)))
    H1, H0 = np.exp(digamma(alpha) - digamma(alpha + beta)), np.exp(digamma(beta) - digamma(alpha + beta))
    N1, N0 = blend(sums, X, W, H1, H0, row_weight, t, decay, offset, total)
    return (N1, N0), prior.alpha + N1, prior.beta + N0
