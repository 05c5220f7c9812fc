"""Tables of numbers, for the models of continuous data: validated as strictly as 0-1 data."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from latentbits.data.codes import MISSING, Tokens
from latentbits.data.messages import Origin, check_column_names, option, quoted
from latentbits.data.read_options import DELIMITED, FORMATS, SHEETS, TEXT, ReadOptions
from latentbits.data.readers import open_table
from latentbits.data.roles import examine, is_identifier
from latentbits.data.text_reader import TextReader
from latentbits.storage.files import restore_label

if TYPE_CHECKING:
    import pandas as pd

_Row = tuple[int, list[str]]
"""The line of a row, and its fields."""


@dataclass(frozen=True, eq=False)
class NumberTable:
    """An N x D table of numbers with its names.

    Attributes
    ----------
    values : float64 array of shape (N, D)
        Finite numbers, and NaN where cells are missing.
    row_names, column_names : list of str or None
        One name for each row or column.
    row_label : str or None
        What the row names are called: the name of the column that they came from.
    """

    values: np.ndarray
    row_names: list[str] | None = None
    column_names: list[str] | None = None
    row_label: str | None = None

    @classmethod
    def of(cls, X: Any) -> NumberTable:
        """Make a table of an array or a pandas frame, whose names are kept.

        Examples
        --------
        >>> NumberTable.of([[1.5, 2], [0, -3]]).shape
        (2, 2)
        """
        import pandas as pd

        frame = X if isinstance(X, pd.DataFrame) else pd.DataFrame(np.asarray(X, dtype=float))
        named = isinstance(X, pd.DataFrame)
        rows = named and not isinstance(frame.index, pd.RangeIndex)
        return cls(
            frame.to_numpy(dtype=float),
            [str(label) for label in frame.index] if rows else None,
            [str(name) for name in frame.columns] if named else None,
        )

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""
        return self.values.shape[0], self.values.shape[1]

    @property
    def n_missing(self) -> int:
        """The number of missing cells."""
        return int(np.isnan(self.values).sum())

    def to_frame(self) -> pd.DataFrame:
        """Make a pandas frame with the names of the columns, as models take it."""
        import pandas as pd

        return pd.DataFrame(self.values, columns=self.column_names)

    def fingerprint(self) -> str:
        """Identify shape, values and column names."""
        digest = hashlib.sha256(json.dumps([self.shape, self.column_names]).encode())
        digest.update(np.ascontiguousarray(self.values, "<f8").tobytes())
        return digest.hexdigest()[:16]


def read_numbers(path: str | Path, *, allow_missing: bool = True, **given: Any) -> NumberTable:
    """Read delimited text (also compressed) or a sheet (.xlsx) in which every cell is a finite number, or missing.

    The options are those of `ReadOptions` that make sense for numbers (`of_numbers`); the rows are named by the first
    column if its name is empty, if at least half of its cells are no numbers, or if it is named like an identifier (id,
    site, ...) and holds different whole numbers.

    Examples
    --------
    >>> import tempfile
    >>> folder = tempfile.TemporaryDirectory()
    >>> path = Path(folder.name) / "fields.csv"
    >>> _ = path.write_text("eye,a,b\\nleft,1.5,2\\nright,0,-3\\n")
    >>> table = read_numbers(path)
    >>> table.values.tolist(), table.row_names, table.column_names
    ([[1.5, 2.0], [0.0, -3.0]], ['left', 'right'], ['a', 'b'])
    >>> folder.cleanup()
    """
    options = ReadOptions.of(given, "read_numbers")
    labels = None if options.row_labels is True else options.row_labels
    options = replace(options, columns=options.columns or None, row_labels=labels)
    table = open_table(path, options, _refuse_other_formats)
    names, rows = _read_rows(table)
    origin, choice, numbers = table.origin, table.choice, table.tokens
    label = choice.label(names, origin)
    if choice.row_labels is None and _has_labels_first(names, rows, numbers):
        label = 0
    data = choice.data(names, (label,), origin)
    values = np.array([[_number(fields[j], line, names[j], numbers, origin) for j in data] for line, fields in rows])
    if not allow_missing and np.isnan(values).any():
        i, j = (int(place) for place in np.argwhere(np.isnan(values))[0])
        line, text = rows[i][0], rows[i][1][data[j]].strip()
        what = f"the cell is missing ({quoted(text)})" if text else "the cell is empty"
        raise origin.error(
            f"{what}; fill it in, or leave its row or column out (--exclude)", origin.place(line, names[data[j]])
        )
    chosen = [names[j] for j in data]
    if label is None:
        return NumberTable(values, None, chosen)
    return NumberTable(values, [restore_label(fields[label]) for _, fields in rows], chosen, names[label] or None)


def _refuse_other_formats(kind: str, origin: Origin) -> None:
    if not {TEXT, SHEETS} & FORMATS.get(kind, DELIMITED).has:
        raise origin.error(f".{kind} files are not read as tables of numbers; save it as CSV or .xlsx")


def _read_rows(table: TextReader) -> tuple[list[str], list[_Row]]:
    """Column names, and all rows but blank lines."""
    with table.open_rows() as (head, rows):
        check_column_names(head.names, table.origin, head.place, unnamed=0)
        return head.names, list(rows)


def _has_labels_first(names: list[str], rows: list[_Row], numbers: Tokens) -> bool:
    """Whether the first column names the rows."""
    texts = [fields[0].strip() for _, fields in rows]
    words = sum(numbers.number(text) is None and not _is_missing(text, numbers) for text in texts)
    content = examine(texts, numbers)
    numbered = is_identifier(names[0]) and content.whole and content.unique
    return not names[0] or (len(names) > 1 and (2 * words >= len(rows) or numbered))


def _is_missing(text: str, numbers: Tokens) -> bool:
    return numbers.words.get(text.strip().lower()) == MISSING


def _number(text: str, line: int, column: str, numbers: Tokens, origin: Origin) -> float:
    """The number in a cell, NaN if it is missing."""
    if _is_missing(text, numbers):
        return np.nan
    value = numbers.number(text.strip())
    if value is None:
        way_out = "fill it in, or leave its row or column out (--exclude)"
        if numbers.decimal == "." and Tokens({}, None, ",").number(text.strip()) is not None:
            way_out = f"use {option('decimal', ',')}"
        raise origin.error(f"value {quoted(text)} is no finite number; {way_out}", origin.place(line, column))
    return value
