"""The base class of all models that predict each cell from the rest of its row, without weights of rows."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from latentbits.data.binary_data import MISSING, BinaryData, row_blocks
from latentbits.data.encoding import check_row_weight
from latentbits.fitting.rows import safe_log
from latentbits.fitting.workers import one_blas_thread
from latentbits.models.abilities import BY_CELL
from latentbits.models.base import Renamed
from latentbits.models.cell_ranking import CellRanker

N_GROUPS = 5
"""Number of groups of columns that are held out in turn: as many as the parts of the cells in `verdict`."""


class CellModel(CellRanker):
    """Each cell has a probability of a 1 given the other cells of its row; rows have no weights of their own.

    A subclass brings `_fit` and `_predict`. Of the training rows only their number and a checksum are kept, so
    a fitted model is as large for a million rows as for a hundred.
    """

    _abilities = BY_CELL
    data_checksum_: str | None
    n_rows_: int
    _sees_own_cell = True
    """Whether the prediction of a cell may depend on the cell itself, so that it has to be held out to be scored."""
    data_fingerprint_ = Renamed("data_checksum_")

    # ---- what a subclass brings ----------------------------------------------------------------------------------

    @abstractmethod
    def _fit(self, data: BinaryData, row_weight: np.ndarray) -> None:
        """Set everything that `_predict` needs."""

    @abstractmethod
    def _predict(self, data: BinaryData) -> np.ndarray:
        """P(1) of every cell of these rows (n x D), missing cells included; each row on its own, deterministic.

        It is called with blocks of rows, of which dense arrays may be made.
        """

    def _log_probabilities(self, data: BinaryData) -> tuple[np.ndarray, np.ndarray]:
        """log P(1) and log P(0) of every cell of these rows, both finite."""
        p = self._predict(data)
        return safe_log(p), safe_log(1 - p)

    # ---- rows and cells ------------------------------------------------------------------------------------------

    def fit(self, X: Any, y: None = None, sample_weight: ArrayLike | None = None) -> Self:
        """Learn how the cells of a row depend on each other.

        Parameters
        ----------
        X : array, SciPy sparse, pandas or polars frame, BinaryData
            N x D, of 0, 1 and missing (NaN, None, pd.NA); anything else is refused unless `binarize` is set.
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
        with one_blas_thread():  # so that the sums don't depend on the cores
            self._fit(data, row_weight)
        self.data_checksum_ = self._checksum(data)
        self.n_rows_ = data.shape[0]
        return self

    def reconstruct(self, X: Any) -> np.ndarray:
        """The probability of a 1 in each cell given the other cells of its row, missing cells included.

        Parameters
        ----------
        X : array, SciPy sparse, data frame or BinaryData
            0-1 data with the columns of the fit. The answer is dense; of a large sparse table ask for parts of the
            rows, which are predicted each on its own.

        Returns
        -------
        ndarray of shape (n_rows, n_features)
            Probabilities of a 1.
        """
        check_is_fitted(self)
        data = self._data(X)
        probabilities = np.empty(data.shape)
        for rows, block in self._probability_blocks(data):
            probabilities[rows] = block
        return probabilities

    def _probability_blocks(self, data: BinaryData) -> Iterator[tuple[slice, np.ndarray]]:
        for rows, block in _blocks(data):
            yield rows, self._predict(block)

    def predict_held_out(self, X: Any) -> np.ndarray:
        """The probability of a 1 in each cell by predictions that don't see the cell itself.

        Where predictions depend on the cell itself, every fifth column is held out in turn, so that its cells are
        predicted from four fifths of the row; otherwise it is `reconstruct`.

        Parameters
        ----------
        X : array, SciPy sparse, data frame or BinaryData
            0-1 data with the columns of the fit.

        Returns
        -------
        ndarray of shape (n_rows, n_features)
            Probabilities of a 1.
        """
        check_is_fitted(self)
        data = self._data(X)
        probabilities = np.empty(data.shape)
        for rows, block in _blocks(data):
            probabilities[rows] = np.exp(self._log_probabilities_of_hidden(block)[0])
        return probabilities

    # ---- pseudo-likelihood ---------------------------------------------------------------------------------------

    def score_samples(self, X: Any) -> np.ndarray:
        """Log pseudo-likelihood of each row: log P of each observed cell given the other cells, summed over the row.

        It is not the log probability of the row, and can't be compared with the `score_samples` of models that give
        one: there a row's first cells are predicted from few others, here every cell from all of them.

        Parameters
        ----------
        X : array, SciPy sparse, data frame or BinaryData
            0-1 data with the columns of the fit.

        Returns
        -------
        ndarray of shape (n_rows,)
            Log pseudo-likelihoods.
        """
        check_is_fitted(self)
        data = self._data(X)
        total = np.empty(data.shape[0])
        for rows, block in _blocks(data):
            cells = block.dense()
            log_p, log_q = self._log_probabilities_of_hidden(block)
            total[rows] = np.where(cells == 1, log_p, np.where(cells == MISSING, 0.0, log_q)).sum(axis=1)
        return total

    def score(self, X: Any, y: None = None) -> float:
        """Mean of `score_samples`: a pseudo-likelihood, to be compared among such models only.

        Parameters
        ----------
        X : array, SciPy sparse, data frame or BinaryData
            0-1 data with the columns of the fit.
        y : None, default=None
            Ignored; part of scikit-learn's interface.

        Returns
        -------
        float
            The mean log pseudo-likelihood per row.
        """
        return float(np.mean(self.score_samples(X)))

    def _log_probabilities_of_hidden(self, data: BinaryData) -> tuple[np.ndarray, np.ndarray]:
        """log P(1) and log P(0) of every cell, by predictions that don't see it.

        Where a cell's prediction depends on itself, every fifth column is held out in turn: its cells are then
        predicted from four fifths of the row.
        """
        if not self._sees_own_cell:
            return self._log_probabilities(data)
        log_p, log_q = np.empty(data.shape), np.empty(data.shape)
        group = np.arange(data.shape[1]) % N_GROUPS
        for hidden in (group == g for g in np.unique(group)):
            without = data.hide(np.broadcast_to(hidden, data.shape))
            both = self._log_probabilities(without)
            log_p[:, hidden], log_q[:, hidden] = (part[:, hidden] for part in both)
        return log_p, log_q


def _blocks(data: BinaryData) -> Iterator[tuple[slice, BinaryData]]:
    for rows in row_blocks(*data.shape):
        yield rows, data.rows(rows)
