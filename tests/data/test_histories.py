"""Histories: the same survey from every form it comes in, and the place of what doesn't fit."""

import gzip
import pickle
import re
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from latentbits import BinaryData, DataError, Histories, read_histories
from latentbits.data import long_format as visits

NAN = np.nan
CUBE = np.array([[[1, 0], [0, 0], [NAN, NAN]], [[0, 0], [0, 1], [1, 1]], [[NAN, NAN], [NAN, NAN], [NAN, NAN]]])
"""Site A has two visits, B three, C none; the species are owl and tit."""

CODES = np.where(np.isnan(CUBE), -1, CUBE).astype(int).tolist()
NAMES: dict[str, Any] = {"row_names": ["A", "B", "C"], "column_names": ["owl", "tit"]}
CUBES = arrays(float, st.tuples(*[st.integers(1, 4)] * 3), elements=st.sampled_from([0, 1, NAN]))
COLUMNS = {"site": "site", "visit": "day", "species": "bird"}

SEEN = "site,day,bird\nA,1,owl\nA,2,\nB,1,NA\nB,2,tit\nB,3,owl\nB,3,tit\n"
"""What was seen, and two visits that saw nothing."""

VALUES = "site,day,bird,n\nA,1,owl,4\nA,1,tit,0\nA,2,owl,0\nB,1,owl,0\nB,2,tit,1\nB,3,owl,2\nB,3,tit,9\nA,3,owl,NA\n"


def test_an_array():
    survey = Histories.of(CUBE, **NAMES, visit_names=[1, 2, 3])
    assert survey.cells.dtype == np.int8
    assert survey.cells.tolist() == CODES
    assert (survey.row_names, survey.visit_names, survey.column_names) == (
        ["A", "B", "C"],
        ["1", "2", "3"],
        ["owl", "tit"],
    )
    assert survey.surveyed.tolist() == [[True, True, False], [True, True, True], [False, False, False]]
    assert survey.n_visits.tolist() == [[2, 2], [3, 3], [0, 0]]
    assert survey.detections.tolist() == [[1, 0], [1, 2], [0, 0]]
    ever = survey.ever_seen()
    assert isinstance(ever, BinaryData)
    assert ever.dense().tolist() == [[1, 0], [1, 1], [-1, -1]]
    assert (ever.row_names, ever.column_names) == (["A", "B", "C"], ["owl", "tit"])
    assert repr(survey) == "Histories(3 rows x 3 visits x 2 columns, 5 of 9 visits made, 4 sightings)"


@settings(deadline=None, max_examples=40)
@given(CUBES)
def test_counts_are_those_of_plain_loops(cube):
    survey = Histories.of(cube)
    for i, site in enumerate(cube):
        for j, history in enumerate(site.T):
            made = [value for value in history if not np.isnan(value)]
            assert survey.n_visits[i, j] == len(made)
            assert survey.detections[i, j] == sum(made)
            assert survey.ever_seen().dense()[i, j] == (max(made) if made else -1)


@pytest.mark.parametrize(
    "form",
    [
        CUBE.tolist(),
        CUBE.astype(object),
        np.ma.masked_invalid(CUBE),
        np.where(np.isnan(CUBE), None, CUBE),
        CUBE.astype(np.float32),
        np.asfortranarray(CUBE),
    ],
    ids=["lists", "objects", "masked", "None", "float32", "Fortran"],
)
def test_forms_of_arrays(form):
    assert Histories.of(form).cells.tolist() == CODES


def test_the_array_is_neither_changed_nor_shared():
    given_array = np.array([[[0, 1]]], np.int8)
    survey = Histories.of(given_array)
    given_array[:] = 1
    assert survey.cells.tolist() == [[[0, 1]]]


def test_histories_come_back_as_they_are_or_renamed():
    survey = Histories.of(CUBE, **NAMES)
    assert Histories.of(survey) is survey
    renamed = Histories.of(survey, column_names=["a", "b"])
    assert renamed.column_names == ["a", "b"]
    assert renamed.row_names == survey.row_names
    assert Histories.of(pickle.loads(pickle.dumps(survey))).cells.tolist() == CODES


def test_selection():
    survey = Histories.of(CUBE, **NAMES, visit_names=["x", "y", "z"])
    some = survey.rows([1, 0]).visits(np.array([True, False, True]))
    assert some.cells.tolist() == [[CODES[1][0], CODES[1][2]], [CODES[0][0], CODES[0][2]]]
    assert (some.row_names, some.visit_names, some.column_names) == (["B", "A"], ["x", "z"], ["owl", "tit"])
    assert some.n_visits.tolist() == [[2, 2], [1, 1]]


def test_counts_with_a_threshold():
    assert Histories.of([[[0, 3], [2, 1]]], binarize=2).cells.tolist() == [[[0, 1], [1, 0]]]


# ---- a table for each visit ------------------------------------------------------------------------------------------


def _frames():
    return [pd.DataFrame(CUBE[:, v], index=["A", "B", "C"], columns=["owl", "tit"]) for v in range(3)]


@pytest.mark.parametrize(
    "tables",
    [_frames(), [BinaryData.of(frame) for frame in _frames()], dict(zip("123", _frames(), strict=True))],
    ids=["frames", "BinaryData", "dict"],
)
def test_a_table_for_each_visit(tables):
    survey = Histories.from_visits(tables)
    assert survey.cells.tolist() == CODES
    assert (survey.row_names, survey.column_names) == (["A", "B", "C"], ["owl", "tit"])
    assert survey.visit_names == (["1", "2", "3"] if isinstance(tables, dict) else None)


@pytest.mark.parametrize(
    ("tables", "message"),
    [
        ([], "there is no visit; give a table for each"),
        ([[[0, 1]], [[0, 1], [1, 1]]], "visit 2: the table is 2 x 2, that of visit 1 1 x 2; give every visit the same"),
        (
            {"May": pd.DataFrame([[0, 1]], columns=["a", "b"]), "June": pd.DataFrame([[0, 1]], columns=["b", "a"])},
            'visit "June", column 1: the name is "b", in visit "May" "a"; give every visit the same rows and columns',
        ),
        (
            [pd.DataFrame([[0], [1]], index=["A", "B"]), pd.DataFrame([[0], [1]], index=["A", "C"])],
            'visit 2, row 2: the name is "C", in visit 1 "B"',
        ),
        ({"May": [[0, 1]], "June": [[0, 7]]}, 'visit "June", row 1, column 2: value 7 is neither 0 nor 1'),
    ],
)
def test_visits_that_do_not_fit(tables, message):
    with pytest.raises(DataError, match="^" + re.escape(message)):
        Histories.from_visits(tables)


@pytest.mark.parametrize(
    ("cube", "options", "message"),
    [
        ([[[0, 1], [0, 3]]], {}, "visit 2, row 1, column 2: value 3 is neither 0 nor 1; use binarize=1"),
        ([[[0, -1]]], {}, "visit 1, row 1, column 2: value -1 is neither 0 nor 1; use NaN if it stands for missing"),
        (
            [[[0, 1], [0, 3]]],
            {"row_names": ["A"], "visit_names": ["May", "June"], "column_names": ["owl", "tit"]},
            'visit "June", row "A", column "tit": value 3 is neither 0 nor 1',
        ),
        ([[0, 1]], {}, "histories have three dimensions, sites x visits x species, and this has 2; give a table"),
        ([[[0, 1]], [[1]]], {}, "the sites or visits differ in length; give each the same number of cells"),
        (np.zeros((2, 0, 3)), {}, "the shape (2, 0, 3) has no cell; give at least one site, visit and species"),
        (CUBE, {"visit_names": ["x"]}, "visit_names has 1 names for 3; give one name each"),
        (CUBE, {"row_names": ["x"]}, "row_names has 1 names for 3; give one name each"),
        (CUBE, {"binarize": "x"}, "binarize='x' is not a finite number"),
    ],
)
def test_arrays_that_are_refused(cube, options, message):
    with pytest.raises(DataError, match="^" + re.escape(message)):
        Histories.of(cube, **options)


# ---- a row for each observation --------------------------------------------------------------------------------------


def _write(folder: Path, text: str, name: str = "birds.csv") -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


@pytest.mark.parametrize(
    ("text", "options"), [(SEEN, {}), (VALUES, {"value": "n", "threshold": 1})], ids=["sightings", "values"]
)
def test_observations_become_histories(tmp_path, text, options):
    survey = read_histories(_write(tmp_path, text), **COLUMNS, **options)
    assert survey.cells.tolist() == CODES[:2]
    assert (survey.row_names, survey.visit_names, survey.column_names) == (["A", "B"], ["1", "2", "3"], ["owl", "tit"])
    assert survey.row_label == "site"
    (note,) = survey.notes
    assert note == (
        'each row is an observation of "bird" at "site" on the visit "day"; visits that don\'t occur were not made'
    )


def test_visits_may_be_given(tmp_path):
    path = _write(tmp_path, "site,day,bird\nA,1,owl\nB,2,tit\nB,3,owl\nB,3,tit\n")
    made = [("A", 1), ("A", 2), ("B", 1), ("B", 2), ("B", 3.0), ("C", 1)]
    survey = read_histories(path, **COLUMNS, surveyed=made)
    assert survey.row_names == ["A", "B", "C"]
    assert survey.cells[:2].tolist() == CODES[:2]
    assert survey.n_visits[2].tolist() == [1, 1]
    every = read_histories(path, **COLUMNS, surveyed="all")
    assert every.n_visits.tolist() == [[3, 3], [3, 3]]
    assert every.detections.tolist() == survey.detections[:2].tolist()


@settings(deadline=None, max_examples=40)
@given(CUBES)
def test_every_history_survives_the_long_format(cube):
    """But for sites, visits and species that nothing is known of."""
    survey = Histories.of(cube)
    places = np.argwhere(survey.cells >= 0)
    made = [(int(i), int(v)) for i, v in np.argwhere(survey.surveyed)]
    if not made:
        return
    table = {
        "site": [f"s{i}" for i, _, _ in places],
        "visit": [f"v{v}" for _, v, _ in places],
        "species": [f"k{j}" for _, _, j in places],
        "value": [int(survey.cells[i, v, j]) for i, v, j in places],
    }
    back = Histories.from_long(table, site="site", visit="visit", species="species", value="value", surveyed="seen")
    rows, days, kinds = (
        [int(name[1:]) for name in names] for names in (back.row_names, back.visit_names, back.column_names)
    )
    expected = survey.cells[np.ix_(rows, days, kinds)]
    # On a visit that was made, a species without an observation is 0, not missing.
    expected = np.where((expected < 0) & back.surveyed[:, :, None], 0, expected)
    assert np.array_equal(back.cells, expected)


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame, dict], ids=["pandas", "polars", "dict"])
def test_frames_of_observations(make):
    table = make({"site": ["A", "A", "B"], "day": [1, 2, 1], "bird": ["owl", None, "tit"], "n": [3, None, 0]})
    columns = {"site": "site", "visit": "day", "species": "bird"}
    assert Histories.from_long(table, **columns).detections.tolist() == [[1, 0], [0, 1]]
    survey = Histories.from_long(table, **columns, value="n", binarize=1)
    assert survey.cells.tolist() == [[[1, 0], [0, 0]], [[0, 0], [-1, -1]]]


@pytest.mark.parametrize(
    ("name", "content", "options"),
    [
        ("birds.csv", VALUES.replace(",", ";").encode(), {"delimiter": ";"}),
        ("birds.tsv", VALUES.replace(",", "\t").encode(), {}),
        ("birds.csv", VALUES.encode("utf-16"), {"encoding": "utf-16"}),
        ("birds.csv.gz", gzip.compress(VALUES.encode()), {}),
        ("birds.csv", ("# a comment\n" + VALUES).encode(), {"comment": "#"}),
        (
            "birds.csv",
            VALUES.replace(",4\n", ";4,5\n").replace(",", ";").replace(";5", ",5").encode(),
            {"decimal": ","},
        ),
        ("birds.csv", VALUES.replace("NA", "-9").encode(), {"missing": "-9"}),
        ("birds.csv", VALUES.partition("\n")[2].encode(), {"header": False, "columns": ("x1", "x2", "x3", "x4")}),
    ],
    ids=["semicolons", "tabs", "utf-16", "gzip", "comment", "decimal comma", "missing", "no header"],
)
def test_reading_options(tmp_path, name, content, options):
    (tmp_path / name).write_bytes(content)
    site, visit, species, value = options.pop("columns", ("site", "day", "bird", "n"))
    survey = read_histories(
        tmp_path / name, site=site, visit=visit, species=species, value=value, threshold=1, **options
    )
    assert survey.cells.tolist() == CODES[:2]


def test_other_formats(tmp_path):
    table = pd.read_csv(_write(tmp_path, VALUES))
    table.to_parquet(tmp_path / "birds.parquet")
    table.to_excel(tmp_path / "birds.xlsx", index=False)
    with zipfile.ZipFile(tmp_path / "birds.zip", "w") as archive:
        archive.write(tmp_path / "birds.csv", "birds.csv")
    for name in ("birds.parquet", "birds.xlsx", "birds.zip"):
        assert read_histories(tmp_path / name, **COLUMNS, value="n", threshold=1).cells.tolist() == CODES[:2], name


@pytest.mark.parametrize(
    ("text", "options", "message"),
    [
        ("site,day,bird\nA,,owl\n", {}, 'line 2, column "day": the cell is empty, so it names nothing; fill it in'),
        ("site,day,bird\n,1,owl\n", {}, 'line 2, column "site": the cell is empty'),
        (VALUES + "A,1,owl,0\n", {"value": "n"}, 'line 10: "A", "1" and "owl" have the value 0 here and 4 in line 2;'),
        (VALUES, {"value": "n", "threshold": None}, 'line 2, column "n": value 4 is neither 0 nor 1 (and 2 more bad'),
        (VALUES + "B,1,,1\n", {"value": "n"}, 'line 10, column "bird": something was seen, and the cell doesn\'t say'),
        (SEEN, {"visit": "date"}, 'there is no column "date"; did you mean'),
        (SEEN, {"visit": "site"}, 'the column "site" is given twice; site, visit, species and value are different'),
        (SEEN, {"exclude": ["n"]}, "the option exclude is about wide tables; leave it out"),
        (SEEN, {"surveyed": [("A", "1")]}, 'line 3: the visit "2" to "A" is not among those that were made; add it to'),
        (SEEN, {"surveyed": ["A1"]}, "entry 1 of surveyed is 'A1'; give pairs of site and visit"),
        ("site,day,bird\nA,1,\nB,1,\n", {}, 'no row has a species in the column "bird"; give another column'),
    ],
)
def test_files_that_are_refused(tmp_path, text, options, message):
    with pytest.raises(
        DataError, match="^" + re.escape(f"birds.csv{', ' if message.startswith('line') else ': '}{message}")
    ):
        read_histories(_write(tmp_path, text), **{**COLUMNS, "threshold": 1, **options})


def test_unknown_options_and_formats_without_columns(tmp_path):
    with pytest.raises(TypeError, match="read_histories has no option 'like'"):
        read_histories(_write(tmp_path, SEEN), **COLUMNS, like={})
    np.save(tmp_path / "birds.npy", np.zeros((2, 2)))
    with pytest.raises(DataError, match="the option visit applies only to files with column names"):
        read_histories(tmp_path / "birds.npy", **COLUMNS)


def test_too_many_visits_are_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(visits, "_MOST_CELLS", 11)
    with pytest.raises(DataError, match=r"2 sites x 3 visits x 2 species are too many cells; number the visits"):
        read_histories(_write(tmp_path, SEEN), **COLUMNS)


@pytest.mark.parametrize("table", [7, [[1, 2]]])
def test_no_table_of_observations(table):
    with pytest.raises(DataError, match="a table of observations is a data frame or a dict of lists"):
        Histories.from_long(table, **COLUMNS)
    with pytest.raises(DataError, match="the columns of the table differ in length"):
        Histories.from_long({"site": ["A"], "day": [1, 2], "bird": ["owl"]}, **COLUMNS)
