"""Whether rows gather at two states of a factor, or what they look like instead.

Against Gaussian factors alone, skewed columns, heavy tails and single outliers pass for on-off factors: two states give
them some shape. So the projection of the rows on a factor is described once more, by two normals of one width and by
humps of a free shape: Johnson's S_U (skewed, heavy tails) and the exponential power (flat, as of a uniform).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal

import numpy as np
from scipy.optimize import minimize
from scipy.special import digamma, gammaln, logsumexp

Look = Literal["two states", "outliers", "skewed columns", "one hump"]

FEWEST_ROWS, SMALLEST_SHARE = 5, 0.02
"""Fewer rows, or a smaller share of them, are outliers and no state."""

CLEARLY = 5.0
"""Two states have to be ahead by so much in log likelihood: 10 in BIC."""

SKEWED = 0.5
"""Skewness from which on a hump is called skewed."""

MOST_ROWS = 2000
"""Rows that a shape is fitted to; of more, so many quantiles."""

STOP = {"maxiter": 100}
"""A lognormal is where S_U ends: steps towards it gain less and less."""

LOG_2PI = float(np.log(2 * np.pi))


def look(projection: np.ndarray, is_on: np.ndarray) -> Look:
    """What the rows look like along a factor, on in some of them by the fit."""
    rarer = min(int(is_on.sum()), int((~is_on).sum()))
    if rarer < max(FEWEST_ROWS, SMALLEST_SHARE * len(is_on)):
        return "outliers"
    if len(projection) > MOST_ROWS:
        chosen = np.argsort(projection, kind="stable")[np.linspace(0, len(projection) - 1, MOST_ROWS).astype(int)]
        projection, is_on = projection[chosen], is_on[chosen]
    z = (projection - projection.mean()) / max(float(projection.std()), 1e-12)
    # The exponential power has a parameter less than the others.
    one_hump = max(_johnson(z), _exponential_power(z) + np.log(len(z)) / 2)
    if _two_normals(z, is_on) > one_hump + CLEARLY:
        return "two states"
    return "skewed columns" if abs(float(np.mean(z**3))) > SKEWED else "one hump"


def _two_normals(z: np.ndarray, is_on: np.ndarray) -> float:
    """The log likelihood of two normals of one width, by EM from the states of the fit."""
    of_state, log_likelihood = np.column_stack([~is_on, is_on]).astype(np.float64), -np.inf
    for _ in range(500):
        rows = of_state.sum(axis=0) + 1e-12
        means = z @ of_state / rows
        variance = max(float((of_state * (z[:, None] - means) ** 2).sum()) / len(z), 1e-6)
        parts = np.log(rows / len(z)) - ((z[:, None] - means) ** 2 / variance + np.log(variance) + LOG_2PI) / 2
        of_rows = logsumexp(parts, axis=1)
        of_state, before, log_likelihood = np.exp(parts - of_rows[:, None]), log_likelihood, float(of_rows.sum())
        if log_likelihood - before < 1e-6:
            break
    return log_likelihood


def _johnson(z: np.ndarray) -> float:
    """The log likelihood of Johnson's S_U: a normal of the inverse hyperbolic sine, always with one hump."""

    def loss(theta: np.ndarray) -> tuple[float, np.ndarray]:
        place, log_width, shift, log_steepness = theta
        width, steepness = np.exp(log_width), np.exp(log_steepness)
        y = (z - place) / width
        bent = steepness * np.arcsinh(y)
        u = shift + bent
        slope = y / (1 + y * y) + u * steepness / np.sqrt(1 + y * y)
        value = np.sum(log_width - log_steepness + (np.log1p(y * y) + u * u + LOG_2PI) / 2)
        return float(value), np.array([-slope.sum() / width, len(z) - slope @ y, u.sum(), u @ bent - len(z)])

    starts = [(0.0, 1.0, 0.0, 1.0), (-3.6, 0.0, -2.0, 0.5), (3.6, 0.0, 2.0, 0.5), (0.0, 0.0, 0.0, 0.0)]
    return _highest(loss, starts, [(-200, 200), (-6, 6), (-30, 30), (-3, 4)])


def _exponential_power(z: np.ndarray) -> float:
    """The log likelihood of a density as exp(-|z|^power): a Laplace, a normal, nearly a uniform."""

    def loss(theta: np.ndarray) -> tuple[float, np.ndarray]:
        place, log_width, log_power = theta
        width, power = np.exp(log_width), np.exp(log_power)
        far = np.maximum(np.abs(z - place) / width, 1e-12)
        raised = far**power
        value = raised.sum() - len(z) * (log_power - np.log(2) - log_width - gammaln(1 / power))
        by_place = -power * ((raised / far) @ np.sign(z - place)) / width
        by_power = power * (raised @ np.log(far)) - len(z) * (1 + digamma(1 / power) / power)
        return float(value), np.array([by_place, len(z) - power * raised.sum(), by_power])

    return _highest(loss, [(0.0, 0.3, 0.7), (0.0, 0.3, 2.0)], [(-3, 3), (-3, 3), (-1, 3)])


def _highest(
    loss: Callable[[np.ndarray], tuple[float, np.ndarray]],
    starts: Sequence[tuple[float, ...]],
    bounds: list[tuple[float, float]],
) -> float:
    return -min(
        float(minimize(loss, start, jac=True, method="L-BFGS-B", bounds=bounds, options=STOP).fun) for start in starts
    )
