"""Five clusters of skewed, peaked and flat sources in two dimensions, started with 8 to 10 clusters (section 3.1)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from experiments.ica_mixture._shared import decibels, draw_decibels, recovery
from experiments.runner import Claim, Experiment, count_of

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd
    from matplotlib.figure import Figure

CLUSTERS = 5
KINDS = ("laplace", "uniform", "gamma", "beta", "generalised", "rectified")
PAPERS_DB = (9.0, 38.0)
TRIALS, QUICK_TRIALS = 20, 3
GOAL_FOUND, GOAL_DB, GOAL_BETTER_DB = 19, 33.0, 35.0
DRAWN = 0
"""The trial that is drawn."""


def jobs(full: bool) -> list[dict[str, Any]]:
    return [{"begun": 8 + seed % 3, "seed": seed} for seed in range(TRIALS if full else QUICK_TRIALS)]


def run(begun: int, seed: int) -> list[dict[str, Any]]:
    import numpy as np

    from latentbits import ICAMixture, simulate

    rng = np.random.default_rng(seed)
    mixing = [_random_mixing(rng) for _ in range(CLUSTERS)]
    truth = simulate.ica_mixture(mixing, n_points=(200, 400), kinds=KINDS, noise_db=-50, random_state=rng)
    model = ICAMixture(begun, 2, random_state=seed).fit(truth.X)
    row = {"found": model.n_clusters_, **recovery(model, truth)}
    return [{**row, **_picture(model, truth.X)} if seed == DRAWN else row]


def _random_mixing(rng: np.random.Generator) -> np.ndarray:
    """Two columns of length 0.6 to 1.6, not nearly parallel."""
    import numpy as np

    while True:
        A = rng.normal(size=(2, 2))
        A *= rng.uniform(0.6, 1.6, size=2) / np.linalg.norm(A, axis=0)
        if np.linalg.cond(A) < 5:
            return A


def _picture(model: Any, X: np.ndarray) -> dict[str, Any]:
    """What the figures of one fit need."""
    return {
        "_points": X,
        "_labels": model.labels_,
        "_sources": model.transform(X),
        "_mixing": model.mixing_,
        "_means": model.means_,
        "_n_sources": model.n_sources_,
        "_bound": model.objective_history_,
        "_moves": model.history_[["iteration", "move", "kept"]].to_dict("list"),
    }


def judge(table: pd.DataFrame) -> list[Claim]:
    five = table["found"] == CLUSTERS
    mean, unmixed = table["recovered_db"].mean(), table["unmixed_db"].mean()
    return [
        Claim(
            result="ICA mixture 1",
            statement="five clusters found, started with 8 to 10",
            paper="on most trials",
            ours=f"{count_of(five)} trials",
            holds=five.mean() > 0.5,
        ),
        Claim(
            result="ICA mixture 1",
            statement="signal to noise of the sources, mixed and recovered (as high as the paper's, to half a dB)",
            paper="9 -> 38 dB",
            ours=decibels(table),
            holds=max(mean, unmixed) >= PAPERS_DB[1] - 0.5,
            note="The paper gives neither the densities' shapes nor the mixing. With 200 to 400 points a cluster, the "
            "directions themselves are uncertain by more than 38 dB allows: FastICA with the clusters known "
            "doesn't get there either.",
        ),
        Claim(
            statement=f"five clusters with default settings: found in at least {GOAL_FOUND} of {TRIALS}, "
            f"{GOAL_DB:g} dB by posterior means, {GOAL_BETTER_DB:g} dB by the better one of the two answers",
            ours=f"{count_of(five)}, {mean:.1f} dB, {unmixed:.1f} dB unmixed",
            holds=five.sum() >= GOAL_FOUND and mean >= GOAL_DB and max(mean, unmixed) >= GOAL_BETTER_DB,
        ),
    ]


def draw(table: pd.DataFrame) -> dict[str, Figure]:
    from types import SimpleNamespace

    import numpy as np
    import pandas as pd

    from latentbits.plots import plot_bound, plot_clusters
    from latentbits.plots.style import new_figure

    figure = new_figure(5.5, 3.8)
    draw_decibels(figure.subplots(), table, PAPERS_DB)
    one = table[table["seed"] == DRAWN].iloc[0]
    fit = SimpleNamespace(
        mixing_=np.asarray(one["_mixing"]),
        means_=np.asarray(one["_means"]),
        n_sources_=one["_n_sources"],
        objective_history_=one["_bound"],
        history_=pd.DataFrame(one["_moves"]),
        predict=lambda X: np.asarray(one["_labels"]),
        transform=lambda X: np.asarray(one["_sources"]),
    )
    return {"snr": figure, "clusters": plot_clusters(fit, one["_points"]), "bound": plot_bound(fit)}


EXPERIMENT = Experiment(
    title="Five clusters in two dimensions, started with too many",
    results=("ICA mixture 1",),
    jobs=jobs,
    run=run,
    judge=judge,
    draw=draw,
)
