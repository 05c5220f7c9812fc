"""Slow twins of binary ICA: one segment, one row, one cell at a time."""

import math
from itertools import product

import numpy as np
from scipy.integrate import quad
from scipy.stats import multivariate_normal, norm

C = math.sqrt(math.pi / 8)


def blica_objective(A, s, q, correlations, n_rows):
    """sum_u N_u / 2 [-log det S_u - tr(C_u S_u^-1)], A with the link's factor in it."""
    total = 0.0
    for u in range(len(n_rows)):
        S = np.diag(q[u]) @ (np.eye(len(A)) + A @ np.diag(s[u] ** 2) @ A.T) @ np.diag(q[u])
        total += n_rows[u] / 2 * (-np.log(np.linalg.det(S)) - np.trace(correlations[u] @ np.linalg.inv(S)))
    return total


def matched_objective(A, s, correlations, delta, n_rows, mixing_precision, scale_precision):
    """The model's correlations fitted to the data's, the same delta added to both diagonals; with the log prior."""
    total = -mixing_precision / 2 * (A**2).sum() - scale_precision / 2 * (np.log(s) ** 2).sum()
    for u in range(len(n_rows)):
        S = np.eye(len(A)) + A @ np.diag(s[u] ** 2) @ A.T
        sd = np.sqrt(np.diag(S))
        model = S / np.outer(sd, sd) + np.diag(delta[u])
        data = correlations[u] + np.diag(delta[u])
        total += n_rows[u] / 2 * (-np.log(np.linalg.det(model)) - np.trace(data @ np.linalg.inv(model)))
    return total


def arcsine_objective(A, s, correlations, nugget, n_rows, mixing_precision, scale_precision):
    """As `matched_objective`, every correlation replaced by 2/pi arcsin of it."""
    total = -mixing_precision / 2 * (A**2).sum() - scale_precision / 2 * (np.log(s) ** 2).sum()
    n = len(A)
    for u in range(len(n_rows)):
        S = np.eye(n) + A @ np.diag(s[u] ** 2) @ A.T
        model, data = np.diag(1 + nugget[u]), np.diag(1 + nugget[u])
        for i, j in product(range(n), range(n)):
            if i != j:
                model[i, j] = 2 / math.pi * math.asin(S[i, j] / math.sqrt(S[i, i] * S[j, j]))
                data[i, j] = 2 / math.pi * math.asin(correlations[u, i, j])
        total += n_rows[u] / 2 * (-np.log(np.linalg.det(model)) - np.trace(data @ np.linalg.inv(model)))
    return total


def orthant_probability(x, A, mu, s):
    """P(x) of a row (NaN: missing) as the multivariate normal probability of an orthant (eq. 6)."""
    seen = [i for i in range(len(x)) if not np.isnan(x[i])]
    sign = np.array([1.0 if x[i] == 1 else -1.0 for i in seen])
    B = C * A[seen]
    S = np.eye(len(seen)) + B @ np.diag(s**2) @ B.T
    if len(seen) == 1:
        return float(norm.cdf(sign[0] * (B @ mu)[0] / math.sqrt(S[0, 0])))
    flipped = np.diag(sign) @ S @ np.diag(sign)
    return float(multivariate_normal(cov=flipped, abseps=1e-6, releps=1e-6, maxpts=200_000).cdf(sign * (B @ mu)))


def posterior(x, A, mu, s, n_points=301, reach=8.0, b=None):
    """P(x), mean and standard deviation of one or two sources, summed over a fine grid of the prior."""
    line = np.linspace(-reach, reach, n_points)
    total, first, second = 0.0, np.zeros(len(mu)), np.zeros(len(mu))
    mass = 0.0
    for eps in product(line, repeat=len(mu)):
        z = mu + s * np.array(eps)
        weight = math.exp(-0.5 * sum(e * e for e in eps))
        mass += weight
        for i in range(len(x)):
            if not np.isnan(x[i]):
                y = C * float(A[i] @ z) + (0.0 if b is None else float(b[i]))
                weight *= 0.5 * math.erfc(-y / math.sqrt(2) if x[i] == 1 else y / math.sqrt(2))
        total += weight
        first += weight * z
        second += weight * z**2
    mean = first / total
    return total / mass, mean, np.sqrt(second / total - mean**2)


def expectation_propagation(x, B, h, n_sweeps=60):
    """Mean and covariance of standard normal sources e, cell i being 1 with probability Phi(h_i + B_i . e).

    Every seen cell has a normal factor exp(nu y - tau y^2 / 2) of y = B_i . e; the factors are found one by one, the
    whole distribution computed anew each time, so that the exact cell would give y the same mean and variance.
    """
    return _normal(B, *normal_factors(x, B, h, n_sweeps))


def propagated_log_probability(x, B, h, n_sweeps=60):
    """log P(x): that of the normal factors, each then exchanged for its exact cell, every integral by itself."""
    tau, nu = normal_factors(x, B, h, n_sweeps)
    mean, V = _normal(B, tau, nu)
    total = 0.5 * math.log(np.linalg.det(V)) + 0.5 * float(mean @ np.linalg.inv(V) @ mean)
    for i in [i for i in range(len(x)) if not np.isnan(x[i])]:
        others = np.arange(len(x)) != i
        mean, V = _normal(B, tau * others, nu * others)
        centre, sd = float(B[i] @ mean), math.sqrt(float(B[i] @ V @ B[i]))
        sign = 1.0 if x[i] == 1 else -1.0

        def expected(function, centre=centre, sd=sd):
            return quad(lambda e: norm.pdf(e) * function(centre + sd * e), -10, 10, epsabs=1e-13, epsrel=1e-12)[0]

        exact = expected(lambda y: norm.cdf(sign * (h[i] + y)))  # noqa: B023
        factor = expected(lambda y: math.exp(nu[i] * y - tau[i] * y**2 / 2))  # noqa: B023
        total += math.log(exact) - math.log(factor)
    return total


def _normal(B, tau, nu):
    V = np.linalg.inv(np.eye(B.shape[1]) + B.T @ np.diag(tau) @ B)
    return V @ B.T @ nu, V


def normal_factors(x, B, h, n_sweeps=60):
    """tau and nu of `expectation_propagation`."""
    n = len(B)
    tau, nu = np.zeros(n), np.zeros(n)
    for _ in range(n_sweeps):
        for i in [i for i in range(n) if not np.isnan(x[i])]:
            tau[i] = nu[i] = 0.0
            mean, V = _normal(B, tau, nu)
            centre, variance = float(B[i] @ mean), float(B[i] @ V @ B[i])
            sign = 1.0 if x[i] == 1 else -1.0
            z = sign * (h[i] + centre) / math.sqrt(1 + variance)
            ratio = math.exp(norm.logpdf(z) - norm.logcdf(z))
            new_centre = centre + sign * variance * ratio / math.sqrt(1 + variance)
            new_variance = variance - variance**2 * ratio * (z + ratio) / (1 + variance)
            tau[i] = 1 / new_variance - 1 / variance
            nu[i] = new_centre / new_variance - centre / variance
    return tau, nu


def evidence_bound(rows, segments, A, mu, s, E, b, v, c):
    """The bound of linear iVAE, every expectation by adaptive integration."""
    total = 0.0
    for x, u in zip(rows, segments, strict=True):
        code = [0.0 if np.isnan(cell) else (1.0 if cell == 1 else -1.0) for cell in x]
        mean = E @ np.array(code) + b[u]
        for i in range(len(x)):
            if np.isnan(x[i]):
                continue
            sign = 1.0 if x[i] == 1 else -1.0
            centre, sd = float(A[i] @ mean + c[i]), math.sqrt(float(A[i] ** 2 @ v[u]))
            total -= quad(lambda e: norm.pdf(e) * np.logaddexp(0, -sign * (centre + sd * e)), -9, 9)[0]  # noqa: B023
        for k in range(len(mean)):
            ratio = v[u, k] / s[u, k] ** 2
            total -= 0.5 * (ratio + (mean[k] - mu[u, k]) ** 2 / s[u, k] ** 2 - 1 - math.log(ratio))
    return total


def finite_difference(function, arrays, direction, step=1e-6):
    """The derivative of function(*arrays) along `direction`, by central differences."""
    ahead = function(*(a + step * d for a, d in zip(arrays, direction, strict=True)))
    behind = function(*(a - step * d for a, d in zip(arrays, direction, strict=True)))
    return (ahead - behind) / (2 * step)
