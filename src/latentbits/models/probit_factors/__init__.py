"""Probit factor analysis: normal scores behind the cells, sampled with their uncertainty."""

from latentbits.constraints import Number
from latentbits.models.abilities import WITH_RESTARTS, WITH_WEIGHTS, Ability
from latentbits.models.schema import COLUMNS, FACTOR_MODEL, RESTARTED, Array, Items, Named, sampled
from latentbits.models.spec import RESTARTS, ModelSpec, Option, Parameter, components

__all__ = ["SPECS"]

_HERE = "latentbits.models.probit_factors"

_LARGEST = 1e4
"""Of what is sampled: with scores beyond 40 a cell is certain, and far beyond a sampler of rows wouldn't end."""

SPECS = (
    ModelSpec(
        "probit-factors",
        f"{_HERE}.estimator:ProbitFactors",
        abilities=WITH_WEIGHTS | WITH_RESTARTS | {Ability.RESTART_COMPONENTS, Ability.INTERVALS, Ability.CHAINS},
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
            "intercepts_": Array("D"),
            "row_effects_": Array("N"),
            "_training_draws": Array("N", None, "P", dtype="float32", low=-_LARGEST, high=_LARGEST),
            "_samples": Named(
                "FactorSamples",
                **sampled("bias"),
                theta=Array("S", "D", "Q", dtype="float32", low=-_LARGEST, high=_LARGEST),
            ),
        },
        sizes={
            "K": ("n_components",),
            "P": ("n_components", "row_effects"),
            "Q": (1, "n_components", "row_effects"),
        },
        renamed={"bias_": "intercepts_"},
        stored_types=(f"{_HERE}.posterior:FactorSamples",),
    ),
)
