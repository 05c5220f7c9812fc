"""Figures of fits side by side: restarts, and criteria with their standard errors."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure, SubFigure

from latentbits.plots.style import (
    BEST,
    QUIET,
    Floats,
    attribute,
    canvas,
    house_style,
    ink,
    paper,
    shortened,
    whole_numbers,
)

WORDS = {
    "aic": "AIC (lower is better)",
    "bic": "BIC (lower is better)",
    "evidence": "log evidence",
    "cv": "held-out rows:\nlog-likelihood per row",
    "cells": "held-out cells:\nlog-likelihood per cell",
    "auc": "held-out cells:\narea under ROC",
}


@house_style
def plot_selection(selection: Any, *, figure: Figure | SubFigure | None = None) -> Figure:
    """Draw every criterion against the number of components, with the best and its rival, and the stability.

    Parameters
    ----------
    selection : OrderSelection
        What `select_order` returns.
    figure : matplotlib.figure.Figure, SubFigure or None, default=None
        Where to draw, preferably with ``layout="constrained"``; None makes a new one.

    Returns
    -------
    matplotlib.figure.Figure
        The figure.

    Examples
    --------
    >>> from latentbits import BernoulliMixture, select_order, simulate
    >>> X = simulate.aspect_bernoulli(60, 12, 2, random_state=0).X
    >>> found = select_order(BernoulliMixture(n_init=2), X, [2, 3], criterion="bic", random_state=0)
    >>> len(found.plot().axes)
    2
    """
    table, choices, stability = (attribute(selection, name) for name in ("table", "choices", "stability"))
    n_panels = len(choices) + bool(len(stability))
    figure = canvas(figure, 6.0, 0.6 + 2.0 * n_panels)
    axes = figure.subplots(n_panels, sharex=True, squeeze=False)[:, 0]
    for ax, choice in zip(axes, choices.itertuples(), strict=False):
        _draw_criterion(ax, table, choice)
    if len(stability):
        _draw_stability(axes[-1], stability)
    axes[-1].set_xlabel(f"number of {table.columns[0].removeprefix('n_')}")
    axes[-1].xaxis.set_major_locator(whole_numbers())
    return figure.figure


def _draw_criterion(ax: Axes, table: pd.DataFrame, choice: Any) -> None:
    name = choice.criterion
    x, y = table.iloc[:, 0].to_numpy(), table[name].to_numpy()
    error = table.get(f"{name}_behind_se", table.get(f"{name}_se"))
    ax.plot(x, y, color=QUIET, linewidth=1.2, zorder=1)
    if error is not None:
        ax.errorbar(x, y, yerr=error, fmt="none", ecolor=QUIET, elinewidth=1.2, capsize=2, zorder=1)
    ax.scatter(x, y, s=22, color=QUIET, zorder=2)
    best, rival = (int(np.flatnonzero(x == number)[0]) for number in (choice.best, choice.rival))
    ax.scatter(x[best], y[best], s=60, color=BEST, zorder=3)
    title = f"best: {choice.best}"
    if rival != best:
        ax.scatter(x[rival], y[rival], s=80, facecolors="none", edgecolors=BEST, linewidths=1.6, zorder=3)
        title += f"; as good within one standard error: {choice.rival} (ring)"
    ax.set_title(title)
    ax.set_ylabel(WORDS.get(name, name))


def _draw_stability(ax: Axes, stability: pd.DataFrame) -> None:
    """A dot for each component; those far below the others depend on the random start."""
    ax.scatter(stability.iloc[:, 0], stability["stability"], s=18, color=ink(), alpha=0.6)
    ax.axhline(0, color=QUIET, linewidth=0.8)
    ax.set_ylim(min(-0.1, 1.1 * float(stability["stability"].min())), 1.08)
    ax.set_ylabel("stability of\ncomponents")
    ax.set_title("stability across restarts: 1 the same, 0 as two different ones")


@house_style
def plot_comparison(comparison: Any, *, figure: Figure | SubFigure | None = None) -> Figure:
    """Draw the held-out scores of several models: a dot for each fold, a bar for the mean.

    Parameters
    ----------
    comparison : Comparison
        What `compare` returns.
    figure : matplotlib.figure.Figure, SubFigure or None, default=None
        Where to draw, preferably with ``layout="constrained"``; None makes a new one.

    Returns
    -------
    matplotlib.figure.Figure
        The figure.

    Examples
    --------
    >>> from latentbits import BernoulliMixture, compare, simulate
    >>> X = simulate.aspect_bernoulli(60, 12, 2, random_state=0).X
    >>> models = [BernoulliMixture(k, n_init=2) for k in (1, 2)]
    >>> figure = compare(models, X, criterion="cv", n_folds=3, random_state=0).plot()
    >>> [label.get_text() for label in figure.axes[0].get_yticklabels()]
    ['BernoulliMixture(2)', 'BernoulliMixture(1)']
    """
    table, folds = attribute(comparison, "table"), attribute(comparison, "folds")
    names = table["model"].tolist()
    criteria = [name for name in WORDS if name in set(folds["criterion"])]
    figure = canvas(figure, 2.2 + 3.2 * len(criteria), 1.2 + 0.42 * len(names))
    axes = figure.subplots(1, len(criteria), sharey=True, squeeze=False)[0]
    for ax, criterion in zip(axes, criteria, strict=True):
        chosen = folds[folds["criterion"] == criterion]
        means = chosen.groupby("model")["score"].mean()
        for place, name in enumerate(names):
            scores = chosen.loc[chosen["model"] == name, "score"]
            colour = BEST if name == means.idxmax() else ink()
            ax.scatter(scores, np.full(len(scores), place), s=16, color=QUIET, alpha=0.8, zorder=1)
            ax.plot([means[name]] * 2, [place - 0.3, place + 0.3], color=colour, linewidth=2.4, zorder=2)
        ax.set_xlabel(WORDS[criterion])
    axes[0].set_yticks(range(len(names)), [shortened(name, 28) for name in names])
    axes[0].set_ylim(len(names) - 0.5, -0.5)
    return figure.figure


# ---- figures of the restarts of a fit ----------------------------------------------------------------------------

CUT = 0.2
"""Share of the best run's first passes that may be cut off below the axis."""


@house_style
def plot_objective(model: Any, *, figure: Figure | SubFigure | None = None) -> Figure:
    """Draw the objective of every restart (a log likelihood or its bound), and how far each ended below the best.

    If many restarts end at the same value, the best is probably the global optimum; if the best is far above the
    others, use more restarts. The steep first passes are cut off, so that the end is visible.

    Parameters
    ----------
    model : estimator
        A fitted model with ``restart_histories_`` and ``restarts_``.
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
    >>> model = AspectBernoulli(2, n_init=4, random_state=0).fit(X)
    >>> figure = plots.plot_objective(model)
    >>> len(figure.axes[0].lines)
    4
    """
    histories = [np.asarray(history, dtype=float) for history in attribute(model, "restart_histories_")]
    restarts = attribute(model, "restarts_")
    finals = np.asarray(restarts["objective"], dtype=float)
    if len(finals) == 1:
        figure = canvas(figure, 6.0, 3.6)
        _draw_climbs(figure.subplots(), histories, finals)
        return figure.figure
    figure = canvas(figure, 6.0, 5.0)
    upper, lower = figure.subplots(2, height_ratios=[3.2, 1])
    _draw_climbs(upper, histories, finals)
    _draw_ends(lower, finals, np.asarray(restarts["converged"], dtype=bool))
    return figure.figure


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
    faces = [colour if done else paper() for colour, done in zip(colours, converged[order], strict=True)]
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
