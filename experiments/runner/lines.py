"""The stored claims as lines of the pages, and the one rule by which a published result is judged from them."""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum
from typing import Any, NamedTuple

from experiments.runner.claims import INSTEAD, NOT_RUN, Algorithm
from experiments.runner.published import PUBLISHED, not_run_yet
from experiments.runner.store import Result

__all__ = ["RULE", "Line", "Outcome", "Setting", "Status", "lines_of", "outcome_of", "statements"]

RULE = (
    "A published result comes out **whole** if all its claims do under one and the same named setting, on the paper's "
    "data; **under a condition** if one stated condition serves all its claims: a departure from the paper, or several "
    "joined (another setting, fewer rows and restarts, substitute public data); **in part** otherwise, with the share "
    "of claims that come out together. A setting names whose algorithm it is, the printed one or ours, and what the "
    "paper leaves open; the one in which most claims come out is named, with the number of those it is the best of. A "
    "changed claim is a row *what we find instead* and is never counted; a claim that was not run counts as not shown; "
    "a tie is a tie. A row that "
    "differs has one of four reasons: it *does not come out*, it *depends on the local optimum*, its *data are not "
    "public*, or it is *underspecified*, with the readings that were tried. Rows are judged from stored numbers by "
    "rules in code: `python -m experiments judge all`."
)


class Status(StrEnum):
    """How far a published result comes out."""

    WHOLE = "whole"
    UNDER_A_CONDITION = "under a condition"
    IN_PART = "in part"
    NOT_AT_ALL = "not at all"
    NOT_JUDGED = "not run yet"


class Setting(NamedTuple):
    """What claims come out under: whose algorithm, a choice that the paper leaves open, a departure from it."""

    algorithm: str
    setting: str
    condition: str

    def __str__(self) -> str:
        whose = "the algorithm as printed" if self.algorithm == Algorithm.PRINTED else "our algorithm"
        return ", ".join(filter(None, [whose, self.setting, self.condition]))


class Outcome(NamedTuple):
    """What follows for a published result: `n_good` of its `n_claims` come out together under the best `setting`."""

    status: Status
    setting: Setting
    n_good: int
    n_claims: int
    n_not_run: int
    n_settings: int
    substitute: bool

    @property
    def words(self) -> str:
        """The verdict of the result with its setting, or with its share."""
        tried = f" (best of {self.n_settings} settings)" * (self.n_settings > 1)
        where = f"{self.setting}{', on substitute data' * self.substitute}"
        if self.status in (Status.WHOLE, Status.UNDER_A_CONDITION):
            return f"**{self.status}**: {where}{tried}"
        share = f"{self.n_good} of {self.n_claims}{f', {self.n_not_run} not run' * bool(self.n_not_run)}"
        return f"**{self.status}**: {share} ({where}){tried}" if self.status == Status.IN_PART else f"**{self.status}**"


class Line(NamedTuple):
    """A row of a page. scale: "full, 20 jobs"; experiment: its name, "" if there is none."""

    result: str
    claim: dict[str, Any]
    scale: str
    experiment: str

    @property
    def verdict(self) -> str:
        """The verdict's words."""
        return str(self.claim["verdict"])

    @property
    def run(self) -> bool:
        """Whether it could be judged."""
        return self.verdict != NOT_RUN

    @property
    def counted(self) -> bool:
        """Whether it is a published claim, and not what is found instead of one."""
        return bool(self.result) and not self.claim.get("instead", False)

    @property
    def holds(self) -> bool:
        """Whether the published claim comes out in this row's setting."""
        return self.run and not self.verdict.startswith(("differs", "not better", f"{INSTEAD}:"))

    @property
    def reason(self) -> str:
        """Why it differs."""
        return str(self.claim["reason"]) if self.counted and self.run and not self.holds else ""

    @property
    def algorithm(self) -> str:
        """Whose algorithm the row is about."""
        return str(self.claim.get("algorithm") or Algorithm.PRINTED)

    @property
    def settings(self) -> list[Setting]:
        """The settings that it was run in: two if it makes no difference whose algorithm it is."""
        both = (Algorithm.PRINTED, Algorithm.OURS)
        rest = self.claim.get("setting") or "", self.claim.get("condition") or ""
        return [Setting(one, *rest) for one in (both if self.algorithm == Algorithm.BOTH else (self.algorithm,))]


def lines_of(results: dict[str, Result]) -> list[Line]:
    """All claims in the order of the papers, and what the papers claim that was not run yet."""
    lines = []
    for name, result in results.items():
        scale = f"{result['scale']}, {result['jobs']} job{'s' * (result['jobs'] != 1)}"
        lines += [Line(claim["result"], claim, scale, name) for claim in result["claims"]]
    stated = {(line.result, line.claim["statement"]) for line in lines}
    for published in PUBLISHED:
        pending = not_run_yet(published)
        if not pending and not any(line.result == published for line in lines):
            pending = [{"statement": PUBLISHED[published], "paper": "-", "why": "no experiment stores it"}]
        for one in pending:
            if (published, one["statement"]) not in stated:
                claim = {**one, "ours": "", "verdict": NOT_RUN, "substitute": "", "note": ""}
                lines.append(Line(published, claim, "-", ""))
    # Rows of one statement that come from different experiments stand together.
    by_result = {result: [line for line in lines if line.result == result] for result in (*PUBLISHED, "")}
    claims = (claim for own in by_result.values() for claim in sorted(statements(own), key=_is_instead))
    return [line for claim in claims for line in claim]


def _is_instead(claim: list[Line]) -> bool:
    """What is found instead stands behind what was published."""
    return bool(claim[0].claim.get("instead"))


def statements(lines: Iterable[Line]) -> list[list[Line]]:
    """Rows by what they say: those of one statement are one claim, in the paper's setting and in others."""
    found: dict[str, list[Line]] = {}
    for line in lines:
        found.setdefault(line.claim["statement"], []).append(line)
    return list(found.values())


def outcome_of(lines: Iterable[Line]) -> Outcome:
    """The rule: the setting in which the most claims come out together, of equals the one nearest to the paper."""
    claims = statements(line for line in lines if line.counted)
    rows = [line for claim in claims for line in claim if line.run]
    settings = dict.fromkeys(setting for line in rows for setting in line.settings)
    size = {"n_claims": len(claims), "n_not_run": len(claims) - len(statements(rows)), "n_settings": len(settings)}
    best = Outcome(Status.NOT_JUDGED, Setting("", "", ""), 0, **size, substitute=False)
    for setting in settings:
        own = [line for line in rows if setting in line.settings and line.holds]
        substitute, n_good = any(line.claim["substitute"] for line in own), len(statements(own))
        if not n_good:
            status = Status.NOT_AT_ALL
        elif n_good < len(claims):
            status = Status.IN_PART
        else:
            status = Status.UNDER_A_CONDITION if setting.condition or substitute else Status.WHOLE
        best = max(best, Outcome(status, setting, n_good, **size, substitute=substitute), key=_preference)
    return best


def _preference(outcome: Outcome) -> tuple[bool | int, ...]:
    setting = outcome.setting
    departs = bool(setting.condition), outcome.substitute, setting.algorithm != Algorithm.PRINTED, bool(setting.setting)
    return (outcome.status != Status.NOT_JUDGED, outcome.n_good, *(not one for one in departs))
