"""What is written and told about a fitted model: a file a family, the common parts in results.py."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from latentbits.cli.present.results import Data, Results

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
    """Everything that goes into the folder of a fit, by the model's family; `more` went into the fit as well."""
    from latentbits.models.registry import model_name

    family = _FAMILIES.get(model_name(model) or "", "factors")
    results: Results = import_module(f"latentbits.cli.present.{family}").gather(model, data, **more)
    return results
