"""A step on sparse data with expanded zeros, cell by cell, and its objective: nothing is summed in advance."""

import numpy as np
from scipy.optimize import brentq

THETA = 0.2
KAPPA = 2 * (-np.log(1 - THETA) - THETA) / THETA**2


def cell_value(x, p, is_exact):
    """What a cell (0, 1, NaN for missing) adds to the objective."""
    if np.isnan(x):
        return 0.0
    if x == 1:
        return np.log(p)
    return np.log(1 - p) if is_exact else -(p + KAPPA * p * p / 2)


def objective(X, W, H, exact, weight):
    P = np.asarray(W) @ H
    rows = [[cell_value(x, p, e) for x, p, e in zip(X[i], P[i], exact, strict=True)] for i in range(len(X))]
    return weight @ np.sum(rows, axis=1)


def new_weights(x, w, H, exact):
    """The w' that maximises Jensen's bound of one row's objective at w, by bisection for the multiplier.

    A one shares out log p; so does an exact zero log(1 - p); an expanded zero has -(h w' + KAPPA h p w'^2 / (2 w)); and
    a cell that is no zero is counted as one and its part, which is convex, is added again by its tangent.
    """
    K, D = H.shape
    a, b, c = np.zeros(K), np.zeros(K), np.zeros(K)
    for j in range(D):
        h, p = H[:, j], w @ H[:, j]
        if x[j] == 1:
            a += h / p
        if exact[j]:
            if x[j] == 0:
                a += (1 - h) / (1 - p)
            continue
        b += h
        c += KAPPA * h * p
        if x[j] != 0:
            b -= h * (1 + KAPPA * p)
    if np.isnan(x).all():
        return w

    def ratios(m):
        return np.array([largest_root(c[k], b[k] + m, a[k]) for k in range(K)])

    low, high = np.max(a * w - b - c / w) - 1e-9, np.max(np.abs(a) + np.abs(b) + np.abs(c)) * K + 1
    m = brentq(lambda m: w @ ratios(m) - 1, low, high, xtol=1e-14)
    return w * ratios(m) / (w @ ratios(m))


def largest_root(c, s, a):
    """The x >= 0 with c x^2 + s x = a."""
    return a / s if c == 0 else max((-s + np.sqrt(s * s + 4 * a * c)) / (2 * c), 0)


def step(X, W, H, exact, weight):
    """New weights, and components given these (of exact columns given the old ones, as in EM)."""
    K, D = H.shape
    new_W = np.array([new_weights(x, w, H, exact) for x, w in zip(X, W, strict=True)])
    new_H = H.copy()
    for j in range(D):
        if exact[j]:
            p = W @ H[:, j]
            one = sum(weight[i] * W[i] / p[i] for i in range(len(X)) if X[i, j] == 1) * H[:, j]
            zero = sum(weight[i] * W[i] / (1 - p[i]) for i in range(len(X)) if X[i, j] == 0) * (1 - H[:, j])
            new_H[:, j] = np.clip(one / (one + zero), 1e-10, 1 - 1e-10)
            continue
        p = new_W @ H[:, j]
        for k in range(K):
            g = sum(weight[i] * new_W[i, k] / p[i] for i in range(len(X)) if X[i, j] == 1)
            t = sum(weight * new_W[:, k])
            t -= sum(weight[i] * new_W[i, k] * (1 + KAPPA * p[i]) for i in range(len(X)) if X[i, j] != 0)
            u = KAPPA * sum(weight * new_W[:, k] * p)
            new_H[k, j] = np.clip(H[k, j] * largest_root(u, t, g), 1e-10, THETA)
    return new_W, new_H


def error(X, W, H, exact, weight):
    """How much the log likelihood is above the objective."""
    return objective(X, W, H, np.ones(len(exact), bool), weight) - objective(X, W, H, exact, weight)
