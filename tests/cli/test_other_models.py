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
    assert result.stdout.startswith("2 sources in 12 segments of 720 rows x 6 columns")
    assert files(out) == ALWAYS | {"mixing.csv", "sources.csv", "segments.csv", "pairs.csv", "intervals.csv"}
    assert {"source_scales.png", "mixing.png"} <= files(out / "plots")
    assert pd.read_csv(out / "segments.csv")["segment"].tolist() == list(range(5, 17)), "numbers, in their order"
    sources, model = pd.read_csv(out / "sources.csv"), load_model(out / "model.npz")
    assert sources["call"][0] == "call0"
    frame = pd.read_csv(votes)
    expected = model.transform(frame.drop(columns=["call", "session"]), segments=frame["session"].astype(float))
    np.testing.assert_allclose(sources[["source_0", "source_1"]], expected, rtol=1e-6)
    assert pd.read_csv(out / "mixing.csv")["variable"].tolist() == [f"country{j}" for j in range(6)]


def test_binary_factors(run: Run, numbers: Path, tmp_path: Path) -> None:
    out = tmp_path / "run"
    result = run("fit", numbers, "--model", "binary-factors", "--components", 4, "--restarts", 2, "--out", out)
    assert result.exit_code == 0, result.output
    assert result.stdout.startswith("2 binary factors found in 120 rows x 6 columns; 2 of 4 were discarded")
    assert files(out) == ALWAYS | {"mixing.csv", "codes.csv", "probabilities.csv", "discards.csv"}
    codes = pd.read_csv(out / "codes.csv")
    assert codes["row"].tolist()[:2] == ["r0", "r1"]
    assert set(codes["factor_0"]) == {-1, 1}
    assert json.loads((out / "summary.json").read_text())["factors"] == 2


def test_the_encoder_of_binary_factors(run: Run, tmp_path: Path) -> None:
    """On these data the greedy encoder ends elsewhere than the default, so an option that is ignored is seen."""
    X = simulate.binary_factors(120, 6, 3, noise=0.5, random_state=0).X
    frame = pd.DataFrame(X, columns=list("abcdef"))
    frame.to_csv(tmp_path / "t.csv", index=False)
    arguments = ["--model", "binary-factors", "--components", 4, "--restarts", 2, "--encoder", "greedy", "--no-report"]
    result = run("fit", tmp_path / "t.csv", *arguments, "--out", tmp_path / "run")
    assert result.exit_code == 0, result.output
    model = load_model(tmp_path / "run" / "model.npz")
    greedy = BinaryFactorAnalysis(4, n_init=2, random_state=0, encoder="greedy").fit(frame)
    default = BinaryFactorAnalysis(4, n_init=2, random_state=0).fit(frame)
    assert model.encoder == "greedy"
    assert model.objective_ == pytest.approx(greedy.objective_, rel=1e-9)
    assert abs(model.objective_ - default.objective_) > 0.01


def test_ica_mixture(run: Run, numbers: Path, tmp_path: Path) -> None:
    out = tmp_path / "run"
    arguments = ["--model", "ica-mixture", "--clusters", 2, "--sources", 1, "--gaussians", 2, "--restarts", 1]
    result = run("fit", numbers, *arguments, "--max-iter", 60, "--out", out)
    assert result.exit_code == 0, result.output
    assert "found in 120 rows x 6 columns." in result.stdout
    assert files(out) == ALWAYS | {"clusters.csv", "mixing.csv", "rows.csv", "sources.csv", "history.csv"}
    rows, model = pd.read_csv(out / "rows.csv"), load_model(out / "model.npz")
    X = pd.read_csv(numbers, index_col="row")
    np.testing.assert_array_equal(rows["cluster"], model.predict(X))
    chances = rows[[name for name in rows if name.startswith("cluster_")]]
    np.testing.assert_allclose(chances.sum(axis=1), 1, atol=1e-6)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--model", "binary-factors"], "Missing option '--components'"),
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
