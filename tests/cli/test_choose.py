"""`latentbits select` and `compare`."""

from __future__ import annotations

import json
from pathlib import Path

import pandas as pd
import pytest

from latentbits import AspectBernoulli, read_table, select_order
from tests.cli.conftest import Run

FAST = ["--restarts", 2, "--folds", 3, "--jobs", 1]


def test_select_prints_a_table_and_a_choice(run: Run, table: Path) -> None:
    result = run("select", table, "--components", "2:3", *FAST)
    assert result.exit_code == 0, result.output
    read, *lines = result.stdout.splitlines()
    assert read.startswith("Read 60 rows x 12 columns (")
    assert 'the column "site" names the rows' in read
    assert lines[0].split()[:2] == ["n_components", "cells"]
    assert [line.split()[0] for line in lines[1:4]] == ["1", "2", "3"]
    assert lines[4].startswith("cells: ")
    assert lines[5].startswith("aic: ")


def test_select_gives_pythons_numbers(run: Run, table: Path, tmp_path: Path) -> None:
    out = tmp_path / "chosen"
    result = run("select", table, "--components", "2,3", "--criterion", "cells,aic", *FAST, "--seed", 4, "--out", out)
    assert result.exit_code == 0, result.output
    written = pd.read_csv(out / "selection.csv")
    found = select_order(
        AspectBernoulli(n_init=2),
        read_table(table),
        [2, 3],
        criterion=["cells", "aic"],
        n_folds=3,
        random_state=4,
    )
    shown = ["n_components", "cells", "cells_se", "aic", "stability"]
    pd.testing.assert_frame_equal(written[shown], found.table[shown], rtol=1e-8)
    assert (out / "plots" / "selection.png").stat().st_size > 10_000
    assert pd.read_csv(out / "folds.csv").columns.tolist() == ["criterion", "n_components", "fold", "score"]
    summary = json.loads((out / "summary.json").read_text())
    assert summary["choices"][0]["best"] == found.best_order
    assert set(summary["files"]) == {entry.name for entry in out.iterdir()}


def test_criteria_that_differ_are_explained(run: Run, table: Path) -> None:
    arguments = ["--components", "2:3", *FAST]
    both = run("select", table, *arguments, "--criterion", "aic,bic")
    best = {line.split()[1] for line in both.stdout.splitlines() if line.startswith(("aic: ", "bic: "))}
    assert len(best) == 2, "otherwise this test shows nothing"
    assert "They differ because" in both.stdout
    assert "They differ" not in run("select", table, *arguments, "--criterion", "aic").stdout


def test_a_model_without_aic_is_judged_by_held_out_cells(run: Run, table: Path) -> None:
    result = run("select", table, "--model", "nmf", "--components", "2", *FAST)
    assert result.exit_code == 0, result.output
    assert result.stdout.splitlines()[-1].startswith("cells: ")


def test_an_earlier_output_is_replaced_only_when_asked_to(run: Run, table: Path, tmp_path: Path) -> None:
    out = tmp_path / "chosen"
    arguments = ["select", table, "--components", "2", "--criterion", "aic", *FAST, "--out", out, "--quiet"]
    assert run(*arguments).exit_code == 0
    refused = run(*arguments)
    assert refused.exit_code == 1
    assert "exists already" in refused.stderr
    assert run(*arguments, "--force").exit_code == 0


def test_quiet_prints_nothing(run: Run, table: Path) -> None:
    result = run("select", table, "--components", "2", "--criterion", "aic", *FAST, "--quiet")
    assert result.output == ""


def test_compare_has_the_baseline_and_names_the_best(run: Run, table: Path, tmp_path: Path) -> None:
    out = tmp_path / "compared"
    models = "aspect-bernoulli:3,bernoulli-mixture"
    result = run("compare", table, "--models", models, "--components", 2, *FAST, "--out", out)
    assert result.exit_code == 0, result.output
    written = pd.read_csv(out / "comparison.csv")
    assert set(written["model"]) == {"aspect-bernoulli:3", "bernoulli-mixture:2", "independent columns"}
    assert written["cells"].is_monotonic_decreasing
    assert f"Best by cells: {written['model'][0]}" in result.stdout
    assert "Best by cv: " in result.stdout
    assert (out / "plots" / "comparison.png").is_file()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["select", "FILE", "--components", "2-8"], '"2-8" is no number of components'),
        (["select", "FILE", "--components", "8:2"], "ends before it begins"),
        (["select", "FILE", "--components", "0:2"], "begins below 1"),
        (["select", "FILE"], "aspect-bernoulli: give a range, such as 1:6, for --components"),
        (["select", "FILE", "--components", "2", "--criterion", "dic"], '"dic" is unknown; use any of aic'),
        (["select", "FILE", "--components", "2", "--model", "kmeans"], "'kmeans' is not one of"),
        (["select", "FILE", "--components", "2", "--gamma", "1"], "--gamma is not an option of aspect-bernoulli"),
        (["compare", "FILE", "--models", "kmeans"], 'there is no model "kmeans"'),
        (["compare", "FILE", "--models", "nmf:x"], "give a number of components behind the colon"),
        (["compare", "FILE", "--criterion", "aic"], '"aic" is unknown; use any of cells, cv'),
    ],
)
def test_wrong_usage_is_exit_code_2(run: Run, table: Path, arguments: list[str], message: str) -> None:
    result = run(*[table if word == "FILE" else word for word in arguments])
    assert result.exit_code == 2
    assert message in " ".join(result.stderr.split())


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["select", "FILE", "--components", "2", "--criterion", "evidence"], "AspectBernoulli has no evidence"),
        (["select", "FILE", "--components", "2", "--criterion", "cv", "--folds", "61"], "number of rows, 60"),
        (["select", "nothing.csv", "--components", "2"], "nothing.csv"),
    ],
)
def test_refusals_are_one_line_with_exit_code_1(run: Run, table: Path, arguments: list[str], message: str) -> None:
    result = run(*[table if word == "FILE" else word for word in arguments])
    assert result.exit_code == 1
    assert result.stderr.startswith("error: ")
    assert message in result.stderr
    assert result.stderr.count("\n") == 1


def test_fit_leaves_what_a_model_without_phantoms_can_say(run: Run, table: Path, tmp_path: Path) -> None:
    out = tmp_path / "run"
    result = run("fit", table, "--model", "bernoulli-mixture", "--components", 2, "--restarts", 2, "--out", out)
    assert result.exit_code == 0, result.output
    assert {entry.name for entry in out.iterdir()} == {
        "data.npz",
        "model.npz",
        "components.csv",
        "weights.csv",
        "reconstruction.csv",
        "restarts.csv",
        "report.html",
        "summary.json",
        "plots",
    }
    refused = run("suspects", out, table)
    assert refused.exit_code == 1
    assert "BernoulliMixture has no noise components" in refused.stderr
