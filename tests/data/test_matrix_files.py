"""Files of matrices and typed tables: every format gives the same cells."""

import gzip
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.io
import scipy.sparse as sp

from latentbits.data import read_table
from latentbits.errors import DataError
from tests.data.tables import Reader, cells

BITS = np.array([[0, 1, 1], [1, 0, 0]], dtype=np.int8)


def test_every_matrix_format_gives_the_same_cells(tmp_path: Path) -> None:
    np.save(tmp_path / "plain.npy", BITS.astype(float))
    np.savez(tmp_path / "one.npz", anything=BITS)
    np.savez_compressed(tmp_path / "named.npz", X=BITS, other=np.zeros(3))
    sp.save_npz(tmp_path / "sparse.npz", sp.csr_array(BITS))
    sp.save_npz(tmp_path / "matrix.npz", sp.coo_matrix(BITS))
    scipy.io.mmwrite(tmp_path / "coordinates.mtx", sp.coo_array(BITS))
    scipy.io.mmwrite(tmp_path / "pattern.mtx", sp.coo_array(BITS), field="pattern")
    scipy.io.mmwrite(tmp_path / "full.mtx", BITS.astype(int))
    (tmp_path / "packed.mtx.gz").write_bytes(gzip.compress((tmp_path / "full.mtx").read_bytes()))
    read = {path.name: read_table(path) for path in tmp_path.iterdir()}
    assert len(read) == 9
    for data in read.values():
        np.testing.assert_array_equal(data.dense(), BITS)
    held_sparse = {name for name, data in read.items() if data.is_sparse}
    assert held_sparse == {"sparse.npz", "matrix.npz", "coordinates.mtx", "pattern.mtx"}


def test_arrays_of_npz_are_chosen(tmp_path: Path) -> None:
    path = tmp_path / "several.npz"
    np.savez(path, train=BITS, test=BITS[:1], counts=BITS * 3)
    assert read_table(path, array="test").shape == (1, 3)
    np.testing.assert_array_equal(read_table(path, array="counts", threshold=3).dense(), BITS)
    for array in (None, "valid"):
        with pytest.raises(DataError, match='the arrays are "train", "test", "counts"; choose one with array=NAME'):
            read_table(path, array=array)
    with pytest.raises(DataError, match=r"several.npz, row 1, column 2: value 3 .* use threshold=1 \(--threshold 1\)"):
        read_table(path, array="counts")


@pytest.mark.parametrize(
    "name", ["bad.npz", "bad.npy", "bad.mtx", "bad.parquet", "bad.feather", "bad.mtx.gz", "bad.xlsx"]
)
def test_damaged_files(read: Reader, name: str) -> None:
    if name.endswith(".xlsx"):
        pytest.importorskip("openpyxl")
    with pytest.raises(DataError, match=rf"^{name}: this can't be read as .*; save the (matrix|table) again"):
        read(b"nonsense", name)


def test_pickles_are_not_opened(tmp_path: Path) -> None:
    for name, save in (("objects.npy", np.save), ("objects.npz", np.savez)):
        save(tmp_path / name, np.array([[0, None]], dtype=object))
        with pytest.raises(DataError, match=r"this can't be read as .* of numbers"):
            read_table(tmp_path / name)


def test_matrix_files_refuse_options_of_text(tmp_path: Path) -> None:
    path = tmp_path / "bits.npy"
    np.save(path, BITS)
    with pytest.raises(DataError, match=r"option exclude applies only to files with column names, not to \.npy"):
        read_table(path, exclude=["a"])
    with pytest.raises(DataError, match=r"option presence applies only to files with column names, not to \.npy"):
        read_table(path, presence="x")
    np.save(path, BITS[0])
    with pytest.raises(DataError, match=r"bits\.npy: Expected 2D array, got 1D array"):
        read_table(path)


# Parquet


def test_parquet_keeps_names_index_and_missing(tmp_path: Path) -> None:
    path = tmp_path / "bits.parquet"
    frame = pd.DataFrame({"a": [True, False], "b": pd.array([1, None], dtype="Int8"), "c": [0.0, np.nan]})
    frame.set_axis(["P", "Q"]).to_parquet(path)
    data = read_table(path)
    assert cells(data) == [[1, 1, 0], [0, -1, -1]]
    assert (data.row_names, data.column_names) == (["P", "Q"], ["a", "b", "c"])
    assert cells(read_table(path, columns=["c", "a"], exclude="a")) == [[0], [-1]]


def test_parquet_labels(tmp_path: Path) -> None:
    path = tmp_path / "bits.parquet"
    pl.DataFrame({"site": ["P", "Q"], "a": [1, 0], "n": [3, 4]}).write_parquet(path)
    data = read_table(path, exclude=["n"])
    assert (data.row_names, data.column_names, cells(data)) == (["P", "Q"], ["a"], [[1], [0]])
    assert read_table(path, row_labels="n", columns=["a"]).row_names == ["3", "4"]
    with pytest.raises(DataError, match=r'bits\.parquet, row "P", column "n": value 3 .* use threshold=1'):
        read_table(path)
    with pytest.raises(DataError, match='column "site": value "P" is neither'):
        read_table(path, row_labels=False)


def test_words_in_parquet(tmp_path: Path) -> None:
    path = tmp_path / "bits.parquet"
    pl.DataFrame({"site": ["P", "Q"], "a": ["yes", "no"], "b": [1, -9], "c": ["x", None]}).write_parquet(path)
    assert cells(read_table(path, missing="-9", presence="x")) == [[1, 1, 1], [0, -1, 0]]
    with pytest.raises(DataError, match=r"option delimiter applies only to delimited text, not to \.parquet files"):
        read_table(path, delimiter=";")


def test_rows_without_names_are_counted_from_1(tmp_path: Path) -> None:
    pd.DataFrame({"a": [1, 0, 5], "b": [0, 1, 1]}).to_parquet(tmp_path / "t.parquet")
    with pytest.raises(DataError, match=r't\.parquet, row 3, column "a": value 5 is neither 0 nor 1; use threshold=1'):
        read_table(tmp_path / "t.parquet")


def test_excel_names_the_row_of_the_sheet(tmp_path: Path) -> None:
    pytest.importorskip("openpyxl")
    pd.DataFrame({"site": ["P", "Q"], "a": [1, 3], "b": [0, 0]}).to_excel(tmp_path / "t.xlsx", index=False, startrow=4)
    with pytest.raises(DataError, match=r't\.xlsx, row 7, column "a": value 3 is neither 0 nor 1; use threshold=1'):
        read_table(tmp_path / "t.xlsx")
    with pytest.raises(DataError, match=r"option comment applies only to delimited text, not to \.xlsx"):
        read_table(tmp_path / "t.xlsx", comment="#")
    pd.DataFrame().to_excel(tmp_path / "t.xlsx", index=False)
    with pytest.raises(DataError, match="the file is empty"):
        read_table(tmp_path / "t.xlsx")


def test_excel_without_openpyxl(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "bits.xlsx").write_bytes(b"")
    monkeypatch.setitem(sys.modules, "openpyxl", None)
    with pytest.raises(DataError, match=r'needs openpyxl; pip install "latentbits\[excel\]"'):
        read_table(tmp_path / "bits.xlsx")


def test_parquet_without_pyarrow(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "bits.parquet").write_bytes(b"")
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(DataError, match=r'needs pyarrow; pip install "latentbits\[parquet\]"'):
        read_table(tmp_path / "bits.parquet")
