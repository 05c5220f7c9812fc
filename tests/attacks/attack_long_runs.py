"""Long runs: the memory of a process doesn't grow with the fits that it makes, nor with its predictions.

A case makes some fits and many predictions of small problems of one model, in three equal parts. The first fills what
is filled once (compiled code, the latest solutions that are kept); what the others take must be given back, as Python's
allocator and the system count it.
"""

from __future__ import annotations

import gc
import resource
import tracemalloc
from collections.abc import Callable
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np

from latentbits.errors import DataError
from latentbits.models.registry import MODELS
from tests.attacks.problems import Problem, draw

SMALL = 1
LARGE = len(MODELS)
SECONDS = 600

FITS, PREDICTIONS = 15, 3000
LONG = 0.1
"""Of how many cases are long: 300 fits and 10^5 predictions of one model of the aspect family."""
MANY_FITS, MANY_PREDICTIONS = 300, 100_000
MOST_GROWTH = 200_000
"""Bytes that may be left after a part: counters, caches of a fixed size; a leak of one array a fit is more."""
MOST_RESIDENT = 30_000_000
"""The same of the whole process, whose allocators keep pages for later."""


def case(rng: np.random.Generator) -> None:
    is_long = rng.random() < LONG
    fits, predictions = (MANY_FITS, MANY_PREDICTIONS) if is_long else (FITS, PREDICTIONS)
    problem = fitting_problem(rng, "aspect-bernoulli" if is_long else None)
    model = problem.fitted()
    name = "transform" if hasattr(model, "transform") else "reconstruct"
    rows = rng.permuted(np.repeat(problem.X, 1 + 200 // len(problem.X), axis=0), axis=0)
    numbers = count()
    check_growth(problem, fits // 3, lambda: problem.fitted(random_state=next(numbers)))

    def predict() -> None:
        number = next(numbers) % (len(rows) - 1)
        getattr(model, name)(rows[number : number + 1])
        model.score_samples(rows[number : number + 1])

    check_growth(problem, predictions // 6 + 1, predict)


def check_growth(problem: Problem, n_times: int, act: Callable[[], Any]) -> None:
    """Refuse what leaves more and more memory behind: growth in both of two equal parts after a first one."""

    def used() -> np.ndarray:
        for _ in range(n_times):
            act()
        gc.collect()
        return np.array([tracemalloc.get_traced_memory()[0], resident()])

    tracemalloc.start()
    try:
        first, second, third = (used() for _ in range(3))
    finally:
        tracemalloc.stop()
    growth, of_process = np.minimum(second - first, third - second).tolist()
    assert growth < MOST_GROWTH, f"{problem}: {n_times} times leave {growth:,} bytes behind"
    assert of_process < MOST_RESIDENT, f"{problem}: the process grows by {of_process:,} bytes in {n_times} times"


def resident() -> int:
    """Bytes of the process in memory; 0 where the system doesn't tell in this way."""
    file = Path("/proc/self/statm")
    return int(file.read_text().split()[1]) * resource.getpagesize() if file.exists() else 0


def fitting_problem(rng: np.random.Generator, name: str | None = None) -> Problem:
    """A problem that can be fitted, of this model if one is named."""
    while True:
        problem = draw(rng, name)
        try:
            problem.fitted()
        except DataError:
            continue
        return problem
