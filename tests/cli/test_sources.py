"""`latentbits select` with segments, `tetrachoric`, and what a fit of binary ICA says about itself."""

import json

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

from latentbits import simulate
from latentbits.cli.main import program


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    truth = simulate.binary_ica(150, 6, 2, 6, random_state=0)
    table = pd.DataFrame(truth.X, columns=["tea", "milk", "wine", "beer", "rum", "gin"])
    table["year"] = 1990 + truth.segments
    path = tmp_path_factory.mktemp("sources") / "series.csv"
    table.to_csv(path, index=False)
    return path


def run(*arguments):
    result = CliRunner().invoke(program, [str(argument) for argument in arguments])
    assert result.exit_code == 0, result.output
    return result


def test_select_with_segments(file):
    result = run(
        *("select", file, "--model", "binary-ica", "--segments", "year", "--components", "1:2"),
        *("--folds", "2", "--restarts", "1", "--seed", "0", "--json"),
    )
    answer = json.loads(result.stdout)
    assert answer["best"] == 2
    assert [line["n_components"] for line in answer["selection"]] == [0, 1, 2]


def test_segments_of_other_models_are_refused(file):
    result = CliRunner().invoke(program, ["select", str(file), "--components", "2", "--segments", "year"])
    assert result.exit_code == 2
    assert "--segments is not an option of aspect-bernoulli" in result.output


def test_tetrachoric_gives_a_labelled_table(file, tmp_path):
    run("tetrachoric", file, "--exclude", "year", "--out", tmp_path / "c.csv")
    table = pd.read_csv(tmp_path / "c.csv", index_col="column")
    assert table.index.tolist() == table.columns.tolist() == ["tea", "milk", "wine", "beer", "rum", "gin"]
    assert table.loc["tea", "milk"] == table.loc["milk", "tea"]
    run("tetrachoric", file, "--segments", "year", "--pairs", "--out", tmp_path / "p.csv")
    pairs = pd.read_csv(tmp_path / "p.csv")
    assert len(pairs) == 6 * 15
    assert pairs["segment"].unique().tolist() == list(range(1990, 1996))


def test_a_fit_says_whether_it_fits_and_how_sure_it_is(file, tmp_path):
    out = tmp_path / "run"
    result = run(
        *("fit", file, "--model", "binary-ica", "--segments", "year", "--components", "2", "--restarts", "1"),
        *("--seed", "0", "--verbose", "--out", out),
    )
    assert "The model fits" in result.stdout
    assert "of 12 entries of the mixing" in result.stdout
    summary = json.loads((out / "summary.json").read_text())
    assert 0.6 < summary["fit"]["rms_z"] < 1.2
    assert pd.read_csv(out / "segments.csv")["segment"].tolist() == list(range(1990, 1996)), "1990, not 1990.0"
    intervals = pd.read_csv(out / "intervals.csv")
    assert (intervals["low"] < intervals["high"]).all()
    assert pd.read_csv(out / "pairs.csv")["z"].abs().is_monotonic_decreasing


@pytest.fixture(scope="module")
def items(tmp_path_factory):
    rng = np.random.default_rng(1)
    F = rng.standard_normal((500, 2))
    L = np.kron(np.eye(2), np.full((10, 1), 0.65))
    X = (F @ L.T + np.sqrt(1 - 0.65**2) * rng.standard_normal((500, 20)) > rng.uniform(-0.8, 0.8, 20)).astype(object)
    X[rng.random(X.shape) < 0.05] = ""
    table = pd.DataFrame(X, columns=[f"item{j + 1}" for j in range(20)])
    path = tmp_path_factory.mktemp("items") / "items.csv"
    table.replace({True: "yes", False: "no"}).to_csv(path, index=False)
    return path


def test_factors_of_items_with_gaps(items, tmp_path):
    result = run("factors", items, "--out", tmp_path / "out")
    first, one, other, fit, *between, where = result.stdout.strip().split("\n")
    assert first == "2 factors behind 20 columns."
    assert {one.count("item"), other.count("item")} == {10}
    assert fit.startswith("RMSEA 0.0")
    assert "report.html" in where
    assert between[0] == "Correlations of the factors:"
    factors = pd.read_csv(tmp_path / "out" / "factor_correlations.csv", index_col="factor")
    r = factors.loc["factor_2", "factor_1"]
    assert abs(r) < 0.3, "drawn without any"
    assert [line.split() for line in between[1:]] == [
        ["factor_1", "factor_2"],
        ["factor_1", "1.00", f"{r:.2f}"],
        ["factor_2", f"{r:.2f}", "1.00"],
    ]
    assert len({*map(len, between[1:])}) == 1, "aligned"
    summary = json.loads((tmp_path / "out" / "summary.json").read_text())
    assert summary["factor_correlations"] == [pytest.approx(row) for row in factors.to_numpy().tolist()]
    loadings = pd.read_csv(tmp_path / "out" / "loadings.csv")
    assert loadings.columns.tolist() == ["column", "factor_1", "factor_2", "uniqueness"]
    assert loadings["column"].tolist() == [f"item{j + 1}" for j in range(20)]
    scores = pd.read_csv(tmp_path / "out" / "scores.csv")
    assert scores.columns.tolist() == ["row", "factor_1", "factor_2", "se_factor_1", "se_factor_2"]
    page = (tmp_path / "out" / "report.html").read_text()
    assert "2 factors behind 20 columns." in page
    assert page.count("data:image/svg") == 2
    assert "correlations of the factors" in page
    assert "2 eigenvalues of the correlations (" in page
    assert sorted(path.name for path in (tmp_path / "out" / "plots").iterdir()) == ["loadings.png", "scree.png"]
    for command in ("methods", "report", "suspects"):
        refused = CliRunner().invoke(program, [command, str(tmp_path / "out")])
        assert refused.exit_code == 1
        assert "out holds tables and report.html but no model.npz, so nothing more can be asked of it" in refused.stderr
    run("factors", items, "--factors", "1", "--out", tmp_path / "out", "--force")
    assert not (tmp_path / "out" / "factor_correlations.csv").exists()
    assert json.loads((tmp_path / "out" / "summary.json").read_text())["n_factors"] == 1


def test_coin_flips_have_no_factor(tmp_path):
    coins = pd.DataFrame(np.random.default_rng(0).integers(0, 2, (400, 8)), columns=list("abcdefgh"))
    coins.to_csv(tmp_path / "coins.csv", index=False)
    assert run("factors", tmp_path / "coins.csv").stdout.startswith("No factor: 8 columns")
    answer = json.loads(run("factors", tmp_path / "coins.csv", "--json").stdout)
    assert (answer["n_factors"], answer["fit"]["df"]) == (0, 28)
