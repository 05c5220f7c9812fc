"""`latentbits denoise`, `suspects` and `explain` on a fitted folder and a file."""

from __future__ import annotations

import io
import json
import shutil
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from click.testing import Result
from numpy.testing import assert_array_equal
from pandas.testing import assert_frame_equal

from latentbits import read_table
from latentbits.storage.persistence import load_model

from .conftest import FAST, READ_AS_FITTED, Run, assert_refused, write_table

pytestmark = pytest.mark.usefixtures("without_plots")

COMMANDS = [["denoise"], ["suspects"], ["explain", "--row", "site3"]]


def frame(result: Result) -> pd.DataFrame:
    assert result.exit_code == 0, result.output + repr(result.exception)
    return pd.read_csv(io.StringIO(result.stdout))


# ---- answers ----


def test_other_columns_of_the_file_are_passed_over(run: Run, fitted: Path, table: Path, tmp_path: Path) -> None:
    """What was left out of the fit needn't be left out again: the model knows its columns."""
    lines = table.read_text().splitlines()
    file = tmp_path / "more.csv"
    file.write_text("\n".join(f"{line},{'age' if i == 0 else 12.5}" for i, line in enumerate(lines)))
    assert run("suspects", fitted, file).stdout == run("suspects", fitted, table).stdout


@pytest.mark.filterwarnings("ignore:7 rows have no weight")
def test_denoise_is_the_models(run: Run, fitted: Path, table: Path, columns: list[str], rows: list[str]) -> None:
    answer = frame(run("denoise", fitted, table))
    assert list(answer) == ["site", *columns]
    assert list(answer["site"]) == rows
    assert_array_equal(answer[columns], load_model(fitted / "model.npz").denoise(read_table(table)))


@pytest.mark.filterwarnings("ignore:7 rows have no weight")
def test_denoise_with_threshold_and_ratings(run: Run, fitted: Path, table: Path, columns: list[str]) -> None:
    asked = ["--threshold-probability", 0.3, "--ratings", "1,0.5,1"]
    answer = frame(run("denoise", fitted, table, *asked))[columns]
    model = load_model(fitted / "model.npz")
    assert_array_equal(answer, model.denoise(read_table(table), threshold=0.3, ratings=[1, 0.5, 1]))
    assert not np.array_equal(answer, model.denoise(read_table(table)))


@pytest.mark.filterwarnings("ignore:7 rows have no weight")
def test_denoise_changes_the_cells_that_it_may(run: Run, fitted: Path, table: Path) -> None:
    data = read_table(table)
    model = load_model(fitted / "model.npz")
    for change in ("both", "presence"):
        answer = frame(run("denoise", fitted, table, "--change", change))[data.column_names]
        assert_array_equal(answer, model.denoise(data, change=change))


@pytest.mark.parametrize("kind", ["absence", "presence"])
def test_suspects_are_the_models(run: Run, fitted: Path, table: Path, kind: str) -> None:
    answer = frame(run("suspects", fitted, table, "--kind", kind, "--top", 7))
    expected = load_model(fitted / "model.npz").suspects(read_table(table), kind=kind, top=7)
    assert_frame_equal(answer, expected, check_dtype=False, rtol=1e-8)


def test_a_list_of_none_suspected_is_noted(run: Run, fitted: Path, table: Path, tmp_path: Path) -> None:
    told = "note: the fit suspects no zeros"
    shutil.copytree(fitted, tmp_path / "run")
    for count in (0, 3):
        summary = json.loads((fitted / "summary.json").read_text()) | {"suspected": {"absence": count}}
        (tmp_path / "run" / "summary.json").write_text(json.dumps(summary))
        assert (told in run("suspects", tmp_path / "run", table).stderr) == (count == 0)


def test_explain_a_row(run: Run, fitted: Path, table: Path, columns: list[str]) -> None:
    answer = frame(run("explain", fitted, table, "--row", "site3"))
    assert set(answer["row"]) == {"site3"}
    assert list(answer["column"]) == [name for name in columns for _ in range(3)]
    assert_frame_equal(answer, frame(run("explain", fitted, table, "--row", "row 4")))


def test_explain_cells(run: Run, fitted: Path, table: Path) -> None:
    answer = frame(run("explain", fitted, table, "--cell", "site0", "species4", "--cell", "row 6", "column 2"))
    places = list(zip(answer["row"], answer["column"], strict=True))
    assert places == [("site0", "species4")] * 3 + [("site5", "species1")] * 3
    assert answer.groupby("row")["probability"].sum().tolist() == pytest.approx([1, 1])


def test_a_missing_cell_has_no_value(run: Run, fitted: Path, tmp_path: Path, columns: list[str]) -> None:
    file = write_table(tmp_path / "t.csv", np.array([["NA"] + ["1"] * 11]), columns, ["a"])
    result = run("explain", fitted, file, "--cell", "a", "species0")
    assert result.stdout.splitlines()[1].startswith("a,species0,,1,")


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command[0])
def test_columns_are_matched_by_name(
    run: Run,
    fitted: Path,
    table: Path,
    tmp_path: Path,
    command: list[str],
    X: np.ndarray,
    columns: list[str],
    rows: list[str],
) -> None:
    other = write_table(tmp_path / "t.csv", X[:, ::-1], columns[::-1], rows)
    first, *asked = command
    assert run(first, fitted, other, *asked).stdout == run(first, fitted, table, *asked).stdout


def test_the_model_file_will_do(run: Run, fitted: Path, table: Path) -> None:
    assert run("suspects", fitted / "model.npz", table).stdout == run("suspects", fitted, table).stdout


def test_rows_of_phantoms_only_are_a_note(run: Run, fitted: Path, tmp_path: Path, columns: list[str]) -> None:
    file = write_table(tmp_path / "t.csv", np.zeros((2, 12), int), columns, ["a", "b"])
    result = run("denoise", fitted, file, "--threshold-probability", 0.5)
    assert result.exit_code == 0
    lost = "note: 2 rows have no weight on any kept component; they get the average kept weights\n"
    assert result.stderr == READ_AS_FITTED + lost


# ---- where the table goes ----


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command[0])
def test_out_is_what_stdout_would_be(run: Run, fitted: Path, table: Path, tmp_path: Path, command: list[str]) -> None:
    first, *asked = command
    shown = run(first, fitted, table, *asked, "--out", "-").stdout
    result = run(first, fitted, table, *asked, "--out", tmp_path / "answer.csv")
    assert result.exit_code == 0
    assert result.stdout.startswith(f"Wrote {tmp_path / 'answer.csv'}")
    assert (tmp_path / "answer.csv").read_text() == shown
    assert [entry.name for entry in tmp_path.iterdir()] == ["answer.csv"]


def test_an_existing_file_is_replaced_only_by_force(run: Run, fitted: Path, table: Path, tmp_path: Path) -> None:
    out = tmp_path / "answer.csv"
    out.write_text("mine")
    assert_refused(run("suspects", fitted, table, "--out", out), "answer.csv exists already", "--force")
    assert out.read_text() == "mine"
    assert run("suspects", fitted, table, "--out", out, "--force").exit_code == 0
    assert out.read_text().startswith("row,column,score")


def test_out_that_cannot_be_written(run: Run, fitted: Path, table: Path, tmp_path: Path) -> None:
    assert_refused(run("suspects", fitted, table, "--out", tmp_path), "is a folder")
    assert_refused(run("suspects", fitted, table, "--out", tmp_path / "no" / "a.csv"), "no such folder")


# ---- refusals ----


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command[0])
def test_a_missing_column_is_named(
    run: Run,
    fitted: Path,
    tmp_path: Path,
    command: list[str],
    X: np.ndarray,
    columns: list[str],
    rows: list[str],
) -> None:
    first, *asked = command
    fewer = write_table(tmp_path / "fewer.csv", X[:, 2:], columns[2:], rows)
    assert_refused(
        run(first, fitted, fewer, *asked),
        'fewer.csv: there is no column "species0" (and 1 more), which the model',
    )
    more = write_table(tmp_path / "more.csv", np.hstack([X, X[:, :1]]), [*columns, "Sus"], rows)
    chosen = ("--exclude", columns[0])
    assert_refused(run(first, fitted, more, *asked, *chosen), 'there is no column "species0", which the model')


def test_a_matrix_of_another_width_is_refused(run: Run, fitted: Path, tmp_path: Path) -> None:
    np.save(tmp_path / "m.npy", np.eye(5, dtype=int))
    assert_refused(run("denoise", fitted, tmp_path / "m.npy"), "5 features", "12 features")


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command[0])
def test_folders_without_a_model(run: Run, table: Path, tmp_path: Path, command: list[str]) -> None:
    first, *asked = command
    assert_refused(run(first, tmp_path / "absent", table, *asked), "absent: no such folder")
    assert_refused(run(first, tmp_path, table, *asked), "holds no model.npz")
    assert_refused(run(first, table, table, *asked), "sites.csv: this is no latentbits model")


def test_a_damaged_model_is_refused(run: Run, fitted: Path, table: Path, tmp_path: Path) -> None:
    shutil.copytree(fitted, tmp_path / "run")
    content = (fitted / "model.npz").read_bytes()
    (tmp_path / "run" / "model.npz").write_bytes(content[: len(content) // 2])
    assert_refused(run("suspects", tmp_path / "run", table), "model.npz: the file is damaged")


def test_broken_data_are_refused(run: Run, fitted: Path, tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("a,b\n1,0\n")
    assert_refused(run("denoise", fitted, tmp_path / "t.csv"), 't.csv: there is no column "species0"')
    header = ",".join(f"species{j}" for j in range(12))
    (tmp_path / "t.csv").write_text(f"{header}\n1\n")
    assert_refused(run("denoise", fitted, tmp_path / "t.csv"), "t.csv, line 2: 1 field, but 12 are expected")
    (tmp_path / "t.csv").write_text(f"age,{header}\n7,{'1,' * 11}3\n")
    refused = run("denoise", fitted, tmp_path / "t.csv")
    assert_refused(refused, 't.csv, line 2, column "species11": value 3')  # not the age, which nobody asked for


def test_a_table_that_was_written_is_read_again(run: Run, tmp_path: Path, X: np.ndarray) -> None:
    """Names that a spreadsheet would take for formulas, and one with a carriage return in it."""
    columns = ["=1+1", "+x", "@y", "-z", '"cr\rin"', *(f"s{j}" for j in range(7))]
    file = write_table(tmp_path / "t.csv", X, columns)
    assert run("fit", file, *FAST, "--out", tmp_path / "run").exit_code == 0
    first = run("denoise", tmp_path / "run", file, "--out", tmp_path / "clean.csv")
    assert first.exit_code == 0, first.output
    again = run("denoise", tmp_path / "run", tmp_path / "clean.csv")
    assert again.exit_code == 0, again.output


def test_unknown_rows_and_cells(run: Run, fitted: Path, table: Path) -> None:
    assert_refused(run("explain", fitted, table, "--row", "nowhere"), 'no row is named "nowhere"')
    way_out = 'give the name of one, or "row 1" to "row 60"'
    for row in ("1", "61", "row 0", "row 61"):  # rows that have names may be numbered otherwise
        assert_refused(run("explain", fitted, table, "--row", row), f'no row is named "{row}"; {way_out}')
    asked = run("explain", fitted, table, "--cell", "row 1", "Sus")
    assert_refused(asked, 'no column is named "Sus"', 'or "column 1" to "column 12"')


def test_rows_and_columns_without_names_are_counted_from_1(run: Run, tmp_path: Path, X: np.ndarray) -> None:
    """What `suspects` prints is the cell that `explain` explains, and both are the cell of Python's positions."""
    np.save(tmp_path / "m.npy", X)
    assert run("fit", tmp_path / "m.npy", *FAST, "--out", tmp_path / "run").exit_code == 0
    model = load_model(tmp_path / "run" / "model.npz")
    listed = frame(run("suspects", tmp_path / "run", tmp_path / "m.npy", "--top", 9))
    for line, expected in zip(listed.itertuples(), model.suspects(X, top=9).itertuples(), strict=True):
        assert (line.row, line.column) == (f"row {expected.row + 1}", f"column {expected.column + 1}")
        assert X[expected.row, expected.column] == 0
        answer = frame(run("explain", tmp_path / "run", tmp_path / "m.npy", "--cell", line.row, line.column))
        assert set(answer["row"]) == {line.row}
        assert set(answer["column"]) == {line.column}
        here = model.explain(X, cells=[(expected.row, expected.column)])
        np.testing.assert_allclose(answer["probability"], here["probability"], rtol=1e-8)
    first = frame(run("explain", tmp_path / "run", tmp_path / "m.npy", "--row", 1))
    np.testing.assert_array_equal(first["value"][::3], X[0])


def test_a_row_label_that_is_not_unique(
    run: Run, fitted: Path, tmp_path: Path, X: np.ndarray, columns: list[str]
) -> None:
    file = write_table(tmp_path / "t.csv", X[:3], columns, ["a", "b", "a"])
    named = ["explain", fitted, file, "--row-labels", "site"]  # by itself, a column with repeats names no rows
    assert_refused(run(*named, "--row", "a"), '2 rows are named "a"; give one of them, such as "a (row 1)"')
    for row in ("a (row 3)", "row 3"):
        assert set(frame(run(*named, "--row", row))["row"]) == {"a (row 3)"}


def test_ratings_of_the_wrong_number(run: Run, fitted: Path, table: Path) -> None:
    assert_refused(run("denoise", fitted, table, "--ratings", "1,0"), "ratings must be 3 numbers from 0 to 1")


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        (["explain"], "give either --row ROW or --cell ROW COLUMN"),
        (["explain", "--row", "a", "--cell", "a", "b"], "give either"),
        (["explain", "--cell", "a"], "requires 2 arguments"),
        (["denoise", "--ratings", "one"], "give numbers with commas"),
        (["denoise", "--threshold-probability", 2], "not in the range"),
        (["suspects", "--kind", "both"], "'both' is not one of"),
        (["suspects", "--top", 0], "not in the range"),
    ],
)
def test_wrong_usage(run: Run, fitted: Path, table: Path, asked: list[object], message: str) -> None:
    first, *others = asked
    result = run(first, fitted, table, *others)
    assert result.exit_code == 2
    assert message in result.stderr


def test_a_model_without_names_takes_columns_by_position(run: Run, table: Path, tmp_path: Path, X: np.ndarray) -> None:
    np.save(tmp_path / "m.npy", X)
    assert run("fit", tmp_path / "m.npy", *FAST, "--out", tmp_path / "run").exit_code == 0
    named, bare = (frame(run("denoise", tmp_path / "run", file)) for file in (table, tmp_path / "m.npy"))
    assert_array_equal(named.iloc[:, 1:], bare.iloc[:, 1:])
