"""Files of typed columns, Parquet and Feather, read by pandas: the same rule for labels and metadata as for text."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from latentbits.data.advice import Surroundings
from latentbits.data.bad_cells import BadCells, refusal
from latentbits.data.binary_data import BinaryData
from latentbits.data.codes import BAD, MISSING
from latentbits.data.columns import ColumnChoice, positions
from latentbits.data.compressed import ARRAY_BYTES, check_unpacked
from latentbits.data.encoding import codes_of
from latentbits.data.long_format import refuse_long_format
from latentbits.data.messages import Origin, refusing_damage
from latentbits.data.names import check_column_names, checked_text
from latentbits.data.roles import examine, find_roles, is_identifier, is_measure
from latentbits.data.sheet import as_text
from latentbits.data.words import Tokens

__all__ = ["Layout", "TypedTable", "check_texts", "open_parquet", "read_frame"]

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
    """Read a file as a pandas frame.

    Parameters
    ----------
    file : pathlib.Path
        The file.
    kind : {"parquet", "feather", "arrow"}
        Its format.
    origin : Origin
        Where the data come from, for error messages.

    Returns
    -------
    pandas.DataFrame
        With the names and the index that the file has.

    Raises
    ------
    DataError
        If pyarrow is not installed, or the file can't be read.
    """
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
    """Open a Parquet file; texts are read as references to the different ones.

    Parameters
    ----------
    file : pathlib.Path
        The file.
    origin : Origin
        Where the data come from, for error messages.

    Returns
    -------
    pyarrow.parquet.ParquetFile
        The file, of which nothing but the schema has been read.

    Raises
    ------
    DataError
        If it holds far more cells than bytes.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    opened = pq.ParquetFile(file)
    about, schema = opened.metadata, opened.schema_arrow
    check_unpacked(file.stat().st_size, about.num_rows * max(1, about.num_columns), _CELLS, origin)
    texts = [name for name, kind in zip(schema.names, schema.types, strict=True) if pa.types.is_string(kind)]
    return pq.ParquetFile(file, read_dictionary=texts)


def check_texts(table: Any, file: Path, origin: Origin) -> None:
    """Refuse texts that are no UTF-8, or few and long in the file, and would be many and long in memory.

    Parameters
    ----------
    table : pyarrow.Table
        Read by `open_parquet`.
    file : pathlib.Path
        Where it came from.
    origin : Origin
        Where the data come from, for error messages.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    table.validate(full=True)  # otherwise texts may be anywhere in memory
    for column in table.columns:
        if pa.types.is_dictionary(column.type):
            texts = [part.dictionary for part in column.chunks if pa.types.is_string(part.dictionary.type)]
            longest = max((pc.max(pc.binary_length(different)).as_py() or 0 for different in texts), default=0)
            check_unpacked(file.stat().st_size, longest * table.num_rows, ARRAY_BYTES, origin)


class TypedTable:
    """A frame, of which some columns are data.

    Parameters
    ----------
    frame : pandas.DataFrame
        The columns; an index that does more than count the rows from 0 names them.
    choice : ColumnChoice
        The columns asked for.
    tokens : Tokens
        What words mean, in columns of text.
    words_given : bool
        Whether the caller said what words mean, which may be about numbers as well.
    origin : Origin
        Where the data come from, for error messages.
    """

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
        """Encode the data columns.

        Returns
        -------
        BinaryData
            The data with their names.

        Raises
        ------
        DataError
            With the row, the column and the value, and what to do about it.
        """
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
        """The names and the rows of some columns as text, for tables with a row for each observation.

        Parameters
        ----------
        columns : sequence of str
            The columns of site and species, and so on.

        Returns
        -------
        names : list of str
            Their names.
        rows : iterator of (int, sequence of str)
            Positions of rows, counted from 1, and cells.
        """
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
