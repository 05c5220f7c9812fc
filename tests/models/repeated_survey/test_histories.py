"""Likelihoods of histories, and answers from them, equal sums over all histories in plain loops."""

import itertools
import math
from decimal import Decimal, localcontext

import numpy as np
import pytest

from latentbits.kernels.survey_pass import history_pass
from latentbits.models.detection import Visited, kinds_of
from latentbits.models.survey_answers import Draw, chao2, present_and_later
from tests.reference import royle_nichols as slow

ABUNDANCES = (0.05, 1.0, 9.0)
HISTORIES = [(0,), (1,), (0, 0, 0), (1, 0, 1), (0, 1, 1, 1)]
BY_IDEA = {True: slow.history_probability, False: slow.occupancy_probability}


def log_likelihood(history, lam, hazard, *, abundance, weight=None):
    cells = np.array(history, np.int8).reshape(1, 1, -1)
    weight = np.ones((1, len(history))) if weight is None else np.asarray(weight, float).reshape(1, -1)
    result = np.empty((1, 1))
    kinds = np.zeros((1, 1), np.int32)
    history_pass(np.log([[lam]]), cells, kinds, 1, weight, np.array([hazard]), abundance, result)
    return result[0, 0]


@pytest.mark.parametrize("abundance", [True, False])
@pytest.mark.parametrize("rate", [0.02, 0.4, 0.95])
@pytest.mark.parametrize("history", HISTORIES)
def test_a_history_by_enumeration(history, rate, abundance):
    for lam in ABUNDANCES:
        found = log_likelihood(history, lam, -math.log1p(-rate), abundance=abundance)
        # The kernel leaves out a share of 1e-10 of the probability; its logarithm may be as close to 0 as it likes.
        assert math.exp(found) == pytest.approx(BY_IDEA[abundance](history, lam, rate), rel=1e-9, abs=0)


@pytest.mark.parametrize("abundance", [True, False])
def test_a_visit_of_double_effort_is_two_visits_that_saw_nothing(abundance):
    once = log_likelihood((1, 0, 0), 1.3, 0.4, abundance=abundance)
    twice = log_likelihood((1, 0), 1.3, 0.4, abundance=abundance, weight=[1, 2])
    assert twice == pytest.approx(once, rel=1e-12)


@pytest.mark.parametrize("abundance", [True, False])
def test_visits_that_were_not_made_say_nothing(abundance):
    without = log_likelihood((1, 0), 1.3, 0.4, abundance=abundance)
    assert log_likelihood((1, -1, 0, -1), 1.3, 0.4, abundance=abundance) == pytest.approx(without, rel=1e-12)
    assert log_likelihood((-1, -1), 1.3, 0.4, abundance=abundance) == pytest.approx(0, abs=1e-12)


@pytest.mark.parametrize("abundance", [True, False])
def test_all_histories_have_probability_one(abundance):
    weight = [0.5, 1.0, 2.5, 1.0]
    logs = [
        log_likelihood(history, 0.8, 0.6, abundance=abundance, weight=weight)
        for history in itertools.product((0, 1), repeat=4)
    ]
    assert np.exp(logs).sum() == pytest.approx(1, rel=1e-9)


def test_many_visits_lose_no_digits():
    """Where the alternating sum in floats has none left: by one of 200 digits."""
    for lam, rate, y, n in ((0.3, 0.5, 20, 40), (4.0, 0.125, 60, 60), (40.0, 0.25, 35, 90)):
        with localcontext() as context:
            context.prec = 200
            q = Decimal(str(1 - rate))
            terms = (
                math.comb(y, k) * (-1) ** k * (-Decimal(str(lam)) * (1 - q ** (n - y + k))).exp() for k in range(y + 1)
            )
            exact = float(sum(terms).ln())
        found = log_likelihood([1] * y + [0] * (n - y), lam, -math.log1p(-rate), abundance=True)
        assert found == pytest.approx(exact, rel=1e-7)


@pytest.mark.parametrize("abundance", [True, False])
def test_presence_and_later_visits_by_enumeration(abundance):
    """P(present | history) and P(seen on one of two more visits | history) as ratios of sums over whole histories."""
    rng = np.random.default_rng(0)
    cells = rng.integers(0, 2, (6, 2, 3)).astype(np.int8)
    cells[0] = 0
    eta, rates = rng.normal(0, 1, (6, 2)), np.array([0.3, 0.6])
    none = np.zeros((0, 6, 3))
    survey = Visited(cells, eta, np.zeros(6), none, np.ones(6), kinds_of(cells, none))
    draw = Draw(abundance, eta, -np.log1p(-rates), np.ones((6, 3)))
    present, later = present_and_later(draw, survey, 2)
    probability = BY_IDEA[abundance]
    for i, j in np.ndindex(6, 2):
        history, lam, rate = tuple(cells[i, j].tolist()), math.exp(eta[i, j]), rates[j]
        ever = probability(history, lam, rate)
        absent = 0.0 if any(history) else math.exp(-lam)
        assert present[i, j] == pytest.approx(1 - absent / ever, rel=1e-8)
        seen = sum(probability((*history, *more), lam, rate) for more in [(0, 1), (1, 0), (1, 1)])
        assert later[i, j] == pytest.approx(seen / ever, rel=1e-7)


def test_chao2():
    """By hand: 4 sites, 3 species of which two were seen once and one twice: 3 + 3/4 * 2 * 1 / (2 * 2)."""
    seen = np.array([[1, 0, 0], [1, 1, 0], [0, 0, 0], [0, 0, 1]], bool)
    bound, low, high = chao2(seen)
    assert bound == pytest.approx(3.375)
    assert 3 < low < bound < high
    assert chao2(np.ones((4, 3), bool)) == (3, 3, 3)
