"""Write a model file of every model, with the numbers that it gives for new rows, into the folder of its format.

The files are never made again for a model that has one: they show that models stored by earlier versions still open
and still give the same numbers. Run `python -m tests.stored_models.make` after adding a model, or after another version
of the format. Files of the first one are in this folder, later ones in format_2 and so on.
"""

from __future__ import annotations

import json
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from latentbits import save_model, simulate
from latentbits.models.registry import MODELS, model_class
from latentbits.storage.persistence import FORMAT_VERSION

FOLDER = Path(__file__).parent
NEWEST = FOLDER / f"format_{FORMAT_VERSION}"
NEW_ROWS = 6

VARIANTS: dict[str, tuple[str, dict[str, Any]]] = {
    **{name: (name, {}) for name in MODELS},
    "beta-ica-em": ("beta-ica", {"inference": "em"}),
    "beta-ica-gibbs": ("beta-ica", {"inference": "gibbs"}),
    "binary-ica-mle": ("binary-ica", {"method": "mle"}),
    "binary-ica-ivae": ("binary-ica", {"method": "ivae"}),
    "binary-factors-em": ("binary-factors", {"inference": "em"}),
    "binary-factors-vb": ("binary-factors", {"inference": "vb"}),
}
"""Name of the file -> model and parameters."""


def main() -> None:
    NEWEST.mkdir(exist_ok=True)
    for name in VARIANTS:
        if not (NEWEST / f"{name}.npz").exists():
            make(name)


def make(name: str) -> None:
    """Keep the model of this name with what it says about rows that weren't in its fit."""
    model, rows = fitted(name)
    asked = question(model)
    answers = {asked: getattr(model, asked)(rows).tolist()}
    if hasattr(model, "score"):
        answers["score"] = model.score(rows)
    if isinstance(rows, pd.DataFrame):
        table = {"columns": list(rows), "rows": rows.astype(object).where(rows.notna(), None).to_numpy().tolist()}
    else:
        table = {"rows": rows.astype(int).tolist()}
    save_model(model, NEWEST / f"{name}.npz")
    (NEWEST / f"{name}.json").write_text(json.dumps({**table, **answers}) + "\n")


def question(model: Any) -> str:
    """What a model is asked about rows."""
    return next(name for name in ("transform", "reconstruct", "predict_proba") if hasattr(model, name))


def fitted(name: str) -> tuple[Any, Any]:
    """The model of this name, fitted to little data, and rows that weren't in the fit."""
    kind, parameters = VARIANTS[name]
    X, size, fit_parameters = data_for(kind)
    chosen = {"n_init": 2, "random_state": 0, "max_iter": 200, **size, **parameters}
    known = model_class(kind)().get_params()
    model = model_class(kind)(**{name: value for name, value in chosen.items() if name in known})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # passes that were not enough, segments that are short: any state will do
        return model.fit(X[:-NEW_ROWS], **fit_parameters), X[-NEW_ROWS:]


def data_for(kind: str) -> tuple[Any, dict[str, Any], dict[str, Any]]:
    """Rows, the size of the model and what `fit` takes beside the rows."""
    if kind == "repeated-survey":
        estimator = model_class("aspect-bernoulli")(2, n_init=1, random_state=0)
        return simulate.repeated_surveys(30, 6, 3, random_state=0).histories, {"estimator": estimator}, {}
    if kind == "binary-ica":
        votes = simulate.binary_ica(12, 5, 2, 3, random_state=0)
        segments = np.array(["spring", "summer", "winter"])[votes.segments][:-NEW_ROWS]
        return named(votes.X), {"n_components": 2}, {"segments": segments}
    if kind == "binary-factors":
        return named(simulate.binary_factors(40, 5, 2, random_state=0).X), {"n_components": 2}, {}
    if kind == "ica-mixture":
        points = simulate.ica_mixture([[[2.0, 1.0], [0.0, 1.0]], [[1.0], [2.0]]], n_points=25, random_state=0).X
        mixed = np.random.default_rng(0).permutation(points)
        return named(mixed), {"n_clusters": 2, "n_sources": 2, "max_iter": 25}, {}
    X = simulate.aspect_bernoulli(40, 8, 3, white_phantom=True, missing=0.05, random_state=0).X
    return named(X), {"n_components": 3}, {}


def named(X: np.ndarray) -> pd.DataFrame:
    return pd.DataFrame(X, columns=[f"column {j}" for j in range(X.shape[1])])


if __name__ == "__main__":
    main()
