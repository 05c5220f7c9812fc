"""RESULTS.md: every published result a row, made from the stored results alone."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

from experiments.runner.claims import NOT_RUN
from experiments.runner.experiment import Found
from experiments.runner.files import write
from experiments.runner.published import PAPERS, PUBLISHED, paper_of
from experiments.runner.store import FULL, Result, scale_folder, stored

__all__ = ["page_file", "write_page"]

MISSING = "missing"
BEYOND = "Beyond the papers"
_HEAD = ("result", "claim", "paper", "ours", "verdict", "run", "experiment")
_VERDICTS = ("reproduced", "better", "differs", "not better", NOT_RUN, MISSING)


class Line(NamedTuple):
    """A row of the page. scale: "full, 20 jobs"; experiment: its name, "" if there is none."""

    result: str
    claim: dict[str, Any]
    scale: str
    experiment: str

    @property
    def verdict(self) -> str:
        """The verdict's words."""
        return str(self.claim["verdict"])


def page_file(folder: Path, out: Path) -> Path:
    """The page stands in the folder of experiments for their own results, and in OUT for any other."""
    return (folder if out.resolve() == (folder / "results").resolve() else out) / "RESULTS.md"


def write_page(folder: Path, out: Path, experiments: dict[str, tuple[Found, tuple[str, ...]]]) -> Path:
    """Write the page; `experiments` are all there are, with the published results that they declare."""
    file = page_file(folder, out)
    file.parent.mkdir(parents=True, exist_ok=True)
    results = {name: result for name, result in stored(out).items() if name in experiments}
    lines = _lines(results, {name: declared for name, (_, declared) in experiments.items()})
    links = {name: _link(found.file, file) for name, (found, _) in experiments.items()}
    parts = [_summary(lines, results), *_glance(lines)]
    for paper, title in {**PAPERS, "": BEYOND}.items():
        own = [line for line in lines if paper_of(line.result) == paper]
        if own:
            parts += [f"## {title}", _table(own, links)]
            parts += _notes(own)
    parts += _figures(results, out, file)
    write(file, "\n\n".join(parts) + "\n")
    return file


def _lines(results: dict[str, Result], declared: dict[str, tuple[str, ...]]) -> list[Line]:
    """All claims in the order of the papers; a published result without any stands as not run, or as missing."""
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


def _unanswered(published: str, declared: bool) -> dict[str, Any]:
    empty = {"paper": "-", "ours": "-", "substitute": "", "note": ""}
    return {**empty, "statement": PUBLISHED[published], "verdict": NOT_RUN if declared else MISSING}


def _summary(lines: list[Line], results: dict[str, Result]) -> str:
    """What the page is, and the verdicts counted."""
    of_papers = [line for line in lines if line.result]
    beyond = [line for line in lines if not line.result]
    quick = sum(result["scale"] != FULL for result in results.values())
    older = sum(result["jobs_of_older_code"] for result in results.values())
    text = [
        "# Published results, and ours",
        "Made by `latentbits experiments run`; not edited by hand. A verdict follows from the numbers by a rule in the "
        "experiment's code.",
        f"**{len(PUBLISHED)} published results, {_count(len(of_papers), 'row')}: {_counted(of_papers)}.**"
        + (f" {BEYOND}, {_count(len(beyond), 'row')}: {_counted(beyond)}." if beyond else ""),
    ]
    if quick:
        text.append(f"{quick} of {_count(len(results), 'experiment')} ran with --quick so far; their rows say so.")
    if older:
        text.append(f"{_count(older, 'job')} ran with older code of the library; --fresh runs them again.")
    return "\n\n".join(text)


def _glance(lines: list[Line]) -> list[str]:
    """One row for each published result: whether all, some or none of what it claims comes out."""
    rows = [("result", "what", "comes out", "of its claims"), ("---",) * 4]
    for published, title in PUBLISHED.items():
        claims = [line.verdict for line in lines if line.result == published]
        good = sum(verdict.startswith(("reproduced", "better")) for verdict in claims)
        bad = sum(verdict.startswith("differs") for verdict in claims)
        word = "not judged" if not good + bad else "yes" if not bad else "no" if not good else "partly"
        rows.append((published, _cell(title), f"**{word}**", f"{good} of {len(claims)}"))
    return ["## At a glance", "\n".join(f"| {' | '.join(row)} |" for row in rows)]


def _counted(lines: list[Line]) -> str:
    """Verdicts with their numbers, those on substitutes apart."""
    counts = Counter(line.verdict for line in lines)
    words = [word + tail for word in _VERDICTS for tail in ("", " on a substitute")]
    return ", ".join(f"{counts[word]} {word.replace('differs', 'differ')}" for word in words if counts[word])


def _count(n: int, thing: str) -> str:
    return f"{n} {thing}{'s' * (n != 1)}"


def _table(lines: list[Line], links: dict[str, str]) -> str:
    rows: list[Iterable[str]] = [_HEAD, ("---",) * len(_HEAD)]
    for line in lines:
        claim = line.claim
        told = [_cell(claim[part]) for part in ("statement", "paper", "ours")]
        link = f"[{line.experiment}]({links[line.experiment]})" if line.experiment else "-"
        rows.append((line.result or "-", *told, f"**{line.verdict}**", line.scale, link))
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def _notes(lines: list[Line]) -> list[str]:
    """What was tried where ours differs, and which data stood in."""
    notes = []
    for line in lines:
        claim = line.claim
        said = [f"on a substitute: {claim['substitute']}"] if claim["substitute"] else []
        if claim["note"]:
            said.append(claim["note"])
        elif line.verdict.startswith("differs"):
            said.append("not explained yet")
        if said:
            notes.append(
                f"- {line.result or line.experiment}, {_cell(claim['statement'])} ({line.verdict}): {'; '.join(said)}"
            )
    return ["Notes:", "\n".join(notes)] if notes else []


def _figures(results: dict[str, Result], out: Path, page: Path) -> list[str]:
    parts = []
    for name, result in sorted(results.items()):
        for figure in result["figures"]:
            place = _link(scale_folder(out, result["scale"]) / figure, page)
            parts.append(
                f"![{name}: {_cell(result['title'])}]({place})\n\n*{name} ({result['scale']}): {result['title']}*"
            )
    return ["## Figures", *parts] if parts else []


def _cell(text: str) -> str:
    """Text that can't break out of its cell."""
    return " ".join(text.split()).replace("|", "\\|")


def _link(target: Path, page: Path) -> str:
    return Path(os.path.relpath(target.resolve(), page.parent.resolve())).as_posix()
