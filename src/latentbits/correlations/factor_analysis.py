"""Exploratory factor analysis of 0-1 columns: minimum residuals of tetrachoric correlations, rotated."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any, get_args

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from scipy.optimize import linear_sum_assignment, minimize

from latentbits.constraints import Choice
from latentbits.correlations.parallel_analysis import LARGEST_CONDITION, beside_shuffled, draws_within
from latentbits.correlations.repair import regularise, repair_correlation
from latentbits.correlations.rotation import Rotated, Rotation, rotate
from latentbits.correlations.tetrachoric import estimate, tetrachoric
from latentbits.data.binary_data import BinaryData
from latentbits.errors import DataError
from latentbits.fitting.workers import run_all
from latentbits.numerics import RandomSource, as_generator, check_number
from latentbits.wording import counted

__all__ = ["FactorSolution", "factor_analysis", "minimum_residuals"]

LEAST_UNIQUE = 0.005
"""Uniquenesses stay above this, as in psych: at 0 a factor would be a column (a Heywood case)."""


@dataclass(frozen=True, eq=False)
class FactorSolution:
    """Result of `factor_analysis` for D columns and K factors.

    Attributes
    ----------
    loadings : array, D x K
        Rotated loadings (of oblique rotations the pattern), factors from the strongest on; each has a positive sum.
    standard_errors : array, D x K, or None
        Of the loadings, from fits to rows drawn again; None if none were made (``n_samples=0``).
    uniquenesses : array, D
        The part of each column's variance that no factor explains.
    factor_correlations : array, K x K
        The identity for orthogonal rotations.
    correlations : array, D x D
        The tetrachoric correlations, repaired.
    rms_residual : float
        Root mean square of the correlations that the factors leave (RMSR).
    column_names : list of str or None
        Names of the columns.

    Examples
    --------
    >>> from latentbits import factor_analysis, simulate
    >>> found = factor_analysis(simulate.binary_ica(1000, 6, 2, 1, random_state=0).X, 2, n_samples=5)
    >>> found.to_frame().columns.tolist()
    ['factor_0', 'factor_1', 'se_factor_0', 'se_factor_1', 'uniqueness']
    >>> found.factor_correlations.shape
    (2, 2)
    """

    loadings: np.ndarray
    standard_errors: np.ndarray | None
    uniquenesses: np.ndarray
    factor_correlations: np.ndarray
    correlations: np.ndarray
    rms_residual: float
    column_names: list[str] | None = None

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

    def __repr__(self) -> str:
        K = self.loadings.shape[1]
        explained = 1 - self.uniquenesses.mean()
        return (
            f"FactorSolution({counted(K, 'factor')}, {explained:.0%} of variance, rms residual {self.rms_residual:.3f})"
        )


def factor_analysis(
    X: Any,
    n_factors: int | None = None,
    *,
    rotation: Rotation = "oblimin",
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
    X : array-like, sparse matrix, data frame or BinaryData, of shape (n_rows, n_columns)
        0, 1 and missing.
    n_factors : int or None, default=None
        Number of factors; None means what `parallel_analysis` finds, at least 1.
    rotation : {"oblimin", "promax", "varimax", "none"}, default="oblimin"
        Oblimin (with gamma 0) and promax let factors be correlated; all with Kaiser's normalisation.
    n_samples : int, default=0
        How many fits to rows drawn again give the standard errors; 50 are enough. With 0 there are none.
    random_state : int, Generator, RandomState or None, default=0
        Seed of the draws.
    binarize : float or None, default=None
        Values of at least `binarize` count as 1 and smaller ones as 0. None accepts only 0, 1 and missing cells.
    n_jobs : int or None, default=None
        Number of threads.

    Returns
    -------
    FactorSolution
        `loadings`, `standard_errors`, `uniquenesses`, `factor_correlations` and more; `to_frame()` is a table.

    Examples
    --------
    >>> from latentbits import factor_analysis, simulate
    >>> X = simulate.binary_ica(2000, 8, 2, 1, random_state=0).X
    >>> factor_analysis(X, rotation="varimax").loadings.shape
    (8, 2)
    """
    Choice(get_args(Rotation)).check("rotation", rotation)
    check_number("n_samples", n_samples, least=0, integer=True)
    data = BinaryData.of(X, binarize=binarize)
    found = tetrachoric(data, n_jobs=n_jobs)
    K = (
        max(1, beside_shuffled(found, data, n_draws=draws_within(found), n_jobs=n_jobs).n_factors)
        if n_factors is None
        else n_factors
    )
    check_number("n_factors", K, least=1, integer=True)
    if data.shape[1] <= K:
        raise DataError(f"n_factors={K} of {counted(data.shape[1], 'column')}; use fewer factors than columns")
    C = repair_correlation(found.correlations)
    solve = partial(_rotated, n_factors=K, rotation=rotation)
    (loadings, between), uniqueness = solve(C)
    samples = _drawn_again(data, solve, loadings, n_samples, as_generator(random_state), n_jobs)
    residual = (C - loadings @ between @ loadings.T)[np.triu_indices(len(C), 1)]
    return FactorSolution(
        loadings,
        samples.std(axis=0, ddof=1) if n_samples > 1 else None,
        uniqueness,
        between,
        C,
        float(np.sqrt(np.mean(residual**2))),
        data.column_names,
    )


def minimum_residuals(C: ArrayLike, n_factors: int) -> tuple[np.ndarray, np.ndarray]:
    """Unrotated loadings (D, K) and uniquenesses (D,) that leave the smallest off-diagonal residuals.

    For given uniquenesses u the best loadings are the leading eigenvectors of C - diag(u); minimised over u is the sum
    of squares of all that is left, whose derivative by u_i is -2 times the residual on the diagonal.
    """
    C = np.asarray(C, dtype=float)

    def loadings_of(u: np.ndarray) -> np.ndarray:
        values, axes = np.linalg.eigh(C - np.diag(u))
        return axes[:, ::-1][:, :n_factors] * np.sqrt(np.maximum(values[::-1][:n_factors], 0.0))

    def loss(u: np.ndarray) -> tuple[float, np.ndarray]:
        L = loadings_of(u)
        rest = C - np.diag(u) - L @ L.T
        return float(np.sum(rest**2)), -2 * np.diagonal(rest)

    first = np.clip(1 / np.diagonal(np.linalg.inv(regularise(C, LARGEST_CONDITION))), LEAST_UNIQUE, 1.0)
    bounds = [(LEAST_UNIQUE, 1.0)] * len(C)
    u = minimize(loss, first, jac=True, method="L-BFGS-B", bounds=bounds, options={"maxiter": 1000}).x
    return loadings_of(u), u


def _rotated(C: np.ndarray, n_factors: int, rotation: Rotation) -> tuple[Rotated, np.ndarray]:
    """The rotated solution, factors by their sums of squares, each with a positive sum; and the uniquenesses."""
    L, u = minimum_residuals(C, n_factors)
    loadings, between = rotate(L, rotation)
    order = np.argsort(-(loadings**2).sum(axis=0), kind="stable")
    sign = np.where(loadings.sum(axis=0) < 0, -1.0, 1.0)[order]
    return Rotated(loadings[:, order] * sign, between[np.ix_(order, order)] * np.outer(sign, sign)), u


def _drawn_again(
    data: BinaryData,
    solve: partial[tuple[Rotated, np.ndarray]],
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
