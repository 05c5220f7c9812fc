"""How time and memory of FalseZeros grow with the table, and recommendations for a large sparse one.

    python benchmarks/false_zeros.py [--quick]

Prints plain tables and writes them to benchmarks/results/false_zeros.json and false_zeros.md. Every fit has a process
of its own with one thread, and everything is compiled before it is measured.
"""

from __future__ import annotations

import argparse
import inspect
import json
import os
import resource
import subprocess
import sys
import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
from result_tables import write
from scipy import sparse

from latentbits import FalseZeros, simulate

ONE_THREAD = {f"{name}_NUM_THREADS": "1" for name in ("OMP", "OPENBLAS", "MKL", "NUMBA")}
GROWTH = [(250, 50), (1000, 50), (4000, 50), (250, 200), (1000, 200)]
FOLDED = [(250, 50), (1000, 50), (266, 106), (2318, 69)]
LARGE, SMALLER = (200_000, 2_000), (20_000, 2_000)
ONES = 0.01
PER_ROW = 10
MOST_GB = 4.0


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="small tables only: does it run?")
    parser.add_argument("--probe", nargs=4, metavar=("WHAT", "ROWS", "COLUMNS", "FOLDS"), help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.probe:
        what, *numbers = arguments.probe
        print(json.dumps(PROBES[what](*map(int, numbers))))
        return
    tables = {}
    for title, measure in MEASURES.items():
        tables[title] = measure(arguments.quick)
        print(f"\n{title}\n{tables[title].to_string(index=False)}", flush=True)
    notes = {title: inspect.getdoc(measure) or "" for title, measure in MEASURES.items()}
    packages = ("numpy", "scipy", "numba")
    write("false_zeros", "Growth of FalseZeros", tables, quick=arguments.quick, packages=packages, notes=notes)


# ---- what is measured ------------------------------------------------------------------------------------------------


def growth(quick: bool) -> pd.DataFrame:
    """A fit without hidden cells, and the 100 most suspected zeros: tables of 4 planted components, a fifth of them 1.

    Large tables get fewer random starts of their aspect models, so time grows less than the cells; members that would
    take too long stand aside (`members` counts those that are left).
    """
    return pd.DataFrame([_measured("dense", *shape, 0) for shape in (GROWTH[:2] if quick else GROWTH)])


def folds(quick: bool) -> pd.DataFrame:
    """The same with five folds of hidden cells: each member is fitted six times.

    wall_s_2 is the time that a fit on two threads takes.
    """
    return pd.DataFrame([_measured("dense", *shape, 5) for shape in (FOLDED[:1] if quick else FOLDED)])


def recommendations(quick: bool) -> pd.DataFrame:
    """A fit to a sparse table of 1 % ones with five folds, and then ten recommendations for each row.

    Columns differ in how frequent they are, rows in ten tastes. Memory is the peak of the whole process, the table and
    the answer (a line for each recommendation) included; the goal is 4 GB for 200,000 x 2,000.
    """
    shapes = [SMALLER if quick else LARGE]
    return pd.DataFrame([_measured("sparse", *shape, 5) for shape in shapes])


def _measured(what: str, n_rows: int, n_columns: int, n_folds: int) -> dict[str, Any]:
    command = [sys.executable, __file__, "--probe", what, str(n_rows), str(n_columns), str(n_folds)]
    answer = subprocess.run(command, check=True, capture_output=True, text=True, env={**os.environ, **ONE_THREAD})
    return {"rows": n_rows, "columns": n_columns, **json.loads(answer.stdout)}


# ---- in a process of its own -----------------------------------------------------------------------------------------


def probe_dense(n_rows: int, n_columns: int, n_folds: int) -> dict[str, Any]:
    """Seconds and memory of a fit, and of its list of suspects."""
    X = simulate.aspect_bernoulli(n_rows, n_columns, 4, density=0.2, random_state=0).X
    _warm_up(n_folds)
    before = _peak_gb()
    model, fit = _timed(lambda: FalseZeros(n_folds or None, random_state=0, n_jobs=1).fit(X))
    _, ask = _timed(lambda: model.suspects(X, top=100))
    rose = _peak_gb() - before
    began = time.perf_counter()
    FalseZeros(n_folds or None, random_state=0, n_jobs=2).fit(X)
    wall = round(time.perf_counter() - began, 2)
    return {
        "fit_cpu_s": fit,
        "wall_s_2": wall,
        "suspects_cpu_s": ask,
        "peak_above_before_MB": 1e3 * rose,
        "members": len(model.members_),
    }


def probe_sparse(n_rows: int, n_columns: int, n_folds: int) -> dict[str, Any]:
    """Seconds and memory of a fit to a large sparse table, and of recommendations for all rows."""
    X = sparse_table(n_rows, n_columns)
    _warm_up(n_folds)
    before, began = _peak_gb(), time.perf_counter()
    model, fit = _timed(lambda: FalseZeros(n_folds or None, random_state=0, n_jobs=1).fit(X))
    after_fit = _peak_gb()
    table, ask = _timed(lambda: model.suspects(X, top=None, per_row=PER_ROW))
    assert len(table) == PER_ROW * n_rows
    return {
        "ones": int(X.nnz),
        "members": ", ".join(model.members_),
        "fit_cpu_s": fit,
        "suspects_cpu_s": ask,
        "wall_s": round(time.perf_counter() - began, 1),
        "peak_before_GB": round(before, 2),
        "peak_fit_GB": round(after_fit, 2),
        "peak_GB": round(_peak_gb(), 2),
        "within_goal": _peak_gb() < MOST_GB,
    }


def sparse_table(n_rows: int, n_columns: int) -> sparse.csr_array:
    """1 % ones, made block by block: no dense table is ever there."""
    rng = np.random.default_rng(0)
    frequency = rng.lognormal(0, 1, n_columns)
    tastes = rng.lognormal(0, 1.5, (10, n_columns)) * frequency
    tastes /= tastes.mean(axis=1, keepdims=True)
    parts = []
    for start in range(0, n_rows, 5_000):
        taste = rng.integers(10, size=min(5_000, n_rows - start))
        parts.append(sparse.csr_array(rng.random((len(taste), n_columns)) < ONES * tastes[taste], dtype=np.int8))
    return sparse.vstack(parts, format="csr")


def _warm_up(n_folds: int) -> None:
    X = simulate.aspect_bernoulli(40, 12, 2, random_state=0).X
    FalseZeros(2 if n_folds else None, random_state=0).fit(X).suspects(X)
    warnings.simplefilter("ignore", UserWarning)  # members that stand aside


def _timed(call: Callable[[], Any]) -> tuple[Any, float]:
    began = time.process_time()
    result = call()
    return result, round(time.process_time() - began, 2)


def _peak_gb() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e9


PROBES: dict[str, Callable[[int, int, int], dict[str, Any]]] = {"dense": probe_dense, "sparse": probe_sparse}

MEASURES: dict[str, Callable[[bool], pd.DataFrame]] = {
    "Growth with rows and columns": growth,
    "With five folds of hidden cells": folds,
    "Recommendations for a large sparse table": recommendations,
}


if __name__ == "__main__":
    main()
