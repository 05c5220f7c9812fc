"""Binary factor analysis: continuous data as sums of causes that are there or not, with Gaussian noise."""

from typing import Any, Literal, get_args

from latentbits.constraints import Choice, Number
from latentbits.models.abilities import WITH_RESTARTS, Ability
from latentbits.models.schema import NUMBER_COLUMNS, RESTARTED, Array, Frame, Texts, Value
from latentbits.models.spec import RESTARTS, ModelSpec, Option, Parameter, components

__all__ = ["SPECS", "Algorithm", "Encoder", "Inference", "Noise", "OneNoise", "Update"]

Inference = Literal["auto", "byy", "vb", "em"]
Encoder = Literal["round", "cdual", "greedy", "enum"]
Update = Literal["closed", "gradient"]
OneNoise = Literal["columns", "equal"]
Noise = Literal["auto", "columns", "equal"]
Algorithm = Literal["refined", "published"]

_COUNTS = Array("n", dtype="int64", low=0)


class _NumberOrColumns:
    """A precision for each column; in files of earlier versions one number for all."""

    def check(self, name: str, value: Any, sizes: dict[str, Any]) -> None:
        """As said above."""
        kind = Value(float, low=1e-100) if getattr(value, "ndim", 0) == 0 else Array("D", low=1e-100)
        kind.check(name, value, sizes)


SPECS = (
    ModelSpec(
        "binary-factors",
        "latentbits.models.binary_factors.estimator:BinaryFactorAnalysis",
        abilities=WITH_RESTARTS
        | {
            Ability.SCORE_ROWS,
            Ability.SAMPLE,
            Ability.TRANSFORM,
            Ability.MIXING,
            Ability.FACTORS,
            Ability.FIND_NUMBER,
            Ability.INFORMATION_CRITERIA,
        },
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
            "algorithm": Parameter(Choice(get_args(Algorithm))),
            "noise": Parameter(
                Choice(get_args(Noise)),
                Option("column_noise", "each column with a noise of its own, all with the same, or what BIC prefers"),
            ),
        },
        held={"n_components": {"inference": "em"}},
        fitted={
            **NUMBER_COLUMNS,
            **RESTARTED,
            "restarts_": Frame("R", **RESTARTED["restarts_"].columns, n_components=_COUNTS),
            "n_rows_": Value(int, low=0),
            "noise_": Value(str, words=get_args(OneNoise)),
            "n_components_": Value(int, low=0, size="K"),
            "mixing_": Array("D", "K"),
            "intercepts_": Array("D"),
            "noise_precision_": _NumberOrColumns(),
            "factor_probabilities_": Array("K", low=1e-15, high=1 - 1e-15),
            "_interaction": Array("K", "K"),
            "_offset": Array("K"),
            "sizes_": Frame(None, n_components=_COUNTS, log_likelihood=Array("n"), bic=Array("n")),
            "discards_": Frame(
                None,
                iteration=_COUNTS,
                factor=_COUNTS,
                reason=Texts("n"),
                norm=Array("n", low=0),
                probability=Array("n", low=0, high=1),
            ),
        },
        added=("sizes_", "n_rows_", "noise_"),
        renamed={"mean_": "intercepts_"},
    ),
)
