"""The content of a page about findings, as one dict that JSON can hold: the frame, and what is interactive in it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from latentbits import sentences
from latentbits.findings.account import Findings, components_checksum
from latentbits.findings.methods import methods_text
from latentbits.models.abilities import Ability, abilities_of
from latentbits.notes import Code, Level, Role
from latentbits.report import frame
from latentbits.report.geography import geography
from latentbits.report.workbench import ensemble_part, workbench

if TYPE_CHECKING:
    import pandas as pd

    from latentbits.findings.account import Figure
    from latentbits.notes import Note

_SHOWN_OF_ROWS = ("responses", "variation", "sites", "probabilities")
"""Tables that the page draws."""

_OF_CELLS = ("present", "seen_next", "curve", "reliability")
"""Tables of repeat visits that are for other programs, or drawn."""

N_TO_LOOK_FOR = 15
"""Cells of repeat visits that stand beside the picture."""

BETTER = {"aic": "lower", "bic": "lower", "evidence": "higher", "cv": "higher", "cells": "higher"}
"""Criteria of `select_order` that are drawn, and which way is better."""


def page_content(findings: Findings, *, ratings: dict[str, Any] | None = None) -> dict[str, Any]:
    """What the page shows of findings; `ratings` are what a page has saved as ratings.json.

    Models whose rows have weights on components get a workbench, an ensemble its list; all others are shown by their
    pictures and tables.
    """
    model, abilities = findings.subject.model, abilities_of(findings.subject.model)
    has_bench, is_ensemble = findings.subject.solved is not None, Ability.MEMBERS in abilities
    drawn_here = has_bench or is_ensemble
    restarts = findings.facts.get("restarts")
    stability = findings.facts.get("stability")
    chosen = findings.selection
    bench = workbench(findings, ratings=ratings) if has_bench else None
    ensemble = ensemble_part(findings, ratings=ratings) if is_ensemble else None
    places = geography(findings)
    pictures = [
        _picture(figure, findings) for figure in findings.figures if not drawn_here or figure.shows is Code.MODEL_CHOSEN
    ]
    views = {"map": places["map"], "cells": drawn_here, "figure": pictures and not drawn_here}
    return {
        "model": findings.model.name,
        "file": findings.data.file or "",
        "size": sentences.shape(findings.data),
        "level": str(findings.level),
        "folded": findings.level in frame.FINDS_NOTHING and not _counts(findings),
        "components_fingerprint": components_checksum(model) if has_bench else None,
        "data_fingerprint": findings.data.checksum,
        "fitted": findings.data.is_fitted,
        "numbers": [list(number) for number in sentences.numbers(findings)],
        **_said(findings, drawn_here),
        "facts": list(sentences.how_fitted(findings)),
        "methods": _methods(findings),
        "restarts": _restarts(model) if restarts is not None else None,
        "stability": list(stability.value) if stability and restarts and restarts.value["made"] > 1 else None,
        "selection": None if chosen is None or chosen.table is None else _curves(chosen.table),
        "workbench": bench,
        "ensemble": ensemble,
        **places,
        "views": [name for name, shown in views.items() if shown],
        "beside": "suspects" if ensemble or (bench and "rated" in bench) else "components" if bench else "found",
        "pictures": pictures,
        "tables": [
            frame.table(name, table)
            for name, table in findings.tables.items()
            if not has_bench
            and name not in (_OF_CELLS if Ability.VISITS in abilities else _SHOWN_OF_ROWS)
            and not (is_ensemble and name == "suspects")  # what the page itself shows isn't shown again
        ],
    }


def _said(findings: Findings, drawn_here: bool) -> dict[str, Any]:
    """The headline, its reasons, the answer below them, what is said further down, how sure it is, and warnings.

    If the model predicts nothing, the verdict stands alone: the answer goes down.
    """
    headline, *reasons = [""] if findings.verdict is None else sentences.verdict(findings.verdict)
    answer = list(findings.said(Role.ANSWER, Role.LEAD))
    found = [] if drawn_here else list(findings.said(Role.FOUND))
    if not findings.has_evidence and not _counts(findings):
        answer, found = [], list(findings.said(Role.LEAD, Role.FOUND))
    if not headline:
        headline = sentences.headline(findings)
        reasons = [sentences.sentence(note) for note in findings.notes if _is_evidence_against(note, findings)]
        answer, found = (
            [note for note in notes if note is not findings.notes[0] and not _is_evidence_against(note, findings)]
            for notes in (answer, found)
        )
    warned = [note for note in findings.said(Role.WARNING) if note.code is not Code.NO_NOISE_COMPONENT]  # FOUND says it
    parts = {"answer": answer, "lines": found, "sure": findings.said(Role.SURE, Role.ASIDE), "notes": warned}
    said = {name: [sentences.sentence(note).strip() for note in notes] for name, notes in parts.items()}
    if _counts(findings):
        first = findings.tables["suspects"].head(N_TO_LOOK_FOR)
        cells = zip(first["present"], first["seen_next"], first["row"], first["column"], strict=True)
        said["lines"] = [*said["lines"], *(f"{p:.2f}, {later:.2f}: {row}, {column}" for p, later, row, column in cells)]
    others = [] if findings.data.is_fitted or findings.verdict is None else [sentences.other_rows()]
    said["sure"] = [*reasons[1:], *said["sure"]]  # how cells were held out
    return {"headline": headline, "reasons": [*reasons[:1], *others], "predicts": findings.predicts, **said}


def _is_evidence_against(note: Note, findings: Findings) -> bool:
    """Whether it says why nothing was found, which stands below a headline without a verdict."""
    return note.code is Code.FACTOR_NATURE and findings.level is Level.NONE


def _counts(findings: Findings) -> bool:
    """Whether totals are the finding, which stand though no cell is predicted."""
    return Ability.VISITS in abilities_of(findings.subject.model)


def _methods(findings: Findings) -> str:
    """A paragraph to copy; with the verdict, where there is one."""
    choice = next((note.arguments for note in findings.notes if note.code is Code.MODEL_CHOSEN), None)
    return methods_text(findings.subject.model, verdict=findings.verdict, choice=choice)


def _restarts(model: Any) -> dict[str, list[Any]]:
    """Every restart's objective and iterations, the best first."""
    ordered = model.restarts_.sort_values("objective", ascending=False, kind="stable")
    return {
        "restart": ordered.index.tolist(),
        "objective": ordered["objective"].tolist(),
        "iterations": ordered["n_iter"].tolist(),
        "converged": ordered["converged"].tolist(),
    }


def _curves(selection: pd.DataFrame) -> list[dict[str, Any]]:
    """One curve for each criterion: numbers of components, values, and standard errors (of how far each is behind)."""
    curves = []
    for name, better in BETTER.items():
        if name not in selection:
            continue
        values = selection[name]
        errors = selection.get(f"{name}_behind_se", selection.get(f"{name}_se"))
        curves.append(
            {
                "criterion": sentences.CRITERIA[name],
                "better": better,
                "x": selection["n_components"].tolist(),
                "y": values.tolist(),
                "error": None if errors is None else errors.fillna(0.0).tolist(),
                "best": int(values.argmin() if better == "lower" else values.argmax()),
            }
        )
    return curves


def _picture(figure: Figure, findings: Findings) -> dict[str, str]:
    """A figure, with the finding that it shows as alternative text."""
    shown = [sentences.sentence(note) for note in findings.notes if note.code is figure.shows]
    return frame.picture(sentences.label(figure.key), " ".join(shown[:1]), figure.draw())
