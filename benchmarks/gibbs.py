"""Sampling of BetaICA beside Gibbs sampling in plain NumPy.

    python benchmarks/gibbs.py [--quick]

Prints plain tables and writes them to benchmarks/results/gibbs.json and gibbs.md. All are measured in processor time on
one thread, compiled before, and take turns.
"""

from __future__ import annotations

import argparse
import inspect
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from result_tables import write
from threadpoolctl import threadpool_limits

from latentbits import BetaICA, simulate
from latentbits.fitting.chains import effective_size
from latentbits.models.aspect.gibbs import Chain, watched_cells
from latentbits.models.aspect.variational import Prior

PRIOR = Prior(0.5, 0.5, 1.0)
SHAPES = [(150, 30, 3), (500, 139, 5)]
GOAL = 5.0  # seconds of processor time for 1,000 sweeps of the second shape, and for a whole fit of the first


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="fewer sweeps: does it run?")
    quick = parser.parse_args().quick
    tables = {}
    with threadpool_limits(1):
        for title, measure in MEASURES.items():
            tables[title] = measure(quick)
            print(f"\n{title}\n{tables[title].to_string(index=False)}", flush=True)
    notes = {title: inspect.getdoc(measure) or "" for title, measure in MEASURES.items()}
    write(
        "gibbs", "Sampling of BetaICA beside plain NumPy", tables, quick=quick, packages=("numpy", "numba"), notes=notes
    )


# ---- one sweep ---------------------------------------------------------------------------------------------------


def one_sweep(quick: bool) -> pd.DataFrame:
    """Seconds of 1,000 sweeps. "cell by cell" is the same collapsed sampler in NumPy, a loop over the cells. "blocked"
    is the sampler that suits NumPy: all causes at once given weights and components, then these given the causes."""
    rows = []
    for shape in SHAPES:
        X = data(*shape)
        chain = Chain(X, shape[2], PRIOR, np.random.default_rng(0))
        chain.sweep(20)
        blocked, cell_by_cell = Blocked(X, shape[2]), CellByCell(X, shape[2])
        rivals: dict[str, tuple[Callable[[int], Any], int]] = {
            "ours": (chain.sweep, 50 if quick else 300),
            "blocked": (blocked.sweep, 10 if quick else 50),
            "cell by cell": (cell_by_cell.sweep, 1),
        }
        seconds = {name: [] for name in rivals}
        for _ in range(1 if quick else 3):
            for name, (sweep, n) in rivals.items():
                seconds[name].append(1000 * processor_time(sweep, n) / n)
        ours, *others = (float(np.median(times)) for times in seconds.values())
        rows.append(
            {
                "shape": " x ".join(map(str, shape)),
                "ours_s": round(ours, 2),
                "blocked_s": round(others[0], 2),
                "cell_by_cell_s": round(others[1], 1),
                "blocked_ratio": round(others[0] / ours, 1),
                "cell_by_cell_ratio": round(others[1] / ours),
            }
        )
    return pd.DataFrame(rows)


def effective_samples(quick: bool) -> pd.DataFrame:
    """Milliseconds of an independent sample: processor time by the median effective sample size of the probabilities
    of 100 cells, of one chain after 500 sweeps (a blocked sampler moves less in a sweep)."""
    n = 500 if quick else 2000
    rng = np.random.default_rng(1)
    rows = []
    for shape in SHAPES[: 1 if quick else 2]:
        X = data(*shape)
        places = watched_cells(*X.shape)
        chain, blocked = Chain(X, shape[2], PRIOR, np.random.default_rng(0)), Blocked(X, shape[2])
        times = {}
        for name, sampler in (("ours", chain), ("blocked", blocked)):
            sampler.sweep(500)
            kept = np.empty((1, n // 4, 100))
            seconds = sum(step(sampler, kept[0, t], places, rng) for t in range(n // 4))
            times[name] = 1000 * seconds / float(np.median(effective_size(kept)))
        ratio = round(times["blocked"] / times["ours"], 1)
        shown = {f"{name}_ms": round(value, 2) for name, value in times.items()}
        rows.append({"shape": " x ".join(map(str, shape)), **shown, "ratio": ratio})
    return pd.DataFrame(rows)


def step(
    sampler: Chain | Blocked, kept: np.ndarray, places: tuple[np.ndarray, np.ndarray], rng: np.random.Generator
) -> float:
    """Four sweeps, timed; the cells' probabilities after them."""
    seconds = processor_time(sampler.sweep, 4)
    rows, columns = places
    H = sampler.components(rng) if isinstance(sampler, Chain) else sampler.H
    W = sampler.mean_weights(rows) if isinstance(sampler, Chain) else sampler.W[rows]
    kept[:] = np.einsum("ck,kc->c", W, H[:, columns])
    return seconds


def whole_fits(quick: bool) -> pd.DataFrame:
    """Seconds of processor time of a fit by default parameters (10 chains, 1,000 samples) with all intervals."""
    rows = []
    for shape in SHAPES[:1] if quick else SHAPES:
        X = data(*shape)
        fit("gibbs", X[:40], 1)
        seconds = {name: processor_time(partial(fit, name, X), shape[2]) for name in ("gibbs", "vb")}
        rows.append(
            {
                "shape": " x ".join(map(str, shape)),
                "gibbs_s": round(seconds["gibbs"], 1),
                "vb_s": round(seconds["vb"], 1),
            }
        )
    return pd.DataFrame(rows)


def fit(inference: str, X: np.ndarray, n_components: int) -> None:
    model = BetaICA(n_components, inference=inference, random_state=0).fit(X)
    model.components_interval(0.9)
    model.weights_interval(X, 0.9)


# ---- the samplers in NumPy ---------------------------------------------------------------------------------------


class Blocked:
    """Uncollapsed: causes given weights and components, all at once; then weights and components given the causes."""

    def __init__(self, X: np.ndarray, K: int) -> None:
        self.X, self.K, self.rng = X, K, np.random.default_rng(0)
        self.W = self.rng.dirichlet(np.ones(K), len(X))
        self.H = self.rng.beta(1, 1, (K, X.shape[1]))

    def sweep(self, n: int) -> None:
        for _ in range(n):
            h = np.where(self.X[:, None, :] == 1, self.H, 1 - self.H)
            running = np.cumsum(self.W[:, :, None] * h, axis=1)
            u = self.rng.random(self.X.shape)[:, None, :] * running[:, -1:]
            z = (running > u).argmax(axis=1)
            caused = z[:, None, :] == np.arange(self.K)[:, None]
            ones = (caused & (self.X[:, None, :] == 1)).sum(axis=0)
            self.H = self.rng.beta(PRIOR.alpha + ones, PRIOR.beta + caused.sum(axis=0) - ones)
            drawn = self.rng.standard_gamma(PRIOR.gamma + caused.sum(axis=2))
            self.W = drawn / drawn.sum(axis=1, keepdims=True)


class CellByCell:
    """Collapsed, as ours."""

    def __init__(self, X: np.ndarray, K: int) -> None:
        self.X, self.rng = X, np.random.default_rng(0)
        self.z = self.rng.integers(0, K, X.shape)
        caused = self.z[:, None, :] == np.arange(K)[:, None]
        self.c = caused.sum(axis=2).astype(float)
        self.n = np.array([(caused & (X[:, None, :] == x)).sum(axis=0) for x in (0, 1)], dtype=float)

    def sweep(self, n: int) -> None:
        prior = (PRIOR.beta, PRIOR.alpha)
        for _ in range(n):
            for i, j in np.ndindex(self.X.shape):
                x, k = self.X[i, j], self.z[i, j]
                self.c[i, k] -= 1
                self.n[x, k, j] -= 1
                p = (
                    (self.c[i] + PRIOR.gamma)
                    * (self.n[x, :, j] + prior[x])
                    / (self.n[:, :, j].sum(axis=0) + sum(prior))
                )
                running = p.cumsum()
                k = self.z[i, j] = running.searchsorted(self.rng.random() * running[-1], side="right")
                self.c[i, k] += 1
                self.n[x, k, j] += 1


# ---- shared ------------------------------------------------------------------------------------------------------


def data(N: int, D: int, K: int) -> np.ndarray:
    return np.asarray(simulate.aspect_bernoulli(N, D, K, random_state=0).X, np.int8)


def processor_time(call: Callable[[int], Any], n: int) -> float:
    began = time.process_time()
    call(n)
    return time.process_time() - began


MEASURES: dict[str, Callable[[bool], pd.DataFrame]] = {
    "1,000 sweeps": one_sweep,
    "An independent sample": effective_samples,
    "A fit with its intervals": whole_fits,
}


if __name__ == "__main__":
    main()
