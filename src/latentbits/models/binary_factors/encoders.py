"""Encoders: the binary quadratic program min 1/2 y^T Q y - f^T y over y in {-1, 1}^m, exactly or approximately.

The binary code of a row under binary factor analysis is the solution of such a program (Tu and Xu, "Learning binary
factor analysis with automatic model selection", eq. 12); all rows share Q.
"""

from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple, assert_never, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from latentbits.constraints import Choice
from latentbits.errors import DataError
from latentbits.fitting.workers import Workers, n_workers
from latentbits.kernels.binary_quadratic import box_rows, enumerate_rows, greedy_rows, quadratic_table
from latentbits.models.binary_factors import Encoder
from latentbits.numerics import kernel_array

ENUM_LIMIT = 20
"""More bits are not enumerated: 2^20 codes take about a millisecond per row, and every bit doubles that."""

BOX_TOL = 1e-9  # only signs are used, but coordinates near 0 need the digits
BOX_SWEEPS = 20_000
PSD_TOL = 1e-9  # an eigenvalue this far below 0, relative to the largest entry, is rounding
CHUNK_ROWS = 512  # rows per thread task


class BQPSolution(NamedTuple):
    """Codes of rows, their values, and whether they are known to be optimal.

    Attributes
    ----------
    codes : ndarray of int8, shape (n_rows, m)
        -1 and 1.
    values : ndarray of float, shape (n_rows,)
        1/2 y^T Q y - f^T y at the code.
    certified : ndarray of bool, shape (n_rows,)
        Whether it is proven that no code of the row has a smaller value.

    Examples
    --------
    >>> from latentbits import solve_bqp
    >>> solve_bqp([[1.0]], [[0.3], [-2.0]]).codes.ravel().tolist()
    [1, -1]
    """

    codes: NDArray[np.int8]
    values: NDArray[np.float64]
    certified: NDArray[np.bool_]


def solve_bqp(Q: ArrayLike, F: ArrayLike, method: Encoder = "enum", n_jobs: int | None = None) -> BQPSolution:
    """Minimise 1/2 y^T Q y - f^T y over the sign vectors y in {-1, 1}^m, for every row f of F.

    Parameters
    ----------
    Q : array-like of shape (m, m)
        Shared by all rows. Only its symmetric part counts.
    F : array-like of shape (n_rows, m), or (m,) for one row
        The linear terms, one row per program.
    method : {"enum", "greedy", "cdual", "round"}, default="enum"
        - "enum" tries all 2^m codes (m up to 20). Exact; of equal codes the first in binary order.
        - "greedy" decides one sign after the other, always the one that gains most (after the constructive heuristic
          of Merz and Freisleben, 2002). O(m^2) a row.
        - "cdual" maximises the canonical dual -1/2 f^T (Q + Diag s)^-1 f - 1/2 sum_i s_i over s >= 0 and takes the
          signs of y = (Q + Diag s)^-1 f. For a positive semidefinite Q that is the Lagrangian dual of the same
          program over the box -1 <= y <= 1, so the box is what is solved. (Any other Q gets a multiple of the
          identity added first, which adds the same constant to every code.)
        - "round" takes the signs of Q^-1 f, the optimum without constraints (the shortest one if Q is singular).
    n_jobs : int or None, default=None
        Number of threads: None means 1 unless a joblib context says otherwise, -1 means all cores. The result does not
        depend on it.

    Returns
    -------
    BQPSolution
        `certified` is True for all codes of "enum". For "cdual" it is True when the code y is itself a stationary
        point of the dual where that bounds the program from below: with s_i = y_i (f_i - (Q y)_i), the matrix
        Q + Diag s is positive semidefinite. Then, for every code z, the value of z is that of y plus
        1/2 (z - y)^T (Q + Diag s) (z - y), so none is smaller (up to rounding). When it is False the code may be
        optimal all the same. "greedy" and "round" certify nothing.

    Examples
    --------
    >>> import numpy as np
    >>> from latentbits import solve_bqp
    >>> Q = np.array([[2.0, 1.0], [1.0, 2.0]])
    >>> solve_bqp(Q, [[0.5, 0.4], [4.0, 3.0]], method="cdual")
    BQPSolution(codes=array([[1, 1],
           [1, 1]], dtype=int8), values=array([ 2.1, -4. ]), certified=array([False,  True]))
    >>> solve_bqp(Q, [0.5, 0.4]).codes
    array([[ 1, -1]], dtype=int8)
    """
    q, f = _checked(Q, F)
    with Workers(n_workers(n_jobs)) as workers:
        codes = encode(q, f, method, workers)
    certified = np.full(len(f), method == "enum")
    if method == "cdual":
        certified = _dual_certificate(q, f, codes)
    return BQPSolution(codes, _values(q, f, codes), certified)


def encode(Q: np.ndarray, F: np.ndarray, method: Encoder, workers: Workers) -> NDArray[np.int8]:
    """The codes of `solve_bqp`; Q is symmetric, and both are finite float64."""
    Choice(get_args(Encoder)).check("method", method)
    m = len(Q)
    if method == "enum" and m > ENUM_LIMIT:
        raise DataError(
            f"enumerating the 2^{m} codes of {m} bits takes too long; use another method, or at most {ENUM_LIMIT} bits"
        )
    if m == 0:
        return np.empty(F.shape, np.int8)
    Q, F = kernel_array(Q), kernel_array(F)
    if method == "round":
        return round_codes(Q, F)
    if method == "cdual":
        return signs(_box(Q, F, workers))
    codes = np.empty(F.shape, np.int8)
    if method == "greedy":
        workers.map(lambda rows: greedy_rows(Q, F[rows], codes[rows]), _chunks(len(F)))
    elif method == "enum":
        table = quadratic_table(Q)
        workers.map(lambda rows: enumerate_rows(table, F[rows], codes[rows]), _chunks(len(F)))
    else:
        assert_never(method)
    return codes


def round_codes(Q: np.ndarray, F: np.ndarray, which: np.ndarray | None = None) -> NDArray[np.int8]:
    """The codes of "round"; Q may be a stack of matrices, of which every row of F has its own (`which`)."""
    inverse = np.linalg.pinv(Q, rcond=Q.shape[-1] * np.finfo(float).eps, hermitian=True)
    return signs(F @ inverse if which is None else np.einsum("ti,tik->tk", F, inverse[which]))


def signs(Y: np.ndarray) -> NDArray[np.int8]:
    """-1 below 0, else 1.

    Examples
    --------
    >>> signs(np.array([-0.1, 0.0, 3.0])).tolist()
    [-1, 1, 1]
    """
    return np.where(Y < 0, np.int8(-1), np.int8(1))


def _checked(Q: ArrayLike, F: ArrayLike) -> tuple[np.ndarray, np.ndarray]:
    q, f = np.asarray(Q, dtype=np.float64), np.asarray(F, dtype=np.float64)
    if q.ndim != 2 or q.shape[0] != q.shape[1]:
        raise DataError(f"Q has the shape {q.shape}; give a square matrix")
    if f.ndim == 1:
        f = f[None]
    if f.ndim != 2 or f.shape[1] != len(q):
        raise DataError(f"F has the shape {f.shape}; give rows of {len(q)} numbers, as many as Q has")
    for name, values in (("Q", q), ("F", f)):
        if not np.isfinite(values).all():
            raise DataError(f"{name} holds NaN or infinity; give finite numbers")
    return (q + q.T) / 2, f


def _values(Q: np.ndarray, F: np.ndarray, codes: np.ndarray) -> NDArray[np.float64]:
    Y = codes.astype(np.float64)
    return np.einsum("ti,ti->t", Y @ Q / 2 - F, Y)


def _box(Q: np.ndarray, F: np.ndarray, workers: Workers) -> np.ndarray:
    """The minimum over the box; where Q isn't positive semidefinite its diagonal is raised until it is."""
    lowest = np.linalg.eigvalsh(Q)[0]
    if lowest < -PSD_TOL * np.abs(Q).max():  # a multiple of I adds the same to all codes, as y_i^2 = 1
        Q = Q - lowest * np.eye(len(Q))
    Y = np.empty(F.shape)
    workers.map(lambda rows: box_rows(Q, F[rows], BOX_TOL, BOX_SWEEPS, Y[rows]), _chunks(len(F)))
    return Y


def _dual_certificate(Q: np.ndarray, F: np.ndarray, codes: np.ndarray) -> NDArray[np.bool_]:
    """Whether Q + Diag s is positive semidefinite for s = y * (f - Q y), code by code."""
    certified = np.ones(len(F), dtype=bool)
    if len(Q) == 0:
        return certified
    diagonal = np.arange(len(Q))
    for rows in _chunks(len(F)):
        Y = codes[rows].astype(np.float64)
        s = Y * (F[rows] - Y @ Q)
        G = np.repeat(Q[None], len(s), axis=0)
        G[:, diagonal, diagonal] += s
        # Scaled to a unit diagonal, so that rounding of a large entry can't hide the sign of a small eigenvalue.
        size = 1 / np.sqrt(np.maximum(np.abs(G[:, diagonal, diagonal]), 1e-300))
        certified[rows] = np.linalg.eigvalsh(G * size[:, :, None] * size[:, None, :])[:, 0] >= -PSD_TOL
    return certified


def _chunks(n_rows: int) -> list[slice]:
    edges = [*range(0, n_rows, CHUNK_ROWS), n_rows]
    return [slice(a, b) for a, b in pairwise(edges)]
