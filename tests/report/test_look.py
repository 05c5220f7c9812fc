"""Light, dark and paper; names for those who can't see; and no script but the page's own."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from .conftest import N_COMPONENTS, Fitted, Open, pixels

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
    assert (ground(light), ground(dark)) == ("rgb(246, 246, 244)", "rgb(20, 21, 23)")


def test_every_control_has_a_name(open_page: Open, white: Fitted) -> None:
    page = open_page(white.file)
    nameless = page.evaluate(
        """Array.from(document.querySelectorAll("button, input, select, canvas:not([aria-hidden]), svg")).filter(
             (e) => !(e.getAttribute("aria-label") || e.labels?.length || e.textContent.trim())).length"""
    )
    assert nameless == 0


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

    @pytest.mark.parametrize("scheme", ["light", "dark"])
    def test_pictures_are_light(self, open_page: Open, white: Fitted, scheme: str) -> None:
        """In the light theme as well: then nothing changes."""
        light, page = open_page(white.file, "light"), open_page(white.file, scheme)
        before = pictures(page)
        page.evaluate("dispatchEvent(new Event('beforeprint'))")
        np.testing.assert_array_equal(pictures(page), pictures(light))
        page.evaluate("dispatchEvent(new Event('afterprint'))")
        np.testing.assert_array_equal(pictures(page), before)
        assert ground(page) == ("rgb(20, 21, 23)" if scheme == "dark" else "rgb(246, 246, 244)")


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
