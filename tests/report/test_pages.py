"""Pages of other models, other rows, large tables and images."""

from __future__ import annotations

import io
import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from latentbits import AspectBernoulli, BernoulliMixture, BetaICA, LogisticPCA, simulate
from latentbits.data.binary_data import BinaryData
from latentbits.errors import DataError
from latentbits.findings.analyse import analyse
from latentbits.report import write_report
from latentbits.tasks.select import select_order

from .conftest import RATINGS, Fitted, Open, array, assert_page_equals_python, card, colour, pixels, rate, saved

pytestmark = pytest.mark.filterwarnings("ignore:.*no weight on any kept component")


def content_of(file: Path) -> dict[str, Any]:
    """What the page is given, without a browser."""
    text = file.read_text(encoding="utf-8")
    found = re.search(r'<script type="application/json" id="content">(.*?)</script>', text, re.DOTALL)
    assert found is not None
    return json.loads(found.group(1))


# ---- other models ------------------------------------------------------------------------------------------------


def test_a_page_of_a_selection(open_page: Open, white: Fitted, tmp_path: Path) -> None:
    found = select_order(BernoulliMixture(n_init=2), white.data, [2, 3], criterion=["aic", "bic"], random_state=0)
    write_report(analyse(found, white.data, verdict=False), tmp_path / "r.html")
    page = open_page(tmp_path / "r.html")
    titles = page.locator("#sure-plots h3").all_inner_texts()
    best = dict(zip(found.choices["criterion"], found.choices["best"], strict=True))
    assert f"AIC (lower is better): best with {best['aic']}" in titles
    assert f"BIC (lower is better): best with {best['bic']}" in titles


def test_models_without_phantoms_have_no_sliders(open_page: Open, white: Fitted, tmp_path: Path) -> None:
    model = LogisticPCA(2, n_init=2, random_state=0).fit(white.data)
    model.report(white.data, tmp_path / "r.html")
    page = open_page(tmp_path / "r.html")
    assert page.locator("[type=range]").count() == 0
    np.testing.assert_allclose(array(page, "P"), model.reconstruct(white.data), atol=0.5 / 255 + 1e-12)
    assert page.locator("#suspect-table tbody tr").count() == 50


def test_one_restart_tells_nothing_of_stability(open_page: Open, white: Fitted, tmp_path: Path) -> None:
    AspectBernoulli(4, n_init=1, random_state=0).fit(white.data).report(white.data, tmp_path / "r.html")
    assert content_of(white.file)["stability"] is not None
    assert content_of(tmp_path / "r.html")["stability"] is None
    page = open_page(tmp_path / "r.html")
    assert "stability" not in page.locator("#cards").inner_text()
    assert page.locator("#sure-plots .bars").count() == 0
    assert "random starts" not in page.locator("#counts").inner_text()


# ---- other rows --------------------------------------------------------------------------------------------------


def test_new_rows(open_page: Open, white: Fitted, tmp_path: Path) -> None:
    """The report of rows that the model has never seen is about them, and says that the fit is not."""
    X = simulate.aspect_bernoulli(30, 24, 4, white_phantom=True, sharpness=0.2, missing=0.03, random_state=7).X
    new = BinaryData.of(X, column_names=white.data.column_names)
    white.model.report(new, tmp_path / "r.html")
    page = open_page(tmp_path / "r.html")
    assert_page_equals_python(page, white.model, new, white.ratings)
    shares = white.model.transform(new).mean(axis=0)
    for k, share in enumerate(shares):
        assert f"{100 * share:.1f} % of these rows" in card(page, k).locator(".details").inner_text()
    heads, shown = (page.locator(f".facts {tag}").all_text_contents() for tag in ("th", "td"))
    facts = dict(zip(heads, shown, strict=True))
    assert facts["rows of this report"] == "30 rows x 24 columns"
    assert "other rows" in facts["fitted to"]
    assert "AIC" not in facts
    assert "these 30 rows" in page.locator("#answer").inner_text()


def test_equal_and_blank_row_names_are_shown_with_their_position(
    open_page: Open, white: Fitted, tmp_path: Path
) -> None:
    names = ["a", "a", "", " ", "=1+1", "=1+1", "b", "c"]
    shown = ["a (row 1)", "a (row 2)", "(row 3)", "(row 4)", "=1+1 (row 5)", "=1+1 (row 6)", "b", "c"]
    X = np.where(white.cells == -1, np.nan, white.cells)[: len(names)]
    white.model.report(BinaryData.of(X, row_names=names, column_names=white.data.column_names), tmp_path / "r.html")
    page = open_page(tmp_path / "r.html")
    assert sorted(set(page.locator("#row-names option").evaluate_all("(es) => es.map((e) => e.value)"))) == sorted(
        shown
    )
    for i, name in enumerate(shown):
        page.locator("#row-name").fill(name)
        page.locator("#row-name").press("Enter")
        shown = page.locator("#row-view p").first.text_content()
        assert shown.startswith(f"{name}: {(X[i] == 1).sum()} one")
        assert page.evaluate("latentbits.row") == i
    table = pd.read_csv(io.StringIO(saved(page, "denoised.csv")), keep_default_na=False)
    assert table["row"].tolist() == ["a", "a", "", " ", "'=1+1", "'=1+1", "b", "c"]


# ---- large tables ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("with_names", [True, False])
def test_a_large_table_is_sampled_and_says_so(
    open_page: Open, white: Fitted, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, with_names: bool
) -> None:
    """Large is what a page can't hold: here a few cells, so that the test is quick."""
    monkeypatch.setattr("latentbits.report.workbench.MOST_CELLS", 16 * 30)
    monkeypatch.setattr("latentbits.report.workbench.MOST_COLUMNS", 16)
    names = {"row_names": white.data.row_names, "column_names": white.data.column_names} if with_names else {}
    X = np.where(white.cells == -1, np.nan, white.cells)
    data = BinaryData.of(X, **names)
    model = white.model if with_names else AspectBernoulli(4, n_init=2, random_state=0).fit(data)
    model.report(data, tmp_path / "r.html")
    page = open_page(tmp_path / "r.html")
    answer = page.locator("#answer").inner_text()
    assert "30 of 70 rows, drawn at random and the 16 of 24 columns in which the components differ most" in answer
    rows, columns = (page.evaluate(f"latentbits.bench.{side}.shown")[:n] for side, n in (("rows", 30), ("columns", 16)))
    i = [data.row_names.index(name) if with_names else int(name.removeprefix("row ")) - 1 for name in rows]
    j = [data.column_names.index(name) if with_names else int(name.removeprefix("column ")) - 1 for name in columns]
    assert set(j) == set(np.argsort(-np.ptp(model.components_, axis=0), kind="stable")[:16])
    assert i != list(range(30))
    part = np.ix_(i, j)
    np.testing.assert_array_equal(array(page, "cells"), np.where(white.cells == -1, 2, white.cells)[part])
    rate(page, RATINGS)
    assert page.locator("#counts").inner_text().startswith("In the part shown, by these ratings ")
    np.testing.assert_allclose(array(page, "P"), model.reconstruct(data, ratings=RATINGS)[part], atol=1e-9)
    score = model.suspicion(data, ratings=RATINGS) + model.suspicion(data, kind="presence", ratings=RATINGS)
    np.testing.assert_allclose(array(page, "score"), score[part], atol=1e-9)
    table = pd.read_csv(io.StringIO(saved(page, "denoised.csv", "sample-denoised.csv")))
    np.testing.assert_array_equal(table.iloc[:, 1:], model.denoise(data, ratings=RATINGS)[part])
    assert [str(name).removeprefix("'") for name in table["row"]] == rows
    assert saved(page, "suspects.csv", "sample-suspects.csv").count("absence") == (white.cells[part] == 0).sum()


@pytest.mark.filterwarnings("ignore:.*without converging")
@pytest.mark.parametrize("estimator", [AspectBernoulli, BetaICA])
def test_a_quarter_of_a_million_cells_fit_into_a_small_file(tmp_path: Path, estimator: type) -> None:
    X = simulate.aspect_bernoulli(500, 500, 10, random_state=0).X
    estimator(10, n_init=1, max_iter=20, random_state=0).fit(X).report(X, tmp_path / "r.html")
    assert (tmp_path / "r.html").stat().st_size < 801_000
    bench = content_of(tmp_path / "r.html")["workbench"]
    assert (bench["shape"], bench["sampled"]) == ([500, 500], "")


# ---- images ------------------------------------------------------------------------------------------------------


def test_attributes_on_a_grid_are_images(open_page: Open, tmp_path: Path) -> None:
    X = simulate.aspect_bernoulli(50, 12, 2, random_state=0).X
    model = AspectBernoulli(2, n_init=1, random_state=0).fit(X)
    model.report(X, tmp_path / "r.html", shape=(3, 4))
    page = open_page(tmp_path / "r.html")
    assert_cards_show(page, model, (3, 4))
    page.locator("#next").click()
    assert page.locator("#row-view canvas").count() == 5


def test_images_of_many_pixels_are_shown_whole(open_page: Open, tmp_path: Path) -> None:
    X = simulate.aspect_bernoulli(20, 32 * 33, 2, random_state=0).X
    model = AspectBernoulli(2, n_init=1, tol=1e-2, random_state=0).fit(X)
    model.report(X, tmp_path / "table.html")
    assert content_of(tmp_path / "table.html")["workbench"]["shape"] == [20, 1000]
    model.report(X, tmp_path / "r.html", shape=(32, 33))
    page = open_page(tmp_path / "r.html")
    assert page.locator("#answer .sampled").count() == 0
    np.testing.assert_array_equal(array(page, "cells"), X)
    assert_cards_show(page, model, (32, 33))
    page.locator("#row-name").fill("row 8")
    page.locator("#row-name").press("Enter")
    drawn = pixels(page, "#row-view canvas")
    ink, zero = colour(page, "--one"), colour(page, "--zero")
    np.testing.assert_array_equal(drawn, np.where(X[7].reshape(32, 33, 1) == 1, ink, zero))


def assert_cards_show(page: Any, model: Any, shape: tuple[int, int]) -> None:
    """Each card is the image of its component, darker where a 1 is likelier."""
    ink, zero = colour(page, "--one"), colour(page, "--zero")
    for k, component in enumerate(model.components_):
        drawn = pixels(page, card(page, k).locator("canvas"))
        np.testing.assert_allclose(drawn, zero + component.reshape(*shape, 1) * (ink - zero), atol=1.0)


@pytest.mark.parametrize("shape", [(3, 5), (0, 24), (-4, -6)])
def test_a_wrong_shape_is_refused_in_one_sentence(white: Fitted, tmp_path: Path, shape: tuple[int, int]) -> None:
    with pytest.raises(DataError) as refused:
        white.model.report(white.data, tmp_path / "r.html", shape=shape)
    high, wide = shape
    expected = f"--shape {high}x{wide} doesn't make 24 pixels, one for each column; correct it, or leave it out"
    assert str(refused.value) == expected
    assert not any(tmp_path.iterdir())
