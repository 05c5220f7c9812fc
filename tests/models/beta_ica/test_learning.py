"""BetaICA's learners: the bound, the climb and the updates against slow twins."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from scipy.special import betaln

from latentbits import BetaICA, simulate
from latentbits.fitting.climb import Monitor, climb
from latentbits.models.aspect.variational import BayesState, Prior
from tests.models.beta_ica.tools import (
    INFERENCES,
    NAN,
    ROWS,
    X,
    best_Q,
    each_inference,
    examples,
    make_learner,
    problems,
    random_state,
    rounding,
    slow_bound,
)
from tests.reference import beta_ica as twin
from tests.reference.assertions import assert_nondecreasing


class TestBound:
    @examples(60)
    @given(problems())
    def test_equals_the_paper_term_by_term(self, problem):
        cells, learner, state = problem
        slow = slow_bound(cells, best_Q(cells, state), state, learner.prior, learner.row_weight)
        tolerance = 4 * rounding(learner, state)  # the twin rounds too, and adds in another order
        assert learner.bound(state) == pytest.approx(slow, rel=0, abs=tolerance)
        assert learner.step(state)[1] == learner.bound(state)
        assert tolerance < 1e-9, "or this would prove little"

    @each_inference
    def test_any_other_responsibilities_give_less(self, inference):
        learner = make_learner(inference, X[:8], np.ones(8), 3, Prior(0.5, 0.5, 1.0))
        state, rng = random_state(learner, 0), np.random.default_rng(0)
        Q = best_Q(X[:8], state)
        for mix in (0.01, 0.3):
            other = {cell: (1 - mix) * np.array(q) + mix * rng.dirichlet(np.ones(3)) for cell, q in Q.items()}
            assert slow_bound(X[:8], other, state, learner.prior, learner.row_weight) < learner.bound(state) - 1e-4

    @pytest.mark.parametrize("prior", [Prior(0.5, 0.5, 1.0), Prior(1.0, 2.0, 0.3), Prior(0.1, 0.2, 3.0)])
    def test_is_below_the_exact_evidence(self, prior):
        cells = np.array([[1, 0, 1], [1, NAN, 1], [0, 1, 0]], dtype=float)
        exact = twin.log_evidence(cells, 2, prior)
        learner = make_learner("vb", cells, np.ones(3), 2, prior)
        bounds = []
        for seed in range(6):
            monitor = Monitor(tol=1e-9, max_iter=300)
            bounds.append(climb(learner, learner.initialise(np.random.default_rng(seed)), monitor).objective)
        assert max(bounds) < exact
        assert max(bounds) > exact - 2.5, "and not by much: 8 cells of 2 causes"

    @each_inference
    def test_of_one_component_is_the_exact_evidence(self, inference):
        model = BetaICA(1, inference=inference, alpha=0.7, beta=2.0, n_init=1, random_state=0).fit(X)
        ones, zeros = np.sum(X == 1, axis=0), np.sum(X == 0, axis=0)
        exact = np.sum(betaln(0.7 + ones, 2.0 + zeros) - betaln(0.7, 2.0))
        assert model.objective_ == pytest.approx(exact, rel=1e-12)
        np.testing.assert_allclose(model.alpha_[0], 0.7 + ones)
        np.testing.assert_allclose(model.beta_[0], 2.0 + zeros)

    def test_twins_agree_on_the_evidence_of_one_component(self):
        prior = Prior(0.7, 2.0, 0.4)
        cells = X[:3, :4]
        ones, zeros = np.sum(cells == 1, axis=0), np.sum(cells == 0, axis=0)
        exact = np.sum(betaln(0.7 + ones, 2.0 + zeros) - betaln(0.7, 2.0))
        assert twin.log_evidence(cells, 1, prior) == pytest.approx(exact)


class TestClimb:
    @examples(150)
    @given(problems(inner=(1, 2, 5)))
    def test_no_update_lowers_the_bound(self, problem):
        _, learner, state = problem
        trace, slack = [], 0.0
        for _ in range(6):
            for after, bound in learner.updates(state):
                trace.append(bound)
                slack = max(slack, rounding(learner, state))
                state = after
        trace.append(learner.bound(state))
        assert_nondecreasing(trace, slack=2 * slack)

    @examples(60)
    @given(problems(inner=(1, 3)))
    def test_an_accelerated_climb_never_falls_and_ends_where_it_says(self, problem):
        _, learner, state = problem
        monitor = Monitor(tol=0, max_iter=30)
        end = climb(learner, state, monitor)
        assert_nondecreasing(monitor.history, slack=2 * max(rounding(learner, state), rounding(learner, end.state)))
        assert end.objective == monitor.history[-1] == learner.bound(end.state)

    @each_inference
    @pytest.mark.parametrize("accelerate", [False, True])
    @pytest.mark.parametrize("inner_iter", [1, 4])
    def test_on_data_large_enough_for_float32(self, inference, accelerate, inner_iter):
        truth = simulate.aspect_bernoulli(400, 60, 4, missing=0.1, random_state=0)
        learner = make_learner(inference, truth.X, np.ones(400), 9, Prior(0.5, 0.5, 1.0), inner_iter=inner_iter)
        monitor = Monitor(tol=0, max_iter=24)
        climb(learner, learner.initialise(np.random.default_rng(0)), monitor, accelerate=accelerate)
        # A cell's d is a sum of K rounded products: (K + 3) 6e-8 at most, of random sign over 24,000 cells.
        assert_nondecreasing(monitor.history, slack=5 * 12 * 6e-8 * np.sqrt(truth.X.size))
        assert monitor.history[-1] > monitor.history[0] + 1000

    @each_inference
    def test_fits_never_fall(self, inference):
        model = BetaICA(4, inference=inference, inner_max_iter=3, n_init=4, random_state=0).fit(X)
        for history in model.restart_histories_:
            assert_nondecreasing(history, slack=1e-11 * X.size)
            assert history[-1] > history[0] + 10

    @each_inference
    def test_inner_loops_lead_as_high(self, inference):
        plain, inner = (
            BetaICA(3, inference=inference, inner_max_iter=n, n_init=4, tol=1e-8, random_state=0).fit(X)
            for n in (1, 10)
        )
        assert inner.objective_ == pytest.approx(plain.objective_, abs=0.5)
        first, same = inner.restart_histories_[0], plain.restart_histories_[0]
        assert first[0] == same[0]
        assert first[1] > same[1], "a step of many updates rises more"

    @each_inference
    def test_projection_leads_back_and_leaves_what_is_allowed(self, inference):
        learner = make_learner(inference, X[:2], np.ones(2), 3, Prior(0.5, 0.7, 0.9))
        state = random_state(learner, 0)
        for before, after in zip(state, learner.extrapolate([state] * 3, 1.0), strict=True):
            np.testing.assert_allclose(after, before)
        outside = type(state)(*(part - 3 for part in state))
        inside = learner.extrapolate([outside] * 3, 1.0)
        assert (inside.alpha >= 0.5).all()
        assert (inside.beta >= 0.7).all()
        np.testing.assert_allclose(inside.W.sum(axis=1), 1)
        assert (inside.W > 0).all()
        assert np.isfinite(learner.bound(inside))

    def test_an_inner_loop_stops_when_the_bound_hardly_rises(self):
        def lengths(inner_iter, inner_tol):
            learner = make_learner(
                "vb", X, np.ones(ROWS), 3, Prior(0.5, 0.5, 1.0), inner_iter=inner_iter, inner_tol=inner_tol
            )
            start = learner.initialise(np.random.default_rng(0))
            states = [start, *(state for state, _ in learner.updates(start))]
            sources = sum(a.alpha is not b.alpha for a, b in pairwise(states))
            return sources, len(states) - 1 - sources

        assert lengths(7, 0.0) == (7, 7)
        assert lengths(7, 1e9) == (2, 2)
        assert lengths(1, 1e9) == (1, 0), "together"


def scaled(parameters, floor, size, rng):
    """Parameters of a posterior, a few of them perturbed by a factor; never 0."""
    factor = np.exp(size * rng.normal(size=parameters.shape))
    return np.maximum(np.where(rng.random(parameters.shape) < 0.3, factor, 1) * parameters, 1e-3 * floor)


class TestUpdates:
    """Given the responsibilities, nothing beats an update; the slow bound with Q held fixed is the judge."""

    @pytest.fixture(params=INFERENCES)
    def updated(self, request):
        cells, weight = X[:7, :6], np.array([1, 2, 0.5, 1, 1, 3, 1.0])
        learner = make_learner(request.param, cells, weight, 3, Prior(0.5, 0.7, 0.6))
        state = random_state(learner, 1)
        Q = best_Q(cells, state)
        new, _ = learner.step(state)
        return new, Q, lambda changed: slow_bound(cells, Q, changed, learner.prior, weight)

    def assert_best(self, judge, new, perturb):
        rng, best, lower = np.random.default_rng(0), judge(new), 0
        for size in (0.003, 0.1, 1.0) * 15:
            other = judge(perturb(size, rng))
            assert other <= best + 1e-10
            lower += other < best - 1e-8
        assert lower >= 40, "perturbations matter"

    def test_posterior_of_components(self, updated):
        new, _, judge = updated

        def perturb(size, rng):
            return new._replace(alpha=scaled(new.alpha, 0.5, size, rng), beta=scaled(new.beta, 0.7, size, rng))

        self.assert_best(judge, new, perturb)

    def test_weights(self, updated):
        new, _, judge = updated

        def perturb(size, rng):
            if isinstance(new, BayesState):
                return new._replace(M=scaled(new.gamma, 0.6, size, rng) - 0.6)
            W = scaled(new.W, 1e-3, size, rng)
            return new._replace(W=W / W.sum(axis=1, keepdims=True))

        self.assert_best(judge, new, perturb)

    def test_are_prior_and_what_was_caused(self, updated):
        new, Q, _ = updated
        M, N1, N0 = twin.caused(X[:7, :6], Q, 3, [1, 2, 0.5, 1, 1, 3, 1])
        np.testing.assert_allclose(new.alpha, 0.5 + N1, rtol=1e-12)
        np.testing.assert_allclose(new.beta, 0.7 + N0, rtol=1e-12)
        if isinstance(new, BayesState):
            np.testing.assert_allclose(new.gamma, 0.6 + M, rtol=1e-12)
            assert new.gamma0 == pytest.approx(0.6)
        else:
            np.testing.assert_allclose(new.W, M / M.sum(axis=1, keepdims=True), rtol=1e-12)

    @each_inference
    def test_row_weights_equal_repeated_rows(self, inference):
        repeat = np.array([1, 3, 0, 2, 1])
        cells, prior = X[:5], Prior(0.5, 0.5, 0.8)
        weighted = make_learner(inference, cells, repeat, 3, prior)
        repeated = make_learner(inference, np.repeat(cells, repeat, axis=0), np.ones(7), 3, prior)
        state = random_state(weighted, 2)
        same = state._replace(**{state._fields[0]: np.repeat(state[0], repeat, axis=0)})
        (a, bound_a), (b, bound_b) = weighted.step(state), repeated.step(same)
        assert bound_a == pytest.approx(bound_b, rel=1e-12)
        np.testing.assert_allclose(a.alpha, b.alpha, rtol=1e-12)
        np.testing.assert_allclose(a.beta, b.beta, rtol=1e-12)
        np.testing.assert_allclose(np.repeat(a[0], repeat, axis=0), b[0], rtol=1e-12)
