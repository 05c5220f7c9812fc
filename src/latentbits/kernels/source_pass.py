"""Posteriors of sources that are mixtures of Gaussians: one small linear system for each pair of a point and a cluster.

Shapes: C clusters, T points, N dimensions, M sources, K Gaussians per source, P pairs. Pair p is point `rows[p]` in
cluster `owner[p]`. The Gaussians have expected precisions `beta`, precisions times means `beta_phi`, and `constant` is
the part of their log density that doesn't depend on the source.
"""

from __future__ import annotations

import numpy as np
from numba import njit

__all__ = ["source_pass"]

FLOOR = 1e-14
"""Pivots of a precision matrix are at least this part of its diagonal: below it they are rounding."""


# fastmath: sums may be reordered, which lets them be vectorised; NaN keeps its meaning.


@njit(cache=True, nogil=True, fastmath={"reassoc", "contract"})
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
    moments = np.empty((P, 1 + M + M * (M + 1) // 2))
    out = np.empty((P, M, K))
    misfit, free = np.empty(P), np.empty(P)
    L, total, spare, residual = np.empty((M, M)), np.empty(M), np.empty(M), np.empty(N)  # reused for every pair
    for p in range(P):
        t, c = rows[p], owner[p]
        for i in range(M):
            for j in range(i + 1):
                L[i, j] = precision[c, i, j]
            total[i] = 0.0
            for k in range(K):
                L[i, i] += labels[c, t, i, k] * beta[c, i, k]
                total[i] += labels[c, t, i, k] * beta_phi[c, i, k]
        for n in range(N):
            residual[n] = X[t, n] - nu[c, n]
            pull = psi[c, n] * residual[n]
            for i in range(M):
                total[i] += A[c, n, i] * pull
        log_det = _invert_root(L, spare)
        value = _write_moments(L, total, precision[c], slack[c], moments[p])
        for n in range(N):
            rest = residual[n]
            for i in range(M):
                rest -= A[c, n, i] * moments[p, 1 + i]
            value += psi[c, n] * rest * rest
        misfit[p] = value
        log_z = 0.0
        for i in range(M):
            square = moments[p, 1 + M + i * (i + 1) // 2 + i]
            log_z += _share(moments[p, 1 + i], square, beta[c, i], beta_phi[c, i], constant[c, i], out[p, i])
        free[p] = 0.5 * log_det + log_z
    return moments, out, misfit, free


@njit(cache=True, nogil=True, fastmath={"reassoc", "contract"})
def _invert_root(L, spare):
    """Turn the symmetric positive matrix in the lower triangle of L into the inverse of its Cholesky factor.

    Returns the log determinant of the matrix' inverse. `spare` is room for a row.
    """
    M = len(L)
    det = 1.0
    log_det = 0.0
    for i in range(M):
        least = FLOOR * L[i, i]
        for j in range(i):
            value = L[i, j]
            for k in range(j):
                value -= L[i, k] * L[j, k]
            L[i, j] = value * L[j, j]
        value = L[i, i]
        for k in range(i):
            value -= L[i, k] * L[i, k]
        value = max(value, least)
        det *= value
        if det > 1e200 or det < 1e-200:  # few logarithms, and no overflow
            log_det -= np.log(det)
            det = 1.0
        L[i, i] = 1.0 / np.sqrt(value)  # the diagonal holds inverses from here on
    for i in range(M):
        for j in range(i):
            spare[j] = 0.0
        for k in range(i):
            factor = L[i, k]
            for j in range(k + 1):
                spare[j] -= factor * L[k, j]
        for j in range(i):
            L[i, j] = spare[j] * L[i, i]
    return log_det - np.log(det)


@njit(cache=True, nogil=True, fastmath={"reassoc", "contract"})
def _write_moments(root, total, precision, slack, out):
    """1, mean and second moments of a Gaussian to `out`, which has covariance root' root and precision x mean `total`.

    Returns mean' slack mean + trace(precision x covariance).
    """
    M = len(total)
    mean, second = out[1 : 1 + M], out[1 + M :]
    out[:] = 0.0
    out[0] = 1.0
    for k in range(M):
        value = 0.0
        for j in range(k + 1):
            value += root[k, j] * total[j]
        for i in range(k + 1):
            mean[i] += root[k, i] * value
            start = i * (i + 1) // 2
            factor = root[k, i]
            for j in range(i + 1):
                second[start + j] += factor * root[k, j]
    spread = 0.0
    for i in range(M):
        start = i * (i + 1) // 2
        for j in range(i + 1):
            square = mean[i] * mean[j]
            term = precision[i, j] * second[start + j] + slack[i, j] * square
            spread += term if i == j else 2.0 * term
            second[start + j] += square
    return spread


@njit(cache=True, nogil=True)
def _share(mean, square, beta, beta_phi, constant, out):
    """Write the responsibilities of the Gaussians for one source to `out`; return the log normaliser."""
    K = len(beta)
    top = -np.inf  # subtracted before exp, which would overflow
    for k in range(K):
        out[k] = constant[k] + beta_phi[k] * mean - 0.5 * beta[k] * square
        top = max(top, out[k])
    total = 0.0
    for k in range(K):
        out[k] = np.exp(out[k] - top)
        total += out[k]
    for k in range(K):
        out[k] /= total
    return top + np.log(total)
