"""Variational mixtures of undercomplete, non-symmetric independent components, and of factor analysers."""

from typing import Literal, get_args

from latentbits.constraints import Choice, Number
from latentbits.models.abilities import WITH_RESTARTS, Ability
from latentbits.models.schema import NUMBER_COLUMNS, RESTARTED, Array, Frame, Items, Named, Texts, Value
from latentbits.models.spec import RESTARTS, ModelSpec, Option, Parameter

__all__ = ["SPECS", "Criterion", "SourceKind", "SplitIndex", "Spread"]

_COUNT = Number(1, integer=True)
_LEAST = Number(1e-6)

Criterion = Literal["clusters", "bound"]
SourceKind = Literal["mean", "unmixed"]
SplitIndex = Literal["normalised", "published"]
Spread = Literal["bootstrap", "posterior"]

TINY = 1e-100
"""Below this a number's inverse overflows in products."""

_INDICES = Array("n", dtype="int64", low=-1)


def _positive(*shape: str) -> Array:
    """A precision, shape, rate or count of each cluster."""
    return Array("C", *shape, low=TINY)


SPECS = (
    ModelSpec(
        "ica-mixture",
        "latentbits.models.ica_mixture.estimator:ICAMixture",
        abilities=WITH_RESTARTS
        | {
            Ability.SCORE_ROWS,
            Ability.SAMPLE,
            Ability.TRANSFORM,
            Ability.MIXING,
            Ability.CLUSTERS,
            Ability.FIND_NUMBER,
            Ability.EVIDENCE,
        },
        data="numbers",
        findings="ica_mixture",
        parameters={
            "n_clusters": Parameter(_COUNT, Option("clusters", "how many to begin with")),
            "n_sources": Parameter(
                Number(1, integer=True, optional=True), Option("sources", "of each cluster, at most; six by default")
            ),
            "n_gaussians": Parameter(_COUNT, Option("gaussians", "of each source; 1 for factor analysers")),
            "criterion": Parameter(
                Choice(get_args(Criterion)), Option("cluster_criterion", "what decides about sources with two humps")
            ),
            "index": Parameter(Choice(get_args(SplitIndex))),
            "prior": Parameter(None),
            "noise_shape": Parameter(_LEAST, Option("noise_shape", "of the prior of the noise's precision")),
            "noise_rate": Parameter(Number(1e-9), Option("noise_rate", "of the same prior: small allows little noise")),
            "gaussian_rate": Parameter(_LEAST, Option("gaussian_rate", "small allows sources with sharp edges")),
            **RESTARTS,
        },
        held={"n_clusters": {"split": False, "delete": False}, "n_sources": {}},
        fitted={
            **NUMBER_COLUMNS,
            **RESTARTED,
            "_centre": Array("D"),
            "_scale": Array("D", low=TINY),
            "_n_cells": Array("D", low=0),
            "_clusters": Named(
                "Clusters",
                A=Array("C", "D", "M"),
                A_cov=Array("C", "D", "M", "M"),
                alpha_shape=_positive("M"),
                alpha_rate=_positive("M"),
                nu=Array("C", "D"),
                nu_precision=_positive("D"),
                psi_shape=_positive("D"),
                psi_rate=_positive("D"),
                pi=_positive("M", "G"),
                phi=Array("C", "M", "G"),
                phi_precision=_positive("M", "G"),
                beta_shape=_positive("M", "G"),
                beta_rate=_positive("M", "G"),
            ),
            "proportions_": Array("C", low=0, high=1, total=1),
            "mixing_": Array("C", "D", "M"),
            "means_": Array("C", "D"),
            "noise_precision_": _positive("D"),
            "source_strengths_": Array("C", "M", low=0),
            "n_sources_": Array("C", dtype="int64", low=0, high="M"),
            "n_clusters_": Value(int, low=1, size="C"),
            "humps_": Items(Items((Value(int, low=0), Value(int, low=0), Value(float, low=0, high=1)))),
            "history_": Frame(
                None,
                iteration=_INDICES,
                move=Texts("n"),
                cluster=_INDICES,
                source=_INDICES,
                before=Array("n"),
                after=Array("n"),
                kept=Array("n", dtype="bool"),
            ),
            "labels_": Array("N", dtype="int64", low=0, high="C"),
        },
        sizes={"G": ("n_gaussians",)},
        stored_types=("latentbits.models.ica_mixture.cluster_posterior:Clusters",),
        added=("humps_", "_n_cells"),
        renamed={"weights_": "proportions_"},
    ),
)
