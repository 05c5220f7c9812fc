"""Fits on a Dask cluster: the answer of this process to the last bit, on any number of workers, also after a loss."""

import os
import signal
import threading
from contextlib import contextmanager

import numpy as np
import pytest
import scipy.sparse as sp

from latentbits import AspectBernoulli, BetaICA, BinaryData, DataError, simulate
from latentbits.fitting import cluster, rows
from latentbits.fitting.climb import Monitor
from latentbits.fitting.cluster import ClusterData

distributed = pytest.importorskip("distributed", reason="needs dask and distributed")
da = pytest.importorskip("dask.array")

CELLS = simulate.aspect_bernoulli(4000, 60, 4, random_state=0).X
HOLES = np.where(np.random.default_rng(1).random(CELLS.shape) < 0.05, np.nan, CELLS)


@contextmanager
def workers(n, processes=False):
    options = {"n_workers": n, "threads_per_worker": 1, "dashboard_address": "127.0.0.1:0", "silence_logs": 50}
    with distributed.LocalCluster(processes=processes, **options) as local, distributed.Client(local):
        yield local


def blocks_of(cells, n_rows=900):
    return da.from_array(cells, chunks=(n_rows, 40))


def model(**options):
    return AspectBernoulli(4, **{"n_init": 1, "random_state": 0, "tol": 1e-6, **options})


def assert_same(one, other):
    np.testing.assert_array_equal(one.components_, other.components_)
    np.testing.assert_array_equal(one.weights_, other.weights_)
    np.testing.assert_array_equal(one.objective_history_, other.objective_history_)
    assert one.objective_ == other.objective_


@pytest.fixture(autouse=True)
def several_chunks(monkeypatch):
    monkeypatch.setattr(rows, "CHUNK_WORK", 100_000)  # nine chunks in place of one


@pytest.mark.parametrize("n", [1, 3])
def test_the_answer_is_the_same_on_any_number_of_workers(n):
    weight = np.random.default_rng(2).random(4000) + 0.1
    here = model(n_init=2, n_jobs=2).fit(HOLES, sample_weight=weight)
    with workers(n):
        there = model(n_init=2, n_jobs=2).fit(blocks_of(HOLES), sample_weight=weight)
        np.testing.assert_array_equal(there.transform(blocks_of(HOLES)), here.weights_)
        assert there.log_likelihood(blocks_of(HOLES)) == here.log_likelihood(HOLES)
    assert_same(there, here)


@pytest.mark.parametrize("inference", ["vb", "em"])
def test_variational_learners_too(inference):
    def fitted(X):
        with pytest.warns(Warning, match="without converging"):
            return BetaICA(3, inference=inference, n_init=1, max_iter=12, noise="white", random_state=0).fit(X)

    with workers(2):
        assert_same(fitted(blocks_of(HOLES)), fitted(HOLES))


def test_weights_that_arrive_unaligned_make_the_same_sums(monkeypatch):
    """Between processes arrays arrive at odd addresses, where NumPy adds up in another order."""
    monkeypatch.setattr(rows, "CHUNK_WORK", 2_000_000)
    rng = np.random.default_rng(0)
    X = simulate.aspect_bernoulli(40_000, 16, 3, random_state=0).X
    weight = rng.random(40_000)

    def fitted(X):
        with pytest.warns(Warning, match="without converging"):
            return AspectBernoulli(3, n_init=1, max_iter=12, random_state=0).fit(X, sample_weight=weight)

    with workers(1, processes=True):
        assert_same(fitted(blocks_of(X, 15_000)), fitted(X))


def test_sparse_blocks_and_tables_of_this_process():
    here = model().fit(CELLS)
    parts = [sp.csr_array(CELLS[:1500]), sp.csr_array(CELLS[1500:])]
    with workers(2):
        client = distributed.default_client()
        assert_same(model().fit(ClusterData.of_data(BinaryData.of(CELLS), client)), here)
        assert_same(model().fit(ClusterData.of_data(BinaryData.of(parts), client)), here)


def test_without_a_cluster_a_dask_array_is_read_here():
    assert_same(model().fit(blocks_of(CELLS)), model().fit(CELLS))


def test_a_cluster_keeps_checkpoints(tmp_path, monkeypatch):
    here = model().fit(CELLS)
    with workers(2):
        model(checkpoint=tmp_path).fit(blocks_of(CELLS))
        monkeypatch.setattr(Monitor, "record", lambda self, value: pytest.fail("a pass was made"))
        again = model(checkpoint=tmp_path).fit(blocks_of(CELLS))
    assert_same(again, here)


def test_a_bad_cell_is_named():
    bad = CELLS.astype(int)
    bad[2999, 7] = 3
    with workers(2), pytest.raises(DataError, match='row "3000", column 8: value 3 is neither 0 nor 1'):
        model().fit(blocks_of(bad))


def test_an_error_of_the_work_is_not_taken_for_a_loss(monkeypatch):
    def fails(chunk):
        raise ZeroDivisionError("of the work")

    with workers(2):
        data = ClusterData.of_data(BinaryData.of(CELLS), distributed.default_client())
        with pytest.raises(ZeroDivisionError, match="of the work"):
            data.as_rows(np.ones(4000), [slice(0, 2000), slice(2000, 4000)]).total(fails, ())


def test_arrays_that_are_no_longer_used_are_forgotten():
    with workers(1):
        data = ClusterData.of_data(BinaryData.of(CELLS), distributed.default_client())
        held = data.as_rows(np.ones(4000), [slice(0, 2000), slice(2000, 4000)])
        for value in range(5):
            array = held.placed(np.full((4000, 2), float(value)))
        np.testing.assert_array_equal(held.whole(array), np.full((4000, 2), 4.0))
        assert held._all("forget", []) == [1]


def kill(pid):
    os.kill(pid, signal.SIGKILL)


@pytest.mark.parametrize("sent", [False, True], ids=["dask array", "table of this process"])
def test_a_killed_worker_costs_no_bit(sent, monkeypatch):
    """Killed in the middle of a fit, when the climb has gone beyond the last position that was kept."""
    monkeypatch.setattr(cluster, "PATIENCE", 2.0)
    here = model(tol=1e-8).fit(CELLS)
    with workers(2, processes=True) as local:
        victim = local.workers[0].pid
        calls, killed = [], threading.Event()
        call = cluster.ClusterRows._call

        def counted(self, asked):
            calls.append(asked)
            if len(calls) == 60:
                kill(victim)
                killed.set()
            return call(self, asked)

        monkeypatch.setattr(cluster.ClusterRows, "_call", counted)
        X = blocks_of(CELLS)
        there = model(tol=1e-8).fit(
            ClusterData.of_data(BinaryData.of(CELLS), distributed.default_client()) if sent else X
        )
        assert killed.is_set()
        assert len(calls) > 60
    assert_same(there, here)
