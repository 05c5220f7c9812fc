"""Slow twins of the tetrachoric correlation: tables counted row by row, likelihoods maximised by a general optimiser.

X is a table of 0, 1 and NaN (missing). Nothing of latentbits is imported, so a mistake can't be shared.
"""

from itertools import pairwise
from math import isnan, log, sqrt

import numpy as np
from scipy.integrate import quad
from scipy.optimize import minimize_scalar
from scipy.stats import multivariate_normal, norm


def cdf(h, k, rho):
    """P(x <= h, y <= k) = int_-inf^h phi(x) Phi((k - rho x) / sqrt(1 - rho^2)) dx, cut where the integrand is steep."""
    root = sqrt(1 - rho**2)
    steps = root * np.array([0, 1, 4, 16, 64])
    centre = k / rho if rho else 0.0
    cuts = np.unique(np.clip([*np.arange(-9.0, 9.0), *(centre + steps), *(centre - steps)], -9.0, min(h, 9.0)))
    return sum(
        quad(lambda x: norm.pdf(x) * norm.cdf((k - rho * x) / root), low, high, epsabs=1e-14, epsrel=1e-13)[0]
        for low, high in pairwise(cuts)
    )


def cells(h, k, rho):
    """Model probabilities of 11, 10, 01 and 00, with P(1) = Phi(h) and Phi(k)."""
    joint = multivariate_normal([0, 0], [[1, rho], [rho, 1]]).cdf([h, k])
    return joint, norm.cdf(h) - joint, norm.cdf(k) - joint, 1 - norm.cdf(h) - norm.cdf(k) + joint


def log_likelihood(table, h, k, rho):
    return sum(n * log(max(p, 1e-300)) for n, p in zip(table, cells(h, k, rho), strict=True))


def table(X, i, j, weights):
    """n11, n10, n01 and n00 over the rows where both columns are seen."""
    counts = {(1, 1): 0.0, (1, 0): 0.0, (0, 1): 0.0, (0, 0): 0.0}
    for row, weight in zip(X, weights, strict=True):
        if not isnan(row[i]) and not isnan(row[j]):
            counts[int(row[i]), int(row[j])] += weight
    return list(counts.values())


def quantile(X, j, weights):
    """Phi^-1 of the share of ones among the rows where the column is seen."""
    seen = [(row[j], weight) for row, weight in zip(X, weights, strict=True) if not isnan(row[j])]
    return norm.ppf(sum(x * w for x, w in seen) / sum(w for _, w in seen))


def correlation(X, i, j, weights, correct=None):
    """The maximum of the likelihood of one corrected table, thresholds from the columns (about eight digits).

    An empty cell counts as `correct`; if that is None, as the posterior mean of a rate with no rows seen, whose prior
    is a gamma distribution of the shape 1/2 and the mean E, the rows expected of independent columns.
    """
    counts = table(X, i, j, weights)
    h, k = quantile(X, i, weights), quantile(X, j, weights)
    for cell, (one, other) in enumerate([(1, 1), (1, 0), (0, 1), (0, 0)]):
        if counts[cell] == 0 and correct is not None:
            counts[cell] = correct
        elif counts[cell] == 0:
            p, q = (norm.cdf(h) if one else norm.cdf(-h)), (norm.cdf(k) if other else norm.cdf(-k))
            E = sum(table(X, i, j, weights)) * p * q
            counts[cell] = (0 + 0.5) / (1 + 0.5 / E)

    def loss(rho):
        return -log_likelihood(counts, h, k, rho)

    return minimize_scalar(loss, bounds=(-0.9999, 0.9999), method="bounded", options={"xatol": 1e-9}).x


def standard_error(h, k, rho, n, step=1e-4):
    """From the inverse of the Fisher information of (h, k, rho), n sum_c (grad p_c)(grad p_c)^T / p_c."""
    at = np.array([h, k, rho])
    gradients = [
        (np.array(cells(*(at + move))) - np.array(cells(*(at - move)))) / (2 * step) for move in step * np.eye(3)
    ]
    J = np.array(gradients)
    information = n * (J / np.array(cells(h, k, rho))) @ J.T
    return sqrt(np.linalg.inv(information)[2, 2])
