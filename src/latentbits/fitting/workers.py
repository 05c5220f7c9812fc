"""Threads for compiled kernels, which release Python's global interpreter lock; many fits at once, progress, Ctrl-C."""

from __future__ import annotations

import sys
import threading
import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import contextmanager
from contextvars import ContextVar, copy_context
from functools import cache
from types import TracebackType
from typing import Any, TypeVar

import joblib
import threadpoolctl
from sklearn.exceptions import ConvergenceWarning

from latentbits.errors import DataError, DegenerateDataWarning, InterruptedWarning

# ---- threads -----------------------------------------------------------------------------------------------

Item = TypeVar("Item")
Result = TypeVar("Result")


def n_workers(n_jobs: int | None) -> int:
    """The number of threads that `n_jobs` means: None is 1 (or joblib's context), -1 is all cores."""
    if n_jobs == 0:
        raise DataError("n_jobs=0 is no number of threads; give 1 or more, or -1 for all cores")
    return int(joblib.effective_n_jobs(n_jobs))


@cache
def _blas() -> threadpoolctl.ThreadpoolController:
    """The loaded BLAS libraries. They are looked for once, as a search of all loaded libraries takes milliseconds."""
    import scipy.linalg  # noqa: F401  (has a BLAS of its own, which is to be among them)

    return threadpoolctl.ThreadpoolController().select(user_api="blas")


_blas_lock = threading.Lock()
_blas_users = 0
_blas_limit: Any = None


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Limit BLAS to one thread inside the context: its own threads would compete with ours for the cores.

    The limit is global to the process and several fits may run at the same time, so they are counted: the first sets
    the limit, the last removes it.
    """
    global _blas_users, _blas_limit
    with _blas_lock:
        if _blas_users == 0:
            _blas_limit = _blas().limit(limits=1)
        _blas_users += 1
    try:
        yield
    finally:
        with _blas_lock:
            _blas_users -= 1
            if _blas_users == 0:
                _blas_limit.restore_original_limits()


class Workers:
    """Maps a function over items on `n` threads, results in the order of the items.

    Examples
    --------
    >>> with Workers(2) as workers:
    ...     workers.map(lambda x: x * x, [1, 2, 3])
    [1, 4, 9]
    """

    def __init__(self, n: int = 1) -> None:
        self.n = n
        # A pool of one thread would only add overhead.
        self._pool = ThreadPoolExecutor(n, thread_name_prefix="latentbits") if n > 1 else None

    def map(self, function: Callable[[Item], Result], items: Iterable[Item]) -> list[Result]:
        """[function(item) for item in items]"""
        if self._pool is None:
            return [function(item) for item in items]
        return list(self._pool.map(function, items))

    def __enter__(self) -> Workers:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._pool is not None:
            self._pool.shutdown()


# ---- progress ----------------------------------------------------------------------------------------------


class Progress:
    """One bar for all restarts of a fit, with the time left; without a terminal, one line at the end.

    Silent unless `show`, and safe to call from several threads.

    The bar counts finished restarts, because the number of passes is not known in advance; it also shows the passes
    made so far and the best objective per cell.
    """

    def __init__(self, title: str, total: int, *, show: bool = False) -> None:
        self._total = total
        self._title = title
        self._passes: dict[int, int] = {}
        self._best = -float("inf")
        self._lock = threading.Lock()
        self._bar: Any = None
        self._task: Any = None
        self._done, self._started, self._shown = 0, time.perf_counter(), show
        if show and sys.stderr.isatty():  # imported late: a silent fit should not pay for the import of rich
            from rich.console import Console
            from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
            from rich.progress import Progress as Bar

            columns = (
                TextColumn("{task.description}"),
                BarColumn(),
                MofNCompleteColumn(),
                TextColumn("{task.fields[note]}"),
                TextColumn("left"),
                TimeRemainingColumn(),
            )
            self._bar = Bar(*columns, console=Console(file=sys.stderr))

    def __enter__(self) -> Progress:
        if self._bar is not None:
            self._bar.start()
            self._task = self._bar.add_task(self._title, total=self._total, note="")
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._bar is not None:
            self._bar.stop()
        elif self._shown:  # nobody looks at a window: one line at the end
            seconds = time.perf_counter() - self._started
            sys.stderr.write(f"{self._title}: {self._done} of {self._total}, {seconds:.1f} s\n")

    def passed(self, run: int, n_passes: int, objective_per_cell: float) -> None:
        """Restart `run` has made its `n_passes`-th pass."""
        if self._bar is None:
            return
        with self._lock:
            self._passes[run] = n_passes
            self._best = max(self._best, objective_per_cell)
            note = f"restarts, {sum(self._passes.values())} passes, best {self._best:.5f} per cell"
            self._bar.update(self._task, note=note)

    def finished_one(self) -> None:
        """A restart has finished."""
        with self._lock:
            self._done += 1
            if self._bar is not None:
                self._bar.advance(self._task)


# ---- many fits ---------------------------------------------------------------------------------------------

# A context variable, because the event must reach fits through scikit-learn's `fit`, which has no such argument.
_STOP: ContextVar[threading.Event | None] = ContextVar("stop", default=None)


@contextmanager
def stopped_by(event: threading.Event) -> Iterator[None]:
    """Fits begun inside (also in threads that copy the context) end early once the event is set."""
    token = _STOP.set(event)
    try:
        yield
    finally:
        _STOP.reset(token)


@contextmanager
def stopped_together() -> Iterator[threading.Event]:
    """Fits made inside one after the other: Ctrl-C in one of them sets the event, which ends those that follow."""
    event = stop_event()
    with stopped_by(event):
        yield event


def stop_event() -> threading.Event:
    """The event by which the fits that are made here are ended."""
    return _STOP.get() or threading.Event()


def run_all(
    jobs: Sequence[Callable[[], Result]], *, title: str, n_jobs: int | None = None, verbose: bool = False
) -> list[Result]:
    """Results of all jobs in their order, on `n_jobs` threads; Ctrl-C ends the fits that are under way.

    Warnings of single fits are suppressed; callers give one for all (`data_for`, `sum_up_convergence`).
    """
    stop = threading.Event()
    results: list[Result] = []
    with (
        warnings.catch_warnings(),
        one_blas_thread(),
        Progress(title, len(jobs), show=verbose) as progress,
        ThreadPoolExecutor(n_workers(n_jobs), thread_name_prefix="latentbits-trial") as pool,
    ):
        warnings.simplefilter("ignore", ConvergenceWarning)
        warnings.simplefilter("ignore", DegenerateDataWarning)
        warnings.simplefilter("ignore", InterruptedWarning)

        def run(job: Callable[[], Result]) -> Result:
            result = job()
            progress.finished_one()
            return result

        with stopped_by(stop):  # threads don't inherit context variables, so each job gets a copy of the context
            futures = [pool.submit(copy_context().run, run, job) for job in jobs]
        try:
            # Short waits in a loop: with other libraries' handlers of Ctrl-C, one long wait may not be interrupted.
            while wait(futures, timeout=0.1, return_when="FIRST_EXCEPTION").not_done and not failed(futures):
                pass
            results = [future.result() for future in futures if future.done()]
        finally:  # after an error or Ctrl-C the remaining jobs are cancelled
            stop.set()
            pool.shutdown(wait=False, cancel_futures=True)
    return results


def failed(futures: Sequence[Any]) -> bool:
    """Whether one of them has ended with an error."""
    return any(future.done() and future.exception() is not None for future in futures)
