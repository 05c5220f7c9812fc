"""BetaICA by sampling: the posterior against enumeration, seeds, weights of rows, answers, mistakes."""

import signal
import sys
import threading
import types
import warnings
from contextlib import contextmanager

import numpy as np
import pytest
import scipy.sparse as sp
from scipy import stats
from sklearn.exceptions import ConvergenceWarning, NotFittedError

from latentbits import BetaICA, load_model, save_model, simulate
from latentbits.data.binary_data import BinaryData
from latentbits.fitting.chains import quantile_interval
from latentbits.fitting.workers import Workers, stopped_by
from latentbits.metrics import match_components
from latentbits.models.aspect import gibbs
from latentbits.models.aspect.gibbs import Chain, align, posterior_means, reordered, solve_sampled_weights
from latentbits.models.aspect.statistics import shrink_to_average
from latentbits.models.aspect.variational import Prior
from tests.models.beta_ica.tools import NAN, X
from tests.reference import gibbs as twin

ROWS, COLUMNS = X.shape
QUICK = {"inference": "gibbs", "n_init": 4, "n_samples": 50, "n_burn": 100, "thin": 2, "random_state": 0}
COMPLETE = simulate.aspect_bernoulli(40, 12, 2, concentration=0.3, sharpness=0.1, random_state=1).X
ignore_convergence = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


@pytest.fixture(scope="module")
def model():
    return BetaICA(3, gamma=0.8, **QUICK).fit(X)


@contextmanager
def interrupted_in_chain(number, after):
    """A fit whose chains are told to stop, as by Ctrl-C, in this one (of those made one after the other)."""
    stop = threading.Event()
    sweep, swept = Chain.sweep, []

    def counted(chain, n, temperature=1.0):
        if chain not in swept:
            swept.append(chain)
        chain.made = getattr(chain, "made", 0) + n
        if len(swept) > number and chain.made >= after:
            stop.set()
        return sweep(chain, n, temperature)

    with pytest.MonkeyPatch.context() as patched, stopped_by(stop):
        patched.setattr(Chain, "sweep", counted)
        yield


class TestExactness:
    def test_a_tiny_table_has_the_enumerated_posterior(self):
        """Labels are free, so what is compared has none: cell probabilities, and mean log p(X | causes)."""
        table = np.array([[1.0, 0.0, 1.0], [1.0, NAN, 0.0], [0.0, 0.0, 1.0]])
        prior = Prior(0.5, 0.8, 0.6)
        exact = twin.enumerated(table.tolist(), 2, prior)
        P = np.einsum("s,snk,skd->nd", exact.probability, exact.W, exact.H)
        tiny = {**QUICK, "n_init": 10, "n_samples": 500, "thin": 5}
        model = BetaICA(2, alpha=0.5, beta=0.8, gamma=0.6, **tiny).fit(table)
        np.testing.assert_allclose(model.reconstruct(table), P, atol=0.02)
        found = model._samples.log_likelihood
        error = found.std() / np.sqrt(float(model.ess_["log_likelihood"]))
        assert abs(found.mean() - exact.probability @ exact.fit) < 4 * error

    def test_one_component_has_a_closed_form(self):
        model = BetaICA(1, **QUICK).fit(X)
        ones, seen = np.nansum(X, axis=0), np.sum(~np.isnan(X), axis=0)
        np.testing.assert_allclose(model.components_[0], (ones + 0.5) / (seen + 1), rtol=1e-12)
        np.testing.assert_array_equal(model.weights_, 1)
        vb = BetaICA(1, n_init=1, random_state=0).fit(X)
        assert model.objective_ == pytest.approx(vb.objective_, rel=1e-9)
        assert float(model.log_evidence(X)) == pytest.approx(vb.log_evidence(), rel=1e-9)
        assert model.log_evidence(X).error == 0
        low, high = model.weights_interval(X)
        np.testing.assert_array_equal((low, high), np.ones((2, ROWS, 1)))
        assert model.converged_
        assert all(np.isfinite(part).all() for part in (*model.r_hat_.values(), *model.ess_.values()))

    def test_intervals_of_one_component_are_those_of_its_beta_posterior(self):
        model = BetaICA(1, **{**QUICK, "n_samples": 1000, "thin": 1}).fit(X)
        expected = stats.beta.ppf([[[0.05]], [[0.95]]], model.alpha_, model.beta_)
        np.testing.assert_allclose(model.components_interval(0.9), expected, atol=0.02)

    def test_intervals_cover_the_truth_where_variational_ones_do_not(self):
        rng = np.random.default_rng(1)
        H, W = rng.beta(0.5, 0.5, (3, 30)), rng.dirichlet(np.ones(3), 150)
        cells = (rng.random((150, 30)) < W @ H).astype(float)
        covered = {}
        for inference in ("gibbs", "vb"):
            model = BetaICA(3, inference=inference, n_init=5, random_state=0).fit(cells)
            order = match_components(H, model.components_).order
            low, high = model.weights_interval(cells, 0.9)
            covered[inference] = np.mean((low[:, order] <= W) & (high[:, order] >= W))
        assert 0.83 < covered["gibbs"] < 0.97
        assert covered["vb"] < 0.75


class TestSamples:
    @ignore_convergence
    def test_the_same_seed_gives_the_same_samples_on_any_number_of_jobs(self, model):
        for n_jobs in (2, 5):
            other = BetaICA(3, gamma=0.8, **QUICK, n_jobs=n_jobs).fit(X)
            np.testing.assert_array_equal(model._samples.H, other._samples.H)
            np.testing.assert_array_equal(model.weights_, other.weights_)
        another = BetaICA(3, gamma=0.8, **{**QUICK, "random_state": 1}).fit(X)
        assert not np.array_equal(model._samples.H, another._samples.H)

    def test_what_is_kept(self, model):
        posterior = model._samples
        assert posterior.H.shape == (200, 3, COLUMNS)
        assert posterior.H.dtype == np.float32
        np.testing.assert_array_equal(np.bincount(posterior.chain), [50] * 4)
        assert len(model.restarts_) == 4
        assert model.n_iter_ == len(model.objective_history_) == 100 + 2 * 50
        assert model.r_hat_["components"].shape == model.ess_["components"].shape == (3, COLUMNS)
        assert model.r_hat_["cells"].shape == (100,)

    def test_means_are_those_of_the_samples(self, model):
        np.testing.assert_allclose(model.components_, model._samples.H.mean(axis=0), atol=0.06)
        assert np.abs(model.components_ - model._samples.H.mean(axis=0)).mean() < 0.01
        np.testing.assert_allclose(model.components_, model.alpha_ / (model.alpha_ + model.beta_), atol=0.05)
        caused = (model.alpha_ - 0.5 + model.beta_ - 0.5).sum()
        assert caused == pytest.approx(np.sum(~np.isnan(X)))

    def test_labels_are_aligned_over_samples_and_chains(self):
        """Switch them at random, and get them back."""
        rng = np.random.default_rng(0)
        H = rng.beta(0.5, 0.5, (4, 25))
        n = rng.integers(5, 30, (300, 4, 25))
        ones = rng.binomial(n, H)
        mixed = np.array([rng.permutation(4) for _ in range(300)])
        switched, zeros = reordered(ones, mixed), reordered(n - ones, mixed)
        prior = Prior(0.5, 0.5, 1.0)
        order = align(switched, zeros, prior, posterior_means(switched[0], zeros[0], prior))
        found = posterior_means(reordered(switched, order), reordered(zeros, order), prior)
        assert match_components(H, found.mean(axis=0)).similarity.min() > 0.95
        assert found.std(axis=0).max() < 0.2

    def test_chains_that_disagree_are_warned_about(self):
        noise = np.random.default_rng(0).integers(0, 2, (40, 15))
        with pytest.warns(ConvergenceWarning, match=r"^the chains disagree \(R-hat is .*; raise n_burn, n_samples or"):
            model = BetaICA(4, gamma=0.05, **{**QUICK, "n_burn": 0, "n_samples": 20, "thin": 1}).fit(noise)
        assert not model.converged_

    def test_no_burn_in_and_one_sample(self):
        model = BetaICA(2, gamma=0.8, **{**QUICK, "n_init": 1, "n_burn": 0, "n_samples": 1}).fit(COMPLETE)
        assert model.r_hat_ is None
        assert model.ess_ is None
        assert np.isfinite(model.reconstruct(COMPLETE)).all()

    def test_ctrl_c_keeps_the_samples_so_far(self):
        timer = threading.Timer(0.5, signal.pthread_kill, (threading.main_thread().ident, signal.SIGINT))
        timer.start()
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            model = BetaICA(3, gamma=0.8, **{**QUICK, "n_init": 2, "n_burn": 20, "n_samples": 10**6}, n_jobs=2).fit(X)
        said = "interrupted: these are the samples of 2 chains so far; fit again for a complete fit"
        assert said in [str(warning.message) for warning in caught]
        assert 10 < len(model._samples.H) < 10**5
        assert not model.converged_
        assert np.isfinite(model.weights_interval(X, 0.5)).all()

    def test_a_chain_interrupted_in_its_burn_in_gives_no_samples(self):
        """Its causes are those of a higher temperature, and one of them would leave R-hat with nothing to compare."""
        whole = BetaICA(3, gamma=0.8, **{**QUICK, "n_init": 2}).fit(X)
        with interrupted_in_chain(2, after=QUICK["n_burn"] // 2), pytest.warns(UserWarning, match="interrupted"):
            model = BetaICA(3, gamma=0.8, **QUICK).fit(X)
        np.testing.assert_array_equal(model._samples.H, whole._samples.H)
        np.testing.assert_array_equal(model._samples.chain, whole._samples.chain)
        assert len(model.restarts_) == 2
        assert model.r_hat_ is not None

    def test_interrupted_in_the_first_burn_in_there_is_one_sample(self):
        with interrupted_in_chain(0, after=10), warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            model = BetaICA(3, max_iter=5, **QUICK).fit(X)
        assert [str(warning.message).split(":")[0] for warning in caught] == ["interrupted"], "not of max_iter"
        assert len(model._samples.H) == 1
        assert not model.converged_
        assert np.isfinite(model.reconstruct(X)).all()

    def test_a_refit_by_another_inference_forgets_the_samples(self, model):
        again = BetaICA(3, gamma=0.8, **QUICK).fit(X).set_params(inference="vb", n_init=1).fit(X)
        assert again.r_hat_ is None
        np.testing.assert_array_equal(again.weights_, BetaICA(3, gamma=0.8, n_init=1, random_state=0).fit(X).weights_)

    def test_a_file_has_the_samples(self, model, tmp_path):
        save_model(model, tmp_path / "model.npz")
        same = load_model(tmp_path / "model.npz")
        np.testing.assert_array_equal(same.reconstruct(X), model.reconstruct(X))
        np.testing.assert_array_equal(same.weights_interval(X), model.weights_interval(X))
        np.testing.assert_array_equal(same.r_hat_["components"], model.r_hat_["components"])


class TestRows:
    @ignore_convergence
    def test_a_row_of_weight_2_counts_like_two(self):
        weight = np.random.default_rng(0).integers(0, 4, len(COMPLETE))
        a = BetaICA(2, gamma=0.8, **QUICK).fit(COMPLETE, sample_weight=weight)
        b = BetaICA(2, gamma=0.8, **QUICK).fit(np.repeat(COMPLETE, weight, axis=0))
        np.testing.assert_array_equal(a._samples.H, b._samples.H)
        np.testing.assert_array_equal(np.repeat(a.weights_, weight, axis=0), b.weights_)
        assert float(a.log_evidence(COMPLETE)) == float(b.log_evidence(np.repeat(COMPLETE, weight, axis=0)))

    def test_fractional_weights_are_refused(self):
        weight = np.ones(ROWS)
        weight[4] = 0.5
        message = (
            r"^sample_weight\[4\] is 0.5, but sampling draws the causes of whole rows; "
            r'give whole numbers, or fit with inference="vb"$'
        )
        with pytest.raises(ValueError, match=message):
            BetaICA(2, gamma=0.8, **QUICK).fit(X, sample_weight=weight)

    def test_sparse_data_give_the_same_samples(self):
        a, b = (BetaICA(2, gamma=0.8, **QUICK).fit(form(COMPLETE)) for form in (np.asarray, sp.csr_array))
        np.testing.assert_array_equal(a._samples.H, b._samples.H)
        np.testing.assert_array_equal(a.transform(COMPLETE), b.transform(sp.csr_array(COMPLETE)))

    def test_rows_without_an_observed_cell_have_the_prior(self, model):
        W = model._solved(np.full((1, COLUMNS), NAN)).coordinates[0]
        assert stats.kstest(W[:, 0], stats.beta(0.8, 1.6).cdf).pvalue > 1e-3

    def test_training_rows_are_drawn_as_the_chains_had_them(self, model):
        """The chains' own mean weights, which nothing else uses, agree with those drawn given the components."""
        np.testing.assert_allclose(model.weights_.mean(axis=0), model.shares_, atol=0.02)


class TestAnswers:
    def test_weights_keep_up_with_the_samples_of_the_components(self, monkeypatch):
        """Swept too little between two samples, a row remembers the last one, and its intervals are too narrow."""
        table = simulate.aspect_bernoulli(150, 30, 3, concentration=1.0, sharpness=0.5, random_state=0).X
        H = BetaICA(3, gamma=0.8, **{**QUICK, "n_samples": 100, "thin": 10}).fit(table)._samples.H

        def width():
            with Workers() as workers:
                W = solve_sampled_weights(BinaryData.of(table), H, np.ones(len(H)), workers=workers).coordinates
            low, high = quantile_interval(W, 0.9, axis=1)
            return (high - low).mean()

        found = width()
        monkeypatch.setattr(gibbs, "ROW_SWEEPS", 30)
        assert found == pytest.approx(width(), rel=0.015)

    def test_reconstruction_is_the_mean_over_samples(self, model):
        W = model._solved(X).coordinates
        assert W.shape == (ROWS, 200, 3)
        expected = np.mean([W[:, s] @ model._samples.H[s] for s in range(200)], axis=0)
        np.testing.assert_allclose(model.reconstruct(X), expected, atol=1e-6)
        assert np.abs(expected - model.weights_ @ model.components_).max() > 0.005
        np.testing.assert_allclose(model.transform(X), W.mean(axis=1), atol=1e-6)

    def test_suspicion_is_the_mean_over_samples(self, model):
        W, observed = model._solved(X).coordinates, np.sum(~np.isnan(X), axis=1)[:, None]
        kept = (model.phantoms_ == "content").astype(float)
        total = np.zeros(X.shape)
        for s in range(200):
            total += shrink_to_average(W[:, s] * kept * observed, model.shares_ * kept, kept) @ model._samples.H[s]
        expected = np.where(X == 0, total / 200, 0.0)
        np.testing.assert_allclose(model.suspicion(X), expected, atol=1e-6)

    def test_intervals_are_quantiles(self, model):
        low, high = model.components_interval(0.9)
        np.testing.assert_allclose(low, np.quantile(model._samples.H, 0.05, axis=0), atol=1e-6)
        np.testing.assert_allclose(high, np.quantile(model._samples.H, 0.95, axis=0), atol=1e-6)
        new = 1 - X[:5]
        low, high = model.weights_interval(new, 0.9)
        W = model._solved(new).coordinates
        np.testing.assert_allclose(high, np.quantile(W, 0.95, axis=1), atol=1e-6)
        assert (low < high).all()

    def test_every_other_answer_works(self, model):
        assert np.isfinite([model.aic(X), model.bic(X), model.score(X), model.log_likelihood(X)]).all()
        assert model.denoise(X, change="both").shape == X.shape
        assert model.explain(X, row=0)["probability"].between(0, 1).all()
        assert len(model.suspects(X, top=5)) == 5
        assert model.sample(3, random_state=0).shape == (3, COLUMNS)

    @ignore_convergence
    def test_pruned_models_keep_the_samples_of_what_is_left(self):
        fit = BetaICA(6, gamma=0.05, **{**QUICK, "n_burn": 400}).fit(COMPLETE)
        pruned = fit.prune()
        kept = np.setdiff1d(np.arange(6), fit.extinct_)
        np.testing.assert_array_equal(pruned._samples.H, fit._samples.H[:, kept])
        assert pruned.r_hat_["components"].shape == pruned.components_.shape
        assert pruned.transform(COMPLETE).shape == (len(COMPLETE), len(kept))

    @ignore_convergence
    def test_too_few_samples_for_an_interval(self):
        model = BetaICA(2, gamma=0.8, **{**QUICK, "n_init": 1, "n_samples": 10}).fit(COMPLETE)
        message = (
            r"^10 posterior samples can't give an interval of level 0.95, which needs 40; "
            r"fit with more \(n_samples, n_init\), or ask for a lower level$"
        )
        for ask in (model.components_interval, lambda: model.weights_interval(COMPLETE)):
            with pytest.raises(ValueError, match=message):
                ask()
        assert np.isfinite(model.components_interval(0.5)).all()


class TestArviz:
    @staticmethod
    def package(monkeypatch):
        """A stand-in that keeps what it is given."""
        fake = types.ModuleType("arviz")
        fake.from_dict = lambda **groups: groups
        monkeypatch.setitem(sys.modules, "arviz", fake)

    def test_the_samples_by_chain(self, model, monkeypatch):
        self.package(monkeypatch)
        groups = model.to_arviz()
        assert groups["posterior"]["components"].shape == (4, 50, 3, COLUMNS)
        assert groups["posterior"]["cells"].shape == (4, 50, 100)
        np.testing.assert_array_equal(groups["sample_stats"]["lp"].ravel(), model._samples.log_likelihood)

    def test_with_the_package_itself(self, model):
        pytest.importorskip("arviz", reason="ArviZ is not installed")
        assert model.to_arviz().posterior["components"].shape == (4, 50, 3, COLUMNS)

    def test_without_the_package_or_samples_or_a_fit(self, model, monkeypatch):
        monkeypatch.setitem(sys.modules, "arviz", None)
        with pytest.raises(ImportError, match=r"^to_arviz needs the package arviz; install it \(pip install arviz\)$"):
            model.to_arviz()
        with pytest.raises(ValueError, match=r'^there are no posterior samples.*; fit with inference="gibbs"$'):
            BetaICA(2, n_init=1, random_state=0).fit(X).to_arviz()
        with pytest.raises(NotFittedError):
            BetaICA(inference="gibbs").to_arviz()
