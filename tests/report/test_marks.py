"""Marks of cells: saved with the ratings, kept by the browser, cleared, loaded again."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from latentbits import AspectBernoulli, apply_marks
from latentbits.data.binary_data import BinaryData
from latentbits.findings.analyse import analyse
from latentbits.report import write_report

from .conftest import RATINGS, Fitted, Open, array, playwright, rate, saved
from .test_numbers import NO_STORAGE

expect = playwright.expect

pytestmark = pytest.mark.filterwarnings("ignore:.*no weight on any kept component")

Mark = dict[str, Any]
LINES = {0: "confirm", 1: "reject", 4: "unsure"}


def mark(page: Any, lines: dict[int, str] = LINES) -> None:
    """Mark cells by the line of the list in which they stand."""
    for n, word in lines.items():
        page.locator("#suspect-table tbody tr").nth(n).locator(f"[data-mark={word}]").click()


def pressed(page: Any) -> dict[int, str]:
    """The marks that are shown, by line."""
    found = page.locator("#suspect-table tbody tr").evaluate_all(
        "(es) => es.map((e) => e.querySelector('[aria-pressed=true]')?.dataset.mark ?? '')"
    )
    return {n: word for n, word in enumerate(found) if word}


def expected_marks(fitted: Fitted, lines: dict[int, str] = LINES) -> list[Mark]:
    top = fitted.model.suspects(fitted.data)
    return [{"row": top["row"][n], "column": top["column"][n], "mark": word} for n, word in lines.items()]


def saved_marks(page: Any) -> list[Mark]:
    return json.loads(saved(page, "ratings.json"))["marks"]


def test_marks_are_saved_with_the_ratings(open_page: Open, fitted: Fitted) -> None:
    page = open_page(fitted.file)
    assert saved_marks(page) == []
    mark(page)
    assert pressed(page) == LINES
    assert saved_marks(page) == expected_marks(fitted)
    assert saved(page, "Save marks", "ratings.json") == saved(page, "ratings.json")
    assert page.locator("#kept").inner_text().startswith("1 confirmed, 1 rejected, 1 unsure. ")
    mark(page, {1: "confirm", 4: "unsure"})
    assert saved_marks(page) == expected_marks(fitted, {0: "confirm", 1: "confirm"}), "again takes it off"


def test_a_mark_is_of_a_cell_not_of_a_line(open_page: Open, white: Fitted) -> None:
    page = open_page(white.file)
    mark(page, {3: "reject"})
    page.locator('[data-sort="row"]').click()
    rate(page, RATINGS)
    assert saved_marks(page) == expected_marks(white, {3: "reject"})
    name = white.model.suspects(white.data)["row"][3]
    page.locator("#suspect-search").fill(name)
    assert list(pressed(page).values()) in ([], ["reject"])
    page.get_by_role("button", name="Reset").click()
    page.locator("#suspect-search").fill("")
    page.locator('[data-sort="score"]').click()
    assert pressed(page) == {3: "reject"}


def test_zeros_and_ones_can_be_marked(open_page: Open, white: Fitted) -> None:
    page = open_page(white.file)
    assert page.locator("#mark-meaning").inner_text() == "confirm: it hides a 1; reject: it is a true 0."
    page.locator("#suspect-kind").select_option("1")
    assert page.locator("#mark-meaning").inner_text() == "confirm: the 1 is true; reject: it should be a 0."
    mark(page, {2: "reject"})
    line = white.model.suspects(white.data, kind="presence").iloc[2]
    assert saved_marks(page) == [{"row": line["row"], "column": line["column"], "mark": "reject"}]
    page.locator("#suspect-kind").select_option("0")
    assert pressed(page) == {}


@pytest.mark.parametrize("names", ["none", "repeated"])
def test_cells_without_names_of_their_own_are_known_by_position(
    open_page: Open, white: Fitted, tmp_path: Path, names: str
) -> None:
    """Positions count from 0 in the file, as in Python."""
    row_names = None if names == "none" else ["same"] * 70
    X = np.where(white.cells == -1, np.nan, white.cells)
    data = BinaryData.of(X, row_names=row_names)
    model = AspectBernoulli(4, n_init=2, random_state=0).fit(data)
    model.report(data, tmp_path / "r.html")
    page = open_page(tmp_path / "r.html")
    mark(page)
    top = model.suspects(X)
    assert saved_marks(page) == [
        {"row": int(top["row"][n]), "column": int(top["column"][n]), "mark": word} for n, word in LINES.items()
    ]
    page.reload()
    assert pressed(page) == LINES


class TestReload:
    def test_everything_survives_a_reload(self, open_page: Open, white: Fitted) -> None:
        page = open_page(white.file)
        mark(page)
        rate(page, RATINGS)
        page.get_by_label("Name of component 3").fill("steppe")
        page.locator("#threshold").fill("0.4")
        before = saved(page, "ratings.json")
        page.reload()
        assert saved(page, "ratings.json") == before
        assert page.get_by_label("Rating of component 2").input_value() == "0.2"
        assert page.get_by_label("Name of component 3").input_value() == "steppe"
        assert page.locator("#suspect-list").inner_text().startswith("By your ratings")
        assert "This browser keeps marks and ratings" in page.locator("#kept").inner_text()
        other = open_page(white.file)
        assert saved(other, "ratings.json") == before

    def test_it_can_be_cleared_and_that_undone(self, open_page: Open, white: Fitted) -> None:
        page = open_page(white.file)
        clear, undo = page.get_by_role("button", name="Clear"), page.get_by_role("button", name="Undo")
        untouched = saved(page, "ratings.json")
        assert (clear.is_visible(), undo.is_visible()) == (False, False)
        mark(page)
        rate(page, RATINGS)
        kept = saved(page, "ratings.json")
        clear.click()
        assert (saved(page, "ratings.json"), pressed(page)) == (untouched, {})
        assert page.evaluate("localStorage.length") == 0
        undo.click()
        assert saved(page, "ratings.json") == kept
        clear.click()
        page.reload()
        assert (saved(page, "ratings.json"), pressed(page)) == (untouched, {})
        assert (clear.is_visible(), undo.is_visible()) == (False, False)

    def test_other_fits_and_other_data_keep_their_own(self, open_page: Open, fit: Any, tmp_path: Path) -> None:
        white, black = fit("white"), fit("black")
        mark(open_page(white.file))
        assert pressed(open_page(black.file)) == {}
        white.model.report(white.data.rows(np.arange(40)), tmp_path / "some.html")
        assert pressed(open_page(tmp_path / "some.html")) == {}
        write_report(
            analyse(white.model, white.data, verdict=False), tmp_path / "rated.html", ratings={"ratings": RATINGS}
        )
        assert open_page(tmp_path / "rated.html").evaluate("latentbits.rated.ratings") == RATINGS

    @pytest.mark.parametrize("kept", ["no JSON", '{"format": "latentbits-ratings", "ratings": [1]}', "null"])
    def test_what_makes_no_sense_is_ignored(self, open_page: Open, white: Fitted, kept: str) -> None:
        page = open_page(white.file)
        mark(page)
        page.evaluate("(text) => localStorage.setItem(localStorage.key(0), text)", kept)
        page.reload()
        assert (pressed(page), page.evaluate("latentbits.rated.ratings")) == ({}, white.ratings)

    @pytest.mark.parametrize(
        "script", [NO_STORAGE, "Storage.prototype.setItem = () => { throw new DOMException('full'); }"]
    )
    def test_a_browser_that_keeps_nothing(self, open_page: Open, white: Fitted, script: str) -> None:
        page = open_page(white.file, before=script)
        mark(page)
        assert "This browser keeps nothing for this file: save ratings.json" in page.locator("#kept").inner_text()
        assert saved_marks(page) == expected_marks(white)
        page.get_by_role("button", name="Clear").click()
        assert pressed(page) == {}
        page.reload()
        assert pressed(page) == {}


class TestLoading:
    def test_marks_come_back(self, open_page: Open, white: Fitted, tmp_path: Path) -> None:
        page = open_page(white.file)
        mark(page)
        text = saved(page, "ratings.json")
        (tmp_path / "ratings.json").write_text(text, encoding="utf-8")
        page.get_by_role("button", name="Clear").click()
        page.locator("#load-ratings").set_input_files(tmp_path / "ratings.json")
        expect(page.locator("#kept")).to_contain_text("1 confirmed")
        assert pressed(page) == LINES
        assert saved(page, "ratings.json") == text
        page.reload()
        assert pressed(page) == LINES

    @pytest.mark.parametrize(
        "marks",
        [
            "none",
            [{"row": "site 1", "column": "genus 1", "mark": "maybe"}],
            [{"row": -1, "column": 0, "mark": "confirm"}],
            [{"row": 1.5, "column": 0, "mark": "confirm"}],
            [{"column": 0, "mark": "confirm"}],
            [None],
        ],
    )
    def test_marks_that_are_none_are_refused(
        self, open_page: Open, white: Fitted, tmp_path: Path, marks: object
    ) -> None:
        page = open_page(white.file)
        mark(page)
        before = saved(page, "ratings.json")
        (tmp_path / "ratings.json").write_text(json.dumps({**json.loads(before), "marks": marks}), encoding="utf-8")
        page.locator("#load-ratings").set_input_files(tmp_path / "ratings.json")
        page.locator("#message", has_text="The marks in this file can't be read").wait_for()
        assert saved(page, "ratings.json") == before

    def test_earlier_files_have_none(self, open_page: Open, white: Fitted, tmp_path: Path) -> None:
        page = open_page(white.file)
        rate(page, RATINGS)
        document = json.loads(saved(page, "ratings.json"))
        for key in ("marks", "data"):
            document.pop(key)
        (tmp_path / "ratings.json").write_text(json.dumps(document), encoding="utf-8")
        rate(page, white.ratings)
        page.locator("#load-ratings").set_input_files(tmp_path / "ratings.json")
        expect(page.get_by_label("Rating of component 2")).to_have_value("0.2")

    def test_a_report_begins_with_the_marks_it_was_given(self, open_page: Open, white: Fitted, tmp_path: Path) -> None:
        page = open_page(white.file)
        mark(page)
        document = json.loads(saved(page, "ratings.json"))
        write_report(analyse(white.model, white.data, verdict=False), tmp_path / "r.html", ratings=document)
        again = open_page(tmp_path / "r.html")
        assert pressed(again) == LINES
        assert json.loads(saved(again, "ratings.json")) == document
        mark(again, {9: "reject"})
        again.get_by_role("button", name="Clear").click()
        assert pressed(again) == LINES, "as the page was written"

    def test_other_rows_take_marks_by_name(self, open_page: Open, white: Fitted, tmp_path: Path) -> None:
        """A position says nothing of other data; what no cell has is left out, in words."""
        some = white.data.rows(np.arange(20, 40))
        white.model.report(some, tmp_path / "some.html")
        marks = [
            {"row": some.row_names[3], "column": "genus 2", "mark": "confirm"},
            {"row": "nobody", "column": "genus 2", "mark": "confirm"},
            {"row": 3, "column": 2, "mark": "reject"},
        ]
        page = open_page(white.file)
        document = {**json.loads(saved(page, "ratings.json")), "marks": marks}
        (tmp_path / "ratings.json").write_text(json.dumps(document), encoding="utf-8")
        other = open_page(tmp_path / "some.html")
        other.locator("#load-ratings").set_input_files(tmp_path / "ratings.json")
        other.locator("#message", has_text="2 marks of other data are left out").wait_for()
        assert saved_marks(other) == marks[:1]

    def test_marks_outside_a_sample_are_not_lost(
        self, open_page: Open, white: Fitted, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("latentbits.report.workbench.MOST_CELLS", 24 * 10)
        monkeypatch.setattr("latentbits.report.workbench.N_SUSPECTS", 5)
        monkeypatch.setattr("latentbits.report.workbench.N_TOTALS", 1)
        white.model.report(white.data, tmp_path / "r.html")
        marks = [{"row": name, "column": "genus 2", "mark": "unsure"} for name in white.data.row_names]
        page = open_page(tmp_path / "r.html")
        document = {**json.loads(saved(page, "ratings.json")), "marks": marks}
        (tmp_path / "ratings.json").write_text(json.dumps(document), encoding="utf-8")
        page.locator("#load-ratings").set_input_files(tmp_path / "ratings.json")
        page.locator("#kept", has_text="70 unsure").wait_for()
        assert len(page.evaluate("latentbits.otherMarks")) > 30
        assert sorted(saved_marks(page), key=lambda one: one["row"]) == sorted(marks, key=lambda one: one["row"])


def test_cells_that_were_looked_up_before_the_fit_stay(open_page: Open, white: Fitted, tmp_path: Path) -> None:
    """Neither suspected nor changed, whatever the ratings, as in Python."""
    top = white.model.suspects(white.data, ratings=RATINGS, top=4)
    marks = [
        {"row": row, "column": column, "mark": mark}
        for row, column, mark in zip(top["row"], top["column"], ["reject", "confirm", "reject", "unsure"], strict=True)
    ]
    known = apply_marks(white.data, marks)
    white.model.report(known, tmp_path / "known.html")
    page = open_page(tmp_path / "known.html")
    rate(page, RATINGS)
    scores = sum(white.model.suspicion(known, kind=kind, ratings=RATINGS) for kind in ("absence", "presence"))
    np.testing.assert_allclose(array(page, "score"), scores, atol=1e-9)
    np.testing.assert_array_equal(array(page, "clean"), white.model.denoise(known, ratings=RATINGS))
    listed = pd.read_csv(io.StringIO(saved(page, "suspects.csv")))
    expected = white.model.suspects(known, ratings=RATINGS, top=len(listed))
    np.testing.assert_allclose(listed["score"], expected["score"], rtol=1e-9)
    cells = set(zip(listed["row"], listed["column"], strict=True))
    assert [(one["row"], one["column"]) in cells for one in marks] == [False, False, False, True]


def test_marks_count_in_what_is_saved(open_page: Open, white: Fitted) -> None:
    """The cleaned data are those of Python with the same marks, and the list has them."""
    page = open_page(white.file)
    mark(page)
    known = {"marks": saved_marks(page)}
    cleaned = pd.read_csv(io.StringIO(saved(page, "denoised.csv"))).iloc[:, 1:]
    np.testing.assert_array_equal(cleaned, white.model.denoise(white.data, marks=known))
    assert "By held-out cells and marks" in page.locator("#counts").inner_text()
    listed = pd.read_csv(io.StringIO(saved(page, "suspects.csv")), keep_default_na=False)["mark"]
    assert {n: word for n, word in enumerate(listed) if word} == LINES
