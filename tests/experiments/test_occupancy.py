"""The rival of RepeatedSurvey is at its best: its EM ends where a general optimiser does."""

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import expit

from experiments.beyond._occupancy import fit_occupancy


def _negative(parameters, n_seen, n_visits):
    """Of one species, in plain loops."""
    psi, p = expit(parameters)
    total = 0.0
    for y, n in zip(n_seen, n_visits, strict=True):
        total += np.log(psi * p**y * (1 - p) ** (n - y) + (1 - psi) * (y == 0))
    return -total


def test_the_likelihood_is_at_its_maximum():
    rng = np.random.default_rng(0)
    n_visits = rng.integers(0, 5, (80, 3))
    present = rng.random((80, 3)) < [0.2, 0.5, 0.8]
    n_seen = rng.binomial(n_visits, 0.4) * present
    found = fit_occupancy(n_seen, n_visits)
    for j in range(3):
        best = minimize(_negative, [0.0, 0.0], args=(n_seen[:, j], n_visits[:, j]))
        assert found.log_likelihood[j] == pytest.approx(-best.fun, abs=1e-5)
        assert (found.psi[j], found.p[j]) == pytest.approx(tuple(expit(best.x)), abs=1e-3)
    never = (n_seen == 0) & (n_visits > 0)
    missed = found.psi * (1 - found.p) ** n_visits
    assert found.present[never] == pytest.approx((missed / (missed + 1 - found.psi))[never], abs=1e-6)


def test_a_species_that_was_never_seen_is_not_expected():
    found = fit_occupancy(np.zeros((5, 1), int), np.full((5, 1), 2))
    assert found.psi.tolist() == [0]
    assert found.seen_next().tolist() == [[0]] * 5
