"""Pairs of columns under given thresholds and correlations: probabilities of their tables, and standard errors."""

from __future__ import annotations

import numpy as np
from scipy.special import ndtr

from latentbits.kernels.bivariate_normal import LARGEST, normal_cdf2, table_errors

__all__ = ["standard_errors", "table_probabilities"]


def standard_errors(h: np.ndarray, k: np.ndarray, rho: np.ndarray, n: np.ndarray) -> np.ndarray:
    """Asymptotic standard errors of tetrachoric correlations of n rows; P(1) = Phi(h) and Phi(k); arrays of one shape.

    Examples
    --------
    >>> standard_errors(np.zeros(1), np.zeros(1), np.zeros(1), np.array([100.0])).round(4).tolist()
    [0.1571]
    """
    error = np.empty(np.size(rho))
    given = (
        np.ascontiguousarray(part, dtype=np.float64).ravel() for part in (h, k, np.clip(rho, -LARGEST, LARGEST), n)
    )
    table_errors(*given, error)
    return error.reshape(np.shape(rho))


def table_probabilities(h: np.ndarray, k: np.ndarray, rho: np.ndarray) -> np.ndarray:
    """P(11), P(10), P(01) and P(00) on the last axis; P(1) = Phi(h) and Phi(k); none is negative.

    Examples
    --------
    >>> table_probabilities(np.zeros(1), np.zeros(1), np.array([0.5])).round(4).tolist()
    [[0.3333, 0.1667, 0.1667, 0.3333]]
    """
    both = np.empty(np.size(rho))
    normal_cdf2(*(np.ascontiguousarray(part, dtype=np.float64).ravel() for part in (h, k, rho)), both)
    joint = both.reshape(np.shape(rho))
    p, q = ndtr(h), ndtr(k)
    return np.maximum(np.stack([joint, p - joint, q - joint, 1 - p - q + joint], axis=-1), 0.0)
