"""Files of typed columns, Parquet and Feather; large Parquet tables are read in blocks of rows, and kept as bits."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from latentbits.data.binary_data import BinaryData
from latentbits.data.blocks import pack
from latentbits.data.codes import BAD, MISSING, Tokens
from latentbits.data.compressed import ARRAY_BYTES, check_unpacked
from latentbits.data.encoding import codes_of
from latentbits.data.long_format import refuse_long_format
from latentbits.data.messages import Origin, refusing_damage
from latentbits.data.names import check_column_names, checked_text
from latentbits.data.refusals import BadCells, Surroundings, refusal
from latentbits.data.roles import ColumnChoice, examine, find_roles, is_identifier, is_measure, positions
from latentbits.data.sheet import as_text

__all__ = ["LargeParquet", "Layout", "TypedTable", "check_texts", "is_large", "open_parquet", "read_frame"]


_CELLS = 1 << 25
"""A file of any size may have so many cells, which run-length encoding can hold in a few bytes."""


class Layout(NamedTuple):
    """What the columns of a table are.

    Attributes
    ----------
    contents : dict of int to Content
        What the columns hold that may be no data.
    roles : Roles
        Label, metadata and notes.
    rows : list of str or None
        The names of the rows.
    columns : list of int
        The data.
    """

    contents: dict[int, Any]
    roles: Any
    rows: list[str] | None
    columns: list[int]


def read_frame(file: Path, kind: str, origin: Origin) -> pd.DataFrame:
    """Read a file as a pandas frame."""
    name = "Parquet" if kind == "parquet" else "Feather"
    try:
        import pyarrow  # noqa: F401
    except ImportError:
        raise origin.error(f'reading {name} needs pyarrow; pip install "latentbits[parquet]"') from None
    with refusing_damage(origin, f"this can't be read as {name}", "save the table again"):
        if kind == "parquet":
            table = open_parquet(file, origin).read(use_pandas_metadata=True)
        else:
            from pyarrow import feather

            table = feather.read_table(file)
            check_unpacked(file.stat().st_size, table.num_rows * max(1, table.num_columns), _CELLS, origin)
        check_texts(table, file, origin)
        return table.to_pandas()


def open_parquet(file: Path, origin: Origin) -> Any:
    """Open a Parquet file; texts are read as references to the different ones."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    opened = pq.ParquetFile(file)
    about, schema = opened.metadata, opened.schema_arrow
    check_unpacked(file.stat().st_size, about.num_rows * max(1, about.num_columns), _CELLS, origin)
    texts = [name for name, kind in zip(schema.names, schema.types, strict=True) if pa.types.is_string(kind)]
    return pq.ParquetFile(file, read_dictionary=texts)


def check_texts(table: Any, file: Path, origin: Origin) -> None:
    """Refuse texts that are no UTF-8, or few and long in the file, and would be many and long in memory."""
    import pyarrow as pa
    import pyarrow.compute as pc

    table.validate(full=True)  # otherwise texts may be anywhere in memory
    for column in table.columns:
        if pa.types.is_dictionary(column.type):
            texts = [part.dictionary for part in column.chunks if pa.types.is_string(part.dictionary.type)]
            longest = max((pc.max(pc.binary_length(different)).as_py() or 0 for different in texts), default=0)
            check_unpacked(file.stat().st_size, longest * table.num_rows, ARRAY_BYTES, origin)


class TypedTable:
    """A frame, of which some columns are data."""

    def __init__(
        self, frame: pd.DataFrame, choice: ColumnChoice, tokens: Tokens, words_given: bool, origin: Origin
    ) -> None:
        index = frame.index
        self.has_index = choice.row_labels is None and not (
            isinstance(index, pd.RangeIndex) and (index.start, index.step) == (0, 1)
        )
        self.names = check_column_names(frame.columns, origin)
        self.columns = [frame.iloc[:, j] for j in range(len(self.names))]
        if self.has_index:
            self.names.insert(0, str(index.name or ""))
            self.columns.insert(0, index.to_series())
            choice = replace(choice, row_labels=0)
        self.choice, self.tokens, self.words_given, self.origin = choice, tokens, words_given, origin

    def read(self) -> BinaryData:
        """Encode the data columns."""
        layout = self._layout()
        cells = np.column_stack([self._codes(j) for j in layout.columns])
        self._refuse(cells, layout, lambda i, j: as_text(self.columns[j].iloc[i]).strip())
        return self._made(BinaryData(cells), layout)

    def _layout(self) -> Layout:
        """Which columns name the rows, are metadata, and are data."""
        strict = self.tokens.without_threshold()
        contents = {j: examine(self._texts(j), strict) for j in range(len(self.names)) if self._may_be_other(j)}
        roles = find_roles(self.names, contents, self.choice, self.origin)
        if self.has_index:
            roles = roles._replace(notes=("the table's index names the rows", *roles.notes))
        label = roles.label
        rows = None if label is None else checked_text(self._texts(label), self.origin, "row name")
        columns = self.choice.data(self.names, (label, *roles.metadata), self.origin)
        return Layout(contents, roles, rows, columns)

    def _refuse(self, cells: np.ndarray, layout: Layout, text_at: Callable[[int, int], str], first: int = 0) -> None:
        """Refuse rows of codes, the first of them number `first`, among which a cell is neither 0, 1 nor missing."""
        contents, roles, rows, columns = layout
        bad = BadCells()
        for k in np.flatnonzero((cells == BAD).any(axis=0)).tolist():
            for i in np.flatnonzero(cells[:, k] == BAD).tolist():
                bad.add_row(first + i + 1, [columns[k]], [text_at(i, columns[k])], cells[i, k].tobytes())
        refuse_long_format(self.names, contents, roles, bad, self.choice, self.origin)
        if bad:
            filled = {j: int((cells[:, k] != MISSING).sum()) for k, j in enumerate(columns) if j in bad}
            zeros = {j: int((cells[:, k] == 0).sum()) for k, j in enumerate(columns) if j in bad}
            zero, one, missing = (bool((cells == code).any()) for code in (0, 1, MISSING))
            around = Surroundings(self.names, len(columns), filled, zeros, zero, one, missing, roles.numbered)
            raise refusal(bad, around, self.tokens, self.origin, rows)

    def _made(self, data: BinaryData, layout: Layout) -> BinaryData:
        """The data with names, metadata and notes."""
        roles, columns = layout.roles, layout.columns
        names = [self.names[j] for j in columns]
        if self.tokens.threshold is not None:
            is_full = data.ones_per_column() == data.observed_per_column()
            roles = roles.doubting(
                [name for name, full in zip(names, is_full, strict=True) if full and is_measure(name)]
            )
        roles.warn(self.origin)
        return replace(
            data,
            row_names=layout.rows,
            column_names=names,
            row_label=None if roles.label is None else self.names[roles.label] or None,
            metadata={self.names[j]: self._texts(j) for j in roles.metadata} or None,
            notes=roles.notes,
        )

    def observations(self, columns: Sequence[str]) -> tuple[list[str], Iterator[tuple[int, Sequence[str]]]]:
        """The names and the rows of some columns as text, for tables with a row for each observation."""
        where = positions(columns, self.names, self.origin)
        texts = zip(*map(self._texts, where), strict=True)
        return [self.names[j] for j in where], enumerate(texts, start=1)

    def _texts(self, j: int) -> list[str]:
        return [as_text(value).strip() for value in self.columns[j].tolist()]

    def _is_number(self, j: int) -> bool:
        return pd.api.types.is_numeric_dtype(self.columns[j].dtype)

    def _may_be_other(self, j: int) -> bool:
        """Whether a column may be something else than data."""
        return j == 0 or not self._is_number(j) or is_identifier(self.names[j])

    def _codes(self, j: int) -> np.ndarray:
        if self._is_number(j) and not self.words_given:
            values = self.columns[j].to_numpy(dtype=np.float64, na_value=np.nan)
            return codes_of(values, self.tokens.threshold)
        return np.frombuffer(self.tokens.codes(self._texts(j)), np.int8)


LARGE = 1 << 24
"""Cells from which on a file is read in blocks: as a frame of floats it would take 128 MB."""

BATCH_CELLS = 1 << 24
"""Cells of a block."""


def is_large(path: Path) -> bool:
    """Whether to read a Parquet table in blocks: a large file, or any folder of files."""
    if path.is_dir():
        return True
    try:
        import pyarrow.parquet as pq

        about = pq.read_metadata(path)
        index = (about.schema.to_arrow_schema().pandas_metadata or {}).get("index_columns", [])
    except Exception:  # a damaged file raises anything, and the reader will say so
        return False
    numbered = [one for one in index if isinstance(one, dict) and (one.get("start"), one.get("step")) != (0, 1)]
    if numbered or len(index) > 1:  # an index that only pandas knows how to read
        return False
    return bool(about.num_rows * about.num_columns > LARGE)


class LargeParquet(TypedTable):
    """A Parquet table of which only those columns are held at once that may be no data; see `TypedTable`."""

    def __init__(self, path: Path, choice: ColumnChoice, tokens: Tokens, words_given: bool, origin: Origin) -> None:
        self.choice, self.tokens, self.words_given, self.origin = choice, tokens, words_given, origin
        self.has_index = False
        self._paths = sorted(path.glob("*.parquet")) if path.is_dir() else [path]
        self._files = self._opened()
        first = self._files[0]
        index = self._stored_index(first.schema_arrow)
        self._stored_names = [name for name in first.schema_arrow.names if name != index]
        self.names = check_column_names(self._stored_names, origin)
        self._types = [first.schema_arrow.field(name).type for name in self._stored_names]
        if index is not None and choice.row_labels is None:
            self._take_index(index, first.schema_arrow)
        self.n_rows = sum(file.metadata.num_rows for file in self._files)

    def _take_index(self, index: str, schema: Any) -> None:
        """Let the index that pandas has stored name the rows."""
        self.has_index = True
        self._stored_names.insert(0, index)
        self._types.insert(0, schema.field(index).type)
        self.names.insert(0, "" if index.startswith("__index_level_") else index)
        self.choice = replace(self.choice, row_labels=0)

    def _opened(self) -> list[Any]:
        try:
            import pyarrow  # noqa: F401
        except ImportError:
            raise self.origin.error('reading Parquet needs pyarrow; pip install "latentbits[parquet]"') from None
        files: list[Any] = []
        for part in self._paths:
            with refusing_damage(self.origin, f"{part.name} can't be read as Parquet", "save it again"):
                files.append(open_parquet(part, self.origin))
            self._check_like(files[-1].schema_arrow, files[0].schema_arrow, part.name, self._paths[0].name)
        return files

    def _check_like(self, schema: Any, first: Any, name: str, first_name: str) -> None:
        """Refuse a file of a folder that has other columns than the first, or columns of other kinds."""
        if schema.names != first.names:
            same = sorted(schema.names) == sorted(first.names)
            other = next((column for column in schema.names if column not in first.names), None)
            what = "its columns in another order" if same else "other columns"
            such = "" if same or other is None else f', such as "{other}"'
            raise self.origin.error(f"{name} has {what} than {first_name}{such}; give all files the same columns")
        for column, one, other in zip(schema.names, schema.types, first.types, strict=True):
            if _is_numeric(one) != _is_numeric(other):
                raise self.origin.error(
                    f'column "{column}" is {one} in {name} and {other} in {first_name}; give all files the same types'
                )

    def _stored_index(self, schema: Any) -> str | None:
        """The column in which pandas has stored the index, if it does more than count the rows."""
        with self._reading():
            stored = [name for name in (schema.pandas_metadata or {}).get("index_columns", ()) if isinstance(name, str)]
        if len(stored) > 1:
            raise self.origin.error("the table's index has several levels; use reset_index() before it is saved")
        return stored[0] if stored else None

    def read(self) -> BinaryData:
        """Encode the data columns; see `TypedTable.read`."""
        layout = self._layout()
        packed = pack(self._blocks(layout), self.n_rows, len(layout.columns))
        return self._made(BinaryData(None, packed=packed), layout)

    def _blocks(self, layout: Layout) -> Iterator[np.ndarray]:
        """Codes of the data columns, block by block; the first bad block is refused."""
        first = 0
        for batch in self._batches([self._stored_names[j] for j in layout.columns]):
            cells = np.empty((batch.num_rows, len(layout.columns)), np.int8)
            for k, j in enumerate(layout.columns):
                cells[:, k] = self._batch_codes(batch.column(k), j)
            if first == 0 or cells.min() == BAD:
                self._refuse(cells, layout, partial(_text_at, batch, layout.columns), first)
            yield cells
            first += batch.num_rows

    def _batches(self, names: list[str]) -> Iterator[Any]:
        size = max(1, BATCH_CELLS // max(1, len(names)))
        with self._reading():
            for file in self._files:
                for batch in file.iter_batches(batch_size=size, columns=names):
                    yield batch.select(names)

    def _reading(self) -> AbstractContextManager[None]:
        return refusing_damage(self.origin, "this can't be read as Parquet", "save the table again")

    def _batch_codes(self, column: Any, j: int) -> np.ndarray:
        import pyarrow as pa

        if self._is_number(j) and not self.words_given:
            plain = column.cast(pa.int8()) if pa.types.is_boolean(column.type) else column
            return codes_of(plain.to_numpy(zero_copy_only=False), self.tokens.threshold)
        return np.frombuffer(self.tokens.codes([as_text(value).strip() for value in column.to_pylist()]), np.int8)

    def _texts(self, j: int) -> list[str]:
        with self._reading():
            tables = [file.read(columns=[self._stored_names[j]]) for file in self._files]
            for table, path in zip(tables, self._paths, strict=True):
                check_texts(table, path, self.origin)
            parts = [table.column(0) for table in tables]
        values = pd.concat([part.to_pandas() for part in parts], ignore_index=True)
        return [as_text(value).strip() for value in values.tolist()]

    def _is_number(self, j: int) -> bool:
        return _is_numeric(self._types[j])


def _text_at(batch: Any, columns: Sequence[int], i: int, j: int) -> str:
    """The text of a cell of a block whose columns are these of the table."""
    return as_text(batch.column(columns.index(j))[i].as_py()).strip()


def _is_numeric(kind: Any) -> bool:
    """Whether an Arrow type is one of numbers, or of 0 and 1."""
    import pyarrow as pa

    return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_boolean(kind))
