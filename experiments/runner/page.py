"""RESULTS.md with one row for each published result, and a page of rows for each paper: from stored results alone."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

from experiments.runner.claims import NOT_RUN, Reason
from experiments.runner.experiment import Found
from experiments.runner.files import write
from experiments.runner.lines import MISSING, Line, Status, lines_of, statements, status_of
from experiments.runner.published import PAPERS, PUBLISHED, paper_of
from experiments.runner.store import FULL, Result, scale_folder, stored

__all__ = ["page_file", "pages", "write_page"]

BEYOND = "Beyond the papers"
_HEAD = ("result", "claim", "paper", "ours", "verdict", "because", "run", "experiment")
_VERDICTS = ("reproduced", "better", "differs", "not better", NOT_RUN, MISSING)
_WHOLE = "**fully**: "

Experiments = dict[str, tuple[Found, tuple[str, ...]]]


def page_file(folder: Path, out: Path) -> Path:
    """The page is written to the folder of experiments for their own results, and to OUT for any other."""
    return (folder if out.resolve() == (folder / "results").resolve() else out) / "RESULTS.md"


def write_page(folder: Path, out: Path, experiments: Experiments) -> Path:
    """Write the pages, and return the first; `experiments` are all there are, with the results that they declare."""
    for file, text in pages(folder, out, experiments).items():
        file.parent.mkdir(parents=True, exist_ok=True)
        write(file, text)
    return page_file(folder, out)


def pages(folder: Path, out: Path, experiments: Experiments) -> dict[Path, str]:
    """The text of every page, that of all published results first."""
    results = {name: result for name, result in stored(out).items() if name in experiments}
    lines = lines_of(results, {name: declared for name, (_, declared) in experiments.items()})
    top, found = page_file(folder, out), {}
    titles = {paper: title for paper, title in {**PAPERS, "": BEYOND}.items() if _of_paper(paper, lines)}
    for paper, title in titles.items():
        own, file = _of_paper(paper, lines), _paper_file(out, paper)
        links = {name: _link(one.file, file) for name, (one, _) in experiments.items()}
        parts = [f"# {title}", f"[All published results]({_link(top, file)})", f"{_counted(own)}."]
        parts += [_table(own, links, folder, file), *_notes(own)]
        figures = {line.experiment: results[line.experiment] for line in own if line.experiment in results}
        found[file] = "\n\n".join([*parts, *_figures(figures, out, file)]) + "\n"
    index = [f"- [{title}]({_link(_paper_file(out, paper), top)})" for paper, title in titles.items()]
    parts = [_summary(lines, results), _glance(lines, out, folder, top), "## Row by row", "\n".join(index)]
    return {top: "\n\n".join(parts) + "\n", **found}


def _paper_file(out: Path, paper: str) -> Path:
    return out / f"{(paper or 'beyond').lower().replace(' ', '_')}.md"


def _of_paper(paper: str, lines: list[Line]) -> list[Line]:
    return [line for line in lines if paper_of(line.result) == paper]


def _summary(lines: list[Line], results: dict[str, Result]) -> str:
    """What the page is, and the results and rows counted."""
    of_papers, beyond = [line for line in lines if line.result], [line for line in lines if not line.result]
    found = Counter(status_of(line for line in of_papers if line.result == published) for published in PUBLISHED)
    reasons = Counter(line.reason for line in of_papers if line.reason)
    quick = sum(result["scale"] != FULL for result in results.values())
    older = sum(result["jobs_of_older_code"] for result in results.values())
    text = [
        "# Published results and their reproduction",
        "Written by `python -m experiments run`; not edited by hand. A verdict follows from the numbers by a rule in "
        "the experiment's code, and a row that differs has one of four reasons, with its evidence. A claim may have "
        "several rows: in the paper's setting, and under conditions that the paper doesn't state (another reading of "
        "its text, substitute public data, another setting). It is reproduced if one of its rows is, and a result is "
        "fully reproduced if all its claims are.",
        f"**{len(PUBLISHED)} published results: {found[Status.COMES_OUT]} fully reproduced, "
        f"{found[Status.UNDER_CONDITIONS]} under stated conditions, {found[Status.DIFFERS]} partly or not at all. "
        f"Unexplained rows: {reasons[Reason.UNEXPLAINED]} of {len(of_papers)}.**",
        f"{_count(len(of_papers), 'row')} of the papers: {_counted(of_papers)}."
        + (" Why rows differ: " + _told(reasons) + "." if reasons else "")
        + (f" {BEYOND}, {_count(len(beyond), 'row')}: {_counted(beyond)}." if beyond else ""),
    ]
    if quick:
        text.append(f"{quick} of {_count(len(results), 'experiment')} ran with --quick so far; their rows say so.")
    if older:
        text.append(f"{_count(older, 'job')} ran with older code of the library; --fresh runs them again.")
    return "\n\n".join(text)


def _glance(lines: list[Line], out: Path, folder: Path, top: Path) -> str:
    """One row per published result; claims are counted, each in its best setting."""
    rows = [("result", "what", "reproduced", "under conditions", "not reproduced, because"), ("---",) * 5]
    for published, title in PUBLISHED.items():
        claims = statements(line for line in lines if line.result == published)
        by_status: dict[Status, list[list[Line]]] = {status: [] for status in Status}
        for claim in claims:
            by_status[status_of(claim)].append(claim)
        status = status_of(line for claim in claims for line in claim)
        name = f"[{published}]({_link(_paper_file(out, paper_of(published)), top)})"
        good = f"{len(by_status[Status.COMES_OUT])} of {_count(len(claims), 'claim')}"
        conditions = _conditions(by_status[Status.UNDER_CONDITIONS])
        if status == Status.COMES_OUT:
            good = _WHOLE + good
        elif status == Status.UNDER_CONDITIONS:
            conditions = _WHOLE + conditions
        elif status == Status.NOT_JUDGED:
            good = "not judged"
        rows.append((name, _cell(title), good, conditions, _failures(by_status[Status.DIFFERS], folder, top)))
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def _conditions(claims: list[list[Line]]) -> str:
    """The conditions under which claims are reproduced, with the number of those claims."""
    rows = [next(line for line in claim if line.status == Status.UNDER_CONDITIONS) for claim in claims]
    counts = Counter(_cell("; ".join(line.conditions)) for line in rows)
    return "<br>".join(f"{n} {words}" for words, n in counts.items()) or "-"


def _failures(claims: list[list[Line]], folder: Path, page: Path) -> str:
    """Why claims are reproduced in no setting, with the number of those claims."""
    rows = [next(line for line in claim if line.status == Status.DIFFERS) for claim in claims]
    counts = Counter(_because(line, folder, page) for line in rows)
    return "<br>".join(f"{n} {words}" for words, n in counts.items()) or "-"


def _because(line: Line, folder: Path, page: Path) -> str:
    """The reason why a row differs, with its evidence: a link, or a command."""
    evidence = line.claim.get("evidence", "")
    place = folder.resolve().parent / evidence.partition("::")[0]
    if evidence and " " not in evidence:
        return f"{line.reason} ([{evidence}]({_link(place, page)}))"
    return f"{line.reason} (`{evidence}`)" if evidence else line.reason or "-"


def _counted(lines: list[Line]) -> str:
    """Verdicts with their numbers, those on substitutes and under conditions apart."""
    counts = Counter(line.verdict for line in lines)
    order = sorted(counts, key=lambda verdict: ([not verdict.startswith(word) for word in _VERDICTS], verdict))
    return _told({word.replace("differs", "differ"): counts[word] for word in order})


def _told(counts: dict[str, int]) -> str:
    return ", ".join(f"{n} {word}" for word, n in counts.items())


def _count(n: int, thing: str) -> str:
    return f"{n} {thing}{'s' * (n != 1)}"


def _table(lines: list[Line], links: dict[str, str], folder: Path, page: Path) -> str:
    rows: list[Iterable[str]] = [_HEAD, ("---",) * len(_HEAD)]
    for line in lines:
        claim = line.claim
        told = [_cell(claim[part]) for part in ("statement", "paper", "ours")]
        if condition := claim.get("condition"):
            told[0] += f" *({_cell(condition)})*"
        link = f"[{line.experiment}]({links[line.experiment]})" if line.experiment else "-"
        because = _because(line, folder, page)
        rows.append((line.result or "-", *told, f"**{line.verdict}**", because, line.scale, link))
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def _notes(lines: list[Line]) -> list[str]:
    """What was tried where ours differs, and which substitute data were used; a note of several rows appears once."""
    about: dict[str, list[str]] = {}
    for line in lines:
        claim = line.claim
        said = [f"on a substitute: {claim['substitute']}"] if claim["substitute"] else []
        if note := "; ".join([*said, *filter(None, [claim["note"]])]):
            subject = f"{line.result or line.experiment}, {_cell(claim['statement'])} ({line.verdict})"
            about.setdefault(note, []).append(subject)
    notes = [f"- {'; '.join(dict.fromkeys(subjects))}: {_cell(note)}" for note, subjects in about.items()]
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
    """Text that stays within its cell."""
    return " ".join(text.split()).replace("|", "\\|")


def _link(target: Path, page: Path) -> str:
    return Path(os.path.relpath(target.resolve(), page.parent.resolve())).as_posix()
