"""Folds of rows and cells, each of which is held out once."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from sklearn.model_selection import KFold

from latentbits.data.binary_data import MISSING, BinaryData
from latentbits.errors import DataError
from latentbits.wording import counted

__all__ = ["SURE", "Data", "Folds", "observed_cells"]

SURE = 1e-3
"""Predicted probabilities are clipped this far from 0 and 1: one overconfident cell must not decide a comparison."""

Data = BinaryData | np.ndarray


class Folds:
    """Folds of held-out rows and cells, the same for all models.

    Rows: every row is held out once. Cells: every cell is assigned to one of the folds, with equal probabilities.
    """

    def __init__(self, data: Data, n_folds: int, seed: int) -> None:
        self.data = data
        self.n = n_folds
        self._seed = seed
        self._cell_fold: np.ndarray | None = None

    def rows(self) -> list[tuple[np.ndarray, np.ndarray]]:
        """Training and test rows of each fold."""
        n_rows = self.data.shape[0]
        if n_rows == 1:
            raise DataError('one row can\'t be held out ("cv"); give more rows, or use another criterion (--criterion)')
        if self.n > n_rows:
            raise DataError(f"n_folds={self.n} (--folds) must be at most the number of rows, {n_rows}")
        splitter = KFold(self.n, shuffle=True, random_state=self._seed)
        folds = list(splitter.split(np.zeros((n_rows, 1))))
        if isinstance(self.data, BinaryData):
            seen = self.data.observed_per_row()
            self._refuse_empty(np.array([seen[test].sum() for _, test in folds]), "held-out rows")
        return folds

    def cells(self, fold: int) -> np.ndarray:
        """Which cells a fold hides (N x D)."""
        return self._folds_of_cells() == fold

    def _folds_of_cells(self) -> np.ndarray:
        # Drawn on first use; threads that do so at the same time draw the same folds from the seed.
        if self._cell_fold is None:
            rng = np.random.default_rng(self._seed)
            self._cell_fold = rng.integers(self.n, size=self.data.shape, dtype=np.int16)
        return self._cell_fold

    def check_cells(self) -> None:
        """Refuse folds that hide no observed cell, before anything is fitted."""
        if not isinstance(self.data, BinaryData):
            return
        seen = self.data.dense() != MISSING
        hidden = np.bincount(self._folds_of_cells()[seen], minlength=self.n)
        self._refuse_empty(hidden, "hidden cells")

    def _refuse_empty(self, observed: np.ndarray, what: str) -> None:
        """Refuse folds of which one has no observed cell to be predicted."""
        if not observed.all():
            raise DataError(
                f"n_folds={self.n} (--folds) leaves a fold without an observed cell among its {what}, as the table has "
                f"{counted(observed.sum(), 'observed cell')}; use fewer folds, or give more data"
            )

    def of_observed(self) -> np.ndarray:
        """The fold of each observed cell, row by row."""
        self.cells(0)
        assert self._cell_fold is not None
        return self._cell_fold[observed_cells(self.data)]

    def together(self, parts: Sequence[np.ndarray]) -> np.ndarray:
        """Predictions of hidden cells, an array a fold, as one array: a number for each observed cell, row by row."""
        fold = self.of_observed()
        joined = np.empty(len(fold), dtype=np.float32)
        for number, part in enumerate(parts):
            joined[fold == number] = part
        return joined


def observed_cells(data: Data) -> np.ndarray:
    """Which cells of 0-1 data are not missing (N x D)."""
    assert isinstance(data, BinaryData)
    return data.dense() != MISSING
