"""NMF and FastICA: scikit-learn's own answers come through, and the interface is the library's."""

import inspect
import pickle
import warnings

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn import decomposition
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.utils.estimator_checks import parametrize_with_checks

from latentbits import BinaryData, simulate
from latentbits.metrics import match_components
from latentbits.models import adapted as estimator
from latentbits.models.adapted import NMF, FastICA, _filled

X = simulate.aspect_bernoulli(80, 20, 3, concentration=0.3, sharpness=0.1, random_state=0).X
GAPS = np.where(np.random.default_rng(0).random(X.shape) < 0.1, np.nan, X)
SHARE = np.nanmean(GAPS, axis=0)
FILLED = np.where(np.isnan(GAPS), SHARE, GAPS)

both = pytest.mark.parametrize("kind", [NMF, FastICA])


def quick(kind, **parameters):
    return kind(**{"n_components": 3, "n_init": 2, "random_state": 0, **parameters})


class TestBoth:
    @both
    @pytest.mark.parametrize("data", [X, GAPS], ids=["complete", "gaps"])
    def test_every_form_is_the_same_on_any_number_of_jobs(self, kind, data):
        model = quick(kind).fit(data)
        for form in (sp.csr_array, BinaryData.of, lambda a: pd.DataFrame(a).convert_dtypes()):
            other = quick(kind, n_jobs=2).fit(form(data))
            np.testing.assert_array_equal(model.components_, other.components_)
            np.testing.assert_array_equal(model.weights_, other.weights_)
            pd.testing.assert_frame_equal(model.restarts_, other.restarts_)
            np.testing.assert_array_equal(other.transform(form(data)), model.weights_)

    @both
    def test_missing_cells_count_as_their_columns_share(self, kind):
        model = quick(kind).fit(GAPS)
        np.testing.assert_allclose(model.column_share_, SHARE)
        np.testing.assert_array_equal(_filled(BinaryData.of(GAPS), model.column_share_), FILLED)
        assert np.abs(model.components_ - quick(kind).fit(X).components_).max() > 1e-3, "they aren't read as 0 or 1"

    @both
    def test_rows_are_solved_for_on_their_own(self, kind):
        model = quick(kind).fit(GAPS)
        np.testing.assert_array_equal(model.transform(GAPS), model.weights_)
        np.testing.assert_array_equal(quick(kind).fit_transform(GAPS), model.weights_)
        alone = np.concatenate([model.transform(row[None]) for row in GAPS])
        np.testing.assert_array_equal(alone, model.weights_)
        parts = [model.score_samples(GAPS[rows]) for rows in (slice(0, 1), slice(1, None))]
        np.testing.assert_allclose(np.concatenate(parts), model.score_samples(GAPS), rtol=1e-12)

    @both
    def test_reconstructions_are_clipped_and_scored_inside_the_edge(self, kind):
        model = quick(kind).fit(GAPS)
        P = model.reconstruct(GAPS)
        raw = model._linear(model.weights_)
        assert raw.max() > 1, "there is something to clip"
        np.testing.assert_array_equal(P, np.clip(raw, 0, 1))
        np.testing.assert_allclose(model.inverse_transform(model.weights_), P)
        p = np.clip(raw, 1e-3, 1 - 1e-3)
        of_training = np.log(np.where(X[:2, None] == 1, p, 1 - p)).sum(axis=2)
        np.testing.assert_allclose(model.score_samples(X[:2]), np.log(np.exp(of_training).mean(axis=1)), rtol=1e-9)
        assert model.score(X[:2]) == pytest.approx(model.score_samples(X[:2]).mean())
        observed = ~np.isnan(GAPS)
        total = np.log(np.where(GAPS == 1, p, 1 - p))[observed].sum()
        assert model.log_likelihood(GAPS) == pytest.approx(total, rel=1e-10)

    @both
    def test_what_needs_a_distribution_is_not_there(self, kind):
        model = quick(kind).fit(X)
        for name in ("sample", "aic", "bic"):
            assert not hasattr(model, name)
            with pytest.raises(AttributeError, match=rf"{kind.__name__} has no {name}.*held-out"):
                getattr(model, name)

    @both
    def test_rows_have_no_weights(self, kind):
        for method in (kind.fit, kind.fit_transform):
            assert "sample_weight" not in inspect.signature(method).parameters

    @both
    def test_the_best_restart_is_kept(self, kind):
        model = quick(kind, n_init=6).fit(X)
        best = model.restarts_.loc[model.restarts_["objective"].idxmax()]
        assert model.objective_ == best["objective"] == model.objective_history_[-1]
        assert model.n_iter_ == best["n_iter"] > 1
        assert model.converged_ == best["converged"]
        assert len(model.restart_components_) == 6
        assert model.restarts_["objective"].nunique() > 1, "the starts matter"
        fewer = quick(kind, n_init=2).fit(X)
        pd.testing.assert_frame_equal(fewer.restarts_, model.restarts_[:2])

    @both
    def test_running_out_is_warned_about_once(self, kind):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            model = quick(kind, max_iter=2, tol=1e-12, n_init=4).fit(X)
        assert [w.category for w in caught] == [ConvergenceWarning]
        assert "max_iter=2" in str(caught[0].message)
        assert not model.converged_

    @both
    def test_pandas_out_and_names(self, kind):
        frame = pd.DataFrame(X).add_prefix("c")
        model = quick(kind).set_output(transform="pandas")
        table = model.fit_transform(frame)
        assert table.columns.tolist() == [f"{kind.__name__.lower()}{k}" for k in range(3)]
        np.testing.assert_array_equal(table, model.weights_)
        np.testing.assert_array_equal(model.transform(frame), model.weights_)

    @both
    def test_pickle_and_refusals(self, kind):
        model = quick(kind).fit(X)
        np.testing.assert_array_equal(pickle.loads(pickle.dumps(model)).reconstruct(X), model.reconstruct(X))
        with pytest.raises(NotFittedError):
            quick(kind).transform(X)
        with pytest.raises(ValueError, match="neither 0 nor 1"):
            quick(kind).fit(X + 0.5)
        with pytest.raises(ValueError, match="n_components=0"):
            quick(kind, n_components=0).fit(X)


class TestNMF:
    def test_it_is_scikit_learns(self):
        model = quick(NMF, n_init=1).fit(GAPS)
        seed = int(np.random.default_rng(int(model.restarts_["seed"][0])).integers(2**31))
        nmf = decomposition.NMF(3, init="random", max_iter=1000, random_state=seed)
        W = nmf.fit_transform(FILLED)
        match = match_components(model.components_, nmf.components_, metric="cosine")
        np.testing.assert_allclose(match.similarity, 1)
        assert model.objective_ == pytest.approx(-(nmf.reconstruction_err_**2), rel=1e-9)
        np.testing.assert_allclose(model.components_.max(axis=1), 1)
        # Our weights are solved for to the end, so the error can only be smaller.
        ours = np.sum((FILLED - model.weights_ @ model.components_) ** 2)
        assert ours <= nmf.reconstruction_err_**2 * (1 + 1e-12)
        np.testing.assert_allclose(model.weights_ @ model.components_, W @ nmf.components_, atol=0.05)

    def test_rows_satisfy_the_optimality_conditions(self):
        model = quick(NMF).fit(GAPS)
        slope = (FILLED - model.weights_ @ model.components_) @ model.components_.T
        assert (model.weights_ >= 0).all()
        assert slope.max() < 1e-9
        np.testing.assert_allclose(model.weights_ * slope, 0, atol=1e-9)

    @pytest.mark.parametrize(
        "data",
        [np.zeros((4, 5)), np.ones((4, 5)), np.eye(3), [[1, 0, 1]], [[1], [0]]],
        ids=["zeros", "ones", "eye", "one row", "one column"],
    )
    def test_degenerate_data_give_finite_answers(self, data):
        model = NMF(6, n_init=2, random_state=0, max_iter=5000).fit(data)
        P = model.reconstruct(data)
        assert np.isfinite(P).all()
        assert np.isfinite(model.weights_).all()
        assert np.isfinite(model.score(data))
        known = ~np.isnan(np.array(data, dtype=float))
        np.testing.assert_allclose(P[known], np.array(data)[known], atol=0.05)


class TestFastICA:
    def test_it_is_scikit_learns(self):
        model = quick(FastICA, n_init=5, tol=1e-10).fit(GAPS)
        ica = decomposition.FastICA(3, whiten="unit-variance", max_iter=1000, tol=1e-10, random_state=0)
        S = ica.fit_transform(FILLED)
        np.testing.assert_allclose(model._linear(model.weights_), ica.inverse_transform(S), atol=1e-10)
        agreement = np.abs(model.weights_.T @ S) / len(S)
        np.testing.assert_allclose(agreement.max(axis=1), 1, rtol=1e-6)
        assert len(set(agreement.argmax(axis=1))) == 3

    def test_a_constant_first_column_does_no_harm(self):
        """scikit-learn's own whitening loses directions there."""
        data = np.column_stack([np.ones(len(X), np.int8), X])
        model, plain = quick(FastICA).fit(data), quick(FastICA).fit(X)
        np.testing.assert_allclose(model.reconstruct(data)[:, 1:], plain.reconstruct(X), atol=1e-6)
        np.testing.assert_array_equal(model.reconstruct(data)[:, 0], 1)

    def test_sources_have_unit_variance_and_components_their_sign_and_order(self):
        model = quick(FastICA).fit(GAPS)
        np.testing.assert_allclose(model.weights_.T @ model.weights_ / len(GAPS), np.eye(3), atol=1e-9)
        np.testing.assert_allclose(model.weights_.mean(axis=0), 0, atol=1e-9)
        H = model.components_
        assert (H[np.arange(3), np.abs(H).argmax(axis=1)] > 0).all()
        assert (np.diff(np.sum(H**2, axis=1)) <= 0).all()
        assert model.similarity_ == "cosine"

    def test_gaussian_reference_value(self):
        z, weight = np.polynomial.hermite_e.hermegauss(100)
        expected = weight @ np.log(np.cosh(z)) / weight.sum()
        assert pytest.approx(expected, abs=1e-6) == estimator.GAUSSIAN_LOG_COSH

    @pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
    @pytest.mark.parametrize(
        ("data", "rank"),
        [
            (np.eye(3), 2),
            (np.repeat([[0, 1, 1], [1, 0, 1]], 4, axis=0), 1),
            ([[1], [0], [1]], 1),
            (X[:4], 3),
            (np.ones((4, 3)), 0),
            ([[1, 0, 1]], 0),
        ],
        ids=["eye", "two kinds", "one column", "four rows", "equal rows", "one row"],
    )
    def test_components_beyond_the_directions_of_the_data_are_0(self, data, rank):
        with pytest.warns(
            UserWarning, match=f"vary in {rank} directions? only; the other {6 - rank} of n_components=6 are"
        ):
            model = FastICA(6, random_state=0).fit(data)
        assert np.flatnonzero(model.components_.any(axis=1)).tolist() == list(range(rank))
        assert np.flatnonzero(model.weights_.any(axis=0)).tolist() == list(range(rank))
        np.testing.assert_allclose(model.reconstruct(data), data, atol=1e-9)
        assert np.isfinite(model.score(data))


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.filterwarnings("ignore:the rows vary in")
@parametrize_with_checks([NMF(2, binarize=0.5, n_init=2), FastICA(2, binarize=0.5)])
def test_scikit_learn_checks(estimator, check):
    check(estimator)
