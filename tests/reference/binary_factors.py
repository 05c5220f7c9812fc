"""Binary factor analysis in plain loops and by enumeration. Imports no model."""

from itertools import product

import numpy as np
from scipy import stats
from scipy.optimize import minimize
from scipy.special import betaln, digamma, logsumexp


def codes(m):
    return [np.array(signs, dtype=float) for signs in product([-1, 1], repeat=m)]


# ---- the binary quadratic program ------------------------------------------------------------------


def bqp_value(Q, f, y):
    return 0.5 * y @ Q @ y - f @ y


def brute_force(Q, f):
    """The smallest value, and a code that has it."""
    best = min(codes(len(f)), key=lambda y: bqp_value(Q, f, y))
    return bqp_value(Q, f, best), best


def greedy(Q, f):
    """Fix the sign that gains most, until none is left; the diagonal of Q adds the same to all codes."""
    off = Q - np.diag(np.diag(Q))
    y = np.zeros(len(f))
    while not y.all():
        gains = [
            (bqp_value(off, f, y) - bqp_value(off, f, _with(y, i, s)), i, s)
            for i in np.flatnonzero(y == 0)
            for s in (-1, 1)
        ]
        _, i, s = max(gains)
        y = _with(y, i, s)
    return y


def _with(y, i, s):
    changed = y.copy()
    changed[i] = s
    return changed


def dual_solution(Q, f):
    """Maximise -1/2 f^T (Q + Diag s)^-1 f - 1/2 sum s over s >= 0; returns the maximum, and (Q + Diag s)^-1 f."""

    def negative(s):
        y = np.linalg.solve(Q + np.diag(s), f)
        return 0.5 * f @ y + 0.5 * s.sum(), 0.5 - 0.5 * y**2

    best = minimize(negative, np.ones(len(f)), jac=True, bounds=[(0, None)] * len(f), options={"ftol": 1e-15})
    return -best.fun, np.linalg.solve(Q + np.diag(best.x), f)


# ---- likelihood and EM ------------------------------------------------------------------------------


def log_joint(x, y, A, c, phi, beta):
    """log p(x, y), of the cells of x that are there; phi is one number, or one for each column"""
    there = ~np.isnan(x)
    sd = np.broadcast_to(np.asarray(phi, dtype=float) ** -0.5, len(x))
    noise = stats.norm.logpdf(x[there], (A @ y + c)[there], sd[there]).sum()
    return noise + sum(np.log(b) if sign > 0 else np.log(1 - b) for sign, b in zip(y, beta, strict=True))


def log_likelihood(x, A, c, phi, beta):
    return logsumexp([log_joint(x, y, A, c, phi, beta) for y in codes(len(beta))])


def posterior(x, A, c, phi, beta):
    """P(y | x) of all codes, in the order of `codes`."""
    joint = np.array([log_joint(x, y, A, c, phi, beta) for y in codes(len(beta))])
    return np.exp(joint - logsumexp(joint))


def em_step(X, A, c, phi, beta):
    """One step of EM as weighted least squares over all pairs of a row and a code; A, c, phi, beta.

    A column at a time, with the rows in which it is there. The noise is that of a column if phi has one for each.
    """
    m = len(beta)
    weight = np.concatenate([posterior(x, A, c, phi, beta) for x in X])
    Z = np.array([[*y, 1.0] for _ in X for y in codes(m)])
    B, squares, cells = [], [], np.sum(~np.isnan(X), axis=0)
    for target in np.repeat(X, 2**m, axis=0).T:
        there = ~np.isnan(target)
        root = np.sqrt(weight[there])
        B.append(np.linalg.lstsq(root[:, None] * Z[there], root * target[there], rcond=None)[0])
        squares.append(np.sum(weight[there] * (target[there] - Z[there] @ B[-1]) ** 2))
    B = np.array(B)
    new = [cells.sum() / sum(squares)] if np.size(phi) == 1 else cells / np.array(squares)
    return B[:, :-1], B[:, -1], np.array(new), weight @ (Z[:, :-1] > 0) / len(X)


# ---- Gaussian factors -------------------------------------------------------------------------------


def gaussian_log_likelihood(x, A, c, phi):
    """log p(x) with standard normal factors, of the cells of x that are there."""
    there = ~np.isnan(x)
    if not there.any():
        return 0.0
    sd = np.broadcast_to(np.asarray(phi, dtype=float) ** -0.5, len(x))[there]
    return stats.multivariate_normal.logpdf(x[there], c[there], A[there] @ A[there].T + np.diag(sd**2))


def gaussian_em_step(X, A, c, phi):
    """One step of EM, each row's factors by conditioning their joint normal distribution; A, c, phi."""
    k, n = A.shape[1], len(c)
    variance = np.broadcast_to(1 / np.asarray(phi, dtype=float), n)
    zz, xz, xx, cells = np.zeros((n, k + 1, k + 1)), np.zeros((n, k + 1)), np.zeros(n), np.zeros(n)
    for x in X:
        there = np.flatnonzero(~np.isnan(x))
        gain = A[there].T @ np.linalg.inv(A[there] @ A[there].T + np.diag(variance[there]))
        mean = gain @ (x[there] - c[there])
        z = np.append(mean, 1.0)
        second = np.outer(z, z)
        second[:k, :k] += np.eye(k) - gain @ A[there]
        for j in there:
            zz[j] += second
            xz[j] += x[j] * z
            xx[j] += x[j] ** 2
            cells[j] += 1
    B = np.array([np.linalg.solve(zz[j], xz[j]) for j in range(n)])
    squares = np.array([xx[j] - 2 * B[j] @ xz[j] + B[j] @ zz[j] @ B[j] for j in range(n)])
    return B[:, :-1], B[:, -1], np.array([cells.sum() / squares.sum()]) if np.size(phi) == 1 else cells / squares


# ---- harmony and evidence ----------------------------------------------------------------------------


def log_prior(A, c, phi, beta, alpha, *, alpha_rate, phi_rate, xi, c_variance):
    """Eq. 3-6 with Gamma(1, rate) and Beta(xi / 2, xi / 2)."""
    total = stats.norm.logpdf(c, 0, np.sqrt(c_variance)).sum()
    total += sum(stats.gamma.logpdf(one, 1, scale=1 / phi_rate) for one in np.ravel(phi))
    for i in range(len(beta)):
        total += stats.norm.logpdf(A[:, i], 0, alpha[i] ** -0.5).sum()
        total += stats.gamma.logpdf(alpha[i], 1, scale=1 / alpha_rate)
        total += stats.beta.logpdf(beta[i], xi / 2, xi / 2)
    return total


def harmony(X, Y, A, c, phi, beta, alpha, tau, **prior):
    """H of eq. 11."""
    fit = sum(log_joint(x, y, A, c, phi, beta) for x, y in zip(X, Y, strict=True))
    return fit + (tau * log_prior(A, c, phi, beta, alpha, **prior) if tau else 0.0)


def sampled_bound(X, q, rng, n_samples, *, alpha_rate, phi_rate, xi, c_variance):
    """E_q[log p(X, Y, theta) - log q(Y, theta)] by Monte Carlo: the mean, and its standard error.

    q: Y (means), B, cov, alpha_shape, alpha_rate, phi_shape, phi_rate, on, off, as attributes. All draws at once, the
    first axis; every density is SciPy's. Columns have one noise and one covariance of B together, or each its own.
    """
    S, m = n_samples, q.Y.shape[1]
    cov = [q.cov[j % len(q.cov)] for j in range(len(q.B))]
    p_on = (1 + q.Y) / 2
    Y = np.where(rng.random((S, *p_on.shape)) < p_on, 1.0, -1.0)
    B = np.stack([rng.multivariate_normal(b, one, size=S) for b, one in zip(q.B, cov, strict=True)], axis=1)
    alpha = rng.gamma(q.alpha_shape, 1 / q.alpha_rate, size=(S, m))
    phi = rng.gamma(q.phi_shape, 1 / q.phi_rate, size=(S, len(q.phi_rate)))
    beta = rng.beta(q.on, q.off, size=(S, m))

    A, c = B[:, :, :-1], B[:, :, -1]
    mean = np.einsum("sni,sti->stn", A, Y) + c[:, None]
    log_p = stats.norm.logpdf(X, mean, phi[:, None, :] ** -0.5).sum(axis=(1, 2))
    log_p += np.log(np.where(Y > 0, beta[:, None], 1 - beta[:, None])).sum(axis=(1, 2))
    log_p += stats.norm.logpdf(A, 0, alpha[:, None] ** -0.5).sum(axis=(1, 2))
    log_p += stats.norm.logpdf(c, 0, np.sqrt(c_variance)).sum(axis=1)
    log_p += stats.gamma.logpdf(alpha, 1, scale=1 / alpha_rate).sum(axis=1)
    log_p += stats.gamma.logpdf(phi, 1, scale=1 / phi_rate).sum(axis=1)
    log_p += stats.beta.logpdf(beta, xi / 2, xi / 2).sum(axis=1)

    log_q = np.log(np.where(Y > 0, p_on, 1 - p_on)).sum(axis=(1, 2))
    for j, b in enumerate(q.B):
        log_q += stats.multivariate_normal.logpdf(B[:, j], b, cov[j])
    log_q += stats.gamma.logpdf(alpha, q.alpha_shape, scale=1 / q.alpha_rate).sum(axis=1)
    log_q += stats.gamma.logpdf(phi, q.phi_shape, scale=1 / q.phi_rate).sum(axis=1)
    log_q += stats.beta.logpdf(beta, q.on, q.off).sum(axis=1)
    draws = log_p - log_q
    return draws.mean(), draws.std() / np.sqrt(S)


def log_evidence_of_one_factor(X, *, alpha_rate, phi_rate, xi, c_variance):
    """log p(X) for m = 1: codes enumerated, beta and (a, c) integrated in closed form, alpha and phi on a grid."""
    N, n = X.shape
    grid = np.linspace(-12, 12, 121)
    log_alpha, log_phi = np.meshgrid(grid, grid)
    alpha, phi = np.exp(log_alpha), np.exp(log_phi)
    # The densities of log alpha and log phi, times the area of a cell of the grid.
    log_weight = np.log(alpha_rate) - alpha_rate * alpha + np.log(phi_rate) - phi_rate * phi
    log_weight += log_alpha + log_phi + 2 * np.log(grid[1] - grid[0])
    terms = []
    for y in product([-1.0, 1.0], repeat=N):
        on = sum(sign > 0 for sign in y)
        log_codes = betaln(xi / 2 + on, xi / 2 + N - on) - betaln(xi / 2, xi / 2)
        # Given code, alpha and phi every column of X is Gaussian: a and c are Gaussian, and so is the noise.
        covariance = np.outer(y, y) / alpha[..., None, None] + np.eye(N) / phi[..., None, None] + c_variance
        squares = np.einsum("tj,abts,sj->ab", X, np.linalg.inv(covariance), X)
        log_x = -0.5 * squares - n / 2 * (np.linalg.slogdet(covariance)[1] + N * np.log(2 * np.pi))
        terms.append(logsumexp(log_weight + log_x) + log_codes)
    return logsumexp(terms)


def algorithm_1_pass(X, Y, A, c, phi, beta, alpha, *, tau, eta, a_alpha, b_alpha, a_phi, b_phi, c_variance, xi):
    """Lines 5 to 13 of Algorithm 1 for given codes, in plain loops over rows and factors; lambda_i1 = lambda_i2 = 1/2.

    Returns A, c, phi, beta, alpha.
    """
    N, n = X.shape
    m = len(beta)
    gamma, new_alpha = np.empty(m), np.empty(m)
    for i in range(m):
        prior = -xi * (digamma(xi * beta[i]) - digamma(xi * (1 - beta[i])))
        prior += (xi / 2 - 1) / beta[i] - (xi / 2 - 1) / (1 - beta[i])
        rows = sum((1 + Y[t, i]) / 2 - beta[i] for t in range(N))
        gamma[i] = np.log(beta[i] / (1 - beta[i])) + eta * (rows + tau * prior * beta[i] * (1 - beta[i]))
        column = A[:, i]
        slope = n / (2 * alpha[i]) - column @ column / 2 + (a_alpha - 1) / alpha[i] - b_alpha
        new_alpha[i] = alpha[i] + eta * slope
    errors = [X[t] - A @ Y[t] - c for t in range(N)]
    new_c = c + eta * (phi * sum(errors) - tau * c / c_variance)
    flow = sum(np.outer(error, y) for error, y in zip(errors, Y, strict=True))
    new_A = A + eta * (phi * flow - tau * A @ np.diag(alpha))
    slope = N * n / (2 * phi) - sum(error @ error for error in errors) / 2 + tau * ((a_phi - 1) / phi - b_phi)
    return new_A, new_c, phi + eta * slope, 1 / (1 + np.exp(-gamma)), new_alpha
