"""Marks of cells by position: part of the data that they are about."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from latentbits.data.codes import MISSING

__all__ = ["CONFIRM", "REJECT", "TRUTH", "UNSURE", "PlacedMarks"]

CONFIRM, REJECT, UNSURE = "confirm", "reject", "unsure"
TRUTH = {CONFIRM: 1, REJECT: 0, UNSURE: MISSING}
"""What a marked cell truly is."""


class PlacedMarks(NamedTuple):
    """Cells that somebody has looked up.

    Attributes
    ----------
    rows, columns : int64 array of shape (n,)
        Their positions.
    truth : int8 array of shape (n,)
        1 where a cell was confirmed, 0 where it was rejected, `MISSING` where one is unsure.

    Examples
    --------
    >>> marks = PlacedMarks.of([(0, 1, 1), (2, 0, 0)])
    >>> marks.counts()
    {'confirmed': 1, 'rejected': 1, 'unsure': 0}
    >>> marks.settle(np.zeros((3, 2), dtype=np.int8)).tolist()
    [[0, 1], [0, 0], [0, 0]]
    """

    rows: np.ndarray
    columns: np.ndarray
    truth: np.ndarray

    @classmethod
    def of(cls, cells: Sequence[tuple[int, int, int]] | np.ndarray) -> PlacedMarks:
        """Marks of (row, column, truth)."""
        table = np.asarray(cells, dtype=np.int64).reshape(-1, 3)
        return cls(table[:, 0], table[:, 1], table[:, 2].astype(np.int8))

    def as_table(self) -> np.ndarray:
        """An n x 3 table of row, column and truth, as `of` takes it."""
        return np.column_stack([self.rows, self.columns, self.truth])

    def _where(self, chosen: np.ndarray) -> PlacedMarks:
        return PlacedMarks(self.rows[chosen], self.columns[chosen], self.truth[chosen])

    @property
    def decided(self) -> PlacedMarks:
        """Those that were confirmed or rejected."""
        return self._where(self.truth != MISSING)

    def settle(self, cells: np.ndarray) -> np.ndarray:
        """Set decided cells of a table to what they are; the table is changed, and returned."""
        known = self.decided
        cells[known.rows, known.columns] = known.truth
        return cells

    def of_rows(self, positions: np.ndarray) -> PlacedMarks:
        """The marks of chosen rows, by their places among those; a row that is chosen twice has its marks twice."""
        marked = np.flatnonzero(np.isin(positions, self.rows))
        places, which = np.nonzero(positions[marked, None] == self.rows)
        return PlacedMarks(marked[places], self.columns[which], self.truth[which])

    def updated(self, later: PlacedMarks) -> PlacedMarks:
        """These marks and later ones, which replace those of the same cells."""
        both = np.concatenate([self.as_table(), later.as_table()])
        return PlacedMarks.of(list({(row, column): (row, column, truth) for row, column, truth in both}.values()))

    def unsure_at(self, rows: np.ndarray, columns: np.ndarray) -> np.ndarray:
        """For each cell "unsure" if it is marked so, else an empty text."""
        doubted = self._where(self.truth == MISSING)
        places = set(zip(doubted.rows.tolist(), doubted.columns.tolist(), strict=True))
        cells = zip(rows.tolist(), columns.tolist(), strict=True)
        return np.array([UNSURE if cell in places else "" for cell in cells], dtype=object)

    def counts(self) -> dict[str, int]:
        """How many cells were confirmed, rejected and left unsure."""
        numbers = {"confirmed": 1, "rejected": 0, UNSURE: MISSING}
        return {word: int((self.truth == truth).sum()) for word, truth in numbers.items()}
