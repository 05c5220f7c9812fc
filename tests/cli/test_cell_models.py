"""Models without weights of rows on the command line."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from latentbits import load_model
from tests.cli.conftest import Run

each_model = pytest.mark.parametrize("model", ["ising", "linear-autoencoder"])


@each_model
def test_fit_leaves_a_folder(run: Run, table: Path, tmp_path: Path, model: str) -> None:
    out = tmp_path / "run"
    result = run("fit", table, "--model", model, "--ridge", 5, "--out", out)
    assert result.exit_code == 0, result.output
    assert "66 pairs of columns, each with a coupling, fitted to 60 rows x 12 columns" in result.stdout
    assert "There are no restarts: this model has one best answer, and it was found." in result.stdout
    names = {entry.name for entry in out.iterdir()}
    assert names == {
        "model.npz",
        "data.npz",
        "couplings.csv",
        "reconstruction.csv",
        "summary.json",
        "plots",
        "report.html",
    }
    fitted, summary = load_model(out / "model.npz"), json.loads((out / "summary.json").read_text())
    assert fitted.ridge == summary["parameters"]["ridge"] == 5
    assert summary["data"]["fitted"]
    pairs = pd.read_csv(out / "couplings.csv")
    sizes = pairs.filter(like="coupling").abs().max(axis=1)
    assert sizes.is_monotonic_decreasing
    assert sizes[0] == pytest.approx(np.abs(fitted.couplings_).max(), rel=1e-6)
    assert ("coupling_back" in pairs) == (model == "linear-autoencoder")
    assert {entry.name for entry in (out / "plots").iterdir()} == {"couplings.png"}
    assert summary["couplings"]["strongest"][0]["column"] == pairs["column"][0]
    assert run("report", out).exit_code == 0


def test_the_verdict_is_the_same_every_time(run: Run, table: Path, tmp_path: Path) -> None:
    for name in ("a", "b"):
        assert run("fit", table, "--model", "ising", "--no-report", "--out", tmp_path / name).exit_code == 0
    found = [json.loads((tmp_path / name / "summary.json").read_text())["verdict"] for name in ("a", "b")]
    assert found[0] == found[1]


def test_a_fit_that_ran_out_says_so(run: Run, table: Path, tmp_path: Path) -> None:
    short = ["--model", "ising", "--max-iter", 2, "--tol", 0, "--no-verdict", "--no-report"]
    result = run("fit", table, *short, "--out", tmp_path / "run")
    assert result.exit_code == 0, result.output
    assert "this model has one best answer, which was not reached; raise --max-iter." in result.stdout
    assert not json.loads((tmp_path / "run" / "summary.json").read_text())["converged"]


def test_a_report_on_other_rows_says_so(run: Run, table: Path, tmp_path: Path) -> None:
    assert run("fit", table, "--model", "ising", "--no-report", "--out", tmp_path / "run").exit_code == 0
    lines = table.read_text().splitlines()
    (tmp_path / "few.csv").write_text("\n".join(lines[:20]) + "\n")
    result = run("report", tmp_path / "run", tmp_path / "few.csv", "--out", tmp_path / "few.html")
    assert result.exit_code == 0, result.output
    assert "this report is about other rows" in (tmp_path / "few.html").read_text(encoding="utf-8")


@each_model
def test_select_says_why_not(run: Run, table: Path, model: str) -> None:
    result = run("select", table, "--model", model, "--components", "2:3")
    assert result.exit_code == 2
    assert f"{model} has no number of components to choose; fit it" in " ".join(result.output.split())


def test_compare_on_cells(run: Run, table: Path) -> None:
    fast = ["--models", "ising,linear-autoencoder", "--folds", 2, "--json"]
    result = run("compare", table, *fast, "--criterion", "cells")
    assert result.exit_code == 0, result.output
    found = {line["model"]: line for line in json.loads(result.stdout)["comparison"]}
    assert found.keys() == {"ising", "linear-autoencoder", "independent columns"}
    assert found["ising"]["n_components"] is None
    result = run("compare", table, *fast)
    assert result.exit_code == 1
    assert "IsingModel has no cv, as it predicts cells from the rest of their row" in result.stderr
