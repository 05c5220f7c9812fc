"""A fifth of the cells missing: are the clusters still found?

Rules: three clusters of two sources in four columns, 150 rows each, mixing and centres drawn at random, seeds from
50,000 on, on which nothing was chosen. Six clusters, three Gaussians and two starts to begin with; the same rows with
and without holes. The adjusted Rand index with holes is to be within 0.05 of that without, on average.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from experiments.runner import Claim, Experiment

if TYPE_CHECKING:
    import pandas as pd

FIRST_SEED, MISSING, NEAR = 50_000, 0.2, 0.05


def jobs(full: bool) -> list[dict[str, Any]]:
    return [{"seed": seed} for seed in range(FIRST_SEED, FIRST_SEED + (20 if full else 1))]


def run(seed: int) -> list[dict[str, Any]]:
    import numpy as np
    from sklearn.metrics import adjusted_rand_score

    from latentbits import ICAMixture
    from latentbits.simulate import ica_mixture

    rng = np.random.default_rng(seed)
    mixing, centres = [rng.normal(size=(4, 2)) for _ in range(3)], rng.normal(size=(3, 4)) * 5
    truth = ica_mixture(mixing, means=centres, n_points=150, random_state=seed)
    holes = np.where(rng.random(truth.X.shape) < MISSING, np.nan, truth.X)
    found = {}
    for name, X in (("complete", truth.X), ("missing", holes)):
        model = ICAMixture(6, 2, 3, n_init=2, random_state=seed).fit(X)
        found[name] = float(adjusted_rand_score(truth.labels, model.labels_))
        found[f"{name}_clusters"] = model.n_clusters_
    return [found]


def judge(table: pd.DataFrame) -> list[Claim]:
    complete, missing = table["complete"].mean(), table["missing"].mean()
    return [
        Claim(
            statement=f"ICA mixture: {MISSING:.0%} of the cells missing: adjusted Rand index within {NEAR} of that "
            f"without ({len(table)} data sets)",
            ours=f"{missing:.3f} against {complete:.3f}; three clusters in "
            f"{(table['missing_clusters'] == 3).mean():.0%} against {(table['complete_clusters'] == 3).mean():.0%}",
            holds=missing >= complete - NEAR,
        )
    ]


EXPERIMENT = Experiment(title="Clusters from rows with missing cells", results=(), jobs=jobs, run=run, judge=judge)
