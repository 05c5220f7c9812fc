"""What a fitted model has found in its data: a file a family, the common parts in results.py."""

from __future__ import annotations

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


def gather(model: Any, data: Data, **more: Any) -> Results:
    """What is to be said about a fitted model and its data, by the model's family; `more` went into the fit as well."""
    from latentbits.models.registry import model_name

    family = _FAMILIES.get(model_name(model) or "", "factors")
    results: Results = import_module(f"latentbits.findings.{family}").gather(model, data, **more)
    results.more = more
    results.answer = results.answer or results.lines[:2]
    return results
