"""Maximisation of a smooth function of a named state by L-BFGS, with the common monitor."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import numpy as np
from scipy.optimize import Bounds, OptimizeResult, minimize

from latentbits.fitting.climb import Climbed
from latentbits.fitting.monitor import Monitor

__all__ = ["ascend", "flatten", "unflatten"]

State = TypeVar("State", bound=tuple[np.ndarray, ...])

CHECK_EVERY = 10
"""Iterations between two checks of convergence: a single step of L-BFGS may be short without being the last."""

MEMORY = 20
"""Past steps from which L-BFGS estimates the curvature."""


def flatten(state: tuple[np.ndarray, ...]) -> np.ndarray:
    """All arrays of a state as one vector."""
    return np.concatenate([part.ravel() for part in state])


def unflatten(x: np.ndarray, like: State) -> State:
    """The vector as a state with the shapes of `like`."""
    ends = np.cumsum([part.size for part in like])
    pieces = np.split(x, ends[:-1])
    return type(like)(*(piece.reshape(part.shape) for piece, part in zip(pieces, like, strict=True)))


def ascend(
    function: Callable[[State], tuple[float, State]],
    start: State,
    monitor: Monitor,
    limits: tuple[State, State] | None = None,
) -> Climbed[State]:
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
