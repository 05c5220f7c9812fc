"""Figures of the restarts of a fit."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from latentbits.plots.fitted import Floats, attribute
from latentbits.plots.style import BEST, QUIET, house_style, new_figure, whole_numbers

__all__ = ["plot_objective"]

CUT = 0.2
"""Share of the best run's first passes that may be cut off below the axis."""


@house_style
def plot_objective(model: Any) -> Figure:
    """Draw the objective of every restart (a log likelihood or its bound), and how far each ended below the best.

    If many restarts end at the same value, the best is probably the global optimum; if the best is far above the
    others, use more restarts. The steep first passes are cut off, so that the end is visible.

    Parameters
    ----------
    model : estimator
        A fitted model with ``restart_histories_`` and ``restarts_``.

    Returns
    -------
    matplotlib.figure.Figure
        The figure.

    Examples
    --------
    >>> from latentbits import AspectBernoulli, plots, simulate
    >>> X = simulate.aspect_bernoulli(100, 12, 2, random_state=0).X
    >>> model = AspectBernoulli(2, n_init=4, random_state=0).fit(X)
    >>> figure = plots.plot_objective(model)
    >>> len(figure.axes[0].lines)
    4
    """
    histories = [np.asarray(history, dtype=float) for history in attribute(model, "restart_histories_")]
    restarts = attribute(model, "restarts_")
    finals = np.asarray(restarts["objective"], dtype=float)
    if len(finals) == 1:
        figure = new_figure(6.0, 3.6)
        _draw_climbs(figure.subplots(), histories, finals)
        return figure
    figure = new_figure(6.0, 5.0)
    upper, lower = figure.subplots(2, height_ratios=[3.2, 1])
    _draw_climbs(upper, histories, finals)
    _draw_ends(lower, finals, np.asarray(restarts["converged"], dtype=bool))
    return figure


def _draw_climbs(ax: Axes, histories: list[Floats], finals: Floats) -> None:
    best = int(np.argmax(finals))
    others = [run for run in range(len(finals)) if run != best]
    for run in others:
        _draw_climb(ax, histories[run], color=QUIET, linewidth=1.0)
    _draw_climb(ax, histories[best], color=BEST, linewidth=2.2)
    bottom, top = _end_of(histories[best], finals)
    margin = 0.06 * (top - bottom) or 1.0
    ax.set_ylim(bottom - margin, top + margin)
    ax.xaxis.set_major_locator(whole_numbers())
    ax.set(xlabel="pass over the data", ylabel="objective")
    if others:
        ax.legend([ax.lines[-1], ax.lines[0]], [f"best of {len(finals)} restarts", "others"], loc="lower right")


def _draw_climb(ax: Axes, history: Floats, **style: Any) -> None:
    marker = "o" if len(history) == 1 else ""
    ax.plot(np.arange(1, len(history) + 1), history, marker=marker, **style)


def _end_of(best: Floats, finals: Floats) -> tuple[float, float]:
    """The range of the best run's later passes and of the final values of all runs."""
    ends = np.concatenate([best[int(CUT * len(best)) :], finals])
    ends = ends[np.isfinite(ends)]
    return (float(ends.min()), float(ends.max())) if len(ends) else (0.0, 0.0)


def _draw_ends(ax: Axes, finals: Floats, converged: np.ndarray) -> None:
    """A dot for each run, the best on top; hollow if it ran out of passes."""
    order = np.argsort(-finals, kind="stable")
    behind = finals[order] - finals.max()
    colours = [BEST] + [QUIET] * (len(finals) - 1)
    faces = [colour if done else "white" for colour, done in zip(colours, converged[order], strict=True)]
    ax.scatter(behind, np.arange(len(finals)), s=36, c=faces, edgecolors=colours, linewidths=1.5, clip_on=False)
    ax.set(
        xlabel="end of each restart: objective minus that of the best",
        yticks=[],
        ylim=(len(finals) - 0.5, -0.5),
    )
    ax.spines["left"].set_visible(False)
    ax.set_xlim(1.05 * behind.min() or -1.0, 0)
    if not converged.all():
        ax.set_title("hollow: ran out of passes", fontsize=9)
