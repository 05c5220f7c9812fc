"""Figures of single cells and columns: suspects, an ensemble's members, couplings."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.colors import ListedColormap
from matplotlib.figure import Figure, SubFigure
from matplotlib.lines import Line2D
from matplotlib.ticker import NullFormatter, StrMethodFormatter
from scipy.cluster.hierarchy import leaves_list, linkage
from scipy.spatial.distance import squareform

from latentbits.data.binary_data import BinaryData
from latentbits.palette import LIGHT
from latentbits.plots.style import (
    AROUND_ZERO,
    BEST,
    FOUND,
    QUIET,
    Floats,
    attribute,
    canvas,
    figure_of,
    house_style,
    ink,
    names_of,
    panel,
    paper,
    shortened,
)

MOST_ROWS, MOST_COLUMNS = 80, 60
MOST_NAMES = 80
_CELLS = ListedColormap([LIGHT["zero"], LIGHT["one"], LIGHT["missing"]])


@house_style
def plot_suspects(model: Any, X: Any, *, top: int = 50, kind: str = "absence", ax: Axes | None = None) -> Figure:
    """Draw the cells of a table and ring the most suspected of them, the larger the higher their score.

    Rows and columns stand in the order of their numbers of ones. Of a large table those with most suspects are drawn.

    Parameters
    ----------
    model : fitted estimator with `suspects`
        Such as `FalseZeros`, `AspectBernoulli` or `BetaICA`.
    X : array, SciPy sparse, data frame or BinaryData
        The rows that are asked about.
    top : int, default=50
        How many suspects to ring.
    kind : {"absence", "presence"}, default="absence"
        Zeros that may be false, or ones.
    ax : matplotlib.axes.Axes or None, default=None
        Where to draw; None makes a new figure.

    Returns
    -------
    matplotlib.figure.Figure
        The figure.

    Examples
    --------
    >>> from latentbits import AspectBernoulli, plots, simulate
    >>> X = simulate.aspect_bernoulli(40, 12, 2, random_state=0).X
    >>> model = AspectBernoulli(2, n_init=1, random_state=0).fit(X)
    >>> plots.plot_suspects(model, X, top=5).axes[0].get_title(loc="left")
    'the 5 zeros most likely to hide a 1'
    """
    if top < 1:
        raise ValueError(f"top is {top}; ring at least one suspect.")
    data = X if isinstance(X, BinaryData) else BinaryData.of(X, binarize=getattr(model, "binarize", None))
    cells = data.dense()
    scores = np.asarray(attribute(model, "suspicion")(data, kind=kind), dtype=float)
    i, j = _most_suspected(scores, cells == (0 if kind == "absence" else 1), top)
    rows, columns = _drawn(cells, i, 0, MOST_ROWS), _drawn(cells, j, 1, MOST_COLUMNS)
    ax = panel(ax, 2.2 + 0.17 * len(columns), 1.8 + 0.15 * len(rows))
    shown = np.where(cells == -1, 2, cells)[np.ix_(rows, columns)]
    ax.imshow(shown, cmap=_CELLS, vmin=0, vmax=2, aspect="auto", interpolation="nearest")
    _ring(ax, scores, i, j, rows, columns)
    _label(ax, data, rows, columns)
    what = "zeros most likely to hide a 1" if kind == "absence" else "ones most likely to be false"
    ax.set_title(f"the {len(i)} {what}", pad=20)  # above the key
    square: Any = {"marker": "s", "linestyle": "", "markeredgecolor": QUIET}
    keys = [
        Line2D([], [], markerfacecolor=LIGHT["one"], label="1", **square),
        Line2D([], [], markerfacecolor="white", label="0", **square),
        Line2D([], [], marker="o", linestyle="", markerfacecolor="none", markeredgecolor=FOUND, label="suspect"),
    ]
    ax.legend(handles=keys, loc="lower left", bbox_to_anchor=(0, 1), ncols=3, borderaxespad=0.2)
    return figure_of(ax)


def _most_suspected(scores: np.ndarray, candidates: np.ndarray, top: int) -> tuple[np.ndarray, np.ndarray]:
    """Rows and columns of the candidates with the highest scores, the highest first."""
    ranked = np.argsort(np.where(candidates, -scores, np.inf), axis=None, kind="stable")[:top]
    i, j = np.unravel_index(ranked[candidates.ravel()[ranked]], scores.shape)
    return i, j


def _ring(ax: Axes, scores: np.ndarray, i: np.ndarray, j: np.ndarray, rows: list[int], columns: list[int]) -> None:
    """Rings around suspects that are drawn, the larger the higher their score."""
    drawn = np.isin(i, rows) & np.isin(j, columns)
    i, j = i[drawn], j[drawn]
    values = scores[i, j]
    above = values - values.min(initial=np.inf)
    size = 22 + 40 * above / max(float(above.max(initial=0.0)), 1e-12)
    y, x = [rows.index(row) for row in i], [columns.index(column) for column in j]
    ax.scatter(x, y, s=size, facecolors="none", edgecolors=FOUND, linewidths=1.3)


def _drawn(cells: np.ndarray, suspected: np.ndarray, axis: int, most: int) -> list[int]:
    """Positions along an axis: all, or those with most suspects; the ones with most 1s first."""
    ones = (cells == 1).sum(axis=1 - axis)
    counts = np.bincount(suspected, minlength=cells.shape[axis])
    kept = np.lexsort((-ones, -counts))[:most]
    order: list[int] = kept[np.argsort(-ones[kept], kind="stable")].tolist()
    return order


def _label(ax: Axes, data: BinaryData, rows: list[int], columns: list[int]) -> None:
    """Names where they fit, else how many there are."""
    n_rows, n_columns = data.shape
    names = data.row_names, data.column_names
    if names[0] is not None and len(rows) <= MOST_NAMES:
        ax.set_yticks(range(len(rows)), [shortened(names[0][row], 20) for row in rows], fontsize=7)
    else:
        ax.set_yticks([])
        ax.set_ylabel(f"{len(rows)} of {n_rows:,} rows" if len(rows) < n_rows else f"{n_rows:,} rows")
    if names[1] is not None and len(columns) <= MOST_NAMES:
        ax.set_xticks(range(len(columns)), [shortened(names[1][c], 20) for c in columns], rotation=90, fontsize=7)
    else:
        ax.set_xticks([])
        ax.set_xlabel(
            f"{len(columns)} of {n_columns:,} columns" if len(columns) < n_columns else f"{n_columns} columns"
        )


# ---- figures of an ensemble --------------------------------------------------------------------------------------


@house_style
def plot_check(check: Any, *, ax: Axes | None = None) -> Figure:
    """Draw how many knocked-out ones are among the first suspects, beside column frequencies and chance.

    Parameters
    ----------
    check : Check
        What `check` returns. The band is from the worst repeat to the best.
    ax : matplotlib.axes.Axes or None, default=None
        Where to draw; None makes a new figure.

    Returns
    -------
    matplotlib.figure.Figure
        The figure.

    Examples
    --------
    >>> from latentbits import IsingModel, check, plots, simulate
    >>> X = simulate.aspect_bernoulli(60, 20, 2, sharpness=0.1, random_state=0).X
    >>> found = check(X, IsingModel(), n_repeats=2, random_state=0)
    >>> [line.get_label() for line in plots.plot_check(found).axes[0].lines]
    ['model', 'column frequencies', 'chance']
    """
    curves = attribute(check, "curves").groupby("first")
    means, found = curves.mean(), curves["found"]
    ax = panel(ax, 5.0, 3.8)
    ax.fill_between(means.index, found.min(), found.max(), color=BEST, alpha=0.2, linewidth=0)
    ax.plot(means.index, means["found"], color=BEST, linewidth=2.2, label="model")
    ax.plot(means.index, means["by_columns"], color=QUIET, linewidth=1.4, label="column frequencies")
    ax.plot(means.index, means["by_chance"], color=QUIET, linewidth=1.4, linestyle=":", label="chance")
    ax.set(xlabel="first suspects", ylabel="knocked-out ones among them", xlim=(0, None), ylim=(0, None))
    ax.legend(loc="upper left")
    return figure_of(ax)


@house_style
def plot_reliability(model: Any, *, figure: Figure | SubFigure | None = None) -> Figure:
    """Draw what share of held-out cells were ones against the predicted probability, and how many cells there were.

    Parameters
    ----------
    model : FalseZeros or DataFrame
        A fitted ensemble with held-out cells (``held_out_``), or any model's table of ``metrics.calibration_table``.
    figure : matplotlib.figure.Figure, SubFigure or None, default=None
        Where to draw, preferably with ``layout="constrained"``; None makes a new one.

    Returns
    -------
    matplotlib.figure.Figure
        The figure.

    Examples
    --------
    >>> from latentbits import FalseZeros, plots, simulate
    >>> X = simulate.aspect_bernoulli(60, 12, 2, random_state=0).X
    >>> model = FalseZeros(n_folds=2, members=["aspects_2"], random_state=0).fit(X)
    >>> plots.plot_reliability(model).axes[0].get_xlabel()
    'predicted probability of a 1'
    """
    table = model if isinstance(model, pd.DataFrame) else attribute(model, "held_out_")
    if table is None:
        raise ValueError("no cells were hidden in this fit, so nothing tells how reliable it is; fit with n_folds.")
    figure = canvas(figure, 4.6, 4.6)
    curve, counts = figure.subplots(2, 1, sharex=True, height_ratios=[3, 1])
    curve.plot([0, 1], [0, 1], color=QUIET, linewidth=1, zorder=1)
    share, n = table["observed"].to_numpy(), table["count"].to_numpy()
    error = np.sqrt(share * (1 - share) / n)
    curve.errorbar(table["predicted"], share, yerr=error, fmt="o-", color=BEST, markersize=4, linewidth=1.2, zorder=2)
    end = max(float(table["upper"].max()), float(share.max(initial=0.0)))
    curve.set(
        ylabel="share of ones", xlabel="predicted probability of a 1", xlim=(0, end), ylim=(-0.02 * end, 1.02 * end)
    )
    curve.set_title(f"{int(n.sum()):,} cells; on the line they are right on average")
    counts.bar(table["lower"], n, width=table["upper"] - table["lower"], align="edge", color=QUIET, edgecolor=paper())
    counts.set(ylabel="cells", yscale="log")
    counts.yaxis.set_major_formatter(StrMethodFormatter("{x:,.0f}"))  # the usual one writes formulas
    counts.yaxis.set_minor_formatter(NullFormatter())
    return figure.figure


@house_style
def plot_member_weights(model: Any, *, ax: Axes | None = None) -> Figure:
    """Draw how much the log odds of each member count.

    Parameters
    ----------
    model : FalseZeros
        Fitted.
    ax : matplotlib.axes.Axes or None, default=None
        Where to draw; None makes a new figure.

    Returns
    -------
    matplotlib.figure.Figure
        The figure.

    Examples
    --------
    >>> from latentbits import FalseZeros, plots, simulate
    >>> X = simulate.aspect_bernoulli(60, 12, 2, random_state=0).X
    >>> model = FalseZeros(n_folds=None, members=["aspects_2", "linear_autoencoder"], random_state=0).fit(X)
    >>> [label.get_text() for label in plots.plot_member_weights(model).axes[0].get_yticklabels()]
    ['aspects_2', 'linear_autoencoder']
    """
    names, weights = list(attribute(model, "members_")), np.asarray(attribute(model, "member_weights_"))
    ax = panel(ax, 4.6, 1.0 + 0.34 * len(names))
    ax.barh(range(len(names)), weights, color=BEST, height=0.6)
    for place, weight in enumerate(weights):
        ax.annotate(f" {weight:.2f}", (weight, place), va="center", fontsize=8, color=ink())
    ax.set_yticks(range(len(names)), [shortened(name, 28) for name in names])
    ax.set(ylim=(len(names) - 0.5, -0.5), xlim=(0, max(1.15 * float(weights.max()), 0.1)))
    ax.set_xlabel("weight of its log odds of a 1")
    return figure_of(ax)


# ---- figures of what columns say about each other ----------------------------------------------------------------

MOST_COLUMNS = 60
"""More can't be told apart: those with the strongest couplings are drawn."""


@house_style
def plot_couplings(model: Any, *, ax: Axes | None = None) -> Figure:
    """Draw the couplings of columns as a matrix, positive red, negative blue, coupled columns side by side.

    Of many columns the 60 with the strongest couplings are shown.

    Parameters
    ----------
    model : estimator
        A fitted model with ``couplings_`` (n_features x n_features): row j, column k is what column j says about
        column k.
    ax : matplotlib.axes.Axes or None, default=None
        Where to draw; None makes a new figure.

    Returns
    -------
    matplotlib.figure.Figure
        The figure.

    Examples
    --------
    >>> from latentbits import IsingModel, plots, simulate
    >>> figure = plots.plot_couplings(IsingModel().fit(simulate.ising(200, 6, random_state=0).X))
    >>> len(figure.axes[0].get_yticklabels())
    6
    """
    couplings = np.asarray(attribute(model, "couplings_"), dtype=float)
    names = names_of(model, None, len(couplings))
    size = np.maximum(np.abs(couplings), np.abs(couplings.T))
    chosen = np.sort(np.argsort(-size.max(axis=1), kind="stable")[:MOST_COLUMNS])
    order = chosen[_side_by_side(size[np.ix_(chosen, chosen)])]
    shown = couplings[np.ix_(order, order)]
    width = float(np.clip(0.17 * len(order) + 2.6, 4.0, 13))
    ax = panel(ax, width, width - 0.6)
    largest = float(np.abs(shown).max()) or 1.0
    picture = ax.imshow(shown, cmap=AROUND_ZERO, vmin=-largest, vmax=largest, interpolation="nearest")
    labels = [shortened(names[j], 22) for j in order]
    ax.set_yticks(range(len(order)), labels, fontsize=7)
    ax.set_xticks(range(len(order)), labels, fontsize=7, rotation=90)
    if not np.array_equal(couplings, couplings.T):
        ax.set(ylabel="what this column", xlabel="says about this one")
    ax.figure.colorbar(picture, ax=ax, shrink=0.6, label="coupling")
    return figure_of(ax)


def _side_by_side(size: Floats) -> np.ndarray:
    """The columns in the order of a tree that joins the most strongly coupled ones first."""
    if len(size) < 3:
        return np.arange(len(size))
    distance = size.max() - size
    np.fill_diagonal(distance, 0.0)
    return np.asarray(leaves_list(linkage(squareform(distance, checks=False), "average")))
