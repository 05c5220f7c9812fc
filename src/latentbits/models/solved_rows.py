"""A fitted model and rows as one object: the rows' coordinates are solved for once, and every answer uses them."""

from __future__ import annotations

import threading
import warnings
from collections import OrderedDict
from collections.abc import Callable
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, NamedTuple
from weakref import WeakKeyDictionary

import joblib
import numpy as np
from sklearn.exceptions import ConvergenceWarning

from latentbits.data.binary_data import BinaryData
from latentbits.fitting.workers import Workers, n_workers

if TYPE_CHECKING:
    from latentbits.models.factor_model import FactorModel

__all__ = ["RowSolver", "Solution", "SolvedRows", "solve"]

LARGEST_GAP = 1e-4
"""The log likelihood per cell that a row may lack before it is warned of: the geometric mean of its cells'
probabilities is then within 0.01 % of the best, which no shown digit tells. Fits of real data stay below 1e-9, and
components that are equal but for rounding below 5e-5, where the ridge of Newton's method ends it."""

MOST_BYTES = 64 << 20
"""Solutions kept for a model, at most; the oldest go first."""


class Solution(NamedTuple):
    """Coordinates of rows, and a certificate.

    Attributes
    ----------
    coordinates : ndarray of shape (n_rows, n_components)
    gap : ndarray of shape (n_rows,), or None
        What each row could still gain in the solver's objective per observed cell, at most; None where the solver is
        in closed form or can't tell.
    """

    coordinates: np.ndarray
    gap: np.ndarray | None = None


RowSolver = Callable[..., Solution]
"""(data, workers=...) -> solution, each row on its own. A `partial` of a module's function, whose arguments are all
that the answer depends on beside the data: so they can serve as a key."""


class SolvedRows:
    """A fitted model and rows, with what can be asked of the two together.

    Parameters
    ----------
    model : FactorModel
        Fitted.
    data : BinaryData
        Rows with the model's columns.
    """

    def __init__(self, model: FactorModel, data: BinaryData) -> None:
        self.model = model
        self.data = data

    @cached_property
    def _solution(self) -> Solution:
        return solve(self.model, self.data, self.model._row_solver())

    @property
    def coordinates(self) -> np.ndarray:
        """What the model's probabilities are made from, n_rows x n_components; read-only."""
        return self._solution.coordinates

    @property
    def gap(self) -> float | None:
        """What a row could still gain by better weights per observed cell, at most; None without a certificate."""
        gap = self._solution.gap
        return None if gap is None else float(gap.max(initial=0.0))

    @cached_property
    def weights(self) -> np.ndarray:
        """The coordinates as `transform` gives them; read-only."""
        return self.model._as_weights(self.coordinates)

    @cached_property
    def log_likelihood(self) -> float:
        """Log likelihood of all observed cells."""
        return self.model._log_likelihood(self)

    def reconstruct(self) -> np.ndarray:
        """The probability of a 1 in each cell."""
        return self.model._probabilities(self.coordinates)

    def aic(self) -> float:
        """Akaike's criterion."""
        return 2 * self.model._n_parameters(self.data.shape[0]) - 2 * self.log_likelihood

    def bic(self) -> float:
        """Schwarz' criterion."""
        n_parameters = self.model._n_parameters(self.data.shape[0])
        n_observations = max(self.model._n_observations(self.data), 1)
        return float(np.log(n_observations) * n_parameters - 2 * self.log_likelihood)

    def are_training_rows(self) -> bool:
        """Whether the model was fitted to these rows, as far as their weights tell."""
        fitted = self.model.weights_
        return self.weights.shape == fitted.shape and np.allclose(self.weights, fitted, atol=1e-6)


class _Solutions(OrderedDict[tuple[str, str], Solution]):
    """The latest solutions of one model."""

    def keep(self, key: tuple[str, str], solution: Solution) -> None:
        self[key] = solution
        while sum(kept.coordinates.nbytes for kept in self.values()) > MOST_BYTES:
            self.popitem(last=False)


# Not an attribute of the model: asking must not change an estimator (scikit-learn checks it), and copies and files of
# a model shouldn't carry this along.
_SOLUTIONS: WeakKeyDictionary[Any, _Solutions] = WeakKeyDictionary()
_LOCK = threading.Lock()


def solve(model: FactorModel, data: BinaryData, solver: RowSolver) -> Solution:
    """The solution of rows, found once as long as it is among the model's latest; read-only.

    The key is made of everything that the answer depends on (the cells, and the solver with its arguments, all by
    their content), so a model that was fitted again or changed by hand, or an array that was written to, is another
    key: an answer can't be out of date.

    Parameters
    ----------
    model : FactorModel
        Whose solutions these are; they are forgotten with it.
    data : BinaryData
    solver : partial
        See `RowSolver`.

    Returns
    -------
    Solution
    """
    key = data.fingerprint(), _fingerprint(solver)
    with _LOCK:
        known = _SOLUTIONS.setdefault(model, _Solutions())
        if key in known:
            known.move_to_end(key)
            return known[key]
    with Workers(n_workers(model.n_jobs)) as workers:
        solution = solver(data, workers=workers)
    solution.coordinates.flags.writeable = False
    _warn_unsolved(solution.gap)
    with _LOCK:
        known.keep(key, solution)
    return solution


def _warn_unsolved(gap: np.ndarray | None) -> None:
    short = 0 if gap is None else int(np.count_nonzero(gap > LARGEST_GAP))
    if gap is not None and short:
        warnings.warn(
            f"the weights of {short} of {len(gap)} rows are not solved to the end, and up to {gap.max():.1g} of log "
            "likelihood per observed cell is left to gain; components that are nearly alike are the usual cause, so "
            "try fewer of them (n_components)",
            ConvergenceWarning,
            stacklevel=4,
        )


def _fingerprint(solver: RowSolver) -> str:
    assert isinstance(solver, partial)
    function = solver.func
    return str(joblib.hash((function.__module__, function.__qualname__, solver.args, solver.keywords)))
