"""BernoulliMixture beside StepMix: the same start, the same likelihood, complete data and data with missing cells.

    python benchmarks/mixture.py [--quick]        (needs: pip install stepmix)

StepMix runs from a random start until it stops by itself. We start from the parameters that it has after its first
iteration, and stop by our own rule as well (a tolerance that ends no lower than StepMix, which the table shows); taking
the data in is part of our time. A start from which we end in a lower optimum is counted as missed. Prints a table and
writes it to benchmarks/results/mixture.json and mixture.md. Rivals take turns; CPU times, medians over the starts,
everything compiled before; both on one thread of BLAS.
"""

from __future__ import annotations

import argparse
import time
import warnings
from typing import Any

import numpy as np
import pandas as pd
from result_tables import write
from threadpoolctl import threadpool_limits

from latentbits import BernoulliMixture, BinaryData
from latentbits.fitting.climb import Monitor, climb
from latentbits.fitting.workers import Workers
from latentbits.models.mixture import MixtureEM, State

CASES = [(500, 240, 10, 0.0), (500, 240, 10, 0.1), (5000, 1000, 20, 0.0), (5000, 1000, 20, 0.1)]
STARTS = 7
REL_TOL = 1e-9
"""Of StepMix: the gain in mean log likelihood, relative to it, at which it stops."""

TOL = 1e-9
"""Ours: the gain per cell at which we stop."""


def main() -> None:
    from stepmix.stepmix import StepMix

    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="small data, two starts: does it run?")
    quick = parser.parse_args().quick
    cases, starts = ([(100, 30, 3, 0.0), (100, 30, 3, 0.1)], 2) if quick else (CASES, STARTS)
    with threadpool_limits(limits=1, user_api="blas"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        same = pd.DataFrame([same_start(StepMix, *case, starts) for case in cases])
        best = pd.DataFrame([best_of_many(StepMix, *case, starts) for case in cases[:2]])
    tables = {"From the same start, each to its own end": same, "Best of many own starts": best}
    for title, table in tables.items():
        print(f"\n{title}\n{table.to_string(index=False)}", flush=True)
    if not quick:
        write("mixture", "BernoulliMixture beside StepMix", tables, quick=quick, packages=("numpy", "stepmix"))


def problem(n_rows: int, n_columns: int, K: int, missing: float) -> np.ndarray:
    """Rows of K classes that overlap, as float64 with NaN."""
    rng = np.random.default_rng(0)
    H = rng.beta(2, 4, size=(K, n_columns)) if n_columns < 500 else rng.beta(8, 16, size=(K, n_columns))
    X = (rng.random((n_rows, n_columns)) < H[rng.integers(K, size=n_rows)]).astype(float)
    X[rng.random(X.shape) < missing] = np.nan
    return X


def same_start(StepMix: Any, n_rows: int, n_columns: int, K: int, missing: float, starts: int) -> dict[str, Any]:
    """Both from the parameters of StepMix's first iteration."""
    X = problem(n_rows, n_columns, K, missing)
    measurement = "bernoulli_nan" if missing else "bernoulli"
    learner = MixtureEM(BinaryData.of(X), np.ones(n_rows), K, 0.0, Workers())
    learner.step(learner.initialise(np.random.default_rng(0)))  # warm
    theirs, ours, reached, difference, steps = [], [], 0, [], []
    for seed in range(starts):
        common = {"n_components": K, "measurement": measurement, "random_state": seed, "progress_bar": 0}
        first = StepMix(**common, max_iter=1).fit(X)
        begin = time.process_time()
        peer = StepMix(**common, max_iter=5000, abs_tol=0.0, rel_tol=REL_TOL).fit(X)
        theirs.append(time.process_time() - begin)
        target = float(peer.score(X)) * n_rows
        start = learner.project(State(np.asarray(first.weights_), first.get_parameters()["measurement"]["pis"]))
        monitor = Monitor(tol=TOL, max_iter=5000, n_cells=X.size)
        begin = time.process_time()
        learner = MixtureEM(BinaryData.of(X), np.ones(n_rows), K, 0.0, Workers())
        end = climb(learner, start, monitor)
        ours.append(time.process_time() - begin)
        reached += end.objective >= target - 1e-6 * abs(target)
        difference.append((end.objective - target) / abs(target))
        steps.append((int(peer.n_iter_), monitor.n_iter))
    ratio = np.array(theirs) / np.array(ours)
    return {
        "N x D x K": f"{n_rows} x {n_columns} x {K}",
        "missing": missing,
        "StepMix s": round(float(np.median(theirs)), 3),
        "ours s": round(float(np.median(ours)), 3),
        "times faster": round(float(np.median(ratio)), 1),
        "least": round(float(ratio.min()), 1),
        "reached": f"{reached} of {starts}",
        "worst relative difference": f"{min(difference):.1e}",
        "iterations StepMix / ours": f"{np.median([s[0] for s in steps]):.0f} / {np.median([s[1] for s in steps]):.0f}",
    }


def best_of_many(StepMix: Any, n_rows: int, n_columns: int, K: int, missing: float, starts: int) -> dict[str, Any]:
    """Each from its own random starts, both to a tight tolerance: is the best optimum the same?"""
    X = problem(n_rows, n_columns, K, missing)
    n_init = 5 * starts
    measurement = "bernoulli_nan" if missing else "bernoulli"
    begin = time.process_time()
    peer = StepMix(
        n_components=K, measurement=measurement, n_init=n_init, random_state=0, progress_bar=0,
        max_iter=5000, abs_tol=0.0, rel_tol=REL_TOL,
    ).fit(X)  # fmt: skip
    between = time.process_time()
    model = BernoulliMixture(K, smoothing=0, n_init=n_init, random_state=0, tol=1e-9).fit(X)
    end = time.process_time()
    theirs, ours = float(peer.score(X)) * n_rows, model.log_likelihood(X)
    return {
        "N x D x K": f"{n_rows} x {n_columns} x {K}",
        "missing": missing,
        "starts": n_init,
        "StepMix log likelihood": round(theirs, 4),
        "ours": round(ours, 4),
        "relative difference": f"{(ours - theirs) / abs(theirs):.1e}",
        "StepMix s": round(between - begin, 2),
        "ours s": round(end - between, 2),
        "times faster": round((between - begin) / (end - between), 1),
    }


if __name__ == "__main__":
    main()
