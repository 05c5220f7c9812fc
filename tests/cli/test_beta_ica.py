"""The command line with `--model beta-ica`: every kind of inference, its own options, and every answer."""

from __future__ import annotations

import io
import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from click.testing import Result
from numpy.testing import assert_allclose, assert_array_equal
from pandas.testing import assert_frame_equal

from latentbits import BetaICA, read_table
from latentbits.storage import run_folder
from latentbits.storage.persistence import load_model

from .conftest import FAST, Run, invoke

pytestmark = [
    pytest.mark.usefixtures("without_plots"),
    pytest.mark.filterwarnings("ignore:.*no weight on any kept component"),
    pytest.mark.filterwarnings("ignore:the chains disagree"),  # two of them
]

MODEL = ["--model", "beta-ica"]


@pytest.fixture(scope="module", params=["vb", "em", "gibbs"])
def inference(request: pytest.FixtureRequest) -> str:
    return request.param


@pytest.fixture(scope="module")
def fitted_beta(inference: str, table: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("beta") / "run"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(run_folder, "write_plots", lambda _, plots, *__: plots.mkdir())
        result = invoke("fit", table, *FAST, *MODEL, "--inference", inference, "--out", out)
    assert result.exit_code == 0, result.output
    return out


def frame(result: Result) -> pd.DataFrame:
    assert result.exit_code == 0, result.output + repr(result.exception)
    return pd.read_csv(io.StringIO(result.stdout))


def test_the_model_is_the_one_that_python_fits(fitted_beta: Path, table: Path, inference: str) -> None:
    model = load_model(fitted_beta / "model.npz")
    assert type(model) is BetaICA
    assert model.inference == inference
    same = BetaICA(3, inference=inference, n_init=2, random_state=0).fit(read_table(table))
    assert_array_equal(model.components_, same.components_)
    assert_array_equal(model.weights_, same.weights_)


def test_tables_and_summary_say_what_the_model_says(fitted_beta: Path, inference: str, columns: list[str]) -> None:
    model = load_model(fitted_beta / "model.npz")
    assert_allclose(pd.read_csv(fitted_beta / "components.csv")[columns], model.components_, atol=1e-9)
    assert_allclose(pd.read_csv(fitted_beta / "weights.csv").iloc[:, 1:], model.weights_, atol=1e-9)
    summary = json.loads((fitted_beta / "summary.json").read_text(encoding="utf-8"))
    assert summary["model"] == "beta-ica"
    assert summary["parameters"] == model.get_params()
    assert summary["parameters"]["inference"] == inference
    assert summary["objective"] == pytest.approx(model.objective_, rel=1e-11)


def test_answers_are_the_models(run: Run, fitted_beta: Path, table: Path, columns: list[str]) -> None:
    model, data = load_model(fitted_beta / "model.npz"), read_table(table)
    assert_array_equal(frame(run("denoise", fitted_beta, table))[columns], model.denoise(data))
    listed = frame(run("suspects", fitted_beta, table, "--top", 9))
    assert_frame_equal(listed, model.suspects(data, top=9), check_dtype=False, rtol=1e-8)
    explained = frame(run("explain", fitted_beta, table, "--row", "site3"))
    assert_allclose(explained["probability"], model.explain(data, row="site3")["probability"], rtol=1e-8)


def test_vb_is_the_default(run: Run, table: Path, tmp_path: Path) -> None:
    assert run("fit", table, *FAST, *MODEL, "--out", tmp_path / "run").exit_code == 0
    assert load_model(tmp_path / "run" / "model.npz").inference == "vb"


def test_priors_are_passed_on(run: Run, table: Path, tmp_path: Path) -> None:
    priors = ["--alpha", 0.3, "--beta", 2, "--gamma", 0.2]
    assert run("fit", table, *FAST, *MODEL, *priors, "--out", tmp_path / "run").exit_code == 0
    model = load_model(tmp_path / "run" / "model.npz")
    assert (model.alpha, model.beta, model.gamma) == (0.3, 2.0, 0.2)
    plain = BetaICA(3, n_init=2, random_state=0).fit(read_table(table))
    assert np.abs(model.components_ - plain.components_).max() > 0.01


@pytest.mark.parametrize("option", [["--inference", "vb"], ["--alpha", "1"], ["--beta", "1"], ["--gamma", "1"]])
def test_its_options_are_refused_for_another_model(run: Run, table: Path, tmp_path: Path, option: list[str]) -> None:
    result = run("fit", table, *FAST, "--model", "aspect-bernoulli", *option, "--out", tmp_path / "run")
    assert result.exit_code == 2
    assert result.stdout == ""
    assert f"{option[0]} is not an option of aspect-bernoulli" in result.stderr
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize("option", [["--inference", "mcmc"], ["--alpha", "0"], ["--beta", "-1"], ["--gamma", "x"]])
def test_impossible_values_are_refused(run: Run, table: Path, tmp_path: Path, option: list[str]) -> None:
    result = run("fit", table, *FAST, *MODEL, *option, "--out", tmp_path / "run")
    assert result.exit_code == 2
    assert f"Invalid value for '{option[0]}'" in result.stderr
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize("value", ["nan", "inf"])
@pytest.mark.parametrize("option", ["--alpha", "--beta", "--gamma"])
def test_priors_that_are_no_finite_number_are_refused(
    run: Run, table: Path, tmp_path: Path, option: str, value: str
) -> None:
    result = run("fit", table, *FAST, *MODEL, option, value, "--out", tmp_path / "run")
    assert result.exit_code in (1, 2)
    assert len([line for line in result.stderr.splitlines() if option.strip("-") in line]) >= 1
    assert "Traceback" not in result.stderr
    assert not (tmp_path / "run").exists()


CHAINS = ["--inference", "gibbs", "--samples", 30, "--burn", 60, "--thin", 2]


def test_chains_are_summed_up(run: Run, table: Path, tmp_path: Path) -> None:
    result = run("fit", table, *FAST, *MODEL, *CHAINS, "--out", tmp_path / "run")
    assert result.exit_code == 0, result.output
    summary = json.loads((tmp_path / "run" / "summary.json").read_text())
    assert {name: summary["parameters"][name] for name in ("n_samples", "n_burn", "thin")} == {
        "n_samples": 30,
        "n_burn": 60,
        "thin": 2,
    }
    assert summary["sampling"]["chains"] == 2
    assert summary["sampling"]["samples"] == 60
    assert "60 posterior samples of 2 chains, which " in result.stdout
    assert "restarts came within" not in result.stdout
    intervals = pd.read_csv(tmp_path / "run" / "components_interval.csv")
    low, high = load_model(tmp_path / "run" / "model.npz").components_interval(0.95)
    assert_allclose(intervals["low"], low.ravel())
    assert_allclose(intervals["high"], high.ravel())


def test_few_samples_leave_the_intervals_out(run: Run, table: Path, tmp_path: Path) -> None:
    few = ["--inference", "gibbs", "--samples", 2, "--burn", 10]
    result = run("fit", table, *FAST, *MODEL, *few, "--out", tmp_path / "run")
    assert result.exit_code == 0, result.output
    assert not (tmp_path / "run" / "components_interval.csv").exists()
    assert "4 posterior samples of 2 chains: too few to say whether the chains agree" in result.stdout


def test_a_number_is_selected_by_the_integrated_evidence(run: Run, table: Path) -> None:
    options = ["--restarts", 2, "--jobs", 1, "--components", "1,2", "--criterion", "evidence"]
    result = run("select", table, *MODEL, *CHAINS, *options)
    assert result.exit_code == 0, result.output
    assert "evidence_se" in result.stdout
    assert "evidence: 2 components" in result.stdout
