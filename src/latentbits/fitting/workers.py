"""Threads for compiled kernels, which release Python's global interpreter lock."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import cache
from types import TracebackType
from typing import Any, TypeVar

import joblib
import threadpoolctl

from latentbits.errors import DataError

__all__ = ["Workers", "n_workers", "one_blas_thread"]

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
