"""What a fitted model has found in its data: a file a family, the common parts in results.py."""

from __future__ import annotations

import copy
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from latentbits.findings.results import Data, Results

__all__ = ["gather"]

_FAMILIES = {
    "aspect-bernoulli": "aspect",
    "beta-ica": "aspect",
    "binary-ica": "binary_ica",
    "binary-factors": "binary_factors",
    "ica-mixture": "ica_mixture",
}
"""The file of a model; all others are presented by factors.py."""


def _with_eyes_on(model: Any, data: Data) -> tuple[Any, bool]:
    """The model with the weights of these rows, and whether they are those that it was fitted to."""
    import numpy as np

    from latentbits.models.base import FactorModel

    if not isinstance(model, FactorModel):
        return model, True
    weights = np.asarray(model.transform(data))
    if weights.shape == model.weights_.shape and np.allclose(weights, model.weights_, atol=1e-6):
        return model, True
    seen = copy.copy(model)
    seen.weights_ = weights
    return seen, False


def gather(model: Any, data: Data, **more: Any) -> Results:
    """What is to be said about a fitted model and its data, by the model's family; `more` went into the fit as well."""
    from latentbits.models.registry import model_name

    family = _FAMILIES.get(model_name(model) or "", "factors")
    seen, is_fitted_to = _with_eyes_on(model, data)
    results: Results = import_module(f"latentbits.findings.{family}").gather(seen, data, **more)
    results.model = model
    results.summary["data"]["fitted"] = is_fitted_to
    results.more = more
    results.answer = results.answer or results.lines[:2]
    return results
