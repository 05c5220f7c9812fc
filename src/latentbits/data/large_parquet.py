"""Large Parquet tables, one file or a folder of them: read in blocks of rows, and kept as bits."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from latentbits.data.binary_data import BinaryData
from latentbits.data.codes import BAD
from latentbits.data.columns import ColumnChoice
from latentbits.data.encoding import codes_of
from latentbits.data.messages import Origin, refusing_damage
from latentbits.data.names import check_column_names
from latentbits.data.packed import pack
from latentbits.data.sheet import as_text
from latentbits.data.typed_tables import Layout, TypedTable, check_texts, open_parquet
from latentbits.data.words import Tokens

__all__ = ["LargeParquet", "is_large"]

LARGE = 1 << 24
"""Cells from which on a file is read in blocks: as a frame of floats it would take 128 MB."""

BATCH_CELLS = 1 << 24
"""Cells of a block."""


def is_large(path: Path) -> bool:
    """Whether to read a Parquet table in blocks: a large file, or any folder of files.

    Parameters
    ----------
    path : pathlib.Path
        The file or folder; it need not be valid, which the reader finds out.

    Returns
    -------
    bool
    """
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
        """Encode the data columns; see `TypedTable.read`.

        Returns
        -------
        BinaryData
            The data as bits, with their names.
        """
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
