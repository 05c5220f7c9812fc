"""Probit factor analysis: samples, rows, answers, and what it finds."""

import signal
import threading
import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.special import ndtr
from sklearn.exceptions import ConvergenceWarning

from latentbits import IndependentBernoulli, ProbitFactors, compare, load_model, save_model, select_order, simulate
from latentbits.models.probit_sampler import align

NAN = np.nan
TRUTH = simulate.probit_factors(120, 25, 2, row_effect=0.5, missing=0.1, random_state=3)
X = TRUTH.X
COMPLETE = simulate.probit_factors(60, 12, 2, random_state=4).X
QUICK = {"n_init": 2, "n_burn": 100, "n_samples": 60, "thin": 5, "random_state": 0}
SHORT = {**QUICK, "n_burn": 20, "n_samples": 30, "thin": 1}

pytestmark = pytest.mark.filterwarnings("ignore:the chains disagree")


@pytest.fixture(scope="module")
def model():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return ProbitFactors(4, **QUICK).fit(X)


def turned_to(components, truth):
    """The turn that brings true components nearest to these."""
    left, _, right = np.linalg.svd(truth @ components.T)
    return left @ right


class TestTruth:
    def test_needless_components_shrink(self, model):
        assert (model.relevance_[:2] > 0.4).all()
        assert (model.relevance_[2:] < model.relevance_[1] / 3).all()
        assert (np.diff(model.relevance_) <= 0).all()

    def test_loadings_weights_biases_and_row_effects_come_back(self, model):
        turn = turned_to(model.components_[:2], TRUTH.components)
        V, U = turn.T @ TRUTH.components, TRUTH.weights @ turn
        assert np.corrcoef(V.ravel(), model.components_[:2].ravel())[0, 1] > 0.9
        assert np.corrcoef(U.ravel(), model.weights_[:, :2].ravel())[0, 1] > 0.8
        assert np.corrcoef(TRUTH.bias, model.intercepts_)[0, 1] > 0.9
        assert np.corrcoef(TRUTH.row_effects, model.row_effects_)[0, 1] > 0.6
        of_columns = np.abs(np.nanmean(X, axis=0) - TRUTH.probabilities).mean()
        assert np.abs(model.reconstruct(X) - TRUTH.probabilities).mean() < 0.5 * of_columns

    def test_intervals_cover_the_truth(self):
        """Scores to the level; loadings and weights nearly, as turning the samples to agree takes some spread away."""
        covered = {"scores": [], "loadings": [], "weights": [], "bias": []}
        for seed in range(6):
            truth = simulate.probit_factors(100, 20, 2, row_effect=0.5, random_state=seed)
            fit = ProbitFactors(2, **{**QUICK, "n_burn": 150, "n_samples": 100}).fit(truth.X)
            turn = turned_to(fit.components_, truth.components)
            theta, W = fit._samples.theta, fit._solved(truth.X).coordinates
            scores = np.einsum("nsq,sdq->snd", W, theta[:, :, 1:]) + theta[:, None, :, 0]
            true_scores = truth.weights @ truth.components + truth.bias + truth.row_effects[:, None]
            for name, (low, high), true in (
                ("scores", np.quantile(scores, [0.05, 0.95], axis=0), true_scores),
                ("loadings", fit.components_interval(0.9), turn.T @ truth.components),
                ("weights", fit.weights_interval(truth.X, 0.9), truth.weights @ turn),
                ("bias", np.quantile(theta[:, :, 0], [0.05, 0.95], axis=0), truth.bias),
            ):
                covered[name].append(np.mean((low <= true) & (true <= high)))
        mean = {name: np.mean(shares) for name, shares in covered.items()}
        assert 0.86 < mean["scores"] < 0.94
        assert 0.83 < mean["bias"] < 0.97  # 120 of them
        assert 0.80 < mean["loadings"] < 0.95
        assert 0.82 < mean["weights"] < 0.95

    def test_row_effects_predict_hidden_cells_of_rows_that_differ_in_fullness(self):
        truth = simulate.probit_factors(150, 40, 1, row_effect=1.0, random_state=0)
        hidden = np.random.default_rng(0).random(truth.X.shape) < 0.15
        seen = np.where(hidden, NAN, truth.X)
        error = {}
        for row_effects in (True, False):
            fit = ProbitFactors(1, row_effects=row_effects, **QUICK).fit(seen)
            error[row_effects] = np.abs(fit.reconstruct(seen) - truth.probabilities)[hidden].mean()
        assert error[True] < 0.8 * error[False]

    def test_a_table_without_row_effects_shows_none(self):
        truth = simulate.probit_factors(200, 40, 1, row_effect=0.0, random_state=0)
        fit = ProbitFactors(2, **QUICK).fit(truth.X)
        assert np.abs(fit.row_effects_).mean() < 0.15
        assert np.abs(fit._samples.theta[:, 0, -1]).min() < 0.03


class TestSamples:
    def test_what_is_kept(self, model):
        samples = model._samples
        assert samples.theta.shape == (120, 25, 6)
        assert samples.theta.dtype == np.float32
        np.testing.assert_array_equal(np.bincount(samples.chain), [60, 60])
        assert (samples.theta[:, :, -1] == samples.theta[:, :1, -1]).all(), "one size of row effects a sample"
        assert model.n_iter_ == 100 + 60 * 5
        assert len(model.objective_history_) == 100 / 20 + 60
        assert model.r_hat_["components"].shape == model.ess_["components"].shape == (4, 25)
        assert model.r_hat_["bias"].shape == (25,)
        np.testing.assert_allclose(model.components_, samples.theta[:, :, 1:5].mean(axis=0).T, atol=1e-5)
        np.testing.assert_allclose(model.intercepts_, samples.theta[:, :, 0].mean(axis=0), atol=1e-5)

    def test_components_are_orthogonal_and_their_largest_loading_is_positive(self, model):
        products = model.components_ @ model.components_.T
        np.testing.assert_allclose(products, np.diag(np.diag(products)), atol=1e-3)
        assert (model.components_.max(axis=1) == np.abs(model.components_).max(axis=1)).all()

    def test_turned_samples_are_turned_back(self):
        rng = np.random.default_rng(0)
        V = np.diag([3.0, 2.0, 1.0]) @ np.linalg.qr(rng.normal(size=(20, 3)))[0].T
        turns = np.linalg.qr(rng.normal(size=(200, 3, 3)))[0]
        samples = turns @ (V + 0.05 * rng.normal(size=(200, 3, 20)))
        found = align(samples, samples[0])
        assert found.std(axis=0).max() < 0.07
        np.testing.assert_allclose(found.mean(axis=0) @ found.mean(axis=0).T, V @ V.T, atol=0.1)
        # Turns change no product of loadings, so no score.
        np.testing.assert_allclose(found.transpose(0, 2, 1) @ found, samples.transpose(0, 2, 1) @ samples, atol=1e-9)

    def test_the_same_seed_gives_the_same_samples_on_any_number_of_jobs(self):
        a, b, c = (ProbitFactors(2, **SHORT, n_jobs=n_jobs).fit(X) for n_jobs in (1, 2, 5))
        for other in (b, c):
            np.testing.assert_array_equal(a._samples.theta, other._samples.theta)
            np.testing.assert_array_equal(a.weights_, other.weights_)
        another = ProbitFactors(2, **{**SHORT, "random_state": 1}).fit(X)
        assert not np.array_equal(a._samples.theta, another._samples.theta)

    @pytest.mark.filterwarnings("default:the chains disagree")
    def test_chains_that_disagree_are_warned_about(self):
        with pytest.warns(ConvergenceWarning, match=r"^the chains disagree \(R-hat is .*; raise n_burn, n_samples or"):
            model = ProbitFactors(4, n_init=2, n_burn=0, n_samples=20, thin=1, random_state=0).fit(X)
        assert not model.converged_

    def test_chains_that_agree_are_converged(self):
        fit = ProbitFactors(1, **{**QUICK, "n_samples": 150, "thin": 10}).fit(COMPLETE)
        assert fit.converged_

    def test_no_burn_in_and_one_sample(self):
        fit = ProbitFactors(2, n_init=1, n_burn=0, n_samples=1, thin=1, random_state=0).fit(COMPLETE)
        assert fit.r_hat_ is None
        assert fit.ess_ is None
        assert np.isfinite(fit.reconstruct(COMPLETE)).all()

    def test_ctrl_c_keeps_the_samples_so_far(self):
        timer = threading.Timer(0.5, signal.pthread_kill, (threading.main_thread().ident, signal.SIGINT))
        timer.start()
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            fit = ProbitFactors(2, **{**SHORT, "n_samples": 10**6}, n_jobs=2).fit(COMPLETE)
        said = "interrupted: these are the samples of 2 chains so far; fit again for a complete fit"
        assert said in [str(warning.message) for warning in caught]
        assert 10 < len(fit._samples.theta) < 10**5
        assert not fit.converged_

    def test_a_file_has_the_samples(self, model, tmp_path):
        save_model(model, tmp_path / "model.npz")
        same = load_model(tmp_path / "model.npz")
        np.testing.assert_array_equal(same.reconstruct(X), model.reconstruct(X))
        np.testing.assert_array_equal(same.weights_interval(X), model.weights_interval(X))
        np.testing.assert_array_equal(same.score_samples(X), model.score_samples(X))
        np.testing.assert_array_equal(same.r_hat_["components"], model.r_hat_["components"])


class TestRows:
    def test_a_row_of_weight_2_counts_like_two(self):
        weight = np.random.default_rng(0).integers(0, 4, len(COMPLETE))
        a = ProbitFactors(2, **SHORT).fit(COMPLETE, sample_weight=weight)
        b = ProbitFactors(2, **SHORT).fit(np.repeat(COMPLETE, weight, axis=0))
        np.testing.assert_array_equal(a._samples.theta, b._samples.theta)
        np.testing.assert_array_equal(np.repeat(a.weights_, weight, axis=0), b.weights_)

    def test_fractional_weights_are_refused(self):
        weight = np.ones(len(X))
        weight[4] = 0.5
        message = (
            r"^sample_weight\[4\] is 0.5, but sampling draws the causes of whole rows; "
            r"give whole numbers, or use a model that climbs, such as LogisticPCA$"
        )
        with pytest.raises(ValueError, match=message):
            ProbitFactors(2, **SHORT).fit(X, sample_weight=weight)

    def test_row_effects_is_true_or_false(self):
        with pytest.raises(ValueError, match=r"^row_effects='yes' must be True or False$"):
            ProbitFactors(2, row_effects="yes").fit(X)

    def test_sparse_data_give_the_same_samples(self):
        a, b = (ProbitFactors(2, **SHORT).fit(form(COMPLETE)) for form in (np.asarray, sp.csr_array))
        np.testing.assert_array_equal(a._samples.theta, b._samples.theta)
        np.testing.assert_array_equal(a.transform(COMPLETE), b.transform(sp.csr_array(COMPLETE)))

    def test_a_row_without_an_observed_cell_has_the_prior(self, model):
        W = model._solved(np.full((1, 25), NAN)).coordinates[0]
        assert W.shape == (120, 5)
        assert abs(W.mean()) < 4 / np.sqrt(W.size)
        assert 0.8 < W.std() < 1.2

    def test_without_row_effects_there_are_none(self):
        fit = ProbitFactors(2, row_effects=False, **SHORT).fit(X)
        assert fit._samples.theta.shape[2] == 3
        np.testing.assert_array_equal(fit.row_effects_, 0)

    @pytest.mark.parametrize(
        "table",
        [np.zeros((20, 6)), np.ones((20, 6)), np.eye(3), np.ones((1, 4)), np.array([[1.0], [0.0], [1.0]])],
        ids=["zeros", "ones", "eye", "one row", "one column"],
    )
    def test_odd_tables_give_finite_answers(self, table):
        fit = ProbitFactors(3, **SHORT).fit(table)
        P = fit.reconstruct(table)
        assert ((P >= 0) & (P <= 1)).all()
        assert np.isfinite([fit.score(table), fit.aic(table), fit.bic(table)]).all()
        assert np.isfinite(fit.weights_).all()


class TestAnswers:
    def test_reconstruction_is_the_mean_over_samples(self, model):
        W, theta = model._solved(X).coordinates, model._samples.theta.astype(float)
        total = np.zeros(X.shape)
        for s in range(len(theta)):
            for i in range(len(X)):
                total[i] += ndtr(theta[s, :, 0] + theta[s, :, 1:] @ W[i, s])
        np.testing.assert_allclose(model.reconstruct(X), total / len(theta), atol=1e-9)
        plugged_in = ndtr(model.weights_ @ model.components_ + model.intercepts_ + model.row_effects_[:, None])
        assert np.abs(plugged_in - total / len(theta)).max() > 0.02, "uncertainty makes probabilities less extreme"

    def test_weights_and_row_effects_are_means_of_the_draws(self, model):
        W, theta = model._solved(X).coordinates.astype(float), model._samples.theta
        np.testing.assert_allclose(model.transform(X), W[:, :, :4].mean(axis=1), atol=1e-9)
        np.testing.assert_allclose(model.row_effects_, (W[:, :, 4] * theta[:, 0, 5]).mean(axis=1), atol=1e-6)

    def test_given_weights_the_row_effect_is_integrated_out(self, model):
        W = np.array([[0.5, -1.0, 0.0, 0.3]])
        theta = model._samples.theta.astype(float)
        effects = np.random.default_rng(0).standard_normal(4000)
        expected = np.zeros(25)
        for each in theta:
            score = each[:, 0] + each[:, 1:5] @ W[0]
            expected += ndtr(score + each[0, 5] * effects[:, None]).mean(axis=0) / len(theta)
        np.testing.assert_allclose(model.inverse_transform(W)[0], expected, atol=0.02)

    def test_scores_are_over_the_probabilities_of_the_training_rows(self, model):
        P = model._probabilities(model._training_coordinates)
        np.testing.assert_allclose(P, model.reconstruct(X), atol=0.25)
        new = np.where(np.isnan(X[:3]), 1, X[:3])
        expected = [np.log(np.mean(np.prod(np.where(row == 1, P, 1 - P), axis=1))) for row in new]
        np.testing.assert_allclose(model.score_samples(new), expected, rtol=1e-9)

    def test_intervals_are_quantiles(self, model):
        low, high = model.components_interval(0.8)
        V = model._samples.theta[:, :, 1:5]
        np.testing.assert_allclose(low, np.quantile(V, 0.1, axis=0).T, atol=1e-6)
        np.testing.assert_allclose(high, np.quantile(V, 0.9, axis=0).T, atol=1e-6)
        low, high = model.weights_interval(X[:5], 0.8)
        assert low.shape == (5, 4)
        assert (low < high).all()

    def test_too_few_samples_for_an_interval(self):
        fit = ProbitFactors(1, n_init=1, n_burn=5, n_samples=10, thin=1, random_state=0).fit(COMPLETE)
        with pytest.raises(
            ValueError, match=r"^10 posterior samples can't give an interval of level 0.9, which needs 20"
        ):
            fit.components_interval()

    def test_every_other_answer_works(self, model, tmp_path):
        assert np.isfinite([model.aic(X), model.bic(X), model.score(X), model.log_likelihood(X)]).all()
        assert model.sample(3, random_state=0).shape == (3, 25)
        model.report(X, tmp_path / "report.html")
        assert "4 components fitted" in (tmp_path / "report.html").read_text()

    @pytest.mark.filterwarnings("ignore:.*chains that disagree")
    def test_compared_and_selected(self):
        models = {"probit": ProbitFactors(2, **SHORT), "columns": IndependentBernoulli()}
        found = compare(models, COMPLETE, n_folds=2, random_state=0)
        assert found.best == "probit"
        chosen = select_order(ProbitFactors(2, **SHORT), COMPLETE, [1, 2], criterion="cells", n_folds=2, random_state=0)
        assert chosen.best_order in (1, 2)


def test_the_rows_of_a_fit_are_completed_by_the_draws_of_the_chains():
    X = simulate.probit_factors(80, 15, 2, random_state=0).X.astype(float)
    X[np.random.default_rng(0).random(X.shape) < 0.2] = np.nan
    model = ProbitFactors(3, n_init=2, n_samples=200, random_state=0)
    fit = model.fit(X)
    completed = model._completed(fit._data(X), np.ones(80))
    assert np.abs(completed - fit.reconstruct(X)).mean() < 0.02
    twice = model._completed(fit._data(X), np.full(80, 2.0))  # rows are drawn again, each of them two
    assert np.abs(twice - completed).mean() < 0.1
