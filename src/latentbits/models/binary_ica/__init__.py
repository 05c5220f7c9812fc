"""Independent components of binary data that change from segment to segment, and tetrachoric correlations."""

from typing import Literal, get_args

from latentbits.constraints import Choice, Number
from latentbits.models.spec import RESTARTS, ModelSpec, Option, Parameter, components

__all__ = ["SPECS", "Method"]

Method = Literal["blica", "mle", "ivae"]

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
            "method": Parameter(Choice(get_args(Method)), Option("method", "how to fit")),
        },
    ),
)
