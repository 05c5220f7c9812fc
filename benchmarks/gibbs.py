"""Sampling of BetaICA beside Gibbs sampling in plain NumPy, NumPyro's NUTS and the point estimate of nbmf-mm.

    python benchmarks/gibbs.py [--quick]

Prints plain tables and writes them to benchmarks/results/gibbs.json and gibbs.md. All are measured in processor time on
one thread, compiled before. The peers of two tables are optional (`pip install numpyro nbmf-mm`): without them these
tables are left out, and the run says so.
"""

from __future__ import annotations

import argparse
import inspect
import os
import time
from collections.abc import Callable
from functools import partial
from importlib.util import find_spec
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
    peers = [name for name, module in PEERS.items() if find_spec(module) is not None]
    measures = {title: measure for title, (measure, peer) in MEASURES.items() if peer is None or peer in peers}
    for title, (_, peer) in MEASURES.items():
        if title not in measures:
            print(f"{title}: left out, as {peer} is not installed (pip install {peer})", flush=True)
    with threadpool_limits(1):
        for title, measure in measures.items():
            tables[title] = measure(quick)
            print(f"\n{title}\n{tables[title].to_string(index=False)}", flush=True)
    write(
        "gibbs",
        "Sampling of BetaICA beside plain NumPy, NumPyro and nbmf-mm",
        tables,
        quick=quick,
        packages=("numpy", "numba", *peers),
        notes={title: inspect.getdoc(measure) or "" for title, measure in measures.items()},
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


# ---- peers -------------------------------------------------------------------------------------------------------


def beside_numpyro(quick: bool) -> pd.DataFrame:
    """Milliseconds of an independent sample, as above, of our collapsed chain and of NumPyro's NUTS (one chain after
    500 steps of adaptation, float64; neither these nor tracing and compilation, about 4 s a run, are counted). The
    posterior is the same: Dirichlet weights, Beta components, and cells whose causes are summed out, P = W H; both draw
    weights and components. `mean_gap` is the mean difference of the probabilities of 100 cells between the two, and
    `expected_gap` what their effective samples let expect.
    """
    shape = SHAPES[0]
    X = data(*shape)
    places = watched_cells(*X.shape)
    n, n_theirs = (2000, 300) if quick else (20000, 5000)
    chain, rng = Chain(X, shape[2], PRIOR, np.random.default_rng(0)), np.random.default_rng(1)
    chain.sweep(500)
    ours, our_seconds = np.empty((1, n // 4, 100)), 0.0
    for t in range(n // 4):
        our_seconds += processor_time(chain.sweep, 4)
        ours[0, t] = drawn_cells(chain, places, rng)
    theirs, their_seconds, divergent = nuts(X, shape[2], places, n_theirs)
    sizes = [effective_size(kept) for kept in (ours, theirs)]
    ms = [
        1000 * seconds / float(np.median(size))
        for seconds, size in zip((our_seconds, their_seconds), sizes, strict=True)
    ]
    error = np.sqrt(sum(kept[0].var(axis=0) / size for kept, size in zip((ours, theirs), sizes, strict=True)))
    gap = np.abs(ours[0].mean(axis=0) - theirs[0].mean(axis=0))
    row = {
        "shape": " x ".join(map(str, shape)),
        "ours_ms": round(ms[0], 2),
        "nuts_ms": round(ms[1], 1),
        "ratio": round(ms[1] / ms[0]),
        "nuts_samples": n_theirs,
        "nuts_effective": round(float(np.median(sizes[1]))),
        "nuts_divergent": divergent,
        "mean_gap": round(float(gap.mean()), 4),
        "expected_gap": round(float(np.sqrt(2 / np.pi) * error.mean()), 4),
    }
    return pd.DataFrame([row])


def drawn_cells(chain: Chain, places: tuple[np.ndarray, np.ndarray], rng: np.random.Generator) -> np.ndarray:
    """Probabilities of the watched cells by weights and components drawn given the causes."""
    rows, columns = places
    W = rng.standard_gamma(chain.of_rows[rows] + PRIOR.gamma)
    return np.einsum("ck,kc->c", W / W.sum(axis=1, keepdims=True), chain.components(rng)[:, columns])


def nuts(X: np.ndarray, K: int, places: tuple[np.ndarray, np.ndarray], n: int) -> tuple[np.ndarray, float, int]:
    """Probabilities of the watched cells (1 x n x 100), processor time of the samples, and divergent steps."""
    os.environ["XLA_FLAGS"] = "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"  # before jax
    import jax
    import jax.numpy as jnp
    import numpyro
    from numpyro import distributions as dist
    from numpyro.infer import MCMC, NUTS

    numpyro.enable_x64()
    rows, columns = places

    def model() -> None:
        W = numpyro.sample("W", dist.Dirichlet(jnp.full((len(X), K), PRIOR.gamma)))
        H = numpyro.sample("H", dist.Beta(PRIOR.alpha, PRIOR.beta).expand([K, X.shape[1]]).to_event(2))
        numpyro.factor("cells", jnp.log(jnp.where(X == 1, W @ H, W @ (1 - H))).sum())
        numpyro.deterministic("watched", (W[rows] * H[:, columns].T).sum(axis=1))

    def sample(chain: MCMC, seed: int) -> None:
        chain.run(jax.random.key(seed), extra_fields=("diverging",))
        jax.block_until_ready(chain.get_samples())

    kernel = NUTS(model)
    short, long = (MCMC(kernel, num_warmup=500, num_samples=m, progress_bar=False) for m in (n // 10, n))
    short.warmup(jax.random.key(0))
    seconds, adapted = [], short.last_state
    for chain in (short, long):
        chain.post_warmup_state = adapted
        seconds.append(processor_time(partial(sample, chain), 1))
    divergent = int(long.get_extra_fields()["diverging"].sum())
    # Every run is traced and compiled anew, which the difference of the two leaves out.
    return np.asarray(long.get_samples()["watched"])[None], (seconds[1] - seconds[0]) * n / (n - n // 10), divergent


def beside_nbmf(quick: bool) -> pd.DataFrame:
    """Held-out cells: a fifth of the cells of five tables of 150 x 30, hidden from all. nbmf-mm gives a point estimate
    and neither samples nor intervals, so it can be compared in what it predicts alone: the mean log likelihood of the
    hidden cells in nats (that of the true probabilities is higher by `behind_truth`), and the processor time of a fit,
    of which it makes 10 and keeps the best. No time to the same quality can be given where it is reached in no table
    (`as_good_as_a_tenth`). "ours, a tenth" is one chain of 10.
    """
    tables = [hidden_cells(seed) for seed in range(1 if quick else 5)]
    truth = np.array([held_out(P, X, hidden) for X, hidden, P in tables])
    seconds, scores = {}, {}
    for name, predict in RIVALS.items():
        predict(*tables[0][:2], 0)  # compiles
        timed = [clocked(partial(predict, X, hidden, seed)) for seed, (X, hidden, _) in enumerate(tables)]
        seconds[name] = np.mean([each for each, _ in timed])
        scores[name] = np.array([held_out(P, *table[:2]) for (_, P), table in zip(timed, tables, strict=True)])
    rows = [
        {
            "fit": name,
            "seconds": round(float(seconds[name]), 3),
            "times_ours": round(float(seconds[name] / seconds[OURS]), 2),
            "nats_a_cell": round(float(score.mean()), 4),
            "behind_truth": round(float((truth - score).mean()), 4),
            "as_good_as_a_tenth": f"{int((score >= scores[A_TENTH]).sum())} of {len(tables)}",
        }
        for name, score in scores.items()
    ]
    return pd.DataFrame(rows)


def hidden_cells(seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """A table, which of its cells are hidden, and the true probabilities."""
    made = simulate.aspect_bernoulli(*SHAPES[0], random_state=100 + seed)
    hidden = np.random.default_rng(seed).random(made.X.shape) < 0.2
    return np.asarray(made.X, np.int8), hidden, made.weights @ made.components


def held_out(P: np.ndarray, X: np.ndarray, hidden: np.ndarray) -> float:
    p = np.clip(P[hidden], 1e-3, 1 - 1e-3)
    return float(np.where(X[hidden] == 1, np.log(p), np.log1p(-p)).mean())


def sampled(X: np.ndarray, hidden: np.ndarray, seed: int, **settings: Any) -> np.ndarray:
    seen = np.where(hidden, np.nan, X)
    model = BetaICA(SHAPES[0][2], inference="gibbs", random_state=seed, **settings).fit(seen)
    return model.reconstruct(seen)


def nbmf(X: np.ndarray, hidden: np.ndarray, seed: int, prior: float) -> np.ndarray:
    """The best of 10 starts by the likelihood of the cells that it saw."""
    from nbmf_mm import NBMFMM

    seen = ~hidden
    fits = [
        NBMFMM(SHAPES[0][2], alpha=prior, beta=prior, random_state=10 * seed + start).fit(X.astype(float), mask=seen)
        for start in range(10)
    ]
    return max((fit.W_ @ fit.components_ for fit in fits), key=lambda P: held_out(P, X, seen))


OURS, A_TENTH = "ours, 10 chains", "ours, a tenth"
RIVALS: dict[str, Callable[[np.ndarray, np.ndarray, int], np.ndarray]] = {
    OURS: sampled,
    A_TENTH: partial(sampled, n_init=1),
    "nbmf-mm, its prior": partial(nbmf, prior=1.2),
    "nbmf-mm, no prior": partial(nbmf, prior=1.0),
}


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
    return clocked(partial(call, n))[0]


def clocked(call: Callable[[], Any]) -> tuple[float, Any]:
    """Processor time of a call, and what it returns."""
    began = time.process_time()
    found = call()
    return time.process_time() - began, found


PEERS = {"numpyro": "numpyro", "nbmf-mm": "nbmf_mm"}
"""Packages that needn't be there, and what they are imported as."""

MEASURES: dict[str, tuple[Callable[[bool], pd.DataFrame], str | None]] = {
    "1,000 sweeps": (one_sweep, None),
    "An independent sample": (effective_samples, None),
    "An independent sample, beside NumPyro": (beside_numpyro, "numpyro"),
    "Held-out cells, beside nbmf-mm": (beside_nbmf, "nbmf-mm"),
    "A fit with its intervals": (whole_fits, None),
}
"""Each table with the peer that it needs."""


if __name__ == "__main__":
    main()
