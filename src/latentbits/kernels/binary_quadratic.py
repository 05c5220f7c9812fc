"""Binary quadratic programs, min 1/2 y^T Q y - f^T y over y in {-1, 1}^m, for many f and one symmetric Q.

A code is also a number: bit i of s is set where y_i = 1.
"""

import numba
import numpy as np

__all__ = ["box_rows", "enumerate_rows", "greedy_rows", "quadratic_table"]

LOW_BITS = 8
"""Codes are enumerated in blocks of 2^8: the sums over the low bits stay in the first-level cache."""

# The caller validates that inputs are finite (hence nnan and ninf), so the minimum may be taken in any order.
_LOOP = {"nogil": True, "fastmath": {"nnan", "ninf", "nsz", "reassoc"}, "error_model": "numpy", "cache": True}


@numba.njit(nogil=True, cache=True)
def quadratic_table(Q):
    """1/2 y^T Q y of all 2^m codes: ``0.5 * np.einsum("si,ij,sj->s", C, Q, C)`` for the codes C in order.

    Built by doubling: setting the next sign adds (or takes away) its row's sum over the signs before it.
    """
    m = Q.shape[0]
    table = np.zeros(1 << m)
    for i in range(m):
        size = 1 << i
        for s in range(size):
            slope = 0.0
            for j in range(i):
                slope += Q[i, j] if (s >> j) & 1 else -Q[i, j]
            value = table[s] + 0.5 * Q[i, i]
            table[s] = value - slope
            table[size + s] = value + slope
    return table


@numba.njit(nogil=True, cache=True)
def _linear_table(f, out):
    """out[s] = f . y_s for all codes s of len(f) bits."""
    out[0] = -f.sum()
    for i in range(len(f)):
        size = 1 << i
        for s in range(size):
            out[size + s] = out[s] + 2.0 * f[i]


@numba.njit(**_LOOP)
def _smallest(block, low):
    """(block - low).min()"""
    smallest = block[0] - low[0]
    for s in range(1, len(low)):
        smallest = min(smallest, block[s] - low[s])
    return smallest


@numba.njit(nogil=True, cache=True)
def enumerate_rows(table, F, codes):
    """The best code of each row of F: ``codes[t] = C[np.argmin(table - C @ F[t])]``, `table` being `quadratic_table`.

    The quadratic part is shared by all rows, and f . y is a sum over the low bits plus one over the high bits: a row
    costs one subtraction and one comparison per code.
    """
    n_rows, m = F.shape
    n_low = min(m, LOW_BITS)
    low, high = np.empty(1 << n_low), np.empty(1 << (m - n_low))
    for t in range(n_rows):
        _linear_table(F[t, :n_low], low)
        _linear_table(F[t, n_low:], high)
        best, best_high = np.inf, 0
        for h in range(len(high)):
            value = _smallest(table[h << n_low : (h + 1) << n_low], low) - high[h]
            if value < best:
                best, best_high = value, h
        code = (best_high << n_low) + np.argmin(table[best_high << n_low : (best_high + 1) << n_low] - low)
        for i in range(m):
            codes[t, i] = 1 if (code >> i) & 1 else -1


@numba.njit(nogil=True, cache=True)
def greedy_rows(Q, F, codes):
    """Signs fixed one after the other: of those at 0 (undecided) always the one with the largest |f_i - (Q y)_i|.

    In NumPy, for one row: ``free = y == 0; i = argmax(abs(f - Q @ y) * free); y[i] = sign((f - Q @ y)[i])``, m times,
    with the diagonal of Q left out (it adds the same to every code). A slope of 0 gives +1.
    """
    n_rows, m = F.shape
    slope = np.empty(m)
    for t in range(n_rows):
        for i in range(m):
            slope[i] = F[t, i]
        codes[t] = 0
        for _ in range(m):
            steepest = -1
            for i in range(m):
                if codes[t, i] == 0 and (steepest < 0 or abs(slope[i]) > abs(slope[steepest])):
                    steepest = i
            sign = 1 if slope[steepest] >= 0.0 else -1
            codes[t, steepest] = sign
            for i in range(m):
                if i != steepest:  # the diagonal adds the same constant to every code
                    slope[i] -= sign * Q[i, steepest]


@numba.njit(nogil=True, cache=True)
def box_rows(Q, F, tol, max_sweeps, Y):
    """Minimise 1/2 y^T Q y - f^T y over the box -1 <= y <= 1 for each row of F, by coordinate descent; Q >= 0.

    In NumPy, one sweep: ``for i in range(m): y[i] = clip((f[i] - Q[i] @ y + Q[i, i] * y[i]) / Q[i, i], -1, 1)``. It
    starts at 0 and ends when no coordinate moves by more than `tol`. Where the row of Q is 0, y is the sign of f.
    """
    n_rows, m = F.shape
    slope = np.empty(m)
    for t in range(n_rows):
        for i in range(m):
            slope[i] = F[t, i]
        Y[t] = 0.0
        for _ in range(max_sweeps):
            largest = 0.0
            for i in range(m):
                if Q[i, i] > 0.0:
                    new = min(1.0, max(-1.0, Y[t, i] + slope[i] / Q[i, i]))
                else:
                    new = 1.0 if slope[i] > 0.0 else (-1.0 if slope[i] < 0.0 else 0.0)
                move = new - Y[t, i]
                if move != 0.0:
                    Y[t, i] = new
                    for j in range(m):
                        slope[j] -= Q[i, j] * move
                    largest = max(largest, abs(move))
            if largest <= tol:
                break
