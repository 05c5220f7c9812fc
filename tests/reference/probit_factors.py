"""Probit factor analysis in plain words: draws from the prior, and posterior means by weighting such draws.

Cell ij is 1 with probability Phi(b_j + s e_i + u_i . v_j); u, e, s ~ N(0, 1); v_jk ~ N(0, 1 / tau_k);
tau_k ~ Gamma(1, 1); b_j ~ N(m, 1 / t); m ~ N(0, 4); t ~ Gamma(1, 1).
"""

from math import erf, sqrt

import numpy as np


def prior(n_rows, n_columns, n_components, row_effects, n, rng):
    """n draws of everything, by name, the draws along the first axis."""
    N, D, K = n_rows, n_columns, n_components
    tau, t = rng.exponential(size=(n, K)), rng.exponential(size=n)
    m = 2 * rng.standard_normal(n)
    drawn = {
        "u": rng.standard_normal((n, N, K)),
        "e": rng.standard_normal((n, N)) * bool(row_effects),
        "s": rng.standard_normal(n) * bool(row_effects),
        "tau": tau,
        "v": rng.standard_normal((n, D, K)) / np.sqrt(tau)[:, None, :],
        "m": m,
        "t": t,
        "b": m[:, None] + rng.standard_normal((n, D)) / np.sqrt(t)[:, None],
    }
    return {**drawn, "p": probabilities(drawn)}


def probabilities(drawn):
    """Of a 1, n x N x D."""
    score = np.einsum("nik,njk->nij", drawn["u"], drawn["v"]) + drawn["b"][:, None]
    return phi(score + (drawn["s"][:, None] * drawn["e"])[:, :, None])


def phi(x):
    return 0.5 * (1 + np.vectorize(erf)(np.asarray(x) / sqrt(2)))


def weights(X, drawn):
    """Posterior weights of draws from the prior: the likelihood, normalised."""
    w = np.ones(len(drawn["m"]))
    for i, row in enumerate(X):
        for j, x in enumerate(row):
            if not np.isnan(x):
                w *= drawn["p"][:, i, j] if x == 1 else 1 - drawn["p"][:, i, j]
    return w / w.sum()


def row_posterior(x, b, V, s, edge=7.0, steps=281):
    """Means and second moments of (u, e) of one row and one factor, the columns known, by a sum over a grid."""
    grid = np.linspace(-edge, edge, steps)
    u, e = np.meshgrid(grid, grid, indexing="ij")
    density = np.exp(-0.5 * (u**2 + e**2))
    for j, cell in enumerate(x):
        if cell >= 0:
            p = phi(b[j] + u * V[j] + s * e)
            density = density * (p if cell == 1 else 1 - p)
    density /= density.sum()
    return [float(np.sum(density * f)) for f in (u, e, u**2, e**2, u * e)]
