"""Simulated data of binary ICA follow their recipe."""

import numpy as np
import pytest
from scipy.special import ndtr

from latentbits import simulate as simulated
from latentbits.models.binary_ica.parameters import pairwise_from_model


class TestSimulate:
    def test_the_recipe(self):
        truth = simulated.binary_ica(3000, 5, 3, 2, random_state=0)
        assert np.abs(truth.mixing).max() < 3
        assert np.linalg.cond(truth.mixing) < 20
        assert ((truth.scales > 0.5) & (truth.scales < 3)).all()
        assert (np.abs(truth.means) < 0.5).all()
        exact = pairwise_from_model(truth.mixing, truth.means, truth.scales)
        for u in (0, 1):
            rows = truth.segments == u
            np.testing.assert_allclose(truth.X[rows].mean(axis=0), ndtr(-exact.thresholds[u]), atol=0.04)
            np.testing.assert_allclose(truth.sources[rows].std(axis=0), truth.scales[u], rtol=0.06)
        np.testing.assert_allclose(truth.probabilities.mean(axis=0), truth.X.mean(axis=0), atol=0.03)

    def test_many_variables_are_drawn_below_the_upper_quartile(self):
        conditions = [np.linalg.cond(simulated.binary_ica(1, 20, 20, 1, random_state=k).mixing) for k in range(3)]
        rng = np.random.default_rng(9)
        assert max(conditions) < np.quantile([np.linalg.cond(rng.uniform(-3, 3, (20, 20))) for _ in range(500)], 0.8)

    def test_bad_sizes_are_refused(self):
        with pytest.raises(ValueError, match="n_segments=0"):
            simulated.binary_ica(5, 4, 2, 0)
