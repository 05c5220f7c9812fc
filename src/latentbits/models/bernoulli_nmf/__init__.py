"""Bernoulli NMF: nonnegative causes that add up before they saturate."""

from latentbits.models.spec import RESTARTS, ModelSpec, components

__all__ = ["SPECS"]

SPECS = (
    ModelSpec(
        "bernoulli-nmf",
        "latentbits.models.bernoulli_nmf.estimator:BernoulliNMF",
        parameters={**components(), **RESTARTS},
    ),
)
