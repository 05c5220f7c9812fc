"""Repeat visits: a visit that was left out, predicted from the others, and simulated surveys of which all is known.

Real surveys. Models see all visits but one; judged are the cells in which they saw nothing, at sites where the left-out
visit was made. hbef2015: each of three visits in turn, sites with one of the other visits or both, species seen at
three sites or more. mhb2014: the third visit, 219 sites with all visits, the 40 species of the others at most sites.
Swiss atlas: the third visit, 400 random sites of those with three. Finnmark: the third of five visits (two were made to
few of the plots), from the first two. "with covariates" the estimator knows elevation, forest, coordinates, as far as
the survey has them; Finnmark has none.

Simulated surveys of 100 sites, 15 species and 3 visits; where species are is a mixture of three habitats. A visit sees
a species that is there with the same probability (.4), with one of each species from Beta(2, 2), with one that rises
with effort (a power of 1; effort differs five-fold between sites); or it sees individuals, with a rate of .3, at effort
alike, or five-fold and rates from Beta(2, 2) ("both"). The estimator is AspectBernoulli(3) with two restarts, which is
cheap, and not the default. There are 20 surveys of each kind, so that a share inside has a standard error of .07 where
intervals are exact. Seeds begin at 1,000: none was used to choose anything.

Rules of judgement, written before the run:

- AUC and average precision at least hbef2015 .875 and .385 (mean), mhb2014 .796 and .290, Swiss atlas .848 and .156.
- Calibration error at most what it was before: .014, .057, .002; and predicted : observed within 10 %.
- The number of species that will have been seen at a site after one more visit is right on average within 5 %, its
  correlation with the count is at least .75 and higher than that of what was seen so far, and its 90 % intervals hold
  the count at .85 to .95 of the sites.
- Simulated: hidden presences within 10 % on average, 90 % intervals of the total hold it in .85 to .95 of the surveys,
  which are 17 to 19 of 20. By chance exact intervals hold it in 16 to 20 of 20 (.9 and two standard errors), so 16 and
  20 fail by the rule and don't show that the intervals are wrong; fewer do.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, NamedTuple

from experiments.outside._shared import SURVEYS, folder
from experiments.runner import Claim, Experiment, mean_sd

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd
    from matplotlib.figure import Figure

LEAST = {"hbef2015": (0.875, 0.385), "mhb2014": (0.796, 0.290), "Swiss atlas": (0.848, 0.156)}
MOST_ERROR = {"hbef2015": 0.014, "mhb2014": 0.057, "Swiss atlas": 0.002}
COVARIATES = {
    "hbef2015": ("elevation",),
    "mhb2014": ("elev", "forest"),
    "Swiss atlas": ("elevation", "slope", "north", "forest"),
    "Finnmark": (),
}
BESIDE = {
    "hbef2015": "spOccupancy's lfMsPGOcc .857 / .336, with elevation .866 / .381, sfMsPGOcc .867 / .374",
    "mhb2014": "spOccupancy's lfMsPGOcc .769 / .263, with elevation and forest .768 / .259, sfMsPGOcc .774 / .262",
    "Swiss atlas": "spOccupancy's lfMsPGOcc .826 / .142, with elevation and forest .842 / .144, sfMsPGOcc .843 / .143 "
    "(on 400 other sites)",
}
SPOCCUPANCY = "spOccupancy 0.8 was measured once, with short chains of 10 to 28 CPU seconds."
WHY = {
    "mhb2014": " So it detects as expected, and finds more that is new: that is how species that arrive between visits "
    "would show. It is concluded from these numbers alone, and the first two visits can't tell it."
}
WITH, WITHOUT = "with covariates", "cells alone"
KINDS = ("equal", "species", "effort", "abundance", "both")
NOMINAL = 0.9
"""The share of surveys whose total an exact interval holds."""
SITES, SPECIES, N_VISITS = 100, 15, 3


def jobs(full: bool) -> list[dict[str, Any]]:
    thirds = [("hbef2015", 0), ("hbef2015", 1), ("hbef2015", 2), ("mhb2014", 2), ("Swiss atlas", 2), ("Finnmark", 2)]
    real = [
        {"survey": name, "left_out": v, "knows": knows, "seed": 0}
        for name, v in (thirds if full else thirds[-1:])
        for knows in ((WITH, WITHOUT) if COVARIATES[name] else (WITHOUT,))
    ]
    simulated = [
        {"survey": kind, "left_out": -1, "knows": WITHOUT, "seed": 1000 + seed}
        for kind in KINDS
        for seed in range(20 if full else 2)
    ]
    return [*real, *simulated]


def run(survey: str, left_out: int, knows: str, seed: int) -> list[dict[str, Any]]:
    return [_simulated(survey, seed) if survey in KINDS else _real(survey, left_out, knows, seed)]


# ---- real surveys ----------------------------------------------------------------------------------------------------


class Split(NamedTuple):
    """Histories without the left-out visit (0-1, -1 missing), that visit, and what is known of the sites."""

    others: np.ndarray
    visit: np.ndarray
    rows: Any


def _split(name: str, v: int) -> Split:
    import numpy as np

    with np.load(folder() / SURVEYS[name]) as file:
        cells, known = file["detections"][:, :3], {key: file[key] for key in file.files}
    others = [w for w in range(3) if w != v]
    made = (cells >= 0).any(axis=2)
    kept = made[:, others].any(axis=1) if name == "hbef2015" else made.all(axis=1)
    if name == "Swiss atlas":
        kept = np.sort(np.random.default_rng(0).choice(np.flatnonzero(kept), 400, replace=False))
    cells = cells[kept]
    at = (cells[:, others] == 1).any(axis=1).sum(axis=0)
    common = np.isin(np.arange(len(at)), np.argsort(-at, kind="stable")[:40]) if name == "mhb2014" else at >= 3
    cells = cells[:, :, common]
    return Split(cells[:, others], cells[:, v], _rows(name, known, kept))


def _rows(name: str, known: dict[str, Any], kept: np.ndarray) -> Any:
    import numpy as np

    from latentbits import RowFacts

    if not COVARIATES[name]:
        return None
    xy = known["coordinates"] if "coordinates" in known else np.column_stack([known["coordx"], known["coordy"]])
    columns = {"x": xy[:, 0], "y": xy[:, 1], **{key: known[key] for key in COVARIATES[name]}}
    table = {key: np.where(np.isfinite(values), values, np.nanmedian(values))[kept] for key, values in columns.items()}
    return RowFacts.of(table, coordinates=("x", "y"))


def _real(name: str, v: int, knows: str, seed: int) -> dict[str, Any]:
    import numpy as np
    from sklearn.metrics import average_precision_score, roc_auc_score

    from latentbits import RepeatedSurvey
    from latentbits.metrics import calibration_table, expected_calibration_error

    split = _split(name, v)
    histories = np.where(split.others < 0, np.nan, split.others)
    began = time.process_time()
    model = RepeatedSurvey(random_state=seed).fit(histories, rows=split.rows if knows == WITH else None)
    seconds = time.process_time() - began
    survey = model.survey_
    before, made = survey.detections > 0, (split.visit >= 0).any(axis=1)
    judged = ~before & (survey.n_visits > 0) & (split.visit >= 0)
    seen, said = split.visit[judged] == 1, model.predict_proba(later_visits=1)
    by_all = before & (survey.n_visits > 0) & (split.visit >= 0)
    bins = calibration_table(seen, said[judged])
    return {
        "n_sites": len(before),
        "n_species": before.shape[1],
        "cells": len(seen),
        "observed": int(seen.sum()),
        "predicted": said[judged].sum(),
        "auc": roc_auc_score(seen, said[judged]),
        "ap": average_precision_score(seen, said[judged]),
        "calibration_error": expected_calibration_error(seen, said[judged]),
        "again": (split.visit[by_all] == 1).mean(),
        "again_predicted": said[by_all].mean(),
        **_richness(model, before[made], ((split.visit == 1) | before)[made].sum(axis=1), made),
        "abundance": model.abundance_share_,
        "seconds": seconds,
        "_bins": bins[["predicted", "observed", "count"]].to_dict("list"),
    }


def _richness(model: Any, before: np.ndarray, counted: np.ndarray, made: np.ndarray) -> dict[str, Any]:
    """Species by site: present, and after one more visit, beside the count of all visits."""
    import numpy as np

    sites = model.sites_[made]
    low, high = sites["after_next_lower"].to_numpy(), sites["after_next_upper"].to_numpy()
    return {
        "r_seen": np.corrcoef(before.sum(axis=1), counted)[0, 1],
        "r_present": np.corrcoef(sites["estimated"], counted)[0, 1],
        "r_after_next": np.corrcoef(sites["after_next"], counted)[0, 1],
        "count": counted.mean(),
        "after_next": sites["after_next"].mean(),
        "inside": ((low <= counted) & (counted <= high)).mean(),
    }


# ---- simulated surveys -----------------------------------------------------------------------------------------------


def _simulated(kind: str, seed: int) -> dict[str, Any]:
    import numpy as np

    from latentbits import AspectBernoulli, RepeatedSurvey

    present, seen, effort = _drawn(kind, np.random.default_rng(seed))
    estimator = AspectBernoulli(3, n_init=2, random_state=seed)
    began = time.process_time()
    model = RepeatedSurvey(estimator, random_state=seed).fit(seen.astype(int), effort=effort)
    ever, total = seen.any(axis=1), model.total()
    never = present[~ever]
    from sklearn.metrics import roc_auc_score

    sites = model.sites_
    return {
        "n_sites": SITES,
        "n_species": SPECIES,
        "observed": int(never.sum()),
        "predicted": total["estimated"] - total["seen"],
        "auc": roc_auc_score(never, model.predict_proba()[~ever]),
        "inside": float(total["lower"] <= present.sum() <= total["upper"]),
        "sites_inside": ((sites["lower"] <= present.sum(axis=1)) & (present.sum(axis=1) <= sites["upper"])).mean(),
        "abundance": model.abundance_share_,
        "seconds": time.process_time() - began,
    }


def _drawn(kind: str, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray, np.ndarray | None]:
    """What is there, what visits saw, and their effort."""
    import numpy as np

    habitats = rng.dirichlet(np.full(3, 0.5), SITES) @ rng.gamma(0.4, 1.6, (3, SPECIES))
    individuals = rng.poisson(habitats)
    present = individuals > 0
    of_sites = np.exp(rng.uniform(-np.log(5) / 2, np.log(5) / 2, SITES)) if kind in ("effort", "both") else None
    effort = None if of_sites is None else np.repeat(of_sites[:, None], N_VISITS, axis=1)
    p = (
        rng.beta(2, 2, SPECIES)
        if kind in ("species", "both")
        else np.full(SPECIES, 0.3 if kind == "abundance" else 0.4)
    )
    often = individuals if kind in ("abundance", "both") else present
    hazard = -np.log1p(-p) * often * (1 if of_sites is None else of_sites[:, None])
    return present, rng.random((SITES, N_VISITS, SPECIES)) < -np.expm1(-hazard)[:, None], effort


# ---- judgement -------------------------------------------------------------------------------------------------------


def judge(table: pd.DataFrame) -> list[Claim]:
    claims = []
    real = table[table["left_out"] >= 0]
    for name in real["survey"].unique():
        claims += _of_survey(name, real[real["survey"] == name])
    for kind in table.loc[table["left_out"] < 0, "survey"].unique():
        claims.append(_of_simulation(kind, table[table["survey"] == kind]))
    return claims


def _of_survey(name: str, group: pd.DataFrame) -> list[Claim]:
    best = group[group["knows"] == (WITH if COVARIATES[name] else WITHOUT)]
    about = f"{name}, {best['n_sites'].max()} x {best['n_species'].max()}"
    auc, ap, error = (best[metric].mean() for metric in ("auc", "ap", "calibration_error"))
    ratio = best["predicted"].sum() / best["observed"].sum()
    by_knowledge = "; ".join(
        f"{knows} {part['auc'].mean():.3f} / {part['ap'].mean():.3f}, predicted : observed "
        f"{part['predicted'].mean():.0f} : {part['observed'].mean():.0f}, {part['seconds'].mean():.0f} CPU seconds"
        for knows, part in group.groupby("knows")
    )
    least = LEAST.get(name)
    return [
        Claim(
            statement=f"a left-out visit, cells that the others saw nothing in ({about}): AUC and average precision"
            + (f" at least {least[0]} and {least[1]}" if least else ""),
            ours=by_knowledge,
            holds=None if least is None else bool(auc >= least[0] and ap >= least[1]),
            note=f"{BESIDE[name]}. {SPOCCUPANCY}" if name in BESIDE else "",
        ),
        Claim(
            statement=f"the probabilities of a left-out visit come true ({about})",
            ours=f"calibration error {error:.4f}, predicted : observed {ratio:.2f}",
            holds=bool(error <= MOST_ERROR.get(name, 0.02) and abs(ratio - 1) <= 0.1),
            note=f"Of what the other visits saw, the left-out one saw {best['again'].mean():.2f} again, and "
            f"{best['again_predicted'].mean():.2f} were predicted.{WHY.get(name, '')}",
        ),
        _of_richness(about, best),
    ]


def _of_richness(about: str, best: pd.DataFrame) -> Claim:
    means = best[["r_seen", "r_present", "r_after_next", "count", "after_next", "inside"]].mean()
    right = abs(means["after_next"] / means["count"] - 1) <= 0.05 and 0.85 <= means["inside"] <= 0.95
    return Claim(
        statement=f"how many species will have been seen at a site after one more visit ({about})",
        ours=f"{means['after_next']:.2f} predicted, {means['count']:.2f} counted; correlation "
        f"{means['r_after_next']:.2f}; the 90 % interval holds the count at {means['inside']:.2f} of the sites",
        holds=bool(right and means["r_after_next"] >= 0.75 and means["r_after_next"] > means["r_seen"]),
        note=f"What was seen before correlates {means['r_seen']:.2f} with the count; the estimated number present, "
        f"which no visit can check, {means['r_present']:.2f}.",
    )


def _of_simulation(kind: str, group: pd.DataFrame) -> Claim:
    ratio, inside = group["predicted"].sum() / group["observed"].sum(), group["inside"].mean()
    error = (NOMINAL * (1 - NOMINAL) / len(group)) ** 0.5
    within = abs(inside - NOMINAL) <= 2 * error
    return Claim(
        statement=f"simulated surveys ({kind}): hidden presences within 10 %, 90 % intervals of the total hold it",
        ours=f"predicted : true {ratio:.2f}, inside {inside:.2f} of {len(group)} surveys; of sites "
        f"{group['sites_inside'].mean():.2f}; AUC of hidden presences {mean_sd(group['auc'], 3)}",
        holds=bool(abs(ratio - 1) <= 0.1 and 0.85 <= inside <= 0.95),
        note=f"Were the intervals exact, the share inside would have a standard error of {error:.2f}; "
        f"{inside * len(group):.0f} of {len(group)} {'are' if within else 'are not'} within two of {NOMINAL}.",
    )


def draw(table: pd.DataFrame) -> dict[str, Figure]:
    from latentbits.plots.style import BEST, QUIET, new_figure

    real = table[(table["left_out"] >= 0) & (table["seed"] == 0)]
    names = list(real["survey"].unique())
    figure = new_figure(2.9 * len(names), 3.2)
    for ax, name in zip(figure.subplots(1, len(names), squeeze=False)[0], names, strict=True):
        group = real[real["survey"] == name]
        for knows, colour in ((WITHOUT, QUIET), (WITH, BEST)):
            for _, line in group[group["knows"] == knows].iterrows():
                kept = [k for k, count in enumerate(line["_bins"]["count"]) if count >= 30]
                points = [[line["_bins"][axis][k] for k in kept] for axis in ("predicted", "observed")]
                ax.plot(*points, "o-", ms=3, color=colour)
        ax.axline((0, 0), slope=1, color=QUIET, lw=0.8)
        ax.set(title=name, xlabel="predicted")
    figure.axes[0].set_ylabel("share seen by the left-out visit")
    return {"calibration": figure}


EXPERIMENT = Experiment(
    title="Repeat visits: a left-out visit of four surveys, and totals of simulated ones",
    jobs=jobs,
    run=run,
    judge=judge,
    draw=draw,
)
