"""Tables with a row for each case: what the columns are, and whether the cells are 0-1 data; of text, and of sheets.

A reader says how it gets at texts and codes; labels, metadata, notes and every refusal of cells are decided in
`WideTable`. Nothing here needs NumPy before the whole file is accepted, so a file is refused at once.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from operator import itemgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from latentbits.data.codes import BAD_BYTE, MISSING_BYTE, Tokens, as_text, row_blocks
from latentbits.data.long_format import refuse_long_format
from latentbits.data.messages import SHOWN, Origin, check_column_names, option, quoted, refusing_damage
from latentbits.data.read_options import UNREAD, ReadOptions
from latentbits.data.refusals import BadCells, BadColumn, Surroundings, refusal
from latentbits.data.roles import (
    LEAST_SHARE,
    ColumnChoice,
    Content,
    Roles,
    examine,
    find_roles,
    is_identifier,
    is_measure,
)
from latentbits.data.text_file import (
    ARRAY_BYTES,
    SHEET_BYTES,
    Header,
    Rows,
    TextFile,
    check_archive,
    check_unpacked,
    empty_file_error,
    no_row_error,
    rows_of_width,
    split_header,
)
from latentbits.data.visit_tables import with_blocks
from latentbits.errors import DataError
from latentbits.storage.files import restore_label

if TYPE_CHECKING:
    import numpy as np

    from latentbits.data.binary_data import BinaryData
    from latentbits.data.row_facts import RowFacts


EXAMINED_CELLS = 1 << 22
"""Larger tables aren't looked through for totals, and for measurements only where a column is 1 in every row."""


class WideTable(ABC):
    """A file, read by one set of options.

    `read` finds out what the columns hold that may be no data, calls `_find_roles` with it, then `_refuse` with the bad
    cells, and gives what is left to `_finished`.
    """

    names: list[str]
    in_blocks = False
    """Whether names of columns may repeat, as those of blocks of visits do: they get the number of their block."""

    def __init__(self, options: ReadOptions, origin: Origin) -> None:
        self.origin = origin
        self.choice = ColumnChoice.of(options)
        self.tokens = Tokens.of(options, origin)
        self.strict = self.tokens.without_threshold()  # by a threshold any number would be data

    @abstractmethod
    def read(self) -> BinaryData:
        """The data with their names; or a DataError with the place, the value and what to do about it."""

    @abstractmethod
    def collect(self, make: Callable[..., Any], columns: Sequence[str] | None) -> Any:
        """What `make` makes of (names, rows, columns, tokens, origin), of a table with a row for each observation.

        Other columns than these needn't be read; None is all.
        """

    @abstractmethod
    def _labels(self, j: int) -> list[str]:
        """The cells of a column that names the rows, or is metadata."""

    def _find_roles(self, contents: Mapping[int, Content], unnamed: str = "") -> None:
        self.contents = contents
        self.roles: Roles = find_roles(self.names, contents, self.choice, self.origin, unnamed)
        self.columns = self.choice.data(self.names, (self.roles.label, *self.roles.metadata), self.origin)

    def _refuse(
        self,
        bad: BadCells,
        codes_of: Callable[[int], bytes | bytearray],
        row_names: Sequence[str] | None = None,
    ) -> None:
        """Refuse long format, and cells that are neither 0, 1 nor missing; messages name lines, or rows by name."""
        refuse_long_format(self.names, self.contents, self.roles, bad, self.choice, self.origin)
        if bad:
            around = Surroundings.of(bad, self.names, self.columns, codes_of, self.roles.numbered, self._name_of_line)
            raise refusal(bad, around, self.tokens, self.origin, row_names)

    def _name_of_line(self, line: int) -> str:
        """What the row in a line of the file is called; "" if nothing."""
        return "" if self.roles.label is None else self._labels(self.roles.label)[line - 1]

    def _finished(self, data: BinaryData) -> BinaryData:
        """The cells with names, metadata and notes; warns of what was guessed."""
        if self.tokens.threshold is not None and self.choice.columns is None:
            data = self._counts_alone(data, self.tokens.threshold)
        roles, names = self.roles, [self.names[j] for j in self.columns]
        roles.warn(self.origin)
        label = roles.label
        return replace(
            data,
            row_names=None if label is None else self._labels(label),
            column_names=names,
            row_label=None if label is None else self.names[label] or None,
            facts=self._facts(),
            metadata={self.names[j]: self._labels(j) for j in roles.metadata} or None,
            notes=(*roles.notes, *self._unread()),
        )

    def _unread(self) -> list[str]:
        """A note of the columns that are passed over, as others are named as data."""
        if self.choice.columns is None:
            return []
        known = {self.roles.label, *self.columns, *self.roles.metadata, *self.choice.excluded(self.names, self.origin)}
        names = [quoted(name) for j, name in enumerate(self.names) if j not in known]
        more = f" and {len(names) - SHOWN} more" * (len(names) > SHOWN)
        return [f"{UNREAD}{', '.join(names[:SHOWN])}{more}"] if names else []

    def _counts_alone(self, data: BinaryData, threshold: float) -> BinaryData:
        """The columns that are data by the threshold; others are kept beside the rows, and totals are refused."""
        full = (data.ones_per_column() == data.observed_per_column()) & (data.observed_per_column() > 0)
        examined = self.columns
        if data.shape[0] * data.shape[1] > EXAMINED_CELLS:
            examined = [j for j, ones in zip(self.columns, full, strict=True) if ones]
        from latentbits.data.measured import measured_columns, no_counts_error, total

        numbers = self._numbers(examined)
        others = measured_columns(numbers, [self.names[j] for j in examined], threshold, self.origin)
        counts = [k for k in range(len(examined)) if k not in others]
        if len(examined) == len(self.columns) and (found := total(numbers[:, counts])):
            labels = None if self.roles.label is None else self._labels(self.roles.label)
            raise found.error([self.names[examined[k]] for k in counts], labels, self.origin)
        if not others:
            return data
        left = [k for k, j in enumerate(self.columns) if j not in {examined[other] for other in others}]
        if not left:
            raise no_counts_error(numbers, threshold, self.origin)
        self.roles = self.roles.with_measured({examined[k]: reason for k, reason in others.items()}, self.names)
        self.columns = [self.columns[k] for k in left]
        return _with_columns(data, left)

    def _numbers(self, columns: Sequence[int]) -> np.ndarray:
        """The cells of these columns as numbers, NaN where there is none."""
        import numpy as np

        return np.array([self._as_numbers(self._labels(j)) for j in columns], np.float64).reshape(len(columns), -1).T

    def _as_numbers(self, texts: Sequence[str]) -> list[float | None]:
        tokens = self.tokens
        return [None if tokens[text] == MISSING_BYTE else tokens.number(text) for text in texts]

    def _facts(self) -> RowFacts | None:
        """Covariates, coordinates and effort, as far as the caller wants them."""
        known = self.roles.facts
        if not known.columns:
            return None
        from latentbits.data.row_facts import RowFacts

        columns = {self.names[j]: self._values(j) for j in known.columns}
        covariates = [self.names[j] for j in known.covariates]
        coordinates = [self.names[j] for j in known.coordinates]
        effort = None if known.effort is None else self.names[known.effort]
        try:
            return RowFacts.of(columns, covariates=covariates, coordinates=coordinates or None, effort=effort)
        except DataError as error:
            raise self.origin.error(str(error)) from None

    def _values(self, j: int) -> np.ndarray:
        """A column that is no data: numbers, NaN where one is missing; or texts, empty where one is."""
        import numpy as np

        tokens = self.strict
        texts = ["" if tokens[text] == MISSING_BYTE else text for text in self._labels(j)]
        numbers = [tokens.number(text) for text in texts]
        if all(number is not None or not text for number, text in zip(numbers, texts, strict=True)):
            return np.array([np.nan if number is None else number for number in numbers])
        return np.array(texts, object)


def _with_columns(data: BinaryData, chosen: Sequence[int]) -> BinaryData:
    """These columns of data that have no names yet."""
    if data.packed is None:
        import numpy as np

        return replace(data, cells=np.ascontiguousarray(data.dense()[:, chosen]))
    from latentbits.data.encoding import pack

    blocks = (data.block(rows)[:, chosen] for rows in row_blocks(*data.shape))
    return replace(data, packed=pack(blocks, data.shape[0], len(chosen)))


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
            if self.in_blocks:
                head = head._replace(names=with_blocks(head.names))
            yield head, self._without_totals(rows_of_width(rows, len(head.names), self.origin), head.names)

    def _without_totals(self, rows: Rows, names: Sequence[str]) -> Rows:
        """The rows but for those that the caller leaves out."""
        left_out = self.choice.rows_left_out(names, self.origin)
        return rows if left_out is None else left_out.of(rows)

    def collect(self, make: Callable[..., Any], columns: Sequence[str] | None) -> Any:
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
        if choice.takes_all:
            candidates |= {j for j, name in enumerate(names) if is_measure(name)}
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
        words = [j for j, column in self._bad.items() if self.choice.columns is None and self._is_no_data(j, column)]
        if words:
            self._texts |= self._read_again(words)

    def _read_again(self, columns: Sequence[int]) -> dict[int, list[str]]:
        """The texts of encoded columns."""
        lines = set(self._lines)
        with self.open_rows() as (_, rows):
            picked = [[row[j].strip() for j in columns] for line, row in rows if line in lines]
        return dict(zip(columns, map(list, zip(*picked, strict=True)), strict=True))

    def _name_of_line(self, line: int) -> str:
        return super()._name_of_line(self._lines.index(line) + 1)

    def _numbers(self, columns: Sequence[int]) -> np.ndarray:
        import numpy as np

        texts = self._read_again(columns) if columns else {}
        return np.array([self._as_numbers(texts[j]) for j in columns], np.float64).reshape(len(columns), -1).T

    def _is_no_data(self, j: int, column: BadColumn) -> bool:
        """Whether an encoded column may be metadata or, where all of these are asked for, a covariate."""
        n_filled = len(self._lines) - self._column(j).count(MISSING_BYTE)
        if self.choice.takes_all:
            return column.count >= LEAST_SHARE * n_filled
        return column.count == n_filled and all(self.tokens.number(word) is None for word in column.words)

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
        if j not in self._texts:
            self._texts |= self._read_again([j])
        return list(map(restore_label, self._texts[j]))


def _picker(columns: Sequence[int]) -> Callable[[list[str]], Sequence[str]]:
    """A fast way to the fields at these positions."""
    if not columns:
        return lambda row: ()
    first, last = columns[0], columns[-1] + 1
    if list(columns) == list(range(first, last)):
        return itemgetter(slice(first, last))  # of one column, too, a list
    return itemgetter(*columns)


_ROWS = 1 << 20
"""Of a sheet, at most: a crafted one may claim billions of empty rows."""


def open_sheet(file: Path, kind: str, options: ReadOptions, origin: Origin) -> TextReader:
    """A sheet of a workbook, to be read; for `FORMATS`."""
    return TextReader(ExcelSheet(file, origin, options.sheet), options, origin)


@dataclass(frozen=True)
class ExcelSheet:
    """A sheet of a workbook.

    Attributes
    ----------
    file : pathlib.Path
        The workbook.
    origin : Origin
        Where the data come from, for error messages.
    sheet : str or None
        The name of the sheet; the only one that isn't empty if None.
    """

    file: Path
    origin: Origin
    sheet: str | None = None

    @contextmanager
    def rows(self) -> Iterator[Rows]:
        """Read the sheet, within a `with` statement."""
        try:
            import openpyxl  # noqa: F401
        except ImportError:
            raise self.origin.error('reading .xlsx needs openpyxl; pip install "latentbits[excel]"') from None
        filled = [j for j in range(len(self._cells[0])) if any(row[j].strip() for row in self._cells)]
        yield ((i + 1, [row[j] for j in filled]) for i, row in enumerate(self._cells))

    @cached_property
    def _cells(self) -> list[list[str]]:
        with refusing_damage(self.origin, "this can't be read as .xlsx", "save the table again"):
            check_archive(self.file, SHEET_BYTES, self.origin)
            filled = {name: rows for name, rows in self._sheets() if rows}
        if not filled:
            raise empty_file_error(self.origin)
        name = next(iter(filled)) if self.sheet is None and len(filled) == 1 else self.sheet
        if name not in filled:
            listed = ", ".join(map(quoted, filled))
            way_out = option("sheet", max(filled, key=lambda sheet: sum(map(len, filled[sheet]))))
            raise self.origin.error(f"the sheets are {listed}; choose one, such as {way_out}")
        rows = filled[name]
        width = max(map(len, rows))
        check_unpacked(self.file.stat().st_size, 8 * len(rows) * width, ARRAY_BYTES, self.origin)
        return [row + [""] * (width - len(row)) for row in rows]

    def names(self) -> list[str]:
        """The names of the sheets that aren't empty."""
        with refusing_damage(self.origin, "this can't be read as .xlsx", "save the table again"):
            check_archive(self.file, SHEET_BYTES, self.origin)
            return [name for name, rows in self._sheets() if rows]

    def _sheets(self) -> Iterator[tuple[str, list[list[str]]]]:
        """The names of all sheets, and their rows up to the last cell that isn't empty."""
        import openpyxl

        with self.file.open("rb") as stream:  # openpyxl leaves a file open that it can't read
            workbook = openpyxl.load_workbook(stream, read_only=True, data_only=True, keep_links=False)
            for sheet in workbook.worksheets:
                sheet.reset_dimensions()  # some programs write false ones
                rows: list[list[str]] = []
                for cells in sheet.iter_rows():
                    if len(rows) == _ROWS:
                        raise ValueError(f"the sheet {quoted(sheet.title)} has more rows than Excel knows")
                    rows.append(_up_to_last(["" if cell.data_type == "e" else as_text(cell.value) for cell in cells]))
                yield sheet.title, _up_to_last(rows)


Filled = TypeVar("Filled", str, list[str])


def _up_to_last(parts: list[Filled]) -> list[Filled]:
    """Without the empty ones at the end."""
    while parts and not parts[-1]:
        parts.pop()
    return parts
