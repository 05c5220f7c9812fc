"""Figures of factor analysis: scree plots and loadings."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from latentbits.plots.style import BEST, QUIET, house_style, new_figure

__all__ = ["plot_scree"]


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
