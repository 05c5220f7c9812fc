"""Variational mixtures of undercomplete, non-symmetric independent components, and of factor analysers."""

from latentbits.constraints import Number
from latentbits.models.spec import RESTARTS, ModelSpec, Option, Parameter

__all__ = ["SPECS"]

_COUNT = Number(1, integer=True)

SPECS = (
    ModelSpec(
        "ica-mixture",
        "latentbits.models.ica_mixture.estimator:ICAMixture",
        data="numbers",
        findings="ica_mixture",
        parameters={
            "n_clusters": Parameter(_COUNT, Option("clusters", "how many to begin with")),
            "n_sources": Parameter(_COUNT, Option("sources", "of each cluster, at most")),
            "n_gaussians": Parameter(_COUNT, Option("gaussians", "of each source; 1 for factor analysers")),
            **RESTARTS,
        },
        stored_types=("latentbits.models.ica_mixture.posterior:Clusters",),
        renamed={"weights_": "proportions_"},
    ),
)
