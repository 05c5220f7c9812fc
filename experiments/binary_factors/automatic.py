"""How many factors, by default: a path of harmony learning judged by BIC, compared with harmony learning and BIC alone.

The paper's whole grid (Figs. 3 to 6) with fresh data, seeds from 20,000 on; nothing was chosen on them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from experiments.binary_factors._shared import SURPLUS, TRUE, data_set, draw_share_map, fit
from experiments.runner import Claim, Experiment

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd
    from matplotlib.figure import Figure

DEFAULT = "auto"
RIVALS = ("BYY, delta 2", "BYY", "BIC")
GOAL, MOST = 0.80, 0.60
FIRST_SEED = 20_000
ROWS = (200, 150, 100, 50, 40, 30, 20)
NOISES = (0.01, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)


def jobs(full: bool) -> list[dict[str, Any]]:
    rows, noises, runs = (ROWS, NOISES, 40) if full else ((200, 20), (0.1, 1.0), 3)
    seeds = range(FIRST_SEED, FIRST_SEED + runs)
    # The whole grid for one seed after the other: an interrupted run is a run with fewer seeds.
    return [{"n_rows": n, "sigma": sigma, "seed": seed} for seed in seeds for n in rows for sigma in noises]


def run(n_rows: int, sigma: float, seed: int) -> list[dict[str, Any]]:
    X = data_set(n_rows, sigma, seed)
    found = {
        DEFAULT: fit(SURPLUS, X, seed).n_components_,
        "BYY, delta 2": fit(SURPLUS, X, seed, inference="byy", delta=2.0).n_components_,
        "BYY": fit(SURPLUS, X, seed, inference="byy").n_components_,
        "BIC": _by_bic(X, seed),
    }
    return [{"method": method, "best": number} for method, number in found.items()]


def _by_bic(X: np.ndarray, seed: int) -> int:
    """The number with the smallest BIC of EM from its own starts."""
    bic = [fit(m, X, seed, inference="em").bic(X) for m in range(1, SURPLUS + 1)]
    return 1 + bic.index(min(bic))


def judge(table: pd.DataFrame) -> list[Claim]:
    judged = table.assign(right=table["best"] == TRUE)
    shares = judged.pivot_table("right", ["n_rows", "sigma"], "method").astype(float)
    mean = shares.mean()
    best = shares[DEFAULT] >= shares[list(RIVALS)].max(axis=1)
    over = (table["best"] > TRUE).groupby(table["method"]).mean()
    words = f"{table['seed'].nunique()} runs per cell, {len(shares)} cells"
    return [
        Claim(
            statement=f"binary factors: the default finds the right number in at least {GOAL:.0%} ({words})",
            ours=", ".join(f"{method} {mean[method]:.3f}" for method in (DEFAULT, *RIVALS)),
            holds=mean[DEFAULT] >= GOAL,
            note="BYY with delta 2 and BIC of EM alone are what there was before. Too many are found in "
            + ", ".join(f"{over[method]:.2f} ({method})" for method in (DEFAULT, *RIVALS))
            + " of the runs, too few in the rest of the wrong ones.",
        ),
        Claim(
            statement=f"binary factors: the default is best or equal in at least {MOST:.0%} of the cells ({words})",
            ours=f"{int(best.sum())} of {len(best)} cells",
            holds=best.mean() >= MOST,
        ),
        Claim(
            statement=f"binary factors: harmony learning with the derived delta above that with 2 ({words})",
            ours=f"{mean['BYY']:.3f} against {mean['BYY, delta 2']:.3f}",
            holds=mean["BYY"] > mean["BYY, delta 2"],
        ),
    ]


def draw(table: pd.DataFrame) -> dict[str, Figure]:
    from latentbits.plots.style import new_figure

    figure = new_figure(14, 6)
    panels = figure.subplots(2, 2, sharex=True, sharey=True)
    for ax, method in zip(panels.flat, (DEFAULT, *RIVALS), strict=True):
        draw_share_map(ax, table[table["method"] == method], "best", method)
    figure.supylabel("rows")
    figure.supxlabel("standard deviation of the noise")
    return {"shares": figure}


EXPERIMENT = Experiment(
    title="Number of factors by default, beside harmony learning and BIC alone",
    results=(),
    jobs=jobs,
    run=run,
    judge=judge,
    draw=draw,
)
