"""A chat as a graph of who follows whom: communities, and near-white components (figures 19 and 20).

Two graphs are made of the sequence of speakers: of those who speak one after the other, and of answers whose delay a
mixture transition model infers.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from experiments.runner import Claim, Experiment, Reason, mean_sd, median_range

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd
    from matplotlib.figure import Figure

    from latentbits.sequences import SequenceGraph

MESSAGES, SPEAKERS, MAX_LAG = 25_355, 844, 8
"""The size of the paper's chat, and its largest delay."""

COMPONENTS = 20
NEAR_WHITE = 0.1
"""A component is near white if no link has a larger probability in it."""

DARKEST = 0.3
"""Weights and probabilities from here on are black in the figure."""

GRAPHS = {"first order": "speakers in succession", "lags": "answers by inferred lags"}
STANDS_IN = (
    f"first {MESSAGES:,} messages of the Ubuntu help channel, those of the {SPEAKERS} who speak most in them; the "
    f"paper's chat room ({MESSAGES:,} messages of {SPEAKERS} people) is not public"
)
ABOUT: dict[str, Any] = {
    "result": "BICA 6",
    "substitute": STANDS_IN,
    "reason": Reason.DATA,
    "evidence": "python -m experiments run bica/chat --full",
}


def jobs(full: bool) -> list[dict[str, Any]]:
    return [{"graph": graph, "seed": seed} for seed in range(5 if full else 1) for graph in GRAPHS]


def run(graph: str, seed: int) -> list[dict[str, Any]]:
    import numpy as np

    from latentbits import BetaICA

    links = graph_of(graph, seed)
    model = BetaICA(COMPONENTS, gamma=1.0, n_init=1, max_iter=500, random_state=seed).fit(links.adjacency)
    # From the fullest component to the emptiest, as in the paper.
    order = np.argsort(-model.components_.sum(axis=1))
    H, W = model.components_[order], model.weights_[:, order]
    white = H.max(axis=1) < NEAR_WHITE
    row = {
        "links": links.adjacency.n_ones,
        "alive": model.n_components_,
        "near_white": white.sum(),
        "dominated": white[W.argmax(axis=1)].mean(),
        "least_white_weight": W[:, white].sum(axis=1).min() if white.any() else 0.0,
    }
    return [row | (pictures(links, H, W) if seed == 0 else {})]


def graph_of(name: str, seed: int) -> SequenceGraph:
    """The links between the speakers, each day a sequence of its own."""
    import numpy as np

    from experiments.data import use_shared_folder
    from latentbits import sequences
    from latentbits.datasets import load_chat

    use_shared_folder()
    chat = load_chat()
    speaker, day = chat.speaker[:MESSAGES], chat.day[:MESSAGES]
    names, count = np.unique(speaker, return_counts=True)
    kept = np.isin(speaker, names[np.argsort(-count, kind="stable")[:SPEAKERS]])
    if name == "first order":
        return sequences.first_order_graph(speaker[kept], groups=day[kept])
    return sequences.mixture_transition(speaker[kept], MAX_LAG, groups=day[kept], random_state=seed)


def pictures(links: SequenceGraph, H: np.ndarray, W: np.ndarray) -> dict[str, Any]:
    """The links and both factors with the nodes sorted by their strongest component."""
    import numpy as np

    node = np.lexsort((-W.max(axis=1), W.argmax(axis=1)))
    rows, columns = np.nonzero(links.adjacency.dense()[np.ix_(node, node)] == 1)
    return {"_links": [rows, columns], "_weights": W[node].round(3), "_components": H[:, node].round(3)}


def judge(table: pd.DataFrame) -> list[Claim]:
    first, lags = (table[table["graph"] == graph].reset_index(drop=True) for graph in GRAPHS)
    return [
        _near_white(first, lags),
        _everybody_has_some(lags),
        _half_dominated(first),
        _less_noise(first, lags),
        _components_needed(first, lags),
    ]


def _near_white(first: pd.DataFrame, lags: pd.DataFrame) -> Claim:
    fewest = min(first["near_white"].min(), lags["near_white"].min())
    return Claim(
        **ABOUT,
        statement=f"several components are almost entirely white (largest probability below {NEAR_WHITE})",
        paper="4 of 15 (answers by lags); a number of them (succession)",
        ours=f"{median_range(lags['near_white'], 0)} of {COMPONENTS} and {median_range(first['near_white'], 0)} of "
        f"{COMPONENTS} (runs of each: {len(first)})",
        holds=fewest >= 2,
        note="holds if at least two in every run",
    )


def _everybody_has_some(lags: pd.DataFrame) -> Claim:
    return Claim(
        **ABOUT,
        statement="every node has some weight on the near-white components (answers by lags)",
        paper="all nodes have",
        ours=f"least weight of a node {median_range(lags['least_white_weight'], 3)}",
        holds=(lags["least_white_weight"] > 0.01).all(),
        note="holds if above 0.01; a Dirichlet(1) prior never lets a weight be 0",
    )


def _half_dominated(first: pd.DataFrame) -> Claim:
    share = first["dominated"]
    return Claim(
        **ABOUT,
        statement="succession: about half of the nodes have a near-white component as their strongest",
        paper="about half",
        ours=mean_sd(share),
        holds=0.4 <= share.mean() <= 0.6,
        why="the chat is another one: its people are those who speak most, which leaves out those with few links",
        note="holds from 0.4 to 0.6. The chat is another one: here the 844 are those who speak most, which leaves out "
        "people with one or two messages and hence few links. Near-white components also share a node's weight among "
        "them, so that one with a clear group wins more easily",
    )


def _less_noise(first: pd.DataFrame, lags: pd.DataFrame) -> Claim:
    return Claim(
        **ABOUT,
        statement="there is less noise with inferred lags: fewer nodes are dominated by near-white components",
        paper="about 155 of 844 (0.18) against about half",
        ours=f"{mean_sd(lags['dominated'])} against {mean_sd(first['dominated'])}",
        holds=lags["dominated"].max() < first["dominated"].min(),
        note="holds if so for every run of both",
    )


def _components_needed(first: pd.DataFrame, lags: pd.DataFrame) -> Claim:
    return Claim(
        **ABOUT,
        statement="surplus components die, and fewer are left with inferred lags than in succession",
        paper="15 against 18 are left",
        ours=f"of {COMPONENTS} alive: {median_range(lags['alive'], 0)} against {median_range(first['alive'], 0)}; not "
        f"near white {median_range(COMPONENTS - lags['near_white'], 0)} against "
        f"{median_range(COMPONENTS - first['near_white'], 0)}",
        holds=(lags["alive"] < first["alive"]).all(),
        why="surplus components become equal near-white ones, among which a uniform prior divides the absences",
        note="the paper doesn't say how many it began with. Ours don't die: surplus components become equal near-white "
        "ones, among which a uniform prior on the weights divides the absences",
    )


def draw(table: pd.DataFrame) -> dict[str, Figure]:
    from latentbits.plots.style import BEST, new_figure

    pictured = table[table["seed"] == 0].set_index("graph")
    figure = new_figure(10, 5.2)
    for ax, (graph, words) in zip(figure.subplots(1, 2), GRAPHS.items(), strict=True):
        rows, columns = pictured.loc[graph, "_links"]
        ax.plot(columns, rows, ".", color=BEST, markersize=1.2, markeredgewidth=0)
        _mark_groups(ax, pictured.loc[graph, "_weights"])
        ax.set(xlim=(0, SPEAKERS), ylim=(SPEAKERS, 0), aspect="equal", title=words, xlabel="to", ylabel="from")
    return {"reordered": figure, "factors": _draw_factors(pictured.loc["lags"])}


def _mark_groups(ax: Any, weights: list[list[float]]) -> None:
    """Thin lines between groups of ten nodes or more that share their strongest component."""
    import numpy as np

    from latentbits.plots.style import QUIET

    sizes = np.bincount(np.array(weights).argmax(axis=1))
    for place in np.cumsum(sizes)[sizes >= 10]:
        ax.axhline(place, color=QUIET, linewidth=0.4)
        ax.axvline(place, color=QUIET, linewidth=0.4)


def _draw_factors(row: pd.Series) -> Figure:
    import numpy as np

    from latentbits.plots.style import new_figure, whole_numbers

    figure = new_figure(10, 5)
    panels = figure.subplots(2, 1, sharex=True)
    pictures = {"weights of the nodes": np.array(row["_weights"]).T, "probabilities of a link": row["_components"]}
    for ax, (title, values) in zip(panels, pictures.items(), strict=True):
        picture = ax.imshow(values, cmap="Greys", vmin=0, vmax=DARKEST, aspect="auto", interpolation="nearest")
        figure.colorbar(picture, ax=ax, extend="max").outline.set_visible(False)
        ax.set(title=f"{title} (answers by inferred lags)", ylabel="component")
        ax.yaxis.set_major_locator(whole_numbers())
    panels[-1].set_xlabel("node, by strongest component")
    return figure


EXPERIMENT = Experiment(
    title="Chat network: communities and near-white components in two graphs",
    results=("BICA 6",),
    jobs=jobs,
    run=run,
    judge=judge,
    draw=draw,
)
