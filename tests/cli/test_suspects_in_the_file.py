"""Every suspect is a zero of the file, at the row and column named: looked up in the raw text.

Trees and dune plants are made here in the form that such tables have; birds, votes and fossils are real.
"""

from __future__ import annotations

import csv
import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from tests.shared_data import FOLDER, needs_data

from .conftest import FAST, Run

pytestmark = [
    pytest.mark.usefixtures("without_plots"),
    pytest.mark.filterwarnings("ignore:.*no weight on any kept component"),
]


def _write(path: Path, heads: list[str], beside: list[list[object]], cells: np.ndarray, names: list[str]) -> Path:
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow([*heads, *names])
        writer.writerows([*left, *row] for left, row in zip(beside, cells.tolist(), strict=True))
    return path


def trees(path: Path) -> tuple[Path, list[str]]:
    """Counts by site; sites are numbers, and not those of the lines."""
    rng = np.random.default_rng(0)
    counts = rng.poisson(rng.gamma(0.3, 3, (1, 60)) * rng.gamma(1, 1, (50, 1)))
    sites = [[site] for site in range(11, 61)]
    return _write(path, ["Site"], sites, counts, [f"Tree{j}" for j in range(60)]), ["--threshold", "1"]


def dunes(path: Path) -> tuple[Path, list[str]]:
    """Cover classes by plot, with the plots' management beside them."""
    rng = np.random.default_rng(1)
    cover = rng.integers(1, 9, (20, 30)) * (rng.random((20, 30)) < rng.beta(0.5, 1, (1, 30)))
    beside = [[f"plot {i + 1}", str(rng.choice(["BF", "HF", "NM", "SF"]))] for i in range(20)]
    return _write(path, ["plot", "Management"], beside, cover, [f"plant{j}" for j in range(30)]), ["--threshold", "1"]


def birds(path: Path) -> tuple[Path, list[str]]:
    """Counts of the first visit; quadrats without one are left out."""
    stored = np.load(FOLDER / "mhb2014.npz")
    counts = stored["counts"][:, 0]
    visited = (counts >= 0).all(axis=1)
    sites = [[site] for site in stored["site_id"][visited]]
    return _write(path, ["quadrat"], sites, counts[visited], stored["species"].tolist()), ["--threshold", "1"]


def votes(path: Path) -> tuple[Path, list[str]]:
    """Roll calls by number (rows) and countries; the years repeat."""
    stored = np.load(FOLDER / "un_votes.npz")
    some = np.arange(0, 6202, 40)
    words = np.array(["", "no", "yes"], dtype=object)[np.clip(stored["votes"][some], -1, 1) + 1]
    beside = [
        [number, issue or "none"] for number, issue in zip(stored["rcid"][some], stored["issues"][some], strict=True)
    ]
    return _write(path, ["rcid", "issue"], beside, words, stored["country"].tolist()), []


def fossils(path: Path) -> tuple[Path, list[str]]:
    path.write_bytes((FOLDER / "now_g10s2.csv").read_bytes())
    return path, ["--exclude", "MN", "--exclude", "age_Ma", "--exclude", "known_age"]


@pytest.mark.parametrize(
    "table",
    [
        trees,
        dunes,
        pytest.param(birds, marks=needs_data("mhb2014.npz")),
        pytest.param(votes, marks=needs_data("un_votes.npz")),
        pytest.param(fossils, marks=needs_data("now_g10s2.csv")),
    ],
)
def test_suspects_are_zeros_of_the_file(run: Run, tmp_path: Path, table) -> None:  # type: ignore[no-untyped-def]
    file, options = table(tmp_path / "table.csv")
    result = run("fit", file, *options, *FAST, "--no-verdict", "--out", tmp_path / "run")
    assert result.exit_code == 0, result.output
    with file.open(newline="", encoding="utf-8") as text:
        heads, *lines = csv.reader(text)
    by_label = {line[0]: line for line in lines}
    assert len(by_label) == len(lines)
    listed = pd.read_csv(tmp_path / "run" / "suspects.csv", dtype=str, keep_default_na=False)
    again = run("suspects", tmp_path / "run", file, "--top", "50", "--json")
    assert len(listed) > 100
    zeros, ones = (listed[listed["kind"] == kind] for kind in ("absence", "presence"))
    cells_of = {"0 no": [zeros, pd.DataFrame(json.loads(again.stdout))], "1 yes": [ones]}
    for texts, found in cells_of.items():
        for row, column in pd.concat(found)[["row", "column"]].itertuples(index=False):
            assert by_label[row.removeprefix("'")][heads.index(column.removeprefix("'"))] in texts.split()


@pytest.mark.parametrize("table", [trees, dunes, pytest.param(birds, marks=needs_data("mhb2014.npz"))])
def test_labels_do_not_depend_on_the_threshold(run: Run, tmp_path: Path, table) -> None:  # type: ignore[no-untyped-def]
    """Counts, and the same table as 0 and 1."""
    file, options = table(tmp_path / "counts.csv")
    with file.open(newline="", encoding="utf-8") as text:
        heads, *lines = csv.reader(text)
    n = len(heads) - sum(head.startswith(("Tree", "plant")) for head in heads) if table is not birds else 1
    beside, cells = [line[:n] for line in lines], np.array([line[n:] for line in lines], dtype=int)
    plain = _write(tmp_path / "plain.csv", heads[:n], beside, np.minimum(cells, 1), heads[n:])
    for name, asked in {"counts": [file, *options], "plain": [plain]}.items():
        assert run("fit", *asked, *FAST, "--no-verdict", "--out", tmp_path / name).exit_code == 0
    written = [(tmp_path / name / "suspects.csv").read_text() for name in ("counts", "plain")]
    assert written[0] == written[1]
