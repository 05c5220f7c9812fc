import threading

import pytest
import threadpoolctl

from latentbits.errors import DataError
from latentbits.fitting.workers import Workers, n_workers, one_blas_thread


@pytest.mark.parametrize("n", [1, 2, 5])
def test_results_keep_the_order_of_the_items(n):
    with Workers(n) as workers:
        assert workers.map(lambda i: i * i, range(50)) == [i * i for i in range(50)]


def test_two_threads_work_at_the_same_time():
    meeting = threading.Barrier(2, timeout=10)
    with Workers(2) as workers:
        assert sorted(workers.map(lambda _: meeting.wait(), range(2))) == [0, 1]


def test_errors_come_through():
    with Workers(2) as workers, pytest.raises(ZeroDivisionError):
        workers.map(lambda i: 1 // i, [1, 0])


def test_n_jobs_counts_as_in_joblib():
    assert n_workers(None) == n_workers(1) == 1
    assert n_workers(3) == 3
    assert n_workers(-1) >= 1
    with pytest.raises(DataError, match="n_jobs=0 is no number of threads; give 1 or more"):
        n_workers(0)


def blas_threads():
    return {library["num_threads"] for library in threadpoolctl.threadpool_info() if library["user_api"] == "blas"}


def test_every_blas_has_one_thread_until_the_last_fit_ends():
    with threadpoolctl.threadpool_limits(2, user_api="blas"):
        before = blas_threads()
        with one_blas_thread():
            assert blas_threads() == {1}
            with one_blas_thread():
                pass
            assert blas_threads() == {1}, "another fit is still under way"
        assert blas_threads() == before == {2}
        with pytest.raises(ZeroDivisionError), one_blas_thread():
            raise ZeroDivisionError
        assert blas_threads() == before
