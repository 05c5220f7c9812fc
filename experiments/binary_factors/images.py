"""Two binary images, mixed four times with noise of variance 0.1, and a fit that starts with three factors."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from experiments.binary_factors._shared import STARTS, fit, numbers_found
from experiments.runner import Algorithm, Claim, Experiment, Reason, count_of

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd
    from matplotlib.figure import Figure

METHODS = {"byy": "BYY", "vb": "VB"}
PAIRS = {"0 and 3": '"0" and "3"', "any two": "two characters at random"}
SHOWN = ("0 and 3",)
"""Pairs whose recovered images the paper shows."""

RECOVERED = 0.95
"""The share of right pixels, on average over both images, from which they count as recovered."""

ENDS = {"too few": "#e69f00", "two": "#0072b2", "too many": "#cc79a7"}


ROUGH, RANDOM = "rough", "random"
"""Starts of VB: the codes of a quick fit, as the library has it, or those of a random mixing, where BYY starts."""

RUNS = {ROUGH: range(100), RANDOM: range(100, 500)}
QUICK_RUNS = {ROUGH: range(30)}


def jobs(full: bool) -> list[dict[str, Any]]:
    return [
        {"pair": pair, "start": start, "seed": seed}
        for start, seeds in (RUNS if full else QUICK_RUNS).items()
        for pair in PAIRS
        for seed in seeds
    ]


def run(pair: str, start: str, seed: int) -> list[dict[str, Any]]:
    from unittest.mock import patch

    from latentbits.models.binary_factors import vb

    if start == ROUGH:
        return _run(pair, seed, pictured=pair == "0 and 3")
    with patch.object(vb, "rough_fit", _random_codes):
        return _run(pair, seed, pictured=False)


def _random_codes(X: np.ndarray, n_components: int, rng: np.random.Generator, workers: Any) -> Any:
    """A random mixing, and the codes that rounding gives it."""
    import numpy as np

    from latentbits.models.binary_factors.coding import codes_of, random_start

    theta = random_start(X, n_components, rng)
    return theta, codes_of(theta, X, "round", workers).astype(np.float64)


def _run(pair: str, seed: int, *, pictured: bool) -> list[dict[str, Any]]:
    import numpy as np

    from experiments.data import use_shared_folder
    from latentbits.datasets import load_alphadigits

    use_shared_folder()
    images, rng = load_alphadigits(), np.random.default_rng(seed)
    Y = 2.0 * images.X[_chosen(images.target, pair, rng)].T - 1
    X = Y @ rng.standard_normal((2, 4)) + np.sqrt(0.1) * rng.standard_normal((len(Y), 4))
    rows = []
    for method in METHODS:
        model = fit(3, X, seed, inference=method, delta=2.0)
        codes = model.transform(X)
        numbers = numbers_found(model)
        found = {"method": method, "found": numbers["best"], "found_first": numbers["first"]}
        found["agreement"] = _agreement(Y, codes)
        pictures = {"_true": (Y > 0).astype(int), "_seen": X.round(2), "_codes": codes, "_shape": images.image_shape}
        rows.append({**found, **(pictures if pictured else {})})
    return rows


def _chosen(target: np.ndarray, pair: str, rng: np.random.Generator) -> list[int]:
    """The rows of two images: the first "0" and the first "3", or one each of two characters at random."""
    import numpy as np

    if pair == "0 and 3":
        return [int(np.flatnonzero(target == name)[0]) for name in "03"]
    characters = rng.choice(np.unique(target), size=2, replace=False)
    return [int(rng.choice(np.flatnonzero(target == name))) for name in characters]


def _agreement(Y: np.ndarray, codes: np.ndarray) -> float:
    """Share of right pixels for the best choice of two factors, each with its better sign; 0 if there aren't two."""
    from itertools import permutations

    import numpy as np

    best = 0.0
    for order in permutations(range(codes.shape[1]), 2):
        alike = (codes[:, order] == Y).mean(axis=0)
        best = max(best, float(np.maximum(alike, 1 - alike).mean()))
    return best


BEST = f"best of {STARTS} restarts"


def judge(table: pd.DataFrame) -> list[Claim]:
    claims, every = [], table
    table, random = (table[table["start"] == start] for start in (ROUGH, RANDOM))
    for (pair, method), group in table.groupby(["pair", "method"], sort=False):
        recovered = (group["found"] == 2) & (group["agreement"] >= RECOVERED)
        claims.append(
            Claim(
                result="BFA 5",
                statement=f"{METHODS[method]} discards the third factor and recovers both images ({PAIRS[pair]})",
                paper="yes, in the example shown"
                if pair in SHOWN
                else "percentages of the number found only (figure 7d)",
                instead=pair not in SHOWN,
                ours=f"{count_of(recovered)} runs",
                holds=recovered.mean() > 0.5,
                setting=BEST,
                algorithm=Algorithm.OURS,
            )
        )
    claims += [_more_often(pair, group, "found", BEST) for pair, group in table.groupby("pair", sort=False)]
    claims.append(_wrong_number(every))
    alike = "one restart each, both from a random mixing"
    return claims + [
        _more_often(pair, group, "found_first", alike) for pair, group in random.groupby("pair", sort=False)
    ]


def _wrong_number(table: pd.DataFrame) -> Claim:
    """With one factor there is one image at most; with three the best two are compared."""
    mean = {found: group["agreement"].mean() for found, group in table.groupby("found")}
    n = int((table["found"] == 3).sum())
    return Claim(
        result="BFA 5",
        statement="figures 8 and 9: with one or three factors the images are recovered less well",
        paper="so, two examples",
        ours=f"with three {mean.get(3, float('nan')):.3f} of the pixels are right ({n} runs), with two {mean[2]:.3f}",
        holds=mean[3] < mean[2] if n else None,
        setting=BEST,
        algorithm=Algorithm.OURS,
        note="With one factor there is one image at most.",
    )


def _more_often(pair: str, group: pd.DataFrame, judged: str, setting: str) -> Claim:
    def told(column: str) -> str:
        runs = {method: rows[column] == 2 for method, rows in group.groupby("method")}
        return ", ".join(f"{words} {count_of(runs[method])}" for method, words in METHODS.items())

    right = (group[judged] == 2).groupby(group["method"]).mean()
    return Claim(
        result="BFA 5",
        statement=f"BYY finds two images more often than VB ({PAIRS[pair]})",
        setting=setting,
        algorithm=Algorithm.OURS,
        paper="more often",
        ours=f"{told('found')}, best of {STARTS} starts; with one start {told('found_first')}",
        holds=right["byy"] > right["vb"],
        reason=Reason.OPTIMUM,
        why="our VB starts from the codes of a quick fit; started at random as BYY is, it finds two less often",
        note="Our VB starts from the codes of a quick fit by least squares and rounding, which is not in the paper. "
        "The paper has 100 and 10,000 runs. "
        'Of "0" and "3", where both failed a column of the mixing matrix was shorter than two standard deviations of '
        "the noise; BYY alone failed mostly where its columns were nearly parallel.",
    )


def draw(table: pd.DataFrame) -> dict[str, Figure]:
    table = table[table["start"] == ROUGH]
    return {"pictures": _pictures(table), "numbers": _numbers(table)}


def _pictures(table: pd.DataFrame) -> Figure:
    """Of the first run in which both find two: what is true, what is seen, what each finds, in the truth's order."""
    import numpy as np

    from latentbits.plots.style import new_figure, remove_frame

    shown = table[table["pair"] == "0 and 3"]
    both = shown.groupby("seed")["found"].apply(lambda found: bool((found == 2).all()))
    by_method = shown[shown["seed"] == both.idxmax()].set_index("method")
    first = by_method.iloc[0]
    Y = 2 * np.array(first["_true"]) - 1
    lines = {"true": Y, "seen": np.array(first["_seen"])}
    lines |= {words: _like(np.array(by_method.loc[method, "_codes"]), Y) for method, words in METHODS.items()}
    figure = new_figure(5, 6)
    for panels, (name, values) in zip(figure.subplots(len(lines), 4), lines.items(), strict=True):
        for j, ax in enumerate(panels):
            remove_frame(ax)
            if j < values.shape[1]:
                ax.imshow(values[:, j].reshape(first["_shape"]), cmap="Greys")
            else:
                ax.set_visible(False)
        panels[0].set_title(name)
    figure.suptitle("Two images out of four noisy mixtures")
    return figure


def _like(codes: np.ndarray, Y: np.ndarray) -> np.ndarray:
    """Codes in the order and with the signs of the true ones, as far as they go; neither order nor sign is known."""
    import numpy as np
    from scipy.optimize import linear_sum_assignment

    alike = Y.T @ codes
    true, found = linear_sum_assignment(-np.abs(alike))
    return codes[:, found] * np.sign(alike[true, found])


def _numbers(table: pd.DataFrame) -> Figure:
    """How often each method finds too few, two and too many."""
    from latentbits.plots.style import new_figure

    figure = new_figure(6.5, 2.6)
    ax = figure.subplots()
    labels = []
    for i, ((pair, method), group) in enumerate(table.groupby(["pair", "method"], sort=False)):
        labels.append(f"{METHODS[method]}, {PAIRS[pair]}")
        low = 0.0
        for (name, colour), flags in zip(ENDS.items(), _ends(group["found"]), strict=True):
            ax.barh(i, flags.mean(), left=low, color=colour, height=0.65, label=name if i == 0 else None)
            low += flags.mean()
    ax.set(yticks=range(len(labels)), yticklabels=labels, xlabel="share of runs", xlim=(0, 1))
    ax.invert_yaxis()
    figure.legend(loc="outside upper right", ncols=3)
    return figure


def _ends(found: pd.Series) -> tuple[pd.Series, pd.Series, pd.Series]:
    return found < 2, found == 2, found > 2


EXPERIMENT = Experiment(
    title="Two mixed binary images recovered, the third dimension discarded",
    results=("BFA 5",),
    jobs=jobs,
    run=run,
    judge=judge,
    draw=draw,
)
