"""Logistic PCA: the bound, the climb, the principal form, single rows, and strange data."""

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.optimize import approx_fprime
from scipy.special import expit
from sklearn.exceptions import ConvergenceWarning

from latentbits import BinaryData, simulate
from latentbits.fitting.workers import Workers
from latentbits.kernels.logistic_rows import logistic_bound, logistic_rows
from latentbits.models.logistic_pca import (
    LogisticPCA,
    PenalisedLikelihood,
    State,
    principal_form,
    solve_rows,
    vanishing_ridge,
)
from tests.models.strange import strange_tables
from tests.reference import logistic_pca as twin
from tests.reference.assertions import assert_nondecreasing

NAN = np.nan
RIDGE = 0.3


def simulated(N, D, K, seed=0, missing=0.0, scale=1.0):
    rng = np.random.default_rng(seed)
    P = expit(scale * rng.normal(size=(N, K)) @ rng.normal(size=(K, D)) + rng.normal(size=D))
    X = (rng.random((N, D)) < P).astype(float)
    X[rng.random((N, D)) < missing] = NAN
    return X, P


X, P = simulated(60, 12, 2, missing=0.1)
WEIGHT = np.random.default_rng(3).integers(0, 4, len(X)).astype(float)


@pytest.fixture(scope="module")
def tight():
    """Climbed until rounding stops it, on weighted data with gaps."""
    model = LogisticPCA(2, ridge=RIDGE, n_init=2, tol=1e-14, max_iter=5000, random_state=0)
    return model.fit(X, sample_weight=WEIGHT)


def learner(cells=X, weight=WEIGHT, K=2, ridge=RIDGE):
    return PenalisedLikelihood(BinaryData.of(cells), weight, K, ridge, Workers())


def random_state(seed=0, K=2):
    rng = np.random.default_rng(seed)
    return State(rng.normal(size=(len(X), K)), rng.normal(size=(K, 12)), rng.normal(size=12))


def balanced_factors(model):
    """U, V and b of a fitted model, in the form in which both factors carry the same ridge."""
    root = np.sqrt(model.singular_values_)
    return model.weights_ / root, root[:, None] * model.components_, model.intercepts_


class TestBound:
    def bound(self, theta, x):
        """Log likelihood and lambda of single cells, as a row each."""
        theta = np.reshape(np.array(theta, dtype=float), (-1, 1))
        row_log, slack, target = np.empty(len(theta)), np.empty_like(theta), np.empty_like(theta)
        logistic_bound(theta, np.full(theta.shape, x, np.int8), np.array([0.7]), row_log, slack, target)
        return row_log, slack[:, 0] / 2, target[:, 0]

    @pytest.mark.parametrize("x", [0, 1])
    def test_touches_the_likelihood_and_is_nowhere_above_it(self, x):
        at = np.array([-800.0, -30.0, -3.0, -0.5, 0.0, 1e-9, 1e-3, 2.0, 12.0])
        thetas = np.linspace(-40, 40, 801)
        row_log, lam, target = self.bound(at, x)
        exact = np.array([twin.log_probability(x, theta) for theta in thetas])
        np.testing.assert_allclose(row_log, [twin.log_probability(x, t) for t in at], atol=1e-11)
        np.testing.assert_allclose(target, x - 0.5 - 2 * lam * 0.7)
        for t, value, slope in zip(at, row_log, lam, strict=True):
            assert (value + (x - 0.5) * (thetas - t) - slope * (thetas**2 - t**2) <= exact + 1e-9).all()

    def test_missing_cells_count_nothing(self):
        for part in self.bound([-3.0, 0.0, 5.0], -1):
            np.testing.assert_array_equal(part, 0)

    def test_long_rows_do_not_overflow(self):
        theta = np.full((1, 5000), 1e-3)
        row_log, slack, target = np.empty(1), np.empty_like(theta), np.empty_like(theta)
        logistic_bound(theta, np.ones(theta.shape, np.int8), np.zeros(5000), row_log, slack, target)
        assert row_log[0] == pytest.approx(5000 * twin.log_probability(1, 1e-3), rel=1e-12)


class TestLearner:
    def test_objective_equals_the_twin(self):
        state = random_state()
        assert learner().step(state)[1] == pytest.approx(twin.objective(X, *state, WEIGHT, RIDGE), rel=1e-12)

    @pytest.mark.parametrize("seed", range(5))
    def test_plain_steps_never_fall(self, seed):
        state, trace = learner().initialise(np.random.default_rng(seed)), []
        for _ in range(40):
            state, objective = learner().step(state)
            trace.append(objective)
        assert_nondecreasing(trace, slack=1e-11 * abs(trace[0]))
        assert trace[-1] > trace[0] + 10

    def test_projection_keeps_the_log_odds_and_lowers_the_penalty(self):
        state = random_state()
        new = learner().project(state)
        np.testing.assert_allclose(new.U @ new.V + new.b, state.U @ state.V + state.b, atol=1e-12)
        assert twin.objective(X, *new, WEIGHT, RIDGE) > twin.objective(X, *state, WEIGHT, RIDGE) + 1
        np.testing.assert_allclose(WEIGHT @ new.U, 0, atol=1e-12)
        np.testing.assert_allclose((WEIGHT[:, None] * new.U).T @ new.U, new.V @ new.V.T, atol=1e-10)
        for again, once in zip(learner().project(new), new, strict=True):
            np.testing.assert_allclose(again, once, atol=1e-12)

    def test_starts_depend_on_the_seed_alone(self):
        a, b, c = (learner().initialise(np.random.default_rng(seed)) for seed in (0, 0, 1))
        np.testing.assert_array_equal(a.V, b.V)
        assert (a.V != c.V).all()

    def test_principal_form_is_the_singular_value_decomposition(self):
        state = random_state()
        form = principal_form(state, WEIGHT)
        centred = state.U - WEIGHT @ state.U / WEIGHT.sum()
        s = np.linalg.svd(np.sqrt(WEIGHT)[:, None] * (centred @ state.V), compute_uv=False)[:2]
        np.testing.assert_allclose(form.singular_values, s)
        np.testing.assert_allclose(form.scores @ form.components, centred @ state.V, atol=1e-12)
        np.testing.assert_allclose(form.components @ form.components.T, np.eye(2), atol=1e-12)
        assert (form.components[range(2), np.abs(form.components).argmax(axis=1)] > 0).all()


class TestOptimum:
    def test_gradients_of_the_twin_are_right(self):
        state = random_state(K=1)
        U, V, b = State(state.U[:6], state.V, state.b)
        sizes = np.cumsum([U.size, V.size])

        def value(flat):
            u, v, bias = np.split(flat, sizes)
            return twin.objective(X[:6], u.reshape(U.shape), v.reshape(V.shape), bias, WEIGHT[:6], RIDGE)

        numeric = approx_fprime(np.concatenate([U.ravel(), V.ravel(), b]), value, 1e-7)
        exact = twin.gradients(X[:6], U, V, b, WEIGHT[:6], RIDGE)
        np.testing.assert_allclose(np.concatenate([part.ravel() for part in exact]), numeric, atol=1e-4)
        assert np.abs(numeric).max() > 0.1

    def test_gradients_vanish_at_the_solution(self, tight):
        factors = balanced_factors(tight)
        for gradient in twin.gradients(X, *factors, WEIGHT, RIDGE):
            assert np.abs(gradient).max() < 1e-4
        wrong = (factors[0], 1.01 * factors[1], factors[2])
        assert np.abs(twin.gradients(X, *wrong, WEIGHT, RIDGE)[1]).max() > 1e-2, "elsewhere they don't"

    def test_objective_is_the_twins_and_never_falls(self, tight):
        assert tight.converged_
        assert tight.objective_ == pytest.approx(twin.objective(X, *balanced_factors(tight), WEIGHT, RIDGE), rel=1e-9)
        for history in tight.restart_histories_:
            assert_nondecreasing(history, slack=1e-11 * abs(history[0]))

    def test_rows_are_centred_and_balanced(self, tight):
        np.testing.assert_allclose(WEIGHT @ tight.weights_ / WEIGHT.sum(), 0, atol=1e-4)
        squares = (WEIGHT[:, None] * tight.weights_).T @ tight.weights_
        np.testing.assert_allclose(squares, np.diag(tight.singular_values_**2), atol=1e-3 * squares.max())

    def test_form(self, tight):
        C = tight.components_
        np.testing.assert_allclose(C @ C.T, np.eye(2), atol=1e-12)
        assert (np.diff(tight.singular_values_) <= 0).all()
        assert (C[range(2), np.abs(C).argmax(axis=1)] > 0).all()
        assert len(tight.restart_components_) == 2
        assert all(other.shape == C.shape for other in tight.restart_components_)

    def test_more_ridge_shrinks(self):
        lengths = [LogisticPCA(2, ridge=ridge, random_state=0).fit(X).singular_values_.sum() for ridge in (0.01, 1, 5)]
        assert lengths[0] > lengths[1] > lengths[2]


class TestRows:
    def test_kernel_equals_newton_in_numpy(self):
        state = random_state(4)
        U, gap = np.empty((len(X), 2)), np.empty(len(X))
        logistic_rows(BinaryData.of(X).dense(), state.V, state.b, RIDGE, 1e-16, 100, U, gap)
        assert (gap <= 1e-16).all()
        for x, found in zip(X, U, strict=True):
            seen, u = ~np.isnan(x), np.zeros(2)
            V, b = state.V[:, seen], state.b[seen]
            for _ in range(100):
                p = expit(u @ V + b)
                g = V @ (x[seen] - p) - RIDGE * u
                u = u + 0.5 * np.linalg.solve((V * p * (1 - p)) @ V.T + RIDGE * np.eye(2), g)
            np.testing.assert_allclose(found, u, atol=1e-10)

    def test_scores_maximise_each_row(self, tight):
        parts = tight.components_, tight.singular_values_, tight.intercepts_, RIDGE
        for x, w in zip(X[:15], tight.weights_, strict=False):
            gradient = approx_fprime(w, lambda w, x=x: twin.row_objective(x, w, *parts), 1e-6)
            assert np.abs(gradient).max() < 1e-4
            elsewhere = approx_fprime(w + 0.1, lambda w, x=x: twin.row_objective(x, w, *parts), 1e-6)
            assert np.abs(elsewhere).max() > 1e-3

    def test_rows_are_certified_also_when_separable(self):
        cells = BinaryData.of(np.vstack([np.zeros(12), np.ones(12), np.full(12, NAN), X]))
        for ridge in (1e-3, 1.0):
            model = LogisticPCA(2, ridge=ridge, n_init=1, random_state=0, tol=1e-4).fit(X)
            form = model.components_, model.singular_values_, model.intercepts_
            W, gap = solve_rows(cells, *form, ridge, Workers())
            assert (gap <= 1e-16).all()
            assert np.isfinite(W).all()
            np.testing.assert_array_equal(W[2], 0)

    def test_the_last_bit_does_not_depend_on_where_arrays_lie(self):
        rng = np.random.default_rng(0)
        cells, V, b = rng.integers(0, 2, (60, 12)).astype(np.int8), rng.normal(size=(2, 12)), rng.normal(size=12)
        found, heap = set(), []
        for _ in range(3000):
            heap.append(np.empty(int(rng.integers(1, 40))))  # arrays that come and go move all others
            if len(heap) > 50:
                heap.pop(int(rng.integers(50)))
            U, gap = np.empty((60, 2)), np.empty(60)
            logistic_rows(cells, V.copy(), b.copy(), 0.3, 1e-16, 100, U, gap)
            found.add(U.tobytes())
        assert len(found) == 1

    def test_transform_of_pieces_is_the_same_to_the_last_bit(self, tight):
        np.testing.assert_array_equal(tight.transform(X), tight.weights_)
        pieces = [tight.transform(X[rows]) for rows in (slice(0, 1), slice(1, 37), slice(37, None))]
        np.testing.assert_array_equal(np.concatenate(pieces), tight.weights_)


class TestAnswers:
    def test_probabilities_and_likelihood(self, tight):
        found = tight.reconstruct(X)
        np.testing.assert_allclose(found, expit(tight.weights_ @ tight.components_ + tight.intercepts_))
        expected = sum(twin.log_probability(x, np.log(p / (1 - p))) for x, p in zip(X.flat, found.flat) if x == x)  # noqa: B905
        assert tight.log_likelihood(X) == pytest.approx(expected)

    def test_scores_equal_the_twin(self, tight):
        new = np.vstack([X[:4], np.ones(12), np.full(12, NAN)])
        expected = twin.empirical_bayes(new, tight.weights_, tight.components_, tight.intercepts_, WEIGHT)
        np.testing.assert_allclose(tight.score_samples(new), expected, rtol=1e-9, atol=1e-12)

    def test_simulated_probabilities_come_back_and_more_columns_help(self):
        errors, shares = [], []
        for D in (40, 160):
            cells, truth = simulated(300, D, 2, seed=1, missing=0.05)
            found = LogisticPCA(2, n_init=2, random_state=0).fit(cells).reconstruct(cells)
            errors.append(np.sqrt(np.mean((found - truth) ** 2)))
            shares.append(np.sqrt(np.mean((np.nanmean(cells, axis=0) - truth) ** 2)))
        # Parameters per cell fall by a factor of 3, so errors should fall by its root, 1.7.
        assert errors[1] < errors[0] / 1.4
        assert errors[1] < 0.4 * shares[1], "far better than the columns' shares"

    def test_most_starts_end_at_the_same_optimum(self):
        objectives = LogisticPCA(2, n_init=7, tol=1e-9, random_state=0).fit(X).restarts_["objective"]
        assert objectives.max() - objectives.median() < 1e-3
        assert objectives.nunique() > 1, "they are different climbs"

    def test_parameters_are_counted(self, tight):
        n = 12 + 2 * 59 + 2 * 12 - 4
        assert tight.aic(X) == pytest.approx(2 * n - 2 * tight.log_likelihood(X))
        assert tight.aic(X[:1]) == pytest.approx(2 * 12 - 2 * tight.log_likelihood(X[:1])), "one row has rank 0"

    def test_missing_cells_are_not_zeros(self):
        a, b = (LogisticPCA(2, random_state=0).fit(cells) for cells in (X, np.nan_to_num(X)))
        assert np.abs(a.intercepts_ - b.intercepts_).max() > 0.1

    def test_sparse_equals_dense(self):
        dense, sparse = (LogisticPCA(2, n_init=2, random_state=0).fit(form) for form in (X, sp.csr_array(X)))
        for name in ("components_", "weights_", "intercepts_", "singular_values_"):
            np.testing.assert_array_equal(getattr(dense, name), getattr(sparse, name))

    def test_weights_equal_repeated_rows(self):
        make = LogisticPCA(2, ridge=RIDGE, n_init=2, random_state=0, tol=1e-9)
        weighted = make.fit(X, sample_weight=WEIGHT)
        history, C, W = weighted.objective_history_, weighted.components_, weighted.weights_
        count = WEIGHT.astype(int)
        repeated = make.fit(np.repeat(X, count, axis=0))
        np.testing.assert_allclose(history[:9], repeated.objective_history_[:9], rtol=1e-9)
        np.testing.assert_allclose(C, repeated.components_, atol=1e-4)
        np.testing.assert_allclose(np.repeat(W, count, axis=0), repeated.weights_, atol=1e-3)
        assert np.abs(make.fit(X).components_ - C).max() > 0.01, "the weights matter"

    def test_order_of_rows_does_not_matter(self):
        order = np.random.default_rng(0).permutation(len(X))
        a, b = (LogisticPCA(2, n_init=1, tol=1e-9, random_state=0).fit(cells) for cells in (X, X[order]))
        np.testing.assert_allclose(a.weights_[order], b.weights_, atol=1e-3)

    def test_same_answer_on_any_number_of_jobs(self):
        cells = simulated(900, 700, 2)[0]  # several chunks
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            a, b = (LogisticPCA(2, n_init=2, max_iter=6, random_state=0, n_jobs=n).fit(cells) for n in (1, 4))
        np.testing.assert_array_equal(a.components_, b.components_)
        np.testing.assert_array_equal(a.weights_, b.weights_)
        assert a.objective_ == b.objective_

    @pytest.mark.parametrize("ridge", [0, -1, 1e-9, 1e-6, NAN, "small"])
    def test_impossible_ridges_are_refused(self, ridge):
        with pytest.raises(ValueError, match=r"ridge=.* must be a number of at least 0.001"):
            LogisticPCA(2, ridge=ridge).fit(X)


STRANGE = strange_tables(X)


@pytest.mark.parametrize("ridge", [None, 0.1, 1e-3])
@pytest.mark.parametrize("name", STRANGE)
def test_strange_data(name, ridge):
    cells, K = STRANGE[name]
    with warnings.catch_warnings():
        if ridge != 0.1:
            warnings.simplefilter("ignore", ConvergenceWarning)
        model = LogisticPCA(K, ridge=ridge, n_init=2, random_state=0, max_iter=300).fit(cells)
    assert model.components_.shape == (K, cells.shape[1])
    for part in (model.components_, model.weights_, model.intercepts_, model.singular_values_):
        assert np.isfinite(part).all()
    assert_nondecreasing(model.objective_history_, slack=1e-9 * (1 + abs(model.objective_history_[0])))
    strange = np.vstack([cells, np.zeros(cells.shape[1]), np.ones(cells.shape[1]), np.full(cells.shape[1], NAN)])
    assert np.isfinite(model.score_samples(strange)).all()
    found = model.reconstruct(strange)
    assert ((found >= 0) & (found <= 1)).all()
    assert model._n_parameters(len(cells)) >= cells.shape[1]


def test_separable_data_are_explained():
    cells = STRANGE["separable"][0]
    model = LogisticPCA(1, random_state=0).fit(cells)
    np.testing.assert_array_equal(model.reconstruct(cells) > 0.5, cells)
    assert np.abs(model.reconstruct(cells) - cells).max() < 0.05


def test_a_column_never_observed_gets_no_opinion():
    cells = np.insert(X, 5, NAN, axis=1)
    model = LogisticPCA(2, n_init=1, random_state=0).fit(cells)
    np.testing.assert_allclose(model.reconstruct(cells)[:, 5], 0.5)


def test_rounding_is_no_matter_at_the_least_ridge():
    """Weights in place of repeated rows: the same problem, summed in another order; at 1e-6 they differed by 0.01."""
    off = []
    for seed in range(20):
        rng = np.random.default_rng(seed)
        X, weight = rng.integers(0, 2, (3, 5)), rng.integers(1, 4, 3)
        one_round = {"n_components": 2, "ridge": 1e-3, "n_init": 1, "max_iter": 3, "random_state": seed}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            weighted = LogisticPCA(**one_round).fit(X, sample_weight=weight)
            repeated = LogisticPCA(**one_round).fit(np.repeat(X, weight, axis=0))
        off.append(np.abs(weighted.reconstruct(X) - repeated.reconstruct(X)).max())
    assert max(off) < 1e-6


class TestLearnedRidge:
    def test_a_ridge_that_is_given_is_used(self):
        assert LogisticPCA(2, ridge=RIDGE, random_state=0).fit(X).ridge_ == RIDGE

    def test_it_is_the_same_on_threads_and_for_sparse_data(self):
        cells = simulated(200, 150, 2)[0]
        fits = [LogisticPCA(2, n_init=1, random_state=0, n_jobs=n).fit(cells) for n in (1, 3)]
        fits.append(LogisticPCA(2, n_init=1, random_state=0).fit(sp.csr_array(cells)))
        assert len({model.ridge_ for model in fits}) == 1
        for model in fits[1:]:
            np.testing.assert_array_equal(model.components_, fits[0].components_)

    @pytest.mark.parametrize("weight", [None, WEIGHT])
    def test_from_the_vanishing_ridge_on_nothing_is_left(self, weight):
        weight = np.ones(len(X)) if weight is None else weight
        vanishing = vanishing_ridge(BinaryData.of(X), weight)
        largest = [
            LogisticPCA(2, ridge=part * vanishing, n_init=1, tol=1e-12, random_state=0)
            .fit(X, sample_weight=weight)
            .singular_values_[0]
            for part in (0.9, 1.1)
        ]
        assert largest[0] > 0.1
        assert largest[1] < 1e-3

    def test_it_shrinks_what_is_noise_and_spares_what_is_not(self):
        """Of ten small tables each: those of nothing nearly end at the columns' frequencies, others far from there."""
        parts = {"noise": [], "factors": []}
        for seed in range(10):
            for kind, scale in (("noise", 0.0), ("factors", 2.0)):
                cells = simulated(60, 20, 2, seed=seed, scale=scale)[0]
                model = LogisticPCA(2, n_init=1, random_state=seed).fit(cells)
                parts[kind].append(model.ridge_ / vanishing_ridge(BinaryData.of(cells), np.ones(60)))
        assert np.median(parts["noise"]) > 0.5
        assert np.median(parts["factors"]) < 0.3

    def test_held_out_cells_of_small_tables_are_predicted_better_than_with_a_small_ridge(self):
        """Twenty tables of 25 x 12, a tenth of the cells held out: on average by three standard errors."""
        gains = []
        for seed in range(20):
            cells = simulated(25, 12, 2, seed=seed)[0]
            hidden = np.random.default_rng(seed).random(cells.shape) < 0.1
            seen = np.where(hidden, NAN, cells)
            losses = []
            for ridge in (0.1, None):
                p = LogisticPCA(3, ridge=ridge, n_init=1, random_state=0).fit(seen).reconstruct(seen)
                p = np.clip(p, 1e-3, 1 - 1e-3)[hidden]
                losses.append(-np.log(np.where(cells[hidden] == 1, p, 1 - p)).mean())
            gains.append(losses[0] - losses[1])
        assert np.mean(gains) > 3 * np.std(gains, ddof=1) / 20**0.5


class TestDevianceShares:
    def test_shares_add_up_to_what_the_fit_explains(self):
        X = simulate.binary_ica(300, 10, 2, 1, random_state=0).X
        two = LogisticPCA(2, random_state=0).fit(X)
        shares = two.deviance_shares(X)
        p = X.mean(axis=0)
        null = -2 * np.sum(X * np.log(p) + (1 - X) * np.log1p(-p))
        fitted = two.reconstruct(X)
        whole = -2 * np.sum(np.where(X == 1, np.log(fitted), np.log1p(-fitted)))
        assert shares.sum() == pytest.approx(1 - whole / null, abs=0.01)  # intercepts are adapted without penalty
        assert (shares > 0.1).all()

    def test_missing_cells_are_left_out_and_nothing_explains_nothing(self):
        rng = np.random.default_rng(0)
        X = rng.integers(0, 2, (60, 5)).astype(float)
        X[rng.random(X.shape) < 0.2] = np.nan
        shares = LogisticPCA(1, ridge=500.0, random_state=0).fit(X).deviance_shares(X)
        assert shares[0] == pytest.approx(0, abs=1e-6)
