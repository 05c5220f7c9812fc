"""Cells that may be false, and those with the highest scores, block by block: no N x D array is made for a list."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Iterator
from numbers import Integral
from typing import Any, Literal, NamedTuple

import numpy as np
import pandas as pd
from sklearn.utils.validation import check_is_fitted

from latentbits.data.binary_data import BinaryData
from latentbits.data.messages import Places
from latentbits.errors import DataError
from latentbits.models.base import BinaryModel

Kind = Literal["absence", "presence"]

FALSE_VALUE: dict[Kind, int] = {"absence": 0, "presence": 1}
"""The value of a cell that may be false."""

ScoreBlock = tuple[slice, np.ndarray, np.ndarray]
"""Some rows, which of their cells may be false (n x D), and the scores of these cells."""


class RankedCells(NamedTuple):
    """Cells by their positions, with scores; the highest first, equal ones in reading order."""

    rows: np.ndarray
    columns: np.ndarray
    score: np.ndarray

    @classmethod
    def of(cls, blocks: Iterable[ScoreBlock], n_columns: int, top: int | None) -> RankedCells:
        """The `top` highest scores; what can't be among them is dropped at once."""
        check_top("top", top)
        places, scores = np.zeros(0, np.int64), np.zeros(0)
        for rows, asked, score in blocks:
            best = _largest(score, top)
            places = np.concatenate([places, rows.start * n_columns + np.flatnonzero(asked)[best]])
            scores = np.concatenate([scores, score[best]])
            best = _largest(scores, top)
            places, scores = places[best], scores[best]
        order = np.argsort(-scores, kind="stable")
        return cls(*np.divmod(places[order], n_columns), scores[order])

    def table(self, data: BinaryData, column_names: list[str] | None, **more: np.ndarray) -> pd.DataFrame:
        """A line for each cell, with the names of its row and column; `more` are further columns."""
        n_rows, n_columns = data.shape
        table: dict[str, Any] = {
            "row": Places(data.row_names, n_rows, "row").labels(self.rows),
            "column": Places(column_names, n_columns, "column").labels(self.columns),
            "score": self.score,
            **more,
        }
        if data.marks is not None:
            table["mark"] = data.marks.unsure_at(self.rows, self.columns)
        return pd.DataFrame(table)


class CellRanker(BinaryModel):
    """A model that ranks cells by how probable the other value is."""

    @abstractmethod
    def _probability_blocks(self, data: BinaryData) -> Iterator[tuple[slice, np.ndarray]]:
        """P(1) of every cell, some rows after the other."""

    def _score_blocks(self, data: BinaryData, kind: Kind) -> Iterator[ScoreBlock]:
        check_kind(kind)
        for rows, probabilities in self._probability_blocks(data):
            asked = may_be_false(data.rows(rows), kind)
            yield rows, asked, probabilities[asked] if kind == "absence" else 1 - probabilities[asked]

    def suspicion(self, X: Any, *, kind: Kind = "absence") -> np.ndarray:
        """Scores for ranking: the probability by `reconstruct` that an observed 0 is a 1 (kind="presence": a 1 a 0).

        Parameters
        ----------
        X : array, SciPy sparse, data frame or BinaryData
            0-1 data with the columns of the fit.
        kind : "absence" or "presence", default="absence"
            Zeros that may be false, or ones that may be.

        Returns
        -------
        ndarray of shape (n_rows, n_features)
            Scores from 0 to 1; 0 for cells of the other value, and for missing ones.
        """
        check_is_fitted(self)
        data = self._data(X)
        scores = np.zeros(data.shape)
        for rows, asked, score in self._score_blocks(data, kind):
            scores[rows][asked] = score
        return scores

    def suspects(self, X: Any, *, kind: Kind = "absence", top: int | None = 100, marks: Any = None) -> pd.DataFrame:
        """The cells most likely to be false, the highest score first.

        For a list of suspects use `FalseZeros`: it ranks better, and shows how good the ranking is.

        Parameters
        ----------
        X : array, SciPy sparse, data frame or BinaryData
            0-1 data with the columns of the fit.
        kind : "absence" or "presence", default="absence"
            Zeros that may be false, or ones that may be.
        top : int or None, default=100
            How many cells; None for all.
        marks : path, dict or list of dict, optional
            Cells that somebody has checked, as in `apply_marks`: confirmed and rejected ones are left out.

        Returns
        -------
        DataFrame
            With the columns row, column and score (see `suspicion`); with marks also mark: "unsure", or empty.
        """
        check_is_fitted(self)
        data = self._marked(X, marks)
        found = RankedCells.of(self._score_blocks(data, kind), data.shape[1], top)
        return found.table(data, self._column_names())


def check_kind(kind: Kind) -> None:
    """Refuse unknown kinds."""
    if kind not in FALSE_VALUE:
        raise DataError(f'kind={kind!r} is unknown; use "absence" or "presence"')


def check_top(name: str, value: Any) -> None:
    """Refuse what isn't a number of cells."""
    if value is not None and (not isinstance(value, Integral) or isinstance(value, bool) or value < 0):
        raise DataError(f"{name}={value!r} must be a whole number of cells, or None for all")


def may_be_false(data: BinaryData, kind: Kind) -> np.ndarray:
    """Which cells have the value that is in question, and were neither confirmed nor rejected by anybody: N x D."""
    cells: np.ndarray = data.dense() == FALSE_VALUE[kind]
    if data.marks is not None:
        known = data.marks.decided
        cells[known.rows, known.columns] = False
    return cells


def _largest(scores: np.ndarray, n: int | None) -> np.ndarray:
    """The places of the n largest scores, ascending; of equal ones the first. None: of all.

    Examples
    --------
    >>> _largest(np.array([0.2, 0.5, 0.1, 0.5, 0.2]), 3)
    array([0, 1, 3])
    """
    if n is None or n >= len(scores):
        return np.arange(len(scores))
    if n == 0:
        return np.arange(0)
    least = np.partition(scores, -n)[-n]
    above = np.flatnonzero(scores > least)
    return np.sort(np.concatenate([above, np.flatnonzero(scores == least)[: n - len(above)]]))
