"""Restarts of small tables, which climb together."""

import numpy as np
import pytest

from latentbits import AspectBernoulli, simulate
from latentbits.models.aspect.maximum_likelihood import MaximumLikelihood


@pytest.fixture(scope="module")
def table():
    """With missing cells, and a row without a cell."""
    X = simulate.aspect_bernoulli(90, 20, 3, random_state=0).X.astype(float)
    X[3], X[5, 4] = np.nan, np.nan
    return X, np.random.default_rng(1).uniform(0, 3, 90)


def fitted(table, **parameters):
    X, weight = table
    settings = {"n_components": 3, "n_init": 5, "random_state": 3, "tol": 1e-5, **parameters}
    return AspectBernoulli(**settings).fit(X, sample_weight=weight)


@pytest.mark.parametrize(
    "parameters", [{}, {"noise": "both"}, {"noise": "auto", "noise_rate": None}, {"max_iter": 10}, {"n_components": 15}]
)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_together_they_end_where_each_ends_alone(table, parameters, monkeypatch):
    together = fitted(table, **parameters)
    monkeypatch.setattr(MaximumLikelihood, "stacked", None)
    alone = fitted(table, **parameters)
    np.testing.assert_array_equal(together.restarts_, alone.restarts_)
    for one, other in zip(together.restart_histories_, alone.restart_histories_, strict=True):
        np.testing.assert_array_equal(one, other)
    for one, other in zip(together.restart_components_, alone.restart_components_, strict=True):
        np.testing.assert_array_equal(one, other)


def test_a_restart_is_the_same_in_any_company(table):
    few, many, on_threads = fitted(table, n_init=2), fitted(table), fitted(table, n_jobs=3)
    for one, other in zip(few.restart_histories_, many.restart_histories_, strict=False):
        length = min(len(one), len(other))  # the leaders of few may not lead many
        np.testing.assert_array_equal(one[:length], other[:length])
    np.testing.assert_array_equal(many.restarts_, on_threads.restarts_)


def test_large_tables_and_checkpoints_are_climbed_one_by_one(table, tmp_path, monkeypatch):
    def refused(*args):
        raise AssertionError("together")

    monkeypatch.setattr("latentbits.fitting.restarts.climb_together", refused)
    fitted(table, checkpoint=tmp_path)
    monkeypatch.setattr("latentbits.fitting.rows.CHUNK_WORK", 100)
    fitted(table)


def test_the_rows_of_a_fit_are_completed_as_it_reconstructs_them(table):
    X, weight = table
    model = AspectBernoulli(3, n_init=5, tol=1e-9, random_state=3)
    fit = model.fit(X, sample_weight=weight)
    data = fit._data(X)
    np.testing.assert_allclose(model._completed(data, weight), fit.average_reconstruction(X), atol=0.02)
