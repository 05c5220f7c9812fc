"""The corroded numerals of the BICA paper, the models it compares on them, and how denoising is measured."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

PASSES = 500
"""The paper's number of outer iterations; every model is fitted once, from one random start, with at most so many."""

BLANK = 0.1
"""The paper's rule for these images: a component whose mean is below this is noise, and is removed."""

BICA, BBICA = "BICA, processed", "bBICA, processed"
OTHERS = ("mixture", "logistic PCA", "Bernoulli NMF", "BICA", "bBICA")
"""What the paper compares the processed models with."""

OUR_LPCA = "logistic PCA by likelihood with a ridge of 0.1"
"""A departure: the paper's is Tipping's, by a variational bound."""

THE_OTHERS = "The mixture's probabilities are smoothed; AB and NMF are not in the paper's comparison and don't count"

COLOURS = {
    BBICA: "#0072b2",
    BICA: "#56b4e9",
    "AB, processed": "#009e73",
    "bBICA": "#0072b2",
    "BICA": "#56b4e9",
    "AB": "#009e73",
    "logistic PCA": "#d55e00",
    "mixture": "#e69f00",
    "Bernoulli NMF": "#cc79a7",
    "NMF": "#a6a6a6",
}
"""Methods in the order of legends, in the palette of the plots; those with and without processing share a colour."""

MODELS = ("BICA", "bBICA", "AB", "logistic PCA", "mixture", "Bernoulli NMF", "NMF")


class Corroded(NamedTuple):
    """clean, noisy: images x pixels, 0-1. lost: the share of each image's ones that was turned off."""

    clean: np.ndarray
    noisy: np.ndarray
    lost: np.ndarray
    shape: tuple[int, int]

    def rows(self, chosen: np.ndarray) -> Corroded:
        return Corroded(self.clean[chosen], self.noisy[chosen], self.lost[chosen], self.shape)


def corroded_numerals(seed: int) -> Corroded:
    """The 1000 numerals 0 to 4; of each image's ones a share drawn from Uniform[0, 1] is turned off."""
    from experiments.data import use_shared_folder
    from latentbits import simulate
    from latentbits.datasets import load_numerals

    use_shared_folder()
    images = load_numerals(digits=range(5))
    noisy = simulate.corrode(images.X, 1.0, random_state=seed).X
    lost = 1 - noisy.sum(axis=1) / images.X.sum(axis=1)
    return Corroded(images.X, noisy, lost, images.image_shape)


def split(images: Corroded, n_train: int, n_unseen: int, seed: int) -> tuple[Corroded, Corroded]:
    """Random images for training and others that the model doesn't see."""
    order = np.random.default_rng(seed).permutation(len(images.clean))
    return images.rows(order[:n_train]), images.rows(order[n_train : n_train + n_unseen])


def fitted(name: str, k: int, X: np.ndarray, seed: int) -> Any:
    """A model of the comparison."""
    import latentbits as lb

    once = {"n_init": 1, "max_iter": PASSES, "random_state": seed}
    make = {
        "BICA": lambda: lb.BetaICA(k, inference="em", **once),
        "bBICA": lambda: lb.BetaICA(k, inference="vb", gamma=1.0, **once),
        "AB": lambda: lb.AspectBernoulli(k, smoothing=0, **once),
        "logistic PCA": lambda: lb.LogisticPCA(k, ridge=0.1, **once),
        "mixture": lambda: lb.BernoulliMixture(k, **once),
        "Bernoulli NMF": lambda: lb.BernoulliNMF(k, smoothing=0, **once),
        "NMF": lambda: lb.NMF(k, max_iter=PASSES, random_state=seed),
    }
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".*passes without converging")  # the paper stops there too
        return make[name]().fit(X)


def blank(model: Any) -> np.ndarray:
    """Which components the paper's rule removes."""
    return model.components_.mean(axis=1) < BLANK


def reconstructions(name: str, model: Any, X: np.ndarray) -> dict[str, np.ndarray]:
    """The grey-scale images by method; aspect models have a second one, from which blank components are removed."""
    found = {name: model.reconstruct(X)}
    if name in ("BICA", "bBICA", "AB"):
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message=".*no weight on any kept component")
            found[f"{name}, processed"] = model.reconstruct(X, ratings=(~blank(model)).astype(float))
    return found


def denoising(images: Corroded, grey: np.ndarray) -> dict[str, float]:
    """AUC at the pixels that are off in the corroded image: of the grey scale, and of it cut at 1/2."""
    from latentbits.metrics import denoising_auc, noise_removal_rate

    return {
        "grey": denoising_auc(images.clean, images.noisy, grey),
        "binary": noise_removal_rate(images.clean, images.noisy, (grey >= 0.5).astype(np.int8)),
    }


def denoised_rows(name: str, model: Any, parts: dict[str, Corroded]) -> list[dict[str, Any]]:
    """A row for each part ("weak": the training images, "strong": unseen ones) and method."""
    return [
        {"denoising": part, "method": method, **denoising(images, grey)}
        for part, images in parts.items()
        for method, grey in reconstructions(name, model, images.noisy).items()
    ]


def in_order(methods: Sequence[str] | pd.Series) -> list[str]:
    """The distinct methods in the order of legends."""
    return [method for method in COLOURS if method in set(methods)]


def line_style(method: str) -> dict[str, Any]:
    """How a method is drawn; those without processing are dashed where there is one with it."""
    dashed = f"{method}, processed" in COLOURS
    return {
        "color": COLOURS[method],
        "linestyle": "--" if dashed else "-",
        "marker": "o" if "processed" in method else "s",
        "markersize": 3.5,
        "label": method,
    }


def draw_lines(ax: Axes, table: pd.DataFrame, x: str, y: str, *, spread: bool = False) -> None:
    """Means over repeats against a number, a line for each method; with `spread` one standard deviation as well."""
    for method in in_order(table["method"]):
        runs = table[table["method"] == method].groupby(x)[y]
        mean = runs.mean()
        ax.plot(mean.index, mean, **line_style(method))
        if spread:
            sd = runs.std().fillna(0.0)
            ax.fill_between(mean.index, mean - sd, mean + sd, color=COLOURS[method], alpha=0.15, linewidth=0)


def clusters_as_classes(cluster: np.ndarray, truth: np.ndarray) -> np.ndarray:
    """The class that most rows of each row's cluster have."""
    values, codes = np.unique(truth, return_inverse=True)
    counts = np.zeros((cluster.max() + 1, len(values)), dtype=int)
    np.add.at(counts, (cluster, codes), 1)
    return values[counts.argmax(axis=1)[cluster]]


def matched(cluster: np.ndarray, truth: np.ndarray, classes: Sequence[Any], n_clusters: int) -> np.ndarray:
    """For each class the cluster that stands for it: the one-to-one matching that gets most rows right."""
    from scipy.optimize import linear_sum_assignment

    right = [[int(((cluster == k) & (truth == name)).sum()) for k in range(n_clusters)] for name in classes]
    return linear_sum_assignment(right, maximize=True)[1]
