"""Figures of components."""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil, sqrt
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from latentbits.plots.fitted import Floats, components_of, kinds_of, names_of, shares_of, titles_of
from latentbits.plots.style import INK, KINDS, house_style, new_figure, remove_frame, shortened

__all__ = ["plot_components"]


TICK: dict[str, Any] = {
    "marker": "|",
    "markersize": 11,
    "markeredgewidth": 1.8,
    "color": INK,
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
        return _pictures(model, components, shape)
    if top < 1:
        raise ValueError(f"top is {top}; draw at least 1 bar for each component.")
    return _bars(model, components, names_of(model, names, components.shape[1]), top)


def _n_wide(n_panels: int) -> int:
    """How many panels to put side by side."""
    return n_panels if n_panels <= 3 else ceil(sqrt(n_panels))


def _panels(model: Any, n_panels: int, size: tuple[float, float], separator: str) -> tuple[Figure, list[Axes]]:
    """A figure with a titled panel of `size` inches for each component, phantoms in their colour."""
    n_wide = _n_wide(n_panels)
    n_high = ceil(n_panels / n_wide)
    figure = new_figure(n_wide * size[0] + 0.8, n_high * size[1] + 0.6)
    grid = figure.add_gridspec(n_high, n_wide)
    panels = [figure.add_subplot(grid[divmod(k, n_wide)]) for k in range(n_panels)]
    titles = titles_of(model, n_panels, separator)
    for ax, title, kind in zip(panels, titles, kinds_of(model, n_panels), strict=True):
        weight = "normal" if kind == "content" else "bold"
        ax.set_title(title, color=KINDS[kind].text, fontweight=weight, fontsize=9)
    return figure, panels


def _pictures(model: Any, components: Floats, shape: tuple[int, int]) -> Figure:
    n_components, n_columns = components.shape
    if shape[0] * shape[1] != n_columns:
        raise ValueError(f"shape is {shape}, {shape[0] * shape[1]} cells, but a component has {n_columns} columns.")
    height = float(np.clip(1.4 * shape[0] / shape[1], 0.3, 4.0))
    figure, panels = _panels(model, n_components, (1.5, height + 0.5), "\n")
    for ax, component, kind in zip(panels, components, kinds_of(model, n_components), strict=True):
        picture = ax.imshow(component.reshape(shape), cmap="Greys", vmin=0, vmax=1, aspect="equal")
        remove_frame(ax)
        if kind != "content":
            ax.spines[:].set(color=KINDS[kind].mark, linewidth=2.5)
    scale = figure.colorbar(picture, ax=panels, label="probability of a 1", aspect=25, shrink=0.6)
    scale.outline.set_visible(False)
    return figure


def _bars(model: Any, components: Floats, names: list[str], top: int) -> Figure:
    n_components, n_columns = components.shape
    n_bars = min(top, n_columns)
    labels = [shortened(name) for name in names]
    width = max(2.8, 2.4 + 0.07 * max(map(len, labels)))
    figure, panels = _panels(model, n_components, (width, 0.2 * n_bars + 0.7), ", ")
    kinds = kinds_of(model, n_components)
    shares = shares_of(model)
    mean = None if shares is None else shares @ components
    for ax, component, kind in zip(panels, components, kinds, strict=True):
        strongest = _strongest(component, mean)[:n_bars]
        ax.barh(np.arange(n_bars), component[strongest], height=0.7, color=KINDS[kind].mark)
        if mean is not None:
            ax.plot(mean[strongest], np.arange(n_bars), **TICK)
        ax.set_yticks(np.arange(n_bars), [labels[j] for j in strongest], fontsize=8)
        ax.tick_params(axis="y", length=0)
        ax.set(xlim=(0, min(1.0, 1.1 * components.max()) or 1.0), ylim=(n_bars - 0.4, -0.6))
    for ax in panels[-_n_wide(n_components) :]:
        ax.set_xlabel("probability of a 1")
    figure.legend(handles=_key(kinds, mean is not None), loc="outside lower center", ncols=4)
    return figure


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
    return [*key, Line2D([], [], label="model's mean over all rows", **TICK)] if has_mean else key
