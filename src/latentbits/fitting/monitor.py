"""When to stop: one object that keeps the history of an objective and decides about convergence."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol

__all__ = ["Checkpoint", "Monitor", "Position"]


class Position(NamedTuple):
    """The end of a round: all that a climb needs to go on, or its result if the `objective` is there."""

    state: Any
    longest: float
    history: list[float]
    last_checked: float
    converged: bool
    objective: float | None = None


class Checkpoint(Protocol):
    """Where the positions of a run are kept."""

    def load(self) -> Position | None:
        """The last one saved, its state a list of arrays."""

    def is_due(self) -> bool:
        """Whether enough time has passed to save another one."""

    def save(self, position: Position) -> None:
        """Replace the last one."""


@dataclass
class Monitor:
    """Records an objective that should rise, and decides when to stop.

    Parameters
    ----------
    tol : float
        Converged when a check finds that the objective rose by less than `tol` per observed cell.
    max_iter : int
        Number of passes over the data after which to stop, without having converged.
    n_cells : float
        The number that `tol` is multiplied by: the weighted number of observed cells.
    on_record : callable, optional
        Called with the number of passes and the objective after every pass (progress).
    cancelled : callable, optional
        Called before every round of passes; True ends the climb with the state reached.
    checkpoint : Checkpoint, optional
        Where positions are kept, to go on from.

    Examples
    --------
    >>> monitor = Monitor(tol=0.01, max_iter=10, n_cells=100)
    >>> for objective in [-70.0, -60.0, -59.5]:
    ...     monitor.record(objective)
    ...     monitor.check()
    >>> monitor.converged, monitor.finished, monitor.n_iter
    (True, True, 3)
    """

    tol: float
    max_iter: int
    n_cells: float = 1.0
    on_record: Callable[[int, float], None] | None = None
    cancelled: Callable[[], bool] | None = None
    checkpoint: Checkpoint | None = None
    history: list[float] = field(default_factory=list)
    converged: bool = False
    _last_checked: float = -float("inf")

    def __post_init__(self) -> None:
        self._passes = len(self.history)

    def record(self, objective: float, passes: int = 1) -> None:
        """Record one pass, or several, with the objective reached."""
        self.history.append(objective)
        self._passes += passes
        if self.on_record is not None:
            self.on_record(self.n_iter, objective)

    def check(self) -> None:
        """Compare the objective with that of the last check."""
        # Once per round, not per pass: a rejected extrapolation, or a short step of L-BFGS, gains little and yet is not
        # the end.
        rise = (self.history[-1] - self._last_checked) / max(self.n_cells, 1.0)
        self.converged = rise < self.tol
        self._last_checked = self.history[-1]

    def record_of(self) -> tuple[list[float], float, bool]:
        """What a position keeps of the record so far."""
        return list(self.history), self._last_checked, self.converged

    def rewind(self, position: Position) -> None:
        """Go back (or ahead) to the record of a position."""
        self.history, self._last_checked = list(position.history), position.last_checked
        self._passes = len(self.history)
        self.converged = position.converged

    @property
    def n_iter(self) -> int:
        """Passes so far."""
        return self._passes

    @property
    def finished(self) -> bool:
        """Whether to stop now."""
        stopped = self.cancelled is not None and self.cancelled()
        return self.converged or stopped or self.n_iter >= self.max_iter
