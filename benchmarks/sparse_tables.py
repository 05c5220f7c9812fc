"""Sparse data: cost of a pass, of rows' weights, and of a held-out likelihood beside scikit-learn's NMF, in one run.

    python benchmarks/sparse_tables.py [--quick]

Prints plain tables and writes them to benchmarks/results/sparse_tables.json and .md. Times are CPU time of the process
(medians of interleaved calls after one to warm up), unless they are called wall time.
"""

from __future__ import annotations

import argparse
import inspect
import time
import warnings
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
import scipy.sparse as sp
from result_tables import write
from sklearn.decomposition import NMF, MiniBatchNMF
from sklearn.exceptions import ConvergenceWarning
from threadpoolctl import threadpool_limits

from latentbits import AspectBernoulli, BinaryData
from latentbits.fitting.climb import Monitor, climb
from latentbits.fitting.workers import Workers
from latentbits.models import solved_rows
from latentbits.models.aspect.maximum_likelihood import ExpandedState, ExpandedZeros, State
from latentbits.models.aspect.statistics import solve_weights

K = 10
HIDDEN = 0.005  # share of the cells that are hidden
SCALES = np.geomspace(0.5, 2, 9)
MIXED = (0.0, 0.03, 0.1, 0.2, 0.4, 0.7)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="fewer repeats, smaller data: does it run?")
    quick = parser.parse_args().quick
    warnings.simplefilter("ignore", ConvergenceWarning)  # fits are stopped early, on purpose
    notes = {title: inspect.getdoc(measure) or "" for title, measure in MEASURES.items()}
    heading = "Sparse data: passes, weights of rows, held-out cells"
    tables = {}
    with threadpool_limits(1, "blas"):
        for title, measure in MEASURES.items():
            tables[title] = measure(quick)
            print(f"\n{title}\n{tables[title].to_string(index=False)}", flush=True)
            write("sparse_tables", heading, tables, quick=quick, packages=("numpy", "scikit-learn"), notes=notes)


# ---- data without a dense array ------------------------------------------------------------------


def simulated(N: int, D: int, k: int, density: float, seed: int) -> BinaryData:
    """Rows with a few components each; columns as frequent as words are. Ones are drawn one by one, never all cells."""
    rng = np.random.default_rng(seed)
    popular = 1 / (np.arange(1, D + 1) + 20) ** 0.9
    H = popular * rng.gamma(0.25, 4.0, (k, D))
    H *= density * D / H.sum(axis=1, keepdims=True)
    W = rng.dirichlet(np.full(k, 0.2), N)
    parts = [_rows(W[i : i + 100_000], H, rng) for i in range(0, N, 100_000)]
    return BinaryData.of(sp.csr_array(sp.vstack(parts)))


def _rows(W: np.ndarray, H: np.ndarray, rng: np.random.Generator) -> sp.csr_array:
    """A one is drawn twice now and then, and counts once: about the chance of 1 - exp(-p)."""
    rows, columns = [], []
    for k, h in enumerate(H):
        n = rng.poisson(W[:, k] * h.sum())
        rows.append(np.repeat(np.arange(len(W)), n))
        columns.append(np.searchsorted(np.cumsum(h), rng.random(n.sum()) * h.sum()))
    at = np.concatenate(rows), np.minimum(np.concatenate(columns), H.shape[1] - 1)
    csr = sp.coo_array((np.ones(len(at[0]), np.int32), at), shape=(len(W), H.shape[1])).tocsr()
    csr.data[:] = 1
    return csr.astype(np.int8)


def learner_of(data: BinaryData, k: int = K, n_threads: int = 1) -> ExpandedZeros:
    return ExpandedZeros(data, np.ones(data.shape[0]), k, Workers(n_threads))


def after(learner: ExpandedZeros, n_passes: int) -> ExpandedState:
    """The state after some plain passes from a random start."""
    state = learner.initialise(np.random.default_rng(0))
    for _ in range(n_passes):
        state, _ = learner.step(state)
    return state


# ---- a. a pass beside the exact one --------------------------------------------------------------


def one_pass(quick: bool) -> pd.DataFrame:
    """A pass with zeros expanded and an exact one, from the same state: after 50 passes, some columns being exact.

    exact - objective is what the expansion leaves out of the log likelihood, per cell; bound is what was promised.
    """
    shapes = [(20_000, 5_000, 0.005), (20_000, 5_000, 0.01), (20_000, 2_000, 0.01)]
    rows = []
    for N, D, density in [(4_000, 1_000, 0.005)] if quick else shapes:
        learner = learner_of(simulated(N, D, K, density, seed=1))
        state = after(learner, 50)
        step, exact_step = partial(learner.step, state), partial(learner.exactly.step, State(state.W, state.H))
        ms = in_turns({"expanded": step, "exact": exact_step}, 3 if quick else 7)
        found, objective = learner.summary(state), step()[1]
        left, bound = ((x / (N * D)) for x in (found["log_likelihood"] - objective, found["bound"]))
        assert 0 <= left <= bound
        rows.append(
            {
                "N": N,
                "D": D,
                "ones_percent": 100 * density,
                "exact_columns": found["exact_columns"],
                "exact_ms": round(1e3 * ms["exact"], 1),
                "expanded_ms": round(1e3 * ms["expanded"], 1),
                "ratio": round(ms["exact"] / ms["expanded"], 2),
                "exact_minus_objective": f"{left:.2e}",
                "bound": f"{bound:.2e}",
            }
        )
    return pd.DataFrame(rows)


def to_the_end(quick: bool) -> pd.DataFrame:
    """A climb from the same start with zeros expanded and exactly: the exact log likelihood per cell at some CPU times.

    EM's steps shrink with the share of ones, so the exact climb isn't near its end when the other one is.
    """
    N, D, density = (4_000, 1_000, 0.005) if quick else (20_000, 5_000, 0.005)
    learner = learner_of(simulated(N, D, K, density, seed=2))
    rows = []
    for name, rival in (("expanded", learner), ("exact", learner.exactly)):
        start = rival.initialise(np.random.default_rng(0))
        began = time.process_time()
        end = began + (3 if quick else 15)
        monitor = Monitor(1e-7, 5000, float(N * D), cancelled=lambda end=end: time.process_time() > end)
        state, _ = climb(rival, start, monitor)
        seconds = time.process_time() - began
        value = float(learner.log_likelihood(ExpandedState(state.W, state.H, np.ones(D)))) / (N * D)
        line = {"climb": name, "passes": monitor.n_iter, "converged": monitor.converged, "cpu_s": round(seconds, 1)}
        rows.append({**line, "log_likelihood_per_cell": round(value, 6)})
    return pd.DataFrame(rows)


# ---- b. growth -----------------------------------------------------------------------------------


def growth(quick: bool) -> pd.DataFrame:
    """CPU time of a pass with zeros expanded as rows, columns, components or ones grow, the others fixed.

    With columns the share of ones falls, so that a row has as many ones as before.
    """
    base = {"N": 20_000, "D": 5_000, "K": 10, "density": 0.005}
    shapes = [base, {**base, "N": 80_000}, {**base, "D": 20_000, "density": 0.00125}]
    shapes += [{**base, "K": 40}, {**base, "density": 0.02}]
    rows = []
    for shape in shapes[:2] if quick else shapes:
        N, D, k, density = shape.values()
        learner = learner_of(data := simulated(N, D, k, density, seed=3), k)
        state = after(learner, 10)
        seconds = in_turns({"pass": partial(learner.step, state)}, 3 if quick else 5)["pass"]
        assert data.sparse is not None
        line = {
            **shape,
            "ones": data.sparse.nnz,
            "exact_columns": int(state.exact.sum()),
            "ms": round(1e3 * seconds, 1),
        }
        rows.append({**line, "times_first": round(1e3 * seconds / rows[0]["ms"], 2) if rows else 1.0})
    return pd.DataFrame(rows)


def large(quick: bool) -> pd.DataFrame:
    """1,000,000 x 20,000 cells with 0.1 % ones on two threads: wall and CPU time of a pass, the median of five."""
    N, D, density = (20_000, 5_000, 0.001) if quick else (1_000_000, 20_000, 0.001)
    data = simulated(N, D, K, density, seed=4)
    assert data.sparse is not None
    learner = learner_of(data, n_threads=2)
    state = after(learner, 3)
    wall, cpu = [], []
    for _ in range(5):
        began = time.perf_counter(), time.process_time()
        state, _ = learner.step(state)
        wall.append(time.perf_counter() - began[0])
        cpu.append(time.process_time() - began[1])
    line = {"N": N, "D": D, "K": K, "ones": data.sparse.nnz, "exact_columns": int(state.exact.sum())}
    line |= {"wall_s": round(float(np.median(wall)), 2), "cpu_s": round(float(np.median(cpu)), 2)}
    bound = learner.error_bound(state) / (N * D)
    return pd.DataFrame([{**line, "bound_per_cell": f"{bound:.2e}"}])


# ---- c. held-out cells beside scikit-learn -------------------------------------------------------


def held_out(quick: bool) -> pd.DataFrame:
    """CPU time to the best held-out log likelihood of cells that each peer reaches, and ours to the same.

    One cell in 200 is hidden. Ours learns from the others. The peers know no missing cells in sparse data: to them
    hidden cells are zeros. Reconstructions r become probabilities as (1 - m) c r + m (column's frequency), with the
    scale c and the share m that are best for the hidden cells themselves, which is more than a user could do: for the
    peers and for ours alike; our_plain is ours as it is. All are clipped to 1e-6. Peers run for more and more
    iterations, each time from the start; the best of these is the target.
    """
    N, D, density = (4_000, 1_000, 0.005) if quick else (20_000, 5_000, 0.005)
    rows = []
    for seed in (5,) if quick else (11,):
        data = simulated(N, D, K, density, seed)
        hidden = hidden_cells(data, seed)
        ours = list(our_trace(data, hidden, 60 if quick else 200))
        for name, trace in peers(data, hidden, seed, quick).items():
            target, seconds, detail = max(trace)
            reached = [(t, passes) for value, t, passes, _ in ours if value >= target]
            rows.append(
                {
                    "data": f"{N} x {D}, seed {seed}",
                    "peer": name,
                    "iterations": detail,
                    "peer_per_cell": f"{target:.6f}",
                    "peer_cpu_s": round(seconds, 2),
                    "our_cpu_s": round(reached[0][0], 2) if reached else np.inf,
                    "our_passes": reached[0][1] if reached else -1,
                    "ratio": round(seconds / reached[0][0], 2) if reached else 0.0,
                    "our_best": f"{max(ours)[0]:.6f}",
                    "our_plain": f"{max(plain for *_, plain in ours):.6f}",
                }
            )
    return pd.DataFrame(rows)


def hidden_cells(data: BinaryData, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Rows, columns and values of cells drawn at random."""
    N, D = data.shape
    rng = np.random.default_rng(seed + 100)
    flat = np.unique(rng.integers(N * D, size=int(HIDDEN * N * D)))
    rows, columns = np.divmod(flat, D)
    ones = np.repeat(np.arange(N), np.diff(data.sparse.indptr)) * D + data.sparse.indices  # type: ignore[union-attr]
    return rows, columns, np.isin(flat, ones)


def mean_log(x: np.ndarray, p: np.ndarray) -> float:
    p = np.clip(p, 1e-6, 1 - 1e-6)
    return float(np.log(np.where(x, p, 1 - p)).mean())


def calibrated(x: np.ndarray, r: np.ndarray, frequency: np.ndarray) -> float:
    """The held-out value at the scale and the share of the column's frequency that are best for it."""
    return max(mean_log(x, (1 - m) * c * r + m * frequency) for c in SCALES for m in MIXED)


def our_trace(data: BinaryData, hidden: Any, n_passes: int) -> Iterator[tuple[float, float, int, float]]:
    """(held-out value, CPU seconds, passes, value as it is) after each few passes of one accelerated climb."""
    rows, columns, x = hidden
    csr = data.sparse
    missing = sp.coo_array((np.full(len(rows), -2.0), (rows, columns)), shape=data.shape).tocsr()
    both = csr.astype(float) + missing  # type: ignore[union-attr]
    both.data = np.where(both.data < 0, np.nan, 1.0)
    learner = learner_of(BinaryData.of(both))
    snapshots: list[tuple[float, int, ExpandedState]] = []
    began = time.process_time()

    class Watched(ExpandedZeros):
        def step(self, state: ExpandedState) -> tuple[ExpandedState, float]:
            if len(monitor.history) % 15 == 0:
                snapshots.append((time.process_time() - began, len(monitor.history), state))
            return super().step(state)

    watched = Watched(learner.data, learner.row_weight, K, learner.workers)
    monitor = Monitor(1e-7, n_passes, float(learner.data.n_observed))
    climb(watched, watched.initialise(np.random.default_rng(0)), monitor)
    frequency = learner.data.ones_per_column()[columns] / data.shape[0]
    for seconds, passes, state in snapshots:
        r = np.einsum("ik,ki->i", state.W[rows], state.H[:, columns])
        yield calibrated(x, r, frequency), seconds, passes, mean_log(x, r)


def peers(data: BinaryData, hidden: Any, seed: int, quick: bool) -> dict[str, list[tuple[float, float, int]]]:
    """For each peer (held-out value at its best calibration, CPU seconds, iterations)."""
    rows, columns, x = hidden
    shown = _without(data, rows, columns)
    frequency = np.asarray(shown.sum(axis=0)).ravel()[columns] / data.shape[0]
    loss = {"beta_loss": "kullback-leibler", "random_state": seed, "tol": 0.0}
    makers: dict[str, Callable[[int], Any]] = {
        "NMF(KL)": lambda n: NMF(K, solver="mu", init="nndsvda", max_iter=n, **loss),
        "MiniBatchNMF(KL)": lambda n: MiniBatchNMF(K, init="nndsvda", max_iter=n, max_no_improvement=None, **loss),
    }
    counts = {"NMF(KL)": (5, 20, 60), "MiniBatchNMF(KL)": (1, 3, 8)}
    traces: dict[str, list[tuple[float, float, int]]] = {}
    for name, make in makers.items():
        traces[name] = []
        for n in counts[name][:2] if quick else counts[name]:
            model = make(n)
            began = time.process_time()
            W = model.fit_transform(shown)
            seconds = time.process_time() - began
            r = np.einsum("ik,ki->i", W[rows], model.components_[:, columns])
            best = calibrated(x, r, frequency)
            traces[name].append((best, seconds, n))
            print(f"  {name} {n}: {best:.6f} in {seconds:.1f} CPU s", flush=True)
    return traces


def _without(data: BinaryData, rows: np.ndarray, columns: np.ndarray) -> sp.csr_matrix:
    """The ones that are not hidden, as the peers take them."""
    hidden = sp.coo_array((np.ones(len(rows)), (rows, columns)), shape=data.shape).tocsr()
    ones = data.sparse.astype(float)  # type: ignore[union-attr]
    shown = ones - ones.multiply(hidden)
    shown.eliminate_zeros()
    return sp.csr_matrix(shown)


# ---- d. weights of rows --------------------------------------------------------------------------


def weights_of_rows(quick: bool) -> pd.DataFrame:
    """Solving for weights of rows: CPU time a row, and in exact passes over the same rows."""
    rows = []
    for N, D, density in [(2_000, 500, 0.01)] if quick else [(200_000, 2_000, 0.01), (20_000, 20_000, 0.001)]:
        data = simulated(N, D, K, density, seed=7)
        learner = learner_of(data)
        state = after(learner, 10)
        some = data.rows(np.arange(min(N, 20_000)))
        exact = in_turns({"": partial(learner_of(some).exactly.step, State(state.W[: some.shape[0]], state.H))}, 3)[""]
        solve_weights(data.rows(np.arange(3)), state.H, 1 - state.H, workers=Workers())
        began = time.process_time()
        solution = solve_weights(data, state.H, 1 - state.H, workers=Workers())
        seconds = time.process_time() - began
        assert solution.gap is not None
        line = {"what": f"transform {N} x {D}, {100 * density:g} % ones", "cpu_ms_a_row": round(1e3 * seconds / N, 4)}
        per_pass = exact / some.shape[0]
        rows.append({**line, "exact_passes": round(seconds / N / per_pass, 1), "gap": f"{solution.gap.max():.1e}"})
    return pd.DataFrame(rows)


def fit_and_suspects(quick: bool) -> pd.DataFrame:
    """The final solve's share of a fit's CPU time (one start, default parameters), and `suspects` of ten starts."""
    N, D = (300, 300) if quick else (2_000, 2_000)
    rows = []
    rng = np.random.default_rng(8)
    H = np.clip(rng.beta(0.3, 0.7, (K, D)), 1e-3, 1 - 1e-3)
    dense = BinaryData.of((rng.random((N, D)) < rng.dirichlet(np.full(K, 0.3), N) @ H).astype(np.int8))
    for name, data in (("1 % ones, sparse", simulated(N, D, K, 0.01, seed=8)), ("30 % ones, dense", dense)):
        AspectBernoulli(K, n_init=1, max_iter=6, random_state=0).fit(data.rows(np.arange(50))).suspects(data)
        began = time.process_time()
        model = AspectBernoulli(K, n_init=1, random_state=0).fit(data)
        fit = time.process_time() - began
        solved_rows._SOLUTIONS.clear()
        began = time.process_time()
        model.transform(data)
        solve = time.process_time() - began
        many = AspectBernoulli(K, n_init=10, max_iter=30, random_state=0).fit(data)
        solved_rows._SOLUTIONS.clear()
        began = time.process_time()
        many.suspects(data)
        asked = time.process_time() - began
        line = {"data": f"{N} x {D}, {name}", "passes": model.n_iter_, "fit_cpu_s": round(fit, 2)}
        line |= {"final_solve_s": round(solve, 3), "share_of_fit": round(solve / fit, 3)}
        rows.append({**line, "suspects_of_10_starts_s": round(asked, 2), "gap": f"{model.weights_gap_:.1e}"})
    return pd.DataFrame(rows)


# ---- shared --------------------------------------------------------------------------------------


def in_turns(rivals: dict[str, Callable[[], Any]], repeats: int) -> dict[str, float]:
    """Median CPU seconds of each, called in turns after one call to warm up."""
    seconds: dict[str, list[float]] = {name: [] for name in rivals}
    for repeat in range(repeats + 1):
        for name, call in rivals.items():
            began = time.process_time()
            call()
            if repeat:
                seconds[name].append(time.process_time() - began)
    return {name: float(np.median(values)) for name, values in seconds.items()}


MEASURES = {
    "A pass beside the exact one": one_pass,
    "A large table": large,
    "Weights of rows": weights_of_rows,
    "A fit's final solve, and suspects": fit_and_suspects,
    "Held-out cells beside scikit-learn": held_out,
    "Growth of the time of a pass": growth,
    "A climb beside the exact one": to_the_end,
}


if __name__ == "__main__":
    main()
