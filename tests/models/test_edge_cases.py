"""No NaN, no crash, no needless warning: a sensible answer to every question about strange data."""

import warnings

import numpy as np
import pytest
import scipy.sparse as sp

from latentbits import AspectBernoulli
from tests.models.strange import some, warns_if_degenerate

NAN = np.nan


def with_missing(X, rows=(), columns=()):
    X = X.copy()
    X[list(rows)] = NAN
    X[:, list(columns)] = NAN
    return X


CASES = {
    "all zero": (np.zeros((12, 6)), 3),
    "all one": (np.ones((12, 6)), 3),
    "one row": (some(1, 8), 2),
    "one row of zeros": (np.zeros((1, 8)), 2),
    "one column": (some(15, 1), 2),
    "one cell": (np.ones((1, 1)), 2),
    "one component": (some(20, 7), 1),
    "more components than rows": (some(4, 10), 7),
    "more components than columns": (some(20, 3), 6),
    "constant columns": (np.hstack([some(20, 4), np.zeros((20, 2)), np.ones((20, 2))]), 3),
    "rows entirely missing": (with_missing(some(20, 8), rows=(0, 7, 19)), 3),
    "columns entirely missing": (with_missing(some(20, 8), columns=(0, 5)), 3),
    "all but one cell missing": (np.where(np.eye(5, 4, k=3), 1.0, NAN), 2),
    "hardly anything observed": (np.where(some(10, 30, 0.9).T == 1, NAN, some(30, 10)), 3),
    "duplicated rows": (np.repeat(some(2, 9), 15, axis=0), 4),
    "a row of zeros and one of ones": (np.vstack([some(18, 6), np.zeros((1, 6)), np.ones((1, 6))]), 4),
    "10 rows, 5000 columns": (some(10, 5000, 0.1), 3),
    "10 rows, 5000 columns, all zero": (np.zeros((10, 5000)), 3),
}


@pytest.fixture(params=CASES, scope="module")
def case(request):
    """X, and the model fitted to it; only tables that leave nothing to be learned are warned about."""
    X, K = CASES[request.param]
    with warns_if_degenerate(X, K):
        return X, AspectBernoulli(K, n_init=3, random_state=0).fit(X)


def assert_probabilities(values):
    values = np.asarray(values, dtype=float)
    assert np.isfinite(values).all()
    assert ((values >= 0) & (values <= 1)).all()


def test_fit(case):
    _, model = case
    assert_probabilities(model.components_)
    assert_probabilities(model.weights_)
    np.testing.assert_allclose(model.weights_.sum(axis=1), 1)
    assert model.converged_
    assert np.isfinite(model.objective_)
    assert model.objective_ <= 1e-3
    assert set(model.phantoms_) <= {"content", "white", "black"}


def test_transform_and_reconstruct(case):
    X, model = case
    np.testing.assert_array_equal(model.transform(X), model.weights_)
    assert_probabilities(model.reconstruct(X))
    strange = np.vstack([np.zeros(X.shape[1]), np.ones(X.shape[1]), np.full(X.shape[1], NAN)])
    assert_probabilities(model.transform(strange))
    np.testing.assert_allclose(model.transform(strange)[2], 1 / model.n_components)


def test_likelihoods(case):
    X, model = case
    strange = np.vstack([X, np.zeros(X.shape[1]), np.ones(X.shape[1]), np.full(X.shape[1], NAN)])
    scores = model.score_samples(strange)
    assert np.isfinite(scores).all()
    assert (scores <= 1e-6).all()
    assert scores[-1] == pytest.approx(0, abs=1e-9)
    for value in (model.score(X), model.log_likelihood(X), model.aic(X), model.bic(X)):
        assert np.isfinite(value)


def test_denoise_fills_every_cell(case):
    X, model = case
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=r"\d+ rows? (has|have) no weight on any kept component")
        cells = model.denoise(X)
    assert cells.shape == X.shape
    assert set(np.unique(cells)) <= {0, 1}


@pytest.mark.parametrize(("kind", "value"), [("absence", 0), ("presence", 1)])
def test_suspects(case, kind, value):
    X, model = case
    table = model.suspects(X, kind=kind, top=None)
    assert len(table) == np.sum(value == X)
    assert_probabilities(table["score"])
    assert_probabilities(np.clip(table["phantom"], None, 1))
    assert (table["phantom"] <= 1 + 1e-9).all()


def test_explain(case):
    X, model = case
    table = model.explain(X, row=0)
    assert len(table) == X.shape[1] * model.n_components
    assert_probabilities(table["probability"])
    np.testing.assert_allclose(table.groupby("column")["probability"].sum(), 1)
    assert table["value"].isna().sum() == np.isnan(X[0]).sum() * model.n_components


def test_sample(case):
    X, model = case
    cells = model.sample(7, random_state=0)
    assert cells.shape == (7, X.shape[1])
    assert set(np.unique(cells)) <= {0, 1}


def test_sparse_is_the_same(case):
    X, model = case
    other = AspectBernoulli(model.n_components, n_init=3, random_state=0).fit(sp.csr_array(X))
    np.testing.assert_array_equal(other.components_, model.components_)


@pytest.mark.parametrize("name", ["all zero", "all one"])
def test_constant_data_are_explained_perfectly(name):
    X, K = CASES[name]
    model = AspectBernoulli(K, n_init=2, random_state=0).fit(X)
    np.testing.assert_allclose(model.reconstruct(X), X, atol=1e-6)
    np.testing.assert_array_equal(model.denoise(X), X)
    assert (model.sample(5, random_state=0) == X[:5]).all()
    assert model.objective_ == pytest.approx(0, abs=1e-3)


def test_enough_components_for_every_row_explain_them_all():
    X = some(4, 30)
    model = AspectBernoulli(7, smoothing=0, n_init=3, random_state=0).fit(X)
    assert model.objective_ > -0.05
    np.testing.assert_array_equal(model.reconstruct(X) > 0.5, X)


def test_duplicated_rows_have_equal_weights():
    X = CASES["duplicated rows"][0]
    W = AspectBernoulli(4, n_init=3, random_state=0).fit(X).weights_
    np.testing.assert_array_equal(W[:15], W[[0] * 15])
    np.testing.assert_array_equal(W[15:], W[[15] * 15])


def test_rows_entirely_missing_change_nothing():
    X = CASES["rows entirely missing"][0]
    seen = ~np.isnan(X).all(axis=1)
    a, b = (AspectBernoulli(3, n_init=3, random_state=0).fit(data) for data in (X, X[seen]))
    assert a.objective_ == pytest.approx(b.objective_, abs=0.01)
    np.testing.assert_allclose(a.weights_[~seen], 1 / 3)


@pytest.mark.parametrize("scale", [1.0, 1e-6, 1e6])
def test_sample_weights_with_zeros_of_any_scale(scale):
    X, weight = some(20, 8), np.resize([0.0, 0.0, 1.0, 2.0], 20)
    model = AspectBernoulli(3, n_init=3, random_state=0).fit(X, sample_weight=scale * weight)
    assert_probabilities(model.components_)
    assert_probabilities(model.weights_)
    assert np.isfinite([model.score(X), model.aic(X), model.objective_]).all()
    assert set(np.unique(model.sample(5, random_state=0))) <= {0, 1}


def test_one_row_alone_has_weight():
    X = some(5, 6)
    model = AspectBernoulli(2, n_init=2, random_state=0).fit(X, sample_weight=[0, 0, 1, 0, 0])
    np.testing.assert_allclose(model.reconstruct(X)[2], X[2], atol=1e-3)
    assert (model.sample(4, random_state=0) == X[2]).all()


@pytest.mark.parametrize("empty", [np.zeros((0, 4)), np.zeros((4, 0)), [], [[]]])
def test_nothing_at_all_is_refused_with_a_sentence(empty):
    with pytest.raises(ValueError, match=r"minimum of 1 is required|Expected 2D array"):
        AspectBernoulli(2).fit(empty)
