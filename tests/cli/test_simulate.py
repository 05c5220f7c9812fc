"""`latentbits simulate`: a table to try things on, and what made it."""

from __future__ import annotations

import io
import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from latentbits import read_table

from .conftest import Run, assert_refused

SIZE = ["--rows", 40, "--columns", 9, "--components", 3]


def test_the_table_and_its_truth(run: Run, tmp_path: Path) -> None:
    out, truth = tmp_path / "sites.csv", tmp_path / "truth"
    result = run("simulate", *SIZE, "--out", out, "--truth", truth)
    assert result.exit_code == 0, result.output
    first, last = result.stdout.splitlines()
    assert first == f"Wrote {out}: 40 rows x 9 columns of 3 components, the last a white phantom."
    assert last == f"Go on with: latentbits fit {out} --components 2:5 --out run"
    data = read_table(out)
    assert (data.shape, data.row_label) == ((40, 9), "site")
    components, weights, causes = (pd.read_csv(truth / f"{name}.csv") for name in ("components", "weights", "causes"))
    assert list(components) == ["component", *data.column_names]
    assert not components.iloc[2, 1:].any(), "the phantom"
    assert_allclose(weights.iloc[:, 1:].sum(axis=1), 1)
    assert not data.dense()[causes.iloc[:, 1:] == 2].any(), "the phantom makes zeros"
    assert list(weights["site"]) == list(causes["site"]) == data.row_names
    assert set(json.loads((truth / "summary.json").read_text())["files"]) == {entry.name for entry in truth.iterdir()}
    assert run("simulate", *SIZE, "--out", out, "--truth", truth, "--force").exit_code == 0


def test_without_a_phantom_and_without_a_file(run: Run) -> None:
    shown = run("simulate", *SIZE, "--no-white-phantom", "--seed", 3)
    table = pd.read_csv(io.StringIO(shown.stdout))
    assert table.shape == (40, 10)
    assert set(np.unique(table.iloc[:, 1:])) == {0, 1}
    assert shown.stdout == run("simulate", *SIZE, "--no-white-phantom", "--seed", 3).stdout
    assert shown.stdout != run("simulate", *SIZE, "--no-white-phantom").stdout
    records = json.loads(run("simulate", *SIZE, "--no-white-phantom", "--seed", 3, "--json").stdout)
    assert_array_equal(pd.DataFrame(records), table)


def test_quiet_is_silent(run: Run, tmp_path: Path) -> None:
    assert run("simulate", *SIZE, "--quiet", "--out", tmp_path / "t.csv").output == ""


def test_nothing_is_replaced_unasked(run: Run, tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("mine")
    assert_refused(run("simulate", *SIZE, "--out", tmp_path / "t.csv"), "t.csv exists already")
    assert_refused(run("simulate", *SIZE, "--truth", tmp_path, "--force"), "is not an earlier output")
    assert (tmp_path / "t.csv").read_text() == "mine"


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        (["--components", 1], "a phantom alone makes zeros only"),
        (["--rows", 0], "not in the range"),
        (["--columns", "x"], "not a valid integer"),
    ],
)
def test_wrong_usage(run: Run, asked: list[object], message: str) -> None:
    assert_refused(run("simulate", *asked), message, code=2)
