"""What AspectBernoulli says about data, piece by piece."""

import copy
import signal
import threading
import time
import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import ConvergenceWarning

from latentbits import AspectBernoulli, BinaryData, DataError, simulate
from latentbits.fitting.workers import Workers
from latentbits.models.aspect.aspect_bernoulli import MaximumLikelihood, State
from latentbits.models.aspect.weighting import reweight
from tests.reference import aspect

NAN = np.nan
TRUTH = simulate.aspect_bernoulli(300, 20, 3, white_phantom=True, sharpness=0.2, missing=0.05, random_state=0)
X = TRUTH.X
NAMES = [f"c{j}" for j in range(20)]
FRAME = pd.DataFrame(X, index=[f"r{i}" for i in range(300)], columns=NAMES)


@pytest.fixture(scope="module")
def model():
    return AspectBernoulli(3, n_init=3, random_state=0).fit(X)


@pytest.fixture(scope="module")
def named():
    return AspectBernoulli(3, n_init=3, random_state=0).fit(FRAME)


class TestLearner:
    def learner(self, weight):
        return MaximumLikelihood(BinaryData.of(X[:20]), weight, 3, Workers())

    def test_step_equals_twin(self):
        rng = np.random.default_rng(0)
        weight = rng.choice([0.0, 1.0, 2.5], 20)
        state = State(rng.dirichlet(np.ones(3), 20), rng.uniform(0.01, 0.99, (3, 20)))
        new, objective = self.learner(weight).step(state)
        W, H, expected = aspect.em_step(X[:20], *state, weight)
        np.testing.assert_allclose(new.W, W, atol=1e-6)
        np.testing.assert_allclose(new.H, H, atol=1e-6)
        assert objective == pytest.approx(expected, rel=1e-6)

    def test_starts_depend_on_the_seed_alone_and_are_inside_the_bounds(self):
        learner = self.learner(np.ones(20))
        a, b, c = (learner.initialise(np.random.default_rng(seed)) for seed in (0, 0, 1))
        np.testing.assert_array_equal(a.H, b.H)
        assert (a.H != c.H).all()
        assert ((a.H > 0) & (a.H < 1)).all()
        np.testing.assert_allclose(a.W, 1 / 3)

    def test_projection_leads_back_and_leaves_what_is_allowed(self):
        learner = self.learner(np.ones(20))
        outside = np.array([[1.4, -0.4, 0.0], [0.2, 0.3, 0.5]]), np.array([[-0.2, 0.4, 1.7]])
        out = learner.project(State(*outside))
        np.testing.assert_allclose(out.W.sum(axis=1), 1)
        assert (out.W > 0).all()
        np.testing.assert_allclose(out.W[1], [0.2, 0.3, 0.5])
        np.testing.assert_allclose(out.H, [[0, 0.4, 1]], atol=1e-9)
        assert ((out.H > 0) & (out.H < 1)).all()


class TestLikelihood:
    def test_equals_enumeration_of_all_causes(self):
        tiny = np.array([[1, 0, 1, 1], [0, 0, 1, NAN], [1, 1, 0, 0], [0, 1, 1, 1], [0, 0, 0, 1]])
        model = AspectBernoulli(2, n_init=2, random_state=0).fit(tiny)
        enumerated = [
            aspect.log_likelihood_by_enumeration(x, w, model.components_)
            for x, w in zip(tiny, model.weights_, strict=True)
        ]
        assert model.log_likelihood(tiny) == pytest.approx(sum(enumerated), abs=1e-5)
        assert model.objective_ == pytest.approx(sum(enumerated), abs=1e-3)

    def test_is_that_of_the_fit_or_a_little_higher(self, model):
        rise = model.log_likelihood(X) - model.objective_
        assert -1e-3 < rise < 1

    def test_transform_maximises_each_row(self, model):
        H = model.components_
        for x, w in zip(X[:20], model.weights_, strict=False):
            best = aspect.row_log_likelihood(x, aspect.fold_in(x, H, 1 - H), H, 1 - H)
            assert aspect.row_log_likelihood(x, w, H, 1 - H) >= best - 1e-5

    def test_aic_and_bic_count_weights_and_components(self, model):
        fit, n = -2 * model.log_likelihood(X), 20 * 3 + 2 * 300
        assert model.aic(X) == pytest.approx(2 * n + fit)
        assert model.bic(X) == pytest.approx(np.log(np.sum(~np.isnan(X))) * n + fit)
        assert model.aic(X[:50]) == pytest.approx(2 * (60 + 100) - 2 * model.log_likelihood(X[:50]))

    def test_rows_like_the_training_rows_score_higher(self, model):
        strange = np.where(np.isnan(X), NAN, 1 - X)
        assert model.score(X) > model.score(strange) + 1
        assert model.score(X) == pytest.approx(model.score_samples(X).mean())

    def test_score_asks_the_training_rows_not_the_best_weights(self, model):
        assert model.score(X) * len(X) < model.log_likelihood(X) - 10


class TestReconstruct:
    def test_default_is_weights_times_components(self, model):
        np.testing.assert_allclose(model.reconstruct(X), model.weights_ @ model.components_)
        np.testing.assert_array_equal(model.reconstruct(X), model.inverse_transform(model.weights_))

    def test_reweighting_by_hand(self):
        W = np.array([[0.5, 0.3, 0.2], [0.0, 0.0, 1.0], [0.0, 1.0, 0.0]])
        kept, lost = reweight(W, np.array([1.0, 0.5, 0.0]), share=np.array([0.2, 0.6, 0.2]))
        np.testing.assert_allclose(kept[0], [0.5 / 0.65, 0.15 / 0.65, 0])
        np.testing.assert_allclose(kept[2], [0, 1, 0])
        # Nothing is left of row 1: it gets the kept part of the training rows' average.
        np.testing.assert_allclose(kept[1], [0.2 / 0.5, 0.3 / 0.5, 0])
        np.testing.assert_array_equal(lost, [False, True, False])
        np.testing.assert_array_equal(W[1], [0, 0, 1])

    def test_reweighting_when_no_training_row_has_any_kept_weight(self):
        kept, lost = reweight(np.array([[0.0, 0.0, 1.0]]), np.array([1.0, 1.0, 0.0]), share=np.array([0.0, 0.0, 1.0]))
        np.testing.assert_allclose(kept, [[0.5, 0.5, 0]])
        assert lost.all()

    @pytest.mark.parametrize("scale", [1.0, 1e-3, 1e-13])
    def test_only_the_proportion_of_ratings_counts(self, scale):
        kept, lost = reweight(np.array([[0.5, 0.3, 0.2]]), scale * np.array([1.0, 0.5, 0.0]), np.full(3, 1 / 3))
        np.testing.assert_allclose(kept, [[0.5 / 0.65, 0.15 / 0.65, 0]])
        assert not lost.any()

    @pytest.mark.filterwarnings("ignore:.*rows have no weight")
    def test_ratings_for_each_component_or_each_row(self, model):
        r = np.array([1.0, 0.5, 0.0])
        W = model.weights_ * r
        some = W.sum(axis=1) > 1e-6
        expected = W[some] / W[some].sum(axis=1, keepdims=True) @ model.components_
        got = model.reconstruct(X, ratings=r)
        np.testing.assert_allclose(got[some], expected, rtol=1e-9)
        np.testing.assert_allclose(model.reconstruct(X, ratings=np.tile(r, (300, 1))), got)

    def test_all_rated_1_is_the_plain_reconstruction(self, model):
        np.testing.assert_allclose(model.reconstruct(X, ratings=[1, 1, 1]), model.reconstruct(X))

    def test_rows_without_kept_weight_are_counted_in_a_warning(self, model):
        k = int(np.flatnonzero(model.phantoms_ == "white")[0])
        ratings = np.ones(3)
        ratings[k] = 0
        n_lost = int((model.weights_ @ ratings <= 1e-12).sum())
        assert n_lost > 0
        with pytest.warns(UserWarning, match=f"^{n_lost} rows have no weight on any kept component"):
            P = model.reconstruct(X, ratings=ratings)
        assert np.isfinite(P).all()

    @pytest.mark.parametrize("bad", [[1, 1], [0, 0, 0], [1, 2, 1], [1, -0.1, 1], [1, NAN, 1], np.ones((3, 3))])
    def test_impossible_ratings_are_refused(self, model, bad):
        with pytest.raises(DataError, match="ratings must be 3 numbers from 0 to 1"):
            model.reconstruct(X, ratings=bad)

    @pytest.mark.parametrize("bad", [np.ones((4, 2)), np.ones(3), np.ones((2, 2, 3))])
    def test_inverse_transform_refuses_weights_of_another_shape(self, model, bad):
        with pytest.raises(DataError, match=r"n_rows x 3"):
            model.inverse_transform(bad)

    def test_inverse_transform_gives_no_nan(self, model):
        with pytest.raises(ValueError, match=r"NaN|finite|missing"):
            model.inverse_transform([[NAN, 0.5, 0.5]])


@pytest.mark.filterwarnings("ignore:.*rows have no weight")
class TestDenoise:
    def test_is_the_reconstruction_without_phantoms_cut_at_the_threshold(self, model):
        P = model.reconstruct(X, ratings=(model.phantoms_ == "content").astype(float))
        for threshold in (0.3, 0.5):
            cells = model.denoise(X, threshold=threshold, change="both")
            np.testing.assert_array_equal(cells, np.greater_equal(P, threshold))
            assert cells.dtype == np.int8
        assert (model.denoise(X) != (model.reconstruct(X) >= 0.5)).any(), "the phantom matters"

    def test_only_what_the_phantoms_can_have_falsified_changes(self, model):
        both = model.denoise(X, change="both")
        fewer = model.denoise(X, change="absence")
        assert (both[X == 1] == 0).any(), "the reconstruction would take ones away"
        assert (fewer[X == 1] == 1).all()
        np.testing.assert_array_equal(fewer[X != 1], both[X != 1])
        assert (model.denoise(X, change="presence")[X == 0] == 0).all()
        np.testing.assert_array_equal(model.denoise(X), fewer)  # its phantom is white

    def test_without_a_phantom_nothing_observed_changes(self):
        cells = simulate.aspect_bernoulli(100, 20, 3, missing=0.1, random_state=1).X
        model = AspectBernoulli(3, n_init=2, random_state=0).fit(cells)
        assert (model.phantoms_ == "content").all()
        with pytest.warns(UserWarning, match="no phantom was found"):
            answer = model.denoise(cells)
        seen = ~np.isnan(cells)
        np.testing.assert_array_equal(answer[seen], cells[seen])
        assert set(np.unique(answer)) == {0, 1}
        with pytest.warns(UserWarning, match="no phantom was found"):
            rated = model.denoise(cells, ratings=[1, 0, 0])
        np.testing.assert_array_equal(rated[seen], cells[seen])
        assert (model.denoise(cells, ratings=[1, 0, 0], change="both")[seen] != cells[seen]).any()

    def test_unknown_change_is_refused(self, model):
        with pytest.raises(DataError, match=r'change=.all. is unknown; use "auto"'):
            model.denoise(X, change="all")

    def test_ratings_replace_the_default(self, model):
        np.testing.assert_array_equal(model.denoise(X, ratings=[1, 1, 1], change="both"), model.reconstruct(X) >= 0.5)

    def test_missing_cells_are_filled(self, model):
        assert np.isnan(X).any()
        assert set(np.unique(model.denoise(X))) == {0, 1}

    def test_frame_in_frame_out(self, named, model):
        out = named.denoise(FRAME)
        assert out.index.equals(FRAME.index)
        assert out.columns.equals(FRAME.columns)
        np.testing.assert_array_equal(out, model.denoise(X))


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
        weights, ones, zeros = model.cause_parts(X)
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
            ({"row": 300}, r"row 300 is outside 0 .. 299"),
            ({"row": "r300"}, 'no row is named "r300"'),
            ({"cells": [(0, 20)]}, r"column 20 is outside 0 .. 19"),
            ({"cells": [(0, "Equus")]}, 'no column is named "Equus"'),
            ({"cells": []}, "cells is empty"),
            ({"row": 1.5}, "row 1.5"),
            ({"cells": [(0, 1.5)]}, "column 1.5"),
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
        with pytest.warns(UserWarning, match="rows have no weight"):
            alone = model.denoise(blank)
        with pytest.warns(UserWarning, match="rows have no weight"):
            np.testing.assert_array_equal(model.denoise(np.vstack([X[:7], blank]))[-1:], alone)

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


class TestSample:
    def test_moments_are_those_of_the_model(self, model):
        n = 20_000
        cells = model.sample(n, random_state=0)
        P = model.weights_ @ model.components_
        assert cells.shape == (n, 20)
        assert cells.dtype == np.int8
        share = P.mean(axis=0)
        error = np.sqrt(share * (1 - share) / n)
        assert (np.abs(cells.mean(axis=0) - share) < 5 * error).all()
        both = P.T @ P / len(P)  # columns are independent only given the row's weights
        off = ~np.eye(20, dtype=bool)
        found = cells.T.astype(float) @ cells / n
        assert (np.abs(found - both)[off] < 5 * np.sqrt(both * (1 - both) / n)[off]).all()
        assert (np.abs(np.outer(share, share) - both)[off] > 5 * np.sqrt(both * (1 - both) / n)[off]).any()

    def test_row_weights_are_followed(self):
        data = np.repeat([[1, 1, 0, 0], [0, 0, 1, 1]], 10, axis=0)
        weight = np.repeat([3.0, 1.0], 10)
        model = AspectBernoulli(2, n_init=2, random_state=0).fit(data, sample_weight=weight)
        assert model.sample(4000, random_state=0)[:, 0].mean() == pytest.approx(0.75, abs=5 * 0.007)

    def test_seeds(self, model):
        a, b, c = (model.sample(50, random_state=seed) for seed in (1, 1, 2))
        np.testing.assert_array_equal(a, b)
        assert (a != c).any()
        assert model.sample(random_state=0).shape == (1, 20)


class TestParameters:
    @pytest.mark.parametrize(
        ("parameters", "message"),
        [
            ({"n_components": 0}, "n_components=0 must be a whole number of at least 1"),
            ({"n_components": 2.0}, "n_components=2.0 must be a whole number of at least 1"),
            ({"n_components": None}, "n_components=None must be"),
            ({"n_components": True}, "n_components=True must be"),
            ({"n_init": 0}, "n_init=0 must be"),
            ({"max_iter": 0}, "max_iter=0 must be"),
            ({"tol": -1e-3}, "tol=-0.001 must be"),
            ({"tol": NAN}, "tol=nan must be"),
            ({"tol": None}, "tol=None must be"),
            ({"tol": "small"}, "tol='small' must be"),
            ({"phantom_threshold": 1.0}, "phantom_threshold=1.0 must be"),
            ({"phantom_threshold": -0.1}, "phantom_threshold=-0.1 must be"),
            ({"phantom_threshold": None}, "phantom_threshold=None must be"),
            ({"binarize": "half"}, "binarize='half' is not a finite number"),
            ({"random_state": "seed"}, "random_state is 'seed'"),
            ({"n_jobs": 0}, "n_jobs"),
        ],
    )
    def test_one_sentence_for_each_mistake(self, parameters, message):
        with pytest.raises(ValueError, match=message) as error:
            AspectBernoulli(**{"n_components": 2, "n_init": 1, **parameters}).fit(X)
        assert "\n" not in str(error.value)

    def test_other_values_are_refused_unless_binarised(self):
        counts = np.where(X == 1, 3, 0)
        with pytest.raises(DataError, match=r"value 3 is neither 0 nor 1.*use binarize=1"):
            AspectBernoulli(2).fit(counts)
        same = AspectBernoulli(2, n_init=1, random_state=0).fit(counts > 0)
        found = AspectBernoulli(2, n_init=1, random_state=0, binarize=1).fit(counts)
        np.testing.assert_array_equal(found.components_, same.components_)

    def test_converging_gives_no_warning_and_running_out_does(self):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            assert AspectBernoulli(2, n_init=1, random_state=0).fit(X).converged_
        with pytest.warns(ConvergenceWarning, match=r"all max_iter=3 passes without converging"):
            assert not AspectBernoulli(2, n_init=1, max_iter=3, random_state=0).fit(X).converged_

    def test_a_progress_bar_only_when_verbose(self, capfd):
        AspectBernoulli(2, n_init=2, random_state=0).fit(X)
        assert capfd.readouterr() == ("", "")
        AspectBernoulli(2, n_init=2, random_state=0, verbose=1).fit(X)
        out, err = capfd.readouterr()
        assert out == ""
        assert "2/2" in err


def test_ctrl_c_leaves_a_fitted_model_and_true_warnings():
    model = AspectBernoulli(10, n_init=4, max_iter=10_000, tol=0, random_state=0)
    data = np.random.default_rng(0).integers(0, 2, (500, 100), dtype=np.int8)
    timer = threading.Timer(0.3, signal.pthread_kill, (threading.main_thread().ident, signal.SIGINT))
    timer.start()
    start = time.monotonic()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model.fit(data)
    timer.join()
    assert time.monotonic() - start < 30
    messages = [str(w.message) for w in caught]
    assert any(message.startswith("interrupted") for message in messages)
    assert not any("made all max_iter" in message for message in messages), "it did not make them all"
    assert not model.converged_
    assert np.isfinite(model.transform(data)).all()
