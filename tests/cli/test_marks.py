"""`--marks`: cells that an analyst has looked up in a report, for `denoise`, `suspects` and `fit`, and in Python."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal
from pandas.testing import assert_frame_equal

from latentbits import apply_marks, read_table
from latentbits.storage.persistence import load_model
from latentbits.storage.run_folder import RunFolder

from .conftest import FAST, NONE_SUSPECTED, READ_AS_FITTED, Run, assert_refused, summary_of

pytestmark = [
    pytest.mark.usefixtures("without_plots"),
    pytest.mark.filterwarnings("ignore:.*no weight on any kept component"),
]


@pytest.fixture(scope="module")
def before(fitted: Path) -> pd.DataFrame:
    """The folder's own list."""
    return pd.read_csv(fitted / "suspects.csv")


@pytest.fixture
def marks(before: pd.DataFrame) -> list[dict[str, Any]]:
    """The first three suspects, one of each kind of mark, and one that no model suspects."""
    words = ["confirm", "reject", "unsure", "confirm"]
    chosen = [0, 1, 2, len(before) - 1]
    return [
        {"row": before["row"][i], "column": before["column"][i], "mark": word}
        for i, word in zip(chosen, words, strict=True)
    ]


@pytest.fixture
def saved(marks: list[dict[str, Any]], fitted: Path, tmp_path: Path) -> Path:
    """What the page saves."""
    document = {
        "format": "latentbits-ratings",
        "version": 1,
        "model": "aspect-bernoulli",
        "data": summary_of(fitted)["data"]["fingerprint"],
        "ratings": [1.0, 0.2, 0.6],
        "names": ["", "", ""],
        "marks": marks,
    }
    (tmp_path / "ratings.json").write_text(json.dumps(document))
    return tmp_path / "ratings.json"


def cells_of(table: pd.DataFrame) -> list[tuple[str, str]]:
    return list(zip(table["row"], table["column"], strict=True))


def test_suspects_leave_out_what_is_known(
    run: Run, fitted: Path, table: Path, saved: Path, before: pd.DataFrame, marks: list[dict[str, Any]]
) -> None:
    result = run("suspects", fitted, table, "--marks", saved, "--top", len(before))
    assert (result.exit_code, result.stderr) == (0, READ_AS_FITTED + NONE_SUSPECTED), result.output
    after = pd.read_csv(io.StringIO(result.stdout), keep_default_na=False)
    known = [(mark["row"], mark["column"]) for mark in marks if mark["mark"] != "unsure"]
    assert cells_of(after) == [cell for cell in cells_of(before) if cell not in known]
    assert after["mark"].tolist() == ["unsure", *[""] * (len(before) - len(known) - 1)]
    expected = load_model(fitted / "model.npz").suspects(read_table(table), top=len(before), marks=saved)
    assert_frame_equal(after, expected, check_dtype=False, rtol=1e-8)
    shorter = run("suspects", fitted, table, "--marks", saved, "--top", 5)
    assert shorter.stdout == "".join(result.stdout.splitlines(keepends=True)[:6]), "5 that are in question"


def test_suspected_ones_can_be_marked_as_well(fitted: Path, table: Path) -> None:
    """Confirmed, a 1 is true; rejected, it should be a 0."""
    model, data = load_model(fitted / "model.npz"), read_table(table)
    first, second, third = (cells_of(model.suspects(data, kind="presence", top=3))[i] for i in range(3))
    marks = [
        {"row": first[0], "column": first[1], "mark": "confirm"},
        {"row": second[0], "column": second[1], "mark": "reject"},
    ]
    assert cells_of(model.suspects(data, kind="presence", top=1, marks=marks)) == [third]
    cleaned = pd.DataFrame(
        model.denoise(data, marks=marks, change="both"), index=data.row_names, columns=data.column_names
    )
    assert (cleaned.loc[first], cleaned.loc[second]) == (1, 0)
    assert apply_marks(data, marks).n_ones == data.n_ones - 1


@pytest.mark.parametrize("change", ["absence", "both", "presence"])
def test_denoise_follows_the_marks_and_changes_nothing_else(
    run: Run, fitted: Path, table: Path, saved: Path, marks: list[dict[str, Any]], change: str
) -> None:
    without = run("denoise", fitted, table, "--change", change).stdout
    result = run("denoise", fitted, table, "--change", change, "--marks", saved)
    assert result.exit_code == 0, result.output
    expected = pd.read_csv(io.StringIO(without), index_col="site")
    for mark in marks:
        if mark["mark"] != "unsure":
            expected.loc[mark["row"], mark["column"]] = int(mark["mark"] == "confirm")
    answer = pd.read_csv(io.StringIO(result.stdout), index_col="site")
    assert_frame_equal(answer, expected)
    model = load_model(fitted / "model.npz")
    assert_array_equal(answer, model.denoise(read_table(table), change=change, marks=saved))
    assert not answer.equals(pd.read_csv(io.StringIO(without), index_col="site")), "otherwise nothing was shown"


def test_a_fit_uses_what_is_known(
    run: Run, fitted: Path, table: Path, saved: Path, marks: list[dict[str, Any]], X: np.ndarray, tmp_path: Path
) -> None:
    result = run("fit", table, *FAST, "--marks", saved, "--out", tmp_path / "run")
    assert result.exit_code == 0, result.output
    assert "Cells that were looked up: 2 confirmed as 1, 1 rejected as 0, 1 unsure" in result.stdout
    about = summary_of(tmp_path / "run")["data"]
    assert about["marks"] == {"file": "ratings.json", "confirmed": 2, "rejected": 1, "unsure": 1}
    assert about["ones"] == X.sum() + 2
    known = {(mark["row"], mark["column"]): mark["mark"] for mark in marks}
    suspects = pd.read_csv(tmp_path / "run" / "suspects.csv", keep_default_na=False)
    left = [cell for cell in cells_of(suspects) if cell in known]
    assert [known[cell] for cell in left] == ["unsure"]
    assert suspects["mark"].value_counts()["unsure"] == 1
    cleaned = pd.read_csv(tmp_path / "run" / "denoised.csv", index_col="site")
    for (row, column), word in known.items():
        if word != "unsure":
            assert cleaned.loc[row, column] == int(word == "confirm")
    data = apply_marks(read_table(table), saved)
    model = load_model(tmp_path / "run" / "model.npz")
    assert data.fingerprint() == about["fingerprint"]
    assert not np.array_equal(model.components_, load_model(fitted / "model.npz").components_)
    assert_frame_equal(model.suspects(data, top=9), suspects.drop(columns="kind").head(9), rtol=1e-8, check_dtype=False)


def test_a_report_made_again_knows_the_marks_of_the_fit(run: Run, table: Path, saved: Path, tmp_path: Path) -> None:
    assert run("fit", table, *FAST, "--marks", saved, "--out", tmp_path / "run").exit_code == 0
    data, _ = RunFolder.open(tmp_path / "run").load_data()
    assert data.marks.counts() == {"confirmed": 2, "rejected": 1, "unsure": 1}
    before = summary_of(tmp_path / "run")["suspected"]
    result = run("report", tmp_path / "run", "--json")
    assert result.exit_code == 0, result.output
    assert json.loads(result.stdout)["suspected"] == before


def test_marks_of_the_fit_are_brought_to_mind(run: Run, table: Path, saved: Path, tmp_path: Path) -> None:
    assert run("fit", table, *FAST, "--marks", saved, "--out", tmp_path / "run").exit_code == 0
    note = "note: cells were marked for the fit; to use them here as well, give --marks ratings.json\n"
    head, *lines = table.read_text().splitlines()
    other = tmp_path / "other.csv"
    other.write_text("\n".join([head, *lines[::-1]]))
    assert run("suspects", tmp_path / "run", other).stderr == READ_AS_FITTED + note + NONE_SUSPECTED
    assert run("suspects", tmp_path / "run", table, "--marks", saved).stderr == READ_AS_FITTED + NONE_SUSPECTED
    assert run("explain", tmp_path / "run", table, "--row", "site3").stderr == READ_AS_FITTED


def test_marks_of_the_fit_count_in_its_own_file(run: Run, table: Path, saved: Path, tmp_path: Path) -> None:
    """The list is that of suspects.csv, and the clean table denoised.csv."""
    assert run("fit", table, *FAST, "--marks", saved, "--out", tmp_path / "run").exit_code == 0
    note = "note: the cells that were marked for the fit (ratings.json) count here as well\n"
    result = run("suspects", tmp_path / "run", table, "--top", "1000")
    assert result.stderr == READ_AS_FITTED + note + NONE_SUSPECTED
    listed = pd.read_csv(tmp_path / "run" / "suspects.csv").query("kind == 'absence'").drop(columns="kind")
    assert_frame_equal(pd.read_csv(io.StringIO(result.stdout)), listed.reset_index(drop=True))
    assert run("denoise", tmp_path / "run", table).stdout == (tmp_path / "run" / "denoised.csv").read_text()
    (tmp_path / "run" / "data.npz").unlink()
    result = run("suspects", tmp_path / "run", table)
    assert (result.exit_code, "give --marks ratings.json" in result.stderr) == (0, True)


def test_a_file_with_ratings_and_marks_is_used_as_asked(run: Run, fitted: Path, table: Path, saved: Path) -> None:
    rated = run("suspects", fitted, table, "--ratings", saved)
    note = "note: ratings.json has 4 marks of cells as well; --marks ratings.json uses them\n"
    assert rated.stderr.endswith(note + NONE_SUSPECTED)
    assert rated.stdout == run("suspects", fitted, table, "--ratings", "1,0.2,0.6").stdout
    both = run("suspects", fitted, table, "--ratings", saved, "--marks", saved)
    assert (both.exit_code, both.stderr) == (0, READ_AS_FITTED + NONE_SUSPECTED)
    assert both.stdout.splitlines()[0] == "row,column,score,phantom,mark"


def test_files_that_are_refused(run: Run, fitted: Path, table: Path, saved: Path, tmp_path: Path) -> None:
    document = json.loads(saved.read_text())
    out = ["--out", tmp_path / "run"]
    for change, message in [
        ({"marks": [{"row": "nowhere", "column": "species1", "mark": "confirm"}]}, 'no row is named "nowhere"'),
        ({"marks": [{"row": "site1", "column": "Sus", "mark": "confirm"}]}, 'no column is named "Sus"'),
        ({"marks": [{"row": "site1", "column": "species1", "mark": "maybe"}]}, '"mark" must be confirm, reject'),
        ({"marks": "all"}, '"marks" must be a list'),
        ({"format": "other"}, "this is no file of ratings"),
        ({"data": "0" * 16, "marks": [{"row": 3, "column": "species1", "mark": "reject"}]}, "marks of other data"),
    ]:
        saved.write_text(json.dumps({**document, **change}))
        for command in (["denoise", fitted, table], ["suspects", fitted, table], ["fit", table, *FAST, *out]):
            result = run(*command, "--marks", saved)
            assert_refused(result, f"ratings.json: {message}" if "mark" not in message else message)
    assert not (tmp_path / "run").exists()
    assert_refused(run("suspects", fitted, table, "--marks", "absent.json"), "absent.json: no such file")
    saved.write_text(json.dumps({**document, "marks": [{"row": 1}]}))
    assert_refused(run("report", fitted, "--ratings", saved), 'ratings.json: mark 1 must have "row"')


def test_numbers_have_no_marks(run: Run, table: Path, saved: Path, tmp_path: Path) -> None:
    asked = ["--model", "ica-mixture", "--marks", saved, "--out", tmp_path / "run"]
    assert_refused(run("fit", table, *asked), "--marks is about 0-1 data, and ica-mixture takes numbers", code=2)


def test_marks_by_position_fit_a_table_without_names(run: Run, X: np.ndarray, tmp_path: Path) -> None:
    np.save(tmp_path / "m.npy", X)
    assert run("fit", tmp_path / "m.npy", *FAST, "--out", tmp_path / "run").exit_code == 0
    first = pd.read_csv(tmp_path / "run" / "suspects.csv").iloc[0]
    row, column = (int(first[side].removeprefix(f"{side} ")) - 1 for side in ("row", "column"))
    document = {
        "format": "latentbits-ratings",
        "version": 1,
        "data": summary_of(tmp_path / "run")["data"]["fingerprint"],
        "marks": [{"row": row, "column": column, "mark": "confirm"}],
    }
    (tmp_path / "marks.json").write_text(json.dumps(document))
    asked = ["--marks", tmp_path / "marks.json"]
    cleaned = pd.read_csv(io.StringIO(run("denoise", tmp_path / "run", tmp_path / "m.npy", *asked).stdout))
    assert cleaned.iloc[row, 1 + column] == 1
    np.save(tmp_path / "m.npy", X[::-1])
    assert_refused(run("denoise", tmp_path / "run", tmp_path / "m.npy", *asked), "marks of other data are by position")
