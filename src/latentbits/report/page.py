"""The page: its content as one dict that JSON can hold, and a template, a style sheet and scripts, in one file."""

from __future__ import annotations

import io
import json
from base64 import b64encode
from collections.abc import Iterator
from hashlib import sha256
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from jinja2 import Environment
from markupsafe import Markup

from latentbits.findings.results import Results, components_fingerprint, has_restarts, restart_lines
from latentbits.models.aspect.aspect_rows import AspectRows
from latentbits.models.false_zeros.ensemble import FalseZeros
from latentbits.report.workbench import ensemble_part, workbench
from latentbits.storage.files import plain_scalar

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

__all__ = ["page_content", "render"]

N_TABLE_LINES = 50
NO_PHANTOM = "no phantom was found"
"""How the note begins that the page says in its own words."""
CRITERIA = {
    "aic": ("AIC", "lower"),
    "bic": ("BIC", "lower"),
    "evidence": ("log evidence", "higher"),
    "cv": ("held-out rows, log likelihood a row", "higher"),
    "cells": ("held-out cells, log likelihood a cell", "higher"),
}
"""Criteria of `select_order` as the page calls them, and which way is better."""


def page_content(
    results: Results,
    *,
    shape: tuple[int, int] | None = None,
    selection: pd.DataFrame | None = None,
    ratings: dict[str, Any] | None = None,
) -> dict[str, Any]:
    """What the page shows of some results; see `latentbits.report.write_report`.

    Models whose rows have weights on components get a workbench, an ensemble its list; all others are shown by their
    pictures and tables.
    """
    summary = results.summary
    has_bench = results.solved is not None
    is_ensemble = isinstance(results.model, FalseZeros)
    drawn_here = has_bench or is_ensemble
    return {
        "model": summary["model"],
        "file": summary["data"].get("file") or "",
        "components_fingerprint": components_fingerprint(results.model) if has_bench else None,
        "data_fingerprint": summary["data"]["fingerprint"],
        "fitted": summary["data"].get("fitted", True),
        **_sentences(results),
        "notes": [note for note in summary.get("notes", []) if not note.startswith(NO_PHANTOM)],
        "sure": [*_choice(summary), *(results.sure or restart_lines(summary)), *_when_to_use(results)],
        "facts": _facts(summary),
        "restarts": _restarts(results.model) if has_restarts(results.model) else None,
        "stability": summary.get("stability") if summary.get("restarts", {}).get("made", 0) > 1 else None,
        "selection": None if selection is None else _curves(selection),
        "workbench": workbench(results, shape=shape, ratings=ratings) if has_bench else None,
        "ensemble": ensemble_part(results, ratings=ratings) if is_ensemble else None,
        "pictures": [] if drawn_here else [_picture(name, draw()) for name, draw in results.figures.items()],
        "tables": [_table(name, table) for name, table in results.tables.items() if _is_shown(name, results)],
    }


def _is_shown(name: str, results: Results) -> bool:
    """Whether a table stands at the end of the page: what the page itself shows doesn't."""
    return results.solved is None and not (isinstance(results.model, FalseZeros) and name == "suspects")


def _when_to_use(results: Results) -> Iterator[str]:
    """Which of the two models that list suspects serves what."""
    if isinstance(results.model, FalseZeros):
        yield (
            "For the list this ensemble is the better choice, and it needs no number of components; to explain cells "
            "by components, or to denoise, use aspect-bernoulli (latentbits fit)."
        )
    elif isinstance(results.solved, AspectRows):
        yield (
            "This model explains cells by components and denoises; for the list of suspects alone an ensemble ranks "
            "better, and needs no number of components (latentbits false-zeros)."
        )


def _sentences(results: Results) -> dict[str, Any]:
    """The verdict, the answer below it, and what is said further down.

    If the model predicts nothing, the verdict stands alone: the answer, which counts suspects, goes down.
    """
    found: dict[str, Any] = results.summary.get("verdict") or {}
    verdict = list(found.get("sentences", []))
    answer = [sentence for sentence in results.answer if sentence not in verdict]
    works = results.solved is not None or isinstance(results.model, FalseZeros)  # the page itself says all the rest
    lines = [] if works else [line for line in results.lines if line not in (*answer, *verdict)]
    if verdict and not results.summary["data"].get("fitted", True):
        verdict.append("(That was found on the rows of the fit; this report is about other rows.)")
    predicts = bool(found.get("predicts", True))
    if not predicts:
        lines, answer = [*answer, *lines], []
    return {"verdict": verdict, "predicts": predicts, "answer": answer, "lines": lines}


def _facts(summary: dict[str, Any]) -> list[tuple[str, str]]:
    """How the model was fitted, as pairs of what and how."""
    data = summary["data"]
    size = f"{data['rows']:,} rows x {data['columns']:,} columns"
    fitted = data.get("fitted", True)
    facts = [
        ("data" if fitted else "rows of this report", f"{data['file']}, {size}" if data.get("file") else size),
        ("their fingerprint", data["fingerprint"]),
    ]
    if not fitted:
        facts.append(("fitted to", "other rows; what follows is about that fit"))
    if "ones" in data:
        counts = f"{data['ones']:,} ones, {data['zeros']:,} zeros, {data['missing']:,} missing"
        facts.append(("cells", f"{counts} ({data['density']:.1%} of the observed are ones)"))
    facts += [
        ("model", str(summary["model"])),
        ("parameters", ", ".join(f"{name}={value!r}" for name, value in summary["parameters"].items())),
        *_search_facts(summary),
        *((name.upper(), f"{summary[name]:.10g}") for name in ("aic", "bic") if name in summary and fitted),
        ("versions", ", ".join(f"{name} {number}" for name, number in summary["versions"].items())),
    ]
    if "seconds" in summary:
        facts.append(("seconds", ", ".join(f"{what} {seconds:g}" for what, seconds in summary["seconds"].items())))
    return facts


def _search_facts(summary: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """The objective, and how the search for it went; a model without random starts has no search."""
    if "restarts" not in summary:
        if "objective" in summary:
            yield "objective", f"{summary['objective']:.10g}"
        return
    yield "seed", _seed(summary)
    yield "objective", f"{summary['objective']:.10g}, after {summary['iterations']:,} iterations"
    yield "converged", "yes" if summary["converged"] else "no: it ran out of iterations"


def _seed(summary: dict[str, Any]) -> str:
    """The seed of the fit; one that was drawn during a selection, with the seed that it was drawn from."""
    given = summary.get("selection", {}).get("seed")
    return str(summary["seed"]) if given is None else f"{summary['seed']} (drawn from {given} for the search)"


def _choice(summary: dict[str, Any]) -> Iterator[str]:
    """How the number of components was chosen, if it was."""
    chosen = summary.get("selection")
    if not chosen:
        return
    first, *others = chosen["choices"]
    line = f"{first['best']} was chosen among {', '.join(map(str, chosen['tried']))} components by {first['criterion']}"
    said = [f"{other['criterion']} says {other['best']}" for other in others]
    yield f"{line}; {', '.join(said)}." if said else f"{line}."


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
    for name, (words, better) in CRITERIA.items():
        if name not in selection:
            continue
        values = selection[name]
        errors = selection.get(f"{name}_behind_se", selection.get(f"{name}_se"))
        curves.append(
            {
                "criterion": words,
                "better": better,
                "x": selection["n_components"].tolist(),
                "y": values.tolist(),
                "error": None if errors is None else errors.fillna(0.0).tolist(),
                "best": int(values.argmin() if better == "lower" else values.argmax()),
            }
        )
    return curves


def _picture(name: str, figure: Figure) -> dict[str, str]:
    file = io.BytesIO()
    figure.savefig(file, format="png")
    return {
        "title": name.replace("_", " ").capitalize(),
        "source": "data:image/png;base64," + b64encode(file.getvalue()).decode(),
    }


def _table(name: str, table: pd.DataFrame) -> dict[str, Any]:
    """The first lines of a table, every cell as text."""
    head = table.head(N_TABLE_LINES)
    lines = [[_shown(cell) for cell in line] for line in head.to_numpy(object)]
    return {"name": name, "columns": [str(column) for column in table.columns], "lines": lines, "n_lines": len(table)}


def _shown(cell: object) -> str:
    return f"{cell:.4g}" if isinstance(cell, float) else str(cell)


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
    "page.js",
)
_OF_ENSEMBLE = "ensemble.js"
_ESCAPED = str.maketrans({"<": "\\u003c", ">": "\\u003e", "&": "\\u0026", "\u2028": "\\u2028", "\u2029": "\\u2029"})


def render(content: dict[str, Any]) -> str:
    """The HTML of a page with this content. It may load nothing, and runs no script but its own."""
    names = [_OF_ENSEMBLE, *SCRIPTS] if content["ensemble"] else SCRIPTS
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
