"""Clusters of 4, 3 and 2 sources in four dimensions, with the paper's mixing matrices (section 3.2, Tables 1 and 2)."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from experiments.ica_mixture._shared import decibels, draw_decibels, recovery
from experiments.runner import Algorithm, Claim, Experiment, Reason, count_of

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

TABLE_1 = (
    [[-3.0, 2.0, 0.1, 0.0], [2.0, 2.0, -3.0, 3.0], [0.0, 3.0, 1.0, 2.0], [1.0, 1.0, 0.5, 0.0]],
    [[2.0, 2.0, 3.0], [1.0, 3.0, -1.0], [-3.0, 0.0, 2.0], [1.0, 1.0, 1.0]],
    [[-3.0, 2.0], [2.0, -3.0], [1.0, 3.0], [2.0, -4.0]],
)
"""The mixing matrices."""

TRUE_DIMENSIONS = "2 3 4"
PAPERS_DB = (5.0, 22.0)
TRIALS, QUICK_TRIALS = 20, 3
STARTS, MORE_STARTS = 5, 10
"""Of a fit: the library's default, and more."""

AGAIN = (1, *range(20, 25))
"""Trials with more starts: the one of the first twenty that fails without them, and five others."""

GOAL_RIGHT, GOAL_DB = 19, 23.0
DRAWN = 0
"""The trial that is drawn."""


def jobs(full: bool) -> list[dict[str, Any]]:
    plan = [(STARTS, range(TRIALS)), (MORE_STARTS, AGAIN)] if full else [(STARTS, range(QUICK_TRIALS))]
    return [{"begun": 6, "starts": starts, "seed": seed} for starts, seeds in plan for seed in seeds]


def run(begun: int, starts: int, seed: int) -> list[dict[str, Any]]:
    from latentbits import ICAMixture, simulate

    truth = simulate.ica_mixture(TABLE_1, n_points=250, noise_db=-33, random_state=seed)
    model = ICAMixture(begun, 4, n_init=starts, random_state=seed).fit(truth.X)
    row = {
        "found": model.n_clusters_,
        "bound": model.objective_,
        "dimensions": " ".join(str(n) for n in sorted(model.n_sources_)),
        **recovery(model, truth),
    }
    strengths = {"_strengths": model.source_strengths_, "_n_sources": model.n_sources_, "_weights": model.proportions_}
    return [{**row, **strengths} if seed == DRAWN else row]


def judge(table: pd.DataFrame) -> list[Claim]:
    published = [claim for starts, group in table.groupby("starts") for claim in _published(group, starts)]
    table = table[table["starts"] == STARTS]
    right = table["dimensions"] == TRUE_DIMENSIONS
    return [
        *published,
        Claim(
            statement=f"clusters of 2, 3 and 4 sources with default settings: right in at least {GOAL_RIGHT} of "
            f"{TRIALS}, {GOAL_DB:g} dB by posterior means",
            ours=f"{count_of(right)}, {table['recovered_db'].mean():.1f} dB",
            holds=right.sum() >= GOAL_RIGHT and table["recovered_db"].mean() >= GOAL_DB,
        ),
    ]


def _published(table: pd.DataFrame, starts: int) -> list[Claim]:
    """The paper's claims; it doesn't say how many restarts it made."""
    claims = [
        Claim(
            result="ICA mixture 2",
            statement="number of clusters right",
            paper="in all trials",
            ours=f"{count_of(table['found'] == len(TABLE_1))} trials",
            holds=(table["found"] == len(TABLE_1)).all(),
        ),
        _dimensions_right(table),
        Claim(
            result="ICA mixture 2",
            statement="signal to noise of the sources, mixed and recovered (as high as the paper's, to half a dB)",
            paper="5 -> 22 dB",
            ours=decibels(table),
            holds=table["recovered_db"].mean() >= PAPERS_DB[1] - 0.5,
            note="The densities' shapes are ours; the mixing matrices are the paper's.",
        ),
    ]
    return [replace(claim, setting=f"best of {starts} restarts", algorithm=Algorithm.OURS) for claim in claims]


def _dimensions_right(table: pd.DataFrame) -> Claim:
    right = table["dimensions"] == TRUE_DIMENSIONS
    return Claim(
        result="ICA mixture 2",
        statement="number of clusters and dimension of each right",
        paper="in all trials",
        ours=f"{count_of(right)} trials",
        holds=right.all(),
        reason=Reason.OPTIMUM,
        why="where one fails, a cluster of four gets three sources, at a lower bound than more restarts find",
        note="Where one of ours fails, a cluster of four gets three "
        f"sources, at a lower bound than more starts find: of the best of {MORE_STARTS} starts are that trial "
        "again, and five others. How often it fails depends on how far the sources are from Gaussian, which the paper "
        "doesn't say, nor how many trials it made.",
    )


def draw(table: pd.DataFrame) -> dict[str, Figure]:
    from types import SimpleNamespace

    from latentbits.plots import plot_strengths
    from latentbits.plots.style import new_figure

    figure = new_figure(5.5, 3.8)
    draw_decibels(figure.subplots(), table[table["starts"] == STARTS], PAPERS_DB)
    one = table[table["seed"] == DRAWN].iloc[0]
    fit = SimpleNamespace(
        source_strengths_=one["_strengths"], n_sources_=one["_n_sources"], proportions_=one["_weights"]
    )
    return {"snr": figure, "strengths": plot_strengths(fit)}


EXPERIMENT = Experiment(
    title="Three clusters of 2, 3 and 4 sources in four dimensions",
    results=("ICA mixture 2",),
    jobs=jobs,
    run=run,
    judge=judge,
    draw=draw,
)
