"""Sampson's monks, three components, best evidence of 50 runs: the groups, and the waverers between two (figure 18)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from experiments.runner import Claim, Experiment, count_of

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

GROUPS = ("Turks", "Loyal", "Outcasts")
WAVERERS = "Waverers"
COLOURS = {"Turks": "#d55e00", "Loyal": "#0072b2", "Outcasts": "#009e73", WAVERERS: "#262626"}
LITERAL = ("bBICA", "likes", "zero")
"""The table as the paper seems to have taken it; the other readings vary it."""

BETWEEN = 0.25
"""A waverer is between two groups if both have at least this weight, and more than the third."""


def jobs(full: bool) -> list[dict[str, Any]]:
    """Quick is full here: it takes seconds."""
    readings = [(rows, diagonal) for rows in ("likes", "liked by") for diagonal in ("zero", "missing")]
    fits = [("bBICA", *reading) for reading in readings] + [("mixture", "likes", "zero")]
    return [{"model": model, "rows": rows, "diagonal": diagonal, "seed": 0} for model, rows, diagonal in fits]


def run(model: str, rows: str, diagonal: str, seed: int) -> list[dict[str, Any]]:
    """A row for each monk, its weights named by the groups that the components stand for."""
    from experiments.bica._shared import matched
    from experiments.data import use_shared_folder
    from latentbits import BernoulliMixture, BetaICA
    from latentbits.datasets import load_monks

    use_shared_folder()
    monks = load_monks()
    make = {"bBICA": BetaICA, "mixture": BernoulliMixture}[model]
    found = make(len(GROUPS), n_init=50, tol=1e-8, max_iter=10_000, random_state=seed)
    W = found.fit(table_of(monks.data.dense(), rows, diagonal)).weights_
    member = monks.group != WAVERERS
    order = matched(W.argmax(axis=1)[member], monks.group[member], GROUPS, len(GROUPS))
    return [
        {"name": name, "group": group, **dict(zip(GROUPS, weights, strict=True))}
        for name, group, weights in zip(monks.data.row_names, monks.group, W[:, order], strict=True)
    ]


def table_of(likes: np.ndarray, rows: str, diagonal: str) -> np.ndarray:
    """A monk's row says whom he likes, or by whom he is liked; about himself 0, or nothing."""
    import numpy as np

    X = (likes if rows == "likes" else likes.T).astype(float)
    if diagonal == "missing":
        np.fill_diagonal(X, np.nan)
    return X


def judge(table: pd.DataFrame) -> list[Claim]:
    """The claims are about the literal reading; the results of the others are given beside it."""
    fits = dict(list(table.groupby(["model", "rows", "diagonal"], sort=False)))
    varied = {key: fit for key, fit in fits.items() if key[0] == "bBICA" and key != LITERAL}
    return [_groups(fits[LITERAL], varied), _waverers(fits[LITERAL], varied), _clusters(fits["mixture", *LITERAL[1:]])]


def _right(fit: pd.DataFrame) -> pd.Series:
    """Of the members of groups by name: whether their group's component is their strongest."""
    members = fit[fit["group"] != WAVERERS].set_index("name")
    return members[list(GROUPS)].idxmax(axis=1) == members["group"]


def _between(fit: pd.DataFrame) -> pd.Series:
    waverers = fit[fit["group"] == WAVERERS]
    lesser = waverers[["Turks", "Loyal"]].min(axis=1)
    return (lesser >= BETWEEN) & (lesser > waverers["Outcasts"])


def _groups(fit: pd.DataFrame, varied: dict[Any, pd.DataFrame]) -> Claim:
    right = _right(fit)
    astray = "".join(f", not {name}" for name in right.index[~right])
    return Claim(
        result="BICA 5",
        statement=f"the three groups are well separated ({_reading(LITERAL)})",
        paper="good agreement with the true groups (by eye)",
        ours=f"{count_of(right)} members have their group's component strongest{astray}; otherwise: "
        + ", ".join(f"{_reading(key)} {count_of(_right(other))}" for key, other in varied.items()),
        holds=right.sum() >= len(right) - 1,
        note="holds if at most one member is elsewhere; waverers don't count. What the rows were isn't said",
    )


def _waverers(fit: pd.DataFrame, varied: dict[Any, pd.DataFrame]) -> Claim:
    places = "; ".join(_place(monk) for _, monk in fit[fit["group"] == WAVERERS].iterrows())
    return Claim(
        result="BICA 5",
        statement=f"waverers lie between Loyal and Turks ({_reading(LITERAL)})",
        paper="2 of 3",
        ours=f"{count_of(_between(fit))}: {places}; otherwise: "
        + ", ".join(f"{_reading(key)} {count_of(_between(other))}" for key, other in varied.items()),
        holds=_between(fit).sum() >= 2,
        note=f"between: both weights at least {BETWEEN} and above that of Outcasts. A prior that prefers few groups a "
        "monk (gamma 0.3) was tried besides: 0 or 1 of 3. Many of the 50 runs find the best evidence, so it isn't a "
        "poor optimum. Which of three surveys the paper took isn't said; ours are all of them, merged",
    )


def _reading(key: tuple[str, str, str]) -> str:
    _, rows, diagonal = key
    whom = {"likes": "whom a monk likes", "liked by": "who likes a monk"}[rows]
    return f"rows: {whom}, diagonal {diagonal}"


def _place(monk: pd.Series) -> str:
    return f"{monk['name']} " + " ".join(f"{name[0]} {monk[name]:.2f}" for name in GROUPS)


def _clusters(fit: pd.DataFrame) -> Claim:
    largest = fit.loc[fit["group"] == WAVERERS, list(GROUPS)].max(axis=1)
    return Claim(
        result="BICA 5",
        statement="a clustering puts each waverer into one group: largest weight in a Bernoulli mixture above 0.9",
        paper="clustering divides the monks into disjoint groups",
        ours=", ".join(f"{weight:.2f}" for weight in largest),
        holds=(largest > 0.9).all(),
        note="the paper cites another clustering; ours is a mixture with three classes, best of 50 runs",
    )


def draw(table: pd.DataFrame) -> dict[str, Figure]:
    from latentbits.plots.style import new_figure

    fits = [(key, fit) for key, fit in table.groupby(["model", "rows", "diagonal"], sort=False) if key[0] == "bBICA"]
    figure = new_figure(9, 8)
    panels = figure.subplots(2, 2)
    for ax, (key, fit) in zip(panels.flat, fits, strict=True):
        _draw_triangle(ax, fit)
        ax.set_title(_reading(key), pad=16)
    figure.legend(*panels[0, 0].get_legend_handles_labels(), loc="outside lower center", ncols=4)
    return {"weights": figure}


def _draw_triangle(ax: Axes, fit: pd.DataFrame) -> None:
    """Weights on the triangle of the three components; colours are the known groups."""
    import numpy as np

    from latentbits.plots.style import QUIET

    corners = np.array([[0.0, 0.0], [1.0, 0.0], [0.5, np.sqrt(0.75)]])
    ax.plot(*corners[[0, 1, 2, 0]].T, color=QUIET, linewidth=1, zorder=0)
    for place, name in zip(corners, GROUPS, strict=True):
        offset = (0, 6 if place[1] else -14)
        ax.annotate(name, place, offset, textcoords="offset points", ha="center", color=COLOURS[name])
    places = fit[list(GROUPS)].to_numpy() @ corners
    for group, colour in COLOURS.items():
        chosen = (fit["group"] == group).to_numpy()
        marker = "*" if group == WAVERERS else "o"
        ax.scatter(
            *places[chosen].T, color=colour, marker=marker, s=80 if marker == "*" else 40, alpha=0.8, label=group
        )
        for place, name in zip(places[chosen], fit["name"][chosen], strict=True):
            if group == WAVERERS:
                ax.annotate(name, place, (6, 5), textcoords="offset points", fontsize=8)
    ax.set(aspect="equal", xlim=(-0.1, 1.1), ylim=(-0.1, 1.0))
    ax.axis("off")


EXPERIMENT = Experiment(
    title="Sampson's monks: three groups, and the waverers",
    results=("BICA 5",),
    jobs=jobs,
    run=run,
    judge=judge,
    draw=draw,
)
