"""Ones knocked out of ten public tables: what `denoise` fills at its default, and by the papers' rule.

Of each table 22 % of the ones (60 of 273 grave goods), drawn by the job's seed, are set to 0. `AspectBernoulli` and
`BetaICA` with 4 components, else by default, are fitted to the rest, and `denoise` is asked for its cells: by evidence
from held-out cells, which is the default, and by the papers' rule (threshold=0.5).

Rules of judgement, written before the run. The rule was chosen on simulated tables, with a look at grave goods, with
other seeds. The tables are all that are for judging (`_tables.JUDGING`), three of those for tuning, and a simulated
one in which there is much to fill.

- On every table, by either model and with every seed: of the zeros that `denoise` fills at least half are knocked-out
  ones; or it fills none, and a warning says why.
- Of the simulated table some zeros are filled, with every seed: that nothing is ever filled would be no merit.
"""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

from experiments.outside import _tables
from experiments.runner import Claim, Experiment

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd
    from matplotlib.figure import Figure

REAL = (*_tables.JUDGING, "aflp", "island finches", "zoo")
SIMULATED = "corroded"
MODELS = ("AspectBernoulli", "BetaICA")
SHARE, COMPONENTS, FRESH = 0.22, 4, 500
DEFAULT, PAPERS = "by held-out cells", "papers' rule"


def jobs(full: bool) -> list[dict[str, Any]]:
    tables, seeds = ((*REAL, SIMULATED), range(FRESH, FRESH + 3)) if full else (("grave goods",), [FRESH])
    return [{"table": table, "model": model, "seed": seed} for table in tables for model in MODELS for seed in seeds]


def run(table: str, model: str, seed: int) -> list[dict[str, Any]]:
    """A line for each rule: how many zeros it fills, how many of them were knocked out, and what it says."""
    import latentbits as lb
    from latentbits.errors import NoNoiseComponentWarning

    seen, is_knocked_out = _knocked_out(table, seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fitted = getattr(lb, model)(COMPONENTS, random_state=seed).fit(seen)
    lines = []
    for rule, asked in ((DEFAULT, {}), (PAPERS, {"threshold": 0.5})):
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            filled = (fitted.denoise(seen, **asked) == 1) & (seen == 0)
        why = [str(warning.message) for warning in said if issubclass(warning.category, NoNoiseComponentWarning)]
        counts = {"knocked_out": is_knocked_out.sum(), "filled": filled.sum(), "hits": (filled & is_knocked_out).sum()}
        looks = "white" in fitted.phantoms_
        lines.append({"rule": rule, "cells": seen.size, **counts, "looks_like_noise": looks, "why": "; ".join(why)})
    return lines


def _knocked_out(table: str, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """The table without some of its ones, and which these are; simulated rows lose up to 80 % of theirs."""
    import numpy as np

    from latentbits import simulate

    if table == SIMULATED:
        clean = simulate.aspect_bernoulli(100, 25, 3, sharpness=0.1, concentration=0.2, density=0.5, random_state=seed)
        noisy = simulate.corrode(clean.X, 0.8, random_state=seed)
        return noisy.X.astype(np.int8), noisy.changed
    X = _tables.load(table)
    is_knocked_out = np.zeros(X.shape, dtype=bool)
    ones = np.flatnonzero(X == 1)
    is_knocked_out.flat[np.random.default_rng(seed).choice(ones, round(SHARE * len(ones)), replace=False)] = True
    return np.where(is_knocked_out, 0.0, np.where(X == -1, np.nan, X)), is_knocked_out


def judge(table: pd.DataFrame) -> list[Claim]:
    claims = []
    for model, own in table[table["rule"] == DEFAULT].groupby("model", sort=False):
        real = own[own["table"] != SIMULATED]
        told = (real["filled"] == 0) & (real["why"] != "")
        good = told | ((real["filled"] > 0) & (2 * real["hits"] >= real["filled"]))
        papers = table[(table["rule"] == PAPERS) & (table["model"] == model) & (table["table"] != SIMULATED)]
        claims.append(
            Claim(
                statement=f"{model}: of the zeros that denoise fills by default at least half were knocked out, or it "
                f"fills none and says why ({real['table'].nunique()} tables, {real['seed'].nunique()} seeds)",
                ours=f"{good.sum()} of {len(good)}; filled {real['filled'].sum()}, of them {real['hits'].sum()} "
                f"knocked out; none and told why {told.sum()}",
                holds=bool(good.all()),
                note=f"By the papers' rule {papers['filled'].sum()}, of them {papers['hits'].sum()} knocked out.",
            )
        )
        made = own[own["table"] == SIMULATED]
        claims.append(
            Claim(
                statement=f"{model}: a simulated table whose rows lost up to 80 % of their ones: some zeros filled, "
                "at least half of which had been lost",
                ours=f"filled {made['filled'].sum()}, of them {made['hits'].sum()} lost; some in "
                f"{(made['filled'] > 0).sum()} of {len(made)}",
                holds=bool((made["filled"] > 0).all() and (2 * made["hits"] >= made["filled"]).all()),
            )
        )
    return claims


def draw(table: pd.DataFrame) -> dict[str, Figure]:
    from latentbits.plots.style import BEST, QUIET, new_figure

    sums = table.groupby(["model", "rule", "table"])[["filled", "hits"]].sum()
    names = sorted(set(table["table"]))
    figure = new_figure(9.0, 4.4)
    panels = figure.subplots(1, len(MODELS), sharey=True)
    for ax, model in zip(panels, MODELS, strict=True):
        for rule, colour, shift in ((PAPERS, QUIET, 0.2), (DEFAULT, BEST, -0.2)):
            own = sums.loc[(model, rule)].loc[names]
            places = [y + shift for y in range(len(names))]
            ax.barh(places, (own["hits"] / own["filled"]).fillna(0), height=0.36, color=colour, label=rule)
            for y, line in zip(places, own.itertuples(), strict=True):
                text = f"{line.hits:,.0f} of {line.filled:,.0f}" if line.filled else "none filled"
                ax.text(line.hits / max(line.filled, 1) + 0.02, y, text, va="center", fontsize=6)
        ax.axvline(0.5, color=QUIET, linewidth=0.8)
        ax.set(title=model, xlabel="share of what is filled that was knocked out", xlim=(0, 1.2))
        ax.set_yticks(range(len(names)), names)
    panels[0].legend(loc="lower right", fontsize=7)
    return {"filled": figure}


EXPERIMENT = Experiment(
    title="Ones knocked out of ten public tables: what denoising fills, by held-out cells and by the papers' rule",
    jobs=jobs,
    run=run,
    judge=judge,
    draw=draw,
)
