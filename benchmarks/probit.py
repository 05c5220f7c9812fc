"""Sampling of probit factor analysis beside Gibbs sampling in plain NumPy.

    python benchmarks/probit.py [--quick]

Prints plain tables and writes them to benchmarks/results/probit.json and probit.md. All are measured in processor time
on one thread, compiled before.
"""

from __future__ import annotations

import argparse
import inspect
import time
from typing import Protocol

import numpy as np
import pandas as pd
from result_tables import write
from scipy.special import ndtr, ndtri
from threadpoolctl import threadpool_limits

from latentbits import simulate
from latentbits.fitting.chains import effective_size
from latentbits.models.probit_sampler import Chain
from latentbits.models.sampling import watched_cells

SHAPES = [(250, 100, 8), (1000, 70, 8), (2000, 300, 8)]
RATE = 1.0


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
    title = "Sampling of probit factor analysis beside plain NumPy"
    write("probit", title, tables, quick=quick, packages=("numpy", "numba"), notes=notes)


def one_sweep(quick: bool) -> pd.DataFrame:
    """Nanoseconds per cell and sweep: everything is drawn once, z of each cell, rows and columns."""
    rows = []
    for shape in SHAPES[: 1 if quick else None]:
        X = data(*shape)
        n = {"ours": 20 if quick else 100, "numpy": 5 if quick else 20}
        samplers: dict[str, Sampler] = {"ours": ours(X, shape[2]), "numpy": PlainNumPy(X, shape[2])}
        for sampler in samplers.values():
            sampler.sweep(5)
        times = {name: [timed(sampler, n[name]) / n[name] for _ in range(3)] for name, sampler in samplers.items()}
        ns = {name: 1e9 * float(np.median(each)) / X.size for name, each in times.items()}
        shown = {f"{name}_ns": round(value, 1) for name, value in ns.items()}
        rows.append({"shape": " x ".join(map(str, shape)), **shown, "ratio": round(ns["numpy"] / ns["ours"], 1)})
    return pd.DataFrame(rows)


def effective_samples(quick: bool) -> pd.DataFrame:
    """Effective samples per second: the median over the probabilities of 100 cells, of one chain after 300 sweeps. Ours
    also draws scales and shifts that rows and columns share, so that a sweep moves further."""
    rows = []
    for shape in SHAPES[:1] if quick else SHAPES[:2]:
        X, n = data(*shape), 200 if quick else 1500
        places = watched_cells(*X.shape)
        per_second, per_sweep = {}, {}
        samplers: dict[str, Sampler] = {"ours": ours(X, shape[2]), "numpy": PlainNumPy(X, shape[2])}
        for name, sampler in samplers.items():
            sampler.sweep(300)
            kept, seconds = np.empty((1, n // 2, len(places[0]))), 0.0
            for t in range(n // 2):
                seconds += timed(sampler, 2)
                kept[0, t] = ndtr(np.einsum("cq,cq->c", sampler.g[places[0]], sampler.theta[places[1]]))
            size = float(np.median(effective_size(kept)))
            per_second[name], per_sweep[name] = size / seconds, size / n
        rows.append(
            {
                "shape": " x ".join(map(str, shape)),
                **{f"{name}_per_s": round(value, 1) for name, value in per_second.items()},
                **{f"{name}_per_sweep": round(value, 3) for name, value in per_sweep.items()},
                "ratio": round(per_second["ours"] / per_second["numpy"], 1),
            }
        )
    return pd.DataFrame(rows)


class Sampler(Protocol):
    """Rows' coordinates g and columns' theta, the probability of a cell being Phi(g_i . theta_j)."""

    g: np.ndarray
    theta: np.ndarray

    def sweep(self, n: int) -> object: ...


class PlainNumPy:
    """The same model without row effects: z, then all columns, then all rows, each in one call of linear algebra."""

    def __init__(self, X: np.ndarray, K: int) -> None:
        self.X, self.rng = X, np.random.default_rng(0)
        self.g = np.column_stack([np.ones(len(X)), 0.3 * self.rng.standard_normal((len(X), K))])
        self.theta = 0.3 * self.rng.standard_normal((X.shape[1], K + 1))
        self.theta[:, 0] = ndtri((X.sum(axis=0) + 0.5) / (len(X) + 1))
        self.tau, self.mean, self.precision = np.ones(K), 0.0, 1.0

    def sweep(self, n: int) -> None:
        for _ in range(n):
            z = self._scores()
            self._columns(z)
            self._rows(z)
            self._hyper()

    def _scores(self) -> np.ndarray:
        eta = self.g @ self.theta.T
        below, u = ndtr(-eta), self.rng.random(eta.shape)
        p = np.where(self.X == 1, below + u * (1 - below), u * below)
        return eta + ndtri(np.clip(p, 1e-12, 1 - 1e-12))

    def _columns(self, z: np.ndarray) -> None:
        A = self.g.T @ self.g + np.diag(np.r_[self.precision, self.tau])
        right = z.T @ self.g
        right[:, 0] += self.precision * self.mean
        self.theta = self._draw(A, right)

    def _rows(self, z: np.ndarray) -> None:
        V = self.theta[:, 1:]
        self.g[:, 1:] = self._draw(V.T @ V + np.eye(V.shape[1]), (z - self.theta[:, 0]) @ V)

    def _draw(self, A: np.ndarray, right: np.ndarray) -> np.ndarray:
        C = np.linalg.cholesky(A)
        return np.linalg.solve(C.T, np.linalg.solve(C, right.T) + self.rng.standard_normal(right.T.shape)).T

    def _hyper(self) -> None:
        D, b = len(self.theta), self.theta[:, 0]
        self.tau = self.rng.gamma(1 + D / 2, size=len(self.tau)) / (RATE + (self.theta[:, 1:] ** 2).sum(axis=0) / 2)
        precision = 0.25 + D * self.precision
        self.mean = self.precision * b.sum() / precision + self.rng.standard_normal() / np.sqrt(precision)
        self.precision = self.rng.gamma(1 + D / 2) / (1 + ((b - self.mean) ** 2).sum() / 2)


def ours(X: np.ndarray, K: int) -> Chain:
    return Chain(X, K, False, np.random.default_rng(0))


def data(N: int, D: int, K: int) -> np.ndarray:
    return np.asarray(simulate.probit_factors(N, D, K, random_state=0).X, np.int8)


def timed(sampler: Sampler, n: int) -> float:
    began = time.process_time()
    sampler.sweep(n)
    return time.process_time() - began


MEASURES = {"A sweep": one_sweep, "Effective samples": effective_samples}

if __name__ == "__main__":
    main()
