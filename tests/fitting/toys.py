"""Small learners whose climb is known."""

import threading
from typing import NamedTuple

import numpy as np

from latentbits.fitting.climb import ArrayLearner


class Point(NamedTuple):
    x: np.ndarray


class Slope(ArrayLearner):
    """A linear map towards 0, slow along one direction; the objective is minus the squared distance."""

    rates = np.array([0.99, 0.9, 0.5])

    def initialise(self, rng):
        return Point(rng.normal(size=3) + 5)

    def step(self, state):
        return Point(self.rates * state.x), -float(state.x @ state.x)

    def project(self, state):
        return state

    def scales(self):
        return (1.0,)


class BadJumps(Slope):
    """Every extrapolation lands far away."""

    def project(self, state):
        return Point(state.x + 1000.0)


class Hills(Slope):
    """Where a climb ends depends on its start: the objective's top is the start's own height."""

    def initialise(self, rng):
        return Point(np.array([rng.normal(), 8.0]))

    def step(self, state):
        height, way = state.x
        return Point(np.array([height, 0.5 * way])), float(height - way**2)


class Endless(Slope):
    """Never converges; tells when it has started, and waits a little in every step."""

    def __init__(self):
        self.started = threading.Event()

    def step(self, state):
        self.started.set()
        threading.Event().wait(0.001)
        return Point(state.x + 1), float(state.x[0])
