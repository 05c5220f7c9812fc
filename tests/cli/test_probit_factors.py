"""`latentbits fit --model probit-factors`."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from latentbits import load_model, simulate
from tests.cli.conftest import Run


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Path:
    truth = simulate.probit_factors(60, 10, 1, random_state=0)
    path = tmp_path_factory.mktemp("table") / "table.csv"
    pd.DataFrame(truth.X).add_prefix("c").to_csv(path, index_label="row")
    return path


def test_a_run_has_loadings_weights_and_says_whether_the_chains_agree(run: Run, table: Path, tmp_path: Path) -> None:
    out = tmp_path / "run"
    sizes = ["--restarts", 2, "--burn", 200, "--samples", 100, "--thin", 20]
    result = run("fit", table, "--model", "probit-factors", "--components", 2, *sizes, "--out", out)
    assert result.exit_code == 0, result.output
    said = json.loads((out / "summary.json").read_text())["sampling"]
    assert said["chains"] == 2
    assert said["samples"] == 200
    assert said["agree"]
    assert "200 posterior samples of 2 chains, which agree" in result.stdout
    model = load_model(out / "model.npz")
    np.testing.assert_allclose(pd.read_csv(out / "components.csv").iloc[:, 1:], model.components_, atol=1e-6)
    assert model.get_params()["thin"] == 20


def test_compared(run: Run, table: Path) -> None:
    models = "probit-factors:1,bernoulli-mixture:2"
    result = run("compare", table, "--models", models, "--folds", 2, "--restarts", 1, "--criterion", "cells")
    assert result.exit_code == 0, result.output
    assert "probit-factors" in result.stdout
