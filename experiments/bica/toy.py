"""Data from the model with three components: does the evidence rise, and does it find their number? (figure 2)."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from experiments.runner import Algorithm, Claim, Experiment, Reason, count_of, mean_sd

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

TRUE = 3
ORDERS = range(1, 7)
TRIED = range(2, 7)
"""The orders that the paper tries; the library's evidence is evaluated for 1 as well."""

MOST = max(ORDERS)
PAPERS_SHAPE = "150 x 30"
TURNED = "30 x 150"
WIDE = "150 x 1000"
"""Many more cells a row, against which the prior's one cell a component weighs little; weights from the prior alone."""

CONCENTRATIONS = (1.0, 0.3, 0.1)
"""Of the weights' Dirichlet distribution: the model's own prior, then rows that mix less and less evenly."""

SAMPLED = 5
"""Data sets of the paper's shape and the model's own prior whose posterior is sampled as well."""

PEAK = f"over 2 to 6 components the evidence peaks at {TRUE} in most data sets"


def jobs(full: bool) -> list[dict[str, Any]]:
    cases = [(PAPERS_SHAPE, c, 20) for c in CONCENTRATIONS] + [(TURNED, c, 10) for c in CONCENTRATIONS]
    cases.append((WIDE, CONCENTRATIONS[0], 10))
    return [
        {"shape": shape, "concentration": concentration, "seed": seed}
        for shape, concentration, n_sets in cases
        if full or shape == PAPERS_SHAPE
        for seed in range(n_sets if full else 4)
    ]


def run(shape: str, concentration: float, seed: int) -> list[dict[str, Any]]:
    """One data set, fitted with every order; the history is that of the paper's schedule at the true order."""
    import numpy as np

    from latentbits import BetaICA, simulate

    n_rows, n_columns = map(int, shape.split(" x "))
    X = simulate.aspect_bernoulli(
        n_rows, n_columns, TRUE, concentration=concentration, sharpness=1.0, random_state=seed
    ).X
    own = {"gamma": 1.0, "random_state": seed}
    papers_way = BetaICA(TRUE, n_init=1, inner_max_iter=10, inner_tol=1e-3, max_iter=500, **own).fit(X)
    history = papers_way.objective_history_
    rows = []
    for k in ORDERS:
        model = BetaICA(k, n_init=10, tol=1e-7, max_iter=10_000, **own).fit(X)
        surplus = np.sort(model.weights_.mean(axis=0))[: max(k - TRUE, 0)]
        rows.append(
            {
                "k": k,
                "evidence": model.objective_,
                "alive": model.n_components_,
                "surplus_weight": surplus.mean() if surplus.size else float("nan"),
            }
        )
    if shape == PAPERS_SHAPE and concentration == CONCENTRATIONS[0] and seed < SAMPLED:
        sampled = BetaICA(MOST, inference="gibbs", **own).fit(X)
        rows[-1]["sampled_surplus"] = np.sort(sampled.weights_.mean(axis=0))[: MOST - TRUE].mean()
    rows[0] |= {"worst_step": np.diff(history).min(), "steps": len(history), "_history": history[:200]}
    return rows


def judge(table: pd.DataFrame) -> list[Claim]:
    cases = dict(list(table.groupby(["shape", "concentration"], sort=False)))
    peaks = [_peak(c, cases) for c in CONCENTRATIONS]
    extinct = [_extinction(c, cases) for c in CONCENTRATIONS]
    if (WIDE, CONCENTRATIONS[0]) in cases:
        peaks.append(_peak(CONCENTRATIONS[0], cases, WIDE))
        extinct.append(_extinction(CONCENTRATIONS[0], cases, WIDE))
    drawn = {c: table[table["concentration"] == c] for c in CONCENTRATIONS}
    rises = [replace(_rises(part), setting=f"weights drawn from Dirichlet({c:g})") for c, part in drawn.items()]
    return [*rises, *peaks, *_underestimates(cases), *extinct]


def _underestimates(cases: Cases) -> list[Claim]:
    """The paper says so of the bound as a criterion."""
    claims = []
    for concentration in CONCENTRATIONS:
        evidence = _evidence(cases[PAPERS_SHAPE, concentration])
        fewer = evidence[list(TRIED)].idxmax(axis=1) < TRUE
        claims.append(
            Claim(
                result="BICA 1",
                statement="the bound underestimates the number of components occasionally",
                setting=f"weights drawn from Dirichlet({concentration:g})",
                paper="occasionally (section 2.2)",
                ours=f"in {count_of(fewer)} data sets",
                holds=0 < fewer.mean() < 0.5,
                why="it underestimates in most data sets",
                note="occasionally: in some data sets, but not in most",
            )
        )
    return claims


RISES = "the evidence never falls, with inner loops of at most 10 steps as in the paper"
Cases = dict[tuple[str, float], "pd.DataFrame"]


def _rises(table: pd.DataFrame) -> Claim:
    wide = table[table["shape"] == WIDE]
    table = table[table["shape"] != WIDE]
    worst = table["worst_step"].dropna()
    allowed = 1e-9 * table["evidence"].abs().max()
    larger = f"; with {WIDE} cells up to {-wide['worst_step'].min():.1e} of {-wide['evidence'].max():.0f} are lost"
    return Claim(
        result="BICA 1",
        statement=RISES,
        algorithm=Algorithm.OURS,
        paper="rises monotonically",
        ours=f"never falls in {count_of(worst >= -allowed)} fits; smallest step {worst.min():.1e}"
        + (larger if len(wide) else ""),
        holds=(worst >= -allowed).all(),
        note="over outer steps, but for rounding in the ninth digit. A step of 0 is an extrapolation that was refused "
        "because it would have fallen; the plain steps between are recorded as they are. The wide tables are not the "
        "paper's, and not judged: there steps near the end lose some 5e-9 of the evidence, with or without inner loops",
    )


def _unrecorded(concentration: float, shape: str) -> dict[str, Any]:
    """What the paper doesn't say of its one data set.

    Where the evidence peaks depends on it. Whether surplus components die doesn't at the paper's size: they never do.
    """
    return {
        "setting": f"weights drawn from Dirichlet({concentration:g})",
        "reason": Reason.NO,
        "instead": shape != PAPERS_SHAPE,
    }


def _changed(shape: str) -> str:
    """How a statement on another shape begins; it is another claim."""
    return "" if shape == PAPERS_SHAPE else f"{shape.split()[-1]} columns instead of {PAPERS_SHAPE.split()[-1]}: "


def _peak(concentration: float, cases: Cases, shape: str = PAPERS_SHAPE) -> Claim:
    evidence = _evidence(cases[shape, concentration])
    counts = evidence.idxmax(axis=1).value_counts().sort_index()
    found = _peaks_right(evidence)
    turned = [count_of(_peaks_right(_evidence(group))) for group in _turned(concentration, cases, shape)]
    return Claim(
        result="BICA 1",
        statement=_changed(shape) + PEAK,
        **_unrecorded(concentration, shape),
        paper=f"peaks at {TRUE} (one data set)",
        ours=f"at {TRUE} in {count_of(found)} data sets; over 1 to 6 components the peak is at "
        + ", ".join(f"{k} in {n}" for k, n in counts.items())
        + "".join(f"; with {TURNED} at {TRUE} in {n}" for n in turned),
        holds=found.mean() > 0.5,
        note="The bound is exact for one component and loose for more, the looser the more evenly rows mix components. "
        "How the paper drew its weights isn't said beyond that they are from the model, whose own prior is "
        "Dirichlet(1); two others were tried. "
        "The paper, too, saw that it may underestimate the number. Thermodynamic integration, which has no such "
        "slack, picks the true number for each of the three (beyond/posterior)",
    )


def _extinction(concentration: float, cases: Cases, shape: str = PAPERS_SHAPE) -> Claim:
    group = cases[shape, concentration]
    alive = _alive(group)
    turned = [mean_sd(_alive(group), 1) for group in _turned(concentration, cases, shape)]
    surplus = group.loc[group["k"] == MOST, "surplus_weight"]
    sampled = group["sampled_surplus"].dropna()
    return Claim(
        result="BICA 1",
        statement=f"{_changed(shape)}components beyond {TRUE} go back to their prior",
        **_unrecorded(concentration, shape),
        paper="their posterior equals the prior, their weights go to zero",
        ours=f"of {MOST}, {TRUE} are alive in {count_of(alive == TRUE)} data sets, on average {mean_sd(alive, 1)}; "
        f"mean weight of the surplus ones {mean_sd(surplus, 3)}"
        + (f", in the exact posterior (Gibbs) {mean_sd(sampled, 3)}" if len(sampled) else "")
        + "".join(f"; with {TURNED} {n} alive" for n in turned),
        holds=(alive == TRUE).mean() > 0.5,
        note="A Dirichlet(1) prior gives each component one cell in every row before any data, which is strong against "
        "30 cells, and still against 150. Surplus ones don't die in the exact posterior either, so that it isn't the "
        "fault of the variational one. Extinct: causes less than half a cell a column and a tenth of an equal share. "
        "With 150 cells a row (30 x 150) some do die where rows mix little, with 1,000 they do whatever the weights",
    )


def _evidence(group: pd.DataFrame) -> pd.DataFrame:
    return group.pivot_table(index="seed", columns="k", values="evidence")


def _peaks_right(evidence: pd.DataFrame) -> pd.Series:
    return evidence[list(TRIED)].idxmax(axis=1) == TRUE


def _alive(group: pd.DataFrame) -> pd.Series:
    return group.loc[group["k"] == MOST, "alive"]


def _turned(concentration: float, cases: Cases, shape: str) -> list[pd.DataFrame]:
    """The data sets with the paper's two numbers changed round, if they were run."""
    return [group for key, group in cases.items() if key == (TURNED, concentration) and shape == PAPERS_SHAPE]


def draw(table: pd.DataFrame) -> dict[str, Figure]:
    from latentbits.plots.style import BEST, INK, QUIET, new_figure, whole_numbers

    cases = list(table[table["shape"] != WIDE].groupby(["shape", "concentration"], sort=False))
    figure = new_figure(10, 3.2 * (len(cases) // len(CONCENTRATIONS)))
    panels = figure.subplots(len(cases) // len(CONCENTRATIONS), len(CONCENTRATIONS), sharex=True, squeeze=False)
    for ax, ((shape, concentration), group) in zip(panels.flat, cases, strict=True):
        evidence = group.pivot_table(index="k", columns="seed", values="evidence")
        below = evidence - evidence.max()
        ax.plot(below, color=BEST, alpha=0.35, linewidth=1)
        ax.plot(below.mean(axis=1), "o-", color=INK, markersize=4)
        ax.axvline(TRUE, color=QUIET, linewidth=1, zorder=0)
        ax.set_title(f"{shape}, weights Dirichlet({concentration:g})")
        ax.xaxis.set_major_locator(whole_numbers())
    for ax in panels[-1]:
        ax.set_xlabel("components")
    for ax in panels[:, 0]:
        ax.set_ylabel("evidence, below its best")
    return {"evidence": figure, "history": _draw_history(table)}


def _draw_history(table: pd.DataFrame) -> Figure:
    from latentbits.plots.style import BEST, new_figure

    fits = table[(table["worst_step"].notna()) & (table["shape"] == PAPERS_SHAPE)]
    history = fits.loc[fits["concentration"] == min(CONCENTRATIONS), "_history"].iloc[0]
    figure = new_figure(5, 3.2)
    ax = figure.subplots()
    ax.plot(range(1, len(history) + 1), history, ".-", color=BEST, markersize=3, linewidth=1)
    ax.set(xlabel="step", ylabel="evidence", title="One fit of three components with inner loops")
    return figure


EXPERIMENT = Experiment(
    title="Toy data from the model: the evidence over steps and over the number of components",
    results=("BICA 1",),
    jobs=jobs,
    run=run,
    judge=judge,
    draw=draw,
)
