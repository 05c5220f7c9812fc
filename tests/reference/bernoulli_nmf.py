"""Slow twin of Bernoulli NMF: likelihood and updates in plain loops. X has 0, 1 and NaN; no model is imported."""

from math import exp, isnan, log, log1p, sqrt, tanh

import numpy as np

BACKGROUND = 1e-10


def log_probability(x, u):
    """log P(x), P(1) = tanh(u/2)."""
    return log(tanh(u / 2)) if x == 1 else log(2) - u - log1p(exp(-u))


def rate(w, h):
    return BACKGROUND + sum(float(a) * float(b) for a, b in zip(w, h, strict=True))


def row_log_likelihood(x, w, H):
    return sum(log_probability(x[j], rate(w, H[:, j])) for j in range(len(x)) if not isnan(x[j]))


def objective(X, W, H, row_weight):
    """Weighted log likelihood of the observed cells."""
    return sum(r * row_log_likelihood(x, w, H) for x, w, r in zip(X, W, row_weight, strict=True))


def row_gradient(x, w, H):
    """Derivatives of the row's log likelihood: sum_j h_kj / sinh(u_j) for ones, -h_kj / (1 + e^-u_j) for zeros."""
    g = np.zeros(len(w))
    for j in range(len(x)):
        if not isnan(x[j]):
            u = rate(w, H[:, j])
            g += H[:, j] * (2 * exp(-u) / (1 - exp(-2 * u)) if x[j] == 1 else -1 / (1 + exp(-u)))
    return g


def update_weights(X, W, H, most):
    """The closed-form maximum of the bound in W, entry by entry, none above `most`."""
    new = np.array(W, dtype=float)
    for i, x in enumerate(X):
        for k in range(len(H)):
            a = b = c = 0.0
            for j in range(len(x)):
                if isnan(x[j]):
                    continue
                u, h = rate(W[i], H[:, j]), float(H[k, j])
                c += tanh(u / 2) / (4 * u) * h * u / W[i, k]
                if x[j] == 1:
                    a += W[i, k] * h / u
                    b += h * (1 / (2 * tanh(u / 2)) - 1 / u)
                else:
                    b -= h / 2
            if c > 0:
                new[i, k] = min((b + sqrt(b * b + 8 * a * c)) / (4 * c), most)
    return new


def update_components(X, W, H, row_weight):
    """The same for H: rows and columns change places, and a row counts as often as its weight (a whole number) says."""
    count = np.asarray(row_weight, dtype=int)
    return update_weights(np.repeat(X, count, axis=0).T, H.T, np.repeat(W, count, axis=0).T, 1.0).T


def empirical_bayes(X, weights, H, row_weight):
    """log sum_n prior_n prod_j P(x_j | weights of training row n), for each row."""
    scores = []
    for x in X:
        terms = [
            log(prior) + row_log_likelihood(x, w, H)
            for w, prior in zip(weights, np.asarray(row_weight) / np.sum(row_weight), strict=True)
            if prior > 0
        ]
        top = max(terms)
        scores.append(top + log(sum(exp(term - top) for term in terms)))
    return np.array(scores)
