"""Figures of an ensemble: how reliable its probabilities are, and how much each member says."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from matplotlib.ticker import NullFormatter, StrMethodFormatter

from latentbits.plots.fitted import attribute
from latentbits.plots.style import BEST, INK, QUIET, house_style, new_figure, shortened

__all__ = ["plot_member_weights", "plot_reliability"]


@house_style
def plot_reliability(model: Any) -> Figure:
    """Draw what share of hidden cells were ones against the predicted probability, and how many cells there were.

    Parameters
    ----------
    model : FalseZeros or DataFrame
        A fitted ensemble with hidden cells (``held_out_``), or the table of ``metrics.calibration_table`` of any model.

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
    figure = new_figure(4.6, 4.6)
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
    counts.bar(table["lower"], n, width=table["upper"] - table["lower"], align="edge", color=QUIET, edgecolor="white")
    counts.set(ylabel="cells", yscale="log")
    counts.yaxis.set_major_formatter(StrMethodFormatter("{x:,.0f}"))  # the usual one writes formulas
    counts.yaxis.set_minor_formatter(NullFormatter())
    return figure


@house_style
def plot_member_weights(model: Any) -> Figure:
    """Draw how much the log odds of each member count.

    Parameters
    ----------
    model : FalseZeros
        Fitted.

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
    figure = new_figure(4.6, 1.0 + 0.34 * len(names))
    ax = figure.subplots()
    ax.barh(range(len(names)), weights, color=BEST, height=0.6)
    for place, weight in enumerate(weights):
        ax.annotate(f" {weight:.2f}", (weight, place), va="center", fontsize=8, color=INK)
    ax.set_yticks(range(len(names)), [shortened(name, 28) for name in names])
    ax.set(ylim=(len(names) - 0.5, -0.5), xlim=(0, max(1.15 * float(weights.max()), 0.1)))
    ax.set_xlabel("weight of its log odds of a 1")
    return figure
