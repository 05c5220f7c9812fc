"""BinaryFactorAnalysis: mistakes get a sentence, odd data an answer, and scikit-learn's checks pass."""

import warnings
from typing import get_args

import numpy as np
import pytest
from scipy.stats import norm
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.estimator_checks import check_estimator

from latentbits.constraints import Choice
from latentbits.errors import DataError
from latentbits.models.binary_factors import Encoder, Inference, Update
from latentbits.models.binary_factors.estimator import BinaryFactorAnalysis
from tests.models.binary_factors.tools import TRUTH, each_inference


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
        "small numbers": 1e-30 * TRUTH.X[:50],
        "large numbers": 1e30 * TRUTH.X[:50],
    }

    @pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
    @pytest.mark.parametrize("X", CASES.values(), ids=CASES.keys())
    @pytest.mark.parametrize(
        "parameters",
        [
            *({"inference": "byy", "encoder": e, "priors": p} for e in get_args(Encoder) for p in (True, False)),
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
            model.intercepts_,
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
        model = BinaryFactorAnalysis(4, inference=inference, noise="columns", n_init=2, random_state=0).fit(X)
        assert model.n_components_ == 0
        assert len(model.discards_) == 4
        assert model.transform(X).shape == (300, 0)
        np.testing.assert_allclose(model.intercepts_, X.mean(axis=0), atol=1e-3)
        sigma = model.noise_precision_**-0.5
        np.testing.assert_allclose(model.score_samples(X), norm.logpdf(X, model.intercepts_, sigma).sum(axis=1))
        np.testing.assert_allclose(sigma, X.std(axis=0), rtol=0.01)
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
            ({"inference": "mcmc"}, f"use {Choice(get_args(Inference))}"),
            ({"encoder": "best"}, f"use {Choice(get_args(Encoder))}"),
            ({"update": "newton"}, f"use {Choice(get_args(Update))}"),
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


@each_inference
def test_scikit_learn_checks(inference):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        results = check_estimator(
            BinaryFactorAnalysis(2, inference=inference, n_init=2, random_state=0), on_skip=None, on_fail=None
        )
    failed = {r["check_name"]: r["exception"] for r in results if r["status"] == "failed"}
    assert not failed


@each_inference
def test_units_of_columns_do_not_matter(inference):
    unit = np.array([1, 1e3, 1e-3, 1, 1, 7, 1, 1, 1, 1])
    plain, other = (
        BinaryFactorAnalysis(3, inference=inference, noise="columns", n_init=2, random_state=0).fit(X)
        for X in (TRUTH.X, TRUTH.X * unit)
    )
    np.testing.assert_allclose(other.mixing_, plain.mixing_ * unit[:, None], rtol=1e-5, atol=1e-7)
    np.testing.assert_allclose(other.noise_precision_, plain.noise_precision_ / unit**2, rtol=1e-5)
    np.testing.assert_array_equal(other.transform(TRUTH.X * unit), plain.transform(TRUTH.X))


def test_columns_of_two_values_keep_a_noise():
    """A factor of its own explains such a column without rest: without a limit its likelihood would be infinite."""
    X = np.column_stack([np.tile([0.0, 1.0], 40), np.random.default_rng(0).normal(size=(80, 2))])
    model = BinaryFactorAnalysis(2, n_init=2, random_state=0).fit(X)
    assert model.noise_precision_[0] <= 12 * (1 + 1e-9)
    assert np.isfinite(model.bic(X))


@pytest.mark.parametrize("unit", [1e-310, 1e-150, 1e-45])
def test_columns_too_small_for_their_squares_are_refused(unit):
    X = TRUTH.X.copy()
    X[:, 2] *= unit
    with pytest.raises(DataError, match=r"column 3 varies by no more than .*smaller unit"):
        BinaryFactorAnalysis(3).fit(X)


def test_numbers_too_large_for_their_squares_are_refused():
    with pytest.raises(DataError, match=r"X\[0, 0\] is -?\d.*e\+\d+, more than 1e\+40; .*larger unit"):
        BinaryFactorAnalysis(3).fit(TRUTH.X * 1e300)


class TestNoiseByDefault:
    """`noise="auto"`: one noise for all columns unless BIC prefers column noise."""

    def test_equal_noise_is_found_equal(self):
        model = BinaryFactorAnalysis(4, n_init=2, random_state=0).fit(TRUTH.X)
        equal = BinaryFactorAnalysis(4, noise="equal", n_init=2, random_state=0).fit(TRUTH.X)
        assert model.noise_ == "equal"
        assert np.ptp(model.noise_precision_) == 0
        np.testing.assert_array_equal(model.mixing_, equal.mixing_)

    @pytest.mark.parametrize("inference", get_args(Inference))
    def test_column_noise_is_found(self, inference):
        X = TRUTH.X * np.geomspace(1, 1e3, 10)
        model = BinaryFactorAnalysis(3, inference=inference, n_init=2, random_state=0).fit(X)
        columns = BinaryFactorAnalysis(3, inference=inference, noise="columns", n_init=2, random_state=0).fit(X)
        assert model.noise_ == "columns"
        np.testing.assert_array_equal(model.mixing_, columns.mixing_)

    def test_the_smaller_bic_is_kept(self):
        for seed in range(6):
            X = np.random.default_rng(seed).standard_normal((30, 4)) * [1, 1, 1, 1 + seed / 4]
            bic = {
                noise: BinaryFactorAnalysis(2, noise=noise, n_init=2, random_state=0).fit(X).bic(X)
                for noise in ("auto", "equal", "columns")
            }
            assert bic["auto"] in (bic["equal"], bic["columns"])
            assert bic["auto"] <= bic["equal"]
