"""The command line with `--noise`: what is fitted, what is said about it, and what is refused."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from latentbits import AspectBernoulli, load_model, read_table, simulate

from .conftest import FAST, Run, summary_of, write_table

pytestmark = [
    pytest.mark.usefixtures("without_plots"),
    pytest.mark.filterwarnings("ignore:.*no weight on any kept component"),
]


@pytest.fixture(scope="module")
def with_false_ones(tmp_path_factory: pytest.TempPathFactory) -> Path:
    clean = simulate.aspect_bernoulli(150, 30, 3, concentration=0.3, sharpness=0.4, random_state=0).X
    X = simulate.add_noise(clean, black=0.5, random_state=1).X
    folder = tmp_path_factory.mktemp("noise")
    return write_table(folder / "table.csv", X, [f"c{j}" for j in range(30)], [f"r{i}" for i in range(150)])


def test_auto_says_what_it_kept_and_why(run: Run, with_false_ones: Path, tmp_path: Path) -> None:
    result = run("fit", with_false_ones, *FAST, "--noise", "auto", "--out", tmp_path / "run")
    assert result.exit_code == 0, result.output
    summary = summary_of(tmp_path / "run")
    trials = summary["noise"]["trials"]
    assert [trial["model"] for trial in trials] == ["none", "white", "black", "both"]
    assert [trial["model"] for trial in trials if trial["kept"]] == ["black"]
    gain, needed = trials[2]["gain_per_row"], trials[2]["needed"]
    said = f"a black noise component is kept: it gains {gain:.2f} nats per row, and {needed:.2f} are needed."
    assert summary["noise"]["decision"].endswith(said)
    assert summary["noise"]["decision"].startswith("No white noise component is kept: it would gain ")
    assert summary["noise"]["decision"] in result.stdout
    assert sorted(part["kind"] for part in summary["components"]) == ["black", "content", "content", "content"]


def test_the_model_is_the_one_that_python_fits(run: Run, with_false_ones: Path, tmp_path: Path) -> None:
    assert run("fit", with_false_ones, *FAST, "--noise", "both", "--out", tmp_path / "run").exit_code == 0
    model = load_model(tmp_path / "run" / "model.npz")
    same = AspectBernoulli(3, noise="both", n_init=2, random_state=0).fit(read_table(with_false_ones))
    assert_array_equal(model.components_, same.components_)
    said = summary_of(tmp_path / "run")["noise"]
    assert said == {
        "decision": "Both noise components were asked for; whether the data need them was not tried (auto does)."
    }


def test_the_page_says_it(run: Run, with_false_ones: Path, tmp_path: Path) -> None:
    options = [option for option in FAST if option != "--no-report"]
    assert run("fit", with_false_ones, *options, "--noise", "auto", "--out", tmp_path / "run").exit_code == 0
    assert "noise component is kept" in (tmp_path / "run" / "report.html").read_text(encoding="utf-8")


def test_none_is_the_fit_without(run: Run, table: Path, tmp_path: Path) -> None:
    for name, options in (("none", ["--noise", "none"]), ("plain", [])):
        assert run("fit", table, *FAST, *options, "--out", tmp_path / name).exit_code == 0
    none, plain = (load_model(tmp_path / name / "model.npz") for name in ("none", "plain"))
    assert none.get_params() == plain.get_params()
    assert none.noise is None
    assert_array_equal(none.components_, plain.components_)
    assert "noise" not in summary_of(tmp_path / "none")


@pytest.mark.parametrize("inference", ["vb", "em"])
def test_beta_ica_has_it_too(run: Run, with_false_ones: Path, tmp_path: Path, inference: str) -> None:
    options = ["--model", "beta-ica", "--inference", inference, "--noise", "black"]
    assert run("fit", with_false_ones, *FAST, *options, "--out", tmp_path / "run").exit_code == 0
    model = load_model(tmp_path / "run" / "model.npz")
    assert model.noise == "black"
    assert np.sum(model.phantoms_ == "black") == 1


def test_unknown_noise_and_models_without_it_are_refused(run: Run, table: Path, tmp_path: Path) -> None:
    result = run("fit", table, *FAST, "--noise", "grey", "--out", tmp_path / "run")
    assert result.exit_code == 2
    assert "'grey' is not one of 'none', 'white', 'black', 'both', 'auto'" in result.stderr
    result = run("fit", table, *FAST, "--model", "plsa", "--noise", "auto", "--out", tmp_path / "run")
    assert result.exit_code == 2
    assert "--noise is not an option of plsa" in result.stderr
    assert not (tmp_path / "run").exists()
