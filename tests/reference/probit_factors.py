"""Probit factor analysis in plain words: draws from the prior, and posterior means by weighting such draws.

Cell ij is 1 with probability Phi(f_i . b_j + s e_i + u_i . v_j), f_i being known, and 1 alone by default;
u, e ~ N(c, 1); s ~ N(0, 1); v_jk ~ N(0, 1 / tau_k); tau_k ~ Gamma(1, rate); b_jp ~ N(m_p, 1 / t_p); m_p ~ N(0, 4);
t_0 ~ Gamma(1, 1), t_p ~ Gamma(1, 0.02) for the other features. The centres c are 0, or in space
sum_r sqrt(size) sqrt(variance_lr) vector_lr N(0, 1), for a scale l and a size that are any of those given.
"""

from math import erf, sqrt

import numpy as np


def prior(n_rows, n_columns, n_components, row_effects, n, rng, features=None, space=None, rate=1.0):
    """n draws of everything, by name, the draws along the first axis; `space` is vectors, variances and sizes."""
    N, D, K = n_rows, n_columns, n_components
    F = np.ones((N, 1)) if features is None else features
    P = F.shape[1]
    tau = rng.exponential(size=(n, K)) / rate
    t = rng.exponential(size=(n, P)) / np.array([1.0] + [0.02] * (P - 1))
    m = 2 * rng.standard_normal((n, P))
    c = np.zeros((n, N, K + 1)) if space is None else centres(*space, (n, K + 1), rng)
    drawn = {
        "F": F,
        "c": c,
        "u": rng.standard_normal((n, N, K)) + c[:, :, :K],
        "e": (rng.standard_normal((n, N)) + c[:, :, K]) * bool(row_effects),
        "s": rng.standard_normal(n) * bool(row_effects),
        "tau": tau,
        "v": rng.standard_normal((n, D, K)) / np.sqrt(tau)[:, None, :],
        "m": m,
        "t": t,
        "b": m[:, None] + rng.standard_normal((n, D, P)) / np.sqrt(t)[:, None],
    }
    return {**drawn, "p": probabilities(drawn)}


def centres(vectors, variances, sizes, shape, rng):
    """What neighbours have in common: n x N x K for the shape (n, K)."""
    out = np.empty((shape[0], vectors.shape[2], shape[1]))
    for at in np.ndindex(*shape):
        scale, size = rng.integers(len(vectors)), rng.choice(sizes)
        a = np.sqrt(size * variances[scale]) * rng.standard_normal(variances.shape[1])
        out[at[0], :, at[1]] = a @ vectors[scale]
    return out


def probabilities(drawn):
    """Of a 1, n x N x D."""
    score = np.einsum("nik,njk->nij", drawn["u"], drawn["v"])
    score = score + np.einsum("ip,njp->nij", drawn["F"], drawn["b"])
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
