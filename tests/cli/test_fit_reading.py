"""`latentbits fit`: options of reading the file, which the summary keeps, and what is refused."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from latentbits import read_table
from latentbits.cli.commands.ask import suspects
from latentbits.cli.commands.survey import repeat_visits
from latentbits.cli.options.reading import READING
from latentbits.data.numbers import read_numbers
from latentbits.storage.persistence import load_model
from latentbits.storage.run_folder import RunFolder

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
        ("a;b\n0,5;2\n2,5;0\n", ["--decimal", ",", "--threshold", 1], ["a", "b"], {"decimal": ",", "threshold": 1.0}),
        ("% by Ann\na,b\n0,1\n1,1\n", ["--comment", "%"], ["a", "b"], {"comment": "%"}),
        ("a,b,c\n0,1,7\n1,1,8\n", ["--metadata", "c"], ["a", "b"], {"metadata": ["c"]}),
        ("s,g\nP,a\nP,b\nQ,b\n", ["--long", "s", "g"], ["a", "b"], {"long": ["s", "g"]}),
        (
            "s,g,n\nP,a,2\nP,b,0\nQ,b,1\n",
            ["--long", "s", "g", "n", "--threshold", 1],
            ["a", "b"],
            {"long": ["s", "g", "n"], "threshold": 1.0},
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


def test_guesses_about_columns_are_printed_as_notes(run: Run, tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("Aufnahme,party,a,b\n3,red,5,0\n8,red,0,2\n9,blue,1,0\n")
    result = run("select", tmp_path / "t.csv", "--components", "1", "--threshold", 1, "--criterion", "aic")
    assert result.exit_code == 0, result.output
    assert result.stderr.splitlines()[:2] == [
        'note: t.csv: the column "Aufnahme" names the rows (whole numbers that increase); use row_labels=False '
        "(--no-row-labels) if it is data",
        'note: t.csv: the column "party" is metadata, kept beside the rows (text with repeats); use '
        "exclude=['party'] (--exclude party) to leave it out, covariates=['party'] (--covariates party) if it may "
        "explain cells, or --true and --false if it is data",
    ]


def test_long_takes_two_or_three_columns(run: Run, tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("s,g,n\nP,a,1\nQ,b,1\n")
    result = run(
        "fit", tmp_path / "t.csv", "--long", "s", "g", "n", "one", "--components", 1, "--out", tmp_path / "run"
    )
    assert_refused(result, "unexpected extra argument", code=2)
    result = run("fit", tmp_path / "t.csv", "--long", "s", "--out", tmp_path / "run")
    assert result.exit_code == 2


BEFORE_ACCEPTANCE = """
import sys
from latentbits.cli.main import program
try:
    program(sys.argv[1:], prog_name="latentbits")
except SystemExit as end:
    print(end.code, *sys.modules)
"""


THREE = "site,a,b\nP,1,0\nQ,3,1\n"
LONG = ["--long", "site", "species", "n"]


@pytest.mark.parametrize(
    ("text", "command", "options"),
    [
        (THREE, "fit", ["--components", "2", "--out", "run"]),
        (THREE, "select", ["--components", "2:3"]),
        (THREE, "compare", []),
        (THREE, "false-zeros", []),
        ("site,party,a\nP,red,1\nQ,red,3\n", "fit", ["--components", "2", "--out", "run"]),
        ("site,species,n\nP,oak,1\nP,ash,7\n", "fit", ["--components", "2", "--out", "run"]),
        ("site,species,n\nP,oak,1\nP,ash,7\n", "fit", [*LONG, "--components", "2", "--out", "run"]),
        ("site,species,n,day\nP,oak,1,1\nP,ash,7,2\n", "repeat-visits", [*LONG, "--visits", "day"]),
    ],
)
def test_a_refused_file_needs_no_numerical_library(tmp_path: Path, text: str, command: str, options: list[str]) -> None:
    (tmp_path / "t.csv").write_text(text)
    result = subprocess.run(
        [sys.executable, "-c", BEFORE_ACCEPTANCE, command, "t.csv", *options],
        capture_output=True,
        text=True,
        check=True,
        cwd=tmp_path,
    )
    code, *modules = result.stdout.split()
    assert code == "1", result.stderr
    assert "latentbits.data.text_reader" in modules
    heavy = {"numpy", "scipy", "pandas", "sklearn", "numba", "matplotlib", "narwhals", "joblib", "pyarrow", "openpyxl"}
    assert not heavy & set(modules)


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
    assert summary_of(tmp_path / "run")["data"]["reading"] == {"missing": ["\udcff"], "row_labels": "site"}
    assert load_model(tmp_path / "run" / "model.npz").reading_ == {"missing": ["\udcff"], "row_labels": "site"}


def test_every_option_that_the_readers_advise_exists() -> None:
    files = Path(read_table.__code__.co_filename).parent.glob("*.py")
    source = "".join(file.read_text(encoding="utf-8") for file in files)
    offered = {f"--{name.replace('_', '-')}" for name in READING}
    assert offered <= {flag for option in suspects.params for flag in option.opts}
    offered |= {flag for option in suspects.params for flag in option.opts if flag == "--read-afresh"}
    offered |= {flag for option in repeat_visits.params for flag in option.opts if "visit" in flag}
    spelled = set(re.findall(r"--[a-z][a-z-]*", source))
    advised = {f"--{name.replace('_', '-')}" for name in re.findall(r"option\(['\"](\w+)['\"]", source)}
    assert spelled >= {"--no-header", "--array", "--exclude", "--threshold", "--true", "--long", "--metadata"}
    assert advised >= {"--delimiter", "--encoding", "--missing", "--presence", "--decimal", "--row-labels", "--exclude"}
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
        (["--model", "ica-mixture", "--clusters", 0], "not in the range"),
        (
            ["--components", "2:3", "--zeros", "exact"],
            "--zeros is an option of aspect-bernoulli; name one with --model",
        ),
        (["--criterion", "aic"], "--criterion is about one model; name it with --model"),
    ],
)
def test_wrong_usage_is_exit_code_2(run: Run, table: Path, tmp_path: Path, asked: list[Any], message: str) -> None:
    result = run("fit", table, *asked, "--out", tmp_path / "run")
    assert_refused(result, message, code=2)
    assert not (tmp_path / "run").exists()


def test_a_table_comes_through_a_pipe(tmp_path: Path) -> None:
    program = [sys.executable, "-m", "latentbits", "look", "-"]
    result = subprocess.run(program, input=b"site,a,b\nP,1,0\nQ,1,1\n", capture_output=True, cwd=tmp_path, check=False)
    assert result.returncode == 0, result.stderr
    assert result.stdout.startswith(b"stdin.csv: 2 rows x 2 columns")
    assert list(tmp_path.iterdir()) == [], "what came through the pipe is not left behind"


@pytest.mark.parametrize("encoding", ["punycode", "base64", "rot13", "undefined"])
def test_encodings_that_are_none_are_refused(run: Run, tmp_path: Path, encoding: str) -> None:
    (tmp_path / "t.csv").write_text("site,a,b\nP,1,0\nQ,1,1\n")
    assert_refused(run("look", tmp_path / "t.csv", "--encoding", encoding), "t.csv: th", code=1)
