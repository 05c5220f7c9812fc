"""Logistic PCA: low rank on the scale of log odds."""

from latentbits.constraints import Number
from latentbits.models.abilities import WITH_RESTARTS, WITH_WEIGHTS, Ability
from latentbits.models.schema import COLUMNS, FACTOR_MODEL, RESTARTED, Array, Items
from latentbits.models.spec import RESTARTS, ModelSpec, Option, Parameter, components

__all__ = ["SPECS"]

SPECS = (
    ModelSpec(
        "logistic-pca",
        "latentbits.models.logistic_pca.estimator:LogisticPCA",
        abilities=WITH_WEIGHTS | WITH_RESTARTS | {Ability.RESTART_COMPONENTS},
        parameters={**components(), **RESTARTS, "ridge": Parameter(Number(1e-3), Option("ridge", "penalty"))},
        fitted={
            **COLUMNS,
            **RESTARTED,
            **FACTOR_MODEL,
            "components_": Array("K", "D"),
            "restart_components_": Items(Array("K", "D"), "R"),
            "singular_values_": Array("K", low=0),
            "intercepts_": Array("D"),
        },
        renamed={"bias_": "intercepts_"},
    ),
)
