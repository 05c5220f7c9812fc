import threading

import pytest

from latentbits.fitting.workers import Workers, n_workers


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
