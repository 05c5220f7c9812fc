"""scikit-learn's factorisations behind this library's interface, to be compared with its own models."""

from latentbits.models.abilities import WITH_RESTARTS, WITH_WEIGHTS, Ability
from latentbits.models.schema import COLUMNS, FACTOR_MODEL, RESTARTED, Array, Items
from latentbits.models.spec import RESTARTS, ModelSpec, components

__all__ = ["SPECS"]

_FITTED = {
    **COLUMNS,
    **RESTARTED,
    **FACTOR_MODEL,
    "components_": Array("K", "D"),
    "restart_components_": Items(Array("K", "D"), "R"),
    "column_share_": Array("D", low=0, high=1),
}

_ABILITIES = (WITH_WEIGHTS | WITH_RESTARTS | {Ability.RESTART_COMPONENTS}) - {
    Ability.SAMPLE,
    Ability.INFORMATION_CRITERIA,
}

SPECS = (
    ModelSpec(
        "nmf",
        "latentbits.models.adapted.estimator:NMF",
        abilities=_ABILITIES,
        parameters={**components(), **RESTARTS},
        fitted={
            **_FITTED,
            "components_": Array("K", "D", low=0),
            "weights_": Array("N", "K", low=0),
            "_unmixing": Array(0, 0),
        },
    ),
    ModelSpec(
        "fast-ica",
        "latentbits.models.adapted.estimator:FastICA",
        abilities=_ABILITIES,
        parameters={**components(), **RESTARTS},
        fitted={**_FITTED, "_unmixing": Array("K", "D")},
    ),
)
