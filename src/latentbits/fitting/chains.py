"""Samples of several chains: whether the chains agree, and intervals.

Rank-normalised split R-hat and bulk effective sample size are those of Vehtari and others (2021).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NamedTuple

import numpy as np
from scipy.fft import irfft, next_fast_len, rfft
from scipy.special import ndtri
from scipy.stats import rankdata

from latentbits.errors import DataError
from latentbits.fitting.climb import Monitor
from latentbits.numerics import check_number
from latentbits.wording import counted

LARGEST_R_HAT = 1.05
"""Above it the chains disagree. (1.01 is the literature's for publication; a hundred draws of ten chains have 1.02 by
chance.)"""

LEAST_DRAWS = 4
"""Draws of a chain below which its halves have no variance."""


class Length(NamedTuple):
    """Of a chain: sweeps before the first sample, samples, and sweeps from one to the next."""

    burn: int
    samples: int
    thin: int


def run_chain(
    stretches: Iterable[tuple[np.ndarray | float, int, bool]],
    take: Callable[[float], tuple[np.ndarray, ...]],
    monitor: Monitor,
) -> tuple[np.ndarray, ...]:
    """The samples of a chain from its start to its end, or until it is interrupted.

    Parameters
    ----------
    stretches : iterable of (ndarray or float, int, bool)
        The chain bit by bit: the objective after each of some sweeps, or after the last of them; how many sweeps these
        were; whether they end with a sample.
    take : callable
        The parts of a sample, given the objective: what the chain is at now.
    monitor : Monitor
        Hears every sweep, and says if the chain is to be stopped.

    Returns
    -------
    tuple of ndarray
        The parts, each with the samples along its first axis; at least one sample, if only of the burn-in.
    """
    kept: list[tuple[np.ndarray, ...]] = []
    for objectives, n_sweeps, is_sample in stretches:
        trace = np.atleast_1d(objectives)
        for value in trace:
            monitor.record(float(value), n_sweeps // len(trace))
        if is_sample:
            kept.append(take(float(trace[-1])))
        if monitor.cancelled is not None and monitor.cancelled():
            break
    else:
        monitor.converged = True
    if not kept:
        kept.append(take(monitor.history[-1]))
    return tuple(np.stack(part) for part in zip(*kept, strict=True))


def by_chain(chain: np.ndarray, values: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Draws of all chains one after the other, `chain` saying which, as (chain, draw, ...), cut to the shortest."""
    numbers, starts, lengths = np.unique(chain, return_index=True, return_counts=True)
    shortest = lengths.min()
    place = starts[:, None] + np.arange(shortest)
    assert place.shape == (len(numbers), shortest)
    return {name: part[place] for name, part in values.items()}


def diagnosed(
    named: dict[str, np.ndarray],
) -> tuple[dict[str, np.ndarray], dict[str, np.ndarray]] | tuple[None, None]:
    """R-hat and effective sample sizes of draws (chain, draw, ...), by name; None if chains are too short to judge."""
    if min(values.shape[1] for values in named.values()) < LEAST_DRAWS:
        return None, None
    r_hat = {name: split_r_hat(values) for name, values in named.items()}
    return r_hat, {name: effective_size(values) for name, values in named.items()}


def samples_needed(level: float) -> int:
    """How many samples an interval of this level needs: one in each tail."""
    return int(np.ceil(2 / (1 - level) - 1e-9))


def quantile_interval(samples: np.ndarray, level: float, axis: int) -> tuple[np.ndarray, np.ndarray]:
    """Central intervals from samples along an axis; refused if there are too few for the level."""
    check_number("level", level, least=0, below=1, above=True)
    tail = (1 - level) / 2
    n, needed = samples.shape[axis], samples_needed(level)
    if n < needed:
        raise DataError(
            f"{counted(n, 'posterior sample')} can't give an interval of level {level:g}, which needs "
            f"{needed}; fit with more (n_samples, n_init), or ask for a lower level"
        )
    low, high = np.quantile(samples.astype(np.float64), [tail, 1 - tail], axis=axis)
    return low, high


def split_r_hat(draws: np.ndarray) -> np.ndarray:
    """How much wider all chains are than each of them, 1 if they agree: the larger of the bulk's and the tails'.

    Parameters
    ----------
    draws : ndarray of shape (n_chains, n_draws, ...)
        At least four draws of each chain.

    Returns
    -------
    ndarray of shape (...)
        R-hat of each quantity; 1 for one that never varies.
    """
    halves = _halves(draws)
    folded = np.abs(halves - np.median(halves, axis=(0, 1)))
    return np.maximum(_r_hat(_normal_scores(halves)), _r_hat(_normal_scores(folded)))


def effective_size(draws: np.ndarray) -> np.ndarray:
    """The number of independent draws that would give the same precision of the mean (after rank normalisation).

    Parameters
    ----------
    draws : ndarray of shape (n_chains, n_draws, ...)
        At least four draws of each chain.

    Returns
    -------
    ndarray of shape (...)
        Effective sample size of each quantity; the number of draws for one that never varies.
    """
    halves = _halves(draws)
    scores = _normal_scores(halves)
    m, n = scores.shape[:2]
    covariance = _autocovariance(scores).mean(axis=0)
    within = covariance[0] * n / (n - 1)
    total = covariance[0] + scores.mean(axis=1).var(axis=0, ddof=1)
    varies = total > 0
    correlation = 1 - (within - covariance) / np.where(varies, total, 1.0)
    correlation[0] = 1.0
    # Geyer: sums of neighbours are positive and fall in theory; beyond the first that isn't, there is noise only.
    pairs = correlation[0 : n - n % 2 : 2] + correlation[1:n:2]
    pairs = np.where(np.logical_and.accumulate(pairs > 0, axis=0), pairs, 0.0)
    time = -1 + 2 * np.minimum.accumulate(pairs, axis=0).sum(axis=0)
    return np.where(varies, m * n / np.maximum(time, 1 / np.log10(m * n)), float(draws.shape[0] * draws.shape[1]))


def _halves(draws: np.ndarray) -> np.ndarray:
    half = draws.shape[1] // 2
    return np.concatenate([draws[:, :half], draws[:, -half:]]).astype(np.float64)


def _normal_scores(draws: np.ndarray) -> np.ndarray:
    """Draws of all chains replaced by the normal quantiles of their ranks."""
    m, n = draws.shape[:2]
    ranks = rankdata(draws.reshape(m * n, -1), axis=0)
    return ndtri((ranks - 0.375) / (m * n + 0.25)).reshape(draws.shape)


def _r_hat(draws: np.ndarray) -> np.ndarray:
    n = draws.shape[1]
    within = draws.var(axis=1, ddof=1).mean(axis=0)
    between = draws.mean(axis=1).var(axis=0, ddof=1)
    # All chains constant but at different values: they never meet.
    apart = np.where(between > 0, np.inf, 1.0)
    return np.where(within > 0, np.sqrt((n - 1) / n + between / np.where(within > 0, within, 1.0)), apart)


def _autocovariance(draws: np.ndarray) -> np.ndarray:
    """Of each chain, along axis 1, lags 0 to n - 1, divided by n."""
    n = draws.shape[1]
    size = next_fast_len(2 * n, real=True)
    power = np.abs(rfft(draws - draws.mean(axis=1, keepdims=True), size, axis=1)) ** 2
    return irfft(power, size, axis=1)[:, :n] / n
