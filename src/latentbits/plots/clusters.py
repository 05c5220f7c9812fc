"""Figures of clusters and their independent sources."""

from __future__ import annotations

from math import ceil
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure, SubFigure
from numpy.typing import ArrayLike

from latentbits.palette import LIGHT, SERIES
from latentbits.plots.style import (
    AROUND_ZERO,
    BEST,
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
    whole_numbers,
)

"""The palette of Okabe and Ito, distinguishable with any colour vision; reused cyclically."""

MOST_VARIABLES = 80
"""Variables that a figure of means shows, at most."""

MOVES = {"split": ("v", SERIES[2]), "delete": ("X", LIGHT["ink"]), "reinitialise": ("o", SERIES[1])}
"""Marker and colour of the structural moves."""


@house_style
def plot_clusters(model: Any, X: ArrayLike, *, columns: tuple[int, int] = (0, 1), ax: Axes | None = None) -> Figure:
    """Draw points in two of their dimensions, coloured by cluster, with an arrow for each source's direction.

    An arrow is the source's column of the mixing matrix times the standard deviation of the source, from the cluster's
    mean; sources that are switched off have none.

    Parameters
    ----------
    model : estimator
        A fitted model with ``mixing_``, ``means_``, ``n_sources_``, ``predict`` and ``transform``.
    X : array-like of shape (n_rows, n_features)
        The points to draw.
    columns : (int, int), default=(0, 1)
        The dimensions to draw.
    ax : matplotlib.axes.Axes or None, default=None
        Where to draw; None makes a new figure.

    Returns
    -------
    matplotlib.figure.Figure
        The figure.

    Examples
    --------
    >>> import numpy as np
    >>> from latentbits import ICAMixture
    >>> from latentbits.plots import plot_clusters
    >>> X = np.random.default_rng(0).uniform(size=(100, 2))
    >>> figure = plot_clusters(ICAMixture(1, n_init=1, random_state=0).fit(X), X)
    >>> len(figure.axes[0].collections)
    1
    """
    rows = np.asarray(X, dtype=float)
    mixing, means = (np.asarray(attribute(model, name), dtype=float) for name in ("mixing_", "means_"))
    labels, sources = model.predict(X), model.transform(X)
    ax = panel(ax, 5.5, 5.0)
    i, j = columns
    for c, (A, mean, n_live) in enumerate(zip(mixing, means, attribute(model, "n_sources_"), strict=True)):
        own = labels == c
        colour = SERIES[c % len(SERIES)]
        ax.scatter(rows[own, i], rows[own, j], s=6, color=colour, alpha=0.5, linewidths=0, label=f"cluster {c + 1}")
        if own.any():
            centre = mean + A @ sources[own].mean(axis=0)
            for m in range(int(n_live)):
                tip = centre + 2 * A[:, m] * sources[own, m].std()
                arrow = {"arrowstyle": "-|>", "color": ink(), "linewidth": 1.4, "shrinkA": 0, "shrinkB": 0}
                ax.annotate("", tip[[i, j]], centre[[i, j]], arrowprops=arrow)
    names = names_of(model, None, rows.shape[1])
    ax.set(xlabel=names[i], ylabel=names[j])
    if len(means) > 1:
        ax.legend(markerscale=2.5)
    return figure_of(ax)


@house_style
def plot_cluster_means(model: Any, X: ArrayLike, *, ax: Axes | None = None) -> Figure:
    """Draw how clusters differ: the means of their rows, in standard deviations from the mean of all rows.

    A row for each variable, those in which clusters differ most first, large clusters counting for more; a column for
    each cluster that has a row, with their number.

    Parameters
    ----------
    model : estimator
        A fitted model with ``n_clusters_`` and ``predict``.
    X : array-like of shape (n_rows, n_features)
        The rows.
    ax : matplotlib.axes.Axes or None, default=None
        Where to draw; None makes a new figure.

    Returns
    -------
    matplotlib.figure.Figure
        The figure.

    Examples
    --------
    >>> import numpy as np
    >>> from latentbits import ICAMixture
    >>> from latentbits.plots import plot_cluster_means
    >>> X = np.random.default_rng(0).uniform(size=(100, 2))
    >>> figure = plot_cluster_means(ICAMixture(1, n_init=1, random_state=0).fit(X), X)
    >>> len(figure.axes[0].get_yticklabels())
    2
    """
    rows = np.asarray(X, dtype=float)
    labels = model.predict(X)
    spread = rows.std(axis=0)
    standard = (rows - rows.mean(axis=0)) / np.where(spread > 0, spread, 1.0)
    n_rows = np.bincount(labels, minlength=int(attribute(model, "n_clusters_")))
    clusters = np.flatnonzero(n_rows)
    means = np.array([standard[labels == c].mean(axis=0) for c in clusters]).T
    order = np.argsort(-(means**2 @ n_rows[clusters]), kind="stable")[:MOST_VARIABLES]  # the mean of all is 0
    names = np.array(names_of(model, None, rows.shape[1]), dtype=object)[order]
    label = "standard deviations from the mean"
    ticks = [f"{c + 1}\n{n_rows[c]}" for c in clusters]
    return _drawn_by_variable(ax, means[order], names, ticks, "cluster, and its rows", label)


@house_style
def plot_source_effects(model: Any, *, most: int = 6, ax: Axes | None = None) -> Figure:
    """Draw what one standard deviation of each source adds to each variable, in standard deviations.

    A row for each variable, those that change most first; a column for each source of each cluster.

    Parameters
    ----------
    model : estimator
        A fitted model with ``source_effects_`` and ``n_sources_``.
    most : int, default=6
        Largest number of sources per cluster, the strongest first.
    ax : matplotlib.axes.Axes or None, default=None
        Where to draw; None makes a new figure.

    Returns
    -------
    matplotlib.figure.Figure
        The figure.

    Examples
    --------
    >>> import numpy as np
    >>> from latentbits import ICAMixture
    >>> from latentbits.plots import plot_source_effects
    >>> X = np.random.default_rng(0).uniform(size=(100, 2))
    >>> figure = plot_source_effects(ICAMixture(1, n_init=1, random_state=0).fit(X))
    >>> [label.get_text() for label in figure.axes[0].get_xticklabels()]
    ['1.1', '1.2']
    """
    effects = np.asarray(attribute(model, "source_effects_"), dtype=float)
    columns = [(c, m) for c, n in enumerate(attribute(model, "n_sources_")) for m in range(min(int(n), most))]
    if not columns:
        raise ValueError("all sources of the model are switched off; there is nothing to draw")
    values = np.column_stack([effects[c, :, m] for c, m in columns])
    order = np.argsort(-np.abs(values).max(axis=1), kind="stable")[:MOST_VARIABLES]
    names = np.array(names_of(model, None, len(values)), dtype=object)[order]
    ticks = [f"{c + 1}.{m + 1}" for c, m in columns]
    label = "change in standard deviations"
    return _drawn_by_variable(ax, values[order], names, ticks, "cluster.source", label)


def _drawn_by_variable(
    ax: Axes | None, values: Floats, names: ArrayLike, ticks: list[str], below: str, label: str
) -> Figure:
    """Numbers around 0 in red and blue, a row for each variable."""
    n, m = values.shape
    largest = max(float(np.abs(values).max()), 1e-9)
    ax = panel(ax, float(np.clip(0.5 * m + 3.2, 3.6, 12)), float(np.clip(0.2 * n + 1.2, 3.2, 12)))
    picture = ax.imshow(values, cmap=AROUND_ZERO, vmin=-largest, vmax=largest, aspect="auto", interpolation="nearest")
    ax.set_yticks(range(n), [shortened(str(name), 28) for name in np.asarray(names)], fontsize=7)
    ax.set_xticks(range(m), ticks)
    ax.set_xlabel(below)
    ax.figure.colorbar(picture, ax=ax, label=label)
    return figure_of(ax)


@house_style
def plot_source_densities(
    model: Any, X: ArrayLike | None = None, *, most: int = 6, figure: Figure | SubFigure | None = None
) -> Figure:
    """Draw the density of each source with its Gaussians, and the histogram of the sources found in the data.

    Parameters
    ----------
    model : estimator
        A fitted model with ``n_sources_``, ``source_density``, ``predict`` and ``transform``.
    X : array-like of shape (n_rows, n_features), or None, default=None
        Points whose sources are shown as histograms; None draws the densities alone.
    most : int, default=6
        Largest number of sources per cluster, the strongest first.
    figure : matplotlib.figure.Figure, SubFigure or None, default=None
        Where to draw, preferably with ``layout="constrained"``; None makes a new one.

    Returns
    -------
    matplotlib.figure.Figure
        The figure.

    Examples
    --------
    >>> import numpy as np
    >>> from latentbits import ICAMixture
    >>> from latentbits.plots import plot_source_densities
    >>> X = np.random.default_rng(0).uniform(size=(100, 2))
    >>> figure = plot_source_densities(ICAMixture(1, n_init=1, random_state=0).fit(X), X)
    >>> len(figure.axes)
    2
    """
    live = [min(int(n), most) for n in attribute(model, "n_sources_")]
    n_wide = max(1, *live) if len(live) > 1 else max(1, live[0])
    figure = canvas(figure, 2.0 * n_wide + 0.6, 1.7 * len(live) + 0.4)
    grid = figure.add_gridspec(len(live), n_wide)
    labels, sources = (None, None) if X is None else (model.predict(X), model.transform(X))
    for c, n in enumerate(live):
        for m in range(n):
            ax = figure.add_subplot(grid[c, m])
            found = None if sources is None else sources[labels == c, m]
            _draw_density(ax, model, c, m, found)
            ax.set_title(f"cluster {c + 1}, source {m + 1}", fontsize=8)
    return figure.figure


def _draw_density(ax: Axes, model: Any, cluster: int, source: int, found: Floats | None) -> None:
    values = np.linspace(-4, 4, 400)
    if found is not None and len(found) > 1:
        low, high = np.min(found), np.max(found)
        margin = 0.1 * (high - low) + 1e-9
        values = np.linspace(low - margin, high + margin, 400)
        ax.hist(found, bins=min(40, ceil(np.sqrt(len(found)))), density=True, color=LIGHT["line"])
    parts = model.source_density(cluster, source, values)
    ax.plot(values, parts, color=QUIET, linewidth=1.0, linestyle=":")
    ax.plot(values, parts.sum(axis=1), color=BEST, linewidth=1.6)
    ax.set(yticks=[], ylim=(0, None))
    ax.spines["left"].set_visible(False)


@house_style
def plot_strengths(model: Any, *, figure: Figure | SubFigure | None = None) -> Figure:
    """Draw the strengths of the sources of each cluster; those that are switched off are grey.

    Parameters
    ----------
    model : estimator
        A fitted model with ``source_strengths_``, ``n_sources_`` and ``proportions_`` (the clusters' shares).
    figure : matplotlib.figure.Figure, SubFigure or None, default=None
        Where to draw, preferably with ``layout="constrained"``; None makes a new one.

    Returns
    -------
    matplotlib.figure.Figure
        The figure.

    Examples
    --------
    >>> import numpy as np
    >>> from latentbits import ICAMixture
    >>> from latentbits.plots import plot_strengths
    >>> X = np.random.default_rng(0).uniform(size=(100, 2))
    >>> figure = plot_strengths(ICAMixture(1, n_init=1, random_state=0).fit(X))
    >>> figure.axes[0].get_title(loc="left")
    'cluster 1, 100 % of the data: 2 sources'
    """
    strengths = np.asarray(attribute(model, "source_strengths_"), dtype=float)
    shares = np.asarray(attribute(model, "proportions_"), dtype=float)
    figure = canvas(figure, 4.8, 1.5 * len(strengths) + 0.7)
    panels = figure.subplots(len(strengths), sharex=True, squeeze=False)[:, 0]
    for c, (ax, heights, n_live) in enumerate(zip(panels, strengths, attribute(model, "n_sources_"), strict=True)):
        colours = [BEST if m < n_live else QUIET for m in range(len(heights))]
        ax.bar(np.arange(1, len(heights) + 1), heights, color=colours, width=0.7)
        words = "source" if n_live == 1 else "sources"
        ax.set_title(f"cluster {c + 1}, {100 * shares[c]:.0f} % of the data: {n_live} {words}")
        ax.xaxis.set_major_locator(whole_numbers())
    panels[-1].set_xlabel("source")
    figure.supylabel("strength, in standard deviations of the data")
    return figure.figure


@house_style
def plot_bound(model: Any, *, ax: Axes | None = None) -> Figure:
    """Draw the bound of the best restart pass by pass, with its structural moves: filled if kept, hollow if undone.

    Parameters
    ----------
    model : estimator
        A fitted model with ``objective_history_`` and ``history_``.
    ax : matplotlib.axes.Axes or None, default=None
        Where to draw; None makes a new figure.

    Returns
    -------
    matplotlib.figure.Figure
        The figure.

    Examples
    --------
    >>> import numpy as np
    >>> from latentbits import ICAMixture
    >>> from latentbits.plots import plot_bound
    >>> X = np.random.default_rng(0).uniform(size=(100, 2))
    >>> figure = plot_bound(ICAMixture(2, n_init=1, random_state=0).fit(X))
    >>> figure.axes[0].get_xlabel()
    'pass over the data'
    """
    bound = np.asarray(attribute(model, "objective_history_"), dtype=float)
    history = attribute(model, "history_")
    ax = panel(ax, 6.5, 3.8)
    ax.plot(np.arange(1, len(bound) + 1), bound, color=BEST, linewidth=1.5)
    for move, (marker, colour) in MOVES.items():
        made = history[history["move"] == move]
        for kept, chosen in made.groupby("kept"):
            place = np.minimum(np.maximum(chosen["iteration"].to_numpy(), 1), len(bound))
            label = f"{move}, {'kept' if kept else 'undone'}"
            face = colour if kept else paper()
            size = 45 if kept else 22
            drawn = ax.scatter(place, bound[place - 1], marker=marker, s=size, c=face, label=label, zorder=3)
            drawn.set_edgecolor(colour)
    low, high = np.quantile(bound, [0.1, 1.0])  # the steep first passes are cut off
    ax.set_ylim(low - 0.1 * (high - low) - 1e-9, high + 0.1 * (high - low) + 1e-9)
    ax.xaxis.set_major_locator(whole_numbers())
    ax.set(xlabel="pass over the data", ylabel="bound on the log evidence")
    if ax.get_legend_handles_labels()[0]:
        ax.legend(loc="lower right")
    return figure_of(ax)
