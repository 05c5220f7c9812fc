"""How the members' predictions become one, a weighted sum of log odds, and how good it is on held-out cells.

With l_ijk the log odds of a 1 in cell ij by member k, the ensemble's are a + sum_k w_k l_ijk, w_k >= 0. Maximised over
a and w is the log likelihood of held-out cells, each predicted by fits that didn't see it, less

    strength K / 2 sum_k (w_k - 1/K)^2:

a prior that holds the weights of K members together unless the cells tell them apart. It is concave.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from scipy.optimize import minimize
from scipy.special import expit
from sklearn.metrics import roc_auc_score

from latentbits.fitting.held_out import HiddenCells, gain_over, log_odds
from latentbits.metrics import calibration_table
from latentbits.models.false_zeros.members import HeldOut

STRENGTH = 100.0
"""Of the pull towards equal weights: as much as some hundreds of cells know."""

LARGEST_INTERCEPT = 3.0


class Stack(NamedTuple):
    """The ensemble's log odds are intercept + weights . (log odds of the members)."""

    intercept: float
    weights: np.ndarray

    def combine(self, odds: Sequence[np.ndarray]) -> np.ndarray:
        """The ensemble's log odds from those of the members, one array each."""
        total = np.full(odds[0].shape, self.intercept)
        for weight, part in zip(self.weights, odds, strict=True):
            total += weight * part
        return total


class Line(NamedTuple):
    """Log odds that are a linear function of others: intercept + slope x, slope >= 0."""

    intercept: float
    slope: float

    def __call__(self, x: np.ndarray) -> np.ndarray:
        return self.intercept + self.slope * x


def equal_stack(n_members: int) -> Stack:
    """The mean of the members' log odds."""
    return Stack(0.0, np.full(n_members, 1 / n_members))


def fit_stack(odds: np.ndarray, x: np.ndarray, cell_weight: np.ndarray, strength: float = STRENGTH) -> Stack:
    """Weights of the members from hidden cells.

    Parameters
    ----------
    odds : ndarray of shape (n_cells, n_members)
        Log odds by fits that didn't see the cell.
    x : ndarray of shape (n_cells,)
        The cells, 0 or 1.
    cell_weight : ndarray of shape (n_cells,)
        How often each counts.
    strength : float
        Of the pull towards equal weights.

    Returns
    -------
    Stack
    """
    K = odds.shape[1]
    start = equal_stack(K)

    def loss(theta: np.ndarray) -> tuple[float, np.ndarray]:
        eta, apart = theta[0] + odds @ theta[1:], theta[1:] - start.weights
        residual = cell_weight * (x - expit(eta))
        value = cell_weight @ (np.logaddexp(0.0, eta) - x * eta) + strength * K / 2 * (apart @ apart)
        return float(value), -np.concatenate([[residual.sum()], odds.T @ residual - strength * K * apart])

    bounds = [(-LARGEST_INTERCEPT, LARGEST_INTERCEPT)] + [(0.0, None)] * K
    found = minimize(loss, [start.intercept, *start.weights], jac=True, bounds=bounds, method="L-BFGS-B")
    return Stack(float(found.x[0]), found.x[1:])


def cross_fitted(odds: np.ndarray, x: np.ndarray, cell_weight: np.ndarray, fold: np.ndarray) -> np.ndarray:
    """The ensemble's log odds of hidden cells, with weights learned on the other folds: what can be expected of it."""
    out = np.empty(len(x))
    for number in np.unique(fold):
        inside = fold == number
        stack = fit_stack(odds[~inside], x[~inside], cell_weight[~inside])
        out[inside] = stack.combine(list(odds[inside].T))
    return out


def fit_line(x: np.ndarray, target: np.ndarray, cell_weight: np.ndarray) -> Line:
    """The line of log odds over x whose probabilities are nearest to those of `target` in cross entropy.

    So the mean probability equals that of the target; without cells to tell it is x itself.
    """
    p = expit(target)

    def loss(theta: np.ndarray) -> tuple[float, np.ndarray]:
        eta = theta[0] + theta[1] * x
        residual = cell_weight * (p - expit(eta))
        value = cell_weight @ (np.logaddexp(0.0, eta) - p * eta)
        return float(value), -np.array([residual.sum(), residual @ x])

    if len(x) < 2 or np.ptp(x) == 0:
        return Line(0.0, 1.0)
    found = minimize(loss, [0.0, 1.0], jac=True, bounds=[(None, None), (0.0, None)], method="L-BFGS-B")
    return Line(float(found.x[0]), float(found.x[1]))


# ---- how good an ensemble is on held-out cells -------------------------------------------------------------------


class HeldOutScores(NamedTuple):
    """What `FalseZeros` keeps as n_hidden_, held_out_, member_scores_, gains_ and auc_."""

    n_cells: int
    reliability: pd.DataFrame
    members: pd.DataFrame
    gains: dict[str, dict[str, Any]]
    auc: dict[str, float]


def score(held_out: HeldOut, cells: HiddenCells, predicted: np.ndarray, weights: Mapping[str, float]) -> HeldOutScores:
    """Scores of the ensemble, which predicted the hidden cells so, of its members and of the baselines."""
    baselines = held_out.by_baselines
    lines = [*zip(weights, weights.values(), held_out.by_members, strict=True), ("ensemble", 1.0, predicted)]
    members = pd.DataFrame(
        [(name, float(weight), _log_likelihood(cells.x, p), _auc(cells.x, p)) for name, weight, p in lines],
        columns=["member", "weight", "log_likelihood", "auc"],
    )
    return HeldOutScores(
        len(cells.x),
        calibration_table(cells.x.astype(float), predicted),
        members,
        {name: asdict(gain_over(cells, predicted, p)) for name, p in baselines.items()},
        {name: _auc(cells.x, p) for name, p in {"model": predicted, **baselines}.items()},
    )


def _auc(x: np.ndarray, p: np.ndarray) -> float:
    return float(roc_auc_score(x, p))


def _log_likelihood(x: np.ndarray, p: np.ndarray) -> float:
    odds = log_odds(p)
    return float(np.mean(x * odds - np.logaddexp(0.0, odds)))
