"""Figures of components, and of the rows' weights on them."""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil, sqrt
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure, SubFigure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from numpy.typing import ArrayLike

from latentbits.plots.style import (
    KINDS,
    VALUES,
    Floats,
    attribute,
    canvas,
    components_of,
    house_style,
    ink,
    kinds_of,
    names_of,
    remove_frame,
    shares_of,
    shortened,
    spread,
    text_colour,
    titles_of,
    whole_numbers,
)

TICK: dict[str, Any] = {
    "marker": "|",
    "markersize": 11,
    "markeredgewidth": 1.8,
    "linestyle": "none",
    "clip_on": False,
}
"""Marker of a column's mean over all rows."""


@house_style
def plot_components(
    model: Any,
    *,
    shape: tuple[int, int] | None = None,
    names: Sequence[object] | None = None,
    top: int = 10,
    figure: Figure | SubFigure | None = None,
) -> Figure:
    """Draw each component: as an image if the columns form a grid, else as bars of its strongest columns.

    A bar is the probability of a 1 in the component, the black tick its mean over all rows by the model: columns that
    characterise the component have bars beyond the tick. Components are numbered as in ``model.components_``, from 0.

    Parameters
    ----------
    model : estimator
        A fitted model with ``components_`` (probabilities of a 1). Shares of the data, phantoms and names are taken
        from ``weights_``, ``phantoms_`` and ``feature_names_in_`` if present.
    shape : (int, int) or None, default=None
        Rows and columns of the grid that the columns of the data form in reading order, such as (8, 8).
    names : sequence of str or None, default=None
        Names of the columns; None uses those that the model was fitted with.
    top : int, default=10
        Number of bars in each panel.
    figure : matplotlib.figure.Figure, SubFigure or None, default=None
        Where to draw, preferably with ``layout="constrained"``; None makes a new one.

    Returns
    -------
    matplotlib.figure.Figure
        The figure.

    Examples
    --------
    >>> from latentbits import AspectBernoulli, plots, simulate
    >>> X = simulate.aspect_bernoulli(100, 12, 2, random_state=0).X
    >>> model = AspectBernoulli(2, n_init=1, random_state=0).fit(X)
    >>> figure = plots.plot_components(model, top=5)
    >>> len(figure.axes)
    2
    >>> plots.plot_components(model, shape=(3, 4)).axes[0].images[0].get_array().shape
    (3, 4)
    """
    components = components_of(model)
    if shape is not None:
        return _pictures(figure, model, components, shape)
    if top < 1:
        raise ValueError(f"top is {top}; draw at least 1 bar for each component.")
    return _bars(figure, model, components, names_of(model, names, components.shape[1]), top)


def _n_wide(n_panels: int) -> int:
    """How many panels to put side by side."""
    return n_panels if n_panels <= 3 else ceil(sqrt(n_panels))


def _panels(
    figure: Figure | SubFigure | None, model: Any, n_panels: int, size: tuple[float, float], separator: str
) -> tuple[Figure | SubFigure, list[Axes]]:
    """A figure with a titled panel of `size` inches for each component, phantoms in their colour."""
    n_wide = _n_wide(n_panels)
    n_high = ceil(n_panels / n_wide)
    figure = canvas(figure, n_wide * size[0] + 0.8, n_high * size[1] + 0.6)
    grid = figure.add_gridspec(n_high, n_wide)
    panels = [figure.add_subplot(grid[divmod(k, n_wide)]) for k in range(n_panels)]
    titles = titles_of(model, n_panels, separator)
    for ax, title, kind in zip(panels, titles, kinds_of(model, n_panels), strict=True):
        weight = "normal" if kind == "content" else "bold"
        ax.set_title(title, color=text_colour(kind), fontweight=weight, fontsize=9)
    return figure, panels


def _pictures(figure: Figure | SubFigure | None, model: Any, components: Floats, shape: tuple[int, int]) -> Figure:
    n_components, n_columns = components.shape
    if shape[0] * shape[1] != n_columns:
        raise ValueError(f"shape is {shape}, {shape[0] * shape[1]} cells, but a component has {n_columns} columns.")
    height = float(np.clip(1.4 * shape[0] / shape[1], 0.3, 4.0))
    figure, panels = _panels(figure, model, n_components, (1.5, height + 0.5), "\n")
    for ax, component, kind in zip(panels, components, kinds_of(model, n_components), strict=True):
        picture = ax.imshow(component.reshape(shape), cmap="Greys", vmin=0, vmax=1, aspect="equal")
        remove_frame(ax)
        if kind != "content":
            ax.spines[:].set(color=KINDS[kind].mark, linewidth=2.5)
    scale = figure.colorbar(picture, ax=panels, label="probability of a 1", aspect=25, shrink=0.6)
    scale.outline.set_visible(False)
    return figure.figure


def _bars(figure: Figure | SubFigure | None, model: Any, components: Floats, names: list[str], top: int) -> Figure:
    n_components, n_columns = components.shape
    n_bars = min(top, n_columns)
    labels = [shortened(name) for name in names]
    width = max(2.8, 2.4 + 0.07 * max(map(len, labels)))
    figure, panels = _panels(figure, model, n_components, (width, 0.2 * n_bars + 0.7), ", ")
    kinds = kinds_of(model, n_components)
    shares = shares_of(model)
    mean = None if shares is None else shares @ components
    for ax, component, kind in zip(panels, components, kinds, strict=True):
        strongest = _strongest(component, mean)[:n_bars]
        ax.barh(np.arange(n_bars), component[strongest], height=0.7, color=KINDS[kind].mark)
        if mean is not None:
            ax.plot(mean[strongest], np.arange(n_bars), color=ink(), **TICK)
        ax.set_yticks(np.arange(n_bars), [labels[j] for j in strongest], fontsize=8)
        ax.tick_params(axis="y", length=0)
        ax.set(xlim=(0, min(1.0, 1.1 * components.max()) or 1.0), ylim=(n_bars - 0.4, -0.6))
    for ax in panels[-_n_wide(n_components) :]:
        ax.set_xlabel("probability of a 1")
    figure.legend(handles=_key(kinds, mean is not None), loc="outside lower center", ncols=4)
    return figure.figure


def _strongest(component: Floats, mean: Floats | None) -> np.ndarray:
    """Columns by falling probability; of those equal to three digits the rarest in the data first."""
    rarest = component if mean is None else component - mean
    return np.lexsort((-rarest, -component.round(3)))


def _key(kinds: list[str], has_mean: bool) -> list[Patch | Line2D]:
    """Legend entries, of what is in the figure only."""
    key: list[Patch | Line2D] = [
        Patch(color=style.mark, label=f"in the {style.words or 'component'}")
        for kind, style in KINDS.items()
        if kind in kinds
    ]
    return [*key, Line2D([], [], label="model's mean over all rows", color=ink(), **TICK)] if has_mean else key


# ---- figures of the rows' weights on the components --------------------------------------------------------------

MOST_LINES = 400
"""Lines of the map; for more rows a line is the mean of successive rows, because the image has no more pixels."""

MOST_DOTS = 2000
"""Dots in a panel; of more rows a sample is drawn, spread evenly over the numbers of ones."""


@house_style
def plot_weights(
    model: Any,
    *,
    ones: ArrayLike | None = None,
    weights: ArrayLike | None = None,
    figure: Figure | SubFigure | None = None,
) -> Figure:
    """Draw the rows' weights on the components, and each phantom's weight against the ones in a row.

    Rows are grouped by their strongest component. A white phantom explains zeros, so its weight falls with
    the number of ones in the row; a black one's rises.

    Parameters
    ----------
    model : estimator
        A fitted model with ``weights_``; ``phantoms_`` is used if present.
    ones : array-like of shape (n_rows,) or None, default=None
        Number of ones in each row of the training data, such as ``X.sum(axis=1)``; each phantom then gets a panel.
    weights : array-like of shape (n_rows, n_components) or None, default=None
        Of other rows than the training rows, as ``model.transform`` gives them.
    figure : matplotlib.figure.Figure, SubFigure or None, default=None
        Where to draw, preferably with ``layout="constrained"``; None makes a new one.

    Returns
    -------
    matplotlib.figure.Figure
        The figure.

    Examples
    --------
    >>> from latentbits import AspectBernoulli, plots, simulate
    >>> X = simulate.aspect_bernoulli(200, 30, 3, white_phantom=True, random_state=0).X
    >>> model = AspectBernoulli(3, n_init=5, random_state=0).fit(X)
    >>> figure = plots.plot_weights(model, ones=X.sum(axis=1))
    >>> figure.axes[-1].get_title(loc="left")
    'component 1, white phantom'
    """
    weights = np.asarray(attribute(model, "weights_") if weights is None else weights, dtype=float)
    kinds = kinds_of(model, weights.shape[1])
    width = float(np.clip(0.45 * len(kinds) + 1.6, 3.6, 16.0))
    phantoms = [k for k, kind in enumerate(kinds) if kind in ("white", "black")]
    counts = None if ones is None else _checked_ones(ones, len(weights))
    if counts is None or not phantoms:
        figure = canvas(figure, width, 5.0)
        _draw_map(figure.subplots(), weights, kinds)
        if counts is not None:
            figure.suptitle("no phantom among the components")
        return figure.figure
    figure = canvas(figure, width + 4.2, max(5.0, 2.2 * len(phantoms)))
    grid = figure.add_gridspec(len(phantoms), 2, width_ratios=[width, 4.2])
    _draw_map(figure.add_subplot(grid[:, 0]), weights, kinds)
    panels = [figure.add_subplot(grid[place, 1]) for place in range(len(phantoms))]
    for ax, k in zip(panels, phantoms, strict=True):
        style = KINDS[kinds[k]]
        _draw_phantom(ax, counts, weights[:, k], kinds[k])
        ax.set_title(f"component {k + 1}, {style.words}", color=text_colour(kinds[k]), fontweight="bold")
    _add_key(panels[0], kinds[phantoms[0]], len(weights))
    panels[-1].set_xlabel("ones in the row")
    return figure.figure


def _checked_ones(ones: ArrayLike, n_rows: int) -> Floats:
    counts = np.asarray(ones, dtype=float).ravel()
    if len(counts) != n_rows:
        raise ValueError(f"ones has {len(counts)} entries; give one for each of the model's {n_rows} rows.")
    return counts


def _draw_map(ax: Axes, weights: Floats, kinds: list[str]) -> None:
    """The weights as a picture, rows down; the strongest row of each group on top."""
    n_rows, n_components = weights.shape
    order = np.lexsort((-weights.max(axis=1), weights.argmax(axis=1)))
    lines = _block_means(weights[order], MOST_LINES)
    extent = (-0.5, n_components - 0.5, n_rows, 0)
    picture = ax.imshow(lines, cmap=VALUES, vmin=0, vmax=1, aspect="auto", extent=extent, interpolation="nearest")
    scale = ax.figure.colorbar(picture, ax=ax, label="weight", aspect=25, shrink=0.6)
    scale.outline.set_visible(False)
    note = "" if len(lines) == n_rows else f"\n(each of the {len(lines)} lines is a mean of rows)"
    ax.yaxis.set_major_locator(whole_numbers())
    ax.set_ylabel(f"rows, grouped by their strongest component{note}")
    ax.set_xlabel("component" if set(kinds) <= {"content", "extinct"} else "component (bold: phantoms)")
    ax.set_xticks(range(n_components), [_short_label(k, kind) for k, kind in enumerate(kinds)], fontsize=8)
    for label, kind in zip(ax.get_xticklabels(), kinds, strict=True):
        label.set(color=text_colour(kind), fontweight="bold" if kind in ("white", "black") else "normal")


def _short_label(k: int, kind: str) -> str:
    return f"{k + 1}" if kind == "content" else f"{k + 1}\n{kind}"


def _block_means(rows: Floats, most: int) -> Floats:
    """Means of successive rows, in at most `most` blocks of about equal size."""
    starts = np.linspace(0, len(rows), min(len(rows), most), endpoint=False).astype(np.intp)
    sizes = np.diff(starts, append=len(rows))
    return np.add.reduceat(rows, starts, axis=0) / sizes[:, None]


def _draw_phantom(ax: Axes, ones: Floats, weight: Floats, kind: str) -> None:
    """A dot for each row, and the mean weight along the number of ones."""
    drawn = np.argsort(ones, kind="stable")[spread(len(ones), MOST_DOTS)]  # not at random: figures are reproducible
    opacity = float(np.clip(150 / len(drawn), 0.15, 0.8))
    ax.scatter(ones[drawn], weight[drawn], s=14, color=KINDS[kind].mark, alpha=opacity, linewidths=0, clip_on=False)
    ax.plot(*_running_mean(ones, weight), color=ink(), linewidth=1.8)
    ax.set(ylim=(0, 1), yticks=[0, 0.5, 1], xlim=(0, max(ones.max(), 1)), ylabel="weight")
    ax.xaxis.set_major_locator(whole_numbers())


def _add_key(ax: Axes, kind: str, n_rows: int) -> None:
    """A legend in the corner where that kind of phantom has no rows."""
    label = "a row" if n_rows <= MOST_DOTS else f"a row ({MOST_DOTS:,} of {n_rows:,} drawn)"
    dot = Line2D([], [], marker="o", linestyle="none", color=KINDS[kind].mark, label=label)
    mean = Line2D([], [], color=ink(), label="mean")
    ax.legend(handles=[dot, mean], loc="upper right" if kind == "white" else "upper left")


def _running_mean(ones: Floats, weight: Floats, n_groups: int = 12) -> tuple[Floats, Floats]:
    """Means of both over groups of rows with like numbers of ones."""
    edges = np.linspace(ones.min(), ones.max(), n_groups + 1)[1:-1]
    group = np.searchsorted(edges, ones)
    size = np.bincount(group)
    filled = size > 0
    middle, height = (np.bincount(group, values)[filled] / size[filled] for values in (ones, weight))
    return middle, height
