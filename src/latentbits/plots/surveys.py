"""Figures of surveys with repeat visits."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from latentbits.palette import SERIES
from latentbits.plots.style import BEST, QUIET, house_style, ink, new_figure, shortened
from latentbits.wording import place

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

MOST_SPECIES = 40


@house_style
def plot_richness(sites: pd.DataFrame) -> Figure:
    """Species seen and estimated at each site, in the order of what was seen, with 90 % intervals."""
    table = sites.sort_values(["seen", "estimated"], ignore_index=True)
    figure = new_figure(7, 3.4)
    ax = figure.subplots()
    at = np.arange(len(table))
    ax.vlines(at, table["lower"], table["upper"], color=SERIES[4], lw=1.2)
    ax.plot(at, table["estimated"], ".", color=BEST, ms=4, label="estimated, with 90 % interval")
    ax.plot(at, table["seen"], ".", color=ink(), ms=3, label="seen")
    ax.set(xlabel="sites, by the number of species seen", ylabel="species", ylim=(0, None))
    ax.legend(loc="lower left", bbox_to_anchor=(0, 1), ncols=2)  # above, where no site is covered
    return figure


@house_style
def plot_detection(species: pd.DataFrame) -> Figure:
    """Detection by a visit for each species, with 90 % intervals; of many species those seen at most sites."""
    table = species.nlargest(MOST_SPECIES, "seen").sort_values("detection", ignore_index=True)
    figure = new_figure(6, 0.8 + 0.17 * len(table))
    ax = figure.subplots()
    ax.hlines(table.index, table["detection_lower"], table["detection_upper"], color=SERIES[4], lw=2)
    ax.plot(table["detection"], table.index, "o", color=BEST, ms=3)
    ax.set_yticks(table.index, [_name(column) for column in table["column"]], fontsize=7)
    ax.set(xlabel="probability that a visit sees the species where it is", xlim=(0, 1), ylim=(-1, len(table)))
    return figure


@house_style
def plot_further_visits(curve: pd.DataFrame) -> Figure:
    """How much of what is there further visits to every site would have seen."""
    figure = new_figure(5, 3.2)
    ax = figure.subplots()
    present = curve["present"].iloc[0]
    ax.axhline(present, color=QUIET)
    ax.axhline(0.95 * present, color=QUIET, ls=":")
    ax.annotate("there", (0, present), va="bottom", color=QUIET)
    ax.annotate("95 %", (0, 0.95 * present), va="bottom", color=QUIET)
    ax.plot(curve["further_visits"], curve["found"], "o-", color=BEST)
    ax.set(xlabel="further visits to every site", ylabel="species found, summed over sites")
    return figure


@house_style
def plot_calibration(calibration: pd.DataFrame) -> Figure:
    """What was predicted of left-out visits against what they saw; on the diagonal it came true."""
    figure = new_figure(4, 3.6)
    ax = figure.subplots()
    kept = calibration[calibration["count"] > 0]
    end = max(0.05, 1.1 * float(kept[["predicted", "observed"]].to_numpy().max()))
    ax.plot([0, end], [0, end], color=QUIET, lw=1)
    ax.scatter(kept["predicted"], kept["observed"], s=4 + 60 * kept["count"] / kept["count"].max(), color=BEST)
    ax.set(
        xlabel="predicted probability of a left-out visit", ylabel="share that was seen", xlim=(0, end), ylim=(0, end)
    )
    return figure


def _name(column: object) -> str:
    """A species' name; of one without any its place, counted from 1."""
    return place("column", column) if isinstance(column, int) else shortened(column)
