"""Figures of how well a model's correlations agree with the data's."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.figure import Figure

from latentbits.plots.style import BEST, INK, QUIET, house_style, new_figure, shortened

__all__ = ["plot_pair_fit"]

N_COLUMNS = 12
WIDEST = 8.0


@house_style
def plot_pair_fit(found: Any) -> Figure:
    """Draw the z of all pairs beside the normal distribution, and the columns whose pairs fit worst.

    Parameters
    ----------
    found : GoodnessOfFit
        What `BinaryICA.goodness_of_fit` returns.

    Returns
    -------
    matplotlib.figure.Figure
        The figure.

    Examples
    --------
    >>> from latentbits import BinaryICA, plots, simulate
    >>> truth = simulate.binary_ica(100, 6, 2, 8, random_state=0)
    >>> model = BinaryICA(2, n_init=1, random_state=0).fit(truth.X, segments=truth.segments)
    >>> len(plots.plot_pair_fit(model.goodness_of_fit(truth.X, truth.segments)).axes)
    2
    """
    z = np.clip(found.pairs["z"].to_numpy(), -WIDEST, WIDEST)
    title = "nothing to compare" if found.rms_z is None else f"rms z {found.rms_z:.2f}"
    figure = new_figure(8, 3.2)
    left, right = figure.subplots(1, 2, width_ratios=(1.2, 1))
    left.hist(z, bins=np.linspace(-WIDEST, WIDEST, 65), density=True, color=BEST, alpha=0.7)
    line = np.linspace(-WIDEST, WIDEST, 200)
    left.plot(line, np.exp(-0.5 * line**2) / np.sqrt(2 * np.pi), color=INK, linewidth=1, label="if the model is right")
    left.set(xlabel="z of pairs of columns in segments", yticks=[], title=title)
    left.legend(fontsize=8)
    both = np.concatenate([found.pairs["left"], found.pairs["right"]])
    squares = np.tile(found.pairs["z"].to_numpy() ** 2, 2)
    names, place = np.unique(both.astype(str), return_inverse=True)
    size = np.sqrt(np.bincount(place, squares) / np.maximum(np.bincount(place), 1)) if len(names) else np.empty(0)
    worst = np.argsort(-size, kind="stable")[:N_COLUMNS][::-1]
    right.barh(range(len(worst)), size[worst], color=QUIET)
    right.axvline(1, color=INK, linewidth=0.8)
    right.set_yticks(range(len(worst)), [shortened(names[i], 22) for i in worst], fontsize=7)
    right.set(xlabel="rms z of a column's pairs", title="columns that fit worst")
    return figure
