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
    assert_frame_equal(pd.read_csv(io.StringIO(result.stdout)), expected.round(4))
    assert "40 sites with 3 visits each and 10 species: " in result.stderr
    assert "are estimated" in result.stderr
    assert "A visit sees a species where it is with probability 0." in result.stderr


def test_a_folder_with_a_page(run: Run, visits: Path, tmp_path: Path) -> None:
    out = tmp_path / "run"
    result = run("repeat-visits", visits, *ASKED, "--detection", 0.5, "--no-verdict", "--out", out)
    assert result.exit_code == 0, result.stderr
    sites, present = pd.read_csv(out / "sites.csv"), pd.read_csv(out / "present.csv")
    assert (sites["lower"] <= sites["estimated"]).all()
    assert present.shape == (40, 11)
    assert json.loads((out / "summary.json").read_text())["total"]["species"] == 10
    page = (out / "report.html").read_text()
    assert "presences were seen" in page
    assert page.count("<img") == 3


def test_a_folder_is_opened_again(run: Run, visits: Path, tmp_path: Path) -> None:
    out, sites = tmp_path / "run", tmp_path / "sites.csv"
    places = np.random.default_rng(0).random((40, 2))
    pd.DataFrame({"plot": [f"p{i}" for i in range(40)], "x": places[:, 0], "y": places[:, 1]}).to_csv(
        sites, index=False
    )
    result = run("repeat-visits", visits, *ASKED, "--sites", sites, "--coordinates", "x,y", "--out", out)
    assert result.exit_code == 0, result.stderr
    before = json.loads((out / "summary.json").read_text())
    assert before["verdict"]["n_folds"] == 3
    assert list(pd.read_csv(out / "sites.csv"))[:5] == ["row", "x", "y", "n_visits", "seen"]
    assert pd.read_csv(out / "sites.csv")["look_for"].str.count(",").max() == 4
    table = pd.read_csv(io.StringIO(run("suspects", out, "--top", 7).stdout))
    assert_frame_equal(table, pd.read_csv(out / "suspects.csv").head(7)[list(table)])
    refused = run("export", out, "--what", "probabilities")
    assert_refused(refused, f"no probabilities of single cells; present.csv and seen_next.csv in {out} have those of")
    explained = run("explain", out, "--row", "p3")
    site = pd.read_csv(out / "sites.csv").set_index("row").loc["p3"]
    assert (
        f"p3: {site['seen']} seen, {site['estimated']:.1f} estimated ({site['lower']}-{site['upper']})"
        in explained.stderr
    )
    assert f"look for {site['look_for']}; " in explained.stderr
    told = pd.read_csv(io.StringIO(explained.stdout))
    assert told["column"].nunique() == 10
    assert told.loc[told["sightings"] > 0, "present"].tolist() == [1.0] * int((told["sightings"] > 0).sum())
    result = run("report", out)
    assert result.exit_code == 0, result.stderr
    page = (out / "report.html").read_text()
    assert before["verdict"]["sentences"][0].partition(" (")[0] in page
    for asked in (["suspects", out, visits, "--top", 3], ["explain", out, visits, "--cell", "p3", "b1"]):
        assert_refused(run(*asked), "keeps its visits, and answers about them alone; leave out FILE")
    assert_refused(run("denoise", out, visits), "a fit of repeat visits changes no cells")
    assert "is about the rows it was fitted to" in run("report", out, visits, "--out", tmp_path / "x.html").stderr


def test_cells_of_each_site_as_json(run: Run, visits: Path, tmp_path: Path) -> None:
    out = tmp_path / "list.json"
    result = run("repeat-visits", visits, *ASKED, "--per-row", 1, "--rate", 0.4, "--json", "--out", out)
    assert result.exit_code == 0, result.stderr
    rows = [line["row"] for line in json.loads(out.read_text())]
    assert len(rows) == len(set(rows)) > 30


def test_effort_of_visits(run: Run, visits: Path, tmp_path: Path) -> None:
    table = pd.read_csv(visits)
    table.assign(minutes=10 + 5 * table["day"]).to_csv(tmp_path / "effort.csv", index=False)
    result = run("repeat-visits", tmp_path / "effort.csv", *ASKED, "--visit-effort", "minutes", "--top", 3)
    assert result.exit_code == 0, result.stderr
    assert len(result.stdout.splitlines()) == 4


def test_a_site_has_one_line(run: Run, visits: Path, tmp_path: Path) -> None:
    sites = tmp_path / "sites.csv"
    sites.write_text("plot,height\n" + "".join(f"p{i},{i}\n" for i in (*range(40), 7)))
    result = run("repeat-visits", visits, *ASKED, "--sites", sites, "--covariates", "height")
    assert_refused(result, 'sites.csv: the site "p7" has two lines or more; leave one line for each site')


def test_columns_must_be_named(run: Run, visits: Path) -> None:
    result = run("repeat-visits", visits, "--visits", "day")
    assert result.exit_code == 2
    assert "--visits needs --long SITE SPECIES" in result.stderr


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--long", "plot", "bird", "--visits", "week"], '"week"'),
        (["--long", "plot", "bird", "--visits", "plot"], "given twice"),
        ([*ASKED, "--rate", 0.4, "--detection", 0.5], "give one of them"),
        ([*ASKED, "--detection", 1], "below 1"),
        ([*ASKED, "--covariates", "hight"], 'there is no column "hight"'),
    ],
)
def test_what_does_not_fit_is_refused(run: Run, visits: Path, options: list[str], words: str) -> None:
    assert_refused(run("repeat-visits", visits, *options), words)
