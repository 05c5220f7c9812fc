"""What the experiments of binary ICA have in common: the paper's data, one fit by name, and its error."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd
    from matplotlib.axes import Axes

N_SEGMENTS = 40
STARTS = 3
"""Of BLICA and iVAE, as in the paper; the best objective wins."""

PUBLISHED = "BLICA as published"
COLOURS = {"BLICA": "#0072b2", PUBLISHED: "#56b4e9", "iVAE": "#e69f00", "FastICA": "#cc79a7"}


def similarity(method: str, truth: Any, seed: int, starts: int = STARTS) -> float:
    """Mean cosine similarity of the true mixing's columns with those that a method finds."""
    from latentbits import mean_cosine_similarity

    return float(mean_cosine_similarity(truth.mixing, _mixing(method, truth, seed, starts)))


def _mixing(method: str, truth: Any, seed: int, starts: int) -> np.ndarray:
    m = truth.mixing.shape[1]
    if method == "FastICA":
        from sklearn.decomposition import FastICA

        return FastICA(m, whiten="unit-variance", random_state=seed).fit(truth.X.astype(float)).mixing_
    from latentbits import BinaryICA

    options: dict[str, Any] = {
        "BLICA": {"method": "blica"},
        PUBLISHED: {"method": "blica", "shrinkage": "published"},
        "iVAE": {"method": "ivae"},
    }[method]
    model = BinaryICA(m, n_init=starts, random_state=seed, **options)
    return model.fit(truth.X, segments=truth.segments).mixing_


def draw_medians(axes: Axes, table: pd.DataFrame, x: str) -> None:
    """A line of medians for each method, with a band from the worst to the best model."""
    for method, group in table.groupby("method", sort=False):
        found = group.groupby(x)["mcs"].agg(["median", "min", "max"])
        colour = COLOURS[str(method)]
        axes.plot(found.index, found["median"], "o-", color=colour, label=method, markersize=4)
        axes.fill_between(found.index, found["min"], found["max"], color=colour, alpha=0.15, linewidth=0)
    axes.set_xscale("log")
    ticks = sorted(table[x].unique())
    axes.set_xticks(ticks, [str(tick) for tick in ticks])
    axes.minorticks_off()
    axes.set_ylim(0, 1.02)
