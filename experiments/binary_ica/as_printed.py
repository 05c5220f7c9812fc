"""BLICA as printed (only the data's correlations are shrunk), and linear iVAE with the paper's rows and restarts.

Adds to binary_ica/finite what that has not, 6 columns and 2 sources, and to binary_ica/scaling the printed shrinkage,
and iVAE with 1,000 rows a segment and three restarts for 10 columns. The rules are theirs; models are others.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from experiments.binary_ica import finite, scaling
from experiments.binary_ica._shared import N_SEGMENTS, PUBLISHED, STARTS, similarity
from experiments.runner import Algorithm, Claim, Experiment

if TYPE_CHECKING:
    import pandas as pd

FEW = (6, 2)
FIRST_SEED = 20
"""Other models than those of the two experiments."""

IVAE_ROWS = (50, 200, 1000)
"""Of 6 columns and 2 sources, one model each, for its cost; of 10 columns and 10 sources the last, once."""


def jobs(full: bool) -> list[dict[str, Any]]:
    models = range(FIRST_SEED, FIRST_SEED + (3 if full else 1))
    rows = finite.ROWS if full else finite.QUICK_ROWS
    cells = [(*FEW, size, method, seed) for method in (PUBLISHED, "FastICA") for size in rows for seed in models]
    cells += [(*FEW, size, "iVAE", models[0]) for size in (IVAE_ROWS if full else IVAE_ROWS[:2])]
    sizes = scaling.SIZES if full else scaling.SIZES[:2]
    shapes = dict.fromkeys([(n, 10) for n in sizes] + [(n, n) for n in sizes])
    cells += [(n, m, scaling.PAPERS_ROWS, PUBLISHED, seed) for n, m in shapes for seed in models[: 2 if m == 10 else 1]]
    cells += [(10, 10, scaling.PAPERS_ROWS, "iVAE", models[0])] if full else []
    return [dict(zip(("n", "m", "rows", "method", "seed"), cell, strict=True)) for cell in cells]


def run(n: int, m: int, rows: int, method: str, seed: int) -> list[dict[str, Any]]:
    from latentbits import simulate

    truth = simulate.binary_ica(rows, n, m, N_SEGMENTS, random_state=seed)
    return [{"mcs": similarity(method, truth, seed, STARTS)}]


def judge(table: pd.DataFrame) -> list[Claim]:
    few, large = table[table["m"] == FEW[1]], table[table["m"] >= 10]
    square = large[large["n"] == large["m"]]
    alone = square[square["method"] == "iVAE"].groupby("n")["mcs"].median()
    one_size = "with 10 columns alone, one model"
    shrunk = few[(few["method"] == PUBLISHED) & (few["rows"] == finite.ROWS[0])]["mcs"]
    return [
        finite.best_at_every_size(few, PUBLISHED, FEW, Algorithm.PRINTED),
        finite.high_at_few_rows(shrunk, Algorithm.PRINTED),
        *scaling.estimates(large, PUBLISHED, Algorithm.PRINTED),
        *([] if alone.empty else [replace(scaling.only_blica(alone, "iVAE"), condition=one_size)]),
    ]


EXPERIMENT = Experiment(
    title="BLICA and iVAE as printed",
    results=("binary ICA 2", "binary ICA 3"),
    jobs=jobs,
    run=run,
    judge=judge,
)
