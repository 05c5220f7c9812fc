"""Validation of input: values of any form become codes (0, 1, MISSING), or an error that names the bad cells.

No other module decides which value is a 0, a 1 or a missing cell.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, is_dataclass
from decimal import Decimal
from numbers import Real
from os import PathLike
from typing import Any, NamedTuple

import narwhals as nw
import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike

from latentbits.data.codes import BAD, MISSING, row_blocks, with_index_types
from latentbits.data.messages import SHOWN, Origin, bad_cells_error, quoted, refusing_damage
from latentbits.data.names import Names, check_column_names, checked_text, choose_names
from latentbits.errors import DataError, DataTypeError

LARGEST_WEIGHT = 1e9
"""Beyond this a row's weight drowns the digits of all others."""

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
    cells: Sequence[tuple[int, int, Any]], total: int, names: Names, options: _Options, *, no_zeros: bool = False
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
        way_out = origin.advice(float(value), no_zeros=no_zeros)
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
    no_zeros = not (cells == 0).any() and bool((cells == 1).any())
    raise _bad_values_error(cells_at, bad.size, names, options, no_zeros=no_zeros)


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
