"""The aspect Bernoulli model on the data of its paper, and its suspects where the truth is known.

    python experiments/aspect_bernoulli.py [order] [digits] [birds] [corroded] [simulated]

Without a name all are run. Each prints its tables, writes them (CSV) and its figures (PNG) to
experiments/results, and adds its claims to claims.csv: what is claimed, what we find, and a verdict by rule.
"""

from __future__ import annotations

import argparse
import sys
import warnings
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, NamedTuple

import matplotlib
import numpy as np
import pandas as pd
from sklearn.decomposition import NMF

from latentbits import AspectBernoulli, datasets, simulate
from latentbits.metrics import (
    calibration_table,
    denoising_auc,
    denoising_average_precision,
    expected_calibration_error,
    noise_removal_rate,
)

matplotlib.use("Agg")
from matplotlib import pyplot as plt

ROOT = Path(__file__).resolve().parents[1]
sys.path.append(str(ROOT))

from experiments.data import birds, fossils, numerals  # noqa: E402  (the root isn't on a script's path)

RESULTS = ROOT / "experiments" / "results"
CLAIMS = RESULTS / "claims.csv"
SEEDS = (0, 1, 2)
N_JOBS = 2


class Claim(NamedTuple):
    """What is said, what we find, and whether that agrees."""

    experiment: str
    claim: str
    paper: str
    ours: str
    holds: bool


def asked_for(experiments: Iterable[str], description: str) -> list[str]:
    """The experiments named on the command line, all by default; the folder of results is made."""
    known = list(experiments)
    parser = argparse.ArgumentParser(description=description.splitlines()[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help="any of: " + ", ".join(known))
    names: list[str] = parser.parse_args().names or known
    if unknown := set(names) - set(known):
        parser.error(f"unknown: {', '.join(sorted(unknown))}; use any of {', '.join(known)}")
    RESULTS.mkdir(exist_ok=True)
    return names


def main() -> None:
    names = asked_for(EXPERIMENTS, __doc__)
    for name in names:
        print(f"\n== {name}: {EXPERIMENTS[name].__doc__}", flush=True)
        keep_claims(name, EXPERIMENTS[name]())
    claims = pd.read_csv(CLAIMS, dtype=str)
    print("\n" + claims[claims["experiment"].isin(names)].to_string(index=False))


# ---- the paper's experiments ---------------------------------------------------------------------


def order() -> list[Claim]:
    """Fossil mammals: AIC over K = 2..8, best of 15 restarts, at two tolerances."""
    data = fossils()
    rows, found = [], {}
    for tol in (1e-6, 1e-7):
        for k in range(2, 9):
            model = fit(k, data, n_init=15, tol=tol, max_iter=10_000)
            found[tol, k] = model
            rows.append(
                {
                    "tol": tol,
                    "K": k,
                    "log_likelihood": model.log_likelihood(data),
                    "aic": model.aic(data),
                    "white": count(model, "white"),
                    "restarts_converged": int(model.restarts_["converged"].sum()),
                    "runs_within_5_of_best": int((model.restarts_["objective"] > model.objective_ - 5).sum()),
                }
            )
    table = pd.DataFrame(rows)
    save("order_fossils", table.assign(tol=table["tol"].map("{:g}".format)))
    best = {tol: int(group.loc[group["aic"].idxmin(), "K"]) for tol, group in table.groupby("tol")}
    figure, axes = plt.subplots(figsize=(5, 3.5))
    for tol, group in table.groupby("tol"):
        axes.plot(group["K"], group["aic"], "o-", label=f"tol = {tol:g}")
    axes.set(xlabel="components K", ylabel="AIC", title="Fossil mammals, best of 15 restarts")
    axes.legend()
    save_figure("order_fossils", figure)
    chosen = found[1e-6, 4]
    blank = chosen.components_.max(axis=1).min()
    return [
        Claim("order", "AIC picks K on fossils, tol 1e-6", "4", str(best[1e-6]), best[1e-6] == 4),
        Claim("order", "AIC picks K on fossils, tol 1e-7", "4", str(best[1e-7]), best[1e-7] == 4),
        Claim(
            "order",
            "one component is a white phantom at K=4",
            "1 (largest H 1e-3 .. 4e-2)",
            f"{count(chosen, 'white')} (largest H of the blankest component {blank:.2g})",
            count(chosen, "white") == 1,
        ),
    ]


def digits() -> list[Claim]:
    """Numerals with Uniform[0, 0.4] added zeros (K=14) and added ones (K=15)."""
    images = numerals()
    rows = []
    for seed in SEEDS:
        for kind, add, k in (("absence", simulate.add_zeros, 14), ("presence", simulate.add_ones, 15)):
            X = add(images.X, 0.4, random_state=seed).X
            model = fit(k, X, random_state=seed)
            answers = {
                "denoised": model.denoise(X),
                "plain": model.reconstruct(X) >= 0.5,
                "nmf": nmf(X, k) >= 0.5,
            }
            rates = {name: noise_removal_rate(images.X, X, cells, kind=kind) for name, cells in answers.items()}
            phantoms = {colour: count(model, colour) for colour in ("white", "black")}
            rows.append({"kind": kind, "K": k, "seed": seed, **phantoms, **rates})
            if seed == SEEDS[0]:
                draw_components(f"digits_{kind}", model, images.shape)
    table = pd.DataFrame(rows)
    save("digits", table)
    zeros, ones = (table[table["kind"] == kind] for kind in ("absence", "presence"))
    return [
        Claim(
            "digits",
            "white phantom, zeros added, K=14",
            "1",
            listed(zeros["white"]),
            (zeros["white"] > 0).all(),
        ),
        better("digits", "noise removal, zeros added: denoised > plain + 0.05", zeros, "denoised", "plain", 0.05),
        better("digits", "noise removal, zeros added: denoised > NMF", zeros, "denoised", "nmf"),
        Claim("digits", "black phantom, ones added, K=15", "1", listed(ones["black"]), (ones["black"] > 0).all()),
        better("digits", "noise removal, ones added: denoised > plain", ones, "denoised", "plain"),
    ]


# ---- suspects, where the truth is known ----------------------------------------------------------


def missed_birds() -> list[Claim]:
    """Birds missed on visit 1 and seen on a later one, fitted on visit 1 alone."""
    rows, calibration = [], []
    for sites, complete in (("all visits", True), ("visit 1", False)):
        seen = birds(complete=complete)
        X = seen.first
        baselines = {"column means": np.broadcast_to(X.mean(axis=0), X.shape)}
        for k in (4, 8, 12):
            for seed in SEEDS:
                model = fit(k, X, random_state=seed)
                scores = {**cell_scores(model, X), "nmf": nmf(X, k, random_state=seed), **baselines}
                about = {"sites": sites, "N": X.shape[0], "D": X.shape[1], "K": k, "seed": seed}
                about["white"] = count(model, "white")
                rows += judged(scores, seen.ever, X, about)
                calibration.append(calibrated(scores["suspicion"], seen.ever, X, about))
    table = pd.DataFrame(rows)
    save("birds", table, by=["sites", "N", "D", "K", "score"])
    save_calibration("birds", calibration, by=["sites", "K"])
    claims = []
    for (sites, k), group in table[table["K"] > 4].groupby(["sites", "K"]):
        auc, precision = group[group["score"] == "suspicion"][["auc", "ap"]].mean()
        case = f"sites of {sites}, K={k}"
        ours = f"{auc:.3f} / {precision:.3f}"
        goal = "0.84 / 0.37"
        claims.append(Claim("birds", f"suspicion, {case}: AUC / AP", goal, ours, auc >= 0.84 and precision >= 0.37))
        wide = by_score(group, "auc")
        for rival in ("plain", "nmf", "column means", "product"):
            claims.append(better("birds", f"AUC, {case}: suspicion > {rival}", wide, "suspicion", rival))
    return claims


def corroded() -> list[Claim]:
    """scikit-learn's digits, a share Uniform[0, u] of each image's ones turned off, K=16."""
    images = datasets.load_digits()
    rows, calibration, rates, claims = [], [], [], []
    for u in (0.6, 1.0):
        for seed in SEEDS:
            X = simulate.corrode(images.X, u, random_state=seed).X
            model = fit(16, X, random_state=seed)
            about = {"u": u, "seed": seed, "white": count(model, "white")}
            scores = cell_scores(model, X)
            rows += judged(scores, images.X, X, about)
            calibration.append(calibrated(scores["suspicion"], images.X, X, about))
            rates.append(
                {
                    **about,
                    "noisy": noise_removal_rate(images.X, X, X),
                    "plain": noise_removal_rate(images.X, X, scores["plain"] >= 0.5),
                    "denoised": noise_removal_rate(images.X, X, model.denoise(X)),
                }
            )
            if seed == SEEDS[0]:
                draw_components(f"corroded_{u}", model, images.image_shape)
    table, removal = pd.DataFrame(rows), pd.DataFrame(rates)
    save("corroded", table, by=["u", "white", "score"])
    save("corroded_noise_removal", removal)
    save_calibration("corroded", calibration, by=["u"])
    for u, group in table.groupby("u"):
        removed = removal[removal["u"] == u]
        claims.append(one_white("corroded", f"u={u}", group))
        for rival in ("plain", "product"):
            claim = f"AUC, u={u}: suspicion > {rival}"
            claims.append(better("corroded", claim, by_score(group, "auc"), "suspicion", rival))
        claims.append(better("corroded", f"noise removal, u={u}: denoised > plain", removed, "denoised", "plain"))
        claims.append(calibration_claim("corroded", f"u={u}", group))
    return claims


def simulated() -> list[Claim]:
    """Data from the model with zeros added: the hidden ones are known, and so is the best possible score."""
    rows, calibration = [], []
    for u in (0.4, 0.8):
        for seed in SEEDS:
            truth = simulate.aspect_bernoulli(1000, 100, 4, density=0.4, random_state=seed)
            noisy = simulate.add_zeros(truth.X, u, random_state=seed)
            model = fit(5, noisy.X, random_state=seed)
            about = {"u": u, "seed": seed, "white": count(model, "white")}
            P, share = truth.probabilities, noisy.share[:, None]
            # Bayes' rule with all true parameters: the content put a 1 there, and a zero was put over it.
            oracle = P * share / (1 - P + P * share)
            scores = {**cell_scores(model, noisy.X), "oracle": oracle}
            rows += judged(scores, truth.X, noisy.X, about)
            calibration.append(calibrated(scores["suspicion"], truth.X, noisy.X, about))
    table = pd.DataFrame(rows)
    save("simulated", table, by=["u", "white", "score"])
    save_calibration("simulated", calibration, by=["u"])
    claims = []
    for u, group in table.groupby("u"):
        wide = by_score(group, "auc")
        claims.append(one_white("simulated", f"u={u}", group))
        claims.append(better("simulated", f"AUC, u={u}: suspicion > product", wide, "suspicion", "product"))
        claims.append(better("simulated", f"AUC, u={u}: suspicion > plain", wide, "suspicion", "plain"))
        near = better("simulated", f"AUC, u={u}: suspicion > oracle - 0.03", wide, "suspicion", "oracle", -0.03)
        claims.append(near)
        claims.append(calibration_claim("simulated", f"u={u}", group))
    return claims


# ---- models and scores ---------------------------------------------------------------------------


def fit(k: int, X: Any, *, random_state: int = 0, **options: Any) -> AspectBernoulli:
    return AspectBernoulli(k, random_state=random_state, n_jobs=N_JOBS, **options).fit(X)


def count(model: AspectBernoulli, colour: str) -> int:
    return int((model.phantoms_ == colour).sum())


def nmf(X: np.ndarray, k: int, random_state: int = 0) -> np.ndarray:
    """scikit-learn's NMF, its reconstruction clipped to 1."""
    model = NMF(k, random_state=random_state, max_iter=2000)
    return np.minimum(model.fit_transform(X.astype(float)) @ model.components_, 1.0)


def cell_scores(model: AspectBernoulli, X: np.ndarray) -> dict[str, np.ndarray]:
    """Three scores of the zeros: the library's, the plain reconstruction, and the naive product.

    The product is the posterior that the phantom caused the 0, times the reconstruction without the phantom;
    the phantom is the component with the smallest sum, the rule of the paper.
    """
    plain = model.reconstruct(X)
    phantom = int(np.argmin(model.components_.sum(axis=1)))
    others = np.arange(len(model.components_)) != phantom
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".*no weight on any kept component")
        without = model.reconstruct(X, ratings=others.astype(float))
    joint = np.outer(model.weights_[:, phantom], 1 - model.components_[phantom])
    posterior = joint / np.maximum(1 - plain, 1e-12)
    return {
        "suspicion": model.suspicion(X),
        "plain": plain,
        "product": np.clip(posterior * without, 0.0, 1.0),
    }


def judged(
    scores: dict[str, np.ndarray], clean: np.ndarray, X: np.ndarray, about: dict[str, Any]
) -> list[dict[str, Any]]:
    """A line for each score: how well it ranks the zeros of X that are 1 in `clean`, and its calibration."""
    zero = X == 0
    return [
        {
            **about,
            "score": name,
            "auc": denoising_auc(clean, X, score),
            "ap": denoising_average_precision(clean, X, score),
            "ece": expected_calibration_error(clean[zero], score[zero]),
        }
        for name, score in scores.items()
    ]


def calibrated(score: np.ndarray, clean: np.ndarray, X: np.ndarray, about: dict[str, Any]) -> pd.DataFrame:
    zero = X == 0
    return calibration_table(clean[zero], score[zero]).assign(**about)


# ---- claims --------------------------------------------------------------------------------------


def better(experiment: str, claim: str, wide: pd.DataFrame, ours: str, rival: str, margin: float = 0.0) -> Claim:
    """Holds when ours beats the rival by the margin for every seed."""
    holds = bool((wide[ours] > wide[rival] + margin).all())
    return Claim(experiment, claim, "better", f"{wide[ours].mean():.3f} vs {wide[rival].mean():.3f}", holds)


def one_white(experiment: str, case: str, group: pd.DataFrame) -> Claim:
    """Holds when every seed finds exactly one white phantom."""
    found = group.groupby("seed")["white"].first()
    return Claim(experiment, f"one white phantom, {case}", "1", listed(found), bool((found == 1).all()))


def calibration_claim(experiment: str, case: str, group: pd.DataFrame) -> Claim:
    """A score that is called a probability is off by at most 0.05 on average."""
    error = group.loc[group["score"] == "suspicion", "ece"]
    claim = f"calibration error of suspicion, {case}, at most 0.05"
    return Claim(experiment, claim, "-", f"{error.mean():.3f}", bool((error <= 0.05).all()))


def by_score(table: pd.DataFrame, metric: str) -> pd.DataFrame:
    return table.pivot(index="seed", columns="score", values=metric)


def listed(values: Iterable[int]) -> str:
    return ", ".join(str(value) for value in values)


def keep_claims(name: str, claims: list[Claim]) -> None:
    """Put the claims of an experiment in the place of its old ones in claims.csv."""
    new = pd.DataFrame(claims)
    new["verdict"] = np.where(new.pop("holds"), "holds", "does not hold")
    if CLAIMS.exists():
        old = pd.read_csv(CLAIMS, dtype=str)
        new = pd.concat([old[old["experiment"] != name], new])
    new.to_csv(CLAIMS, index=False)


# ---- tables and figures --------------------------------------------------------------------------


def save(name: str, table: pd.DataFrame, *, by: list[str] | None = None) -> None:
    """Write the table; print it, or its means over the seeds for each value of `by`."""
    table.to_csv(RESULTS / f"{name}.csv", index=False, float_format="%.6g")
    shown = table if by is None else table.groupby(by, sort=False)[["auc", "ap", "ece"]].mean().reset_index()
    print("\n" + shown.round(4).to_string(index=False), flush=True)


def save_calibration(name: str, parts: list[pd.DataFrame], *, by: list[str]) -> None:
    """The calibration of suspicion over all seeds, as a table and as a figure."""
    bins = pd.concat(parts)
    sums = bins.assign(**{c: bins[c] * bins["count"] for c in ("predicted", "observed")})
    table = sums.groupby([*by, "lower", "upper"])[["predicted", "observed", "count"]].sum()
    for column in ("predicted", "observed"):
        table[column] /= table["count"]
    table = table.reset_index()
    table.to_csv(RESULTS / f"{name}_calibration.csv", index=False, float_format="%.6g")
    print("\n" + table.round(3).to_string(index=False), flush=True)
    figure, axes = plt.subplots(figsize=(4.5, 4.5))
    axes.plot([0, 1], [0, 1], color="0.7", lw=1)
    for case, group in table.groupby(by):
        label = ", ".join(f"{key} = {value}" for key, value in zip(by, case, strict=True))
        axes.plot(group["predicted"], group["observed"], "o-", label=label)
    axes.set(xlabel="suspicion of a 0", ylabel="share that hides a 1", title=f"Calibration: {name}")
    axes.legend(fontsize=8)
    save_figure(f"{name}_calibration", figure)


def draw_components(name: str, model: AspectBernoulli, shape: tuple[int, int]) -> None:
    """The components as images, each with its kind and its share of the data."""
    k = len(model.components_)
    figure, axes = plt.subplots(2, -(-k // 2), figsize=(1.1 * -(-k // 2), 3.0))
    for panel in axes.flat:
        panel.axis("off")
    share = model.weights_.mean(axis=0)
    for panel, H, kind, part in zip(axes.flat, model.components_, model.phantoms_, share, strict=False):
        panel.imshow(H.reshape(shape), cmap="gray_r", vmin=0, vmax=1)
        colour = "black" if kind == "content" else "tab:red"
        panel.set_title(f"{kind} {part:.2f}", fontsize=7, color=colour)
    save_figure(f"{name}_components", figure)


def save_figure(name: str, figure: plt.Figure) -> None:
    figure.savefig(RESULTS / f"{name}.png", dpi=120, bbox_inches="tight")
    plt.close(figure)


EXPERIMENTS: dict[str, Callable[[], list[Claim]]] = {
    "order": order,
    "digits": digits,
    "birds": missed_birds,
    "corroded": corroded,
    "simulated": simulated,
}


if __name__ == "__main__":
    main()
