"""Identifiability of a mixing, and the similarity of two mixings."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import linear_sum_assignment

from latentbits.numerics import check_number

__all__ = ["identifiability", "mean_cosine_similarity"]


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
