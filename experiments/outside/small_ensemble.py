"""FalseZeros on fifteen small public tables: is the ensemble as good as the best of its members and of counting?

Of each table 15 % of the observed cells are hidden, by the job's seed; `FalseZeros` gets the rest and predicts the
hidden cells. Compared are the mean log-likelihoods of these cells, probabilities kept 0.001 away from 0 and 1, with the
rows as units of the standard error of a difference.

Rules of judgement, written before the run. The prior of member weights, and how strongly it pulls, were chosen on the
tables for tuning (`_tables.TUNING`) and on simulated ones, with other seeds; claims are about the others.

- On every table for judging the ensemble is at most half a standard error below the best of its members, of column
  frequencies, and of rows and columns (the mean over seeds of the difference, over that of its standard error). The
  best is chosen in hindsight, which favours it: of tables of 200 cells there are 30 hidden ones.
- Over the tables for judging, the mean log-likelihood is at least that of the best single member (the same member on
  all tables).
"""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

from experiments.outside import _tables
from experiments.runner import Claim, Experiment

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd
    from matplotlib.figure import Figure

OURS, COLUMNS = "ensemble", "column frequencies"
HIDDEN, BEHIND = 0.15, 0.5
FRESH = 300


def jobs(full: bool) -> list[dict[str, Any]]:
    names, seeds = (sorted(_tables.TABLES), range(FRESH, FRESH + 2)) if full else (["dune"], [FRESH])
    return [{"table": name, "seed": seed} for seed in seeds for name in names]


def run(table: str, seed: int) -> list[dict[str, Any]]:
    """A line for the ensemble, each of its members, and column frequencies."""
    import numpy as np

    import latentbits as lb

    X = _tables.load(table)
    hidden = (np.random.default_rng(seed).random(X.shape) < HIDDEN) & (X != -1)
    seen = np.where(hidden | (X == -1), np.nan, X)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fitted = lb.FalseZeros(random_state=seed).fit(seen)
        means = lb.IndependentBernoulli().fit(seen).reconstruct(seen)
        scores = {OURS: fitted.reconstruct(seen), COLUMNS: means, **_by_members(fitted, seen)}
    part = "tuning" if table in _tables.TUNING else "judging"
    x, row = X[hidden], np.nonzero(hidden)[0]
    ours = _log_likelihood(scores[OURS][hidden], x)
    lines = []
    for score, p in scores.items():
        own = _log_likelihood(p[hidden], x)
        size = {"part": part, "cells": X.size, "hidden": len(x)}
        lines.append({**size, "score": score, "log_likelihood": own.mean(), "behind_se": _error(own - ours, row)})
    return lines


def _by_members(fitted: Any, seen: np.ndarray) -> dict[str, np.ndarray]:
    block = fitted._scored_block(slice(0, len(seen)), fitted._data(seen))
    return dict(zip(fitted.members_, block.by_members, strict=True))


def _log_likelihood(p: np.ndarray, x: np.ndarray) -> np.ndarray:
    import numpy as np

    p = np.clip(p, 1e-3, 1 - 1e-3)
    return np.log(np.where(x == 1, p, 1 - p))


def _error(difference: np.ndarray, row: np.ndarray) -> float:
    import numpy as np

    by_row = np.bincount(row, difference - difference.mean())
    n = len(np.unique(row))
    return float(np.sqrt(by_row @ by_row * n / max(n - 1, 1))) / len(difference)


def behind(table: pd.DataFrame) -> pd.DataFrame:
    """Of each table the best other score, how far the ensemble is behind it, and that in standard errors."""
    import pandas as pd

    means = table.groupby(["part", "table", "score"])[["log_likelihood", "behind_se"]].mean()
    rows = []
    for (part, name), group in means.groupby(level=[0, 1]):
        scores = group.droplevel([0, 1])
        best = scores["log_likelihood"].drop(OURS).idxmax()
        gap = float(scores.loc[best, "log_likelihood"] - scores.loc[OURS, "log_likelihood"])
        rows.append((part, name, best, gap, gap / max(float(scores.loc[best, "behind_se"]), 1e-9)))
    return pd.DataFrame(rows, columns=["part", "table", "best", "gap", "errors"])


def judge(table: pd.DataFrame) -> list[Claim]:
    found = behind(table)
    claims = []
    for part in found["part"].unique():
        own = found[found["part"] == part]
        short = own[own["errors"] > BEHIND]
        means = table[table["part"] == part].groupby("score")["log_likelihood"].mean()
        best = means.drop(OURS).idxmax()
        claims += [
            Claim(
                statement=f"hidden cells of {len(own)} small tables ({part}): the ensemble is at most half a standard "
                "error below the best member or baseline on each",
                ours=f"{len(own) - len(short)} of {len(own)}",
                holds=len(short) == 0,
                note="; ".join(
                    f"{line.table}: {-line.gap:+.4f} against {line.best} ({-line.errors:+.1f} standard errors)"
                    for line in own.itertuples()
                )
                + ".",
            ),
            Claim(
                statement=f"hidden cells of {len(own)} small tables ({part}): mean log-likelihood at least that of the "
                "best single member",
                ours=f"{means[OURS]:.4f}; {best} {means[best]:.4f}",
                holds=bool(means[OURS] >= means[best]),
            ),
        ]
    return claims


def draw(table: pd.DataFrame) -> dict[str, Figure]:
    from latentbits.plots.style import BEST, QUIET, new_figure

    found = behind(table).sort_values(["part", "errors"])
    figure = new_figure(6.0, 0.28 * len(found) + 1.2)
    ax = figure.subplots()
    ax.barh(found["table"], -found["errors"], color=[BEST if part == "judging" else QUIET for part in found["part"]])
    ax.axvline(-BEHIND, color=QUIET, lw=0.8)
    ax.set_xlabel("ensemble less the best member or baseline, in standard errors")
    return {"behind": figure}


EXPERIMENT = Experiment(
    title="FalseZeros on fifteen small public tables, beside its members and column frequencies",
    jobs=jobs,
    run=run,
    judge=judge,
    draw=draw,
)
