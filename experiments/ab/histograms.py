"""What caused true ones, added ones and zeros: posteriors of the components of AB, mixture and PLSA (eq. 29-31)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from experiments.runner import Claim, Experiment, Reason, mean_sd

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd
    from matplotlib.figure import Figure

AB, ANCHORED, MIXTURE, PLSA = "AB", "AB, anchored noise", "mixture", "PLSA"
COMPONENTS = {"fossils": 5, "text": 6}
"""Of AB and PLSA; mixtures get as many as have about as many parameters (19 on fossils in the paper)."""

CELLS = ("true ones", "added ones", "zeros")
SMALL = 0.1
"""A share that is called small; the paper shows bars, not numbers."""


SETS = 20
"""Of ten starts each: mixtures of fossils with ones in a part of the rows, which end in many optima."""

NEAR = 6.0
"""Nats below the best set, within which another one counts as much."""


def jobs(full: bool) -> list[dict[str, Any]]:
    return [
        {"data": data, "rows": rows, "model": model, "k": k, "starts": starts, "seed": seed}
        for data, k in COMPONENTS.items()
        for rows in (1.0, 0.4)
        for model in (AB, ANCHORED, MIXTURE, PLSA)
        for starts in range(SETS if full and (data, rows, model) == ("fossils", 0.4, MIXTURE) else 1)
        for seed in range(5 if full else 1)
    ]


def run(data: str, rows: float, model: str, k: int, starts: int, seed: int) -> list[dict[str, Any]]:
    from experiments.ab._shared import aspects, noisy_table
    from latentbits import PLSA as Aspects
    from latentbits import BernoulliMixture

    noisy = noisy_table(data, "ones", seed, rows)
    X, added = noisy.X, noisy.changed
    cells = dict(zip(CELLS, ((X == 1) & ~added, added, X == 0), strict=True))
    if model in (AB, ANCHORED):
        fitted = aspects(k, "free" if model == AB else "anchored", 2, 10, seed).fit(X)
        kinds = fitted.phantoms_
    elif model == MIXTURE:
        n = equal_parameters(*X.shape, k)
        fitted = BernoulliMixture(n, n_init=10, smoothing=0, random_state=seed + 100 * starts).fit(X)
        kinds = ["content"] * len(fitted.components_)
    else:
        fitted = Aspects(k, n_init=10, random_state=seed).fit(X)
        kinds = ["content"] * k
    shares = {f"p_{name.replace(' ', '_')}": _shares(fitted, model, name, part) for name, part in cells.items()}
    return [
        {
            "component": i,
            "kind": kind,
            "objective": fitted.objective_,
            **{name: values[i] for name, values in shares.items()},
        }
        for i, kind in enumerate(kinds)
    ]


def equal_parameters(n_rows: int, n_columns: int, k: int) -> int:
    """The number of mixture components with about as many parameters as k components of AB.

    Examples
    --------
    >>> equal_parameters(501, 139, 5)
    19
    """
    return round((n_columns * k + (k - 1) * n_rows + 1) / (n_columns + 1))


def _shares(fitted: Any, model: str, name: str, cells: np.ndarray) -> np.ndarray:
    """p(k | cells), which sums to 1. A mixture has one cause per row; PLSA treats zeros as if they were ones."""
    from experiments.ab._shared import cause_sums

    if model == MIXTURE:
        sums = cells.sum(axis=1) @ fitted.weights_
    else:
        H = fitted.components_
        sums = cause_sums(fitted.weights_, 1 - H if model != PLSA and name == "zeros" else H, cells)
    return sums / sums.sum()


def judge(table: pd.DataFrame) -> list[Claim]:
    return [
        claim
        for (data, rows), group in table.groupby(["data", "rows"], sort=False)
        for model in (AB, ANCHORED)
        for claim in _judge_model(data, rows, model, group[group["model"].isin([model, MIXTURE, PLSA])])
    ]


def _judge_model(data: str, rows: float, model: str, table: pd.DataFrame) -> list[Claim]:
    from experiments.ab._shared import OTHER_POSTS, READINGS, TEXT_STANDS_IN, run_with

    free = model == AB
    about: dict[str, Any] = {
        "result": "AB 6",
        "substitute": TEXT_STANDS_IN if data == "text" else "",
        **run_with(rows, "free" if free else "anchored"),
    }
    ours = table[table["model"] == model]
    needs_black = {**about, **(_not_black(ours, rows) if free else OTHER_POSTS if data == "text" else {})}
    # With noise in some rows a component does tell the added ones, black or not: there, only the rivals are left.
    separate = needs_black if rows == 1 or not free else about
    anchored = "" if free else ". Anchored noise is {} by construction; whether it is kept, and its shares, are found"
    return [
        _takes(data, ours, "white", "zeros", ("true_ones", "added_ones"), about, anchored.format("white")),
        _takes(data, ours, "black", "added_ones", ("zeros",), needs_black, f"{anchored.format('black')}. {READINGS}"),
        _separates(data, table, model, separate),
    ]


def _not_black(free: pd.DataFrame, rows: float) -> dict[str, Any]:
    """Why free components have no black phantom, with the shares of the one with content that has most added ones."""
    from experiments.ab._shared import ALL, not_black

    content = free[free["kind"] == "content"]
    most = content.loc[content.groupby("seed")["p_added_ones"].idxmax()]
    added, zeros = mean_sd(most["p_added_ones"]), mean_sd(most["p_zeros"])
    reason = not_black(rows)
    if rows == ALL:
        told = f"none takes more than {most['p_added_ones'].max():.2f} of the added ones"
        return {**reason, "why": f"the noise spreads over the components with content: {told}", "evidence": ""}
    told = (
        f"a component with content has {added} of the added ones and {zeros} of the zeros, but isn't black by our rule"
    )
    return {**reason, "why": f"{told}: {reason['why']}"}


def _gain(table: pd.DataFrame) -> pd.Series:
    """By how much a component's share of the added ones exceeds its share of true ones and of zeros."""
    return table["p_added_ones"] - table[["p_true_ones", "p_zeros"]].max(axis=1)


def _least_and_most(table: pd.DataFrame) -> pd.DataFrame:
    """What mixtures reach in each run from sets of starts that end as high."""
    sets = table[table["model"] == MIXTURE].assign(gain=_gain(table))
    ends = sets.groupby(["seed", "starts"]).agg(gain=("gain", "max"), objective=("objective", "first"))
    near = ends[ends["objective"] >= ends.groupby("seed")["objective"].transform("max") - NEAR]["gain"]
    return near.groupby("seed").agg(["min", "max"])


def _takes(
    data: str, ab: pd.DataFrame, kind: str, most: str, least: tuple[str, ...], about: dict[str, Any], note: str = ""
) -> Claim:
    """The phantom has the largest share of one sort of cells, and a small one of the others, in every run."""
    phantom = ab[ab["kind"] == kind].groupby("seed")[[f"p_{cells}" for cells in (most, *least)]].sum()
    largest = ab[ab["kind"] != kind].groupby("seed")[f"p_{most}"].max().reindex(phantom.index)
    right = (phantom[f"p_{most}"] > largest) & (phantom[[f"p_{cells}" for cells in least]] < SMALL).all(axis=1)
    n_runs = ab["seed"].nunique()
    shares = "; ".join(f"{mean_sd(phantom[f'p_{n}'])} of {n.replace('_', ' ')}" for n in (most, *least) if len(phantom))
    return Claim(
        **about,
        statement=f"{data}, ones added: the {kind} phantom takes the {most.replace('_', ' ')} and few "
        + " or ".join(cells.replace("_", " ") for cells in least),
        paper="large for the former, very small for the latter; judged: the largest",
        ours=f"{shares or 'no such phantom'}; so in {right.sum()} of {n_runs} runs",
        holds=right.sum() == n_runs,
        note=f"small: below {SMALL}; a run without such a phantom counts as different{note}",
    )


def _separates(data: str, table: pd.DataFrame, model: str, about: dict[str, Any]) -> Claim:
    """By how much a component's share of the added ones exceeds its share of true ones and of zeros, at most."""
    spread = _least_and_most(table) if table["starts"].nunique() > 1 else None
    table = table[table["starts"] == 0]
    beyond = _gain(table)
    by_model = beyond.groupby([table["seed"], table["model"]]).max().unstack()
    words = ""
    if spread is not None:
        widest = spread.loc[(spread["max"] - spread["min"]).idxmax()]
        words = (
            f"; mixtures that end within {NEAR:g} nats of each other reach {widest['min']:.2f} and {widest['max']:.2f}"
        )
        at_least = by_model[[PLSA]].assign(mixture=spread["min"]).max(axis=1)
        if "reason" not in about and (by_model[model] > 2 * at_least).all():  # so from other starts that end as high
            about = {**about, "reason": Reason.OPTIMUM, "why": "mixtures that end as high separate very differently"}
    if "reason" not in about:
        best = (by_model[[MIXTURE, PLSA]].max(axis=1) / by_model[model]).max()
        about = {**about, "why": f"the mixture or PLSA reaches up to {best:.2f} of AB's difference"}
    return Claim(
        **about,
        statement=f"{data}, ones added: a component of AB tells added ones from true ones and zeros; none of the "
        "mixture "
        "or PLSA does",
        paper="the black phantom; no component of the others differentiates",
        ours="share of added ones above that of true ones and zeros, in the component where it is largest: "
        + ", ".join(f"{name} {mean_sd(by_model[name])}" for name in (model, MIXTURE, PLSA)),
        holds=(by_model[model] > 2 * by_model[[MIXTURE, PLSA]].max(axis=1)).all(),
        note="holds if AB's is over twice that of both others in each run" + words,
    )


def draw(table: pd.DataFrame) -> dict[str, Figure]:
    first = table[(table["seed"] == 0) & (table["starts"] == 0)].groupby(["data", "rows"], sort=False)
    return {f"{data}_{rows:g}": _draw_data(group) for (data, rows), group in first}


def _draw_data(table: pd.DataFrame) -> Figure:
    from latentbits.plots.style import KINDS, new_figure

    figure = new_figure(9, 7)
    panels = figure.subplots(4, 3, sharey=True)
    for line, (model, group) in zip(panels, table.groupby("model", sort=False), strict=True):
        for axes, name in zip(line, CELLS, strict=True):
            colours = [KINDS[kind].mark for kind in group["kind"]]
            axes.bar(group["component"], group[f"p_{name.replace(' ', '_')}"], color=colours)
            axes.set_xticks(range(0, len(group), 1 + len(group) // 8))
            axes.set(ylim=(0, 1), yticks=[0, 0.5, 1])
        line[0].set_ylabel(f"{model}\nshare")
    for axes, name in zip(panels[0], CELLS, strict=True):
        axes.set_title(name)
    panels[-1][1].set_xlabel("component")
    found = [kind for kind in ("white", "black") if kind in set(table["kind"])]
    marks = [panels[0][0].bar([0], [0], color=KINDS[kind].mark) for kind in found]
    figure.legend(marks, [KINDS[kind].words for kind in found], loc="outside upper right", ncols=2)
    return figure


EXPERIMENT = Experiment(
    title="Posterior histograms: who caused true ones, added ones and zeros",
    results=("AB 6",),
    jobs=jobs,
    run=run,
    judge=judge,
    draw=draw,
)
