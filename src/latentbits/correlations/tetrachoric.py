"""Tetrachoric correlations: the correlations of the latent normal variables of 0-1 columns."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import ndtri

from latentbits import views
from latentbits.constraints import Number
from latentbits.correlations.pairs import FoundPairs, Places, either, standard_errors, upper_pairs, warn_about
from latentbits.correlations.repair import repair_correlation
from latentbits.data.binary_data import BinaryData
from latentbits.data.encoding import check_row_weight
from latentbits.data.segments import encode_labels, take_out
from latentbits.fitting.rows import indicator_blocks
from latentbits.fitting.workers import Workers, n_workers, one_blas_thread
from latentbits.kernels.bivariate_normal import LARGEST, fit_tables
from latentbits.wording import counted

if TYPE_CHECKING:
    import pandas as pd

CHUNK = 4096
"""Pairs of columns per thread task: some milliseconds."""

ROWS = 1 << 16
"""Rows of a segment per thread task; a constant, so that sums don't depend on the number of threads."""

SMOOTHING = 0.5
"""Count of the absent value of a constant column if `correct` is 0 or None, so that thresholds are finite anyway."""

PRIOR_ROWS = 0.5
"""Rows that the prior of an empty cell is worth. The count of a cell of which E rows are expected if columns are
independent gets a gamma prior with this shape and the mean E, so that the posterior mean of an empty one is
E a / (E + a): half a row, the usual correction, where many rows are expected, and E itself where hardly any are, so
that such a table says nothing. Among 0.3 to 1, values of 0.5 and 0.6 left the smallest bias with independent columns
(exact sums over tables of 50 to 5,000 rows and 0.5 to 50 % of ones)."""

TABLES = 1 << 23
"""Numbers that the 2 x 2 tables held at the same time may have: 64 MB."""

SHOWN = 8
"""Pairs in a notebook's view, the strongest first."""

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
        At most 1, which is also given to pairs without data, and to those whose table has both cells of a diagonal
        empty, so that nothing tells how near to 1 or -1 the correlation is; the diagonal is 0.
    n_pairs : array, as `correlations`
        The number of rows (the sum of their weights) in which both columns are observed.
    zero_cells : bool array, as `correlations`
        The pairs whose correlation was estimated from a 2 x 2 table with an empty cell.
    constant : bool array, as `thresholds`
        The columns that don't have both a 0 and a 1, or are never observed, and so say nothing.
    segments : array or None
        The labels of the U segments, in order.
    column_names : list of str or None
        The names of the D columns.

    Examples
    --------
    >>> from latentbits import tetrachoric
    >>> found = tetrachoric([[0, 0], [0, 1], [1, 0], [1, 1]], weights=[40, 10, 10, 40])
    >>> found
    Tetrachoric(2 columns; strongest: 0.81, standard error 0.074, columns 1 and 2)
    >>> found.n_pairs[0, 1].tolist(), found.zero_cells.any().tolist()
    (100.0, False)
    """

    correlations: np.ndarray
    thresholds: np.ndarray
    standard_errors: np.ndarray
    n_pairs: np.ndarray
    zero_cells: np.ndarray
    constant: np.ndarray
    segments: np.ndarray | None = None
    column_names: list[str] | None = None

    def __repr__(self) -> str:
        """Sizes and the strongest pair, which tell more than the first numbers of five arrays."""
        D = self.correlations.shape[-1]
        size = counted(D, "column")
        if self.segments is not None:
            size += f", {counted(len(self.segments), 'segment')}"
        if D < 2:
            return f"Tetrachoric({size})"
        where = np.unravel_index(np.abs(self.correlations - np.eye(D)).argmax(), self.correlations.shape)
        inside = None if self.segments is None else self.segments
        pair = Places(self.column_names, inside).pair(0 if inside is None else int(where[0]), *map(int, where[-2:]))
        r, error = self.correlations[where], self.standard_errors[where]
        return f"Tetrachoric({size}; strongest: {r:.2f}, standard error {error:.2g}, {pair})"

    def _repr_html_(self) -> str:
        pairs = self.to_pairs()
        strongest = pairs.reindex(pairs["correlation"].abs().sort_values(ascending=False, kind="stable").index)
        lines = views.table(list(pairs.columns), strongest.head(SHOWN).values.tolist(), more=len(pairs) - SHOWN)
        return views.block(repr(self), [], lines)

    def to_frame(self) -> pd.DataFrame:
        """The correlations with the columns' names; with segments, a block of rows (segment, column) for each.

        Returns
        -------
        DataFrame
            D x D, or U D x D.

        Examples
        --------
        >>> from latentbits import BinaryData, tetrachoric
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

    def to_pairs(self) -> pd.DataFrame:
        """A line for each pair of columns (and segment): correlation, standard error, rows, and what is a guess.

        Returns
        -------
        DataFrame
            `left`, `right`, `correlation`, `standard_error`, `n` and `empty_cell`; `segment` if there are any.

        Examples
        --------
        >>> from latentbits import BinaryData, tetrachoric
        >>> X = BinaryData.of([[0, 0], [0, 1], [1, 0], [1, 1]], column_names=["tea", "milk"])
        >>> tetrachoric(X, weights=[40, 10, 10, 40]).to_pairs()[["left", "right", "n"]].values.tolist()
        [['tea', 'milk', 100.0]]
        """
        import pandas as pd

        D = self.correlations.shape[-1]
        left, right = np.triu_indices(D, 1)
        names = np.array([str(j + 1) for j in range(D)] if self.column_names is None else self.column_names)
        many = 1 if self.segments is None else len(self.segments)
        parts = {
            "correlation": self.correlations,
            "standard_error": self.standard_errors,
            "n": self.n_pairs,
            "empty_cell": self.zero_cells,
        }
        columns = {name: part.reshape(many, D, D)[:, left, right].ravel() for name, part in parts.items()}
        table = pd.DataFrame({"left": np.tile(names[left], many), "right": np.tile(names[right], many), **columns})
        if self.segments is not None:
            table.insert(0, "segment", np.repeat(self.segments, len(left)))
        return table


def tetrachoric(
    X: Any,
    segments: ArrayLike | str | None = None,
    weights: ArrayLike | None = None,
    *,
    correct: float | None = None,
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
    correct : float or None, default=None
        What an empty cell of a 2 x 2 table counts as, in step 2; the other cells and the thresholds are unchanged. None
        means E / (2 E + 1) rows where E are expected if the columns are independent (the posterior mean under a prior
        worth half a row): rare columns that never meet then have a correlation near 0, with a standard error that says
        how little is known. 0.5 is psych's default, which makes correlations of rare columns too large; with 0,
        correlations of such pairs can end at 0.9999 or -0.9999, the limits of any estimate.
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
        with one more row, of weight `correct` (0.5 if that is 0 or None), in which it has the other value. If two
        columns are never seen in the same row: their correlation is 0 too, with a standard error of 1.

    Notes
    -----
    In complete data without empty cells the answer is that of R's polycor::polychor(ML = FALSE), and since a 2 x 2
    table has as many probabilities as the model has parameters, also that of ML = TRUE. With missing cells, and with
    `correct=0.5` also with empty ones, it is that of psych::tetrachoric(correct = 0.5, global = TRUE), its default for
    raw data; given a bare table, psych takes the thresholds from the corrected table instead.

    The standard errors are asymptotic, by the delta method (Pearson's formula), and count the thresholds as estimated:
    those of polychor(ML = TRUE). ML = FALSE takes the thresholds as known, and its standard errors are smaller.
    Weights count as numbers of rows. With missing data they ignore that thresholds come from more rows than the pair.

    Examples
    --------
    >>> from latentbits import tetrachoric
    >>> table = tetrachoric([[0, 0], [0, 1], [1, 0], [1, 1]], weights=[40, 10, 10, 40])
    >>> table.correlations.round(4)
    array([[1.   , 0.809],
           [0.809, 1.   ]])
    >>> float(table.standard_errors[0, 1].round(4))
    0.0739
    """
    X, segments = take_out(X, segments)
    data = BinaryData.of(X, binarize=binarize)
    Number(0, optional=True).check("correct", correct)
    weight = None if weights is None else check_row_weight(weights, data.shape[0], "weights")
    answer, found = estimate(data, segments, weight, correct=correct, n_jobs=n_jobs)
    warn_about(found, Places(data.column_names, answer.segments), correct)
    return replace(answer, correlations=repair_correlation(answer.correlations)) if repair else answer


def estimate(
    data: BinaryData,
    segments: Any = None,
    weight: np.ndarray | None = None,
    *,
    correct: float | None = None,
    n_jobs: int | None = None,
) -> tuple[Tetrachoric, FoundPairs]:
    """`tetrachoric` of validated data without its warnings, and what they would be about."""
    labels, groups = _groups(segments, data.shape[0])
    rows = np.ones(data.shape[0]) if weight is None else weight
    # Tables of few segments at a time: those of all would take four times the memory of the answer.
    at_once = max(1, TABLES // (4 * data.shape[1] ** 2))
    with one_blas_thread(), Workers(n_workers(n_jobs)) as workers:
        found = _segments(data, rows, groups[:at_once], correct, weight is None, workers)
        if at_once < len(groups):  # into arrays of the final size: joining parts would hold all of them twice
            first = found
            found = FoundPairs(*(np.empty((len(groups), *part.shape[1:]), part.dtype) for part in first))
            for start in range(0, len(groups), at_once):
                some = slice(start, start + at_once)
                parts = first if start == 0 else _segments(data, rows, groups[some], correct, weight is None, workers)
                for whole, part in zip(found, parts, strict=True):
                    whole[some] = part
    own = 0 if labels is None else slice(None)
    answer = Tetrachoric(
        correlations=found.correlations[own],
        thresholds=ndtri(1 - found.shares)[own],
        standard_errors=found.errors[own],
        n_pairs=found.n_pairs[own],
        zero_cells=found.empty[own],
        constant=found.constant[own],
        segments=labels,
        column_names=data.column_names,
    )
    return answer, found


def _segments(
    data: BinaryData,
    weight: np.ndarray,
    groups: list[np.ndarray],
    correct: float | None,
    whole_numbers: bool,
    workers: Workers,
) -> FoundPairs:
    """The correlations of some segments, from tables that are forgotten then."""
    counts = _count(data, weight, groups, workers)
    n_pairs = counts.sum(axis=1)
    shares, constant = _shares(counts, correct or SMOOTHING)
    estimable = upper_pairs(n_pairs > 0) & ~either(constant)
    correlations, errors = _fit(counts, shares, correct, estimable, workers)
    empty = (counts == 0).any(axis=1) & estimable
    # A diagonal without a single row: however near to 1 the correlation is, the table would look the same.
    diagonal = ((counts[:, 1] + counts[:, 2] == 0) | (counts[:, 0] + counts[:, 3] == 0)) & estimable
    errors[diagonal | np.swapaxes(diagonal, 1, 2)] = UNKNOWN_ERROR
    return FoundPairs(
        correlations,
        errors,
        n_pairs.astype(np.int32) if whole_numbers else n_pairs,
        shares,
        constant,
        empty | np.swapaxes(empty, 1, 2),
        diagonal.sum(axis=(1, 2)),
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
    counts: np.ndarray, shares: np.ndarray, correct: float | None, estimable: np.ndarray, workers: Workers
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
        n = tables.sum(axis=1)
        fit_tables(_filled(tables, n, *margins[:2], correct), n, *margins, rho, error)
        clipped = (np.abs(rho) >= LARGEST - 1e-12) & (tables > 0).all(axis=1)
        h, k = margins[2:]
        error[clipped] = standard_errors(h[clipped], k[clipped], rho[clipped], n[clipped])
        correlations[u, i, j] = correlations[u, j, i] = rho
        errors[u, i, j] = errors[u, j, i] = error

    workers.map(fit, [slice(start, start + CHUNK) for start in range(0, len(segment), CHUNK)])
    return correlations, errors


def _filled(tables: np.ndarray, n: np.ndarray, p: np.ndarray, q: np.ndarray, correct: float | None) -> np.ndarray:
    """The tables (T, 4) with something in their empty cells: `correct`, or what the prior makes of none."""
    empty = tables == 0
    if correct is not None:
        return np.where(empty, float(correct), tables)
    some = np.flatnonzero(empty.any(axis=1))
    if len(some) == 0:
        return tables
    p, q = p[some], q[some]
    expected = n[some, None] * np.stack([p * q, p * (1 - q), (1 - p) * q, (1 - p) * (1 - q)], axis=1)
    filled = tables.copy()
    filled[some] = np.where(empty[some], PRIOR_ROWS * expected / (PRIOR_ROWS + expected), tables[some])
    return filled


def _groups(segments: Any, n_rows: int) -> tuple[np.ndarray | None, list[np.ndarray]]:
    """The labels in order, and the rows of each."""
    if segments is None:
        return None, [np.arange(n_rows)]
    labels, member = encode_labels(segments, n_rows)
    return labels, np.split(np.argsort(member, kind="stable"), np.cumsum(np.bincount(member))[:-1])
