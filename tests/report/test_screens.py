"""First screens of ten pages, as people see them: kept as pictures in build/screens, and read by axe-core.

Each page is opened wide and narrow, light and dark, and as it is printed. What was found has to be within the first 800
pixels, and axe-core may report no serious violation.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import latentbits as lb
from tests.browser import needed_browser

ROOT = Path(__file__).resolve().parents[2]
SCREENS = ROOT / "build" / "screens"
SHAPES = {
    "wide": {"viewport": {"width": 1280, "height": 900}, "color_scheme": "light"},
    "dark": {"viewport": {"width": 1280, "height": 900}, "color_scheme": "dark"},
    "narrow": {"viewport": {"width": 390, "height": 844}, "color_scheme": "light"},
}
FIRST_SCREEN = 800


def _planted() -> Any:
    return lb.simulate.aspect_bernoulli(60, 16, 3, concentration=0.2, sharpness=0.2, random_state=2).X


def _coins(rows: int = 60, columns: int = 16) -> Any:
    return (np.random.default_rng(0).random((rows, columns)) < np.linspace(0.2, 0.8, columns)).astype(int)


def _sessions() -> Any:
    truth = lb.simulate.binary_ica(60, 6, 2, 12, random_state=0)
    return lb.analyse(lb.BinaryICA(2, random_state=0), truth.X, segments=truth.segments, random_state=0)


def _on_off(spread: float) -> Any:
    rng = np.random.default_rng(1)
    states = rng.integers(0, 2, (120, 2)) if spread else np.zeros((120, 2))
    return states @ rng.normal(size=(2, 5)) * spread + rng.normal(size=(120, 5)) * 0.3


def _survey() -> Any:
    rng = np.random.default_rng(0)
    present = rng.random((40, 1, 8)) < 0.5
    return (present & (rng.random((40, 3, 8)) < 0.5)).astype(float)


PAGES: dict[str, Callable[[], Any]] = {
    "aspects": lambda: lb.analyse(lb.BetaICA(3, n_init=3, random_state=0), _planted(), random_state=0),
    "aspects, none": lambda: lb.analyse(lb.AspectBernoulli(2, n_init=3, random_state=0), _coins(), random_state=0),
    "false zeros": lambda: lb.analyse(
        lb.FalseZeros(members=("aspects_4", "rows_and_columns"), random_state=0), _planted(), random_state=0
    ),
    "sources": _sessions,
    "factors": lambda: lb.analyse(lb.BinaryFactorAnalysis(4, n_init=3, random_state=0), _on_off(3)),
    "factors, none": lambda: lb.analyse(lb.BinaryFactorAnalysis(3, n_init=2, random_state=0), _on_off(0)),
    "clusters": lambda: lb.analyse(lb.ICAMixture(n_init=2, n_sources=1, random_state=0), _on_off(3)[:, :2]),
    "visits": lambda: lb.analyse(lb.RepeatedSurvey(lb.RowColumnBernoulli(), random_state=0), _survey(), random_state=0),
    "axes": lambda: lb.analyse(lb.LogisticPCA(1, ridge=1.0, n_init=2, random_state=0), _planted(), random_state=0),
    "mixture, none": lambda: lb.analyse(lb.BernoulliMixture(2, n_init=3, random_state=0), _coins(), random_state=0),
}


@pytest.fixture(scope="module")
def axe() -> str:
    return files(pytest.importorskip("axe_playwright_python")).joinpath("axe.min.js").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", PAGES)
def test_the_first_screen(name: str, axe: str, tmp_path: Path) -> None:
    browser = needed_browser()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        page_file = tmp_path / "report.html"
        PAGES[name]().report().save(page_file)
    SCREENS.mkdir(parents=True, exist_ok=True)
    for shape, settings in SHAPES.items():
        # The page forbids all scripts but its own, and axe-core is another one.
        window = browser.new_context(offline=True, bypass_csp=True, **settings)
        page = window.new_page()
        page.goto(page_file.as_uri())
        page.screenshot(path=SCREENS / f"{name} {shape}.png")
        assert page.locator(".badge").first.bounding_box()["y"] < 100
        headline = page.locator("h1").bounding_box()
        assert headline["y"] + headline["height"] < FIRST_SCREEN
        if shape == "wide":
            page.emulate_media(media="print")
            page.screenshot(path=SCREENS / f"{name} print.png", full_page=True)
            page.emulate_media(media="screen")
        page.evaluate(axe)
        violations = page.evaluate("axe.run().then((found) => found.violations)")
        serious = [
            f"{one['id']}: {one['nodes'][0]['html'][:200]}"
            for one in violations
            if one["impact"] in ("serious", "critical")
        ]
        assert serious == [], shape
        window.close()
