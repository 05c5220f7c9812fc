"""The pass over the ones: fast equals the twin and the NumPy statement of its docstring."""

import numpy as np
import pytest
import scipy.sparse as sp

from latentbits.kernels.em_passes import ones_pass
from tests.reference import plsa


def run(X, W, H, row_weight, G=None):
    csr = sp.csr_array(X == 1)
    M, row_log = np.full_like(W, np.nan), np.full(len(W), np.nan)
    G = np.zeros((H.shape[1], len(H))) if G is None else G
    indptr, indices = csr.indptr.astype(np.int64), csr.indices.astype(np.int32)
    ones_pass(indptr, indices, W, np.ascontiguousarray(H.T), row_weight, M, G, row_log)
    return M, G, row_log


def make(n_rows, n_columns, K, seed, density=0.4):
    rng = np.random.default_rng(seed)
    X = (rng.random((n_rows, n_columns)) < density).astype(np.int8)
    return X, rng.gamma(1.0, size=(n_rows, K)), rng.dirichlet(np.ones(n_columns), K), rng.random(n_rows)


@pytest.mark.parametrize(("shape", "K"), [((1, 1), 1), ((7, 5), 1), ((9, 12), 3), ((4, 30), 9)])
def test_fast_equals_twin(shape, K):
    X, W, H, weight = make(*shape, K, seed=K)
    M, G, row_log = run(X, W, H, weight)
    by_row, by_column, logs = plsa.run_pass(X, W, H, weight)
    np.testing.assert_allclose(M, by_row, rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(H * G.T, by_column, rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(row_log, logs, rtol=1e-12, atol=1e-12)


def test_fast_equals_its_numpy_statement_and_adds():
    X, W, H, weight = make(50, 40, 4, seed=0)
    before = np.ones((40, 4))
    M, G, row_log = run(X, W, H, weight, before.copy())
    R = X / (W @ H)
    np.testing.assert_allclose(M, W * (R @ H.T), rtol=1e-10)
    np.testing.assert_allclose(G, before + R.T @ (weight[:, None] * W), rtol=1e-10)
    np.testing.assert_allclose(row_log, (X * np.log(W @ H)).sum(axis=1), rtol=1e-10)


@pytest.mark.parametrize("scale", [1e-90, 1e90])
def test_logarithms_of_extreme_products_stay_finite(scale):
    X, W, H, weight = make(3, 400, 2, seed=1, density=0.9)
    row_log = run(X, scale * W, H, weight)[2]
    np.testing.assert_allclose(row_log, (X * np.log(scale * (W @ H))).sum(axis=1), rtol=1e-12)


def test_rows_without_ones_leave_nothing():
    _, W, H, weight = make(3, 5, 2, seed=2)
    M, G, row_log = run(np.zeros((3, 5)), W, H, weight)
    assert not M.any()
    assert not G.any()
    assert not row_log.any()
