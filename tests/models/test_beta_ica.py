"""BetaICA: the bounds against their slow twins, every update, and what a fitted posterior says."""

import warnings
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import stats
from scipy.special import betaln, digamma, gammaln
from sklearn.exceptions import ConvergenceWarning, NotFittedError

from latentbits import AspectBernoulli, BetaICA, BinaryData, simulate
from latentbits.fitting.climb import climb
from latentbits.fitting.monitor import Monitor
from latentbits.fitting.workers import Workers
from latentbits.metrics import match_components
from latentbits.models.aspect.beta_ica import BayesState, EMState, Prior, VariationalBayes, VariationalEM
from latentbits.persistence import load_model, save_model
from tests.reference import beta_ica as twin
from tests.reference.assertions import assert_nondecreasing

NAN = np.nan
INFERENCES = ["vb", "em"]
LEARNERS = {"vb": VariationalBayes, "em": VariationalEM}
X = simulate.aspect_bernoulli(100, 20, 3, white_phantom=True, sharpness=0.1, missing=0.1, random_state=0).X
ROWS, COLUMNS = X.shape
FEW_ROWS = simulate.aspect_bernoulli(30, 150, 3, concentration=0.1, sharpness=1.0, random_state=0).X

each_inference = pytest.mark.parametrize("inference", INFERENCES)
ignore_lost_rows = pytest.mark.filterwarnings("ignore:.*rows have no weight on any kept component")


# ---- tools ---------------------------------------------------------------------------------------------------------


def make_learner(inference, cells, weight, K, prior, **inner):
    return LEARNERS[inference](BinaryData.of(cells), np.asarray(weight, float), K, prior, Workers(), **inner)


def random_state(learner, seed):
    """Any allowed state, far from what an update would make of it."""
    rng = np.random.default_rng(seed)
    N, D = learner.data.shape
    K, prior = learner.n_components, learner.prior
    alpha, beta = prior.alpha + rng.gamma(0.5, 4, (K, D)), prior.beta + rng.gamma(0.5, 4, (K, D))
    if isinstance(learner, VariationalBayes):
        return BayesState(prior.gamma + rng.gamma(0.5, 4, (N, K)), alpha, beta)
    return EMState(0.99 * rng.dirichlet(np.full(K, 0.5), N) + 0.01 / K, alpha, beta)


def log_weights(state):
    return np.log(state.W) if isinstance(state, EMState) else twin.log_dirichlet_means(state.gamma)


def slow_bound(cells, Q, state, prior, weight):
    bound = twin.em_bound if isinstance(state, EMState) else twin.vb_bound
    return bound(cells, Q, *state, prior, weight)


def best_Q(cells, state):
    return twin.responsibilities(cells, log_weights(state), state.alpha, state.beta)


def rounding(learner, state):
    """How far float64 may be off in the bound of a state: eps times the size of all that is added and subtracted.

    Every KL is a sum of gamma functions and of digammas times parameters; every cell is the logarithm of K products
    of exponentials, whose relative errors are those of their digammas. SciPy's functions are good to a few eps: 8.
    """
    prior, K = learner.prior, learner.n_components
    a, b = state.alpha, state.beta
    psi = np.abs(digamma(a)) + np.abs(digamma(b)) + np.abs(digamma(a + b))
    size = np.sum((a + b) * psi + np.abs(betaln(a, b)) + abs(betaln(prior.alpha, prior.beta)))
    per_cell = 16 + K + psi.max()
    if isinstance(state, BayesState):
        g, total = state.gamma, state.gamma.sum(axis=1, keepdims=True)
        psi = np.abs(digamma(g)) + np.abs(digamma(total))
        row = np.sum(g * psi + np.abs(gammaln(g)) + abs(gammaln(prior.gamma)), axis=1)
        size += learner.row_weight @ (row + np.abs(gammaln(total[:, 0])) + abs(gammaln(K * prior.gamma)))
        per_cell += psi.max()
    size += learner.row_weight @ learner.data.observed_per_row() * per_cell
    return 8 * np.finfo(float).eps * size


@st.composite
def problems(draw, inner=(1,)):
    """A learner on generated data with missing cells and row weights, and a state to start from."""
    N, D, K = draw(st.integers(1, 6)), draw(st.integers(1, 6)), draw(st.integers(1, 4))
    cells = draw(arrays(float, (N, D), elements=st.sampled_from([0.0, 1.0, NAN])))
    weight = draw(arrays(float, N, elements=st.sampled_from([1.0, 0.0, 0.5, 2.0])))
    prior = Prior(*(draw(st.sampled_from([0.5, 1.0, 0.1, 5.0])) for _ in range(3)))
    learner = make_learner(
        draw(st.sampled_from(INFERENCES)),
        cells,
        weight,
        K,
        prior,
        inner_iter=draw(st.sampled_from(inner)),
        inner_tol=1e-3,
    )
    seed = draw(st.integers(0, 99))
    start = draw(st.sampled_from(["own", "any"]))
    state = learner.initialise(np.random.default_rng(seed)) if start == "own" else random_state(learner, seed)
    return cells, learner, state


def examples(n):
    return settings(max_examples=n, deadline=None)


# ---- the bound -----------------------------------------------------------------------------------------------------


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


# ---- climbing ------------------------------------------------------------------------------------------------------


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
        for before, after in zip(state, learner.project(state), strict=True):
            np.testing.assert_allclose(after, before)
        outside = type(state)(*(part - 3 for part in state))
        inside = learner.project(outside)
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


# ---- the updates ---------------------------------------------------------------------------------------------------


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
                return new._replace(gamma=scaled(new.gamma, 0.6, size, rng))
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


# ---- weights of rows -----------------------------------------------------------------------------------------------


@pytest.fixture(scope="module", params=INFERENCES)
def model(request):
    return BetaICA(3, inference=request.param, gamma=0.8, n_init=3, random_state=0).fit(X)


@pytest.fixture(scope="module")
def bayes():
    return BetaICA(3, gamma=0.8, n_init=3, random_state=0).fit(X)


def posterior_of_rows(model, cells):
    """gamma, from the mean weights and its known sum."""
    total = np.sum(~np.isnan(cells), axis=1) + len(model.components_) * model.gamma
    return model.transform(cells) * total[:, None]


class TestWeights:
    def test_of_the_training_rows_are_their_transform(self, model):
        np.testing.assert_array_equal(model.transform(X), model.weights_)
        np.testing.assert_array_equal(model.transform(sp.csr_array(X)), model.weights_)
        np.testing.assert_allclose(model.weights_.sum(axis=1), 1)

    def test_whole_equals_chunked(self, model):
        parts = [model.transform(X[rows]) for rows in (slice(0, 1), slice(1, 8), slice(8, ROWS))]
        np.testing.assert_allclose(np.concatenate(parts), model.weights_, rtol=1e-12, atol=1e-15)

    def test_are_those_of_the_climb(self, model):
        """The last state's own weights and the solved ones are the same optimum."""
        exact = BetaICA(3, inference=model.inference, gamma=0.8, n_init=1, tol=1e-11, random_state=0).fit(X)
        learner = make_learner(model.inference, X, np.ones(ROWS), 3, Prior(0.5, 0.5, 0.8))
        total = np.sum(~np.isnan(X), axis=1, keepdims=True) + 3 * 0.8
        weights = exact.weights_ if model.inference == "em" else exact.weights_ * total
        kind = EMState if model.inference == "em" else BayesState
        bound = learner.bound(kind(weights, exact.alpha_, exact.beta_))
        # Weights of point estimates creep towards 0 in a climb; solved for, they are there.
        assert -1e-6 <= bound - exact.objective_ <= (0.05 if model.inference == "em" else 1e-4)

    def test_vb_gamma_is_the_prior_and_what_was_caused(self, bayes):
        gamma = posterior_of_rows(bayes, X)
        Q = twin.responsibilities(X, twin.log_dirichlet_means(gamma), bayes.alpha_, bayes.beta_)
        M, _, _ = twin.caused(X, Q, 3, np.ones(ROWS))
        # A row stops when it moves by less than 1e-7 of its sum.
        np.testing.assert_allclose(gamma, 0.8 + M, atol=1e-6 * COLUMNS)

    def test_em_weights_are_optimal(self):
        """KKT: with mean_j (d log d_ij / d W_ik) = g_k, g <= 1, and g = 1 where the weight is above 0."""
        model = BetaICA(3, inference="em", n_init=3, random_state=0).fit(X)
        Q = twin.responsibilities(X, np.log(np.maximum(model.weights_, 1e-300)), model.alpha_, model.beta_)
        log_b, log_not_b = twin.log_beta_means(model.alpha_, model.beta_)
        for i, w in enumerate(model.weights_):
            h = np.array([np.exp((log_b if X[i, j] == 1 else log_not_b)[:, j]) for r, j in Q if r == i])
            g = np.mean(h / (h @ w)[:, None], axis=0)
            assert g.max() <= 1 + 1e-6
            np.testing.assert_allclose(w @ g, 1, rtol=1e-9)
            assert (g[w > 1e-3] > 1 - 1e-4).all()

    @each_inference
    def test_rows_with_nothing_observed_have_equal_weights(self, inference):
        cells = X.copy()
        cells[[0, 30]] = NAN
        model = BetaICA(3, inference=inference, n_init=2, random_state=0).fit(cells)
        np.testing.assert_allclose(model.weights_[[0, 30]], 1 / 3)
        np.testing.assert_allclose(model.transform(np.full((1, COLUMNS), NAN)), 1 / 3)

    def test_a_large_gamma_spreads_the_weights_and_a_small_one_gathers_them(self):
        largest = [
            BetaICA(3, gamma=gamma, n_init=3, random_state=0).fit(X).weights_.max(axis=1).mean()
            for gamma in (0.1, 1.0, 100.0)
        ]
        assert largest[0] > largest[1] + 0.02
        assert largest[1] > largest[2] + 0.1


# ---- the posterior -------------------------------------------------------------------------------------------------


class TestPosterior:
    def test_components_are_its_means(self, model):
        np.testing.assert_allclose(model.components_, model.alpha_ / (model.alpha_ + model.beta_))
        assert (model.alpha_ > 0.5 - 1e-12).all()
        assert (model.beta_ > 0.5 - 1e-12).all()

    def test_it_accounts_for_every_observed_cell(self, model):
        np.testing.assert_allclose((model.alpha_ - 0.5).sum(axis=0), np.sum(X == 1, axis=0), rtol=1e-9)
        np.testing.assert_allclose((model.beta_ - 0.5).sum(axis=0), np.sum(X == 0, axis=0), rtol=1e-9)

    @pytest.mark.parametrize("level", [0.5, 0.9, 0.95])
    def test_intervals_are_quantiles(self, bayes, level):
        tail = (1 - level) / 2
        low, high = bayes.components_interval(level)
        np.testing.assert_allclose(low, stats.beta.ppf(tail, bayes.alpha_, bayes.beta_), rtol=1e-8)
        np.testing.assert_allclose(high, stats.beta.ppf(1 - tail, bayes.alpha_, bayes.beta_), rtol=1e-8)
        low, high = bayes.weights_interval(X, level)
        gamma = posterior_of_rows(bayes, X)
        rest = gamma.sum(axis=1, keepdims=True) - gamma
        np.testing.assert_allclose(low, stats.beta.ppf(tail, gamma, rest), rtol=1e-8, atol=1e-12)
        np.testing.assert_allclose(high, stats.beta.ppf(1 - tail, gamma, rest), rtol=1e-8)

    def test_default_level_is_95_percent(self, bayes):
        for ends, same in (
            (bayes.components_interval(), bayes.components_interval(0.95)),
            (bayes.weights_interval(X), bayes.weights_interval(X, 0.95)),
        ):
            np.testing.assert_array_equal(ends, same)

    def test_intervals_hold_the_median_and_most_means(self, model):
        low, high = model.components_interval(0.95)
        middle = stats.beta.median(model.alpha_, model.beta_)
        assert ((low <= middle) & (middle <= high)).all()
        # A mean far out in the tail needs a density that is infinite at 0 or 1.
        bell = (model.alpha_ >= 1) & (model.beta_ >= 1)
        assert bell.sum() >= 10
        assert ((low < model.components_) & (model.components_ < high))[bell].all()

    def test_a_higher_level_is_wider(self, bayes):
        for interval in (bayes.components_interval, lambda level: bayes.weights_interval(X, level)):
            (low, high), (lower, higher) = interval(0.8), interval(0.95)
            assert (lower <= low).all()
            assert (higher >= high).all()
            assert (higher - lower > high - low).all()

    def test_more_rows_narrow_the_components(self):
        once = BetaICA(2, n_init=3, random_state=0).fit(X)
        often = BetaICA(2, n_init=3, random_state=0).fit(X, sample_weight=np.full(ROWS, 16.0))
        width = [np.subtract(*reversed(m.components_interval())).mean() for m in (once, often)]
        assert width[1] < 0.5 * width[0]  # a quarter, if nothing else changed

    def test_more_observed_cells_narrow_the_weights(self, bayes):
        few = X.copy()
        few[:, 5:] = NAN
        widths = [np.subtract(*reversed(bayes.weights_interval(cells))) for cells in (few, X)]
        assert widths[1].mean() < 0.8 * widths[0].mean()

    def test_a_row_with_nothing_observed_has_the_prior(self, bayes):
        low, high = bayes.weights_interval(np.full((1, COLUMNS), NAN), 0.9)
        np.testing.assert_allclose(low, stats.beta.ppf(0.05, 0.8, 1.6))
        np.testing.assert_allclose(high, stats.beta.ppf(0.95, 0.8, 1.6))

    def test_a_single_component_has_all_the_weight(self):
        model = BetaICA(1, n_init=1, random_state=0).fit(X)
        low, high = model.weights_interval(X)
        np.testing.assert_array_equal(low, np.ones((ROWS, 1)))
        np.testing.assert_array_equal(high, np.ones((ROWS, 1)))
        assert model.extinct_.size == 0

    def test_intervals_cover_the_truth(self):
        """One component: the posterior is exact, and the truth drawn from its prior."""
        rng = np.random.default_rng(0)
        H = rng.beta(0.5, 0.5, 2000)
        model = BetaICA(1, n_init=1, random_state=0).fit(rng.random((20, 2000)) < H)
        low, high = model.components_interval(0.8)
        covered = np.mean((low <= H) & (high >= H))
        assert covered == pytest.approx(0.8, abs=5 * np.sqrt(0.8 * 0.2 / 2000))

    @pytest.mark.parametrize("level", [0, 1, -0.5, 95, NAN])
    def test_an_impossible_level_is_refused(self, bayes, level):
        for interval in (bayes.components_interval, lambda level: bayes.weights_interval(X, level)):
            with pytest.raises(ValueError, match=f"level={level} must be a number above 0 and below 1"):
                interval(level)

    def test_em_has_no_posterior_of_weights(self):
        model = BetaICA(2, inference="em", n_init=1, random_state=0).fit(X)
        with pytest.raises(ValueError, match=r'^variational EM estimates weights without a posterior.*inference="vb"$'):
            model.weights_interval(X)
        assert np.isfinite(model.components_interval()).all()

    def test_needs_a_fit(self):
        for ask in (BetaICA().components_interval, BetaICA().prune, lambda: BetaICA().weights_interval(X)):
            with pytest.raises(NotFittedError):
                ask()


# ---- extinct components --------------------------------------------------------------------------------------------


@pytest.fixture(scope="module", params=INFERENCES)
def with_dead(request):
    return BetaICA(6, inference=request.param, gamma=0.3, n_init=2, random_state=0).fit(FEW_ROWS)


class TestExtinct:
    def test_surplus_components_go_back_to_the_prior(self, with_dead):
        dead = with_dead.extinct_
        assert 1 <= len(dead) <= 4
        assert with_dead.n_effective_components_ == 6 - len(dead)
        caused = (with_dead.alpha_ + with_dead.beta_ - 1).sum(axis=1)
        assert (caused[dead] < 0.01 * caused.sum()).all()
        np.testing.assert_allclose(with_dead.components_[dead], 0.5, atol=0.1)
        living = np.setdiff1d(np.arange(6), dead)
        assert caused[living].min() > 10 * caused[dead].max()
        share = with_dead.weights_.mean(axis=0)
        assert share[dead].max() < share[living].min()

    def test_needed_components_live(self):
        model = BetaICA(3, n_init=5, random_state=0).fit(
            simulate.aspect_bernoulli(300, 30, 3, concentration=0.3, sharpness=0.1, random_state=0).X
        )
        assert model.extinct_.size == 0
        assert model.n_effective_components_ == 3

    def test_pruning_leaves_the_rest_untouched(self, with_dead):
        before = {name: np.array(value) for name, value in vars(with_dead).items() if isinstance(value, np.ndarray)}
        pruned = with_dead.prune()
        living = np.setdiff1d(np.arange(6), with_dead.extinct_)
        for name in ("components_", "alpha_", "beta_", "phantoms_"):
            np.testing.assert_array_equal(getattr(pruned, name), getattr(with_dead, name)[living], err_msg=name)
        W = with_dead.weights_[:, living]
        np.testing.assert_allclose(pruned.weights_, W / W.sum(axis=1, keepdims=True))
        np.testing.assert_allclose(pruned.weights_.sum(axis=1), 1)
        assert pruned.objective_ == with_dead.objective_
        assert len(with_dead.components_) == with_dead.n_components == 6, "the model itself stays"
        for name, value in before.items():
            np.testing.assert_array_equal(getattr(with_dead, name), value, err_msg=name)
        assert pruned.n_components == len(living)

    def test_a_pruned_model_has_no_dead_and_pruning_again_changes_nothing(self, with_dead):
        pruned = with_dead.prune()
        assert pruned.extinct_.size == 0
        assert pruned.n_effective_components_ == len(pruned.components_)
        again = pruned.prune()
        np.testing.assert_array_equal(again.components_, pruned.components_)
        np.testing.assert_allclose(again.weights_, pruned.weights_, rtol=1e-12)

    @ignore_lost_rows
    def test_a_pruned_model_answers_everything(self, with_dead):
        pruned = with_dead.prune()
        K, cells = len(pruned.components_), FEW_ROWS
        assert pruned.transform(cells).shape == (30, K)
        # What the dead had caused goes to the living: little.
        np.testing.assert_allclose(pruned.transform(cells), pruned.weights_, atol=2e-3)
        np.testing.assert_allclose(pruned.reconstruct(cells), with_dead.reconstruct(cells), atol=0.02)
        assert pruned.reconstruct(cells, ratings=np.ones(K)).shape == cells.shape
        np.testing.assert_array_equal(pruned.denoise(cells), with_dead.prune().denoise(cells))
        assert pruned.suspects(cells, top=9).shape == (9, 4)
        assert pruned.explain(cells, row=0)["component"].nunique() == K
        assert pruned.sample(3, random_state=0).shape == (3, 150)
        assert pruned.get_feature_names_out().shape == (K,)
        assert [end.shape for end in pruned.components_interval()] == [(K, 150)] * 2
        assert pruned.score(cells) == pytest.approx(with_dead.score(cells), rel=0.01)
        if pruned.inference == "vb":
            assert [end.shape for end in pruned.weights_interval(cells)] == [(30, K)] * 2

    def test_components_that_share_few_cells_equally_live(self):
        """Two rows for six components: each causes less than half a cell per attribute, and none of them is dead."""
        model = BetaICA(6, alpha=5, beta=5, gamma=100, n_init=1, random_state=0).fit(some(2, 10))
        assert (model.alpha_ + model.beta_ - 10).sum(axis=1).max() < 0.5 * 10
        assert model.extinct_.size == 0

    def test_of_one_observed_cell_not_all_is_said_to_be_dead(self):
        model = BetaICA(3, n_init=1, random_state=0).fit(np.where(np.eye(4, 5, k=4), 1.0, NAN))
        assert len(model.prune().components_) == model.n_effective_components_ >= 1


@ignore_lost_rows
@pytest.mark.parametrize("prune", [False, True])
def test_model_files_keep_every_answer(with_dead, prune, tmp_path):
    model = with_dead.prune() if prune else with_dead
    save_model(model, tmp_path / "model.npz")
    same = load_model(tmp_path / "model.npz")
    assert type(same) is BetaICA
    assert same.get_params() == model.get_params()
    for name in ("components_", "weights_", "alpha_", "beta_", "extinct_", "phantoms_", "objective_history_"):
        np.testing.assert_array_equal(getattr(same, name), getattr(model, name), err_msg=name)
    np.testing.assert_array_equal(same.transform(FEW_ROWS), model.transform(FEW_ROWS))
    np.testing.assert_array_equal(same.denoise(FEW_ROWS), model.denoise(FEW_ROWS))
    np.testing.assert_array_equal(same.components_interval(), model.components_interval())
    pd.testing.assert_frame_equal(same.suspects(FEW_ROWS), model.suspects(FEW_ROWS))
    np.testing.assert_array_equal(same.prune().components_, model.prune().components_)


# ---- answers -------------------------------------------------------------------------------------------------------


class TestReconstruct:
    def test_equation_14_by_hand(self, bayes):
        gamma = posterior_of_rows(bayes, X)
        for i, j in [(0, 0), (7, 3), (ROWS - 1, COLUMNS - 1)]:
            by_hand = sum(
                gamma[i, k] / gamma[i].sum() * bayes.alpha_[k, j] / (bayes.alpha_[k, j] + bayes.beta_[k, j])
                for k in range(3)
            )
            assert bayes.reconstruct(X)[i, j] == pytest.approx(by_hand)

    def test_equation_13_for_components_and_for_rows(self, model):
        rng = np.random.default_rng(0)
        for ratings in (np.array([1.0, 0.3, 0.6]), rng.uniform(0.1, 1, (ROWS, 3))):
            P = model.reconstruct(X, ratings=ratings)
            r = np.broadcast_to(ratings, (ROWS, 3))
            for i in (0, 13, ROWS - 1):
                kept = [model.weights_[i, k] * r[i, k] for k in range(3)]
                by_hand = sum(kept[k] / sum(kept) * model.components_[k] for k in range(3))
                np.testing.assert_allclose(P[i], by_hand)

    @ignore_lost_rows
    def test_denoise_removes_the_phantom(self, model):
        assert sorted(model.phantoms_) == ["content", "content", "white"]
        content = (model.phantoms_ == "content").astype(float)
        np.testing.assert_array_equal(model.denoise(X, change="both"), model.reconstruct(X, ratings=content) >= 0.5)
        assert (model.denoise(X) != (model.reconstruct(X) >= 0.5)).any(), "the phantom matters"

    def test_causes_are_the_responsibilities(self, model):
        """Eq. 9 and B.3; for variational Bayes exp<log a> goes in, so that a row's causes add up to gamma (B.5)."""
        table = model.explain(X, row=5)
        found = table["probability"].to_numpy().reshape(COLUMNS, 3)
        np.testing.assert_allclose(found.sum(axis=1), 1)
        Q = twin.responsibilities(X[5:6], logs_of_weights(model, X[5:6]), model.alpha_, model.beta_)
        seen = [j for _, j in Q]
        np.testing.assert_allclose(found[seen], list(Q.values()), atol=1e-6)
        if model.inference == "vb":
            np.testing.assert_allclose(0.8 + found[seen].sum(axis=0), posterior_of_rows(model, X)[5], atol=1e-5)

    def test_a_missing_cell_is_explained_by_the_weights(self, model):
        i, j = np.argwhere(np.isnan(X))[0]
        table = model.explain(X, cells=[(i, j)])
        assert table["value"].isna().all()
        np.testing.assert_allclose(table["probability"], model.weights_[i])

    def test_suspects_name_the_posterior_of_the_phantom(self, model):
        table = model.suspects(X, top=10)
        Q = twin.responsibilities(X, logs_of_weights(model, X), model.alpha_, model.beta_)
        white = model.phantoms_ == "white"
        expected = [np.array(Q[i, j])[white].sum() for i, j in zip(table["row"], table["column"], strict=True)]
        np.testing.assert_allclose(table["phantom"], expected, atol=1e-6)


def logs_of_weights(model, cells):
    if model.inference == "vb":
        return twin.log_dirichlet_means(posterior_of_rows(model, cells))
    return np.log(np.maximum(model.transform(cells), 1e-300))


def test_with_much_data_em_finds_the_components_of_aspect_bernoulli():
    """Rows of weight w count w times; the prior's weight and the width of the posteriors fade as 1 / w."""
    cells = simulate.aspect_bernoulli(200, 20, 3, concentration=0.3, sharpness=0.3, random_state=1).X
    plain = AspectBernoulli(3, n_init=3, tol=1e-8, random_state=0).fit(cells)

    def difference(weight):
        model = BetaICA(3, inference="em", n_init=3, tol=1e-8, random_state=0)
        model.fit(cells, sample_weight=np.full(200, weight))
        order = match_components(plain.components_, model.components_).order
        return np.abs(plain.components_ - model.components_[order]).max()

    assert difference(100.0) < 0.002  # half of an observation against some 6000 for each component and column
    assert difference(1.0) > 0.01, "few data feel the prior"


# ---- parameters ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"inference": "bayes"}, 'inference=\'bayes\' is unknown; use "vb" or "em"'),
        ({"inference": None}, "inference=None is unknown"),
        ({"inference": ["vb"]}, "inference=.* is unknown"),
        ({"alpha": 0}, "alpha=0 must be a number of at least 0.05"),
        ({"alpha": None}, "alpha=None must be a number"),
        ({"alpha": np.inf}, "alpha=inf must be a"),
        ({"beta": -0.5}, "beta=-0.5 must be a number of at least 0.05"),
        ({"beta": "half"}, "beta='half' must be a number"),
        ({"gamma": NAN}, "gamma=nan must be a number of at least 0.001"),
        ({"gamma": np.inf}, "gamma=inf must be a"),
        ({"gamma": [1, 1]}, "gamma=.* must be a number"),
        ({"inner_max_iter": 0}, "inner_max_iter"),
        ({"inner_max_iter": 1.5}, "inner_max_iter"),
        ({"inner_max_iter": None}, "inner_max_iter"),
        ({"inner_tol": -1}, "inner_tol"),
        ({"inner_tol": NAN}, "inner_tol"),
        ({"inner_tol": None}, "inner_tol"),
        ({"n_components": 0}, "n_components=0 must be a whole number of at least 1"),
    ],
    ids=str,
)
def test_one_sentence_for_each_mistake(parameters, message):
    with pytest.raises(ValueError, match=message) as error:
        BetaICA(**{"n_components": 2, "n_init": 1, **parameters}).fit(X)
    assert "\n" not in str(error.value)


def test_running_out_is_warned_about():
    with pytest.warns(ConvergenceWarning, match="max_iter=3"):
        assert not BetaICA(3, n_init=1, max_iter=3, random_state=0).fit(X).converged_


# ---- strange data --------------------------------------------------------------------------------------------------


def some(n, D, density=0.4):
    return (np.random.default_rng(n + D).random((n, D)) < density).astype(float)


STRANGE = {
    "all zero": (np.zeros((12, 6)), 3),
    "all one": (np.ones((12, 6)), 3),
    "one cell": (np.ones((1, 1)), 2),
    "one row": (some(1, 8), 3),
    "one column": (some(15, 1), 2),
    "one component": (some(20, 7), 1),
    "more components than rows": (some(4, 10), 7),
    "rows and columns entirely missing": (np.pad(some(10, 6), 2, constant_values=NAN), 3),
    "all but one cell missing": (np.where(np.eye(5, 4, k=3), 1.0, NAN), 2),
    "10 rows, 2000 columns": (some(10, 2000, 0.1), 2),
}


@each_inference
@pytest.mark.parametrize("name", STRANGE)
def test_strange_data_give_finite_answers_without_a_warning(name, inference):
    cells, K = STRANGE[name]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = BetaICA(K, inference=inference, n_init=2, random_state=0).fit(cells)
        same = BetaICA(K, inference=inference, n_init=2, random_state=0).fit(sp.csr_array(cells))
    assert model.converged_
    np.testing.assert_array_equal(model.components_, same.components_)
    extreme = np.vstack([np.zeros(cells.shape[1]), np.ones(cells.shape[1]), np.full(cells.shape[1], NAN)])
    W, P = model.transform(extreme), model.reconstruct(cells)
    for values in (model.components_, model.weights_, W, P, *model.components_interval()):
        assert np.isfinite(values).all()
        assert ((values >= 0) & (values <= 1)).all()
    np.testing.assert_array_equal(model.transform(cells), model.weights_)
    np.testing.assert_allclose(W.sum(axis=1), 1)
    np.testing.assert_allclose(W[2], 1 / K)
    scores = [model.objective_, *model.score_samples(cells), model.aic(cells), model.log_likelihood(cells)]
    assert np.isfinite(scores).all()
    assert model.objective_ <= 1e-9
    if inference == "vb":
        assert np.isfinite(model.weights_interval(cells)).all()
    assert len(model.prune().components_) == model.n_effective_components_ >= 1
    for kind, value in (("absence", 0), ("presence", 1)):
        table = model.suspects(cells, kind=kind, top=None)
        assert len(table) == np.sum(cells == value)
        assert np.isfinite(table["score"]).all()


@each_inference
@pytest.mark.parametrize("prior", [0.5, 0.1, 0.05])
def test_a_faint_prior_gives_no_nan(inference, prior):
    """A 1 in a column where training had none: exp<log b> is about exp(-1/alpha), 1e-9 at the least alpha."""
    cells = some(10, 5)
    cells[:, 0] = 0
    new = np.array([[1, 1, 0, 1, 0], [1, NAN, NAN, NAN, NAN]], dtype=float)
    model = BetaICA(2, inference=inference, alpha=prior, beta=prior, n_init=2, random_state=0).fit(cells)
    W = model.transform(new)
    assert np.isfinite(W).all()
    np.testing.assert_allclose(W.sum(axis=1), 1)
    q = model.explain(new, row=0)["probability"].to_numpy().reshape(5, 2)
    np.testing.assert_allclose(q.sum(axis=1), 1)
    assert np.isfinite(model.suspects(new, kind="presence")["phantom"]).all()
    assert np.isfinite(model.score_samples(new)).all()


@pytest.mark.parametrize("prior", [0.5, 0.1, 0.05])
def test_with_a_faint_prior_every_cell_still_counts(prior):
    """exp<log b> is about exp(-1/alpha) for a 1 that training never saw: 1e-10 is shared out like any other."""
    cells = some(10, 5)
    cells[:, 0] = 0
    model = BetaICA(2, alpha=prior, beta=prior, n_init=2, random_state=0).fit(cells)
    new = np.array([[1, 1, 0, 1, 0]])
    gamma = posterior_of_rows(model, new)
    Q = twin.responsibilities(new, twin.log_dirichlet_means(gamma), model.alpha_, model.beta_)
    np.testing.assert_allclose(gamma, 1 + twin.caused(new, Q, 2, [1])[0], atol=1e-5)


@each_inference
def test_rows_of_weight_0_change_nothing(inference):
    weight = np.resize([1.0, 0.0, 2.0], ROWS)
    changed = np.where((weight == 0)[:, None], 1 - X, X)
    a, b = (
        BetaICA(3, inference=inference, n_init=2, random_state=0).fit(cells, sample_weight=weight)
        for cells in (X, changed)
    )
    np.testing.assert_allclose(a.alpha_, b.alpha_, atol=1e-6)
    assert np.isfinite(a.weights_).all()
    assert np.abs(BetaICA(3, inference=inference, n_init=2, random_state=0).fit(X).alpha_ - a.alpha_).max() > 0.1
