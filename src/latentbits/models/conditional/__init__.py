"""Models that predict each cell from the others of its row by couplings of columns: logistic (Ising) and linear (EASE).

One family, as both take the same centred rows (centred.py) and are told by the same matrix of couplings.
"""

from latentbits.constraints import Number
from latentbits.models.spec import ITERATIONS, ModelSpec, Option, Parameter

__all__ = ["SPECS"]

_RIDGE = {"ridge": Parameter(Number(0, above=True), Option("ridge", "how strongly couplings are held to 0"))}

SPECS = (
    ModelSpec(
        "ising",
        "latentbits.models.conditional.estimator:IsingModel",
        findings="cells",
        has_weights=False,
        parameters={**_RIDGE, **ITERATIONS},
    ),
    ModelSpec(
        "linear-autoencoder",
        "latentbits.models.conditional.estimator:LinearAutoencoder",
        findings="cells",
        has_weights=False,
        parameters=_RIDGE,
    ),
)
