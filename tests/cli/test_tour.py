"""docs/tour.md: every command in it runs, and ends as it says."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from click.testing import Result

from latentbits import load_model, read_table, simulate

from .conftest import invoke

TOUR = Path(__file__).resolve().parents[2] / "docs" / "tour.md"

pytestmark = pytest.mark.usefixtures("without_plots")


def commands() -> list[tuple[list[str], int]]:
    """The words of each command, and the exit code that stands behind it."""
    found = []
    for block in re.findall(r"```sh\n(.*?)```", TOUR.read_text(encoding="utf-8"), re.DOTALL):
        for line in block.splitlines():
            code = re.search(r"# exit code (\d+)", line)
            found.append((shlex.split(line, comments=True), int(code[1]) if code else 0))
    return found


def obey(words: list[str]) -> Result:
    """Run a command, its output redirected as a shell would, with fewer restarts and folds than usual."""
    program, *arguments = words
    assert program == "latentbits"
    redirected = next((i for i, word in enumerate(arguments) if word in (">", ">>")), len(arguments))
    result = invoke(*arguments[:redirected], *less_work(arguments))
    for file in arguments[redirected + 1 :]:
        with Path(file).expanduser().open("a") as target:
            target.write(result.stdout)
    return result


def less_work(arguments: list[str]) -> list[str]:
    if arguments[0] not in ("fit", "select", "compare"):
        return []
    trials = (
        arguments[0] != "fit" or "--components" not in arguments or any(mark in " ".join(arguments) for mark in ",:")
    )
    return ["--restarts", "2", *(["--folds", "3"] if trials else [])]


def save_ratings() -> None:
    """What an analyst would do in the report."""
    summary = json.loads(Path("run/summary.json").read_text())
    ratings = [float(part["kind"] == "content") for part in summary["components"]]
    saved = {
        "format": "latentbits-ratings",
        "version": 1,
        "model": summary["model"],
        "fingerprint": summary["data"]["fingerprint"],
        "threshold": 0.5,
        "change": "auto",
        "ratings": ratings,
        "names": [""] * len(ratings),
    }
    Path("ratings.json").write_text(json.dumps(saved))


def save_visits() -> None:
    """What a surveyor would have written down: site, day, species and count."""
    cells = simulate.repeated_surveys(25, 8, 3, rate=0.5, random_state=0).histories
    seen = np.argwhere(cells == 1)
    lines = [f"site{i},{v + 1},,0" for i, v in np.ndindex(cells.shape[:2])]
    lines += [f"site{i},{v + 1},species{j},{1 + (i + j) % 3}" for i, v, j in seen]
    Path("visits.csv").write_text("\n".join(["site,day,species,count", *lines]) + "\n")


def test_every_command_of_the_tour(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    save_visits()
    errors = ""
    for words, code in commands():
        if "ratings.json" in words and not Path("ratings.json").exists():
            save_ratings()
        result = obey(words)
        assert result.exit_code == code, f"{words}: {result.output} {result.exception!r}"
        errors += "".join(line + "\n" for line in result.stderr.splitlines() if line.startswith("error: "))
    documented = re.findall(r"```text\n(.*?)```", TOUR.read_text(encoding="utf-8"), re.DOTALL)
    assert errors == "".join(documented)
    assert_the_folder_is_as_described()


def assert_the_folder_is_as_described() -> None:
    assert Path("run/report.html").stat().st_size > 1000
    dirty, clean = read_table("sites.csv"), read_table("clean.csv")
    assert clean.column_names == dirty.column_names
    assert clean.n_ones > dirty.n_ones, "false absences were filled in"
    assert Path("clean.csv").read_text() == Path("filled.csv").read_text(), "phantoms were rated 0, as by default"
    assert set(pd.read_csv("site3.csv")["row"]) == {"site3"}
    assert pd.read_csv("next-visits.csv").groupby("row").size().max() == 2
    assert Path("list/report.html").stat().st_size > 1000
    assert pd.read_csv("look-for.csv").groupby("row").size().max() == 3
    assert json.loads(Path("fitted.json").read_text()) == json.loads(Path("run/summary.json").read_text())
    assert len(json.loads(Path("suspects.json").read_text())) == 5
    assert len(load_model("types/model.npz").components_) in (1, 2, 4, 6)
    assert "_LATENTBITS_COMPLETE" in Path(".bashrc").read_text()
