"""What models can do: a set in each model's record, and a protocol for each ability.

Whoever wants to know what a model can do asks `abilities_of`, which neither fits nor tries anything. As the records,
this module imports nothing but the standard library.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Any, Protocol


class Ability(StrEnum):
    """One thing that a model can do, or that a fitted model has."""

    READ_ZERO_ONE = "read 0-1 data"
    PREDICT_CELLS = "predict cells"
    PREDICT_HELD_OUT = "predict each cell from the rest of its row"
    RANK_CELLS = "rank cells"
    EXPLAIN_CELLS = "explain cells"
    DENOISE = "denoise"
    SCORE_ROWS = "score rows"
    SAMPLE = "sample"
    TRANSFORM = "transform"
    ROW_WEIGHTS = "row weights"
    COMPONENTS = "components"
    MIXING = "mixing"
    FACTORS = "factors"
    COUPLINGS = "couplings"
    SEGMENTS = "segments"
    CLUSTERS = "clusters"
    MEMBERS = "members"
    VISITS = "visits"
    FIND_NUMBER = "find the number of components"
    ITERATE = "iterate"
    RESTARTS = "restarts"
    RESTART_COMPONENTS = "components of restarts"
    CHAINS = "chains"
    INTERVALS = "intervals"
    EVIDENCE = "evidence"
    INFORMATION_CRITERIA = "information criteria"
    PAIR_SCORES = "pair scores"
    KNOW_ROWS = "use what is known of rows"


class ReadsZeroOne(Protocol):
    """Its data are of 0, 1 and missing; `binarize` makes them so."""

    binarize: float | None


class PredictsCells(Protocol):
    """It gives a probability of a 1 to each cell."""

    def reconstruct(self, X: Any) -> Any: ...


class PredictsHeldOut(Protocol):
    """It gives each cell a probability that the cell itself has no part in; it scores rows by a pseudo-likelihood."""

    def predict_held_out(self, X: Any) -> Any: ...


class RanksCells(Protocol):
    """It tells which cells may be false."""

    def suspicion(self, X: Any) -> Any: ...
    def suspects(self, X: Any) -> Any: ...


class ExplainsCells(Protocol):
    """It tells why a cell is as it is."""

    def explain(self, X: Any, row: Any, column: Any) -> Any: ...


class Denoises(Protocol):
    """It has noise components, and can remove what they cause."""

    phantoms_: Any

    def denoise(self, X: Any) -> Any: ...


class ScoresRows(Protocol):
    """It gives each row a log-likelihood (a pseudo-likelihood if it predicts each cell from the rest of its row)."""

    def score_samples(self, X: Any) -> Any: ...
    def score(self, X: Any) -> float: ...


class Samples(Protocol):
    """It makes new rows."""

    def sample(self, n_samples: int) -> Any: ...


class Transforms(Protocol):
    """Rows have coordinates, from which rows can be made again."""

    def transform(self, X: Any) -> Any: ...
    def inverse_transform(self, X: Any) -> Any: ...


class HasRowWeights(Protocol):
    """The training rows' weights on components are kept."""

    weights_: Any
    row_weight_: Any


class HasComponents(Protocol):
    """Components, K x D."""

    components_: Any


class HasMixing(Protocol):
    """A mixing matrix, whose columns are sources or factors; a matrix for each cluster, if there are clusters."""

    mixing_: Any


class HasFactors(Protocol):
    """Its causes are there or not, each with a probability."""

    factor_probabilities_: Any


class HasCouplings(Protocol):
    """What each column says about each other column, D x D."""

    couplings_: Any


class HasSegments(Protocol):
    """Rows come in segments."""

    segments_: Any


class HasClusters(Protocol):
    """Rows come in clusters, whose number is found."""

    n_clusters_: int
    labels_: Any


class HasMembers(Protocol):
    """It is an ensemble."""

    members_: Any


class HasVisits(Protocol):
    """It is about sites that were visited repeatedly."""

    survey_: Any
    estimator_: Any


class FindsNumber(Protocol):
    """The number of components is found."""

    n_components_: int


class Iterates(Protocol):
    """It is fitted step by step, and tells whether it converged."""

    n_iter_: int
    converged_: bool


class HasRestarts(Protocol):
    """It is fitted with several restarts."""

    n_init: int
    restarts_: Any
    objective_: float


class HasRestartComponents(Protocol):
    """The components of all restarts are kept, so that their stability can be told."""

    restart_components_: Any


class HasChains(Protocol):
    """It can be sampled by chains; None if it wasn't."""

    r_hat_: Any
    ess_: Any


class HasIntervals(Protocol):
    """Components and weights have intervals."""

    def components_interval(self) -> Any: ...
    def weights_interval(self, X: Any) -> Any: ...


class HasEvidence(Protocol):
    """A log evidence, or a bound of it."""

    def log_evidence(self, X: Any) -> float: ...


class HasInformationCriteria(Protocol):
    """Akaike's and Schwarz' criteria."""

    def aic(self, X: Any) -> float: ...
    def bic(self, X: Any) -> float: ...


class HasPairScores(Protocol):
    """It scores pairs of cells of held-out rows in segments."""

    def pair_score(self, X: Any) -> float: ...


class KnowsRows(Protocol):
    """Fitted with covariates, coordinates or effort, it says what they do, and predicts rows without cells."""

    def predict_rows(self, rows: Any) -> Any: ...
    def responses(self) -> Any: ...
    def variation(self) -> Any: ...


PROTOCOLS: dict[Ability, type] = {
    Ability.READ_ZERO_ONE: ReadsZeroOne,
    Ability.PREDICT_CELLS: PredictsCells,
    Ability.PREDICT_HELD_OUT: PredictsHeldOut,
    Ability.RANK_CELLS: RanksCells,
    Ability.EXPLAIN_CELLS: ExplainsCells,
    Ability.DENOISE: Denoises,
    Ability.SCORE_ROWS: ScoresRows,
    Ability.SAMPLE: Samples,
    Ability.TRANSFORM: Transforms,
    Ability.ROW_WEIGHTS: HasRowWeights,
    Ability.COMPONENTS: HasComponents,
    Ability.MIXING: HasMixing,
    Ability.FACTORS: HasFactors,
    Ability.COUPLINGS: HasCouplings,
    Ability.SEGMENTS: HasSegments,
    Ability.CLUSTERS: HasClusters,
    Ability.MEMBERS: HasMembers,
    Ability.VISITS: HasVisits,
    Ability.FIND_NUMBER: FindsNumber,
    Ability.ITERATE: Iterates,
    Ability.RESTARTS: HasRestarts,
    Ability.RESTART_COMPONENTS: HasRestartComponents,
    Ability.CHAINS: HasChains,
    Ability.INTERVALS: HasIntervals,
    Ability.EVIDENCE: HasEvidence,
    Ability.INFORMATION_CRITERIA: HasInformationCriteria,
    Ability.PAIR_SCORES: HasPairScores,
    Ability.KNOW_ROWS: KnowsRows,
}

ZERO_ONE_DATA = frozenset({Ability.READ_ZERO_ONE})
"""What every model of 0-1 data can do."""

WITH_WEIGHTS = ZERO_ONE_DATA | {
    Ability.PREDICT_CELLS,
    Ability.RANK_CELLS,
    Ability.SCORE_ROWS,
    Ability.SAMPLE,
    Ability.TRANSFORM,
    Ability.ROW_WEIGHTS,
    Ability.COMPONENTS,
    Ability.INFORMATION_CRITERIA,
}
"""What every model can do whose rows have weights on components (`FactorModel`)."""

BY_CELL = ZERO_ONE_DATA | {Ability.PREDICT_CELLS, Ability.PREDICT_HELD_OUT, Ability.RANK_CELLS, Ability.SCORE_ROWS}
"""What every model can do that predicts each cell from the rest of its row (`CellModel`)."""

WITH_RESTARTS = frozenset({Ability.ITERATE, Ability.RESTARTS})
"""What every model can do that is fitted with several restarts (`RestartedModel`)."""


def members_of(ability: Ability) -> tuple[str, ...]:
    """The attributes and methods that an ability promises."""
    return (*PROTOCOLS[ability].__annotations__, *_methods(ability))


def _methods(ability: Ability) -> list[str]:
    return [name for name in vars(PROTOCOLS[ability]) if not name.startswith("_")]


def abilities_of(model: Any) -> frozenset[Ability]:
    """What a model, or models of a class, can do.

    Parameters
    ----------
    model : estimator or class
        One of this library's, or derived from it: what the record says, without what the estimator's own parameters
        exclude (``BetaICA(inference="em")`` has no evidence). A class of the user's own that is built on the base
        classes can do what these can. Any other estimator can do what it has the methods for.

    Returns
    -------
    frozenset of Ability
        The abilities.

    Examples
    --------
    >>> from latentbits import AspectBernoulli
    >>> Ability.DENOISE in abilities_of(AspectBernoulli)
    True
    """
    kind = model if isinstance(model, type) else type(model)
    declared = _declared(kind)
    if declared is None:
        return frozenset(ability for ability in Ability if all(hasattr(model, name) for name in members_of(ability)))
    if model is kind:
        return declared
    return frozenset(ability for ability in declared if all(hasattr(model, name) for name in _methods(ability)))


def _declared(kind: type) -> frozenset[Ability] | None:
    """What the record of a class says, or else its base classes; None if none of them is ours."""
    from latentbits.models.spec import spec_of

    spec = spec_of(kind)
    if spec is not None:
        return spec.abilities
    found = [vars(base)["_abilities"] for base in kind.__mro__ if "_abilities" in vars(base)]
    return frozenset[Ability]().union(*found) if found else None
