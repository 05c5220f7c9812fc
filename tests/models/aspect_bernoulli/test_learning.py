"""AspectBernoulli: the learner, likelihoods, parameters, and Ctrl-C."""

import signal
import threading
import time
import warnings

import numpy as np
import pytest
from scipy.special import xlogy
from sklearn.exceptions import ConvergenceWarning

from latentbits import AspectBernoulli, BinaryData, DataError, simulate
from latentbits.fitting.workers import Workers
from latentbits.models.aspect.maximum_likelihood import MaximumLikelihood, State
from tests.models.aspect_bernoulli.tools import NAN, X
from tests.reference import aspect

MEAN = np.nanmean(X, axis=0)


class TestLearner:
    def learner(self, weight, smoothing=0.0):
        return MaximumLikelihood(BinaryData.of(X[:20]), weight, 3, Workers(), smoothing=smoothing)

    @pytest.mark.parametrize("smoothing", [0.0, 1.5])
    def test_step_equals_twin(self, smoothing):
        rng = np.random.default_rng(0)
        weight = rng.choice([0.0, 1.0, 2.5], 20)
        state = State(rng.dirichlet(np.ones(3), 20), rng.uniform(0.01, 0.99, (3, 20)))
        new, objective = self.learner(weight, smoothing).step(state)
        W, H, expected = aspect.em_step(X[:20], *state, weight, smoothing)
        np.testing.assert_allclose(new.W, W, atol=1e-6)
        np.testing.assert_allclose(new.H, H, atol=1e-6)
        assert objective == pytest.approx(expected, rel=1e-6)

    def test_starts_depend_on_the_seed_alone_and_are_inside_the_bounds(self):
        learner = self.learner(np.ones(20))
        a, b, c = (learner.initialise(np.random.default_rng(seed)) for seed in (0, 0, 1))
        np.testing.assert_array_equal(a.H, b.H)
        assert (a.H != c.H).all()
        assert ((a.H > 0) & (a.H < 1)).all()
        np.testing.assert_allclose(a.W, 1 / 3)

    def test_projection_leads_back_and_leaves_what_is_allowed(self):
        learner = self.learner(np.ones(20))
        outside = State(np.tile([[1.4, -0.4, 0.0], [0.2, 0.3, 0.5]], (10, 1)), np.array([[-0.2, 0.4, 1.7]] * 3))
        out = learner.extrapolate([outside] * 3, 1.0)
        np.testing.assert_allclose(out.W.sum(axis=1), 1)
        assert (out.W > 0).all()
        np.testing.assert_allclose(out.W[1], [0.2, 0.3, 0.5])
        np.testing.assert_allclose(out.H, [[0, 0.4, 1]] * 3, atol=1e-9)
        assert ((out.H > 0) & (out.H < 1)).all()


class TestSmoothing:
    def test_one_component_is_the_columns_whatever_it_is(self):
        for smoothing in (0.0, 5.0):
            model = AspectBernoulli(1, smoothing=smoothing, n_init=1, random_state=0).fit(X)
            np.testing.assert_allclose(model.components_[0], MEAN, atol=1e-6)

    def test_it_ends_at_the_frequencies_of_the_columns(self):
        apart = [
            np.abs(AspectBernoulli(3, smoothing=s, n_init=1, random_state=0).fit(X).components_ - MEAN).max()
            for s in (0.0, 5.0, 1e6)
        ]
        assert apart[0] > apart[1] > 0.01
        assert apart[2] < 1e-3

    def test_noise_components_are_not_smoothed(self):
        model = AspectBernoulli(2, noise="white", smoothing=50.0, n_init=1, random_state=0).fit(X)
        np.testing.assert_array_equal(model.components_[model.phantoms_ == "white"], 0.001)

    def test_held_out_cells_of_a_small_table_are_predicted_better(self):
        """Twenty tables of 25 x 12, a tenth of the cells held out: better on average, by 3 standard errors."""
        gains = []
        for seed in range(20):
            truth = simulate.aspect_bernoulli(25, 12, 3, sharpness=0.3, random_state=seed).X
            held_out = np.random.default_rng(seed).random(truth.shape) < 0.1
            seen = np.where(held_out, np.nan, truth)
            losses = []
            for smoothing in (0.0, 1.0):
                model = AspectBernoulli(3, smoothing=smoothing, n_init=2, random_state=0).fit(seen)
                p = np.clip(model.reconstruct(seen), 1e-3, 1 - 1e-3)[held_out]
                losses.append(-np.log(np.where(truth[held_out] == 1, p, 1 - p)).mean())
            gains.append(losses[0] - losses[1])
        assert np.mean(gains) > 3 * np.std(gains, ddof=1) / 20**0.5


class TestLikelihood:
    def test_equals_enumeration_of_all_causes(self):
        tiny = np.array([[1, 0, 1, 1], [0, 0, 1, NAN], [1, 1, 0, 0], [0, 1, 1, 1], [0, 0, 0, 1]])
        model = AspectBernoulli(2, smoothing=0, n_init=2, random_state=0).fit(tiny)
        enumerated = [
            aspect.log_likelihood_by_enumeration(x, w, model.components_)
            for x, w in zip(tiny, model.weights_, strict=True)
        ]
        assert model.log_likelihood(tiny) == pytest.approx(sum(enumerated), abs=1e-5)
        assert model.objective_ == pytest.approx(sum(enumerated), abs=1e-3)

    @pytest.mark.parametrize("smoothing", [0, 1.5])
    def test_is_that_of_the_fit_or_a_little_higher(self, smoothing):
        model = AspectBernoulli(3, smoothing=smoothing, n_init=3, random_state=0).fit(X)
        apart = xlogy(MEAN, MEAN / model.components_) + xlogy(1 - MEAN, (1 - MEAN) / (1 - model.components_))
        rise = model.log_likelihood(X) - smoothing * apart.sum() - model.objective_
        assert -1e-3 < rise < 1

    def test_transform_maximises_each_row(self, model):
        H = model.components_
        for x, w in zip(X[:20], model.weights_, strict=False):
            best = aspect.row_log_likelihood(x, aspect.fold_in(x, H, 1 - H), H, 1 - H)
            assert aspect.row_log_likelihood(x, w, H, 1 - H) >= best - 1e-5

    def test_aic_and_bic_count_weights_and_components(self, model):
        fit, n = -2 * model.log_likelihood(X), 20 * 3 + 2 * 300
        assert model.aic(X) == pytest.approx(2 * n + fit)
        assert model.bic(X) == pytest.approx(np.log(np.sum(~np.isnan(X))) * n + fit)
        assert model.aic(X[:50]) == pytest.approx(2 * (60 + 100) - 2 * model.log_likelihood(X[:50]))

    def test_rows_like_the_training_rows_score_higher(self, model):
        strange = np.where(np.isnan(X), NAN, 1 - X)
        assert model.score(X) > model.score(strange) + 1
        assert model.score(X) == pytest.approx(model.score_samples(X).mean())

    def test_score_asks_the_training_rows_not_the_best_weights(self, model):
        assert model.score(X) * len(X) < model.log_likelihood(X) - 10


class TestParameters:
    @pytest.mark.parametrize(
        ("parameters", "message"),
        [
            ({"n_components": 0}, "n_components=0 must be a whole number of at least 1"),
            ({"n_components": 2.0}, "n_components=2.0 must be a whole number of at least 1"),
            ({"n_components": None}, "n_components=None must be"),
            ({"n_components": True}, "n_components=True must be"),
            ({"n_init": 0}, "n_init=0 must be"),
            ({"max_iter": 0}, "max_iter=0 must be"),
            ({"tol": -1e-3}, "tol=-0.001 must be"),
            ({"tol": NAN}, "tol=nan must be"),
            ({"tol": None}, "tol=None must be"),
            ({"tol": "small"}, "tol='small' must be"),
            ({"phantom_threshold": 1.0}, "phantom_threshold=1.0 must be"),
            ({"phantom_threshold": -0.1}, "phantom_threshold=-0.1 must be"),
            ({"phantom_threshold": None}, "phantom_threshold=None must be"),
            ({"binarize": "half"}, "binarize='half' is not a finite number"),
            ({"random_state": "seed"}, "random_state is 'seed'"),
            ({"n_jobs": 0}, "n_jobs"),
        ],
    )
    def test_one_sentence_for_each_mistake(self, parameters, message):
        with pytest.raises(ValueError, match=message) as error:
            AspectBernoulli(**{"n_components": 2, "n_init": 1, **parameters}).fit(X)
        assert "\n" not in str(error.value)

    def test_other_values_are_refused_unless_binarised(self):
        counts = np.where(X == 1, 3, 0)
        with pytest.raises(DataError, match=r"value 3 is neither 0 nor 1.*use binarize=1"):
            AspectBernoulli(2).fit(counts)
        same = AspectBernoulli(2, n_init=1, random_state=0).fit(counts > 0)
        found = AspectBernoulli(2, n_init=1, random_state=0, binarize=1).fit(counts)
        np.testing.assert_array_equal(found.components_, same.components_)

    def test_converging_gives_no_warning_and_running_out_does(self):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            assert AspectBernoulli(2, n_init=1, random_state=0).fit(X).converged_
        with pytest.warns(ConvergenceWarning, match=r"all max_iter=3 passes without converging"):
            assert not AspectBernoulli(2, n_init=1, max_iter=3, random_state=0).fit(X).converged_

    def test_a_progress_bar_only_when_verbose(self, capfd):
        AspectBernoulli(2, n_init=2, random_state=0).fit(X)
        assert capfd.readouterr() == ("", "")
        AspectBernoulli(2, n_init=2, random_state=0, verbose=1).fit(X)
        out, err = capfd.readouterr()
        assert out == ""
        assert "2 of 2" in err


def test_ctrl_c_leaves_a_fitted_model_and_true_warnings():
    model = AspectBernoulli(10, n_init=4, max_iter=10_000, tol=0, random_state=0)
    data = np.random.default_rng(0).integers(0, 2, (500, 100), dtype=np.int8)
    timer = threading.Timer(0.3, signal.pthread_kill, (threading.main_thread().ident, signal.SIGINT))
    timer.start()
    start = time.monotonic()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model.fit(data)
    timer.join()
    assert time.monotonic() - start < 30
    messages = [str(w.message) for w in caught]
    assert any(message.startswith("interrupted") for message in messages)
    assert not any("made all max_iter" in message for message in messages), "it did not make them all"
    assert not model.converged_
    assert np.isfinite(model.transform(data)).all()
