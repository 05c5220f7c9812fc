"""What can be said of a fit, as data: a code and its arguments. The words are made in `sentences`, at the very end.

Imports nothing but the standard library.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum, auto
from types import MappingProxyType
from typing import Any


class Level(StrEnum):
    """How clear the answer is to the question whether there is anything to find."""

    CLEAR = auto()
    WEAK = auto()
    NEIGHBOURS = auto()
    NONE = auto()
    UNKNOWN = auto()


class Role(StrEnum):
    """What a note is to a reader.

    LEAD is found and part of the short answer too, ANSWER is said there only; DATA is about how the data were read,
    and ASIDE is said where there is room.
    """

    LEAD = auto()
    ANSWER = auto()
    FOUND = auto()
    DATA = auto()
    SURE = auto()
    ASIDE = auto()
    WARNING = auto()


class Code(StrEnum):
    """One thing that can be said; `latentbits.sentences` has a function of the same name for each."""

    # warnings
    WARNING = auto()
    INTERRUPTED = auto()
    NO_NOISE_COMPONENT = auto()
    # what was fitted to what
    COMPONENTS_FITTED = auto()
    PART_OF_ROWS = auto()
    CELLS_PREDICTED = auto()
    ROW_LABELS = auto()
    KNOWN_OF_ROWS = auto()
    MARKS = auto()
    # components
    CAUSES = auto()
    EXTINCT = auto()
    MANY_PHANTOMS = auto()
    PHANTOM = auto()
    NO_PHANTOM = auto()
    NOISE_NOT_EARNED = auto()
    NOISE_GIVEN = auto()
    NOISE_TRIED = auto()
    INFORMATION_CRITERIA = auto()
    # cells
    SUSPECTED = auto()
    SUSPECTED_AND_STABLE = auto()
    RANKED = auto()
    LISTED = auto()
    NOTHING_TO_LIST = auto()
    RANKED_ALL_THE_SAME = auto()
    PROBABILITY_MEANS = auto()
    CENSUS = auto()
    # couplings
    COUPLINGS_FITTED = auto()
    COUPLINGS_LISTED = auto()
    COUPLING = auto()
    STRONGEST_COUPLING = auto()
    UNCOUPLED = auto()
    # sources
    SOURCES_FITTED = auto()
    SEGMENTS_CUT = auto()
    SOURCE = auto()
    MORE_SOURCES = auto()
    PAIR_FIT = auto()
    PAIR_FIT_UNKNOWN = auto()
    CONFUSED_SOURCES = auto()
    CLEAR_ENTRIES = auto()
    # repeat visits
    SURVEYED = auto()
    DETECTED = auto()
    RICHEST_GAP = auto()
    NOT_COUNTED = auto()
    UNSEEN_LISTED = auto()
    DRAWS = auto()
    # binary factors
    FACTORS_FITTED = auto()
    NO_FACTOR = auto()
    FACTOR_NATURE = auto()
    FACTOR_STATES = auto()
    FACTOR = auto()
    BIC_PREFERS = auto()
    ALL_FACTORS_KEPT = auto()
    # clusters
    CLUSTERS_FOUND = auto()
    CLUSTER = auto()
    CLUSTER_SOURCE = auto()
    ADJACENT_CLUSTERS = auto()
    ALL_CLUSTERS_KEPT = auto()
    ALL_SOURCES_KEPT = auto()
    TWO_HUMPS = auto()
    BOUND_CHARGES = auto()
    # how sure it is
    RESTARTS = auto()
    NO_RESTARTS = auto()
    CHAINS = auto()
    STABILITY = auto()
    EQUAL_MEMBERS = auto()
    MEMBER_WEIGHTS = auto()
    RELIABILITY = auto()
    ROW_NOISE = auto()
    USE_ENSEMBLE_TO_RANK = auto()
    USE_COMPONENTS_TO_EXPLAIN = auto()
    # why a verdict can't be given
    ONE_LINE = auto()
    SAME_CELLS = auto()
    TOO_FEW_CELLS = auto()
    SHORT_SEGMENT = auto()
    NOTHING_HELD_OUT = auto()
    DEGENERATE = auto()
    TWO_VISITS = auto()
    FEW_FIRST_SIGHTINGS = auto()
    # how a model or a number was chosen
    MODEL_CHOSEN = auto()
    CHOSEN = auto()
    CHOSEN_AMONG = auto()
    CHOICE = auto()
    CRITERIA_DIFFER = auto()
    INDEPENDENT_CHOSEN = auto()
    # what a list finds of ones that were knocked out
    CHECKED = auto()


@dataclass(frozen=True)
class Note:
    """One thing to say: a code, its arguments, and what it is to a reader.

    Attributes
    ----------
    code : Code
        What is said.
    arguments : mapping of str to value
        With what; numbers, names and other data, read-only.
    role : Role
        What it is to a reader.
    is_evidence : bool
        Whether it would be read as evidence of hidden causes: it isn't said where the verdict finds none.
    """

    code: Code
    arguments: Mapping[str, Any] = field(default_factory=dict)
    role: Role = Role.FOUND
    is_evidence: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "arguments", frozen(self.arguments))


def frozen(value: Any) -> Any:
    """The same value, which nobody can change: mappings and lists of mappings and lists become read-only."""
    if isinstance(value, Mapping):
        return MappingProxyType({key: frozen(part) for key, part in value.items()})
    if isinstance(value, list | tuple) and not hasattr(value, "_fields"):
        return tuple(frozen(part) for part in value)
    return value
