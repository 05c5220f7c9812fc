"""BinaryICA: its objectives, its integrals, and what it recovers."""

import pickle
import warnings

import numpy as np
import pandas as pd
import pytest
from scipy.special import ndtr

from latentbits.data.binary_data import BinaryData
from latentbits.data.simulate import binary_ica as simulated
from latentbits.errors import DataError
from latentbits.fitting.monitor import Monitor
from latentbits.fitting.workers import Workers
from latentbits.models.binary_ica import blica, ivae, mle
from latentbits.models.binary_ica.ascent import ascend, flatten, unflatten
from latentbits.models.binary_ica.estimator import BinaryICA
from latentbits.models.binary_ica.identifiability import identifiability, mean_cosine_similarity
from latentbits.models.binary_ica.parameters import (
    LINK,
    PairwiseStatistics,
    Parameters,
    canonical,
    pairwise_from_model,
)
from latentbits.models.binary_ica.posterior import adapted_nodes, posterior, posterior_of_mixture
from latentbits.models.binary_ica.rows import count_rows
from latentbits.models.binary_ica.segments import segments_by_length
from tests.reference import binary_ica as twin
from tests.reference.assertions import assert_nondecreasing

NAN = np.nan
TRUTH = simulated.binary_ica(100, 6, 2, 10, random_state=3)
UNEQUAL = np.flatnonzero((TRUTH.segments % 2 == 0) | (np.arange(1000) % 3 == 0))
"""Rows that leave segments of 100 and of 33 or 34 rows."""


def random_parameters(n, m, U, seed=0):
    rng = np.random.default_rng(seed)
    return Parameters(rng.uniform(-2, 2, (n, m)), rng.uniform(-0.5, 0.5, (U, m)), rng.uniform(0.5, 2, (U, m)))


def rows_with_missing(n, N, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 2, (N, n)).astype(float)
    X[rng.random((N, n)) < 0.15] = NAN
    return X


def cells_of(X):
    return BinaryData.of(X).dense()


def check_gradient(function, state, seed=0):
    """The gradient, part by part, against finite differences along random directions."""
    rng = np.random.default_rng(seed)
    _, gradient = function(state)
    for part in range(len(state)):
        direction = [rng.standard_normal(a.shape) if k == part else np.zeros_like(a) for k, a in enumerate(state)]
        slope = twin.finite_difference(lambda *a: function(type(state)(*a))[0], state, direction)
        expected = float(np.sum(gradient[part] * direction[part]))
        assert slope == pytest.approx(expected, rel=1e-5, abs=1e-5), type(state)._fields[part]
        assert abs(expected) > 1e-3, "a gradient of 0 would prove nothing"


@pytest.fixture(scope="module")
def model():
    return BinaryICA(2, random_state=0, n_init=2).fit(TRUTH.X, segments=TRUTH.segments)


class TestAscent:
    def test_flatten_and_back(self):
        state = mle.State(*random_parameters(4, 2, 3))
        again = unflatten(flatten(state), state)
        assert type(again) is mle.State
        for a, b in zip(again, state, strict=True):
            np.testing.assert_array_equal(a, b)

    def test_finds_the_top_of_a_parabola_and_says_so(self):
        top = mle.State(*random_parameters(3, 2, 2))

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
        np.testing.assert_allclose(blica.source_means(truth.mixing, truth.scales, thresholds), truth.means, atol=1e-6)

    def test_means_for_more_sources_than_columns_explain_the_thresholds(self):
        truth = random_parameters(3, 5, 2)
        thresholds = pairwise_from_model(*truth).thresholds
        means = blica.source_means(truth.mixing, truth.scales, thresholds)
        again = pairwise_from_model(truth.mixing, means, truth.scales).thresholds
        np.testing.assert_allclose(again, thresholds, atol=1e-5)


class TestLikelihood:
    @pytest.mark.parametrize(("n", "m", "n_points"), [(4, 1, 40), (4, 2, 24), (4, 3, 32), (3, 5, 32)])
    def test_gradient_equals_finite_differences(self, n, m, n_points):
        rows = count_rows(BinaryData.of(rows_with_missing(n, 40)), np.arange(40) % 3, 3)
        A, mu, s = random_parameters(n, m, 3)
        points = mle.integrator(n, m, n_points)
        check_gradient(lambda state: mle.objective(state, rows, points, Workers()), mle.State(A, mu, np.log(s)))

    @pytest.mark.parametrize(("n", "m", "tolerance"), [(3, 1, 5e-5), (3, 2, 5e-5), (3, 3, 1e-3), (4, 4, 5e-3)])
    def test_equals_orthant_probabilities_of_scipy(self, n, m, tolerance):
        """SciPy's own numbers are good to 1e-6, which is 2e-5 of a probability of 1/20."""
        parameters = random_parameters(n, m, 1)
        X = rows_with_missing(n, 5, seed=2)
        exact = [
            np.log(twin.orthant_probability(x, *(p if k == 0 else p[0] for k, p in enumerate(parameters)))) for x in X
        ]
        points = mle.integrator(n, m, 64 if m <= 2 else 4096)
        state = mle.State(parameters.mixing, parameters.means, np.log(parameters.scales))
        for x, expected in zip(X, exact, strict=True):
            rows = count_rows(BinaryData.of(x[None]), np.zeros(1, dtype=int), 1)
            assert mle.objective(state, rows, points, Workers())[0] == pytest.approx(expected, abs=tolerance)
        answer = posterior(
            cells_of(X), np.zeros(5, dtype=int), parameters, adapted_nodes(m, None if m <= 2 else 8192), Workers()
        )
        np.testing.assert_allclose(answer.log_likelihood, exact, atol=tolerance)

    def test_probabilities_of_all_rows_add_up_to_one(self):
        from itertools import product

        cells = np.array(list(product([0, 1], repeat=5)), dtype=np.int8)
        for m in (1, 2, 3):
            parameters = random_parameters(5, m, 1)
            found = posterior(cells, np.zeros(32, dtype=int), parameters, adapted_nodes(m), Workers())
            assert np.exp(found.log_likelihood).sum() == pytest.approx(1, abs=1e-7 if m <= 2 else 5e-3)

    def test_equal_rows_are_counted_and_the_sum_is_that_of_single_rows(self):
        X = np.repeat(rows_with_missing(4, 6), [1, 2, 3, 1, 5, 4], axis=0)
        codes = np.arange(16) % 2
        rows = count_rows(BinaryData.of(X), codes, 2)
        assert rows.counts.sum() == 16
        assert len(rows.counts) < 16
        parameters = random_parameters(4, 2, 2)
        state = mle.State(parameters.mixing, parameters.means, np.log(parameters.scales))
        value, _ = mle.objective(state, rows, mle.integrator(4, 2), Workers())
        single = posterior(cells_of(X), codes, parameters, adapted_nodes(2), Workers())
        assert value == pytest.approx(single.log_likelihood.sum(), abs=1e-5)


class TestPosterior:
    @pytest.mark.parametrize("m", [1, 2])
    def test_equals_brute_force_integration(self, m):
        parameters = random_parameters(4, m, 2)
        X = rows_with_missing(4, 5)
        codes = np.array([0, 1, 0, 1, 1])
        found = posterior(cells_of(X), codes, parameters, adapted_nodes(m), Workers())
        for r, (x, u) in enumerate(zip(X, codes, strict=True)):
            p, mean, sd = twin.posterior(x, parameters.mixing, parameters.means[u], parameters.scales[u], 101)
            assert found.log_likelihood[r] == pytest.approx(np.log(p), abs=1e-6)
            np.testing.assert_allclose(found.mean[r], mean, atol=1e-6)
            np.testing.assert_allclose(np.sqrt(found.variance[r]), sd, atol=1e-6)

    def test_more_sources_come_near_a_problem_of_two(self):
        """A third source that reaches no column has its prior, and leaves the others as they are."""
        two = random_parameters(5, 2, 1)
        three = Parameters(
            np.column_stack([two.mixing, np.zeros(5)]),
            np.column_stack([two.means, [[0.3]]]),
            np.column_stack([two.scales, [[1.5]]]),
        )
        X, codes = cells_of(rows_with_missing(5, 8)), np.zeros(8, dtype=int)
        exact = posterior(X, codes, two, adapted_nodes(2), Workers())
        found = posterior(X, codes, three, adapted_nodes(3, 8192), Workers())
        np.testing.assert_allclose(found.log_likelihood, exact.log_likelihood, atol=3e-3)
        np.testing.assert_allclose(found.mean[:, :2], exact.mean, atol=1e-2)
        np.testing.assert_allclose(found.mean[:, 2], 0.3, atol=1e-2)
        np.testing.assert_allclose(np.sqrt(found.variance[:, 2]), 1.5, atol=2e-2)

    def test_many_columns_leave_a_narrow_posterior_around_the_truth(self):
        truth = simulated.binary_ica(50, 80, 4, 1, random_state=0)
        parameters = Parameters(truth.mixing, truth.means, truth.scales)
        found = posterior(truth.X, truth.segments, parameters, adapted_nodes(4), Workers())
        deviation = (truth.sources - found.mean) / np.sqrt(found.variance)
        assert 0.85 < np.sqrt(np.mean(deviation**2)) < 1.15, "the posterior sd is that of the errors"
        assert np.sqrt(found.variance).mean() < 0.5 * truth.scales.mean()

    def test_unknown_segments_are_averaged_over(self):
        parameters = random_parameters(4, 2, 3)
        X = cells_of(rows_with_missing(4, 6))
        share = np.array([0.5, 0.0, 0.5])
        found = posterior_of_mixture(X, share, parameters, adapted_nodes(2), Workers())
        each = [posterior(X, np.full(6, u), parameters, adapted_nodes(2), Workers()) for u in (0, 2)]
        p = np.exp([part.log_likelihood for part in each]) / 2
        w = p / p.sum(axis=0)
        mean = w[0][:, None] * each[0].mean + w[1][:, None] * each[1].mean
        np.testing.assert_allclose(found.log_likelihood, np.log(p.sum(axis=0)))
        np.testing.assert_allclose(found.mean, mean)
        second = sum(wu[:, None] * (part.variance + part.mean**2) for wu, part in zip(w, each, strict=True))
        np.testing.assert_allclose(found.variance, second - mean**2)


class TestIvae:
    def state(self, n=3, m=2, U=2):
        rng = np.random.default_rng(5)
        A, mu, s = random_parameters(n, m, U)
        shape = (U, m)
        return ivae.State(
            A, mu, np.log(s), rng.normal(0, 0.3, (m, n)), rng.normal(0, 1, shape), rng.normal(-1, 0.3, shape)
        )

    def test_bound_equals_twin_and_gradient_finite_differences(self):
        X, codes = rows_with_missing(3, 8), np.array([0, 0, 0, 1, 1, 1, 1, 1])
        rows = count_rows(BinaryData.of(X), codes, 2)
        A, mu, log_s, E, b, log_v = state = self.state()
        value, _ = ivae.objective(state, rows)
        expected = twin.evidence_bound(X, codes, A, mu, np.exp(log_s), E, b, np.exp(log_v))
        assert value == pytest.approx(expected, rel=1e-5)
        check_gradient(lambda s: ivae.objective(s, rows), state)

    def test_recovers_few_sources_behind_many_columns(self):
        truth = simulated.binary_ica(200, 10, 2, 10, random_state=0)
        model = BinaryICA(2, method="ivae", n_init=1, random_state=0).fit(truth.X, segments=truth.segments)
        assert mean_cosine_similarity(truth.mixing, model.mixing_) > 0.95
        assert_nondecreasing(model.objective_history_)


class TestIdentifiability:
    TABLE_1 = """
        -6 -9 -12 -15 -18 -21 -24 -27 -30
        -7 -9 -10 -10 -9 -7 -4 0 5
        -8 -9 -8 -5 0 7 16 27 40
        -9 -9 -6 0 9 21 36 54 75
        -10 -9 -4 5 18 35 56 81 110"""

    def test_equals_table_1_of_the_paper(self):
        table = np.array(self.TABLE_1.split(), dtype=int).reshape(5, 9)
        ours = [[identifiability(n, n, U) for n in range(2, 11)] for U in range(2, 7)]
        np.testing.assert_array_equal(ours, table)

    @pytest.mark.filterwarnings("ignore:constant columns")
    def test_fit_warns_of_what_cannot_be_identified(self):
        with pytest.warns(UserWarning, match="4 columns in 4 segments are few for 4 components"):
            BinaryICA(n_init=1, n_segments=4, random_state=0).fit(TRUTH.X[:, :4])
        with pytest.warns(UserWarning, match="two columns don't tell"):
            BinaryICA(1, n_init=1, random_state=0).fit(TRUTH.X[:, :2])
        with pytest.warns(UserWarning, match="one segment leaves the sources free to rotate"):
            BinaryICA(2, n_init=1, n_segments=1, random_state=0).fit(TRUTH.X)
        with pytest.warns(UserWarning, match="rows each on average"):
            BinaryICA(1, n_init=1, n_segments=30, random_state=0).fit(TRUTH.X[:60])

    def test_similarity_is_free_of_scale_sign_and_order(self):
        A = random_parameters(5, 3, 1).mixing
        assert mean_cosine_similarity(A, -2 * A[:, [2, 0, 1]]) == pytest.approx(1)
        assert mean_cosine_similarity(A, A[:, :2]) == pytest.approx(2 / 3)
        assert mean_cosine_similarity([[1, 0], [0, 1]], [[1, 0], [1, 0]]) == pytest.approx(0.5**0.5 / 2)
        with pytest.raises(ValueError, match="same variables"):
            mean_cosine_similarity(A, A[:3])


class TestSegments:
    def test_by_length(self):
        lengths = np.bincount(segments_by_length(103, 10))
        assert lengths.sum() == 103
        assert set(lengths.tolist()) == {10, 11}
        assert (np.diff(segments_by_length(103, 10)) >= 0).all()
        with pytest.raises(DataError, match="at most 3"):
            segments_by_length(3, 4)

    def test_none_cuts_the_series_into_n_segments(self, model):
        cut = BinaryICA(2, n_init=2, random_state=0).fit(TRUTH.X)
        np.testing.assert_array_equal(cut.mixing_, model.mixing_)
        assert BinaryICA(2, n_init=1, n_segments=4, random_state=0).fit(TRUTH.X).segments_.tolist() == [0, 1, 2, 3]

    def test_labels_of_any_type_give_the_same_model(self, model):
        names = np.array([f"year {u:02}" for u in TRUTH.segments])
        for labels in (names, names.astype(object), names.tolist(), pd.Series(names), TRUTH.segments * 0.5):
            again = BinaryICA(2, n_init=2, random_state=0).fit(TRUTH.X, segments=labels)
            np.testing.assert_array_equal(again.mixing_, model.mixing_)
        assert again.transform(TRUTH.X[:3], segments=[0.5, 0.5, 0.0]).shape == (3, 2)

    @pytest.mark.parametrize("library", ["pandas", "polars"])
    def test_a_column_of_the_frame(self, model, library):
        frames = pytest.importorskip(library)
        columns = {f"c{j}": TRUTH.X[:, j] for j in range(6)}
        columns["year"] = np.array([f"y{u}" for u in TRUTH.segments])
        frame = frames.DataFrame(columns)
        again = BinaryICA(2, n_init=2, random_state=0).fit(frame, segments="year")
        np.testing.assert_array_equal(again.mixing_, model.mixing_)
        assert again.feature_names_in_.tolist() == [f"c{j}" for j in range(6)]
        np.testing.assert_array_equal(
            again.transform(frame, segments="year"), model.transform(TRUTH.X, segments=TRUTH.segments)
        )

    def test_refusals_name_the_way_out(self, model):
        estimator = BinaryICA(2)
        with pytest.raises(DataError, match="one label for each of 1000 rows"):
            estimator.fit(TRUTH.X, segments=[1, 2])
        with pytest.raises(DataError, match="row 1 has no segment"):
            estimator.fit(TRUTH.X[:3], segments=["a", None, "b"])
        with pytest.raises(DataError, match="can't be sorted"):
            estimator.fit(TRUTH.X[:2], segments=np.array(["a", 1], dtype=object))
        with pytest.raises(DataError, match="X is no data frame"):
            estimator.fit(TRUTH.X, segments="year")
        with pytest.raises(DataError, match='no column "year"'):
            estimator.fit(pd.DataFrame(TRUTH.X), segments="year")
        with pytest.raises(DataError, match="segment 77 was not there at the fit"):
            model.transform(TRUTH.X[:2], segments=[0, 77])

    @pytest.mark.parametrize("method", ["blica", "mle", "ivae"])
    def test_a_table_without_an_observed_cell_is_refused(self, method):
        with pytest.raises(DataError, match="all 6 x 3 cells are missing"):
            BinaryICA(2, method=method).fit(np.full((6, 3), NAN), segments=[0, 1] * 3)


class TestFit:
    def test_recovers_the_mixing_and_the_scales(self, model):
        truth = canonical(Parameters(TRUTH.mixing, TRUTH.means, TRUTH.scales), np.full(10, 0.1))
        assert mean_cosine_similarity(truth.mixing, model.mixing_) > 0.98
        assert np.corrcoef(truth.scales.ravel(), model.source_scales_.ravel())[0, 1] > 0.7
        assert np.corrcoef(truth.means.ravel(), model.source_means_.ravel())[0, 1] > 0.7

    def test_six_sources_of_six_columns(self):
        truth = simulated.binary_ica(1000, 6, 6, 40, random_state=1)
        model = BinaryICA(n_init=1, random_state=0).fit(truth.X, segments=truth.segments)
        assert mean_cosine_similarity(truth.mixing, model.mixing_) > 0.95

    def test_maximum_likelihood_starts_from_blica_and_goes_on(self, model):
        full = BinaryICA(2, method="mle", n_init=2, random_state=0, n_points=32).fit(TRUTH.X, segments=TRUTH.segments)
        assert_nondecreasing(full.objective_history_)
        by_hand = full.score_samples(TRUTH.X, segments=TRUTH.segments).sum()
        assert full.objective_ == pytest.approx(by_hand, abs=0.5)
        assert by_hand > model.score_samples(TRUTH.X, segments=TRUTH.segments).sum() + 1
        assert mean_cosine_similarity(TRUTH.mixing, full.mixing_) > 0.98

    def test_maximum_likelihood_of_three_sources(self):
        truth = simulated.binary_ica(60, 6, 3, 6, random_state=0)
        full = BinaryICA(3, method="mle", n_init=1, max_iter=100, tol=1e-3, n_points=32, random_state=0)
        full.fit(truth.X, segments=truth.segments)
        assert_nondecreasing(full.objective_history_)
        start = BinaryICA(3, n_init=1, random_state=0).fit(truth.X, segments=truth.segments)
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
            rows_with_missing(1, 20),
        ],
        ids=["one row", "all 0", "one 1 a row", "constant columns", "one column"],
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

    def test_bad_parameters_are_named(self):
        for parameters in (
            {"method": "em"},
            {"condition_number": 1},
            {"n_points": 1},
            {"n_components": 0},
            {"n_segments": 0},
        ):
            (name,) = parameters
            with pytest.raises(ValueError, match=name):
                BinaryICA(**{"n_components": 2, **parameters}).fit(TRUTH.X)


class TestAnswers:
    def test_transform_is_the_posterior_mean_and_sd_its_spread(self, model):
        Z = model.transform(TRUTH.X[:4], segments=TRUTH.segments[:4])
        sd = model.posterior_sd(TRUTH.X[:4], segments=TRUTH.segments[:4])
        for x, z, d in zip(TRUTH.X[:4].astype(float), Z, sd, strict=True):
            _, mean, spread = twin.posterior(x, model.mixing_, model.source_means_[0], model.source_scales_[0], 81)
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
        np.testing.assert_allclose(P[0], 0.5)
        np.testing.assert_allclose(P[1], ndtr(LINK * (model.mixing_ @ Z[1])))
        for wrong in (np.zeros((2, 3)), [[NAN, 0.0]], [0.0, 1.0]):
            with pytest.raises(DataError, match="as transform returns them"):
                model.inverse_transform(wrong)

    def test_samples_have_the_pairs_of_the_model(self, model):
        X = model.sample(40_000, segments=5, random_state=0)
        assert X.dtype == np.int8
        exact = pairwise_from_model(model.mixing_, model.source_means_, model.source_scales_)
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


class TestSimulate:
    def test_the_recipe(self):
        truth = simulated.binary_ica(3000, 5, 3, 2, random_state=0)
        assert np.abs(truth.mixing).max() < 3
        assert np.linalg.cond(truth.mixing) < 20
        assert ((truth.scales > 0.5) & (truth.scales < 3)).all()
        assert (np.abs(truth.means) < 0.5).all()
        exact = pairwise_from_model(truth.mixing, truth.means, truth.scales)
        for u in (0, 1):
            rows = truth.segments == u
            np.testing.assert_allclose(truth.X[rows].mean(axis=0), ndtr(-exact.thresholds[u]), atol=0.04)
            np.testing.assert_allclose(truth.sources[rows].std(axis=0), truth.scales[u], rtol=0.06)
        np.testing.assert_allclose(truth.probabilities.mean(axis=0), truth.X.mean(axis=0), atol=0.03)

    def test_many_variables_are_drawn_below_the_upper_quartile(self):
        conditions = [np.linalg.cond(simulated.binary_ica(1, 20, 20, 1, random_state=k).mixing) for k in range(3)]
        rng = np.random.default_rng(9)
        assert max(conditions) < np.quantile([np.linalg.cond(rng.uniform(-3, 3, (20, 20))) for _ in range(500)], 0.8)

    def test_bad_sizes_are_refused(self):
        with pytest.raises(ValueError, match="n_segments=0"):
            simulated.binary_ica(5, 4, 2, 0)


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
