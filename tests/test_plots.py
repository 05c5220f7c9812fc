"""The figures: what is in them, that drawing changes nothing, and that nothing is too odd to draw."""

from __future__ import annotations

import inspect
import subprocess
import sys
from collections.abc import Sequence
from functools import partial
from io import BytesIO
from types import SimpleNamespace
from typing import Any

import matplotlib
import numpy as np
import pandas as pd
import pytest
from matplotlib.axes import Axes
from matplotlib.colors import to_hex
from matplotlib.figure import Figure
from matplotlib.style import context as style_context

from latentbits import AspectBernoulli, BinaryData, RowFacts, plots, select_order, simulate
from latentbits.plots import (
    plot_causes,
    plot_components,
    plot_couplings,
    plot_denoising,
    plot_map,
    plot_objective,
    plot_ordination,
    plot_projections,
    plot_reliability,
    plot_responses,
    plot_sizes,
    plot_source_effects,
    plot_stability,
    plot_suspects,
    plot_variation,
    plot_weights,
)
from latentbits.plots.denoising import CELLS, FILLED, GUESSED, REMOVED, UNKNOWN
from latentbits.plots.style import KINDS

HOSTILE = ["$x_1$", "$", "\\frac{", "<b>&amp;", "a_b^c", "new\nline", "{", "%{}", "x" * 500, "$\\alpha"]


def fake_model(
    n_rows: int = 40,
    n_components: int = 3,
    n_columns: int = 12,
    kinds: Sequence[str] | None = None,
    names: Sequence[str] | None = None,
) -> SimpleNamespace:
    rng = np.random.default_rng(0)
    model = SimpleNamespace(
        components_=rng.random((n_components, n_columns)),
        weights_=rng.dirichlet(np.ones(n_components), n_rows),
        phantoms_=np.array(kinds or ["content"] * n_components),
    )
    if names is not None:
        model.feature_names_in_ = np.array(names, dtype=object)
    return model


def fake_fit(*histories: Sequence[float], converged: bool = True) -> SimpleNamespace:
    finals = [history[-1] for history in histories]
    return SimpleNamespace(
        restart_histories_=[np.array(history) for history in histories],
        restarts_=pd.DataFrame({"objective": finals, "converged": converged}),
    )


def render(figure: Figure) -> bytes:
    """Draw for real: layout and missing glyphs warn only then, and warnings are errors here."""
    picture = BytesIO()
    figure.savefig(picture, format="png", dpi=40)
    return picture.getvalue()


def title(ax: Axes) -> str:
    return ax.get_title(loc="left")


def labels(ax: Axes) -> list[str]:
    return [label.get_text() for label in ax.get_yticklabels()]


def bars(ax: Axes) -> list[float]:
    return [bar.get_width() for bar in ax.patches]


def key(figure: Figure) -> list[str]:
    return [text.get_text() for text in figure.legends[0].get_texts()]


class TestComponents:
    def test_bars_are_the_highest_probabilities_in_falling_order(self):
        model = fake_model(n_columns=30)
        figure = plot_components(model, top=7)
        assert len(figure.axes) == 3
        for ax, component in zip(figure.axes, model.components_, strict=True):
            assert len(bars(ax)) == 7
            np.testing.assert_allclose(bars(ax), np.sort(component)[::-1][:7], atol=1e-3)
            assert labels(ax) == [f"column {np.flatnonzero(component == width)[0] + 1}" for width in bars(ax)]

    def test_ticks_are_the_mean_over_all_rows(self):
        model = fake_model()
        model.row_weight_ = np.arange(40.0)
        ax = plot_components(model, top=12).axes[0]
        shares = model.row_weight_ @ model.weights_ / model.row_weight_.sum()
        columns = [int(label.split()[1]) - 1 for label in labels(ax)]
        np.testing.assert_allclose(ax.lines[0].get_xdata(), (shares @ model.components_)[columns])

    def test_of_equal_columns_the_rarest_in_the_data_comes_first(self):
        model = fake_model(n_components=2, n_columns=3)
        model.components_ = np.array([[1.0, 1 - 1e-9, 1 - 1e-6], [0.9, 0.5, 0.1]])
        assert labels(plot_components(model).axes[0]) == ["column 3", "column 2", "column 1"]

    def test_titles_state_share_and_phantom(self):
        model = fake_model(n_components=4, kinds=["white", "content", "black", "content"])
        model.weights_ = np.array([[0.5, 0.3, 0.198, 0.002]])
        titles = [title(ax) for ax in plot_components(model).axes]
        assert titles == [
            "component 1, 50 % of the data\nwhite phantom",
            "component 2, 30 % of the data",
            "component 3, 20 % of the data\nblack phantom",
            "component 4, < 1 % of the data",
        ]

    def test_weights_that_are_no_shares_are_not_told_as_such(self):
        model = fake_model(n_components=2)
        model.weights_ = 20 * model.weights_
        figure = plot_components(model)
        assert [title(ax) for ax in figure.axes] == ["component 1", "component 2"]
        assert not any(ax.lines for ax in figure.axes), "no tick of a mean that is no probability"
        assert render(figure)

    def test_phantoms_have_a_style_and_a_place_in_the_key(self):
        figure = plot_components(fake_model(kinds=["white", "content", "black"]))
        colours = [to_hex(ax.patches[0].get_facecolor()) for ax in figure.axes]
        assert colours == [KINDS[kind].mark for kind in ("white", "content", "black")]
        assert [ax._left_title.get_fontweight() for ax in figure.axes] == ["bold", "normal", "bold"]
        assert key(figure) == [
            "in the component",
            "in the white phantom",
            "in the black phantom",
            "model's mean over all rows",
        ]

    def test_names_come_from_the_model_unless_given(self):
        model = fake_model(n_columns=2, names=["Equus", "Sus"])
        assert sorted(labels(plot_components(model).axes[0])) == ["Equus", "Sus"]
        assert sorted(labels(plot_components(model, names=["a", "b"]).axes[0])) == ["a", "b"]

    def test_pictures_show_the_components(self):
        model = fake_model(kinds=["content", "white", "content"])
        figure = plot_components(model, shape=(3, 4))
        panels = figure.axes[:3]
        for ax, component in zip(panels, model.components_, strict=True):
            np.testing.assert_array_equal(ax.images[0].get_array(), component.reshape(3, 4))
            assert ax.images[0].get_clim() == (0, 1)
        assert to_hex(panels[1].spines["top"].get_edgecolor()) == KINDS["white"].mark
        assert title(panels[1]).endswith("\nwhite phantom")

    @pytest.mark.parametrize(("n_components", "n_columns"), [(1, 1), (1, 12), (2, 5000)])
    def test_any_size(self, n_components: int, n_columns: int):
        model = fake_model(n_rows=2, n_components=n_components, n_columns=n_columns)
        figure = plot_components(model)
        assert len(figure.axes) == n_components
        assert render(figure)
        assert render(plot_components(model, shape=(1, n_columns)))

    def test_many_components(self):
        model = fake_model(n_components=30, n_columns=1)
        assert len(plot_components(model).axes) == 30
        assert render(plot_components(model, shape=(1, 1)))

    def test_titles_and_key_stay_inside_the_figure(self):
        kinds = ["white"] + ["content"] * 10 + ["black"]
        model = fake_model(n_components=12, kinds=kinds, names=["n" * 60] * 12)
        figure = plot_components(model, top=1)
        figure.draw_without_rendering()
        width = figure.bbox.width
        for artist in [*(ax._left_title for ax in figure.axes), figure.legends[0]]:
            box = artist.get_window_extent()
            assert box.x0 >= -1
            assert box.x1 <= width + 1

    def test_components_of_nothing_but_zeros(self):
        model = fake_model()
        model.components_ = np.zeros((3, 12))
        assert render(plot_components(model))

    def test_a_model_without_weights_and_phantoms(self):
        figure = plot_components(SimpleNamespace(components_=[[0.1, 0.9]]))
        assert title(figure.axes[0]) == "component 1"
        assert not figure.axes[0].lines
        assert render(figure)

    def test_what_cannot_be_drawn_is_said(self):
        with pytest.raises(ValueError, match=r"shape is \(3, 3\), 9 cells, but a component has 12"):
            plot_components(fake_model(), shape=(3, 3))
        with pytest.raises(ValueError, match="names has 2 entries; give one for each of 12"):
            plot_components(fake_model(), names=["a", "b"])
        with pytest.raises(ValueError, match="top is 0"):
            plot_components(fake_model(), top=0)
        with pytest.raises(ValueError, match=r"outside 0 \.\. 1"):
            plot_components(SimpleNamespace(components_=[[-1.0, 2.0]]))
        with pytest.raises(AttributeError, match="has no components_; give a fitted model"):
            plot_components(SimpleNamespace())


class TestWeights:
    def test_rows_are_grouped_by_their_strongest_component(self):
        model = fake_model()
        drawn = plot_weights(model).axes[0].images[0].get_array()
        strongest = drawn.argmax(axis=1)
        assert np.all(np.diff(strongest) >= 0)
        assert len(np.unique(strongest)) == 3
        for k in range(3):
            assert np.all(np.diff(drawn[strongest == k].max(axis=1)) <= 0)
        np.testing.assert_array_equal(np.sort(drawn, axis=0), np.sort(model.weights_, axis=0))

    def test_a_panel_for_each_phantom(self):
        model = fake_model(kinds=["white", "content", "black"])
        figure = plot_weights(model, ones=np.arange(40))
        assert [title(ax) for ax in figure.axes[2:]] == [
            "component 1, white phantom",
            "component 3, black phantom",
        ]
        dots = figure.axes[2].collections[0].get_offsets()
        np.testing.assert_allclose(dots, np.column_stack([np.arange(40), model.weights_[:, 0]]))
        assert [label.get_text() for label in figure.axes[0].get_xticklabels()] == [
            "1\nwhite",
            "2",
            "3\nblack",
        ]
        assert render(figure)

    def test_the_line_is_the_mean_of_rows_with_like_ones(self):
        model = fake_model(n_rows=4, n_components=2, kinds=["white", "content"])
        model.weights_ = np.array([[0.8, 0.2], [0.6, 0.4], [0.1, 0.9], [0.3, 0.7]])
        line = plot_weights(model, ones=[2, 2, 9, 9]).axes[2].lines[0]
        np.testing.assert_allclose(line.get_xydata(), [[2, 0.7], [9, 0.2]])

    def test_without_phantoms_it_says_so(self):
        assert plot_weights(fake_model(), ones=np.arange(40)).get_suptitle() == "no phantom among the components"
        assert plot_weights(fake_model()).get_suptitle() == ""

    def test_big_data_are_drawn_as_means_and_it_says_so(self):
        model = fake_model(n_rows=10_001, kinds=["white", "content", "content"])
        figure = plot_weights(model, ones=np.arange(10_001))
        lines = figure.axes[0].images[0].get_array()
        assert lines.shape == (400, 3)
        np.testing.assert_allclose(lines.mean(axis=0), model.weights_.mean(axis=0), atol=1e-3)
        assert "each of the 400 lines is a mean of rows" in figure.axes[0].get_ylabel()
        assert len(figure.axes[2].collections[0].get_offsets()) == 2000
        assert figure.axes[2].get_legend().get_texts()[0].get_text() == "a row (2,000 of 10,001 drawn)"

    @pytest.mark.parametrize("kinds", [["content"], ["white"], ["white", "black"]])
    def test_one_empty_row(self, kinds: list[str]):
        model = fake_model(n_rows=1, n_components=len(kinds), kinds=kinds)
        assert render(plot_weights(model, ones=[0]))

    def test_what_cannot_be_drawn_is_said(self):
        with pytest.raises(ValueError, match="ones has 3 entries; give one for each of the model's 40 rows"):
            plot_weights(fake_model(), ones=[1, 2, 3])
        with pytest.raises(AttributeError, match="has no weights_"):
            plot_weights(SimpleNamespace())


class TestObjective:
    climb = -1000 * np.exp(-np.arange(50.0))

    def test_a_line_for_each_restart_the_best_last_and_strongest(self):
        figure = plot_objective(fake_fit(self.climb - 5, self.climb, self.climb - 2))
        upper, lower = figure.axes
        assert len(upper.lines) == 3
        np.testing.assert_array_equal(upper.lines[-1].get_ydata(), self.climb)
        assert upper.lines[-1].get_linewidth() > upper.lines[0].get_linewidth()
        np.testing.assert_allclose(lower.collections[0].get_offsets()[:, 0], [0, -2, -5], atol=1e-9)
        assert [text.get_text() for text in upper.get_legend().get_texts()] == [
            "best of 3 restarts",
            "others",
        ]
        assert render(figure)

    def test_the_steep_start_is_below_the_axis_and_all_ends_are_above(self):
        bottom, top = plot_objective(fake_fit(self.climb - 5, self.climb)).axes[0].get_ylim()
        assert -10 < bottom < -5
        assert 0 < top < 5

    def test_restarts_that_ran_out_of_passes_are_hollow(self):
        fit = fake_fit(self.climb - 5, self.climb)
        fit.restarts_["converged"] = [False, True]
        lower = plot_objective(fit).axes[1]
        assert [to_hex(face) for face in lower.collections[0].get_facecolors()][1] == "#ffffff"
        assert title(lower) == "hollow: ran out of passes"

    @pytest.mark.parametrize(
        "histories",
        [[[-3.0, -2.0]], [[-3.0]], [[-3.0], [-3.0]], [[-np.inf, -2.0], [-np.inf, -2.0]], [[0.0, 0.0]]],
        ids=["one restart", "one pass", "equal ends", "from minus infinity", "flat"],
    )
    def test_odd_histories(self, histories: list[list[float]]):
        figure = plot_objective(fake_fit(*histories))
        assert len(figure.axes) == min(len(histories), 2)
        assert render(figure)


class TestDenoising:
    before = np.array([[1, 0, 1, np.nan], [0, 1, 1, 1], [0, 1, 0, 0]])
    after = np.array([[1, 1, 1, 1], [0, 1, 1, 0], [0, 1, 0, 0]])

    def test_tables_side_by_side_with_changed_cells_in_colour(self):
        figure = plot_denoising(self.before, self.after, clean=self.after)
        assert [title(ax) for ax in figure.axes] == ["before", "after", "clean"]
        before, after, clean = (ax.images[0].get_array() for ax in figure.axes)
        np.testing.assert_array_equal(before, np.where(np.isnan(self.before), UNKNOWN, self.before))
        np.testing.assert_array_equal(after, [[1, FILLED, 1, GUESSED], [0, 1, 1, REMOVED], [0, 1, 0, 0]])
        np.testing.assert_array_equal(clean, self.after)
        assert key(figure) == list(CELLS)
        assert figure.get_suptitle() == "1 zero became 1, 1 one became 0"
        assert render(figure)

    def test_pictures_before_and_after(self):
        figure = plot_denoising(self.before, self.after, shape=(2, 2), rows=[2, -2])
        assert [ax.get_title() for ax in figure.axes] == ["row 3", "row 2", "", ""]
        assert [ax.get_ylabel() for ax in figure.axes] == ["before", "", "after", ""]
        np.testing.assert_array_equal(figure.axes[3].images[0].get_array(), [[0, 1], [1, REMOVED]])
        assert figure.get_suptitle().endswith("\n2 of 3 rows drawn, as chosen")
        assert render(figure)

    def test_rows_by_default_are_the_more_changed_the_most_changed_first(self):
        after = np.tril(np.ones((20, 20)))
        figure = plot_denoising(np.zeros((20, 20)), after, shape=(4, 5), n=4)
        assert [ax.get_title() for ax in figure.axes[:4]] == ["row 20", "row 17", "row 14", "row 11"]
        assert figure.get_suptitle() == (
            "210 zeros became 1, 0 ones became 0\n"
            "4 of 20 rows drawn, spread over the more changed half, the most changed first"
        )

    def test_names_of_rows_and_columns(self):
        frame = pd.DataFrame([[0, 1], [1, 1]], index=["Pikermi", "Samos"], columns=["Equus", "Sus"])
        table = plot_denoising(frame, 1 - frame).axes
        assert labels(table[0]) == ["Pikermi", "Samos"]
        assert [label.get_text() for label in table[1].get_xticklabels()] == ["Equus", "Sus"]
        pictures = plot_denoising(BinaryData.of(frame), frame, shape=(2, 1)).axes
        assert [ax.get_title() for ax in pictures[:2]] == ["Pikermi", "Samos"]

    def test_big_tables_are_sampled_down_and_it_says_so(self):
        before = np.zeros((500, 400), dtype=np.int8)
        after = before.copy()
        after[:, 100:250] = 1
        figure = plot_denoising(before, after)
        assert figure.get_suptitle().splitlines()[1:] == [
            "60 of 500 rows drawn, spread over the more changed half, the most changed first",
            "150 of 400 columns drawn, those with most changes",
        ]
        codes = figure.axes[1].images[0].get_array()
        assert codes.shape == (60, 150)
        assert np.all(codes == FILLED)
        assert render(figure)

    @pytest.mark.parametrize("cells", [[[0]], [[np.nan]], [[1, 0, 1]], [[np.nan, np.nan], [0, 1]]])
    def test_tiny_and_missing(self, cells: list[list[float]]):
        filled = np.nan_to_num(cells)
        assert render(plot_denoising(cells, filled))
        assert render(plot_denoising(cells, cells, shape=(1, len(cells[0]))))

    def test_a_filled_missing_cell_is_no_change(self):
        figure = plot_denoising([[np.nan, 0]], [[1, 0]])
        assert figure.get_suptitle() == "0 zeros became 1, 0 ones became 0"

    def test_title_and_key_stay_inside_a_narrow_figure(self):
        before, after = np.tile(self.before, (500, 1)), np.tile(self.after, (500, 1))
        for figure in (plot_denoising(before, after, shape=(2, 2), n=2), plot_denoising(before, after, n=2)):
            figure.draw_without_rendering()
            for artist in (figure.legends[0], figure._suptitle):
                box = artist.get_window_extent()
                assert 0 <= box.x0 < box.x1 <= figure.bbox.width

    def test_what_cannot_be_drawn_is_said(self):
        with pytest.raises(ValueError, match=r"after has the shape \(2, 4\), but before has \(3, 4\)"):
            plot_denoising(self.before, self.after[:2])
        with pytest.raises(ValueError, match=r"shape is \(3, 3\), 9 cells, but a row has 4"):
            plot_denoising(self.before, self.after, shape=(3, 3))
        with pytest.raises(ValueError, match="positions from 0 to 2"):
            plot_denoising(self.before, self.after, rows=[3])
        with pytest.raises(ValueError, match="positions from 0 to 2"):
            plot_denoising(self.before, self.after, rows=[])
        with pytest.raises(ValueError, match="n is 0"):
            plot_denoising(self.before, self.after, n=0)


class TestAllFigures:
    def test_hostile_names_are_drawn_as_they_are(self):
        model = fake_model(n_columns=len(HOSTILE), names=HOSTILE)
        figure = plot_components(model)
        assert {"$x_1$", "\\frac{", "<b>&amp;", "a_b^c", "new line"} <= set(labels(figure.axes[0]))
        assert max(map(len, labels(figure.axes[0]))) == 24
        frame = pd.DataFrame(np.eye(10, dtype=int), columns=HOSTILE, index=HOSTILE)
        for drawn in (figure, plot_denoising(frame, 1 - frame), plot_denoising(frame, frame, shape=(2, 5))):
            assert render(drawn)

    @pytest.mark.parametrize("style", [{"text.color": "white", "axes.facecolor": "navy"}, "dark_background", "ggplot"])
    def test_the_users_style_is_followed_and_left_as_it_is(self, style: Any):
        model = fake_model(kinds=["white", "content", "content"])
        own = plot_weights(model, ones=np.arange(40))
        with style_context(style):
            settings = dict(matplotlib.rcParams)
            figure = plot_weights(model, ones=np.arange(40))
            assert dict(matplotlib.rcParams) == settings
            panel = figure.axes[-1]
            assert to_hex(panel.get_facecolor()) == to_hex(settings["axes.facecolor"])
            assert to_hex(panel.lines[-1].get_color()) == to_hex(settings["text.color"])
            assert render(figure) != render(own)
        assert to_hex(own.axes[-1].get_facecolor()) == "#ffffff"

    def test_input_is_unchanged(self):
        model = fake_model(kinds=["white", "content", "black"])
        before = TestDenoising.before.copy()
        kept = {name: value.copy() for name, value in vars(model).items()}
        plot_components(model)
        plot_components(model, shape=(3, 4))
        plot_weights(model, ones=np.arange(40))
        plot_denoising(before, TestDenoising.after)
        plot_denoising(before, TestDenoising.after, shape=(2, 2))
        for name, value in kept.items():
            np.testing.assert_array_equal(getattr(model, name), value)
        np.testing.assert_array_equal(before, TestDenoising.before)

    @pytest.mark.filterwarnings("ignore:.*no weight on any kept component")
    def test_a_fitted_model_and_every_file_format(self, tmp_path):
        X = simulate.aspect_bernoulli(60, 12, 3, white_phantom=True, random_state=0).X
        model = AspectBernoulli(3, n_init=2, random_state=0).fit(X)
        figures = {
            "components.png": plot_components(model),
            "weights.svg": plot_weights(model, ones=X.sum(axis=1)),
            "objective.pdf": plot_objective(model),
            "denoising.png": plot_denoising(X, model.denoise(X)),
        }
        for name, figure in figures.items():
            figure.savefig(tmp_path / name)
            assert (tmp_path / name).stat().st_size > 1000

    def test_notebooks_get_a_picture(self):
        assert plot_objective(fake_fit([-2.0, -1.0]))._repr_png_().startswith(b"\x89PNG")

    def test_neither_pyplot_nor_a_model_is_imported(self):
        code = (
            "import sys, latentbits.plots as p; p.plot_denoising([[0]], [[1]])._repr_png_(); "
            "models = [m for m in sys.modules if m.startswith('latentbits.models') and m.endswith('estimator')]; "
            "assert 'matplotlib.pyplot' not in sys.modules and 'numba' not in sys.modules and not models"
        )
        assert subprocess.run([sys.executable, "-c", code]).returncode == 0


class TestCouplings:
    def test_coupled_columns_stand_side_by_side(self):
        couplings = np.zeros((8, 8))
        for a, b in ((0, 5), (1, 7), (2, 4)):
            couplings[a, b] = couplings[b, a] = 2.0
        couplings[1, 7] = couplings[7, 1] = -2.0
        model = SimpleNamespace(couplings_=couplings, feature_names_in_=np.array(list("abcdefgh"), dtype=object))
        figure = plot_couplings(model)
        names = [label.get_text() for label in figure.axes[0].get_yticklabels()]
        assert sorted(names) == list("abcdefgh")
        for a, b in ("af", "bh", "ce"):
            assert abs(names.index(a) - names.index(b)) == 1
        shown = np.asarray(figure.axes[0].images[0].get_array())
        assert shown[names.index("b"), names.index("h")] == -2.0
        assert figure.axes[0].get_ylabel() == "", "there and back are the same"
        render(figure)

    def test_of_many_columns_the_strongest_are_drawn(self):
        rng = np.random.default_rng(0)
        couplings = rng.normal(size=(100, 100))
        np.fill_diagonal(couplings, 0)
        couplings[3, 90] = 50.0
        figure = plot_couplings(SimpleNamespace(couplings_=couplings))
        names = [label.get_text() for label in figure.axes[0].get_xticklabels()]
        assert len(names) == 60
        assert {"column 4", "column 91"} <= set(names)
        shown = np.asarray(figure.axes[0].images[0].get_array())
        assert shown[names.index("column 4"), names.index("column 91")] == 50.0
        assert figure.axes[0].get_ylabel() == "what this column"

    @pytest.mark.parametrize("n", [1, 2, 3])
    def test_few_columns_and_no_couplings(self, n):
        render(plot_couplings(SimpleNamespace(couplings_=np.zeros((n, n)), feature_names_in_=HOSTILE[:n])))


class TestBinaryFactorsAndSources:
    def test_causes_are_drawn_where_they_are_on(self):
        probabilities = np.array([[0.0, 1.0], [1.0, 1.0], [0.2, 0.0]])
        model = SimpleNamespace(factor_probabilities_=np.array([0.4, 0.6]), predict_proba=lambda X: probabilities)
        ax = plot_causes(model, np.zeros((3, 2))).axes[0]
        np.testing.assert_array_equal(ax.images[0].get_array(), probabilities.T)
        assert labels_of(ax.get_yticklabels()) == ["factor 1, 40 %", "factor 2, 60 %"]
        with pytest.raises(ValueError, match="no factor"):
            plot_causes(SimpleNamespace(factor_probabilities_=np.empty(0)), np.zeros((3, 2)))

    def test_projections_show_both_states_of_each_factor(self):
        model = SimpleNamespace(
            factor_probabilities_=np.array([0.5]),
            mixing_=np.ones((2, 1)),
            noise_precision_=np.full(2, 50.0),
            projections=lambda X: np.array([[-1.0], [1.1], [0.9]]),
        )
        ax = plot_projections(model, np.zeros((3, 2))).axes[0]
        line = ax.lines[0].get_ydata()
        assert line[100] < 0.01 < line.max()
        assert [tick.get_text() for tick in ax.get_xticklabels()] == ["off", "on"]
        with pytest.raises(ValueError, match="no factor"):
            plot_projections(SimpleNamespace(factor_probabilities_=np.empty(0)), np.zeros((3, 2)))

    def test_sizes(self):
        sizes = pd.DataFrame({"n_components": [0, 1, 2], "bic": [30.0, 10.0, 12.0]})
        ax = plot_sizes(SimpleNamespace(sizes_=sizes)).axes[0]
        np.testing.assert_array_equal(ax.lines[0].get_ydata(), [20, 0, 2])
        assert ax.get_title(loc="left") == "best: 1"
        with pytest.raises(ValueError, match="inference="):
            plot_sizes(SimpleNamespace(sizes_=sizes[:0]))

    def test_source_effects_are_those_of_live_sources(self):
        effects = np.arange(12.0).reshape(2, 2, 3)
        ax = plot_source_effects(SimpleNamespace(source_effects_=effects, n_sources_=[1, 2])).axes[0]
        np.testing.assert_array_equal(ax.images[0].get_array(), [[3, 9, 10], [0, 6, 7]])
        assert labels_of(ax.get_xticklabels()) == ["1.1", "2.1", "2.2"]
        with pytest.raises(ValueError, match="switched off"):
            plot_source_effects(SimpleNamespace(source_effects_=effects, n_sources_=[0, 0]))


def labels_of(ticks) -> list[str]:
    return [tick.get_text() for tick in ticks]


class TestSuspectsMap:
    X = pd.DataFrame(
        simulate.aspect_bernoulli(30, 10, 2, random_state=0).X,
        index=[f"site {i}" for i in range(30)],
        columns=[f"s{j}" for j in range(10)],
    )

    def scored(self, scores: np.ndarray) -> SimpleNamespace:
        return SimpleNamespace(suspicion=lambda data, kind: scores, binarize=None)

    def test_the_highest_scores_are_ringed_where_they_are(self):
        scores = np.random.default_rng(0).random((30, 10))
        ax = plot_suspects(self.scored(scores), self.X, top=4).axes[0]
        rows = [label.get_text() for label in ax.get_yticklabels()]
        columns = [label.get_text() for label in ax.get_xticklabels()]
        ringed = {(rows[round(y)], columns[round(x)]) for x, y in ax.collections[0].get_offsets()}
        best = self.X.where(self.X == 0).notna() * scores
        expected = {tuple(place) for place in best.stack().nlargest(4).index}
        assert ringed == expected
        for row, column in ringed:
            assert self.X.loc[row, column] == 0

    def test_false_ones_are_ones(self):
        scores = np.random.default_rng(0).random((30, 10))
        figure = plot_suspects(self.scored(scores), self.X, top=3, kind="presence")
        ax = figure.axes[0]
        shown = np.asarray(ax.images[0].get_array())
        assert all(shown[round(y), round(x)] == 1 for x, y in ax.collections[0].get_offsets())
        assert title(ax) == "the 3 ones most likely to be false"
        assert render(figure)

    def test_large_tables_are_cut_to_where_suspects_are(self):
        X = np.zeros((300, 200), dtype=int)
        X[:, 0] = 1
        scores = np.zeros(X.shape)
        scores[250, 150] = 1
        ax = plot_suspects(self.scored(scores), X, top=1).axes[0]
        assert len(ax.collections[0].get_offsets()) == 1
        assert (ax.get_ylabel(), ax.get_xlabel()) == ("80 of 300 rows", "60 of 200 columns")

    def test_no_candidate_and_no_top(self):
        assert render(plot_suspects(self.scored(np.zeros((2, 2))), np.ones((2, 2), dtype=int)))
        with pytest.raises(ValueError, match="top is 0"):
            plot_suspects(self.scored(np.zeros((2, 2))), np.ones((2, 2), dtype=int), top=0)


class TestOrdination:
    def test_rows_lie_apart_by_their_weights_and_columns_near_their_rows(self):
        weights = np.repeat(np.eye(3), 10, axis=0)
        components = np.kron(np.eye(3), np.full((1, 4), 0.9)) + 0.02
        model = SimpleNamespace(weights_=weights, components_=components)
        figure = plot_ordination(model, groups=np.repeat(["a", "b", "c"], 10), n_named=12)
        ax = figure.axes[0]
        dots = {part.get_label(): part.get_offsets().mean(axis=0) for part in ax.collections}
        assert list(dots) == ["a", "b", "c"]
        for text in ax.texts:
            block = (int(text.get_text().removeprefix("column ")) - 1) // 4
            near = min(dots, key=lambda name: np.hypot(*(dots[name] - text.xy)))
            assert near == "abc"[block]
        assert render(figure)

    def test_scores_that_are_no_shares_have_arrows(self):
        rng = np.random.default_rng(0)
        model = SimpleNamespace(weights_=rng.normal(size=(20, 3)), components_=rng.normal(size=(3, 6)))
        ax = plot_ordination(model).axes[0]
        assert any(type(part).__name__ == "Quiver" for part in ax.collections)
        share = float(ax.get_xlabel().split("(")[1].split("%")[0])
        centred = model.weights_ - model.weights_.mean(axis=0)
        sizes = np.linalg.svd(centred, compute_uv=False) ** 2
        assert abs(share - 100 * sizes[0] / sizes.sum()) < 0.6

    def test_phantoms_are_left_out_and_one_component_is_drawn(self):
        weights = np.column_stack([np.linspace(0, 1, 9), np.linspace(1, 0, 9)])
        model = SimpleNamespace(weights_=weights, components_=np.full((2, 4), 0.5), phantoms_=["content", "white"])
        assert render(plot_ordination(model, names=HOSTILE[:4]))

    def test_what_cannot_be_drawn_is_said(self):
        model = fake_model()
        with pytest.raises(ValueError, match="groups has 2 entries; give one for each of the model's 40 rows"):
            plot_ordination(model, groups=["a", "b"])
        with pytest.raises(ValueError, match="at least two rows"):
            plot_ordination(SimpleNamespace(weights_=[[1.0]], components_=[[0.5]]))

    def test_stability(self):
        figure = plot_stability([0.95, 0.4, 0.99])
        assert [bar.get_width() for bar in figure.axes[0].patches] == [0.95, 0.4, 0.99]
        with pytest.raises(ValueError, match="one a component"):
            plot_stability([])


def test_reliability_of_any_model():
    from latentbits.metrics import calibration_table

    rng = np.random.default_rng(0)
    p = rng.random(2000)
    figure = plot_reliability(calibration_table((rng.random(2000) < p).astype(int), p))
    assert title(figure.axes[0]).startswith("2,000 cells")
    assert render(figure)


def _fake_clusters(rng: np.random.Generator) -> SimpleNamespace:
    """What figures ask of clusters with sources: two clusters of two sources in three columns."""
    return SimpleNamespace(
        mixing_=rng.normal(size=(2, 3, 2)),
        means_=rng.normal(size=(2, 3)),
        n_sources_=[2, 1],
        n_clusters_=2,
        proportions_=[0.6, 0.4],
        source_strengths_=rng.random((2, 2)),
        source_effects_=rng.normal(size=(2, 3, 2)),
        objective_history_=np.arange(20.0),
        history_=pd.DataFrame({"move": ["split"], "kept": [True], "iteration": [5]}),
        predict=lambda X: np.arange(len(X)) % 2,
        transform=lambda X: np.asarray(X)[:, :2],
        source_density=lambda c, m, values: np.exp(-(np.asarray(values)[:, None] ** 2) / 2),
    )


def _fake_factors(rng: np.random.Generator) -> SimpleNamespace:
    return SimpleNamespace(
        mixing_=rng.normal(size=(6, 2)),
        noise_precision_=4.0,
        factor_probabilities_=np.array([0.4, 0.7]),
        sizes_=pd.DataFrame({"n_components": [1, 2, 3], "bic": [30.0, 10.0, 12.0]}),
        predict_proba=lambda X: rng.random((len(X), 2)),
        projections=lambda X: rng.normal(size=(len(X), 2)),
        source_scales_=rng.random((8, 2)),
        source_means_=rng.normal(size=(8, 2)),
        segments_=np.arange(8),
    )


def _fake_model_of_rows() -> SimpleNamespace:
    """What figures ask of models that know their rows: a number and a category, for three columns."""
    lines = [("age", value, p) for value, p in ((1.0, 0.2), (2.0, 0.4), (3.0, 0.7))]
    lines += [("use", value, p) for value, p in (("meadow", 0.3), ("forest", 0.6))]
    table = pd.DataFrame(
        [
            {"covariate": name, "value": value, "column": column, "probability": p}
            for column in ("elk", "lynx", "hare")
            for name, value, p in lines
        ]
    ).assign(lower=0.1, upper=0.9)
    shares = pd.DataFrame(
        {"covariates": 0.2, "space": 0.3, "factors": 0.1, "unexplained": 0.4}, index=["elk", "lynx", "hare"]
    )
    return SimpleNamespace(responses=lambda level: table, variation=lambda: shares)


def _drawings() -> list[partial[Figure]]:
    """Each public function with what it draws, from fits and stand-ins that cost nothing."""
    rng = np.random.default_rng(0)
    shares = fake_model(kinds=["white", "content", "content"])
    cells = simulate.aspect_bernoulli(40, 12, 2, random_state=0).X
    small = AspectBernoulli(2, n_init=2, random_state=0).fit(cells)
    found = select_order(AspectBernoulli(n_init=2), cells, [2], criterion=["aic", "cells"], n_folds=2, random_state=0)
    scores = pd.DataFrame({"criterion": "cells", "model": ["one", "two"] * 2, "score": rng.random(4)})
    comparison = SimpleNamespace(table=pd.DataFrame({"model": ["one", "two"]}), folds=scores)
    curves = pd.DataFrame({"first": [1, 20] * 2, "found": [1, 12, 0, 9], "by_columns": 3.5, "by_chance": 0.5})
    clusters, factors, points = _fake_clusters(rng), _fake_factors(rng), rng.normal(size=(30, 3))
    loadings = pd.DataFrame(rng.normal(size=(6, 2)), index=[f"item {i}" for i in range(6)])
    pairs = pd.DataFrame({"left": list("ab"), "right": list("bc"), "z": [0.5, -2.0]})
    calibration = pd.DataFrame(
        {"lower": [0.0, 0.5], "upper": [0.5, 1.0], "predicted": [0.3, 0.7], "observed": [0.2, 0.8], "count": [90, 40]}
    )
    places = RowFacts.of({"lon": [8.0, 8.5, 9.0], "lat": [47.0, 46.5, 47.2]}, coordinates=("lon", "lat"))
    known = _fake_model_of_rows()
    return [
        partial(plots.plot_components, shares),
        partial(plots.plot_components, shares, shape=(3, 4)),
        partial(plots.plot_weights, shares, ones=np.arange(40)),
        partial(plots.plot_weights, shares),
        partial(plots.plot_denoising, cells, 1 - cells),
        partial(plots.plot_denoising, cells, 1 - cells, shape=(3, 4)),
        partial(plots.plot_objective, small),
        partial(plots.plot_selection, found),
        partial(plots.plot_comparison, comparison),
        partial(plots.plot_suspects, small, cells, top=5),
        partial(plots.plot_check, SimpleNamespace(curves=curves)),
        partial(plots.plot_reliability, calibration),
        partial(plots.plot_member_weights, SimpleNamespace(members_={"one": 1, "two": 2}, member_weights_=[0.3, 0.7])),
        partial(plots.plot_couplings, SimpleNamespace(couplings_=rng.normal(size=(6, 6)))),
        partial(plots.plot_ordination, small),
        partial(plots.plot_stability, [0.9, 0.3]),
        partial(plots.plot_mixing, factors),
        partial(plots.plot_causes, factors, points),
        partial(plots.plot_projections, factors, points),
        partial(plots.plot_sizes, factors),
        partial(plots.plot_source_scales, factors),
        partial(plots.plot_scree, SimpleNamespace(eigenvalues=[3.0, 1.2, 0.4], noise=[1.3, 1.1, 0.9], n_factors=1)),
        partial(plots.plot_loadings, SimpleNamespace(loadings=loadings.to_numpy(), to_frame=lambda: loadings)),
        partial(plots.plot_pair_fit, SimpleNamespace(pairs=pairs, rms_z=1.4)),
        partial(plots.plot_clusters, clusters, points),
        partial(plots.plot_cluster_means, clusters, points),
        partial(plots.plot_source_effects, clusters),
        partial(plots.plot_source_densities, clusters, points),
        partial(plots.plot_strengths, clusters),
        partial(plots.plot_bound, clusters),
        partial(plots.plot_map, places, [3, 1, 2], label="ones"),
        partial(plots.plot_responses, known),
        partial(plots.plot_responses, known, "use"),
        partial(plots.plot_variation, known),
    ]


@pytest.fixture(scope="module")
def drawings() -> list[partial[Figure]]:
    return _drawings()


def test_no_plot_is_left_out(drawings):
    assert {draw.func.__name__ for draw in drawings} == set(plots.__all__)


def test_every_plot_draws_where_it_is_told_to(drawings):
    """Into axes, or into one half of a figure, and nowhere else."""
    whole = Figure(layout="constrained", figsize=(16, 8))
    left, right = whole.subfigures(1, 2)
    for draw in drawings:
        wanted = inspect.signature(draw.func).parameters
        half = left.add_subfigure(left.add_gridspec(1, 1)[0])
        target = {"ax": half.subplots()} if "ax" in wanted else {"figure": half}
        assert draw(**target) is whole, draw.func.__name__
        assert half.axes, draw.func.__name__
        assert not right.axes
        assert render(whole), draw.func.__name__
        left.clear()


def test_no_label_leaves_its_figure(drawings):
    for draw in drawings:
        figure = draw()
        figure.draw_without_rendering()
        box, size = figure.get_tightbbox(), figure.get_size_inches()
        assert np.all(box.min >= -0.02), (draw.func.__name__, box)
        assert np.all(box.max <= size + 0.02), (draw.func.__name__, box)


def test_every_figure_is_labelled_and_vectorial(tmp_path, drawings):
    for number, draw in enumerate(drawings):
        figure, name = draw(), draw.func.__name__
        assert any(ax.get_xlabel() or ax.get_ylabel() or title(ax) or ax.get_title() for ax in figure.axes), name
        for ending in ("pdf", "svg"):
            file = tmp_path / f"{name}_{number}.{ending}"
            figure.savefig(file)
            assert file.stat().st_size > 1000, file


class TestRows:
    FACTS = RowFacts.of({"lon": [8.0, 8.5, 9.0], "lat": [47.0, 46.5, 47.2]}, coordinates=("lon", "lat"))

    def test_a_map_has_a_point_for_each_row_where_it_is(self):
        drawn = plot_map(self.FACTS, [3, 1, 2], label="ones").axes[0]
        points = drawn.collections[0]
        assert points.get_offsets().tolist() == [[8.5, 46.5], [9.0, 47.2], [8.0, 47.0]]
        assert points.get_array().tolist() == [1, 2, 3]
        assert drawn.get_xlabel() == "lon"

    def test_values_for_other_rows_are_refused(self):
        with pytest.raises(ValueError, match="there are 2 values"):
            plot_map(self.FACTS, [1, 2])
        with pytest.raises(ValueError, match="no coordinates"):
            plot_map(RowFacts.of({"a": [1, 2]}), [1, 2])

    def test_responses_and_shares(self):
        table = pd.DataFrame(
            {"covariate": "age", "value": [1.0, 2.0] * 2, "column": ["a", "a", "b", "b"]}
            | {"probability": [0.2, 0.3, 0.1, 0.9], "lower": 0.1, "upper": 0.95}
        )
        shares = pd.DataFrame({"covariates": 0.2, "space": 0.3, "factors": 0.1, "unexplained": 0.4}, index=["a", "b"])
        model = SimpleNamespace(responses=lambda level: table, variation=lambda: shares)
        drawn = plot_responses(model, "age").axes
        assert [ax.get_title(loc="left") for ax in drawn] == ["b", "a"]
        weights = plot_responses(table.rename(columns={"probability": "weight"}).assign(upper=7.0))
        assert weights.axes[0].get_ylim()[1] > 7
        with pytest.raises(ValueError, match='"size" is no covariate'):
            plot_responses(model, "size")
        bars = plot_variation(model).axes[0].patches
        assert sum(bar.get_width() for bar in bars) == pytest.approx(2)
