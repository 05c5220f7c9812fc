"""The model without components or restarts on the command line."""

from __future__ import annotations

import json
from pathlib import Path

import pandas as pd
import pytest

from tests.cli.conftest import Run


def test_fit_leaves_a_folder_without_restarts(run: Run, table: Path, tmp_path: Path) -> None:
    out = tmp_path / "run"
    result = run("fit", table, "--model", "independent", "--smoothing", 0.5, "--out", out)
    assert result.exit_code == 0, result.output
    assert "There are no restarts: this model has one best answer, and it was found." in result.output
    summary = json.loads((out / "summary.json").read_text())
    assert summary["parameters"] == {"smoothing": 0.5, "binarize": None}
    assert not {"restarts", "seed", "iterations", "converged"} & summary.keys()
    assert not (out / "restarts.csv").exists()
    assert len(pd.read_csv(out / "components.csv")) == 1
    assert run("report", out).exit_code == 0


@pytest.mark.parametrize("option", ["--restarts", "--components", "--seed", "--jobs", "--max-iter"])
def test_options_that_it_does_not_have_are_refused(run: Run, table: Path, tmp_path: Path, option: str) -> None:
    result = run("fit", table, "--model", "independent", option, 1, "--out", tmp_path / "run")
    assert result.exit_code == 2
    assert f"{option} is not an option of independent" in result.output


def test_compare_takes_it_without_a_number(run: Run, table: Path) -> None:
    fast = ["--folds", 2, "--restarts", 1]
    result = run("compare", table, "--models", "independent,bernoulli-mixture:1", *fast, "--json")
    assert result.exit_code == 0, result.output
    found = {line["model"]: line for line in json.loads(result.stdout)["comparison"]}
    assert found.keys() == {"independent", "bernoulli-mixture:1", "independent columns"}
    assert {type(line["n_components"]) for line in found.values()} == {int}
    for name in ("bernoulli-mixture:1", "independent columns"):
        assert found[name]["cells"] == pytest.approx(found["independent"]["cells"], rel=1e-6)
    result = run("compare", table, "--models", "independent:3", *fast)
    assert result.exit_code == 2
    assert "independent has no number of components; leave it out" in result.output


def test_select_does_not_offer_it(run: Run, table: Path) -> None:
    result = run("select", table, "--model", "independent", "--components", "2:3")
    assert result.exit_code == 2
    assert "independent has no number of components to choose; fit it" in " ".join(result.output.split())


def test_a_word_of_another_model_is_refused(run: Run, table: Path, tmp_path: Path) -> None:
    asked = ["--model", "beta-ica", "--inference", "byy", "--components", 2]
    result = run("fit", table, *asked, "--out", tmp_path / "run")
    assert result.exit_code == 2
    assert 'beta-ica: inference=\'byy\' is unknown; use "vb", "em" or "gibbs"' in result.output
