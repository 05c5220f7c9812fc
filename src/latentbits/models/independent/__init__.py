"""Independent columns: the model without hidden causes, against which all others are measured."""

from latentbits.constraints import Number
from latentbits.models.spec import ModelSpec, Option, Parameter

__all__ = ["SPECS"]

SPECS = (
    ModelSpec(
        "independent",
        "latentbits.models.independent.estimator:IndependentBernoulli",
        parameters={"smoothing": Parameter(Number(0), Option("smoothing", "ones and zeros added to each count"))},
    ),
)
