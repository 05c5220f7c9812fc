"""How good an ensemble is, told by hidden cells."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from sklearn.metrics import roc_auc_score

from latentbits.fitting.held_out import HiddenCells, gain_over, log_odds
from latentbits.metrics import calibration_table
from latentbits.models.false_zeros.cross_fitting import HeldOut

__all__ = ["HeldOutScores", "score"]


class HeldOutScores(NamedTuple):
    """What `FalseZeros` keeps as n_hidden_, held_out_, member_scores_, gains_ and auc_."""

    n_cells: int
    reliability: pd.DataFrame
    members: pd.DataFrame
    gains: dict[str, dict[str, Any]]
    auc: dict[str, float]


def score(held_out: HeldOut, cells: HiddenCells, predicted: np.ndarray, weights: Mapping[str, float]) -> HeldOutScores:
    """Scores of the ensemble, which predicted the hidden cells so, of its members and of the baselines."""
    baselines = held_out.by_baselines
    lines = [*zip(weights, weights.values(), held_out.by_members, strict=True), ("ensemble", 1.0, predicted)]
    members = pd.DataFrame(
        [(name, float(weight), _log_likelihood(cells.x, p), _auc(cells.x, p)) for name, weight, p in lines],
        columns=["member", "weight", "log_likelihood", "auc"],
    )
    return HeldOutScores(
        len(cells.x),
        calibration_table(cells.x.astype(float), predicted),
        members,
        {name: asdict(gain_over(cells, predicted, p)) for name, p in baselines.items()},
        {name: _auc(cells.x, p) for name, p in {"model": predicted, **baselines}.items()},
    )


def _auc(x: np.ndarray, p: np.ndarray) -> float:
    return float(roc_auc_score(x, p))


def _log_likelihood(x: np.ndarray, p: np.ndarray) -> float:
    odds = log_odds(p)
    return float(np.mean(x * odds - np.logaddexp(0.0, odds)))
