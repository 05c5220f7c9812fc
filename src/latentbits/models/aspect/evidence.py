"""The log evidence by thermodynamic integration: from the prior to the posterior by a ladder of temperatures.

At temperature tau the causes have the density p(X | z)^tau p(z) / Z(tau), and d log Z / d tau is the mean of
log p(X | z). So log p(X) = log Z(1) is its integral over tau from 0 to 1.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from latentbits.fitting.workers import Progress, Workers, stopped_together
from latentbits.models.aspect.gibbs import Chain
from latentbits.models.aspect.variational import Prior

__all__ = ["Evidence", "integrate"]

LEVELS = np.linspace(0, 1, 25) ** 3
"""Dense near 0, where the mean changes most."""

BATCHES = 10


class Evidence(float):
    """A log evidence with its standard error; otherwise a float.

    Parameters
    ----------
    value : float
        The log evidence.
    error : float
        Its standard error: `batch_error`, half of `up` - `down`, and the spread of the runs, whichever is largest,
        and what the grid of temperatures may miss.
    up : float
        The mean of the integrals on the way from the prior to the posterior.
    down : float
        The same on the way back; they differ if the sweeps are too few for the chains to follow the temperature.
    batch_error : float
        The error by the means of successive batches of sweeps alone.

    Examples
    --------
    >>> from latentbits import BetaICA, simulate
    >>> X = simulate.aspect_bernoulli(30, 6, 2, random_state=0).X
    >>> one, two = (BetaICA(K, inference="gibbs", n_init=2, random_state=0).fit(X).log_evidence(X) for K in (1, 2))
    >>> one.error, 0 < two.error < 1
    (0.0, True)
    """

    error: float
    up: float
    down: float
    batch_error: float

    def __new__(cls, value: float, *, error: float, up: float, down: float, batch_error: float) -> Evidence:
        made = super().__new__(cls, value)
        made.error, made.up, made.down, made.batch_error = error, up, down, batch_error
        return made

    def __repr__(self) -> str:
        return f"{float(self):.7g} +- {self.error:.2g}"

    def __reduce__(self) -> tuple[object, ...]:
        return _restored, (float(self), self.error, self.up, self.down, self.batch_error)


def _restored(value: float, error: float, up: float, down: float, batch_error: float) -> Evidence:
    return Evidence(value, error=error, up=up, down=down, batch_error=batch_error)


class _Level(NamedTuple):
    """Mean and variance of log p(X | z) at a temperature, and the mean's standard error."""

    mean: float
    variance: float
    error: float


def integrate(
    cells: np.ndarray,
    n_components: int,
    prior: Prior,
    seeds: list[int],
    n_sweeps: int,
    workers: Workers,
    fixed: np.ndarray | None = None,
    *,
    verbose: bool = False,
) -> Evidence:
    """The log evidence of a table, from one run up and down the ladder for each seed; Ctrl-C ends all runs.

    Parameters
    ----------
    cells : ndarray of int8, shape (N, D)
        Below 0 where missing.
    n_components : int
    prior : Prior
    seeds : list of int
    n_sweeps : int
        At each temperature, of which the first third isn't counted.
    workers : Workers
    fixed : ndarray of shape (K, D), optional
        As in `Chain`.
    verbose : bool
        Whether to show a bar, a step for each temperature of each run.
    """
    if n_components == 1:  # there is one way to cause the cells, so nothing to integrate over
        exact = float(Chain(cells, 1, prior, np.random.default_rng(0), fixed).sweep(1)[0])
        return Evidence(exact, error=0.0, up=exact, down=exact, batch_error=0.0)

    n_visits = 2 * len(LEVELS) * len(seeds)
    with stopped_together() as stopped, Progress("Integrating", n_visits, show=verbose) as progress:

        def visit(chain: Chain, tau: float) -> _Level:
            if stopped.is_set():
                raise KeyboardInterrupt
            level = _visit(chain, tau, n_sweeps)
            progress.finished_one()
            return level

        def one(seed: int) -> tuple[list[_Level], list[_Level]]:
            chain = Chain(cells, n_components, prior, np.random.default_rng(seed), fixed)
            up = [visit(chain, tau) for tau in LEVELS]
            down = [visit(chain, tau) for tau in LEVELS[::-1]]
            return up, down[::-1]

        try:
            ways = np.array(workers.map(one, seeds))  # run, direction, level, (mean, variance, error)
        except KeyboardInterrupt:
            stopped.set()  # ends the runs on other threads at their next temperature
            raise
    values = np.array([[_integral(way) for way in run] for run in ways])
    batch = float(np.sqrt((np.square(_widths() * ways[..., 2])).sum())) / values.size
    up, down = values.mean(axis=0)
    between = values.mean(axis=1).std(ddof=1) / np.sqrt(len(seeds)) if len(seeds) > 1 else 0.0
    error = np.hypot(max(batch, abs(up - down) / 2, between), _grid_error(ways.mean(axis=(0, 1))))
    return Evidence(float(values.mean()), error=float(error), up=float(up), down=float(down), batch_error=batch)


def _visit(chain: Chain, tau: float, n_sweeps: int) -> _Level:
    chain.sweep(n_sweeps // 3, tau)
    trace = chain.sweep(n_sweeps - n_sweeps // 3, tau)
    means = np.array([part.mean() for part in np.array_split(trace, BATCHES)])
    return _Level(float(trace.mean()), float(trace.var()), float(means.std(ddof=1) / np.sqrt(BATCHES)))


def _integral(way: np.ndarray) -> float:
    """The trapezoidal rule, corrected by the curve's slopes at the levels, which are the variances (Friel 2014)."""
    step = np.diff(LEVELS)
    return float(_widths() @ way[:, 0] - step**2 @ np.diff(way[:, 1]) / 12)


def _grid_error(way: np.ndarray) -> float:
    """How far the rule is off between the levels: its change if every other level is left out, a sixteenth of it.

    (The corrected rule is of fourth order.)
    """
    mean, variance = way[::2, 0], way[::2, 1]
    step = np.diff(LEVELS[::2])
    coarse = step @ (mean[1:] + mean[:-1]) / 2 - step**2 @ np.diff(variance) / 12
    return abs(_integral(way) - float(coarse)) / 16


def _widths() -> np.ndarray:
    """How much each level counts in the trapezoidal rule."""
    step = np.diff(LEVELS)
    return (np.append(step, 0) + np.append(0, step)) / 2
