"""Renderers of findings: `lines` for the terminal, `summary` for JSON, `block` for notebooks; the fourth is report/.

A renderer may leave things out; it doesn't compute, decide, or read sentences.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from latentbits import sentences, views
from latentbits.findings.account import SCHEMA, DataSummary, Findings, SuspectList
from latentbits.notes import Code, Note, Role
from latentbits.wording import place

N_LISTED = 5
"""Suspects of each kind that the terminal shows, if nobody asks for more."""


# ---- the terminal ----------------------------------------------------------------------------------------------------


def lines(findings: Findings, *, top: int | None = None) -> Iterator[str]:
    """What the terminal shows: the verdict, what was fitted and found, and how sure that is.

    With `top` the list of suspects is what was asked for: so many are shown, whatever the verdict says of them.
    """
    if findings.verdict is not None:
        yield from sentences.verdict(findings.verdict)
    for note in _shown(findings, top):
        yield sentences.sentence(note)
        if note.code is Code.SUSPECTED and note.arguments["count"]:
            for suspects in findings.suspects:
                if suspects.kind == note.arguments["kind"]:
                    yield from list_lines(findings, suspects, N_LISTED)
        elif note.code in (Code.LISTED, Code.UNSEEN_LISTED):
            for suspects in findings.suspects:
                yield from list_lines(findings, suspects, top or N_LISTED)


def _shown(findings: Findings, top: int | None) -> Iterator[Note]:
    roles = (Role.LEAD, Role.FOUND, Role.DATA, Role.SURE)
    if top is None:
        return findings.said(*roles)
    unasked = (Code.RANKED_ALL_THE_SAME, Code.NOTHING_TO_LIST)
    return (note for note in findings.notes if note.role in roles and note.code not in unasked)


def list_lines(findings: Findings, suspects: SuspectList, top: int) -> Iterator[str]:
    """The first suspects, by name."""
    for n, (row, column) in enumerate(_labels(findings, suspects, top)):
        places = _named("row", row, suspects.rows[n]), _named("column", column, suspects.columns[n])
        probability = None if suspects.probability is None else float(suspects.probability[n])
        yield sentences.suspect(float(suspects.score[n]), *places, probability)


def _named(what: str, label: str, position: int) -> str:
    return label if label == place(what, position) else sentences.named(what, label)


class Brief(NamedTuple):
    """What fits a glance: a badge, the finding, a line of numbers, the first suspects, and what else was found.

    Attributes
    ----------
    badge, headline : str
        How clear it is, and what.
    numbers : str
        What was found, in one line.
    heads : tuple of str
        Of the columns of `suspects`: row, column, score, and what the probability is of.
    suspects : list of tuple of str
        Cells; none where the verdict finds nothing, unless they were asked for.
    found : list of str
        Sentences: why the model was chosen, and what was found where there are no suspects to list.
    """

    badge: str
    headline: str
    numbers: str
    heads: tuple[str, ...]
    suspects: list[tuple[str, ...]]
    found: list[str]


def brief(findings: Findings, *, top: int = N_LISTED, asked: bool = False) -> Brief:
    """The short form; `top` suspects of the first kind, whatever the verdict says if they were `asked` for."""
    numbers: list[sentences.Number] = []  # without a verdict the headline says what was found
    if findings.verdict is not None:
        numbers = sentences.found_numbers(findings)[:2] if findings.has_evidence else sentences.skill(findings.verdict)
    shown = "; ".join(f"{value} {what} ({beside})" if beside else f"{value} {what}" for value, what, beside in numbers)
    listed = findings.suspects[0] if findings.suspects else None
    heads: tuple[str, ...] = ()
    suspects: list[tuple[str, ...]] = []
    if listed is not None and (asked or has_suspects(findings)):
        heads = ("row", "column", "score", *([] if listed.meaning is None else [listed.meaning]))
        suspects = list(_cells(findings, listed, top))
    judged = findings.verdict is not None and not findings.has_evidence
    chosen = [note for note in findings.notes[:1] if note.code is Code.MODEL_CHOSEN]
    size = findings.notes[len(chosen)]  # which was read
    why = chosen if findings.verdict is not None else []  # without a verdict it is the headline
    said = [] if suspects or judged else [note for note in findings.said(Role.FOUND) if note is not size]
    found = [sentences.sentence(note) for note in (*why, *said)]
    return Brief(sentences.BADGES[findings.level], sentences.headline(findings), shown, heads, suspects, found)


def has_suspects(findings: Findings) -> bool:
    """Whether there are cells worth a look: the verdict finds something, and some cells are suspected, or ranked."""
    if not findings.has_evidence or not findings.suspects or not len(findings.suspects[0]):
        return False
    return "suspected" not in findings.facts or findings.facts["suspected"].value[findings.suspects[0].kind] > 0


def _cells(findings: Findings, suspects: SuspectList, top: int) -> Iterator[tuple[str, ...]]:
    for n, (row, column) in enumerate(_labels(findings, suspects, top)):
        probability = [] if suspects.probability is None else [f"{suspects.probability[n]:.2f}"]
        yield (str(row), str(column), f"{suspects.score[n]:.2f}", *probability)


def _labels(findings: Findings, suspects: SuspectList, top: int) -> Iterator[tuple[Any, Any]]:
    """Row and column of the first suspects, as the table calls them."""
    table = findings.tables["suspects"]
    own = table["kind"] == suspects.kind if "kind" in table else slice(None)
    return iter(table.loc[own, ["row", "column"]].head(top).itertuples(index=False, name=None))


# ---- JSON ------------------------------------------------------------------------------------------------------------


def summary(findings: Findings) -> dict[str, Any]:
    """What summary.json holds: each fact by its name, and `schema`, raised when a key changes its meaning or goes."""
    model, chosen = findings.model, findings.selection
    found: dict[str, Any] = {} if findings.verdict is None else {"verdict": findings.verdict.to_dict()}
    found |= {
        "schema": SCHEMA,
        "model": model.name,
        "versions": dict(model.versions),
        "parameters": dict(model.parameters),
        "data": _data(findings.data),
        **{
            name: _plain(fact.value)
            for name, fact in findings.facts.items()
            if findings.predicts or name != "suspected"
        },
    }
    if findings.part is not None:
        found["part"] = dict(findings.part)
    if chosen is not None:
        choices = [_plain(choice) for choice in chosen.choices]
        found["selection"] = {"tried": list(chosen.tried), "best": chosen.best, "seed": chosen.seed, "choices": choices}
    if findings.notes[0].code is Code.MODEL_CHOSEN:
        found["choice"] = _plain(findings.notes[0].arguments)
    if findings.shape is not None:
        found["shape"] = list(findings.shape)
    notes = list(findings.said(Role.WARNING))
    found |= {
        "notes": [note.arguments["text"] for note in notes],
        "note_codes": [str(note.code) for note in notes],
        "seconds": dict(findings.seconds),
    }
    return found


def _data(data: DataSummary) -> dict[str, Any]:
    about = {"fingerprint": data.checksum, "rows": data.rows, "columns": data.columns}
    counts = {"ones": data.ones, "zeros": data.zeros, "missing": data.missing, "density": data.density}
    about |= counts if data.density is not None else {"missing": data.missing}
    known = {"constant_columns": data.constant_columns, "file": data.file, "reading": data.reading, "marks": data.marks}
    return {
        **about,
        "fitted": data.is_fitted,
        **{name: _plain(value) for name, value in known.items() if value is not None},
    }


def _plain(value: Any) -> Any:
    """A value as JSON has it; a note by its sentence."""
    if isinstance(value, Note):
        return sentences.sentence(value)
    if isinstance(value, Mapping):
        return {key: _plain(part) for key, part in value.items()}
    return [_plain(part) for part in value] if isinstance(value, tuple | list) else value


# ---- notebooks -------------------------------------------------------------------------------------------------------


def block(findings: Findings) -> str:
    """What a notebook shows: the headline, the short answer, how sure it is, and the first suspects."""
    first = None if findings.verdict is not None else findings.notes[0]  # which is the headline then
    said = [note for note in findings.said(Role.LEAD, Role.ANSWER, Role.SURE) if note is not first]
    parts = []
    if findings.predicts and "suspects" in findings.tables:
        table = findings.tables["suspects"]
        shown = table.head(N_LISTED)
        columns = [name for name in ("row", "column", "score") if name in table]
        parts.append(views.table(columns, shown[columns].to_numpy(object).tolist(), more=len(table) - len(shown)))
    return views.block(sentences.headline(findings), [sentences.sentence(note) for note in said], *parts)
