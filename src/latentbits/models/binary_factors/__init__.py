"""Binary factor analysis: continuous data as sums of causes that are there or not, with Gaussian noise."""

from latentbits.constraints import Choice, Number
from latentbits.models.spec import RESTARTS, ModelSpec, Option, Parameter, components

__all__ = ["SPECS"]

SPECS = (
    ModelSpec(
        "binary-factors",
        "latentbits.models.binary_factors.estimator:BinaryFactorAnalysis",
        data="numbers",
        findings="binary_factors",
        parameters={
            **components("how many at most"),
            **RESTARTS,
            "delta": Parameter(Number(0)),
            "inference": Parameter(
                Choice(("byy", "vb", "em")),
                Option("inference", "Bayesian Ying-Yang, variational Bayes or maximum likelihood"),
            ),
            "encoder": Parameter(
                Choice(("round", "cdual", "greedy", "enum")), Option("encoder", "how byy finds codes")
            ),
            "update": Parameter(Choice(("closed", "gradient"))),
        },
    ),
)
