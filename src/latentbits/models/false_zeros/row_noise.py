"""Rows that lost more ones than others, or got more false ones: how much, and what it means for a cell.

With a share w of a row's cells blanked by noise, a 1 is seen with probability p = (1 - w) c, c being what the content
of the row would put there; so c = p / (1 - w), whatever model p comes from. False ones are the mirror image.

A blank component gains likelihood also where rows are merely poor, and then to divide by 1 - w ranks worse: so far more
is asked of it here than by `noise="auto"` of an aspect model.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pandas as pd

from latentbits.data.binary_data import BinaryData
from latentbits.errors import DegenerateDataWarning
from latentbits.models.aspect import Noise
from latentbits.models.cell_ranking import Kind
from latentbits.models.registry import model_class

__all__ = ["allow_for", "find_row_noise", "lost_share"]

_PHANTOMS: dict[Kind, str] = {"absence": "white", "presence": "black"}

N_COMPONENTS, N_INIT = 4, 5
"""Few components: many can imitate a blank one, row by row."""

FACTOR, PER_CELL = 2.0, 0.01
"""A noise component must gain so many times what `noise="auto"` needs, and so many nats per cell of a row. What a blank
component gains in rows that are merely poor is up to 1.7 times that need at 60 columns, and 2.5 at 240: there it is
0.005 per cell, where rows that have lost ones gain 0.011 to 0.026 (simulated surveys, corroded digits and numerals)."""

MOST_LOST = 0.95


def find_row_noise(
    data: BinaryData, row_weight: np.ndarray, noise: Noise, seed: int, n_jobs: int | None
) -> tuple[Any, pd.DataFrame | None]:
    """An aspect model with these noise components, for "auto" with those that the rows clearly need, and the trials.

    None if they need none; the trials are None unless there were any.
    """

    def fitted(noise: str) -> Any:
        K = max(1, min(N_COMPONENTS, *data.shape))
        model = model_class("aspect-bernoulli")(
            K, noise=noise, n_init=N_INIT, tol=1e-5, random_state=seed, n_jobs=n_jobs
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DegenerateDataWarning)  # said already, of the whole table
            return model.fit(data, sample_weight=row_weight)

    if noise != "auto":
        return fitted(noise), None
    trials = fitted("auto").noise_trials_
    gained, needed = (dict(zip(trials["model"], trials[name], strict=True)) for name in ("gain_per_row", "needed"))
    cells = PER_CELL * float(np.average(data.observed_per_row(), weights=row_weight))
    found = [kind for kind in _PHANTOMS.values() if gained[kind] >= max(FACTOR * needed[kind], cells)]
    return fitted("both" if len(found) > 1 else found[0]) if found else None, trials


def lost_share(noise_model: Any, data: BinaryData, kind: Kind) -> np.ndarray:
    """The share of each row's cells that noise of this kind has changed, as a column; 0 without a noise model."""
    if noise_model is None:
        return np.zeros((data.shape[0], 1))
    weights = np.asarray(noise_model._solved(data).weights)
    share = weights[:, noise_model.phantoms_ == _PHANTOMS[kind]].sum(axis=1, keepdims=True)
    return np.minimum(share, MOST_LOST)


def allow_for(lost: np.ndarray, p: np.ndarray) -> np.ndarray:
    """What the content of a row would put into a cell that is seen with probability p: p / (1 - lost), at most 1."""
    return p / np.maximum(1 - lost, p)
