"""Binary independent components (BetaICA) on the experiments of its paper.

    python experiments/beta_ica.py [toy] [digits] [monks] [dna]

Without a name all are run. Each prints its tables, writes them (CSV, and a summary as Markdown) and its figures
(PNG) to experiments/results, and adds its claims to claims.csv: what is claimed, what we find, and a verdict by rule.
"BICA" is variational EM, "bBICA" is variational Bayes.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import matplotlib
import numpy as np
import pandas as pd
from joblib import Parallel, delayed
from scipy.optimize import linear_sum_assignment
from scipy.stats import spearmanr
from sklearn.metrics import adjusted_rand_score

from latentbits import AspectBernoulli, BetaICA, simulate
from latentbits.metrics import denoising_auc

matplotlib.use("Agg")
from matplotlib import pyplot as plt

ROOT = Path(__file__).resolve().parents[1]
sys.path.append(str(ROOT))

from experiments.aspect_bernoulli import (  # noqa: E402  (the root isn't on a script's path)
    CLAIMS,
    RESULTS,
    SEEDS,
    Claim,
    asked_for,
    count,
    draw_components,
    keep_claims,
    save_figure,
)
from experiments.data import data_file, numerals  # noqa: E402

N_JOBS = 2
Model = AspectBernoulli | BetaICA
Record = dict[str, Any]


def main() -> None:
    names = asked_for(EXPERIMENTS, __doc__)
    for name in names:
        print(f"\n== {name}: {EXPERIMENTS[name].__doc__}", flush=True)
        report = EXPERIMENTS[name]()
        keep_claims(label(name), [claim._replace(experiment=label(name)) for claim in report.claims])
        write_summary(name, report)
    claims = pd.read_csv(CLAIMS, dtype=str)
    print("\n" + claims[claims["experiment"].isin([label(name) for name in names])].to_string(index=False))


class Report(NamedTuple):
    """The claims of an experiment, and the tables (by title) of its summary."""

    claims: list[Claim]
    tables: dict[str, pd.DataFrame]


def label(name: str) -> str:
    return f"beta_ica {name}"


def claim(text: str, paper: str, ours: str, holds: bool) -> Claim:
    return Claim("", text, paper, ours, bool(holds))


# ---- data from the model: does the evidence find K? ----------------------------------------------


class ToyCase(NamedTuple):
    """rows x columns from three components, weights ~ Dirichlet(concentration); gamma: the prior of the fit."""

    rows: int
    columns: int
    concentration: float
    gamma: float


TOY_SEEDS = range(20)
TOY_K = range(1, 7)
MOST = 0.5 * len(TOY_SEEDS)


def toy() -> Report:
    """Data from the model (K=3): evidence over K = 1..6, best of 10 restarts, 20 data sets for each case."""
    cases = [
        ToyCase(*shape, concentration, gamma)
        for shape, concentration, gamma in product(((150, 30), (30, 150)), (0.1, 0.3, 1.0), (1.0, 0.3))
    ]
    tasks = [delayed(toy_fits)(case, seed) for case in cases for seed in TOY_SEEDS]
    table = pd.DataFrame([record for records in Parallel(N_JOBS)(tasks) for record in records])
    write_table("toy", table)
    summary = pd.DataFrame([{**case._asdict(), **toy_counts(select(table, case))} for case in cases])
    show(summary)
    draw_evidence(table, cases)
    claims = [toy_claim(*pair) for case in cases for pair in (("peak", case, summary), ("death", case, summary))]
    return Report(claims, {"Counts over 20 data sets": summary})


def toy_fits(case: ToyCase, seed: int) -> list[Record]:
    """One data set, fitted for every K."""
    X = simulate.aspect_bernoulli(
        case.rows, case.columns, 3, concentration=case.concentration, sharpness=1.0, random_state=seed
    ).X
    records = []
    for k in TOY_K:
        model = BetaICA(k, gamma=case.gamma, n_init=10, tol=1e-7, max_iter=10_000, random_state=seed).fit(X)
        records.append(
            {
                **case._asdict(),
                "seed": seed,
                "K": k,
                "evidence": model.objective_,
                "alive": model.n_effective_components_,
                "restarts_converged": int(model.restarts_["converged"].sum()),
            }
        )
    return records


def select(table: pd.DataFrame, case: ToyCase) -> pd.DataFrame:
    return table[(table[list(case._fields)] == list(case)).all(axis=1)]


def toy_counts(group: pd.DataFrame) -> Record:
    """In how many data sets the evidence peaks at each K, and how many components are alive at K=6."""
    evidence = group.pivot(index="seed", columns="K", values="evidence")
    peak = evidence.idxmax(axis=1)
    alive = group.loc[group["K"] == max(TOY_K), "alive"]
    return {
        **{f"peak at {k}": int((peak == k).sum()) for k in TOY_K},
        "peak at 3 of 2..6": int((evidence.loc[:, 2:].idxmax(axis=1) == 3).sum()),
        "3 alive at K=6": int((alive == 3).sum()),
        "some dead at K=6": int((alive < max(TOY_K)).sum()),
        "mean alive at K=6": float(alive.mean()),
    }


def toy_claim(kind: str, case: ToyCase, summary: pd.DataFrame) -> Claim:
    line = select(summary, case).iloc[0]
    where = f"{case.rows} x {case.columns}, concentration {case.concentration}, gamma {case.gamma}"
    if kind == "peak":
        n = int(line["peak at 3 of 2..6"])
        ours = f"{n} of 20 (over K = 1..6: {int(line['peak at 3'])})"
        return claim(f"evidence peaks at 3 over K = 2..6 in most data sets, {where}", "peaks at 3", ours, n > MOST)
    n = int(line["3 alive at K=6"])
    ours = f"{n} of 20 (mean alive {line['mean alive at K=6']:.1f})"
    return claim(f"surplus components die: 3 alive at K=6 in most data sets, {where}", "die", ours, n > MOST)


def draw_evidence(table: pd.DataFrame, cases: list[ToyCase]) -> None:
    """Evidence against K, each data set a line, as the distance from its own best K."""
    figure, axes = plt.subplots(3, 4, figsize=(13, 8.5), sharex=True)
    for panel, case in zip(
        axes.T.flat, sorted(cases, key=lambda c: (c.columns, -c.gamma, c.concentration)), strict=True
    ):
        group = select(table, case)
        evidence = group.pivot(index="K", columns="seed", values="evidence")
        n_peaks = int((evidence.idxmax() == 3).sum())
        panel.plot(evidence - evidence.max(), color="tab:blue", alpha=0.3, lw=1)
        panel.plot((evidence - evidence.max()).mean(axis=1), "o-", color="black", lw=1.5)
        panel.axvline(3, color="0.7", lw=1, zorder=0)
        title = f"{case.rows} x {case.columns}, weights Dir({case.concentration}), gamma {case.gamma}"
        panel.set_title(f"{title}\npeak at 3: {n_peaks} of 20", fontsize=8)
    for panel in axes[-1]:
        panel.set_xlabel("components K")
    for panel in axes[:, 0]:
        panel.set_ylabel("evidence - best of the data set")
    figure.tight_layout()
    save_figure("beta_ica_toy", figure)


# ---- corroded numerals: weak and strong denoising ------------------------------------------------

DENOISED = ("no phantoms", "mean < 0.1")
DIGITS_K = (5, 10, 15, 20)


def digits() -> Report:
    """Numerals 0-4, a share Uniform[0, 1] of each image's ones turned off: 500 for training, 500 unseen."""
    images = numerals()
    clean = images.X[digit_labels() < 5]
    rows: list[Record] = []
    for seed, k, (name, model) in product(SEEDS, DIGITS_K, models().items()):
        train, unseen = halves(len(clean), seed)
        X = simulate.corrode(clean, 1.0, random_state=seed).X
        fitted = model(k, n_init=5, random_state=seed, n_jobs=N_JOBS).fit(X[train])
        about = {"model": name, "K": k, "seed": seed, "white": count(fitted, "white")}
        about["mean < 0.1"] = int((fitted.components_.mean(axis=1) < 0.1).sum())
        for denoising, part in (("weak", train), ("strong", unseen)):
            for score, cells in grey_scales(fitted, X[part]).items():
                rows.append(
                    {**about, "denoising": denoising, "score": score, "auc": denoising_auc(clean[part], X[part], cells)}
                )
        if seed == SEEDS[0] and k == 15:
            draw_components(f"beta_ica_digits_{name}", fitted, images.shape)
    table = pd.DataFrame(rows)
    write_table("digits", table)
    summary = digits_summary(table)
    show(summary)
    draw_digits(table)
    return Report(digits_claims(table), {"AUC at the zeros, mean (standard error) of 3 splits": summary})


def digit_labels() -> np.ndarray:
    with np.load(data_file("mfeat_pix.npz")) as file:
        return file["y"]


def models() -> dict[str, Callable[..., Model]]:
    return {
        "BICA": lambda k, **options: BetaICA(k, inference="em", **options),
        "bBICA": lambda k, **options: BetaICA(k, inference="vb", **options),
        "AspectBernoulli": AspectBernoulli,
    }


def halves(n: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    order = np.random.default_rng(seed).permutation(n)
    return order[: n // 2], order[n // 2 :]


def grey_scales(model: Model, X: np.ndarray) -> dict[str, np.ndarray]:
    """The reconstruction with all components, without phantoms by two rules, and the consensus over restarts."""
    content = {"no phantoms": model.phantoms_ == "content", "mean < 0.1": model.components_.mean(axis=1) >= 0.1}
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".*no weight on any kept component")
        without = {rule: model.reconstruct(X, ratings=kept.astype(float)) for rule, kept in content.items()}
    return {"all": model.reconstruct(X), **without, "suspicion": model.suspicion(X)}


def digits_summary(table: pd.DataFrame) -> pd.DataFrame:
    groups = table.groupby(["model", "denoising", "K", "score"], sort=False)["auc"].agg(["mean", "sem"])
    cells = groups.apply(lambda g: f"{g['mean']:.4f} ({g['sem']:.4f})", axis=1).unstack("score")
    found = table.groupby(["model", "denoising", "K"], sort=False)[["white", "mean < 0.1"]].mean().round(1)
    found.columns = ["phantoms found", "means < 0.1"]
    return found.join(cells[["all", *DENOISED, "suspicion"]]).reset_index()


def digits_claims(table: pd.DataFrame) -> list[Claim]:
    """Removal helps when it raises the AUC for every K and split; strong is near weak when its mean is, at every K."""
    claims = []
    for name, group in table.groupby("model", sort=False):
        wide = group.pivot(index=["denoising", "K", "seed"], columns="score", values="auc")
        for rule, denoising in product(DENOISED, ("weak", "strong")):
            gain = (wide[rule] - wide["all"]).loc[denoising]
            ours = f"+{gain.mean():.3f} on average, {gain.min():+.3f} at worst, {int((gain > 0).sum())} of {len(gain)}"
            claims.append(claim(f"{name}, {denoising}: removal ({rule}) helps", "helps", ours, (gain > 0).all()))
        for score in ("all", *DENOISED, "suspicion"):
            mean = wide[score].groupby(["denoising", "K"]).mean()
            loss = mean["weak"] - mean["strong"]
            ours = f"weak - strong at most {loss.max():.3f} (K={loss.idxmax()})"
            claims.append(
                claim(f"{name}, {score}: strong is within 0.02 of weak", "no inferior", ours, (loss <= 0.02).all())
            )
    return claims


def draw_digits(table: pd.DataFrame) -> None:
    figure, axes = plt.subplots(1, 3, figsize=(12, 3.8), sharey=True)
    for panel, (name, group) in zip(axes, table.groupby("model", sort=False), strict=True):
        for (score, denoising), part in group.groupby(["score", "denoising"], sort=False):
            auc = part.groupby("K")["auc"]
            colour = dict(
                zip(("all", *DENOISED, "suspicion"), ("tab:gray", "tab:blue", "tab:orange", "tab:green"), strict=True)
            )[score]
            style = "o-" if denoising == "weak" else "s--"
            panel.errorbar(
                auc.mean().index, auc.mean(), auc.sem(), fmt=style, color=colour, label=f"{score}, {denoising}", ms=4
            )
        panel.set(title=name, xlabel="components K")
    axes[0].set_ylabel("AUC at the zeros")
    axes[-1].legend(fontsize=7, loc="center left", bbox_to_anchor=(1, 0.5))
    save_figure("beta_ica_digits", figure)


# ---- Sampson's monks -----------------------------------------------------------------------------

GROUPS = ("Turks", "Loyal", "Outcasts")


class MonkCase(NamedTuple):
    """rows: a monk's row says whom he "likes" or who he is "liked by". diagonal: "zero" or "missing". gamma: prior."""

    rows: str
    diagonal: str
    gamma: float


class MonkFit(NamedTuple):
    """line: of the summary. weights: of each monk on the components, named by the groups they match."""

    line: Record
    weights: pd.DataFrame


def monks() -> Report:
    """Sampson's monks (18 x 18), K=3, best evidence of 50 runs: the groups, and the three waverers."""
    cases = [MonkCase(*case) for case in product(("likes", "liked by"), ("zero", "missing"), (1.0, 0.3))]
    fits = [monk_fit(*monk_data(case), case) for case in cases]
    summary = pd.DataFrame([fit.line for fit in fits])
    weights = pd.concat([fit.weights for fit in fits])
    write_table("monks", weights)
    show(summary)
    show(fits[0].weights)
    draw_simplex(fits)
    claims = [made for fit in fits if fit.line["gamma"] == 1 for made in monk_claims(fit)]
    waverers = weights[weights["group"] == "Waverers"]
    main = {"Weights, gamma 1, rows are whom a monk likes, diagonal 0": fits[0].weights}
    return Report(claims, {"Fits": summary, **main, "Waverers in all fits": waverers})


def monk_claims(fit: MonkFit) -> list[Claim]:
    """Groups match when at most one of 15 monks is misplaced. The first case is the verdict, the others vary it."""
    found = fit.line
    where = f"rows: {found['rows']}, diagonal {found['diagonal']}, gamma 1"
    waverers = fit.weights[fit.weights["group"] == "Waverers"]
    places = "; ".join(where_sits(line) for _, line in waverers.iterrows())
    rule = "both weights >= 0.25 and above that of Outcasts"
    return [
        claim(f"groups, {where}", "well separated", f"{found['right']} of 15", found["right"] >= 14),
        claim(
            f"waverers between Loyal and Turks ({rule}), {where}",
            "2 of 3",
            f"{found['between']} of 3: {places}",
            found["between"] >= 2,
        ),
    ]


def monk_data(case: MonkCase) -> tuple[np.ndarray, pd.DataFrame]:
    with np.load(data_file("sampson_monks.npz")) as file:
        likes = (file["samplike"] >= 1).astype(float)  # the ranks of three surveys, merged: liked in any of them
    X = likes if case.rows == "likes" else likes.T.copy()
    if case.diagonal == "missing":
        np.fill_diagonal(X, np.nan)
    return X, pd.read_csv(data_file("sampson_monks_nodes.csv"))


def monk_fit(X: np.ndarray, nodes: pd.DataFrame, case: MonkCase) -> MonkFit:
    model = BetaICA(3, gamma=case.gamma, n_init=50, tol=1e-8, max_iter=10_000, random_state=0, n_jobs=N_JOBS).fit(X)
    group = nodes["group4"].to_numpy()
    member = group != "Waverers"
    order = matched(model.weights_[member], group[member], GROUPS)
    W = pd.DataFrame(model.weights_[:, order], columns=list(GROUPS))
    strongest = W.idxmax(axis=1).to_numpy()
    lesser = W[["Turks", "Loyal"]].min(axis=1)
    between = (lesser >= 0.25) & (lesser > W["Outcasts"])
    line = {
        **case._asdict(),
        "evidence": model.objective_,
        "runs_within_0.1": int((model.restarts_["objective"] > model.objective_ - 0.1).sum()),
        "right": int((strongest == group)[member].sum()),
        "between": int(between[~member].sum()),
        "alive": model.n_effective_components_,
    }
    about = {**case._asdict(), "name": nodes["name"], "group": group, "strongest": strongest}
    return MonkFit(line, pd.concat([pd.DataFrame(about), W], axis=1))


def matched(W: np.ndarray, truth: np.ndarray, classes: tuple[str, ...]) -> np.ndarray:
    """For each class the component that stands for it: the matching that gets most rows right (Hungarian)."""
    strongest = W.argmax(axis=1)
    right = [[int(((strongest == k) & (truth == name)).sum()) for k in range(W.shape[1])] for name in classes]
    return linear_sum_assignment(right, maximize=True)[1]


def where_sits(line: pd.Series) -> str:
    return f"{line['name']} " + " ".join(f"{name[0]} {line[name]:.2f}" for name in GROUPS)


CORNERS = np.array([[0.0, 0.0], [1.0, 0.0], [0.5, np.sqrt(0.75)]])
COLOURS = {"Turks": "tab:red", "Loyal": "tab:blue", "Outcasts": "tab:green", "Waverers": "black"}


def draw_simplex(fits: list[MonkFit]) -> None:
    figure, axes = plt.subplots(2, 4, figsize=(18, 9))
    for panel, fit in zip(axes.flat, fits, strict=True):
        draw_triangle(panel, fit)
    axes[0, 0].legend(fontsize=8, loc="upper left")
    save_figure("beta_ica_monks", figure)


def draw_triangle(panel: plt.Axes, fit: MonkFit) -> None:
    """Weights on the triangle; colours are the known groups."""
    panel.plot(*CORNERS[[0, 1, 2, 0]].T, color="0.7", lw=1)
    for place, name in zip(CORNERS, GROUPS, strict=True):
        panel.annotate(name, place, (0, 10 if place[1] else -14), textcoords="offset points", ha="center")
    places = fit.weights[list(GROUPS)].to_numpy() @ CORNERS
    for group, colour in COLOURS.items():
        marker = "*" if group == "Waverers" else "o"
        where = (fit.weights["group"] == group).to_numpy()
        panel.scatter(*places[where].T, color=colour, marker=marker, s=60, label=group, alpha=0.7)
    waverer = (fit.weights["group"] == "Waverers").to_numpy()
    for place, name in zip(places[waverer], fit.weights["name"][waverer], strict=True):
        panel.annotate(name, place, (6, 6), textcoords="offset points", fontsize=8)
    found = fit.line
    case = f"{found['rows']}, diagonal {found['diagonal']}, gamma {found['gamma']}"
    panel.set_title(f"{case}\n{found['right']} of 15 right", fontsize=10, pad=22)
    panel.set_aspect("equal")
    panel.axis("off")


# ---- DNA fingerprints ----------------------------------------------------------------------------


def dna() -> Report:
    """DNA fingerprints (AFLP, 187 isolates x 56 loci) of two populations: accuracy and evidence of 20 runs."""
    isolates = pd.read_csv(data_file("aflp_aeut.csv"), dtype={"subpop": str})
    X = isolates.filter(regex=r"^L\d+$").to_numpy()
    population = isolates["pop"].to_numpy()
    sample = (isolates["pop"] + " " + isolates["subpop"]).to_numpy()
    rows = [dna_run(X, population, sample, k, seed) for k, seed in product((2, 4), range(20))]
    table = pd.DataFrame(rows)
    write_table("dna", table)
    lines = []
    for _, group in table.groupby("K"):
        best = group.loc[group["evidence"].idxmax()]
        rho = {name: correlation(group["evidence"], group[name]) for name in ("accuracy", "ari_samples")}
        lines.append(
            {
                **best,
                "worst_accuracy": group["accuracy"].min(),
                "best_accuracy": group["accuracy"].max(),
                **{f"rho_{name}": r for name, r in rho.items()},
            }
        )
    summary = pd.DataFrame(lines)
    show(summary)
    draw_dna(table)
    return Report(
        [made for _, line in summary.iterrows() for made in dna_claims(line)], {"Best evidence of 20 runs": summary}
    )


def dna_run(X: np.ndarray, population: np.ndarray, sample: np.ndarray, k: int, seed: int) -> Record:
    model = BetaICA(k, n_init=1, tol=1e-7, max_iter=10_000, random_state=seed, n_jobs=N_JOBS).fit(X)
    cluster = model.weights_.argmax(axis=1)
    return {
        "K": k,
        "seed": seed,
        "evidence": model.objective_,
        "accuracy": majority_accuracy(cluster, population),
        "ari_samples": adjusted_rand_score(sample, cluster),
        "alive": model.n_effective_components_,
    }


def majority_accuracy(cluster: np.ndarray, truth: np.ndarray) -> float:
    """Each cluster is called by the commonest class in it."""
    return float(pd.crosstab(cluster, truth).max(axis=1).sum() / len(truth))


def correlation(x: pd.Series, y: pd.Series) -> float:
    """Spearman's; NaN when one of them doesn't vary (to four digits)."""
    x, y = x.round(2), y.round(4)
    return float("nan") if x.nunique() == 1 or y.nunique() == 1 else float(spearmanr(x, y)[0])


def dna_claims(line: pd.Series) -> list[Claim]:
    k = int(line["K"])
    span = f"all runs {line['worst_accuracy']:.3f} to {line['best_accuracy']:.3f}"
    ours = f"{line['accuracy']:.3f} ({span})"
    near = line["accuracy"] >= line["best_accuracy"] - 0.01
    return [
        claim(f"K={k}: best evidence is within 0.01 of the best accuracy of 20 runs", "-", ours, near),
        claim(
            f"K={k}: evidence goes with accuracy over 20 runs (rho > 0.3)",
            "significant",
            f"rho {line['rho_accuracy']:.2f} ({span})",
            line["rho_accuracy"] > 0.3,
        ),
    ]


def draw_dna(table: pd.DataFrame) -> None:
    figure, axes = plt.subplots(1, 2, figsize=(8, 3.5))
    for panel, (k, group) in zip(axes, table.groupby("K"), strict=True):
        below = group["evidence"] - group["evidence"].max()
        panel.plot(below, group["accuracy"], "o", alpha=0.3)
        panel.set(title=f"K = {k}, 20 runs", xlabel="evidence - best", ylabel="accuracy (populations)")
        panel.set(xlim=(min(below.min(), -1) * 1.1, 1), ylim=(0.5, 1))
    figure.tight_layout()
    save_figure("beta_ica_dna", figure)


# ---- tables --------------------------------------------------------------------------------------


def write_table(name: str, table: pd.DataFrame) -> None:
    table.to_csv(RESULTS / f"beta_ica_{name}.csv", index=False, float_format="%.6g")


def show(table: pd.DataFrame) -> None:
    print("\n" + table.round(4).to_string(index=False), flush=True)


def write_summary(name: str, report: Report) -> None:
    """The summary tables and the claims as Markdown."""
    claims = pd.DataFrame(report.claims).drop(columns="experiment")
    claims["verdict"] = np.where(claims.pop("holds"), "holds", "does not hold")
    parts = [f"# BetaICA: {name}\n\n{EXPERIMENTS[name].__doc__}\n"]
    for title, table in {**report.tables, "Claims": claims}.items():
        lines = [table.columns, ["---"] * table.shape[1], *table.round(4).astype(str).to_numpy(dtype=object)]
        parts.append(f"## {title}\n\n" + "\n".join("| " + " | ".join(map(str, line)) + " |" for line in lines) + "\n")
    (RESULTS / f"beta_ica_{name}.md").write_text("\n".join(parts))


EXPERIMENTS: dict[str, Callable[[], Report]] = {"toy": toy, "digits": digits, "monks": monks, "dna": dna}


if __name__ == "__main__":
    main()
