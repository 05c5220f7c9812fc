"""Expectation propagation: the normal distribution nearest to the posterior of the sources behind 0-1 cells."""

from __future__ import annotations

import math

import numpy as np
from numba import njit

ROOT_2PI = math.sqrt(2 * math.pi)


@njit(cache=True, nogil=True)
def mills(x: float) -> float:
    """phi(x) / Phi(x), also far in the lower tail where both underflow (there by Laplace's continued fraction)."""
    if x > -6.0:
        return math.exp(-0.5 * x * x) / (ROOT_2PI * 0.5 * math.erfc(-x / math.sqrt(2.0)))
    fraction = -x  # evaluated from the inside out
    for k in range(24, 0, -1):
        fraction = -x + k / fraction
    return fraction


@njit(cache=True, nogil=True)
def _log_phi(x: float) -> float:
    """log Phi(x), also far in the lower tail."""
    if x > -6.0:
        return math.log(0.5 * math.erfc(-x / math.sqrt(2.0)))
    return -0.5 * x * x - math.log(ROOT_2PI * mills(x))


# Inlined by force, as the helpers of `sparse_pass`: one compiled form in each kernel, the same bits in every process.
@njit(cache=True, nogil=True, forceinline=True)
def _along(V, mean, b, v):
    """V b (into v), and the variance and mean of y = b . e under the normal distribution of the sources e."""
    variance, centre = 0.0, 0.0
    for k in range(b.shape[0]):
        total = 0.0
        for j in range(b.shape[0]):
            total += V[k, j] * b[j]
        v[k] = total
        variance += total * b[k]
        centre += mean[k] * b[k]
    return variance, centre


@njit(cache=True, nogil=True, forceinline=True)
def _settle(cells, B, h, max_sweeps, tol, mean, V, tau, nu, v):
    """Find the factors tau, nu of one row's cells (n,), and with them mean and V; returns log det V."""
    n, m = B.shape
    V[:] = 0.0
    for k in range(m):
        mean[k] = 0.0
        V[k, k] = 1.0
    tau[:] = 0.0
    nu[:] = 0.0
    log_det = 0.0
    for _ in range(max_sweeps):
        moved = 0.0
        for i in range(n):
            if cells[i] != 0 and cells[i] != 1:
                continue
            sign = 1.0 if cells[i] == 1 else -1.0
            s2, centre = _along(V, mean, B[i], v)
            if s2 <= 1e-14:  # this cell says nothing about the sources
                continue
            # Positive: probit factors are log-concave, so taking one out can only widen the distribution.
            cavity2 = 1.0 / (1.0 / s2 - tau[i])
            cavity = cavity2 * (centre / s2 - nu[i])
            root = math.sqrt(1.0 + cavity2)
            x = sign * (h[i] + cavity) / root
            ratio = mills(x)
            shrink = ratio * (x + ratio) * cavity2 / (1.0 + cavity2)  # the share of the variance that is lost
            new_tau = shrink / ((1.0 - shrink) * cavity2)
            new_mean = cavity + sign * cavity2 * ratio / root
            new_nu = new_mean * (new_tau + 1.0 / cavity2) - cavity / cavity2
            d_tau, d_nu = new_tau - tau[i], new_nu - nu[i]
            tau[i], nu[i] = new_tau, new_nu
            # One factor has changed: a rank-one update (Sherman-Morrison) of V, at O(m^2).
            scale = 1.0 + d_tau * s2
            log_det -= math.log(scale)
            step = (d_nu - d_tau * centre) / scale
            for k in range(m):
                mean[k] += step * v[k]
                for j in range(m):
                    V[k, j] -= d_tau / scale * v[k] * v[j]
            moved = max(moved, abs(step) * math.sqrt(s2), abs(d_tau) * s2)
        if moved < tol:
            break
    return log_det


@njit(cache=True, nogil=True)
def probit_ep(
    cells: np.ndarray, B: np.ndarray, h: np.ndarray, max_sweeps: int, tol: float
) -> tuple[np.ndarray, np.ndarray]:
    """Means (N, m) and covariances (N, m, m) for rows of cells (N, n): 1, 0, anything else is missing.

    The sources e are standard normal; cell i is 1 with probability Phi(h_i + B_i . e). Each seen cell's probability
    is replaced by a normal factor exp(nu_i y - tau_i y^2 / 2) of y = B_i . e, so that in NumPy

        V = inv(eye(m) + B.T @ diag(tau) @ B);  mean = V @ B.T @ nu

    and so that for every cell i mean and variance of y stay the same when its factor is exchanged for its exact
    probability. A row's sweeps end when no cell moves its y by more than `tol` of its standard deviation.
    """
    N, n = cells.shape
    m = B.shape[1]
    means = np.empty((N, m))
    covariances = np.empty((N, m, m))
    tau, nu, v = np.empty(n), np.empty(n), np.empty(m)
    for row in range(N):
        _settle(cells[row], B, h, max_sweeps, tol, means[row], covariances[row], tau, nu, v)
    return means, covariances


@njit(cache=True, nogil=True)
def probit_ep_likelihood(
    cells: np.ndarray, counts: np.ndarray, B: np.ndarray, h: np.ndarray, max_sweeps: int, tol: float
) -> tuple[float, np.ndarray, np.ndarray]:
    """sum over rows of count * log P(x) as expectation propagation has it, and its derivatives by B (n, m) and h (n,).

    P(x) is the normaliser of the prior times all normal factors, times for every cell the ratio of the normalisers
    that it has with its exact probability and with its factor. At the fixed point the derivatives by the factors
    vanish, so that B_i and h_i count only in the exact probability of cell i, the other cells' factors held fast.
    """
    N, n = cells.shape
    m = B.shape[1]
    value, dB, dh = 0.0, np.zeros((n, m)), np.zeros(n)
    mean, V = np.empty(m), np.empty((m, m))
    tau, nu, v = np.empty(n), np.empty(n), np.empty(m)
    for row in range(N):
        log_p = 0.5 * _settle(cells[row], B, h, max_sweeps, tol, mean, V, tau, nu, v)
        for i in range(n):
            if cells[row, i] != 0 and cells[row, i] != 1:
                continue
            sign = 1.0 if cells[row, i] == 1 else -1.0
            s2, centre = _along(V, mean, B[i], v)
            left = 1.0 - tau[i] * s2  # without its factor the cell's y has the variance s2 / left
            cavity2, cavity = s2 / left, (centre - s2 * nu[i]) / left
            root = math.sqrt(1.0 + cavity2)
            x = sign * (h[i] + cavity) / root
            ratio = mills(x)
            wider = 1.0 + tau[i] * cavity2
            with_factor = (2 * nu[i] * cavity + nu[i] ** 2 * cavity2 - tau[i] * cavity**2) / wider - math.log(wider)
            log_p += 0.5 * nu[i] * centre + _log_phi(x) - 0.5 * with_factor
            by_h = counts[row] * sign * ratio / root
            by_v = by_h * (tau[i] * centre - nu[i]) / left - counts[row] * ratio * x / ((1.0 + cavity2) * left)
            dh[i] += by_h
            for k in range(m):
                dB[i, k] += by_h * mean[k] + by_v * v[k]
        value += counts[row] * log_p
    return value, dB, dh


SMALL = 1e-200
"""A product below this is put away as a logarithm: one logarithm for some dozens of cells instead of one for each."""

FAR = -6.0
"""Below this the probability itself is taken in logarithms, as SMALL times it may underflow."""


@njit(cache=True, nogil=True)
def log_probit_products(Y: np.ndarray, cells: np.ndarray, out: np.ndarray) -> None:
    """out (rows, points) = log of the product of Phi(y) over the ones and Phi(-y) over the zeros of each row.

    Y is rows x points x columns, cells rows x columns: 1, 0, anything else is missing. NumPy equivalent:

        sign = np.where(cells == 1, 1.0, -1.0)[:, None, :]
        out[:] = np.where(((cells == 0) | (cells == 1))[:, None, :], log_ndtr(sign * Y), 0.0).sum(axis=2)
    """
    half = math.sqrt(0.5)
    rows, points, n = Y.shape
    for r in range(rows):
        for p in range(points):
            product, total = 1.0, 0.0
            for i in range(n):
                cell = cells[r, i]
                if cell == 1:
                    x = Y[r, p, i]
                elif cell == 0:
                    x = -Y[r, p, i]
                else:
                    continue
                if x < FAR:
                    total -= 0.5 * x * x + math.log(ROOT_2PI * mills(x))
                    continue
                product *= 0.5 * math.erfc(-half * x)
                if product < SMALL:
                    total += math.log(product)
                    product = 1.0
            out[r, p] = total + math.log(product)
