"""Posteriors of sources that are mixtures of Gaussians: one small linear system for each pair of a point and a cluster.

Shapes: C clusters, T points, N dimensions, M sources, K Gaussians per source, P pairs. Pair p is point `rows[p]` in
cluster `owner[p]`. The Gaussians have expected precisions `beta`, precisions times means `beta_phi`, and `constant` is
the part of their log density that doesn't depend on the source.

Why it is fast: the pairs of a cluster are taken as many at a time as a vector register has lanes, and every number of
theirs is a vector. So factorisations, which are too small and too serial to be vectorised themselves, cost an
instruction for all of them, and what the pairs share is loaded once. A pair's results don't depend on its neighbours.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from latentbits.kernels.vectors import VECTOR_BYTES, larger, load, spread, store

__all__ = ["source_pass"]

FLOOR = 1e-14
"""Pivots of a precision matrix are at least this part of its diagonal: below it they are rounding."""

LANES = VECTOR_BYTES // 8
"""Pairs at a time. Number q of theirs is at places q LANES .. q LANES + LANES - 1 of a flat array."""

LOG2_E, LN2_HIGH, LN2_LOW = 1.4426950408889634, 0.693147180369123816490, 1.90821492927058770002e-10
SHIFT = 1.5 * 2.0**52  # added to a smaller number, it leaves no place for a fraction
SMALLEST = -700.0  # exp of less is 0 beside 1
ONE = np.int64(1023 << 52)  # the bits of 1.0

_KERNEL = {"cache": True, "nogil": True, "error_model": "numpy"}
# No reassociation: a pair's results are the same in every lane.
_LOOP = {**_KERNEL, "fastmath": {"contract"}}


@njit(**_KERNEL)
def source_pass(X, rows, owner, nu, A, psi, precision, slack, beta, beta_phi, constant, labels):
    """Gaussian posteriors of the sources given their responsibilities (`labels`), and then new responsibilities.

    Parameters
    ----------
    X : (T, N), rows, owner : (P,), nu, psi : (C, N), A : (C, N, M), precision, slack : (C, M, M)
    beta, beta_phi, constant : (C, M, K), labels : (C, T, M, K)

    Returns
    -------
    moments : (P, 1 + M + M (M + 1) / 2), labels : (P, M, K), misfit : (P,), free : (P,)
        For a pair (t, c), in NumPy::

            own = (labels[c, t] * beta[c]).sum(axis=1)
            pull = A[c].T @ (psi[c] * (X[t] - nu[c]))
            cov = np.linalg.inv(precision[c] + np.diag(own))
            mean = cov @ (pull + (labels[c, t] * beta_phi[c]).sum(axis=1))
            second = cov + np.outer(mean, mean)
            log = constant[c] + beta_phi[c] * mean[:, None] - beta[c] * np.diag(second)[:, None] / 2
            moments = np.concatenate([[1], mean, second[np.tril_indices(M)]])
            labels = scipy.special.softmax(log, axis=1)
            residual = X[t] - nu[c] - A[c] @ mean
            misfit = psi[c] @ residual**2 + mean @ slack[c] @ mean + np.sum(precision[c] * cov)
            free = np.linalg.slogdet(cov)[1] / 2 + scipy.special.logsumexp(log, axis=1).sum()
    """
    P = len(rows)
    N, M = A.shape[1:]
    K = beta.shape[2]
    n_moments = 1 + M + M * (M + 1) // 2
    moments, out = np.empty((P, n_moments)), np.empty((P, M * K))
    misfit, free = np.empty(P), np.empty(P)
    # Reused for every block of pairs.
    residual, total, pivots = np.empty(N * LANES), np.empty(M * LANES), np.empty(M * LANES)
    root, packed, shares = np.empty(_at(M, 0)), np.empty(n_moments * LANES), np.empty(M * K * LANES)
    norms, tops, values = np.empty(M * LANES), np.empty(LANES), np.empty(LANES)
    p = 0
    while p < P:
        c = owner[p]
        end = p + 1
        while end < P and end < p + LANES and owner[end] == c:
            end += 1
        for w in range(LANES):
            t = rows[min(p + w, end - 1)]  # a short block has its last pair several times
            _gather(X[t], nu[c], labels[c, t], beta[c], beta_phi[c], w, residual, total, pivots)
        _add_pull(A[c], psi[c], residual, total)
        _factorise(precision[c], pivots, root)
        _invert(root, M)
        _write_means(root, total, packed)
        _write_squares(root, precision[c], slack[c], packed, values)
        _add_misfit(A[c], psi[c], residual, packed, values)
        _share(packed, beta[c], beta_phi[c], constant[c], shares, norms, tops)
        for w in range(end - p):
            for q in range(n_moments):
                moments[p + w, q] = packed[q * LANES + w]
            for q in range(M * K):
                out[p + w, q] = shares[q * LANES + w]
            misfit[p + w] = values[w]
            free[p + w] = tops[w] + _log_product(norms, w, M) - 0.5 * _log_product(pivots, w, M)
        p = end
    return moments, out.reshape(P, M, K), misfit, free


@njit(**_LOOP)
def _gather(x, nu, labels, beta, beta_phi, w, residual, total, pivots):
    """A pair's own part of the diagonal to `pivots`, its own pull to `total`, and x - nu, all to lane w."""
    for n in range(len(x)):
        residual[n * LANES + w] = x[n] - nu[n]
    M, K = labels.shape
    for i in range(M):
        own, pull = 0.0, 0.0
        for k in range(K):
            own += labels[i, k] * beta[i, k]
            pull += labels[i, k] * beta_phi[i, k]
        pivots[i * LANES + w] = own
        total[i * LANES + w] = pull


@njit(**_KERNEL)
def _add_pull(A, psi, residual, total):
    """total += A' Psi residual"""
    N, M = A.shape
    for i in range(M):
        value = load(total, i * LANES)
        for n in range(N):
            value = value + spread(A[n, i] * psi[n]) * load(residual, n * LANES)
        store(total, i * LANES, value)


@njit(**_KERNEL)
def _factorise(precision, pivots, root):
    """The Cholesky factor of precision + Diag(pivots), with inverses on its diagonal; pivots become the squared ones.

    Pivots that rounding has made too small are raised. Two columns at a time: a sum waits for its last term, and two
    sums wait no longer than one.
    """
    for i in range(len(precision)):
        for j in range(0, i - 1, 2):
            a, b = spread(precision[i, j]), spread(precision[i, j + 1])
            for k in range(j):
                entry = load(root, _at(i, k))
                a = a - entry * load(root, _at(j, k))
                b = b - entry * load(root, _at(j + 1, k))
            a = a * load(root, _at(j, j))
            b = (b - a * load(root, _at(j + 1, j))) * load(root, _at(j + 1, j + 1))
            store(root, _at(i, j), a)
            store(root, _at(i, j + 1), b)
        if i % 2 == 1:
            a = spread(precision[i, i - 1])
            for k in range(i - 1):
                a = a - load(root, _at(i, k)) * load(root, _at(i - 1, k))
            store(root, _at(i, i - 1), a * load(root, _at(i - 1, i - 1)))
        diagonal = spread(precision[i, i]) + load(pivots, i * LANES)
        a = diagonal
        for k in range(i):
            entry = load(root, _at(i, k))
            a = a - entry * entry
        store(pivots, i * LANES, larger(a, spread(FLOOR) * diagonal))
        for w in range(LANES):
            root[_at(i, i) + w] = 1.0 / np.sqrt(pivots[i * LANES + w])


@njit(**_KERNEL)
def _at(i, j):
    """The place of entry i, j of lower triangles, row after row."""
    return (i * (i + 1) // 2 + j) * LANES


@njit(**_KERNEL)
def _invert(root, M):
    """Turn lower triangular matrices, whose diagonals are inverted already, into their inverses, row by row."""
    nothing = spread(0.0)
    for i in range(1, M):
        inverse = load(root, _at(i, i))
        # From column j on row i is still the factor's, and the rows above are inverses.
        for j in range(0, i - 1, 2):
            a, b = nothing - load(root, _at(i, j)) * load(root, _at(j, j)), nothing
            for k in range(j + 1, i):
                entry = load(root, _at(i, k))
                a = a - entry * load(root, _at(k, j))
                b = b - entry * load(root, _at(k, j + 1))
            store(root, _at(i, j), a * inverse)
            store(root, _at(i, j + 1), b * inverse)
        if i % 2 == 1:
            a = nothing - load(root, _at(i, i - 1)) * load(root, _at(i - 1, i - 1))
            store(root, _at(i, i - 1), a * inverse)


@njit(**_KERNEL)
def _write_means(root, total, packed):
    """1 and root' root total to `packed`; root total takes the place of `total`."""
    M = len(total) // LANES
    store(packed, 0, spread(1.0))
    for k in range(M - 1, -1, -1):
        value = spread(0.0)
        for j in range(k + 1):
            value = value + load(root, _at(k, j)) * load(total, j * LANES)
        store(total, k * LANES, value)
    for i in range(M):
        value = spread(0.0)
        for k in range(i, M):
            value = value + load(root, _at(k, i)) * load(total, k * LANES)
        store(packed, (1 + i) * LANES, value)


@njit(**_KERNEL)
def _write_squares(root, precision, slack, packed, values):
    """Second moments to `packed`, after the means; mean' slack mean + trace(precision x covariance) to `values`."""
    M = len(precision)
    nothing = spread(0.0)
    value = nothing
    for i in range(M):
        mean = load(packed, (1 + i) * LANES)
        for j in range(0, i + 1, 2):
            other = min(j + 1, i)  # of two columns; the last one twice if there is none left
            a, b = nothing, nothing
            for k in range(i, M):
                entry = load(root, _at(k, i))
                a = a + entry * load(root, _at(k, j))
                b = b + entry * load(root, _at(k, other))
            value = value + _write_square(a, mean, precision[i, j], slack[i, j], i, j, M, packed)
            if other > j:
                value = value + _write_square(b, mean, precision[i, other], slack[i, other], i, other, M, packed)
    store(values, 0, value)


@njit(**_KERNEL)
def _write_square(covariance, mean, precision, slack, i, j, M, packed):
    """One of the second moments; returns what the entry, and the one across the diagonal, add to the sum."""
    square = mean * load(packed, (1 + j) * LANES)
    twice = 1.0 if i == j else 2.0
    store(packed, (1 + M) * LANES + _at(i, j), covariance + square)
    return spread(twice * precision) * covariance + spread(twice * slack) * square


@njit(**_KERNEL)
def _add_misfit(A, psi, residual, packed, values):
    """values += psi (residual - A mean)^2"""
    N, M = A.shape
    value = load(values, 0)
    for n in range(N):
        rest = load(residual, n * LANES)
        for i in range(M):
            rest = rest - spread(A[n, i]) * load(packed, (1 + i) * LANES)
        value = value + spread(psi[n]) * rest * rest
    store(values, 0, value)


@njit(**_KERNEL)
def _share(packed, beta, beta_phi, constant, shares, norms, tops):
    """Responsibilities of the Gaussians for every source to `shares`: exp(log - top) / norm; the tops are added up."""
    M, K = beta.shape
    sum_of_tops = spread(0.0)
    for i in range(M):
        mean, square = load(packed, (1 + i) * LANES), load(packed, (1 + M) * LANES + _at(i, i))
        top = spread(-np.inf)  # subtracted before exp, which would overflow
        for k in range(K):
            log = spread(constant[i, k]) + spread(beta_phi[i, k]) * mean - spread(0.5 * beta[i, k]) * square
            store(shares, (i * K + k) * LANES, log)
            top = larger(top, log)
        for k in range(K):
            store(shares, (i * K + k) * LANES, load(shares, (i * K + k) * LANES) - top)
        sum_of_tops = sum_of_tops + top
    store(tops, 0, sum_of_tops)
    _exp_all(shares)
    for i in range(M):
        norm = spread(0.0)
        for k in range(K):
            norm = norm + load(shares, (i * K + k) * LANES)
        for k in range(K):
            store(shares, (i * K + k) * LANES, load(shares, (i * K + k) * LANES) / norm)
        store(norms, i * LANES, norm)


@njit(**_LOOP)
def _exp_all(x):
    """x = exp(x) for x <= 0; unlike the library's function, the loop becomes vector instructions.

    exp(x) = 2^n exp(r) with |r| < log(2) / 2, and 14 terms of the series of exp(r).
    """
    for q in range(len(x)):
        y = max(x[q], SMALLEST)
        rounded = y * LOG2_E + SHIFT  # the sum's last bits are the whole number n
        n = rounded - SHIFT
        r = (y - n * LN2_HIGH) - n * LN2_LOW
        series = 1 / 39916800 + r * (1 / 479001600 + r * (1 / 6227020800))
        series = 1 / 40320 + r * (1 / 362880 + r * (1 / 3628800 + r * series))
        series = 1 / 120 + r * (1 / 720 + r * (1 / 5040 + r * series))
        series = 1.0 + r * (1.0 + r * (1 / 2 + r * (1 / 6 + r * (1 / 24 + r * series))))
        power = np.int64((np.float64(rounded).view(np.int64) << 52) + ONE).view(np.float64)
        x[q] = series * power


@njit(**_LOOP)
def _log_product(values, w, M):
    """The sum of the logarithms of lane w's M positive numbers: few logarithms, and no overflow."""
    product, log = 1.0, 0.0
    for i in range(M):
        product *= values[i * LANES + w]
        if product > 1e200 or product < 1e-200:
            log += np.log(product)
            product = 1.0
    return log + np.log(product)
