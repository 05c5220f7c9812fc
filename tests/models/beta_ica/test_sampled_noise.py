"""Sampling beside noise components, whose probabilities are known."""

import numpy as np
import pytest

from latentbits import BetaICA, simulate
from latentbits.errors import DataError
from latentbits.models.aspect.gibbs import Draws, pool
from latentbits.models.aspect.variational import Prior

pytestmark = pytest.mark.filterwarnings("ignore:the chains disagree", "ignore:.*no weight on any kept component")

FEW = {"inference": "gibbs", "n_init": 2, "n_samples": 20, "n_burn": 60, "thin": 2, "random_state": 0}


@pytest.fixture(scope="module")
def X():
    return simulate.aspect_bernoulli(60, 20, 2, white_phantom=True, sharpness=0.2, random_state=0).X


@pytest.mark.parametrize(("noise", "levels"), [("white", [0.001]), ("both", [0.001, 0.999])])
def test_noise_components_stay_as_they_are(X, noise, levels):
    model = BetaICA(2, noise=noise, **FEW).fit(X)
    known = model.phantoms_ != "content"
    assert sorted(model.phantoms_[known]) == (["white"] if noise == "white" else ["black", "white"])
    assert len(model.components_) == 2 + len(levels)
    np.testing.assert_allclose(np.sort(np.unique(model.components_[known])), levels, atol=1e-9)
    low, high = model.components_interval(0.5)
    np.testing.assert_allclose(high[known], low[known], atol=1e-6)
    assert (high[~known] > low[~known]).all()
    assert np.isfinite(model.log_evidence(X, n_sweeps=30))
    assert 0 <= model.suspicion(X).min() <= model.suspicion(X).max() <= 1


def test_a_blank_component_with_content_is_not_taken_for_the_known_one():
    """Two samples in which free and known components are alike: labels of known ones must not move."""
    ones, zeros = np.zeros((2, 2, 3), np.int32), np.full((2, 2, 3), 5, np.int32)
    H = np.full((2, 2, 3), 0.001, np.float32)
    H[:, 0] = [[0.01, 0.02, 0.01], [0.02, 0.01, 0.02]]
    draws = Draws(ones, zeros, H, np.full((2, 2), 0.5), np.zeros(2), np.zeros((2, 4)), np.ones(2))
    components, posterior = pool([draws], 0, Prior(0.5, 0.5, 1.0), n_known=1)
    np.testing.assert_array_equal(posterior.H, H)
    np.testing.assert_allclose(components.mean[1], 0.001, atol=1e-9)


def test_no_rate_is_learned(X):
    with pytest.raises(DataError, match=r"sampling learns no noise_rate; give a number such as 0\.001"):
        BetaICA(2, noise="white", noise_rate=None, **FEW).fit(X)
