"""`latentbits fit` answers first whether the model predicts hidden cells."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from latentbits import AspectBernoulli, verdict
from latentbits.data import BinaryData
from latentbits.findings.account import Findings
from latentbits.findings.analyse import analyse
from latentbits.notes import Role
from latentbits.storage.files import write_json
from latentbits.tasks import trials
from latentbits.tasks.verdict import Verdict

from .conftest import FAST, Run, summary_of, write_table

pytestmark = pytest.mark.usefixtures("without_plots")

NO_EVIDENCE = "the model's ranking of zeros is no evidence of false zeros."
NOTHING = f"Only column totals are predictable; {NO_EVIDENCE}"


@pytest.fixture(scope="module")
def noise() -> np.ndarray:
    """Independent columns."""
    rng = np.random.default_rng(0)
    return (rng.random((60, 40)) < rng.uniform(0.1, 0.6, 40)).astype(int)


@pytest.fixture(scope="module")
def noise_file(tmp_path_factory: pytest.TempPathFactory, noise: np.ndarray) -> Path:
    return write_table(tmp_path_factory.mktemp("noise") / "noise.csv", noise, [f"c{j}" for j in range(40)])


def test_of_noise_nothing_stands_first_and_no_count_of_suspects(run: Run, noise_file: Path, tmp_path: Path) -> None:
    result = run("fit", noise_file, *FAST, "--out", tmp_path / "run")
    assert result.exit_code == 0, result.output
    lines = result.stdout.splitlines()
    assert lines[0] == NOTHING
    assert not any("suspected" in line or "hidden cause" in line for line in lines)
    summary = summary_of(tmp_path / "run")
    assert next(iter(summary)) == "verdict"
    assert summary["verdict"]["predicts"] is False
    assert summary["verdict"]["sentences"][0] == NOTHING
    assert "suspected" not in summary
    assert len(pd.read_csv(tmp_path / "run" / "suspects.csv")) > 0, "the table is written all the same"


def test_structure_is_said_first(run: Run, table: Path, tmp_path: Path) -> None:
    result = run("fit", table, *FAST, "--json", "--out", tmp_path / "run")
    summary = json.loads(result.stdout)
    assert summary["verdict"]["predicts"] is True
    assert summary["verdict"]["sentences"][0].startswith("Held-out cells are predicted better")
    assert summary["seconds"]["verdict"] > 0
    result = run("fit", table, *FAST, "--out", tmp_path / "other")
    assert result.stdout.startswith(summary["verdict"]["sentences"][0])
    assert "zeros are suspected" in result.stdout


def test_it_is_that_of_python(run: Run, table: Path, tmp_path: Path, X: np.ndarray) -> None:
    assert run("fit", table, *FAST, "--seed", 3, "--out", tmp_path / "run").exit_code == 0
    found = verdict(AspectBernoulli(3, n_init=2, random_state=3), X, random_state=3)
    write_json(found.to_dict(), tmp_path / "verdict.json")
    assert summary_of(tmp_path / "run")["verdict"] == json.loads((tmp_path / "verdict.json").read_text())


def test_later_commands_repeat_that_nothing_is_predicted(
    run: Run, noise_file: Path, table: Path, tmp_path: Path
) -> None:
    for name, file in {"noise": noise_file, "pattern": table}.items():
        assert run("fit", file, *FAST, "--out", tmp_path / name).exit_code == 0
        notes = run("suspects", tmp_path / name, file).stderr
        assert (f"note: by the verdict on the fit: {NOTHING}\n" in notes) == (name == "noise")


def test_it_can_be_left_out(run: Run, noise_file: Path, tmp_path: Path) -> None:
    result = run("fit", noise_file, *FAST, "--no-verdict", "--out", tmp_path / "run")
    assert result.stdout.startswith("3 components fitted to 60 rows x 40 columns")
    summary = summary_of(tmp_path / "run")
    assert "verdict" not in summary
    assert "verdict" not in summary["seconds"]


def test_a_model_of_segments_is_judged_by_pairs(run: Run, table: Path, tmp_path: Path) -> None:
    result = run("fit", table, "--model", "binary-ica", "--components", 2, "--restarts", 1, "--out", tmp_path / "run")
    assert result.exit_code == 0, result.output
    assert "Held-out pairs of cells" in result.output
    assert "over_columns" in summary_of(tmp_path / "run")["verdict"]


class TestOfARange:
    RANGE = ("--model", "aspect-bernoulli", "--components", "2:3", "--folds", 3)
    RANGE += ("--restarts", 2, "--jobs", 1, "--no-report")

    def test_held_out_cells_choose_by_default_and_aic_stands_beside(
        self, run: Run, table: Path, noise_file: Path, tmp_path: Path
    ) -> None:
        assert run("fit", table, *self.RANGE, "--out", tmp_path / "run").exit_code == 0
        selection = summary_of(tmp_path / "run")["selection"]
        assert [choice["criterion"] for choice in selection["choices"]] == ["cells", "aic"]
        assert selection["best"] == selection["choices"][0]["best"]
        result = run("fit", noise_file, *self.RANGE, "--smoothing", 0, "--out", tmp_path / "noise")
        selection = summary_of(tmp_path / "noise")["selection"]
        assert [choice["best"] for choice in selection["choices"]] == [1, 2], "the two differ"
        assert selection["best"] == 1
        assert "    aic: 2 components." in result.stdout
        assert "They differ because" in result.stdout
        assert result.stdout.startswith(NOTHING)

    def test_the_cells_that_were_held_out_are_not_predicted_again(
        self, run: Run, table: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        made: list[str] = []
        fit = trials._timed_fit

        def counted(estimator: Any, data: Any) -> Any:
            made.append(type(estimator).__name__)
            return fit(estimator, data)

        monkeypatch.setattr(trials, "_timed_fit", counted)
        assert run("fit", table, *self.RANGE, "--out", tmp_path / "run").exit_code == 0
        assert made.count("AspectBernoulli") == 3 * (3 + 1)
        assert made.count("IndependentBernoulli") == made.count("RowColumnBernoulli") == 3
        assert summary_of(tmp_path / "run")["verdict"]["n_folds"] == 3

    def test_without_held_out_cells_they_are_predicted_now(self, run: Run, table: Path, tmp_path: Path) -> None:
        assert run("fit", table, *self.RANGE, "--criterion", "aic", "--out", tmp_path / "run").exit_code == 0
        assert summary_of(tmp_path / "run")["verdict"]["n_folds"] == 5

    def test_a_number_that_was_not_chosen_but_predicts_is_named(self) -> None:
        nothing, found = (self.verdict_of(z) for z in (0.1, 7.25))
        assert found.beside({1: nothing, 3: found}, 3) is found
        assert nothing.beside({1: nothing, 3: nothing}, 1) is nothing
        first, *others = nothing.beside({1: nothing, 3: found}, 1).sentences
        words = "1 component predicts no cell better than totals do, but 3 components do (z = 7.2)"
        assert first.startswith(words)
        assert "--components 3" in first
        assert others == nothing.sentences[1:]

    @staticmethod
    def verdict_of(z: float) -> Verdict:
        from latentbits.fitting.held_out import Gain

        gain = Gain(z, 0.0, 0.1, 0.0, 0.1, 0.5, 0.5)
        return Verdict(z > 2, gain, gain, {"rows and columns": 0.5}, 100, 5)


def test_interrupted_it_leaves_the_fit(run: Run, table: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*args: Any, **kwargs: Any) -> Any:
        raise KeyboardInterrupt

    monkeypatch.setattr("latentbits.tasks.verdict.run_all", interrupted)
    result = run("fit", table, *FAST, "--out", tmp_path / "run")
    assert result.exit_code == 130
    assert "note: interrupted: there is no verdict; the fit itself was finished" in result.stderr
    assert "verdict" not in summary_of(tmp_path / "run")
    assert (tmp_path / "run" / "model.npz").exists()


class TestWhatLeads:
    """What terminal and report are made of."""

    def found(self, noise: np.ndarray, predicts: bool | None) -> Findings:
        known = Verdict.from_dict({"predicts": predicts, "sentences": ["It is so.", "Why."]})
        return analyse(AspectBernoulli(3, n_init=2, random_state=0), BinaryData.of(noise), verdict=known)

    @pytest.mark.parametrize("predicts", [False, None])
    def test_no_evidence_where_nothing_is_predicted(self, noise: np.ndarray, predicts: bool | None) -> None:
        found = self.found(noise, predicts)
        lines = str(found).splitlines()
        assert lines[:2] == ["It is so.", "Why."]
        assert lines[2].startswith("3 components fitted to 60 rows")
        assert not any("are suspected" in line for line in lines)
        assert not any(note.is_evidence for note in found.said(*Role))
        assert next(iter(found.to_dict())) == "verdict"

    def test_evidence_stays_where_something_is_predicted(self, noise: np.ndarray) -> None:
        found = self.found(noise, True)
        assert [*found.said(*Role)] == [*found.notes]
        assert "are suspected" in str(found)
