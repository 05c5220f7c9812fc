"""A file that is read with a fitted model is read like the file of the fit, without being told how again."""

from __future__ import annotations

import csv
import io
import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from latentbits import read_table, simulate
from latentbits.storage.run_folder import RunFolder

from .conftest import FAST, NONE_SUSPECTED, Run, assert_refused

pytestmark = [
    pytest.mark.usefixtures("without_plots"),
    pytest.mark.filterwarnings("ignore:.*no weight on any kept component"),
]

N_SITES, SPECIES = 50, [f"Species {letter}" for letter in "ABCDEFGHIJ"]
READ = "note: read as for the fit: --threshold 1 --row-labels Site\n"


@pytest.fixture(scope="module")
def trees(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Counts of trees; the sites have numbers, which begin at 1 and are data to a threshold."""
    rng = np.random.default_rng(3)
    present = simulate.aspect_bernoulli(N_SITES, 10, 3, white_phantom=True, sharpness=0.2, random_state=3).X
    counts = pd.DataFrame(present * rng.integers(1, 30, present.shape), columns=SPECIES)
    counts.insert(0, "Site", np.arange(1, N_SITES + 1))
    file = tmp_path_factory.mktemp("trees") / "trees.csv"
    counts.to_csv(file, index=False)
    return file


@pytest.fixture(scope="module")
def fitted_trees(trees: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    from .conftest import invoke

    out = tmp_path_factory.mktemp("fit") / "run"
    result = invoke("fit", trees, "--threshold", 1, "--row-labels", "Site", *FAST, "--out", out)
    assert result.exit_code == 0, result.output
    return out


def looked_up(file: Path, site: str, species: str) -> str:
    """The text of a cell in the file."""
    with file.open(newline="") as stream:
        return next(line for line in csv.DictReader(stream) if line["Site"] == site)[species]


def test_suspects_name_cells_that_are_zeros_in_the_file(run: Run, trees: Path, fitted_trees: Path) -> None:
    result = run("suspects", fitted_trees, trees, "--top", 40)
    assert (result.exit_code, result.stderr) == (0, READ + NONE_SUSPECTED), result.output
    lines = list(csv.DictReader(io.StringIO(result.stdout)))
    assert len(lines) == 40
    assert {looked_up(trees, line["row"], line["column"]) for line in lines} == {"0"}
    with (fitted_trees / "suspects.csv").open(newline="") as stream:
        in_folder = list(csv.DictReader(stream))[:40]
    assert [line["row"] + line["column"] for line in lines] == [line["row"] + line["column"] for line in in_folder]


@pytest.mark.parametrize("place", [".", "model.npz"])
@pytest.mark.parametrize(
    "command", [["denoise"], ["suspects"], ["explain", "--row", "7"], ["explain", "--cell", "7", SPECIES[2]]]
)
def test_every_answer_is_that_of_the_options_given_again(
    run: Run, trees: Path, fitted_trees: Path, command: list[str], place: str
) -> None:
    first, *asked = command
    answer = run(first, fitted_trees / place, trees, *asked)
    again = run(first, fitted_trees, trees, *asked, "--threshold", 1, "--row-labels", "Site", "--read-afresh")
    assert (answer.exit_code, again.exit_code) == (0, 0), answer.output + again.output
    assert answer.stderr.startswith(READ)
    assert "as for the fit" not in again.stderr
    assert answer.stdout == again.stdout


def test_a_report_on_other_rows_reads_them_like_the_fit(
    run: Run, trees: Path, fitted_trees: Path, tmp_path: Path
) -> None:
    some = tmp_path / "some.csv"
    some.write_text("\n".join(trees.read_text().splitlines()[:9]) + "\n")
    result = run("report", fitted_trees, some, "--out", tmp_path / "page.html", "--json")
    assert (result.exit_code, result.stderr.startswith(READ)) == (0, True), result.output
    data = json.loads(result.stdout)["data"]
    assert (data["rows"], data["fingerprint"]) == (8, read_table(some, like=fitted_trees).fingerprint())
    assert_refused(run("report", fitted_trees, "--read-afresh"), "--read-afresh is about reading FILE", code=2)


def test_summary_and_folder_have_the_options(fitted_trees: Path, trees: Path) -> None:
    reading = {"threshold": 1.0, "row_labels": "Site"}
    opened = RunFolder.open(fitted_trees)
    assert opened.reading == opened.load_model().reading_ == opened.summary["data"]["reading"] == reading
    assert read_table(trees, like=fitted_trees).fingerprint() == opened.load_data()[0].fingerprint()


def test_a_folder_whose_model_has_no_record_is_asked_for_its_summary(
    run: Run, trees: Path, fitted_trees: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As folders of earlier versions are."""
    load_model = RunFolder.load_model

    def without_record(opened: RunFolder) -> Any:
        model = load_model(opened)
        del model.reading_
        return model

    expected = run("suspects", fitted_trees, trees)
    monkeypatch.setattr(RunFolder, "load_model", without_record)
    answer = run("suspects", fitted_trees, trees)
    assert (answer.stdout, answer.stderr) == (expected.stdout, READ + NONE_SUSPECTED)


def test_options_on_the_command_line_go_first(run: Run, trees: Path, fitted_trees: Path) -> None:
    result = run("denoise", fitted_trees, trees, "--threshold", 10, "--change", "presence")
    assert (result.exit_code, result.stderr.startswith("note: read as for the fit: --row-labels Site\n")) == (0, True)
    ones = pd.read_csv(io.StringIO(result.stdout))[SPECIES].to_numpy()
    assert not ones[(pd.read_csv(trees)[SPECIES] >= 10).to_numpy() < ones].any()


def test_a_default_that_is_given_goes_first_as_well(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "t.csv"
    file.write_bytes("å,b\n1,0\n0,1\n1,1\n".encode("latin-1"))
    asked = ["--components", 1, "--restarts", 1, "--no-report", "--no-verdict", "--out", tmp_path / "run"]
    assert run("fit", file, "--encoding", "latin-1", *asked).exit_code == 0
    assert (
        run("suspects", tmp_path / "run", file).stderr
        == f"note: read as for the fit: --encoding latin-1\n{NONE_SUSPECTED}"
    )
    file.write_bytes("å,b\n1,0\n0,1\n1,1\n".encode())
    result = run("suspects", tmp_path / "run", file, "--encoding", "utf-8")
    assert (result.exit_code, result.stderr) == (0, NONE_SUSPECTED)


def test_what_is_typed_can_be_typed_again(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "t.txt"
    file.write_text("the site;age;a;b\ns;4;+;lost\nt;5;;+\nu;6;+;\n")
    reading = ["--row-labels", "the site", "--exclude", "age", "--presence", "+", "--missing", "lost"]
    asked = ["--components", 1, "--restarts", 1, "--no-report"]
    assert run("fit", file, *reading, *asked, "--out", tmp_path / "run").exit_code == 0
    note = run("suspects", tmp_path / "run", file).stderr
    for option in ("--row-labels 'the site'", "--exclude age", "--presence +", "--missing lost"):
        assert option in note
    assert not re.search(r"--columns|--delimiter", note)


def test_a_file_that_cannot_be_read_that_way_is_refused(run: Run, tmp_path: Path) -> None:
    for name, text in (("fit", "a;b\n1;0\n0;1\n1;1\n"), ("new", "a,b\n1,0\n0,1\n1,1\n")):
        (tmp_path / f"{name}.txt").write_text(text)
    asked = ["--components", 1, "--restarts", 1, "--no-report", "--out", tmp_path / "run"]
    assert run("fit", tmp_path / "fit.txt", "--delimiter", ";", *asked).exit_code == 0
    refused = run("denoise", tmp_path / "run", tmp_path / "new.txt")
    assert_refused(refused, "new.txt", "delimiter=';' as for the fit: give another delimiter (--delimiter)")
    for way_out in (["--delimiter", ","], ["--read-afresh"]):  # the advice works
        assert run("suspects", tmp_path / "run", tmp_path / "new.txt", *way_out).exit_code == 0


def test_labels_that_are_not_in_the_file_are_told(run: Run, trees: Path, fitted_trees: Path, tmp_path: Path) -> None:
    file = tmp_path / "new.csv"
    pd.read_csv(trees)[SPECIES].to_csv(file, index=False)
    result = run("suspects", fitted_trees, file, "--top", 3)
    assert result.exit_code == 0, result.output
    lacking = 'there is no column "Site", which named the rows of the fit'
    assert result.stderr == f"note: read as for the fit: --threshold 1; {lacking}\n{NONE_SUSPECTED}"
