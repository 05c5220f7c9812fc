"""Logarithms of weights that add up to 1."""

from __future__ import annotations

import numpy as np

__all__ = ["LOG_ROOT_2PI", "normalised"]

LOG_ROOT_2PI = float(np.log(2 * np.pi)) / 2


def normalised(joint: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """log sum_p exp(joint_rp) of each row r, and the shares exp(joint_rp) / sum; the exponential is taken once.

    Examples
    --------
    >>> total, share = normalised(np.array([[-1000.0, -1000.0]]))
    >>> total.round(3).tolist(), share.tolist()
    ([-999.307], [[0.5, 0.5]])
    """
    largest = joint.max(axis=1, keepdims=True)
    weight = np.exp(joint - largest)
    total = weight.sum(axis=1, keepdims=True)
    weight /= total
    return (largest + np.log(total))[:, 0], weight
