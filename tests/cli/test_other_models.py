"""`latentbits fit` with the models that have no components of 0-1 tables: binary ICA, binary factors, ICA mixtures."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from latentbits import BinaryFactorAnalysis, load_model, simulate
from tests.cli.conftest import Run

ALWAYS = {"report.html", "data.npz", "model.npz", "restarts.csv", "summary.json", "plots"}


@pytest.fixture(scope="module")
def votes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Yes-no votes with a label for each, in sessions whose names don't sort by number."""
    truth = simulate.binary_ica(60, 6, 2, 12, random_state=0)
    frame = pd.DataFrame(truth.X, columns=[f"country{j}" for j in range(6)])
    frame.insert(0, "call", [f"call{i}" for i in range(len(frame))])
    frame.insert(1, "session", np.asarray(truth.segments) + 5)
    path = tmp_path_factory.mktemp("votes") / "votes.csv"
    frame.to_csv(path, index=False)
    return path


@pytest.fixture(scope="module")
def numbers(tmp_path_factory: pytest.TempPathFactory) -> Path:
    truth = simulate.binary_factors(120, 6, 2, noise=0.2, random_state=0)
    frame = pd.DataFrame(truth.X, columns=list("abcdef"), index=[f"r{i}" for i in range(120)])
    path = tmp_path_factory.mktemp("numbers") / "numbers.csv"
    frame.to_csv(path, index_label="row")
    return path


def files(folder: Path) -> set[str]:
    return {entry.name for entry in folder.iterdir()}


def test_binary_ica_by_segments(run: Run, votes: Path, tmp_path: Path) -> None:
    out = tmp_path / "run"
    arguments = ["--model", "binary-ica", "--components", 2, "--segments", "session", "--restarts", 2]
    result = run("fit", votes, *arguments, "--out", out)
    assert result.exit_code == 0, result.output
    assert result.stdout.startswith("Held-out pairs of cells are predicted better than by independent columns")
    assert "\n2 sources in 12 segments of 720 rows x 6 columns" in result.stdout
    assert files(out) == ALWAYS | {"mixing.csv", "sources.csv", "segments.csv", "pairs.csv", "intervals.csv"}
    assert {"source_scales.png", "mixing.png"} <= files(out / "plots")
    assert pd.read_csv(out / "segments.csv")["segment"].tolist() == list(range(5, 17)), "numbers, in their order"
    sources, model = pd.read_csv(out / "sources.csv"), load_model(out / "model.npz")
    assert sources["call"][0] == "call0"
    frame = pd.read_csv(votes)
    expected = model.transform(frame.drop(columns=["call", "session"]), segments=frame["session"].astype(float))
    np.testing.assert_allclose(sources[["source_1", "source_2"]], expected, rtol=1e-6)
    assert pd.read_csv(out / "mixing.csv")["variable"].tolist() == [f"country{j}" for j in range(6)]


def test_binary_factors(run: Run, numbers: Path, tmp_path: Path) -> None:
    out = tmp_path / "run"
    result = run("fit", numbers, "--model", "binary-factors", "--components", 4, "--restarts", 2, "--out", out)
    assert result.exit_code == 0, result.output
    assert result.stdout.startswith("2 binary factors found in 120 rows x 6 columns; 2 of 4 were discarded")
    assert files(out) == ALWAYS | {
        "mixing.csv",
        "codes.csv",
        "probabilities.csv",
        "discards.csv",
        "causes.csv",
        "intervals.csv",
        "sizes.csv",
    }
    codes = pd.read_csv(out / "codes.csv")
    assert codes["row"].tolist()[:2] == ["r0", "r1"]
    assert set(codes["factor_1"]) == {-1, 1}
    summary = json.loads((out / "summary.json").read_text())
    assert summary["factors"] == 2
    assert summary["nature"]["kind"] == "binary"
    assert "On-off factors describe the rows better: BIC prefers them to " in result.stdout


def test_the_encoder_of_binary_factors(run: Run, tmp_path: Path) -> None:
    """On these data the greedy encoder ends elsewhere than the default, so an option that is ignored is seen."""
    X = simulate.binary_factors(120, 6, 3, noise=0.5, random_state=0).X
    frame = pd.DataFrame(X, columns=list("abcdef"))
    frame.to_csv(tmp_path / "t.csv", index=False)
    arguments = [
        "--model",
        "binary-factors",
        "--components",
        4,
        "--restarts",
        2,
        "--encoder",
        "greedy",
        "--inference",
        "byy",
        "--no-report",
    ]
    result = run("fit", tmp_path / "t.csv", *arguments, "--out", tmp_path / "run")
    assert result.exit_code == 0, result.output
    model = load_model(tmp_path / "run" / "model.npz")
    greedy = BinaryFactorAnalysis(4, inference="byy", n_init=2, random_state=0, encoder="greedy").fit(frame)
    default = BinaryFactorAnalysis(4, inference="byy", n_init=2, random_state=0).fit(frame)
    assert model.encoder == "greedy"
    assert model.objective_ == pytest.approx(greedy.objective_, rel=1e-9)
    assert abs(model.objective_ - default.objective_) > 0.01


def test_ica_mixture(run: Run, numbers: Path, tmp_path: Path) -> None:
    out = tmp_path / "run"
    arguments = ["--model", "ica-mixture", "--clusters", 2, "--sources", 1, "--gaussians", 2, "--restarts", 1]
    result = run("fit", numbers, *arguments, "--max-iter", 60, "--out", out)
    assert result.exit_code == 0, result.output
    assert "found in 120 rows x 6 columns" in result.stdout
    told = {"clusters.csv", "separation.csv", "mixing.csv", "rows.csv", "history.csv", "intervals.csv"}
    assert files(out) - {"overlaps.csv"} == ALWAYS | told
    rows, model = pd.read_csv(out / "rows.csv"), load_model(out / "model.npz")
    X = pd.read_csv(numbers, index_col="row")
    np.testing.assert_array_equal(rows["cluster"], model.predict(X) + 1)
    chances = rows[[name for name in rows if name.startswith("cluster_")]]
    np.testing.assert_allclose(chances.sum(axis=1), 1, atol=1e-6)
    np.testing.assert_allclose(rows["log_density"], model.score_samples(X), rtol=1e-6)
    np.testing.assert_allclose(rows[["source_1"]], model.transform(X), atol=1e-6)


@pytest.mark.parametrize(
    "arguments",
    [
        ["--model", "ica-mixture", "--clusters", 2, "--sources", 1, "--cluster-criterion", "bound"],
        ["--model", "binary-factors", "--components", 3],
    ],
)
def test_new_rows(run: Run, numbers: Path, tmp_path: Path, arguments: list[object]) -> None:
    out = tmp_path / "run"
    assert (
        run("fit", numbers, *arguments, "--restarts", 1, "--max-iter", 40, "--no-report", "--out", out).exit_code == 0
    )
    new = pd.read_csv(numbers).iloc[:7, ::-1].assign(remark="of another kind")
    new.to_csv(tmp_path / "new.csv", index=False)
    result = run("rows", out, tmp_path / "new.csv", "--row-labels", "row", "--out", tmp_path / "rows.csv")
    assert result.exit_code == 0, result.output
    assert "7 rows" in result.stdout
    table, model = pd.read_csv(tmp_path / "rows.csv"), load_model(out / "model.npz")
    X = new[list("abcdef")]
    assert table["row"].tolist() == [f"r{i}" for i in range(7)]
    density = table["log_density" if "log_density" in table else "log_likelihood"]
    np.testing.assert_allclose(density, model.score_samples(X), rtol=1e-6)
    if "cluster" in table:
        np.testing.assert_array_equal(table["cluster"], model.predict(X) + 1)
        np.testing.assert_allclose(table[["unmixed_1"]], model.transform(X, kind="unmixed"), rtol=1e-6, atol=1e-9)
        assert load_model(out / "model.npz").criterion == "bound"
    else:
        np.testing.assert_allclose(table[["probability_1", "probability_2"]], model.predict_proba(X), atol=1e-6)
        np.testing.assert_array_equal(table[["factor_1", "factor_2"]], model.transform(X))
    new.drop(columns="c").to_csv(tmp_path / "less.csv", index=False)
    refused = run("rows", out, tmp_path / "less.csv")
    assert refused.exit_code == 1
    assert 'no column "c"' in refused.stderr


def test_rows_are_those_of_models_of_numbers(run: Run, votes: Path, tmp_path: Path) -> None:
    asked = ["--components", 1, "--restarts", 1, "--model", "bernoulli-mixture", "--no-report"]
    run("fit", votes, *asked, "--exclude", "session", "--out", tmp_path / "run")
    result = run("rows", tmp_path / "run", votes)
    assert result.exit_code == 1
    assert "is about 0-1 data" in result.stderr


def test_what_is_said_about_causes_and_clusters(run: Run, numbers: Path, tmp_path: Path) -> None:
    arguments = ["--model", "binary-factors", "--components", 4, "--restarts", 2, "--no-report"]
    text = run("fit", numbers, *arguments, "--out", tmp_path / "causes").stdout
    model, causes = load_model(tmp_path / "causes" / "model.npz"), pd.read_csv(tmp_path / "causes" / "causes.csv")
    largest = int(np.abs(model.mixing_[:, 0]).argmax())
    assert f"switching it on changes {'abcdef'[largest]} by {2 * model.mixing_[largest, 0]:+.3g} ± " in text
    assert f"Factor 1 is on in {causes['rows_on'][0]} of 120 rows" in text
    assert "BIC prefers 2 factors to 1 by " in text
    on = (model.transform(pd.read_csv(numbers, index_col="row")) > 0).sum(axis=0)
    assert causes["rows_on"].tolist() == on.tolist()
    rng = np.random.default_rng(0)
    x = np.where(np.arange(100) < 40, rng.normal(0, 1, 100), rng.normal(12, 2, 100))
    y = x - np.where(np.arange(100) < 40, 0, 12) + 0.2 * rng.uniform(size=100)
    pd.DataFrame({"x": x, "y": y}).to_csv(tmp_path / "two.csv", index=False)
    arguments = ["--model", "ica-mixture", "--sources", 1, "--restarts", 2, "--no-report"]
    text = run("fit", tmp_path / "two.csv", *arguments, "--out", tmp_path / "clusters").stdout
    assert text.startswith("2 clusters of 60 and 40 rows found in 100 rows x 2 columns; most apart in x and y.")
    assert "Cluster 1 has 60 rows (60%)" in text
    assert f"mean x {x[40:].mean():.4g} ({x.mean():.4g} in all rows)" in text
    found = load_model(tmp_path / "clusters" / "model.npz")
    j = int(np.abs(found.source_effects_[0, :, 0]).argmax())
    added = found.source_effects_[0, j, 0] * [x.std(), y.std()][j]
    assert f"Inside cluster 1, a standard deviation of source 1 changes {'xy'[j]} by {added:+.3g} ± " in text
    assert "--clusters 1:5 asks held-out rows" in text


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--model", "binary-factors"], "Missing option '--components': how many factors at most"),
        (["--components", 2, "--segments", "row"], "--segments is not an option of aspect-bernoulli"),
        (["--model", "binary-factors", "--components", 2, "--threshold", 1], "--threshold is about 0-1 data"),
        (["--model", "binary-factors", "--components", 2, "--threshold", 0], "--threshold is about 0-1 data"),
        (["--model", "binary-factors", "--components", 2, "--encoder", "magic"], "Invalid value for '--encoder'"),
        (["--components", 2, "--encoder", "enum"], "--encoder is not an option of aspect-bernoulli"),
        (["--model", "ica-mixture", "--components", 2], "--components is not an option of ica-mixture"),
        (["--model", "binary-factors", "--components", 2, "--method", "mle"], "--method is not an option"),
    ],
)
def test_wrong_usage(run: Run, numbers: Path, tmp_path: Path, arguments: list[object], message: str) -> None:
    result = run("fit", numbers, *arguments, "--out", tmp_path / "run")
    assert result.exit_code == 2
    assert message in " ".join(result.stderr.split())
    assert not (tmp_path / "run").exists()


def test_refusals(run: Run, votes: Path, numbers: Path, tmp_path: Path) -> None:
    for file, arguments, message in [
        (votes, ["--model", "binary-factors", "--components", 2, "--no-row-labels"], "no finite number"),
        (numbers, ["--model", "binary-ica"], "neither 0 nor 1"),
        (votes, ["--model", "binary-ica", "--segments", "year"], "year"),
    ]:
        result = run("fit", file, *arguments, "--out", tmp_path / "run")
        assert result.exit_code == 1, result.output
        assert message in result.stderr
        assert result.stderr.startswith("error: ")


def test_missing_cells_of_binary_factors(run: Run, numbers: Path, tmp_path: Path) -> None:
    frame = pd.read_csv(numbers)
    frame.loc[2, "a"] = frame.loc[[5, 7], "c"] = np.nan
    frame.to_csv(holes := tmp_path / "holes.csv", index=False)
    arguments = ["--model", "binary-factors", "--components", 4, "--restarts", 2]
    result = run("fit", holes, *arguments, "--out", tmp_path / "run")
    assert result.exit_code == 0, result.output
    assert result.stdout.startswith("2 binary factors found in 120 rows x 6 columns, 3 cells missing")
    assert json.loads((tmp_path / "run" / "summary.json").read_text())["data"]["missing"] == 3
    result = run("rows", tmp_path / "run", holes, "--out", tmp_path / "rows.csv")
    assert result.exit_code == 0, result.output
    rows, model = pd.read_csv(tmp_path / "rows.csv"), load_model(tmp_path / "run" / "model.npz")
    expected = model.score_samples(frame[list("abcdef")])
    np.testing.assert_allclose(rows["log_likelihood"], expected, rtol=1e-6)
    mixture = run("fit", holes, "--model", "ica-mixture", "--clusters", 2, "--restarts", 1, "--out", tmp_path / "other")
    assert mixture.exit_code == 0, mixture.output
    assert json.loads((tmp_path / "other" / "summary.json").read_text())["data"]["missing"] == 3


def test_choosing_numbers_for_models_of_numbers(run: Run, numbers: Path, tmp_path: Path) -> None:
    asked = ["--model", "binary-factors", "--components", "1:3", "--restarts", 2, "--folds", 3]
    result = run("select", numbers, *asked, "--out", tmp_path / "factors")
    assert result.exit_code == 0, result.output
    assert "bic: 2 components." in result.stdout
    asked = ["--model", "ica-mixture", "--clusters", "1:2", "--sources", 1, "--gaussians", 1, "--tol", "1e-3"]
    result = run("select", numbers, *asked, "--criterion", "evidence", "--restarts", 1, "--out", tmp_path / "clusters")
    assert result.exit_code == 0, result.output
    assert pd.read_csv(tmp_path / "clusters" / "selection.csv")["n_clusters"].tolist() == [1, 2]
    assert "cluster" in result.stdout.splitlines()[-2]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--model", "ica-mixture"], "give a range, such as 1:6, for --clusters or for --sources"),
        (["--model", "ica-mixture", "--clusters", "1:2", "--sources", "1:2"], "for --clusters or for --sources"),
        (["--model", "ica-mixture", "--components", "1:2"], "--components is not an option of ica-mixture"),
        (["--model", "binary-factors"], "give a range, such as 1:6, for --components"),
        (["--model", "binary-factors", "--components", "1:2", "--inference", "vb"], "a fit finds its number itself"),
        (["--model", "binary-factors", "--components", "1:2", "--criterion", "cells"], "has no cells"),
        (["--model", "binary-factors", "--components", "1:2", "--threshold", 1], "--threshold is about 0-1 data"),
    ],
)
def test_what_select_refuses(run: Run, numbers: Path, arguments: list[object], message: str) -> None:
    result = run("select", numbers, *arguments)
    assert result.exit_code != 0
    assert message in result.output
