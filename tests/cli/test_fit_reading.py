"""`latentbits fit`: options of reading the file, which the summary keeps, and what is refused."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from latentbits import read_table
from latentbits.cli.options.reading import READING
from latentbits.data.numbers import read_numbers
from latentbits.persistence import load_model
from latentbits.run_folder import RunFolder

from .conftest import FAST, Run, assert_refused, summary_of

pytestmark = pytest.mark.usefixtures("without_plots")


def test_reading_options_are_those_of_the_reader(run: Run, tmp_path: Path, X: np.ndarray) -> None:
    cells = [["x" if value else "" for value in row] for row in X]
    cells[0][1] = "lost"
    lines = [";".join([f"s{i}", "12 m", *row]) for i, row in enumerate(cells)]
    head = ";".join(["Fundort", "Höhe", *(f"c{j}" for j in range(12))])
    file = tmp_path / "t.txt"
    file.write_text("\n".join([head, *lines]), encoding="latin-1")
    asked = ["--encoding", "latin-1", "--delimiter", ";", "--row-labels", "Fundort", "--exclude", "Höhe"]
    asked += ["--exclude", "c11", "--presence", "x", "--missing", "lost"]
    result = run("fit", file, *asked, *FAST, "--out", tmp_path / "run")
    assert result.exit_code == 0, result.output
    data = summary_of(tmp_path / "run")["data"]
    assert (data["rows"], data["columns"], data["missing"]) == (60, 11, 1)
    assert data["reading"] == {
        "encoding": "latin-1",
        "delimiter": ";",
        "row_labels": "Fundort",
        "exclude": ["Höhe", "c11"],
        "presence": "x",
        "missing": ["lost"],
    }


@pytest.mark.parametrize(
    ("text", "asked", "columns", "recorded"),
    [
        ("1,0\n0,1\n1,1\n", ["--no-header"], ["x1", "x2"], {"header": False}),
        ("a,b\n3,0\n0,2\n1,0\n", ["--threshold", 2], ["a", "b"], {"threshold": 2.0}),
        ("a,b\n3,-1\n-2,2\n", ["--threshold", 0], ["a", "b"], {"threshold": 0.0}),
        ("a,b,c\n1,0,1\n0,1,1\n", ["--columns", "c", "--columns", "a"], ["c", "a"], {"columns": ["c", "a"]}),
        (
            "a,b\nJa,Nein\nNein,Ja\n",
            ["--true", "ja", "--false", "nein", "--no-row-labels"],
            ["a", "b"],
            {"true": ["ja"], "false": ["nein"], "row_labels": False},
        ),
    ],
)
def test_each_reading_option(
    run: Run, tmp_path: Path, text: str, asked: list[str], columns: list[str], recorded: dict[str, Any]
) -> None:
    (tmp_path / "t.csv").write_text(text)
    result = run("fit", tmp_path / "t.csv", "--components", 1, *asked, "--out", tmp_path / "run")
    assert result.exit_code == 0, result.output
    assert list(load_model(tmp_path / "run" / "model.npz").feature_names_in_) == columns
    reading = RunFolder.open(tmp_path / "run").reading
    assert reading == recorded
    again = read_table(tmp_path / "t.csv", **reading)
    assert again.fingerprint() == summary_of(tmp_path / "run")["data"]["fingerprint"]


def test_an_array_of_an_npz_file_is_chosen(run: Run, tmp_path: Path, X: np.ndarray) -> None:
    np.savez(tmp_path / "t.npz", first=X, second=X[:, :4])
    result = run("fit", tmp_path / "t.npz", "--array", "second", *FAST, "--out", tmp_path / "run")
    assert result.exit_code == 0, result.output
    data = summary_of(tmp_path / "run")["data"]
    assert (data["columns"], data["reading"]) == (4, {"array": "second"})


def test_data_without_segments_and_numbers_are_read_again_as_recorded(run: Run, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    votes, numbers = tmp_path / "votes.csv", tmp_path / "numbers.csv"
    frame = pd.DataFrame(rng.integers(0, 2, (60, 3)), columns=list("abc"))
    frame.assign(session=np.repeat(["s", "t", "u"], 20)).to_csv(votes, index=False)
    pd.DataFrame(rng.normal(size=(30, 3)), columns=list("xyz")).to_csv(numbers, index=False)
    for file, model, asked, recorded, read in [
        (votes, "binary-ica", ["--segments", "session"], {"exclude": ["session"]}, read_table),
        (numbers, "binary-factors", ["--exclude", "y"], {"exclude": ["y"]}, read_numbers),
    ]:
        out = tmp_path / model
        arguments = ["--model", model, "--components", 1, "--restarts", 1, "--no-report"]
        result = run("fit", file, *arguments, *asked, "--out", out)
        assert result.exit_code == 0, result.output + repr(result.exception)
        opened = RunFolder.open(out)
        assert opened.reading == recorded
        assert read(file, **recorded).fingerprint() == opened.load_data()[0].fingerprint()


def test_a_word_that_is_no_unicode_does_not_stop_the_fit(run: Run, table: Path, tmp_path: Path) -> None:
    """A shell hands over any bytes; Python makes half surrogate pairs of them, which no file can hold as they are."""
    result = run("fit", table, *FAST, "--missing", "\udcff", "--out", tmp_path / "run")
    assert result.exit_code == 0, result.output + repr(result.exception)
    assert summary_of(tmp_path / "run")["data"]["reading"] == {"missing": ["\udcff"]}


def test_every_option_that_the_readers_advise_exists() -> None:
    files = Path(read_table.__code__.co_filename).parent.glob("*.py")
    source = "".join(file.read_text(encoding="utf-8") for file in files)
    offered = {f"--{name.replace('_', '-')}" for name in READING}
    spelled = set(re.findall(r"--[a-z][a-z-]*", source))
    advised = {f"--{name}" for name in re.findall(r"option\('(\w+)'", source)}
    assert spelled >= {"--no-header", "--array", "--exclude", "--threshold"}
    assert advised >= {"--delimiter", "--encoding", "--missing", "--presence"}
    assert spelled | advised <= offered


# ---- refusals ----


def test_bad_cells_are_refused_in_one_line(run: Run, tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("a,b\n1,0\n0,3\n")
    result = run("fit", tmp_path / "t.csv", "--components", 2, "--out", tmp_path / "run")
    assert_refused(result, 't.csv, line 3, column "b": value 3 is neither 0 nor 1')
    assert not (tmp_path / "run").exists()


def test_a_missing_file_is_refused(run: Run, tmp_path: Path) -> None:
    result = run("fit", tmp_path / "absent.csv", "--components", 2, "--out", tmp_path / "run")
    assert_refused(result, "absent.csv: no such file")


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        (["--components", 0], '"0" begins below 1'),
        (["--components", "two"], '"two" is no number of components'),
        (["--components", 2, "--shape", "4by3"], '"4by3" is no shape'),
        (["--components", 2, "--criterion", "aic"], "--criterion chooses among several --components"),
        (["--components", 2, "--folds", 10], "--folds chooses among several --components"),
        (["--components", "2:3", "--model", "binary-factors"], "--components of binary-factors must be one number"),
        (["--components", 2, "--model", "magic"], "'magic' is not"),
        (["--components", 2, "--jobs", 0], "use 1 or more, or -1"),
        (["--components", 2, "--tol", "nan"], "not a finite number"),
        (["--components", 2, "--restarts", 0], "not in the range"),
        (["--components", 2, "--seed", -1], "not in the range"),
        (["--components", 2, "--row-labels", "a", "--no-row-labels"], "not both"),
        ([], "Missing option '--components'"),
    ],
)
def test_wrong_usage_is_exit_code_2(run: Run, table: Path, tmp_path: Path, asked: list[Any], message: str) -> None:
    result = run("fit", table, *asked, "--out", tmp_path / "run")
    assert_refused(result, message, code=2)
    assert not (tmp_path / "run").exists()
