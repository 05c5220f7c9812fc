"""What sources predict of pairs of cells of held-out rows, beyond independent columns with each segment's shares."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
from scipy.optimize import minimize_scalar
from scipy.special import ndtr

from latentbits.correlations.pairs import table_probabilities
from latentbits.data.binary_data import BinaryData
from latentbits.fitting.held_out import DOUBLED, Gain
from latentbits.fitting.rows import indicator_blocks
from latentbits.models.binary_ica.judgement import SURE
from latentbits.numerics import LOG_ROOT_2PI

BINS = 10_000
"""Of predicted probabilities, which are ranked by their bins: there are twice as many as pairs, in all segments."""


class HeldOutRows(NamedTuple):
    """Rows that a fit didn't see, the numbers of their segments, its thresholds (U, D) and correlations (U, D, D)."""

    data: BinaryData
    codes: np.ndarray
    thresholds: np.ndarray
    correlations: np.ndarray


class _Segment(NamedTuple):
    """Indicators of the ones and zeros of a segment's rows, P(1) = Phi(h) of the columns, and correlations."""

    ones: np.ndarray
    zeros: np.ndarray
    h: np.ndarray
    rho: np.ndarray

    @classmethod
    def all_of(cls, parts: Sequence[HeldOutRows]) -> Iterator[_Segment]:
        for part in parts:
            for u in np.unique(part.codes):
                rows = part.data.rows(np.flatnonzero(part.codes == u))
                for _, ones, zeros in indicator_blocks(rows):
                    yield cls(ones, zeros, -part.thresholds[u], np.triu(part.correlations[u], 1))

    def log_likelihood(self, trust: float) -> np.ndarray:
        """Of each row, the sum over pairs of columns that are both observed."""
        h, k = np.broadcast_arrays(self.h[:, None], self.h)
        P = table_probabilities(h, k, trust * self.rho)
        log_p = np.triu(np.moveaxis(np.log(np.maximum(P, SURE)), -1, 0), 1)
        rows = ((self.ones, self.ones), (self.ones, self.zeros), (self.zeros, self.ones), (self.zeros, self.zeros))
        return np.asarray(sum(((x @ L) * y).sum(axis=1) for L, (x, y) in zip(log_p, rows, strict=True)))

    def from_another(self, trust: float) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """P(1) of each column (first axis) given a 1, then a 0, in each other; with the rows where that is known."""
        h, k = np.broadcast_arrays(self.h[:, None], self.h)
        P = table_probabilities(h, k, trust * (self.rho + self.rho.T))
        yield self.ones, P[..., 0] / ndtr(self.h)
        yield self.zeros, P[..., 1] / ndtr(-self.h)

    def score(self) -> np.ndarray:
        """Of each row, the derivative of `log_likelihood` by trust, at 0."""
        p, density = ndtr(self.h), np.exp(-0.5 * self.h**2 - LOG_ROOT_2PI)
        residual = density * (self.ones / p - self.zeros / ndtr(-self.h))
        return np.asarray(((residual @ self.rho) * residual).sum(axis=1))

    def n_pairs(self) -> np.ndarray:
        seen = (self.ones + self.zeros).sum(axis=1)
        return np.asarray(seen * (seen - 1) / 2)


def pair_gain(parts: Sequence[HeldOutRows]) -> tuple[Gain, dict[str, float], int]:
    """The gain over independent columns, areas under the ROC curve of both, and the number of pairs."""
    segments = list(_Segment.all_of(parts))
    n_pairs = np.concatenate([s.n_pairs() for s in segments])
    base = np.concatenate([s.log_likelihood(0.0) for s in segments])

    def gains(trust: float) -> np.ndarray:
        return np.concatenate([s.log_likelihood(trust) for s in segments]) - base

    own = gains(1.0)
    best = minimize_scalar(lambda trust: -gains(trust).sum(), bounds=(0, 1), method="bounded", options={"xatol": 1e-3})
    trust = 1.0 if own.sum() >= max(-best.fun, 0) else float(best.x) if best.fun < 0 else 0.0
    auc = {"model": _area(segments, 1.0), "columns": _area(segments, 0.0)}
    scaled = own if trust == 1 else gains(trust)
    found = Gain(
        _z(np.concatenate([s.score() for s in segments])),
        *_mean_and_error(scaled, n_pairs),
        *_mean_and_error(own, n_pairs),
        trust,
        _area(segments, trust),
    )
    return found, auc, int(n_pairs.sum())


def _z(score: np.ndarray) -> float:
    """The sum in standard errors; a row has a part in the predictions of other folds' rows, which at most doubles them.

    Rows are the units and their own spread is the error: the variance that independent columns would have is wrong
    where their shares come from a few rows of a segment.
    """
    variance = DOUBLED * float(score @ score)
    return float(score.sum()) / math.sqrt(variance) if variance > 1e-9 * len(score) else 0.0


def _mean_and_error(per_row: np.ndarray, n_pairs: np.ndarray) -> tuple[float, float]:
    """The mean over pairs, and its standard error with the rows as units."""
    mean, n = float(per_row.sum() / n_pairs.sum()), len(per_row)
    away = per_row - mean * n_pairs
    return mean, float(np.sqrt(away @ away * n / max(n - 1, 1)) / n_pairs.sum())


def _area(segments: Sequence[_Segment], trust: float) -> float:
    """The area under the ROC curve of all cells, each predicted from every other cell of its row in turn."""
    counts = np.zeros((2, BINS))
    for segment in segments:
        for known, predicted in segment.from_another(trust):
            place = np.minimum((predicted * BINS).astype(int), BINS - 1)
            for x, cells in enumerate((segment.zeros, segment.ones)):
                together = cells.T @ known
                np.fill_diagonal(together, 0)
                counts[x] += np.bincount(place.ravel(), together.ravel(), BINS)
    zeros, ones = counts
    return float(ones @ (np.cumsum(zeros) - zeros / 2) / max(zeros.sum() * ones.sum(), 1))
