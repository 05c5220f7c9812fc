"""Vectors as NumPy would have it, and the two loops that are made for different numbers of registers."""

import numba
import numpy as np
import pytest

from latentbits.kernels import aspect_pass
from latentbits.kernels.vectors import VECTOR_BYTES, larger, load, spread, store, store_totals, where_positive

rng = np.random.default_rng(0)


@numba.njit
def all_of_them(x, y, out, totals):
    a, b = load(x, 3), load(y, 1)
    store(out[0], 0, a + b)
    store(out[1], 0, a * b)
    store(out[2], 0, a / b)
    store(out[3], 0, larger(a, b))
    store(out[4], 0, where_positive(a, b, spread(x[0])))
    store(out[5], 0, a - b)
    store_totals(totals, 1, a, b, a * b, spread(x[0]))


@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_instructions(kind):
    lanes = VECTOR_BYTES // np.dtype(kind).itemsize
    x, y = rng.normal(size=(2, lanes + 3)).astype(kind)
    x[4] = 0
    out, totals = np.zeros((6, lanes), kind), np.zeros(6, kind)
    all_of_them(x, y, out, totals)
    a, b = x[3:], y[1 : 1 + lanes]
    expected = [a + b, a * b, a / b, np.maximum(a, b), np.where(a > 0, b, x[0]), a - b]
    np.testing.assert_array_equal(out, expected)
    sums = [0, a.sum(), b.sum(), (a * b).sum(), lanes * x[0], 0]
    np.testing.assert_allclose(totals, sums, rtol=1e-5 if kind is np.float32 else 1e-14)


@pytest.mark.parametrize("kind", [np.float32, np.float64])
@pytest.mark.parametrize("collect", [aspect_pass._collect_by_one, aspect_pass._collect_by_two])
def test_both_ways_to_collect(collect, kind):
    K, width = 4, 64
    wr, r1, r0 = rng.random((K, 4)), rng.random((4, width)), rng.random((4, width))
    H1, H0 = rng.random((2, K, width))
    A1, A0 = rng.random((2, K, width))
    given = [array.astype(kind) for array in (wr, H1, H0, r1, r0, A1, A0)]
    m = np.empty((K, 4), kind)
    collect(*given, m, width)
    tolerance = {"rtol": 1e-5 if kind is np.float32 else 1e-13}
    np.testing.assert_allclose(m, H1 @ r1.T + H0 @ r0.T, **tolerance)
    np.testing.assert_allclose(given[5], A1 + wr @ r1, **tolerance)
    np.testing.assert_allclose(given[6], A0 + wr @ r0, **tolerance)
