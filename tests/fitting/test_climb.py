import numpy as np
import pytest

from latentbits.fitting.climb import Monitor, climb
from tests.fitting.toys import BadJumps, Point, Slope
from tests.reference.assertions import assert_nondecreasing

START = Point(np.array([3.0, 4.0, 5.0]))


def climbed(learner, accelerate, max_iter=60, tol=0.0, **options):
    monitor = Monitor(tol, max_iter, **options)
    return climb(learner, START, monitor, accelerate=accelerate), monitor


@pytest.mark.parametrize("accelerate", [False, True])
def test_objective_never_falls_and_belongs_to_the_state(accelerate):
    best, monitor = climbed(Slope(), accelerate)
    assert_nondecreasing(monitor.history)
    assert monitor.history[-1] > monitor.history[0] + 10
    assert best.objective == monitor.history[-1] == -float(best.state.x @ best.state.x)


def test_plain_steps_are_the_map_itself():
    best, _ = climbed(Slope(), accelerate=False, max_iter=10)
    # The tenth pass evaluates the ninth step.
    np.testing.assert_allclose(best.state.x, Slope.rates**9 * START.x)


def test_accelerated_gets_higher_in_as_many_passes():
    plain, plain_monitor = climbed(Slope(), accelerate=False)
    fast, fast_monitor = climbed(Slope(), accelerate=True)
    assert plain_monitor.n_iter == fast_monitor.n_iter == 60
    assert -fast.objective < -plain.objective / 1000


def test_a_bad_extrapolation_is_rejected():
    best, monitor = climbed(BadJumps(), accelerate=True, max_iter=30)
    assert_nondecreasing(monitor.history)
    np.testing.assert_allclose(best.state.x, Slope.rates**19 * START.x)  # 20 plain passes out of 30 remain


def test_scales_weigh_the_arrays_of_a_move():
    class FirstOnly(Slope):
        def step(self, state):
            return super().step(state)[0], -float(state.x[0] ** 2)

        def scales(self):
            return (np.array([1.0, 0.0, 0.0]),)

    best, _ = climbed(FirstOnly(), accelerate=True, max_iter=3)
    assert abs(best.state.x[0]) < 1e-6  # in one direction the step length is exact


@pytest.mark.parametrize("accelerate", [False, True])
def test_converges_by_tolerance(accelerate):
    _, monitor = climbed(Slope(), accelerate, tol=1e-3, max_iter=10_000)
    assert monitor.converged
    assert monitor.n_iter < 10_000


def test_running_out_is_not_converging():
    _, monitor = climbed(Slope(), accelerate=False, tol=1e-9, max_iter=5)
    assert not monitor.converged
    assert monitor.n_iter == 5


def test_cancelled_at_once_still_gives_the_start_and_its_objective():
    best, monitor = climbed(Slope(), accelerate=True, cancelled=lambda: True)
    np.testing.assert_array_equal(best.state.x, START.x)
    assert best.objective == -50
    assert monitor.history == [-50]
    assert not monitor.converged
