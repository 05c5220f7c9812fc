"""Binary factor analysis: the mathematics against slow twins, then what the estimator says about data."""

import warnings
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from scipy.stats import norm
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.estimator_checks import check_estimator

from latentbits.data.simulate.binary_factors import binary_factors
from latentbits.errors import DataError
from latentbits.fitting.monitor import Monitor
from latentbits.fitting.workers import Workers
from latentbits.models.binary_factors import byy, em, vb
from latentbits.models.binary_factors.discarding import weakest
from latentbits.models.binary_factors.estimator import BinaryFactorAnalysis
from latentbits.models.binary_factors.model import (
    Parameters,
    Prior,
    exact_posterior,
    mean_field,
    moments,
    program,
)
from latentbits.models.binary_factors.starts import random_start, rough_fit
from latentbits.numerics import match_components
from tests.reference import binary_factors as twin
from tests.reference.assertions import assert_nondecreasing

TRUTH = binary_factors(200, 10, 3, noise=0.25, random_state=0)
INFERENCES = ["byy", "vb", "em"]
each_inference = pytest.mark.parametrize("inference", INFERENCES)


def prior_of(prior):
    return {name: value for name, value in prior._asdict().items() if name != "tau"}


def small(seed=0, N=12, n=4, m=3):
    """Rows, codes and parameters that have nothing to do with each other."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((N, n))
    Y = np.where(rng.random((N, m)) < 0.6, 1.0, -1.0)
    theta = Parameters(rng.standard_normal((n, m)), rng.standard_normal(n), 1.7, rng.uniform(0.2, 0.8, m))
    return X, Y, theta


def standardised(truth):
    Z = truth.X - truth.X.mean(axis=0)
    return Z / np.sqrt(np.mean(Z * Z))


class TestSimulator:
    def test_recipe(self):
        truth = binary_factors(4000, 8, 3, 0.5, probabilities=[0.5, 0.1, 0.9], mean=2.0, random_state=0)
        norms = np.linalg.norm(truth.mixing, axis=0)
        assert ((norms >= 1) & (norms <= 2)).all()
        gram = truth.mixing.T @ truth.mixing
        np.testing.assert_allclose(gram, np.diag(np.diag(gram)), atol=1e-12)
        np.testing.assert_allclose((truth.codes == 1).mean(axis=0), [0.5, 0.1, 0.9], atol=0.03)
        residual = truth.X - truth.codes @ truth.mixing.T - 2.0
        assert residual.std() == pytest.approx(0.5, rel=0.03)

    @pytest.mark.parametrize(
        "change",
        [{"n_components": 9}, {"noise": -1}, {"n_rows": 0}, {"norms": (2, 1)}, {"probabilities": 1.5}],
    )
    def test_refuses_nonsense(self, change):
        with pytest.raises(ValueError, match=next(iter(change))):
            binary_factors(**{"n_rows": 5, "n_variables": 8, "n_components": 3, **change})


class TestExactPosterior:
    def test_equals_enumeration(self):
        X, _, theta = small()
        row_log, mean, second = exact_posterior(theta, X, Workers())
        codes = np.array(twin.codes(3))
        expected = np.array([twin.posterior(x, *theta) for x in X])
        np.testing.assert_allclose(row_log, [twin.log_likelihood(x, *theta) for x in X], rtol=1e-12)
        np.testing.assert_allclose(mean, expected @ codes, atol=1e-12)
        np.testing.assert_allclose(second, np.einsum("ts,si,sj->ij", expected, codes, codes), atol=1e-10)

    def test_does_not_depend_on_threads(self, monkeypatch):
        monkeypatch.setattr("latentbits.models.binary_factors.model.CHUNK_CELLS", 40)
        X, _, theta = small(N=50)
        with Workers(3) as workers:
            parallel = exact_posterior(theta, X, workers)
        for one, other in zip(exact_posterior(theta, X, Workers()), parallel, strict=True):
            np.testing.assert_array_equal(one, other)

    def test_program_gives_the_log_joint_up_to_a_constant(self):
        X, _, theta = small()
        Q, F = program(theta, X)
        for x, f in zip(X[:3], F, strict=False):
            sums = [twin.log_joint(x, y, *theta) + twin.bqp_value(Q, f, y) for y in twin.codes(3)]
            np.testing.assert_allclose(sums, sums[0], rtol=1e-10)


class TestMeanField:
    def test_is_exact_for_independent_factors(self):
        F = np.array([[0.3, -2.0, 0.0]])
        np.testing.assert_allclose(mean_field(np.diag([1.0, 5.0, 2.0]), F, np.zeros((1, 3))), np.tanh(F))

    def test_is_stationary(self):
        X, Y, theta = small()
        Q, F = program(theta, X)
        mean = mean_field(Q, F, Y, max_sweeps=5000)
        np.testing.assert_allclose(mean, np.tanh(F - mean @ Q + mean * np.diag(Q)), atol=1e-8)


class TestStarts:
    def test_a_start_has_about_the_spread_of_the_data(self):
        X = standardised(TRUTH)
        A, c, _, beta = random_start(X, 4, np.random.default_rng(0))
        assert A.shape == (10, 4)
        assert 0.2 < np.sum(A**2) / 10 < 3
        assert not c.any()
        np.testing.assert_array_equal(beta, 0.5)

    def test_a_rough_fit_is_the_least_squares_of_its_codes(self):
        X = standardised(TRUTH)
        theta, codes = rough_fit(X, 3, np.random.default_rng(0), Workers())
        B = np.linalg.lstsq(np.column_stack([codes, np.ones(200)]), X, rcond=None)[0]
        np.testing.assert_allclose(np.column_stack([theta.A, theta.c]), B.T, atol=1e-10)
        assert theta.phi == pytest.approx(1 / np.mean((X - codes @ theta.A.T - theta.c) ** 2))


class TestMaximumLikelihood:
    def test_step_equals_twin(self):
        X, _, theta = small()
        new, objective = em.MaximumLikelihood(X, 3, Workers()).step(em.State.of(theta))
        A, c, phi, beta = twin.em_step(X, *theta)
        got = new.parameters
        np.testing.assert_allclose(got.A, A, atol=1e-8)
        np.testing.assert_allclose(got.c, c, atol=1e-8)
        assert got.phi == pytest.approx(phi, rel=1e-8)
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
        state = em.State(np.ones((2, 1)), np.zeros(2), np.array(3.0), np.array([-0.4]))
        for one, other in zip(learner.project(state), state, strict=True):
            np.testing.assert_array_equal(one, other)
        outside = learner.project(state._replace(log_phi=np.array(1e3), gamma=np.array([99.0])))
        assert np.isfinite(outside.parameters.phi)
        assert 0.999 < outside.parameters.beta[0] < 1


class TestHarmony:
    PRIORS = (Prior(tau=0.0), Prior(tau=1.0), Prior(1.0, 0.3, 0.7, 5.0, 2.0))

    def setup_case(self):
        X, Y, theta = small()
        return X, Y, byy.State(theta, np.array([0.5, 2.0, 7.0])), moments(X, Y, Y.T @ Y)

    @pytest.mark.parametrize("prior", PRIORS)
    def test_equals_twin(self, prior):
        X, Y, state, sums = self.setup_case()
        expected = twin.harmony(X, Y, *state.theta, state.alpha, prior.tau, **prior_of(prior))
        assert byy.harmony(state, sums, prior) == pytest.approx(expected, rel=1e-12)

    @pytest.mark.parametrize("prior", PRIORS)
    def test_gradient_equals_finite_differences(self, prior):
        _, _, state, sums = self.setup_case()
        (A, c, phi, beta), alpha = state
        point = np.concatenate([A.ravel(), c, [np.log(phi)], np.log(beta / (1 - beta)), np.log(alpha)])

        def value(v):
            parts = np.split(v, np.cumsum([A.size, c.size, 1, beta.size]))
            theta = Parameters(
                parts[0].reshape(A.shape), parts[1], float(np.exp(parts[2][0])), 1 / (1 + np.exp(-parts[3]))
            )
            return byy.harmony(byy.State(theta, np.exp(parts[4])), sums, prior)

        g = byy.gradient(state, sums, prior)
        analytic = np.concatenate([g.A.ravel(), g.c, [g.log_phi], g.gamma, g.log_alpha])
        h = 1e-6
        numeric = [(value(point + h * e) - value(point - h * e)) / (2 * h) for e in np.eye(len(point))]
        np.testing.assert_allclose(analytic, numeric, rtol=1e-5, atol=1e-6)
        assert (np.abs(g.A) > 0.01).any()

    @pytest.mark.parametrize("prior", PRIORS)
    @pytest.mark.parametrize("step", [byy.closed_step, byy.gradient_step])
    def test_steps_never_fall_and_end_where_the_gradient_is_zero(self, prior, step):
        _, _, state, sums = self.setup_case()
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
        return Parameters(np.diag(np.asarray(norms, float)), np.zeros(len(norms)), 4.0, np.asarray(beta, float))

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

    def state(self, X, m, passes, seed=0):
        learner = vb.VariationalBayes(X, m, self.PRIOR, 0.0, Workers())
        state = learner.initialise(np.random.default_rng(seed))
        for _ in range(passes):
            state = vb.update_parameters(vb.update_codes(state, X), X, self.PRIOR)
        return state

    def test_bound_equals_monte_carlo(self):
        X = small(N=5, n=3)[0]
        state = self.state(X, 2, 2)
        state = state._replace(Y=0.7 * state.Y)  # no special point
        mean, error = twin.sampled_bound(X, state, np.random.default_rng(0), 30_000, **prior_of(self.PRIOR))
        assert error < 0.05
        assert vb.evidence_bound(state, X, self.PRIOR) == pytest.approx(mean, abs=4 * error)

    def test_bound_is_below_the_evidence(self):
        X = np.array([[1.0, 0.8], [-1.1, -0.9], [1.2, 1.0]])
        evidence = twin.log_evidence_of_one_factor(X, **prior_of(self.PRIOR))
        bounds = [vb.evidence_bound(self.state(X, 1, passes), X, self.PRIOR) for passes in (1, 100)]
        assert bounds[0] < bounds[1] < evidence < bounds[1] + 5

    def test_every_block_is_at_its_optimum_after_its_update(self):
        X = small(N=6)[0]
        state = self.state(X, 2, 3)
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
        G = rng.standard_normal(fixed.cov.shape)
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


def fitted(inference, **parameters):
    n_components = 3 if inference == "em" else 5
    return BinaryFactorAnalysis(
        **{"n_components": n_components, "inference": inference, "n_init": 5, "random_state": 0, **parameters}
    ).fit(TRUTH.X)


@pytest.fixture(scope="module", params=INFERENCES)
def model(request):
    return fitted(request.param)


class TestRecovery:
    def test_factors_noise_and_codes_up_to_sign_and_order(self, model):
        assert model.n_components_ == 3
        # Both signs of every true factor are candidates, so the match also tells the sign.
        signed = np.vstack([TRUTH.mixing.T, -TRUTH.mixing.T])
        order, similarity = match_components(model.mixing_.T, signed, metric="cosine")
        assert sorted(order % 3) == [0, 1, 2]
        assert (similarity > 0.99).all()
        np.testing.assert_allclose(model.mixing_.T, signed[order], atol=0.1)
        assert model.noise_precision_**-0.5 == pytest.approx(0.25, rel=0.05)
        codes = np.hstack([TRUTH.codes, -TRUTH.codes])[:, order]
        assert (model.transform(TRUTH.X) == codes).mean() > 0.995
        np.testing.assert_allclose(model.factor_probabilities_, (codes == 1).mean(axis=0), atol=0.03)

    @pytest.mark.parametrize("encoder", ["round", "cdual"])
    def test_selection_finds_three_of_five_in_most_data_sets(self, encoder):
        found = [
            BinaryFactorAnalysis(5, encoder=encoder, random_state=0)
            .fit(binary_factors(200, 10, 3, 0.25, random_state=seed).X)
            .n_components_
            for seed in range(10)
        ]
        assert found.count(3) >= 9

    def test_uneven_and_shifted_causes(self):
        truth = binary_factors(400, 8, 3, 0.3, probabilities=[0.2, 0.5, 0.8], mean=100.0, random_state=1)
        model = BinaryFactorAnalysis(5, random_state=0).fit(truth.X)
        assert model.n_components_ == 3
        np.testing.assert_allclose(model.mean_, 100, atol=0.15)
        rare = np.sort(np.minimum(model.factor_probabilities_, 1 - model.factor_probabilities_))
        np.testing.assert_allclose(rare, [0.2, 0.2, 0.5], atol=0.06)

    def test_bic_picks_the_true_number(self):
        bic = [
            BinaryFactorAnalysis(m, inference="em", n_init=3, random_state=0).fit(TRUTH.X).bic(TRUTH.X)
            for m in (1, 2, 3, 4)
        ]
        assert np.argmin(bic) == 2

    def test_gradient_update_ends_near_the_closed_one(self):
        closed, flow = fitted("byy"), fitted("byy", update="gradient")
        assert flow.n_components_ == 3
        np.testing.assert_allclose(flow.mixing_, closed.mixing_, atol=0.01)
        assert flow.objective_ == pytest.approx(closed.objective_, abs=1.0)


class TestAnswers:
    def test_score_equals_enumeration(self, model):
        theta = model.mixing_, model.mean_, model.noise_precision_, model.factor_probabilities_
        X = TRUTH.X[:20]
        np.testing.assert_allclose(model.score_samples(X), [twin.log_likelihood(x, *theta) for x in X], rtol=1e-9)
        assert model.score(X) == pytest.approx(model.score_samples(X).mean())

    def test_objective_of_em_is_the_log_likelihood_and_never_falls(self):
        model = fitted("em")
        assert model.objective_ == pytest.approx(model.score_samples(TRUTH.X).sum(), rel=1e-9)
        for history in model.restart_histories_:
            assert_nondecreasing(history, slack=1e-8)

    @pytest.mark.parametrize("encoder", ["round", "enum"])
    def test_objective_of_byy_is_the_harmony_of_its_codes(self, encoder):
        model = fitted("byy", encoder=encoder, priors=False)
        theta = model.mixing_, model.mean_, model.noise_precision_, model.factor_probabilities_
        harmony = twin.harmony(TRUTH.X, model.transform(TRUTH.X), *theta, alpha=None, tau=0)
        assert model.objective_ == pytest.approx(harmony, rel=1e-9)

    def test_bound_of_vb_is_below_the_best_likelihood(self):
        assert fitted("vb").objective_ < fitted("em").objective_

    def test_criteria_count_mixing_mean_probabilities_and_noise(self, model):
        n_parameters = 10 * 3 + 3 + 10 + 1
        log_likelihood = model.score_samples(TRUTH.X).sum()
        assert model.bic(TRUTH.X) == pytest.approx(np.log(200) * n_parameters - 2 * log_likelihood)
        assert model.aic(TRUTH.X) == pytest.approx(2 * n_parameters - 2 * log_likelihood)

    def test_probabilities(self, model):
        probabilities = model.predict_proba(TRUTH.X)
        assert ((probabilities >= 0) & (probabilities <= 1)).all()
        assert ((probabilities > 0.5) == (model.transform(TRUTH.X) > 0)).mean() > 0.99
        np.testing.assert_array_equal(probabilities, model.predict_proba(TRUTH.X))
        theta = model.mixing_, model.mean_, model.noise_precision_, model.factor_probabilities_
        exact = np.array([twin.posterior(x, *theta) for x in TRUTH.X]) @ (np.array(twin.codes(3)) > 0)
        np.testing.assert_allclose(probabilities, exact, atol=0.02 if model.inference == "vb" else 1e-9)

    def test_em_gives_the_likeliest_code(self):
        model = fitted("em")
        theta = model.mixing_, model.mean_, model.noise_precision_, model.factor_probabilities_
        best = [twin.codes(3)[int(np.argmax(twin.posterior(x, *theta)))] for x in TRUTH.X[:50]]
        np.testing.assert_array_equal(model.transform(TRUTH.X[:50]), best)

    def test_inverse_transform(self, model):
        codes = model.transform(TRUTH.X)
        rows = model.inverse_transform(codes)
        np.testing.assert_allclose(rows, codes @ model.mixing_.T + model.mean_)
        assert np.std(TRUTH.X - rows) == pytest.approx(0.25, rel=0.05)

    def test_samples_have_the_moments_of_the_model(self, model):
        sample = model.sample(20000, random_state=0)
        shift = 2 * model.factor_probabilities_ - 1
        np.testing.assert_allclose(sample.mean(axis=0), model.mixing_ @ shift + model.mean_, atol=0.06)
        covariance = (model.mixing_ * (1 - shift**2)) @ model.mixing_.T + np.eye(10) / model.noise_precision_
        np.testing.assert_allclose(np.cov(sample.T), covariance, atol=0.1)
        np.testing.assert_array_equal(model.sample(3, random_state=1), model.sample(3, random_state=1))

    def test_factors_are_in_the_order_of_their_length_with_a_fixed_sign(self, model):
        assert_nondecreasing(-np.linalg.norm(model.mixing_, axis=0))
        assert (model.mixing_.max(axis=0) >= -model.mixing_.min(axis=0)).all()

    def test_names(self, model):
        assert model.get_feature_names_out().tolist() == [f"binaryfactoranalysis{i}" for i in range(3)]

    def test_discards_are_told(self):
        model = fitted("byy")
        assert model.discards_.columns.tolist() == ["iteration", "factor", "reason", "norm", "probability"]
        assert len(model.discards_) == 2
        assert model.discards_["factor"].nunique() == 2
        assert model.discards_["factor"].between(0, 4).all()
        assert (np.diff(model.discards_["iteration"]) >= 0).all()
        assert set(model.discards_["reason"]) <= {"weak", "constant"}
        assert len(model.restarts_) == 5
        assert model.restarts_["n_components"][model.restarts_["objective"].argmax()] == 3
        assert fitted("em").discards_.empty

    @pytest.mark.parametrize("inference", ["byy", "vb"])
    def test_a_run_that_is_stopped_at_once_has_an_answer(self, inference):
        """Ctrl-C before the first pass."""
        X = standardised(TRUTH)
        prior = Prior()
        learner = (
            byy.HarmonyLearning(X, 5, "round", "closed", prior, 2.0, Workers())
            if inference == "byy"
            else vb.VariationalBayes(X, 5, prior, 2.0, Workers())
        )
        monitor = Monitor(1e-6, 100, X.size, cancelled=lambda: True)
        assert np.isfinite(learner.run(np.random.default_rng(0), monitor).objective)
        assert monitor.n_iter == 1
        assert not monitor.converged


class TestUnits:
    @each_inference
    def test_the_answer_moves_with_location_and_unit(self, inference):
        model = fitted(inference, n_init=1)
        other = BinaryFactorAnalysis(**model.get_params()).fit(1000 * TRUTH.X + 7)
        np.testing.assert_allclose(other.mixing_, 1000 * model.mixing_, rtol=1e-5, atol=1e-4)
        np.testing.assert_allclose(other.mean_, 1000 * model.mean_ + 7, rtol=1e-5, atol=1e-3)
        assert other.noise_precision_ == pytest.approx(model.noise_precision_ / 1e6, rel=1e-6)
        assert other.objective_ == pytest.approx(model.objective_ - TRUTH.X.size * np.log(1000), rel=1e-9)
        np.testing.assert_allclose(other.discards_["norm"], 1000 * model.discards_["norm"], rtol=1e-5)

    @each_inference
    def test_the_same_seed_gives_the_same_answer_on_any_number_of_jobs(self, inference):
        one, two = fitted(inference, n_jobs=1), fitted(inference, n_jobs=2)
        np.testing.assert_array_equal(one.mixing_, two.mixing_)
        np.testing.assert_array_equal(one.predict_proba(TRUTH.X), two.predict_proba(TRUTH.X))
        pd.testing.assert_frame_equal(one.restarts_, two.restarts_)


class TestEdges:
    CASES = {
        "constant": np.full((12, 4), 3.7),
        "one row": np.array([[1.0, -2.0, 5.0]]),
        "two rows": np.array([[1.0, -2.0, 5.0], [0.0, 1.0, 1.0]]),
        "one column": np.repeat([[-1.0], [1.0]], 10, axis=0),
        "more factors than columns": TRUTH.X[:40, :3],
        "no noise": TRUTH.codes @ TRUTH.mixing.T,
        "zero-one data": (TRUTH.X > 0).astype(int),
        "a constant column": np.column_stack([TRUTH.X[:50], np.ones(50)]),
        "tiny numbers": 1e-150 * TRUTH.X[:50],
    }

    @pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
    @pytest.mark.parametrize("X", CASES.values(), ids=CASES.keys())
    @pytest.mark.parametrize(
        "parameters",
        [
            *(
                {"inference": "byy", "encoder": e, "priors": p}
                for e in ("round", "cdual", "greedy", "enum")
                for p in (True, False)
            ),
            {"inference": "byy", "update": "gradient"},
            {"inference": "vb"},
            {"inference": "em"},
        ],
        ids=lambda p: "-".join(map(str, p.values())),
    )
    def test_every_answer_is_finite(self, X, parameters):
        model = BinaryFactorAnalysis(5, n_init=2, max_iter=60, random_state=0, **parameters).fit(X)
        m = model.n_components_
        assert model.mixing_.shape == (X.shape[1], m)
        assert model.transform(X).shape == model.predict_proba(X).shape == (len(X), m)
        for answer in (
            model.mixing_,
            model.mean_,
            model.factor_probabilities_,
            model.objective_history_,
            model.noise_precision_,
            model.predict_proba(X),
            model.score_samples(X),
            model.inverse_transform(model.transform(X)),
            model.sample(3, random_state=0),
            model.bic(X),
        ):
            assert np.isfinite(answer).all()

    @pytest.mark.parametrize("inference", ["byy", "vb"])
    def test_nothing_but_noise_has_no_factors(self, inference):
        X = np.random.default_rng(0).standard_normal((300, 6))
        model = BinaryFactorAnalysis(4, inference=inference, n_init=2, random_state=0).fit(X)
        assert model.n_components_ == 0
        assert len(model.discards_) == 4
        assert model.transform(X).shape == (300, 0)
        np.testing.assert_allclose(model.mean_, X.mean(axis=0), atol=1e-3)
        sigma = model.noise_precision_**-0.5
        np.testing.assert_allclose(model.score_samples(X), norm.logpdf(X, model.mean_, sigma).sum(axis=1))
        assert sigma == pytest.approx(X.std(), rel=0.01)
        assert model.get_feature_names_out().tolist() == []

    def test_more_factors_than_can_be_summed_over(self):
        X = np.random.default_rng(0).standard_normal((60, 30))
        model = BinaryFactorAnalysis(18, delta=0.0, n_init=1, random_state=0)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            model.fit(X)
        assert model.n_components_ > 16
        assert ((model.predict_proba(X) >= 0) & (model.predict_proba(X) <= 1)).all()
        with pytest.raises(ValueError, match="at most 16"):
            model.score(X)

    @pytest.mark.parametrize(
        ("parameters", "message"),
        [
            ({"n_components": 0}, "n_components=0"),
            ({"inference": "mcmc"}, "'byy', 'vb', 'em'"),
            ({"encoder": "best"}, "'round', 'cdual', 'greedy', 'enum'"),
            ({"update": "newton"}, "'closed', 'gradient'"),
            ({"delta": -1}, "delta=-1"),
            ({"inference": "em", "n_components": 17}, "at most 16"),
            ({"encoder": "enum", "n_components": 21}, "at most 20"),
        ],
    )
    def test_bad_parameters_are_refused(self, parameters, message):
        with pytest.raises(ValueError, match=message):
            BinaryFactorAnalysis(**parameters).fit(TRUTH.X)

    def test_bad_codes_are_refused(self, model):
        with pytest.raises(DataError, match="n_rows x 3"):
            model.inverse_transform(np.ones((2, 4)))
        with pytest.raises(DataError, match="finite"):
            model.inverse_transform(np.full((2, 3), np.nan))

    def test_missing_values_are_refused(self):
        X = TRUTH.X.copy()
        X[0, 0] = np.nan
        with pytest.raises(ValueError, match="NaN"):
            BinaryFactorAnalysis().fit(X)


@each_inference
def test_scikit_learn_checks(inference):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        results = check_estimator(
            BinaryFactorAnalysis(2, inference=inference, n_init=2, random_state=0), on_skip=None, on_fail=None
        )
    failed = {r["check_name"]: r["exception"] for r in results if r["status"] == "failed"}
    assert not failed


def test_codes_of_correlated_factors_by_variational_bayes_are_those_of_the_fit():
    """From even odds the mean field of correlated factors ends in poor optima."""
    rng = np.random.default_rng(4)
    A = rng.normal(size=(6, 4)) + 1.2
    X = np.where(rng.random((200, 4)) < 0.5, 1, -1) @ A.T + 0.5 * rng.normal(size=(200, 6))
    model = BinaryFactorAnalysis(4, inference="vb", delta=0, random_state=0).fit(X)
    residual = X - model.inverse_transform(model.transform(X))
    assert np.mean(residual**2) * model.noise_precision_ < 1.5


def test_a_column_in_another_unit_is_warned_about():
    X = np.random.default_rng(0).normal(size=(50, 4)) * [1, 1, 1000, 1]
    with pytest.warns(UserWarning, match=r"column 2 has 100.0% of all variance"):
        BinaryFactorAnalysis(2, n_init=1, random_state=0).fit(X)
