"""Binary or continuous: Gaussian factors against a slow twin, and the verdicts of data of known nature."""

import numpy as np
import pytest
from sklearn.decomposition import PCA, FactorAnalysis

from latentbits import BinaryFactorAnalysis, analyse, simulate
from latentbits.fitting.climb import Monitor, climb
from latentbits.models.binary_factors.binary_model import EQUAL
from latentbits.models.binary_factors.em import State
from latentbits.models.binary_factors.gaussian_rival import GaussianFactors, gaussian_sizes
from latentbits.models.binary_factors.states import look
from latentbits.notes import Level
from tests.models.binary_factors.tools import TRUTH, each_noise, limit_of, small, standardised
from tests.reference import binary_factors as twin
from tests.reference.assertions import assert_nondecreasing

NOT_GAUSSIAN = {
    "gamma": lambda rng, shape: rng.gamma(4, size=shape),
    "lognormal": lambda rng, shape: rng.lognormal(0, 1, shape),
    "student": lambda rng, shape: rng.standard_t(3, shape),
    "uniform": lambda rng, shape: rng.random(shape),
    "exponential": lambda rng, shape: rng.exponential(size=shape),
}


def gaussian_rows(seed, N=300, n=8, m=3):
    rng = np.random.default_rng(seed)
    A = np.linalg.qr(rng.normal(size=(n, m)))[0] * rng.uniform(1, 2, m)
    return rng.normal(size=(N, m)) @ A.T + rng.normal(size=(N, n)) * rng.uniform(0.2, 1.5, n)


class TestGaussianFactors:
    @each_noise
    @pytest.mark.parametrize("missing", [0.0, 0.25])
    def test_step_equals_twin(self, noise, missing):
        X, _, theta = small(noise=noise)
        X[np.random.default_rng(0).random(X.shape) < missing] = np.nan
        new, objective = GaussianFactors(X, 3, limit_of(theta)).step(State.of(theta))
        assert objective == pytest.approx(sum(twin.gaussian_log_likelihood(x, *theta[:3]) for x in X))
        for ours, theirs in zip(new.parameters[:3], twin.gaussian_em_step(X, *theta[:3]), strict=True):
            np.testing.assert_allclose(ours, theirs, atol=1e-8)

    def test_steps_never_lower_the_likelihood(self):
        X = standardised(TRUTH)
        X[np.random.default_rng(0).random(X.shape) < 0.1] = np.nan
        learner = GaussianFactors(X, 3, np.full(10, 1e10))
        state, trace = learner.initialise(np.random.default_rng(0)), []
        for _ in range(30):
            state, objective = learner.step(state)
            trace.append(objective)
        assert_nondecreasing(trace, slack=1e-8)
        assert trace[-1] > trace[0] + 10

    def test_the_end_is_that_of_scikit_learn(self):
        X = standardised(TRUTH)
        own = FactorAnalysis(3, tol=1e-9, max_iter=20_000).fit(X).score(X) * len(X)
        learner = GaussianFactors(X, 3, np.full(10, 1e10))
        monitor = Monitor(1e-10, 5000, X.size)
        assert climb(learner, learner.initialise(np.random.default_rng(0)), monitor).objective == pytest.approx(
            own, abs=0.1
        )
        table = gaussian_sizes(X, EQUAL, 3, 0.0)
        # scikit-learn divides by N - 1 in the noise variance, which costs a little likelihood.
        pca = [PCA(k).fit(X).score(X) * len(X) for k in (1, 2, 3)]
        np.testing.assert_allclose(table["log_likelihood"][1:4], pca, atol=0.5)
        assert (table["log_likelihood"][1:4].to_numpy() >= np.array(pca) - 1e-6).all()


class TestNature:
    @each_noise
    def test_binary_data_are_binary_and_gaussian_data_are_not(self, noise):
        for seed in range(4):
            X = simulate.binary_factors(300, 8, 3, 0.5, random_state=seed).X
            nature = BinaryFactorAnalysis(5, noise=noise, n_init=2, random_state=0).fit(X).nature(X)
            assert (nature.kind, nature.n_gaussian) == ("binary", 3)
            assert nature.advantage > 10
            X = gaussian_rows(seed)
            nature = BinaryFactorAnalysis(5, n_init=2, random_state=0).fit(X).nature(X)
            assert (nature.kind, nature.n_gaussian) == ("continuous", 3)
            assert nature.advantage < -10

    def test_noise_is_nothing(self):
        X = np.random.default_rng(0).normal(size=(200, 6)) * [1, 1, 5, 1, 1, 1]
        nature = BinaryFactorAnalysis(3, n_init=1, random_state=0).fit(X).nature(X)
        assert (nature.kind, nature.n_gaussian) == ("none", 0)
        assert nature.advantage == pytest.approx(0, abs=1e-3)

    def test_too_few_binary_factors_leave_it_undecided(self):
        X = simulate.binary_factors(300, 12, 5, 0.5, random_state=0).X
        few = BinaryFactorAnalysis(2, n_init=1, random_state=0).fit(X).nature(X)
        assert (few.kind, few.n_gaussian) == ("undecided", 5)
        assert BinaryFactorAnalysis(6, n_init=2, random_state=0).fit(X).nature(X).kind == "binary"

    @pytest.mark.parametrize("columns", list(NOT_GAUSSIAN))
    def test_columns_that_are_not_gaussian_are_not_binary(self, columns):
        for seed in range(2):
            X = NOT_GAUSSIAN[columns](np.random.default_rng(seed), (300, 6))
            nature = BinaryFactorAnalysis(5, n_init=1, random_state=0).fit(X).nature(X)
            assert nature.kind != "binary"
            assert nature.advantage < 10 or (nature.kind == "undecided" and "two states" not in nature.looks)

    def test_an_outlier_is_no_state(self):
        X = np.random.default_rng(0).normal(size=(300, 6))
        X[0, 0] = 12
        nature = BinaryFactorAnalysis(3, n_init=1, random_state=0).fit(X).nature(X)
        assert (nature.kind, nature.looks) == ("undecided", ("outliers",))
        found = analyse(BinaryFactorAnalysis(3, n_init=1, random_state=0), X)
        assert found.level is Level.WEAK
        assert "rows gather at no two states of any. They look like outliers." in str(found)

    def test_an_outlier_beside_states_is_named(self):
        X = simulate.binary_factors(300, 8, 2, 0.3, random_state=0).X
        X[0, 0] += 30
        found = analyse(BinaryFactorAnalysis(4, n_init=2, random_state=0), X)
        looks = found.facts["nature"].value["looks"]
        assert found.facts["nature"].value["kind"] == "binary"
        assert looks.count("two states") == 2
        assert f"no two states of factor {looks.index('outliers') + 1} (outliers)" in str(found)

    def test_missing_cells(self):
        X = gaussian_rows(5)
        X[np.random.default_rng(0).random(X.shape) < 0.1] = np.nan
        assert BinaryFactorAnalysis(4, n_init=1, random_state=0).fit(X).nature(X).kind == "continuous"

    def test_the_limit_reached_is_told(self):
        assert BinaryFactorAnalysis(2, n_init=1, random_state=0).fit(TRUTH.X).reached_limit_
        assert not BinaryFactorAnalysis(5, n_init=2, random_state=0).fit(TRUTH.X).reached_limit_
        assert not BinaryFactorAnalysis(2, inference="em", n_init=1, random_state=0).fit(TRUTH.X).reached_limit_


class TestProjections:
    def test_they_are_codes_where_there_is_no_noise(self):
        truth = simulate.binary_factors(60, 6, 2, 1e-3, random_state=0)
        model = BinaryFactorAnalysis(2, n_init=2, random_state=0).fit(truth.X)
        np.testing.assert_allclose(model.projections(truth.X), model.transform(truth.X), atol=0.02)

    def test_missing_cells_are_left_out(self):
        model = BinaryFactorAnalysis(3, n_init=2, random_state=0).fit(TRUTH.X)
        X = TRUTH.X[:4].copy()
        X[1, 2:5] = np.nan
        there = np.setdiff1d(np.arange(10), [2, 3, 4])
        root = np.sqrt(model.noise_precision_[there])
        design, target = model.mixing_[there] * root[:, None], (X[1] - model.intercepts_)[there] * root
        np.testing.assert_allclose(model.projections(X)[1], np.linalg.lstsq(design, target, rcond=None)[0], atol=1e-9)
        np.testing.assert_allclose(model.projections(X)[0], model.projections(TRUTH.X[:1])[0])


class TestLook:
    @pytest.mark.parametrize(
        ("between", "said"), [(4.0, "two states"), (1.5, "one hump"), (0.0, "one hump")], ids=["apart", "near", "same"]
    )
    def test_two_normals_are_two_states_when_apart(self, between, said):
        rng = np.random.default_rng(0)
        is_on = rng.random(400) < 0.4
        assert look(rng.normal(size=400) + between * is_on, is_on) == said

    def test_humps_of_any_shape_are_one(self):
        rng = np.random.default_rng(1)
        for z, said in [
            (rng.gamma(2, size=5000), "skewed columns"),
            (-rng.exponential(size=400), "skewed columns"),
            (rng.standard_t(4, 400), None),
            (rng.random(400), "one hump"),
            (rng.laplace(size=400), None),
        ]:
            found = look(z, z > np.quantile(z, 0.8))
            assert found != "two states"
            assert said in (None, found)

    def test_few_rows_are_no_state(self):
        z = np.repeat([0.0, 1.0], [396, 4]) + np.random.default_rng(0).normal(size=400) / 10
        assert look(z, z > 0.5) == "outliers"
        z = np.repeat([0.0, 1.0], [385, 15]) + np.random.default_rng(0).normal(size=400) / 10
        assert look(z, z > 0.5) == "two states"
