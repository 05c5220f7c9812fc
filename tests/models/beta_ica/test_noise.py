"""BetaICA with noise components: the learners against slow twins, what is kept, and every answer."""

import numpy as np
import pytest

from latentbits import AspectBernoulli, BetaICA, BinaryData, load_model, save_model, simulate
from latentbits.fitting.climb import Monitor, climb
from latentbits.fitting.workers import Workers
from latentbits.models.aspect.noise_components import NESTED, NoiseComponents
from latentbits.models.aspect.variational import BayesState, EMState, Prior
from latentbits.numerics import kl_dirichlet
from tests.models.beta_ica.tools import LEARNERS, NAN, each_inference, log_weights
from tests.reference import beta_ica as twin
from tests.reference.assertions import assert_nondecreasing

PRIOR = Prior(0.5, 0.7, 0.8)
CLEAN = simulate.aspect_bernoulli(150, 40, 3, concentration=0.3, sharpness=0.5, random_state=0).X
ADDED = simulate.add_ones(CLEAN, 0.5, random_state=1).X
RATES = pytest.mark.parametrize("rate", [0.001, None])
KINDS = pytest.mark.parametrize("kinds", [kinds for kinds in NESTED.values() if kinds], ids="+".join)
pytestmark = pytest.mark.filterwarnings("ignore:.*no weight on any kept component")


def learner(inference, cells, kinds, rate, K=2, weight=None):
    weight = np.ones(len(cells)) if weight is None else weight
    noise = NoiseComponents(kinds, rate)
    return LEARNERS[inference](BinaryData.of(cells), weight, K, PRIOR, Workers(), noise=noise)


@pytest.fixture(scope="module", params=["vb", "em"])
def auto(request):
    return BetaICA(3, inference=request.param, noise="auto", n_init=2, random_state=0).fit(ADDED)


@RATES
@KINDS
@each_inference
def test_step_equals_twin(inference, kinds, rate):
    rng = np.random.default_rng(0)
    cells = np.where(rng.random((12, 6)) < 0.1, NAN, rng.integers(0, 2, (12, 6)))
    weight = rng.choice([0.0, 1.0, 2.5], 12)
    one = learner(inference, cells, kinds, rate, weight=weight)
    state = one.initialise(rng)
    for _ in range(3):
        new, bound = one.step(state)
        M, N1, N0, expected = twin.noisy_step(
            cells, log_weights(state), state.alpha, state.beta, PRIOR, weight, len(kinds)
        )
        if isinstance(state, BayesState):
            expected -= weight @ kl_dirichlet(state.gamma, PRIOR.gamma)
            np.testing.assert_allclose(new.gamma, PRIOR.gamma + M)
        assert bound == pytest.approx(expected, rel=1e-9)
        np.testing.assert_allclose(new.alpha[:2], PRIOR.alpha + N1[:2])
        np.testing.assert_allclose(new.beta[:2], PRIOR.beta + N0[:2])
        np.testing.assert_allclose(new.alpha[2:] + new.beta[2:], 1)
        for known, kind, n1, n0 in zip(new.alpha[2:], kinds, N1[2:], N0[2:], strict=True):
            own = known if kind == "white" else 1 - known
            pooled = np.clip((n1 if kind == "white" else n0).sum() / (n1 + n0).sum(), 1e-6, 0.05)
            np.testing.assert_allclose(own, pooled if rate is None else rate, rtol=1e-9)
        state = new


@RATES
@each_inference
def test_the_bound_never_falls(inference, rate):
    one, monitor = learner(inference, ADDED, ("white", "black"), rate, 3), Monitor(1e-7, 200, ADDED.size)
    state, objective = climb(one, one.initialise(np.random.default_rng(0)), monitor)
    assert_nondecreasing(monitor.history)
    assert objective == pytest.approx(one.bound(state))
    assert isinstance(state, EMState if inference == "em" else BayesState)


@each_inference
def test_inner_loops_climb_too(inference):
    model = BetaICA(3, inference=inference, noise="both", inner_max_iter=4, n_init=1, random_state=0).fit(ADDED)
    assert_nondecreasing(model.objective_history_)
    assert sorted(model.phantoms_) == ["black", *["content"] * 3, "white"]


class TestAuto:
    def test_keeps_black_only(self, auto):
        trials = auto.noise_trials_
        assert trials["model"][trials["kept"]].tolist() == ["black"]
        assert sorted(auto.phantoms_) == ["black", *["content"] * 3]

    def test_keeps_nothing_of_clean_data(self, auto):
        model = BetaICA(3, inference=auto.inference, noise="auto", n_init=2, random_state=0).fit(CLEAN)
        assert model.phantoms_.tolist() == ["content"] * 3

    def test_maximum_likelihood_decides(self, auto):
        """The evidence bound would keep nothing, and variational EM keeps white on clean sparse tables."""
        likeliest = AspectBernoulli(3, noise="auto", smoothing=0, n_init=2, random_state=0).fit(ADDED)
        assert likeliest.noise_trials_.equals(auto.noise_trials_)

    def test_keeps_nothing_of_sparse_clean_data(self, auto):
        rng = np.random.default_rng(1)
        H = np.where(rng.random((4, 50)) < 0.15, rng.uniform(0.5, 0.95, (4, 50)), 0.01)
        X = (rng.random((200, 50)) < rng.dirichlet(np.full(4, 0.3), 200) @ H).astype(int)
        model = BetaICA(4, inference=auto.inference, noise="auto", n_init=2, random_state=0).fit(X)
        assert set(model.phantoms_) <= {"content", "extinct"}

    def test_is_the_fit_of_the_model_kept(self, auto):
        alone = BetaICA(3, inference=auto.inference, noise="black", n_init=2, random_state=0).fit(ADDED)
        np.testing.assert_array_equal(auto.components_, alone.components_)
        np.testing.assert_array_equal(auto.weights_, alone.weights_)


class TestAnswers:
    def test_noise_is_known(self, auto):
        black = auto.phantoms_ == "black"
        low, high = auto.components_interval(0.9)
        np.testing.assert_allclose(auto.components_[black], 0.999)
        np.testing.assert_allclose(low[black], 0.999, atol=1e-5)
        np.testing.assert_allclose(high[black], 0.999, atol=1e-5)
        assert (high - low)[~black].mean() > 0.01
        assert np.isfinite(auto.alpha_).all()

    def test_noise_is_not_extinct_and_is_not_pruned(self, auto):
        assert not set(np.flatnonzero(auto.phantoms_ == "black")) & set(auto.extinct_)
        pruned = auto.prune()
        assert "black" in pruned.phantoms_
        assert pruned.n_components == np.sum(pruned.phantoms_ == "content")

    def test_transform_is_the_weights(self, auto):
        np.testing.assert_array_equal(auto.transform(ADDED), auto.weights_)

    def test_model_files_keep_every_answer(self, auto, tmp_path):
        save_model(auto, tmp_path / "model.npz")
        same = load_model(tmp_path / "model.npz")
        assert same.noise_trials_.equals(auto.noise_trials_)
        np.testing.assert_array_equal(same.phantoms_, auto.phantoms_)
        np.testing.assert_array_equal(same.extinct_, auto.extinct_)
        np.testing.assert_array_equal(same.denoise(ADDED), auto.denoise(ADDED))
        np.testing.assert_array_equal(same.suspicion(ADDED, kind="presence"), auto.suspicion(ADDED, kind="presence"))

    @pytest.mark.parametrize("noise", ["both", "auto"])
    def test_a_table_of_zeros_gives_no_nan(self, auto, noise):
        with pytest.warns(UserWarning, match="nothing to learn"):
            model = BetaICA(1, inference=auto.inference, noise=noise, n_init=1, random_state=0).fit(np.zeros((5, 4)))
        for answer in (model.components_, model.weights_, model.reconstruct(np.zeros((2, 4)))):
            assert np.isfinite(answer).all()
