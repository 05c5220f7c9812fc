"""Likelihoods of rows of 0-1 cells at given points: products of normal probabilities."""

from __future__ import annotations

import math

import numpy as np
from numba import njit

from latentbits.kernels.probit_ep import ROOT_2PI, mills

__all__ = ["log_probit_products"]

SMALL = 1e-200
"""A product below this is put away as a logarithm: one logarithm for some dozens of cells instead of one for each."""

FAR = -6.0
"""Below this the probability itself is taken in logarithms, as SMALL times it may underflow."""


@njit(cache=True, nogil=True)
def log_probit_products(Y: np.ndarray, cells: np.ndarray, out: np.ndarray) -> None:
    """out (rows, points) = log of the product of Phi(y) over the ones and Phi(-y) over the zeros of each row.

    Y is rows x points x columns, cells rows x columns: 1, 0, anything else is missing. NumPy equivalent:

        sign = np.where(cells == 1, 1.0, -1.0)[:, None, :]
        out[:] = np.where(((cells == 0) | (cells == 1))[:, None, :], log_ndtr(sign * Y), 0.0).sum(axis=2)
    """
    half = math.sqrt(0.5)
    rows, points, n = Y.shape
    for r in range(rows):
        for p in range(points):
            product, total = 1.0, 0.0
            for i in range(n):
                cell = cells[r, i]
                if cell == 1:
                    x = Y[r, p, i]
                elif cell == 0:
                    x = -Y[r, p, i]
                else:
                    continue
                if x < FAR:
                    total -= 0.5 * x * x + math.log(ROOT_2PI * mills(x))
                    continue
                product *= 0.5 * math.erfc(-half * x)
                if product < SMALL:
                    total += math.log(product)
                    product = 1.0
            out[r, p] = total + math.log(product)
