"""Held-out rows on five data sets of the field's density benchmark: mean test log-likelihood of a row, in nats.

Fixed splits into training, validation and test rows. Models with a number of components have it chosen by validation
rows from a short grid, and are fitted to at most 2,000 training rows (drawn with the job's seed), so that a page takes
minutes: figures are a little lower than with all rows, for all models alike.

Rules of judgement, written before the run: every model is above independent columns on every data set; and, as a check
of what this library is not for, the best of its models is told beside the mixture, the usual baseline of this
benchmark. Figures of other papers are not printed, as they could not be looked up in a source. That autoregressive
networks and probabilistic circuits are far ahead of mixtures on dna and mushrooms is what these papers report, and
README says it.
"""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

from experiments.outside._shared import folder, grid_jobs, panels_of_models
from experiments.runner import Claim, Experiment

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

COLUMNS = {"nltcs": 16, "plants": 69, "jester": 100, "dna": 180, "mushrooms": 112}
BASE, MIXTURE = "independent columns", "mixture"
GRIDS: dict[str, tuple[int, ...]] = {
    BASE: (1,),
    "rows and columns": (1,),
    MIXTURE: (5, 15, 40),
    "aspects": (3, 8),
    "BetaICA": (3, 8),
    "logistic PCA": (8,),
    "ProbitFactors": (8,),
}
MOST_ROWS = 2000


def jobs(full: bool) -> list[dict[str, Any]]:
    return grid_jobs(COLUMNS if full else ("nltcs",), GRIDS)


def run(data: str, model: str, setting: int, seed: int) -> list[dict[str, Any]]:
    import numpy as np

    with np.load(folder() / "density" / f"{data}.npz") as file:
        train, valid, test = (
            np.unpackbits(file[name], axis=1)[:, : COLUMNS[data]].astype(np.int8) for name in ("train", "valid", "test")
        )
    rng = np.random.default_rng(seed)
    if len(train) > MOST_ROWS:
        train = train[np.sort(rng.choice(len(train), MOST_ROWS, replace=False))]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fitted = _model(model, setting, seed).fit(train)
        return [{"validation": fitted.score(valid), "test": fitted.score(test), "rows": len(train)}]


def _model(model: str, k: int, seed: int) -> Any:
    import latentbits as lb

    match model:
        case "independent columns":
            return lb.IndependentBernoulli()
        case "rows and columns":
            return lb.RowColumnBernoulli()
        case "mixture":
            return lb.BernoulliMixture(k, n_init=3, random_state=seed)
        case "aspects":
            return lb.AspectBernoulli(k, n_init=2, random_state=seed)
        case "BetaICA":
            return lb.BetaICA(k, n_init=2, random_state=seed)
        case "logistic PCA":
            return lb.LogisticPCA(k, n_init=1, random_state=seed)
        case _:
            return lb.ProbitFactors(k, n_init=2, n_burn=100, n_samples=50, thin=4, random_state=seed)


def chosen(table: pd.DataFrame) -> pd.DataFrame:
    """Test log-likelihoods, data sets by models, with the number of components that validation rows choose."""
    best = table.loc[table.groupby(["data", "model"])["validation"].idxmax()]
    return best.pivot_table("test", "data", "model").reindex([name for name in COLUMNS if name in set(table["data"])])


def judge(table: pd.DataFrame) -> list[Claim]:
    best = chosen(table)
    below = [
        f"{model} on {data} ({value:.2f} against {best.loc[data, BASE]:.2f})"
        for data, line in best.iterrows()
        for model, value in line.items()
        if value < best.loc[data, BASE]
    ]
    ahead = {data: line.idxmax() for data, line in best.iterrows()}
    lines = [", ".join(f"{model} {value:.2f}" for model, value in line.items()) for _, line in best.iterrows()]
    return [
        Claim(
            statement="held-out rows: every model is above independent columns on every data set",
            ours=f"below: {'; '.join(below) or 'none'}",
            holds=not below,
            note="; ".join(f"{data}: {line}" for data, line in zip(best.index, lines, strict=True)) + ".",
        ),
        Claim(
            statement="held-out rows: the mixture, the benchmark's usual baseline, is beaten by another model here",
            ours="; ".join(
                f"{data}: {ahead[data]} {best.loc[data, ahead[data]]:.2f} against {best.loc[data, MIXTURE]:.2f}"
                for data in best.index
            ),
            holds=all(name != MIXTURE for name in ahead.values()),
            note="Autoregressive networks and probabilistic circuits are built for this question, and are not here.",
        ),
    ]


def draw(table: pd.DataFrame) -> dict[str, Figure]:
    from latentbits.plots.style import BEST, QUIET

    best, models = chosen(table), list(GRIDS)
    figure, panels = panels_of_models(list(best.index), models, 3.4)
    for ax, (_, line) in zip(panels, best.iterrows(), strict=True):
        colours = [BEST if name == line.idxmax() else QUIET for name in models]
        ax.scatter(line.reindex(models), range(len(models)), s=18, color=colours)
        ax.set(xlabel="nats per row")
    return {"rows": figure}


EXPERIMENT = Experiment(
    title="Held-out rows on five data sets of the density benchmark",
    jobs=jobs,
    run=run,
    judge=judge,
    draw=draw,
)
