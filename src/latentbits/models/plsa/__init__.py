"""Probabilistic latent semantic analysis: the aspect model of the ones alone."""

from latentbits.models.abilities import WITH_RESTARTS, WITH_WEIGHTS, Ability
from latentbits.models.schema import COLUMNS, FACTOR_MODEL, RESTARTED, Array, Items
from latentbits.models.spec import RESTARTS, ModelSpec, components

__all__ = ["SPECS"]

_SHARES = Array("K", "D", low=1e-11, high=1, total=1)  # at least 1e-10 before they are made to sum to 1

SPECS = (
    ModelSpec(
        "plsa",
        "latentbits.models.plsa.estimator:PLSA",
        abilities=WITH_WEIGHTS | WITH_RESTARTS | {Ability.RESTART_COMPONENTS},
        parameters={**components(), **RESTARTS},
        fitted={
            **COLUMNS,
            **RESTARTED,
            **FACTOR_MODEL,
            "components_": _SHARES,
            "restart_components_": Items(_SHARES, "R"),
            "weights_": Array("N", "K", low=0, high=1),
            "row_intensity_": Array("N", low=0),
            "_average": Array("K", low=0),
        },
    ),
)
