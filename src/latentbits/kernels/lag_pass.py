"""One EM pass over the steps of a sequence: the posterior of the lag on which each step depends."""

from math import log

import numba
import numpy as np

__all__ = ["lag_pass"]


@numba.njit(nogil=True, error_model="numpy", cache=True)
def lag_pass(pair, weights, T, by_lag, by_pair):
    """Share out each step among its lags and add up; returns the log likelihood. The same in NumPy::

    q = weights * T[pair]
    total = q.sum(axis=1, keepdims=True)
    by_lag += (q / total).sum(axis=0)
    by_pair += np.bincount(pair.ravel(), (q / total).ravel(), len(by_pair))
    return np.log(total).sum()
    """
    n_steps, n_lags = pair.shape
    q = np.empty(n_lags)
    log_likelihood = 0.0
    for s in range(n_steps):
        total = 0.0
        for lag in range(n_lags):
            q[lag] = weights[lag] * T[pair[s, lag]]
            total += q[lag]
        for lag in range(n_lags):
            share = q[lag] / total
            by_lag[lag] += share
            by_pair[pair[s, lag]] += share
        log_likelihood += log(total)
    return log_likelihood
