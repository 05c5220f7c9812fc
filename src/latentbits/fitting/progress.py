"""Progress of long fits: silent by default, optionally a bar on stderr."""

from __future__ import annotations

import sys
import threading
from types import TracebackType
from typing import Any

__all__ = ["Progress"]


class Progress:
    """One bar for all restarts of a fit. Silent unless `show`, and safe to call from several threads.

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
        if show:  # imported late: a silent fit should not pay for the import of rich
            from rich.console import Console
            from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn
            from rich.progress import Progress as Bar

            columns = (
                TextColumn("{task.description}"),
                BarColumn(),
                MofNCompleteColumn(),
                TextColumn("{task.fields[note]}"),
                TimeElapsedColumn(),
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

    def passed(self, run: int, n_passes: int, objective_per_cell: float) -> None:
        """Restart `run` has made its `n_passes`-th pass."""
        if self._bar is None:
            return
        with self._lock:
            self._passes[run] = n_passes
            self._best = max(self._best, objective_per_cell)
            note = f"restarts, {sum(self._passes.values())} passes, best {self._best:.5f} a cell"
            self._bar.update(self._task, note=note)

    def finished_one(self) -> None:
        """A restart has finished."""
        if self._bar is not None:
            with self._lock:
                self._bar.advance(self._task)
