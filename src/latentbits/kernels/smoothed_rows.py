"""Weights of single rows of ones, the components fixed, with pseudo-counts: a concave problem without borders."""

import numba
import numpy as np

from latentbits.kernels.fold_in import _factor, _solve

__all__ = ["smoothed_rows"]

SHORTEST = 1e-8  # of a Newton step
INSIDE = 0.9  # of the way to where a weight would be 0
ROUNDING = 1e-14  # a step may lower the objective by this much, relatively, which is rounding

_LOOP = {"nogil": True, "error_model": "numpy", "cache": True}


@numba.njit(**_LOOP)
def _look(ones, Ht, rate, count, w, g, B):
    """The objective at w, its gradient, and minus its Hessian; B may be empty."""
    K = w.shape[0]
    value = 0.0
    for k in range(K):
        value += count * np.log(w[k]) - rate[k] * w[k]
        g[k] = count / w[k] - rate[k]
        for other in range(B.shape[0]):
            B[k, other] = 0.0
        if B.shape[0] > 0:
            B[k, k] = count / (w[k] * w[k])
    for place in range(ones.shape[0]):
        h = Ht[ones[place]]
        d = 0.0
        for k in range(K):
            d += w[k] * h[k]
        value += np.log(d)
        for k in range(K):
            part = h[k] / d
            g[k] += part
            for other in range(B.shape[0]):
                B[k, other] += part * h[other] / d
    return value


@numba.njit(**_LOOP)
def _gap(w, g, rate, n):
    """What any weights with rate @ w = n could gain, at most, per one of n."""
    most, here = -np.inf, 0.0
    for k in range(w.shape[0]):
        most = max(most, g[k] / rate[k])
        here += w[k] * g[k]
    return max(0.0, most - here / n)


@numba.njit(**_LOOP)
def smoothed_rows(indptr, indices, Ht, rate, count, start, tol, max_iter, W, gap):
    """For each row with its ones at indices[indptr[i]:indptr[i+1]] maximise over w > 0

        sum_j log (Ht[j] @ w) + count sum_k log w_k - rate[i] @ w

    by Newton's method from `start`. At the best multiple of any w, rate @ w is the number of ones and pseudo-counts n,
    so no weights gain more than n max_k g_k / rate_k - w @ g, g the gradient: that goes to `gap`, per one of n, and
    rows stop at `tol` or after `max_iter` steps. A row's answer doesn't depend on the rows that come with it.
    """
    K = Ht.shape[1]
    w, trial, g, ahead, x = np.empty(K), np.empty(K), np.empty(K), np.empty(K), np.empty(K)
    B, L, none = np.empty((K, K)), np.empty((K, K)), np.empty((0, 0))
    for i in range(W.shape[0]):
        ones = indices[indptr[i] : indptr[i + 1]]
        n, expected = ones.shape[0] + K * count, 0.0
        for k in range(K):
            expected += rate[i, k] * start[k]
        for k in range(K):
            w[k] = start[k] * n / expected
        value = _look(ones, Ht, rate[i], count, w, g, B)
        for step in range(max_iter + 1):
            gap[i] = _gap(w, g, rate[i], n)
            if gap[i] <= tol or step == max_iter:
                break
            _factor(B, K, L)
            length = 1.0
            for k in range(K):
                x[k] = g[k]
            _solve(L, K, x)
            for k in range(K):
                if x[k] < 0.0:
                    length = min(length, -INSIDE * w[k] / x[k])
            while length > SHORTEST:
                for k in range(K):
                    trial[k] = w[k] + length * x[k]
                new = _look(ones, Ht, rate[i], count, trial, ahead, none)
                if new >= value - ROUNDING * (1.0 + abs(value)):
                    break
                length *= 0.5
            if length <= SHORTEST:  # rounding hides what is left to gain
                break
            for k in range(K):
                w[k] = trial[k]
            value = _look(ones, Ht, rate[i], count, w, g, B)
        for k in range(K):
            W[i, k] = w[k]
