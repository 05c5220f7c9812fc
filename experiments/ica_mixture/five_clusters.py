"""Five clusters of skewed, peaked and flat sources in two dimensions, started with 8 to 10 clusters (section 3.1)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from experiments.ica_mixture._shared import decibels, draw_decibels, recovery
from experiments.runner import Algorithm, Claim, Experiment, Reason, count_of, median_range

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd
    from matplotlib.figure import Figure

CLUSTERS = 5
KINDS = ("laplace", "uniform", "gamma", "beta", "generalised", "rectified")
PAPERS_DB = (9.0, 38.0)
TRIALS, QUICK_TRIALS = 40, 3
LATER = 20
"""From this trial on runs are judged one by one, too: the rule for it was written after the others had been run."""

SELDOM = 0.05
"""A published run is in reach if no fewer of ours are as good."""

GOAL_FOUND, GOAL_DB, GOAL_BETTER_DB = 0.95, 33.0, 35.0
HIGH = "signal to noise of the sources, mixed and recovered (as high as the paper's, to half a dB)"
REACHED = PAPERS_DB[1] - 0.5
STARTS = "best of 5 restarts"
"""The library's default."""

OURS = (
    "The mixing, the densities' shapes and that centres are at least 4 spreads apart are ours; clusters are counted by "
    "the library's criterion='clusters'."
)
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
            algorithm=Algorithm.OURS,
            setting=STARTS,
            note=OURS,
        ),
        Claim(
            result="ICA mixture 1",
            statement=HIGH,
            paper="9 -> 38 dB",
            ours=decibels(table),
            holds=max(mean, unmixed) >= REACHED,
            algorithm=Algorithm.OURS,
            setting=STARTS,
            reason=Reason.UNDERSPECIFIED,
            readings=("the mean over trials", "one run, by the better of two answers"),
            note="The paper gives neither the densities' shapes nor the mixing, on which it depends by several dB. "
            "With 200 to 400 points a cluster, the directions themselves are uncertain by more than 38 dB allows: "
            "FastICA with the clusters known doesn't get there either. " + OURS,
        ),
        *_one_run(table[table["seed"] >= LATER]),
        Claim(
            statement=f"five clusters with default settings: found in at least {100 * GOAL_FOUND:.0f} % of the trials, "
            f"{GOAL_DB:g} dB by posterior means, {GOAL_BETTER_DB:g} dB by the better one of the two answers",
            ours=f"{count_of(five)}, {mean:.1f} dB, {unmixed:.1f} dB unmixed",
            holds=five.mean() >= GOAL_FOUND and mean >= GOAL_DB and max(mean, unmixed) >= GOAL_BETTER_DB,
        ),
    ]


def _one_run(table: pd.DataFrame) -> list[Claim]:
    """The paper's averages are of one run: those of its next section, 5 and 22 dB, are the means of its Table 2."""
    if table.empty:
        return []
    found = table[["recovered_db", "unmixed_db"]].max(axis=1)
    return [
        Claim(
            result="ICA mixture 1",
            statement=f"of one run, by the better of two answers, in at least {100 * SELDOM:.0f} % of runs: {HIGH}",
            instead=True,
            algorithm=Algorithm.OURS,
            setting=STARTS,
            paper="9 -> 38 dB",
            ours=f"in {count_of(found >= REACHED)} runs; {median_range(found, 1)} dB by the better of the two answers",
            holds=(found >= REACHED).mean() >= SELDOM,
            note=f"Holds if at least {100 * SELDOM:.0f} % of our runs are as good as the paper's one. That its 38 dB "
            "is the mean over the ten sources of one run is a reading: the 5 and 22 dB of its next section are the "
            "means of Table 2, which is of one run.",
        )
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
