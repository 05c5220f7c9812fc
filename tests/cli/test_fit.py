"""`latentbits fit`: what it leaves in the folder, and what it prints."""

from __future__ import annotations

import json
import signal
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal

from latentbits import AspectBernoulli, read_table, simulate
from latentbits.findings import aspect
from latentbits.findings.account import components_checksum
from latentbits.fitting import restarts
from latentbits.storage.persistence import load_model

from .conftest import FAST, FILES, Run, summary_of, without_progress, write_table

pytestmark = pytest.mark.usefixtures("without_plots")


# ---- the folder ----


def test_the_folder_holds_everything_and_nothing_else(fitted: Path) -> None:
    assert {entry.name for entry in fitted.iterdir()} == FILES | {"report.html"} == set(summary_of(fitted)["files"])
    plots = {entry.name for entry in (fitted / "plots").iterdir()}
    assert plots == {"components.png", "weights.png", "objective.png", "denoising.png"}
    assert all((fitted / "plots" / name).read_bytes().startswith(b"\x89PNG") for name in plots)
    assert [entry.name for entry in fitted.parent.iterdir()] == ["run"]


def test_the_model_is_the_one_that_python_fits(fitted: Path, table: Path) -> None:
    model = load_model(fitted / "model.npz")
    same = AspectBernoulli(3, n_init=2, random_state=0).fit(read_table(table))
    assert_array_equal(model.components_, same.components_)
    assert model.verbose == 0


@pytest.mark.filterwarnings("ignore:7 rows have no weight")
def test_tables_say_what_the_model_says(fitted: Path, table: Path, columns: list[str], rows: list[str]) -> None:
    model, data = load_model(fitted / "model.npz"), read_table(table)
    components = pd.read_csv(fitted / "components.csv")
    assert list(components) == ["component", "kind", "share", *columns]
    assert list(components["kind"]) == list(model._solved(data).evidence.kinds)
    assert_allclose(components["share"], model.weights_.mean(axis=0), rtol=1e-9)
    assert_allclose(components[columns], model.components_, atol=1e-9)
    weights = pd.read_csv(fitted / "weights.csv")
    assert list(weights) == ["site", "component_1", "component_2", "component_3"]
    assert list(weights["site"]) == rows
    assert_allclose(weights.iloc[:, 1:], model.weights_, atol=1e-9)
    denoised = pd.read_csv(fitted / "denoised.csv", index_col="site")
    assert list(denoised.index) == rows
    assert_array_equal(denoised, model.denoise(data))
    assert_allclose(pd.read_csv(fitted / "restarts.csv")["objective"], model.restarts_["objective"], rtol=1e-9)


def test_suspects_are_zeros_by_name_the_best_first(
    fitted: Path, X: np.ndarray, columns: list[str], rows: list[str]
) -> None:
    suspects = pd.read_csv(fitted / "suspects.csv")
    assert list(suspects) == ["row", "column", "kind", "score", "phantom"]
    assert set(suspects["kind"]) == {"absence"}
    assert suspects["score"].is_monotonic_decreasing
    assert len(suspects) == (X == 0).sum()
    cells = [
        X[rows.index(row), columns.index(column)]
        for row, column in zip(suspects["row"], suspects["column"], strict=True)
    ]
    assert not any(cells)


def test_the_summary(fitted: Path, table: Path, X: np.ndarray) -> None:
    summary, model, data = summary_of(fitted), load_model(fitted / "model.npz"), read_table(table)
    assert summary["model"] == "aspect-bernoulli"
    assert summary["parameters"] == model.get_params()
    assert summary["seed"] == 0
    assert summary["data"] == {
        "file": "sites.csv",
        "fingerprint": data.fingerprint(),
        "rows": 60,
        "columns": 12,
        "ones": int(X.sum()),
        "zeros": int((X == 0).sum()),
        "missing": 0,
        "density": pytest.approx(X.mean()),
        "constant_columns": sum(len(set(column)) < 2 for column in X.T),
        "fitted": True,
        "reading": {"row_labels": "site"},
    }
    assert [part["kind"] for part in summary["components"]] == list(model._solved(data).evidence.kinds)
    assert summary["aic"] == pytest.approx(model.aic(data))
    assert summary["bic"] == pytest.approx(model.bic(data))
    assert summary["objective"] == pytest.approx(model.objective_, rel=1e-11)
    assert summary["converged"] is True
    assert summary["suspected"] == {"absence": int((model.denoise(data) > X).sum())}
    assert set(summary["seconds"]) == {"read", "fit", "answers", "verdict"}
    assert set(summary["versions"]) >= {"latentbits", "python", "numpy", "scikit-learn", "numba"}


@pytest.fixture(scope="module")
def lossy() -> np.ndarray:
    """Rows that have lost up to 80 % of their ones: noise that held-out cells bear out."""
    clean = simulate.aspect_bernoulli(100, 25, 3, sharpness=0.1, concentration=0.2, density=0.5, random_state=1).X
    return simulate.corrode(clean, 0.8, random_state=1).X


LOSSY = ["--components", 4, "--restarts", 5, "--jobs", 1, "--no-report"]


def test_the_answer_the_summary_and_the_file_say_one_number(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, lossy: np.ndarray
) -> None:
    monkeypatch.setattr(aspect, "N_SUSPECTS", 3)
    file = write_table(tmp_path / "t.csv", lossy, [f"c{j}" for j in range(25)])
    result = run("fit", file, *LOSSY, "--out", tmp_path / "run")
    assert "is a white noise component (a phantom): it explains" in result.stdout
    assert len(pd.read_csv(tmp_path / "run" / "suspects.csv")) == 3
    filled = int((pd.read_csv(tmp_path / "run" / "denoised.csv").iloc[:, 1:].to_numpy() > lossy).sum())
    assert filled > 3
    assert f"{filled} of {(lossy == 0).sum():,} zeros are suspected, more likely false than not" in result.stdout
    assert summary_of(tmp_path / "run")["suspected"] == {"absence": filled}
    again = run("denoise", tmp_path / "run", file, "--out", tmp_path / "clean.csv")
    assert f"{filled} of 2500 cells changed or filled in" in again.stdout.replace(",", "")
    model = load_model(tmp_path / "run" / "model.npz")
    rated = {"format": "latentbits-ratings", "version": 1, "components": components_checksum(model), "threshold": 0.5}
    rated |= {"ratings": [float(kind == "content") for kind in model.phantoms_], "change": "auto"}
    (tmp_path / "ratings.json").write_text(json.dumps(rated), encoding="utf-8")
    untouched = run("denoise", tmp_path / "run", file, "--ratings", tmp_path / "ratings.json")
    assert untouched.exit_code == 0, untouched.stderr
    assert untouched.stdout == (tmp_path / "clean.csv").read_text(), "as the report saves it if nothing was moved"


def test_a_black_phantom_makes_presences_suspect(run: Run, tmp_path: Path, lossy: np.ndarray) -> None:
    file = write_table(tmp_path / "t.csv", 1 - lossy, [f"c{j}" for j in range(25)])
    result = run("fit", file, *LOSSY, "--out", tmp_path / "run")
    assert "is a black noise component" in result.stdout
    assert " ones are suspected, more likely false than not" in result.stdout
    kinds = pd.read_csv(tmp_path / "run" / "suspects.csv")["kind"]
    assert list(kinds.unique()) == ["absence", "presence"]
    assert set(summary_of(tmp_path / "run")["suspected"]) == {"absence", "presence"}


# ---- the answer on the terminal ----


def test_the_answer_is_short_and_names_names(run: Run, table: Path, tmp_path: Path) -> None:
    result = run("fit", table, *FAST, "--out", tmp_path / "run")
    lines = result.stdout.splitlines()
    verdict = summary_of(tmp_path / "run")["verdict"]["sentences"]
    assert lines[: len(verdict)] == verdict
    assert lines[len(verdict)].startswith("3 components fitted to 60 rows x 12 columns (")
    assert any(line.startswith("What looks like a noise component counts as content: made blank,") for line in lines)
    assert any(line.startswith("0 of ") and "zeros are suspected: by held-out cells none" in line for line in lines)
    assert any("restarts" in line for line in lines)
    assert str(tmp_path / "run") in lines[-1]
    assert len(lines) - len(verdict) < 15 > 5 * len(verdict) - 1
    assert without_progress(result.stderr) == "", "what looks like noise is told by the answer"


def test_quiet_is_silent_and_writes_the_same(run: Run, table: Path, tmp_path: Path, fitted: Path) -> None:
    result = run("fit", table, *FAST, "--quiet", "--out", tmp_path / "run")
    assert result.stdout == ""
    assert result.stderr == ""
    for name in ("model.npz", "suspects.csv", "weights.csv"):
        theirs = (fitted / name).read_bytes()
        assert (tmp_path / "run" / name).read_bytes() == theirs


def test_no_phantom_and_a_single_restart_are_printed(run: Run, table: Path, tmp_path: Path) -> None:
    result = run("fit", table, "--components", 1, "--restarts", 1, "--out", tmp_path / "run")
    assert "1 component fitted" in result.stdout
    assert "No noise component was found" in result.stdout
    assert "one restart only" in result.stdout


def test_running_out_of_passes_is_a_note(run: Run, table: Path, tmp_path: Path) -> None:
    result = run("fit", table, "--components", 2, "--max-iter", 1, "--out", tmp_path / "run")
    assert result.exit_code == 0
    assert without_progress(result.stderr).startswith("note: the best restart made all max_iter=1 passes")
    summary = summary_of(tmp_path / "run")
    assert summary["converged"] is False
    kept = zip(summary["notes"], summary["note_codes"], strict=True)
    printed = [note.removeprefix("note: ") for note in without_progress(result.stderr).splitlines()]
    assert printed == [note for note, code in kept if code != "no_noise_component"], "that one the answer says"


def test_tol_reaches_the_model(run: Run, table: Path, tmp_path: Path) -> None:
    run("fit", table, *FAST, "--tol", "0.01", "--seed", 5, "--out", tmp_path / "run")
    parameters = summary_of(tmp_path / "run")["parameters"]
    assert (parameters["tol"], parameters["random_state"]) == (0.01, 5)


# ---- odd data ----


@pytest.mark.parametrize(
    ("X", "components"),
    [
        (np.zeros((4, 3), int), 2),
        (np.ones((4, 3), int), 2),
        (np.array([[0, 1, 1, 0]]), 2),
        (np.array([[0], [1], [1]]), 1),
        (np.array([[0, 1], [1, 0]]), 5),
    ],
    ids=["zeros", "ones", "one row", "one column", "more components than rows"],
)
def test_degenerate_data_are_fitted(run: Run, tmp_path: Path, X: np.ndarray, components: int) -> None:
    names = [f"c{j}" for j in range(X.shape[1])]
    file = write_table(tmp_path / "t.csv", X, names, [f"r{i}" for i in range(len(X))])
    arguments = ["--components", components, "--restarts", 2, "--no-report"]
    result = run("fit", file, *arguments, "--out", tmp_path / "run")
    assert result.exit_code == 0, result.output + str(result.exception)
    assert {entry.name for entry in (tmp_path / "run").iterdir()} == FILES
    assert result.stdout.startswith("This model can't be tested: ")
    for name in ("components", "weights", "denoised"):
        assert not pd.read_csv(tmp_path / "run" / f"{name}.csv").isna().any(axis=None)


def test_a_matrix_without_names_has_positions(run: Run, tmp_path: Path, X: np.ndarray) -> None:
    sp.save_npz(tmp_path / "m.npz", sp.csr_array(X))
    assert run("fit", tmp_path / "m.npz", *FAST, "--out", tmp_path / "run").exit_code == 0
    denoised = pd.read_csv(tmp_path / "run" / "denoised.csv")
    assert list(denoised) == ["row", *(f"column {j}" for j in range(1, 13))]
    assert list(denoised["row"]) == [f"row {i}" for i in range(1, 61)]
    suspects = pd.read_csv(tmp_path / "run" / "suspects.csv")
    assert set(suspects["column"]) <= set(denoised)
    for line in suspects.itertuples():
        assert X[int(line.row.split()[1]) - 1, int(line.column.split()[1]) - 1] == 0
    again = run("suspects", tmp_path / "run", tmp_path / "m.npz", "--top", 2)
    assert again.exit_code == 0, again.output


def test_an_attribute_may_be_called_row_or_kind(run: Run, tmp_path: Path, X: np.ndarray) -> None:
    file = write_table(tmp_path / "t.csv", X[:, :3], ["row", "kind", "share"])
    result = run("fit", file, "--no-row-labels", *FAST, "--out", tmp_path / "run")
    assert result.exit_code == 0, result.output
    head = (tmp_path / "run" / "components.csv").read_text().splitlines()[0]
    assert head == "component,kind_,share_,row,kind,share"
    assert (tmp_path / "run" / "denoised.csv").read_text().startswith("row_,row,kind,share\n")


def test_labels_that_look_like_formulas_are_escaped(run: Run, tmp_path: Path, X: np.ndarray) -> None:
    columns = ["=cmd()", "+a", "-b", "@c", "-1.5", "Equus"]
    rows = [f"=r{i}" for i in range(len(X))]
    file = write_table(tmp_path / "t.csv", X[:, :6], columns, rows)
    assert run("fit", file, *FAST, "--out", tmp_path / "run").exit_code == 0
    weights = (tmp_path / "run" / "weights.csv").read_text().splitlines()
    assert weights[1].startswith("'=r0,")
    denoised = (tmp_path / "run" / "denoised.csv").read_text().splitlines()
    assert denoised[0] == "site,'=cmd(),'+a,'-b,'@c,-1.5,Equus"
    for name in FILES - {"model.npz", "data.npz", "summary.json", "plots"}:
        for line in (tmp_path / "run" / name).read_text().splitlines():
            assert not any(cell.startswith(("=", "@", "+a", "-b")) for cell in line.split(",")), name


# ---- an interrupted fit ----


def test_an_interrupted_fit_leaves_the_best_so_far(
    run: Run, table: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    climb_together = restarts.climb_together

    def interrupted(*args: Any) -> Any:
        time.sleep(0.2)  # until the main thread waits for us
        signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)
        time.sleep(0.2)
        return climb_together(*args)

    monkeypatch.setattr(restarts, "climb_together", interrupted)
    arguments = ["--components", 2, "--restarts", 50, "--jobs", 1, "--no-report"]
    result = run("fit", table, *arguments, "--out", tmp_path / "run")
    assert result.exit_code == 130
    # Restarts of a small table climb together: all have begun.
    assert "note: interrupted: this is the best of 50 restarts so far" in result.stderr
    assert {entry.name for entry in (tmp_path / "run").iterdir()} == FILES
