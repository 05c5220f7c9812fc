"""BetaICA: weights of rows, posteriors and their intervals."""

import numpy as np
import pytest
import scipy.sparse as sp
from scipy import stats
from sklearn.exceptions import NotFittedError

from latentbits import BetaICA
from latentbits.models.aspect.variational import BayesState, EMState, Prior
from tests.models.beta_ica.tools import COLUMNS, NAN, ROWS, X, each_inference, make_learner, posterior_of_rows
from tests.reference import beta_ica as twin


class TestWeights:
    def test_of_the_training_rows_are_their_transform(self, model):
        np.testing.assert_array_equal(model.transform(X), model.weights_)
        np.testing.assert_array_equal(model.transform(sp.csr_array(X)), model.weights_)
        np.testing.assert_allclose(model.weights_.sum(axis=1), 1)

    def test_whole_equals_chunked(self, model):
        parts = [model.transform(X[rows]) for rows in (slice(0, 1), slice(1, 8), slice(8, ROWS))]
        np.testing.assert_allclose(np.concatenate(parts), model.weights_, rtol=1e-12, atol=1e-15)

    def test_are_those_of_the_climb(self, model):
        """The last state's own weights and the solved ones are the same optimum."""
        exact = BetaICA(3, inference=model.inference, gamma=0.8, n_init=1, tol=1e-11, random_state=0).fit(X)
        learner = make_learner(model.inference, X, np.ones(ROWS), 3, Prior(0.5, 0.5, 0.8))
        total = np.sum(~np.isnan(X), axis=1, keepdims=True) + 3 * 0.8
        if model.inference == "em":
            state = EMState(exact.weights_, exact.alpha_, exact.beta_)
        else:
            state = BayesState(exact.weights_ * total - 0.8, exact.alpha_, exact.beta_, np.log([0.8]))
        bound = learner.bound(state)
        # Weights of point estimates creep towards 0 in a climb; solved for, they are there.
        assert -1e-6 <= bound - exact.objective_ <= (0.05 if model.inference == "em" else 1e-4)

    def test_vb_gamma_is_the_prior_and_what_was_caused(self, bayes):
        gamma = posterior_of_rows(bayes, X)
        Q = twin.responsibilities(X, twin.log_dirichlet_means(gamma), bayes.alpha_, bayes.beta_)
        M, _, _ = twin.caused(X, Q, 3, np.ones(ROWS))
        # A row stops when it moves by less than 1e-7 of its sum.
        np.testing.assert_allclose(gamma, 0.8 + M, atol=1e-6 * COLUMNS)

    def test_em_weights_are_optimal(self):
        """KKT: with mean_j (d log d_ij / d W_ik) = g_k, g <= 1, and g = 1 where the weight is above 0."""
        model = BetaICA(3, inference="em", n_init=3, random_state=0).fit(X)
        Q = twin.responsibilities(X, np.log(np.maximum(model.weights_, 1e-300)), model.alpha_, model.beta_)
        log_b, log_not_b = twin.log_beta_means(model.alpha_, model.beta_)
        for i, w in enumerate(model.weights_):
            h = np.array([np.exp((log_b if X[i, j] == 1 else log_not_b)[:, j]) for r, j in Q if r == i])
            g = np.mean(h / (h @ w)[:, None], axis=0)
            assert g.max() <= 1 + 1e-6
            np.testing.assert_allclose(w @ g, 1, rtol=1e-9)
            assert (g[w > 1e-3] > 1 - 1e-4).all()

    @each_inference
    def test_rows_with_nothing_observed_have_equal_weights(self, inference):
        cells = X.copy()
        cells[[0, 30]] = NAN
        model = BetaICA(3, inference=inference, n_init=2, random_state=0).fit(cells)
        np.testing.assert_allclose(model.weights_[[0, 30]], 1 / 3)
        np.testing.assert_allclose(model.transform(np.full((1, COLUMNS), NAN)), 1 / 3)

    def test_a_large_gamma_spreads_the_weights_and_a_small_one_gathers_them(self):
        largest = [
            BetaICA(3, gamma=gamma, n_init=3, random_state=0).fit(X).weights_.max(axis=1).mean()
            for gamma in (0.1, 1.0, 100.0)
        ]
        assert largest[0] > largest[1] + 0.02
        assert largest[1] > largest[2] + 0.1


class TestPosterior:
    def test_components_are_its_means(self, model):
        np.testing.assert_allclose(model.components_, model.alpha_ / (model.alpha_ + model.beta_))
        assert (model.alpha_ > 0.5 - 1e-12).all()
        assert (model.beta_ > 0.5 - 1e-12).all()

    def test_it_accounts_for_every_observed_cell(self, model):
        np.testing.assert_allclose((model.alpha_ - 0.5).sum(axis=0), np.sum(X == 1, axis=0), rtol=1e-9)
        np.testing.assert_allclose((model.beta_ - 0.5).sum(axis=0), np.sum(X == 0, axis=0), rtol=1e-9)

    @pytest.mark.parametrize("level", [0.5, 0.9, 0.95])
    def test_intervals_are_quantiles(self, bayes, level):
        tail = (1 - level) / 2
        low, high = bayes.components_interval(level)
        np.testing.assert_allclose(low, stats.beta.ppf(tail, bayes.alpha_, bayes.beta_), rtol=1e-8)
        np.testing.assert_allclose(high, stats.beta.ppf(1 - tail, bayes.alpha_, bayes.beta_), rtol=1e-8)
        low, high = bayes.weights_interval(X, level)
        gamma = posterior_of_rows(bayes, X)
        rest = gamma.sum(axis=1, keepdims=True) - gamma
        np.testing.assert_allclose(low, stats.beta.ppf(tail, gamma, rest), rtol=1e-8, atol=1e-12)
        np.testing.assert_allclose(high, stats.beta.ppf(1 - tail, gamma, rest), rtol=1e-8)

    def test_default_level_is_95_percent(self, bayes):
        for ends, same in (
            (bayes.components_interval(), bayes.components_interval(0.95)),
            (bayes.weights_interval(X), bayes.weights_interval(X, 0.95)),
        ):
            np.testing.assert_array_equal(ends, same)

    def test_intervals_hold_the_median_and_most_means(self, model):
        low, high = model.components_interval(0.95)
        middle = stats.beta.median(model.alpha_, model.beta_)
        assert ((low <= middle) & (middle <= high)).all()
        # A mean far out in the tail needs a density that is infinite at 0 or 1.
        bell = (model.alpha_ >= 1) & (model.beta_ >= 1)
        assert bell.sum() >= 10
        assert ((low < model.components_) & (model.components_ < high))[bell].all()

    def test_a_higher_level_is_wider(self, bayes):
        for interval in (bayes.components_interval, lambda level: bayes.weights_interval(X, level)):
            (low, high), (lower, higher) = interval(0.8), interval(0.95)
            assert (lower <= low).all()
            assert (higher >= high).all()
            assert (higher - lower > high - low).all()

    def test_more_rows_narrow_the_components(self):
        once = BetaICA(2, n_init=3, random_state=0).fit(X)
        often = BetaICA(2, n_init=3, random_state=0).fit(X, sample_weight=np.full(ROWS, 16.0))
        width = [np.subtract(*reversed(m.components_interval())).mean() for m in (once, often)]
        assert width[1] < 0.5 * width[0]  # a quarter, if nothing else changed

    def test_more_observed_cells_narrow_the_weights(self, bayes):
        few = X.copy()
        few[:, 5:] = NAN
        widths = [np.subtract(*reversed(bayes.weights_interval(cells))) for cells in (few, X)]
        assert widths[1].mean() < 0.8 * widths[0].mean()

    def test_a_row_with_nothing_observed_has_the_prior(self, bayes):
        low, high = bayes.weights_interval(np.full((1, COLUMNS), NAN), 0.9)
        np.testing.assert_allclose(low, stats.beta.ppf(0.05, 0.8, 1.6))
        np.testing.assert_allclose(high, stats.beta.ppf(0.95, 0.8, 1.6))

    def test_a_single_component_has_all_the_weight(self):
        model = BetaICA(1, n_init=1, random_state=0).fit(X)
        low, high = model.weights_interval(X)
        np.testing.assert_array_equal(low, np.ones((ROWS, 1)))
        np.testing.assert_array_equal(high, np.ones((ROWS, 1)))
        assert model.extinct_.size == 0

    def test_intervals_cover_the_truth(self):
        """One component: the posterior is exact, and the truth drawn from its prior."""
        rng = np.random.default_rng(0)
        H = rng.beta(0.5, 0.5, 2000)
        model = BetaICA(1, n_init=1, random_state=0).fit(rng.random((20, 2000)) < H)
        low, high = model.components_interval(0.8)
        covered = np.mean((low <= H) & (high >= H))
        assert covered == pytest.approx(0.8, abs=5 * np.sqrt(0.8 * 0.2 / 2000))

    @pytest.mark.parametrize("level", [0, 1, -0.5, 95, NAN])
    def test_an_impossible_level_is_refused(self, bayes, level):
        for interval in (bayes.components_interval, lambda level: bayes.weights_interval(X, level)):
            with pytest.raises(ValueError, match=f"level={level} must be a number above 0 and below 1"):
                interval(level)

    def test_em_has_no_posterior_of_weights(self):
        model = BetaICA(2, inference="em", n_init=1, random_state=0).fit(X)
        message = r'^variational EM estimates weights without a posterior; fit with inference="vb" or "gibbs"$'
        with pytest.raises(ValueError, match=message):
            model.weights_interval(X)
        assert np.isfinite(model.components_interval()).all()

    def test_needs_a_fit(self):
        for ask in (BetaICA().components_interval, BetaICA().prune, lambda: BetaICA().weights_interval(X)):
            with pytest.raises(NotFittedError):
                ask()
