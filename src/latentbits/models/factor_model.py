"""The base classes of all models whose rows have weights on components."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import expit, logit
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from latentbits.data.binary_data import BinaryData, row_blocks
from latentbits.data.encoding import check_row_weight
from latentbits.errors import DataError
from latentbits.fitting import rows as cells
from latentbits.fitting.climb import Learner
from latentbits.fitting.restarts import Restart, Runner, climbing
from latentbits.fitting.workers import Workers
from latentbits.models.abilities import WITH_RESTARTS, WITH_WEIGHTS, Ability
from latentbits.models.base import RestartedModel
from latentbits.models.cell_ranking import CellRanker
from latentbits.models.solved_rows import RowSolver, SolvedRows
from latentbits.numerics import RandomSource, Similarity, as_generator, check_number

TINY = 1e-300


class FactorModel(ClassNamePrefixFeaturesOutMixin, TransformerMixin, CellRanker):
    """Rows have coordinates (`weights_`, N x K) on components (`components_`, K x D); both make probabilities of a 1.

    A subclass brings `fit`, how the coordinates of rows are solved for and, unless these mix the components, the
    probabilities. Everything that can be asked of any such model is here; `SolvedRows` has the answers.
    """

    _abilities = WITH_WEIGHTS
    components_: np.ndarray
    weights_: np.ndarray
    row_weight_: np.ndarray
    n_jobs: int | None = None
    data_checksum_: str | None = None
    _solves_in_closed_form = False
    similarity_: Similarity = "l1"
    """How components of two fits are compared (see `match_components`); "cosine" for those with a free sign."""

    # ---- what a subclass brings ----------------------------------------------------------------------------------

    @abstractmethod
    def _row_solver(self) -> RowSolver:
        """How the coordinates of rows are found, the components fixed; each row on its own, deterministic."""

    @abstractmethod
    def _n_parameters(self, n_rows: int) -> int:
        """Free parameters, those of the rows included."""

    def _as_weights(self, coordinates: np.ndarray) -> np.ndarray:
        """Coordinates in the form of `weights_`."""
        return coordinates

    def _probabilities(self, W: np.ndarray) -> np.ndarray:
        """P(1) of the cells of rows with these coordinates; unless overridden, these mix the components."""
        return np.clip(W @ self.components_, 0.0, 1.0)

    def _log_probabilities(self, W: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """log P(1) and log P(0) of such cells, both finite; to be overridden together with `_probabilities`."""
        return cells.safe_log(W @ self.components_), cells.safe_log(W @ (1 - self.components_))

    def _log_likelihood(self, rows: SolvedRows) -> float:
        return cells.log_likelihood(rows.data, rows.coordinates, self._log_probabilities)

    @property
    def _training_coordinates(self) -> np.ndarray:
        """The coordinates of the training rows."""
        return self.weights_

    def _n_observations(self, data: BinaryData) -> int:
        return data.n_observed

    # ---- rows and cells ------------------------------------------------------------------------------------------

    def _solved(self, X: Any) -> SolvedRows:
        """The rows of X with this model, to be asked anything."""
        check_is_fitted(self)
        return SolvedRows(self, self._data(X))

    def _probability_blocks(self, data: BinaryData) -> Iterator[tuple[slice, np.ndarray]]:
        coordinates = SolvedRows(self, data).coordinates
        for rows in row_blocks(*data.shape):
            yield rows, self._probabilities(coordinates[rows])

    def _adopt_rows(self, data: BinaryData, row_weight: np.ndarray) -> None:
        """Set what is kept of the training rows."""
        rows = SolvedRows(self, data)
        self.row_weight_ = row_weight
        self.data_checksum_ = self._checksum(data)
        self.weights_ = rows.weights.copy()
        self.weights_gap_ = rows.gap
        self._adopt_coordinates(rows.coordinates)

    def _adopt_coordinates(self, coordinates: np.ndarray) -> None:
        """Set what `weights_` doesn't tell of the training rows' coordinates; usually nothing."""

    @property
    def _n_features_out(self) -> int:
        return len(self.components_)

    def transform(self, X: Any) -> np.ndarray:
        """The weights of rows, the components fixed.

        Each row is solved for on its own, so the answer doesn't depend on the other rows, and for the training rows it
        is `weights_`.

        Parameters
        ----------
        X : array, SciPy sparse, data frame or BinaryData
            0-1 data with the columns of the fit.

        Returns
        -------
        ndarray of shape (n_rows, n_components)
            The weights, as in `weights_`.
        """
        return self._solved(X).weights.copy()

    def inverse_transform(self, X: ArrayLike) -> np.ndarray:
        """Probabilities of a 1 for given weights.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_components)
            Weights, as `transform` returns them.

        Returns
        -------
        ndarray of shape (n_rows, n_features)
            Probabilities of a 1.
        """
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
        """The probability of a 1 in each cell, missing cells included.

        Parameters
        ----------
        X : array, SciPy sparse, data frame or BinaryData
            0-1 data with the columns of the fit.

        Returns
        -------
        ndarray of shape (n_rows, n_features)
            Probabilities of a 1.
        """
        return self._solved(X).reconstruct()

    def sample(self, n_samples: int = 1, random_state: RandomSource = None) -> np.ndarray:
        """New rows: weights drawn from those of the training rows, then every cell from its own probability.

        Parameters
        ----------
        n_samples : int, default=1
            How many rows.
        random_state : int, Generator, RandomState or None, default=None
            The same seed gives the same rows.

        Returns
        -------
        ndarray of int8, shape (n_samples, n_features)
            The rows.
        """
        check_is_fitted(self)
        check_number("n_samples", n_samples, least=1, integer=True)
        rng = as_generator(random_state)
        W = self._training_coordinates[rng.choice(len(self.weights_), size=n_samples, p=self._row_prior())]
        return (rng.random((n_samples, self.n_features_in_)) < self._probabilities(W)).astype(np.int8)

    def _row_prior(self) -> np.ndarray:
        return self.row_weight_ / self.row_weight_.sum()

    # ---- likelihood ----------------------------------------------------------------------------------------------

    def score_samples(self, X: Any) -> np.ndarray:
        """Log-likelihood of each row with the held-out meaning: log mean_n p(x | weights of training row n).

        (The "empirical Bayes test likelihood": a new row's weights are drawn from those of the training rows.)

        Parameters
        ----------
        X : array, SciPy sparse, data frame or BinaryData
            0-1 data with the columns of the fit.

        Returns
        -------
        ndarray of shape (n_rows,)
            Log-likelihoods.
        """
        check_is_fitted(self)
        return cells.empirical_bayes(
            self._data(X), self._training_coordinates, self._log_probabilities, self._row_prior()
        )

    def score(self, X: Any, y: None = None) -> float:
        """Mean of `score_samples`.

        Parameters
        ----------
        X : array, SciPy sparse, data frame or BinaryData
            0-1 data with the columns of the fit.
        y : None, default=None
            Ignored; part of scikit-learn's interface.

        Returns
        -------
        float
            The mean log-likelihood per row.
        """
        return float(np.mean(self.score_samples(X)))

    def log_likelihood(self, X: Any) -> float:
        """Log-likelihood of all observed cells, each row with its own best weights (for training rows `weights_`).

        Of a mixture, whose rows have one component each, the components are summed over.

        Parameters
        ----------
        X : array, SciPy sparse, data frame or BinaryData
            0-1 data with the columns of the fit.

        Returns
        -------
        float
            The log-likelihood.
        """
        return self._solved(X).log_likelihood

    def aic(self, X: Any) -> float:
        """Akaike's criterion, lower is better; the rows' own weights are counted as parameters.

        Every row of X counts once, whatever the weights of the fit.

        Parameters
        ----------
        X : array, SciPy sparse, data frame or BinaryData
            0-1 data with the columns of the fit.

        Returns
        -------
        float
            The criterion.
        """
        return self._solved(X).aic()

    def bic(self, X: Any) -> float:
        """Schwarz' criterion, lower is better. An observation is a cell: the parameters grow with the rows.

        Parameters
        ----------
        X : array, SciPy sparse, data frame or BinaryData
            0-1 data with the columns of the fit.

        Returns
        -------
        float
            The criterion.
        """
        return self._solved(X).bic()


class RestartedFactorModel(FactorModel, RestartedModel):
    """A `FactorModel` that is made by several runs, each from a random start: climbs, or chains of samples."""

    _abilities = WITH_WEIGHTS | WITH_RESTARTS | {Ability.RESTART_COMPONENTS}
    n_components: int

    @abstractmethod
    def _runner_maker(self, data: BinaryData, row_weight: np.ndarray) -> Callable[[Workers], Runner[Any]]:
        """How one run is made."""

    @abstractmethod
    def _keep(self, state: Any, row_weight: np.ndarray) -> Any:
        """What is kept of every restart."""

    @abstractmethod
    def _adopt(self, best: Restart[Any], runs: list[Restart[Any]]) -> None:
        """Set `components_`, `restart_components_` and whatever new rows need."""

    def fit(self, X: Any, y: None = None, sample_weight: ArrayLike | None = None) -> Self:
        """Find the components, and the weights of the rows.

        Parameters
        ----------
        X : array, SciPy sparse, pandas or polars frame, BinaryData, or blocks of rows
            N x D, of 0, 1 and missing (NaN, None, pd.NA); anything else is refused unless `binarize` is set. Blocks of
            rows are a list or generator of tables with the same columns, a memory map, or an array of zarr, h5py or
            Dask.
        y : None, default=None
            Ignored; part of scikit-learn's interface.
        sample_weight : array-like of shape (n_rows,) or None, default=None
            A row of weight 2 counts like two equal rows.

        Returns
        -------
        Self
            The fitted model.
        """
        self._check_parameters()
        data = self._data(X, reset=True)
        row_weight = check_row_weight(sample_weight, data.shape[0])
        best, runs = self._runs(data, row_weight)
        self._adopt_run(best, runs)
        self._adopt(best, runs)
        self._adopt_rows(data, row_weight)
        return self

    def _runs(self, data: BinaryData, row_weight: np.ndarray) -> tuple[Restart[Any], list[Restart[Any]]]:
        """The best run, and all of them."""
        return self._best_run(
            self._runner_maker(data, row_weight),
            n_cells=float(row_weight @ data.observed_per_row()),
            keep=lambda state: self._keep(state, row_weight),
        )

    def fit_transform(self, X: Any, y: None = None, sample_weight: ArrayLike | None = None) -> np.ndarray:
        """Fit, and return the weights of the training rows.

        Parameters
        ----------
        X : array, SciPy sparse, pandas or polars frame, BinaryData
            As in `fit`.
        y : None, default=None
            Ignored; part of scikit-learn's interface.
        sample_weight : array-like of shape (n_rows,) or None, default=None
            A row of weight 2 counts like two equal rows.

        Returns
        -------
        ndarray of shape (n_rows, n_components)
            The weights of the training rows.
        """
        return self.fit(X, sample_weight=sample_weight).weights_


class ClimbingFactorModel(RestartedFactorModel):
    """A `RestartedFactorModel` that is learned step by step: its runs are climbs of a learner."""

    @abstractmethod
    def _learner(self, data: BinaryData, row_weight: np.ndarray, workers: Workers) -> Learner[Any]:
        """The learner that the restarts run."""

    def _runner_maker(self, data: BinaryData, row_weight: np.ndarray) -> Callable[[Workers], Runner[Any]]:
        return climbing(lambda workers: self._learner(data, row_weight, workers))


@dataclass(frozen=True)
class PseudoCounts:
    """What rows and components of a nonnegative factorisation have seen before the data, W the weights, H the profiles.

    Each row has `amount` of every component, as much of it as the average row; each component has `amount` of every
    column, as often 1 as the column is (`frequencies`). What they add to the objective,

        amount (sum_i r_i sum_k log (W_ik / mean_i W_ik) + sum_kj f_j log (H_kj / sum_j H_kj)),

    doesn't depend on the scale of a component. Minus the logarithm of a sum is convex, so above its tangent: for an
    entry w of W or H that leaves `count` log w - `rate` w, which a bound can take in. Of `amount` 0 nothing is left.
    """

    amount: float
    frequencies: np.ndarray

    @classmethod
    def of(cls, amount: float, data: BinaryData, row_weight: np.ndarray) -> PseudoCounts:
        """Those of a table."""
        ones, observed = data.ones_per_column(row_weight), data.observed_per_column(row_weight)
        return cls(amount, np.divide(ones, observed, out=np.zeros(len(ones)), where=observed > 0))

    def of_rows(self, average: np.ndarray) -> tuple[float, np.ndarray]:
        """Count and rates (K) of the weights of each row, which are so on average."""
        return self.amount, self.amount / np.maximum(average, TINY)

    def of_components(self, H: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Counts (D) and rates (K x 1) of the components, which are now H."""
        count = self.amount * self.frequencies
        return count, count.sum() / np.maximum(H.sum(axis=1, keepdims=True), TINY)

    def gain(self, W: np.ndarray, H: np.ndarray, row_weight: np.ndarray) -> float:
        """What they add to the objective."""
        if not self.amount:
            return 0.0
        average = np.maximum(row_weight @ W / row_weight.sum(), TINY)
        shares = H / np.maximum(H.sum(axis=1, keepdims=True), TINY)
        by_row = row_weight @ np.log(np.maximum(W, TINY) / average)
        return float(self.amount * (by_row.sum() + (np.log(np.maximum(shares, TINY)) @ self.frequencies).sum()))


def random_components(
    data: BinaryData, row_weight: np.ndarray, n_components: int, rng: np.random.Generator
) -> np.ndarray:
    """The columns' log-odds, shifted at random for each component (K x D).

    Starting near the columns' own shares of ones avoids poor optima of sparse data, in which components are far denser
    than the data. The shift is symmetric in zeros and ones.
    """
    return shifted_components(data.ones_per_column(row_weight), data.observed_per_column(row_weight), n_components, rng)


def shifted_components(
    ones: np.ndarray, observed: np.ndarray, n_components: int, rng: np.random.Generator
) -> np.ndarray:
    """The same from the (weighted) counts of the columns' ones and observed cells."""
    share = (ones + 0.5) / (observed + 1.0)  # smoothed: constant columns have finite odds
    # Shifts up to 2: with 1, fits ended lower on two data sets of three; with 3, no higher.
    return expit(logit(share) + rng.uniform(-2.0, 2.0, size=(n_components, len(ones))))
