"""A paper's claims beside our results, and the verdict that follows by a rule in code."""

from __future__ import annotations

import statistics
from collections.abc import Iterable
from dataclasses import dataclass

__all__ = ["Claim", "count_of", "mean_sd", "median_range"]

NOT_RUN = "not run"


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
    substitute : the public data that stand in for the paper's, which are not public.
    note : what was tried and found, above all where ours differs.

    Examples
    --------
    >>> Claim(result="AB 1", statement="AIC picks K on fossils", paper="4", ours="4", holds=True).verdict
    'reproduced'
    >>> Claim(statement="AUC: suspicion above NMF", ours="0.85 against 0.79", holds=False).verdict
    'not better'
    """

    statement: str
    ours: str
    holds: bool | None
    result: str = ""
    paper: str = "-"
    better: bool = False
    substitute: str = ""
    note: str = ""

    def __post_init__(self) -> None:
        # Rules over tables give NumPy booleans, which JSON can't encode.
        object.__setattr__(self, "holds", None if self.holds is None else bool(self.holds))
        object.__setattr__(self, "better", bool(self.better))

    @property
    def verdict(self) -> str:
        """The verdict in plain words."""
        if self.holds is None:
            return NOT_RUN
        if not self.result:
            return "better" if self.holds else "not better"
        word = "differs" if not self.holds else "better" if self.better else "reproduced"
        return f"{word} on a substitute" if self.substitute else word


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
