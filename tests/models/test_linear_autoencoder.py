"""The linear autoencoder: the closed form against ridge regressions one by one, sparse against dense."""

import tracemalloc

import numpy as np
import pytest
import scipy.sparse as sp

from latentbits import DataError, LinearAutoencoder, simulate
from latentbits.data.binary_data import BinaryData
from latentbits.models import conditional as estimator
from latentbits.models.conditional import SPARSE, gram
from tests.reference import conditional as twin


def sparse_table(n_rows=300, n_columns=30, share=0.05, missing=0.0, seed=0):
    """Columns in groups that go together, few ones, some cells missing; as an array with NaN."""
    rng = np.random.default_rng(seed)
    group = rng.integers(5, size=(n_rows, 1)) == np.arange(n_columns) % 5
    X = (rng.random((n_rows, n_columns)) < np.where(group, 3 * share, share / 2)).astype(float)
    X[rng.random(X.shape) < missing] = np.nan
    return X, rng.uniform(0, 2, n_rows)


@pytest.mark.parametrize("missing", [0.0, 0.03])
@pytest.mark.parametrize("form", [np.asarray, sp.csr_array], ids=["dense", "sparse"])
@pytest.mark.parametrize("ridge", [0.5, 60.0])
def test_it_is_each_columns_ridge_regression_on_the_others(missing, form, ridge):
    X, weight = sparse_table(missing=missing)
    model = LinearAutoencoder(ridge).fit(form(X), sample_weight=weight)
    couplings, left = twin.ridge_regressions(X, weight, ridge)
    np.testing.assert_allclose(model.couplings_, couplings, atol=1e-11)
    assert model.objective_ == pytest.approx(-left, rel=1e-10)
    np.testing.assert_allclose(model.means_, twin.means(X, weight)[0], rtol=1e-13)
    assert np.abs(couplings).max() > 0.01
    np.testing.assert_array_equal(np.diag(model.couplings_), 0)


def test_sparse_products_equal_dense_ones():
    X, weight = sparse_table(missing=0.02)
    data = BinaryData.of(sp.csr_array(X))
    assert data.sparse.nnz < SPARSE * X.size, "or the dense way would be taken"
    means = twin.means(X, weight)[0]
    dense = gram(BinaryData.of(X), weight, means)
    np.testing.assert_allclose(gram(data, weight, means), dense, atol=1e-11)
    a, b = LinearAutoencoder().fit(X), LinearAutoencoder().fit(sp.csr_array(X))
    np.testing.assert_allclose(a.reconstruct(X), b.reconstruct(sp.csr_array(X)), rtol=1e-10)


def test_full_sparse_data_take_the_dense_way():
    X = simulate.ising(50, 6, random_state=0).X
    assert sp.csr_array(X).nnz > SPARSE * X.size
    a, b = LinearAutoencoder().fit(X), LinearAutoencoder().fit(sp.csr_array(X))
    np.testing.assert_array_equal(a.couplings_, b.couplings_)


def test_sparse_data_are_never_made_dense():
    n_rows, n_columns = 20_000, 200
    X = sp.random_array((n_rows, n_columns), density=0.01, rng=np.random.default_rng(0), format="csr")
    X.data[:] = 1
    data = BinaryData.of(X)
    tracemalloc.start()
    model = LinearAutoencoder().fit(data)
    model.score(data)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 8 * n_rows * n_columns / 2, "a table of floats would be twice as much"


def test_predictions_are_the_regressions_kept_off_0_and_1():
    X, _ = sparse_table(missing=0.03)
    model = LinearAutoencoder(0.5).fit(X)
    Z = np.nan_to_num(X - model.means_)
    raw = model.means_ + Z @ model.couplings_
    assert raw.min() < 0
    np.testing.assert_allclose(model.reconstruct(X), np.clip(raw, 1e-4, 1 - 1e-4), rtol=1e-12)


def test_columns_that_go_together_are_coupled_and_others_exclude_each_other():
    X, _ = sparse_table(n_rows=3000)
    B = LinearAutoencoder().fit(X).couplings_
    same = np.equal.outer(np.arange(30) % 5, np.arange(30) % 5) & ~np.eye(30, dtype=bool)
    other = ~same & ~np.eye(30, dtype=bool)
    assert B[same].mean() > 0.02
    assert B[other].mean() < 0, "a row has one group, so a 1 in another speaks against it"


def test_too_many_columns_are_refused(monkeypatch):
    monkeypatch.setattr(estimator, "MOST_COLUMNS_OF_LINEAR", 5)
    with pytest.raises(DataError, match="6 columns have too many couplings for LinearAutoencoder; give at most 5"):
        LinearAutoencoder().fit(simulate.ising(20, 6, random_state=0).X)


@pytest.mark.parametrize(("ridge", "weight", "refused"), [(1e-3, 1, False), (1e-3, 1e9, True), (60, 1e9, False)])
def test_a_ridge_that_rounding_loses_is_refused_in_a_sentence(ridge, weight, refused):
    X = np.repeat(np.random.default_rng(0).integers(0, 2, (40, 1)), 6, axis=1)
    model, weights = LinearAutoencoder(ridge=ridge), np.full(40, weight)
    if refused:
        with pytest.raises(DataError, match=r"ridge=0\.001 is lost to rounding beside columns that repeat each"):
            model.fit(X, sample_weight=weights)
    else:  # six equal columns: each is the mean of the others
        np.testing.assert_allclose(model.fit(X, sample_weight=weights).couplings_, (1 - np.eye(6)) / 5, atol=1e-4)
