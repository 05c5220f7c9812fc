"""Models that predict each cell from the others of its row by couplings of columns: logistic (Ising) and linear (EASE).

One family, as both take the same centred rows (centred.py) and are told by the same matrix of couplings.
"""

from latentbits.constraints import Number
from latentbits.models.abilities import BY_CELL, Ability
from latentbits.models.schema import CELL_MODEL, COLUMNS, RESTARTED, Array, Value
from latentbits.models.spec import ITERATIONS, ModelSpec, Option, Parameter

__all__ = ["SPECS"]

_RIDGE = {"ridge": Parameter(Number(1e-3), Option("ridge", "how strongly couplings are held to 0"))}

_FITTED = {
    **COLUMNS,
    **CELL_MODEL,
    "means_": Array("D", low=0, high=1),
    "couplings_": Array("D", "D"),
    "objective_": Value(float),
}
_ADDED = ("n_rows_",)
_RENAMED = {"data_fingerprint_": "data_checksum_", "bias_": "intercepts_"}

SPECS = (
    ModelSpec(
        "ising",
        "latentbits.models.conditional.estimator:IsingModel",
        abilities=BY_CELL | {Ability.COUPLINGS, Ability.ITERATE},
        findings="cells",
        parameters={**_RIDGE, **ITERATIONS},
        fitted={
            **_FITTED,
            **{name: RESTARTED[name] for name in ("objective_history_", "n_iter_", "converged_")},
            "intercepts_": Array("D"),
            "gradient_norm_": Value(float, low=0),
        },
        added=_ADDED,
        renamed=_RENAMED,
    ),
    ModelSpec(
        "linear-autoencoder",
        "latentbits.models.conditional.estimator:LinearAutoencoder",
        abilities=BY_CELL | {Ability.COUPLINGS},
        findings="cells",
        parameters=_RIDGE,
        fitted=_FITTED,
        added=_ADDED,
        renamed=_RENAMED,
    ),
)
