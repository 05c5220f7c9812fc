"""Identifiability of a mixing, how many sources so many rows can tell, and the similarity of two mixings."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import linear_sum_assignment

from latentbits.numerics import check_number

__all__ = ["default_sources", "identifiability", "mean_cosine_similarity", "rows_needed"]

FEW, HALF, MANY = 5, 50, 300
"""Rows a segment for up to a third, up to half, and more of the columns as sources.

In simulations (4 to 12 columns, 10 and 40 segments, 5 to 300 rows a segment) the mixing of a third as many sources as
columns was found with 5 rows (similarity 0.8 on a scale where chance is 0), that of half as many with 20 to 50, and
that of as many with 300. Looking for more sources than there are spoils those: of 4 sources of 12 columns in segments
of 50 rows, the similarity was 0.96 if 4 were sought, 0.94 if 6 were, and 0.75 if 12 were.
"""


def identifiability(n_variables: int, n_components: int, n_segments: int) -> int:
    """Number of statistics minus number of unknowns: if it is negative, expect many mixings to fit equally well.

    The count of Hyttinen, Barin-Pacela and Hyvärinen (Table 1): each segment has a covariance for each pair of
    variables, a variance and a mean for each variable; unknown are the mixing and, in each segment, mean and variance
    of each source and the scale of each variable, which binarisation hides. It is a rule of thumb in both directions. A
    count that isn't negative is no proof: two variables, one segment, or two segments of as many variables as sources
    are never enough. And it counts the scale of every source twice, in the mixing and in the segments, so that a
    slightly negative count (down to minus the number of sources) may do: five variables and sources in four segments
    were found exactly in 3 of 10 models.

    Parameters
    ----------
    n_variables : int
        Number of columns of the data.
    n_components : int
        Number of sources.
    n_segments : int
        Number of segments.

    Returns
    -------
    int
        The difference.

    Examples
    --------
    >>> identifiability(6, 6, 4), identifiability(5, 5, 4)
    (0, -5)
    """
    n, m, U = n_variables, n_components, n_segments
    for name, value in {"n_variables": n, "n_components": m, "n_segments": U}.items():
        check_number(name, value, least=1, integer=True)
    statistics = U * (n * (n - 1) // 2 + 2 * n)
    unknowns = n * m + 2 * U * m + U * n
    return int(statistics - unknowns)


def rows_needed(n_variables: int, n_components: int) -> int:
    """How many rows a segment it takes to find the mixing of so many sources of so many columns."""
    if n_components <= max(n_variables // 3, 1):
        return FEW
    return HALF if n_components <= n_variables // 2 else MANY


def default_sources(n_variables: int, n_segments: int, rows: float) -> int:
    """The number of sources if none is given: half as many as columns, or a third with few `rows` a segment.

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

    The mean of |cos| over the columns of A, each paired with one of B so that the sum is largest. Columns of A without
    a partner count as 0.

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
