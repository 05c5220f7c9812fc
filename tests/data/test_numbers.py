"""Tables of numbers: names and columns are those of the file, every refusal names the place and the way out."""

import gzip

import numpy as np
import pandas as pd
import pytest

from latentbits.data.numbers import read_numbers
from latentbits.errors import DataError


def written(tmp_path, text, name="fields.csv"):
    path = tmp_path / name
    path.write_text(text)
    return path


def test_numbers_with_names(tmp_path):
    table = read_numbers(written(tmp_path, "id,a,b\nleft,1.5,-2\nright,1e3,0\n"))
    np.testing.assert_array_equal(table.values, [[1.5, -2], [1000, 0]])
    assert (table.row_names, table.column_names, table.row_label) == (["left", "right"], ["a", "b"], "id")
    assert table.shape == (2, 2)


def test_a_first_column_of_numbers_is_data(tmp_path):
    table = read_numbers(written(tmp_path, "a;b\n1;2\n3;4\n"))
    assert table.row_names is None
    np.testing.assert_array_equal(table.values, [[1, 2], [3, 4]])


def test_options_choose_columns(tmp_path):
    path = written(tmp_path, "n,a,b,c\n7,1,2,x\n8,3,4,y\n")
    table = read_numbers(path, row_labels="n", exclude=["c"])
    assert (table.row_names, table.column_names) == (["7", "8"], ["a", "b"])
    assert read_numbers(path, columns=["b", "a"]).column_names == ["b", "a"]
    assert read_numbers(path, columns=[], exclude=["c"]).column_names == ["n", "a", "b"]
    assert read_numbers(path, exclude=["c"], row_labels=False).column_names == ["n", "a", "b"]


def test_blanks_around_names_are_not_kept(tmp_path):
    table = read_numbers(written(tmp_path, "id , a ,b\nleft,1,2\n"), exclude=["b"])
    assert (table.column_names, table.row_label) == (["a"], "id")


def test_blank_lines_are_skipped(tmp_path):
    np.testing.assert_array_equal(read_numbers(written(tmp_path, "\na,b\n1,2\n\n3,4\n \n")).values, [[1, 2], [3, 4]])


def test_without_a_header_columns_are_counted(tmp_path):
    table = read_numbers(written(tmp_path, "1\t2\n3\t4\n", "x.tsv"), header=False)
    assert table.column_names == ["x1", "x2"]
    assert len(table.values) == 2


def test_gzip(tmp_path):
    path = tmp_path / "x.csv.gz"
    path.write_bytes(gzip.compress(b"a,b\n1,2\n"))
    np.testing.assert_array_equal(read_numbers(path).values, [[1, 2]])


def test_numbers_with_decimal_commas_comments_and_numbered_rows(tmp_path):
    path = written(tmp_path, "# measured 1921\nid;a;b\n4;1,5;-2\n2;0,25;3\n")
    table = read_numbers(path, decimal=",")
    np.testing.assert_array_equal(table.values, [[1.5, -2], [0.25, 3]])
    assert (table.row_names, table.row_label) == (["4", "2"], "id")
    with pytest.raises(
        DataError, match=r'line 3, column "a": value "1,5" is no finite number; use decimal=\',\' \(--dec'
    ):
        read_numbers(path)


def test_numbers_of_a_sheet(tmp_path):
    pytest.importorskip("openpyxl")
    pd.DataFrame({"eye": ["left", "right"], "a": [1.5, 2], "b": [0, -3]}).to_excel(tmp_path / "t.xlsx", index=False)
    np.testing.assert_array_equal(read_numbers(tmp_path / "t.xlsx").values, [[1.5, 0], [2, -3]])


def test_the_fingerprint_tells_values_and_names(tmp_path):
    texts = ["a,b\n1,2\n", "a,b\n1,3\n", "a,c\n1,2\n"]
    prints = [read_numbers(written(tmp_path, text, f"{i}.csv")).fingerprint() for i, text in enumerate(texts)]
    assert len(set(prints)) == 3
    assert prints[0] == read_numbers(tmp_path / "0.csv").fingerprint()


@pytest.mark.parametrize(
    ("text", "options", "message"),
    [
        ("a,b\n1,2\n3,x\n", {}, r'fields.csv, line 3, column "b": value "x" is no finite number; fill it in'),
        ("a,b\n1,\n", {"allow_missing": False}, r'line 2, column "b": the cell is empty'),
        ("a,b\n1,NA\n", {"allow_missing": False}, r'line 2, column "b": the cell is missing \("NA"\); fill it in'),
        ("a,b\n1,inf\n", {}, r"no finite number"),
        ("a,b\n1,NA\n", {"missing": "-9"}, r'value "NA" is no finite number'),
        ("a,b\n1,1_0\n", {}, r'value "1_0" is no finite number'),
        (
            "a,b\n1,2,3\n",
            {},
            r"fields.csv, line 2: 3 fields, but 2 are expected as in the first line; look",
        ),
        ("a,b\n", {}, r"no row below it"),
        ("", {}, r"the file is empty"),
        ('""\n""\n', {}, r"the file is empty"),
        ("a,a\n1,2\n", {}, r'fields.csv, line 1: the column name "a" appears 2 times'),
        ("a,b\n1,2\n", {"exclude": ["z"]}, r'there is no column "z"; did you mean "a" or "b"\?'),
        ("a,b\n1,2\n", {"columns": ["z"]}, r'there is no column "z"; did you mean "a" or "b"\?'),
        ("left,b\n1,2\n", {"row_labels": "lef"}, r'there is no column "lef"; did you mean "left"\?'),
        ("a,b\n1,2\n", {"row_labels": 2}, r"row_labels=2 is not a column; use 0 to 1, a name or False"),
        ("a,b\n1,2\n", {"exclude": ["a", "b"]}, r"no data columns are left; check columns, exclude and row_labels"),
    ],
)
def test_refusals_name_the_place_and_the_way_out(tmp_path, text, options, message):
    with pytest.raises(DataError, match=message):
        read_numbers(written(tmp_path, text), **options)


def test_missing_cells_where_they_are_allowed(tmp_path):
    path = written(tmp_path, "a,b\n,2\nNA,-9\n?,4\n3,5\n")
    table = read_numbers(path)
    np.testing.assert_array_equal(table.values, [[np.nan, 2], [np.nan, -9], [np.nan, 4], [3, 5]])
    assert (table.row_names, table.n_missing) == (None, 3)
    table = read_numbers(path, missing=["-9", "na", "?"])
    assert table.n_missing == 4


def test_a_file_that_is_not_there(tmp_path):
    written(tmp_path, "a\n1\n")
    with pytest.raises(DataError, match=r'did you mean "fields\.csv"'):
        read_numbers(tmp_path / "field.csv")
