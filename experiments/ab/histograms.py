"""Who caused true ones, added ones and zeros: posteriors of the components of AB, mixture and PLSA (eq. 29-31)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from experiments.runner import Claim, Experiment, count_of, mean_sd

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd
    from matplotlib.figure import Figure

AB, MIXTURE, PLSA = "AB", "mixture", "PLSA"
COMPONENTS = {"fossils": 5, "text": 6}
"""Of AB and PLSA; mixtures get as many as have about as many parameters (19 on fossils in the paper)."""

CELLS = ("true ones", "added ones", "zeros")
SMALL = 0.1
"""A share that is called small; the paper shows bars, not numbers."""


def jobs(full: bool) -> list[dict[str, Any]]:
    return [
        {"data": data, "most": most, "model": model, "k": k, "seed": seed}
        for data, k in COMPONENTS.items()
        for most in (0.4, 0.157)
        for model in (AB, MIXTURE, PLSA)
        for seed in range(5 if full else 2)
    ]


def run(data: str, most: float, model: str, k: int, seed: int) -> list[dict[str, Any]]:
    from experiments.ab._shared import noisy_table
    from latentbits import PLSA as Aspects
    from latentbits import AspectBernoulli, BernoulliMixture

    noisy = noisy_table(data, "ones", seed, most)
    X, added = noisy.X, noisy.changed
    cells = dict(zip(CELLS, ((X == 1) & ~added, added, X == 0), strict=True))
    if model == AB:
        fitted = AspectBernoulli(k, n_init=10, random_state=seed).fit(X)
        kinds = fitted.phantoms_
    elif model == MIXTURE:
        fitted = BernoulliMixture(equal_parameters(*X.shape, k), n_init=10, smoothing=0, random_state=seed).fit(X)
        kinds = ["content"] * len(fitted.components_)
    else:
        fitted = Aspects(k, n_init=10, random_state=seed).fit(X)
        kinds = ["content"] * k
    shares = {f"p_{name.replace(' ', '_')}": _shares(fitted, model, name, part) for name, part in cells.items()}
    return [
        {"component": i, "kind": kind, **{name: values[i] for name, values in shares.items()}}
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
        sums = cause_sums(fitted.weights_, 1 - H if model == AB and name == "zeros" else H, cells)
    return sums / sums.sum()


def judge(table: pd.DataFrame) -> list[Claim]:
    return [
        claim
        for (data, most), group in table.groupby(["data", "most"], sort=False)
        for claim in _judge_data(data, most, group)
    ]


def _judge_data(data: str, most: float, table: pd.DataFrame) -> list[Claim]:
    from experiments.ab._shared import TEXT_STANDS_IN, TEXT_TRIED, TWO_READINGS, titled

    about: dict[str, Any] = {"result": "AB 6", "substitute": TEXT_STANDS_IN if data == "text" else ""}
    ab = table[table["model"] == AB]
    tried = f"; {TWO_READINGS}" + (f". {TEXT_TRIED}" if data == "text" else "")
    name = titled(data, "ones", most)
    return [
        _takes(name, ab, "white", "zeros", ("true_ones", "added_ones"), about, tried),
        _takes(name, ab, "black", "added_ones", ("zeros",), about, tried),
        _separates(name, table, about, tried),
    ]


def _takes(
    name: str, ab: pd.DataFrame, kind: str, most: str, least: tuple[str, ...], about: dict[str, Any], tried: str
) -> Claim:
    """The phantom has the largest share of one sort of cells, and a small one of the others, in every run."""
    phantom = ab[ab["kind"] == kind].groupby("seed")[[f"p_{cells}" for cells in (most, *least)]].sum()
    largest = ab[ab["kind"] != kind].groupby("seed")[f"p_{most}"].max().reindex(phantom.index)
    right = (phantom[f"p_{most}"] > largest) & (phantom[[f"p_{cells}" for cells in least]] < SMALL).all(axis=1)
    n_runs = ab["seed"].nunique()
    shares = "; ".join(f"{mean_sd(phantom[f'p_{n}'])} of {n.replace('_', ' ')}" for n in (most, *least) if len(phantom))
    return Claim(
        **about,
        statement=f"{name}: the {kind} phantom takes the {most.replace('_', ' ')} and few "
        + " or ".join(cells.replace("_", " ") for cells in least),
        paper="the largest share of the former, a very small one of the latter",
        ours=f"{shares or 'no such phantom'}; so in {right.sum()} of {n_runs} runs",
        holds=right.sum() == n_runs,
        note=f"small: below {SMALL}; a run without such a phantom counts as different{tried}",
    )


def _separates(name: str, table: pd.DataFrame, about: dict[str, Any], tried: str) -> Claim:
    """How far p(k | true ones) and p(k | added ones) are apart: half the sum of absolute differences."""
    apart = (table["p_true_ones"] - table["p_added_ones"]).abs() / 2
    by_model = apart.groupby([table["seed"], table["model"]]).sum().unstack()
    wins = (by_model[AB] > by_model[MIXTURE]) & (by_model[AB] > by_model[PLSA])
    return Claim(
        **about,
        statement=f"{name}: AB tells added ones from true ones, mixture and PLSA don't",
        paper="by the black phantom; no component of the others differentiates",
        ours="distance of their histograms (0 alike, 1 disjoint): "
        + ", ".join(f"{model} {mean_sd(by_model[model])}" for model in (AB, MIXTURE, PLSA))
        + f"; AB the largest in {count_of(wins)} runs",
        holds=(by_model[AB] > 2 * by_model[[MIXTURE, PLSA]].max(axis=1)).all(),
        note=f"holds if AB's distance is over twice that of both others in each run{tried}",
    )


def draw(table: pd.DataFrame) -> dict[str, Figure]:
    first = table[table["seed"] == 0].groupby(["data", "most"], sort=False)
    return {f"{data}_{most:g}": _draw_data(group) for (data, most), group in first}


def _draw_data(table: pd.DataFrame) -> Figure:
    from latentbits.plots.style import KINDS, new_figure

    figure = new_figure(9, 5.4)
    panels = figure.subplots(3, 3, sharey=True)
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
