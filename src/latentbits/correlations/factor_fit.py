"""How well factors fit tetrachoric correlations: chi-square by the correlations' sampling covariance, RMSEA, SRMR.

Factors are fitted by least squares, so the sum of squared residuals T isn't chi-square. With Gamma the sampling
covariance of the correlations (times N), W their weights, Delta the derivatives of the model's correlations by the
loadings and U = W - W Delta (Delta' W Delta)^+ Delta' W, T has the mean tr(U Gamma) and the variance 2 tr((U Gamma)^2);
scaled and shifted, it has those of chi-square with the model's degrees of freedom (Asparouhov and Muthén 2010, which is
what lavaan and Mplus call ULSMV and WLSMV).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.optimize import brentq
from scipy.special import chdtrc, chndtr, ndtr

from latentbits.correlations.pairs import table_probabilities
from latentbits.correlations.tetrachoric import Tetrachoric
from latentbits.data.binary_data import BinaryData

MOST_COLUMNS = 70
"""Columns up to which the sampling covariance is computed: 2,415 pairs of columns, 47 MB."""

LEVEL = 0.90
"""Of the interval of RMSEA, as everywhere."""

LEAST_CELL = 1e-6
"""Probabilities of the cells of 2 x 2 tables are kept this far from 0, for rows that the estimate rules out."""

BLOCK = 4096
"""Rows whose influence on all pairs is held at the same time."""


@dataclass(frozen=True)
class FactorFit:
    """How well factors fit, as `factor_analysis` says it.

    Attributes
    ----------
    chi_square : float or None
        Scaled and shifted, from the sampling covariance of the correlations; None without data, degrees of freedom, or
        with more than 70 columns.
    df : int
        Degrees of freedom: pairs of columns less free loadings; negative if there are too many factors.
    p_value : float or None
        Of the hypothesis that these factors are all there is.
    rmsea : float or None
        Root mean square error of approximation: below .05 is called close, above .10 poor.
    rmsea_low : float or None
        Lower end of its 90 % interval.
    rmsea_high : float or None
        Upper end of its 90 % interval.
    srmr : float
        Standardised root mean square residual, the diagonal counted (lavaan's `srmr`).
    n_rows : int or None
        Number of rows.

    Examples
    --------
    >>> from latentbits import factor_analysis, simulate
    >>> fit = factor_analysis(simulate.binary_ica(1000, 6, 1, 1, random_state=0).X, 1).fit
    >>> fit.df, fit.rmsea < 0.08, fit.srmr < 0.05
    (9, True, True)
    """

    chi_square: float | None
    df: int
    p_value: float | None
    rmsea: float | None
    rmsea_low: float | None
    rmsea_high: float | None
    srmr: float
    n_rows: int | None = None

    def __repr__(self) -> str:
        if self.rmsea is None or self.rmsea_low is None or self.rmsea_high is None:
            return f"FactorFit(df {self.df}, SRMR {self.srmr:.3f})"
        return (
            f"FactorFit(chi-square {self.chi_square:.1f}, df {self.df}, p {self.p_value:.2g}, RMSEA {self.rmsea:.3f} "
            f"[{self.rmsea_low:.3f}, {self.rmsea_high:.3f}], SRMR {self.srmr:.3f})"
        )


def fit_of(
    C: np.ndarray, loadings: np.ndarray, weight: np.ndarray, data: BinaryData | None, found: Tetrachoric | None
) -> FactorFit:
    """The fit of unrotated loadings (D, K), which minimised the residuals of C weighted by weight_i weight_j."""
    D, K = loadings.shape
    left, right = np.triu_indices(D, 1)
    residual = (C - loadings @ loadings.T)[left, right]
    df = len(left) - (D * K - K * (K - 1) // 2)
    srmr = float(np.sqrt(np.sum(residual**2) / (D * (D + 1) / 2)))
    N = None if data is None else data.shape[0]
    if data is None or found is None or N is None or df <= 0 or D > MOST_COLUMNS or N < 3:
        return FactorFit(None, df, None, None, None, None, srmr, N)
    gamma = (N - 1) * sampling_covariance(data, found)
    w = weight[left] * weight[right]
    delta = np.zeros((len(left), D, K))
    pair = np.arange(len(left))
    delta[pair, left] += loadings[right]
    delta[pair, right] += loadings[left]
    root = np.sqrt(w)[:, None] * delta.reshape(len(left), D * K)
    # sqrt(W) (I - projection on the weighted derivatives) sqrt(W)
    axes, sizes, _ = np.linalg.svd(root, full_matrices=False)
    axes = axes[:, sizes > 1e-9 * max(float(sizes.max(initial=0.0)), 1e-300)]
    G = np.sqrt(w)[:, None] * gamma * np.sqrt(w)
    UG = G - axes @ (axes.T @ G)
    trace, square = float(np.trace(UG)), float(np.sum(UG * UG.T))
    T = (N - 1) * float(w @ residual**2)
    scale = np.sqrt(df / square)
    chi_square = max(0.0, float(scale * T + df - scale * trace))
    rmsea, low, high = (
        float(np.sqrt(max(x, 0.0) / ((N - 1) * df))) for x in (chi_square - df, *_noncentrality(chi_square, df))
    )
    return FactorFit(chi_square, df, float(chdtrc(df, chi_square)), rmsea, low, high, srmr, N)


def _noncentrality(chi_square: float, df: int) -> tuple[float, float]:
    """The interval of the noncentrality: where so large a chi-square, or so small a one, is in the tail."""

    def where(tail: float) -> float:
        def above(shift: float) -> float:
            return float(chndtr(chi_square, df, shift)) - tail

        if above(0.0) <= 0:
            return 0.0
        most = chi_square + 10.0
        while above(most) > 0:
            most *= 2
        return float(brentq(above, 0.0, most))

    return where((1 + LEVEL) / 2), where((1 - LEVEL) / 2)


def sampling_covariance(data: BinaryData, found: Tetrachoric) -> np.ndarray:
    """The covariance of the tetrachoric correlations of all pairs (P, P), above the diagonal row by row.

    Each row moves the joint probability of a pair by its score in the pair's table and by what it moves the columns'
    shares of ones; the correlation follows by Plackett's identity. The sum over rows of products of these influences is
    the covariance. Thresholds count as estimated, and missing cells are left out.
    """
    D = data.shape[1]
    left, right = np.triu_indices(D, 1)
    h, k = -found.thresholds[left], -found.thresholds[right]
    rho = found.correlations[left, right]
    P11, P10, P01, P00 = np.maximum(table_probabilities(h, k, rho), LEAST_CELL).T
    information = 1 / P11 + 1 / P10 + 1 / P01 + 1 / P00
    root = np.sqrt(1 - rho**2)
    density = np.exp(-0.5 * (h**2 + k**2 - 2 * rho * h * k) / root**2) / (2 * np.pi * root)
    by_left = (1 / P10 + 1 / P00) / information - ndtr((k - rho * h) / root)
    by_right = (1 / P01 + 1 / P00) / information - ndtr((h - rho * k) / root)
    share = ndtr(-found.thresholds)
    n_seen, n_pair = np.maximum(np.diagonal(found.n_pairs), 1), np.maximum(found.n_pairs[left, right], 1)
    covariance = np.zeros((len(left), len(left)))
    for start in range(0, data.shape[0], BLOCK):
        cells = data.block(slice(start, start + BLOCK))
        one, zero = cells == 1, cells == 0
        moved = np.where(one | zero, (one - share) / n_seen, 0.0)
        score = one[:, left] * (one[:, right] / P11 - zero[:, right] / P10)
        score += zero[:, left] * (zero[:, right] / P00 - one[:, right] / P01)
        influence = score / information / n_pair + by_left * moved[:, left] + by_right * moved[:, right]
        influence /= np.maximum(density, LEAST_CELL)
        covariance += influence.T @ influence
    return covariance
