"""The factor analyst's kit: parallel analysis, minimum residuals, rotations, public repair."""

import numpy as np
import pytest

from latentbits import factor_analysis, parallel_analysis, repair_correlation
from latentbits import simulate as simulated
from latentbits.correlations.factor_analysis import minimum_residuals
from latentbits.correlations.parallel_analysis import _shuffled
from latentbits.correlations.rotation import rotate
from latentbits.correlations.tetrachoric import tetrachoric
from latentbits.errors import DataError

SIMPLE = np.array([[0.8, 0], [0.7, 0], [0.6, 0], [0, 0.9], [0, 0.5], [0, 0.7]])


def items(N=3000, correlation=0.0, seed=0):
    rng = np.random.default_rng(seed)
    F = rng.multivariate_normal([0, 0], [[1, correlation], [correlation, 1]], N)
    noise = rng.standard_normal((N, 6)) * np.sqrt(1 - (SIMPLE**2).sum(axis=1))
    return (F @ SIMPLE.T + noise > rng.uniform(-0.5, 0.5, 6)).astype(int)


class TestMinimumResiduals:
    def test_exact_correlations_are_explained_exactly(self):
        C = SIMPLE @ SIMPLE.T
        np.fill_diagonal(C, 1)
        L, u = minimum_residuals(C, 2)
        np.testing.assert_allclose(L @ L.T + np.diag(u), C, atol=1e-4)

    def test_no_uniquenesses_near_by_leave_less(self):
        C = repair_correlation(tetrachoric(items(300)).correlations)
        L, _ = minimum_residuals(C, 2)

        def left(L):
            return np.sum((C - L @ L.T)[~np.eye(6, dtype=bool)] ** 2)

        rng = np.random.default_rng(0)
        for _ in range(20):
            assert left(L + rng.normal(0, 0.03, L.shape)) > left(L)


class TestRotation:
    turn = np.array([[0.6, 0.8], [-0.8, 0.6]])

    @pytest.mark.parametrize("rotation", ["varimax", "promax", "oblimin"])
    def test_simple_structure_comes_back(self, rotation):
        found, between = rotate(SIMPLE @ self.turn, rotation)
        order = np.argsort(np.abs(found[0]))[::-1]
        np.testing.assert_allclose(np.abs(found[:, order]), SIMPLE, atol=1e-3)
        np.testing.assert_allclose(np.abs(between), np.eye(2), atol=1e-3)

    @pytest.mark.parametrize("rotation", ["varimax", "promax", "oblimin"])
    def test_the_fit_is_the_same_and_the_criterion_is_no_worse(self, rotation):
        L = np.random.default_rng(1).normal(0, 0.4, (8, 3))
        found, between = rotate(L, rotation)
        np.testing.assert_allclose(found @ between @ found.T, L @ L.T, atol=1e-8)
        np.testing.assert_allclose(np.diag(between), 1)

    def test_quartimin_is_a_minimum(self):
        L = np.random.default_rng(1).normal(0, 0.4, (8, 3))
        L /= np.linalg.norm(L, axis=1, keepdims=True)
        found, between = rotate(L, "oblimin")

        def criterion(Z):
            return sum((Z[:, j] ** 2 * Z[:, k] ** 2).sum() for j in range(3) for k in range(3) if j != k)

        T = np.linalg.cholesky(between).T  # factors with these correlations
        rng = np.random.default_rng(0)
        for _ in range(30):
            moved = T + rng.normal(0, 0.02, T.shape)
            moved /= np.linalg.norm(moved, axis=0)
            assert criterion(found @ T.T @ np.linalg.inv(moved).T) >= criterion(found) - 1e-9

    def test_correlated_factors_are_found_by_oblique_rotations_only(self):
        X = items(20_000, correlation=0.5)
        oblique = factor_analysis(X, 2)
        assert abs(oblique.factor_correlations[0, 1]) == pytest.approx(0.5, abs=0.08)
        order = np.argsort(np.abs(oblique.loadings[0]))[::-1]
        np.testing.assert_allclose(np.abs(oblique.loadings[:, order]), SIMPLE, atol=0.08)
        assert factor_analysis(X, 2, rotation="varimax").factor_correlations.tolist() == np.eye(2).tolist()


class TestKit:
    def test_without_samples_there_are_no_standard_errors(self):
        found = factor_analysis(items(500), 2)
        assert found.standard_errors is None
        assert list(found.to_frame()) == ["factor_0", "factor_1", "uniqueness"]

    def test_standard_errors_are_the_scatter_over_samples(self):
        fits = [factor_analysis(items(500, seed=seed), 2, rotation="varimax").loadings for seed in range(40)]
        first = factor_analysis(items(500), 2, rotation="varimax", n_samples=40)
        order = [np.argsort(np.abs(L[0]))[::-1] for L in fits]
        scatter = np.std([np.abs(L[:, o]) for L, o in zip(fits, order, strict=True)], axis=0)[SIMPLE > 0]
        own = np.argsort(np.abs(first.loadings[0]))[::-1]
        assert first.standard_errors[:, own][SIMPLE > 0].mean() == pytest.approx(scatter.mean(), rel=0.3)
        assert first.to_frame().shape == (6, 5)

    @pytest.mark.parametrize("n_factors", [1, 2, 4])
    def test_parallel_analysis_counts_the_factors(self, n_factors):
        truth = simulated.binary_ica(1000, 12, n_factors, 3, random_state=2)
        found = parallel_analysis(truth.X, truth.segments)
        assert found.n_factors == n_factors
        assert found.plot().axes

    def test_noise_is_that_of_shuffled_columns_and_independent_of_threads(self):
        X = items(400)
        rng = np.random.default_rng(0)
        shuffled = [np.column_stack([rng.permutation(x) for x in X.T]) for _ in range(60)]
        largest = np.quantile([parallel_analysis(Y, n_draws=1).eigenvalues[0] for Y in shuffled], 0.95)
        found = parallel_analysis(X)
        assert found.noise[0] == pytest.approx(largest, rel=0.15)
        np.testing.assert_array_equal(parallel_analysis(X, n_jobs=2).noise, found.noise)

    @pytest.mark.filterwarnings("ignore:.*empty cell", "ignore:constant columns")
    @pytest.mark.parametrize(("n_rows", "rate"), [(1000, 0.01), (200, 0.03), (100, 0.5)])
    def test_independent_columns_of_any_rate_have_no_factor(self, n_rows, rate):
        found = 0
        for seed in range(40):
            X = np.random.default_rng(seed).random((n_rows, 10)) < rate
            found += parallel_analysis(X.astype(int), n_draws=39, random_state=seed).n_factors > 0
        assert found <= 6  # 2 expected; more than 6 in 1 of 100 samples

    @pytest.mark.filterwarnings("ignore:.*empty cell")
    def test_rare_columns_do_not_hide_a_factor_of_the_others(self):
        found = []
        for seed in range(10):
            rng = np.random.default_rng(seed)
            own = rng.standard_normal((300, 5)) + 0.7 * rng.standard_normal((300, 1))
            rare = np.zeros((300, 10), dtype=int)
            rare[:6] = 1
            X = np.column_stack([own > 0.5, rng.permuted(rare, axis=0)]).astype(int)
            found.append(parallel_analysis(X, n_draws=39).n_factors)
        assert found.count(1) >= 9

    def test_shuffling_keeps_segments_and_missing_cells(self):
        rng = np.random.default_rng(0)
        cells = rng.integers(-1, 2, (3, 50)).astype(np.int8)
        codes = np.arange(50) % 2
        mixed = _shuffled(cells, codes, rng).T
        np.testing.assert_array_equal(mixed == -1, cells == -1)
        for u in (0, 1):
            np.testing.assert_array_equal(
                (mixed == 1)[:, codes == u].sum(axis=1), (cells == 1)[:, codes == u].sum(axis=1)
            )
        assert (mixed != cells).any()

    def test_refusals(self):
        with pytest.raises(DataError, match="use fewer factors than columns"):
            factor_analysis(items(50), 6)
        with pytest.raises(DataError, match="rotation"):
            factor_analysis(items(50), 2, rotation="equamax")


class TestTables:
    def test_a_diagonal_without_rows_is_no_certainty(self):
        X = [[0, 0], [1, 1]]
        with pytest.warns(UserWarning, match="in 1 of these a whole diagonal is empty"):
            found = tetrachoric(X, weights=[20, 20])
        assert found.standard_errors[0, 1] == 1.0

    def test_a_table_that_is_nearly_certain_has_a_small_error_and_says_that_the_estimate_is_at_its_limit(self):
        with pytest.warns(
            UserWarning, match=r"^1 pair of columns has a correlation beyond 0.9999 or -0.9999, .* 1 and 2"
        ):
            found = tetrachoric([[0, 0], [0, 1], [1, 0], [1, 1]], weights=[1000, 1, 1, 1000])
        assert found.correlations[0, 1] == pytest.approx(0.9999)
        assert found.standard_errors[0, 1] < 0.001

    def test_columns_never_observed_are_not_called_constant(self):
        X = np.array([[0, np.nan, 1], [1, np.nan, 0], [1, np.nan, 1], [0, np.nan, 0]])
        with pytest.warns(UserWarning, match="columns that are never observed: 2"):
            found = tetrachoric(X)
        assert found.constant.tolist() == [False, True, False]

    def test_the_representation_names_sizes_and_the_strongest_pair(self):
        found = tetrachoric([[0, 0], [0, 1], [1, 0], [1, 1]], weights=[40, 10, 10, 40])
        assert repr(found) == "Tetrachoric(2 columns; strongest: 0.81, standard error 0.074, columns 1 and 2)"
        assert found.to_pairs()["correlation"].tolist() == [found.correlations[0, 1]]

    @pytest.mark.filterwarnings("ignore:.*empty cell")
    def test_segments_in_batches_change_nothing(self, monkeypatch):
        from latentbits.correlations import tetrachoric as module

        truth = simulated.binary_ica(50, 5, 2, 7, random_state=0)
        whole = tetrachoric(truth.X, truth.segments)
        monkeypatch.setattr(module, "TABLES", 250)
        parts = tetrachoric(truth.X, truth.segments)
        np.testing.assert_array_equal(whole.correlations, parts.correlations)
        assert whole.n_pairs.dtype == np.int32
