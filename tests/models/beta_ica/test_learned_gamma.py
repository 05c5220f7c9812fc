"""The concentration of rows' weights, learned: by the bound and by sampling, against enumeration and slow twins."""

import numpy as np
import pytest
import scipy.sparse as sp
from scipy import stats
from scipy.optimize import minimize_scalar
from scipy.special import gammaln, logsumexp

from latentbits import BetaICA, load_model, save_model, simulate
from latentbits.fitting.climb import Monitor, climb
from latentbits.fitting.workers import Workers
from latentbits.kernels.gibbs import draw_gamma
from latentbits.models.aspect import variational
from latentbits.models.aspect.gibbs import LIMITS, SPREAD, Chain
from latentbits.models.aspect.sampled import log_evidence
from latentbits.models.aspect.variational import LEAST_GAMMA, MOST_GAMMA, Prior, fitted_gamma
from tests.models.beta_ica.tools import NAN, ROWS, X, make_learner, random_state
from tests.reference import beta_ica as twin
from tests.reference import gibbs as enumeration

PRIOR = Prior(0.5, 0.8, None)
FEW = {"inference": "gibbs", "n_init": 2, "n_samples": 60, "n_burn": 100, "thin": 2, "random_state": 0}
pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


def table_of(concentration, seed=0, N=200, D=40, K=3):
    rng = np.random.default_rng(seed)
    H = rng.beta(0.5, 0.5, (K, D))
    W = rng.dirichlet(np.full(K, concentration), N)
    return (rng.random((N, D)) < W @ H).astype(float)


class TestBound:
    def test_a_step_maximises_the_bound_in_gamma(self, monkeypatch):
        """The twin's bound at the last weights' posterior, as a function of gamma alone."""
        monkeypatch.setattr(variational, "LONGEST_MOVE", np.inf)
        learner = make_learner("vb", X[:8], np.linspace(0.5, 2, 8), 3, PRIOR)
        state = random_state(learner, 3)
        state = state._replace(M=np.where(state.M < 4, 1e-3, state.M))
        new, _ = learner.step(state)
        Q = twin.responsibilities(X[:8], twin.log_dirichlet_means(state.gamma), state.alpha, state.beta)

        def lost(log_gamma):
            prior = PRIOR._replace(gamma=np.exp(log_gamma))
            return -twin.vb_bound(X[:8], Q, state.gamma, state.alpha, state.beta, prior, learner.row_weight)

        best = minimize_scalar(
            lost, bounds=np.log([LEAST_GAMMA, MOST_GAMMA]), method="bounded", options={"xatol": 1e-9}
        )
        assert new.gamma0 == pytest.approx(np.exp(best.x), rel=1e-4)
        assert LEAST_GAMMA < new.gamma0 < MOST_GAMMA, "or the limits would have decided"

    def test_different_starts_end_alike(self):
        """With gamma at its best from the first step on, these ended 2 to 6 nats apart."""
        cells = simulate.aspect_bernoulli(300, 40, 3, concentration=0.3, sharpness=0.1, random_state=2).X
        found = [BetaICA(3, n_init=3, random_state=seed).fit(cells).objective_ for seed in range(3)]
        assert np.ptp(found) < 0.5

    @pytest.mark.parametrize(("log_weight", "expected"), [(-1e9, LEAST_GAMMA), (-np.log(3) - 1e-9, MOST_GAMMA)])
    def test_it_stays_inside_its_limits(self, log_weight, expected):
        assert fitted_gamma(log_weight, 3) == expected

    def test_a_climb_ends_where_no_gamma_is_better(self):
        learner = make_learner("vb", X, np.ones(ROWS), 3, PRIOR)
        monitor = Monitor(tol=0, max_iter=900)
        end = climb(learner, learner.initialise(np.random.default_rng(0)), monitor).state
        assert LEAST_GAMMA < end.gamma0 < MOST_GAMMA
        for factor in (0.97, 1.03):
            other = end._replace(log_gamma0=end.log_gamma0 + np.log(factor))
            assert learner.bound(other) < learner.bound(end)

    def test_one_component_leaves_it(self):
        assert BetaICA(1, n_init=1, random_state=0).fit(X).gamma_ == 1.0

    def test_a_given_one_stays(self):
        assert BetaICA(3, gamma=0.37, n_init=1, random_state=0).fit(X).gamma_ == pytest.approx(0.37)
        assert BetaICA(3, inference="em", n_init=1, random_state=0).fit(X).gamma_ is None

    def test_it_follows_the_truth(self):
        found = [BetaICA(3, n_init=3, random_state=0).fit(table_of(c)).gamma_ for c in (0.03, 0.3, 3.0)]
        assert found[0] < found[1] < found[2]
        assert found[2] == MOST_GAMMA

    def test_row_weights_equal_repeated_rows_and_sparse_equals_dense(self):
        cells = np.nan_to_num(X)
        repeat = np.arange(ROWS) % 3
        a = BetaICA(3, n_init=2, random_state=0).fit(cells, sample_weight=repeat)
        b = BetaICA(3, n_init=2, random_state=0).fit(np.repeat(cells, repeat, axis=0))
        c = BetaICA(3, n_init=2, random_state=0).fit(sp.csr_array(cells), sample_weight=repeat)
        assert a.gamma_ == pytest.approx(b.gamma_, rel=1e-5)
        assert a.gamma_ == pytest.approx(c.gamma_, rel=1e-5)

    def test_blocks_of_rows_learn_it_too(self):
        cells = table_of(0.1, N=600)
        model = BetaICA(3, random_state=0)
        for _ in range(4):
            model.partial_fit([cells[first : first + 100] for first in range(0, 600, 100)])
        assert 0.01 < model.gamma_ < 0.3
        assert BetaICA(3, gamma=1.0, random_state=0).partial_fit(cells).gamma_ == pytest.approx(1.0)

    def test_a_fit_goes_on_from_it(self):
        cells = table_of(0.3)
        model = BetaICA(3, n_init=3, warm_start=True, random_state=0).fit(cells)
        before = model.gamma_, model.objective_
        again = model.fit(cells)
        # Rows are solved for anew, and where gamma is small the bound has several optima for a row.
        assert again.gamma_ == pytest.approx(before[0], rel=0.5)
        assert again.objective_ > before[1] - 1e-3 * cells.size
        assert model.set_params(gamma=1.0).fit(cells).gamma_ == pytest.approx(1.0)


class TestSampling:
    @pytest.mark.parametrize("counts", [[[3, 0], [0, 4], [2, 1]], [[5, 5], [4, 6], [3, 3]]])
    def test_it_is_drawn_from_its_conditional(self, counts):
        counts = np.array(counts, np.int32)
        state = np.random.default_rng(1).integers(2**64, size=4, dtype=np.uint64)
        drawn, at = np.empty(20_000), 0.0
        for t in range(len(drawn)):
            at = drawn[t] = draw_gamma(counts, at, *np.log(LIMITS), SPREAD, state)
        grid = np.linspace(*np.log(LIMITS), 4001)
        log_density = [
            enumeration.log_prior(counts, Prior(1, 1, np.exp(point))) + stats.norm.logpdf(point, scale=SPREAD)
            for point in grid
        ]
        cumulative = np.cumsum(np.exp(log_density - logsumexp(log_density)))
        thinned = drawn[::10]
        assert stats.kstest(thinned, lambda x: np.interp(x, grid, cumulative)).pvalue > 1e-3

    def test_a_long_run_has_the_enumerated_posterior(self):
        """gamma on a grid, all causes enumerated at each."""
        table = np.array([[1.0, 1, 0], [1, NAN, 0], [0, 0, 1]])
        grid = np.linspace(*np.log(LIMITS), 61)
        found = [enumeration.enumerated(table.tolist(), 2, PRIOR._replace(gamma=np.exp(point))) for point in grid]
        logs = np.array([one.log_evidence for one in found]) + stats.norm.logpdf(grid, scale=SPREAD)
        p = np.exp(logs - logsumexp(logs))
        chain = Chain(np.where(np.isnan(table), -1, table).astype(np.int8), 2, PRIOR, np.random.default_rng(0))
        drawn = np.empty(20_000)
        for t in range(len(drawn)):
            chain.sweep(1)
            drawn[t] = np.log(chain.gamma)
        batches = drawn.reshape(40, -1).mean(axis=1)
        assert abs(drawn.mean() - p @ grid) < 4 * batches.std(ddof=1) / np.sqrt(40)
        assert drawn.std() == pytest.approx(np.sqrt(p @ grid**2 - (p @ grid) ** 2), rel=0.1)

    def test_the_evidence_integrates_over_its_prior(self):
        table = np.random.default_rng(3).integers(0, 2, (4, 3)).astype(float)
        grid = np.linspace(*np.log(LIMITS), 61)
        exact = logsumexp(
            [enumeration.enumerated(table.tolist(), 2, PRIOR._replace(gamma=np.exp(at))).log_evidence for at in grid],
            b=stats.norm.pdf(grid, scale=SPREAD) * (grid[1] - grid[0]),
        )
        found = log_evidence(table.astype(np.int8), 2, PRIOR, [0, 1], 600, Workers())
        assert abs(found - exact) < 3 * found.error < 0.3

    def test_samples_have_their_own_and_an_interval(self):
        model = BetaICA(3, **FEW).fit(X)
        low, high = model.gamma_interval(0.9)
        assert 0.001 < low < model.gamma_ < high
        assert len(np.unique(model._samples.gamma)) == len(model._samples.H)
        given = BetaICA(3, gamma=0.4, **FEW).fit(X)
        assert given.gamma_interval(0.9) == (0.4, 0.4)
        with pytest.raises(ValueError, match=r'^gamma has a posterior with inference="gibbs" alone'):
            BetaICA(3, n_init=1, random_state=0).fit(X).gamma_interval()

    def test_any_jobs_give_the_same_and_files_keep_it(self, tmp_path):
        model = BetaICA(3, **FEW).fit(X)
        other = BetaICA(3, **FEW, n_jobs=2).fit(X)
        assert model.gamma_ == other.gamma_
        save_model(model, tmp_path / "model.npz")
        np.testing.assert_array_equal(load_model(tmp_path / "model.npz").transform(X), model.transform(X))


def test_the_density_of_counts_is_the_twins():
    """The product over counts above m is the Dirichlet-multinomial."""
    counts, gamma, K = np.array([[3, 0, 1], [2, 2, 0]]), 0.37, 3
    total = sum(np.log(gamma + m) for c in counts.ravel() for m in range(c))
    total -= sum(np.log(K * gamma + m) for row in counts for m in range(row.sum()))
    assert total == pytest.approx(enumeration.log_prior(counts, Prior(1, 1, gamma)))
    assert total == pytest.approx(
        np.sum(gammaln(K * gamma) - gammaln(K * gamma + counts.sum(axis=1)))
        + np.sum(gammaln(gamma + counts) - gammaln(gamma))
    )
