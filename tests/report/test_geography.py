"""Maps, responses and shares of variation in the page."""

from __future__ import annotations

import io
import json
from typing import Any

import numpy as np
import pandas as pd
import pytest

from latentbits import AspectBernoulli, BinaryData, FalseZeros, analyse
from latentbits.report import write_report
from latentbits.report.page import page_content

from .conftest import HOSTILE, Fitted, Open, playwright, saved

expect = playwright.expect
N, D = 80, 6


def surveyed() -> BinaryData:
    rng = np.random.default_rng(0)
    sites = pd.DataFrame(
        {"lon": rng.uniform(6, 9, N), "lat": rng.uniform(46, 47, N), "height": rng.uniform(0, 2000, N)}
    )
    sites["habitat"] = rng.choice(HOSTILE[:2], N)
    X = (np.outer((sites["height"] - 1000) / 500, rng.normal(0, 1.5, D)) + rng.normal(size=(N, D)) > 0).astype(int)
    names = [*HOSTILE[:3], *(f"site {i}" for i in range(3, N))]
    return BinaryData.of(X, row_names=names, column_names=HOSTILE[:D], rows=sites, coordinates=("lon", "lat"))


@pytest.fixture(scope="module")
def ensemble(tmp_path_factory: pytest.TempPathFactory) -> Fitted:
    data, file = surveyed(), tmp_path_factory.mktemp("report") / "map.html"
    model = FalseZeros(2, members=["covariates_2", "ising"], noise=None, random_state=0).fit(data)
    write_report(analyse(model, data, verdict=False), file)
    return Fitted(model, data, file)


def readout(page: Any) -> str:
    return str(page.locator("#map-readout").inner_text())


def test_a_dot_for_each_row_tells_its_value(open_page: Open, ensemble: Fitted) -> None:
    page = open_page(ensemble.file)
    assert page.locator("#map-view circle").count() == N
    page.locator("#map-layer").select_option(label="ones in the row")
    page.locator('#map-view circle[data-row="5"]').hover(force=True)
    assert readout(page).startswith("site 5 (")
    assert readout(page).endswith(f"ones in the row {ensemble.data.ones_per_row()[5]:g}.")
    page.locator("#map-layer").select_option(value="p2")
    p = ensemble.model.predict_proba(ensemble.data)[5, 2]
    assert float(readout(page).split()[-1].strip(".")) == pytest.approx(p, abs=0.004)


def test_north_is_up_and_east_is_right(open_page: Open, ensemble: Fitted) -> None:
    page = open_page(ensemble.file)
    drawn = page.locator("#map-view circle").evaluate_all(
        "(es) => es.map((e) => [e.dataset.row, e.getAttribute('cx'), e.getAttribute('cy')])"
    )
    at = pd.DataFrame(drawn, columns=["row", "x", "y"]).astype(float).set_index("row").sort_index().to_numpy()
    places = ensemble.data.facts.coordinates
    assert np.corrcoef(at[:, 0], places[:, 0])[0, 1] > 0.9999
    assert np.corrcoef(at[:, 1], places[:, 1])[0, 1] < -0.9999
    stretch = np.ptp(at[:, 0]) / np.ptp(places[:, 0]) / (np.ptp(at[:, 1]) / np.ptp(places[:, 1]))
    assert stretch == pytest.approx(np.cos(np.radians(places[:, 1].mean())), rel=0.01)


def test_a_click_and_keys_show_the_suspects_of_a_row(open_page: Open, ensemble: Fitted) -> None:
    page = open_page(ensemble.file)
    page.locator('#map-view circle[data-row="7"]').dispatch_event("click")
    expect(page.locator("#suspect-search")).to_have_value('"site 7"')
    assert set(page.locator("#suspect-table tbody tr td:first-child").all_inner_texts()) == {"site 7"}
    page.locator("#map-view svg").focus()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Enter")
    second = np.argsort(ensemble.data.facts.coordinates[:, 0])[1]
    expect(page.locator("#suspect-search")).to_have_value(f'"{ensemble.data.row_names[second]}"')


def test_lists_leave_with_their_places(open_page: Open, ensemble: Fitted) -> None:
    page = open_page(ensemble.file)
    found = analyse(ensemble.model, ensemble.data, verdict=False).tables["suspects"]
    table = pd.read_csv(io.StringIO(saved(page, "suspects.csv")))
    np.testing.assert_allclose(table[["lon", "lat"]], found[["lon", "lat"]], rtol=1e-9)
    points = json.loads(saved(page, "suspects.geojson"))["features"]
    assert len(points) == len(found)
    np.testing.assert_allclose([one["geometry"]["coordinates"] for one in points], found[["lon", "lat"]])
    rows = json.loads(saved(page, "rows.geojson"))["features"]
    assert [one["properties"]["row"] for one in rows] == ensemble.data.row_names
    assert [one["properties"]["ones in the row"] for one in rows] == ensemble.data.ones_per_row().tolist()


def test_responses_and_variation(open_page: Open, ensemble: Fitted) -> None:
    page = open_page(ensemble.file)
    assert page.locator("#response-view svg").count() == D
    page.locator("#response-of").select_option(label="habitat")
    assert page.locator("#response-view .best").count() == 2 * D
    page.locator("#response-search").fill("quoted")
    assert page.locator("#response-view h3").all_inner_texts() == [HOSTILE[2]]
    shown = page.locator("#variation-view .value").all_inner_texts()
    explained = 1 - ensemble.model.variation()["unexplained"]
    assert [float(text.removesuffix(" %")) for text in shown] == pytest.approx(100 * np.sort(explained)[::-1], abs=0.06)


def test_why_a_cell_is_suspected(open_page: Open, ensemble: Fitted) -> None:
    page = open_page(ensemble.file)
    why = page.locator("#why").inner_text()
    assert "height = " in why
    assert " km)" in why


def test_an_aspect_model_has_a_map_too(open_page: Open, tmp_path: Any) -> None:
    data = surveyed()
    findings = analyse(AspectBernoulli(2, n_init=2, random_state=0), data, verdict=False)
    assert {"associations", "responses", "sites"} <= findings.tables.keys()
    write_report(findings, tmp_path / "map.html")
    page = open_page(tmp_path / "map.html")
    assert "weight of component 1" in page.locator("#map-layer option").all_inner_texts()
    page.locator('#map-view circle[data-row="9"]').dispatch_event("click")
    expect(page.locator("#row-name")).to_have_value("site 9")
    assert page.locator("#responses h2").inner_text() == "Weights over covariates"
    assert page.locator("#response-view .curve").count() == 2


def test_without_coordinates_there_is_no_map(ensemble: Fitted) -> None:
    data = ensemble.data.with_facts(None)
    content = page_content(analyse(AspectBernoulli(2, n_init=1, random_state=0), data, verdict=False))
    assert content["map"] is content["responses"] is content["variation"] is None
