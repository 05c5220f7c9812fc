"""Probabilistic latent semantic analysis: the aspect model of the ones alone."""

from latentbits.models.schema import COLUMNS, FACTOR_MODEL, RESTARTED, Array, Items
from latentbits.models.spec import RESTARTS, ModelSpec, components

__all__ = ["SPECS"]

SPECS = (
    ModelSpec(
        "plsa",
        "latentbits.models.plsa.estimator:PLSA",
        parameters={**components(), **RESTARTS},
        fitted={
            **COLUMNS,
            **RESTARTED,
            **FACTOR_MODEL,
            "components_": Array("K", "D", low=0, high=1),
            "restart_components_": Items(Array("K", "D", low=0, high=1), "R"),
            "weights_": Array("N", "K", low=0, high=1),
            "row_intensity_": Array("N", low=0),
            "_average": Array("K", low=0),
        },
    ),
)
