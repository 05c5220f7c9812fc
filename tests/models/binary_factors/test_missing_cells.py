"""Binary factors of tables with missing cells: against plain loops over the cells that are there."""

import numpy as np
import pytest

from latentbits.errors import DataError
from latentbits.fitting.climb import Monitor
from latentbits.fitting.workers import Workers
from latentbits.models.binary_factors import byy, em
from latentbits.models.binary_factors.binary_model import (
    Parameters,
    Prior,
    exact_posterior,
    mean_field,
    moments,
    program,
)
from latentbits.models.binary_factors.coding import codes_of, expected_codes
from latentbits.models.binary_factors.estimator import BinaryFactorAnalysis
from tests.models.binary_factors.tools import TRUTH, each_noise, limit_of, prior_of, small, standardised
from tests.reference import binary_factors as twin
from tests.reference.assertions import assert_nondecreasing


def with_holes(X, share=0.25, seed=0):
    return np.where(np.random.default_rng(seed).random(X.shape) < share, np.nan, X)


def small_with_holes(noise="equal"):
    X, Y, theta = small(noise=noise)
    X = with_holes(X)
    X[2] = np.nan  # a row without any cell
    return X, Y, theta


def only(theta, x):
    """The parameters of the columns that a row has, and these cells."""
    there = ~np.isnan(x)
    phi = np.broadcast_to(theta.phi, len(x))[there]
    return Parameters(theta.A[there], theta.c[there], phi, theta.beta), x[there]


class TestAgainstTheTwin:
    @each_noise
    def test_posterior(self, noise):
        X, _, theta = small_with_holes(noise)
        row_log, mean, second = exact_posterior(theta, X, Workers())
        codes = np.array(twin.codes(3))
        expected = np.array([twin.posterior(x, *theta) for x in X])
        np.testing.assert_allclose(row_log, [twin.log_likelihood(x, *theta) for x in X], rtol=1e-12, atol=1e-14)
        np.testing.assert_allclose(mean, expected @ codes, atol=1e-12)
        for j, there in enumerate(~np.isnan(X).T):
            squares = np.einsum("ts,si,sj->ij", expected[there], codes, codes)
            np.testing.assert_allclose(second[j], squares, atol=1e-10)

    def test_threads_change_nothing(self, monkeypatch):
        monkeypatch.setattr("latentbits.models.binary_factors.binary_model.CHUNK_CELLS", 40)
        X, _, theta = small_with_holes()
        with Workers(3) as workers:
            parallel = exact_posterior(theta, X, workers)
        for one, other in zip(exact_posterior(theta, X, Workers()), parallel, strict=True):
            np.testing.assert_array_equal(one, other)

    @each_noise
    def test_step_of_maximum_likelihood(self, noise):
        X, _, theta = small_with_holes(noise)
        new, objective = em.MaximumLikelihood(X, 3, Workers(), limit_of(theta)).step(em.State.of(theta))
        for ours, theirs in zip(new.parameters, twin.em_step(X, *theta), strict=True):
            np.testing.assert_allclose(ours, theirs, atol=1e-8)
        assert objective == pytest.approx(sum(twin.log_likelihood(x, *theta) for x in X))

    @pytest.mark.parametrize("prior", [Prior(tau=0.0), Prior(1.0, 0.3, 0.7, 5.0, 2.0)])
    @each_noise
    def test_harmony_and_its_steps(self, prior, noise):
        X, Y, theta = small_with_holes(noise)
        state, sums = byy.State(theta, np.array([0.5, 2.0, 7.0])), moments(X, Y)
        expected = twin.harmony(X, Y, *theta, state.alpha, prior.tau, **prior_of(prior))
        assert byy.harmony(state, sums, prior) == pytest.approx(expected, rel=1e-12)
        ends = []
        for step in (byy.closed_step, byy.gradient_step):
            trace, at = [expected], state
            for _ in range(600):
                at = step(at, sums, prior)
                trace.append(byy.harmony(at, sums, prior))
            assert_nondecreasing(trace, slack=1e-9)
            for part in byy.gradient(at, sums, prior):
                np.testing.assert_allclose(part, 0, atol=1e-3)
            ends.append(at.theta)
        for one, other in zip(*ends, strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-3, atol=1e-3)

    @pytest.mark.parametrize("encoder", ["round", "cdual", "greedy", "enum"])
    @each_noise
    def test_codes_are_those_of_the_columns_that_are_there(self, encoder, noise):
        X, _, theta = small_with_holes(noise)
        codes = codes_of(theta, X, encoder, Workers())
        for x, code in zip(X, codes, strict=True):
            part, cells = only(theta, x)
            if len(cells):
                np.testing.assert_array_equal(code, codes_of(part, cells[None], encoder, Workers())[0])
            else:
                np.testing.assert_array_equal(code, np.where(theta.beta < 0.5, -1, 1))
            if encoder == "enum":
                best = max(twin.codes(3), key=lambda y, x=x: twin.log_joint(x, y, *theta))
                np.testing.assert_array_equal(code, best)

    def test_mean_field(self):
        X, _, theta = small_with_holes()
        for x, mean in zip(X, expected_codes(theta, X), strict=True):
            part, cells = only(theta, x)
            Q, F = program(part, cells[None])
            np.testing.assert_allclose(mean_field(Q, F, mean[None], max_sweeps=5000), mean[None], atol=1e-8)


class TestFits:
    def test_likelihood_never_falls(self):
        X = with_holes(standardised(TRUTH))
        learner = em.MaximumLikelihood(X, 4, Workers())
        state, trace = learner.initialise(np.random.default_rng(1)), []
        for _ in range(30):
            state, objective = learner.step(state)
            trace.append(objective)
        assert_nondecreasing(trace, slack=1e-8)

    def test_harmony_never_falls_with_exact_codes(self):
        X = with_holes(standardised(TRUTH))
        learner = byy.HarmonyLearning(X, 4, "enum", "closed", Prior(), 0.0, Workers())
        monitor = Monitor(1e-6, 200, float(np.sum(~np.isnan(X))))
        learner.settle(learner.initialise(np.random.default_rng(3)), monitor, free_beta=True)
        assert monitor.converged
        assert_nondecreasing(monitor.history, slack=1e-7)

    @pytest.mark.parametrize("inference", ["auto", "byy", "em"])
    def test_a_tenth_missing_finds_nearly_the_same(self, inference):
        X = with_holes(TRUTH.X, 0.1)
        model = BinaryFactorAnalysis(3 if inference == "em" else 5, inference=inference, random_state=0).fit(X)
        assert model.n_components_ == 3
        nearest = np.abs(np.corrcoef(model.transform(X).T, TRUTH.codes.T)[:3, 3:])
        assert (nearest.max(axis=1) > 0.95).all()
        assert np.mean(1 / model.noise_precision_) ** 0.5 == pytest.approx(0.25, rel=0.1)
        for answer in (model.predict_proba(X), model.score_samples(X), model.objective_history_, model.bic(X)):
            assert np.isfinite(answer).all()

    def test_empty_rows_change_nothing_but_their_own_answers(self):
        X = with_holes(TRUTH.X[:60], 0.1)
        padded = np.vstack([X, np.full((2, 10), np.nan)])
        one, other = (BinaryFactorAnalysis(4, n_init=1, random_state=0).fit(rows) for rows in (X, padded))
        np.testing.assert_array_equal(one.mixing_, other.mixing_)
        np.testing.assert_allclose(other.score_samples(padded)[-2:], 0, atol=1e-12)
        np.testing.assert_allclose(other.predict_proba(padded)[-1], other.factor_probabilities_)
        np.testing.assert_array_equal(other.transform(padded)[-1], np.where(other.factor_probabilities_ < 0.5, -1, 1))

    def test_new_rows_may_have_holes_where_the_fit_had_none(self):
        model = BinaryFactorAnalysis(5, random_state=0).fit(TRUTH.X)
        theta = Parameters(model.mixing_, model.intercepts_, model.noise_precision_, model.factor_probabilities_)
        rows = with_holes(TRUTH.X[:5], 0.4, seed=3)
        expected = [twin.log_likelihood(x, *theta) for x in rows]
        np.testing.assert_allclose(model.score_samples(rows), expected, rtol=1e-9)
        on = [twin.posterior(x, *theta) @ (np.array(twin.codes(3)) > 0) for x in rows]
        np.testing.assert_allclose(model.predict_proba(rows), on, atol=1e-9)

    def test_units_and_shifts(self):
        X = with_holes(TRUTH.X[:80], 0.1)
        one = BinaryFactorAnalysis(4, n_init=2, random_state=0).fit(X)
        other = BinaryFactorAnalysis(4, n_init=2, random_state=0).fit(1000 * X - 7)
        np.testing.assert_allclose(other.mixing_, 1000 * one.mixing_, rtol=1e-6, atol=1e-6)
        assert other.objective_ == pytest.approx(one.objective_ - np.sum(~np.isnan(X)) * np.log(1000), rel=1e-9)


class TestRefusals:
    def test_variational_bayes_says_where_and_what_to_do(self):
        X = TRUTH.X.copy()
        X[3, 1] = np.nan
        with pytest.raises(DataError, match=r'X\[3, 1\] is NaN.*"vb" takes no missing cells; use "auto"'):
            BinaryFactorAnalysis(inference="vb").fit(X)
        model = BinaryFactorAnalysis(3, inference="vb", n_init=1, random_state=0).fit(TRUTH.X)
        with pytest.raises(DataError, match=r"X\[3, 1\] is NaN"):
            model.transform(X)

    def test_a_column_without_a_value(self):
        X = TRUTH.X.copy()
        X[:, 4] = np.nan
        with pytest.raises(DataError, match="column 5 has no value at all; leave it out"):
            BinaryFactorAnalysis().fit(X)

    def test_infinity(self):
        X = TRUTH.X.copy()
        X[0, 0] = np.inf
        with pytest.raises(ValueError, match="infinity"):
            BinaryFactorAnalysis().fit(X)
