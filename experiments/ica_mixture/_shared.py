"""What the experiments on simulated clusters have in common: how well clusters and sources are recovered.

The paper doesn't give the shapes of its gamma, beta and generalised densities, nor the places of its clusters: ours
are those of `latentbits.simulate.ica_mixture`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from experiments.runner import mean_sd

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd
    from matplotlib.axes import Axes


def recovery(model: Any, truth: Any) -> dict[str, float]:
    """Agreement of the clusters, and signal-to-noise ratios (dB) of the sources: mixed, recovered, and by FastICA.

    Recovered by posterior means, and by the pseudo-inverse of the found mixing matrix ("unmixed").

    A source is compared, over the points that are in the right cluster, with the column (of the data, or of the
    recovered sources) that the best one-to-one matching gives it. FastICA is given the clusters and numbers of sources.
    """
    import numpy as np
    from sklearn.metrics import adjusted_rand_score

    labels = model.predict(truth.X)
    found, unmixed = (model.transform(truth.X, kind=kind) for kind in ("mean", "unmixed"))
    before, after, linear = [], [], []
    for c, sources in enumerate(truth.sources):
        own = truth.labels == c
        right = labels[own] == np.bincount(labels[own]).argmax()
        before.append(_snr(sources[right], truth.X[own][right]))
        after.append(_snr(sources[right], found[own][right]))
        linear.append(_snr(sources[right], unmixed[own][right]))
    return {
        "rand": adjusted_rand_score(truth.labels, labels),
        "mixed_db": np.concatenate(before).mean(),
        "recovered_db": np.concatenate(after).mean(),
        "unmixed_db": np.concatenate(linear).mean(),
        "worst_db": np.concatenate(after).min(),
        "fastica_db": _fastica_db(truth),
    }


def _snr(sources: np.ndarray, columns: np.ndarray) -> np.ndarray:
    """Signal-to-noise ratio of each source in its matching column, optimally scaled."""
    import numpy as np
    from scipy.optimize import linear_sum_assignment

    alive = columns[:, columns.std(axis=0) > 0]
    n = sources.shape[1]
    square = np.corrcoef(sources.T, alive.T)[:n, n:] ** 2
    sought, place = linear_sum_assignment(square, maximize=True)
    ratios = np.zeros(n)  # a source that has no column is not recovered at all
    ratios[sought] = -10 * np.log10(1 - np.minimum(square[sought, place], 1 - 1e-12))
    return ratios


def _fastica_db(truth: Any) -> float:
    import numpy as np
    from sklearn.decomposition import FastICA

    ratios = []
    for c, sources in enumerate(truth.sources):
        rival = FastICA(sources.shape[1], whiten="unit-variance", max_iter=2000, tol=1e-3, random_state=0)
        ratios.append(_snr(sources, rival.fit_transform(truth.X[truth.labels == c])))
    return float(np.concatenate(ratios).mean())


def decibels(table: pd.DataFrame) -> str:
    """Before and after, and what FastICA reaches with the clusters known."""
    names = "mixed_db", "recovered_db", "unmixed_db", "fastica_db"
    mixed, found, linear, rival = (mean_sd(table[name], 1) for name in names)
    return f"{mixed} -> {found} dB, unmixed {linear}, {len(table)} trials (FastICA told the clusters: {rival})"


def draw_decibels(axes: Axes, table: pd.DataFrame, paper: tuple[float, float]) -> None:
    """Mixed and recovered, trial by trial, with the paper's averages as dashed lines."""
    from latentbits.plots.style import BEST, QUIET, whole_numbers

    for name, label, colour, value in (
        ("mixed_db", "mixed", QUIET, paper[0]),
        ("recovered_db", "recovered", BEST, paper[1]),
    ):
        axes.plot(table["seed"], table[name], "o", color=colour, label=label)
        axes.axhline(value, color=colour, linestyle="--", linewidth=1)
    axes.plot(table["seed"], table["fastica_db"], "x", color="#e69f00", label="FastICA, clusters known")
    axes.set(xlabel="trial", ylabel="signal to noise (dB)", title="Sources (dashed: the paper's averages)")
    axes.set_ylim(0, max(paper[1], table["fastica_db"].max()) + 4)
    axes.xaxis.set_major_locator(whole_numbers())
    axes.legend(ncols=3, loc="upper center", bbox_to_anchor=(0.5, -0.18))
