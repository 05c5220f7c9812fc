"""A small table, a folder fitted to it once, and a way to run commands."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner, Result

from latentbits import simulate
from latentbits.cli.main import program
from latentbits.storage import run_folder

Run = Callable[..., Result]

N_ROWS, N_COLUMNS = 60, 12
READ_AS_FITTED = "note: read as for the fit: --row-labels site\n"
NONE_SUSPECTED = "note: the fit suspects no zeros; listed are those least like their rows\n"
LOST_ROWS = "note: 7 rows have no weight on any kept component; they get the average kept weights\n"
FAST = ["--components", 3, "--restarts", 2, "--jobs", 1, "--no-report"]
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
"""What a fit of an aspect model leaves behind, without a report."""


def write_table(path: Path, X: np.ndarray, columns: list[str], rows: list[str] | None = None) -> Path:
    """A CSV file, with a label column if there are row names."""
    head = columns if rows is None else ["site", *columns]
    lines = [",".join(head)]
    for i, values in enumerate(X):
        lines.append(",".join([*([] if rows is None else [rows[i]]), *map(str, values)]))
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def summary_of(folder: Path) -> dict[str, Any]:
    """What a fit says about itself."""
    return json.loads((folder / "summary.json").read_text(encoding="utf-8"))


def invoke(*args: object) -> Result:
    """Run `latentbits` in this process; what a fit says is asked for in full (test_terminal.py has the short form)."""
    in_full = ["--verbose"] if args and args[0] in ("fit", "false-zeros") and "--help" not in args else []
    return CliRunner().invoke(program, [*map(str, args), *in_full], prog_name="latentbits")


def without_progress(stderr: str) -> str:
    """What was said on stderr beside how long each stage took."""
    return re.sub(r"^\w+: \d+ of \d+, \d+\.\d s\n", "", stderr, flags=re.MULTILINE)


def assert_refused(result: Result, *parts: str, code: int = 1) -> None:
    """Nothing on stdout, and on stderr one sentence with these parts (or click's words, for code 2)."""
    assert result.exit_code == code, result.output + repr(result.exception)
    assert result.stdout == ""
    printed = " ".join(result.stderr.split())
    for part in parts:
        assert part in printed
    if code == 1:
        *notes, error = without_progress(result.stderr).splitlines()
        assert error.startswith("error: ")
        assert all(note.startswith("note: ") for note in notes)


@pytest.fixture
def run() -> Run:
    return invoke


@pytest.fixture
def without_plots(monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave the plots' folder empty: drawing takes longer than all the rest."""
    monkeypatch.setattr(run_folder, "write_plots", lambda _, plots, *__: plots.mkdir())


@pytest.fixture(scope="session")
def X() -> np.ndarray:
    """Data with a white phantom; the few rows that are all 0 belong to it alone, which is worth a note."""
    truth = simulate.aspect_bernoulli(N_ROWS, N_COLUMNS, 3, white_phantom=True, sharpness=0.2, random_state=0)
    return truth.X


@pytest.fixture(scope="session")
def columns() -> list[str]:
    return [f"species{j}" for j in range(N_COLUMNS)]


@pytest.fixture(scope="session")
def rows() -> list[str]:
    return [f"site{i}" for i in range(N_ROWS)]


@pytest.fixture(scope="session")
def table(tmp_path_factory: pytest.TempPathFactory, X: np.ndarray, columns: list[str], rows: list[str]) -> Path:
    return write_table(tmp_path_factory.mktemp("data") / "sites.csv", X, columns, rows)


@pytest.fixture(scope="session")
def fitted(tmp_path_factory: pytest.TempPathFactory, table: Path) -> Path:
    """The folder of a fit, with a report; tests only read it."""
    out = tmp_path_factory.mktemp("fitted") / "run"
    result = invoke("fit", table, *FAST, "--report", "--out", out)
    assert result.exit_code == 0, result.output
    return out
