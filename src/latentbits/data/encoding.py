"""Arrays, sparse matrices, frames and blocks of rows of them as validated codes."""

from __future__ import annotations

import math
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, is_dataclass
from decimal import Decimal
from numbers import Real
from os import PathLike
from typing import TYPE_CHECKING, Any, NamedTuple

import narwhals as nw
import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike

from latentbits.data.codes import BAD, MISSING, row_blocks, with_index_types
from latentbits.data.messages import (
    SHOWN,
    Names,
    Origin,
    bad_cells_error,
    check_column_names,
    checked_text,
    choose_names,
    quoted,
    refusing_damage,
)
from latentbits.errors import DataError, DataTypeError

if TYPE_CHECKING:
    from latentbits.data.binary_data import BinaryData

LARGEST_WEIGHT = 1e9
"""Beyond this a row's weight drowns the digits of all others."""

_LOOKED_AT = 1000
"""So many cells that are neither 0 nor 1 show which answers there are."""

_NUMBERS = (int, float, np.bool_, Real, Decimal)


class Encoded(NamedTuple):
    """Codes and names, in the order of the fields of `BinaryData`, which says what they are.

    Attributes
    ----------
    cells : int8 array or None
        Dense codes.
    sparse : scipy.sparse.csr_array or None
        Sparse codes.
    row_names, column_names : list of str or None
        One name for each row or column.
    """

    cells: np.ndarray | None
    sparse: sp.csr_array | None
    row_names: list[str] | None
    column_names: list[str] | None


@dataclass(frozen=True)
class _Options:
    """What the caller said about the data to be encoded."""

    origin: Origin
    threshold: float | None
    row_names: Sequence[object] | None
    column_names: Sequence[object] | None

    def names(self, shape: tuple[int, int], own: Names = (None, None)) -> Names:
        return choose_names(shape, self.row_names, self.column_names, own, self.origin)


def encode(
    X: Any,
    *,
    binarize: float | None = None,
    row_names: Sequence[object] | None = None,
    column_names: Sequence[object] | None = None,
    origin: Origin | None = None,
) -> Encoded:
    """Encode a table of any form; `BinaryData.of` says which forms there are.

    Examples
    --------
    >>> encode([[0, 1, None]], column_names=["Equus", "Sus", "Bos"]).cells
    array([[ 0,  1, -1]], dtype=int8)
    """
    options = _Options(origin or Origin(), check_threshold(binarize), row_names, column_names)
    _check_is_table(X, options.origin)
    if sp.issparse(X):
        return _from_sparse(X, options)
    frame = _as_frame(X, options.origin)
    if frame is not None:
        return _from_frame(frame, options)
    return _from_array(_as_array(X, options.origin), options)


def check_threshold(binarize: float | None) -> float | None:
    """Refuse a threshold that is no finite number."""
    if binarize is None:
        return None
    if not isinstance(binarize, Real) or not math.isfinite(binarize):
        raise DataError(f"binarize={binarize!r} is not a finite number; use for example binarize=1, or None")
    return float(binarize)


# Values


def codes_of(values: np.ndarray, threshold: float | None) -> np.ndarray:
    """Encode values without checking them."""
    if isinstance(values, np.ma.MaskedArray):
        codes = codes_of(values.data, threshold)
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
    """A Python object as the float that `codes_of` understands: NaN if missing, infinite if no number."""
    try:
        if type(value) in (int, float, bool):  # nearly every value, and a cheaper test than those below
            return float(value)
        if value is None or type(value).__name__ in ("NAType", "NaTType"):  # pandas' own, not imported here
            return math.nan
        # Numbers only: float() would also read text, and a silent cast may hide a mistake.
        return float(value) if isinstance(value, _NUMBERS) else math.inf
    except OverflowError:
        return math.inf


def _bad_values_error(
    cells: Sequence[tuple[int, int, Any]], total: int, names: Names, options: _Options, answers: Sequence[float] = ()
) -> DataError:
    """The error for `total` bad cells, of which `cells` are the first (row, column, value)."""
    origin, value = options.origin, cells[0][2]
    places = [(_place(i, j, names), _shown(value)) for i, j, value in cells]
    if not isinstance(value, (str, *_NUMBERS)):
        # scikit-learn's estimator checks expect "argument must be ... string ... number" here.
        way_out = (
            "the argument must be free of strings and objects, so write every cell as a number, a bool or a "
            "missing value"
        )
        return bad_cells_error(origin, places, total, way_out, f"a {type(value).__name__}", DataTypeError)
    if isinstance(value, str):
        way_out = "write text as 0, 1 or NaN (missing; read_table reads yes and no), or leave its column out"
    elif math.isinf(_as_float(value)):
        way_out = "replace infinity by 0, 1 or NaN (missing)"
    elif value < 0:
        way_out = f"use NaN if it stands for missing, or {origin.advice(1).removeprefix('use ')}"
    else:
        way_out = origin.advice(float(value), answers)
    fault = "neither 0 nor 1" if options.threshold is None else "not a finite number"
    return bad_cells_error(origin, places, total, way_out, fault)


def _place(i: int, j: int, names: Names) -> str:
    """A cell as an error message names it."""
    rows, columns = names
    row = i + 1 if rows is None else quoted(rows[i])
    column = j + 1 if columns is None else quoted(columns[j])
    return f"row {row}, column {column}"


def _shown(value: object) -> str:
    """A value as an error message shows it; 3.0 is shown as 3."""
    if isinstance(value, str):
        return quoted(value)
    text = str(value).removesuffix(".0")
    return text if len(text) <= 40 else text[:37] + "..."


def _check_is_table(X: Any, origin: Origin) -> None:
    """Refuse a path and a data set that holds a table beside other things, which are what users give by mistake."""
    if isinstance(X, str | PathLike):
        raise origin.error("a text or path is not a table; read a file with latentbits.read_table(path)")
    if is_dataclass(X):
        name = next((name for name in ("X", "data") if hasattr(X, name)), None)
        if name is not None:
            raise origin.error(f"a {type(X).__name__} holds more than a table; give its .{name}")


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


# Arrays


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


def _from_array(array: np.ndarray, options: _Options) -> Encoded:
    _check_shape(array.shape, options.origin)
    _refuse_complex(array.dtype, options.origin)
    names = options.names((array.shape[0], array.shape[1]))
    cells = _dense_codes(array, options.threshold)
    _check_codes(cells, options, names, lambda i, j: array[i, j])
    return Encoded(cells, None, *names)


def _dense_codes(array: np.ndarray, threshold: float | None) -> np.ndarray:
    """Codes of a 2D array; a one-byte array of zeros and ones is used as it is, not copied."""
    plain = type(array) is np.ndarray and array.flags.c_contiguous
    one_byte = array.dtype.kind in "biu" and array.dtype.itemsize == 1
    if plain and one_byte and threshold is None and array.view(np.uint8).max() <= 1:
        return array.view(np.int8)
    cells = np.empty(array.shape, np.int8)
    for rows in row_blocks(*array.shape):
        cells[rows] = codes_of(array[rows], threshold)
    return cells


def _check_codes(cells: np.ndarray, options: _Options, names: Names, value_at: Callable[[int, int], Any]) -> None:
    """Refuse dense cells among which there is a BAD one."""
    if cells.min() != BAD:  # BAD is the lowest code
        return
    bad = np.flatnonzero(cells == BAD)
    first = [divmod(int(flat), cells.shape[1]) for flat in bad[:SHOWN]]
    cells_at = [(i, j, value_at(i, j)) for i, j in first]
    answers: set[float] = set()
    if not (cells == 0).any():
        some = (_as_float(value_at(*divmod(int(flat), cells.shape[1]))) for flat in bad[:_LOOKED_AT])
        answers = {*some, *([1.0] if (cells == 1).any() else [])}
    raise _bad_values_error(cells_at, bad.size, names, options, sorted(answers))


# Sparse matrices


def _from_sparse(X: Any, options: _Options) -> Encoded:
    _check_shape(X.shape, options.origin)
    _refuse_complex(X.dtype, options.origin)
    names = options.names(X.shape)
    if options.threshold is not None and options.threshold <= 0:
        raise options.origin.error(
            f"a threshold of {options.threshold:g} would make every absent cell of a sparse matrix 1; "
            "use a threshold above 0, or X.toarray()"
        )
    with refusing_damage(options.origin, "the parts of the sparse matrix don't fit together", "make it anew"):
        if hasattr(X, "check_format"):
            X.check_format(full_check=True)  # otherwise SciPy trusts the indices, and writes outside its memory
        csr = sp.csr_array(X)
    if not csr.has_canonical_format:
        csr = csr.copy()  # summing works in place, and csr may share its arrays with X
        csr.sum_duplicates()
    codes = codes_of(csr.data, options.threshold)
    bad = np.flatnonzero(codes == BAD)
    if bad.size:
        rows = np.searchsorted(csr.indptr, bad[:SHOWN], side="right") - 1
        first = [(int(i), int(csr.indices[k]), csr.data[k]) for i, k in zip(rows, bad[:SHOWN], strict=True)]
        raise _bad_values_error(first, bad.size, names, options)
    encoded = sp.csr_array((codes, csr.indices, csr.indptr), shape=csr.shape, copy=True)
    encoded.eliminate_zeros()
    return Encoded(None, with_index_types(encoded), *names)


# Data frames


def _as_frame(X: Any, origin: Origin) -> nw.DataFrame[Any] | None:
    """`X` as a narwhals frame, or None if it is no data frame."""
    if nw.dependencies.is_pandas_dataframe(X):
        check_column_names(X.columns, origin)  # narwhals' own error about repeated names says no way out
    frame = nw.from_native(X, pass_through=True)
    if isinstance(frame, nw.LazyFrame):
        frame = frame.collect()
    return frame if isinstance(frame, nw.DataFrame) else None


def _from_frame(frame: nw.DataFrame[Any], options: _Options) -> Encoded:
    _check_shape(frame.shape, options.origin)
    own_rows = _index_names(frame, options.origin)
    names = options.names(frame.shape, (own_rows, check_column_names(frame.columns, options.origin)))
    cells = np.empty(frame.shape, np.int8)
    for j, column in enumerate(frame.iter_columns()):
        cells[:, j] = codes_of(column.to_numpy(), options.threshold)
    _check_codes(cells, options, names, lambda i, j: frame[:, j].to_numpy()[i])
    return Encoded(cells, None, *names)


def _index_names(frame: nw.DataFrame[Any], origin: Origin) -> list[str] | None:
    """A pandas index as row names, unless it only counts the rows from 0."""
    index = nw.maybe_get_index(frame)
    if index is None or (type(index).__name__ == "RangeIndex" and (index.start, index.step) == (0, 1)):
        return None
    return checked_text(index, origin, "row name")


def check_row_weight(sample_weight: ArrayLike | None, n_rows: int, name: str = "sample_weight") -> np.ndarray:
    """Row weights as float64: all 1 by default, else finite, not negative, and not all 0."""
    if sample_weight is None:
        return np.ones(n_rows)
    weight = np.asarray(sample_weight, dtype=np.float64)
    if weight.shape != (n_rows,):
        raise DataError(f"{name} has the shape {weight.shape}; give one weight for each of {n_rows} rows")
    if not np.all(np.isfinite(weight)) or np.any(weight < 0):
        raise DataError(f"{name} must be finite and not negative; give rows to leave out a weight of 0")
    if weight.max(initial=0.0) > LARGEST_WEIGHT:
        raise DataError(f"a sample weight is above {LARGEST_WEIGHT:g}; divide all of them by the same number")
    if not np.any(weight > 0):
        raise DataError("every sample weight is zero; give at least one row a weight above 0")
    return weight


MOST_BYTES = 1 << 30
"""Larger arrays are kept in a temporary file, which the operating system pages in and out."""


class PackedCells(NamedTuple):
    """A table of 0, 1 and missing cells, eight of them in a byte; every row begins with a byte of its own.

    Attributes
    ----------
    ones : uint8 array of shape (N, ceil(D / 8))
        The bits of cells that are 1, the first column in the highest bit.
    missing : uint8 array of the same shape, or None
        The bits of missing cells; None if there are none.
    n_columns : int
        D.
    """

    ones: np.ndarray
    missing: np.ndarray | None
    n_columns: int

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""
        return len(self.ones), self.n_columns

    def rows(self, index: slice | np.ndarray) -> PackedCells:
        """These rows, packed; a slice is not copied."""
        return PackedCells(self.ones[index], None if self.missing is None else self.missing[index], self.n_columns)

    def unpacked(self) -> np.ndarray:
        """The codes of all cells: int8, N x D."""
        cells = np.unpackbits(self.ones, axis=1, count=self.n_columns).view(np.int8)
        if self.missing is not None:
            # 0 - 1: a missing cell is no 1, so the subtraction makes it MISSING.
            cells -= np.unpackbits(self.missing, axis=1, count=self.n_columns).view(np.int8)
        return cells


def pack(blocks: Iterable[np.ndarray], n_rows: int, n_columns: int) -> PackedCells:
    """Pack codes that come in blocks of rows.

    Examples
    --------
    >>> table = pack([np.array([[0, 1, -1]], np.int8), np.array([[1, 1, 0]], np.int8)], 2, 3)
    >>> table.unpacked()
    array([[ 0,  1, -1],
           [ 1,  1,  0]], dtype=int8)
    """
    shape = (n_rows, -(-n_columns // 8))
    ones, missing, start = new_array(shape, np.uint8), None, 0
    for block in blocks:
        for part in row_blocks(*block.shape):
            cells = block[part]
            rows = slice(start, start + len(cells))
            ones[rows] = np.packbits(cells == 1, axis=1)
            if missing is None and (cells == MISSING).any():
                missing = new_array(shape, np.uint8)
                missing[:start] = 0
            if missing is not None:
                missing[rows] = np.packbits(cells == MISSING, axis=1)
            start = rows.stop
    return PackedCells(ones, missing, n_columns)


def new_array(shape: tuple[int, ...], dtype: type | np.dtype = np.float64) -> np.ndarray:
    """An array whose values are not set; a large one lies in a temporary file that vanishes with it."""
    if int(np.prod(shape, dtype=np.int64)) * np.dtype(dtype).itemsize <= MOST_BYTES:
        return np.empty(shape, dtype)
    with tempfile.TemporaryFile(prefix="latentbits-") as file:  # the map keeps the unnamed file alive
        return np.memmap(file, dtype=dtype, mode="w+", shape=shape).view(np.ndarray)


BLOCK_CELLS = 1 << 24
"""Cells that are read at a time: 16 MB of bytes, 128 MB of floats."""

Encode = Callable[..., "BinaryData"]


def comes_in_blocks(X: Any) -> bool:
    """Whether X is to be read block by block: a memory map, a chunked array, or row blocks one after the other."""
    if isinstance(X, np.memmap):
        return True
    if isinstance(X, list | tuple):
        return len(X) > 0 and all(getattr(block, "ndim", 0) == 2 for block in X)
    if isinstance(X, np.ndarray) or sp.issparse(X) or isinstance(X, str | bytes | dict):
        return False
    return _is_chunked(X) or (isinstance(X, Iterable) and not hasattr(X, "shape") and not hasattr(X, "columns"))


def _is_chunked(X: Any) -> bool:
    """Whether X is an array of zarr, h5py or Dask: rows can be asked for, and it says in which chunks it is kept."""
    return hasattr(X, "chunks") and hasattr(X, "dtype") and len(getattr(X, "shape", ())) == 2


def read_blocks(X: Any, encode: Encode, binarize: float | None) -> BinaryData:
    """All blocks as one table: bits, or sparse if all of them are."""
    if hasattr(X, "shape"):
        if len(X.shape) != 2 or 0 in X.shape:
            return encode(np.empty(X.shape), binarize=binarize)  # which refuses it in the usual words
        blocks = (encoded_block(part, first, encode, binarize) for first, part in _sliced(X))
        first = next(blocks)
        if not first.is_sparse:
            cells = (block.block(slice(0, block.shape[0])) for block in _with_first(first, blocks))
            return _new_data(packed=pack(cells, *X.shape))
        return stacked([first, *blocks])
    return stacked(_one_by_one(X, encode, binarize))


def _with_first(first: BinaryData, rest: Iterator[BinaryData]) -> Iterator[BinaryData]:
    yield first
    yield from rest


def _sliced(X: Any) -> Iterator[tuple[int, Any]]:
    """The rows of an array, as many at a time as memory allows, and the place of the first of them."""
    step = max(1, BLOCK_CELLS // X.shape[1])
    for first in range(0, X.shape[0], step):
        part = X[first : first + step]
        if isinstance(part, np.memmap):
            part = part.view(np.ndarray)
        yield first, part.compute() if hasattr(part, "compute") else part


def _one_by_one(X: Iterable[Any], encode: Encode, binarize: float | None) -> list[BinaryData]:
    blocks: list[BinaryData] = []
    first = 0
    for number, part in enumerate(X, start=1):
        if getattr(part, "shape", None) is None or len(part.shape) != 2:
            raise DataError(f"block {number} is no table; give an iterable of arrays, sparse matrices or frames")
        if part.shape[0] == 0:  # usual where a stream is filtered
            continue
        block = encoded_block(part, first, encode, binarize)
        blocks.append(block if block.is_sparse else block.to_packed())
        first += block.shape[0]
        _check_columns(number, block, blocks[0])
    if not blocks:
        raise DataError("there is no block of rows; give an iterable of tables, such as a list of arrays")
    return blocks


def _check_columns(number: int, block: BinaryData, like: BinaryData) -> None:
    """Refuse other columns than those of the first block."""
    if block.shape[1] != like.shape[1]:
        reason = f"has {block.shape[1]} columns, and the first has {like.shape[1]}"
    elif sorted(block.column_names or ()) == sorted(like.column_names or ()):
        reason = "has the columns of the first in another order" if block.column_names != like.column_names else ""
    else:
        other = next(
            name for name in block.column_names or ["columns without names"] if name not in (like.column_names or ())
        )
        reason = f"has other columns than the first, such as {other}"
    if reason:
        raise DataError(f"block {number} of rows {reason}; give all blocks the same columns")


def encoded_block(part: Any, first: int, encode: Encode, binarize: float | None) -> BinaryData:
    """A block as data; an error names the row of the whole table, of which the block's first is number `first`."""
    try:
        return encode(part, binarize=binarize)
    except DataError:
        return encode(part, binarize=binarize, row_names=[str(first + i + 1) for i in range(part.shape[0])])


def stacked(blocks: Sequence[BinaryData]) -> BinaryData:
    """Blocks below one another, without row names: sparse if all are, otherwise bits."""
    names = blocks[0].column_names
    if len(blocks) == 1:
        return _new_data(blocks[0].cells, blocks[0].sparse, packed=blocks[0].packed, column_names=names)
    if all(block.sparse is not None for block in blocks):
        # SciPy can't stack unequal index types, which `uniform` makes equal.
        csr = sp.csr_array(sp.vstack([_uniform(block.sparse) for block in blocks]))
        return _new_data(None, with_index_types(csr), column_names=names)
    packed = [part for block in blocks if (part := block.to_packed().packed) is not None]
    return _new_data(packed=_stacked_bits(packed), column_names=names)


def _uniform(csr: Any) -> sp.csr_array:
    return sp.csr_array((csr.data, csr.indices, csr.indptr), shape=csr.shape)


def _stacked_bits(parts: Sequence[PackedCells]) -> PackedCells:
    shape = sum(len(part.ones) for part in parts), parts[0].ones.shape[1]
    ones = np.concatenate([part.ones for part in parts], out=new_array(shape, np.uint8))
    missing = None
    if any(part.missing is not None for part in parts):
        filled = [np.zeros_like(part.ones) if part.missing is None else part.missing for part in parts]
        missing = np.concatenate(filled, out=new_array(shape, np.uint8))
    return PackedCells(ones, missing, parts[0].n_columns)


def _new_data(cells: Any = None, sparse: Any = None, **rest: Any) -> BinaryData:
    from latentbits.data.binary_data import BinaryData  # which reads blocks by this module

    return BinaryData(cells, sparse, **rest)
