"""Binary factor analysis on the experiments of its paper (Tu and Xu, Neurocomputing 2014).

    python experiments/binary_factors.py [encoders] [shrinkage] [selection] [images]

Without a name all are run. Each prints its tables, writes them (CSV) and its figures (PNG) to experiments/results, and
adds its claims to claims.csv: what is claimed, what we find, and a verdict by rule. "first" is the first random start,
which is what the paper has; "best" is the best of five by the objective.
"""

from __future__ import annotations

import sys
import time
import warnings
from collections.abc import Callable, Iterable
from itertools import permutations, product
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
import pandas as pd
from joblib import Parallel, delayed
from sklearn.exceptions import ConvergenceWarning

from latentbits import BinaryFactorAnalysis, solve_bqp
from latentbits.simulate import binary_factors

matplotlib.use("Agg")
from matplotlib import pyplot as plt

ROOT = Path(__file__).resolve().parents[1]
sys.path.append(str(ROOT))

from experiments.aspect_bernoulli import (  # noqa: E402  (the root isn't on a script's path)
    CLAIMS,
    RESULTS,
    Claim,
    asked_for,
    keep_claims,
    save_figure,
)
from experiments.data import data_file  # noqa: E402

N_JOBS = 2
RUNS = 50
STARTS = 5
ENCODERS = ("round", "cdual", "greedy", "enum")
ROWS = (200, 100, 50, 30, 20)
NOISES = (0.01, 0.1, 0.25, 0.5, 1.0)
TRUE, START, VARIABLES = 3, 5, 10
Record = dict[str, Any]


def main() -> None:
    names = asked_for(EXPERIMENTS, __doc__)
    for name in names:
        print(f"\n== {name}: {EXPERIMENTS[name].__doc__}", flush=True)
        claims = EXPERIMENTS[name]()
        keep_claims(label(name), [claim._replace(experiment=label(name)) for claim in claims])
    claims = pd.read_csv(CLAIMS, dtype=str)
    print("\n" + claims[claims["experiment"].isin([label(name) for name in names])].to_string(index=False))


def label(name: str) -> str:
    return f"binary_factors {name}"


def in_parallel(job: Callable[..., Any], cases: Iterable[tuple[Any, ...]]) -> list[Any]:
    """The jobs of all cases on processes, in order."""
    return list(Parallel(n_jobs=N_JOBS)(delayed(job)(*case) for case in cases))


def fit(m: int, X: np.ndarray, **parameters: Any) -> BinaryFactorAnalysis:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return BinaryFactorAnalysis(m, **{"n_init": STARTS, "random_state": 0, **parameters}).fit(X)


# ---- the binary quadratic program (Fig. 1) ---------------------------------------------------------------------------


def encoders(runs: int = 100) -> list[Claim]:
    """Share of exact optima, and time, by number of factors and norm of f; tr Q = 1."""
    sizes, norms = range(2, 21, 2), np.logspace(-2, 1, 7)
    for method in ENCODERS:
        solve_bqp(np.eye(2), np.ones((1, 2)), method)  # compiled before it is timed
    table = pd.DataFrame([row for m, norm in product(sizes, norms) for row in _encoders_cell(m, norm, runs)])
    save("binary_factors_encoders", table, show=False)
    print("\n" + table.pivot_table("exact", ["method", "m"], "norm", sort=False).round(2).to_string())
    mean = table.groupby("method")["exact"].mean()
    large = table[table["m"] == max(sizes)].groupby("method")["seconds"].mean()
    figure, axes = plt.subplots(1, 2, figsize=(9, 3.5))
    for method, group in table.groupby("method", sort=False):
        by_size = group.groupby("m")[["exact", "seconds"]].mean()
        axes[0].plot(by_size.index, by_size["exact"], "o-", label=method)
        axes[1].semilogy(by_size.index, by_size["seconds"], "o-")
    axes[0].set(xlabel="factors", ylabel="share of exact optima")
    axes[1].set(xlabel="factors", ylabel="seconds a row")
    axes[0].legend()
    save_figure("binary_factors_encoders", figure)
    weak, strong = (
        table[(table["norm"] == norm) & (table["method"] == "round")]["exact"].mean() for norm in norms[[0, -1]]
    )
    return [
        Claim(
            "",
            "exact optima: round < cdual < greedy < enum",
            "in this order",
            ", ".join(f"{method} {mean[method]:.2f}" for method in ENCODERS),
            bool(mean["round"] < mean["cdual"] < mean["greedy"] < mean["enum"]),
        ),
        Claim(
            "", "round is exact more often for small |f|", "slightly", f"{weak:.2f} against {strong:.2f}", weak > strong
        ),
        Claim(
            "",
            "round is the fastest and enum the slowest",
            "log scale",
            ", ".join(f"{method} {1e6 * large[method]:.0f} us" for method in ENCODERS),
            bool(large["round"] == large.min() and large["enum"] == large.max()),
        ),
    ]


def _encoders_cell(m: int, norm: float, runs: int) -> list[Record]:
    exact, seconds = dict.fromkeys(ENCODERS, 0.0), dict.fromkeys(ENCODERS, 0.0)
    for seed in range(runs):
        rng = np.random.default_rng([m, seed])
        G = rng.standard_normal((m, m))
        f = rng.standard_normal((1, m))
        Q, f = G @ G.T / np.sum(G * G), norm * f / np.linalg.norm(f)
        values = {}
        for method in ENCODERS:
            start = time.perf_counter()
            values[method] = solve_bqp(Q, f, method).values[0]
            seconds[method] += (time.perf_counter() - start) / runs
        for method in ENCODERS:
            exact[method] += (values[method] <= values["enum"] + 1e-9) / runs
    return [{"m": m, "norm": norm, "method": k, "exact": exact[k], "seconds": seconds[k]} for k in ENCODERS]


# ---- the extra column (Fig. 2) ---------------------------------------------------------------------------------------


def shrinkage(runs: int = RUNS) -> list[Claim]:
    """n = 10, 5 factors of norm 1, sigma = 0.3, N = 50: the shortest of 6 columns when none is discarded as weak."""
    cases = list(product(range(runs), ENCODERS))
    table = pd.DataFrame(in_parallel(_shortest, cases))
    save("binary_factors_shrinkage", table, show=False)
    median = table.groupby("encoder", sort=False)["shortest"].median()
    print("\n" + median.round(3).to_string())
    return [
        Claim(
            "",
            "the extra column shrinks under cdual and round, not under enum and greedy",
            "much smaller",
            ", ".join(f"{encoder} {median[encoder]:.2f}" for encoder in ENCODERS),
            bool(median[["round", "cdual"]].max() < median[["greedy", "enum"]].min()),
        )
    ]


def _shortest(seed: int, encoder: str) -> Record:
    truth = binary_factors(50, 10, 5, 0.3, norms=(1.0, 1.0), random_state=seed)
    model = fit(6, truth.X, encoder=encoder, priors=False, delta=0.0, n_init=1, random_state=seed)
    norms = np.linalg.norm(model.mixing_, axis=0)
    # A factor that nearly all rows have, or lack, is gone: nothing of it is left.
    return {"seed": seed, "encoder": encoder, "shortest": norms.min() if len(norms) == 6 else 0.0}


# ---- selection (Figs. 3-6) -------------------------------------------------------------------------------------------


def selection(runs: int = RUNS, rows: Iterable[int] = ROWS, noises: Iterable[float] = NOISES) -> list[Claim]:
    """3 factors in 10 variables, started with 5: how often each method finds 3, over N and sigma."""
    cases = list(product(rows, noises, range(runs)))
    table = pd.DataFrame([row for part in in_parallel(_select, cases) for row in part])
    table.to_csv(RESULTS / "binary_factors_selection_runs.csv", index=False)
    for start in ("first", "best"):
        table[f"right_{start}"] = table[start] == TRUE
        table[f"under_{start}"] = table[start] < TRUE
        table[f"over_{start}"] = table[start] > TRUE
    right = table.groupby(["method", "N", "sigma"], sort=False)[["right_first", "right_best"]].mean().reset_index()
    save("binary_factors_selection", right, show=False)
    shown = table.groupby("method", sort=False)[
        ["right_first", "under_first", "over_first", "right_best", "under_best", "over_best"]
    ].mean()
    print("\n" + shown.round(3).to_string(), flush=True)
    for start in ("first", "best"):
        _draw_heatmaps(right, start)
    return [claim for start in ("first", "best") for claim in _selection_claims(right, shown, start)]


def _select(N: int, sigma: float, seed: int) -> list[Record]:
    """What every method finds on one data set."""
    X = binary_factors(N, VARIABLES, TRUE, sigma, random_state=1_000_000 + 1000 * N + seed).X
    found = {}
    for encoder, priors in product(ENCODERS, (False, True)):
        model = fit(START, X, encoder=encoder, priors=priors, random_state=seed)
        found[f"{encoder} {'with' if priors else 'without'} prior"] = model.restarts_
    found["vb"] = fit(START, X, inference="vb", random_state=seed).restarts_
    rows = [
        {"method": method, "first": runs["n_components"][0], "best": runs["n_components"][runs["objective"].argmax()]}
        for method, runs in found.items()
    ]
    bic = np.array([_bic(k, X, seed) for k in range(1, START + 1)])  # of the first start, and of the best
    rows.append({"method": "bic", "first": 1 + bic[:, 0].argmin(), "best": 1 + bic[:, 1].argmin()})
    return [{"N": N, "sigma": sigma, "seed": seed, **row} for row in rows]


def _bic(m: int, X: np.ndarray, seed: int) -> tuple[float, float]:
    """Of the first start and of the best: the objective of a start is its log likelihood."""
    model = fit(m, X, inference="em", random_state=seed)
    best = model.bic(X)
    return best + 2 * (model.objective_ - model.restarts_["objective"][0]), best


def _selection_claims(right: pd.DataFrame, shown: pd.DataFrame, start: str) -> list[Claim]:
    grid = right.pivot_table(f"right_{start}", ["N", "sigma"], "method")
    claims = []
    for prior in ("without", "with"):
        mean = {encoder: grid[f"{encoder} {prior} prior"].mean() for encoder in ENCODERS}
        claims.append(
            Claim(
                "",
                f"the reversal {prior} priors ({start}): cdual, round > greedy > enum",
                "in this order",
                ", ".join(f"{encoder} {value:.2f}" for encoder, value in mean.items()),
                bool(min(mean["round"], mean["cdual"]) > mean["greedy"] > mean["enum"]),
            )
        )
    few = grid.index.get_level_values("N") <= 50
    gain = {e: grid[f"{e} with prior"] - grid[f"{e} without prior"] for e in ENCODERS}
    claims.append(
        Claim(
            "",
            f"priors help, most at small N ({start})",
            "improved, especially when N is small",
            ", ".join(f"{e} {gain[e][few].mean():+.2f} (N <= 50), {gain[e][~few].mean():+.2f}" for e in ENCODERS),
            all(g[few].mean() > max(0.0, g[~few].mean()) for g in gain.values()),
        )
    )
    by_noise = grid["round without prior"].groupby("sigma").mean()
    claims.append(
        Claim(
            "",
            f"accuracy rises, then falls with sigma ({start}, round without prior)",
            "peak around 0.25",
            f"peak {by_noise.max():.2f} at {by_noise.idxmax()}; {by_noise.iloc[0]:.2f} at {by_noise.index[0]}",
            bool(0.15 <= by_noise.idxmax() <= 0.35 and by_noise.iloc[0] < by_noise.max()),
        )
    )
    three = grid[["round with prior", "vb", "bic"]]
    share = (three["round with prior"] >= three.max(axis=1)).mean()
    claims += [
        Claim(
            "", f"BYY is the best of BYY, VB and BIC in most cells ({start})", "most", f"{share:.0%}", bool(share > 0.5)
        ),
        Claim(
            "",
            f"BIC is sturdier than VB ({start})",
            "yes",
            f"mean {three['bic'].mean():.2f} against {three['vb'].mean():.2f}",
            bool(three["bic"].mean() > three["vb"].mean()),
        ),
    ]
    for method, kind in (("round with prior", "over"), ("vb", "under"), ("bic", "under")):
        under, over = shown.loc[method, f"under_{start}"], shown.loc[method, f"over_{start}"]
        more, less = (over, under) if kind == "over" else (under, over)
        claims.append(
            Claim(
                "",
                f"{method} errs by {kind}estimation ({start})",
                "yes",
                f"under {under:.1%}, over {over:.1%}",
                bool(more > less),
            )
        )
    return claims


def _draw_heatmaps(right: pd.DataFrame, start: str) -> None:
    methods = list(right["method"].unique())
    figure, axes = plt.subplots(5, 2, figsize=(10, 14), layout="constrained")
    for axis, method in zip(axes.ravel(), methods, strict=True):
        grid = right[right["method"] == method].pivot_table(f"right_{start}", "N", "sigma")
        image = axis.imshow(grid, vmin=0, vmax=1, cmap="viridis", aspect="auto", origin="lower")
        axis.set(title=method, xticks=range(len(grid.columns)), yticks=range(len(grid.index)))
        axis.set_xticklabels([f"{sigma:g}" for sigma in grid.columns], rotation=90, fontsize=7)
        axis.set_yticklabels(grid.index)
    figure.colorbar(image, ax=axes, label=f"share of runs that find {TRUE} factors ({start} start)")
    save_figure(f"binary_factors_selection_{start}", figure)


# ---- two images (Figs. 7-9) ------------------------------------------------------------------------------------------


def images(runs: int = 100) -> list[Claim]:
    """Two binary images, mixed by a random 4 x 2 matrix, noise variance 0.1, started with 3 factors."""
    with np.load(data_file("binaryalphadigs.npz")) as file:
        pixels, classes, shape = file["X"], file["y"], tuple(file["image_shape"])
    pairs = {"0 and 3": _first_of(classes, "03"), "any two": None}
    cases = [(pixels, classes, pair, name, seed) for name, pair in pairs.items() for seed in range(runs)]
    table = pd.DataFrame([row for part in in_parallel(_unmix, cases) for row in part])
    save("binary_factors_images", table, show=False)
    shares = (
        table.assign(
            under=table["found"] < 2,
            right=table["found"] == 2,
            over=table["found"] > 2,
            recovered=table["agreement"] > 0.95,
        )
        .groupby(["pair", "method"], sort=False)[["under", "right", "over", "recovered"]]
        .mean()
    )
    print("\n" + shares.round(3).to_string(), flush=True)
    _draw_pair(pixels, _first_of(classes, "03"), shape)
    return [
        Claim(
            "",
            f"BYY finds two images more often than VB ({name})",
            "yes",
            f"BYY {shares.loc[(name, 'byy'), 'right']:.0%}, VB {shares.loc[(name, 'vb'), 'right']:.0%}",
            bool(shares.loc[(name, "byy"), "right"] > shares.loc[(name, "vb"), "right"]),
        )
        for name in pairs
    ]


def _first_of(classes: np.ndarray, names: str) -> np.ndarray:
    return np.array([int(np.flatnonzero(classes == name)[0]) for name in names])


def _mixed(pixels: np.ndarray, pair: np.ndarray, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """The images' pixels as codes (-1 and 1, a pixel a row), and what is seen of them."""
    Y = 2.0 * pixels[pair].T - 1
    return Y, Y @ rng.standard_normal((2, 4)) + np.sqrt(0.1) * rng.standard_normal((len(Y), 4))


def _unmix(pixels: np.ndarray, classes: np.ndarray, pair: np.ndarray | None, name: str, seed: int) -> list[Record]:
    rng = np.random.default_rng(seed)
    if pair is None:
        chosen = rng.choice(np.unique(classes), size=2, replace=False)
        pair = np.array([rng.choice(np.flatnonzero(classes == label)) for label in chosen])
    Y, X = _mixed(pixels, pair, rng)
    rows = []
    for method in ("byy", "vb"):
        model = fit(3, X, inference=method, random_state=seed)
        agreement = max(_agreements(Y, model.transform(X)), default=0.0) if model.n_components_ >= 2 else 0.0
        rows.append(
            {"pair": name, "seed": seed, "method": method, "found": model.n_components_, "agreement": agreement}
        )
    return rows


def _agreements(Y: np.ndarray, codes: np.ndarray) -> Iterable[float]:
    """Share of right pixels for each way to name two of the factors, each with its better sign."""
    for order in permutations(range(codes.shape[1]), 2):
        alike = (codes[:, order] == Y).mean(axis=0)
        yield float(np.maximum(alike, 1 - alike).mean())


def _draw_pair(pixels: np.ndarray, pair: np.ndarray, shape: tuple[int, int]) -> None:
    Y, X = _mixed(pixels, pair, np.random.default_rng(0))
    codes = {method: fit(3, X, inference=method).transform(X) for method in ("byy", "vb")}
    rows = [("true", Y), ("seen", X), *codes.items()]
    figure, axes = plt.subplots(len(rows), 4, figsize=(6, 8))
    for line, (name, values) in zip(axes, rows, strict=True):
        for axis in line:
            axis.axis("off")
        for axis, image in zip(line, values.T, strict=False):
            axis.imshow(image.reshape(shape), cmap="gray")
        line[0].set_title(name, loc="left", fontsize=9)
    save_figure("binary_factors_images", figure)


def save(name: str, table: pd.DataFrame, *, show: bool = True) -> None:
    """Write the table, and print it."""
    table.to_csv(RESULTS / f"{name}.csv", index=False, float_format="%.6g")
    if show:
        print("\n" + table.round(4).to_string(index=False), flush=True)


EXPERIMENTS: dict[str, Callable[[], list[Claim]]] = {
    "encoders": encoders,
    "shrinkage": shrinkage,
    "selection": selection,
    "images": images,
}


if __name__ == "__main__":
    main()
