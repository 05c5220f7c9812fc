"""Correlation matrices that are not positive definite, or not well conditioned, made so."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from latentbits.numerics import check_number


def repair_correlation(C: ArrayLike, smallest: float = 1e-6) -> np.ndarray:
    """C (or a stack of such matrices) as positive definite correlation matrices: eigenvalues clipped, then rescaled.

    Eigenvalues below `smallest` are raised to it and the diagonal is brought back to 1, as psych::cor.smooth does. A
    matrix without such eigenvalues comes back as it is.

    Parameters
    ----------
    C : array-like of shape (n, n), or a stack of such matrices
        Symmetric, with ones on the diagonal, such as correlations that were estimated pair by pair.
    smallest : float, default=1e-6
        The smallest eigenvalue before the diagonal is brought back.

    Returns
    -------
    ndarray, as C
        Positive definite correlation matrices.

    Examples
    --------
    >>> from latentbits import repair_correlation
    >>> repair_correlation([[1, 0.9, 0.2], [0.9, 1, 0.9], [0.2, 0.9, 1]]).round(3)
    array([[1.   , 0.785, 0.231],
           [0.785, 1.   , 0.785],
           [0.231, 0.785, 1.   ]])
    """
    C = np.asarray(C, dtype=np.float64)
    check_number("smallest", smallest, least=0, above=True)
    values, vectors = np.linalg.eigh(C)
    clipped = (vectors * np.maximum(values, smallest)[..., None, :]) @ np.swapaxes(vectors, -1, -2)
    scale = np.sqrt(np.diagonal(clipped, axis1=-2, axis2=-1))
    rescaled = clipped / (scale[..., :, None] * scale[..., None, :])
    symmetric = (rescaled + np.swapaxes(rescaled, -1, -2)) / 2
    symmetric[..., np.eye(C.shape[-1], dtype=bool)] = 1.0
    return np.where((values[..., 0] < smallest)[..., None, None], symmetric, C)


def regularise(C: ArrayLike, condition_number: float) -> np.ndarray:
    """(C + delta I) / (1 + delta), delta >= 0 the least that brings the condition number down to `condition_number`.

    C is a correlation matrix or a stack of them, positive definite or not; the answer is positive definite, with a
    diagonal of 1. With l_1 and l_n the extreme eigenvalues, delta = max(0, (l_1 - r l_n) / (r - 1)).

    Examples
    --------
    >>> float(np.linalg.cond(regularise([[1, 0.9], [0.9, 1]], 10)).round(6))
    10.0
    """
    C = np.asarray(C, dtype=np.float64)
    check_number("condition_number", condition_number, least=1, above=True)
    values = np.linalg.eigvalsh(C)
    delta = np.maximum(0.0, (values[..., -1] - condition_number * values[..., 0]) / (condition_number - 1))
    delta = delta[..., None, None]
    return (C + delta * np.eye(C.shape[-1])) / (1 + delta)
