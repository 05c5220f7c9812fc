import pytest

from latentbits.fitting.climb import Monitor


def run(monitor, objectives):
    for objective in objectives:
        if monitor.finished:
            break
        monitor.record(objective)
        monitor.check()
    return monitor


def test_converges_when_the_rise_per_cell_is_below_tol():
    monitor = run(Monitor(tol=0.1, max_iter=100, n_cells=10), [-50, -40, -38, -37.5, -1])
    assert monitor.converged
    assert monitor.history == [-50, -40, -38, -37.5]
    assert monitor.n_iter == 4


def test_a_rise_of_exactly_tol_goes_on():
    assert not run(Monitor(tol=0.5, max_iter=100), [0.0, 0.5]).converged


def test_running_out_is_not_converging():
    monitor = run(Monitor(tol=1e-9, max_iter=3), [1.0, 2.0, 3.0, 4.0])
    assert monitor.finished
    assert monitor.n_iter == 3
    assert not monitor.converged


def test_first_check_never_converges():
    assert not run(Monitor(tol=1e9, max_iter=100), [-5.0]).converged


def test_passes_between_checks_count_together():
    monitor = Monitor(tol=0.5, max_iter=100)
    for objective in [0.0, 0.3, 0.6]:
        monitor.record(objective)
    monitor.check()
    for objective in [0.7, 0.8, 1.2]:  # single rises below tol, 0.6 in all
        monitor.record(objective)
    monitor.check()
    assert not monitor.converged


def test_cancelled_ends_without_converging():
    asked = iter([False, False, True])
    monitor = run(Monitor(tol=0, max_iter=100, cancelled=lambda: next(asked)), [1.0, 2.0, 3.0])
    assert monitor.history == [1.0, 2.0]
    assert not monitor.converged


def test_every_pass_is_reported():
    seen = []
    run(Monitor(tol=0, max_iter=2, on_record=lambda *note: seen.append(note)), [1.0, 2.0])
    assert seen == [(1, 1.0), (2, 2.0)]


@pytest.mark.parametrize("n_cells", [0, 0.5])
def test_less_than_one_cell_counts_as_one(n_cells):
    assert run(Monitor(tol=1.0, max_iter=100, n_cells=n_cells), [0.0, 0.9]).converged
