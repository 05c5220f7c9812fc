"""Rows with different numbers of visits: how far a model of what was ever seen has followed them, and the rest of it.

Such a model doesn't know the visits. Of a row with few of them it sees few ones, and may follow (as if the site were
poor) or not (as if it were like the others, so that it predicts too much for that number of visits). What it predicts
for all cells of n visits is compared with what was seen there, and the expected number of individuals corrected by
a factor for each n: u becomes 1 - (1-u)^factor.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.optimize import brentq

from latentbits.models.royle_nichols import CEILING

__all__ = ["balanced", "effort_of", "effort_table"]

PRIOR_SIGHTINGS = 10.0
"""Sightings, as many as expected, that are added to those of each number of visits: a few rows shouldn't decide."""

Floats = NDArray[np.float64]


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
