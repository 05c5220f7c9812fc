"""Figures of factor analysis: scree plots and loadings."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from latentbits.plots.style import BEST, QUIET, house_style, new_figure

__all__ = ["plot_loadings", "plot_scree"]


@house_style
def plot_scree(found: Any) -> Figure:
    """Draw the eigenvalues of a parallel analysis beside those of noise; factors end where the lines meet.

    Parameters
    ----------
    found : ParallelAnalysis
        What `parallel_analysis` returns.

    Returns
    -------
    matplotlib.figure.Figure
        The figure.

    Examples
    --------
    >>> from latentbits import parallel_analysis, plots, simulate
    >>> X = simulate.binary_ica(200, 6, 2, 2, random_state=0).X
    >>> len(plots.plot_scree(parallel_analysis(X)).axes[0].lines)
    2
    """
    place = np.arange(1, len(found.eigenvalues) + 1)
    figure = new_figure(float(np.clip(0.25 * len(place) + 3, 4, 10)), 3.2)
    ax = figure.subplots()
    ax.plot(place, found.eigenvalues, "o-", color=BEST, markersize=4, label="data")
    ax.plot(place, found.noise, "--", color=QUIET, label="independent columns")
    ax.axvspan(0.5, found.n_factors + 0.5, color=BEST, alpha=0.08, linewidth=0)
    ax.set(xlabel="factor", ylabel="eigenvalue", xlim=(0.5, len(place) + 0.5), title=f"{found.n_factors} above noise")
    ax.xaxis.set_major_locator(MaxNLocator(integer=True))
    ax.legend()
    return figure


@house_style
def plot_loadings(found: Any) -> Figure:
    """Draw the loadings of a factor analysis: a row for each column of the data, positive red, negative blue.

    Parameters
    ----------
    found : FactorSolution
        What `factor_analysis` returns, with a factor or more.

    Returns
    -------
    matplotlib.figure.Figure
        The figure.

    Examples
    --------
    >>> from latentbits import factor_analysis, plots, simulate
    >>> found = factor_analysis(simulate.binary_ica(500, 8, 2, 1, random_state=1).X, 2)
    >>> len(plots.plot_loadings(found).axes[0].get_yticklabels())
    8
    """
    table = found.to_frame()
    D, K = found.loadings.shape
    if K == 0:
        raise ValueError("there is no factor, and so no loading to draw; give a solution with one or more")
    order = np.lexsort((-np.abs(found.loadings).max(axis=1), np.abs(found.loadings).argmax(axis=1)))
    figure = new_figure(float(np.clip(0.6 * K + 3.0, 3.5, 14)), float(np.clip(0.18 * D + 1.2, 2.4, 18)))
    ax = figure.subplots()
    picture = ax.imshow(found.loadings[order], cmap="RdBu_r", vmin=-1, vmax=1, aspect="auto", interpolation="nearest")
    ax.set_yticks(range(D), [str(table.index[i])[:22] for i in order], fontsize=7)
    ax.set_xticks(range(K))
    ax.set_xlabel("factor")
    figure.colorbar(picture, ax=ax, shrink=0.6, label="loading")
    return figure
