"""0-1 cells with P(1) = tanh(u/2), u >= 0: the bound of their likelihood, and the weights of single rows."""

from math import exp, expm1, log

import numba
import numpy as np

__all__ = ["BACKGROUND", "tanh_bound", "tanh_rows"]

BACKGROUND = 1e-10  # added to u in every cell, so that no 1 has probability 0
NEAR_ZERO = 1e-2  # below this the slope of log(sinh(u/2) / u) comes from its series: the formula cancels
SMALLEST_PRODUCT = 1e-200  # a product of probabilities outside of this and its inverse is turned into its logarithm
MM_STEPS = 10  # of the bound, before Newton's method
SWEEPS = 100  # of coordinate descent in a quadratic model, at most
SHORTEST = 1e-8  # a Newton step that must be shortened below this is given up
RIDGE = 1e-10  # relative; equal components would make the quadratic model singular
ROUNDING = 1e-14  # a step may lower the log likelihood by this much, relatively, which is rounding

# Reassociation lets the compiler vectorise sums. NaN and infinity keep their meaning (neither nnan nor ninf is set).
_LOOP = {"nogil": True, "fastmath": {"contract", "reassoc", "nsz", "arcp"}, "error_model": "numpy", "cache": True}


@numba.njit(**_LOOP)
def _bound_row(u, code, ratio, slope, level):
    """`tanh_bound` for one row; returns its log likelihood."""
    value, product = 0.0, 1.0
    for j in range(u.shape[0]):
        if code[j] < 0:
            ratio[j] = 0.0
            slope[j] = 0.0
            level[j] = 0.0
            continue
        v = u[j]
        m = -expm1(-v)
        tanh = m / (2.0 - m)
        level[j] = 0.25 * tanh
        if code[j] == 1:
            ratio[j] = 1.0 / v
            slope[j] = v / 12.0 - v * v * v / 720.0 if v < NEAR_ZERO else 0.5 / tanh - 1.0 / v
            product *= tanh
        else:
            ratio[j] = 0.0
            slope[j] = -0.5
            # 1 - tanh(v/2) = exp(-v) 2 / (2 - m); exp(-v) enters by its logarithm, as it may underflow.
            value -= v
            product *= 2.0 / (2.0 - m)
        if not SMALLEST_PRODUCT < product < 1.0 / SMALLEST_PRODUCT:
            value += log(product)
            product = 1.0
    return value + log(product)


@numba.njit(nogil=True, error_model="numpy", cache=True)
def tanh_bound(u, cells, row_log, ratio, slope, level):
    """What the bound of the likelihood needs, tight at u (n x D), and the rows' log likelihoods there.

    `cells` is int8 (0, 1, negative for missing). Per cell, each 0 where missing:

        ratio = x / u;  slope = x (coth(u/2) / 2 - 1 / u) - (1 - x) / 2;  level = tanh(u/2) / 4

        row_log = (x * log(tanh(u / 2)) + (1 - x) * log(1 - tanh(u / 2))).sum(axis=1)

    With m = 1 - exp(-u), tanh(u/2) = m / (2 - m). Logarithms are taken of products of many cells at once.
    """
    for i in range(u.shape[0]):
        row_log[i] = _bound_row(u[i], cells[i], ratio[i], slope[i], level[i])


@numba.njit(**_LOOP)
def _mix(w, H, u):
    """u = BACKGROUND + w H"""
    K, D = H.shape
    u[:] = BACKGROUND
    for k in range(K):
        wk, hk = w[k], H[k]
        for j in range(D):
            u[j] += wk * hk[j]


@numba.njit(**_LOOP)
def _evaluate(code, w, H, u, first, second):
    """The row's log likelihood; also its first derivative, and minus its second, by u of each cell; 0 where missing."""
    _mix(w, H, u)
    value, product = 0.0, 1.0
    for j in range(u.shape[0]):
        if code[j] < 0:
            first[j] = 0.0
            second[j] = 0.0
            continue
        # expm1 keeps the digits of m for small u, exp those of e for large u.
        if u[j] < 1.0:
            m = -expm1(-u[j])
            e = 1.0 - m
        else:
            e = exp(-u[j])
            m = 1.0 - e
        q = 1.0 / (1.0 + e)
        if code[j] == 1:
            first[j] = 2.0 * e * q / m  # 1 / sinh(u)
            second[j] = first[j] * (1.0 + e * e) * q / m  # times coth(u)
            product *= m * q
        else:
            first[j] = -q
            second[j] = e * q * q
            value -= u[j]
            product *= 2.0 * q
        if not SMALLEST_PRODUCT < product < 1.0 / SMALLEST_PRODUCT:
            value += log(product)
            product = 1.0
    return value + log(product)


@numba.njit(**_LOOP)
def _gradient(H, first, g):
    """g_k = sum_j first_j h_kj"""
    for k in range(H.shape[0]):
        hk = H[k]
        total = 0.0
        for j in range(H.shape[1]):
            total += first[j] * hk[j]
        g[k] = total


@numba.njit(**_LOOP)
def _curvature(H, second, scaled, B):
    """B = H diag(second) H', with a small ridge."""
    K, D = H.shape
    for k in range(K):
        hk = H[k]
        for j in range(D):
            scaled[j] = second[j] * hk[j]
        for other in range(k + 1):
            ho = H[other]
            total = 0.0
            for j in range(D):
                total += scaled[j] * ho[j]
            B[k, other] = total
            B[other, k] = total
        B[k, k] *= 1.0 + RIDGE


@numba.njit(nogil=True, error_model="numpy", cache=True)
def _gap(w, g, most):
    """How much any w within 0 and `most` can gain, at most: the likelihood is concave and g its gradient."""
    gap = 0.0
    for k in range(w.shape[0]):
        gap += g[k] * (most - w[k]) if g[k] > 0.0 else -g[k] * w[k]
    return gap


@numba.njit(nogil=True, error_model="numpy", cache=True)
def _solve_quadratic(w, g, B, most, y):
    """y within 0 and `most` maximising g . (y - w) - (y - w)' B (y - w) / 2, by coordinate descent from w."""
    K = w.shape[0]
    slope = np.empty(K)
    for k in range(K):
        y[k], slope[k] = w[k], g[k]
    for _ in range(SWEEPS):
        largest = 0.0
        for k in range(K):
            if B[k, k] <= 0.0:
                continue
            move = min(max(y[k] + slope[k] / B[k, k], 0.0), most) - y[k]
            if move != 0.0:
                for other in range(K):
                    slope[other] -= B[k, other] * move
                y[k] += move
                largest = max(largest, abs(move) / (1.0 + abs(y[k])))
        if largest < 1e-12:
            break


@numba.njit(nogil=True, error_model="numpy", cache=True)
def _multiply(code, H, w, count, rate, most, u, ratio, slope, level):
    """One step of the bound for w: every weight times the root of its own quadratic equation."""
    _mix(w, H, u)
    _bound_row(u, code, ratio, slope, level)
    for k in range(H.shape[0]):
        a, b, c = np.dot(ratio, H[k]), np.dot(slope, H[k]), np.dot(level, H[k])
        if count > 0.0:
            a, b = a + count / w[k], b - rate[k]
        if c > 0.0:  # else the component has no observed cell in the row
            root = np.sqrt(b * b + 8.0 * a * c)
            w[k] = min(most, w[k] * ((b + root) / (4.0 * c) if b > 0.0 else 2.0 * a / (root - b)))


@numba.njit(nogil=True, error_model="numpy", cache=True)
def _counted(w, count, rate):
    """count sum_k log w_k - rate @ w"""
    value = 0.0
    if count > 0.0:
        for k in range(w.shape[0]):
            value += count * np.log(w[k]) - rate[k] * w[k]
    return value


@numba.njit(nogil=True, error_model="numpy", cache=True)
def tanh_rows(cells, H, start, count, rate, most, tol, max_iter, W, gap):
    """For each row x maximise sum_j log P(x_j) + count sum_k log w_k - rate @ w over 0 <= w <= most.

    P(1) = tanh((w H + BACKGROUND)/2); `count` and `rate` (K) are of pseudo-counts, and may be 0.

    `cells` is int8 (n x D; 0, 1, negative for missing), H is K x D. Writes the weights to W (n x K), and to `gap` what
    any other weights could gain at most, per observed cell: the problem is concave, so with the gradient g no more than
    sum_k max(g_k (most - w_k), -g_k w_k). Steps of the bound come near, then Newton's method with the bounds inside its
    quadratic model. Rows stop at `tol` or after `max_iter` steps; those without observed cells get `start`. A row's
    answer is the same to the last bit whatever rows come with it.
    """
    n = cells.shape[0]
    K, D = H.shape
    u, first, second, scaled = np.empty(D), np.empty(D), np.empty(D), np.empty(D)
    w, y, trial, g = np.empty(K), np.empty(K), np.empty(K), np.empty(K)
    B = np.empty((K, K))
    for i in range(n):
        code = cells[i]
        observed = 0
        for j in range(D):
            observed += code[j] >= 0
        gap[i] = 0.0
        if observed == 0:
            for k in range(K):
                W[i, k] = start[k]
            continue
        for k in range(K):
            w[k] = min(max(start[k], 1e-3), most)  # multiplicative steps can't leave 0
        for _ in range(MM_STEPS):
            _multiply(code, H, w, count, rate, most, u, first, second, scaled)
        value = _evaluate(code, w, H, u, first, second) + _counted(w, count, rate)
        for step in range(max_iter + 1):
            _gradient(H, first, g)
            if count > 0.0:
                for k in range(K):
                    g[k] += count / w[k] - rate[k]
            gap[i] = _gap(w, g, most) / observed
            if gap[i] <= tol or step == max_iter:
                break
            _curvature(H, second, scaled, B)
            if count > 0.0:
                for k in range(K):
                    B[k, k] += count / (w[k] * w[k])
            _solve_quadratic(w, g, B, most, y)
            length = 1.0
            while length > SHORTEST:
                for k in range(K):
                    trial[k] = w[k] + length * (y[k] - w[k])
                new = _evaluate(code, trial, H, u, first, second) + _counted(trial, count, rate)
                if new >= value - ROUNDING * (1.0 + abs(value)):
                    break
                length *= 0.25
            if length <= SHORTEST:
                break
            for k in range(K):
                w[k] = trial[k]
            value = new
        for k in range(K):
            W[i, k] = w[k]
