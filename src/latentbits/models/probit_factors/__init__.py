"""Probit factor analysis: normal scores behind the cells, sampled with their uncertainty."""

from latentbits.constraints import Number
from latentbits.models.spec import RESTARTS, ModelSpec, Option, Parameter, components

__all__ = ["SPECS"]

_HERE = "latentbits.models.probit_factors"

SPECS = (
    ModelSpec(
        "probit-factors",
        f"{_HERE}.estimator:ProbitFactors",
        parameters={
            **components("at most: needless ones shrink"),
            "row_effects": Parameter(None),
            "n_samples": Parameter(Number(1, integer=True), Option("samples", "posterior samples of a chain")),
            "n_burn": Parameter(Number(0, integer=True), Option("burn", "sweeps before the first sample")),
            "thin": Parameter(Number(1, integer=True), Option("thin", "sweeps from a sample to the next")),
            "n_init": RESTARTS["n_init"],
            "random_state": RESTARTS["random_state"],
            "n_jobs": RESTARTS["n_jobs"],
        },
        stored_types=(f"{_HERE}.posterior:FactorSamples",),
    ),
)
