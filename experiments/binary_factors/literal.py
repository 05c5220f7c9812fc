"""The comparison with variational Bayes and BIC again, these started at random: as the paper did, as far as it says.

Ours start from the codes of a quick fit by least squares and rounding, which makes both of them better.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from experiments.binary_factors import criteria
from experiments.binary_factors._shared import grid_jobs
from experiments.runner import Claim, Experiment

if TYPE_CHECKING:
    import pandas as pd

CONDITION = "VB and EM started at random"


def run(n_rows: int, sigma: float, seed: int) -> list[dict[str, Any]]:
    from unittest.mock import patch

    from latentbits.models.binary_factors import starts

    with patch.object(starts, "ROUGH_PASSES", 0):
        return criteria.run(n_rows, sigma, seed)


def judge(table: pd.DataFrame) -> list[Claim]:
    """By the rules of the other experiment."""
    return [replace(claim, condition=f"{claim.condition}, {CONDITION}") for claim in criteria.judge(table)]


EXPERIMENT = Experiment(
    title="Number of factors: BYY, variational Bayes and BIC, the latter two started at random",
    results=("BFA 4",),
    jobs=grid_jobs,
    run=run,
    judge=judge,
)
