"""`latentbits false-zeros`, and what the other commands make of its folder."""

from __future__ import annotations

import io
import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from click.testing import Result
from pandas.testing import assert_frame_equal

from latentbits import FalseZeros, read_table, simulate
from latentbits.models.false_zeros import stacking
from latentbits.storage import run_folder
from latentbits.storage.persistence import load_model

from .conftest import Run, assert_refused, invoke, summary_of, write_table

pytestmark = pytest.mark.usefixtures("without_plots")

MEMBERS = ["aspects_2", "linear_autoencoder"]
SMALL = ["--members", ",".join(MEMBERS), "--folds", 2, "--jobs", 1, "--noise", "none"]
N_ROWS, N_COLUMNS = 60, 14
FILES = {"model.npz", "data.npz", "suspects.csv", "members.csv", "reliability.csv", "summary.json", "plots"}


@pytest.fixture(scope="module")
def clean() -> np.ndarray:
    return simulate.aspect_bernoulli(N_ROWS, N_COLUMNS, 2, sharpness=0.1, random_state=0).X


@pytest.fixture(scope="module")
def seen(clean: np.ndarray) -> np.ndarray:
    return simulate.corrode(clean, 0.3, random_state=0).X


def written(path: Path, cells: np.ndarray, rows: list[str]) -> Path:
    return write_table(path, cells, [f"species{j}" for j in range(N_COLUMNS)], rows)


@pytest.fixture(scope="module")
def sites(tmp_path_factory: pytest.TempPathFactory, seen: np.ndarray) -> Path:
    return written(tmp_path_factory.mktemp("data") / "sites.csv", seen, [f"site{i}" for i in range(N_ROWS)])


@pytest.fixture(scope="module")
def visited(sites: Path) -> Path:
    """The same with a column of numbers of visits, 1 to 3."""
    lines = sites.read_text().splitlines()
    counts = ["visits", *(str(1 + i % 3) for i in range(N_ROWS))]
    path = sites.parent / "visited.csv"
    path.write_text("".join(f"{line},{n}\n" for line, n in zip(lines, counts, strict=True)))
    return path


@pytest.fixture(scope="module")
def pilot(sites: Path, clean: np.ndarray) -> Path:
    """The first 30 sites without losses."""
    return written(sites.parent / "pilot.csv", clean[:30], [f"site{i}" for i in range(30)])


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory, sites: Path) -> Path:
    """The folder of a fit; tests only read it."""
    out = tmp_path_factory.mktemp("ensemble") / "run"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(run_folder, "write_plots", lambda _, plots, *__: plots.mkdir())
        result = invoke("false-zeros", sites, *SMALL, "--out", out)
    assert result.exit_code == 0, result.output
    return out


@pytest.fixture(scope="module")
def model(sites: Path) -> FalseZeros:
    return FalseZeros(n_folds=2, members=MEMBERS, noise=None, random_state=0).fit(read_table(sites))


def table_of(result: Result) -> pd.DataFrame:
    assert result.exit_code == 0, result.output
    return pd.read_csv(io.StringIO(result.stdout))


# ---- the command -------------------------------------------------------------------------------------------------


def test_the_verdict_comes_first_then_the_list_then_what_the_probability_is(run: Run, sites, model):
    result = run("false-zeros", sites, *SMALL, "--top", 3)
    assert result.exit_code == 0, result.output
    lines = result.stdout.splitlines()
    assert lines[0].startswith("Held-out cells are predicted better")
    listed = [line.split() for line in lines if line.startswith("    ")]
    top = model.suspects(read_table(sites), top=3)
    assert [words[0] for words in listed] == [f"{score:.2f}" for score in top["score"]]
    assert [words[1] for words in listed] == [f"{p:.2f}" for p in top["P(1 | the rest)"]]
    assert [words[3].strip('",') for words in listed] == top["row"].tolist()
    assert "(score, P(1 | the rest), row, column)" in result.stdout
    assert lines[-1].startswith("P(1 | the rest): how likely the rest of the table makes a 1 there")
    assert "not the probability that it is present" in lines[-1]


def test_json_has_the_verdict_first_and_the_cells(run: Run, sites, model):
    result = run("false-zeros", sites, *SMALL, "--top", 2, "--json")
    said = json.loads(result.stdout)
    assert next(iter(said)) == "verdict"
    assert said["verdict"]["predicts"] is True
    assert said["verdict"]["n_cells"] == model.n_hidden_
    assert [cell["row"] for cell in said["suspects"]["cells"]] == model.suspects(read_table(sites), top=2)[
        "row"
    ].tolist()
    assert said["suspects"]["probability"] == "P(1 | the rest)"


def test_the_folder_is_that_of_a_fit(folder: Path, sites, model):
    summary = summary_of(folder)
    assert {file.name for file in folder.iterdir()} == {*FILES, "report.html"} == set(summary["files"])
    assert next(iter(summary)) == "verdict"
    assert summary["model"] == "false-zeros"
    found = pd.read_csv(folder / "suspects.csv")
    expected = model.suspects(read_table(sites), top=1000)
    assert_frame_equal(found.drop(columns="kind"), expected, check_dtype=False)
    assert set(found["kind"]) == {"absence"}
    members = pd.read_csv(folder / "members.csv")
    assert members["member"].tolist() == [*MEMBERS, "ensemble"]
    np.testing.assert_allclose(members["weight"][:2], model.member_weights_)
    assert pd.read_csv(folder / "reliability.csv")["count"].sum() == model.n_hidden_
    assert_frame_equal(load_model(folder / "model.npz").suspects(read_table(sites)), model.suspects(read_table(sites)))


def test_fit_through_the_registry_leaves_the_same(run: Run, sites, folder, tmp_path):
    result = run("fit", sites, "--model", "false-zeros", *SMALL, "--out", tmp_path / "run", "--no-report")
    assert result.exit_code == 0, result.output
    assert (tmp_path / "run" / "suspects.csv").read_text() == (folder / "suspects.csv").read_text()
    assert result.stdout.startswith("Held-out cells are predicted")
    assert summary_of(tmp_path / "run")["verdict"] == summary_of(folder)["verdict"]


def test_noise_alone_is_told_and_listed_all_the_same(run: Run, tmp_path):
    rng = np.random.default_rng(0)
    cells = (rng.random((N_ROWS, N_COLUMNS)) < rng.uniform(0.2, 0.6, N_COLUMNS)).astype(int)
    file = written(tmp_path / "noise.csv", cells, [f"site{i}" for i in range(N_ROWS)])
    result = run("false-zeros", file, *SMALL, "--top", 2, "--out", tmp_path / "run", "--no-report")
    lines = result.stdout.splitlines()
    assert lines[0].startswith("Only column totals are predictable; the model's ranking of zeros")
    assert len([line for line in lines if line.startswith("    ")]) == 2
    again = run("suspects", tmp_path / "run", file, "--top", 2)
    assert "note: by the verdict on the fit: Only column totals" in again.stderr


def test_too_few_cells_are_no_verdict(run: Run, tmp_path):
    (tmp_path / "small.csv").write_text("site,a,b\nx,0,1\ny,1,0\nz,1,1\n")
    result = run("false-zeros", tmp_path / "small.csv", "--members", ",".join(MEMBERS), "--jobs", 1)
    assert result.exit_code == 0, result.output
    assert result.stdout.startswith("This model can't be tested: 6 observed cells are too few")


def test_without_folds_nothing_is_hidden(run: Run, sites):
    result = run("false-zeros", sites, *SMALL, "--folds", "none", "--top", 2)
    assert result.exit_code == 0, result.output
    assert result.stdout.startswith("This model can't be tested: no cells were held out")
    assert "All members have the same weight" in result.stdout
    assert_refused(run("false-zeros", sites, "--folds", 1), "1 is not in the range x>=2", code=2)


def test_a_folder_keeps_the_whole_list_and_the_terminal_its_beginning(run: Run, sites, tmp_path):
    out = ["--out", tmp_path / "run", "--no-report"]
    result = run("false-zeros", sites, *SMALL, "--per-row", 3, *out)
    assert len([line for line in result.stdout.splitlines() if line.startswith("    ")]) == 20
    assert pd.read_csv(tmp_path / "run" / "suspects.csv").groupby("row").size().max() == 3
    assert len(pd.read_csv(tmp_path / "run" / "suspects.csv")) > 100


def test_per_row_lists_each_row(run: Run, sites):
    said = json.loads(run("false-zeros", sites, *SMALL, "--per-row", 1, "--json").stdout)
    rows = [cell["row"] for cell in said["suspects"]["cells"]]
    with_zeros = (read_table(sites).dense() == 0).any(axis=1).sum()
    assert len(rows) == len(set(rows)) == with_zeros
    both = json.loads(run("false-zeros", sites, *SMALL, "--per-row", 1, "--top", 3, "--json").stdout)
    assert [cell["row"] for cell in both["suspects"]["cells"]] == rows[:3]


def test_false_ones(run: Run, sites):
    result = run("false-zeros", sites, *SMALL, "--kind", "presence", "--top", 2)
    assert "(score, P(0 | the rest), row, column)" in result.stdout
    assert f"{read_table(sites).n_ones:,} ones of" in result.stdout


def test_marked_cells_are_settled_and_not_listed(run: Run, sites, folder, tmp_path):
    first = pd.read_csv(folder / "suspects.csv").iloc[0]
    marks = [{"row": first["row"], "column": first["column"], "mark": "confirm"}]
    saved = {"format": "latentbits-ratings", "version": 1, "model": "false-zeros", "marks": marks}
    (tmp_path / "ratings.json").write_text(json.dumps(saved))
    said = json.loads(run("false-zeros", sites, *SMALL, "--marks", tmp_path / "ratings.json", "--json").stdout)
    cells = [(cell["row"], cell["column"]) for cell in said["suspects"]["cells"]]
    assert (first["row"], first["column"]) not in cells
    assert said["data"]["marks"]["confirmed"] == 1
    assert said["data"]["ones"] == read_table(sites).n_ones + 1
    listed = table_of(run("suspects", folder, sites, "--marks", tmp_path / "ratings.json"))
    assert (first["row"], first["column"]) not in list(zip(listed["row"], listed["column"], strict=True))


# ---- what the probability is of ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "column", "arguments"),
    [
        (["--rate", 0.4], "P(present)", {"rate": 0.4}),
        (["--rate", 0.4, "--n-visits", 2], "P(present)", {"rate": 0.4, "n_visits": 2}),
        (["--rate", 0.4, "--later-visits", 3], "P(seen later)", {"rate": 0.4, "later_visits": 3}),
        (["--later-visits", 3], "P(1 | the rest)", {"later_visits": 3}),
    ],
)
def test_suspects_of_the_folder_with_a_rate_and_visits(run: Run, folder, sites, model, options, column, arguments):
    found = table_of(run("suspects", folder, sites, *options, "--top", 5))
    assert found.columns[3] == column
    assert_frame_equal(found, model.suspects(read_table(sites), top=5, **arguments), check_dtype=False)


def test_visits_of_rows_come_from_a_column(run: Run, folder, sites, visited, model):
    visits = [1 + i % 3 for i in range(N_ROWS)]
    found = table_of(run("suspects", folder, visited, "--rate", 0.4, "--later-visits", "visits", "--top", 5))
    expected = model.suspects(read_table(sites), top=5, rate=0.4, later_visits=visits)
    assert_frame_equal(found, expected, check_dtype=False)
    said = json.loads(run("false-zeros", visited, *SMALL, "--rate", 0.4, "--n-visits", "visits", "--json").stdout)
    assert said["data"]["columns"] == N_COLUMNS, "the column of visits is no data"
    assert said["suspects"]["asked"] == {"kind": "absence", "rate": 0.4, "n_visits": "visits"}


def test_a_pilot_is_matched_by_the_names_of_rows(run: Run, folder, sites, pilot, model):
    found = table_of(run("suspects", folder, sites, "--revisits", pilot, "--top", 5))
    frame = pd.read_csv(pilot, index_col=0)
    expected = model.suspects(pd.read_csv(sites, index_col=0), top=5, revisits=frame)
    assert found.columns[3] == "P(seen later)"
    assert_frame_equal(found, expected, check_dtype=False)


def test_a_pilot_of_all_rows_may_have_them_in_another_order(run: Run, folder, sites, clean, tmp_path):
    in_order = written(tmp_path / "in_order.csv", clean, [f"site{i}" for i in range(N_ROWS)])
    turned = written(tmp_path / "turned.csv", clean[::-1], [f"site{i}" for i in reversed(range(N_ROWS))])
    ours, theirs = (table_of(run("suspects", folder, sites, "--revisits", file)) for file in (in_order, turned))
    assert_frame_equal(ours, theirs)


def test_a_report_made_again_asks_the_same(run: Run, visited, tmp_path):
    out = tmp_path / "run"
    asked = ["--rate", 0.4, "--later-visits", "visits"]
    assert run("false-zeros", visited, *SMALL, *asked, "--out", out).exit_code == 0
    before = (out / "report.html").read_text()
    assert run("report", out).exit_code == 0
    lists = [text.split('"list":')[1].split('"votes"')[0] for text in (before, (out / "report.html").read_text())]
    assert lists[0] == lists[1]
    assert '"probability":"P(seen later)"' in before


def test_a_report_made_again_says_what_it_lacks(run: Run, sites, pilot, tmp_path):
    out = tmp_path / "run"
    assert run("false-zeros", sites, *SMALL, "--revisits", pilot, "--out", out, "--no-report").exit_code == 0
    again = run("report", out)
    assert "the probability is P(1 | the rest) again" in again.stderr
    assert '"probability":"P(1 | the rest)"' in (out / "report.html").read_text()


# ---- other commands on the folder ----------------------------------------------------------------------------------


def test_explain_says_what_speaks_for_a_cell(run: Run, folder, sites, model):
    found = table_of(run("explain", folder, sites, "--cell", "site3", "species5", "--cell", "site4", "species1"))
    expected = model.explain(read_table(sites), "site3", "species5")
    first = found[(found["row"] == "site3") & (found["column"] == "species5")]
    assert first["name"].tolist() == expected["name"].tolist()
    np.testing.assert_allclose(first["says"], expected["says"].astype(float))
    assert set(found["row"]) == {"site3", "site4"}
    whole = run("explain", folder, sites, "--row", "site3")
    assert_refused(whole, "false-zeros explains single cells; give --cell ROW COLUMN", code=2)


def test_explain_counts_what_has_no_name(run: Run, seen, tmp_path):
    np.save(tmp_path / "cells.npy", seen)
    assert run("false-zeros", tmp_path / "cells.npy", *SMALL, "--out", tmp_path / "run").exit_code == 0
    found = table_of(run("explain", tmp_path / "run", tmp_path / "cells.npy", "--cell", "4", "2"))
    assert set(found["row"]) == {"row 4"}
    listed = found[found["what"].isin(["row", "column"])]
    assert listed["name"].str.fullmatch(r"(row|column) \d+").all()


@pytest.mark.parametrize(
    ("command", "options", "reason"),
    [
        (
            "denoise",
            [],
            "FalseZeros ranks cells and changes none; set those that you have looked up by --marks, or fit",
        ),
        ("suspects", ["--ratings", "1,0"], "FalseZeros has no components to rate; leave --ratings out"),
        ("report", ["--ratings", "1,0"], "FalseZeros has no components to rate"),
        ("suspects", ["--later-visits", "effort"], 'sites.csv: there is no column "effort"'),
        ("suspects", ["--revisits", "nowhere.csv"], "no such file"),
        ("suspects", ["--rate", "0.4", "--revisits", "PILOT"], "rate and revisits both fix the scale"),
    ],
)
def test_what_it_cannot_do_is_refused_with_a_way_out(run: Run, folder, sites, pilot, command, options, reason):
    options = [pilot if option == "PILOT" else option for option in options]
    file = [] if command == "report" else [sites]
    assert_refused(run(command, folder, *file, *options), reason)


@pytest.mark.parametrize("column", ["visits"])
def test_visits_that_are_no_numbers(run: Run, visited, tmp_path, column):
    (tmp_path / "bad.csv").write_text(
        visited.read_text().replace("\nsite4,", "\nsite4,", 1).replace(",2\n", ",two\n", 1)
    )
    refused = run("false-zeros", tmp_path / "bad.csv", *SMALL, "--rate", 0.4, "--later-visits", column)
    assert_refused(refused, '--later-visits: row 2 has "two" in the column "visits", which is no number')


def test_rates_say_nothing_about_ones(run: Run, folder, sites):
    refused = run("suspects", folder, sites, "--kind", "presence", "--rate", 0.4)
    assert_refused(refused, "--rate is about zeros and what a visit misses", code=2)


def test_a_report_on_other_rows(run: Run, folder, sites, tmp_path):
    lines = sites.read_text().splitlines()
    (tmp_path / "others.csv").write_text("\n".join(lines[:1] + lines[20:40]) + "\n")
    result = run("report", folder, tmp_path / "others.csv", "--out", tmp_path / "others.html")
    assert result.exit_code == 0, result.output
    text = (tmp_path / "others.html").read_text()
    assert '"fitted":false' in text
    assert "this report is about other rows" in text


def test_a_report_that_begins_with_marks(run: Run, folder, tmp_path):
    first = pd.read_csv(folder / "suspects.csv").iloc[0]
    marks = [{"row": first["row"], "column": first["column"], "mark": "unsure"}]
    (tmp_path / "ratings.json").write_text(json.dumps({"format": "latentbits-ratings", "version": 1, "marks": marks}))
    result = run("report", folder, "--marks", tmp_path / "ratings.json", "--out", tmp_path / "marked.html")
    assert result.exit_code == 0, result.output
    assert '"mark":"unsure"' in (tmp_path / "marked.html").read_text()


def test_a_page_of_components_can_begin_with_marks_too(run: Run, fitted, tmp_path):
    marks = [{"row": "site1", "column": "species1", "mark": "reject"}]
    (tmp_path / "ratings.json").write_text(json.dumps({"format": "latentbits-ratings", "version": 1, "marks": marks}))
    assert run("report", fitted, "--marks", tmp_path / "ratings.json", "--out", tmp_path / "page.html").exit_code == 0
    assert '"mark":"reject"' in (tmp_path / "page.html").read_text()


def test_options_of_an_ensemble_are_refused_for_other_models(run: Run, fitted, table):
    assert_refused(run("suspects", fitted, table, "--rate", 0.3), "--rate is asked of a fit of false-zeros", code=2)


@pytest.mark.parametrize("command", ["fit", "select"])
def test_there_is_no_number_of_components(run: Run, sites, tmp_path, command):
    out = ["--out", tmp_path / "out"]
    result = run(command, sites, "--model", "false-zeros", "--components", "2:3", *out)
    assert result.exit_code == 2
    assert "false-zeros" in result.stderr
    assert not (tmp_path / "out").exists()


def test_members_that_do_not_exist_are_refused(run: Run, sites):
    assert_refused(run("false-zeros", sites, "--members", "oracle", "--folds", 2), '"oracle" is none of them')


def test_folds_of_a_range_of_components_are_still_understood(run: Run, sites, tmp_path):
    wrong = run("fit", sites, "--components", 2, "--folds", 3, "--out", tmp_path / "run")
    assert_refused(wrong, "--folds chooses among several --components", code=2)


def test_noise_none_reaches_the_ensemble(folder: Path):
    assert summary_of(folder)["parameters"]["noise"] is None


def test_it_is_compared_with_others(run: Run, sites, monkeypatch):
    few = tuple(member for member in stacking.MEMBERS if member.name in MEMBERS)
    monkeypatch.setattr(stacking, "MEMBERS", few)  # all six take half a minute
    result = run("compare", sites, "--models", "independent,false-zeros", "--criterion", "cells", "--folds", 2)
    assert result.exit_code == 0, result.output
    assert "false-zeros" in result.stdout


def test_a_probability_that_the_fit_was_asked_for_is_noted(run: Run, sites, tmp_path):
    assert run("false-zeros", sites, *SMALL, "--rate", 0.4, "--out", tmp_path / "run").exit_code == 0
    noted = "note: the fit's own list was asked for with --rate 0.4; give it here as well"
    assert noted in run("suspects", tmp_path / "run", sites, "--top", 2).stderr
    assert noted not in run("suspects", tmp_path / "run", sites, "--top", 2, "--rate", 0.4).stderr


def test_a_report_from_python_takes_the_question(sites, tmp_path):
    data = read_table(sites)
    model = FalseZeros(2, members=MEMBERS, noise=None, random_state=0).fit(data)
    model.report(data, tmp_path / "page.html", rate=0.4)
    assert "P(present)" in (tmp_path / "page.html").read_text()
    with pytest.raises(TypeError, match="colour"):
        model.report(data, tmp_path / "page.html", colour="red")
