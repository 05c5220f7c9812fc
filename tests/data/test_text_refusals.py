"""Delimited text that is refused: every message names the place and the way out."""

import gzip
import re
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
