"""Parallel analysis: how many factors tetrachoric correlations have that noise wouldn't."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import log_ndtr

from latentbits.correlations.repair import regularise
from latentbits.correlations.tetrachoric import Tetrachoric, tetrachoric
from latentbits.numerics import LOG_ROOT_2PI, RandomSource, as_generator, check_number
from latentbits.wording import counted

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["ParallelAnalysis", "average_correlations", "log_noise_variance", "of_correlations", "parallel_analysis"]

LARGEST_CONDITION = 100.0
"""Of the matrix whose inverse gives the communalities. Without it, noise in small eigenvalues made 20 factors of 5 in
20 columns; 20 and 50 lost one of 5 or 10 now and then."""


@dataclass(frozen=True, eq=False)
class ParallelAnalysis:
    """Result of `parallel_analysis`.

    Attributes
    ----------
    n_factors : int
        How many eigenvalues, from the largest on, are above those of noise.
    eigenvalues : array, D
        Of the correlations with the communalities on the diagonal, from the largest.
    noise : array, D
        The quantile of the eigenvalues that independent columns of the same margins have.

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
        from latentbits.plots.factors import plot_scree

        return plot_scree(self)

    def __repr__(self) -> str:
        first = ", ".join(f"{value:.2f}" for value in self.eigenvalues[: self.n_factors + 1])
        return f"ParallelAnalysis({counted(self.n_factors, 'factor')}; eigenvalues {first}, ...)"


def parallel_analysis(
    X: Any,
    segments: ArrayLike | str | None = None,
    *,
    n_draws: int = 100,
    quantile: float = 0.95,
    random_state: RandomSource = 0,
    binarize: float | None = None,
    n_jobs: int | None = None,
) -> ParallelAnalysis:
    """Count the factors behind 0-1 columns: eigenvalues of tetrachoric correlations that noise doesn't reach.

    The correlations (with segments, their average by rows) get their columns' communalities on the diagonal, as squared
    multiple correlations, and their eigenvalues are compared one by one with those of independent columns.
    Horn's method draws tables of independent columns for that; here the correlations of such tables are drawn, as
    normal numbers with the variance that they have (Pearson's formula), which is the same for all but tiny tables and
    takes a thousandth of the time.

    Parameters
    ----------
    X : array-like, sparse matrix, data frame or BinaryData, of shape (n_rows, n_columns)
        0, 1 and missing.
    segments : array-like of shape (n_rows,), str or None, default=None
        Labels of groups of rows, or the name of a column of the frame X that holds them.
    n_draws : int, default=100
        How often noise is drawn.
    quantile : float, default=0.95
        An eigenvalue counts if it is above this quantile of those of noise.
    random_state : int, Generator, RandomState or None, default=0
        Seed of the noise.
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
    found = tetrachoric(X, segments, binarize=binarize, n_jobs=n_jobs)
    return of_correlations(found, n_draws=n_draws, quantile=quantile, random_state=random_state)


def of_correlations(
    found: Tetrachoric, *, n_draws: int = 100, quantile: float = 0.95, random_state: RandomSource = 0
) -> ParallelAnalysis:
    """`parallel_analysis` of correlations that have been computed."""
    check_number("n_draws", n_draws, least=1, integer=True)
    check_number("quantile", quantile, least=0, below=1)
    rng = as_generator(random_state)
    C, variance = average_correlations(found)
    sd = np.sqrt(variance)
    noise = [_eigenvalues(_noise(sd, rng)) for _ in range(n_draws)]
    limit = np.quantile(noise, quantile, axis=0)
    values = _eigenvalues(C)
    below = values <= limit
    return ParallelAnalysis(int(np.argmax(below)) if below.any() else len(values), values, limit)


def average_correlations(found: Tetrachoric) -> tuple[np.ndarray, np.ndarray]:
    """The average of the segments' correlations by rows, and the variance it would have if columns were independent.

    Segments in which a column is constant, or a pair is never seen, have no part in it; a pair without any has 0.
    """
    many = found.segments is not None
    C, t, n, constant = (
        part if many else part[None] for part in (found.correlations, found.thresholds, found.n_pairs, found.constant)
    )
    v = np.exp(np.minimum(log_noise_variance(t), 50.0))
    total, average, variance = np.zeros((3, *C.shape[1:]))
    for u, silent in enumerate(constant):  # segment by segment: there may be a gigabyte of correlations
        rows = np.where(silent[:, None] | silent, 0.0, n[u])
        total += rows
        average += rows * C[u]
        variance += rows * np.outer(v[u], v[u])
    total = np.maximum(total, 1e-300)
    average /= total
    variance /= total
    variance /= total  # twice, as the square of the least total would be 0
    np.fill_diagonal(average, 1.0)
    np.fill_diagonal(variance, 0.0)
    return average, variance


def log_noise_variance(thresholds: np.ndarray) -> np.ndarray:
    """log v, v = p (1 - p) / phi(t)^2: a tetrachoric correlation of independent columns has the variance v_i v_j / N.

    Examples
    --------
    >>> np.exp(log_noise_variance(np.array([0.0, 2.0]))).round(2).tolist()
    [1.57, 7.63]
    """
    # In logarithms: the density of extreme thresholds underflows in its square.
    return np.asarray(log_ndtr(thresholds) + log_ndtr(-thresholds) + thresholds**2 + 2 * LOG_ROOT_2PI)


def _noise(sd: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """A matrix of correlations of independent columns."""
    upper = np.triu(np.clip(rng.standard_normal(sd.shape) * sd, -1, 1), 1)
    return np.asarray(upper + upper.T + np.eye(len(sd)))


def _eigenvalues(C: np.ndarray) -> np.ndarray:
    """Of C with squared multiple correlations on its diagonal, from the largest."""
    unique = 1 / np.diagonal(np.linalg.inv(regularise(C, LARGEST_CONDITION)))
    return np.linalg.eigvalsh(C - np.diag(unique))[::-1]
