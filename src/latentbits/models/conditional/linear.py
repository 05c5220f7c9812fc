"""The linear autoencoder in closed form (EASE; Steck, 2019): each column a ridge regression on all others at once.

With Z the rows less the columns' means (0 where missing) and W the weights of rows on a diagonal,

    G = Z' W Z + ridge I,   P = inv(G),   B_jk = -P_jk / P_kk,   B_kk = 0:

column k of B is the ridge regression of column k of Z on the other columns (Steck, 2019, eq. 7 and 8), and 1 / P_kk -
ridge is what it leaves: the penalised sum of squares. The cells of a row are then predicted as mean + z B.
"""

from __future__ import annotations

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve
from scipy.linalg.lapack import dpocon

from latentbits.data.binary_data import BinaryData, row_blocks
from latentbits.errors import DataError
from latentbits.models.conditional.centred import centred, filled

__all__ = ["couplings_of", "gram", "predicted"]

SPARSE = 0.1
"""Up to this share of stored cells sparse products are faster than dense ones, which do many more sums in the same
time."""

DIGITS = 5
"""So many digits of couplings are right at least, after rounding."""


def gram(data: BinaryData, row_weight: np.ndarray, means: np.ndarray) -> np.ndarray:
    """Z' W Z: of sparse data at the cost of their ones, without a dense table."""
    n_rows, n_columns = data.shape
    if data.sparse is not None and data.sparse.nnz <= SPARSE * n_rows * n_columns:
        # Z = Y - 1 means', with Y the ones and the means of missing cells.
        Y = filled(data.sparse, means)
        ones, total = row_weight @ Y, row_weight.sum()
        weighted = Y.multiply(row_weight[:, None]).tocsr()
        cross = np.outer(ones, means)
        return np.asarray((Y.T @ weighted).toarray() - cross - cross.T + total * np.outer(means, means))
    G = np.zeros((n_columns, n_columns))
    for rows in row_blocks(n_rows, n_columns):
        Z = centred(data.block(rows), means)
        G += Z.T @ (row_weight[rows, None] * Z)
    return G


def couplings_of(G: np.ndarray, ridge: float) -> tuple[np.ndarray, float]:
    """B, and the penalised sum of squares that it leaves in all columns together; `G` is Z' W Z.

    Refused if the ridge is so small beside columns that repeat each other that fewer than `DIGITS` of B would be right.
    """
    identity = np.eye(len(G))
    ridged = G + ridge * identity
    try:
        factor, lower = cho_factor(ridged, lower=True)
    except LinAlgError:
        reciprocal_condition = 0.0
    else:
        reciprocal_condition, _ = dpocon(factor, np.abs(ridged).sum(axis=0).max(), uplo="L")
    if reciprocal_condition < np.finfo(float).eps * 10**DIGITS:
        raise DataError(
            f"ridge={ridge:g} is lost to rounding beside columns that repeat each other; raise it, or take columns out"
        )
    P = cho_solve((factor, lower), identity)
    precision = np.diag(P)
    B = -P / precision
    np.fill_diagonal(B, 0.0)
    return B, float(np.sum(1 / precision - ridge))


def predicted(data: BinaryData, means: np.ndarray, couplings: np.ndarray) -> np.ndarray:
    """mean + z B of every cell of these rows, as it comes: not within 0 and 1."""
    if data.sparse is not None:
        return np.asarray(filled(data.sparse, means) @ couplings + (means - means @ couplings))
    return means + centred(data.dense(), means) @ couplings
