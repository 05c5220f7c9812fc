"""`latentbits repeat-visits`."""

from __future__ import annotations

import io
import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from pandas.testing import assert_frame_equal

from latentbits import RepeatedSurvey, read_histories, simulate

from .conftest import Run, assert_refused


@pytest.fixture(scope="module")
def visits(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A line for each sighting, and one without a species for each visit."""
    cells = simulate.repeated_surveys(40, 10, 3, rate=0.4, random_state=0).histories
    lines = ["plot,day,bird"]
    for i, v in np.ndindex(cells.shape[:2]):
        lines += [f"p{i},{v + 1},", *(f"p{i},{v + 1},b{j}" for j in np.flatnonzero(cells[i, v] == 1))]
    path = tmp_path_factory.mktemp("data") / "visits.csv"
    path.write_text("\n".join(lines) + "\n")
    return path


ASKED = ["--long", "plot", "bird", "--visits", "day", "--jobs", 1]


def test_it_is_the_table_of_python(run: Run, visits: Path) -> None:
    result = run("repeat-visits", visits, *ASKED, "--top", 15, "--seed", 3)
    assert result.exit_code == 0, result.stderr
    histories = read_histories(visits, site="plot", visit="day", species="bird")
    expected = RepeatedSurvey(random_state=3).fit(histories).suspects(top=15)
    assert_frame_equal(pd.read_csv(io.StringIO(result.stdout)), expected)
    assert "40 sites, 3 visits and 10 species: a visit sees an individual with probability 0." in result.stderr


def test_cells_of_each_site_as_json(run: Run, visits: Path, tmp_path: Path) -> None:
    out = tmp_path / "list.json"
    result = run("repeat-visits", visits, *ASKED, "--per-row", 1, "--rate", 0.4, "--json", "--out", out)
    assert result.exit_code == 0, result.stderr
    rows = [line["row"] for line in json.loads(out.read_text())]
    assert len(rows) == len(set(rows)) > 30
    assert "the rate is given" in result.stderr


def test_columns_must_be_named(run: Run, visits: Path) -> None:
    result = run("repeat-visits", visits, "--visits", "day")
    assert result.exit_code == 2
    assert "--long SITE SPECIES" in result.stderr


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--long", "plot", "bird", "--visits", "week"], '"week"'),
        (["--long", "plot", "bird", "--visits", "plot"], "given twice"),
        ([*ASKED, "--rate", 0.4, "--per-species"], "leave one of them out"),
    ],
)
def test_what_does_not_fit_is_refused(run: Run, visits: Path, options: list[str], words: str) -> None:
    assert_refused(run("repeat-visits", visits, *options), words)
