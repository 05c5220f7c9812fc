"""Rows of text as 0-1 data: the labels, the metadata, the cells, and one error for all cells that are neither 0 nor 1.

Nothing here needs NumPy before the whole file is accepted, so a file is refused at once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from operator import itemgetter
from typing import TYPE_CHECKING, Protocol

from latentbits.data.codes import BAD_BYTE, MISSING_BYTE, Tokens
from latentbits.data.long_format import refuse_long_format
from latentbits.data.messages import Origin, quoted
from latentbits.data.names import check_column_names
from latentbits.data.refusals import BadCells, Surroundings, refusal
from latentbits.data.roles import ColumnChoice, Content, Roles, examine, find_roles, is_identifier, is_measure
from latentbits.data.text_file import Header, Rows, no_row_error, rows_of_width, split_header
from latentbits.storage.files import restore_label

if TYPE_CHECKING:
    import numpy as np

    from latentbits.data.binary_data import BinaryData

__all__ = ["RowSource", "TextReader", "open_rows"]


class RowSource(Protocol):
    """A file of rows of text, which may be opened several times."""

    def rows(self) -> AbstractContextManager[Rows]:
        """Open the file, within a `with` statement."""


@contextmanager
def open_rows(source: RowSource, header: bool, origin: Origin) -> Iterator[tuple[Header, Rows]]:
    """Open a file, within a `with` statement, and take the header off."""
    with source.rows() as rows:
        head, rows = split_header(rows, header, origin)
        yield head, rows_of_width(rows, len(head.names), origin)


@dataclass(frozen=True)
class _Layout:
    """Which columns are kept as text, as they may be no data, and which are encoded row by row."""

    header: Header
    kept: list[int]
    encoded: list[int]


@dataclass
class _Body:
    """The rows of a file: codes of the encoded columns, texts of the others, and the rows' lines."""

    texts: dict[int, list[str]]
    codes: bytearray = field(default_factory=bytearray)
    lines: list[int] = field(default_factory=list)
    empty: list[int] = field(default_factory=list)
    bad: BadCells = field(default_factory=BadCells)


@dataclass(frozen=True)
class TextReader:
    """One file of rows of text, read by one set of options.

    Attributes
    ----------
    source : RowSource
        The file.
    origin : Origin
        Where the data come from, for error messages.
    header : bool
        Whether the first row has column names.
    choice : ColumnChoice
        The columns asked for.
    tokens : Tokens
        What cells mean.
    """

    source: RowSource
    origin: Origin
    header: bool
    choice: ColumnChoice
    tokens: Tokens

    def read(self) -> BinaryData:
        """Read the file."""
        with open_rows(self.source, self.header, self.origin) as (header, rows):
            if self.header:
                self._refuse_data_as_header(header)
            layout = self._layout(header)
            body = self._read_body(rows, layout)
        return _Table(self, layout, body).accepted()

    @cached_property
    def strict(self) -> Tokens:
        """The words without the threshold, by which any number would be data."""
        return self.tokens.without_threshold()

    def _refuse_data_as_header(self, header: Header) -> None:
        names = header.names
        data = [code != BAD_BYTE for code in self.strict.codes(names)]
        repeated = len(set(names[1:])) < len(names[1:])
        if any(names) and (all(data) or (all(data[1:]) and repeated)):
            raise self.origin.error(
                f"this looks like data ({quoted(names[-1])}), but a header line with column names is "
                "expected; add one, or use header=False (--no-header)",
                header.place,
            )

    def _layout(self, header: Header) -> _Layout:
        names, choice, origin = header.names, self.choice, self.origin
        label, beside = choice.label(names, origin), choice.beside(names, origin)
        found = 0 if choice.row_labels is None and not names[0] else label
        check_column_names(names, origin, header.place, unnamed=found)
        data = choice.data(names, (found, *beside), origin)
        candidates = {j for j, name in enumerate(names) if is_identifier(name)} | {0}
        kept = (candidates - choice.excluded(names, origin)) | {*beside, *([] if found is None else [found])}
        return _Layout(header, sorted(kept), [j for j in data if j not in kept])

    def _read_body(self, rows: Rows, layout: _Layout) -> _Body:
        body = _Body({j: [] for j in layout.kept})
        columns, pick, encode_row = layout.encoded, _picker(layout.encoded), self.tokens.codes
        texts_of = list(body.texts.items())
        for line, row in rows:
            cells = pick(row)
            codes = encode_row(cells)
            body.codes += codes
            if BAD_BYTE in codes:
                body.bad.add_row(line, columns, cells, codes)
            if not any(row):
                body.empty.append(len(body.lines))
            body.lines.append(line)
            for j, texts in texts_of:
                texts.append(row[j].strip())
        return body

    def texts_of(self, columns: Sequence[int]) -> dict[int, list[str]]:
        """Read the file once more, for columns that turned out to be text."""
        with open_rows(self.source, self.header, self.origin) as (_, rows):
            picked = [[row[j].strip() for j in columns] for _, row in rows]
        return dict(zip(columns, map(list, zip(*picked, strict=True)), strict=True))


class _Table:
    """A file that was read: what its columns are, and whether its cells are 0-1 data."""

    def __init__(self, reader: TextReader, layout: _Layout, body: _Body) -> None:
        self.reader, self.layout, self.body = reader, layout, body
        self.names = layout.header.names
        self.texts = body.texts | self._texts_of_words()
        self.roles = self._find_roles()
        if self.roles.label is not None and body.empty:
            self._drop_empty_rows()
        others = (self.roles.label, *self.roles.metadata)
        self.columns = reader.choice.data(self.names, others, reader.origin)

    def accepted(self) -> BinaryData:
        """The data, or the error for all bad cells."""
        choice, origin = self.reader.choice, self.reader.origin
        refuse_long_format(self.names, self.contents, self.roles, self.body.bad, choice, origin)
        codes = {j: self.reader.tokens.codes(self.texts[j]) for j in self.columns if j in self.body.texts}
        self._refuse_bad_cells(codes)
        roles = self.roles.doubting(self._measures(codes))
        roles.warn(origin)
        from latentbits.data.binary_data import BinaryData

        label, beside = self.roles.label, self.roles.metadata
        return BinaryData(
            self._cells(codes),
            row_names=None if label is None else list(map(restore_label, self.texts[label])),
            column_names=[self.names[j] for j in self.columns],
            row_label=None if label is None else self.names[label] or None,
            metadata={self.names[j]: list(map(restore_label, self.texts[j])) for j in beside} or None,
            notes=roles.notes,
        )

    def _measures(self, codes: dict[int, bytes]) -> list[str]:
        """The data columns named like measurements that a threshold makes 1 in every row."""
        if self.reader.tokens.threshold is None:
            return []
        named = [j for j in self.columns if is_measure(self.names[j])]
        return [self.names[j] for j in named if 0 not in (codes[j] if j in codes else self._encoded(j))]

    def _encoded(self, j: int) -> bytearray:
        """The codes of a column that was encoded row by row."""
        return self.body.codes[self.layout.encoded.index(j) :: len(self.layout.encoded)]

    def _n_filled(self, j: int) -> int:
        return len(self.body.lines) - self._encoded(j).count(MISSING_BYTE)

    def _texts_of_words(self) -> dict[int, list[str]]:
        """The cells of the columns that hold nothing but unknown words."""
        if self.reader.choice.columns is not None:
            return {}
        number = self.reader.tokens.number
        words = [
            j
            for j, column in self.body.bad.items()
            if all(number(word) is None for word in column.words) and column.count == self._n_filled(j)
        ]
        return self.reader.texts_of(words) if words else {}

    def _find_roles(self) -> Roles:
        empty = set(self.body.empty)
        self.contents: dict[int, Content] = {
            j: examine([text for i, text in enumerate(texts) if i not in empty] if empty else texts, self.reader.strict)
            for j, texts in self.texts.items()
        }
        header = self.layout.header
        unnamed = (
            "the header has no name for it" if header.lacks_label else "it has no name" if not self.names[0] else ""
        )
        return find_roles(self.names, self.contents, self.reader.choice, self.reader.origin, unnamed)

    def _drop_empty_rows(self) -> None:
        """Leave out rows without a name or any cell, such as those at the end of an exported sheet."""
        width, empty = len(self.layout.encoded), set(self.body.empty)
        left = [i for i in range(len(self.body.lines)) if i not in empty]
        if not left:
            raise no_row_error(self.reader.origin)
        self.body.codes = bytearray().join(self.body.codes[i * width : (i + 1) * width] for i in left)
        self.body.lines = [self.body.lines[i] for i in left]
        self.texts = {j: [texts[i] for i in left] for j, texts in self.texts.items()}

    def _refuse_bad_cells(self, codes: dict[int, bytes]) -> None:
        """Refuse cells of data columns that are neither 0, 1 nor missing; `codes` are those of columns kept as text."""
        bad = BadCells({j: column for j, column in self.body.bad.items() if j in self.columns})
        for j, column in codes.items():
            if BAD_BYTE in column:
                for line, text, code in zip(self.body.lines, self.texts[j], column, strict=True):
                    bad.add_row(line, [j], [text], bytes([code]))
        if bad:
            columns = {j: codes[j] if j in codes else self._encoded(j) for j in bad}
            filled = {j: len(column) - column.count(MISSING_BYTE) for j, column in columns.items()}
            zeros = {j: column.count(0) for j, column in columns.items()}
            everything = b"".join([self.body.codes, *codes.values()])
            zero, one, missing = (code in everything for code in (0, 1, MISSING_BYTE))
            around = Surroundings(self.names, len(self.columns), filled, zeros, zero, one, missing, self.roles.numbered)
            raise refusal(bad, around, self.reader.tokens, self.reader.origin)

    def _cells(self, codes: dict[int, bytes]) -> np.ndarray:
        """The codes of the data columns, in their order."""
        import numpy as np

        encoded = self.layout.encoded
        cells = np.frombuffer(self.body.codes, np.int8).reshape(len(self.body.lines), len(encoded))
        if encoded == self.columns:
            return cells
        where = {j: k for k, j in enumerate(encoded)}
        chosen = np.empty((len(cells), len(self.columns)), np.int8)
        for k, j in enumerate(self.columns):
            chosen[:, k] = np.frombuffer(codes[j], np.int8) if j in codes else cells[:, where[j]]
        return chosen


def _picker(columns: Sequence[int]) -> Callable[[list[str]], Sequence[str]]:
    """A fast way to the fields at these positions."""
    if not columns:
        return lambda row: ()
    first, last = columns[0], columns[-1] + 1
    if list(columns) == list(range(first, last)):
        return itemgetter(slice(first, last))  # of one column, too, a list
    return itemgetter(*columns)
