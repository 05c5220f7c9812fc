"""The factor analyst's kit: parallel analysis, minimum residuals, rotations, public repair."""

import numpy as np
import pandas as pd
import pytest
from scipy.stats import multivariate_normal, norm

from latentbits import BinaryData, factor_analysis, parallel_analysis, repair_correlation
from latentbits import simulate as simulated
from latentbits.correlations.factor_fit import sampling_covariance
from latentbits.correlations.minimum_residuals import minimum_residuals
from latentbits.correlations.parallel_analysis import _drawn
from latentbits.correlations.rotation import rotate
from latentbits.correlations.tetrachoric import tetrachoric
from latentbits.errors import DataError
from tests.reference.coming_from import line

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

    @pytest.mark.filterwarnings("ignore:a Heywood case")
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

    @pytest.mark.parametrize("loadings", [np.zeros((3, 0)), np.array([[0.9], [0.5], [0.0]])])
    def test_drawn_tables_keep_ones_segments_and_missing_cells(self, loadings):
        rng = np.random.default_rng(0)
        cells = rng.integers(-1, 2, (3, 50)).astype(np.int8)
        codes = np.arange(50) % 2
        mixed = _drawn(cells, codes, loadings, 1 - (loadings**2).sum(axis=1), rng).T
        np.testing.assert_array_equal(mixed == -1, cells == -1)
        for u in (0, 1):
            np.testing.assert_array_equal(
                (mixed == 1)[:, codes == u].sum(axis=1), (cells == 1)[:, codes == u].sum(axis=1)
            )
        assert (mixed != cells).any()

    def test_drawn_tables_have_the_factors(self):
        loadings = np.array([[0.9, 0], [0.8, 0], [0, 0.7], [0, 0.6]])
        cells = np.random.default_rng(0).integers(0, 2, (4, 20_000)).astype(np.int8)
        unique = 1 - (loadings**2).sum(axis=1)
        drawn = _drawn(cells, np.zeros(20_000, dtype=int), loadings, unique, np.random.default_rng(1))
        expected = loadings @ loadings.T + np.diag(unique)
        np.testing.assert_allclose(tetrachoric(drawn).correlations, expected, atol=0.03)

    def test_two_factors_are_two_and_not_three(self):
        L = np.repeat(np.eye(2), 8, axis=0) * 0.4
        found = []
        for seed in range(40):  # shuffled columns alone would find three or more in 7 of these
            rng = np.random.default_rng(seed)
            Z = rng.standard_normal((300, 2)) @ L.T + rng.standard_normal((300, 16)) * np.sqrt(1 - 0.4**2)
            found.append(parallel_analysis((Z > 0.25).astype(int), n_draws=39, random_state=seed).n_factors)
        assert found.count(2) >= 35

    def test_a_weak_factor_is_found_behind_a_strong_one(self):
        L = np.column_stack([np.full(12, 0.8), [0.5] * 4 + [0] * 8])
        found = []
        for seed in range(20):  # shuffled columns alone would find one in all of these
            rng = np.random.default_rng(seed)
            noise = rng.standard_normal((300, 12)) * np.sqrt(1 - (L**2).sum(axis=1))
            found.append(
                parallel_analysis(
                    (rng.standard_normal((300, 2)) @ L.T + noise > 0.25).astype(int), n_draws=39
                ).n_factors
            )
        assert found.count(2) >= 15

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


# By R 4.2.2, psych 2.2.9 (fa of its tetrachoric, fm = "minres"; GPArotation 2022.10) and lavaan 0.6.14 (efa of ordered
# items, estimator = "ULSMV"), on items(500). psych calls varimax with eps = 1e-5; this is R's varimax with eps = 1e-14.
PSYCH = {
    "oblimin": [0.802254, 0.661189, 0.649474, -0.003897, -0.053391, 0.027234],
    "promax": [0.802760, 0.659232, 0.651254, 0.016364, -0.041015, 0.044145],
    "varimax": [0.801190, 0.662614, 0.647286, -0.023534, -0.065347, 0.010824],
}
PSYCH_BETWEEN = -0.06637717744
LAVAAN = {  # factors: chi-square, p, RMSEA with its ends, SRMR
    1: (190.2862354619, 0.0, 0.2009143181, 0.1766260264, 0.2262565610, 0.1855149397),
    2: (2.56329826233, 0.63333824547, 0.0, 0.0, 0.05505481101, 0.01730568915),
}
LAVAAN_VARIANCES = [
    *(0.003301244606, 0.003439427860, 0.005262954880, 0.005263076668, 0.005459834747, 0.003852057077, 0.005009489354),
    *(0.005120010917, 0.005227013862, 0.004956007968, 0.005017268652, 0.005093248206, 0.003561361697, 0.002704363079),
    0.004302071911,
]

# The five items of the Law School Admission Test, section 6, of Bock and Lieberman: how many of 1,000 people have
# each pattern, 00000 to 11111. Discriminations are those of psych's irt.fa, which mirt's probit slopes are near.
LSAT = [
    3,
    6,
    2,
    11,
    1,
    1,
    3,
    4,
    1,
    8,
    0,
    16,
    0,
    3,
    2,
    15,
    10,
    29,
    14,
    81,
    3,
    28,
    15,
    80,
    16,
    56,
    21,
    173,
    11,
    61,
    28,
    298,
]
LSAT_ROWS = np.repeat([[int(bit) for bit in f"{i:05b}"] for i in range(32)], LSAT, axis=0)
DISCRIMINATIONS = [0.4026533032, 0.4478309167, 0.5506046663, 0.4024794574, 0.3448056805]


class TestBesideR:
    @pytest.mark.parametrize("rotation", ["oblimin", "promax", "varimax"])
    def test_rotated_loadings_are_those_of_psych(self, rotation):
        found = factor_analysis(items(500), 2, rotation=rotation, weights="equal")
        second = found.loadings[:, np.abs(found.loadings[0]).argmax()]
        # psych's promax begins with its varimax, which stops at eps = 1e-5.
        np.testing.assert_allclose(second, PSYCH[rotation], atol=2e-3 if rotation == "promax" else 5e-5)
        if rotation == "oblimin":
            assert found.factor_correlations[0, 1] == pytest.approx(PSYCH_BETWEEN, abs=5e-5)
            other = factor_analysis(items(500), 2, weights="equal", kaiser=True)
            assert np.abs(other.loadings - found.loadings).max() > 1e-3

    @pytest.mark.parametrize("n_factors", [1, 2])
    def test_fit_is_that_of_lavaan(self, n_factors):
        fit = factor_analysis(items(500), n_factors, weights="equal").fit
        chi_square, p, rmsea, low, high, srmr = LAVAAN[n_factors]
        assert fit.chi_square == pytest.approx(chi_square, rel=0.01)
        assert (fit.df, fit.p_value) == (14 - 5 * n_factors, pytest.approx(p, abs=0.01))
        assert (fit.rmsea, fit.rmsea_low, fit.rmsea_high) == pytest.approx((rmsea, low, high), abs=1e-3)
        assert fit.srmr == pytest.approx(srmr, abs=2e-5)
        assert f"RMSEA {fit.rmsea:.3f}" in repr(fit)

    def test_the_sampling_covariance_is_that_of_lavaan(self):
        data = BinaryData.of(items(500))
        found = tetrachoric(data)
        covariance = sampling_covariance(data, found)
        np.testing.assert_allclose(np.diag(covariance), LAVAAN_VARIANCES, rtol=0.01)
        se = found.standard_errors[np.triu_indices(6, 1)]
        np.testing.assert_allclose(np.sqrt(np.diag(covariance)), se, rtol=1e-6)

    def test_discriminations_of_lsat6_are_those_of_psych(self):
        loading = factor_analysis(LSAT_ROWS, 1, weights="equal").loadings[:, 0]
        np.testing.assert_allclose(loading / np.sqrt(1 - loading**2), DISCRIMINATIONS, atol=1e-4)


class TestThePageForThoseWhoComeFromR:
    """The very lines of docs/coming-from.md, against the numbers above."""

    def test_psych(self):
        X = items(500)
        solution = line('fa(X, 2, cor="tet", rotate="oblimin")', X=X)
        second = solution.loadings[:, np.abs(solution.loadings[0]).argmax()]
        np.testing.assert_allclose(second, PSYCH["oblimin"], atol=5e-5)
        scores = line("factor.scores(X, fit)", X=X, solution=solution)
        assert scores.scores.shape == scores.standard_errors.shape == (500, 2)
        assert line("fa(X, 2)$RMSEA", solution=solution).df == 4
        assert line('fa.parallel(X, cor="tet")', X=X).n_factors == 2
        r = line("tetrachoric(X)", X=X).correlations
        np.testing.assert_allclose(line("cor.smooth(R)", R=r), r, atol=1e-6)
        np.testing.assert_allclose(r, line("lavCor(X", X=X).correlations, atol=1e-9)

    def test_lavaan(self):
        chi_square, _, *others = LAVAAN[2]
        fit = line("efa(X, nfactors=2", X=items(500)).fit
        assert fit.chi_square == pytest.approx(chi_square, rel=0.01)
        assert (fit.rmsea, fit.rmsea_low, fit.rmsea_high, fit.srmr) == pytest.approx(others, abs=1e-3)

    def test_mirt(self):
        model = line("mirt(X, 1)", X=LSAT_ROWS)
        np.testing.assert_allclose(np.abs(model.components_[0]), DISCRIMINATIONS, atol=0.08)


class TestSamplingCovariance:
    @pytest.mark.parametrize("missing", [0.0, 0.3])
    def test_is_the_scatter_over_samples(self, missing):
        def sample(seed):
            X = items(400, seed=seed).astype(float)[:, :4]
            X[np.random.default_rng(seed).random(X.shape) < missing] = np.nan
            return BinaryData.of(X)

        upper = np.triu_indices(4, 1)
        r = np.array([tetrachoric(sample(seed)).correlations[upper] for seed in range(300)])
        covariance = np.mean([sampling_covariance(data, tetrachoric(data)) for data in map(sample, range(20))], axis=0)
        scatter = np.cov(r.T)
        np.testing.assert_allclose(np.sqrt(np.diag(covariance)), np.sqrt(np.diag(scatter)), rtol=0.15)
        off = ~np.eye(6, dtype=bool)
        assert np.corrcoef(covariance[off], scatter[off])[0, 1] > 0.8

    @pytest.mark.filterwarnings("ignore:a Heywood case")
    def test_chi_square_has_its_distribution_if_the_factors_are_right(self):
        p = [factor_analysis(items(300, seed=seed), 2).fit.p_value for seed in range(60)]
        assert 0.35 < np.mean(p) < 0.65
        assert np.sum(np.array(p) < 0.05) <= 8


class TestScores:
    def test_scores_are_those_of_brute_force(self):
        X = items(300, correlation=0.4)[:60].astype(float)
        X[0, :3] = np.nan
        X[1] = np.nan
        solution = factor_analysis(items(300, correlation=0.4), 2)
        found = solution.scores(X)
        line = np.linspace(-5, 5, 81)
        Z = np.array([(a, b) for a in line for b in line])
        prior = multivariate_normal([0, 0], solution.factor_correlations).pdf(Z)
        p = norm.cdf((Z @ solution.loadings.T - solution.thresholds) / np.sqrt(solution.uniquenesses))
        for x, mean, se in zip(X, found.scores, found.standard_errors, strict=True):
            weight = prior * np.where(np.isnan(x), 1.0, np.where(x == 1, p, 1 - p)).prod(axis=1)
            weight /= weight.sum()
            expected = weight @ Z
            np.testing.assert_allclose(mean, expected, atol=0.03)
            np.testing.assert_allclose(se, np.sqrt(weight @ (Z - expected) ** 2), atol=0.03)
        np.testing.assert_allclose(found.standard_errors[1], 1, atol=1e-5)
        assert found.to_frame().columns.tolist() == ["factor_0", "factor_1", "se_factor_0", "se_factor_1"]

    def test_standard_errors_are_those_of_known_factors(self):
        rng = np.random.default_rng(0)
        F = rng.standard_normal((4000, 1))
        X = (0.8 * F + 0.6 * rng.standard_normal((4000, 8)) > 0).astype(int)
        found = factor_analysis(X, 1).scores(X)
        z = (found.scores - F) / found.standard_errors
        assert np.sqrt(np.mean(z**2)) == pytest.approx(1, abs=0.06)

    def test_refusals(self):
        with pytest.raises(DataError, match="a bare correlation matrix has no thresholds"):
            factor_analysis(tetrachoric(items(300)).correlations, 2).scores(items(300))
        with pytest.raises(DataError, match="X has 5 columns and the factors have 6"):
            factor_analysis(items(300), 2).scores(items(300)[:, :5])


class TestWhatIsGiven:
    def test_rows_their_correlations_and_a_matrix_give_the_same_factors(self):
        frame = pd.DataFrame(items(500), columns=list("abcdef"))
        found = tetrachoric(frame)
        rows, correlations, matrix = (factor_analysis(X, 2, weights="equal") for X in (frame, found, found.to_frame()))
        for other in (correlations, matrix):
            np.testing.assert_allclose(other.loadings, rows.loadings, atol=1e-9)
            assert other.to_frame().index.tolist() == list("abcdef")
            assert other.fit.chi_square is None
        assert correlations.scores(frame).scores.shape == (500, 2)
        for X in (found, found.correlations):
            with pytest.raises(DataError, match="give n_factors, or the rows"):
                factor_analysis(X)
            with pytest.raises(DataError, match="standard errors come from rows"):
                factor_analysis(X, 2, n_samples=5)
        with pytest.raises(DataError, match="correlations of segments"):
            factor_analysis(tetrachoric(frame, np.arange(500) % 2), 2)

    @pytest.mark.filterwarnings("ignore:.*empty cell", "ignore:a Heywood case")
    def test_a_square_table_of_0_and_1_is_no_correlation_matrix(self):
        X = np.eye(6, dtype=int) | np.eye(6, k=1, dtype=int) | np.eye(6, k=-1, dtype=int)
        with pytest.warns(UserWarning, match="fewer than 10 ones"):
            assert factor_analysis(X, 1).thresholds is not None

    def test_weights_are_those_of_the_information_and_equal_for_equal_rates(self):
        C = repair_correlation(tetrachoric(items(500)).correlations)
        plain, _ = minimum_residuals(C, 2)
        same, _ = minimum_residuals(C, 2, np.full(6, 0.3))
        np.testing.assert_allclose(np.abs(same), np.abs(plain), atol=1e-5)
        weight = np.array([1, 1, 1, 1, 0.2, 0.2])
        L, _ = minimum_residuals(C, 1, weight)

        def left(L):
            return np.sum((np.outer(weight, weight) * (C - L @ L.T) ** 2)[~np.eye(6, dtype=bool)])

        rng = np.random.default_rng(0)
        assert min(left(L + rng.normal(0, 0.02, L.shape)) for _ in range(20)) > left(L)

    def test_coin_flips_have_no_factor(self):
        found = factor_analysis(np.random.default_rng(0).integers(0, 2, (400, 8)))
        assert found.n_factors == 0
        assert str(found).startswith("No factor: 8 columns")
        assert found.uniquenesses.tolist() == [1] * 8
        assert found.fit.df == 28
        assert found.scores(np.zeros((2, 8), dtype=int)).scores.shape == (2, 0)

    def test_the_finding_is_printed(self):
        text = str(factor_analysis(pd.DataFrame(items(800), columns=list("abcdef"))))
        assert text.startswith("2 factors behind 6 columns.\nFactor 1: ")
        assert "RMSEA 0.0" in text
        assert "a 0." in text

    @pytest.mark.filterwarnings("ignore:.*empty cell", "ignore:fewer than 10 ones")
    def test_too_few_rows_and_constant_items_are_told(self):
        with pytest.warns(UserWarning, match="6 rows are fewer than 8 columns: "):
            factor_analysis(np.random.default_rng(1).integers(0, 2, (6, 8)))
        X = pd.DataFrame(items(300), columns=list("abcdef")).assign(g=1)
        with pytest.warns(UserWarning, match='^constant columns: "g"; .*, so leave them out$') as told:
            factor_analysis(X, 2)
        assert len(told) == 1

    def test_what_decided_is_said_in_a_sentence(self):
        assert str(parallel_analysis(items(800))).startswith("2 eigenvalues of the correlations (")
        coins = np.random.default_rng(0).integers(0, 2, (400, 8))
        assert str(parallel_analysis(coins)).startswith("The largest eigenvalue of the correlations, 0.4")

    @pytest.mark.filterwarnings("ignore:.*empty cell", "ignore:.*degrees of freedom", "ignore:a Heywood case")
    def test_too_much_is_told(self):
        with pytest.warns(UserWarning, match=r"4 factors of 6 columns have -3 degrees of freedom"):
            assert factor_analysis(items(300), 4).fit.chi_square is None
        X = items(300)
        with pytest.warns(UserWarning, match=r"a Heywood case: .* of column [12].*, whose"):
            factor_analysis(np.column_stack([X[:, 0], X[:, 0] ^ (np.arange(300) % 100 == 0), X[:, 1:4]]), 2)
