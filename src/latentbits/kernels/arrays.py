"""The one form in which arrays are given to kernels."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

__all__ = ["aligned_zeros", "kernel_array"]


def kernel_array(values: Any, dtype: Any = np.float64) -> np.ndarray:
    """An array of `dtype` in C order that may be written to; a copy only if `values` isn't one.

    Numba compiles a kernel again, which takes seconds, for any other order, and also for read-only arrays: those of a
    model in shared memory, or of an estimator that joblib hands to another process.

    Examples
    --------
    >>> kernel_array(np.broadcast_to(1, (2, 2))).flags.writeable
    True
    """
    return np.require(values, dtype, ["C", "W"])


def aligned_zeros(shape: tuple[int, ...]) -> np.ndarray:
    """Zeros that begin where a line of the processor's cache does, so that a vector needn't be written to two lines.

    Examples
    --------
    >>> aligned_zeros((3, 8)).ctypes.data % 64
    0
    """
    size = math.prod(shape)
    memory = np.zeros(size + 8)
    first = -memory.ctypes.data % 64 // 8
    return memory[first : first + size].reshape(shape)
