"""A fitted model and its rows as one object: solved once, and never out of date."""

import copy
import functools
import gc
import pickle
import threading
import warnings

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array
from sklearn.exceptions import ConvergenceWarning

from latentbits import PLSA, AspectBernoulli, BernoulliMixture, BetaICA, BinaryData, LogisticPCA, simulate
from latentbits.models import plsa, solved_rows
from latentbits.models.aspect import aspect_bernoulli, beta_ica, statistics
from latentbits.models.aspect.noise_evidence import N_FOLDS

pytestmark = pytest.mark.filterwarnings("ignore:.*no weight on any kept component")

N_INIT = 4
EVIDENCE = 2 * N_FOLDS
"""Fits that judge, once, whether noise is noise: with and without it, for each part of the cells."""


@pytest.fixture(scope="module")
def X():
    return simulate.aspect_bernoulli(60, 20, 3, white_phantom=True, random_state=0).X


@pytest.fixture
def solves(monkeypatch):
    """The sizes of all solves of rows that aspect models make."""
    made = []
    for module, name in (
        (aspect_bernoulli, "solve_weights"),
        (beta_ica, "solve_weights"),
        (beta_ica, "solve_mean_weights"),
    ):
        solver = getattr(module, name)

        def counted(data, *args, solver=solver, **kwargs):
            made.append(data.shape[0])
            return solver(data, *args, **kwargs)

        monkeypatch.setattr(module, name, functools.wraps(solver)(counted))
    return made


@pytest.fixture(params=[AspectBernoulli, BetaICA, functools.partial(BetaICA, inference="em")], ids=["ab", "vb", "em"])
def make(request):
    return functools.partial(request.param, 3, n_init=N_INIT, random_state=0)


def ask_everything(model, X):
    model.transform(X), model.reconstruct(X), model.denoise(X), model.aic(X), model.bic(X), model.log_likelihood(X)
    model.suspicion(X), model.suspicion(X, kind="presence"), model.suspects(X), model.suspects(X, ratings=[1, 0.5, 0.5])
    model.explain(X, row=0)


class TestSolvedOnce:
    def test_all_answers_about_the_training_rows(self, make, X, solves):
        model = make().fit(X)
        assert solves == [60], "fit solves for the rows once"
        ask_everything(model, X)
        assert sum(n == 60 for n in solves) <= N_INIT + 1 + EVIDENCE
        assert solves.count(1) == 1, "explain solves for the row asked for"
        before = list(solves)
        ask_everything(model, X.copy())
        assert [n for n in solves if n > 1] == [n for n in before if n > 1], "the same rows, in any form, are known"

    def test_report(self, make, X, solves, tmp_path):
        model = make().fit(X)
        model.report(X, tmp_path / "report.html")
        model.suspects(X)
        assert len(solves) <= N_INIT + 1 + EVIDENCE

    def test_new_rows_are_solved_for_once_as_well(self, make, X, solves):
        model = make().fit(X)
        solves.clear()
        model.denoise(X[:17]), model.suspects(X[:17]), model.suspects(X[:17], kind="presence")
        assert set(solves) == {17}
        assert len(solves) <= N_INIT + 1 + EVIDENCE


class TestNeverOutOfDate:
    def test_evidence_on_noise_is_that_of_the_parameters(self, make, X, solves):
        model = make().fit(X)
        model.denoise(X)
        before = len(solves)
        model.set_params(n_init=1).denoise(X)
        assert len(solves) == before + EVIDENCE

    def test_a_model_that_is_fitted_again(self, make, X):
        model = make().fit(X)
        ask_everything(model, X)
        fresh = make(random_state=5).fit(1 - X)
        model.set_params(random_state=5).fit(1 - X)
        for rows in (X, 1 - X):
            np.testing.assert_array_equal(model.transform(rows), fresh.transform(rows))
            np.testing.assert_array_equal(model.suspicion(rows), fresh.suspicion(rows))

    def test_an_array_that_is_written_to(self, make, X):
        model, rows = make().fit(X), X.copy()
        model.transform(rows)
        rows[0] ^= 1
        np.testing.assert_array_equal(model.transform(rows), make().fit(X).transform(rows))
        assert np.abs(model.transform(rows)[0] - model.weights_[0]).max() > 1e-3, "the change matters"

    def test_components_that_are_changed_by_hand(self, X):
        model = AspectBernoulli(3, n_init=1, random_state=0).fit(X)
        model.transform(X)
        model._components.H1[:] = model._components.H1[::-1].copy()
        model._components.H0[:] = 1 - model._components.H1
        np.testing.assert_allclose(model.transform(X), model.weights_[:, ::-1], atol=1e-6)

    def test_a_parameter_of_the_solver(self, X):
        model = BetaICA(3, n_init=1, random_state=0).fit(X)
        before = model.transform(X)
        after = model.set_params(gamma=5.0).transform(X)
        assert np.abs(after - before).max() > 0.05
        np.testing.assert_array_equal(model.set_params(gamma=1.0).transform(X), before)

    @pytest.mark.parametrize("kind", [AspectBernoulli, BernoulliMixture, LogisticPCA])
    def test_answers_that_are_written_to(self, kind, X):
        model = kind(3, n_init=1, random_state=0).fit(X)
        known = model.weights_.copy()
        model.transform(X)[:] = 0
        model.weights_[:] = 0
        np.testing.assert_array_equal(model.transform(X), known)


class TestKeeping:
    def test_asking_leaves_no_trace_in_the_model(self, make, X):
        model = make().fit(X)
        before, size = set(vars(model)), len(pickle.dumps(model))
        ask_everything(model, X)
        assert set(vars(model)) == before
        assert len(pickle.dumps(model)) == size

    def test_solutions_are_forgotten_with_the_model(self, X):
        gc.collect()
        n = len(solved_rows._SOLUTIONS)
        model = AspectBernoulli(3, n_init=1, random_state=0).fit(X)
        assert len(solved_rows._SOLUTIONS) == n + 1
        del model
        gc.collect()
        assert len(solved_rows._SOLUTIONS) == n

    def test_no_more_is_kept_than_allowed(self, make, X, monkeypatch):
        expected = make().fit(X).suspicion(X)
        monkeypatch.setattr(solved_rows, "MOST_BYTES", 2 * 60 * 3 * 8)
        model = make().fit(X)
        np.testing.assert_array_equal(model.suspicion(X), expected)
        assert len(solved_rows._SOLUTIONS[id(model)]) <= 2
        monkeypatch.setattr(solved_rows, "MOST_BYTES", 0)
        np.testing.assert_array_equal(make().fit(X).suspicion(X), expected)

    def test_from_several_threads(self, X):
        fitted = AspectBernoulli(3, n_init=1, random_state=0).fit(X)
        expected = [fitted.transform(X[i : i + 20]) for i in range(20)]
        model = copy.deepcopy(fitted)  # which has no solutions yet
        found = {}

        def ask(i):
            found[i] = [model.transform(X[k : k + 20]) for k in range(i % 3, 20)]

        threads = [threading.Thread(target=ask, args=(i,)) for i in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(found) == 6
        for i, answers in found.items():
            for answer, right in zip(answers, expected[i % 3 :], strict=True):
                np.testing.assert_array_equal(answer, right)

    def test_many_questions_about_single_rows_keep_nothing(self, X):
        model = AspectBernoulli(3, n_init=1, random_state=0).fit(X)
        for _ in range(3):
            for i in range(len(X)):
                model.transform(X[i : i + 1])
        assert len(solved_rows._SOLUTIONS[id(model)]) == 1, "that of the fit"

    def test_many_tables_keep_a_bounded_number(self, X, monkeypatch):
        monkeypatch.setattr(solved_rows, "MOST_SOLUTIONS", 5)
        model = AspectBernoulli(3, n_init=1, random_state=0).fit(X)
        for i in range(20):
            model.transform(X[i : i + 20])
        assert len(solved_rows._SOLUTIONS[id(model)]) == 5

    def test_models_are_solved_for_at_the_same_time(self, X, monkeypatch):
        """Each of two threads waits for the other inside its solver: a common lock would make them wait for ever."""
        both = threading.Barrier(2, timeout=30)
        models = [AspectBernoulli(3, n_init=1, random_state=0).fit(X) for _ in range(2)]
        solver = aspect_bernoulli.solve_weights

        def waiting(*args, **kwargs):
            both.wait()
            return solver(*args, **kwargs)

        monkeypatch.setattr(aspect_bernoulli, "solve_weights", waiting)
        threads = [threading.Thread(target=model.transform, args=(1 - X,)) for model in models]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert not both.broken

    def test_a_subclass_that_cannot_be_hashed(self, X):
        kind = type("Equal", (AspectBernoulli,), {"__eq__": lambda self, other: True, "__hash__": None})
        model = kind(3, n_init=1, random_state=0).fit(X)
        np.testing.assert_array_equal(model.transform(X), model.weights_)


class TestCertificate:
    def test_the_largest_gap_is_recorded(self, X):
        for model in (AspectBernoulli(3, n_init=1, random_state=0), LogisticPCA(2, n_init=1, random_state=0)):
            assert 0 <= model.fit(X).weights_gap_ < solved_rows.LARGEST_GAP

    @pytest.mark.parametrize(("kind", "module"), [(AspectBernoulli, statistics), (PLSA, plsa)])
    def test_rows_that_are_not_solved_are_counted_with_what_they_lack(self, kind, module, X, monkeypatch):
        monkeypatch.setattr(module, "MAX_STEPS", 1)
        with pytest.warns(ConvergenceWarning, match="are not solved to the end") as caught:
            model = kind(3, n_init=1, random_state=0, n_jobs=2).fit(X)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            gap = model._solved(X)._solution.gap
        short = np.sum(gap > solved_rows.LARGEST_GAP)
        assert 0 < short <= 60
        assert model.weights_gap_ == gap.max()
        text = f"the weights of {short} of 60 rows are not solved to the end, and up to {gap.max():.1g} of log"
        assert [str(one.message)[: len(text)] for one in caught] == [text], "one warning, whatever the chunks"
        with pytest.warns(ConvergenceWarning, match="are not solved to the end") as again:
            model.transform(X)
        assert again[0].filename == __file__, "the line of the user"

    def test_solved_rows_are_not_warned_of(self, make, X):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            make().fit(X)


class TestTrainingRows:
    def test_one_component_does_not_make_every_table_the_training_rows(self, X):
        model = BernoulliMixture(1, n_init=1, random_state=0).fit(X)
        assert model._solved(X).are_training_rows()
        assert not model._solved(1 - X).are_training_rows()  # all weights are 1, as those of the training rows

    def test_names_of_columns_and_the_form_of_the_data_do_not_matter(self, X):
        frame = pd.DataFrame(X).add_prefix("c")
        model = BernoulliMixture(2, n_init=1, random_state=0).fit(frame)
        assert model._solved(BinaryData.of(X)).are_training_rows()
        assert model._solved(frame).are_training_rows()
        assert model._solved(BinaryData.of(csr_array(X))).are_training_rows()
        assert not model._solved(frame[::-1]).are_training_rows()

    def test_a_model_without_a_checksum_compares_weights(self, X):
        model = BernoulliMixture(2, n_init=1, random_state=0).fit(X)
        model.data_checksum_ = None
        assert model._solved(X).are_training_rows()
        assert not model._solved(X[1:]).are_training_rows()
