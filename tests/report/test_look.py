"""Light, dark and paper; names for those who can't see; and no script but the page's own."""

from __future__ import annotations

import io
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from latentbits.findings.account import Provenance
from latentbits.findings.analyse import analyse
from latentbits.notes import Role
from latentbits.report import write_report
from latentbits.sentences import sentence
from latentbits.tasks.verdict import Verdict

from .conftest import N_COMPONENTS, Fitted, Open, pixels, playwright

expect = playwright.expect

pytestmark = pytest.mark.filterwarnings("ignore:.*no weight on any kept component")

CANVASES = [f".heat:nth-child({n}) .field canvas" for n in (1, 2, 3, 4)]


def ground(page: Any) -> str:
    return str(page.evaluate("getComputedStyle(document.body).backgroundColor"))


def pictures(page: Any) -> np.ndarray:
    return np.array([pixels(page, canvas) for canvas in CANVASES])


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_light_and_dark(open_page: Open, white: Fitted, scheme: str) -> None:
    page = open_page(white.file, scheme)
    first, drawn = ground(page), pictures(page)
    page.locator("#theme").click()
    assert ground(page) != first
    assert (pictures(page) != drawn).any(axis=(1, 2, 3)).all(), "pictures are drawn anew in the other colours"
    page.locator("#theme").click()
    assert ground(page) == first
    np.testing.assert_array_equal(pictures(page), drawn)


def test_the_scheme_of_the_reader_is_taken(open_page: Open, white: Fitted) -> None:
    light, dark = (open_page(white.file, scheme) for scheme in ("light", "dark"))
    assert (ground(light), ground(dark)) == ("rgb(244, 245, 247)", "rgb(20, 21, 23)")


def test_every_control_has_a_name(open_page: Open, white: Fitted) -> None:
    page = open_page(white.file)
    nameless = page.evaluate(
        """Array.from(document.querySelectorAll("button, input, select, canvas:not([aria-hidden]), svg")).filter(
             (e) => !(e.getAttribute("aria-label") || e.labels?.length || e.textContent.trim())).length"""
    )
    assert nameless == 0


VERDICT = ["The model predicts hidden cells better than the columns' own frequencies.", "By 0.1 (standard error 0.01)."]
NOTHING = ["Nothing here predicts cells better than the columns' own frequencies.", "The difference is 0.001."]


class TestFirstScreen:
    @pytest.fixture
    def opened(self, open_page: Open, white: Fitted, tmp_path: Path) -> Callable[[dict[str, Any] | None], Any]:
        """The page of a fit with a verdict, as a newcomer sees it."""

        def made(verdict: dict[str, Any] | None) -> Any:
            known = Verdict.from_dict(verdict) if verdict is not None else False
            write_report(analyse(white.model, white.data, verdict=known), tmp_path / "r.html")
            page = open_page(tmp_path / "r.html")
            page.set_viewport_size({"width": 1300, "height": 900})
            return page

        return made

    @pytest.mark.parametrize("verdict", [None, {"sentences": VERDICT, "predicts": True}])
    def test_the_first_suspect_is_seen_without_scrolling(
        self, opened: Callable[..., Any], white: Fitted, verdict: dict[str, Any] | None
    ) -> None:
        page = opened(verdict)
        first = page.locator("#suspect-table tbody tr").first
        expect(first).to_be_in_viewport(ratio=1)
        best = white.model.suspects(white.data, top=1).iloc[0]
        assert first.inner_text().split("\t")[:3] == [best["row"], best["column"], f"{best['score']:.2f}"]
        for control in ("#suspect-kind", "#suspect-search", "[data-mark]", "#overview canvas", ".numbers div"):
            expect(page.locator(control).first).to_be_in_viewport()

    def test_many_notes_leave_it_on_the_screen(self, open_page: Open, white: Fitted, tmp_path: Path) -> None:
        """As a table with many columns of metadata has them; printed, all are there."""
        notes = [
            f'the column "metadata {i}" is metadata, kept beside the rows; {"leave it out, " * 12}' for i in range(12)
        ]
        known = Verdict.from_dict({"sentences": VERDICT, "predicts": True})
        warned = Provenance(warnings=tuple(map(UserWarning, notes)))
        write_report(analyse(white.model, white.data, verdict=known, provenance=warned), tmp_path / "r.html")
        page = open_page(tmp_path / "r.html")
        page.set_viewport_size({"width": 1300, "height": 900})
        expect(page.locator("#suspect-table tbody tr").first).to_be_in_viewport(ratio=1)
        assert page.locator("#answer .notes li").all_inner_texts() == [note.strip() for note in notes]
        page.emulate_media(media="print")
        hidden = page.locator("#answer .notes").evaluate("(list) => list.scrollHeight - list.clientHeight")
        assert hidden <= 1

    def test_sections_in_order(self, opened: Callable[..., Any]) -> None:
        page = opened(None)
        order = page.locator("main section").evaluate_all("(es) => es.map((e) => e.id)")
        first = ["answer", "picture", "suspects", "work", "components", "totals"]
        assert order == [*first, "cells", "row", "weights", "sure", "fitted"]
        links = page.locator("nav a").evaluate_all("(es) => es.map((e) => e.hash.slice(1))")
        assert set(links) <= set(order), "the menu leads to what is there"

    def test_the_verdict_leads(self, opened: Callable[..., Any], white: Fitted) -> None:
        page = opened({"sentences": VERDICT, "predicts": True})
        answer = analyse(white.model, white.data, verdict=False).said(Role.ANSWER, Role.LEAD)
        assert page.locator("h1").inner_text() == VERDICT[0]
        assert page.locator(".reasons").inner_text() == VERDICT[1]
        assert page.locator(".said").inner_text() == " ".join(map(sentence, answer))

    def test_without_prediction_it_stands_alone(self, opened: Callable[..., Any], white: Fitted) -> None:
        """All else is folded, and no number of suspects comes before the list."""
        page = opened({"sentences": NOTHING, "predicts": False})
        assert page.locator("#answer :is(h1, p)").all_inner_texts() == NOTHING
        assert page.locator(".badge").inner_text() == "none"
        for section in ("#suspects", "#cells", "#sure", "#found"):
            assert not page.locator(section).is_visible()
        page.locator("nav a", has_text="Suspects").click()
        expect(page.locator("#suspect-table tbody tr").first).to_be_in_viewport(ratio=1)
        text = page.locator("#suspects").inner_text()
        before = text[: text.index("site ")]
        assert re.findall(r"\d+ (?:of|zeros|suspect)", before) == []
        known = Verdict.from_dict({"sentences": NOTHING, "predicts": False})
        found = analyse(white.model, white.data, verdict=known).said(Role.LEAD, Role.FOUND)
        assert page.locator("#found li").all_inner_texts() == [sentence(note) for note in found]
        assert "suspected" not in page.locator("#found").inner_text()
        assert page.locator("#found").evaluate("(e) => e.offsetTop") > page.locator("#cells").evaluate(
            "(e) => e.offsetTop"
        )


def test_a_narrow_screen_scrolls_down_only(open_page: Open, white: Fitted) -> None:
    page = open_page(white.file)
    page.set_viewport_size({"width": 400, "height": 800})
    assert page.evaluate("document.documentElement.scrollWidth") == 400
    line = page.locator("#suspect-table tbody tr").first
    line.scroll_into_view_if_needed()
    for cell in (line.locator("td").nth(0), line.locator("td").nth(1), line.locator("[data-mark=unsure]")):
        box = cell.bounding_box()
        assert box["width"] > 40
        assert box["x"] + box["width"] <= 400


def test_a_full_page_picture_shows_every_section(open_page: Open, white: Fitted) -> None:
    """Without anybody having scrolled there; right after the ratings were changed as well."""
    page = open_page(white.file)
    page.get_by_label("Rating of component 2").fill("0.3")
    page.evaluate("scrollTo(0, 0)")
    page.wait_for_timeout(300)
    assert page.evaluate("latentbits.tables.length") == 2
    picture = np.array(Image.open(io.BytesIO(page.screenshot(full_page=True))).convert("L"), dtype=int)
    for section in page.locator("main section").all():
        box = {side: round(value) for side, value in section.bounding_box().items()}
        inside = picture[box["y"] + 4 : box["y"] + box["height"] - 4, box["x"] + 4 : box["x"] + box["width"] - 4]
        assert inside.size > 0
        drawn = np.flatnonzero((inside != inside[:, :1]).any(axis=1))
        longest = np.diff(drawn, prepend=0, append=len(inside)).max()
        assert longest < 120, f"{section.get_attribute('id')} has an empty part of {longest} pixels"


class TestPaper:
    def test_no_controls_and_whole_tables(self, open_page: Open, white: Fitted) -> None:
        page = open_page(white.file, "dark")
        hidden = ("#theme", "#print", "#reset", "#save-denoised", "#save-ratings", "#next", "#search", "#ranking")
        scrolls = page.locator(".scroll")
        cut = scrolls.evaluate_all("(es) => es.map((e) => e.scrollHeight > e.clientHeight)")
        assert any(cut), "on a screen, long tables scroll"
        for control in hidden:
            assert page.locator(control).is_visible()
        page.emulate_media(media="print")
        for control in hidden:
            assert not page.locator(control).is_visible(), control
        sliders = page.locator("[type=range]")
        assert [sliders.nth(k).is_visible() for k in range(N_COMPONENTS)] == [False] * N_COMPONENTS
        assert page.locator(".rating output").first.is_visible(), "what was rated is still shown"
        assert scrolls.evaluate_all("(es) => es.map((e) => e.scrollHeight > e.clientHeight)") == [False] * len(cut)
        assert page.evaluate("getComputedStyle(document.getElementById('work')).position") == "static"
        assert ground(page) == "rgb(255, 255, 255)"

    def test_every_section_is_printed(self, open_page: Open, white: Fitted) -> None:
        """Also what is out of sight and has just changed; marks are words, other buttons are gone."""
        page = open_page(white.file)
        page.locator("[data-mark=reject]").nth(1).click()
        page.get_by_label("Rating of component 2").fill("0.3")
        stale = page.locator("#row-view").inner_text()
        page.evaluate("dispatchEvent(new Event('beforeprint'))")
        assert page.locator("#row-view").inner_text() != stale
        page.emulate_media(media="print")
        for section in page.locator("main section").all():
            assert section.is_visible()
            assert section.evaluate("(e) => getComputedStyle(e).contentVisibility") == "visible"
        assert page.locator("#suspect-table tbody tr").count() == 50
        page.evaluate("dispatchEvent(new Event('afterprint'))")
        shown = [button.get_attribute("title") for button in page.locator("[data-mark]").all() if button.is_visible()]
        assert set(shown) <= {"reject"}
        assert page.pdf().startswith(b"%PDF")

    @pytest.mark.parametrize("scheme", ["light", "dark"])
    def test_pictures_are_light(self, open_page: Open, white: Fitted, scheme: str) -> None:
        """In the light theme as well: then nothing changes."""
        light, page = open_page(white.file, "light"), open_page(white.file, scheme)
        before = pictures(page)
        page.evaluate("dispatchEvent(new Event('beforeprint'))")
        np.testing.assert_array_equal(pictures(page), pictures(light))
        page.evaluate("dispatchEvent(new Event('afterprint'))")
        np.testing.assert_array_equal(pictures(page), before)
        assert ground(page) == ("rgb(20, 21, 23)" if scheme == "dark" else "rgb(244, 245, 247)")


ATTACKS = {
    "a script": """() => {
      const script = document.createElement("script");
      script.textContent = "window.ran = true";
      document.body.append(script);
    }""",
    "a handler": """() => {
      const made = document.createElement("button");
      made.setAttribute("onclick", "window.ran = true");
      document.body.append(made);
      made.click();
    }""",
    "a link": """() => {
      const link = document.createElement("a");
      link.href = "javascript:window.ran = true";
      document.body.append(link);
      link.click();
    }""",
    "a request": """() => fetch("data:text/plain,hello").then(() => { window.ran = true; }, () => {})""",
}


def test_only_the_pages_own_script_runs(open_page: Open, white: Fitted) -> None:
    refused: list[str] = []
    page = open_page(white.file, expected=("Content Security Policy", refused))
    assert refused == []
    for n, (what, attack) in enumerate(ATTACKS.items(), 1):
        page.evaluate(attack)
        page.locator("#theme").click()  # by then whatever was started has run
        assert page.evaluate("window.ran ?? false") is False, what
        assert len(refused) >= n, what
