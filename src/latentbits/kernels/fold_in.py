"""Mixing weights of single rows, the components fixed: a concave problem, solved with a certificate."""

from math import sqrt

import numba
import numpy as np

__all__ = ["fold_in"]

_LOOP = {"nogil": True, "fastmath": {"contract", "reassoc", "nsz", "arcp"}, "error_model": "numpy", "cache": True}


@numba.njit(**_LOOP)
def _gather_row(cells, indptr, indices, values, sparse, i, H1, H0, code, h):
    """h[:, :n] = H1 where the row has a 1, H0 where it has a 0, missing cells left out; returns n."""
    K, D = H1.shape
    if sparse:
        code[:] = 0
        for p in range(indptr[i], indptr[i + 1]):
            code[indices[p]] = values[p]
    else:
        code[:] = cells[i]
    n = 0
    for j in range(D):
        if code[j] >= 0:
            for k in range(K):
                h[k, n] = H1[k, j] if code[j] == 1 else H0[k, j]
            n += 1
    return n


@numba.njit(**_LOOP)
def _em_step(h, n, w, d, new):
    """new = one EM update of w; returns the gap max_k g_k - 1, g the gradient per cell, and log likelihood."""
    K = w.shape[0]
    for j in range(n):
        d[j] = 0.0
    for k in range(K):
        hk, wk = h[k], w[k]
        for j in range(n):
            d[j] += wk * hk[j]
    for j in range(n):
        d[j] = 1.0 / d[j]
    gap = -1.0
    total = 0.0
    for k in range(K):
        hk = h[k]
        g = 0.0
        for j in range(n):
            g += hk[j] * d[j]
        g /= n
        gap = max(gap, g - 1.0)
        new[k] = w[k] * g
        total += new[k]
    for k in range(K):
        new[k] /= total
    return gap


@numba.njit(**_LOOP)
def _log_likelihood(h, n, w, d):
    for j in range(n):
        d[j] = 0.0
    for k in range(w.shape[0]):
        hk, wk = h[k], w[k]
        for j in range(n):
            d[j] += wk * hk[j]
    total = 0.0
    for j in range(n):
        total += np.log(d[j])
    return total


@numba.njit(**_LOOP)
def _extrapolate(w0, w1, w2, out):
    """SQUAREM's step through three successive EM points, kept inside the simplex."""
    rr = 0.0
    vv = 0.0
    K = w0.shape[0]
    for k in range(K):
        r = w1[k] - w0[k]
        v = w2[k] - w1[k] - r
        rr += r * r
        vv += v * v
    a = max(1.0, sqrt(rr / vv)) if vv > 0.0 else 1.0
    total = 0.0
    for k in range(K):
        r = w1[k] - w0[k]
        v = w2[k] - w1[k] - r
        # A weight may shrink a hundredfold but not vanish: from 0 it could never come back.
        out[k] = max(w0[k] + 2.0 * a * r + a * a * v, 0.01 * w2[k])
        total += out[k]
    for k in range(K):
        out[k] /= total


@numba.njit(nogil=True, error_model="numpy", cache=True)
def fold_in(cells, indptr, indices, values, sparse, H1, H0, start, tol, max_iter, W, gap):
    """Maximise sum_j log(w @ h_j) over the simplex for each row, h_j = H1_j or H0_j by the cell's value.

    Writes the weights to W and to `gap` a bound, per observed cell, on how far the log likelihood is from its
    maximum: by concavity it is at most max_k g_k - 1, where g_k = mean_j h_jk / (w @ h_j). Rows stop at `tol` or
    after `max_iter` EM steps (accelerated by SQUAREM). Rows without observed cells get `start`. The equivalent of
    one step is ``w *= (h / (w @ h)).mean(axis=1)``.
    """
    n_rows = W.shape[0]
    K, D = H1.shape
    h = np.empty((K, D))
    d = np.empty(D)
    code = np.empty(D, np.int8)
    w0, w1, w2, trial = np.empty(K), np.empty(K), np.empty(K), np.empty(K)
    for i in range(n_rows):
        n = _gather_row(cells, indptr, indices, values, sparse, i, H1, H0, code, h)
        w0[:] = start
        gap[i] = 0.0
        steps = 0
        while n > 0:
            gap[i] = _em_step(h, n, w0, d, w1)
            if gap[i] <= tol or steps >= max_iter:
                break
            _em_step(h, n, w1, d, w2)
            steps += 2
            _extrapolate(w0, w1, w2, trial)
            better = _log_likelihood(h, n, trial, d) >= _log_likelihood(h, n, w2, d)
            w0[:] = trial if better else w2
        W[i] = w0
