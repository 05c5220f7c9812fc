"""Identifiability of a mixing, how many sources so many rows can tell, and the similarity of two mixings."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import linear_sum_assignment

from latentbits.numerics import check_number

RANK_TOLERANCE = 1e-9
"""Singular values below this, relative to the largest, count as 0: rounding leaves some 1e-15."""

FEW, HALF, MANY = 5, 50, 300
"""Rows a segment for up to a third, up to half, and more of the columns as sources.

In simulations (4 to 12 columns, 10 and 40 segments, 5 to 300 rows per segment) the mixing of a third as many sources as
columns was found with 5 rows (similarity 0.8 on a scale where chance is 0), that of half as many with 20 to 50, and
that of as many with 300. Looking for more sources than there are spoils those: of 4 sources of 12 columns in segments
of 50 rows, the similarity was 0.96 if 4 were sought, 0.94 if 6 were, and 0.75 if 12 were.
"""


def identifiability(n_variables: int, n_components: int, n_segments: int, *, published: bool = False) -> int:
    """Number of statistics minus number of unknowns: if it is negative, many mixings fit equally well.

    Each segment has a correlation for each pair of variables; unknown are the mixing and, in each segment, the scale of
    each source, less a factor for each source that can be moved between the two: U n (n-1) / 2 - (n m + U m - m).
    Thresholds don't count, as the sources' means are found from them afterwards. A count that isn't negative is no
    proof, as one segment shows, which tells no rotation of the sources; `identifiability_rank` looks at the equations
    themselves.

    Parameters
    ----------
    n_variables : int
        Number of columns of the data.
    n_components : int
        Number of sources.
    n_segments : int
        Number of segments.
    published : bool, default=False
        Whether to count as Hyttinen, Barin-Pacela and Hyvärinen do (Table 1): with means, variances and the scales of
        variables. It counts the scale of every source twice, and so is lower by m where m = n: 5 variables and sources
        in 4 segments, 7 in 3, 8 in 3 and 4 in 6 are locally identifiable, though its count is negative. With fewer
        sources than variables it counts means as statistics, and may be too high.

    Returns
    -------
    int
        The difference.

    Examples
    --------
    >>> from latentbits import identifiability
    >>> identifiability(5, 5, 4), identifiability(5, 5, 4, published=True)
    (0, -5)
    >>> identifiability(3, 2, 3)
    -1
    """
    n, m, U = n_variables, n_components, n_segments
    for name, value in {"n_variables": n, "n_components": m, "n_segments": U}.items():
        check_number(name, value, least=1, integer=True)
    if published:
        return int(U * (n * (n - 1) // 2 + 2 * n) - (n * m + 2 * U * m + U * n))
    return int(U * n * (n - 1) // 2 - (n * m + U * m - m))


class Rank(NamedTuple):
    """The rank of the equations of a model: it is locally identifiable if `rank` equals `unknowns`.

    Attributes
    ----------
    rank : int
        Of the derivatives of all correlations by all unknowns.
    unknowns : int
        How many there are, the scales of the sources fixed.

    Examples
    --------
    >>> from latentbits import identifiability_rank
    >>> found = identifiability_rank(5, 2, 3)
    >>> found.rank == found.unknowns
    True
    """

    rank: int
    unknowns: int


def identifiability_rank(n_variables: int, n_components: int, n_segments: int, *, random_state: int = 0) -> Rank:
    """The rank of the derivatives of all correlations by all unknowns, at a random model.

    Parameters
    ----------
    n_variables : int
        Number of columns of the data.
    n_components : int
        Number of sources.
    n_segments : int
        Number of segments.
    random_state : int, default=0
        Seed of the model; the rank is the same for almost all of them.

    Returns
    -------
    Rank
        Named tuple of `rank` and `unknowns`, n m + U m - m. If they are equal, no other mixing near the true one fits
        as well; otherwise there are unknowns - rank directions in which it can be changed without a trace.

    Examples
    --------
    >>> from latentbits import identifiability_rank
    >>> identifiability_rank(5, 5, 4), identifiability_rank(3, 2, 3)
    (Rank(rank=40, unknowns=40), Rank(rank=9, unknowns=10))
    """
    n, m, U = n_variables, n_components, n_segments
    identifiability(n, m, U)  # which refuses what isn't a number of at least 1
    rng = np.random.default_rng(random_state)
    A, s = rng.uniform(-2, 2, (n, m)), rng.uniform(0.5, 2, (U, m))
    J = correlation_jacobian(A, np.log(s))
    return Rank(int(np.linalg.matrix_rank(J, tol=RANK_TOLERANCE * np.linalg.norm(J, 2))), n * m + U * m - m)


def correlation_jacobian(A: np.ndarray, log_s: np.ndarray) -> np.ndarray:
    """Derivatives of the correlations (pairs of segment 0, of segment 1, ...) by A, then log s, row by row; c is in A.

    With S = I + B B^T, B = A diag(s), r_ij = S_ij / sqrt(S_ii S_jj) has the derivative
    (B_jk - r_ij B_ik sqrt(S_jj / S_ii)) / sqrt(S_ii S_jj) by B_ik, and the same with i and j exchanged.
    """
    n, m = A.shape
    U = len(log_s)
    left, right = np.triu_indices(n, 1)
    pairs = np.arange(len(left))
    J = np.zeros((U, len(left), n * m + U * m))
    for u in range(U):
        s = np.exp(log_s[u])
        B = A * s
        S = np.eye(n) + B @ B.T
        by_B = np.zeros((len(left), n, m))
        for i, j in ((left, right), (right, left)):
            scale = np.sqrt(S[i, i] * S[j, j])[:, None]
            by_B[pairs, i] += (B[j] - (S[i, j] / S[i, i])[:, None] * B[i]) / scale
        J[u, :, : n * m] = (by_B * s).reshape(len(left), -1)
        J[u, :, n * m + u * m : n * m + (u + 1) * m] = np.einsum("pik,ik->pk", by_B, B)
    return J.reshape(-1, n * m + U * m)


def rows_needed(n_variables: int, n_components: int) -> int:
    """How many rows per segment it takes to find the mixing of so many sources of so many columns."""
    if n_components <= max(n_variables // 3, 1):
        return FEW
    return HALF if n_components <= n_variables // 2 else MANY


def most_sources(n_variables: int, n_segments: int, rows: float) -> int:
    """How many sources may be looked for unasked: at most half as many as columns, a third with few `rows` a segment.

    At least 1, and no more than are identifiable; one segment tells no sources apart. As many as columns are found only
    if there are so many, and with many rows, so they must be asked for.
    """
    if n_segments == 1:
        return 1
    most = n_variables // 2 if rows >= HALF else n_variables // 3
    fitting = (m for m in range(most, 1, -1) if identifiability(n_variables, m, n_segments) >= 0)
    return next(fitting, 1)


def mean_cosine_similarity(A: ArrayLike, B: ArrayLike) -> float:
    """Similarity of two mixing matrices, from 0 to 1, whatever the scales, signs and order of their columns.

    The mean absolute cosine over the columns of A, each paired with one of B so that the sum is largest. Columns of A
    without a partner count as 0.

    Parameters
    ----------
    A : array-like of shape (n_variables, n_components)
        The first mixing matrix, for example the true one.
    B : array-like of shape (n_variables, n_other_components)
        The second mixing matrix, for example an estimate.

    Returns
    -------
    float
        1 if all columns agree.

    Examples
    --------
    >>> from latentbits import mean_cosine_similarity
    >>> mean_cosine_similarity([[1, 0], [0, 2]], [[0, -5], [1, 0]])
    1.0
    """
    a, b = np.asarray(A, dtype=float), np.asarray(B, dtype=float)
    if a.ndim != 2 or b.ndim != 2 or len(a) != len(b) or 0 in a.shape:
        raise ValueError(f"A and B have the shapes {a.shape} and {b.shape}; give two mixings of the same variables")
    cosine = np.abs(_unit_columns(a).T @ _unit_columns(b))
    rows, columns = linear_sum_assignment(cosine, maximize=True)
    return float(cosine[rows, columns].sum() / a.shape[1])


def _unit_columns(A: np.ndarray) -> np.ndarray:
    """Columns of length 1; a column of zeros stays zero, and has similarity 0 with every other."""
    length = np.linalg.norm(A, axis=0)
    return np.divide(A, length, out=np.zeros_like(A), where=length > 0)
