"""Exploratory factor analysis of 0-1 columns: minimum residuals of tetrachoric correlations, rotated."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np
import pandas as pd
from scipy.optimize import linear_sum_assignment

from latentbits.constraints import Choice
from latentbits.correlations.factor_fit import FactorFit, fit_of
from latentbits.correlations.minimum_residuals import LEAST_UNIQUE, minimum_residuals
from latentbits.correlations.parallel_analysis import ParallelAnalysis, beside_chance, column_weight, draws_within
from latentbits.correlations.repair import repair_correlation
from latentbits.correlations.rotation import Rotated, Rotation, rotate
from latentbits.correlations.tetrachoric import Tetrachoric, estimate, tetrachoric
from latentbits.data.binary_data import BinaryData
from latentbits.data.messages import SHOWN, quoted
from latentbits.errors import DataError, warn_user
from latentbits.fitting.workers import run_all
from latentbits.kernels.probit_ep import probit_ep
from latentbits.numerics import RandomSource, as_generator, check_number
from latentbits.wording import counted, place

if TYPE_CHECKING:
    from matplotlib.figure import Figure

PairWeights = Literal["information", "equal"]

FEW_ONES = 10
"""Columns with fewer ones, or fewer zeros, are named: their correlations are mostly noise."""

SALIENT = 0.3
"""Loadings from this size on are listed, as in most reports."""

MAX_SWEEPS, SWEEP_TOL = 50, 1e-6
"""Of expectation propagation, for factor scores."""


@dataclass(frozen=True, eq=False)
class FactorScores:
    """Factor scores of N rows, and how certain they are.

    Attributes
    ----------
    scores : array, N x K
        Posterior means of the factors, given the row's cells (expected a posteriori, EAP).
    standard_errors : array, N x K
        Posterior standard deviations; 1 for a row without an observed cell.
    row_names : list of str or None
        Names of the rows.

    Examples
    --------
    >>> from latentbits import factor_analysis, simulate
    >>> X = simulate.binary_ica(500, 8, 1, 1, random_state=0).X
    >>> found = factor_analysis(X, 1).scores(X)
    >>> found.scores.shape, bool((found.standard_errors < 1).all())
    ((500, 1), True)
    """

    scores: np.ndarray
    standard_errors: np.ndarray
    row_names: list[str] | None = None

    def to_frame(self) -> pd.DataFrame:
        """The scores and their standard errors, a line for each row.

        Returns
        -------
        DataFrame
            `factor_0`, ... and `se_factor_0`, ...
        """
        N, K = self.scores.shape
        names = [f"factor_{k}" for k in range(K)]
        return pd.DataFrame(
            np.hstack([self.scores, self.standard_errors]),
            columns=[*names, *(f"se_{name}" for name in names)],
            index=self.row_names or range(N),
        )


@dataclass(frozen=True, eq=False)
class FactorSolution:
    """Result of `factor_analysis` for D columns and K factors.

    Attributes
    ----------
    loadings : array, D x K
        Rotated loadings (of oblique rotations the pattern), factors from the strongest on; each has a positive sum.
    standard_errors : array, D x K, or None
        Of the loadings, from bootstrap refits; None if none were made (``n_samples=0``).
    uniquenesses : array, D
        The part of each column's variance that no factor explains.
    factor_correlations : array, K x K
        The identity for orthogonal rotations.
    correlations : array, D x D
        The tetrachoric correlations, repaired.
    rms_residual : float
        Root mean square of the correlations that the factors leave (RMSR, psych's `rms`).
    column_names : list of str or None
        Names of the columns.
    fit : FactorFit or None
        Chi-square, RMSEA with its interval, and SRMR.
    parallel : ParallelAnalysis or None
        What the number of factors comes from, if none was given.
    thresholds : array, D, or None
        A cell is 1 where its normal variable is above the threshold of its column; None of a correlation matrix.

    Examples
    --------
    >>> from latentbits import factor_analysis, simulate
    >>> found = factor_analysis(simulate.binary_ica(1000, 6, 2, 1, random_state=1).X, 2, n_samples=5)
    >>> found.to_frame().columns.tolist()
    ['factor_0', 'factor_1', 'se_factor_0', 'se_factor_1', 'uniqueness']
    >>> found.factor_correlations.shape, found.n_factors
    ((2, 2), 2)
    """

    loadings: np.ndarray
    standard_errors: np.ndarray | None
    uniquenesses: np.ndarray
    factor_correlations: np.ndarray
    correlations: np.ndarray
    rms_residual: float
    column_names: list[str] | None = None
    fit: FactorFit | None = None
    parallel: ParallelAnalysis | None = None
    thresholds: np.ndarray | None = None

    @property
    def n_factors(self) -> int:
        """Number of factors, which may be 0."""
        return int(self.loadings.shape[1])

    def to_frame(self) -> pd.DataFrame:
        """Loadings, their standard errors if there are any, and uniqueness, a line for each column.

        Returns
        -------
        DataFrame
            `factor_0`, ..., `se_factor_0`, ... and `uniqueness`.
        """
        D, K = self.loadings.shape
        names = [f"factor_{k}" for k in range(K)]
        table = pd.DataFrame(self.loadings, columns=names, index=self.column_names or range(D))
        if self.standard_errors is not None:
            table[[f"se_{name}" for name in names]] = self.standard_errors
        table["uniqueness"] = self.uniquenesses
        return table

    def scores(self, X: Any, *, binarize: float | None = None) -> FactorScores:
        """Factor scores of rows with their standard errors: the posterior of the factors given a row's cells.

        A cell is 1 where loadings times factors plus normal noise are above the column's threshold, and factors are
        normal with the correlations of the solution; missing cells are left out. (Posterior means and standard
        deviations are those of expectation propagation, mostly right within a hundredth of a standard deviation.)

        Parameters
        ----------
        X : array-like, sparse matrix, data frame or BinaryData, of shape (n_rows, n_columns)
            0, 1 and missing, with the columns of the solution.
        binarize : float or None, default=None
            Values of at least `binarize` count as 1 and smaller ones as 0. None accepts only 0, 1 and missing cells.

        Returns
        -------
        FactorScores
            `scores` and `standard_errors`; `to_frame()` is a table.

        Examples
        --------
        >>> from latentbits import factor_analysis, simulate
        >>> X = simulate.binary_ica(500, 8, 2, 1, random_state=1).X
        >>> factor_analysis(X, 2).scores(X).to_frame().columns.tolist()
        ['factor_0', 'factor_1', 'se_factor_0', 'se_factor_1']
        """
        if self.thresholds is None:
            raise DataError("a bare correlation matrix has no thresholds, so it gives no scores; fit the rows instead")
        data = BinaryData.of(X, binarize=binarize)
        if data.shape[1] != len(self.loadings):
            raise DataError(
                f"X has {counted(data.shape[1], 'column')} and the factors have {len(self.loadings)}; "
                "give those of the fit"
            )
        between = np.linalg.cholesky(self.factor_correlations + 1e-12 * np.eye(self.n_factors))
        noise = np.sqrt(self.uniquenesses)
        B = np.ascontiguousarray(self.loadings @ between / noise[:, None])
        mean, covariance = probit_ep(data.dense(), B, -self.thresholds / noise, MAX_SWEEPS, SWEEP_TOL)
        variance = np.einsum("kj,njl,kl->nk", between, covariance, between)
        return FactorScores(mean @ between.T, np.sqrt(variance), data.row_names)

    def figures(self) -> dict[str, Callable[[], Figure]]:
        """What draws the figures of the solution: "loadings" if there are any, "scree" if a parallel analysis was made.

        Returns
        -------
        dict of str to function
            Each returns a matplotlib.figure.Figure.
        """
        from latentbits.plots.mixing import plot_loadings

        scree = {} if self.parallel is None else {"scree": self.parallel.plot}
        return {**({"loadings": partial(plot_loadings, self)} if self.n_factors else {}), **scree}

    def __repr__(self) -> str:
        explained = 1 - self.uniquenesses.mean()
        judged = "" if self.fit is None or self.fit.rmsea is None else f"RMSEA {self.fit.rmsea:.3f}, "
        number = counted(self.n_factors, "factor") if self.n_factors else "no factor"
        return f"FactorSolution({number}, {explained:.0%} of variance, {judged}rms residual {self.rms_residual:.3f})"

    def __str__(self) -> str:
        """The finding in a few lines: how many factors, which columns, how well they fit."""
        D = len(self.loadings)
        if self.n_factors == 0:
            return f"No factor: {counted(D, 'column')} are no more correlated than shuffled columns are."
        lines = [f"{counted(self.n_factors, 'factor')} behind {counted(D, 'column')}."]
        names = self.column_names or [place("column", j) for j in range(D)]
        for k, column in enumerate(self.loadings.T):
            order = [j for j in np.argsort(-np.abs(column), kind="stable") if abs(column[j]) >= SALIENT]
            lines.append(f"Factor {k + 1}: " + (", ".join(f"{names[j]} {column[j]:.2f}" for j in order) or "no column"))
        if self.fit is not None and self.fit.rmsea is not None:
            lines.append(
                f"RMSEA {self.fit.rmsea:.2f} (90% interval {self.fit.rmsea_low:.2f} to {self.fit.rmsea_high:.2f}), "
                f"SRMR {self.fit.srmr:.2f}, chi-square {self.fit.chi_square:.1f} with {self.fit.df} degrees of freedom."
            )
        return "\n".join(lines)


def factor_analysis(
    X: Any,
    n_factors: int | None = None,
    *,
    rotation: Rotation = "oblimin",
    kaiser: bool | None = None,
    weights: PairWeights = "information",
    n_samples: int = 0,
    random_state: RandomSource = 0,
    binarize: float | None = None,
    n_jobs: int | None = None,
) -> FactorSolution:
    """Exploratory factor analysis of yes-no items on their tetrachoric correlations.

    Factors are found by minimum residuals (minres, psych's default), and rotated. Columns with more than two ordered
    values need polychoric correlations, which are not computed here.

    Parameters
    ----------
    X : array-like, sparse matrix, data frame, BinaryData, Tetrachoric or correlation matrix
        Rows of 0, 1 and missing, of shape (n_rows, n_columns); or their correlations, as `tetrachoric` returns them or
        as a symmetric matrix with ones on the diagonal, which have no chi-square (and a matrix no scores) and need
        `n_factors`.
    n_factors : int or None, default=None
        Number of factors; None means what `parallel_analysis` finds, which may be 0.
    rotation : {"oblimin", "promax", "varimax", "none"}, default="oblimin"
        Oblimin (with gamma 0) and promax let factors be correlated.
    kaiser : bool or None, default=None
        Whether columns are brought to the same length before rotation, and back after (Kaiser's normalisation). None is
        psych's default: yes with varimax and promax, no with oblimin.
    weights : {"information", "equal"}, default="information"
        How pairs of columns count: by the information that columns of such shares of ones have about correlations, or
        all alike, as in psych's minres and lavaan's ULS. Columns with equal shares count alike in any case.
    n_samples : int, default=0
        How many bootstrap refits give the standard errors; 50 are enough. With 0 there are none.
    random_state : int, Generator, RandomState or None, default=0
        Seed of the draws.
    binarize : float or None, default=None
        Values of at least `binarize` count as 1 and smaller ones as 0. None accepts only 0, 1 and missing cells.
    n_jobs : int or None, default=None
        Number of threads.

    Returns
    -------
    FactorSolution
        `loadings`, `uniquenesses`, `factor_correlations`, `fit`, `scores()` and more; `to_frame()` is a table, and
        `print` shows the finding.

    Warns
    -----
    UserWarning
        If a uniqueness is at its lower limit (a Heywood case), if there are more free loadings than pairs of columns
        (negative degrees of freedom), or if columns have fewer than ten ones or zeros.

    Examples
    --------
    >>> from latentbits import factor_analysis, simulate
    >>> X = simulate.binary_ica(2000, 8, 2, 1, random_state=0).X
    >>> factor_analysis(X, rotation="varimax").loadings.shape
    (8, 2)
    """
    Choice(get_args(Rotation)).check("rotation", rotation)
    Choice(get_args(PairWeights)).check("weights", weights)
    check_number("n_samples", n_samples, least=0, integer=True)
    given = _Given.of(X, binarize, n_jobs)
    parallel = None
    if n_factors is None:
        if given.data is None or given.found is None:
            raise DataError("correlations alone don't say how many factors they have; give n_factors, or the rows")
        draws = draws_within(given.found)
        parallel = beside_chance(given.found, given.data, n_draws=draws, random_state=0, n_jobs=n_jobs)
        K = parallel.n_factors
    else:
        check_number("n_factors", n_factors, least=1, integer=True)
        K = n_factors
    D = len(given.correlations)
    if D <= K:
        raise DataError(f"n_factors={K} of {counted(D, 'column')}; use fewer factors than columns")
    if n_samples and given.data is None:
        raise DataError("standard errors come from rows, and correlations have none; give the rows, or n_samples=0")
    C = repair_correlation(given.correlations)
    weight = given.weight() if weights == "information" else np.ones(D)
    solve = partial(_rotated, n_factors=K, rotation=rotation, kaiser=kaiser, weight=weight)
    (loadings, between), uniqueness, unrotated = solve(C)
    residual = (C - loadings @ between @ loadings.T)[np.triu_indices(D, 1)]
    fit = fit_of(C, unrotated, weight, given.data, given.found)
    _warn_about(given, uniqueness, fit, K)
    se = None
    if n_samples > 1 and given.data is not None:
        rng = as_generator(random_state)
        se = _drawn_again(given.data, solve, loadings, n_samples, rng, n_jobs).std(axis=0, ddof=1)
    return FactorSolution(
        loadings,
        se,
        uniqueness,
        between,
        C,
        float(np.sqrt(np.mean(residual**2))),
        given.column_names,
        fit,
        parallel,
        None if given.found is None else given.found.thresholds,
    )


@dataclass(frozen=True, eq=False)
class _Given:
    """What was given: rows with their correlations, or correlations with more or less about them."""

    correlations: np.ndarray
    data: BinaryData | None = None
    found: Tetrachoric | None = None
    column_names: list[str] | None = None

    @classmethod
    def of(cls, X: Any, binarize: float | None, n_jobs: int | None) -> _Given:
        if isinstance(X, Tetrachoric):
            if X.segments is not None:
                raise DataError("these are correlations of segments; give those of all rows, or of one segment")
            return cls(X.correlations, None, X, X.column_names)
        matrix = _as_correlations(X)
        if matrix is not None:
            names = getattr(X, "columns", None)
            return cls(matrix, column_names=None if names is None else [str(name) for name in names])
        data = BinaryData.of(X, binarize=binarize)
        found = tetrachoric(data, n_jobs=n_jobs)
        return cls(found.correlations, data, found, data.column_names)

    def weight(self) -> np.ndarray:
        """What columns weigh by their information, at most 1; all 1 of a bare matrix."""
        return np.ones(len(self.correlations)) if self.found is None else column_weight(self.found)


def _as_correlations(X: Any) -> np.ndarray | None:
    """X as a correlation matrix: symmetric, ones on the diagonal, within -1 and 1, and not all of it 0 and 1."""
    if isinstance(X, BinaryData) or np.ndim(X) != 2 or np.shape(X)[0] != np.shape(X)[1]:
        return None
    try:
        C = np.asarray(X, dtype=float)
    except (TypeError, ValueError):
        return None
    right = np.allclose(np.diagonal(C), 1) and np.allclose(C, C.T) and np.abs(C).max(initial=0.0) <= 1 + 1e-9
    return C if right and not np.isin(C, (0.0, 1.0)).all() else None


def _warn_about(given: _Given, uniqueness: np.ndarray, fit: FactorFit, K: int) -> None:
    """Heywood cases, negative degrees of freedom, and too few ones."""
    names = given.column_names or [place("column", j) for j in range(len(uniqueness))]

    def listed(which: np.ndarray) -> str:
        more = f" and {len(which) - SHOWN} more" if len(which) > SHOWN else ""
        return ", ".join(quoted(names[j]) if given.column_names else names[j] for j in which[:SHOWN]) + more

    heywood = np.flatnonzero(uniqueness <= LEAST_UNIQUE + 1e-6)
    if K and len(heywood):
        warn_user(
            f"a Heywood case: the factors explain all the variance of {listed(heywood)}, whose uniqueness is at its "
            f"limit of {LEAST_UNIQUE}; use fewer factors, or leave out columns that are almost copies"
        )
    if fit.df < 0:
        warn_user(
            f"{counted(K, 'factor')} of {counted(len(uniqueness), 'column')} have {fit.df} degrees of freedom, so that "
            "many loadings fit equally well; use fewer factors"
        )
    if given.data is not None:
        N, D = given.data.shape
        if N < D:
            warn_user(
                f"{counted(N, 'row')} are fewer than {counted(D, 'column')}: correlations of so few rows are mostly "
                "noise, and factors may go unseen; give more rows, or fewer columns"
            )
        ones, seen = given.data.ones_per_column(), given.data.observed_per_column()
        least = np.minimum(ones, seen - ones)
        few = np.flatnonzero((least < FEW_ONES) & (least > 0))  # what is constant has been told
        if len(few):
            warn_user(
                f"fewer than {FEW_ONES} ones, or fewer than {FEW_ONES} zeros, in {listed(few)}: their correlations and "
                "loadings are mostly noise; leave them out, or give more rows"
            )


def _rotated(
    C: np.ndarray, n_factors: int, rotation: Rotation, kaiser: bool | None, weight: np.ndarray
) -> tuple[Rotated, np.ndarray, np.ndarray]:
    """The rotated solution, factors by their sums of squares, each with a positive sum; uniquenesses; unrotated."""
    L, u = minimum_residuals(C, n_factors, weight)
    loadings, between = rotate(L, rotation, kaiser)
    order = np.argsort(-(loadings**2).sum(axis=0), kind="stable")
    sign = np.where(loadings.sum(axis=0) < 0, -1.0, 1.0)[order]
    return Rotated(loadings[:, order] * sign, between[np.ix_(order, order)] * np.outer(sign, sign)), u, L


def _drawn_again(
    data: BinaryData,
    solve: partial[tuple[Rotated, np.ndarray, np.ndarray]],
    like: np.ndarray,
    n_samples: int,
    rng: np.random.Generator,
    n_jobs: int | None,
) -> np.ndarray:
    """Loadings of fits to rows drawn with replacement, in the order and of the sign of those of all rows."""
    seeds = rng.integers(2**31, size=n_samples).tolist()

    def one(seed: int) -> np.ndarray:
        N = data.shape[0]
        weight = np.bincount(np.random.default_rng(seed).integers(N, size=N), minlength=N).astype(float)
        loadings = solve(repair_correlation(estimate(data, None, weight)[0].correlations))[0].loadings
        product = like.T @ loadings
        _, order = linear_sum_assignment(np.abs(product), maximize=True)
        return loadings[:, order] * np.sign(product[np.arange(len(order)), order])

    return np.array(run_all([partial(one, seed) for seed in seeds], title="Bootstrap", n_jobs=n_jobs))
