"""How many factors harmony learning finds with each of four encoders, with and without priors.

Three factors in ten variables, started with five; over numbers of rows and noise levels.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from experiments.binary_factors._shared import (
    ENCODERS,
    GRID_NOTE,
    START_NAMES,
    SURPLUS,
    TRUE,
    data_set,
    dependent_on_starts,
    draw_share_map,
    fit,
    grid_jobs,
    numbers_found,
    share_with_spread,
)
from experiments.runner import Algorithm, Claim, Experiment

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd
    from matplotlib.figure import Figure

    from latentbits import BinaryFactorAnalysis

FEW_ROWS = 50
PEAK = 0.25
MEDIUM = (0.25, 0.5)
"""The two levels of the grid between which the share is highest."""

FEWER = "without priors the right number is found less often with fewer rows, by every encoder"
PEAK_AT = "without priors, over all encoders: best at a noise of {}"
PRIORS = "priors help every encoder, most at few rows"
REVERSAL = "without priors: round ahead of cdual at a noise of 0.25, behind at the smallest"


def run(n_rows: int, sigma: float, seed: int) -> list[dict[str, Any]]:
    X = data_set(n_rows, sigma, seed)
    return [
        {"encoder": encoder, "priors": priors, **numbers_found(_fit(X, seed, encoder, priors))}
        for encoder in ENCODERS
        for priors in (False, True)
    ]


def _fit(X: np.ndarray, seed: int, encoder: str, priors: bool) -> BinaryFactorAnalysis:
    """Harmony learning with the paper's rule for discarding."""
    return fit(SURPLUS, X, seed, inference="byy", delta=2.0, encoder=encoder, priors=priors)


def judge(table: pd.DataFrame) -> list[Claim]:
    claims, wider = [], []
    for start in START_NAMES:
        judged = table.assign(right=table[start] == TRUE)
        words = START_NAMES[start]
        claims += [_reversal(judged, priors, words) for priors in (False, True)]
        claims += [_fewer_rows(judged, words), _peak(judged, words)]
        claims += [_priors_help(judged, words), _round_against_cdual(judged, words), _narrowed(judged, words)]
        wider.append(_peak(judged, words, MEDIUM))
    claims = dependent_on_starts(claims) + wider
    return [replace(claim, algorithm=Algorithm.OURS) for claim in claims]


def _reversal(table: pd.DataFrame, priors: bool, words: str) -> Claim:
    part = table[table["priors"] == priors]
    groups = dict(iter(part.groupby("encoder")))
    mean = {encoder: groups[encoder]["right"].mean() for encoder in ENCODERS}
    ours = [f"{encoder} {share_with_spread(groups[encoder]['right'], groups[encoder]['seed'])}" for encoder in ENCODERS]
    return Claim(
        result="BFA 3",
        setting=words,
        statement=f"right number, {'with' if priors else 'without'} priors: the order of the encoders",
        paper="{cdual, round} > greedy > enum",
        ours=", ".join(ours),
        holds=min(mean["round"], mean["cdual"]) > mean["greedy"] > mean["enum"],
        note=GRID_NOTE,
    )


def _fewer_rows(table: pd.DataFrame, words: str) -> Claim:
    by_rows = table[~table["priors"]].pivot_table("right", "n_rows", "encoder")
    most, fewest = by_rows.iloc[-1], by_rows.iloc[0]
    ends = f"{by_rows.index[-1]} to {by_rows.index[0]} rows"
    return Claim(
        result="BFA 3",
        setting=words,
        statement=FEWER,
        paper="declines",
        ours=f"{ends}: " + ", ".join(f"{e} {most[e]:.2f} to {fewest[e]:.2f}" for e in ENCODERS),
        holds=(fewest < most).all(),
        why=f"it doesn't fall under {' and '.join(e for e in ENCODERS if fewest[e] >= most[e])}",
    )


def _peak(table: pd.DataFrame, words: str, allowed: tuple[float, ...] = (PEAK,)) -> Claim:
    by_noise = table[~table["priors"]].groupby("sigma")["right"].mean()
    return Claim(
        result="BFA 3",
        setting=words,
        instead=allowed != (PEAK,),
        statement=PEAK_AT.format(" or ".join(map(str, allowed))),
        paper="rises up to about 0.25, then falls",
        ours=", ".join(f"{share:.2f} at {sigma:g}" for sigma, share in by_noise.items()),
        holds=by_noise.idxmax() in allowed,
        note="The share is highest at 0.5, not at 0.25. The noise levels of the paper are 0.05 apart around 0.25, ours "
        "are coarser (0.1 and 0.5 are the next).",
    )


def _priors_help(table: pd.DataFrame, words: str) -> Claim:
    share = table.pivot_table("right", ["n_rows", "sigma"], ["encoder", "priors"]).astype(float)
    few = share.index.get_level_values("n_rows") <= FEW_ROWS
    gain = {encoder: share[encoder][True] - share[encoder][False] for encoder in ENCODERS}
    ours = [f"{e} {gain[e][few].mean():+.2f} and {gain[e][~few].mean():+.2f}" for e in ENCODERS]
    so = {e: g.mean() > 0 and g[few].mean() > g[~few].mean() for e, g in gain.items()}
    return Claim(
        result="BFA 3",
        setting=words,
        statement=PRIORS,
        paper="improved, especially with few rows",
        ours=f"up to {FEW_ROWS} rows and above: " + ", ".join(ours),
        holds=all(so.values()),
        why=f"it isn't so under {' and '.join(e for e in ENCODERS if not so[e])}",
        note="The paper excepts very large noise.",
    )


def _round_against_cdual(table: pd.DataFrame, words: str) -> Claim:
    by_noise = _cdual_less_round(table, priors=False).groupby("sigma").mean()
    least = by_noise.index[0]
    return Claim(
        result="BFA 3",
        setting=words,
        statement=REVERSAL,
        paper="round superior around 0.25, cdual at very small noise",
        ours="cdual less round: " + ", ".join(f"{d:+.2f} at {sigma:g}" for sigma, d in by_noise.items()),
        holds=by_noise[PEAK] < 0 < by_noise[least],
        note="Our fits hold the factors' probabilities even until the codes have settled, which the paper does not do: "
        "it keeps an encoder that rounds from being carried away by the uneven shares of poor codes.",
    )


def _narrowed(table: pd.DataFrame, words: str) -> Claim:
    gap = {priors: _cdual_less_round(table, priors).abs().mean() for priors in (False, True)}
    return Claim(
        result="BFA 3",
        setting=words,
        statement="priors narrow the difference between cdual and round",
        paper="narrowed",
        ours=f"mean absolute difference of a cell {gap[False]:.2f} without, {gap[True]:.2f} with priors",
        holds=gap[True] < gap[False],
        note="With few runs per cell, chance alone makes a difference of 0.1 to 0.2 in a cell.",
    )


def _cdual_less_round(table: pd.DataFrame, priors: bool) -> pd.Series:
    share = table[table["priors"] == priors].pivot_table("right", ["n_rows", "sigma"], "encoder").astype(float)
    return share["cdual"] - share["round"]


def draw(table: pd.DataFrame) -> dict[str, Figure]:
    return {start: _maps(table, start) for start in START_NAMES}


def _maps(table: pd.DataFrame, start: str) -> Figure:
    from latentbits.plots.style import new_figure

    figure = new_figure(11, 5)
    panels = figure.subplots(2, len(ENCODERS), sharex=True, sharey=True)
    for line, priors in zip(panels, (False, True), strict=True):
        for ax, encoder in zip(line, ENCODERS, strict=True):
            part = table[(table["encoder"] == encoder) & (table["priors"] == priors)]
            draw_share_map(ax, part, start, f"{encoder}, {'with' if priors else 'without'} priors")
        line[0].set_ylabel("rows")
    figure.supxlabel("standard deviation of the noise")
    figure.suptitle(f"Share of runs that find {TRUE} factors, started with {SURPLUS} ({START_NAMES[start]})")
    return figure


EXPERIMENT = Experiment(
    title="Number of factors: encoders reverse their order, priors help at few rows",
    results=("BFA 3",),
    jobs=grid_jobs,
    run=run,
    judge=judge,
    draw=draw,
)
