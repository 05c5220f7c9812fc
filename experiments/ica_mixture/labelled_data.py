"""Clusters of data whose labels the fits don't see: ICAMixture at its defaults compared with mixtures of Gaussians.

One setting for all data, the default; nothing was chosen on the seeds that are reported. (That sources which are
switched off cost the bound nothing, and that up to six are tried, was decided by bounds on seed 0 and on simulated
clusters of four sources in twelve columns.)
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from experiments.runner import Claim, Experiment

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd

OURS, BY_BIC, BAYESIAN = "ICAMixture", "GaussianMixture, BIC", "BayesianGaussianMixture"
DATA = ("wine", "iris", "breast cancer", "digits", "visual fields")
LARGEST = 10
"""Clusters at most for the mixtures of Gaussians, and those that ICAMixture starts with by default."""

SEEDS, QUICK_SEEDS = (50, 51, 52), (50,)
GOAL = 4


def jobs(full: bool) -> list[dict[str, Any]]:
    return [
        {"data": data, "model": model, "seed": seed}
        for data in (DATA if full else DATA[:2])
        for model in (OURS, BY_BIC, BAYESIAN)
        for seed in (SEEDS if full else QUICK_SEEDS)
    ]


def run(data: str, model: str, seed: int) -> list[dict[str, Any]]:
    from sklearn.metrics import adjusted_rand_score

    X, target = _load(data)
    labels = _labels(model, (X - X.mean(axis=0)) / X.std(axis=0), seed)
    return [{"clusters": len(set(labels.tolist())), "rand": adjusted_rand_score(target, labels)}]


def _load(data: str) -> tuple[np.ndarray, np.ndarray]:
    import numpy as np
    from sklearn import datasets, decomposition

    if data == "visual fields":
        from experiments.data import use_shared_folder
        from latentbits.datasets import load_visual_fields

        use_shared_folder()
        fields = load_visual_fields(first_only=True)
        return np.column_stack([fields.X[:, ~fields.blind_spot], fields.age]), fields.glaucoma
    X, target = getattr(datasets, f"load_{data.replace(' ', '_')}")(return_X_y=True)
    return (decomposition.PCA(10, random_state=0).fit_transform(X) if data == "digits" else X), target


def _labels(model: str, Z: np.ndarray, seed: int) -> np.ndarray:
    import warnings

    from sklearn.mixture import BayesianGaussianMixture, GaussianMixture

    from latentbits import ICAMixture

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # fits that run out of passes
        if model == OURS:
            return ICAMixture(random_state=seed).fit(Z).labels_
        if model == BAYESIAN:
            fit = BayesianGaussianMixture(n_components=LARGEST, n_init=5, max_iter=1000, random_state=seed).fit(Z)
            return fit.predict(Z)
        fits = [GaussianMixture(k, n_init=5, random_state=seed).fit(Z) for k in range(1, LARGEST + 1)]
        return min(fits, key=lambda fit: fit.bic(Z)).predict(Z)


def judge(table: pd.DataFrame) -> list[Claim]:
    rand = table.pivot_table("rand", "data", "model")
    found = table.pivot_table("clusters", "data", "model")
    as_good = {data: rand.loc[data, OURS] >= rand.loc[data, [BY_BIC, BAYESIAN]].max() - 1e-9 for data in rand.index}
    lines = [
        f"{data} " + " / ".join(f"{rand.loc[data, m]:.2f} ({found.loc[data, m]:.1f})" for m in (OURS, BY_BIC, BAYESIAN))
        for data in rand.index
    ]
    return [
        Claim(
            statement=f"labelled data: adjusted Rand index of ICAMixture's default no lower than the better one of "
            f"{BY_BIC} and {BAYESIAN}, on at least {GOAL} of {len(rand)} (means of {table['seed'].nunique()} seeds)",
            ours=f"on {sum(as_good.values())}: {'; '.join(lines)}",
            holds=sum(as_good.values()) >= GOAL,
            note=f"In this order: {OURS}, {BY_BIC}, {BAYESIAN}; in brackets the number of clusters found. With six "
            "sources by default it was 1 of 5. Breast cancer falls apart because its thirty columns leave no "
            "cluster a source to spare: on seeds 0 and 1 at most 2, 6 and 10 sources give 0.38, 0.40 to 0.70 and 0.62 "
            "to 0.79, with 4, 3 to 4 and 2 clusters, at bounds of about -9,900, -6,100 and -5,000.",
        )
    ]


EXPERIMENT = Experiment(
    title="Clusters of labelled data, beside mixtures of Gaussians",
    results=(),
    jobs=jobs,
    run=run,
    judge=judge,
)
