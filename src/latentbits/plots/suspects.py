"""A map of a table in which the most suspected cells stand out."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import ListedColormap
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from latentbits.data.binary_data import BinaryData
from latentbits.plots.fitted import attribute
from latentbits.plots.style import QUIET, house_style, new_figure, shortened

__all__ = ["plot_suspects"]

MOST_ROWS, MOST_COLUMNS = 60, 60
MOST_NAMES = 45
SUSPECT = "#d55e00"
_CELLS = ListedColormap(["#ffffff", "#8c8c8c", "#e9e9f2"])


@house_style
def plot_suspects(model: Any, X: Any, *, top: int = 50, kind: str = "absence") -> Figure:
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
    figure = new_figure(2.2 + 0.17 * len(columns), 1.8 + 0.15 * len(rows))
    ax = figure.subplots()
    shown = np.where(cells == -1, 2, cells)[np.ix_(rows, columns)]
    ax.imshow(shown, cmap=_CELLS, vmin=0, vmax=2, aspect="auto", interpolation="nearest")
    _ring(ax, scores, i, j, rows, columns)
    _label(ax, data, rows, columns)
    what = "zeros most likely to hide a 1" if kind == "absence" else "ones most likely to be false"
    ax.set_title(f"the {len(i)} {what}")
    square: Any = {"marker": "s", "linestyle": "", "markeredgecolor": QUIET}
    keys = [
        Line2D([], [], markerfacecolor="#8c8c8c", label="1", **square),
        Line2D([], [], markerfacecolor="white", label="0", **square),
        Line2D([], [], marker="o", linestyle="", markerfacecolor="none", markeredgecolor=SUSPECT, label="suspect"),
    ]
    figure.legend(handles=keys, loc="outside lower center", ncols=3)
    return figure


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
    ax.scatter(x, y, s=size, facecolors="none", edgecolors=SUSPECT, linewidths=1.3)


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
