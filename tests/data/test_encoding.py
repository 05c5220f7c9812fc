"""Encoding: every accepted form gives the same cells, every refusal names the place and the way out."""

import re
from collections.abc import Callable
from decimal import Decimal
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from latentbits.data import MISSING, BinaryData
from latentbits.datasets.images import load_digits
from latentbits.errors import DataError, DataTypeError
from tests.data.tables import BITS, HOLES, HOLES_CODES, NAMES


def contents(X: Any) -> str:
    """All that a container holds, for comparison."""
    if isinstance(X, pl.LazyFrame):
        X = X.collect()
    if hasattr(X, "tocoo"):
        return repr([getattr(X.tocoo(), part).tolist() for part in ("data", "row", "col")])
    return repr(np.asarray(X)) if hasattr(X, "__array__") else repr(X)


def forms(makers: dict[str, Callable[[], Any]]) -> Any:
    return pytest.mark.parametrize("make", list(makers.values()), ids=list(makers))


DTYPES = ["bool", "int8", "uint8", "int16", "int32", "uint64", "float16", "float32", "float64", "object"]
COMPLETE: dict[str, Callable[[], Any]] = {
    **{dtype: partial(BITS.astype, dtype) for dtype in DTYPES},
    "list": lambda: BITS.tolist(),
    "tuples": lambda: tuple(map(tuple, BITS.tolist())),
    "fortran": lambda: np.asfortranarray(BITS.astype(np.int8)),
    "strided": lambda: np.repeat(BITS, 2, axis=1).astype(np.int8)[:, ::2],
    "read-only": lambda: np.frombuffer(BITS.astype(np.int8).tobytes(), np.int8).reshape(BITS.shape),
    "decimal": lambda: [[Decimal(v) for v in row] for row in BITS.tolist()],
    "__array__": lambda: type("Wrapped", (), {"__array__": lambda self, dtype=None, copy=None: BITS})(),
    "pandas": lambda: pd.DataFrame(BITS, columns=NAMES),
    "pandas bool": lambda: pd.DataFrame(BITS, columns=NAMES).astype(bool),
    "pandas Int8": lambda: pd.DataFrame(BITS, columns=NAMES).astype("Int8"),
    "pandas sparse": lambda: pd.DataFrame(BITS, columns=NAMES).astype(pd.SparseDtype("int64", 0)),
    "polars": lambda: pl.DataFrame(BITS, schema=NAMES),
    "polars lazy": lambda: pl.LazyFrame(BITS, schema=NAMES),
    "arrow": lambda: pa.table(dict(zip(NAMES, BITS.T, strict=True))),
    **{form: partial(sp.coo_array(BITS).asformat, form) for form in ("csr", "csc", "coo", "lil", "dok")},
    **{form: partial(sp.coo_array(BITS).asformat, form) for form in ("bsr", "dia")},
    "csr bool": lambda: sp.csr_array(BITS.astype(bool)),
    "csr_matrix float": lambda: sp.csr_matrix(BITS.astype(float)),
}


@forms(COMPLETE)
def test_every_form_gives_the_same_cells(make: Callable[[], Any]) -> None:
    data = BinaryData.of(make())
    assert data.dense().dtype == np.int8
    assert data.dense().flags.c_contiguous
    np.testing.assert_array_equal(data.dense(), BITS)
    assert data.fingerprint() == BinaryData.of(BITS, column_names=data.column_names).fingerprint()
    assert not data.has_missing


MISSING_FORMS: dict[str, Callable[[], Any]] = {
    "float": lambda: HOLES,
    "float32": lambda: HOLES.astype(np.float32),
    "list with None": lambda: [[0, 1, None], [1, None, 0], [None, 0, 1]],
    "object with NaN, None, NA": lambda: [[0, 1, float("nan")], [True, None, 0.0], [pd.NA, False, 1]],
    "object with NaT": lambda: np.array([[0, 1, pd.NaT], [1, pd.NaT, 0], [pd.NaT, 0, 1]], dtype=object),
    "masked": lambda: np.ma.masked_invalid(HOLES),
    "masked int8": lambda: np.ma.masked_array(np.nan_to_num(HOLES).astype(np.int8), np.isnan(HOLES)),
    "sparse NaN": lambda: sp.coo_array(HOLES),
    "pandas NaN": lambda: pd.DataFrame(HOLES),
    "pandas object None": lambda: pd.DataFrame(HOLES).astype(object).replace({np.nan: None}),
    "pandas Int64": lambda: pd.DataFrame(HOLES).astype("Int64"),
    "pandas boolean": lambda: pd.DataFrame(HOLES).astype("boolean"),
    "polars null": lambda: pl.DataFrame({"a": [0, 1, None], "b": [1, None, 0], "c": [None, 0, 1]}),
    "polars bool null": lambda: pl.DataFrame(
        {"a": [False, True, None], "b": [True, None, False], "c": [None, False, True]}
    ),
    "polars NaN": lambda: pl.DataFrame(HOLES),
    "arrow null": lambda: pa.table({"a": [0, 1, None], "b": [1, None, 0], "c": [None, 0, 1]}),
}


@forms(MISSING_FORMS)
def test_missing_cells_in_every_container(make: Callable[[], Any]) -> None:
    data = BinaryData.of(make())
    assert data.dense().tolist() == HOLES_CODES
    assert data.has_missing
    assert (data.n_missing, data.n_observed, data.n_ones) == (3, 6, 3)


def test_sparse_form_is_canonical() -> None:
    coo = sp.coo_array(([1, 1, 0, 1, -1], ([1, 0, 0, 1, 1], [2, 1, 0, 0, 0])), shape=(2, 3))
    matrix = BinaryData.of(coo).sparse
    assert matrix is not None
    assert (matrix.data.dtype, matrix.indices.dtype, matrix.indptr.dtype) == (np.int8, np.int32, np.int64)
    assert matrix.data.tolist() == [1, 1]  # the stored zero and the pair 1 - 1 are gone
    assert matrix.indices.tolist() == [1, 2]
    assert matrix.indptr.tolist() == [0, 1, 2]


def test_unsorted_csr_is_sorted_without_touching_the_caller() -> None:
    indices = np.array([2, 0, 1], dtype=np.int32)
    caller = sp.csr_array((np.array([1.0, np.nan, 1.0]), indices, np.array([0, 2, 3])), shape=(2, 3))
    matrix = BinaryData.of(caller).sparse
    assert matrix is not None
    assert matrix.indices.tolist() == [0, 2, 1]
    assert matrix.data.tolist() == [MISSING, 1, 1]
    assert caller.indices.tolist() == [2, 0, 1]


@forms({**COMPLETE, **MISSING_FORMS})
def test_the_input_is_never_changed(make: Callable[[], Any]) -> None:
    X, untouched = make(), make()
    data = BinaryData.of(X, binarize=1)
    data.rows([0]), data.dense(), data.to_frame(), data.fingerprint()
    assert contents(X) == contents(untouched)


def test_one_byte_arrays_are_shared_and_others_are_not() -> None:
    for dtype in (bool, np.int8, np.uint8):
        X = BITS.astype(dtype)
        assert np.shares_memory(BinaryData.of(X).dense(), X)
        assert not np.shares_memory(BinaryData.of(X, binarize=1).dense(), X)
    wide = BITS.astype(np.int64)
    assert not np.shares_memory(BinaryData.of(wide).dense(), wide)


def test_binary_data_come_back_as_they_are_unless_renamed() -> None:
    data = BinaryData.of(BITS, column_names=NAMES)
    assert BinaryData.of(data) is data
    renamed = BinaryData.of(data, column_names=["a", "b", "c"])
    assert renamed.column_names == ["a", "b", "c"]
    assert renamed.cells is data.cells
    assert data.column_names == NAMES


def test_names_of_frames_are_kept() -> None:
    frame = pd.DataFrame(BITS, columns=NAMES, index=["p", "q", "r", "s"])
    data = BinaryData.of(frame)
    assert (data.row_names, data.column_names) == (["p", "q", "r", "s"], NAMES)
    assert BinaryData.of(frame.reset_index(drop=True)).row_names is None
    assert BinaryData.of(frame.reset_index(drop=True).iloc[2:]).row_names == ["2", "3"]
    assert BinaryData.of(pd.DataFrame(BITS)).column_names == ["0", "1", "2"]
    assert BinaryData.of(pl.DataFrame(BITS, schema=NAMES)).column_names == NAMES
    assert BinaryData.of(frame, row_names=range(4)).row_names == ["0", "1", "2", "3"]


@pytest.mark.parametrize("dtype", ["int8", "int64", "float32", "float64", "object"])
def test_binarize_calls_the_threshold_itself_present(dtype: str) -> None:
    X = np.array([[-1, 0, 1], [2, 3, 0]]).astype(dtype)
    assert BinaryData.of(X, binarize=1).dense().tolist() == [[0, 0, 1], [1, 1, 0]]
    assert BinaryData.of(X, binarize=2).dense().tolist() == [[0, 0, 0], [1, 1, 0]]
    assert BinaryData.of(pd.DataFrame(X), binarize=2).dense().tolist() == [[0, 0, 0], [1, 1, 0]]


def test_binarize_keeps_missing_and_agrees_on_sparse() -> None:
    X = np.array([[0.0, 0.4, np.nan], [2.5, 0.5, 0.0]])
    dense, sparse = BinaryData.of(X, binarize=0.5), BinaryData.of(sp.csr_array(X), binarize=0.5)
    assert dense.dense().tolist() == [[0, 0, -1], [1, 1, 0]]
    assert sparse.dense().tolist() == dense.dense().tolist()
    assert sparse.sparse is not None
    assert sparse.sparse.nnz == 3


REFUSED: dict[str, tuple[Any, dict[str, Any], str]] = {
    "count": (
        [[0, 1], [0, 3]],
        {},
        "row 2, column 2: value 3 is neither 0 nor 1; use binarize=1 to call every value >= 1 present",
    ),
    "all counted, three shown": (
        np.arange(2, 8).reshape(2, 3),
        {"row_names": ["p", "q"], "column_names": NAMES},
        'row "p", column "Equus": value 2 is neither 0 nor 1 (and 5 more bad cells, first at row "p", column '
        '"Sus": 3, then row "p", column "Bos": 4); use binarize=5 to call every value >= 5 present, of 2 to 7',
    ),
    "two bad": ([[2, 0, 5]], {}, "(and 1 more bad cell, first at row 1, column 3: 5)"),
    "codes 1 and 2": (
        [[1, 2], [2, 1]],
        {},
        "value 2 is neither 0 nor 1 (and 1 more bad cell, first at row 2, column 1",
    ),
    "codes 1 and 2, way out": ([[1, 2], [2, 1]], {}, "use binarize=2 to call every value >= 2 present"),
    "probability": ([[0.25, 1.0]], {}, "value 0.25 is neither 0 nor 1; use binarize=0.5 to call"),
    "nearly one": ([[1.0000001, 0]], {}, "value 1.0000001 is neither"),
    "minus one": (
        np.array([[0, -1]], np.int8),
        {},
        "value -1 is neither 0 nor 1; use NaN if it stands for missing",
    ),
    "large byte": (np.array([[0, 255]], np.uint8), {}, "row 1, column 2: value 255 is neither 0 nor 1"),
    "infinity": ([[0, np.inf]], {}, "value inf is neither 0 nor 1; replace infinity by 0, 1 or NaN"),
    "infinity, binarize": (
        [[0, -np.inf]],
        {"binarize": 1},
        "value -inf is not a finite number; replace infinity",
    ),
    "huge": ([[10**400, 0]], {}, "column 1: value 1000"),
    "text": (
        [[0, "a"], [1, "1"]],
        {},
        'row 1, column 2: value "a" is neither 0 nor 1 (and 1 more bad cell, '
        'first at row 2, column 2: "1"); write text as 0, 1 or NaN (missing; read_table reads yes and no), or leave '
        "its column out",
    ),
    "text array": (np.array([["1", "0"]]), {}, 'value "1" is neither 0 nor 1'),
    "text, binarize": ([[0, "a"]], {"binarize": 1}, 'value "a" is not a finite number'),
    "sparse": (
        sp.coo_array(([3.0, 1.0], ([1, 0], [2, 0])), shape=(2, 3)),
        {},
        "row 2, column 3: value 3 is neither",
    ),
    "sparse duplicates": (
        sp.coo_array(([1, 1], ([1, 1], [0, 0])), shape=(2, 2)),
        {},
        "row 2, column 1: value 2",
    ),
    "sparse infinity": (sp.csr_array([[0, np.inf]]), {"binarize": 1}, "value inf is not a finite number"),
    "sparse threshold": (
        sp.csr_array([[0.0, 1.0]]),
        {"binarize": 0},
        "use a threshold above 0, or X.toarray()",
    ),
    "frame": (pd.DataFrame({"site": ["P"], "Sus": [2]}), {}, 'row 1, column "site": value "P" is neither'),
    "polars": (pl.DataFrame({"Sus": [0, 2]}), {}, 'row 2, column "Sus": value 2 is neither'),
    "duplicate names": (
        pd.DataFrame([[0, 1, 0]], columns=["a", "b", "a"]),
        {},
        'the column name "a" appears 2 times, first as columns 1 and 3; give each column its own name',
    ),
    "duplicate names given": ([[0, 1]], {"column_names": ["a", "a"]}, 'the column name "a" appears 2 times'),
    "empty name": (
        pd.DataFrame([[0, 1]], columns=["a", ""]),
        {},
        "column 2 has an empty name; name each",
    ),
    "empty name, polars": (
        pl.DataFrame({"": [0]}),
        {},
        "column 1 has an empty name; name each",
    ),
    "too few names": ([[0, 1]], {"column_names": ["a"]}, "column_names has 1 names for 2"),
    "too many row names": (
        [[0, 1]],
        {"row_names": ["a", "b"]},
        "row_names has 2 names for 1; give one name each",
    ),
    "complex": (np.array([[1j]]), {}, "Complex data not supported"),
    "complex sparse": (sp.csr_array([[1j]]), {}, "Complex data not supported"),
    "one dimension": ([0, 1], {}, "Expected 2D array, got 1D array instead"),
    "one dimension, way out": (pd.Series([0, 1]), {}, "Reshape your data: X.reshape(-1, 1)"),
    "one dimension, sparse": (sp.coo_array([0, 1]), {}, "Expected 2D array, got 1D array instead"),
    "scalar": (5, {}, "Expected 2D array, got scalar array instead"),
    "path": ("sites.csv", {}, "a text or path is not a table; read a file with latentbits.read_table(path)"),
    "data set": (load_digits(), {}, "a BinaryImages holds more than a table; give its .X"),
    "three dimensions": (np.zeros((2, 2, 2)), {}, "Expected 2D array, got 3D array instead"),
    "no rows": (
        np.zeros((0, 3)),
        {},
        "Found array with 0 sample(s) (shape=(0, 3)) while a minimum of 1 is required.",
    ),
    "no columns": (np.zeros((3, 0)), {}, "0 feature(s) (shape=(3, 0)) while a minimum of 1 is required."),
    "no rows, frame": (pl.DataFrame({"a": []}), {}, "0 sample(s) (shape=(0, 1))"),
    "no columns, sparse": (sp.csr_array((3, 0)), {}, "0 feature(s) (shape=(3, 0))"),
    "ragged": ([[0, 1], [1]], {}, "the rows differ in length or depth; give each the same number of cells"),
    "threshold NaN": (
        [[0]],
        {"binarize": np.nan},
        "binarize=nan is not a finite number; use for example binarize=1",
    ),
    "threshold text": ([[0]], {"binarize": "1"}, "binarize='1' is not a finite number"),
}


@pytest.mark.parametrize(("X", "options", "message"), list(REFUSED.values()), ids=list(REFUSED))
def test_refusals_name_place_and_way_out(X: Any, options: dict[str, Any], message: str) -> None:
    with pytest.raises(DataError, match=re.escape(message)):
        BinaryData.of(X, **options)


@pytest.mark.parametrize("cell", [{"foo": "bar"}, pd.Timestamp("2020-01-01"), 1j], ids=["dict", "date", "complex"])
def test_objects_are_type_errors_too(cell: object) -> None:
    X = np.array([[0, 1], [0, 1]], dtype=object)
    X[1, 0] = cell
    with pytest.raises(DataTypeError, match=r"row 2, column 1: .*argument must be .* string.* number") as caught:
        BinaryData.of(X)
    assert isinstance(caught.value, TypeError)


@given(hnp.arrays(np.float64, (3, 4), elements=st.sampled_from([0, 1, 2, 0.5, np.nan, -1, np.inf])))
def test_all_bad_cells_are_counted(X: np.ndarray) -> None:
    n_bad = int(np.sum(~np.isin(X, [0, 1]) & ~np.isnan(X)))
    for form in (X, X.astype(object), sp.csr_array(X), pd.DataFrame(X)):
        if n_bad == 0:
            assert BinaryData.of(form).n_missing == np.isnan(X).sum()
            continue
        with pytest.raises(DataError) as caught:
            BinaryData.of(form)
        more = re.search(r"and (\d+) more bad", str(caught.value))
        assert n_bad == 1 + (int(more[1]) if more else 0)
