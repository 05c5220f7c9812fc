"""Which zeros are false: `FalseZeros` on repeat-visit birds, compared with every rival; its probabilities and its time.

Models see one visit and rank its zeros; a zero is false if the species was seen at the site on another visit. Tables:
the sites surveyed on visit 1, 2 or 3, and visit 1 of the sites surveyed on all visits; species seen at three or more of
the sites on the visit.

Rules of judgement, written before the run. Seeds are 100 to 103; `FalseZeros` gets nothing but the table.

- Ranking, means over seeds (AUC and average precision): visit 1 at least 0.851 and 0.392, visit 2 0.886 and 0.426,
  visit 3 0.857 and 0.423, sites of all visits 0.826 and 0.407; visit 1 with the number of other visits at each site
  given (`later_visits`) 0.854 and 0.400.
- The lowest of our seeds is above the highest of each rival's seeds, in both measures. A rival has the settings of its
  grid that are best for it in hindsight, for each measure on its own. Probit factors, which are a member of the
  ensemble, are compared with it too, but in a separate claim.
- Calibration: error on held-out cells (`held_out_`) at most 0.01 for every seed; of "seen later", its scale known from
  30 random sites that were visited again, at most 0.03 in the mean over pilots, on the other sites. Shown beside it:
  the worst pilot, and the worst bin of at least 100 cells.
- Processor time of a fit, compiled before, one job: at most 60 s with five folds, at most 10 s without held-out cells.

BPR is Bayesian personalised ranking: factors and a bias for each column, by stochastic gradients on pairs of a one and
a zero of the same row, 200 passes over the ones. It only compares cells of the same row, so its own score ("BPR")
is accompanied by one with an offset per row that makes the expected number of ones that of the row ("BPR, rows'
totals"). Its numbers of factors and ridges are those around its best on these birds: 16 factors, and a ridge of 0.1,
were tried and are worse.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, NamedTuple

from experiments.beyond._suspects import judged
from experiments.runner import Claim, Experiment, mean_sd

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd
    from matplotlib.figure import Figure

    from latentbits import FalseZeros

TABLES = {
    "visit 1": "visit 1",
    "visit 2": "visit 2",
    "visit 3": "visit 3",
    "all visits": "visit 1, sites of all visits",
}
OURS, WITH_VISITS, UNSTACKED = "FalseZeros", "FalseZeros, later visits given", "FalseZeros, no hidden cells"
MEMBER = "probit factors alone"
LEAST = {"visit 1": (0.851, 0.392), "visit 2": (0.886, 0.426), "visit 3": (0.857, 0.423), "all visits": (0.826, 0.407)}
LEAST_WITH_VISITS = (0.854, 0.400)
METRICS = {"auc": "AUC", "ap": "average precision"}
MOST_HIDDEN, MOST_LATER = 0.01, 0.03
SECONDS, SECONDS_UNSTACKED = 60, 10
PILOT, PILOTS = 30, 8
LARGE_BIN = 100

ORDERS = (2, 4, 8, 12, 20)
GRIDS: dict[str, list[tuple[int, float]]] = {
    "column means": [(0, 0)],
    "rows and columns": [(0, 0)],
    "NMF": [(k, 0) for k in ORDERS],
    "BPR": [(k, ridge) for k in (4, 8) for ridge in (0.003, 0.01, 0.03)],
    "EASE": [(0, ridge) for ridge in (20, 60, 200, 600)],
    "mixture": [(k, 0) for k in ORDERS],
    "Ising": [(0, ridge) for ridge in (3, 10, 30)],
    "logistic PCA": [(k, 0) for k in (1, 2, 3, 4, 8)],
    "logistic PCA, ridge 1": [(k, 1) for k in (1, 2, 3, 4, 8)],
    "suspicion of aspects": [(k, 0) for k in ORDERS],
    MEMBER: [(8, 0)],
}
"""The settings of each rival: components and ridge; 0 where there are none, or for a default."""

SEEDLESS = ("column means", "rows and columns", "EASE", "Ising")


def jobs(full: bool) -> list[dict[str, Any]]:
    seeds = range(100, 104 if full else 101)
    ours = [
        {"table": table, "model": model, "k": 0, "ridge": 0, "seed": seed}
        for table in (TABLES if full else ["visit 1"])
        for model in (OURS, UNSTACKED)
        for seed in seeds
    ]
    rivals = [
        {"table": table, "model": model, "k": k, "ridge": ridge, "seed": seed}
        for table in (TABLES if full else ["visit 1"])
        for model, grid in GRIDS.items()
        for k, ridge in grid
        for seed in (seeds[:1] if model in SEEDLESS else seeds)
    ]
    return [*ours, *rivals]


def run(table: str, model: str, k: int, ridge: float, seed: int) -> list[dict[str, Any]]:
    X, later, visits = _birds(table)
    size = {"n_sites": X.shape[0], "n_species": X.shape[1]}
    if model not in (OURS, UNSTACKED):
        return [{**size, **line} for line in judged(_scores(model, X, k, ridge, seed), later, X)]
    fitted, seconds = _timed_fit(X, None if model == UNSTACKED else 5, seed)
    scores = {model: fitted.suspicion(X)}
    if model == UNSTACKED:
        return [{**size, **judged(scores, later, X)[0], "seconds": seconds}]
    scores[WITH_VISITS] = fitted.suspicion(X, later_visits=visits)
    ours, with_visits = judged(scores, later, X)
    noise = "none" if fitted.noise_model_ is None else ", ".join(sorted(set(fitted.noise_model_.phantoms_)))
    known = {"seconds": seconds, "noise": noise, **_hidden(fitted), **_seen_later(fitted, X, later, visits, seed)}
    weights = {f"weight_{name}": weight for name, weight in zip(fitted.members_, fitted.member_weights_, strict=True)}
    return [{**size, **ours, **known, **weights}, {**size, **with_visits}]


def _birds(table: str) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """What was seen on the visit, what on another one, and the number of other visits at each site."""
    import numpy as np

    from experiments.data import use_shared_folder
    from latentbits.datasets import load_birds

    use_shared_folder()
    survey = load_birds()
    visit = 0 if table == "all visits" else int(table.split()[-1]) - 1
    chosen = survey.surveyed.all(axis=1) if table == "all visits" else survey.surveyed[:, visit]
    seen = survey.detections[chosen] == 1
    seen = seen[:, :, seen[:, visit].sum(axis=0) >= 3]
    others = np.delete(seen, visit, axis=1).any(axis=1)
    return seen[:, visit].astype(np.int8), others.astype(np.int8), survey.surveyed[chosen].sum(axis=1) - 1


def _timed_fit(X: np.ndarray, n_folds: int | None, seed: int) -> tuple[FalseZeros, float]:
    """A fit of the ensemble, and its processor time; everything is compiled before."""
    from latentbits import FalseZeros, simulate

    FalseZeros(n_folds=n_folds and 2, random_state=0).fit(simulate.aspect_bernoulli(40, 12, 2, random_state=0).X)
    began = time.process_time()
    fitted = FalseZeros(n_folds=n_folds, random_state=seed, n_jobs=1).fit(X)
    return fitted, time.process_time() - began


def _hidden(fitted: FalseZeros) -> dict[str, Any]:
    """How far the ensemble's probabilities of held-out cells are from their share of ones."""
    return _calibration("hidden", fitted.held_out_)


def _seen_later(fitted: FalseZeros, X: np.ndarray, later: np.ndarray, visits: np.ndarray, seed: int) -> dict[str, Any]:
    """The same of "seen later" with random pilots: without and with the number of visits made."""
    import numpy as np

    from latentbits.metrics import calibration_table

    rng = np.random.default_rng(seed)
    found: dict[str, Any] = {"_pilots": []}
    for _ in range(PILOTS):
        in_pilot = np.isin(np.arange(len(X)), rng.choice(len(X), PILOT, replace=False))
        revisits = np.where(in_pilot[:, None], later, np.nan)
        asked = (X == 0) & ~in_pilot[:, None]
        for given, words in ((None, "plain"), (visits, "visits")):
            p = fitted.predict_proba(X, revisits=revisits, later_visits=given)
            bins = calibration_table(later[asked], p[asked])
            found["_pilots"].append({"given": words, **_calibration("later", bins)})
    for words in ("plain", "visits"):
        errors = [pilot["later_error"] for pilot in found["_pilots"] if pilot["given"] == words]
        worst = [pilot["later_worst_bin"] for pilot in found["_pilots"] if pilot["given"] == words]
        found |= {f"later_error_{words}": np.mean(errors), f"later_error_{words}_worst_pilot": max(errors)}
        found |= {f"later_worst_bin_{words}": np.mean(worst), f"later_worst_bin_{words}_worst_pilot": max(worst)}
    return found


def _calibration(name: str, bins: pd.DataFrame) -> dict[str, Any]:
    """The mean distance of prediction and observation over cells, and the largest of bins with many cells."""
    bins = bins[bins["count"] > 0]
    apart = (bins["predicted"] - bins["observed"]).abs()
    error = float((apart * bins["count"]).sum() / bins["count"].sum())
    kept = bins[["predicted", "observed", "count"]].to_dict("list")
    return {f"{name}_error": error, f"{name}_worst_bin": apart[bins["count"] >= LARGE_BIN].max(), f"_{name}": kept}


def _scores(model: str, X: np.ndarray, k: int, ridge: float, seed: int) -> dict[str, np.ndarray]:
    """A rival's scores of all cells."""
    import numpy as np
    from sklearn.decomposition import NMF

    from latentbits import AspectBernoulli, BernoulliMixture, IsingModel, LinearAutoencoder, LogisticPCA, ProbitFactors
    from latentbits import RowColumnBernoulli as RowsAndColumns

    match model:
        case "column means":
            return {model: np.broadcast_to(X.mean(axis=0), X.shape)}
        case "NMF":
            nmf = NMF(k, random_state=seed, max_iter=2000)
            return {model: np.minimum(nmf.fit_transform(X.astype(float)) @ nmf.components_, 1.0)}
        case "BPR":
            return _bpr_scores(X, k, ridge, seed)
        case "suspicion of aspects":
            return {model: AspectBernoulli(k, smoothing=0, random_state=seed).fit(X).suspicion(X)}
        case "rows and columns":
            fitted: Any = RowsAndColumns()
        case "EASE":
            fitted = LinearAutoencoder(ridge)
        case "Ising":
            fitted = IsingModel(ridge)
        case "mixture":
            fitted = BernoulliMixture(k, random_state=seed)
        case "logistic PCA":
            fitted = LogisticPCA(k, ridge=0.1, random_state=seed)
        case "logistic PCA, ridge 1":
            fitted = LogisticPCA(k, ridge=ridge, random_state=seed)
        case _:
            fitted = ProbitFactors(k, random_state=seed)
    return {model: fitted.fit(X).reconstruct(X)}


# ---- Bayesian personalised ranking -----------------------------------------------------------------------------------

PASSES, STEP, BATCH = 200, 0.05, 256


def _bpr_scores(X: np.ndarray, k: int, ridge: float, seed: int) -> dict[str, np.ndarray]:
    from scipy.special import expit

    odds = _bpr(X, k, ridge, seed)
    return {"BPR": expit(odds), "BPR, rows' totals": expit(odds + _row_offsets(odds, X.sum(axis=1)))}


def _bpr(X: np.ndarray, k: int, ridge: float, seed: int) -> np.ndarray:
    """Scores u_i . v_j + b_j that put ones above zeros of their row: P(one above zero) = sigmoid of the difference."""
    import numpy as np
    from scipy.special import expit

    rng = np.random.default_rng(seed)
    U, V, b = rng.normal(0, 0.1, (X.shape[0], k)), rng.normal(0, 0.1, (X.shape[1], k)), np.zeros(X.shape[1])
    rows, ones = np.nonzero(X)
    zeros_first = np.argsort(X, axis=1, kind="stable")
    n_zeros = (X == 0).sum(axis=1)[rows]
    for _ in range(PASSES):
        zeros = zeros_first[rows, (rng.random(len(rows)) * n_zeros).astype(int)]
        order = rng.permutation(len(rows))
        for part in np.array_split(order, len(rows) // BATCH + 1):
            i, j, z = rows[part], ones[part], zeros[part]
            u, v = U[i], V[j] - V[z]
            g = expit(-((u * v).sum(axis=1) + b[j] - b[z]))[:, None]
            np.add.at(U, i, STEP * (g * v - ridge * u))
            for column, sign in ((j, 1), (z, -1)):
                np.add.at(V, column, STEP * (sign * g * u - ridge * V[column]))
                np.add.at(b, column, STEP * (sign * g[:, 0] - ridge * b[column]))
    return U @ V.T + b


def _row_offsets(odds: np.ndarray, totals: np.ndarray) -> np.ndarray:
    """What to add to the log odds of each row so that its expected number of ones is its number of ones."""
    import numpy as np
    from scipy.special import expit

    low, high = np.full((len(odds), 1), -30.0), np.full((len(odds), 1), 30.0)
    for _ in range(60):
        middle = (low + high) / 2
        too_many = expit(odds + middle).sum(axis=1, keepdims=True) > totals[:, None]
        low, high = np.where(too_many, low, middle), np.where(too_many, middle, high)
    return low


# ---- judgement -------------------------------------------------------------------------------------------------------


class Best(NamedTuple):
    """A score at the settings that are best for it on average, a value for each seed."""

    settings: str
    values: pd.Series

    def __str__(self) -> str:
        return f"{mean_sd(self.values, 3)}{self.settings}"


def judge(table: pd.DataFrame) -> list[Claim]:
    claims = []
    for name, group in table.groupby("table", sort=False):
        claims += [_enough(group, name, OURS, LEAST[name])]
        if name == "visit 1":
            claims.append(_enough(group, name, WITH_VISITS, LEAST_WITH_VISITS))
        claims.append(_above(group, name, [rival for rival in _rivals(group) if rival != MEMBER], "every rival"))
        claims.append(_above(group, name, [MEMBER], f"{MEMBER}, a member of the ensemble"))
    ours = table[table["score"] == OURS]
    return [
        *claims,
        _on_hidden_cells(ours),
        *(_on_later_visits(ours, words) for words in ("plain", "visits")),
        _time(table),
    ]


def _rivals(group: pd.DataFrame) -> list[str]:
    return [score for score in group["score"].unique() if not score.startswith(OURS)]


def _about(group: pd.DataFrame, name: str) -> str:
    return f"birds missed on {TABLES[name]} ({group['n_sites'].iloc[0]} x {group['n_species'].iloc[0]})"


def _best(group: pd.DataFrame, score: str, metric: str) -> Best:
    values = group[group["score"] == score].pivot_table(metric, "seed", ["k", "ridge"])
    k, ridge = values.mean().idxmax()
    words = [words for words, value in ((f"K = {k}", k), (f"ridge {ridge:g}", ridge)) if value > 0]
    return Best(f" ({', '.join(words)})" if words else "", values[k, ridge])


def _enough(group: pd.DataFrame, name: str, score: str, least: tuple[float, float]) -> Claim:
    means = [_best(group, score, metric).values.mean() for metric in METRICS]
    extra = "" if score == OURS else ", the number of other visits at each site given"
    return Claim(
        statement=f"{_about(group, name)}: AUC at least {least[0]:.3f} and average precision {least[1]:.3f}, no number "
        f"of components given{extra}",
        ours="; ".join(f"{words} {_best(group, score, metric)}" for metric, words in METRICS.items()),
        holds=all(mean >= bound for mean, bound in zip(means, least, strict=True)),
        note=_other_ways(group, name),
    )


def _other_ways(group: pd.DataFrame, name: str) -> str:
    ways = [way for way in (WITH_VISITS, UNSTACKED) if way in set(group["score"])]
    found = [f"{way}: {_best(group, way, 'auc')} and {_best(group, way, 'ap')}" for way in ways]
    noise = ", ".join(sorted(set(group.loc[group["score"] == OURS, "noise"])))
    return f"{'; '.join(found)}. Noise by row that was found: {noise}."


def _above(group: pd.DataFrame, name: str, rivals: list[str], words: str) -> Claim:
    """Our lowest seed against the highest of each rival."""
    ours = {metric: _best(group, OURS, metric) for metric in METRICS}
    theirs = {rival: {metric: _best(group, rival, metric) for metric in METRICS} for rival in rivals}
    nearest = {m: max(rivals, key=lambda rival: theirs[rival][m].values.max()) for m in METRICS}
    lines = [f"{rival}: {theirs[rival]['auc']} and {theirs[rival]['ap']}" for rival in rivals]
    return Claim(
        statement=f"{_about(group, name)}: every seed above {words}",
        ours="; ".join(
            f"{METRICS[m]} {ours[m].values.min():.3f} at least against {theirs[nearest[m]][m].values.max():.3f} "
            f"at most ({nearest[m]}{theirs[nearest[m]][m].settings})"
            for m in METRICS
        ),
        holds=all(ours[m].values.min() > theirs[nearest[m]][m].values.max() for m in METRICS),
        note="; ".join(lines) + ".",
    )


def _on_hidden_cells(ours: pd.DataFrame) -> Claim:
    worst = ours.groupby("table", sort=False)["hidden_worst_bin"].max()
    return Claim(
        statement=f"held-out cells: calibration error at most {MOST_HIDDEN} for every table and seed",
        ours=f"{mean_sd(ours['hidden_error'], 4)}, {ours['hidden_error'].max():.4f} at most",
        holds=bool((ours["hidden_error"] <= MOST_HIDDEN).all()),
        note=f"Worst bin of at least {LARGE_BIN} cells: {_by_table(worst)}.",
    )


def _on_later_visits(ours: pd.DataFrame, given: str) -> Claim:
    by_table = ours.groupby("table", sort=False)
    mean, worst = by_table[f"later_error_{given}"].mean(), by_table[f"later_error_{given}_worst_pilot"].max()
    bins, worst_bins = (
        by_table[f"later_worst_bin_{given}"].mean(),
        by_table[f"later_worst_bin_{given}_worst_pilot"].max(),
    )
    extra = ", numbers of visits given" if given == "visits" else ""
    return Claim(
        statement=f"seen later, with a pilot of {PILOT} sites{extra}: calibration error at most {MOST_LATER} on the "
        "other sites, in the mean over pilots",
        ours=_by_table(mean),
        holds=bool((mean <= MOST_LATER).all()),
        note=f"Worst of {PILOTS} pilots and of the seeds: {_by_table(worst)}. Worst bin of at least {LARGE_BIN} cells, "
        f"mean over pilots: {_by_table(bins)}; of all: {_by_table(worst_bins)}.",
    )


def _by_table(values: pd.Series) -> str:
    return ", ".join(f"{TABLES[name]} {value:.3f}" for name, value in values.items())


def _time(table: pd.DataFrame) -> Claim:
    stacked, single = (table.loc[table["score"] == score, "seconds"] for score in (OURS, UNSTACKED))
    return Claim(
        statement=f"processor time of a fit: at most {SECONDS} s with five folds, {SECONDS_UNSTACKED} s without",
        ours=f"{mean_sd(stacked, 1)} s ({stacked.max():.1f} at most) and {mean_sd(single, 1)} s ({single.max():.1f})",
        holds=bool(stacked.max() <= SECONDS and single.max() <= SECONDS_UNSTACKED),
    )


# ---- figures ---------------------------------------------------------------------------------------------------------


def draw(table: pd.DataFrame) -> dict[str, Figure]:
    return {"ranking": _ranking(table), "calibration": _reliability(table[table["score"] == OURS])}


def _ranking(table: pd.DataFrame) -> Figure:
    from latentbits.plots.style import BEST, QUIET, new_figure

    names = list(table["table"].unique())
    scores = [OURS, WITH_VISITS, UNSTACKED, MEMBER, *(s for s in _rivals(table) if s != MEMBER)]
    figure = new_figure(2.4 * len(names) + 2.5, 6.5)
    panels = figure.subplots(len(METRICS), len(names), sharey=True, sharex="row", squeeze=False)
    for line, (metric, words) in zip(panels, METRICS.items(), strict=True):
        for ax, name in zip(line, names, strict=True):
            group = table[table["table"] == name]
            for place, score in enumerate(scores):
                values = _best(group, score, metric).values
                ax.scatter(values, [place] * len(values), s=14, color=BEST if place < 3 else QUIET)
            ax.axvline(_best(group, OURS, metric).values.min(), color=BEST, lw=0.8, zorder=0)
            ax.set(xlabel=words, title=TABLES[name] if metric == "auc" else "")
        line[0].set_yticks(range(len(scores)), scores)
    panels[0, 0].invert_yaxis()  # of all panels, which share it
    return figure


def _reliability(ours: pd.DataFrame) -> Figure:
    from latentbits.plots.style import new_figure

    figure = new_figure(8.5, 4.2)
    panels = figure.subplots(1, 2, sharex=True, sharey=True)
    first = ours.groupby("table", sort=False).first()
    colours = ("#0072b2", "#e69f00", "#009e73", "#cc79a7")
    for (name, row), colour in zip(first.iterrows(), colours, strict=False):
        pilots = [pilot["_later"] for pilot in row["_pilots"] if pilot["given"] == "plain"]
        for ax, curves in zip(panels, ([row["_hidden"]], pilots), strict=True):
            for number, curve in enumerate(curves):
                label = TABLES[name] if number == 0 else None
                ax.plot(curve["predicted"], curve["observed"], lw=0.9, alpha=0.4, color=colour)
                large = [i for i, count in enumerate(curve["count"]) if count >= LARGE_BIN]
                points = ([curve[key][i] for i in large] for key in ("predicted", "observed"))
                ax.plot(*points, "o", ms=3, color=colour, label=label)
    for ax, title in zip(panels, ("Hidden cells", f"Seen later, by pilots of {PILOT} sites"), strict=True):
        ax.plot([0, 1], [0, 1], color="black", lw=0.8, zorder=0)
        ax.set(title=title, xlabel=f"probability (dots: {LARGE_BIN} cells or more)")
    panels[0].set_ylabel("share of ones")
    panels[0].legend()
    return figure


EXPERIMENT = Experiment(
    title="Which zeros are false: an ensemble on repeat-visit birds, against every rival",
    jobs=jobs,
    run=run,
    judge=judge,
    draw=draw,
)
