"""Every model's record, by name. Classes are imported when first asked for."""

from __future__ import annotations

from typing import Any

from latentbits.models import aspect, binary_factors, binary_ica, false_zeros, ica_mixture, records, visits
from latentbits.models.spec import ModelSpec, spec_of

MODELS: dict[str, ModelSpec] = {
    spec.name: spec
    for family in (aspect, records, false_zeros, binary_ica, binary_factors, ica_mixture, visits)
    for spec in family.SPECS
}
"""Name -> record, in the order in which the command line lists them."""

NUMBER_MODELS = tuple(name for name, spec in MODELS.items() if spec.data == "numbers")
"""The models of continuous data."""

SEGMENT_MODELS = tuple(name for name, spec in MODELS.items() if spec.data == "segments")
"""The models of 0-1 data in segments."""

TABLE_MODELS = tuple(name for name, spec in MODELS.items() if spec.data == "table")
"""The models of 0-1 tables, which predict every cell: they can be compared."""


FITTED_TO_FILES = tuple(name for name, spec in MODELS.items() if spec.data != "visits")
"""The models of `latentbits fit`; repeat visits have a command of their own."""


def model_class(name: str) -> type[Any]:
    """The estimator class of a name.

    Examples
    --------
    >>> model_class("aspect-bernoulli").__name__
    'AspectBernoulli'
    """
    if name not in MODELS:
        raise ValueError(f'there is no model "{name}"; the known ones are {", ".join(sorted(MODELS))}')
    return MODELS[name].load()


def model_name(model: object) -> str | None:
    """The name of a model's class; None if it isn't registered (a subclass isn't).

    Examples
    --------
    >>> model_name(model_class("aspect-bernoulli")())
    'aspect-bernoulli'
    """
    spec = spec_of(type(model))
    return spec.name if spec is not None and spec.load() is type(model) else None
