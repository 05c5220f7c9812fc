"""The stored claims as lines of the pages, and what follows for a published result from those about it."""

from __future__ import annotations

from collections.abc import Iterable
from enum import IntEnum
from typing import Any, NamedTuple

from experiments.runner.claims import NOT_RUN, Reason
from experiments.runner.published import PUBLISHED
from experiments.runner.store import Result

__all__ = ["MISSING", "Line", "Status", "lines_of", "statements", "status_of"]

MISSING = "missing"


class Status(IntEnum):
    """How far a published result, or one claim of it, is reproduced; a result is as good as its worst claim."""

    NOT_JUDGED = 0
    DIFFERS = 1
    UNDER_CONDITIONS = 2
    COMES_OUT = 3


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
    def reason(self) -> str:
        """Why it differs; what was stored without a reason is unexplained."""
        return str(self.claim.get("reason") or Reason.UNEXPLAINED) if self.verdict.startswith("differs") else ""

    @property
    def conditions(self) -> list[str]:
        """Conditions that the paper doesn't state."""
        stand_in = ["on substitute public data"] if self.claim["substitute"] else []
        return [*stand_in, *filter(None, [self.claim.get("condition", "")])]

    @property
    def status(self) -> Status:
        """How far this row alone is reproduced."""
        if self.verdict in (NOT_RUN, MISSING):
            return Status.NOT_JUDGED
        if self.reason:
            return Status.DIFFERS
        return Status.UNDER_CONDITIONS if self.conditions else Status.COMES_OUT


def lines_of(results: dict[str, Result], declared: dict[str, tuple[str, ...]]) -> list[Line]:
    """All claims in the order of the papers; a published result without any is listed as not run, or as missing."""
    lines = []
    for name, result in results.items():
        scale = f"{result['scale']}, {result['jobs']} job{'s' * (result['jobs'] != 1)}"
        lines += [Line(claim["result"], claim, scale, name) for claim in result["claims"]]
    for published in PUBLISHED:
        if not any(line.result == published for line in lines):
            names = [name for name, covered in declared.items() if published in covered]
            lines.append(Line(published, _unanswered(published, bool(names)), "-", names[0] if names else ""))
    order = {result: place for place, result in enumerate((*PUBLISHED, ""))}
    return sorted(lines, key=lambda line: order[line.result])


def statements(lines: Iterable[Line]) -> list[list[Line]]:
    """Rows by what they say: those of one statement are one claim, in the paper's setting and in others."""
    found: dict[str, list[Line]] = {}
    for line in lines:
        found.setdefault(line.claim["statement"], []).append(line)
    return list(found.values())


def status_of(lines: Iterable[Line]) -> Status:
    """A claim is as good as its best row, a result as good as its worst claim."""
    return min(max(line.status for line in rows) for rows in statements(lines))


def _unanswered(published: str, declared: bool) -> dict[str, Any]:
    empty = {"paper": "-", "ours": "-", "substitute": "", "note": ""}
    return {**empty, "statement": PUBLISHED[published], "verdict": NOT_RUN if declared else MISSING}
