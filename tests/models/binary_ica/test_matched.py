"""Matched shrinkage: the objective against its twin, what it is maximal at, and columns that say nothing."""

import numpy as np
import pytest
from scipy.stats import norm

from latentbits import simulate as simulated
from latentbits.data.binary_data import BinaryData
from latentbits.fitting.climb import flatten
from latentbits.models.binary_ica import matched
from latentbits.models.binary_ica.estimator import BinaryICA, warn_about_strength
from latentbits.models.binary_ica.identifiability import mean_cosine_similarity
from latentbits.models.binary_ica.learners import segment_correlations
from latentbits.models.binary_ica.parameters import LINK, Prior, pairwise_from_model
from latentbits.storage.persistence import load_model, save_model
from tests.models.binary_ica.tools import NAN, TRUTH, check_gradient, random_parameters
from tests.reference import binary_ica as twin

NONE = Prior(0.0, 0.0)


def exact(parameters, delta, n_rows):
    C, t, _ = pairwise_from_model(*parameters)
    return matched.Statistics(C, t, delta, n_rows, np.zeros(C.shape, dtype=bool))


class TestObjective:
    rng = np.random.default_rng(3)
    statistics = exact(random_parameters(5, 3, 4, seed=1), rng.uniform(0.2, 3, (4, 5)), np.array([5.0, 9, 2, 4]))

    @pytest.mark.parametrize("m", [1, 3, 5])
    def test_equals_twin_and_gradient_finite_differences(self, m):
        rng = np.random.default_rng(m)
        state = matched.State(rng.normal(0, 1, (5, m)), rng.normal(0, 0.5, (4, m)))
        value, _ = matched.objective(state, self.statistics, Prior())
        C, _, delta, N, *_ = self.statistics
        assert value == pytest.approx(twin.matched_objective(state.A, np.exp(state.log_s), C, delta, N, 0.4, 3.0))
        check_gradient(lambda s: matched.objective(s, self.statistics, Prior()), state)

    def test_the_truth_is_the_maximum_on_its_own_statistics_whatever_delta(self):
        truth = random_parameters(5, 3, 4, seed=1)
        at_truth = matched.State(LINK * truth.mixing, np.log(truth.scales))
        value, gradient = matched.objective(at_truth, self.statistics, NONE)
        np.testing.assert_allclose(flatten(gradient), 0, atol=1e-10)
        rng = np.random.default_rng(0)
        for _ in range(20):
            other = matched.State(*(a + rng.normal(0, 0.1, a.shape) for a in at_truth))
            assert matched.objective(other, self.statistics, NONE)[0] < value

    def test_a_column_without_information_has_no_part_in_its_segment(self):
        constant = np.zeros((4, 5), dtype=bool)
        constant[1, 2] = True
        delta = np.where(constant, matched.NO_INFORMATION, self.statistics.delta)
        without = self.statistics._replace(delta=delta)
        changed = without._replace(correlations=without.correlations.copy())
        changed.correlations[1, 2, [0, 1, 3, 4]] = changed.correlations[1, [0, 1, 3, 4], 2] = -0.3
        state = matched.State(np.random.default_rng(1).normal(0, 1, (5, 2)), np.zeros((4, 2)))
        one, other = (matched.objective(state, statistics, NONE) for statistics in (without, changed))
        assert one[0] == pytest.approx(other[0], abs=1e-6)
        np.testing.assert_allclose(flatten(one[1]), flatten(other[1]), atol=1e-6)


class TestArcsine:
    truth = random_parameters(5, 3, 4, seed=1)
    C = pairwise_from_model(*truth).correlations
    nugget = np.random.default_rng(2).uniform(0.05, 1, (4, 5))
    cells = matched.CellCorrelations.of(C, nugget, np.array([5.0, 9, 2, 4]))

    @pytest.mark.parametrize("m", [1, 3, 5])
    def test_equals_twin_and_gradient_finite_differences(self, m, monkeypatch):
        monkeypatch.setattr(matched, "BLOCK", 30)  # a segment a block
        rng = np.random.default_rng(m)
        state = matched.State(rng.normal(0, 1, (5, m)), rng.normal(0, 0.5, (4, m)))

        def function(state):
            value, by_A, by_log_s = matched.cell_objective(*state, self.cells, Prior())
            return value, matched.State(by_A, by_log_s)

        expected = twin.arcsine_objective(
            state.A, np.exp(state.log_s), self.C, self.nugget, self.cells.n_rows, 0.4, 3.0
        )
        assert function(state)[0] == pytest.approx(expected)
        check_gradient(function, state)

    def test_the_truth_is_the_maximum_on_its_own_statistics(self):
        at_truth = matched.State(LINK * self.truth.mixing, np.log(self.truth.scales))
        value, by_A, by_log_s = matched.cell_objective(*at_truth, self.cells, NONE)
        np.testing.assert_allclose(by_A, 0, atol=1e-9)
        np.testing.assert_allclose(by_log_s, 0, atol=1e-9)
        rng = np.random.default_rng(0)
        for _ in range(20):
            other = matched.State(*(a + rng.normal(0, 0.1, a.shape) for a in at_truth))
            assert matched.cell_objective(*other, self.cells, NONE)[0] < value

    def test_blocks_of_segments_change_nothing(self, monkeypatch):
        state = matched.State(np.ones((5, 1)), np.zeros((4, 1)))
        whole = matched.cell_objective(*state, self.cells, Prior())
        monkeypatch.setattr(matched, "BLOCK", 60)
        for a, b in zip(whole, matched.cell_objective(*state, self.cells, Prior()), strict=True):
            np.testing.assert_allclose(a, b)


class TestDelta:
    def test_is_the_variance_of_tetrachoric_correlations_of_independent_columns(self):
        """In many tables of independent columns, N times the variance is (1 + delta_i) (1 + delta_j)."""
        rng = np.random.default_rng(0)
        N, p = 400, np.array([0.5, 0.2])
        X = (rng.random((1000 * N, 2)) < p).astype(np.int8)
        found = segment_correlations(BinaryData.of(X), np.repeat(np.arange(1000), N))
        expected = np.prod(p * (1 - p) / norm.pdf(norm.ppf(p)) ** 2) / N
        assert found.correlations[:, 0, 1].var() == pytest.approx(expected, rel=0.12)
        statistics = matched.statistics_of(found, np.full(1000, float(N)))
        delta = statistics.delta - matched.NOISE * np.sqrt(2 / N)
        assert np.prod(1 + delta, axis=1).mean() / N == pytest.approx(expected, rel=0.02)

    def test_missing_cells_make_it_larger(self):
        X = TRUTH.X.astype(float)
        X[np.random.default_rng(0).random(len(X)) < 0.5, 0] = NAN
        n_rows = np.bincount(TRUTH.segments).astype(float)
        whole, part = (
            matched.statistics_of(segment_correlations(BinaryData.of(x), TRUTH.segments), n_rows).delta
            for x in (TRUTH.X, X)
        )
        np.testing.assert_array_equal(whole[:, 1:], part[:, 1:])
        assert np.median((1 + part[:, 0]) / (1 + whole[:, 0])) == pytest.approx(2, rel=0.25)

    def test_a_condition_number_is_obeyed(self):
        found = segment_correlations(BinaryData.of(TRUTH.X), TRUTH.segments)
        statistics = matched.statistics_of(found, np.full(10, 100.0), 5.0)
        shrunk = found.correlations + statistics.delta[:, :, None] * np.eye(6)
        assert np.linalg.cond(shrunk).max() == pytest.approx(5)


class TestFits:
    def test_no_ceiling_with_many_rows(self):
        """The published form stays at 0.99 however many rows there are."""
        truth = simulated.binary_ica(10_000, 5, 5, 20, random_state=3)
        found = {}
        for shrinkage in ("matched", "published"):
            model = BinaryICA(5, shrinkage=shrinkage, n_init=2, random_state=0)
            model.fit(truth.X, segments=truth.segments)
            found[shrinkage] = mean_cosine_similarity(truth.mixing, model.mixing_)
        assert found["matched"] > 0.996
        assert found["matched"] > found["published"] + 0.002

    @pytest.mark.filterwarnings("ignore:almost copies")
    def test_strong_correlations_stay_strong(self):
        rng = np.random.default_rng(0)
        common = rng.standard_normal(2000) * np.repeat([1.0, 3.0], 1000)
        X = (common[:, None] * 8 + rng.standard_normal((2000, 5)) > 0).astype(int)
        segments = np.repeat([0, 1], 1000)
        implied = {}
        for shrinkage in ("matched", "published"):
            model = BinaryICA(1, shrinkage=shrinkage, n_init=2, random_state=0).fit(X, segments=segments)
            C = pairwise_from_model(model.mixing_, model.source_means_, model.source_scales_).correlations
            implied[shrinkage] = C[0, 0, 1]
        assert implied["matched"] > 0.97
        assert implied["published"] < 0.93

    @pytest.mark.filterwarnings("ignore:constant columns")
    def test_a_column_that_is_constant_in_half_of_the_segments(self):
        truth = simulated.binary_ica(500, 8, 3, 20, random_state=0)
        X = truth.X.copy()
        X[truth.segments < 10, 0] = 0
        model = BinaryICA(3, n_init=3, random_state=0).fit(X, segments=truth.segments)
        assert mean_cosine_similarity(truth.mixing, model.mixing_) > 0.98
        published = BinaryICA(3, shrinkage="published", n_init=3, random_state=0).fit(X, segments=truth.segments)
        assert mean_cosine_similarity(truth.mixing, published.mixing_) < 0.97

    def test_columns_never_seen_together_are_filled_in_by_the_model(self):
        truth = simulated.binary_ica(400, 8, 2, 10, random_state=0)
        X = truth.X.astype(float)
        half = np.arange(len(X)) % 2 == 0
        X[half, 0] = NAN
        X[~half, 1] = NAN
        model = BinaryICA(2, n_init=2, random_state=0).fit(X, segments=truth.segments)
        C = pairwise_from_model(model.mixing_, model.source_means_, model.source_scales_).correlations
        true = pairwise_from_model(truth.mixing, truth.means, truth.scales).correlations
        assert np.abs(C[:, 0, 1] - true[:, 0, 1]).mean() < 0.1
        assert np.abs(true[:, 0, 1]).mean() > 0.3, "or filling in with 0 would do"

    def test_many_columns_are_left_in_the_form_of_low_rank(self, model, monkeypatch):
        monkeypatch.setattr(matched, "MOST_COLUMNS", 5)
        plain = BinaryICA(2, random_state=0, n_init=2).fit(TRUTH.X, segments=TRUTH.segments)
        assert mean_cosine_similarity(plain.mixing_, model.mixing_) > 0.99
        assert (plain.mixing_ != model.mixing_).all()

    @pytest.mark.filterwarnings("ignore:an entry of mixing_")
    def test_the_prior_changes_the_answer_and_can_be_left_out(self):
        models = [BinaryICA(2, prior=prior, n_init=1, random_state=0) for prior in (0, 1, 50)]
        sizes = [np.linalg.norm(m.fit(TRUTH.X, segments=TRUTH.segments).mixing_) for m in models]
        assert sizes[0] > sizes[1] > 1.1 * sizes[2]

    @pytest.mark.filterwarnings("ignore")
    def test_a_strong_prior_leaves_a_model_that_can_be_kept(self, tmp_path):
        """It makes the mixing tiny, and the means of sources as large, for columns keep their shares of ones."""
        X = np.ones((33, 2))
        X[::7, 0] = 0
        model = BinaryICA(1, prior=9000.0, n_segments=4, n_init=1, max_iter=32, n_points=3, random_state=839).fit(X)
        assert np.abs(model.source_means_).max() > 1e9
        save_model(model, tmp_path / "model.npz")
        assert np.isfinite(load_model(tmp_path / "model.npz").score_samples(X)).all()
        with pytest.raises(ValueError, match=r"prior=10000\.0 must be a number of at least 0 and below 10000"):
            BinaryICA(1, prior=1e4).fit(X)

    def test_runaway_entries_and_copies_are_warned_about(self):
        rng = np.random.default_rng(1)
        X = rng.integers(0, 2, (400, 4))
        for copy in (X[:, 0], 1 - X[:, 0], np.where(rng.random(400) < 0.03, 1 - X[:, 0], X[:, 0])):
            X[:, 1] = copy
            with pytest.warns(UserWarning, match="almost copies .* opposite: column 1, column 2, with"):
                BinaryICA(1, n_init=1, random_state=0).fit(X, segments=4)
        strong = random_parameters(4, 2, 3)
        strong.mixing[2, 1] = -244.0
        with pytest.warns(UserWarning, match=r"an entry of mixing_ is -244 \(wine, source 1\)"):
            warn_about_strength(strong, ["tea", "milk", "wine", "water"], stacklevel=2)

    @pytest.mark.parametrize("method", ["blica", "mle"])
    @pytest.mark.filterwarnings("ignore:almost copies")
    def test_copies_count_as_one_column_and_share_its_row(self, method):
        truth = simulated.binary_ica(150, 6, 2, 10, random_state=0)
        rng = np.random.default_rng(0)
        copy = np.where(rng.random(1500) < 0.005, 1 - truth.X[:, 0], truth.X[:, 0])
        X = np.column_stack([truth.X, copy, 1 - copy])
        model = BinaryICA(2, method=method, n_init=2, random_state=0).fit(X, segments=truth.segments)
        assert mean_cosine_similarity(truth.mixing, model.mixing_[:6]) > 0.98
        np.testing.assert_allclose(model.mixing_[[6, 7]], model.mixing_[0] * [[1], [-1]], rtol=1e-12)
        np.testing.assert_allclose(model.sample(40_000, random_state=0).mean(axis=0), X.mean(axis=0), atol=0.03)
        if method == "blica":
            found = model.bootstrap(X, truth.segments, n_samples=4)
            np.testing.assert_allclose(found.mixings[:, 6], found.mixings[:, 0], rtol=1e-12)

    def test_pairs_more_alike_than_the_sources_make_them_spoil_nothing(self):
        """Two columns of which 8 % of cells differ from another's, or its opposite's."""
        truth = simulated.binary_ica(150, 6, 2, 10, random_state=5)
        rng = np.random.default_rng(5)
        like, unlike = (np.where(rng.random(1500) < 0.08, 1 - truth.X[:, j], truth.X[:, j]) for j in (0, 1))
        X = np.column_stack([truth.X, like, 1 - unlike])
        with pytest.warns(
            UserWarning, match="^more alike than the sources .*: column 1 and column 7, column 2 and column 8; "
        ):
            model = BinaryICA(2, n_init=2, random_state=0).fit(X, segments=truth.segments)
        assert mean_cosine_similarity(truth.mixing, model.mixing_[:6]) > 0.97  # 0.7 with their correlations in the fit
        found = model.bootstrap(X, truth.segments, n_samples=6)
        similar = [mean_cosine_similarity(model.mixing_, mixing) for mixing in found.mixings]
        assert min(similar) > 0.95
        assert (found.mixing.low <= found.mixing.high).all()

    def test_pairs_of_the_model_itself_are_not_left_out(self):
        for seed in range(4):
            truth = simulated.binary_ica(150, 10, 3, 10, random_state=seed)
            BinaryICA(3, n_init=1, random_state=0).fit(truth.X, segments=truth.segments)  # a warning would be an error
