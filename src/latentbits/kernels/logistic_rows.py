"""Logistic regressions with a common design, one for each row of 0-1 cells: a bound of their likelihood, and their
solution by Newton's method.
"""

from math import exp, log, sqrt

import numba
import numpy as np

__all__ = ["logistic_bound", "logistic_rows"]

NEAR_ZERO = 1e-6  # log odds nearer to 0 are replaced by this: the error of lambda and log cosh is below 1e-10
SHORTEST = 1e-6  # a Newton step that must be halved below this is given up
ROUNDING = 1e-12  # a step may lower the objective by this much, relatively, which is rounding
FACTORS = 512  # factors up to 2 multiplied before their logarithm is taken: far from overflow, and one log for many

# Where an array that is written lies just beside one that is read, compiled loops take another path, which sums in
# another order. So work arrays are kept this many numbers apart from all others: else the last bit depends on the heap.
APART = 64

# Reassociation lets the compiler vectorise sums. NaN and infinity keep their meaning (neither nnan nor ninf is set).
_LOOP = {"nogil": True, "fastmath": {"contract", "reassoc", "nsz", "arcp"}, "error_model": "numpy", "cache": True}


@numba.njit(**_LOOP)
def logistic_bound(theta, cells, b, row_log, slack, target):
    """The bound of Jaakkola and Jordan, tight at theta (n x D), and the rows' log likelihoods there.

    `cells` is int8 (0, 1, negative for missing). Writes the rows' sums of log P to row_log, and per cell the slack
    2 lambda(theta) = tanh(theta/2) / (2 theta) and the target x - 1/2 - slack * b; both are 0 where missing. In NumPy:

        row_log = ((x - 1/2) * theta - log(2 * cosh(theta / 2))).sum(axis=1)

    written with e = exp(-|theta|), as tanh(|theta|/2) = (1 - e) / (1 + e) and
    log(2 cosh(theta/2)) = |theta|/2 + log(1 + e).
    """
    n, D = theta.shape
    for i in range(n):
        t, code, s, y = theta[i], cells[i], slack[i], target[i]
        value, product = 0.0, 1.0
        for j in range(D):
            size = max(abs(t[j]), NEAR_ZERO)
            e = exp(-size)
            seen = 1.0 if code[j] >= 0 else 0.0
            sign = (code[j] - 0.5) * seen
            s[j] = 0.5 * seen * (1.0 - e) / (size * (1.0 + e))
            y[j] = sign - s[j] * b[j]
            value += sign * t[j] - 0.5 * seen * size
            product *= 1.0 + seen * e
            if j % FACTORS == FACTORS - 1:
                value -= log(product)
                product = 1.0
        row_log[i] = value - log(product)


@numba.njit(**_LOOP)
def _evaluate(code, V, b, ridge, u, theta, residual, curvature):
    """The row's objective at u; also x - p and p (1 - p) of its cells, 0 where missing."""
    K, D = V.shape
    for j in range(theta.shape[0]):
        theta[j] = b[j]
    for k in range(K):
        uk, vk = u[k], V[k]
        for j in range(D):
            theta[j] += uk * vk[j]
    value, product = 0.0, 1.0
    for j in range(D):
        if code[j] < 0:
            residual[j] = 0.0
            curvature[j] = 0.0
        else:
            signed = theta[j] if code[j] == 1 else -theta[j]
            e = exp(-abs(signed))
            q = 1.0 / (1.0 + e)
            wrong = e * q if signed > 0 else q  # the probability of the other value
            residual[j] = wrong if code[j] == 1 else -wrong
            curvature[j] = e * q * q
            value += min(signed, 0.0)
            product *= 1.0 + e
        if j % FACTORS == FACTORS - 1:
            value -= log(product)
            product = 1.0
    value -= log(product)
    for k in range(K):
        value -= 0.5 * ridge * u[k] * u[k]
    return value


@numba.njit(**_LOOP)
def _derivatives(V, ridge, u, residual, curvature, scaled, g, B):
    """g and B, the gradient and minus the Hessian of the row's objective, from what `_evaluate` left."""
    K, D = V.shape
    for k in range(K):
        vk = V[k]
        total = 0.0
        for j in range(D):
            total += residual[j] * vk[j]
            scaled[j] = curvature[j] * vk[j]
        g[k] = total - ridge * u[k]
        for other in range(k + 1):
            vo = V[other]
            total = 0.0
            for j in range(D):
                total += scaled[j] * vo[j]
            B[k, other] = total
        B[k, k] += ridge


@numba.njit(nogil=True, error_model="numpy", cache=True)
def _solve(B, g, d):
    """d = B^-1 g by Cholesky's factorisation, which overwrites the lower triangle of B."""
    K = g.shape[0]
    for k in range(K):
        for other in range(k + 1):
            total = B[k, other]
            for m in range(other):
                total -= B[k, m] * B[other, m]
            B[k, other] = sqrt(total) if other == k else total / B[other, other]
    for k in range(K):
        total = g[k]
        for m in range(k):
            total -= B[k, m] * d[m]
        d[k] = total / B[k, k]
    for k in range(K - 1, -1, -1):
        total = d[k]
        for m in range(k + 1, K):
            total -= B[m, k] * d[m]
        d[k] = total / B[k, k]


@numba.njit(nogil=True, error_model="numpy", cache=True)
def logistic_rows(cells, V, b, ridge, tol, max_iter, U, gap):
    """For each row x maximise sum_j log P(x_j) - ridge/2 |u|^2 over u, logit P(1) = u V + b, missing cells left out.

    `cells` is int8 (n x D; 0, 1, negative for missing), V is K x D. Writes the coordinates to U (n x K), and to `gap`
    half of Newton's decrement g B^-1 g before the last step, the rise which that step expects. Rows are independent:
    a row's answer is the same to the last bit whatever rows come with it. The same in NumPy, for one row of u:

        p = expit(u @ V + b); g = V @ (x - p) - ridge * u; B = (V * p * (1 - p)) @ V.T + ridge * I
        u += solve(B, g), halved until the objective rises, until g @ solve(B, g) / 2 <= tol
    """
    n = cells.shape[0]
    K, D = V.shape
    u, trial, g, d = np.empty(K), np.empty(K), np.empty(K), np.empty(K)
    work = np.empty((4, D + 2 * APART))
    theta, residual = work[0, APART : APART + D], work[1, APART : APART + D]
    curvature, scaled = work[2, APART : APART + D], work[3, APART : APART + D]
    B = np.empty((K, K))
    for i in range(n):
        u[:] = 0.0  # any start will do: with a ridge the objective is strictly concave
        value = _evaluate(cells[i], V, b, ridge, u, theta, residual, curvature)
        for _ in range(max_iter):
            _derivatives(V, ridge, u, residual, curvature, scaled, g, B)
            _solve(B, g, d)
            gap[i] = 0.5 * np.dot(g, d)
            if gap[i] <= tol:
                u += d  # unchecked: so near to the optimum the full step gains digits
                break
            length = 1.0
            while length > SHORTEST:
                for k in range(K):
                    trial[k] = u[k] + length * d[k]
                new = _evaluate(cells[i], V, b, ridge, trial, theta, residual, curvature)
                if new >= value - ROUNDING * (1.0 - value):
                    break
                length *= 0.5
            if length <= SHORTEST:
                break
            for k in range(K):
                u[k] = trial[k]
            value = new
        for k in range(K):
            U[i, k] = u[k]
