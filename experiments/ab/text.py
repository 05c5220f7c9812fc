"""Newsgroup text: word lists of the topics, what caused a word, and words that a post omits (tables 1, 2, 3, 5)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from experiments.runner import Claim, Experiment, Reason, count_of, mean_sd, median_range

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd
    from matplotlib.figure import Figure

    from experiments.ab._shared import Posts
    from latentbits import AspectBernoulli

LISTED = 10
"""Words in a topic's list."""

SUGGESTED = 9
"""Words that a post is expanded by."""


MOST_SAMPLES = 0.9
"""Of the samples of posts, so many must show what the paper saw in its own."""


def jobs(full: bool) -> list[dict[str, Any]]:
    plain = [{"added": "", "rows": 1.0, "noise": "free", "k": 5, "seed": seed} for seed in range(10 if full else 2)]
    return plain + [
        {"added": "ones", "rows": rows, "noise": noise, "k": 6, "seed": seed}
        for noise in ("free", "anchored")
        for rows in (1.0, 0.4)
        for seed in range(5 if full else 1)
    ]


def run(added: str, rows: float, noise: str, k: int, seed: int) -> list[dict[str, Any]]:
    from experiments.ab._shared import aspects, noisy_table, paper_posts

    text = paper_posts(seed)
    X = noisy_table("text", added, seed, rows).X
    model = aspects(k, noise, 2, 15, seed).fit(X)
    about = {**expansion(model, X, text), "spread_and_doubt": doubt(model, X, text)} if not added else {}
    return [{**row, **about} for row in topics(model, X, text)]


def topics(model: AspectBernoulli, X: np.ndarray, text: Posts) -> list[dict[str, Any]]:
    """A line for each component: the newsgroup in whose posts it weighs most, and its likeliest words."""
    import numpy as np

    home = homes(text)
    lines = []
    for H, weight, kind in zip(model.components_, model.weights_.T, model.phantoms_, strict=True):
        group = max(range(len(text.names)), key=lambda g: weight[text.group == g].mean())
        top = (-H).argsort(kind="stable")[:LISTED]
        lines.append(
            {
                "kind": kind,
                "group": text.names[group],
                "total_weight": weight.sum(),
                "listed_at_home": (home[top] == group).sum(),
                "weight_and_words": np.corrcoef(weight, X.sum(axis=1))[0, 1],
                "words": " ".join(text.words[top]),
                "_probabilities": H[top].round(4),
            }
        )
    return lines


def homes(text: Posts) -> np.ndarray:
    """The newsgroup in whose posts a word is most common."""
    import numpy as np

    return np.array([text.X[text.group == g].mean(axis=0) for g in range(len(text.names))]).argmax(axis=0)


def expansion(model: AspectBernoulli, X: np.ndarray, text: Posts) -> dict[str, Any]:
    """The absent words most probably caused by the phantom, in every post: are they of the post's newsgroup?"""
    import numpy as np
    from scipy.stats import spearmanr

    H, W = model.components_, model.weights_
    phantom = H.sum(axis=1).argmin()
    blame = np.outer(W[:, phantom], 1 - H[phantom]) / np.maximum(W @ (1 - H), 1e-300)
    blame = np.where(X == 0, blame, -1.0)
    best = np.argsort(-blame, axis=1, kind="stable")[:, :SUGGESTED]
    fits = homes(text)[None, :] == text.group[:, None]
    fitting = np.take_along_axis(fits, best, axis=1)
    examples = np.random.default_rng(0).choice(len(X), size=10, replace=False)
    return {
        "suggestions_that_fit": fitting.mean(),
        "posts_with_most_fitting": (fitting.mean(axis=1) > 0.5).mean(),
        "absent_words_that_fit": fits[X == 0].mean(),
        "blame_and_length": spearmanr(blame.max(axis=1), X.sum(axis=1)).statistic,
        "_examples": [
            [text.names[text.group[i]], " ".join(text.words[X[i] == 1]), " ".join(text.words[best[i]])]
            for i in examples
        ],
    }


def doubt(model: AspectBernoulli, X: np.ndarray, text: Posts) -> float:
    """Rank correlation over words: how widely a word is spread over the newsgroups, how uncertain its cause is.

    Both as entropies: of the newsgroups of the posts that have the word, and of the posterior of its presence.
    """
    import numpy as np
    from scipy.stats import entropy, spearmanr

    used = np.flatnonzero(X.any(axis=0))
    spread = entropy(np.array([X[text.group == g][:, used].sum(axis=0) for g in range(len(text.names))]))
    unsure = []
    for j in used:
        column = X[:, j]
        joint = model.weights_[column == 1] * model.components_[:, j]
        unsure.append(entropy(joint, axis=1).mean())
    return float(spearmanr(spread, unsure).statistic)


def judge(table: pd.DataFrame) -> list[Claim]:
    from experiments.ab._shared import OTHER_POSTS, READINGS, TEXT_STANDS_IN, not_black, run_with

    about: dict[str, Any] = {"result": "AB 7", "substitute": TEXT_STANDS_IN}
    plain, noisy = table[table["added"] == ""], table[table["added"] == "ones"]
    claims = [
        _four_topics("table 1: four topics, one a newsgroup, and a white phantom", plain, {"white"}, about),
        _heaviest("table 1", plain, "152.9 of 348.1, topics 42.9 to 59.0", about),
        *_shared_words(plain, about),
        _richness(plain, about),
        _doubt(plain, about),
        _fits(plain, about),
        _short_posts(plain, about),
    ]
    for (noise, rows), group in noisy.groupby(["noise", "rows"], sort=False):
        told = {**about, **run_with(rows, noise)}
        black = {**told, "note": READINGS, **(not_black(rows) if noise == "free" else OTHER_POSTS)}
        claims += [
            _four_topics("table 5, ones added: four topics, both phantoms", group, {"white", "black"}, black),
            _heaviest("table 5, ones added", group, "111.1 of 347.9, others 33.4 to 61.2", told),
        ]
    return claims


def _runs(table: pd.DataFrame) -> list[pd.DataFrame]:
    return [run for _, run in table.groupby("seed")]


def _four_topics(statement: str, table: pd.DataFrame, phantoms: set[str], about: dict[str, Any]) -> Claim:
    """Each newsgroup has one topic, whose listed words are mostly words of that newsgroup; the rest are phantoms."""
    right = []
    for found in _runs(table):
        content = found[found["kind"] == "content"]
        apart = len(content) == 4 == content["group"].nunique()
        at_home = (content["listed_at_home"] > LISTED / 2).all()
        right.append(apart and at_home and set(found["kind"]) == {"content", *phantoms})
    content = table[table["kind"] == "content"]
    return Claim(
        **about,
        statement=f"{statement}; the ten likeliest words of a topic are mostly words of its newsgroup",
        paper="so, by eye",
        ours=f"so in {count_of(right)} runs; {mean_sd(content['listed_at_home'], 1)} of {LISTED} listed words are "
        "commonest in the newsgroup where the topic weighs most",
        holds=sum(right) >= MOST_SAMPLES * len(right),
    )


def _heaviest(statement: str, table: pd.DataFrame, paper: str, about: dict[str, Any]) -> Claim:
    runs = _runs(table)
    first = [found.loc[found["total_weight"].idxmax(), "kind"] == "white" for found in runs]
    white = [found.loc[found["kind"] == "white", "total_weight"].sum() for found in runs]
    rest = table.loc[table["kind"] != "white", "total_weight"]
    found = f"{mean_sd(white, 1)} of {runs[0]['total_weight'].sum():.0f}" if any(white) else "no white phantom"
    return Claim(
        **about,
        statement=f"{statement}: the white phantom weighs more than any other component",
        paper=paper,
        ours=f"{found}, others {rest.min():.1f} to {rest.max():.1f}; the heaviest in {count_of(first)} runs",
        holds=sum(first) >= MOST_SAMPLES * len(first),
    )


def _shared_words(plain: pd.DataFrame, about: dict[str, Any]) -> list[Claim]:
    """Two words for one thing in one topic, and one word in two topics, among the words that are listed."""
    content = plain[plain["kind"] == "content"]
    listed = [[set(words.split()) for words in run["words"]] for run in _runs(content)]
    synonyms = [any({"medic", "doctor"} <= words for words in topics) for topics in listed]
    twice = [sum("system" in words for words in topics) >= 2 for topics in listed]
    told = (
        ("medic and doctor are both likely in one topic", "in the medical topic", synonyms),
        ("system is likely in two topics", "cryptographic and space-related", twice),
    )
    return [
        Claim(
            **about,
            statement=f"table 1: {words}",
            paper=printed,
            ours=f"among the {LISTED} likeliest words in {count_of(found)} samples",
            holds=sum(found) > len(found) / 2,
            reason=Reason.DATA,
            why="which words are listed depends on the sample of posts",
        )
        for words, printed, found in told
    ]


def _richness(plain: pd.DataFrame, about: dict[str, Any]) -> Claim:
    white = plain.loc[plain["kind"] == "white", "weight_and_words"]
    content = plain.loc[plain["kind"] == "content", "weight_and_words"]
    right = [
        (found["kind"] == "white").any() and ((found["weight_and_words"] < 0) == (found["kind"] == "white")).all()
        for found in _runs(plain)
    ]
    return Claim(
        **about,
        statement="figure 7: with the words in a post the phantom's weight falls, and that of each topic rises",
        paper="negative and positive correlation",
        ours=f"so in {count_of(right)} samples; correlation: phantom "
        f"{median_range(white) if len(white) else 'not found'}, topics {median_range(content)}",
        holds=sum(right) >= MOST_SAMPLES * len(right),
        reason=Reason.DATA,
    )


def _doubt(plain: pd.DataFrame, about: dict[str, Any]) -> Claim:
    found = plain.groupby("seed")["spread_and_doubt"].first()
    return Claim(
        **about,
        statement="table 2: the cause of a word is the less sure, the more newsgroups use the word",
        paper="common words have several causes, others one (examples)",
        ours=f"rank correlation over words of spread over newsgroups and uncertainty {mean_sd(found)}",
        holds=(found > 0).all(),
    )


def _fits(plain: pd.DataFrame, about: dict[str, Any]) -> Claim:
    runs = plain.groupby("seed")[["suggestions_that_fit", "posts_with_most_fitting", "absent_words_that_fit"]].first()
    fit, posts, chance = (runs[name] for name in runs)
    return Claim(
        **about,
        statement=f"table 3: the {SUGGESTED} absent words that the blankest component hides most fit the post",
        paper="fit nicely (ten posts)",
        ours=f"over all posts {mean_sd(fit)} of the words belong to the post's newsgroup, {mean_sd(chance)} of all "
        f"absent ones do; most fit in {mean_sd(posts)} of the posts",
        holds=(fit > 0.5).all() and (fit > 2 * chance).all(),
        note="a word belongs to the newsgroup where it is commonest; holds if more than half of the words do, and over "
        "twice the share among absent words",
    )


def _short_posts(plain: pd.DataFrame, about: dict[str, Any]) -> Claim:
    found = plain.groupby("seed")["blame_and_length"].first()
    return Claim(
        **about,
        statement="table 3: the blankest component's best suggestion is surer in short posts than in long ones",
        paper="0.97 in a post of 2 words, 0.05 in one of 15",
        ours=f"rank correlation of its posterior and the number of words {mean_sd(found)}",
        holds=(found < 0).all(),
    )


def draw(table: pd.DataFrame) -> dict[str, Figure]:
    first = table[table["seed"] == 0]
    return {
        "topics": _draw_topics(first[first["added"] == ""]),
        **{
            f"topics_ones_{noise}_{rows:g}": _draw_topics(part)
            for (noise, rows), part in first[first["added"] == "ones"].groupby(["noise", "rows"])
        },
        "expansion": _draw_expansion(first[first["added"] == ""].iloc[0]["_examples"]),
    }


def _draw_topics(found: pd.DataFrame) -> Figure:
    from latentbits.plots.style import KINDS, new_figure

    figure = new_figure(2.1 * len(found), 3.4)
    for axes, (_, row) in zip(figure.subplots(1, len(found), sharex=True), found.iterrows(), strict=True):
        style = KINDS[row["kind"]]
        axes.barh(range(LISTED), row["_probabilities"], color=style.mark)
        axes.set_yticks(range(LISTED), row["words"].split())
        axes.invert_yaxis()
        axes.set(xlim=(0, 1), xticks=[0, 0.5, 1])
        name = style.words or row["group"].rpartition(".")[2]
        axes.set_title(f"{name}\nweight {row['total_weight']:.0f}", color=style.text)
    figure.supxlabel("probability of the word")
    return figure


def _draw_expansion(examples: list[list[str]]) -> Figure:
    from textwrap import fill

    from latentbits.plots.style import KINDS, new_figure

    figure = new_figure(10, 5.8)
    axes = figure.subplots()
    axes.set(xlim=(0, 1), ylim=(len(examples), -0.6))
    axes.axis("off")
    for x, title in (
        (0, "newsgroup"),
        (0.14, "words of the post"),
        (0.58, "words that the blankest component hides most"),
    ):
        axes.text(x, -0.4, title, fontweight="bold", va="top")
    for line, (group, present, hidden) in enumerate(examples):
        axes.axhline(line - 0.05, color="#e0e0e0", lw=0.8)
        axes.text(0, line, group.rpartition(".")[2], va="top", fontsize=8.5)
        axes.text(0.14, line, fill(present, 62, max_lines=3, placeholder=" …"), va="top", fontsize=8.5)
        axes.text(0.58, line, fill(hidden, 58), va="top", fontsize=8.5, color=KINDS["white"].text)
    return figure


EXPERIMENT = Experiment(
    title="Newsgroup text: topics, causes of words, and expansion of posts",
    results=("AB 7",),
    jobs=jobs,
    run=run,
    judge=judge,
    draw=draw,
)
