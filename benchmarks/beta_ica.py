"""What one update of BetaICA costs beside one of AspectBernoulli.

    python benchmarks/beta_ica.py [--quick]

Prints plain tables and writes them to benchmarks/results/beta_ica.json and beta_ica.md. Rivals take turns, so that
whatever disturbs the machine disturbs all of them; times are medians over the turns, everything compiled before.
Processor time is given too: it suffers less from what else the machine does.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from result_tables import write
from scipy.special import gammaln

from latentbits import BinaryData
from latentbits.fitting.workers import Workers
from latentbits.models.aspect.maximum_likelihood import MaximumLikelihood, State
from latentbits.models.aspect.statistics import collect
from latentbits.models.aspect.variational import (
    BayesState,
    EMState,
    Prior,
    VariationalBayes,
    VariationalEM,
    pass_components,
    pass_weights,
)
from latentbits.numerics import expected_log_dirichlet, kl_dirichlet

PRIOR = Prior(0.5, 0.5, 1.0)
SHAPE = (5000, 500, 20)
GOAL = 1.3
TURNS = 15

Rivals = dict[str, Callable[[], Any]]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="smaller data, three turns: does it run?")
    quick = parser.parse_args().quick
    shape, turns = ((500, 100, 5), 3) if quick else (SHAPE, TURNS)
    tables = {
        "One update": pd.concat([one_update(shape, n_threads, turns) for n_threads in (1, 2)]),
        "Parts of an update of variational Bayes": parts(shape, turns),
    }
    for title, table in tables.items():
        print(f"\n{title}\n{table.to_string(index=False)}", flush=True)
    write("beta_ica", "An update of BetaICA beside AspectBernoulli", tables, quick=quick)


def one_update(shape: tuple[int, int, int], n_threads: int, turns: int) -> pd.DataFrame:
    """A step (statistics, bound, all new parameters) of the three learners, in wall-clock and in processor time."""
    data, aspect, em, bayes = problem(*shape)
    weight = np.ones(shape[0])
    with Workers(n_threads) as workers:
        rivals: Rivals = {
            "AspectBernoulli": partial(MaximumLikelihood(data, weight, shape[2], workers).step, aspect),
            "BetaICA em": partial(VariationalEM(data, weight, shape[2], PRIOR, workers).step, em),
            "BetaICA vb": partial(VariationalBayes(data, weight, shape[2], PRIOR, workers).step, bayes),
        }
        wall, cpu = in_turns(rivals, turns)
    columns: dict[str, Any] = {"N x D x K": " x ".join(map(str, shape)), "threads": n_threads, "learner": wall.columns}
    for clock, ms in {"wall": wall, "cpu": cpu}.items():
        columns[f"{clock}_ms"] = ms.median().round(2).to_numpy()
        columns[f"{clock}_ratio"] = ms.div(ms["AspectBernoulli"], axis=0).median().round(2).to_numpy()
    columns[f"cpu at most {GOAL}"] = np.where(columns["cpu_ratio"] <= GOAL, "yes", "no")
    return pd.DataFrame(columns)


def parts(shape: tuple[int, int, int], turns: int) -> pd.DataFrame:
    """What an update of variational Bayes is made of, each part on its own, on one thread."""
    data, _, _, bayes = problem(*shape)
    H1, H0 = pass_components(bayes.alpha, bayes.beta)
    W = np.exp(expected_log_dirichlet(bayes.gamma))
    with Workers(1) as workers:
        learner = VariationalBayes(data, np.ones(len(W)), shape[2], PRIOR, workers)
        rivals: Rivals = {
            "pass": lambda: collect(data, W, H1, H0, np.ones(len(W)), workers),
            "E[log a], exp and KL (digamma and log gamma, N x K)": lambda: pass_weights(bayes.M, PRIOR.gamma),
            "the same with scipy": lambda: scipy_weights(bayes.gamma),
            "E[log b], log B and exp (K x D)": lambda: pass_components(bayes.alpha, bayes.beta),
            "whole step": partial(learner.step, bayes),
        }
        wall, cpu = in_turns(rivals, turns)
    share = cpu.median() / cpu["whole step"].median()
    return pd.DataFrame(
        {
            "part": wall.columns,
            "wall_ms": wall.median().round(2).to_numpy(),
            "cpu_ms": cpu.median().round(2).to_numpy(),
            "share of the step's cpu": share.round(2).to_numpy(),
        }
    )


def scipy_weights(gamma: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """exp E[log a] and the divergence of rows from the prior, by scipy's special functions."""
    log_a = expected_log_dirichlet(gamma)
    norm = gammaln(gamma).sum(axis=1) - gammaln(gamma.sum(axis=1))
    return np.exp(log_a), kl_dirichlet(gamma, PRIOR.gamma, (log_a, norm))


def problem(N: int, D: int, K: int) -> tuple[BinaryData, State, EMState, BayesState]:
    """Coin tosses and random states: the time of an update doesn't depend on what the data say."""
    rng = np.random.default_rng(0)
    data = BinaryData.of(rng.integers(0, 2, size=(N, D), dtype=np.int8))
    W, H = rng.dirichlet(np.ones(K), size=N), rng.uniform(0.1, 0.9, size=(K, D))
    alpha, beta = PRIOR.alpha + N / K * H, PRIOR.beta + N / K * (1 - H)
    return data, State(W, H), EMState(W, alpha, beta), BayesState(D * W, alpha, beta, np.log([PRIOR.gamma]))


def in_turns(rivals: Rivals, turns: int) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Wall-clock and processor milliseconds of every rival in every turn."""
    for call in rivals.values():
        call()
    times = [{name: clocked(call) for name, call in rivals.items()} for _ in range(turns)]
    wall, cpu = (pd.DataFrame([{name: t[i] for name, t in turn.items()} for turn in times]) for i in (0, 1))
    return wall, cpu


def clocked(call: Callable[[], Any], repeats: int = 3) -> tuple[float, float]:
    """The medians over a few calls: wall clock, and processor time of all threads."""
    times = []
    for _ in range(repeats):
        wall, cpu = time.perf_counter(), time.process_time()
        call()
        times.append((time.perf_counter() - wall, time.process_time() - cpu))
    wall, cpu = 1e3 * np.median(times, axis=0)
    return float(wall), float(cpu)


if __name__ == "__main__":
    main()
