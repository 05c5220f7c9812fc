"""The number of factors by four encoders again, the factors' probabilities free from the start as in Algorithm 1.

Ours keeps them at 1/2 until the codes have settled: otherwise the uneven shares of poor codes mislead an encoder that
rounds, most where the noise is small.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from experiments.binary_factors import selection
from experiments.binary_factors._shared import grid_jobs
from experiments.runner import Claim, Experiment, Reason

if TYPE_CHECKING:
    import pandas as pd

SETTING = "probabilities free from the start"
RUNS = 8
"""Data sets a cell, the first of those of the other experiment."""


def jobs(full: bool) -> list[dict[str, Any]]:
    return [job for job in grid_jobs(full) if job["seed"] < RUNS]


def run(n_rows: int, sigma: float, seed: int) -> list[dict[str, Any]]:
    from unittest.mock import patch

    from latentbits.models.binary_factors.byy import HarmonyLearning

    settle = HarmonyLearning.settle

    def free(self: Any, state: Any, monitor: Any, *, free_beta: bool) -> Any:
        return settle(self, state, monitor, free_beta=True) if free_beta else state

    with patch.object(HarmonyLearning, "settle", free):
        return selection.run(n_rows, sigma, seed)


def judge(table: pd.DataFrame) -> list[Claim]:
    """By the rules of the other experiment."""
    why = {"reason": Reason.NO, "why": "uneven shares of poor codes mislead the encoders where probabilities are free"}
    return [
        replace(claim, setting=f"{claim.setting}, {SETTING}", **(why if claim.reason == Reason.NO else {}))
        for claim in selection.judge(table)
    ]


EXPERIMENT = Experiment(
    title="Number of factors: round and cdual, the factors' probabilities free from the start",
    results=("BFA 3",),
    jobs=jobs,
    run=run,
    judge=judge,
)
