"""The numbers of the page, whatever the sliders say, equal Python's."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from latentbits.findings.analyse import analyse
from latentbits.report import write_report

from .conftest import (
    N_COLUMNS,
    N_COMPONENTS,
    N_ROWS,
    RATINGS,
    Fitted,
    Open,
    array,
    assert_page_equals_python,
    card,
    every_kind,
    rate,
    saved,
    suspicion,
)

pytestmark = pytest.mark.filterwarnings("ignore:.*no weight on any kept component")

COUNTS = re.compile(
    r"By (?:these ratings|held-out cells) (?P<filled>\d+) zeros? becomes? 1 and (?P<removed>\d+) ones? becomes? 0\."
    r"(?P<nothing> There is no phantom, so no observed cell changes unless you say which may\.)?"
    r"(?: (?P<lost>\d+) rows? (?:has|have) nothing left and gets? the average\.)?"
)


def expected_counts(fitted: Fitted, ratings: list[float], change: str, threshold: float) -> dict[str, str | None]:
    """What the line of counts has to say, by Python."""
    model, data, cells = fitted.model, fitted.data, fitted.cells
    by_evidence = ratings == fitted.ratings and threshold == 0.5 and change == "auto"
    clean = model.denoise(data, **{} if by_evidence else {"ratings": ratings, "threshold": threshold, "change": change})
    lost = int((model.transform(data) @ np.array(ratings) <= 1e-12).sum())
    auto_nothing = change == "auto" and set(model.phantoms_) == {"content"}
    return {
        "filled": str(((cells == 0) & (clean == 1)).sum()),
        "removed": str(((cells == 1) & (clean == 0)).sum()),
        "nothing": " There is no phantom, so no observed cell changes unless you say which may." * auto_nothing or None,
        "lost": str(lost) if lost else None,
    }


@every_kind
def test_the_page_opens_with_phantoms_out(open_page: Open, fitted: Fitted) -> None:
    page = open_page(fitted.file)
    assert_page_equals_python(page, fitted.model, fitted.data, fitted.ratings)
    shown = COUNTS.fullmatch(page.locator("#counts").inner_text())
    assert shown is not None
    assert shown.groupdict() == expected_counts(fitted, fitted.ratings, "auto", 0.5)


def test_sliders_do_what_python_does(open_page: Open, fitted: Fitted) -> None:
    page = open_page(fitted.file)
    for ratings in ([0.3, 1, 0, 0.55], [0, 0, 0, 1], [0.5, 0.5, 0.5, 0.5]):
        rate(page, ratings)
        assert_page_equals_python(page, fitted.model, fitted.data, ratings)
        shown = [card(page, k).locator(".rating output").inner_text() for k in range(N_COMPONENTS)]
        assert shown == [f"{rating:.2f}" for rating in ratings]


@pytest.mark.parametrize("fitted", ["white", "black", "plain"], indirect=True)
def test_threshold_change_and_counts(open_page: Open, fitted: Fitted) -> None:
    page = open_page(fitted.file)
    rate(page, RATINGS)
    page.locator("#threshold").fill("0.35")
    for change in ("presence", "absence", "both", "auto"):
        page.locator("#change").select_option(change)
        clean = fitted.model.denoise(fitted.data, ratings=RATINGS, threshold=0.35, change=change)
        np.testing.assert_array_equal(array(page, "clean"), clean)
        shown = COUNTS.fullmatch(page.locator("#counts").inner_text())
        assert shown is not None
        assert shown.groupdict() == expected_counts(fitted, RATINGS, change, 0.35)


def test_rows_with_nothing_left_are_counted(open_page: Open, white: Fitted) -> None:
    page = open_page(white.file)
    for k in range(N_COMPONENTS):
        ratings = np.eye(N_COMPONENTS)[k].tolist()
        rate(page, ratings)
        shown = COUNTS.fullmatch(page.locator("#counts").inner_text())
        assert shown is not None
        expected = expected_counts(white, ratings, "auto", 0.5)
        assert expected["lost"] is not None
        assert shown.groupdict() == expected


def test_a_threshold_that_is_none_is_told(open_page: Open, white: Fitted) -> None:
    page = open_page(white.file)
    for value in ("1.5", "-0.1", ""):
        page.locator("#threshold").fill("0.35")
        before = array(page, "clean")
        page.locator("#threshold").fill(value)
        assert page.locator("#message").inner_text() == "A probability is from 0 to 1; 0.35 is still in use."
        np.testing.assert_array_equal(array(page, "clean"), before)
        page.locator("#threshold").fill("0.9")
        assert page.locator("#message").inner_text() == ""
        assert (array(page, "clean") != before).any()


def test_nothing_rated_is_refused_in_words(open_page: Open, white: Fitted) -> None:
    page = open_page(white.file)
    rate(page, [0, 0, 0, 0])
    assert "at least one component above 0" in page.locator("#message").inner_text()
    assert page.get_by_role("button", name="denoised.csv").is_disabled()
    page.get_by_role("button", name="Reset").click()
    assert page.locator("#message").inner_text() == ""
    assert page.get_by_role("button", name="denoised.csv").is_enabled()


def test_reset_returns_to_the_model(open_page: Open, white: Fitted, tmp_path: Path) -> None:
    """Not to the ratings that the report was written with."""
    begin = {"ratings": [0.9, 0.1, 0.3, 1.0], "names": ["a", "b", "c", "d"], "threshold": 0.3, "change": "both"}
    write_report(analyse(white.model, white.data, verdict=False), tmp_path / "r.html", ratings=begin)
    page = open_page(tmp_path / "r.html")
    clean = white.model.denoise(white.data, ratings=begin["ratings"], threshold=0.3, change="both")
    np.testing.assert_array_equal(array(page, "clean"), clean)
    assert [page.locator(f"#{control}").input_value() for control in ("change", "threshold")] == ["both", "0.3"]
    assert page.get_by_label("Name of component 4").input_value() == "d"
    page.get_by_role("button", name="Reset").click()
    assert_page_equals_python(page, white.model, white.data, white.ratings)
    assert [page.locator(f"#{control}").input_value() for control in ("change", "threshold")] == ["auto", "0.5"]
    assert page.get_by_label("Name of component 4").input_value() == ""
    sliders = [page.get_by_label(f"Rating of component {k + 1}").input_value() for k in range(N_COMPONENTS)]
    assert list(map(float, sliders)) == white.ratings


def test_who_caused_a_cell(open_page: Open, fitted: Fitted) -> None:
    page = open_page(fitted.file)
    for i in (0, 17, N_ROWS - 1):
        shown = page.evaluate(
            "(i) => Array.from({length: latentbits.bench.D}, (_, d) => Array.from(latentbits.causes(i, d)))", i
        )
        expected = fitted.model.explain(fitted.data, row=i)["probability"].to_numpy()
        np.testing.assert_allclose(shown, expected.reshape(N_COLUMNS, N_COMPONENTS), atol=1e-9)


def test_consensus_of_the_restarts(open_page: Open, fitted: Fitted) -> None:
    page = open_page(fitted.file)
    """One half stays the border, and every score is written with the two digits that Python writes."""
    score, shown = suspicion(fitted.model, fitted.data), array(page, "consensus")
    np.testing.assert_array_equal(shown >= 100, score >= 0.5)
    np.testing.assert_allclose((shown + 0.5) / 200, score, atol=0.5 / 200 + 1e-12)
    page.locator("#row-filter").select_option("0")
    for i in (3, 20, 60):
        page.evaluate("(i) => latentbits.explain(i)", i)
        lines = np.array(page.locator("#row-view td").all_text_contents()).reshape(-1, 6)
        j = [fitted.data.column_names.index(name) for name in lines[:, 0]]
        observed = fitted.cells[i, j] != -1
        assert lines[observed, 3].tolist() == [f"{value:.2f}" for value in score[i, j][observed]]


NO_STORAGE = (
    "Object.defineProperty(window, 'localStorage', {get() { throw new DOMException('denied', 'SecurityError'); }})"
)


@pytest.mark.parametrize("browser_keeps", [False, True])
def test_leaving_with_work_that_would_be_lost_is_warned_of(open_page: Open, white: Fitted, browser_keeps: bool) -> None:
    """If the browser keeps it, nothing is lost and nothing said."""
    page = open_page(white.file, before="" if browser_keeps else NO_STORAGE)

    def warns() -> bool:
        return bool(page.evaluate("!dispatchEvent(new Event('beforeunload', {cancelable: true}))"))

    assert not warns()
    edits = [
        lambda: page.get_by_label("Rating of component 2").fill("0.3"),
        lambda: page.get_by_label("Name of component 2").fill("steppe"),
        lambda: page.locator("#change").select_option("both"),
        lambda: page.locator("#threshold").fill("0.4"),
        lambda: page.get_by_role("button", name="Reset").click(),
        lambda: page.locator("[data-mark=confirm]").first.click(),
    ]
    for edit in edits:
        edit()
        assert warns() == (not browser_keeps)
        assert ("keeps nothing" in page.locator("#kept").inner_text()) == (not browser_keeps)
        saved(page, "ratings.json")
        assert not warns()
