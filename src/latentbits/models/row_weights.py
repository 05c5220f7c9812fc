"""Weights of single rows, the components fixed: how near to the optimum they are solved, and what is said if they
aren't. `latentbits.kernels.fold_in` solves them, with a certificate for each row.
"""

from __future__ import annotations

import warnings
from typing import NamedTuple

import numpy as np
from sklearn.exceptions import ConvergenceWarning

__all__ = ["GAP", "LARGEST_GAP", "MAX_STEPS", "RowWeights", "warn_of_gaps"]

GAP = 1e-12
"""Rows are solved for until at most this much log likelihood per cell is left to gain."""

MAX_STEPS = 100

LARGEST_GAP = 1e-4
"""The log likelihood per cell that a row may lack before it is said: the geometric mean of its cells' probabilities is
then within 0.01 % of the best, which no shown digit tells. Fits of real data stay below 1e-9, and components that are
equal but for rounding below 5e-5, where the ridge of Newton's method ends it."""


class RowWeights(NamedTuple):
    """W: (N, K) weights. gap: (N,) log likelihood per observed cell that other weights can gain at most."""

    W: np.ndarray
    gap: np.ndarray


def warn_of_gaps(gap: np.ndarray) -> None:
    """Say how many rows lack more than `LARGEST_GAP`, and how much at most."""
    short = int(np.sum(gap > LARGEST_GAP))
    if short:
        warnings.warn(
            f"the weights of {short} of {len(gap)} rows are not solved to the end, and up to {gap.max():.1g} of log "
            "likelihood per observed cell is left to gain; components that are nearly alike are the usual cause, so "
            "try fewer of them (n_components)",
            ConvergenceWarning,
            stacklevel=3,
        )
