"""Expanded zeros: the twin agrees, the bound is true, the objective never falls, and fits end where exact ones do."""

from functools import partial

import numpy as np
import pytest
import scipy.sparse as sp

from latentbits import AspectBernoulli, BinaryData
from latentbits.fitting import rows as row_chunks
from latentbits.fitting.climb import Monitor, climb
from latentbits.fitting.workers import Workers
from latentbits.models.aspect import maximum_likelihood as sparse_zeros
from latentbits.models.aspect.maximum_likelihood import (
    KAPPA,
    LARGEST,
    ExpandedState,
    ExpandedZeros,
    State,
    worth_expanding,
)
from latentbits.models.aspect.noise_components import NoiseComponents
from tests.reference import sparse_zeros as twin
from tests.reference.assertions import assert_nondecreasing


def make(n=40, D=30, K=3, *, seed=0, missing=0.0, scale=0.05):
    """Sparse cells, row weights, and a state some of whose columns are exact."""
    rng = np.random.default_rng(seed)
    H = np.clip(rng.gamma(0.5, scale, (K, D)), 1e-10, 0.09)
    H[:, :3] = rng.uniform(0.1, 0.9, (K, 3))
    W = rng.dirichlet(np.ones(K), n)
    X = (rng.random((n, D)) < W @ H).astype(float)
    X[rng.random((n, D)) < missing] = np.nan
    X[0], X[1] = 0, np.nan if missing else 0  # a row without ones, and one without anything
    state = ExpandedState(rng.dirichlet(np.ones(K), n), H, np.repeat([1.0, 0.0], [3, D - 3]))
    return X, rng.choice([0.5, 1.0, 2.0], n), state


def stored(X):
    """Sparse data whose missing cells are stored."""
    filled = np.where(np.isnan(X), -1, X)
    csr = sp.csr_array(filled)
    return BinaryData.of(sp.csr_array((np.where(csr.data < 0, np.nan, 1.0), csr.indices, csr.indptr), shape=X.shape))


def learner(X, weight, K=3, n_threads=1, noise=None):
    return ExpandedZeros(stored(X), weight, K, Workers(n_threads), noise or NoiseComponents())


@pytest.mark.parametrize("missing", [0.0, 0.2])
@pytest.mark.parametrize("seed", range(3))
def test_a_step_equals_its_twin(seed, missing):
    X, weight, state = make(seed=seed, missing=missing)
    exact = state.exact > 0
    new, value = learner(X, weight).step(state)
    assert value == pytest.approx(twin.objective(X, state.W, state.H, exact, weight), rel=1e-12)
    W, H = twin.step(X, state.W, state.H, exact, weight)
    np.testing.assert_allclose(new.W, W, atol=1e-8)
    np.testing.assert_allclose(new.H, H, rtol=1e-6, atol=1e-9)
    assert np.abs(new.W - state.W).max() > 0.01, "something moves"


@pytest.mark.parametrize("missing", [0.0, 0.2])
def test_the_log_likelihood_is_above_the_objective_by_no_more_than_the_bound(missing):
    X, weight, state = make(n=80, missing=missing)
    for shrink in (1.0, 0.3):  # the bound is exact where p is LARGEST and goes to 0 with p
        state = state._replace(H=np.where(state.exact > 0, state.H, shrink * state.H))
        rows = learner(X, weight)
        left = twin.error(X, state.W, state.H, state.exact > 0, weight)
        assert 0 < left <= rows.error_bound(state)
        assert rows.log_likelihood(state) - rows.step(state)[1] == pytest.approx(left, rel=1e-6)
    assert 0.3 * rows.error_bound(state) < left or missing, "the bound is not loose"


def test_kappa_makes_a_lower_bound():
    p = np.linspace(1e-6, LARGEST, 1000)
    above = np.log1p(-p) + p + KAPPA * p**2 / 2
    assert (above >= -1e-15).all()
    assert above[-1] == pytest.approx(0, abs=1e-15)
    assert (above <= (KAPPA - 1) / 2 * p**2).all()
    assert pytest.approx(twin.KAPPA) == KAPPA


def test_without_expanded_columns_a_step_is_that_of_em():
    X, weight, state = make(missing=0.2)
    state = state._replace(exact=np.ones(30))
    rows = learner(X, weight)
    new, value = rows.step(state)
    (W, H), expected = rows.exactly.step(State(state.W, state.H))
    assert value == expected
    np.testing.assert_array_equal(new.W, W)
    np.testing.assert_array_equal(new.H, H)


@pytest.mark.parametrize("accelerate", [False, True])
@pytest.mark.parametrize("kinds", [(), ("white",)])
def test_the_objective_never_falls_while_columns_become_exact(accelerate, kinds):
    X, weight, _ = make(n=600, D=120, K=4, seed=1, missing=0.05, scale=0.03)
    rows = learner(X, weight, 2 if kinds else 4, noise=NoiseComponents(kinds, 0.001))
    start = rows.initialise(np.random.default_rng(0))
    monitor = Monitor(0.0, 120, float(X.size))
    end, objective = climb(rows, start, monitor, accelerate=accelerate)
    assert_nondecreasing(monitor.history)
    assert start.exact.sum() < end.exact.sum() < 120, "some columns became exact, not all"
    assert objective <= rows.log_likelihood(end) <= objective + rows.error_bound(end)
    assert (end.H[:, end.exact == 0] <= LARGEST).all()
    if kinds:
        np.testing.assert_array_equal(end.H[-1], 0.001)


@pytest.fixture(scope="module")
def sparse_table():
    X, _, _ = make(n=600, D=200, K=3, seed=4, scale=0.04)
    return sp.csr_array(X.astype(np.int8))


class TestEstimator:
    def test_it_ends_near_an_exact_fit(self, sparse_table):
        expanded, exact = (
            AspectBernoulli(3, smoothing=0, n_init=3, random_state=0, tol=1e-7, zeros=zeros).fit(sparse_table)
            for zeros in ("expanded", "exact")
        )
        n_cells = 600 * 200
        found = expanded.expansion_
        assert expanded.objective_ <= found["log_likelihood"] <= expanded.objective_ + found["bound"]
        assert found["bound"] < 1e-4 * n_cells
        assert 0 < found["exact_columns"] < 200 / 3
        assert exact.expansion_ is None
        assert found["log_likelihood"] > exact.objective_ - 1e-4 * n_cells
        assert expanded.objective_ != exact.objective_
        assert expanded.log_likelihood(sparse_table) >= found["log_likelihood"] - 1e-6
        assert_nondecreasing(expanded.objective_history_)

    def test_the_same_on_any_number_of_threads_and_for_dense_data(self, sparse_table, monkeypatch):
        monkeypatch.setattr(row_chunks, "CHUNK_WORK", 60_000)  # six chunks
        make = partial(AspectBernoulli, 3, n_init=1, tol=1e-4, random_state=0, zeros="expanded")
        one, three = make(n_jobs=1).fit(sparse_table), make(n_jobs=3).fit(sparse_table)
        np.testing.assert_array_equal(one.components_, three.components_)
        np.testing.assert_array_equal(one.components_, make().fit(sparse_table.toarray()).components_)

    def test_a_row_of_weight_2_counts_like_two_rows(self, sparse_table):
        rows = sparse_table[:200]
        twice = sp.csr_array(sp.vstack([rows, rows[:50]]))
        weight = np.repeat([2.0, 1.0], [50, 150])
        make = partial(AspectBernoulli, 3, n_init=1, tol=1e-4, random_state=0, zeros="expanded")
        a, b = make().fit(rows, sample_weight=weight), make().fit(twice)
        np.testing.assert_allclose(a.components_, b.components_, atol=1e-7)
        assert np.abs(a.components_ - make().fit(rows).components_).max() > 1e-3, "the weights matter"

    def test_noise_that_needs_exact_zeros_gets_them(self, sparse_table):
        make = partial(AspectBernoulli, 2, n_init=1, tol=1e-3, random_state=0, zeros="expanded")
        assert make(noise="white").fit(sparse_table).expansion_ is not None
        for given in ({"noise": "black"}, {"noise": "white", "noise_rate": None}):
            assert make(**given).fit(sparse_table).expansion_ is None

    def test_auto_goes_by_the_predicted_cost(self, sparse_table, monkeypatch):
        data = BinaryData.of(sparse_table)
        assert not worth_expanding(data, 3), "a small table"
        monkeypatch.setattr(sparse_zeros, "LEAST_WORK", 0)
        blank = BinaryData.of(sp.random_array((600, 2000), density=0.002, rng=np.random.default_rng(0)).astype(bool))
        assert worth_expanding(blank, 3)
        assert not worth_expanding(BinaryData.of(blank.dense()), 3), "dense data"
        full = BinaryData.of(sp.random_array((600, 200), density=0.2, rng=np.random.default_rng(0)).astype(bool))
        assert not worth_expanding(full, 3)
        fit = AspectBernoulli(2, n_init=1, tol=1e-3, random_state=0).fit(blank)
        assert fit.expansion_ is not None

    def test_checkpoints_of_exact_and_expanded_fits_keep_apart(self, sparse_table, monkeypatch, tmp_path):
        monkeypatch.setattr(sparse_zeros, "LEAST_WORK", 0)
        blank = sp.random_array((600, 2000), density=0.002, rng=np.random.default_rng(0)).astype(bool).tocsr()
        make = partial(AspectBernoulli, 2, n_init=1, tol=1e-3, random_state=0, checkpoint=tmp_path)
        assert make().fit(blank).expansion_ is not None
        assert make().fit(blank.toarray()).expansion_ is None
