"""BinaryFactorAnalysis with the encoder "round" beside itself with "enum", on 10,000 x 50 numbers and 12 factors.

    python benchmarks/binary_factors.py [--quick]

No peer that fits binary factors to continuous data and finds their number could be installed, so the exact encoder is
the baseline: the same starts, the same rows, one start each. Prints a table and writes it to
benchmarks/results/binary_factors.json and .md. Rivals take turns; times are medians, everything compiled before. The
second table is `solve_bqp` alone: seconds for 1,000 rows by number of bits. The third is how the cost of a pass of the
default grows, in CPU time: with rows, columns, factors (of which "em" sums over all codes) and missing cells.
"""

from __future__ import annotations

import argparse
import time
import warnings
from typing import Any

import numpy as np
import pandas as pd
from result_tables import write

from latentbits import BinaryFactorAnalysis, simulate, solve_bqp

TRUE, START = 10, 12


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="small data, one turn: does it run?")
    quick = parser.parse_args().quick
    size, turns = ((500, 20), 1) if quick else ((10_000, 50), 3)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        tables = {
            "A fit, one start": fits(size, turns),
            "solve_bqp, 1,000 rows": codes((8, 12) if quick else (8, 12, 16)),
            "A pass of the default": growth(quick),
        }
    for title, table in tables.items():
        print(f"\n{title}\n{table.to_string(index=False)}", flush=True)
    if not quick:
        write("binary_factors", "BinaryFactorAnalysis", tables, quick=quick)


def fits(size: tuple[int, int], turns: int) -> pd.DataFrame:
    """Both encoders from the same start."""
    N, n = size
    small = simulate.binary_factors(100, n, 3, 0.25, random_state=0).X
    rows: list[dict[str, Any]] = []
    for turn in range(turns):
        X = simulate.binary_factors(N, n, TRUE, 0.25, random_state=turn).X
        for encoder in ("round", "enum"):
            fit(small, encoder, 3, turn)  # compiled before it is timed
            start = time.perf_counter()
            model = fit(X, encoder, START, turn)
            seconds = time.perf_counter() - start
            rows.append({"encoder": encoder, "seconds": seconds, "found": model.n_components_, "passes": model.n_iter_})
    table = pd.DataFrame(rows).groupby("encoder", sort=False).median().reset_index()
    table.insert(0, "N x n, start, true", f"{N} x {n}, {START}, {TRUE}")
    table["times faster"] = (table["seconds"].max() / table["seconds"]).round(1)
    return table.round(3)


def fit(X: np.ndarray, encoder: Any, m: int, seed: int) -> BinaryFactorAnalysis:
    return BinaryFactorAnalysis(m, inference="byy", encoder=encoder, n_init=1, random_state=seed).fit(X)


def codes(sizes: tuple[int, ...]) -> pd.DataFrame:
    """Every encoder on the same programs."""
    rows = []
    for m in sizes:
        rng = np.random.default_rng(m)
        A, F = rng.normal(size=(50, m)), rng.normal(size=(1000, m)) * 5
        Q = A.T @ A / 10
        best = solve_bqp(Q, F, "enum").values
        for method in ("round", "cdual", "greedy", "enum"):
            start = time.perf_counter()
            found = solve_bqp(Q, F, method)
            seconds = time.perf_counter() - start
            exact = float(np.mean(found.values <= best + 1e-9))
            rows.append({"bits": m, "encoder": method, "seconds": round(seconds, 4), "exact": exact})
    return pd.DataFrame(rows)


def growth(quick: bool) -> pd.DataFrame:
    """CPU milliseconds of a pass, each size beside half of it."""
    base = {"N": 200, "n": 10, "m": 3, "missing": 0.0} if quick else {"N": 2000, "n": 20, "m": 4, "missing": 0.0}
    steps = 1 if quick else 2
    sizes = [base] + [{**base, name: base[name] << k} for name in ("N", "n") for k in range(1, steps + 1)]
    sizes += [{**base, "m": base["m"] + 2 * k} for k in range(1, steps + 2)] + [{**base, "missing": 0.1}]
    milliseconds(**base)  # compiled before it is timed
    rows = [{**size, "ms a pass": milliseconds(**size)} for size in sizes]
    table = pd.DataFrame(rows)
    table["times the first"] = table["ms a pass"] / table["ms a pass"][0]
    return table.round(2)


def milliseconds(N: int, n: int, m: int, missing: float) -> float:
    """CPU time of a pass of one start with m factors; the truth has one less."""
    X = simulate.binary_factors(N, n, m - 1, 0.5, random_state=0).X
    X[np.random.default_rng(0).random(X.shape) < missing] = np.nan
    began = time.process_time()
    model = BinaryFactorAnalysis(m, n_init=1, random_state=0, n_jobs=1).fit(X)
    return 1000 * (time.process_time() - began) / model.n_iter_


if __name__ == "__main__":
    main()
