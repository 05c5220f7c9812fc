"""How many components, and which model: the aspect Bernoulli paper's Figure 2, and held-out cells where K is known.

    python experiments/choosing.py [curves] [cells]

Without a name both are run. Each prints its tables, writes them (CSV) and its figures (PNG) to experiments/results, and
adds its claims to claims.csv.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import matplotlib
import pandas as pd
from scipy.stats import ranksums

from latentbits import AspectBernoulli, BernoulliMixture, BetaICA, LogisticPCA, select_order, simulate

matplotlib.use("Agg")
from matplotlib import pyplot as plt

ROOT = Path(__file__).resolve().parents[1]
sys.path.append(str(ROOT))

from experiments.aspect_bernoulli import (  # noqa: E402  (the root isn't on a script's path)
    CLAIMS,
    Claim,
    asked_for,
    keep_claims,
    save,
    save_figure,
)
from experiments.data import fossils  # noqa: E402

ORDERS = range(2, 9)
N_FOLDS = 10
TRUE_ORDER = 4


def main() -> None:
    names = asked_for(EXPERIMENTS, __doc__)
    for name in names:
        print(f"\n== {name}: {EXPERIMENTS[name].__doc__}", flush=True)
        keep_claims(f"choosing {name}", EXPERIMENTS[name]())
    claims = pd.read_csv(CLAIMS, dtype=str)
    print("\n" + claims[claims["experiment"].isin([f"choosing {name}" for name in names])].to_string(index=False))


def curves() -> list[Claim]:
    """Fossil mammals: held-out rows (ten folds) of AB, mixture and logistic PCA over the number of components."""
    data = fossils()
    models: dict[str, Any] = {
        "AB": AspectBernoulli(n_init=5),
        "MB, maximum likelihood": BernoulliMixture(n_init=5, smoothing=0),
        "MB, smoothed": BernoulliMixture(n_init=5),
        "LPCA, ridge 0.01": LogisticPCA(n_init=1, ridge=0.01, tol=1e-5),
        "LPCA, ridge 1": LogisticPCA(n_init=1, ridge=1.0, tol=1e-5),
        "BetaICA": BetaICA(n_init=5),
    }
    tables, folds = [], {}
    for name, model in models.items():
        criteria = ["cv", "cells", *(["aic"] if name == "AB" else [])]
        found = select_order(model, data, ORDERS, criterion=criteria, n_folds=N_FOLDS, random_state=0, n_jobs=2)
        tables.append(found.table.assign(model=name))
        folds[name] = found.folds[found.folds["criterion"] == "cv"].pivot(
            index="fold", columns="n_components", values="score"
        )
        print(name, found, flush=True)
    table = pd.concat(tables, ignore_index=True)
    columns = ["model", "n_components", "cv", "cv_se", "cells", "cells_se", "aic", "stability", "seconds", "converged"]
    save("choosing_curves", table[columns])
    _draw_curves(table)
    best = {name: by_order.mean().idxmax() for name, by_order in folds.items()}
    mean = {name: by_order.mean() for name, by_order in folds.items()}
    aic = table[table["model"] == "AB"].set_index("n_components")["aic"].idxmin()
    peaks = ranksums(folds["AB"][best["AB"]], folds["LPCA, ridge 1"][best["LPCA, ridge 1"]]).pvalue
    claims = [("AIC picks K for AB", "4", str(aic), aic == 4)]
    for kind in ("maximum likelihood", "smoothed"):
        gain = (mean["AB"] - mean[f"MB, {kind}"]).drop(1)  # with one component they are the same model
        above = int((gain > 0).sum())
        claims.append(
            (
                f"AB above MB ({kind}) at every K > 1",
                "at every K",
                f"at {above} of {len(gain)}; mean difference {gain.mean():.2f} a row",
                above == len(gain),
            )
        )
    weak = mean["LPCA, ridge 0.01"]
    peak = f"peak at {best['LPCA, ridge 0.01']}, {_loss(weak):.2f} below it at K = 8"
    late = _loss(mean["AB"])
    claims += [
        ("LPCA (ridge 0.01) overfits after about 4 components", "4", peak, 3 <= best["LPCA, ridge 0.01"] <= 5),
        ("AB hardly overfits: below its peak by less than 1 at K = 8", "yes", f"{late:.2f}", late < 1),
        ("AB and LPCA (ridge 1) peak alike (rank-sum p > 0.05)", "p = 0.52", f"p = {peaks:.2f}", peaks > 0.05),
    ]
    return [Claim("choosing curves", *map(str, claim[:3]), bool(claim[3])) for claim in claims]


def _loss(mean: pd.Series) -> float:
    return float(mean.max() - mean.iloc[-1])


def _draw_curves(table: pd.DataFrame) -> None:
    figure, axes = plt.subplots(1, 2, figsize=(10, 4), layout="constrained")
    for name, group in table.groupby("model", sort=False):
        for ax, what in zip(axes, ("cv", "cells"), strict=True):
            ax.errorbar(group["n_components"], group[what], group[f"{what}_se"], marker="o", ms=3, lw=1.2, label=name)
    axes[0].set(xlabel="components K", ylabel="held-out rows: log likelihood a row", ylim=(-32, -19))
    axes[1].set(xlabel="components K", ylabel="held-out cells: log likelihood a cell", ylim=(-0.21, -0.14))
    axes[1].legend(fontsize=8)
    save_figure("choosing_curves", figure)


def cells() -> list[Claim]:
    """Data drawn from the aspect model with four components: what held-out cells, held-out rows and AIC choose."""
    rows = []
    for seed in range(20):
        truth = simulate.aspect_bernoulli(300, 60, TRUE_ORDER, sharpness=0.3, random_state=seed)
        found = select_order(
            AspectBernoulli(n_init=3, tol=1e-5),
            truth.X,
            range(2, 8),
            criterion=["cells", "cv", "aic", "bic"],
            n_folds=5,
            random_state=seed,
            n_jobs=2,
        )
        rows += [
            {"seed": seed, "criterion": c.criterion, "best": c.best, "rival": c.rival}
            for c in found.choices.itertuples()
        ]
        print(seed, found, flush=True)
    table = pd.DataFrame(rows)
    save("choosing_cells", table)
    claims = []
    for name, group in table.groupby("criterion", sort=False):
        right = int((group["best"] == TRUE_ORDER).sum())
        near = int(((group["best"] - TRUE_ORDER).abs() <= 1).sum())
        claims.append(
            Claim(
                "choosing cells",
                f"{name}: at or next to the true K = {TRUE_ORDER} in most of 20 sets",
                "-",
                f"{right} at it, {near} at or next to it",
                near > 10,
            )
        )
    return claims


EXPERIMENTS: dict[str, Callable[[], list[Claim]]] = {"curves": curves, "cells": cells}


if __name__ == "__main__":
    main()
