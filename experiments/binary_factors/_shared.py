"""What the experiments of this family have in common: their data, their fits, their grids of shares."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from experiments.runner import Claim, Reason, mean_sd

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis

    from latentbits import BinaryFactorAnalysis

ENCODERS = ("round", "cdual", "greedy", "enum")
COLOURS = {"round": "#0072b2", "cdual": "#56b4e9", "greedy": "#e69f00", "enum": "#cc79a7"}

STARTS = 5
TRUE, SURPLUS, VARIABLES = 3, 5, 10
"""Factors that the data have, factors that a fit begins with (2 * 3 - 1), and variables."""

START_NAMES = {"first": "one restart", "best": f"best of {STARTS} restarts"}

GRID_NOTE = (
    "The paper's grid is 7 numbers of rows by 16 noise levels; ours is a part of it, for the time it takes. How many "
    "starts the paper made is not said: both one start and the best of five by the objective are judged."
)


def grid_jobs(full: bool) -> list[dict[str, Any]]:
    """One data set per job: 16 for each number of rows and noise level, and a few of the same when quick."""
    if full:
        rows, noises, runs = (200, 100, 50, 20), (0.01, 0.1, 0.25, 0.5, 1.0), 16
    else:
        rows, noises, runs = (200, 20), (0.1, 0.25, 1.0), 4
    return [{"n_rows": n, "sigma": sigma, "seed": seed} for n in rows for sigma in noises for seed in range(runs)]


def data_set(n_rows: int, sigma: float, seed: int) -> np.ndarray:
    """Rows from three factors; the same mixing and codes for every noise level."""
    import numpy as np

    from latentbits.simulate import binary_factors

    return binary_factors(n_rows, VARIABLES, TRUE, sigma, random_state=np.random.default_rng([seed, n_rows])).X


def fit(m: int, X: np.ndarray, seed: int, **parameters: Any) -> BinaryFactorAnalysis:
    from latentbits import BinaryFactorAnalysis

    settings = {"noise": "equal", "n_init": STARTS, "random_state": seed, **parameters}  # the paper's noise
    return BinaryFactorAnalysis(m, **settings).fit(X)


def numbers_found(model: BinaryFactorAnalysis) -> dict[str, int]:
    """How many factors the first start has left, and the best of all."""
    return {"first": int(model.restarts_["n_components"][0]), "best": model.n_components_}


def dependent_on_starts(claims: list[Claim]) -> list[Claim]:
    """The claims, with a reason for those that differ with one number of starts and come out with another."""
    good = {claim.statement for claim in claims if claim.holds}
    told = {"reason": Reason.OPTIMUM, "why": "it comes out with the other number of restarts"}
    return [replace(claim, **told) if claim.holds is False and claim.statement in good else claim for claim in claims]


def share_with_spread(flags: pd.Series, seeds: pd.Series) -> str:
    """The share of the grid where the flag is true; its spread is over the runs, each of which has every cell once."""
    return mean_sd(flags.groupby(seeds).mean())


def draw_share_map(ax: Axes, table: pd.DataFrame, start: str, title: str) -> None:
    """Shares of runs that find the true number, in colour and in figures: noise across, rows down."""
    grid = (table[start] == TRUE).groupby([table["n_rows"], table["sigma"]]).mean().unstack()
    ax.imshow(grid, cmap="Blues", vmin=0, vmax=1, aspect="auto", origin="lower")
    ax.set(title=title, xticks=range(grid.shape[1]), yticks=range(grid.shape[0]))
    ax.set_xticklabels([f"{sigma:g}" for sigma in grid.columns])
    ax.set_yticklabels([str(n) for n in grid.index])
    ax.tick_params(length=0)
    for i, line in enumerate(grid.to_numpy()):
        for j, share in enumerate(line):
            colour = "white" if share > 0.6 else "#262626"
            ax.text(j, i, f"{share:.0%}", ha="center", va="center", fontsize=8, color=colour)


def plain_numbers(axis: Axis) -> None:
    """Write the ticks of a logarithmic axis as decimals: powers would need math text, which is off in figures."""
    from matplotlib.ticker import FuncFormatter, NullFormatter

    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axis.set_minor_formatter(NullFormatter())
