"""Rows less the columns' means, missing cells at the mean: what a cell says beyond what is known of its column."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from latentbits.data.binary_data import MISSING, BinaryData

__all__ = ["centred", "filled", "share_of_ones", "smoothed_means"]


def share_of_ones(data: BinaryData, row_weight: np.ndarray) -> float:
    """The share of ones in the table, never 0 or 1: half a 1 and half a 0 are added."""
    ones, observed = data.ones_per_column(row_weight).sum(), data.observed_per_column(row_weight).sum()
    return float((ones + 0.5) / (observed + 1))


def smoothed_means(data: BinaryData, row_weight: np.ndarray) -> np.ndarray:
    """The columns' shares of ones with one more cell in each column, of the table's share of ones."""
    ones, observed = data.ones_per_column(row_weight), data.observed_per_column(row_weight)
    return (ones + share_of_ones(data, row_weight)) / (observed + 1)


def centred(cells: np.ndarray, means: np.ndarray) -> np.ndarray:
    """z_ij = x_ij - mean_j, and 0 where the cell is missing."""
    return np.where(cells == MISSING, 0.0, cells - means)


def filled(sparse: sp.csr_array, means: np.ndarray) -> sp.csr_array:
    """Sparse rows with the columns' means in missing cells: less the means, they are `centred`."""
    values = np.where(sparse.data == MISSING, means[sparse.indices], 1.0)
    return sp.csr_array((values, sparse.indices, sparse.indptr.astype(sparse.indices.dtype)), shape=sparse.shape)
