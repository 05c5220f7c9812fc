"""Mixtures of Bernoulli products: every row belongs to one component."""

from latentbits.constraints import Number
from latentbits.models.spec import RESTARTS, ModelSpec, Option, Parameter, components

__all__ = ["SPECS"]

SPECS = (
    ModelSpec(
        "bernoulli-mixture",
        "latentbits.models.mixture.estimator:BernoulliMixture",
        parameters={
            **components(),
            **RESTARTS,
            "smoothing": Parameter(Number(0), Option("smoothing", "ones and zeros added to each count")),
        },
    ),
)
