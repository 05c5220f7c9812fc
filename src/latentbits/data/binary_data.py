"""The one door for data: whatever comes in is checked here and leaves as `BinaryData`.

No other module decides what a 0, a 1 or a missing cell is. Models read `cells` (or `sparse`) and may rely on
the stated dtypes and values without checking again.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import cached_property
from numbers import Real
from typing import TYPE_CHECKING, Any, NoReturn

import narwhals as nw
import numpy as np
import scipy.sparse as sp

from latentbits.errors import DataError, DataTypeError

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["MISSING", "BinaryData"]

MISSING = -1
"""The code of a missing cell in `BinaryData.cells` and among the stored values of `BinaryData.sparse`."""

BAD = -2
"""The code of a value that is neither 0, 1 nor missing; it never leaves this package."""

_Names = tuple[list[str] | None, list[str] | None]
"""Row names and column names."""

SHOWN = 3
"""How many bad cells an error message spells out; the others are counted."""

_NUMBERS = (int, float, np.bool_, Real, Decimal)

BLOCK_CELLS = 1 << 18
"""Cells converted or counted at a time: the temporaries of one block stay in the processor's cache."""


@dataclass(frozen=True, eq=False, repr=False)
class BinaryData:
    """An N x D table of 0, 1 and missing cells, dense or sparse, with its names.

    Make one with `BinaryData.of`, which checks the values; the constructor trusts its arguments.

    Attributes
    ----------
    cells : int8 array, C-contiguous, or None
        The values 0, 1 and `MISSING`; None when the data are sparse.
    sparse : scipy.sparse.csr_array or None
        Stored values (int8) are 1 or `MISSING`, absent cells are 0. Indices are sorted int32 without
        duplicates, indptr is int64; select rows with `rows`, as SciPy's slicing wants equal types.
        None when the data are dense.
    row_names, column_names : list of str, or None
    row_label : str or None
        What the row names are called: the name of the column that they came from.

    Examples
    --------
    >>> data = BinaryData.of([[0, 1, None], [1, 1, 0]], column_names=["Equus", "Sus", "Bos"])
    >>> data
    BinaryData(2 rows x 3 columns, 3 ones, 1 missing)
    >>> data.ones_per_column()
    array([1., 2., 0.])
    >>> data.density
    0.6
    >>> BinaryData.of([[0, 3], [1, 0]])
    Traceback (most recent call last):
    ...
    latentbits.errors.DataError: row 0, column 1: value 3 is neither 0 nor 1; use binarize=1 to call every \
value >= 1 present
    """

    cells: np.ndarray | None
    sparse: sp.csr_array | None = None
    row_names: list[str] | None = None
    column_names: list[str] | None = None
    row_label: str | None = None

    def __post_init__(self) -> None:
        if (self.cells is None) == (self.sparse is None):
            raise DataError("BinaryData takes either cells or sparse; use BinaryData.of(X) to make one from X")

    @classmethod
    def of(
        cls,
        X: Any,
        *,
        binarize: float | None = None,
        row_names: Sequence[object] | None = None,
        column_names: Sequence[object] | None = None,
    ) -> BinaryData:
        """Check `X` and take it in.

        Parameters
        ----------
        X : BinaryData, array, list of lists, SciPy sparse, or a pandas, polars or Arrow frame
            Bool, integer, float or object values. NaN, None, pd.NA, nulls and masked entries are missing
            cells; in a sparse matrix only a stored NaN is missing, an absent entry is 0. A frame's column
            names are kept, and so is a pandas index other than the default one.
            `X` is never changed. A C-contiguous array of one-byte 0-1 values (bool, int8, uint8) is used
            without a copy, so changing it later changes the data; everything else is converted.
            BinaryData come back as they are.
        binarize : float, optional
            Every value >= `binarize` counts as 1, every smaller one as 0. By default values are taken
            strictly: anything but 0, 1 and missing is an error.
        row_names, column_names : sequence, optional
            Names to use instead of those of `X`.

        Raises
        ------
        DataError
            With the number of bad cells and the first three of them. Rows and columns without names are
            counted from 0. A cell that is no number or text at all raises its subclass `DataTypeError`.

        Examples
        --------
        >>> BinaryData.of([[0.2, 4.0], [1.0, float("nan")]], binarize=1).dense()
        array([[ 0,  1],
               [ 1, -1]], dtype=int8)
        """
        return encode(X, binarize=binarize, row_names=row_names, column_names=column_names)

    def __repr__(self) -> str:
        n_rows, n_columns = self.shape
        form = "sparse, " if self.is_sparse else ""
        return f"BinaryData({form}{n_rows} rows x {n_columns} columns, {self.n_ones} ones, {self.n_missing} missing)"

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""
        n_rows, n_columns = self.sparse.shape if self.sparse is not None else self.dense().shape
        return int(n_rows), int(n_columns)

    @property
    def is_sparse(self) -> bool:
        """Whether the data are held as a sparse matrix."""
        return self.sparse is not None

    @cached_property
    def n_missing(self) -> int:
        """Number of missing cells."""
        return int(self._count_per_row(MISSING).sum())

    @cached_property
    def n_ones(self) -> int:
        """Number of ones."""
        return int(self._count_per_row(1).sum())

    @property
    def has_missing(self) -> bool:
        """Whether any cell is missing."""
        return self.n_missing > 0

    @property
    def n_observed(self) -> int:
        """Number of cells that are not missing."""
        n_rows, n_columns = self.shape
        return n_rows * n_columns - self.n_missing

    @property
    def density(self) -> float:
        """Share of ones among the observed cells; 0.0 when nothing is observed."""
        return self.n_ones / self.n_observed if self.n_observed else 0.0

    def ones_per_row(self) -> np.ndarray:
        """Number of ones in each row, as float64."""
        return self._count_per_row(1)

    def ones_per_column(self, row_weight: np.ndarray | None = None) -> np.ndarray:
        """Number of ones in each column, as float64; a row counts `row_weight` times."""
        return self._count_per_column(1, row_weight)

    def observed_per_row(self) -> np.ndarray:
        """Number of cells in each row that are not missing, as float64."""
        return self.shape[1] - self._count_per_row(MISSING)

    def observed_per_column(self, row_weight: np.ndarray | None = None) -> np.ndarray:
        """Number of cells in each column that are not missing, as float64; rows weighted as above."""
        n_rows = self.shape[0] if row_weight is None else row_weight.sum()
        return n_rows - self._count_per_column(MISSING, row_weight)

    def _count_per_row(self, code: int) -> np.ndarray:
        if self.sparse is not None:
            before = np.concatenate(([0], np.cumsum(self.sparse.data == code)))
            return np.diff(before[self.sparse.indptr]).astype(np.float64)
        counts = [np.count_nonzero(block == code, axis=1) for block in self._blocks()]
        return np.concatenate(counts, dtype=np.float64) if counts else np.zeros(0)

    def _count_per_column(self, code: int, row_weight: np.ndarray | None = None) -> np.ndarray:
        n_rows, n_columns = self.shape
        weight = np.ones(n_rows) if row_weight is None else np.asarray(row_weight, np.float64)
        if self.sparse is not None:
            chosen = self.sparse.data == code
            of_cell = np.repeat(weight, np.diff(self.sparse.indptr))[chosen]
            counts = np.bincount(self.sparse.indices[chosen], weights=of_cell, minlength=n_columns)
            return counts.astype(np.float64)  # without any cell NumPy counts in integers
        total = np.zeros(n_columns)
        for rows in row_blocks(n_rows, n_columns):
            total += weight[rows] @ (self.dense()[rows] == code)
        return total

    def _blocks(self) -> Iterator[np.ndarray]:
        """Consecutive row blocks of dense data."""
        cells = self.dense()
        for rows in row_blocks(*self.shape):
            yield cells[rows]

    def dense(self) -> np.ndarray:
        """The int8 N x D cells; made on each call if the data are sparse, otherwise `cells` itself."""
        if self.sparse is not None:
            return self.sparse.toarray()
        assert self.cells is not None
        return self.cells

    def rows(self, index: slice | Sequence[int] | np.ndarray) -> BinaryData:
        """These rows, in this order, as BinaryData; a contiguous slice of dense data is not copied.

        Examples
        --------
        >>> BinaryData.of([[0, 1], [1, 1]], row_names=["a", "b"]).rows([1]).row_names
        ['b']
        """
        chosen = index if isinstance(index, slice) else np.asarray(index)
        names = self.row_names and [self.row_names[i] for i in np.arange(self.shape[0])[chosen]]
        if self.sparse is not None:
            parts = (self.sparse.data, self.sparse.indices, self.sparse.indptr)
            uniform = sp.csr_array(parts, shape=self.shape)  # SciPy can't slice unequal index types
            return replace(self, sparse=_with_index_types(uniform[chosen]), row_names=names)
        return replace(self, cells=np.ascontiguousarray(self.dense()[chosen]), row_names=names)

    def hide(self, cells: np.ndarray) -> BinaryData:
        """These data with more cells missing: those where the bool array `cells` (N x D) is true.

        Examples
        --------
        >>> BinaryData.of([[0, 1], [1, 1]]).hide(np.array([[True, False], [False, True]])).dense()
        array([[-1,  1],
               [ 1, -1]], dtype=int8)
        """
        if cells.shape != self.shape:
            raise DataError(f"the cells to hide have the shape {cells.shape}, the data {self.shape}; give one of each")
        if self.sparse is None:
            return replace(self, cells=np.where(cells, np.int8(MISSING), self.dense()))
        rows = np.repeat(np.arange(self.shape[0]), np.diff(self.sparse.indptr))
        stored, hidden = (rows, self.sparse.indices), np.nonzero(cells)
        kept = ~cells[stored]
        codes = np.concatenate([self.sparse.data[kept], np.full(len(hidden[0]), MISSING, np.int8)])
        places = tuple(np.concatenate([a[kept], b]) for a, b in zip(stored, hidden, strict=True))
        return replace(self, sparse=_with_index_types(sp.coo_array((codes, places), shape=self.shape).tocsr()))

    def to_frame(self) -> pd.DataFrame:
        """A pandas frame of nullable Int8 columns with the names; missing cells are pd.NA."""
        import pandas as pd  # late: importing the library should not cost pandas' import time

        dense = self.dense()
        columns = {
            j: pd.arrays.IntegerArray(np.maximum(column, 0), column == MISSING) for j, column in enumerate(dense.T)
        }
        frame = pd.DataFrame(columns, index=self.row_names)
        if self.column_names is not None:
            frame.columns = self.column_names
        return frame

    def fingerprint(self) -> str:
        """16 hex digits that identify shape, cells and column names; the same for dense and sparse data.

        Examples
        --------
        >>> BinaryData.of([[0, 1]]).fingerprint() == BinaryData.of(sp.csr_array([[0, 1]])).fingerprint()
        True
        """
        places, codes = hashlib.sha256(), hashlib.sha256()
        for place, code in self._filled():
            places.update(place.astype("<i8").tobytes())
            codes.update(code.tobytes())
        heading = json.dumps([self.shape, self.column_names, places.hexdigest(), codes.hexdigest()])
        return hashlib.sha256(heading.encode()).hexdigest()[:16]

    def _filled(self) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Flat places (row-major, ascending) and codes of the cells that are not 0, block by block."""
        n_rows, n_columns = self.shape
        if self.sparse is not None:
            rows = np.repeat(np.arange(n_rows), np.diff(self.sparse.indptr))
            yield rows * n_columns + self.sparse.indices, self.sparse.data
            return
        start = 0
        for block in self._blocks():
            flat = block.ravel()
            filled = np.flatnonzero(flat)
            yield filled + start, flat[filled]
            start += flat.size


@dataclass(frozen=True)
class Origin:
    """Where data come from, in the words of an error message.

    `file` opens every message; `threshold` is how the caller spells the option that thresholds values.
    """

    file: str = ""
    threshold: str = "binarize={0:g}"

    def error(self, message: str, place: str = "", kind: type[DataError] = DataError) -> DataError:
        """The error with file and place, if any, in front of the message."""
        where = ", ".join(filter(None, (self.file, place)))
        return kind(f"{where}: {message}" if where else message)

    def advice(self, value: float) -> str:
        """The way out for a number that is neither 0 nor 1."""
        cut = 0.5 if 0 < value < 1 else 1
        return f"use {self.threshold.format(cut)} to call every value >= {cut:g} present"


def bad_cells_error(
    origin: Origin,
    cells: Sequence[tuple[str, str]],
    total: int,
    way_out: str,
    fault: str = "neither 0 nor 1",
    kind: type[DataError] = DataError,
) -> DataError:
    """One sentence for `total` bad cells, of which `cells` gives the first few as (place, value)."""
    (place, value), *others = cells
    also = ""
    if total > 1:
        listed = ", then ".join(f"{where}: {what}" for where, what in others)
        also = f" (and {total - 1} more bad cell{'s' * (total > 2)}, first at {listed})"
    return origin.error(f"value {value} is {fault}{also}; {way_out}", place, kind)


def check_column_names(
    names: Iterable[object], origin: Origin, place: str = "", unnamed: int | None = None
) -> list[str]:
    """The names as strings, none of them empty (but that at `unnamed`) and no two alike."""
    texts = checked_text(names, origin, "column name", place)
    for position, name in enumerate(texts):
        if not name.strip() and position != unnamed:
            raise origin.error(f"column {position} (counted from 0) has an empty name; name each column", place)
    repeated, times = Counter(texts).most_common(1)[0] if texts else ("", 0)
    if times > 1:
        first, second = [j for j, name in enumerate(texts) if name == repeated][:2]
        raise origin.error(
            f"the column name {quoted(repeated)} appears {times} times, first as columns {first} and "
            f"{second} (counted from 0); give each column its own name",
            place,
        )
    return texts


def checked_text(names: Iterable[object], origin: Origin, what: str, place: str = "") -> list[str]:
    """The names as strings that can be written to a file, which half a surrogate pair can't."""
    texts = [str(name) for name in names]
    for position, name in enumerate(texts):
        if any("\ud800" <= letter <= "\udfff" for letter in name):
            raise origin.error(f"{what} {position} (counted from 0), {name!a}, is no valid text; correct it", place)
    return texts


def quoted(text: str) -> str:
    """Text as an error message shows it: in quotes, on one line, at most 40 characters."""
    short = text if len(text) <= 40 else text[:37] + "..."
    return json.dumps(short, ensure_ascii=False)


def row_blocks(n_rows: int, n_columns: int) -> Iterator[slice]:
    """Slices that cover the rows, each of about `BLOCK_CELLS` cells."""
    step = max(1, BLOCK_CELLS // max(1, n_columns))
    for start in range(0, n_rows, step):
        yield slice(start, min(start + step, n_rows))


def encode(
    X: Any,
    *,
    binarize: float | None = None,
    row_names: Sequence[object] | None = None,
    column_names: Sequence[object] | None = None,
    origin: Origin | None = None,
) -> BinaryData:
    """`BinaryData.of` for callers with an origin of their own to name in errors, such as the readers."""
    source = _Source(origin or Origin(), _checked_threshold(binarize), row_names, column_names)
    if isinstance(X, BinaryData):
        rows, columns = source.names(X.shape, X.row_names, X.column_names)
        same = rows is X.row_names and columns is X.column_names
        return X if same else replace(X, row_names=rows, column_names=columns)
    if sp.issparse(X):
        return _from_sparse(X, source)
    frame = _as_frame(X, source.origin)
    if frame is not None:
        return _from_frame(frame, source)
    return _from_array(_as_array(X, source.origin), source)


@dataclass(frozen=True)
class _Source:
    """What the caller said about the data being taken in."""

    origin: Origin
    threshold: float | None
    row_names: Sequence[object] | None
    column_names: Sequence[object] | None

    def names(
        self, shape: tuple[int, int], own_rows: list[str] | None = None, own_columns: list[str] | None = None
    ) -> _Names:
        """The names to use: the caller's, checked, or else the data's own."""
        rows, columns = own_rows, own_columns
        if self.row_names is not None:
            rows = checked_text(self.row_names, self.origin, "row name")
            self._check_length("row_names", len(rows), shape[0])
        if self.column_names is not None:
            columns = check_column_names(self.column_names, self.origin)
            self._check_length("column_names", len(columns), shape[1])
        return rows, columns

    def _check_length(self, what: str, given: int, needed: int) -> None:
        if given != needed:
            raise self.origin.error(f"{what} has {given} names for {needed}; give one name each")

    def refuse(
        self,
        cells: Sequence[tuple[int, int, Any]],
        total: int,
        names: _Names,
    ) -> NoReturn:
        """Raise the error for `total` bad cells, of which `cells` are the first (row, column, value)."""
        places = [(_place(i, j, names), _shown(value)) for i, j, value in cells]
        fault = "neither 0 nor 1" if self.threshold is None else "not a finite number"
        value = cells[0][2]
        if isinstance(value, str):
            way_out = "write text as 0, 1 or NaN (missing), or leave its column out"
        elif not isinstance(value, _NUMBERS):
            raise bad_cells_error(
                self.origin,
                places,
                total,
                "the argument must be free of strings and objects, so write every cell as a number, "
                "a bool or a missing value",
                f"a {type(value).__name__}",
                DataTypeError,
            )
        elif math.isinf(_as_float(value)):
            way_out = "replace infinity by 0, 1 or NaN (missing)"
        elif value < 0:
            way_out = f"use NaN if it stands for missing, or {self.origin.advice(1).removeprefix('use ')}"
        else:
            way_out = self.origin.advice(float(value))
        raise bad_cells_error(self.origin, places, total, way_out, fault)


def _place(i: int, j: int, names: _Names) -> str:
    """A cell as an error message names it."""
    rows, columns = names
    row = i if rows is None else quoted(rows[i])
    column = j if columns is None else quoted(columns[j])
    return f"row {row}, column {column}"


def _shown(value: object) -> str:
    """A value as an error message shows it; 3.0 is shown as 3."""
    if isinstance(value, str):
        return quoted(value)
    text = str(value).removesuffix(".0")
    return text if len(text) <= 40 else text[:37] + "..."


def _checked_threshold(binarize: float | None) -> float | None:
    if binarize is None:
        return None
    if not isinstance(binarize, Real) or not math.isfinite(binarize):
        raise DataError(f"binarize={binarize!r} is not a finite number; use for example binarize=1, or None")
    return float(binarize)


def _check_shape(shape: tuple[int, ...], origin: Origin) -> None:
    """Refuse what is not a table with rows and columns, in the words scikit-learn's users know."""
    if len(shape) != 2:
        got = {0: "scalar array", 1: "1D array"}.get(len(shape), f"{len(shape)}D array")
        raise origin.error(
            f"Expected 2D array, got {got} instead (shape={shape}). Reshape your data: X.reshape(-1, 1) "
            "if it is one column, X.reshape(1, -1) if it is one row."
        )
    if shape[0] == 0:
        raise origin.error(f"Found array with 0 sample(s) (shape={shape}) while a minimum of 1 is required.")
    if shape[1] == 0:
        raise origin.error(f"Found array with 0 feature(s) (shape={shape}) while a minimum of 1 is required.")


def _refuse_complex(dtype: np.dtype, origin: Origin) -> None:
    if dtype.kind == "c":
        raise origin.error("Complex data not supported; use X.real if the imaginary part is 0")


def _encode(values: np.ndarray, threshold: float | None) -> np.ndarray:
    """Codes (0, 1, MISSING, BAD; int8, a new array) of values of any dtype and shape."""
    if isinstance(values, np.ma.MaskedArray):
        codes = _encode(values.data, threshold)
        codes[np.ma.getmaskarray(values)] = MISSING
        return codes
    if values.dtype.kind not in "biuf":
        values = np.frompyfunc(_as_float, 1, 1)(values.astype(object)).astype(np.float64)
    if threshold is None:
        one = values == 1
        known = (values == 0) | one
    else:
        one = values >= threshold
        known = np.isfinite(values)
    codes = one.view(np.int8)
    if not known.all():
        others = ~known
        codes[others] = np.where(np.isnan(values[others]), MISSING, BAD)
    return codes


def _as_float(value: Any) -> float:
    """A Python object as the float that `_encode` understands: NaN if missing, infinite if no number."""
    try:
        if type(value) in (int, float, bool):  # nearly every value, and cheaper to ask than what follows
            return float(value)
        if value is None or type(value).__name__ in ("NAType", "NaTType"):  # pandas' own, not imported here
            return math.nan
        # Numbers only: float() would also read text, and a silent cast may hide a mistake.
        return float(value) if isinstance(value, _NUMBERS) else math.inf
    except OverflowError:
        return math.inf


def _as_array(X: Any, origin: Origin) -> np.ndarray:
    if isinstance(X, np.ma.MaskedArray):
        return X
    try:
        array = np.asarray(X)
        if array.dtype.kind in "US" and not isinstance(X, np.ndarray):
            # NumPy turned the numbers beside the text into text too: keep each cell as it was given.
            array = np.array(X, dtype=object)
    except ValueError:
        raise origin.error("the rows differ in length or depth; give each the same number of cells") from None
    return array


def _from_array(array: np.ndarray, source: _Source) -> BinaryData:
    _check_shape(array.shape, source.origin)
    _refuse_complex(array.dtype, source.origin)
    names = source.names((array.shape[0], array.shape[1]))
    cells = _encode_dense(array, source.threshold)
    _check_codes(cells, source, names, lambda i, j: array[i, j])
    return BinaryData(cells, None, *names)


def _encode_dense(array: np.ndarray, threshold: float | None) -> np.ndarray:
    """Codes of a 2D array; a one-byte array of zeros and ones is seen as it is, not copied."""
    plain = type(array) is np.ndarray and array.flags.c_contiguous
    one_byte = array.dtype.kind in "biu" and array.dtype.itemsize == 1
    if plain and one_byte and threshold is None and array.view(np.uint8).max() <= 1:
        return array.view(np.int8)
    cells = np.empty(array.shape, np.int8)
    for rows in row_blocks(*array.shape):
        cells[rows] = _encode(array[rows], threshold)
    return cells


def _check_codes(cells: np.ndarray, source: _Source, names: _Names, value_at: Callable[[int, int], Any]) -> None:
    """Refuse dense cells among which there is a BAD one."""
    if cells.min() != BAD:
        return
    bad = np.flatnonzero(cells == BAD)
    first = [divmod(int(flat), cells.shape[1]) for flat in bad[:SHOWN]]
    source.refuse([(i, j, value_at(i, j)) for i, j in first], bad.size, names)


def _from_sparse(X: Any, source: _Source) -> BinaryData:
    _check_shape(X.shape, source.origin)
    _refuse_complex(X.dtype, source.origin)
    names = source.names(X.shape)
    if source.threshold is not None and source.threshold <= 0:
        raise source.origin.error(
            f"a threshold of {source.threshold:g} would make every absent cell of a sparse matrix 1; "
            "use a threshold above 0, or X.toarray()"
        )
    csr = sp.csr_array(X)
    if not csr.has_canonical_format:
        csr = csr.copy()  # summing works in place, and csr may share its arrays with X
        csr.sum_duplicates()
    codes = _encode(csr.data, source.threshold)
    bad = np.flatnonzero(codes == BAD)
    if bad.size:
        rows = np.searchsorted(csr.indptr, bad[:SHOWN], side="right") - 1
        first = [(int(i), int(csr.indices[k]), csr.data[k]) for i, k in zip(rows, bad[:SHOWN], strict=True)]
        source.refuse(first, bad.size, names)
    encoded = sp.csr_array((codes, csr.indices, csr.indptr), shape=csr.shape, copy=True)
    encoded.eliminate_zeros()
    return BinaryData(None, _with_index_types(encoded), *names)


def _with_index_types(csr: sp.csr_array) -> sp.csr_array:
    """The same matrix with int32 indices and int64 indptr, the one pair of types that kernels compile for."""
    csr.sort_indices()
    csr.indices = csr.indices.astype(np.int32, copy=False)
    csr.indptr = csr.indptr.astype(np.int64, copy=False)
    return csr


def _as_frame(X: Any, origin: Origin) -> nw.DataFrame[Any] | None:
    """`X` as a narwhals frame, or None if it is no data frame."""
    if nw.dependencies.is_pandas_dataframe(X):
        check_column_names(X.columns, origin)  # narwhals' own words for repeated names offer no way out
    frame = nw.from_native(X, pass_through=True)
    if isinstance(frame, nw.LazyFrame):
        frame = frame.collect()
    return frame if isinstance(frame, nw.DataFrame) else None


def _from_frame(frame: nw.DataFrame[Any], source: _Source) -> BinaryData:
    _check_shape(frame.shape, source.origin)
    own_rows = _index_names(frame, source.origin)
    names = source.names(frame.shape, own_rows, check_column_names(frame.columns, source.origin))
    cells = np.empty(frame.shape, np.int8)
    for j, column in enumerate(frame.iter_columns()):
        cells[:, j] = _encode(column.to_numpy(), source.threshold)
    _check_codes(cells, source, names, lambda i, j: frame[:, j].to_numpy()[i])
    return BinaryData(cells, None, *names)


def _index_names(frame: nw.DataFrame[Any], origin: Origin) -> list[str] | None:
    """A pandas index as row names, unless it only counts the rows from 0."""
    index = nw.maybe_get_index(frame)
    if index is None or (type(index).__name__ == "RangeIndex" and (index.start, index.step) == (0, 1)):
        return None
    return checked_text(index, origin, "row name")
