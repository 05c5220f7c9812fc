"""One EM pass: over packed rows of 0-1 cells (mixtures), over the ones alone (PLSA), over the lags of a sequence.

`mixture_pass` takes packed rows, four cells at a time, by tables of 16 patterns.
What a row adds up over its cells is linear in them, so four columns have only 16 different sums, which a table holds: a
quarter of the additions that a matrix product needs, exact to rounding.
"""

from __future__ import annotations

from math import exp, log

import numba
import numpy as np

from latentbits.kernels.vectors import VECTOR_BYTES, load, spread, store

LANES = VECTOR_BYTES // 8
"""The axis of components is padded to a multiple of this."""

STRIP = 16  # bytes of each row, of which a strip of all rows is taken at a time: its tables stay in the cache

_LOOP = {"nogil": True, "error_model": "numpy", "cache": True}


@numba.njit(**_LOOP)
def _find_entries(bits, first, last, length, at):
    """Where in a flat table the entries of the patterns in the bytes first .. last begin; returns their number."""
    n = 0
    for b in range(first, last):
        at[n] = (32 * b + (bits[b] >> 4)) * length
        at[n + 1] = (32 * b + 16 + (bits[b] & 15)) * length
        n += 2
    return n


@numba.njit(**_LOOP)
def _add_entries(table, at, n, total):
    """total += the sum of the n entries."""
    for k in range(0, total.shape[0], LANES):
        a, b = load(total, k), spread(0.0)  # two sums: an addition needn't wait for the one before it
        for e in range(0, n, 2):
            a = a + load(table, at[e] + k)
            b = b + load(table, at[e + 1] + k)
        store(total, k, a + b)


@numba.njit(**_LOOP)
def _add_to_entries(table, at, n, r):
    """Each of the n entries += r."""
    for k in range(0, r.shape[0], LANES):
        share = load(r, k)
        for e in range(n):
            store(table, at[e] + k, load(table, at[e] + k) + share)


@numba.njit(**_LOOP)
def _share(joint, K, weight, size):
    """joint becomes weight * softmax(joint) over the first K, 0 beyond, and is added to size; returns logsumexp."""
    largest = joint[0]
    for k in range(1, K):
        largest = max(largest, joint[k])
    total = 0.0
    for k in range(K):
        joint[k] = exp(joint[k] - largest)
        total += joint[k]
    for k in range(joint.shape[0]):
        joint[k] = weight * joint[k] / total if k < K else 0.0
        size[k] += joint[k]
    return largest + log(total)


@numba.njit(**_LOOP)
def mixture_pass(bits, tables, base, K, row_weight, sums, size, row_log):
    """Write row_log and add to `sums` and `size`, which are zero at the start.

    bits : (Q, n, B) uint8, rows of Q kinds of 0-1 cells as `numpy.packbits` makes them.
    tables, sums : (Q, 32 B L): for each half of a byte and each of its 16 patterns L numbers, the first K of which
    belong to components. With T the tables' entries for the patterns of a row, (Q, 2 B, L)::

        joint = (base + T.sum(axis=(0, 1)))[:K]
        row_log = logsumexp(joint)
        r = row_weight * softmax(joint)
        size += r, and so do all 2 Q B entries of `sums` for those patterns
    """
    Q, n, B = bits.shape
    length = base.shape[0]
    joint, at = np.empty((n, length)), np.empty(2 * STRIP, np.int64)
    for i in range(n):
        for k in range(length):
            joint[i, k] = base[k]
    for q in range(Q):
        for first in range(0, B, STRIP):
            for i in range(n):
                n_entries = _find_entries(bits[q, i], first, min(first + STRIP, B), length, at)
                _add_entries(tables[q], at, n_entries, joint[i])
    for i in range(n):
        row_log[i] = _share(joint[i], K, row_weight[i], size)
    for q in range(Q):
        for first in range(0, B, STRIP):
            for i in range(n):
                n_entries = _find_entries(bits[q, i], first, min(first + STRIP, B), length, at)
                _add_to_entries(sums[q], at, n_entries, joint[i])


SMALL, LARGE = 1e-150, 1e150  # a product outside of these is turned into its logarithm: one logarithm for many ones

# Reassociation lets the compiler vectorise sums; there are no missing values, hence no NaN.
_ONES_LOOP = {"nogil": True, "fastmath": {"contract", "reassoc", "nsz", "arcp"}, "error_model": "numpy", "cache": True}


@numba.njit(**_ONES_LOOP)
def ones_pass(indptr, indices, W, Ht, row_weight, M, G, row_log):
    """Share out each one of the rows among the components: W is n x K, Ht is D x K, both positive where there are ones.

    Row i has its ones in the columns indices[indptr[i]:indptr[i + 1]]. Writes M (n x K) and row_log (n), adds to
    G (D x K). With X the rows as a 0-1 matrix, the same in NumPy::

        R = X / (W @ Ht.T)
        M[:] = W * (R @ Ht)
        G += R.T @ (row_weight[:, None] * W)
        row_log[:] = (X * np.log(W @ Ht.T)).sum(axis=1)
    """
    n_rows, K = W.shape
    for i in range(n_rows):
        w, m = W[i], M[i]
        weight = row_weight[i]
        m[:] = 0.0
        logs = 0.0
        product = 1.0
        for p in range(indptr[i], indptr[i + 1]):
            h, g = Ht[indices[p]], G[indices[p]]
            d = 0.0
            for k in range(K):
                d += w[k] * h[k]
            r = 1.0 / d
            weighted = weight * r
            for k in range(K):
                m[k] += r * h[k]
                g[k] += weighted * w[k]
            product *= d
            if product < SMALL or product > LARGE:
                logs += log(product)
                product = 1.0
        row_log[i] = logs + log(product)
        for k in range(K):
            m[k] *= w[k]


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
