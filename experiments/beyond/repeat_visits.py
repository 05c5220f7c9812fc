"""Two visits predict the third: birds that neither of two visits saw, and whether the other visit did.

Every model sees only two of the three visits. Judged are the cells that both of them missed, at sites where the third
was made: how well they are ranked by the probability that the third visit sees the species, and whether that
probability is calibrated.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from experiments.runner import Claim, Experiment, mean_sd

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd
    from matplotlib.figure import Figure

    from latentbits import Histories

OURS, SEEN, OCCUPANCY = "RepeatedSurvey", "ever seen", "occupancy"
COLOURS = {OURS: "#0072b2", OCCUPANCY: "#e69f00", SEEN: "#a6a6a6"}
SITES = {"any visit": "sites with one of the two visits or both", "all visits": "sites with all three visits"}
VISITS = (1, 2, 3)
LEAST = {"auc": 0.86, "ap": 0.19}
METRICS = {"auc": "AUC", "ap": "average precision"}
MOST_ERROR = 0.02
WORST_OF = 100
"""Cells that a bin must have to be the worst: a share of fewer is mostly chance."""

MIN_SITES = 3
"""Species that the two visits saw at fewer sites are left out, as in the experiment about visit 1."""

NOTE = (
    "Mean over the three visits that can be the third. Species seen at three or more of the sites on the two "
    "visits. Ever seen is the probability of having been seen on any of the visits made: it is "
    "no probability of the third."
)

CALIBRATION_NOTE = (
    f"Ten bins of equal width, weighted by their cells. The worst bin is that of all visits and seeds, of those with "
    f"{WORST_OF} cells or more. Birds are seen more on some visits than on others, which no model here knows."
)


def jobs(full: bool) -> list[dict[str, Any]]:
    seeds = {OURS: range(2 if full else 1), OCCUPANCY: range(1)}
    return [
        {"sites": sites, "third": third, "model": model, "seed": seed}
        for sites in SITES
        for third in (VISITS if full else VISITS[:1])
        for model, of_model in seeds.items()
        for seed in of_model
    ]


def run(sites: str, third: int, model: str, seed: int) -> list[dict[str, Any]]:
    train, later, judged = _visits(sites, third)
    judged &= (train.detections == 0) & (train.n_visits > 0)
    scores, rate = _of_occupancy(train) if model == OCCUPANCY else _of_ours(train, model, seed)
    about = {"n_sites": later.shape[0], "n_species": later.shape[1], "n_cells": int(judged.sum())}
    return [
        {"score": name, **about, "share": later[judged].mean(), **_judged(later[judged], score[judged]), "rate": rate}
        for name, score in scores.items()
    ]


def _visits(sites: str, third: int) -> tuple[Histories, np.ndarray, np.ndarray]:
    """The histories of two visits, whether the third saw the species, and whether it was made."""
    import numpy as np

    from experiments.data import use_shared_folder
    from latentbits import Histories
    from latentbits.datasets import load_birds

    use_shared_folder()
    birds = load_birds()
    two = [visit - 1 for visit in VISITS if visit != third]
    chosen = birds.surveyed.all(axis=1) if sites == "all visits" else birds.surveyed[:, two].any(axis=1)
    seen = np.where(birds.detections < 0, np.nan, birds.detections)[chosen]
    common = (seen[:, two] == 1).any(axis=1).sum(axis=0) >= MIN_SITES
    survey = Histories.of(seen[:, :, common])
    outcome = survey.cells[:, third - 1]
    return survey.visits(two), outcome == 1, outcome >= 0


def _of_ours(train: Histories, model: str, seed: int) -> tuple[dict[str, np.ndarray], float]:
    from latentbits import RepeatedSurvey

    fitted = RepeatedSurvey(random_state=seed).fit(train)
    scores = {model: fitted.predict_proba(later_visits=1)}
    scores[SEEN] = fitted.estimator_.reconstruct(train.ever_seen())
    return scores, float(fitted.species_["detection"].median())


def _of_occupancy(train: Histories) -> tuple[dict[str, np.ndarray], float]:
    from experiments.beyond._occupancy import fit_occupancy

    fitted = fit_occupancy(train.detections, train.n_visits)
    return {OCCUPANCY: fitted.seen_next()}, fitted.p.mean()


def _judged(truth: np.ndarray, probability: np.ndarray) -> dict[str, Any]:
    from sklearn.metrics import average_precision_score, roc_auc_score

    from latentbits.metrics import calibration_table, expected_calibration_error

    bins = calibration_table(truth, probability)
    distance = (bins["predicted"] - bins["observed"]).abs()
    return {
        "auc": roc_auc_score(truth, probability),
        "ap": average_precision_score(truth, probability),
        "calibration_error": expected_calibration_error(truth, probability),
        "worst_bin": distance[bins["count"] >= WORST_OF].max(),
        "_bins": bins[["lower", "predicted", "observed", "count"]].to_dict("list"),
    }


def judge(table: pd.DataFrame) -> list[Claim]:
    claims = []
    for sites, group in table.groupby("sites", sort=False):
        about = f"{group['n_sites'].iloc[0]} {SITES[sites]}"
        of_seeds = group.groupby(["score", "seed"])[[*METRICS, "calibration_error", "worst_bin"]]
        means, ours = of_seeds.mean(), of_seeds.mean().loc[OURS]
        rival = means.loc[OCCUPANCY].iloc[0]
        claims += [
            Claim(
                statement=f"birds that two visits missed, seen on the third: AUC at least {LEAST['auc']}, average "
                f"precision at least {LEAST['ap']} ({about})",
                ours=f"{_figures(means)}; by visit, {_by_visit(group)}",
                holds=all((ours[metric] >= least).all() for metric, least in LEAST.items()),
                note=NOTE,
            ),
            Claim(
                statement=f"RepeatedSurvey ranks above single-species occupancy ({about})",
                ours="; ".join(
                    f"{words} {mean_sd(ours[metric], 3)} against {rival[metric]:.3f}"
                    for metric, words in METRICS.items()
                ),
                holds=all((ours[metric] > rival[metric]).all() for metric in METRICS),
                note="Every seed has to. Occupancy has one psi and one p for each species, so it knows no sites.",
            ),
            Claim(
                statement=f"what is said of the third visit is off by at most {MOST_ERROR} on average ({about})",
                ours="; ".join(
                    f"{score} {mean_sd(means.loc[score, 'calibration_error'], 3)}, worst bin "
                    f"{group.loc[group['score'] == score, 'worst_bin'].max():.3f}"
                    for score in COLOURS
                ),
                holds=(ours["calibration_error"] <= MOST_ERROR).all(),
                note=CALIBRATION_NOTE,
            ),
        ]
    return claims


def _figures(means: pd.DataFrame) -> str:
    """AUC and average precision of each score."""
    return "; ".join(
        f"{score} {mean_sd(means.loc[score, 'auc'], 3)} / {mean_sd(means.loc[score, 'ap'], 3)}" for score in COLOURS
    )


def _by_visit(group: pd.DataFrame) -> str:
    ours = group[group["score"] == OURS].groupby("third")[list(METRICS)].mean()
    return ", ".join(f"{third}: {auc:.3f} / {ap:.3f}" for third, auc, ap in ours.itertuples())


def draw(table: pd.DataFrame) -> dict[str, Figure]:
    from latentbits.plots.style import QUIET, new_figure

    figure = new_figure(10, 3.8)
    panels = figure.subplots(1, len(VISITS), sharey=True)
    shown = table[(table["sites"] == next(iter(SITES))) & (table["seed"] == 0)]
    for ax, (third, group) in zip(panels, shown.groupby("third", sort=False), strict=True):
        ax.plot([0, 1], [0, 1], color=QUIET, lw=1)
        for score, colour in COLOURS.items():
            bins = group[group["score"] == score].iloc[0]["_bins"]
            kept = [i for i, count in enumerate(bins["count"]) if count >= WORST_OF]
            curve = [[bins[axis][i] for i in kept] for axis in ("predicted", "observed")]
            ax.plot(*curve, "o-", ms=4, color=colour, label=score)
        ax.set(title=f"Seen on visit {third}", xlabel="predicted", xlim=(0, 1), ylim=(0, 1), aspect="equal")
    panels[0].set_ylabel("share that was seen")
    figure.legend(*panels[0].get_legend_handles_labels(), loc="outside right center")
    return {"curves": figure}


EXPERIMENT = Experiment(
    title="Repeat visits: two predict the third, against single-species occupancy",
    jobs=jobs,
    run=run,
    judge=judge,
    draw=draw,
)
