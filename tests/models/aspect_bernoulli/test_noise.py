"""AspectBernoulli with noise components: learning, what is kept, and every answer."""

import re
import threading
import warnings

import numpy as np
import pytest

from latentbits import (
    AspectBernoulli,
    BinaryData,
    DataError,
    DegenerateDataWarning,
    load_model,
    save_model,
    select_order,
    simulate,
)
from latentbits.findings.aspect import _noise_note
from latentbits.fitting.climb import Monitor, climb
from latentbits.fitting.workers import Workers, stopped_by
from latentbits.models.aspect.maximum_likelihood import MaximumLikelihood, State
from latentbits.models.aspect.noise_components import (
    LEAST,
    MOST,
    NESTED,
    NoiseComponents,
    gain_of,
    needed_gain,
    noise_trials,
)
from latentbits.sentences import sentence
from tests.reference import aspect
from tests.reference.assertions import assert_nondecreasing

NAN = np.nan
CLEAN = simulate.aspect_bernoulli(200, 40, 3, concentration=0.3, sharpness=0.5, random_state=0).X
ADDED = simulate.add_ones(CLEAN, 0.5, random_state=1)
LOST = simulate.corrode(CLEAN, random_state=1)
RATES = pytest.mark.parametrize("rate", [0.001, 0.03, None])
KINDS = pytest.mark.parametrize("kinds", [kinds for kinds in NESTED.values() if kinds], ids="+".join)


def learner(cells, kinds, rate, K=3, weight=None):
    weight = np.ones(len(cells)) if weight is None else weight
    return MaximumLikelihood(BinaryData.of(cells), weight, K, Workers(), NoiseComponents(kinds, rate))


@pytest.fixture(scope="module")
def black():
    return AspectBernoulli(3, noise="black", smoothing=0, n_init=3, random_state=0).fit(ADDED.X)


@pytest.fixture(scope="module")
def auto():
    return AspectBernoulli(3, noise="auto", smoothing=0, n_init=3, random_state=0).fit(ADDED.X)


class TestLearner:
    @RATES
    @KINDS
    def test_step_equals_twin(self, kinds, rate):
        rng = np.random.default_rng(0)
        cells = np.where(rng.random((15, 8)) < 0.1, NAN, rng.integers(0, 2, (15, 8)))
        weight = rng.choice([0.0, 1.0, 2.5], 15)
        one = learner(cells, kinds, rate, 2, weight)
        H = one.noise.after(rng.uniform(0.01, 0.99, (2, 8)))
        state = State(rng.dirichlet(np.ones(len(H)), 15), H)
        for _ in range(3):  # the rate of a later step is no longer that of the start
            new, objective = one.step(state)
            W, H, expected = aspect.noisy_em_step(cells, *state, weight, kinds, rate, (LEAST, MOST))
            np.testing.assert_allclose(new.W, W, atol=1e-9)
            np.testing.assert_allclose(new.H, H, atol=1e-9)
            assert objective == pytest.approx(expected, rel=1e-9)
            state = new

    @RATES
    @KINDS
    def test_climbs_and_stays_blank_or_full(self, kinds, rate):
        one, monitor = learner(ADDED.X, kinds, rate), Monitor(1e-7, 300, ADDED.X.size)
        state, _ = climb(one, one.initialise(np.random.default_rng(0)), monitor)
        assert_nondecreasing(monitor.history)
        for row, kind in zip(state.H[-len(kinds) :], kinds, strict=True):
            own = row if kind == "white" else 1 - row
            assert (own == own[0]).all(), "the same in all columns"
            assert own[0] == pytest.approx(rate) if rate is not None else LEAST <= own[0] <= MOST

    def test_extrapolation_beyond_the_bounds_is_brought_back(self):
        one = learner(CLEAN, ("white", "black"), None)
        H = np.vstack([np.full((3, 40), 0.5), np.full(40, -0.2), np.full(40, 0.6)])
        out = one.extrapolate([State(np.full((200, 5), 0.2), H)] * 3, 1.0)
        np.testing.assert_allclose(out.H[:, 0], [0.5, 0.5, 0.5, LEAST, 1 - MOST])

    def test_content_starts_where_it_does_without_noise(self):
        starts = [learner(CLEAN, kinds, 0.001).initialise(np.random.default_rng(5)).H[:3] for kinds in NESTED.values()]
        for start in starts:
            np.testing.assert_array_equal(start, starts[0])

    def test_a_learned_rate_is_found(self):
        """A blank component that makes a 1 in 3 % of its cells."""
        rng = np.random.default_rng(0)
        H = np.vstack([rng.beta(0.1, 0.1, (2, 60)), np.full(60, 0.03)])
        cells = rng.random((500, 60)) < rng.dirichlet(np.full(3, 0.3), 500) @ H
        fixed, learned = (
            AspectBernoulli(2, noise="white", noise_rate=rate, n_init=3, random_state=0).fit(cells.astype(int))
            for rate in (0.001, None)
        )
        assert 0.01 < learned.components_[learned.phantoms_ == "white"][0, 0] < 0.05
        assert learned.objective_ > fixed.objective_ + 10


class TestFit:
    @pytest.mark.parametrize("noise", ["white", "black", "both"])
    def test_noise_comes_beside_the_components(self, noise):
        model = AspectBernoulli(3, noise=noise, n_init=1, random_state=0).fit(ADDED.X)
        kinds = NESTED[noise]
        assert sorted(model.phantoms_) == sorted(["content"] * 3 + list(kinds))
        assert model.n_components == 3
        assert model.weights_.shape == (200, 3 + len(kinds))
        assert (np.diff(model.shares_) <= 0).all()
        assert model.noise_trials_ is None
        for kind in kinds:
            np.testing.assert_allclose(
                model.components_[model.phantoms_ == kind], {"white": 0.001, "black": 0.999}[kind]
            )

    def test_black_takes_the_added_ones(self, black):
        rows, columns = np.nonzero(ADDED.X)
        causes = black.explain(ADDED.X, cells=list(zip(rows.tolist(), columns.tolist(), strict=True)))
        share = causes[causes["kind"] == "black"]["probability"].to_numpy()
        is_added = ADDED.changed[rows, columns]
        assert share[is_added].mean() > 0.6
        assert share[~is_added].mean() < 0.5 * share[is_added].mean()  # ones put on ones are black's too

    def test_every_restart_knows_its_noise(self, black):
        for components in black._restart_components:
            assert components.kinds.tolist() == ["content"] * 3 + ["black"]

    def test_free_parameters(self, black):
        fit = -2 * black.log_likelihood(ADDED.X)
        assert black.aic(ADDED.X) == pytest.approx(2 * (40 * 3 + 3 * 200) + fit)
        learned = AspectBernoulli(3, noise="black", noise_rate=None, n_init=1, random_state=0).fit(ADDED.X)
        n = (learned.aic(ADDED.X) + 2 * learned.log_likelihood(ADDED.X)) / 2
        assert n == pytest.approx(40 * 3 + 3 * 200 + 1)

    def test_transform_maximises_each_row(self, black):
        H = black.components_
        for x, w in zip(ADDED.X[:10], black.weights_, strict=False):
            best = aspect.row_log_likelihood(x, aspect.fold_in(x, H, 1 - H), H, 1 - H)
            assert aspect.row_log_likelihood(x, w, H, 1 - H) >= best - 1e-5

    def test_a_free_blank_component_is_content(self):
        """With noise given, nothing is looked for by `phantom_threshold`."""
        X = simulate.aspect_bernoulli(200, 30, 3, white_phantom=True, sharpness=0.2, random_state=0).X
        assert "white" in AspectBernoulli(3, n_init=3, random_state=0).fit(X).phantoms_
        assert sorted(AspectBernoulli(3, noise="black", n_init=3, random_state=0).fit(X).phantoms_) == [
            "black",
            *["content"] * 3,
        ]


class TestAuto:
    @pytest.mark.parametrize(("X", "kept"), [(CLEAN, "none"), (ADDED.X, "black"), (LOST.X, "white")])
    def test_keeps_what_the_data_need(self, X, kept):
        model = AspectBernoulli(3, noise="auto", smoothing=0, n_init=3, random_state=0).fit(X)
        trials = model.noise_trials_
        assert trials["model"].tolist() == list(NESTED)
        assert trials["model"][trials["kept"]].tolist() == [kept]
        assert sorted(model.phantoms_) == sorted(["content"] * 3 + list(NESTED[kept]))
        assert model.objective_ == trials["objective"][trials["kept"]].item()

    @pytest.mark.parametrize("name", list(NESTED))
    def test_each_trial_is_the_fit_that_it_is_named_after(self, auto, name):
        noise = None if name == "none" else name
        alone = AspectBernoulli(3, noise=noise, smoothing=0, n_init=3, random_state=0).fit(ADDED.X)
        tried = auto.noise_trials_.set_index("model").loc[name]
        assert tried["objective"] == alone.objective_
        assert tried["gain_per_row"] == pytest.approx(
            (alone.objective_ - auto.noise_trials_["objective"][0]) / 200, abs=1e-12
        )

    def test_is_the_fit_of_the_model_kept(self, auto, black):
        np.testing.assert_array_equal(auto.components_, black.components_)
        np.testing.assert_array_equal(auto.weights_, black.weights_)

    def test_a_generator_is_a_seed_too(self):
        """All trials have the same starts, whatever the seed comes from."""
        source = np.random.default_rng(3)
        model = AspectBernoulli(3, noise="auto", n_init=1, random_state=source).fit(ADDED.X)
        alone = AspectBernoulli(3, noise="black", n_init=1, random_state=np.random.default_rng(3)).fit(ADDED.X)
        np.testing.assert_array_equal(model.components_, alone.components_)

    def test_a_repeated_row_and_a_row_of_weight_2_need_the_same(self):
        # To the end: climbs that stop early differ by more than rounding, which depends on the processor.
        to_the_end = {"n_init": 1, "tol": 1e-10, "max_iter": 20_000, "random_state": 0}
        twice = AspectBernoulli(3, noise="auto", **to_the_end).fit(np.repeat(ADDED.X, 2, axis=0))
        weighted = AspectBernoulli(3, noise="auto", **to_the_end)
        weighted.fit(ADDED.X, sample_weight=np.full(200, 2.0))
        np.testing.assert_allclose(
            twice.noise_trials_["gain_per_row"], weighted.noise_trials_["gain_per_row"], atol=1e-4
        )

    def test_interrupted_it_keeps_what_was_tried(self):
        event = threading.Event()
        event.set()
        with stopped_by(event), pytest.warns(UserWarning, match="^interrupted: this is the best of 1 restarts so far"):
            model = AspectBernoulli(3, noise="auto", n_init=3, random_state=0).fit(ADDED.X)
        assert model.noise_trials_["model"].tolist() == ["none"]
        assert model.phantoms_.tolist() == ["content"] * 3
        said = sentence(_noise_note(model))
        assert said == (
            "A white noise component was not tried, as the fit was interrupted; "
            "a black noise component was not tried, as the fit was interrupted."
        )

    def test_gains_beside_what_is_kept(self):
        trials = noise_trials({"none": -100.0, "white": -90.0, "black": -70.0, "both": -50.0}, 10, 0.5)
        assert trials["model"][trials["kept"]].tolist() == ["both"]
        assert gain_of("white", trials) == pytest.approx(2.0)
        assert gain_of("black", trials) == pytest.approx(4.0)
        interrupted = noise_trials({"none": -100.0}, 10, 0.5)
        assert gain_of("black", interrupted) is None

    def test_more_is_needed_of_few_rows_and_of_blank_components_of_sparse_tables(self):
        assert needed_gain("white", 50, 0.5) > needed_gain("white", 500, 0.5) > 0.25
        assert needed_gain("white", 200, 0.05) > needed_gain("white", 200, 0.5) > needed_gain("black", 200, 0.05)

    def test_swapping_0_and_1_swaps_white_and_black(self):
        model = AspectBernoulli(3, noise="auto", n_init=3, random_state=0).fit(1 - ADDED.X)
        assert sorted(model.phantoms_) == [*["content"] * 3, "white"]
        needed = model.noise_trials_.set_index("model")["needed"]
        mirrored = noise_trials(dict.fromkeys(NESTED, 0.0), 200, ADDED.X.mean()).set_index("model")["needed"]
        assert needed["white"] == pytest.approx(mirrored["black"])


@pytest.mark.filterwarnings("ignore:.*no weight on any kept component")
class TestAnswers:
    def test_denoising_takes_ones_away(self, black):
        cleaned = black.denoise(ADDED.X)
        assert (cleaned <= ADDED.X).all()
        gone = cleaned < ADDED.X
        assert gone[ADDED.changed].mean() > 3 * gone[(ADDED.X == 1) & ~ADDED.changed].mean()

    def test_model_files_keep_every_answer(self, auto, tmp_path):
        save_model(auto, tmp_path / "model.npz")
        same = load_model(tmp_path / "model.npz")
        assert same.get_params() == auto.get_params()
        assert same.noise_trials_.equals(auto.noise_trials_)
        np.testing.assert_array_equal(same.phantoms_, auto.phantoms_)
        for kind in ("absence", "presence"):
            np.testing.assert_array_equal(same.suspicion(ADDED.X, kind=kind), auto.suspicion(ADDED.X, kind=kind))
        assert same.aic(ADDED.X) == auto.aic(ADDED.X)

    def test_numbers_of_components_can_be_compared(self):
        found = select_order(AspectBernoulli(noise="black", n_init=1, random_state=0), ADDED.X, (2, 3), criterion="aic")
        assert found.table["n_components"].tolist() == [1, 2, 3]
        assert found.best_order in (2, 3)


class TestOddInput:
    @pytest.mark.parametrize("noise", ["white", "black", "both", "auto"])
    @pytest.mark.parametrize(
        "X", [np.zeros((6, 4)), np.ones((6, 4)), np.eye(4), np.array([[1.0, 0, NAN], [0, NAN, 1], [NAN] * 3])]
    )
    @pytest.mark.parametrize("K", [1, 3])
    def test_nothing_is_nan(self, X, K, noise):
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            model = AspectBernoulli(K, noise=noise, n_init=2, random_state=0).fit(X)
        assert len([w for w in said if issubclass(w.category, DegenerateDataWarning)]) == len(said) <= 1
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for answer in (model.components_, model.weights_, model.reconstruct(X), model.denoise(X), model.aic(X)):
                assert np.isfinite(answer).all()
            for kind in ("absence", "presence"):
                assert np.isfinite(model.suspicion(X, kind=kind)).all()

    def test_a_table_of_zeros_is_said_to_leave_nothing(self):
        with pytest.warns(DegenerateDataWarning, match="^all 24 observed cells are 0, so there is nothing to learn;"):
            AspectBernoulli(1, noise="black", n_init=1, random_state=0).fit(np.zeros((6, 4)))

    @pytest.mark.parametrize(
        ("parameters", "message"),
        [
            ({"noise": "grey"}, 'noise=\'grey\' is unknown; use "white", "black", "both", "auto" or None'),
            (
                {"noise": "white", "noise_rate": 0},
                "noise_rate=0 must be a number of at least 1e-09 and below 0.1, or None",
            ),
            (
                {"noise": "white", "noise_rate": 0.5},
                "noise_rate=0.5 must be a number of at least 1e-09 and below 0.1, or None",
            ),
        ],
    )
    def test_impossible_parameters_are_refused(self, parameters, message):
        with pytest.raises(DataError, match=f"^{re.escape(message)}$"):
            AspectBernoulli(2, **parameters).fit(CLEAN)
