"""Damaged and crafted files, each once found by an attack: one sentence, and no library's error or memory."""

from __future__ import annotations

import gzip
import io
import os
import zipfile
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

from latentbits import read_table
from latentbits.errors import DataError
from tests.attacks.hostile_files import bombs, npy, zipped
from tests.data.tables import Reader, cells

MTX = b"%%MatrixMarket matrix "
LONG = b"x" * 140_000


def sparse_npz(**changes: np.ndarray) -> bytes:
    made = sp.csr_array(np.array([[0, 1], [1, 1]], np.int8))
    arrays = {"format": np.array(b"csr"), "shape": np.array([2, 2]), "data": made.data}
    arrays |= {"indices": made.indices, "indptr": made.indptr} | changes
    return zipped({f"{name}.npy": npy(array) for name, array in arrays.items()})


def header_of_npy(header: str) -> bytes:
    return b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header.encode() + bytes(64)


FULL, ENTRIES = MTX + b"array integer general\n1 1\n", MTX + b"coordinate integer general\n3 3 1\n"
HUGE = f"{{'descr': '<f8', 'fortran_order': False, 'shape': ({10**30}, 1)}}"
WILD, NOTHING = (
    HUGE.replace("<f8", kind).replace(str(10**30), size) for kind, size in (("<U3", "5"), ("V0", "9" * 12))
)
NO_XML = zipped({"xl/workbook.xml": b"<", "[Content_Types].xml": b"<"})
SYMMETRIC = MTX + b"array integer symmetric\n2 9\n" + b"1\n" * 18

REFUSED: dict[str, tuple[str, bytes, str]] = {
    "field above the csv module's limit": ("t.csv", b"a,b\n0," + LONG, "line 2: a field has more than 131,072"),
    "the same beyond the first lines": ("t.csv", b"a,b\n" + b"0,1\n" * 30 + b"0," + LONG, "line 32: a field has"),
    "matrix cut off in gzip": ("t.mtx.gz", gzip.compress(FULL + b"1\n")[:-9], "the gzip data are cut off or damaged"),
    "matrix damaged in gzip": ("t.mtx.gz", b"\x1f\x8b" + b"damaged" * 9, "the gzip data are cut off or damaged"),
    "header that is no Python": ("t.npy", header_of_npy("{'descr': '<f8', ((("), "can't be read as a .npy file"),
    "header with a huge number": ("t.npy", header_of_npy(HUGE), "can't be read as a .npy file"),
    "texts that are no Unicode": ("t.npy", header_of_npy(WILD) + b"\xff" * 64, "can't be read as a .npy file"),
    "records of no bytes": ("t.npy", header_of_npy(HUGE.replace("<f8", "V0").replace(str(10**30), str(2**40))), "|V0"),
    "the same in an archive": ("t.npz", zipped({"X.npy": header_of_npy(NOTHING)}), "can't be read as a .npz file"),
    "index outside": ("t.npz", sparse_npz(indices=np.array([1, 0, 900])), "the sparse matrix don't fit together"),
    "rows outside": ("t.npz", sparse_npz(indptr=np.array([0, 900, 3])), "the sparse matrix don't fit together"),
    "symmetric, but not square": ("t.mtx", SYMMETRIC, "2 x 9 is not symmetric"),
    "a word of many letters": ("t.mtx", ENTRIES + b"1 1 1" + LONG, "t.mtx: this can't be read"),
    "entry outside": ("t.mtx", ENTRIES + b"9 1 1\n", "entry 1 is at 9, 1, outside of 3 x 3"),
    "entries too many": ("t.mtx", FULL + b"1\n0\n", "there should be 1 lines of 1, but are more of 1"),
    "sheet that is no XML": ("t.xlsx", NO_XML, "t.xlsx: this can't be read as .xlsx"),
    "reason of several lines": ("t.parquet", b"PAR1\n\n\n", "t.parquet: this can't be read as Parquet"),
    "characters that terminals obey": ("t.csv", b"a,b\x1b[31m\n0,2\n1,\x1b[31m\n", "t.csv, "),
}


@pytest.mark.parametrize(("name", "content", "message"), list(REFUSED.values()), ids=list(REFUSED))
def test_refused_in_one_sentence(read: Reader, name: str, content: bytes, message: str) -> None:
    with pytest.raises(DataError) as caught:
        read(content, name)
    assert message in str(caught.value)
    assert str(caught.value).isprintable()
    assert len(str(caught.value)) <= 1300


def test_codecs_and_delimiters_that_are_none(read: Reader) -> None:
    with pytest.raises(DataError, match='the encoding "rot13" is unknown'):
        read("a,b\n0,1\n", encoding="rot13")
    with pytest.raises(DataError, match="is not one character"):
        read("a,b\n0,1\n", delimiter='"')


def test_text_that_is_no_utf8_in_feather(tmp_path: Path) -> None:
    pa, feather = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.feather")
    words = pa.Array.from_buffers(
        pa.string(), 1, [None, pa.array([0, 2], pa.int32()).buffers()[1], pa.py_buffer(b"\xff\xfe")]
    )
    feather.write_feather(pa.table({"a": words}), tmp_path / "t.feather", "uncompressed")
    with pytest.raises(DataError, match="can't be read as Feather"):
        read_table(tmp_path / "t.feather")


CHEAP = ["nuls.csv.bz2", "one_line.csv.bz2", "rows.csv.gz", "rows.mtx.gz", "array.mtx", "shape.mtx", "entries.mtx"]
CHEAP += ["claims.npy", "sparse.npz", "entities.xlsx", "words.parquet"]


@pytest.mark.parametrize("name", CHEAP)
def test_bombs(read: Reader, name: str) -> None:
    """(The attack has others that take longer to make.)"""
    with pytest.raises(DataError, match=r"over 200 times its size|can't be read as"):
        read(bombs()[name](), name)


def test_the_limit_is_about_large_files_only(read: Reader) -> None:
    names, sparse = ",".join(f"c{j}" for j in range(5000)).encode(), b"0," * 4999
    text = names + b"\n" + (sparse + b"0\n") * 1000 + (sparse + b"1\n") * 1000
    assert 1 << 24 < len(text) < 1 << 26
    packed = gzip.compress(text)
    assert len(packed) * 200 < len(text)
    found = read(packed, "t.csv.gz")
    assert found.shape == (2000, 5000)
    assert found.ones_per_column()[-1] == 1000


def test_many_short_lines_are_too_much_before_many_bytes_are(read: Reader) -> None:
    with pytest.raises(DataError, match=r"over 200 times its size.*; if you trust it, unpack it"):
        read(gzip.compress(b"a,b\n" + b"0,1\n" * 2_200_000), "t.csv.gz")


def test_far_cells_of_a_sheet(tmp_path: Path) -> None:
    """Two cells may claim 17 billion."""
    pytest.importorskip("openpyxl")
    buffer = io.BytesIO()
    pd.DataFrame({"a": [1, 0], "b": [0, 1]}).to_excel(buffer, index=False)
    with zipfile.ZipFile(buffer) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    sheet = "xl/worksheets/sheet1.xml"
    for far, message in ((b"XFD90000", "over 200 times its size"), (b"A4000000000", "more rows than Excel")):
        row = far.lstrip(b"ABCDEFGHIJKLMNOPQRSTUVWXYZ")
        cell = b'<row r="' + row + b'"><c r="' + far + b'"><v>1</v></c></row></sheetData>'
        changed = members | {sheet: members[sheet].replace(b"</sheetData>", cell)}
        (tmp_path / "t.xlsx").write_bytes(zipped(changed))
        with pytest.raises(DataError, match=message):
            read_table(tmp_path / "t.xlsx")


@pytest.mark.parametrize("name", ["t.csv", "t.csv.gz", "t.npy", "t.parquet", "t.xlsx"])
def test_what_is_no_file(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    os.mkfifo(path)
    with pytest.raises(DataError, match="this is a pipe or a device"):
        read_table(path)
    path.unlink()
    path.symlink_to("/dev/zero")
    with pytest.raises(DataError, match="this is a pipe or a device"):
        read_table(path)
    path.unlink()
    path.symlink_to(path)
    with pytest.raises(DataError, match=r"this can't be opened .*; check the path"):
        read_table(path)
    path.unlink()
    path.mkdir()
    with pytest.raises(DataError, match=r"this is a folder without \.parquet files"):
        read_table(path)
    with pytest.raises(DataError, match="File name too long"):
        read_table(tmp_path / ("t" * 300 + name))


def test_matrix_market_of_every_kind(tmp_path: Path) -> None:
    """As SciPy writes and reads them."""
    scipy_io = pytest.importorskip("scipy.io")
    rng = np.random.default_rng(0)
    for symmetry in ("general", "symmetric"):
        for is_array in (False, True):
            for field in ("integer", "real") if is_array else ("integer", "real", "pattern"):
                bits = rng.integers(0, 2, (5, 5))
                if symmetry == "symmetric":
                    bits = np.tril(bits) | np.tril(bits).T
                path = tmp_path / "t.mtx"
                scipy_io.mmwrite(path, bits if is_array else sp.coo_array(bits), field=field, symmetry=symmetry)
                data = read_table(path)
                assert cells(data) == bits.tolist()
                assert data.is_sparse != is_array
