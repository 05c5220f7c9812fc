"""Maximising an objective by a monotone map (an EM or variational step), with guarded acceleration.

One run of it from a start to convergence is called a *climb* throughout the library: its objective never falls.

A learner is two pure functions over a named state. A step's objective belongs to the state that went *in*,
because that is what a pass over the data evaluates.
"""

from __future__ import annotations

from typing import Generic, NamedTuple, Protocol, TypeVar

import numpy as np

from latentbits.fitting.monitor import Monitor

__all__ = ["Climbed", "Learner", "climb"]

State = TypeVar("State", bound=tuple[np.ndarray, ...])


class Learner(Protocol[State]):
    """The interface of what `climb` can fit."""

    def initialise(self, rng: np.random.Generator) -> State:
        """A random start."""

    def step(self, state: State) -> tuple[State, float]:
        """The updated state, and the objective of the state given."""

    def project(self, state: State) -> State:
        """The nearest feasible state, for one that an extrapolation has moved outside of the domain."""

    def scales(self) -> tuple[np.ndarray | float, ...]:
        """For each array of the state, the weights of its squares in the length of a step."""


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
    """
    # `best` is the last state whose objective is known, which is one step behind `state`: it is what is returned.
    best = Climbed(state, -np.inf)
    longest = np.inf
    while not monitor.finished:
        points = [state]
        for _ in range(2 if accelerate else 1):
            new, objective = learner.step(points[-1])
            monitor.record(objective)
            best = Climbed(points[-1], objective)
            points.append(new)
        state = points[-1]
        if accelerate:
            length = min(_step_length(points, learner.scales()), longest)
            trial = learner.project(_extrapolate(points, length))
            after, objective = learner.step(trial)
            accepted = objective >= best.objective
            if accepted:
                best, state = Climbed(trial, objective), after
            longest = 4 * longest if accepted else max(1.0, length / 4)
            monitor.record(best.objective)  # a rejected trial is recorded too: it has cost a pass
        monitor.check()
    if best.objective == -np.inf:  # stopped before the first pass
        best = Climbed(state, learner.step(state)[1])
        monitor.record(best.objective)
    return best


def _step_length(points: list[State], scales: tuple[np.ndarray | float, ...]) -> float:
    """SQUAREM's steplength |r| / |v| of three successive states, at least 1 (which is the third of them)."""
    length = curvature = 0.0
    for a, b, c, scale in zip(*points, scales, strict=True):
        length += float(np.sum(scale * (b - a) ** 2))
        curvature += float(np.sum(scale * (c - 2 * b + a) ** 2))
    return max(1.0, float(np.sqrt(length / curvature))) if curvature > 0 else 1.0


def _extrapolate(points: list[State], length: float) -> State:
    """The state a + 2 s r + s^2 v on the parabola through a, b, c, where r = b - a and v = c - 2 b + a."""
    moved = (a + 2 * length * (b - a) + length**2 * (c - 2 * b + a) for a, b, c in zip(*points, strict=True))
    return type(points[0])(*moved)
