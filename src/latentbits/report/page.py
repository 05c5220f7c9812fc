"""The page: its content as one dict that JSON can hold, and a template, a style sheet and scripts, in one file."""

from __future__ import annotations

import io
import json
from base64 import b64encode
from hashlib import sha256
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from jinja2 import Environment
from markupsafe import Markup

from latentbits import sentences
from latentbits.findings.account import Findings, components_checksum
from latentbits.models.abilities import Ability, abilities_of
from latentbits.notes import Code, Role
from latentbits.report.geography import geography
from latentbits.report.workbench import ensemble_part, workbench
from latentbits.storage.files import plain_scalar

if TYPE_CHECKING:
    import pandas as pd

    from latentbits.findings.account import Figure

N_TABLE_LINES = 50
_SHOWN_OF_ROWS = ("responses", "variation", "sites", "probabilities")
"""Tables that the page draws."""

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
    return {
        "model": findings.model.name,
        "file": findings.data.file or "",
        "components_fingerprint": components_checksum(model) if has_bench else None,
        "data_fingerprint": findings.data.checksum,
        "fitted": findings.data.is_fitted,
        **_said(findings, drawn_here),
        "facts": list(sentences.how_fitted(findings)),
        "restarts": _restarts(model) if restarts is not None else None,
        "stability": list(stability.value) if stability and restarts and restarts.value["made"] > 1 else None,
        "selection": None if chosen is None or chosen.table is None else _curves(chosen.table),
        "workbench": workbench(findings, ratings=ratings) if has_bench else None,
        "ensemble": ensemble_part(findings, ratings=ratings) if is_ensemble else None,
        **geography(findings),
        "pictures": [
            _picture(figure, findings)
            for figure in findings.figures
            if not drawn_here or figure.shows is Code.MODEL_CHOSEN
        ],
        "tables": [
            _table(name, table)
            for name, table in findings.tables.items()
            if not has_bench
            and name not in _SHOWN_OF_ROWS
            and not (is_ensemble and name == "suspects")  # what the page itself shows isn't shown again
        ],
    }


def _said(findings: Findings, drawn_here: bool) -> dict[str, Any]:
    """The verdict, the answer below it, what is said further down, how sure it is, and what was warned of.

    If the model predicts nothing, the verdict stands alone: the answer goes down.
    """
    verdict = [] if findings.verdict is None else sentences.verdict(findings.verdict)
    if verdict and not findings.data.is_fitted:
        verdict = [*verdict, sentences.other_rows()]
    answer = list(findings.said(Role.ANSWER, Role.LEAD))
    found = [] if drawn_here else list(findings.said(Role.FOUND))
    if not findings.predicts:
        answer, found = [], list(findings.said(Role.LEAD, Role.FOUND))
    warned = [note for note in findings.said(Role.WARNING) if note.code is not Code.NO_NOISE_COMPONENT]  # FOUND says it
    parts = {
        "answer": answer,
        "lines": found,
        "sure": findings.said(Role.SURE, Role.ASIDE),
        "notes": warned,
    }
    said = {name: [sentences.sentence(note).strip() for note in notes] for name, notes in parts.items()}
    return {"verdict": verdict, "predicts": findings.predicts, **said}


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
    file = io.BytesIO()
    figure.draw().savefig(file, format="png")
    title = sentences.label(figure.key)
    shown = [sentences.sentence(note) for note in findings.notes if note.code is figure.shows]
    return {
        "title": title,
        "alternative": " ".join([f"{title}.", *shown[:1]]),
        "source": "data:image/png;base64," + b64encode(file.getvalue()).decode(),
    }


def _table(name: str, table: pd.DataFrame) -> dict[str, Any]:
    """The first lines of a table, every cell as text."""
    head = table.head(N_TABLE_LINES)
    lines = [[_shown(cell) for cell in line] for line in head.to_numpy(object)]
    return {"name": name, "columns": [str(column) for column in table.columns], "lines": lines, "n_lines": len(table)}


def _shown(cell: object) -> str:
    return f"{cell:.4g}" if isinstance(cell, float) else str(cell)


_OF_ENSEMBLE, _OF_PLACES = "ensemble.js", "map.js"
"""Scripts that a page has only where there is something for them to show."""

SCRIPTS = (
    "model.js",
    "shapes.js",
    "components.js",
    "cells.js",
    "zoom.js",
    "rows.js",
    "suspects.js",
    "marks.js",
    "files.js",
    "sure.js",
    _OF_PLACES,
    "page.js",
)
_ESCAPED = str.maketrans({"<": "\\u003c", ">": "\\u003e", "&": "\\u0026", "\u2028": "\\u2028", "\u2029": "\\u2029"})


def render(content: dict[str, Any]) -> str:
    """The HTML of a page with this content. It may load nothing, and runs no script but its own."""
    names = [_OF_ENSEMBLE, *SCRIPTS] if content["ensemble"] else list(SCRIPTS)
    if not any(content.get(what) for what in ("map", "responses", "variation")):
        names.remove(_OF_PLACES)
    script = "\n".join(["(() => {", '"use strict";', *map(_asset, names), "})();"])
    template = Environment(autoescape=True, trim_blocks=True, lstrip_blocks=True).from_string(_asset("page.html"))
    return template.render(
        **content,
        style=Markup(_asset("page.css")),
        script=Markup(script),
        script_hash=b64encode(sha256(script.encode()).digest()).decode(),
        data=Markup(_json_for_html(content)),
    )


def _json_for_html(content: dict[str, Any]) -> str:
    """JSON in which nothing can end a script element."""
    text = json.dumps(content, ensure_ascii=False, allow_nan=False, separators=(",", ":"), default=plain_scalar)
    return text.translate(_ESCAPED)


def _asset(name: str) -> str:
    return (files("latentbits.report") / "assets" / name).read_text(encoding="utf-8")
