"""A paper's claims, our results, and the verdict that follows from a rule in code."""

from __future__ import annotations

import statistics
from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

__all__ = ["Algorithm", "Claim", "Reason", "count_of", "mean_sd", "median_range"]

NOT_RUN = "not run"
INSTEAD = "what we find instead"


class Algorithm(StrEnum):
    """Whose algorithm a row is about; an accelerated one that has the same fixed points is as printed."""

    PRINTED = "as printed"
    OURS = "ours"
    BOTH = "both"
    """There is no difference between the two, or the claim isn't about the paper's algorithm but about a rival's."""


class Reason(StrEnum):
    """Why a published claim is not reproduced, each with evidence that a reader can run or read."""

    NO = "does not come out"
    OPTIMUM = "depends on the local optimum"
    DATA = "data not public"
    UNDERSPECIFIED = "underspecified"
    """The paper doesn't say what the outcome depends on; `readings` are those that were tried."""


@dataclass(frozen=True, kw_only=True)
class Claim:
    """One row of the pages of results.

    Attributes
    ----------
    statement : what is claimed, in our own words.
    ours : what we find, with its spread; text made from numbers (`mean_sd`, `median_range`, `count_of`).
    holds : whether ours agrees, by a rule in code; None if it could not be judged, and `note` says why.
    result : the published result it belongs to, such as "AB 1"; "" if it goes beyond the papers.
    paper : the paper's value or words.
    better : whether ours is better than the paper's, by a rule in code.
    algorithm : the one that the paper prints, ours, or both if that makes no difference.
    setting : a choice that the paper leaves open, in a few words. Claims of one result come out together only if they
        do under one and the same setting.
    condition : a departure from what the paper says, or several joined, in a few words.
    substitute : the public data used instead of the paper's, which are not public.
    instead : whether this is what we find instead of a published claim, if it holds; it is never counted as a
        reproduction.
    reason : why it differs, if it does.
    why : the same in one line, our best evidence; the first sentence of the note, if it isn't said.
    readings : of what is underspecified, which were tried.
    evidence : of the reason: a command, or a file of the repository such as "tests/models/aspect/test_noise.py::name".
        If it isn't said, it is the run of the experiment itself.
    note : what was tried and found.

    Examples
    --------
    >>> Claim(result="AB 1", statement="AIC picks K on fossils", paper="4", ours="4", holds=True).verdict
    'reproduced'
    >>> Claim(statement="AUC: suspicion above NMF", ours="0.85 against 0.79", holds=False).verdict
    'not better'
    >>> Claim(result="AB 1", statement="AIC picks 5", ours="4", holds=False, why="other posts").reason.value
    'does not come out'
    """

    statement: str
    ours: str
    holds: bool | None
    result: str = ""
    paper: str = "-"
    better: bool = False
    algorithm: Algorithm = Algorithm.PRINTED
    setting: str = ""
    condition: str = ""
    substitute: str = ""
    instead: bool = False
    reason: Reason | None = None
    why: str = ""
    readings: tuple[str, ...] = ()
    evidence: str = ""
    note: str = ""

    def __post_init__(self) -> None:
        if self.reason == Reason.UNDERSPECIFIED and not self.readings:
            raise ValueError(f'"{self.statement}" is called underspecified; say which readings were tried')
        # Rules over tables give NumPy booleans, which JSON can't encode.
        object.__setattr__(self, "holds", None if self.holds is None else bool(self.holds))
        object.__setattr__(self, "better", bool(self.better))
        if (
            self.holds is not False or not self.result or self.instead
        ):  # a reason is written before the verdict is known
            object.__setattr__(self, "reason", None)
            for name in ("why", "evidence"):
                object.__setattr__(self, name, "")
            object.__setattr__(self, "readings", ())
            return
        object.__setattr__(self, "reason", self.reason or Reason.NO)
        object.__setattr__(self, "why", self.why or self.note.partition(". ")[0].rstrip("."))
        if not self.why:
            raise ValueError(f'"{self.statement}" differs; say in one line why')

    @property
    def verdict(self) -> str:
        """The verdict in plain words."""
        if self.holds is None:
            return NOT_RUN
        if self.instead:
            return INSTEAD if self.holds else f"{INSTEAD}: doesn't hold"
        if not self.result:
            return "better" if self.holds else "not better"
        word = "differs" if not self.holds else "better" if self.better else "reproduced"
        return word + " on a substitute" * bool(self.substitute) + " under a condition" * bool(self.condition)


def mean_sd(values: Iterable[float], digits: int = 2) -> str:
    """Mean and standard deviation over runs; the value alone if there is one.

    Examples
    --------
    >>> mean_sd([0.82, 0.84, 0.86]), mean_sd([0.82])
    ('0.84 ± 0.02', '0.82')
    """
    found = _numbers(values)
    mean = f"{statistics.fmean(found):.{digits}f}"
    return mean if len(found) == 1 else f"{mean} ± {statistics.stdev(found):.{digits}f}"


def median_range(values: Iterable[float], digits: int = 2) -> str:
    """Median, and the smallest and largest in brackets.

    Examples
    --------
    >>> median_range([3, 1, 2], digits=0)
    '2 [1, 3]'
    """
    found = _numbers(values)
    middle, low, high = (f"{x:.{digits}f}" for x in (statistics.median(found), min(found), max(found)))
    return middle if len(found) == 1 else f"{middle} [{low}, {high}]"


def count_of(flags: Iterable[object]) -> str:
    """How many are true.

    Examples
    --------
    >>> count_of([True, False, True])
    '2 of 3'
    """
    found = [bool(flag) for flag in flags]
    return f"{sum(found)} of {len(found)}"


def _numbers(values: Iterable[float]) -> list[float]:
    found = [float(value) for value in values]
    if not found or any(x != x for x in found):
        raise ValueError(f"a spread needs numbers, got {found[:5]}; leave out what has no value first")
    return found
