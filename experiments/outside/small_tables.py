"""Does any default lose to the frequencies of the columns: held-out cells of small public tables."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from experiments.outside._tables import JUDGING, TUNING, load
from experiments.runner import Claim, Experiment

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd
    from matplotlib.figure import Figure

BASELINE = "IndependentBernoulli"
MODELS = (
    *("RowColumnBernoulli", "BernoulliMixture", "AspectBernoulli", "BetaICA", "LogisticPCA", "BernoulliNMF", "PLSA"),
    *("IsingModel", "LinearAutoencoder", "ProbitFactors", "NMF", "FastICA"),
)
"""Every estimator of 0-1 tables that predicts cells, as it is without any argument but the seed."""

SLOW = ("FalseZeros",)
"""Many fits each: on tables of up to `FEW` cells, and with one seed."""

FEW, SEEDS, SHARE = 1000, 2, 0.1
SURE = 1e-3
"""Probabilities are kept so far from 0 and 1, as in `compare`."""


def jobs(full: bool) -> list[dict[str, Any]]:
    tables = (*TUNING, *JUDGING) if full else ("dune", "grave goods", "role conflict")
    models = (*MODELS, *SLOW) if full else MODELS
    return [{"table": table, "model": model} for table in tables for model in models]


def run(table: str, model: str) -> list[dict[str, Any]]:
    X = load(table)
    if model in SLOW and X.size > FEW:
        return []
    return [
        {"half": "tuning" if table in TUNING else "judging", **held_out(X, make(model), 1 if model in SLOW else SEEDS)}
    ]


def make(model: str) -> Any:
    """The estimator at its defaults, of a given seed."""
    import latentbits

    kind = getattr(latentbits, model)
    return kind(random_state=0) if "random_state" in kind().get_params() else kind()


def held_out(X: np.ndarray, estimator: Any, seeds: int) -> dict[str, Any]:
    """Nats per held-out cell of the columns' frequencies and of the estimator, and how far it is behind.

    The standard error is over rows, the sums of whose cells are independent of each other.
    """
    import warnings

    import numpy as np
    from sklearn.base import clone

    from latentbits import IndependentBernoulli

    warnings.simplefilter("ignore")  # of seeds that end early, which is part of a default
    losses, behind, counts = [], np.zeros(len(X)), np.zeros(len(X))
    for seed in range(seeds):
        hidden = (np.random.default_rng(seed).random(X.shape) < SHARE) & (X != -1)
        seen = np.where(hidden, np.nan, np.where(X == -1, np.nan, X))
        base, own = (nats(clone(one).fit(seen).reconstruct(seen), X) for one in (IndependentBernoulli(), estimator))
        losses.append((base[hidden].mean(), own[hidden].mean()))
        behind += ((own - base) * hidden).sum(axis=1)
        counts += hidden.sum(axis=1)
    difference = behind.sum() / counts.sum()
    error = np.sqrt(np.sum((behind - difference * counts) ** 2)) / counts.sum()
    columns, loss = np.mean(losses, axis=0)
    return {"columns": columns, "loss": loss, "behind": difference, "behind_se": error}


def nats(p: np.ndarray, X: np.ndarray) -> np.ndarray:
    """Minus the log probability of every cell."""
    import numpy as np

    p = np.clip(p, SURE, 1 - SURE)
    return -np.where(X == 1, np.log(p), np.log1p(-p))


def judge(table: pd.DataFrame) -> list[Claim]:
    table = table.assign(loses=table["behind"] > table["behind_se"])
    claims = []
    for model, own in table.groupby("model", sort=False):
        judged = own[own["half"] == "judging"]
        if judged.empty:
            continue
        lost = [f"{line.table} ({line.behind:+.3f})" for line in judged[judged["loses"]].itertuples()]
        worst = judged.loc[judged["behind"].idxmax()]
        claims.append(
            Claim(
                statement=f"{model} at its defaults never loses to column frequencies by a standard error",
                ours=f"{len(lost)} of {len(judged)} tables{': ' if lost else ''}{', '.join(lost)}; at most "
                f"{worst['behind']:+.3f} ({worst['table']})",
                holds=not lost,
                note="Judged on the tables that no setting was chosen on.",
            )
        )
    return claims


def draw(table: pd.DataFrame) -> dict[str, Figure]:
    from latentbits.plots.style import BEST, QUIET, new_figure

    models = list(dict.fromkeys(table["model"]))
    figure = new_figure(8.5, 4.5)
    ax = figure.subplots()
    for half, colour in (("tuning", QUIET), ("judging", BEST)):
        part = table[table["half"] == half]
        gain = -part["behind"] / part["columns"]
        ax.scatter(gain, [models.index(name) for name in part["model"]], color=colour, s=18, label=f"{half} tables")
    ax.axvline(0, color=QUIET, linewidth=1)
    ax.set(yticks=range(len(models)), xlabel="share of the columns' nats per held-out cell that is saved")
    ax.set_yticklabels(models)
    ax.set_xlim(left=-1)
    ax.invert_yaxis()
    ax.legend()
    return {"small_tables": figure}


EXPERIMENT = Experiment(
    title="Small public tables: held-out cells by every default, beside column frequencies",
    results=(),
    jobs=jobs,
    run=run,
    judge=judge,
    draw=draw,
)
