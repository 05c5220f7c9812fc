"""The closed forms of the Royle-Nichols model equal sums over all histories, and have the limits that they should."""

import numpy as np
import pytest

from latentbits import simulate
from latentbits.models.royle_nichols import (
    CEILING,
    abundance_of,
    present_if_never_seen,
    seen_later_if_never_seen,
)
from tests.reference import royle_nichols as slow

CASES = pytest.mark.parametrize("rate", [0.02, 0.4, 0.95])
ABUNDANCES = (0.05, 1.0, 9.0)


@CASES
@pytest.mark.parametrize("n", [1, 2, 5])
def test_closed_forms_are_those_of_all_histories(rate, n):
    for lam in ABUNDANCES:
        assert abundance_of(slow.ever_seen(n, lam, rate), n, rate) == pytest.approx(lam, rel=1e-9)
        assert present_if_never_seen(lam, n, rate) == pytest.approx(slow.present_if_never_seen(n, lam, rate), rel=1e-9)
        for m in (1, 3):
            expected = slow.seen_later([0] * n, m, lam, rate)
            assert seen_later_if_never_seen(lam, n, m, rate) == pytest.approx(expected, rel=1e-9)


@CASES
def test_in_terms_of_having_been_seen(rate):
    """The forms that have u in them: P(present) and P(seen next) of cells that n visits missed."""
    u, q = np.linspace(0, 0.99, 12), 1 - rate
    for n in (1, 2, 7):
        lam = abundance_of(u, n, rate)
        assert present_if_never_seen(lam, n, rate) == pytest.approx(1 - (1 - u) ** (q**n / (1 - q**n)), abs=1e-12)
        next_one = 1 - (1 - u) ** (rate * q**n / (1 - q**n))
        assert seen_later_if_never_seen(lam, n, 1, rate) == pytest.approx(next_one, abs=1e-12)


def test_limits_of_the_rate():
    lam, n = np.array([0.1, 2.0]), 3
    assert present_if_never_seen(lam, n, 1.0).tolist() == [0, 0]  # who sees all, missed nothing
    assert present_if_never_seen(lam, n, 1e-9) == pytest.approx(
        1 - np.exp(-lam), rel=1e-6
    )  # who sees nothing, learned nothing
    u = np.array([0.3, 0.8])
    tiny = abundance_of(u, n, 1e-9)
    assert np.isfinite(tiny).all()
    # With u held, a tiny rate means endless individuals: visits are independent, each misses with (1-u)^(1/n).
    assert seen_later_if_never_seen(tiny, n, 1, 1e-9) == pytest.approx(1 - (1 - u) ** (1 / n), rel=1e-6)
    assert present_if_never_seen(tiny, n, 1e-9) == pytest.approx(1, rel=1e-6)


def test_limits_of_the_visits():
    lam = np.array([0.1, 2.0])
    assert present_if_never_seen(lam, 0, 0.4) == pytest.approx(1 - np.exp(-lam))
    assert present_if_never_seen(lam, 500, 0.4) == pytest.approx(0, abs=1e-12)
    assert seen_later_if_never_seen(lam, 2, 500, 0.4) == pytest.approx(present_if_never_seen(lam, 2, 0.4))
    assert seen_later_if_never_seen(lam, 2, 0, 0.4).tolist() == [0, 0]
    assert (np.diff([seen_later_if_never_seen(lam, 2, m, 0.4) for m in range(6)], axis=0) > 0).all()
    assert (np.diff([present_if_never_seen(lam, n, 0.4) for n in range(6)], axis=0) < 0).all()


def test_certainty_is_finite():
    assert np.isfinite(abundance_of([0.0, 1.0], 2, 0.4)).all()
    assert abundance_of(1.0, 2, 0.4) == abundance_of(CEILING, 2, 0.4)
    assert abundance_of(0.0, 2, 0.4) == 0


def test_shares_of_a_simulated_survey():
    """Among cells that n visits missed, so many are present, and so many seen on the next visit; by the true lam."""
    truth = simulate.repeated_surveys(3000, 20, 4, rate=0.3, random_state=1)
    lam = truth.expected
    never = truth.histories[:, :3].sum(axis=1) == 0
    for outcome, predicted in (
        (truth.presence, present_if_never_seen(lam, 3, 0.3)),
        (truth.histories[:, 3] == 1, seen_later_if_never_seen(lam, 3, 1, 0.3)),
    ):
        expected, variance = predicted[never].sum(), (predicted * (1 - predicted))[never].sum()
        assert abs(outcome[never].sum() - expected) < 5 * np.sqrt(variance)
