"""Maximising an objective from a start to convergence: when to stop, monotone maps (EM, variational steps) with guarded
acceleration, and L-BFGS.

One run of it is called a *climb* throughout the library: its objective never falls. A learner is a few functions over a
named state. A step's objective belongs to the state that went *in*, because that is what a pass over the data
evaluates.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, NamedTuple, Protocol, TypeVar

import numpy as np
from scipy.optimize import Bounds, OptimizeResult, minimize

# ---- when to stop ------------------------------------------------------------------------------------------


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

    def exists(self) -> bool:
        """Whether one is saved."""

    def load(self, like: tuple[Any, ...]) -> Position:
        """The last one saved; refused if its state isn't of the form of `like`."""

    def refused(self, reason: str) -> Exception:
        """The error of a position that isn't one of this fit."""

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


# ---- monotone maps -----------------------------------------------------------------------------------------

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


class StackedLearner(Protocol[State]):
    """What `climb_together` can fit: states of several climbs, each array with one more axis in front."""

    @property
    def most(self) -> int:
        """How many climbs are worth stacking: more of them would leave the processor's cache."""

    def initialise(self, rngs: Sequence[np.random.Generator]) -> State:
        """A random start for each."""

    def step(self, states: State) -> tuple[State, np.ndarray]:
        """The updated states, and the objective of each of the states given."""

    def squared_moves(self, points: Sequence[State]) -> tuple[np.ndarray, np.ndarray]:
        """As `Learner` says, of each climb."""

    def extrapolate(self, points: Sequence[State], lengths: np.ndarray) -> State:
        """As `Learner` says, with a length for each climb."""


def stack(states: Sequence[State]) -> State:
    """One state, each array of it with an axis for the states in front."""
    return type(states[0])(*map(np.stack, zip(*states, strict=True)))


def climb_together(learner: StackedLearner[State], states: State, monitors: Sequence[Monitor]) -> list[Climbed[State]]:
    """What `climb` makes of each of these states, in rounds that all climbs make together until their monitors stop.

    It saves the overhead of small passes; a climb's answer doesn't depend on the others.
    """
    done: list[Climbed[State] | None] = [None] * len(monitors)
    going, longest = list(range(len(monitors))), np.full(len(monitors), np.inf)
    while going:
        best, objective, states, longest = _round_together(learner, states, longest, [monitors[i] for i in going])
        for i in going:
            monitors[i].check()
        over = np.array([monitors[i].finished for i in going])
        for at in np.flatnonzero(over).tolist():
            done[going[at]] = Climbed(type(best)(*(part[at].copy() for part in best)), float(objective[at]))
        going = [i for i, is_over in zip(going, over, strict=True) if not is_over]
        longest, states = longest[~over], type(states)(*(part[~over] for part in states))
    return [climbed for climbed in done if climbed is not None]


def _round_together(
    learner: StackedLearner[State], states: State, longest: np.ndarray, monitors: Sequence[Monitor]
) -> tuple[State, np.ndarray, State, np.ndarray]:
    """`_round`, accelerated, of stacked states."""
    once, first = learner.step(states)
    twice, best = learner.step(once)
    points = [states, once, twice]
    lengths = np.minimum([_step_length(r, v) for r, v in zip(*learner.squared_moves(points), strict=True)], longest)
    trial = learner.extrapolate(points, lengths)
    after, reached = learner.step(trial)
    accepted = reached >= best
    longest = np.where(accepted, 4 * longest, np.maximum(1.0, lengths / 4))
    objective = np.where(accepted, reached, best)
    for monitor, *objectives in zip(monitors, first, best, objective, strict=True):
        for value in objectives:
            monitor.record(float(value))
    return _chosen(accepted, trial, once), objective, _chosen(accepted, after, twice), longest


def _chosen(which: np.ndarray, a: State, b: State) -> State:
    """Of each climb the state in a where `which` says so, else the one in b."""
    return type(a)(*(np.where(which.reshape(-1, *[1] * (x.ndim - 1)), x, y) for x, y in zip(a, b, strict=True)))


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


def parabola(points: Sequence[np.ndarray], length: float | np.ndarray) -> np.ndarray:
    """a + 2 s r + s^2 v of three arrays at the length s."""
    a, b, c = points
    return a + 2 * length * (b - a) + length * length * (c - 2 * b + a)


# ---- smooth functions --------------------------------------------------------------------------------------

Arrays = TypeVar("Arrays", bound=tuple[np.ndarray, ...])

CHECK_EVERY = 10
"""Iterations between two checks of convergence: a single step of L-BFGS may be short without being the last."""

MEMORY = 20
"""Past steps from which L-BFGS estimates the curvature."""


def flatten(state: tuple[np.ndarray, ...]) -> np.ndarray:
    """All arrays of a state as one vector."""
    return np.concatenate([part.ravel() for part in state])


def unflatten(x: np.ndarray, like: Arrays) -> Arrays:
    """The vector as a state with the shapes of `like`."""
    ends = np.cumsum([part.size for part in like])
    pieces = np.split(x, ends[:-1])
    return type(like)(*(piece.reshape(part.shape) for piece, part in zip(pieces, like, strict=True)))


def ascend(
    function: Callable[[Arrays], tuple[float, Arrays]],
    start: Arrays,
    monitor: Monitor,
    limits: tuple[Arrays, Arrays] | None = None,
) -> Climbed[Arrays]:
    """Maximise from `start` until the monitor stops, or until no step raises the objective (which is convergence).

    `function` returns the objective and its gradient, in the form of the state; `limits` are the lowest and the highest
    state allowed. Every iteration is recorded; as the line search accepts no decrease, the recorded objective never
    falls.
    """
    scale = max(monitor.n_cells, 1.0)  # L-BFGS' first step and tolerances are absolute numbers

    def descent(x: np.ndarray) -> tuple[float, np.ndarray]:
        value, gradient = function(unflatten(x, start))
        return -value / scale, -flatten(gradient) / scale

    def on_iteration(intermediate_result: OptimizeResult) -> None:
        monitor.record(-intermediate_result.fun * scale)
        if monitor.n_iter % CHECK_EVERY == 0:
            monitor.check()
        if monitor.finished:
            raise StopIteration

    # SciPy's own tolerances are switched off: the monitor decides, by the same rule as for EM.
    options = {"maxiter": monitor.max_iter, "maxfun": 20 * monitor.max_iter, "maxcor": MEMORY, "ftol": 0.0, "gtol": 0.0}
    bounds = None if limits is None else Bounds(*map(flatten, limits))
    result = minimize(
        descent, flatten(start), jac=True, method="L-BFGS-B", bounds=bounds, callback=on_iteration, options=options
    )
    if not monitor.history:  # the start was an optimum already, or there was no time
        monitor.record(-result.fun * scale)
    if not monitor.finished:
        monitor.converged = True
    return Climbed(unflatten(result.x, start), -result.fun * scale)
