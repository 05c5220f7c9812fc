"""`latentbits fit`: what it leaves in the folder, what it says, and what it refuses."""

from __future__ import annotations

import json
import re
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

from latentbits import AspectBernoulli, read_table
from latentbits.cli import folder, options
from latentbits.findings import aspect
from latentbits.fitting import restarts
from latentbits.persistence import load_model

from .conftest import FAST, LOST_ROWS, Run, assert_refused, write_table

FILES = {
    "model.npz",
    "data.npz",
    "components.csv",
    "weights.csv",
    "denoised.csv",
    "suspects.csv",
    "restarts.csv",
    "summary.json",
    "plots",
}


pytestmark = pytest.mark.usefixtures("without_plots")


def summary_of(folder: Path) -> dict[str, Any]:
    return json.loads((folder / "summary.json").read_text(encoding="utf-8"))


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


@pytest.mark.filterwarnings("ignore:5 rows have no weight")
def test_tables_say_what_the_model_says(fitted: Path, table: Path, columns: list[str], rows: list[str]) -> None:
    model, data = load_model(fitted / "model.npz"), read_table(table)
    components = pd.read_csv(fitted / "components.csv")
    assert list(components) == ["component", "kind", "share", *columns]
    assert list(components["kind"]) == list(model.phantoms_)
    assert_allclose(components["share"], model.weights_.mean(axis=0), rtol=1e-9)
    assert_allclose(components[columns], model.components_, atol=1e-9)
    weights = pd.read_csv(fitted / "weights.csv")
    assert list(weights) == ["site", "component_0", "component_1", "component_2"]
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
        "fitted": True,
    }
    assert [part["kind"] for part in summary["components"]] == list(model.phantoms_)
    assert summary["aic"] == pytest.approx(model.aic(data))
    assert summary["bic"] == pytest.approx(model.bic(data))
    assert summary["objective"] == model.objective_
    assert summary["converged"] is True
    assert summary["suspected"] == {"absence": int((model.suspicion(data) >= 0.5).sum())}
    assert set(summary["seconds"]) == {"read", "fit", "answers"}
    assert set(summary["versions"]) >= {"latentbits", "python", "numpy", "scikit-learn", "numba"}


def test_more_suspects_than_are_listed_are_all_counted(
    run: Run, table: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fitted: Path
) -> None:
    monkeypatch.setattr(aspect, "N_SUSPECTS", 3)
    assert run("fit", table, *FAST, "--out", tmp_path / "run").exit_code == 0
    assert len(pd.read_csv(tmp_path / "run" / "suspects.csv")) == 3
    assert summary_of(tmp_path / "run")["suspected"] == summary_of(fitted)["suspected"]
    assert summary_of(fitted)["suspected"]["absence"] > 3


def test_a_black_phantom_makes_presences_suspect(run: Run, tmp_path: Path, X: np.ndarray, columns: list[str]) -> None:
    file = write_table(tmp_path / "t.csv", 1 - X, columns)
    result = run("fit", file, *FAST, "--out", tmp_path / "run")
    assert "is a black phantom" in result.stdout
    assert " ones are suspected" in result.stdout
    kinds = pd.read_csv(tmp_path / "run" / "suspects.csv")["kind"]
    assert list(kinds.unique()) == ["absence", "presence"]
    assert set(summary_of(tmp_path / "run")["suspected"]) == {"absence", "presence"}


# ---- the answer on the terminal ----


def test_the_answer_is_short_and_names_names(run: Run, table: Path, tmp_path: Path) -> None:
    result = run("fit", table, *FAST, "--out", tmp_path / "run")
    lines = result.stdout.splitlines()
    assert lines[0].startswith("3 components fitted to 60 rows x 12 columns (")
    assert any("is a white phantom: it explains" in line for line in lines)
    assert any("zeros are suspected" in line for line in lines)
    assert any('row "site' in line and 'column "species' in line for line in lines)
    assert any("restarts" in line for line in lines)
    assert str(tmp_path / "run") in lines[-1]
    assert len(lines) < 15
    assert result.stderr == LOST_ROWS


def test_quiet_is_silent_and_writes_the_same(run: Run, table: Path, tmp_path: Path, fitted: Path) -> None:
    result = run("fit", table, *FAST, "--quiet", "--out", tmp_path / "run")
    assert (result.stdout, result.stderr) == ("", LOST_ROWS)
    for name in ("model.npz", "suspects.csv", "weights.csv"):
        theirs = (fitted / name).read_bytes()
        assert (tmp_path / "run" / name).read_bytes() == theirs


def test_no_phantom_and_a_single_restart_are_said(run: Run, table: Path, tmp_path: Path) -> None:
    result = run("fit", table, "--components", 1, "--restarts", 1, "--out", tmp_path / "run")
    assert "1 component fitted" in result.stdout
    assert "No component is a phantom" in result.stdout
    assert "one restart only" in result.stdout


def test_running_out_of_passes_is_a_note(run: Run, table: Path, tmp_path: Path) -> None:
    result = run("fit", table, "--components", 2, "--max-iter", 1, "--out", tmp_path / "run")
    assert result.exit_code == 0
    assert result.stderr.startswith("note: the best restart made all max_iter=1 passes")
    summary = summary_of(tmp_path / "run")
    assert summary["converged"] is False
    assert summary["notes"] == [note.removeprefix("note: ") for note in result.stderr.splitlines()]


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
    for name in ("components", "weights", "denoised"):
        assert not pd.read_csv(tmp_path / "run" / f"{name}.csv").isna().any(axis=None)


def test_a_matrix_without_names_has_positions(run: Run, tmp_path: Path, X: np.ndarray) -> None:
    sp.save_npz(tmp_path / "m.npz", sp.csr_array(X))
    assert run("fit", tmp_path / "m.npz", *FAST, "--out", tmp_path / "run").exit_code == 0
    denoised = pd.read_csv(tmp_path / "run" / "denoised.csv")
    assert list(denoised) == ["row", *map(str, range(12))]
    assert list(denoised["row"]) == list(range(60))
    suspects = pd.read_csv(tmp_path / "run" / "suspects.csv")
    assert suspects["column"].between(0, 11).all()
    again = run("suspects", tmp_path / "run", tmp_path / "m.npz", "--top", 2)
    assert again.exit_code == 0, again.output


def test_an_attribute_may_be_called_row_or_kind(run: Run, tmp_path: Path, X: np.ndarray) -> None:
    file = write_table(tmp_path / "t.csv", X[:, :3], ["row", "kind", "share"])
    result = run("fit", file, "--no-row-labels", *FAST, "--out", tmp_path / "run")
    assert result.exit_code == 0, result.output
    head = (tmp_path / "run" / "components.csv").read_text().splitlines()[0]
    assert head == "component,kind_,share_,row,kind,share"
    assert (tmp_path / "run" / "denoised.csv").read_text().startswith("row_,row,kind,share\n")


def test_labels_that_look_like_formulas_are_made_harmless(run: Run, tmp_path: Path, X: np.ndarray) -> None:
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


# ---- reading options ----


def test_reading_options_are_those_of_the_reader(run: Run, tmp_path: Path, X: np.ndarray) -> None:
    cells = [["x" if value else "" for value in row] for row in X]
    cells[0][1] = "lost"
    lines = [";".join([f"s{i}", "12 m", *row]) for i, row in enumerate(cells)]
    head = ";".join(["Fundort", "Höhe", *(f"c{j}" for j in range(12))])
    file = tmp_path / "t.txt"
    file.write_text("\n".join([head, *lines]), encoding="latin-1")
    asked = ["--encoding", "latin-1", "--delimiter", ";", "--row-labels", "Fundort", "--exclude", "Höhe"]
    asked += ["--exclude", "c11", "--presence", "x", "--missing", "lost"]
    result = run("fit", file, *asked, *FAST, "--out", tmp_path / "run")
    assert result.exit_code == 0, result.output
    data = summary_of(tmp_path / "run")["data"]
    assert (data["rows"], data["columns"], data["missing"]) == (60, 11, 1)


@pytest.mark.parametrize(
    ("text", "asked", "columns"),
    [
        ("1,0\n0,1\n1,1\n", ["--no-header"], ["x1", "x2"]),
        ("a,b\n3,0\n0,2\n1,0\n", ["--threshold", 2], ["a", "b"]),
        ("a,b,c\n1,0,1\n0,1,1\n", ["--columns", "c", "--columns", "a"], ["c", "a"]),
        ("a,b\nJa,Nein\nNein,Ja\n", ["--true", "ja", "--false", "nein", "--no-row-labels"], ["a", "b"]),
    ],
)
def test_each_reading_option(run: Run, tmp_path: Path, text: str, asked: list[str], columns: list[str]) -> None:
    (tmp_path / "t.csv").write_text(text)
    result = run("fit", tmp_path / "t.csv", "--components", 1, *asked, "--out", tmp_path / "run")
    assert result.exit_code == 0, result.output
    assert list(load_model(tmp_path / "run" / "model.npz").feature_names_in_) == columns


def test_an_array_of_an_npz_file_is_chosen(run: Run, tmp_path: Path, X: np.ndarray) -> None:
    np.savez(tmp_path / "t.npz", first=X, second=X[:, :4])
    result = run("fit", tmp_path / "t.npz", "--array", "second", *FAST, "--out", tmp_path / "run")
    assert result.exit_code == 0, result.output
    assert summary_of(tmp_path / "run")["data"]["columns"] == 4


def test_every_option_that_the_readers_advise_exists() -> None:
    files = Path(read_table.__code__.co_filename).parent.glob("*.py")
    source = "".join(file.read_text(encoding="utf-8") for file in files)
    offered = {f"--{name.replace('_', '-')}" for name in options._READING}
    spelled = set(re.findall(r"--[a-z][a-z-]*", source))
    advised = {f"--{name}" for name in re.findall(r"option\('(\w+)'", source)}
    assert spelled >= {"--no-header", "--array", "--exclude", "--threshold"}
    assert advised >= {"--delimiter", "--encoding", "--missing", "--presence"}
    assert spelled | advised <= offered


# ---- refusals ----


def test_bad_cells_are_refused_in_one_line(run: Run, tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("a,b\n1,0\n0,3\n")
    result = run("fit", tmp_path / "t.csv", "--components", 2, "--out", tmp_path / "run")
    assert_refused(result, 't.csv, line 3, column "b": value 3 is neither 0 nor 1')
    assert not (tmp_path / "run").exists()


def test_a_missing_file_is_refused(run: Run, tmp_path: Path) -> None:
    result = run("fit", tmp_path / "absent.csv", "--components", 2, "--out", tmp_path / "run")
    assert_refused(result, "absent.csv: no such file")


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        (["--components", 0], '"0" begins below 1'),
        (["--components", "two"], '"two" is no number of components'),
        (["--components", 2, "--shape", "4by3"], '"4by3" is no shape'),
        (["--components", 2, "--criterion", "aic"], "--criterion chooses among several --components"),
        (["--components", 2, "--folds", 10], "--folds chooses among several --components"),
        (["--components", "2:3", "--model", "binary-factors"], "--components of binary-factors must be one number"),
        (["--components", 2, "--model", "magic"], "'magic' is not"),
        (["--components", 2, "--jobs", 0], "use 1 or more, or -1"),
        (["--components", 2, "--tol", "nan"], "not a finite number"),
        (["--components", 2, "--restarts", 0], "not in the range"),
        (["--components", 2, "--seed", -1], "not in the range"),
        (["--components", 2, "--row-labels", "a", "--no-row-labels"], "not both"),
        ([], "Missing option '--components'"),
    ],
)
def test_wrong_usage_is_exit_code_2(run: Run, table: Path, tmp_path: Path, asked: list[Any], message: str) -> None:
    result = run("fit", table, *asked, "--out", tmp_path / "run")
    assert_refused(result, message, code=2)
    assert not (tmp_path / "run").exists()


# ---- an output is there as a whole or not at all ----


def test_an_existing_folder_is_refused_before_any_work(run: Run, tmp_path: Path) -> None:
    (tmp_path / "run").mkdir()
    result = run("fit", tmp_path / "absent.csv", "--components", 2, "--out", tmp_path / "run")
    assert_refused(result, "run exists already; choose another --out, or use --force")


def test_force_replaces_an_earlier_output(run: Run, table: Path, tmp_path: Path) -> None:
    out = tmp_path / "run"
    assert run("fit", table, *FAST, "--out", out).exit_code == 0
    (out / "weights.csv").unlink()
    assert run("fit", table, *FAST, "--seed", 1, "--out", out, "--force").exit_code == 0
    assert {entry.name for entry in out.iterdir()} == FILES
    assert summary_of(out)["seed"] == 1
    assert [entry.name for entry in tmp_path.iterdir()] == ["run"]


def test_force_fills_an_empty_folder(run: Run, table: Path, tmp_path: Path) -> None:
    (tmp_path / "run").mkdir()
    assert run("fit", table, *FAST, "--out", tmp_path / "run", "--force").exit_code == 0
    assert {entry.name for entry in (tmp_path / "run").iterdir()} == FILES


@pytest.mark.parametrize(
    ("present", "message"),
    [
        ({"thesis.tex": "mine"}, "is not an earlier output, which --force would delete"),
        (
            {"model.npz": "ours", "summary.json": '{"files": ["model.npz", "summary.json"]}', "notes.md": "mine"},
            "holds 'notes.md', which --force would delete",
        ),
        ({"model.npz": "mine"}, "is not an earlier output"),
        ({"summary.json": "[no summary of ours]"}, "is not an earlier output"),
    ],
)
def test_force_spares_what_is_not_ours(
    run: Run, table: Path, tmp_path: Path, present: dict[str, str], message: str
) -> None:
    out = tmp_path / "run"
    out.mkdir()
    for name, content in present.items():
        (out / name).write_text(content)
    assert_refused(run("fit", table, *FAST, "--out", out, "--force"), message)
    assert sorted(entry.name for entry in out.iterdir()) == sorted(present)


def test_force_spares_a_file(run: Run, table: Path, tmp_path: Path) -> None:
    (tmp_path / "run").write_text("mine")
    assert_refused(run("fit", table, *FAST, "--out", tmp_path / "run", "--force"), "is a file, not a folder")
    assert (tmp_path / "run").read_text() == "mine"


@pytest.mark.parametrize("error", [OSError("disk full"), KeyboardInterrupt(), RuntimeError("a bug")])
@pytest.mark.parametrize("earlier", [False, True])
def test_a_failure_half_way_leaves_nothing_new(
    run: Run,
    table: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    error: BaseException,
    earlier: bool,
) -> None:
    out = tmp_path / "deep" / "run"
    if earlier:
        assert run("fit", table, *FAST, "--out", out).exit_code == 0
    written: list[Path] = []

    def fail(_: Any, plots: Path) -> None:
        written.extend(plots.parent.iterdir())
        raise error

    monkeypatch.setattr(folder, "write_plots", fail)
    result = run("fit", table, *FAST, "--seed", 1, "--out", out, "--force")
    assert len(written) == 7, "the failure should come half way"
    assert result.exit_code == {OSError: 1, KeyboardInterrupt: 130, RuntimeError: 1}[type(error)]
    assert [entry.name for entry in out.parent.iterdir()] == (["run"] if earlier else [])
    if earlier:
        assert summary_of(out)["seed"] == 0
        assert {entry.name for entry in out.iterdir()} == FILES


def test_the_earlier_folder_comes_back_if_the_last_rename_fails(
    run: Run, table: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "run"
    assert run("fit", table, *FAST, "--out", out).exit_code == 0
    rename = Path.rename
    calls: list[str] = []

    def second_fails(self: Path, target: Path) -> Path:
        calls.append(self.name)
        if len(calls) == 2:
            raise OSError("no more renames")
        return rename(self, target)

    monkeypatch.setattr(Path, "rename", second_fails)
    assert_refused(run("fit", table, *FAST, "--seed", 1, "--out", out, "--force"), "no more renames")
    assert summary_of(out)["seed"] == 0
    assert [entry.name for entry in tmp_path.iterdir()] == ["run"]


def test_an_interrupted_fit_leaves_the_best_so_far(
    run: Run, table: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    one_run = restarts._one_run

    def interrupted(*args: Any) -> Any:
        time.sleep(0.2)  # until the main thread waits for us
        signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)
        time.sleep(0.2)
        return one_run(*args)

    monkeypatch.setattr(restarts, "_one_run", interrupted)
    arguments = ["--components", 2, "--restarts", 50, "--jobs", 1, "--no-report"]
    result = run("fit", table, *arguments, "--out", tmp_path / "run")
    assert result.exit_code == 130
    assert "note: interrupted: this is the best of 1 restarts" in result.stderr
    assert {entry.name for entry in (tmp_path / "run").iterdir()} == FILES
