"""A browser without a network, models with and without phantoms, and what tests do with a page."""

from __future__ import annotations

import json
import warnings
from base64 import b64decode
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from latentbits import AspectBernoulli, BetaICA, simulate
from latentbits.data.binary_data import BinaryData
from tests.browser import needed_browser

playwright = pytest.importorskip("playwright.sync_api", reason="the report's tests drive a browser with playwright")

Open = Callable[..., Any]
N_ROWS, N_COLUMNS, N_COMPONENTS = 70, 24, 4
RATINGS = [1, 0.2, 0.7, 0]
HOSTILE = [
    "<img src=x onerror=alert(1)>",
    "</script><script>alert(2)</script>",
    "\"quoted\", 'and' &amp;",
    "=cmd()|' /C calc'!A0",
    "עברית مرحبا",
    "🦴 emoji 🐎",
    "line\u2028separator",
    "{{ 7 * 7 }}",
    "-2+3",
    "a,b\nc",
]


# ---- the browser -------------------------------------------------------------------------------------------------


@pytest.fixture(scope="session")
def browser() -> Any:
    """Debian's chromium; without it these tests are skipped, but not on CI."""
    return needed_browser()


@pytest.fixture
def open_page(browser: Any) -> Iterator[Open]:
    """Open a file in an offline window; at the end, nothing may have gone wrong or been asked for.

    All pages of a test share what the browser keeps, and other tests don't. Messages of the console with the `expected`
    words are collected in that list, and at least one has to come. `before` is a script that runs before the page's.
    """
    windows: dict[str, Any] = {}
    troubles: list[str] = []
    awaited: list[tuple[str, list[str]]] = []

    def open_file(
        file: Path, scheme: str = "light", expected: tuple[str, list[str]] | None = None, before: str = ""
    ) -> Any:
        if scheme not in windows:
            viewport = {"width": 1280, "height": 900}
            windows[scheme] = browser.new_context(offline=True, color_scheme=scheme, viewport=viewport)
        page = windows[scheme].new_page()
        if expected is not None:
            awaited.append(expected)
        page.set_default_timeout(20_000)

        def on_console(message: Any) -> None:
            if expected is not None and expected[0] in message.text:
                expected[1].append(message.text)
            else:
                troubles.append(f"console: {message.text}")

        def asked(dialog: Any) -> None:
            troubles.append(f"dialog: {dialog.message}")
            dialog.dismiss()

        page.on("console", on_console)
        page.on("pageerror", lambda error: troubles.append(f"error: {error}"))
        page.on("dialog", asked)
        page.on("request", lambda request: _note_foreign(request.url, file, troubles))
        if before:
            page.add_init_script(before)
        page.goto(file.as_uri())
        return page

    yield open_file
    for window in windows.values():
        window.close()
    assert troubles == []
    for words, messages in awaited:
        assert messages, f"the console never said {words!r}"


def _note_foreign(url: str, file: Path, troubles: list[str]) -> None:
    if url != file.as_uri() and not url.startswith(("data:", "blob:")):
        troubles.append(f"request: {url}")


# ---- models and their reports ------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Fitted:
    """A model, its data and its report."""

    model: Any
    data: BinaryData
    file: Path

    @property
    def cells(self) -> np.ndarray:
        return self.data.dense()

    @property
    def ratings(self) -> list[float]:
        """What the page begins with: phantoms out."""
        return (self.model.phantoms_ == "content").astype(float).tolist()


def named(X: np.ndarray) -> BinaryData:
    """Data whose names would like to be programs."""
    columns = [*HOSTILE, *(f"genus {j}" for j in range(X.shape[1] - len(HOSTILE)))]
    rows = [*(f"{name} (site)" for name in HOSTILE), *(f"site {i}" for i in range(len(X) - len(HOSTILE)))]
    return BinaryData.of(X, row_names=rows, column_names=columns)


def cells_with(*phantoms: str, seed: int = 0, sharpness: float = 0.2, **more: Any) -> np.ndarray:
    """Simulated cells, some of them missing."""
    made = simulate.aspect_bernoulli(
        N_ROWS,
        N_COLUMNS,
        N_COMPONENTS,
        **{f"{phantom}_phantom": True for phantom in phantoms},
        sharpness=sharpness,
        missing=0.03,
        random_state=seed,
        **more,
    )
    return made.X


@pytest.fixture(scope="session")
def fit(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Fitted]:
    """A fitted model and its report, by its phantoms; each is made once."""
    two_phantoms = cells_with("white", "black", seed=2, sharpness=0.1, concentration=0.3)
    kinds: dict[str, tuple[type, np.ndarray, set[str]]] = {
        "white": (AspectBernoulli, cells_with("white"), {"white"}),
        "beta": (BetaICA, cells_with("white"), {"white"}),
        "black": (AspectBernoulli, 1 - cells_with("white"), {"black"}),
        "both": (AspectBernoulli, two_phantoms, {"white", "black"}),
        "plain": (AspectBernoulli, cells_with(seed=1), set()),
    }

    @cache
    def made(name: str) -> Fitted:
        estimator, X, phantoms = kinds[name]
        data = named(X)
        model = estimator(N_COMPONENTS, n_init=3, random_state=0).fit(data)
        assert set(model.phantoms_) == phantoms | {"content"}, "these tests need other data"
        file = tmp_path_factory.mktemp("report") / f"{name}.html"
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", ".*no weight on any kept component")
            model.report(data, file)
        return Fitted(model, data, file)

    return made


@pytest.fixture(params=["white", "beta"])
def fitted(request: pytest.FixtureRequest, fit: Callable[[str], Fitted]) -> Fitted:
    return fit(request.param)


@pytest.fixture
def white(fit: Callable[[str], Fitted]) -> Fitted:
    return fit("white")


every_kind = pytest.mark.parametrize("fitted", ["white", "beta", "black", "both", "plain"], indirect=True)


# ---- what a reader does and sees ---------------------------------------------------------------------------------


def array(page: Any, name: str) -> np.ndarray:
    """An array of the page's workbench, of the shape of the data."""
    text = page.evaluate(f"JSON.stringify([latentbits.bench.N, latentbits.bench.D, ...latentbits.bench.{name}])")
    n_rows, n_columns, *values = json.loads(text)
    return np.array(values).reshape(n_rows, n_columns)


def rate(page: Any, ratings: Sequence[float]) -> None:
    """Move the sliders, and wait for tables out of sight."""
    for k, rating in enumerate(ratings):
        page.get_by_label(f"Rating of component {k + 1}", exact=True).fill(str(rating))
    page.evaluate("latentbits.settle()")


def card(page: Any, k: int) -> Any:
    """The card of a component; cards stand in another order."""
    return page.get_by_role("article", name=f"component {k + 1}", exact=True)


def saved(page: Any, button: str, name: str | None = None) -> str:
    """The text of a downloaded file, which has the button's name unless another is expected."""
    with page.expect_download() as waiting:
        page.get_by_role("button", name=button).click()
    assert waiting.value.suggested_filename == (name or button)
    return Path(waiting.value.path()).read_text(encoding="utf-8")


def pixels(page: Any, canvas: Any) -> np.ndarray:
    """What the first canvas that matches shows: height x width x (red, green, blue)."""
    high, wide, colours = (page.locator(canvas) if isinstance(canvas, str) else canvas).first.evaluate(
        """(shown) => {
          const {height, width} = shown, copy = document.createElement("canvas");
          Object.assign(copy, {height, width});
          const context = copy.getContext("2d", {willReadFrequently: true});
          context.drawImage(shown, 0, 0);
          return [height, width, btoa(String.fromCharCode(...context.getImageData(0, 0, width, height).data))];
        }"""
    )
    return np.frombuffer(b64decode(colours), np.uint8).reshape(high, wide, 4)[:, :, :3].astype(int)


def colour(page: Any, name: str) -> np.ndarray:
    """A colour of the page's style sheet as (red, green, blue)."""
    return rgb(page.evaluate(f"getComputedStyle(document.documentElement).getPropertyValue('{name}')"))


def rgb(text: str) -> np.ndarray:
    return np.array([int(text.strip()[at : at + 2], 16) for at in (1, 3, 5)])


def suspicion(model: Any, data: BinaryData, ratings: Sequence[float] | None = None) -> np.ndarray:
    """Python's scores of zeros and ones alike; without ratings those of all restarts."""
    return sum(model.suspicion(data, kind=kind, ratings=ratings) for kind in ("absence", "presence"))


def assert_page_equals_python(page: Any, model: Any, data: BinaryData, ratings: Sequence[float]) -> None:
    np.testing.assert_allclose(array(page, "P"), model.reconstruct(data, ratings=ratings), atol=1e-9)
    assert_scores_are_pythons(page, model, data, ratings)
    untouched = list(ratings) == (model.phantoms_ == "content").astype(float).tolist()
    clean = model.denoise(data) if untouched else model.denoise(data, ratings=ratings)
    np.testing.assert_array_equal(array(page, "clean"), clean)
    np.testing.assert_array_equal(array(page, "cells"), np.where(data.dense() == -1, 2, data.dense()))


def assert_scores_are_pythons(page: Any, model: Any, data: BinaryData, ratings: Sequence[float]) -> None:
    """By ratings, of the best run; untouched, of all restarts: exact for cells of the list, else in steps of 1/200."""
    score = array(page, "score")
    if list(ratings) != (model.phantoms_ == "content").astype(float).tolist():
        np.testing.assert_allclose(score, suspicion(model, data, ratings), atol=1e-9)
        return
    expected, listed = suspicion(model, data), array(page, "listed") == 1
    assert listed.sum() == sum(min(1000, int((data.dense() == value).sum())) for value in (0, 1))
    np.testing.assert_array_equal(score[listed], expected[listed])
    np.testing.assert_array_equal(score[~listed], np.floor(200 * expected[~listed]) / 200)
