"""What a reader sees: cards, pictures, plots and tables show the model's own numbers."""

from __future__ import annotations

import re
from itertools import product
from typing import Any

import numpy as np
import pytest

from latentbits.tasks.stability import component_stability

from .conftest import (
    HOSTILE,
    N_COLUMNS,
    N_COMPONENTS,
    RATINGS,
    Fitted,
    Open,
    array,
    card,
    colour,
    every_kind,
    pixels,
    rate,
    rgb,
    suspicion,
)

pytestmark = pytest.mark.filterwarnings("ignore:.*no weight on any kept component")

HEATS = ("data", "P", "clean", "score")


def strongest(strength: np.ndarray, kinds: np.ndarray) -> list[int]:
    """The strongest component with content of each of n things."""
    content = [k for k in range(len(kinds)) if kinds[k] == "content"]
    return [max(content, key=lambda k: line[k]) for line in strength]


def display_order(strength: np.ndarray, kinds: np.ndarray) -> list[int]:
    """By the strongest component with content, and the strongest first."""
    best = strongest(strength, kinds)
    return sorted(range(len(best)), key=lambda i: (best[i], -strength[i, best[i]], i))


def shades(values: np.ndarray, zero: np.ndarray, end: np.ndarray) -> np.ndarray:
    """Colours between two, by values from 0 to 1."""
    return zero + values[:, :, None] * (end - zero)


class TestCards:
    @pytest.mark.parametrize("fitted", ["white", "black"], indirect=True)
    def test_what_is_told_of_components(self, open_page: Open, fitted: Fitted) -> None:
        page = open_page(fitted.file)
        shares, stability = fitted.model.weights_.mean(axis=0), component_stability(fitted.model)
        assert np.ptp(stability.round(2)) > 0
        for k, kind in enumerate(fitted.model.phantoms_):
            phantom = "" if kind == "content" else f"{kind} phantom · "
            shown = f"{phantom}{100 * shares[k]:.1f} % of these rows · stability {stability[k]:.2f}"
            assert card(page, k).locator(".details").inner_text() == shown

    def test_hostile_names_are_text(self, open_page: Open, white: Fitted) -> None:
        page = open_page(white.file)
        for name in HOSTILE:
            page.locator("#search").fill(name[:20])
            if "\n" not in name:
                assert page.locator(".bars .label").first.inner_text() == name
        assert page.locator("#cards img, #cards script").count() == 0
        assert page.evaluate("document.scripts.length") == 2

    def test_search(self, open_page: Open, white: Fitted) -> None:
        page = open_page(white.file)
        page.locator("#search").fill("GENUS 3")
        assert page.locator("#cards article").first.locator(".label").all_inner_texts() == ["genus 3"]
        page.locator("#search").fill("no such genus")
        assert "no attribute matches" in page.locator("#cards").inner_text()

    def test_ranking(self, open_page: Open, fitted: Fitted) -> None:
        """Apart is how far a component is above the mean of the others, by their shares."""
        H, shares = fitted.model.components_, fitted.model.shares_
        page = open_page(fitted.file)
        assert page.locator("#ranking").input_value() == "apart"
        for ranking, k in product(("apart", "high"), range(N_COMPONENTS)):
            page.locator("#ranking").select_option(ranking)
            others = [j for j in range(N_COMPONENTS) if j != k]
            rank = H[k] if ranking == "high" else H[k] - np.average(H[others], axis=0, weights=shares[others])
            shown = card(page, k)
            places = [fitted.data.column_names.index(name) for name in shown.locator(".label").all_text_contents()]
            assert len(set(places)) == 8
            np.testing.assert_allclose(rank[places], np.sort(rank)[::-1][:8], atol=1e-9)
            values = np.array(shown.locator(".value").all_inner_texts(), dtype=float)
            np.testing.assert_allclose(values, H[k, places], atol=0.005 + 1e-9)

    @every_kind
    def test_the_most_distinct_come_first(self, open_page: Open, fitted: Fitted) -> None:
        """By the mean distance from the mean of the others; phantoms last."""
        page, H, shares = open_page(fitted.file), fitted.model.components_, fitted.model.shares_
        apart = [
            np.abs(H[k] - np.average(np.delete(H, k, 0), axis=0, weights=np.delete(shares, k))).mean() for k in range(4)
        ]
        expected = sorted(range(4), key=lambda k: (fitted.model.phantoms_[k] != "content", -apart[k]))
        shown = page.locator("#cards article").evaluate_all("(es) => es.map((e) => e.ariaLabel)")
        assert shown == [f"component {k + 1}" for k in expected]


class TestCells:
    @pytest.mark.parametrize("fitted", ["white", "both"], indirect=True)
    def test_heatmaps(self, open_page: Open, fitted: Fitted) -> None:
        """Each pixel has the colour of its cell; filled and removed cells have their own."""
        page = open_page(fitted.file)
        rate(page, [0.2, 1, 0.7, 0.1])
        page.locator("#change").select_option("both")
        W, H, kinds = fitted.model.transform(fitted.data), fitted.model.components_, fitted.model.phantoms_
        order = np.ix_(display_order(W, kinds), display_order(H.T, kinds))
        cells, clean = fitted.cells[order], array(page, "clean")[order]
        one, zero, filled, removed, found = (
            colour(page, f"--{name}") for name in ("one", "zero", "filled", "below", "found")
        )
        data = np.where((cells == 1)[:, :, None], one, zero)
        data[cells == -1] = colour(page, "--missing")
        denoised = np.where((clean == 1)[:, :, None], one, zero)
        denoised[(cells == 0) & (clean == 1)] = filled
        denoised[(cells == 1) & (clean == 0)] = removed
        assert len(np.unique(denoised.reshape(-1, 3), axis=0)) == 4
        P, score = (array(page, name)[order] for name in ("P", "score"))
        expected = [data, shades(P, zero, colour(page, "--value")), denoised, shades(score, zero, found)]
        for n, (what, picture) in enumerate(zip(HEATS, expected, strict=True)):
            drawn = pixels(page, f".heat:nth-child({n + 1}) .field canvas")
            np.testing.assert_allclose(drawn, picture, atol=0 if what in ("data", "clean") else 1.0)  # 256 steps

    @pytest.mark.parametrize("fitted", ["white", "both"], indirect=True)
    def test_colours_at_the_edges(self, open_page: Open, fitted: Fitted) -> None:
        page = open_page(fitted.file)
        colours = np.array(
            [rgb(card(page, k).evaluate("(e) => e.style.getPropertyValue('--colour')")) for k in range(4)]
        )
        assert len(np.unique(colours, axis=0)) == N_COMPONENTS
        W, H, kinds = fitted.model.transform(fitted.data), fitted.model.components_, fitted.model.phantoms_
        for n in range(len(HEATS)):
            for edge, strength in ((".side", W), (".top", H.T)):
                best = np.array(strongest(strength, kinds))[display_order(strength, kinds)]
                drawn = pixels(page, f".heat:nth-child({n + 1}) {edge}")
                np.testing.assert_array_equal(drawn.reshape(-1, 3), colours[best])

    def test_keys_move_and_explain(self, open_page: Open, fitted: Fitted) -> None:
        page = open_page(fitted.file)
        page.locator("#heats").focus()
        for key in ("ArrowDown", "ArrowDown", "ArrowRight", "Enter"):
            page.keyboard.press(key)
        model, data, cells = fitted.model, fitted.data, fitted.cells
        i = display_order(model.transform(data), model.phantoms_)[2]
        j = display_order(model.components_.T, model.phantoms_)[1]
        P = model.reconstruct(data, ratings=fitted.ratings)[i, j]
        value = {0: "0", 1: "1", -1: "missing"}[int(cells[i, j])]
        cause = model.explain(data, cells=[(i, j)]).nlargest(1, "probability").iloc[0]
        doubt = f", suspicion {suspicion(model, data)[i, j]:.2f}" * (value != "missing")
        assert page.locator("#readout").text_content() == (
            f"{data.row_names[i]}, {data.column_names[j]}: {value}, probability of a 1 {P:.2f}{doubt}, most likely "
            f"caused by component {cause['component'] + 1} ({100 * cause['probability']:.1f} %)."
        )
        assert page.locator("#row-name").input_value() == data.row_names[i]
        assert page.locator("#row-view tbody tr").count() == N_COLUMNS
        for value in (0, 1):
            page.locator("#row-filter").select_option(str(value))
            assert page.locator("#row-view tbody tr").count() == int((cells[i] == value).sum())


class TestSuspects:
    @pytest.mark.parametrize("fitted", ["white", "beta", "black"], indirect=True)
    def test_the_table(self, open_page: Open, fitted: Fitted) -> None:
        model, data = fitted.model, fitted.data
        page = open_page(fitted.file)
        rate(page, RATINGS)
        for value, kind in enumerate(("absence", "presence")):
            page.locator("#suspect-kind").select_option(str(value))
            table = page.locator("#suspect-table table")
            heads = ["row", "column", "score", "all restarts", "phantom", "mark"]
            assert table.locator("th").all_inner_texts() == heads
            lines = np.array(table.locator("td").all_text_contents()).reshape(-1, 6)[:, :5]
            expected = model.suspects(data, kind=kind, ratings=RATINGS, top=None)
            score, restarts, phantom = lines[:, 2:].astype(float).T
            np.testing.assert_allclose(score, expected["score"].head(50), atol=0.005 + 1e-9)
            at = [data.row_names.index(name) for name in lines[:, 0]], [data.column_names.index(n) for n in lines[:, 1]]
            assert len(set(zip(*at, strict=True))) == 50
            assert (fitted.cells[at] == value).all()
            np.testing.assert_allclose(score, suspicion(model, data, RATINGS)[at], atol=0.005 + 1e-9)
            np.testing.assert_allclose(restarts, suspicion(model, data)[at], atol=0.005 + 1e-9)
            caused = expected.set_index(["row", "column"])["phantom"].loc[[tuple(line) for line in lines[:, :2]]]
            np.testing.assert_allclose(phantom, caused, atol=0.005 + 1e-9)

    def test_a_suspect_leads_to_its_row(self, open_page: Open, fitted: Fitted) -> None:
        page = open_page(fitted.file)
        link = page.locator("#suspect-table button.link").first
        name = link.inner_text()
        link.click()
        assert page.locator("#row-name").input_value() == name


class TestPlots:
    @pytest.mark.parametrize("fitted", ["beta", "both"], indirect=True)
    def test_weights_against_ones(self, open_page: Open, fitted: Fitted) -> None:
        """The white phantom is chosen first, and others can be; a weight of 1 is at the top of the frame."""
        page = open_page(fitted.file)
        W, ones = fitted.model.transform(fitted.data), (fitted.cells == 1).sum(axis=1)
        choice = page.locator("#weight-of")
        assert int(choice.input_value()) == fitted.model.phantoms_.tolist().index("white")
        for k in (None, *range(N_COMPONENTS)):
            if k is not None:
                choice.select_option(str(k))
            frame = page.locator("#weight-plot .axis").get_attribute("d")
            left, top, bottom, right = map(float, re.fullmatch(r"M(\S+) (\S+)V(\S+)H(\S+)", frame).groups())
            x, y = centres(page, "#weight-plot .point")
            weights = W[:, int(choice.input_value())]
            np.testing.assert_allclose(y, bottom - weights * (bottom - top), atol=0.051)
            np.testing.assert_allclose(x, left + ones / ones.max() * (right - left), atol=0.051)

    def test_restarts(self, open_page: Open, fitted: Fitted) -> None:
        page = open_page(fitted.file)
        plot = page.locator("#sure-plots svg").first
        shown = [
            re.fullmatch(r"(\S+) after (\d+) iterations", text).groups()
            for text in plot.locator("title").all_text_contents()
        ]
        ordered = fitted.model.restarts_.sort_values("objective", ascending=False)
        objective = ordered["objective"].to_numpy()
        np.testing.assert_allclose([float(value) for value, _ in shown], objective, rtol=1e-8)
        assert [int(n) for _, n in shown] == ordered["n_iter"].tolist()
        x, y = centres(page, "#sure-plots svg:first-of-type circle")
        assert (np.diff(x) > 0).all()
        assert y[0] < y[-1]
        heights = (y[-1] - y) / (y[-1] - y[0])
        np.testing.assert_allclose(heights, (objective - objective[-1]) / np.ptp(objective), atol=1e-6)

    def test_stability(self, open_page: Open, fitted: Fitted) -> None:
        page = open_page(fitted.file)
        bars = page.locator("#sure-plots .bars")
        assert bars.locator(".label").all_inner_texts() == [f"component {k + 1}" for k in range(N_COMPONENTS)]
        stability = component_stability(fitted.model)
        assert bars.locator(".value").all_inner_texts() == [f"{value:.2f}" for value in stability]
        ends = [
            float(re.search(r"([\d.]+)%\s*,\s*transparent|([\d.]+)%\)$", text).group(1) or 100)
            for text in bars.locator(".track").evaluate_all("(es) => es.map((e) => e.style.backgroundImage)")
        ]
        np.testing.assert_allclose(ends, 100 * stability, atol=0.2)


def centres(page: Any, circles: str) -> tuple[np.ndarray, np.ndarray]:
    """Where the circles of a plot are."""
    found = page.locator(circles).evaluate_all("(es) => es.map((e) => [e.cx.baseVal.value, e.cy.baseVal.value])")
    x, y = np.array(found).T
    return x, y


def test_facts_of_the_fit(open_page: Open, fitted: Fitted) -> None:
    page = open_page(fitted.file)
    heads, shown = (page.locator(f".facts {tag}").all_text_contents() for tag in ("th", "td"))
    facts = dict(zip(heads, shown, strict=True))
    model, data = fitted.model, fitted.data
    assert facts["seed"] == str(model.random_state)
    assert facts["data"] == f"{data.shape[0]} rows x {data.shape[1]} columns"
    assert facts["their checksum"] == data.fingerprint()
    zeros, ones, missing = ((fitted.cells == value).sum() for value in (0, 1, -1))
    assert facts["cells"].startswith(f"{ones} ones, {zeros:,} zeros, {missing} missing ({ones / (ones + zeros):.1%} ")
    assert facts["objective"] == f"{model.objective_:.10g}, after {model.n_iter_:,} iterations"
    assert facts["AIC"] == f"{model.aic(data):.10g}"
    assert facts["BIC"] == f"{model.bic(data):.10g}"
    assert f"n_components={N_COMPONENTS}, " in facts["parameters"]
    assert facts["converged"] == "yes"
