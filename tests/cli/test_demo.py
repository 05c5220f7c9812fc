"""`latentbits demo`, with fewer restarts than usual."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from latentbits import datasets, read_table
from latentbits.cli.commands import examples as demo

from .conftest import Run


@pytest.fixture(autouse=True)
def _fewer_restarts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(demo, "N_RESTARTS", 2)


def test_the_demo_finds_the_phantom_and_removes_noise(run: Run, tmp_path: Path) -> None:
    out = tmp_path / "show"
    result = run("demo", "--out", out)
    assert result.exit_code == 0, result.output + repr(result.exception)
    assert "is a white noise component" in result.stdout
    summary = json.loads((out / "summary.json").read_text())
    rate, auc = summary["demo"]["noise_removal_rate"], summary["demo"]["auc"]
    assert rate["denoised"] > rate["plain_reconstruction"] + 0.1
    assert auc["suspects"] > auc["plain_reconstruction"] + 0.03
    assert f"{rate['plain_reconstruction']:.3f} -> {rate['denoised']:.3f}" in result.stdout
    assert (out / "plots" / "denoising.png").exists()
    clean, noisy = read_table(out / "clean.csv"), read_table(out / "noisy.csv")
    assert (clean.dense() == datasets.load_digits().X).all()
    assert noisy.fingerprint() == summary["data"]["fingerprint"]
    *_, go_on, last = result.stdout.splitlines()
    assert last == f"Open {out / 'report.html'}."
    assert (out / "report.html").read_text(encoding="utf-8").lower().startswith("<!doctype html")
    assert summary["shape"] == [8, 8]
    assert "report.html" in summary["files"]
    suggested = go_on.partition("latentbits ")[2].split()
    assert run(*suggested).stdout.count("\n") == 11


def test_the_demo_overwrites_nothing(run: Run, tmp_path: Path) -> None:
    (tmp_path / "mine").write_text("")
    result = run("demo", "--out", tmp_path)
    assert (result.exit_code, result.stdout) == (1, "")
    assert "exists already" in result.stderr
    assert run("demo", "--out", tmp_path, "--force").exit_code == 1
    assert [entry.name for entry in tmp_path.iterdir()] == ["mine"]
