"""Variational mixtures of undercomplete, non-symmetric independent components, and of factor analysers."""

from typing import Literal, get_args

from latentbits.constraints import Choice, Number
from latentbits.models.spec import RESTARTS, ModelSpec, Option, Parameter

__all__ = ["SPECS", "Criterion", "SourceKind"]

_COUNT = Number(1, integer=True)
_POSITIVE = Number(0, above=True)

Criterion = Literal["clusters", "bound"]
SourceKind = Literal["mean", "unmixed"]

SPECS = (
    ModelSpec(
        "ica-mixture",
        "latentbits.models.ica_mixture.estimator:ICAMixture",
        data="numbers",
        findings="ica_mixture",
        takes_missing=False,
        parameters={
            "n_clusters": Parameter(_COUNT, Option("clusters", "how many to begin with")),
            "n_sources": Parameter(_COUNT, Option("sources", "of each cluster, at most")),
            "n_gaussians": Parameter(_COUNT, Option("gaussians", "of each source; 1 for factor analysers")),
            "criterion": Parameter(
                Choice(get_args(Criterion)), Option("cluster_criterion", "what decides about sources with two humps")
            ),
            "noise_shape": Parameter(_POSITIVE, Option("noise_shape", "of the prior of the noise's precision")),
            "noise_rate": Parameter(_POSITIVE, Option("noise_rate", "of the same prior: small allows little noise")),
            "gaussian_rate": Parameter(_POSITIVE, Option("gaussian_rate", "small allows sources with sharp edges")),
            **RESTARTS,
        },
        held={"n_clusters": {"split": False, "delete": False}, "n_sources": {}},
        stored_types=("latentbits.models.ica_mixture.posterior:Clusters",),
        renamed={"weights_": "proportions_"},
    ),
)
