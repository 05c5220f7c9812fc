"""Many independent jobs, most of them fits, on threads with one progress bar."""

from __future__ import annotations

import threading
import warnings
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from contextvars import copy_context
from typing import Any, TypeVar

from sklearn.exceptions import ConvergenceWarning

from latentbits.errors import DegenerateDataWarning, InterruptedWarning
from latentbits.fitting.progress import Progress
from latentbits.fitting.restarts import stopped_by
from latentbits.fitting.workers import n_workers, one_blas_thread

__all__ = ["run_all"]

Result = TypeVar("Result")


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
            while wait(futures, timeout=0.1, return_when="FIRST_EXCEPTION").not_done and not _failed(futures):
                pass
            results = [future.result() for future in futures if future.done()]
        finally:  # after an error or Ctrl-C the remaining jobs are cancelled
            stop.set()
            pool.shutdown(wait=False, cancel_futures=True)
    return results


def _failed(futures: Sequence[Any]) -> bool:
    return any(future.done() and future.exception() is not None for future in futures)
