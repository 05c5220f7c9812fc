"""Delimited text of 0-1 data: the labels, the cells, and one error for all cells that are neither 0 nor 1."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from operator import itemgetter

import numpy as np

from latentbits.data.binary_data import MISSING, BinaryData
from latentbits.data.columns import ColumnChoice
from latentbits.data.messages import SHOWN, Origin, bad_cells_error, option, quoted
from latentbits.data.names import check_column_names
from latentbits.data.text_file import TextFile
from latentbits.data.text_rows import Rows, finite_number, rows_of_width, split_header
from latentbits.data.words import BAD_BYTE, MISSING_BYTE, Tokens
from latentbits.errors import DataError

__all__ = ["TextReader"]


@dataclass
class _BadCells:
    """The cells that could not be read: how many in each column; the first as (line, column, text)."""

    counts: Counter[int] = field(default_factory=Counter)
    first: list[tuple[int, int, str]] = field(default_factory=list)

    def add(self, line: int, columns: Sequence[int], texts: Sequence[str], codes: bytes) -> None:
        """Take note of the bad cells of a row, or of some of its columns."""
        bad = [(line, j, text) for j, text, code in zip(columns, texts, codes, strict=True) if code == BAD_BYTE]
        self.counts.update(j for _, j, _ in bad)
        self.first = sorted(self.first + bad)[:SHOWN]


@dataclass(frozen=True)
class _Layout:
    """Which column of a text file is what.

    `text` is the column kept as text: the labels or, if `undecided`, the first column, of which only its
    content can tell whether it holds labels. `encoded` are the columns encoded row by row.
    """

    names: list[str]
    data: list[int]
    text: int | None
    undecided: bool

    @property
    def encoded(self) -> list[int]:
        return [j for j in self.data if j != self.text]


@dataclass
class _Body:
    """The rows of a text file: codes of the encoded columns, texts of the text column, and the rows' lines."""

    codes: bytearray = field(default_factory=bytearray)
    texts: list[str] = field(default_factory=list)
    lines: list[int] = field(default_factory=list)
    bad: _BadCells = field(default_factory=_BadCells)


@dataclass(frozen=True)
class TextReader:
    """One pass over one delimited text file.

    Attributes
    ----------
    file : TextFile
        The file.
    origin : Origin
        Where the data come from, for error messages.
    header : bool
        Whether the first line names the columns.
    choice : ColumnChoice
        The columns asked for.
    tokens : Tokens
        What the cells' texts mean.
    """

    file: TextFile
    origin: Origin
    header: bool
    choice: ColumnChoice
    tokens: Tokens

    def read(self) -> BinaryData:
        """Read the file.

        Returns
        -------
        BinaryData
            The data with their names.

        Raises
        ------
        DataError
            With the line, the column and the value, and what to do about it.
        """
        with self.file.rows() as rows:
            names, place, rows = split_header(rows, self.header, self.origin)
            if self.header:
                self._refuse_data_as_header(names, place)
            layout = self._layout(names, place)
            body = self._read_body(rows, layout)
        return self._assemble(layout, body)

    def _refuse_data_as_header(self, names: list[str], place: str) -> None:
        strict = Tokens(self.tokens.words, None)  # without the threshold, by which years would be data
        if BAD_BYTE not in strict.codes(names) and any(names):
            raise self.origin.error(
                f"this looks like data ({quoted(names[-1])}), but a header line with column names is "
                "expected; add one, or use header=False (--no-header)",
                place,
            )

    def _layout(self, names: list[str], place: str) -> _Layout:
        label = self.choice.label(names, self.origin)
        automatic = self.choice.row_labels is None
        if automatic and not names[0]:
            label = 0
        check_column_names(names, self.origin, place, unnamed=label)
        data = self.choice.data(names, label, self.origin)
        # A first column that wasn't chosen (nor left out) may hold the labels all the same; the only one chosen can't.
        possible = set(data) != {0} and 0 not in self.choice.excluded(names, self.origin)
        undecided = automatic and label is None and possible
        return _Layout(names, data, 0 if undecided else label, undecided)

    def _read_body(self, rows: Rows, layout: _Layout) -> _Body:
        body, columns, encode_row = _Body(), layout.encoded, self.tokens.codes
        pick = _picker(columns)
        for line, row in rows_of_width(rows, len(layout.names), self.origin):
            texts = pick(row)
            codes = encode_row(texts)
            body.codes += codes
            body.lines.append(line)
            if layout.text is not None:
                body.texts.append(row[layout.text].strip())
            if BAD_BYTE in codes:
                body.bad.add(line, columns, texts, codes)
        return body

    def _assemble(self, layout: _Layout, body: _Body) -> BinaryData:
        """The data, once it is known whether the text column holds labels."""
        columns, labels = layout.encoded, body.texts if layout.text is not None else None
        cells = np.frombuffer(body.codes, np.int8).reshape(len(body.lines), len(columns))
        if layout.undecided:
            codes = self.tokens.codes(body.texts)
            if not _are_labels(codes):
                columns, labels = layout.data, None
            if labels is None and 0 in columns:
                cells = np.insert(cells, columns.index(0), np.frombuffer(codes, np.int8), axis=1)
                for line, text, code in zip(body.lines, body.texts, codes, strict=True):
                    body.bad.add(line, [0], [text], bytes([code]))
        if body.bad.counts:
            filled = dict(zip(columns, (cells != MISSING).sum(axis=0), strict=True))
            raise self._bad_cells_error(body.bad, layout.names, filled)
        names = [layout.names[j] for j in columns]
        label = None if labels is None or layout.text is None else layout.names[layout.text]
        return BinaryData(np.ascontiguousarray(cells), None, labels, names, label or None)

    def _bad_cells_error(self, bad: _BadCells, names: list[str], filled: dict[int, int]) -> DataError:
        """The error for all bad cells; `filled` counts the cells of each column that aren't missing."""
        cells = [
            (f"line {line}, column {quoted(names[j])}", text if finite_number(text) is not None else quoted(text))
            for line, j, text in bad.first
        ]
        # A column with hardly a 0 or 1 in it is something else; if all are, it is the coding that is.
        other = [names[j] for j in sorted(bad.counts) if bad.counts[j] >= 0.9 * filled[j]]
        ways = [_exclude_option(other)] if other and len(other) < len(filled) else []
        ways += self._ways_out(bad.first[0][2], excluding=bool(ways))
        fault = "neither 0 nor 1" if self.tokens.threshold is None else "not a finite number"
        return bad_cells_error(self.origin, cells, bad.counts.total(), f"use {', or '.join(ways)}", fault)

    def _ways_out(self, text: str, excluding: bool) -> list[str]:
        """What may be done about a cell with this text, when `excluding` its column was proposed or not."""
        word = text.strip()
        number = finite_number(word)
        if number is not None:
            threshold = self.origin.advice(number).removeprefix("use ")
            return [f"{option('missing', text)} if it stands for missing", threshold] if number < 0 else [threshold]
        if excluding:
            return []
        return [
            f"{option('presence', word)} if it marks a presence and empty cells are absences, true, false or "
            "missing (--true, --false, --missing) to say what words mean, or correct the cell"
        ]


def _exclude_option(names: list[str]) -> str:
    """The option that leaves these columns out, or the first few of them."""
    flags = " ".join(f"--exclude {name}" for name in names[:SHOWN])
    more = f" and {len(names) - SHOWN} more like it" if len(names) > SHOWN else ""
    return f"exclude={names[:SHOWN]} ({flags}){more} to leave out what is not 0-1"


def _picker(columns: Sequence[int]) -> Callable[[list[str]], Sequence[str]]:
    """A fast way to the fields at these positions."""
    first, last = columns[0], columns[-1] + 1
    if list(columns) == list(range(first, last)):
        return itemgetter(slice(first, last))  # of one column, too, a list
    return itemgetter(*columns)


def _are_labels(codes: bytes) -> bool:
    """Whether a column is more like labels: at least half of its filled cells are neither 0 nor 1."""
    filled = len(codes) - codes.count(MISSING_BYTE)
    return filled > 0 and 2 * codes.count(BAD_BYTE) >= filled
