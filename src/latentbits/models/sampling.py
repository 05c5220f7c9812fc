"""What estimators that sample from a posterior share: whole rows, cells to follow, and whether the chains agree."""

from __future__ import annotations

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from latentbits.data.binary_data import BinaryData
from latentbits.errors import DataError, warn_user
from latentbits.fitting.chains import LARGEST_R_HAT

WATCHED_CELLS = 100
"""Cells whose probabilities are followed along the chains: unlike components they have no labels to be switched."""

MOST_CELLS = 10**9
"""Of all rows, each repeated by its weight."""


def watched_cells(n_rows: int, n_columns: int) -> tuple[np.ndarray, np.ndarray]:
    """Rows and columns of the cells that are followed along the chains, spread evenly over the table."""
    places = np.linspace(0, n_rows * n_columns - 1, min(WATCHED_CELLS, n_rows * n_columns)).astype(np.int64)
    rows, columns = np.divmod(places, n_columns)
    return rows, columns


def repeated_cells(data: BinaryData, row_weight: np.ndarray, instead: str) -> np.ndarray:
    """The cells of all rows, each as often as its weight says; refused unless the weights are whole numbers.

    `instead` is what users with other weights are advised to do.
    """
    if np.any(row_weight != np.round(row_weight)):
        first = int(np.flatnonzero(row_weight != np.round(row_weight))[0])
        raise DataError(
            f"sample_weight[{first}] is {row_weight[first]:g}, but sampling draws the causes of whole rows; "
            f"give whole numbers, or {instead}"
        )
    cells = data.dense()
    if np.all(row_weight == 1):
        return cells
    if row_weight.sum() * cells.shape[1] > MOST_CELLS:
        raise DataError(
            f"the sample weights add up to {row_weight.sum():,.0f} rows, each of which would be sampled; divide them "
            f"by a common factor, or {instead}"
        )
    return np.repeat(cells, row_weight.astype(np.int64), axis=0)


def largest_r_hat(r_hat: dict[str, np.ndarray] | None) -> float | None:
    """Of the quantities without labels; of the cells without the largest quarter, which chance may make."""
    if r_hat is None:
        return None
    return float(max(r_hat["log_likelihood"].max(), np.quantile(r_hat["cells"], 0.75)))


def chains_agree(r_hat: float | None) -> bool:
    """Whether an R-hat says so; chains that disagree are warned of."""
    if r_hat is not None and r_hat > LARGEST_R_HAT:
        warn_user(
            f"the chains disagree (R-hat is {r_hat:.2f}, and should be at most {LARGEST_R_HAT}), so means and "
            "intervals depend on the seed; raise n_burn, n_samples or thin, or try fewer components",
            ConvergenceWarning,
        )
    return r_hat is not None and r_hat <= LARGEST_R_HAT
