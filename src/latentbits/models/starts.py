"""Where climbs start: shared by the models whose components are probabilities."""

from __future__ import annotations

import numpy as np
from scipy.special import expit, logit

from latentbits.data.binary_data import BinaryData

__all__ = ["random_components"]


def random_components(
    data: BinaryData, row_weight: np.ndarray, n_components: int, rng: np.random.Generator
) -> np.ndarray:
    """The columns' log odds, shifted at random for each component (K x D).

    Starting near the columns' own shares keeps sparse data out of poor optima, in which components are far denser than
    anything in the data. The shift treats zeros and ones alike.
    """
    ones = data.ones_per_column(row_weight)
    share = (ones + 0.5) / (data.observed_per_column(row_weight) + 1.0)
    return expit(logit(share) + rng.uniform(-2.0, 2.0, size=(n_components, data.shape[1])))
