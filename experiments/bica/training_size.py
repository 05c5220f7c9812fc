"""Corroded numerals: denoising against the number of training images, K = 10 (figure 12)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from experiments.bica._shared import BBICA, BICA
from experiments.runner import Claim, Experiment, mean_sd

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

COMPONENTS = 10
IMAGES = 1000
KNEE = 500
"""Where the paper sees the curve of unseen images level off."""


def jobs(full: bool) -> list[dict[str, Any]]:
    sizes, seeds = (range(200, 1000, 100), range(10)) if full else ((200, KNEE, 900), range(2))
    return [
        {"model": model, "size": size, "seed": seed} for seed in seeds for size in sizes for model in ("BICA", "bBICA")
    ]


def run(model: str, size: int, seed: int) -> list[dict[str, Any]]:
    from experiments.bica._shared import corroded_numerals, denoised_rows, fitted, split

    train, unseen = split(corroded_numerals(seed), size, IMAGES - size, seed)
    return denoised_rows(model, fitted(model, COMPONENTS, train.noisy, seed), {"weak": train, "strong": unseen})


def judge(table: pd.DataFrame) -> list[Claim]:
    weak, strong = (table[table["denoising"] == part] for part in ("weak", "strong"))
    return [_improves(weak, BICA), _improves(weak, BBICA), _levels_off(strong)]


def _sizes(rows: pd.DataFrame, method: str) -> dict[int, pd.Series]:
    return {size: group["grey"] for size, group in rows[rows["method"] == method].groupby("size")}


def _improves(rows: pd.DataFrame, method: str) -> Claim:
    from scipy.stats import spearmanr

    runs = rows[rows["method"] == method]
    trend = spearmanr(runs["size"], runs["grey"])
    sizes = _sizes(rows, method)
    first, last = sizes[min(sizes)], sizes[max(sizes)]
    return Claim(
        result="BICA 3",
        statement=f"weak denoising improves with the number of training images ({method})",
        paper="improves from 200 to 900",
        ours=f"AUC {mean_sd(first, 3)} with {min(sizes)}, {mean_sd(last, 3)} with {max(sizes)} images ({len(first)} "
        f"repeats); rank correlation {trend.statistic:.2f} (p = {trend.pvalue:.1g})",
        holds=last.mean() > first.mean() and trend.pvalue < 0.05,
        note="holds if the mean is higher at the end and the rank correlation over all fits is significant (5 %), "
        "for which the repeats of a quick run are too few",
    )


def _levels_off(rows: pd.DataFrame) -> Claim:
    sizes = _sizes(rows, BBICA)
    before, knee, after = (sizes[size].mean() for size in (min(sizes), KNEE, max(sizes)))
    return Claim(
        result="BICA 3",
        statement=f"strong denoising levels off after about {KNEE} training images (bBICA, processed)",
        paper=f"levels up after about {KNEE}",
        ours="AUC " + ", ".join(f"{mean_sd(auc, 3)} with {size}" for size, auc in sizes.items()),
        holds=knee > before and after - knee < 0.5 * (knee - before),
        note=f"holds if the mean rises up to {KNEE} images and by less than half as much from there to the end",
    )


def draw(table: pd.DataFrame) -> dict[str, Figure]:
    from experiments.bica._shared import draw_lines
    from latentbits.plots.style import new_figure

    figure = new_figure(9, 3.8)
    panels = figure.subplots(1, 2, sharey=True)
    for ax, part in zip(panels, ("weak", "strong"), strict=True):
        draw_lines(ax, table[table["denoising"] == part], "size", "grey", spread=True)
        ax.set(title=f"{part} denoising", xlabel="training images")
    panels[0].set_ylabel("AUC at the pixels that are off (mean, sd)")
    figure.legend(*panels[0].get_legend_handles_labels(), loc="outside right center")
    return {"auc": figure}


EXPERIMENT = Experiment(
    title="Corroded numerals: denoising against the number of training images",
    results=("BICA 3",),
    jobs=jobs,
    run=run,
    judge=judge,
    draw=draw,
)
