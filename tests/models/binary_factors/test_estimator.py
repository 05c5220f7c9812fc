"""BinaryFactorAnalysis: what it recovers and says about data."""

import numpy as np
import pandas as pd
import pytest

from latentbits.fitting.climb import Monitor
from latentbits.fitting.workers import Workers
from latentbits.models.binary_factors import byy, vb
from latentbits.models.binary_factors.binary_model import Parameters, Prior
from latentbits.models.binary_factors.estimator import BinaryFactorAnalysis
from latentbits.models.binary_factors.runs import Found
from latentbits.numerics import match_components
from latentbits.simulate.mixed_sources import binary_factors
from tests.models.binary_factors.tools import TRUTH, each_inference, fitted, standardised
from tests.reference import binary_factors as twin
from tests.reference.assertions import assert_nondecreasing


class TestRecovery:
    def test_factors_noise_and_codes_up_to_sign_and_order(self, model):
        assert model.n_components_ == 3
        # Both signs of every true factor are candidates, so the match also tells the sign.
        signed = np.vstack([TRUTH.mixing.T, -TRUTH.mixing.T])
        order, similarity = match_components(model.mixing_.T, signed, metric="cosine")
        assert sorted(order % 3) == [0, 1, 2]
        assert (similarity > 0.99).all()
        np.testing.assert_allclose(model.mixing_.T, signed[order], atol=0.1)
        np.testing.assert_allclose(model.noise_precision_**-0.5, 0.25, rtol=0.2)
        assert np.mean(1 / model.noise_precision_) ** 0.5 == pytest.approx(0.25, rel=0.05)
        codes = np.hstack([TRUTH.codes, -TRUTH.codes])[:, order]
        assert (model.transform(TRUTH.X) == codes).mean() > 0.995
        np.testing.assert_allclose(model.factor_probabilities_, (codes == 1).mean(axis=0), atol=0.03)

    @pytest.mark.parametrize("encoder", ["round", "cdual"])
    def test_selection_finds_three_of_five_in_most_data_sets(self, encoder):
        found = [
            BinaryFactorAnalysis(5, inference="byy", encoder=encoder, random_state=0)
            .fit(binary_factors(200, 10, 3, 0.25, random_state=seed).X)
            .n_components_
            for seed in range(10)
        ]
        assert found.count(3) >= 9

    def test_uneven_and_shifted_causes(self):
        truth = binary_factors(400, 8, 3, 0.3, probabilities=[0.2, 0.5, 0.8], mean=100.0, random_state=1)
        model = BinaryFactorAnalysis(5, random_state=0).fit(truth.X)
        assert model.n_components_ == 3
        np.testing.assert_allclose(model.intercepts_, 100, atol=0.15)
        rare = np.sort(np.minimum(model.factor_probabilities_, 1 - model.factor_probabilities_))
        np.testing.assert_allclose(rare, [0.2, 0.2, 0.5], atol=0.06)

    def test_bic_picks_the_true_number(self):
        bic = [
            BinaryFactorAnalysis(m, inference="em", n_init=3, random_state=0).fit(TRUTH.X).bic(TRUTH.X)
            for m in (1, 2, 3, 4)
        ]
        assert np.argmin(bic) == 2

    def test_gradient_update_ends_near_the_closed_one(self):
        closed, flow = fitted("byy"), fitted("byy", update="gradient")
        assert flow.n_components_ == 3
        np.testing.assert_allclose(flow.mixing_, closed.mixing_, atol=0.01)
        assert flow.objective_ == pytest.approx(closed.objective_, abs=1.0)


class TestPath:
    def test_it_takes_the_smallest_bic_of_the_sizes_it_visits(self):
        model = fitted("auto")
        assert model.sizes_["n_components"].tolist() == [0, 1, 2, 3, 4, 5]
        assert model.n_components_ == model.sizes_["bic"].argmin() == 3
        assert model.bic(TRUTH.X) == pytest.approx(model.sizes_["bic"].min(), rel=1e-9)
        assert model.objective_ == pytest.approx(-model.sizes_["bic"].min() / 2, rel=1e-9)
        assert_nondecreasing(model.sizes_["log_likelihood"], slack=1.0)
        for history in model.restart_histories_:
            assert_nondecreasing(history)
        assert model.discards_["reason"].tolist() == ["bic", "bic"]
        assert fitted("byy").sizes_.empty

    def test_it_is_right_where_the_starts_of_em_and_the_discards_of_byy_fail(self):
        few_rows = [binary_factors(30, 10, 3, 0.01, random_state=seed).X for seed in range(6)]
        weak = [binary_factors(200, 10, 3, 0.8, random_state=seed).X for seed in range(4)]
        found = [BinaryFactorAnalysis(random_state=0).fit(X).n_components_ for X in (*few_rows, *weak)]
        assert found.count(3) >= 9
        strict = [BinaryFactorAnalysis(inference="byy", delta=2, random_state=0).fit(X).n_components_ for X in weak]
        assert max(strict) < 3

    def test_noise_has_no_factor(self):
        X = np.random.default_rng(0).standard_normal((300, 6))
        model = BinaryFactorAnalysis(3, noise="columns", n_init=2, random_state=0).fit(X)
        assert model.n_components_ == 0
        np.testing.assert_allclose(1 / model.noise_precision_, X.var(axis=0))
        equal = BinaryFactorAnalysis(3, noise="equal", n_init=2, random_state=0).fit(X)
        np.testing.assert_allclose(1 / equal.noise_precision_, X.var(axis=0).mean())
        assert model.predict_proba(X).shape == (300, 0)

    def test_with_many_factors_it_is_harmony_learning(self):
        path, harmony = (fitted(word, n_components=14, n_init=1) for word in ("auto", "byy"))
        np.testing.assert_array_equal(path.mixing_, harmony.mixing_)


class TestAnswers:
    def test_score_equals_enumeration(self, model):
        theta = model.mixing_, model.intercepts_, model.noise_precision_, model.factor_probabilities_
        X = TRUTH.X[:20]
        np.testing.assert_allclose(model.score_samples(X), [twin.log_likelihood(x, *theta) for x in X], rtol=1e-9)
        assert model.score(X) == pytest.approx(model.score_samples(X).mean())

    def test_objective_of_em_is_the_log_likelihood_and_never_falls(self):
        model = fitted("em")
        assert model.objective_ == pytest.approx(model.score_samples(TRUTH.X).sum(), rel=1e-9)
        for history in model.restart_histories_:
            assert_nondecreasing(history, slack=1e-8)

    @pytest.mark.parametrize("encoder", ["round", "enum"])
    def test_objective_of_byy_is_the_harmony_of_its_codes(self, encoder):
        model = fitted("byy", encoder=encoder, priors=False)
        theta = model.mixing_, model.intercepts_, model.noise_precision_, model.factor_probabilities_
        harmony = twin.harmony(TRUTH.X, model.transform(TRUTH.X), *theta, alpha=None, tau=0)
        assert model.objective_ == pytest.approx(harmony, rel=1e-9)

    def test_bound_of_vb_is_below_the_best_likelihood(self):
        assert fitted("vb").objective_ < fitted("em").objective_

    def test_criteria_count_mixing_mean_probabilities_and_noise(self, model):
        n_parameters = 10 * 3 + 3 + 10 + {"equal": 1, "columns": 10}[model.noise_]
        log_likelihood = model.score_samples(TRUTH.X).sum()
        assert model.bic(TRUTH.X) == pytest.approx(np.log(200) * n_parameters - 2 * log_likelihood)
        assert model.aic(TRUTH.X) == pytest.approx(2 * n_parameters - 2 * log_likelihood)
        strength = np.linalg.norm(model.mixing_ * np.sqrt(model.noise_precision_)[:, None], axis=0)
        np.testing.assert_allclose(model.factor_strengths_, strength)
        assert (np.diff(strength) <= 1e-9).all()
        equal = fitted("em", noise="equal")
        assert len(np.unique(equal.noise_precision_)) == 1
        log_likelihood = equal.score_samples(TRUTH.X).sum()
        assert equal.bic(TRUTH.X) == pytest.approx(np.log(200) * (10 * 3 + 3 + 10 + 1) - 2 * log_likelihood)

    def test_probabilities(self, model):
        probabilities = model.predict_proba(TRUTH.X)
        assert ((probabilities >= 0) & (probabilities <= 1)).all()
        assert ((probabilities > 0.5) == (model.transform(TRUTH.X) > 0)).mean() > 0.99
        np.testing.assert_array_equal(probabilities, model.predict_proba(TRUTH.X))
        theta = model.mixing_, model.intercepts_, model.noise_precision_, model.factor_probabilities_
        exact = np.array([twin.posterior(x, *theta) for x in TRUTH.X]) @ (np.array(twin.codes(3)) > 0)
        np.testing.assert_allclose(probabilities, exact, atol=0.02 if model.inference == "vb" else 1e-9)

    def test_em_gives_the_likeliest_code(self):
        model = fitted("em")
        theta = model.mixing_, model.intercepts_, model.noise_precision_, model.factor_probabilities_
        best = [twin.codes(3)[int(np.argmax(twin.posterior(x, *theta)))] for x in TRUTH.X[:50]]
        np.testing.assert_array_equal(model.transform(TRUTH.X[:50]), best)

    def test_inverse_transform(self, model):
        codes = model.transform(TRUTH.X)
        rows = model.inverse_transform(codes)
        np.testing.assert_allclose(rows, codes @ model.mixing_.T + model.intercepts_)
        assert np.std(TRUTH.X - rows) == pytest.approx(0.25, rel=0.05)

    def test_samples_have_the_moments_of_the_model(self, model):
        sample = model.sample(20000, random_state=0)
        shift = 2 * model.factor_probabilities_ - 1
        np.testing.assert_allclose(sample.mean(axis=0), model.mixing_ @ shift + model.intercepts_, atol=0.06)
        covariance = (model.mixing_ * (1 - shift**2)) @ model.mixing_.T + np.eye(10) / model.noise_precision_
        np.testing.assert_allclose(np.cov(sample.T), covariance, atol=0.1)
        np.testing.assert_array_equal(model.sample(3, random_state=1), model.sample(3, random_state=1))

    def test_factors_are_in_the_order_of_their_length_with_a_fixed_sign(self, model):
        assert_nondecreasing(-np.linalg.norm(model.mixing_, axis=0))
        assert (model.factor_probabilities_ <= 0.501).all()

    def test_on_is_the_rarer_state_else_the_positive_side(self):
        A = np.array([[1.0, -3.0, 2.0], [-2.0, 1.0, 0.5]])
        theta = Parameters(A, np.zeros(2), np.array([4.0]), np.array([0.9, 0.5, 0.2]))
        model = BinaryFactorAnalysis()
        model._adopt(Found(theta, 4 * A.T @ A, np.zeros(3), []), np.zeros(2), np.ones(2))
        np.testing.assert_allclose(model.factor_probabilities_, [0.5, 0.1, 0.2])
        np.testing.assert_allclose(model.mixing_, [[3.0, -1.0, 2.0], [-1.0, 2.0, 0.5]])

    def test_names(self, model):
        assert model.get_feature_names_out().tolist() == [f"binaryfactoranalysis{i}" for i in range(3)]

    def test_discards_are_told(self):
        model = fitted("byy")
        assert model.discards_.columns.tolist() == ["iteration", "factor", "reason", "norm", "probability"]
        assert len(model.discards_) == 2
        assert model.discards_["factor"].nunique() == 2
        assert model.discards_["factor"].between(0, 4).all()
        assert (np.diff(model.discards_["iteration"]) >= 0).all()
        assert set(model.discards_["reason"]) <= {"weak", "constant"}
        assert len(model.restarts_) == 5
        assert model.restarts_["n_components"][model.restarts_["objective"].argmax()] == 3
        assert fitted("em").discards_.empty

    @pytest.mark.parametrize("inference", ["byy", "vb"])
    def test_a_run_that_is_stopped_at_once_has_an_answer(self, inference):
        """Ctrl-C before the first pass."""
        X = standardised(TRUTH)
        prior = Prior()
        learner = (
            byy.HarmonyLearning(X, 5, "round", "closed", prior, 2.0, Workers())
            if inference == "byy"
            else vb.VariationalBayes(X, 5, prior, 2.0, Workers())
        )
        monitor = Monitor(1e-6, 100, X.size, cancelled=lambda: True)
        assert np.isfinite(learner.run(np.random.default_rng(0), monitor).objective)
        assert monitor.n_iter == 1
        assert not monitor.converged


class TestUnits:
    @each_inference
    def test_the_answer_moves_with_location_and_unit(self, inference):
        model = fitted(inference, n_init=1)
        other = BinaryFactorAnalysis(**model.get_params()).fit(1000 * TRUTH.X + 7)
        np.testing.assert_allclose(other.mixing_, 1000 * model.mixing_, rtol=1e-5, atol=1e-4)
        np.testing.assert_allclose(other.intercepts_, 1000 * model.intercepts_ + 7, rtol=1e-5, atol=1e-3)
        assert other.noise_precision_ == pytest.approx(model.noise_precision_ / 1e6, rel=1e-6)
        assert other.objective_ == pytest.approx(model.objective_ - TRUTH.X.size * np.log(1000), rel=1e-9)
        np.testing.assert_allclose(other.discards_["norm"], 1000 * model.discards_["norm"], rtol=1e-5)

    @each_inference
    def test_the_same_seed_gives_the_same_answer_on_any_number_of_jobs(self, inference):
        one, two = fitted(inference, n_jobs=1), fitted(inference, n_jobs=2)
        np.testing.assert_array_equal(one.mixing_, two.mixing_)
        np.testing.assert_array_equal(one.predict_proba(TRUTH.X), two.predict_proba(TRUTH.X))
        pd.testing.assert_frame_equal(one.restarts_, two.restarts_)


def test_codes_of_correlated_factors_by_variational_bayes_are_those_of_the_fit():
    """From even odds the mean field of correlated factors ends in poor optima."""
    rng = np.random.default_rng(4)
    A = rng.normal(size=(6, 4)) + 1.2
    X = np.where(rng.random((200, 4)) < 0.5, 1, -1) @ A.T + 0.5 * rng.normal(size=(200, 6))
    model = BinaryFactorAnalysis(4, inference="vb", delta=0, random_state=0).fit(X)
    residual = X - model.inverse_transform(model.transform(X))
    assert np.mean(residual**2 * model.noise_precision_) < 1.5


def test_the_former_name_of_the_intercepts_warns() -> None:
    model = BinaryFactorAnalysis(2, n_init=1, random_state=0).fit(TRUTH.X)
    with pytest.warns(FutureWarning, match="intercepts_"):
        assert model.mean_ is model.intercepts_
