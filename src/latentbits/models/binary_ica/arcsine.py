"""Matched correlations in the scale of the cells, where their errors are those of a normal sample at any strength.

Cells that cut two normal variables at their means have the correlation f(rho) = 2/pi arcsin(rho) (Sheppard), and the
sample correlations of cells have, nearly, the errors that the likelihood of a normal sample supposes. So f is applied
to the tetrachoric correlations and to the model's, entry by entry, and

    F_u = f(R_u) + diag(nugget_u)   is fitted to   f(C_u) + diag(nugget_u).

As the same is done to both sides, the truth stays the maximum, whatever the thresholds are; these only decide on the
nugget, 2/pi v - 1, which is 0 for a column with as many ones as zeros and makes others count for less (v: see
`matched`). Compared with `matched`, a correlation of 1 among columns that never disagree is believed: f is steep there.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from latentbits.models.binary_ica.parameters import Prior

__all__ = ["CellCorrelations", "nugget", "objective"]

SLOPE = 2 / np.pi
"""f'(0)."""

STRONGEST = 0.99995
"""Correlations are held within this, where f is steep but finite."""

NOISE = 1.0
"""Times sqrt(n / N): added to the nugget, for the error of the smallest eigenvalues of n columns in N rows. Chosen
among 0.2, 0.5, 1, 2 and 4 on simulations: less lets accidents of short segments count, more weakens real ties."""

BLOCK = 1 << 20
"""Numbers that a temporary array may hold; blocks of segments are sized by it."""


class CellCorrelations(NamedTuple):
    """f(C_u) (U, n, n) with 1 + nugget on the diagonal, the nugget (U, n), and numbers of rows (U,)."""

    correlations: np.ndarray
    nugget: np.ndarray
    n_rows: np.ndarray

    @classmethod
    def of(cls, C: np.ndarray, nugget: np.ndarray, n_rows: np.ndarray) -> CellCorrelations:
        """From tetrachoric correlations."""
        F = SLOPE * np.arcsin(np.clip(C, -STRONGEST, STRONGEST))
        diagonal = np.arange(C.shape[1])
        F[:, diagonal, diagonal] = 1 + nugget
        return cls(F, nugget, n_rows)

    def block(self, segments: slice) -> CellCorrelations:
        """Those of some segments."""
        return CellCorrelations(*(part[segments] for part in self))


def nugget(v: np.ndarray, noise: np.ndarray) -> np.ndarray:
    """From the noise variances v (U, n) of columns, and sqrt(n / N) of segments."""
    return np.asarray(SLOPE * v - 1 + NOISE * noise)


def objective(
    A: np.ndarray, log_s: np.ndarray, cells: CellCorrelations, prior: Prior
) -> tuple[float, np.ndarray, np.ndarray]:
    """sum_u N_u / 2 [-log det F_u - tr((f(C_u) + diag(nugget)) F_u^-1)] + the log prior.

    And its derivatives by A, with c in it, and log s.
    """
    s = np.exp(log_s)
    value, by_A, by_log_s = prior(A, log_s)
    by_log_s = by_log_s.copy()
    step = max(1, BLOCK // len(A) ** 2)
    for first in range(0, len(s), step):
        part = slice(first, first + step)
        B = A * s[part, None, :]
        more, dB = _block(B, cells.block(part))
        value += more
        by_A = by_A + np.einsum("uik,uk->ik", dB, s[part])
        by_log_s[part] += np.einsum("uik,uik->uk", dB, B)
    return value, by_A, by_log_s


def _block(B: np.ndarray, cells: CellCorrelations) -> tuple[float, np.ndarray]:
    """The objective of some segments, and its derivative by B = A diag(s_u)."""
    P, nugget, N = cells
    n = B.shape[1]
    diagonal = np.arange(n)
    S = B @ B.transpose(0, 2, 1)
    S[:, diagonal, diagonal] += 1
    d = S[:, diagonal, diagonal]
    root = np.sqrt(d)
    scale = 1 / (root[:, :, None] * root[:, None, :])
    R = np.clip(S * scale, -STRONGEST, STRONGEST)
    F = SLOPE * np.arcsin(R)
    F[:, diagonal, diagonal] = 1 + nugget
    log_det = 2 * np.log(np.diagonal(np.linalg.cholesky(F), axis1=1, axis2=2)).sum(axis=1)
    inverse = np.linalg.inv(F)
    ratio = inverse @ P
    value = float(N @ (-log_det - np.einsum("uii->u", ratio))) / 2
    by_R = N[:, None, None] / 2 * (ratio @ inverse - inverse) * SLOPE / np.sqrt(1 - R**2)
    by_R[:, diagonal, diagonal] = 0
    by_d = -np.einsum("uij,uij->ui", by_R, R) / d
    return value, 2 * ((by_R * scale) @ B + by_d[:, :, None] * B)
