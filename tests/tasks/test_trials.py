import threading
import time
import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.exceptions import ConvergenceWarning

from latentbits import AspectBernoulli, BernoulliMixture, BinaryData, simulate
from latentbits.fitting.held_out import SURE, Folds
from latentbits.fitting.workers import run_all, stopped_by
from latentbits.tasks import trials


@pytest.fixture
def data():
    return BinaryData.of(simulate.aspect_bernoulli(30, 8, 2, missing=0.1, random_state=0).X)


class TestFolds:
    def test_every_row_is_held_out_once(self, data):
        folds = Folds(data, 4, 0)
        tests = np.concatenate([test for _, test in folds.rows()])
        assert sorted(tests) == list(range(30))
        for train, test in folds.rows():
            assert not set(train) & set(test)
            assert len(train) + len(test) == 30

    def test_every_cell_is_held_out_once(self, data):
        folds = Folds(data, 5, 0)
        times = sum(folds.cells(fold).astype(int) for fold in range(5))
        np.testing.assert_array_equal(times, 1)

    def test_the_seed_decides(self, data):
        a, b, c = (Folds(data, 5, seed).cells(0) for seed in (0, 0, 1))
        np.testing.assert_array_equal(a, b)
        assert (a != c).any()

    def test_more_folds_than_rows_are_refused(self, data):
        with pytest.raises(ValueError, match="number of rows, 30"):
            Folds(data, 31, 0).rows()


class TestCellScore:
    def test_it_is_the_mean_log_probability_of_hidden_cells_that_are_known(self):
        data = BinaryData.of([[1, 0, None], [0, 1, 1]])
        hidden = np.array([[True, False, True], [True, False, True]])
        P = np.array([[0.9, 0.1, 0.5], [0.2, 0.5, 0.0]])
        score = trials.CellScore.of(data, hidden, P)
        expected = np.mean([np.log(0.9), np.log(0.8), np.log(SURE)])
        assert score.log_likelihood == pytest.approx(expected)
        assert score.auc == pytest.approx(0.5)  # of the pairs (1, 0): 0.9 > 0.2, but 0 < 0.2

    def test_the_order_counts_also_among_very_small_probabilities(self):
        data = BinaryData.of([[0, 0, 1]])
        P = np.array([[1e-6, 2e-6, 3e-6]])
        assert trials.CellScore.of(data, np.ones((1, 3), dtype=bool), P).auc == 1

    def test_cells_that_are_all_alike_cannot_be_ranked(self):
        data = BinaryData.of([[0, 0], [0, 1]])
        hidden = np.array([[True, True], [False, False]])
        assert trials.CellScore.of(data, hidden, np.full((2, 2), 0.1)).auc == 0.5

    def test_nothing_hidden_is_refused(self):
        data = BinaryData.of([[0, None]])
        with pytest.raises(ValueError, match="no observed cell"):
            trials.CellScore.of(data, np.array([[False, True]]), np.full((1, 2), 0.5))


def test_held_out_rows_are_scored_by_a_model_that_has_not_seen_them(data):
    train, test = np.arange(20), np.arange(20, 30)
    outcome = trials.fit_without_rows(BernoulliMixture(2, random_state=0), data, train, test)
    expected = BernoulliMixture(2, random_state=0).fit(data.rows(train)).score(data.rows(test))
    assert outcome.scores == {"cv": expected}


def test_held_out_cells_do_not_reach_the_model():
    """Their values change the score, but not the probabilities."""
    X = simulate.aspect_bernoulli(30, 8, 2, random_state=0).X
    hidden = np.random.default_rng(0).random(X.shape) < 0.2
    other = np.where(hidden, 1 - X, X)
    a, b = (
        trials.fit_without_cells(BernoulliMixture(2, random_state=0), BinaryData.of(cells), hidden)
        for cells in (X, other)
    )
    P = BernoulliMixture(2, random_state=0).fit(np.where(hidden, np.nan, X)).reconstruct(np.where(hidden, np.nan, X))
    assert a.scores["cells"] == pytest.approx(trials.CellScore.of(BinaryData.of(X), hidden, P).log_likelihood)
    assert a.scores["auc"] == pytest.approx(1 - b.scores["auc"])


def test_sparse_data_hide_their_cells_as_dense_ones_do(data):
    hidden = np.random.default_rng(0).random(data.shape) < 0.3
    X = np.where(data.dense() < 0, np.nan, data.dense())
    sparse = BinaryData.of(sp.csr_array(X)).hide(hidden)
    assert sparse.is_sparse
    np.testing.assert_array_equal(sparse.dense(), data.hide(hidden).dense())
    assert (data.hide(hidden).dense()[hidden] == -1).all()
    with pytest.raises(ValueError, match="shape"):
        data.hide(hidden[:, :3])


class TestRunAll:
    def test_results_come_in_order_on_any_number_of_threads(self):
        jobs = [lambda i=i: (time.sleep(0.01 * (5 - i)), i)[1] for i in range(5)]
        for n_jobs in (1, 3):
            assert run_all(jobs, title="Trying", n_jobs=n_jobs) == list(range(5))

    def test_an_error_comes_through_and_stops_the_rest(self):
        ran = []

        def broken():
            raise ZeroDivisionError("broken")

        def slow():
            time.sleep(0.05)
            ran.append(1)

        with pytest.raises(ZeroDivisionError, match="broken"):
            run_all([broken, *[slow] * 50], title="Trying", n_jobs=1)
        assert len(ran) < 50

    def test_convergence_is_summed_up_once(self):
        X = simulate.aspect_bernoulli(20, 6, 2, random_state=0).X

        def fit():
            return AspectBernoulli(2, n_init=1, max_iter=3, tol=0).fit(X)

        with warnings.catch_warnings():
            warnings.simplefilter("error")
            models = run_all([fit, fit], title="Trying", n_jobs=2)
        with pytest.warns(ConvergenceWarning, match="2 of 2 fits"):
            trials.sum_up_convergence(models)

    def test_a_set_event_ends_fits_early(self):
        event = threading.Event()
        event.set()
        X = simulate.aspect_bernoulli(200, 40, 5, random_state=0).X
        with stopped_by(event), pytest.warns(UserWarning, match="interrupted"):
            model = AspectBernoulli(5, n_init=3, tol=0, random_state=0).fit(X)
        assert len(model.restarts_) == 1
        assert model.n_iter_ < 5


def test_an_estimators_own_seed_is_kept():
    assert trials.prepared(BernoulliMixture(random_state=5), 3).random_state == 5
    assert trials.prepared(BernoulliMixture(), 3).random_state == 3
