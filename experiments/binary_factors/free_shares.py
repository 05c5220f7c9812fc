"""The number of factors by four encoders again, the factors' probabilities free from the start as in Algorithm 1.

Ours keeps them at 1/2 until the codes have settled: otherwise the uneven shares of poor codes mislead an encoder that
rounds, most where the noise is small.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from experiments.binary_factors import selection
from experiments.binary_factors._shared import grid_jobs
from experiments.runner import Claim, Experiment

if TYPE_CHECKING:
    import pandas as pd

CONDITION = "probabilities free from the start"
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
    """The claim that is about it, by the rule of the other experiment, and how many of the rest come out."""
    claims = selection.judge(table)
    good = {claim.statement for claim in claims if claim.holds}
    rest = {claim.statement for claim in claims} - {selection.REVERSAL}
    note = (
        f"Of the other {len(rest)} claims {len(good & rest)} come out so, fewer than with the probabilities held even."
    )
    return [
        replace(claim, condition=f"{claim.condition}, {CONDITION}", note=note)
        for claim in claims
        if claim.statement == selection.REVERSAL
    ]


EXPERIMENT = Experiment(
    title="Number of factors: round and cdual, the factors' probabilities free from the start",
    results=("BFA 3",),
    jobs=jobs,
    run=run,
    judge=judge,
)
