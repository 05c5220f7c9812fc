"""Contracts of every estimator: the object, its output, seeds and answers."""

import pickle
from functools import partial

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import Binarizer

from latentbits import BinaryData
from latentbits.metrics import match_components
from tests.contracts.assertions import assert_same_fit
from tests.reference.assertions import assert_nondecreasing

FLOAT32 = 1e-7  # rounding of the objective, per cell: the pass works in float32, whose unit is 6e-8


class TestObject:
    @pytest.mark.needs("components")
    def test_parameters_round_trip_and_clone(self, contract):
        model = contract.make(n_components=4, tol=1e-3)
        assert model.get_params()["n_components"] == 4
        copy = clone(model.set_params(n_components=2))
        assert copy is not model
        assert copy.get_params() == model.get_params()
        assert copy.n_components == 2

    def test_clone_of_a_fitted_model_is_not_fitted(self, contract, truth):
        copy = clone(contract.make().fit(truth.X))
        assert not [name for name in vars(copy) if name.endswith("_")]

    def test_fit_returns_the_model_and_changes_no_parameter(self, contract, truth):
        model = contract.make()
        before = model.get_params()
        assert model.fit(truth.X) is model
        assert model.get_params() == before

    def test_pickle_keeps_every_answer(self, contract, truth):
        model = contract.make().fit(truth.X)
        copy = pickle.loads(pickle.dumps(model))
        assert_same_fit(model, copy)
        np.testing.assert_array_equal(contract.answer(model, truth.X), contract.answer(copy, truth.X))
        assert model.score(truth.X) == copy.score(truth.X)

    def test_refitting_forgets(self, contract, truth):
        frame = pd.DataFrame(contract.simulate(30, 5).X[:, :20]).add_prefix("c")
        model = contract.make().fit(frame).fit(truth.X)
        assert_same_fit(model, contract.make().fit(truth.X))
        assert not hasattr(model, "feature_names_in_")
        assert model.n_features_in_ == 40

    def test_refitting_forgets_binary_data_too(self, contract, truth):
        named = BinaryData.of(truth.X[:, :5], column_names=list("abcde"))
        model = contract.make().fit(named).fit(BinaryData.of(truth.X))
        assert_same_fit(model, contract.make().fit(truth.X))
        assert not hasattr(model, "feature_names_in_")

    @pytest.mark.parametrize("form", [np.array, sp.csr_array, sp.csc_array, pd.DataFrame])
    def test_input_is_never_changed(self, contract, with_gaps, form):
        X = form(with_gaps)
        before = X.copy()
        contract.answer(contract.make().fit(X), X)
        dense, old = (a.toarray() if sp.issparse(a) else np.asarray(a) for a in (X, before))
        np.testing.assert_array_equal(dense, old)

    def test_int8_input_is_never_changed(self, contract, truth):
        X = truth.X.copy()
        model = contract.make().fit(X)
        model.score(X), contract.answer(model, X)
        np.testing.assert_array_equal(X, truth.X)

    def test_answers_need_a_fitted_model(self, contract, truth):
        names = ("transform", "reconstruct", "score", "score_samples", "inverse_transform", "aic", "bic")
        for name in [name for name in names if hasattr(contract.make(), name)]:
            for X in (truth.X, BinaryData.of(truth.X)):
                with pytest.raises(NotFittedError):
                    getattr(contract.make(), name)(X)


class TestOutput:
    def test_names_of_columns_in_and_out(self, contract, truth):
        frame = pd.DataFrame(truth.X).add_prefix("c")
        model = contract.make().fit(frame)
        assert model.feature_names_in_.tolist() == frame.columns.tolist()
        if "coordinates" not in contract.abilities:
            assert not hasattr(model, "get_feature_names_out")
            return
        stem = type(model).__name__.lower()
        assert model.get_feature_names_out().tolist() == [f"{stem}{k}" for k in range(len(model.components_))]

    @pytest.mark.needs("coordinates")
    def test_pandas_out(self, contract, truth):
        frame = pd.DataFrame(truth.X, index=[f"r{i}" for i in range(60)]).add_prefix("c")
        model = contract.make().set_output(transform="pandas")
        for table in (model.fit_transform(frame), model.transform(frame)):
            assert isinstance(table, pd.DataFrame)
            assert table.columns.tolist() == model.get_feature_names_out().tolist()
            assert table.index.tolist() == frame.index.tolist()
            np.testing.assert_array_equal(table, model.weights_)

    @pytest.mark.needs("phantoms")
    @pytest.mark.filterwarnings("ignore:.*no weight on any kept component")
    def test_every_answer_works_with_pandas_out(self, contract, truth):
        plain, model = contract.make().fit(truth.X), contract.make().fit(truth.X)
        model.set_output(transform="pandas")
        for name in ("reconstruct", "denoise", "score_samples", "aic", "bic"):
            np.testing.assert_array_equal(getattr(model, name)(truth.X), getattr(plain, name)(truth.X))
        ratings = np.linspace(1, 0, len(model.components_))
        rated = model.reconstruct(truth.X, ratings=ratings)
        np.testing.assert_array_equal(rated, plain.reconstruct(truth.X, ratings=ratings))

    @pytest.mark.needs("components")
    def test_in_a_pipeline(self, contract):
        truth = contract.simulate(200, 3)
        y = truth.weights.argmax(axis=1)
        line = make_pipeline(Binarizer(threshold=0.5), contract.make(), LogisticRegression())
        assert line.fit(truth.X, y).score(truth.X, y) > 0.9
        n_noise = 2 if contract.variant.get("noise") == "both" else 0
        assert line[:-1].get_feature_names_out().shape == (3 + n_noise,)


class TestSeeds:
    @pytest.mark.needs("restarts")
    def test_same_seed_same_answer_on_any_number_of_jobs(self, contract, with_gaps):
        models = [contract.make(n_init=4, n_jobs=n_jobs).fit(with_gaps) for n_jobs in (None, 1, 2, -1, 7)]
        for other in models[1:]:
            assert_same_fit(models[0], other)
            np.testing.assert_array_equal(models[0].transform(with_gaps), other.transform(with_gaps))

    @pytest.mark.needs("restarts")
    def test_another_seed_is_another_start(self, contract, truth):
        a, b = (contract.make(random_state=seed).fit(truth.X) for seed in (0, 1))
        assert a.objective_history_[0] != b.objective_history_[0]

    @pytest.mark.needs("restarts")
    def test_more_restarts_are_never_worse(self, contract):
        X = np.random.default_rng(0).integers(0, 2, (30, 12))  # no structure: many optima
        models = [contract.make(n_init=n).fit(X) for n in (1, 2, 5, 9)]
        objectives = [model.objective_ for model in models]
        assert objectives == sorted(objectives)
        assert models[-1].restarts_["objective"].nunique() > 1, "the starts matter"
        for model in models[:-1]:
            n = len(model.restarts_)
            pd.testing.assert_frame_equal(model.restarts_, models[-1].restarts_[:n])

    @pytest.mark.needs("climb")
    def test_best_restart_is_the_one_kept(self, contract, truth):
        model = contract.make(n_init=5).fit(truth.X)
        best = model.restarts_.loc[model.restarts_["objective"].idxmax()]
        assert model.objective_ == best["objective"] == model.objective_history_[-1]
        assert model.n_iter_ == best["n_iter"] == len(model.objective_history_)
        assert model.converged_ == best["converged"]
        assert model.restarts_["seed"].is_unique

    def test_answers_and_scores_are_deterministic(self, contract, with_gaps):
        model = contract.make().fit(with_gaps)
        for method in (partial(contract.answer, model), model.score_samples, model.score):
            np.testing.assert_array_equal(method(with_gaps), method(with_gaps))


class TestAnswers:
    @pytest.mark.needs("closed form")
    @pytest.mark.needs("fractional weights")
    def test_one_component_has_a_closed_form(self, contract, with_gaps):
        weight = np.random.default_rng(2).uniform(0.1, 3, 60)
        model = contract.make(n_components=1).fit(with_gaps, sample_weight=weight)
        component, objective = contract.one_component(weight @ (with_gaps == 1), weight @ (with_gaps == 0))
        np.testing.assert_allclose(model.components_[0], component, atol=1e-6)
        np.testing.assert_array_equal(model.weights_, 1)
        assert model.objective_ == pytest.approx(objective, rel=1e-5)

    @pytest.mark.needs("coordinates")
    def test_transform_of_the_training_rows_is_the_fitted_weights(self, contract, with_gaps):
        model = contract.make().fit(with_gaps)
        np.testing.assert_array_equal(model.transform(with_gaps), model.weights_)
        np.testing.assert_array_equal(contract.make().fit_transform(with_gaps), model.weights_)

    @pytest.mark.needs("simplex")
    def test_rows_of_weights_are_on_the_simplex_and_components_are_probabilities(self, contract, with_gaps):
        model = contract.make().fit(with_gaps)
        assert (model.weights_ >= 0).all()
        np.testing.assert_allclose(model.weights_.sum(axis=1), 1)
        assert ((model.components_ >= 0) & (model.components_ <= 1)).all()

    @pytest.mark.needs("components")
    @pytest.mark.needs("simplex")
    def test_components_come_in_the_order_of_their_share(self, contract):
        model = contract.make(n_components=4).fit(contract.simulate(300, 4).X)
        share = model.weights_.sum(axis=0)
        # The climb's own weights decide, and these are as good as its tolerance.
        assert (np.diff(share) <= 0.02 * share.sum()).all()

    @pytest.mark.needs("fractional weights")
    @pytest.mark.needs("likelihood")
    def test_scores_equal_the_twin(self, contract):
        X = np.array([[1, 0, 1, np.nan], [0, 0, 1, 1], [1, 1, 0, 1], [0, 1, 0, np.nan], [np.nan] * 4])
        new = np.array([[1, 1, 1, 1], [0, 0, 0, np.nan], [np.nan] * 4, [0, 1, 1, 0]])
        model = contract.make_with(n_components=2).fit(X, sample_weight=[1, 2, 0.5, 1, 1])
        expected = contract.score_samples(model, new)
        np.testing.assert_allclose(model.score_samples(new), expected, rtol=1e-9, atol=1e-12)
        assert model.score(new) == pytest.approx(expected.mean())

    @pytest.mark.needs("climb")
    def test_objective_never_falls(self, contract, with_gaps):
        model = contract.make(n_init=5).fit(with_gaps)
        assert len(model.restart_histories_) == 5
        for history in [model.objective_history_, *model.restart_histories_]:
            assert_nondecreasing(history, slack=FLOAT32 * with_gaps.size)
            assert history[-1] > history[0] + 10

    @pytest.mark.needs("truth")
    def test_simulated_truth_comes_back(self, contract):
        truth = contract.simulate(1500, 1)
        model = contract.make(n_init=5).fit(truth.X)
        match = match_components(truth.components, model.components_)
        assert match.similarity.min() > 0.97
        found = model.weights_[:, match.order]
        # A weight is known from the 40 cells of its row: a standard error of up to 0.5 / sqrt(40).
        assert np.abs(found - truth.weights).mean() < 0.08
        # A prior on the weights draws reconstructions towards the middle.
        limit = 0.06 if getattr(model, "inference", "") in ("vb", "gibbs") else 0.05
        assert np.abs(model.reconstruct(truth.X) - truth.probabilities).mean() < limit

    @pytest.mark.needs("runs out")
    def test_running_out_is_warned_about(self, contract, truth):
        with pytest.warns(ConvergenceWarning, match="max_iter"):
            model = contract.make(max_iter=2, tol=0).fit(truth.X)
        assert not model.converged_
        assert "restarts" not in contract.abilities or not model.restarts_["converged"].any()

    def test_a_fit_prints_nothing(self, contract, truth, capfd):
        contract.make_with(n_jobs=2).fit(truth.X)
        assert capfd.readouterr() == ("", "")
