"""Delimited text that is refused: every message names the place and the way out."""

import bz2
import gzip
import io
import lzma
import re
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from latentbits.data import read_table
from latentbits.errors import DataError
from tests.data.tables import Reader

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
    "cover": ("a,b\n0,0.3\n2.5,20\n0.7,0\n", {}, "threshold=0.3 (--threshold 0.3) to call every value >= 0.3 present"),
    "negative": (
        "a,b\n0,-9\n0,1\n",
        {},
        "use missing='-9' (--missing -9) if it stands for missing, or threshold=1",
    ),
    "underscore": ("a,b\n0,1\n0,1_0\n", {}, 'value "1_0" is neither'),
    "word": (
        "a,b\n0,maybe\n0,1\n",
        {},
        'line 2, column "b": value "maybe" is neither 0 nor 1; use missing=\'maybe\' (--missing maybe) if it ',
    ),
    "other column": (
        "site,age,a\nP,17,1\nQ,21,0\n",
        {},
        'line 2, column "age": value 17 is neither 0 nor 1 (and 1 more bad cell, first at line 3, column '
        "\"age\": 21); use exclude=['age'] (--exclude age) to leave out what is not 0-1",
    ),
    "other text column": (
        "a,remark\n1,dry\n0,wet\n",
        {},
        "use exclude=['remark'] (--exclude remark) to leave out what is not 0-1",
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
        "line 1: column 2 has an empty name; name each column",
    ),
    "empty first name": (
        ",b\n0,1\n",
        {"row_labels": False},
        "line 1: column 1 has an empty name; name each column",
    ),
    "long row": (
        "a,b\n0,1\n0,1,1\n",
        {},
        "data.csv, line 3: 3 fields, but 2 are expected as in the first line; look",
    ),
    "short row": ("a,b\n0,1\n0\n", {}, "data.csv, line 3: 1 field, but 2 are expected"),
    "blank line of one column": (
        "a\n0\n\n\n1\n",
        {},
        'data.csv, line 3: the line is blank; remove it, or write "" for a missing cell',
    ),
    "open quote": (
        'a,b\n0,"1\n0,1\n',
        {},
        "line 3: the quotes don't match (unexpected end of data); close each",
    ),
    "empty": ("", {}, "data.csv: the file is empty; it needs a header line and at least one row"),
    "blank": ("\n \n", {}, "the file is empty"),
    "empty fields": ('""\n""\n', {}, "the file is empty"),
    "only column of text": ("a,b\nP,0\nQ,1\n", {"columns": ["a"]}, 'line 2, column "a": value "P" is neither'),
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
    "utf-16 without mark": (
        "a,b\n0,1\n".encode("utf-16-le"),
        {},
        "it holds NUL bytes; use encoding='utf-16-le' (--encoding utf-16-le)",
    ),
    "utf-16 of the other order": (
        "a,b\n0,1\n".encode("utf-16-be"),
        {},
        "it holds NUL bytes; use encoding='utf-16-be' (--encoding utf-16-be)",
    ),
    "not utf-16": (b"a,b\n0,1\n", {"encoding": "utf-16"}, "this is not utf-16; use the encoding"),
    "binary": (
        b"PK\0\0\1\2",
        {},
        "this is not utf-8 text, it holds NUL bytes; give a text file, or one that ends in",
    ),
    "decimal": ("a\n1\n", {"decimal": "x"}, "decimal='x' is neither a dot nor a comma; use decimal=','"),
    "decimal and delimiter": (
        "a,b\n1,0\n",
        {"decimal": ",", "delimiter": ","},
        "a comma can't separate both fields and decimals; use delimiter=';' (--delimiter ';')",
    ),
    "dot as a decimal comma": (
        "a;b\n1,5;1.5\n",
        {"decimal": ",", "threshold": 1},
        'value "1.5" is not a finite number',
    ),
    "sheet": ("a\n1\n", {"sheet": "S"}, "the option sheet applies only to .xlsx files; leave it out"),
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


@pytest.mark.parametrize(("name", "pack"), [("gzip", gzip.compress), ("bzip2", bz2.compress), ("xz", lzma.compress)])
def test_cut_off_and_damaged_compression(read: Reader, name: str, pack: Callable[[bytes], bytes]) -> None:
    content = pack(b"a,b\n" + np.random.default_rng(0).choice([b"0,1\n", b"1,1\n"], 5000).tobytes())
    for damaged in (
        content[:-30],
        content[: len(content) // 2] + b"\xff" * 40 + content[len(content) // 2 + 40 :],
    ):
        with pytest.raises(
            DataError, match=rf"data.csv.z: the {name} data are cut off or damaged \(.+\); copy the file again"
        ):
            read(damaged, "data.csv.z")


def test_archives(read: Reader) -> None:
    def packed(*names: str) -> bytes:
        buffer = io.BytesIO()
        with zipfile.ZipFile(buffer, "w") as archive:
            for name in names:
                archive.writestr(name, "a,b\n0,1\n")
        return buffer.getvalue()

    assert read(packed("folder/", "folder/t.csv"), "t.zip").shape == (1, 2)
    with pytest.raises(DataError, match=r't\.zip: the archive holds 2 files \("a\.csv", "b\.csv"\); unpack it'):
        read(packed("a.csv", "b.csv"), "t.zip")
    with pytest.raises(DataError, match=r"t\.csv: this is an Excel workbook; give it a name that ends in \.xlsx"):
        read(packed("xl/workbook.xml"), "t.csv")
    with pytest.raises(DataError, match=r"t\.zip: the zip data are cut off or damaged \(.+\); copy the file again"):
        read(packed("a.csv")[:-30], "t.zip")


@pytest.mark.parametrize(
    ("name", "way_out"),
    [("t.xls", "save it as .xlsx or CSV"), ("t.rds", "use write.csv in R"), ("t.sav", "save it as CSV")],
)
def test_formats_that_are_not_read(read: Reader, name: str, way_out: str) -> None:
    with pytest.raises(DataError, match=re.escape(f"{name[1:]} files are not read; {way_out}")):
        read(b"\0", name)


def test_comments_that_may_be_rows(read: Reader) -> None:
    text = "site,a,b\nP,1,0\n#Q,0,1\n# a remark\nR,1,1\n"
    with pytest.raises(
        DataError, match=r"line 3: the line begins with #, but has as many fields as a row; use comment=''"
    ):
        read(text)
    with pytest.raises(DataError, match=r"line 5: the line begins with #"):
        read("site,a,b\nP,1,0\n# a remark\nR,1,1\n#Q,0,1\n")
    assert read(text, comment="#").row_names == ["P", "R"]
    assert read(text.replace("# a remark\n", ""), comment="").row_names == ["P", "#Q", "R"]
    assert read('site,a\n"P\n# 2",1\n"# 3",0\n').row_names == ["P\n# 2", "# 3"]  # inside quotes
    with pytest.raises(DataError, match=r"line 5, column \"b\": value 7 is neither"):
        read("# lines\n# are\nsite,a,b\n# counted\nR,1,7\nS,0,0\n")


def test_missing_file_and_folder(tmp_path: Path) -> None:
    (tmp_path / "bones.csv").write_text("a\n1\n")
    with pytest.raises(DataError, match=r'bone\.csv: no such file; did you mean "bones\.csv"\?'):
        read_table(tmp_path / "bone.csv")
    with pytest.raises(DataError, match=r"xyz: no such file; check the path"):
        read_table(tmp_path / "nowhere" / "xyz")
    with pytest.raises(DataError, match=r"this is a folder without \.parquet files; give the path of a file"):
        read_table(str(tmp_path))
