"""The built site in a browser without a network: pages, search, narrow windows, dark mode.

`make docs` builds it. Without it these tests are skipped, but not on CI.
"""

from __future__ import annotations

import re
import sys
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest

from tests.browser import needed_browser, unavailable

ROOT = Path(__file__).resolve().parents[2]
SITE = ROOT / "build" / "docs"
PAGES = {
    "landing": "index.html",
    "guide": "guides/a01_which_zeros_are_false.html",
    "example": "gallery/b01_flaked_scans.html",
    "reference": "api/latentbits.tetrachoric.html",
    "command": "commands/false-zeros.html",
    "results": "results.html",
    "benchmarks": "benchmarks.html",
    "coming from": "coming-from.html",
}
BEYOND = """() => [...document.querySelectorAll(".bd-article :is(p, img, pre, h1, h2, li)")]
  .filter((part) => !part.closest("table, .pst-scrollable-table-container, svg, .sphx-glr-thumbnails, iframe"))
  .filter((part) => part.getBoundingClientRect().right > window.innerWidth + 1)
  .map((part) => part.tagName + ": " + part.textContent.slice(0, 40))"""
"""What reaches beyond the window's right edge; the page itself may hide it, so its own width doesn't tell."""


@pytest.fixture(scope="module")
def browser():
    if not (SITE / "index.html").exists():
        unavailable("the site isn't built; run make docs")
    return needed_browser()


@pytest.fixture
def opened(browser):
    """Open a page offline; at the end, nothing may have failed or been asked of the network."""
    troubles: list[str] = []
    windows: list[Any] = []

    def open_page(name: str, *, width: int = 1280, scheme: str = "light") -> Any:
        window = browser.new_context(offline=True, color_scheme=scheme, viewport={"width": width, "height": 900})
        windows.append(window)
        page = window.new_page()
        page.set_default_timeout(20_000)
        page.on("pageerror", lambda error: troubles.append(f"error: {error}"))
        page.on("console", lambda m: troubles.append(f"console: {m.text}") if m.type == "error" else None)
        page.on("request", lambda r: troubles.append(f"request: {r.url}") if r.url.startswith("http") else None)
        page.goto((SITE / name).as_uri())
        return page

    yield open_page
    for window in windows:
        window.close()
    assert troubles == []


@pytest.mark.parametrize("name", PAGES)
@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (390, "light"), (1280, "dark")])
def test_pages_open(opened, name, width, scheme):
    page = opened(PAGES[name], width=width, scheme=scheme)
    assert page.locator("h1").first.is_visible()
    assert page.evaluate(BEYOND) == [], "paragraphs, pictures and code blocks are not wider than the window"
    light = page.evaluate("getComputedStyle(document.body).backgroundColor")
    brightness = sum(int(part) for part in re.findall(r"\d+", light)[:3])
    assert (brightness < 200) == (scheme == "dark")


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("name", [*PAGES.values(), "which-model.html", "guides/index.html"])
def test_pages_can_be_used_by_everybody(browser, name, scheme):
    """axe-core finds no serious violation."""
    axe = files(pytest.importorskip("axe_playwright_python")).joinpath("axe.min.js").read_text(encoding="utf-8")
    window = browser.new_context(offline=True, color_scheme=scheme, viewport={"width": 1280, "height": 900})
    page = window.new_page()
    page.goto((SITE / name).as_uri())
    page.evaluate(axe)
    violations = page.evaluate("axe.run().then((found) => found.violations)")
    window.close()
    assert [one["id"] for one in violations if one["impact"] in ("serious", "critical")] == []


def test_the_landing_page_answers_in_one_screen(opened):
    page = opened("index.html")
    for words in ("Which of these zeros are real?", "18 of the first 20", "pip install .", "latentbits false-zeros"):
        box = page.get_by_text(words).first.bounding_box()
        assert box["y"] + box["height"] < 900, words


def test_the_claim_of_the_landing_page_is_what_its_guide_prints(opened):
    claim = opened("index.html").locator(".claim").inner_text().rstrip(".").removesuffix(" would be")
    hits, chance = re.findall(r"(\d+) (?:of the first|would be)", claim + " would be")
    printed = opened(PAGES["guide"]).locator(".sphx-glr-script-out").all_inner_texts()
    assert any(
        f"{hits} of the first 20 suspects are false zeros; of 20 random zeros about {chance}" in text
        for text in printed
    )


def test_the_tree_of_models_is_a_list_where_it_would_be_too_small(opened):
    wide, narrow = opened("which-model.html"), opened("which-model.html", width=390)
    for page, shown, other in ((wide, ".decision svg", ".as-list"), (narrow, ".as-list", ".decision svg")):
        assert page.locator(shown).is_visible()
        assert not page.locator(other).is_visible()
    assert narrow.locator(".as-list a", has_text="FalseZeros").get_attribute("href").endswith("latentbits.FalseZeros")


def test_tetrachoric_is_found_by_the_sites_own_search(opened):
    page = opened("index.html")
    page.keyboard.press("Control+k")
    page.keyboard.type("tetrachoric")
    page.keyboard.press("Enter")
    page.wait_for_url("**/search.html?q=tetrachoric*")
    for goal in ("latentbits.tetrachoric.html", "a09_yes_no_items.html"):  # results are listed one after the other
        page.wait_for_selector(f'#search-results li a[href*="{goal}"]')


def test_the_picture_of_models_leads_to_their_pages(opened):
    page = opened("which-model.html")
    page.locator(".decision a", has_text="FalseZeros").click()
    assert page.locator("h1").inner_text().startswith("FalseZeros")


def test_what_is_copied_from_an_example_is_its_code(opened):
    page = opened("api/latentbits.tetrachoric.html")
    page.locator(".highlight-default pre, .highlight-python pre, .doctest pre").first.evaluate(
        "part => getSelection().selectAllChildren(part)"
    )
    copied = page.evaluate("getSelection().toString()")
    assert "tetrachoric([[0, 0]" in copied
    assert ">>>" not in copied
    compile(copied, "copied", "exec")


def test_every_internal_link_leads_somewhere():
    if not (SITE / "index.html").exists():
        unavailable("the site isn't built; run make docs")
    sys.path.insert(0, str(ROOT / "docs" / "_ext"))
    from links import broken

    assert broken(SITE) == []


def test_no_page_tells_where_it_was_built():
    if not (SITE / "index.html").exists():
        unavailable("the site isn't built; run make docs")
    for file in SITE.rglob("*.html"):
        assert str(ROOT) not in file.read_text(encoding="utf-8"), file.name
