"""How a file was read is kept with the data and the model, and `like` reads another one in the same way."""

from __future__ import annotations

import dataclasses
import inspect
import json
from pathlib import Path
from typing import Any, get_args

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from numpy.testing import assert_array_equal

from latentbits import AspectBernoulli, BinaryData, DataError, IndependentBernoulli, load_model, read_table, save_model
from latentbits.cli.options.reading import READING
from latentbits.data.read_options import ReadOptions, checked_reading, option_types
from tests.data.tables import Reader, cells

TREES = "Plot,Site,Acer,Picea,Quercus\nA,3,0,14,1\nB,8,2,0,0\nC,12,1,1,7\nA,15,0,0,2\n"
OPTIONS = {"threshold": 1, "row_labels": "Site", "exclude": ["Plot"]}
SAMPLES: dict[Any, Any] = {str: "x", bool: False, float: 1.5, int: 2}
"""A value of each type that an option of reading may have."""


@pytest.fixture
def model(read: Reader) -> IndependentBernoulli:
    return IndependentBernoulli().fit(read(TREES, "trees.csv", **OPTIONS))


def file_of(content: str, folder: Path, name: str = "new.csv") -> Path:
    (folder / name).write_text(content)
    return folder / name


# ---- the record ----


@pytest.mark.parametrize(
    ("text", "options", "recorded"),
    [
        ("a,b\n1,0\n", {}, {}),
        ("site,a\nx,0\ny,1\n", {}, {"row_labels": "site"}),
        ("site,a\nx,0\ny,1\n", {"row_labels": 0}, {"row_labels": "site"}),
        ("a,,b\n1,x,0\n", {"row_labels": 1}, {"row_labels": ""}),
        (",a\nx,0\ny,1\n", {}, {}),
        ("a,b\n1,0\n", {"row_labels": False}, {"row_labels": False}),
        ("1;0\n", {"header": False, "delimiter": ";"}, {"header": False, "delimiter": ";"}),
        ("a,b\n1,-9\n", {"missing": ("-9",), "encoding": "utf-8"}, {"missing": ["-9"]}),
        ("a,b\nx,\n", {"presence": "x", "row_labels": None, "exclude": None}, {"presence": "x"}),
        ("a,b\n3,0\n", {"threshold": np.float64(2), "columns": np.array(["b"])}, {"threshold": 2.0, "columns": ["b"]}),
    ],
)
def test_options_as_resolved_are_kept(
    read: Reader, text: str, options: dict[str, Any], recorded: dict[str, Any]
) -> None:
    data = read(text, **options)
    assert data.reading == recorded
    assert json.loads(json.dumps(data.reading)) == recorded
    again = read(text, **data.reading)
    assert (cells(again), again.row_names, again.reading) == (cells(data), data.row_names, recorded)
    assert cells(read(text, like=data.reading)) == cells(data)


def test_the_record_goes_along_with_rows_and_hidden_cells(read: Reader) -> None:
    data = read(TREES, **OPTIONS)
    hidden = data.hide(np.eye(4, 3, dtype=bool))
    assert data.rows([2, 0]).reading == hidden.reading == BinaryData.of(data, row_names="abcd").reading == data.reading
    assert data.fingerprint() == BinaryData.of(data.dense(), column_names=data.column_names).fingerprint()


def test_data_without_a_file_have_no_record() -> None:
    assert BinaryData.of([[0, 1]]).reading is None
    assert BinaryData.of(sp.csr_array([[0, 1]])).rows([0]).reading is None


def test_every_option_of_reading_survives_being_stored() -> None:
    """Also one that is new: its values must be of types that a record is validated by."""
    for option, hint in option_types().items():
        parts = [part for part in get_args(hint) or [hint] if part is not type(None)]
        values = [[SAMPLES[get_args(part)[0]]] if get_args(part) else SAMPLES[part] for part in parts]
        accepted = [value for value in values if checked_reading({option: value})]
        assert accepted, f"{option}: {hint}"


def test_read_table_and_the_command_line_have_the_options_of_one_definition() -> None:
    names = [field.name for field in dataclasses.fields(ReadOptions)]
    parameters = inspect.signature(read_table).parameters
    assert list(parameters) == ["path", *names, "like"]
    assert {name: parameters[name].default for name in names} == dataclasses.asdict(ReadOptions())
    assert {key.removeprefix("no_") for key in READING} == set(names)


def test_an_option_that_is_unknown_is_refused(tmp_path: Path) -> None:
    with pytest.raises(TypeError, match=r"read_table has no option 'colour'; the options are row_labels, columns, "):
        read_table(tmp_path / "t.csv", colour="red")


@pytest.mark.parametrize(
    "crafted", [{"like": "x"}, {"path": "x"}, {"threshold": None}, {"header": 1}, {"row_labels": 0}, [], "x", None]
)
def test_a_crafted_record_counts_as_none(crafted: Any) -> None:
    assert checked_reading(crafted) is None


# ---- models ----


def test_a_fitted_model_and_its_file_know_how_data_were_read(model: IndependentBernoulli, tmp_path: Path) -> None:
    assert model.reading_ == OPTIONS
    save_model(model, tmp_path / "model.npz")
    assert load_model(tmp_path / "model.npz").reading_ == OPTIONS
    assert model.fit([[0, 1], [1, 1]]).reading_ is None


@pytest.mark.parametrize("given", [lambda model, _: model, lambda model, _: model.reading_, lambda _, file: str(file)])
def test_like_a_model_its_record_or_its_file(model: IndependentBernoulli, tmp_path: Path, given: Any) -> None:
    save_model(model, tmp_path / "model.npz")
    new = file_of("Site,Acer,Picea,Quercus\n40,3,0,5\n41,0,0,9\n", tmp_path)
    data = read_table(new, like=given(model, tmp_path / "model.npz"))
    assert (cells(data), data.row_names) == ([[1, 0, 1], [0, 0, 1]], ["40", "41"])
    assert data.reading == {"threshold": 1, "row_labels": "Site"}, "Plot is not in this file"


def test_columns_come_in_the_order_of_the_model(model: IndependentBernoulli, tmp_path: Path) -> None:
    new = file_of("Quercus,Betula,Picea,Site,Acer\n5,1,0,40,3\n", tmp_path)
    with pytest.warns(UserWarning, match=r'new\.csv: not read: "Betula", which the model doesn\'t know'):
        data = read_table(new, like=model)
    assert (data.column_names, cells(data), data.row_names) == (["Acer", "Picea", "Quercus"], [[1, 0, 1]], ["40"])
    with pytest.raises(DataError, match=r'new\.csv: there is no column "Acer", which the model was fitted on; add it'):
        read_table(file_of("Site,Picea,Quercus\n1,2,3\n", tmp_path), like=model)


def test_options_that_are_given_go_first(model: IndependentBernoulli, tmp_path: Path) -> None:
    new = file_of("Site,Acer,Picea,Quercus\n40,3,0,5\n41,0,0,9\n", tmp_path)
    with pytest.warns(UserWarning, match='not read: "Site"'):
        data = read_table(new, like=model, threshold=5, row_labels=False)
    assert (cells(data), data.row_names) == ([[0, 0, 1], [0, 0, 1]], None)
    with pytest.raises(DataError, match="value 3 is neither 0 nor 1"):
        read_table(new, like=model, threshold=None)


def test_a_label_column_that_is_not_there_does_not_count(model: IndependentBernoulli, tmp_path: Path) -> None:
    data = read_table(file_of("Acer,Picea,Quercus\n3,0,5\n", tmp_path), like=model)
    assert (cells(data), data.row_names) == ([[1, 0, 1]], None)


def test_a_column_of_the_model_is_never_taken_for_labels(read: Reader, tmp_path: Path) -> None:
    """Two rows of a first column that are no 0 and no 1 look like labels; in the fit they were data."""
    model = IndependentBernoulli().fit(read("a,b\nhit,1\nmiss,0\nhit,1\n", true="hit", false="miss"))
    new = file_of("a,b\nhit,0\nmiss,1\n", tmp_path)
    assert read_table(new).row_names == ["hit", "miss"]
    data = read_table(new, like=model)
    assert (cells(data), data.row_names) == ([[1, 0], [0, 1]], None)
    plain = IndependentBernoulli().fit(read("a,b\n0,1\n1,0\n"))
    with pytest.raises(DataError, match='column "a": value "hit" is neither 0 nor 1'):
        read_table(new, like=plain)


def test_options_that_mean_nothing_for_a_format_do_not_count(read: Reader, tmp_path: Path) -> None:
    model = IndependentBernoulli().fit(read("s;a;b\nx;+;\ny;;+\n", presence="+", delimiter=";"))
    np.save(tmp_path / "m.npy", np.eye(2, dtype=int))
    data = read_table(tmp_path / "m.npy", like=model)
    assert (cells(data), data.reading) == ([[1, 0], [0, 1]], {})
    with pytest.raises(DataError, match="the option presence applies only to"):
        read_table(tmp_path / "m.npy", like=model, presence="x")


@pytest.mark.parametrize(
    ("options", "fitted", "new", "blamed"),
    [
        (
            {"delimiter": ";"},
            "a;b\n1;0\n",
            "a,b\n1,0\n",
            r"delimiter=';' as for the fit: give another delimiter \(--delimiter\), or .*--read-afresh",
        ),
        ({"header": False}, "1,0\n0,1\n", "x1,x2\n1,0\n", r"header=False as for the fit: read .*\(--read-afresh, or"),
        ({"encoding": "utf-16"}, "a,b\n1,0\n", "a,b\n1,0\n", r"encoding='utf-16' as for the fit: give another"),
    ],
)
def test_a_file_that_cannot_be_read_that_way_is_refused(
    tmp_path: Path, options: dict[str, Any], fitted: str, new: str, blamed: str
) -> None:
    (tmp_path / "fit.csv").write_bytes(fitted.encode(options.get("encoding", "utf-8")))
    model = IndependentBernoulli().fit(read_table(tmp_path / "fit.csv", **options))
    with pytest.raises(DataError, match=rf"^new\.csv.*; it was tried with {blamed}") as caught:
        read_table(file_of(new, tmp_path), like=model)
    assert "\n" not in str(caught.value)


def test_an_error_for_other_reasons_is_left_as_it_is(model: IndependentBernoulli, tmp_path: Path) -> None:
    bad = file_of("Site,Acer,Picea,Quercus\n40,3,many,5\n", tmp_path)
    with pytest.raises(DataError, match='line 2, column "Picea": value "many"') as caught:
        read_table(bad, like=model)
    assert "as for the fit" not in str(caught.value)


@pytest.mark.parametrize("like", [{"threshold": "1"}, {"colour": "red"}, 3, IndependentBernoulli()])
def test_what_is_no_fit_is_refused(like: Any, tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"^like"):
        read_table(file_of("a\n1\n", tmp_path), like=like)


def test_a_model_of_an_array_has_columns_or_nothing_to_say(tmp_path: Path) -> None:
    new = file_of("b,a\n1,0\n", tmp_path)
    unnamed, named = AspectBernoulli(1, n_init=1), AspectBernoulli(1, n_init=1)
    unnamed.fit([[0, 1], [1, 0]])
    named.fit(pd.DataFrame({"a": [0, 1], "b": [1, 0]}))
    assert_array_equal(read_table(new, like=unnamed).dense(), [[1, 0]])
    assert_array_equal(read_table(new, like=named).dense(), [[0, 1]])


@pytest.mark.skipif("long" not in option_types(), reason="there is no long format")
def test_long_data_have_the_columns_of_the_fit(read: Reader, tmp_path: Path) -> None:
    fitted = read("site,genus,n\nA,Sus,1\nA,Bos,3\nB,Sus,2\n", long=["site", "genus", "n"], threshold=2)
    model = IndependentBernoulli().fit(fitted)
    assert model.reading_ == {"long": ["site", "genus", "n"], "threshold": 2}
    assert cells(read_table(tmp_path / "data.csv", **model.reading_)) == cells(fitted) == [[0, 1], [1, 0]]
    new = file_of("site,genus,n\nC,Felis,9\nC,Bos,4\nD,Bos,1\n", tmp_path)
    data = read_table(new, like=model)
    assert (data.column_names, cells(data), data.row_names) == (["Sus", "Bos"], [[0, 1], [0, 0]], ["C", "D"])
    for text, message in [
        ("site,genus,n\nC,Felis,9\n", 'there is no column "Sus"'),
        ("site,Sus,Bos\nC,1,0\n", r"long=\['site', 'genus', 'n'\] as for the fit: give another long"),
    ]:
        with pytest.raises(DataError, match=message):
            read_table(file_of(text, tmp_path), like=model)
