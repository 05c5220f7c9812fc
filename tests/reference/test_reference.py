"""The twins against one another, and the helper's power to fail."""

import numpy as np
import pytest

from tests.reference import aspect
from tests.reference.assertions import assert_nondecreasing

NAN = np.nan
W = np.array([[0.2, 0.8], [0.5, 0.5]])
H = np.array([[0.9, 0.1, 0.3], [0.2, 0.6, 0.5]])
X = np.array([[1.0, 0.0, NAN], [0.0, 1.0, 1.0]])


class TestAssertNondecreasing:
    @pytest.mark.parametrize("trace", [[1, 2, 2, 3], [-3.0, -2.5], [1, 0.9999999, 2]])
    def test_accepts_a_trace_that_rises(self, trace):
        assert_nondecreasing(trace, slack=1e-6)

    @pytest.mark.parametrize("trace", [[3, 2, 1], [1, 2, 1.9, 3], [1, 2, 3, 2.99], [0], [], [1, NAN, 2], [-np.inf, 1]])
    def test_fails_on_a_trace_that_falls_anywhere_or_proves_nothing(self, trace):
        with pytest.raises(AssertionError):
            assert_nondecreasing(trace, slack=1e-6)

    def test_slack_is_exact(self):
        assert_nondecreasing([1.0, 0.5], slack=0.5)
        with pytest.raises(AssertionError, match=r"step 0 falls by 0\.5"):
            assert_nondecreasing([1.0, 0.5], slack=0.49)


def test_pass_agrees_with_enumeration_of_causes():
    row_log = aspect.run_pass(X, W, H, 1 - H, [1, 1])[3]
    enumerated = [aspect.log_likelihood_by_enumeration(x, w, H) for x, w in zip(X, W, strict=True)]
    np.testing.assert_allclose(row_log, enumerated, rtol=1e-12)


def test_pass_shares_out_every_observed_cell():
    M, N1, N0, _ = aspect.run_pass(X, W, H, 1 - H, [1, 3])
    np.testing.assert_allclose(M.sum(axis=1), [2, 3])
    np.testing.assert_allclose(N1.sum(axis=0), [1, 3, 3])
    np.testing.assert_allclose(N0.sum(axis=0), [3, 1, 0], atol=1e-15)


def test_em_steps_raise_the_likelihood():
    w, h, trace = W, H, []
    for _ in range(20):
        w, h, objective = aspect.em_step(X, w, h, [1, 2])
        trace.append(objective)
    assert_nondecreasing(trace)
    assert trace[-1] > trace[0] + 1


def test_fold_in_agrees_with_a_grid():
    rng = np.random.default_rng(0)
    h, x = rng.uniform(0.05, 0.95, (2, 8)), rng.integers(0, 2, 8)
    grid = np.linspace(0, 1, 1001)
    likelihoods = [aspect.row_log_likelihood(x, [w, 1 - w], h, 1 - h) for w in grid]
    assert aspect.fold_in(x, h, 1 - h)[0] == pytest.approx(grid[np.argmax(likelihoods)], abs=1e-3)
