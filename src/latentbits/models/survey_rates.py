"""How much a visit sees: rates of species, and numbers of visits.

The probability r that a visit sees an individual, learned from histories: one for all species, or one for each.

With u, the probability of being seen at all, given, P(never seen) = 1 - u doesn't depend on r. So r is learned from
cells with a sighting and two visits or more alone: from how many of the visits saw the species again.

Rows with different numbers of visits: how far a model of what was ever seen has followed them, and the rest of it.

Such a model doesn't know the visits. Of a row with few of them it sees few ones, and may follow (as if the site were
poor) or not (as if it were like the others, so that it predicts too much for that number of visits). What it predicts
for all cells of n visits is compared with what was seen there, and the expected number of individuals corrected by
a factor for each n: u becomes 1 - (1-u)^factor.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.interpolate import CubicSpline
from scipy.optimize import brentq, minimize, minimize_scalar
from scipy.special import expit, logit, logsumexp, xlog1py, xlogy

from latentbits.models.royle_nichols import CEILING, abundance_of, history_log_likelihood

BOUNDS = (0.005, 0.995)
"""Where r is looked for. At both ends the likelihood tends to a limit: one visit sees all, or abundance has none."""

LEAST = 1e-9
"""A species that was seen had this chance at least, whatever the model says."""

_LOWEST, _HIGHEST = (float(logit(bound)) for bound in BOUNDS)
_KNOTS = np.linspace(_LOWEST, _HIGHEST, 25)
_LOG_ODDS = np.linspace(_LOWEST, _HIGHEST, 121)
_GRID = expit(_LOG_ODDS)
_STRENGTHS = (1.0, 300.0)
"""Of the prior. Sharper ones are not resolved by the grid, and are as good as a common rate."""

Floats = NDArray[np.float64]


class SeenCells(NamedTuple):
    """The cells that say something about r, one entry each.

    Attributes
    ----------
    u : float array
        Probability of being seen on any of the visits.
    n_seen, n_visits : float array
        Visits that saw the species, at least 1, and visits made, at least 2.
    weight : float array
        How often the cell counts.
    column : int array
        Its species.
    """

    u: Floats
    n_seen: Floats
    n_visits: Floats
    weight: Floats
    column: NDArray[np.intp]

    @classmethod
    def of(cls, u: Floats, n_seen: NDArray[np.int_], n_visits: NDArray[np.int_], row_weight: Floats) -> SeenCells:
        """Choose them from N x D tables; rows of weight 0 are left out."""
        rows, columns = np.nonzero((n_seen > 0) & (n_visits > 1) & (row_weight[:, None] > 0))
        at = rows, columns
        return cls(
            np.maximum(u[at], LEAST), n_seen[at].astype(float), n_visits[at].astype(float), row_weight[rows], columns
        )

    def log_likelihoods(self, rate: float) -> Floats:
        """Of each cell's history at the rate, u being fixed."""
        lam = abundance_of(self.u, self.n_visits, rate)
        return self.weight * history_log_likelihood(lam, self.n_seen, self.n_visits, rate)


class Rate(NamedTuple):
    """A maximum likelihood estimate, and its standard error by the curvature (infinite where there is none)."""

    value: float
    standard_error: float

    @property
    def at_the_edge(self) -> bool:
        """Whether the likelihood rises to the end of what is allowed."""
        low, high = BOUNDS
        return min(self.value - low, high - self.value) < 1e-4


def common_rate(cells: SeenCells) -> Rate:
    """The rate under which all histories are most probable.

    Parameters
    ----------
    cells : SeenCells
        At least one.

    Returns
    -------
    Rate
        Between the `BOUNDS`.
    """

    def objective(rate: float) -> float:
        return float(cells.log_likelihoods(rate).sum())

    found = minimize_scalar(lambda r: -objective(r), bounds=BOUNDS, method="bounded", options={"xatol": 1e-6})
    rate = float(found.x)
    step = 0.02 * min(rate, 1 - rate)
    curvature = (2 * objective(rate) - objective(rate + step) - objective(rate - step)) / step**2
    return Rate(rate, 1 / math.sqrt(curvature) if curvature > 0 else math.inf)


class SpeciesRates(NamedTuple):
    """A rate for each species.

    Attributes
    ----------
    values : float array of shape (D,)
        Posterior means.
    mean, strength : float
        Of their Beta prior: alpha = mean * strength, beta = (1 - mean) * strength.
    """

    values: Floats
    mean: float
    strength: float


def rates_of_species(cells: SeenCells, n_columns: int, start: float) -> SpeciesRates:
    """A rate for each species, drawn towards those of the others (empirical Bayes).

    The rates have a Beta prior, whose mean and strength make all histories most probable, the species' rates being
    summed over on a grid. A species with few sightings gets about the prior's mean.

    Parameters
    ----------
    cells : SeenCells
        At least one.
    n_columns : int
        How many species there are, those never seen among them.
    start : float
        The common rate.

    Returns
    -------
    SpeciesRates
        Each within the `BOUNDS`.
    """
    at_knots = [np.bincount(cells.column, cells.log_likelihoods(r), n_columns) for r in expit(_KNOTS)]
    likelihood = CubicSpline(_KNOTS, at_knots)(_LOG_ODDS)  # it is smooth there, and costly

    def negative(parameters: Floats) -> float:
        prior = _log_prior(expit(parameters[0]), np.exp(parameters[1]))
        return -float(logsumexp(likelihood + prior[:, None], axis=0).sum())

    bounds = [(_LOWEST, _HIGHEST), tuple(np.log(_STRENGTHS))]
    found = minimize(negative, [logit(start), np.log(10.0)], method="L-BFGS-B", bounds=bounds)
    mean, strength = float(expit(found.x[0])), float(np.exp(found.x[1]))
    posterior = likelihood + _log_prior(mean, strength)[:, None]
    posterior = np.exp(posterior - logsumexp(posterior, axis=0))
    return SpeciesRates(_GRID @ posterior, mean, strength)


def _log_prior(mean: float, strength: float) -> Floats:
    """The Beta prior on the grid, which is even in log-odds: their density has one more factor r (1 - r)."""
    log_density = xlogy(mean * strength, _GRID) + xlog1py((1 - mean) * strength, -_GRID)
    return np.asarray(log_density - logsumexp(log_density))


# ---- rows with different numbers of visits -----------------------------------------------------------------------

PRIOR_SIGHTINGS = 10.0
"""Sightings, as many as expected, that are added to those of each number of visits: a few rows shouldn't decide."""


def effort_of(n_visits: NDArray[np.int_], typical: float) -> Floats:
    """The number of visits that a prediction for a cell is about.

    Parameters
    ----------
    n_visits : int array of shape (N, D)
        Visits made.
    typical : float
        For rows without any.

    Returns
    -------
    float array of shape (N, D)
        Visits made; where none was, as many as the row's other cells have on average.
    """
    made = n_visits > 0
    of_row = n_visits.sum(axis=1) / np.maximum(made.sum(axis=1), 1)
    of_row[of_row == 0] = typical
    return np.where(made, n_visits, of_row[:, None])


def effort_table(u: Floats, seen: NDArray[np.bool_], n_visits: NDArray[np.int_], row_weight: Floats) -> pd.DataFrame:
    """What was seen and predicted at each number of visits, and the factor between them.

    Parameters
    ----------
    u : float array of shape (N, D)
        Predicted probability of having been seen.
    seen : bool array of shape (N, D)
        Whether it was.
    n_visits : int array of shape (N, D)
        Visits made; cells without any are passed over.
    row_weight : float array of shape (N,)
        How often each row counts.

    Returns
    -------
    DataFrame
        With the columns n_visits, cells, seen, predicted and factor; a row for each number of visits.
    """
    weight = np.broadcast_to(row_weight[:, None], u.shape)
    lines = []
    for n in np.unique(n_visits[(n_visits > 0) & (weight > 0)]).tolist():
        here = n_visits == n
        counts, observed = weight[here], float(weight[here] @ seen[here])
        log_unseen = np.log1p(-np.clip(u[here], 0.0, CEILING))
        factor = _factor(log_unseen, counts, observed)
        lines.append((n, float(counts.sum()), observed, float(-(counts @ np.expm1(log_unseen))), factor))
    return pd.DataFrame(lines, columns=["n_visits", "cells", "seen", "predicted", "factor"])


def _factor(log_unseen: Floats, weight: Floats, observed: float) -> float:
    """The only c at which the expected sightings, and c * 10, are as many as those observed, and 10."""

    def excess(factor: float) -> float:
        return float(-(weight @ np.expm1(factor * log_unseen))) + PRIOR_SIGHTINGS * (factor - 1) - observed

    return float(brentq(excess, 0.0, 1 + observed / PRIOR_SIGHTINGS))


def balanced(u: Floats, effort: Floats, table: pd.DataFrame) -> Floats:
    """Predictions corrected by the factors.

    Parameters
    ----------
    u : float array of shape (N, D)
        Predicted probability of having been seen.
    effort : float array of shape (N, D)
        The number of visits that it is about.
    table : DataFrame
        Of `effort_table`; between its numbers of visits factors are interpolated, beyond them they stay the same.

    Returns
    -------
    float array of shape (N, D)
        Probabilities.
    """
    factor = np.interp(effort, table["n_visits"], table["factor"])
    result: Floats = -np.expm1(factor * np.log1p(-np.clip(u, 0.0, CEILING)))
    return result
