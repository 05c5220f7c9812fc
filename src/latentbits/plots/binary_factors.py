"""Figures of binary factors: in which rows they are on, and how many of them there are."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import ArrayLike

from latentbits.plots.fitted import attribute
from latentbits.plots.style import BEST, QUIET, house_style, new_figure, spread, whole_numbers

__all__ = ["plot_causes", "plot_projections", "plot_sizes"]

MOST_ROWS = 2000
"""Rows that are drawn one by one, at most; of more an even part is."""


@house_style
def plot_causes(model: Any, X: ArrayLike) -> Figure:
    """Draw in which rows each factor is on: a line for each factor, the rows from left to right as in the table.

    Parameters
    ----------
    model : estimator
        A fitted model with ``factor_probabilities_`` and ``predict_proba``.
    X : array-like of shape (n_rows, n_features)
        The rows.

    Returns
    -------
    matplotlib.figure.Figure
        The figure.

    Examples
    --------
    >>> from latentbits import BinaryFactorAnalysis, plots, simulate
    >>> X = simulate.binary_factors(100, 6, 2, noise=0.2, random_state=0).X
    >>> figure = plots.plot_causes(BinaryFactorAnalysis(2, random_state=0).fit(X), X)
    >>> [label.get_text() for label in figure.axes[0].get_yticklabels()]
    ['factor 0, 48 %', 'factor 1, 43 %']
    """
    shares = np.asarray(attribute(model, "factor_probabilities_"), dtype=float)
    if len(shares) == 0:
        raise ValueError("the model has no factor; give one that found any")
    probabilities = np.asarray(model.predict_proba(X), dtype=float)
    drawn = spread(len(probabilities), MOST_ROWS)
    figure = new_figure(8.0, 0.9 + 0.32 * len(shares))
    ax = figure.subplots()
    # Numbered from the row's own place, so that ticks are rows.
    box = (-0.5, len(probabilities) - 0.5, len(shares) - 0.5, -0.5)
    ax.imshow(probabilities[drawn].T, cmap="Blues", vmin=0, vmax=1, aspect="auto", interpolation="nearest", extent=box)
    ax.set_yticks(range(len(shares)), [f"factor {k}, {100 * share:.0f} %" for k, share in enumerate(shares)])
    ax.hlines(np.arange(1, len(shares)) - 0.5, *ax.get_xlim(), color="white", linewidth=2)
    ax.tick_params(axis="y", length=0)
    ax.xaxis.set_major_locator(whole_numbers())
    ax.set(xlabel="row (dark: on)")
    return figure


@house_style
def plot_projections(model: Any, X: ArrayLike) -> Figure:
    """Draw how rows lie between the two states of each factor: two humps where it is on and off, one where it isn't.

    Parameters
    ----------
    model : estimator
        A fitted ``BinaryFactorAnalysis`` with at least one factor.
    X : array-like of shape (n_rows, n_features)
        The rows.

    Returns
    -------
    matplotlib.figure.Figure
        A histogram for each factor, with the density that the model expects as a line.

    Examples
    --------
    >>> from latentbits import BinaryFactorAnalysis, plots, simulate
    >>> X = simulate.binary_factors(100, 6, 2, noise=0.2, random_state=0).X
    >>> figure = plots.plot_projections(BinaryFactorAnalysis(2, random_state=0).fit(X), X)
    >>> [ax.get_title(loc="left") for ax in figure.axes]
    ['factor 0', 'factor 1']
    """
    shares = np.asarray(attribute(model, "factor_probabilities_"), dtype=float)
    if len(shares) == 0:
        raise ValueError("the model has no factor; give one that found any")
    values = np.asarray(model.projections(X), dtype=float)
    weighted = model.mixing_ * np.sqrt(np.broadcast_to(model.noise_precision_, len(model.mixing_)))[:, None]
    variance = np.diag(np.linalg.pinv(weighted.T @ weighted, hermitian=True))
    figure = new_figure(2.2 * min(len(shares), 4) + 0.6, 1.9 * -(-len(shares) // 4) + 0.3)
    panels = figure.subplots(-(-len(shares) // 4), min(len(shares), 4), squeeze=False)
    for k, ax in enumerate(panels.flat):
        if k >= len(shares):
            ax.set_visible(False)
            continue
        reach = min(8.0, max(2.0, float(np.nanmax(np.abs(values[:, k])))))
        ax.hist(values[:, k], bins=np.linspace(-reach, reach, 41), density=True, color=QUIET)
        grid, sd = np.linspace(-reach, reach, 200), float(np.sqrt(max(variance[k], 1e-6)))
        heights = [np.exp(-(((grid - state) / sd) ** 2) / 2) / (sd * np.sqrt(2 * np.pi)) for state in (1, -1)]
        ax.plot(grid, shares[k] * heights[0] + (1 - shares[k]) * heights[1], color=BEST, linewidth=1.2)
        ax.set(title=f"factor {k}", yticks=[])
        ax.set_xticks([-1, 1], ["off", "on"])
    return figure


@house_style
def plot_sizes(model: Any) -> Figure:
    """Draw BIC against the number of factors, minus that of the best number.

    Parameters
    ----------
    model : estimator
        A fitted model with ``sizes_``, as ``BinaryFactorAnalysis(inference="auto")`` has.

    Returns
    -------
    matplotlib.figure.Figure
        The figure.

    Examples
    --------
    >>> from latentbits import BinaryFactorAnalysis, plots, simulate
    >>> X = simulate.binary_factors(100, 6, 2, noise=0.2, random_state=0).X
    >>> figure = plots.plot_sizes(BinaryFactorAnalysis(4, random_state=0).fit(X))
    >>> figure.axes[0].get_title(loc="left")
    'best: 2'
    """
    sizes = attribute(model, "sizes_")
    if len(sizes) == 0:
        raise ValueError('only inference="auto" compares numbers of factors; give a model fitted with it')
    number, bic = sizes["n_components"].to_numpy(), sizes["bic"].to_numpy()
    best = int(bic.argmin())
    figure = new_figure(5.5, 3.0)
    ax = figure.subplots()
    ax.plot(number, bic - bic[best], color=QUIET, linewidth=1.2, marker="o", markersize=4)
    ax.scatter(number[best], 0.0, s=60, color=BEST, zorder=3)
    ax.set(title=f"best: {number[best]}", xlabel="number of factors", ylabel="BIC minus the smallest")
    ax.xaxis.set_major_locator(whole_numbers())
    return figure
