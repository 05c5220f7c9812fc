"""Mixtures of Bernoulli products: every row belongs to one component."""

from latentbits.constraints import Number
from latentbits.models.abilities import WITH_RESTARTS, WITH_WEIGHTS, Ability
from latentbits.models.schema import COLUMNS, FACTOR_MODEL, RESTARTED, Array, Items
from latentbits.models.spec import RESTARTS, ModelSpec, Option, Parameter, components

__all__ = ["SPECS"]

SPECS = (
    ModelSpec(
        "bernoulli-mixture",
        "latentbits.models.mixture.estimator:BernoulliMixture",
        abilities=WITH_WEIGHTS | WITH_RESTARTS | {Ability.RESTART_COMPONENTS},
        parameters={
            **components(),
            **RESTARTS,
            "smoothing": Parameter(Number(0), Option("smoothing", "ones and zeros added to each count")),
        },
        fitted={
            **COLUMNS,
            **RESTARTED,
            **FACTOR_MODEL,
            "components_": Array("K", "D", low=0, high=1),
            "restart_components_": Items(Array("K", "D", low=0, high=1), "R"),
            "proportions_": Array("K", low=0, high=1, total=1),
            "weights_": Array("N", "K", low=0, high=1, total=1),
        },
    ),
)
