"""The models that the command line and model files know by name; they are imported when first asked for."""

from __future__ import annotations

from importlib import import_module
from typing import Any

__all__ = ["MODELS", "NUMBER_MODELS", "TABLE_MODELS", "model_class", "model_name", "resolve"]

MODELS = {
    "aspect-bernoulli": "latentbits.models.aspect.estimator:AspectBernoulli",
    "beta-ica": "latentbits.models.aspect.estimator:BetaICA",
    "bernoulli-mixture": "latentbits.models.mixture.estimator:BernoulliMixture",
    "logistic-pca": "latentbits.models.logistic_pca.estimator:LogisticPCA",
    "bernoulli-nmf": "latentbits.models.bernoulli_nmf.estimator:BernoulliNMF",
    "plsa": "latentbits.models.plsa.estimator:PLSA",
    "nmf": "latentbits.models.adapted.estimator:NMF",
    "fast-ica": "latentbits.models.adapted.estimator:FastICA",
    "binary-ica": "latentbits.models.binary_ica.estimator:BinaryICA",
    "binary-factors": "latentbits.models.binary_factors.estimator:BinaryFactorAnalysis",
    "ica-mixture": "latentbits.models.ica_mixture.estimator:ICAMixture",
}
"""Name -> "module:Class"; a new model adds one line."""

NUMBER_MODELS = ("binary-factors", "ica-mixture")
"""The models of continuous data."""

TABLE_MODELS = tuple(name for name in MODELS if name not in (*NUMBER_MODELS, "binary-ica"))
"""The models whose rows have weights on components of 0-1 tables: they can be selected and compared."""


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
