"""The variational mixture of ICA in plain loops: the bound from its definition, and densities by enumeration."""

from itertools import product
from math import lgamma, log, pi

import numpy as np
from scipy.special import digamma
from scipy.stats import multivariate_normal

LOG_2PI = log(2 * pi)


def bound(X, p, prior, mean, cov, labels, share, rho):
    """E = <log P(X, s, k, c, theta)> - <log Q>, term by term (eq. 7 and 8).

    p has the fields of the parameters' posterior, with the cluster on the first axis: A, A_cov, alpha_shape, ...;
    prior those of the hyper-parameters. mean (C x T x M) and cov are of Q(s), labels (C x T x M x K) are Q(k), share
    (C x T) is Q(c), rho the Dirichlet of the clusters' shares.
    """
    total = -kl_dirichlet(rho, prior.rho)
    log_rho = [digamma(d) - digamma(sum(rho)) for d in rho]
    for c in range(len(rho)):
        total -= kl_cluster(p, c, prior)
        for t in range(len(X)):
            q = share[c][t]
            if q > 0:
                inside = point(X[t], p, c, mean[c][t], cov[c][t], labels[c][t])
                total += q * (log_rho[c] - log(q) + inside)
    return total


def point(x, p, c, mean, cov, labels):
    """<log P(x, s, k | c)> - <log Q(s) Q(k)> of one point in one cluster."""
    N, M = len(p.A[c]), len(mean)
    ss = [[mean[i] * mean[j] + cov[i][j] for j in range(M)] for i in range(M)]
    value = 0.0
    for n in range(N):
        if np.isnan(x[n]):  # a missing cell has no likelihood
            continue
        A, V = p.A[c][n], p.A_cov[c][n]
        nu, var_nu = p.nu[c][n], 1 / p.nu_precision[c][n]
        psi = p.psi_shape[c][n] / p.psi_rate[c][n]
        log_psi = digamma(p.psi_shape[c][n]) - log(p.psi_rate[c][n])
        residual = x[n] ** 2 - 2 * x[n] * nu + nu**2 + var_nu
        for i in range(M):
            residual -= 2 * (x[n] - nu) * A[i] * mean[i]
            for j in range(M):
                residual += (A[i] * A[j] + V[i][j]) * ss[i][j]
        value += 0.5 * (log_psi - LOG_2PI) - 0.5 * psi * residual
    value += 0.5 * np.linalg.slogdet(np.asarray(cov))[1] + 0.5 * M * (1 + LOG_2PI)
    for m in range(M):
        d = p.pi[c][m]
        for k in range(len(d)):
            beta = p.beta_shape[c][m][k] / p.beta_rate[c][m][k]
            log_beta = digamma(p.beta_shape[c][m][k]) - log(p.beta_rate[c][m][k])
            phi, var_phi = p.phi[c][m][k], 1 / p.phi_precision[c][m][k]
            away = ss[m][m] - 2 * mean[m] * phi + phi**2 + var_phi
            expected = digamma(d[k]) - digamma(sum(d)) + 0.5 * (log_beta - LOG_2PI) - 0.5 * beta * away
            if labels[m][k] > 0:
                value += labels[m][k] * (expected - log(labels[m][k]))
    return value


def kl_cluster(p, c, prior):
    """Divergences of one cluster's factors from their priors."""
    total = 0.0
    N, M = len(p.A[c]), len(p.A[c][0])
    for n in range(N):
        total += kl_normal(p.nu[c][n], p.nu_precision[c][n], prior.nu_precision)
        total += kl_gamma(p.psi_shape[c][n], p.psi_rate[c][n], prior.psi_shape, prior.psi_rate)
        total -= 0.5 * np.linalg.slogdet(np.asarray(p.A_cov[c][n]))[1] + 0.5 * M * (1 + LOG_2PI)
        for m in range(M):
            alpha = p.alpha_shape[c][m] / p.alpha_rate[c][m]
            log_alpha = digamma(p.alpha_shape[c][m]) - log(p.alpha_rate[c][m])
            square = p.A[c][n][m] ** 2 + p.A_cov[c][n][m][m]
            total -= 0.5 * (log_alpha - LOG_2PI) - 0.5 * alpha * square
    for m in range(M):
        total += kl_gamma(p.alpha_shape[c][m], p.alpha_rate[c][m], prior.alpha_shape, prior.alpha_rate)
        total += kl_dirichlet(p.pi[c][m], prior.pi)
        for k in range(len(p.pi[c][m])):
            total += kl_normal(p.phi[c][m][k], p.phi_precision[c][m][k], prior.phi_precision)
            total += kl_gamma(p.beta_shape[c][m][k], p.beta_rate[c][m][k], prior.beta_shape, prior.beta_rate)
    return total


def kl_normal(mean, precision, precision0):
    return 0.5 * (log(precision) - log(precision0) + precision0 * (mean**2 + 1 / precision) - 1)


def kl_gamma(a, b, a0, b0):
    """<log Gamma(x | a, b)> - <log Gamma(x | a0, b0)>."""
    x, log_x = a / b, digamma(a) - log(b)
    ours = a * log(b) - lgamma(a) + (a - 1) * log_x - b * x
    return ours - (a0 * log(b0) - lgamma(a0) + (a0 - 1) * log_x - b0 * x)


def kl_dirichlet(d, d0):
    log_p = [digamma(value) - digamma(sum(d)) for value in d]
    ours = lgamma(sum(d)) - sum(map(lgamma, d)) + sum((a - 1) * b for a, b in zip(d, log_p, strict=True))
    theirs = lgamma(len(d) * d0) - len(d) * lgamma(d0) + sum((d0 - 1) * b for b in log_p)
    return ours - theirs


def log_density(x, shares, means, mixing, noise_variance, pi, phi, variance):
    """log p(x) of a mixture of clusters, by enumeration of every source's Gaussian; parameters are given as points.

    Of the cells of x that are there.
    """
    total, there = 0.0, ~np.isnan(x)
    for c in range(len(shares)):
        M, K = pi[c].shape
        for labels in product(range(K), repeat=M):
            weight = shares[c] * np.prod([pi[c][m][k] for m, k in enumerate(labels)])
            centre = means[c] + mixing[c] @ [phi[c][m][k] for m, k in enumerate(labels)]
            spread = mixing[c] @ np.diag([variance[c][m][k] for m, k in enumerate(labels)]) @ mixing[c].T
            total += weight * multivariate_normal(
                centre[there], (spread + np.diag(noise_variance[c]))[np.ix_(there, there)]
            ).pdf(x[there])
    return log(total)
