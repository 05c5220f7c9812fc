"""Binary factor analysis: the simulator, the exact and the mean-field posterior, and starts."""

import numpy as np
import pytest

from latentbits.fitting.workers import Workers
from latentbits.models.binary_factors.binary_model import exact_posterior, mean_field, program
from latentbits.models.binary_factors.coding import random_start, rough_fit
from latentbits.simulate.mixed_sources import binary_factors
from tests.models.binary_factors.tools import TRUTH, each_noise, small, standardised
from tests.reference import binary_factors as twin


class TestSimulator:
    def test_recipe(self):
        truth = binary_factors(4000, 8, 3, 0.5, probabilities=[0.5, 0.1, 0.9], mean=2.0, random_state=0)
        norms = np.linalg.norm(truth.mixing, axis=0)
        assert ((norms >= 1) & (norms <= 2)).all()
        gram = truth.mixing.T @ truth.mixing
        np.testing.assert_allclose(gram, np.diag(np.diag(gram)), atol=1e-12)
        np.testing.assert_allclose((truth.codes == 1).mean(axis=0), [0.5, 0.1, 0.9], atol=0.03)
        residual = truth.X - truth.codes @ truth.mixing.T - 2.0
        assert residual.std() == pytest.approx(0.5, rel=0.03)

    @pytest.mark.parametrize(
        "change",
        [{"n_components": 9}, {"noise": -1}, {"n_rows": 0}, {"norms": (2, 1)}, {"probabilities": 1.5}],
    )
    def test_refuses_nonsense(self, change):
        with pytest.raises(ValueError, match=next(iter(change))):
            binary_factors(**{"n_rows": 5, "n_variables": 8, "n_components": 3, **change})


class TestExactPosterior:
    @each_noise
    def test_equals_enumeration(self, noise):
        X, _, theta = small(noise=noise)
        row_log, mean, second = exact_posterior(theta, X, Workers())
        codes = np.array(twin.codes(3))
        expected = np.array([twin.posterior(x, *theta) for x in X])
        np.testing.assert_allclose(row_log, [twin.log_likelihood(x, *theta) for x in X], rtol=1e-12)
        np.testing.assert_allclose(mean, expected @ codes, atol=1e-12)
        np.testing.assert_allclose(second, np.einsum("ts,si,sj->ij", expected, codes, codes), atol=1e-10)

    def test_does_not_depend_on_threads(self, monkeypatch):
        monkeypatch.setattr("latentbits.models.binary_factors.binary_model.CHUNK_CELLS", 40)
        X, _, theta = small(N=50)
        with Workers(3) as workers:
            parallel = exact_posterior(theta, X, workers)
        for one, other in zip(exact_posterior(theta, X, Workers()), parallel, strict=True):
            np.testing.assert_array_equal(one, other)

    @each_noise
    def test_program_gives_the_log_joint_up_to_a_constant(self, noise):
        X, _, theta = small(noise=noise)
        Q, F = program(theta, X)
        for x, f in zip(X[:3], F, strict=False):
            sums = [twin.log_joint(x, y, *theta) + twin.bqp_value(Q, f, y) for y in twin.codes(3)]
            np.testing.assert_allclose(sums, sums[0], rtol=1e-10)


class TestMeanField:
    def test_is_exact_for_independent_factors(self):
        F = np.array([[0.3, -2.0, 0.0]])
        np.testing.assert_allclose(mean_field(np.diag([1.0, 5.0, 2.0]), F, np.zeros((1, 3))), np.tanh(F))

    def test_is_stationary(self):
        X, Y, theta = small()
        Q, F = program(theta, X)
        mean = mean_field(Q, F, Y, max_sweeps=5000)
        np.testing.assert_allclose(mean, np.tanh(F - mean @ Q + mean * np.diag(Q)), atol=1e-8)


class TestStarts:
    def test_a_start_has_about_the_spread_of_the_data(self):
        X = standardised(TRUTH)
        A, c, _, beta = random_start(X, 4, np.random.default_rng(0))
        assert A.shape == (10, 4)
        assert 0.2 < np.sum(A**2) / 10 < 3
        assert not c.any()
        np.testing.assert_array_equal(beta, 0.5)

    def test_a_rough_fit_is_the_least_squares_of_its_codes(self):
        X = standardised(TRUTH)
        theta, codes = rough_fit(X, 3, np.random.default_rng(0), Workers())
        B = np.linalg.lstsq(np.column_stack([codes, np.ones(200)]), X, rcond=None)[0]
        np.testing.assert_allclose(np.column_stack([theta.A, theta.c]), B.T, atol=1e-10)
        assert theta.phi == pytest.approx(1 / np.mean((X - codes @ theta.A.T - theta.c) ** 2))
