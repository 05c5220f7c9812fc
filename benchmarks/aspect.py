"""Time and memory of the aspect model beside its peers, in one run.

    python benchmarks/aspect.py [--quick]

Prints plain tables and writes them to benchmarks/results/aspect.json and aspect.md. Times are medians;
everything is compiled and warmed up before it is measured. Needs the peer: `pip install nbmf-mm`.
"""

from __future__ import annotations

import argparse
import inspect
import json
import os
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from nbmf_mm import NBMFMM
from result_tables import write
from sklearn.exceptions import ConvergenceWarning
from threadpoolctl import threadpool_limits

from latentbits import AspectBernoulli, BinaryData, datasets, simulate
from latentbits.fitting.climb import Monitor, climb
from latentbits.fitting.workers import Workers
from latentbits.models.aspect.maximum_likelihood import MaximumLikelihood, State

ROOT = Path(__file__).resolve().parents[1]
sys.path.append(str(ROOT))

from experiments.data import use_shared_folder  # noqa: E402  (the repository's root isn't on the path of a script)

K = 10
REST = 0.3  # seconds between rivals: BLAS threads go on spinning for a while after their last call
MAX_STARTS = 20

Tables = dict[str, pd.DataFrame]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="fewer repeats, smaller data: does it run?")
    parser.add_argument("--probe-memory", nargs=2, metavar=("FILE", "JOBS"), help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.probe_memory:
        file, n_jobs = arguments.probe_memory
        print(json.dumps(probe_memory(Path(file), int(n_jobs))))
        return
    warm_up()
    tables: Tables = {}
    for title, measure in MEASURES.items():
        tables[title] = measure(arguments.quick)
        print(f"\n{title}\n{tables[title].to_string(index=False)}", flush=True)
    write("aspect", "The aspect model beside its peers", tables, quick=arguments.quick, notes=notes())


# ---- a. time to the likelihood at which the peer stops -------------------------------------------


def to_the_same_likelihood(quick: bool) -> pd.DataFrame:
    """Time until the log likelihood of the training data is the one at which NBMFMM(10, tol=1e-5) stops.

    The peer runs as its users run it (a Beta(1.2, 1.2) prior is its default) and without a prior (alpha =
    beta = 1: plain maximum likelihood, our objective), each with the BLAS threads that suit it better.
    Ours starts from the very arrays that the peer starts from, or from its own random start. A start that
    converges below the target is followed by another, and its time counts.
    """
    simulated = simulate.aspect_bernoulli(500, 240, K, random_state=0).X
    sets = {"simulated 500 x 240": simulated}
    if not quick:
        use_shared_folder()
        sets["numerals 2000 x 240"] = datasets.load_numerals().X
    rows: list[dict[str, Any]] = []
    for name, X in sets.items():
        for prior, beta in (("default prior", 1.2), ("no prior", 1.0)):
            rows += race(name, prior, X, beta, seeds=range(2 if quick else 5))
    return pd.DataFrame(rows)


def race(name: str, prior: str, X: np.ndarray, beta: float, seeds: range) -> Iterator[dict[str, Any]]:
    """One line for each of our set-ups: median times of the peer and ours over the seeds, and their ratio."""
    floats = X.astype(np.float64)
    n_blas = better_blas_threads(floats, beta)
    targets, theirs, passes = [], [], []
    for seed in seeds:
        with threadpool_limits(n_blas, "blas"):
            seconds, model = timed(partial(peer, floats, beta, seed))
        targets.append(log_likelihood(X, model.W_, model.components_))
        theirs.append(seconds)
        passes.append(model.n_iter_)
    time.sleep(REST)
    for start, n_threads in (("the peer's", 1), ("the peer's", 2), ("own", 1), ("own", 2)):
        ours = [reach(X, target, seed, start, n_threads) for seed, target in zip(seeds, targets, strict=True)]
        median = float(np.median([attempt.seconds for attempt in ours]))
        yield {
            "data": name,
            "peer": prior,
            "target": np.median(targets).round(1),
            "peer_s": np.median(theirs).round(3),
            "peer_passes": int(np.median(passes)),
            "peer_blas_threads": n_blas,
            "our_start": start,
            "our_threads": n_threads,
            "our_s": round(median, 4),
            "our_passes": int(np.median([attempt.passes for attempt in ours])),
            "our_starts": float(np.mean([attempt.starts for attempt in ours])),
            "reached": f"{sum(np.isfinite(attempt.seconds) for attempt in ours)}/{len(ours)}",
            "ratio": round(float(np.median(theirs)) / median, 1),
        }


def peer(X: np.ndarray, beta: float, seed: int, **options: Any) -> NBMFMM:
    W, H = uniform_start(X.shape, seed)
    return NBMFMM(K, alpha=beta, beta=beta, tol=1e-5, W_init=W, H_init=H, **options).fit(X)


def uniform_start(shape: tuple[int, int], seed: int) -> State:
    """What NBMFMM draws for a random_state: all from Uniform[0.1, 0.9]; it then normalises the rows of W."""
    rng = np.random.RandomState(seed)
    return State(rng.uniform(0.1, 0.9, (shape[0], K)), rng.uniform(0.1, 0.9, (K, shape[1])))


def better_blas_threads(X: np.ndarray, beta: float) -> int:
    """All cores or one: what makes thirty passes of the peer faster."""
    seconds = {}
    for n in (os.cpu_count() or 1, 1):
        with threadpool_limits(n, "blas"):
            seconds[n] = timed(partial(peer, X, beta, 0, max_iter=30))[0]
        time.sleep(REST)
    return min(seconds, key=lambda n: seconds[n])


class Attempt(NamedTuple):
    """How long it took to reach a target; infinitely long if no start did."""

    seconds: float
    passes: int
    starts: int


def reach(X: np.ndarray, target: float, seed: int, start: str, n_threads: int) -> Attempt:
    """Climb until the target is reached, from 0-1 cells to W and H; the result is checked in float64."""
    began = time.perf_counter()
    n_passes = 0
    with Workers(n_threads) as workers:
        learner = MaximumLikelihood(BinaryData.of(X), np.ones(len(X)), K, workers)
        for n_starts in range(1, MAX_STARTS + 1):
            draw = seed + 1000 * (n_starts - 1)
            if start == "own":
                state = learner.initialise(np.random.default_rng(draw))
            else:
                W, H = uniform_start(X.shape, draw)
                state = State(W / W.sum(axis=1, keepdims=True), H)
            history: list[float] = []
            monitor = Monitor(
                AspectBernoulli().tol,
                AspectBernoulli().max_iter,
                float(X.size),
                cancelled=lambda history=history: bool(history) and history[-1] >= target,
                history=history,
            )
            state, objective = climb(learner, state, monitor)
            n_passes += monitor.n_iter
            if objective >= target:
                seconds = time.perf_counter() - began
                short = target - log_likelihood(X, state.W, state.H)
                assert short < 1e-6 * abs(target), f"{short} below the target in float64"
                return Attempt(seconds, n_passes, n_starts)
    return Attempt(np.inf, n_passes, MAX_STARTS)


def log_likelihood(X: np.ndarray, W: np.ndarray, H: np.ndarray) -> float:
    """The plain Bernoulli log likelihood of W H, in float64."""
    return float(np.log(np.where(X == 1, W @ H, W @ (1 - H))).sum())


# ---- b. one update against the matrix form -------------------------------------------------------


def one_update(quick: bool) -> pd.DataFrame:
    """One EM update of all weights and components against NumPy in float64.

    "literal" is the matrix form as published. "lean" is an optimised form of it: the same update as ours
    (checked), every product and quotient computed once. Both with BLAS on all cores, or on one where
    that is faster. Ours computes the log likelihood as well.
    """
    shapes = [(500, 240, 10), (5000, 500, 20), (20000, 1000, 10)]
    rows = []
    for N, D, k in shapes[:2] if quick else shapes:
        X, state = random_problem(N, D, k)
        x, A, S = X.T.astype(np.float64).copy(), state.H.T.copy(), state.W.T.copy()
        with Workers(1) as one, Workers(2) as two:
            learners = [MaximumLikelihood(BinaryData.of(X), np.ones(N), k, workers) for workers in (one, two)]
            for learner in learners:
                check_update(learner, state, lean_update(x, A, S))
            literal_form, lean_form = partial(literal_update, x, A, S), partial(lean_update, x, A, S)
            cores = os.cpu_count() or 1
            rivals = {
                "literal, all cores": Rival(literal_form, cores),
                "literal, one core": Rival(literal_form, 1),
                "lean, all cores": Rival(lean_form, cores),
                "lean, one core": Rival(lean_form, 1),
                "ours 1": Rival(partial(learners[0].step, state), 1),
                "ours 2": Rival(partial(learners[1].step, state), 1),
            }
            ms = {name: 1e3 * seconds for name, seconds in in_turns(rivals, 3 if quick else 11).items()}
        literal, lean = (min(ms[name] for name in ms if name.startswith(form)) for form in ("literal", "lean"))
        for n_threads in (1, 2):
            ours = ms[f"ours {n_threads}"]
            rows.append(
                {
                    "N": N,
                    "D": D,
                    "K": k,
                    "literal_ms": round(literal, 2),
                    "lean_ms": round(lean, 2),
                    "our_threads": n_threads,
                    "our_ms": round(ours, 2),
                    "literal_ratio": round(literal / ours, 1),
                    "lean_ratio": round(lean / ours, 1),
                }
            )
    return pd.DataFrame(rows)


def literal_update(X: np.ndarray, A: np.ndarray, S: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Eq. 12-17 of "The aspect Bernoulli model": X is D x N, A is D x K, S is K x N."""
    A_bar = 1 - A
    S = S * (A.T @ (X / (A @ S)) + A_bar.T @ ((1 - X) / (A_bar @ S)))
    S = S / S.sum(axis=0)
    A, A_bar = A * ((X / (A @ S)) @ S.T), A_bar * (((1 - X) / (A_bar @ S)) @ S.T)
    return A / (A + A_bar), S


def lean_update(X: np.ndarray, A: np.ndarray, S: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The EM update: S and A from the same posteriors; one product and two quotients of the data's size."""
    P = A @ S
    on = X / P
    np.subtract(1, P, out=P)
    off = (1 - X) / P
    A1 = A * (on @ S.T)
    A0 = (1 - A) * (off @ S.T)
    S = S * (A.T @ on + (1 - A).T @ off)
    return A1 / (A1 + A0), S / S.sum(axis=0)


def check_update(learner: MaximumLikelihood, state: State, expected: tuple[np.ndarray, np.ndarray]) -> None:
    A, S = expected
    new, _ = learner.step(state)
    np.testing.assert_allclose(new.W, S.T, rtol=1e-3, atol=1e-6)
    np.testing.assert_allclose(new.H, A.T, rtol=1e-3, atol=1e-6)


# ---- c. memory -----------------------------------------------------------------------------------


def peak_memory(quick: bool) -> pd.DataFrame:
    """Peak resident memory of a fit above what was there just before it, in a fresh process each."""
    N, D = (5000, 1000) if quick else (20000, 1000)
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "cells.npy"
        np.save(file, random_problem(N, D, K)[0])
        for n_jobs in (1, 2):
            command = [sys.executable, __file__, "--probe-memory", str(file), str(n_jobs)]
            answer = subprocess.run(command, check=True, capture_output=True, text=True)
            rows.append({"N": N, "D": D, "K": K, "threads": n_jobs, **json.loads(answer.stdout)})
    return pd.DataFrame(rows)


def probe_memory(file: Path, n_jobs: int) -> dict[str, float]:
    """Fit once, kernels compiled before, and say how far memory rose (Linux: it can set the peak back)."""
    warm_up(n_jobs)
    X = np.load(file)
    model = AspectBernoulli(K, n_init=1, max_iter=10, random_state=0, n_jobs=n_jobs)
    Path("/proc/self/clear_refs").write_text("5")
    before = memory("VmRSS")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # ten passes are too few, on purpose
        model.fit(X)
    above, kept = memory("VmHWM") - before, memory("VmRSS") - before
    fitted = (model.weights_.nbytes + model.components_.nbytes) / 1e6
    return {
        "data_MB": X.nbytes / 1e6,
        "fitted_arrays_MB": round(fitted, 2),
        "peak_above_before_MB": round(above, 1),
        "kept_after_MB": round(kept, 1),
        "peak_above_data_and_fitted_MB": round(above - fitted, 1),
    }


def memory(field: str) -> float:
    """A line of /proc/self/status in megabytes."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(field)) * 1024 / 1e6


# ---- d. growth -----------------------------------------------------------------------------------


def growth(quick: bool) -> pd.DataFrame:
    """Time of one update on one thread as N, D or K grows, the other two fixed."""
    base = {"N": 4000, "D": 400, "K": 8}
    shapes = [base] + [{**base, axis: base[axis] * factor} for axis in base for factor in (2, 4)]
    rows = []
    for shape in shapes[:3] if quick else shapes:
        N, D, k = shape.values()
        X, state = random_problem(N, D, k)
        with Workers(1) as workers:
            learner = MaximumLikelihood(BinaryData.of(X), np.ones(N), k, workers)
            step = partial(learner.step, state)
            seconds = median_seconds(step, 3 if quick else 11)
        picoseconds = round(1e12 * seconds / (N * D * k))
        rows.append({**shape, "ms": round(1e3 * seconds, 2), "ps_per_cell_and_component": picoseconds})
    table = pd.DataFrame(rows)
    table["times_first"] = (table["ms"] / table["ms"].iloc[0]).round(2)
    return table


# ---- shared --------------------------------------------------------------------------------------


def random_problem(N: int, D: int, k: int) -> tuple[np.ndarray, State]:
    """Coin tosses and a random state: the time of an update doesn't depend on what the data say."""
    rng = np.random.default_rng(0)
    X = rng.integers(0, 2, size=(N, D), dtype=np.int8)
    return X, State(rng.dirichlet(np.ones(k), size=N), rng.uniform(0.1, 0.9, size=(k, D)))


def timed(function: Callable[[], Any]) -> tuple[float, Any]:
    began = time.perf_counter()
    result = function()
    return time.perf_counter() - began, result


def median_seconds(function: Callable[[], Any], repeats: int) -> float:
    """The median time of a call after one to warm up, and after a rest from whoever ran before."""
    time.sleep(REST)
    function()
    return float(np.median([timed(function)[0] for _ in range(repeats)]))


class Rival(NamedTuple):
    """What to time, and with how many BLAS threads."""

    call: Callable[[], Any]
    blas_threads: int


def in_turns(rivals: dict[str, Rival], repeats: int) -> dict[str, float]:
    """Median times of rivals that take turns, so that whatever disturbs the machine disturbs all of them."""
    seconds: dict[str, list[float]] = {name: [] for name in rivals}
    for _ in range(repeats):
        for name, rival in rivals.items():
            with threadpool_limits(rival.blas_threads, "blas"):  # takes milliseconds itself: not timed
                seconds[name].append(median_seconds(rival.call, 3))
    return {name: float(np.median(times)) for name, times in seconds.items()}


def warm_up(n_jobs: int = 2) -> None:
    """Compile everything that a fit needs."""
    X = simulate.aspect_bernoulli(60, 20, 2, random_state=0).X
    AspectBernoulli(2, n_init=2, tol=1e-3, random_state=0, n_jobs=n_jobs).fit(X)


def notes() -> dict[str, str]:
    """What each measure says about itself."""
    return {title: inspect.getdoc(measure) or "" for title, measure in MEASURES.items()}


MEASURES: dict[str, Callable[[bool], pd.DataFrame]] = {
    "Time to the log likelihood at which nbmf-mm stops": to_the_same_likelihood,
    "One update against the matrix form": one_update,
    "Peak memory of a fit": peak_memory,
    "Growth of the time of an update": growth,
}


if __name__ == "__main__":
    main()
