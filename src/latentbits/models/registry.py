"""The models that the command line and model files know by name; they are imported when first asked for."""

from __future__ import annotations

from importlib import import_module
from typing import Any

__all__ = ["MODELS", "model_class", "model_name", "resolve"]

MODELS = {
    "aspect-bernoulli": "latentbits.models.aspect.estimator:AspectBernoulli",
    "beta-ica": "latentbits.models.aspect.estimator:BetaICA",
    "bernoulli-mixture": "latentbits.models.mixture.estimator:BernoulliMixture",
}
"""Name -> "module:Class"; a new model adds one line."""


def model_class(name: str) -> type[Any]:
    """The estimator class of a name.

    Examples
    --------
    >>> model_class("aspect-bernoulli").__name__
    'AspectBernoulli'
    """
    if name not in MODELS:
        raise ValueError(f'there is no model "{name}"; the known ones are {", ".join(sorted(MODELS))}')
    return resolve(MODELS[name])


def model_name(model: object) -> str | None:
    """The name of a model's class; None if it isn't registered (a subclass isn't).

    Examples
    --------
    >>> model_name(model_class("aspect-bernoulli")())
    'aspect-bernoulli'
    """
    kind = type(model)
    target = f"{kind.__module__}:{kind.__qualname__}"
    return next((name for name, registered in MODELS.items() if registered == target), None)


def resolve(target: str) -> type[Any]:
    """The class that "module:Class" names."""
    module, _, name = target.partition(":")
    found: type[Any] = getattr(import_module(module), name)
    return found
