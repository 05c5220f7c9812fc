"""Independent columns: closed form, against the slow twin and against a mixture of one component."""

import numpy as np
import pandas as pd
import pytest

from latentbits import (
    AspectBernoulli,
    BernoulliMixture,
    DataError,
    IndependentBernoulli,
    compare,
    load_model,
    save_model,
    select_order,
    simulate,
)
from tests.reference import independent as twin

X = np.array([[1, 0, 1, np.nan], [0, 0, 1, np.nan], [1, np.nan, 0, np.nan], [1, 0, 1, np.nan]])
WEIGHT = np.array([1.0, 2.0, 0.5, 0.0])


@pytest.mark.parametrize("smoothing", [0, 0.3, 2.0])
def test_components_are_the_columns_smoothed_shares(smoothing):
    model = IndependentBernoulli(smoothing=smoothing).fit(X, sample_weight=WEIGHT)
    np.testing.assert_allclose(model.components_[0], twin.column_shares(X, WEIGHT, smoothing), rtol=1e-14)
    np.testing.assert_array_equal(model.weights_, np.ones((4, 1)))


def test_likelihoods_equal_the_twin():
    model = IndependentBernoulli().fit(X)
    expected = twin.log_likelihoods(model, X)
    np.testing.assert_allclose(model.score_samples(X), expected, rtol=1e-12)
    assert model.score(X) == pytest.approx(expected.mean(), rel=1e-12)
    assert model.log_likelihood(X) == pytest.approx(expected.sum(), rel=1e-12)
    assert model.objective_ == pytest.approx(expected.sum(), rel=1e-12)
    assert model.aic(X) == pytest.approx(2 * 4 - 2 * expected.sum(), rel=1e-12)
    assert model.bic(X) == pytest.approx(np.log(4) * 4 - 2 * expected.sum(), rel=1e-12)


def test_equals_a_mixture_of_one_component():
    """So the baseline of a comparison is what it was."""
    data = simulate.aspect_bernoulli(80, 15, 3, random_state=0).X
    model, mixture = IndependentBernoulli().fit(data), BernoulliMixture(1, n_init=1, random_state=0).fit(data)
    np.testing.assert_allclose(model.components_, mixture.components_, rtol=1e-10)
    np.testing.assert_allclose(model.score_samples(data), mixture.score_samples(data), rtol=1e-10)
    assert model.bic(data) == pytest.approx(mixture.bic(data), rel=1e-10)


def test_rows_of_a_constant_table_are_certain_without_smoothing_and_never_nan():
    ones = np.ones((5, 3), int)
    model = IndependentBernoulli(smoothing=0).fit(ones)
    np.testing.assert_array_equal(model.score_samples(ones), 0.0)
    assert np.isfinite(model.score_samples(1 - ones)).all()
    assert model.sample(4, random_state=0).tolist() == ones[:4].tolist()


def test_weights_equal_repeated_rows():
    times = np.array([1, 3, 0, 2])
    weighted = IndependentBernoulli().fit(X, sample_weight=times)
    repeated = IndependentBernoulli().fit(np.repeat(X, times, axis=0))
    np.testing.assert_allclose(weighted.components_, repeated.components_, rtol=1e-14)
    assert weighted.objective_ == pytest.approx(repeated.objective_, rel=1e-12)


def test_reconstructs_missing_cells_by_their_column():
    model = IndependentBernoulli().fit(X)
    np.testing.assert_allclose(model.reconstruct(X), np.repeat(model.components_, 4, axis=0))


def test_samples_follow_the_columns():
    model = IndependentBernoulli().fit(simulate.aspect_bernoulli(50, 6, 2, random_state=0).X)
    drawn = model.sample(20_000, random_state=0)
    np.testing.assert_allclose(drawn.mean(axis=0), model.components_[0], atol=0.02)
    np.testing.assert_array_equal(drawn, model.sample(20_000, random_state=0))


@pytest.mark.parametrize("smoothing", [-1, np.nan, "much", None])
def test_bad_smoothing_is_refused(smoothing):
    with pytest.raises(ValueError, match=r"smoothing=.* must be a number of at least 0"):
        IndependentBernoulli(smoothing=smoothing).fit(X)


def test_structure_beats_it_and_noise_does_not():
    rng = np.random.default_rng(0)
    structured = simulate.aspect_bernoulli(150, 30, 2, sharpness=0.1, concentration=0.2, random_state=0).X
    noise = (rng.random((150, 30)) < rng.uniform(0.2, 0.8, 30)).astype(int)
    models = {"aspects": AspectBernoulli(2, n_init=3), "independent": IndependentBernoulli()}
    found = [compare(models, data, n_folds=3, random_state=0).best for data in (structured, noise)]
    assert found == ["aspects", "independent"]


def test_select_order_knows_that_there_is_nothing_to_choose():
    found = select_order(IndependentBernoulli(), X, 1, criterion=["aic", "bic", "cells"], n_folds=2, random_state=0)
    assert found.best_order == 1
    assert found.table["aic"].item() == pytest.approx(found.best_model.aic(X))
    with pytest.raises(DataError, match="IndependentBernoulli has no n_components to choose; give orders=1"):
        select_order(IndependentBernoulli(), X, [2, 3])


def test_a_file_and_a_report(tmp_path):
    frame = pd.DataFrame(X).add_prefix("c")
    model = IndependentBernoulli().fit(frame)
    save_model(model, tmp_path / "model.npz")
    same = load_model(tmp_path / "model.npz")
    np.testing.assert_array_equal(same.components_, model.components_)
    assert same.score(frame) == model.score(frame)
    same.report(frame, tmp_path / "report.html")
    assert "There are no restarts" in (tmp_path / "report.html").read_text(encoding="utf-8")
