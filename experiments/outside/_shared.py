"""Data of others that this folder's experiments read, and scores of all cells by models of this library and rivals."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path

    import numpy as np
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

SURVEYS = {
    "mhb2014": "mhb2014.npz",
    "hbef2015": "surveys/hbef2015.npz",
    "Swiss atlas": "surveys/swiss_atlas_ha.npz",
    "Finnmark": "surveys/finnmark.npz",
}


def folder() -> Path:
    """Where the data are; whoever has none is told where to get them."""
    import os
    from pathlib import Path

    from experiments.data import use_shared_folder
    from latentbits.datasets import load_birds

    use_shared_folder()
    if not os.environ.get("LATENTBITS_DATA"):
        load_birds()  # refuses, and says where data come from
    return Path(os.environ["LATENTBITS_DATA"])


def survey(name: str) -> tuple[np.ndarray, np.ndarray]:
    """What was seen on the first visit, and on any: sites surveyed then, species seen at three or more of them."""
    import numpy as np

    with np.load(folder() / SURVEYS[name]) as file:
        detections = file["detections"]
    detections = detections[(detections[:, 0] != -1).any(axis=1)]
    detections = detections[:, :, (detections[:, 0] == 1).sum(axis=0) >= 3]
    return detections[:, 0].astype(np.int8), (detections == 1).any(axis=1)


def cell_probabilities(model: str, setting: float, X: np.ndarray, seed: int) -> np.ndarray:
    """P(1) of all cells, missing ones (-1) included, by a model with its defaults but for one `setting` (0: as it is).

    The setting is the number of components, or the ridge of models that have one.
    """
    import numpy as np

    import latentbits as lb

    makers: dict[str, Any] = {
        "column frequencies": lambda: lb.IndependentBernoulli(),
        "rows and columns": lambda: lb.RowColumnBernoulli(),
        "aspects": lambda: lb.AspectBernoulli(**_given(n_components=int(setting)), random_state=seed),
        "BetaICA": lambda: lb.BetaICA(**_given(n_components=int(setting)), random_state=seed),
        "mixture": lambda: lb.BernoulliMixture(**_given(n_components=int(setting)), random_state=seed),
        "logistic PCA": lambda: lb.LogisticPCA(random_state=seed, **_given(ridge=setting)),
        "Ising": lambda: lb.IsingModel(**_given(ridge=setting)),
        "linear autoencoder": lambda: lb.LinearAutoencoder(**_given(ridge=setting)),
        "ProbitFactors": lambda: lb.ProbitFactors(random_state=seed),
        "FalseZeros": lambda: lb.FalseZeros(random_state=seed),
    }
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of convergence, and of members that stand aside
        if model == "NMF":
            return _nmf(int(setting), X, seed)
        table = np.where(X == -1, np.nan, X)
        fitted = makers[model]().fit(table)
        return np.asarray(fitted.reconstruct(table))


def _given(**setting: float) -> dict[str, float]:
    return {name: value for name, value in setting.items() if value}


def _nmf(k: int, X: np.ndarray, seed: int) -> np.ndarray:
    """Least squares, no cell missing."""
    import numpy as np
    from sklearn.decomposition import NMF

    nmf = NMF(k, random_state=seed, max_iter=1000)
    return np.minimum(nmf.fit_transform(X.astype(float)) @ nmf.components_, 1.0)


def grid_jobs(names: Iterable[str], grids: Mapping[str, Iterable[float]]) -> list[dict[str, Any]]:
    """A job for each data set, model and setting of its grid."""
    return [
        {"data": data, "model": model, "setting": setting, "seed": 0}
        for data in names
        for model, grid in grids.items()
        for setting in grid
    ]


def panels_of_models(names: Sequence[str], models: Sequence[str], height: float) -> tuple[Figure, list[Axes]]:
    """A panel for each data set, all with the models from top to bottom."""
    from latentbits.plots.style import new_figure

    figure = new_figure(2.5 * len(names) + 2.1, height)
    panels = list(figure.subplots(1, len(names), sharey=True, squeeze=False)[0])
    for ax, name in zip(panels, names, strict=True):
        ax.set(title=name)
    panels[0].set_yticks(range(len(models)), models)
    panels[0].invert_yaxis()
    return figure, panels
