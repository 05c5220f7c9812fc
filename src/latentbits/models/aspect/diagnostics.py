"""Whether chains agree: rank-normalised split R-hat and bulk effective sample size (Vehtari and others, 2021)."""

from __future__ import annotations

import numpy as np
from scipy.fft import irfft, next_fast_len, rfft
from scipy.special import ndtri
from scipy.stats import rankdata

__all__ = ["LEAST_DRAWS", "effective_size", "split_r_hat"]

LEAST_DRAWS = 4
"""Draws of a chain below which its halves have no variance."""


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
