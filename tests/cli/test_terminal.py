"""What ten commands print, at two widths: golden files, which UPDATE_TERMINAL=1 in the environment rewrites."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner

from latentbits.cli.main import program
from latentbits.cli.terminal import WIDEST, aligned, wrapped

GOLDEN = Path(__file__).parent / "terminal"
FAST = ["--restarts", "2", "--jobs", "1", "--no-report"]
COMMANDS = {
    "simulate": ["simulate", "--rows", "60", "--columns", "12", "--components", "3", "--seed", "0", "--out", "new.csv"],
    "fit": ["fit", "sites.csv", "--components", "3", *FAST, "--out", "fitted"],
    "fit-verbose": ["fit", "sites.csv", "--components", "3", *FAST, "--out", "full", "--verbose"],
    "fit-nothing": ["fit", "noise.csv", "--components", "2", *FAST, "--out", "nothing"],
    "fit-numbers": ["fit", "parts.csv", "--model", "binary-factors", "--components", "3", *FAST, "--out", "parts"],
    "false-zeros": ["false-zeros", "sites.csv", "--members", "linear_autoencoder", "--top", "5"],
    "suspects": ["suspects", "run", "--top", "3"],
    "methods": ["methods", "run"],
    "denoise": ["denoise", "run", "sites.csv", "--out", "clean.csv"],
    "refused": ["explain", "run", "sites.csv", "--cell", "nowhere", "species3"],
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Small tables and a run, in the working folder."""
    import numpy as np
    import pandas as pd

    from latentbits import simulate

    here, before = tmp_path_factory.mktemp("terminal"), Path.cwd()
    os.chdir(here)
    truth = simulate.aspect_bernoulli(80, 12, 3, white_phantom=True, sharpness=0.1, random_state=0)
    names = [f"species{j}" for j in range(12)]
    table = pd.DataFrame(truth.X, columns=names, index=pd.Index([f"site{i}" for i in range(80)], name="site"))
    table.to_csv("sites.csv")
    rng = np.random.default_rng(0)
    pd.DataFrame((rng.random((80, 12)) < 0.4).astype(int), columns=names).to_csv("noise.csv", index=False)
    parts = simulate.binary_factors(120, 5, 2, random_state=0).X.round(3)
    pd.DataFrame(parts, columns=list("abcde")).to_csv("parts.csv", index=False)
    assert CliRunner().invoke(program, ["fit", "sites.csv", "--components", "3", *FAST, "--out", "run"]).exit_code == 0
    yield here
    os.chdir(before)


def masked(text: str) -> str:
    """Without what differs from run to run and from machine to machine: seconds, and versions."""
    return re.sub(r"Python \d+\.\d+", "Python 3.x", re.sub(r"\d+\.\d s\b", "0.0 s", text))


@pytest.mark.parametrize("width", [80, 120])
@pytest.mark.parametrize("name", COMMANDS)
def test_what_it_prints(folder: Path, name: str, width: int, monkeypatch: pytest.MonkeyPatch) -> None:
    command = [*COMMANDS[name], *(["--force"] if "--out" in COMMANDS[name] else [])]
    monkeypatch.setattr("latentbits.storage.run_folder.write_plots", lambda _, plots, *__: plots.mkdir())
    result = CliRunner(env={"COLUMNS": str(width)}).invoke(program, command, prog_name="latentbits")
    assert result.exit_code == int(name == "refused"), result.output + repr(result.exception)
    text = masked(f"{result.stdout}--- stderr\n{result.stderr}")
    for line in text.splitlines():
        assert len(line) <= min(width, WIDEST), line
    golden = GOLDEN / f"{name}-{width}.txt"
    if os.environ.get("UPDATE_TERMINAL"):
        golden.parent.mkdir(exist_ok=True)
        golden.write_text(text, encoding="utf-8")
    assert text == golden.read_text(encoding="utf-8")


@pytest.mark.parametrize("name", COMMANDS)
def test_no_word_is_broken(name: str) -> None:
    narrow, wide = ((GOLDEN / f"{name}-{width}.txt").read_text(encoding="utf-8") for width in (80, 120))
    assert set(narrow.split()) <= set(wide.split())


@pytest.mark.parametrize("name", ["fit", "fit-nothing", "fit-numbers"])
def test_the_short_form_has_five_lines_beside_its_table(name: str) -> None:
    text = (GOLDEN / f"{name}-80.txt").read_text(encoding="utf-8").partition("--- stderr")[0]
    answer, *others = text.split("\n\n")
    assert 1 <= len(answer.splitlines()) <= 5
    assert others[-1].startswith((" Report", " Folder"))


def test_lines_are_wrapped_between_words() -> None:
    assert list(wrapped("  one two three", 9)) == ["  one two", "  three"]
    assert list(wrapped("as long as it is", None)) == ["as long as it is"]


def test_labels_are_cut_and_numbers_stand_to_the_right() -> None:
    lines = list(aligned(("row", "column", "score"), [("a" * 60, "b", "0.90"), ("c", "d", "0.05")], 40))
    assert {len(line) for line in lines} == {len(lines[0])}
    assert len(lines[0]) <= 40
    assert "\u2026" in lines[1]
    assert lines[1].endswith(" 0.90")
