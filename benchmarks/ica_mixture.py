"""ICAMixture beside the mixture of ICA models of `jamica` (AMICA): time and accuracy on the same data, in one run.

    python benchmarks/ica_mixture.py [--quick]

Two clusters of 8 sources in 8 dimensions, 4,000 points: once with centres apart, once with a common centre, where only
the directions of the sources separate the clusters. Prints a plain table and writes it to
benchmarks/results/ica_mixture.json and .md. Needs jamica and jax, which are not among the development requirements.
Everything is compiled before it is timed, and times are CPU time, which a busy machine doesn't change much. Both get
the true numbers of clusters and sources and one start.
"""

from __future__ import annotations

import argparse
import time
from typing import NamedTuple

import numpy as np
import pandas as pd
from jamica import Amica, AmicaConfig
from result_tables import write
from scipy.optimize import linear_sum_assignment

from latentbits.models.ica_mixture.estimator import ICAMixture
from latentbits.simulate.mixed_sources import ICAMixtureTruth, ica_mixture

GOAL = 8.0
SEEDS = range(10, 15)


class Found(NamedTuple):
    """Cluster of each point, and the unmixing matrix of each cluster (sources x dimensions)."""

    labels: np.ndarray
    unmixing: list[np.ndarray]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="400 points, few passes: does it run?")
    quick = parser.parse_args().quick
    rivals = {"ICAMixture": ours, "jamica": amica}
    rows = []
    for case, apart in (("centres apart", 4.0), ("common centre", 0.0)):
        for seed in SEEDS[:1] if quick else SEEDS:
            truth = problem(200 if quick else 2000, apart, seed)
            for name, call in rivals.items():
                if seed == SEEDS[0]:
                    call(truth.X, 0, 60)
                began = time.process_time()
                found = call(truth.X, seed, 100 if quick else 2000)
                seconds = time.process_time() - began
                rows.append({"case": case, "seed": seed, "model": name, "seconds": seconds, **judged(found, truth)})
                print(rows[-1], flush=True)
    table = pd.DataFrame(rows)
    table = table.groupby(["case", "model"], sort=False)[["seconds", "right", "snr_db"]].mean().reset_index()
    rival = table["model"].map(lambda name: name == "jamica")
    seconds = dict(zip(table[rival]["case"], table[rival]["seconds"], strict=True))
    table["times faster"] = [seconds[case] / own for case, own in zip(table["case"], table["seconds"], strict=True)]
    print("\n" + table.round(3).to_string(index=False))
    tables = {f"Means over the seeds (goal: {GOAL:g} times faster)": table.round(3)}
    write("ica_mixture", "ICAMixture beside jamica", tables, quick=quick, packages=("numpy", "jax", "jamica"))


def problem(n_points: int, apart: float, seed: int) -> ICAMixtureTruth:
    """Two clusters of 8 sources, with random mixing matrices of moderate condition."""
    rng = np.random.default_rng(seed)
    mixing = []
    while len(mixing) < 2:
        A = rng.normal(size=(8, 8))
        if np.linalg.cond(A) < 10:
            mixing.append(A)
    direction = rng.normal(size=8)
    means = np.outer([-0.5, 0.5], apart * direction / np.linalg.norm(direction) * np.sqrt(8))
    kinds = ["laplace", "uniform", "gamma", "beta", "generalised", "rectified"]
    return ica_mixture(mixing, n_points=n_points, kinds=kinds, means=means, noise_db=-50, random_state=rng)


def ours(X: np.ndarray, seed: int, max_iter: int) -> Found:
    model = ICAMixture(2, 8, n_init=1, max_iter=max_iter, tol=1e-4, random_state=seed).fit(X)
    return Found(model.labels_, [np.linalg.pinv(A) for A in model.mixing_])


def amica(X: np.ndarray, seed: int, max_iter: int) -> Found:
    config = AmicaConfig(num_models=2, num_mix_comps=3, max_iter=max_iter)
    result = Amica(config, random_state=seed).fit(X.T)
    unmixing = [W @ result.whitener_ for W in result.unmixing_matrix_white_]
    return Found(result.model_posteriors_.argmax(axis=0), unmixing)


def judged(found: Found, truth: ICAMixtureTruth) -> dict[str, float]:
    """The share of points in the right cluster, and the mean signal-to-noise ratio of sources by the unmixing."""
    n = max(len(found.unmixing), len(truth.sources))
    table = np.zeros((n, n))
    np.add.at(table, (truth.labels, found.labels), 1)
    partner = linear_sum_assignment(table, maximize=True)[1]
    ratios = []
    for c, sources in enumerate(truth.sources):
        if partner[c] < len(found.unmixing):
            ratios.append(snr(sources, truth.X[truth.labels == c] @ found.unmixing[partner[c]].T))
        else:
            ratios.append(np.zeros(sources.shape[1]))
    right = table[np.arange(n), partner].sum() / len(found.labels)
    return {"right": float(right), "snr_db": float(np.mean(np.concatenate(ratios)))}


def snr(sources: np.ndarray, columns: np.ndarray) -> np.ndarray:
    """Signal-to-noise ratio of each source in its matching column, in decibels."""
    n = sources.shape[1]
    square = np.corrcoef(sources.T, columns[:, columns.std(axis=0) > 0].T)[:n, n:] ** 2
    sought, place = linear_sum_assignment(square, maximize=True)
    ratios = np.zeros(n)
    ratios[sought] = -10 * np.log10(1 - np.minimum(square[sought, place], 1 - 1e-12))
    return ratios


if __name__ == "__main__":
    main()
