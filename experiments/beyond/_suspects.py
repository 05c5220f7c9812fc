"""Scores of zeros that may be false, and data where it is known which are."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np

    from latentbits import AspectBernoulli

TABLES = {"visit 1": "sites surveyed on visit 1", "all visits": "sites surveyed on all visits"}


def bird_tables(sites: str) -> tuple[np.ndarray, np.ndarray]:
    """What was seen on visit 1, and what on any visit: species seen at three or more of the sites on visit 1.

    The sites are those surveyed on "all visits", or else those surveyed on visit 1; a visit that wasn't made then sees
    nothing.
    """
    import numpy as np

    from experiments.data import use_shared_folder
    from latentbits.datasets import load_birds

    use_shared_folder()
    survey = load_birds()
    chosen = survey.surveyed.all(axis=1) if sites == "all visits" else survey.surveyed[:, 0]
    seen = survey.detections[chosen] == 1
    seen = seen[:, :, seen[:, 0].sum(axis=0) >= 3]
    return seen[:, 0].astype(np.int8), seen.any(axis=1).astype(np.int8)


def scores_of_aspects(model: AspectBernoulli, X: np.ndarray) -> dict[str, np.ndarray]:
    """Three scores of the zeros: the library's, the plain reconstruction, and a product after the paper.

    The product is the posterior that the phantom caused the 0, times the reconstruction without the phantom; the
    phantom is the component with the smallest sum.
    """
    import numpy as np

    plain = model.reconstruct(X)
    phantom = int(np.argmin(model.components_.sum(axis=1)))
    others = np.arange(len(model.components_)) != phantom
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".*no weight on any kept component")
        without = model.reconstruct(X, ratings=others.astype(float))
    joint = np.outer(model.weights_[:, phantom], 1 - model.components_[phantom])
    product = joint / np.maximum(1 - plain, 1e-12) * without
    return {"suspicion": model.suspicion(X), "plain reconstruction": plain, "product": np.clip(product, 0.0, 1.0)}


def judged(scores: dict[str, np.ndarray], clean: np.ndarray, X: np.ndarray) -> list[dict[str, Any]]:
    """A line for each score: how well it ranks the zeros of X that are 1 in `clean`, and how far off it is."""
    from latentbits.metrics import denoising_auc, denoising_average_precision, expected_calibration_error

    zero = X == 0
    return [
        {
            "score": name,
            "auc": denoising_auc(clean, X, score),
            "ap": denoising_average_precision(clean, X, score),
            "calibration_error": expected_calibration_error(clean[zero], score[zero]),
        }
        for name, score in scores.items()
    ]
