"""Reading delimited text: every dialect and vocabulary gives the same cells, names and labels."""

import csv
import gzip
import io
from itertools import compress

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from latentbits.data import codes as words
from latentbits.errors import DataError
from tests.data.tables import Reader, cells


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


@pytest.mark.parametrize("name", ["Quercus, robur", "Salix; Populus", "x|y"])
def test_blanks_separate_though_a_quoted_name_has_a_delimiter(read: Reader, name: str) -> None:
    """As R's `write.table` writes it."""
    data = read(f'"Abies alba" "{name}" "Tilia"\n"P" 0 1 1\n"Q 2" 1 0 0\n')
    assert (data.row_names, data.column_names) == (["P", "Q 2"], ["Abies alba", name, "Tilia"])
    assert cells(data) == [[0, 1, 1], [1, 0, 0]]


def test_blanks_in_names_do_not_separate_lines_with_a_mistake(read: Reader) -> None:
    with pytest.raises(DataError, match="line 3: 4 fields, but 3 are expected"):
        read("site name,a,b\nLake 1,0,1\nLake 2,0,1,1\nLake 3,1,1\n")


def test_a_field_that_goes_on_beyond_the_sampled_lines(read: Reader) -> None:
    # Cut off in its last sampled line, the comma's fields look uneven and those of | even.
    text = "a|b,c,d\n" + "".join(f"x|{i},0,1\n" for i in range(18)) + 'x|y,"0\n",1\n' + "x|z,0,1\n"
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
    assert cells(data) == [[0, 1, 1], [1, 0, 0]]
    assert data.column_names == ["x1", "x2", "x3"]
    assert read("0,1,1\n1,0,0\n", header=False, exclude=["x2"]).column_names == ["x1", "x3"]


# Row labels and columns


@pytest.mark.parametrize(
    ("text", "labels"),
    [
        ("site,a,b\nP,0,1\nQ,1,1\n", ["P", "Q"]),
        (",a,b\n0,0,1\n1,1,1\n", ["0", "1"]),  # an unnamed first column without repeats
        ("id,a,b\n1,0,1\n2,1,1\n3,1,1\n", ["1", "2", "3"]),
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


def test_the_first_column_may_be_the_only_one(read: Reader) -> None:
    text = "a,b,c\n1,0,0\n0,1,1\n"
    for options in ({"columns": ["a"]}, {"columns": "a"}, {"exclude": ["b", "c"]}, {"columns": "a", "exclude": "b"}):
        data = read(text, **options)
        assert (data.column_names, data.row_names, cells(data)) == (["a"], None, [[1], [0]])


# Properties

# Python's writer leaves a lone carriage return unquoted; blanks around names are not kept.
names = st.text(st.characters(codec="utf-8", exclude_characters="\0\r")).map(str.strip)
headers = st.lists(names.filter(bool), max_size=4, unique=True).map(lambda drawn: ["species 1", *drawn])


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(st.data(), headers, st.sampled_from([",", "\t", ";", "|"]), st.sampled_from(["\n", "\r\n"]))
def test_csv_round_trip(read: Reader, draw: st.DataObject, columns: list[str], delimiter: str, end: str) -> None:
    row = st.lists(st.sampled_from(["0", "1", ""]), min_size=len(columns), max_size=len(columns))
    table = draw.draw(st.lists(row, min_size=1, max_size=6))
    labels = draw.draw(st.lists(names, min_size=len(table), max_size=len(table), unique=True))
    buffer = io.StringIO(newline="")
    writer = csv.writer(buffer, delimiter=delimiter, lineterminator=end)
    writer.writerow(["", *columns])
    writer.writerows([label, *fields] for label, fields in zip(labels, table, strict=True))
    filled = [bool(label) or any(fields) for label, fields in zip(labels, table, strict=True)]
    assume(any(filled))  # a row of nothing but delimiters is none
    data = read(buffer.getvalue(), delimiter=delimiter, comment="")
    assert cells(data) == [[int(text or -1) for text in fields] for fields in compress(table, filled)]
    assert data.column_names == columns
    assert data.row_names == list(compress(labels, filled))


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
    monkeypatch.setattr(words, "_CACHED_TOKENS", 10)
    np.testing.assert_array_equal(read(text, threshold=1).dense(), values >= 1)


def test_each_token_is_understood_once(read: Reader, monkeypatch: pytest.MonkeyPatch) -> None:
    understood: list[str] = []
    original = words.Tokens._code

    def counted(self: words.Tokens, word: str) -> int:
        understood.append(word)
        return original(self, word)

    monkeypatch.setattr(words.Tokens, "_code", counted)
    bits = np.random.default_rng(0).integers(0, 2, (300, 100))
    text = ",".join(f"c{j}" for j in range(100)) + "\n" + "\n".join(",".join(map(str, row)) for row in bits)
    np.testing.assert_array_equal(read(text).dense(), bits)
    assert len([word for word in understood if word in "01"]) == 2
