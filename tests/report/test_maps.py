"""Maps of wide tables: zooming, moving about, and rows in groups of what is known of them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from latentbits import AspectBernoulli, simulate
from latentbits.data.binary_data import BinaryData

from .conftest import Fitted, Open, pixels, rgb

pytestmark = pytest.mark.filterwarnings("ignore:.*no weight on any kept component")

N_ROWS, N_COLUMNS = 20, 160
COLOURS = [rgb(text) for text in ("#0072b2", "#009e73", "#d55e00")]


@pytest.fixture(scope="module")
def wide_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    X = simulate.aspect_bernoulli(N_ROWS, N_COLUMNS, 2, random_state=0).X
    file = tmp_path_factory.mktemp("wide") / "r.html"
    AspectBernoulli(2, n_init=1, random_state=0).fit(X).report(X, file)
    return file


def shown_part(page: Any) -> tuple[float, float, float, float]:
    """Which columns and rows the first map shows: from, to, from, to, by where its canvas is."""
    field, canvas = (page.locator(f".heat:first-child {what}").bounding_box() for what in (".field", ".field canvas"))
    left = (field["x"] - canvas["x"]) / canvas["width"] * N_COLUMNS
    top = (field["y"] - canvas["y"]) / canvas["height"] * N_ROWS
    wide, high = field["width"] / canvas["width"] * N_COLUMNS, field["height"] / canvas["height"] * N_ROWS
    return left, left + wide, top, top + high


def place(page: Any) -> tuple[int, int]:
    """The column and row, in the order of display, that are pointed at."""
    x, y = page.evaluate("[latentbits.x, latentbits.y]")
    return x, y


class TestZoom:
    def test_buttons(self, open_page: Open, wide_file: Path) -> None:
        """Every map and the colours at its edges; a short side has at least 8 cells in sight."""
        page = open_page(wide_file)
        whole = pytest.approx((0, N_COLUMNS, 0, N_ROWS), abs=0.7)
        assert shown_part(page) == whole
        assert page.locator("#zoom-out").is_disabled()
        for n_columns, n_rows in ((80, 10), (40, 8), (20, 8), (10, 8), (8, 8)):
            page.get_by_role("button", name="Zoom in").click()
            left, right, top, bottom = shown_part(page)
            assert (right - left, bottom - top) == pytest.approx((n_columns, n_rows), rel=0.02)
        assert page.locator("#zoom-in").is_disabled()
        sizes = page.locator(".frame canvas").evaluate_all("(es) => es.map((e) => [e.className, e.style.cssText])")
        assert len(sizes) == 12
        assert len({tuple(size) for size in sizes}) == 3, "all maps move together"
        page.get_by_role("button", name="Zoom out").click()
        left, right, _, _ = shown_part(page)
        assert right - left == pytest.approx(16, rel=0.02)
        page.get_by_role("button", name="whole table").click()
        assert shown_part(page) == whole

    def test_keys(self, open_page: Open, wide_file: Path) -> None:
        """The cell that is pointed at stays in sight."""
        page = open_page(wide_file)
        page.locator("#heats").focus()
        for key in ["ArrowRight"] * 100 + ["+", "+", "="]:
            page.keyboard.press(key)
        left, right, _, _ = shown_part(page)
        assert (left + right) / 2 == pytest.approx(100.5, abs=0.5)
        assert right - left == pytest.approx(20, rel=0.02)
        for _ in range(30):
            page.keyboard.press("ArrowRight")
        left, right, _, _ = shown_part(page)
        assert place(page)[0] == 130
        assert left < 130.5 < right
        page.keyboard.press("-")
        left, right, _, _ = shown_part(page)
        assert right - left == pytest.approx(40, rel=0.02)
        page.keyboard.press("0")
        assert shown_part(page) == pytest.approx((0, N_COLUMNS, 0, N_ROWS), abs=0.7)

    def test_a_mouse(self, open_page: Open, wide_file: Path) -> None:
        """Ctrl and the wheel zoom, the wheel alone scrolls; dragging moves and chooses no row, a click does."""
        page = open_page(wide_file)
        page.locator("#heats").scroll_into_view_if_needed()
        field = page.locator(".heat:first-child .field").bounding_box()
        middle = field["x"] + field["width"] / 2, field["y"] + field["height"] / 2
        page.mouse.move(*middle)
        page.keyboard.down("Control")
        for _ in range(8):
            page.mouse.wheel(0, -100)
        page.keyboard.up("Control")
        page.wait_for_function("latentbits.zoom.level > 4")
        left, right, top, bottom = shown_part(page)
        row = page.evaluate("latentbits.row")
        page.mouse.down()
        page.mouse.move(middle[0] - field["width"] / 4, middle[1], steps=5)
        page.mouse.up()
        moved, end, _, _ = shown_part(page)
        assert moved - left == pytest.approx((right - left) / 4, abs=0.5)
        assert end - moved == pytest.approx(right - left)
        assert page.evaluate("latentbits.row") == row
        x, y = field["x"] + 0.3 * field["width"], field["y"] + 0.8 * field["height"]
        page.mouse.click(x, y)
        assert place(page) == (int(moved + 0.3 * (end - moved)), int(top + 0.8 * (bottom - top)))
        assert page.evaluate("latentbits.row === latentbits.bench.row_order[latentbits.y]")
        cross = page.locator(".heat:first-child .cross.down").bounding_box()
        assert cross["x"] == pytest.approx(x, abs=field["width"] / (end - moved) / 2 + 1)

    def test_a_suspects_cell_is_brought_into_sight(self, open_page: Open, wide_file: Path) -> None:
        page = open_page(wide_file)
        for _ in range(4):
            page.get_by_role("button", name="Zoom in").click()
        for n in (0, 7, 13):
            page.locator("#suspect-table .link").nth(n).click()
            (x, y), (left, right, top, bottom) = place(page), shown_part(page)
            assert left < x + 0.5 < right
            assert top < y + 0.5 < bottom


class TestMetadata:
    @pytest.fixture
    def page(self, open_page: Open, white: Fitted, tmp_path: Path) -> Any:
        data = BinaryData.of(
            np.where(white.cells == -1, np.nan, white.cells),
            row_names=white.data.row_names,
            column_names=white.data.column_names,
        )
        known = {"party": [f"<b>{'CAB'[i % 3]}</b>" for i in range(70)], "city": [f"city {i}" for i in range(70)]}
        object.__setattr__(data, "metadata", known)
        white.model.report(data, tmp_path / "r.html")
        return open_page(tmp_path / "r.html")

    def test_rows_are_grouped_and_coloured(self, page: Any) -> None:
        own = page.evaluate("latentbits.bench.row_order")
        data = pixels(page, ".heat:first-child .field canvas")
        edges = pixels(page, ".side")
        page.locator("#row-grouping").select_option("party")
        order = page.evaluate("latentbits.bench.row_order")
        code = ["CAB"[i % 3] for i in range(70)]
        assert order == sorted(own, key=lambda i: code[i]), "in a group as before"
        place = [own.index(i) for i in order]
        np.testing.assert_array_equal(pixels(page, ".heat:first-child .field canvas"), data[place])
        np.testing.assert_array_equal(pixels(page, ".side")[:, 0], [COLOURS["ABC".index(code[i])] for i in order])
        assert page.locator("#groups bdi").all_inner_texts() == ["<b>A</b>", "<b>B</b>", "<b>C</b>"]
        page.locator("#row-grouping").select_option("strongest component")
        np.testing.assert_array_equal(pixels(page, ".heat:first-child .field canvas"), data)
        np.testing.assert_array_equal(pixels(page, ".side"), edges)
        assert page.locator("#groups bdi").count() == 0

    def test_a_rows_view_shows_it(self, page: Any) -> None:
        page.locator("#row-name").fill("site 3")
        page.locator("#row-name").press("Enter")
        assert page.locator("#row-view p").first.inner_text().endswith(" party: <b>A</b>. city: city 13.")

    def test_without_any_there_is_nothing_to_choose(self, open_page: Open, white: Fitted) -> None:
        assert not open_page(white.file).locator("#row-grouping").is_visible()
