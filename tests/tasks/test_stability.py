import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator

from latentbits import (
    AspectBernoulli,
    BinaryFactorAnalysis,
    BinaryICA,
    DataError,
    ICAMixture,
    LinearAutoencoder,
    component_stability,
    simulate,
)


class Fitted(BaseEstimator):
    """A model as far as stability looks at it; the first restart is the best."""

    def fit(self, restarts, objectives, similarity):
        self.restart_components_ = [np.asarray(r, float) for r in restarts]
        self.components_ = self.restart_components_[0]
        self.restarts_ = pd.DataFrame({"objective": objectives})
        self.similarity_ = similarity
        return self


def fitted(restarts, objectives, similarity="l1"):
    return Fitted().fit(restarts, objectives, similarity)


A = [[1, 1, 0, 0, 0, 0], [0, 0, 1, 1, 0, 0], [0, 0, 0, 0, 1, 1]]


def test_components_found_again_in_any_order_are_stable():
    model = fitted([A, A[::-1], [A[1], A[2], A[0]]], [3, 2, 1])
    np.testing.assert_allclose(component_stability(model), 1)


def test_a_component_that_does_not_come_back_is_an_accident():
    others = [A[0], A[1], [1, 0, 1, 0, 1, 0]]
    stability = component_stability(fitted([A, others, others], [3, 2, 1]))
    np.testing.assert_allclose(stability[:2], 1)
    assert stability[2] < 0.4


def test_only_the_best_restarts_are_asked():
    poor = [[0, 1, 0, 1, 0, 1]] * 3
    model = fitted([A, A, poor], [3, 2.9, -100])
    np.testing.assert_allclose(component_stability(model, top=2), 1)
    assert component_stability(model, top=3).min() < 0.6


def test_sparse_components_that_have_nothing_in_common_are_not_stable():
    """Plain similarity would call them 0.96 alike, as both are nearly empty."""
    eye = np.eye(6, 100)
    stability = component_stability(fitted([eye[:3], eye[3:]], [2, 1]))
    assert np.abs(stability).max() < 0.1


def test_directions_have_no_sign():
    a = np.linalg.qr(np.random.default_rng(0).normal(size=(8, 3)))[0].T
    model = fitted([a, -a[[2, 0, 1]]], [2, 1], "cosine")
    np.testing.assert_allclose(component_stability(model), 1)


@pytest.mark.parametrize("restarts", [[A], [[A[0]], [A[1]]], [[A[0], A[0]], [A[0], A[0]]]])
def test_where_nothing_can_be_told_it_is_1(restarts):
    np.testing.assert_array_equal(component_stability(fitted(restarts, range(len(restarts), 0, -1))), 1)


def test_on_real_fits_surplus_components_are_the_unstable_ones():
    X = simulate.aspect_bernoulli(300, 40, 3, concentration=0.2, sharpness=0.1, random_state=0).X
    right, many = (AspectBernoulli(k, n_init=5, random_state=0).fit(X) for k in (3, 7))
    assert component_stability(right).min() > 0.95
    assert component_stability(many).min() < 0.6


@pytest.mark.parametrize(
    ("model", "reason"),
    [
        (ICAMixture(2, n_init=1, tol=1e-2, random_state=0), "different numbers of clusters.*adjusted_rand_score"),
        (BinaryFactorAnalysis(2, n_init=1, random_state=0), "different numbers of components.*restarts_"),
        (LinearAutoencoder(), "no components that restarts could reproduce"),
    ],
    ids=lambda part: type(part).__name__,
)
def test_models_without_components_of_restarts_say_why(model, reason):
    model.fit(simulate.aspect_bernoulli(40, 6, 2, random_state=0).X)
    with pytest.raises(DataError, match=reason):
        component_stability(model)


def test_a_model_of_an_older_version_says_so():
    series = simulate.binary_ica(50, 6, 2, 6, random_state=0)
    model = BinaryICA(2, n_init=2, random_state=0).fit(series.X, segments=series.segments)
    del model.restart_components_
    with pytest.raises(DataError, match="was stored by an older version"):
        component_stability(model)
