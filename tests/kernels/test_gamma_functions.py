"""digamma and log gamma beside scipy's, over their whole range."""

import numpy as np
import pytest
from scipy import special

from latentbits.kernels.gamma_functions import gamma_functions

rng = np.random.default_rng(0)
NUMBERS = {
    "all sizes": np.logspace(-300, 300, 60_001),
    "counts": np.linspace(0.01, 30, 60_001),
    "about the zeros": np.concatenate([1 + rng.normal(size=3000) * 1e-6, 2 + rng.normal(size=3000) * 1e-6]),
    "about the zero of digamma": 1.4616321449683622 + rng.normal(size=3000) * 1e-6,
    "many cells": rng.uniform(1e3, 1e9, 20_000),
}


def computed(x):
    psi, log_gamma = np.empty(len(x)), np.empty(len(x))
    gamma_functions(x, psi, log_gamma)
    return psi, log_gamma


@pytest.mark.parametrize("name", NUMBERS)
def test_beside_scipy(name):
    x = NUMBERS[name]
    psi, log_gamma = computed(x)
    np.testing.assert_allclose(psi, special.digamma(x), rtol=4e-15, atol=4e-15)
    np.testing.assert_allclose(log_gamma, special.gammaln(x), rtol=8e-15, atol=8e-15)


def test_known_values():
    psi, log_gamma = computed(np.array([1.0, 2.0, 0.5, 5.0]))
    euler = np.euler_gamma
    np.testing.assert_allclose(psi, [-euler, 1 - euler, -euler - 2 * np.log(2), 25 / 12 - euler], atol=3e-15)
    np.testing.assert_allclose(log_gamma, [0, 0, 0.5 * np.log(np.pi), np.log(24)], atol=5e-15)


def test_a_number_s_results_do_not_depend_on_those_beside_it():
    x = rng.gamma(1, 20, 99) + 1e-3
    whole = computed(x)
    for start in range(17):
        for part, all_of_them in zip(computed(x[start:71].copy()), whole, strict=True):
            np.testing.assert_array_equal(part, all_of_them[start:71])
    for i in (0, 1, 50, 98):
        assert [part[0] for part in computed(x[i : i + 1].copy())] == [part[i] for part in whole]
