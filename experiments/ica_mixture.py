"""The variational mixture of ICA on the experiments of its paper (Chan, Lee and Sejnowski 2002).

    python experiments/ica_mixture.py [--trials 20] [ica_five_clusters] [ica_dimensions] [ica_visual_fields]

Without a name all are run. Each prints its tables, writes them (CSV) and its figures (PNG) to experiments/results, and
adds its claims to claims.csv. The paper doesn't give the shapes of its gamma, beta and generalised densities, nor the
positions of its clusters: ours are those of `latentbits.data.simulate.ica_mixture`. Its glaucoma data are not public;
the visual fields of the R package visualFields stand in for them.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy.optimize import linear_sum_assignment
from sklearn.decomposition import FastICA
from sklearn.metrics import adjusted_rand_score
from sklearn.mixture import BayesianGaussianMixture

ROOT = Path(__file__).resolve().parents[1]
sys.path.append(str(ROOT))

from experiments.aspect_bernoulli import CLAIMS, Claim, asked_for, keep_claims, save, save_figure  # noqa: E402
from experiments.data import data_file  # noqa: E402
from latentbits.data.simulate.ica_mixture import SOURCES, ICAMixtureTruth, ica_mixture  # noqa: E402
from latentbits.models.ica_mixture.estimator import ICAMixture  # noqa: E402
from latentbits.plots.ica_mixture import plot_bound, plot_clusters, plot_source_densities, plot_strengths  # noqa: E402

N_JOBS = 2
TABLE_1 = (
    [[-3.0, 2.0, 0.1, 0.0], [2.0, 2.0, -3.0, 3.0], [0.0, 3.0, 1.0, 2.0], [1.0, 1.0, 0.5, 0.0]],
    [[2.0, 2.0, 3.0], [1.0, 3.0, -1.0], [-3.0, 0.0, 2.0], [1.0, 1.0, 1.0]],
    [[-3.0, 2.0], [2.0, -3.0], [1.0, 3.0], [2.0, -4.0]],
)
"""The mixing matrices of the second experiment."""

BLIND_SPOT = ("l26", "l35")
"""The two of 54 locations that the paper leaves out, by their place in the 24-2 grid."""

trials = 20


def main() -> None:
    global trials
    if "--trials" in sys.argv:
        place = sys.argv.index("--trials")
        trials = int(sys.argv[place + 1])
        del sys.argv[place : place + 2]
    names = asked_for(EXPERIMENTS, __doc__)
    for name in names:
        print(f"\n== {name}: {EXPERIMENTS[name].__doc__}", flush=True)
        keep_claims(name, EXPERIMENTS[name]())
    claims = pd.read_csv(CLAIMS, dtype=str)
    print("\n" + claims[claims["experiment"].isin(names)].to_string(index=False))


# ---- data from the model -------------------------------------------------------------------------


def ica_five_clusters() -> list[Claim]:
    """Five clusters in two dimensions, started with 8 to 10; centres at least 4 standard deviations apart."""
    rows = []
    for apart, trial in product((4.0,), range(trials)):
        rng = np.random.default_rng(trial)
        truth = ica_mixture(
            [random_mixing(rng) for _ in range(5)],
            n_points=(200, 400),
            kinds=[kind for kind in SOURCES if kind != "gaussian"],
            separation=apart,
            noise_db=-50,
            random_state=rng,
        )
        begun = 8 + trial % 3
        model, seconds = fitted(ICAMixture(begun, 2, n_init=3, random_state=trial, n_jobs=N_JOBS), truth.X)
        about = {"apart": apart, "trial": trial, "begun": begun, "found": model.n_clusters_}
        rows.append({**about, **judged(model, truth), "fastica_db": fastica_db(truth), "s": seconds})
        if trial == 0:
            save_figure(f"ica_five_clusters_{apart:g}", plot_clusters(model, truth.X))
            save_figure(f"ica_five_clusters_{apart:g}_sources", plot_source_densities(model, truth.X))
            save_figure(f"ica_five_clusters_{apart:g}_bound", plot_bound(model))
    table = pd.DataFrame(rows)
    name = "ica_five_clusters"
    save(name, table)
    claims = []
    for apart, group in table.groupby("apart"):
        five = int((group["found"] == 5).sum())
        claim = f"five clusters found, {apart:g} apart"
        claims.append(Claim(name, claim, "on most trials", f"{five} of {trials}", five > trials / 2))
        claims.append(snr_claim(name, f"{apart:g} apart", group, "9 -> 38 dB", 38.0))
        claims.append(fastica_claim(name, f"{apart:g} apart", group))
    return claims


def random_mixing(rng: np.random.Generator) -> np.ndarray:
    """Two columns of length 0.6 to 1.6, not nearly parallel."""
    while True:
        A = rng.normal(size=(2, 2))
        A *= rng.uniform(0.6, 1.6, size=2) / np.linalg.norm(A, axis=0)
        if np.linalg.cond(A) < 5:
            return A


def ica_dimensions() -> list[Claim]:
    """Clusters of 4, 3 and 2 sources in four dimensions (the mixing matrices of Table 1), started with 6 of 4."""
    rows = []
    for trial in range(trials):
        truth = ica_mixture(TABLE_1, n_points=250, noise_db=-33, random_state=trial)
        model, seconds = fitted(ICAMixture(6, 4, n_init=3, random_state=trial, n_jobs=N_JOBS), truth.X)
        dimensions = " ".join(str(n) for n in sorted(model.n_sources_))
        about = {"trial": trial, "found": model.n_clusters_, "dimensions": dimensions}
        rows.append({**about, **judged(model, truth), "fastica_db": fastica_db(truth), "s": seconds})
        if trial == 0:
            save_figure("ica_dimensions_strengths", plot_strengths(model))
    table = pd.DataFrame(rows)
    save("ica_dimensions", table)
    right = int((table["dimensions"] == "2 3 4").sum())
    name = "ica_dimensions"
    return [
        Claim(name, "clusters and dimensions right", "in all trials", f"{right} of {trials}", right == trials),
        snr_claim(name, "4, 3 and 2 of them", table, "5 -> 22 dB", 22.0),
        fastica_claim(name, "4, 3 and 2 of them", table),
    ]


def fitted(model: ICAMixture, X: np.ndarray) -> tuple[ICAMixture, float]:
    began = time.perf_counter()
    return model.fit(X), round(time.perf_counter() - began, 1)


def judged(model: ICAMixture, truth: ICAMixtureTruth) -> dict[str, float]:
    """Agreement of the clusters, and the mean signal-to-noise ratios of sources in the mixtures and as recovered.

    A source is compared, over the points that are in the right cluster, with the column (of the data, or of the
    recovered sources) that the best one-to-one matching gives it, scaled as suits it best.
    """
    labels, found = model.predict(truth.X), model.transform(truth.X)
    before, after = [], []
    for c, sources in enumerate(truth.sources):
        own = truth.labels == c
        right = labels[own] == np.bincount(labels[own]).argmax()
        before.append(snr(sources[right], truth.X[own][right]))
        after.append(snr(sources[right], found[own][right]))
    return {
        "rand": round(adjusted_rand_score(truth.labels, labels), 4),
        "mixed_db": float(np.mean(np.concatenate(before))),
        "recovered_db": float(np.mean(np.concatenate(after))),
        "worst_db": float(np.min(np.concatenate(after))),
    }


def snr(sources: np.ndarray, columns: np.ndarray) -> np.ndarray:
    """Signal-to-noise ratio of each source in its matching column, in decibels."""
    alive = columns[:, columns.std(axis=0) > 0]
    n = sources.shape[1]
    square = np.corrcoef(sources.T, alive.T)[:n, n:] ** 2
    sought, place = linear_sum_assignment(square, maximize=True)
    return -10 * np.log10(1 - np.minimum(square[sought, place], 1 - 1e-12))


def fastica_db(truth: ICAMixtureTruth) -> float:
    """What scikit-learn's FastICA recovers when it is told the clusters and their numbers of sources."""
    ratios = []
    for c, sources in enumerate(truth.sources):
        rival = FastICA(sources.shape[1], whiten="unit-variance", max_iter=2000, tol=1e-3, random_state=0)
        ratios.append(snr(sources, rival.fit_transform(truth.X[truth.labels == c])))
    return float(np.mean(np.concatenate(ratios)))


def snr_claim(name: str, case: str, table: pd.DataFrame, paper: str, goal: float) -> Claim:
    """Holds when the recovered sources are as clean as the paper's, on average."""
    mixed, recovered = table["mixed_db"].mean(), table["recovered_db"].mean()
    ours = f"{mixed:.0f} -> {recovered:.0f} dB"
    return Claim(name, f"SNR of the sources, {case}", paper, ours, bool(recovered >= goal - 0.5))


def fastica_claim(name: str, case: str, table: pd.DataFrame) -> Claim:
    """Holds when the recovered sources are as clean as FastICA's, which knows the clusters."""
    ours, rival = table["recovered_db"].mean(), table["fastica_db"].mean()
    claim = f"SNR of the sources, {case}: no worse than FastICA told the clusters"
    return Claim(name, claim, "-", f"{ours:.1f} vs {rival:.1f} dB", bool(ours >= rival))


# ---- visual fields -------------------------------------------------------------------------------


def ica_visual_fields() -> list[Claim]:
    """Healthy and glaucoma, one visual field a person: 52 locations and age, labels not seen."""
    X, glaucoma = visual_fields()
    print(f"{len(X)} fields, {int(glaucoma.sum())} of them glaucoma, {X.shape[1]} columns", flush=True)
    rows = []
    for name, n_gaussians in (("ICA", 3), ("factor analysers", 1)):
        for begun in (1, 2):
            model = ICAMixture(begun, 20, n_gaussians, n_init=5, random_state=0, n_jobs=N_JOBS, tol=1e-4)
            model, seconds = fitted(model, X)
            dimensions = " ".join(str(n) for n in model.n_sources_)
            about = {"model": name, "begun": begun, "clusters": model.n_clusters_, "dimensions": dimensions}
            rows.append({**about, "bound": model.objective_, **rates(model.labels_, glaucoma), "s": seconds})
            if n_gaussians == 3 and begun == 1:
                save_figure("ica_visual_fields_strengths", plot_strengths(model))
                save_figure("ica_visual_fields_sources", plot_source_densities(model, X))
    Z = (X - X.mean(axis=0)) / X.std(axis=0)
    for kind in ("diag", "full"):
        rival = BayesianGaussianMixture(
            n_components=2, covariance_type=kind, n_init=5, max_iter=2000, random_state=0
        ).fit(Z)
        about = {"model": f"BayesianGaussianMixture {kind}", "begun": 2, "clusters": len(set(rival.predict(Z)))}
        rows.append({**about, "bound": float(rival.lower_bound_), **rates(rival.predict(Z), glaucoma)})
    table = pd.DataFrame(rows)
    save("ica_visual_fields", table)
    ours, factors = (
        table[table["model"] == name].sort_values("bound").iloc[-1] for name in ("ICA", "factor analysers")
    )
    gaussian = table[table["model"].str.startswith("Bayesian")].sort_values("informedness").iloc[-1]
    name, rival_best = "ica_visual_fields", gaussian["informedness"]
    return [
        Claim(name, "clusters of ICA (other data)", "2", str(ours["clusters"]), ours["clusters"] == 2),
        rate_claim(name, "ICA", "67 / 98 %", ours, 0.65),
        rate_claim(name, "factor analysers", "63 / 98 %", factors, 0.61),
        rate_claim(name, "factor analysers beside BayesianGaussianMixture", _rates(gaussian), factors, rival_best),
    ]


def visual_fields() -> tuple[np.ndarray, np.ndarray]:
    """Sensitivities in dB and age, the first field of every person; and who has glaucoma."""
    table = pd.read_csv(data_file("visual_fields_24d2.csv"))
    table = table.sort_values(["source", "id", "date", "time"]).drop_duplicates(["source", "id"])
    columns = [f"l{i}" for i in range(1, 55) if f"l{i}" not in BLIND_SPOT]
    return table[[*columns, "age"]].to_numpy(float), (table["group"] != "healthy").to_numpy()


def rates(labels: np.ndarray, glaucoma: np.ndarray) -> dict[str, float]:
    """Sensitivity and specificity when every cluster is called by the group that is over-represented in it."""
    ill = np.array([glaucoma[labels == c].mean() > glaucoma.mean() for c in range(labels.max() + 1)])[labels]
    sensitivity, specificity = ill[glaucoma].mean(), (~ill)[~glaucoma].mean()
    return {
        "sensitivity": float(sensitivity),
        "specificity": float(specificity),
        "informedness": float(sensitivity + specificity - 1),
    }


def rate_claim(name: str, who: str, paper: str, row: Any, least: float) -> Claim:
    """Holds when sensitivity + specificity - 1 is at least that of what it is compared with."""
    return Claim(name, f"{who}: sensitivity / specificity", paper, _rates(row), bool(row["informedness"] >= least))


def _rates(row: Any) -> str:
    return f"{100 * row['sensitivity']:.0f} / {100 * row['specificity']:.0f} %"


EXPERIMENTS: dict[str, Callable[[], list[Claim]]] = {
    "ica_five_clusters": ica_five_clusters,
    "ica_dimensions": ica_dimensions,
    "ica_visual_fields": ica_visual_fields,
}


if __name__ == "__main__":
    main()
