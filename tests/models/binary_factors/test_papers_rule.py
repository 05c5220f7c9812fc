"""What the paper's rule for discarding (line 14 of Algorithm 1, delta = 2) does to its own simulated factors."""

import numpy as np
import pytest

from latentbits.models.binary_factors.binary_model import Parameters
from latentbits.models.binary_factors.byy import weakest


@pytest.mark.parametrize(("sigma", "left"), [(0.25, 3), (1.0, 0)])
def test_at_the_largest_noise_it_discards_every_true_factor(sigma, left):
    """True columns have a length of 1 to 2 and go if they are shorter than 2 sigma: with the true parameters all of
    them do.

    So whoever ends with too many factors there has estimated too small a noise.
    """
    rng = np.random.default_rng(0)
    for _ in range(20):
        U = np.linalg.qr(rng.standard_normal((10, 3)))[0]
        theta = Parameters(U * rng.uniform(1, 2, 3), np.zeros(10), np.array([sigma**-2]), np.full(3, 0.5))
        while (factor := weakest(theta, 200, 2.0)) is not None:
            theta = theta._replace(A=np.delete(theta.A, factor, axis=1), beta=np.delete(theta.beta, factor))
        assert theta.A.shape[1] == left
