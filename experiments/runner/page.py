"""RESULTS.md with one row for each published result, and a page of rows for each paper: from stored results alone."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

from experiments.runner.claims import NOT_RUN, Algorithm, Reason
from experiments.runner.experiment import Found
from experiments.runner.files import write
from experiments.runner.lines import RULE, Line, Outcome, Status, lines_of, outcome_of, statements
from experiments.runner.published import INSTRUCTIVE, PAPERS, PUBLISHED, paper_of
from experiments.runner.store import FULL, Result, scale_folder, stored

__all__ = [
    "differences_part",
    "glance_part",
    "in_two_sentences",
    "numbers_part",
    "page_file",
    "pages",
    "paper_part",
    "write_page",
]

BEYOND = "Beyond the papers"
TITLES = {**PAPERS, "": BEYOND}
_HEAD = ("claim", "printed", "as printed by us", "ours", "verdict", "why")
_HEAD_BEYOND = ("claim", "ours", "verdict", "why", "experiment")
_SAME, _ONLY_OURS = "same", "only with ours: "

Experiments = dict[str, Found]


def page_file(folder: Path, out: Path) -> Path:
    """The page is written to the folder of experiments for their own results, and to OUT for any other."""
    return (folder if out.resolve() == (folder / "results").resolve() else out) / "RESULTS.md"


def write_page(folder: Path, out: Path, experiments: Experiments) -> Path:
    """Write the pages, and return the first; `experiments` are all there are."""
    for file, text in pages(folder, out, experiments).items():
        file.parent.mkdir(parents=True, exist_ok=True)
        write(file, text)
    return page_file(folder, out)


def pages(folder: Path, out: Path, experiments: Experiments) -> dict[Path, str]:
    """The text of every page, that of all published results first."""
    results = {name: result for name, result in stored(out).items() if name in experiments}
    lines, top, found = lines_of(results), page_file(folder, out), {}
    titles = {paper: title for paper, title in TITLES.items() if _of_paper(paper, lines)}
    for paper, title in titles.items():
        file = _paper_file(out, paper)
        parts = [f"# {title}", f"[All published results]({_link(top, file)})"]
        parts += paper_part(paper, lines, experiments, folder, file)
        names = {line.experiment for line in _of_paper(paper, lines)}
        found[file] = "\n\n".join([*parts, *_figures(names, results, out, file)]) + "\n"
    index = [f"- [{title}]({_link(_paper_file(out, paper), top)})" for paper, title in titles.items()]
    links = {paper: _link(_paper_file(out, paper), top) for paper in titles}
    parts = [
        "# Published results and their reproduction",
        numbers_part(lines, results),
        "## Five instructive differences",
        differences_part(lines, out, top),
        "## One row per result",
        glance_part(lines, links),
        "## Claim by claim",
        "\n".join(index),
    ]
    return {top: "\n\n".join(parts) + "\n", **found}


def _paper_file(out: Path, paper: str) -> Path:
    return out / f"{(paper or 'beyond').lower().replace(' ', '_')}.md"


def _of_paper(paper: str, lines: list[Line]) -> list[Line]:
    return [line for line in lines if paper_of(line.result) == paper]


# ---- all published results -----------------------------------------------------------------------------------------


def outcomes(lines: list[Line]) -> dict[str, Outcome]:
    """What follows for each published result, by the rule."""
    return {name: outcome_of(line for line in lines if line.result == name) for name in PUBLISHED}


def in_two_sentences(lines: list[Line]) -> str:
    """How many published results come out as printed, how many only with ours or on other data, how many not."""
    found = outcomes(lines)
    whole = [name for name, one in found.items() if one.status == Status.WHOLE]
    printed = sum(found[name].setting.algorithm == Algorithm.PRINTED for name in whole)
    under, part = (sum(one.status == status for one in found.values()) for status in _AFTER_WHOLE)
    rest = len(found) - len(whole) - under - part
    return (
        f"Of {len(PUBLISHED)} published results {printed} come out whole with the algorithm as printed, "
        f"{len(whole) - printed} whole only with ours, and {under} under a stated condition such as substitute data. "
        f"{part} come out in part and {rest} not at all or are not run yet."
    )


_AFTER_WHOLE = (Status.UNDER_A_CONDITION, Status.IN_PART)


def numbers_part(lines: list[Line], results: dict[str, Result]) -> str:
    """The rule, and the results, claims and rows counted."""
    papers, beyond = [line for line in lines if line.result], [line for line in lines if not line.result]
    quick = sum(result["scale"] != FULL for result in results.values())
    older = sum(result["jobs_of_older_code"] if "code" in result else result["jobs"] for result in results.values())
    n_jobs = sum(result["jobs"] for result in results.values())
    text = [RULE, f"**{in_two_sentences(lines)}**", _numbers(papers)]
    if beyond:
        good = sum(line.holds for line in beyond)
        text.append(f"Besides, {good} of {len(beyond)} claims of ours that go beyond the papers hold.")
    if quick:
        text.append(f"{quick} of {_count(len(results), 'experiment')} ran with --quick so far; their rows say so.")
    if older:
        text.append(
            f"{older:,} of {n_jobs:,} stored jobs ran with older code of the library, or don't say with which; "
            "`python -m experiments stale` lists them with the seconds that a new run takes."
        )
    return "\n\n".join(text)


def _numbers(lines: list[Line]) -> str:
    """Claims by verdict, and rows that differ by reason."""
    claims = statements(line for line in lines if line.counted)
    run = [claim for claim in claims if any(line.run for line in claim)]
    printed = sum(any(_as_printed(line) and line.holds for line in claim) for claim in run)
    some = sum(any(line.holds for line in claim) for claim in run)
    reasons = Counter(line.reason for line in lines if line.reason)
    unread = sum(line.reason == Reason.UNDERSPECIFIED and len(line.claim["readings"]) < 2 for line in lines)
    rows: list[Iterable[str]] = [
        ("claims", "number"),
        ("---", "---"),
        ("all", str(len(claims))),
        ("reproduced as printed, on the paper's data", str(printed)),
        ("reproduced only with ours, under a condition or on substitute data", str(some - printed)),
        ("reproduced in no setting", str(len(run) - some)),
        ("not run yet", str(len(claims) - len(run))),
    ]
    told = ", ".join(f"{reasons[reason]} {reason}" for reason in Reason if reasons[reason])
    why = f"Why rows differ: {told}; {unread} of the underspecified were read in one way only." if told else ""
    return "\n".join([_markdown(rows), "", why]).rstrip()


def _as_printed(line: Line) -> bool:
    """Whether a row is of the printed algorithm, the paper's data and no departure from what it says."""
    departs = line.claim.get("condition") or line.claim["substitute"]
    return line.algorithm != Algorithm.OURS and not departs


def differences_part(lines: list[Line], out: Path, page: Path) -> str:
    """The differences that teach most, each with its picture."""
    rows: list[Iterable[str]] = [("what differs", "picture"), ("---", "---")]
    for statement, words, picture in INSTRUCTIVE:
        line = next((line for line in lines if line.claim["statement"] == statement and line.reason), None)
        if line is not None:
            told = f"Printed: {line.claim['paper']}. Found: {line.claim['ours']}."
            shown = f"![{line.result}]({_link(out / picture, page)})" if (out / picture).is_file() else "-"
            rows.append((f"**{line.result}: {_cell(statement)}.** {_cell(words)} {_cell(told)}", shown))
    return _markdown(rows) if rows[2:] else "None was run yet."


def glance_part(lines: list[Line], links: dict[str, str]) -> str:
    """One row per published result: its verdict, and the setting in which it comes out or comes nearest."""
    rows: list[Iterable[str]] = [("result", "what", "verdict"), ("---",) * 3]
    papers = {paper_of(line.result) for line in lines}
    for name, outcome in outcomes(lines).items():
        if paper_of(name) not in papers:
            continue
        link = links.get(paper_of(name))
        rows.append((f"[{name}]({link})" if link else name, _cell(PUBLISHED[name]), _cell(outcome.words)))
    return _markdown(rows)


# ---- one paper -----------------------------------------------------------------------------------------------------


def paper_part(paper: str, lines: list[Line], experiments: Experiments, folder: Path, page: Path) -> list[str]:
    """The table of a paper's claims, and the notes on them; of what goes beyond the papers a simpler one."""
    own = _of_paper(paper, lines)
    links = {name: _link(found.file, page) for name, found in experiments.items()}
    if not paper:
        good = sum(line.holds for line in own)
        return [f"{good} of {len(own)} claims hold.", _beyond_table(own, links), *_notes(own)]
    return [glance_part(own, {}), _table(own, links, folder, page), *_notes(own)]


def _table(lines: list[Line], links: dict[str, str], folder: Path, page: Path) -> str:
    """A row for each claim in each setting, what the printed algorithm and ours find side by side.

    The name of its result is a link to the experiment.
    """
    groups: dict[tuple[str, ...], list[Line]] = {}
    for line in lines:
        claim = line.claim
        words = [str(claim.get(part) or "") for part in ("statement", "setting", "condition", "instead")]
        groups.setdefault((line.result, *words), []).append(line)
    rows: list[Iterable[str]] = [_HEAD, ("---",) * len(_HEAD)]
    for (result, statement, setting, condition, _), group in groups.items():
        about = "; ".join(filter(None, [setting, condition]))
        name = group[0].experiment
        shown = f"[{result}]({links[name]})" if name in links else result
        told = f"**{shown}** {_cell(statement)}" + (f" *({_cell(about)})*" if about else "")
        rows.append((told, _cell(group[0].claim["paper"]), *_side_by_side(group), _why(group, folder, page)))
    return _markdown(rows)


def _side_by_side(group: list[Line]) -> tuple[str, str, str]:
    """As printed by us, ours, and the verdict."""
    by = {line.algorithm: line for line in group}
    printed, ours = by.get(Algorithm.PRINTED) or by.get(Algorithm.BOTH), by.get(Algorithm.OURS)
    verdict = (printed if printed and (printed.holds or not ours) else ours or group[0]).verdict
    if ours and ours.counted and ours.holds and not (printed and printed.holds):
        verdict = _ONLY_OURS + verdict
    same = _SAME if Algorithm.BOTH in by else NOT_RUN
    return (
        _cell(printed.claim["ours"] or NOT_RUN) if printed else NOT_RUN,
        _cell(ours.claim["ours"]) if ours else same,
        f"**{verdict}**",
    )


def _why(group: list[Line], folder: Path, page: Path) -> str:
    """The reason of what differs, with our best evidence, or why it was not run.

    If only one of the two algorithms differs, or they do for different reasons, the words say which.
    """
    if not any(line.run for line in group):
        return _cell(group[0].claim.get("why") or _first_sentence(group[0].claim["note"]) or "-")
    told = {line.algorithm: _reason(line, folder, page) for line in group if line.reason}
    if len(set(told.values())) < 2 and all(line.reason for line in group):
        return next(iter(told.values()))
    return "; ".join(f"{algorithm}: {reason}" for algorithm, reason in told.items()) or "-"


def _reason(line: Line, folder: Path, page: Path) -> str:
    readings = f" ({'; '.join(line.claim['readings'])})" if line.claim.get("readings") else ""
    evidence = _evidence(line, folder, page)
    return _cell(f"*{line.reason}*{readings}: {line.claim['why']}") + (f" {evidence}" if evidence else "")


def _first_sentence(text: str) -> str:
    return " ".join(text.split()).partition(". ")[0].rstrip(".")


def _evidence(line: Line, folder: Path, page: Path) -> str:
    """What a reader can run or read besides the experiment itself."""
    evidence = line.claim.get("evidence", "")
    if not evidence or " " in evidence:
        return f"`{evidence}`" if evidence and f" {line.experiment} " not in evidence else ""
    place = folder.resolve().parent / evidence.partition("::")[0]
    return f"[{place.name}]({_link(place, page)})"


def _beyond_table(lines: list[Line], links: dict[str, str]) -> str:
    rows: list[Iterable[str]] = [_HEAD_BEYOND, ("---",) * len(_HEAD_BEYOND)]
    for line in lines:
        claim, name = line.claim, line.experiment
        about = "; ".join(filter(None, [claim.get("setting"), claim.get("condition")]))
        told = _cell(claim["statement"]) + (f" *({_cell(about)})*" if about else "")
        why = "-" if line.holds else _cell(_first_sentence(claim["note"]) or "-")
        shown = f"[{name}]({links[name]})" if name in links else name
        rows.append((told, _cell(claim["ours"]), f"**{line.verdict}**", why, f"{shown} ({line.scale})"))
    return _markdown(rows)


def _notes(lines: list[Line]) -> list[str]:
    """What was tried, and which substitute data were used; a note of several rows appears once. Folded on a site."""
    about: dict[str, list[str]] = {}
    for line in lines:
        claim = line.claim
        said = [f"on a substitute: {claim['substitute']}"] if claim["substitute"] else []
        if note := "; ".join([*said, *filter(None, [claim["note"]])]):
            about.setdefault(note, []).append(f"{line.result or line.experiment}, {_cell(claim['statement'])}")
    notes = [f"- {'; '.join(dict.fromkeys(subjects))}: {_cell(note)}" for note, subjects in about.items()]
    return [f"<details><summary>{len(notes)} notes</summary>", "\n".join(notes), "</details>"] if notes else []


def _figures(names: set[str], results: dict[str, Result], out: Path, page: Path) -> list[str]:
    parts = []
    for name, result in sorted(results.items()):
        for figure in result["figures"] if name in names else []:
            place = _link(scale_folder(out, result["scale"]) / figure, page)
            parts.append(
                f"![{name}: {_cell(result['title'])}]({place})\n\n*{name} ({result['scale']}): {result['title']}*"
            )
    return ["## Figures", *parts] if parts else []


def _markdown(rows: Iterable[Iterable[str]]) -> str:
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def _count(n: int, thing: str) -> str:
    return f"{n} {thing}{'s' * (n != 1)}"


def _cell(text: str) -> str:
    """Text that stays within its cell."""
    return " ".join(text.split()).replace("|", "\\|")


def _link(target: Path, page: Path) -> str:
    return Path(os.path.relpath(target.resolve(), page.parent.resolve())).as_posix()
