"""Seeds, 0-1 cells, the matching of components, and expectations under Beta and Dirichlet distributions."""

from itertools import permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import stats
from scipy.integrate import quad
from scipy.special import betaln, log_expit

from latentbits.numerics import (
    as_cells,
    as_generator,
    expected_log_beta,
    expected_log_dirichlet,
    kl_beta,
    kl_dirichlet,
    match_components,
)

METRICS = ["l1", "correlation", "cosine"]


class TestAsGenerator:
    def test_seed_fixes_the_stream(self):
        first, again, other = (as_generator(seed).random(5) for seed in (1, np.int64(1), 2))
        np.testing.assert_array_equal(first, again)
        assert (first != other).all()

    def test_generator_is_passed_through(self):
        generator = np.random.default_rng(0)
        assert as_generator(generator) is generator

    def test_random_state_seeds_and_advances(self):
        source, twin = np.random.RandomState(0), np.random.RandomState(0)
        first, second = as_generator(source).random(), as_generator(source).random()
        assert first != second
        assert as_generator(twin).random() == first

    def test_none_is_fresh(self):
        assert as_generator(None).random() != as_generator().random()

    @pytest.mark.parametrize("bad", ["0", 1.5, -1, [1, 2]])
    def test_anything_else_is_refused(self, bad):
        with pytest.raises(ValueError, match="random_state is"):
            as_generator(bad)


class TestAsCells:
    @pytest.mark.parametrize("dtype", [bool, np.int8, np.uint16, np.float32])
    def test_keeps_dtype_and_values(self, dtype):
        cells = np.array([[0, 1], [1, 0]], dtype=dtype)
        assert as_cells(cells, "X") is cells

    def test_names_the_first_wrong_cell(self):
        with pytest.raises(ValueError, match=r"^clean\[1, 2\] is -1, but"):
            as_cells([[0, 1, 0], [1, 0, -1], [5, 0, 0]], "clean")

    @pytest.mark.parametrize("bad", [0.5, np.inf, -np.inf])
    def test_refuses_other_floats(self, bad):
        with pytest.raises(ValueError, match=r"X\[1\]"):
            as_cells([np.nan, bad], "X")

    @pytest.mark.parametrize("bad", [["0", "1"], [None, 1], [1j, 0]])
    def test_refuses_other_types(self, bad):
        with pytest.raises(ValueError, match="X has dtype"):
            as_cells(bad, "X")


class TestMatchComponents:
    @pytest.mark.parametrize("metric", METRICS)
    def test_recovers_a_known_permutation(self, metric):
        rng = np.random.default_rng(0)
        A = rng.beta(0.3, 0.3, size=(7, 40))
        permutation = rng.permutation(7)
        B = np.clip(A[permutation] + rng.normal(scale=0.02, size=A.shape), 0, 1)
        order, similarity = match_components(A, B, metric=metric)
        np.testing.assert_array_equal(permutation[order], np.arange(7))
        assert (similarity > 0.95).all()

    def test_optimal_where_greedy_is_not(self):
        # Greedy takes the closest pair, 0.4 with 0.5, and is left with 0.7 and 0.2: 0.9 + 0.5.
        order, similarity = match_components([[0.4], [0.7]], [[0.5], [0.2]])
        np.testing.assert_array_equal(order, [1, 0])
        np.testing.assert_allclose(similarity, [0.8, 0.8])

    @settings(max_examples=60, deadline=None)
    @given(
        A=arrays(float, (4, 3), elements=st.floats(0, 1, width=16)),
        B=arrays(float, (4, 3), elements=st.floats(0, 1, width=16)),
        metric=st.sampled_from(METRICS),
    )
    def test_no_permutation_is_better(self, A, B, metric):
        order, similarity = match_components(A, B, metric=metric)
        assert sorted(order) == [0, 1, 2, 3]
        # Matching one row with one row gives that pair's similarity.
        pair = [[match_components(a[None], b[None], metric=metric).similarity[0] for b in B] for a in A]
        best = max(sum(pair[i][p[i]] for i in range(4)) for p in permutations(range(4)))
        assert np.isfinite(similarity).all()
        assert similarity.sum() == pytest.approx(best)

    @pytest.mark.parametrize("metric", METRICS)
    def test_more_rows_on_either_side(self, metric):
        A = np.array([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]])
        few = match_components(A, A[[2, 0]], metric=metric)
        np.testing.assert_array_equal(few.order, [1, -1, 0])
        np.testing.assert_allclose(few.similarity, [1, 0, 1])
        many = match_components(A[[2, 0]], A, metric=metric)
        np.testing.assert_array_equal(many.order, [2, 0])
        np.testing.assert_allclose(many.similarity, [1, 1])

    def test_values_by_hand(self):
        a, b = [[0.0, 0.5, 1.0]], [[0.2, 0.2, 0.8]]
        assert match_components(a, b).similarity[0] == pytest.approx(1 - 0.7 / 3)
        assert match_components(a, b, metric="cosine").similarity[0] == pytest.approx(0.9 / np.sqrt(1.25 * 0.72))
        correlation = np.corrcoef(a[0], b[0])[0, 1]
        assert match_components(a, b, metric="correlation").similarity[0] == pytest.approx(correlation)
        assert match_components(a, [[1.0, 0.5, 0.0]], metric="correlation").similarity[0] == pytest.approx(-1)

    @pytest.mark.parametrize("metric", ["correlation", "cosine"])
    @pytest.mark.parametrize("constant", [0.0, 0.1, 1 / 3, 1e9])
    def test_constant_rows_give_no_nan(self, metric, constant):
        # 0.1 and 1/3 don't equal their mean exactly: rounding must not pass for a direction.
        A = np.vstack([np.full(7, constant), np.arange(7.0)])
        similarity = match_components(A, A[::-1], metric=metric).similarity
        assert np.isfinite(similarity).all()
        expected = 1.0 if metric == "cosine" and constant else 0.0
        assert match_components(A[:1], A[:1], metric=metric).similarity[0] == pytest.approx(expected, abs=1e-12)

    @pytest.mark.parametrize(
        ("A", "B", "message"),
        [
            ([[0, 1]], [[0, 1, 1]], "A has 2 columns and B has 3"),
            ([0, 1], [[0, 1]], r"A has shape \(2,\)"),
            ([[0, 1]], np.empty((0, 2)), r"B has shape \(0, 2\)"),
            ([[0, np.nan]], [[0, 1]], "A holds NaN"),
        ],
    )
    def test_bad_input(self, A, B, message):
        with pytest.raises(ValueError, match=message):
            match_components(A, B)

    def test_unknown_metric(self):
        with pytest.raises(ValueError, match="metric is 'l2'; choose one of l1, correlation, cosine"):
            match_components([[0, 1]], [[0, 1]], metric="l2")


BETAS = [(0.5, 0.5), (0.1, 3.0), (1.0, 1.0), (7.0, 0.3), (40.0, 60.0), (0.05, 0.05)]
parameters = st.floats(0.05, 200)


def mean_under_beta(alpha, beta, function):
    """The mean of function(log b, log(1 - b)) by integration over the log odds, where no density is infinite."""

    def integrand(t):
        log_b, log_not_b = log_expit(t), log_expit(-t)
        return np.exp(alpha * log_b + beta * log_not_b - betaln(alpha, beta)) * function(log_b, log_not_b)

    centre = np.log(alpha / beta)
    return sum(
        quad(integrand, low, high, epsabs=1e-12, epsrel=1e-10, limit=400)[0]
        for low, high in ((-np.inf, centre), (centre, np.inf))
    )


class TestBetaExpectations:
    @pytest.mark.parametrize(("alpha", "beta"), BETAS)
    def test_logs_equal_integrals(self, alpha, beta):
        assert mean_under_beta(alpha, beta, lambda log_b, _: 1.0) == pytest.approx(1, rel=1e-8)
        log_b, log_not_b = expected_log_beta(np.array(alpha), np.array(beta))
        assert log_b == pytest.approx(mean_under_beta(alpha, beta, lambda log_b, _: log_b), rel=1e-8)
        assert log_not_b == pytest.approx(mean_under_beta(alpha, beta, lambda _, log_not_b: log_not_b), rel=1e-8)

    @pytest.mark.parametrize(("alpha0", "beta0"), [(0.5, 0.5), (2.0, 0.3)])
    @pytest.mark.parametrize(("alpha", "beta"), BETAS)
    def test_divergence_equals_an_integral(self, alpha, beta, alpha0, beta0):
        def log_ratio(log_b, log_not_b):
            norms = betaln(alpha0, beta0) - betaln(alpha, beta)
            return (alpha - alpha0) * log_b + (beta - beta0) * log_not_b + norms

        divergence = kl_beta(np.array(alpha), np.array(beta), alpha0, beta0)
        assert divergence == pytest.approx(mean_under_beta(alpha, beta, log_ratio), rel=1e-7, abs=1e-9)

    @settings(max_examples=100, deadline=None)
    @given(alpha=parameters, beta=parameters, alpha0=parameters, beta0=parameters)
    def test_divergence_is_0_at_equality_and_positive_elsewhere(self, alpha, beta, alpha0, beta0):
        a, b = np.array([alpha, alpha0]), np.array([beta, beta0])
        divergence, at_equality = kl_beta(a, b, alpha0, beta0)
        assert at_equality == 0
        assert divergence >= -1e-11
        if abs(alpha / alpha0 - 1) > 0.01 or abs(beta / beta0 - 1) > 0.01:
            assert divergence > 0

    def test_logs_that_are_already_known_are_used(self):
        alpha, beta = np.array([0.7, 3.0]), np.array([2.0, 0.4])
        log_b, log_not_b = expected_log_beta(alpha, beta)
        norm, found = betaln(alpha, beta), kl_beta(alpha, beta, 0.5, 0.9)
        np.testing.assert_array_equal(kl_beta(alpha, beta, 0.5, 0.9, (log_b, log_not_b, norm)), found)
        shifted = kl_beta(alpha, beta, 0.5, 0.9, (log_b + 1.0, log_not_b, norm - 2.0))
        np.testing.assert_allclose(shifted - found, alpha - 0.5 + 2.0)


class TestDirichletExpectations:
    GAMMA = np.array([[0.5, 0.5, 0.5], [0.1, 2.0, 7.0], [30.0, 0.3, 12.0], [1.0, 1.0, 4.0]])

    def test_logs_equal_integrals_over_the_margins(self):
        found = expected_log_dirichlet(self.GAMMA)
        for row, logs in zip(self.GAMMA, found, strict=True):
            expected = [mean_under_beta(g, row.sum() - g, lambda log_b, _: log_b) for g in row]
            np.testing.assert_allclose(logs, expected, rtol=1e-8)

    @pytest.mark.parametrize("gamma0", [0.3, 1.0, 4.0])
    def test_divergence_equals_a_mean_over_draws(self, gamma0):
        rng = np.random.default_rng(0)
        for row, divergence in zip(self.GAMMA, kl_dirichlet(self.GAMMA, gamma0), strict=True):
            log_draws = np.log(np.maximum(rng.dirichlet(row, 20_000), 1e-300))
            prior = np.full(3, gamma0)
            ratio = log_draws @ (row - prior) + _log_norm(row) - _log_norm(prior)
            error = ratio.std() / np.sqrt(len(ratio))
            assert divergence == pytest.approx(ratio.mean(), abs=5 * error + 1e-9)
            assert divergence > 10 * error or np.allclose(row, gamma0), "the draws can tell"

    @settings(max_examples=100, deadline=None)
    @given(alpha=parameters, beta=parameters, gamma0=parameters)
    def test_of_two_components_it_is_the_divergence_of_betas(self, alpha, beta, gamma0):
        dirichlet = kl_dirichlet(np.array([[alpha, beta], [gamma0, gamma0]]), gamma0)
        expected = kl_beta(np.array(alpha), np.array(beta), gamma0, gamma0)
        assert dirichlet[0] == pytest.approx(expected, rel=1e-9, abs=1e-10)
        assert dirichlet[1] == pytest.approx(0, abs=1e-11)

    def test_rows_are_independent_and_one_component_costs_nothing(self):
        together = kl_dirichlet(self.GAMMA, 1.0)
        np.testing.assert_allclose(together, [kl_dirichlet(row[None], 1.0)[0] for row in self.GAMMA])
        np.testing.assert_allclose(kl_dirichlet(np.array([[7.0]]), 0.3), 0, atol=1e-12)
        np.testing.assert_allclose(expected_log_dirichlet(np.array([[7.0]])), 0, atol=1e-12)

    def test_logs_that_are_already_known_are_used(self):
        logs, found = expected_log_dirichlet(self.GAMMA), kl_dirichlet(self.GAMMA, 0.6)
        norm = np.array([-_log_norm(gamma) for gamma in self.GAMMA])
        np.testing.assert_allclose(kl_dirichlet(self.GAMMA, 0.6, (logs, norm)), found, atol=1e-12)
        shifted = kl_dirichlet(self.GAMMA, 0.6, (logs + np.array([1.0, 0.0, 0.0]), norm - 2.0))
        np.testing.assert_allclose(shifted - found, self.GAMMA[:, 0] - 0.6 + 2.0)


def _log_norm(gamma):
    """log of a Dirichlet density's constant, from SciPy's density at the centre."""
    centre = np.full(len(gamma), 1 / len(gamma))
    return stats.dirichlet.logpdf(centre, gamma) - np.log(centre) @ (gamma - 1)
