"""An analyst's marks of cells: which are truly 1, which truly 0. They are part of the ratings.json that a report saves.

The file is JSON::

    {
      "format": "latentbits-ratings",
      "version": 1,
      "marks": [
        {"row": "Pikermi", "column": "Equus", "mark": "confirm"},
        {"row": 17,        "column": 3,       "mark": "reject"}
      ],
      "data": "checksum of the data that were marked",
      ...
    }

- "marks": a list, or absent in files of earlier versions. Each mark has
  "row" and "column": text as suspects.csv has it, which is a name, "row 3" for the third of rows without names, or
  "Samos (row 3)" where others have the same name; or a position counted from 0 (whole number);
  "mark": "confirm" (the cell is truly a 1), "reject" (it is truly a 0) or "unsure" (it stays in question).
- "data": `BinaryData.fingerprint()`, or absent. Of other data only names count: a position says nothing there.
- Everything else is about ratings of components; see latentbits/cli/options/asking.py.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from latentbits.data.binary_data import BinaryData
from latentbits.data.codes import MISSING, with_index_types
from latentbits.data.messages import Places, quoted
from latentbits.errors import DataError
from latentbits.storage.files import parse_json

CONFIRM, REJECT, UNSURE = "confirm", "reject", "unsure"
TRUTH = {CONFIRM: 1, REJECT: 0, UNSURE: MISSING}
"""What a marked cell truly is."""


class PlacedMarks(NamedTuple):
    """Cells that somebody has checked.

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


FORMAT, VERSION = "latentbits-ratings", 1


class Mark(NamedTuple):
    """What somebody found out about a cell."""

    row: str | int
    column: str | int
    word: str


@dataclass(frozen=True)
class Marks:
    """The marks of a file or a list, not yet looked up in any data.

    Attributes
    ----------
    marks : list of Mark
    place : str
        What messages begin with: the name of the file and a colon, or nothing.
    fingerprint : str or None
        That of the data that were marked, if it is known.
    """

    marks: list[Mark]
    place: str = ""
    fingerprint: str | None = None

    @classmethod
    def of(cls, source: Any) -> Marks:
        """Those of a ratings.json (its path, or what it says), or of a list of dicts with row, column and mark."""
        if isinstance(source, Marks):
            return source
        if isinstance(source, str | Path):
            file = Path(source)
            return cls._of_document(load_document(file), f"{file.name}: ")
        if isinstance(source, Mapping):
            return cls._of_document(source, "")
        if not isinstance(source, list | tuple):
            raise DataError("marks must be a ratings.json that a report has saved, or a list of row, column and mark")
        return cls(_parsed(source, ""))

    @classmethod
    def _of_document(cls, document: Mapping[str, Any], place: str) -> Marks:
        if "marks" not in document:
            raise DataError(f"{place}there are no marks in it; mark suspects in a report, and save the file again")
        return cls.in_document(document, place)

    @classmethod
    def in_document(cls, document: Mapping[str, Any], place: str) -> Marks:
        """The marks of a document, none if it has none; refused if they are not as described above."""
        fingerprint = document.get("data")
        if fingerprint is not None and not isinstance(fingerprint, str):
            raise DataError(f'{place}"data" must be the checksum of the data that were marked; save the file again')
        return cls(_parsed(document.get("marks", []), place), place, fingerprint)

    def placed_in(self, data: BinaryData, column_names: Sequence[str] | None = None) -> PlacedMarks:
        """The marks by position; refused if one is of a cell that the data don't have, or that is missing there.

        `column_names` go in place of those of the data.
        """
        rows = Places(data.row_names, data.shape[0], "row")
        columns = Places(column_names or data.column_names, data.shape[1], "column")
        found: dict[tuple[int, int], Mark] = {}
        for mark in self.marks:
            cell = _position(mark.row, rows, self.place), _position(mark.column, columns, self.place)
            if found.setdefault(cell, mark).word != mark.word:
                raise DataError(f"{self._cell(mark)} is marked {found[cell].word} and {mark.word}; leave one of them")
        self._check_positions(data, rows, columns)
        placed = PlacedMarks.of([(*cell, TRUTH[mark.word]) for cell, mark in found.items()])
        marked, which = np.unique(placed.rows, return_inverse=True)
        for mark, value in zip(found.values(), data.rows(marked).dense()[which, placed.columns], strict=True):
            if value == MISSING:
                raise DataError(f"{self._cell(mark)} is marked {mark.word}, but is missing in these data; unmark it")
        return placed

    def _check_positions(self, data: BinaryData, rows: Places, columns: Places) -> None:
        """Refuse positions in other data; columns without names are matched by position anyway."""
        by_position = any(not rows.has_name(mark.row) for mark in self.marks) or (
            columns.names is not None and any(not columns.has_name(mark.column) for mark in self.marks)
        )
        if by_position and self.fingerprint not in (None, data.fingerprint()):
            raise DataError(
                f"{self.place}marks of other data are by position, which says nothing here; give the file that was "
                "marked, or mark again in a report on this one"
            )

    def _cell(self, mark: Mark) -> str:
        row, column = (quoted(key) if isinstance(key, str) else key for key in (mark.row, mark.column))
        return f"{self.place}the cell of row {row}, column {column}"


def apply_marks(data: Any, marks: Any) -> BinaryData:
    """Set the cells that an analyst has checked to what they truly are, for a new fit.

    Confirmed cells become 1 and rejected ones 0. Both are certain from then on: a model that is asked about these data
    doesn't list them among its suspects, and doesn't change them.

    Parameters
    ----------
    data : array, SciPy sparse, data frame or BinaryData
        0-1 data.
    marks : path, dict or list of dict
        The ratings.json that a report has saved, what it says, or a list of marks: each has a row, a column (by name,
        or by position from 0) and a mark, which is "confirm", "reject" or "unsure".

    Returns
    -------
    BinaryData
        The changed data, and in `marks` what was marked.

    Raises
    ------
    DataError
        If the marks aren't valid, or are of cells that aren't there or are missing.

    Examples
    --------
    >>> from latentbits import BinaryData, apply_marks
    >>> data = BinaryData.of([[0, 1], [0, 0]], column_names=["Equus", "Sus"])
    >>> known = apply_marks(data, [{"row": 1, "column": "Sus", "mark": "confirm"}])
    >>> known.dense().tolist()
    [[0, 1], [0, 1]]
    >>> known.marks.counts()
    {'confirmed': 1, 'rejected': 0, 'unsure': 0}
    """
    table = BinaryData.of(data)
    return with_marks(table, Marks.of(marks).placed_in(table))


def with_marks(table: BinaryData, placed: PlacedMarks) -> BinaryData:
    """Set decided cells of data to what they are, and keep the marks with the data."""
    settled = placed.decided
    kept = replace(table, marks=placed if table.marks is None else table.marks.updated(placed))
    if table.sparse is None:
        return replace(kept, cells=placed.settle(table.dense().copy()))
    rows = np.repeat(np.arange(table.shape[0]), np.diff(table.sparse.indptr))
    stored = ~np.isin(rows * table.shape[1] + table.sparse.indices, settled.rows * table.shape[1] + settled.columns)
    ones = settled.truth == 1
    codes = np.concatenate([table.sparse.data[stored], settled.truth[ones]])
    places = (
        np.concatenate([rows[stored], settled.rows[ones]]),
        np.concatenate([table.sparse.indices[stored], settled.columns[ones]]),
    )
    return replace(kept, sparse=with_index_types(sp.coo_array((codes, places), shape=table.shape).tocsr()))


def load_document(file: Path) -> dict[str, Any]:
    """What a ratings.json says, once it is clear that it is one."""
    try:
        document = parse_json(file.read_text(encoding="utf-8"))
    except OSError:
        raise DataError(f"{file.name}: no such file; give the one that was saved in a report") from None
    except ValueError:  # no text, or no JSON
        raise DataError(f"{file.name}: this is no JSON; give the ratings that were saved in a report") from None
    if not isinstance(document, dict) or document.get("format") != FORMAT:
        raise DataError(f"{file.name}: this is no file of ratings; give the one that was saved in a report")
    if document.get("version") != VERSION:
        raise DataError(
            f"{file.name}: this is version {quoted(str(document.get('version')))} of such files, and only {VERSION} is "
            "known; save the ratings again in a report of this version of latentbits"
        )
    return document


def _parsed(marks: Any, place: str) -> list[Mark]:
    if not isinstance(marks, list | tuple):
        raise DataError(f'{place}"marks" must be a list; save the file again in a report')
    return [_parsed_mark(mark, f"{place}mark {number}") for number, mark in enumerate(marks, start=1)]


def _parsed_mark(mark: Any, place: str) -> Mark:
    if not isinstance(mark, Mapping) or not {"row", "column", "mark"} <= mark.keys():
        raise DataError(f'{place} must have "row", "column" and "mark"; correct it')
    for side in ("row", "column"):
        if not isinstance(mark[side], str) and not (type(mark[side]) is int and mark[side] >= 0):
            raise DataError(f'{place}: "{side}" must be a name, or a position counted from 0; correct it')
    if not isinstance(mark["mark"], str) or mark["mark"] not in TRUTH:
        raise DataError(f'{place}: "mark" must be {", ".join([CONFIRM, REJECT])} or {UNSURE}; correct it')
    return Mark(mark["row"], mark["column"], mark["mark"])


def _position(key: str | int, places: Places, place: str) -> int:
    """The position of a row or column that is marked."""
    if isinstance(key, str):
        try:
            return places.find(key)
        except DataError as error:
            raise DataError(f"{place}{error}") from None
    if places.names is not None and str(key) in places.names:
        raise DataError(
            f'{place}{places.what} {key} may be a position or the name "{key}"; write a name in quotes, and a position '
            f'as "{places.what} {key + 1}", counted from 1'
        )
    if key >= places.number:
        raise DataError(
            f"{place}{places.what} {key} is outside 0 .. {places.number - 1}; give the file that was marked"
        )
    return key
