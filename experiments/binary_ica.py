"""Binary ICA on the experiments of its paper (Hyttinen, Barin-Pacela and Hyvärinen), and on the votes of the UN.

    python experiments/binary_ica.py [identifiability] [finite] [likelihood] [scaling] [votes]

Without a name all are run. Each prints its tables, writes them (CSV) and its figures (PNG) to experiments/results, and
adds its claims to claims.csv. Errors are log10(1 - MCS), MCS the mean cosine similarity of the mixing's columns.
"""

from __future__ import annotations

import sys
import time
import warnings
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
import pandas as pd
from joblib import Parallel, delayed
from sklearn.decomposition import FastICA

from latentbits import (
    BinaryICA,
    fit_blica,
    identifiability,
    mean_cosine_similarity,
    pairwise_from_model,
    plots,
    simulate,
)

matplotlib.use("Agg")
from matplotlib import pyplot as plt

ROOT = Path(__file__).resolve().parents[1]
sys.path.append(str(ROOT))

from experiments.aspect_bernoulli import (  # noqa: E402  (the root isn't on a script's path)
    CLAIMS,
    Claim,
    asked_for,
    keep_claims,
    save,
    save_figure,
)
from experiments.data import data_file  # noqa: E402

N_JOBS = 2
N_SEGMENTS = 40
FOUND = -6.0
"""An error below this is an exact recovery (the paper cuts its plots off at -7)."""

TABLE_1 = {
    2: [-6, -7, -8, -9, -10],
    3: [-9, -9, -9, -9, -9],
    4: [-12, -10, -8, -6, -4],
    5: [-15, -10, -5, 0, 5],
    6: [-18, -9, 0, 9, 18],
    7: [-21, -7, 7, 21, 35],
    8: [-24, -4, 16, 36, 56],
    9: [-27, 0, 27, 54, 81],
    10: [-30, 5, 40, 75, 110],
}
"""The paper's Table 1: n = m down, 2 to 6 segments across."""

RECOVERED = [(5, 5), (6, 4), (8, 4), (9, 3), (10, 3)]
NOT_RECOVERED = [(4, 4), (5, 4), (2, 6)]
CASES = {"n = m = 10": (10, 10), "n = m = 6": (6, 6), "n = 6, m = 2": (6, 2)}
ROWS = (50, 100, 200, 500, 1000, 2000)
IVAE_ROWS = (50, 200, 1000)
"""iVAE takes fifty times as long as the others, and is asked at these sizes only."""

MODELS = 4


def main() -> None:
    names = asked_for(EXPERIMENTS, __doc__)
    for name in names:
        print(f"\n== {name}: {EXPERIMENTS[name].__doc__}", flush=True)
        label = f"binary_ica {name}"
        keep_claims(label, [claim._replace(experiment=label) for claim in EXPERIMENTS[name]()])
    claims = pd.read_csv(CLAIMS, dtype=str)
    print("\n" + claims[claims["experiment"].isin([f"binary_ica {name}" for name in names])].to_string(index=False))


def in_parallel(job: Callable[..., Any], cases: list[tuple[Any, ...]]) -> list[Any]:
    return list(Parallel(n_jobs=N_JOBS, verbose=5)(delayed(job)(*case) for case in cases))


def error(truth: np.ndarray, found: np.ndarray) -> float:
    return float(np.log10(max(1 - mean_cosine_similarity(truth, found), 1e-16)))


# ---- infinite samples (Fig. 3, Table 1) --------------------------------------------------------------------------


def identifiable(models: int = 10) -> list[Claim]:
    """BLICA on exact pairwise distributions, best of 3 starts, beside the count of statistics and unknowns."""
    counted = {n: [identifiability(n, n, U) for U in range(2, 7)] for n in TABLE_1}
    cases = [(n, U, seed) for n, U in (*RECOVERED, *NOT_RECOVERED) for seed in range(models)]
    table = pd.DataFrame(in_parallel(_exact, cases))
    save("binary_ica_identifiability", table)
    share = table.assign(found=table["error"] < FOUND).groupby(["n", "segments"])["found"].sum()
    claims = [Claim("", "Table 1: statistics minus unknowns", "45 numbers", "the same", counted == TABLE_1)]
    for n, U in RECOVERED:
        got = int(share[n, U])
        claims.append(Claim("", f"n = m = {n}, {U} segments: recovered", "yes", f"{got} of {models}", got > models / 2))
    for n, U in NOT_RECOVERED:
        got = int(share[n, U])
        claims.append(Claim("", f"n = m = {n}, {U} segments: not recovered", "yes", f"{got} of {models}", got == 0))
    return claims


def _exact(n: int, U: int, seed: int) -> dict[str, Any]:
    truth = simulate.binary_ica(1, n, n, U, random_state=seed)
    statistics = pairwise_from_model(truth.mixing, truth.means, truth.scales)
    found = fit_blica(statistics, n, n_init=3, max_iter=20_000, random_state=seed)
    return {"n": n, "segments": U, "seed": seed, "error": error(truth.mixing, found.mixing)}


# ---- finite samples (Fig. 4) -------------------------------------------------------------------------------------


def finite() -> list[Claim]:
    """BLICA, linear iVAE and FastICA by rows a segment, 40 segments."""
    cases = [(case, rows, seed) for case in CASES for rows in ROWS for seed in range(MODELS)]
    table = pd.DataFrame([row for part in in_parallel(_finite, cases) for row in part])
    table.to_csv(ROOT / "experiments" / "results" / "binary_ica_finite_all.csv", index=False, float_format="%.5g")
    summary = table.groupby(["case", "rows", "method"], sort=False)["mcs"].agg(["median", "min", "max"]).reset_index()
    save("binary_ica_finite", summary)
    figure, axes = plt.subplots(1, 3, figsize=(11, 3.4), sharey=True)
    for ax, case in zip(axes, CASES, strict=True):
        for method, group in summary[summary["case"] == case].groupby("method", sort=False):
            ax.semilogx(group["rows"], group["median"], "o-", label=method)
            ax.fill_between(group["rows"], group["min"], group["max"], alpha=0.15)
        ax.set(title=case, xlabel="rows a segment")
    axes[0].set(ylabel="mean cosine similarity", ylim=(0, 1.02))
    axes[0].legend(fontsize=8)
    save_figure("binary_ica_finite", figure)
    median = summary.set_index(["case", "rows", "method"])["median"]
    claims = []
    for case, (n, m) in CASES.items():
        line = [median[case, rows, "BLICA"] for rows in ROWS]
        text = ", ".join(f"{value:.3f}" for value in line)
        falls = sum(later < earlier - 0.005 for earlier, later in pairwise(line))
        claims.append(Claim("", f"{case}: BLICA improves with rows {ROWS}", "steadily", text, falls == 0))
        for rival in ("iVAE", "FastICA"):
            sizes = IVAE_ROWS if rival == "iVAE" else ROWS
            wins = sum(median[case, rows, "BLICA"] > median[case, rows, rival] for rows in sizes)
            last = (
                f"{median[case, sizes[-1], rival]:.3f} at {sizes[-1]} rows; BLICA ahead at {wins} of {len(sizes)} sizes"
            )
            said = "good only for m < n" if rival == "iVAE" else "not reliable"
            claims.append(Claim("", f"{case}: {rival} below BLICA", said, last, wins == len(sizes)))
        if m < n:
            claims.append(
                Claim("", f"{case}: BLICA high at 50 rows a segment (> 0.9)", "yes", f"{line[0]:.3f}", line[0] > 0.9)
            )
    return claims


def _finite(case: str, rows: int, seed: int) -> list[dict[str, Any]]:
    n, m = CASES[case]
    truth = simulate.binary_ica(rows, n, m, N_SEGMENTS, random_state=seed)
    found = {
        "BLICA": lambda: fitted("blica", truth, seed, n_init=3).mixing_,
        "iVAE": lambda: fitted("ivae", truth, seed, n_init=1).mixing_,
        "FastICA": lambda: _fastica(truth.X, m, seed),
    }
    if rows not in IVAE_ROWS:
        del found["iVAE"]
    about = {"case": case, "rows": rows, "seed": seed}
    return [
        {**about, "method": name, "mcs": mean_cosine_similarity(truth.mixing, make())} for name, make in found.items()
    ]


def fitted(method: Any, truth: Any, seed: int, **parameters: Any) -> BinaryICA:
    m = truth.mixing.shape[1]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return BinaryICA(m, method=method, random_state=seed, **parameters).fit(truth.X, segments=truth.segments)


def _fastica(X: np.ndarray, m: int, seed: int) -> np.ndarray:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return FastICA(m, whiten="unit-variance", max_iter=1000, random_state=seed).fit(X.astype(float)).mixing_


# ---- full maximum likelihood -------------------------------------------------------------------------------------


def likelihood(models: int = 3) -> list[Claim]:
    """Full maximum likelihood from BLICA's answer: n = m = 6 with 1000 rows a segment, n = 6, m = 2 with 200."""
    rows = []
    for (n, m), size in {(6, 6): 1000, (6, 2): 200}.items():
        for seed in range(models):
            truth = simulate.binary_ica(size, n, m, N_SEGMENTS, random_state=100 + seed)
            line: dict[str, Any] = {"n": n, "m": m, "rows": size, "seed": seed}
            for method in ("blica", "mle"):
                start = time.perf_counter()
                model = fitted(method, truth, seed, n_jobs=N_JOBS)
                line |= {method: mean_cosine_similarity(truth.mixing, model.mixing_)}
                line |= {f"{method}_s": time.perf_counter() - start}
            rows.append(line)
            print(line, flush=True)
    table = pd.DataFrame(rows)
    save("binary_ica_likelihood", table)
    claims = []
    for (n, m), group in table.groupby(["n", "m"], sort=False):
        means = f"{group['mle'].mean():.4f} against {group['blica'].mean():.4f}"
        name = f"n = {n}, m = {m}: MLE's mixing no worse than BLICA's on average"
        claims.append(Claim("", name, "MLE not finished in 2 h", means, group["mle"].mean() >= group["blica"].mean()))
        slowest = group["mle_s"].max()
        claims.append(
            Claim("", f"n = {n}, m = {m}: MLE in minutes", "> 2 h", f"{slowest:.0f} s at most", slowest < 600)
        )
    return claims


# ---- scaling (Fig. 5) --------------------------------------------------------------------------------------------


def scaling() -> list[Claim]:
    """Seconds of a whole BLICA fit by columns, sources and segments; 1000 rows a segment."""
    cases = [(n, 10, 40) for n in (10, 20, 50, 100)] + [(n, n, 40) for n in (20, 30)]
    cases += [(30, m, 40) for m in (2, 5, 20)] + [(30, 10, U) for U in (10, 20, 80)]
    rows = []
    for n, m, U in cases:
        truth = simulate.binary_ica(1000, n, m, U, random_state=0)
        start = time.perf_counter()
        model = fitted("blica", truth, 0, n_init=3, n_jobs=N_JOBS)
        seconds = time.perf_counter() - start
        mcs = mean_cosine_similarity(truth.mixing, model.mixing_)
        rows.append({"n": n, "m": m, "segments": U, "seconds": seconds, "mcs": mcs})
        print(rows[-1], flush=True)
    table = pd.DataFrame(rows)
    save("binary_ica_scaling", table)
    largest = table[(table["n"] == 100) & (table["m"] == 10)].iloc[0]
    return [
        Claim(
            "",
            "n = 100, m = 10, 40 x 1000 rows fitted in under 2 minutes",
            "-",
            f"{largest['seconds']:.1f} s, MCS {largest['mcs']:.3f}",
            largest["seconds"] < 120,
        )
    ]


# ---- the United Nations ------------------------------------------------------------------------------------------


def votes(n_components: int = 4, sessions: int = 4) -> list[Claim]:
    """Roll calls of the UN General Assembly: which blocs come out, and when they mattered."""
    with np.load(data_file("un_votes.npz")) as file:
        cells, session, countries = file["votes"], file["session"], file["country"]
    present = (cells >= 0).mean(axis=0) > 0.9
    X = np.where(cells[:, present] < 0, np.nan, cells[:, present] == 1)
    names = [str(name) for name in countries[present]]
    groups = (np.unique(session, return_inverse=True)[1] // sessions) * sessions
    frame = pd.DataFrame(X, columns=names)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = BinaryICA(n_components, random_state=0, n_jobs=N_JOBS).fit(frame, segments=groups)
    save_figure("binary_ica_votes_mixing", plots.plot_mixing(model))
    save_figure("binary_ica_votes_scales", plots.plot_source_scales(model))
    rows = []
    for k, column in enumerate(model.mixing_.T):
        order = np.argsort(column)
        rows.append(
            {
                "source": k,
                "up": ", ".join(names[i] for i in order[::-1][:8]),
                "down": ", ".join(names[i] for i in order[:8]),
            }
        )
    table = pd.DataFrame(rows)
    save("binary_ica_votes", table)
    n = int(present.sum())
    return [Claim("", "countries present in over 90 % of the votes", "63", str(n), n == 63)]


EXPERIMENTS: dict[str, Callable[[], list[Claim]]] = {
    "identifiability": identifiable,
    "finite": finite,
    "likelihood": likelihood,
    "scaling": scaling,
    "votes": votes,
}


if __name__ == "__main__":
    main()
