"""Discarding of superfluous factors: after convergence, one at a time, the weakest first."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Generic, NamedTuple, TypeVar

import numpy as np

from latentbits.fitting.climb import Climbed
from latentbits.fitting.monitor import Monitor
from latentbits.models.binary_factors.model import Parameters

__all__ = ["Discard", "Learned", "least_length", "settle_and_discard", "weakest"]

MARGIN = 1.25  # over the length of a column that pure noise gives, measured over rows and noise levels
FEWEST_ROWS = 5  # a factor that is on (or off) in fewer rows is indistinguishable from outliers
LARGEST_EDGE = 0.2  # but in small data this share of the rows is always enough

State = TypeVar("State")


class Discard(NamedTuple):
    """Factor number `factor` of the start was discarded after pass `iteration`, as "weak", "constant" or by "bic"."""

    iteration: int
    factor: int
    reason: str
    norm: float
    probability: float


class Learned(NamedTuple, Generic[State]):
    """The final state of a run, and the factors that it discarded."""

    state: State
    discards: list[Discard]


def settle_and_discard(
    state: State,
    *,
    stages: Sequence[Callable[[State], State]],
    parameters: Callable[[State], Parameters],
    drop: Callable[[State, int], State],
    n_rows: int,
    delta: float,
    monitor: Monitor,
) -> Climbed[Any]:
    """In every stage: iterate to convergence, discard the weakest factor, repeat until none is discarded or time is up.

    A stage is a function that iterates to convergence; the final state is a `Learned`. (Algorithm 1 of Tu and Xu has
    the discard inside the loop, after every update. That loses good factors, because the noise is overestimated in the
    first passes.)
    """
    numbers = list(range(parameters(state).A.shape[1]))  # of the factors left, by their place at the start
    discards: list[Discard] = []
    for settle in stages:
        while True:
            state = settle(state)
            theta = parameters(state)
            factor = weakest(theta, n_rows, delta)
            if factor is None or not monitor.converged or monitor.n_iter >= monitor.max_iter:
                break
            norm = float(np.linalg.norm(theta.A[:, factor]))
            reason = "weak" if norm < delta / np.sqrt(theta.phi) else "constant"
            discards.append(Discard(monitor.n_iter, numbers.pop(factor), reason, norm, float(theta.beta[factor])))
            state = drop(state, factor)
    return Climbed(Learned(state, discards), monitor.history[-1])


def least_length(n_rows: int, n_columns: int) -> float:
    """The default of delta: the length below which a column may be noise, in standard deviations of the noise.

    A factor fitted to nothing but noise splits the rows along one direction. The two halves of a normal distribution
    have their means sqrt(2 / pi) standard deviations from the centre, and the direction is that in which the sample
    varies most, by up to 1 + sqrt(n / N) standard deviations of the noise.

    Examples
    --------
    >>> round(least_length(200, 10), 2), round(least_length(20, 10), 2)
    (1.22, 1.7)
    """
    return float(MARGIN * np.sqrt(2 / np.pi) * (1 + np.sqrt(n_columns / n_rows)))


def weakest(theta: Parameters, n_rows: int, delta: float) -> int | None:
    """The factor to discard next, if any: the one with the shortest column of those that fail line 14 of Algorithm 1.

    Those are the factors with |a_i|^2 < delta sqrt(a_i^T Sigma a_i), which is |a_i| < delta / sqrt(phi); and those that
    are on, or off, in nearly all rows: epsilon is here a number of rows, because a factor of two or three rows encodes
    outliers, whatever the number of rows.
    """
    edge = min(LARGEST_EDGE, (FEWEST_ROWS - 0.5) / n_rows)
    norm = np.linalg.norm(theta.A, axis=0)
    given_up = (norm < delta / np.sqrt(theta.phi)) | (np.minimum(theta.beta, 1 - theta.beta) < edge)
    return int(np.where(given_up, norm, np.inf).argmin()) if given_up.any() else None
