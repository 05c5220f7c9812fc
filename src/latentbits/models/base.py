"""What estimators share, in three storeys: restarts, the door for 0-1 data, and rows x components -> probabilities."""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable
from pathlib import Path
from typing import Any, Self

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted, validate_data

from latentbits.data.binary_data import BinaryData
from latentbits.errors import DataError
from latentbits.fitting.climb import Learner
from latentbits.fitting.restarts import Restart, Runner, Schedule, best_of, climbing
from latentbits.fitting.workers import Workers, n_workers
from latentbits.models import cells
from latentbits.numerics import RandomSource, Similarity, as_generator, check_number

__all__ = ["BinaryModel", "FactorModel", "RestartedModel", "check_row_weight"]


LARGEST_WEIGHT = 1e9
"""Beyond this a row's weight drowns the digits of all others."""


class RestartedModel(BaseEstimator):
    """An estimator that is fitted from several random starts, the best of which is kept."""

    n_init: int
    max_iter: int
    tol: float
    random_state: RandomSource
    n_jobs: int | None
    verbose: int

    def _check_schedule(self) -> None:
        for name in ("n_init", "max_iter"):
            check_number(name, getattr(self, name), least=1, integer=True)
        check_number("tol", self.tol, least=0)

    def _best_run(
        self,
        make_runner: Callable[[Workers], Runner[Any]],
        n_cells: float,
        keep: Callable[[Any], Any] = lambda state: None,
    ) -> tuple[Restart[Any], list[Restart[Any]]]:
        """All restarts on `n_jobs` threads; `tol` is per cell of `n_cells`. To be called from `fit`."""
        schedule = Schedule(self.n_init, self.max_iter, self.tol, n_cells, verbose=bool(self.verbose))
        return best_of(make_runner, schedule, as_generator(self.random_state), n_workers(self.n_jobs), keep)

    def _adopt_run(self, best: Restart[Any], runs: list[Restart[Any]]) -> None:
        """Set what every fitted model tells about its restarts. To be called from `fit`."""
        self.objective_ = best.objective
        self.objective_history_ = np.array(best.history)
        self.n_iter_ = best.n_iter
        self.converged_ = best.converged
        self.restarts_ = pd.DataFrame(
            [(run.seed, run.objective, run.n_iter, run.converged) for run in runs],
            columns=["seed", "objective", "n_iter", "converged"],
        )
        self.restart_histories_ = [np.array(run.history) for run in runs]
        if best.n_iter >= self.max_iter and not best.converged:  # not when it was interrupted
            warnings.warn(
                f"the best restart made all max_iter={self.max_iter} passes without converging; raise max_iter, or tol",
                ConvergenceWarning,
                stacklevel=3,
            )

    def report(self, X: Any, path: str | Path, *, shape: tuple[int, int] | None = None, **fit_params: Any) -> None:
        """Write what the model says about X as one HTML file, to be opened in any browser, without a network.

        Parameters
        ----------
        X : the data that the model was fitted to, or new rows
        path : str or Path
            Where to write; an existing file is replaced.
        shape : (int, int), optional
            Rows and columns of the image that the attributes form, if they are pixels.
        **fit_params
            What `fit` was given beside the data, such as `segments`.
        """
        from latentbits.report import report_on

        check_is_fitted(self)
        report_on(self, X, path, shape=shape, **fit_params)


class BinaryModel(ClassNamePrefixFeaturesOutMixin, TransformerMixin, RestartedModel):
    """An estimator of 0-1 data: X comes in through the one door, with its columns checked against those of the fit."""

    binarize: float | None

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.sparse = True
        return tags

    def _data(self, X: Any, *, reset: bool = False) -> BinaryData:
        """X through the door, its columns checked against those of fit."""
        data = X if isinstance(X, BinaryData) else BinaryData.of(X, binarize=self.binarize)
        if reset and data.n_observed == 0:
            raise DataError(f"all {data.shape[0]} x {data.shape[1]} cells are missing; give a table with a 0 or a 1")
        if isinstance(X, BinaryData):
            self._check_columns(X, reset=reset)
        else:
            validate_data(self, X if hasattr(X, "shape") else data.dense(), reset=reset, skip_check_array=True)
        return data

    def _check_columns(self, data: BinaryData, *, reset: bool) -> None:
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
                f'column {first} is "{names[first]}" but the model was fitted with "{fitted[first]}" there; '
                "put the columns into the order of the fit"
            )

    def _column_names(self) -> list[str] | None:
        names = getattr(self, "feature_names_in_", None)
        return None if names is None else [str(name) for name in names]


class FactorModel(BinaryModel, ABC):
    """Rows have coordinates (`weights_`, N x K) on components (`components_`, K x D); both make probabilities of a 1.

    A subclass brings the learner, what to take over from its best state, the coordinates of new rows and, unless these
    mix the components, the probabilities. Everything that can be asked of any such model is here.
    """

    n_components: int
    components_: np.ndarray
    similarity_: Similarity = "l1"
    """How components of two fits are compared (see `match_components`); "cosine" for those with a free sign."""

    # ---- what a subclass brings ----------------------------------------------------------------------------------

    @abstractmethod
    def _learner(self, data: BinaryData, row_weight: np.ndarray, workers: Workers) -> Learner[Any]:
        """The learner that the restarts run."""

    @abstractmethod
    def _keep(self, state: Any, row_weight: np.ndarray) -> Any:
        """What is kept of every restart."""

    @abstractmethod
    def _adopt(self, best: Restart[Any], runs: list[Restart[Any]]) -> None:
        """Set `components_`, `restart_components_` and whatever new rows need."""

    @abstractmethod
    def _coordinates(self, data: BinaryData, workers: Workers) -> np.ndarray:
        """Coordinates of rows, the components fixed; each row on its own, deterministic."""

    @abstractmethod
    def _n_parameters(self, n_rows: int) -> int:
        """Free parameters, those of the rows included."""

    def _probabilities(self, W: np.ndarray) -> np.ndarray:
        """P(1) of the cells of rows with these coordinates; unless overridden, these mix the components."""
        return np.clip(W @ self.components_, 0.0, 1.0)

    def _log_probabilities(self, W: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """log P(1) and log P(0) of the cells of rows with these coordinates, both finite."""
        return cells.safe_log(W @ self.components_), cells.safe_log(W @ (1 - self.components_))

    # ---- fitting -------------------------------------------------------------------------------------------------

    def fit(self, X: Any, y: None = None, sample_weight: ArrayLike | None = None) -> Self:
        """Find the components, and the weights of the rows.

        Parameters
        ----------
        X : array, SciPy sparse, pandas or polars frame, BinaryData
            N x D, of 0, 1 and missing (NaN, None, pd.NA); anything else is refused unless `binarize` is set.
        y : ignored
        sample_weight : array-like of shape (N,), optional
            A row of weight 2 counts like two equal rows.
        """
        self._check_parameters()
        data = self._data(X, reset=True)
        row_weight = check_row_weight(sample_weight, data.shape[0])
        best, runs = self._best_run(
            climbing(lambda workers: self._learner(data, row_weight, workers)),
            n_cells=float(row_weight @ data.observed_per_row()),
            keep=lambda state: self._keep(state, row_weight),
        )
        self._adopt_run(best, runs)
        self._adopt(best, runs)
        self.row_weight_ = row_weight
        self.weights_ = self._solve(data)
        return self

    def _check_parameters(self) -> None:
        check_number("n_components", self.n_components, least=1, integer=True)
        self._check_schedule()

    def _solve(self, data: BinaryData) -> np.ndarray:
        with Workers(n_workers(self.n_jobs)) as workers:
            return self._coordinates(data, workers)

    # ---- rows and cells ------------------------------------------------------------------------------------------

    @property
    def _n_features_out(self) -> int:
        return len(self.components_)

    def fit_transform(self, X: Any, y: None = None, sample_weight: ArrayLike | None = None) -> np.ndarray:
        """Fit, and return the weights of the training rows."""
        return self.fit(X, sample_weight=sample_weight).weights_

    def transform(self, X: Any) -> np.ndarray:
        """The weights of rows (n_rows x n_components), the components fixed.

        Each row is solved for on its own, so the answer doesn't depend on the other rows, and for the training rows it
        is `weights_`.
        """
        check_is_fitted(self)
        return self._solve(self._data(X))

    def inverse_transform(self, X: ArrayLike) -> np.ndarray:
        """Probabilities of a 1 (n_rows x n_columns) for given weights."""
        check_is_fitted(self)
        W = np.asarray(X, dtype=float)
        if W.ndim != 2 or W.shape[1] != len(self.components_):
            raise DataError(
                f"weights have the shape {W.shape}; give n_rows x {len(self.components_)}, as transform returns them"
            )
        if not np.isfinite(W).all():
            raise DataError("weights must be finite, without NaN; give them as transform returns them")
        return self._probabilities(W)

    def reconstruct(self, X: Any) -> np.ndarray:
        """The probability of a 1 in each cell (n_rows x n_columns), missing cells included."""
        check_is_fitted(self)
        return self._probabilities(self._solve(self._data(X)))

    def sample(self, n_samples: int = 1, random_state: RandomSource = None) -> np.ndarray:
        """New rows (int8): weights drawn from those of the training rows, then every cell from its own probability."""
        check_is_fitted(self)
        check_number("n_samples", n_samples, least=1, integer=True)
        rng = as_generator(random_state)
        W = self._training_coordinates[rng.choice(len(self.weights_), size=n_samples, p=self._row_prior())]
        return (rng.random((n_samples, self.n_features_in_)) < self._probabilities(W)).astype(np.int8)

    @property
    def _training_coordinates(self) -> np.ndarray:
        """What `_coordinates` gives for the training rows."""
        return self.weights_

    def _row_prior(self) -> np.ndarray:
        return self.row_weight_ / self.row_weight_.sum()

    # ---- likelihood ----------------------------------------------------------------------------------------------

    def score_samples(self, X: Any) -> np.ndarray:
        """Log likelihood of each row with the held-out meaning: log mean_n p(x | weights of training row n).

        (The "empirical Bayes test likelihood": a new row's weights are drawn from those of the training rows.)
        """
        check_is_fitted(self)
        return cells.empirical_bayes(
            self._data(X), self._training_coordinates, self._log_probabilities, self._row_prior()
        )

    def score(self, X: Any, y: None = None) -> float:
        """Mean of `score_samples`."""
        return float(np.mean(self.score_samples(X)))

    def log_likelihood(self, X: Any) -> float:
        """Log likelihood of all observed cells, each row with its own best weights (for training rows `weights_`)."""
        check_is_fitted(self)
        data = self._data(X)
        return cells.log_likelihood(data, self._solve(data), self._log_probabilities)

    def aic(self, X: Any) -> float:
        """Akaike's criterion, lower is better; the rows' own weights are counted as parameters.

        Every row of X counts once, whatever the weights of the fit.
        """
        check_is_fitted(self)
        data = self._data(X)
        return 2 * self._n_parameters(data.shape[0]) - 2 * self.log_likelihood(data)

    def bic(self, X: Any) -> float:
        """Schwarz' criterion, lower is better. An observation is a cell: the parameters grow with the rows."""
        check_is_fitted(self)
        data = self._data(X)
        n_parameters = self._n_parameters(data.shape[0])
        return float(np.log(max(self._n_observations(data), 1)) * n_parameters - 2 * self.log_likelihood(data))

    def _n_observations(self, data: BinaryData) -> int:
        return data.n_observed


def check_row_weight(sample_weight: ArrayLike | None, n_rows: int, name: str = "sample_weight") -> np.ndarray:
    """Row weights as float64: all 1 by default, else finite, not negative, and not all 0."""
    if sample_weight is None:
        return np.ones(n_rows)
    weight = np.asarray(sample_weight, dtype=np.float64)
    if weight.shape != (n_rows,):
        raise ValueError(f"{name} has the shape {weight.shape}; give one weight for each of {n_rows} rows")
    if not np.all(np.isfinite(weight)) or np.any(weight < 0):
        raise ValueError(f"{name} must be finite and not negative; give rows to leave out a weight of 0")
    if weight.max(initial=0.0) > LARGEST_WEIGHT:
        raise ValueError(f"a sample weight is above {LARGEST_WEIGHT:g}; divide all of them by the same number")
    if not np.any(weight > 0):
        raise ValueError("every sample weight is zero; give at least one row a weight above 0")
    return weight
