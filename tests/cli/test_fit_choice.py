"""`latentbits fit` without a model: what it chooses, prints and leaves."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner
from numpy.testing import assert_array_equal

from latentbits import (
    BernoulliMixture,
    BetaICA,
    IndependentBernoulli,
    RowColumnBernoulli,
    choose,
    load_model,
    read_table,
)
from latentbits.cli.main import program

from .conftest import Run, assert_refused, invoke, write_table

QUICK = ["--restarts", 2, "--jobs", 1, "--folds", 2]


@pytest.fixture(scope="module")
def chosen(tmp_path_factory: pytest.TempPathFactory, table: Path) -> tuple[Path, str]:
    """The folder, and what was printed."""
    out = tmp_path_factory.mktemp("chosen") / "run"
    result = invoke("fit", table, *QUICK, "--seed", 4, "--out", out)
    assert result.exit_code == 0, result.output + repr(result.exception)
    return out, result.stdout


def test_it_needs_neither_model_nor_number(chosen: tuple[Path, str], table: Path) -> None:
    out, printed = chosen
    written = pd.read_csv(out / "comparison.csv")
    assert {name.partition("(")[0] for name in written["model"]} == {
        *("IndependentBernoulli", "RowColumnBernoulli", "BernoulliMixture", "BetaICA")
    }
    assert sum("predicts held-out cells be" in line for line in printed.splitlines()) == 1
    assert json.loads((out / "summary.json").read_text())["seconds"].keys() >= {"select"}
    models = [IndependentBernoulli(), RowColumnBernoulli()]
    models += [kind(n_init=2, random_state=4) for kind in (BernoulliMixture, BetaICA)]
    found = choose(read_table(table), models, n_folds=2, random_state=4)
    assert str(found) in printed
    assert_array_equal(load_model(out / "model.npz").components_, found.model.components_)


def test_the_report_shows_the_comparison(chosen: tuple[Path, str]) -> None:
    out, _ = chosen
    assert (out / "plots" / "comparison.png").read_bytes().startswith(b"\x89PNG")
    page = (out / "report.html").read_text()
    assert ">Comparison</" in page
    assert "predicts held-out cells be" in page


def test_the_folder_keeps_why_it_was_chosen(chosen: tuple[Path, str], tmp_path: Path) -> None:
    out = shutil.copytree(chosen[0], tmp_path / "copy")
    (why,) = (line for line in chosen[1].splitlines() if "predicts held-out cells be" in line)
    first = (out / "report.html").read_text()
    (out / "report.html").unlink()
    assert "predicts held-out cells be" in why
    result = invoke("report", out)
    assert result.exit_code == 0, result.output
    again = (out / "report.html").read_text()
    for text in (why.strip(), ">Comparison</"):
        assert text in first
        assert text in again
    assert "among 12 models" in invoke("methods", out).stdout
    (out / "folds.csv").write_text("criterion,model,score")
    assert_refused(invoke("report", out, "--force"), "folds.csv is damaged")


@pytest.mark.usefixtures("without_plots")
def test_where_totals_are_chosen_nothing_speaks_of_components(run: Run, tmp_path: Path) -> None:
    X = np.random.default_rng(0).integers(0, 2, (60, 8))
    coin = write_table(tmp_path / "coin.csv", X, [f"q{j}" for j in range(8)])
    judged = run("fit", coin, *QUICK, "--no-report", "--seed", 0, "--out", tmp_path / "judged")
    assert "Only column totals are predictable.\n" in judged.stdout, judged.output
    assert_refused(run("suspects", tmp_path / "judged"), "the verdict on the fit found nothing")
    untested = ["--no-verdict", "--no-report", "--seed", "0", "--out", str(tmp_path / "untested")]
    brief = CliRunner().invoke(program, ["fit", str(coin), *map(str, QUICK), *untested])
    assert brief.stdout.split("None of 12 models")[0].strip() == "NONE", brief.output


@pytest.mark.usefixtures("without_plots")
def test_a_model_without_a_number_tries_several(run: Run, table: Path, tmp_path: Path) -> None:
    options = ["--model", "bernoulli-mixture", *QUICK, "--no-report", "--no-verdict", "--json"]
    result = run("fit", table, *options, "--out", tmp_path / "run")
    assert result.exit_code == 0, result.output
    assert json.loads(result.stdout)["selection"]["tried"] == [1, 2, 3, 4, 5, 6]


@pytest.mark.usefixtures("without_plots")
def test_an_option_of_one_family_leaves_the_others_out(run: Run, table: Path, tmp_path: Path) -> None:
    options = ["--components", "2,3", "--gamma", 0.5, *QUICK, "--no-report", "--no-verdict"]
    result = run("fit", table, *options, "--out", tmp_path / "run")
    assert result.exit_code == 0, result.output
    models = pd.read_csv(tmp_path / "run" / "comparison.csv")["model"]
    assert set(models) == {"IndependentBernoulli", "RowColumnBernoulli", "BetaICA(2)", "BetaICA(3)"}


def test_what_is_known_of_the_rows_is_said_not_to_be_used(run: Run, tmp_path: Path) -> None:
    cells = pd.DataFrame(np.random.default_rng(0).integers(0, 2, (30, 4)), columns=list("abcd"))
    cells.assign(height=range(30)).to_csv(tmp_path / "sites.csv", index=False)
    asked = [tmp_path / "sites.csv", "--covariates", "height", "--components", "1:2", "--no-verdict", *QUICK]
    chosen = run("fit", *asked, "--out", tmp_path / "chosen")
    assert chosen.exit_code == 0, chosen.stderr
    told = "note: height is kept for maps and associations; the models compared don't use it: false-zeros and --model "
    assert chosen.stderr.count(told) == 1
    named = run("fit", *asked, "--model", "bernoulli-mixture", "--out", tmp_path / "named")
    assert named.exit_code == 0, named.stderr
    assert told not in named.stderr
