"""`latentbits fit` with a range of components, and with images: what it chooses, prints and leaves."""

from __future__ import annotations

import json
from pathlib import Path

import pandas as pd
import pytest
from numpy.testing import assert_array_equal

from latentbits import AspectBernoulli, load_model, read_table, select_order

from .conftest import FAST, Run, assert_refused, invoke

RANGE = ["--model", "aspect-bernoulli", "--components", "2:3", "--criterion", "bic,aic,cells"]
RANGE += ["--restarts", 2, "--jobs", 1, "--folds", 3]
TABLES = {"selection.csv", "choices.csv", "folds.csv", "stability.csv"}


@pytest.fixture(scope="module")
def chosen(tmp_path_factory: pytest.TempPathFactory, table: Path) -> tuple[Path, str]:
    """The folder, and what was printed."""
    out = tmp_path_factory.mktemp("chosen") / "run"
    result = invoke("fit", table, *RANGE, "--seed", 4, "--shape", "3x4", "--out", out)
    assert result.exit_code == 0, result.output + repr(result.exception)
    return out, result.stdout


def test_the_model_is_the_choice_of_the_first_criterion(chosen: tuple[Path, str], table: Path) -> None:
    out, _ = chosen
    criteria = ["bic", "aic", "cells"]
    found = select_order(
        AspectBernoulli(n_init=2), read_table(table), [2, 3], criterion=criteria, n_folds=3, random_state=4
    )
    model = load_model(out / "model.npz")
    assert_array_equal(model.components_, found.best_model.components_)
    written = pd.read_csv(out / "selection.csv")
    pd.testing.assert_frame_equal(written.drop(columns="seconds"), found.table.drop(columns="seconds"), rtol=1e-8)
    summary = json.loads((out / "summary.json").read_text())
    assert summary["selection"]["tried"] == [1, 2, 3]
    assert summary["selection"]["best"] == found.best_order == summary["parameters"]["n_components"]
    assert summary["selection"]["choices"] == found.choices.to_dict("records")
    again = AspectBernoulli(found.best_order, n_init=2, random_state=summary["seed"]).fit(read_table(table))
    assert_array_equal(again.components_, model.components_)


def test_the_folder_has_the_selection_and_a_report(chosen: tuple[Path, str]) -> None:
    out, _ = chosen
    names = {entry.name for entry in out.iterdir()}
    assert names == set(json.loads((out / "summary.json").read_text())["files"])
    assert names >= TABLES | {"report.html", "model.npz", "denoised.csv"}
    assert (out / "plots" / "selection.png").read_bytes().startswith(b"\x89PNG")


def test_the_choice_is_printed_with_its_reasons(chosen: tuple[Path, str]) -> None:
    out, printed = chosen
    best = len(load_model(out / "model.npz").components_)
    lines = printed.splitlines()
    verdict = json.loads((out / "summary.json").read_text())["verdict"]["sentences"]
    assert lines[: len(verdict)] == verdict
    assert lines[len(verdict)].startswith(f"{best} component")
    place = lines.index("That number was chosen among 1, 2, 3:")
    assert [line.split(":")[0] for line in lines[place + 1 : place + 4]] == ["    bic", "    aic", "    cells"]
    choices = pd.read_csv(out / "choices.csv")["best"]
    assert ("They differ because" in printed) == (choices.nunique() > 1)
    assert ("1 stands for independent columns" in printed) == (best == 1)
    assert lines[-1] == f"Open {out / 'report.html'}."


def test_images_are_remembered(chosen: tuple[Path, str]) -> None:
    out, _ = chosen
    assert json.loads((out / "summary.json").read_text())["shape"] == [3, 4]


@pytest.mark.usefixtures("without_plots")
def test_images_of_another_size_are_refused(run: Run, table: Path, tmp_path: Path) -> None:
    result = run("fit", table, *FAST, "--shape", "16x15", "--out", tmp_path / "run")
    assert_refused(result, "--shape 16x15 doesn't make 12 pixels, one for each column; correct it, or leave it out")
    assert not (tmp_path / "run").exists()


@pytest.mark.usefixtures("without_plots")
def test_a_model_without_aic_is_chosen_by_held_out_cells(run: Run, table: Path, tmp_path: Path) -> None:
    arguments = ["--model", "nmf", "--components", "2,4", "--restarts", 1, "--folds", 2, "--no-report", "--json"]
    result = run("fit", table, *arguments, "--out", tmp_path / "run")
    assert result.exit_code == 0, result.output
    assert [choice["criterion"] for choice in json.loads(result.stdout)["selection"]["choices"]] == ["cells"]
    assert "report.html" not in {entry.name for entry in (tmp_path / "run").iterdir()}
