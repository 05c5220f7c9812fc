"""Data and small problems for the tests of binary factor analysis."""

import numpy as np
import pytest

from latentbits.models.binary_factors.binary_model import Parameters
from latentbits.models.binary_factors.estimator import BinaryFactorAnalysis
from latentbits.simulate.mixed_sources import binary_factors

TRUTH = binary_factors(200, 10, 3, noise=0.25, random_state=0)
PHI = np.array([1.7])
INFERENCES = ["auto", "byy", "vb", "em"]
each_inference = pytest.mark.parametrize("inference", INFERENCES)


def prior_of(prior):
    return {name: value for name, value in prior._asdict().items() if name != "tau"}


NOISES = ("equal", "columns")
each_noise = pytest.mark.parametrize("noise", NOISES)


def small(seed=0, N=12, n=4, m=3, noise="equal"):
    """Rows, codes and parameters that have nothing to do with each other."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((N, n))
    Y = np.where(rng.random((N, m)) < 0.6, 1.0, -1.0)
    theta = Parameters(rng.standard_normal((n, m)), rng.standard_normal(n), PHI, rng.uniform(0.2, 0.8, m))
    return X, Y, theta if noise == "equal" else theta._replace(phi=rng.uniform(0.3, 5.0, n))


def limit_of(theta):
    """No limit of the noise's precision, in the form that says how many noises there are."""
    return np.full(len(theta.phi), 1e10)


def standardised(truth):
    Z = truth.X - truth.X.mean(axis=0)
    return Z / np.sqrt(np.mean(Z * Z))


def fitted(inference, **parameters):
    n_components = 3 if inference == "em" else 5
    return BinaryFactorAnalysis(
        **{"n_components": n_components, "inference": inference, "n_init": 5, "random_state": 0, **parameters}
    ).fit(TRUTH.X)
