"""Sampson's monks, three components, best evidence of 50 restarts: groups, and waverers between two (figure 18)."""

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
SELF = ("zero", "missing")
"""What the table says of a monk and himself: the paper says nothing of it, so the claims are about the first."""


def jobs(full: bool) -> list[dict[str, Any]]:
    """Quick is full here: it takes seconds."""
    fits = [("bBICA", "likes", diagonal) for diagonal in SELF] + [("mixture", "likes", "zero")]
    return [{"model": model, "rows": rows, "diagonal": diagonal, "seed": 0} for model, rows, diagonal in fits]


def run(model: str, rows: str, diagonal: str, seed: int) -> list[dict[str, Any]]:
    """A row for each monk, its weights named by the groups that the components stand for."""
    from functools import partial

    from experiments.bica._shared import matched
    from experiments.data import use_shared_folder
    from latentbits import BernoulliMixture, BetaICA
    from latentbits.datasets import load_monks

    use_shared_folder()
    monks = load_monks()
    make = {"bBICA": partial(BetaICA, gamma=1.0), "mixture": BernoulliMixture}[model]
    found = make(len(GROUPS), n_init=50, tol=1e-8, max_iter=10_000, random_state=seed)
    W = found.fit(table_of(monks.data.dense(), rows, diagonal)).weights_
    member = monks.group != WAVERERS
    order = matched(W.argmax(axis=1)[member], monks.group[member], GROUPS, len(GROUPS))
    return [
        {"name": name, "group": group, **dict(zip(GROUPS, weights, strict=True))}
        for name, group, weights in zip(monks.data.row_names, monks.group, W[:, order], strict=True)
    ]


def table_of(likes: np.ndarray, rows: str, diagonal: str) -> np.ndarray:
    """A monk's row says whom he likes, or by whom he is liked; about himself 0 or nothing."""
    import numpy as np

    X = (likes if rows == "likes" else likes.T).astype(float)
    np.fill_diagonal(X, {"zero": 0.0, "missing": np.nan}[diagonal])
    return X


def judge(table: pd.DataFrame) -> list[Claim]:
    fits = dict(list(table.groupby(["model", "diagonal"], sort=False)))
    zero, missing = (fits["bBICA", diagonal] for diagonal in SELF)
    return [_groups(zero, missing), _waverers(zero, missing), _clusters(fits["mixture", "zero"])]


def _right(fit: pd.DataFrame) -> pd.Series:
    """Of the members of groups by name: whether their group's component is their strongest."""
    members = fit[fit["group"] != WAVERERS].set_index("name")
    return members[list(GROUPS)].idxmax(axis=1) == members["group"]


def _between(fit: pd.DataFrame) -> pd.Series:
    """Of the waverers: whether they lie beyond all Loyal on the way to the Turks, and before all Turks."""
    way = fit["Turks"] - fit["Loyal"]
    last, first = way[fit["group"] == "Loyal"].max(), way[fit["group"] == "Turks"].min()
    return way[fit["group"] == WAVERERS].between(last, first, inclusive="neither")


def _groups(fit: pd.DataFrame, missing: pd.DataFrame) -> Claim:
    right = _right(fit)
    astray = "".join(f", not {name}" for name in right.index[~right])
    return Claim(
        result="BICA 5",
        statement="the three groups are well separated",
        paper="good agreement with the true groups (by eye)",
        ours=f"{count_of(right)} members have their group's component strongest{astray}; with the diagonal missing "
        f"{count_of(_right(missing))}",
        holds=right.sum() >= len(right) - 1,
        note="holds if at most one member is elsewhere; waverers don't count",
    )


def _waverers(fit: pd.DataFrame, missing: pd.DataFrame) -> Claim:
    places = "; ".join(_place(monk) for _, monk in fit[fit["group"] == WAVERERS].iterrows())
    return Claim(
        result="BICA 5",
        statement="waverers lie between Loyal and Turks",
        paper="2 of 3",
        ours=f"{count_of(_between(fit))}: {places}; with the diagonal missing {count_of(_between(missing))}",
        holds=_between(fit).sum() >= 2,
        note="between: the weight of the Turks less that of the Loyal is above every Loyal's and below every Turk's, "
        "as "
        "the paper's figure is read. Which of three surveys the paper took isn't said; ours are all of them, merged",
    )


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

    fits = {key[1]: fit for key, fit in table.groupby(["model", "diagonal"], sort=False) if key[0] == "bBICA"}
    figure = new_figure(9, 4.6)
    panels = figure.subplots(1, len(fits))
    for ax, (diagonal, fit) in zip(panels, fits.items(), strict=True):
        _draw_triangle(ax, fit)
        ax.set_title(f"the diagonal {diagonal}", pad=16)
    figure.legend(*panels[0].get_legend_handles_labels(), loc="outside lower center", ncols=4)
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
