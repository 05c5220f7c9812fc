"""Rows that lost more ones than others, or got more false ones: how much, and what it means for a cell.

With a share w of a row's cells blanked by noise, a 1 is seen with probability p = (1 - w) c, c being what the content
of the row would put there; so c = p / (1 - w), whatever model p comes from. False ones are the mirror image.

A blank component gains likelihood also where rows are merely poor, and then to divide by 1 - w ranks worse: so far more
is asked of it here than by `noise="auto"` of an aspect model.
"""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

from latentbits.data.binary_data import BinaryData
from latentbits.models.registry import model_class

__all__ = ["Kind", "allow_for", "find_row_noise", "lost_share"]

Kind = Literal["absence", "presence"]
_PHANTOMS: dict[Kind, str] = {"absence": "white", "presence": "black"}

N_COMPONENTS, N_INIT = 4, 5
"""Few components: many can imitate a blank one, row by row."""

FACTOR = 2.0
"""How many times what `noise="auto"` needs a noise component must gain."""

MOST_LOST = 0.95


def find_row_noise(data: BinaryData, row_weight: np.ndarray, seed: int, n_jobs: int | None) -> tuple[Any, Any]:
    """An aspect model with the noise components that the rows clearly need, or None; and the trials."""
    K = max(1, min(N_COMPONENTS, *data.shape))
    make = model_class("aspect-bernoulli")
    settings: dict[str, Any] = {"n_init": N_INIT, "tol": 1e-5, "random_state": seed, "n_jobs": n_jobs}
    trials = make(K, noise="auto", **settings).fit(data, sample_weight=row_weight).noise_trials_
    gained = dict(zip(trials["model"], trials["gain_per_row"], strict=True))
    needed = dict(zip(trials["model"], trials["needed"], strict=True))
    found = [kind for kind in _PHANTOMS.values() if gained[kind] >= FACTOR * needed[kind]]
    if not found:
        return None, trials
    noise = found[0] if len(found) == 1 else "both"
    return make(K, noise=noise, **settings).fit(data, sample_weight=row_weight), trials


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
