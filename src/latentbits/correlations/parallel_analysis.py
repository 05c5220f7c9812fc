"""Parallel analysis: how many factors tetrachoric correlations have that chance doesn't explain."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import log_ndtr

from latentbits.correlations.minimum_residuals import ROUGH, minimum_residuals, uniqueness
from latentbits.correlations.repair import repair_correlation
from latentbits.correlations.tetrachoric import Tetrachoric, estimate, tetrachoric
from latentbits.data.binary_data import MISSING, BinaryData
from latentbits.data.segments import encode_labels, take_out
from latentbits.fitting.workers import run_all
from latentbits.numerics import LOG_ROOT_2PI, RandomSource, as_generator, check_number
from latentbits.wording import counted

if TYPE_CHECKING:
    from matplotlib.figure import Figure

N_DRAWS, LEAST_DRAWS = 100, 20
CLEAR = 6.0
"""Standard deviations of chance above its mean, from which the first 20 draws decide on an eigenvalue."""

WORK = 1_000_000
"""Pairs of columns, over segments and draws, up to which a choice that nobody asked for makes all its draws."""

NUMBERS = 1 << 22
"""Normal numbers that are drawn at the same time: 32 MB."""


Factors = Callable[[int], tuple[np.ndarray, np.ndarray]]
"""From a number K to loadings (D, K) and uniquenesses (D,), or those of each segment (U, D, K) and (U, D)."""


@dataclass(frozen=True, eq=False)
class ParallelAnalysis:
    """Result of `parallel_analysis`.

    Attributes
    ----------
    n_factors : int
        How many eigenvalues, from the largest on, are above those of noise.
    eigenvalues : array, D
        Of the correlations with the communalities on the diagonal, from the largest; entries are weighted by the
        information of their columns (by 1 if all have the same rate of ones).
    noise : array, D
        The quantile of what chance makes of each eigenvalue: of the first in the same columns, each shuffled on its
        own, and of a later one in columns that have the factors before it and no other.

    Examples
    --------
    >>> from latentbits import parallel_analysis, simulate
    >>> found = parallel_analysis(simulate.binary_ica(1000, 8, 2, 1, random_state=0).X)
    >>> found.n_factors, (found.eigenvalues > found.noise)[:3].tolist()
    (2, [True, True, False])
    """

    n_factors: int
    eigenvalues: np.ndarray
    noise: np.ndarray

    def plot(self) -> Figure:
        """Plot the eigenvalues beside those of noise: the scree plot.

        Returns
        -------
        matplotlib.figure.Figure
            The figure.
        """
        from latentbits.plots.mixing import plot_scree

        return plot_scree(self)

    def __str__(self) -> str:
        """What decided, in a sentence."""
        K = self.n_factors
        if K == 0:
            return (
                f"The largest eigenvalue of the correlations, {self.eigenvalues[0]:.2f}, is within what chance makes "
                f"of it (up to {self.noise[0]:.2f})."
            )

        def listed(values: np.ndarray) -> str:
            return ", ".join(f"{value:.2f}" for value in values[:K])

        following = (
            ""
            if len(self.noise) == K
            else (f"; the next, {self.eigenvalues[K]:.2f}, isn't (up to {self.noise[K]:.2f})")
        )
        return (
            f"{counted(K, 'eigenvalue')} of the correlations ({listed(self.eigenvalues)}) {'is' if K == 1 else 'are'} "
            f"above what chance makes of {'it' if K == 1 else 'them'} (up to {listed(self.noise)}){following}."
        )

    def __repr__(self) -> str:
        first = ", ".join(f"{value:.2f}" for value in self.eigenvalues[: self.n_factors + 1])
        return f"ParallelAnalysis({counted(self.n_factors, 'factor')}; eigenvalues {first}, ...)"


def parallel_analysis(
    X: Any,
    segments: ArrayLike | str | None = None,
    *,
    n_draws: int = N_DRAWS,
    quantile: float = 0.95,
    random_state: RandomSource = 0,
    binarize: float | None = None,
    n_jobs: int | None = None,
) -> ParallelAnalysis:
    """Count the factors behind 0-1 columns: eigenvalues of tetrachoric correlations that chance doesn't reach.

    The correlations (with segments, their average) get their columns' communalities on the diagonal, as squared
    multiple correlations. Their largest eigenvalue is compared with that of the same columns, each shuffled on its own
    (Horn's method), and every further one with that of tables drawn with the factors before it and no other: shuffled
    columns have none, so behind strong factors they find too many, or too few. The shares of ones, the missing cells
    and the numbers of rows are those of the data in all of them, and independent columns of any rates have a factor in
    5 of 100 tables. Correlations count by the information of their columns: a rare column, whose correlations are
    mostly noise, can't hide the factors of the others.

    Parameters
    ----------
    X : array-like, sparse matrix, data frame or BinaryData, of shape (n_rows, n_columns)
        0, 1 and missing.
    segments : array-like of shape (n_rows,), str or None, default=None
        Labels of groups of rows, or the name of a column of the frame X that holds them. Columns are shuffled within
        groups, and drawn so, with the same factors in all groups. Where factors are stronger in some, their average
        holds a little more than their number; `BinaryICA` draws tables of sources that change, and isn't misled.
    n_draws : int, default=100
        How many tables are drawn for each factor; 20 where an eigenvalue is far above all of them.
    quantile : float, default=0.95
        An eigenvalue counts if it is above this quantile of those drawn.
    random_state : int, Generator, RandomState or None, default=0
        Seed of the draws. The same integer gives the same result for any `n_jobs`.
    binarize : float or None, default=None
        Values of at least `binarize` count as 1 and smaller ones as 0. None accepts only 0, 1 and missing cells.
    n_jobs : int or None, default=None
        Number of threads.

    Returns
    -------
    ParallelAnalysis
        Dataclass of `n_factors`, `eigenvalues` and `noise`, with `plot()`.

    Examples
    --------
    >>> from latentbits import parallel_analysis, simulate
    >>> truth = simulate.binary_ica(500, 10, 3, 4, random_state=0)
    >>> parallel_analysis(truth.X, truth.segments).n_factors
    3
    """
    check_number("n_draws", n_draws, least=1, integer=True)
    check_number("quantile", quantile, least=0, below=1)
    X, labels = take_out(X, segments)
    data = BinaryData.of(X, binarize=binarize)
    found = tetrachoric(data, labels, n_jobs=n_jobs)
    return beside_chance(
        found, data, labels, n_draws=n_draws, quantile=quantile, random_state=random_state, n_jobs=n_jobs
    )


def beside_chance(
    found: Tetrachoric,
    data: BinaryData,
    labels: Any = None,
    *,
    n_draws: int = N_DRAWS,
    quantile: float = 0.95,
    random_state: RandomSource = 0,
    changing: Factors | None = None,
    n_jobs: int | None = None,
) -> ParallelAnalysis:
    """`parallel_analysis` of data whose correlations have been computed.

    `changing` are K factors that differ by segment; the last one found has to be beyond tables of these, too.
    """
    N = data.shape[0]
    codes = np.zeros(N, dtype=int) if labels is None else encode_labels(labels, N)[1]
    cells = np.ascontiguousarray(data.dense().T)
    rng = as_generator(random_state)

    values = _eigenvalues(found)
    C = repair_correlation(average_correlations(found))

    def of_average(n_factors: int) -> tuple[np.ndarray, np.ndarray]:
        return minimum_residuals(C, n_factors, column_weight(found), ROUGH)

    def by_chance(n_factors: int, factors: Factors) -> np.ndarray:
        """The quantile of the eigenvalues of tables that have the columns' ones, and so many factors of theirs."""
        loadings, unique = factors(n_factors)

        def one(seed: int) -> np.ndarray:
            drawn = _drawn(cells, codes, loadings, unique, np.random.default_rng(seed))
            return _eigenvalues(estimate(BinaryData(drawn), labels)[0])

        def draw(number: int) -> list[np.ndarray]:
            seeds = rng.integers(2**31, size=number).tolist()
            return run_all([partial(one, seed) for seed in seeds], title="Parallel analysis", n_jobs=n_jobs)

        drawn = draw(min(LEAST_DRAWS, n_draws))
        own = np.array(drawn)[:, n_factors]
        if values[n_factors] < own.mean() + CLEAR * own.std():
            drawn += draw(n_draws - len(drawn))
        # The order statistic that a further draw exceeds with probability 1 - quantile, if there are enough of them.
        return np.asarray(np.sort(drawn, axis=0)[min(int(np.ceil((len(drawn) + 1) * quantile)), len(drawn)) - 1])

    K, limit = 0, by_chance(0, of_average)
    while values[K] > limit[K] and len(values) > K + 1:
        K += 1
        limit[K:] = by_chance(K, of_average)[K:]
    while changing is not None and K > 1:
        beside = by_chance(K - 1, changing)
        limit[K - 1 :] = np.maximum(limit, beside)[K - 1 :]
        if values[K - 1] > limit[K - 1]:
            break
        K -= 1
    return ParallelAnalysis(K, values, limit)


def draws_within(found: Tetrachoric, work: int = WORK) -> int:
    """How many draws a choice on the way takes: fewer of many columns and segments, enough for a quantile of 0.95."""
    return int(np.clip(work // max(found.correlations.size // 2, 1), LEAST_DRAWS, N_DRAWS))


def average_correlations(found: Tetrachoric) -> np.ndarray:
    """The average of the segments' correlations by their information: N / (v_i v_j), v as in `log_noise_variance`.

    Segments in which a column is constant, or a pair is never seen, have no part in it; a pair without any has 0.
    """
    many = found.segments is not None
    C, n = (part if many else part[None] for part in (found.correlations, found.n_pairs))
    total, average = np.zeros((2, *C.shape[1:]))
    for u, information in enumerate(_per_row(found)):  # one by one: there may be a gigabyte of correlations
        weight = n[u] * np.outer(information, information)
        total += weight
        average += weight * C[u]
    average /= np.maximum(total, 1e-300)
    np.fill_diagonal(average, 1.0)
    return np.asarray(average)


def column_information(found: Tetrachoric) -> np.ndarray:
    """What columns can tell about their correlations (D,): N / v, over all segments."""
    seen = np.diagonal(np.atleast_3d(found.n_pairs.T).T, axis1=1, axis2=2)
    return np.asarray((seen * _per_row(found)).sum(axis=0))


def column_weight(found: Tetrachoric) -> np.ndarray:
    """What columns count for (D,): their information relative to the largest, not quite 0."""
    information = column_information(found)
    return np.asarray(np.maximum(information / max(float(information.max()), 1e-300), 1e-6))


def _per_row(found: Tetrachoric) -> np.ndarray:
    """1 / v of columns (U, D), 0 where they are constant."""
    log_v = np.minimum(log_noise_variance(np.atleast_2d(found.thresholds)), 50.0)
    return np.where(np.atleast_2d(found.constant), 0.0, np.exp(-log_v))


def log_noise_variance(thresholds: np.ndarray) -> np.ndarray:
    """log v, v = p (1 - p) / phi(t)^2: a tetrachoric correlation of independent columns has the variance v_i v_j / N.

    Examples
    --------
    >>> np.exp(log_noise_variance(np.array([0.0, 2.0]))).round(2).tolist()
    [1.57, 7.63]
    """
    # In logarithms: the density of extreme thresholds underflows in its square.
    return np.asarray(log_ndtr(thresholds) + log_ndtr(-thresholds) + thresholds**2 + 2 * LOG_ROOT_2PI)


def _drawn(
    cells: np.ndarray, codes: np.ndarray, loadings: np.ndarray, unique: np.ndarray, rng: np.random.Generator
) -> np.ndarray:
    """The cells (D, N) as rows x columns, each column's ones put where factors (with noise) are largest in its segment.

    So numbers of ones stay as they are, and missing cells where they are. Without factors it is shuffling.
    """
    drawn = np.empty(cells.shape[::-1], dtype=cells.dtype)
    U = int(codes.max()) + 1
    all_loadings = np.broadcast_to(loadings, (U, *loadings.shape[-2:]))
    all_unique = np.broadcast_to(unique, (U, len(cells)))
    for u, (loadings, unique) in enumerate(zip(all_loadings, all_unique, strict=True)):
        rows = np.flatnonzero(codes == u)
        factors = rng.standard_normal((loadings.shape[1], len(rows)))
        step = max(1, NUMBERS // len(rows))
        for start in range(0, len(cells), step):
            part = slice(start, start + step)
            block = cells[part, rows]
            size = loadings[part] @ factors
            size += np.sqrt(unique[part, None]) * rng.standard_normal(block.shape)
            size[block == MISSING] = -np.inf
            ones = (block == 1).sum(axis=1, keepdims=True)
            least = np.take_along_axis(np.sort(size, axis=1), len(rows) - np.maximum(ones, 1), axis=1)
            drawn[rows, part] = np.where(block == MISSING, MISSING, (size >= least) & (ones > 0)).T
    return drawn


def _eigenvalues(found: Tetrachoric) -> np.ndarray:
    """Of the average correlations with squared multiple correlations on the diagonal, from the largest.

    Entries are multiplied by sqrt(w_i w_j), w the columns' information relative to the largest, which makes their
    errors alike: in simulations with five frequent and ten rare columns one factor was found in 100 of 100 tables
    instead of 40; columns of equal rates have weights of 1.
    """
    C = average_correlations(found)
    weight = np.sqrt(column_weight(found))
    return np.linalg.eigvalsh((C - np.diag(uniqueness(C))) * np.outer(weight, weight))[::-1]
