"""Figures of data before and after denoising."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import ListedColormap
from matplotlib.figure import Figure, SubFigure
from matplotlib.patches import Patch
from numpy.typing import ArrayLike, NDArray

from latentbits.data.binary_data import MISSING, BinaryData
from latentbits.palette import LIGHT, SERIES
from latentbits.plots.style import canvas, house_style, remove_frame, shortened, spread
from latentbits.wording import place

CELLS = {
    "0": LIGHT["zero"],
    "1": LIGHT["one"],
    "missing": LIGHT["missing"],
    "0, now 1": LIGHT["filled"],
    "1, now 0": LIGHT["below"],
    "missing, now 1": SERIES[1],
}
"""The states of a cell, and their colours."""

ABSENT, PRESENT, UNKNOWN, FILLED, REMOVED, GUESSED = range(len(CELLS))
COLOURS = ListedColormap(list(CELLS.values()))

N_PICTURES, N_LINES = 8, 60
MOST_COLUMNS = 150
TITLE_WIDTH = 6.0
MOST_ROW_NAMES, MOST_COLUMN_NAMES = 80, 50

Stages = dict[str, BinaryData]
"""The data "before" and "after", and "clean" if it is known."""

Positions = NDArray[np.intp]


@house_style
def plot_denoising(
    before: Any,
    after: Any,
    *,
    clean: Any = None,
    shape: tuple[int, int] | None = None,
    rows: ArrayLike | None = None,
    n: int | None = None,
    figure: Figure | SubFigure | None = None,
) -> Figure:
    """Draw data before and after denoising, changed cells in colour: as images, or as tables side by side.

    Parameters
    ----------
    before : array-like, sparse matrix, data frame or BinaryData, of shape (n_rows, n_columns)
        0-1 data before denoising; missing cells are grey.
    after : array-like, sparse matrix, data frame or BinaryData, of shape (n_rows, n_columns)
        0-1 data after denoising.
    clean : array-like, sparse matrix, data frame or BinaryData, or None, default=None
        The true data, if they are known.
    shape : (int, int) or None, default=None
        Rows and columns of an image, if each row of the data is one, such as (8, 8).
    rows : sequence of int or None, default=None
        Positions of the rows to draw. None picks `n` rows spread over the more changed half of the rows that changed,
        the most changed first; data of no more than `n` rows are drawn completely, in their own order.
    n : int or None, default=None
        Number of rows to pick; None means 8 images or 60 rows of a table. Of a table with more than 150 columns the
        150 with most changes are drawn, and the title says so.
    figure : matplotlib.figure.Figure, SubFigure or None, default=None
        Where to draw, preferably with ``layout="constrained"``; None makes a new one.

    Returns
    -------
    matplotlib.figure.Figure
        The figure.

    Examples
    --------
    >>> from latentbits import plots
    >>> before = [[1, 0, 1, 0], [0, 1, 1, 1], [0, 1, 0, 0]]
    >>> after = [[1, 1, 1, 0], [0, 1, 1, 0], [0, 1, 0, 0]]
    >>> figure = plots.plot_denoising(before, after)
    >>> figure.get_suptitle()
    '1 zero became 1, 1 one became 0'
    >>> [ax.get_title(loc="left") for ax in figure.axes]
    ['before', 'after']
    """
    if n is not None and n < 1:
        raise ValueError(f"n is {n}; draw at least 1 row.")
    stages = _checked_stages(before, after, clean)
    turned = _turned(stages)
    changes = turned != 0
    most = n or (N_LINES if shape is None else N_PICTURES)
    chosen = _most_changed(changes, most) if rows is None else _checked_rows(rows, len(changes))
    which = "spread over the more changed half, the most changed first" if rows is None else "as chosen"
    title = [_summary(turned), *_note(len(chosen), len(changes), "rows", which)]
    if shape is not None:
        figure = _pictures(figure, stages, chosen, shape)
    else:
        columns = np.sort(np.argsort(-changes.sum(axis=0), kind="stable")[:MOST_COLUMNS])
        title += _note(len(columns), changes.shape[1], "columns", "those with most changes")
        figure = _tables(figure, stages, chosen, columns)
    figure.suptitle("\n".join(title))
    return figure.figure


def _checked_stages(before: Any, after: Any, clean: Any) -> Stages:
    given = {"before": before, "after": after, "clean": clean}
    stages = {stage: BinaryData.of(X) for stage, X in given.items() if X is not None}
    for stage, data in stages.items():
        if data.shape != stages["before"].shape:
            raise ValueError(
                f"{stage} has the shape {data.shape}, but before has {stages['before'].shape}; "
                "give the same rows and columns in the same order."
            )
    return stages


def _checked_rows(rows: ArrayLike, n_rows: int) -> Positions:
    chosen = np.asarray(rows, dtype=np.intp).ravel()
    if len(chosen) == 0 or chosen.min() < -n_rows or chosen.max() >= n_rows:
        raise ValueError(f"rows must name one or more positions from 0 to {n_rows - 1}.")
    return chosen % n_rows


def _turned(stages: Stages) -> NDArray[np.int8]:
    """1 where a zero became 1, -1 where a one became 0; a filled missing cell is no change."""
    before, after = stages["before"].dense(), stages["after"].dense()
    return np.where((before == MISSING) | (after == MISSING), 0, after - before).astype(np.int8)


def _most_changed(changes: NDArray[np.bool_], n: int) -> Positions:
    """All rows if they are few, else `n` spread over the more changed half, the most changed first."""
    if len(changes) <= n:
        return np.arange(len(changes))
    per_row = changes.sum(axis=1)
    half = max(n, int(np.count_nonzero(per_row)) // 2)
    return np.argsort(-per_row, kind="stable")[spread(half, n)]


def _summary(turned: NDArray[np.int8]) -> str:
    n_filled, n_removed = int(np.sum(turned > 0)), int(np.sum(turned < 0))
    return f"{_count(n_filled, 'zero')} became 1, {_count(n_removed, 'one')} became 0"


def _count(n: int, what: str) -> str:
    return f"{n:,} {what}{'' if n == 1 else 's'}"


def _note(n_drawn: int, n_all: int, what: str, which: str) -> list[str]:
    return [f"{n_drawn:,} of {n_all:,} {what} drawn{which and ', '}{which}"] if n_drawn < n_all else []


def _codes(stages: Stages, rows: Positions, columns: Positions | None = None) -> dict[str, NDArray[np.intp]]:
    """What each chosen cell is at each stage, as positions in `CELLS`."""
    where = np.s_[rows] if columns is None else np.ix_(rows, columns)
    values = {stage: data.dense()[where] for stage, data in stages.items()}
    codes = {stage: np.where(cells == MISSING, UNKNOWN, cells).astype(np.intp) for stage, cells in values.items()}
    was, now = values["before"], values["after"]
    codes["after"][(was == 0) & (now == 1)] = FILLED
    codes["after"][(was == 1) & (now == 0)] = REMOVED
    codes["after"][(was == MISSING) & (now == 1)] = GUESSED
    return codes


def _draw_cells(ax: Axes, codes: NDArray[np.intp], aspect: Literal["equal", "auto"]) -> None:
    ax.imshow(codes, cmap=COLOURS, vmin=-0.5, vmax=len(CELLS) - 0.5, aspect=aspect, interpolation="nearest")
    remove_frame(ax)


def _add_key(figure: Figure | SubFigure, codes: dict[str, NDArray[np.intp]]) -> None:
    """A legend of the cells that are in the figure."""
    present = np.unique(np.concatenate([part.ravel() for part in codes.values()]))
    cells = list(CELLS.items())
    width = figure.bbox.width / figure.figure.dpi
    key = [Patch(facecolor=cells[c][1], edgecolor=LIGHT["edge"], label=cells[c][0]) for c in present]
    figure.legend(handles=key, loc="outside lower center", ncols=min(len(key), max(1, int(width / 1.25))))


def _row_names(data: BinaryData, rows: Positions, width: int) -> list[str]:
    names = [place("row", row) for row in rows] if data.row_names is None else [data.row_names[row] for row in rows]
    return [shortened(name, width) for name in names]


def _pictures(
    figure: Figure | SubFigure | None, stages: Stages, rows: Positions, shape: tuple[int, int]
) -> Figure | SubFigure:
    """A line of pictures for each stage, a column for each row of the data."""
    n_columns = stages["before"].shape[1]
    if shape[0] * shape[1] != n_columns:
        raise ValueError(f"shape is {shape}, {shape[0] * shape[1]} cells, but a row has {n_columns}.")
    codes = _codes(stages, rows)
    height = float(np.clip(shape[0] / shape[1], 0.3, 3.0))
    figure = canvas(figure, max(1.1 * len(rows) + 0.6, TITLE_WIDTH), (height + 0.15) * len(stages) + 1.2)
    panels = figure.subplots(len(stages), len(rows), squeeze=False)
    for line, (stage, cells) in zip(panels, codes.items(), strict=True):
        for ax, row in zip(line, cells, strict=True):
            _draw_cells(ax, row.reshape(shape), "equal")
        line[0].set_ylabel(stage)
    for ax, name in zip(panels[0], _row_names(stages["before"], rows, 14), strict=True):
        ax.set_title(name, fontsize=9, loc="center")
    _add_key(figure, codes)
    return figure


def _tables(
    figure: Figure | SubFigure | None, stages: Stages, rows: Positions, columns: Positions
) -> Figure | SubFigure:
    """The chosen cells of each stage, side by side."""
    codes = _codes(stages, rows, columns)
    width = float(np.clip(0.14 * len(columns), 2.0, 6.0))
    height = float(np.clip(0.14 * len(rows), 1.0, 12.0))
    figure = canvas(figure, max(width * len(stages) + 1.4, TITLE_WIDTH), height + 1.6)
    panels = figure.subplots(1, len(stages), squeeze=False)[0]
    for ax, (stage, cells) in zip(panels, codes.items(), strict=True):
        _draw_cells(ax, cells, "auto")
        ax.set_title(stage)
    _name_axes(panels, stages["before"], rows, columns)
    _add_key(figure, codes)
    return figure


def _name_axes(panels: Sequence[Axes], data: BinaryData, rows: Positions, columns: Positions) -> None:
    """Names where there is room for them."""
    if len(rows) <= MOST_ROW_NAMES:
        panels[0].set_yticks(range(len(rows)), _row_names(data, rows, 24), fontsize=7)
    if data.column_names is not None and len(columns) <= MOST_COLUMN_NAMES:
        names = [shortened(data.column_names[j]) for j in columns]
        for ax in panels:
            ax.set_xticks(range(len(columns)), names, fontsize=7, rotation=90)
    else:
        for ax in panels:
            ax.set_xlabel(_count(len(columns), "column"))
