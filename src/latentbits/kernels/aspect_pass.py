"""The one pass of the aspect family, fused: every cell is read once and nothing of size N x D is stored.

A kernel and its helpers stay in this one file, because Numba's cache of a kernel is not invalidated by an edit
elsewhere.

Why it is fast: rows are taken four at a time, so that a strip of H is loaded once for four rows; the
innermost loop always runs over contiguous columns in float32, which the compiler turns into vector
instructions, and is kept small enough for 16 vector registers; sums over rows leave float32 after BLOCK rows;
and one logarithm is taken per row and strip, not per cell.
"""

from math import log

import numba
import numpy as np

__all__ = ["aspect_pass"]

_f8 = np.float64
_ZERO = np.float32(0.0)
_ONE = np.float32(1.0)
_LN2 = log(2.0)

TINY = np.float32(1e-18)  # lower bound of d: the product of 2 still fits into a float32, that of 16 into a float64
BLOCK = 256  # rows summed in float32 before they are added up in float64
VECTOR = 32  # columns of a strip are a multiple of this
STRIP_CELLS = 24_576  # components x columns of a strip: four such arrays stay in the second-level cache
STRIP_COLUMNS = 512  # columns of a strip at most: 4 rows of x, d, r1, r0 fill the first-level cache
SHORT_STRIP = 128  # columns of a strip at least, however many components: shorter loops don't pay

# Reassociation lets sums be vectorised. NaN has no meaning in here: missing cells are coded as -1.
_FAST = {"contract", "reassoc", "nsz", "arcp"}
_LOOP = {"nogil": True, "fastmath": _FAST, "error_model": "numpy", "cache": True}


@numba.njit(**_LOOP)
def _load_row(cells, indptr, indices, values, sparse, i, first, last, x):
    """x = row i of the data, columns first .. last, as float32 codes 0, 1, -1 (missing); the rest stays."""
    width = last - first
    if sparse:
        for j in range(width):
            x[j] = _ZERO
        start, stop = indptr[i], indptr[i + 1]
        # Column indices are sorted within a row, so the strip's first entry is found by bisection.
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
def _mix(one, v, av, bv, w, aw, bw):
    """The contribution of two components to d: v av + w aw in a cell that is 1, else v bv + w bw."""
    return v * (av if one else bv) + w * (aw if one else bw)


@numba.njit(**_LOOP)
def _mix_four_rows(w, H1, H0, x, d, width):
    """d_rj = sum_k w_rk (H1_kj where x_rj = 1 else H0_kj); the number of components is even."""
    x0, x1, x2, x3 = x[0], x[1], x[2], x[3]
    d0, d1, d2, d3 = d[0], d[1], d[2], d[3]
    # Two components at a time: d is then loaded and stored half as often.
    for k in range(0, H1.shape[0], 2):
        v0, v1, v2, v3 = w[0, k], w[1, k], w[2, k], w[3, k]
        w0, w1, w2, w3 = w[0, k + 1], w[1, k + 1], w[2, k + 1], w[3, k + 1]
        Av, Bv, Aw, Bw = H1[k], H0[k], H1[k + 1], H0[k + 1]
        if k == 0:  # a loop of its own saves clearing d
            for j in range(width):
                av, bv, aw, bw = Av[j], Bv[j], Aw[j], Bw[j]
                d0[j] = _mix(x0[j] > _ZERO, v0, av, bv, w0, aw, bw)
                d1[j] = _mix(x1[j] > _ZERO, v1, av, bv, w1, aw, bw)
                d2[j] = _mix(x2[j] > _ZERO, v2, av, bv, w2, aw, bw)
                d3[j] = _mix(x3[j] > _ZERO, v3, av, bv, w3, aw, bw)
        else:
            for j in range(width):
                av, bv, aw, bw = Av[j], Bv[j], Aw[j], Bw[j]
                d0[j] += _mix(x0[j] > _ZERO, v0, av, bv, w0, aw, bw)
                d1[j] += _mix(x1[j] > _ZERO, v1, av, bv, w1, aw, bw)
                d2[j] += _mix(x2[j] > _ZERO, v2, av, bv, w2, aw, bw)
                d3[j] += _mix(x3[j] > _ZERO, v3, av, bv, w3, aw, bw)


@numba.njit(**_LOOP)
def _invert(x, d, r1, r0, pairs, half):
    """r1 = 1/d where x = 1, r0 = 1/d where x = 0, else 0; pairs = d_j d_(half + j), missing cells as 1."""
    x_low, x_high, d_low, d_high = x[:half], x[half:], d[:half], d[half:]
    r1_low, r1_high, r0_low, r0_high = r1[:half], r1[half:], r0[:half], r0[half:]
    for j in range(half):
        low, high = x_low[j], x_high[j]
        # Components at 0 or 1 can make d underflow, and 1 / d must stay finite.
        dl, dh = max(d_low[j], TINY), max(d_high[j], TINY)
        dl = dl if low >= _ZERO else _ONE
        dh = dh if high >= _ZERO else _ONE
        pairs[j] = dl * dh
        rl, rh = _ONE / dl, _ONE / dh
        r1_low[j] = rl if low > _ZERO else _ZERO
        r0_low[j] = rl if low == _ZERO else _ZERO
        r1_high[j] = rh if high > _ZERO else _ZERO
        r0_high[j] = rh if high == _ZERO else _ZERO


@numba.njit(**_LOOP)
def _sum_of_logs(pairs):
    """sum(log(pairs)): products of 8, their exponents added up, their mantissas multiplied, one logarithm."""
    # A logarithm per cell would be slow. d > 0, so the sign bit is 0, and the exponent is what is above bit 52.
    q = pairs.shape[0] // 8  # without rest: strips are padded
    a, b, c, d = pairs[:q], pairs[q : 2 * q], pairs[2 * q : 3 * q], pairs[3 * q : 4 * q]
    e, f, g, h = pairs[4 * q : 5 * q], pairs[5 * q : 6 * q], pairs[6 * q : 7 * q], pairs[7 * q :]
    exponents = np.int64(0)
    mantissas = _f8(1.0)  # a strip has at most 32 products with mantissas in [1, 2): no overflow
    for j in range(q):
        low = _f8(a[j]) * _f8(b[j]) * (_f8(c[j]) * _f8(d[j]))
        high = _f8(e[j]) * _f8(f[j]) * (_f8(g[j]) * _f8(h[j]))
        bits = _f8(low * high).view(np.int64)
        exponents += (bits >> 52) - 1023
        mantissas *= np.int64((bits & 0xFFFFFFFFFFFFF) | 0x3FF0000000000000).view(np.float64)
    return exponents * _LN2 + log(mantissas)


@numba.njit(**_LOOP)
def _collect_four_rows(wr, H, R, A, m, width):
    """m_rk += sum_j R_rj H_kj;  A += wr^T R (wr: row weight x W). Both sides at once: too many registers."""
    r0, r1, r2, r3 = R[0], R[1], R[2], R[3]
    for k in range(m.shape[1]):
        w0, w1, w2, w3 = wr[0, k], wr[1, k], wr[2, k], wr[3, k]
        Hk, Ak = H[k], A[k]
        m0, m1, m2, m3 = _ZERO, _ZERO, _ZERO, _ZERO
        for j in range(width):
            h = Hk[j]
            m0 += r0[j] * h
            m1 += r1[j] * h
            m2 += r2[j] * h
            m3 += r3[j] * h
            Ak[j] += w0 * r0[j] + w1 * r1[j] + w2 * r2[j] + w3 * r3[j]
        m[0, k] += m0
        m[1, k] += m1
        m[2, k] += m2
        m[3, k] += m3


@numba.njit(**_LOOP)
def _flush(a, A, first, last):
    """A[:, first:last] += a, and a = 0."""
    for k in range(A.shape[0]):
        source, target = a[k], A[k, first:last]
        for j in range(last - first):
            target[j] += source[j]
            source[j] = _ZERO


@numba.njit(nogil=True, error_model="numpy", cache=True)
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
    columns = min(max(STRIP_CELLS // K, SHORT_STRIP), STRIP_COLUMNS)
    n_strips = -(-D // columns)
    even = K + K % 2  # components are mixed two at a time: an odd K gets one of zeros
    w = np.zeros((4, even), kind)
    wr = np.zeros((4, K), kind)
    m = np.empty((4, K), kind)
    for strip in range(n_strips):
        first, last = strip * D // n_strips, (strip + 1) * D // n_strips
        # Strips are copied and padded with missing columns: every inner loop then runs over arrays that are
        # contiguous by their type, and over whole vectors. Rows are an odd number of cache lines (16 floats)
        # apart: at powers of two they would compete for the same few places in the cache.
        width = -(-(last - first) // VECTOR) * VECTOR
        stride = width + VECTOR // 2
        h1, h0 = np.zeros((even, stride), kind), np.zeros((even, stride), kind)
        for k in range(K):
            for j in range(last - first):
                h1[k, j], h0[k, j] = H1[k, first + j], H0[k, first + j]
        a1, a0 = np.zeros((K, stride), kind), np.zeros((K, stride), kind)
        x, d = np.empty((4, stride), kind), np.empty((4, stride), kind)
        x.fill(-1)
        r1, r0 = np.empty((4, stride), kind), np.empty((4, stride), kind)
        pairs = np.empty(width // 2, kind)
        for i in range(0, n, 4):
            for r in range(4):
                inside = i + r < n
                if inside:
                    _load_row(cells, indptr, indices, values, sparse, i + r, first, last, x[r])
                else:  # rows beyond the end count as missing, so the last group needs no code of its own
                    x[r].fill(-1)
                for k in range(K):
                    w[r, k] = W[i + r, k] if inside else _ZERO
                    wr[r, k] = row_weight[i + r] * w[r, k] if inside else _ZERO
            _mix_four_rows(w, h1, h0, x, d, width)
            for r in range(4):
                _invert(x[r], d[r], r1[r], r0[r], pairs, width // 2)
                if i + r < n:
                    row_log[i + r] += _sum_of_logs(pairs)
            m.fill(_ZERO)
            _collect_four_rows(wr, h1, r1, a1, m, width)
            _collect_four_rows(wr, h0, r0, a0, m, width)
            for r in range(min(4, n - i)):
                for k in range(K):
                    M[i + r, k] += w[r, k] * m[r, k]  # added, as every strip of columns visits the row
            if (i + 4) % BLOCK == 0 or i + 4 >= n:
                _flush(a1, A1, first, last)
                _flush(a0, A0, first, last)
