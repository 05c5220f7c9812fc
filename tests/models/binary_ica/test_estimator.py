"""BinaryICA: fits, and what they say about data."""

import pickle
import warnings

import numpy as np
import pytest
from scipy.optimize import minimize_scalar
from scipy.special import ndtr

from latentbits import simulate as simulated
from latentbits.errors import DataError
from latentbits.models.binary_ica import mle
from latentbits.models.binary_ica.estimator import BinaryICA
from latentbits.models.binary_ica.identifiability import mean_cosine_similarity
from latentbits.models.binary_ica.parameters import LINK, Parameters, Prior, canonical, pairwise_from_model
from tests.models.binary_ica.tools import NAN, TRUTH, UNEQUAL, random_parameters
from tests.reference import binary_ica as twin
from tests.reference.assertions import assert_nondecreasing


class TestFit:
    def test_recovers_the_mixing_and_the_scales(self, model):
        truth = canonical(Parameters(TRUTH.mixing, TRUTH.means, TRUTH.scales), np.full(10, 0.1))
        assert mean_cosine_similarity(truth.mixing, model.mixing_) > 0.98
        assert np.corrcoef(truth.scales.ravel(), model.source_scales_.ravel())[0, 1] > 0.7
        assert np.corrcoef(truth.means.ravel(), model.source_means_.ravel())[0, 1] > 0.7

    def test_a_column_that_is_never_observed_is_not_called_constant(self):
        X = TRUTH.X.astype(float)
        X[TRUTH.segments < 2, 0] = np.nan
        with pytest.warns(UserWarning, match=r"^columns that are never observed: 1 in segment 0, 1 in segment 1; they"):
            BinaryICA(2, n_init=1, random_state=0).fit(X, segments=TRUTH.segments)

    def test_six_sources_of_six_columns(self):
        truth = simulated.binary_ica(1000, 6, 6, 40, random_state=1)
        model = BinaryICA(6, n_init=1, random_state=0).fit(truth.X, segments=truth.segments)
        assert mean_cosine_similarity(truth.mixing, model.mixing_) > 0.95

    @pytest.mark.parametrize("method", ["blica", "mle"])
    def test_columns_have_shares_of_ones_of_their_own(self, method):
        """Two sources can't give eight columns their shares: without intercepts rows are likelier if independent."""
        rng = np.random.default_rng(0)
        truth = simulated.binary_ica(400, 8, 2, 10, random_state=5)
        Z = truth.means[truth.segments] + truth.scales[truth.segments] * rng.standard_normal((4000, 2))
        probability = ndtr(LINK * Z @ truth.mixing.T + np.linspace(-2, 2, 8))
        X = (rng.random((4000, 8)) < probability).astype(int)
        model = BinaryICA(2, method=method, n_init=1, n_points=32, random_state=0).fit(X, segments=truth.segments)
        assert mean_cosine_similarity(truth.mixing, model.mixing_) > 0.98
        share = X.mean(axis=0)
        independent = (share * np.log(share) + (1 - share) * np.log(1 - share)).sum()
        assert model.score(X, segments=truth.segments) > independent + 0.3
        np.testing.assert_allclose(model.sample(40_000, random_state=0).mean(axis=0), share, atol=0.02)

    def test_maximum_likelihood_starts_from_blica_and_goes_on(self, model):
        full = BinaryICA(2, method="mle", n_init=2, random_state=0, n_points=32).fit(TRUTH.X, segments=TRUTH.segments)
        assert_nondecreasing(full.objective_history_)
        by_hand = full.score_samples(TRUTH.X, segments=TRUTH.segments).sum()
        # The scale of a source is only fixed by the prior, which takes the one that it likes best.
        prior, log_s = mle.prior_of(Prior()), np.log(full.source_scales_)
        log_prior = -sum(
            minimize_scalar(lambda x, a=a, b=b: -prior(LINK * a * np.exp(x), b - x)[0]).fun
            for a, b in zip(full.mixing_.T, log_s.T, strict=True)
        )
        assert full.objective_ == pytest.approx(by_hand + log_prior, abs=0.1)
        assert by_hand > model.score_samples(TRUTH.X, segments=TRUTH.segments).sum() + 1
        assert mean_cosine_similarity(TRUTH.mixing, full.mixing_) > 0.98

    def test_maximum_likelihood_of_three_sources(self):
        truth = simulated.binary_ica(60, 6, 3, 6, random_state=0)
        full = BinaryICA(3, method="mle", n_init=1, tol=1e-5, n_points=1024, random_state=0)
        full.fit(truth.X, segments=truth.segments)
        assert_nondecreasing(full.objective_history_)
        start = BinaryICA(3, n_init=1, n_points=1024, random_state=0).fit(truth.X, segments=truth.segments)
        assert full.score(truth.X, segments=truth.segments) > start.score(truth.X, segments=truth.segments)

    def test_the_objective_never_falls_and_belongs_to_the_best_start(self, model):
        assert_nondecreasing(model.objective_history_)
        assert model.objective_ == pytest.approx(model.objective_history_[-1])
        assert model.objective_ == model.restarts_.objective.max()
        assert len(model.restarts_) == 2

    def test_canonical_form(self, model):
        np.testing.assert_allclose(model.segment_share_ @ model.source_scales_**2, 1)
        largest = np.abs(model.mixing_).argmax(axis=0)
        assert (model.mixing_[largest, [0, 1]] > 0).all()
        lengths = np.linalg.norm(model.mixing_, axis=0)
        assert lengths[0] >= lengths[1]

    def test_canonical_form_is_the_same_model(self):
        given = random_parameters(5, 3, 4)
        share = np.array([0.1, 0.2, 0.3, 0.4])
        form = canonical(given, share)
        a, b = pairwise_from_model(*given), pairwise_from_model(*form)
        np.testing.assert_allclose(a.correlations, b.correlations)
        np.testing.assert_allclose(a.thresholds, b.thresholds)
        scaled = Parameters(-given.mixing[:, ::-1] * 3, -given.means[:, ::-1] / 3, given.scales[:, ::-1] / 3)
        for x, y in zip(form, canonical(scaled, share), strict=True):
            np.testing.assert_allclose(x, y)

    def test_the_same_on_any_number_of_jobs(self, model):
        again = BinaryICA(2, random_state=0, n_init=2, n_jobs=2).fit(TRUTH.X, segments=TRUTH.segments)
        np.testing.assert_array_equal(again.mixing_, model.mixing_)
        np.testing.assert_array_equal(again.transform(TRUTH.X), model.transform(TRUTH.X))

    def test_permuted_columns_permute_the_mixing(self, model):
        order = [3, 1, 5, 0, 2, 4]
        again = BinaryICA(2, random_state=0, n_init=2).fit(TRUTH.X[:, order], segments=TRUTH.segments)
        np.testing.assert_allclose(again.mixing_, model.mixing_[order], atol=0.05)

    def test_permuted_rows_change_nothing(self, model):
        order = np.random.default_rng(0).permutation(1000)
        again = BinaryICA(2, random_state=0, n_init=2).fit(TRUTH.X[order], segments=TRUTH.segments[order])
        np.testing.assert_allclose(again.mixing_, model.mixing_)

    def test_unequal_segments_count_by_their_rows(self):
        labels = TRUTH.segments[UNEQUAL]
        model = BinaryICA(2, random_state=0, n_init=2).fit(TRUTH.X[UNEQUAL], segments=labels)
        np.testing.assert_allclose(model.segment_share_, np.bincount(labels) / len(labels))
        assert mean_cosine_similarity(TRUTH.mixing, model.mixing_) > 0.95

    def test_missing_cells_cost_little(self):
        X = TRUTH.X.astype(float)
        X[np.random.default_rng(0).random(X.shape) < 0.1] = NAN
        for method in ("blica", "mle"):
            model = BinaryICA(2, method=method, random_state=0, n_init=1, n_points=32, max_iter=500)
            model.fit(X, segments=TRUTH.segments)
            assert mean_cosine_similarity(TRUTH.mixing, model.mixing_) > 0.95
            assert np.isfinite(model.transform(X, segments=TRUTH.segments)).all()
        empty = model.transform(np.full((1, 6), NAN), segments=[4])
        np.testing.assert_allclose(empty[0], model.source_means_[4], atol=1e-6)

    @pytest.mark.parametrize("method", ["blica", "mle", "ivae"])
    @pytest.mark.parametrize(
        "X",
        [
            np.ones((1, 3)),
            np.zeros((12, 3)),
            np.eye(3)[np.arange(20) % 3],
            np.tile([[0, 1, NAN]], (9, 1)),
        ],
        ids=["one row", "all 0", "one 1 a row", "constant columns"],
    )
    def test_survives_poor_data(self, X, method):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model = BinaryICA(2, method=method, n_init=1, max_iter=20, n_points=16, random_state=0).fit(X)
            answers = (
                model.mixing_,
                model.source_means_,
                model.source_scales_,
                model.transform(X),
                model.posterior_sd(X),
                model.score_samples(X),
            )
        for answer in answers:
            assert np.isfinite(answer).all()

    def test_one_column_and_more_sources_than_columns_are_refused(self):
        with pytest.raises(DataError, match=r"X has 1 feature\(s\), .* needs two columns"):
            BinaryICA(1).fit(TRUTH.X[:, :1])
        with pytest.raises(DataError, match=r"n_components=7 \(--components\) is more than the 6 columns"):
            BinaryICA(7).fit(TRUTH.X)

    def test_bad_parameters_are_named(self):
        for parameters in (
            {"method": "em"},
            {"condition_number": 1},
            {"n_points": 2},  # all of them in the corners of a square, which are left out
            {"n_points": 70_000},
            {"n_components": 0},
            {"n_segments": 0},
            {"shrinkage": "none"},
            {"prior": -1},
            {"posterior": "ep"},
        ):
            (name,) = parameters
            with pytest.raises(ValueError, match=name):
                BinaryICA(**{"n_components": 2, **parameters}).fit(TRUTH.X)


class TestAnswers:
    def test_transform_is_the_posterior_mean_and_sd_its_spread(self, model):
        Z = model.transform(TRUTH.X[:4], segments=TRUTH.segments[:4])
        sd = model.posterior_sd(TRUTH.X[:4], segments=TRUTH.segments[:4])
        for x, z, d in zip(TRUTH.X[:4].astype(float), Z, sd, strict=True):
            _, mean, spread = twin.posterior(
                x, model.mixing_, model.source_means_[0], model.source_scales_[0], 81, b=model.intercepts_
            )
            np.testing.assert_allclose(z, mean, atol=1e-5)
            np.testing.assert_allclose(d, spread, atol=1e-5)

    def test_follows_the_true_sources(self, model):
        Z = model.transform(TRUTH.X, segments=TRUTH.segments)
        correlation = np.abs(np.corrcoef(Z.T, TRUTH.sources.T)[:2, 2:])
        assert sorted(correlation.argmax(axis=1)) == [0, 1], "each its own"
        assert (correlation.max(axis=1) > 0.6).all()

    def test_score_is_the_mean_of_score_samples_and_knows_the_segments(self, model):
        known = model.score(TRUTH.X, segments=TRUTH.segments)
        assert known == pytest.approx(model.score_samples(TRUTH.X, segments=TRUTH.segments).mean())
        assert known > model.score(TRUTH.X), "the labels tell something"
        assert known > model.score(TRUTH.X, segments=TRUTH.segments[::-1])

    def test_rows_are_answered_one_by_one(self, model):
        whole = model.transform(TRUTH.X[:30])
        single = np.vstack([model.transform(TRUTH.X[i : i + 1]) for i in range(30)])
        np.testing.assert_allclose(whole, single, atol=1e-12)

    def test_inverse_transform_gives_probabilities(self, model):
        Z = np.array([[0.0, 0.0], [1.0, -2.0]])
        P = model.inverse_transform(Z)
        np.testing.assert_allclose(P[0], ndtr(model.intercepts_))
        np.testing.assert_allclose(P[1], ndtr(LINK * (model.mixing_ @ Z[1]) + model.intercepts_))
        for wrong in (np.zeros((2, 3)), [[NAN, 0.0]], [0.0, 1.0]):
            with pytest.raises(DataError, match="as transform returns them"):
                model.inverse_transform(wrong)

    def test_samples_have_the_pairs_of_the_model(self, model):
        X = model.sample(40_000, segments=5, random_state=0)
        assert X.dtype == np.int8
        exact = pairwise_from_model(*model._parameters())
        np.testing.assert_allclose(X.mean(axis=0), ndtr(-exact.thresholds[5]), atol=0.01)
        correlation = np.corrcoef(X[:, 0], X[:, 1])[0, 1]
        assert np.sign(correlation) == np.sign(exact.correlations[5, 0, 1])
        mixed = model.sample(40_000, random_state=0)
        shares = model.segment_share_ @ ndtr(-exact.thresholds)
        np.testing.assert_allclose(mixed.mean(axis=0), shares, atol=0.01)
        np.testing.assert_array_equal(model.sample(5, random_state=1), model.sample(5, random_state=1))

    def test_pickling_keeps_every_answer(self, model):
        again = pickle.loads(pickle.dumps(model))
        np.testing.assert_array_equal(again.transform(TRUTH.X[:5]), model.transform(TRUTH.X[:5]))


class TestSeparation:
    """Columns that are copies of each other have no finite maximum of the likelihood."""

    @pytest.mark.filterwarnings("ignore")
    @pytest.mark.parametrize(("K", "slack"), [(1, 1e-3), (2, 0.02), (3, 0.05)])  # quasi-random points for three
    def test_the_likelihood_stays_true_where_entries_would_grow_for_ever(self, K, slack):
        X = np.repeat(np.random.default_rng(1).integers(0, 2, (200, 1)), 4, axis=1)
        model = BinaryICA(K, method="mle", n_init=1, n_segments=2, random_state=0, max_iter=60).fit(X)
        assert np.abs(model.mixing_).max() < 25
        rows = np.array(np.meshgrid(*[[0, 1]] * 4)).reshape(4, -1).T
        assert np.exp(model.score_samples(rows)).sum() == pytest.approx(1, abs=slack)
        saturated = 200 * np.log(0.5)  # two rows, each half of the data
        assert model.objective_ < saturated + 1.0
