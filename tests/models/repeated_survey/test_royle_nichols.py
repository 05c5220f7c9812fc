"""The closed forms of the Royle-Nichols model equal sums over all histories, and have the limits that they should."""

import math
from decimal import Decimal, localcontext

import numpy as np
import pytest

from latentbits import simulate
from latentbits.models.royle_nichols import (
    CEILING,
    abundance_of,
    history_log_likelihood,
    present_if_never_seen,
    seen_later,
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


@CASES
def test_histories_with_sightings(rate):
    for lam in ABUNDANCES:
        for n in (1, 4):
            for y in range(n + 1):
                history = [1] * y + [0] * (n - y)
                expected = math.log(slow.history_probability(history, lam, rate))
                assert history_log_likelihood(lam, y, n, rate) == pytest.approx(expected, rel=1e-9)
                assert seen_later(lam, y, n, 2, rate) == pytest.approx(slow.seen_later(history, 2, lam, rate), rel=1e-8)


def _by_inclusion_and_exclusion(lam, y, n, rate, digits=200):
    """The sum of alternating sign, with so many digits that enough are left."""
    with localcontext() as context:
        context.prec = digits
        q = Decimal(str(1 - rate))
        total = sum(
            math.comb(y, k) * (-1) ** k * (-Decimal(str(lam)) * (1 - q ** (n - y + k))).exp() for k in range(y + 1)
        )
        return float(total.ln())


@pytest.mark.parametrize(("lam", "rate"), [(0.3, 0.5), (4.0, 0.125), (40.0, 0.25), (600.0, 0.0078125), (0.5, 0.75)])
def test_many_visits_lose_no_digits(lam, rate):
    """Where the alternating sum in floats has none left: twelve digits by one of 200 digits."""
    for y, n in ((20, 40), (60, 60), (35, 90)):
        exact = _by_inclusion_and_exclusion(lam, y, n, rate)
        assert history_log_likelihood(lam, y, n, rate) == pytest.approx(exact, rel=1e-9)
    terms = [math.comb(60, k) * (-1) ** k * math.exp(-0.3 * (1 - 0.5**k)) for k in range(61)]
    assert not math.isclose(sum(terms), math.exp(_by_inclusion_and_exclusion(0.3, 60, 60, 0.5)), rel_tol=0.5)


def test_all_histories_have_probability_one():
    for lam, n, rate in ((0.2, 3, 0.6), (7.0, 6, 0.1)):
        total = sum(math.comb(n, y) * np.exp(history_log_likelihood(lam, y, n, rate)) for y in range(n + 1))
        assert total == pytest.approx(1, rel=1e-12)


def test_arguments_broadcast_and_the_answer_of_a_cell_does_not_depend_on_others():
    rng = np.random.default_rng(0)
    lam, n = rng.gamma(0.5, 20, (30, 7)), rng.integers(1, 9, (30, 1))
    y, rate = rng.integers(0, n + 1, (30, 7)), rng.uniform(0.01, 0.99, 7)
    together = history_log_likelihood(lam, y, n, rate)
    assert together.shape == (30, 7)
    for i, j in ((0, 0), (11, 3), (29, 6)):
        assert history_log_likelihood(lam[i, j], y[i, j], n[i, 0], rate[j]) == pytest.approx(together[i, j], rel=1e-12)


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
    assert history_log_likelihood(2.0, [0, 2, 3], 3, 1.0) == pytest.approx([-2, -np.inf, np.log1p(-np.exp(-2))])


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
    seen, lam = truth.histories.sum(axis=1), truth.expected
    never = truth.histories[:, :3].sum(axis=1) == 0
    for outcome, predicted in (
        (truth.presence, present_if_never_seen(lam, 3, 0.3)),
        (truth.histories[:, 3] == 1, seen_later_if_never_seen(lam, 3, 1, 0.3)),
    ):
        expected, variance = predicted[never].sum(), (predicted * (1 - predicted))[never].sum()
        assert abs(outcome[never].sum() - expected) < 5 * np.sqrt(variance)
    twice = truth.histories[:, :3].sum(axis=1) == 2
    predicted = seen_later(lam, 2, 3, 1, 0.3)
    error = np.sqrt((predicted * (1 - predicted))[twice].sum())
    assert abs((seen == 3)[twice].sum() - predicted[twice].sum()) < 5 * error
