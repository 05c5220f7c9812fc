"""ICAMixture: what it says about data."""

import copy

import numpy as np
import pandas as pd
import pytest
from sklearn.decomposition import FactorAnalysis
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import adjusted_rand_score

from latentbits.errors import DataError
from latentbits.models.ica_mixture import densities, moves
from latentbits.models.ica_mixture.estimator import ICAMixture
from latentbits.simulate.mixed_sources import ica_mixture
from tests.models.ica_mixture.tools import TRUTH, X
from tests.reference import ica_mixture as twin


class TestFactorAnalysis:
    def test_one_cluster_and_one_gaussian_is_factor_analysis(self):
        rng = np.random.default_rng(0)
        rows = rng.normal(size=(2000, 2)) @ rng.normal(size=(2, 6)) + rng.normal(size=(2000, 6)) * rng.uniform(
            0.3, 1, 6
        )
        model = ICAMixture(1, 4, 1, n_init=1, tol=1e-7, random_state=0).fit(rows)
        best = FactorAnalysis(2, tol=1e-8, max_iter=5000).fit(rows).score(rows)
        assert model.n_sources_.tolist() == [2]
        # Maximum likelihood is the most there is; the posterior mean is below it by about half a parameter a row.
        n_parameters = 6 * 2 - 1 + 6 + 6
        assert best - n_parameters / 2000 < model.score(rows) <= best + 1e-9


class TestAnswers:
    def test_clusters_and_sources_are_recovered(self, model):
        assert model.n_clusters_ == model.n_components_ == 2
        assert sorted(model.n_sources_) == [1, 2]
        assert adjusted_rand_score(TRUTH.labels, model.labels_) == 1
        np.testing.assert_array_equal(model.labels_, model.predict(X))
        np.testing.assert_allclose(model.proportions_, 0.5, atol=0.01)
        found = model.transform(X)
        for c, sources in enumerate(TRUTH.sources):
            rows = found[TRUTH.labels == c]
            rows = rows[:, rows.any(axis=0)]  # sources that the cluster doesn't have are 0
            n = rows.shape[1]
            correlation = np.abs(np.corrcoef(rows.T, sources.T)[:n, n:])
            assert (correlation.max(axis=0) > 0.97).all()

    def test_sources_come_by_strength_and_clusters_by_size(self, model):
        assert (np.diff(model.source_strengths_, axis=1) <= 0).all()
        assert (np.diff(model.proportions_) <= 0).all()

    def test_sources_lead_back_to_the_data(self, model):
        back = model.inverse_transform(model.transform(X), model.predict(X))
        assert np.abs(back - X).max() < 0.2 * X.std()

    def test_density_equals_enumeration(self, model):
        p = model._clusters
        mean, variance = (moment[..., None] for moment in p.source_moments())
        # Sources that are switched off are one Gaussian, which is K equal ones to the twin.
        live = (np.arange(2) < model.n_sources_[:, None])[..., None]
        rows = X[::40]
        ours = [
            twin.log_density(
                x,
                model.proportions_,
                model.means_,
                model.mixing_,
                1 / model.noise_precision_,
                p.pi_mean,
                np.where(live, p.phi, mean),
                np.where(live, 1 / p.beta, variance),
            )
            for x in rows
        ]
        assert model.exact_
        np.testing.assert_allclose(model.score_samples(rows), ours, rtol=1e-8)
        assert model.score(rows) == pytest.approx(np.mean(ours))

    def test_density_sums_to_one(self, model):
        low, high = X.min(axis=0) - 3, X.max(axis=0) + 3
        axes = [np.linspace(a, b, 500) for a, b in zip(low, high, strict=True)]
        cell = np.prod([axis[1] - axis[0] for axis in axes])
        grid = np.stack(np.meshgrid(*axes), axis=-1).reshape(-1, 2)
        assert np.exp(model.score_samples(grid)).sum() * cell == pytest.approx(1, abs=0.01)

    def test_the_bounded_density_is_near_the_exact_one(self, model):
        rows = model._standardised(X)
        exact = densities.exact_log_density(rows, model._clusters)
        bounded = densities.bounded_log_density(rows, model._clusters)
        own = model.labels_, np.arange(len(X))
        gap = (exact - bounded)[own]
        assert -0.05 < np.median(gap) < 0.3

    def test_many_combinations_are_bounded(self):
        rows = np.random.default_rng(0).laplace(size=(150, 7)) * np.arange(1, 8)
        model = ICAMixture(1, 7, n_init=1, tol=1e-3, random_state=0).fit(rows)
        assert model.exact_ == (5.0 ** model.n_sources_.max() <= 1000)
        many = copy.copy(model)
        many.n_sources_ = np.array([500])  # 5^500 is beyond floating point
        assert not many.exact_
        assert np.isfinite(model.score_samples(rows)).all()

    def test_units_don_t_matter(self):
        a = ICAMixture(2, 2, n_init=1, tol=1e-3, random_state=0).fit(X)
        b = ICAMixture(2, 2, n_init=1, tol=1e-3, random_state=0).fit(X * [10, 0.1] + [3, 4])
        np.testing.assert_array_equal(a.labels_, b.labels_)
        np.testing.assert_allclose(b.means_, a.means_ * [10, 0.1] + [3, 4], rtol=1e-6, atol=1e-6)
        np.testing.assert_allclose(b.score_samples(X * [10, 0.1] + [3, 4]), a.score_samples(X), atol=1e-5)

    def test_samples_look_like_the_data(self, model):
        rows, labels = model.sample(20_000, random_state=0)
        np.testing.assert_allclose(rows.mean(axis=0), X.mean(axis=0), atol=0.15)
        np.testing.assert_allclose(np.cov(rows.T), np.cov(X.T), rtol=0.1, atol=0.3)
        assert np.mean(model.predict(rows) == labels) > 0.99
        np.testing.assert_array_equal(rows, model.sample(20_000, random_state=0)[0])

    def test_source_densities_sum_to_one(self, model):
        grid = np.linspace(-12, 12, 20_001)
        density = model.source_density(1, 0, grid)
        assert density.shape == (20_001, 5)
        assert density.sum() * (grid[1] - grid[0]) == pytest.approx(1, abs=1e-6)

    def test_probabilities(self, model):
        P = model.predict_proba(X)
        np.testing.assert_allclose(P.sum(axis=1), 1)
        np.testing.assert_array_equal(P.argmax(axis=1), model.predict(X))


class TestParameters:
    def test_unmixed_sources_are_linear_and_lead_back(self, model):
        unmixed = model.transform(X, kind="unmixed")
        labels, live = model.predict(X), np.arange(2) < model.n_sources_[:, None]
        rows = (X[:5] + X[5:10]) / 2
        assert (labels[:10] == labels[0]).all()
        np.testing.assert_allclose(model.transform(rows, kind="unmixed"), (unmixed[:5] + unmixed[5:10]) / 2, atol=1e-9)
        assert (unmixed[~live[labels]] == 0).all()
        full = model.n_sources_[labels] == 2  # as many sources as dimensions: nothing is left over
        np.testing.assert_allclose(model.inverse_transform(unmixed, labels)[full], X[full], atol=1e-8)
        assert np.abs(unmixed - model.transform(X)).max() > 1e-3
        with pytest.raises(ValueError, match="kind='median' is unknown"):
            model.transform(X, kind="median")

    @pytest.mark.parametrize("name", ["noise_shape", "noise_rate", "gaussian_rate"])
    def test_priors_change_the_answer(self, name):
        small, large = (
            ICAMixture(2, 2, n_init=1, tol=1e-3, random_state=0, **{name: value}).fit(X) for value in (1e-4, 10.0)
        )
        if name == "gaussian_rate":
            assert small._clusters.beta.max() > 2 * large._clusters.beta.max()
        else:
            assert (small.noise_precision_.max() > large.noise_precision_.max()) == (name == "noise_rate")

    def test_by_default_two_sources_are_tried_or_as_many_as_there_are_columns(self):
        for n_columns, n in ((1, 1), (8, 2)):
            rows = np.random.default_rng(0).normal(size=(40, n_columns))
            fit = ICAMixture(1, n_gaussians=2, n_init=1, tol=1e-2, random_state=0).fit(rows)
            assert fit.mixing_.shape == (1, n_columns, n)

    def test_the_noise_of_clean_data_is_found(self):
        truth = ica_mixture([[[2.0, 1.0], [0.0, 1.0], [1.0, 1.0]]], n_points=300, noise_db=-50, random_state=0)
        scale = 1e-5 * np.mean(np.square(truth.mixing[0]).sum(axis=1))
        noise = {
            rate: 1 / ICAMixture(1, 2, noise_rate=rate, n_init=1, random_state=0).fit(truth.X).noise_precision_.max()
            for rate in (1e-6, 1e-2)
        }
        assert noise[1e-6] < 2 * scale < noise[1e-2]


class TestRestarts:
    def test_the_number_of_threads_changes_nothing(self):
        a, b = (ICAMixture(3, 2, n_init=2, tol=1e-3, random_state=1, n_jobs=jobs).fit(X) for jobs in (1, 2))
        np.testing.assert_array_equal(a.mixing_, b.mixing_)
        pd.testing.assert_frame_equal(a.history_, b.history_)
        pd.testing.assert_frame_equal(a.restarts_, b.restarts_)

    def test_the_highest_bound_wins(self, model):
        assert model.objective_ == model.restarts_["objective"].max()
        assert len(model.restarts_) == 2
        assert model.converged_

    def test_running_out_of_passes_warns(self):
        with pytest.warns(ConvergenceWarning, match="all max_iter=12 passes"):
            ICAMixture(2, 2, n_init=1, max_iter=12, random_state=0).fit(X)


class TestPriorAndIndex:
    def test_every_hyper_parameter_can_be_given(self):
        rows = X[::5]
        usual = ICAMixture(2, 2, 3, n_init=1, tol=1e-2, random_state=0).fit(rows)
        assert usual.n_clusters_ == 2
        for name in (
            "nu_precision",
            "rho",
            "pi",
            "phi_precision",
            "beta_shape",
            "beta_rate",
            "alpha_shape",
            "alpha_rate",
            "psi_shape",
            "psi_rate",
        ):
            other = ICAMixture(2, 2, 3, prior={name: 0.7}, n_init=1, tol=1e-2, random_state=0).fit(rows)
            assert other.objective_ != usual.objective_, name

    def test_published_is_appendix_a(self):
        prior = ICAMixture(prior="published")._prior()
        assert (prior.nu_precision, prior.rho, prior.pi, prior.phi_precision) == (0.001, 0.001, 0.001, 1.0)
        assert (prior.beta_shape, prior.beta_rate) == (1.2, 0.1)
        assert (prior.alpha_shape, prior.alpha_rate, prior.psi_shape, prior.psi_rate) == (0.001,) * 4

    @pytest.mark.parametrize(("prior", "words"), [({"beta": 1.0}, "beta"), ({"pi": -1.0}, "pi"), ("x", "published")])
    def test_nonsense_is_refused(self, prior, words):
        with pytest.raises(ValueError, match=words):
            ICAMixture(prior=prior).fit(X)

    def test_the_printed_index_does_not_normalise_weights(self):
        """Two Gaussians at a normalised J of 6, which hold a quarter of the source: J as printed is 6 / 2 = 3."""
        pi, beta = np.array([0.125, 0.125, 0.75]), np.full(3, 36.0)
        phi = np.array([0.0, 1.0, 1.02])
        assert moves._widest_distance(pi, phi, beta, "normalised") == pytest.approx(0.5)
        assert moves._widest_distance(pi, phi, beta, "published") is None


class TestUncertainty:
    def test_intervals_have_names_and_the_spreads_of_the_posterior(self, model):
        table = model.interval(method="posterior", level=0.9)
        effects = table[table["quantity"] == "effect"]
        assert len(effects) == model.mixing_.size
        line = effects.iloc[3]
        c, m, j = line["cluster"], line["source"], int(line["variable"][1:])
        p = model._clusters
        sd = np.sqrt(p.A_cov[c, j, m, m] * p.source_moments()[1][c, m]) * model._scale[j]
        assert effects.iloc[3]["sd"] == pytest.approx(sd)
        np.testing.assert_allclose(table["high"] > table["value"], True)
        named = copy.deepcopy(model)
        named.feature_names_in_ = np.array(["a", "b"], dtype=object)
        assert set(named.interval(method="posterior")["variable"]) == {"a", "b"}

    def test_bootstrap_intervals_are_wider(self, model):
        narrow, wide = model.interval(method="posterior"), model.interval(X, n_draws=10, random_state=0)
        np.testing.assert_array_equal(narrow["value"], wide["value"])
        effect = narrow["quantity"] == "effect"
        assert (wide["sd"] / narrow["sd"])[effect & (narrow["source"] == 0)].median() > 1.3

    def test_intervals_by_bootstrap_need_rows(self, model):
        with pytest.raises(DataError, match='give X, or method="posterior"'):
            model.interval()

    def test_pieces_of_one_bow_are_adjacent_and_groups_are_not(self, model):
        assert not model.overlaps(X)["adjacent"].any()
        rng = np.random.default_rng(0)
        angle = rng.uniform(0, np.pi, 600)
        bow = np.column_stack([np.cos(angle), np.sin(angle)]) * 5 + 0.2 * rng.normal(size=(600, 2))
        bent = ICAMixture(4, 2, 3, n_init=1, tol=1e-4, random_state=0).fit(bow)
        assert bent.n_clusters_ > 1
        assert bent.overlaps(bow)["adjacent"].any()
