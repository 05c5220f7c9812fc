"""Independent components of binary data that change from segment to segment, and tetrachoric correlations."""

from typing import Literal, get_args

from latentbits.constraints import Choice, Number
from latentbits.models.spec import RESTARTS, ModelSpec, Option, Parameter, components

__all__ = ["SPECS", "Method", "Posterior", "Shrinkage"]

Method = Literal["blica", "mle", "ivae"]
Shrinkage = Literal["matched", "published"]
Posterior = Literal["exact", "normal"]

SPECS = (
    ModelSpec(
        "binary-ica",
        "latentbits.models.binary_ica.estimator:BinaryICA",
        data="segments",
        findings="binary_ica",
        parameters={
            **RESTARTS,
            **components(optional=True),
            "n_points": Parameter(Number(2, integer=True, optional=True)),
            "n_segments": Parameter(Number(1, integer=True)),
            "condition_number": Parameter(Number(1, above=True, optional=True)),
            "tol": Parameter(
                Number(0, optional=True),
                Option("tol", "a start has converged when a cell's log likelihood rises by less than this"),
            ),
            "method": Parameter(Choice(get_args(Method)), Option("method", "how to fit")),
            "shrinkage": Parameter(
                Choice(get_args(Shrinkage)), Option("shrinkage", "of blica: the model shrunk as the data, or not")
            ),
            "prior": Parameter(Number(0)),
            "posterior": Parameter(Choice(get_args(Posterior))),
        },
    ),
)
