"""Probit factor analysis: normal scores behind the cells, sampled with their uncertainty."""

from latentbits.constraints import Number
from latentbits.models.schema import COLUMNS, FACTOR_MODEL, RESTARTED, Array, Items, Named, sampled
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
        fitted={
            **COLUMNS,
            **RESTARTED,
            **FACTOR_MODEL,
            "components_": Array("K", "D"),
            "restart_components_": Items(Array("K", "D"), "R"),
            "relevance_": Array("K", low=0),
            "bias_": Array("D"),
            "row_effects_": Array("N"),
            "_training_draws": Array("N", None, "Q", dtype="float32"),
            "_samples": Named(
                "FactorSamples",
                **sampled("bias"),
                theta=Array("S", "D", None, dtype="float32"),
            ),
        },
        sizes={"K": "n_components"},
        stored_types=(f"{_HERE}.posterior:FactorSamples",),
    ),
)
