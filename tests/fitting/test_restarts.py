import signal
import threading
import time

import numpy as np
import pytest

from latentbits.fitting.restarts import Schedule, best_of, climbing
from latentbits.fitting.workers import Progress
from tests.fitting.toys import Endless, Hills, Point, Slope

SCHEDULE = {"max_iter": 200, "tol": 1e-9, "n_cells": 1.0}


def run(n_init=4, n_threads=1, learner=None, seed=0, keep=lambda state: state.x[0], **options):
    schedule = Schedule(n_init=n_init, **{**SCHEDULE, **options})
    runner = climbing(lambda workers: learner or Hills())
    return best_of(runner, schedule, np.random.default_rng(seed), n_threads, keep)


def test_best_is_the_highest_and_every_run_is_recorded_in_order():
    best, runs = run(6)
    assert len(runs) == 6
    assert len({r.seed for r in runs}) == 6
    heights = [np.random.default_rng(r.seed).normal() for r in runs]
    np.testing.assert_allclose([r.objective for r in runs], heights, atol=1e-6)
    assert best.objective == max(r.objective for r in runs)
    assert best in runs


def test_a_run_is_one_coherent_record():
    for r in run()[1]:
        assert r.converged
        assert r.n_iter == len(r.history)
        assert r.history[-1] == r.objective
        assert r.kept == r.state.x[0]


@pytest.mark.parametrize("n_threads", [2, 3, 8])
def test_threads_do_not_change_the_answer(n_threads):
    (best, runs), (other, others) = run(5), run(5, n_threads)
    assert best.seed == other.seed
    for a, b in zip(runs, others, strict=True):
        assert (a.seed, a.objective, a.history) == (b.seed, b.objective, b.history)


@pytest.mark.parametrize("seed", range(5))
def test_seeds_are_nested_so_more_restarts_are_never_worse(seed):
    few, many = run(2, seed=seed), run(7, seed=seed)
    assert [r.seed for r in few[1]] == [r.seed for r in many[1]][:2]
    assert many[0].objective >= few[0].objective


def test_left_over_threads_go_to_the_rows():
    seen = []
    for n_init, n_threads in [(1, 4), (2, 4), (4, 4), (8, 4)]:
        schedule = Schedule(n_init=n_init, **SCHEDULE)
        rng = np.random.default_rng(0)
        runner = climbing(lambda workers: seen.append(workers.n) or Hills())
        best_of(runner, schedule, rng, n_threads, lambda state: None)
    assert seen == [4, 2, 1, 1]


def test_an_error_in_a_run_comes_through():
    class Broken(Slope):
        def step(self, state):
            raise ZeroDivisionError("broken")

    with pytest.raises(ZeroDivisionError, match="broken"):
        run(2, 2, learner=Broken())


class TestInterrupt:
    """Ctrl-C arrives in the main thread while restarts run in others.

    polars is imported because its own handler of Ctrl-C doesn't wake up a thread that waits without an end: then
    only a wait that looks up from time to time is interrupted before a restart is over (here about 6 seconds).
    """

    pytest.importorskip("polars")

    def interrupted(self, n_init, n_threads):
        learner = Endless()

        def press():
            learner.started.wait(10)
            time.sleep(0.05)
            signal.pthread_kill(threading.main_thread().ident, signal.SIGINT)

        presser = threading.Thread(target=press)
        presser.start()
        start = time.monotonic()
        try:
            return run(n_init, n_threads, learner=learner, max_iter=5000)
        finally:
            presser.join()
            assert time.monotonic() - start < 3, "Ctrl-C should end the restarts at once"

    @pytest.mark.parametrize("n_threads", [1, 2])
    def test_best_so_far_comes_with_a_warning(self, n_threads):
        with pytest.warns(UserWarning, match="interrupted: this is the best of"):
            best, runs = self.interrupted(5, n_threads)
        assert 1 <= len(runs) <= n_threads  # those that had not begun are left out
        assert not any(r.converged for r in runs)
        assert best.objective == max(r.objective for r in runs)
        assert best.history[-1] == best.objective

    def test_nothing_runs_on_afterwards(self):
        with pytest.warns(UserWarning, match="interrupted"):
            self.interrupted(3, 2)
        assert not [t for t in threading.enumerate() if t.name.startswith("latentbits")]


class TestProgress:
    def test_silent_by_default(self, capfd):
        run(3, 2)
        with Progress("Fitting", 2) as progress:
            progress.passed(0, 1, -1.0)
            progress.finished_one()
        out, err = capfd.readouterr()
        assert (out, err) == ("", "")

    def test_shown_on_stderr_when_asked_for(self, capfd):
        run(3, verbose=True)
        out, err = capfd.readouterr()
        assert out == ""
        assert "Fitting" in err
        assert "3 of 3" in err


class Bends(Slope):
    """The way up is slow at first for those who end high: at a coarse tolerance they are behind."""

    def initialise(self, rng):
        height = rng.normal()
        return Point(np.array([height, 4.0]))

    def step(self, state):
        height, way = state.x
        rate = 0.5 if height < 0 else 0.97
        return Point(np.array([height, rate * way])), float(height - way**2)


class TestRefinement:
    """Runs that lead go on to a tighter tolerance."""

    @staticmethod
    def fit(n_init, *, refine, n_threads=1, seed=0, **options):
        schedule = Schedule(n_init=n_init, **{**SCHEDULE, "tol": 0.01, "max_iter": 5000, **options})
        runner = climbing(lambda workers: Bends(), accelerate=False, refine=refine)
        return best_of(runner, schedule, np.random.default_rng(seed), n_threads, lambda state: state.x[1])

    def test_those_that_lead_go_on_and_no_other(self):
        (_, coarse), (best, fine) = (self.fit(8, refine=refine, seed=2) for refine in (False, True))
        heights = [run.objective for run in coarse]
        leads = [i for i, height in enumerate(heights) if height == max(heights[: i + 1])]
        assert 1 < len(leads) < 8
        for i, (before, after) in enumerate(zip(coarse, fine, strict=True)):
            assert (after.n_iter > before.n_iter) == (i in leads)
            assert after.history[: before.n_iter] == before.history
            assert (after.n_iter, after.history[-1], after.kept) == (
                len(after.history),
                after.objective,
                after.state.x[1],
            )
        assert best.objective == max(run.objective for run in fine) > max(heights)
        top = np.random.default_rng(best.seed).normal()
        assert (
            0 < top - best.objective < 0.05 * (top - max(heights))
        )  # a hundredth of the tolerance, a tenth of the way

    @pytest.mark.parametrize("seed", range(5))
    def test_more_restarts_are_never_worse(self, seed):
        runs = [self.fit(n, refine=True, seed=seed) for n in range(1, 9)]
        objectives = [best.objective for best, _ in runs]
        assert objectives == sorted(objectives)
        for _, some in runs:
            assert [run.history for run in some] == [run.history for run in runs[-1][1][: len(some)]]

    def test_threads_do_not_change_the_answer(self):
        (_, one), (_, other) = (self.fit(6, refine=True, n_threads=n) for n in (1, 4))
        assert [run.history for run in one] == [run.history for run in other]

    def test_what_ran_out_does_not_go_on(self):
        _, runs = self.fit(4, refine=True, max_iter=6)
        assert all(run.n_iter <= 6 for run in runs)
        limit = self.fit(1, refine=False)[1][0].n_iter + 3
        _, (run,) = self.fit(1, refine=True, max_iter=limit)
        assert (run.n_iter, run.converged) == (limit, True)  # it had converged before
