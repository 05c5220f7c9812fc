"""The report in a real browser: what it shows, computes and saves equals what Python says."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

from latentbits import AspectBernoulli, BernoulliMixture, BetaICA, LogisticPCA, simulate
from latentbits.cli.main import program
from latentbits.data.binary_data import BinaryData
from latentbits.findings import gather
from latentbits.findings.results import data_table
from latentbits.persistence import save_model
from latentbits.report import write_report
from latentbits.tasks.select import select_order

from .conftest import Open, playwright

expect = playwright.expect

N_ROWS, N_COLUMNS = 70, 24
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


def table(**more: Any) -> BinaryData:
    """A table with a white phantom, some cells missing and names that would like to be programs."""
    truth = simulate.aspect_bernoulli(
        N_ROWS, N_COLUMNS, 4, white_phantom=True, sharpness=0.2, missing=0.03, random_state=0, **more
    )
    columns = [*HOSTILE, *(f"genus {j}" for j in range(N_COLUMNS - len(HOSTILE)))]
    rows = [*(f"{name} (site)" for name in HOSTILE), *(f"site {i}" for i in range(N_ROWS - len(HOSTILE)))]
    return BinaryData.of(truth.X, row_names=rows, column_names=columns)


@pytest.fixture(scope="module")
def data() -> BinaryData:
    return table()


@pytest.fixture(scope="module", params=["AspectBernoulli", "BetaICA"])
def model(request: pytest.FixtureRequest, data: BinaryData) -> Any:
    kind = {"AspectBernoulli": AspectBernoulli, "BetaICA": BetaICA}[request.param]
    return kind(4, n_init=3, random_state=0).fit(data)


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory, model: Any, data: BinaryData) -> Path:
    path = tmp_path_factory.mktemp("report") / "report.html"
    model.report(data, path)
    return path


def array(page: Any, name: str) -> np.ndarray:
    """An array of the page's workbench, of the shape of the data."""
    return np.array(page.evaluate(f"Array.from(latentbits.bench.{name})")).reshape(N_ROWS, N_COLUMNS)


def rate(page: Any, ratings: list[float]) -> None:
    """Move the sliders as a user would."""
    for k, rating in enumerate(ratings):
        page.get_by_label(f"Rating of component {k}", exact=True).fill(str(rating))


def saved(page: Any, button: str) -> str:
    with page.expect_download() as waiting:
        page.get_by_role("button", name=button).click()
    assert waiting.value.suggested_filename == button
    return Path(waiting.value.path()).read_text(encoding="utf-8")


def assert_page_equals_python(page: Any, model: Any, data: BinaryData, ratings: list[float]) -> None:
    cells = data.dense()
    np.testing.assert_allclose(array(page, "P"), model.reconstruct(data, ratings=ratings), atol=1e-9)
    suspicion = sum(model.suspicion(data, kind=kind, ratings=ratings) for kind in ("absence", "presence"))
    np.testing.assert_allclose(array(page, "score"), suspicion, atol=1e-9)
    np.testing.assert_array_equal(array(page, "clean"), model.denoise(data, ratings=ratings))
    np.testing.assert_array_equal(array(page, "cells") == 2, cells == -1)


@pytest.mark.filterwarnings("ignore:.*rows have no weight")
@pytest.mark.filterwarnings("ignore:no phantom was found")
class TestNumbers:
    def test_the_page_opens_with_phantoms_out(self, open_page: Open, file: Path, model: Any, data: BinaryData) -> None:
        assert "white" in model.phantoms_
        page = open_page(file)
        assert_page_equals_python(page, model, data, (model.phantoms_ == "content").astype(float).tolist())

    @pytest.mark.parametrize("ratings", [[0.3, 1, 0, 0.55], [0, 0, 0, 1], [0.5, 0.5, 0.5, 0.5]])
    def test_sliders_do_what_python_does(
        self, open_page: Open, file: Path, model: Any, data: BinaryData, ratings: list[float]
    ) -> None:
        page = open_page(file)
        rate(page, ratings)
        assert_page_equals_python(page, model, data, ratings)

    @pytest.mark.parametrize("change", ["absence", "presence", "both"])
    def test_threshold_and_change(self, open_page: Open, file: Path, model: Any, data: BinaryData, change: str) -> None:
        page = open_page(file)
        rate(page, [1, 0.2, 0.7, 0])
        page.locator("#change").select_option(change)
        page.locator("#threshold").fill("0.35")
        expected = model.denoise(data, ratings=[1, 0.2, 0.7, 0], threshold=0.35, change=change)
        np.testing.assert_array_equal(array(page, "clean"), expected)
        observed = data.dense()
        filled, removed = ((observed == value) & (expected == 1 - value) for value in (0, 1))
        counts = page.locator("#counts").inner_text()
        assert f"{filled.sum()} zeros become 1" in counts.replace("zero becomes", "zeros become")
        assert f"{removed.sum()} ones become 0" in counts.replace("one becomes", "ones become")

    def test_who_caused_a_cell(self, open_page: Open, file: Path, model: Any, data: BinaryData) -> None:
        page = open_page(file)
        for i in (0, 17, N_ROWS - 1):
            told = page.evaluate(
                "(i) => Array.from({length: latentbits.bench.D}, (_, d) => Array.from(latentbits.causes(i, d)))", i
            )
            expected = model.explain(data, row=i)["probability"].to_numpy().reshape(N_COLUMNS, 4)
            np.testing.assert_allclose(told, expected, atol=1e-9)

    def test_consensus_of_the_restarts(self, open_page: Open, file: Path, model: Any, data: BinaryData) -> None:
        page = open_page(file)
        score = sum(model.suspicion(data, kind=kind) for kind in ("absence", "presence"))
        shown = array(page, "consensus")
        np.testing.assert_array_equal(shown >= 128, score >= 0.5)
        np.testing.assert_allclose((shown + 0.5) / 256, score, atol=0.5 / 256 + 1e-12)

    def test_nothing_rated_is_refused_in_words(self, open_page: Open, file: Path) -> None:
        page = open_page(file)
        rate(page, [0, 0, 0, 0])
        assert "at least one component above 0" in page.locator("#message").inner_text()
        assert page.get_by_role("button", name="denoised.csv").is_disabled()
        page.get_by_role("button", name="Reset").click()
        assert page.locator("#message").inner_text() == ""
        assert page.get_by_role("button", name="denoised.csv").is_enabled()


@pytest.mark.filterwarnings("ignore:.*rows have no weight")
class TestFiles:
    RATINGS = [1, 0.2, 0.7, 0]

    def test_denoised(self, open_page: Open, file: Path, model: Any, data: BinaryData) -> None:
        page = open_page(file)
        rate(page, self.RATINGS)
        text = saved(page, "denoised.csv")
        found = pd.read_csv(io.StringIO(text), dtype={0: str})
        np.testing.assert_array_equal(found.iloc[:, 1:], model.denoise(data, ratings=self.RATINGS))
        assert found.columns[0] == "row"
        for shown, name in zip([*found.columns[1:], *found["row"]], data.column_names + data.row_names, strict=True):
            assert shown == (f"'{name}" if name[0] in "=-" else name)

    def test_suspects(self, open_page: Open, file: Path, model: Any, data: BinaryData) -> None:
        page = open_page(file)
        rate(page, self.RATINGS)
        found = pd.read_csv(io.StringIO(saved(page, "suspects.csv")))
        expected = model.suspects(data, ratings=self.RATINGS, top=None)
        assert len(found) == 1000 < len(expected)
        assert (found["kind"] == "absence").all()
        np.testing.assert_allclose(found["score"], expected["score"].head(1000), atol=1e-9)
        for name in ("row", "column"):
            found[name] = found[name].str.replace(r"^'(?=[=-])", "", regex=True)
        both = found.merge(expected, on=["row", "column"], validate="one_to_one")  # in which order equals come is open
        assert len(both) == 1000
        for name in ("score", "phantom"):
            np.testing.assert_allclose(both[f"{name}_x"], both[f"{name}_y"], atol=1e-9)

    def test_ratings_give_the_same_numbers_on_the_command_line(
        self, open_page: Open, file: Path, model: Any, data: BinaryData, tmp_path: Path
    ) -> None:
        page = open_page(file)
        rate(page, self.RATINGS)
        page.locator("#threshold").fill("0.4")
        page.get_by_label("Name of component 2").fill("<b>Savanna</b>")
        (tmp_path / "ratings.json").write_text(saved(page, "ratings.json"), encoding="utf-8")
        kept = json.loads((tmp_path / "ratings.json").read_text())
        assert kept["ratings"] == self.RATINGS
        assert kept["names"] == ["", "", "<b>Savanna</b>", ""]
        save_model(model, tmp_path / "model.npz")
        cells = data_table(np.where(data.dense() == -1, "", data.dense().astype(str)), data)
        with (tmp_path / "data.csv").open("w", encoding="utf-8", newline="") as target:
            cells.to_csv(target, index=False)
        arguments = ["denoise", tmp_path / "model.npz", tmp_path / "data.csv", "--ratings", tmp_path / "ratings.json"]
        result = CliRunner().invoke(program, [*map(str, arguments), "--out", str(tmp_path / "clean.csv")])
        assert result.exit_code == 0, result.output
        by_python, by_page = (tmp_path / "clean.csv").read_text(encoding="utf-8"), saved(page, "denoised.csv")
        assert by_python == by_page

    def test_ratings_can_be_loaded_again(self, open_page: Open, file: Path, tmp_path: Path) -> None:
        page = open_page(file)
        rate(page, self.RATINGS)
        page.get_by_label("Name of component 1").fill("steppe")
        text = saved(page, "ratings.json")
        page.get_by_role("button", name="Reset").click()
        assert page.evaluate("latentbits.rated.ratings") != self.RATINGS
        for content, message in (
            ("no json", "it is not JSON"),
            ('{"format": "other"}', "that a report has saved"),
            (text.replace("0.7", "7"), "not for this model"),
            (text.replace('"fingerprint": "', '"fingerprint": "0'), "other data"),
        ):
            (tmp_path / "ratings.json").write_text(content, encoding="utf-8")
            page.locator("#load-ratings").set_input_files(tmp_path / "ratings.json")
            page.locator("#message", has_text=message).wait_for()
        (tmp_path / "ratings.json").write_text(text, encoding="utf-8")
        page.locator("#load-ratings").set_input_files(tmp_path / "ratings.json")
        expect(page.get_by_label("Name of component 1")).to_have_value("steppe")
        assert page.evaluate("latentbits.rated.ratings") == self.RATINGS
        assert page.get_by_label("Rating of component 1").input_value() == "0.2"


class TestReading:
    def test_hostile_names_are_text(self, open_page: Open, file: Path) -> None:
        page = open_page(file)
        for name in HOSTILE:
            page.locator("#search").fill(name[:20])
            if "\n" not in name:
                assert page.locator(".bars .label").first.inner_text() == name
        assert page.locator("#cards img, #cards script").count() == 0
        assert page.evaluate("document.scripts.length") == 2

    def test_search_and_ranking(self, open_page: Open, file: Path, model: Any) -> None:
        page = open_page(file)
        page.locator("#search").fill("GENUS 3")
        labels = page.locator("#cards article").first.locator(".label")
        assert labels.all_inner_texts() == ["genus 3"]
        page.locator("#search").fill("no such genus")
        assert "no attribute matches" in page.locator("#cards").inner_text()
        page.locator("#search").fill("")
        values = [float(text) for text in page.locator("#cards article").first.locator(".value").all_inner_texts()]
        expected = np.sort(model.components_[0])[::-1][: len(values)]
        np.testing.assert_allclose(values, expected, atol=0.0051)
        page.locator("#ranking").select_option("apart")
        assert page.locator("#cards article").first.locator(".value").count() == len(values)

    def test_keys_move_and_explain(self, open_page: Open, file: Path, data: BinaryData) -> None:
        page = open_page(file)
        page.locator("#heats").focus()
        for key in ("ArrowDown", "ArrowDown", "ArrowRight", "Enter"):
            page.keyboard.press(key)
        i, j = page.evaluate("[latentbits.bench.row_order[2], latentbits.bench.column_order[1]]")
        told = page.locator("#readout").inner_text()
        value = {0: "0", 1: "1", -1: "missing"}[int(data.dense()[i, j])]
        assert f": {value}, probability of a 1" in told
        assert page.evaluate("latentbits.row") == i
        assert page.locator("#row-view tbody tr").count() == N_COLUMNS
        page.locator("#row-filter").select_option("1")
        ones = int((data.dense()[i] == 1).sum())
        assert page.locator("#row-view tbody tr").count() == ones

    def test_a_suspect_leads_to_its_row(self, open_page: Open, file: Path) -> None:
        page = open_page(file)
        link = page.locator("#suspect-table button").first
        name = link.inner_text()
        link.click()
        assert page.locator("#row-name").input_value() == name

    @pytest.mark.parametrize("scheme", ["light", "dark"])
    def test_light_and_dark(self, open_page: Open, file: Path, scheme: str) -> None:
        page = open_page(file, scheme)
        pixel = "Array.from(latentbits.heats[0].pixels)"
        ground = "getComputedStyle(document.body).backgroundColor"
        first, drawn = page.evaluate(ground), page.evaluate(pixel)
        page.locator("#theme").click()
        assert page.evaluate(ground) != first
        assert page.evaluate(pixel) != drawn, "pictures are drawn anew in the other colours"
        page.locator("#theme").click()
        assert page.evaluate(ground) == first
        assert page.evaluate(pixel) == drawn

    def test_every_control_has_a_name(self, open_page: Open, file: Path) -> None:
        page = open_page(file)
        nameless = page.evaluate(
            """Array.from(document.querySelectorAll("button, input, select, canvas:not([aria-hidden]), svg")).filter(
                 (e) => !(e.getAttribute("aria-label") || e.labels?.length || e.textContent.trim())).length"""
        )
        assert nameless == 0


def test_a_page_of_a_selection(open_page: Open, data: BinaryData, tmp_path: Path) -> None:
    found = select_order(BernoulliMixture(n_init=2), data, [2, 3], criterion=["aic", "bic"], random_state=0)
    write_report(gather(found.best_model, data), tmp_path / "r.html", selection=found.table)
    page = open_page(tmp_path / "r.html")
    titles = page.locator("#sure-plots h3").all_inner_texts()
    best = dict(zip(found.choices["criterion"], found.choices["best"], strict=True))
    assert f"AIC (lower is better): best with {best['aic']}" in titles
    assert f"BIC (lower is better): best with {best['bic']}" in titles


def test_models_without_phantoms_have_no_sliders(open_page: Open, data: BinaryData, tmp_path: Path) -> None:
    model = LogisticPCA(2, n_init=2, random_state=0).fit(data)
    model.report(data, tmp_path / "r.html")
    page = open_page(tmp_path / "r.html")
    assert page.locator("[type=range]").count() == 0
    np.testing.assert_allclose(array(page, "P"), model.reconstruct(data), atol=0.5 / 255 + 1e-12)
    assert page.locator("#suspect-table tbody tr").count() == 50


def test_a_large_table_is_sampled_and_says_so(open_page: Open, tmp_path: Path) -> None:
    X = simulate.aspect_bernoulli(700, 600, 3, random_state=0).X
    AspectBernoulli(3, n_init=1, random_state=0, tol=1e-2).fit(X).report(X, tmp_path / "r.html")
    page = open_page(tmp_path / "r.html")
    assert "416 of 700 rows, drawn at random" in page.locator("#answer").inner_text()
    assert page.evaluate("[latentbits.bench.N, latentbits.bench.D]") == [416, 600]


def test_attributes_on_a_grid_are_images(open_page: Open, tmp_path: Path) -> None:
    X = simulate.aspect_bernoulli(50, 12, 2, random_state=0).X
    model = AspectBernoulli(2, n_init=1, random_state=0).fit(X)
    model.report(X, tmp_path / "r.html", shape=(3, 4))
    page = open_page(tmp_path / "r.html")
    sizes = page.evaluate("Array.from(document.querySelectorAll('.card canvas'), c => [c.width, c.height])")
    assert sizes == [[4, 3], [4, 3]]
    drawn = page.evaluate(
        "Array.from(document.querySelector('.card canvas').getContext('2d').getImageData(0, 0, 4, 3).data)"
    )
    shade = -np.array(drawn).reshape(12, 4)[:, 0]  # darker is likelier in the light theme
    assert np.corrcoef(shade, model.components_[0])[0, 1] > 0.999
    page.locator("#next").click()
    assert page.locator("#row-view canvas").count() == 5
