"""Binary ICA: the ascent, BLICA, the likelihood and the autoencoder against slow twins."""

import numpy as np
import pytest
from scipy.special import ndtr

from latentbits import simulate as simulated
from latentbits.data.binary_data import BinaryData
from latentbits.errors import DataError
from latentbits.fitting.climb import Monitor, ascend, flatten, unflatten
from latentbits.fitting.workers import Workers
from latentbits.models.binary_ica import blica, ivae, mle
from latentbits.models.binary_ica.estimator import BinaryICA
from latentbits.models.binary_ica.identifiability import mean_cosine_similarity
from latentbits.models.binary_ica.mle import Propagation
from latentbits.models.binary_ica.parameters import (
    LINK,
    PairwiseStatistics,
    Parameters,
    canonical,
    count_rows,
    pairwise_from_model,
)
from latentbits.models.binary_ica.source_posterior import adapted_nodes, posterior
from tests.models.binary_ica.tools import cells_of, check_gradient, random_parameters, rows_with_missing
from tests.reference import binary_ica as twin
from tests.reference.assertions import assert_nondecreasing


class TestAscent:
    def test_flatten_and_back(self):
        state = mle.start(random_parameters(4, 2, 3))
        again = unflatten(flatten(state), state)
        assert type(again) is mle.State
        for a, b in zip(again, state, strict=True):
            np.testing.assert_array_equal(a, b)

    def test_finds_the_top_of_a_parabola_and_says_so(self):
        top = mle.start(random_parameters(3, 2, 2))

        def hill(state):
            gaps = [b - a for a, b in zip(state, top, strict=True)]
            return -sum(float(np.sum(g**2)) for g in gaps), mle.State(*(2 * g for g in gaps))

        monitor = Monitor(1e-12, 100)
        climbed = ascend(hill, mle.State(*(np.zeros_like(a) for a in top)), monitor)
        np.testing.assert_allclose(flatten(climbed.state), flatten(top), atol=1e-6)
        assert monitor.converged
        assert climbed.objective == pytest.approx(monitor.history[-1])

    def test_running_out_of_iterations_is_not_convergence(self):
        statistics = pairwise_from_model(*random_parameters(5, 5, 5))
        monitor = Monitor(0.0, 7)
        blica.runner(statistics, 5)(np.random.default_rng(0), monitor)
        assert monitor.n_iter == 7
        assert not monitor.converged
        assert_nondecreasing(monitor.history)


class TestBlica:
    statistics = PairwiseStatistics(
        pairwise_from_model(*random_parameters(5, 3, 4, seed=1)).correlations,
        np.zeros((4, 5)),
        np.array([5.0, 9, 2, 4]),
    )

    @pytest.mark.parametrize("m", [1, 3, 5, 7])
    def test_objective_equals_twin_and_gradient_finite_differences(self, m):
        rng = np.random.default_rng(m)
        state = blica.State(rng.normal(0, 1, (5, m)), rng.normal(0, 0.5, (4, m)), rng.normal(0, 0.3, (4, 5)))
        value, _ = blica.objective(state, self.statistics)
        expected = twin.blica_objective(
            state.A, np.exp(state.log_s), np.exp(state.log_q), self.statistics.correlations, self.statistics.n_rows
        )
        assert value == pytest.approx(expected, rel=1e-10)
        check_gradient(lambda s: blica.objective(s, self.statistics), state)

    def test_no_state_is_better_than_the_truth_on_its_own_statistics(self):
        truth = random_parameters(5, 3, 4, seed=1)
        sd = np.sqrt(1 + truth.scales**2 @ (LINK**2 * truth.mixing**2).T)
        at_truth = blica.State(LINK * truth.mixing, np.log(truth.scales), -np.log(sd))
        value, gradient = blica.objective(at_truth, self.statistics)
        np.testing.assert_allclose(flatten(gradient), 0, atol=1e-10)
        rng = np.random.default_rng(0)
        for _ in range(20):
            other = blica.State(*(a + rng.normal(0, 0.1, a.shape) for a in at_truth))
            assert blica.objective(other, self.statistics)[0] < value

    def test_a_start_has_a_unit_diagonal_and_depends_on_the_seed(self):
        a, b, c = (blica.start(self.statistics, 3, np.random.default_rng(seed)) for seed in (0, 0, 1))
        np.testing.assert_array_equal(a.A, b.A)
        assert (a.A != c.A).all()
        diagonal = np.exp(2 * a.log_q) * (1 + np.exp(2 * a.log_s) @ (a.A**2).T)
        np.testing.assert_allclose(diagonal, 1)

    def test_infinite_sample_recovery_where_the_count_allows_it(self):
        truth = simulated.binary_ica(1, 6, 6, 4, random_state=4)
        statistics = pairwise_from_model(truth.mixing, truth.means, truth.scales)
        found = blica.fit_blica(statistics, 6, n_init=1, random_state=0)
        assert np.log10(1 - mean_cosine_similarity(truth.mixing, found.mixing)) < -6
        expected = canonical(Parameters(truth.mixing, truth.means, truth.scales), np.full(4, 0.25))
        np.testing.assert_allclose(found.mixing, expected.mixing, atol=0.05)
        np.testing.assert_allclose(found.means, expected.means, atol=0.05)
        np.testing.assert_allclose(found.scales, expected.scales, atol=0.05)

    def test_infinite_sample_failure_where_it_does_not(self):
        """The correlations are matched all the same: the mixing is one of many."""
        truth = simulated.binary_ica(1, 4, 4, 4, random_state=1)
        statistics = pairwise_from_model(truth.mixing, truth.means, truth.scales)
        found = blica.fit_blica(statistics, 4, n_init=1, random_state=0)
        assert np.log10(1 - mean_cosine_similarity(truth.mixing, found.mixing)) > -4
        again = pairwise_from_model(*found)
        np.testing.assert_allclose(again.correlations, statistics.correlations, atol=1e-3)
        np.testing.assert_allclose(again.thresholds, statistics.thresholds, atol=1e-6)

    @pytest.mark.parametrize("m", [1, 3, 6])
    def test_means_come_back_from_exact_thresholds(self, m):
        truth = random_parameters(6, m, 4, seed=m)
        thresholds = pairwise_from_model(*truth).thresholds
        means, intercepts = blica.means_and_intercepts(truth.mixing, truth.scales, thresholds, np.ones(4))
        np.testing.assert_allclose(means, truth.means, atol=1e-6)
        np.testing.assert_allclose(intercepts, 0, atol=1e-6)

    @pytest.mark.parametrize("m", [1, 3, 6])
    def test_intercepts_come_back_from_exact_thresholds(self, m):
        truth = canonical(random_parameters(6, m, 4, seed=m)._replace(intercepts=np.linspace(-2, 3, 6)), np.ones(4) / 4)
        thresholds = pairwise_from_model(*truth).thresholds
        found = blica.with_means(truth.mixing, truth.scales, thresholds, np.array([1.0, 2.0, 3.0, 4.0]))
        np.testing.assert_allclose(found.intercepts, truth.intercepts, atol=1e-6)
        np.testing.assert_allclose(pairwise_from_model(*found).thresholds, thresholds, atol=1e-6)
        if m == 6:
            np.testing.assert_allclose(found.intercepts, 0, atol=1e-9)

    def test_means_for_more_sources_than_columns_explain_the_thresholds(self):
        truth = random_parameters(3, 5, 2)
        thresholds = pairwise_from_model(*truth).thresholds
        means, _ = blica.means_and_intercepts(truth.mixing, truth.scales, thresholds, np.ones(2))
        again = pairwise_from_model(truth.mixing, means, truth.scales).thresholds
        np.testing.assert_allclose(again, thresholds, atol=1e-5)


class TestLikelihood:
    @pytest.mark.parametrize(("n", "m", "n_points"), [(4, 1, 40), (4, 2, 24), (4, 3, 32), (3, 5, 32)])
    def test_gradient_equals_finite_differences(self, n, m, n_points):
        rows = count_rows(BinaryData.of(rows_with_missing(n, 40)), np.arange(40) % 3, 3)
        A, mu, s, _ = random_parameters(n, m, 3)
        b = np.linspace(-0.5, 1, n)
        points = mle.likelihood_for(m, n_points)
        check_gradient(lambda state: mle.objective(state, rows, points, Workers()), mle.State(A, mu, np.log(s), b))

    @pytest.mark.parametrize(("n", "m", "tolerance"), [(3, 1, 5e-5), (3, 2, 5e-5), (3, 3, 1e-3), (4, 4, 5e-3)])
    def test_equals_orthant_probabilities_of_scipy(self, n, m, tolerance):
        """SciPy's own numbers are good to 1e-6, which is 2e-5 of a probability of 1/20."""
        parameters = random_parameters(n, m, 1)
        X = rows_with_missing(n, 5, seed=2)
        exact = [
            np.log(twin.orthant_probability(x, *(p if k == 0 else p[0] for k, p in enumerate(parameters[:3]))))
            for x in X
        ]
        points = mle.likelihood_for(m, 64 if m <= 2 else 1 << 14)
        state = mle.start(parameters)
        for x, expected in zip(X, exact, strict=True):
            rows = count_rows(BinaryData.of(x[None]), np.zeros(1, dtype=int), 1)
            assert mle.objective(state, rows, points, Workers())[0] == pytest.approx(expected, abs=tolerance)
        answer = posterior(
            cells_of(X), np.zeros(5, dtype=int), parameters, adapted_nodes(m, None if m <= 2 else 8192), Workers()
        )
        np.testing.assert_allclose(answer.log_likelihood, exact, atol=tolerance)

    def test_expectation_propagation_is_near_the_integral(self):
        """Too low by some hundredths at the most, and with the gradient of its own value."""
        parameters = random_parameters(5, 2, 3)._replace(intercepts=np.linspace(-1, 1, 5))
        rows = count_rows(BinaryData.of(rows_with_missing(5, 60)), np.arange(60) % 3, 3)
        state = mle.start(parameters)
        exact = mle.objective(state, rows, mle.likelihood_for(2), Workers())[0] / 60
        near = mle.objective(state, rows, Propagation(), Workers())[0] / 60
        assert -0.05 < near - exact < 0.01
        check_gradient(lambda state: mle.objective(state, rows, Propagation(), Workers()), state)

    def test_probabilities_of_all_rows_add_up_to_one(self):
        from itertools import product

        cells = np.array(list(product([0, 1], repeat=5)), dtype=np.int8)
        for m in (1, 2, 3):
            parameters = random_parameters(5, m, 1)
            found = posterior(cells, np.zeros(32, dtype=int), parameters, adapted_nodes(m), Workers())
            assert np.exp(found.log_likelihood).sum() == pytest.approx(1, abs=1e-7 if m <= 2 else 5e-3)

    def test_a_fit_maximises_the_likelihood_of_a_model(self):
        """With few points probabilities are rough, but at any state those of all rows add up to 1."""
        from itertools import product

        cells = np.array(list(product([0, 1], repeat=5)), dtype=np.int8)
        A, mu, s, _ = random_parameters(5, 4, 1, seed=3)
        nodes = mle.likelihood_for(4, 16)
        log_p = [nodes.gradient(x[None], np.ones(1), 2 * A, mu[0], s[0], np.ones(5))[0] for x in cells]
        assert np.exp(log_p).sum() == pytest.approx(1, abs=1e-12)

    def test_blocks_of_rows_add_up(self, monkeypatch):
        A, mu, s, _ = random_parameters(4, 3, 1)
        cells, counts = cells_of(rows_with_missing(4, 23)), np.arange(1.0, 24)
        nodes = mle.likelihood_for(3, 64)
        whole = nodes.gradient(cells, counts, A, mu[0], s[0], np.ones(4))
        monkeypatch.setattr(mle, "BLOCK", 5 * 64)
        for once, part in zip(whole, nodes.gradient(cells, counts, A, mu[0], s[0], np.ones(4)), strict=True):
            np.testing.assert_allclose(part, once, rtol=1e-12)

    def test_equal_rows_are_counted_and_the_sum_is_that_of_single_rows(self):
        X = np.repeat(rows_with_missing(4, 6), [1, 2, 3, 1, 5, 4], axis=0)
        codes = np.arange(16) % 2
        rows = count_rows(BinaryData.of(X), codes, 2)
        assert rows.counts.sum() == 16
        assert len(rows.counts) < 16
        parameters = random_parameters(4, 2, 2)
        state = mle.start(parameters)
        value, _ = mle.objective(state, rows, mle.likelihood_for(2), Workers())
        single = posterior(cells_of(X), codes, parameters, adapted_nodes(2), Workers())
        assert value == pytest.approx(single.log_likelihood.sum(), abs=1e-5)


class TestOrthants:
    """The likelihood as published, by the multivariate normal distribution function."""

    def test_equals_the_twin_and_the_integral_and_gradient_finite_differences(self):
        A, mu, s, _ = random_parameters(4, 2, 1)
        cells, counts = cells_of(rows_with_missing(4, 6)), np.arange(1.0, 7.0)
        exact = mle.OrthantProbabilities()
        value, *gradient = exact.gradient(cells, counts, A, mu[0], s[0], np.zeros(4))
        rows = np.where(cells < 0, np.nan, cells)
        log_p = [np.log(twin.orthant_probability(x, A, mu[0], s[0])) for x in rows]
        assert value == pytest.approx(counts @ log_p, rel=1e-4)
        near, *integrated = mle.likelihood_for(2).gradient(cells, counts, A, mu[0], s[0], np.zeros(4))
        assert value == pytest.approx(near, rel=1e-4)
        for one, other in zip(gradient, integrated, strict=True):
            np.testing.assert_allclose(one, other, atol=0.01 * np.abs(other).max())

    def test_a_fit_is_near_that_by_integration(self):
        truth = simulated.binary_ica(60, 3, 1, 3, random_state=0)
        one, other = (
            BinaryICA(1, method="mle", likelihood=kind, max_iter=30, tol=1e-4, random_state=0)
            .fit(truth.X, segments=truth.segments)
            .mixing_
            for kind in ("exact", "integrated")
        )
        np.testing.assert_allclose(one, other, atol=0.05)

    def test_many_columns_are_refused(self):
        with pytest.raises(DataError, match="at most 10 columns, and there are 11; use likelihood='integrated'"):
            BinaryICA(1, method="mle", likelihood="exact").fit(np.eye(12, 11, dtype=int), segments=2)


class TestIvae:
    def state(self, n=3, m=2, U=2):
        rng = np.random.default_rng(5)
        A, mu, s, _ = random_parameters(n, m, U)
        shape = (U, m)
        return ivae.State(
            *(A, mu, np.log(s), rng.normal(0, 0.3, (m, n)), rng.normal(0, 1, shape), rng.normal(-1, 0.3, shape)),
            rng.normal(0, 1, n),
        )

    def test_bound_equals_twin_and_gradient_finite_differences(self):
        X, codes = rows_with_missing(3, 8), np.array([0, 0, 0, 1, 1, 1, 1, 1])
        rows = count_rows(BinaryData.of(X), codes, 2)
        A, mu, log_s, E, b, log_v, c = state = self.state()
        value, _ = ivae.objective(state, rows)
        expected = twin.evidence_bound(X, codes, A, mu, np.exp(log_s), E, b, np.exp(log_v), c)
        assert value == pytest.approx(expected, rel=1e-5)
        check_gradient(lambda s: ivae.objective(s, rows), state)

    @pytest.mark.parametrize("offset", [0.0, 0.8])
    def test_columns_of_different_rates_have_intercepts(self, offset):
        rng = np.random.default_rng(3)
        truth = simulated.binary_ica(300, 8, 2, 20, random_state=3)
        u = truth.segments
        Z = truth.means[u] + truth.scales[u] * rng.standard_normal((len(u), 2))
        intercepts = offset * rng.choice([-1, 1], 8)
        X = rng.random((len(u), 8)) < ndtr(LINK * Z @ truth.mixing.T + intercepts)
        model = BinaryICA(2, method="ivae", n_init=2, random_state=0).fit(X.astype(int), segments=u)
        assert mean_cosine_similarity(truth.mixing, model.mixing_) > 0.95
        implied = model.sample(40_000, random_state=0).mean(axis=0)
        np.testing.assert_allclose(implied, X.mean(axis=0), atol=0.03)

    def test_as_many_sources_as_columns_need_no_intercepts(self):
        rows = count_rows(BinaryData.of(rows_with_missing(3, 20)), np.zeros(20, dtype=int), 1)
        state = ivae.start(rows, 3, np.random.default_rng(0))
        assert state.c.tolist() == [0.0]
        assert ivae.objective(state, rows)[1].c.tolist() == [0.0]

    def test_recovers_few_sources_behind_many_columns(self):
        truth = simulated.binary_ica(200, 10, 2, 10, random_state=0)
        model = BinaryICA(2, method="ivae", n_init=1, random_state=0).fit(truth.X, segments=truth.segments)
        assert mean_cosine_similarity(truth.mixing, model.mixing_) > 0.95
        assert_nondecreasing(model.objective_history_)
