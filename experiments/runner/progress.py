"""A progress bar over all jobs on stderr, with the time left as estimated from the finished jobs."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import TracebackType
from typing import Any

__all__ = ["Bar", "in_words"]


class Bar:
    """Counts finished jobs; silent unless `show`."""

    def __init__(self, n_jobs: int, seconds_left: float | None, *, show: bool) -> None:
        self._bar: Any = None
        if not show:
            return
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

        columns = (BarColumn(), MofNCompleteColumn(), TextColumn("jobs, {task.description}"), TimeElapsedColumn())
        # Results go to stdout: they are written while the bar is paused, not through it.
        self._bar = Progress(*columns, console=Console(file=sys.stderr), transient=True, redirect_stdout=False)
        self._task = self._bar.add_task(in_words(seconds_left), total=n_jobs)

    def __enter__(self) -> Bar:
        if self._bar is not None:
            self._bar.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._bar is not None:
            self._bar.stop()

    def advance(self, n: int, seconds_left: float | None = None) -> None:
        """`n` more jobs have finished."""
        if self._bar is not None:
            self._bar.update(self._task, advance=n, description=in_words(seconds_left))

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Pause the bar while something else is written to the terminal."""
        if self._bar is not None:
            self._bar.stop()
        yield
        if self._bar is not None:
            self._bar.start()


def in_words(seconds: float | None) -> str:
    """How long it will take, no more exactly than it is known.

    Examples
    --------
    >>> in_words(None), in_words(40), in_words(500), in_words(9000)
    ('time left not known yet', 'less than a minute left', 'about 9 minutes left', 'about 2.5 hours left')
    """
    if seconds is None:
        return "time left not known yet"
    if seconds < 60:
        return "less than a minute left"
    if seconds < 5400:
        return f"about {-(-seconds // 60):.0f} minutes left"
    return f"about {seconds / 3600:.1f} hours left"
