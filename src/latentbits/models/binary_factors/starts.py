"""Starts of the learners of binary factors."""

from __future__ import annotations

import numpy as np

from latentbits.fitting.workers import Workers
from latentbits.models.binary_factors.coding import codes_of
from latentbits.models.binary_factors.model import Parameters, filled, moments, noise_precision

__all__ = ["random_start", "rough_fit"]

ROUGH_PASSES = 100  # at most: it ends when the codes repeat


def random_start(X: np.ndarray, n_components: int, rng: np.random.Generator) -> Parameters:
    """Even odds, noise with the variance of the (centred, scaled) data, and every column a random combination of rows.

    So the columns lie in the directions in which the data vary, and together have their total variance. (This worked
    better than random directions, which start with more noise, and than rotated principal axes, which confine the fit
    to as many axes as factors.)
    """
    N, n = X.shape
    A = filled(X).T @ rng.standard_normal((N, n_components)) / np.sqrt(N * n_components)
    return Parameters(A, np.zeros(n), 1.0, np.full(n_components, 0.5))


def rough_fit(
    X: np.ndarray, n_components: int, rng: np.random.Generator, workers: Workers
) -> tuple[Parameters, np.ndarray]:
    """Parameters and codes (N x m) by alternating least squares and rounding, until the codes repeat; odds stay even.

    A start for EM and variational Bayes, as k-means is for mixtures: from a random mixing they often end in poor
    optima, because the soft codes of several factors mix.
    """
    theta = random_start(X, n_components, rng)
    Y = codes_of(theta, X, "round", workers).astype(np.float64)
    for _ in range(ROUGH_PASSES):
        sums = moments(X, Y)
        A, c = sums.regress()
        theta = Parameters(A, c, noise_precision(sums.squares(A, c), sums.n_cells), theta.beta)
        last, Y = Y, codes_of(theta, X, "round", workers).astype(np.float64)
        if np.array_equal(last, Y):
            break
    return theta, Y
