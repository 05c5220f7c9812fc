"""Binary ICA: what a row says about its sources."""

import numpy as np
import pytest
from scipy.special import log_ndtr
from sklearn.base import clone

from latentbits import simulate as simulated
from latentbits.fitting.workers import Workers
from latentbits.kernels.probit_ep import log_probit_products
from latentbits.models.binary_ica.parameters import Parameters
from latentbits.models.binary_ica.source_posterior import adapted_nodes, posterior, posterior_of_mixture
from tests.models.binary_ica.tools import TRUTH, cells_of, random_parameters, rows_with_missing
from tests.reference import binary_ica as twin


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


def test_the_normal_approximation_is_near_and_not_the_same(model):
    exact = model.transform(TRUTH.X, segments=TRUTH.segments)
    sd = model.posterior_sd(TRUTH.X, segments=TRUTH.segments)
    fast = clone(model).set_params(posterior="normal").fit(TRUTH.X, segments=TRUTH.segments)
    away = np.abs(fast.transform(TRUTH.X, segments=TRUTH.segments) - exact) / sd
    assert 0 < away.max() < 0.3
    assert np.sqrt((away**2).mean()) < 0.05
    wide = fast.posterior_sd(TRUTH.X, segments=TRUTH.segments)
    np.testing.assert_allclose(wide, sd, rtol=0.3)


def test_products_of_probabilities_equal_sums_of_logarithms():
    rng = np.random.default_rng(0)
    Y = rng.normal(0, 4, (3, 5, 90))
    cells = rng.integers(-1, 2, (3, 90)).astype(np.int8)
    out = np.empty((3, 5))
    log_probit_products(Y, cells, out)
    sign = np.where(cells == 1, 1.0, -1.0)[:, None, :]
    expected = np.where((cells >= 0)[:, None, :], log_ndtr(sign * Y), 0.0).sum(axis=2)
    np.testing.assert_allclose(out, expected, rtol=1e-12)
