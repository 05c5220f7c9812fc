"""Binary factor analysis: maximum likelihood, harmony learning, discarding and variational Bayes against slow twins."""

from itertools import pairwise

import numpy as np
import pytest

from latentbits.fitting.climb import Monitor
from latentbits.fitting.workers import Workers
from latentbits.models.binary_factors import byy, em, vb
from latentbits.models.binary_factors.binary_model import Parameters, Prior, moments
from latentbits.models.binary_factors.byy import weakest
from latentbits.models.binary_factors.coding import random_start
from tests.models.binary_factors.tools import TRUTH, each_noise, limit_of, prior_of, small, standardised
from tests.reference import binary_factors as twin
from tests.reference.assertions import assert_nondecreasing


class TestMaximumLikelihood:
    @each_noise
    def test_step_equals_twin(self, noise):
        X, _, theta = small(noise=noise)
        new, objective = em.MaximumLikelihood(X, 3, Workers(), limit_of(theta)).step(em.State.of(theta))
        A, c, phi, beta = twin.em_step(X, *theta)
        got = new.parameters
        np.testing.assert_allclose(got.A, A, atol=1e-8)
        np.testing.assert_allclose(got.c, c, atol=1e-8)
        np.testing.assert_allclose(got.phi, phi, rtol=1e-8)
        np.testing.assert_allclose(got.beta, beta, atol=1e-8)
        assert objective == pytest.approx(sum(twin.log_likelihood(x, *theta) for x in X))

    def test_plain_steps_never_lower_the_likelihood(self):
        X = standardised(TRUTH)
        learner = em.MaximumLikelihood(X, 4, Workers())
        state, trace = em.State.of(random_start(X, 4, np.random.default_rng(1))), []
        for _ in range(30):
            state, objective = learner.step(state)
            trace.append(objective)
        assert_nondecreasing(trace, slack=1e-8)
        assert trace[-1] > trace[0] + 100

    def test_projection_leaves_what_is_allowed(self):
        learner = em.MaximumLikelihood(np.zeros((2, 2)), 1, Workers())
        state = em.State(np.ones((2, 1)), np.zeros(2), np.array([3.0]), np.array([-0.4]))
        for one, other in zip(learner.project(state), state, strict=True):
            np.testing.assert_array_equal(one, other)
        outside = learner.project(state._replace(log_phi=np.array([1e3]), gamma=np.array([99.0])))
        assert np.isfinite(outside.parameters.phi)
        assert 0.999 < outside.parameters.beta[0] < 1


class TestHarmony:
    PRIORS = (Prior(tau=0.0), Prior(tau=1.0), Prior(1.0, 0.3, 0.7, 5.0, 2.0))

    def setup_case(self, noise="equal"):
        X, Y, theta = small(noise=noise)
        return X, Y, byy.State(theta, np.array([0.5, 2.0, 7.0])), moments(X, Y, Y.T @ Y)

    @pytest.mark.parametrize("prior", PRIORS)
    @each_noise
    def test_equals_twin(self, prior, noise):
        X, Y, state, sums = self.setup_case(noise)
        expected = twin.harmony(X, Y, *state.theta, state.alpha, prior.tau, **prior_of(prior))
        assert byy.harmony(state, sums, prior) == pytest.approx(expected, rel=1e-12)

    @pytest.mark.parametrize("prior", PRIORS)
    @each_noise
    def test_gradient_equals_finite_differences(self, prior, noise):
        _, _, state, sums = self.setup_case(noise)
        (A, c, phi, beta), alpha = state
        point = np.concatenate([A.ravel(), c, np.log(phi), np.log(beta / (1 - beta)), np.log(alpha)])

        def value(v):
            parts = np.split(v, np.cumsum([A.size, c.size, phi.size, beta.size]))
            theta = Parameters(parts[0].reshape(A.shape), parts[1], np.exp(parts[2]), 1 / (1 + np.exp(-parts[3])))
            return byy.harmony(byy.State(theta, np.exp(parts[4])), sums, prior)

        g = byy.gradient(state, sums, prior)
        analytic = np.concatenate([g.A.ravel(), g.c, g.log_phi, g.gamma, g.log_alpha])
        h = 1e-6
        numeric = [(value(point + h * e) - value(point - h * e)) / (2 * h) for e in np.eye(len(point))]
        np.testing.assert_allclose(analytic, numeric, rtol=1e-5, atol=1e-6)
        assert (np.abs(g.A) > 0.01).any()

    @pytest.mark.parametrize("prior", PRIORS)
    @pytest.mark.parametrize("step", [byy.closed_step, byy.gradient_step])
    @each_noise
    def test_steps_never_fall_and_end_where_the_gradient_is_zero(self, prior, step, noise):
        _, _, state, sums = self.setup_case(noise)
        trace = [byy.harmony(state, sums, prior)]
        for _ in range(400):
            state = step(state, sums, prior)
            trace.append(byy.harmony(state, sums, prior))
        assert_nondecreasing(trace, slack=1e-9)
        for part in byy.gradient(state, sums, prior):
            np.testing.assert_allclose(part, 0, atol=1e-4)

    @pytest.mark.parametrize("prior", PRIORS)
    def test_closed_and_gradient_steps_end_at_the_same_point(self, prior):
        _, _, start, sums = self.setup_case()
        ends = []
        for step in (byy.closed_step, byy.gradient_step):
            state = start
            for _ in range(400):
                state = step(state, sums, prior)
            ends.append(state.theta)
        for one, other in zip(*ends, strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-4)

    def test_without_priors_one_closed_step_is_the_maximum(self):
        _, _, state, sums = self.setup_case()
        prior = Prior(tau=0.0)
        once = byy.closed_step(state, sums, prior)
        assert byy.harmony(byy.closed_step(once, sums, prior), sums, prior) == pytest.approx(
            byy.harmony(once, sums, prior), abs=1e-9
        )

    @pytest.mark.parametrize("update", ["closed", "gradient"])
    def test_exact_codes_never_lower_the_harmony_but_at_discards(self, update):
        X = standardised(TRUTH)
        learner = byy.HarmonyLearning(X, 5, "enum", update, Prior(), 2.0, Workers())
        monitor = Monitor(1e-6, 500, X.size)
        learned = learner.run(np.random.default_rng(3), monitor).state
        assert monitor.converged
        cuts = [0, *(d.iteration for d in learned.discards), monitor.n_iter]
        assert len(cuts) > 2, "a run without discards shows nothing here"
        for a, b in pairwise(cuts):
            if b - a > 1:
                assert_nondecreasing(monitor.history[a:b], slack=1e-7)


class TestDiscarding:
    def theta(self, norms, beta):
        return Parameters(
            np.diag(np.asarray(norms, float)), np.zeros(len(norms)), np.array([4.0]), np.asarray(beta, float)
        )

    def test_the_shortest_of_the_weak_goes_first(self):
        """With phi = 4 and delta = 2, columns shorter than 1 are weak."""
        assert weakest(self.theta([0.9, 3.0, 0.5], [0.5, 0.5, 0.5]), 100, 2.0) == 2
        assert weakest(self.theta([1.01, 3.0, 2.0], [0.5, 0.5, 0.5]), 100, 2.0) is None

    def test_constant_factors_go_whatever_their_length(self):
        assert weakest(self.theta([3.0, 9.0], [0.5, 0.96]), 100, 2.0) == 1
        assert weakest(self.theta([3.0, 9.0], [0.5, 0.95]), 100, 2.0) is None
        assert weakest(self.theta([3.0, 9.0], [0.5, 0.96]), 1000, 2.0) is None
        assert weakest(self.theta([3.0, 9.0], [0.5, 0.7]), 10, 2.0) is None

    def test_no_factor_left(self):
        assert weakest(self.theta([], []), 10, 2.0) is None

    def test_what_a_discarded_factor_gives_on_average_stays(self):
        _, _, theta = small()
        fewer = byy.without(theta, 1)
        for t in (theta, fewer):
            np.testing.assert_allclose(t.A @ (2 * t.beta - 1) + t.c, theta.A @ (2 * theta.beta - 1) + theta.c)
        np.testing.assert_array_equal(fewer.A, theta.A[:, [0, 2]])


class TestVariationalBayes:
    PRIOR = Prior(1.0, 0.5, 0.8, 3.0, 2.0)

    def state(self, X, m, passes, seed=0, noise="equal"):
        limit = np.full(1 if noise == "equal" else X.shape[1], 1e10)
        learner = vb.VariationalBayes(X, m, self.PRIOR, 0.0, Workers(), limit)
        state = learner.initialise(np.random.default_rng(seed))
        for _ in range(passes):
            state = vb.update_parameters(vb.update_codes(state, X), X, self.PRIOR)
        return state

    @each_noise
    def test_bound_equals_monte_carlo(self, noise):
        X = small(N=5, n=3)[0]
        state = self.state(X, 2, 2, noise=noise)
        state = state._replace(Y=0.7 * state.Y)  # no special point
        mean, error = twin.sampled_bound(X, state, np.random.default_rng(0), 30_000, **prior_of(self.PRIOR))
        assert error < 0.05
        assert vb.evidence_bound(state, X, self.PRIOR) == pytest.approx(mean, abs=4 * error)

    def test_bound_is_below_the_evidence(self):
        X = np.array([[1.0, 0.8], [-1.1, -0.9], [1.2, 1.0]])
        evidence = twin.log_evidence_of_one_factor(X, **prior_of(self.PRIOR))
        bounds = [vb.evidence_bound(self.state(X, 1, passes), X, self.PRIOR) for passes in (1, 100)]
        assert bounds[0] < bounds[1] < evidence < bounds[1] + 5

    @each_noise
    def test_every_block_is_at_its_optimum_after_its_update(self, noise):
        X = small(N=6)[0]
        state = self.state(X, 2, 3, noise=noise)
        rng = np.random.default_rng(0)

        def check(best, changes):
            top = vb.evidence_bound(best, X, self.PRIOR)
            for change in changes:
                assert vb.evidence_bound(best._replace(**change), X, self.PRIOR) <= top + 1e-9

        codes = vb.update_codes(state, X, max_sweeps=2000, tol=1e-13)
        moved = [
            np.tanh(np.arctanh(np.clip(codes.Y, -1 + 1e-12, 1 - 1e-12)) + h * rng.standard_normal(codes.Y.shape))
            for h in (1e-3, 0.1)
        ]
        check(codes, [{"Y": Y} for Y in moved])
        # q(B), q(alpha), q(phi), q(beta) follow each other: at the fixed point all are optimal at once.
        fixed = codes
        for _ in range(500):
            fixed = vb.update_parameters(fixed, X, self.PRIOR)
        G = rng.standard_normal(fixed.cov.shape[1:])
        check(fixed, [{"B": fixed.B + h * rng.standard_normal(fixed.B.shape)} for h in (1e-3, 0.1)])
        check(fixed, [{"cov": fixed.cov * (1 + h)} for h in (-0.05, 0.05)] + [{"cov": fixed.cov + 1e-3 * G @ G.T}])
        for name in ("alpha_shape", "alpha_rate", "phi_shape", "phi_rate", "on", "off"):
            check(fixed, [{name: getattr(fixed, name) * (1 + h)} for h in (-0.05, -0.001, 0.001, 0.05)])

    def test_each_single_update_raises_the_bound(self):
        X = standardised(TRUTH)
        state, trace = vb.VariationalBayes(X, 5, Prior(), 2.0, Workers()).initialise(np.random.default_rng(0)), []
        for _ in range(20):
            trace.append(vb.evidence_bound(state, X, Prior()))
            state = vb.update_codes(state, X)
            trace.append(vb.evidence_bound(state, X, Prior()))
            state = vb.update_parameters(state, X, Prior())
        assert_nondecreasing(trace, slack=1e-7)
        assert trace[-1] > trace[0] + 100

    def test_the_bound_falls_at_discards_only(self):
        X = standardised(TRUTH)
        monitor = Monitor(1e-6, 500, X.size)
        learned = vb.VariationalBayes(X, 5, Prior(), 2.0, Workers()).run(np.random.default_rng(1), monitor).state
        cuts = [0, *(d.iteration for d in learned.discards), monitor.n_iter]
        assert len(cuts) > 2, "a run without discards shows nothing here"
        for a, b in pairwise(cuts):
            if b - a > 1:
                assert_nondecreasing(monitor.history[a:b], slack=1e-7)
