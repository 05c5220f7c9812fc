"""One list: the page, suspects.csv, the command line and Python name the same cells in the same order."""

from __future__ import annotations

import io
import re
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

from latentbits import AspectBernoulli, LogisticPCA, simulate
from latentbits.cli.main import program
from latentbits.data.binary_data import BinaryData
from latentbits.findings.account import with_names as named_cells
from latentbits.findings.analyse import analyse
from latentbits.storage.files import write_csv

from .conftest import RATINGS, Fitted, Open, every_kind, playwright, rate, saved

expect = playwright.expect

pytestmark = pytest.mark.filterwarnings("ignore:.*no weight on any kept component")

KINDS = ("absence", "presence")


def shown_list(page: Any) -> list[list[str]]:
    """Every line of the table: row, column and numbers."""
    if page.get_by_role("button", name="show all").count():
        page.get_by_role("button", name="show all").click()
    n = page.locator("#suspect-table th").count()
    cells = page.locator("#suspect-table td").all_text_contents()
    return [cells[at : at + n - 1] for at in range(0, len(cells), n)]


def listed(page: Any, kind: str) -> list[dict[str, Any]]:
    """The list as the page holds it, at full precision."""
    return page.evaluate("(kind) => latentbits.bench.lists[kind].entries", kind)


def python_list(model: Any, data: BinaryData, kind: str) -> pd.DataFrame:
    return model.suspects(data, kind=kind, top=1000)


def read(text: str) -> pd.DataFrame:
    """A list of suspects with all its digits."""
    table = pd.read_csv(io.StringIO(text), dtype=str, keep_default_na=False)
    return table.assign(score=table["score"].map(float), phantom=table["phantom"].map(float))


def choose(page: Any, kind: str) -> None:
    page.locator("#suspect-kind").select_option(str(KINDS.index(kind)))


def test_a_list_of_none_suspected_is_no_finding(open_page: Open, white: Fitted, fit: Any) -> None:
    title, rings = "#suspect-title", "latentbits.overview.rings.length"
    page = open_page(white.file)
    expect(page.locator(title)).to_have_text("Suspects")
    assert page.evaluate(rings) > 0
    page = open_page(fit("plain").file)
    expect(page.locator(title)).to_have_text("No suspects: the zeros that are least like their rows")
    assert page.evaluate(rings) == 0
    assert not page.locator(".of-rings").first.is_visible()
    rate(page, [1, 1, 1, 0])
    expect(page.locator(title)).to_have_text("Suspects")


class TestOneList:
    @every_kind
    def test_the_page_is_python(self, open_page: Open, fitted: Fitted) -> None:
        """Cells, order, and scores to the last bit."""
        page, data = open_page(fitted.file), fitted.data
        for kind in KINDS:
            choose(page, kind)
            expected = python_list(fitted.model, data, kind)
            found = listed(page, kind)
            assert [data.row_names[cell["i"]] for cell in found] == expected["row"].tolist()
            assert [data.column_names[cell["d"]] for cell in found] == expected["column"].tolist()
            assert [cell["score"] for cell in found] == expected["score"].tolist()
            assert [cell["phantom"] for cell in found] == expected["phantom"].tolist()
            assert page.locator("#suspect-table th").all_inner_texts() == ["row", "column", "score", "phantom", "mark"]
            lines = [
                [line.row, line.column, f"{line.score:.2f}", f"{line.phantom:.2f}"] for line in expected.itertuples()
            ]
            assert shown_list(page) == lines

    @every_kind
    def test_the_file_is_pythons(self, open_page: Open, fitted: Fitted, tmp_path: Path) -> None:
        write_csv(analyse(fitted.model, fitted.data, verdict=False).tables["suspects"], tmp_path / "suspects.csv")
        page = open_page(fitted.file)
        pd.testing.assert_frame_equal(
            read(saved(page, "suspects.csv")), read((tmp_path / "suspects.csv").read_text("utf-8")), check_exact=True
        )

    @pytest.mark.parametrize("fitted", ["white", "black"], indirect=True)
    def test_one_number(self, open_page: Open, fitted: Fitted) -> None:
        """The answer, the list and Python count the same cells."""
        page = open_page(fitted.file)
        counts = analyse(fitted.model, fitted.data, verdict=False).facts["suspected"].value
        text = page.locator("#answer").inner_text()
        for kind, count in counts.items():
            choose(page, kind)
            what = "zeros" if kind == "absence" else "ones"
            assert count == (fitted.model.denoise(fitted.data) != fitted.cells)[fitted.cells == KINDS.index(kind)].sum()
            assert re.search(rf"\b{count} of [\d,]+ {what} ", text)
            said = page.locator("#suspect-list").inner_text()
            assert re.search(
                rf" {count} {what[:-1].removesuffix('e')}e?s? more likely false than not by held-out", said
            )
            assert said.startswith("The fit's own list, as in suspects.csv: the mean of the random starts.")
        assert "suspected" not in page.locator("#counts").inner_text()

    def test_a_moved_rating_makes_another_list_and_says_so(self, open_page: Open, white: Fitted) -> None:
        page = open_page(white.file)
        before = shown_list(page)
        rate(page, RATINGS)
        expected = white.model.suspects(white.data, ratings=RATINGS, top=50)
        assert [line[0] for line in shown_list(page)[:50]] == expected["row"].tolist()
        n = (white.model.denoise(white.data, ratings=RATINGS, threshold=0.5)[white.cells == 0] == 1).sum()
        said = page.locator("#suspect-list").inner_text()
        assert said.startswith(f"By your ratings, of the best run alone: {n} zeros become 1.")
        assert page.locator("#counts").inner_text().startswith(f"By these ratings {n} zeros become 1 and ")
        assert expected["row"].tolist() != [line[0] for line in before[:50]]
        rate(page, white.ratings)
        assert shown_list(page) == before
        page.locator("#threshold").fill("0.3")
        page.locator("#change").select_option("both")
        assert page.locator("#suspect-list").inner_text().startswith("The fit's own list"), "these say nothing of it"

    def test_the_command_line(self, open_page: Open, tmp_path: Path) -> None:
        """`fit`, its folder, `suspects` and the page, of a table without row names."""
        X = simulate.aspect_bernoulli(60, 12, 3, white_phantom=True, sharpness=0.2, random_state=1).X
        pd.DataFrame(X, columns=[f"taxon{j}" for j in range(12)]).to_csv(tmp_path / "sites.csv", index=False)
        folder = tmp_path / "run"
        for arguments in (
            ("fit", tmp_path / "sites.csv", "--components", 3, "--restarts", 3, "--out", folder),
            ("suspects", folder, tmp_path / "sites.csv", "--top", 100, "--out", tmp_path / "top.csv"),
        ):
            result = CliRunner().invoke(program, [*map(str, arguments)])
            assert result.exit_code == 0, result.output
        page = open_page(folder / "report.html")
        kept, top = (read(file.read_text("utf-8")) for file in (folder / "suspects.csv", tmp_path / "top.csv"))
        found = read(saved(page, "suspects.csv"))
        pd.testing.assert_frame_equal(found, kept, check_exact=True)
        pd.testing.assert_frame_equal(found.drop(columns="kind").head(100), top, check_exact=True)
        first = shown_list(page)[0]
        assert first[:2] == [kept["row"][0], kept["column"][0]]

    @pytest.mark.parametrize("with_names", [True, False])
    def test_a_large_table_is_listed_whole(
        self, open_page: Open, white: Fitted, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, with_names: bool
    ) -> None:
        """The page holds a sample; the list is of all data, until a rating is moved."""
        monkeypatch.setattr("latentbits.report.workbench.MOST_CELLS", 8 * 10)
        monkeypatch.setattr("latentbits.report.workbench.MOST_COLUMNS", 8)
        X = np.where(white.cells == -1, np.nan, white.cells)
        names = {"row_names": white.data.row_names, "column_names": white.data.column_names} if with_names else {}
        data = BinaryData.of(X, **names)
        model = white.model if with_names else AspectBernoulli(4, n_init=2, random_state=0).fit(data)
        model.report(data, tmp_path / "r.html")
        page = open_page(tmp_path / "r.html")
        expected = named_cells(python_list(model, data, "absence"))
        found = read(saved(page, "suspects.csv"))
        np.testing.assert_allclose(found["score"], expected["score"], rtol=1e-9)
        for side in ("row", "column"):
            assert [name.removeprefix("'") for name in found[side]] == expected[side].tolist()
        shown = [[line[0], line[1]] for line in shown_list(page)]
        assert shown == expected[["row", "column"]].to_numpy().tolist()
        links = page.locator("#suspect-table .link").count()
        in_sample = page.evaluate("latentbits.bench.lists.absence.entries.filter(({i, d}) => i < 10 && d < 8).length")
        assert 0 < links == in_sample < len(expected)
        rate(page, RATINGS)
        assert "in the part of the data shown" in page.locator("#suspect-list").inner_text()
        assert len(shown_list(page)) == page.locator("#suspect-table .link").count() < 80


class TestWork:
    def test_sorting(self, open_page: Open, white: Fitted) -> None:
        """By every column, both ways; equal ones in the order of the list."""
        page = open_page(white.file)
        lines = shown_list(page)
        order = pd.DataFrame(listed(page, "absence"))
        rows, columns = white.data.row_names, white.data.column_names
        for head, key, first in (("score", "score", "ascending"), ("phantom", "phantom", "descending")):
            for direction in (first, {"ascending": "descending", "descending": "ascending"}[first]):
                page.locator(f'[data-sort="{head}"]').click()
                assert page.locator("th[aria-sort]").get_attribute("aria-sort") == direction
                sorted_ = order.sort_values(key, ascending=direction == "ascending", kind="stable")
                expected = [[rows[i], columns[d]] for i, d in zip(sorted_["i"], sorted_["d"], strict=True)]
                assert [line[:2] for line in shown_list(page)] == expected
        for at, head in enumerate(("row", "column")):
            page.locator(f'[data-sort="{head}"]').click()
            up = [line[at] for line in shown_list(page)]
            numbers = [int(name.split()[1]) for name in up if re.fullmatch(r"(site|genus) \d+", name)]
            assert len(numbers) > 100
            assert numbers == sorted(numbers), "site 2 before site 10"
            assert sorted(up) == sorted(line[at] for line in lines)
            page.locator(f'[data-sort="{head}"]').click()
            assert page.evaluate("document.activeElement.dataset.sort") == head
            names = [line[at] for line in shown_list(page)]
            assert list(dict.fromkeys(names)) == list(dict.fromkeys(up))[::-1]
        page.locator('[data-sort="score"]').click()
        assert shown_list(page) == lines, "the list as it came"

    def test_sorting_by_marks(self, open_page: Open, white: Fitted) -> None:
        page = open_page(white.file)
        for n, word in ((7, "unsure"), (20, "confirm"), (33, "reject")):
            page.locator("#suspect-table tbody tr").nth(n).locator(f"[data-mark={word}]").click()
        marked = [shown_list(page)[n] for n in (20, 33, 7)]
        page.locator('[data-sort="mark"]').click()
        assert shown_list(page)[:3] == marked

    def test_search(self, open_page: Open, white: Fitted) -> None:
        page = open_page(white.file)
        lines = shown_list(page)
        for wanted in ("GENUS 3", "site 4", "<img", "عرب"):
            page.locator("#suspect-search").fill(wanted)
            found = [line for line in lines if any(wanted.lower() in name.lower() for name in line[:2])]
            assert shown_list(page) == found
            assert f"{len(found)} of the 1,000 listed cells match." in page.locator("#suspect-matches").inner_text()
        page.locator("#suspect-search").fill("no such name")
        assert shown_list(page) == []
        page.locator("#suspect-search").fill("")
        assert shown_list(page) == lines

    @pytest.mark.parametrize("fitted", ["white", "black"], indirect=True)
    @pytest.mark.parametrize("ratings", [None, RATINGS])
    def test_totals(self, open_page: Open, fitted: Fitted, ratings: list[float] | None) -> None:
        """The rows and columns with most suspects, the first of equals first."""
        page = open_page(fitted.file)
        if ratings:
            rate(page, ratings)
        doubted = fitted.model.denoise(fitted.data, **{"ratings": ratings} if ratings else {}) != fitted.cells
        for kind, value in zip(KINDS, (0, 1), strict=True):
            choose(page, kind)
            for side, names, axis in (("row", fitted.data.row_names, 1), ("column", fitted.data.column_names, 0)):
                cells = fitted.cells == value
                suspects, of = (doubted & cells).sum(axis=axis), cells.sum(axis=axis)
                best = [at for at in np.argsort(-suspects, kind="stable")[:20] if suspects[at]]
                shown = page.locator(f"#totals-{side} td").all_text_contents()
                assert shown == [text for at in best for text in (names[at], str(suspects[at]), str(of[at]))]

    def test_totals_lead_to_their_cells(self, open_page: Open, white: Fitted) -> None:
        page = open_page(white.file)
        columns = page.locator("#totals-column .link")
        for n in range(columns.count()):
            name = columns.nth(n).text_content()
            columns.nth(n).click()
            if "\n" not in name:  # which no line of search can hold
                assert {line[1] for line in shown_list(page)} == {name}, "genus 1 and not genus 12"
        row = page.locator("#totals-row .link").first
        name = row.inner_text()
        row.click()
        expect(page.locator("#row-name")).to_have_value(name)
        expect(page.locator("#row")).to_be_in_viewport()

    def test_models_without_phantoms_have_the_same_tools(self, open_page: Open, white: Fitted, tmp_path: Path) -> None:
        model = LogisticPCA(2, n_init=1, random_state=0).fit(white.data)
        model.report(white.data, tmp_path / "r.html")
        page = open_page(tmp_path / "r.html")
        assert page.locator("#suspect-table th").all_inner_texts() == ["row", "column", "surprise"]
        assert page.locator("[data-mark]").count() == 0
        surprises = ((white.cells == 0) & (model.reconstruct(white.data) >= 0.5)).sum(axis=0)
        shown = page.locator("#totals-column td").all_text_contents()[1::3]
        assert list(map(int, shown)) == sorted(surprises[surprises > 0].tolist(), reverse=True)[:20]
        page.locator('[data-sort="column"]').click()
        page.locator("#suspect-search").fill("genus 3")
        assert {line[1] for line in page_lines(page)} == {"genus 3"}


def page_lines(page: Any) -> list[list[str]]:
    cells = page.locator("#suspect-table td").all_text_contents()
    return [cells[at : at + 3] for at in range(0, len(cells), 3)]


def test_positions_without_names_count_from_one(open_page: Open, tmp_path: Path) -> None:
    X = simulate.aspect_bernoulli(30, 10, 2, random_state=0).X
    AspectBernoulli(2, n_init=2, random_state=0).fit(X).report(X, tmp_path / "r.html")
    page = open_page(tmp_path / "r.html")
    rows, columns = [f"row {i}" for i in range(1, 31)], [f"column {j}" for j in range(1, 11)]
    assert page.locator("#row-names option").evaluate_all("(es) => es.map((e) => e.value)") == rows
    assert {line[0] for line in shown_list(page)} <= set(rows)
    assert {line[1] for line in shown_list(page)} <= set(columns)
    assert set(page.locator("#totals-row td:first-child").all_inner_texts()) <= set(rows)
    assert set(page.locator("#cards .label").all_inner_texts()) <= set(columns)
    page.locator("#row-name").fill("row 3")
    page.locator("#row-name").press("Enter")
    assert page.locator("#row-view p").first.inner_text().startswith(f"row 3: {X[2].sum()} ones in 10 observed cells")
    assert set(page.locator("#row-view td:first-child").all_inner_texts()) == set(columns)
    assert re.match(r"row 3, column \d+: [01]", page.locator("#readout").inner_text())
