"""R-hat and effective sample sizes against what is known of the draws, and against ArviZ."""

import numpy as np
import pytest

from latentbits.fitting.chains import effective_size, split_r_hat


def autoregressive(rho, chains=8, draws=2000, seed=0, shape=()):
    """Normal draws whose neighbours correlate by rho: an effective size of (1 - rho) / (1 + rho) of all."""
    rng = np.random.default_rng(seed)
    x = np.empty((chains, draws, *shape))
    x[:, 0] = rng.normal(size=(chains, *shape))
    for t in range(1, draws):
        x[:, t] = rho * x[:, t - 1] + np.sqrt(1 - rho**2) * rng.normal(size=(chains, *shape))
    return x


@pytest.mark.parametrize("rho", [0.0, 0.5, 0.9, -0.3])
def test_the_effective_size_of_a_known_correlation(rho):
    draws = autoregressive(rho)
    expected = draws.size * (1 - rho) / (1 + rho)
    assert float(effective_size(draws)) == pytest.approx(expected, rel=0.15)


def test_chains_that_agree_have_an_r_hat_of_1():
    assert float(split_r_hat(autoregressive(0.0))) == pytest.approx(1, abs=0.005)


def test_a_shift_of_one_chain_shows():
    draws = autoregressive(0.0)
    draws[0] += 3
    assert float(split_r_hat(draws)) > 1.2
    assert float(effective_size(draws)) < 100


def test_a_drift_inside_of_all_chains_shows():
    draws = autoregressive(0.0) + np.linspace(0, 3, 2000)
    assert float(split_r_hat(draws)) > 1.2


def test_another_spread_shows_though_the_means_agree():
    draws = autoregressive(0.0)
    draws[::2] *= 4
    assert float(split_r_hat(draws)) > 1.1


def test_a_monotone_transformation_changes_nothing():
    draws = autoregressive(0.5)
    assert float(effective_size(np.exp(3 * draws))) == pytest.approx(float(effective_size(draws)), rel=1e-6)
    heavy = np.random.default_rng(0).standard_cauchy((4, 500))
    assert float(split_r_hat(heavy)) < 1.02


def test_many_quantities_at_once_are_each_on_its_own():
    draws = autoregressive(0.5, draws=200, shape=(2, 3))
    for function in (split_r_hat, effective_size):
        each = [[float(function(draws[:, :, a, b])) for b in range(3)] for a in range(2)]
        np.testing.assert_allclose(function(draws), each)


def test_what_never_varies_agrees():
    flat = np.ones((3, 10))
    assert float(split_r_hat(flat)) == 1
    assert float(effective_size(flat)) == 30


def test_chains_that_stand_at_different_places_never_agree():
    assert float(split_r_hat(np.repeat([[0.0], [1.0]], 10, axis=1))) == np.inf


def test_four_draws_of_one_chain_are_enough():
    draws = np.array([[0.3, -1.0, 0.2, 0.9]])
    assert np.isfinite(split_r_hat(draws))
    assert 0 < float(effective_size(draws)) < np.inf


ARVIZ = [(0, 1.00097352, 1178.46171), (0.5, 1.00851035, 404.271412), (0.9, 1.0768446, 80.2476575)]
"""The correlation of draws, and what arviz-stats 0.8.0 says of them: R-hat, and the effective size of the bulk."""


@pytest.mark.parametrize(("rho", "r_hat", "size"), ARVIZ)
def test_arviz_has_the_same_numbers(rho, r_hat, size):
    draws = autoregressive(rho, chains=4, draws=300)
    assert float(split_r_hat(draws)) == pytest.approx(r_hat, abs=1e-6)
    assert float(effective_size(draws)) == pytest.approx(size, rel=0.02)


@pytest.mark.parametrize(("rho", "r_hat", "size"), ARVIZ)
def test_the_numbers_of_arviz_are_still_its_own(rho, r_hat, size):
    arviz = pytest.importorskip("arviz_stats.base", reason="arviz-stats is not installed").array_stats
    draws = autoregressive(rho, chains=4, draws=300)
    assert float(arviz.rhat(draws, chain_axis=0, draw_axis=1)) == pytest.approx(r_hat, abs=1e-6)
    assert float(arviz.ess(draws, chain_axis=0, draw_axis=1, method="bulk")) == pytest.approx(size, rel=1e-6)
