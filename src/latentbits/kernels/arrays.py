"""The one form in which arrays are given to kernels."""

from __future__ import annotations

from typing import Any

import numpy as np

__all__ = ["kernel_array"]


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
