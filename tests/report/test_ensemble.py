"""The page of an ensemble: its list, the members' votes, why a cell is suspected, reliability, and marks."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from latentbits import FalseZeros, apply_marks, verdict
from latentbits.data.binary_data import BinaryData
from latentbits.findings.analyse import analyse
from latentbits.models.false_zeros.scored_rows import explain_cells
from latentbits.report import write_report
from latentbits.report.page import page_content

from .conftest import HOSTILE, Fitted, Open, cells_with, named, playwright, saved
from .test_marks import mark, pressed, saved_marks

expect = playwright.expect

MEMBERS = ["aspects_2", "ising", "linear_autoencoder"]
BARS = "(es) => es.map((e) => [e.querySelector('.label').textContent, e.querySelector('.value').textContent])"


def made(data: BinaryData, file: Path, *, verdict: bool = False, **parameters: Any) -> Fitted:
    model = FalseZeros(**{"n_folds": 2, "members": MEMBERS, "noise": None, "random_state": 0, **parameters}).fit(data)
    write_report(analyse(model, data, verdict=verdict), file)
    return Fitted(model, data, file)


@pytest.fixture(scope="module")
def ensemble(tmp_path_factory: pytest.TempPathFactory) -> Fitted:
    """With names that would like to be programs."""
    return made(named(cells_with("white")), tmp_path_factory.mktemp("report") / "ensemble.html")


@pytest.fixture(scope="module")
def top(ensemble: Fitted) -> pd.DataFrame:
    return ensemble.model.suspects(ensemble.data, top=1000)


def lines(page: Any) -> list[list[str]]:
    """The cells of the list, but for the marks."""
    return page.locator("#suspect-table tbody tr").evaluate_all(
        "(es) => es.map((e) => [...e.cells].slice(0, 4).map((cell) => cell.textContent))"
    )


def choose(page: Any, n: int) -> None:
    page.locator("#suspect-table tbody tr").nth(n).locator("button.link").click()


def bars(page: Any, n: int) -> list[list[str]]:
    """The n-th list of bars beside the table, each with its number."""
    return page.locator("#why .bars").nth(n).locator("li").evaluate_all(BARS)


# ---- the list --------------------------------------------------------------------------------------------------------


def test_the_list_is_pythons_and_stands_first(open_page: Open, ensemble: Fitted, top: pd.DataFrame) -> None:
    page = open_page(ensemble.file)
    expected = [[line.row, line.column, f"{line.score:.2f}", f"{line[4]:.2f}"] for line in top.head(50).itertuples()]
    assert lines(page) == expected
    heads = page.locator("#suspect-table th").all_inner_texts()
    assert [head.split(" ▾")[0] for head in heads] == ["row", "column", "score", "P(1 | the rest)", "mark"]
    sections = page.locator("main section").evaluate_all("(es) => es.map((e) => e.id)")
    assert sections[:3] == ["answer", "picture", "suspects"]
    assert "not the probability that it is present" in page.locator("#suspects").inner_text()


def test_the_first_suspect_is_in_sight_without_scrolling(open_page: Open, ensemble: Fitted) -> None:
    page = open_page(ensemble.file)
    page.set_viewport_size({"width": 1300, "height": 900})
    box = page.locator("#suspect-table tbody tr").first.bounding_box()
    assert box["y"] + box["height"] < 900
    assert page.locator("#why .bars").first.bounding_box()["y"] < 900
    assert page.evaluate("document.documentElement.scrollWidth") <= 1300


def test_the_verdict_leads(open_page: Open, ensemble: Fitted, tmp_path: Path) -> None:
    write_report(analyse(ensemble.model, ensemble.data), tmp_path / "judged.html")
    page = open_page(tmp_path / "judged.html")
    found = verdict(ensemble.model, ensemble.data)
    assert page.locator("h1").inner_text() == found.sentences[0]
    assert page.locator("#rest").count() == (not found.predicts), "without evidence all else is folded"


def test_search_and_sort(open_page: Open, ensemble: Fitted, top: pd.DataFrame) -> None:
    page = open_page(ensemble.file)
    name = top["column"][0]
    page.locator("#suspect-search").fill(f'"{name.lower()}"')
    assert {line[1] for line in lines(page)} == {name}
    page.locator("#suspect-search").fill("")
    page.get_by_role("button", name="P(1 | the rest)").click()
    page.get_by_role("button", name="P(1 | the rest)").click()
    assert lines(page)[0][3] == f"{top['P(1 | the rest)'].min():.2f}"


# ---- why -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("n", [0, 7])
def test_votes_and_reasons_of_the_chosen_cell(open_page: Open, ensemble: Fitted, top: pd.DataFrame, n: int) -> None:
    page = open_page(ensemble.file)
    if n:
        choose(page, n)
    assert page.locator("#suspect-table tr.chosen").evaluate("(e) => e.rowIndex") == n + 1
    assert page.locator("#why h3").inner_text() == f"Why {top['row'][n]}, {top['column'][n]}".replace("\n", " ")
    votes = bars(page, 0)
    assert [name for name, _ in votes] == MEMBERS
    np.testing.assert_allclose([float(v) for _, v in votes], top.loc[n, MEMBERS].astype(float), atol=0.00501)
    why = ensemble.model.explain(ensemble.data, top["row"][n], top["column"][n])
    for place, what in enumerate(("column", "row"), start=1):
        part = why[why["what"] == what]
        shown = bars(page, place)
        assert [name for name, _ in shown] == [
            f"{'?' if value is pd.NA else value} {name}"
            for name, value in zip(part["name"], part["value"], strict=True)
        ]
        says = [float(value.replace("\u2212", "-")) for _, value in shown]
        np.testing.assert_allclose(says, part["says"].astype(float), rtol=0.05)
    base = float(why.loc[why["what"] == "base", "says"].iloc[0])
    assert f"how common it is alone says {'+' if base > 0 else chr(0x2212)}{abs(base):.2g}"[:-1] in view_text(page)


def view_text(page: Any) -> str:
    return " ".join(page.locator("#why").inner_text().split())


def test_many_cells_are_explained_as_one_by_one(ensemble: Fitted, top: pd.DataFrame) -> None:
    model, data = ensemble.model, ensemble.data
    rows, columns = list(data.row_names), list(data.column_names)
    cells = [(rows.index(line.row), columns.index(line.column)) for line in top.head(30).itertuples()]
    together = explain_cells(model, model._scored(data), cells, 5)
    for cell, table in zip(cells, together, strict=True):
        alone = model.explain(data, *cell)
        assert table["name"].tolist() == alone["name"].tolist()
        np.testing.assert_allclose(table["says"].astype(float), alone["says"].astype(float), atol=1e-12)


def test_cells_beyond_those_explained_say_so(open_page: Open, tmp_path: Path, monkeypatch: Any) -> None:
    from latentbits.report import workbench as part

    monkeypatch.setattr(part, "N_EXPLAINED", 3)
    page = open_page(made(named(cells_with("white")), tmp_path / "few.html").file)
    choose(page, 2)
    assert page.locator("#why .bars").count() > 1
    choose(page, 3)
    assert page.locator("#why .bars").count() == 1
    assert "latentbits explain" in page.locator("#why").inner_text()


# ---- how sure --------------------------------------------------------------------------------------------------------


def test_the_reliability_curve_has_every_bin_with_its_count(open_page: Open, ensemble: Fitted) -> None:
    page = open_page(ensemble.file)
    plot = page.locator("#sure-plots svg").first
    table = ensemble.model.held_out_
    titles = plot.locator("circle title").evaluate_all("(es) => es.map((e) => e.textContent)")
    assert len(titles) == len(table)
    for title, count in zip(titles, table["count"], strict=True):
        assert title.endswith(f"{count:,} cell{'s' * (count != 1)}")
    weights = page.locator("#sure-plots .bars li").evaluate_all(BARS)
    assert [name for name, _ in weights] == MEMBERS
    np.testing.assert_allclose([float(w) for _, w in weights], ensemble.model.member_weights_, atol=0.00501)
    assert "use aspect-bernoulli" in page.locator("#sure").inner_text()


def test_without_hidden_cells_there_is_no_curve(open_page: Open, tmp_path: Path) -> None:
    page = open_page(made(named(cells_with("white")), tmp_path / "quick.html", verdict=True, n_folds=None).file)
    assert page.locator("#sure-plots svg").count() == 0
    assert page.locator(".verdict").inner_text().startswith("This model can't be tested")
    assert "All members have the same weight" in page.locator("#sure").inner_text()


def test_the_aspect_report_says_when_to_use_which(open_page: Open, white: Fitted) -> None:
    assert "latentbits false-zeros" in open_page(white.file).locator("#sure").inner_text()


# ---- files and marks -------------------------------------------------------------------------------------------------


def test_the_downloaded_list_is_that_of_the_folder(open_page: Open, ensemble: Fitted, tmp_path: Path) -> None:
    from latentbits.storage.files import write_csv

    write_csv(analyse(ensemble.model, ensemble.data, verdict=False).tables["suspects"], tmp_path / "suspects.csv")
    page = open_page(ensemble.file)
    found = pd.read_csv(io.StringIO(saved(page, "suspects.csv")))
    expected = pd.read_csv(tmp_path / "suspects.csv")
    pd.testing.assert_frame_equal(found, expected, rtol=1e-9)
    mark(page, {1: "unsure"})
    marked = pd.read_csv(io.StringIO(saved(page, "suspects.csv")))
    assert marked["mark"].dropna().to_dict() == {1: "unsure"}


def test_marks_are_saved_kept_and_come_back(
    open_page: Open, ensemble: Fitted, top: pd.DataFrame, tmp_path: Path
) -> None:
    chosen = {0: "confirm", 1: "reject", 4: "unsure"}
    expected = [{"row": top["row"][n], "column": top["column"][n], "mark": word} for n, word in chosen.items()]
    page = open_page(ensemble.file)
    mark(page, chosen)
    assert saved_marks(page) == expected
    text = saved(page, "Save marks", "ratings.json")
    document = json.loads(text)
    assert (document["model"], document["data"]) == ("false-zeros", ensemble.data.fingerprint())
    assert "ratings" not in document
    again = open_page(ensemble.file)
    assert pressed(again) == chosen, "the browser keeps them"
    again.get_by_role("button", name="Clear").click()
    assert pressed(again) == {}
    file = tmp_path / "ratings.json"
    file.write_text(text, encoding="utf-8")
    again.locator("#load-ratings").set_input_files(file)
    expect(again.locator("#kept")).to_contain_text("1 confirmed, 1 rejected, 1 unsure")
    assert pressed(again) == chosen
    listed = ensemble.model.suspects(ensemble.data, top=1000, marks=file)
    assert listed["row"][0] == top["row"][2]
    assert listed["mark"].tolist().count("unsure") == 1
    known = apply_marks(ensemble.data, file)
    assert known.n_ones == ensemble.data.n_ones + 1


def test_a_page_can_begin_with_marks(open_page: Open, ensemble: Fitted, top: pd.DataFrame, tmp_path: Path) -> None:
    marks = {"marks": [{"row": top["row"][3], "column": top["column"][3], "mark": "reject"}], "data": None}
    write_report(analyse(ensemble.model, ensemble.data, verdict=False), tmp_path / "marked.html", ratings=marks)
    assert pressed(open_page(tmp_path / "marked.html")) == {3: "reject"}


def test_a_file_that_is_no_ratings_is_refused(open_page: Open, ensemble: Fitted, tmp_path: Path) -> None:
    (tmp_path / "other.json").write_text("{}")
    page = open_page(ensemble.file)
    page.locator("#load-ratings").set_input_files(tmp_path / "other.json")
    expect(page.locator("#message")).to_contain_text("This file holds no ratings")


# ---- look ------------------------------------------------------------------------------------------------------------


def test_hostile_names_are_text_everywhere(open_page: Open, ensemble: Fitted) -> None:
    page = open_page(ensemble.file)
    text = page.locator("#suspect-matches button")
    text.click()
    shown = lines(page)
    assert {HOSTILE[0], HOSTILE[1]} <= {line[1] for line in shown}
    for name in HOSTILE[:2]:
        n = next(n for n, line in enumerate(shown) if line[1] == name)
        choose(page, n)
        assert name in page.locator("#why h3").inner_text()
    assert page.locator("main img, main script").count() == 0


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_light_and_dark(open_page: Open, ensemble: Fitted, scheme: str) -> None:
    page = open_page(ensemble.file, scheme)
    before = page.evaluate("getComputedStyle(document.body).backgroundColor")
    page.locator("#theme").click()
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") != before


def test_a_narrow_window_and_paper(open_page: Open, ensemble: Fitted) -> None:
    page = open_page(ensemble.file)
    page.set_viewport_size({"width": 360, "height": 740})
    assert page.evaluate("document.documentElement.scrollWidth") <= 360
    choose(page, 2)
    expect(page.locator("#why h3")).to_be_in_viewport()
    page.emulate_media(media="print")
    assert page.locator(".downloads").first.is_hidden()
    assert page.locator("#suspect-table tbody tr").first.is_visible()


def test_rows_and_columns_without_names_are_counted(open_page: Open, tmp_path: Path) -> None:
    data = BinaryData.of(cells_with("white"))
    fitted = made(data, tmp_path / "plain.html")
    first = fitted.model.suspects(data, top=1)
    row, column = int(first["row"][0]), int(first["column"][0])
    page = open_page(fitted.file)
    assert lines(page)[0][:2] == [f"row {row + 1}", f"column {column + 1}"]
    mark(page, {0: "confirm"})
    assert saved_marks(page) == [{"row": row, "column": column, "mark": "confirm"}]


def test_false_ones_are_listed_as_such(open_page: Open, ensemble: Fitted, tmp_path: Path) -> None:
    results = analyse(ensemble.model, ensemble.data, verdict=False, question={"kind": "presence"})
    write_report(results, tmp_path / "ones.html")
    page = open_page(tmp_path / "ones.html")
    first = ensemble.model.suspects(ensemble.data, kind="presence", top=1).iloc[0]
    assert lines(page)[0][:2] == [first["row"], first["column"]]
    assert page.locator("#mark-meaning").inner_text() == "confirm: the 1 is true; reject: it should be a 0."


def test_a_table_without_zeros_has_an_empty_list(open_page: Open, tmp_path: Path) -> None:
    data = BinaryData.of(np.ones((6, 4), dtype=int))
    model = FalseZeros(n_folds=None, members=["linear_autoencoder"], noise=None).fit(data)
    results = analyse(model, data, verdict=False)
    assert page_content(results)["ensemble"]["why"] == []
    write_report(results, tmp_path / "empty.html")
    assert open_page(tmp_path / "empty.html").locator("#suspect-matches").inner_text() == "There are no such cells."
