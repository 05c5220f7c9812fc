"""`latentbits check`: its sentence, table and folder."""

from __future__ import annotations

import json
from pathlib import Path

import pandas as pd

from latentbits import IsingModel, check, read_table

from .conftest import assert_refused, invoke

ASKED = ["--model", "ising", "--knocked-out", 30, "--repeats", 2, "--seed", 1, "--jobs", 1]


def test_it_says_what_python_says(table: Path, tmp_path: Path) -> None:
    found = check(read_table(table), IsingModel(), n_knocked_out=30, n_repeats=2, random_state=1)
    out = tmp_path / "checked"
    result = invoke("check", table, *ASKED, "--out", out)
    assert result.exit_code == 0, result.output
    assert str(found) in result.stdout
    written = pd.read_csv(out / "check.csv")
    pd.testing.assert_frame_equal(written, found.table, check_exact=False, rtol=1e-5)
    assert len(pd.read_csv(out / "curves.csv")) == len(found.curves)
    assert (out / "plots" / "check.png").stat().st_size > 0
    assert invoke("check", table, *ASKED, "--out", out).exit_code == 1  # it exists
    assert invoke("check", table, *ASKED, "--out", out, "--force").exit_code == 0


def test_json_has_the_same(table: Path) -> None:
    answer = json.loads(invoke("check", table, *ASKED, "--json").stdout)
    assert answer["knocked_out"] == 30
    assert answer["first"] == 20
    assert answer["table"][0]["found"] == answer["found"]
    assert answer["sentence"].startswith(f"{answer['found']:.3g} of the first 20 suspects")


def test_what_cannot_be_checked_is_refused(tmp_path: Path) -> None:
    ones = tmp_path / "ones.csv"
    ones.write_text("a,b\n1,1\n1,1\n", encoding="utf-8")
    assert_refused(invoke("check", ones), "every observed cell is a 1")
    assert_refused(invoke("check", ones, "--model", "nmf"), "Missing option '--components'", code=2)
    assert_refused(invoke("check", ones, "--model", "ica-mixture"), "ica-mixture", code=2)
    assert_refused(invoke("check", ones, "--components", 3), "not an option of false-zeros", code=2)
