"""The one pass of the aspect family, fused: every cell is read once and nothing of size N x D is stored.

A kernel and its helpers stay in this one file, because a cached kernel doesn't notice an edit elsewhere.

How it is fast: rows are taken four at a time, so that a strip of H is loaded once for four rows; the innermost
loop always runs over contiguous columns in float32, which the compiler turns into vector instructions; sums over
rows leave float32 after BLOCK rows; and one logarithm is taken per row and strip, not per cell.
"""

from math import log

import numba
import numpy as np

__all__ = ["aspect_pass"]

_f4 = np.float32
_f8 = np.float64
_ZERO = np.float32(0.0)
_ONE = np.float32(1.0)
_LN2 = log(2.0)

TINY = np.float32(1e-18)  # d never goes below: 16 such factors still fit into a float64
BLOCK = 256  # rows summed in float32 before they are added up in float64
VECTOR = 32  # columns of a strip are a multiple of this
STRIP_CELLS = 12_288  # components x columns of a strip: its four K x strip arrays stay in the second-level cache

# Reassociation lets sums be vectorised. NaN has no meaning in here: missing cells are coded as -1.
_LOOP = {"nogil": True, "fastmath": {"contract", "reassoc", "nsz", "arcp"}, "error_model": "numpy", "cache": True}


@numba.njit(**_LOOP)
def _load_row(cells, indptr, indices, values, sparse, i, first, last, x):
    """x = row i of the data, columns first .. last, as float32 codes 0, 1, -1 (missing); the rest stays."""
    width = last - first
    if sparse:
        for j in range(width):
            x[j] = _ZERO
        start, stop = indptr[i], indptr[i + 1]
        for p in range(start + np.searchsorted(indices[start:stop], first), stop):
            j = indices[p] - first
            if j >= width:
                break
            x[j] = values[p]
    else:
        row = cells[i, first:last]
        for j in range(width):
            x[j] = row[j]


@numba.njit(**_LOOP)
def _mix_two_rows(w, v, H1, H0, x, y, s, t):
    """s = sum_k w_k (H1_k where x = 1 else H0_k), and t the same of v and y."""
    K, width = H1.shape
    for j in range(width):
        s[j] = _ZERO
        t[j] = _ZERO
    fours = K - K % 4
    for k in range(0, fours, 4):
        w0, w1, w2, w3 = w[k], w[k + 1], w[k + 2], w[k + 3]
        v0, v1, v2, v3 = v[k], v[k + 1], v[k + 2], v[k + 3]
        A, B = H1[k : k + 4], H0[k : k + 4]
        for j in range(width):
            a0, a1, a2, a3 = A[0, j], A[1, j], A[2, j], A[3, j]
            b0, b1, b2, b3 = B[0, j], B[1, j], B[2, j], B[3, j]
            one = x[j] > _ZERO
            s[j] += (
                w0 * (a0 if one else b0)
                + w1 * (a1 if one else b1)
                + w2 * (a2 if one else b2)
                + w3 * (a3 if one else b3)
            )
            one = y[j] > _ZERO
            t[j] += (
                v0 * (a0 if one else b0)
                + v1 * (a1 if one else b1)
                + v2 * (a2 if one else b2)
                + v3 * (a3 if one else b3)
            )
    for k in range(fours, K):
        w0, v0 = w[k], v[k]
        A1, B1 = H1[k], H0[k]
        for j in range(width):
            a0, b0 = A1[j], B1[j]
            s[j] += w0 * (a0 if x[j] > _ZERO else b0)
            t[j] += v0 * (a0 if y[j] > _ZERO else b0)


@numba.njit(**_LOOP)
def _guard(x, d):
    """d = 1 where the cell is missing, and never below TINY."""
    for j in range(x.shape[0]):
        value = max(d[j], TINY)
        d[j] = value if x[j] >= _ZERO else _ONE


@numba.njit(**_LOOP)
def _sum_of_logs(d):
    """sum(log(d)), len(d) a multiple of 16: products of 16, their exponents added up, their mantissas multiplied, one logarithm."""
    width = d.shape[0]
    q = width // 16
    exponents = np.int64(0)
    mantissas = _f8(1.0)
    for j in range(q):
        low = _f8(d[j]) * d[j + q] * d[j + 2 * q] * d[j + 3 * q]
        low *= _f8(d[j + 4 * q]) * d[j + 5 * q] * d[j + 6 * q] * d[j + 7 * q]
        high = _f8(d[j + 8 * q]) * d[j + 9 * q] * d[j + 10 * q] * d[j + 11 * q]
        high *= _f8(d[j + 12 * q]) * d[j + 13 * q] * d[j + 14 * q] * d[j + 15 * q]
        bits = _f8(low * high).view(np.int64)
        exponents += (bits >> 52) - 1023
        mantissas *= np.int64((bits & 0xFFFFFFFFFFFFF) | 0x3FF0000000000000).view(np.float64)
    return exponents * _LN2 + log(mantissas)


@numba.njit(**_LOOP)
def _divide(x, d, r1, r0):
    """r1 = 1/d where x = 1 and r0 = 1/d where x = 0, else 0."""
    for j in range(x.shape[0]):
        r = _ONE / d[j]
        code = x[j]
        r1[j] = r if code > _ZERO else _ZERO
        r0[j] = r if code == _ZERO else _ZERO


@numba.njit(**_LOOP)
def _collect_four_rows(wr, H1, H0, r1, r0, A1, A0, m):
    """m_rk = sum_j r1_rj H1_kj + r0_rj H0_kj;  A1 += wr^T r1,  A0 += wr^T r0 (wr: row weight x W)."""
    K, width = H1.shape
    p0, p1, p2, p3 = r1[0], r1[1], r1[2], r1[3]
    n0, n1, n2, n3 = r0[0], r0[1], r0[2], r0[3]
    for k in range(K):
        w0, w1, w2, w3 = wr[0, k], wr[1, k], wr[2, k], wr[3, k]
        H1k, H0k, A1k, A0k = H1[k], H0[k], A1[k], A0[k]
        m0, m1, m2, m3 = _ZERO, _ZERO, _ZERO, _ZERO
        for j in range(width):
            a, b = H1k[j], H0k[j]
            m0 += p0[j] * a + n0[j] * b
            m1 += p1[j] * a + n1[j] * b
            m2 += p2[j] * a + n2[j] * b
            m3 += p3[j] * a + n3[j] * b
            A1k[j] += w0 * p0[j] + w1 * p1[j] + w2 * p2[j] + w3 * p3[j]
            A0k[j] += w0 * n0[j] + w1 * n1[j] + w2 * n2[j] + w3 * n3[j]
        m[0, k] = m0
        m[1, k] = m1
        m[2, k] = m2
        m[3, k] = m3


@numba.njit(nogil=True, error_model="numpy", cache=True)
def aspect_pass(cells, indptr, indices, values, sparse, W, H1, H0, row_weight, M, A1, A0, row_log):
    """Add the statistics of a chunk of rows to M, A1, A0, row_log (float64, zero at the start).

    Either `cells` (n x D int8: 0, 1, -1 for missing) holds the rows, or, when `sparse`, CSR arrays do (stored
    values 1 or -1; absent means 0). W, H1, H0 and row_weight are float32. Equivalent, missing cells left out::

        d = where(X == 1, W @ H1, W @ H0)
        M = W * ((X == 1) / d @ H1.T + (X == 0) / d @ H0.T)
        A1 = (row_weight[:, None] * W).T @ ((X == 1) / d)          # N1 = H1 * A1
        A0 = (row_weight[:, None] * W).T @ ((X == 0) / d)          # N0 = H0 * A0
        row_log = log(d).sum(axis=1)
    """
    n, K = W.shape
    D = H1.shape[1]
    n_strips = max(1, -(-(K * D) // STRIP_CELLS))
    w = np.zeros((4, K), _f4)
    wr = np.zeros((4, K), _f4)
    m = np.zeros((4, K), _f4)
    for strip in range(n_strips):
        first, last = strip * D // n_strips, (strip + 1) * D // n_strips
        # Strips are copied and padded with missing columns: every inner loop then runs over arrays that are
        # contiguous by their type, and over whole vectors.
        width = -(-(last - first) // VECTOR) * VECTOR
        h1, h0 = np.zeros((K, width), _f4), np.zeros((K, width), _f4)
        h1[:, : last - first] = H1[:, first:last]
        h0[:, : last - first] = H0[:, first:last]
        a1, a0 = np.zeros((K, width), _f4), np.zeros((K, width), _f4)
        x, d = np.full((4, width), -_ONE), np.empty((4, width), _f4)
        r1, r0 = np.empty((4, width), _f4), np.empty((4, width), _f4)
        for i in range(0, n, 4):
            for r in range(4):
                inside = i + r < n
                if inside:
                    _load_row(cells, indptr, indices, values, sparse, i + r, first, last, x[r])
                else:
                    x[r] = -1
                for k in range(K):
                    w[r, k] = W[i + r, k] if inside else _ZERO
                    wr[r, k] = row_weight[i + r] * w[r, k] if inside else _ZERO
            _mix_two_rows(w[0], w[1], h1, h0, x[0], x[1], d[0], d[1])
            _mix_two_rows(w[2], w[3], h1, h0, x[2], x[3], d[2], d[3])
            for r in range(4):
                _guard(x[r], d[r])
                if i + r < n:
                    row_log[i + r] += _sum_of_logs(d[r])
                _divide(x[r], d[r], r1[r], r0[r])
            _collect_four_rows(wr, h1, h0, r1, r0, a1, a0, m)
            for r in range(min(4, n - i)):
                for k in range(K):
                    M[i + r, k] += w[r, k] * m[r, k]
            if (i + 4) % BLOCK == 0 or i + 4 >= n:
                for k in range(K):
                    for j in range(last - first):
                        A1[k, first + j] += a1[k, j]
                        A0[k, first + j] += a0[k, j]
                a1[:] = _ZERO
                a0[:] = _ZERO
