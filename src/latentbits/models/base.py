"""Base classes of all estimators: parameters, restarts, and validation of 0-1 input."""

from __future__ import annotations

import warnings
from abc import ABC
from collections.abc import Callable
from dataclasses import replace
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted, validate_data

from latentbits.data.binary_data import BinaryData
from latentbits.data.marks import Marks
from latentbits.data.messages import Origin, check_column_names, quoted
from latentbits.errors import DataError, DegenerateDataWarning, warn_user
from latentbits.fitting.cluster import ClusterData
from latentbits.fitting.restarts import Restart, Runner, Schedule, best_of
from latentbits.fitting.workers import n_workers
from latentbits.models.abilities import WITH_RESTARTS, ZERO_ONE_DATA
from latentbits.models.spec import spec_of
from latentbits.models.view import ShownModel
from latentbits.numerics import RandomSource, as_generator
from latentbits.storage.checkpoints import ProblemCheckpoints
from latentbits.wording import counted, place

if TYPE_CHECKING:
    from latentbits.report import Report


LARGEST = 1e40
"""Of numbers; and no column may vary by less than its inverse: so variances, precisions and their products exist."""

ROUNDING = 1e-12
"""A column that varies by no more than this part of its size is constant."""


class Renamed:
    """The old name of a fitted attribute or method: ``bias_ = Renamed("intercepts_")``; or of what `value` makes."""

    def __init__(self, new: str, value: Callable[[Any], Any] | None = None) -> None:
        self.new = new
        self.value = attrgetter(new) if value is None else value

    def __set_name__(self, owner: type, name: str) -> None:
        self.old = name

    def __get__(self, instance: Any, owner: type) -> Any:
        if instance is None:
            return self
        value = self.value(instance)
        warn_user(
            f"{owner.__name__}.{self.old} is now {self.new}; the old name goes with the next version", FutureWarning
        )
        return value


class Model(ShownModel, ABC):
    """An estimator whose parameters are validated by its record (`ModelSpec`)."""

    def _check_parameters(self) -> None:
        """Refuse parameters outside their ranges. To be called from `fit`."""
        spec = spec_of(type(self))
        if spec is not None:  # a class of the user's own validates its parameters itself
            spec.check({name: getattr(self, name) for name in spec.parameters if hasattr(self, name)})

    def report(
        self, X: Any, path: str | Path | None = None, *, shape: tuple[int, int] | None = None, **fit_params: Any
    ) -> Report:
        """Make a page of what the model says about X: one HTML file for any browser, without a network.

        Parameters
        ----------
        X : array, SciPy sparse, data frame or BinaryData
            The data that the model was fitted to, or new rows.
        path : str, Path or None, default=None
            Where to write; an existing file is replaced. None writes nothing: a notebook shows what is returned.
        shape : (int, int), optional
            Rows and columns of the image that the attributes form, if they are pixels.
        **fit_params
            What `fit` was given beside the data, such as `segments`; for `FalseZeros` what is asked of it, such as
            `rate` or `revisits`.

        Returns
        -------
        Report
            The page: shown inside a notebook, opened in a browser with ``.open()``, written with ``.save(path)``.
        """
        from latentbits.report import report_on

        check_is_fitted(self)
        page = report_on(self, X, shape=shape, **fit_params)
        if path is not None:
            page.save(path)
        return page


class RestartedModel(Model):
    """An estimator that is fitted from several random starts, the best of which is kept."""

    _abilities = WITH_RESTARTS
    n_init: int
    max_iter: int
    tol: float
    random_state: RandomSource
    n_jobs: int | None
    verbose: int

    @property
    def _if_interrupted(self) -> str:
        """What is left of so many runs after Ctrl-C."""
        return Schedule.if_interrupted

    def _best_run(
        self,
        make_runner: Callable[..., Runner[Any]],
        n_cells: float,
        keep: Callable[[Any], Any] = lambda state: None,
        rng: np.random.Generator | None = None,
        checkpoints: ProblemCheckpoints | None = None,
        n_threads: int | None = None,
        n_init: int | None = None,
    ) -> tuple[Restart[Any], list[Restart[Any]]]:
        """All restarts on `n_jobs` threads; `tol` is per cell of `n_cells`. To be called from `fit`.

        `n_threads` and `n_init` stand in for the estimator's own. Their seeds come from `random_state`, or from `rng`.
        """
        length = n_init or self.n_init, self.max_iter, self.tol, n_cells
        fixed = self.random_state is not None
        schedule = Schedule(*length, bool(self.verbose), self._if_interrupted, checkpoints, fixed)
        rng = as_generator(self.random_state) if rng is None else rng
        return best_of(make_runner, schedule, rng, n_threads or n_workers(self.n_jobs), keep)

    def _adopt_run(self, best: Restart[Any], runs: list[Restart[Any]]) -> None:
        """Set what every fitted model tells about its restarts, and warn. To be called from `fit`."""
        self._record_runs(best, runs)
        if self._ran_out(best):
            warnings.warn(
                f"the best restart made all max_iter={self.max_iter} passes without converging; raise max_iter, or tol",
                ConvergenceWarning,
                stacklevel=3,
            )

    def _record_runs(self, best: Restart[Any], runs: list[Restart[Any]]) -> None:
        self.objective_ = best.objective
        self.objective_history_ = np.array(best.history)
        self.n_iter_ = best.n_iter
        self.converged_ = best.converged
        self.restarts_ = pd.DataFrame(
            [(run.seed, run.objective, run.n_iter, run.converged) for run in runs],
            columns=["seed", "objective", "n_iter", "converged"],
        )
        self.restart_histories_ = [np.array(run.history) for run in runs]

    def _numbers_of(self, X: Any, *, reset: bool) -> np.ndarray:
        """Rows of numbers, NaN where a cell is missing; columns of a data frame have names, all different."""
        if hasattr(X, "columns"):
            check_column_names(X.columns, Origin())
        numbers: np.ndarray = validate_data(self, X, reset=reset, dtype=np.float64, order="C", ensure_all_finite=False)
        self._check_sizes(numbers)
        if reset:
            self._check_spread(numbers)
        return numbers

    def _check_sizes(self, numbers: np.ndarray) -> None:
        """Refuse infinity, and numbers whose squares couldn't be used."""
        size = np.abs(numbers)
        if np.nanmax(size, initial=0.0) <= LARGEST:
            return
        i, j = (int(at) for at in np.argwhere(size > LARGEST)[0])
        if np.isinf(numbers[i, j]):
            raise DataError(
                f"X[{i}, {j}] is {numbers[i, j]}, but {type(self).__name__} takes finite numbers, no infinity; "
                "make such cells NaN, which is missing, or leave their rows out"
            )
        raise DataError(f"X[{i}, {j}] is {numbers[i, j]:g}, more than {LARGEST:g}; give the column in a larger unit")

    def _check_spread(self, numbers: np.ndarray) -> None:
        """Refuse columns without a value, and those that vary by so little that squares of it couldn't be used."""
        if (empty := np.flatnonzero(np.isnan(numbers).all(axis=0))).size:
            raise DataError(f"{self._column(int(empty[0]))} has no value at all; leave it out")
        spread = np.nanmax(numbers, axis=0) - np.nanmin(numbers, axis=0)
        rounding = spread <= ROUNDING * np.nanmax(np.abs(numbers), axis=0)
        if (tiny := np.flatnonzero(~rounding & (spread < 1 / LARGEST))).size:
            j = int(tiny[0])
            raise DataError(
                f"{self._column(j)} varies by no more than {spread[j]:g}, less than {1 / LARGEST:g}; give it in a "
                "smaller unit"
            )

    def _column(self, j: int) -> str:
        names = getattr(self, "feature_names_in_", None)
        return place("column", j) if names is None else f"column {names[j]}"

    def _ran_out(self, run: Restart[Any]) -> bool:
        """Whether a run made all its passes without converging; not if it was interrupted."""
        return run.n_iter >= self.max_iter and not run.converged


class BinaryModel(Model):
    """An estimator of 0-1 data: X is validated by `BinaryData`, its columns are checked against those of the fit."""

    _abilities = ZERO_ONE_DATA
    binarize: float | None

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.sparse = True
        return tags

    def _data(self, X: Any, *, reset: bool = False) -> Any:
        """X validated, its columns checked against those of the fit; with `reset` they become those of the fit."""
        data: Any = X if isinstance(X, BinaryData | ClusterData) else BinaryData.of(X, binarize=self.binarize)
        if reset:
            check_learnable(data, getattr(self, "n_components", None))
        if data is X or data.packed is not None:
            self._check_columns(data, reset=reset)
        else:
            validate_data(self, X if hasattr(X, "shape") else data.dense(), reset=reset, skip_check_array=True)
        if reset:
            self.reading_ = data.reading
        return data

    def _checksum(self, data: Any) -> str | None:
        """Of the cells and the model's own names of columns; None for rows on a cluster, which aren't read for it."""
        if isinstance(data, ClusterData):
            return None
        return replace(data, column_names=self._column_names()).fingerprint()

    def _marked(self, X: Any, marks: Any) -> BinaryData:
        """X validated, with an analyst's marks of its cells: these are about the answers, and change no weight."""
        data = self._data(X)
        if marks is None:
            return data
        placed = Marks.of(marks).placed_in(data, self._column_names())
        return replace(data, marks=placed if data.marks is None else data.marks.updated(placed))

    def _check_columns(self, data: BinaryData | ClusterData, *, reset: bool) -> None:
        names = None if data.column_names is None else np.array(data.column_names, dtype=object)
        if reset:
            self.n_features_in_ = data.shape[1]
            self.__dict__.pop("feature_names_in_", None)
            if names is not None:
                self.feature_names_in_ = names
            return
        fitted = getattr(self, "feature_names_in_", None)
        if data.shape[1] != self.n_features_in_:
            raise DataError(
                f"X has {data.shape[1]} features, but {type(self).__name__} is expecting "
                f"{self.n_features_in_} features as input; give the columns that the model was fitted on"
            )
        if names is not None and fitted is not None and not np.array_equal(names, fitted):
            first = next(j for j, pair in enumerate(zip(names, fitted, strict=True)) if pair[0] != pair[1])
            raise DataError(
                f'{place("column", first)} is "{names[first]}" but the model was fitted with "{fitted[first]}" there; '
                "put the columns into the order of the fit"
            )

    def _column_names(self) -> list[str] | None:
        names = getattr(self, "feature_names_in_", None)
        return None if names is None else [str(name) for name in names]


def check_estimator(model: Any) -> None:
    """Refuse what isn't an estimator."""
    if not isinstance(model, BaseEstimator):
        raise DataError(f"{model!r} is not an estimator; give one such as AspectBernoulli(3)")


def check_learnable(data: BinaryData, n_components: int | None) -> None:
    """Refuse a table without an observed cell; warn if it leaves nothing to learn, or fewer components than these."""
    if data.n_observed == 0:
        raise DataError(f"all {data.shape[0]} x {data.shape[1]} cells are missing; give a table with a 0 or a 1")
    reason = degeneracy(data, n_components)
    if reason:
        warn_user(reason, DegenerateDataWarning)


# ---- tables that leave nothing to learn --------------------------------------------------------------------------


def degeneracy(data: BinaryData, n_components: int | None) -> str:
    """Why a model of this table says little or nothing, in one sentence; empty if there is no such reason.

    Constant columns alone are no reason: they are usual (border pixels, species that a region lacks) and do no harm.
    """
    ones, seen = data.ones_per_column(), data.observed_per_column()
    varying = np.flatnonzero((ones > 0) & (ones < seen))
    if len(varying) == 0:
        return _without_variation(data)
    if len(varying) == 1:
        name = data.column_names[varying[0]] if data.column_names else None
        which = place("column", int(varying[0])) if name is None else f"the column {quoted(name)}"
        return f"only {which} has both a 0 and a 1, so no columns can go together; give a table with more such columns"
    most = min(data.shape[0], len(varying))
    if n_components is not None and n_components > most:
        few_rows = most == data.shape[0]
        what = counted(most, "row") if few_rows else f"{counted(most, 'column')} that have both a 0 and a 1"
        return (
            f"n_components={n_components} (--components) is more than the {what}, so some components are copies or "
            f"accidents; use at most {most}"
        )
    return ""


def _without_variation(data: BinaryData) -> str:
    cells = counted(data.n_observed, "observed cell")
    if data.n_ones in (0, data.n_observed):
        value = int(data.n_ones > 0)
        which = f"all {cells} are {value}" if data.n_observed > 1 else f"the only observed cell is {value}"
        return f"{which}, so there is nothing to learn; check how the data were read, or give a table with 0 and 1"
    if data.shape[0] == 1:
        return "the table has one row, so nothing tells which columns go together; give more rows"
    return "all rows are alike: no column has both a 0 and a 1, so there is nothing to learn; give rows that differ"
