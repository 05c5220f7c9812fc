"""The evidence by thermodynamic integration against enumeration, and the bound beside it."""

import pickle
import signal
import threading

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

from latentbits import BetaICA, select_order, simulate
from latentbits.fitting.workers import Workers
from latentbits.models.aspect.sampled import Evidence, integrate
from latentbits.models.aspect.variational import Prior
from tests.models.beta_ica.tools import NAN, X
from tests.reference import gibbs as twin

GIBBS = {"inference": "gibbs", "n_init": 2, "n_samples": 20, "n_burn": 40, "thin": 1, "random_state": 0}
TOY = simulate.aspect_bernoulli(60, 12, 2, concentration=0.3, sharpness=0.1, random_state=0).X
pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


def tiny(seed, K):
    """A table of few enough cells to enumerate: at most 2^16 causes."""
    rng = np.random.default_rng(seed)
    table = rng.integers(0, 2, (4, 3) if K == 2 else (3, 3)).astype(float)
    table[rng.random(table.shape) < 0.1] = NAN
    return table


class TestEnumeration:
    @pytest.mark.parametrize("seed", range(8))
    def test_it_is_exact_within_its_error(self, seed):
        K, prior = 2 + seed % 2, Prior(0.5, 0.8, (1.0, 0.3, 0.1)[seed % 3])
        table = tiny(seed, K)
        exact = twin.enumerated(table.tolist(), K, prior).log_evidence
        model = BetaICA(K, alpha=0.5, beta=0.8, gamma=prior.gamma, **{**GIBBS, "random_state": seed}).fit(table)
        found = model.log_evidence(table, n_sweeps=600)
        assert 0 < found.error < 0.1
        assert abs(found - exact) < 3 * found.error

    def test_sixteen_cells_of_two_components(self):
        table = np.random.default_rng(3).integers(0, 2, (4, 4)).astype(float)
        prior = Prior(0.5, 0.5, 0.5)
        exact = twin.enumerated(table.tolist(), 2, prior).log_evidence
        found = integrate(table.astype(np.int8), 2, prior, [0, 1, 2], 600, Workers())
        assert abs(found - exact) < 3 * found.error < 0.2

    def test_the_errors_are_neither_too_small_nor_too_large(self):
        """Over many seeds the deviations are of the size that is stated."""
        table, prior = tiny(1, 2), Prior(0.5, 0.5, 0.5)
        exact = twin.enumerated(table.tolist(), 2, prior).log_evidence
        cells = np.where(np.isnan(table), -1, table).astype(np.int8)
        found = [integrate(cells, 2, prior, [seed, 1000 + seed], 200, Workers()) for seed in range(40)]
        off = np.array([(one - exact) / one.error for one in found])
        assert 0.3 < np.sqrt(np.mean(off**2)) < 1.5
        assert abs(np.mean([one - exact for one in found])) < 0.02

    def test_a_component_of_known_probabilities(self):
        table, prior = tiny(0, 2), Prior(0.5, 0.5, 0.5)
        fixed = np.full((2, 3), NAN)
        fixed[1] = 0.001
        exact = twin.enumerated(table.tolist(), 2, prior, fixed).log_evidence
        cells = np.where(np.isnan(table), -1, table).astype(np.int8)
        found = integrate(cells, 2, prior, [0, 1], 1000, Workers(), fixed)
        assert abs(found - exact) < 3 * found.error < 0.5


class TestMethods:
    def test_the_bound_is_below_and_says_so(self):
        vb = BetaICA(2, gamma=0.3, n_init=3, random_state=0).fit(TOY)
        assert type(vb.log_evidence()) is float
        assert vb.log_evidence() == vb.log_evidence(method="bound") == vb.log_evidence(TOY) == vb.objective_
        found = vb.log_evidence(TOY, method="ti")
        assert found > vb.objective_ + 5 * found.error

    def test_it_is_a_property_of_data_and_prior_alone(self):
        vb = BetaICA(2, gamma=0.3, n_init=1, random_state=0).fit(TOY)
        gibbs = BetaICA(2, gamma=0.3, **GIBBS).fit(TOY)
        a, b = vb.log_evidence(TOY, method="ti"), gibbs.log_evidence(TOY)
        assert abs(a - b) < 4 * np.hypot(a.error, b.error)

    def test_asking_twice_or_on_more_jobs_gives_the_same(self):
        model = BetaICA(2, **{**GIBBS, "random_state": np.random.default_rng(0)}).fit(TOY)
        first = model.log_evidence(TOY, n_sweeps=50)
        assert float(first) == float(model.log_evidence(TOY, n_sweeps=50))
        assert float(first) == float(model.set_params(n_jobs=2).log_evidence(TOY, n_sweeps=50))

    def test_more_sweeps_lower_the_error(self):
        model = BetaICA(2, gamma=0.3, **GIBBS).fit(TOY)
        short, long = (model.log_evidence(TOY, n_sweeps=n) for n in (60, 1000))
        assert long.batch_error < 0.7 * short.batch_error
        assert long.error < 0.7 * short.error

    def test_it_can_be_pickled_and_read(self):
        found = Evidence(-12.5, error=0.25, up=-12.4, down=-12.6, batch_error=0.2)
        copy = pickle.loads(pickle.dumps(found))
        assert copy == found == -12.5
        assert (copy.error, copy.up, copy.down, copy.batch_error) == (0.25, -12.4, -12.6, 0.2)
        assert repr(copy) == "-12.5 +- 0.25"

    def test_a_bar_when_asked_for(self, capsys):
        model = BetaICA(2, **GIBBS).fit(TOY)
        model.log_evidence(TOY, n_sweeps=30)
        assert capsys.readouterr().err == ""
        model.set_params(verbose=1).log_evidence(TOY, n_sweeps=30)
        assert "Integrating" in (shown := capsys.readouterr().err)
        assert "100 of 100" in shown

    @pytest.mark.parametrize("n_jobs", [1, 2])
    def test_control_c_ends_all_runs(self, n_jobs):
        model = BetaICA(2, **GIBBS, n_jobs=n_jobs).fit(TOY)
        before = set(threading.enumerate())
        timer = threading.Timer(0.3, signal.pthread_kill, (threading.main_thread().ident, signal.SIGINT))
        timer.start()
        with pytest.raises(KeyboardInterrupt):
            model.log_evidence(TOY, n_sweeps=20_000)  # a minute, if it isn't ended
        timer.join()
        assert set(threading.enumerate()) <= before

    def test_one_sentence_for_each_mistake(self):
        gibbs, vb = BetaICA(2, **GIBBS).fit(TOY), BetaICA(2, n_init=1, random_state=0).fit(TOY)
        for ask, message in (
            (
                lambda: gibbs.log_evidence(),
                r'^log_evidence by "ti" samples the causes of the training data again; give',
            ),
            (lambda: gibbs.log_evidence(TOY[:7]), r"^X has 7 rows, but the model was fitted to 60; give the training"),
            (
                lambda: gibbs.log_evidence(TOY, method="bound"),
                r'^sampling has no bound of the evidence; use method="ti"',
            ),
            (lambda: vb.log_evidence(method="aic"), r'^method=\'aic\' is unknown; use "bound" or "ti"$'),
            (lambda: gibbs.log_evidence(TOY, n_sweeps=5), r"^n_sweeps=5 must be a whole number of at least 30$"),
        ):
            with pytest.raises(ValueError, match=message):
                ask()
        with pytest.raises(NotFittedError):
            BetaICA(inference="gibbs").log_evidence(X)
        assert not hasattr(BetaICA(inference="em"), "log_evidence")


class TestSelection:
    def test_sampling_selects_by_the_integrated_evidence_and_shows_its_error(self):
        found = select_order(BetaICA(gamma=0.3, **GIBBS), TOY, [2, 3], criterion="evidence", random_state=0)
        assert found.best_order == 2
        assert found.table.columns.tolist()[:3] == ["n_components", "evidence", "evidence_se"]
        assert found.table["evidence_se"].iloc[0] == 0
        assert (found.table["evidence_se"].iloc[1:] > 0).all()
        model = found.models[2]
        assert found.table["evidence"].iloc[1] == float(model.log_evidence(TOY))

    def test_variational_bayes_selects_by_the_bound(self):
        found = select_order(BetaICA(n_init=1), TOY, [2], criterion="evidence", random_state=0)
        assert "evidence_se" not in found.table
        assert found.table["evidence"].tolist() == [found.models[k].objective_ for k in (1, 2)]
