"""The likelihood of rows as orthant probabilities, for any number of sources.

With g ~ N(h, S), h = c A mu, S = I + c^2 A diag(s^2) A^T = L L^T (the paper's -q), a cell is 1 where g_i > 0. The
separation of variables (Genz 1992; Geweke, Hajivassiliou and Keane) writes g = h + L e and draws the e_i one after the
other, each from a standard normal truncated by the row's i-th cell: then P(x) is the mean of the product of the
probabilities left by the truncations. The same quasi-random points in every call make it a smooth function of the
parameters.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import solve_triangular
from scipy.special import log_ndtr, ndtri_exp
from scipy.stats import qmc

from latentbits.data.binary_data import MISSING
from latentbits.models.binary_ica.logs import mills, normalised
from latentbits.models.binary_ica.parameters import LINK

__all__ = ["Orthants"]

BLOCK = 1 << 17
"""Numbers that a temporary array may hold; blocks of rows are sized by it."""


SMALLEST = 2.0**-32
"""Points of the unit cube stay this far from 0, whose quantile is infinite."""


@dataclass(frozen=True, eq=False)
class Orthants:
    """log_w: (n, P), logarithms of points in the unit cube, with which e_1 ... e_n are drawn."""

    log_w: np.ndarray

    @classmethod
    def sobol(cls, n_variables: int, n_points: int) -> Orthants:
        """Scrambled Sobol points, rounded up to a power of 2 of them; the same ones in every call."""
        cube = qmc.Sobol(n_variables, seed=0).random_base2(int(np.ceil(np.log2(n_points))))
        return cls(np.log(np.maximum(np.ascontiguousarray(cube.T), SMALLEST)))

    def gradient(
        self, cells: np.ndarray, counts: np.ndarray, A: np.ndarray, mu: np.ndarray, s: np.ndarray
    ) -> tuple[float, np.ndarray, np.ndarray, np.ndarray]:
        """sum over rows of count * log P(x), and its derivatives by A, mu and log s."""
        h, L = _normal(A, mu, s)
        value = -float(counts.sum()) * float(np.log(self.log_w.shape[1]))
        dh, dL = np.zeros_like(h), np.zeros_like(L)
        for rows in self._blocks(len(cells)):
            draws = self._draw(cells[rows], h, L)
            log_p, weight = normalised(draws.log_part)
            value += float(counts[rows] @ log_p)
            more_h, more_L = _pull_back(draws, counts[rows, None] * weight, L)
            dh += more_h
            dL += more_L
        dB = 2 * _cholesky_pull_back(L, dL) @ (LINK * A * s)
        dA = LINK * (dB * s + np.outer(dh, mu))
        return value, dA, LINK * A.T @ dh, np.einsum("ik,ik->k", dB, LINK * A * s)

    def _blocks(self, n_rows: int) -> list[slice]:
        step = max(1, BLOCK // self.log_w.size)
        return [slice(start, start + step) for start in range(0, n_rows, step)]

    def _draw(self, cells: np.ndarray, h: np.ndarray, L: np.ndarray) -> _Draws:
        """Row r and point p: e_i is drawn where sign_i (h_i + L_i . e) > 0, and Phi(kappa_i) is the part left to it."""
        n, P = self.log_w.shape
        e = np.zeros((n, len(cells), P))
        kappa, slope = np.zeros_like(e), np.zeros_like(e)
        log_part = np.zeros((len(cells), P))
        sign = np.where(cells == 1, 1.0, -1.0)
        seen = cells != MISSING
        for i in range(n):
            shift = h[i] + np.tensordot(L[i, :i], e[:i], axes=1)
            kappa[i] = sign[:, i, None] * shift / L[i, i]
            # A missing cell does not truncate.
            log_left = np.where(seen[:, i, None], log_ndtr(kappa[i]), 0.0)
            log_part += log_left
            quantile = ndtri_exp(self.log_w[i] + log_left)  # in logarithms: the probability left may underflow
            e[i] = -sign[:, i, None] * quantile
            slope[i] = -sign[:, i, None] * np.exp(self.log_w[i] - 0.5 * kappa[i] ** 2 + 0.5 * quantile**2)
        return _Draws(e, kappa, slope, log_part, sign, seen)


@dataclass(frozen=True, eq=False)
class _Draws:
    """e, kappa, slope = d e / d kappa: (n, rows, P). log_part: (rows, P). sign, seen: (rows, n)."""

    e: np.ndarray
    kappa: np.ndarray
    slope: np.ndarray
    log_part: np.ndarray
    sign: np.ndarray
    seen: np.ndarray


def _pull_back(draws: _Draws, weight: np.ndarray, L: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The derivatives of sum_rp weight_rp log_part_rp by h and L, collected from the last cell to the first."""
    n = len(L)
    dh, dL = np.zeros(n), np.zeros_like(L)
    de = np.zeros_like(draws.e)
    for i in range(n - 1, -1, -1):  # reverse mode: e_i influences the cells after it only
        kappa = draws.kappa[i]
        d_kappa = np.where(draws.seen[:, i, None], weight * mills(kappa) + de[i] * draws.slope[i], 0.0)
        d_shift = d_kappa * draws.sign[:, i, None] / L[i, i]
        dh[i] += d_shift.sum()
        dL[i, :i] += np.tensordot(draws.e[:i], d_shift, axes=2)
        dL[i, i] -= np.vdot(d_kappa, kappa) / L[i, i]
        de[:i] += L[i, :i, None, None] * d_shift
    return dh, dL


def _normal(A: np.ndarray, mu: np.ndarray, s: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """h, and the Cholesky factor L of S."""
    B = LINK * A * s
    return LINK * A @ mu, np.linalg.cholesky(np.eye(len(A)) + B @ B.T)


def _cholesky_pull_back(L: np.ndarray, dL: np.ndarray) -> np.ndarray:
    """The symmetric derivative by S of what has the derivative dL by its Cholesky factor L."""
    inner = np.tril(L.T @ dL)
    inner[np.diag_indices_from(inner)] /= 2
    half = solve_triangular(L, inner, lower=True, trans="T")
    full = solve_triangular(L, half.T, lower=True, trans="T").T
    return (full + full.T) / 2
