"""Expectation propagation: the normal distribution nearest to the posterior of the sources behind 0-1 cells."""

from __future__ import annotations

import math

import numpy as np
from numba import njit

__all__ = ["ROOT_2PI", "mills", "probit_ep"]

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
        mean, V = means[row], covariances[row]
        V[:] = 0.0
        for k in range(m):
            mean[k] = 0.0
            V[k, k] = 1.0
        tau[:] = 0.0
        nu[:] = 0.0
        for _ in range(max_sweeps):
            moved = 0.0
            for i in range(n):
                cell = cells[row, i]
                if cell != 0 and cell != 1:
                    continue
                sign = 1.0 if cell == 1 else -1.0
                s2, centre = 0.0, 0.0
                for k in range(m):
                    total = 0.0
                    for j in range(m):
                        total += V[k, j] * B[i, j]
                    v[k] = total
                    s2 += total * B[i, k]
                    centre += mean[k] * B[i, k]
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
                step = (d_nu - d_tau * centre) / scale
                for k in range(m):
                    mean[k] += step * v[k]
                    for j in range(m):
                        V[k, j] -= d_tau / scale * v[k] * v[j]
                moved = max(moved, abs(step) * math.sqrt(s2), abs(d_tau) * s2)
            if moved < tol:
                break
    return means, covariances
