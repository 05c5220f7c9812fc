"""Binary ICA judged: is the number of sources found, does rms z detect a bad fit, do intervals cover the truth?"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from experiments.runner import Claim, Experiment, count_of, mean_sd

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

FRESH = 7000
"""Added to the seeds: settings were chosen on others."""

N_COLUMNS, N_SEGMENTS, ROWS = 10, 20, 500
SOURCES = (1, 2, 3, 5)
SETS = 50
LEVEL = 0.9
N_SAMPLES = 30


def jobs(full: bool) -> list[dict[str, Any]]:
    return [{"m": SOURCES[seed % 4], "seed": seed} for seed in range(SETS if full else 4)]


def run(m: int, seed: int) -> list[dict[str, Any]]:
    import numpy as np

    from latentbits import BinaryICA, parallel_analysis, select_order, simulate
    from latentbits.models.binary_ica.judgement import aligned
    from latentbits.models.binary_ica.parameters import Parameters, canonical

    truth = simulate.binary_ica(ROWS, N_COLUMNS, m, N_SEGMENTS, random_state=FRESH + seed)
    X, segments = truth.X, truth.segments
    found = select_order(
        BinaryICA(n_init=2, random_state=seed), X, range(1, 7), segments=segments, n_folds=4, random_state=seed
    )
    model = found.models[m]
    intervals = model.bootstrap(X, segments, n_samples=N_SAMPLES, level=LEVEL, random_state=seed)
    share = np.full(N_SEGMENTS, 1 / N_SEGMENTS)
    fitted = Parameters(model.mixing_, model.source_means_, model.source_scales_)
    true = aligned(canonical(Parameters(truth.mixing, truth.means, truth.scales), share), fitted)
    fewer = found.models[m - 1].goodness_of_fit(X, segments).rms_z if m > 1 else np.nan
    return [
        {
            "by_pairs": found.best_order,
            "by_parallel_analysis": parallel_analysis(X, segments).n_factors,
            "rms_z": model.goodness_of_fit(X, segments).rms_z,
            "rms_z_one_fewer": fewer,
            "mixing_covered": _covered(intervals.mixing, true.mixing),
            "variances_covered": _covered(intervals.variances, true.scales**2),
        }
    ]


def _covered(intervals: Any, truth: Any) -> float:
    return float(((intervals.low <= truth) & (truth <= intervals.high)).mean())


def judge(table: pd.DataFrame) -> list[Claim]:
    right = table["by_pairs"] == table["m"]
    parallel = table["by_parallel_analysis"] == table["m"]
    z, fewer = table["rms_z"], table.dropna(subset=["rms_z_one_fewer"]).groupby("m")["rms_z_one_fewer"]
    return [
        Claim(
            statement="held-out pairs choose the true number of sources (at least 80 % of the sets)",
            ours=count_of(right),
            holds=right.mean() >= 0.8,
        ),
        Claim(
            statement="parallel analysis, the default of BinaryICA, finds it (at least 80 % of the sets)",
            ours=count_of(parallel),
            holds=parallel.mean() >= 0.8,
        ),
        Claim(
            statement="rms z of the right model lies between 0.7 and 1.1 in every set",
            ours=f"{z.min():.2f} to {z.max():.2f}",
            holds=bool(z.between(0.7, 1.1).all()),
        ),
        Claim(
            statement="with one source too few it is above 1.6 on average, for each number of sources",
            ours="; ".join(f"m = {m}: {group.mean():.2f} [{group.min():.2f}, {group.max():.2f}]" for m, group in fewer),
            holds=bool((fewer.mean() > 1.6).all()),
        ),
        *(
            Claim(
                statement=f"90 % bootstrap intervals of the {what} cover 85 to 95 % of the true values",
                ours=f"{mean_sd(table[column], 3)} over {len(table)} sets",
                holds=bool(0.85 <= table[column].mean() <= 0.95),
                note="Coverage is lower with more sources, where the prior moves entries as much as chance does.",
            )
            for what, column in (("mixing", "mixing_covered"), ("sources' variances", "variances_covered"))
        ),
    ]


def draw(table: pd.DataFrame) -> dict[str, Figure]:
    from latentbits.plots.style import BEST, QUIET, new_figure

    figure = new_figure(7.5, 3)
    left, right = figure.subplots(1, 2)
    left.plot(table["m"] - 0.08, table["rms_z"], "o", color=BEST, alpha=0.5, label="right number")
    left.plot(table["m"] + 0.08, table["rms_z_one_fewer"], "o", color=QUIET, alpha=0.7, label="one source too few")
    left.axhline(1, color=QUIET, linewidth=0.8)
    left.set(xlabel="true sources", ylabel="rms z", xticks=SOURCES)
    left.legend(fontsize=8)
    means = table.groupby("m")[["mixing_covered", "variances_covered"]].mean()
    right.plot(means.index, means["mixing_covered"], "o-", color=BEST, label="mixing")
    right.plot(means.index, means["variances_covered"], "o-", color=QUIET, label="variances")
    right.axhline(LEVEL, color=QUIET, linewidth=0.8)
    right.set(xlabel="true sources", ylabel="covered by 90 % intervals", ylim=(0.5, 1), xticks=SOURCES)
    right.legend(fontsize=8)
    return {"judged": figure}


EXPERIMENT = Experiment(
    title="Binary ICA judged: number of sources, fit, intervals",
    jobs=jobs,
    run=run,
    judge=judge,
    draw=draw,
)
