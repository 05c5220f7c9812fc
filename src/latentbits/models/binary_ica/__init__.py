"""Independent components of binary data that change from segment to segment, and tetrachoric correlations."""

from typing import Literal, get_args

from latentbits.constraints import Choice, Number
from latentbits.models.abilities import WITH_RESTARTS, ZERO_ONE_DATA, Ability
from latentbits.models.schema import COLUMNS, RESTARTED, Array, Labels, Value
from latentbits.models.spec import RESTARTS, ModelSpec, Option, Parameter, components

__all__ = ["SPECS", "Likelihood", "Method", "Posterior", "Shrinkage"]

Method = Literal["blica", "mle", "ivae"]
Shrinkage = Literal["matched", "published"]
Likelihood = Literal["integrated", "exact"]
Posterior = Literal["exact", "normal"]

_LARGEST = 1e6
"""Beyond this posteriors of sources lose all digits; fits stay far below."""

SPECS = (
    ModelSpec(
        "binary-ica",
        "latentbits.models.binary_ica.estimator:BinaryICA",
        abilities=ZERO_ONE_DATA
        | WITH_RESTARTS
        | {
            Ability.SCORE_ROWS,
            Ability.SAMPLE,
            Ability.TRANSFORM,
            Ability.MIXING,
            Ability.SEGMENTS,
            Ability.FIND_NUMBER,
            Ability.RESTART_COMPONENTS,
            Ability.PAIR_SCORES,
        },
        data="segments",
        findings="binary_ica",
        parameters={
            **RESTARTS,
            **components(optional=True),
            "n_points": Parameter(Number(3, below=65537, integer=True, optional=True)),
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
            "likelihood": Parameter(Choice(get_args(Likelihood))),
            "prior": Parameter(Number(0, below=1e4)),
            "posterior": Parameter(Choice(get_args(Posterior))),
        },
        fitted={
            **COLUMNS,
            **RESTARTED,
            "mixing_": Array("D", "K", low=-_LARGEST, high=_LARGEST),
            "source_means_": Array("S", "K"),  # large where a strong prior makes the mixing tiny
            "source_scales_": Array("S", "K", low=1 / _LARGEST, high=_LARGEST),
            "intercepts_": Array("D", low=-1e30, high=1e30),
            "n_rows_": Value(int, low=0),
            "segments_": Labels("S"),
            "segment_share_": Array("S", low=0, high=1, total=1),
            "thresholds_": Array("S", "D"),
            "restart_components_": Array("R", "K", "D"),
        },
        added=("intercepts_", "restart_components_", "thresholds_", "n_rows_"),
    ),
)
