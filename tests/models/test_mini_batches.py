"""Learning in batches: a step against its twin, block after block, fits that begin with batches, and warm starts."""

import threading
from dataclasses import replace
from itertools import islice
from types import SimpleNamespace

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal

from latentbits import AspectBernoulli, BetaICA, BinaryData, load_model, save_model, simulate
from latentbits.errors import DataError
from latentbits.fitting.workers import Workers, stopped_by
from latentbits.models.aspect import online as mini_batch
from latentbits.models.aspect.maximum_likelihood import MaximumLikelihood
from latentbits.models.aspect.noise_components import NO_NOISE, NoiseComponents
from latentbits.models.aspect.online import (
    Batches,
    Pace,
    RunningSums,
    _shuffled,
    batch_step,
    first_sums,
    running_in_batches,
    with_solved_rows,
)
from latentbits.models.aspect.variational import Prior, VariationalBayes, VariationalEM
from tests.reference import mini_batch as twin
from tests.reference.assertions import assert_nondecreasing

PRIOR = Prior(0.5, 0.7, 1.0)
PACE = Pace(0.6, 2.0)
X = simulate.aspect_bernoulli(60, 8, 3, missing=0.1, random_state=3).X
WEIGHT = np.random.default_rng(1).uniform(0.5, 2, size=60)
TRUTH = simulate.aspect_bernoulli(2000, 30, 3, concentration=0.3, sharpness=0.1, random_state=4)

CUT_SHORT = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
ML, EM, VB = "maximum likelihood", "variational EM", "variational Bayes"
KINDS = pytest.mark.parametrize("kind", [ML, EM, VB])
MODELS = pytest.mark.parametrize(
    "model",
    [AspectBernoulli(3, random_state=0), BetaICA(3, random_state=0), BetaICA(3, inference="em", random_state=0)],
    ids=[ML, VB, EM],
)


def learner_of(kind, rows=X, row_weight=WEIGHT, noise=NO_NOISE):
    beside = BinaryData.of(rows), row_weight, 3
    if kind == ML:
        return MaximumLikelihood(*beside, Workers(), noise)
    return {EM: VariationalEM, VB: VariationalBayes}[kind](*beside, PRIOR, Workers(), noise=noise)


def started(kind, **given):
    learner = learner_of(kind, **given)
    state = learner.initialise(np.random.default_rng(5))
    return learner, state, first_sums(learner, state)


def blocks_of(rows, size=100, n_epochs=2, seed=0):
    rng = np.random.default_rng(seed)
    for _ in range(n_epochs):
        for index in np.array_split(rng.permutation(len(rows)), len(rows) // size):
            yield rows[index]


class TestStep:
    def test_steps_of_em_equal_the_twin(self):
        """Batches of unequal size and weight, one after the other: decay and scaling by N / batch count."""
        learner, state, sums = started(ML)
        total = WEIGHT.sum()
        H, slow = state.H, (total * sums.n1, total * sums.n0)
        for t, rows in enumerate([slice(0, 10), slice(10, 45), slice(45, 60)], start=1):
            batch = replace(learner, data=learner.data.rows(rows), row_weight=WEIGHT[rows])
            W = with_solved_rows(batch, state, 9).W
            slow, H = twin.em_batch_step(slow, X[rows], W, H, WEIGHT[rows], t, *PACE, total)
            sums, state, _ = batch_step(batch, state, sums, PACE, total)
            assert_allclose(state.H, H, rtol=1e-9)
            assert_allclose(total * sums.n1, slow[0], rtol=1e-9)

    @pytest.mark.parametrize("total", [60.0, 5000.0])
    def test_steps_of_variational_inference_equal_the_twin(self, total):
        learner, state, sums = started(VB)
        alpha, beta, slow = state.alpha, state.beta, (total * sums.n1, total * sums.n0)
        for t, rows in enumerate([slice(0, 10), slice(10, 45), slice(45, 60)], start=1):
            batch = replace(learner, data=learner.data.rows(rows), row_weight=WEIGHT[rows])
            gamma = with_solved_rows(batch, state, 9).gamma
            given = slow, X[rows], gamma, alpha, beta, PRIOR, WEIGHT[rows]
            slow, alpha, beta = twin.bayes_batch_step(*given, t, *PACE, total)
            sums, state, _ = batch_step(batch, state, sums, PACE, total)
            assert_allclose(state.alpha, alpha, rtol=1e-9)
            assert_allclose(state.beta, beta, rtol=1e-9)

    @KINDS
    @pytest.mark.parametrize("noise", [NO_NOISE, NoiseComponents(("white", "black"), None)])
    def test_a_step_on_all_rows_at_the_rate_1_is_a_full_step(self, kind, noise):
        learner, state, sums = started(kind, noise=noise)
        full, objective = learner.step(state)
        _, step, found = batch_step(learner, state, sums, Pace(0.0, 1.0), WEIGHT.sum(), row_passes=0)
        assert found.objective == objective
        for one, other in zip(step, full, strict=True):
            assert_allclose(one, other, rtol=1e-12)

    def test_the_rate_falls(self):
        rates = [Pace(0.7, 10.0).rate(t) for t in (1, 2, 90)]
        assert_allclose(rates, [11**-0.7, 12**-0.7, 0.01**0.7])

    @KINDS
    def test_a_batch_that_is_there_twice_says_the_same(self, kind):
        """The sums of a batch are scaled to all rows, so its size doesn't count."""
        learner, state, sums = started(kind)
        double = learner_of(kind, np.vstack([X, X]), np.tile(WEIGHT, 2))
        one = batch_step(learner, state, sums, PACE, 500.0)
        two = batch_step(double, state, sums, PACE, 500.0)
        assert_allclose(two[0].n1, one[0].n1, rtol=1e-9)
        assert_allclose(two[1].H, one[1].H, rtol=1e-9)

    def test_a_batch_without_weight_changes_nothing(self):
        learner, state, sums = started(ML)
        nothing = replace(learner, row_weight=np.zeros(60))
        after, step, _ = batch_step(nothing, state, sums, PACE, 60.0)
        assert after is sums
        assert_array_equal(step.H, state.H)

    @KINDS
    def test_rows_are_solved_for_with_the_components_fixed(self, kind):
        learner, state, _ = started(kind)
        values = []
        for passes in (0, 3, 9, 300):
            solved = with_solved_rows(learner, state, passes)
            assert_array_equal(solved.H, state.H)
            values.append(learner.evaluate(solved).objective)
        assert_nondecreasing(values)
        assert values[1] > values[0]
        best = values[-1]
        if kind == ML:
            plain = state
            for _ in range(9):
                plain = state._replace(W=learner.evaluate(plain).rows)
            assert best - values[2] < 0.5 * (best - learner.evaluate(plain).objective)  # acceleration counts

    def test_the_order_of_rows_is_shuffled_and_complete(self):
        drawn = _shuffled(25, 10, np.random.default_rng(0))
        epochs = [list(islice(drawn, 3)) for _ in range(2)]
        for epoch in epochs:
            assert [len(batch) for batch in epoch] == [10, 10, 5]
            assert_array_equal(np.sort(np.concatenate(epoch)), np.arange(25))
        assert not np.array_equal(epochs[0][0], epochs[1][0])
        again = next(_shuffled(25, 10, np.random.default_rng(0)))
        assert_array_equal(again, epochs[0][0])


class TestPartialFit:
    @MODELS
    def test_blocks_from_a_generator_end_near_a_fit(self, model):
        blocks = blocks_of(TRUTH.X, n_epochs=3)
        learned = type(model)(**model.get_params())
        for block in blocks:
            learned.partial_fit(block)
        full = type(model)(**{**model.get_params(), "n_init": 3}).fit(TRUTH.X)
        start = type(model)(**model.get_params()).partial_fit(TRUTH.X[:2])
        reached, best, first = (one.log_likelihood(TRUTH.X) for one in (learned, full, start))
        assert reached > best - 0.03 * (best - first)
        assert learned.n_iter_ == len(learned.objective_history_) == 60
        assert learned.score(TRUTH.X) > full.score(TRUTH.X) - 0.3

    @MODELS
    def test_answers_and_files(self, model, tmp_path):
        learned = type(model)(**model.get_params())
        for block in blocks_of(TRUTH.X, n_epochs=1):
            learned.partial_fit(block)
        assert learned.weights_.shape == (100, 3)
        assert_allclose(learned.weights_.sum(axis=1), 1)
        assert learned.sample(5, random_state=0).shape == (5, 30)
        assert len(learned.suspects(TRUTH.X[:50], top=5)) == 5
        assert_allclose(learned.shares_.sum(), 1)
        save_model(learned, tmp_path / "model.npz")
        opened = load_model(tmp_path / "model.npz")
        assert_array_equal(opened.transform(TRUTH.X[:20]), learned.transform(TRUTH.X[:20]))
        opened.partial_fit(TRUTH.X[:100])  # goes on as the model itself would
        assert_array_equal(opened.components_, learned.partial_fit(TRUTH.X[:100]).components_)

    @MODELS
    def test_the_same_on_any_number_of_jobs_and_in_any_form(self, model):
        block = BinaryData.of(np.where(np.random.default_rng(0).random(TRUTH.X.shape) < 0.02, np.nan, TRUTH.X))
        forms = [block, block.to_packed(), BinaryData.of(sp.csr_array(TRUTH.X))]
        learned = [
            type(model)(**{**model.get_params(), "n_jobs": n_jobs}).partial_fit(form).partial_fit(form)
            for form, n_jobs in zip([*forms, forms[0]], [1, 1, 1, 2], strict=True)
        ]
        assert_array_equal(learned[1].components_, learned[0].components_)
        assert_array_equal(learned[3].components_, learned[0].components_)
        dense = type(model)(**model.get_params()).partial_fit(TRUTH.X).partial_fit(TRUTH.X)
        assert_array_equal(learned[2].components_, dense.components_)

    def test_weights_of_rows(self):
        weight = np.tile([0.0, 2.0], 100)
        weighted = AspectBernoulli(3, random_state=0).partial_fit(TRUTH.X[:200], sample_weight=weight)
        assert_array_equal(weighted.row_weight_, weight)
        repeated = AspectBernoulli(3, random_state=0).partial_fit(np.repeat(TRUTH.X[1:200:2], 2, axis=0))
        assert_allclose(weighted.components_, repeated.components_, rtol=1e-6)

    def test_batch_size_cuts_a_block(self):
        cut = AspectBernoulli(3, batch_size=100, random_state=0).partial_fit(TRUTH.X[:250])
        assert cut.n_iter_ == 3
        assert cut.weights_.shape == (50, 3)

    def test_a_total_of_rows_counts_beside_a_prior(self):
        narrow, wide = (
            BetaICA(3, total_samples=total, random_state=0).partial_fit(TRUTH.X[:200]) for total in (1e6, 200)
        )
        seen = BetaICA(3, random_state=0).partial_fit(TRUTH.X[:200])
        assert_allclose(seen.alpha_, wide.alpha_)
        assert np.all(narrow.alpha_ + narrow.beta_ > 1000 * (wide.alpha_ + wide.beta_ - 1))
        ends = [
            AspectBernoulli(3, smoothing=0, total_samples=n, random_state=0).partial_fit(TRUTH.X) for n in (10, 1e6)
        ]
        assert_allclose(ends[0].components_, ends[1].components_)

    @pytest.mark.parametrize("parameter", [{"learning_decay": 0.9}, {"learning_offset": 20.0}])
    def test_the_pace_counts(self, parameter):
        ends = []
        for given in ({}, parameter):
            model = AspectBernoulli(3, random_state=0, **given)
            for block in blocks_of(TRUTH.X, n_epochs=1):
                model.partial_fit(block)
            ends.append(model.components_)
        assert np.abs(ends[0] - ends[1]).max() > 0.01

    def test_noise_components_stay_noise(self):
        model = AspectBernoulli(2, noise="both", noise_rate=None, random_state=0)
        for block in blocks_of(TRUTH.X, n_epochs=1):
            model.partial_fit(block)
        assert model.phantoms_.tolist() == ["content", "content", "white", "black"]
        levels = model.components_[2:]
        assert np.all(levels == levels[:, :1])
        assert levels[0, 0] <= 0.05 < 0.95 <= levels[1, 0]

    @MODELS
    def test_going_on_after_a_fit(self, model):
        """A block is one of many that the fit has seen: it moves components a little."""
        fitted = type(model)(**{**model.get_params(), "n_init": 1, "noise": "white"}).fit(TRUTH.X)
        before, order = fitted.log_likelihood(TRUTH.X), np.argsort(fitted.phantoms_ != "content", kind="stable")
        H = fitted.components_[order]
        fitted.partial_fit(TRUTH.X[:100])
        assert fitted.n_iter_ == 21
        moved = np.abs(fitted.components_ - H).max()
        assert 1e-6 < moved < 0.15
        assert fitted.log_likelihood(TRUTH.X) > before - 0.02 * abs(before)

    def test_blocks_of_a_generator_are_learned_from_in_turn(self):
        blocks = [TRUTH.X[:100], TRUTH.X[100:200]]
        one_by_one = AspectBernoulli(3, random_state=0).partial_fit(blocks[0]).partial_fit(blocks[1])
        at_once = AspectBernoulli(3, random_state=0).partial_fit(block for block in blocks)
        np.testing.assert_array_equal(at_once.components_, one_by_one.components_)
        assert at_once.n_iter_ == 2
        with pytest.raises(ValueError, match="sample_weight belongs to one block"):
            at_once.partial_fit(blocks, sample_weight=np.ones(200))

    def test_going_on_after_a_fit_counts_the_observed_cells(self):
        X = np.where(np.random.default_rng(0).random(TRUTH.X.shape) < 0.9, np.nan, TRUTH.X)
        model = BetaICA(3, n_init=1, random_state=0).fit(X)
        before = (model.alpha_ + model.beta_).sum()
        after = model.partial_fit(X[:100])
        assert (after.alpha_ + after.beta_).sum() < 1.8 * before

    def test_going_on_after_pruning(self, monkeypatch):
        monkeypatch.setattr(BetaICA, "_are_extinct", lambda self, components: np.arange(len(components.mean)) == 3)
        model = BetaICA(4, random_state=0).partial_fit(TRUTH.X[:100])
        pruned = model.prune().partial_fit(TRUTH.X[:100])
        assert pruned.components_.shape == (3, 30)
        assert pruned.n_iter_ == 2

    def test_refusals(self):
        model = AspectBernoulli(3, random_state=0).partial_fit(TRUTH.X[:100])
        with pytest.raises(ValueError, match="X has 29 features"):
            model.partial_fit(TRUTH.X[:100, 1:])
        with pytest.raises(DataError, match="the model has 3 components, and n_components and noise now ask for 4"):
            model.set_params(n_components=4).partial_fit(TRUTH.X[:100])
        with pytest.raises(DataError, match='noise="auto" compares fits'):
            AspectBernoulli(3, noise="auto").partial_fit(TRUTH.X)
        with pytest.raises(DataError, match="without partial_fit"):
            BetaICA(3, inference="gibbs").partial_fit(TRUTH.X)
        with pytest.raises(DataError, match="its last block alone"):
            BetaICA(3).partial_fit(TRUTH.X[:100]).log_evidence()


class TestFitInBatches:
    @MODELS
    def test_ends_near_a_plain_fit_on_any_number_of_jobs(self, model):
        few = {**model.get_params(), "n_init": 2, "tol": 1e-5}
        if "gamma" in few:
            few["gamma"] = 1.0  # learned, the bound has several optima, 0.2 % apart here
        plain = type(model)(**few).fit(TRUTH.X)
        found = [type(model)(**few).set_params(batch_size=100, n_jobs=jobs).fit(TRUTH.X) for jobs in (1, 2)]
        assert_array_equal(found[0].components_, found[1].components_)
        assert abs(found[0].objective_ - plain.objective_) < 1e-4 * TRUTH.X.size
        assert_nondecreasing(found[0].objective_history_)
        assert_allclose(found[0].transform(TRUTH.X), found[0].weights_, atol=1e-6)

    @CUT_SHORT
    @pytest.mark.parametrize("parameter", [{"batch_size": 300}, {"learning_decay": 0.9}, {"random_state": 1}])
    def test_begins_with_batches(self, parameter):
        """After three passes over all rows components are far better than a plain start's, and depend on batches."""
        few = {"n_init": 1, "max_iter": 1, "random_state": 0}
        plain = AspectBernoulli(3, **few).fit(TRUTH.X)
        batches = AspectBernoulli(3, **few, batch_size=100).fit(TRUTH.X)
        assert batches.objective_ > plain.objective_ + 0.01 * TRUTH.X.size
        other = AspectBernoulli(3, **{**few, "batch_size": 100, **parameter}).fit(TRUTH.X)
        assert not np.allclose(other.components_, batches.components_, atol=1e-4)

    @CUT_SHORT
    def test_forms_weights_and_gaps(self):
        gaps = BinaryData.of(np.where(np.random.default_rng(0).random(TRUTH.X.shape) < 0.1, np.nan, TRUTH.X))
        weight = np.random.default_rng(1).uniform(0, 2, size=2000)
        few = {"n_init": 1, "max_iter": 30, "random_state": 0, "batch_size": 200}
        dense, packed = (AspectBernoulli(3, **few).fit(form, sample_weight=weight) for form in (gaps, gaps.to_packed()))
        assert_array_equal(dense.components_, packed.components_)

    def test_a_checkpoint_holds_what_comes_after_the_batches(self, tmp_path):
        few = {"n_init": 1, "random_state": 0, "batch_size": 200}
        free = AspectBernoulli(3, **few).fit(TRUTH.X)
        for _ in range(2):
            kept = AspectBernoulli(3, **few, checkpoint=tmp_path).fit(TRUTH.X)
            assert_array_equal(kept.components_, free.components_)

    def test_refusals(self):
        with pytest.raises(DataError, match="without batch_size"):
            BetaICA(3, inference="gibbs", batch_size=10).fit(TRUTH.X)
        elsewhere = SimpleNamespace(data=object())
        with pytest.raises(DataError, match="on a cluster"):
            running_in_batches(lambda workers: elsewhere, Batches(10, PACE))(Workers())


class TestWarmStart:
    @MODELS
    def test_a_fit_goes_on_from_the_last_one(self, model):
        own = model.get_params()
        if "gamma" in own:
            own["gamma"] = 1.0  # learned, rows that begin anew may end in another optimum of the bound
        if "smoothing" in own:
            own["smoothing"] = 0.0  # with more, the rows' weights, which begin anew, take as long as everything does
        first = type(model)(**{**own, "n_init": 3, "warm_start": True, "tol": 1e-4}).fit(TRUTH.X)
        rough, seeds = first.objective_, first.restarts_["seed"].nunique()
        first.set_params(tol=1e-7).fit(TRUTH.X)
        assert seeds == 3
        assert len(first.restarts_) == 1
        assert first.objective_ >= rough
        first.fit(TRUTH.X)  # there is hardly anything left to gain
        anew = type(model)(**{**own, "n_init": 4, "tol": 1e-7}).fit(TRUTH.X)
        assert first.n_iter_ < anew.restarts_["n_iter"].mean()

    def test_after_blocks_and_with_noise(self):
        model = AspectBernoulli(3, noise="white", warm_start=True, random_state=0)
        for block in blocks_of(TRUTH.X, n_epochs=1):
            model.partial_fit(block)
        before = model.log_likelihood(TRUTH.X)
        model.fit(TRUTH.X)
        assert model.log_likelihood(TRUTH.X) > before
        assert sorted(model.phantoms_) == ["content"] * 3 + ["white"]

    def test_checkpoints_know_the_start(self, tmp_path):
        model = AspectBernoulli(3, n_init=1, warm_start=True, max_iter=3, random_state=0, checkpoint=tmp_path)
        ends = []
        for _ in range(3):
            with pytest.warns(Warning, match="without converging"):
                ends.append(model.fit(TRUTH.X).objective_)
        assert ends[0] < ends[1] < ends[2]

    def test_without_it_a_fit_forgets(self):
        model = AspectBernoulli(3, n_init=1, random_state=0)
        once = model.fit(TRUTH.X).components_
        assert_array_equal(model.fit(TRUTH.X).components_, once)
        model.partial_fit(TRUTH.X[:100])
        assert_array_equal(model.fit(TRUTH.X).components_, once)

    def test_refusals(self):
        model = AspectBernoulli(3, n_init=1, warm_start=True, random_state=0).fit(TRUTH.X)
        with pytest.raises(DataError, match="goes on from 3 components of 30 columns, and this fit has n_components=4"):
            model.set_params(n_components=4).fit(TRUTH.X)
        with pytest.raises(DataError, match="without warm_start"):
            BetaICA(3, inference="gibbs", warm_start=True).fit(TRUTH.X)


def test_sums_are_plain_data():
    """A model file holds them: arrays and numbers."""
    sums = RunningSums(np.ones((1, 2)), np.ones((1, 2)))
    assert (sums.n_steps, sums.weight) == (0, 0.0)


@pytest.mark.parametrize("kind", [AspectBernoulli, BetaICA])
def test_a_fit_stopped_among_its_batches_begins_anew(kind, tmp_path, monkeypatch):
    options = {"n_components": 3, "n_init": 1, "batch_size": 40, "random_state": 0}
    whole = kind(**options).fit(TRUTH.X)
    stop, step, calls = threading.Event(), mini_batch.batch_step, []

    def stopping(*args, **kwargs):
        calls.append(1)
        if len(calls) == 3:
            stop.set()
        return step(*args, **kwargs)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(mini_batch, "batch_step", stopping)
        with stopped_by(stop), pytest.warns(UserWarning, match="run the same fit again to resume it"):
            kind(**options, checkpoint=tmp_path).fit(TRUTH.X)
    resumed = kind(**options, checkpoint=tmp_path).fit(TRUTH.X)
    np.testing.assert_array_equal(resumed.components_, whole.components_)
    np.testing.assert_array_equal(resumed.objective_history_, whole.objective_history_)
