"""Files of typed columns, Parquet and Feather; large Parquet tables are read in blocks of rows, and kept as bits."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from latentbits.data.binary_data import BinaryData
from latentbits.data.codes import BAD, as_text
from latentbits.data.encoding import codes_of, pack
from latentbits.data.messages import Origin, check_column_names, checked_text, refusing_damage
from latentbits.data.read_options import ReadOptions
from latentbits.data.refusals import BadCells
from latentbits.data.roles import LEAST_SHARE, examine, is_identifier, is_measure, positions
from latentbits.data.text_file import ARRAY_BYTES, check_unpacked
from latentbits.data.text_reader import WideTable

_CELLS = 1 << 25
"""A file of any size may have so many cells, which run-length encoding can hold in a few bytes."""


def open_typed(file: Path, kind: str, options: ReadOptions, origin: Origin) -> TypedTable:
    """A table of typed columns, to be read; for `FORMATS`."""
    if kind == "parquet" and is_large(file):
        return LargeParquet(file, options, origin)
    return TypedTable(read_frame(file, kind, origin), options, origin)


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


class TypedTable(WideTable):
    """A frame, of which some columns are data; an index that does more than count the rows from 0 names them."""

    def __init__(self, frame: pd.DataFrame, options: ReadOptions, origin: Origin) -> None:
        super().__init__(options, origin)
        words = (options.missing, options.true, options.false, options.presence)
        self._words_given = any(word is not None for word in words)  # which may be about numbers as well
        self._take_frame(frame)

    def _take_frame(self, frame: pd.DataFrame) -> None:
        frame = self._without_totals(frame)
        index = frame.index
        self.names = check_column_names(frame.columns, self.origin)
        self._frame_columns = [frame.iloc[:, j] for j in range(len(self.names))]
        counts = isinstance(index, pd.RangeIndex) and (index.start, index.step) == (0, 1)
        self._has_index = self.choice.row_labels is None and not counts
        if self._has_index:
            self.names.insert(0, str(index.name or ""))
            self._frame_columns.insert(0, index.to_series())
            self.choice = replace(self.choice, row_labels=0)

    def _without_totals(self, frame: pd.DataFrame) -> pd.DataFrame:
        """The rows but for those that the caller leaves out, by their first column or the index."""
        left_out = self.choice.rows_left_out([str(name) for name in frame.columns], self.origin)
        if left_out is None:
            return frame
        by_index = self.choice.row_labels is None and not isinstance(frame.index, pd.RangeIndex)
        named = (frame.index if by_index else frame.iloc[:, left_out.column]).astype(str)
        left_out.check(set(named))
        return frame[~named.isin(left_out.wanted)]

    def read(self) -> BinaryData:
        """See `WideTable`."""
        self._examine()
        cells = np.column_stack([self._codes(j) for j in self.columns])
        self._refuse_codes(cells, lambda j, i: as_text(self._frame_columns[j].iloc[i]).strip())
        return self._finished(BinaryData(cells))

    def _examine(self) -> None:
        """Find out which columns name the rows, are metadata, and are data."""
        others = [j for j in range(len(self.names)) if self._may_be_other(j)]
        self._find_roles({j: examine(self._texts(j), self.strict) for j in others})
        if self._has_index:
            self.roles = self.roles._replace(notes=("the table's index names the rows", *self.roles.notes))
        label = self.roles.label
        self._row_names = None if label is None else checked_text(self._texts(label), self.origin, "row name")

    def _refuse_codes(self, cells: np.ndarray, text_at: Callable[[int, int], str], first: int = 0) -> None:
        """Refuse rows of codes, the first of them number `first`, among which a cell is neither 0, 1 nor missing."""
        places, bad = {j: k for k, j in enumerate(self.columns)}, BadCells()
        for k in np.flatnonzero((cells == BAD).any(axis=0)).tolist():
            j = self.columns[k]
            bad.add_column(j, cells[:, k].tobytes(), lambda i: first + i + 1, partial(text_at, j))
        self._refuse(bad, lambda j: cells[:, places[j]].tobytes(), self._row_names)

    def _labels(self, j: int) -> list[str]:
        return self._row_names if j == self.roles.label and self._row_names is not None else self._texts(j)

    def collect(self, make: Callable[..., Any], columns: Sequence[str] | None) -> Any:
        """See `WideTable`."""
        where = range(len(self.names)) if columns is None else positions(columns, self.names, self.origin)
        rows = enumerate(zip(*map(self._texts, where), strict=True), start=1)
        return make([self.names[j] for j in where], rows, columns, self.tokens, self.origin)

    def _texts(self, j: int) -> list[str]:
        return [as_text(value).strip() for value in self._frame_columns[j].tolist()]

    def _is_number(self, j: int) -> bool:
        return pd.api.types.is_numeric_dtype(self._frame_columns[j].dtype)

    def _may_be_other(self, j: int) -> bool:
        """Whether a column may be something else than data."""
        if j == 0 or not self._is_number(j) or is_identifier(self.names[j]):
            return True
        return self.choice.takes_all and self._holds_measures(j)

    def _holds_measures(self, j: int) -> bool:
        """Whether a column of numbers may be a covariate."""
        if self.choice.by_threshold:
            return is_measure(self.names[j])
        codes = np.frombuffer(self.strict.codes(self._texts(j)), np.int8)
        return bool(np.mean(codes == BAD) >= LEAST_SHARE)

    def _codes(self, j: int) -> np.ndarray:
        if self._is_number(j) and not self._words_given:
            values = self._frame_columns[j].to_numpy(dtype=np.float64, na_value=np.nan)
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

    def __init__(self, path: Path, options: ReadOptions, origin: Origin) -> None:
        self._paths = sorted(path.glob("*.parquet")) if path.is_dir() else [path]
        super().__init__(pd.DataFrame(), options, origin)

    def _take_frame(self, frame: pd.DataFrame) -> None:
        """The schema of the files, in place of a frame."""
        if self.choice.exclude_rows:
            raise self.origin.error("rows of a large Parquet table can't be left out by name; save it without them")
        self._has_index = False
        self._files = self._opened()
        first = self._files[0]
        index = self._stored_index(first.schema_arrow)
        self._stored_names = [name for name in first.schema_arrow.names if name != index]
        self.names = check_column_names(self._stored_names, self.origin)
        self._types = [first.schema_arrow.field(name).type for name in self._stored_names]
        if index is not None and self.choice.row_labels is None:
            self._take_index(index, first.schema_arrow)
        self._n_rows = sum(file.metadata.num_rows for file in self._files)

    def _take_index(self, index: str, schema: Any) -> None:
        """Let the index that pandas has stored name the rows."""
        self._has_index = True
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
        """See `WideTable`; the data come as bits."""
        self._examine()
        packed = pack(self._blocks(), self._n_rows, len(self.columns))
        return self._finished(BinaryData(None, packed=packed))

    def _blocks(self) -> Iterator[np.ndarray]:
        """Codes of the data columns, block by block; the first bad block is refused."""
        first = 0
        for batch in self._batches([self._stored_names[j] for j in self.columns]):
            cells = np.empty((batch.num_rows, len(self.columns)), np.int8)
            for k, j in enumerate(self.columns):
                cells[:, k] = self._batch_codes(batch.column(k), j)
            if first == 0 or cells.min() == BAD:
                self._refuse_codes(cells, partial(_text_at, batch, self.columns), first)
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

        if self._is_number(j) and not self._words_given:
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


def _text_at(batch: Any, columns: Sequence[int], j: int, i: int) -> str:
    """The text of a cell of a block whose columns are these of the table."""
    return as_text(batch.column(columns.index(j))[i].as_py()).strip()


def _is_numeric(kind: Any) -> bool:
    """Whether an Arrow type is one of numbers, or of 0 and 1."""
    import pyarrow as pa

    return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_boolean(kind))
