"""The parameters of the model, their canonical form, the statistics of pairs that they imply, and counted rows."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from latentbits.data.binary_data import BinaryData
from latentbits.errors import DataError

LINK = float(np.sqrt(np.pi / 8))
"""The c of P(x = 1 | y) = Phi(c y), with which the probit approximates the logistic function."""

FINEST_GRID = 2048
"""Points of a grid in each dimension, at most: more change no integral, and for two sources they are squared."""

TINY = 1e-12  # a source with scale 0 in all segments must not be divided by 0


class Parameters(NamedTuple):
    """The model of n variables and m sources in U segments.

    A cell is 1 with probability Phi(c mixing z + intercepts); the paper's model has no intercepts.

    Attributes
    ----------
    mixing : ndarray of shape (n, m)
        The same in all segments.
    means : ndarray of shape (U, m)
        Of the sources in each segment.
    scales : ndarray of shape (U, m)
        Standard deviations of the sources in each segment.
    intercepts : ndarray of shape (n,) or 0
        The same in all segments.

    Examples
    --------
    >>> from latentbits import fit_blica, pairwise_from_model
    >>> statistics = pairwise_from_model([[2.0], [-2.0], [1.0]], [[0.5], [1.0]], [[1.0], [2.0]])
    >>> found = fit_blica(statistics, 1, random_state=0)
    >>> found.mixing.shape, found.scales.shape
    ((3, 1), (2, 1))
    """

    mixing: np.ndarray
    means: np.ndarray
    scales: np.ndarray
    intercepts: np.ndarray | float = 0.0

    def centre(self, u: int) -> np.ndarray:
        """The columns' probits where the sources of a segment are at their means.

        Parameters
        ----------
        u : int
            Index of the segment.

        Returns
        -------
        ndarray of shape (n,)
            Probits.
        """
        return LINK * self.mixing @ self.means[u] + self.intercepts


class Prior(NamedTuple):
    """Precisions of normal priors around 0: of the entries of c A, and of the logarithms of the scales.

    Chosen on simulations of the paper's recipe. Together they also fix the scale of a source.
    """

    mixing: float = 0.4
    log_scales: float = 3.0

    @classmethod
    def of_strength(cls, strength: float) -> Prior:
        """Both precisions, multiplied."""
        default = cls()
        return cls(strength * default.mixing, strength * default.log_scales)

    def __call__(self, A: np.ndarray, log_s: np.ndarray) -> tuple[float, np.ndarray, np.ndarray]:
        """The logarithm of its density but for a constant, and its derivatives; A with c in it."""
        value = -(self.mixing * np.sum(A**2) + self.log_scales * np.sum(log_s**2)) / 2
        return float(value), -self.mixing * A, -self.log_scales * log_s


class PairwiseStatistics(NamedTuple):
    """The statistics of the U segments that BLICA is fitted to.

    Attributes
    ----------
    correlations : ndarray of shape (U, n, n)
        Tetrachoric correlations of the columns; positive definite, with ones on the diagonal.
    thresholds : ndarray of shape (U, n)
        A cell is 1 where its normal variable is above the threshold t of its column: P(x_i = 1 | u) = Phi(-t).
    n_rows : ndarray of shape (U,)
        Numbers of rows, up to a common factor.

    Examples
    --------
    >>> from latentbits import pairwise_from_model
    >>> found = pairwise_from_model([[2.0], [-2.0], [1.0]], [[0.0], [1.0]], [[1.0], [2.0]])
    >>> found.correlations.shape, found.thresholds.shape
    ((2, 3, 3), (2, 3))
    """

    correlations: np.ndarray
    thresholds: np.ndarray
    n_rows: np.ndarray


def canonical(parameters: Parameters, share: np.ndarray) -> Parameters:
    """The same model in its reported form, which fixes the scale, sign and order of sources (they are not identified).

    The mean over rows of a source's variance within segments is 1 (`share`: (U,) the segments' shares of the rows);
    the entry of each column of the mixing that is largest in size is positive; columns go from the longest to the
    shortest. What the mixing can do stands in the means: intercepts are orthogonal to its columns.
    """
    mixing, means, scales, intercepts = parameters
    b = np.broadcast_to(np.asarray(intercepts, dtype=float), len(mixing))
    shift = np.linalg.lstsq(LINK * mixing, b, rcond=1e-9)[0]
    means, b = means + shift, b - LINK * mixing @ shift
    size = np.maximum(np.sqrt(share @ scales**2), TINY)
    largest = np.take_along_axis(mixing, np.abs(mixing).argmax(axis=0)[None], axis=0)[0]
    sign = np.where(largest < 0, -1.0, 1.0)
    order = np.argsort(-np.linalg.norm(mixing * size, axis=0), kind="stable")
    return Parameters((mixing * size * sign)[:, order], (means / size * sign)[:, order], (scales / size)[:, order], b)


def covariances(parameters: Parameters) -> np.ndarray:
    """I + c^2 A diag(s_u^2) A^T of each segment (U, n, n): the covariance of the paper's q (eq. 4)."""
    B = LINK * parameters.mixing * parameters.scales[:, None, :]
    return np.eye(len(parameters.mixing)) + B @ B.transpose(0, 2, 1)


def correlations(B: np.ndarray) -> np.ndarray:
    """The correlation matrices of I + B B^T (U, n, n), for B = c A diag(s_u) of each segment (U, n, m)."""
    S = np.eye(B.shape[1]) + B @ B.transpose(0, 2, 1)
    sd = np.sqrt(np.diagonal(S, axis1=1, axis2=2))
    return np.asarray(S / (sd[:, :, None] * sd[:, None, :]))


def pairwise_from_model(
    mixing: ArrayLike, means: ArrayLike, scales: ArrayLike, intercepts: ArrayLike = 0.0
) -> PairwiseStatistics:
    """The exact thresholds and tetrachoric correlations of a model: what infinitely many rows would show.

    Parameters
    ----------
    mixing : array-like of shape (n_variables, n_components)
        The mixing matrix.
    means : array-like of shape (n_segments, n_components)
        Mean of each source in each segment.
    scales : array-like of shape (n_segments, n_components)
        Standard deviation of each source in each segment.
    intercepts : float or array-like of shape (n_variables,), default=0.0
        What is added to each column before the probit.

    Returns
    -------
    PairwiseStatistics
        Named tuple of `correlations`, `thresholds` and `n_rows` (all 1), which `fit_blica` takes.

    Examples
    --------
    >>> from latentbits import pairwise_from_model
    >>> statistics = pairwise_from_model([[2.0], [-2.0]], [[0.5], [1.0]], [[1.0], [2.0]])
    >>> statistics.correlations[:, 0, 1].round(3).tolist()
    [-0.611, -0.863]
    >>> statistics.thresholds.round(3).tolist()
    [[-0.391, 0.391], [-0.464, 0.464]]
    """
    A, mu, s, b = (np.asarray(part, dtype=float) for part in (mixing, means, scales, intercepts))
    if A.ndim != 2 or mu.ndim != 2 or mu.shape != s.shape or mu.shape[1] != A.shape[1]:
        raise DataError(
            f"mixing, means and scales have the shapes {A.shape}, {mu.shape} and {s.shape}; give n_variables x "
            "n_components, and twice n_segments x n_components"
        )
    if b.ndim and b.shape != (len(A),):
        raise DataError(f"intercepts have the shape {b.shape}; give one for each of {len(A)} variables")
    S = covariances(Parameters(A, mu, s))
    sd = np.sqrt(np.diagonal(S, axis1=1, axis2=2))
    return PairwiseStatistics(S / (sd[:, :, None] * sd[:, None, :]), -(LINK * mu @ A.T + b) / sd, np.ones(len(mu)))


class CountedRows(NamedTuple):
    """cells: (R, n) int8, distinct within a segment, segment after segment. counts: (R,). starts: (U + 1,) ends too."""

    cells: np.ndarray
    counts: np.ndarray
    starts: np.ndarray

    def segment(self, u: int) -> tuple[np.ndarray, np.ndarray]:
        """Cells and counts of one segment."""
        part = slice(self.starts[u], self.starts[u + 1])
        return self.cells[part], self.counts[part]


def count_rows(data: BinaryData, codes: np.ndarray, n_segments: int) -> CountedRows:
    """Every row with a segment code from 0 to n_segments - 1, each of which has a row at least."""
    cells = data.dense()
    found = [np.unique(cells[codes == u], axis=0, return_counts=True) for u in range(n_segments)]
    starts = np.concatenate([[0], np.cumsum([len(counts) for _, counts in found])])
    return CountedRows(
        np.ascontiguousarray(np.concatenate([distinct for distinct, _ in found])),
        np.concatenate([counts for _, counts in found]).astype(float),
        starts,
    )
