"""Row and column effects: Newton's method against the slow twin, the choice of the ridge, and what it can't do."""

import numpy as np
import pytest
from scipy.special import expit, logit

from latentbits import IndependentBernoulli, RowColumnBernoulli, compare, simulate
from latentbits.data.binary_data import BinaryData
from latentbits.models.independent import RIDGES, fit_effects
from tests.reference import row_column as twin

X = np.array([[1, 0, 1, np.nan], [0, 0, 1, 0], [1, np.nan, 1, 1], [1, 0, 1, 0], [0, 0, 0, np.nan]])
WEIGHT = np.array([1.0, 2.0, 0.5, 1.0, 1.0])


def main_effects(n_rows, n_columns, spread, seed, density=0.3):
    rng = np.random.default_rng(seed)
    columns = logit(density) + rng.normal(0, 1, n_columns)
    return (rng.random((n_rows, n_columns)) < expit(rng.normal(0, spread, (n_rows, 1)) + columns)).astype(int)


@pytest.mark.parametrize(("ridge", "smoothing"), [(1.0, 0.3), (0.2, 1.0), (30.0, 0.05)])
def test_effects_equal_the_twin(ridge, smoothing):
    model = RowColumnBernoulli(ridge=ridge, smoothing=smoothing).fit(X, sample_weight=WEIGHT)
    rows, columns, best = twin.fit(X, WEIGHT, ridge, smoothing)
    np.testing.assert_allclose(model.weights_[:, 0], rows, atol=1e-5)
    np.testing.assert_allclose(model.components_[0], expit(columns), atol=1e-5)
    assert model.objective_ >= best - 1e-12
    found = model.weights_[:, 0], logit(model.components_[0])
    assert model.objective_ == pytest.approx(twin.objective(X, *found, WEIGHT, ridge, smoothing), rel=1e-12)


@pytest.mark.parametrize("ridge", [0.3, 3.0, 100.0])
def test_the_evidence_is_nearly_the_integral(ridge):
    data = main_effects(40, 15, 1.0, 0)
    found = fit_effects(BinaryData.of(data), np.ones(40), ridge, 0.3)
    penalty = ridge / 2 * found.rows @ found.rows
    smoothing = found.objective + penalty - _log_likelihood(data, found)
    exact = twin.log_marginal(data, found.columns, np.ones(40), ridge) + smoothing
    assert found.evidence == pytest.approx(exact, abs=0.02 * 40)  # of Laplace's approximation, 0.02 a row


def _log_likelihood(data, found):
    p = expit(found.rows[:, None] + found.columns)
    return np.log(np.where(data == 1, p, 1 - p)).sum()


@pytest.mark.parametrize(("spread", "allowed"), [(0.0, (100.0, 1000.0)), (1.0, (0.3, 3.0)), (3.0, (0.1, 0.3))])
def test_the_ridge_follows_the_spread_of_the_rows(spread, allowed):
    model = RowColumnBernoulli().fit(main_effects(300, 40, spread, 1))
    assert allowed[0] <= model.ridge_ <= allowed[1]
    assert model.ridge_ in RIDGES


def test_without_row_effects_it_is_independent_columns():
    data = main_effects(200, 10, 0.0, 0)
    model = RowColumnBernoulli(ridge=1e9).fit(data)
    np.testing.assert_allclose(model.weights_, 0, atol=1e-6)
    np.testing.assert_allclose(model.components_, IndependentBernoulli().fit(data).components_, atol=2e-3)


def test_a_row_without_cells_has_no_effect_and_a_column_without_cells_the_share_of_the_table():
    model = RowColumnBernoulli(ridge=1).fit([[1, 0, None], [None, None, None], [1, 0, None]])
    assert model.weights_[1, 0] == 0
    assert model.components_[0, 2] == pytest.approx(0.5)
    sparse = RowColumnBernoulli(ridge=1).fit([[0, 0, None]] * 20)
    assert sparse.components_[0, 2] == pytest.approx(0.5 / 41)


@pytest.mark.parametrize("value", [0, 1])
def test_constant_tables_are_finite(value):
    model = RowColumnBernoulli().fit(np.full((6, 3), value))
    p = model.reconstruct(np.full((6, 3), value))
    assert np.isfinite(model.objective_)
    assert (np.abs(p - value) < 0.1).all()
    assert model.ridge_ == RIDGES[0]


def test_each_row_is_solved_to_the_end_from_any_columns():
    model = RowColumnBernoulli(ridge=1e-6).fit(main_effects(30, 8, 2.0, 0))
    full = model._solved(np.vstack([np.ones(8), np.zeros(8), np.eye(8)]).astype(int))
    assert full.gap < 1e-9
    p = full.reconstruct()
    residual = np.vstack([np.ones(8), np.zeros(8), np.eye(8)]) - p
    np.testing.assert_allclose(residual.sum(axis=1), model.ridge_ * full.weights[:, 0], atol=1e-8)


def test_rows_that_differ_in_their_totals_are_predicted_better_than_by_columns():
    models = {"rows and columns": RowColumnBernoulli(), "columns": IndependentBernoulli()}
    found = compare(models, main_effects(100, 30, 1.5, 0), criterion="cells", n_folds=3, random_state=0)
    assert found.best == "rows and columns"


def test_it_costs_nothing_where_rows_do_not_differ():
    X = simulate.aspect_bernoulli(100, 30, 1, random_state=0).X
    models = {"rows and columns": RowColumnBernoulli(), "columns": IndependentBernoulli()}
    table = compare(models, X, criterion="cells", n_folds=3, random_state=0).table.set_index("model")
    assert table.loc["rows and columns", "cells"] > table.loc["columns", "cells"] - 1e-3


@pytest.mark.parametrize(("parameter", "value"), [("ridge", 0), ("ridge", -1), ("smoothing", 0), ("smoothing", "much")])
def test_bad_parameters_are_refused(parameter, value):
    with pytest.raises(ValueError, match=rf"{parameter}=.* must be a number of at least"):
        RowColumnBernoulli(**{parameter: value}).fit(X)


@pytest.mark.parametrize(("smoothing", "weight"), [(1e-6, 1.0), (1e-6, 1e9)])
def test_constant_columns_are_finite_however_little_is_added(smoothing, weight):
    X = np.array([[1, 0, 1], [1, 0, 0]])
    model = RowColumnBernoulli(smoothing=smoothing).fit(X, sample_weight=[weight, weight])
    assert np.isfinite(model.score_samples(X)).all()
    assert np.isfinite(model.score_samples(1 - X)).all()
    assert np.isfinite(model.objective_)
