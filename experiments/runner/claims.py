"""A paper's claims, our results, and the verdict that follows from a rule in code."""

from __future__ import annotations

import statistics
from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

__all__ = ["Claim", "Reason", "count_of", "mean_sd", "median_range"]

NOT_RUN = "not run"


class Reason(StrEnum):
    """Why a published claim is not reproduced. All but the last need evidence that a reader can run.

    A proof may be that what is claimed is not identifiable, or that it contradicts what can be shown.
    """

    DATA = "data not public"
    OPTIMUM = "depends on a local optimum"
    PROOF = "proof against it"
    UNEXPLAINED = "unexplained"


@dataclass(frozen=True, kw_only=True)
class Claim:
    """One row of the page of results.

    Attributes
    ----------
    statement : what is claimed, in our own words.
    ours : what we find, with its spread; text made from numbers (`mean_sd`, `median_range`, `count_of`).
    holds : whether ours agrees, by a rule in code; None if it could not be judged, and `note` says why.
    result : the published result it belongs to, such as "AB 1"; "" if it goes beyond the papers.
    paper : the paper's value or words.
    better : whether ours is better than the paper's, by a rule in code.
    substitute : the public data used instead of the paper's, which are not public.
    condition : what ours needs that the paper doesn't say, in a few words: a reading of its text, another setting.
        Claims of one statement are one claim in several settings: it is reproduced under a condition if one of them is.
    reason : why it differs, if it does; unexplained if it isn't said.
    evidence : of that reason: a command, or a file of the repository such as "tests/models/aspect/test_noise.py::name".
    note : what was tried and found, above all where ours differs.

    Examples
    --------
    >>> Claim(result="AB 1", statement="AIC picks K on fossils", paper="4", ours="4", holds=True).verdict
    'reproduced'
    >>> Claim(statement="AUC: suspicion above NMF", ours="0.85 against 0.79", holds=False).verdict
    'not better'
    >>> Claim(result="AB 1", statement="AIC picks K on text", paper="5", ours="4", holds=False).reason.value
    'unexplained'
    """

    statement: str
    ours: str
    holds: bool | None
    result: str = ""
    paper: str = "-"
    better: bool = False
    substitute: str = ""
    condition: str = ""
    reason: Reason | None = None
    evidence: str = ""
    note: str = ""

    def __post_init__(self) -> None:
        if self.reason not in (None, Reason.UNEXPLAINED) and not self.evidence:
            raise ValueError(f'"{self.statement}" has a reason to differ ({self.reason}), but no evidence for it')
        # Rules over tables give NumPy booleans, which JSON can't encode.
        object.__setattr__(self, "holds", None if self.holds is None else bool(self.holds))
        object.__setattr__(self, "better", bool(self.better))
        if self.holds is not False or not self.result:  # a reason is written before the verdict is known
            object.__setattr__(self, "reason", None)
            object.__setattr__(self, "evidence", "")
        elif self.reason is None:
            object.__setattr__(self, "reason", Reason.UNEXPLAINED)

    @property
    def verdict(self) -> str:
        """The verdict in plain words."""
        if self.holds is None:
            return NOT_RUN
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
