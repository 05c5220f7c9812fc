"""Figures of mixing matrices, and of sources whose scale changes between segments."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.figure import Figure

from latentbits.plots.fitted import attribute, names_of
from latentbits.plots.style import BEST, QUIET, house_style, new_figure, shortened, spread

__all__ = ["plot_mixing", "plot_source_scales"]

MOST_LABELS = 120
MOST_PANELS = 12


@house_style
def plot_mixing(model: Any) -> Figure:
    """Draw a mixing matrix: a row for each variable, a column for each source or factor, positive red, negative blue.

    Variables are ordered by the source with the largest effect on them.

    Parameters
    ----------
    model : estimator
        A fitted model with ``mixing_`` (n_features x n_components).

    Returns
    -------
    matplotlib.figure.Figure
        The figure.

    Examples
    --------
    >>> from latentbits import BinaryFactorAnalysis, plots, simulate
    >>> X = simulate.binary_factors(100, 6, 2, noise=0.2, random_state=0).X
    >>> figure = plots.plot_mixing(BinaryFactorAnalysis(2, random_state=0).fit(X))
    >>> len(figure.axes[0].get_yticklabels())
    6
    """
    mixing = np.asarray(attribute(model, "mixing_"), dtype=float)
    if mixing.ndim == 2 and len(mixing) and mixing.shape[1] == 0:
        return _without_sources()
    if mixing.ndim != 2 or mixing.size == 0:
        raise ValueError(f"mixing_ has the shape {mixing.shape}; give a model with one mixing matrix that isn't empty.")
    n, m = mixing.shape
    strongest = np.abs(mixing).argmax(axis=1)
    order = np.lexsort((-np.abs(mixing).max(axis=1), strongest))
    figure = new_figure(float(np.clip(0.45 * m + 3.0, 3.5, 14)), float(np.clip(0.15 * n + 1.2, 2.4, 18)))
    ax = figure.subplots()
    largest = float(np.abs(mixing).max()) or 1.0
    picture = ax.imshow(
        mixing[order], cmap="RdBu_r", vmin=-largest, vmax=largest, aspect="auto", interpolation="nearest"
    )
    names = names_of(model, None, n)
    shown = spread(n, MOST_LABELS)
    ax.set_yticks(shown, [shortened(names[order[i]], 22) for i in shown], fontsize=7)
    ax.set_xticks(spread(m, 30))
    ax.set_xlabel("source" if getattr(model, "factor_probabilities_", None) is None else "factor")
    figure.colorbar(picture, ax=ax, shrink=0.6, label="mixing")
    return figure


@house_style
def plot_source_scales(model: Any) -> Figure:
    """Draw how the scale of each source changes over the segments, with its mean as a dotted line.

    These changes are what makes the sources identifiable.

    Parameters
    ----------
    model : estimator
        A fitted model with ``source_scales_``, ``source_means_`` and ``segments_``.

    Returns
    -------
    matplotlib.figure.Figure
        The figure.

    Examples
    --------
    >>> from latentbits import BinaryICA, plots, simulate
    >>> truth = simulate.binary_ica(100, 6, 2, 8, random_state=0)
    >>> model = BinaryICA(2, n_init=1, random_state=0).fit(truth.X, segments=truth.segments)
    >>> len(plots.plot_source_scales(model).axes)
    2
    """
    scales = np.asarray(attribute(model, "source_scales_"), dtype=float)
    means = np.asarray(attribute(model, "source_means_"), dtype=float)
    labels = [shortened(label, 10) for label in np.asarray(attribute(model, "segments_")).tolist()]
    n_segments, n_sources = scales.shape
    if n_sources == 0:
        return _without_sources()
    n = min(n_sources, MOST_PANELS)
    figure = new_figure(float(np.clip(0.16 * n_segments + 3, 5, 12)), 1.0 + 1.15 * n)
    axes = figure.subplots(n, sharex=True, squeeze=False)[:, 0]
    places = np.arange(n_segments)
    for k, ax in enumerate(axes):
        ax.plot(places, means[:, k], color=QUIET, linestyle=":", linewidth=1.2, label="mean")
        ax.plot(places, scales[:, k], color=BEST, marker="o", markersize=3, linewidth=1.2, label="scale")
        ax.axhline(0, color=QUIET, linewidth=0.6)
        ax.set_ylabel(f"source {k}")
    axes[0].legend(loc="lower right", bbox_to_anchor=(1, 1), ncols=2, fontsize=8)
    shown = spread(n_segments, 20)
    axes[-1].set_xticks(shown, [labels[i] for i in shown], rotation=45 if max(map(len, labels)) > 3 else 0)
    axes[-1].set_xlabel("segment" if n == n_sources else f"segment (the {n} strongest of {n_sources} sources)")
    return figure


def _without_sources() -> Figure:
    """What is there to draw of independent columns: the sentence."""
    figure = new_figure(4, 1)
    figure.text(0.5, 0.5, "no source was found", ha="center", va="center", color=QUIET)
    return figure
