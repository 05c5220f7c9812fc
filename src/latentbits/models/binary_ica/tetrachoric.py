"""Tetrachoric correlations: the correlations of the latent normal variables of 0-1 columns."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import ndtri

from latentbits.data.binary_data import BinaryData
from latentbits.data.messages import SHOWN, quoted
from latentbits.fitting.workers import Workers, n_workers, one_blas_thread
from latentbits.kernels.bivariate_normal import fit_tables
from latentbits.models.base import check_row_weight
from latentbits.models.binary_ica.segments import encode_labels, take_out
from latentbits.models.cells import indicator_blocks
from latentbits.numerics import check_number
from latentbits.wording import counted

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["Tetrachoric", "pair_counts", "regularise", "repair_correlation", "tetrachoric"]

CHUNK = 4096
"""Pairs of columns per thread task: some milliseconds."""

ROWS = 1 << 16
"""Rows of a segment per thread task; a constant, so that sums don't depend on the number of threads."""

SMOOTHING = 0.5
"""Count of the absent value of a constant column if `correct` is 0, so that thresholds are finite in any case."""

UNKNOWN_ERROR = 1.0
"""The standard error of a correlation without data: the largest that a value in [-1, 1] can have."""


@dataclass(frozen=True, eq=False)
class Tetrachoric:
    """Result of `tetrachoric` for D columns, and U segments if there are any.

    Attributes
    ----------
    correlations : array, D x D or U x D x D
        The estimated correlations, with a diagonal of 1.
    thresholds : array, D or U x D
        A cell is 1 where its normal variable is above the threshold of its column.
    standard_errors : array, as `correlations`
        At most 1, which is also given to pairs without data; the diagonal is 0.
    n_pairs : array, as `correlations`
        The number of rows (the sum of their weights) in which both columns are observed.
    zero_cells : bool array, as `correlations`
        The pairs whose correlation was estimated from a 2 x 2 table with an empty cell, counted as `correct`.
    segments : array or None
        The labels of the U segments, in order.
    column_names : list of str or None
        The names of the D columns.
    """

    correlations: np.ndarray
    thresholds: np.ndarray
    standard_errors: np.ndarray
    n_pairs: np.ndarray
    zero_cells: np.ndarray
    segments: np.ndarray | None = None
    column_names: list[str] | None = None

    def to_frame(self) -> pd.DataFrame:
        """The correlations with the columns' names; with segments, a block of rows (segment, column) for each.

        Examples
        --------
        >>> X = BinaryData.of([[0, 0], [0, 1], [1, 0], [1, 1]], column_names=["tea", "milk"])
        >>> tetrachoric(X, weights=[40, 10, 10, 40]).to_frame().round(3)
                tea   milk
        tea   1.000  0.809
        milk  0.809  1.000
        """
        import pandas as pd  # late: importing the library should not cost pandas' import time

        columns = pd.Index(range(self.correlations.shape[-1]) if self.column_names is None else self.column_names)
        if self.segments is None:
            return pd.DataFrame(self.correlations, index=columns, columns=columns)
        blocks = [pd.DataFrame(C, index=columns, columns=columns) for C in self.correlations]
        return pd.concat(blocks, keys=list(self.segments), names=["segment", "column"])


def tetrachoric(
    X: Any,
    segments: ArrayLike | str | None = None,
    weights: ArrayLike | None = None,
    *,
    correct: float = 0.5,
    repair: bool = False,
    n_jobs: int | None = None,
    binarize: float | None = None,
) -> Tetrachoric:
    """Tetrachoric correlations of all pairs of columns: maximum likelihood in two steps, compiled and threaded.

    Every column is modelled as a standard normal variable of which only the sign relative to a threshold is observed.
    The thresholds come from the columns' shares of ones (step 1); then the correlation of each pair maximises the
    likelihood of its 2 x 2 table (step 2).

    Parameters
    ----------
    X : array-like, sparse matrix, data frame or BinaryData, of shape (n_rows, n_columns)
        0, 1 and missing. A column's threshold comes from all rows in which it is observed, a pair's table from the rows
        in which both are observed.
    segments : array-like of shape (n_rows,), str or None, default=None
        Labels of groups of rows (or the name of a column of the frame X that holds them), each with correlations and
        thresholds of its own. None treats all rows as one group.
    weights : array-like of shape (n_rows,) or None, default=None
        How many rows each row counts for; so four rows and their counts are a 2 x 2 table, as in the example. None
        counts each row once.
    correct : float, default=0.5
        What an empty cell of a 2 x 2 table counts as, in step 2; the other cells and the thresholds are unchanged. With
        0, correlations of such pairs can end at 0.9999 or -0.9999, the limits of any estimate.
    repair : bool, default=False
        Whether to apply `repair_correlation` to the correlation matrices: pairs are estimated one by one, and with few
        rows the matrix may have negative eigenvalues, which factor analysis does not accept.
    n_jobs : int or None, default=None
        Number of threads: None means 1 unless a joblib context says otherwise, -1 means all cores. The result does not
        depend on it.
    binarize : float or None, default=None
        Values of at least `binarize` count as 1 and smaller ones as 0. None accepts only 0, 1 and missing cells.

    Returns
    -------
    Tetrachoric
        Dataclass of `correlations`, `thresholds`, `standard_errors`, `n_pairs`, `zero_cells`, `segments` and
        `column_names`; no value is NaN or infinite.

    Warns
    -----
    UserWarning
        If tables have an empty cell, with their number and the first of them. If a column is constant (or never seen)
        in a segment: its correlations are then 0 with a standard error of 1, and its threshold is that of a column
        with one more row, of weight `correct` (0.5 if that is 0), in which it has the other value. If two columns
        are never seen in the same row: their correlation is 0 too, with a standard error of 1.

    Notes
    -----
    In complete data without empty cells the answer is that of R's polycor::polychor(ML = FALSE), and since a 2 x 2
    table has as many probabilities as the model has parameters, also that of ML = TRUE. With empty or missing cells it
    is that of psych::tetrachoric(correct = 0.5, global = TRUE), its default for raw data; given a bare table, psych
    takes the thresholds from the corrected table instead.

    The standard errors are asymptotic, by the delta method (Pearson's formula), and count the thresholds as estimated:
    those of polychor(ML = TRUE). ML = FALSE takes the thresholds as known, and its standard errors are smaller.
    Weights count as numbers of rows. With missing data they ignore that thresholds come from more rows than the pair.

    Examples
    --------
    >>> table = tetrachoric([[0, 0], [0, 1], [1, 0], [1, 1]], weights=[40, 10, 10, 40])
    >>> table.correlations.round(4)
    array([[1.   , 0.809],
           [0.809, 1.   ]])
    >>> float(table.standard_errors[0, 1].round(4))
    0.0739
    """
    X, segments = take_out(X, segments)
    data = BinaryData.of(X, binarize=binarize)
    check_number("correct", correct, least=0)
    weight = check_row_weight(weights, data.shape[0], "weights")
    labels, groups = _groups(segments, data.shape[0])
    with one_blas_thread(), Workers(n_workers(n_jobs)) as workers:
        counts = _count(data, weight, groups, workers)
        n_pairs = counts.sum(axis=1)
        shares, constant = _shares(counts, correct or SMOOTHING)
        estimable = _upper_pairs(n_pairs > 0) & ~_either(constant)
        correlations, errors = _fit(counts, shares, correct, estimable, workers)
    empty = (counts == 0).any(axis=1) & estimable
    place = _Places(data.column_names, labels)
    _warn_constant(constant, place)
    _warn_unseen(_upper_pairs(n_pairs == 0) & ~_either(constant), place)
    _warn_empty(empty, place, correct)
    own = 0 if labels is None else slice(None)
    return Tetrachoric(
        correlations=(repair_correlation(correlations) if repair else correlations)[own],
        thresholds=ndtri(1 - shares)[own],
        standard_errors=errors[own],
        n_pairs=n_pairs[own],
        zero_cells=(empty | np.swapaxes(empty, 1, 2))[own],
        segments=labels,
        column_names=data.column_names,
    )


def _count(data: BinaryData, weight: np.ndarray, groups: list[np.ndarray], workers: Workers) -> np.ndarray:
    """`pair_counts` of each group, U x 4 x D x D; the rows of a large group are distributed over threads."""
    D = data.shape[1]
    parts = [(u, rows[start : start + ROWS]) for u, rows in enumerate(groups) for start in range(0, len(rows), ROWS)]
    counts = np.zeros((len(groups), 4, D, D))
    for (u, _), tables in zip(parts, workers.map(lambda part: pair_counts(data, weight, part[1]), parts), strict=True):
        counts[u] += tables
    return counts


def pair_counts(data: BinaryData, weight: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """The weighted 2 x 2 tables of all pairs of columns over some rows, 4 x D x D: n11, n10, n01 and n00."""
    D = data.shape[1]
    n11, n10, n00 = np.zeros((3, D, D))
    chosen = data.rows(rows)
    for block, ones, zeros in indicator_blocks(chosen):
        w = weight[rows[block], None]
        n11 += ones.T @ (w * ones)
        n10 += ones.T @ (w * zeros)
        n00 += zeros.T @ (w * zeros)
    return np.stack([n11, n10, n10.T, n00])


def _shares(counts: np.ndarray, smoothing: float) -> tuple[np.ndarray, np.ndarray]:
    """Shares of ones, strictly between 0 and 1, and whether a column is constant (both U x D)."""
    # A column's table with itself has all its ones and zeros, whatever is missing in other columns.
    ones, zeros = (np.diagonal(counts[:, cell], axis1=1, axis2=2) for cell in (0, 3))
    constant = (ones == 0) | (zeros == 0)
    ones, zeros = (np.where(count == 0, smoothing, count) for count in (ones, zeros))
    rounding = np.finfo(float).eps  # weights that differ by sixteen digits would give a share of exactly 0 or 1
    return np.clip(ones / (ones + zeros), rounding, 1 - rounding), constant


def _fit(
    counts: np.ndarray, shares: np.ndarray, correct: float, estimable: np.ndarray, workers: Workers
) -> tuple[np.ndarray, np.ndarray]:
    """Correlations and standard errors (U x D x D), from the tables of the estimable pairs above the diagonal."""
    U, _, D, _ = counts.shape
    quantiles = ndtri(shares)
    correlations = np.tile(np.eye(D), (U, 1, 1))
    errors = UNKNOWN_ERROR * (1 - correlations)
    segment, left, right = np.nonzero(estimable)

    def fit(part: slice) -> None:
        u, i, j = segment[part], left[part], right[part]
        tables = counts[u, :, i, j]
        rho, error = np.empty((2, len(u)))
        margins = (shares[u, i], shares[u, j], quantiles[u, i], quantiles[u, j])
        fit_tables(np.where(tables == 0, float(correct), tables), tables.sum(axis=1), *margins, rho, error)
        correlations[u, i, j] = correlations[u, j, i] = rho
        errors[u, i, j] = errors[u, j, i] = error

    workers.map(fit, [slice(start, start + CHUNK) for start in range(0, len(segment), CHUNK)])
    return correlations, errors


def repair_correlation(C: ArrayLike, smallest: float = 1e-6) -> np.ndarray:
    """C (or a stack of such matrices) as positive definite correlation matrices: eigenvalues clipped, then rescaled.

    Eigenvalues below `smallest` are raised to it and the diagonal is brought back to 1, as psych::cor.smooth does. A
    matrix without such eigenvalues comes back as it is.

    Examples
    --------
    >>> repair_correlation([[1, 0.9, 0.2], [0.9, 1, 0.9], [0.2, 0.9, 1]]).round(3)
    array([[1.   , 0.785, 0.231],
           [0.785, 1.   , 0.785],
           [0.231, 0.785, 1.   ]])
    """
    C = np.asarray(C, dtype=np.float64)
    check_number("smallest", smallest, least=0, above=True)
    values, vectors = np.linalg.eigh(C)
    clipped = (vectors * np.maximum(values, smallest)[..., None, :]) @ np.swapaxes(vectors, -1, -2)
    scale = np.sqrt(np.diagonal(clipped, axis1=-2, axis2=-1))
    rescaled = clipped / (scale[..., :, None] * scale[..., None, :])
    symmetric = (rescaled + np.swapaxes(rescaled, -1, -2)) / 2
    symmetric[..., np.eye(C.shape[-1], dtype=bool)] = 1.0
    return np.where((values[..., 0] < smallest)[..., None, None], symmetric, C)


def regularise(C: ArrayLike, condition_number: float) -> np.ndarray:
    """(C + delta I) / (1 + delta), delta >= 0 the least that brings the condition number down to `condition_number`.

    C is a correlation matrix or a stack of them, positive definite or not; the answer is positive definite, with a
    diagonal of 1. With l_1 and l_n the extreme eigenvalues, delta = max(0, (l_1 - r l_n) / (r - 1)).

    Examples
    --------
    >>> float(np.linalg.cond(regularise([[1, 0.9], [0.9, 1]], 10)).round(6))
    10.0
    """
    C = np.asarray(C, dtype=np.float64)
    check_number("condition_number", condition_number, least=1, above=True)
    values = np.linalg.eigvalsh(C)
    delta = np.maximum(0.0, (values[..., -1] - condition_number * values[..., 0]) / (condition_number - 1))
    delta = delta[..., None, None]
    return (C + delta * np.eye(C.shape[-1])) / (1 + delta)


def _groups(segments: Any, n_rows: int) -> tuple[np.ndarray | None, list[np.ndarray]]:
    """The labels in order, and the rows of each."""
    if segments is None:
        return None, [np.arange(n_rows)]
    labels, member = encode_labels(segments, n_rows)
    return labels, np.split(np.argsort(member, kind="stable"), np.cumsum(np.bincount(member))[:-1])


def _either(flags: np.ndarray) -> np.ndarray:
    """Pairs of which one or both are flagged."""
    return flags[:, :, None] | flags[:, None, :]


def _upper_pairs(flags: np.ndarray) -> np.ndarray:
    """Each flagged pair once: above the diagonal."""
    return np.triu(flags, 1)


class _Places(NamedTuple):
    """Columns and segments in the words of a warning."""

    names: list[str] | None
    labels: np.ndarray | None

    def column(self, segment: int, j: int) -> str:
        return self._name(j) + self._inside(segment)

    def pair(self, segment: int, i: int, j: int) -> str:
        return f"columns {self._name(i)} and {self._name(j)}{self._inside(segment)}"

    def _name(self, j: int) -> str:
        return str(j + 1) if self.names is None else quoted(self.names[j])

    def _inside(self, segment: int) -> str:
        return "" if self.labels is None else f" in segment {self.labels[segment]}"


def _warn_constant(constant: np.ndarray, places: _Places) -> None:
    found = np.argwhere(constant)
    if len(found):
        listed = ", ".join(places.column(*where) for where in found[:SHOWN])
        more = f" and {len(found) - SHOWN} more" if len(found) > SHOWN else ""
        warnings.warn(
            f"constant columns: {listed}{more}; their correlations are given as 0 with a standard error of 1, so "
            "leave them out, or use longer segments",
            stacklevel=3,
        )


def _warn_unseen(unseen: np.ndarray, places: _Places) -> None:
    found = np.argwhere(unseen)
    if len(found):
        warnings.warn(
            f"{counted(len(found), 'pair')} of columns {'is' if len(found) == 1 else 'are'} never seen in the same row "
            f"(first: {places.pair(*found[0])}); such correlations are given as 0 with a standard error of 1",
            stacklevel=3,
        )


def _warn_empty(empty: np.ndarray, places: _Places, correct: float) -> None:
    found = np.argwhere(empty)
    if len(found):
        U, D, _ = empty.shape
        warnings.warn(
            f"{len(found)} of {counted(U * D * (D - 1) // 2, 'pair')} of columns "
            f"{'has' if len(found) == 1 else 'have'} an empty cell in the 2 x 2 table, which "
            f"counts as correct={correct:g} (first: {places.pair(*found[0])}); zero_cells says which; their "
            "correlations, even the sign, and standard errors are little more than a guess",
            stacklevel=3,
        )
