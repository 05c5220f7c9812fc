"""Data and random parameters for the tests of binary ICA."""

import numpy as np
import pytest

from latentbits import simulate as simulated
from latentbits.data.binary_data import BinaryData
from latentbits.models.binary_ica.parameters import Parameters
from tests.reference import binary_ica as twin

NAN = np.nan
TRUTH = simulated.binary_ica(100, 6, 2, 10, random_state=3)
UNEQUAL = np.flatnonzero((TRUTH.segments % 2 == 0) | (np.arange(1000) % 3 == 0))
"""Rows that leave segments of 100 and of 33 or 34 rows."""


def random_parameters(n, m, U, seed=0):
    rng = np.random.default_rng(seed)
    return Parameters(rng.uniform(-2, 2, (n, m)), rng.uniform(-0.5, 0.5, (U, m)), rng.uniform(0.5, 2, (U, m)))


def rows_with_missing(n, N, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 2, (N, n)).astype(float)
    X[rng.random((N, n)) < 0.15] = NAN
    return X


def cells_of(X):
    return BinaryData.of(X).dense()


def check_gradient(function, state, seed=0):
    """The gradient, part by part, against finite differences along random directions."""
    rng = np.random.default_rng(seed)
    _, gradient = function(state)
    for part in range(len(state)):
        direction = [rng.standard_normal(a.shape) if k == part else np.zeros_like(a) for k, a in enumerate(state)]
        slope = twin.finite_difference(lambda *a: function(type(state)(*a))[0], state, direction)
        expected = float(np.sum(gradient[part] * direction[part]))
        assert slope == pytest.approx(expected, rel=1e-5, abs=1e-5), type(state)._fields[part]
        assert abs(expected) > 1e-3, "a gradient of 0 would prove nothing"
