"""Bernoulli NMF: nonnegative components whose sum is mapped to a probability by a saturating function."""

from latentbits.models.abilities import WITH_RESTARTS, WITH_WEIGHTS, Ability
from latentbits.models.schema import COLUMNS, FACTOR_MODEL, RESTARTED, Array, Items
from latentbits.models.spec import RESTARTS, ModelSpec, components

__all__ = ["SPECS"]

SPECS = (
    ModelSpec(
        "bernoulli-nmf",
        "latentbits.models.bernoulli_nmf.estimator:BernoulliNMF",
        abilities=WITH_WEIGHTS | WITH_RESTARTS | {Ability.RESTART_COMPONENTS},
        parameters={**components(), **RESTARTS},
        fitted={
            **COLUMNS,
            **RESTARTED,
            **FACTOR_MODEL,
            "components_": Array("K", "D", low=0, high=1),
            "restart_components_": Items(Array("K", "D", low=0, high=1), "R"),
            "average_weights_": Array("K", low=0),
            "weights_": Array("N", "K", low=0),
        },
    ),
)
