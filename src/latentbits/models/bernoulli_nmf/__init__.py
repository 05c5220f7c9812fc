"""Bernoulli NMF: nonnegative components whose sum is mapped to a probability by a saturating function."""

from latentbits.models.spec import RESTARTS, ModelSpec, components

__all__ = ["SPECS"]

SPECS = (
    ModelSpec(
        "bernoulli-nmf",
        "latentbits.models.bernoulli_nmf.estimator:BernoulliNMF",
        parameters={**components(), **RESTARTS},
    ),
)
