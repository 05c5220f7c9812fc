"""AspectBernoulli: which component caused a cell, and which cells are suspect."""

import copy
import warnings

import numpy as np
import pandas as pd
import pytest

from latentbits import AspectBernoulli, DataError, simulate
from tests.models.aspect_bernoulli.tools import FRAME, NAMES, NAN, X
from tests.reference import aspect


class TestExplain:
    def test_equals_twin_and_sums_to_1(self, model):
        cells = [(0, 0), (0, 5), (17, 3), (299, 19)]
        table = model.explain(X, cells=cells)
        assert table.columns.tolist() == [
            "row",
            "column",
            "value",
            "component",
            "kind",
            "probability",
            "weight",
            "gives_one",
        ]
        assert len(table) == 4 * 3
        for (i, j), group in zip(cells, np.split(np.arange(12), 4), strict=True):
            part = table.iloc[group]
            assert (part["row"] == i).all()
            assert (part["column"] == j).all()
            assert part["component"].tolist() == [0, 1, 2]
            assert part["kind"].tolist() == model.phantoms_.tolist()
            twin = aspect.cause_posterior(X[i, j], model.weights_[i], model.components_[:, j])
            np.testing.assert_allclose(part["probability"], twin, atol=1e-9)
            assert part["probability"].sum() == pytest.approx(1)

    def test_causes_go_as_weights_times_parts(self, model):
        weights = model._solved(X).cause_weights
        ones, zeros = model._components.H1, model._components.H0
        table = model.explain(X, row=7)
        for j in np.flatnonzero(np.isfinite(X[7])):
            joint = weights[7] * (ones if X[7, j] == 1 else zeros)[:, j]
            part = table.loc[table["column"] == j, "probability"]
            np.testing.assert_allclose(part, joint / joint.sum(), atol=1e-12)

    def test_missing_cells_have_the_weights_of_their_row(self, model):
        i, j = np.argwhere(np.isnan(X))[0]
        table = model.explain(X, cells=[(i, j)])
        assert table["value"].isna().all()
        np.testing.assert_allclose(table["probability"], model.weights_[i])

    def test_a_row_is_all_its_cells(self, model):
        table = model.explain(X, row=7)
        same = model.explain(X, cells=[(7, j) for j in range(20)])
        pd.testing.assert_frame_equal(table, same)
        values = table.drop_duplicates("column")["value"].astype("Float64").to_numpy(float, na_value=NAN)
        np.testing.assert_array_equal(values, X[7])

    def test_names_and_positions_are_the_same_cells(self, named):
        by_name = named.explain(FRAME, cells=[("r7", "c3"), ("r0", "c19")])
        assert by_name["row"].tolist() == ["r7"] * 3 + ["r0"] * 3
        assert by_name["column"].tolist() == ["c3"] * 3 + ["c19"] * 3
        pd.testing.assert_frame_equal(by_name, named.explain(FRAME, cells=[(7, 3), (0, -1)]))
        pd.testing.assert_frame_equal(named.explain(FRAME, row="r7"), named.explain(FRAME, row=7))

    @pytest.mark.parametrize(
        ("what", "message"),
        [
            ({}, "either row= or cells="),
            ({"row": 0, "cells": [(0, 0)]}, "either row= or cells="),
            ({"row": 300}, r"no row at position 300; give a whole number from 0 \(the first\) to 299"),
            ({"row": "r300"}, 'no row is named "r300"'),
            ({"cells": [(0, 20)]}, r"no column at position 20; .* to 19"),
            ({"cells": [(0, "Equus")]}, 'no column is named "Equus"'),
            ({"cells": []}, "cells is empty"),
            ({"row": 1.5}, "no row at position 1.5"),
            ({"cells": [(0, 1.5)]}, "no column at position 1.5"),
            ({"cells": (0, 3)}, r"\(row, column\)"),
            ({"cells": [(0, 1, 2)]}, r"\(row, column\)"),
        ],
    )
    def test_errors_say_what_to_give(self, named, what, message):
        with pytest.raises(DataError, match=message):
            named.explain(FRAME, **what)


class TestSuspects:
    @pytest.mark.parametrize(("kind", "value"), [("absence", 0), ("presence", 1)])
    def test_all_cells_of_the_kind_the_most_suspected_first(self, model, kind, value):
        table = model.suspects(X, kind=kind, top=None)
        assert table.columns.tolist() == ["row", "column", "score", "phantom"]
        assert len(table) == np.sum(value == X)
        assert (X[table["row"], table["column"]] == value).all()
        assert (np.diff(table["score"]) <= 0).all()
        assert table["score"].between(0, 1).all()
        assert not table.duplicated(["row", "column"]).any()
        scores = model.suspicion(X, kind=kind)
        np.testing.assert_array_equal(table["score"], scores[table["row"], table["column"]])

    def test_top_is_the_head_of_the_list(self, model):
        everything = model.suspects(X, top=None)
        assert len(model.suspects(X)) == 100
        pd.testing.assert_frame_equal(model.suspects(X, top=7), everything.head(7))
        assert len(model.suspects(X, top=0)) == 0
        assert len(model.suspects(X, top=10**6)) == len(everything)

    def test_every_restart_has_a_say(self):
        """The score is the mean over restarts: recomputed here from models of one restart each."""
        cells = simulate.aspect_bernoulli(120, 25, 4, random_state=5).X
        model = AspectBernoulli(4, n_init=3, max_iter=60, tol=0, random_state=0)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model.fit(cells)
        each = []
        for run, components in enumerate(model._restart_components):
            alone = copy.deepcopy(model)
            alone._restart_components, alone.restarts_ = [components], model.restarts_.iloc[[run]]
            each.append(alone.suspicion(cells))
        np.testing.assert_allclose(model.suspicion(cells), np.mean(each, axis=0), atol=1e-12)
        assert np.abs(each[0] - each[1]).max() > 0.01, "the restarts differ"

    def test_a_restart_that_got_stuck_has_no_say(self, model):
        lame = copy.deepcopy(model)
        lame.restarts_.loc[len(lame.restarts_)] = [0, 1.04 * model.objective_, 1, True]
        lame._restart_components = [*model._restart_components, model._components._replace(mean=0 * model.components_)]
        np.testing.assert_array_equal(lame.suspicion(X), model.suspicion(X))
        lame.restarts_.loc[len(lame.restarts_) - 1, "objective"] = 1.02 * model.objective_
        assert np.abs(lame.suspicion(X) - model.suspicion(X)).max() > 0.1

    def test_a_row_does_not_depend_on_the_rows_beside_it(self, model):
        blank = np.zeros((1, X.shape[1]))
        alone = model.suspicion(blank)
        np.testing.assert_allclose(model.suspicion(np.vstack([X[:7], blank]))[-1:], alone, atol=1e-12)
        with pytest.warns(UserWarning, match="^1 row has no weight on any kept component; it gets the average"):
            alone = model.denoise(blank, threshold=0.5)
        with pytest.warns(UserWarning, match="row"):
            np.testing.assert_array_equal(model.denoise(np.vstack([X[:7], blank]), threshold=0.5)[-1:], alone)

    @pytest.mark.parametrize("bad", [-1, 1.5, "all"])
    def test_impossible_top_is_refused(self, model, bad):
        with pytest.raises(DataError, match="top"):
            model.suspects(X, top=bad)

    def test_phantom_column_is_the_posterior_of_the_phantom(self, model):
        table = model.suspects(X, top=20)
        white = model.phantoms_ == "white"
        for line in table.itertuples():
            q = aspect.cause_posterior(0, model.weights_[line.row], model.components_[:, line.column])
            assert line.phantom == pytest.approx(np.array(q)[white].sum(), abs=1e-9)

    def test_without_phantoms_of_the_kind_the_posterior_is_0(self, model):
        assert "black" not in model.phantoms_
        assert (model.suspects(X, kind="presence")["phantom"] == 0).all()

    def test_one_restart_scores_by_the_content_and_three_cells_of_the_average(self):
        one = AspectBernoulli(3, n_init=1, random_state=0).fit(X)
        content = (one.phantoms_ == "content").astype(float)
        for kind, value in (("absence", 0), ("presence", 1)):
            cells = np.isfinite(X).sum(axis=1, keepdims=True) * one.weights_ * content
            average = one._components.share * content
            mixture = cells + 3 * average / average.sum()
            P = mixture / mixture.sum(axis=1, keepdims=True) @ one.components_
            expected = np.where(value == X, P if value == 0 else 1 - P, 0)
            np.testing.assert_allclose(one.suspicion(X, kind=kind), expected, atol=1e-9)
        np.testing.assert_allclose(one._components.share, one.weights_.mean(axis=0), atol=0.02)

    def test_ratings_say_what_the_content_is(self, model):
        """Recomputed from the weights of the best run; only the proportion of the ratings counts."""
        for ratings in ([1, 0.4, 0], [0, 0, 1]):
            cells = np.isfinite(X).sum(axis=1, keepdims=True) * model.weights_ * ratings
            average = model.shares_ * ratings
            mixture = cells + 3 * average / average.sum()
            P = mixture / mixture.sum(axis=1, keepdims=True) @ model.components_
            for kind, value in (("absence", 0), ("presence", 1)):
                expected = np.where(value == X, P if value == 0 else 1 - P, 0)
                score = model.suspicion(X, kind=kind, ratings=ratings)
                np.testing.assert_allclose(score, expected, atol=1e-9)
                table = model.suspects(X, kind=kind, ratings=ratings, top=30)
                np.testing.assert_array_equal(table["score"], np.sort(score.ravel())[::-1][:30])
        half = model.suspicion(X, ratings=[0.5, 0.2, 0])
        np.testing.assert_allclose(half, model.suspicion(X, ratings=[1, 0.4, 0]), atol=1e-12)

    @pytest.mark.parametrize("bad", [[1, 1], [0, 0, 0], [1, NAN, 1], np.ones((len(X), 3))])
    def test_impossible_ratings_are_refused(self, model, bad):
        with pytest.raises(DataError, match="ratings must be 3 numbers from 0 to 1"):
            model.suspicion(X, ratings=bad)

    def test_swapping_0_and_1_swaps_absence_and_presence(self):
        """Planted black noise is found among the ones, as white noise is among the zeros."""
        truth = simulate.aspect_bernoulli(400, 30, 3, sharpness=0.1, concentration=0.2, random_state=3)
        noisy, changed, _ = simulate.corrode(truth.X, 0.5, random_state=0)
        for data, kind in ((noisy, "absence"), (1 - noisy, "presence")):
            model = AspectBernoulli(4, n_init=4, random_state=0).fit(data)
            worst = model.suspects(data, kind=kind, top=100)
            assert changed[worst["row"], worst["column"]].mean() > 0.75  # of all zeros, 0.22 are false

    def test_names_come_back(self, named):
        table = named.suspects(FRAME, top=5)
        assert table["row"].str.startswith("r").all()
        assert table["column"].isin(NAMES).all()

    def test_unknown_kind_is_refused(self, model):
        with pytest.raises(DataError, match='use "absence" or "presence"'):
            model.suspects(X, kind="false")
