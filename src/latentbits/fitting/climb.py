"""Maximising an objective by a monotone map (an EM or variational step), with guarded acceleration.

One run of it from a start to convergence is called a *climb* throughout the library: its objective never falls.

A learner is a few functions over a named state. A step's objective belongs to the state that went *in*, because that
is what a pass over the data evaluates.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, Generic, NamedTuple, Protocol, TypeVar

import numpy as np

from latentbits.fitting.monitor import Checkpoint, Monitor, Position

__all__ = ["ArrayLearner", "Climbed", "Learner", "RowsLost", "climb", "parabola", "squared_moves"]

State = TypeVar("State", bound=tuple[Any, ...])

KEPT_EVERY = 5
"""Rounds from a position that is kept in memory to the next, where rows may be lost."""

SAME = 1e-6
"""How far a stored position may be from what the learner makes of it, relatively: rounding on another machine."""


class RowsLost(Exception):
    """A machine that held rows is gone, and with it what the state knew of them; others hold these rows now."""


class Learner(Protocol[State]):
    """The interface of what `climb` can fit. `ArrayLearner` has all but the first two and the domain."""

    def initialise(self, rng: np.random.Generator) -> State:
        """A random start."""

    def step(self, state: State) -> tuple[State, float]:
        """The updated state, and the objective of the state given."""

    def squared_moves(self, points: Sequence[State]) -> tuple[float, float]:
        """The squared lengths of r = b - a and v = c - 2 b + a for three successive states."""

    def extrapolate(self, points: Sequence[State], length: float) -> State:
        """The feasible state nearest to a + 2 s r + s^2 v, the parabola through three states at the length s."""

    @property
    def may_lose_rows(self) -> bool:
        """Whether a step may end with `RowsLost`."""

    def stored(self, state: State) -> State:
        """The state as NumPy arrays of this process."""

    def restored(self, state: State) -> State:
        """The state that `stored` gave these arrays for."""


class ArrayLearner(ABC, Generic[State]):
    """Base class of learners whose states are NumPy arrays."""

    may_lose_rows = False

    @abstractmethod
    def project(self, state: State) -> State:
        """The nearest feasible state, for one that an extrapolation has moved outside of the domain."""

    @abstractmethod
    def scales(self) -> tuple[np.ndarray | float, ...]:
        """For each array of the state, the weights of its squares in the length of a step."""

    def squared_moves(self, points: Sequence[State]) -> tuple[float, float]:
        """As `Learner` says."""
        return squared_moves(points, self.scales())

    def extrapolate(self, points: Sequence[State], length: float) -> State:
        """As `Learner` says."""
        return self.project(type(points[0])(*(parabola(arrays, length) for arrays in zip(*points, strict=True))))

    def stored(self, state: State) -> State:
        """As `Learner` says."""
        return state

    def restored(self, state: State) -> State:
        """As `Learner` says."""
        return state


class Climbed(NamedTuple, Generic[State]):
    """The final state of a climb, and its objective."""

    state: State
    objective: float


def climb(learner: Learner[State], state: State, monitor: Monitor, *, accelerate: bool = True) -> Climbed[State]:
    """Step until the monitor stops; it then holds the history and whether the climb converged.

    With `accelerate`, SQUAREM (Varadhan and Roland 2008, scheme S3): two steps, then one from a point
    extrapolated through them. That point counts only if its objective is no lower than the one before it, so the
    recorded objective never falls; otherwise the climb goes on from the second plain step, and the next
    extrapolations are shorter.

    A round is a function of the state and of the longest step allowed, so a climb can go on from where a round ended as
    if nothing had happened: from the monitor's checkpoint, and after a loss of rows from the last position kept.
    """
    keeper = _Keeper(learner, monitor)
    finished = keeper.begin(state)
    if finished is not None:
        return finished
    best: Climbed[State] | None = None
    while not monitor.finished:
        try:
            best = keeper.go_on(accelerate)
        except RowsLost:
            best = None
            keeper.go_back()
    if best is None:  # stopped before the first pass
        state = keeper.state
        best = Climbed(learner.stored(state), learner.step(state)[1])
        monitor.record(best.objective)
    keeper.end(best)
    return best


class _Keeper(Generic[State]):
    """Where a climb is, and positions from which it can go on: in memory if rows may be lost, in files if asked for."""

    def __init__(self, learner: Learner[State], monitor: Monitor) -> None:
        self.learner, self.monitor = learner, monitor
        self.longest = np.inf
        self._rounds = 0
        self._kept: Position | None = None

    def begin(self, state: State) -> Climbed[State] | None:
        """Start there, or where the checkpoint is; the result if that is the end."""
        self.state = state
        saved = None
        if self.monitor.checkpoint is not None and self.monitor.checkpoint.exists():
            saved = self.monitor.checkpoint.load(like=self.learner.stored(state))
            self._go_to(saved)
            self._check(self.monitor.checkpoint, saved)
            self.monitor.rewind(saved)
            if saved.objective is not None:
                return Climbed(saved.state, saved.objective)
        self._record = self.monitor.record_of()
        if self.learner.may_lose_rows:
            self._kept = saved or self._position()
        return None

    def _check(self, checkpoint: Checkpoint, saved: Position) -> None:
        """Refuse a state outside of the learner's domain, or another objective than it has: a file may be forged."""
        with np.errstate(all="ignore"):
            inside = self.learner.stored(self.learner.extrapolate([self.state] * 3, 1.0))
            if not all(np.allclose(a, b, rtol=SAME, atol=SAME) for a, b in zip(saved.state, inside, strict=True)):
                raise checkpoint.refused("its state is outside of the model's domain")
            objective = self.learner.step(self.state)[1]
        if saved.history:
            rise, tolerance = objective - saved.history[-1], SAME * max(1.0, abs(objective))
            finished = saved.objective is not None
            if not (-tolerance <= rise and (not finished or rise <= tolerance)):
                raise checkpoint.refused("its state has another objective than it says")

    def go_on(self, accelerate: bool) -> Climbed[State]:
        """A round; the last state whose objective is known."""
        best, self.state, self.longest = _round(self.learner, self.state, self.longest, self.monitor, accelerate)
        self.monitor.check()
        self._record = self.monitor.record_of()
        self._rounds += 1
        if self.monitor.finished:  # inside of what is tried again, as rows may be lost on their way
            return Climbed(self.learner.stored(best.state), best.objective)
        checkpoint = self.monitor.checkpoint
        if self.learner.may_lose_rows and self._rounds % KEPT_EVERY == 0:
            self._kept = self._position()
        if checkpoint is not None and checkpoint.is_due():
            checkpoint.save(self._position())
        return best

    def go_back(self) -> None:
        """To the last position kept, the rows placed anew."""
        assert self._kept is not None
        self.monitor.rewind(self._kept)
        self._record = self.monitor.record_of()
        while True:
            try:
                self._go_to(self._kept)
                return
            except RowsLost:
                continue

    def end(self, best: Climbed[State]) -> None:
        """Leave the result in the checkpoint; after an interruption the position, to go on from."""
        if self.monitor.checkpoint is not None:
            over = self.monitor.converged or self.monitor.n_iter >= self.monitor.max_iter
            result = Position(best.state, self.longest, *self._record, objective=best.objective)
            self.monitor.checkpoint.save(result if over else self._position())

    def _position(self) -> Position:
        return Position(self.learner.stored(self.state), self.longest, *self._record)

    def _go_to(self, position: Position) -> None:
        self.state, self.longest = self.learner.restored(position.state), position.longest


def _round(
    learner: Learner[State], state: State, longest: float, monitor: Monitor, accelerate: bool
) -> tuple[Climbed[State], State, float]:
    """One or three passes: the last state whose objective is known, the state one step ahead, the longest step."""
    points = [state]
    for _ in range(2 if accelerate else 1):
        new, objective = learner.step(points[-1])
        monitor.record(objective)
        best = Climbed(points[-1], objective)
        points.append(new)
    state = points[-1]
    if accelerate:
        length = min(_step_length(*learner.squared_moves(points)), longest)
        trial = learner.extrapolate(points, length)
        after, objective = learner.step(trial)
        accepted = objective >= best.objective
        if accepted:
            best, state = Climbed(trial, objective), after
        longest = 4 * longest if accepted else max(1.0, length / 4)
        monitor.record(best.objective)  # a rejected trial is recorded too: it has cost a pass
    return best, state, longest


def _step_length(r: float, v: float) -> float:
    """SQUAREM's steplength |r| / |v| from their squares, at least 1 (which is the third of the points)."""
    return max(1.0, float(np.sqrt(r / v))) if v > 0 else 1.0


def squared_moves(points: Sequence[tuple[Any, ...]], scales: tuple[np.ndarray | float, ...]) -> tuple[float, float]:
    """|r|^2 and |v|^2 of three successive states, r = b - a and v = c - 2 b + a."""
    length = curvature = 0.0
    for a, b, c, scale in zip(*points, scales, strict=True):
        length += float(np.sum(scale * (b - a) ** 2))
        curvature += float(np.sum(scale * (c - 2 * b + a) ** 2))
    return length, curvature


def parabola(points: Sequence[np.ndarray], length: float) -> np.ndarray:
    """a + 2 s r + s^2 v of three arrays at the length s."""
    a, b, c = points
    return a + 2 * length * (b - a) + length**2 * (c - 2 * b + a)
