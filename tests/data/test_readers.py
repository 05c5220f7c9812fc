"""Reading files: every format and vocabulary gives the same cells; every refusal names place and way out."""

import csv
import gzip
import io
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.io
import scipy.sparse as sp
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from latentbits.data import BinaryData, read_table
from latentbits.data import readers as module
from latentbits.errors import DataError

Reader = Callable[..., BinaryData]

BITS = np.array([[0, 1, 1], [1, 0, 0]], dtype=np.int8)


@pytest.fixture
def read(tmp_path: Path) -> Reader:
    """Write the content to a file and read it."""

    def write_and_read(content: str | bytes, name: str = "data.csv", **options: Any) -> BinaryData:
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return read_table(path, **options)

    return write_and_read


def cells(data: BinaryData) -> list[list[int]]:
    return data.dense().tolist()


# Delimited text that is accepted


@pytest.mark.parametrize("delimiter", [",", "\t", ";", "|"])
@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_delimiters_and_line_ends_are_found(read: Reader, delimiter: str, end: str) -> None:
    lines = [("site", "Equus, wild", "Sus;x|y"), ("Pikermi", "1", "0"), ("Samos", "0", "1")]
    text = end.join(delimiter.join(f'"{field}"' for field in line) for line in lines)
    data = read(text + end)
    assert cells(data) == [[1, 0], [0, 1]]
    assert data.row_names == ["Pikermi", "Samos"]
    assert data.column_names == ["Equus, wild", "Sus;x|y"]


def test_delimiter_inside_names_does_not_mislead(read: Reader) -> None:
    assert read("a,b;c,d\n0;1\n1;1\n").column_names == ["a,b", "c,d"]
    assert cells(read("a b\n0 1\n1  1\n", delimiter=" ")) == [[0, 1], [1, 1]]


def test_a_field_that_goes_on_beyond_the_sampled_lines(read: Reader) -> None:
    # Cut off in its last sampled line, the comma's fields look uneven and those of | even.
    text = "a|b,c,d\n" + "x|y,0,1\n" * 18 + 'x|y,"0\n",1\n' + "x|y,0,1\n"
    data = read(text)
    assert data.column_names == ["c", "d"]
    assert cells(data) == [[0, 1]] * 20


def test_one_column_and_its_empty_cells(read: Reader) -> None:
    assert cells(read('a\n0\n""\n1\n\n')) == [[0], [-1], [1]]


def test_gzip_is_recognised_by_content(read: Reader) -> None:
    content = gzip.compress(b"a,b\n0,1\n")
    assert cells(read(content, "data.csv.gz")) == [[0, 1]]
    assert cells(read(content, "data.csv")) == [[0, 1]]


@pytest.mark.parametrize("encoding", ["utf-8", "UTF8", "utf-8-sig", "latin-1", "utf-16"])
def test_encodings(read: Reader, encoding: str) -> None:
    data = read("été,b\n0,1\n".encode(encoding), encoding=encoding)
    assert data.column_names == ["été", "b"]


def test_byte_order_mark_is_skipped_without_asking(read: Reader) -> None:
    assert read(b"\xef\xbb\xbfa,b\n0,1\n").column_names == ["a", "b"]


def test_unknown_extensions_are_text(read: Reader) -> None:
    assert cells(read("a,b\n0,1\n", "data.txt")) == [[0, 1]]
    assert cells(read("a,b\n0,1\n", "data")) == [[0, 1]]


def test_blank_lines_at_start_and_end_are_skipped(read: Reader) -> None:
    assert cells(read("\n \na,b\n0,1\n\n  \n\n")) == [[0, 1]]


def test_default_words_may_be_mixed(read: Reader) -> None:
    data = read("a,b,c,d,e\n1,1.0,1e0,TRUE,Yes\n0,0.0,-0, false ,NO\n+1,01,true,yes,1.00\n")
    assert cells(data) == [[1] * 5, [0] * 5, [1] * 5]


@pytest.mark.parametrize("marker", ["", "NA", "na", "NaN", "nan", "?", "N/A", "null", "None", " NA "])
def test_default_markers_of_missing(read: Reader, marker: str) -> None:
    assert cells(read(f"a,b\n0,{marker}\n1,1\n")) == [[0, -1], [1, 1]]


def test_given_markers_replace_all_but_the_empty_cell(read: Reader) -> None:
    assert cells(read("a,b,c\n0,-9,\n1,X,1\n", missing=["-9", "x"])) == [[0, -1, -1], [1, -1, 1]]
    with pytest.raises(DataError, match='column "b": value "NA" is neither 0 nor 1'):
        read("a,b\n0,NA\n1,0\n1,0\n", missing="-9")


def test_own_words_go_before_numbers_and_defaults(read: Reader) -> None:
    assert cells(read("a,b\nPos,neg\n1,0\n", true="pos", false=["NEG"])) == [[1, 0], [1, 0]]
    assert cells(read("a,b\n1,2\n2,yes\n", true="2", false=["1", "yes"])) == [[0, 1], [1, 0]]


def test_presence_mark_makes_blanks_absent(read: Reader) -> None:
    assert cells(read("a,b,c\nx,,NA\n,X,1\n", presence="x")) == [[1, 0, -1], [0, 1, 1]]


def test_threshold(read: Reader) -> None:
    text = "a,b,c\n0.99,1,NA\n-3,1e3,yes\n"
    assert cells(read(text, threshold=1)) == [[0, 1, -1], [0, 1, 1]]
    assert cells(read(text, threshold=1.5)) == [[0, 0, -1], [0, 1, 1]]


def test_no_header(read: Reader) -> None:
    data = read("0,1,1\n1,0,0\n", header=False)
    assert cells(data) == BITS.tolist()
    assert data.column_names == ["x1", "x2", "x3"]
    assert read("0,1,1\n1,0,0\n", header=False, exclude=["x2"]).column_names == ["x1", "x3"]


# Row labels and columns


@pytest.mark.parametrize(
    ("text", "labels"),
    [
        ("site,a,b\nP,0,1\nQ,1,1\n", ["P", "Q"]),
        (",a,b\n0,0,1\n1,1,1\n", ["0", "1"]),  # an unnamed first column, whatever it holds
        ("id,a,b\n1,0,1\n2,1,1\n3,1,1\n", ["1", "2", "3"]),
        ("site,a,b\nP,0,1\nP,1,1\n", ["P", "P"]),  # labels may repeat
        ("site,a,b\nNA,0,1\n0,1,1\nQ,1,1\n", ["NA", "0", "Q"]),  # half of the filled cells
        ("a,b,c\n1,0,1\n0,1,1\n", None),
        ("a,b\nNA,0\nNA,1\n", None),
    ],
)
def test_labels_are_found(read: Reader, text: str, labels: list[str] | None) -> None:
    data = read(text)
    assert data.row_names == labels
    assert data.shape[1] == text.split("\n")[0].count(",") + (labels is None)


def test_a_slip_in_the_first_column_does_not_make_it_labels(read: Reader) -> None:
    with pytest.raises(DataError, match='line 3, column "a": value 2 is neither 0 nor 1; use threshold=1'):
        read("a,b\n1,0\n2,1\n0,1\n")


def test_first_data_column_keeps_its_place(read: Reader) -> None:
    data = read("a,b,c\n1,0,0\n0,1,NA\n")
    assert data.column_names == ["a", "b", "c"]
    assert cells(data) == [[1, 0, 0], [0, 1, -1]]
    assert data.dense().flags.c_contiguous
    assert cells(read("a,b,c\n1,0,0\n0,1,NA\n", columns=["c", "a"])) == [[0, 1], [-1, 0]]


def test_labels_by_name_by_position_or_none(read: Reader) -> None:
    text = "a,site,b\n0,P,1\n1,Q,1\n"
    for row_labels in ("site", 1):
        data = read(text, row_labels=row_labels)
        assert (data.row_names, data.column_names) == (["P", "Q"], ["a", "b"])
        assert cells(data) == [[0, 1], [1, 1]]
    assert read("id,b\n1,1\n0,1\n", row_labels="id").row_names == ["1", "0"]
    with pytest.raises(DataError, match='column "id": value 2 is neither'):
        read("id,b\n2,1\n3,1\n", row_labels=False)


def test_columns_are_picked_and_left_out(read: Reader) -> None:
    text = "site,age,a,b,unit\nP,17,0,1,m\nQ,21,1,1,m\n"
    data = read(text, exclude=["age", "unit"])
    assert (data.row_names, data.column_names, cells(data)) == (["P", "Q"], ["a", "b"], [[0, 1], [1, 1]])
    data = read(text, columns=["b", "a"])
    assert (data.column_names, cells(data)) == (["b", "a"], [[1, 0], [1, 1]])
    assert cells(read(text, columns=["b"])) == [[1], [1]]


# Properties

# Python's writer leaves a lone carriage return unquoted; blanks around names are not kept.
names = st.text(st.characters(codec="utf-8", exclude_characters="\0\r")).map(str.strip)
headers = st.lists(names.filter(bool), max_size=4, unique=True).map(lambda drawn: ["species 1", *drawn])


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(st.data(), headers, st.sampled_from([",", "\t", ";", "|"]), st.sampled_from(["\n", "\r\n"]))
def test_csv_round_trip(read: Reader, draw: st.DataObject, columns: list[str], delimiter: str, end: str) -> None:
    row = st.lists(st.sampled_from(["0", "1", ""]), min_size=len(columns), max_size=len(columns))
    table = draw.draw(st.lists(row, min_size=1, max_size=6))
    labels = draw.draw(st.lists(names, min_size=len(table), max_size=len(table)))
    buffer = io.StringIO(newline="")
    writer = csv.writer(buffer, delimiter=delimiter, lineterminator=end)
    writer.writerow(["", *columns])
    writer.writerows([label, *fields] for label, fields in zip(labels, table, strict=True))
    data = read(buffer.getvalue(), delimiter=delimiter)
    assert cells(data) == [[int(text or -1) for text in fields] for fields in table]
    assert data.column_names == columns
    assert data.row_names == labels


def test_found_delimiter_survives_odd_names(read: Reader) -> None:
    odd = ['say "hi"', "a,b", "naïve;x", "two\nlines", "日本|語"]
    buffer = io.StringIO(newline="")
    csv.writer(buffer).writerows([odd, list("01010"), list("11010")])
    data = read(buffer.getvalue())
    assert data.column_names == odd
    assert cells(data) == [[0, 1, 0, 1, 0], [1, 1, 0, 1, 0]]


def test_tokens_beyond_the_cache_are_still_understood(read: Reader, monkeypatch: pytest.MonkeyPatch) -> None:
    values = np.random.default_rng(0).normal(1, 1, (200, 3))
    text = "a,b,c\n" + "\n".join(",".join(map(repr, row)) for row in values.tolist())
    monkeypatch.setattr(module, "_CACHED_TOKENS", 10)
    np.testing.assert_array_equal(read(text, threshold=1).dense(), values >= 1)


def test_each_token_is_understood_once(read: Reader, monkeypatch: pytest.MonkeyPatch) -> None:
    understood: list[str] = []
    original = module._Tokens._code

    def counted(self: module._Tokens, word: str) -> int:
        understood.append(word)
        return original(self, word)

    monkeypatch.setattr(module._Tokens, "_code", counted)
    bits = np.random.default_rng(0).integers(0, 2, (300, 100))
    text = ",".join(f"c{j}" for j in range(100)) + "\n" + "\n".join(",".join(map(str, row)) for row in bits)
    np.testing.assert_array_equal(read(text).dense(), bits)
    assert len([word for word in understood if word in "01"]) == 2


# Delimited text that is refused

BAD_TEXT: dict[str, tuple[str | bytes, dict[str, Any], str]] = {
    "count": (
        "site,Equus,Sus\nP,0,1\nQ,3,1\nR,0,1\n",
        {},
        'data.csv, line 3, column "Equus": value 3 is neither 0 nor 1; '
        "use threshold=1 (--threshold 1) to call every value >= 1 present",
    ),
    "all counted, three shown": (
        "a,b\n0,1\n0,2\n3,1\n0,4\n0,1\n9,1\n0,1\n0,1",
        {},
        'line 3, column "b": value 2 is neither 0 nor 1 (and 3 more bad cells, first at line 4, column '
        '"a": 3, then line 5, column "b": 4); use threshold=1',
    ),
    "physical line": (
        'site,a\n"P\nQ",0\nR,1\nS,2\nT,1\n',
        {},
        'data.csv, line 5, column "a": value 2',
    ),
    "share": ("a,b\n0,0.3\n0,1\n", {}, "value 0.3 is neither 0 nor 1; use threshold=0.5 (--threshold 0.5)"),
    "negative": (
        "a,b\n0,-9\n0,1\n",
        {},
        "use missing='-9' (--missing -9) if it stands for missing, or threshold=1",
    ),
    "underscore": ("a,b\n0,1\n0,1_0\n", {}, 'value "1_0" is neither'),
    "word": (
        "a,b\n0,maybe\n0,1\n",
        {},
        'line 2, column "b": value "maybe" is neither 0 nor 1; use presence=\'maybe\' (--presence maybe) if it marks',
    ),
    "other column": (
        "site,age,a\nP,17,1\nQ,21,0\n",
        {},
        'line 2, column "age": value 17 is neither 0 nor 1 (and 1 more bad cell, first at line 3, column '
        "\"age\": 21); use exclude=['age'] (--exclude age) to leave out what is not 0-1, or threshold=1",
    ),
    "other text column": (
        "a,unit\n1,m\n0,m\n",
        {},
        "use exclude=['unit'] (--exclude unit) to leave out what is not 0-1",
    ),
    "many other columns": (
        "z,a,b,c,d\n1,m,m,m,m\n",
        {},
        "exclude=['a', 'b', 'c'] (--exclude a --exclude b --exclude c) and 1 more like it",
    ),
    "infinite": ("a,b\n0,inf\n0,2\n", {"threshold": 1}, 'column "b": value "inf" is not a finite number'),
    "threshold": (
        "a\n1\n",
        {"threshold": float("nan")},
        "threshold=nan is not a finite number; use for example",
    ),
    "two meanings": (
        "a\n1\n",
        {"true": "Y", "missing": "y"},
        'the word "Y" has two meanings; give it in only one',
    ),
    "duplicate names": (
        "a,b,a\n0,1,0\n",
        {},
        'data.csv, line 1: the column name "a" appears 2 times, first as',
    ),
    "empty name": (
        "a,,c\n0,1,0\n",
        {},
        "line 1: column 1 (counted from 0) has an empty name; name each column",
    ),
    "empty first name": (
        ",b\n0,1\n",
        {"row_labels": False},
        "line 1: column 0 (counted from 0) has an empty name",
    ),
    "long row": (
        "a,b\n0,1\n0,1,1\n",
        {},
        "data.csv, line 3: 3 fields, but 2 are expected as in the first line; look",
    ),
    "short row": ("a,b\n0,1\n0\n", {}, "data.csv, line 3: 1 fields, but 2 are expected"),
    "blank line": ("a,b\n0,1\n\n\n0,1\n", {}, "data.csv, line 3: the line is blank; remove it"),
    "open quote": (
        'a,b\n0,"1\n0,1\n',
        {},
        "line 3: the quotes don't match (unexpected end of data); close each",
    ),
    "empty": ("", {}, "data.csv: the file is empty; it needs a header line and at least one row"),
    "blank": ("\n \n", {}, "the file is empty"),
    "header only": ("a,b\n\n", {}, "there is a header but no row below it; add rows"),
    "no header": ("0,1,NA\n1,1,0\n", {}, "data.csv, line 1: this looks like data"),
    "no header, way out": ("0,1\n1,1\n", {}, "expected; add one, or use header=False (--no-header)"),
    "nothing left": (
        "a,b\n0,1\n",
        {"exclude": ["a", "b"]},
        "no data columns are left; check columns, exclude and",
    ),
    "unknown column": ("Equus,b\n0,1\n", {"columns": ["Equs"]}, 'no column "Equs"; did you mean "Equus"?'),
    "unknown exclude": (
        "a,b\n0,1\n",
        {"exclude": ["zz"]},
        'there is no column "zz"; did you mean "a" or "b"?',
    ),
    "unknown labels": ("site,b\n0,1\n", {"row_labels": "sites"}, 'no column "sites"; did you mean "site"?'),
    "labels beyond": (
        "a,b\n0,1\n",
        {"row_labels": 2},
        "row_labels=2 is not a column; use 0 to 1, a name or False",
    ),
    "long delimiter": (
        "a,b\n0,1\n",
        {"delimiter": "::"},
        "the delimiter '::' is not one character; use delimiter=','",
    ),
    "unknown encoding": (
        "a\n1\n",
        {"encoding": "klingon"},
        'the encoding "klingon" is unknown; use encoding=',
    ),
    "wrong encoding": (
        "a,b\n0,1\né,1\n".encode("latin-1"),
        {},
        "data.csv, line 3: byte 0xe9 at offset 8 is not utf-8; use encoding='latin-1' (--encoding latin-1)",
    ),
    "utf-16": (
        "a,b\n0,1\n".encode("utf-16"),
        {},
        "it holds NUL bytes; use encoding='utf-16' (--encoding utf-16)",
    ),
    "not utf-16": (b"a,b\n0,1\n", {"encoding": "utf-16"}, "this is not utf-16; use the encoding"),
    "binary": (
        b"PK\0\0\1\2",
        {},
        "this is not utf-8 text, it holds NUL bytes; give a text file, or one that ends in",
    ),
    "array": ("a\n1\n", {"array": "X"}, "the option array applies only to .npz files; leave it out"),
}


@pytest.mark.parametrize(("content", "options", "message"), list(BAD_TEXT.values()), ids=list(BAD_TEXT))
def test_refusals_of_text(read: Reader, content: str | bytes, options: dict[str, Any], message: str) -> None:
    with pytest.raises(DataError, match=re.escape(message)) as caught:
        read(content, **options)
    assert str(caught.value).startswith("data.csv")


def test_wrong_encoding_far_into_the_file(read: Reader) -> None:
    content = b"a,b\n" + b"0,1\n" * 50_000 + b"0,\xff\n"
    with pytest.raises(DataError, match=r"line 50002: byte 0xff at offset 200006 is not utf-8"):
        read(content)


def test_cut_off_and_damaged_gzip(read: Reader) -> None:
    content = gzip.compress(b"a,b\n" + np.random.default_rng(0).choice([b"0,1\n", b"1,1\n"], 5000).tobytes())
    for damaged in (
        content[:-30],
        content[: len(content) // 2] + b"\xff" * 40 + content[len(content) // 2 + 40 :],
    ):
        with pytest.raises(DataError, match=r"data.csv.gz: the gzip data are cut off or damaged; copy the file again"):
            read(damaged, "data.csv.gz")


def test_missing_file_and_folder(tmp_path: Path) -> None:
    (tmp_path / "bones.csv").write_text("a\n1\n")
    with pytest.raises(DataError, match=r'bone\.csv: no such file; did you mean "bones\.csv"\?'):
        read_table(tmp_path / "bone.csv")
    with pytest.raises(DataError, match=r"xyz: no such file; check the path"):
        read_table(tmp_path / "nowhere" / "xyz")
    with pytest.raises(DataError, match="this is a folder; give the path of a file in it"):
        read_table(str(tmp_path))


# Matrices


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
    with pytest.raises(DataError, match=r"several.npz, row 0, column 1: value 3 .* use threshold=1 \(--threshold 1\)"):
        read_table(path, array="counts")


@pytest.mark.parametrize("name", ["bad.npz", "bad.npy", "bad.mtx", "bad.parquet", "bad.mtx.gz"])
def test_damaged_files(read: Reader, name: str) -> None:
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
    with pytest.raises(DataError, match=r"option presence applies only to delimited text, not to \.npy"):
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


def test_parquet_without_pyarrow(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "bits.parquet").write_bytes(b"")
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(DataError, match=r'needs pyarrow; pip install "latentbits\[parquet\]"'):
        read_table(tmp_path / "bits.parquet")
