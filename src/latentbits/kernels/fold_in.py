"""Mixing weights of single rows, the components fixed: a concave problem, solved with a certificate.

Columns in which every component is small are common to all rows: their zeros give log(1 - p), whose derivatives follow
from sums over all of them (see `fold_in`). A row then costs what its ones and its other columns cost.
"""

import numba
import numpy as np

__all__ = ["fold_in"]

RIDGE = 1e-10  # relative; equal components would make the quadratic model singular
SHORTEST = 1e-8  # of a Newton step
LEAST = 1e-300  # a cell's probability is at least this, so that its inverse is finite

# Reassociation lets the compiler vectorise sums. NaN and infinity keep their meaning (neither nnan nor ninf is set).
# A loop that sums writes no array: whether it is vectorised would depend on where arrays lie, and the last bit with it.
_LOOP = {"nogil": True, "fastmath": {"contract", "reassoc", "nsz", "arcp"}, "error_model": "numpy", "cache": True}


@numba.njit(**_LOOP)
def _gather_large(code, large, H1, H0, h):
    """h[:, :n] = H1 where the row has a 1, H0 where it has a 0, of the columns `large`; returns n."""
    K = H1.shape[0]
    n = 0
    for c in range(large.shape[0]):
        n += code[large[c]] >= 0
    if n == large.shape[0] == code.shape[0]:  # all columns, none missing: a loop that the compiler can vectorise
        for k in range(K):
            hk, ones, zeros = h[k], H1[k], H0[k]
            for j in range(n):
                hk[j] = ones[j] if code[j] > 0 else zeros[j]
        return n
    n = 0
    for c in range(large.shape[0]):
        j = large[c]
        if code[j] >= 0:
            for k in range(K):
                h[k, n] = H1[k, j] if code[j] > 0 else H0[k, j]
            n += 1
    return n


@numba.njit(**_LOOP)
def _gather_small(code, filled, n_filled, is_small, H1, H0, n, h, q):
    """Cells of small columns that are no zeros: q = 1 - H0, and behind the first n of h the ones' H1; returns how many.

    Two numbers: columns of h in use, and columns of q.
    """
    K = H1.shape[0]
    m = 0
    for f in range(n_filled):
        j = filled[f]
        if is_small[j]:
            for k in range(K):
                q[k, m] = 1.0 - H0[k, j]
            m += 1
            if code[j] > 0:
                for k in range(K):
                    h[k, n] = H1[k, j]
                n += 1
    return n, m


@numba.njit(**_LOOP)
def _mix(w, h, n, d):
    """d = w @ h"""
    for j in range(n):
        d[j] = 0.0
    for k in range(w.shape[0]):
        wk, hk = w[k], h[k]
        if wk != 0.0:
            for j in range(n):
                d[j] += wk * hk[j]


@numba.njit(**_LOOP)
def _gradient(h, n, q, m, n_small, total, cross, e, n_cells, w, d, p, v, g):
    """g_k = mean_j h_jk / (w @ h_j) - 1, small columns expanded and corrected by e; also d = 1 / (w @ h) and p = w @ q.

    A zero of a small column has h = 1 - q, and (1 - q_k) / (1 - p) = 1 + (1 + p)(p - q_k) but for third order. Summed
    over all small columns this is a function of total_k = sum_j q_jk and cross_kl = sum_j q_jk q_jl alone; cells that
    are no zeros are taken out again. v = cross @ w.
    """
    K = w.shape[0]
    _mix(w, h, n, d)
    for j in range(n):
        d[j] = 1.0 / max(d[j], LEAST)
    linear, quadratic = 0.0, 0.0
    for k in range(K):
        if n_small > 0:
            s = 0.0
            for other in range(K):
                s += cross[k, other] * w[other]
            v[k] = s
        linear += w[k] * total[k]
        quadratic += w[k] * v[k]
    common = n_small + linear + quadratic
    _mix(w, q, m, p)
    for f in range(m):
        common -= 1.0 + (1.0 + p[f]) * p[f]
    for k in range(K):
        hk, qk = h[k], q[k]
        s = 0.0
        for j in range(n):
            s += hk[j] * d[j]
        for f in range(m):
            s += (1.0 + p[f]) * qk[f]
        g[k] = (s + common - total[k] - v[k]) / n_cells + e[k]
    _centre(w, g)


@numba.njit(**_LOOP)
def _centre(w, g):
    """g -= w @ g, which is 1 unless the correction belongs to other weights: what is left says where to go from w."""
    level = 0.0
    for k in range(w.shape[0]):
        level += w[k] * g[k]
    for k in range(w.shape[0]):
        g[k] -= level


@numba.njit(**_LOOP)
def _correct(Q, q, m, n_cells, w, p, z, e, g):
    """Set e to what the expansion of small columns leaves out at w, mean_j (p - q_k) p^2 / (1 - p), and g with it."""
    n_small = Q.shape[1]
    for k in range(w.shape[0]):
        g[k] -= e[k]
    _mix(w, Q, n_small, z)
    cubes = 0.0
    for j in range(n_small):
        square = z[j] * z[j] / (1.0 - z[j])
        cubes += z[j] * square
        z[j] = square
    for f in range(m):
        cubes -= p[f] * p[f] * p[f] / (1.0 - p[f])
    for k in range(w.shape[0]):
        Qk, qk = Q[k], q[k]
        s = cubes
        for j in range(n_small):
            s -= Qk[j] * z[j]
        for f in range(m):
            s += qk[f] * p[f] * p[f] / (1.0 - p[f])
        e[k] = s / n_cells
        g[k] += e[k]
    _centre(w, g)


@numba.njit(**_LOOP)
def _curvature(h, n, q, m, n_small, total, cross, n_cells, free, n_free, w, d, p, v, u, B):
    """B = mean_j u_j u_j^T: minus the Hessian of the mean log likelihood along directions whose sum is 0.

    u_jk = h_jk / (w @ h_j) - 1, for zeros of small columns p - q_k; only the components `free` (the first n_free of
    it). With the 1 it would be a matrix of nearly equal numbers wherever most cells say little.
    """
    quadratic = 0.0
    for k in range(w.shape[0]):
        quadratic += w[k] * v[k]
    for f in range(m):
        quadratic -= p[f] * p[f]
    for a in range(n_free):
        k = free[a]
        ua, hk, qk = u[a], h[k], q[k]
        for j in range(n):
            ua[j] = hk[j] * d[j] - 1.0
        for b in range(a + 1):
            other = free[b]
            ub, qo = u[b], q[other]
            s = 0.0
            for j in range(n):
                s += ua[j] * ub[j]
            if n_small > 0:
                s += quadratic + cross[k, other] - v[k] - v[other]
                for f in range(m):
                    s += p[f] * (qk[f] + qo[f]) - qk[f] * qo[f]
            B[a, b] = s / n_cells
            B[b, a] = B[a, b]


@numba.njit(**_LOOP)
def _factor(B, n, L):
    """Cholesky's L L^T = B with a small ridge, of the first n rows and columns."""
    ridge = 0.0
    for a in range(n):
        ridge = max(ridge, B[a, a])
    ridge = RIDGE * ridge + LEAST
    for a in range(n):
        La = L[a]
        for b in range(a + 1):
            Lb = L[b]
            s = B[a, b]
            for c in range(b):
                s -= La[c] * Lb[c]
            La[b] = s / Lb[b] if b < a else np.sqrt(max(s + ridge, ridge))


@numba.njit(**_LOOP)
def _solve(L, n, x):
    """x = (L L^T)^-1 x in place."""
    for a in range(n):
        s = x[a]
        for b in range(a):
            s -= L[a, b] * x[b]
        x[a] = s / L[a, a]
    for a in range(n - 1, -1, -1):
        s = x[a]
        for b in range(a + 1, n):
            s -= L[b, a] * x[b]
        x[a] = s / L[a, a]


@numba.njit(**_LOOP)
def _newton_point(w, g, B, L, free, n, y, x, s, slope):
    """y >= 0 with sum 1 that maximises g . (y - w) - (y - w)^T B (y - w) / 2, by active sets.

    Among the components `free` (the first n of it) the quadratic's maximum on the plane sum y = 1 is gone to until a
    weight is 0; that component is left out, and so on. `free` and B are used up.
    """
    for k in range(w.shape[0]):
        y[k] = w[k]
    for a in range(n):
        slope[a] = g[free[a]]
    while n > 1:
        _factor(B, n, L)
        for a in range(n):
            x[a], s[a] = slope[a], 1.0
        _solve(L, n, x)
        _solve(L, n, s)
        ahead, level = 0.0, 0.0
        for a in range(n):
            ahead += x[a]
            level += s[a]
        shift = ahead / level
        length, last = 1.0, -1
        for a in range(n):
            x[a] -= shift * s[a]
            if x[a] < 0.0 and y[free[a]] < -length * x[a]:
                length, last = y[free[a]] / -x[a], a
        for a in range(n):
            y[free[a]] = max(0.0, y[free[a]] + length * x[a])
            Ba = B[a]
            fall = 0.0
            for b in range(n):
                fall += Ba[b] * x[b]
            slope[a] -= length * fall
        if last < 0:
            break
        y[free[last]] = 0.0
        n -= 1
        for a in range(last, n):
            free[a], slope[a] = free[a + 1], slope[a + 1]
            for b in range(n + 1):
                B[a, b] = B[a + 1, b]
        for a in range(n):
            for b in range(last, n):
                B[a, b] = B[a, b + 1]


@numba.njit(**_LOOP)
def _largest(g):
    top = g[0]
    for k in range(1, g.shape[0]):
        top = max(top, g[k])
    return top


@numba.njit(nogil=True, error_model="numpy", inline="always")  # not compiled on its own and then once more inside
def _solve_row(h, n, q, m, n_cells, Q, total, cross, tol, max_iter, w, work):
    """Improve w in place until the gap max_k g_k is at most tol; returns the gap."""
    K, n_small = Q.shape
    d, p, z, u, B, L, free, v, g, e, y, x, s, slope, trial, ahead = work
    for k in range(K):
        e[k], v[k] = 0.0, 0.0
    certain = n_small == 0  # whether e belongs to w
    _gradient(h, n, q, m, n_small, total, cross, e, n_cells, w, d, p, v, g)
    for step in range(max_iter + 1):
        if not certain and (_largest(g) <= tol or step == max_iter):
            _correct(Q, q, m, n_cells, w, p, z, e, g)
            certain = True
        # Checked once more after the last step, so that the gap certifies the weights that are returned.
        if _largest(g) <= tol or step == max_iter:
            break
        n_free = np.int64(0)  # a plain 0 is a type of its own, for which all that it is given to would be compiled too
        for k in range(K):
            if w[k] > 0.0 or g[k] > 0.0:
                free[n_free] = k
                n_free += 1
        _curvature(h, n, q, m, n_small, total, cross, n_cells, free, n_free, w, d, p, v, u, B)
        _newton_point(w, g, B, L, free, n_free, y, x, s, slope)
        length = 1.0
        improved = False
        while length > SHORTEST and not improved:
            total_weight = 0.0
            for k in range(K):
                trial[k] = w[k] + length * (y[k] - w[k])
                total_weight += trial[k]
            for k in range(K):
                trial[k] /= total_weight  # of all multiples of a w, that with sum 1 has the highest objective
            _gradient(h, n, q, m, n_small, total, cross, e, n_cells, trial, d, p, v, ahead)
            # Concave: while the slope is positive at the end of a step, all of it went up; a little beyond the top too.
            before = after = 0.0
            for k in range(K):
                before += g[k] * (trial[k] - w[k])
                after += ahead[k] * (trial[k] - w[k])
            improved = after >= -0.5 * before
            length *= 0.25
        if improved:
            for k in range(K):
                w[k], g[k] = trial[k], ahead[k]
            certain = n_small == 0
        elif certain:  # rounding hides what is left to gain
            break
        else:
            _gradient(h, n, q, m, n_small, total, cross, e, n_cells, w, d, p, v, g)
            _correct(Q, q, m, n_cells, w, p, z, e, g)
            certain = True
    return _largest(g)


@numba.njit(nogil=True, error_model="numpy", cache=True)
def fold_in(cells, indptr, indices, values, sparse, H1, H0, is_small, Q, total, cross, start, tol, max_iter, W, gap):
    """Maximise sum_j log(w @ h_j) over the simplex for each row, h_j = H1_j or H0_j by the cell's value.

    Writes the weights to W, and to `gap` a bound on how far the log likelihood per observed cell is from its maximum:
    by concavity at most max_k g_k, where g_k = mean_j h_jk / (w @ h_j) - 1. Newton's method on the components that
    a row has or that would raise its likelihood. Rows stop at `tol` or after `max_iter` steps; rows
    without observed cells get `start`.

    Columns that are small (1 - H0 far below 1) may be handed over as Q = 1 - H0 of those columns, total = Q.sum(axis=1)
    and cross = Q @ Q.T. Newton's method then expands them to second order and visits those cells of a row that are no
    zeros; what the expansion leaves out is computed exactly where a row would stop, so answer and gap are the same.
    """
    n_rows = W.shape[0]
    K, D = H1.shape
    h, q, u = np.empty((K, D)), np.empty((K, D)), np.empty((K, D))
    d, p, z = np.empty(D), np.empty(D), np.empty(D)
    vectors = (np.empty(K), np.empty(K), np.empty(K), np.empty(K), np.empty(K), np.empty(K), np.empty(K), np.empty(K))
    work = (d, p, z, u, np.empty((K, K)), np.empty((K, K)), np.empty(K, np.int64), *vectors, np.empty(K))
    large = np.empty(D, np.int64)
    n_large = np.int64(0)
    for j in range(D):
        if not is_small[j]:
            large[n_large] = j
            n_large += 1
    large = large[:n_large]
    code = np.zeros(D, np.int8)
    filled = np.empty(D, np.int32)
    n_filled = np.int64(0)
    for i in range(n_rows):
        if sparse:
            n_filled = indptr[i + 1] - indptr[i]
            for c in range(n_filled):
                filled[c] = indices[indptr[i] + c]
                code[filled[c]] = values[indptr[i] + c]
        else:
            for j in range(D):
                code[j] = cells[i, j]
            n_filled = np.int64(0)
            if n_large < D:
                for j in range(D):
                    if code[j] != 0:
                        filled[n_filled] = j
                        n_filled += 1
        n = _gather_large(code, large, H1, H0, h)
        n, m = _gather_small(code, filled, n_filled, is_small, H1, H0, n, h, q)
        n_missing = 0
        for j in range(D):
            n_missing += code[j] < 0
        for k in range(K):
            W[i, k] = start[k]
        gap[i] = 0.0
        if n_missing < D:
            gap[i] = _solve_row(h, n, q, m, D - n_missing, Q, total, cross, tol, max_iter, W[i], work)
        for c in range(n_filled):
            code[filled[c]] = 0  # absent means 0
