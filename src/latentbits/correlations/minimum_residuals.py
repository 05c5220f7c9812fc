"""Loadings that leave the smallest residuals of correlations (minres), and the communalities that they begin with."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import minimize

from latentbits.correlations.repair import regularise

LEAST_UNIQUE = 0.005
"""Uniquenesses stay above this, as in psych: at 0 a factor would be a column (a Heywood case)."""

LARGEST_CONDITION = 100.0
"""Of the matrix whose inverse gives the communalities. Without it, noise in small eigenvalues made 20 factors of 5 in
20 columns; 20 and 50 lost one of 5 or 10 now and then."""

STRICT: dict[str, Any] = {"maxiter": 2000, "ftol": 1e-14, "gtol": 1e-9}
ROUGH: dict[str, Any] = {"maxiter": 50, "ftol": 1e-6}
"""For tables that are drawn, not reported."""


def uniqueness(C: np.ndarray) -> np.ndarray:
    """What the other columns don't explain of each (D,): one minus its squared multiple correlation."""
    return np.asarray(1 / np.diagonal(np.linalg.inv(regularise(C, LARGEST_CONDITION))))


def minimum_residuals(
    C: ArrayLike, n_factors: int, weight: np.ndarray | None = None, options: dict[str, Any] = STRICT
) -> tuple[np.ndarray, np.ndarray]:
    """Unrotated loadings (D, K) and uniquenesses (D,) that leave the smallest off-diagonal residuals.

    The square of residual i, j is multiplied by weight_i weight_j, which is the same as to multiply entry i, j of C by
    the root of that. For given uniquenesses u the best loadings are the leading eigenvectors of C - diag(u); minimised
    over u is the sum of squares of all that is left, whose derivative by u_i is -2 times the residual on the diagonal.
    """
    C = np.asarray(C, dtype=float)
    scale = np.ones(len(C)) if weight is None else np.sqrt(weight)
    if n_factors == 0:
        return np.zeros((len(C), 0)), np.ones(len(C))

    def loadings_of(u: np.ndarray) -> np.ndarray:
        values, axes = np.linalg.eigh(C - np.diag(u))
        return axes[:, ::-1][:, :n_factors] * np.sqrt(np.maximum(values[::-1][:n_factors], 0.0))

    def loss(u: np.ndarray) -> tuple[float, np.ndarray]:
        L = loadings_of(u)
        rest = C - np.diag(u) - L @ L.T
        return float(np.sum(rest**2)), -2 * np.diagonal(rest)

    first = np.clip(uniqueness(C), LEAST_UNIQUE, 1.0)
    C = C * np.outer(scale, scale)
    bounds = [(LEAST_UNIQUE * w, w) for w in scale**2]
    u = minimize(loss, first * scale**2, jac=True, method="L-BFGS-B", bounds=bounds, options=options).x
    return loadings_of(u) / scale[:, None], u / scale**2
