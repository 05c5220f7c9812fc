"""A pass over the ones of sparse rows whose zeros are expanded, and never visited.

A kernel and its helpers stay in this one file, because Numba's cache of a kernel is not invalidated by an edit
elsewhere.
"""

from math import log, sqrt

import numba
import numpy as np

__all__ = ["VECTOR", "exact_entries", "sparse_pass"]

VECTOR = 16  # components are padded with zeros to a multiple of this: loops over fewer are not vectorised
SMALL = 1e-150  # a smaller product is turned into its logarithm: one logarithm for many cells
TINY = 1e-18  # least probability of a 1
LEAST = 1e-300
ROOT_STEPS = 50
ROOT_ERROR = 1e-7  # what is left is made up by normalising, and changes the objective by its square

# Reassociation lets the compiler vectorise sums. NaN has no meaning in here: missing cells are coded as -1. A loop that
# sums writes no array: whether it is vectorised would depend on where arrays lie, and the last bit with it.
# Helpers are inlined by force: otherwise there are two compiled forms of each, its own and that inside of the pass, and
# which of them runs, and so the last bit, depends on whether a process compiles them or loads them from Numba's cache.
_LOOP = {
    "nogil": True,
    "fastmath": {"contract", "reassoc", "nsz", "arcp"},
    "error_model": "numpy",
    "cache": True,
    "forceinline": True,
}


@numba.njit(nogil=True, cache=True)
def exact_entries(indptr, indices, values, place):
    """The stored cells of columns with a place >= 0, renumbered by it: indptr, indices and values of a CSR matrix."""
    n = 0
    for q in range(indptr[0], indptr[-1]):
        n += place[indices[q]] >= 0
    pointers = np.zeros(indptr.shape[0], np.int64)
    columns, codes = np.empty(n, np.int32), np.empty(n, np.int8)
    n = 0
    for i in range(indptr.shape[0] - 1):
        for q in range(indptr[i], indptr[i + 1]):
            if place[indices[q]] >= 0:
                columns[n] = place[indices[q]]
                codes[n] = values[q]
                n += 1
        pointers[i + 1] = n
    return pointers, columns, codes


@numba.njit(**_LOOP)
def _share_out(columns, codes, place, w, Ht, kappa, a, o):
    """a += h / p over the ones, o += h (1 + kappa p) over all stored cells, of expanded columns.

    Returns the sum of log p over the ones and p + kappa p^2 / 2 over all, and the number of missing cells.
    """
    K = w.shape[0]
    logs, product, added, missing = 0.0, 1.0, 0.0, 0
    for q in range(columns.shape[0]):
        missing += codes[q] < 0
        if place[columns[q]] >= 0:
            continue
        h = Ht[columns[q]]
        p = 0.0
        for k in range(K):
            p += w[k] * h[k]
        s = 1.0 + kappa * p
        added += p + 0.5 * kappa * p * p
        r = 0.0
        if codes[q] > 0:
            p = max(p, TINY)
            r = 1.0 / p
            product *= p
            if product < SMALL:
                logs += log(product)
                product = 1.0
        for k in range(K):
            a[k] += r * h[k]
            o[k] += s * h[k]
    return logs + log(product) + added, missing


@numba.njit(**_LOOP)
def _collect(columns, codes, place, w, weight, Ht, kappa, G, F):
    """G += weight w / p in columns of ones, F += weight w (1 + kappa p) in those of all stored cells, if expanded."""
    K = w.shape[0]
    for q in range(columns.shape[0]):
        j = columns[q]
        if place[j] >= 0:
            continue
        h, g, u = Ht[j], G[j], F[j]
        p = 0.0
        for k in range(K):
            p += w[k] * h[k]
        s = weight * (1.0 + kappa * p)
        r = weight / max(p, TINY) if codes[q] > 0 else 0.0
        for k in range(K):
            g[k] += r * w[k]
            u[k] += s * w[k]


@numba.njit(**_LOOP)
def _improve(w, a, b, c, falls, new):
    """new on the simplex maximising sum_k w_k (a_k log x_k - b_k x_k - c_k x_k^2 / 2), x = new / w.

    So c x^2 + (b + m) x = a, where m makes the sum 1. That sum is convex and falls with m, so Newton's method for m
    stays on one side of the root after its first step.
    """
    K = w.shape[0]
    least, m, excess = -np.inf, 0.0, 0.0
    for k in range(K):
        if w[k] > 0.0:
            least = max(least, a[k] * w[k] - b[k] - c[k] / w[k])  # there new_k alone is 1
        m += w[k] * (a[k] - b[k] - c[k])
    for _ in range(ROOT_STEPS):
        m = max(m, least)
        for k in range(K):
            s = b[k] + m
            root = sqrt(s * s + 4.0 * a[k] * c[k]) + LEAST
            t = 0.5 * (abs(s) + root)
            x = (a[k] if s > 0.0 else t) / (t if s > 0.0 else c[k])
            new[k] = w[k] * x
            falls[k] = w[k] * x / root
        excess, slope = -1.0, 0.0
        for k in range(K):
            excess += new[k]
            slope += falls[k]
        if abs(excess) < ROOT_ERROR or slope == 0.0:
            break
        m += excess / slope
    excess += 1.0
    for k in range(K):
        new[k] /= excess


@numba.njit(**_LOOP)
def _row_terms(w, M, total, cross, kappa, a, b, c):
    """a += M / w, b = total - b, c = kappa cross @ w; returns the expanded objective, as if all cells were zeros."""
    K = w.shape[0]
    value = 0.0
    for k in range(K):
        c[k] = LEAST
    for other in range(K):
        row, s = cross[other], kappa * w[other]
        for k in range(K):
            c[k] += s * row[k]
    for k in range(M.shape[0]):
        a[k] += M[k] / max(w[k], LEAST)
    for k in range(K):
        b[k] = total[k] - b[k]
    for k in range(K):
        value -= w[k] * (total[k] + 0.5 * c[k])
    return value


@numba.njit(nogil=True, error_model="numpy", cache=True)
def sparse_pass(
    indptr,
    indices,
    values,
    W,
    row_weight,
    Ht,
    place,
    total,
    cross,
    kappa,
    M,
    new_W,
    G,
    F,
    row_value,
):
    """Improve the weights of some rows, then collect for their components what the improved weights give.

    CSR rows (stored values 1 or -1, missing; absent means 0); Ht = H.T, padded with zeros, as G, F, total and cross
    are. Columns with a place >= 0 are exact: M is their part, as `aspect_pass` gives it. In the others log(1 - p) is
    replaced by -(p + kappa p^2 / 2); total = sum_j h_j and cross = sum_j h_j h_j^T over them. Writes new_W, adds to
    G, F (D x K) and row_value, the objective of W.
    The same in NumPy, with the expanded columns only::

        P = W @ H
        row_value += (where(X == 1, log(P), 0) - where(X == 0, P + kappa * P**2 / 2, 0)).sum(axis=1)
        a = ((X == 1) / P) @ Ht + M / W
        b = total - ((X != 0) * (1 + kappa * P)) @ Ht;  c = kappa * W @ cross
        new_W = rows on the simplex maximising sum_k W (a log x - b x - c x^2 / 2), x = new_W / W
        P = new_W @ H
        G += ((X == 1) / P).T @ (row_weight[:, None] * new_W)
        F += ((X != 0) * (1 + kappa * P)).T @ (row_weight[:, None] * new_W)
    """
    n, K = W.shape
    padded = Ht.shape[1]
    w, new = np.zeros(padded), np.zeros(padded)
    a, b, c, falls = np.empty(padded), np.empty(padded), np.empty(padded), np.empty(padded)
    for i in range(n):
        columns, codes = indices[indptr[i] : indptr[i + 1]], values[indptr[i] : indptr[i + 1]]
        for k in range(K):
            w[k] = W[i, k]
        a[:] = 0.0
        b[:] = 0.0
        value, missing = _share_out(columns, codes, place, w, Ht, kappa, a, b)
        row_value[i] += value + _row_terms(w, M[i], total, cross, kappa, a, b, c)
        if missing == Ht.shape[0]:
            for k in range(padded):
                new[k] = w[k]
        else:
            _improve(w, a, b, c, falls, new)
        _collect(columns, codes, place, new, row_weight[i], Ht, kappa, G, F)
        for k in range(K):
            new_W[i, k] = new[k]
