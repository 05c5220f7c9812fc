"""Mixing weights of single rows, the components fixed: a concave problem, solved with a certificate."""

from math import log

import numba
import numpy as np

__all__ = ["fold_in"]

EM_STEPS = 8  # before Newton's method
SWEEPS = 100  # of coordinate descent in a quadratic model, at most
RIDGE = 1e-10  # relative; equal components would make the quadratic model singular
ROUNDING = 1e-14  # a step may lower the mean log likelihood by this much, which is rounding

# Reassociation lets the compiler vectorise sums. NaN and infinity keep their meaning (neither nnan nor ninf is set).
_LOOP = {"nogil": True, "fastmath": {"contract", "reassoc", "nsz", "arcp"}, "error_model": "numpy", "cache": True}


@numba.njit(**_LOOP)
def _gather_row(cells, indptr, indices, values, sparse, i, H1, H0, code, h):
    """h[:, :n] = H1 where the row has a 1, H0 where it has a 0, missing cells left out; returns n."""
    K, D = H1.shape
    if sparse:
        code[:] = 0  # absent means 0
        for p in range(indptr[i], indptr[i + 1]):
            code[indices[p]] = values[p]
    else:
        for j in range(D):
            code[j] = cells[i, j]
    n = 0
    for j in range(D):
        if code[j] >= 0:
            for k in range(K):
                h[k, n] = H1[k, j] if code[j] == 1 else H0[k, j]
            n += 1
    return n


@numba.njit(**_LOOP)
def _gradient(h, n, w, u, g):
    """u_kj = h_kj / (w @ h)_j and g_k = mean_j u_kj; returns the mean log likelihood mean_j log (w @ h)_j."""
    K = w.shape[0]
    d = u[K]  # the last row of u is scratch space
    for j in range(n):
        d[j] = 0.0
    for k in range(K):
        hk, wk = h[k], w[k]
        for j in range(n):
            d[j] += wk * hk[j]
    value = 0.0
    for j in range(n):
        value += log(d[j])
        d[j] = 1.0 / d[j]
    for k in range(K):
        hk, uk = h[k], u[k]
        total = 0.0
        for j in range(n):
            uk[j] = hk[j] * d[j]
            total += uk[j]
        g[k] = total / n
    return value / n


@numba.njit(**_LOOP)
def _curvature(u, n, B):
    """B = u u^T / n, minus the Hessian of the mean log likelihood, with a small ridge."""
    K = B.shape[0]
    for k in range(K):
        uk = u[k]
        for other in range(k + 1):
            uo = u[other]
            total = 0.0
            for j in range(n):
                total += uk[j] * uo[j]
            B[k, other] = total / n
            B[other, k] = total / n
        B[k, k] *= 1.0 + RIDGE


@numba.njit(**_LOOP)
def _solve_quadratic(w, g, B, y):
    """y >= 0 maximising (g - 1) . (y - w) - (y - w)^T B (y - w) / 2, by coordinate descent from w."""
    K = w.shape[0]
    slope = np.empty(K)
    for k in range(K):
        y[k], slope[k] = w[k], g[k] - 1.0
    for _ in range(SWEEPS):
        largest = 0.0
        for k in range(K):
            new = max(0.0, y[k] + slope[k] / B[k, k]) if B[k, k] > 0.0 else y[k]
            move = new - y[k]
            if move != 0.0:
                for other in range(K):
                    slope[other] -= B[k, other] * move
                y[k] = new
                largest = max(largest, abs(move))
        if largest < 1e-9:
            break


@numba.njit(nogil=True, error_model="numpy", cache=True)
def _solve_row(h, n, tol, max_iter, w, u, g, B, y, trial):
    """Improve w in place until the gap max_k g_k - 1 is at most tol; returns the gap."""
    K = w.shape[0]
    for step in range(max_iter + 1):
        value = _gradient(h, n, w, u, g)
        gap = -1.0
        for k in range(K):
            gap = max(gap, g[k] - 1.0)
        # Checked once more after the last step, so that the gap certifies the weights that are returned.
        if gap <= tol or step == max_iter:
            break
        if step < EM_STEPS:  # EM comes near from anywhere, Newton then converges
            w *= g
            w /= w.sum()  # 1 but for rounding
            continue
        _curvature(u, n, B)
        _solve_quadratic(w, g, B, y)
        length = 1.0
        improved = False
        while length > 1e-8 and not improved:
            for k in range(K):
                trial[k] = w[k] + length * (y[k] - w[k])
            trial /= trial.sum()  # of all multiples of a w, that with sum 1 has the highest objective
            improved = _gradient(h, n, trial, u, g) >= value - ROUNDING
            length *= 0.25
        if not improved:
            break
        for k in range(K):
            w[k] = trial[k]
    return gap


@numba.njit(nogil=True, error_model="numpy", cache=True)
def fold_in(cells, indptr, indices, values, sparse, H1, H0, start, tol, max_iter, W, gap):
    """Maximise sum_j log(w @ h_j) over the simplex for each row, h_j = H1_j or H0_j by the cell's value.

    Writes the weights to W, and to `gap` a bound on how far the log likelihood per observed cell is from its maximum:
    by concavity at most max_k g_k - 1, where g_k = mean_j h_jk / (w @ h_j). A few EM steps, then Newton's method: on
    the simplex the problem equals maximising mean_j log(w @ h_j) - sum_k w_k over w >= 0, whose quadratic model has no
    constraint but the signs. Rows stop at `tol` or after `max_iter` steps; rows without observed cells get `start`.
    """
    n_rows = W.shape[0]
    K, D = H1.shape
    h = np.empty((K, D))
    u = np.empty((K + 1, D))
    B = np.empty((K, K))
    code = np.empty(D, np.int8)
    w, g, y, trial = np.empty(K), np.empty(K), np.empty(K), np.empty(K)
    for i in range(n_rows):
        n = _gather_row(cells, indptr, indices, values, sparse, i, H1, H0, code, h)
        for k in range(K):
            w[k] = start[k]
        gap[i] = _solve_row(h, n, tol, max_iter, w, u, g, B, y, trial) if n > 0 else 0.0
        for k in range(K):
            W[i, k] = w[k]
