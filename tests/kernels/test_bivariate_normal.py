import numpy as np
import pytest
from scipy.special import ndtr, ndtri
from scipy.stats import multivariate_normal

from latentbits.kernels.bivariate_normal import LARGEST, fit_tables, normal_cdf2
from tests.reference import tetrachoric as reference

CORRELATIONS = [-0.9999, -0.999, -0.95, -0.6, -0.3, 0.0, 0.2, 0.599, 0.601, 0.9, 0.99, 0.999, 0.9999]


def cdf(h, k, rho):
    h, k, rho = (np.ascontiguousarray(x, dtype=np.float64) for x in np.broadcast_arrays(*np.atleast_1d(h, k, rho)))
    out = np.empty_like(h)
    normal_cdf2(h, k, rho, out)
    return out


def points(rho, n, seed=0):
    """Far apart, nearly equal and nearly opposite: where the integral is easy and where it is steep."""
    rng = np.random.default_rng(seed)
    h = rng.uniform(-3, 3, n)
    return h, np.where(np.arange(n) % 2, rng.uniform(-3, 3, n), np.copysign(1, rho) * h + 0.03 * rng.normal(size=n))


def fit(counts, p, q, n=None):
    counts = np.atleast_2d(np.asarray(counts, dtype=np.float64))
    p, q = (np.broadcast_to(np.asarray(x, dtype=np.float64), len(counts)).copy() for x in (p, q))
    rho, error = np.empty((2, len(counts)))
    fit_tables(counts, counts.sum(axis=1) if n is None else n, p, q, ndtri(p), ndtri(q), rho, error)
    return rho, error


def assert_within(values, low, high):
    """Finite too: NaN is within no limits."""
    assert ((values >= low) & (values <= high)).all()


@pytest.mark.parametrize("rho", CORRELATIONS)
def test_distribution_function_equals_scipys(rho):
    h, k = points(rho, 60)
    expected = [multivariate_normal([0, 0], [[1, rho], [rho, 1]]).cdf(point) for point in zip(h, k, strict=True)]
    np.testing.assert_allclose(cdf(h, k, rho), expected, rtol=0, atol=1e-13)


@pytest.mark.parametrize("rho", [-0.999, -0.5, 0.3, 0.97, 0.9995])
def test_distribution_function_equals_the_integral_over_the_condition(rho):
    h, k = points(rho, 6)
    expected = [reference.cdf(*point, rho) for point in zip(h, k, strict=True)]
    np.testing.assert_allclose(cdf(h, k, rho), expected, rtol=0, atol=1e-12)


def test_distribution_function_at_its_limits():
    h, k = np.array([0.3, -1.0, 2.0]), np.array([-0.4, 1.5, 0.1])
    np.testing.assert_allclose(cdf(h, k, 1.0), np.minimum(ndtr(h), ndtr(k)))
    np.testing.assert_allclose(cdf(h, k, -1.0), np.maximum(0, ndtr(h) + ndtr(k) - 1))
    np.testing.assert_allclose(cdf(h, k, 1 - 1e-15), np.minimum(ndtr(h), ndtr(k)), atol=1e-7)
    np.testing.assert_allclose(cdf(0.0, 0.0, 0.5), 1 / 3)  # Sheppard: 1/4 + asin(rho) / (2 pi)


def test_derivative_in_the_correlation_is_the_density():
    h, k, rho, step = 0.4, -0.9, 0.55, 1e-5
    slope = (cdf(h, k, rho + step) - cdf(h, k, rho - step)) / (2 * step)
    density = multivariate_normal([0, 0], [[1, rho], [rho, 1]]).pdf([h, k])
    np.testing.assert_allclose(slope, density, rtol=1e-8)


@pytest.mark.parametrize("rho", [r for r in CORRELATIONS if abs(r) <= 0.999])
def test_solving_for_the_correlation_undoes_the_distribution_function(rho):
    h, k = points(rho, 200, seed=1)
    p, q, joint = ndtr(h), ndtr(k), cdf(h, k, rho)
    counts = np.column_stack([joint, p - joint, q - joint, 1 - p - q + joint])
    telling = counts.min(axis=1) > 1e-4  # a nearly empty cell no longer holds ten digits of the correlation
    assert telling.sum() > 20
    found, _ = fit(counts[telling], p[telling], q[telling])
    np.testing.assert_allclose(found, rho, rtol=0, atol=1e-9)


def test_margins_from_elsewhere_give_the_maximum_of_the_likelihood():
    counts, p, q = [7.0, 20.0, 3.0, 31.0], 0.37, 0.29
    (rho,), _ = fit(counts, p, q)
    at = [reference.log_likelihood(counts, ndtri(p), ndtri(q), rho + move) for move in (-1e-3, 0, 1e-3)]
    assert max(at) == at[1]
    step = 1e-5
    up, down = (reference.log_likelihood(counts, ndtri(p), ndtri(q), rho + move) for move in (step, -step))
    assert abs(up - down) / (2 * step) < 1e-6 * sum(counts)
    assert abs(rho - fit(counts, (7 + 20) / 61, 10 / 61)[0][0]) > 0.05  # the margins do matter


def test_empty_cells_end_at_the_largest_correlation():
    tables = [[30, 0, 0, 30], [0, 30, 30, 0], [30, 0, 0, 20], [30, 0, 30, 40], [0, 30, 20, 50]]
    rho, error = fit(tables, [0.5, 0.5, 0.6, 0.3, 0.3], [0.5, 0.5, 0.5, 0.6, 0.2])
    np.testing.assert_allclose(rho, np.array([1, -1, 1, 1, -1]) * LARGEST, rtol=1e-12)
    assert_within(error, 0, 1)


@pytest.mark.parametrize(("h", "k", "rho"), [(0.0, 0.0, 0.0), (0.4, -0.3, 0.6), (-1.2, 0.5, -0.7), (1.5, 1.2, 0.93)])
def test_standard_error_is_that_of_the_full_likelihood(h, k, rho):
    _, (error,) = fit(500 * np.array(reference.cells(h, k, rho)), ndtr(h), ndtr(k))
    np.testing.assert_allclose(error, reference.standard_error(h, k, rho, 500), rtol=1e-5)


def test_extreme_margins_stay_finite():
    tiny = np.array([1e-12, 1e-6, 1 - 1e-6, 1e-300, 0.5])
    p, q = (x.ravel() for x in np.meshgrid(tiny, tiny))
    rho, error = fit(np.full((len(p), 4), 0.5), p, q)
    assert_within(rho, -LARGEST - 1e-12, LARGEST + 1e-12)
    assert_within(error, 0, 1)
