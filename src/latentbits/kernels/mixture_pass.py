"""One EM pass of a mixture of Bernoulli products over packed rows: four cells at a time, by tables of 16 patterns.

What a row adds up over its cells is linear in them, so four columns have only 16 different sums, which a table holds: a
quarter of the additions that a matrix product needs, exact to rounding.
"""

from math import exp, log

import numba
import numpy as np

from latentbits.kernels.vectors import VECTOR_BYTES, load, spread, store

__all__ = ["LANES", "mixture_pass"]

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
