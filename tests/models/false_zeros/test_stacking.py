"""Weights of members from hidden cells."""

import numpy as np
import pytest
from scipy.special import expit

from latentbits.fitting.held_out import fit_line, log_odds
from latentbits.models.false_zeros.stacking import cross_fitted, equal_stack, fit_stack, promise, pull
from tests.reference import stacking


@pytest.fixture
def cells():
    """Three members: the truth, the truth with noise, and noise."""
    rng = np.random.default_rng(0)
    truth = rng.normal(-0.5, 1.5, 4000)
    odds = np.stack([truth, truth + rng.normal(0, 1, 4000), rng.normal(0, 1, 4000)], axis=1)
    x = (rng.random(4000) < expit(truth)).astype(int)
    return odds, x, rng.integers(1, 3, 4000).astype(float)


@pytest.mark.parametrize("n", [100, 400, 4000])
def test_the_objective_is_the_twins_and_no_neighbour_is_better(cells, n):
    odds, x, weight = (part[:n] for part in cells)
    found = fit_stack(odds, x, weight)
    best = stacking.loss(found.intercept, found.weights, odds, x, weight)
    rng = np.random.default_rng(1)
    for size in (1e-3, 1e-2, 0.1):
        for _ in range(10):
            step = rng.normal(0, size, 4)
            weights = np.maximum(found.weights + step[1:], 0)
            assert stacking.loss(found.intercept + step[0], weights, odds, x, weight) >= best - 1e-6


def test_good_members_get_the_weight_and_none_is_negative(cells):
    found = fit_stack(*cells)
    assert found.weights[0] > 0.6 > found.weights[1] > found.weights[2]
    assert (found.weights >= 0).all()
    assert found.weights[2] < 0.1


def test_a_member_that_points_the_wrong_way_has_no_say(cells):
    odds, x, weight = cells
    assert fit_stack(np.column_stack([odds[:, 1], -odds[:, 0]]), x, weight).weights[1] == 0


def test_few_cells_leave_the_weights_at_what_members_promise(cells):
    few = [part[:5] for part in cells]
    np.testing.assert_allclose(fit_stack(*few).weights, promise(*few), atol=0.05)
    np.testing.assert_allclose(promise(*(part[:0] for part in cells)), 1 / 3)


def test_a_member_that_overfits_has_no_say_even_of_few_cells(cells):
    odds, x, weight = (part[:120] for part in cells)
    overfitted = np.column_stack([odds, 6 * odds[:, 1] + 6 * odds[:, 2]])
    assert promise(overfitted, x, weight)[3] < 0.001
    assert fit_stack(overfitted, x, weight).weights[3] < 0.05


def test_what_members_promise_hangs_on_the_mean_from_1000_cells_on(cells):
    many = [np.concatenate([part[:1000]] * 3) for part in cells]
    ones = np.ones(3000)
    np.testing.assert_allclose(promise(*many[:2], ones), promise(*(part[:1000] for part in cells[:2]), ones[:1000]))


def test_few_cells_are_pulled_more_than_many():
    assert [pull(n) for n in (0, 100, 200, 1000, 100_000)] == [50, 50, 25, 5, 5]


def test_a_cell_of_weight_2_counts_like_two(cells):
    odds, x, weight = cells
    repeated = [np.repeat(part, weight.astype(int), axis=0) for part in (odds, x)]
    once, twice = fit_stack(odds, x, weight), fit_stack(*repeated, np.ones(int(weight.sum())))
    np.testing.assert_allclose(once.weights, twice.weights, atol=1e-4)


def test_cross_fitted_odds_come_from_the_other_folds(cells):
    odds, x, weight = cells
    fold = np.arange(len(x)) % 4
    out = cross_fitted(odds, x, weight, fold)
    others = fit_stack(odds[fold != 2], x[fold != 2], weight[fold != 2])
    np.testing.assert_allclose(out[fold == 2], others.combine(list(odds[fold == 2].T)))


def test_equal_weights_are_the_mean_of_log_odds():
    parts = [np.array([1.0, -2.0]), np.array([3.0, 0.0])]
    np.testing.assert_allclose(equal_stack(2).combine(parts), [2.0, -1.0])


def test_log_odds_are_bounded():
    np.testing.assert_allclose(log_odds(np.array([0.0, 0.5, 1.0])), [-np.log(999), 0, np.log(999)])


class TestLine:
    def test_it_comes_back(self):
        x = np.random.default_rng(0).normal(0, 2, 500)
        line = fit_line(x, 0.3 + 0.8 * x, np.ones(500))
        assert line.intercept == pytest.approx(0.3, abs=1e-3)
        assert line.slope == pytest.approx(0.8, abs=1e-3)

    def test_the_mean_probability_is_the_targets(self):
        rng = np.random.default_rng(0)
        x, target = rng.normal(0, 2, 500), rng.normal(-1, 1, 500)
        assert expit(fit_line(x, target, np.ones(500))(x)).mean() == pytest.approx(expit(target).mean(), abs=1e-4)

    @pytest.mark.parametrize("x", [np.zeros(0), np.ones(1), np.full(9, 2.0)])
    def test_without_cells_to_tell_it_changes_nothing(self, x):
        np.testing.assert_array_equal(fit_line(x, x, np.ones(len(x)))(np.array([-1.0, 2.0])), [-1.0, 2.0])
