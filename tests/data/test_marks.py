"""Marks of cells that somebody has looked up: read, validated, found in the data, and applied to them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_array_equal

from latentbits import BinaryData, DataError, apply_marks
from latentbits.data.marks import Marks
from latentbits.storage.stored_data import load_data, save_data

CELLS = [[0, 1, 0], [None, 0, 1], [0, 0, 0]]
NAMES: dict[str, Any] = {"row_names": ["a", "b", "c"], "column_names": ["Sus", "Bos", "Equus"]}


def mark(row: Any, column: Any, word: Any = "confirm") -> dict[str, Any]:
    return {"row": row, "column": column, "mark": word}


MARKS = [mark("a", "Sus"), mark("a", "Bos", "reject"), mark(2, 2, "reject"), mark("c", "Bos", "unsure")]


@pytest.fixture
def data() -> BinaryData:
    return BinaryData.of(CELLS, **NAMES)


def document(**parts: Any) -> dict[str, Any]:
    return {"format": "latentbits-ratings", "version": 1, "marks": MARKS, **parts}


def saved(content: Any, folder: Path) -> Path:
    (folder / "ratings.json").write_text(json.dumps(content))
    return folder / "ratings.json"


@pytest.mark.parametrize("form", ["list", "document", "file", "path as text"])
def test_confirmed_cells_become_1_and_rejected_ones_0(data: BinaryData, tmp_path: Path, form: str) -> None:
    file = saved(document(), tmp_path)
    marks = {"list": MARKS, "document": document(), "file": file, "path as text": str(file)}[form]
    known = apply_marks(data, marks)
    assert known.dense().tolist() == [[1, 0, 0], [-1, 0, 1], [0, 0, 0]]
    assert known.marks is not None
    assert known.marks.counts() == {"confirmed": 1, "rejected": 2, "unsure": 1}
    assert (known.row_names, known.column_names) == (data.row_names, data.column_names)
    assert data.dense().tolist() == [[0, 1, 0], [-1, 0, 1], [0, 0, 0]], "the data that were given stay as they are"


def test_sparse_data_stay_sparse(data: BinaryData) -> None:
    dense = np.array(CELLS, dtype=float)
    sparse = BinaryData.of(sp.csr_array(np.nan_to_num(dense)), **NAMES).hide(np.isnan(dense))
    known = apply_marks(sparse, MARKS)
    assert known.is_sparse
    assert known.fingerprint() == apply_marks(data, MARKS).fingerprint()
    assert set(known.sparse.data.tolist()) <= {1, -1}, "a rejected 1 is absent, not a stored 0"


def test_marks_go_along_with_rows(data: BinaryData) -> None:
    chosen = apply_marks(data, MARKS).rows([2, 0, 2]).marks
    assert chosen is not None
    assert sorted(map(tuple, chosen.as_table().tolist())) == [
        (0, 1, -1),
        (0, 2, 0),
        (1, 0, 1),
        (1, 1, 0),
        (2, 1, -1),
        (2, 2, 0),
    ]


def test_later_marks_replace_earlier_ones_of_the_same_cell(data: BinaryData) -> None:
    again = apply_marks(apply_marks(data, MARKS), [mark("a", "Sus", "reject"), mark("c", "Sus")])
    assert again.dense().tolist() == [[0, 0, 0], [-1, 0, 1], [1, 0, 0]]
    assert again.marks.counts() == {"confirmed": 1, "rejected": 3, "unsure": 1}


def test_marks_are_stored_with_the_data(data: BinaryData, tmp_path: Path) -> None:
    known = apply_marks(data, MARKS)
    save_data(known, tmp_path / "data.npz")
    again, _ = load_data(tmp_path / "data.npz")
    assert isinstance(again, BinaryData)
    assert again.fingerprint() == known.fingerprint()
    assert_array_equal(again.marks.as_table(), known.marks.as_table())
    save_data(data, tmp_path / "data.npz")
    assert load_data(tmp_path / "data.npz")[0].marks is None


@pytest.mark.parametrize("table", [[[3, 0, 1]], [[0, -1, 1]], [[0, 0, 2]], [[0, 0]], [[0.5, 0, 0]]])
def test_crafted_marks_of_stored_data_are_refused(data: BinaryData, tmp_path: Path, table: Any) -> None:
    save_data(data, tmp_path / "data.npz")
    with np.load(tmp_path / "data.npz") as stored:
        arrays = dict(stored)
    np.savez(tmp_path / "data.npz", **arrays, marks=np.array(table))
    with pytest.raises(DataError, match=r"data\.npz is damaged"):
        load_data(tmp_path / "data.npz")


# ---- refusals ----


@pytest.mark.parametrize(
    ("marks", "message"),
    [
        ([mark("d", "Sus")], 'no row is named "d"; give the name of one'),
        ([mark("a", "Felis")], 'no column is named "Felis"; give the name of one'),
        ([mark(3, "Sus")], r"row 3 is outside 0 \.\. 2; give the file"),
        ([mark("a", 3)], r"column 3 is outside 0 \.\. 2; give the file"),
        (
            [mark("b", "Sus")],
            'cell of row "b", column "Sus" is marked confirm, but is missing in these data; unmark it',
        ),
        ([mark("a", "Sus"), mark(0, 0, "reject")], "row 0, column 0 is marked confirm and reject; leave one"),
        ([mark("a", "Sus"), {"row": "a"}], 'mark 2 must have "row", "column" and "mark"'),
        (["a"], 'mark 1 must have "row"'),
        ([mark(-1, "Sus")], 'mark 1: "row" must be a name, or a position counted from 0'),
        ([mark("a", True)], 'mark 1: "column" must be a name'),
        ([mark("a", 1.0)], 'mark 1: "column" must be a name'),
        ([mark("a", "Sus", "yes")], 'mark 1: "mark" must be confirm, reject or unsure'),
        ([mark("a", "Sus", ["confirm"])], 'mark 1: "mark" must be confirm, reject or unsure'),
        ({"row": "a"}, '"marks" must be a list'),
    ],
)
def test_marks_that_are_refused(data: BinaryData, tmp_path: Path, marks: Any, message: str) -> None:
    with pytest.raises(DataError, match=rf"^ratings\.json: .*{message}|^ratings\.json: {message}"):
        apply_marks(data, saved(document(marks=marks), tmp_path))
    if isinstance(marks, list):
        with pytest.raises(DataError, match=message):
            apply_marks(data, marks)


def test_the_same_mark_twice_is_one(data: BinaryData) -> None:
    known = apply_marks(data, [mark("a", "Sus"), mark(0, 0)])
    assert known.marks.counts()["confirmed"] == 1


def test_a_name_that_several_rows_have_is_refused() -> None:
    data = BinaryData.of([[0, 1], [1, 0]], row_names=["a", "a"])
    with pytest.raises(DataError, match='2 rows are named "a"; give one of them, such as "a \\(row 1\\)"'):
        apply_marks(data, [mark("a", 0)])
    for row in (0, "a (row 1)", "row 1"):
        assert apply_marks(data, [mark(row, "column 1")]).dense()[:, 0].tolist() == [1, 1]
    assert apply_marks(data, [mark("row 2", "column 2")]).dense().tolist() == [[0, 1], [1, 1]]


def test_a_number_that_may_be_a_name_is_refused() -> None:
    data = BinaryData.of([[0, 1], [1, 0]], row_names=["1", "2"])
    with pytest.raises(DataError, match='row 1 may be a position or the name "1"; write a name in quotes'):
        apply_marks(data, [mark(1, 0)])
    assert apply_marks(data, [mark("1", 0)]).dense()[0, 0] == 1


def test_positions_count_in_the_data_that_were_marked_only(data: BinaryData) -> None:
    by_name, by_position = [mark("a", "Sus")], [mark(0, "Sus")]
    assert apply_marks(data, document(marks=by_position, data=data.fingerprint())).n_ones == 3
    assert apply_marks(data, document(marks=by_name, data="0123456789abcdef")).n_ones == 3
    for marks in (by_position, [mark("a", 0)]):
        with pytest.raises(DataError, match="marks of other data are by position, which says nothing here"):
            apply_marks(data, document(marks=marks, data="0123456789abcdef"))
    unnamed = BinaryData.of(CELLS, row_names=["a", "b", "c"])
    assert apply_marks(unnamed, document(marks=[mark("a", 0)], data="0123456789abcdef")).n_ones == 3


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("[1]", "this is no file of ratings"),
        ("{", "this is no JSON"),
        pytest.param("[" * 100_000, "this is no JSON", id="nested"),
        pytest.param(
            '{"format": "latentbits-ratings", "version": ' + "[" * 20 + "]" * 20 + "}", "this is version", id="version"
        ),
        ('{"format": "latentbits-ratings", "version": 2}', 'this is version "2" of such files'),
        ('{"format": "latentbits-ratings", "version": 1}', "there are no marks in it; mark suspects in a report"),
        ('{"format": "latentbits-ratings", "version": 1, "marks": [], "data": 3}', '"data" must be the checksum'),
        (None, "no such file"),
    ],
)
def test_files_that_are_refused(data: BinaryData, tmp_path: Path, content: str | None, message: str) -> None:
    if content is not None:
        (tmp_path / "ratings.json").write_text(content)
    with pytest.raises(DataError, match=rf"^ratings\.json: {message}"):
        apply_marks(data, tmp_path / "ratings.json")


def test_what_is_no_marks_at_all_is_refused(data: BinaryData) -> None:
    with pytest.raises(DataError, match=r"marks must be a ratings\.json"):
        apply_marks(data, 3)
    assert Marks.of([]).placed_in(data).counts() == {"confirmed": 0, "rejected": 0, "unsure": 0}
