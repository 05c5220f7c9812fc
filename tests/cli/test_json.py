"""`--json`: one strict document on stdout for scripts, whatever the command."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from click.testing import Result

from latentbits.cli.commands import examples as demo
from latentbits.storage.files import to_json, to_records

from .conftest import FAST, Run, write_table

pytestmark = pytest.mark.usefixtures("without_plots")

TRIALS = ["--restarts", 2, "--folds", 3, "--jobs", 1]


def strict(result: Result) -> Any:
    """The document, in which no NaN is allowed."""

    def refuse(constant: str) -> None:
        raise AssertionError(constant)

    assert result.exit_code == 0, result.output + repr(result.exception)
    return json.loads(result.stdout, parse_constant=refuse)


@pytest.mark.parametrize("more", [[], ["--quiet"]], ids=["", "quiet"])
def test_fit(run: Run, table: Path, tmp_path: Path, more: list[str]) -> None:
    answer = strict(run("fit", table, *FAST, "--json", *more, "--out", tmp_path / "run"))
    assert answer == json.loads((tmp_path / "run" / "summary.json").read_text(encoding="utf-8"))


def test_select(run: Run, table: Path, tmp_path: Path) -> None:
    asked = ["--components", "2", "--criterion", "cells,aic", *TRIALS]
    answer = strict(run("select", table, *asked, "--json", "--out", tmp_path / "out"))
    assert (answer["model"], answer["file"]) == ("aspect-bernoulli", "sites.csv")
    assert answer["best"] == answer["choices"][0]["best"]
    for name in ("selection", "choices", "folds", "stability"):
        written = pd.read_csv(tmp_path / "out" / f"{name}.csv")
        pd.testing.assert_frame_equal(pd.DataFrame(answer[name]), written, check_dtype=False, rtol=1e-8)


def test_compare(run: Run, table: Path) -> None:
    answer = strict(run("compare", table, "--models", "nmf:2", *TRIALS, "--criterion", "cells", "--json"))
    assert answer["best"] == answer["comparison"][0]["model"]
    assert {line["model"] for line in answer["folds"]} == {"nmf:2", "independent columns"}


def test_demo(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(demo, "N_RESTARTS", 1)
    monkeypatch.setattr(demo, "N_COMPONENTS", 3)
    answer = strict(run("demo", "--json", "--quiet", "--out", tmp_path / "out"))
    assert set(answer["demo"]) == {"noise_removal_rate", "auc"}


@pytest.mark.parametrize(
    "words", [["denoise"], ["suspects", "--top", 5], ["explain", "--row", "site3"]], ids=lambda words: words[0]
)
def test_answers(run: Run, fitted: Path, table: Path, tmp_path: Path, words: list[object]) -> None:
    first, *asked = words
    result = run(first, fitted, table, *asked, "--json")
    answer = strict(result)
    assert run(first, fitted, table, *asked, "--out", tmp_path / "t.csv", "--quiet").stdout == ""
    pd.testing.assert_frame_equal(pd.DataFrame(answer), pd.read_csv(tmp_path / "t.csv"), check_dtype=False, rtol=1e-8)
    assert run(first, fitted, table, *asked, "--json", "--out", tmp_path / "t.json").stdout == ""
    assert (tmp_path / "t.json").read_text() == result.stdout


def test_a_missing_cell_is_null(run: Run, fitted: Path, tmp_path: Path, columns: list[str]) -> None:
    file = write_table(tmp_path / "t.csv", np.array([["NA"] + ["1"] * 11]), columns, ["a"])
    answer = strict(run("explain", fitted, file, "--cell", "a", "species0", "--json"))
    assert [line["value"] for line in answer] == [None] * 3


def test_numbers_are_numbers_and_names_stay_as_they_are() -> None:
    table = pd.DataFrame({"n": np.array([1, 2]), "x": [0.5, np.nan], "ok": [True, False], "name": ["=a", 'é"']})
    records = to_records(table)
    assert records == [
        {"n": 1, "x": 0.5, "ok": True, "name": "=a"},
        {"n": 2, "x": None, "ok": False, "name": 'é"'},
    ]
    assert json.loads(to_json(records)) == records
    assert to_json(records).count("\n") == 3, "a line for each record"


def test_a_refusal_leaves_stdout_empty(run: Run, tmp_path: Path) -> None:
    result = run("fit", tmp_path / "absent.csv", *FAST, "--json", "--out", tmp_path / "run")
    assert (result.exit_code, result.stdout) == (1, "")
