"""Figures of mixing matrices, sources, binary factors, and of how well correlations are explained."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure, SubFigure
from matplotlib.ticker import MaxNLocator
from numpy.typing import ArrayLike

from latentbits.plots.style import (
    AROUND_ZERO,
    BEST,
    QUIET,
    VALUES,
    attribute,
    canvas,
    figure_of,
    house_style,
    ink,
    names_of,
    panel,
    shortened,
    spread,
    whole_numbers,
)

MOST_LABELS = 120
MOST_PANELS = 12


@house_style
def plot_mixing(model: Any, *, ax: Axes | None = None) -> Figure:
    """Draw a mixing matrix: a row for each variable, a column for each source or factor, positive red, negative blue.

    Variables are ordered by the source with the largest effect on them.

    Parameters
    ----------
    model : estimator
        A fitted model with ``mixing_`` (n_features x n_components).
    ax : matplotlib.axes.Axes or None, default=None
        Where to draw; None makes a new figure.

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
        return figure_of(_without_sources(panel(ax, 4, 1)))
    if mixing.ndim != 2 or mixing.size == 0:
        raise ValueError(f"mixing_ has the shape {mixing.shape}; give a model with one mixing matrix that isn't empty.")
    n, m = mixing.shape
    strongest = np.abs(mixing).argmax(axis=1)
    order = np.lexsort((-np.abs(mixing).max(axis=1), strongest))
    ax = panel(ax, float(np.clip(0.45 * m + 3.0, 3.5, 14)), float(np.clip(0.15 * n + 1.2, 2.4, 18)))
    largest = float(np.abs(mixing).max()) or 1.0
    picture = ax.imshow(
        mixing[order], cmap=AROUND_ZERO, vmin=-largest, vmax=largest, aspect="auto", interpolation="nearest"
    )
    names = names_of(model, None, n)
    shown = spread(n, MOST_LABELS)
    ax.set_yticks(shown, [shortened(names[order[i]], 22) for i in shown], fontsize=7)
    ax.set_xticks(spread(m, 30), spread(m, 30) + 1)
    ax.set_xlabel("source" if getattr(model, "factor_probabilities_", None) is None else "factor")
    ax.figure.colorbar(picture, ax=ax, shrink=0.6, label="mixing")
    return figure_of(ax)


@house_style
def plot_source_scales(model: Any, *, figure: Figure | SubFigure | None = None) -> Figure:
    """Draw how the scale of each source changes over the segments, with its mean as a dotted line.

    These changes are what makes the sources identifiable.

    Parameters
    ----------
    model : estimator
        A fitted model with ``source_scales_``, ``source_means_`` and ``segments_``.
    figure : matplotlib.figure.Figure, SubFigure or None, default=None
        Where to draw, preferably with ``layout="constrained"``; None makes a new one.

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
        return figure_of(_without_sources(canvas(figure, 4, 1).subplots()))
    n = min(n_sources, MOST_PANELS)
    figure = canvas(figure, float(np.clip(0.16 * n_segments + 3, 5, 12)), 1.0 + 1.15 * n)
    axes = figure.subplots(n, sharex=True, squeeze=False)[:, 0]
    places = np.arange(n_segments)
    for k, ax in enumerate(axes):
        ax.plot(places, means[:, k], color=QUIET, linestyle=":", linewidth=1.2, label="mean")
        ax.plot(places, scales[:, k], color=BEST, marker="o", markersize=3, linewidth=1.2, label="scale")
        ax.axhline(0, color=QUIET, linewidth=0.6)
        ax.set_ylabel(f"source {k + 1}")
    axes[0].legend(loc="lower right", bbox_to_anchor=(1, 1), ncols=2, fontsize=8)
    shown = spread(n_segments, 20)
    axes[-1].set_xticks(shown, [labels[i] for i in shown], rotation=45 if max(map(len, labels)) > 3 else 0)
    axes[-1].set_xlabel("segment" if n == n_sources else f"segment (the {n} strongest of {n_sources} sources)")
    return figure.figure


def _without_sources(ax: Axes) -> Axes:
    """What is there to draw of independent columns: the sentence."""
    ax.text(0.5, 0.5, "no source was found", ha="center", va="center", color=QUIET, transform=ax.transAxes)
    ax.set_axis_off()
    return ax


# ---- figures of binary factors -----------------------------------------------------------------------------------

MOST_ROWS = 2000
"""Rows that are drawn one by one, at most; of more an even part is."""


@house_style
def plot_causes(model: Any, X: ArrayLike, *, ax: Axes | None = None) -> Figure:
    """Draw in which rows each factor is on: a line for each factor, the rows from left to right as in the table.

    Parameters
    ----------
    model : estimator
        A fitted model with ``factor_probabilities_`` and ``predict_proba``.
    X : array-like of shape (n_rows, n_features)
        The rows.
    ax : matplotlib.axes.Axes or None, default=None
        Where to draw; None makes a new figure.

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
    ['factor 1, 48 %', 'factor 2, 43 %']
    """
    shares = np.asarray(attribute(model, "factor_probabilities_"), dtype=float)
    if len(shares) == 0:
        raise ValueError("the model has no factor; give one that found any")
    probabilities = np.asarray(model.predict_proba(X), dtype=float)
    drawn = spread(len(probabilities), MOST_ROWS)
    ax = panel(ax, 8.0, 0.9 + 0.32 * len(shares))
    # Numbered from the row's own place, so that ticks are rows.
    box = (-0.5, len(probabilities) - 0.5, len(shares) - 0.5, -0.5)
    ax.imshow(probabilities[drawn].T, cmap=VALUES, vmin=0, vmax=1, aspect="auto", interpolation="nearest", extent=box)
    ax.set_yticks(range(len(shares)), [f"factor {k + 1}, {100 * share:.0f} %" for k, share in enumerate(shares)])
    ax.hlines(np.arange(1, len(shares)) - 0.5, *ax.get_xlim(), color="white", linewidth=2)
    ax.tick_params(axis="y", length=0)
    ax.xaxis.set_major_locator(whole_numbers())
    ax.set(xlabel="row (dark: on)")
    return figure_of(ax)


@house_style
def plot_projections(model: Any, X: ArrayLike, *, figure: Figure | SubFigure | None = None) -> Figure:
    """Draw how rows lie between the two states of each factor: two humps where it is on and off, one where it isn't.

    Parameters
    ----------
    model : estimator
        A fitted ``BinaryFactorAnalysis`` with at least one factor.
    X : array-like of shape (n_rows, n_features)
        The rows.
    figure : matplotlib.figure.Figure, SubFigure or None, default=None
        Where to draw, preferably with ``layout="constrained"``; None makes a new one.

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
    ['factor 1', 'factor 2']
    """
    shares = np.asarray(attribute(model, "factor_probabilities_"), dtype=float)
    if len(shares) == 0:
        raise ValueError("the model has no factor; give one that found any")
    values = np.asarray(model.projections(X), dtype=float)
    weighted = model.mixing_ * np.sqrt(np.broadcast_to(model.noise_precision_, len(model.mixing_)))[:, None]
    variance = np.diag(np.linalg.pinv(weighted.T @ weighted, hermitian=True))
    figure = canvas(figure, 2.2 * min(len(shares), 4) + 0.6, 1.9 * -(-len(shares) // 4) + 0.3)
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
        ax.set(title=f"factor {k + 1}", yticks=[])
        ax.set_xticks([-1, 1], ["off", "on"])
    return figure.figure


@house_style
def plot_sizes(model: Any, *, ax: Axes | None = None) -> Figure:
    """Draw BIC against the number of factors, minus that of the best number.

    Parameters
    ----------
    model : estimator
        A fitted model with ``sizes_``, as ``BinaryFactorAnalysis(inference="auto")`` has.
    ax : matplotlib.axes.Axes or None, default=None
        Where to draw; None makes a new figure.

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
    ax = panel(ax, 5.5, 3.0)
    ax.plot(number, bic - bic[best], color=QUIET, linewidth=1.2, marker="o", markersize=4)
    ax.scatter(number[best], 0.0, s=60, color=BEST, zorder=3)
    ax.set(title=f"best: {number[best]}", xlabel="number of factors", ylabel="BIC minus the smallest")
    ax.xaxis.set_major_locator(whole_numbers())
    return figure_of(ax)


# ---- figures of factor analysis ----------------------------------------------------------------------------------


@house_style
def plot_scree(found: Any, *, ax: Axes | None = None) -> Figure:
    """Draw the eigenvalues of a parallel analysis beside those of chance; factors end where the lines meet.

    Parameters
    ----------
    found : ParallelAnalysis
        What `parallel_analysis` returns.
    ax : matplotlib.axes.Axes or None, default=None
        Where to draw; None makes a new figure.

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
    ax = panel(ax, float(np.clip(0.25 * len(place) + 3, 4, 10)), 3.2)
    ax.plot(place, found.eigenvalues, "o-", color=BEST, markersize=4, label="data")
    ax.plot(place, found.noise, "--", color=QUIET, label="by chance")
    ax.axvspan(0.5, found.n_factors + 0.5, color=BEST, alpha=0.08, linewidth=0)
    ax.set(xlabel="factor", ylabel="eigenvalue", xlim=(0.5, len(place) + 0.5), title=f"{found.n_factors} above chance")
    ax.xaxis.set_major_locator(MaxNLocator(integer=True))
    ax.legend()
    return figure_of(ax)


@house_style
def plot_loadings(found: Any, *, ax: Axes | None = None) -> Figure:
    """Draw the loadings of a factor analysis: a row for each column of the data, positive red, negative blue.

    Parameters
    ----------
    found : FactorSolution
        What `factor_analysis` returns, with a factor or more.
    ax : matplotlib.axes.Axes or None, default=None
        Where to draw; None makes a new figure.

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
    ax = panel(ax, float(np.clip(0.6 * K + 3.0, 3.5, 14)), float(np.clip(0.18 * D + 1.2, 2.4, 18)))
    picture = ax.imshow(
        found.loadings[order], cmap=AROUND_ZERO, vmin=-1, vmax=1, aspect="auto", interpolation="nearest"
    )
    ax.set_yticks(range(D), [str(table.index[i])[:22] for i in order], fontsize=7)
    ax.set_xticks(range(K), [str(k + 1) for k in range(K)])
    ax.set_xlabel("factor")
    ax.figure.colorbar(picture, ax=ax, shrink=0.6, label="loading")
    return figure_of(ax)


# ---- figures of how well a model's correlations agree with the data's --------------------------------------------

N_COLUMNS = 12
WIDEST = 8.0


@house_style
def plot_pair_fit(found: Any, *, figure: Figure | SubFigure | None = None) -> Figure:
    """Draw the z of all pairs beside the normal distribution, and the columns whose pairs fit worst.

    Parameters
    ----------
    found : GoodnessOfFit
        What `BinaryICA.goodness_of_fit` returns.
    figure : matplotlib.figure.Figure, SubFigure or None, default=None
        Where to draw, preferably with ``layout="constrained"``; None makes a new one.

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
    figure = canvas(figure, 8, 3.2)
    left, right = figure.subplots(1, 2, width_ratios=(1.2, 1))
    left.hist(z, bins=np.linspace(-WIDEST, WIDEST, 65), density=True, color=BEST, alpha=0.7)
    line = np.linspace(-WIDEST, WIDEST, 200)
    left.plot(
        line, np.exp(-0.5 * line**2) / np.sqrt(2 * np.pi), color=ink(), linewidth=1, label="if the model is right"
    )
    left.set(xlabel="z of pairs of columns in segments", yticks=[], title=title)
    left.legend(fontsize=8)
    both = np.concatenate([found.pairs["left"], found.pairs["right"]])
    squares = np.tile(found.pairs["z"].to_numpy() ** 2, 2)
    names, place = np.unique(both.astype(str), return_inverse=True)
    size = np.sqrt(np.bincount(place, squares) / np.maximum(np.bincount(place), 1)) if len(names) else np.empty(0)
    worst = np.argsort(-size, kind="stable")[:N_COLUMNS][::-1]
    right.barh(range(len(worst)), size[worst], color=QUIET)
    right.axvline(1, color=ink(), linewidth=0.8)
    right.set_yticks(range(len(worst)), [shortened(names[i], 22) for i in worst], fontsize=7)
    right.set(xlabel="rms z of a column's pairs", title="columns that fit worst")
    return figure.figure
