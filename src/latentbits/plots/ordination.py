"""Rows and columns in one plane: an ordination of the weights, and how stable components are."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import ArrayLike

from latentbits.palette import SERIES
from latentbits.plots.style import (
    BEST,
    QUIET,
    Floats,
    attribute,
    figure_of,
    house_style,
    ink,
    kinds_of,
    names_of,
    panel,
    paper,
    shortened,
)

MOST_NAMED = 15
"""Okabe and Ito's colours, distinguishable with any colour vision; more groups than these repeat them."""
MARKS = ("o", "s", "^", "D", "v", "P", "X", "*")


@house_style
def plot_ordination(
    model: Any,
    *,
    groups: Sequence[object] | None = None,
    names: Sequence[object] | None = None,
    n_named: int = 10,
    ax: Axes | None = None,
) -> Figure:
    """Draw rows as dots and columns as names, near the rows in which they are expected.

    The plane is that of the first two principal components of the rows' weights, phantoms left out. A row lies at its
    weights. Where weights are shares (they sum to 1), a column lies at the mean of the rows, each counted by how
    probable the column's 1 is there, as in correspondence analysis; else it is an arrow along which it grows.

    Parameters
    ----------
    model : fitted estimator
        With `weights_` and `components_`, such as `AspectBernoulli`, `BernoulliMixture` or `LogisticPCA`.
    groups : sequence, optional
        A label for each row of the fit, shown by colour and shape.
    names : sequence, optional
        Names of the columns; by default those of the fit.
    n_named : int, default=10
        How many columns to name at most: those farthest from the middle that don't cover each other.
    ax : matplotlib.axes.Axes or None, default=None
        Where to draw; None makes a new figure.

    Returns
    -------
    matplotlib.figure.Figure
        The figure.

    Examples
    --------
    >>> from latentbits import AspectBernoulli, plots, simulate
    >>> X = simulate.aspect_bernoulli(60, 12, 3, random_state=0).X
    >>> figure = plots.plot_ordination(AspectBernoulli(3, n_init=1, random_state=0).fit(X))
    >>> figure.axes[0].get_xlabel().startswith("first axis")
    True
    """
    weights = np.asarray(attribute(model, "weights_"), dtype=float)
    components = np.asarray(attribute(model, "components_"), dtype=float)
    if weights.ndim != 2 or len(weights) < 2 or weights.shape[1] != len(components):
        raise ValueError(
            "an ordination needs weights of at least two rows; give a fitted model whose rows mix components."
        )
    if groups is not None and len(groups) != len(weights):
        raise ValueError(f"groups has {len(groups)} entries; give one for each of the model's {len(weights)} rows.")
    kept = [k for k, kind in enumerate(kinds_of(model, len(components))) if kind == "content"]
    kept = kept or list(range(len(components)))
    weights, components = weights[:, kept], components[kept]
    plane, rows, parts = _plane(weights)
    ax = panel(ax, 6.4, 5.4)
    _draw_rows(ax, rows, groups)
    labels = names_of(model, names, components.shape[1])
    if np.allclose(np.asarray(model.weights_).sum(axis=1), 1) and components.min() >= 0:
        expected = weights @ components
        columns = (expected / np.maximum(expected.sum(axis=0), 1e-12)).T @ rows
    else:
        columns = components.T @ plane
        columns *= 0.9 * np.abs(rows).max() / max(float(np.abs(columns).max()), 1e-12)
        start = np.zeros(len(columns))
        to: Any = {"angles": "xy", "scale_units": "xy", "scale": 1}
        ax.quiver(start, start, columns[:, 0], columns[:, 1], color=QUIET, width=0.003, **to)
    _name_columns(ax, columns, labels, min(n_named, MOST_NAMED))
    ax.set_xlabel(f"first axis ({parts[0]:.0%} of the weights' variance)")
    ax.set_ylabel(f"second axis ({parts[1]:.0%})")
    ax.set_title(f"{len(rows):,} rows (dots) and the most distinct columns (names)")
    return figure_of(ax)


def _plane(weights: Floats) -> tuple[Floats, Floats, Floats]:
    """Two directions, the rows' coordinates along them, and the shares of variance; zeros where there is one only."""
    centred = weights - weights.mean(axis=0)
    left, sizes, right = np.linalg.svd(centred, full_matrices=False)
    signs = np.sign(right[np.arange(len(right)), np.abs(right).argmax(axis=1)])  # so that no run is mirrored
    rows = (left * sizes * signs)[:, :2]
    parts = (sizes**2 / max(float((sizes**2).sum()), 1e-300))[:2]
    pad = 2 - rows.shape[1]
    plane = np.pad((right * signs[:, None])[:2].T, ((0, 0), (0, pad)))
    return plane, np.pad(rows, ((0, 0), (0, pad))), np.pad(parts, (0, pad))


def _draw_rows(ax: Axes, rows: Floats, groups: Sequence[object] | None) -> None:
    if groups is None:
        ax.scatter(rows[:, 0], rows[:, 1], s=12, color=QUIET, linewidths=0, alpha=0.7)
        return
    labels = np.array([str(group) for group in groups])
    for at, label in enumerate(sorted(set(labels.tolist()))):
        mark, colour = MARKS[at % len(MARKS)], SERIES[at % len(SERIES)]
        part = rows[labels == label]
        ax.scatter(
            part[:, 0],
            part[:, 1],
            s=16,
            marker=mark,
            color=colour,
            linewidths=0,
            alpha=0.75,
            label=shortened(label, 20),
        )
    ax.legend(loc="best", fontsize=8)


def _name_columns(ax: Axes, columns: Floats, labels: list[str], n_named: int) -> None:
    """Names of the columns farthest from their middle; those that would cover another are left out."""
    far = np.argsort(-np.hypot(*(columns - columns.mean(axis=0)).T), kind="stable")
    wide, high = (float(np.ptp(limits)) for limits in (ax.get_xlim(), ax.get_ylim()))
    placed: list[np.ndarray] = []
    for j in far:
        apart = np.abs(np.array(placed) - columns[j]) / [wide, high] if placed else np.empty((0, 2))
        if len(placed) == n_named or np.any((apart[:, 0] < 0.1) & (apart[:, 1] < 0.035)):
            continue
        placed.append(columns[j])
        ax.annotate(
            shortened(labels[j], 18),
            columns[j],
            ha="center",
            va="center",
            fontsize=8,
            color=ink(),
            bbox={"boxstyle": "round,pad=0.15", "facecolor": paper(), "edgecolor": "none", "alpha": 0.75},
        )


@house_style
def plot_stability(stability: ArrayLike, *, ax: Axes | None = None) -> Figure:
    """Draw how much each component is the same from other random starts.

    Parameters
    ----------
    stability : array-like of shape (n_components,)
        What `component_stability` returns: 1 is the same, 0 as alike as two different components.
    ax : matplotlib.axes.Axes or None, default=None
        Where to draw; None makes a new figure.

    Returns
    -------
    matplotlib.figure.Figure
        The figure.

    Examples
    --------
    >>> from latentbits import plots
    >>> plots.plot_stability([0.98, 0.7]).axes[0].get_ylabel()
    'component'
    """
    values = np.asarray(stability, dtype=float)
    if values.ndim != 1 or not len(values):
        raise ValueError(
            "stability has to be a list of numbers, one a component; give what component_stability returns."
        )
    ax = panel(ax, 4.6, 1.3 + 0.28 * len(values))
    ax.barh(range(len(values)), values, color=BEST, height=0.6)
    ax.set_yticks(range(len(values)), [str(k + 1) for k in range(len(values))])
    ax.set(ylim=(len(values) - 0.5, -0.5), xlim=(min(0.0, 1.05 * float(values.min())), 1.02), ylabel="component")
    ax.axvline(0, color=QUIET, linewidth=0.8)
    ax.set_xlabel("stability across restarts\n(1: the same, 0: as two different components)")
    return figure_of(ax)
