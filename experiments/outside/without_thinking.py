"""What a fit without any option answers: structure where there is some, none where there is none."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from experiments.outside._tables import JUDGING, TUNING, load
from experiments.runner import Claim, Experiment, count_of

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

TABLES = tuple(sorted((*TUNING, *JUDGING)))


def jobs(full: bool) -> list[dict[str, Any]]:
    tables = TABLES if full else ("dune", "island finches")
    return [{"table": table, "permuted": permuted, "seed": 0} for table in tables for permuted in (False, True)]


def run(table: str, permuted: bool, seed: int) -> list[dict[str, Any]]:
    """The choice and its verdict, for the table or for one whose columns are each in a random order of their own."""
    import warnings

    import numpy as np

    from latentbits import choose, verdict

    warnings.simplefilter("ignore")
    X = load(table)
    if permuted:
        X = np.random.default_rng(seed).permuted(X, axis=0)
    cells = np.where(X == -1, np.nan, X)
    found = choose(cells, random_state=seed)
    scores = found.comparison.folds.query("criterion == 'cells'").pivot(index="fold", columns="model", values="score")
    aspects = [name for name in scores if name.startswith("BetaICA")]
    best = scores[aspects].mean().idxmax()
    gain = scores[best] - scores["IndependentBernoulli"]
    judged = verdict(found.model, cells, random_state=seed)
    return [
        {
            "chosen": found.name,
            "components": found.best_order,
            "verdict": str(judged.level),
            "is_structure": found.best_order > 1 and bool(judged.predicts),
            "aspects_gain": gain.mean(),
            "aspects_gain_se": gain.std(ddof=1) / len(gain) ** 0.5,
        }
    ]


def judge(table: pd.DataFrame) -> list[Claim]:
    found = table["aspects_gain"] > table["aspects_gain_se"]
    real, shuffled = table[~table["permuted"] & found], table[table["permuted"]]
    missed = ", ".join(real.loc[~real["is_structure"], "table"])
    invented = ", ".join(shuffled.loc[shuffled["is_structure"], "table"])
    return [
        Claim(
            statement="a fit without options gives more than one component, and a verdict that isn't none, on every "
            "table where aspects (BetaICA) predict held-out cells better than columns by a standard error",
            ours=count_of(real["is_structure"]) + (f"; not {missed}" if missed else ""),
            holds=bool(real["is_structure"].all()),
        ),
        Claim(
            statement="and no structure where every column is in a random order of its own",
            ours=count_of(~shuffled["is_structure"]) + (f"; not {invented}" if invented else ""),
            holds=not shuffled["is_structure"].any(),
        ),
    ]


def draw(table: pd.DataFrame) -> dict[str, Figure]:
    from latentbits.plots.style import BEST, QUIET, new_figure

    figure = new_figure(7.0, 4.5)
    ax = figure.subplots()
    for permuted, colour in ((False, BEST), (True, QUIET)):
        part = table[table["permuted"] == permuted]
        shown = part["components"].where(part["is_structure"], 1)
        ax.scatter(shown, part["table"], color=colour, label="columns permuted" if permuted else "as it is")
    ax.set(xlabel="components found (1: no structure)", xticks=range(1, 7))
    ax.legend()
    return {"without_thinking": figure}


EXPERIMENT = Experiment(
    title="A fit without options: structure where there is some, none where columns are permuted",
    results=(),
    jobs=jobs,
    run=run,
    judge=judge,
    draw=draw,
)
