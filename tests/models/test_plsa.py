"""PLSA: fast equals the twin, optima are certified from outside, and scikit-learn's NMF agrees."""

import warnings

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from scipy.optimize import minimize
from sklearn.decomposition import NMF
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.estimator_checks import parametrize_with_checks

from latentbits import BinaryData
from latentbits.fitting.climb import Monitor, climb
from latentbits.fitting.workers import Workers
from latentbits.metrics import match_components
from latentbits.models import plsa as mathematics
from latentbits.models.plsa import PLSA, PoissonEM, State, solve_rows
from tests.reference import plsa
from tests.reference.assertions import assert_nondecreasing


def simulated(n_rows=60, n_columns=24, seed=0):
    """Rows that throw 3 to 12 ones by a mixture of 3 components on blocks of columns: X, proportions, components."""
    rng = np.random.default_rng(seed)
    H = np.repeat(np.eye(3), n_columns // 3, axis=1) * rng.uniform(0.5, 1.5, (3, n_columns)) + 0.01
    H /= H.sum(axis=1, keepdims=True)
    S = rng.dirichlet(np.full(3, 0.2), n_rows)
    X = np.zeros((n_rows, n_columns), np.int8)
    for i, p in enumerate(S @ H):
        X[i, rng.choice(n_columns, rng.integers(3, 13), p=p)] = 1
    return X, S, H


def with_gaps(X, share=0.15):
    X = X.astype(float)
    X[np.random.default_rng(9).random(X.shape) < share] = np.nan
    return X


X, PROPORTIONS, COMPONENTS = simulated()
GAPS = with_gaps(X)


def quick(**parameters):
    return PLSA(**{"n_components": 3, "smoothing": 0, "n_init": 3, "random_state": 0, **parameters})


def learner(data, weight=None, K=3):
    return PoissonEM(BinaryData.of(data), np.ones(len(data)) if weight is None else weight, K, Workers(1))


class TestLearner:
    @pytest.mark.parametrize("data", [X, GAPS], ids=["complete", "gaps"])
    def test_steps_equal_the_twin(self, data):
        weight = np.random.default_rng(1).uniform(0.5, 2, len(data))
        em = learner(data, weight)
        state = em.initialise(np.random.default_rng(0))
        for _ in range(4):
            expected = plsa.em_step(data, state.W, state.H, weight)
            new, objective = em.step(state)
            assert objective == pytest.approx(plsa.objective(data, state.W, state.H, weight), rel=1e-12)
            for found, twin in zip(new, expected, strict=True):
                np.testing.assert_allclose(found, twin, rtol=1e-6, atol=1e-8)  # H is kept 1e-10 above 0
            state = new
        assert np.abs(state.H - em.initialise(np.random.default_rng(0)).H).max() > 0.01, "it moved"

    @pytest.mark.parametrize("missing", [0.0, 0.15, 0.7])
    def test_plain_steps_never_fall(self, missing):
        em = learner(with_gaps(X, missing))
        monitor = Monitor(tol=0, max_iter=60)
        climb(em, em.initialise(np.random.default_rng(3)), monitor, accelerate=False)
        assert_nondecreasing(monitor.history, slack=1e-7)
        assert monitor.history[-1] > monitor.history[0] + 10

    @pytest.mark.parametrize("data", [X, GAPS], ids=["complete", "gaps"])
    def test_at_the_end_the_gradient_vanishes_inside_and_points_out_at_the_edges(self, data):
        em = learner(data)
        (W, H), _ = climb(em, em.initialise(np.random.default_rng(0)), Monitor(tol=0, max_iter=3000))
        observed = ~np.isnan(data.astype(float))
        slope = np.where(observed, (data == 1) / (W @ H) - 1, 0)
        for values, gradient in ((W, slope @ H.T), (H, W.T @ slope)):
            scale = np.abs(gradient).max() + values.max()
            assert np.abs(values * gradient).max() < 1e-4 * scale, "complementary"
            assert gradient.max() < 1e-2, "nothing to gain by growing"

    def test_the_gradient_used_here_is_one(self):
        rng = np.random.default_rng(5)
        W, H = rng.random((4, 2)), rng.random((2, 6))
        data = GAPS[:4, :6]
        slope = np.where(np.isnan(data), 0, (data == 1) / (W @ H) - 1)
        eps = 1e-6
        for k in range(2):
            up, down = H.copy(), H.copy()
            up[k, 3] += eps
            down[k, 3] -= eps
            ones = np.ones(4)
            numeric = (plsa.objective(data, W, up, ones) - plsa.objective(data, W, down, ones)) / (2 * eps)
            assert (W.T @ slope)[k, 3] == pytest.approx(numeric, rel=1e-5, abs=1e-7)

    def test_chunks_and_threads_do_not_matter(self, monkeypatch):
        state = learner(X).initialise(np.random.default_rng(0))
        whole = learner(X)._pass(*state)
        monkeypatch.setattr(mathematics, "CHUNK_WORK", 100)
        answers = []
        for n in (1, 3):
            with Workers(n) as workers:
                em = PoissonEM(BinaryData.of(X), np.ones(len(X)), 3, workers)
                assert len(em.ones.chunks(3)) > 5
                answers.append(em._pass(*state))
        for one, three, all_at_once in zip(*answers, whole, strict=True):
            np.testing.assert_array_equal(one, three)
            np.testing.assert_allclose(one, all_at_once, rtol=1e-12)

    @pytest.mark.parametrize("data", [X, GAPS], ids=["complete", "gaps"])
    def test_project_expects_the_ones_that_are_there(self, data):
        em = learner(data)
        start = em.initialise(np.random.default_rng(0))
        W, H = em.project(State(start.W - 1.0, start.H - 0.02))
        assert (W > 0).all()
        assert (H > 0).all()
        np.testing.assert_allclose(H.sum(axis=1), 1)
        expected = np.where(np.isnan(data.astype(float)), 0, W @ H).sum(axis=1)
        np.testing.assert_allclose(expected, np.nansum(data, axis=1))


class TestRows:
    @pytest.mark.parametrize("data", [X, GAPS], ids=["complete", "gaps"])
    def test_rows_satisfy_the_optimality_conditions(self, data):
        H = 0.9 * COMPONENTS + 0.1 / COMPONENTS.shape[1]
        W = solve_rows(BinaryData.of(data), H, np.ones(3), workers=Workers(1)).coordinates
        b = (~np.isnan(data.astype(float))).astype(float) @ H.T
        ratio = np.divide(data == 1, W @ H) @ H.T / b
        assert (W >= 0).all()
        assert ratio.max() <= 1 + 1e-9
        np.testing.assert_allclose(W * ratio, W, atol=1e-7)
        np.testing.assert_allclose((W * b).sum(axis=1), np.nansum(data, axis=1))

    def test_rows_equal_a_general_solver(self):
        H = 0.7 * COMPONENTS + 0.3 / COMPONENTS.shape[1]
        W = solve_rows(BinaryData.of(GAPS[:12]), H, np.ones(3), workers=Workers(1)).coordinates
        for x, w in zip(GAPS[:12], W, strict=True):
            twin = plsa.fold_in(x, H)
            one = np.ones(1)
            assert plsa.objective([x], [w], H, one) >= plsa.objective([x], [twin], H, one) - 1e-9
            np.testing.assert_allclose(w, twin, atol=2e-3)

    def test_rows_do_not_know_their_partners(self, monkeypatch):
        data = np.vstack([X[:20].astype(float), GAPS[:20]])
        together = solve_rows(BinaryData.of(data), COMPONENTS, np.ones(3), workers=Workers(1)).coordinates
        alone = [
            solve_rows(BinaryData.of(row[None]), COMPONENTS, np.ones(3), workers=Workers(1)).coordinates[0]
            for row in data
        ]
        np.testing.assert_array_equal(together, alone)
        monkeypatch.setattr(mathematics, "BLOCK_ROWS", 7)
        with Workers(3) as workers:
            blocks = solve_rows(BinaryData.of(sp.csr_array(data)), COMPONENTS, np.ones(3), workers=workers).coordinates
        np.testing.assert_array_equal(together, blocks)


class TestScikitLearn:
    def test_same_start_same_optimum_as_nmf(self):
        """F is minus the generalised Kullback-Leibler divergence, and a constant."""
        data = simulated(40, 12, seed=3)[0]
        em = learner(data)
        start = em.initialise(np.random.default_rng(1))
        (W, H), objective = climb(em, start, Monitor(tol=0, max_iter=9000))
        nmf = NMF(3, init="custom", beta_loss="kullback-leibler", solver="mu", max_iter=20_000, tol=1e-12)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            W2 = nmf.fit_transform(data.astype(float), W=start.W.copy(), H=start.H.copy())
        P = W2 @ nmf.components_
        theirs = np.sum(np.log(P[data == 1])) - P.sum()
        assert objective == pytest.approx(theirs, rel=1e-6)
        np.testing.assert_allclose(W @ H, P, atol=2e-3)
        scale = nmf.components_.sum(axis=1)
        np.testing.assert_allclose(H, nmf.components_ / scale[:, None], atol=2e-3)
        np.testing.assert_allclose(W.sum(axis=1), data.sum(axis=1))


class TestEstimator:
    def test_simulated_truth_comes_back(self):
        data, S, H = simulated(1500, 60, seed=2)
        model = quick(n_init=5).fit(data)
        match = match_components(H, model.components_, metric="cosine")
        assert match.similarity.min() > 0.98
        # A row has at most 12 ones: its proportions are no better known than with the true components.
        known = (
            solve_rows(BinaryData.of(data), H, np.ones(3), workers=Workers(1)).coordinates / data.sum(axis=1)[:, None]
        )
        error = np.abs(model.weights_[:, match.order] - S).mean()
        assert error < np.abs(known - S).mean() + 0.005
        assert error < 0.5 * np.abs(S.mean(axis=0) - S).mean(), "the rows differ"

    @pytest.mark.parametrize("data", [X, GAPS], ids=["complete", "gaps"])
    def test_every_form_is_the_same(self, data):
        model = quick().fit(data)
        for form in (sp.csr_array, sp.csc_array, BinaryData.of, lambda a: pd.DataFrame(a).convert_dtypes()):
            other = quick(n_jobs=2).fit(form(data))
            for name in ("components_", "weights_", "row_intensity_", "objective_history_"):
                np.testing.assert_array_equal(getattr(model, name), getattr(other, name), err_msg=name)
            np.testing.assert_array_equal(model.transform(form(data)), model.weights_)
            np.testing.assert_allclose(model.score_samples(form(data)), model.score_samples(data), rtol=1e-12)

    def test_objective_never_falls(self):
        for history in quick(n_init=5).fit(GAPS).restart_histories_:
            assert_nondecreasing(history, slack=1e-6)
            assert history[-1] > history[0] + 10

    def test_weights_equal_repeated_rows(self):
        weight = np.random.default_rng(1).integers(0, 4, len(X))
        weighted = quick(tol=1e-8).fit(GAPS, sample_weight=weight)
        repeated = quick(tol=1e-8).fit(np.repeat(GAPS, weight, axis=0))
        assert weighted.objective_ == pytest.approx(repeated.objective_, rel=1e-6)
        np.testing.assert_allclose(weighted.components_, repeated.components_, atol=1e-3)
        assert weighted.score(GAPS) == pytest.approx(repeated.score(GAPS), rel=1e-4)
        assert np.abs(weighted.components_ - quick().fit(GAPS).components_).max() > 0.01, "the weights matter"

    def test_scores_and_cells_equal_the_twin(self):
        model = quick().fit(GAPS, sample_weight=np.random.default_rng(2).uniform(0.5, 2, len(GAPS)))
        new = with_gaps(simulated(5, 24, seed=8)[0])
        expected = plsa.empirical_bayes(new, model.weights_, model.row_intensity_, model.components_, model.row_weight_)
        np.testing.assert_allclose(model.score_samples(new), expected, rtol=1e-9)
        probabilities = model.reconstruct(GAPS)
        for i, j in ((0, 0), (3, 7), (11, 23)):
            twin = plsa.chance_of_one(model.weights_[i], model.row_intensity_[i], model.components_, j)
            assert probabilities[i, j] == pytest.approx(twin, rel=1e-10)
        observed = ~np.isnan(GAPS)
        p = np.clip(probabilities, 1e-300, 1 - 1e-16)
        total = np.log(np.where(GAPS == 1, p, 1 - p))[observed].sum()
        assert model.log_likelihood(GAPS) == pytest.approx(total, rel=1e-9)
        n_parameters = 3 * (24 - 1) + len(GAPS) * 3  # two proportions and the intensity of each row
        assert model.aic(GAPS) == pytest.approx(2 * n_parameters - 2 * total, rel=1e-9)

    def test_proportions_are_rows_of_the_simplex_and_intensities_the_numbers_of_ones(self):
        model = quick().fit(X)
        np.testing.assert_allclose(model.weights_.sum(axis=1), 1)
        np.testing.assert_allclose(model.components_.sum(axis=1), 1)
        np.testing.assert_allclose(model.row_intensity_, X.sum(axis=1))
        share = model.row_intensity_ @ model.weights_
        assert (np.diff(share) <= 0.02 * share.sum()).all(), "in the order of their share of the ones"

    def test_missing_cells_are_expected_to_hold_ones(self):
        complete, gaps = quick().fit(X), quick().fit(GAPS)
        seen = np.nansum(GAPS, axis=1)
        assert (gaps.row_intensity_ >= seen - 1e-9).all()
        error = np.abs(gaps.row_intensity_ - complete.row_intensity_).mean()
        assert error < np.abs(seen - complete.row_intensity_).mean()

    def test_inverse_transform_takes_the_average_number_of_ones(self):
        model = quick().fit(X)
        found = model.inverse_transform(model.weights_)
        p = model.weights_ @ model.components_
        np.testing.assert_allclose(found, 1 - (1 - p) ** X.sum(axis=1).mean(), atol=1e-12)

    def test_samples_have_as_many_ones_as_the_data_within_sampling_error(self):
        model = quick().fit(X)
        draws = model.sample(4000, random_state=0)
        probabilities = model.reconstruct(X)
        spread = np.sqrt(probabilities.mean() * (1 - probabilities.mean()) / draws.size)
        assert abs(draws.mean() - probabilities.mean()) < 10 * spread  # cells of a row go together
        np.testing.assert_array_equal(draws, model.sample(4000, random_state=0))

    def test_pandas_out(self):
        frame = pd.DataFrame(X, index=[f"r{i}" for i in range(len(X))]).add_prefix("c")
        model = quick().set_output(transform="pandas")
        for table in (model.fit_transform(frame), model.transform(frame)):
            assert table.columns.tolist() == ["plsa0", "plsa1", "plsa2"]
            np.testing.assert_array_equal(table, model.weights_)
        assert isinstance(model.reconstruct(frame), np.ndarray)

    def test_chunked_equals_whole(self):
        model = quick().fit(GAPS)
        for method in (model.transform, model.score_samples, model.reconstruct):
            parts = [method(GAPS[rows]) for rows in (slice(0, 1), slice(1, 37), slice(37, None))]
            np.testing.assert_allclose(np.concatenate(parts), method(GAPS), rtol=1e-12)

    @pytest.mark.parametrize(
        "data",
        [
            np.zeros((4, 5)),
            np.ones((4, 5)),
            np.eye(3),
            np.array([[1, 0, 1]]),
            np.array([[1], [0], [1]]),
            np.array([[1, np.nan, 0], [np.nan, np.nan, np.nan], [0, np.nan, 0], [1, np.nan, 1]]),
        ],
        ids=["zeros", "ones", "eye", "one row", "one column", "gaps"],
    )
    @pytest.mark.parametrize("smoothing", [0, 0.3])
    def test_degenerate_data_give_finite_answers(self, data, smoothing):
        model = PLSA(6, smoothing=smoothing, n_init=2, random_state=0).fit(data)
        new = np.array([[1, 0, 1, 0, 1], [0] * 5, [np.nan] * 5, [1, np.nan, np.nan, np.nan, np.nan]])[
            :, : data.shape[1]
        ]
        for rows in (data, new):
            W, P = model.transform(rows), model.reconstruct(rows)
            assert np.isfinite(P).all()
            assert ((P >= 0) & (P <= 1)).all()
            np.testing.assert_allclose(W.sum(axis=1), 1)
            assert np.isfinite(model.score_samples(rows)).all()
            assert np.isfinite(model.aic(rows))
        assert np.isfinite(model.objective_history_).all()
        assert set(np.unique(model.sample(10, random_state=0))) <= {0, 1}
        np.testing.assert_array_equal(model.transform(data), model.weights_)

    def test_rows_without_ones_get_the_average_and_expect_none(self):
        data = X.copy()
        data[0] = 0
        model = quick().fit(data)
        average = model.row_intensity_ @ model.weights_
        np.testing.assert_allclose(model.weights_[0], average / average.sum(), atol=1e-2)
        np.testing.assert_array_equal(model.reconstruct(data)[0], 0)
        blank = model.reconstruct(np.full((1, 24), np.nan))
        assert blank.mean() == pytest.approx(X.mean(), rel=0.3)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@parametrize_with_checks([PLSA(2, binarize=0.5, n_init=2)])
def test_scikit_learn_checks(estimator, check):
    check(estimator)


class TestPseudoCounts:
    def test_weights_of_rows_are_the_optimum(self):
        """By scipy, of the objective with pseudo-counts; gaps, an empty row and one that isn't observed among them."""
        count, average = 0.3, np.array([2.0, 1.0, 0.5])
        rows = np.vstack([GAPS[:8], np.zeros(GAPS.shape[1]), np.full(GAPS.shape[1], np.nan)])
        found = solve_rows(BinaryData.of(rows), COMPONENTS, average, count, workers=Workers(1))
        assert found.gap.max() < 1e-9

        def fall(z, x):
            w = np.exp(z)
            gained = plsa.objective([x], [w], COMPONENTS, np.ones(1)) + count * np.sum(z - w / average)
            return -gained

        for x, w in zip(rows, found.coordinates, strict=True):
            best = minimize(fall, np.log(average), args=(x,), tol=1e-10)
            assert fall(np.log(w), x) <= best.fun + 1e-8
        np.testing.assert_allclose(found.coordinates[-1], average)

    @pytest.mark.parametrize("data", [X, GAPS])
    def test_objective_never_falls_and_plain_steps_neither(self, data):
        model = quick(smoothing=0.5).fit(data)
        assert_nondecreasing(model.objective_history_, slack=1e-9 * abs(model.objective_))
        em = PoissonEM(BinaryData.of(data), np.ones(len(data)), 3, Workers(1), 0.5)
        state, trace = em.initialise(np.random.default_rng(0)), []
        for _ in range(40):
            state, objective = em.step(state)
            trace.append(objective)
        assert_nondecreasing(trace, slack=1e-11 * abs(trace[0]))

    def test_weights_equal_repeated_rows(self):
        weight = np.random.default_rng(0).integers(1, 4, len(GAPS))
        weighted = quick(smoothing=0.5, n_init=1, tol=1e-9).fit(GAPS, sample_weight=weight)
        repeated = quick(smoothing=0.5, n_init=1, tol=1e-9).fit(np.repeat(GAPS, weight, axis=0))
        assert weighted.objective_ == pytest.approx(repeated.objective_, rel=1e-6)

    def test_a_row_without_ones_is_taken_to_have_had_some(self):
        empty = [[0] * X.shape[1]]
        assert quick().fit(X).reconstruct(empty).max() == 0
        assert 0 < quick(smoothing=0.3).fit(X).reconstruct(empty).max() < 0.5
