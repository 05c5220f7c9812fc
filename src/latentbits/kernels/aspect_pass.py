"""The one pass of the aspect family, fused: every cell is read once and nothing of size N x D is stored.

A kernel and its helpers stay in this one file, because Numba's cache of a kernel is not invalidated by an edit
elsewhere; `vectors` has instructions, no mathematics.

Why it is fast: rows are taken four at a time, so that a strip of H is loaded once for four rows; sums stay in vector
registers, as `vectors` makes it possible to say, and are in float32, of which a register holds twice as many; sums over
rows leave float32 after BLOCK rows; and one logarithm is taken per row and strip, not per cell.
"""

from math import log

import numba
import numpy as np

from latentbits.kernels.vectors import (
    MANY_REGISTERS,
    VECTOR_BYTES,
    larger,
    load,
    spread,
    store,
    store_totals,
    where_positive,
)

__all__ = ["aspect_pass"]

_f8 = np.float64
_ZERO = np.float32(0.0)
_LN2 = log(2.0)

TINY = np.float32(1e-18)  # lower bound of d: the product of 2 still fits into a float32, that of 16 into a float64
BLOCK = 256  # rows summed in float32 before they are added up in float64
FACTORS = 16  # of a product whose logarithm is taken
PADDED = 32  # columns of a strip are a multiple of this, and so of the lanes of a vector
STRIP_CELLS = 36_864  # components x columns of a strip: four such arrays stay in the second-level cache
STRIP_COLUMNS = 1024 if MANY_REGISTERS else 512  # at most: 4 rows of two kinds of 1/d fill the first-level cache
SHORT_STRIP = 128  # columns of a strip at least, however many components: shorter loops don't pay

# Reassociation lets sums be vectorised. NaN has no meaning in here: missing cells are coded as -1.
_FAST = {"contract", "reassoc", "nsz", "arcp"}
_KERNEL = {"nogil": True, "error_model": "numpy", "cache": True}
_LOOP = {**_KERNEL, "fastmath": _FAST}


@numba.njit(**_LOOP)
def _load_row(cells, indptr, indices, values, sparse, i, first, last, x):
    """x = row i of the data, columns first .. last, as float32 codes 0, 1, -1 (missing); the rest stays."""
    width = last - first
    if sparse:
        for j in range(width):
            x[j] = _ZERO
        # Column indices are sorted within a row, so the strip's first entry is found by bisection.
        start, stop = indptr[i], indptr[i + 1]
        after = stop
        while start < after:
            middle = (start + after) // 2
            if indices[middle] < first:
                start = middle + 1
            else:
                after = middle
        for p in range(start, stop):
            j = indices[p] - first
            if j >= width:
                break
            x[j] = values[p]
    else:
        row = cells[i, first:last]
        for j in range(width):
            x[j] = row[j]


@numba.njit(**_KERNEL)
def _store_reciprocals(x, sums, nothing, one, tiny, d, r1, r0, j):
    """d_j.. = the sums, 1 for missing cells; r1_j.. = 1/d where x = 1, r0_j.. = 1/d where x = 0, else 0."""
    seen = x + one
    # Components at 0 or 1 can make a sum underflow, and 1 / d must stay finite.
    divisor = where_positive(seen, larger(sums, tiny), one)
    reciprocal = where_positive(seen, one / divisor, nothing)
    store(d, j, divisor)
    store(r1, j, where_positive(x, reciprocal, nothing))
    store(r0, j, where_positive(x, nothing, reciprocal))


@numba.njit(**_KERNEL)
def _divide_four_rows(w, H1, H0, x, d, r1, r0, width):
    """d_rj = sum_k w_kr (H1_kj where x_rj = 1 else H0_kj), 1 for missing cells; r1, r0 = 1/d where x = 1, x = 0."""
    kind = w.dtype.type
    nothing, one, tiny = spread(kind(0)), spread(kind(1)), spread(kind(TINY))
    for j in range(0, width, VECTOR_BYTES // w.itemsize):
        x0, x1, x2, x3 = load(x[0], j), load(x[1], j), load(x[2], j), load(x[3], j)
        d0, d1, d2, d3 = nothing, nothing, nothing, nothing
        for k in range(H1.shape[0]):
            h1, h0 = load(H1[k], j), load(H0[k], j)
            d0 = d0 + spread(w[k, 0]) * where_positive(x0, h1, h0)
            d1 = d1 + spread(w[k, 1]) * where_positive(x1, h1, h0)
            d2 = d2 + spread(w[k, 2]) * where_positive(x2, h1, h0)
            d3 = d3 + spread(w[k, 3]) * where_positive(x3, h1, h0)
        _store_reciprocals(x0, d0, nothing, one, tiny, d[0], r1[0], r0[0], j)
        _store_reciprocals(x1, d1, nothing, one, tiny, d[1], r1[1], r0[1], j)
        _store_reciprocals(x2, d2, nothing, one, tiny, d[2], r1[2], r0[2], j)
        _store_reciprocals(x3, d3, nothing, one, tiny, d[3], r1[3], r0[3], j)


@numba.njit(**_LOOP)
def _sum_of_logs(d, width):
    """sum(log(d)): products of 16, their exponents added up, their mantissas multiplied, one logarithm."""
    # A logarithm per cell would be slow. d > 0, so the sign bit is 0, and the exponent is what is above bit 52.
    n = width // FACTORS  # without rest: strips are padded
    exponents = np.int64(0)
    mantissas = _f8(1.0)  # a strip has at most 64 products with mantissas in [1, 2): no overflow
    for j in range(n):
        product = _f8(1.0)
        for f in range(0, FACTORS, 2):
            product *= _f8(d[f * n + j] * d[(f + 1) * n + j])
        bits = _f8(product).view(np.int64)
        exponents += (bits >> 52) - 1023
        mantissas *= np.int64((bits & 0xFFFFFFFFFFFFF) | 0x3FF0000000000000).view(np.float64)
    return exponents * _LN2 + log(mantissas)


@numba.njit(**_KERNEL)
def _collect_by_one(wr, H1, H0, r1, r0, A1, A0, m, width):
    """m_kr = sum_j r1_rj H1_kj + r0_rj H0_kj;  A1 += wr r1;  A0 += wr r0  (wr: row weight x W), for 16 registers."""
    nothing = spread(wr.dtype.type(0))
    for k in range(H1.shape[0]):
        w0, w1, w2, w3 = spread(wr[k, 0]), spread(wr[k, 1]), spread(wr[k, 2]), spread(wr[k, 3])
        m0, m1, m2, m3 = nothing, nothing, nothing, nothing
        for j in range(0, width, VECTOR_BYTES // wr.itemsize):
            h1, h0, a1, a0 = load(H1[k], j), load(H0[k], j), load(A1[k], j), load(A0[k], j)
            p, q = load(r1[0], j), load(r0[0], j)
            m0, a1, a0 = m0 + p * h1 + q * h0, a1 + w0 * p, a0 + w0 * q
            p, q = load(r1[1], j), load(r0[1], j)
            m1, a1, a0 = m1 + p * h1 + q * h0, a1 + w1 * p, a0 + w1 * q
            p, q = load(r1[2], j), load(r0[2], j)
            m2, a1, a0 = m2 + p * h1 + q * h0, a1 + w2 * p, a0 + w2 * q
            p, q = load(r1[3], j), load(r0[3], j)
            m3, a1, a0 = m3 + p * h1 + q * h0, a1 + w3 * p, a0 + w3 * q
            store(A1[k], j, a1)
            store(A0[k], j, a0)
        store_totals(m[k], 0, m0, m1, m2, m3)


@numba.njit(**_KERNEL)
def _collect_by_two(wr, H1, H0, r1, r0, A1, A0, m, width):
    """The same for 32 registers: two components at a time, so that reciprocals are loaded half as often."""
    nothing = spread(wr.dtype.type(0))
    for k in range(0, H1.shape[0], 2):
        v0, v1, v2, v3 = spread(wr[k, 0]), spread(wr[k, 1]), spread(wr[k, 2]), spread(wr[k, 3])
        w0, w1, w2, w3 = spread(wr[k + 1, 0]), spread(wr[k + 1, 1]), spread(wr[k + 1, 2]), spread(wr[k + 1, 3])
        m0, m1, m2, m3 = nothing, nothing, nothing, nothing
        n0, n1, n2, n3 = nothing, nothing, nothing, nothing
        for j in range(0, width, VECTOR_BYTES // wr.itemsize):
            g1, g0, a1, a0 = load(H1[k], j), load(H0[k], j), load(A1[k], j), load(A0[k], j)
            h1, h0, b1, b0 = load(H1[k + 1], j), load(H0[k + 1], j), load(A1[k + 1], j), load(A0[k + 1], j)
            p, q = load(r1[0], j), load(r0[0], j)
            m0, a1, a0 = m0 + p * g1 + q * g0, a1 + v0 * p, a0 + v0 * q
            n0, b1, b0 = n0 + p * h1 + q * h0, b1 + w0 * p, b0 + w0 * q
            p, q = load(r1[1], j), load(r0[1], j)
            m1, a1, a0 = m1 + p * g1 + q * g0, a1 + v1 * p, a0 + v1 * q
            n1, b1, b0 = n1 + p * h1 + q * h0, b1 + w1 * p, b0 + w1 * q
            p, q = load(r1[2], j), load(r0[2], j)
            m2, a1, a0 = m2 + p * g1 + q * g0, a1 + v2 * p, a0 + v2 * q
            n2, b1, b0 = n2 + p * h1 + q * h0, b1 + w2 * p, b0 + w2 * q
            p, q = load(r1[3], j), load(r0[3], j)
            m3, a1, a0 = m3 + p * g1 + q * g0, a1 + v3 * p, a0 + v3 * q
            n3, b1, b0 = n3 + p * h1 + q * h0, b1 + w3 * p, b0 + w3 * q
            store(A1[k], j, a1)
            store(A0[k], j, a0)
            store(A1[k + 1], j, b1)
            store(A0[k + 1], j, b0)
        store_totals(m[k], 0, m0, m1, m2, m3)
        store_totals(m[k + 1], 0, n0, n1, n2, n3)


_collect_four_rows = _collect_by_two if MANY_REGISTERS else _collect_by_one


@numba.njit(**_LOOP)
def _flush(a, A, first, last):
    """A[:, first:last] += a, and a = 0."""
    for k in range(A.shape[0]):
        source, target = a[k], A[k, first:last]
        for j in range(last - first):
            target[j] += source[j]
            source[j] = _ZERO


@numba.njit(**_KERNEL)
def aspect_pass(cells, indptr, indices, values, sparse, W, H1, H0, row_weight, M, A1, A0, row_log):
    """Add the statistics of a chunk of rows to M, A1, A0, row_log (float64, zero at the start).

    Either `cells` (n x D int8: 0, 1, -1 for missing) holds the rows, or, when `sparse`, CSR arrays do (stored
    values 1 or -1; absent means 0). W, H1, H0, row_weight are all float32, which is what the loops are made for,
    or all float64, twice as slow. Equivalent, missing cells left out::

        d = where(X == 1, W @ H1, W @ H0)
        M = W * ((X == 1) / d @ H1.T + (X == 0) / d @ H0.T)
        A1 = (row_weight[:, None] * W).T @ ((X == 1) / d)          # N1 = H1 * A1
        A0 = (row_weight[:, None] * W).T @ ((X == 0) / d)          # N0 = H0 * A0
        row_log = log(d).sum(axis=1)
    """
    n, K = W.shape
    kind = W.dtype
    D = H1.shape[1]
    columns = min(max(STRIP_CELLS // K, SHORT_STRIP), STRIP_COLUMNS) * 4 // W.itemsize
    n_strips = -(-D // columns)
    even = K + K % 2  # components are collected two at a time: an odd K gets one of zeros
    w, wr = np.zeros((even, 4), kind), np.zeros((even, 4), kind)
    m = np.empty((even, 4), kind)
    for strip in range(n_strips):
        first, last = strip * D // n_strips, (strip + 1) * D // n_strips
        # Strips are copied and padded with missing columns: every inner loop then runs over whole vectors. Rows are
        # an odd number of cache lines (16 floats) apart: at powers of two they would compete for the same few places
        # in the cache.
        width = -(-(last - first) // PADDED) * PADDED
        stride = width + PADDED // 2
        h1, h0 = np.zeros((even, stride), kind), np.zeros((even, stride), kind)
        for k in range(K):
            for j in range(last - first):
                h1[k, j], h0[k, j] = H1[k, first + j], H0[k, first + j]
        a1, a0 = np.zeros((even, stride), kind), np.zeros((even, stride), kind)
        x, d = np.empty((4, stride), kind), np.empty((4, stride), kind)
        x.fill(-1)
        r1, r0 = np.empty((4, stride), kind), np.empty((4, stride), kind)
        for i in range(0, n, 4):
            for r in range(4):
                inside = i + r < n
                if inside:
                    _load_row(cells, indptr, indices, values, sparse, i + r, first, last, x[r])
                else:  # rows beyond the end count as missing, so the last group needs no code of its own
                    x[r].fill(-1)
                for k in range(K):
                    w[k, r] = W[i + r, k] if inside else _ZERO
                    wr[k, r] = row_weight[i + r] * w[k, r] if inside else _ZERO
            _divide_four_rows(w, h1, h0, x, d, r1, r0, width)
            _collect_four_rows(wr, h1, h0, r1, r0, a1, a0, m, width)
            for r in range(min(4, n - i)):
                row_log[i + r] += _sum_of_logs(d[r], width)
                for k in range(K):
                    M[i + r, k] += w[k, r] * m[k, r]  # added, as every strip of columns visits the row
            if (i + 4) % BLOCK == 0 or i + 4 >= n:
                _flush(a1, A1, first, last)
                _flush(a0, A0, first, last)
