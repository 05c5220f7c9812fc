"""LogisticPCA beside the package `logisticpca` (0.4): the likelihood reached at the same K, and the time it took.

    python benchmarks/logistic_pca.py [--quick]

Prints a table and writes it to benchmarks/results/logistic_pca.json and logistic_pca.md.

The rival (``pip install logisticpca``) fits another model of the same name, Landgraf and Lee's projection: its scores
are linear in the cells, so it has D K + D parameters where LogisticPCA has K a row as well. A higher likelihood of ours
on the training cells is therefore no surprise; the errors of the probabilities, which the simulation knows, say what it
is worth. Rivals take turns, everything compiled before; times are medians over the turns.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable

import numpy as np
import pandas as pd
from logisticpca import LogisticPCA as ProjectionPCA
from result_tables import write
from scipy.special import expit, xlogy

from latentbits.models.logistic_pca import LogisticPCA

PROBLEMS = {(2000, 400, 10): 3, (5000, 1000, 10): 1}
"""N, D and K -> turns; the rival takes minutes on the larger one."""

Fit = Callable[[np.ndarray], np.ndarray]
"""0-1 cells -> fitted probabilities of a 1."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="smaller data, one turn: does it run?")
    quick = parser.parse_args().quick
    problems = {(500, 100, 3): 1} if quick else PROBLEMS
    table = pd.concat([compare(*shape, turns) for shape, turns in problems.items()])
    print(table.to_string(index=False))
    write("logistic_pca", "LogisticPCA beside logisticpca", {"Fits": table}, quick=quick)


def compare(N: int, D: int, K: int, turns: int) -> pd.DataFrame:
    """Every rival's likelihood, error and median time on one table of simulated cells."""
    X, truth = simulated(N, D, K)
    rivals: dict[str, Fit] = {
        "LogisticPCA, 1 start": lambda cells: LogisticPCA(K, n_init=1, random_state=0).fit(cells).reconstruct(cells),
        "LogisticPCA, 3 starts": lambda cells: LogisticPCA(K, random_state=0).fit(cells).reconstruct(cells),
        "logisticpca 0.4": lambda cells: expit(ProjectionPCA(K).fit(cells).Theta_),
    }
    for fit in rivals.values():
        fit(simulated(60, 30, K)[0])
    seconds: dict[str, list[float]] = {name: [] for name in rivals}
    found: dict[str, np.ndarray] = {}
    for _ in range(turns):
        for name, fit in rivals.items():
            start = time.perf_counter()
            found[name] = fit(X)
            seconds[name].append(time.perf_counter() - start)
    median = {name: float(np.median(times)) for name, times in seconds.items()}
    return pd.DataFrame(
        {
            "N x D x K": f"{N} x {D} x {K}",
            "turns": turns,
            "fit": name,
            "log likelihood per cell": round(float(np.mean(xlogy(X, P) + xlogy(1 - X, 1 - P))), 5),
            "rms error of P": round(float(np.sqrt(np.mean((P - truth) ** 2))), 4),
            "seconds": round(median[name], 2),
            "time ratio": round(median[name] / median["logisticpca 0.4"], 3),
        }
        for name, P in found.items()
    )


def simulated(N: int, D: int, K: int) -> tuple[np.ndarray, np.ndarray]:
    """Cells whose log odds have rank K and a bias, and their probabilities."""
    rng = np.random.default_rng(0)
    P = expit(rng.normal(size=(N, K)) @ rng.normal(size=(K, D)) / np.sqrt(K) * 2 + rng.normal(size=D))
    return (rng.random((N, D)) < P).astype(np.int8), P


if __name__ == "__main__":
    main()
