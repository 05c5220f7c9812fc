"""Rows of text as 0-1 data: columns that may be no data are kept as text, the others are encoded row by row.

Nothing here needs NumPy before the whole file is accepted, so a file is refused at once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from operator import itemgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from latentbits.data.codes import BAD_BYTE, MISSING_BYTE
from latentbits.data.messages import Origin, quoted
from latentbits.data.names import check_column_names
from latentbits.data.read_options import ReadOptions
from latentbits.data.refusals import BadCells
from latentbits.data.roles import examine, is_identifier
from latentbits.data.text_file import Header, Rows, TextFile, no_row_error, rows_of_width, split_header
from latentbits.data.wide_table import WideTable
from latentbits.storage.files import restore_label

if TYPE_CHECKING:
    import numpy as np

    from latentbits.data.binary_data import BinaryData


class RowSource(Protocol):
    """A file of rows of text, which may be opened several times."""

    def rows(self) -> AbstractContextManager[Rows]:
        """Open the file, within a `with` statement: line numbers and fields of all rows, the header included."""


def open_text(file: Path, kind: str, options: ReadOptions, origin: Origin) -> TextReader:
    """Delimited text, to be read; for `FORMATS`."""
    source = TextFile(file, origin, options.encoding, options.delimiter, options.comment)
    return TextReader(source, options, origin)


class TextReader(WideTable):
    """A file of rows of text."""

    def __init__(self, source: RowSource, options: ReadOptions, origin: Origin) -> None:
        super().__init__(options, origin)
        self._source, self._has_header = source, options.header
        self._texts: dict[int, list[str]] = {}
        self._codes = bytearray()  # of the encoded columns, row by row
        self._encoded: dict[int, int] = {}  # the place of each of them
        self._lines: list[int] = []
        self._empty: list[int] = []
        self._bad = BadCells()

    @contextmanager
    def open_rows(self) -> Iterator[tuple[Header, Rows]]:
        """The header, its names not yet validated, and the rows of data, each with a field for each name."""
        with self._source.rows() as rows:
            head, rows = split_header(rows, self._has_header, self.origin)
            yield head, rows_of_width(rows, len(head.names), self.origin)

    def collect(self, make: Callable[..., Any], columns: Sequence[str]) -> Any:
        """See `WideTable`."""
        with self.open_rows() as (head, rows):
            check_column_names(head.names, self.origin, head.place, unnamed=0)
            return make(head.names, rows, columns, self.tokens, self.origin)

    def read(self) -> BinaryData:
        """See `WideTable`."""
        with self.open_rows() as (header, rows):
            if self._has_header:
                self._refuse_data_as_header(header)
            self.names = header.names
            self._read_rows(rows, self._split_columns(header))
        self._read_words()
        empty = set(self._empty)
        filled = self._without(empty) if empty else self._texts
        unnamed = "the header has no name for it" if header.lacks_label else "" if self.names[0] else "it has no name"
        self._find_roles({j: examine(texts, self.strict) for j, texts in filled.items()}, unnamed)
        if self.roles.label is not None and empty:
            self._drop_rows(empty)
        self._refuse(self._bad_cells(), self._column)
        from latentbits.data.binary_data import BinaryData

        return self._finished(BinaryData(self._cells()))

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

    def _split_columns(self, header: Header) -> list[int]:
        """The columns to keep as text, as they may be no data; the others are encoded."""
        names, choice, origin = header.names, self.choice, self.origin
        label, beside = choice.label(names, origin), choice.beside(names, origin)
        found = 0 if choice.row_labels is None and not names[0] else label
        check_column_names(names, origin, header.place, unnamed=found)
        data = choice.data(names, (found, *beside), origin)
        candidates = {j for j, name in enumerate(names) if is_identifier(name)} | {0}
        kept = (candidates - choice.excluded(names, origin)) | {*beside, *([] if found is None else [found])}
        self._encoded = {j: k for k, j in enumerate(j for j in data if j not in kept)}
        return sorted(kept)

    def _read_rows(self, rows: Rows, kept: Sequence[int]) -> None:
        self._texts = {j: [] for j in kept}
        columns, encode_row = list(self._encoded), self.tokens.codes
        pick = _picker(columns)
        texts_of = list(self._texts.items())
        for line, row in rows:
            cells = pick(row)
            codes = encode_row(cells)
            self._codes += codes
            if BAD_BYTE in codes:
                self._bad.add_row(line, columns, cells, codes)
            if not any(row):
                self._empty.append(len(self._lines))
            self._lines.append(line)
            for j, texts in texts_of:
                texts.append(row[j].strip())

    def _read_words(self) -> None:
        """Read the file once more, for the texts of encoded columns that hold nothing but unknown words."""
        words = [
            j
            for j, column in self._bad.items()
            if self.choice.columns is None
            and all(self.tokens.number(word) is None for word in column.words)
            and column.count == len(self._lines) - self._column(j).count(MISSING_BYTE)
        ]
        if words:
            with self.open_rows() as (_, rows):
                picked = [[row[j].strip() for j in words] for _, row in rows]
            self._texts |= zip(words, map(list, zip(*picked, strict=True)), strict=True)

    def _without(self, rows: set[int]) -> dict[int, list[str]]:
        return {j: [text for i, text in enumerate(texts) if i not in rows] for j, texts in self._texts.items()}

    def _drop_rows(self, empty: set[int]) -> None:
        """Leave out rows without a name or any cell, such as those at the end of an exported sheet."""
        width = len(self._encoded)
        left = [i for i in range(len(self._lines)) if i not in empty]
        if not left:
            raise no_row_error(self.origin)
        self._codes = bytearray().join(self._codes[i * width : (i + 1) * width] for i in left)
        self._lines = [self._lines[i] for i in left]
        self._texts = self._without(empty)

    def _column(self, j: int) -> bytes | bytearray:
        if j in self._encoded:
            return self._codes[self._encoded[j] :: len(self._encoded)]
        return self.tokens.codes(self._texts[j])

    def _bad_cells(self) -> BadCells:
        data = set(self.columns)
        bad = BadCells({j: column for j, column in self._bad.items() if j in data})
        for j in self.columns:
            if j not in self._encoded:
                bad.add_column(j, self._column(j), self._lines.__getitem__, self._texts[j].__getitem__)
        return bad

    def _cells(self) -> np.ndarray:
        """The codes of the data columns, in their order."""
        import numpy as np

        cells = np.frombuffer(self._codes, np.int8).reshape(len(self._lines), len(self._encoded))
        if list(self._encoded) == self.columns:
            return cells
        where = self._encoded
        chosen = np.empty((len(cells), len(self.columns)), np.int8)
        for k, j in enumerate(self.columns):
            chosen[:, k] = cells[:, where[j]] if j in where else np.frombuffer(self._column(j), np.int8)
        return chosen

    def _labels(self, j: int) -> list[str]:
        return list(map(restore_label, self._texts[j]))


def _picker(columns: Sequence[int]) -> Callable[[list[str]], Sequence[str]]:
    """A fast way to the fields at these positions."""
    if not columns:
        return lambda row: ()
    first, last = columns[0], columns[-1] + 1
    if list(columns) == list(range(first, last)):
        return itemgetter(slice(first, last))  # of one column, too, a list
    return itemgetter(*columns)
