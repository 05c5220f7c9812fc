"""Binary factor analysis: continuous data as sums of causes that are there or not, with Gaussian noise."""

from typing import Literal, get_args

from latentbits.constraints import Choice, Number
from latentbits.models.spec import RESTARTS, ModelSpec, Option, Parameter, components

__all__ = ["SPECS", "Encoder", "Inference", "Update"]

Inference = Literal["auto", "byy", "vb", "em"]
Encoder = Literal["round", "cdual", "greedy", "enum"]
Update = Literal["closed", "gradient"]

SPECS = (
    ModelSpec(
        "binary-factors",
        "latentbits.models.binary_factors.estimator:BinaryFactorAnalysis",
        data="numbers",
        findings="binary_factors",
        parameters={
            **components("how many at most"),
            **RESTARTS,
            "delta": Parameter(Number(0, optional=True)),
            "inference": Parameter(
                Choice(get_args(Inference)),
                Option("inference", "BIC on a path, Bayesian Ying-Yang, variational Bayes or maximum likelihood"),
            ),
            "encoder": Parameter(Choice(get_args(Encoder)), Option("encoder", "how auto and byy find codes")),
            "update": Parameter(Choice(get_args(Update))),
        },
        held={"n_components": {"inference": "em"}},
    ),
)
