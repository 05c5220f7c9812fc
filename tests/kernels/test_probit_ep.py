"""Expectation propagation for probit cells: its fixed point, from outside."""

import numpy as np
from scipy.integrate import quad
from scipy.stats import norm

from latentbits.data.binary_data import BinaryData
from latentbits.kernels.probit_ep import probit_ep, probit_ep_likelihood
from tests.reference import binary_ica


def test_one_source_and_one_cell_have_the_exact_moments():
    B, h = np.array([[1.7]]), np.array([0.4])
    for cell in (0, 1):
        sign = 2 * cell - 1
        moments = [
            quad(lambda e: e**p * norm.pdf(e) * norm.cdf(sign * (0.4 + 1.7 * e)), -9, 9)[0]  # noqa: B023
            for p in range(3)
        ]
        mean, covariance = probit_ep(np.array([[cell]], dtype=np.int8), B, h, 50, 1e-12)
        assert np.isclose(mean[0, 0], moments[1] / moments[0], atol=1e-9)
        assert np.isclose(covariance[0, 0, 0], moments[2] / moments[0] - (moments[1] / moments[0]) ** 2, atol=1e-9)


def test_equals_twin():
    rng = np.random.default_rng(0)
    B, h = rng.normal(0, 2, (7, 3)), rng.normal(0, 1, 7)
    X = rng.integers(0, 2, (4, 7)).astype(float)
    X[1, 2] = np.nan
    means, covariances = probit_ep(BinaryData.of(X).dense(), B, h, 500, 1e-13)
    for x, mean, V in zip(X, means, covariances, strict=True):
        expected_mean, expected_V = binary_ica.expectation_propagation(x, B, h)
        np.testing.assert_allclose(mean, expected_mean, atol=1e-9)
        np.testing.assert_allclose(V, expected_V, atol=1e-9)


def test_missing_cells_say_nothing():
    rng = np.random.default_rng(1)
    B, h = rng.normal(0, 2, (5, 2)), rng.normal(0, 1, 5)
    row = np.array([[1, -1, 0, 1, -1]], dtype=np.int8)
    seen = [0, 2, 3]
    all_of_it = probit_ep(row, B, h, 50, 1e-10)
    part = probit_ep(np.ascontiguousarray(row[:, seen]), np.ascontiguousarray(B[seen]), h[seen], 50, 1e-10)
    for a, b in zip(all_of_it, part, strict=True):
        np.testing.assert_allclose(a, b, atol=1e-12)
    nothing = probit_ep(np.full((1, 5), -1, dtype=np.int8), B, h, 50, 1e-10)
    np.testing.assert_array_equal(nothing[1][0], np.eye(2))


def test_extreme_cells_stay_finite():
    B, h = np.array([[300.0, 0.0], [-300.0, 1e-3], [0.0, 0.0]]), np.array([-80.0, 90.0, 0.0])
    mean, covariance = probit_ep(np.array([[1, 1, 0]], dtype=np.int8), B, h, 100, 1e-6)
    assert np.isfinite(mean).all()
    assert (np.linalg.eigvalsh(covariance[0]) > 0).all()


def test_likelihood_equals_twin():
    rng = np.random.default_rng(2)
    B, h = rng.normal(0, 1.5, (6, 3)), rng.normal(0, 1, 6)
    X = rng.integers(0, 2, (3, 6)).astype(float)
    X[1, 4] = np.nan
    for x in X:
        value, _, _ = probit_ep_likelihood(BinaryData.of(x[None]).dense(), np.ones(1), B, h, 500, 1e-13)
        assert np.isclose(value, binary_ica.propagated_log_probability(x, B, h), atol=1e-9)


def test_likelihood_is_exact_for_cells_of_different_sources():
    B, h = np.diag([0.5, 3.0, 12.0]), np.array([0.3, -1.0, 2.0])
    value, _, _ = probit_ep_likelihood(np.array([[1, 0, 1]], dtype=np.int8), np.array([2.0]), B, h, 50, 1e-12)
    exact = norm.logcdf(np.array([1, -1, 1]) * h / np.sqrt(1 + np.diag(B) ** 2))
    assert np.isclose(value, 2 * exact.sum(), atol=1e-12)


def test_derivatives_of_the_likelihood_equal_finite_differences():
    rng = np.random.default_rng(3)
    B, h = rng.normal(0, 1.5, (5, 4)), rng.normal(0, 1, 5)
    cells, counts = rng.integers(-1, 2, (30, 5)).astype(np.int8), rng.integers(1, 9, 30).astype(float)

    def value(B, h):
        return probit_ep_likelihood(cells, counts, B, h, 500, 1e-13)[0]

    _, dB, dh = probit_ep_likelihood(cells, counts, B, h, 500, 1e-13)
    direction = (rng.normal(size=B.shape), rng.normal(size=h.shape))
    expected = binary_ica.finite_difference(value, (B, h), direction, step=1e-5)
    assert np.isclose((dB * direction[0]).sum() + dh @ direction[1], expected, rtol=1e-7)
