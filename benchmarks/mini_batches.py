"""Whether a fit should begin with mini-batches, and mini-batches beside scikit-learn's MiniBatchNMF and NMF (KL).

    python benchmarks/mini_batches.py {phases,peers} [--quick]

Prints a plain table and writes it to benchmarks/results/mini_batches_PART.json and .md. All times are processor
times on one thread, everything compiled before; rivals take turns.

*First phase.* From the same seeds three fits of `AspectBernoulli` (one start, tol 1e-6): plain; beginning with
mini-batches (`batch_size`); beginning with a fit to a tenth of the rows (`warm_start`). Judged by the processor time of
the whole climb, by the time until the log likelihood is within 1e-5 per cell of the plain fit's end, and by the end.
The rule, set before the run: a first phase is offered if it saves a fifth of the time on the large table in the median
over seeds, and becomes the default above a size if no end is more than 1e-5 per cell below the plain fit's, on any
table.
Settings were chosen on other seeds (101 to 103 and 201) and, but for digits and texts, on other tables.

*Peers.* A tenth of the cells is hidden. Ours take them as missing; NMF can't, so it gets zeros there, and its
predictions are divided by the share of cells that it saw. Probabilities are cut to [eps, 1 - eps] with the eps that is
best for each fit on the hidden cells themselves. Weights of rows are part of the time of all: ours are solved for to
the end.
"""

from __future__ import annotations

import argparse
import os
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import scipy.sparse as sp
from result_tables import write
from sklearn.datasets import load_digits
from sklearn.decomposition import NMF, MiniBatchNMF
from sklearn.exceptions import ConvergenceWarning

from latentbits import AspectBernoulli, BinaryData, simulate
from latentbits.fitting.climb import Monitor
from latentbits.fitting.workers import Workers, one_blas_thread

SEEDS = (1, 2, 3)
NEAR = 1e-5
BATCH = 256


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("part", choices=("phases", "peers"))
    parser.add_argument("--quick", action="store_true", help="small tables, one seed: does it run?")
    part, quick = vars(parser.parse_args()).values()
    with one_blas_thread(), warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        warm_up()
        if part == "phases":
            lines = [first_phase(*given, SEEDS[:1] if quick else SEEDS) for given in tables(quick)]
        else:
            lines = [peers(*given) for given in sparse_tables(quick)]
    title, table = {"phases": "First phase", "peers": "Beside NMF"}[part], pd.concat(lines)
    print(f"\n{title}\n{table.to_string(index=False)}", flush=True)
    packages = ("numpy", "scikit-learn")
    write(f"mini_batches_{part}", f"Mini-batches: {title.lower()}", {title: table}, quick=quick, packages=packages)


def warm_up() -> None:
    """Compile everything."""
    rows = np.eye(600, 500, dtype=np.int8)
    for X in (rows, sp.csr_array(rows)):
        AspectBernoulli(2, n_init=1, max_iter=3, batch_size=BATCH).fit(X)


# ---- first phase -------------------------------------------------------------------------------------------------


def tables(quick: bool) -> Iterator[tuple[str, BinaryData, int]]:
    """Name, data and number of components of the tables that fits are made of."""
    yield "simulated", BinaryData.of(simulate.aspect_bernoulli(500 if quick else 5000, 100, 6, random_state=5).X), 6
    yield "digits", BinaryData.of((load_digits().data >= 8).astype(np.int8)), 10
    if not quick and texts() is not None:
        yield "texts", BinaryData.of(texts()), 8
    yield "large", large_table(2000 if quick else 200_000), 10


def texts() -> Any:
    """Words in newsgroup posts, if there are any in the folder of data."""
    file = Path(os.environ.get("LATENTBITS_DATA", "")) / "news20_4groups.npz"
    if not file.is_file():
        return None
    with np.load(file, allow_pickle=False) as arrays:
        return arrays["X"]


def large_table(n_rows: int, n_columns: int = 500, n_components: int = 10, seed: int = 77) -> BinaryData:
    """Rows that mix a few of ten sparse components."""
    rng = np.random.default_rng(seed)
    H = rng.beta(0.3, 1.2, size=(n_components, n_columns))
    blocks = []
    for first in range(0, n_rows, 10_000):
        W = rng.dirichlet(np.full(n_components, 0.3), size=min(10_000, n_rows - first))
        blocks.append((rng.random((len(W), n_columns)) < W @ H).astype(np.int8))
    return BinaryData.of(np.vstack(blocks))


def first_phase(name: str, data: BinaryData, K: int, seeds: tuple[int, ...]) -> pd.DataFrame:
    """A line for each seed and fit."""
    lines = []
    for seed in seeds:
        found = {
            "plain": climbed(AspectBernoulli(K, random_state=seed), data, seed),
            "mini-batches": climbed(AspectBernoulli(K, random_state=seed, batch_size=BATCH), data, seed),
            "a tenth": after_a_tenth(data, K, seed),
        }
        end = found["plain"][1][-1]
        for fit, (times, values) in found.items():
            near = np.flatnonzero(values >= end - NEAR)
            lines.append(
                {
                    "table": f"{name} {data.shape[0]} x {data.shape[1]} x {K}",
                    "seed": seed,
                    "fit": fit,
                    "passes": len(values),
                    "cpu_s": round(times[-1], 2),
                    "cpu_s until near": round(times[near[0]], 2) if len(near) else "never",
                    "end, above plain x 1e6": round(1e6 * (values[-1] - end), 1),
                }
            )
            print(lines[-1], flush=True)
    return pd.DataFrame(lines)


def climbed(model: AspectBernoulli, data: BinaryData, seed: int, spent: float = 0.0) -> tuple[np.ndarray, np.ndarray]:
    """Processor time and log likelihood per cell after each pass over all rows, without the final weights."""
    row_weight = np.ones(data.shape[0])
    with Workers() as workers:
        run = model._runner_maker(data, row_weight)(workers)
        begin, times = time.process_time() - spent, []
        monitor = Monitor(1e-6, 3000, data.n_observed, lambda *_: times.append(time.process_time() - begin))
        run(np.random.default_rng(seed), monitor)
    return np.array(times), np.array(monitor.history) / data.n_observed


def after_a_tenth(data: BinaryData, K: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """The same after a fit to a tenth of the rows, whose time is added."""
    begin = time.process_time()
    index = np.sort(np.random.default_rng(seed).permutation(data.shape[0])[: data.shape[0] // 10])
    model = AspectBernoulli(K, n_init=1, random_state=seed, warm_start=True)
    rows = data.without_names().rows(index)
    best, runs = model._runs(model._data(rows, reset=True), np.ones(len(index)))
    model._adopt(best, runs)
    return climbed(model, data, seed, time.process_time() - begin)


# ---- peers -------------------------------------------------------------------------------------------------------


def sparse_tables(quick: bool) -> Iterator[tuple[str, sp.csr_array, int]]:
    """Name, data and number of components of the tables that are given to all."""
    if not quick and texts() is not None:
        yield "texts", sp.csr_array(texts()), 8
    yield "simulated, sparse", sparse_table(1000 if quick else 4000), 10


def sparse_table(n_rows: int, n_columns: int = 1000, n_components: int = 10) -> sp.csr_array:
    """About 2 % ones."""
    rng = np.random.default_rng(78)
    H = rng.beta(0.05, 2.4, size=(n_components, n_columns))
    W = rng.dirichlet(np.full(n_components, 0.2), size=n_rows)
    blocks = [rng.random((len(part), n_columns)) < part @ H for part in np.array_split(W, max(1, n_rows // 5000))]
    return sp.vstack([sp.csr_array(block.astype(np.int8)) for block in blocks], format="csr")


def peers(name: str, X: sp.csr_array, K: int) -> pd.DataFrame:
    """A line for each fit: its time, and the mean log likelihood of the hidden cells."""
    dense = X.toarray()
    hidden = np.random.default_rng(0).random(dense.shape) < 0.1
    missing = BinaryData.of(dense).hide(hidden)
    zeroed = sp.csr_array(np.where(hidden, 0, dense).astype(np.float64))
    small = {"n_init": 1, "random_state": 1}
    kl = {"beta_loss": "kullback-leibler", "init": "random", "random_state": 1}
    rivals: dict[str, Callable[[], tuple[np.ndarray, np.ndarray, float]]] = {
        "AspectBernoulli, plain": lambda: ours(AspectBernoulli(K, **small), missing),
        f"AspectBernoulli, batch_size={BATCH}": lambda: ours(AspectBernoulli(K, batch_size=BATCH, **small), missing),
        "AspectBernoulli, partial_fit, 3 epochs": lambda: in_blocks(AspectBernoulli(K, **small), missing),
        "MiniBatchNMF (KL), defaults": lambda: theirs(MiniBatchNMF(K, **kl), zeroed),
        "MiniBatchNMF (KL), batch_size=256, 100 epochs": lambda: theirs(
            MiniBatchNMF(K, batch_size=256, max_iter=100, tol=0, max_no_improvement=None, **kl), zeroed
        ),
        "NMF (KL), max_iter=500": lambda: theirs(NMF(K, solver="mu", max_iter=500, **kl), zeroed),
    }
    lines = []
    for label, run in rivals.items():
        begin = time.process_time()
        W, H, seen = run()
        cpu = time.process_time() - begin
        value, cut = best_cut(W, H, seen, dense, hidden)
        shape = f"{name} {X.shape[0]} x {X.shape[1]} x {K}, {X.nnz / X.shape[0] / X.shape[1]:.1%} ones"
        lines.append(
            {"table": shape, "fit": label, "cpu_s": round(cpu, 1), "hidden cells": round(value, 5), "eps": cut}
        )
        print(lines[-1], flush=True)
    return pd.DataFrame(lines)


def ours(model: AspectBernoulli, data: BinaryData) -> tuple[np.ndarray, np.ndarray, float]:
    """Weights and components of a fit."""
    model.fit(data)
    return model.weights_, model.components_, 1.0


def in_blocks(model: AspectBernoulli, data: BinaryData) -> tuple[np.ndarray, np.ndarray, float]:
    """The same of three epochs of `partial_fit`, the rows in a shuffled order."""
    rng = np.random.default_rng(1)
    for _ in range(3):
        for index in np.array_split(rng.permutation(data.shape[0]), max(1, data.shape[0] // BATCH)):
            model.partial_fit(data.rows(index))
    return model.transform(data), model.components_, 1.0


def theirs(model: Any, X: sp.csr_array) -> tuple[np.ndarray, np.ndarray, float]:
    """The same of scikit-learn's; it saw nine tenths of the cells."""
    W = model.fit_transform(X)
    return W, model.components_, 0.9


def best_cut(W: np.ndarray, H: np.ndarray, seen: float, X: np.ndarray, hidden: np.ndarray) -> tuple[float, float]:
    """The best mean log likelihood of hidden cells over cuts, and the cut."""
    P = W @ H / seen
    return max((score(P, X, hidden, eps), eps) for eps in np.geomspace(1e-6, 0.02, 14).round(7).tolist())


def score(P: np.ndarray, X: np.ndarray, hidden: np.ndarray, eps: float) -> float:
    """Mean log likelihood of the hidden cells, probabilities cut to [eps, 1 - eps]."""
    p = np.clip(P[hidden], eps, 1 - eps)
    return float(np.mean(np.where(X[hidden] == 1, np.log(p), np.log1p(-p))))


if __name__ == "__main__":
    main()
