"""Figures of what is known of rows: maps, responses to covariates, shares of variation."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure, SubFigure

from latentbits.data.binary_data import BinaryData
from latentbits.data.row_facts import RowFacts
from latentbits.palette import SHARES
from latentbits.plots.style import BEST, QUIET, VALUES, attribute, canvas, figure_of, house_style, panel, shortened

N_DRAWN = 12


@house_style
def plot_map(rows: Any, values: Any, *, label: str | None = None, ax: Axes | None = None) -> Figure:
    """Draw rows where they are, coloured by a value: richness, the number of suspects, a weight, a probability.

    Parameters
    ----------
    rows : RowFacts, BinaryData or array of shape (n_rows, 2)
        Rows with coordinates.
    values : array-like of shape (n_rows,)
        A number for each row.
    label : str or None, default=None
        What the numbers are.
    ax : matplotlib.axes.Axes or None, default=None
        Where to draw; None makes a new figure.

    Returns
    -------
    matplotlib.figure.Figure
        The figure.

    Examples
    --------
    >>> from latentbits import plots
    >>> figure = plots.plot_map([[8.1, 47.0], [8.3, 47.2], [8.2, 47.1]], [3, 0, 5], label="suspects")
    >>> figure.axes[0].get_title(loc="left")
    'suspects'
    """
    facts = rows.facts if isinstance(rows, BinaryData) else rows
    places = facts.coordinates if isinstance(facts, RowFacts) else facts
    if places is None:
        raise ValueError("these rows have no coordinates; give coordinates=(x, y) when their data are made.")
    places, heights = np.asarray(places, dtype=float), np.asarray(values, dtype=float)
    if places.shape != (len(heights), 2):
        raise ValueError(f"there are {len(heights)} values for coordinates of the shape {places.shape}; one per row.")
    ax = panel(ax, 5.2, 4.4)
    order = np.argsort(heights, kind="stable")  # the largest on top
    size = float(np.clip(6000 / max(len(heights), 1), 6, 60))
    drawn = ax.scatter(
        places[order, 0], places[order, 1], c=heights[order], s=size, cmap=VALUES, linewidths=0.3, edgecolors=QUIET
    )
    is_geographic = isinstance(facts, RowFacts) and facts.is_geographic
    ax.set_aspect(1 / np.cos(np.radians(places[:, 1].mean())) if is_geographic else 1.0, adjustable="datalim")
    names = facts.coordinate_names if isinstance(facts, RowFacts) else ("x", "y")
    ax.set(xlabel=names[0], ylabel=names[1])
    ax.set_title(label or "", loc="left")
    figure_of(ax).colorbar(drawn, ax=ax, shrink=0.8)
    return figure_of(ax)


@house_style
def plot_responses(
    model: Any, covariate: str | None = None, *, level: float = 0.9, figure: Figure | SubFigure | None = None
) -> Figure:
    """Draw how the probability of a 1, or a weight, changes with a covariate where it changes most, with bands.

    Parameters
    ----------
    model : fitted estimator with `responses`, or data frame
        `ProbitFactors` or `FalseZeros`, fitted with covariates; or what `weights_over` gives, for components.
    covariate : str or None, default=None
        Which; None for the first.
    level : float, default=0.9
        Posterior probability of each band; a data frame has its own.
    figure : Figure, SubFigure or None, default=None
        Where to draw; None makes a new one.

    Returns
    -------
    matplotlib.figure.Figure
        The figure.

    Examples
    --------
    >>> import numpy as np
    >>> import pandas as pd
    >>> from latentbits import ProbitFactors, plots
    >>> sites = pd.DataFrame({"elevation": np.linspace(200, 2000, 100)})
    >>> p = 0.2 + np.outer(sites["elevation"] > 1000, [0.6, 0.4, 0.0])
    >>> X = (np.random.default_rng(0).random((100, 3)) < p).astype(int)
    >>> model = ProbitFactors(1, n_init=2, random_state=0).fit(X, rows=sites)
    >>> len(plots.plot_responses(model).axes)
    3
    """
    table = model if isinstance(model, pd.DataFrame) else attribute(model, "responses")(level)
    what = "weight" if "weight" in table else "probability"
    names = list(dict.fromkeys(table["covariate"]))
    if not names:
        raise ValueError("the model has no covariates; fit it with rows=frame.")
    chosen = names[0] if covariate is None else covariate
    if chosen not in names:
        raise ValueError(f'"{chosen}" is no covariate of the model; it has {", ".join(names)}.')
    table = table[table["covariate"] == chosen]
    ranges = table.groupby("column", sort=False)[what].agg(np.ptp).sort_values(ascending=False)
    columns = ranges.index[:N_DRAWN].tolist()
    n_across = min(4, len(columns))
    n_down = -(-len(columns) // n_across)
    where = canvas(figure, 2.3 * n_across, 0.5 + 1.7 * n_down)
    panels = where.subplots(n_down, n_across, sharex=True, sharey=True, squeeze=False)
    for ax, column in zip(panels.ravel(), columns, strict=False):
        _draw_response(ax, table[table["column"] == column], what, str(column))
    for ax in panels.ravel()[len(columns) :]:
        ax.remove()
    where.supxlabel(chosen)
    where.supylabel("mean weight" if what == "weight" else "probability of a 1")
    return where.figure


def _draw_response(ax: Axes, lines: pd.DataFrame, what: str, column: str) -> None:
    low, p, high = (lines[name].to_numpy() for name in ("lower", what, "upper"))
    if isinstance(lines["value"].iloc[0], str):
        at = np.arange(len(lines))
        ax.errorbar(at, p, [p - low, high - p], fmt="o", color=BEST, ms=4, lw=1)
        ax.set_xticks(at, [shortened(value, 12) for value in lines["value"]], rotation=45, ha="right")
    else:
        at = lines["value"].to_numpy(dtype=float)
        ax.fill_between(at, low, high, color=BEST, alpha=0.2, linewidth=0)
        ax.plot(at, p, color=BEST)
    if what == "probability":
        ax.set_ylim(0, 1)
    ax.set_title(shortened(column), loc="left")


@house_style
def plot_variation(model: Any, *, ax: Axes | None = None) -> Figure:
    """Draw what explains the scores of each column: covariates, space, factors, or nothing.

    Parameters
    ----------
    model : fitted estimator with `variation`
        `ProbitFactors` or `FalseZeros`, fitted with covariates or coordinates.
    ax : matplotlib.axes.Axes or None, default=None
        Where to draw; None makes a new figure.

    Returns
    -------
    matplotlib.figure.Figure
        The figure.

    Examples
    --------
    >>> import numpy as np
    >>> import pandas as pd
    >>> from latentbits import ProbitFactors, plots
    >>> sites = pd.DataFrame({"elevation": np.linspace(200, 2000, 100)})
    >>> p = 0.2 + np.outer(sites["elevation"] > 1000, [0.6, 0.4, 0.0])
    >>> X = (np.random.default_rng(0).random((100, 3)) < p).astype(int)
    >>> model = ProbitFactors(1, n_init=2, random_state=0).fit(X, rows=sites)
    >>> plots.plot_variation(model).axes[0].get_xlabel()
    "share of the variance of a column's scores"
    """
    shares = attribute(model, "variation")().sort_values("unexplained", ascending=False)
    ax = panel(ax, 6.0, 1.2 + 0.17 * len(shares))
    left = np.zeros(len(shares))
    for name, colour in SHARES.items():
        ax.barh(np.arange(len(shares)), shares[name], left=left, color=colour, label=name, height=0.8)
        left += shares[name].to_numpy()
    ax.set_yticks(np.arange(len(shares)), [shortened(name) for name in shares.index])
    ax.set(xlim=(0, 1), ylim=(-0.6, len(shares) - 0.4), xlabel="share of the variance of a column's scores")
    ax.legend(loc="lower left", bbox_to_anchor=(0, 1), ncols=4)
    return figure_of(ax)
