"""Large tables: a billion cells from Parquet, growth, a Dask cluster, killed workers and interrupted fits.

    python benchmarks/scale.py [--quick] [--only PART ...]

Prints plain tables and writes them to benchmarks/results/scale.json and scale.md. What is timed has been compiled
before.
"""

from __future__ import annotations

import argparse
import inspect
import json
import os
import resource
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from result_tables import RESULTS, write

from latentbits import AspectBernoulli, BinaryData, read_table, simulate
from latentbits.fitting.workers import Workers
from latentbits.models.aspect.maximum_likelihood import MaximumLikelihood, State
from latentbits.storage import checkpoints

BILLION = (1_000_000, 1_000, 10)
GROWTH = [(50_000, 500, 10), (100_000, 500, 10), (200_000, 500, 10), (50_000, 1_000, 10), (50_000, 500, 20)]
ON_CLUSTER = (200_000, 1_000, 10)
ONES = 0.1
PART_ROWS = 50_000
N_KILLS, KILLS_A_CLUSTER, N_INTERRUPTIONS = 50, 10, 20
REPEATS = 9


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="small tables only: does it run?")
    parser.add_argument("--only", nargs="*", choices=list(MEASURES), help="some parts; the others stay as stored")
    parser.add_argument("--fit", nargs=2, metavar=("FOLDER", "K"), help=argparse.SUPPRESS)
    parser.add_argument("--interrupted", metavar="FOLDER", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.fit:
        print(json.dumps(fit_from_disk(Path(arguments.fit[0]), int(arguments.fit[1]))))
        return
    if arguments.interrupted:
        checkpoints.EVERY = 0.0
        climbing(checkpoint=arguments.interrupted).fit(climbed_table())
        return
    chosen = {title: MEASURES[title] for title in arguments.only or MEASURES}
    tables = {}
    for title, measure in chosen.items():
        tables[title] = measure(arguments.quick)
        print(f"\n{title}\n{tables[title].to_string(index=False)}", flush=True)
    if arguments.only:
        stored = json.loads((RESULTS / "scale.json").read_text()) if (RESULTS / "scale.json").exists() else {}
        known = {title: pd.DataFrame(stored[title]) for title in MEASURES if stored.get(title)}
        tables = {title: {**known, **tables}[title] for title in MEASURES if title in {**known, **tables}}
    notes = {title: inspect.getdoc(measure) or "" for title, measure in MEASURES.items()}
    packages = ("numpy", "numba", "pyarrow", "dask", "distributed")
    write("scale", "Large tables", tables, quick=arguments.quick, packages=packages, notes=notes)


# ---- a billion cells -------------------------------------------------------------------------------------------------


def billion(quick: bool) -> pd.DataFrame:
    """One start to `tol` on two threads, from a folder of Parquet files on disk, in a process of its own.

    Memory is the process' peak; "above the start" is without what Python and its libraries need before.
    """
    n_rows, n_columns, K = (100_000, 100, 5) if quick else BILLION
    with tempfile.TemporaryDirectory() as folder:
        write_parquet(Path(folder), n_rows, n_columns, K)
        size = sum(file.stat().st_size for file in Path(folder).iterdir())
        found = in_process("--fit", folder, K)
    return pd.DataFrame([{"rows": n_rows, "columns": n_columns, "K": K, "file MB": round(size / 1e6), **found}])


def write_parquet(folder: Path, n_rows: int, n_columns: int, K: int) -> None:
    """Rows that mix K planted components, with `ONES` of the cells 1."""
    rng = np.random.default_rng(0)
    H = rng.beta(0.15, 0.15 * (1 / ONES - 1), (K, n_columns))
    for number, start in enumerate(range(0, n_rows, PART_ROWS)):
        n = min(PART_ROWS, n_rows - start)
        W = rng.dirichlet(np.full(K, 0.3), n)
        cells = rng.random((n, n_columns), dtype=np.float32) < W @ H
        pd.DataFrame(cells, columns=[f"c{j}" for j in range(n_columns)]).to_parquet(
            folder / f"part-{number:03}.parquet"
        )


def fit_from_disk(folder: Path, K: int) -> dict[str, float]:
    AspectBernoulli(K, n_init=1, max_iter=3, tol=1.0, n_jobs=2).fit(simulate.aspect_bernoulli(2000, 200, K).X)
    before = peak_gb()
    times = [(time.perf_counter(), time.process_time())]

    def lap() -> tuple[float, float]:
        times.append((time.perf_counter(), time.process_time()))
        return times[-1][0] - times[-2][0], times[-1][1] - times[-2][1]

    data = read_table(folder)
    read, _ = lap()
    model = AspectBernoulli(K, n_init=1, random_state=0, n_jobs=2).fit(data)
    fit, cpu = lap()
    return {
        "read s": round(read, 1),
        "fit s": round(fit, 1),
        "fit CPU s": round(cpu, 1),
        "passes": model.n_iter_,
        "converged": bool(model.converged_),
        "log likelihood a cell": round(model.objective_ / data.n_observed, 6),
        "peak GB": round(peak_gb(), 2),
        "above the start GB": round(peak_gb() - before, 2),
    }


# ---- growth ----------------------------------------------------------------------------------------------------------


def growth(quick: bool) -> pd.DataFrame:
    """CPU seconds of a pass on one thread, cells as bytes and as bits: the median of repeated, interleaved steps."""
    lines = []
    for n_rows, n_columns, K in GROWTH[:2] if quick else GROWTH:
        dense = random_table(n_rows, n_columns)
        learners = {
            form: MaximumLikelihood(data, np.ones(n_rows), K, Workers())
            for form, data in (("bytes", dense), ("bits", dense.to_packed()))
        }
        seconds = interleaved({form: one_step(learner) for form, learner in learners.items()})
        line: dict[str, Any] = {"rows": n_rows, "columns": n_columns, "K": K}
        line |= {f"{form} s": round(value, 4) for form, value in seconds.items()}
        line["ns a cell and component"] = round(seconds["bits"] / (n_rows * n_columns * K) * 1e9, 3)
        lines.append(line)
    return pd.DataFrame(lines)


def random_table(n_rows: int, n_columns: int) -> BinaryData:
    rng = np.random.default_rng(0)
    return BinaryData.of((rng.random((n_rows, n_columns), dtype=np.float32) < ONES).view(np.int8))


def one_step(learner: MaximumLikelihood) -> Callable[[], Any]:
    state: State = learner.initialise(np.random.default_rng(0))
    return lambda: learner.step(state)


def interleaved(
    calls: dict[str, Callable[[], Any]], clock: Callable[[], float] = time.process_time
) -> dict[str, float]:
    seconds: dict[str, list[float]] = {name: [] for name in calls}
    for call in calls.values():
        call()
    for _ in range(REPEATS):
        for name, call in calls.items():
            start = clock()
            call()
            seconds[name].append(clock() - start)
    return {name: float(np.median(values)) for name, values in seconds.items()}


# ---- cluster ---------------------------------------------------------------------------------------------------------


@contextmanager
def local_cluster(n_workers: int) -> Iterator[Any]:
    from distributed import Client, LocalCluster

    options = {"threads_per_worker": 1, "dashboard_address": "127.0.0.1:0", "silence_logs": 50}
    with LocalCluster(n_workers=n_workers, **options) as cluster, Client(cluster):
        yield cluster


def cluster_speed(quick: bool) -> pd.DataFrame:
    """Seconds of a step on one and two workers of a LocalCluster, each with one thread, the driver on the same cores.

    0 workers: the same step by one thread of this process. The overhead is that of a step of 64 rows.
    """
    from distributed import default_client

    from latentbits.fitting.cluster import ClusterData

    n_rows, n_columns, K = (20_000, 200, 5) if quick else ON_CLUSTER
    table, tiny = random_table(n_rows, n_columns), random_table(64, n_columns)
    lines = []
    for n_workers in (1, 2):
        with local_cluster(n_workers):
            steps = {
                name: one_step(MaximumLikelihood(ClusterData.of_data(data, default_client()), weight, K, Workers()))
                for name, data, weight in (("step", table, np.ones(n_rows)), ("overhead", tiny, np.ones(64)))
            }
            seconds = interleaved(steps, time.perf_counter)
        lines.append({"workers": n_workers, "step s": seconds["step"], "overhead ms": seconds["overhead"] * 1000})
    here = one_step(MaximumLikelihood(table, np.ones(n_rows), K, Workers()))
    seconds = interleaved({"step": here}, time.perf_counter)
    lines.insert(0, {"workers": 0, "step s": seconds["step"], "overhead ms": 0.0})
    result = pd.DataFrame(lines).round({"step s": 3, "overhead ms": 1})
    result["times one worker"] = (lines[1]["step s"] / result["step s"]).round(2)
    return result


# ---- kills -----------------------------------------------------------------------------------------------------------


def climbed_table() -> np.ndarray:
    return np.asarray(simulate.aspect_bernoulli(6_000, 100, 5, random_state=0).X, dtype=np.int8)


def climbing(**options: Any) -> AspectBernoulli:
    return AspectBernoulli(5, n_init=1, random_state=0, tol=1e-7, **options)


def same(one: AspectBernoulli, other: AspectBernoulli) -> bool:
    names = ("components_", "weights_", "objective_history_")
    return all(np.array_equal(getattr(one, name), getattr(other, name)) for name in names)


def kills(quick: bool) -> pd.DataFrame:
    """A worker of two is killed (SIGKILL) at a random moment of every fit; is the model that of an undisturbed one?"""
    import dask.array as da
    from distributed import default_client

    X, rng = climbed_table(), np.random.default_rng(1)
    whole = climbing().fit(X)
    n, n_same, seconds = 3 if quick else N_KILLS, 0, []
    parts = da.from_array(X, chunks=(1_000, 100))
    while len(seconds) < n:
        # A new cluster now and then: Dask gives a worker up that is killed while it starts.
        with local_cluster(2) as cluster:
            climbing().fit(parts)
            start = time.perf_counter()
            climbing().fit(parts)
            usual = time.perf_counter() - start
            for _ in range(min(KILLS_A_CLUSTER, n - len(seconds))):
                try:
                    default_client().wait_for_workers(2, timeout=15)
                except TimeoutError:
                    break
                killer = Killer(cluster, float(rng.uniform(0, usual)), int(rng.integers(2)))
                start = time.perf_counter()
                model = climbing().fit(parts)
                if killer.stop():  # the others were over before their moment came
                    n_same += same(model, whole)
                    seconds.append(time.perf_counter() - start)
                    print(f"{len(seconds)} kills, {n_same} identical", file=sys.stderr, flush=True)
    n_killed = len(seconds)
    line = {"kills": n_killed, "identical": n_same, "fit s": usual, "fit with a kill s": float(np.median(seconds))}
    return pd.DataFrame([line]).round(2)


class Killer(threading.Thread):
    """Kills a worker after a while."""

    def __init__(self, cluster: Any, delay: float, which: int) -> None:
        super().__init__(daemon=True)
        self._cluster, self._delay, self._which = cluster, delay, which
        self._over, self._killed = threading.Event(), False
        self.start()

    def run(self) -> None:
        if not self._over.wait(self._delay):
            workers = list(self._cluster.workers.values())
            os.kill(workers[self._which % len(workers)].pid, signal.SIGKILL)
            self._killed = True

    def stop(self) -> bool:
        self._over.set()
        self.join()
        return self._killed


def interruptions(quick: bool) -> pd.DataFrame:
    """A process that fits with a checkpoint is killed at a random moment; the same fit, made again, goes on there."""
    whole, rng = climbing().fit(climbed_table()), np.random.default_rng(2)
    n, n_same, n_kills = 2 if quick else N_INTERRUPTIONS, 0, 0
    for _ in range(n):
        with tempfile.TemporaryDirectory() as folder:
            command = [sys.executable, __file__, "--interrupted", folder]
            process = subprocess.Popen(command)
            while not list(Path(folder).glob("*/run-0.npz")) and process.poll() is None:
                time.sleep(0.02)
            time.sleep(float(rng.uniform(0, 3)))
            n_kills += process.poll() is None
            process.kill()
            process.wait()
            n_same += same(climbing(checkpoint=folder).fit(climbed_table()), whole)
    return pd.DataFrame([{"fits": n, "killed before their end": n_kills, "identical": n_same}])


# ---- processes -------------------------------------------------------------------------------------------------------


def in_process(*arguments: object) -> dict[str, Any]:
    command = [sys.executable, __file__, *map(str, arguments)]
    found: dict[str, Any] = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    return found


def peak_gb() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6


MEASURES: dict[str, Callable[[bool], pd.DataFrame]] = {
    "billion": billion,
    "growth": growth,
    "cluster": cluster_speed,
    "kills": kills,
    "interruptions": interruptions,
}

if __name__ == "__main__":
    main()
