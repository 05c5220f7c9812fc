"""Posteriors of sources that are mixtures of Gaussians: one small linear system for each point and cluster.

Shapes: C clusters, T points, M sources, K Gaussians per source. `precision` is the part of the sources' precision that
all points share, `pull` the data's part of precision times mean. The Gaussians have expected precisions `beta`,
precisions times means `beta_phi`, and `constant` is the part of their log density that doesn't depend on the source.
"""

from __future__ import annotations

import numpy as np
from numba import njit

__all__ = ["label_pass", "source_pass"]


@njit(cache=True, nogil=True)
def source_pass(pull, precision, beta, beta_phi, constant, labels):
    """Gaussian posteriors of the sources given their responsibilities (`labels`), and then new responsibilities.

    Parameters
    ----------
    pull : (C, T, M), precision : (C, M, M), beta, beta_phi, constant : (C, M, K), labels : (C, T, M, K)

    Returns
    -------
    mean : (C, T, M), cov : (C, T, M, M), log_det : (C, T) of cov, labels : (C, T, M, K)
        In NumPy::

            own = np.einsum("ctmk,cmk->ctm", labels, beta)
            cov = np.linalg.inv(precision[:, None] + own[..., None] * np.eye(M))
            total = pull + np.einsum("ctmk,cmk->ctm", labels, beta_phi)
            mean = np.einsum("ctij,ctj->cti", cov, total)
            log_det = np.linalg.slogdet(cov)[1]
            labels, _ = label_pass(mean, np.einsum("ctmm->ctm", cov), beta, beta_phi, constant)
    """
    C, T, M, K = labels.shape
    mean = np.empty((C, T, M))
    cov = np.empty((C, T, M, M))
    log_det = np.empty((C, T))
    out = np.empty((C, T, M, K))
    L = np.empty((M, M))  # reused for every point and cluster
    total = np.empty(M)
    for c in range(C):
        for t in range(T):
            for i in range(M):
                total[i] = pull[c, t, i]
                for j in range(i + 1):
                    L[i, j] = precision[c, i, j]
                for k in range(K):
                    L[i, i] += labels[c, t, i, k] * beta[c, i, k]
                    total[i] += labels[c, t, i, k] * beta_phi[c, i, k]
            log_det[c, t] = _invert(L, cov[c, t])
            for i in range(M):
                value = 0.0
                for j in range(M):
                    value += cov[c, t, i, j] * total[j]
                mean[c, t, i] = value
            for i in range(M):
                _share(mean[c, t, i], cov[c, t, i, i], beta[c, i], beta_phi[c, i], constant[c, i], out[c, t, i])
    return mean, cov, log_det, out


@njit(cache=True, nogil=True)
def label_pass(mean, variance, beta, beta_phi, constant):
    """Responsibilities of the Gaussians for the sources.

    Parameters
    ----------
    mean, variance : (C, T, M), beta, beta_phi, constant : (C, M, K)

    Returns
    -------
    labels : (C, T, M, K), log_z : (C, T)
        In NumPy::

            log = constant + beta_phi * mean[..., None] - beta * (mean**2 + variance)[..., None] / 2
            labels = scipy.special.softmax(log, axis=-1)
            log_z = scipy.special.logsumexp(log, axis=-1).sum(axis=-1)

        where the parameters are repeated along T.
    """
    C, T, M = mean.shape
    labels = np.empty((C, T, M, beta.shape[2]))
    log_z = np.zeros((C, T))
    for c in range(C):
        for t in range(T):
            for m in range(M):
                log_z[c, t] += _share(
                    mean[c, t, m], variance[c, t, m], beta[c, m], beta_phi[c, m], constant[c, m], labels[c, t, m]
                )
    return labels, log_z


@njit(cache=True, nogil=True)
def _invert(L, out):
    """The inverse of the symmetric positive matrix in the lower triangle of L to `out`, and its log determinant.

    L becomes the inverse of its Cholesky factor.
    """
    M = len(L)
    log_det = 0.0
    for j in range(M):
        value = L[j, j]
        for k in range(j):
            value -= L[j, k] * L[j, k]
        root = np.sqrt(value)
        log_det -= 2.0 * np.log(root)
        L[j, j] = root
        for i in range(j + 1, M):
            value = L[i, j]
            for k in range(j):
                value -= L[i, k] * L[j, k]
            L[i, j] = value / root
    for j in range(M):
        L[j, j] = 1.0 / L[j, j]
        for i in range(j + 1, M):
            value = 0.0
            for k in range(j, i):
                value -= L[i, k] * L[k, j]
            L[i, j] = value / L[i, i]
    for i in range(M):
        for j in range(i + 1):
            value = 0.0
            for k in range(i, M):
                value += L[k, i] * L[k, j]
            out[i, j] = value
            out[j, i] = value
    return log_det


@njit(cache=True, nogil=True)
def _share(mean, variance, beta, beta_phi, constant, out):
    """Write the responsibilities of the Gaussians for one source to `out`; return the log normaliser."""
    K = len(beta)
    square = 0.5 * (mean * mean + variance)
    top = -np.inf  # subtracted before exp, which would overflow
    for k in range(K):
        out[k] = constant[k] + beta_phi[k] * mean - beta[k] * square
        top = max(top, out[k])
    total = 0.0
    for k in range(K):
        out[k] = np.exp(out[k] - top)
        total += out[k]
    for k in range(K):
        out[k] /= total
    return top + np.log(total)
