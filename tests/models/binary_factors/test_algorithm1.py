"""Algorithm 1 as printed, against plain loops."""

import numpy as np
import pytest

from latentbits import BinaryFactorAnalysis
from latentbits.fitting.climb import Monitor
from latentbits.fitting.workers import Workers
from latentbits.models.binary_factors import algorithm1
from latentbits.models.binary_factors.binary_model import Parameters, moments
from latentbits.models.binary_factors.byy import State
from tests.models.binary_factors.tools import TRUTH, small, standardised
from tests.reference import binary_factors as twin

XI = algorithm1.Hyper(0.4, 0.3, 1.5, 0.7, 5.0, 3.0)


@pytest.mark.parametrize("tau", [0.0, 1.0])
def test_a_pass_equals_the_twin(tau):
    X, Y, theta = small()
    alpha = np.array([0.5, 2.0, 7.0])
    new = algorithm1.update(State(theta, alpha), moments(X, Y), tau, 0.01, XI)
    A, c, phi, beta = theta
    expected = twin.algorithm_1_pass(X, Y, A, c, float(phi[0]), beta, alpha, tau=tau, eta=0.01, **XI._asdict())
    for ours, theirs in zip((*new.theta, new.alpha), expected, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-10)


def test_the_printed_lines_are_the_gradient_of_h_but_for_the_digamma_terms():
    """Lines 6 and 7 add digamma terms, which aren't in the derivative of eq. 5; all other lines follow from eq. 11."""
    X, Y, theta = small()
    state, sums = State(theta, np.array([0.5, 2.0, 7.0])), moments(X, Y)
    moved = algorithm1.update(state, sums, 1.0, 1.0, XI)

    def slope(change):
        h = 1e-6
        up, down = (algorithm1.harmony(change(step), sums, 1.0, XI) for step in (h, -h))
        return (up - down) / (2 * h)

    for i, j in [(0, 0), (2, 1)]:
        unit = np.zeros(theta.A.shape)
        unit[i, j] = 1
        numeric = slope(lambda h, unit=unit: state._replace(theta=theta._replace(A=theta.A + h * unit)))
        assert (moved.theta.A - theta.A)[i, j] == pytest.approx(numeric, rel=1e-5)
    assert (moved.theta.phi - theta.phi)[0] == pytest.approx(
        slope(lambda h: state._replace(theta=theta._replace(phi=theta.phi + h))), rel=1e-5
    )
    assert (moved.alpha - state.alpha)[1] == pytest.approx(
        slope(lambda h: state._replace(alpha=state.alpha + h * np.array([0, 1, 0]))), rel=1e-5
    )
    odds = np.log(theta.beta / (1 - theta.beta))

    def shifted(h):
        return state._replace(theta=theta._replace(beta=1 / (1 + np.exp(-(odds + h * np.array([1, 0, 0]))))))

    printed = np.log(moved.theta.beta / (1 - moved.theta.beta))[0] - odds[0]
    assert abs(printed - slope(shifted)) > 0.01


def test_line_14_discards_what_is_constant_or_weak():
    A = np.diag([0.9, 3.0, 1.1, 3.0])
    theta = Parameters(A, np.zeros(4), np.array([4.0]), np.array([0.5, 0.995, 0.5, 0.004]))
    assert algorithm1.discarded(theta, 2.0).tolist() == [True, True, False, True]


def test_discards_come_inside_the_loop_and_the_harmony_falls_at_them_only():
    X = standardised(TRUTH)
    monitor = Monitor(1e-6, 400, X.size)
    learned = algorithm1.Algorithm1(X, 5, "enum", 1.0, 1.0, Workers()).run(np.random.default_rng(0), monitor).state
    assert learned.discards
    assert learned.discards[0].iteration < monitor.n_iter
    falls = 1 + np.flatnonzero(np.diff(monitor.history) < -1e-6)
    assert set(falls) <= {d.iteration for d in learned.discards} | {d.iteration + 1 for d in learned.discards}


def test_the_estimator_makes_one_start_with_equal_noise():
    model = BinaryFactorAnalysis(5, algorithm="published", max_iter=300, tol=1e-3, random_state=0).fit(TRUTH.X)
    assert len(model.restarts_) == 1
    assert len(np.unique(model.noise_precision_)) == 1
    assert len(model.discards_) == 5 - model.n_components_
    assert model.transform(TRUTH.X).shape == (200, model.n_components_)
