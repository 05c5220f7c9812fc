"""Bernoulli NMF: the bound, the climb, single rows, and strange data."""

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.optimize import approx_fprime, minimize
from sklearn.exceptions import ConvergenceWarning

from latentbits import BinaryData
from latentbits.fitting.climb import Monitor, climb
from latentbits.fitting.workers import Workers
from latentbits.kernels.tanh_rows import tanh_bound
from latentbits.models.bernoulli_nmf import (
    GAP,
    LEAST,
    MOST,
    BernoulliNMF,
    MaximumLikelihood,
    State,
    normalised,
    solve_rows,
)
from tests.models.strange import strange_tables
from tests.reference import bernoulli_nmf as twin
from tests.reference.assertions import assert_nondecreasing

NAN = np.nan


def simulated(N, D, K, seed=0, missing=0.0):
    rng = np.random.default_rng(seed)
    W, H = rng.gamma(0.5, 3, (N, K)), rng.gamma(0.3, 1, (K, D))
    P = np.tanh(W @ (H / H.max(axis=1, keepdims=True)) / 2)
    X = (rng.random((N, D)) < P).astype(float)
    X[rng.random((N, D)) < missing] = NAN
    return X, P


X, P = simulated(50, 12, 2, missing=0.1)
WEIGHT = np.random.default_rng(3).integers(0, 4, len(X)).astype(float)


@pytest.fixture(scope="module")
def model():
    return BernoulliNMF(2, smoothing=0, n_init=3, tol=1e-7, random_state=0).fit(X, sample_weight=WEIGHT)


def learner(cells=X, weight=WEIGHT, K=2):
    return MaximumLikelihood(BinaryData.of(cells), weight, K, Workers())


def random_state(seed=0, K=2):
    rng = np.random.default_rng(seed)
    return State.of(rng.gamma(1, 1, (len(X), K)), rng.uniform(0, 1, (K, 12)))


def assert_optimal(x, w, H, tol):
    """KKT: no slope where a weight is inside its bounds, none inwards where it is at one; by concavity a maximum."""
    g = twin.row_gradient(x, w, H)
    assert np.where(g > 0, g * (MOST - w), -g * w).sum() <= tol
    assert ((w >= 0) & (w <= MOST)).all()


class TestBound:
    def bound(self, us, x):
        """Log likelihood, x/u, slope and level of single cells, as a row each."""
        u = np.reshape(np.array(us, dtype=float), (-1, 1))
        row_log, parts = np.empty(len(u)), [np.empty_like(u) for _ in range(3)]
        tanh_bound(u, np.full(u.shape, x, np.int8), row_log, *parts)
        return row_log, *(part[:, 0] for part in parts)

    @pytest.mark.parametrize("x", [0, 1])
    def test_touches_the_likelihood_and_is_nowhere_above_it(self, x):
        at = np.array([1e-10, 1e-6, 0.00999, 0.01001, 0.3, 1.0, 4.0, 30.0, 700.0])
        us = np.concatenate([np.geomspace(1e-8, 1, 100), np.linspace(1, 50, 200)])
        row_log, ratio, slope, level = self.bound(at, x)
        exact = np.array([twin.log_probability(x, u) for u in us])
        np.testing.assert_allclose(row_log, [twin.log_probability(x, u) for u in at], rtol=1e-9, atol=1e-13)
        for u0, value, r, s, t in zip(at, row_log, ratio, slope, level, strict=True):
            bound = value + r * u0 * np.log(us / u0) + s * (us - u0) - t / u0 * (us**2 - u0**2)
            assert (bound <= exact + 1e-8).all()
            # The slopes agree too, where a finite difference can tell.
            if 1e-3 < u0 < 30:
                d = 1e-5 * u0
                numeric = (twin.log_probability(x, u0 + d) - twin.log_probability(x, u0 - d)) / (2 * d)
                assert r + s - 2 * t == pytest.approx(numeric, rel=1e-5)

    def test_missing_cells_count_nothing(self):
        for part in self.bound([0.1, 5.0], -1):
            np.testing.assert_array_equal(part, 0)

    @pytest.mark.parametrize(("x", "u"), [(0, 1e-3), (0, 500.0), (1, 1e-9), (1, 3.0)])
    def test_long_rows_neither_overflow_nor_underflow(self, x, u):
        rates = np.full((1, 4000), u)
        row_log, parts = np.empty(1), [np.empty_like(rates) for _ in range(3)]
        tanh_bound(rates, np.full(rates.shape, x, np.int8), row_log, *parts)
        assert row_log[0] == pytest.approx(4000 * twin.log_probability(x, u), rel=1e-9)


class TestLearner:
    def test_step_equals_the_twin(self):
        state = random_state()
        W, H = np.exp(state.log_W), np.exp(state.log_H)
        new, objective = learner().step(state)
        assert objective == pytest.approx(twin.objective(X, W, H, WEIGHT), rel=1e-12)
        W = twin.update_weights(X, W, H, MOST)
        np.testing.assert_allclose(np.exp(new.log_W), np.maximum(W, LEAST), rtol=1e-8)
        H = twin.update_components(X, W, H, WEIGHT)
        np.testing.assert_allclose(np.exp(new.log_H), np.maximum(H, LEAST), rtol=1e-8)
        assert ((new.log_H == 0).any(), (new.log_H < 0).any()) == (True, True), "some are cut off"

    @pytest.mark.parametrize("seed", range(5))
    def test_plain_steps_never_fall(self, seed):
        state, trace = random_state(seed), []
        for _ in range(60):
            state, objective = learner().step(state)
            trace.append(objective)
        assert_nondecreasing(trace, slack=1e-11 * abs(trace[0]))
        assert trace[-1] > trace[0] + 10

    def test_projection_leads_back_and_leaves_the_product(self):
        log_W, log_H = random_state()
        new = learner().project(State(log_W + 0.5, log_H - 0.5))
        np.testing.assert_allclose(np.exp(new.log_W) @ np.exp(new.log_H), np.exp(log_W) @ np.exp(log_H))
        np.testing.assert_array_equal(new.log_H.max(axis=1), 0)
        outside = learner().project(State(np.array([[-99.0, 99.0]]), np.array([[0.5, -99.0], [0.0, 4.0]])))
        np.testing.assert_allclose(np.exp(outside.log_W), [[LEAST, MOST]])
        np.testing.assert_allclose(np.exp(outside.log_H), [[1, LEAST], [np.exp(-4), 1]])

    def test_starts_depend_on_the_seed_alone(self):
        a, b, c = (learner().initialise(np.random.default_rng(seed)) for seed in (0, 0, 1))
        np.testing.assert_array_equal(a.log_H, b.log_H)
        assert (a.log_H != c.log_H).mean() > 0.9
        assert np.isfinite(a.log_H).all()
        assert (np.ptp(a.log_W, axis=0) == 0).all()

    def test_normalised_form(self):
        W, H = np.array([[1.0, 1.0, 2.0], [3.0, 1.0, 1.0]]), np.array([[0.2, 0.1], [LEAST, LEAST], [0.0625, 0.25]])
        components, average = normalised(State(np.log(W), np.log(H)), np.array([1.0, 3.0]))
        np.testing.assert_allclose(components, [[1, 0.5], [0.25, 1], [0, 0]])
        np.testing.assert_allclose(average, [0.2 * 2.5, 0.25 * 1.25, 0])


class TestRows:
    def test_gradient_of_the_twin_is_right(self):
        W, H = map(np.exp, random_state(1))
        for x, w in zip(X[:5], W, strict=False):
            numeric = approx_fprime(w, lambda w, x=x: twin.row_log_likelihood(x, w, H), 1e-7)
            np.testing.assert_allclose(twin.row_gradient(x, w, H), numeric, rtol=1e-4, atol=1e-4)

    def test_weights_maximise_each_row(self, model):
        for x, w in zip(X, model.weights_, strict=True):
            assert_optimal(x, w, model.components_, tol=1e-8)
        with pytest.raises(AssertionError):
            assert_optimal(X[0], model.weights_[0] + 0.1, model.components_, tol=1e-8)

    def test_random_components_and_rows(self):
        rng = np.random.default_rng(0)
        H = rng.gamma(0.3, 1, (6, 25))
        H /= H.max(axis=1, keepdims=True)
        cells = (rng.random((40, 25)) < rng.random((40, 1))).astype(float)
        cells[rng.random(cells.shape) < 0.2] = NAN
        W, gap = solve_rows(BinaryData.of(cells), H, np.ones(6), Workers())
        assert (gap <= 1e-10).all()
        for x, w in zip(cells, W, strict=True):
            assert_optimal(x, w, H, tol=1e-8)
        assert (W == 0).any(), "bounds matter"

    def test_rows_of_zeros_of_ones_and_of_nothing(self, model):
        zeros, ones, nothing = model.transform(np.vstack([np.zeros(12), np.ones(12), np.full(12, NAN)]))
        np.testing.assert_array_equal(zeros, 0)
        np.testing.assert_array_equal(nothing, model.average_weights_)
        assert_optimal(np.ones(12), ones, model.components_, tol=1e-8)
        assert (model.components_.T @ ones > 3).sum() > 6

    def test_transform_of_pieces_is_the_same_to_the_last_bit(self, model):
        np.testing.assert_array_equal(model.transform(X), model.weights_)
        pieces = [model.transform(X[rows]) for rows in (slice(0, 1), slice(1, 37), slice(37, None))]
        np.testing.assert_array_equal(np.concatenate(pieces), model.weights_)


class TestAnswers:
    def test_objective_never_falls_and_is_the_twins(self, model):
        for history in model.restart_histories_:
            assert_nondecreasing(history, slack=1e-11 * abs(history[0]))
        reached = twin.objective(X, model.weights_, model.components_, WEIGHT)
        assert model.objective_ - 1e-6 <= reached < model.objective_ + 0.1

    def test_climb_ends_at_a_stationary_point(self):
        model = BernoulliNMF(2, smoothing=0, n_init=1, tol=1e-9, max_iter=20_000, random_state=0).fit(X)
        W, H = model.weights_, model.components_
        for j, x in enumerate(X.T):  # a column's entries, rows fixed, are the same problem as a row's weights
            g = twin.row_gradient(x, H[:, j], W.T)
            assert np.where(g > 0, g * (1 - H[:, j]), -g * H[:, j]).sum() < 0.02

    def test_components_are_normalised_and_ordered(self, model):
        np.testing.assert_allclose(model.components_.max(axis=1), 1)
        share = model.average_weights_ * model.components_.sum(axis=1)
        assert (np.diff(share) <= 0).all()
        assert len(model.restart_components_) == 3

    def test_probabilities_and_likelihood(self, model):
        found = model.reconstruct(X)
        np.testing.assert_allclose(found, np.tanh(model.weights_ @ model.components_ / 2), atol=1e-9)
        expected = twin.objective(X, model.weights_, model.components_, np.ones(len(X)))
        assert model.log_likelihood(X) == pytest.approx(expected)

    def test_scores_equal_the_twin(self, model):
        new = np.vstack([X[:4], np.ones(12), np.full(12, NAN)])
        expected = twin.empirical_bayes(new, model.weights_, model.components_, WEIGHT)
        np.testing.assert_allclose(model.score_samples(new), expected, rtol=1e-9, atol=1e-12)

    def test_no_one_is_impossible(self):
        cells = X.copy()
        cells[:, 3] = 0
        model = BernoulliNMF(2, smoothing=0, n_init=2, random_state=0).fit(cells)
        log_p, log_q = model._log_probabilities(model.weights_)
        assert log_p.min() == pytest.approx(np.log(5e-11), abs=0.1)
        assert np.isfinite(log_q).all()
        assert np.isfinite(model.score_samples(np.ones((1, 12)))).all()

    def test_simulated_probabilities_come_back_and_more_columns_help(self):
        errors, shares = [], []
        for D in (40, 160):
            cells, truth = simulated(300, D, 2, seed=1, missing=0.05)
            found = BernoulliNMF(2, smoothing=0, n_init=2, random_state=0).fit(cells).reconstruct(cells)
            errors.append(np.sqrt(np.mean((found - truth) ** 2)))
            shares.append(np.sqrt(np.mean((np.nanmean(cells, axis=0) - truth) ** 2)))
        # Parameters per cell fall by a factor of 3, so errors should fall by its root, 1.7.
        assert errors[1] < errors[0] / 1.4
        assert errors[1] < 0.4 * shares[1], "far better than the columns' shares"

    def test_climb_from_the_truth_ends_no_higher(self):
        rng = np.random.default_rng(1)
        W, H = rng.gamma(0.5, 3, (300, 2)), rng.uniform(0, 1, (2, 40)) ** 3
        cells = (rng.random((300, 40)) < np.tanh(W @ H / 2)).astype(float)
        learns = learner(cells, np.ones(300))
        monitor = Monitor(1e-6, 3000, cells.size)
        best = climb(learns, State.of(W, H), monitor).objective
        assert BernoulliNMF(2, smoothing=0, n_init=5, random_state=0).fit(cells).objective_ > best - 1e-4 * cells.size

    def test_parameters_are_counted(self, model):
        n = 2 * (50 + 12) - 2
        assert model.aic(X) == pytest.approx(2 * n - 2 * model.log_likelihood(X))

    def test_missing_cells_are_not_zeros(self):
        a, b = (BernoulliNMF(2, smoothing=0, n_init=2, random_state=0).fit(cells) for cells in (X, np.nan_to_num(X)))
        assert np.abs(a.components_ - b.components_).max() > 0.01

    def test_sparse_equals_dense(self):
        dense, sparse = (
            BernoulliNMF(2, smoothing=0, n_init=2, random_state=0).fit(form) for form in (X, sp.csr_array(X))
        )
        for name in ("components_", "weights_", "average_weights_"):
            np.testing.assert_array_equal(getattr(dense, name), getattr(sparse, name))

    @pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
    def test_weights_equal_repeated_rows_round_by_round(self):
        make = BernoulliNMF(2, smoothing=0, n_init=1, random_state=0, max_iter=3)
        count = WEIGHT.astype(int)
        weighted = make.fit(X, sample_weight=WEIGHT)
        history, H, W = weighted.objective_history_, weighted.components_, weighted.weights_
        repeated = make.fit(np.repeat(X, count, axis=0))
        np.testing.assert_allclose(history, repeated.objective_history_, rtol=1e-10)
        np.testing.assert_allclose(H, repeated.components_, atol=1e-9)
        np.testing.assert_allclose(np.repeat(W, count, axis=0), repeated.weights_, atol=1e-5)
        assert np.abs(make.fit(X).components_ - H).max() > 0.01, "the weights matter"

    def test_same_answer_on_any_number_of_jobs(self):
        cells = simulated(900, 700, 2)[0]  # several groups of row blocks
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            a, b = (
                BernoulliNMF(2, smoothing=0, n_init=2, max_iter=3, random_state=0, n_jobs=n).fit(cells) for n in (1, 4)
            )
        np.testing.assert_array_equal(a.components_, b.components_)
        np.testing.assert_array_equal(a.weights_, b.weights_)
        assert a.objective_ == b.objective_


STRANGE = strange_tables(X)


@pytest.mark.parametrize("smoothing", [0, 0.3])
@pytest.mark.parametrize("name", STRANGE)
def test_strange_data(name, smoothing):
    cells, K = STRANGE[name]
    model = BernoulliNMF(K, smoothing=smoothing, n_init=2, random_state=0).fit(cells)
    assert model.components_.shape == (K, cells.shape[1])
    for part in (model.components_, model.weights_, model.average_weights_):
        assert np.isfinite(part).all()
        assert (part >= 0).all()
    assert_nondecreasing(model.objective_history_, slack=1e-9 * (1 + abs(model.objective_history_[0])))
    strange = np.vstack([cells, np.zeros(cells.shape[1]), np.ones(cells.shape[1]), np.full(cells.shape[1], NAN)])
    assert np.isfinite(model.score_samples(strange)).all()
    found = model.reconstruct(strange)
    assert ((found >= 0) & (found <= 1)).all()
    for x, w in zip(strange, model.transform(strange), strict=True) if smoothing == 0 else ():
        assert_optimal(x, w, model.components_, tol=1e-8 * max(1, np.sum(~np.isnan(x))))


@pytest.mark.parametrize("name", ["all zero", "all one", "separable"])
def test_what_can_be_explained_perfectly_is(name):
    cells, K = STRANGE[name]
    model = BernoulliNMF(K, smoothing=0, n_init=3, random_state=0).fit(cells)
    np.testing.assert_allclose(model.reconstruct(cells), cells, atol=1e-3)
    assert model.objective_ == pytest.approx(0, abs=1e-2)


def test_a_column_never_observed_has_no_component():
    cells = np.insert(X, 5, NAN, axis=1)
    model = BernoulliNMF(2, smoothing=0, n_init=1, random_state=0).fit(cells)
    np.testing.assert_allclose(model.components_[:, 5], 0, atol=1e-6)


class TestPseudoCounts:
    @pytest.mark.parametrize("smoothing", [0.3, 2.0])
    def test_objective_never_falls_and_plain_steps_neither(self, smoothing):
        fitted = BernoulliNMF(2, smoothing=smoothing, n_init=2, random_state=0).fit(X, sample_weight=WEIGHT)
        assert_nondecreasing(fitted.objective_history_, slack=1e-9 * abs(fitted.objective_))
        learns = MaximumLikelihood(BinaryData.of(X), WEIGHT, 2, Workers(), smoothing)
        state, trace = learns.initialise(np.random.default_rng(0)), []
        for _ in range(40):
            state, objective = learns.step(state)
            trace.append(objective)
        assert_nondecreasing(trace, slack=1e-11 * abs(trace[0]))

    def test_weights_of_rows_are_the_optimum(self):
        count, average = 0.3, np.array([0.5, 1.5])
        H = np.random.default_rng(0).uniform(0, 1, (2, 12))
        H /= H.max(axis=1, keepdims=True)
        W, gap = solve_rows(BinaryData.of(X[:8]), H, average, Workers(), count)
        assert gap.max() < 1e-9

        def fall(z, x):
            w = np.exp(z)
            return -twin.objective([x], [w], H, np.ones(1)) - count * np.sum(z - w / average)

        for x, w in zip(X[:8], W, strict=True):
            assert fall(np.log(w), x) <= minimize(fall, np.log(average), args=(x,), tol=1e-10).fun + 1e-8

    def test_held_out_cells_of_small_tables_are_predicted_better(self):
        """Twenty tables of 25 x 12, a tenth of the cells held out: on average by three standard errors."""
        gains = []
        for seed in range(20):
            cells = simulated(25, 12, 2, seed=seed)[0]
            hidden = np.random.default_rng(seed).random(cells.shape) < 0.1
            seen = np.where(hidden, NAN, cells)
            losses = []
            for smoothing in (0, 0.3):
                p = BernoulliNMF(3, smoothing=smoothing, n_init=1, tol=1e-4, random_state=0).fit(seen).reconstruct(seen)
                p = np.clip(p, 1e-3, 1 - 1e-3)[hidden]
                losses.append(-np.log(np.where(cells[hidden] == 1, p, 1 - p)).mean())
            gains.append(losses[0] - losses[1])
        assert np.mean(gains) > 3 * np.std(gains, ddof=1) / 20**0.5


def test_rows_are_solved_whatever_the_sign_of_their_objective():
    """Many pseudo-counts of heavy weights make it positive, and rounding is allowed all the same."""
    rng = np.random.default_rng(0)
    components, X = rng.uniform(size=(4, 12)), (rng.random((200, 12)) < 0.4).astype(float)
    with Workers(1) as workers:
        found = solve_rows(BinaryData.of(X), components, rng.uniform(15, 45, 4), workers, 10.0)
    assert found.gap.max() <= GAP
