"""Can a suspect's score be read as a probability? Data where it is known which zeros are false.

Data from the model with zeros added, digits with ones turned off, and birds, where later visits show the truth.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from experiments.beyond._suspects import TABLES, bird_tables, judged, scores_of_aspects
from experiments.runner import Claim, Experiment, mean_sd

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd
    from matplotlib.figure import Figure

TITLES = {
    "simulated": "Simulated, zeros added",
    "corroded": "Digits, ones turned off",
    "birds": "Birds missed on visit 1",
}
COMPONENTS = {"simulated": 5, "corroded": 16, "birds": 8}
CASES = {
    "simulated": {"0.4": "up to 40 % of the cells", "0.8": "up to 80 % of the cells"},
    "corroded": {"0.6": "up to 60 % of the ones", "1.0": "up to all ones"},
    "birds": TABLES,
}
COLOURS = ("#0072b2", "#e69f00")
ALLOWED = 0.05
"""How far a score may be from the truth on average and still be called a probability."""


def jobs(full: bool) -> list[dict[str, Any]]:
    seeds = range(3 if full else 1)
    every = [(data, case) for data, cases in CASES.items() for case in cases]
    return [{"data": data, "case": case, "seed": seed} for data, case in every for seed in seeds]


def run(data: str, case: str, seed: int) -> list[dict[str, Any]]:
    from latentbits import AspectBernoulli
    from latentbits.metrics import calibration_table

    clean, X, oracle = _data(data, case, seed)
    model = AspectBernoulli(COMPONENTS[data], smoothing=0, random_state=seed).fit(X)
    scores = {**scores_of_aspects(model, X), **oracle}
    zero = X == 0
    bins = calibration_table(clean[zero], scores["suspicion"][zero])
    lines = judged(scores, clean, X)
    kept = bins[["lower", "predicted", "observed", "count"]].to_dict("list")
    return [{**line, "hidden": clean[zero].mean(), "_bins": kept if i == 0 else None} for i, line in enumerate(lines)]


def _data(data: str, case: str, seed: int) -> tuple[np.ndarray, np.ndarray, dict[str, np.ndarray]]:
    """The truth, what is seen of it, and the best possible score where that is known."""
    from latentbits import simulate
    from latentbits.datasets import load_digits

    if data == "birds":
        first, ever = bird_tables(case)
        return ever, first, {}
    if data == "corroded":
        images = load_digits()
        return images.X, simulate.corrode(images.X, float(case), random_state=seed).X, {}
    truth = simulate.aspect_bernoulli(1000, 100, 4, density=0.4, random_state=seed)
    noisy = simulate.add_zeros(truth.X, float(case), random_state=1000 + seed)
    P, share = truth.probabilities, noisy.share[:, None]
    # Bayes' rule with all true parameters: the content put a 1 there, and a zero was put over it.
    return truth.X, noisy.X, {"oracle": P * share / (1 - P + P * share)}


def judge(table: pd.DataFrame) -> list[Claim]:
    claims = []
    for (data, case), group in table.groupby(["data", "case"], sort=False):
        error = {score: lines.set_index("seed")["calibration_error"] for score, lines in group.groupby("score")}
        hidden = group.groupby("seed")["hidden"].first().mean()
        claims.append(
            Claim(
                statement=f"suspicion is a probability, off by at most {ALLOWED} on average "
                f"({TITLES[data].lower()}, {CASES[data][case]})",
                ours=", ".join(f"{score} {mean_sd(values, 3)}" for score, values in error.items())
                + f"; {hidden:.0%} of the zeros hide a one",
                holds=(error["suspicion"] <= ALLOWED).all(),
                note=_note(data),
            )
        )
    return claims


def _note(data: str) -> str:
    if data == "birds":
        return "A bird that no visit saw counts as absent, so the truth is itself too low."
    return (
        "Suspicion says what the row's content would put there, without counting the 0 as evidence against it; it is "
        "made for ranking. The product counts it."
    )


def draw(table: pd.DataFrame) -> dict[str, Figure]:
    from latentbits.plots.style import QUIET, new_figure

    figure = new_figure(10, 3.8)
    for ax, (data, of_data) in zip(figure.subplots(1, len(TITLES)), table.groupby("data", sort=False), strict=True):
        ax.plot([0, 1], [0, 1], color=QUIET, lw=1)
        for colour, (case, group) in zip(COLOURS, of_data.groupby("case", sort=False), strict=True):
            curve = _pooled(group["_bins"].dropna().tolist())
            ax.plot(curve["predicted"], curve["observed"], "o-", ms=4, color=colour, label=CASES[data][case])
        ax.set(title=TITLES[data], xlabel="suspicion of a zero", xlim=(0, 1.03), ylim=(0, 1.03), aspect="equal")
        ax.legend(loc="upper left")
        if data == next(iter(TITLES)):
            ax.set_ylabel("share that hides a one")
    return {"curves": figure}


def _pooled(bins: list[dict[str, Any]]) -> pd.DataFrame:
    """The bins of all seeds as one, each weighted by its cells."""
    import pandas as pd

    parts = pd.concat([pd.DataFrame(part) for part in bins])
    for column in ("predicted", "observed"):
        parts[column] *= parts["count"]
    sums = parts.groupby("lower")[["predicted", "observed", "count"]].sum()
    return sums[["predicted", "observed"]].div(sums["count"], axis=0)


EXPERIMENT = Experiment(
    title="Is a suspect's score calibrated: simulated data, corroded digits, birds",
    jobs=jobs,
    run=run,
    judge=judge,
    draw=draw,
)
