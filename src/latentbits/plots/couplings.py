"""Figures of what columns say about each other."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.figure import Figure
from scipy.cluster.hierarchy import leaves_list, linkage
from scipy.spatial.distance import squareform

from latentbits.plots.fitted import Floats, attribute, names_of
from latentbits.plots.style import house_style, new_figure, shortened

__all__ = ["plot_couplings"]

MOST_COLUMNS = 60
"""More can't be told apart: those with the strongest couplings are drawn."""


@house_style
def plot_couplings(model: Any) -> Figure:
    """Draw the couplings of columns as a matrix, positive red, negative blue, coupled columns side by side.

    Of many columns the 60 with the strongest couplings are shown.

    Parameters
    ----------
    model : estimator
        A fitted model with ``couplings_`` (n_features x n_features): row j, column k is what column j says about
        column k.

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
    figure = new_figure(width, width - 0.6)
    ax = figure.subplots()
    largest = float(np.abs(shown).max()) or 1.0
    picture = ax.imshow(shown, cmap="RdBu_r", vmin=-largest, vmax=largest, interpolation="nearest")
    labels = [shortened(names[j], 22) for j in order]
    ax.set_yticks(range(len(order)), labels, fontsize=7)
    ax.set_xticks(range(len(order)), labels, fontsize=7, rotation=90)
    if not np.array_equal(couplings, couplings.T):
        ax.set(ylabel="what this column", xlabel="says about this one")
    figure.colorbar(picture, ax=ax, shrink=0.6, label="coupling")
    return figure


def _side_by_side(size: Floats) -> np.ndarray:
    """The columns in the order of a tree that joins the most strongly coupled ones first."""
    if len(size) < 3:
        return np.arange(len(size))
    distance = size.max() - size
    np.fill_diagonal(distance, 0.0)
    return np.asarray(leaves_list(linkage(squareform(distance, checks=False), "average")))
