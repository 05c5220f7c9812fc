"""A fitted model and rows as one object: the rows' coordinates are solved for once, and every answer uses them."""

from __future__ import annotations

import threading
import weakref
from collections import OrderedDict
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, TypeVar

import joblib
import numpy as np
from sklearn.exceptions import ConvergenceWarning

from latentbits.data.binary_data import BinaryData
from latentbits.errors import warn_user
from latentbits.fitting.workers import Workers, n_workers

if TYPE_CHECKING:
    from latentbits.models.factor_model import FactorModel

Value = TypeVar("Value")

LARGEST_GAP = 1e-4
"""The log-likelihood per cell that a row may lack before it is warned of: the geometric mean of its cells'
probabilities is then within 0.01 % of the best, which no printed digit shows. Fits of real data stay below 1e-9, and
components that are equal but for rounding below 5e-5, where the ridge of Newton's method ends it."""

MOST_BYTES, MOST_SOLUTIONS = 64 << 20, 64
"""What is kept for a model, at most; the oldest go first."""

FEW_ROWS = 8
"""So few rows are solved for anew: looking for them would cost as much."""


class Solution(NamedTuple):
    """Coordinates of rows, and a certificate.

    Attributes
    ----------
    coordinates : ndarray of shape (n_rows, n_components)
    gap : ndarray of shape (n_rows,), or None
        What each row could still gain in the solver's objective per observed cell, at most; None where the solver is in
        closed form or gives no certificate.
    """

    coordinates: np.ndarray
    gap: np.ndarray | None = None

    @property
    def n_bytes(self) -> int:
        """Memory that it takes."""
        return self.coordinates.nbytes + (0 if self.gap is None else self.gap.nbytes)


RowSolver = Callable[..., Solution]
"""(data, workers=...) -> solution, each row on its own. A `partial` of a module's function, whose arguments are all
that the answer depends on beside the data: so they can serve as a key."""


class lazy(Generic[Value]):
    """A property that is computed once for an object. (Before Python 3.12, functools' holds a lock for all objects.)"""

    def __init__(self, compute: Callable[[Any], Value]) -> None:
        self._compute = compute
        self.__doc__ = compute.__doc__

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    def __get__(self, instance: Any, owner: type | None = None) -> Value:
        value = instance.__dict__[self._name] = self._compute(instance)
        return value


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

    @lazy
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

    @lazy
    def weights(self) -> np.ndarray:
        """The coordinates as `transform` gives them; read-only."""
        return self.model._as_weights(self.coordinates)

    @lazy
    def log_likelihood(self) -> float:
        """Log-likelihood of all observed cells."""
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
        """Whether the model was fitted to these rows; if it has no checksum of them, as far as their weights show.

        Models of earlier versions have none, nor those that were fitted on a cluster.
        """
        if self.model.data_checksum_ is not None:
            return self.model.data_checksum_ == self.model._checksum(self.data)
        fitted = self.model.weights_
        return self.weights.shape == fitted.shape and np.allclose(self.weights, fitted, atol=1e-6)


class _Solutions(OrderedDict[tuple[str, str], Any]):
    """The latest answers of one model, and how much memory they take."""

    def keep(self, key: tuple[str, str], answer: Any) -> None:
        self[key] = answer
        self.move_to_end(key)
        while len(self) > MOST_SOLUTIONS or sum(getattr(kept, "n_bytes", 0) for kept in self.values()) > MOST_BYTES:
            self.popitem(last=False)


# Not an attribute of the model: asking must not change an estimator (scikit-learn checks it), and copies and files of
# a model shouldn't carry this along. By identity: a subclass may define equality, and then can't be hashed.
_SOLUTIONS: dict[int, _Solutions] = {}
_LOCK = threading.RLock()
_UNKNOWN = object()


def _solutions_of(model: FactorModel) -> _Solutions:
    known = _SOLUTIONS.get(id(model))
    if known is None:
        known = _SOLUTIONS[id(model)] = _Solutions()
        weakref.finalize(model, _SOLUTIONS.pop, id(model), None)
    return known


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
    if model._solves_in_closed_form or data.shape[0] <= FEW_ROWS or not isinstance(data, BinaryData):
        solution = _solve_anew(model, data, solver)
        _warn_unsolved(solution.gap)
        return solution
    solution = _remembered(model, data, _fingerprint(solver), lambda: _solve_anew(model, data, solver))
    _warn_unsolved(solution.gap)
    return solution


def remembered(model: FactorModel, data: BinaryData, what: str, compute: Callable[[], Value]) -> Value:
    """Another answer that takes long, computed once for the cells, the model's row solver and its parameters."""
    made_by = _fingerprint(model._row_solver()), joblib.hash(model.get_params())
    return _remembered(model, data, " ".join((what, *made_by)), compute)


def _remembered(model: FactorModel, data: BinaryData, what: str, compute: Callable[[], Value]) -> Value:
    key = data.fingerprint(), what
    with _LOCK:
        known = _solutions_of(model)
        kept: Any = known.get(key, _UNKNOWN)
    answer: Value = compute() if kept is _UNKNOWN else kept
    with _LOCK:
        known.keep(key, answer)
    return answer


def _solve_anew(model: FactorModel, data: BinaryData, solver: RowSolver) -> Solution:
    with Workers(n_workers(model.n_jobs)) as workers:
        solution = solver(data, workers=workers)
    solution.coordinates.flags.writeable = False
    return solution


def _warn_unsolved(gap: np.ndarray | None) -> None:
    short = 0 if gap is None else int(np.count_nonzero(gap > LARGEST_GAP))
    if gap is not None and short:
        warn_user(
            f"the weights of {short} of {len(gap)} rows are not solved to the end, and up to {gap.max():.1g} of log "
            "likelihood per observed cell is left to gain; components that are nearly alike are the usual cause, so "
            "try fewer of them (n_components)",
            ConvergenceWarning,
        )


def _fingerprint(solver: RowSolver) -> str:
    if not isinstance(solver, partial):
        raise TypeError("a row solver must be a functools.partial of a module's function with all that it depends on")
    function = solver.func
    return str(joblib.hash((function.__module__, function.__qualname__, solver.args, solver.keywords)))
